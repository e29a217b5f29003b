//! The raw transport: messages, one after the other, with nothing between them.
//!
//! Where a message begins depends on all bytes before it. So a part is decoded ahead, on any thread, from its first *anchor* on (see
//! [`delimit`]). The ordered stage continues message by message from the end of the part before, until it meets a place from which the
//! part was decoded, too: from there on both are the same. As a rule it is the first or second one.

mod checksums;
mod delimit;
#[cfg(test)]
mod tests;

use std::ops::Range;

use self::delimit::{NoLength, REACH_BYTES, Step, Stream};
use super::collateral::Collateral;
use super::decode::{Context, Decoder, Records, make_room, most_messages};
use super::decoded::Notice;
use super::record::{Header, Marks, Message};
use super::resolve::{Progress, Resolver, Sequence};
use super::scan::MessageFacts;
use super::settings::Settings;
use crate::format::{Decode, Detail, ErasedRecording, FormatOptions, OptionError, Part, Probe, Recording, Stages, erase};
use crate::model::Ledger;

/// How many bytes of a sample are inspected.
const SAMPLE_BYTES: usize = 64 << 10;
/// The longest message that speaks for the format without a checksum, in bytes: the library's buffer for a format and its arguments.
const CHANCE_BYTES: usize = 1024;
/// How many shorter messages with a length show that longer ones are no chance either.
const CHANCE_MESSAGES: u64 = 8;

/// Whether a sample consists of messages. `whole`: the sample is the whole input.
pub(super) fn probe(sample: &[u8], whole: bool) -> Option<Probe> {
    let head = sample.get(..SAMPLE_BYTES).unwrap_or(sample);
    let whole = whole && head.len() == sample.len();
    let collateral = Collateral::default();
    let counts = count(&Stream::new(head, 0, &collateral, None), whole);
    if counts.full == 0 || counts.full + counts.proven < 2 {
        return None;
    }
    let share = counts.bytes as f64 / head.len().max(1) as f64;
    let likely = share * if counts.proven > 0 || counts.with_length >= 2 { 1.0 } else { 0.7 };
    if likely < 0.5 {
        return None;
    }
    // Shapes alone are weaker evidence than the checksums of another format, however few these are.
    let most = if counts.proven > 0 { 100.0 } else { 79.0 };
    let score = f64::min(if share >= 0.95 { 55.0 + 40.0 * likely } else { 20.0 + 60.0 * likely }, most) as u8;
    let reason = format!(
        "{}, {} with a fitting checksum; {:.0} % of the bytes belong to them",
        if counts.full == 1 { "1 message".to_owned() } else { format!("{} messages follow each other", counts.full) },
        counts.proven,
        100.0 * share
    );
    Some(Probe { score, reason })
}

/// Starts reading recordings.
pub(super) fn open(inputs: &[FormatOptions]) -> Result<Box<dyn ErasedRecording>, OptionError> {
    let settings = Settings::parse_without_transport_clock(inputs)?;
    Ok(erase(RawRecording { decoder: settings.decoder(None), settings }))
}

/// Whether a frame is exactly one message whose end is known without the frame.
pub(super) fn is_whole_message(frame: &[u8], collateral: &Collateral) -> bool {
    let length = Stream::new(frame, 0, collateral, None).length(0, delimit::PAYLOAD_LIMIT);
    length.is_ok_and(|(len, _)| len == frame.len())
}

/// The first pass.
struct RawRecording {
    settings: Settings,
    /// Without the builds, which are not known yet.
    decoder: Decoder,
}

impl Recording for RawRecording {
    type PartFacts = PartFacts;
    type Facts = InputFacts;
    type Decoder = RawDecoder;
    type Resolver = Resolver<RawSequence>;

    fn cut(&self, input: &[u8], at: usize) -> usize {
        // Parts are joined in file order.
        at.min(input.len())
    }

    fn scan(&self, _input: usize, part: Part<'_>) -> PartFacts {
        scan(&self.decoder, part)
    }

    fn join(&self, bytes: &[u8], facts: &mut InputFacts, next: PartFacts) {
        facts.join(next, bytes, &self.decoder);
    }

    fn finish(self, facts: Vec<InputFacts>, _ledgers: &mut [Ledger]) -> Stages<RawDecoder, Resolver<RawSequence>> {
        let mut facts: Vec<MessageFacts> = facts.into_iter().map(|facts| facts.messages).collect();
        let decoders: Vec<Decoder> = facts.iter_mut().map(|facts| self.settings.decoder(Some(facts.remove_builds()))).collect();
        let sequences = decoders.iter().map(|decoder| RawSequence { decoder: decoder.clone(), ..RawSequence::default() });
        let inputs = sequences.zip(facts).map(|(sequence, facts)| (sequence, facts, None)).collect();
        let resolve = Resolver::new(&self.settings, inputs);
        Stages { cores: resolve.cores(), decode: RawDecoder(decoders), resolve }
    }
}

