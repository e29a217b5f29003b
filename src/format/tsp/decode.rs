//! Bytes → packets.
//!
//! A packet has neither length nor checksum. Bytes are a packet if its id has a known length and a preamble follows, even one that is damaged
//! itself, or the end of the input, or a command of the host. Other bytes are damage, up to the next preamble. Every byte of a part belongs to a packet or to a
//! piece of damage, and the packets do not depend on the cuts ([`crate::frame::sync`]).

use std::ops::Range;
use std::sync::Arc;

use memchr::{memchr, memmem::Finder};

use crate::format::{Decode, Part};
use crate::frame::sync::{self, Grammar};
use crate::model::{LossKind, TextRef, losses};

use super::record::{HEAD_BYTES, MAX_DATA_BYTES, MAX_LIST_BYTES, OPEN, PREAMBLE, Packet, data_bytes_of, entries, id, is_hook};
use super::sniff;
use super::timer::{Since, Timer};

/// How many bytes of a damaged piece are kept for `dump`.
pub const KEPT_RAW_BYTES: usize = 64;

/// How many packets of the part before can be inserted before those of a part.
pub const HEADROOM: usize = 256;

/// The number of data bytes in the packets of each id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lengths {
    by_id: [u8; 256],
    /// Whether the length was given by an option, by id.
    given: [bool; 256],
}

impl Default for Lengths {
    fn default() -> Self {
        let mut by_id = [OPEN; 256];
        for (id, len) in (0..=255).zip(&mut by_id) {
            *len = data_bytes_of(id);
        }
        Lengths { by_id, given: [false; 256] }
    }
}

impl Lengths {
    /// Sets the length given by an option. False if packets cannot have it, or the id is that of the object list.
    pub fn give(&mut self, id: u8, data_bytes: usize) -> bool {
        let is_possible = data_bytes <= MAX_DATA_BYTES && id != id::OBJECT_LIST;
        if is_possible {
            (self.by_id[usize::from(id)], self.given[usize::from(id)]) = (data_bytes as u8, true);
        }
        is_possible
    }

    /// Sets an inferred length, if the length is not known.
    pub fn learn(&mut self, id: u8, data_bytes: u8) {
        if is_open(id) && self.of(id) == OPEN {
            self.by_id[usize::from(id)] = data_bytes;
        }
    }

    /// The length of an id; [`OPEN`] if it is not known.
    #[inline]
    #[must_use]
    pub fn of(&self, id: u8) -> u8 {
        self.by_id[usize::from(id)]
    }

    /// Whether the length of an id was given by an option.
    #[must_use]
    pub fn is_given(&self, id: u8) -> bool {
        self.given[usize::from(id)]
    }
}

/// Whether an id is valid although its length is not in the table.
#[must_use]
pub fn is_open(id: u8) -> bool {
    id <= 100 && data_bytes_of(id) == OPEN
}

/// Why bytes are not a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BadPacket {
    /// The input starts within a packet.
    Start,
    /// No other packet follows at its end.
    Damaged,
    /// An id of unknown length.
    UnknownId,
    /// An object list whose entries do not fit its length.
    BadList,
    /// A preamble right before another one, without a list before it.
    LonePreamble,
    /// The input ends within a packet.
    Truncated,
    /// Bytes between packets.
    Noise,
    /// A command of the host between packets.
    HostBytes,
    /// In a saved measurement, a text that is not a packet.
    BadText,
}

impl BadPacket {
    /// The kind of loss in the ledger.
    #[must_use]
    pub fn loss_kind(self) -> LossKind {
        match self {
            BadPacket::Start => losses::STARTS_WITHIN_PACKET,
            BadPacket::Damaged => losses::DAMAGED_PACKET,
            BadPacket::UnknownId => losses::UNKNOWN_ID,
            BadPacket::BadList => losses::DAMAGED_OBJECT_LIST,
            BadPacket::LonePreamble => losses::LONE_PREAMBLE,
            BadPacket::Truncated => losses::TRUNCATED_FRAME,
            BadPacket::Noise => losses::NOISE,
            BadPacket::BadText => losses::BAD_TEXT,
            BadPacket::HostBytes => losses::HOST_BYTES,
        }
    }

    /// The least number of packets lost. Packets lost within the stream are counted by their numbers instead.
    #[must_use]
    pub fn at_least_lost(self) -> u64 {
        u64::from(matches!(self, BadPacket::Start | BadPacket::Truncated | BadPacket::BadText))
    }
}

