//! Several recordings in one trace. An independent reader finds there the same as in the trace of each recording alone, moved in
//! time. No track, process, thread, flow or CPU belongs to two recordings, and the result does not depend on how the work is
//! divided.

#[path = "common/mod.rs"]
mod common;
mod reader;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use common::run::{Cut, Subject, options};
use reader::{Attribute, Instant, Slice, Trace, TrackKind};
use traceconv::format::FormatOptions;
use traceconv::model::Nanos;
use traceconv::pipeline::{self, Alignment, ConvertError, Converted, EventDetail, Options, RecordingSources, Source, TimeBound};

/// A capture of the demonstration, and its format.
struct Capture {
    name: &'static str,
    files: Vec<Vec<u8>>,
    subject: Subject,
}

fn capture(name: &'static str, format: &str, files: &[&str]) -> Capture {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/demo");
    let files = files.iter().map(|file| fs::read(dir.join(file)).unwrap()).collect();
    Capture { name, files, subject: Subject::new(format) }
}

/// Boards of three makes, one of them with two cores and one damaged.
fn captures() -> Vec<Capture> {
    vec![
        capture("left", "tonbandgeraet", &["demo.bin"]),
        capture("dual", "tonbandgeraet", &["dual-0.bin", "dual-1.bin"]),
        capture("table", "qs", &["dpp.bin"]),
        capture("console", "syst-text", &["console.txt"]),
        capture("right", "tonbandgeraet", &["damaged.bin"]),
    ]
}

fn sources(capture: &Capture) -> Vec<Source<'_>> {
    let several = capture.files.len() > 1;
    (0..)
        .zip(&capture.files)
        .map(|(core, bytes)| {
            Source::new(bytes, capture.subject.format)
                .options(FormatOptions { core: several.then_some(core), ..capture.subject.options.clone() })
        })
        .collect()
}

/// Merges, with an offset for each.
fn merge(
    captures: &[Capture],
    offsets: &[Option<i64>],
    alignment: &Alignment,
    options: &Options,
) -> Result<(Vec<u8>, Converted), ConvertError> {
    let sources: Vec<Vec<Source<'_>>> = captures.iter().map(sources).collect();
    let recordings: Vec<RecordingSources<'_>> = captures
        .iter()
        .zip(&sources)
        .zip(offsets.iter().copied().chain(std::iter::repeat(None)))
        .map(|((capture, sources), offset_ns)| RecordingSources { sources, name: capture.name.into(), offset_ns })
        .collect();
    let mut trace = Vec::new();
    let converted = pipeline::merge(&recordings, alignment, options, &mut trace, &mut |_| true)?;
    assert_eq!(converted.output_bytes, trace.len() as u64);
    Ok((trace, converted))
}

fn alone(capture: &Capture, options: &Options) -> Trace {
    let options = options.clone().firmware_name(capture.name);
    let mut trace = Vec::new();
    pipeline::convert(&sources(capture), &options, &mut trace, &mut |_| true).unwrap();
    Trace::parse(&trace).unwrap()
}

/// The trace of a recording alone, converted to its place in a trace with others: its times, tracks, flows, threads and CPUs
/// moved.
struct Moved<'a> {
    single: &'a Trace,
    merged: &'a Trace,
    tracks: u64,
    flows: u64,
    cpus: u32,
    offset_ns: i64,
    tids: BTreeMap<i32, i32>,
}

