//! The time of records: stamps of limited width, judged, as nanoseconds on the trace's axis.

use super::super::layout::low_bytes;
use super::super::sessions::Session;
use crate::clock::{Domain, Judge, RESTART_GAP_NS, Stamp, Verdict as Judged};
use crate::model::{Nanos, Rate, Ticks};

/// A small step back, in bits: some targets read a counter whose base is updated late.
const DISORDER_BITS: u32 = 6;

/// With fewer falls a clock does not begin again and again.
const FALLS_LEAST: u32 = 32;

/// What became of a stamp.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Taken as it is.
    Taken,
    /// Behind the one before: held at its time.
    Held,
    /// It contradicts those before and after it.
    Replaced,
    /// Beyond what the viewer can show: held.
    Overflow,
    /// The target was reset, although no target information says so: time goes on a little later.
    Restarted,
}

/// The clock of one input.
#[derive(Clone, Debug)]
pub struct Clock {
    rate: Rate,
    judge: Judge,
    /// The clock ticks so far.
    pub coarse: u64,
    /// What is to be added to the time of a tick, in nanoseconds.
    shift_ns: i64,
    /// The session starts here, in nanoseconds.
    start_ns: u64,
    now_ns: u64,
    /// How often the stamps of the session fell to less than half, and the highest value before. Wraps and restarts are left out.
    falls: u32,
    highest: u64,
    /// The result of [`Clock::begins_again_after`] for the sessions before.
    began_again_after: Option<u64>,
}

fn domain(session: &Session) -> Domain {
    let modulus = match session.layout.config.sizes.time {
        1 => 1 << 8,
        2 => 1 << 16,
        _ => 1 << 32,
    };
    // Target information says when a session begins, but it may be lost.
    Domain { modulus: Some(modulus), disorder_bits: DISORDER_BITS, is_protected: true, ..Domain::plain() }
}

impl Clock {
    /// A clock before its first stamp. `units_per_tick`: those of the stamps in a clock tick, if known.
    pub fn new(rate: Rate, session: Option<&Session>, units_per_tick: Option<f64>) -> Clock {
        let judge = Judge::new(session.map_or(Domain::plain(), domain)).with_coarse_rate(units_per_tick);
        Clock { rate, judge, coarse: 0, shift_ns: 0, start_ns: 0, now_ns: 0, falls: 0, highest: 0, began_again_after: None }
    }

    /// The time of the last record.
    #[inline]
    pub fn now(&self) -> Nanos {
        Nanos(self.now_ns)
    }

    /// Whether there is a present: a stamp, or a session before this one.
    #[inline]
    pub fn has_begun(&self) -> bool {
        self.judge.begin().is_some() || self.now_ns > 0
    }

    /// Another session begins, a little after what was before. Its counter starts anywhere.
    pub fn restart(&mut self, session: &Session) -> Nanos {
        let has_begun = self.has_begun();
        self.end_falls();
        self.judge.begin_session(domain(session));
        self.coarse = 0;
        if has_begun {
            self.now_ns = Nanos(self.now_ns).saturating_add(RESTART_GAP_NS).0;
            self.start_ns = self.now_ns;
        }
        Nanos(self.now_ns)
    }

    /// The counter of the stamps begins again, a little after what was before. All else goes on.
    #[cold]
    pub fn begin_test(&mut self) {
        if self.has_begun() {
            self.end_falls();
            self.judge.begin_session(self.judge.domain());
            self.now_ns = Nanos(self.now_ns).saturating_add(RESTART_GAP_NS).0;
            self.start_ns = self.now_ns;
        }
    }

    /// See [`Judge::take_doubt`].
    #[inline]
    pub fn take_doubt(&mut self) -> Option<String> {
        self.judge.take_doubt().map(|doubt| doubt.text(self.rate))
    }

    /// Whether a stamp is before the last one by more than a usual step.
    pub fn goes_far_back(&self, stamp: u32) -> bool {
        let Some(modulus) = self.judge.domain().modulus.filter(|_| self.judge.begin().is_some()) else { return false };
        let back = self.judge.last().wrapping_sub(u64::from(stamp)) & (modulus - 1);
        (self.judge.usual_step()..modulus / 2).contains(&back)
    }

    /// Whether a stamp is as far from the last one as `count` stamps of the session are on average.
    pub fn takes_stamps(&self, stamp: u32, count: u64) -> bool {
        let (Some(begin), Some(reached)) = (self.judge.begin(), self.judge.reached()) else { return false };
        let modulus = self.judge.domain().modulus.unwrap_or(1 << 32);
        let step = u64::from(stamp).wrapping_sub(self.judge.last()) & (modulus - 1);
        step < modulus / 2 && step.saturating_mul(self.judge.count()) >= reached.saturating_sub(begin).saturating_mul(count)
    }

