//! STPv2 packets: their layout, and the state of the stream that they change: present master and channel, order of nibbles, time.
//!
//! Each master and channel is a *place*. What packets send on places goes to a [`PacketVisitor`], which makes messages of it.
//!
//! Sizes of packets and the meaning of time stamps are those on which three independent decoders agree. A packet whose layout is not
//! public costs the rest up to the next ASYNC.

use super::anchors::{Bound, Segment};
use super::assembly::MESSAGE_LIMIT_BYTES;
use crate::format::syst::decode::Context;
use crate::format::syst::decoded::Notice;

/// The order of the nibbles of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NibbleOrder {
    /// Most significant first, as hardware sends.
    Msb,
    /// Least significant first, as the library's simulator and some firmware send.
    Lsb,
}

/// An ASYNC is this many F nibbles, and a 0.
pub(super) const ASYNC_NIBBLES: u64 = 21;

/// The longest packet, except a run of F, in nibbles.
const PACKET_NIBBLES: usize = 64;

/// How time stamps are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scheme {
    /// Two nibbles whose meaning is not public.
    Legacy,
    /// The difference to the last one.
    Delta,
    /// Its low digits.
    Natural,
    /// The low digits of its Gray code.
    Gray,
}

/// Receives the content of packets. Ends are offsets in the file, in bytes.
pub(super) trait PacketVisitor {
    /// The number of a master and channel.
    fn place(&mut self, master: u16, channel: u16) -> u32;
    /// A message begins. If one is open on the place, it ends at `here`.
    fn begin(&mut self, place: u32, context: Context, here: u64);
    /// Data of the packet `packet`.
    fn data(&mut self, place: u32, data: Data, is_marked: bool, packet: PacketSpan<'_>);
    /// The bytes of the open message of a place, if all that data does is to be appended to them.
    fn open_bytes(&mut self, place: u32) -> Option<&mut Vec<u8>>;
    /// A flag.
    fn flag(&mut self, place: u32, end: u64);
    /// The open message of the place has no end.
    fn break_off(&mut self, place: u32, here: u64);
    /// Packets were lost: no open message has an end.
    fn break_off_all(&mut self, here: u64);
    /// Any other observation.
    fn notice(&mut self, notice: Notice, value: u64, context: Context);
    /// More digits of the time are known now: these.
    fn time_digits(&mut self, known: u64);
}

/// The content of a data packet: the lowest `nibbles` (at most 16) of a value, to be appended from the lowest one on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Data {
    pub value: u64,
    pub nibbles: usize,
}

/// Bytes of a stream.
#[derive(Clone, Copy)]
pub(super) struct Window<'a> {
    pub nibbles: Nibbles<'a>,
    /// The place in the stream of the first byte, in bytes.
    pub base: u64,
    /// The offset in the file of each byte, if it differs from its place in the stream; else empty.
    pub origins: &'a [u64],
    /// The bounds of time stamps.
    pub bounds: &'a [Bound],
}

impl Window<'_> {
    /// A place in the stream, in nibbles.
    #[inline]
    pub(super) fn position(&self, at: usize) -> u64 {
        2 * self.base + at as u64
    }

    /// The offset in the file of a position in the stream.
    #[inline]
    pub(super) fn offset_of(&self, position: u64) -> u64 {
        offset_of(self.base, self.origins, position)
    }

    /// The end in the file of a packet that ends at `at`.
    #[inline]
    pub(super) fn end_of(&self, at: usize) -> u64 {
        let position = self.position(at);
        // Whether the next byte is there already depends on where the input is cut, so it must not be used.
        if self.origins.is_empty() { position.div_ceil(2) } else { self.offset_of(position.saturating_sub(1)) }
    }
}

/// The place of a packet. Its context is needed for few packets.
#[derive(Clone, Copy)]
pub(super) struct PacketSpan<'a> {
    window: Window<'a>,
    /// Its first nibble, and the one after it.
    at: usize,
    next: usize,
    channel: (u16, u16),
    time: u64,
}

