//! Parts of a stream, decoded ahead on any thread, and how the ordered stage joins them.
//!
//! After an ASYNC with its VERSION, packets depend on the bytes before only for the time and for the messages that are open. So a part
//! is decoded from its first VERSION on, with the time counted from 0. Whether a message is already open on a place is unknown until
//! the place starts a message of its own or has a flag; until then, its packets are deferred.
//!
//! The ordered stage continues from the part before up to that VERSION. If its state reads the next packets as the part did, it takes
//! over the decoded records, corrects their times, handles the deferred packets, and passes the messages on in their order. If not,
//! it decodes the part again. The result is always that of one decoder for the whole stream.

use std::collections::VecDeque;

use rustc_hash::FxHashMap;

use super::anchors::Bound;
use super::assembly::{Assembly, Bytes, MESSAGE_LIMIT_BYTES, MessageSink, OPEN_LIMIT, PLACES_LIMIT, Slot};
use super::packets::{Data, NibbleOrder, Nibbles, PacketSpan, PacketVisitor, Packets, Scheme, Window, from_gray, to_gray};
use crate::format::Part;
use crate::format::syst::decode::{Context, Decoder, Records, make_room, most_messages};
use crate::format::syst::decoded::{Notice, RecordKind};
use crate::format::syst::record::{Malformed, Marks};

/// Decodes the bytes of a message. `is_whole`: its end was seen.
pub fn add_frame(records: &mut Records, decoder: &Decoder, frame: &[u8], context: Context, is_whole: bool) {
    if !is_whole && frame.len() < 4 {
        return records.add_malformed(Malformed::TooShort, frame, context);
    }
    records.add_frame(decoder, frame, context);
    if !is_whole && let Some(stored) = records.stored.last_mut() {
        stored.marks.add(Marks::TRUNCATED);
    }
}

/// A step of joining a part, in order. The first number is that of a place, in the part.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Token {
    /// More digits of the time are known: these.
    Known(u64),
    /// A message began.
    Begin(u32),
    /// It ended; this is its record.
    End(u32, u32),
    /// A message began and ended, with nothing between, as most do; this is its record.
    Whole(u32, u32),
    /// It has no end; this is the record of the notice.
    Unfinished(u32, u32),
    /// A notice; this is its record.
    Notice(u32),
    /// A deferred packet, by its index in [`Predecoded::deferred`].
    Deferred(u32, u32),
    /// Packets were lost: messages that were open before the part have no end. With the offset in the file.
    BreakOffBefore(u64),
}

/// A packet on a place where a message may have been open before the part.
#[derive(Clone, Copy, Debug)]
enum Deferred {
    /// A message began. An open one would end here.
    Begin(u64),
    /// Data, whether it is marked, and where it ends.
    Data(Data, bool, Context, u64),
    /// A flag.
    Flag(u64),
    /// An open message has no end.
    BreakOff(u64),
}

/// Whether a message is open on a place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum PlaceState {
    /// Not known: one may have been open before.
    #[default]
    Unknown,
    /// No message is open.
    Closed,
    /// No message is open, and data without a start is being dropped.
    Beginless,
    /// This message is open, by its number in the part.
    Open(u64),
}

/// The state of a place.
#[derive(Debug, Default)]
struct Place {
    state: PlaceState,
    bytes: Bytes,
    context: Context,
}

/// The bytes of a message: their start in [`Predecoded::bytes`], their number, and whether the message's end was seen.
#[derive(Clone, Copy, Debug, Default)]
struct Frame {
    start: u32,
    len: u32,
    is_whole: bool,
}

/// The records of a part of a stream, decoded ahead.
#[derive(Debug, Default)]
pub struct Predecoded {
    /// The records.
    pub records: Records,
    /// The bytes of each record.
    frames: Vec<Frame>,
    bytes: Vec<u8>,
    tokens: Vec<Token>,
    deferred: Vec<Deferred>,
    /// Master and channel of each place, in the order of first use.
    names: Vec<(u16, u16)>,
    place_of: FxHashMap<(u16, u16), u32>,
    places: Vec<Place>,
    /// Whether each message has ended, in the order in which they began, from the number `first` on. Notices that wait for a message count
    /// as messages.
    ended: VecDeque<bool>,
    first: u64,
    /// The largest length of `ended`, and the number of messages that began and of notices.
    deepest: usize,
    begun: usize,
    /// The number of deferred packets that are marked.
    deferred_marks: usize,
    /// The state at the start of decoding, and its position in the stream, in nibbles.
    start: Option<(Packets, u64)>,
    /// The state at the end of decoding, and its position.
    end: Option<(Packets, u64)>,
    /// Used while joining: the correction of the time of each place's open message.
    corrections: Vec<u64>,
}

