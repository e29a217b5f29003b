//! The library as other programs use it: the example, and the API that versions promise to keep.

use std::borrow::Cow;
use std::fmt::{Debug, Display};
use std::io::Write;
use std::ops::Range;
use std::path::Path;

use protobuf::Message;
use traceconv::format::{FORMATS, Facts, Format, FormatOptions, OptionError, OptionKind, OptionSpec, OptionValue, RecordView};
use traceconv::input::detect::{DetectError, Detected, by_name, detect};
use traceconv::input::{Damage, Input, InputError, Layer, ReadOptions};
use traceconv::model::{Ledger, LedgerEntry, LossKind, Nanos, Rate, Severity};
use traceconv::pipeline::{
    ConvertError, Converted, EventDetail, Gathered, InputSummary, Options, Progress, Source, Surveyed, TimeBound,
};
use traceconv::report::{InputReport, LossReport, Report, TraceReport};
use traceconv::{Conversion, Error};

#[allow(dead_code)]
#[path = "../examples/convert_bytes.rs"]
mod convert_bytes;

fn demo(name: &str) -> Vec<u8> {
    std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/demo").join(name)).unwrap()
}

#[test]
fn the_example_converts_bytes() {
    let convert_bytes::Outcome { trace, report } = convert_bytes::convert("demo", demo("damaged.bin"), None).unwrap();
    assert_eq!((report.events, report.at_least_lost(), &*report.losses[0].kind), (2312, 1, "malformed_cobs"));
    assert_eq!((report.input_bytes, report.decoded_bytes + report.skipped_bytes), (20_012, 20_012));
    let trace = perfetto_protos::trace::Trace::parse_from_bytes(&trace).unwrap();
    assert!(trace.packet.len() > 1500, "{} packets", trace.packet.len());
    let clocked = convert_bytes::convert("demo", demo("damaged.bin"), Some(20_000_000)).unwrap();
    assert_eq!(clocked.report.clock.unwrap().hz, 20e6);
    assert!(convert_bytes::convert("demo", b"this is no capture".to_vec(), None).is_err());
}

#[test]
fn one_call_converts_a_capture() {
    let options = Options::default().firmware_name("demo").threads(1);
    let traceconv::Conversion { format, trace, summary, damages, .. } =
        traceconv::convert(demo("damaged.bin"), &options).unwrap();
    assert_eq!((format.name(), summary.events, damages.len()), ("tonbandgeraet", 2312, 0));
    assert_eq!(trace, convert_bytes::convert("demo", demo("damaged.bin"), None).unwrap().trace);
    assert!(matches!(traceconv::convert(b"this is not a capture".to_vec(), &options), Err(Error::Detect(_))));
}

#[test]
fn the_book_runs_the_example() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let chapter = std::fs::read_to_string(root.join("docs/library.md")).unwrap();
    let line =
        chapter.lines().find_map(|line| line.strip_prefix("cargo run --example convert_bytes -- ")).expect("the chapter runs it");
    let (from, to) = line.split_once(' ').unwrap();
    let dir = tempfile::tempdir().unwrap();
    let (from, to) = (root.join(from), dir.path().join(to));
    let arguments = [&from, &to].map(|path| path.to_str().unwrap().to_owned());
    convert_bytes::run(arguments.into_iter()).unwrap();
    assert_eq!(std::fs::read(to).unwrap(), convert_bytes::convert("firmware", std::fs::read(from).unwrap(), None).unwrap().trace);
    assert!(convert_bytes::run(std::iter::empty()).is_err());
}