impl PacketSpan<'_> {
    /// The context of the packet.
    pub(super) fn context(self) -> Context {
        let offset = self.window.offset_of(self.window.position(self.at));
        Context { offset, len: 0, place: Some(self.channel), transport: Some(self.time), is_early: false }
    }

    /// Its end in the file.
    #[inline]
    pub(super) fn end(self) -> u64 {
        self.window.end_of(self.next)
    }
}

/// The offset in the file of a position in the stream, in nibbles. `origins` are those of the bytes from `base` on.
pub(super) fn offset_of(base: u64, origins: &[u64], position: u64) -> u64 {
    let index = (position / 2).saturating_sub(base);
    let origin = usize::try_from(index).ok().and_then(|index| origins.get(index.min(origins.len().saturating_sub(1))));
    origin.copied().unwrap_or(position / 2)
}

/// The state of a stream that packets change.
#[derive(Clone, Debug)]
pub(super) struct Packets {
    order: NibbleOrder,
    /// The order that the stream states, if it does.
    stated_order: Option<NibbleOrder>,
    pub synced: bool,
    /// While unsynced: the number of F nibbles just before.
    run: u64,
    /// While unsynced: there was nothing but NULL before them.
    is_padding: bool,
    /// The start of the unsynced stretch: in nibbles of the stream, and its offset in the file. Its first bytes may be gone.
    unsynced_since: u64,
    pub unsynced_offset: u64,
    pub scheme: Scheme,
    pub time: u64,
    /// The digits of the time that are known since the start.
    pub known: u64,
    /// The same since the last VERSION.
    fresh: u64,
    segment: Segment,
    master: u16,
    channel: u16,
    /// The number of this place.
    pub place: u32,
    /// A VERSION was seen.
    pub has_version: bool,
}

/// A kind of data packet: its size, whether a time stamp follows, and whether it ends the message.
#[derive(Clone, Copy)]
struct DataPacket {
    nibbles: usize,
    has_time: bool,
    is_marked: bool,
}

const fn data(nibbles: usize, has_time: bool, is_marked: bool) -> DataPacket {
    DataPacket { nibbles, has_time, is_marked }
}

impl Packets {
    /// The state before a stream with this order of nibbles, unless the stream states another one. `place` is that of master and
    /// channel 0.
    pub(super) fn new(order: NibbleOrder, place: u32) -> Packets {
        Packets {
            order,
            stated_order: None,
            synced: false,
            run: 0,
            is_padding: true,
            unsynced_since: 0,
            unsynced_offset: 0,
            scheme: Scheme::Natural,
            time: 0,
            known: 0,
            fresh: 0,
            segment: Segment::NONE,
            master: 0,
            channel: 0,
            place,
            has_version: false,
        }
    }

    /// The state before this position of a stream in which bytes were lost, of which nothing from `offset` in the file on is used.
    pub(super) fn unsynced(order: NibbleOrder, position: u64, offset: u64, time: u64) -> Packets {
        let unsynced_since = position.saturating_sub(2);
        Packets { is_padding: false, unsynced_since, unsynced_offset: offset, time, ..Packets::new(order, 0) }
    }

    /// Whether both read the next packets alike, except for the time.
    pub(super) fn reads_like(&self, other: &Packets) -> bool {
        let all = |packets: &Packets| {
            (packets.synced, packets.order, packets.stated_order, packets.scheme, packets.master, packets.channel)
        };
        all(self) == all(other) && self.synced
    }

    /// Master and channel.
    pub(super) fn present(&self) -> (u16, u16) {
        (self.master, self.channel)
    }

    /// Reads packets from `at` on, as far as they are whole, while `goes_on`. Returns where it stopped.
    #[inline]
    pub(super) fn run(
        &mut self,
        window: Window<'_>,
        mut at: usize,
        is_last: bool,
        visitor: &mut impl PacketVisitor,
        mut goes_on: impl FnMut(&Packets, usize) -> bool,
    ) -> usize {
        while at < window.nibbles.end && goes_on(self, at) {
            let next = if self.synced { self.packet(window, at, is_last, visitor) } else { Some(self.seek(window, at, visitor)) };
            match next {
                Some(next) => at = next,
                None => break,
            }
        }
        at
    }

