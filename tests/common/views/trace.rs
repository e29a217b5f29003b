//! A decoded trace as text: tracks as a tree with their events, then scheduling, flows and attributes.

use std::collections::BTreeMap;

use crate::reader::{Arg, Attribute, Slice, Trace, TrackKind};

/// The trace as text.
pub fn trace(trace: &Trace) -> String {
    let mut lines = Vec::new();
    let mut roots: Vec<u64> = trace.tracks.iter().filter(|(_, info)| info.parent.is_none()).map(|(&track, _)| track).collect();
    sort(&mut roots, trace);
    for root in roots {
        branch(root, 0, trace, &mut lines);
    }
    sched(trace, &mut lines);
    for sample in &trace.samples {
        let stack = sample.stack.join(";");
        lines.push(format!("sample {} {:#x} {stack} (CPU {}, tid {})", sample.ts, sample.address, sample.cpu, sample.tid));
    }
    flows(trace, &mut lines);
    for (time, clock, value) in &trace.clock_readings {
        lines.push(format!("clock {clock} reads {value} at {time}"));
    }
    lines.push("attributes".to_owned());
    // The version of the tool is none of the capture's business.
    for (key, value) in trace.attributes.iter().filter(|(key, _)| *key != "tool") {
        lines.push(match value {
            Attribute::Int(value) => format!("  {key}: {value}"),
            Attribute::Text(value) => format!("  {key}: {value:?}"),
        });
    }
    lines.join("\n") + "\n"
}

/// In the order in which the viewer shows them; processes before their threads.
fn sort(tracks: &mut [u64], trace: &Trace) {
    tracks.sort_by_key(|track| {
        let info = &trace.tracks[track];
        (info.rank.unwrap_or(0), matches!(info.kind, TrackKind::Thread { .. }), *track)
    });
}

fn branch(track: u64, depth: usize, trace: &Trace, lines: &mut Vec<String>) {
    let info = &trace.tracks[&track];
    let indent = "  ".repeat(depth);
    let kind = match &info.kind {
        TrackKind::Process { pid } => format!("process {pid}"),
        TrackKind::Thread { pid, tid } => format!("thread {tid} of process {pid}"),
        TrackKind::Counter { unit, unit_name } => format!("counter, unit {}", unit_name.clone().unwrap_or(unit.to_string())),
        TrackKind::Plain => "track".to_owned(),
    };
    let description = info.description.as_ref().map_or(String::new(), |text| format!(", {text:?}"));
    lines.push(format!("{indent}{:?} ({kind}, rank {}{description})", info.name, info.rank.unwrap_or(0)));
    let mut content: Vec<(u64, usize, String)> = Vec::new();
    for slice in trace.slices_on(track) {
        let end = slice.end().map_or("never".to_owned(), |end| end.to_string());
        let inner = "  ".repeat(slice.depth);
        content.push((slice.ts, 0, format!("{} .. {end} {inner}{:?}{}", slice.ts, slice.name, slice_args(slice))));
    }
    for instant in trace.instants.iter().filter(|instant| instant.track == track) {
        content.push((instant.ts, 1, format!("{} {:?}{}", instant.ts, instant.name, args(&instant.args))));
    }
    for (ts, value) in trace.counters.get(&track).into_iter().flatten() {
        content.push((*ts, 2, format!("{ts} = {value}")));
    }
    for (ts, value) in trace.float_counters.get(&track).into_iter().flatten() {
        content.push((*ts, 2, format!("{ts} = {value:?}")));
    }
    for log in trace.logs.iter().filter(|log| log.track == track) {
        let source = log.source.as_ref().map_or(String::new(), |source| format!(" from {source}"));
        content.push((log.ts, 3, format!("{} log, severity {}: {:?}{source}", log.ts, log.prio, log.body)));
    }
    content.sort_by_key(|&(ts, order, _)| (ts, order));
    lines.extend(content.into_iter().map(|(_, _, line)| format!("{indent}  {line}")));
    let mut children: Vec<u64> =
        trace.tracks.iter().filter(|(_, info)| info.parent == Some(track)).map(|(&child, _)| child).collect();
    sort(&mut children, trace);
    children.into_iter().for_each(|child| branch(child, depth + 1, trace, lines));
}

