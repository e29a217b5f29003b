//! ARM ITM and DWT: the packets that Cortex-M processors send over SWO or a trace port without any library: text and values that software writes
//! to stimulus ports, exceptions, samples of the program counter, watched data, event counters, time stamps.
//!
//! The stream comes bare or in CoreSight frames ([`crate::frame`] has both). Bare streams are decoded in parallel, framed ones in file
//! order ([`decode`]). Packets wait for the time stamp after them ([`resolve`]).

pub mod decode;
#[cfg(any(test, feature = "generate"))]
pub mod encode;
#[cfg(any(test, feature = "generate"))]
pub mod generate;
mod highs;
mod ports;
mod probe;
mod resolve;
mod scan;
mod texts;

use super::program::{ELF, ElfFile};
use super::{ErasedRecording, Format, FormatOptions, OptionError, OptionKind, OptionSpec, Probe, erase};
use crate::model::{Rate, whole_number};
use ports::PortOption;
use scan::Scanner;

/// The format's entry in the registry.
pub struct Itm;

const OPTIONS: &[OptionSpec] = &[
    ELF,
    OptionSpec::repeated(
        "itm-port",
        OptionKind::Text("N=KIND[:NAME]"),
        "The content of a stimulus port: text, unsigned, signed or float (a counter), hex (instants) or none",
    ),
    OptionSpec::once(
        "itm-sample-period",
        OptionKind::Text("N"),
        "Ticks between samples of the program counter: the time base of a stream without time stamps",
    ),
    OptionSpec::once(
        "tpiu-source",
        OptionKind::Text("ID"),
        "The source in CoreSight frames that is the ITM stream, 1 to 111; none: there are no frames",
    ),
];

impl Format for Itm {
    fn name(&self) -> &'static str {
        "itm"
    }

    fn title(&self) -> &'static str {
        "ARM ITM/DWT (SWO)"
    }

    fn recorded_by(&self) -> &'static str {
        "the trace hardware of ARM Cortex-M processors, over SWO or a trace port: ITM and DWT packets, bare or in TPIU frames"
    }

    fn recognised_by(&self) -> &'static str {
        "synchronisation packets, or time stamps, packets of the DWT or text on few ports without damage between them"
    }

    fn probe(&self, sample: &[u8], _whole: bool) -> Option<Probe> {
        probe::judge(sample).1
    }

    fn options(&self) -> &'static [OptionSpec] {
        OPTIONS
    }

    fn open(&self, inputs: &[FormatOptions]) -> Result<Box<dyn ErasedRecording>, OptionError> {
        Ok(erase(Scanner::new(inputs.iter().map(InputOptions::read).collect::<Result<_, _>>()?)))
    }

    fn channel(&self, bytes: &[u8], number: u16, out: &mut dyn FnMut(&[u8])) -> Option<Vec<(u64, u64)>> {
        Some(ports::bytes_of(bytes, number, out))
    }

    #[cfg(any(test, feature = "generate"))]
    fn generate(&self, bytes: u64, seed: u64, out: &mut dyn std::io::Write) -> std::io::Result<FormatOptions> {
        generate::generate(&generate::GenerateOptions { bytes, seed, ..generate::GenerateOptions::default() }, out)?;
        Ok(FormatOptions { clock: Rate::from_hz(generate::CLOCK_HZ, 1), ..FormatOptions::default() })
    }
}

/// The options for one input.
#[derive(Clone, Default)]
struct InputOptions {
    clock: Option<Rate>,
    core: Option<u16>,
    program: Option<ElfFile>,
    ports: Vec<PortOption>,
    sample_period: Option<u64>,
    /// The source in CoreSight frames, or that there are none.
    source: Option<Option<u8>>,
}

impl InputOptions {
    fn read(options: &FormatOptions) -> Result<InputOptions, OptionError> {
        let refused = |option, text: &str, expected: &str| OptionError {
            option,
            found: format!("{text:?} is not understood"),
            expected: expected.to_owned(),
        };
        let ports = options.texts("itm-port").map(|text| {
            let expected = "expected a port from 0 to 255, its content (text, unsigned, signed, float, hex or none) and maybe a \
                            name, as in 1=signed:speed";
            PortOption::parse(text).ok_or_else(|| refused("itm-port", text, expected))
        });
        let sample_period = options.text("itm-sample-period").map(|text| {
            let period = whole_number(text).ok().filter(|period| (1..=1 << 32).contains(period));
            period.ok_or_else(|| refused("itm-sample-period", text, "expected a number of ticks, as in 1024"))
        });
        let source = options.text("tpiu-source").map(|text| match (text, text.parse::<u8>()) {
            ("none", _) => Ok(None),
            (_, Ok(source @ 1..=0x6F)) => Ok(Some(source)),
            _ => Err(refused("tpiu-source", text, "expected a number from 1 to 111, or none")),
        });
        Ok(InputOptions {
            clock: options.clock,
            core: options.core,
            program: ElfFile::read(options, Some(32))?,
            ports: ports.collect::<Result<_, _>>()?,
            sample_period: sample_period.transpose()?,
            source: source.transpose()?,
        })
    }
}
