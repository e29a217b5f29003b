//! Statistics of captures equal the findings of an independent reader in the traces of the same captures, and do not depend on how the
//! work is cut.
//!
//! `TRACECONV_EXTRA_CAPTURES` names a folder with MiniProfiler captures and their true records (`.truth.csv.gz`): the figures of their
//! functions are computed from those once more, in the plainest way.

#[path = "common/mod.rs"]
mod common;
mod reader;

use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};

use common::run::{Cut, Subject, options};
use reader::{Arg, Slice, Trace, TrackKind};
use traceconv::format::{FormatOptions, OptionValue};
use traceconv::pipeline::{self, Gathered, Source};
use traceconv::stats::SpreadReport;
use traceconv::stats::report::{MachineReport, Number, StatisticsReport};

/// How many, their sum, the greatest.
type Figures = (u64, u64, u64);

fn add(figures: &mut Figures, value: u64) {
    *figures = (figures.0 + 1, figures.1 + value, figures.2.max(value));
}

fn gather(subject: &Subject, capture: &[u8], cut: Cut, with_stacks: bool) -> Gathered {
    let source = Source::new(capture, subject.format).options(subject.options.clone());
    pipeline::statistics(&[source], &options(cut), with_stacks, &mut |_| true).expect("damage is no error")
}

/// The captures of a format that come with the program.
fn captures(folder: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata").join(folder);
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut captures: Vec<PathBuf> =
        entries.filter(|path| path.extension().is_some_and(|extension| extension == "bin")).collect();
    captures.sort();
    assert!(captures.len() >= 4);
    captures
}

#[test]
fn every_nanosecond_of_every_core_is_somebodys() {
    for (folder, format) in [("tonbandgeraet", "tonbandgeraet"), ("demo", "tonbandgeraet")] {
        for path in captures(folder) {
            let capture = std::fs::read(&path).unwrap();
            let subject = Subject::new(format);
            let whole = gather(&subject, &capture, Cut::WHOLE, true);
            let pieces = gather(&subject, &capture, Cut::SMALL, true);
            let statistics = &whole.statistics;
            assert_eq!(*statistics, pieces.statistics, "{}", path.display());
            assert_eq!(whole.folded, pieces.folded, "{}", path.display());
            let (Some(first_ns), Some(last_ns)) = (statistics.first_ns, statistics.last_ns) else { continue };
            let mut known_ns = 0;
            for core in &statistics.cores {
                assert_eq!(core.known_ns() + core.unknown_ns, last_ns - first_ns, "{}: core {}", path.display(), core.core);
                known_ns += core.known_ns();
            }
            let run_ns: u64 = statistics.tasks.iter().map(|task| task.run_ns).sum();
            let isr_ns: u64 = statistics.interrupts.iter().map(|isr| isr.self_ns).sum();
            assert_eq!(run_ns + isr_ns, known_ns, "{}", path.display());
            let folded = whole.folded.unwrap();
            let folded_ns: u64 = folded.lines().map(|line| line.rsplit_once(' ').unwrap().1.parse::<u64>().unwrap()).sum();
            assert_eq!(folded_ns, known_ns, "{}", path.display());
        }
    }
}

