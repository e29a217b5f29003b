//! Clocks as lines: ticks to nanoseconds, and the message clock on the axis of the transport's clock.
//!
//! A clock message reports the message clock; the transport has a time for the same message. Such [`Pair`]s put time stamps of messages
//! on the transport's axis: between two pairs the message clock is taken for a straight line.

use crate::model::{Nanos, Rate, Ticks};

/// Where a rate or value is known from: an option.
pub const GIVEN: &str = "given by an option";
/// The capture.
pub const RECORDED: &str = "recorded in the capture";
/// Nothing.
pub const ASSUMED: &str = "assumed";
/// Two clocks that were compared.
pub const CORRELATED: &str = "inferred from clock messages";

/// What the first pass knows about the clock of a transport.
pub struct TransportClock {
    /// Its rate.
    pub rate: Rate,
    /// Where the rate is known from.
    pub source: &'static str,
    /// Readings of the message clock.
    pub pairs: Pairs,
}

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

    /// The nanoseconds of some ticks. `None` if negative or larger than a trace can hold.
    #[inline]
    #[must_use]
    pub fn nanos(&self, ticks: u64) -> Option<u64> {
        match ticks.checked_sub(self.ticks) {
            Some(since) => self.rate.to_nanos(Ticks(since))?.0.checked_add(self.ns).filter(|&ns| ns <= Nanos::MAX.0),
            None => self.ns.checked_sub(self.rate.to_nanos(Ticks(self.ticks - ticks))?.0),
        }
    }

    /// Changes the slope from some ticks on. False if it stays the same.
    pub fn bend(&mut self, ticks: u64, rate: Rate) -> bool {
        if self.rate == rate {
            return false;
        }
        let Some(ns) = self.nanos(ticks) else { return false };
        *self = Line { ticks, ns, rate };
        true
    }
}

/// How much the rate between two pairs may differ from the recorded frequency, in percent. If it differs more, the clock restarted
/// between them.
const DRIFT_PERCENT: u64 = 50;

/// How many pairs back a message may have been stamped.
const LOOK_BACK_PAIRS: usize = 8;

/// A reading of the message clock at a time of the transport.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pair {
    /// Where the clock message starts in the input, in bytes.
    pub offset: u64,
    /// The message clock, in ticks.
    pub ticks: u64,
    /// Its frequency in Hz; not 0.
    pub hz: u64,
    /// The transport's time, in ticks.
    pub transport: u64,
    /// The same in nanoseconds.
    pub ns: u64,
}

impl Pair {
    /// The nanoseconds of some ticks of the message clock, by its frequency alone. `None` if a trace cannot hold them.
    fn extrapolate(&self, ticks: u64) -> Option<u64> {
        let rate = Rate::from_hz(self.hz, 1)?;
        Line { ticks: self.ticks, ns: self.ns, rate }.nanos(ticks)
    }

    /// Whether the clock ran without a restart from here to the next pair.
    fn goes_on_to(&self, next: &Pair) -> bool {
        let (Some(ticks), Some(ns)) = (next.ticks.checked_sub(self.ticks), next.ns.checked_sub(self.ns)) else { return false };
        if ticks == 0 || ns == 0 {
            return false;
        }
        // Ticks that should have passed, by either frequency.
        let expected = |hz: u64| u128::from(ns) * u128::from(hz) / 1_000_000_000;
        let is_near = |expected: u128| u128::from(ticks).abs_diff(expected) * 100 <= expected * u128::from(DRIFT_PERCENT);
        is_near(expected(self.hz)) || is_near(expected(next.hz))
    }
}

/// All pairs of a stream, in file order.
#[derive(Clone, Debug, Default)]
pub struct Pairs {
    pairs: Vec<Pair>,
    /// The last pair that is not after the last offset asked for.
    at: usize,
}

impl Pairs {
    /// Pairs in file order. Pairs whose time contradicts both neighbours are left out.
    #[must_use]
    pub fn new(all: &[Pair]) -> Pairs {
        let is_outlier = |index: usize| {
            let near = index.checked_sub(1).and_then(|before| all.get(before)).zip(all.get(index + 1));
            near.is_some_and(|(before, after)| {
                let ns = all[index].ns;
                before.ns <= after.ns && (ns < before.ns || ns > after.ns)
            })
        };
        Pairs { pairs: (0..all.len()).filter(|&index| !is_outlier(index)).map(|index| all[index]).collect(), at: 0 }
    }

    /// The first one.
    #[must_use]
    pub fn first(&self) -> Option<&Pair> {
        self.pairs.first()
    }

