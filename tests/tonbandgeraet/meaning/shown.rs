//! The content of a decoded trace.

use std::collections::BTreeMap;

use super::{IDLE, Picture, Place, Switch, Waking};
use crate::reader::{Trace, TrackInfo, TrackKind};

pub fn picture(trace: &Trace) -> Picture {
    let mut picture = Picture::default();
    let task_of: BTreeMap<i64, u32> = trace
        .tracks
        .values()
        .filter_map(|info| match info.kind {
            TrackKind::Thread { tid, .. } => Some((tid, number_in(info.description.as_deref()?)?)),
            _ => None,
        })
        .collect();
    let task_of = |tid: i32| if tid == 0 { IDLE } else { task_of[&i64::from(tid)] };
    let place = |track| place(track, trace).unwrap_or_else(|| panic!("{:?} has no place", trace.path(track)));

    for slice in &trace.slices {
        let end = slice.end().unwrap_or(slice.ts);
        picture.slices.entry(place(slice.track)).or_default().push((slice.ts, end, slice.name.clone()));
    }
    for instant in &trace.instants {
        picture.instants.entry(place(instant.track)).or_default().push((instant.ts, instant.name.clone()));
    }
    for (&track, values) in &trace.counters {
        picture.counters.entry(place(track)).or_default().extend(values);
    }
    for (&core, switches) in &trace.sched {
        let switches =
            switches.iter().map(|switch| Switch { ns: switch.ts, left: Some(switch.prev_state), next: task_of(switch.next_tid) });
        picture.switches.insert(core, switches.collect());
    }
    for (&core, wakings) in &trace.wakings {
        let wakings = wakings.iter().map(|waking| Waking {
            ns: waking.ts,
            task: task_of(waking.tid),
            in_irq: waking.in_irq,
            target_core: waking.target_cpu.cast_unsigned(),
        });
        picture.wakings.insert(core, wakings.collect());
    }
    picture.flows = flows(trace);
    picture
}

fn number_in(description: &str) -> Option<u32> {
    let digits = description.strip_prefix("task #")?;
    digits.split(|digit: char| !digit.is_ascii_digit()).next()?.parse().ok()
}

fn place(track: u64, trace: &Trace) -> Option<Place> {
    let info = &trace.tracks[&track];
    if matches!(info.kind, TrackKind::Thread { .. }) {
        return Some(Place::Thread(number_in(info.description.as_deref()?)?));
    }
    let parent: &TrackInfo = &trace.tracks[&info.parent?];
    let name = info.name.clone();
    if matches!(parent.kind, TrackKind::Process { .. }) {
        let task = number_in(parent.description.as_deref()?)?;
        return Some(if name == "priority" { Place::Priority(task) } else { Place::ValueOfTask(task, name) });
    }
    Some(match &*parent.name {
        "Interrupts" => Place::Interrupt(name),
        "Objects" => Place::Object(info.description.as_deref()?.rsplit_once('#')?.1.parse().ok()?, name),
        "Markers" => Place::Marker(name),
        "Values" => Place::Value(name),
        _ => return None,
    })
}

/// The flows that have both ends. Mutexes are handed over from slice to slice, items go from instant to instant.
fn flows(trace: &Trace) -> Vec<(u64, u64, String)> {
    let mut from: BTreeMap<u64, u64> = BTreeMap::new();
    let mut to: BTreeMap<u64, (u64, String)> = BTreeMap::new();
    for instant in &trace.instants {
        for &flow in &instant.flows_out {
            assert!(from.insert(flow, instant.ts).is_none(), "flow {flow} starts twice");
        }
        for &flow in &instant.flows_in {
            let object = instant.name.split_once(' ').map_or("", |(_, object)| object);
            assert!(to.insert(flow, (instant.ts, object.to_owned())).is_none(), "flow {flow} ends twice");
        }
    }
    for slice in &trace.slices {
        for &flow in &slice.flows_out {
            assert!(from.insert(flow, slice.ts + slice.dur.unwrap_or(0)).is_none(), "flow {flow} starts twice");
        }
        for &flow in &slice.flows_in {
            let object = trace.tracks[&slice.track].name.clone();
            assert!(to.insert(flow, (slice.ts, object)).is_none(), "flow {flow} ends twice");
        }
    }
    to.into_iter().filter_map(|(flow, (end, object))| Some((*from.get(&flow)?, end, object))).collect()
}