#[test]
fn the_trace_shows_the_same_figures() {
    let (mut switches, mut interrupts, mut holds, mut levels) = (0, 0, 0, 0);
    for folder in ["tonbandgeraet", "demo"] {
        for path in captures(folder) {
            let capture = std::fs::read(&path).unwrap();
            let subject = Subject::new("tonbandgeraet");
            let trace = subject.convert(&capture, Cut::WHOLE).read();
            let statistics = gather(&subject, &capture, Cut::WHOLE, false).statistics;
            let name = path.display();

            let drawn = drawn_runs(&trace);
            let mut reported: BTreeMap<String, Figures> = BTreeMap::new();
            for task in statistics.tasks.iter().filter(|task| !task.is_idle && task.runs.count > 0) {
                let entry = reported.entry(task.name.clone()).or_default();
                *entry = sum(*entry, (task.runs.count, task.runs.total_ns, task.runs.max_ns.unwrap()));
            }
            assert_eq!(reported, drawn, "runs in {name}");
            switches += drawn.values().map(|figures| figures.0).sum::<u64>();

            let drawn = drawn_slices(&trace, "/Interrupts/", |slice| Some(slice.name.clone()));
            let mut reported: BTreeMap<String, Figures> = BTreeMap::new();
            for isr in statistics.interrupts.iter().filter(|isr| isr.durations.count > 0) {
                let entry = reported.entry(isr.name.clone()).or_default();
                *entry = sum(*entry, (isr.durations.count, isr.durations.total_ns, isr.durations.max_ns.unwrap()));
            }
            assert_eq!(reported, drawn, "interrupts in {name}");
            interrupts += drawn.values().map(|figures| figures.0).sum::<u64>();

            let drawn =
                drawn_slices(&trace, "/Objects/", |slice| slice.is_hold().then(|| trace.tracks[&slice.track].name.clone()));
            let mut reported: BTreeMap<String, Figures> = BTreeMap::new();
            for object in &statistics.objects {
                if let Some(spread) = object.holds.as_ref().filter(|spread| spread.count > 0) {
                    let entry = reported.entry(object.name.clone()).or_default();
                    *entry = sum(*entry, (spread.count, spread.total_ns, spread.max_ns.unwrap()));
                }
            }
            assert_eq!(reported, drawn, "holds in {name}");
            holds += drawn.values().map(|figures| figures.0).sum::<u64>();

            let highest = drawn_levels(&trace);
            let mut reported: BTreeMap<String, i64> = BTreeMap::new();
            for object in statistics.objects.iter().filter(|object| object.high_water.is_some()) {
                let entry = reported.entry(object.name.clone()).or_default();
                *entry = (*entry).max(i64::from(object.high_water.unwrap()));
            }
            let drawn: BTreeMap<String, i64> = highest.into_iter().filter(|(object, _)| reported.contains_key(object)).collect();
            assert_eq!(reported, drawn, "levels in {name}");
            levels += reported.len();
        }
    }
    // None of these comparisons was one of nothing with nothing.
    assert!(switches > 1500 && interrupts > 300 && holds > 300 && levels > 50, "{switches} {interrupts} {holds} {levels}");
}

/// Steps of state machines, how long their events took until they were answered, and how full their queues were.
#[test]
fn the_trace_shows_the_same_steps() {
    let (mut steps, mut responses, mut fills) = (0, 0, 0);
    let demo = captures("demo").into_iter().filter(|path| path.ends_with("dpp.bin"));
    for path in captures("qs").into_iter().chain(demo) {
        let capture = std::fs::read(&path).unwrap();
        let subject = Subject::new("qs");
        let trace = subject.convert(&capture, Cut::WHOLE).read();
        let statistics = gather(&subject, &capture, Cut::WHOLE, false).statistics;
        assert_eq!(statistics, gather(&subject, &capture, Cut::SMALL, false).statistics, "{}", path.display());
        let name = path.display();
        let machine = |slice: &Slice| {
            let path = trace.path(slice.track);
            path.split_once("/Active objects/").and_then(|(_, rest)| rest.strip_suffix("/steps")).map(str::to_owned)
        };
        let (mut drawn, mut answered) = (BTreeMap::<String, Figures>::new(), BTreeMap::<String, Figures>::new());
        for slice in &trace.slices {
            let (Some(machine), Some(_), Some(dur)) = (machine(slice), slice.arg("result"), slice.dur) else { continue };
            add(drawn.entry(machine.clone()).or_default(), dur);
            if let Some(Arg::Uint(queued_ns)) = slice.arg("queued_ns") {
                add(answered.entry(machine).or_default(), dur + queued_ns);
            }
        }
        let reported = |of: fn(&MachineReport) -> &SpreadReport| {
            let mut reported: BTreeMap<String, Figures> = BTreeMap::new();
            for machine in statistics.machines.iter().filter(|machine| of(machine).count > 0) {
                let (entry, spread) = (reported.entry(machine.name.clone()).or_default(), of(machine));
                *entry = sum(*entry, (spread.count, spread.total_ns, spread.max_ns.unwrap()));
            }
            reported
        };
        assert_eq!(reported(|machine| &machine.steps), drawn, "steps in {name}");
        assert_eq!(reported(|machine| &machine.responses), answered, "answers in {name}");
        steps += drawn.values().map(|figures| figures.0).sum::<u64>();
        responses += answered.values().map(|figures| figures.0).sum::<u64>();

        let mut highest: BTreeMap<String, i64> = BTreeMap::new();
        for (&track, values) in &trace.counters {
            let path = trace.path(track);
            let Some((_, rest)) = path.split_once("/Active objects/") else { continue };
            let Some(machine) = rest.strip_suffix("/queue") else { continue };
            let entry = highest.entry(machine.to_owned()).or_default();
            *entry = values.iter().map(|&(_, value)| value).max().unwrap().max(*entry);
        }
        let mut reported: BTreeMap<String, i64> = BTreeMap::new();
        for machine in statistics.machines.iter().filter(|machine| machine.high_water.is_some()) {
            let entry = reported.entry(machine.name.clone()).or_default();
            *entry = (*entry).max(i64::from(machine.high_water.unwrap()));
        }
        assert_eq!(reported, highest, "queues in {name}");
        fills += reported.len();
        for machine in &statistics.machines {
            assert!(machine.queued.max_ns <= machine.responses.max_ns || machine.responses.count < machine.queued.count);
            let signals: u64 = machine.signals.iter().map(|signal| signal.spans.total_ns).sum();
            assert_eq!(signals, machine.steps.total_ns, "{name}: {}", machine.name);
            assert_eq!(machine.transitions + machine.internals + machine.ignored, machine.steps.count);
        }
    }
    assert!(steps > 300 && responses > 200 && fills > 20, "{steps} {responses} {fills}");
}

