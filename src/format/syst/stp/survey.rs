//! The first pass over a stream: the order of its nibbles, the rate of its clock, and its clock messages.
//!
//! Senders disagree about the order of nibbles, and nothing in the stream states it. But messages show it: in the right order nearly
//! all have a legal header, in the wrong one nearly none ([`Evidence`]).
//!
//! Clock messages pair readings of the message clock with times of the transport. Both neighbours of a message must be known to place
//! it between them, so the first pass reads the whole stream for them ([`Correlator`]). That costs as much as the second pass, so it
//! is done only if the head of the stream has clock messages and something that needs them.

use super::ASYNC_BYTES;
use super::anchors::{Anchor, anchors, is_tail_damaged};
use super::assembly::MessageSink;
use super::framed::FramedReader;
use super::packets::NibbleOrder;
use super::stream::Stream;
use crate::format::Part;
use crate::format::syst::collateral::Sender;
use crate::format::syst::correlation::{Line, Owner, Pair};
use crate::format::syst::decode::Context;
use crate::format::syst::decoded::Notice;
use crate::format::syst::record::{Header, Marks, Message};
use crate::frame::tpiu::{self, Deframer, Framed, UNKNOWN};
use crate::model::{Rate, Thinned};

/// How many bytes of a piece are read as evidence.
const SAMPLE_BYTES: usize = 16 << 10;

/// How many bytes of the head are searched for CoreSight frames.
const FRAMES_BYTES: usize = 64 << 10;

/// Three bytes of an ASYNC in such frames, wherever these begin: even bytes are without their bit 0.
const ASYNC_IN_FRAMES: [u8; 3] = [0xFE, 0xFF, 0xFE];
/// All bytes of the ASYNC are at most this far before and after them, unless other sources come between.
const ASYNC_REACH: usize = 12;

/// The length of the head of a stream, in bytes. The same for all windows.
const HEAD_BYTES: usize = 256 << 10;

/// A stream read in both orders of nibbles.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Evidence {
    /// Read most significant nibble first.
    pub msb: Reading,
    /// Read least significant nibble first.
    pub lsb: Reading,
}

/// A stream read in one order of nibbles.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reading {
    /// The number of messages.
    pub messages: u64,
    /// How many of them have a legal header, and a fitting checksum if they have one.
    pub legal: u64,
    /// The first frequency of the clock, in Hz.
    pub hz: Option<u64>,
    /// How often an unknown packet ended synchronisation.
    pub unsynced: u64,
    /// Damage after which other data may look like a frequency.
    is_damaged: bool,
}

impl MessageSink for Reading {
    fn frame(&mut self, frame: &[u8], _: Context, is_whole: bool) {
        let is_legal = is_legal(frame);
        if is_whole {
            self.messages += 1;
            self.legal += u64::from(is_legal);
        }
        self.is_damaged = !is_legal;
    }

    fn notice(&mut self, notice: Notice, value: u64, _: Context) {
        match notice {
            Notice::Frequency if value != 0 && !self.is_damaged => self.hz = self.hz.or(Some(value)),
            Notice::UnknownPacket => self.unsynced += 1,
            _ => {}
        }
        self.is_damaged = is_damage(notice).unwrap_or(self.is_damaged);
    }
}

fn is_legal(frame: &[u8]) -> bool {
    Message::read_frame(frame).is_ok_and(|message| message.marks.0 == 0)
}

/// Whether packets after it are read at wrong nibbles, as far as is known; `None` if it says nothing about that.
fn is_damage(notice: Notice) -> Option<bool> {
    match notice {
        // An ASYNC ends it.
        Notice::Unsynced => Some(false),
        Notice::Frequency | Notice::Trigger | Notice::MasterError | Notice::GlobalError | Notice::UnknownTime => None,
        _ => Some(true),
    }
}

impl Reading {
    /// Reads bytes as if they were all: the message cut off at their end is not whole and does not count.
    pub fn of(bytes: &[u8], order: NibbleOrder) -> Reading {
        let mut reading = Reading::default();
        Stream::new(order).push(bytes, &[], true, &mut reading);
        reading
    }
}

