//! The C library against the Rust encoder and decoder: for random sequences of calls, in every configuration of [`firmware`], the
//! bytes are the same, and the decoder gives back the calls. The build script builds a program of each configuration.

mod call;
mod firmware;
mod model;

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use proptest::prelude::*;
use traceconv::format::{FORMATS, FormatOptions};
use traceconv::pipeline::{self, Options, Source};

use call::{Call, Event, Value, event, events_of};
use firmware::{Backend, FIRMWARES, Firmware};
use model::Model;

/// Runs a script, and returns the recording.
fn run(firmware: &Firmware, script: &[String]) -> Vec<u8> {
    let program = Path::new(env!("DRIVERS")).join(firmware.name);
    let mut child = Command::new(&program)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap_or_else(|error| panic!("cannot run {}: {error}", program.display()));
    let mut input = child.stdin.take().expect("it is a pipe");
    input.write_all(script.join("\n").as_bytes()).expect("the driver reads all of it");
    drop(input);
    let output = child.wait_with_output().expect("it ends");
    assert!(output.status.success(), "{}: {}", firmware.name, output.status);
    output.stdout
}

fn of_name(name: &str) -> &'static Firmware {
    FIRMWARES.iter().find(|firmware| firmware.name == name).expect("it is in the table")
}

/// Steps, one after the other.
#[derive(Clone, Debug)]
struct Step {
    core: u32,
    /// Ticks since the step before, modulo 2^64.
    elapsed: u64,
    is_refused: bool,
    /// Before it the recording stops and starts again.
    restarts: bool,
    call: Call,
}

/// A whole run: names that are given before the recording starts, then steps.
#[derive(Clone, Debug)]
struct Run {
    begin_ticks: u64,
    names: Vec<(u32, Call)>,
    steps: Vec<Step>,
}

/// The script of a run, the output of the Rust encoder for it, and what the decoder must find.
struct Expected<'a> {
    script: Vec<String>,
    model: Model<'a>,
    lines: Vec<String>,
    restarts: u64,
}

impl Run {
    fn expected<'a>(&self, firmware: &'a Firmware) -> Expected<'a> {
        let mut script = vec![format!("clock {}", self.begin_ticks)];
        let (mut model, mut lines, mut restarts) = (Model::new(firmware), Vec::new(), 0);
        let mut now = self.begin_ticks;
        for (core, name) in &self.names {
            script.extend([format!("core {core}"), name.command()]);
            model.call(*core, now, name, false);
        }
        script.extend(["core 0".to_owned(), "start".to_owned()]);
        if firmware.backend != Backend::External {
            model.start(0, now);
        }
        // Without an end of the recording a last event reports losses.
        let last = Call::fitting(event("isr_enter"), [0; 3], 0, None);
        let last = Step { core: 0, elapsed: 0, is_refused: false, restarts: false, call: last };
        for step in self.steps.iter().chain((firmware.backend == Backend::External).then_some(&last)) {
            if step.restarts && firmware.backend == Backend::Streaming {
                script.extend(["core 0", "stop", "start"].map(str::to_owned));
                model.stop(0, now);
                model.start(0, now);
                lines.append(&mut model.told_running);
                restarts += 1;
            }
            now = now.wrapping_add(step.elapsed);
            script.extend([format!("clock {now}"), format!("core {}", step.core)]);
            script.extend([format!("refuse {}", u8::from(step.is_refused)), step.call.command(), "refuse 0".to_owned()]);
            let is_recorded = model.call(step.core, now, &step.call, step.is_refused);
            lines.append(&mut model.told_running);
            if is_recorded && !step.call.is_metadata() {
                lines.push(format!("{now} core {} {}", step.core, step.call.line(firmware)));
            }
        }
        script.extend(["core 0".to_owned(), "stop".to_owned()]);
        if firmware.backend != Backend::External {
            model.stop(0, now);
        }
        Expected { script, model, lines, restarts }
    }
}

