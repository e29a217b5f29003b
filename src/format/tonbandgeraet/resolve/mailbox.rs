//! Levels of queues, as reported and as they must have been.
//!
//! Targets report `xQueueOverwrite` as an ordinary send of "level before + 1", so a mailbox (a queue of one item) that is
//! overwritten seems to hold two. What comes next on that queue tells: after two items were really in, a receive leaves one and a
//! send makes three; after an overwritten one, a receive leaves none and a send makes "two" again. Until then the level is withheld.

use crate::model::Nanos;

/// So many reports more for one view than for the other decide it. One alone may be damaged.
const SURE: i8 = 2;

/// What is known about the level of one queue.
#[derive(Clone, Copy, Debug, Default)]
pub struct QueueLevel {
    last: Option<u32>,
    /// When "two" was reported, while it is open whether it was.
    doubtful_since: Option<Nanos>,
    /// The same, before a gap: what came of it is lost, so what was reported stands.
    before_gap: Option<Nanos>,
    /// How many gaps this queue has seen.
    gaps: u32,
    /// How much speaks for a queue that holds several items (above 0) or for one that holds one (below), within [`SURE`].
    evidence: i8,
}

/// What an operation comes to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Judged {
    /// The level after the operation; `None` while it is open.
    pub level: Option<u32>,
    /// The item replaced another one.
    pub is_overwrite: bool,
    /// Before this operation: since then the level was two after all.
    pub two_since: Option<Nanos>,
    /// How many reports were put right.
    pub repaired: u32,
}

impl QueueLevel {
    /// A send was reported.
    pub fn sent(&mut self, level: u32, time: Nanos) -> Judged {
        if level == 2 && self.evidence <= -SURE {
            self.last = Some(1);
            return Judged { level: Some(1), is_overwrite: true, repaired: 1, ..Judged::default() };
        }
        if level == 2 && self.doubtful_since.take_if(|_| self.last == Some(1)).is_some() {
            self.speaks_for_one();
            return Judged { level: Some(1), is_overwrite: true, repaired: 2, ..Judged::default() };
        }
        if level == 2 && self.last == Some(1) && self.evidence < SURE {
            self.doubtful_since = Some(time);
            return Judged::default();
        }
        match level {
            3.. => self.speaks_for_several(),
            2 if self.last == Some(2) => self.speaks_for_one(),
            _ => {}
        }
        self.last = Some(level);
        Judged { level: Some(level), two_since: self.settle(), ..Judged::default() }
    }

    /// A receive was reported.
    pub fn received(&mut self, level: u32) -> Judged {
        let before = self.last.replace(level);
        let mut judged = Judged { level: Some(level), ..Judged::default() };
        match level {
            0 if self.doubtful_since.take().is_some() => {
                self.speaks_for_one();
                judged.repaired = 1;
            }
            _ => {
                match level {
                    0 if before == Some(2) => self.speaks_for_one(),
                    0 => {}
                    _ => self.speaks_for_several(),
                }
                judged.two_since = self.settle();
            }
        }
        judged
    }

    /// The level was told, or the queue emptied.
    pub fn told(&mut self, level: u32) -> Option<Nanos> {
        if level >= 2 {
            self.speaks_for_several();
        }
        self.last = Some(level);
        self.settle()
    }

    /// Nothing more comes, or something was lost: what was reported stands.
    pub fn forget(&mut self) -> Option<Nanos> {
        self.last = None;
        self.settle()
    }

    /// There were `gaps` gaps so far. Nothing is concluded across a new one.
    #[inline]
    pub fn cross(&mut self, gaps: u32) {
        if self.gaps != gaps {
            self.gaps = gaps;
            self.last = None;
            self.before_gap = self.settle();
        }
    }

    fn speaks_for_several(&mut self) {
        self.evidence = (self.evidence + 1).min(SURE);
    }

    fn speaks_for_one(&mut self) {
        self.evidence = (self.evidence - 1).max(-SURE);
    }

