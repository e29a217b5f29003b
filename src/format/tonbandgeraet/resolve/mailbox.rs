//! Levels of queues: the reported and the real ones.
//!
//! Targets report `xQueueOverwrite` as an ordinary send of "level before + 1", so a mailbox (a queue of one item) that is
//! overwritten appears to have two items. The next operation on the queue decides: if there were two items, a receive leaves one and a
//! send makes three; after an overwrite, a receive leaves 0 and a send makes "two" again. Until then the level is withheld.
//!
//! That needs operations in their order. Files of several cores, and pieces of several cores in one file, do not have them in order: there
//! the reported level is used.

use crate::model::Nanos;

/// The evidence that decides whether a queue is a mailbox. A single report may be damaged.
const SURE: i8 = 2;

/// The level of one queue, and the evidence for its kind.
#[derive(Clone, Copy, Debug, Default)]
pub struct QueueLevel {
    last: Option<u32>,
    /// The time of a report of "two" that is not decided.
    undecided_since: Option<Nanos>,
    /// The same, before a gap: it cannot be decided, so the reported level is used.
    before_gap: Option<Nanos>,
    /// The number of gaps at the last operation.
    gaps: u32,
    /// The evidence for a queue of several items (above 0) or of one item (below 0), within [`SURE`].
    evidence: i8,
    /// The time of the last operation.
    reached: Nanos,
    /// An operation was earlier than the one before it: the operations are of several cores and not in order.
    is_unordered: bool,
}

/// The result of an operation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LevelReport {
    /// The level after the operation; `None` if it is not decided.
    pub level: Option<u32>,
    /// Whether the item replaced another one.
    pub is_overwrite: bool,
    /// The level has been two since this time, up to this operation.
    pub two_since: Option<Nanos>,
    /// The number of corrected reports.
    pub repaired: u32,
}

impl QueueLevel {
    /// Handles a reported send.
    pub fn sent(&mut self, level: u32, time: Nanos) -> LevelReport {
        if self.is_late(time) {
            return LevelReport { level: Some(level), two_since: self.settle(), ..LevelReport::default() };
        }
        if level == 2 && self.evidence <= -SURE {
            self.last = Some(1);
            return LevelReport { level: Some(1), is_overwrite: true, repaired: 1, ..LevelReport::default() };
        }
        if level == 2 && self.undecided_since.take_if(|_| self.last == Some(1)).is_some() {
            self.add_evidence_for_one();
            return LevelReport { level: Some(1), is_overwrite: true, repaired: 2, ..LevelReport::default() };
        }
        if level == 2 && self.last == Some(1) && self.evidence < SURE {
            self.undecided_since = Some(time);
            return LevelReport::default();
        }
        match level {
            3.. => self.add_evidence_for_several(),
            2 if self.last == Some(2) => self.add_evidence_for_one(),
            _ => {}
        }
        self.last = Some(level);
        LevelReport { level: Some(level), two_since: self.settle(), ..LevelReport::default() }
    }

    /// Handles a reported receive.
    pub fn received(&mut self, level: u32, time: Nanos) -> LevelReport {
        if self.is_late(time) {
            return LevelReport { level: Some(level), two_since: self.settle(), ..LevelReport::default() };
        }
        let before = self.last.replace(level);
        let mut report = LevelReport { level: Some(level), ..LevelReport::default() };
        match level {
            0 if self.undecided_since.take().is_some() => {
                self.add_evidence_for_one();
                report.repaired = 1;
            }
            _ => {
                match level {
                    0 if before == Some(2) => self.add_evidence_for_one(),
                    0 => {}
                    _ => self.add_evidence_for_several(),
                }
                report.two_since = self.settle();
            }
        }
        report
    }

    /// Handles a level that is known for certain, such as that of a queue that was emptied.
    pub fn known(&mut self, level: u32) -> Option<Nanos> {
        if level >= 2 {
            self.add_evidence_for_several();
        }
        self.last = Some(level);
        self.settle()
    }

    /// Ends the evidence, at the end or at a loss: the reported level is used.
    pub fn forget(&mut self) -> Option<Nanos> {
        self.last = None;
        self.settle()
    }

    /// Notes the number of gaps so far. No conclusion is drawn across a gap.
    #[inline]
    pub fn cross(&mut self, gaps: u32) {
        if self.gaps != gaps {
            self.gaps = gaps;
            self.last = None;
            self.before_gap = self.settle();
        }
    }

    /// Whether nothing can be concluded from the order of operations.
    #[inline]
    fn is_late(&mut self, time: Nanos) -> bool {
        self.is_unordered |= time < self.reached;
        self.reached = time;
        self.is_unordered
    }

    fn add_evidence_for_several(&mut self) {
        self.evidence = (self.evidence + 1).min(SURE);
    }

    fn add_evidence_for_one(&mut self) {
        self.evidence = (self.evidence - 1).max(-SURE);
    }

