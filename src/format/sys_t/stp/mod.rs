//! STPv2 packets → messages: one state machine.
//!
//! The stream is made of nibbles, the low one of a byte first. A message is what one master and channel sends from a data packet with
//! a time stamp to a flag or a marked data packet; those of other channels may lie between. All of it has a memory (present master and
//! channel, time, open messages), so this is done in file order; where the input is cut has no influence.
//!
//! Sizes of packets and the meaning of time stamps are those on which three independent decoders agree. Packets whose layout is not
//! public cost the rest up to the next ASYNC.

pub mod encode;
mod evidence;
pub mod tpiu;

use std::collections::VecDeque;

use rustc_hash::FxHashMap;

pub use evidence::Evidence;

use super::decode::{Context, Notice};

/// How many F nibbles make an ASYNC, with a 0 behind them.
const ASYNC_NIBBLES: u64 = 21;

/// The longest run of nibbles that is one packet, but for a run of F.
const PACKET_NIBBLES: usize = 64;

/// How many used bytes are kept.
const KEPT_BYTES: usize = 16;

/// The longest message that is put together, in bytes: all fields and the largest payload are less.
const MESSAGE_LIMIT_BYTES: usize = 72 << 10;

/// How many messages may be begun while an earlier one is open.
const OPEN_LIMIT: usize = 1 << 12;

/// How many masters and channels are kept apart.
const PLACES_LIMIT: usize = 1 << 16;

/// In which order the nibbles of a value stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NibbleOrder {
    /// Most significant first: what hardware sends.
    Msb,
    /// Least significant first: what the library's simulator and some firmware send.
    Lsb,
}

/// Where messages and notices go.
pub trait Sink {
    /// The bytes of a message. `is_whole`: its end was seen.
    fn frame(&mut self, frame: &[u8], context: Context, is_whole: bool);
    /// Something else.
    fn notice(&mut self, notice: Notice, value: u64, context: Context);
}

/// How time stamps are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scheme {
    /// Two nibbles, of unknown meaning.
    Legacy,
    /// The difference to the last one.
    Delta,
    /// Its low digits.
    Natural,
    /// The low digits of its Gray code.
    Gray,
}

/// A message being put together.
#[derive(Debug, Default)]
struct Open {
    bytes: Vec<u8>,
    /// Its place in the order of starts; `None`: no message is open.
    number: Option<u64>,
    context: Context,
    /// Data without a start is being dropped.
    is_beginless: bool,
}

/// A message that has begun.
#[derive(Debug)]
enum Slot {
    /// It goes on, on this place.
    Waiting(u32),
    /// It has ended, but one that began earlier has not.
    Done(Vec<u8>, Context, bool),
}

/// The state of a stream.
#[derive(Debug)]
pub struct Stream {
    order: NibbleOrder,
    /// An order that the stream itself tells.
    told_order: Option<NibbleOrder>,
    synced: bool,
    /// While unsynced: how many F nibbles precede.
    run: u64,
    /// Where the unsynced stretch began, in nibbles of the stream.
    unsynced_since: u64,
    scheme: Scheme,
    time: u64,
    master: u16,
    channel: u16,
    /// The present place in `open`.
    place: u32,
    place_of: FxHashMap<(u16, u16), u32>,
    open: Vec<Open>,
    /// Messages in the order in which they began, from `first_slot` on.
    slots: VecDeque<Slot>,
    first_slot: u64,
    spare: Vec<Vec<u8>>,
    /// Bytes that were not used up yet, and where the first of their nibbles stands in the stream.
    buffer: Vec<u8>,
    /// Where each byte of the buffer was in the file, if that is not its place in the stream.
    origins: Vec<u64>,
    /// The place in the stream of the buffer's first byte, in bytes.
    base: u64,
    /// How many nibbles of the buffer are used up.
    used: usize,
}

/// What lies behind the opcodes: nibbles of data, and whether a time stamp follows, ends a message, …
#[derive(Clone, Copy)]
struct DataPacket {
    nibbles: usize,
    has_time: bool,
    is_marked: bool,
}

const fn data(nibbles: usize, has_time: bool, is_marked: bool) -> DataPacket {
    DataPacket { nibbles, has_time, is_marked }
}

