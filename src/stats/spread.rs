//! Sums and distributions of durations, in whole nanoseconds and in bounded memory.

use serde::{Deserialize, Serialize};

/// How many values there were, their sum, the least and the greatest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spread {
    /// How many.
    pub count: u64,
    /// Their sum; held at `u64::MAX`.
    pub total_ns: u64,
    /// The least; `u64::MAX` without values.
    pub min_ns: u64,
    /// The greatest.
    pub max_ns: u64,
    /// The sum of their squares; held at `u128::MAX`.
    pub squares: u128,
}

impl Default for Spread {
    fn default() -> Spread {
        Spread { count: 0, total_ns: 0, min_ns: u64::MAX, max_ns: 0, squares: 0 }
    }
}

impl Spread {
    /// Adds a value; returns whether it is the first or greater than all before.
    #[inline]
    pub fn add(&mut self, value_ns: u64) -> bool {
        let is_greatest = self.count == 0 || value_ns > self.max_ns;
        self.count += 1;
        self.total_ns = self.total_ns.saturating_add(value_ns);
        self.squares = self.squares.saturating_add(u128::from(value_ns) * u128::from(value_ns));
        self.min_ns = self.min_ns.min(value_ns);
        self.max_ns = self.max_ns.max(value_ns);
        is_greatest
    }

    /// The mean, rounded down.
    #[must_use]
    pub fn mean_ns(&self) -> Option<u64> {
        self.total_ns.checked_div(self.count)
    }

    /// The standard deviation, rounded down; `None` of fewer than two values, or of values too large to be summed up.
    #[must_use]
    pub fn stddev_ns(&self) -> Option<u64> {
        let count = u128::from(self.count);
        let pairs = count.checked_mul(count.checked_sub(1)?).filter(|&pairs| pairs > 0)?;
        let total = u128::from(self.total_ns);
        let squares = count.checked_mul(self.squares)?.checked_sub(total * total)?;
        Some((squares as f64 / pairs as f64).sqrt() as u64)
    }

    /// As it is reported.
    #[must_use]
    pub fn report(&self) -> SpreadReport {
        let some = |value| (self.count > 0).then_some(value);
        SpreadReport {
            count: self.count,
            total_ns: self.total_ns,
            min_ns: some(self.min_ns),
            mean_ns: self.mean_ns(),
            stddev_ns: self.stddev_ns(),
            p50_ns: None,
            p99_ns: None,
            max_ns: some(self.max_ns),
        }
    }
}

/// A [`Distribution`] for scripts; figures that need values are `null` without them. Quantiles of up to 256 values are exact; those of more are the upper
/// ends of the steps of a histogram with 64 steps per doubling: at most 1.6 % too high, and never above the greatest value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct SpreadReport {
    /// How many values.
    pub count: u64,
    /// Their sum.
    pub total_ns: u64,
    /// The least.
    pub min_ns: Option<u64>,
    /// The mean, rounded down.
    pub mean_ns: Option<u64>,
    /// Their standard deviation, rounded down; `null` with fewer than two values.
    pub stddev_ns: Option<u64>,
    /// Half of them are not above this. Like `p99_ns`, known for the first 1024 of a kind.
    pub p50_ns: Option<u64>,
    /// 99 % of them are not above this.
    pub p99_ns: Option<u64>,
    /// The greatest.
    pub max_ns: Option<u64>,
}

/// So many values are kept as they are: their quantiles are exact.
const EXACT: usize = 256;

/// Steps per doubling, as a power of two.
const STEP_BITS: u32 = 6;
const STEPS: usize = 1 << STEP_BITS;

/// Values, for their quantiles: the first [`EXACT`] as they are, more as a histogram with 64 steps per doubling, so that a quantile is at
/// most 1.6 % too high. 2 KiB, then 512 bytes for each doubling that occurs.
#[derive(Clone, Debug, Default)]
pub struct Histogram {
    /// All values, while they are few.
    exact: Vec<u64>,
    /// By doubling.
    counts: Vec<Option<Box<[u64; STEPS]>>>,
}

impl Histogram {
    /// Adds a value.
    #[inline]
    pub fn add(&mut self, value: u64) {
        if self.counts.is_empty() {
            if self.exact.len() < EXACT {
                return self.exact.push(value);
            }
            std::mem::take(&mut self.exact).into_iter().for_each(|value| self.count(value));
        }
        self.count(value);
    }

    #[inline]
    fn count(&mut self, value: u64) {
        let (doubling, step) = bucket(value);
        if self.counts.len() <= doubling {
            self.counts.resize(doubling + 1, None);
        }
        self.counts[doubling].get_or_insert_with(|| Box::new([0; STEPS]))[step] += 1;
    }