/// The position of a decoder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Position {
    /// A message begins here.
    Synced(usize),
    /// An anchor is searched for since here; `None`: since before the part.
    Lost(Option<usize>, NoLength),
}

impl Default for Position {
    fn default() -> Position {
        Position::Synced(0)
    }
}

/// What is known about a message's end.
#[derive(Clone, Copy, PartialEq, Eq)]
enum FrameEnd {
    /// It is there.
    Whole,
    /// It is there, and the checksum fits.
    Proven,
    /// The input ends before it.
    Truncated,
}

/// Receives the messages of a stream.
trait MessageVisitor {
    /// A message, or a place where one is searched for.
    fn at(&mut self, at: usize);
    /// A message.
    fn message(&mut self, at: usize, frame: &[u8], end: FrameEnd);
    /// Bytes that belong to no message.
    fn lost(&mut self, from: usize, to: usize, reason: NoLength);
}

/// Reads messages up to a place at or after `end`.
fn run(stream: &Stream<'_>, mut position: Position, end: usize, visitor: &mut impl MessageVisitor) -> Position {
    let mut search_from = stream.base();
    loop {
        match position {
            Position::Synced(at) if at >= end => return position,
            Position::Synced(at) => {
                visitor.at(at);
                position = advance(stream, at, visitor);
                search_from = at + 1;
            }
            Position::Lost(since, reason) => {
                let Some(anchor) = stream.find_anchor(search_from, end) else { return position };
                if let Some(since) = since {
                    visitor.lost(since, anchor, reason);
                }
                position = Position::Synced(anchor);
            }
        }
    }
}

/// Reads one message.
#[inline(always)]
fn advance(stream: &Stream<'_>, at: usize, visitor: &mut impl MessageVisitor) -> Position {
    let (len, end) = match stream.step(at) {
        Step::Message(len) => (len, FrameEnd::Whole),
        Step::Proven(len) => (len, FrameEnd::Proven),
        Step::Truncated(len) => (len, FrameEnd::Truncated),
        Step::Padding(len) => return Position::Synced(at + len.max(1)),
        Step::Lost(reason) => return Position::Lost(Some(at), reason),
    };
    visitor.message(at, stream.frame(at, len), end);
    Position::Synced(at + len)
}

/// The position at the start of a part.
fn initial(start: usize) -> Position {
    if start == 0 { Position::Synced(0) } else { Position::Lost(None, NoLength::Illegal) }
}

/// Where messages begin in a part, read from its first anchor on.
#[derive(Debug, Default)]
struct Boundaries {
    /// The places where a message was searched for, and the number of records before each.
    all: Vec<(usize, usize)>,
    start: usize,
    end: usize,
    /// The position after the part.
    tail: Position,
}

impl Boundaries {
    /// Starts with a part. Returns its stream.
    fn begin<'a>(&mut self, part: Part<'a>, decoder: &'a Decoder) -> Stream<'a> {
        make_room(&mut self.all, most_messages(part.bytes().len()));
        (self.start, self.end) = (part.start, part.end);
        self.stream(part.input, decoder)
    }

    /// The bytes of the part, and as many after it as decisions need.
    fn stream<'a>(&self, input: &'a [u8], decoder: &'a Decoder) -> Stream<'a> {
        let to = (self.end + REACH_BYTES).min(input.len());
        let bytes = input.get(self.start..to).unwrap_or(&[]);
        Stream::new(bytes, self.start, &decoder.collateral, decoder.builds.as_deref())
    }

    /// Continues from the end of the part before until a place from which this part was read. Returns the index of that place, `None` if
    /// there is none. Messages before it go to `visitor`; the position is then that after the part.
    fn meet(&self, position: &mut Position, input: &[u8], decoder: &Decoder, visitor: &mut impl MessageVisitor) -> Option<usize> {
        let stream = self.stream(input, decoder);
        let met = loop {
            match *position {
                _ if self.start == 0 => break Some(0),
                Position::Synced(at) if at >= self.end => break None,
                Position::Synced(at) => match self.all.binary_search_by_key(&at, |bound| bound.0) {
                    Ok(index) => break Some(index),
                    Err(_) => *position = advance(&stream, at, visitor),
                },
                Position::Lost(since, reason) => {
                    let from = since.map_or(self.start, |since| (since + 1).max(self.start));
                    // The part was searched from its start on already.
                    let known = self.all.first().map(|bound| bound.0);
                    let anchor = if from > self.start { stream.find_anchor(from, self.end) } else { known };
                    let Some(anchor) = anchor else { break None };
                    visitor.lost(since.unwrap_or(0), anchor, reason);
                    *position = Position::Synced(anchor);
                }
            }
        };
        if met.is_some() {
            *position = self.tail;
        }
        met
    }
}