fn slice_args(slice: &Slice) -> String {
    let at_end = args(&slice.end_args);
    let at_end = if at_end.is_empty() { at_end } else { format!(" end:{at_end}") };
    args(&slice.args) + &at_end
}

fn args(args: &BTreeMap<String, Arg>) -> String {
    let mut text = String::new();
    for (name, value) in args {
        text += &match value {
            Arg::Bool(value) => format!(" {name}={value}"),
            Arg::Uint(value) => format!(" {name}={value}"),
            Arg::Int(value) => format!(" {name}={value:+}"),
            Arg::Double(value) => format!(" {name}={value:?}"),
            Arg::Pointer(value) => format!(" {name}={value:#x}"),
            Arg::Text(value) => format!(" {name}={value:?}"),
        };
    }
    text
}

fn sched(trace: &Trace, lines: &mut Vec<String>) {
    for (cpu, switches) in &trace.sched {
        lines.push(format!("CPU {cpu}"));
        for switch in switches {
            let state = match switch.prev_state {
                0 => "ready",
                1 => "waiting",
                4 => "suspended",
                16 => "deleted",
                _ => "unknown",
            };
            lines.push(format!(
                "  {} left {state}, runs {:?} (tid {}, prio {})",
                switch.ts, switch.next_comm, switch.next_tid, switch.next_prio
            ));
        }
    }
    for (tid, states) in &trace.states {
        lines.push(format!("states of tid {tid}"));
        for (ts, state) in states {
            let state = match *state {
                2 => "ready",
                6 => "suspended",
                _ => "not drawn",
            };
            lines.push(format!("  {ts} {state}"));
        }
    }
    for (cpu, wakings) in &trace.wakings {
        lines.push(format!("wakings by CPU {cpu}"));
        for waking in wakings {
            lines.push(format!(
                "  {} {:?} (tid {}, prio {}) for CPU {}{}",
                waking.ts,
                waking.comm,
                waking.tid,
                waking.prio,
                waking.target_cpu,
                if waking.in_irq { ", by an interrupt" } else { "" }
            ));
        }
    }
}

/// The flows, each with all its places, without their ids.
fn flows(trace: &Trace, lines: &mut Vec<String>) {
    let mut places: BTreeMap<u64, Vec<(u64, bool, String)>> = BTreeMap::new();
    let mut add = |flows_out: &[u64], flows_in: &[u64], ts: u64, text: &str| {
        flows_out.iter().for_each(|&flow| places.entry(flow).or_default().push((ts, false, text.to_owned())));
        flows_in.iter().for_each(|&flow| places.entry(flow).or_default().push((ts, true, text.to_owned())));
    };
    for instant in &trace.instants {
        let text = format!("{} {:?} on {:?}", instant.ts, instant.name, trace.path(instant.track));
        add(&instant.flows_out, &instant.flows_in, instant.ts, &text);
    }
    for slice in &trace.slices {
        let on = trace.path(slice.track);
        let end = slice.end().unwrap_or(slice.ts);
        add(&slice.flows_out, &[], end, &format!("{end} end of {:?} on {on:?}", slice.name));
        add(&[], &slice.flows_in, slice.ts, &format!("{} {:?} on {on:?}", slice.ts, slice.name));
    }
    let mut flows: Vec<Vec<(u64, bool, String)>> = places.into_values().filter(|places| places.len() > 1).collect();
    flows.iter_mut().for_each(|places| places.sort());
    flows.sort();
    lines.push("flows".to_owned());
    lines.extend(flows.into_iter().map(|places| {
        let texts: Vec<String> = places.into_iter().map(|(_, _, text)| text).collect();
        format!("  {}", texts.join(" -> "))
    }));
}
