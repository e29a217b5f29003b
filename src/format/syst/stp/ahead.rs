//! Parts of a stream, decoded ahead on any thread, and how they are joined.
//!
//! Behind an ASYNC and its VERSION nothing but the time and what is open depends on what was before. So a part is decoded from the
//! first of these on, with the time counted from 0. What was already open there is unknown: as long as a place has not begun a
//! message of its own, or shown a flag, what happens on it is written down for later. The ordered stage goes on from the part before up to
//! that VERSION; if it then reads on as the part did, it takes over what was decoded, puts the time right, does what was written down, and
//! gives the messages on in their order. If not, the part is decoded again. The result is always that of one decoder for the whole.

use std::collections::VecDeque;

use rustc_hash::FxHashMap;

use super::assembly::{Assembly, Bytes, MESSAGE_LIMIT_BYTES, OPEN_LIMIT, PLACES_LIMIT, Slot};
use super::packets::{Data, Nibbles, Packets, Scheme, Take, Window, from_gray};
use super::{NibbleOrder, Sink};
use crate::format::syst::decode::{Context, Decoder, Notice, Records};
use crate::format::syst::record::{Malformed, Marks};

/// Decodes a message that was sent by STP.
pub fn add_frame(records: &mut Records, decoder: &Decoder, frame: &[u8], context: Context, is_whole: bool) {
    if !is_whole && frame.len() < 4 {
        return records.add_malformed(Malformed::TooShort, frame, context);
    }
    records.add_frame(decoder, frame, context);
    if !is_whole && let Some(stored) = records.stored.last_mut() {
        stored.marks.add(Marks::TRUNCATED);
    }
}

/// What happened in a part that those who join it have to know, in order. The first number is that of a place, in the part.
#[derive(Clone, Copy, Debug)]
enum Token {
    /// More digits of the time are known: these.
    Known(u64),
    /// A message began.
    Begin(u32),
    /// It ended, as this record.
    End(u32, u32),
    /// It has no end; this record says so.
    Unfinished(u32, u32),
    /// Something was said, in this record.
    Notice(u32),
    /// Something happened on a place where a message may have been open before; an index into [`Ahead::later`].
    Later(u32, u32),
    /// Packets were lost: what was open before the part has no end. The place is an offset in the file.
    BreakOffBefore(u64),
}

/// What happened on a place where a message may have been open before the part.
#[derive(Clone, Copy, Debug)]
enum Later {
    /// A message began: another one would end here.
    Begin(u64),
    /// Data, whether it is marked, and where it ends.
    Data(Data, bool, Context, u64),
    /// A flag.
    Flag(u64),
    /// What is open has no end.
    BreakOff(u64),
}

/// What is known about a place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Known {
    /// Nothing: a message may have been open before.
    #[default]
    Nothing,
    /// No message is open.
    Closed,
    /// Nor is one, and data without a start is being dropped.
    Beginless,
    /// This message, by its number in the part.
    Open(u64),
}

/// A place, as far as the part knows it.
#[derive(Debug, Default)]
struct Place {
    known: Known,
    bytes: Bytes,
    context: Context,
}

/// The bytes of a message: where they start in [`Ahead::bytes`], how many there are, and whether its end was seen.
#[derive(Clone, Copy, Debug, Default)]
struct Frame {
    start: u32,
    len: u32,
    is_whole: bool,
}

/// What of a part was decoded ahead.
#[derive(Debug, Default)]
pub struct Ahead {
    /// The records.
    pub records: Records,
    /// By record: the bytes that it was made of.
    frames: Vec<Frame>,
    bytes: Vec<u8>,
    tokens: Vec<Token>,
    later: Vec<Later>,
    /// Masters and channels, in the order in which they were gone to, and what is known about each.
    names: Vec<(u16, u16)>,
    place_of: FxHashMap<(u16, u16), u32>,
    places: Vec<Place>,
    /// Whether messages have ended, in the order in which they began, from the number `first` on.
    ended: VecDeque<bool>,
    first: u64,
    /// The most of these that there were, and how many messages began.
    deepest: usize,
    begun: usize,
    /// The state where the part was decoded from, and where that is in the stream, in nibbles.
    start: Option<(Packets, u64)>,
    /// The state behind what was decoded, and where that is.
    end: Option<(Packets, u64)>,
    /// Memory for joining: how the time of the message that is open on a place is put right.
    shifts: Vec<u64>,
}