    fn settle(&mut self) -> Option<Nanos> {
        self.doubtful_since.take().or_else(|| self.before_gap.take())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mailbox_is_told_by_the_receive_after_an_overwrite() {
        let mut queue = QueueLevel::default();
        for _ in 0..2 {
            assert_eq!(queue.sent(1, Nanos(1)).level, Some(1));
            assert_eq!(queue.sent(2, Nanos(2)), Judged::default());
            assert_eq!(queue.received(0), Judged { level: Some(0), repaired: 1, ..Judged::default() });
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
        assert_eq!(queue.received(0).repaired, 1);
        queue.sent(1, Nanos(3));
        queue.sent(2, Nanos(4));
        assert_eq!(queue.received(1).two_since, Some(Nanos(4)));
        // A mailbox, "6" instead of "2".
        let mut queue = QueueLevel::default();
        for report in [2, 2, 2, 6, 2] {
            queue.sent(1, Nanos(1));
            queue.sent(report, Nanos(2));
            queue.received(0);
        }
        queue.sent(1, Nanos(3));
        assert_eq!(queue.sent(2, Nanos(4)).level, Some(1));
    }

    #[test]
    fn a_mailbox_is_told_by_a_second_overwrite() {
        let mut queue = QueueLevel::default();
        queue.sent(1, Nanos(1));
        queue.sent(2, Nanos(2));
        let judged = queue.sent(2, Nanos(3));
        assert_eq!((judged.level, judged.is_overwrite, judged.repaired, judged.two_since), (Some(1), true, 2, None));
    }

    #[test]
    fn a_deeper_queue_gets_its_level_late() {
        let mut queue = QueueLevel::default();
        queue.sent(1, Nanos(1));
        queue.sent(2, Nanos(2));
        assert_eq!(queue.sent(3, Nanos(3)), Judged { level: Some(3), two_since: Some(Nanos(2)), ..Judged::default() });
        queue.received(2);
        queue.received(1);
        assert_eq!(queue.sent(2, Nanos(4)).level, Some(2));

        let mut queue = QueueLevel::default();
        for _ in 0..2 {
            queue.sent(1, Nanos(1));
            assert_eq!(queue.sent(2, Nanos(2)).level, None);
            assert_eq!(queue.received(1).two_since, Some(Nanos(2)));
            queue.received(0);
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
        assert_eq!(queue.received(0), Judged { level: Some(0), two_since: Some(Nanos(2)), ..Judged::default() });
        queue.sent(1, Nanos(3));
        queue.sent(2, Nanos(4));
        assert_eq!(queue.received(1).two_since, Some(Nanos(4)));
    }

    #[test]
    fn a_mailbox_that_holds_more_is_none() {
        let mut mailbox = QueueLevel::default();
        mailbox.sent(1, Nanos(1));
        mailbox.sent(2, Nanos(2));
        mailbox.received(0);
        assert_eq!(mailbox.sent(3, Nanos(3)).level, Some(3));
        assert_eq!(mailbox.received(2).level, Some(2));
        assert_eq!(mailbox.sent(2, Nanos(4)).level, Some(2));
    }

    #[test]
    fn emptying_a_doubtful_queue_leaves_it_open_what_it_is() {
        let mut mailbox = QueueLevel::default();
        mailbox.sent(1, Nanos(1));
        mailbox.sent(2, Nanos(2));
        mailbox.told(0);
        mailbox.sent(1, Nanos(3));
        mailbox.sent(2, Nanos(4));
        assert_eq!(mailbox.received(0).repaired, 1);
    }

    #[test]
    fn what_stays_open_stands_as_reported() {
        let mut queue = QueueLevel::default();
        queue.sent(1, Nanos(1));
        queue.sent(2, Nanos(2));
        assert_eq!(queue.forget(), Some(Nanos(2)));
        assert_eq!(queue.forget(), None);
    }
}