/// Of a ledger: the code, how often, and how many events were lost.
type Entry = (&'static str, u64, u64);

/// The content of a capture: its events and its metadata as lines, and the codes of its ledger with what was lost.
fn decoded(firmware: &Firmware, capture: &[u8]) -> (Vec<String>, Vec<String>, Vec<Entry>) {
    let format = FORMATS.iter().find(|format| format.name() == "tonbandgeraet").expect("it is registered");
    // In the plain format nothing has the number of cores, and one that is named once might be damage.
    let cores = (firmware.is_plain && firmware.cores > 1).then_some(firmware.cores as u16);
    let options = FormatOptions { cores, ..FormatOptions::default() };
    let source = Source::new(capture, *format).options(options);
    let (mut lines, mut names) = (Vec::new(), Vec::new());
    let by_the_library = ["sync", "core_id", "dropped_evt_cnt", "ts_resolution_ns"];
    let summary = pipeline::dump(&source, &Options::default().threads(1), &mut |view| {
        let line = format!("{}{}", view.record, call::dumped_fields(view.fields));
        match (view.ticks, view.core) {
            _ if by_the_library.contains(&view.record) => {}
            (Some(ticks), Some(core)) => lines.push(format!("{ticks} core {core} {line}")),
            _ => names.push(line),
        }
        true
    })
    .expect("nothing stops it");
    let ledger = summary.ledger.entries().iter().map(|entry| (entry.kind.code, entry.count, entry.at_least_lost)).collect();
    (lines, names, ledger)
}

/// Runs it in C and in Rust, and compares.
fn compare(firmware: &Firmware, run_: &Run) {
    let mut expected = run_.expected(firmware);
    let capture = run(firmware, &expected.script);
    let (mut lines, names, ledger) = decoded(firmware, &capture);
    // Where a clock goes backwards a sync says so, which the decoder cannot distinguish from a damaged time before it: then it is the time of
    // that event which gives way, and only the events are compared.
    let goes_back = run_.steps.iter().any(|step| step.elapsed > u64::MAX / 2);
    if goes_back {
        let without_time = |line: &mut String| *line = line.split_once(' ').expect("a time comes first").1.to_owned();
        lines.iter_mut().chain(&mut expected.lines).for_each(without_time);
    }
    if firmware.backend == Backend::PostMortem {
        return compare_newest(firmware, &expected, lines, &names, &ledger);
    }
    let frames = expected.model.frames();
    if let Some(at) = (0..capture.len().max(frames.len())).find(|&at| capture.get(at) != frames.get(at)) {
        let around =
            |bytes: &[u8]| bytes.iter().skip(at.saturating_sub(20)).take(40).map(|b| format!("{b:02x}")).collect::<String>();
        panic!("{}, byte {at}:\n  C    …{}\n  Rust …{}", firmware.name, around(&capture), around(&frames));
    }
    if firmware.backend == Backend::Snapshot {
        // One core's buffer after the other's.
        let of_core = |core: u32| expected.lines.iter().filter(move |line| line.contains(&format!("core {core} ")));
        assert!(lines.iter().eq((0..firmware.cores).flat_map(of_core)), "{}", firmware.name);
    } else {
        assert_eq!(lines, expected.lines, "{}", firmware.name);
    }
    assert_eq!(names, expected.model.names(), "{}", firmware.name);
    for (code, count, lost) in ledger {
        let agrees = match code {
            "dropped_by_target" => lost == expected.model.lost_after_begin,
            "recording_restarted" => count == expected.restarts,
            // A text of any bytes.
            "not_utf8" => lost == 0,
            _ => goes_back && lost == 0,
        };
        assert!(agrees, "{}: {count} times {code}, {lost} lost; {} are", firmware.name, expected.model.lost_after_begin);
    }
}

/// Of a ring the newest events are left.
fn compare_newest(firmware: &Firmware, expected: &Expected<'_>, mut lines: Vec<String>, names: &[String], ledger: &[Entry]) {
    // Every segment has who runs.
    let running = |line: &String| line.contains(" task_running ");
    lines.retain(|line| !running(line));
    let calls: Vec<&String> = expected.lines.iter().filter(|line| !running(line)).collect();
    assert!(ledger.iter().all(|entry| entry.0 == "not_utf8"), "{}: {ledger:?}", firmware.name);
    assert!(
        lines.len() == calls.len() || lines.len() > 100,
        "{}: only {} of {} are left",
        firmware.name,
        lines.len(),
        calls.len()
    );
    assert!(lines.iter().eq(calls[calls.len() - lines.len()..].iter().copied()), "{}", firmware.name);
    // All names that were kept, and those in the segments that are left.
    let (kept, told) = (expected.model.names(), expected.model.told().collect::<Vec<_>>());
    let named = names.strip_prefix(&*kept).unwrap_or_else(|| panic!("{}: {names:?} lack some of {kept:?}", firmware.name));
    assert!(told.ends_with(named), "{}: {named:?}, of {told:?}", firmware.name);
}

/// Numbers at which the length of a varint changes, and any.
fn number() -> impl Strategy<Value = u64> {
    let border = (1u32..10, 0u64..3).prop_map(|(sevens, above)| (1u64 << (7 * sevens)) - 1 + above - 1);
    prop_oneof![4 => 0u64..5, 3 => border, 1 => Just(u64::MAX), 1 => Just(u64::from(u32::MAX)), 2 => any::<u64>()]
}

fn signed() -> impl Strategy<Value = i64> {
    let near = |n: u64| prop_oneof![Just(n as i64), Just((n as i64).wrapping_neg())];
    prop_oneof![4 => number().prop_flat_map(near), 1 => Just(i64::MIN), 1 => Just(i64::MIN + 1), 1 => any::<i64>()]
}

/// A text of any length up to more than fits, and the bytes after it in memory. Only one that is cut may lack its end.
fn text(max_str_len: usize) -> impl Strategy<Value = Option<Vec<u8>>> {
    let byte = prop_oneof![4 => 0x20u8..0x7F, 1 => 1u8..=255];
    let len = prop_oneof![3 => 0usize..=20, 1 => 245usize..260, 1 => max_str_len.saturating_sub(1)..=max_str_len + 3];
    let text = len.prop_flat_map(move |len| prop::collection::vec(byte.clone(), len));
    prop::option::weighted(0.95, (text, any::<bool>())).prop_map(move |text| {
        let (mut text, ends) = text?;
        if ends || text.len() < max_str_len {
            text.push(0);
        }
        text.extend(b"BEYOND");
        Some(text)
    })
}

/// Time between events, around the lengths of a delta time stamp for any number of cores.
fn elapsed() -> impl Strategy<Value = u64> {
    let border = (prop_oneof![Just(7u32), Just(14), Just(21), Just(28), Just(32)], 2u32..7, 0u64..5)
        .prop_map(|(bits, rest, above)| (1u64 << (bits - rest)) + above - 2);
    prop_oneof![6 => 0u64..100, 6 => border, 1 => Just(1 << 33), 1 => (0u64..50).prop_map(u64::wrapping_neg)]
}

fn call(firmware: &'static Firmware, of: Vec<&'static Event>) -> impl Strategy<Value = Call> {
    let values = (prop::array::uniform3(number()), signed(), text(firmware.max_str_len));
    (prop::sample::select(of), values).prop_map(|(event, (numbers, signed, text))| Call::fitting(event, numbers, signed, text))
}

/// Anything that the library would do by itself, it does for the core that calls.
fn on_core(mut call: Call, core: u32) -> Call {
    if call.event.name == "core_isr_name" {
        call.values[0] = Value::Number(u64::from(core));
    }
    call
}

fn step(firmware: &'static Firmware) -> impl Strategy<Value = Step> {
    let refuses = matches!(firmware.backend, Backend::Streaming | Backend::External);
    let refused = prop::bool::weighted(if refuses { 0.05 } else { 0.0 });
    let call = call(firmware, events_of(firmware));
    (0..firmware.cores, elapsed(), refused, prop::bool::weighted(0.02), call).prop_map(
        |(core, elapsed, is_refused, restarts, call)| {
            let elapsed = match () {
                // Time is only looked at for events.
                () if call.is_metadata() => 0,
                // A clock of 32 bits is only extended if it does not wrap twice, and cannot go backwards.
                () if firmware.clock_bits == 32 => elapsed & u64::from(u32::MAX >> 1),
                // One that goes backwards has no order that a merger of cores could restore.
                () if firmware.backend == Backend::PostMortem && elapsed > 1 << 40 => 0,
                () => elapsed,
            };
            Step { core, elapsed, is_refused, restarts, call: on_core(call, core) }
        },
    )
}

fn run_of(firmware: &'static Firmware) -> impl Strategy<Value = Run> {
    let metadata: Vec<_> = events_of(firmware).into_iter().filter(|event| !event.time).collect();
    let name = (0..firmware.cores, call(firmware, metadata)).prop_map(|(core, call)| (core, on_core(call, core)));
    let begin = prop_oneof![Just(100u64), Just((1 << 32) - 5), Just(1 << 60)];
    (begin, prop::collection::vec(name, 0..5), prop::collection::vec(step(firmware), 1..300)).prop_map(
        |(begin_ticks, names, steps)| {
            let begin_ticks = if firmware.clock_bits == 32 { begin_ticks & u64::from(u32::MAX) } else { begin_ticks };
            // Without a start, who gives names before it gives them within the recording.
            let names = if firmware.backend == Backend::External { Vec::new() } else { names };
            Run { begin_ticks, names, steps }
        },
    )
}

/// Every configuration. `PROPTEST_CASES` is how many runs of each, instead of a number that takes a few seconds.
#[test]
fn random_calls_come_out_the_same() {
    for firmware in FIRMWARES {
        let usual = ProptestConfig::default();
        let cases = if std::env::var_os("PROPTEST_CASES").is_some() { usual.cases } else { 48 };
        let config = ProptestConfig { cases, failure_persistence: None, ..usual };
        let mut runner = proptest::test_runner::TestRunner::new(config);
        let outcome = runner.run(&run_of(firmware), |run| {
            compare(firmware, &run);
            Ok(())
        });
        outcome.unwrap_or_else(|error| panic!("{}: {error:#}", firmware.name));
    }
}

/// Every event of every configuration at both ends of its fields, one after the other.
#[test]
fn every_event_at_both_ends_of_its_fields() {
    for firmware in FIRMWARES {
        let mut steps = Vec::new();
        for event in events_of(firmware) {
            for (number, signed, text) in [
                (0, i64::MIN, Some(vec![0])),
                (u64::MAX, i64::MAX, Some([&vec![b'x'; firmware.max_str_len][..], b"BEYOND"].concat())),
                (1, -1, None),
            ] {
                let call = on_core(Call::fitting(event, [number; 3], signed, text), firmware.cores - 1);
                let elapsed = u64::from(event.time);
                steps.push(Step { core: firmware.cores - 1, elapsed, is_refused: false, restarts: false, call });
            }
        }
        assert!(steps.len() >= 3 * if firmware.has_freertos { 44 } else { 9 }, "{}: {}", firmware.name, steps.len());
        compare(firmware, &Run { begin_ticks: 5, names: Vec::new(), steps });
    }
}

/// After 2^32 frames the number is 0 again; only the flag says that a recording starts.
#[test]
fn a_number_that_wraps_starts_no_recording() {
    let firmware = of_name("bare_metal");
    let enter = Call::fitting(event("isr_enter"), [3, 0, 0], 0, None);
    let mut model = Model::new(firmware);
    let mut script: Vec<String> = ["clock 10", "start"].map(str::to_owned).into();
    model.start(0, 10);
    let event = |at: u64, model: &mut Model<'_>, script: &mut Vec<String>| {
        script.extend([format!("clock {at}"), enter.command()]);
        model.call(0, at, &enter, false);
    };
    event(10, &mut model, &mut script);
    // Two frames were sent. Six more follow before a sync, which then is the frame after the last number.
    let rest = u32::MAX - 7;
    script.push(format!("sent {rest}"));
    model.sent(rest);
    let before_wrap = model.frames().len();
    for at in 11..40 {
        event(at, &mut model, &mut script);
    }
    script.push("stop".to_owned());
    model.stop(0, 39);
    let (capture, frames) = (run(firmware, &script), model.frames());
    assert_eq!(capture, frames);
    let syncs = syncs(&capture);
    assert_eq!(syncs[0], (2, 0));
    assert!(syncs[1..].contains(&(0, 0)), "a sync has the number 0: {syncs:?}");
    assert!(syncs[1..].iter().all(|(flags, _)| flags & 2 == 0), "{syncs:?}");
    // From the first sync after the jump on nothing is amiss.
    let (lines, _, ledger) = decoded(firmware, &capture[before_wrap..]);
    let later: Vec<_> = ledger.iter().filter(|entry| entry.0 != "before_first_sync").collect();
    assert!(later.is_empty(), "{later:?}");
    assert!(lines.len() >= 22, "{lines:?}");
}

