//! Drives the library with captures of this format.

use traceconv::format::OptionValue;
use traceconv::format::itm::generate::{CLOCK_HZ, Damage, GenerateOptions, generate_with_truth};
use traceconv::model::Rate;

use crate::common::run::Subject;
pub use crate::common::run::{Conversion, Cut, Random};

/// The format, with the clock of the generator.
pub fn subject() -> Subject {
    let mut subject = Subject::new("itm");
    subject.options.clock = Rate::from_hz(CLOCK_HZ, 1);
    subject
}

/// The same with options of the format.
pub fn with_options(own: &[(&'static str, &str)]) -> Subject {
    let mut subject = subject();
    subject.options.own.extend(own.iter().map(|(name, value)| (*name, OptionValue::Text((*value).to_owned()))));
    subject
}

pub fn convert(capture: &[u8], cut: Cut) -> Conversion {
    subject().convert(capture, cut)
}

pub fn generated(bytes: u64, seed: u64, damage: Damage) -> Vec<u8> {
    let is_framed = seed % 2 == 1;
    generated_with(&GenerateOptions {
        bytes,
        seed,
        is_framed,
        damage,
        overflows: seed.is_multiple_of(3),
        ..GenerateOptions::default()
    })
}

pub fn generated_with(options: &GenerateOptions) -> Vec<u8> {
    generate_with_truth(options).0
}
