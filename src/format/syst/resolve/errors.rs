//! Errors that the target reports (MERR and GERR). After damage, packets are read at wrong nibbles, and some of these look like reports. So
//! they wait for what follows: a valid message before much of what is none.

use super::events::EventContext;
use crate::format::syst::decoded::{Notice, RecordKind, Stored};
use crate::format::syst::record::Marks;

/// How many reports wait at most.
const WAITING_MAX: usize = 1 << 10;

/// A loss tears the message before it and the one after it. More invalid messages than these are signs of damage.
const TORN_MESSAGES: usize = 2;

/// A report.
#[derive(Clone, Copy)]
pub struct ReportedError {
    /// [`Notice::MasterError`] or [`Notice::GlobalError`].
    pub notice: Notice,
    /// Where it is in the input.
    pub offset: u64,
    /// Its value.
    pub value: u64,
    /// How many messages it says are missing at least, once it is believed.
    pub at_least_lost: u64,
    /// Its time, once it is judged.
    pub at: Option<EventContext>,
}

/// The reports of one input.
#[derive(Default)]
pub struct ReportedErrors {
    /// Those since the last valid message.
    waiting: Vec<ReportedError>,
    /// Those that are believed and not shown yet.
    believed: Vec<ReportedError>,
    /// Invalid messages since the last valid one.
    invalid: usize,
    /// Whether packets could not be read since then.
    is_lost: bool,
    /// Whether damage came since then, and no ASYNC after packets that could not be read.
    is_damaged: bool,
}

impl ReportedErrors {
    /// Adds a record. True if there is something to judge before it.
    #[inline]
    pub fn add(&mut self, stored: &Stored, offset: u64) -> bool {
        match stored.kind {
            RecordKind::Notice(notice @ (Notice::MasterError | Notice::GlobalError)) => {
                self.waiting.push(ReportedError { notice, offset, value: stored.value, at_least_lost: 0, at: None });
                return self.waiting.len() > WAITING_MAX;
            }
            RecordKind::Notice(
                Notice::UnknownPacket
                | Notice::Unsynced
                | Notice::Undelimited
                | Notice::WrongTime
                | Notice::WrongVersion
                | Notice::WrongFrequency,
            ) => {
                self.is_lost = true;
                self.is_damaged = stored.kind != RecordKind::Notice(Notice::Unsynced);
            }
            RecordKind::Notice(Notice::Unfinished | Notice::Beginless) | RecordKind::Malformed(_) => self.add_invalid(),
            RecordKind::Notice(_) | RecordKind::Console => {}
            _ if stored.marks.has(Marks::CRC_BAD) || stored.marks.has(Marks::TRUNCATED) => self.add_invalid(),
            _ => return self.is_lost || self.invalid > 0 || !self.waiting.is_empty(),
        }
        false
    }

    fn add_invalid(&mut self) {
        self.invalid += 1;
        self.is_damaged = true;
    }

    /// Whether packets are being read at wrong nibbles, as far as is known: there was damage since the last valid message, and no ASYNC ended
    /// it.
    pub fn is_damaged(&self) -> bool {
        self.is_damaged
    }

    /// Whether a valid message changes nothing.
    #[inline]
    pub fn is_empty(&self) -> bool {
        !self.is_lost && self.invalid == 0 && self.waiting.is_empty() && self.believed.is_empty()
    }

    /// The context of the last report.
    pub fn set_context(&mut self, context: EventContext) {
        if let Some(last) = self.waiting.last_mut() {
            last.at = Some(context);
        }
    }

    /// Judges the reports that wait. Returns those that are believed.
    pub fn judge(&mut self) -> &mut [ReportedError] {
        let start = self.believed.len();
        let is_damage = self.is_lost || self.invalid > TORN_MESSAGES * self.waiting.len();
        if is_damage {
            self.waiting.clear();
        }
        self.believed.append(&mut self.waiting);
        (self.invalid, self.is_lost, self.is_damaged) = (0, false, false);
        self.believed.get_mut(start..).unwrap_or(&mut [])
    }

    /// Whether some are to be shown.
    #[inline]
    pub fn are_believed(&self) -> bool {
        !self.believed.is_empty()
    }

    /// Those that are to be shown.
    pub fn take_believed(&mut self) -> Vec<ReportedError> {
        std::mem::take(&mut self.believed)
    }
}
