//! The places of packets and commands in an input.
//!
//! The frame at a position depends on the input and the position only, so that parts can be read on any thread ([`crate::frame::sync`]):
//! it is a packet if there is a header, an end byte at the given length, and a valid CRC; else a command if the 12 bytes are one; else
//! there is no frame, and the search continues at the next byte. A damaged length is never used.

use std::cell::RefCell;

use crate::frame::sync::Grammar;

use super::crc::{self, Prefix};
use super::record::{
    COMMAND_BYTES, COMMAND_HEAD, Command, MAX_PACKET_BYTES, Metadata, PACKET_END, PACKET_HEAD, PACKET_OVERHEAD, PROFILE_HEAD,
    PROFILE_VERSION, RECORD_BYTES, Reading, Status, packet_type,
};

/// Packets with a longer payload, in bytes, are checked by prefix checksums after many bytes were read without success.
const SHORT_PAYLOAD: usize = 256;

/// The number of bytes read without success in one part before that.
const WASTED_BYTES: usize = MAX_PACKET_BYTES;

/// The frame at a position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Frame<'a> {
    /// A packet.
    Packet {
        /// Its type.
        kind: u8,
        /// Its payload.
        payload: &'a [u8],
    },
    /// A command of the host.
    Command(Command),
}

impl Frame<'_> {
    /// Its length in bytes.
    #[inline]
    #[must_use]
    pub fn bytes(&self) -> usize {
        match self {
            Frame::Packet { payload, .. } => PACKET_OVERHEAD + payload.len(),
            Frame::Command(_) => COMMAND_BYTES,
        }
    }
}

/// The framing of one input, to be used for one part of it.
pub struct Framing {
    reading: Reading,
    header: u16,
    effort: RefCell<Effort>,
}

/// The bytes read without success, and prefix checksums against that. It affects the time of a search, not its result.
#[derive(Default)]
struct Effort {
    wasted_bytes: usize,
    prefix: Prefix,
}

impl Framing {
    /// The framing of an input in this reading.
    #[must_use]
    pub fn new(reading: Reading) -> Framing {
        Framing { reading, header: u16::from_le_bytes(reading.header), effort: RefCell::default() }
    }

    /// The frame at `at`.
    #[inline]
    #[must_use]
    pub fn frame<'a>(&self, input: &'a [u8], at: usize) -> Option<Frame<'a>> {
        let rest = input.get(at..)?;
        let head: &[u8; PACKET_HEAD] = rest.first_chunk()?;
        if u16::from_le_bytes([head[0], head[1]]) == self.header {
            let len = usize::from(u16::from_le_bytes([head[3], head[4]]));
            let packet = rest.get(..PACKET_OVERHEAD + len)?;
            let payload = packet.get(PACKET_HEAD..PACKET_HEAD + len)?;
            let [crc @ .., PACKET_END] = *packet.last_chunk::<3>()? else { return self.command(rest) };
            let from = self.reading.covered_from();
            let covered = packet.get(from..PACKET_HEAD + len)?;
            if self.crc(input, at + from, covered) == self.reading.crc_in(crc) {
                return Some(Frame::Packet { kind: head[2], payload });
            }
            self.effort.borrow_mut().wasted_bytes += len;
        }
        self.command(rest)
    }

    #[inline]
    fn command<'a>(&self, rest: &[u8]) -> Option<Frame<'a>> {
        let frame: &[u8; COMMAND_BYTES] = rest.first_chunk()?;
        if frame[0] == COMMAND_HEAD { Command::read(frame).map(Frame::Command) } else { None }
    }

    #[inline]
    fn crc(&self, input: &[u8], start: usize, covered: &[u8]) -> u16 {
        if covered.len() > SHORT_PAYLOAD {
            let mut effort = self.effort.borrow_mut();
            if effort.wasted_bytes > WASTED_BYTES
                && let Some(crc) = effort.prefix.crc(input, start, start + covered.len())
            {
                return crc::shift(self.reading.crc_start, covered.len()) ^ crc;
            }
        }
        crc::update(self.reading.crc_start, covered)
    }
}

impl Grammar for Framing {
    const MAX_PACKET_BYTES: usize = MAX_PACKET_BYTES;
    const RESYNC_BYTES: usize = 1 << 20;

    /// In a long stretch without a header, reading stops at each multiple of [`Grammar::RESYNC_BYTES`], so that searches stay short.
    #[inline]
    fn sync(&self, input: &[u8], at: usize) -> usize {
        let [first, second] = self.reading.header;
        let stop = at.saturating_add(1).next_multiple_of(Self::RESYNC_BYTES).min(input.len());
        let mut from = at;
        while let Some(found) = memchr::memchr2(first, COMMAND_HEAD, input.get(from..stop).unwrap_or(&[])) {
            let found = from + found;
            // At the end of the input the second byte may be missing: no frame can begin there.
            let is_start = match (input.get(found), input.get(found + 1)) {
                (Some(&one), Some(&two)) => {
                    one == first && two == second || one == COMMAND_HEAD && (1..=Command::ALL.len() as u8).contains(&two)
                }
                _ => false,
            };
            if is_start {
                return found;
            }
            from = found + 1;
        }
        stop
    }

