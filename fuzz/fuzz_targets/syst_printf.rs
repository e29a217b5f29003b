//! printf formats with packed arguments: the output is that of the C library's own `snprintf`, byte for byte.

#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../../tests/syst/printf_case.rs"]
mod printf_case;

fuzz_target!(|input: &[u8]| printf_case::Case::from_bytes(input).check());