impl Ahead {
    /// Decodes a part of a stream that is the file itself: `bytes`, and 16 behind them, which stand at `start` in the file.
    pub fn decode(&mut self, decoder: &Decoder, order: NibbleOrder, bytes: &[u8], start: usize) {
        self.forget();
        self.records.reset(start as u64);
        let window =
            Window { nibbles: Nibbles { bytes, end: 2 * bytes.len().saturating_sub(16) }, base: start as u64, origins: &[] };
        let mut packets = Packets::new(order, 0);
        let at = packets.run(window, 0, false, &mut Seeking, |packets, _| !packets.is_told);
        if !packets.is_told {
            return;
        }
        (packets.time, packets.known) = (0, 0);
        self.start = Some((packets.clone(), window.position(at)));
        let mut local = Local { ahead: self, decoder };
        packets.place = {
            let (master, channel) = packets.present();
            local.place(master, channel)
        };
        let scheme = packets.scheme;
        // How the time is put right depends on the scheme.
        let at = packets.run(window, at, false, &mut local, |packets, _| packets.scheme == scheme);
        self.end = Some((packets, window.position(at)));
    }

    /// Nothing was decoded.
    pub fn forget(&mut self) {
        (self.start, self.end) = (None, None);
        self.frames.clear();
        self.bytes.clear();
        self.tokens.clear();
        self.later.clear();
        self.names.clear();
        self.place_of.clear();
        self.ended.clear();
        (self.first, self.deepest, self.begun) = (0, 0, 0);
    }

    /// Where the part was decoded from, in nibbles of the stream; `None` if it was not.
    #[must_use]
    pub fn meeting(&self) -> Option<u64> {
        self.start.as_ref().map(|(_, position)| *position)
    }

    /// Takes over what was decoded, if `packets`, the state at the meeting place, is the one that it was decoded from. Gives the
    /// place behind it, in nibbles of the stream.
    pub(super) fn join(&mut self, packets: &mut Packets, assembly: &mut Assembly, sink: &mut impl Sink) -> Option<u64> {
        let ((start, _), (end, position)) = self.start.take().zip(self.end.take())?;
        let waiting = assembly.slots.len();
        let deepest = if waiting == 0 { self.deepest } else { waiting + self.begun };
        if !start.reads_like(packets) || deepest > OPEN_LIMIT || assembly.open.len() + self.names.len() > PLACES_LIMIT {
            return None;
        }
        let shift = Shift { scheme: start.scheme, time: packets.time };
        let numbers: Vec<u32> = self.names.iter().map(|&(master, channel)| assembly.place(master, channel)).collect();
        let number = |place: u32| numbers.get(place as usize).copied().unwrap_or(0);
        self.shifts.clear();
        self.shifts.resize(numbers.len(), 0);
        let mut now = shift.by(0);
        let first_own = assembly.next_number();
        for &token in &self.tokens {
            match token {
                Token::Known(known) => now = shift.by(known),
                Token::Begin(place) => {
                    assembly.number(number(place));
                    if let Some(begun) = self.shifts.get_mut(place as usize) {
                        *begun = now;
                    }
                }
                Token::End(place, record) => {
                    shift.put_right(&mut self.records, record, self.shifts.get(place as usize).copied().unwrap_or(0));
                    assembly.end_ahead(number(place), record, sink);
                }
                Token::Unfinished(place, record) => {
                    shift.put_right(&mut self.records, record, self.shifts.get(place as usize).copied().unwrap_or(0));
                    sink.ahead(record);
                }
                Token::Notice(record) => {
                    shift.put_right(&mut self.records, record, now);
                    sink.ahead(record);
                }
                Token::BreakOffBefore(here) => assembly.break_off_before(first_own, here, sink),
                Token::Later(place, index) => match self.later.get(index as usize) {
                    Some(&Later::Begin(here) | &Later::BreakOff(here)) => assembly.break_off(number(place), here, sink),
                    Some(&Later::Flag(end)) => assembly.flag(number(place), end, sink),
                    Some(&Later::Data(data, is_marked, mut context, end)) => {
                        context.transport = context.transport.map(|time| shift.apply(time, now));
                        assembly.data(number(place), data, is_marked, context, end, sink);
                    }
                    None => {}
                },
            }
        }
        self.leave_open(assembly, &numbers, shift);
        let place = number(end.place);
        *packets = end;
        packets.place = place;
        packets.time = shift.apply(packets.time, now);
        Some(position)
    }