/// Facts about a part, read ahead.
#[derive(Debug, Default)]
struct PartFacts {
    boundaries: Boundaries,
    messages: MessageFacts,
}

/// Collects facts from messages.
struct FactCollector<'a> {
    messages: MessageFacts,
    boundaries: Option<&'a mut Vec<(usize, usize)>>,
}

impl MessageVisitor for FactCollector<'_> {
    fn at(&mut self, at: usize) {
        if let Some(boundaries) = &mut self.boundaries {
            boundaries.push((at, 0));
        }
    }

    fn message(&mut self, at: usize, frame: &[u8], end: FrameEnd) {
        let Some(header) = Header::of(frame).filter(|_| end != FrameEnd::Truncated) else { return };
        if self.messages.wants(header) {
            self.messages.add_frame(frame, at as u64);
        }
    }

    fn lost(&mut self, _: usize, _: usize, _: NoLength) {}
}

fn scan(decoder: &Decoder, part: Part<'_>) -> PartFacts {
    let mut facts = PartFacts::default();
    let stream = facts.boundaries.begin(part, decoder);
    let mut collector = FactCollector { messages: MessageFacts::default(), boundaries: Some(&mut facts.boundaries.all) };
    let tail = run(&stream, initial(part.start), part.end, &mut collector);
    facts.messages = collector.messages;
    facts.boundaries.tail = tail;
    facts
}

/// Facts about the parts so far.
#[derive(Debug, Default)]
struct InputFacts {
    position: Position,
    messages: MessageFacts,
}

impl InputFacts {
    /// Adds the facts of the next part of `input`.
    fn join(&mut self, part: PartFacts, input: &[u8], decoder: &Decoder) {
        let mut before = FactCollector { messages: MessageFacts::default(), boundaries: None };
        let met = part.boundaries.meet(&mut self.position, input, decoder, &mut before);
        self.messages.join(before.messages);
        match met {
            Some(0) => self.messages.join(part.messages),
            // The part was read from an earlier anchor, too. It is read again from the right one.
            Some(index) => {
                let at = part.boundaries.all.get(index).map_or(part.boundaries.end, |bound| bound.0);
                let mut again = FactCollector { messages: MessageFacts::default(), boundaries: None };
                run(&part.boundaries.stream(input, decoder), Position::Synced(at), part.boundaries.end, &mut again);
                self.messages.join(again.messages);
            }
            None => {}
        }
    }
}

/// A part, decoded from its first anchor on.
#[derive(Debug, Default)]
pub(super) struct RawPart {
    records: Records,
    boundaries: Boundaries,
}

/// Decodes messages into records.
struct RecordBuilder<'a> {
    decoder: &'a Decoder,
    records: &'a mut Records,
    boundaries: Option<&'a mut Vec<(usize, usize)>>,
}

impl MessageVisitor for RecordBuilder<'_> {
    #[inline]
    fn at(&mut self, at: usize) {
        if let Some(boundaries) = &mut self.boundaries {
            boundaries.push((at, self.records.stored.len()));
        }
    }

    #[inline]
    fn message(&mut self, at: usize, frame: &[u8], end: FrameEnd) {
        let context = Context { offset: at as u64, len: frame.len(), ..Context::default() };
        if end == FrameEnd::Proven {
            return self.records.add_proven_frame(self.decoder, frame, context);
        }
        self.records.add_frame(self.decoder, frame, context);
        if end == FrameEnd::Truncated
            && let Some(stored) = self.records.stored.last_mut()
        {
            stored.marks.add(Marks::TRUNCATED);
        }
    }

    fn lost(&mut self, from: usize, to: usize, reason: NoLength) {
        add_lost(self.records, from, to, reason);
    }
}

fn add_lost(records: &mut Records, from: usize, to: usize, reason: NoLength) {
    let notice = if reason == NoLength::Undelimited { Notice::Undelimited } else { Notice::Unsynced };
    records.add_notice(notice, 0, Context { offset: from as u64, len: to - from, ..Context::default() });
}

/// The parallel stage of the second pass: a decoder for each input.
struct RawDecoder(Vec<Decoder>);

impl Decode for RawDecoder {
    type Records = RawPart;

