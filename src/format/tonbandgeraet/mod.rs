//! Tonbandgerät: a tracer for bare-metal and FreeRTOS targets.
//!
//! A capture is a chain of COBS frames, each with one event. There is no header, no checksum and no length.
//!
//! In the plain format, times are absolute ticks of the target's timer. Whether the target ran FreeRTOS is inferred from the ids of
//! events. The superset, which the library in `target/` sends, has more events, times relative to the event before, and sync frames
//! ([`sync_frame`]) with the clock, the cores, the absolute time, and the number of lost events. `target/FORMAT.md` describes both.
//! The frames of a capture show which of the two it uses.

pub mod arguments;
pub mod decode;
#[cfg(any(test, feature = "generate"))]
pub mod encode;
mod event_table;
mod field;
#[cfg(any(test, feature = "generate"))]
pub mod generate;
mod intervals;
mod probe;
pub mod record;
mod resolve;
mod ring;
pub mod scan;
#[cfg(test)]
mod superset_tests;
pub mod sync_frame;
#[cfg(test)]
mod tests;

use super::program::{ELF, ElfFile};
use super::{
    CORES_SEPARATE, ErasedRecording, Format, FormatOptions, MemoryMark, MemoryRecording, OptionError, OptionKind, OptionSpec,
    Probe, erase,
};
use crate::symbols::sections_named;
use resolve::Program;
use scan::Scanner;

/// Several cores without a common kernel.
const SEPARATE: OptionSpec = OptionSpec::once(
    CORES_SEPARATE,
    OptionKind::Flag,
    "Each input is of a core with a program of its own: the same id means different things (default: inferred from the names)",
);

/// The format's entry in the registry.
pub struct Tonbandgeraet;

impl Format for Tonbandgeraet {
    fn name(&self) -> &'static str {
        "tonbandgeraet"
    }

    fn title(&self) -> &'static str {
        "Tonbandgerät"
    }

    fn recorded_by(&self) -> &'static str {
        "the Tonbandgerät tracer, on FreeRTOS or bare metal, one or several cores; the tracer library that comes with traceconv"
    }

    fn recognised_by(&self) -> &'static str {
        "frames between zero bytes that are valid to the last field"
    }

    fn probe(&self, sample: &[u8], whole: bool) -> Option<Probe> {
        probe::probe(sample, whole)
    }

    fn options(&self) -> &'static [OptionSpec] {
        &[ELF, SEPARATE]
    }

    fn open(&self, inputs: &[FormatOptions]) -> Result<Box<dyn ErasedRecording>, OptionError> {
        let program = inputs.iter().find_map(|options| ElfFile::read(options, None).transpose()).transpose()?;
        let program = program.map(|elf| Program { messages: sections_named(&elf.bytes, ".tband_log"), symbols: elf.symbols });
        Ok(erase(Scanner::new(inputs, program)))
    }

    fn takes_cores(&self) -> bool {
        true
    }

    fn memory_marks(&self) -> &'static [MemoryMark] {
        ring::MARKS
    }

    fn read_memory(&self, image: &[u8], at: usize) -> Result<MemoryRecording, String> {
        ring::read(image, at)
    }

    #[cfg(any(test, feature = "generate"))]
    fn generate(&self, bytes: u64, seed: u64, out: &mut dyn std::io::Write) -> std::io::Result<FormatOptions> {
        generate::generate(&generate::GenerateOptions { bytes, seed, ..generate::GenerateOptions::default() }, out)?;
        Ok(FormatOptions::default())
    }
}