    /// Hands over what is open behind the part, or has to wait for what is.
    fn leave_open(&mut self, assembly: &mut Assembly, numbers: &[u32], shift: Shift) {
        for ((place, &number), &begun) in self.places.iter_mut().zip(numbers).zip(&self.shifts) {
            let Some(open) = assembly.open.get_mut(number as usize) else { continue };
            match place.known {
                Known::Nothing => {}
                Known::Closed | Known::Beginless => open.is_beginless = place.known == Known::Beginless,
                Known::Open(_) => {
                    open.bytes.copy(&place.bytes);
                    open.context = place.context;
                    open.context.transport = open.context.transport.map(|time| shift.apply(time, begun));
                }
            }
        }
        for slot in &mut assembly.slots {
            let &mut Slot::Ahead(record) = slot else { continue };
            let frame = self.frames.get(record as usize).copied().unwrap_or_default();
            let bytes = self.bytes.get(frame.start as usize..(frame.start + frame.len) as usize).unwrap_or(&[]);
            let Some(stored) = self.records.stored.get(record as usize) else { continue };
            let context = Context {
                offset: self.records.base + u64::from(stored.offset),
                len: stored.len as usize,
                place: self.records.senders.get(stored.sender as usize).and_then(|sender| sender.key.place),
                transport: stored.transport,
            };
            *slot = Slot::Done(bytes.to_vec(), context, frame.is_whole);
        }
    }
}

/// How times that were counted from 0 at the start of a part are put right.
#[derive(Clone, Copy)]
struct Shift {
    scheme: Scheme,
    /// The time where the part was decoded from.
    time: u64,
}

impl Shift {
    /// What is missing in a time of which these digits were told.
    fn by(self, known: u64) -> u64 {
        match self.scheme {
            Scheme::Natural => self.time & !known,
            Scheme::Gray => from_gray((self.time ^ self.time >> 1) & !known),
            Scheme::Delta | Scheme::Legacy => self.time,
        }
    }

    fn apply(self, time: u64, missing: u64) -> u64 {
        match self.scheme {
            // The digits that are missing are 0, and a Gray code is linear in its digits.
            Scheme::Natural | Scheme::Gray => time ^ missing,
            Scheme::Delta | Scheme::Legacy => time.wrapping_add(missing),
        }
    }

    fn put_right(self, records: &mut Records, record: u32, missing: u64) {
        if let Some(stored) = records.stored.get_mut(record as usize) {
            stored.transport = stored.transport.map(|time| self.apply(time, missing));
        }
    }
}

/// Looks for the place to begin at: nothing before it is wanted.
struct Seeking;

impl Take for Seeking {
    fn place(&mut self, _: u16, _: u16) -> u32 {
        0
    }
    fn begin(&mut self, _: u32, _: Context, _: u64) {}
    fn data(&mut self, _: u32, _: Data, _: bool, _: Context, _: u64) {}
    fn flag(&mut self, _: u32, _: u64) {}
    fn break_off(&mut self, _: u32, _: u64) {}
    fn break_off_all(&mut self, _: u64) {}
    fn notice(&mut self, _: Notice, _: u64, _: Context) {}
    fn time_widens(&mut self, _: u64) {}
}

/// Decodes what can be decoded, and writes down the rest.
struct Local<'a> {
    ahead: &'a mut Ahead,
    decoder: &'a Decoder,
}

impl Local<'_> {
    fn later(&mut self, place: u32, what: Later) {
        let index = u32::try_from(self.ahead.later.len()).unwrap_or(u32::MAX);
        self.ahead.later.push(what);
        self.ahead.tokens.push(Token::Later(place, index));
    }

    /// The record that is made next.
    fn next_record(&self) -> u32 {
        u32::try_from(self.ahead.records.stored.len()).unwrap_or(u32::MAX)
    }

    fn say(&mut self, notice: Notice, value: u64, context: Context) {
        self.ahead.frames.push(Frame::default());
        self.ahead.records.add_notice(notice, value, context);
    }

    /// The message that is open on a place ends.
    fn end(&mut self, place: u32, end: u64, is_whole: bool) {
        let record = self.next_record();
        let Ahead { records, frames, bytes, tokens, places, ended, first, .. } = &mut *self.ahead;
        let Some(open) = places.get_mut(place as usize) else { return };
        let Known::Open(number) = open.known else { return };
        open.known = Known::Closed;
        let mut context = open.context;
        context.len = usize::try_from(end.saturating_sub(context.offset)).unwrap_or(usize::MAX);
        let is_whole = is_whole && open.bytes.is_whole();
        let (start, len) = kept(bytes, &open.bytes.whole);
        frames.push(Frame { start, len, is_whole });
        add_frame(records, self.decoder, &open.bytes.whole, context, is_whole);
        tokens.push(Token::End(place, record));
        if let Some(ended) = usize::try_from(number - *first).ok().and_then(|index| ended.get_mut(index)) {
            *ended = true;
        }
        while ended.front() == Some(&true) {
            ended.pop_front();
            *first += 1;
        }
    }

    fn known(&self, place: u32) -> Known {
        self.ahead.places.get(place as usize).map_or(Known::Nothing, |place| place.known)
    }

    fn set(&mut self, place: u32, known: Known) {
        if let Some(place) = self.ahead.places.get_mut(place as usize) {
            place.known = known;
        }
    }
}

