//! The time range of a conversion, `--from` and `--to`, on the trace's own axis.

use super::{InputSummary, Options, TimeBound};
use crate::model::Nanos;

/// The bounds of a range, both of which belong to it, from the time of the first event; `None` without a range.
pub fn absolute(options: &Options, first: Nanos) -> Option<(Nanos, Nanos)> {
    let (from, to) = (bound(options.from, first), bound(options.to, first));
    (from.is_some() || to.is_some()).then(|| (from.unwrap_or(Nanos(0)), to.unwrap_or(Nanos::MAX)))
}

fn bound(bound: Option<TimeBound>, first: Nanos) -> Option<Nanos> {
    match bound? {
        TimeBound::Absolute(time) => Some(time),
        TimeBound::AfterStart(after) => Some(first.saturating_add(after.0)),
    }
}

/// A sentence about a time range without events.
pub fn nothing_within(options: &Options, inputs: &[InputSummary]) -> Option<String> {
    let first = inputs.iter().filter_map(|input| input.first).min()?;
    let last = inputs.iter().filter_map(|input| input.last).max()?;
    let (bound, side) = match (bound(options.from, first), bound(options.to, first)) {
        (Some(from), _) if from > last => (from, "after the last"),
        (_, Some(to)) if to < first => (to, "before the first"),
        _ => return None,
    };
    let option = if bound > last { "--from" } else { "--to" };
    Some(format!("nothing is in the time range: {option} is {bound}, {side} event (events are from {first} to {last})"))
}