impl Moved<'_> {
    fn time(&self, time_ns: u64) -> u64 {
        time_ns.checked_add_signed(self.offset_ns).expect("the trace begins after 0")
    }

    fn flows(&self, flows: &[u64]) -> Vec<u64> {
        flows.iter().map(|flow| flow + self.flows).collect()
    }

    fn slice(&self, slice: &Slice) -> Slice {
        Slice {
            track: slice.track + self.tracks,
            ts: self.time(slice.ts),
            flows_out: self.flows(&slice.flows_out),
            flows_in: self.flows(&slice.flows_in),
            ..slice.clone()
        }
    }

    fn instant(&self, instant: &Instant) -> Instant {
        Instant {
            track: instant.track + self.tracks,
            ts: self.time(instant.ts),
            flows_out: self.flows(&instant.flows_out),
            flows_in: self.flows(&instant.flows_in),
            ..instant.clone()
        }
    }

    /// The threads of the recording: those of its own by where their tracks are.
    fn map_threads(&mut self) {
        self.tids.insert(0, 0);
        for (track, info) in &self.single.tracks {
            let other = &self.merged.tracks[&(track + self.tracks)];
            match (&info.kind, &other.kind) {
                (TrackKind::Thread { tid, .. }, TrackKind::Thread { tid: moved, .. }) => {
                    self.tids.insert(i32::try_from(*tid).unwrap(), i32::try_from(*moved).unwrap());
                    assert_eq!(info.name, other.name);
                }
                (TrackKind::Process { .. }, TrackKind::Process { .. }) => {
                    assert!(other.name.ends_with(&info.name), "{} is not {}", other.name, info.name);
                }
                (kind, other_kind) => {
                    assert_eq!(kind, other_kind);
                    assert_eq!(info.parent.map(|parent| parent + self.tracks), other.parent);
                    if info.name == "Losses" {
                        assert!(other.name.starts_with("Losses of "), "{}", other.name);
                    } else {
                        assert_eq!(info.name, other.name);
                    }
                }
            }
        }
    }

    fn check(&mut self) {
        self.map_threads();
        let (single, merged) = (self.single, self.merged);
        let own = self.tracks + 1..=self.tracks + single.tracks.keys().max().unwrap();
        let expected: Vec<Slice> = single.slices.iter().map(|slice| self.slice(slice)).collect();
        let found: Vec<Slice> = merged.slices.iter().filter(|slice| own.contains(&slice.track)).cloned().collect();
        assert!(expected == found, "{} slices became {}", expected.len(), found.len());
        let expected: Vec<Instant> = single.instants.iter().map(|instant| self.instant(instant)).collect();
        let found: Vec<Instant> = merged.instants.iter().filter(|instant| own.contains(&instant.track)).cloned().collect();
        assert!(expected == found, "{} instants became {}", expected.len(), found.len());
        for (track, values) in &single.counters {
            let values: Vec<(u64, i64)> = values.iter().map(|&(ts, value)| (self.time(ts), value)).collect();
            assert_eq!(merged.counters[&(track + self.tracks)], values);
        }
        for (cpu, switches) in &single.sched {
            let moved = &merged.sched[&(cpu + self.cpus)];
            assert_eq!(moved.len(), switches.len());
            for (switch, moved) in switches.iter().zip(moved) {
                assert_eq!((self.time(switch.ts), self.tids[&switch.next_tid]), (moved.ts, moved.next_tid));
                assert_eq!((switch.prev_state, &switch.next_comm), (moved.prev_state, &moved.next_comm));
            }
        }
        for (cpu, wakings) in &single.wakings {
            let moved = &merged.wakings[&(cpu + self.cpus)];
            assert_eq!(moved.len(), wakings.len());
            for (waking, moved) in wakings.iter().zip(moved) {
                assert_eq!((self.time(waking.ts), self.tids[&waking.tid]), (moved.ts, moved.tid));
                assert_eq!(waking.target_cpu + i32::try_from(self.cpus).unwrap(), moved.target_cpu);
            }
        }
    }
}

fn int(trace: &Trace, key: &str) -> i64 {
    match trace.attributes.get(key) {
        Some(Attribute::Int(value)) => *value,
        other => panic!("{key}: {other:?}"),
    }
}

fn highest_flow(trace: &Trace) -> u64 {
    let of_slices = trace.slices.iter().flat_map(|slice| slice.flows_out.iter().chain(&slice.flows_in));
    let of_instants = trace.instants.iter().flat_map(|instant| instant.flows_out.iter().chain(&instant.flows_in));
    of_slices.chain(of_instants).copied().max().unwrap_or(0)
}

