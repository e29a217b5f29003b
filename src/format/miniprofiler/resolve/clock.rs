//! The device's clock of 32 bits → ticks that do not wrap.
//!
//! Calls are in order of their *ends*; their begins often go back. So the end is unwrapped, to the value nearest to the end before. Steps
//! back by more than [`LATE_TICKS`] do not occur: either the device was restarted, if there are signs of that, or it was silent for more
//! than half of a wrap.

/// The largest step back of an end, in ticks: a call may be reported after one that interrupted its exit.
pub const LATE_TICKS: i64 = 1_000_000;

/// The same when the device may have been restarted.
const LATE_AFTER_METADATA_TICKS: i64 = 1_000;

/// A clock that is lower by less than this, in ticks, before a wrap, may also have continued.
const SILENCE_TICKS: i64 = 10_000_000;

/// After a silence of this length, in ticks, a wrap may be missing.
const LONG_SILENCE_TICKS: i64 = 1 << 30;

/// The unwrapped clock.
#[derive(Clone, Copy, Debug, Default)]
pub struct Clock {
    /// The end of the last call, in ticks; `None` before the first.
    last: Option<u64>,
    /// The number of wraps before the end of the first call.
    wraps_before: u64,
}

/// The step of the clock at the end of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// The clock continues, or this call is reported late.
    Normal,
    /// A silence in which a wrap may be missing.
    LongSilence,
    /// The device was restarted.
    Restart,
}

impl Clock {
    /// A clock that has already wrapped `wraps_before` times.
    pub fn new(wraps_before: u64) -> Clock {
        Clock { last: None, wraps_before }
    }

    /// The end of a call of `duration` that ended at `exit` on the wire, in ticks. `may_restart`: METADATA came since the last
    /// call, as at the start of the device.
    #[inline]
    pub fn unwrap(&mut self, exit: u32, duration: u32, may_restart: bool) -> (u64, Step) {
        let Some(last) = self.last else {
            // A first call that began before a wrap.
            let own = u64::from(exit < duration);
            let ticks = (self.wraps_before.max(own) << 32) + u64::from(exit);
            self.last = Some(ticks);
            return (ticks, Step::Normal);
        };
        let step = exit.wrapping_sub(last as u32).cast_signed();
        if step >= 0 && !may_restart && i64::from(step) < LONG_SILENCE_TICKS {
            let ticks = last + u64::from(step.unsigned_abs());
            self.last = Some(ticks);
            return (ticks, Step::Normal);
        }
        self.unwrap_unusual(last, exit, duration, may_restart)
    }

    #[cold]
    fn unwrap_unusual(&mut self, last: u64, exit: u32, duration: u32, may_restart: bool) -> (u64, Step) {
        let step = i64::from(exit.wrapping_sub(last as u32).cast_signed());
        let is_earlier = exit < last as u32;
        let is_restart = match step {
            ..0 => step < -LATE_AFTER_METADATA_TICKS,
            _ => step > SILENCE_TICKS,
        };
        if may_restart && is_earlier && is_restart {
            *self = Clock::default();
            return (self.unwrap(exit, duration, false).0, Step::Restart);
        }
        if (-LATE_TICKS..0).contains(&step) {
            return (last.saturating_sub(step.unsigned_abs()), Step::Normal);
        }
        let forwards = u64::from(exit.wrapping_sub(last as u32));
        let ticks = last.saturating_add(forwards);
        self.last = Some(ticks);
        let is_long = forwards >= LONG_SILENCE_TICKS.unsigned_abs();
        (ticks, if is_long { Step::LongSilence } else { Step::Normal })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exits(calls: &[(u32, u32)]) -> Vec<u64> {
        let mut clock = Clock::default();
        calls.iter().map(|&(entry, duration)| clock.unwrap(entry.wrapping_add(duration), duration, false).0).collect()
    }

    #[test]
    fn ends_are_unwrapped_though_begins_go_back() {
        // A child, its parent that began before it, and so on across two wraps.
        let half = 1 << 31;
        let found = exits(&[(100, 5), (50, 70), (half, 9), (u32::MAX - 3, 2), (u32::MAX - 9, 20), (half, 1), (u32::MAX, 1)]);
        let wrap = 1u64 << 32;
        assert_eq!(found, [105, 120, half as u64 + 9, wrap - 2, wrap + 10, wrap + half as u64 + 1, 2 * wrap]);
    }

    #[test]
    fn a_first_call_may_cross_the_wrap() {
        assert_eq!(exits(&[(0xFFFF_FF00, 512), (0x200, 1)]), [0x1_0000_0100, 0x1_0000_0201]);
        let mut clock = Clock::new(1);
        assert_eq!(clock.unwrap(7, 2, false), (0x1_0000_0007, Step::Normal));
    }

    #[test]
    fn late_calls_do_not_move_the_clock() {
        assert_eq!(exits(&[(1000, 0), (990, 4), (1001, 0)]), [1000, 994, 1001]);
    }

    #[test]
    fn steps_back_are_restarts_or_silence() {
        let mut clock = Clock::default();
        clock.unwrap(600_000_000, 0, false);
        assert_eq!(clock.clone().unwrap(500, 100, true), (500, Step::Restart));
        assert_eq!(clock.unwrap(500, 100, false), ((1 << 32) + 500, Step::LongSilence));
        // Metadata that was asked for.
        let mut clock = Clock::default();
        clock.unwrap(600_000_000, 0, false);
        assert_eq!(clock.unwrap(600_000_900, 100, true), (600_000_900, Step::Normal));
        assert_eq!(clock.unwrap(600_000_800, 100, true), (600_000_800, Step::Normal));
        // A restart after which the time seems to go on, by more than half of a wrap.
        let mut clock = Clock::default();
        clock.unwrap(3_000_000_000, 0, false);
        assert_eq!(clock.unwrap(500, 100, true), (500, Step::Restart));
    }
}
