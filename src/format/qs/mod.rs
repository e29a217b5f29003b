//! QS, the software tracing of the QP real-time frameworks (QP/C and QP/C++). Its host program is QSPY.
//!
//! A capture is a chain of HDLC-like frames ([`frame`]), each with one record ([`record`]), a sequence number and a checksum. The widths
//! of the fields depend on the target ([`layout`]). The target sends them in one record ([`info`]); if that is missing, they are
//! inferred ([`infer`]).

pub mod clockrate;
pub mod decode;
pub mod dic;
pub mod element;
#[cfg(any(test, feature = "generate"))]
pub mod encode;
mod facts;
pub mod frame;
#[cfg(any(test, feature = "generate"))]
pub mod generate;
pub mod host;
pub mod infer;
pub mod info;
pub mod layout;
pub mod names;
mod pieces;
mod probe;
pub mod record;
pub mod repair;
mod resolve;
pub mod scan;
pub mod sessions;

use std::sync::Arc;

use super::program::{ELF, ElfFile, REQUIRE_MATCH, is_match_required};
use super::{ErasedRecording, Format, FormatOptions, OptionError, OptionKind, OptionSpec, Probe, erase};
use crate::model::Rate;
use dic::Dictionary;
use layout::Sizes;
use resolve::DrawOptions;
use scan::Scanner;
use sessions::TargetOptions;

/// The format's entry in the registry.
pub struct Qs;

const OPTIONS: &[OptionSpec] = &[
    ELF,
    REQUIRE_MATCH,
    OptionSpec::once("qs-dict", OptionKind::File("FILE.dic"), "A dictionary saved by qspy: names, sizes and version"),
    OptionSpec::once(
        "qs-sizes",
        OptionKind::Text("T4O4F4S2E2Q1P2B2C4"),
        "The target's sizes in bytes, if the capture does not record them; letters as in qspy",
    ),
    OptionSpec::once("qs-version", OptionKind::Text("X.Y.Z"), "The target's version of QP, if the capture does not record it"),
    OptionSpec::once(
        "qs-tick-hz",
        OptionKind::Text("N"),
        "The frequency of the clock tick of rate 0: the clock is measured with it from time events",
    ),
    OptionSpec::repeated(
        "qs-counter",
        OptionKind::Text("NAME:INDEX"),
        "Draw an element of an application record as a counter; INDEX counts from 0",
    ),
    OptionSpec::once("qs-events", OptionKind::Flag, "Also draw the allocation of events, and critical sections"),
];

impl Format for Qs {
    fn name(&self) -> &'static str {
        "qs"
    }

    fn title(&self) -> &'static str {
        "QP/Spy (QS)"
    }

    fn recorded_by(&self) -> &'static str {
        "the QP frameworks QP/C and QP/C++, version 4.0 to 8.1: the bytes that the target sends to QSPY"
    }

    fn recognised_by(&self) -> &'static str {
        "frames with valid checksums and consecutive sequence numbers"
    }

    fn probe(&self, sample: &[u8], whole: bool) -> Option<Probe> {
        probe::probe(sample, whole)
    }

    fn options(&self) -> &'static [OptionSpec] {
        OPTIONS
    }

    fn open(&self, inputs: &[FormatOptions]) -> Result<Box<dyn ErasedRecording>, OptionError> {
        let options = inputs.iter().map(InputOptions::read).collect::<Result<Vec<_>, _>>()?;
        Ok(erase(Scanner::new(options)))
    }

    fn host(&self, wishes: &super::host::Wishes) -> Option<Box<dyn super::host::Host>> {
        Some(Box::new(host::QsHost::new(wishes)))
    }

    #[cfg(any(test, feature = "generate"))]
    fn generate(&self, bytes: u64, seed: u64, out: &mut dyn std::io::Write) -> std::io::Result<FormatOptions> {
        generate::generate(&generate::GenerateOptions { bytes, seed, ..generate::GenerateOptions::default() }, out)?;
        Ok(FormatOptions::default())
    }
}

/// The options for one input.
#[derive(Clone, Debug, Default)]
struct InputOptions {
    target: TargetOptions,
    clock: Option<Rate>,
    tick: Option<Rate>,
    draw: DrawOptions,
}

impl InputOptions {
    fn read(from: &FormatOptions) -> Result<InputOptions, OptionError> {
        let wrong = |option, found: String, expected: &str| OptionError { option, found, expected: expected.to_owned() };
        let mut options = InputOptions { clock: from.clock, ..InputOptions::default() };
        options.draw.everything = from.flag("qs-events");
        if let Some(text) = from.text("qs-sizes") {
            let mut sizes = Sizes::default();
            sizes.apply(text).map_err(|error| wrong("qs-sizes", error, "give letters and sizes like T4O4F4S2E2Q1P2B2C4"))?;
            let letters = text.chars().filter(|letter| letter.is_alphabetic()).map(|letter| letter.to_ascii_uppercase());
            options.target.sizes = letters.filter_map(|letter| Some((letter, *sizes.get_mut(letter)?))).collect();
        }
        if let Some(text) = from.text("qs-version") {
            let version = dic::parse_version(text);
            let found = || wrong("qs-version", format!("{text:?} is not a version of QP"), "give one like 8.1.2 or 812");
            options.target.version = Some(version.ok_or_else(found)?);
        }
        if let Some((path, bytes)) = from.files("qs-dict").last() {
            let found = |error: String| wrong("qs-dict", format!("{path}: {error}"), "give a file saved by qspy with its key d");
            let dictionary = Dictionary::parse(bytes).map_err(found)?;
            if dictionary.is_empty() {
                return Err(found("it holds no name, size or version".to_owned()));
            }
            options.target.dictionary = Some(Arc::new(dictionary));
        }
        options.target.program = ElfFile::read(from, None)?;
        options.target.is_match_required = is_match_required(from, options.target.program.is_some())?;
        if let Some(text) = from.text("qs-tick-hz") {
            let found =
                |_| wrong("qs-tick-hz", format!("{text:?} is not a frequency"), "give ticks per second like 100 or 1000/3");
            options.tick = Some(Rate::parse_hz(text).map_err(found)?);
        }
        for text in from.texts("qs-counter") {
            let counter = text.rsplit_once(':').and_then(|(name, index)| Some((name.to_owned(), index.parse().ok()?)));
            let found = || wrong("qs-counter", format!("{text:?} has no index"), "give NAME:INDEX like PHILO_STAT:0");
            options.draw.counters.push(counter.ok_or_else(found)?);
        }
        Ok(options)
    }
}
