//! QS, the software tracing of the QP real-time frameworks (QP/C and QP/C++). Its host program is QSPY.
//!
//! A capture is a chain of HDLC-like frames ([`frame`]), each one record ([`record`]) with a sequence number and a checksum. How wide
//! its fields are depends on the target ([`layout`]), which tells it in one record ([`info`]); where that is missing it is found out
//! ([`infer`]).

pub mod clockrate;
pub mod decode;
pub mod dic;
pub mod element;
pub mod encode;
pub mod frame;
pub mod infer;
pub mod info;
pub mod layout;
pub mod names;
mod probe;
pub mod record;
pub mod repair;
mod resolve;
pub mod scan;
pub mod sessions;

use super::{Decode, Facts, Format, FormatOptions, Parcel, Part, Probe, Scan, Stages};
use crate::model::{CoreId, Ledger, Rate};
use decode::{Decoder, Records};
use resolve::Resolver;
use scan::{Collector, ScanFacts, Wanted};
use sessions::{Sessions, Told};

/// The format's entry in the registry.
pub struct Qs;

impl Format for Qs {
    fn name(&self) -> &'static str {
        "qs"
    }

    fn title(&self) -> &'static str {
        "QP/Spy (QS)"
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
        decode::cut(input, at)
    }

    fn scan(&self, _input: usize, part: Part<'_>) -> Parcel {
        Box::new(Collector::scan(part.input, part.start..part.end, Wanted { time_events: false }))
    }

    fn add(&self, before: Option<Parcel>, part: Parcel) -> Parcel {
        let before = before.and_then(|before| before.downcast::<Collector>().ok());
        let mut collector = before.unwrap_or_default();
        if let Ok(part) = part.downcast::<ScanFacts>() {
            collector.add_part(*part);
        }
        collector
    }

    fn finish(self: Box<Self>, facts: Vec<Option<Parcel>>, _ledgers: &mut [Ledger]) -> Stages {
        let collected = |facts: Option<Parcel>| facts.and_then(|facts| facts.downcast::<Collector>().ok());
        let facts: Vec<ScanFacts> =
            facts.into_iter().map(|facts| collected(facts).map(|collector| collector.finish()).unwrap_or_default()).collect();
        let told = Told::default();
        let sessions: Vec<Sessions> = facts.iter().map(|facts| Sessions::new(facts, &told)).collect();
        let decoders = Decoders(sessions.iter().map(|sessions| Decoder::new(sessions.segments())).collect());
        let clock = match self.inputs.first().and_then(|options| options.clock) {
            Some(rate) => (rate, "given by an option"),
            None => (Rate::from_ns_per_tick(1000).unwrap_or(Rate::NANOSECOND), "assumed, the capture does not tell"),
        };
        let cores = (0..sessions.len()).map(|core| vec![CoreId(core as u16)]).collect();
        let facts = Facts { system: Some("QP"), cores: sessions.len() as u16, begins_midway: true, ..Facts::default() };
        let resolver = Resolver::new(sessions, clock, facts);
        Stages { cores, decode: Box::new(decoders), resolve: Box::new(resolver) }
    }
}

/// A decoder for each input.
struct Decoders(Vec<Decoder>);

impl Decode for Decoders {
    fn decode(&self, input: usize, part: Part<'_>, spare: Option<Parcel>) -> Parcel {
        let spare = spare.and_then(|spare| spare.downcast::<Records>().ok());
        let mut records = spare.unwrap_or_default();
        if let Some(decoder) = self.0.get(input) {
            decoder.records_into(part.input, part.start..part.end, &mut records);
        }
        records
    }
}