    fn settle(&mut self) -> Option<Nanos> {
        self.undecided_since.take().or_else(|| self.before_gap.take())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mailbox_is_recognised_by_the_receive_after_an_overwrite() {
        let mut queue = QueueLevel::default();
        for time in 1..3 {
            assert_eq!(queue.sent(1, Nanos(time)).level, Some(1));
            assert_eq!(queue.sent(2, Nanos(time)), LevelReport::default());
            assert_eq!(queue.received(0, queue.reached), LevelReport { level: Some(0), repaired: 1, ..LevelReport::default() });
        }
        assert_eq!(queue.sent(1, Nanos(3)).level, Some(1));
        let again = queue.sent(2, Nanos(4));
        assert_eq!((again.level, again.is_overwrite, again.repaired), (Some(1), true, 1));
    }

    #[test]
    fn one_damaged_report_decides_nothing() {
        // A queue of several items, "0" instead of "1".
        let mut queue = QueueLevel::default();
        queue.sent(1, Nanos(1));
        queue.sent(2, Nanos(2));
        assert_eq!(queue.received(0, queue.reached).repaired, 1);
        queue.sent(1, Nanos(3));
        queue.sent(2, Nanos(4));
        assert_eq!(queue.received(1, queue.reached).two_since, Some(Nanos(4)));
        // A mailbox, "6" instead of "2".
        let mut queue = QueueLevel::default();
        for report in [2, 2, 2, 6, 2] {
            queue.sent(1, Nanos(1));
            queue.sent(report, Nanos(1));
            queue.received(0, queue.reached);
        }
        queue.sent(1, Nanos(3));
        assert_eq!(queue.sent(2, Nanos(4)).level, Some(1));
    }

    #[test]
    fn a_mailbox_is_recognised_by_a_second_overwrite() {
        let mut queue = QueueLevel::default();
        queue.sent(1, Nanos(1));
        queue.sent(2, Nanos(2));
        let report = queue.sent(2, Nanos(3));
        assert_eq!((report.level, report.is_overwrite, report.repaired, report.two_since), (Some(1), true, 2, None));
    }

    #[test]
    fn a_deeper_queue_gets_its_level_late() {
        let mut queue = QueueLevel::default();
        queue.sent(1, Nanos(1));
        queue.sent(2, Nanos(2));
        assert_eq!(queue.sent(3, Nanos(3)), LevelReport { level: Some(3), two_since: Some(Nanos(2)), ..LevelReport::default() });
        queue.received(2, queue.reached);
        queue.received(1, queue.reached);
        assert_eq!(queue.sent(2, Nanos(4)).level, Some(2));

        let mut queue = QueueLevel::default();
        for time in 1..3 {
            queue.sent(1, Nanos(time));
            assert_eq!(queue.sent(2, Nanos(time)).level, None);
            assert_eq!(queue.received(1, queue.reached).two_since, Some(Nanos(time)));
            queue.received(0, queue.reached);
        }
        queue.sent(1, Nanos(3));
        assert_eq!(queue.sent(2, Nanos(4)).level, Some(2));
    }

    #[test]
    fn a_gap_proves_nothing() {
        let mut queue = QueueLevel::default();
        queue.sent(1, Nanos(1));
        queue.sent(2, Nanos(2));
        queue.cross(1);
        // The receive that left one is lost.
        assert_eq!(
            queue.received(0, queue.reached),
            LevelReport { level: Some(0), two_since: Some(Nanos(2)), ..LevelReport::default() }
        );
        queue.sent(1, Nanos(3));
        queue.sent(2, Nanos(4));
        assert_eq!(queue.received(1, queue.reached).two_since, Some(Nanos(4)));
    }

    #[test]
    fn a_queue_of_several_items_is_not_a_mailbox() {
        let mut mailbox = QueueLevel::default();
        mailbox.sent(1, Nanos(1));
        mailbox.sent(2, Nanos(2));
        mailbox.received(0, mailbox.reached);
        assert_eq!(mailbox.sent(3, Nanos(3)).level, Some(3));
        assert_eq!(mailbox.received(2, mailbox.reached).level, Some(2));
        assert_eq!(mailbox.sent(2, Nanos(4)).level, Some(2));
    }

    #[test]
    fn emptying_a_queue_decides_nothing() {
        let mut mailbox = QueueLevel::default();
        mailbox.sent(1, Nanos(1));
        mailbox.sent(2, Nanos(2));
        mailbox.known(0);
        mailbox.sent(1, Nanos(3));
        mailbox.sent(2, Nanos(4));
        assert_eq!(mailbox.received(0, mailbox.reached).repaired, 1);
    }

    #[test]
    fn operations_out_of_order_decide_nothing() {
        // Of a queue of several items: a piece of one core, then one of another core.
        let mut queue = QueueLevel::default();
        queue.sent(1, Nanos(10));
        assert_eq!(queue.received(1, Nanos(4)).level, Some(1));
        for time in 11..20 {
            assert_eq!(queue.sent(1, Nanos(time)).level, Some(1));
            assert_eq!(queue.sent(2, Nanos(time)).level, Some(2));
            assert_eq!(queue.received(0, Nanos(time)), LevelReport { level: Some(0), ..LevelReport::default() });
        }
    }

    #[test]
    fn undecided_levels_are_as_reported() {
        let mut queue = QueueLevel::default();
        queue.sent(1, Nanos(1));
        queue.sent(2, Nanos(2));
        assert_eq!(queue.forget(), Some(Nanos(2)));
        assert_eq!(queue.forget(), None);
    }
}
