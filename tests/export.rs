//! Tables equal the trace and the statistics of the same recording, do not depend on how the work is cut, and a dataset grows only by
//! recordings that are not in it.

#[path = "common/mod.rs"]
mod common;
#[path = "common/fields.rs"]
mod json_page;
mod reader;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use common::run::{Cut, Subject, options};
use proptest::prelude::*;
use reader::{Arg, Trace, TrackKind};
use serde_json::{Map, Value};
use traceconv::export::{self, ExportError, Form, Labels, Part, Sink, Table, TableSink};
use traceconv::format::FORMATS;
use traceconv::input::detect;
use traceconv::metrics::{Losses, figures, saved};
use traceconv::pipeline::{self, EventDetail, Options, Source};
use traceconv::report::InputReport;
use traceconv::report::stats::{Recording, StatsFile};

/// The number of a state in which a task sleeps: it waits, was deleted, or is in an unknown state.
const SLEEPING: i32 = 4;

const DRAWN: [Table; 4] = [Table::Events, Table::Slices, Table::States, Table::Values];

/// The rows of tables as JSON, and the statistics as JSON.
struct Exported {
    rows: BTreeMap<Table, Vec<Map<String, Value>>>,
    json: String,
}

fn export(subject: &Subject, capture: &[u8], tables: &[Table], options: &Options) -> Exported {
    let mut files: Vec<Vec<u8>> = tables.iter().map(|_| Vec::new()).collect();
    let sinks = tables.iter().zip(&mut files);
    let sinks = sinks.map(|(table, file)| (*table, TableSink::create(*table, &[], Form::Ndjson, file).unwrap())).collect();
    let mut part = Part::new(sinks, Vec::new());
    part.begin("id");
    let source = Source::new(capture, subject.format).options(subject.options.clone());
    let gathered = pipeline::operations(&[source], options, &mut part, &mut |_| true).unwrap();
    let mut input = InputReport::named("capture".into(), None);
    input.enter_summary(&gathered.inputs[0]);
    let recording = Recording::new(vec![input], None);
    let totals = recording.losses;
    let mut losses = Losses::default();
    (losses.events, losses.cases, losses.lost_events, losses.repairs) =
        (recording.events(), totals.cases, totals.at_least_lost, totals.repairs);
    part.end(&Labels::new(), &recording, &figures(&gathered.statistics, losses)).unwrap();
    part.finish().unwrap();
    let recording = Recording::new(recording.inputs, Some(gathered.statistics));
    let json = StatsFile::new(vec![recording]).to_json().unwrap();
    let rows = tables.iter().copied().zip(files.iter().map(|file| rows(file))).collect();
    Exported { rows, json }
}

/// Lines of JSON.
fn rows(file: &[u8]) -> Vec<Map<String, Value>> {
    std::str::from_utf8(file).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// All captures that come with the program.
fn captures() -> Vec<(PathBuf, Vec<u8>, Subject)> {
    let mut folders = vec![testdata("")];
    let mut captures = Vec::new();
    while let Some(folder) = folders.pop() {
        for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let is_capture = path.extension().is_some_and(|extension| extension == "bin" || extension == "stp");
            let bytes = fs::read(&path).unwrap();
            if is_capture && let Ok(detected) = detect::detect(&bytes, &[]) {
                captures.push((path, bytes, Subject::new(detected.format.name())));
            }
        }
    }
    captures.sort_by(|one, other| one.0.cmp(&other.0));
    assert!(captures.len() > 50);
    captures
}

fn testdata(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata").join(name)
}

fn arguments(args: &BTreeMap<String, Arg>) -> Map<String, Value> {
    let value = |arg: &Arg| match arg {
        Arg::Bool(value) => Value::from(*value),
        Arg::Uint(value) => Value::from(*value),
        Arg::Int(value) => Value::from(*value),
        Arg::Double(value) => Value::from(*value),
        Arg::Pointer(value) => Value::from(format!("{value:#x}")),
        Arg::Text(value) => Value::from(value.as_str()),
    };
    args.iter().map(|(name, arg)| (name.clone(), value(arg))).collect()
}

/// As text without order, with the number of a kind as JSON has it. The message of a log, and its place, are not among the reader's
/// annotations.
fn row(fields: &[&dyn std::fmt::Display], mut args: Map<String, Value>) -> String {
    if args.remove("message").is_some() {
        args.remove("source_location");
    }
    let fields: Vec<String> = fields.iter().map(ToString::to_string).collect();
    format!("{} {}", fields.join(" | "), Value::Object(args))
}

fn args_of(row: &Map<String, Value>) -> Map<String, Value> {
    row["args"].as_str().map_or_else(Map::new, |args| serde_json::from_str(args).unwrap())
}

fn compare(name: &Path, what: &str, mut table: Vec<String>, mut trace: Vec<String>) -> usize {
    table.sort_unstable();
    trace.sort_unstable();
    for (table, trace) in table.iter().zip(&trace) {
        assert_eq!(table, trace, "{}: {what}", name.display());
    }
    assert_eq!(table.len(), trace.len(), "{}: {what}", name.display());
    table.len()
}

