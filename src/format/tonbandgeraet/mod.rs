//! Tonbandgerät: a tracer for bare-metal and FreeRTOS targets.
//!
//! A capture is a chain of COBS frames, each one event, and nothing else: no header, no checksum, no lengths. Times are absolute
//! ticks of the target's timer. Nothing in it says whether the target ran FreeRTOS; the ids of its events do.

pub mod decode;
pub mod encode;
mod field;
pub mod generate;
mod probe;
pub mod record;
mod resolve;
pub mod scan;
#[cfg(test)]
mod tests;

use super::{Format, FormatOptions, Mode, Parcel, Part, Probe, Scan, Stages};
use crate::frame::split;
use crate::model::Ledger;
use decode::{DELIMITER, Decoder};
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

    fn probe(&self, sample: &[u8], whole: bool) -> Option<Probe> {
        probe::probe(sample, whole)
    }

    fn open(&self, inputs: &[FormatOptions]) -> Box<dyn Scan> {
        Box::new(Scanner { inputs: inputs.to_vec() })
    }
}

/// The first pass over a recording.
struct Scanner {
    inputs: Vec<FormatOptions>,
}

impl Scan for Scanner {
    fn cut(&self, input: &[u8], at: usize) -> usize {
        split::cut::<DELIMITER>(input, at)
    }

    fn scan(&self, _input: usize, part: Part<'_>) -> Parcel {
        Box::new(ScanFacts::scan(part.input, part.start..part.end))
    }

    fn add(&self, before: Option<Parcel>, part: Parcel) -> Parcel {
        let before = before.and_then(|before| before.downcast::<Collector>().ok());
        let mut collector = before.unwrap_or_default();
        if let Ok(part) = part.downcast::<ScanFacts>() {
            collector.add_part(*part);
        }
        collector
    }

    fn finish(self: Box<Self>, facts: Vec<Option<Parcel>>, ledgers: &mut [Ledger]) -> Stages {
        let collected = |facts: Option<Parcel>| facts.and_then(|facts| facts.downcast::<Collector>().ok());
        let mut facts: Vec<ScanFacts> =
            facts.into_iter().map(|facts| collected(facts).map(|collector| collector.finish()).unwrap_or_default()).collect();
        let told = self.inputs.iter().find_map(|options| options.mode);
        let found = if facts.iter().any(|facts| facts.mode() == Mode::FreeRtos) { Mode::FreeRtos } else { Mode::BareMetal };
        let mode = told.unwrap_or(found);
        if mode == Mode::BareMetal {
            for facts in &mut facts {
                facts.metadata.retain(|metadata| metadata.record.id() < record::FIRST_FREERTOS_ID);
            }
        }
        let resolver = Resolver::new(&self.inputs, facts, mode, ledgers);
        Stages { cores: resolver.cores(), decode: Box::new(Decoder { mode }), resolve: Box::new(resolver) }
    }
}