impl Predecoded {
    /// Decodes a part of a stream that is the whole input.
    pub fn decode(&mut self, decoder: &Decoder, order: NibbleOrder, bounds: &[Bound], part: Part<'_>) {
        self.forget();
        let len = part.bytes().len();
        self.records.start(part.start as u64, len);
        let messages = most_messages(len);
        make_room(&mut self.frames, messages);
        make_room(&mut self.tokens, 2 * messages);
        make_room(&mut self.bytes, len);
        let nibbles = Nibbles { bytes: part.input.get(part.start..).unwrap_or(&[]), end: 2 * len };
        let window = Window { nibbles, base: part.start as u64, origins: &[], bounds };
        let mut packets = Packets::new(order, 0);
        let at = packets.run(window, 0, false, &mut Seeking::default(), |packets, _| !packets.has_version);
        if !packets.has_version {
            return;
        }
        (packets.time, packets.known) = (0, 0);
        self.start = Some((packets.clone(), window.position(at)));
        let mut predecoder = Predecoder { predecoded: self, decoder };
        packets.place = {
            let (master, channel) = packets.present();
            predecoder.place(master, channel)
        };
        let scheme = packets.scheme;
        // The correction of the time depends on the scheme.
        let at = packets.run(window, at, false, &mut predecoder, |packets, _| packets.scheme == scheme);
        self.records.finish(decoder);
        self.end = Some((packets, window.position(at)));
    }

    /// Forgets the content: nothing is decoded.
    pub fn forget(&mut self) {
        (self.start, self.end) = (None, None);
        self.frames.clear();
        self.bytes.clear();
        self.tokens.clear();
        self.deferred.clear();
        self.names.clear();
        self.place_of.clear();
        self.ended.clear();
        (self.first, self.deepest, self.begun, self.deferred_marks) = (0, 0, 0, 0);
    }

    /// The position of the start of decoding in the stream, in nibbles; `None` if nothing was decoded.
    #[must_use]
    pub fn meeting(&self) -> Option<u64> {
        self.start.as_ref().map(|(_, position)| *position)
    }

    /// Takes over the decoded records if `packets`, the state at that position, reads like the one that they were decoded with. Returns
    /// the position of the end, in nibbles of the stream.
    pub(super) fn join(&mut self, packets: &mut Packets, assembly: &mut Assembly, sink: &mut impl MessageSink) -> Option<u64> {
        let ((start, _), (end, position)) = self.start.take().zip(self.end.take())?;
        let waiting = assembly.slots.len();
        // Deferred data may turn out to lack its beginning, once on a place and for each marked packet.
        let beginless = self.names.len() + self.deferred_marks;
        let deepest = beginless + if waiting == 0 { self.deepest } else { waiting + self.begun };
        if !start.reads_like(packets) || deepest > OPEN_LIMIT || assembly.open.len() + self.names.len() > PLACES_LIMIT {
            return None;
        }
        let correction = TimeCorrection { scheme: start.scheme, time: packets.time };
        let numbers: Vec<u32> = self.names.iter().map(|&(master, channel)| assembly.place(master, channel)).collect();
        let number = |place: u32| numbers.get(place as usize).copied().unwrap_or(0);
        self.corrections.clear();
        self.corrections.resize(numbers.len(), 0);
        let mut now = correction.by(0);
        let first_own = assembly.next_number();
        for &token in &self.tokens {
            match token {
                Token::Known(known) => now = correction.by(known),
                Token::Begin(place) => {
                    assembly.number(number(place));
                    if let Some(begun) = self.corrections.get_mut(place as usize) {
                        *begun = now;
                    }
                }
                Token::End(place, record) => {
                    correction.correct(&mut self.records, record, self.corrections.get(place as usize).copied().unwrap_or(0));
                    assembly.end_predecoded(number(place), record, sink);
                }
                Token::Whole(place, record) => {
                    correction.correct(&mut self.records, record, now);
                    assembly.pass_predecoded(number(place), record, sink);
                }
                Token::Unfinished(place, record) => {
                    correction.correct(&mut self.records, record, self.corrections.get(place as usize).copied().unwrap_or(0));
                    mark(&mut self.records, record, assembly.is_early(assembly.open_number(number(place))));
                    sink.predecoded(record);
                }
                Token::Notice(record) => {
                    correction.correct(&mut self.records, record, now);
                    assembly.predecoded_notice(record, sink);
                }
                Token::BreakOffBefore(here) => assembly.break_off_before(first_own, here, sink),
                Token::Deferred(place, index) => match self.deferred.get(index as usize) {
                    Some(&Deferred::Begin(here) | &Deferred::BreakOff(here)) => assembly.break_off(number(place), here, sink),
                    Some(&Deferred::Flag(end)) => assembly.flag(number(place), end, sink),
                    Some(&Deferred::Data(data, is_marked, mut context, end)) => {
                        context.transport = context.transport.map(|time| correction.apply(time, now));
                        assembly.data(number(place), data, is_marked, || (context, end), sink);
                    }
                    None => {}
                },
            }
        }
        self.leave_open(assembly, &numbers, correction);
        let place = number(end.place);
        *packets = end;
        packets.place = place;
        packets.time = correction.apply(packets.time, now);
        Some(position)
    }

