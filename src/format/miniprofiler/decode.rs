//! Bytes to packets, in parallel and without state.
//!
//! A part's packets come out in file order, with what stands between them; what that is (text, damage) is for the resolver to say,
//! since it may go on in the next part. Profile records are copied and not looked at: each is looked at once, where it is
//! resolved.

use std::ops::Range;

use crate::frame::sync::{Grammar, stretches};

use super::packet::{Frame, Framing, profile};
use super::record::{Command, Metadata, PROFILE_VERSION, RECORD_BYTES, Reading, Status, packet_type};

/// The packets of a part, and what stands between them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Packets {
    /// Where the part starts in the input, in bytes.
    pub base: u64,
    /// Whether the input ends with the part.
    pub ends_input: bool,
    /// In file order, without holes: together they have the length of the part.
    pub items: Vec<Item>,
    /// The profile records, of 14 bytes each.
    pub records: Vec<u8>,
    /// The bytes between packets.
    pub between: Vec<u8>,
}

/// A packet, a command, or what stands between.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Item {
    /// Where it starts in the part, in bytes.
    pub offset: u32,
    /// Its length in bytes.
    pub len: u32,
    /// What it is.
    pub content: Content,
}

/// What an [`Item`] is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    /// A command was carried out.
    Ack,
    /// A command failed.
    Nack,
    /// What the device is.
    Metadata(Metadata),
    /// How the device does.
    Status(Status),
    /// Completed calls.
    Profile {
        /// How many are in the packet; they are the next ones of [`Packets::records`].
        records: u16,
        /// How many it says that there are.
        told: u16,
        /// Whether its length is that of so many.
        fits: bool,
    },
    /// Profile data of a version that is not defined.
    OtherVersion {
        /// The version.
        version: u8,
        /// How many records it says that there are.
        told: u16,
    },
    /// A packet of a known type whose length it cannot have.
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
    /// Neither: the next [`Item::len`] bytes of [`Packets::between`].
    Between,
}

impl Packets {
    /// Empties it, for the part at `base`.
    fn reset(&mut self, base: usize) {
        self.base = base as u64;
        self.items.clear();
        self.records.clear();
        self.between.clear();
    }

    fn push(&mut self, start: usize, len: usize, content: Content) {
        let offset = start.saturating_sub(usize::try_from(self.base).unwrap_or(usize::MAX));
        let saturate = |value| u32::try_from(value).unwrap_or(u32::MAX);
        self.items.push(Item { offset: saturate(offset), len: saturate(len), content });
    }

    fn push_between(&mut self, input: &[u8], range: Range<usize>) {
        if !range.is_empty() {
            self.push(range.start, range.len(), Content::Between);
            self.between.extend_from_slice(input.get(range).unwrap_or(&[]));
        }
    }

    fn content(&mut self, frame: Frame<'_>) -> Content {
        let (kind, payload) = match frame {
            Frame::Command(command) => return Content::Command(command),
            Frame::Packet { kind, payload } => (kind, payload),
        };
        let content = match kind {
            packet_type::PROFILE_DATA => profile(payload).map(|(version, told, records)| {
                if version != PROFILE_VERSION {
                    return Content::OtherVersion { version, told };
                }
                self.records.extend_from_slice(records);
                let fits = payload.len() - 3 == usize::from(told) * RECORD_BYTES;
                Content::Profile { records: (records.len() / RECORD_BYTES) as u16, told, fits }
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

/// Goes through the packets and commands of a part in file order: where each starts, and what it is.
pub fn each_frame<'a>(reading: Reading, input: &'a [u8], range: Range<usize>, mut each: impl FnMut(usize, Frame<'a>)) {
    let framing = Framing::new(reading);
    for stretch in stretches(&framing, input, range) {
        let mut at = stretch.start;
        while at < stretch.end {
            // Behind a packet the next one follows, as a rule.
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

/// Reads the packets of a part, into the memory of `packets`.
pub fn packets_into(reading: Reading, input: &[u8], range: Range<usize>, packets: &mut Packets) {
    let end = range.end.min(input.len());
    packets.reset(range.start);
    packets.ends_input = end == input.len();
    let mut done = range.start;
    each_frame(reading, input, range, |at, frame| {
        packets.push_between(input, done..at);
        let content = packets.content(frame);
        packets.push(at, frame.bytes(), content);
        done = at + frame.bytes();
    });
    packets.push_between(input, done..end);
}
