//! Bytes → a trace that an independent reader accepts, by each transport, the same for windows of any size, with every byte accounted for.

#![no_main]

mod conversion;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    // The first byte says how to convert the others.
    let Some((&choice, input)) = input.split_first() else { return };
    let format = ["syst-text", "syst-raw", "syst-stp"][usize::from(choice % 3)];
    conversion::check(format, &[], input, conversion::detail(choice >> 6), 1 + usize::from(choice));
});
