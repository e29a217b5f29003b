//! Facts about counters that a stream does not record, found by votes: no extreme decides alone.
//!
//! All fits take counts that can be added up over the windows of an input.

/// The highest value of a counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Top {
    /// The highest value that is believed.
    pub value: u16,
    /// How many stamps speak for it: those that are not beyond.
    pub support: u64,
    /// How many stamps lie beyond it and are taken for damaged.
    pub beyond: u64,
}

/// The density of values is judged by this number of stamps below.
const GAP_STAMPS: u64 = 16;
/// The number of stamps that may be damaged in any capture.
const FREE_DAMAGE: u64 = 2;

/// The highest value that a counter has, from how often each value was seen. `damage`: how much damage is known besides. Values beyond
/// a gap that is out of all proportion are not believed, nor values that are far rarer than those below them, if there are not more of
/// them than damage.
#[must_use]
pub fn top(counts: &[u32], damage: u64) -> Option<Top> {
    let seen = |(value, &count): (usize, &u32)| (count > 0).then(|| (value as u64, u64::from(count)));
    let mut values = counts.iter().enumerate().rev().filter_map(seen).peekable();
    let all: u64 = counts.iter().map(|&count| u64::from(count)).sum();
    let allowed = FREE_DAMAGE + damage.min(all / 64);
    let &(highest, _) = values.peek()?;
    let (mut best, mut beyond, mut beyond_best) = (highest, 0, 0);
    // Since the last value that is believed to be the highest.
    let mut here = 0;
    while let Some((_, count)) = values.next() {
        beyond += count;
        here += count;
        if beyond > allowed {
            break;
        }
        let Some(&(next, _)) = values.peek() else { break };
        // How densely the values below are seen: those of the next stamps, and of a range as wide as what is beyond.
        let from = next.saturating_sub(best - next);
        let (mut stamps, mut lowest) = (0, next);
        for (below, count) in values.clone() {
            if stamps > GAP_STAMPS && below < from {
                break;
            }
            lowest = below;
            stamps += count;
        }
        // As densely seen as those below, there would be this number up to the highest.
        let width = next - lowest + 1;
        let expected = (best - next) * stamps / width;
        let is_dense = stamps >= 4 * width;
        let least = if is_dense { 6 * here + 16 } else { 8 * here + 56 };
        if stamps >= GAP_STAMPS && expected > least {
            (best, beyond_best, here) = (next, beyond, 0);
        }
    }
    Some(Top { value: best as u16, support: all - beyond_best, beyond: beyond_best })
}

/// The period of a counter, rounded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rounded {
    /// The number of values.
    pub values: u32,
    /// Another round number that explains the counts as well.
    pub other: Option<u32>,
}

/// A round number near to a period, or a power of two: timers count to such. It may lie above (the last values need not have been seen), and
/// below, if hardly a stamp contradicts it.
#[must_use]
pub fn rounded(counts: &[u32], top: Top) -> Rounded {
    const ROUND: u32 = 250;
    const SMALL_ROUND: u32 = 50;
    const UNSEEN: u64 = 60;
    const UNSEEN_BEYOND_ROUND: u64 = 8;
    let period = u32::from(top.value) + 1;
    let round = if period < 2 * ROUND { SMALL_ROUND } else { ROUND };
    let below = period - period % round;
    let beyond = |from: u32, to: u32| {
        let range = counts.get(from as usize..(to as usize).min(counts.len())).unwrap_or(&[]);
        range.iter().map(|&count| u64::from(count)).sum::<u64>()
    };
    if below > 0 && below < period && period - below <= below / 20 {
        // As many values below it say how many there should be above.
        let (there, usual) = (beyond(below, period), beyond(below.saturating_sub(8 * (period - below)), below));
        if there * 32 < usual {
            return Rounded { values: below, other: None };
        }
    }
    // If many were seen just below, those between would have been, too.
    let seen_below = |above: u32| beyond(period.saturating_sub(above - period), period);
    let fits = |&above: &u32| {
        let is_near = above - period <= period / 50 && above <= 1 << 16 && period >= 2 * ROUND;
        is_near && (above - period <= 4 || seen_below(above) <= UNSEEN)
    };
    let multiple = Some(period.next_multiple_of(round)).filter(fits);
    let power = Some(period.next_power_of_two()).filter(fits);
    let (values, other) = match (multiple, power) {
        (Some(multiple), Some(power)) if power < multiple || seen_below(power) <= UNSEEN_BEYOND_ROUND => (power, Some(multiple)),
        (multiple, power) => (multiple.or(power).unwrap_or(period), multiple.and(power)),
    };
    Rounded { values, other: other.filter(|&other| other != values) }
}

