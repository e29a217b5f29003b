//! Bytes → a trace that an independent reader accepts, the same for windows of any size, with every byte accounted for. Also whole
//! records: the bytes between flags get a sequence number and a checksum, so that more than the framing is tried.

#![no_main]

mod conversion;

use libfuzzer_sys::fuzz_target;
use traceconv::format::OptionValue;
use traceconv::format::qs::frame;

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
    let version = ["400", "583", "719", "812"][usize::from(choice & 3)];
    let mut own = vec![("qs-version", OptionValue::Text(version.into()))];
    if choice & 4 != 0 {
        own.push(("qs-events", OptionValue::Flag));
        own.push(("qs-sizes", OptionValue::Text("T1O2F2S1E1Q1P1C1".into())));
    }
    conversion::check("qs", &own, &input, conversion::detail(choice >> 4), 1 + usize::from(choice >> 5) * 16);
});
