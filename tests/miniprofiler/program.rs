//! With the program that ran: names, places in the source, interrupts by the vector table, and whether it is the right program.
//!
//! The program is `testdata/symbols/pump.elf`; its addresses are those of `pump.symbols.csv` there.

use std::path::Path;
use std::sync::Arc;

use traceconv::format::miniprofiler::encode;
use traceconv::format::miniprofiler::record::{Metadata, Reading};
use traceconv::format::{FormatOptions, OptionValue};
use traceconv::pipeline::{self, ConvertError, Source};
use traceconv::symbols::{Checksum, Symbols};

use crate::common::run::Subject;
use crate::reader::{Arg, Trace};
use crate::run::{Cut, Random, capture, options, subject};

fn program() -> Arc<[u8]> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/symbols/pump.elf");
    std::fs::read(path).expect("the program is there").into()
}

fn with_program(flags: &[&'static str]) -> Subject {
    let mut subject = subject();
    subject.options.own.push(("elf", OptionValue::File { path: "pump.elf".into(), bytes: program() }));
    subject.options.own.extend(flags.iter().map(|&flag| (flag, OptionValue::Flag)));
    subject
}

fn metadata(build_id: u32) -> Vec<u8> {
    let mut bytes = Vec::new();
    let metadata = Metadata { mcu_clock_hz: 48_000_000, timer_hz: 1_000_000, build_id, fw_version: [0; 16] };
    encode::metadata(Reading::HOST, &metadata, &mut bytes);
    bytes
}

const CLAMP: u32 = 0xAD;
const PUMP_STEP: u32 = 0xBD;
const PUMP_READ: u32 = 0x5D;
const INSIDE_PUMP_READ: u32 = 0x6B;
const SYS_TICK: u32 = 0x49;
const PUMP_INTERRUPT: u32 = 0x81;
const LAMBDA: u32 = 0xA9;
const NOWHERE: u32 = 0x0900_0001;

fn slice(trace: &Trace, begin_us: u64, end_us: u64) -> &crate::reader::Slice {
    let found = trace.slices.iter().find(|slice| (slice.ts, slice.end()) == (begin_us * 1000, Some(end_us * 1000)));
    found.unwrap_or_else(|| panic!("no slice from {begin_us} to {end_us} µs"))
}

#[test]
fn functions_have_names_and_places_and_interrupts_tracks() {
    let calls = [
        (LAMBDA, 12, 1, 3),
        (PUMP_STEP, 11, 4, 2),
        (PUMP_INTERRUPT, 10, 8, 1),
        (PUMP_READ, 5, 20, 0),
        (SYS_TICK, 32, 1, 1),
        (INSIDE_PUMP_READ, 30, 5, 0),
        (NOWHERE, 40, 1, 0),
    ];
    let trace = with_program(&[]).convert(&[metadata(0), capture(&calls, 20)].concat(), Cut::WHOLE).read();
    let expected = [
        (5, 25, "CPU", "pump_read", "pump.c:19"),
        (10, 18, "Interrupts/Pump_IRQHandler", "Pump_IRQHandler", "pump.c:30"),
        (11, 15, "Interrupts/Pump_IRQHandler", "pump_step", "valve.cpp:33"),
        (30, 35, "CPU", "pump_read", "pump.c:19"),
        (32, 33, "Interrupts/SysTick_Handler", "SysTick_Handler", "pump.c:25"),
    ];
    for (begin_us, end_us, track, name, place) in expected {
        let slice = slice(&trace, begin_us, end_us);
        assert_eq!(slice.name, name);
        assert_eq!(trace.path(slice.track), format!("firmware/{track}"), "{name}");
        let Some(Arg::Text(source)) = slice.arg("source_location") else { panic!("{name} has no place: {:?}", slice.args) };
        assert!(source.contains(place), "{name} is in {source}");
    }
    let source = slice(&trace, 5, 25).arg("source_location");
    assert!(matches!(source, Some(Arg::Text(source)) if source.contains("at 0x0000005C")), "{source:?}");
    assert!(slice(&trace, 12, 13).name.starts_with("pump_step::{lambda(int)#1}::operator()(int) const"));
    let unknown = slice(&trace, 40, 41);
    assert_eq!((unknown.name.as_str(), unknown.arg("source_location")), ("0x09000000", None));
}

/// A function is one, however many places it is inlined in.
#[test]
fn an_inlined_function_has_one_row_in_the_statistics() {
    let symbols = Symbols::parse(&program(), Some(32)).expect("it has symbols");
    let is_inlined = |address: &u32| symbols.hooked_function(u64::from(*address)).is_some_and(|found| found.name == "scaled");
    let places: Vec<u32> = (0x5C..0x78).step_by(2).map(|address| address | 1).filter(is_inlined).collect();
    assert!(places.len() > 1, "{places:?}");
    let calls: Vec<(u32, u32, u32, u16)> = (0..).zip(&places).map(|(number, &at)| (at, number * 10, 4, 0)).collect();
    let Subject { format, options: own } = with_program(&[]);
    let bytes = [metadata(0), capture(&calls, 20)].concat();
    let source = Source::new(&bytes, format).options(own);
    let gathered = pipeline::statistics(&[source], &options(Cut::WHOLE), false, &mut |_| true).expect("it is no error");
    let rows: Vec<_> = gathered.statistics.functions.iter().map(|row| (row.name.as_str(), row.calls.count)).collect();
    assert_eq!(rows, [("scaled", places.len() as u64)]);
}

#[test]
fn the_build_id_says_whether_it_is_the_program_that_ran() {
    let symbols = Symbols::parse(&program(), Some(32)).expect("it has symbols");
    let text = symbols.text_section().expect("it has code");
    let described = |build_id: Option<u32>| {
        let metadata = build_id.map(metadata).unwrap_or_default();
        let bytes = [metadata, capture(&[(PUMP_STEP, 1, 2, 0)], 20)].concat();
        let facts = with_program(&[]).convert(&bytes, Cut::WHOLE).summary.facts;
        let detail = facts.details.into_iter().find(|detail| detail.name == "program").expect("it is reported");
        assert_eq!(detail.source, "pump.elf");
        (detail.value, facts.hints.join("\n"))
    };
    for checksum in Checksum::ALL {
        let (value, hints) = described(Some(checksum.of(text)));
        assert_eq!(value, format!("the one that ran: its {} is the build id", checksum.name()));
        assert!(!hints.contains("another build"), "{hints}");
    }
    let (value, hints) = described(Some(0x1357_9BDF));
    assert_eq!(value, "perhaps another build: no checksum of its code is the build id");
    assert!(hints.contains("pump.elf may be another build") && hints.contains("0x13579BDF"), "{hints}");
    for none in [Some(0), Some(0xDEAD_BEEF), None] {
        let (value, hints) = described(none);
        assert!(value.starts_with("unchecked: ") && !hints.contains("another build"), "{value} {hints}");
    }
}

#[test]
fn a_match_may_be_required() {
    let symbols = Symbols::parse(&program(), Some(32)).expect("it has symbols");
    let build_id = Checksum::Stm32Words.of(symbols.text_section().expect("it has code"));
    let convert = |build_id: u32| {
        let Subject { format, options: own } = with_program(&["require-elf-match"]);
        let bytes = [metadata(build_id), capture(&[(PUMP_STEP, 1, 2, 0)], 20)].concat();
        let source = Source::new(&bytes, format).options(own);
        pipeline::convert(&[source], &options(Cut::WHOLE), &mut Vec::new(), &mut |_| true).map(|_| ())
    };
    convert(build_id).expect("it is the right program");
    for wrong in [build_id ^ 1, 0] {
        match convert(wrong) {
            Err(ConvertError::Refused(why)) => assert!(why.contains("pump.elf is not known to be the program that ran"), "{why}"),
            other => panic!("{other:?}"),
        }
    }
    let own = vec![("require-elf-match", OptionValue::Flag)];
    let refused =
        subject().format.open(&[FormatOptions { own, ..FormatOptions::default() }]).err().map(|error| error.to_string());
    assert_eq!(refused.as_deref(), Some("--require-elf-match: no program is given; name it with --elf FILE"));
}

#[test]
fn an_invalid_program_is_refused_with_a_reason() {
    let open = |bytes: &[u8]| {
        let file = OptionValue::File { path: "it.elf".into(), bytes: bytes.into() };
        let options = FormatOptions { own: vec![("elf", file)], ..FormatOptions::default() };
        subject().format.open(&[options]).err().map(|error| error.to_string())
    };
    let why = open(b"no program").expect("refused");
    assert!(why.contains("--elf: `it.elf` is not an ELF file"), "{why}");
    let stripped = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/symbols/pump_stripped.elf");
    let why = open(&std::fs::read(stripped).expect("it is there")).expect("refused");
    assert!(why.contains("without symbols (stripped)"), "{why}");
    assert_eq!(open(&program()), None);
}

/// `testdata/demo/pump.bin`: the recording of the program. `TRACECONV_BLESS=1` writes it.
#[test]
fn the_demo_is_of_this_program() {
    let symbols = Symbols::parse(&program(), Some(32)).expect("it has symbols");
    let build_id = Checksum::Zlib.of(symbols.text_section().expect("it has code"));
    let mut fw_version = [0; 16];
    fw_version[..8].copy_from_slice(b"pump 1.4");
    let mut bytes = Vec::new();
    encode::answer(Reading::HOST, true, &mut bytes);
    let about = Metadata { mcu_clock_hz: 48_000_000, timer_hz: 1_000_000, build_id, fw_version };
    encode::metadata(Reading::HOST, &about, &mut bytes);

    // Calls are recorded when they end. The time goes on in the innermost one.
    let mut random = Random(7);
    let mut now = 1_000;
    let mut calls = Vec::new();
    for round in 0..60 {
        let (step, end) = (now, now + 40 + random.below(30) as u32);
        now += 3;
        calls.push((CLAMP, now, 2 + random.below(2) as u32, 1));
        now += 6;
        let read = now;
        now += 2;
        if round % 7 == 3 {
            let interrupt = now;
            calls.push((PUMP_READ, now + 2, 4, 3));
            now += 9;
            calls.push((PUMP_INTERRUPT, interrupt, now - interrupt, 2));
        }
        now += 5 + random.below(6) as u32;
        calls.push((PUMP_READ, read, now - read, 1));
        if round % 3 == 1 {
            calls.push((SYS_TICK, now + 1, 2, 1));
            now += 4;
        }
        calls.push((LAMBDA, now, 1, 1));
        now = end.max(now + 3);
        calls.push((PUMP_STEP, step, now - step, 0));
        now += 20 + random.below(60) as u32;
    }
    for packet in calls.chunks(20) {
        bytes.extend(capture(packet, 20));
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/demo/pump.bin");
    if std::env::var_os("TRACECONV_BLESS").is_some() {
        std::fs::write(&path, &bytes).unwrap();
    }
    assert!(std::fs::read(&path).unwrap_or_default() == bytes, "TRACECONV_BLESS=1 cargo test --test miniprofiler writes it");
}

#[test]
fn a_program_without_the_recorded_addresses_may_be_another_one() {
    let said = |moved: u32| {
        let calls = [PUMP_STEP, PUMP_READ, SYS_TICK].map(|address| (address + moved, 1, 2, 0));
        let facts = with_program(&[]).convert(&[metadata(0), capture(&calls, 20)].concat(), Cut::WHOLE).summary.facts;
        facts.hints.iter().any(|hint| hint.contains("only 0 of 3 addresses"))
    };
    assert!(said(0x0800_0000) && !said(0));
}
