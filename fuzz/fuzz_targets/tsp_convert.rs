//! Bytes → a trace that an independent reader accepts, the same for windows of any size, with every byte accounted for.

#![no_main]

mod conversion;

use libfuzzer_sys::fuzz_target;
use traceconv::format::OptionValue;

fuzz_target!(|input: &[u8]| {
    // The first byte says how to convert the others.
    let Some((&choice, input)) = input.split_first() else { return };
    let own: &[(&'static str, &str)] = match choice & 3 {
        0 | 1 => &[],
        2 => &[("timer-dir", "down"), ("timer-max", "93"), ("timer-hz", "93750"), ("tsp-len", "75=2")],
        _ => &[("tick-mod", "1000"), ("tick-hz", "0.5"), ("timer-max", "0")],
    };
    let own: Vec<_> = own.iter().map(|&(name, value)| (name, OptionValue::Text(value.to_owned()))).collect();
    conversion::check("tsp", &own, input, conversion::detail(choice >> 2), 16 + usize::from(choice >> 4));
});
