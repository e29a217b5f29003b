//! Bytes → a trace that an independent reader accepts, the same for windows of any size, with every byte accounted for.

#![no_main]

mod conversion;

use std::sync::Arc;

use libfuzzer_sys::fuzz_target;
use traceconv::format::OptionValue;
use traceconv::format::systemview::encode::header;
use traceconv::format::systemview::packet::Reading;

fuzz_target!(|input: &[u8]| {
    // The first byte says how to convert the others.
    let Some((&choice, input)) = input.split_first() else { return };
    let mut bytes = if choice & 1 != 0 { header(Reading::CoreBit).to_vec() } else { Vec::new() };
    bytes.extend(input);
    let description = &b"NamedType T 0=a 1=b *=%u\n33 one x=%T y=%s\n34 two t=%t r=%I | Returns %T\n"[..];
    let file = || OptionValue::File { path: "x".into(), bytes: Arc::from(description) };
    let own: Vec<_> = (choice & 2 != 0).then(|| ("systemview-desc", file())).into_iter().collect();
    conversion::check("systemview", &own, &bytes, conversion::detail(choice >> 2), 16 + usize::from(choice >> 3));
});
