//! Bytes → a trace that an independent reader accepts, the same for windows of any size, with every byte accounted for.

#![no_main]

use libfuzzer_sys::fuzz_target;
use traceconv::format::{FORMATS, FormatOptions, OptionValue};
use traceconv::pipeline::{EventDetail, Options, Source, convert};

#[path = "../../tests/reader/mod.rs"]
mod reader;

fn run(input: &[u8], own: &[(&'static str, &str)], options: &Options) -> Vec<u8> {
    let format = FORMATS.iter().copied().find(|format| format.name() == "itm").expect("it is registered");
    let own = own.iter().map(|(name, value)| (*name, OptionValue::Text((*value).to_owned()))).collect();
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
    let wrapping = ("tpiu-source", if choice & 1 != 0 { "1" } else { "none" });
    let ports = [("itm-port", "0=text"), ("itm-port", "1=signed"), ("itm-port", "2=float"), ("itm-sample-period", "1000")];
    let own = [&[wrapping][..], if choice & 2 != 0 { &ports } else { &[] }].concat();
    let events = if choice & 4 != 0 { EventDetail::All } else { EventDetail::Default };
    let options = |window_bytes| Options::default().threads(1).events(events).window_bytes(window_bytes);
    let whole = run(input, &own, &options(1 << 20));
    assert!(run(input, &own, &options(16 + usize::from(choice >> 3))) == whole, "windows change the trace");
    match reader::Trace::parse(&whole) {
        Ok(trace) => assert!(trace.unclosed.is_empty(), "slices without end"),
        Err(error) => panic!("the reader refuses the trace: {error}"),
    }
});
