//! Levels of queues, as reported and as they must have been.
//!
//! Targets report `xQueueOverwrite` as an ordinary send of "level before + 1", so a mailbox (a queue of one item) that is
//! overwritten seems to hold two. What comes next on that queue tells: after two items were really in, a receive leaves one and a
//! send makes three; after an overwritten one, a receive leaves none and a send makes "two" again. Until then the level is withheld.

use crate::model::Nanos;

/// What is known about the level of one queue.
#[derive(Clone, Copy, Debug, Default)]
pub struct QueueLevel {
    last: Option<u32>,
    /// When "two" was reported, while it is open whether it was.
    doubtful_since: Option<Nanos>,
    kind: Capacity,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Capacity {
    #[default]
    Unknown,
    /// It held two items at least.
    Deep,
    /// It holds one.
    Mailbox,
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
        let plain = Judged { level: Some(level), ..Judged::default() };
        match self.kind {
            Capacity::Mailbox if level >= 2 => {
                self.last = Some(1);
                return Judged { level: Some(1), is_overwrite: true, repaired: 1, ..Judged::default() };
            }
            Capacity::Unknown if level == 2 && self.doubtful_since.is_some() => {
                self.kind = Capacity::Mailbox;
                self.doubtful_since = None;
                self.last = Some(1);
                return Judged { level: Some(1), is_overwrite: true, repaired: 2, ..Judged::default() };
            }
            Capacity::Unknown if level == 2 && self.last == Some(1) => {
                self.doubtful_since = Some(time);
                return Judged::default();
            }
            _ => {}
        }
        let two_since = self.settle(level > 2);
        self.last = Some(level);
        Judged { two_since, ..plain }
    }

    /// A receive was reported.
    pub fn received(&mut self, level: u32) -> Judged {
        let mut judged = Judged { level: Some(level), ..Judged::default() };
        if self.doubtful_since.is_some() && level == 0 {
            self.kind = Capacity::Mailbox;
            self.doubtful_since = None;
            judged.repaired = 1;
        } else {
            judged.two_since = self.settle(level >= 2);
        }
        self.last = Some(level);
        judged
    }

    /// The level was told, or the queue emptied.
    pub fn told(&mut self, level: u32) -> Option<Nanos> {
        let two_since = self.settle(level >= 2);
        self.last = Some(level);
        two_since
    }

    /// Nothing more comes, or something was lost: what was reported stands.
    pub fn forget(&mut self) -> Option<Nanos> {
        self.last = None;
        self.doubtful_since.take()
    }

    fn settle(&mut self, is_deep: bool) -> Option<Nanos> {
        let two_since = self.doubtful_since.take();
        if is_deep || two_since.is_some() {
            self.kind = Capacity::Deep;
        }
        two_since
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mailbox_is_told_by_the_receive_after_an_overwrite() {
        let mut queue = QueueLevel::default();
        assert_eq!(queue.sent(1, Nanos(1)).level, Some(1));
        assert_eq!(queue.sent(2, Nanos(2)), Judged::default());
        assert_eq!(queue.received(0), Judged { level: Some(0), repaired: 1, ..Judged::default() });
        assert_eq!(queue.sent(1, Nanos(3)).level, Some(1));
        let again = queue.sent(2, Nanos(4));
        assert_eq!((again.level, again.is_overwrite, again.repaired), (Some(1), true, 1));
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
        queue.sent(1, Nanos(1));
        queue.sent(2, Nanos(2));
        assert_eq!(queue.received(1).two_since, Some(Nanos(2)));
        queue.received(0);
        queue.sent(1, Nanos(3));
        assert_eq!(queue.sent(2, Nanos(4)).level, Some(2));
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