/// Values of the firmware, and log messages.
#[test]
fn the_trace_shows_the_same_values_and_messages() {
    let (mut counters, mut messages) = (0, 0);
    for (folder, format) in [("tonbandgeraet", "tonbandgeraet"), ("demo", "tonbandgeraet"), ("miniprofiler", "miniprofiler")] {
        for path in captures(folder) {
            let capture = std::fs::read(&path).unwrap();
            let subject = Subject::new(format);
            let trace = subject.convert(&capture, Cut::WHOLE).read();
            let statistics = gather(&subject, &capture, Cut::WHOLE, false).statistics;
            let name = path.display();
            for lane in statistics.lanes.iter().filter(|lane| lane.values > 0 && lane.session == 1) {
                let drawn = trace.counters.iter().filter(|(track, _)| trace.tracks[*track].name == lane.name);
                let figures = |values: &Vec<(u64, i64)>| {
                    let whole = |value: Option<i64>| value.map(Number::Whole);
                    let least = values.iter().map(|&(_, value)| value).min();
                    let greatest = values.iter().map(|&(_, value)| value).max();
                    (values.len() as u64, whole(least), whole(greatest), whole(values.last().map(|&(_, value)| value)))
                };
                let reported = (lane.values, lane.least, lane.greatest, lane.last);
                let drawn: Vec<_> = drawn.map(|(_, values)| figures(values)).collect();
                assert!(drawn.contains(&reported), "{name}: {}: {reported:?} is not among {drawn:?}", lane.name);
                counters += 1;
            }
            let reported: u64 = statistics.logs.iter().map(|log| log.count).sum();
            let by_lane: u64 = statistics.lanes.iter().flat_map(|lane| &lane.logs).map(|log| log.count).sum();
            assert_eq!((reported, by_lane), (trace.logs.len() as u64, reported), "{name}");
            messages += reported;
        }
    }
    assert!(counters > 20 && messages > 0, "{counters} {messages}");
}

fn sum(one: Figures, other: Figures) -> Figures {
    (one.0 + other.0, one.1 + other.1, one.2.max(other.2))
}

/// How often and how long each thread runs from a switch to the next one, by name.
fn drawn_runs(trace: &Trace) -> BTreeMap<String, Figures> {
    let mut runs: BTreeMap<String, Figures> = BTreeMap::new();
    trace.runs().for_each(|(comm, dur)| add(runs.entry(without_session(comm)).or_default(), dur));
    runs
}

/// The trace marks things of a later session.
fn without_session(name: &str) -> String {
    name.split(" (session ").next().unwrap_or_default().to_owned()
}

/// The slices below a group that were not cut off, by their `key`.
fn drawn_slices(trace: &Trace, group: &str, key: impl Fn(&Slice) -> Option<String>) -> BTreeMap<String, Figures> {
    let mut drawn: BTreeMap<String, Figures> = BTreeMap::new();
    for (slice, dur) in trace.ended_slices(group) {
        key(slice).into_iter().for_each(|key| add(drawn.entry(key).or_default(), dur));
    }
    drawn
}

