//! MiniProfiler: completed calls of functions, told over a serial line as they end.
//!
//! The firmware is built with `-finstrument-functions`; its hooks take the time. A device answers commands of a host with packets
//! ([`record`]), most of them with records of calls: address, entry, duration, depth. There are no sequence numbers, and no time but
//! that of the calls.

pub mod crc;
pub mod decode;
pub mod encode;
pub mod generate;
mod options;
pub mod packet;
mod probe;
pub mod record;
mod resolve;
pub mod scan;

use std::sync::{Mutex, PoisonError};

use super::{Decode, ErasedRecording, Format, FormatOptions, OptionError, OptionSpec, Part, Probe, Recording, Stages, erase};
use crate::frame::sync;
use crate::model::{CoreId, Ledger};
use decode::Packets;
use options::Options;
use packet::{Framing, lock_on};
use record::Reading;
use resolve::Resolver;
use scan::ScanFacts;

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
        "packets whose length leads to an end byte and whose CRC is right"
    }

    fn probe(&self, sample: &[u8], whole: bool) -> Option<Probe> {
        probe::probe(sample, whole)
    }

    fn options(&self) -> &'static [OptionSpec] {
        options::SPECS
    }

    fn open(&self, inputs: &[FormatOptions]) -> Result<Box<dyn ErasedRecording>, OptionError> {
        let options = inputs.first().map(Options::new).transpose()?.unwrap_or_default();
        // Several inputs are recordings of several cores.
        let cores = (0..).zip(inputs).map(|(index, input)| CoreId(input.core.unwrap_or(index))).collect();
        Ok(erase(Scanner { options, cores, readings: Mutex::default() }))
    }
}

/// How one input is read.
pub(crate) struct Source {
    core: CoreId,
    reading: Lock,
}

/// A reading, and how many packets speak for it; none if there are no packets.
type Lock = Option<(Reading, usize)>;

impl Source {
    fn reading(&self) -> Reading {
        self.reading.map_or(Reading::DOCUMENT_DUMP, |(reading, _)| reading)
    }
}

/// Where an input lies in memory, and how long it is: tells inputs apart where they have no number.
type Place = (usize, usize);

/// The first pass over a recording.
struct Scanner {
    options: Options,
    cores: Vec<CoreId>,
    /// What was locked on to in each input: depends on its bytes alone, and is kept only to be found once.
    readings: Mutex<Vec<(Place, Lock)>>,
}

impl Scanner {
    fn lock(&self, input: &[u8]) -> Lock {
        let place = (input.as_ptr().addr(), input.len());
        let mut readings = self.readings.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, found)) = readings.iter().find(|(known, _)| *known == place) {
            return *found;
        }
        let found = lock_on(input);
        readings.push((place, found));
        found
    }

    fn reading(&self, input: &[u8]) -> Reading {
        self.lock(input).map_or(Reading::DOCUMENT_DUMP, |(reading, _)| reading)
    }
}

/// What the first pass collects: the facts, and the reading that they were found with.
struct Collected {
    facts: ScanFacts,
    reading: Lock,
}

impl Recording for Scanner {
    type PartFacts = Collected;
    type Facts = Option<Collected>;
    type Decoder = Decoders;
    type Resolver = Resolver;

    fn cut(&self, input: &[u8], at: usize) -> usize {
        sync::cut(&Framing::new(self.reading(input)), input, at)
    }

    fn scan(&self, _input: usize, part: Part<'_>) -> Collected {
        let reading = self.lock(part.input);
        let used = reading.map_or(Reading::DOCUMENT_DUMP, |(reading, _)| reading);
        Collected { facts: ScanFacts::scan(used, part.input, part.start..part.end), reading }
    }

    fn join(&self, _bytes: &[u8], facts: &mut Option<Collected>, next: Collected) {
        match facts {
            None => *facts = Some(next),
            Some(collected) => collected.facts.add(next.facts),
        }
    }

    fn finish(self, collected: Vec<Option<Collected>>, ledgers: &mut [Ledger]) -> Stages<Decoders, Resolver> {
        let sources: Vec<Source> = (0..)
            .zip(&collected)
            .map(|(index, collected)| Source {
                core: self.cores.get(index).copied().unwrap_or_default(),
                reading: collected.as_ref().and_then(|collected| collected.reading),
            })
            .collect();
        let facts = collected.into_iter().map(|collected| collected.map(|collected| collected.facts)).collect();
        let decoders = Decoders(sources.iter().map(Source::reading).collect());
        let resolver = Resolver::new(self.options, &sources, facts, ledgers);
        Stages { cores: resolver.cores(), decode: decoders, resolve: resolver }
    }
}

/// The reading of each input.
struct Decoders(Vec<Reading>);

impl Decode for Decoders {
    type Records = Packets;

    fn decode(&self, input: usize, part: Part<'_>, packets: &mut Packets) {
        match self.0.get(input) {
            Some(&reading) => decode::packets_into(reading, part.input, part.start..part.end, packets),
            None => *packets = Packets::default(),
        }
    }
}
