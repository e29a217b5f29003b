//! The STP transport: messages in the packets of MIPI STPv2, maybe in CoreSight frames.
//!
//! The stream is made of nibbles, the low one of a byte first. [`packets`] reads the packets, [`assembly`] makes messages of them, and
//! [`stream`] does both for a stream in file order. Everything has a memory: the present master and channel, the time, open messages.
//! An ASYNC with its VERSION resets all of it except the time and the open messages, so parts are decoded ahead from there
//! ([`predecode`]). Streams in CoreSight frames are decoded in file order ([`framed`]), and so are those whose clients depend on builds.
//! [`survey`] is the first pass.

mod anchors;
mod assembly;
#[cfg(any(test, feature = "generate"))]
pub mod encode;
mod framed;
mod packets;
mod predecode;
mod stream;
mod survey;

#[cfg(test)]
mod tests;

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use self::anchors::{Bound, admits, bounds, recorded_hz};
use self::assembly::MessageSink;
use self::framed::FramedReader;
pub use self::packets::NibbleOrder;
use self::predecode::{Predecoded, add_frame};
use self::stream::Stream;
use self::survey::{Evidence, Head, InFrames, PartFacts, StreamFacts, source_in_frames};
use super::correlation::{ASSUMED, CORRELATED, GIVEN, Pairs, RECORDED, TransportClock};
use super::decode::{Context, Decoder, Records};
use super::decoded::{Notice, Stored};
use super::resolve::{Progress, Resolver, Sequence};
use super::scan::MessageFacts;
use super::settings::{Settings, parse_rate};
use crate::format::options::overridden_rate;
use crate::format::{
    Decode, Detail, ErasedRecording, FormatOptions, OptionError, OptionKind, OptionSpec, Part, Probe, Recording, Stages, erase,
};
use crate::frame::tpiu::{Framed, UNKNOWN};
use crate::model::{Ledger, Rate, counted};

/// `--stp-freq`.
pub(super) const STP_HZ: OptionSpec = OptionSpec::once("stp-freq", OptionKind::Text("N[/D]"), "The frequency of the STP clock");

/// `--stp-nibbles`.
pub(super) const NIBBLES: OptionSpec =
    OptionSpec::once("stp-nibbles", OptionKind::Text("ORDER"), "The order of nibbles in STP values: msb, lsb or auto");

/// `--stp-source`.
pub(super) const SOURCE: OptionSpec = OptionSpec::once(
    "stp-source",
    OptionKind::Text("ID"),
    "The source in CoreSight frames that is the STP stream, 1 to 111 (default: the one with the most messages)",
);

/// How many bytes of a sample are inspected.
const SAMPLE_BYTES: usize = 64 << 10;

/// The shortest run of bytes of ones in an ASYNC.
const ASYNC_BYTES: [u8; 10] = [0xFF; 10];

/// Whether a sample is an STPv2 stream, maybe in CoreSight frames.
pub(super) fn probe(sample: &[u8]) -> Option<Probe> {
    let sample = sample.get(..SAMPLE_BYTES).unwrap_or(sample);
    if let Some(at) = memchr::memmem::find(sample, &ASYNC_BYTES) {
        let evidence = Evidence::of(sample.get(at.saturating_sub(1)..).unwrap_or(&[]));
        if let Some(probe) = judge(&evidence, &format!("ASYNC at byte {at}")) {
            return Some(probe);
        }
    }
    let InFrames { framed: Framed { source, place }, evidence, .. } = source_in_frames(sample, None)?;
    let before = if place > 0 { ", which begin before the first byte" } else { "" };
    let of = if source == UNKNOWN { String::new() } else { format!("source {source} of ") };
    judge(&evidence, &format!("ASYNC in {of}CoreSight frames{before}"))
}

fn judge(evidence: &Evidence, place: &str) -> Option<Probe> {
    let reading = evidence.reading(evidence.order());
    if reading.messages == 0 {
        // Synchronisation alone is weak evidence: the stream may carry something else.
        return (reading.hz.is_some() && reading.unsynced == 0)
            .then(|| Probe { score: 60, reason: format!("{place} and the frequency of an STP clock") });
    }
    let share = reading.legal as f64 / reading.messages as f64;
    // Damage makes illegal messages of legal ones. But nothing else has many legal ones, and in one order of nibbles only.
    let in_other_order = evidence.msb.legal.min(evidence.lsb.legal);
    let is_damaged = share >= 0.2 && reading.legal >= 8 && reading.legal >= 4 * in_other_order;
    if share < 0.5 && !is_damaged {
        return None;
    }
    let score = (55.0 + 43.0 * share) as u8;
    let verb = if reading.legal == 1 { "has" } else { "have" };
    Some(Probe {
        score,
        reason: format!("{place}; {} of {} after it {verb} a legal header", reading.legal, counted(reading.messages, "message")),
    })
}