    fn context(&self, window: Window<'_>, at: usize) -> Context {
        let place = Some((self.master, self.channel));
        Context { offset: window.offset_of(window.position(at)), len: 0, place, transport: Some(self.time), is_early: false }
    }

    /// Searches for the next ASYNC. Returns where to continue.
    fn seek(&mut self, window: Window<'_>, mut at: usize, visitor: &mut impl PacketVisitor) -> usize {
        if window.position(at) == 0 {
            self.unsynced_offset = window.offset_of(0);
        }
        while at < window.nibbles.end {
            match window.nibbles.get(at) {
                0xF => self.run += 1,
                0 if self.run >= ASYNC_NIBBLES => {
                    let start = window.position(at) - ASYNC_NIBBLES;
                    if !self.is_padding || self.run > ASYNC_NIBBLES {
                        self.report_unsynced(window, start, visitor);
                    }
                    self.synced = true;
                    self.run = 0;
                    return at + 1;
                }
                nibble => {
                    self.is_padding &= nibble == 0 && self.run == 0;
                    self.run = 0;
                }
            }
            at += 1;
        }
        at
    }

    pub(super) fn report_unsynced(&mut self, window: Window<'_>, until: u64, visitor: &mut impl PacketVisitor) {
        // A padding nibble before the first ASYNC is normal.
        if until > self.unsynced_since + 1 {
            let (from, to) = (self.unsynced_offset, window.offset_of(until));
            let len = usize::try_from(to - from.min(to)).unwrap_or(usize::MAX).max(1);
            visitor.notice(Notice::Unsynced, 0, Context { offset: from, len, transport: Some(self.time), ..Context::default() });
        }
    }

    fn lose_sync(&mut self, window: Window<'_>, at: usize, run: u64, visitor: &mut impl PacketVisitor) {
        // Data after the loss may belong to other messages.
        visitor.break_off_all(window.end_of(at));
        self.synced = false;
        self.has_version = false;
        self.run = run;
        self.is_padding = false;
        self.unsynced_since = window.position(at);
        self.unsynced_offset = window.offset_of(self.unsynced_since);
    }

    /// Reads a packet. Returns the start of the next one, `None` if more bytes are needed.
    #[inline]
    fn packet(&mut self, window: Window<'_>, at: usize, is_last: bool, visitor: &mut impl PacketVisitor) -> Option<usize> {
        if at + PACKET_NIBBLES > window.nibbles.end && !is_last && !self.fits(window, at) {
            return None;
        }
        let op = window.nibbles.get(at);
        if (0x4..=0x7).contains(&op) {
            let next = self.plain_data(window, at, visitor);
            if next > at {
                return Some(self.message_end(window, next, visitor));
            }
        }
        let packet = match op {
            0x0 => return Some(at + 1),
            0x4..=0x7 => data(2 << (op - 0x4), false, false),
            0x8..=0xB => data(2 << (op - 0x8), true, true),
            0xC => data(1, false, false),
            0xD => data(1, true, true),
            0x1 | 0x3 => {
                let value = self.value(window.nibbles, at + 1, 2)? as u16;
                if op == 1 {
                    self.select(self.master & 0xFF00 | value, 0, visitor);
                } else {
                    self.select(self.master, self.channel & 0xFF00 | value, visitor);
                }
                return Some(at + 3);
            }
            0x2 => {
                let value = self.value(window.nibbles, at + 1, 2)?;
                self.select(self.master, 0, visitor);
                visitor.notice(Notice::MasterError, value, self.context(window, at));
                return Some(at + 3);
            }
            0xE => {
                let next = self.timestamp(window, at + 1, visitor)?;
                return Some(self.flag(window, at, next, visitor));
            }
            _ => return self.escaped(window, at, visitor),
        };
        self.data(window, at, 1, packet, visitor)
    }