#[test]
fn each_recording_is_drawn_as_it_is_alone() {
    let captures = captures();
    let offsets = [None, Some(1_500_000), Some(2_000_000_000), Some(7), Some(-1_000_000)];
    for events in [EventDetail::Default, EventDetail::All] {
        let options = options(Cut::WHOLE).events(events);
        let (bytes, converted) = merge(&captures, &offsets, &Alignment::default(), &options).unwrap();
        let merged = Trace::parse(&bytes).unwrap();
        assert!(merged.unclosed.is_empty());
        let (mut tracks, mut flows, mut cpus) = (0, 0, 0);
        let (mut slices, mut instants, mut input) = (0, 0, 0);
        for (number, capture) in (1..).zip(&captures) {
            let single = alone(capture, &options);
            let offset_ns = int(&merged, &format!("recording.{number}.offset_ns"));
            assert_eq!(int(&merged, &format!("recording.{number}.first_cpu")), i64::from(cpus));
            assert_eq!(converted.inputs[input].offset.as_ref().unwrap().ns, offset_ns);
            // Track and flow numbers are continued, and some are unused: the first ones of the recording show the offset.
            let firmware = |trace: &Trace| {
                let is_it = |name: &str| {
                    name == capture.name
                        || name.starts_with(&format!("{}: Free", capture.name))
                        || name.starts_with(&format!("{}: QP", capture.name))
                };
                trace.tracks.iter().find(|(_, info)| is_it(&info.name)).map(|(&track, _)| track)
            };
            if let (Some(here), Some(there)) = (firmware(&single), firmware(&merged)) {
                tracks = there - here;
            }
            if let Some((one, other)) = first_flows(&single, &merged, tracks) {
                flows = other - one;
            }
            let mut moved = Moved { single: &single, merged: &merged, tracks, flows, cpus, offset_ns, tids: BTreeMap::new() };
            moved.check();
            slices += single.slices.len();
            instants += single.instants.len();
            tracks += single.tracks.keys().max().unwrap();
            flows += highest_flow(&single);
            cpus += u32::try_from(int(&merged, &format!("recording.{number}.cores"))).unwrap();
            input += capture.files.len();
        }
        assert_eq!((merged.slices.len(), merged.instants.len()), (slices, instants));
        let mut pids: Vec<i32> = Vec::new();
        let mut tids: Vec<i64> = Vec::new();
        for info in merged.tracks.values() {
            match info.kind {
                TrackKind::Process { pid } => pids.push(pid),
                TrackKind::Thread { tid, .. } => tids.push(tid),
                _ => {}
            }
        }
        let (all_pids, all_tids) = (pids.len(), tids.len());
        pids.sort_unstable();
        pids.dedup();
        tids.sort_unstable();
        tids.dedup();
        assert_eq!((pids.len(), tids.len()), (all_pids, all_tids), "a process or thread is that of two");
    }
}

/// The first flow of a recording, alone and with others.
fn first_flows(single: &Trace, merged: &Trace, tracks: u64) -> Option<(u64, u64)> {
    let of = |trace: &Trace, tracks: u64, track: u64| {
        let instants = trace.instants.iter().filter(|instant| instant.track == track + tracks);
        let slices = trace.slices.iter().filter(|slice| slice.track == track + tracks);
        let flows =
            instants.flat_map(|instant| instant.flows_out.clone()).chain(slices.flat_map(|slice| slice.flows_out.clone()));
        flows.min()
    };
    single.tracks.keys().find_map(|&track| Some((of(single, 0, track)?, of(merged, tracks, track)?)))
}

#[test]
fn processes_are_in_the_order_of_the_recordings_and_name_them() {
    let (bytes, _) = merge(&captures(), &[], &Alignment::default(), &options(Cut::WHOLE)).unwrap();
    let merged = Trace::parse(&bytes).unwrap();
    let mut processes: Vec<(i32, String)> = merged
        .tracks
        .values()
        .filter(|info| matches!(info.kind, TrackKind::Process { .. }))
        .map(|info| (info.rank.unwrap(), info.name.clone()))
        .collect();
    processes.sort();
    let whose: Vec<&str> = processes.iter().map(|(_, name)| name.split(':').next().unwrap()).collect();
    let mut order = whose.clone();
    order.dedup();
    assert_eq!(order, ["left", "dual", "table", "console", "right"]);
    let dual = merged.tracks.values().find(|info| info.name == "dual").unwrap();
    assert_eq!(dual.description.as_deref(), Some("cores 0 to 1: CPU 1 to 2 of the trace"));
}

#[test]
fn how_the_work_is_cut_does_not_show() {
    let captures = captures();
    let offsets = [None, None, None, None, Some(-2_000_000)];
    let whole = merge(&captures, &offsets, &Alignment::default(), &options(Cut::WHOLE)).unwrap().0;
    for cut in [Cut::SMALL, Cut { threads: 2, window_bytes: 1_000 }] {
        let other = merge(&captures, &offsets, &Alignment::default(), &options(cut)).unwrap().0;
        assert!(whole == other, "{cut:?}");
    }
}

