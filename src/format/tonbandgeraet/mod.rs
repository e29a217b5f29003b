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
use decode::{DELIMITER, Decoder};
use resolve::Resolver;
use scan::ScanFacts;

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

    fn open(&self, options: &FormatOptions) -> Box<dyn Scan> {
        Box::new(Scanner { options: options.clone() })
    }
}

/// The first pass over one input.
struct Scanner {
    options: FormatOptions,
}

impl Scan for Scanner {
    fn cut(&self, input: &[u8], at: usize) -> usize {
        split::cut::<DELIMITER>(input, at)
    }

    fn scan(&self, part: Part<'_>) -> Parcel {
        Box::new(ScanFacts::scan(part.input, part.start..part.end))
    }

    fn finish(self: Box<Self>, facts: Vec<Parcel>) -> Stages {
        let parts = facts.into_iter().filter_map(|parcel| parcel.downcast::<ScanFacts>().ok());
        let mut facts = ScanFacts::merge(parts.map(|facts| *facts));
        let mode = self.options.mode.unwrap_or_else(|| facts.mode());
        if mode == Mode::BareMetal {
            facts.metadata.retain(|metadata| metadata.record.id() < record::FIRST_FREERTOS_ID);
        }
        let decoder = Decoder { mode };
        Stages { decode: Box::new(decoder), resolve: Box::new(Resolver::new(&self.options, facts)) }
    }
}
