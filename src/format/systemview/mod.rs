//! SEGGER SystemView: tasks, interrupts, calls of the kernel and messages, from firmware of many operating systems.
//!
//! A recording is a stream of packets ([`packet`]) without delimiters and checksums, whose time stamps are differences. It comes over
//! RTT, over Espressif's application trace (where two cores may share a stream), in files with a text header (`.SVDat`), or from the buffer
//! in a target's memory ([`rtt`]).

pub mod decode;
mod descriptions;
#[cfg(any(test, feature = "generate"))]
pub mod encode;
mod functions;
#[cfg(any(test, feature = "generate"))]
pub mod generate;
mod hooks;
pub mod packet;
mod probe;
mod program;
pub mod record;
mod resolve;
mod rtt;
mod scan;

use std::ops::Range;
use std::sync::Arc;

use super::program::{ELF, ElfFile, REQUIRE_MATCH, is_match_required};
use super::{
    ErasedRecording, Format, FormatOptions, MemoryMark, MemoryRecording, OptionError, OptionKind, OptionSpec, Probe, erase,
};
use crate::model::Rate;
use scan::Scanner;

/// The format's entry in the registry.
pub struct SystemView;

const OPTIONS: &[OptionSpec] = &[
    ELF,
    REQUIRE_MATCH,
    OptionSpec::repeated(
        "systemview-desc",
        OptionKind::File("FILE"),
        "Names and parameters of events: a SYSVIEW_….txt of the operating system or of a module",
    ),
];

impl Format for SystemView {
    fn name(&self) -> &'static str {
        "systemview"
    }

    fn title(&self) -> &'static str {
        "SEGGER SystemView"
    }

    fn recorded_by(&self) -> &'static str {
        "SystemView's target library with FreeRTOS, Zephyr, embOS and others: .SVDat files, the bytes of RTT or of ESP-IDF's application \
         trace, RTT buffers in memory"
    }

    fn recognised_by(&self) -> &'static str {
        "the header of a .SVDat file, or ten zero bytes and the packets of a start"
    }

    fn probe(&self, sample: &[u8], whole: bool) -> Option<Probe> {
        probe::probe(sample, whole)
    }

    fn options(&self) -> &'static [OptionSpec] {
        OPTIONS
    }

    fn open(&self, inputs: &[FormatOptions]) -> Result<Box<dyn ErasedRecording>, OptionError> {
        Ok(erase(Scanner::new(inputs.iter().map(InputOptions::read).collect::<Result<_, _>>()?)))
    }

    fn cores(&self, bytes: &[u8]) -> Vec<(u16, Vec<Range<usize>>)> {
        packet::cores(bytes)
    }

    fn memory_marks(&self) -> &'static [MemoryMark] {
        rtt::MARKS
    }

    fn read_memory(&self, image: &[u8], at: usize) -> Result<MemoryRecording, String> {
        rtt::read(image, at)
    }

    #[cfg(any(test, feature = "generate"))]
    fn generate(&self, bytes: u64, seed: u64, out: &mut dyn std::io::Write) -> std::io::Result<FormatOptions> {
        generate::generate(&generate::GenerateOptions { bytes, seed, ..generate::GenerateOptions::default() }, out)?;
        Ok(FormatOptions::default())
    }
}

/// The options for one input.
#[derive(Clone, Default)]
struct InputOptions {
    clock: Option<Rate>,
    core: Option<u16>,
    program: Option<ElfFile>,
    is_match_required: bool,
    /// Names and contents of files with descriptions.
    descriptions: Vec<(String, Arc<str>)>,
}

impl InputOptions {
    fn read(options: &FormatOptions) -> Result<InputOptions, OptionError> {
        let program = ElfFile::read(options, None)?;
        let is_match_required = is_match_required(options, program.is_some())?;
        let mut described = Vec::new();
        for (path, bytes) in options.files("systemview-desc") {
            let text = String::from_utf8_lossy(bytes);
            if descriptions::Descriptions::default().add_file(&text) == 0 {
                let found = format!("`{path}` describes no event");
                let expected =
                    "expected lines with an id from 32 to 4095, a name and parameters, as in 42 k_sem_take sem=%I".to_owned();
                return Err(OptionError { option: "systemview-desc", found, expected });
            }
            described.push((path.to_owned(), Arc::from(&*text)));
        }
        Ok(InputOptions { clock: options.clock, core: options.core, program, is_match_required, descriptions: described })
    }
}