#[test]
fn one_recording_is_converted_as_ever() {
    let captures = &captures()[..1];
    let merged = merge(captures, &[], &Alignment::default(), &options(Cut::WHOLE).firmware_name("left"));
    let mut single = Vec::new();
    let options = options(Cut::WHOLE).firmware_name("left");
    pipeline::convert(&sources(&captures[0]), &options, &mut single, &mut |_| true).unwrap();
    assert!(merged.unwrap().0 == single);
}

#[test]
fn a_time_range_is_one_of_the_whole_trace() {
    let captures = captures();
    let offsets = [None, Some(1_000_000_000), None, None, None];
    let range = options(Cut::WHOLE).from(Some(TimeBound::AfterStart(Nanos(1_000_000_000))));
    let whole = Trace::parse(&merge(&captures, &offsets, &Alignment::default(), &options(Cut::WHOLE)).unwrap().0).unwrap();
    let first = whole.slices.iter().map(|slice| slice.ts).chain(whole.instants.iter().map(|instant| instant.ts)).min().unwrap();
    let part = Trace::parse(&merge(&captures, &offsets, &Alignment::default(), &range).unwrap().0).unwrap();
    assert!(!part.slices.is_empty());
    // The thread of the first slice may begin a little after the first event, never before it.
    assert!(part.slices.iter().all(|slice| slice.ts + 10_000_000 >= first + 1_000_000_000));
    assert!(part.slices.len() < whole.slices.len());
}

/// The times of a marker in the two recordings `left` and `right` of a trace.
fn occurrences(trace: &Trace, marker: &str) -> (Vec<u64>, Vec<u64>) {
    let of_right = |name: &str| name.starts_with("right") || name == "Losses of right";
    let border = trace.tracks.iter().find(|(_, info)| of_right(&info.name)).map(|(&track, _)| track).unwrap();
    let slices = trace.slices.iter().filter(|slice| slice.name == marker).map(|slice| (slice.track, slice.ts));
    let instants = trace.instants.iter().filter(|instant| instant.name == marker).map(|instant| (instant.track, instant.ts));
    let mut all: Vec<(u64, u64)> = slices.chain(instants).collect();
    all.sort_unstable_by_key(|&(_, ts)| ts);
    let (right, left): (Vec<_>, Vec<_>) = all.into_iter().partition(|&(track, _)| track >= border);
    let times = |of: Vec<(u64, u64)>| of.into_iter().map(|(_, ts)| ts).collect();
    (times(left), times(right))
}

#[test]
fn a_sync_marker_lies_at_one_time() {
    let captures: Vec<Capture> = captures().into_iter().filter(|capture| ["left", "right"].contains(&capture.name)).collect();
    let marker = "write page";
    let alignment = Alignment { sync_marker: Some(marker.into()), correct_drift: false };
    let (bytes, converted) = merge(&captures, &[], &alignment, &options(Cut::WHOLE)).unwrap();
    let merged = Trace::parse(&bytes).unwrap();
    let (left, right) = occurrences(&merged, marker);
    assert!(!left.is_empty() && !right.is_empty());
    assert_eq!(left[0], right[0]);
    let because = &converted.inputs[1].offset.as_ref().unwrap().because;
    assert!(because.starts_with("`write page` occurs at 0.0"), "{because}");
    assert_eq!(converted.inputs[0].offset.as_ref().unwrap().ns, 0);

    let alignment = Alignment { sync_marker: Some("no such thing".into()), correct_drift: false };
    let error = merge(&captures, &[], &alignment, &options(Cut::WHOLE)).err().unwrap().to_string();
    assert!(error.starts_with("`no such thing` does not occur in left"), "{error}");
}