/// Bytes that are not a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bad {
    /// The number of packets of the part before it.
    pub index: u32,
    /// Where it starts, in bytes from the start of the part.
    pub offset: u32,
    /// Its length in bytes.
    pub len: u32,
    /// Why they are not a packet.
    pub reason: BadPacket,
    /// Its first bytes, in [`Records::text`].
    pub raw: TextRef,
}

/// The packets of one part.
#[derive(Clone, Debug, Default)]
pub struct Records {
    /// Where the part starts in the input, in bytes.
    pub base: u64,
    /// The packets in file order, after [`HEADROOM`] free places.
    pub slots: Vec<Packet>,
    /// The bytes that are not packets, in file order.
    pub bad: Vec<Bad>,
    /// The bytes of lists (from the first entry on, without the last preamble), and raw bytes.
    pub text: Vec<u8>,
    /// The entries of each list.
    pub lists: Vec<TextRef>,
    /// The number of bytes that became packets.
    pub ok_bytes: u64,
}

impl Records {
    pub(super) fn reset(&mut self, base: u64) {
        self.base = base;
        self.slots.clear();
        self.slots.resize(HEADROOM, Packet::default());
        self.bad.clear();
        self.text.clear();
        self.lists.clear();
        self.ok_bytes = 0;
    }

    /// The packets.
    #[must_use]
    pub fn packets(&self) -> &[Packet] {
        self.slots.get(HEADROOM..).unwrap_or(&[])
    }

    /// The bytes that a reference into [`Records::text`] refers to.
    #[must_use]
    pub fn bytes(&self, text: TextRef) -> &[u8] {
        self.text.get(text.range()).unwrap_or(&[])
    }

    fn keep(&mut self, bytes: &[u8]) -> TextRef {
        let start = u32::try_from(self.text.len()).unwrap_or(u32::MAX);
        self.text.extend_from_slice(bytes);
        TextRef { start, len: u32::try_from(bytes.len()).unwrap_or(0) }
    }
}

/// Receives the packets of a part.
pub trait Sink {
    /// Adds a packet.
    fn packet(&mut self, packet: Packet);

    /// Adds bytes that are not a packet, at `offset` in the part.
    fn bad(&mut self, offset: usize, bytes: &[u8], reason: BadPacket);

    /// Adds the entries of the object list whose packet follows. Returns the number of the list in the part.
    fn list(&mut self, entries: &[u8]) -> u16;
}

impl Sink for Records {
    #[inline]
    fn packet(&mut self, packet: Packet) {
        self.slots.push(packet);
    }

    fn bad(&mut self, offset: usize, bytes: &[u8], reason: BadPacket) {
        let raw = self.keep(bytes.get(..KEPT_RAW_BYTES).unwrap_or(bytes));
        let index = saturate(self.slots.len().saturating_sub(HEADROOM));
        self.bad.push(Bad { index, offset: saturate(offset), len: saturate(bytes.len()), reason, raw });
    }

    fn list(&mut self, entries: &[u8]) -> u16 {
        let number = u16::try_from(self.lists.len()).unwrap_or(u16::MAX);
        let list = self.keep(entries);
        self.lists.push(list);
        number
    }
}