    /// Hands over messages that are still open, or that have to wait for open ones.
    fn leave_open(&mut self, assembly: &mut Assembly, numbers: &[u32], correction: TimeCorrection) {
        for ((place, &number), &begun) in self.places.iter_mut().zip(numbers).zip(&self.corrections) {
            let Some(open) = assembly.open.get_mut(number as usize) else { continue };
            match place.state {
                PlaceState::Unknown => {}
                PlaceState::Closed | PlaceState::Beginless => open.is_beginless = place.state == PlaceState::Beginless,
                PlaceState::Open(_) => {
                    open.bytes = place.bytes.clone();
                    open.context = place.context;
                    open.context.transport = open.context.transport.map(|time| correction.apply(time, begun));
                }
            }
        }
        for slot in &mut assembly.slots {
            let &mut Slot::Predecoded(record) = slot else { continue };
            let frame = self.frames.get(record as usize).copied().unwrap_or_default();
            let bytes = self.bytes.get(frame.start as usize..(frame.start + frame.len) as usize).unwrap_or(&[]);
            let Some(stored) = self.records.stored.get(record as usize) else { continue };
            let context = Context {
                offset: self.records.base + u64::from(stored.offset),
                len: stored.len as usize,
                place: self.records.senders.get(stored.sender as usize).and_then(|sender| sender.key.place),
                transport: stored.transport,
                is_early: false,
            };
            *slot = match stored.kind {
                RecordKind::Notice(notice) => Slot::Notice(notice, stored.value, context),
                _ => Slot::Done(bytes.to_vec(), context, frame.is_whole),
            };
        }
    }
}

/// The correction of times that were counted from 0 at the start of a part.
#[derive(Clone, Copy)]
struct TimeCorrection {
    scheme: Scheme,
    /// The time at the start of decoding.
    time: u64,
}

impl TimeCorrection {
    /// The correction of a time of which these digits are known.
    fn by(self, known: u64) -> u64 {
        match self.scheme {
            Scheme::Natural => self.time & !known,
            Scheme::Gray => from_gray(to_gray(self.time) & !known),
            Scheme::Delta | Scheme::Legacy => self.time,
        }
    }

    fn apply(self, time: u64, missing: u64) -> u64 {
        match self.scheme {
            // Digits that are not known are 0, and a Gray code is linear in its digits.
            Scheme::Natural | Scheme::Gray => time ^ missing,
            Scheme::Delta | Scheme::Legacy => time.wrapping_add(missing),
        }
    }

    fn correct(self, records: &mut Records, record: u32, missing: u64) {
        if let Some(stored) = records.stored.get_mut(record as usize) {
            stored.transport = stored.transport.map(|time| self.apply(time, missing));
        }
    }
}

