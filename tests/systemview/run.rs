//! Drives the library with captures of this format.

use traceconv::format::systemview::generate::{Damage, GenerateOptions, generate};

use crate::common::run::Subject;
pub use crate::common::run::{Conversion, Cut, Random};

pub fn subject() -> Subject {
    Subject::new("systemview")
}

pub fn convert(capture: &[u8], cut: Cut) -> Conversion {
    subject().convert(capture, cut)
}

pub fn generated(bytes: u64, seed: u64, damage: Damage) -> Vec<u8> {
    let has_two_cores = seed % 2 == 1;
    generated_with(&GenerateOptions {
        bytes,
        seed,
        has_two_cores,
        damage,
        overflows: seed.is_multiple_of(3),
        ..GenerateOptions::default()
    })
}

pub fn generated_with(options: &GenerateOptions) -> Vec<u8> {
    let mut capture = Vec::new();
    generate(options, &mut capture).expect("memory does not fail");
    capture
}