impl Stream {
    /// A stream whose values are written in this order, unless it says otherwise itself.
    #[must_use]
    pub fn new(order: NibbleOrder) -> Stream {
        Stream {
            order,
            told_order: None,
            synced: false,
            run: 0,
            unsynced_since: 0,
            scheme: Scheme::Natural,
            time: 0,
            master: 0,
            channel: 0,
            place: 0,
            place_of: FxHashMap::from_iter([((0, 0), 0)]),
            open: vec![Open::default()],
            slots: VecDeque::new(),
            first_slot: 0,
            spare: Vec::new(),
            buffer: Vec::new(),
            origins: Vec::new(),
            base: 0,
            used: 0,
        }
    }

    /// Takes the next bytes. `origins`: where each was in the file, if that differs from its place in the stream; else empty.
    pub fn push(&mut self, bytes: &[u8], origins: &[u64], is_last: bool, sink: &mut dyn Sink) {
        // Some of what was used up is kept: an ASYNC may have begun there.
        let drop = (self.used / 2).saturating_sub(KEPT_BYTES).min(self.buffer.len());
        self.buffer.drain(..drop);
        if !self.origins.is_empty() {
            self.origins.drain(..drop.min(self.origins.len()));
        }
        self.base += drop as u64;
        self.used -= 2 * drop;
        self.buffer.extend_from_slice(bytes);
        self.origins.extend_from_slice(origins);
        let end = 2 * self.buffer.len();
        // So that words may be loaded near the end.
        self.buffer.extend([0; 16]);
        let buffer = std::mem::take(&mut self.buffer);
        let nibbles = Nibbles { bytes: &buffer, end };
        let mut at = self.used;
        while at < end {
            let next = if self.synced { self.packet(nibbles, at, is_last, sink) } else { Some(self.seek(nibbles, at, sink)) };
            match next {
                Some(next) => at = next,
                None => break,
            }
        }
        if is_last {
            if self.synced && at < end {
                // A packet that the input ends within.
                let (from, to) = (self.offset_of(self.position(at)), self.offset_of(self.position(end)));
                let len = usize::try_from(to.saturating_sub(from)).unwrap_or(usize::MAX).max(1);
                sink.notice(Notice::Unsynced, 0, Context { offset: from, len, place: None, transport: Some(self.time) });
            } else if !self.synced {
                self.tell_unsynced(self.position(end), sink);
            }
            at = end;
            self.finish(sink);
        }
        self.used = at;
        self.buffer = buffer;
        self.buffer.truncate(end / 2);
    }

    /// Where the oldest open message, or the next byte, is in the file: nothing that comes lies before it.
    #[must_use]
    pub fn oldest_offset(&self) -> u64 {
        let open = self.open.iter().filter(|open| open.number.is_some()).map(|open| open.context.offset);
        let waiting =
            self.slots.iter().filter_map(|slot| if let Slot::Done(_, context, _) = slot { Some(context.offset) } else { None });
        open.chain(waiting).chain([self.offset_of(self.unsynced_since), self.offset_of(2 * self.base)]).min().unwrap_or(0)
    }

    /// A place in the stream, in nibbles.
    fn position(&self, at: usize) -> u64 {
        2 * self.base + at as u64
    }

    fn offset_of(&self, position: u64) -> u64 {
        let index = (position / 2).saturating_sub(self.base);
        let told =
            usize::try_from(index).ok().and_then(|index| self.origins.get(index.min(self.origins.len().saturating_sub(1))));
        told.copied().unwrap_or(position / 2)
    }

    fn context(&self, at: usize) -> Context {
        let place = Some((self.master, self.channel));
        Context { offset: self.offset_of(self.position(at)), len: 0, place, transport: Some(self.time) }
    }

    /// Looks for the next ASYNC. Gives where to go on.
    fn seek(&mut self, nibbles: Nibbles<'_>, mut at: usize, sink: &mut dyn Sink) -> usize {
        while at < nibbles.end {
            match nibbles.get(at) {
                0xF => self.run += 1,
                0 if self.run >= ASYNC_NIBBLES => {
                    let start = self.position(at) - ASYNC_NIBBLES;
                    self.tell_unsynced(start, sink);
                    self.synced = true;
                    self.run = 0;
                    return at + 1;
                }
                _ => self.run = 0,
            }
            at += 1;
        }
        at
    }

