//! Eclipse ThreadX TraceX: the kernel's trace buffer, a ring of events in the target's memory, as a file or in an image of the memory.
//!
//! A header ([`layout`]) says where the registry of names and the ring are. All entries of the ring have 32 bytes, and the oldest one is
//! anywhere: the parts of an input are decoded in the order of recording, not of the file ([`decode`]).

pub mod decode;
#[cfg(any(test, feature = "generate"))]
pub mod encode;
#[cfg(any(test, feature = "generate"))]
pub mod generate;
pub mod layout;
pub mod names;
mod resolve;
mod scan;

use super::{
    ErasedRecording, Format, FormatOptions, MemoryMark, MemoryRecording, OptionError, OptionKind, OptionSpec, Probe, erase,
};
use layout::Layout;
use names::Names;
use scan::Scanner;

/// The format's entry in the registry.
pub struct TraceX;

const OPTIONS: &[OptionSpec] = &[OptionSpec::repeated(
    "tracex-events",
    OptionKind::File("FILE"),
    "Names of user events and of their fields: a .trxc file of TraceX",
)];

impl Format for TraceX {
    fn name(&self) -> &'static str {
        "tracex"
    }

    fn title(&self) -> &'static str {
        "ThreadX TraceX"
    }

    fn recorded_by(&self) -> &'static str {
        "Eclipse ThreadX (Azure RTOS) with event trace, also FileX, NetX Duo and USBX: .trx files, trace buffers in memory"
    }

    fn recognised_by(&self) -> &'static str {
        "the header of a trace buffer (TXTB, in either byte order) whose addresses fit each other"
    }

    fn probe(&self, sample: &[u8], _whole: bool) -> Option<Probe> {
        let layout = Layout::read(sample).ok()?;
        Some(Probe { score: 99, reason: format!("it begins with the header of {}", layout.describe()) })
    }

    fn options(&self) -> &'static [OptionSpec] {
        OPTIONS
    }

    fn open(&self, inputs: &[FormatOptions]) -> Result<Box<dyn ErasedRecording>, OptionError> {
        let mut names = Names::default();
        for (path, bytes) in inputs.first().into_iter().flat_map(|input| input.files("tracex-events")) {
            if names.add_file(path, &String::from_utf8_lossy(bytes)) == 0 {
                let found = format!("`{path}` names no user event");
                let expected = "expected lines between Start and End with a number from 4096 to 65535, a name, an abbreviation, two \
                                colours and names of fields, as in 4096, Sample, SA, (0,0,0), (255,0,0), channel, value";
                return Err(OptionError { option: "tracex-events", found, expected: expected.into() });
            }
        }
        Ok(erase(Scanner::new(inputs, names)))
    }

    fn memory_marks(&self) -> &'static [MemoryMark] {
        layout::MARKS
    }

    fn read_memory(&self, image: &[u8], at: usize) -> Result<MemoryRecording, String> {
        layout::read_memory(image, at)
    }

    #[cfg(any(test, feature = "generate"))]
    fn generate(&self, bytes: u64, seed: u64, out: &mut dyn std::io::Write) -> std::io::Result<FormatOptions> {
        generate::generate(&generate::GenerateOptions { bytes, seed, ..generate::GenerateOptions::default() }, out)?;
        Ok(FormatOptions::default())
    }
}