    /// Whether a whole packet is there. Slow: for the last bytes only.
    fn fits(&self, window: Window<'_>, at: usize) -> bool {
        let op = |index: usize| if at + index < window.nibbles.end { window.nibbles.get(at + index) } else { 0xFF };
        let (fixed, has_time) = match op(0) {
            0 => (1, false),
            1..=3 => (3, false),
            size @ 0x4..=0x7 => (1 + (2 << (size - 0x4)), false),
            size @ 0x8..=0xB => (1 + (2 << (size - 0x8)), true),
            0xC => (2, false),
            0xD => (2, true),
            0xE => (1, true),
            // Escaped packets are rare, and so are ends of parts.
            _ => return false,
        };
        let time = match (has_time, self.scheme) {
            (false, _) => Some(0),
            (true, Scheme::Legacy) => Some(2),
            (true, _) => stamp_nibbles(op(fixed)).map(|count| 1 + count),
        };
        time.is_some_and(|time| at + fixed + time <= window.nibbles.end)
    }

    #[inline]
    fn value(&self, nibbles: Nibbles<'_>, at: usize, count: usize) -> Option<u64> {
        if at + count > nibbles.end {
            return None;
        }
        Some(order(nibbles.word(at), count, self.stated_order.unwrap_or(self.order)))
    }

    /// Packets that begin with F.
    fn escaped(&mut self, window: Window<'_>, at: usize, visitor: &mut impl PacketVisitor) -> Option<usize> {
        if at + 2 > window.nibbles.end {
            return None;
        }
        let op = window.nibbles.get(at + 1);
        let packet = match op {
            0x4..=0x7 => data(2 << (op - 0x4), true, false),
            0x8..=0xB => data(2 << (op - 0x8), false, true),
            0xC => data(1, true, false),
            0xD => data(1, false, true),
            0xE => return Some(self.flag(window, at, at + 2, visitor)),
            0x1 | 0x3 => {
                let value = self.value(window.nibbles, at + 2, 4)? as u16;
                if op == 1 {
                    self.select(value, 0, visitor)
                } else {
                    self.select(self.master, value, visitor)
                }
                return Some(at + 6);
            }
            0x2 => {
                let value = self.value(window.nibbles, at + 2, 2)?;
                self.select(0, 0, visitor);
                visitor.notice(Notice::GlobalError, value, Context { place: None, ..self.context(window, at) });
                return Some(at + 4);
            }
            0x0 => return self.rare(window, at, visitor),
            _ => return self.run_of_f(window, at, visitor),
        };
        self.data(window, at, 2, packet, visitor)
    }

    /// Two F or more: an ASYNC, or an unknown packet.
    fn run_of_f(&mut self, window: Window<'_>, at: usize, visitor: &mut impl PacketVisitor) -> Option<usize> {
        let mut end = at;
        while end < window.nibbles.end && window.nibbles.get(end) == 0xF {
            end += 1;
        }
        // The last nibbles of a run decide, however long it is. So it does not matter where the input is cut.
        let reach = 2 * ASYNC_NIBBLES as usize;
        if end - at > reach {
            return Some(end - reach);
        }
        let run = (end - at) as u64;
        // An ASYNC may begin within a packet: then its first F were taken for data.
        let eaten = (0..at).rev().take(16).take_while(|&before| window.nibbles.get(before) == 0xF).count() as u64;
        if end >= window.nibbles.end {
            return None;
        }
        if window.nibbles.get(end) == 0 && run + eaten >= ASYNC_NIBBLES {
            if run < ASYNC_NIBBLES {
                visitor.break_off(self.place, window.end_of(at));
            }
            return Some(end + 1);
        }
        visitor.notice(Notice::UnknownPacket, 0xF, self.context(window, at));
        self.lose_sync(window, at, run, visitor);
        Some(end)
    }