/// The highest value of each counter of an object.
fn drawn_levels(trace: &Trace) -> BTreeMap<String, i64> {
    let mut highest: BTreeMap<String, i64> = BTreeMap::new();
    for (&track, values) in trace.counters.iter().filter(|(track, _)| trace.path(**track).contains("/Objects/")) {
        assert!(matches!(trace.tracks[&track].kind, TrackKind::Counter { .. }));
        let greatest = values.iter().map(|&(_, value)| value).max().unwrap();
        let entry = highest.entry(trace.tracks[&track].name.clone()).or_default();
        *entry = (*entry).max(greatest);
    }
    highest
}

#[test]
#[ignore = "needs captures that are not in the project, in the folder TRACECONV_EXTRA_CAPTURES"]
fn functions_have_the_figures_of_their_true_records() {
    let folder = std::env::var_os("TRACECONV_EXTRA_CAPTURES").expect("TRACECONV_EXTRA_CAPTURES names a folder");
    let elf = Path::new(&folder).join("firmware_O2.elf");
    for entry in std::fs::read_dir(&folder).expect("it can be listed") {
        let path = entry.unwrap().path();
        let truth = path.with_extension("truth.csv.gz");
        if path.extension().is_none_or(|extension| extension != "bin") || !truth.exists() || !elf.exists() {
            continue;
        }
        let mut subject = Subject::new("miniprofiler");
        let bytes = std::fs::read(&elf).unwrap().into();
        let own = vec![("elf", OptionValue::File { path: "firmware.elf".into(), bytes })];
        subject.options = FormatOptions { own, ..FormatOptions::default() };
        let gathered = gather(&subject, &std::fs::read(&path).unwrap(), Cut::WHOLE, true);
        let mut text = String::new();
        flate2::read::GzDecoder::new(std::fs::File::open(&truth).unwrap()).read_to_string(&mut text).unwrap();
        let expected = plainly(&text);
        assert_eq!(reported(&gathered.statistics), expected, "{}", path.display());
        let self_ns: u64 = expected.values().map(|figures| figures.2).sum();
        let folded = gathered.folded.unwrap();
        let folded_ns: u64 = folded.lines().map(|line| line.rsplit_once(' ').unwrap().1.parse::<u64>().unwrap()).sum();
        assert_eq!(folded_ns, self_ns, "{}", path.display());
        println!("{}: {} functions, {} stacks", path.display(), expected.len(), folded.lines().count());
    }
}

/// Of each function: calls, total, self, least and greatest, in nanoseconds.
type Functions = BTreeMap<String, (u64, u64, u64, u64, u64)>;

fn reported(statistics: &StatisticsReport) -> Functions {
    let figures = |function: &traceconv::stats::report::FunctionReport| {
        let calls = &function.calls;
        (calls.count, calls.total_ns, function.self_ns, calls.min_ns.unwrap(), calls.max_ns.unwrap())
    };
    statistics.functions.iter().map(|function| (function.name.clone(), figures(function))).collect()
}

/// From the true records that were kept, which are in order of their ends: each is taken off the next one that is around it.
fn plainly(text: &str) -> Functions {
    struct Record<'a> {
        function: &'a str,
        begin: u64,
        end: u64,
        depth: u64,
    }
    let mut records = Vec::new();
    for line in text.lines().skip(1) {
        let [_, function, rest] = line.split('"').collect::<Vec<_>>()[..] else { panic!("{line}") };
        let numbers: Vec<u64> = rest.trim_start_matches(',').split(',').map(|number| number.parse().unwrap()).collect();
        let [begin, duration, depth, _, kept] = numbers[..] else { panic!("{line}") };
        if kept == 1 {
            records.push(Record { function, begin, end: begin + duration, depth });
        }
    }
    let mut self_us: Vec<u64> = records.iter().map(|record| record.end - record.begin).collect();
    for (index, inner) in records.iter().enumerate() {
        let is_around = |outer: &Record<'_>| outer.depth < inner.depth && outer.begin <= inner.begin && inner.end <= outer.end;
        // Nothing that is around it ends much later: the deepest call chains of these captures are short.
        let later = records.iter().enumerate().skip(index + 1).take(10_000);
        if let Some((outer, _)) = later.into_iter().find(|(_, outer)| is_around(outer)) {
            self_us[outer] -= inner.end - inner.begin;
        }
    }
    let mut functions = Functions::new();
    for (record, self_us) in records.iter().zip(self_us) {
        let duration_ns = (record.end - record.begin) * 1000;
        let figures = functions.entry(record.function.to_owned()).or_insert((0, 0, 0, u64::MAX, 0));
        *figures = (
            figures.0 + 1,
            figures.1 + duration_ns,
            figures.2 + self_us * 1000,
            figures.3.min(duration_ns),
            figures.4.max(duration_ns),
        );
    }
    functions
}