fn mark(records: &mut Records, notice: u32, is_early: bool) {
    if let Some(stored) = records.stored.get_mut(notice as usize).filter(|_| is_early) {
        stored.marks.add(Marks::EARLY);
    }
}

/// Ignores all packets but the first frequency: only the state of the stream is of interest.
#[derive(Default)]
pub(super) struct Seeking {
    pub hz: Option<u64>,
}

impl PacketVisitor for Seeking {
    fn place(&mut self, _: u16, _: u16) -> u32 {
        0
    }
    fn begin(&mut self, _: u32, _: Context, _: u64) {}
    fn data(&mut self, _: u32, _: Data, _: bool, _: PacketSpan<'_>) {}
    fn open_bytes(&mut self, _: u32) -> Option<&mut Vec<u8>> {
        None
    }
    fn flag(&mut self, _: u32, _: u64) {}
    fn break_off(&mut self, _: u32, _: u64) {}
    fn break_off_all(&mut self, _: u64) {}
    fn notice(&mut self, notice: Notice, value: u64, _: Context) {
        if notice == Notice::Frequency && value != 0 {
            self.hz = self.hz.or(Some(value));
        }
    }
    fn time_digits(&mut self, _: u64) {}
}

/// Decodes messages that began in the part, and defers the other packets.
struct Predecoder<'a> {
    predecoded: &'a mut Predecoded,
    decoder: &'a Decoder,
}

impl Predecoder<'_> {
    fn defer(&mut self, place: u32, packet: Deferred) {
        let index = u32::try_from(self.predecoded.deferred.len()).unwrap_or(u32::MAX);
        self.predecoded.deferred.push(packet);
        self.predecoded.tokens.push(Token::Deferred(place, index));
    }

    /// The number of the next record.
    fn next_record(&self) -> u32 {
        u32::try_from(self.predecoded.records.stored.len()).unwrap_or(u32::MAX)
    }

    fn add_notice(&mut self, notice: Notice, value: u64, context: Context) {
        self.predecoded.frames.push(Frame::default());
        self.predecoded.records.add_notice(notice, value, context);
    }

    /// Counts a message or notice that may have to wait for those before it.
    fn count(&mut self, has_ended: bool) {
        let predecoded = &mut *self.predecoded;
        predecoded.ended.push_back(has_ended);
        predecoded.begun += 1;
        predecoded.deepest = predecoded.deepest.max(predecoded.ended.len());
    }

    /// Ends the open message of a place.
    fn end(&mut self, place: u32, end: u64, is_whole: bool) {
        let record = self.next_record();
        let Predecoded { records, frames, bytes, tokens, places, ended, first, .. } = &mut *self.predecoded;
        let open = &mut places[place as usize];
        let PlaceState::Open(number) = open.state else { return };
        open.state = PlaceState::Closed;
        let mut context = open.context;
        context.len = usize::try_from(end.saturating_sub(context.offset)).unwrap_or(usize::MAX);
        let is_whole = is_whole && open.bytes.is_whole();
        let [start, len] = [bytes.len(), open.bytes.whole.len()].map(|count| u32::try_from(count).unwrap_or(u32::MAX));
        frames.push(Frame { start, len, is_whole });
        bytes.extend_from_slice(&open.bytes.whole);
        add_frame(records, self.decoder, &open.bytes.whole, context, is_whole);
        match tokens.last_mut() {
            Some(last) if *last == Token::Begin(place) => *last = Token::Whole(place, record),
            _ => tokens.push(Token::End(place, record)),
        }
        if ended.len() == 1 {
            // The usual case: no other message is open or waits.
            ended.clear();
            *first += 1;
            return;
        }
        if let Some(ended) = usize::try_from(number - *first).ok().and_then(|index| ended.get_mut(index)) {
            *ended = true;
        }
        while ended.front() == Some(&true) {
            ended.pop_front();
            *first += 1;
        }
    }

    /// A place, by a number that [`PacketVisitor::place`] gave.
    #[inline]
    fn at(&mut self, place: u32) -> &mut Place {
        &mut self.predecoded.places[place as usize]
    }
}

