//! Bytes → a trace that an independent reader accepts, the same for windows of any size, with every byte accounted for.

#![no_main]

mod conversion;

use libfuzzer_sys::fuzz_target;
use traceconv::format::OptionValue;

fuzz_target!(|input: &[u8]| {
    // The first byte says how to convert the others.
    let Some((&choice, input)) = input.split_first() else { return };
    let wrapping = ("tpiu-source", if choice & 1 != 0 { "1" } else { "none" });
    let ports = [("itm-port", "0=text"), ("itm-port", "1=signed"), ("itm-port", "2=float"), ("itm-sample-period", "1000")];
    let own = [&[wrapping][..], if choice & 2 != 0 { &ports } else { &[] }].concat();
    let own: Vec<_> = own.into_iter().map(|(name, value)| (name, OptionValue::Text(value.to_owned()))).collect();
    conversion::check("itm", &own, input, conversion::detail(choice >> 2), 16 + usize::from(choice >> 3));
});