/// How many values a counter has, from the values before and after its falls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Modulus {
    /// As many.
    pub values: u32,
    /// Falls that are wraps of it.
    pub support: u64,
    /// Falls that are not.
    pub contradictions: u64,
}

/// The least number of wraps: fewer could be restarts.
const WRAPS: u64 = 3;

impl Modulus {
    /// Whether the falls are certainly wraps.
    #[must_use]
    pub fn is_proved(&self) -> bool {
        self.support >= WRAPS && self.is_usual()
    }

    /// Whether hardly any falls contradict it.
    #[must_use]
    pub fn is_usual(&self) -> bool {
        self.contradictions * 4 <= self.support
    }
}

/// Finds the modulus that most falls are wraps of. `None` if there is no fall, or if they are wraps of all 16 bits.
#[must_use]
pub fn modulus(falls: &[(u16, u16)]) -> Option<Modulus> {
    let mut tops: Vec<u16> = falls.iter().map(|fall| fall.0).collect();
    tops.sort_unstable();
    tops.dedup();
    let judged = |values: u32| {
        let near = values / 16;
        let fits =
            |&&(before, after): &&(u16, u16)| (values - near..values).contains(&u32::from(before)) && u32::from(after) <= near;
        let support = falls.iter().filter(fits).count() as u64;
        Modulus { values, support, contradictions: falls.len() as u64 - support }
    };
    let best =
        tops.iter().rev().take(64).map(|&top| judged(u32::from(top) + 1)).max_by_key(|found| (found.support, found.values))?;
    (best.values < 65_000).then_some(best)
}

/// How fast a counter runs against a coarser clock.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Slope {
    /// Ticks of the counter in one of the coarse clock.
    pub rate: f64,
    /// How many pairs agree with it, of all.
    pub support: usize,
    pub pairs: usize,
    /// Whether another rate explains the pairs as well.
    pub is_ambiguous: bool,
}

/// The least number of pairs, and the least share of them that must agree, in quarters.
const PAIRS: usize = 3;
const AGREEING_OF_FOUR: usize = 3;
/// Of as many pairs a quarter says enough: the tolerance is a sixteenth of the range at most, so that by chance far fewer agree.
const PAIRS_MANY: usize = 48;
const AGREEING_OF_FOUR_OF_MANY: usize = 1;
/// The most that are weighed.
const PAIRS_MOST: usize = 512;
/// The most pairs that are joined to a longer one.
const JOINED_MOST: usize = 256;
/// How many pairs propose rates.
const PROPOSERS: usize = 24;

