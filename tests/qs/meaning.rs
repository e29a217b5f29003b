//! The content of the trace, compared with the results of simple code from the records.

use std::collections::{BTreeMap, VecDeque};

use traceconv::format::qs::encode::Value;
use traceconv::format::qs::generate::Damage;
use traceconv::format::qs::layout::{Config, Sizes};
use traceconv::format::qs::record::Kind;
use traceconv::format::{FieldValue, OptionValue, RecordView};
use traceconv::pipeline::{self, ConvertError, Source};

use crate::captures::{self, generated, small_config, without_frames};
use crate::common::run::{Cut, Subject, options};
use crate::reader::{Arg, Slice, Trace};

/// The compared parts of a record.
struct Seen {
    record: String,
    fields: BTreeMap<String, String>,
    nanos: Option<u64>,
}

impl Seen {
    fn of(view: &RecordView<'_>) -> Seen {
        let text = |value: &FieldValue<'_>| match value {
            FieldValue::Uint(value) => value.to_string(),
            FieldValue::Int(value) => value.to_string(),
            FieldValue::Float(value) => value.to_string(),
            FieldValue::List(values) => format!("{values:?}"),
            FieldValue::Text(text) => (*text).to_owned(),
            FieldValue::Bytes(bytes) => format!("{bytes:?}"),
        };
        let fields = view.fields.iter().map(|(name, value)| ((*name).to_owned(), text(value))).collect();
        Seen { record: view.record.to_owned(), fields, nanos: view.nanos }
    }

    /// A field by name if it has one.
    fn get(&self, field: &str) -> &str {
        let named = self.fields.get(&format!("{field}_name"));
        named.or_else(|| self.fields.get(field)).map_or("", String::as_str)
    }
}

fn records(capture: &[u8]) -> Vec<Seen> {
    let mut all = Vec::new();
    Subject::new("qs").each_record(capture, Cut::WHOLE, |view| all.push(Seen::of(view)));
    all
}

fn text(arg: Option<&Arg>) -> String {
    match arg {
        Some(Arg::Text(text)) => text.clone(),
        other => format!("{other:?}"),
    }
}

fn slices<'a>(trace: &'a Trace, end: &str) -> Vec<(String, &'a Slice)> {
    let of = |slice: &'a Slice| (trace.path(slice.track), slice);
    trace.slices.iter().map(of).filter(|(path, _)| path.ends_with(end)).collect()
}