#[test]
fn the_tables_hold_what_the_trace_holds() {
    let mut compared = [0; 4];
    for (path, capture, subject) in captures() {
        let counts = compare_tables(&path, &capture, &subject);
        compared.iter_mut().zip(counts).for_each(|(all, count)| *all += count);
    }
    assert!(compared.iter().all(|&count| count > 1000), "{compared:?}");
}

/// The numbers of rows that were compared.
fn compare_tables(path: &Path, capture: &[u8], subject: &Subject) -> [usize; 4] {
    let options = options(Cut::WHOLE).events(EventDetail::All);
    let tables = export(subject, capture, &DRAWN, &options).rows;
    let trace = subject.convert_with(capture, &options).read();
    [
        compare_events(path, &tables[&Table::Events], &trace),
        compare_slices(path, &tables[&Table::Slices], &trace),
        compare_states(path, &tables[&Table::States], &trace),
        compare_values(path, &tables[&Table::Values], &trace),
    ]
}

/// A generated capture of any format, damaged at some places.
fn generated(format: usize, seed: u64, bytes: u64, damage: usize) -> (Vec<u8>, Subject) {
    let format = FORMATS[format];
    let mut capture = Vec::new();
    let mut subject = Subject::new(format.name());
    subject.options = format.generate(bytes, seed, &mut capture).unwrap();
    for at in 1..=damage {
        let at = capture.len() * at / 5;
        capture[at] ^= 0x55;
    }
    (capture, subject)
}

fn core_of_events(trace: &Trace, track: u64) -> Option<String> {
    let path = trace.path(track);
    let (group, name) = path.rsplit_once('/')?;
    group.ends_with("/Events").then(|| name.strip_prefix("core ").map(str::to_owned)).flatten()
}

fn compare_events(path: &Path, table: &[Map<String, Value>], trace: &Trace) -> usize {
    let table = table.iter().map(|event| {
        let mut args = args_of(event);
        if let Some(kind) = event["subject_kind"].as_str() {
            args.insert(kind.to_owned(), event["subject"].clone());
        }
        row(&[&event["ts_ns"], &event["core"], &event["event"]], args)
    });
    let instants = trace.instants.iter().filter_map(|instant| Some((core_of_events(trace, instant.track)?, instant)));
    let trace =
        instants.map(|(core, instant)| row(&[&instant.ts, &core, &Value::from(instant.name.as_str())], arguments(&instant.args)));
    compare(path, "events", table.collect(), trace.collect())
}

/// A track with its groups. A thread is in its process, which is a task's if both have one name.
fn full_path(of: &Trace, track: u64) -> String {
    let path = of.path(track);
    let thread = of.tracks.get(&track).filter(|info| info.parent.is_none());
    let Some(TrackKind::Thread { pid, .. }) = thread.map(|info| &info.kind) else { return path };
    let process = of.tracks.values().find(|info| matches!(info.kind, TrackKind::Process { pid: this } if this == *pid));
    process.filter(|process| process.name != path).map_or(path.clone(), |process| format!("{}/{path}", process.name))
}

fn compare_slices(path: &Path, table: &[Map<String, Value>], of: &Trace) -> usize {
    let table =
        table.iter().map(|slice| row(&[&slice["ts_ns"], &slice["dur_ns"], &slice["track"], &slice["name"]], args_of(slice)));
    let slices = of.slices.iter().map(|slice| {
        let mut args = arguments(&slice.args);
        args.extend(arguments(&slice.end_args));
        let dur = slice.dur.map_or(Value::Null, Value::from);
        row(&[&slice.ts, &dur, &Value::from(full_path(of, slice.track)), &Value::from(slice.name.as_str())], args)
    });
    let instants = of.instants.iter().filter(|instant| core_of_events(of, instant.track).is_none()).map(|instant| {
        row(
            &[&instant.ts, &0, &Value::from(full_path(of, instant.track)), &Value::from(instant.name.as_str())],
            arguments(&instant.args),
        )
    });
    compare(path, "slices", table.collect(), slices.chain(instants).collect())
}