impl PacketVisitor for Predecoder<'_> {
    fn place(&mut self, master: u16, channel: u16) -> u32 {
        let Predecoded { names, place_of, places, .. } = &mut *self.predecoded;
        *place_of.entry((master, channel)).or_insert_with(|| {
            let place = names.len();
            names.push((master, channel));
            if places.len() <= place {
                places.push(Place::default());
            }
            places[place].state = PlaceState::Unknown;
            u32::try_from(place).unwrap_or(u32::MAX)
        })
    }

    #[inline]
    fn begin(&mut self, place: u32, context: Context, here: u64) {
        match self.at(place).state {
            PlaceState::Unknown => self.defer(place, Deferred::Begin(here)),
            PlaceState::Open(_) => self.break_off(place, here),
            PlaceState::Closed | PlaceState::Beginless => {}
        }
        let predecoded = &mut *self.predecoded;
        let open = &mut predecoded.places[place as usize];
        open.state = PlaceState::Open(predecoded.first + predecoded.ended.len() as u64);
        open.bytes.clear();
        open.context = context;
        predecoded.tokens.push(Token::Begin(place));
        self.count(false);
    }

    #[inline]
    fn open_bytes(&mut self, place: u32) -> Option<&mut Vec<u8>> {
        let open = self.at(place);
        if matches!(open.state, PlaceState::Open(_)) { open.bytes.of_whole() } else { None }
    }

    #[inline]
    fn data(&mut self, place: u32, data: Data, is_marked: bool, packet: PacketSpan<'_>) {
        match self.at(place).state {
            PlaceState::Open(_) => {
                let open = self.at(place);
                open.bytes.append(data);
                if is_marked {
                    self.end(place, packet.end(), true);
                } else if open.bytes.whole.len() > MESSAGE_LIMIT_BYTES {
                    self.end(place, packet.end(), false);
                }
            }
            PlaceState::Closed => {
                if !is_marked {
                    self.at(place).state = PlaceState::Beginless;
                }
                self.notice(Notice::Beginless, 0, packet.context());
            }
            PlaceState::Beginless => {}
            PlaceState::Unknown => {
                self.predecoded.deferred_marks += usize::from(is_marked);
                self.defer(place, Deferred::Data(data, is_marked, packet.context(), packet.end()));
            }
        }
    }

    fn flag(&mut self, place: u32, end: u64) {
        match self.at(place).state {
            PlaceState::Open(_) => self.end(place, end, true),
            PlaceState::Closed | PlaceState::Beginless => self.at(place).state = PlaceState::Closed,
            PlaceState::Unknown => {
                self.defer(place, Deferred::Flag(end));
                self.at(place).state = PlaceState::Closed;
            }
        }
    }

    fn break_off(&mut self, place: u32, here: u64) {
        match self.at(place).state {
            PlaceState::Open(_) => {
                let context = self.at(place).context;
                self.predecoded.tokens.push(Token::Unfinished(place, self.next_record()));
                self.add_notice(Notice::Unfinished, 0, Context { len: 0, ..context });
                self.end(place, here, false);
            }
            PlaceState::Closed | PlaceState::Beginless => {}
            PlaceState::Unknown => self.defer(place, Deferred::BreakOff(here)),
        }
    }

    fn break_off_all(&mut self, here: u64) {
        self.predecoded.tokens.push(Token::BreakOffBefore(here));
        // In the order in which they began.
        let places = (0u32..).zip(&self.predecoded.places).take(self.predecoded.names.len());
        let open = places
            .filter_map(|(place, state)| if let PlaceState::Open(number) = state.state { Some((number, place)) } else { None });
        let mut open: Vec<(u64, u32)> = open.collect();
        open.sort_unstable();
        for (_, place) in open {
            self.break_off(place, here);
        }
    }

    fn notice(&mut self, notice: Notice, value: u64, context: Context) {
        self.predecoded.tokens.push(Token::Notice(self.next_record()));
        self.add_notice(notice, value, context);
        if self.predecoded.ended.is_empty() {
            self.predecoded.begun += 1;
        } else {
            self.count(true);
        }
    }

    fn time_digits(&mut self, known: u64) {
        self.predecoded.tokens.push(Token::Known(known));
    }
}