    fn tell_unsynced(&mut self, until: u64, sink: &mut dyn Sink) {
        // A padding nibble before the first ASYNC is normal.
        if until > self.unsynced_since + 1 {
            let (from, to) = (self.offset_of(self.unsynced_since), self.offset_of(until));
            let len = usize::try_from(to - from.min(to)).unwrap_or(usize::MAX).max(1);
            sink.notice(Notice::Unsynced, 0, Context { offset: from, len, place: None, transport: Some(self.time) });
        }
    }

    fn lose_sync(&mut self, at: usize, run: u64) {
        self.synced = false;
        self.run = run;
        self.unsynced_since = self.position(at);
    }

    /// Takes one packet; gives where the next one starts, `None` if more bytes are needed.
    #[inline]
    fn packet(&mut self, nibbles: Nibbles<'_>, at: usize, is_last: bool, sink: &mut dyn Sink) -> Option<usize> {
        if at + PACKET_NIBBLES > nibbles.end && !is_last && !self.fits(nibbles, at) {
            return None;
        }
        let word = nibbles.word(at);
        let packet = match word & 0xF {
            0x0 => return Some(at + 1),
            0x4 => data(2, false, false),
            0x5 => data(4, false, false),
            0x6 => data(8, false, false),
            0x7 => data(16, false, false),
            0x8 => data(2, true, true),
            0x9 => data(4, true, true),
            0xA => data(8, true, true),
            0xB => data(16, true, true),
            0xC => data(1, false, false),
            0xD => data(1, true, true),
            0x1 | 0x3 => {
                let value = self.value(nibbles, at + 1, 2)? as u16;
                if word & 0xF == 1 {
                    self.go_to(self.master & 0xFF00 | value, 0);
                } else {
                    self.go_to(self.master, self.channel & 0xFF00 | value);
                }
                return Some(at + 3);
            }
            0x2 => {
                let value = self.value(nibbles, at + 1, 2)?;
                self.go_to(self.master, 0);
                sink.notice(Notice::MasterError, value, self.context(at));
                return Some(at + 3);
            }
            0xE => {
                let next = self.timestamp(nibbles, at + 1)?;
                return Some(self.flag(at, next, sink));
            }
            _ => return self.escaped(nibbles, at, sink),
        };
        self.data(nibbles, at, 1, packet, sink)
    }

    /// Whether what is there is a whole packet. Slow, for the last bytes only.
    fn fits(&self, nibbles: Nibbles<'_>, at: usize) -> bool {
        let op = |index: usize| if at + index < nibbles.end { nibbles.get(at + index) } else { 0xFF };
        let (fixed, has_time) = match (op(0), op(1), op(2)) {
            (0, ..) => (1, false),
            (1..=4, ..) => (3, false),
            (5, ..) => (5, false),
            (6, ..) => (9, false),
            (7, ..) => (17, false),
            (8, ..) => (3, true),
            (9, ..) => (5, true),
            (0xA, ..) => (9, true),
            (0xB, ..) => (17, true),
            (0xC, ..) => (2, false),
            (0xD, ..) => (2, true),
            (0xE, ..) => (1, true),
            // Escaped packets are rare, and so are ends of parts.
            _ => return false,
        };
        let time = match (has_time, self.scheme, op(fixed)) {
            (false, ..) => 0,
            (true, Scheme::Legacy, _) => 2,
            (true, _, size @ 0..=0xC) => 1 + usize::from(size),
            (true, _, 0xD) => 15,
            (true, _, 0xE) => 17,
            _ => return false,
        };
        at + fixed + time <= nibbles.end
    }

    #[inline]
    fn value(&self, nibbles: Nibbles<'_>, at: usize, count: usize) -> Option<u64> {
        if at + count > nibbles.end {
            return None;
        }
        Some(order(nibbles.word(at), count, self.told_order.unwrap_or(self.order)))
    }