/// Running states are those of the CPU tracks; and the states of a task follow each other, without a break where nothing is lost.
fn compare_states(path: &Path, table: &[Map<String, Value>], trace: &Trace) -> usize {
    let is_loss = |track: &u64| trace.path(*track).ends_with("Losses");
    let slices = trace.slices.iter().filter(|slice| is_loss(&slice.track));
    let instants = trace.instants.iter().filter(|instant| is_loss(&instant.track));
    let losses: Vec<(u64, u64)> = slices
        .map(|slice| (slice.ts, slice.ts + slice.dur.unwrap_or(0)))
        .chain(instants.map(|instant| (instant.ts, instant.ts)))
        .collect();
    // A state that becomes unknown ends a nanosecond after the loss, if a row has its time. The recording of a core may end before others.
    let may_be_unknown =
        |since: u64, until: u64| trace.sched.len() > 1 || losses.iter().any(|&(from, to)| from <= until && to + 1 >= since);
    let mut running: BTreeMap<(String, u64), u64> = BTreeMap::new();
    let mut ends: BTreeMap<i64, Option<u64>> = BTreeMap::new();
    for state in table {
        let (ts_ns, tid) = (state["ts_ns"].as_u64().unwrap(), state["tid"].as_i64().unwrap());
        if let Some(end) = ends.insert(tid, state["dur_ns"].as_u64().map(|dur_ns| ts_ns + dur_ns)) {
            let follows = end.is_some_and(|end| end == ts_ns || end < ts_ns && may_be_unknown(end, ts_ns));
            assert!(follows, "{}: {state:?} after {end:?}", path.display());
        }
        if let (Some("running"), Some(dur_ns)) = (state["state"].as_str(), state["dur_ns"].as_u64()) {
            let core = state["core"].as_u64().unwrap();
            *running.entry((state["task"].as_str().unwrap().to_owned(), core)).or_default() += dur_ns;
        }
    }
    let mut expected: BTreeMap<(String, u64), u64> = BTreeMap::new();
    // The thread that stands for an unknown task has no track.
    let is_task = |tid: i32| tid != 0 && trace.thread(tid.into()).is_some();
    for run in trace.running().into_iter().filter(|run| is_task(run.tid)) {
        if let Some(dur) = run.dur {
            *expected.entry((run.comm, run.cpu.into())).or_default() += dur;
        }
    }
    running.retain(|_, sum| *sum > 0);
    expected.retain(|_, sum| *sum > 0);
    assert_eq!(running, expected, "{}", path.display());
    compare_first_states(path, table, trace);
    table.len()
}

/// A task may have a state before it runs or is made ready by another one: created, and ready, suspended or deleted.
fn compare_first_states(path: &Path, table: &[Map<String, Value>], trace: &Trace) {
    let mut first_rows: BTreeMap<i32, u64> = BTreeMap::new();
    let switches = trace.sched.values().flat_map(|switches| switches.iter().skip(1).map(|switch| (switch.next_tid, switch.ts)));
    for (tid, ts) in switches.chain(trace.wakings.values().flatten().map(|waking| (waking.tid, waking.ts))) {
        first_rows.entry(tid).and_modify(|first| *first = ts.min(*first)).or_insert(ts);
    }
    for (tid, changes) in &trace.states {
        let known = changes.iter().find(|(_, state)| *state != SLEEPING);
        let Some((ts, _)) = known.filter(|(ts, _)| first_rows.get(tid).is_none_or(|first| ts < first)) else { continue };
        let of_task = |row: &&Map<String, Value>| row["tid"] == *tid && row["ts_ns"] == *ts;
        let name = &trace.tracks[&trace.thread((*tid).into()).unwrap()].name;
        assert!(table.iter().find(of_task).is_some_and(|row| row["task"] == **name), "{}: {name} at {ts}", path.display());
    }
}

fn compare_values(path: &Path, table: &[Map<String, Value>], of: &Trace) -> usize {
    let table = table.iter().map(|value| row(&[&value["ts_ns"], &value["track"], &value["value"]], Map::new()));
    let counters = of.counters.iter().flat_map(|(track, values)| {
        values.iter().map(move |(ts, value)| row(&[ts, &Value::from(of.path(*track)), &Value::from(*value as f64)], Map::new()))
    });
    let floats = of.float_counters.iter().flat_map(|(track, values)| {
        values.iter().map(move |(ts, value)| row(&[ts, &Value::from(of.path(*track)), &Value::from(*value)], Map::new()))
    });
    compare(path, "values", table.collect(), counters.chain(floats).collect())
}

