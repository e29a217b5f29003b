//! From ticks of a clock to nanoseconds, from a point on: what is left of a clock whose frequency changes.

use crate::model::{Nanos, Rate, Ticks};

/// A straight line through a point.
#[derive(Clone, Copy, Debug)]
pub struct Line {
    /// The ticks of the point.
    pub ticks: u64,
    /// Its nanoseconds.
    pub ns: u64,
    /// The slope.
    pub rate: Rate,
}

impl Line {
    /// A line of this slope, from zero.
    #[must_use]
    pub fn new(rate: Rate) -> Line {
        Line { ticks: 0, ns: 0, rate }
    }

    /// The nanoseconds of some ticks. `None` before zero and beyond what a trace can hold.
    #[inline]
    #[must_use]
    pub fn nanos(&self, ticks: u64) -> Option<u64> {
        match ticks.checked_sub(self.ticks) {
            Some(since) => self.rate.to_nanos(Ticks(since))?.0.checked_add(self.ns).filter(|&ns| ns <= Nanos::MAX.0),
            None => self.ns.checked_sub(self.rate.to_nanos(Ticks(self.ticks - ticks))?.0),
        }
    }

    /// Goes on with another slope from some ticks on. False if nothing changes.
    pub fn bend(&mut self, ticks: u64, rate: Rate) -> bool {
        if self.rate == rate {
            return false;
        }
        let Some(ns) = self.nanos(ticks) else { return false };
        *self = Line { ticks, ns, rate };
        true
    }
}
