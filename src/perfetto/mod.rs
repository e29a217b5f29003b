//! Track operations → Perfetto packets. Knows no input format.
//!
//! A trace is a run of packets without header or footer: [`prelude`] and [`wall_clock`], then every
//! [`Block`](crate::track::Block) in the order of the numbers as [`Encoder`] writes it, then [`clock_readings`] and [`epilogue`].
//! Blocks are encoded on any thread and in any order. All of them use one packet sequence, and each begins with a packet that
//! clears the reader's state of the sequence (interned texts, defaults, the incremental clock) and states it again.
//!
//! Frequent data (events, scheduling rows, interned texts) is written byte by byte; rare packets are written with `prost`.

mod block;
mod clocks;
mod describe;
mod event;
mod samples;
mod sched;
mod schema;
mod strings;
mod tracks;
mod wire;

pub use block::{Encoder, encode_block};
pub use clocks::{clock_id, clock_readings, wall_clock};
use prost::Message;

use self::schema::{Attribute, ORDERING_EXPLICIT, TraceAttributes, TracePacket, TraceUuid, TrackDescriptor};
use crate::track::Track;

/// `Trace.packet`, the only field of a trace.
const TRACE_PACKET: u32 = 1;
/// The first byte of each packet: that field, as a message with its length.
const PACKET_TAG: u8 = (TRACE_PACKET as u8) << 3 | 2;
/// The packet sequence of all events. Below 128, so that it costs one byte.
const SEQUENCE_ID: u32 = 1;

/// The value of a trace attribute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AttributeValue {
    /// A text.
    Text(String),
    /// A number.
    Int(i64),
}

/// The packets before the first block: the trace's identity (high half first), and the rule that processes and threads are
/// ordered by their ranks.
#[must_use]
pub fn prelude(uuid: (u64, u64)) -> Vec<u8> {
    let mut out = Vec::new();
    let trace_uuid = TraceUuid { msb: Some(uuid.0.cast_signed()), lsb: Some(uuid.1.cast_signed()) };
    TracePacket { trace_uuid: Some(trace_uuid), ..TracePacket::default() }.append_to(&mut out);
    // The track of uuid 0 is the trace as a whole. No sequence id: the first packet on the sequence is that of block 0.
    let root = TrackDescriptor {
        uuid: Some(0),
        process_ordering: Some(ORDERING_EXPLICIT),
        thread_ordering: Some(ORDERING_EXPLICIT),
        ..TrackDescriptor::default()
    };
    TracePacket { track_descriptor: Some(root), ..TracePacket::default() }.append_to(&mut out);
    out
}

/// The packets after the last block: tracks that can be described only at the end, and attributes of the trace as a whole.
///
/// Counters must not wait for this, or the viewer drops their events. A track that a block has described already must not be
/// described again differently.
#[must_use]
pub fn epilogue(tracks: &[Track], attributes: &[(String, AttributeValue)]) -> Vec<u8> {
    let mut out = Vec::new();
    for track in tracks {
        describe::append_descriptor(track, &mut out);
    }
    if !attributes.is_empty() {
        let attribute = attributes.iter().map(|(key, value)| attribute(key, value)).collect();
        TracePacket { trace_attributes: Some(TraceAttributes { attribute }), ..TracePacket::default() }.append_to(&mut out);
    }
    out
}

/// Reads the attributes at the end of a trace, as [`epilogue`] writes them, and the offset of their packet. `None` if the trace
/// does not end with such a packet.
///
/// Only the end is read, so the cost does not depend on the length of the trace.
#[must_use]
pub fn attributes_at_end(trace: &[u8]) -> Option<(usize, Vec<(String, AttributeValue)>)> {
    /// A trace has few attributes. A longer packet only resembles theirs.
    const REACH_BYTES: usize = 1 << 20;
    let first = trace.len().saturating_sub(REACH_BYTES);
    let tail = trace.get(first..)?;
    // The packet must end exactly at the end of the trace.
    let is_last = |at: &usize| {
        let mut rest = tail.get(*at + 1..).unwrap_or_default();
        prost::encoding::decode_varint(&mut rest).is_ok_and(|len| len == rest.len() as u64 && len > 0)
    };
    let begins = tail.iter().enumerate().rev().filter(|(_, byte)| **byte == PACKET_TAG).map(|(at, _)| at).filter(is_last);
    let read = |at: usize| {
        let packet = TracePacket::decode_length_delimited(tail.get(at + 1..)?).ok()?;
        let attribute = packet.trace_attributes?.attribute;
        let value = |attribute: Attribute| {
            let value = attribute.string_value.map(AttributeValue::Text).or(attribute.long_value.map(AttributeValue::Int))?;
            Some((attribute.key?, value))
        };
        Some((first + at, attribute.into_iter().filter_map(value).collect()))
    };
    begins.into_iter().find_map(read)
}

fn attribute(key: &str, value: &AttributeValue) -> Attribute {
    let key = Some(key.to_owned());
    match value {
        AttributeValue::Text(text) => Attribute { key, string_value: Some(text.clone()), long_value: None },
        AttributeValue::Int(number) => Attribute { key, long_value: Some(*number), string_value: None },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_prelude_is_the_identity_and_the_order() {
        let identity = b"\x0a\x10\xca\x05\x0d\x08\x01\x10\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01";
        let order = b"\x0a\x0b\xe2\x03\x08\x08\x00\x98\x01\x01\xa0\x01\x01";
        assert_eq!(prelude((1, u64::MAX)), [&identity[..], order].concat());
    }

    #[test]
    fn the_epilogue_ends_with_attributes() {
        assert_eq!(epilogue(&[], &[]), b"");
        let attributes = [("a".to_owned(), AttributeValue::Int(5)), ("b".to_owned(), AttributeValue::Text("x".to_owned()))];
        assert_eq!(epilogue(&[], &attributes), b"\x0a\x12\xf2\x07\x0f\x0a\x05\x0a\x01a\x10\x05\x0a\x06\x0a\x01b\x1a\x01x");
    }

    #[test]
    fn attributes_are_found_at_the_end_only() {
        let attributes = vec![
            ("a".to_owned(), AttributeValue::Int(-5)),
            ("b".to_owned(), AttributeValue::Text("\u{a}\u{5}x".repeat(300))),
            ("c".to_owned(), AttributeValue::Text("\u{a}\u{0}".to_owned())),
        ];
        for before in [0, 1, 5000, 2 << 20] {
            let mut trace = vec![0x0a; before];
            trace.extend(epilogue(&[], &attributes));
            assert_eq!(attributes_at_end(&trace), Some((before, attributes.clone())));
            for cut in 1..800 {
                let end = trace.len().saturating_sub(cut).max(before);
                assert_eq!(attributes_at_end(&trace[..end]), None, "{cut}");
            }
            trace.push(0);
            assert_eq!(attributes_at_end(&trace), None);
        }
        assert_eq!(attributes_at_end(&prelude((1, 2))), None);
        assert_eq!(attributes_at_end(b""), None);
        assert_eq!(attributes_at_end(b"\x0a"), None);
    }
}