/// Fits the rate of a counter of `modulus` values to pairs: how far the coarse clock came, and how far the counter, modulo its range.
/// Both ends of a pair should lie right after a tick of the coarse clock. `origin` decides between rates that explain the pairs equally
/// well: an early reading of both clocks, if they began together.
#[must_use]
pub fn slope(pairs: &[(u64, u64)], modulus: Option<u64>, origin: Option<(u64, u64)>) -> Option<Slope> {
    let pairs: Vec<(u64, u64)> = pairs.iter().copied().filter(|pair| pair.0 > 0).take(PAIRS_MOST).collect();
    if pairs.len() < PAIRS {
        return None;
    }
    let mut by_length: Vec<(u64, u64)> = pairs.clone();
    by_length.sort_unstable();
    // Short ones leave few choices, long ones are exact. Of equal length those at either end are the least exact.
    by_length.truncate(PROPOSERS.max(by_length.len() / 4));
    let every = by_length.len().div_ceil(PROPOSERS);
    let mut proposers: Vec<(u64, u64)> = by_length.into_iter().skip(every / 2).step_by(every).collect();
    proposers.dedup();
    let mut rates: Vec<f64> = Vec::new();
    for (coarse, ticks) in proposers {
        let wraps = modulus.map_or(0, |_| coarse.min(64));
        for wrap in 0..=wraps {
            let rate = (ticks as f64 + wrap as f64 * modulus.unwrap_or(0) as f64) / coarse as f64;
            if rate < 1.0 {
                continue;
            }
            let rate = refined(rate, &pairs, modulus);
            // One that wraps within a tick looks like its rest.
            if modulus.is_none_or(|modulus| rate < modulus as f64) {
                rates.push(rate);
            }
        }
    }
    let support = |rate: f64, most: f64| pairs.iter().filter(|pair| residual(rate, **pair, modulus).abs() <= most).count();
    // How much it says, in bits: a fast rate agrees with nearly any pair.
    let bits = |rate: f64| {
        let most = tolerance(rate, modulus);
        support(rate, most) as f64 * (modulus.map_or(f64::MAX, |modulus| modulus as f64) / most / 2.0).log2()
    };
    let (_, best) = rates.iter().map(|&rate| (bits(rate), rate)).max_by(|one, other| one.0.total_cmp(&other.0))?;
    // The same for all.
    let tolerance = tolerance(best, modulus);
    let least = if pairs.len() < PAIRS_MANY { AGREEING_OF_FOUR } else { AGREEING_OF_FOUR_OF_MANY };
    if support(best, tolerance) * 4 < pairs.len() * least {
        return None;
    }
    let mut found: Vec<(usize, f64)> = rates.into_iter().map(|rate| (support(rate, tolerance), rate)).collect();
    let most = found.iter().map(|found| found.0).max()?;
    found.retain(|found| found.0 * 100 >= most * 98);
    if let Some(origin) = origin {
        let agrees = |found: &(usize, f64)| residual(found.1, origin, modulus).abs() <= tolerance;
        if found.iter().any(agrees) {
            found.retain(agrees);
        }
    }
    // Of those that explain as much the slowest: nothing was recorded for the least time.
    let good = found.iter();
    let rate = good.clone().map(|found| found.1).fold(f64::INFINITY, f64::min);
    let is_ambiguous = good.clone().any(|found| found.1 > rate * 1.05);
    let agreeing = good.filter(|found| found.1 <= rate * 1.05).map(|found| found.0).max()?;
    let exact = if is_ambiguous { rate } else { exact(rate, &pairs, modulus) };
    // A rate that holds for short pairs only is none.
    (support(exact, tolerance) * 4 >= agreeing * AGREEING_OF_FOUR).then_some(Slope {
        rate: exact,
        support: agreeing,
        pairs: pairs.len(),
        is_ambiguous,
    })
}

/// A rate, as pairs that are joined to longer and longer ones say it: the longer, the less matters how late after a tick their ends lie.
fn exact(rate: f64, pairs: &[(u64, u64)], modulus: Option<u64>) -> f64 {
    let mut rate = rate;
    let mut count = 2;
    while count <= JOINED_MOST && count * 4 <= pairs.len() {
        let joined = pairs.windows(count).map(|pairs| pairs.iter().fold((0, 0), |sum, pair| (sum.0 + pair.0, sum.1 + pair.1)));
        let mut rates: Vec<f64> = joined.map(|pair| rate + residual(rate, pair, modulus) / pair.0 as f64).collect();
        rates.sort_unstable_by(f64::total_cmp);
        rate = rates.get(rates.len() / 2).copied().unwrap_or(rate);
        count *= 2;
    }
    rate
}

/// How far a pair that agrees with a rate may miss it: an eighth of a coarse tick, and a small part of the range.
fn tolerance(rate: f64, modulus: Option<u64>) -> f64 {
    modulus.map_or(f64::INFINITY, |modulus| modulus as f64 / 32.0).min(rate / 8.0)
}

/// By how much a pair misses a rate, in ticks.
fn residual(rate: f64, (coarse, ticks): (u64, u64), modulus: Option<u64>) -> f64 {
    let miss = ticks as f64 - coarse as f64 * rate;
    match modulus {
        Some(modulus) => miss - (miss / modulus as f64).round() * modulus as f64,
        None => miss,
    }
}