/// A step: begin and end, signal, state, result.
type Step = (u64, u64, String, String, &'static str);

/// The captures that the semantics are checked on: a generated one, and external ones that start with a reset.
fn whole_captures() -> Vec<(String, Vec<u8>)> {
    let generated = ("generated".to_owned(), generated(100_000, 21, Damage::None));
    let is_whole = |(name, _): &(String, Vec<u8>)| ["dpp", "dppx", "120s"].iter().any(|end| name.ends_with(end));
    std::iter::once(generated).chain(crate::compare::external().into_iter().filter(is_whole)).collect()
}

#[test]
fn every_step_has_one_result_and_the_state_of_the_dispatch() {
    for (name, capture) in whole_captures() {
        let trace = Subject::new("qs").convert(&capture, Cut::WHOLE).read();
        let records = records(&capture);
        let mut expected: BTreeMap<String, Vec<Step>> = BTreeMap::new();
        let mut open: BTreeMap<String, (u64, String, String)> = BTreeMap::new();
        let mut states: BTreeMap<String, String> = BTreeMap::new();
        let (mut dispatches, mut tracked) = (0, 0);
        for seen in &records {
            let object = seen.get("obj").to_owned();
            match seen.record.as_str() {
                "QEP_DISPATCH" => {
                    dispatches += 1;
                    if let Some(state) = states.get(&object) {
                        assert_eq!(state, seen.get("state"), "{name}: {object} is in another state");
                        tracked += 1;
                    }
                    let begun = (seen.nanos.unwrap(), seen.get("sig").to_owned(), seen.get("state").to_owned());
                    assert!(open.insert(object, begun).is_none(), "{name}: a step within a step");
                }
                "QEP_TRAN" | "QEP_INTERN_TRAN" | "QEP_IGNORED" => {
                    let (begin, signal, state) = open.remove(&object).expect("the step has begun");
                    let result = match seen.record.as_str() {
                        "QEP_TRAN" => "transition",
                        "QEP_INTERN_TRAN" => "internal",
                        _ => "ignored",
                    };
                    let track = expected.entry(object.clone()).or_default();
                    track.push((begin, seen.nanos.unwrap(), signal, state, result));
                    if result == "transition" {
                        states.insert(object, seen.get("target").to_owned());
                    }
                }
                "QEP_INIT_TRAN" => drop(states.insert(object, seen.get("state").to_owned())),
                _ => {}
            }
        }
        assert!(dispatches > 50 && tracked > 40, "{name}: {dispatches} dispatches, {tracked} in a known state");
        let all = slices(&trace, "/steps");
        for (object, steps) in &expected {
            let own = all.iter().filter(|(path, slice)| path.contains(&format!("/{object}/")) && slice.depth == 0);
            let shown: Vec<_> = own
                .filter(|(_, slice)| slice.end_args.contains_key("result"))
                .map(|(_, slice)| {
                    (
                        slice.ts,
                        slice.end().unwrap(),
                        slice.name.clone(),
                        text(slice.args.get("state")),
                        text(slice.end_args.get("result")),
                    )
                })
                .collect();
            let steps: Vec<_> = steps.iter().cloned().map(|(a, b, c, d, e)| (a, b, c, d, e.to_owned())).collect();
            assert_eq!(shown, steps, "{name}: steps of {object}");
        }
        // One state at a time, without a hole, the last as tracked.
        for (object, state) in &states {
            let own: Vec<_> =
                slices(&trace, "/state").into_iter().filter(|(path, _)| path.contains(&format!("/{object}/"))).collect();
            assert!(own.windows(2).all(|pair| pair[0].1.end() == Some(pair[1].1.ts)), "{name}: states of {object}");
            assert_eq!(own.last().map(|(_, slice)| slice.name.as_str()), Some(state.as_str()), "{name}: {object}");
        }
        println!("{name}: {dispatches} steps, {tracked} of them in the state that was tracked");
    }
}

/// Where each flow begins.
fn posts(trace: &Trace) -> BTreeMap<u64, u64> {
    trace.instants.iter().flat_map(|instant| instant.flows_out.iter().map(|&flow| (flow, instant.ts))).collect()
}

#[test]
fn every_event_flows_from_its_post_to_its_step() {
    for (name, capture) in whole_captures() {
        let trace = Subject::new("qs").convert(&capture, Cut::WHOLE).read();
        // Posts and gets, first in first out for each object.
        let mut queues: BTreeMap<String, VecDeque<(u64, String)>> = BTreeMap::new();
        let mut taken: BTreeMap<String, (u64, String)> = BTreeMap::new();
        let mut expected = Vec::new();
        let (mut gets, mut matched) = (0, 0);
        for seen in records(&capture) {
            match seen.record.as_str() {
                "QF_ACTIVE_POST" | "QF_ACTIVE_POST_LIFO" => {
                    let queue = queues.entry(seen.get("ao").to_owned()).or_default();
                    let event = (seen.nanos.unwrap(), seen.get("sig").to_owned());
                    if seen.record == "QF_ACTIVE_POST" { queue.push_back(event) } else { queue.push_front(event) }
                }
                "QF_ACTIVE_GET" | "QF_ACTIVE_GET_LAST" => {
                    gets += 1;
                    let queue = queues.entry(seen.get("ao").to_owned()).or_default();
                    if let Some(item) = queue.pop_front() {
                        assert_eq!(item.1, seen.get("sig"), "{name}: out of order");
                        matched += 1;
                        taken.insert(seen.get("ao").to_owned(), item);
                    }
                }
                "QEP_DISPATCH" => {
                    if let Some((posted, signal)) = taken.remove(seen.get("obj")) {
                        expected.push((posted, seen.nanos.unwrap(), signal));
                    }
                }
                _ => {}
            }
        }
        let out = posts(&trace);
        let mut shown: Vec<_> = trace
            .slices
            .iter()
            .flat_map(|slice| slice.flows_in.iter().map(|flow| (out[flow], slice.ts, slice.name.clone())))
            .collect();
        shown.sort();
        expected.sort();
        assert_eq!(shown, expected, "{name}");
        println!("{name}: {matched} of {gets} gets have their post");
        assert_eq!(matched, gets, "{name}: all posts are in the capture");
    }
}

/// The target's filter may remove the records that say when an event leaves its queue: it does so when it is dispatched.
#[test]
fn events_flow_to_their_steps_without_records_of_the_queue() {
    use traceconv::format::qs::generate::{GenerateOptions, generate};

    let read = |filtered: &'static [u8]| {
        let mut capture = Vec::new();
        let options = GenerateOptions { bytes: 60_000, seed: 22, filtered, ..GenerateOptions::default() };
        generate(&options, &mut capture).expect("memory does not fail");
        let conversion = Subject::new("qs").convert(&capture, Cut::WHOLE);
        let hints = conversion.summary.facts.hints.join(" ");
        let steps = slices(&conversion.read(), "steps").len();
        let flows = conversion.read().slices.iter().filter(|slice| !slice.flows_in.is_empty()).count();
        (steps, flows, hints)
    };
    let (whole_steps, whole_flows, hints) = read(&[]);
    assert!(!hints.contains("QF_ACTIVE_GET"), "{hints}");
    let (steps, flows, hints) = read(&[16, 17]);
    assert!(hints.contains("no records of the ids 16 and 17 (QF_ACTIVE_GET,"), "{hints}");
    let (share, whole) = (flows * 100 / steps, whole_flows * 100 / whole_steps);
    assert!(steps > 300 && share + 1 >= whole, "{share} % of the steps have a flow, with records of the queue {whole} %");
}

