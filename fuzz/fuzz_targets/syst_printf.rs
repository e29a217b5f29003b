//! printf formats with packed arguments: what is printed is what the C library's own `snprintf` prints, byte for byte.

#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../../tests/syst/printf_case.rs"]
mod printf_case;

fuzz_target!(|input: &[u8]| printf_case::Case::from_bytes(input).check());