    /// Packets that begin with F.
    fn escaped(&mut self, nibbles: Nibbles<'_>, at: usize, sink: &mut dyn Sink) -> Option<usize> {
        if at + 2 > nibbles.end {
            return None;
        }
        let packet = match nibbles.get(at + 1) {
            0x4 => data(2, true, false),
            0x5 => data(4, true, false),
            0x6 => data(8, true, false),
            0x7 => data(16, true, false),
            0x8 => data(2, false, true),
            0x9 => data(4, false, true),
            0xA => data(8, false, true),
            0xB => data(16, false, true),
            0xC => data(1, true, false),
            0xD => data(1, false, true),
            0xE => return Some(self.flag(at, at + 2, sink)),
            0x1 | 0x3 => {
                let value = self.value(nibbles, at + 2, 4)? as u16;
                if nibbles.get(at + 1) == 1 {
                    self.go_to(value, 0)
                } else {
                    self.go_to(self.master, value)
                }
                return Some(at + 6);
            }
            0x2 => {
                let value = self.value(nibbles, at + 2, 2)?;
                self.go_to(0, 0);
                sink.notice(Notice::GlobalError, value, Context { place: None, ..self.context(at) });
                return Some(at + 4);
            }
            0x0 => return self.rare(nibbles, at, sink),
            _ => return self.run_of_f(nibbles, at, sink),
        };
        self.data(nibbles, at, 2, packet, sink)
    }

    /// Two F or more: an ASYNC, or nothing that is known.
    fn run_of_f(&mut self, nibbles: Nibbles<'_>, at: usize, sink: &mut dyn Sink) -> Option<usize> {
        let mut end = at;
        while end < nibbles.end && nibbles.get(end) == 0xF {
            end += 1;
        }
        // However long a run is, its last nibbles decide: then it does not matter where the input is cut.
        let reach = 2 * ASYNC_NIBBLES as usize;
        if end - at > reach {
            return Some(end - reach);
        }
        let run = (end - at) as u64;
        // An ASYNC may begin within a packet: then its first F were taken for data.
        let eaten = (0..at).rev().take(16).take_while(|&before| nibbles.get(before) == 0xF).count() as u64;
        if end >= nibbles.end {
            return None;
        }
        if nibbles.get(end) == 0 && run + eaten >= ASYNC_NIBBLES {
            if run < ASYNC_NIBBLES {
                self.break_off(at, sink);
            }
            return Some(end + 1);
        }
        sink.notice(Notice::UnknownPacket, 0xF, self.context(at));
        self.lose_sync(at, run);
        Some(end)
    }

    /// Packets that begin with F0.
    #[cold]
    fn rare(&mut self, nibbles: Nibbles<'_>, at: usize, sink: &mut dyn Sink) -> Option<usize> {
        if at + 4 > nibbles.end {
            return None;
        }
        let with_time =
            |stream: &mut Stream, next: usize, has: bool| if has { stream.timestamp(nibbles, next) } else { Some(next) };
        match nibbles.get(at + 2) {
            0x0 => self.version(nibbles, at),
            0x1 => self.timestamp(nibbles, at + 3),
            op @ (0x2 | 0x3) => {
                let count = usize::from(nibbles.get(at + 3)) + 1;
                self.value(nibbles, at + 4, count)?;
                with_time(self, at + 4 + count, op == 3)
            }
            op @ (0x6 | 0x7) => {
                let value = self.value(nibbles, at + 3, 2)?;
                let next = with_time(self, at + 5, op == 7)?;
                sink.notice(Notice::Trigger, value, Context { place: None, ..self.context(at) });
                Some(next)
            }
            op @ (0x8 | 0x9) => {
                let hz = self.value(nibbles, at + 3, 8)?;
                let next = with_time(self, at + 11, op == 9)?;
                sink.notice(Notice::Frequency, hz, Context { place: None, ..self.context(at) });
                Some(next)
            }
            0xF if nibbles.get(at + 3) <= 1 => {
                let hz = self.value(nibbles, at + 4, 10)?;
                let next = with_time(self, at + 14, nibbles.get(at + 3) == 1)?;
                sink.notice(Notice::Frequency, hz, Context { place: None, ..self.context(at) });
                Some(next)
            }
            other => {
                sink.notice(Notice::UnknownPacket, u64::from(other), self.context(at));
                self.lose_sync(at, 0);
                Some(at + 1)
            }
        }
    }

