//! What each kind of record becomes.

use super::tracks::{Exit, Special};
use super::view::MARKS;
use super::{At, Resolver, losses};
use crate::format::Resolved;
use crate::format::syst::decode::{Key, NameRef, Notice, Records, Stored, What};
use crate::format::syst::record::Marks;
use crate::model::{Arg, ArgValue, Args, Event, EventKind, Label, LaneId, LogNote, LogSeverity, NameId, Packed, TextRef};

/// What the viewer's log calls the severities.
const LOG_SEVERITIES: [LogSeverity; 8] = [
    LogSeverity::Unspecified,
    LogSeverity::Fatal,
    LogSeverity::Error,
    LogSeverity::Warning,
    LogSeverity::Info,
    LogSeverity::Debug,
    LogSeverity::Debug,
    LogSeverity::Verbose,
];

impl Resolver {
    pub(super) fn event(&mut self, at: At, records: &Records, stored: &Stored, out: &mut Resolved<'_>) {
        let lane = match stored.what {
            What::Console => self.tracks.special(Special::Console, at.session, out.entities),
            What::Malformed(_) => self.tracks.special(Special::Errors, at.session, out.entities),
            _ if stored.marks.has(Marks::CRC_BAD) => self.tracks.special(Special::Errors, at.session, out.entities),
            What::Clock => self.tracks.special(Special::Clock, at.session, out.entities),
            _ => self.tracks.track(records, stored, at.session, &self.collateral, out.entities).map(|track| track.lane),
        };
        let Some(lane) = lane else {
            out.ledger.enter(losses::TRACK_LIMIT, records.base + u64::from(stored.offset), 1);
            return;
        };
        let name = self.tracks.name(records, stored.name, &self.collateral, out.entities);
        let args = self.args(at, records, stored, out);
        let label = name.map_or(Label::NONE, Label::name);
        match stored.what {
            What::Text
            | What::InvalidParam
            | What::Assert
            | What::Printf
            | What::Catalog
            | What::Console
            | What::Malformed(_) => {
                self.log(at, lane, label, args, records, stored, out);
            }
            What::Enter | What::Exit if !stored.marks.has(Marks::CRC_BAD) => {
                self.function(at, lane, label, args, records, stored, out);
            }
            What::Short { .. } => self.short(at, lane, label, args, records, stored, out),
            What::Clock => {
                let label = self.word_label("clock", out);
                push(at, EventKind::Instant { lane, label, args }, out);
            }
            _ => {
                let label = self.label_or(label, stored.body);
                push(at, EventKind::Instant { lane, label, args }, out);
            }
        }
    }

    /// A text of the records, in the batch.
    #[inline]
    fn text(&self, text: TextRef) -> TextRef {
        TextRef { start: text.start.saturating_add(self.texts_start), len: text.len }
    }

    /// A label, or a text of the records.
    #[inline]
    fn label_or(&self, label: Label, text: TextRef) -> Label {
        if label.is_none() { Label::text(self.text(text)) } else { label }
    }

    fn word_label(&mut self, word: &'static str, out: &mut Resolved<'_>) -> Label {
        self.tracks.word(word, out.entities).map_or(Label::NONE, Label::name)
    }

    #[allow(clippy::too_many_arguments, reason = "the parts of one log message")]
    fn log(
        &mut self,
        at: At,
        lane: LaneId,
        label: Label,
        args: Args,
        records: &Records,
        stored: &Stored,
        out: &mut Resolved<'_>,
    ) {
        let source = self.tracks.source(records, stored.source, &self.collateral, out.entities);
        let mut severity = LOG_SEVERITIES[usize::from(stored.severity & 7)];
        let mut label = label;
        match stored.what {
            What::Assert | What::InvalidParam => severity = severity.max(LogSeverity::Warning),
            What::Malformed(reason) => {
                severity = LogSeverity::Error;
                label = self.word_label(losses::of_malformed(reason).code, out);
            }
            _ => {}
        }
        if stored.marks.has(Marks::CRC_BAD) {
            severity = severity.max(LogSeverity::Error);
        }
        let body = match stored.name {
            // A catalog message without format has no text.
            NameRef::Local(name) if stored.body.is_empty() => {
                out.batch.texts.add(records.names.get(name as usize).map_or("", String::as_str))
            }
            _ => self.text(stored.body),
        };
        let name = if label.is_none() { Label::text(body) } else { label };
        let Ok(index) = u32::try_from(out.batch.logs.len()) else { return };
        out.batch.logs.push(LogNote { lane, severity, name, body, source, args });
        push(at, EventKind::Log(index), out);
    }

    #[allow(clippy::too_many_arguments, reason = "the parts of one span")]
    fn function(
        &mut self,
        at: At,
        lane: LaneId,
        label: Label,
        args: Args,
        records: &Records,
        stored: &Stored,
        out: &mut Resolved<'_>,
    ) {
        let name = records.text(stored.body);
        let label = self.label_or(label, stored.body);
        let Some(track) = self.tracks.track(records, stored, at.session, &self.collateral, out.entities) else { return };
        let offset = records.base + u64::from(stored.offset);
        if stored.what == What::Enter {
            let kind = if track.enter(name) {
                EventKind::SpanBegin { lane, label, args }
            } else {
                EventKind::Instant { lane, label, args }
            };
            return push(at, kind, out);
        }
        match track.exit(name) {
            Exit::Closes(inner) => {
                let auto_closed = if inner > 0 { self.tracks.word("auto_closed", out.entities) } else { None };
                for _ in 0..inner {
                    out.ledger.enter(losses::AUTO_CLOSED, offset, 0);
                    let args = auto_closed.map_or(Args::NONE, |name| out.batch.add_args(&[Arg::new(name, ArgValue::Bool(true))]));
                    push(at, EventKind::SpanEnd { lane, args }, out);
                }
                push(at, EventKind::SpanEnd { lane, args }, out);
            }
            Exit::Unmatched => {
                out.ledger.enter(losses::UNMATCHED_EXIT, offset, 0);
                let text = out.batch.texts.add(&format!("exit {name} (no enter)"));
                push(at, EventKind::Instant { lane, label: Label::text(text), args }, out);
            }
        }
    }