/// Starts reading recordings.
pub(super) fn open(inputs: &[FormatOptions]) -> Result<Box<dyn ErasedRecording>, OptionError> {
    let settings = Settings::parse(inputs)?;
    let (mut rate, mut order, mut source) = (None, None, None);
    if let Some(options) = inputs.first() {
        // The general option for the clock is about the clock that times are made with.
        rate = parse_rate(options, &STP_HZ)?.or(options.clock);
        order = match options.text(NIBBLES.name) {
            None | Some("auto") => None,
            Some("msb") => Some(NibbleOrder::Msb),
            Some("lsb") => Some(NibbleOrder::Lsb),
            Some(other) => {
                let expected = "msb, lsb or auto is expected".to_owned();
                return Err(OptionError { option: NIBBLES.name, found: format!("{other:?} is not an order"), expected });
            }
        };
        let read = |text: &str| match text.parse() {
            Ok(source @ 1..=0x6F) => Ok(source),
            _ => Err(OptionError {
                option: SOURCE.name,
                found: format!("{text:?} is not a source"),
                expected: "a number from 1 to 111 is expected".to_owned(),
            }),
        };
        source = options.text(SOURCE.name).map(read).transpose()?;
    }
    let heads = inputs.iter().map(|_| OnceLock::new()).collect();
    Ok(erase(StpRecording { settings, rate, order, source, heads }))
}

/// The first pass.
struct StpRecording {
    settings: Settings,
    /// The rate of the transport's clock, given by an option.
    rate: Option<Rate>,
    /// The order of nibbles, given by an option.
    order: Option<NibbleOrder>,
    /// The source in CoreSight frames, given by an option.
    source: Option<u8>,
    /// The head of each input, read by the first thread that needs it.
    heads: Vec<OnceLock<Head>>,
}

impl Recording for StpRecording {
    type PartFacts = PartFacts;
    type Facts = StreamFacts;
    type Decoder = StpDecoder;
    type Resolver = Resolver<StpSequence>;

    fn cut(&self, input: &[u8], at: usize) -> usize {
        // Parts are joined in file order.
        at.min(input.len())
    }

    fn scan(&self, input: usize, part: Part<'_>) -> PartFacts {
        let Some(head) = self.heads.get(input) else { return PartFacts::default() };
        let head = head.get_or_init(|| Head::of(part.input, self.order, self.rate, self.source));
        head.scan(part)
    }

    fn join(&self, bytes: &[u8], facts: &mut StreamFacts, next: PartFacts) {
        facts.join(bytes, next);
    }

    fn finish(self, facts: Vec<StreamFacts>, _ledgers: &mut [Ledger]) -> Stages<StpDecoder, Resolver<StpSequence>> {
        let order = |facts: &StreamFacts| self.order.unwrap_or(facts.evidence.order());
        // Frames have to be unpacked in file order, and so have builds to be followed that choose clients.
        let is_predecoded = |facts: &StreamFacts| facts.source.is_none() && !self.settings.collateral.has_builds();
        let bounds: Vec<Arc<[Bound]>> = facts.iter().map(|facts| bounds(facts.anchors.all(), facts.is_tail_damaged)).collect();
        let decoder = |(facts, bounds): (&StreamFacts, &Arc<[Bound]>)| StpPartDecoder {
            decoder: self.settings.decoder(None),
            order: is_predecoded(facts).then(|| order(facts)),
            bounds: Arc::clone(bounds),
        };
        let decoders = facts.iter().zip(&bounds).map(decoder).collect();
        let inputs = facts
            .into_iter()
            .zip(bounds)
            .map(|(facts, bounds)| {
                let order = match self.order {
                    Some(order) => (order, "--stp-nibbles"),
                    None => (facts.evidence.order(), "inferred: more messages are legal in this order"),
                };
                let clock = transport_clock(&facts, &bounds, order.0, self.rate);
                let sequence = StpSequence {
                    decoder: self.settings.decoder(None),
                    stream: Stream::new(order.0).with_bounds(bounds),
                    order,
                    framed: facts.source.map(|framed| FramedReader::new(framed, order.0)),
                    wanted: self.source,
                    others: facts.others,
                    records: Records::default(),
                    interleaving: Interleaving::default(),
                };
                (sequence, MessageFacts::default(), Some(clock))
            })
            .collect();
        let resolve = Resolver::new(&self.settings, inputs);
        Stages { cores: resolve.cores(), decode: StpDecoder(decoders), resolve }
    }
}