/// Flags and numbers of the syncs of a capture.
fn syncs(capture: &[u8]) -> Vec<(u64, u64)> {
    let format = FORMATS.iter().find(|format| format.name() == "tonbandgeraet").expect("it is registered");
    let source = Source::new(capture, *format);
    let mut syncs = Vec::new();
    pipeline::dump(&source, &Options::default(), &mut |view| {
        let field = |wanted: &str| {
            view.fields.iter().find_map(|(name, value)| match value {
                traceconv::format::FieldValue::Uint(number) if *name == wanted => Some(*number),
                _ => None,
            })
        };
        if view.record == "sync" {
            syncs.push((field("flags").expect("a sync has flags"), field("seq").expect("a sync has a number")));
        }
        true
    })
    .expect("nothing stops it");
    syncs
}

/// Every known frame of the plain format, out of the library.
#[test]
fn known_frames_of_the_plain_format() {
    let firmware = of_name("plain_vectors");
    let header = run(firmware, &["clock 0".to_owned(), "start".to_owned()]);
    let mut count = 0;
    let lines = include_str!("vectors.txt").lines().filter(|line| !line.starts_with('#'));
    let vectors = lines.map(|line| line.split_once(' ').expect("a vector is a call and a frame"));
    let mut vectors: Vec<(String, String)> = vectors.map(|(call, hex)| (call.to_owned(), hex.to_owned())).collect();
    // Around the end of a block of COBS.
    for (len, hex) in [(250, "fe070101A00"), (251, "ff070101A00"), (252, "ff070101A02410 0")] {
        let most = len.min(251);
        let hex = hex.replace('A', &"41".repeat(most)).replace(' ', "");
        vectors.push((format!("evtmarker(1,1,\"{}\")", "A".repeat(len)), hex));
    }
    for (call, hex) in &vectors {
        let (ticks, call) = parse(call);
        let capture = run(firmware, &[format!("clock {ticks}\nstart"), format!("clock {ticks}"), call.command()]);
        let frame: String = capture[header.len()..].iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(&frame, hex, "{call:?}");
        count += 1;
    }
    assert_eq!(count, 69);
    let named = |event: &Event| vectors.iter().any(|(call, _)| call.starts_with(&format!("{}(", event.name)));
    assert!(events_of(firmware).into_iter().all(named), "every event has a known frame");
}

/// A call as it is in `vectors.txt`, and its time.
fn parse(text: &str) -> (u64, Call) {
    let (name, arguments) = text.trim_end_matches(')').split_once('(').expect("a call has arguments");
    let event = event(name);
    let mut arguments = arguments.split(',').peekable();
    let mut next = || arguments.next().expect("a call has all its arguments");
    let ticks = if event.time { next().parse().expect("a time is a number") } else { 0 };
    let mut values = Vec::new();
    for field in &event.fields {
        let word = next();
        values.push(match &*field.kind {
            "str" if word == "NULL" => Value::Text(None),
            "str" => Value::Text(Some([word.trim_matches('"').as_bytes(), &[0]].concat())),
            "s64" => Value::Signed(word.parse().expect("a value is a number")),
            _ => Value::Number(word.parse().expect("a field is a number")),
        });
    }
    assert!(arguments.next().is_none(), "{text} has too many arguments");
    (ticks, Call { event, values })
}
