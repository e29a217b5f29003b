//! Events, as they come in the file → slices, instants and counters.

use std::collections::BTreeMap;

use super::{Arg, Instant, Slice, Trace};

/// An event with all that its sequence knows resolved.
#[derive(Debug)]
pub(super) struct Event {
    pub(super) ts: u64,
    pub(super) track: u64,
    pub(super) kind: EventKind,
    pub(super) name: Option<String>,
    pub(super) args: BTreeMap<String, Arg>,
    pub(super) flows_out: Vec<u64>,
    pub(super) flows_in: Vec<u64>,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum EventKind {
    Begin,
    End,
    Instant,
    Counter(Value),
}

/// The value of a counter.
#[derive(Clone, Copy, Debug)]
pub(super) enum Value {
    Whole(i64),
    Fraction(f64),
}

/// Sorts the events by time (those of one time stay in the order of the file) and pairs begins and ends per track.
pub(super) fn build(mut events: Vec<Event>, trace: &mut Trace) -> Result<(), String> {
    events.sort_by_key(|event| event.ts);
    let mut open: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
    for event in events {
        let Event { ts, track, kind, name, args, flows_out, flows_in } = event;
        let at = || format!("on track {track} at {ts}");
        let named = name.clone().ok_or_else(|| format!("no name {}", at()));
        match kind {
            EventKind::Begin => {
                let stack = open.entry(track).or_default();
                let depth = stack.len();
                stack.push(trace.slices.len());
                let end_args = BTreeMap::new();
                trace.slices.push(Slice { track, ts, dur: None, depth, name: named?, args, end_args, flows_out, flows_in });
            }
            EventKind::End => {
                let begin = open.get_mut(&track).and_then(Vec::pop).ok_or_else(|| format!("an end without begin {}", at()))?;
                let slice = &mut trace.slices[begin];
                slice.dur = Some(ts - slice.ts);
                slice.end_args = args;
                slice.flows_out.extend(flows_out);
                slice.flows_in.extend(flows_in);
            }
            EventKind::Instant => trace.instants.push(Instant { track, ts, name: named?, args, flows_out, flows_in }),
            EventKind::Counter(Value::Fraction(value)) => trace.float_counters.entry(track).or_default().push((ts, value)),
            EventKind::Counter(Value::Whole(value)) => trace.counters.entry(track).or_default().push((ts, value)),
        }
    }
    trace.unclosed = open.into_values().flatten().collect();
    trace.unclosed.sort_unstable();
    Ok(())
}
