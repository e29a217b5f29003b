//! TraceSniffer TSP: FreeRTOS captures over a serial line.
//!
//! A capture is a stream of packets of 9 to 12 bytes, each with a preamble that is not escaped. There is no length, no
//! checksum and no escape.
//! The meaning of the two time fields depends on the target's port and is not recorded; it is inferred from the data ([`timer`]).
//! Names are sent in object lists, if the host asked for them. The usual viewer saves measurements as JSON; these are read as well ([`sniff`]).

pub mod decode;
#[cfg(any(test, feature = "generate"))]
pub mod encode;
#[cfg(any(test, feature = "generate"))]
pub mod generate;
pub mod host;
mod probe;
pub mod record;
mod resolve;
mod scan;
pub mod sniff;
#[cfg(test)]
mod tests;
pub mod timer;

use super::{ErasedRecording, Format, FormatOptions, OptionError, OptionKind, OptionSpec, Probe, erase};
use crate::model::Rate;
use decode::Lengths;
use scan::Scanner;
use timer::TimerOptions;

/// The format's entry in the registry.
pub struct Tsp;

const OPTIONS: &[OptionSpec] = &[
    OptionSpec::once(
        "tick-hz",
        OptionKind::Text("N"),
        "Kernel ticks per second, if the capture does not record it (default 1000)",
    ),
    OptionSpec::once(
        "timer-hz",
        OptionKind::Text("N"),
        "Counts per second of the timer within the tick (default: one period per tick)",
    ),
    OptionSpec::once(
        "timer-max",
        OptionKind::Text("N"),
        "Largest value of the timer within the tick (default: inferred from the data)",
    ),
    OptionSpec::once(
        "timer-dir",
        OptionKind::Text("up|down"),
        "Whether the timer within the tick counts up or down (default: inferred from the data)",
    ),
    OptionSpec::once(
        "tick-mod",
        OptionKind::Text("N"),
        "Number of values of the tick count (default: inferred from the data, else 65536)",
    ),
    OptionSpec::repeated(
        "tsp-len",
        OptionKind::Text("ID=N"),
        "Packets of this id have N bytes of data (default: from the protocol's table, else inferred)",
    ),
];

impl Format for Tsp {
    fn name(&self) -> &'static str {
        "tsp"
    }

    fn title(&self) -> &'static str {
        "TraceSniffer TSP"
    }

    fn recorded_by(&self) -> &'static str {
        "the TraceSniffer plugin of FreeRTOS: the byte stream of the serial line, or a measurement that its viewer saved (.sniff)"
    }

    fn recognised_by(&self) -> &'static str {
        "packets whose preamble, id and length lead to the next one"
    }

    fn probe(&self, sample: &[u8], whole: bool) -> Option<Probe> {
        probe::probe(sample, whole)
    }

    fn options(&self) -> &'static [OptionSpec] {
        OPTIONS
    }

    fn open(&self, inputs: &[FormatOptions]) -> Result<Box<dyn ErasedRecording>, OptionError> {
        let inputs = inputs.iter().map(InputOptions::read).collect::<Result<Vec<_>, _>>()?;
        Ok(erase(Scanner::new(inputs)))
    }

    fn host(&self, wishes: &super::host::Wishes) -> Option<Box<dyn super::host::Host>> {
        Some(Box::new(host::TspHost::new(wishes)))
    }

    #[cfg(any(test, feature = "generate"))]
    fn generate(&self, bytes: u64, seed: u64, out: &mut dyn std::io::Write) -> std::io::Result<FormatOptions> {
        generate::generate(&generate::GenerateOptions { bytes, seed, ..generate::GenerateOptions::default() }, out)?;
        Ok(FormatOptions::default())
    }
}

/// The options for one input.
#[derive(Clone, Debug)]
struct InputOptions {
    core: Option<u16>,
    lengths: Lengths,
    timer: TimerOptions,
}

impl InputOptions {
    fn read(options: &FormatOptions) -> Result<InputOptions, OptionError> {
        let mut lengths = Lengths::default();
        for text in options.texts("tsp-len") {
            let pair = text.split_once('=').and_then(|(id, len)| Some((id.trim().parse().ok()?, len.trim().parse().ok()?)));
            if !pair.is_some_and(|(id, len)| lengths.give(id, len)) {
                let found = format!("{text:?} is not an id with a number of bytes");
                let expected = format!("expected ID=N, an id of 0 to 255 and 0 to {} bytes, as in 75=2", record::MAX_DATA_BYTES);
                return Err(OptionError { option: "tsp-len", found, expected });
            }
        }
        let is_down = match options.text("timer-dir") {
            None => None,
            Some("up") => Some(false),
            Some("down") => Some(true),
            Some(other) => {
                let expected = "expected up or down".to_owned();
                return Err(OptionError { option: "timer-dir", found: format!("{other:?} is not a direction"), expected });
            }
        };
        let clock = options.clock.map(|rate| rate.hz().to_string());
        let timer = TimerOptions {
            tick_hz: hz("tick-hz", options.text("tick-hz"))?.or(hz("clock-hz", clock.as_deref())?),
            timer_hz: hz("timer-hz", options.text("timer-hz"))?,
            timer_max: number(options, "timer-max", 0..=65_535)?.map(|max| max as u16),
            is_down,
            tick_modulus: number(options, "tick-mod", 2..=65_536)?,
        };
        Ok(InputOptions { core: options.core, lengths, timer })
    }
}

fn hz(option: &'static str, text: Option<&str>) -> Result<Option<f64>, OptionError> {
    let Some(text) = text else { return Ok(None) };
    let hz = text.parse::<f64>().ok().or_else(|| Rate::parse_hz(text).ok().map(|rate| rate.hz()));
    match hz {
        // The nanoseconds since a tick are numbers of 32 bits: a tick is no longer than 4 s.
        Some(hz) if (0.25..=1e12).contains(&hz) => Ok(Some(hz)),
        _ => {
            let expected = "expected a number of Hz from 0.25 to 10^12, as in 1000, 93750 or 24M".to_owned();
            Err(OptionError { option, found: format!("{text:?} is not a rate"), expected })
        }
    }
}

fn number(
    options: &FormatOptions,
    option: &'static str,
    range: std::ops::RangeInclusive<u32>,
) -> Result<Option<u32>, OptionError> {
    let Some(text) = options.text(option) else { return Ok(None) };
    match text.parse::<u32>() {
        Ok(number) if range.contains(&number) => Ok(Some(number)),
        _ => {
            let expected = format!("expected a number from {} to {}", range.start(), range.end());
            Err(OptionError { option, found: format!("{text:?} is out of range"), expected })
        }
    }
}
