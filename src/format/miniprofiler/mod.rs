//! MiniProfiler: completed calls of functions, sent over a serial line when they end.
//!
//! The firmware is built with `-finstrument-functions`; its hooks read the time. A device answers commands of a host with packets
//! ([`record`]), mostly with records of calls: address, entry, duration, depth. There are no sequence numbers, and only calls have times.

pub mod crc;
pub mod decode;
#[cfg(any(test, feature = "generate"))]
pub mod encode;
#[cfg(any(test, feature = "generate"))]
pub mod generate;
pub mod host;
mod options;
pub mod packet;
mod probe;
pub mod record;
mod resolve;
pub mod scan;

use super::{ErasedRecording, Format, FormatOptions, OptionError, OptionSpec, Probe, erase};
use crate::model::CoreId;
use options::MiniProfilerOptions;
use scan::Scanner;

/// The format's entry in the registry.
pub struct MiniProfiler;

impl Format for MiniProfiler {
    fn name(&self) -> &'static str {
        "miniprofiler"
    }

    fn title(&self) -> &'static str {
        "MiniProfiler"
    }

    fn recorded_by(&self) -> &'static str {
        "firmware built with -finstrument-functions and MiniProfiler's hooks: completed calls of functions, over a serial line"
    }

    fn recognised_by(&self) -> &'static str {
        "packets with an end byte at their length and a valid CRC"
    }

    fn probe(&self, sample: &[u8], whole: bool) -> Option<Probe> {
        probe::probe(sample, whole)
    }

    fn options(&self) -> &'static [OptionSpec] {
        options::SPECS
    }

    fn open(&self, inputs: &[FormatOptions]) -> Result<Box<dyn ErasedRecording>, OptionError> {
        let options = inputs.first().map(MiniProfilerOptions::new).transpose()?.unwrap_or_default();
        // Several inputs are recordings of several cores.
        let cores = (0..).zip(inputs).map(|(index, input)| CoreId(input.core.unwrap_or(index))).collect();
        Ok(erase(Scanner::new(options, cores)))
    }

    fn host(&self, wishes: &super::host::Wishes) -> Option<Box<dyn super::host::Host>> {
        Some(Box::new(host::MiniProfilerHost::new(wishes)))
    }

    #[cfg(any(test, feature = "generate"))]
    fn generate(&self, bytes: u64, seed: u64, out: &mut dyn std::io::Write) -> std::io::Result<FormatOptions> {
        generate::generate(&generate::GenerateOptions { bytes, seed, ..generate::GenerateOptions::default() }, out, &mut |_| {})?;
        Ok(FormatOptions::default())
    }
}