#[test]
fn nothing_pairs_across_a_gap() {
    let whole = generated(60_000, 22, Damage::None);
    check_gap(&without_frames(&whole, 1_000..1_040), 40);
}

/// After an overrun of the target's buffer, the rest of the frame whose beginning was overwritten may be its delimiter alone, and the numbers
/// go on after a multiple of 256 frames.
#[test]
fn nothing_pairs_across_an_overrun() {
    let whole = generated(60_000, 22, Damage::None);
    let frames = captures::frames(&whole);
    for (missing, rest, lost) in [(40, &[0x7E][..], 40), (40, &[0x08, 0x03, 0x4E, 0x7E], 40), (256, &[0x08, 0x03, 0x4E, 0x7E], 0)]
    {
        check_gap(&[frames[..1_000].concat(), rest.to_vec(), frames[1_000 + missing..].concat()].concat(), lost);
    }
    // Without silence nothing is missing.
    let noise = [frames[..1_000].concat(), vec![0x08, 0x03, 0x4E, 0x7E], frames[1_000..].concat()].concat();
    let conversion = Subject::new("qs").convert(&noise, Cut::WHOLE);
    assert!(slices(&conversion.read(), "Losses").is_empty(), "{:?}", conversion.summary.ledger);
}

fn check_gap(capture: &[u8], at_least_lost: u64) {
    let conversion = Subject::new("qs").convert(capture, Cut::WHOLE);
    let trace = conversion.read();
    let losses: Vec<_> = slices(&trace, "Losses");
    let (_, loss) = losses.first().expect("the gap is drawn");
    let stated = match loss.args.get("at_least_lost") {
        Some(Arg::Uint(lost)) => *lost,
        _ => 0,
    };
    assert_eq!(stated, at_least_lost);
    let (start, end) = (loss.ts, loss.end().unwrap());
    for slice in trace.slices.iter().filter(|slice| !trace.path(slice.track).ends_with("Losses")) {
        assert!(slice.end().unwrap() <= start || slice.ts >= end, "{} crosses the gap", slice.name);
    }
    let out = posts(&trace);
    for slice in trace.slices.iter().filter(|slice| slice.ts >= end) {
        assert!(slice.flows_in.iter().all(|flow| out[flow] >= end), "a flow crosses the gap");
    }
}

#[test]
fn counters_and_clock_are_as_given() {
    let subject = Subject::new("qs").with_text("qs-counter", "LOAD:0").with_text("qs-tick-hz", "100");
    let capture = generated(100_000, 23, Damage::None);
    let conversion = subject.convert(&capture, Cut::WHOLE);
    let (rate, source) = conversion.summary.facts.clock.expect("it is reported");
    assert!((rate.hz() / 4_000_000.0 - 1.0).abs() < 0.001 && source.contains("measured"), "{} Hz, {source}", rate.hz());
    let trace = conversion.read();
    let counter = trace.counters.iter().find(|(track, _)| trace.path(**track).ends_with("LOAD:0")).expect("it is drawn");
    let loads: Vec<i64> = records(&capture)
        .iter()
        .filter(|seen| seen.record == "USER" && seen.fields.get("name").is_some_and(|name| name == "LOAD"))
        .map(|seen| seen.get("v0").parse().unwrap())
        .collect();
    assert_eq!(counter.1.iter().map(|value| value.1).collect::<Vec<_>>(), loads);
}

#[test]
fn without_target_info_the_other_records_are_still_read() {
    let whole = generated(40_000, 24, Damage::None);
    // After the start, where the target sends its description.
    let capture = captures::frames(&whole)[60..].concat();
    let conversion = Subject::new("qs").convert(&capture, Cut::WHOLE);
    assert!(!conversion.summary.ledger.has_losses(), "{:?}", conversion.summary.ledger);
    let details = &conversion.summary.facts.details;
    let sizes = details.iter().find(|detail| detail.name == "sizes").expect("they are reported");
    assert_eq!((sizes.value.as_str(), sizes.source.as_str()), ("T4O4F4S2E2Q1P2C4", "inferred from the records"));
    // Records of the same lengths were sent by older versions, too.
    let version = details.iter().find(|detail| detail.name == "QP version").expect("it is reported");
    let because = "inferred from the records, which fit other versions from 5.4.0 to 8.1.5 as well";
    assert_eq!((version.value.as_str(), version.source.as_str()), ("7.4.0", because));
    let trace = conversion.read();
    assert!(slices(&trace, "/steps").iter().any(|(path, _)| path.contains("/0x20000E08/")));
    // A dictionary file has its names.
    let dictionary = b"-v812\nObj-Dic:\n4\n0x20000E08 Philo_inst[0]\n***\n";
    let conversion = Subject::new("qs").with_file("qs-dict", "a.dic", *dictionary).convert(&capture, Cut::WHOLE);
    let version = conversion.summary.facts.details.iter().find(|detail| detail.name == "QP version").expect("it is reported");
    assert_eq!((version.value.as_str(), version.source.as_str()), ("8.1.2", "given by an option: the dictionary file"));
    assert!(slices(&conversion.read(), "/steps").iter().any(|(path, _)| path.contains("/Philo_inst[0]/")));
}