fn saturate(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

/// The grammar of the stream: where packets begin and end, for any lengths of the ids of unknown length.
#[derive(Clone, Debug)]
pub struct Packets {
    lengths: Lengths,
    finder: Finder<'static>,
}

impl Packets {
    /// The grammar with the lengths that are known before the first pass.
    #[must_use]
    pub fn new(lengths: Lengths) -> Packets {
        Packets { lengths, finder: Finder::new(&PREAMBLE) }
    }

    /// The known lengths.
    #[must_use]
    pub fn lengths(&self) -> &Lengths {
        &self.lengths
    }
}

impl Grammar for Packets {
    const MAX_PACKET_BYTES: usize = MAX_LIST_BYTES;
    const RESYNC_BYTES: usize = 256 << 10;

    /// In a long stretch without a preamble, reading stops at each multiple of [`Grammar::RESYNC_BYTES`], so that searches stay short.
    fn sync(&self, input: &[u8], at: usize) -> usize {
        let Some(rest) = input.get(at..) else { return input.len() };
        if rest.starts_with(&PREAMBLE) {
            return at;
        }
        let stop = (at + 1).next_multiple_of(Self::RESYNC_BYTES).min(input.len());
        let near = input.get(at..(stop + PREAMBLE.len() - 1).min(input.len())).unwrap_or(rest);
        self.finder.find(near).map_or(stop, |index| at + index)
    }

    /// Only lists are longer than a few bytes.
    fn sync_reaching(&self, input: &[u8], mut from: usize, end: usize) -> usize {
        let near = end.saturating_sub(HEAD_BYTES + MAX_DATA_BYTES);
        while let Some(found) = input.get(from + 4..near + 4).and_then(|ids| memchr(id::OBJECT_LIST, ids)) {
            if input.get(from + found..).is_some_and(|list| list.starts_with(&PREAMBLE)) {
                return from + found;
            }
            from += found + 1;
        }
        self.sync(input, from.max(near))
    }

    fn next(&self, input: &[u8], at: usize, mut each: impl FnMut(usize)) {
        let Some(&[a, b, c, _, id]) = input.get(at..).and_then(<[u8]>::first_chunk) else { return each(at + PREAMBLE.len()) };
        if [a, b, c] != PREAMBLE {
            return each(at + 1);
        }
        let len = self.lengths.of(id);
        if len == OPEN && is_open(id) {
            let ends = (0..=MAX_DATA_BYTES).map(|len| at + HEAD_BYTES + len);
            ends.filter(|&end| may_end(input, end)).for_each(&mut each);
            return each(at + PREAMBLE.len());
        }
        match packet_end(input, at, id, len) {
            Ok(end) => each(end),
            Err(_) => each(at + PREAMBLE.len()),
        }
    }
}

/// The end of the packet at `at`, or why it is not a packet.
fn packet_end(input: &[u8], at: usize, id: u8, data_bytes: u8) -> Result<usize, BadPacket> {
    let end = match id {
        _ if input.get(at + 3..at + 6) == Some(&PREAMBLE) => return Err(BadPacket::LonePreamble),
        id::OBJECT_LIST => list_end(input, at)?,
        _ if data_bytes == OPEN => return Err(BadPacket::UnknownId),
        _ => at + HEAD_BYTES + usize::from(data_bytes),
    };
    match may_end(input, end) {
        true => Ok(end),
        false if end > input.len() => Err(BadPacket::Truncated),
        false if id == id::OBJECT_LIST => Err(BadPacket::BadList),
        false => Err(BadPacket::Damaged),
    }
}

/// Whether a packet may end at `end`: a preamble follows, or the first bytes of one and the end of the input, or a host's command, or a
/// damaged preamble.
fn may_end(input: &[u8], end: usize) -> bool {
    let Some(rest) = input.get(end..) else { return false };
    starts_packet(rest) || host_command(rest).is_some() || is_damaged_preamble(rest)
}

/// Whether `rest`, which does not start with a preamble, starts with what damage left of one: its first bytes, where bytes are missing within
/// it or after it, or all of it but the first. Within a packet that is damaged itself, one byte of 256 looks like that. If no byte of the
/// preamble is left, nothing shows that the packet before is whole.
fn is_damaged_preamble(rest: &[u8]) -> bool {
    let [first, second, third] = PREAMBLE;
    matches!(*rest, [one, ..] if one == first) || matches!(*rest, [_, two, three, ..] if (two, three) == (second, third))
}

fn starts_packet(rest: &[u8]) -> bool {
    rest.starts_with(&PREAMBLE) || PREAMBLE.starts_with(rest)
}

/// The length of a host's command at the start of `rest`, if a packet follows it: a request for the object list, or a filter of 13 bytes.
/// The usual viewer appends two bytes.
fn host_command(rest: &[u8]) -> Option<usize> {
    let len = match *rest.first()? {
        id::OBJECT_LIST => 1,
        id::SNIFF_FILTER => 14,
        _ => return None,
    };
    let after = rest.get(len..)?;
    if starts_packet(after) {
        return Some(len);
    }
    after.strip_prefix(&[0xFF, 0xFF]).filter(|after| starts_packet(after)).map(|_| len + 2)
}

/// The end of the object list at `at`, including its last preamble.
fn list_end(input: &[u8], at: usize) -> Result<usize, BadPacket> {
    let short = BadPacket::Truncated;
    let &count = input.get(at + 6).ok_or(short)?;
    let mut end = at + 7;
    for _ in 0..count {
        let &len = input.get(end + 1).ok_or(short)?;
        end += 2 + usize::from(len);
        if end - at > MAX_LIST_BYTES - PREAMBLE.len() {
            return Err(BadPacket::BadList);
        }
    }
    match input.get(end..end + PREAMBLE.len()) {
        Some(tail) if tail == PREAMBLE => Ok(end + PREAMBLE.len()),
        Some(_) => Err(BadPacket::BadList),
        None => Err(short),
    }
}

/// Decodes one input, with the inferred lengths.
#[derive(Clone, Debug)]
pub struct Decoder {
    /// The grammar by which the input is cut: without inferred lengths.
    cutter: Packets,
    lengths: Lengths,
    /// The lengths of the packets that [`Decoder::plain_packets`] reads, by id.
    plain: [u8; 256],
    /// The meaning of the timer.
    since: Since,
}

impl Decoder {
    /// A decoder of an input that is cut by `cutter`. `lengths` includes the inferred lengths.
    #[must_use]
    pub fn new(cutter: Packets, lengths: Lengths) -> Decoder {
        let mut plain = [OPEN; 256];
        for (id, len) in (0..=255).zip(&mut plain) {
            // After a preamble, the middle byte of another one is at the place of the id.
            if id != PREAMBLE[1] && is_hook(id) {
                *len = lengths.of(id).saturating_add(HEAD_BYTES as u8);
            }
        }
        Decoder { cutter, lengths, plain, since: Since::default() }
    }

    /// With the meaning of the time fields.
    #[must_use]
    pub fn with_timer(self, timer: Timer) -> Decoder {
        Decoder { since: timer.since(), ..self }
    }

    /// Decodes the part `range` of `input`.
    #[must_use]
    pub fn records(&self, input: &[u8], range: Range<usize>) -> Records {
        let mut records = Records::default();
        self.records_into(input, range, &mut records);
        records
    }

    /// Decodes the part `range` of `input` into `records`, whose memory is reused.
    pub fn records_into(&self, input: &[u8], range: Range<usize>, records: &mut Records) {
        records.reset(range.start as u64);
        // Packets are 10 bytes on average.
        records.slots.reserve(range.len() / 10);
        self.each(input, range.clone(), records);
        let bad: u64 = records.bad.iter().map(|bad| u64::from(bad.len)).sum();
        records.ok_bytes = (range.end.min(input.len()).saturating_sub(range.start) as u64).saturating_sub(bad);
    }

    /// Passes the packets of the part `range` of `input`, and the bytes that are not packets, to `sink`, in file order.
    pub fn each(&self, input: &[u8], range: Range<usize>, sink: &mut impl Sink) {
        for stretch in sync::stretches(&self.cutter, input, range.clone()) {
            let mut at = stretch.start;
            while at < stretch.end {
                at = self.plain_packets(input, at, stretch.end, range.start, sink);
                if at < stretch.end {
                    at = self.packet_or_damage(input, at, stretch.end, range.start, sink);
                }
            }
        }
    }

    /// Reads packets of hooks from `at` on that end well before `end`. Returns where the first other packet is.
    #[inline]
    fn plain_packets(&self, input: &[u8], at: usize, end: usize, base: usize, sink: &mut impl Sink) -> usize {
        /// A packet with three bytes of data, and four bytes after it.
        const NEAR_BYTES: usize = HEAD_BYTES + 3 + 4;
        /// Those of the data, by the length of the packet.
        const MASKS: [u32; HEAD_BYTES + 4] = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFFFF, 0xFF_FFFF];
        let mut rest = input.get(at..end).unwrap_or(&[]);
        if !rest.starts_with(&PREAMBLE) {
            return at;
        }
        let (mut before, mut is_usual) = (Packet::default(), false);
        let mut offset = (at - base) as u32;
        while let Some(bytes) = rest.first_chunk::<NEAR_BYTES>() {
            let number = |at: usize| bytes[at..].first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes));
            let both = |at: usize| u16::from_be_bytes([bytes[at], bytes[at + 1]]);
            let len = usize::from(self.plain[usize::from(bytes[4])]);
            let Some(mask) = MASKS.get(len) else { break };
            let [a, b, c] = PREAMBLE;
            if number(len) << 8 != u32::from_le_bytes([0, a, b, c]) {
                break;
            }
            let mut packet = Packet {
                offset,
                packet_id: bytes[3],
                id: bytes[4],
                tick: both(5),
                timer: both(7),
                since_tick: self.since.of(both(7)),
                continues: false,
                data_len: (len - HEAD_BYTES) as u8,
                data: u64::from(number(HEAD_BYTES) & mask).to_le_bytes(),
            };
            packet.continues = is_usual
                & (packet.tick == before.tick)
                & (packet.since_tick >= before.since_tick)
                & (packet.packet_id == before.packet_id.wrapping_add(1));
            (before, is_usual) = (packet, self.since.has(packet.timer));
            sink.packet(packet);
            rest = rest.get(len..).unwrap_or(&[]);
            offset += len as u32;
        }
        end - rest.len()
    }

    /// Reads any packet or damage at `at`. Returns its end.
    fn packet_or_damage(&self, input: &[u8], at: usize, end: usize, base: usize, sink: &mut impl Sink) -> usize {
        let sync = self.cutter.sync(input, at).min(end);
        if sync > at {
            let bytes = input.get(at..sync).unwrap_or(&[]);
            let reason = match host_command(input.get(at..).unwrap_or(&[])) {
                _ if at == 0 => BadPacket::Start,
                _ if sync == input.len() && PREAMBLE.starts_with(bytes) => BadPacket::Truncated,
                Some(len) if len == bytes.len() => BadPacket::HostBytes,
                _ if is_damaged_preamble(bytes) => BadPacket::Damaged,
                _ => BadPacket::Noise,
            };
            sink.bad(at - base, bytes, reason);
            return sync;
        }
        let id = input.get(at + 4).copied();
        let packet_end = match id {
            Some(id) => packet_end(input, at, id, self.lengths.of(id)),
            None => Err(BadPacket::Truncated),
        };
        match (packet_end, id) {
            (Ok(packet_end), Some(id)) if packet_end <= end => {
                self.keep_packet(input, at..packet_end, id, base, sink);
                packet_end
            }
            (packet_end, _) => {
                // A packet must not extend past a forced start.
                let mut reason = packet_end.err().unwrap_or(BadPacket::Damaged);
                let next = match reason {
                    BadPacket::LonePreamble => at + PREAMBLE.len(),
                    _ => self.cutter.sync(input, at + PREAMBLE.len()),
                };
                let next = next.min(end);
                if reason == BadPacket::Truncated && next < input.len() {
                    reason = BadPacket::Damaged;
                }
                sink.bad(at - base, input.get(at..next).unwrap_or(&[]), reason);
                next
            }
        }
    }

    fn keep_packet(&self, input: &[u8], range: Range<usize>, id: u8, base: usize, sink: &mut impl Sink) {
        let bytes = input.get(range.clone()).unwrap_or(&[]);
        let mut packet = Packet { offset: saturate(range.start - base), ..Packet::head(bytes) };
        if id == id::OBJECT_LIST {
            let [type_number, count] = std::mem::take(&mut packet.tick).to_be_bytes();
            packet.timer = 0;
            let list = bytes.get(7..bytes.len() - PREAMBLE.len()).unwrap_or(&[]);
            let [high, low] = sink.list(list).to_be_bytes();
            packet.data_len = 4;
            packet.data = [type_number, count, high, low, 0, 0, 0, 0];
        } else {
            packet.since_tick = self.since.of(packet.timer);
            let data = bytes.get(HEAD_BYTES..).unwrap_or(&[]);
            packet.data_len = data.len().min(MAX_DATA_BYTES) as u8;
            packet.data.iter_mut().zip(data).for_each(|(to, &from)| *to = from);
        }
        sink.packet(packet);
    }
}

/// The decoders of a recording, by input.
pub(super) struct Decoders(pub(super) Vec<InputDecoder>);

/// The decoder of one input.
pub(super) enum InputDecoder {
    /// A stream of packets.
    Stream(Box<Decoder>),
    /// A saved measurement, read by the first pass.
    Saved { packets: Arc<[Packet]>, bad: Arc<[Range<usize>]> },
}

impl Decode for Decoders {
    type Records = Records;

    fn decode(&self, input: usize, part: Part<'_>, records: &mut Records) {
        let range = part.start..part.end;
        match self.0.get(input) {
            Some(InputDecoder::Stream(decoder)) => decoder.records_into(part.input, range, records),
            Some(InputDecoder::Saved { packets, bad }) => sniff::records_into(part.input, range, packets, bad, records),
            None => *records = Records::default(),
        }
    }
}

/// The entries of an object list from its packet.
pub fn list_entries<'a>(records: &'a Records, packet: &Packet) -> impl Iterator<Item = super::record::ListEntry<'a>> {
    let list = records.lists.get(usize::from(packet.u16_at(2))).copied().unwrap_or_default();
    entries(packet.data[1], records.bytes(list))
}
