//! The rate of the target's clock against its clock tick, measured from time events, whose ticks are recorded, and from counts of the tick.

use rustc_hash::FxHashMap;

use crate::clock::fit::{self, Slope};
use crate::model::Rate;

use super::decode::is_valid;
use super::layout::low_bytes;
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
    /// The number of samples of its source.
    pub samples: usize,
    pub of: Source,
}

/// The source of a measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    TimeEvents,
    Ticks,
}

/// A measurement from time events that differs from one from counts of the tick by more than this percentage is wrong: the counter may wrap
/// while they are armed.
const DIFFERENCE_PERCENT: f64 = 10.0;

/// Jumps of the count by more are damage, or a restart.
const JUMP_MOST: u64 = 1 << 14;

/// Measures the units of the time stamps in a clock tick from the counts of the tick (QF_TICK) and the first time stamp after each. `None` if
/// they are not recorded, or agree with no rate, or with several.
pub fn of_ticks(facts: &ScanFacts, sessions: &Sessions) -> Option<Slope> {
    // The tick, its stamp, and whether that is a time event's, which is posted by the tick. By session.
    let mut points: Vec<Vec<(u64, u64, bool)>> = vec![Vec::new()];
    let (mut count, mut coarse, mut at_tick) = (None, 0, None);
    let (mut modulus, mut origin) = (u64::MAX, None);
    let mut last = 0;
    for entry in &facts.ticks {
        let index = sessions.at(entry.offset);
        if std::mem::replace(&mut last, index) != index {
            points.push(Vec::new());
            (count, at_tick) = (None, None);
        }
        let session = sessions.all.get(index)?;
        let (layout, data) = (&session.layout, facts.bytes(entry.data));
        let Some(record) = layout.of_id(entry.id).filter(|record| is_valid(layout, record, data)) else { continue };
        let fields = layout.fields(record.kind, data);
        if record.kind == Kind::Tick {
            at_tick = None;
            if fields.uint(Field::Rate) == 0 {
                let (now, width) = (fields.uint(Field::Count), layout.config.sizes.time_event);
                let ticks = count.replace(now).map_or(now, |last: u64| low_bytes(now.wrapping_sub(last), width));
                if ticks > JUMP_MOST {
                    points.push(Vec::new());
                }
                coarse += ticks.min(JUMP_MOST);
                at_tick = Some(coarse);
            }
        } else if let Some(coarse) = at_tick.take().filter(|_| fields.has(Field::Time)) {
            modulus = modulus.min(1 << (8 * layout.config.sizes.time.clamp(1, 4)));
            let raw = fields.uint(Field::Time);
            // A target that was reset began both counts together.
            if index == 0 && session.info.is_some_and(|info| info.is_reset) {
                origin = origin.or(Some((coarse, raw)));
            }
            points.last_mut()?.push((coarse, raw, record.kind == Kind::TimePost));
        }
    }
    let slope = |only_posts: bool| {
        let mut pairs: Vec<(u64, u64)> = Vec::new();
        for points in &points {
            let mut last = None;
            for &(coarse, raw, _) in points.iter().filter(|point| point.2 || !only_posts) {
                let before = last.replace((coarse, raw));
                pairs.extend(before.map(|before: (u64, u64)| (coarse - before.0, raw.wrapping_sub(before.1) & (modulus - 1))));
            }
        }
        fit::slope(&pairs, Some(modulus), origin).filter(|slope| !slope.is_ambiguous)
    };
    slope(true).or_else(|| slope(false))
}

/// A time event that is armed.
struct Armed {
    at: u32,
    ticks: u64,
    interval: u64,
}

/// Measures the units of the time stamps in a clock tick, from when a time event is armed to when it is posted. `ticks`: the measurement from
/// counts of the tick, for where that is not possible.
///
/// # Errors
/// Why it cannot be measured.
pub fn measure(facts: &ScanFacts, sessions: &Sessions, ticks: Option<Slope>) -> Result<Measured, String> {
    if facts.is_test {
        return Err("this is a test of QUTest, whose clock ticks come from the host".to_owned());
    }
    let measured = of_time_events(facts, sessions);
    let Some(ticks) = ticks else { return measured };
    let agrees =
        |measured: &Measured| (measured.units_per_tick as f64 - ticks.rate).abs() * 100.0 <= ticks.rate * DIFFERENCE_PERCENT;
    let of_ticks = Measured { units_per_tick: ticks.rate.round().max(1.0) as u64, samples: ticks.support, of: Source::Ticks };
    Ok(measured.ok().filter(agrees).unwrap_or(of_ticks))
}

fn of_time_events(facts: &ScanFacts, sessions: &Sessions) -> Result<Measured, String> {
    let mut armed: FxHashMap<u64, Armed> = FxHashMap::default();
    // The ticks, and the units of one tick.
    let mut samples: Vec<(u64, u64)> = Vec::new();
    let mut range = u64::MAX;
    // From one post to the next.
    let mut gaps: Vec<u64> = Vec::new();
    let mut last_post = None;
    let mut last = 0;
    for entry in &facts.time_events {
        let index = sessions.at(entry.offset);
        if std::mem::replace(&mut last, index) != index {
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
    Ok(Measured { units_per_tick: median, samples: count, of: Source::TimeEvents })
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
        assert_eq!(of(&[99, 100, 101, 100]), Ok(Measured { units_per_tick: 100, samples: 4, of: Source::TimeEvents }));
        assert!(of(&[50, 100, 200, 400]).unwrap_err().starts_with("a tick took"));
        assert!(of(&[100]).unwrap_err().starts_with("only 1"));
        assert!(of(&[0, 0, 0]).unwrap_err().contains("coarser"));
        // Long ones have more weight than short ones.
        let mixed = vec![(1, 10), (1, 50), (2, 60), (2, 70), (20, 98), (30, 99), (40, 100)];
        assert_eq!(measure_samples(mixed, u64::MAX), Ok(Measured { units_per_tick: 99, samples: 7, of: Source::TimeEvents }));
    }

    #[test]
    fn time_events_in_which_the_counter_wraps_say_nothing() {
        // Ticks of 1000 units, and a counter of 16 bits.
        let of = |ticks: &[u64]| {
            let sample = |&ticks: &u64| (ticks, ticks * 1000 % (1 << 16) / ticks);
            measure_samples(ticks.iter().map(sample).collect(), u64::from(u16::MAX))
        };
        assert_eq!(
            of(&[10, 12, 14, 80, 100, 100, 100]),
            Ok(Measured { units_per_tick: 1000, samples: 3, of: Source::TimeEvents })
        );
        assert!(of(&[100; 20]).unwrap_err().contains("wrapped"));
    }

    #[test]
    fn the_rate_follows_from_the_frequency_of_the_tick() {
        let measured = Measured { units_per_tick: 100_000, samples: 9, of: Source::TimeEvents };
        let tick = Rate::from_hz(100, 1).unwrap();
        assert_eq!(rate_of(measured, tick), Rate::from_ns_per_tick(100));
    }
}
