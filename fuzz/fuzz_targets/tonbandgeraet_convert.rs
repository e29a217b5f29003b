//! Bytes → a trace that an independent reader accepts, the same for windows of any size, with every byte accounted for.

#![no_main]

use libfuzzer_sys::fuzz_target;
use traceconv::format::FORMATS;
use traceconv::pipeline::{EventDetail, Options, Source, convert};

#[path = "../../tests/reader/mod.rs"]
mod reader;

fn run(input: &[u8], options: &Options) -> Vec<u8> {
    let format = FORMATS.iter().copied().find(|format| format.name() == "tonbandgeraet").expect("it is registered");
    let source = Source::new(input, format);
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
    let events = [EventDetail::Default, EventDetail::All, EventDetail::Overview, EventDetail::Default][usize::from(choice >> 2 & 3)];
    let options = |window_bytes| Options::default().threads(1).events(events).window_bytes(window_bytes);
    let whole = run(input, &options(1 << 20));
    assert!(run(input, &options(16 + usize::from(choice >> 4))) == whole, "windows change the trace");
    match reader::Trace::parse(&whole) {
        Ok(trace) => assert!(trace.unclosed.is_empty(), "slices without end"),
        Err(error) => panic!("the reader refuses the trace: {error}"),
    }
});