    /// The value that `per_mille` of all are not above; of many values the upper end of its step, but never more than the greatest value.
    #[must_use]
    pub fn quantile(&self, per_mille: u64, spread: &Spread) -> Option<u64> {
        let rank = u128::from(spread.count) * u128::from(per_mille);
        let rank = u64::try_from(rank.div_ceil(1000)).unwrap_or(u64::MAX).max(1);
        if self.counts.is_empty() {
            let place = usize::try_from(rank - 1).ok().filter(|&place| place < self.exact.len())?;
            return Some(*self.exact.clone().select_nth_unstable(place).1);
        }
        let mut below = 0;
        for (doubling, counts) in self.counts.iter().enumerate() {
            for (step, count) in counts.iter().flat_map(|counts| counts.iter().enumerate()) {
                below += count;
                if below >= rank {
                    return Some(upper_end(doubling, step).clamp(spread.min_ns, spread.max_ns));
                }
            }
        }
        Some(spread.max_ns)
    }
}

/// The doubling of a value, and its step there. Values below 64 have a step each, then each doubling has 64.
fn bucket(value: u64) -> (usize, usize) {
    let doubling = (value.max(1).ilog2() + 1).saturating_sub(STEP_BITS);
    (doubling as usize, (value >> doubling.saturating_sub(1)) as usize & (STEPS - 1))
}

/// The greatest value of a step.
fn upper_end(doubling: usize, step: usize) -> u64 {
    match doubling.checked_sub(1) {
        None => step as u64,
        Some(shift) => u64::try_from((((STEPS + step + 1) as u128) << shift) - 1).unwrap_or(u64::MAX),
    }
}

/// Of how many things of one kind the values are kept for their quantiles.
pub const HISTOGRAMS: usize = 1024;

/// A [`Spread`] with its quantiles.
#[derive(Clone, Debug, Default)]
pub struct Distribution {
    spread: Spread,
    histogram: Option<Histogram>,
}

impl Distribution {
    /// Adds a value; returns whether it is the first or greater than all before. `place` is the number of this distribution among its
    /// kind, the same for all its values: the first [`HISTOGRAMS`] have quantiles.
    #[inline]
    pub fn add(&mut self, value_ns: u64, place: usize) -> bool {
        if place < HISTOGRAMS {
            self.histogram.get_or_insert_default().add(value_ns);
        }
        self.spread.add(value_ns)
    }

    /// How many values.
    #[inline]
    #[must_use]
    pub fn count(&self) -> u64 {
        self.spread.count
    }

    /// As it is reported.
    #[must_use]
    pub fn report(&self) -> SpreadReport {
        let quantile = |per_mille| self.histogram.as_ref().and_then(|histogram| histogram.quantile(per_mille, &self.spread));
        SpreadReport { p50_ns: quantile(500), p99_ns: quantile(990), ..self.spread.report() }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn deviations_are_those_of_samples() {
        let mut spread = Spread::default();
        let _ = [2, 4, 4, 4, 5, 5, 7, 9].map(|value| spread.add(value * 1_000_000));
        assert_eq!(spread.stddev_ns(), Some(2_138_089));
        let mut one = Spread::default();
        one.add(7);
        assert_eq!(one.stddev_ns(), None);
        one.add(u64::MAX);
        one.add(u64::MAX);
        assert!(one.stddev_ns().is_none());
    }

    #[test]
    fn a_spread_of_nothing_tells_nothing() {
        let report = Spread::default().report();
        assert_eq!((report.count, report.min_ns, report.mean_ns, report.max_ns), (0, None, None, None));
        assert_eq!(Histogram::default().quantile(500, &Spread::default()), None);
    }

    #[test]
    fn every_value_has_a_step_that_ends_behind_it() {
        for value in (0..2000).chain((10..64).flat_map(|bit| [(1u64 << bit) - 1, 1 << bit, (1 << bit) + 1])).chain([u64::MAX]) {
            let (doubling, step) = bucket(value);
            assert!(step < STEPS && upper_end(doubling, step) >= value, "{value}");
            let before =
                if step > 0 { Some((doubling, step - 1)) } else { doubling.checked_sub(1).map(|last| (last, STEPS - 1)) };
            assert!(before.is_none_or(|(doubling, step)| upper_end(doubling, step) < value), "{value}");
        }
    }

    proptest! {
        #[test]
        fn quantiles_are_exact_for_few_values_and_at_most_a_64th_too_high(mut values in proptest::collection::vec(0u64..1_000_000_000, 1..600)) {
            let (mut spread, mut histogram) = (Spread::default(), Histogram::default());
            for &value in &values {
                spread.add(value);
                histogram.add(value);
            }
            values.sort_unstable();
            for per_mille in [1, 500, 990, 1000] {
                let exact = values[(values.len() * per_mille as usize).div_ceil(1000).max(1) - 1];
                let given = histogram.quantile(per_mille, &spread).unwrap();
                let too_high = if values.len() <= EXACT { 0 } else { exact / 64 };
                prop_assert!(exact <= given && given <= exact + too_high, "{} {}", exact, given);
            }
            prop_assert_eq!(spread.report().mean_ns, Some(values.iter().sum::<u64>() / values.len() as u64));
            prop_assert_eq!((spread.min_ns, spread.max_ns), (values[0], values[values.len() - 1]));
        }
    }
}