/// The median of the rates that the pairs themselves say, each with the wraps that the rate predicts.
fn refined(rate: f64, pairs: &[(u64, u64)], modulus: Option<u64>) -> f64 {
    let fitting = pairs.iter().filter_map(|&pair| {
        let miss = residual(rate, pair, modulus);
        (miss.abs() <= rate / 4.0).then(|| rate + miss / pair.0 as f64)
    });
    let mut rates: Vec<f64> = fitting.collect();
    rates.sort_unstable_by(f64::total_cmp);
    rates.get(rates.len() / 2).copied().unwrap_or(rate)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(values: impl Iterator<Item = u16>) -> Vec<u32> {
        let mut counts = vec![0; 1 << 16];
        values.for_each(|value| counts[usize::from(value)] += 1);
        counts
    }

    fn random(seed: u64) -> impl FnMut(u64) -> u64 {
        let mut state = seed * 2 + 1;
        move |below| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 11) % below
        }
    }

    #[test]
    fn flipped_bits_do_not_make_a_period() {
        for seed in 1..400 {
            let mut random = random(seed);
            let period = [1000, 94, 24_000, 250, 16_000][random(5) as usize];
            let stamps = 500 + random(20_000);
            let flips = random(stamps / 64);
            let mut values: Vec<u16> = (0..stamps).map(|_| random(period) as u16).collect();
            let mut damaged = 0;
            for _ in 0..flips {
                let (index, bit) = (random(stamps) as usize, random(16));
                values[index] ^= 1 << bit;
                damaged += 1;
            }
            let counts = counts(values.into_iter());
            let found = top(&counts, damaged).unwrap();
            let found = rounded(&counts, found).values;
            let slack = (period / 25).max(period * 24 / stamps) as i64;
            let off = i64::from(found) - period as i64;
            assert!(
                off <= slack * i64::from(period > 1000) && off >= -slack,
                "seed {seed}: {found} for {period} of {stamps}, {flips} flipped"
            );
        }
    }

    #[test]
    fn rare_values_are_values() {
        // Nearly all happens soon after the tick, some things happen later.
        let mut random = random(7);
        let soon = (0..5000).map(|_| random(100) as u16).collect::<Vec<_>>();
        let counts = counts(soon.into_iter().chain([500, 710, 830, 990]));
        assert_eq!(top(&counts, 0).map(|top| top.value), Some(990));
        assert_eq!(top(&[], 0), None);
        assert_eq!(top(&[3], 0), Some(Top { value: 0, support: 3, beyond: 0 }));
    }

    #[test]
    fn round_numbers_are_likely() {
        let with = |values: &[u16], highest: u16| {
            let counts = counts((0..9960).map(|index| index % 996).chain(values.iter().copied()));
            rounded(&counts, Top { value: highest, support: 990, beyond: 0 }).values
        };
        assert_eq!(with(&[996], 996), 1000);
        assert_eq!(with(&[1003], 1003), 1000);
        assert_eq!(with(&[1000, 1000, 1001, 1001, 1002, 1002, 1003, 1003, 1004, 1005, 1006, 1007].repeat(4), 1007), 1008);
        assert_eq!(with(&[], 93), 94);
        // The last hundredth need not have been seen.
        let counts = counts((0..4950).map(|index| index % 990));
        assert_eq!(rounded(&counts, Top { value: 989, support: 4950, beyond: 0 }), Rounded { values: 1000, other: None });
    }

    #[test]
    fn powers_of_two_are_likely() {
        for period in [1024u64, 8192, 16_384, 32_768, 65_536] {
            for (seed, stamps) in (1..20).flat_map(|seed| [(seed, 1000), (seed, 3000)]) {
                let mut random = random(seed);
                let counts = counts((0..stamps).map(|_| random(period) as u16));
                let found = rounded(&counts, top(&counts, 0).unwrap());
                assert!(period.abs_diff(u64::from(found.values)) <= 4, "{period}, {stamps}, seed {seed}: {found:?}");
            }
        }
        let counts = counts((0..8150).step_by(30));
        assert_eq!(rounded(&counts, top(&counts, 0).unwrap()), Rounded { values: 8192, other: Some(8250) });
    }

    #[test]
    fn a_crowd_below_the_highest_values_is_no_gap() {
        let crowd = [978, 979, 980, 981, 982].into_iter().flat_map(|value| [value; 6]);
        let counts = counts((0..900).chain(900..978).step_by(3).chain(crowd).chain(983..1000).chain([1020, 5096, 33_768]));
        let top = top(&counts, 60).unwrap();
        assert_eq!(rounded(&counts, top).values, 1000, "{top:?}");
    }

    #[test]
    fn a_modulus_needs_wraps() {
        let wraps = [(998, 1), (999, 0), (997, 3), (999, 0)];
        assert_eq!(modulus(&wraps), Some(Modulus { values: 1000, support: 4, contradictions: 0 }));
        // A flipped bit makes a fall that is not a wrap.
        let damaged = [(998, 1), (999, 0), (8700, 510), (997, 3), (999, 0), (999, 2)];
        assert_eq!(modulus(&damaged).map(|found| found.values), Some(1000));
        // Resets.
        assert_eq!(
            modulus(&[(300, 0), (5000, 0), (900, 1)]).map(|found| (found.is_proved(), found.is_usual())),
            Some((false, false))
        );
        assert_eq!(modulus(&wraps[..2]).map(|found| (found.is_proved(), found.is_usual())), Some((false, true)));
        assert_eq!(modulus(&[(65_535, 0); 9]), None);
    }

    #[test]
    fn a_rate_is_found_beyond_wraps() {
        for (rate, modulus) in [(10_000u64, 1u64 << 16), (100_000, 1 << 32), (1_000, 1 << 16)] {
            let mut random = random(rate);
            let pairs: Vec<(u64, u64)> = (0..200)
                .map(|_| {
                    let coarse = 1 + random(9);
                    (coarse, (coarse * rate + random(rate / 50)) % modulus)
                })
                .collect();
            let found = slope(&pairs, Some(modulus), None).unwrap();
            assert!((found.rate / rate as f64 - 1.0).abs() < 0.03, "{rate}: {found:?}");
        }
        assert_eq!(slope(&[(1, 5), (1, 5000)], None, None), None);
    }

    #[test]
    fn an_alias_of_a_rate_is_none() {
        let pairs = [(1, 100_000), (9, 900_000)].repeat(12);
        let found = slope(&pairs, Some(1 << 32), None).unwrap();
        assert!(!found.is_ambiguous && (found.rate - 100_000.0).abs() < 1.0, "{found:?}");
    }

    #[test]
    fn a_fast_rate_that_agrees_with_nearly_anything_is_none() {
        // Some stamps after a tick were late. Half of the range more for each tick would agree with nearly all pairs.
        let pairs =
            [(2, 2010), (2, 2400), (4, 3990), (4, 4500), (6, 6003), (3, 3002), (2, 1995), (4, 4004), (1, 1001), (6, 6004)];
        let found = slope(&pairs, Some(1 << 32), Some((0, 12_345))).unwrap();
        assert!(!found.is_ambiguous && (found.rate - 1000.0).abs() < 10.0, "{found:?}");
        // Too many.
        let pairs = [(2, 2010), (2, 2400), (4, 3990), (4, 4700), (6, 6003), (4, 4900), (2, 2300)];
        assert_eq!(slope(&pairs, Some(1 << 32), None), None);
    }

    #[test]
    fn a_rate_is_found_if_many_stamps_come_late_after_a_tick() {
        for (rate, modulus) in [(10_000u64, 1u64 << 16), (50_000, 1 << 16), (1_000, 1 << 16), (100, 1 << 8), (80_000, 1 << 32)] {
            for seed in 1..20 {
                let mut random = random(seed + rate);
                // The first record after a tick is one of its time events, or else one of an interrupt, anywhere in the tick.
                let (mut coarse, mut last) = (0, (0, 0));
                let mut pairs = Vec::new();
                for _ in 0..200 {
                    coarse += 1 + random(4);
                    let late = if random(3) == 0 { random(rate * 4 / 5) } else { random(rate / 50) };
                    let now = (coarse, coarse * rate + late);
                    pairs.push((now.0 - last.0, (now.1 - last.1) % modulus));
                    last = now;
                }
                let found = slope(&pairs, Some(modulus), None).unwrap();
                assert!(!found.is_ambiguous && (found.rate / rate as f64 - 1.0).abs() < 0.001, "{rate}, {seed}: {found:?}");
            }
        }
    }

    #[test]
    fn no_rate_is_found_where_there_is_none() {
        for seed in 1..100 {
            let mut random = random(seed);
            let pairs: Vec<(u64, u64)> = (0..300).map(|_| (1 + random(6), random(1 << 16))).collect();
            let found = slope(&pairs, Some(1 << 16), None);
            assert!(found.is_none_or(|found| found.is_ambiguous), "{seed}: {found:?}");
        }
    }

    #[test]
    fn a_rate_that_may_be_another_is_ambiguous() {
        let pairs = vec![(10, 34_464); 40];
        let found = slope(&pairs, Some(1 << 16), None).unwrap();
        assert!(found.is_ambiguous, "{found:?}");
        // That both began together decides.
        let found = slope(&pairs, Some(1 << 16), Some((1, 10_005))).unwrap();
        assert!(!found.is_ambiguous && (found.rate - 10_000.0).abs() < 1.0, "{found:?}");
    }
}