#[test]
fn rows_do_not_depend_on_how_the_work_is_cut() {
    for (path, capture, subject) in captures() {
        let of = |cut| export(&subject, &capture, &Table::ALL, &options(cut).events(EventDetail::All)).rows;
        assert!(of(Cut::WHOLE) == of(Cut::SMALL), "{}", path.display());
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever was recorded and damaged, too.
    #[test]
    fn generated_tables_hold_what_the_trace_holds(format in 0..FORMATS.len(), seed in any::<u64>(), bytes in 200u64..20_000, damage in 0usize..4) {
        let (capture, subject) = generated(format, seed, bytes, damage);
        compare_tables(Path::new(FORMATS[format].name()), &capture, &subject);
    }

    /// Every metric, of every format: the row's value is that of `stats --json`.
    #[test]
    fn metrics_equal_the_saved_statistics(format in 0..FORMATS.len(), seed in any::<u64>(), bytes in 200u64..30_000, damage in 0usize..4) {
        let (capture, subject) = generated(format, seed, bytes, damage);
        let exported = export(&subject, &capture, &[Table::Metrics], &options(Cut::WHOLE));
        let figures = saved::read(exported.json.as_bytes()).unwrap().figures;
        let rows = &exported.rows[&Table::Metrics];
        prop_assert_eq!(rows.len(), figures.len());
        for (row, figure) in rows.iter().zip(&figures) {
            let key = (row["section"].as_str(), row["name"].as_str(), row["metric"].as_str());
            let metric = figure.metric.full_name();
            prop_assert_eq!(key, (Some(figure.metric.section), Some(&*figure.name), Some(&*metric)));
            prop_assert_eq!(row["unit"].as_str(), Some(figure.metric.unit.symbol()));
            let value = Some(figure.value.as_f64()).filter(|value| value.is_finite());
            // The reader of JSON may err by the last bit.
            let is_equal = |one: f64, other: f64| (one - other).abs() <= f64::EPSILON * one.abs();
            prop_assert!(match (row["value"].as_f64(), value) {
                (Some(one), Some(other)) => is_equal(one, other),
                (one, other) => one == other,
            }, "{:?}: {:?}", row, figure);
        }
    }
}

fn run(dir: &Path, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_traceconv")).current_dir(dir).args(args).output().unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

const NOTES: &str = r#"{"note": "start", "unix_ns": 1795392000000000000}
{"labels": {"commit": "c0ffee", "build": 77, "Path": "x"}}
{"labels": "#;

/// A folder with recordings: two boards, a file that is no recording, and one recording twice.
fn recordings() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    for (board, names) in [("board=7", ["before.bin", "after.bin"]), ("board=8", ["demo.bin", "damaged.bin"])] {
        let folder = dir.path().join("in").join(board);
        fs::create_dir_all(&folder).unwrap();
        for name in names {
            fs::copy(testdata("demo").join(name), folder.join(name)).unwrap();
        }
    }
    let folder = dir.path().join("in/board=7");
    fs::copy(testdata("demo/before.bin"), folder.join("twice.bin")).unwrap();
    fs::write(folder.join("after.bin.traceconv.jsonl"), NOTES).unwrap();
    fs::write(dir.path().join("in/notes.txt"), "no recording").unwrap();
    dir
}

/// All files of a folder with their content.
fn files(dir: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut folders = vec![dir.to_path_buf()];
    let mut all = BTreeMap::new();
    while let Some(folder) = folders.pop() {
        for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            if path.is_dir() {
                folders.push(path);
            } else {
                all.insert(path.strip_prefix(dir).unwrap().to_str().unwrap().to_owned(), fs::read(&path).unwrap());
            }
        }
    }
    all
}

const ALL_TABLES: &str = "--tables=recordings,metrics,losses,events,slices,states,values";

#[test]
fn a_dataset_is_the_same_at_any_number_of_threads() {
    let dir = recordings();
    for form in ["--parquet", "--csv"] {
        let written: Vec<_> = ["1", "2", "3"]
            .map(|threads| {
                let out = format!("{}-{threads}", form.trim_start_matches('-'));
                let args = ["export", "-r", "in", form, &out, ALL_TABLES, "--partition-by", "board", "--threads", threads];
                let output = run(dir.path(), &args);
                assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
                assert!(
                    stderr(&output).contains("exported 4 recordings, 1 there already, 1 not readable"),
                    "{}",
                    stderr(&output)
                );
                files(&dir.path().join(out))
            })
            .into();
        assert!(written[0].keys().any(|name| name.starts_with("metrics/board=7/part-")), "{:?}", written[0].keys());
        assert_eq!(written[0].len(), 1 + 3 * 7);
        assert!(written[0] == written[1] && written[0] == written[2]);
    }
}

#[test]
fn a_recording_is_added_once() {
    let dir = recordings();
    let export = |args: &[&str]| run(dir.path(), &[&["export", "--parquet", "set", "--append", "-q"], args].concat());
    assert_eq!(export(&["in/board=7/before.bin"]).status.code(), Some(0));
    let first = files(&dir.path().join("set"));
    assert_eq!(export(&["in/board=7/before.bin", "in/board=7/twice.bin"]).status.code(), Some(0));
    assert_eq!(files(&dir.path().join("set")), first);
    // Read in another way, it is another one.
    assert_eq!(export(&["in/board=7/before.bin", "--from", "+1ms"]).status.code(), Some(0));
    let second = files(&dir.path().join("set"));
    assert_eq!(second.len(), first.len() + 3);
    // What is left from a run that was stopped is removed.
    let left = dir.path().join("set/metrics/part-left.parquet");
    fs::write(&left, "half").unwrap();
    assert_eq!(export(&["in/board=8/demo.bin"]).status.code(), Some(0));
    assert!(!left.exists());
    assert_eq!(files(&dir.path().join("set")).len(), second.len() + 3);

    let late = run(dir.path(), &["export", "--parquet", "set", "--append", "in/board=8/demo.bin", "--from", "10s"]);
    assert_eq!(stderr(&late), "exported 1 recording, 1 without an event in the time range -> set\n");

    let again = run(dir.path(), &["export", "--parquet", "set", "in/board=8/demo.bin"]);
    assert_eq!(again.status.code(), Some(2));
    assert!(stderr(&again).contains("set is a dataset already; add recordings to it with --append"), "{}", stderr(&again));
    fs::write(dir.path().join("set/dataset.json"), "{\"schema_version\": 2, \"tool_version\": \"9\"}").unwrap();
    let newer = export(&["in/board=8/demo.bin"]);
    assert_eq!(newer.status.code(), Some(1));
    assert!(stderr(&newer).contains("its tables have version 2"), "{}", stderr(&newer));
}

#[test]
fn recordings_have_labels_and_unreadable_ones_say_why() {
    let dir = recordings();
    let output = run(dir.path(), &["export", "-r", "in", "--ndjson", "-", "--tables", "recordings", "--label", "build=1.4"]);
    assert_eq!(output.status.code(), Some(1));
    let rows = rows(&output.stdout);
    let of = |name: &str| rows.iter().find(|row| row["path"].as_str().unwrap().ends_with(name)).unwrap();
    assert_eq!(rows.len(), 5);
    assert!(rows.iter().all(|row| row["build"] == "1.4"));
    assert!(stderr(&output).contains("after.bin: the notes beside it: `Path` cannot be a label"), "{}", stderr(&output));
    let after = of("after.bin");
    assert_eq!((&after["board"], &after["commit"], &after["date"]), (&"7".into(), &"c0ffee".into(), &"2026-11-23".into()));
    assert_eq!((&of("demo.bin")["board"], &of("demo.bin")["commit"]), (&"8".into(), &Value::Null));
    assert_eq!(of("demo.bin")["events"], 4448);
    assert!(of("notes.txt")["error"].as_str().unwrap().contains("notes.txt"), "{:?}", of("notes.txt"));
    let counts = ["events", "cores", "sessions", "input_bytes", "skipped_bytes", "loss_cases", "lost_events", "repairs"];
    assert!(counts.iter().all(|column| of("notes.txt")[*column].is_null()), "nothing of it was counted: {:?}", of("notes.txt"));
    assert!(counts.iter().all(|column| of("demo.bin")[*column].is_u64()), "{:?}", of("demo.bin"));
    assert!(of("damaged.bin")["loss_cases"].as_u64().unwrap() > 0);

    for (args, status, message) in [
        (&["--label", "7=x"][..], 2, "`7` is no name of a label"),
        (&["--label", "Build=x"], 2, "has a column `build`"),
        (&["--label", "Path=x"], 2, "the table `recordings` has a column `path`"),
        (&["--tables", "metrics,losses"], 2, "a file holds one table"),
        (&["--tables", "tasks"], 2, "invalid value 'tasks'"),
        (&["-", "--tables", "metrics"], 2, "standard input has no name"),
    ] {
        let output = run(dir.path(), &[&["export", "in/board=8/demo.bin", "--ndjson", "out"], args].concat());
        assert_eq!(output.status.code(), Some(status), "{args:?}: {}", stderr(&output));
        assert!(stderr(&output).contains(message), "{args:?}: {}", stderr(&output));
        assert!(!dir.path().join("out").exists());
    }
}

#[test]
fn all_forms_have_the_same_rows() {
    let dir = recordings();
    for table in Table::ALL.map(Table::name) {
        let to = |form: &str, name: &str| {
            let output = run(dir.path(), &["export", "-q", "in/board=8/demo.bin", form, name, "--tables", table]);
            assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        };
        let name = |extension: &str| format!("{table}.{extension}");
        to("--ndjson", &name("ndjson"));
        to("--arrow", &name("arrow"));
        to("--csv", &name("csv"));
        let lines = rows(&fs::read(dir.path().join(name("ndjson"))).unwrap());
        let file = fs::File::open(dir.path().join(name("arrow"))).unwrap();
        let mut json = arrow_json::writer::WriterBuilder::new()
            .with_explicit_nulls(true)
            .build::<_, arrow_json::writer::LineDelimited>(Vec::new());
        for batch in arrow_ipc::reader::FileReader::try_new(file, None).unwrap() {
            json.write(&batch.unwrap()).unwrap();
        }
        json.finish().unwrap();
        assert_eq!(rows(&json.into_inner()), lines, "{table}");
        let files = files(&dir.path().join(name("csv")));
        let csv = files.iter().find(|(name, _)| name.starts_with(table)).unwrap().1;
        let csv = std::str::from_utf8(csv).unwrap();
        assert!(csv.starts_with("recording,"), "{csv}");
        assert!(csv.lines().count() > lines.len(), "{table}");
    }
}

/// 120 runs of two firmwares, the second with a slower task.
#[test]
fn the_commit_that_made_a_task_slower_is_named() {
    use traceconv::format::tonbandgeraet::generate::{GenerateOptions, SlowTask, generate};
    let dir = tempfile::tempdir().unwrap();
    for run in 0..120u64 {
        let folder = dir.path().join(format!("farm/commit=c{:02}/board={}", run / 10, run % 2));
        fs::create_dir_all(&folder).unwrap();
        let slow_task = (run >= 70).then(|| SlowTask::named("filter", 150).unwrap());
        let mut capture = Vec::new();
        let options = GenerateOptions { bytes: 20_000, seed: run, slow_task, ..GenerateOptions::default() };
        generate(&options, &mut capture).unwrap();
        fs::write(folder.join(format!("run-{run:03}.bin")), capture).unwrap();
    }
    let export = run(dir.path(), &["export", "-q", "-r", "farm", "--parquet", "set"]);
    assert_eq!(export.status.code(), Some(0), "{}", stderr(&export));
    let budget = "rules = ['p95(task.filter.cpu_percent) < 99', 'losses >= 0', 'trend(task.filter.cpu_percent) > 1']";
    fs::write(dir.path().join("kept.toml"), budget).unwrap();
    let budget = "[[rules]]\nrule = 'change(task.filter.cpu_percent) < 10'\nreason = 'it is filtered on battery'\n";
    fs::write(dir.path().join("broken.toml"), budget).unwrap();

    let args = ["check", "set", "--order", "commit", "--by", "board", "--budget", "kept.toml", "--charts", "charts"];
    let found = run(dir.path(), &args);
    assert_eq!(found.status.code(), Some(0), "{}", stderr(&found));
    let text = String::from_utf8(found.stdout).unwrap();
    let line = text.lines().find(|line| line.starts_with("task.filter.cpu_percent: ")).expect(&text);
    assert!(line.contains("since commit c07, ") && line.contains("confidence > 99.9"), "{text}");
    assert!(text.contains("set: 3 rules: 3 kept, 0 broken"), "{text}");
    assert!(text.contains("filter of board=0 (of 2)") || text.contains("filter of board=1 (of 2)"), "{text}");
    assert!(text.contains("  board=1: "), "{text}");
    let chart = fs::read_to_string(dir.path().join("charts/task.filter.cpu_percent.svg")).unwrap();
    assert!(chart.starts_with("<svg") && chart.matches(',').count() > 50);

    // Without a statistic, the worst recording is named.
    let found = run(dir.path(), &["check", "set", "--budget", "kept.toml", "--md"]);
    let text = String::from_utf8(found.stdout).unwrap();
    assert!(text.lines().any(|line| line.contains("| losses \\>= 0 | in farm/commit=c")), "{text}");

    let broken = ["check", "set", "--order", "commit", "--budget", "broken.toml"];
    let found = run(dir.path(), &[&broken[..], &["--md", "--junit", "junit.xml"]].concat());
    assert_eq!(found.status.code(), Some(3));
    let text = String::from_utf8(found.stdout.clone()).unwrap();
    assert!(text.contains("| **BROKEN** | change(task.filter.cpu\\_percent) \\< 10 |"), "{text}");
    assert!(text.contains("| task.filter.cpu\\_percent | ") && text.contains("it is filtered on battery"), "{text}");
    assert!(stderr(&found).contains("error: change(task.filter.cpu_percent) is "), "{}", stderr(&found));
    let junit = fs::read_to_string(dir.path().join("junit.xml")).unwrap();
    assert!(junit.contains("change(task.filter.cpu_percent)") && junit.contains("<failure"), "{junit}");

    // The verdicts and the test cases do not share standard output; and why charts cannot be written is said.
    let found = run(dir.path(), &["check", "set", "--junit", "-"]);
    assert_eq!(found.status.code(), Some(2));
    assert!(stderr(&found).contains("cannot share standard output"), "{}", stderr(&found));
    fs::create_dir_all(dir.path().join("taken/task.filter.cpu_percent.svg")).unwrap();
    let found = run(dir.path(), &["check", "set", "--charts", "taken"]);
    assert_eq!(found.status.code(), Some(1));
    assert!(stderr(&found).contains("the charts taken: task.filter.cpu_percent.svg: Is a directory"), "{}", stderr(&found));

    // Without rules, all that has moved; the same for scripts.
    let json = run(dir.path(), &["check", "set", "--order", "commit", "--by", "board", "--json"]);
    assert_eq!(json.status.code(), Some(0), "{}", stderr(&json));
    let json: Value = serde_json::from_slice(&json.stdout).unwrap();
    assert_eq!((&json["recordings"], &json["broken"]), (&120.into(), &0.into()));
    let moved = json["changes"].as_array().unwrap().iter().find(|moved| moved["metric"] == "task.filter.cpu_percent").unwrap();
    assert_eq!((&moved["order"], &moved["number"], &moved["is_worse"]), (&"c07".into(), &71.into(), &true.into()));
    assert!(moved["path"].as_str().unwrap().ends_with("commit=c07/board=0/run-070.bin"), "{moved}");
    assert!(moved["since"].as_f64().unwrap() > 1.2 * moved["before"].as_f64().unwrap(), "{moved}");
    let groups = moved["groups"].as_object().unwrap();
    assert_eq!(groups.keys().collect::<Vec<_>>(), ["0", "1"]);
    let mut file = json.clone();
    let with_rules = run(dir.path(), &["check", "set", "--budget", "broken.toml", "--order", "commit", "--json"]);
    file["verdicts"] = serde_json::from_slice::<Value>(&with_rules.stdout).unwrap()["verdicts"].clone();
    // The names of groups are no fields.
    file["changes"].as_array_mut().unwrap().iter_mut().for_each(|change| change["groups"] = Value::Null);
    json_page::hold_page_of_json(&[("dataset", file)], |path| path.starts_with("dataset"));

    // The statistics of one recording are its values.
    let one = "farm/commit=c00/board=0/run-000.bin";
    let alone = run(dir.path(), &["check", one, "--budget", "broken.toml"]);
    assert_eq!(alone.status.code(), Some(0), "{}", stderr(&alone));
    for (args, status, message) in [
        (&["check", "set", "--by", "bench"][..], 1, "no recording has a label `bench`"),
        (&["check", one, "--budget", "kept.toml", "--by", "board"], 2, "are for a dataset"),
        (&["check", one], 2, "name the budget with --budget"),
    ] {
        let output = run(dir.path(), args);
        assert_eq!(output.status.code(), Some(status), "{}", stderr(&output));
        assert!(stderr(&output).contains(message), "{}", stderr(&output));
    }
}

/// What verdicts on a dataset do not cover is said: recordings that could not be read, and those without what a rule limits.
#[test]
fn verdicts_say_what_they_do_not_cover() {
    let dir = tempfile::tempdir().unwrap();
    for name in ["demo.bin", "before.bin", "dpp.bin"] {
        fs::copy(testdata("demo").join(name), dir.path().join(name)).unwrap();
    }
    fs::write(dir.path().join("empty.bin"), "").unwrap();
    let export = run(dir.path(), &["export", "-q", "demo.bin", "before.bin", "dpp.bin", "empty.bin", "--parquet", "set"]);
    assert_eq!(export.status.code(), Some(1), "{}", stderr(&export));
    // It is tried again, and counts once.
    let again = run(dir.path(), &["export", "demo.bin", "empty.bin", "--parquet", "set", "--append"]);
    assert!(stderr(&again).contains("1 there already, 1 not readable"), "{}", stderr(&again));
    let rules = "'task.filter.cpu_percent < 9', 'p95(task.filter.cpu_percent) < 9', 'losses == 0', 'span.*.count > 0', \
                 { rule = 'machine.*.steps > 0', optional = true }";
    fs::write(dir.path().join("budget.toml"), format!("rules = [{rules}]")).unwrap();
    let check = ["check", "set", "--budget", "budget.toml"];
    let found = run(dir.path(), &check);
    assert_eq!(found.status.code(), Some(0), "{}", stderr(&found));
    let text = String::from_utf8(found.stdout).unwrap();
    let notes = [
        "task.filter.cpu_percent < 9: 1 of 3 recordings has nothing that it limits",
        "p95(task.filter.cpu_percent) < 9: 1 of 3 recordings has nothing that it limits",
    ];
    assert!(text.contains(&format!("\nnote: {}\nnote: {}\n\n", notes[0], notes[1])), "{text}");
    assert_eq!(text.matches("note: ").count(), 2, "{text}");
    // What a dataset has cannot be cut any more.
    let cut = run(dir.path(), &[&check[..], &["--from", "1ms"]].concat());
    assert_eq!(cut.status.code(), Some(2));
    assert!(stderr(&cut).contains("--from and --to are for recordings"), "{}", stderr(&cut));
    assert!(text.contains("set: 3 recordings and 1 that could not be read, "), "{text}");
    let markdown = String::from_utf8(run(dir.path(), &[&check[..], &["--md"]].concat()).stdout).unwrap();
    assert!(markdown.contains("\ntask.filter.cpu\\_percent \\< 9: 1 of 3 recordings has"), "{markdown}");
    assert!(markdown.contains("3 recordings and 1 that could not be read"), "{markdown}");
    let json: Value = serde_json::from_slice(&run(dir.path(), &[&check[..], &["--json"]].concat()).stdout).unwrap();
    assert_eq!((&json["recordings"], &json["unread"], &json["notes"]), (&3.into(), &1.into(), &notes.to_vec().into()));
}

/// Names of things are no names of files: they are long, and have any letters.
#[test]
fn charts_of_any_names_are_files_of_their_own() {
    use traceconv::format::tonbandgeraet::generate::{GenerateOptions, SlowTask, generate};
    use traceconv::frame::cobs::{stuff, unstuff};
    let dir = tempfile::tempdir().unwrap();
    let long = "x".repeat(300);
    let renamed = |capture: &[u8], from: &str, to: &str| {
        let mut renamed = Vec::new();
        for frame in capture.split(|&byte| byte == 0).filter(|frame| !frame.is_empty()) {
            let mut payload = Vec::new();
            unstuff(frame, &mut payload).unwrap();
            if payload.ends_with(from.as_bytes()) {
                payload.splice(payload.len() - from.len().., to.bytes());
            }
            stuff(&payload, &mut renamed);
        }
        renamed
    };
    for run in 0..60u64 {
        let slow_task = (run >= 30).then(|| SlowTask::named("filter", 300).unwrap());
        let mut capture = Vec::new();
        let options = GenerateOptions { bytes: 20_000, seed: run, slow_task, ..GenerateOptions::default() };
        generate(&options, &mut capture).unwrap();
        fs::write(dir.path().join(format!("run-{run:03}.bin")), renamed(&capture, "filter", &long)).unwrap();
    }
    let export = run(dir.path(), &["export", "-q", "-r", ".", "--glob", "*.bin", "--parquet", "set"]);
    assert_eq!(export.status.code(), Some(0), "{}", stderr(&export));
    let found = run(dir.path(), &["check", "set", "--charts", "charts", "--json"]);
    assert_eq!(found.status.code(), Some(0), "{}", stderr(&found));
    let json: Value = serde_json::from_slice(&found.stdout).unwrap();
    let listed = json["changes"].as_array().unwrap().len().min(20);
    let charts = files(&dir.path().join("charts"));
    assert_eq!(charts.len(), listed, "{:?}", charts.keys());
    assert!(charts.keys().any(|name| name.starts_with("task.xxx") && name.ends_with("x-1.svg")), "{:?}", charts.keys());
}

#[test]
fn a_reader_of_lines_may_have_had_enough() {
    let dir = recordings();
    for (form, status) in [("--ndjson", Some(0)), ("--arrow", Some(1))] {
        let mut child = Command::new(env!("CARGO_BIN_EXE_traceconv"))
            .args(["export", "in/board=7/before.bin", form, "-", "--tables", "events"])
            .current_dir(dir.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), status, "{}", stderr(&output));
        assert_eq!(stderr(&output).contains("Broken pipe"), form == "--arrow", "{}", stderr(&output));
    }
}