/// The transport's clock: its rate is given by an option, recorded in the stream, or follows from clock messages.
fn transport_clock(facts: &StreamFacts, bounds: &[Bound], order: NibbleOrder, given: Option<Rate>) -> TransportClock {
    let hz = recorded_hz(facts.anchors.all()).or(facts.evidence.reading(order).hz);
    let recorded = hz.and_then(|hz| Rate::from_hz(hz, 1));
    let pairs = facts.pairs().iter().filter(|pair| admits(bounds, pair.offset, pair.transport));
    let mut pairs = Pairs::new(&pairs.copied().collect::<Vec<_>>());
    let (rate, source) = match (given, recorded, pairs.transport_rate()) {
        (Some(rate), ..) => (rate, GIVEN),
        (None, Some(rate), _) => (rate, RECORDED),
        (None, None, Some(rate)) => {
            pairs.set_transport_rate(rate);
            (rate, CORRELATED)
        }
        (None, None, None) => (Rate::NANOSECOND, ASSUMED),
    };
    TransportClock { rate, source, overridden: overridden_rate(given, recorded), pairs }
}

/// A part of a stream: where it is in the input, and the records decoded ahead.
#[derive(Debug, Default)]
pub(super) struct StpPart {
    start: usize,
    end: usize,
    predecoded: Predecoded,
}

/// The parallel stage of the second pass, for each input.
struct StpDecoder(Vec<StpPartDecoder>);

/// The same for one input.
struct StpPartDecoder {
    decoder: Decoder,
    /// The order of nibbles if parts are decoded ahead.
    order: Option<NibbleOrder>,
    bounds: Arc<[Bound]>,
}

impl Decode for StpDecoder {
    type Records = StpPart;

    fn decode(&self, input: usize, part: Part<'_>, records: &mut StpPart) {
        (records.start, records.end) = (part.start, part.end);
        match self.0.get(input) {
            Some(StpPartDecoder { decoder, order: Some(order), bounds }) => {
                records.predecoded.decode(decoder, *order, bounds, part);
            }
            _ => records.predecoded.forget(),
        }
    }
}

/// The ordered stage for one input: the stream in file order.
pub(super) struct StpSequence {
    decoder: Decoder,
    stream: Stream,
    /// The order of nibbles, and where it is known from.
    order: (NibbleOrder, &'static str),
    /// Unpacks CoreSight frames with the stream of a source.
    framed: Option<FramedReader>,
    /// The source given by an option, and the other sources that are streams.
    wanted: Option<u8>,
    others: Vec<u8>,
    /// Records decoded here.
    records: Records,
    interleaving: Interleaving,
}

impl Sequence for StpSequence {
    type Part = StpPart;

    // The packets of a malformed message were decoded.
    const SKIPS_MALFORMED: bool = false;

    fn next(&mut self, input: &[u8], part: &mut StpPart, each: impl FnMut(&Records, Range<usize>)) -> Progress {
        let is_last = part.end >= input.len();
        // Messages that began before the part may end in it: offsets count from the oldest one.
        self.records.reset(self.stream.oldest_offset());
        self.interleaving.clear();
        let mut sink = RecordSink { records: &mut self.records, decoder: &self.decoder, interleaving: &mut self.interleaving };
        match &mut self.framed {
            None => self.stream.push_part(input, part.end, &mut part.predecoded, &mut sink),
            Some(framed) => framed.push(input, part.end, &mut self.stream, &mut sink),
        }
        self.records.finish(&self.decoder);
        let progress = Progress { end_bytes: part.end as u64, is_last };
        self.interleaving.each(&self.records, &mut part.predecoded.records, each);
        progress
    }