    fn version(&mut self, nibbles: Nibbles<'_>, at: usize) -> Option<usize> {
        let version = nibbles.get(at + 3);
        self.scheme = match version & 7 {
            0 | 1 => Scheme::Legacy,
            2 => Scheme::Delta,
            4 => Scheme::Gray,
            _ => Scheme::Natural,
        };
        self.go_to(0, 0);
        if version & 8 == 0 {
            return Some(at + 4);
        }
        if at + 6 > nibbles.end {
            return None;
        }
        let extension = nibbles.get(at + 4) << 4 | nibbles.get(at + 5);
        self.told_order = Some(if extension & 0x80 != 0 { NibbleOrder::Lsb } else { NibbleOrder::Msb });
        Some(at + 6)
    }

    /// Takes a time stamp; gives where it ends.
    #[inline]
    fn timestamp(&mut self, nibbles: Nibbles<'_>, at: usize) -> Option<usize> {
        if self.scheme == Scheme::Legacy {
            self.value(nibbles, at, 2)?;
            return Some(at + 2);
        }
        if at >= nibbles.end {
            return None;
        }
        let count = match nibbles.get(at) {
            size @ 0..=0xC => usize::from(size),
            0xD => 14,
            0xE => 16,
            _ => {
                // None that can be: perhaps an ASYNC within a packet.
                return Some(at);
            }
        };
        let value = self.value(nibbles, at + 1, count)?;
        let low = if count == 16 { u64::MAX } else { (1 << (4 * count)) - 1 };
        match self.scheme {
            Scheme::Delta => self.time = self.time.wrapping_add(value),
            Scheme::Gray if count > 0 => {
                let gray = (self.time ^ self.time >> 1) & !low | value;
                self.time = from_gray(gray);
            }
            Scheme::Natural => self.time = self.time & !low | value,
            _ => {}
        }
        Some(at + 1 + count)
    }

    fn go_to(&mut self, master: u16, channel: u16) {
        if (self.master, self.channel) == (master, channel) {
            return;
        }
        (self.master, self.channel) = (master, channel);
        self.place = match self.place_of.get(&(master, channel)) {
            Some(&place) => place,
            // Beyond all healthy streams: one buffer for all the rest.
            None if self.open.len() >= PLACES_LIMIT => 0,
            None => {
                let place = u32::try_from(self.open.len()).unwrap_or(0);
                self.open.push(Open::default());
                self.place_of.insert((master, channel), place);
                place
            }
        };
    }

    #[inline]
    fn data(&mut self, nibbles: Nibbles<'_>, at: usize, op: usize, packet: DataPacket, sink: &mut dyn Sink) -> Option<usize> {
        let value = self.value(nibbles, at + op, packet.nibbles)?;
        let after = at + op + packet.nibbles;
        let next = if packet.has_time { self.timestamp(nibbles, after)? } else { after };
        if packet.has_time {
            self.begin(at, sink);
        }
        let open = &mut self.open[self.place as usize];
        if open.number.is_some() {
            // Four bits alone make no byte of a message.
            let bytes = value.to_le_bytes();
            open.bytes.extend_from_slice(bytes.get(..packet.nibbles / 2).unwrap_or(&[]));
            if packet.is_marked {
                self.end(next, true, sink);
            } else if open.bytes.len() > MESSAGE_LIMIT_BYTES {
                self.end(next, false, sink);
            }
        } else if !open.is_beginless {
            open.is_beginless = !packet.is_marked;
            sink.notice(Notice::Beginless, 0, self.context(at));
        }
        Some(next)
    }

    fn flag(&mut self, at: usize, next: usize, sink: &mut dyn Sink) -> usize {
        let open = &mut self.open[self.place as usize];
        open.is_beginless = false;
        if open.number.is_some() {
            self.end(at + 1, true, sink);
        }
        next
    }

    /// A message begins at the present place.
    #[inline]
    fn begin(&mut self, at: usize, sink: &mut dyn Sink) {
        if self.open[self.place as usize].number.is_some() {
            self.break_off(at, sink);
        }
        let number = self.first_slot + self.slots.len() as u64;
        let context = self.context(at);
        let open = &mut self.open[self.place as usize];
        open.bytes.clear();
        open.is_beginless = false;
        open.number = Some(number);
        open.context = context;
        self.slots.push_back(Slot::Waiting(self.place));
        if self.slots.len() > OPEN_LIMIT {
            self.close_first(at, sink);
        }
    }

