//! The rate of the target's clock, measured from time events: their ticks are recorded, and the frequency of the tick is given.

use rustc_hash::FxHashMap;

use crate::model::Rate;

use super::decode::is_valid;
use super::record::{Field, Kind};
use super::scan::ScanFacts;
use super::sessions::Sessions;

/// The least number of posted time events.
const SAMPLES_MIN: usize = 3;

/// The middle half of all measurements must be within this percentage of their median.
const SPREAD_PERCENT: u64 = 10;

/// A measured clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Measured {
    /// Units of the time stamps in one clock tick.
    pub units_per_tick: u64,
    /// The number of time events measured.
    pub samples: usize,
}

/// A time event that is armed.
struct Armed {
    at: u32,
    ticks: u64,
    interval: u64,
}

/// Measures the units of the time stamps in a clock tick, from when a time event is armed to when it is posted.
///
/// # Errors
/// Why it cannot be measured.
pub fn measure(facts: &ScanFacts, sessions: &Sessions) -> Result<Measured, String> {
    let mut armed: FxHashMap<u64, Armed> = FxHashMap::default();
    // The ticks, and the units of one tick.
    let mut samples: Vec<(u64, u64)> = Vec::new();
    let mut range = u64::MAX;
    // From one post to the next.
    let mut gaps: Vec<u64> = Vec::new();
    let mut last_post = None;
    let mut index = 0;
    for entry in &facts.time_events {
        while sessions.all.get(index + 1).is_some_and(|next| next.start <= entry.offset) {
            index += 1;
            armed.clear();
            last_post = None;
        }
        let Some(session) = sessions.all.get(index) else { break };
        let layout = &session.layout;
        let data = facts.bytes(entry.data);
        let Some(record) = layout.of_id(entry.id).filter(|record| is_valid(layout, record, data)) else { continue };
        let fields = layout.fields(record.kind, data);
        let width = u32::from(layout.config.sizes.time) * 8;
        let mask = u32::MAX >> (32 - width.min(32));
        range = range.min(u64::from(mask));
        match record.kind {
            Kind::TimeArm | Kind::TimeRearm if fields.uint(Field::Rate) == 0 => {
                let (ticks, interval) = (fields.uint(Field::Ticks), fields.uint(Field::Interval));
                armed.insert(fields.uint(Field::Te), Armed { at: fields.uint(Field::Time) as u32, ticks, interval });
            }
            Kind::TimeDisarm => {
                armed.remove(&fields.uint(Field::Te));
            }
            Kind::TimePost if fields.uint(Field::Rate) == 0 => {
                let (now, event) = (fields.uint(Field::Time) as u32, fields.uint(Field::Te));
                gaps.extend(last_post.replace(now).map(|last: u32| u64::from(now.wrapping_sub(last) & mask)));
                let Some(timer) = armed.get_mut(&event) else { continue };
                if timer.ticks > 0 {
                    samples.push((timer.ticks, u64::from(now.wrapping_sub(timer.at) & mask) / timer.ticks));
                }
                if timer.interval > 0 {
                    (timer.at, timer.ticks) = (now, timer.interval);
                } else {
                    armed.remove(&event);
                }
            }
            _ => {}
        }
    }
    let measured = measure_samples(samples, range)?;
    Ok(Measured { units_per_tick: refine(measured.units_per_tick, &gaps), ..measured })
}

/// Time events are posted by the clock tick, so there is a whole number of ticks between posts. A measurement with an error of a few
/// percent is enough to know this number for short gaps. These improve the measurement, so that longer gaps can be used.
fn refine(units: u64, gaps: &[u64]) -> u64 {
    let mut units = units;
    for ticks_max in [4, 16, 64, 256, 1024] {
        let (mut sum, mut ticks, mut fitting, mut all) = (0u64, 0u64, 0u32, 0u32);
        // One tick may post several: the gap is from the first of one tick to the first of another.
        let mut since_first = 0u64;
        for &gap in gaps {
            since_first = since_first.saturating_add(gap);
            if since_first < units / 2 {
                continue;
            }
            let gap = std::mem::take(&mut since_first);
            if gap / units > ticks_max {
                continue;
            }
            let whole = (gap + units / 2) / units;
            all += 1;
            if gap.abs_diff(whole * units) < units / 4 {
                fitting += 1;
                sum = sum.saturating_add(gap);
                ticks += whole;
            }
        }
        // Otherwise the gaps have another cause and cannot be used.
        if fitting >= 3 && fitting * 4 >= all * 3 && ticks > 0 {
            units = ((sum + ticks / 2) / ticks).max(1);
        }
    }
    units
}