    fn details(&self) -> Vec<Detail> {
        let detail = |name, value: String, source: &str| Detail { name, value, source: source.to_owned() };
        let source = self.framed.as_ref().map(FramedReader::source);
        let transport = match source {
            Some(UNKNOWN) => "STPv2 in CoreSight frames".to_owned(),
            Some(source) => format!("STPv2 of source {source} in CoreSight frames"),
            None => "STPv2".to_owned(),
        };
        let transport_source = match (self.wanted, source) {
            (Some(wanted), Some(source)) if wanted == source => "given by an option".to_owned(),
            (Some(wanted), _) => format!("--stp-source {wanted} is not used: no frames contain an STP stream of this source"),
            (None, Some(_)) => "inferred: the frames contain an STP stream".to_owned(),
            (None, None) => "the input's format".to_owned(),
        };
        let (order, source) = self.order;
        let order = match order {
            NibbleOrder::Msb => "most significant first",
            NibbleOrder::Lsb => "least significant first",
        };
        let mut details = vec![detail("transport", transport, &transport_source), detail("nibble order", order.into(), source)];
        if let Some(first) = self.others.first() {
            let others: Vec<String> = self.others.iter().map(u8::to_string).collect();
            let value = format!("{}; not read", others.join(", "));
            let source = format!("inferred: STP streams of other sources; --stp-source {first} reads one instead");
            details.push(detail("other sources", value, &source));
        }
        details
    }
}

/// Decodes messages into records, and notes where records decoded ahead come between them.
struct RecordSink<'a> {
    records: &'a mut Records,
    decoder: &'a Decoder,
    interleaving: &'a mut Interleaving,
}

impl RecordSink<'_> {
    #[inline]
    fn added(&mut self) {
        self.interleaving.own = self.records.stored.len();
        self.interleaving.add(false);
    }
}

impl MessageSink for RecordSink<'_> {
    #[inline]
    fn frame(&mut self, frame: &[u8], context: Context, is_whole: bool) {
        add_frame(self.records, self.decoder, frame, context, is_whole);
        self.added();
    }

    fn notice(&mut self, notice: Notice, value: u64, context: Context) {
        self.records.add_notice(notice, value, context);
        self.added();
    }

    #[inline]
    fn predecoded(&mut self, record: u32) {
        self.interleaving.predecoded.push(record);
        self.interleaving.add(true);
    }
}

/// The order of records of two tables: those decoded ahead, and those decoded in the ordered stage.
#[derive(Default)]
struct Interleaving {
    /// The records decoded ahead, in order.
    predecoded: Vec<u32>,
    /// The number of the others.
    own: usize,
    /// Runs: whether they were decoded ahead, and where they end in their table.
    runs: Vec<(bool, usize)>,
    sorted: Vec<Stored>,
    /// The records of many runs.
    all: Records,
}

/// If there are more runs than this, records are copied into one table. Each change of tables costs the resolver a copy of all texts of
/// a table. A healthy stream has two runs, because messages are passed on in the order in which they began.
const RUNS_LIMIT: usize = 4;

impl Interleaving {
    fn clear(&mut self) {
        self.predecoded.clear();
        self.runs.clear();
        self.own = 0;
    }

    #[inline]
    fn add(&mut self, is_predecoded: bool) {
        let end = if is_predecoded { self.predecoded.len() } else { self.own };
        match self.runs.last_mut() {
            Some((last, to)) if *last == is_predecoded => *to = end,
            _ => self.runs.push((is_predecoded, end)),
        }
    }

    /// Passes all records in order.
    fn each(&mut self, own: &Records, predecoded: &mut Records, mut each: impl FnMut(&Records, Range<usize>)) {
        let is_in_order = self.predecoded.iter().enumerate().all(|(place, &record)| place == record as usize);
        if !is_in_order {
            self.sorted.clear();
            self.sorted.extend(self.predecoded.iter().filter_map(|&record| predecoded.stored.get(record as usize)));
            std::mem::swap(&mut self.sorted, &mut predecoded.stored);
        }
        let many = self.runs.len() > RUNS_LIMIT;
        if many {
            self.all.reset(own.base.min(predecoded.base));
        }
        let mut from = [0, 0];
        for &(is_predecoded, to) in &self.runs {
            let records = if is_predecoded { &*predecoded } else { own };
            let range = std::mem::replace(&mut from[usize::from(is_predecoded)], to)..to;
            if many {
                self.all.append(records, records.stored.get(range).unwrap_or(&[]));
            } else {
                each(records, range);
            }
        }
        if many {
            each(&self.all, 0..self.all.stored.len());
        }
    }
}
