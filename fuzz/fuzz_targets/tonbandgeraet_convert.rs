//! Bytes → a trace that an independent reader accepts, the same for windows of any size, with every byte accounted for.

#![no_main]

mod conversion;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    // The first byte says how to convert the others.
    let Some((&choice, input)) = input.split_first() else { return };
    conversion::check("tonbandgeraet", &[], input, conversion::detail(choice >> 2), 16 + usize::from(choice >> 4));
});