fn measure_samples(mut all: Vec<(u64, u64)>, range: u64) -> Result<Measured, String> {
    let count = all.len();
    if count < SAMPLES_MIN {
        return Err(format!("only {count} time events were both armed and posted"));
    }
    // The counter may wrap while a long time event is armed. The shortest ones show which are long.
    all.sort_unstable();
    let mut shortest: Vec<u64> = all.iter().take(SAMPLES_MIN.max(count / 2)).map(|&(_, units)| units).collect();
    shortest.sort_unstable();
    let units = shortest.get(shortest.len() / 2).copied().unwrap_or(0);
    all.retain(|&(ticks, _)| ticks.saturating_mul(units) <= range / 4);
    let count = all.len();
    if count < SAMPLES_MIN {
        return Err("the counter of the time stamps may have wrapped while time events were armed".to_owned());
    }
    // The first tick is not a whole one. The more ticks a time event has, the smaller the error from it.
    all.sort_unstable_by_key(|&(ticks, _)| std::cmp::Reverse(ticks));
    let mut samples: Vec<u64> = all.iter().take(SAMPLES_MIN.max(count / 2)).map(|&(_, units)| units).collect();
    samples.sort_unstable();
    let at = |quarter: usize| samples.get(samples.len() * quarter / 4).copied().unwrap_or(0);
    let (low, median, high) = (at(1), at(2), at(3));
    if median == 0 {
        return Err("the time stamps are coarser than the clock tick".to_owned());
    }
    if (high - low).saturating_mul(100) > median.saturating_mul(2 * SPREAD_PERCENT) {
        return Err(format!("a tick took {low} to {high} units in half of the {} longest time events", samples.len()));
    }
    Ok(Measured { units_per_tick: median, samples: count })
}

/// The rate of the clock, if its tick has this frequency.
#[must_use]
pub fn rate_of(measured: Measured, tick: Rate) -> Option<Rate> {
    // Nanoseconds of a tick, divided by the units of a tick.
    let (numerator, denominator) = tick.ns_per_tick();
    Rate::from_ns_fraction(numerator, denominator.checked_mul(measured.units_per_tick)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tick_is_known_from_gaps_between_posts() {
        // Ticks of 100 000 units; the first measurement has an error of 3 %.
        let gaps: Vec<u64> = [1u64, 2, 3, 5, 2, 9, 14, 40, 0, 100].iter().map(|ticks| ticks * 100_000 + ticks % 3 * 20).collect();
        assert!(refine(103_000, &gaps).abs_diff(100_000) < 10);
        assert!(refine(97_000, &gaps).abs_diff(100_000) < 10);
        // Gaps that are not whole ticks change nothing.
        assert_eq!(refine(100_000, &[150_000, 250_000, 149_000, 351_000]), 100_000);
    }

    #[test]
    fn measurements_must_agree() {
        let of = |units: &[u64]| measure_samples(units.iter().map(|&units| (10, units)).collect(), u64::MAX);
        assert_eq!(of(&[99, 100, 101, 100]), Ok(Measured { units_per_tick: 100, samples: 4 }));
        assert!(of(&[50, 100, 200, 400]).unwrap_err().starts_with("a tick took"));
        assert!(of(&[100]).unwrap_err().starts_with("only 1"));
        assert!(of(&[0, 0, 0]).unwrap_err().contains("coarser"));
        // Long ones have more weight than short ones.
        let mixed = vec![(1, 10), (1, 50), (2, 60), (2, 70), (20, 98), (30, 99), (40, 100)];
        assert_eq!(measure_samples(mixed, u64::MAX), Ok(Measured { units_per_tick: 99, samples: 7 }));
    }

    #[test]
    fn time_events_in_which_the_counter_wraps_say_nothing() {
        // Ticks of 1000 units, and a counter of 16 bits.
        let of = |ticks: &[u64]| {
            let sample = |&ticks: &u64| (ticks, ticks * 1000 % (1 << 16) / ticks);
            measure_samples(ticks.iter().map(sample).collect(), u64::from(u16::MAX))
        };
        assert_eq!(of(&[10, 12, 14, 80, 100, 100, 100]), Ok(Measured { units_per_tick: 1000, samples: 3 }));
        assert!(of(&[100; 20]).unwrap_err().contains("wrapped"));
    }

    #[test]
    fn the_rate_follows_from_the_frequency_of_the_tick() {
        let measured = Measured { units_per_tick: 100_000, samples: 9 };
        let tick = Rate::from_hz(100, 1).unwrap();
        assert_eq!(rate_of(measured, tick), Rate::from_ns_per_tick(100));
    }
}
