//! Drives the library with captures of this format.

use traceconv::format::tonbandgeraet::decode::{Decoder, Records};
use traceconv::format::tonbandgeraet::generate::{Damage, GenerateOptions, generate};
use traceconv::pipeline::Options;

use crate::common::run::Subject;
pub use crate::common::run::{Conversion, Cut, Random, options};

pub fn subject() -> Subject {
    Subject::new("tonbandgeraet")
}

pub fn convert(capture: &[u8], cut: Cut) -> Conversion {
    subject().convert(capture, cut)
}

pub fn convert_with(capture: &[u8], options: &Options) -> Conversion {
    subject().convert_with(capture, options)
}

/// The records of a capture.
pub fn records(capture: &[u8]) -> Records {
    Decoder::plain().records(capture, 0..capture.len())
}

pub fn generated(bytes: u64, seed: u64, cores: u16, damage: Damage) -> Vec<u8> {
    let mut capture = Vec::new();
    generate(&GenerateOptions { bytes, seed, cores, damage, ..GenerateOptions::default() }, &mut capture)
        .expect("memory does not fail");
    capture
}