#[test]
fn partitions_are_folders_in_folders() {
    let dir = recordings();
    let args = ["export", "-q", "-r", "in", "--parquet", "set", "--partition-by", "format,board"];
    assert_eq!(run(dir.path(), &args).status.code(), Some(1));
    let folders: BTreeSet<String> =
        files(&dir.path().join("set/metrics")).keys().map(|name| name.rsplit_once('/').unwrap().0.to_owned()).collect();
    let expected = [
        "format=__HIVE_DEFAULT_PARTITION__/board=__HIVE_DEFAULT_PARTITION__",
        "format=tonbandgeraet/board=7",
        "format=tonbandgeraet/board=8",
    ];
    assert_eq!(folders, expected.map(str::to_owned).into());
    let args = ["check", "set", "--by", "board", "--json"];
    let json: Value = serde_json::from_slice(&run(dir.path(), &args).stdout).unwrap();
    assert_eq!(json["recordings"], 4);
    let wrong = run(dir.path(), &["export", "-q", "-r", "in", "--parquet", "new", "--partition-by", "bord"]);
    assert_eq!(wrong.status.code(), Some(1));
    assert!(stderr(&wrong).ends_with("--partition-by: no recording has a label `bord`\n"), "{}", stderr(&wrong));
    assert!(!dir.path().join("new").exists());
}

