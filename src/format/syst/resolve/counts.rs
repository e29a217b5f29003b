//! Counts of messages, for the report.

use rustc_hash::FxHashMap;

use crate::format::Detail;
use crate::format::syst::decoded::{NameRef, Notice, RecordKind, Stored};
use crate::model::counted;

/// How many unknown ids are counted one by one.
const IDS_LIMIT: usize = 1 << 10;

/// How many of them the report lists.
const SHOWN_IDS: usize = 16;

/// The counts of a recording.
#[derive(Debug, Default)]
pub struct MessageCounts {
    /// By kind of message.
    by_kind: [u64; KINDS.len()],
    /// Catalog messages without format, by id.
    unknown_ids: FxHashMap<u64, u64>,
    unknown: u64,
    /// Catalog messages whose format is the program's.
    from_program: u64,
    undelimited: u64,
    /// Messages with a time stamp of their own.
    stamped: u64,
}

const KINDS: [&str; 12] =
    ["build", "short", "text", "enter", "exit", "invalid parameter", "assert", "printf", "catalog", "raw", "structured", "clock"];

fn kind_of(kind: RecordKind) -> Option<usize> {
    Some(match kind {
        RecordKind::Build => 0,
        RecordKind::Short { .. } => 1,
        RecordKind::Text => 2,
        RecordKind::Enter => 3,
        RecordKind::Exit => 4,
        RecordKind::InvalidParam => 5,
        RecordKind::Assert => 6,
        RecordKind::Printf => 7,
        RecordKind::Catalog => 8,
        RecordKind::Raw => 9,
        RecordKind::Sbd => 10,
        RecordKind::Clock => 11,
        RecordKind::Console | RecordKind::Malformed(_) | RecordKind::Notice(_) => return None,
    })
}

impl MessageCounts {
    /// Counts a record.
    #[inline(always)]
    pub fn count(&mut self, stored: &Stored) {
        if let Some(count) = kind_of(stored.kind).and_then(|kind| self.by_kind.get_mut(kind)) {
            *count += 1;
        }
        if stored.kind == RecordKind::Catalog && !matches!(stored.name, NameRef::Entry(_)) {
            if stored.extra == 1 {
                self.from_program += 1;
            } else if stored.name != NameRef::Body {
                // A message that ends before its id has no name.
                self.count_unknown(stored.value);
            }
        }
        self.stamped += u64::from(stored.timestamp.is_some());
        self.undelimited += u64::from(stored.kind == RecordKind::Notice(Notice::Undelimited));
    }

    fn count_unknown(&mut self, id: u64) {
        self.unknown += 1;
        if let Some(count) = self.unknown_ids.get_mut(&id) {
            *count += 1;
        } else if self.unknown_ids.len() < IDS_LIMIT {
            self.unknown_ids.insert(id, 1);
        }
    }

    /// The number of messages with a time stamp of their own, and of all messages.
    pub fn stamped(&self) -> (u64, u64) {
        (self.stamped, self.by_kind.iter().sum())
    }

    /// The number of short messages.
    pub fn shorts(&self) -> u64 {
        self.by_kind[1]
    }

    /// Messages by kind, and catalog ids that no collateral has.
    pub fn details(&self) -> Vec<Detail> {
        let kinds: Vec<String> = KINDS
            .iter()
            .zip(self.by_kind)
            .filter(|(_, count)| *count > 0)
            .map(|(kind, count)| format!("{count} {kind}"))
            .collect();
        let all: u64 = self.by_kind.iter().sum();
        let mut details = Vec::new();
        if all > 0 {
            details.push(Detail { name: "messages", value: format!("{all}: {}", kinds.join(", ")), source: "counted".into() });
        }
        if self.from_program > 0 {
            let value = format!("{} with the address of a format as id", counted(self.from_program, "message"));
            details.push(Detail { name: "formats of the program", value, source: "--elf".into() });
        }
        if self.unknown > 0 {
            let mut counts: Vec<(u64, u64)> = self.unknown_ids.iter().map(|(id, count)| (*id, *count)).collect();
            counts.sort_unstable();
            let ids: Vec<String> = counts.iter().take(SHOWN_IDS).map(|(id, count)| format!("{id:#x} ({count})")).collect();
            let more = if counts.len() > SHOWN_IDS { ", …" } else { "" };
            let at_least = if counts.len() == IDS_LIMIT { "at least " } else { "" };
            let (messages, of_ids) = (counted(self.unknown, "message"), counted(counts.len(), "id"));
            let value = format!("{messages} of {at_least}{of_ids}: {}{more}", ids.join(", "));
            let source = "counted: they are in no file given with --collateral".into();
            details.push(Detail { name: "unknown catalog ids", value, source });
        }
        details
    }

    /// Advice on what to try.
    pub fn hints(&self, has_collateral: bool) -> Vec<String> {
        let mut hints = Vec::new();
        if self.unknown > 0 {
            let given = if has_collateral {
                "none of the files given with --collateral has"
            } else {
                "no file was given with --collateral for"
            };
            hints.push(format!("{} catalog messages are shown by number: {given} their formats.", self.unknown));
        }
        if self.undelimited > 0 {
            hints.push(
                "Some messages have no length. Let the sender add it: MIPI_SYST_ENABLE_HANDLE_LENGTH (or \
                 MIPI_SYST_PCFG_LENGTH_FIELD), or MIPI_SYST_ENABLE_HANDLE_CHECKSUM; catalog messages need their collateral."
                    .to_owned(),
            );
        }
        hints
    }
}