    /// Packets that begin with F0.
    #[cold]
    fn rare(&mut self, window: Window<'_>, at: usize, visitor: &mut impl PacketVisitor) -> Option<usize> {
        let nibbles = window.nibbles;
        if at + 4 > nibbles.end {
            return None;
        }
        let op = nibbles.get(at + 2);
        let (notice, value, next) = match op {
            0x0 => return self.version(window, at, visitor),
            0x1 => return self.timestamp(window, at + 3, visitor),
            0x2 | 0x3 => {
                let count = usize::from(nibbles.get(at + 3)) + 1;
                self.value(nibbles, at + 4, count)?;
                let next = at + 4 + count;
                return if op == 3 { self.timestamp(window, next, visitor) } else { Some(next) };
            }
            0x6 | 0x7 => (Notice::Trigger, self.value(nibbles, at + 3, 2)?, at + 5),
            0x8 | 0x9 => (Notice::Frequency, self.value(nibbles, at + 3, 8)?, at + 11),
            0xF if nibbles.get(at + 3) <= 1 => (Notice::Frequency, self.value(nibbles, at + 4, 10)?, at + 14),
            _ => {
                visitor.notice(Notice::UnknownPacket, u64::from(op), self.context(window, at));
                self.lose_sync(window, at, 0, visitor);
                return Some(at + 1);
            }
        };
        let has_time = if op == 0xF { nibbles.get(at + 3) == 1 } else { op & 1 == 1 };
        let next = if has_time { self.timestamp(window, next, visitor)? } else { next };
        let is_wrong = notice == Notice::Frequency && !self.segment(window, at).admits_hz(value);
        let notice = if is_wrong { Notice::WrongFrequency } else { notice };
        visitor.notice(notice, value, Context { place: None, ..self.context(window, at) });
        Some(next)
    }

    fn version(&mut self, window: Window<'_>, at: usize, visitor: &mut impl PacketVisitor) -> Option<usize> {
        let nibbles = window.nibbles;
        let version = nibbles.get(at + 3);
        if version & 8 != 0 && at + 6 > nibbles.end {
            return None;
        }
        let stated = match version & 7 {
            0 | 1 => Scheme::Legacy,
            2 => Scheme::Delta,
            4 => Scheme::Gray,
            _ => Scheme::Natural,
        };
        self.scheme = self.segment(window, at).scheme(stated);
        self.select(0, 0, visitor);
        (self.has_version, self.fresh) = (true, 0);
        if self.scheme != stated {
            visitor.notice(Notice::WrongVersion, u64::from(version & 7), Context { place: None, ..self.context(window, at) });
        } else if !matches!(version & 7, 2..=4) {
            // The length of their time stamps is only known for the oldest scheme, whose values do not change the time.
            visitor.notice(Notice::UnknownTime, u64::from(version & 7), Context { place: None, ..self.context(window, at) });
        }
        if version & 8 == 0 {
            return Some(at + 4);
        }
        let extension = nibbles.get(at + 4) << 4 | nibbles.get(at + 5);
        self.stated_order = Some(if extension & 0x80 != 0 { NibbleOrder::Lsb } else { NibbleOrder::Msb });
        Some(at + 6)
    }

    /// What stamps may be here.
    #[inline]
    fn segment(&mut self, window: Window<'_>, at: usize) -> Segment {
        if window.position(at) >= self.segment.until {
            self.segment = Segment::at(window.bounds, window.position(at));
        }
        self.segment
    }