/// Fails to compile when an item is removed or changed that programs rely on: functions with their exact types, fields with
/// theirs, variants, and traits. Items that are hidden from the documentation may change in any version.
#[test]
#[allow(clippy::type_complexity, reason = "the exact types are the subject of the test")]
fn the_surface_holds() {
    type Asked<'a> = &'a mut dyn FnMut(Progress) -> bool;
    let _: fn(&[Source<'_>], &Options, &mut (dyn Write + Send), Asked<'_>) -> Result<Converted, ConvertError> =
        traceconv::pipeline::convert;
    let _: fn(&[Source<'_>], &Options, bool, Asked<'_>) -> Result<Gathered, ConvertError> = traceconv::pipeline::statistics;
    let _: fn(&[Source<'_>], &Options, Asked<'_>) -> Result<Surveyed, ConvertError> = traceconv::pipeline::survey;
    let _: fn(&Source<'_>, &Options, &mut dyn FnMut(&RecordView<'_>) -> bool) -> Result<InputSummary, ConvertError> =
        traceconv::pipeline::dump;
    let _: fn(Vec<u8>, &Options) -> Result<Conversion, Error> = traceconv::convert;
    let _: fn(&[u8], &[Layer]) -> Result<Detected, DetectError> = detect;
    let _: fn(&str) -> Option<&'static dyn Format> = by_name;
    let _: fn(Vec<u8>, &ReadOptions) -> Result<Input, InputError> = Input::from_vec;
    let _: fn(&Path, &ReadOptions) -> Result<Input, InputError> = Input::open;
    let _: fn(&mut dyn std::io::Read, &ReadOptions) -> Result<Input, InputError> = Input::read;
    let _: fn(&Input) -> &[u8] = Input::bytes;
    let _: fn(&Input) -> &[Layer] = Input::layers;
    let _: fn(&Input) -> &[Damage] = Input::damages;
    let _: fn(&Input, Range<usize>) = Input::release;
    let _: fn(u64, u64) -> Option<Rate> = Rate::from_hz;
    let _: fn(String, Option<u16>) -> InputReport = InputReport::named;
    let _: fn(&mut InputReport, &Input) = InputReport::enter_input;
    let _: fn(&mut InputReport, &InputSummary) = InputReport::enter_summary;
    let _: fn(&InputReport) -> u64 = InputReport::at_least_lost;
    let _: fn(Vec<(TraceReport, Vec<InputReport>)>, f64) -> Report = Report::new;
    let _: fn(&Report) -> serde_json::Result<String> = Report::to_json;
    let _: fn(&InputReport, bool) -> String = traceconv::report::summary;
    let _: &[&dyn Format] = FORMATS;

    let options = Options::default()
        .firmware_name(String::new())
        .events(EventDetail::All)
        .from(TimeBound::Absolute(Nanos(1)))
        .to(TimeBound::AfterStart(Nanos(1)))
        .window_bytes(1usize)
        .threads(1usize)
        .attribute("", "");
    let _ = FormatOptions {
        clock: None::<Rate>,
        cores: Some(1u16),
        core: Some(0u16),
        own: vec![("elf", OptionValue::Text(options.firmware_name))],
    };
    let _: ReadOptions = ReadOptions::new().mmap(true).spool_dir(None).spool_after_bytes(1usize).max_decompressed_bytes(1u64);
    let OptionSpec { name: _, kind: OptionKind::Flag | OptionKind::Text(_) | OptionKind::File(_), repeatable: _, help: _ } =
        OptionSpec { name: "", kind: OptionKind::Flag, repeatable: false, help: "" };

    let Converted { inputs, output_bytes, warnings, .. } = Converted::default();
    let _: (Vec<InputSummary>, u64, Vec<String>) = (inputs, output_bytes, warnings);
    let InputSummary { ledger, events, first, last, facts, .. } = InputSummary::default();
    let _: (u64, Option<Nanos>, Option<Nanos>) = (events, first, last);
    let Facts { clock, system, cores, sessions, details: _, hints, .. } = facts;
    let _: (Option<(Rate, &str)>, Option<&str>, u16, u32, Vec<String>) = (clock, system, cores, sessions, hints);
    let Ledger { decoded_bytes, skipped_bytes, frames_ok, frames_bad, .. } = ledger;
    let _: [u64; 4] = [decoded_bytes, skipped_bytes, frames_ok, frames_bad];
    let _: fn(&Ledger) -> &[LedgerEntry] = Ledger::entries;
    let _ = |LedgerEntry { kind, count: _, first_offset: _, at_least_lost: _, .. }| {
        let kind: LossKind = kind;
        let _: [&'static str; 3] = [kind.code, kind.text, kind.advice];
        matches!(kind.severity, Severity::Loss | Severity::Repair)
    };
    let _ = |LossReport { kind, text, count, first_offset, at_least_lost, .. }| -> (Cow<'static, str>, Cow<'static, str>, u64, Option<u64>, u64) {
        (kind, text, count, first_offset, at_least_lost)
    };

    fn is_error<T: std::error::Error + Send + Sync + 'static>() {}
    fn is_plain<T: Debug + Clone + Send + Sync>() {}
    fn is_shown<T: Display>() {}
    let _ = |Conversion { format: _, trace: _, summary: _, damages: _, .. }| {};
    is_error::<Error>();
    is_error::<ConvertError>();
    is_error::<InputError>();
    is_error::<DetectError>();
    is_error::<OptionError>();
    is_shown::<OptionError>();
    is_plain::<Options>();
    is_plain::<FormatOptions>();
    is_plain::<InputReport>();
    is_plain::<Report>();
    is_plain::<Converted>();
}

/// This list decides which modules are in the documentation, and so part of the API.
#[test]
fn only_the_surface_is_documented() {
    let text = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("src/lib.rs")).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    let shown: Vec<&str> = lines
        .windows(2)
        .filter(|pair| pair[1].starts_with("pub mod ") && pair[0] != "#[doc(hidden)]")
        .map(|pair| pair[1])
        .collect();
    assert_eq!(
        shown,
        [
            "pub mod export;",
            "pub mod format;",
            "pub mod input;",
            "pub mod metrics;",
            "pub mod model;",
            "pub mod pipeline;",
            "pub mod report;",
            "pub mod stats;"
        ]
    );
}
