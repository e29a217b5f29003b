//! Bytes → packets, in parallel and stateless.
//!
//! A part's packets are in file order, with the bytes between them. The resolver decides whether these are text or damage, since they may
//! continue in the next part. Profile records are copied unparsed: each is parsed once, when it is resolved.

use std::ops::Range;

use crate::format::{Decode, Part};
use crate::frame::sync::{Grammar, stretches};

use super::packet::{Frame, Framing, profile};
use super::record::{Command, Metadata, PROFILE_VERSION, RECORD_BYTES, Reading, Status, packet_type};

/// The packets of a part, and the stray bytes between them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Packets {
    /// Where the part starts in the input, in bytes.
    pub base: u64,
    /// Whether the input ends with the part.
    pub ends_input: bool,
    /// In file order, without gaps: together they have the length of the part.
    pub items: Vec<Item>,
    /// The profile records, of 14 bytes each.
    pub records: Vec<u8>,
    /// The bytes between packets.
    pub stray: Vec<u8>,
}

/// A packet, a command, or stray bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Item {
    /// Where it starts in the part, in bytes.
    pub offset: u32,
    /// Its length in bytes.
    pub len: u32,
    /// Its content.
    pub content: Content,
}

/// The content of an [`Item`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    /// A command was carried out.
    Ack,
    /// A command failed.
    Nack,
    /// The device and its firmware.
    Metadata(Metadata),
    /// The state of the device.
    Status(Status),
    /// Completed calls.
    Profile {
        /// The number of records in the packet; they are the next ones of [`Packets::records`].
        records: u16,
        /// The number of records by the packet's count field.
        count: u16,
        /// Whether the packet's length fits its count.
        fits: bool,
    },
    /// Profile data of a version that is not defined.
    OtherVersion {
        /// The version.
        version: u8,
        /// The number of records by the packet's count field.
        count: u16,
    },
    /// A packet of a known type with an invalid length.
    OddLength {
        /// The type.
        kind: u8,
    },
    /// A packet of an unknown type.
    UnknownType {
        /// The type.
        kind: u8,
    },
    /// A command of the host.
    Command(Command),
    /// Other bytes: the next [`Item::len`] bytes of [`Packets::stray`].
    Stray,
}

impl Packets {
    /// Empties it, for the part at `base`.
    fn reset(&mut self, base: usize) {
        self.base = base as u64;
        self.items.clear();
        self.records.clear();
        self.stray.clear();
    }

    fn push(&mut self, start: usize, len: usize, content: Content) {
        let offset = start.saturating_sub(usize::try_from(self.base).unwrap_or(usize::MAX));
        let saturate = |value| u32::try_from(value).unwrap_or(u32::MAX);
        self.items.push(Item { offset: saturate(offset), len: saturate(len), content });
    }

    fn push_stray(&mut self, input: &[u8], range: Range<usize>) {
        if !range.is_empty() {
            self.push(range.start, range.len(), Content::Stray);
            self.stray.extend_from_slice(input.get(range).unwrap_or(&[]));
        }
    }

    fn content(&mut self, frame: Frame<'_>) -> Content {
        let (kind, payload) = match frame {
            Frame::Command(command) => return Content::Command(command),
            Frame::Packet { kind, payload } => (kind, payload),
        };
        let content = match kind {
            packet_type::PROFILE_DATA => profile(payload).map(|(version, count, records)| {
                if version != PROFILE_VERSION {
                    return Content::OtherVersion { version, count };
                }
                self.records.extend_from_slice(records);
                let fits = payload.len() - 3 == usize::from(count) * RECORD_BYTES;
                Content::Profile { records: (records.len() / RECORD_BYTES) as u16, count, fits }
            }),
            packet_type::STATUS => Status::read(payload).map(Content::Status),
            packet_type::METADATA => Metadata::read(payload).map(Content::Metadata),
            packet_type::ACK => payload.is_empty().then_some(Content::Ack),
            packet_type::NACK => payload.is_empty().then_some(Content::Nack),
            _ => Some(Content::UnknownType { kind }),
        };
        content.unwrap_or(Content::OddLength { kind })
    }
}

/// Passes the packets and commands of a part to `each` in file order, with their offsets.
pub fn each_frame<'a>(reading: Reading, input: &'a [u8], range: Range<usize>, mut each: impl FnMut(usize, Frame<'a>)) {
    let framing = Framing::new(reading);
    for stretch in stretches(&framing, input, range) {
        let mut at = stretch.start;
        while at < stretch.end {
            // Usually the next packet follows directly.
            match framing.frame(input, at).filter(|frame| frame.bytes() <= stretch.end - at) {
                Some(frame) => {
                    each(at, frame);
                    at += frame.bytes();
                }
                None => at = framing.sync(input, at + 1),
            }
        }
    }
}

/// Reads the packets of a part into `packets`, whose memory is reused.
pub fn packets_into(reading: Reading, input: &[u8], range: Range<usize>, packets: &mut Packets) {
    let end = range.end.min(input.len());
    packets.reset(range.start);
    packets.ends_input = end == input.len();
    let mut done = range.start;
    each_frame(reading, input, range, |at, frame| {
        packets.push_stray(input, done..at);
        let content = packets.content(frame);
        packets.push(at, frame.bytes(), content);
        done = at + frame.bytes();
    });
    packets.push_stray(input, done..end);
}

/// The readings of a recording, by input.
pub(super) struct Decoders(pub(super) Vec<Reading>);

impl Decode for Decoders {
    type Records = Packets;

    fn decode(&self, input: usize, part: Part<'_>, packets: &mut Packets) {
        match self.0.get(input) {
            Some(&reading) => packets_into(reading, part.input, part.start..part.end, packets),
            None => *packets = Packets::default(),
        }
    }
}