#[test]
fn records_with_long_texts_fit_the_sizes_too() {
    let (mut target, mut capture) = (captures::encoder(Config::new(Sizes::default(), 740)), Vec::new());
    for number in 0..40u64 {
        target.numbers(Kind::Dispatch, &[number * 100, 5, 0x200, 0x1000], &mut capture);
        let text = [&[8][..], &vec![b'x'; 30 + number as usize], &[0]].concat();
        target.with_id(Kind::User, 100, &[Value::Uint(number * 100 + 10), Value::Bytes(&text)], &mut capture);
    }
    let details = Subject::new("qs").convert(&capture, Cut::SMALL).summary.facts.details;
    let fitting = details.iter().find(|detail| detail.name == "records that fit the sizes").expect("they are counted");
    assert_eq!(fitting.value, "80 of 80");
}

/// The program names what no dictionary does: a variable, a part of one, and a function by its pointer, which says "Thumb".
#[test]
fn objects_and_functions_are_named_by_the_program() {
    let config = Config::new(Sizes::default(), 721);
    let (mut capture, mut target) = (Vec::new(), captures::encoder(config));
    target.record(Kind::TargetInfo, &[Value::Bytes(&captures::info(true, config))], &mut capture);
    target.record(Kind::ObjDict, &[Value::Uint(0xE8), Value::Bytes(b"recorded")], &mut capture);
    for object in [0x2000_0000, 0x2000_0002, 0x3000_0000, 0xE8, 0] {
        target.numbers(Kind::StateEntry, &[object, 0x5D], &mut capture);
    }
    assert_eq!(entered(&Subject::new("qs"), &capture)[0], ("0x20000000".to_owned(), "0x0000005D".to_owned()));
    let subject = with_program();
    let objects = ["pump_ticks", "pump_ticks+0x2", "0x30000000", "recorded", "NULL"];
    assert_eq!(entered(&subject, &capture), objects.map(|object| (object.to_owned(), "pump_read".to_owned())));
    let details = subject.convert(&capture, Cut::WHOLE).summary.facts.details;
    assert!(details.iter().any(|detail| detail.name == "program" && detail.value == "pump.elf"));
}

/// With the program of the symbols' tests.
fn with_program() -> Subject {
    let path = format!("{}/testdata/symbols/pump.elf", env!("CARGO_MANIFEST_DIR"));
    Subject::new("qs").with_file("elf", "pump.elf", std::fs::read(path).expect("the program is there"))
}

/// The objects and states of all entries.
fn entered(subject: &Subject, capture: &[u8]) -> Vec<(String, String)> {
    let mut all = Vec::new();
    subject.each_record(capture, Cut::WHOLE, |view| {
        let seen = Seen::of(view);
        all.extend((seen.record == "QEP_STATE_ENTRY").then(|| (seen.get("obj").to_owned(), seen.get("state").to_owned())));
    });
    all
}