/// Fails to compile when an item of the documented surface changes, as the test of that name in `tests/embedding.rs`.
#[test]
#[allow(clippy::type_complexity, reason = "the exact types are the subject of the test")]
fn the_surface_holds() {
    let _: fn(&str) -> Result<(), String> = export::check_label;
    let _: fn(&Path, &mut Labels) = export::add_folder_labels;
    let _: fn(&[u8], &mut Labels) -> Vec<String> = export::add_note_labels;
    let _: fn(&mut Labels, Labels, &[(String, String)]) = export::join_labels;
    let _: fn(Vec<&'static Labels>) -> Vec<String> = export::label_columns;
    let _: fn(Vec<(Option<u16>, &'static [u8])>, &str, &str, &[u8]) -> String = export::recording_identity;
    let _: fn(Vec<&'static str>) -> String = export::part_name;
    let _: fn(Vec<u64>, usize) -> Vec<usize> = export::part_lengths;
    let _: fn(&str, Option<&str>) -> String = export::part_folder;
    let _: fn(Vec<(Table, TableSink<'static>)>, Vec<String>) -> Part<'static> = Part::new;
    let _: fn(&mut Part<'static>, &str) = Part::begin;
    let _: fn(Part<'static>) -> Result<(), ExportError> = Part::finish;
    let _: fn(export::table::Rows, Box<dyn Sink + 'static>) -> TableSink<'static> = TableSink::to_sink;
    let _: (u32, usize, [Table; 7]) = (export::SCHEMA_VERSION, export::PART_RECORDINGS, Table::ALL);
}

#[test]
fn parts_are_cut_by_number_and_size() {
    let mega = 1 << 20;
    assert_eq!(export::part_lengths(vec![1; 600], export::PART_RECORDINGS), [256, 256, 88]);
    assert_eq!(export::part_lengths(vec![40 * mega, 30 * mega, mega, 65 * mega, 1], 256), [2, 2, 1]);
    assert_eq!(export::part_lengths(vec![0, 0, 0], 2), [2, 1]);
    assert!(export::part_lengths(Vec::new(), 2).is_empty());
}