    /// The oldest open message is given up.
    #[cold]
    fn close_first(&mut self, at: usize, sink: &mut dyn Sink) {
        if let Some(Slot::Waiting(place)) = self.slots.front() {
            let here = std::mem::replace(&mut self.place, *place);
            self.break_off(at, sink);
            self.place = here;
        }
    }

    /// The message of the present place has no end.
    #[cold]
    fn break_off(&mut self, at: usize, sink: &mut dyn Sink) {
        if self.open[self.place as usize].number.is_some() {
            let context = self.open[self.place as usize].context;
            sink.notice(Notice::Unfinished, 0, Context { len: 0, ..context });
            self.end(at, false, sink);
        }
    }

    /// The message of the present place ends.
    #[inline]
    fn end(&mut self, at: usize, is_whole: bool, sink: &mut dyn Sink) {
        let end = self.position(at).div_ceil(2);
        let last = if self.origins.is_empty() { end } else { self.offset_of(self.position(at)) };
        let open = &mut self.open[self.place as usize];
        let Some(number) = open.number.take() else { return };
        let mut context = open.context;
        context.len = usize::try_from(last.saturating_sub(context.offset)).unwrap_or(usize::MAX);
        if number == self.first_slot {
            sink.frame(&open.bytes, context, is_whole);
            self.slots.pop_front();
            self.first_slot += 1;
            self.release(sink);
            return;
        }
        let mut kept = self.spare.pop().unwrap_or_default();
        kept.clear();
        kept.extend_from_slice(&open.bytes);
        let index = usize::try_from(number - self.first_slot).unwrap_or(usize::MAX);
        if let Some(slot) = self.slots.get_mut(index) {
            *slot = Slot::Done(kept, context, is_whole);
        }
    }

    /// Gives on the messages that no open one precedes.
    #[inline]
    fn release(&mut self, sink: &mut dyn Sink) {
        while let Some(Slot::Done(..)) = self.slots.front() {
            if let Some(Slot::Done(bytes, context, is_whole)) = self.slots.pop_front() {
                self.first_slot += 1;
                sink.frame(&bytes, context, is_whole);
                self.spare.push(bytes);
            }
        }
    }

    /// No more comes: what is open has no end.
    fn finish(&mut self, sink: &mut dyn Sink) {
        let end = 2 * self.buffer.len();
        while !self.slots.is_empty() {
            self.close_first(end, sink);
            self.release(sink);
        }
    }
}

/// Nibbles of a buffer, which has 16 bytes behind `end`.
#[derive(Clone, Copy)]
struct Nibbles<'a> {
    bytes: &'a [u8],
    /// How many there are.
    end: usize,
}

impl Nibbles<'_> {
    #[inline]
    fn get(self, at: usize) -> u8 {
        let byte = self.bytes.get(at / 2).copied().unwrap_or(0);
        if at.is_multiple_of(2) { byte & 0xF } else { byte >> 4 }
    }

    /// Sixteen nibbles, the first one lowest.
    #[inline]
    fn word(self, at: usize) -> u64 {
        let Some(bytes) = self.bytes.get(at / 2..).and_then(|rest| rest.first_chunk::<9>()) else { return 0 };
        let low = bytes.first_chunk::<8>().map_or(0, |low| u64::from_le_bytes(*low));
        if at.is_multiple_of(2) { low } else { low >> 4 | u64::from(bytes[8]) << 60 }
    }
}

/// The value of the first `count` (at most 16) nibbles of a word.
#[inline]
fn order(word: u64, count: usize, order: NibbleOrder) -> u64 {
    if count == 0 {
        return 0;
    }
    let unused = 64 - 4 * count as u32;
    match order {
        NibbleOrder::Lsb => word << unused >> unused,
        NibbleOrder::Msb => {
            let swapped = word.swap_bytes();
            let reversed = (swapped & 0x0F0F_0F0F_0F0F_0F0F) << 4 | swapped >> 4 & 0x0F0F_0F0F_0F0F_0F0F;
            reversed >> unused
        }
    }
}

fn from_gray(mut gray: u64) -> u64 {
    for shift in [1, 2, 4, 8, 16, 32] {
        gray ^= gray >> shift;
    }
    gray
}

#[cfg(test)]
mod tests;
