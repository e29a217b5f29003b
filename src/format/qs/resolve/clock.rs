//! Time stamps of limited width → one time that never goes back.
//!
//! A stamp is the nearest reading of the counter after the one before, or slightly before it: half the range in each direction.
//! Small steps back are real (some targets read a counter whose base is updated late): order is kept, the time is held. If many
//! stamps in a row are earlier, the counter was set back, and time continues from the time held.

use crate::model::{Nanos, Rate, Ticks};

/// After this many stamps in a row that are earlier, the counter is assumed to have been set back.
const BEHIND_LIMIT: u32 = 256;

/// How the time of a stamp was determined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeStatus {
    /// As recorded.
    AsRecorded,
    /// Earlier than the one before: held at its time.
    Held,
    /// The counter was set back permanently.
    SetBack,
    /// Beyond the range of the viewer: held.
    Overflow,
}

/// The clock of one input.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    rate: Rate,
    /// The highest value of the counter.
    mask: u64,
    /// The unwrapped counter; `None` before the first stamp of a session.
    last: Option<u64>,
    /// How many stamps in a row were earlier than `last`.
    behind: u32,
    /// The offset of the time of a tick, in nanoseconds.
    shift_ns: i64,
    /// The start of the session, in nanoseconds.
    start_ns: u64,
    now_ns: u64,
}

impl Clock {
    /// A clock before its first stamp, whose counter has `width` bytes.
    pub fn new(rate: Rate, width: u8) -> Clock {
        Clock { rate, mask: mask(width), last: None, behind: 0, shift_ns: 0, start_ns: 0, now_ns: 0 }
    }

    /// The time of the last record.
    #[inline]
    pub fn now(&self) -> Nanos {
        Nanos(self.now_ns)
    }

    /// Whether the current time is known: from a stamp, or from a session before this one.
    #[inline]
    pub fn has_begun(&self) -> bool {
        self.last.is_some() || self.now_ns > 0
    }

    /// Begins another session, `gap_ns` after the time before. Its counter has `width` bytes and starts at any value.
    pub fn restart(&mut self, width: u8, gap_ns: u64) -> Nanos {
        let has_begun = self.has_begun();
        self.mask = mask(width);
        (self.last, self.behind) = (None, 0);
        if has_begun {
            self.now_ns = Nanos(self.now_ns).saturating_add(gap_ns).0;
            self.start_ns = self.now_ns;
        }
        Nanos(self.now_ns)
    }

    /// Advances the current time to that of a stamp.
    #[inline]
    pub fn advance(&mut self, stamp: u32) -> TimeStatus {
        if let Some(last) = self.last {
            let delta = u64::from(stamp).wrapping_sub(last) & self.mask;
            if delta == 0 {
                self.behind = 0;
                return TimeStatus::AsRecorded;
            }
            if delta <= self.mask / 2 {
                self.behind = 0;
                return self.set(last.saturating_add(delta));
            }
        }
        self.first_or_behind(stamp)
    }

    #[inline]
    fn set(&mut self, ticks: u64) -> TimeStatus {
        self.last = Some(ticks);
        match self.rate.to_nanos(Ticks(ticks)).map(|time| time.0.cast_signed().saturating_add(self.shift_ns)) {
            Some(ns) if ns >= 0 => {
                self.now_ns = self.now_ns.max(ns.cast_unsigned());
                TimeStatus::AsRecorded
            }
            _ => TimeStatus::Overflow,
        }
    }

    #[cold]
    fn first_or_behind(&mut self, stamp: u32) -> TimeStatus {
        let stamp = u64::from(stamp);
        let Some(last) = self.last else {
            let first_ns = self.rate.to_nanos(Ticks(stamp)).unwrap_or_default().0;
            if self.start_ns > 0 {
                // The duration of a reset is unknown: the first stamp after it is at the start of the session.
                self.shift_ns = self.start_ns.cast_signed().saturating_sub(first_ns.cast_signed());
            }
            return self.set(stamp);
        };
        self.behind += 1;
        if self.behind < BEHIND_LIMIT {
            return TimeStatus::Held;
        }
        self.behind = 0;
        // The ticks continue from this stamp, the time from the current time.
        let ticks = (last & !self.mask) | stamp;
        let at_ns = self.rate.to_nanos(Ticks(ticks)).unwrap_or_default().0;
        self.shift_ns = self.now_ns.cast_signed().saturating_sub(at_ns.cast_signed());
        self.last = Some(ticks);
        TimeStatus::SetBack
    }
}

fn mask(width: u8) -> u64 {
    match width {
        1 => 0xFF,
        2 => 0xFFFF,
        _ => 0xFFFF_FFFF,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(clock: &mut Clock, stamps: &[u32]) -> Vec<u64> {
        stamps
            .iter()
            .map(|&stamp| {
                clock.advance(stamp);
                clock.now().0
            })
            .collect()
    }

    #[test]
    fn any_width_is_unwrapped() {
        let mut narrow = Clock::new(Rate::NANOSECOND, 1);
        assert_eq!(times(&mut narrow, &[250, 255, 3, 100, 200, 10]), [250, 255, 259, 356, 456, 522]);
        let mut wide = Clock::new(Rate::NANOSECOND, 4);
        assert_eq!(times(&mut wide, &[u32::MAX - 1, 5]), [(1 << 32) - 2, (1 << 32) + 5]);
    }

    #[test]
    fn small_steps_back_are_held() {
        let mut clock = Clock::new(Rate::NANOSECOND, 4);
        assert_eq!(times(&mut clock, &[1000, 900, 950, 1001]), [1000, 1000, 1000, 1001]);
        assert_eq!(clock.advance(990), TimeStatus::Held);
        assert_eq!(clock.advance(1001), TimeStatus::AsRecorded);
    }

    #[test]
    fn a_counter_that_was_set_back_does_not_stop_the_time() {
        let mut clock = Clock::new(Rate::NANOSECOND, 4);
        clock.advance(1_000_000);
        let statuss: Vec<TimeStatus> = (0..BEHIND_LIMIT).map(|n| clock.advance(n * 10)).collect();
        assert!(statuss.iter().rev().skip(1).all(|&status| status == TimeStatus::Held));
        assert_eq!((statuss.last(), clock.now().0), (Some(&TimeStatus::SetBack), 1_000_000));
        clock.advance(BEHIND_LIMIT * 10);
        assert_eq!(clock.now().0, 1_000_010);
    }

    #[test]
    fn a_session_starts_after_the_one_before() {
        let mut clock = Clock::new(Rate::NANOSECOND, 4);
        clock.advance(5000);
        assert_eq!(clock.restart(4, 100).0, 5100);
        assert_eq!(times(&mut clock, &[7, 20]), [5100, 5113]);
        let mut fresh = Clock::new(Rate::NANOSECOND, 4);
        fresh.restart(4, 100);
        assert_eq!(times(&mut fresh, &[7]), [7]);
    }

    #[test]
    fn a_time_beyond_the_viewer_is_held() {
        let mut clock = Clock::new(Rate::from_hz(1, 9).unwrap(), 4);
        assert_eq!(clock.advance(1), TimeStatus::AsRecorded);
        assert_eq!(clock.advance(1 << 31), TimeStatus::Overflow);
        assert_eq!(clock.now().0, 9_000_000_000);
    }
}
