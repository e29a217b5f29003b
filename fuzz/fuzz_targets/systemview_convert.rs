//! Bytes → a trace that an independent reader accepts, the same for windows of any size, with every byte accounted for.

#![no_main]

use std::sync::Arc;

use libfuzzer_sys::fuzz_target;
use traceconv::format::systemview::encode::header;
use traceconv::format::systemview::packet::Reading;
use traceconv::format::{FORMATS, FormatOptions, OptionValue};
use traceconv::pipeline::{EventDetail, Options, Source, convert};

#[path = "../../tests/reader/mod.rs"]
mod reader;

fn run(input: &[u8], description: Option<&[u8]>, options: &Options) -> Vec<u8> {
    let format = FORMATS.iter().copied().find(|format| format.name() == "systemview").expect("it is registered");
    let file = |bytes: &[u8]| OptionValue::File { path: "x".into(), bytes: Arc::from(bytes) };
    let own = description.map(|bytes| ("systemview-desc", file(bytes))).into_iter().collect();
    let source = Source::new(input, format).options(FormatOptions { own, ..FormatOptions::default() });
    let mut trace = Vec::new();
    let converted = convert(&[source], options, &mut trace, &mut |_| true).expect("damage is no error");
    let ledger = &converted.inputs[0].ledger;
    assert_eq!(ledger.decoded_bytes + ledger.skipped_bytes, input.len() as u64);
    assert_eq!(converted.output_bytes, trace.len() as u64);
    trace
}

fuzz_target!(|input: &[u8]| {
    // The first byte says how to convert the others.
    let Some((&choice, input)) = input.split_first() else { return };
    let mut bytes = if choice & 1 != 0 { header(Reading::CoreBit).to_vec() } else { Vec::new() };
    bytes.extend(input);
    let description = (choice & 2 != 0).then_some(&b"NamedType T 0=a 1=b *=%u\n33 one x=%T y=%s\n34 two t=%t r=%I | Returns %T\n"[..]);
    let events = if choice & 4 != 0 { EventDetail::All } else { EventDetail::Default };
    let options = |window_bytes| Options::default().threads(1).events(events).window_bytes(window_bytes);
    let whole = run(&bytes, description, &options(1 << 20));
    assert!(run(&bytes, description, &options(16 + usize::from(choice >> 3))) == whole, "windows change the trace");
    match reader::Trace::parse(&whole) {
        Ok(trace) => assert!(trace.unclosed.is_empty(), "slices without end"),
        Err(error) => panic!("the reader refuses the trace: {error}"),
    }
});
