//! The loss ledger: input that could not be converted, repairs, and the account of every input byte.

use super::losses::{self, LossKind, Severity};

/// One line of the ledger: all cases of one kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LedgerEntry {
    /// The kind.
    pub kind: LossKind,
    /// Number of cases.
    pub count: u64,
    /// The input offset, in bytes, of the first case. `None` if it is only noticed between events, far from their bytes.
    pub first_offset: Option<u64>,
    /// The number of lost events, at least.
    pub at_least_lost: u64,
}

/// A loss to be drawn on the timeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LossNote {
    /// The kind of loss.
    pub kind: LossKind,
    /// Its offset in the input, in bytes.
    pub offset: u64,
    /// The number of skipped bytes.
    pub bytes: u64,
    /// The number of lost events, at least.
    pub at_least_lost: u64,
}

impl LossNote {
    /// Adds this loss to the one at the same place, if there is one.
    pub fn add_to(self, gap: &mut Option<LossNote>) {
        match gap {
            Some(gap) => gap.extend(self),
            None => *gap = Some(self),
        }
    }

    /// Adds this loss to the one of its kind at the same place, if there is one.
    pub fn add_by_kind(self, all: &mut Vec<LossNote>) {
        match all.iter_mut().find(|note| note.kind == self.kind) {
            Some(note) => note.extend(self),
            None => all.push(self),
        }
    }

    /// Makes one loss of this one and another at the same place.
    pub fn extend(&mut self, other: LossNote) {
        self.offset = self.offset.min(other.offset);
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.at_least_lost = self.at_least_lost.saturating_add(other.at_least_lost);
    }
}

/// The account of one input: `decoded_bytes + skipped_bytes` is the input's length once it has been read to its end.
#[derive(Clone, Debug, Default)]
pub struct Ledger {
    /// Bytes that became records, delimiters included.
    pub decoded_bytes: u64,
    /// Bytes that did not become records.
    pub skipped_bytes: u64,
    /// Frames that became records.
    pub frames_ok: u64,
    /// Frames that did not become records.
    pub frames_bad: u64,
    entries: Vec<LedgerEntry>,
    /// The first break in time that can be read in two ways: its place, and both readings.
    doubt: Option<(u64, String)>,
}

impl Ledger {
    /// Enters a break in time that can be read in two ways. `readings`: both, as a clause.
    pub fn enter_doubt(&mut self, offset: u64, readings: String) {
        self.enter(losses::TIME_AMBIGUOUS, offset, 0);
        if self.doubt.as_ref().is_none_or(|first| offset < first.0) {
            self.doubt = Some((offset, readings));
        }
    }

    /// Both readings of the first break in time that can be read in two ways.
    #[must_use]
    pub fn doubt(&self) -> Option<&str> {
        self.doubt.as_ref().map(|doubt| doubt.1.as_str())
    }

    /// Enters one case of `kind`.
    pub fn enter(&mut self, kind: LossKind, offset: u64, at_least_lost: u64) {
        self.enter_cases(kind, Some(offset), 1, at_least_lost);
    }

    /// Enters `count` cases at an unknown place, each of one event if it is a loss. No effect if `count` is 0.
    pub fn enter_unplaced(&mut self, kind: LossKind, count: u64) {
        self.enter_cases(kind, None, count, if kind.severity == Severity::Loss { count } else { 0 });
    }

    /// Enters `count` cases of `kind`, which lose `at_least_lost` events. No effect if `count` is 0.
    pub fn enter_cases(&mut self, kind: LossKind, first_offset: Option<u64>, count: u64, at_least_lost: u64) {
        if count == 0 {
            return;
        }
        match self.entries.iter_mut().find(|entry| entry.kind == kind) {
            Some(entry) => {
                entry.count = entry.count.saturating_add(count);
                entry.first_offset = match (entry.first_offset, first_offset) {
                    (Some(one), Some(other)) => Some(one.min(other)),
                    (one, other) => one.or(other),
                };
                entry.at_least_lost = entry.at_least_lost.saturating_add(at_least_lost);
            }
            None => self.entries.push(LedgerEntry { kind, count, first_offset, at_least_lost }),
        }
    }

    /// Enters a bad frame of `bytes` bytes.
    pub fn bad_frame(&mut self, kind: LossKind, offset: u64, bytes: u64, at_least_lost: u64) {
        self.bad_frames(kind, offset, bytes, 1, at_least_lost);
    }

    /// Enters `frames` bad frames of `bytes` bytes in all, which lose `at_least_lost` events. No effect without bytes and frames.
    pub fn bad_frames(&mut self, kind: LossKind, offset: u64, bytes: u64, frames: u64, at_least_lost: u64) {
        self.frames_bad += frames;
        self.skipped_bytes += bytes;
        self.enter_cases(kind, Some(offset), frames, at_least_lost);
    }

    /// Sorts the lines by the place of their first case: the order in which they were entered depends on how the input was cut.
    pub fn sort(&mut self) {
        self.entries.sort_by_key(|entry| (entry.first_offset.is_none(), entry.first_offset, entry.kind.code));
    }

    /// All lines, in the order in which they were entered or, after [`Ledger::sort`], by place.
    #[must_use]
    pub fn entries(&self) -> &[LedgerEntry] {
        &self.entries
    }

    /// The number of lost events, at least.
    #[must_use]
    pub fn at_least_lost(&self) -> u64 {
        let losses = self.entries.iter().filter(|entry| entry.kind.severity == Severity::Loss);
        losses.fold(0, |sum, entry| sum.saturating_add(entry.at_least_lost))
    }

    /// Whether anything is lost.
    #[must_use]
    pub fn has_losses(&self) -> bool {
        self.entries.iter().any(|entry| entry.kind.severity == Severity::Loss)
    }
}

#[cfg(test)]
mod tests {
    use super::super::losses;
    use super::*;

    const GAP: LossKind = losses::FRAMES_LOST;
    const FIX: LossKind = losses::TIME_HELD;

    #[test]
    fn losses_of_one_place_begin_where_the_first_one_does() {
        let note = |kind, offset| LossNote { kind, offset, bytes: 5, at_least_lost: 1 };
        let (mut gap, mut all) = (None, Vec::new());
        for other in [note(GAP, 90), note(FIX, 70), note(GAP, 80)] {
            other.add_to(&mut gap);
            other.add_by_kind(&mut all);
        }
        assert_eq!(gap, Some(LossNote { kind: GAP, offset: 70, bytes: 15, at_least_lost: 3 }));
        assert_eq!(all, [LossNote { kind: GAP, offset: 80, bytes: 10, at_least_lost: 2 }, note(FIX, 70)]);
    }

    #[test]
    fn cases_of_one_kind_share_a_line() {
        let mut ledger = Ledger::default();
        ledger.enter(FIX, 3, 0);
        assert!(!ledger.has_losses());
        ledger.bad_frame(GAP, 90, 7, 1);
        ledger.bad_frame(GAP, 40, 2, 5);
        assert_eq!(ledger.entries().len(), 2);
        assert_eq!(ledger.entries()[1], LedgerEntry { kind: GAP, count: 2, first_offset: Some(40), at_least_lost: 6 });
        assert_eq!((ledger.frames_bad, ledger.skipped_bytes, ledger.at_least_lost()), (2, 9, 6));
        assert!(ledger.has_losses());
    }
}