    fn decode(&self, input: usize, part: Part<'_>, decoded: &mut RawPart) {
        let Some(decoder) = self.0.get(input) else { return };
        decoded.records.start(part.start as u64, part.bytes().len());
        let stream = decoded.boundaries.begin(part, decoder);
        let boundaries = Some(&mut decoded.boundaries.all);
        let mut builder = RecordBuilder { decoder, records: &mut decoded.records, boundaries };
        let tail = run(&stream, initial(part.start), part.end, &mut builder);
        decoded.records.finish(decoder);
        decoded.boundaries.tail = tail;
    }
}

/// The ordered stage for one input: joins parts.
#[derive(Default)]
pub(super) struct RawSequence {
    decoder: Decoder,
    position: Position,
    /// Records of messages before the place from which the part was decoded.
    bridge: Records,
}

impl Sequence for RawSequence {
    type Part = RawPart;

    const SKIPS_MALFORMED: bool = true;

    fn next(&mut self, input: &[u8], part: &mut RawPart, mut each: impl FnMut(&Records, Range<usize>)) -> Progress {
        let RawPart { records, boundaries } = part;
        let start = boundaries.start;
        self.bridge.reset(if let Position::Lost(Some(since), _) = self.position { since.min(start) } else { start } as u64);
        let mut builder = RecordBuilder { decoder: &self.decoder, records: &mut self.bridge, boundaries: None };
        let met = boundaries.meet(&mut self.position, input, &self.decoder, &mut builder);
        self.bridge.finish(&self.decoder);
        each(&self.bridge, 0..self.bridge.stored.len());
        let first = met.and_then(|index| boundaries.all.get(index)).map_or(records.stored.len(), |bound| bound.1);
        // All records of the first part count.
        each(records, if start == 0 { 0 } else { first }..records.stored.len());
        let input_len = input.len();
        let is_last = boundaries.end >= input_len;
        if is_last && let Position::Lost(since, reason) = self.position {
            self.position = Position::Synced(input_len);
            self.bridge.reset(since.unwrap_or(0) as u64);
            add_lost(&mut self.bridge, since.unwrap_or(0), input_len, reason);
            each(&self.bridge, 0..self.bridge.stored.len());
        }
        Progress { end_bytes: input_len as u64, is_last }
    }

    fn details(&self) -> Vec<Detail> {
        vec![Detail { name: "transport", value: "raw bytes".into(), source: "the input's format".into() }]
    }
}

/// The messages of a sample.
#[derive(Clone, Copy, Debug, Default)]
struct SampleCounts {
    /// Messages other than short forms.
    full: u64,
    /// Of those, with a checksum that fits.
    proven: u64,
    /// Of those, with a length.
    with_length: u64,
    /// Of these, those that are long and have no checksum that fits.
    long: u64,
    /// Their bytes.
    long_bytes: u64,
    /// The bytes of all other messages.
    bytes: u64,
    /// Stretches between messages that belong to none.
    gaps: u64,
}

/// Counts the messages at the start of an input. `whole`: the sample is the whole input.
fn count(stream: &Stream<'_>, whole: bool) -> SampleCounts {
    struct Counting(SampleCounts);
    impl MessageVisitor for Counting {
        fn at(&mut self, _: usize) {}
        fn message(&mut self, _: usize, frame: &[u8], end: FrameEnd) {
            let Ok(message) = Message::read_frame(frame) else { return };
            let counts = &mut self.0;
            if end == FrameEnd::Truncated {
                // Its length says that it goes on after the sample.
                counts.long_bytes += if message.fields.length.is_some() { frame.len() as u64 } else { 0 };
                return;
            }
            let is_proven = message.crc.is_some() && !message.marks.has(Marks::CRC_BAD);
            // Two that follow each other by chance can cover any input, if they are long enough.
            if is_proven || frame.len() <= CHANCE_BYTES {
                counts.bytes += frame.len() as u64;
            } else if message.fields.length.is_some() {
                counts.long += 1;
                counts.long_bytes += frame.len() as u64;
            }
            if !message.fields.kind.is_short_form() {
                counts.full += 1;
                counts.proven += u64::from(is_proven);
                counts.with_length += u64::from(message.fields.length.is_some());
            }
        }
        fn lost(&mut self, from: usize, _: usize, _: NoLength) {
            self.0.gaps += u64::from(from > 0);
        }
    }
    let mut counting = Counting(SampleCounts::default());
    // Messages near the end of a sample that is cut off cannot be judged.
    let end = if whole { stream.end() } else { stream.end().saturating_sub(4096) };
    let position = run(stream, initial(0), end, &mut counting);
    if !whole && let Position::Synced(at) = position {
        counting.0.bytes += (stream.end() - at.min(stream.end())) as u64;
    }
    // So many short ones that lead to each other are no chance.
    if counting.0.gaps == 0 && counting.0.with_length >= counting.0.long + CHANCE_MESSAGES {
        counting.0.bytes += counting.0.long_bytes;
    }
    counting.0
}