impl Evidence {
    /// Reads the start of some bytes of a stream.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Evidence {
        let sample = bytes.get(..SAMPLE_BYTES).unwrap_or(bytes);
        let read = |order| Reading::of(sample, order);
        Evidence { msb: read(NibbleOrder::Msb), lsb: read(NibbleOrder::Lsb) }
    }

    /// Adds the evidence of a later piece.
    pub fn add(&mut self, next: &Evidence) {
        for (all, next) in [(&mut self.msb, &next.msb), (&mut self.lsb, &next.lsb)] {
            all.messages += next.messages;
            all.legal += next.legal;
            all.hz = all.hz.or(next.hz);
            all.unsynced += next.unsynced;
        }
    }

    /// The order of nibbles: most significant first, unless the other order has more legal messages.
    #[must_use]
    pub fn order(&self) -> NibbleOrder {
        if self.lsb.legal > self.msb.legal { NibbleOrder::Lsb } else { NibbleOrder::Msb }
    }

    /// The stream read in an order.
    #[must_use]
    pub fn reading(&self, order: NibbleOrder) -> &Reading {
        if order == NibbleOrder::Lsb { &self.lsb } else { &self.msb }
    }
}

/// Where in frames an ASYNC may be. Other bytes have the three bytes too.
pub fn find_async(frames: &[u8]) -> Option<usize> {
    let is_async = |at: usize| {
        let near =
            frames.get(at.saturating_sub(ASYNC_REACH)..).unwrap_or(&[]).iter().take(2 * ASYNC_REACH + ASYNC_IN_FRAMES.len());
        near.filter(|&&byte| byte | 1 == 0xFF).count() >= ASYNC_BYTES.len()
    };
    memchr::memmem::find_iter(frames, &ASYNC_IN_FRAMES).find(|&at| is_async(at))
}

/// An STP stream in CoreSight frames.
#[derive(Debug)]
pub struct InFrames {
    pub framed: Framed,
    pub evidence: Evidence,
    /// The other sources in them that are STP streams.
    pub others: Vec<u8>,
}

/// The source in CoreSight frames whose stream has an ASYNC and the most messages, or the wanted one, if there is one. The input may begin
/// within a frame, and only the messages show where: the bits of a frame's last byte belong to the others.
pub fn source_in_frames(sample: &[u8], wanted: Option<u8>) -> Option<InFrames> {
    let sample = sample.get(..FRAMES_BYTES).unwrap_or(sample);
    // Unpacking takes time.
    find_async(sample)?;
    let legal = |source: u8, evidence: &Evidence| (wanted == Some(source), evidence.reading(evidence.order()).legal);
    let is_clear = |evidence: &Evidence| {
        let Reading { legal, messages, .. } = *evidence.reading(evidence.order());
        legal > 0 && 2 * legal > messages
    };
    let mut best: Option<InFrames> = None;
    for place in 0..tpiu::FRAME_BYTES {
        let read = |(source, bytes): (u8, Vec<u8>)| {
            let at = memchr::memmem::find(&bytes, &ASYNC_BYTES)?;
            Some((source, Evidence::of(bytes.get(at.saturating_sub(1)..).unwrap_or(&[]))))
        };
        let mut streams: Vec<(u8, Evidence)> = tpiu::sources(sample, place).into_iter().filter_map(read).collect();
        if !streams.iter().any(|(_, evidence)| is_clear(evidence)) {
            // The only source may have been named before the recording begins.
            let mut bytes = Vec::new();
            Deframer::within_frame(place).push(UNKNOWN, sample, 0, &mut bytes, &mut Vec::new());
            streams.extend(read((UNKNOWN, bytes)));
        }
        streams.sort_by_key(|(source, evidence)| std::cmp::Reverse(legal(*source, evidence)));
        let mut streams = streams.into_iter();
        let Some((source, evidence)) = streams.next() else { continue };
        if best.as_ref().is_none_or(|best| legal(source, &evidence) > legal(best.framed.source, &best.evidence)) {
            let others =
                streams.filter(|(source, evidence)| *source != UNKNOWN && is_clear(evidence)).map(|(source, _)| source).collect();
            best = Some(InFrames { framed: Framed { source, place }, evidence, others });
        }
        if place == 0 && best.as_ref().is_some_and(|best| is_clear(&best.evidence)) {
            break;
        }
    }
    best
}

