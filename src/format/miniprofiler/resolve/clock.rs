//! The device's clock of 32 bits → ticks that do not wrap.
//!
//! Calls come in order of their *ends*; their begins go back half of the time, so it is the end that is judged. A call may come
//! after one that interrupted its exit: its end lies back a little, and is right.

use super::super::record::ProfileRecord;
use crate::clock::{Cause, Domain, Doubt, Judge, Judged, Stamp, Verdict};

/// How far back an end may lie in the first pass, in ticks: a call may come after one that interrupted its exit.
pub const LATE_TICKS: i64 = 1_000_000;

/// A small step back, in bits: far fewer than a wrap. Such steps are usual where calls are interrupted, but none of them is long.
const DISORDER_BITS: u32 = 24;

/// METADATA is sent at the start, and when the host asks for it; ACK when the host starts or stops it. What they say for a restart,
/// in bits.
const RESTART_BITS: u8 = 48;

/// The evidence for a restart in the calls themselves, in bits: each of two signs says no more than this.
const SIGN_BITS: u32 = 24;
/// They are signs of it from this number of calls on.
const SIGN_CALLS: usize = 3;

/// Silence from here on, in ticks, is so long that a wrap may be missing.
const LONG_SILENCE_TICKS: u64 = 1 << 30;

/// The unwrapped clock.
#[derive(Clone, Debug)]
pub struct Clock {
    judge: Judge,
    /// How often the clock had wrapped when the first call ended.
    wraps_before: u64,
}

/// A call, as far as it matters to the clock.
#[derive(Clone, Copy, Debug)]
pub struct Ended {
    /// Its end, as on the wire.
    pub exit: u32,
    pub duration: u32,
    pub depth: u16,
    /// Where its packet starts.
    pub offset: u64,
}

impl Ended {
    pub fn of(record: &ProfileRecord, offset: u64) -> Ended {
        let &ProfileRecord { entry_us, duration_us: duration, depth, .. } = record;
        Ended { exit: entry_us.wrapping_add(duration), duration, depth, offset }
    }
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

    /// The end of a call, in ticks. `depth_before`: of the call before it. `may_restart`: the device has said what it is, or
    /// acknowledged a command, since that, as it does when it starts. `ahead`: the calls that follow.
    #[cold]
    pub fn judge(
        &mut self,
        call: Ended,
        depth_before: u16,
        may_restart: bool,
        ahead: impl Iterator<Item = Ended> + Clone,
        bytes: &[u8],
    ) -> (u64, Step) {
        let Ended { exit, duration, .. } = call;
        if self.judge.begin().is_none() {
            // A first call that began before a wrap.
            let wraps = self.wraps_before.max(u64::from(exit < duration));
            self.judge = self.judge.clone().with_base(wraps << 32);
        }
        let stamp = |call: Ended| Stamp { raw: u64::from(call.exit), offset: call.offset, ..Stamp::default() };
        let said = if may_restart { RESTART_BITS } else { 0 };
        let restart_bits = said + self.signs_of_restart(call, depth_before, ahead.clone());
        let before = self.judge.reached();
        let Judged { ticks, own, verdict, cause, .. } =
            self.judge.judge(Stamp { restart_bits, ..stamp(call) }, ahead.map(stamp), bytes);
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

    /// The evidence in the calls from one on for a restart before it, in bits; 0 unless the clock went back. After a restart no call began before the
    /// clock's zero. There are two signs: the first call begins near the zero, of all times that the clock could have gone to, and calls
    /// of a lower depth end than that of the call before, whose callers would have had to end first.
    fn signs_of_restart(&self, call: Ended, depth_before: u16, ahead: impl Iterator<Item = Ended>) -> u8 {
        let last = self.judge.last() as u32;
        if self.judge.begin().is_none() || call.exit >= last {
            return 0;
        }
        let (mut begin, mut is_cut, mut count) = (u32::MAX, false, 0);
        for next in std::iter::once(call).chain(ahead).take_while(|next| next.exit >= call.exit) {
            // It began before the zero: there was no restart.
            let Some(entry) = next.exit.checked_sub(next.duration) else { return 0 };
            begin = begin.min(entry);
            is_cut |= next.depth.cast_signed() < depth_before.cast_signed();
            count += 1;
        }
        let range = last.min(call.exit.wrapping_sub(last));
        let near = (range / begin.max(1)).checked_ilog2().unwrap_or(0).min(SIGN_BITS);
        let bits = near + if is_cut { SIGN_BITS } else { 0 };
        if count >= SIGN_CALLS { bits as u8 } else { 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ended(entry: u32, duration: u32) -> Ended {
        Ended { exit: entry.wrapping_add(duration), duration, depth: 0, offset: 0 }
    }

    fn exits(calls: &[(u32, u32)]) -> Vec<u64> {
        let mut clock = Clock::new(0);
        calls.iter().map(|&(entry, duration)| clock.judge(ended(entry, duration), 0, false, std::iter::empty(), &[]).0).collect()
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
        assert_eq!(clock.judge(ended(5, 2), 0, false, std::iter::empty(), &[]), (0x1_0000_0007, Step::Normal));
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
            let ahead = calls[index + 1..].iter().map(|&exit| ended(exit - 100, 100));
            answer = clock.judge(ended(exit - 100, 100), 0, may_restart && index + 1 == calls.len(), ahead, &[]);
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

    /// Calls of seconds, each with one that it calls.
    fn rounds(from: u32) -> impl Iterator<Item = Ended> {
        (0..40).flat_map(move |round| {
            let entry = from + round * 2_000_000;
            [Ended { depth: 2, ..ended(entry + 100_000, 900_000) }, Ended { depth: 1, ..ended(entry, 1_900_000) }]
        })
    }

    /// Where the calls restart, by number.
    fn restarts(calls: &[Ended]) -> Vec<usize> {
        let mut clock = Clock::new(0);
        let mut found = Vec::new();
        for (index, &call) in calls.iter().enumerate() {
            let depth_before = index.checked_sub(1).map_or(0, |before| calls[before].depth);
            let (_, step) = clock.judge(call, depth_before, false, calls[index + 1..].iter().copied(), &[]);
            found.extend((step == Step::Restart).then_some(index));
        }
        found
    }

    #[test]
    fn calls_alone_show_a_restart() {
        let after = |calls: usize, from| -> Vec<Ended> { rounds(50).take(calls).chain(rounds(from)).collect() };
        // The device is reset within a call, which never ends.
        assert_eq!(restarts(&after(79, 700)), [79]);
        // Silence up to an earlier value of the clock, and the clock's wrap.
        assert!(restarts(&after(80, 30_000_000)).is_empty());
        let wraps = |calls: usize| -> Vec<Ended> { rounds(u32::MAX - 79_900_000).take(calls).chain(rounds(100_000)).collect() };
        assert!(restarts(&wraps(80)).is_empty());
    }
}
