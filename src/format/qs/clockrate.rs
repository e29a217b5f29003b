//! How fast the target's clock runs: measured from time events, whose ticks are told, against the frequency of the clock tick.

use rustc_hash::FxHashMap;

use crate::model::Rate;

use super::decode::verify;
use super::record::Kind;
use super::scan::ScanFacts;
use super::sessions::Sessions;

/// So many time events must have been seen to be posted.
const SAMPLES_MIN: usize = 3;

/// The middle half of all measurements must lie within this share of their median, in percent.
const SPREAD_PERCENT: u64 = 10;

/// What was measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Measured {
    /// Units of the time stamps in one clock tick.
    pub units_per_tick: u64,
    /// How many time events were measured.
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
/// Why it cannot be told.
pub fn measure(facts: &ScanFacts, sessions: &Sessions) -> Result<Measured, String> {
    let mut armed: FxHashMap<u64, Armed> = FxHashMap::default();
    let mut samples: Vec<u64> = Vec::new();
    let mut index = 0;
    for entry in &facts.time_events {
        while sessions.all.get(index + 1).is_some_and(|next| next.start <= entry.offset) {
            index += 1;
            armed.clear();
        }
        let Some(session) = sessions.all.get(index) else { break };
        let layout = &session.layout;
        let data = facts.bytes(entry.data);
        let mut body = vec![0, entry.id];
        body.extend_from_slice(data);
        body.push(0);
        let Ok(record) = verify(layout, &body) else { continue };
        let fields = layout.fields(record.kind, data);
        let width = u32::from(layout.config.sizes.time) * 8;
        let mask = u32::MAX >> (32 - width.min(32));
        match record.kind {
            Kind::TimeArm | Kind::TimeRearm if fields.uint(5) == 0 => {
                let (ticks, interval) = (fields.uint(3), fields.uint(4));
                armed.insert(fields.uint(1), Armed { at: fields.uint(0) as u32, ticks, interval });
            }
            Kind::TimeDisarm => {
                armed.remove(&fields.uint(1));
            }
            Kind::TimePost if fields.uint(4) == 0 => {
                let (now, event) = (fields.uint(0) as u32, fields.uint(1));
                let Some(timer) = armed.get_mut(&event) else { continue };
                // The first of the ticks is the next one that comes, not a whole one.
                if timer.ticks >= 2 {
                    samples.push(u64::from(now.wrapping_sub(timer.at) & mask) * 2 / (2 * timer.ticks - 1));
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
    judge(samples)
}

fn judge(mut samples: Vec<u64>) -> Result<Measured, String> {
    if samples.len() < SAMPLES_MIN {
        return Err(format!("only {} time events were both armed and posted", samples.len()));
    }
    samples.sort_unstable();
    let at = |quarter: usize| samples.get(samples.len() * quarter / 4).copied().unwrap_or(0);
    let (low, median, high) = (at(1), at(2), at(3));
    if median == 0 {
        return Err("the time stamps are coarser than the clock tick".to_owned());
    }
    if (high - low).saturating_mul(100) > median.saturating_mul(2 * SPREAD_PERCENT) {
        return Err(format!("a tick took {low} to {high} units in half of the {} time events measured", samples.len()));
    }
    Ok(Measured { units_per_tick: median, samples: samples.len() })
}

/// The rate of the clock, if its tick has this frequency.
#[must_use]
pub fn rate_of(measured: Measured, tick: Rate) -> Option<Rate> {
    // Nanoseconds of a tick, divided by the units of a tick.
    let (numerator, denominator) = tick.ns_per_tick();
    Rate::from_ns_fraction(numerator, denominator.checked_mul(measured.units_per_tick)?)
}