/// Runs the program in the folder of the demo: its exit status, standard output and standard error.
fn run(line: &str) -> (i32, String, String) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/demo");
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_traceconv"));
    let output = command.args(line.split_whitespace()).current_dir(folder).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

#[test]
fn statistics_are_told_to_people_to_scripts_and_to_flame_graph_tools() {
    let (status, tables, summary) = run("stats demo.bin");
    assert_eq!(status, 0);
    assert!(summary.starts_with("demo.bin: Tonbandgerät, because "), "{summary}");
    for heading in ["CORE", "TASK", "READY TO RUN", "INTERRUPT", "OBJECT", "MUTEX", "SPAN OR STATE", "VALUE"] {
        assert!(tables.lines().any(|line| line.starts_with(heading)), "{heading}:\n{tables}");
    }
    let (_, short, _) = run("stats -q --rows 2 demo.bin");
    assert!(short.contains("... and 10 more (--json has all)\n"), "{short}");

    let (status, json, summary) = run("stats -q --json demo.bin damaged.bin");
    assert_eq!((status, summary.as_str()), (0, ""));
    let file: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(file["schema_version"], 1);
    let statistics = |index: usize| &file["recordings"][index]["statistics"];
    let cores = |index: usize| statistics(index)["cores"].as_array().unwrap().len();
    assert_eq!((cores(0), cores(1)), (1, 1));
    assert_eq!(statistics(0)["gaps"], 0);
    assert_eq!(statistics(1)["gaps"], 1);
    assert_eq!(file["recordings"][1]["inputs"][0]["losses"][0]["kind"], "malformed_cobs");
    let tasks = statistics(0)["tasks"].as_array().unwrap();
    let sensor = tasks.iter().find(|task| task["name"] == "sensor").unwrap();
    assert!(sensor["latency"]["p99_ns"].as_u64().unwrap() <= sensor["latency"]["max_ns"].as_u64().unwrap());
    assert_eq!(sensor["suspended_ns"], 0);

    let (status, folded, _) = run("stats -q --folded dual-0.bin@0 dual-1.bin@1");
    assert_eq!(status, 0);
    assert!(folded.lines().any(|line| line.starts_with("CPU 1;IDLE;SysTick ")), "{folded}");
    let (_, several, _) = run("stats -q --folded demo.bin damaged.bin");
    assert!(several.lines().all(|line| line.starts_with("demo.bin;") || line.starts_with("damaged.bin;")), "{several}");
    let (_, several, table) = run("stats demo.bin damaged.bin");
    let rows: Vec<Vec<&str>> = table.lines().map(|line| line.split_whitespace().collect()).collect();
    let [title, demo, damaged] = &rows[..] else { panic!("{table}") };
    assert_eq!((title[0], demo[0], demo.last(), damaged[0]), ("FILE", "demo.bin", Some(&"read"), "damaged.bin"));
    assert!(run("stats -v demo.bin damaged.bin").2.starts_with("demo.bin: Tonbandgerät, because "));
    assert!(several.starts_with("demo.bin\n\nCORE") && several.contains("\n\ndamaged.bin\n\nCORE"), "{several}");
}

#[test]
fn what_has_no_statistics_is_said_and_the_rest_is_told() {
    let (status, json, error) = run("stats --json -q README.md demo.bin missing.bin");
    assert_eq!(status, 1);
    assert!(error.contains("error: README.md ") && error.contains("error: missing.bin "), "{error}");
    let file: serde_json::Value = serde_json::from_str(&json).unwrap();
    let is_null = |index: usize| file["recordings"][index]["statistics"].is_null();
    assert_eq!((is_null(0), is_null(1), is_null(2)), (true, false, true));
    assert!(file["recordings"][0]["inputs"][0]["error"].is_string());
    assert_eq!(run("stats --json --folded demo.bin").0, 2);
    assert_eq!(run("stats -o demo.bin demo.bin").0, 2);
    assert_eq!(run("stats demo.bin dual-0.bin@0").0, 2);
}
