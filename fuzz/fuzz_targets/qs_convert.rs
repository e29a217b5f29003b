//! Bytes → a trace that an independent reader accepts, the same for windows of any size, with every byte accounted for. Also whole
//! records: the bytes between flags get a sequence number and a checksum, so that more than the framing is tried.

#![no_main]

use libfuzzer_sys::fuzz_target;
use traceconv::format::qs::frame;
use traceconv::format::{FORMATS, FormatOptions, OptionValue};
use traceconv::pipeline::{EventDetail, Options, Source, convert};

#[path = "../../tests/reader/mod.rs"]
mod reader;

fn run(input: &[u8], choice: u8, options: &Options) -> Vec<u8> {
    let format = FORMATS.iter().copied().find(|format| format.name() == "qs").expect("it is registered");
    let version = ["400", "583", "719", "812"][usize::from(choice & 3)];
    let mut own = vec![("qs-version", OptionValue::Text(version.into()))];
    if choice & 4 != 0 {
        own.push(("qs-events", OptionValue::Flag));
        own.push(("qs-sizes", OptionValue::Text("T1O2F2S1E1Q1P1C1".into())));
    }
    let source = Source::new(input, format).options(FormatOptions { own, ..FormatOptions::default() });
    let mut trace = Vec::new();
    let converted = convert(&[source], options, &mut trace, &mut |_| true).expect("damage is no error");
    let ledger = &converted.inputs[0].ledger;
    assert_eq!(ledger.decoded_bytes + ledger.skipped_bytes, input.len() as u64);
    assert_eq!(converted.output_bytes, trace.len() as u64);
    trace
}

/// The pieces between flags as sound frames.
fn framed(input: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    for (seq, piece) in input.split(|&byte| byte == frame::FLAG).enumerate() {
        if let Some((&id, data)) = piece.split_first() {
            frame::append(seq as u8, id % 125, data, &mut out);
        }
    }
    out
}

fuzz_target!(|input: &[u8]| {
    // The first byte says how to convert the others.
    let Some((&choice, input)) = input.split_first() else { return };
    let input = if choice & 8 != 0 { framed(input) } else { input.to_vec() };
    let events = if choice & 16 != 0 { EventDetail::All } else { EventDetail::Default };
    let options = |window_bytes| Options::default().threads(1).events(events).window_bytes(window_bytes);
    let whole = run(&input, choice, &options(1 << 20));
    assert!(run(&input, choice, &options(1 + usize::from(choice >> 5) * 16)) == whole, "windows change the trace");
    match reader::Trace::parse(&whole) {
        Ok(trace) => assert!(trace.unclosed.is_empty(), "slices without end"),
        Err(error) => panic!("the reader refuses the trace: {error}"),
    }
});