/// Keeps bytes: where they start, and how many there are.
fn kept(all: &mut Vec<u8>, bytes: &[u8]) -> (u32, u32) {
    let start = u32::try_from(all.len()).unwrap_or(u32::MAX);
    all.extend_from_slice(bytes);
    (start, u32::try_from(bytes.len()).unwrap_or(0))
}

impl Take for Local<'_> {
    fn place(&mut self, master: u16, channel: u16) -> u32 {
        let Ahead { names, place_of, places, .. } = &mut *self.ahead;
        *place_of.entry((master, channel)).or_insert_with(|| {
            let place = names.len();
            names.push((master, channel));
            if places.len() <= place {
                places.push(Place::default());
            }
            places[place].known = Known::Nothing;
            u32::try_from(place).unwrap_or(u32::MAX)
        })
    }

    #[inline]
    fn begin(&mut self, place: u32, context: Context, here: u64) {
        match self.known(place) {
            Known::Nothing => self.later(place, Later::Begin(here)),
            Known::Open(_) => self.break_off(place, here),
            Known::Closed | Known::Beginless => {}
        }
        let ahead = &mut *self.ahead;
        let Some(open) = ahead.places.get_mut(place as usize) else { return };
        open.known = Known::Open(ahead.first + ahead.ended.len() as u64);
        open.bytes.clear();
        open.context = context;
        ahead.ended.push_back(false);
        ahead.begun += 1;
        ahead.deepest = ahead.deepest.max(ahead.ended.len());
        ahead.tokens.push(Token::Begin(place));
    }

    #[inline]
    fn data(&mut self, place: u32, data: Data, is_marked: bool, context: Context, end: u64) {
        match self.known(place) {
            Known::Open(_) => {
                let Some(open) = self.ahead.places.get_mut(place as usize) else { return };
                open.bytes.append(data);
                if is_marked {
                    self.end(place, end, true);
                } else if open.bytes.whole.len() > MESSAGE_LIMIT_BYTES {
                    self.end(place, end, false);
                }
            }
            Known::Closed => {
                if !is_marked {
                    self.set(place, Known::Beginless);
                }
                self.notice(Notice::Beginless, 0, context);
            }
            Known::Beginless => {}
            Known::Nothing => self.later(place, Later::Data(data, is_marked, context, end)),
        }
    }

    fn flag(&mut self, place: u32, end: u64) {
        match self.known(place) {
            Known::Open(_) => self.end(place, end, true),
            Known::Closed | Known::Beginless => self.set(place, Known::Closed),
            Known::Nothing => {
                self.later(place, Later::Flag(end));
                self.set(place, Known::Closed);
            }
        }
    }

    fn break_off(&mut self, place: u32, here: u64) {
        match self.known(place) {
            Known::Open(_) => {
                let context = self.ahead.places.get(place as usize).map_or(Context::default(), |place| place.context);
                self.ahead.tokens.push(Token::Unfinished(place, self.next_record()));
                self.say(Notice::Unfinished, 0, Context { len: 0, ..context });
                self.end(place, here, false);
            }
            Known::Closed | Known::Beginless => {}
            Known::Nothing => self.later(place, Later::BreakOff(here)),
        }
    }

    fn break_off_all(&mut self, here: u64) {
        self.ahead.tokens.push(Token::BreakOffBefore(here));
        // In the order in which they began.
        let places = (0u32..).zip(&self.ahead.places).take(self.ahead.names.len());
        let open =
            places.filter_map(|(place, state)| if let Known::Open(number) = state.known { Some((number, place)) } else { None });
        let mut open: Vec<(u64, u32)> = open.collect();
        open.sort_unstable();
        for (_, place) in open {
            self.break_off(place, here);
        }
    }

    fn notice(&mut self, notice: Notice, value: u64, context: Context) {
        self.ahead.tokens.push(Token::Notice(self.next_record()));
        self.say(notice, value, context);
    }

    fn time_widens(&mut self, known: u64) {
        self.ahead.tokens.push(Token::Known(known));
    }
}