    /// Reads a time stamp. Returns its end.
    #[inline]
    fn timestamp(&mut self, window: Window<'_>, at: usize, visitor: &mut impl PacketVisitor) -> Option<usize> {
        let nibbles = window.nibbles;
        if self.scheme == Scheme::Legacy {
            self.value(nibbles, at, 2)?;
            return Some(at + 2);
        }
        if at >= nibbles.end {
            return None;
        }
        let (size, word) = nibbles.op_and_word(at).unwrap_or_else(|| (nibbles.get(at), nibbles.last_word(at + 1)));
        // Not a valid size: perhaps an ASYNC within a packet.
        let Some(count) = stamp_nibbles(size) else { return Some(at) };
        if at + 1 + count > nibbles.end {
            return None;
        }
        let value = order(word, count, self.stated_order.unwrap_or(self.order));
        let low = if count == 16 { u64::MAX } else { (1 << (4 * count)) - 1 };
        let segment = self.segment(window, at);
        if !segment.admits(self.scheme, (self.time, self.fresh), value, low) {
            visitor.notice(Notice::WrongTime, value, self.context(window, at));
            let Some(instead) = segment.instead(count) else { return Some(at + 1 + count) };
            (self.time, self.fresh) = (instead, u64::MAX);
            self.note_digits(u64::MAX, visitor);
            return Some(at + 1 + count);
        }
        match self.scheme {
            Scheme::Delta => self.time = self.time.wrapping_add(value),
            Scheme::Gray if count > 0 => self.time = from_gray(to_gray(self.time) & !low | value),
            Scheme::Natural => self.time = self.time & !low | value,
            _ => {}
        }
        self.fresh |= low;
        self.note_digits(low, visitor);
        Some(at + 1 + count)
    }

    #[inline]
    fn note_digits(&mut self, digits: u64, visitor: &mut impl PacketVisitor) {
        if digits & !self.known != 0 {
            self.known = digits;
            visitor.time_digits(digits);
        }
    }

    fn select(&mut self, master: u16, channel: u16, visitor: &mut impl PacketVisitor) {
        if self.present() == (master, channel) {
            return;
        }
        (self.master, self.channel) = (master, channel);
        self.place = visitor.place(master, channel);
    }

    #[inline]
    fn data(
        &mut self,
        window: Window<'_>,
        at: usize,
        op: usize,
        packet: DataPacket,
        visitor: &mut impl PacketVisitor,
    ) -> Option<usize> {
        let value = self.value(window.nibbles, at + op, packet.nibbles)?;
        let after = at + op + packet.nibbles;
        let next = if packet.has_time { self.timestamp(window, after, visitor)? } else { after };
        if packet.has_time {
            visitor.begin(self.place, self.context(window, at), window.end_of(at));
        }
        let is_plain = packet.has_time && !packet.is_marked && packet.nibbles.is_multiple_of(2);
        match visitor.open_bytes(self.place).filter(|_| is_plain) {
            // The first bytes of a message.
            Some(bytes) => append_bytes(bytes, value, packet.nibbles / 2),
            None => {
                let data = Data { value, nibbles: packet.nibbles };
                let span = PacketSpan { window, at, next, channel: self.present(), time: self.time };
                visitor.data(self.place, data, packet.is_marked, span);
                if packet.is_marked {
                    return Some(next);
                }
            }
        }
        // As a rule the rest of the message follows.
        let next = self.plain_data(window, next, visitor);
        Some(self.message_end(window, next, visitor))
    }

    /// Reads the packet that ends a message, if it comes next and its bytes are there: a flag, or marked data. Returns the start of the
    /// next packet.
    #[inline]
    fn message_end(&mut self, window: Window<'_>, at: usize, visitor: &mut impl PacketVisitor) -> usize {
        let nibbles = window.nibbles;
        if at + PACKET_NIBBLES > nibbles.end || nibbles.get(at) != 0xF {
            return at;
        }
        let count = match nibbles.get(at + 1) {
            0xE => return self.flag(window, at, at + 2, visitor),
            op @ 0x8..=0xB => 2 << (op - 8),
            _ => return at,
        };
        let value = order(nibbles.word(at + 2), count, self.stated_order.unwrap_or(self.order));
        let next = at + 2 + count;
        let span = PacketSpan { window, at, next, channel: self.present(), time: self.time };
        visitor.data(self.place, Data { value, nibbles: count }, true, span);
        next
    }

