//! Tonbandgerät: a tracer for bare-metal and FreeRTOS targets.
//!
//! A capture is a chain of COBS frames, each one event, and nothing else: no header, no checksum, no lengths.
//!
//! In the plain format times are absolute ticks of the target's timer, and nothing says whether the target ran FreeRTOS; the ids
//! of its events do. The superset, which the library in `target/` sends, has more events, times relative to the event before, and
//! sync frames ([`sync`]) that tell the clock, the cores, the absolute time, and what was lost. `target/FORMAT.md` describes both.
//! Which one a capture is in is told by its frames.

pub mod decode;
pub mod encode;
mod events;
mod field;
pub mod generate;
mod probe;
pub mod record;
mod resolve;
mod ring;
pub mod scan;
#[cfg(test)]
mod superset_tests;
pub mod sync;
#[cfg(test)]
mod tests;

use super::{
    Decode, ErasedRecording, Format, FormatOptions, Kept, MemoryMark, Mode, OptionError, Part, Probe, Recording, Stages, erase,
};
use crate::frame::split;
use crate::model::Ledger;
use decode::{DELIMITER, Decoder, Records, Wire};
use resolve::Resolver;
use scan::{Collector, ScanFacts};

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

    fn open(&self, inputs: &[FormatOptions]) -> Result<Box<dyn ErasedRecording>, OptionError> {
        Ok(erase(Scanner { inputs: inputs.to_vec() }))
    }

    fn memory_marks(&self) -> &'static [MemoryMark] {
        ring::MARKS
    }

    fn read_memory(&self, image: &[u8], at: usize) -> Result<Kept, String> {
        ring::read(image, at)
    }
}

/// The first pass over a recording.
struct Scanner {
    inputs: Vec<FormatOptions>,
}

impl Recording for Scanner {
    type PartFacts = ScanFacts;
    type Facts = Collector;
    type Decoder = Decoders;
    type Resolver = Resolver;

    fn cut(&self, input: &[u8], at: usize) -> usize {
        split::cut::<DELIMITER>(input, at)
    }

    fn scan(&self, _input: usize, part: Part<'_>) -> ScanFacts {
        ScanFacts::scan(part.input, part.start..part.end)
    }

    fn join(&self, _bytes: &[u8], facts: &mut Collector, next: ScanFacts) {
        facts.add_part(next);
    }

    fn finish(self, facts: Vec<Collector>, ledgers: &mut [Ledger]) -> Stages<Decoders, Resolver> {
        let mut facts: Vec<ScanFacts> = facts.into_iter().map(Collector::finish).collect();
        let told = self.inputs.iter().find_map(|options| options.mode);
        let found = if facts.iter().any(|facts| facts.mode() == Mode::FreeRtos) { Mode::FreeRtos } else { Mode::BareMetal };
        let mode = told.unwrap_or(found);
        let wires: Vec<Wire> = facts.iter().map(ScanFacts::wire).collect();
        for (facts, &wire) in facts.iter_mut().zip(&wires) {
            facts.retain(wire, mode);
        }
        let resolver = Resolver::new(&self.inputs, facts, mode, ledgers);
        let decoders = Decoders(wires.iter().map(|&wire| Decoder::new(wire, mode)).collect());
        Stages { cores: resolver.cores(), decode: decoders, resolve: resolver }
    }
}

/// A decoder for each input: one may be written in the plain format, another in the superset.
struct Decoders(Vec<Decoder>);

impl Decode for Decoders {
    type Records = Records;

    fn decode(&self, input: usize, part: Part<'_>, records: &mut Records) {
        match self.0.get(input) {
            Some(decoder) => decoder.records_into(part.input, part.start..part.end, records),
            None => *records = Records::default(),
        }
    }
}