    #[inline]
    fn next(&self, input: &[u8], at: usize, mut each: impl FnMut(usize)) {
        each(at + self.frame(input, at).map_or(1, |frame| frame.bytes()));
    }

    #[inline]
    fn may_reach_beyond(&self, input: &[u8], at: usize, end: usize) -> bool {
        // Packets and commands have different headers, but invalid packets may be commands.
        let reached = match input.get(at..).and_then(<[u8]>::first_chunk::<PACKET_HEAD>) {
            Some(&[one, two, _, low, high]) if [one, two] == self.reading.header => {
                (PACKET_OVERHEAD + usize::from(u16::from_le_bytes([low, high]))).max(COMMAND_BYTES)
            }
            _ => COMMAND_BYTES,
        };
        at.saturating_add(reached) > end
    }
}

/// The reading is searched in this number of bytes at the start of an input: one without packets is not read as a whole before it is
/// read in parts.
const READING_BYTES: usize = 32 << 20;

/// The reading of an input, and how many of its first packets confirm it, at most [`WITNESSES`]. Reads the input up to there, at most
/// [`READING_BYTES`].
#[must_use]
pub fn find_reading(input: &[u8]) -> Option<(Reading, usize)> {
    let input = input.get(..READING_BYTES).unwrap_or(input);
    let mut votes = [0; Reading::ALL.len()];
    let mut effort = Effort::default();
    let mut at = 0;
    while let Some(found) = memchr::memchr2(0xAA, 0x55, input.get(at..).unwrap_or(&[])) {
        at += found;
        let Some((len, readings)) = readings_of(input, at, &mut effort) else {
            at += 1;
            continue;
        };
        at += len;
        for (reading, votes) in Reading::ALL.iter().zip(&mut votes) {
            *votes += usize::from(readings.contains(&Some(*reading)));
        }
        if votes.contains(&WITNESSES) {
            break;
        }
    }
    // The first of equal ones.
    let (reading, votes) = Reading::ALL.into_iter().zip(votes).rev().max_by_key(|(_, votes)| *votes)?;
    (votes > 0).then_some((reading, votes))
}

/// The number of packets that decide on the reading.
pub const WITNESSES: usize = 8;

/// The length of the packet at `at`, and the readings in which it is valid. It must have a known type and a valid payload.
fn readings_of(input: &[u8], at: usize, effort: &mut Effort) -> Option<(usize, [Option<Reading>; 2])> {
    let rest = input.get(at..)?;
    let head: &[u8; PACKET_HEAD] = rest.first_chunk()?;
    let header = [head[0], head[1]];
    if header != Reading::HOST.header && header != Reading::DOCUMENT_DUMP.header {
        return None;
    }
    let len = usize::from(u16::from_le_bytes([head[3], head[4]]));
    let packet = rest.get(..PACKET_OVERHEAD + len)?;
    let [crc @ .., end] = *packet.last_chunk::<3>()?;
    let payload = packet.get(PACKET_HEAD..PACKET_HEAD + len)?;
    if end != PACKET_END || !is_valid(head[2], payload) {
        return None;
    }
    let covered = packet.get(2..PACKET_HEAD + len)?;
    let is_wasteful = effort.wasted_bytes > WASTED_BYTES;
    let fast = if is_wasteful { effort.prefix.crc(input, at + 2, at + 2 + covered.len()) } else { None };
    let plain = fast.unwrap_or_else(|| crc::update(0, covered));
    // The CRC of the payload is that of all without that of what precedes, shifted.
    let of_payload = crc::shift(crc::update(0, &head[2..]), payload.len()) ^ plain;
    let mut fitting = Reading::ALL.into_iter().filter(|reading| {
        let (plain, len) = if reading.payload_only { (of_payload, payload.len()) } else { (plain, covered.len()) };
        // The CRC of an empty payload is a constant, which proves nothing.
        let is_evidence = !reading.payload_only || !payload.is_empty();
        is_evidence && reading.header == header && crc::shift(reading.crc_start, len) ^ plain == reading.crc_in(crc)
    });
    let readings = [fitting.next(), fitting.next()];
    if readings == [None, None] {
        effort.wasted_bytes += len;
        return None;
    }
    Some((packet.len(), readings))
}

/// Whether a payload is valid for its type.
fn is_valid(kind: u8, payload: &[u8]) -> bool {
    match kind {
        packet_type::ACK | packet_type::NACK => payload.is_empty(),
        packet_type::METADATA => payload.len() == Metadata::BYTES,
        packet_type::STATUS => payload.len() == Status::BYTES,
        packet_type::PROFILE_DATA => match payload {
            [PROFILE_VERSION, one, two, records @ ..] => {
                records.len() == usize::from(u16::from_le_bytes([*one, *two])) * RECORD_BYTES
            }
            _ => false,
        },
        _ => false,
    }
}

/// The version, the count and the whole records of a profile packet's payload. `None` if it is too short.
#[inline]
#[must_use]
pub fn profile(payload: &[u8]) -> Option<(u8, u16, &[u8])> {
    let (&[version, one, two], records) = payload.split_first_chunk::<PROFILE_HEAD>()?;
    let count = u16::from_le_bytes([one, two]);
    let whole = (records.len() / RECORD_BYTES).min(usize::from(count));
    Some((version, count, records.get(..whole * RECORD_BYTES)?))
}