    /// The time of `ticks` of the message clock on the transport's axis, in nanoseconds. `offset` is where the message starts in the
    /// input; calls come in file order.
    ///
    /// Between two pairs the clock is a straight line. Before the first pair, after the last one, and where the clock restarted, the
    /// recorded frequency is used.
    pub fn nanos(&mut self, offset: u64, ticks: u64) -> Option<u64> {
        while self.pairs.get(self.at + 1).is_some_and(|next| next.offset <= offset) {
            self.at += 1;
        }
        let mut at = self.at;
        // A message may have been stamped before the clock message that precedes it in the stream.
        for before in (0..self.at).rev().take(LOOK_BACK_PAIRS) {
            let (before, pair) = (self.pairs.get(before)?, self.pairs.get(at)?);
            if ticks >= pair.ticks || !before.goes_on_to(pair) {
                break;
            }
            at -= 1;
        }
        let pair = self.pairs.get(at)?;
        let next = self.pairs.get(at + 1).filter(|next| pair.goes_on_to(next));
        let (Some(next), true) = (next, ticks >= pair.ticks) else { return pair.extrapolate(ticks) };
        if ticks > next.ticks {
            // Stamped after the next clock message but sent before it: an odd time stamp.
            return next.extrapolate(ticks);
        }
        let (since, all, all_ns) = (ticks - pair.ticks, next.ticks - pair.ticks, next.ns - pair.ns);
        // As a rule the product is short.
        let ns = match since.checked_mul(all_ns) {
            Some(product) => product / all,
            None => u64::try_from(u128::from(since) * u128::from(all_ns) / u128::from(all)).ok()?,
        };
        ns.checked_add(pair.ns)
    }

    /// The rate of the transport's clock, from that of the message clock.
    #[must_use]
    pub fn transport_rate(&self) -> Option<Rate> {
        let (first, last) = (self.pairs.first()?, self.pairs.last()?);
        let runs = |two: &[Pair]| two[0].hz == two[1].hz && two[0].ticks < two[1].ticks && two[0].transport < two[1].transport;
        if self.pairs.len() < 2 || !self.pairs.windows(2).all(runs) {
            return None;
        }
        let ns = u128::from(last.ticks - first.ticks) * 1_000_000_000 / u128::from(first.hz);
        Rate::from_ns_fraction(u64::try_from(ns).ok()?, last.transport - first.transport)
    }

    /// Computes the nanoseconds again, with a rate found later.
    pub fn set_transport_rate(&mut self, rate: Rate) {
        let line = Line::new(rate);
        self.pairs.retain_mut(|pair| line.nanos(pair.transport).map(|ns| pair.ns = ns).is_some());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair(offset: u64, ticks: u64, ns: u64) -> Pair {
        Pair { offset, ticks, hz: 1_000_000, transport: ns / 10, ns }
    }

    #[test]
    fn between_two_pairs_the_clock_is_a_straight_line() {
        // The clock is slow: 900 ticks in a millisecond.
        let mut pairs = Pairs::new(&[pair(10, 1000, 5_000_000), pair(20, 1900, 6_000_000), pair(30, 2900, 7_000_000)]);
        assert_eq!(pairs.nanos(0, 900), Some(4_900_000), "before the first one by its frequency");
        assert_eq!(pairs.nanos(10, 1000), Some(5_000_000));
        assert_eq!(pairs.nanos(12, 1450), Some(5_500_000));
        assert_eq!(pairs.nanos(21, 1450), Some(5_500_000), "stamped before the clock message that was sent before it");
        assert_eq!(pairs.nanos(22, 2400), Some(6_500_000));
        assert_eq!(pairs.nanos(31, 3000), Some(7_100_000), "after the last one by its frequency");
        assert_eq!(pairs.nanos(31, u64::MAX), None);
        assert_eq!(Pairs::default().nanos(0, 0), None);
    }

    #[test]
    fn a_restart_of_the_clock_is_not_bridged() {
        let mut pairs = Pairs::new(&[pair(10, 1_000_000, 5_000_000), pair(20, 100, 6_000_000)]);
        assert_eq!(pairs.nanos(11, 1_000_500), Some(5_500_000));
        assert_eq!(pairs.nanos(21, 600), Some(6_500_000));
        assert_eq!(pairs.nanos(21, 0), Some(5_900_000));
    }

    #[test]
    fn one_pair_of_an_absurd_time_is_left_out() {
        let pairs = Pairs::new(&[pair(1, 1000, 1_000_000), pair(2, 2000, 9_000_000_000), pair(3, 3000, 3_000_000)]);
        assert_eq!(pairs.pairs.iter().map(|pair| pair.ticks).collect::<Vec<_>>(), [1000, 3000]);
    }

    #[test]
    fn the_transports_rate_follows_from_the_message_clock() {
        let pairs = Pairs::new(&[pair(1, 1000, 1_000_000), pair(2, 3000, 3_000_000)]);
        assert_eq!(pairs.transport_rate().map(|rate| rate.hz()), Some(100_000_000.0));
        assert!(Pairs::new(&[pair(1, 1000, 1_000_000)]).transport_rate().is_none());
        assert!(Pairs::new(&[pair(1, 1000, 1_000_000), pair(2, 10, 3_000_000)]).transport_rate().is_none());
    }
}