    #[allow(clippy::too_many_arguments, reason = "the parts of one short message")]
    fn short(
        &mut self,
        at: At,
        lane: LaneId,
        label: Label,
        args: Args,
        records: &Records,
        stored: &Stored,
        out: &mut Resolved<'_>,
    ) {
        let Some(group) = self.tracks.track(records, stored, at.session, &self.collateral, out.entities).map(|track| track.group)
        else {
            return;
        };
        let counter = match stored.name {
            NameRef::Entry(number) => {
                let entry = self.collateral.entry(number).filter(|entry| !entry.format.is_plain());
                entry.map(|entry| (number, entry.details.label.as_str(), stored.extra))
            }
            _ if self.short_as_counter => Some((u32::MAX, "short value", stored.value)),
            _ => None,
        };
        if let Some((entry, name, value)) = counter
            && let Some(lane) = self.tracks.counter(group, entry, name, at.session, out.entities)
        {
            push(at, EventKind::Value { lane, value: Packed(i64::try_from(value).unwrap_or(i64::MAX)) }, out);
        }
        let label = self.label_or(label, stored.body);
        push(at, EventKind::Instant { lane, label, args }, out);
    }

    /// The args of a record.
    #[inline]
    fn args(&mut self, at: At, records: &Records, stored: &Stored, out: &mut Resolved<'_>) -> Args {
        let texts_start = self.texts_start;
        let start = out.batch.args.len();
        let all = &mut out.batch.args;
        let moved = |text: TextRef| TextRef { start: text.start.saturating_add(texts_start), len: text.len };
        let tracks = &mut self.tracks;
        let has_severity =
            !matches!(stored.what, What::Short { .. } | What::Console | What::Malformed(_) | What::Clock | What::Build);
        if has_severity && let Some((name, severity)) = tracks.severity(stored.severity, out.entities) {
            all.push(Arg::new(name, ArgValue::Name(severity)));
        }
        // The end of a function has that of its begin.
        if !matches!(stored.what, What::Console | What::Exit) {
            let category = tracks.category(stored.what, has_severity.then_some(stored.severity), out.entities);
            all.extend(category.map(|category| Arg::new(category, ArgValue::Category(category))));
        }
        for arg in records.args_of(stored) {
            let Some(name) = tracks.key(arg.name, out.entities) else { continue };
            all.push(match arg.text() {
                Some(text) => Arg::of_text(name, moved(text)),
                None => arg.renamed(name),
            });
        }
        let mut add = |name: Option<NameId>, value: ArgValue| all.extend(name.map(|name| Arg::new(name, value)));
        match stored.what {
            What::Clock => {
                add(tracks.word("clock_value", out.entities), ArgValue::Uint(stored.value));
                add(tracks.word("clock_hz", out.entities), ArgValue::Uint(stored.extra));
            }
            What::Build if !stored.body.is_empty() => {
                add(tracks.key(Key::TEXT, out.entities), ArgValue::Text(moved(stored.body)));
            }
            What::Short { .. } => add(tracks.word("value", out.entities), ArgValue::Hex(stored.value)),
            _ => {}
        }
        if let Some(timestamp) = stored.timestamp.filter(|_| at.has_transport_time) {
            add(tracks.word("message_time", out.entities), ArgValue::Uint(timestamp));
            if let Some(made_at) = at.made_at {
                add(tracks.word("message_time_ns", out.entities), ArgValue::Uint(made_at));
            }
        }
        if stored.marks != Marks::default() {
            for (mark, word) in MARKS.iter().filter(|(mark, _)| *mark != Marks::SLOTS) {
                if stored.marks.has(*mark) {
                    add(tracks.word(word, out.entities), ArgValue::Bool(true));
                }
            }
        }
        out.batch.args_since(start)
    }

    /// What the transport says, if it is worth showing.
    pub(super) fn notice_event(&mut self, at: At, notice: Notice, stored: &Stored, out: &mut Resolved<'_>) {
        let has_place = matches!(notice, Notice::MasterError | Notice::Beginless | Notice::Unfinished);
        if !has_place && !matches!(notice, Notice::GlobalError | Notice::Trigger | Notice::UnknownPacket) {
            return;
        }
        let Some(lane) = self.tracks.special(Special::Transport, at.session, out.entities) else { return };
        let label = self.word_label(notice.name(), out);
        let value = self.tracks.word("value", out.entities);
        let args = value.map_or(Args::NONE, |name| out.batch.add_args(&[Arg::new(name, ArgValue::Uint(stored.value))]));
        push(at, EventKind::Instant { lane, label, args }, out);
    }
}

#[inline]
fn push(at: At, kind: EventKind, out: &mut Resolved<'_>) {
    out.batch.events.push(Event { time: at.time, core: at.core, kind });
}