/// What the first pass found out about a stream.
#[derive(Debug, Default)]
pub struct StreamFacts {
    /// The evidence for the order of nibbles.
    pub evidence: Evidence,
    /// The source of the stream in CoreSight frames, if the input consists of such, and those of other streams.
    pub source: Option<Framed>,
    pub others: Vec<u8>,
    /// The clock messages of the head.
    pairs: Vec<Pair>,
    /// Reads the whole stream for its clock messages, if they are needed.
    correlator: Option<Box<Correlator>>,
    /// The full time stamps, if the stream is the file itself.
    pub anchors: Thinned<Anchor>,
    /// What follows the last of them is damaged.
    pub is_tail_damaged: bool,
}

impl StreamFacts {
    /// The clock messages, in file order.
    pub fn pairs(&self) -> &[Pair] {
        self.correlator.as_ref().map_or(&self.pairs, |correlator| correlator.found.pairs.all())
    }

    /// Adds the facts of the next part of the input.
    pub fn join(&mut self, input: &[u8], next: PartFacts) {
        if let Some(first) = next.first {
            *self = first;
        }
        if let Some(correlator) = &mut self.correlator {
            correlator.push(input, next.end, next.end >= input.len());
        }
        self.is_tail_damaged |= next.is_tail_damaged;
        next.anchors.into_iter().for_each(|anchor| self.anchors.add(anchor));
    }
}

/// The same for a part of a stream.
#[derive(Default)]
pub struct PartFacts {
    /// The first part has the facts of the head.
    first: Option<StreamFacts>,
    /// The end of the part.
    end: usize,
    anchors: Vec<Anchor>,
    is_tail_damaged: bool,
}

/// The head of a stream.
#[derive(Debug)]
pub struct Head {
    evidence: Evidence,
    source: Option<Framed>,
    others: Vec<u8>,
    order: NibbleOrder,
    /// The clock's rate, and whether an option gives it.
    rate: (Option<Rate>, bool),
    pairs: Vec<Pair>,
    /// The whole stream is to be read for its clock messages.
    is_correlated: bool,
}

impl Head {
    /// Reads the head of an input. `order`, `rate` and `wanted`, the source in CoreSight frames, are those given by options.
    pub fn of(input: &[u8], order: Option<NibbleOrder>, rate: Option<Rate>, wanted: Option<u8>) -> Head {
        let bytes = input.get(..HEAD_BYTES).unwrap_or(input);
        // Sampled at several places: the first one may have few messages.
        let (mut evidence, mut source, mut others) = (Evidence::default(), None, Vec::new());
        bytes.chunks(HEAD_BYTES / 4).for_each(|chunk| evidence.add(&Evidence::of(chunk)));
        if evidence.reading(evidence.order()).legal == 0
            && let Some(found) = source_in_frames(bytes, wanted)
        {
            (source, evidence, others) = (Some(found.framed), found.evidence, found.others);
        }
        let order = order.unwrap_or(evidence.order());
        let recorded = evidence.reading(order).hz.and_then(|hz| Rate::from_hz(hz, 1));
        let rate = (rate.or(recorded), rate.is_some());
        let mut head = Head { evidence, source, others, order, rate, pairs: Vec::new(), is_correlated: false };
        let mut correlator = head.correlator();
        correlator.push(bytes, bytes.len(), bytes.len() == input.len());
        head.pairs = correlator.found.pairs.all().to_vec();
        // Pairs are needed for time stamps of messages, or for the rate of the transport's clock.
        head.is_correlated = !head.pairs.is_empty() && (correlator.found.has_timestamps || rate.0.is_none());
        head
    }

    fn correlator(&self) -> Correlator {
        Correlator::new(self.order, self.source, self.rate.0.unwrap_or(Rate::NANOSECOND), self.rate.1)
    }