/// A program in which recorded names are elsewhere names nothing, in the session that contradicts it; one without recorded names is judged by the
/// others.
#[test]
fn another_program_than_the_one_that_ran_names_nothing() {
    let config = Config::new(Sizes::default(), 721);
    let (mut capture, mut target) = (Vec::new(), captures::encoder(config));
    let mut session = |functions: &[(u64, &str)]| {
        target.record(Kind::TargetInfo, &[Value::Bytes(&captures::info(true, config))], &mut capture);
        for &(address, name) in functions {
            target.record(Kind::FunDict, &[Value::Uint(address), Value::Bytes(name.as_bytes())], &mut capture);
        }
        target.numbers(Kind::StateEntry, &[0x2000_0000, 0x81], &mut capture);
        std::mem::take(&mut capture)
    };
    // Pointers that say "Thumb" or not, an expression, a name without its namespace and parameters.
    let fits = session(&[(0x5D, "pump_read"), (0x90, "(QHandler)Reset_Handler"), (0xAC, "Valve::clamp"), (0xA1, "hidden")]);
    let moved = session(&[(0x5D, "pump_read"), (0x61, "pump_step")]);
    let renamed = session(&[(0x5D, "pump_write")]);
    let silent = session(&[]);
    // The sessions, of which the program is used, and what is said of it.
    type Case<'a> = (&'a [&'a Vec<u8>], &'a [bool], &'a str);
    let cases: [Case<'_>; 6] = [
        (&[&fits], &[true], ""),
        (&[&silent], &[true], ""),
        (
            &[&moved],
            &[false],
            "1 of 2 named functions are not at these addresses in it, such as pump_step. Its names are not used.",
        ),
        (&[&renamed], &[false], "1 of 1 named functions"),
        (&[&silent, &moved], &[false, false], "Its names are not used."),
        (&[&fits, &moved], &[true, false], "Its names are not used in 1 of 2 sessions."),
    ];
    let subject = with_program();
    let strict = with_program().with("require-elf-match", OptionValue::Flag);
    for (sessions, named, hint) in cases {
        let capture = sessions.iter().copied().flatten().copied().collect::<Vec<u8>>();
        let object = |is_named: &bool| if *is_named { "pump_ticks" } else { "0x20000000" };
        let objects: Vec<String> = entered(&subject, &capture).into_iter().map(|entry| entry.0).collect();
        assert_eq!(objects, named.iter().map(object).collect::<Vec<_>>(), "{hint}");
        let hints = subject.convert(&capture, Cut::WHOLE).summary.facts.hints.join("\n");
        assert_eq!(hints.contains("another build"), !hint.is_empty(), "{hints}");
        assert!(hints.contains(hint), "{hints}");
        let source = Source::new(&capture, strict.format).options(strict.options.clone());
        let result = pipeline::convert(&[source], &options(Cut::WHOLE), &mut Vec::new(), &mut |_| true);
        assert_eq!(matches!(result, Err(ConvertError::Refused(_))), sessions != [&fits], "{hint}");
    }
}

/// Without recorded names, a program that has few of the states' functions is said to be another one.
#[test]
fn a_program_without_the_states_may_be_another_one() {
    let config = Config::new(Sizes::default(), 721);
    let (mut capture, mut target) = (Vec::new(), captures::encoder(config));
    target.record(Kind::TargetInfo, &[Value::Bytes(&captures::info(true, config))], &mut capture);
    target.numbers(Kind::TimeDisarmAttempt, &[200, 0x300, 0x2000_0000, 0], &mut capture);
    for state in [0x5D, 0x65, 0x71] {
        target.numbers(Kind::StateEntry, &[0x2000_0000, state], &mut capture);
    }
    let hints = with_program().convert(&capture, Cut::WHOLE).summary.facts.hints;
    assert!(hints.iter().any(|hint| hint.starts_with("The program has only 1 of 3 addresses in the recording")), "{hints:?}");
}

#[test]
fn a_session_has_its_own_process_and_names() {
    let capture = captures::all().into_iter().find(|capture| capture.name == "two_sessions").unwrap();
    let conversion = Subject::new("qs").convert(&capture.bytes, Cut::WHOLE);
    assert_eq!(conversion.summary.facts.sessions, 2);
    let trace = conversion.read();
    let paths: Vec<String> = trace.tracks.keys().map(|&track| trace.path(track)).collect();
    assert!(paths.iter().any(|path| path.contains("QP/C 8.1.2") && path.contains("Table_inst")), "{paths:?}");
    assert!(paths.iter().any(|path| path.contains("7.2.1 (session 2)") && path.contains("Blinky")), "{paths:?}");
    let first_end = slices(&trace, "/state").iter().filter(|(path, _)| path.contains("Table_inst")).map(|(_, s)| s.end()).max();
    let blinky = slices(&trace, "/steps").into_iter().find(|(path, _)| path.contains("Blinky")).unwrap().1.ts;
    assert!(first_end.flatten().unwrap() <= blinky);
}

/// The records of a capture that have a time, and the number of sessions. Nothing may be held or replaced, or, if it is `certain`, ambiguous.
fn times(capture: &[u8], certain: bool) -> (Vec<u64>, u32) {
    let ledger = Subject::new("qs").convert(capture, Cut::WHOLE).summary.ledger;
    let kinds = ["time_held", "time_outlier", if certain { "time_ambiguous" } else { "" }];
    assert!(!ledger.entries().iter().any(|entry| kinds.contains(&entry.kind.code)), "{ledger:?}");
    let sessions = Subject::new("qs").convert(capture, Cut::WHOLE).summary.facts.sessions;
    (records(capture).iter().filter_map(|seen| seen.nanos).collect(), sessions)
}

#[test]
fn a_reset_is_seen_where_the_target_information_is_lost() {
    let before = without_frames(&generated(60_000, 25, Damage::None), 2_500..usize::MAX);
    let after = generated(60_000, 26, Damage::None);
    let length = |times: &[u64]| times[times.len() - 1] - times[0];
    let first = length(&times(&before, true).0);
    // Up to within TARGET_INFO, up to within the names, and up to records long after the start.
    for gone in [9, 60, after.len() / 3] {
        let rest = &after[gone..];
        let capture = [&before, rest].concat();
        // Long after the start nothing but a break of the sequence speaks for a reset.
        let (all, sessions) = times(&capture, gone < 100);
        assert_eq!(sessions, 2, "without {gone} bytes");
        let second = without_frames(rest, 0..1);
        let expected = first + length(&times(&second, true).0);
        assert!(length(&all).abs_diff(expected) < 2_000_000, "without {gone} bytes: {} ns, not {expected}", length(&all));
        let ledger = Subject::new("qs").convert(&capture, Cut::WHOLE).summary.ledger;
        assert!(ledger.at_least_lost() <= 2, "without {gone} bytes: {ledger:?}");
    }
}

#[test]
fn a_program_that_records_the_same_after_each_reset_is_no_copy() {
    let boot = generated(30_000, 27, Damage::None);
    let (one, _) = times(&boot, true);
    let (both, sessions) = times(&[&boot[..], &boot].concat(), true);
    assert_eq!(sessions, 2);
    let (first, second) = both.split_at(one.len());
    assert_eq!(first, one);
    assert!(second.iter().map(|time| time - second[0]).eq(one.iter().map(|time| time - one[0])));
}

#[test]
fn ticks_measure_a_silence_of_several_wraps() {
    const UNITS: u64 = 100_000;
    let (mut target, mut capture) = captures::after_reset(Config::new(Sizes::default(), 812));
    // The target's filter is closed for 100 000 ticks.
    for tick in (1..=300).chain(100_301..=100_600) {
        target.numbers(Kind::Tick, &[tick, 0], &mut capture);
        let time = (tick * UNITS + tick % 7 * 13) % (1 << 32);
        target.numbers(Kind::Dispatch, &[time, 5, 0x200, 0x1000], &mut capture);
        target.numbers(Kind::InternTran, &[time + 50, 5, 0x200, 0x1000], &mut capture);
    }
    let (all, sessions) = times(&capture, true);
    let ticks = (all[all.len() - 1] - all[0]) as f64 / 1000.0 / UNITS as f64;
    assert!(sessions == 1 && (ticks - 100_599.0).abs() < 0.01, "{ticks} ticks");
}

/// How many frames there are for each clock tick of [`ticking`].
const FRAMES_OF_TICK: usize = 9;

/// A target whose clock ticks every 1000 units. After each tick there are some records; `is_lost` says whether the frame of this number, from
/// the first tick on, is lost. Also the times of the others.
fn ticking(time_width: u8, ticks: std::ops::Range<u64>, is_lost: impl Fn(usize) -> bool) -> (Vec<u8>, Vec<u64>) {
    let config = Config::new(Sizes { time: time_width, ..Sizes::default() }, 812);
    let ((mut target, mut capture), mut all) = (captures::after_reset(config), Vec::new());
    let mut number = 0;
    for tick in ticks {
        for place in 0..FRAMES_OF_TICK as u64 {
            let before = capture.len();
            let time = 500 + tick * 1000 + place * 5;
            let stamp = time % (1 << (8 * u32::from(time_width)));
            match place {
                0 => target.numbers(Kind::Tick, &[tick, 0], &mut capture),
                _ => target.numbers(Kind::Dispatch, &[stamp, 5, 0x200, 0x1000], &mut capture),
            };
            if is_lost(number) {
                capture.truncate(before);
            } else if place > 0 {
                all.push(time * 1000);
            }
            number += 1;
        }
    }
    (capture, all)
}

#[test]
fn stamps_are_right_although_clock_ticks_are_lost() {
    // Between two gaps there are a few records without a tick.
    for few in [1, 2, 5] {
        let [first, second, end] = [31 * FRAMES_OF_TICK + 2, 34 * FRAMES_OF_TICK + 3, 37 * FRAMES_OF_TICK];
        let (capture, expected) =
            ticking(4, 0..64, |number| (first..end).contains(&number) && !(second..second + few).contains(&number));
        assert_eq!(times(&capture, true), (expected, 1), "{few} records");
    }
    // The counter wraps, once and more often, while ticks are lost.
    for lost in [65, 99] {
        let gap = 101 * FRAMES_OF_TICK..(101 + lost) * FRAMES_OF_TICK + 3;
        let (capture, expected) = ticking(2, 0..400, |number| gap.contains(&number));
        assert_eq!(times(&capture, true), (expected, 1), "{lost} ticks");
    }
}

#[test]
fn a_count_of_ticks_says_nothing_of_the_time_before_the_recording() {
    for first in [3, 40, 5000] {
        let (capture, expected) = ticking(2, 0..first + 100, |number| number < first as usize * FRAMES_OF_TICK + 1);
        // Without the reset.
        let capture = captures::frames(&capture)[2..].concat();
        let mut seen = Vec::new();
        Subject::new("qs").with_text("qs-sizes", "T2").each_record(&capture, Cut::WHOLE, |view| seen.extend(view.nanos));
        assert!(seen.iter().map(|time| time - seen[0]).eq(expected.iter().map(|time| time - expected[0])), "{first}: {seen:?}");
    }
}

#[test]
fn names_that_the_target_did_not_escape_are_used() {
    let (mut target, mut capture) = captures::after_reset(small_config());
    // Its number is used.
    target.numbers(Kind::Run, &[], &mut Vec::new());
    let mut name = b"\x03\x3D\x00\x02up~down}\0".to_vec();
    name.push(!name.iter().fold(0, |sum: u8, &byte| sum.wrapping_add(byte)));
    capture.extend(name);
    capture.push(0x7E);
    for number in 0..9 {
        target.numbers(Kind::Dispatch, &[number * 100, 5, 0x200, 0x1000], &mut capture);
        target.numbers(Kind::InternTran, &[number * 100 + 10, 5, 0x200, 0x1000], &mut capture);
    }
    let conversion = Subject::new("qs").convert(&capture, Cut::WHOLE);
    assert!(!conversion.summary.ledger.has_losses(), "{:?}", conversion.summary.ledger);
    let steps: Vec<String> = slices(&conversion.read(), "/steps").into_iter().map(|(path, _)| path).collect();
    assert!(steps.len() == 9 && steps.iter().all(|path| path.contains("up~down}")), "{steps:?}");
    let objects: Vec<String> = records(&capture).iter().map(|seen| seen.get("obj").to_owned()).collect();
    assert_eq!(objects.iter().filter(|object| *object == "up~down}").count(), 18, "{objects:?}");
}

#[test]
fn a_piece_with_names_that_is_there_twice_is_a_copy() {
    let whole = generated(20_000, 28, Damage::None);
    // All of it is in the start-up, which sends names.
    for (start, len) in [(60, 200), (100, 400), (300, 130)] {
        let mut capture = whole.clone();
        capture.splice(start + len..start + len, whole[start..start + len].iter().copied());
        let summary = Subject::new("qs").convert(&capture, Cut::WHOLE).summary;
        let seen = (summary.ledger.at_least_lost(), summary.facts.sessions);
        assert_eq!(seen, (0, 1), "{len} bytes from {start}: {:?}", summary.ledger);
    }
}

#[test]
fn the_number_of_a_frame_that_damage_makes_up_says_nothing() {
    let whole = generated(20_000, 29, Damage::None);
    let frames = captures::frames(&whole);
    // The end of a frame, with a checksum that fits by chance: no record has this length.
    let made_up = [0x00, 0x11, 0x22, 0xCC, 0x7E];
    let capture = [&frames[..200].concat()[..], &made_up, &frames[210..].concat()].concat();
    let ledger = Subject::new("qs").convert(&capture, Cut::WHOLE).summary.ledger;
    assert!(ledger.at_least_lost() == 10 && ledger.entries().iter().any(|entry| entry.kind.code == "wrong_length"), "{ledger:?}");
}

/// Names of signals are those of the active object, not of the time event.
#[test]
fn a_time_event_armed_before_the_recording_has_the_signal_of_its_active_object() {
    const AO: u64 = 0x2000_0100;
    let (mut target, mut capture) = captures::after_reset(Config::new(Sizes::default(), 740));
    target.record(Kind::SigDict, &[Value::Uint(10), Value::Uint(AO), Value::Bytes(b"TIMEOUT_SIG")], &mut capture);
    target.numbers(Kind::TimePost, &[1_000, 0x2000_0120, 10, AO, 0], &mut capture);
    let trace = Subject::new("qs").convert(&capture, Cut::WHOLE).read();
    assert!(trace.instants.iter().any(|instant| instant.name == "TIMEOUT_SIG"), "{:?}", trace.instants);
}

/// A target with application records that have no names.
fn unnamed_records(records: &[(u8, &[u8])]) -> Vec<u8> {
    let (mut target, mut capture) = captures::after_reset(Config::new(Sizes::default(), 740));
    for (number, (id, data)) in records.iter().enumerate() {
        target.with_id(Kind::User, *id, &[Value::Uint(1_000 + number as u64), Value::Bytes(data)], &mut capture);
    }
    capture
}

#[test]
fn counters_of_unnamed_records_are_called_as_their_tracks() {
    const U64: u8 = 14;
    let element = |value: u64| [&[U64][..], &value.to_le_bytes()].concat();
    let (small, large) = (element(5), element(u64::MAX));
    let capture = unnamed_records(&[(100, &small), (103, &small), (103, &large)]);
    let subject = ["100:0", "USER+003:0"].iter().fold(Subject::new("qs"), |subject, text| subject.with_text("qs-counter", text));
    let conversion = subject.convert(&capture, Cut::WHOLE);
    assert!(conversion.summary.facts.hints.iter().all(|hint| !hint.contains("--qs-counter")));
    let trace = conversion.read();
    let paths = |tracks: Vec<u64>| tracks.into_iter().map(|track| trace.path(track)).collect::<Vec<_>>();
    let counters = paths(trace.counters.keys().copied().collect());
    assert!(counters[0].ends_with("/USER+000:0") && counters[1].ends_with("/USER+003:0"), "{counters:?}");
    // More than a signed number holds.
    let large: Vec<f64> = trace.float_counters.values().flatten().map(|value| value.1).collect();
    assert_eq!(large, [u64::MAX as f64]);
}

#[test]
fn all_elements_of_a_long_record_are_shown() {
    let data: Vec<u8> = (0..250u8).flat_map(|value| [1, value]).collect();
    let trace = Subject::new("qs").convert(&unnamed_records(&[(100, &data)]), Cut::WHOLE).read();
    let shown = trace.instants.iter().find(|instant| instant.name == "USER+000").expect("it is drawn");
    assert_eq!((shown.args.len(), shown.args.get("v249")), (250, Some(&Arg::Uint(249))));
}

#[test]
fn options_that_the_records_contradict_are_named() {
    let whole = generated(40_000, 24, Damage::None);
    let facts_of = |subject: Subject, capture: &[u8]| subject.convert(capture, Cut::WHOLE).summary.facts;
    // Without the target's description.
    let capture = captures::frames(&whole)[60..].concat();
    let facts = facts_of(Subject::new("qs").with_text("qs-sizes", "F8"), &capture);
    let fit = facts.details.iter().find(|detail| detail.name == "records that fit the sizes").expect("it is reported");
    let [fitting, all] =
        [0, 2].map(|word| fit.value.split(' ').nth(word).and_then(|count| count.parse::<u64>().ok()).expect("a count"));
    assert!(fitting < all, "{}", fit.value);
    let hint = facts.hints.iter().find(|hint| hint.contains("not fit the records")).expect("it is said");
    assert!(hint.contains("T4O4F8S2E2Q1P2B2C4") && hint.ends_with(" and T4O4F4S2E2Q1P2B2C4."), "{hint}");
    assert!(facts_of(Subject::new("qs"), &capture).hints.iter().all(|hint| !hint.contains("not fit the records")));
    // With it, a dictionary of another build.
    let dictionary = |text: &'static str| Subject::new("qs").with_file("qs-dict", "a.dic", text.as_bytes());
    let is_said =
        |facts: &traceconv::format::Facts| facts.hints.iter().any(|hint| hint.contains("dictionary file has another version"));
    assert!(is_said(&facts_of(dictionary("-v740\nObj-Dic:\n4\n0x20000E08 a\n***\n"), &whole)));
    assert!(is_said(&facts_of(dictionary("-Q4\nObj-Dic:\n4\n0x20000E08 a\n***\n"), &whole)));
    assert!(!is_said(&facts_of(dictionary("-v812 -Q1\nObj-Dic:\n4\n0x20000E08 a\n***\n"), &whole)));
}

#[test]
fn a_test_probe_names_its_function() {
    const FUNCTION: u64 = 0x0800_0200;
    let (mut target, mut capture) = captures::after_reset(Config::new(Sizes::default(), 740));
    target.record(Kind::FunDict, &[Value::Uint(FUNCTION), Value::Bytes(b"BSP_read")], &mut capture);
    target.numbers(Kind::TestProbeGet, &[1_000, FUNCTION, 17], &mut capture);
    let trace = Subject::new("qs").convert(&capture, Cut::WHOLE).read();
    let probe = trace.instants.iter().find(|instant| instant.name == "test probe").expect("it is drawn");
    assert_eq!((text(probe.args.get("function")), probe.args.get("data")), ("BSP_read".to_owned(), Some(&Arg::Uint(17))));
}

/// The target's answers to questions of the host have their data.
#[test]
fn answers_of_the_target_are_drawn_with_their_data() {
    let config = Config::new(Sizes::default(), 740);
    let (mut target, mut capture) = captures::after_reset(config);
    let pool = [&0x2000_0080u32.to_le_bytes()[..], &[3, 0, 2, 0]].concat();
    for number in 0..9 {
        target.numbers(Kind::Dispatch, &[number * 100, 5, 0x200, 0x1000], &mut capture);
        target.numbers(Kind::InternTran, &[number * 100 + 10, 5, 0x200, 0x1000], &mut capture);
    }
    target.record(Kind::QueryData, &[Value::Uint(1000), Value::Uint(2), Value::Bytes(&pool)], &mut capture);
    let peeked = [Value::Uint(1010), Value::Uint(8), Value::Uint(2), Value::Uint(2), Value::Bytes(&[1, 0xAB, 2, 0])];
    target.record(Kind::PeekData, &peeked, &mut capture);
    let trace = Subject::new("qs").convert(&capture, Cut::WHOLE).read();
    let args = |name: &str| &trace.instants.iter().find(|instant| instant.name == name).expect("it is drawn").args;
    let numbers = |name: &str, of: [&str; 3]| {
        of.map(|arg| match args(name).get(arg) {
            Some(Arg::Uint(value)) => Some(*value),
            _ => None,
        })
    };
    assert_eq!(numbers("query data", ["query", "free", "min"]), [Some(2), Some(3), Some(2)]);
    assert_eq!(numbers("peek data", ["memory_offset", "size", "items"]), [Some(8), Some(2), Some(2)]);
    assert_eq!(text(args("query data").get("obj")), "0x20000080");
    assert_eq!(text(args("peek data").get("data")), "01 AB 02 00");
}
