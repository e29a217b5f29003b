//! What every format's target checks of a conversion.

use traceconv::format::{FORMATS, FormatOptions, OptionValue};
use traceconv::pipeline::{EventDetail, Options, Source, convert};

#[path = "../../tests/reader/mod.rs"]
mod reader;

/// The level of detail that a byte chooses.
pub fn detail(choice: u8) -> EventDetail {
    [EventDetail::Default, EventDetail::All, EventDetail::Overview, EventDetail::Default][usize::from(choice & 3)]
}

/// Converts `input` whole and in windows of `window_bytes`. Every byte must be accounted for, both traces must be the same, and an
/// independent reader must accept them.
pub fn check(format: &str, own: &[(&'static str, OptionValue)], input: &[u8], detail: EventDetail, window_bytes: usize) {
    let whole = run(format, own, input, detail, 1 << 20);
    assert!(run(format, own, input, detail, window_bytes) == whole, "windows change the trace");
    match reader::Trace::parse(&whole) {
        Ok(trace) => assert!(trace.unclosed.is_empty(), "slices without end"),
        Err(error) => panic!("the reader refuses the trace: {error}"),
    }
}

fn run(format: &str, own: &[(&'static str, OptionValue)], input: &[u8], detail: EventDetail, window_bytes: usize) -> Vec<u8> {
    let format = FORMATS.iter().copied().find(|known| known.name() == format).expect("it is registered");
    let source = Source::new(input, format).options(FormatOptions { own: own.to_vec(), ..FormatOptions::default() });
    let options = Options::default().threads(1).events(detail).window_bytes(window_bytes);
    let mut trace = Vec::new();
    let converted = convert(&[source], &options, &mut trace, &mut |_| true).expect("damage is no error");
    let ledger = &converted.inputs[0].ledger;
    assert_eq!(ledger.decoded_bytes + ledger.skipped_bytes, input.len() as u64);
    assert_eq!(converted.output_bytes, trace.len() as u64);
    trace
}