#[test]
fn a_drift_is_found_and_taken_out() {
    // The same capture, read with a clock that is 200 ppm too slow: it seems to last longer.
    let slow = Subject {
        options: FormatOptions { clock: traceconv::model::Rate::from_hz(39_992_000, 1), ..FormatOptions::default() },
        ..Subject::new("tonbandgeraet")
    };
    let captures = vec![
        capture("left", "tonbandgeraet", &["demo.bin"]),
        Capture { subject: slow, name: "right", ..capture("right", "tonbandgeraet", &["demo.bin"]) },
    ];
    let marker = "write page";
    let drift = |correct_drift| {
        let alignment = Alignment { sync_marker: Some(marker.into()), correct_drift };
        let (bytes, converted) = merge(&captures, &[], &alignment, &options(Cut::WHOLE)).unwrap();
        let merged = Trace::parse(&bytes).unwrap();
        let (left, right) = occurrences(&merged, marker);
        let apart: Vec<u64> = left.iter().zip(right).map(|(&left, right)| left.abs_diff(right)).collect();
        (converted.inputs[1].offset.clone().unwrap().drift.unwrap(), apart)
    };
    let (found, apart) = drift(false);
    assert!((found.ppm - 200.04).abs() < 0.1, "{found:?}");
    assert!(found.largest_deviation_ns.is_some_and(|ns| ns < 100) && found.markers == apart.len() as u64, "{found:?}");
    assert!(*apart.last().unwrap() > 10_000);
    let (found, apart) = drift(true);
    assert!(found.is_corrected && apart.iter().all(|&ns| ns < 100), "{apart:?}");
}

#[test]
fn events_moved_beyond_all_time_are_reported() {
    let captures: Vec<Capture> = captures().into_iter().filter(|capture| ["left", "right"].contains(&capture.name)).collect();
    let last_ns = alone(&captures[1], &options(Cut::WHOLE)).instants.iter().map(|instant| instant.ts).max().unwrap();
    // All of it: there is nothing to draw.
    for cut in [Cut::WHOLE, Cut::SMALL] {
        let error = merge(&captures, &[None, Some(i64::MAX)], &Alignment::default(), &options(cut)).map(|_| ()).unwrap_err();
        assert!(
            error.to_string().starts_with("all of right would lie beyond the end of a trace's time, 9223372036.8"),
            "{error}"
        );
    }
    // Only its end remains: those events are counted, at the end of all time.
    let offset = i64::MAX - (last_ns / 2) as i64;
    let (bytes, converted) = merge(&captures, &[None, Some(offset)], &Alignment::default(), &options(Cut::WHOLE)).unwrap();
    let entry = |input: usize| converted.inputs[input].ledger.entries().iter().find(|entry| entry.kind.code == "beyond_time");
    assert!(entry(0).is_none());
    let beyond = entry(1).unwrap().count;
    assert!(beyond > 0 && beyond < converted.inputs[1].events, "{beyond} of {}", converted.inputs[1].events);
    let merged = Trace::parse(&bytes).unwrap();
    assert!(merged.instants.iter().any(|instant| instant.ts == i64::MAX as u64));
}

#[test]
fn statistics_are_one_for_each_recording() {
    let options = options(Cut::SMALL).statistics(true);
    let (_, converted) = merge(&captures(), &[], &Alignment::default(), &options).unwrap();
    assert_eq!(converted.statistics.len(), 5);
    assert!(converted.statistics[0].tasks.iter().any(|task| task.name == "sensor"));
}

#[test]
fn the_sizes_of_parts_are_foreseen() {
    let captures = captures();
    let sources: Vec<Vec<Source<'_>>> = captures.iter().map(sources).collect();
    let recordings: Vec<RecordingSources<'_>> = captures
        .iter()
        .zip(&sources)
        .map(|(capture, sources)| RecordingSources { sources, name: capture.name.into(), offset_ns: None })
        .collect();
    let all = options(Cut::WHOLE);
    let (measured, sizes) = pipeline::measure(&recordings, &Alignment::default(), &all, &mut |_| true).unwrap();
    let limit = measured.output_bytes / 3;
    let cuts = sizes.cuts(limit).unwrap();
    assert!(cuts.len() >= 2, "{cuts:?}");
    let (mut slices, mut from) = (0, None);
    for to in cuts.iter().map(|&cut| Some(cut)).chain([None]) {
        let part = all.clone().from(from.map(TimeBound::Absolute)).to(to.map(|cut: Nanos| TimeBound::Absolute(Nanos(cut.0 - 1))));
        let (bytes, _) = merge(&captures, &[], &Alignment::default(), &part).unwrap();
        let trace = Trace::parse(&bytes).unwrap();
        assert!(trace.unclosed.is_empty());
        slices += trace.slices.len();
        from = to;
    }
    let whole = Trace::parse(&merge(&captures, &[], &Alignment::default(), &all).unwrap().0).unwrap();
    // Slices that are open at a cut are in both parts.
    assert!(slices >= whole.slices.len());
}
