//! Drives the library with captures of this format.

use traceconv::format::tracex::generate::{GenerateOptions, generate};

use crate::common::run::Subject;
pub use crate::common::run::{Conversion, Cut, Random};

pub fn subject() -> Subject {
    Subject::new("tracex")
}

pub fn convert(capture: &[u8], cut: Cut) -> Conversion {
    subject().convert(capture, cut)
}

/// Captures that differ in byte order, clock and damage.
pub fn generated(bytes: u64, seed: u64) -> Vec<u8> {
    let (is_big, is_damaged) = (seed % 2 == 1, seed % 3 == 2);
    let time_bits = if seed % 4 < 2 { 32 } else { 16 };
    generated_with(&GenerateOptions { bytes, seed, is_big, is_damaged, time_bits, ..GenerateOptions::default() })
}

pub fn generated_with(options: &GenerateOptions) -> Vec<u8> {
    let mut capture = Vec::new();
    generate(options, &mut capture).expect("memory does not fail");
    capture
}