    /// The facts of a part.
    pub fn scan(&self, part: Part<'_>) -> PartFacts {
        let is_last = part.end >= part.input.len();
        let anchors = match self.source {
            None => anchors(part.input, part.start..part.end, self.order),
            Some(_) => Vec::new(),
        };
        let is_tail_damaged = is_last && self.source.is_none() && is_tail_damaged(part.input, self.order);
        if part.start > 0 {
            return PartFacts { first: None, end: part.end, anchors, is_tail_damaged };
        }
        let correlator = self.is_correlated.then(|| Box::new(self.correlator()));
        let (evidence, others, pairs) = (self.evidence.clone(), self.others.clone(), self.pairs.clone());
        let first = StreamFacts { evidence, source: self.source, others, pairs, correlator, ..StreamFacts::default() };
        PartFacts { first: Some(first), end: part.end, anchors, is_tail_damaged }
    }
}

/// Reads a stream for its clock messages.
#[derive(Debug)]
struct Correlator {
    stream: Stream,
    framed: Option<FramedReader>,
    /// How many bytes were read.
    read_bytes: usize,
    found: ClockMessages,
}

/// The clock messages of a stream.
#[derive(Debug)]
struct ClockMessages {
    line: Line,
    rate_is_given: bool,
    /// The pairs so far, in file order.
    pairs: Thinned<Pair>,
    /// Whether messages have time stamps of their own.
    has_timestamps: bool,
    /// The last message, and whether a notice after it says that other data may look like a frequency.
    last: Vec<u8>,
    is_damaged: Option<bool>,
}

impl MessageSink for ClockMessages {
    #[inline]
    fn frame(&mut self, frame: &[u8], context: Context, is_whole: bool) {
        let Some(header) = Header::of(frame) else {
            self.is_damaged = Some(true);
            return;
        };
        self.has_timestamps |= header.is_timed();
        self.last.clear();
        self.last.extend_from_slice(frame);
        self.is_damaged = None;
        if header.0 & 0xF == 8 && is_whole {
            self.clock_message(frame, context);
        }
    }

    fn notice(&mut self, notice: Notice, value: u64, context: Context) {
        let is_damaged = || self.is_damaged.unwrap_or_else(|| !self.last.is_empty() && !is_legal(&self.last));
        if notice == Notice::Frequency
            && !self.rate_is_given
            && let (Some(rate), Some(ticks)) = (Rate::from_hz(value, 1), context.transport)
            && !is_damaged()
        {
            self.line.bend(ticks, rate);
        }
        self.is_damaged = is_damage(notice).or(self.is_damaged);
    }
}

impl ClockMessages {
    #[cold]
    fn clock_message(&mut self, frame: &[u8], context: Context) {
        let Ok(message) = Message::read_frame(frame) else { return };
        if message.marks.has(Marks::CRC_BAD) {
            return;
        }
        if let Some((ticks, hz)) = message.clock().filter(|(_, hz)| *hz != 0)
            && let Some(transport) = context.transport
            && let Some(ns) = self.line.nanos(transport)
        {
            let owner = Owner { place: context.place, sender: Sender::of(&message.fields) };
            self.pairs.add(Pair { owner, offset: context.offset, ticks, hz, transport, ns });
        }
    }
}

impl Correlator {
    /// A reader of a stream whose clock has this rate at first, and always if `rate_is_given`.
    fn new(order: NibbleOrder, source: Option<Framed>, rate: Rate, rate_is_given: bool) -> Correlator {
        Correlator {
            stream: Stream::new(order),
            framed: source.map(|framed| FramedReader::new(framed, order)),
            read_bytes: 0,
            found: ClockMessages {
                line: Line::new(rate),
                rate_is_given,
                pairs: Thinned::default(),
                has_timestamps: false,
                last: Vec::new(),
                is_damaged: None,
            },
        }
    }

    /// Reads the input up to `end`.
    fn push(&mut self, input: &[u8], end: usize, is_last: bool) {
        match &mut self.framed {
            None => {
                let bytes = input.get(self.read_bytes..end).unwrap_or(&[]);
                self.stream.push(bytes, &[], is_last, &mut self.found);
            }
            Some(framed) => framed.push(input, end, &mut self.stream, &mut self.found),
        }
        self.read_bytes = end;
    }
}
