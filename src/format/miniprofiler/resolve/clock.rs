//! The device's clock of 32 bits → ticks that do not wrap.
//!
//! Calls come in order of their *ends*; their begins go back half of the time, so it is the end that is judged. A call may come
//! after one that interrupted its exit: its end lies back a little, and is right.

use crate::clock::{Cause, Domain, Doubt, Judge, Judged, Stamp, Verdict};

/// How far back an end may lie in the first pass, in ticks: a call may come after one that interrupted its exit.
pub const LATE_TICKS: i64 = 1_000_000;

/// A small step back, in bits.
const DISORDER_BITS: u32 = 4;

/// METADATA is sent at the start, and when the host asks for it; ACK when the host starts or stops it. What they say for a restart,
/// in bits.
const RESTART_BITS: u8 = 48;

/// Silence from here on, in ticks, is so long that a wrap may be missing.
const LONG_SILENCE_TICKS: u64 = 1 << 30;

/// The unwrapped clock.
#[derive(Clone, Debug)]
pub struct Clock {
    judge: Judge,
    /// How often the clock had wrapped when the first call ended.
    wraps_before: u64,
}

/// What the end of a call says about the clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// It goes on, or this call comes late.
    Normal,
    /// After so long a silence that a wrap may be missing.
    LongSilence,
    /// The device was restarted.
    Restart,
    /// It contradicts those before and after it, and has a time between theirs.
    Outlier,
    /// It is a copy of a call before.
    Repeated,
}

impl Clock {
    /// A clock that has wrapped this number of times.
    pub fn new(wraps_before: u64) -> Clock {
        let domain = Domain { modulus: Some(1 << 32), disorder_bits: DISORDER_BITS, is_protected: true, ..Domain::plain() };
        Clock { judge: Judge::new(domain), wraps_before }
    }

    /// The end of a call that follows by a usual step, and is followed by one; otherwise `None`, and [`Clock::judge`] is to be asked.
    #[inline]
    pub fn step(&mut self, exit: u32, next: u32) -> Option<u64> {
        self.judge.step(u64::from(exit), u64::from(next))
    }

    /// See [`Judge::take_doubt`].
    #[inline]
    pub fn take_doubt(&mut self) -> Option<Doubt> {
        self.judge.take_doubt()
    }

    /// The end of a call of `duration` that ended at `exit` on the wire, in ticks. `may_restart`: the device has said what it is, or
    /// acknowledged a command, since the last call, as it does when it starts. `ahead`: the ends that follow, each with its offset.
    #[cold]
    pub fn judge(
        &mut self,
        (exit, offset): (u32, u64),
        duration: u32,
        may_restart: bool,
        ahead: impl Iterator<Item = (u32, u64)> + Clone,
        bytes: &[u8],
    ) -> (u64, Step) {
        if self.judge.begin().is_none() {
            // A first call that began before a wrap.
            let wraps = self.wraps_before.max(u64::from(exit < duration));
            self.judge = self.judge.clone().with_base(wraps << 32);
        }
        let stamp = |(exit, offset)| Stamp { raw: u64::from(exit), offset, ..Stamp::default() };
        let restart_bits = if may_restart { RESTART_BITS } else { 0 };
        let before = self.judge.reached();
        let Judged { ticks, own, verdict, cause, .. } =
            self.judge.judge(Stamp { restart_bits, ..stamp((exit, offset)) }, ahead.map(stamp), bytes);
        match verdict {
            Verdict::Restarted => {
                self.judge.move_by(u64::from(exit < duration) << 32);
                (self.judge.reached().unwrap_or(ticks), Step::Restart)
            }
            Verdict::Held if cause == Cause::Repeated => (ticks, Step::Repeated),
            Verdict::Held => (own, Step::Normal),
            Verdict::Replaced => (ticks, Step::Outlier),
            _ if before.is_some_and(|before| ticks.saturating_sub(before) >= LONG_SILENCE_TICKS) => (ticks, Step::LongSilence),
            _ => (ticks, Step::Normal),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exits(calls: &[(u32, u32)]) -> Vec<u64> {
        let mut clock = Clock::new(0);
        calls
            .iter()
            .map(|&(entry, duration)| clock.judge((entry.wrapping_add(duration), 0), duration, false, std::iter::empty(), &[]).0)
            .collect()
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
        assert_eq!(clock.judge((7, 0), 2, false, std::iter::empty(), &[]), (0x1_0000_0007, Step::Normal));
    }

    #[test]
    fn late_calls_do_not_move_the_clock() {
        assert_eq!(exits(&[(1000, 0), (990, 4), (1001, 0)]), [1000, 994, 1001]);
    }

    /// A clock that has seen calls up to a time, and what it makes of one more.
    fn after(last: u32, exit: u32, may_restart: bool) -> (u64, Step) {
        let mut clock = Clock::new(0);
        let calls: Vec<u32> = (0..40).map(|back| last - 20_000 + back * 500).chain([last, exit]).collect();
        let mut answer = (0, Step::Normal);
        for (index, &exit) in calls.iter().enumerate() {
            let ahead = calls[index + 1..].iter().map(|&exit| (exit, 0));
            answer = clock.judge((exit, 0), 100, may_restart && index + 1 == calls.len(), ahead, &[]);
        }
        answer
    }

    #[test]
    fn steps_back_are_restarts_or_silence() {
        assert_eq!(after(600_000_000, 500, true), (500, Step::Restart));
        assert_eq!(after(600_000_000, 500, false), ((1 << 32) + 500, Step::LongSilence));
        // Metadata that was asked for.
        assert_eq!(after(600_000_000, 600_000_900, true), (600_000_900, Step::Normal));
        assert_eq!(after(600_000_000, 599_999_800, true), (599_999_800, Step::Normal));
        // A restart after which the time seems to go on, by more than half of a wrap.
        assert_eq!(after(3_000_000_000, 500, true), (500, Step::Restart));
    }
}
