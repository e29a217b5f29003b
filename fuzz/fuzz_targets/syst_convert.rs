//! Bytes → trace, by each transport: no panic, every byte accounted for, and where the input is cut does not show.

#![no_main]

use libfuzzer_sys::fuzz_target;
use traceconv::format::FORMATS;
use traceconv::pipeline::{Options, Source, convert};

fuzz_target!(|input: &[u8]| {
    let Some((choice, input)) = input.split_first() else { return };
    let name = ["syst-text", "syst-raw", "syst-stp"][usize::from(choice % 3)];
    let format = FORMATS.iter().copied().find(|format| format.name() == name).expect("it is registered");
    let converted = |window_bytes: usize| {
        let source = Source::new(input, format);
        let options = Options::default().window_bytes(window_bytes).threads(1);
        let mut trace = Vec::new();
        let summary = convert(&[source], &options, &mut trace, &mut |_| true).expect("damage is no error");
        let ledger = &summary.inputs[0].ledger;
        assert_eq!(ledger.decoded_bytes + ledger.skipped_bytes, input.len() as u64);
        trace
    };
    assert!(converted(1 << 20) == converted(1 + usize::from(*choice)), "a cut shows");
});
