//! Bytes → packets, in parallel and without state. Payloads stay in the input; the ordered stage reads them there.

use std::ops::Range;

use crate::format::{Decode, Part};
use crate::frame::sync::stretches;

use super::packet::{Framing, MAX_PACKET_BYTES, Packet, Reading};

/// A packet of a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    /// Where it starts, in bytes from the start of the part.
    pub offset: u32,
    /// The packet.
    pub packet: Packet,
}

/// Bytes of a part that are not a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bad {
    /// The number of packets of the part before it.
    pub index: usize,
    /// Where it starts in the input.
    pub range: (usize, usize),
    /// Whether the input ends within it, and it may be the begin of a packet.
    pub is_truncated: bool,
}

/// The packets of a part, in file order.
#[derive(Clone, Debug, Default)]
pub struct Records {
    /// Where the part starts in the input, in bytes.
    pub base: u64,
    /// The packets.
    pub packets: Vec<Record>,
    /// The bytes between them.
    pub bad: Vec<Bad>,
    /// How many bytes the packets have.
    pub ok_bytes: u64,
}

/// The packets of a part: passes each, or the bytes that are not a packet, to `each`.
pub fn each_packet(reading: Reading, input: &[u8], range: Range<usize>, mut each: impl FnMut(usize, Result<Packet, usize>)) {
    let framing = Framing::new(reading);
    for stretch in stretches(&framing, input, range) {
        let mut at = stretch.start;
        while at < stretch.end {
            match framing.read(input, at).filter(|packet| at + usize::from(packet.bytes) <= stretch.end) {
                Some(packet) => {
                    each(at, Ok(packet));
                    at += usize::from(packet.bytes);
                }
                None => {
                    let end = framing.after_damage(input, at).max(at + 1).min(stretch.end);
                    each(at, Err(end));
                    at = end;
                }
            }
        }
    }
}

impl Records {
    /// Reads the packets of a part. The memory is reused.
    pub fn read(&mut self, reading: Reading, input: &[u8], range: Range<usize>) {
        self.base = range.start as u64;
        self.packets.clear();
        self.bad.clear();
        self.ok_bytes = 0;
        // Packets are 4 bytes or more on average.
        self.packets.reserve(range.len() / 4);
        let base = range.start;
        let saturate = |value: usize| u32::try_from(value).unwrap_or(u32::MAX);
        each_packet(reading, input, range, |at, found| match found {
            Ok(packet) => {
                self.ok_bytes += u64::from(packet.bytes);
                self.packets.push(Record { offset: saturate(at - base), packet });
            }
            Err(end) => {
                let is_truncated = end >= input.len() && end - at < MAX_PACKET_BYTES;
                self.bad.push(Bad { index: self.packets.len(), range: (at, end), is_truncated });
            }
        });
    }
}

/// The readings of a recording, by input.
pub(super) struct Decoder(pub(super) Vec<Reading>);

impl Decode for Decoder {
    type Records = Records;

    fn decode(&self, input: usize, part: Part<'_>, records: &mut Records) {
        records.read(self.0.get(input).copied().unwrap_or_default(), part.input, part.start..part.end);
    }
}
