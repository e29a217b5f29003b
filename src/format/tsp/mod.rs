//! TraceSniffer TSP: FreeRTOS captures over a serial line.
//!
//! A capture is a stream of packets of 9 to 12 bytes, each begun by a preamble that is not escaped: no length, no checksum, no escape.
//! What the two time fields mean depends on the target's port and is nowhere told; it is found from the data ([`timer`]).
//! Names come in object lists, if the host asked for them. The usual viewer saves measurements as JSON; these are read as well ([`sniff`]).

pub mod decode;
pub mod encode;
pub mod generate;
mod probe;
pub mod record;
mod resolve;
mod scan;
pub mod sniff;
#[cfg(test)]
mod tests;
pub mod timer;

use std::ops::Range;
use std::sync::Arc;

use super::{
    Decode, ErasedRecording, Format, FormatOptions, OptionError, OptionKind, OptionSpec, Part, Probe, Recording, Stages, erase,
};
use crate::frame::sync;
use crate::model::Ledger;
use decode::{Decoder, Lengths, Packets, Records};
use record::Packet;
use resolve::{Resolver, Setup};
use scan::ScanFacts;
use timer::TimerOptions;

/// The format's entry in the registry.
pub struct Tsp;

const OPTIONS: &[OptionSpec] = &[
    OptionSpec {
        name: "tick-hz",
        kind: OptionKind::Text("N"),
        repeatable: false,
        help: "Kernel ticks per second, where the capture does not tell (default 1000)",
    },
    OptionSpec {
        name: "timer-hz",
        kind: OptionKind::Text("N"),
        repeatable: false,
        help: "Counts per second of the timer within the tick (default: those of its period, once a tick)",
    },
    OptionSpec {
        name: "timer-max",
        kind: OptionKind::Text("N"),
        repeatable: false,
        help: "Largest value of the timer within the tick (default: found from the data)",
    },
    OptionSpec {
        name: "timer-dir",
        kind: OptionKind::Text("up|down"),
        repeatable: false,
        help: "Whether the timer within the tick counts up or down (default: found from the data)",
    },
    OptionSpec {
        name: "tick-mod",
        kind: OptionKind::Text("N"),
        repeatable: false,
        help: "How many values the tick count has (default: found from the data, else 65536)",
    },
    OptionSpec {
        name: "tsp-len",
        kind: OptionKind::Text("ID=N"),
        repeatable: true,
        help: "Packets of this id have N bytes of data (default: from the protocol's table, else learned)",
    },
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
        let cutter = Packets::new(inputs.first().map(|input| input.lengths.clone()).unwrap_or_default());
        Ok(erase(Scanner { inputs, cutter }))
    }
}

/// What the user said about an input.
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
                let found = format!("{text:?} is no id with a number of bytes");
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
                return Err(OptionError { option: "timer-dir", found: format!("{other:?} is no direction"), expected });
            }
        };
        let timer = TimerOptions {
            tick_hz: hz(options, "tick-hz")?.or(options.clock.map(|rate| rate.hz())),
            timer_hz: hz(options, "timer-hz")?,
            timer_max: number(options, "timer-max", 0..=65_535)?.map(|max| max as u16),
            is_down,
            tick_modulus: number(options, "tick-mod", 2..=65_536)?,
        };
        Ok(InputOptions { core: options.core, lengths, timer })
    }
}

fn hz(options: &FormatOptions, option: &'static str) -> Result<Option<f64>, OptionError> {
    let Some(text) = options.text(option) else { return Ok(None) };
    match text.parse::<f64>() {
        Ok(hz) if (0.001..=1e12).contains(&hz) => Ok(Some(hz)),
        _ => {
            let expected = "expected a number of Hz, as in 1000 or 93750".to_owned();
            Err(OptionError { option, found: format!("{text:?} is no rate"), expected })
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
            Err(OptionError { option, found: format!("{text:?} cannot be"), expected })
        }
    }
}

/// The first pass over a recording.
struct Scanner {
    inputs: Vec<InputOptions>,
    cutter: Packets,
}

impl Scanner {
    fn lengths(&self, input: usize) -> Lengths {
        self.inputs.get(input).map(|input| input.lengths.clone()).unwrap_or_default()
    }
}

impl Recording for Scanner {
    type PartFacts = ScanFacts;
    type Facts = Option<Box<ScanFacts>>;
    type Decoder = Decoders;
    type Resolver = Resolver;

    fn cut(&self, input: &[u8], at: usize) -> usize {
        if sniff::is_saved(input) { sniff::cut(input, at) } else { sync::cut(&self.cutter, input, at) }
    }

    fn scan(&self, input: usize, part: Part<'_>) -> ScanFacts {
        let mut facts = ScanFacts::default();
        if sniff::is_saved(part.input) {
            facts.is_saved = true;
            sniff::scan(part.input, part.start..part.end, &mut facts);
        } else {
            Decoder::new(self.cutter.clone(), self.lengths(input)).each(part.input, part.start..part.end, &mut facts);
        }
        facts
    }

    fn join(&self, _bytes: &[u8], facts: &mut Self::Facts, next: ScanFacts) {
        match facts {
            None => *facts = Some(Box::new(next)),
            Some(facts) => facts.append(next),
        }
    }

    fn finish(self, facts: Vec<Self::Facts>, ledgers: &mut [Ledger]) -> Stages<Decoders, Resolver> {
        let mut decoders = Vec::new();
        let mut setups = Vec::new();
        for (number, facts) in facts.into_iter().enumerate() {
            let mut facts = facts.unwrap_or_default();
            let options = self.inputs.get(number);
            let lengths = facts.lengths(&self.lengths(number));
            if facts.is_saved {
                let saved = std::mem::take(&mut facts.saved);
                let bad = saved.bad.clone();
                let packets = saved.into_records();
                // Only now that they are in order can the time fields be looked at.
                packets.iter().for_each(|packet| decode::Sink::packet(&mut *facts, *packet));
                decoders.push(InputDecoder::Saved { packets: packets.into(), bad: bad.into() });
            } else {
                decoders.push(InputDecoder::Stream(Box::new(Decoder::new(self.cutter.clone(), lengths.clone()))));
            }
            let core = options.and_then(|options| options.core).unwrap_or(u16::try_from(number).unwrap_or(u16::MAX));
            let timer = options.map(|options| options.timer).unwrap_or_default();
            setups.push(Setup { core, timer_options: timer, lengths, facts: *facts });
        }
        let resolver = Resolver::new(setups, ledgers);
        Stages { cores: resolver.cores(), decode: Decoders(decoders), resolve: resolver }
    }
}

/// A decoder for each input.
struct Decoders(Vec<InputDecoder>);

enum InputDecoder {
    Stream(Box<Decoder>),
    /// A saved measurement has been read already.
    Saved {
        packets: Arc<[Packet]>,
        bad: Arc<[Range<usize>]>,
    },
}

impl Decode for Decoders {
    type Records = Records;

    fn decode(&self, input: usize, part: Part<'_>, records: &mut Records) {
        let range = part.start..part.end;
        match self.0.get(input) {
            Some(InputDecoder::Stream(decoder)) => decoder.records_into(part.input, range, records),
            Some(InputDecoder::Saved { packets, bad }) => sniff::records_into(part.input, range, packets, bad, records),
            None => *records = Records::default(),
        }
    }
}