    /// Reads data packets of whole bytes, without a time stamp or a mark, as long as they only continue the open message. Returns the
    /// start of the next packet.
    #[inline]
    fn plain_data(&mut self, window: Window<'_>, mut at: usize, visitor: &mut impl PacketVisitor) -> usize {
        let order_of_nibbles = self.stated_order.unwrap_or(self.order);
        let Some(bytes) = visitor.open_bytes(self.place) else { return at };
        // How many packets of the largest size the message has room for.
        for _ in 0..MESSAGE_LIMIT_BYTES.saturating_sub(bytes.len()) / 8 {
            if at + PACKET_NIBBLES > window.nibbles.end {
                break;
            }
            // All of the packet at once.
            let Some((op, word)) = window.nibbles.op_and_word(at) else { break };
            let size = op.wrapping_sub(4);
            if size > 3 {
                break;
            }
            let count = 2 << size;
            append_bytes(bytes, order(word, count, order_of_nibbles), count / 2);
            at += 1 + count;
        }
        at
    }

    fn flag(&mut self, window: Window<'_>, at: usize, next: usize, visitor: &mut impl PacketVisitor) -> usize {
        visitor.flag(self.place, window.end_of(at + 1));
        next
    }
}

/// The number of nibbles of a time stamp whose size is stated so.
#[inline]
fn stamp_nibbles(size: u8) -> Option<usize> {
    match size {
        0..=0xC => Some(size.into()),
        0xD => Some(14),
        0xE => Some(16),
        _ => None,
    }
}

/// Appends the lowest `count` (at most 8) bytes of a value. Appending all and cutting them off is faster than a copy of variable length.
#[inline]
pub(super) fn append_bytes(bytes: &mut Vec<u8>, value: u64, count: usize) {
    let len = bytes.len() + count;
    bytes.extend_from_slice(&value.to_le_bytes());
    bytes.truncate(len);
}

/// The nibbles of bytes. What comes after the last one is not used, but it is faster to load words if there is more.
#[derive(Clone, Copy)]
pub(super) struct Nibbles<'a> {
    pub bytes: &'a [u8],
    /// The number of nibbles.
    pub end: usize,
}

impl Nibbles<'_> {
    #[inline]
    fn get(self, at: usize) -> u8 {
        let byte = self.bytes.get(at / 2).copied().unwrap_or(0);
        byte >> (4 * (at & 1)) & 0xF
    }

    /// A nibble, and the sixteen after it as a word; `None` near the end.
    #[inline]
    fn op_and_word(self, at: usize) -> Option<(u8, u64)> {
        let bytes = self.bytes.get(at / 2..)?.first_chunk::<16>()?;
        let ([low, high], _) = bytes.as_chunks::<8>() else { return None };
        let (low, high) = (u64::from_le_bytes(*low), u64::from_le_bytes(*high));
        let shift = 4 * (at as u32 & 1);
        Some(((low >> shift) as u8 & 0xF, low >> (shift + 4) | high << (60 - shift)))
    }

    /// Sixteen nibbles, the first one lowest.
    #[inline]
    fn word(self, at: usize) -> u64 {
        let Some(bytes) = self.bytes.get(at / 2..).and_then(|rest| rest.first_chunk::<9>()) else { return self.last_word(at) };
        let low = bytes.first_chunk::<8>().map_or(0, |low| u64::from_le_bytes(*low));
        if at.is_multiple_of(2) { low } else { low >> 4 | u64::from(bytes[8]) << 60 }
    }

    /// The same where there are fewer bytes: zeros follow.
    #[cold]
    fn last_word(self, at: usize) -> u64 {
        (0..16).map(|place| u64::from(self.get(at + place)) << (4 * place)).sum()
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

pub(super) fn to_gray(value: u64) -> u64 {
    value ^ value >> 1
}

pub(super) fn from_gray(mut gray: u64) -> u64 {
    for shift in [1, 2, 4, 8, 16, 32] {
        gray ^= gray >> shift;
    }
    gray
}