    /// Bytes are damaged: stamps may be, too.
    pub fn note_damage(&mut self) {
        self.judge.note_damage();
    }

    /// Frames are missing: clock ticks may be, too.
    pub fn note_gap(&mut self) {
        self.judge.note_gap();
    }

    /// The target's clock has ticked: its count, of `width` bytes. `count` is the last one, and is moved on.
    #[inline]
    pub fn tick(count: &mut Option<u64>, coarse: &mut u64, now: u64, width: u8) {
        /// More at once are not ticks: the count was damaged, or began again. While the target's filter is closed there may be many.
        const AT_ONCE: [u64; 2] = [1 << 14, 1 << 24];
        let ticks = count.replace(now).map_or(now, |last| low_bytes(now.wrapping_sub(last), width));
        *coarse += if ticks <= AT_ONCE[usize::from(width > 2)] { ticks } else { 1 };
    }

    /// The ticks have gone on.
    #[inline]
    pub fn note_tick(&mut self) {
        self.judge.note_coarse(self.coarse);
    }

    /// Takes a stamp that follows by a usual step, and is followed by one. Otherwise `None`, and [`Clock::judge`] is to be asked.
    #[inline]
    pub fn step(&mut self, stamp: u32, next: u32) -> Option<Verdict> {
        let ticks = self.judge.step(u64::from(stamp), u64::from(next))?;
        self.judge.note_coarse_at_step(self.coarse);
        Some(self.set(ticks))
    }

    /// The highest value of a clock that begins again and again without counting how often, as one does that only reads the timer of the clock
    /// tick. All stamps of a session of it lie below. A counter that wraps comes nearer to its end.
    pub fn begins_again_after(&self) -> Option<u64> {
        let (highest, reached) = (self.highest, self.judge.reached().unwrap_or(0));
        let is_below =
            |limit: u64| reached <= limit && self.judge.domain().modulus.is_some_and(|modulus| highest < modulus / 4 * 3);
        let begins_again = self.falls >= FALLS_LEAST && is_below(highest.saturating_add(highest / 4));
        begins_again.then_some(highest).max(self.began_again_after)
    }

    /// The session ends.
    fn end_falls(&mut self) {
        self.began_again_after = self.begins_again_after();
        (self.falls, self.highest) = (0, 0);
    }

    /// Takes any stamp. The present is its time afterwards.
    #[cold]
    pub fn judge(&mut self, stamp: Stamp, ahead: impl Iterator<Item = Stamp> + Clone, bytes: &[u8]) -> Verdict {
        let (is_first, before) = (self.judge.begin().is_none(), self.judge.previous());
        let judged = self.judge.judge(stamp, ahead, bytes);
        if judged.verdict == Judged::Restarted {
            // The judge has forgotten how far the session came.
            (self.falls, self.highest) = (0, 0);
        } else if !is_first && stamp.raw < before / 2 && judged.verdict == Judged::Held {
            (self.falls, self.highest) = (self.falls.saturating_add(1), self.highest.max(before));
        }
        if is_first && self.judge.begin().is_some() && self.start_ns > 0 {
            self.shift_to_start(judged.ticks);
        }
        if self.judge.begin().is_none() && self.start_ns > 0 {
            return Verdict::Replaced;
        }
        if judged.verdict == Judged::Restarted {
            self.start_ns = Nanos(self.now_ns).saturating_add(RESTART_GAP_NS).0;
            self.shift_to_start(judged.ticks);
            self.set(judged.ticks);
            return Verdict::Restarted;
        }
        match (judged.verdict, self.set(judged.ticks)) {
            (_, Verdict::Overflow) => Verdict::Overflow,
            (Judged::Held, _) => Verdict::Held,
            (Judged::Replaced, _) => Verdict::Replaced,
            _ => Verdict::Taken,
        }
    }

    /// How long a reset takes is unknown: the first stamp after it is at the start of the session.
    fn shift_to_start(&mut self, first: u64) {
        let first_ns = self.rate.to_nanos(Ticks(first)).unwrap_or_default().0;
        self.shift_ns = self.start_ns.cast_signed().saturating_sub(first_ns.cast_signed());
    }

    #[inline]
    fn set(&mut self, ticks: u64) -> Verdict {
        match self.rate.to_nanos(Ticks(ticks)).map(|time| time.0.cast_signed().saturating_add(self.shift_ns)) {
            Some(ns) if ns >= 0 => {
                self.now_ns = self.now_ns.max(ns.cast_unsigned());
                Verdict::Taken
            }
            _ => Verdict::Overflow,
        }
    }
}
