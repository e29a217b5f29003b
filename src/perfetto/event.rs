//! Operations → `TrackEvent` packets. This is the hot path.
//!
//! A packet without annotations is at most 43 bytes long, so all lengths take one byte. It is put
//! together in registers and stored with four overlapping writes:
//!
//! ```text
//! 0A len | 50 01 sequence | 68 02 flags | 08 time | 5A len { 48 type | 58 track | 50 name | F0 01 counter, or flow }
//! ```
//!
//! The order of fields is free in protobuf; this one puts all that has a fixed length first.

use prost::encoding::encoded_len_varint;

use super::strings::{Strings, Text, has_name};
use super::wire::{bytes_field_len, put_bytes, put_fixed64, put_length, put_varint, varint56};
use super::{SEQUENCE_ID, TRACE_PACKET};
use crate::timeline::{Arg, ArgValue, Block, Flow, Op, OpKind, TrackId};

/// Fields of `TracePacket`.
mod packet {
    pub(super) const TIMESTAMP: u32 = 8;
    pub(super) const TRUSTED_PACKET_SEQUENCE_ID: u32 = 10;
    pub(super) const TRACK_EVENT: u32 = 11;
    pub(super) const SEQUENCE_FLAGS: u32 = 13;
    pub(super) const TIMESTAMP_CLOCK_ID: u32 = 58;
}

/// Fields of `TrackEvent`.
mod track_event {
    pub(super) const DEBUG_ANNOTATIONS: u32 = 4;
    pub(super) const TYPE: u32 = 9;
    pub(super) const NAME_IID: u32 = 10;
    pub(super) const TRACK_UUID: u32 = 11;
    pub(super) const NAME: u32 = 23;
    pub(super) const COUNTER_VALUE: u32 = 30;
    pub(super) const FLOW_IDS: u32 = 47;
    pub(super) const TERMINATING_FLOW_IDS: u32 = 48;
}

/// Fields of `DebugAnnotation`.
mod annotation {
    pub(super) const NAME_IID: u32 = 1;
    pub(super) const BOOL_VALUE: u32 = 2;
    pub(super) const UINT_VALUE: u32 = 3;
    pub(super) const INT_VALUE: u32 = 4;
    pub(super) const STRING_VALUE: u32 = 6;
    pub(super) const NAME: u32 = 10;
    pub(super) const STRING_VALUE_IID: u32 = 17;
}

/// The sequence's own clock, in which timestamps are differences.
pub(super) const CLOCK_INCREMENTAL: u32 = 64;
/// BOOTTIME, the clock of the trace, in which timestamps are absolute.
pub(super) const CLOCK_ABSOLUTE: u32 = 6;
/// `SEQ_NEEDS_INCREMENTAL_STATE`.
const NEEDS_INCREMENTAL_STATE: u64 = 2;

/// Packets gather here before they are appended to the output: to grow a `Vec` by a few bytes at a time costs more than all else.
const STAGE_BYTES: usize = 4096;
/// Room that the stage has beyond that for one packet and the zeros that are stored behind it.
const PACKET_ROOM: usize = 64;

/// Memory for the writing of events with annotations.
#[derive(Default)]
pub(super) struct EventScratch {
    event: Vec<u8>,
    annotation: Vec<u8>,
}

/// Writes the events of one block. [`EventWriter::flush`] must be called at the end and before others append to the output.
pub(super) struct EventWriter<'a> {
    block: &'a Block,
    strings: &'a Strings,
    default_track: Option<TrackId>,
    scratch: &'a mut EventScratch,
    /// Where the incremental clock stands.
    clock_ns: u64,
    staged: usize,
    stage: [u8; STAGE_BYTES + PACKET_ROOM],
}

impl<'a> EventWriter<'a> {
    pub(super) fn new(
        block: &'a Block,
        strings: &'a Strings,
        default_track: Option<TrackId>,
        scratch: &'a mut EventScratch,
    ) -> EventWriter<'a> {
        let stage = [0; STAGE_BYTES + PACKET_ROOM];
        EventWriter { block, strings, default_track, scratch, clock_ns: 0, staged: 0, stage }
    }

    /// Writes an operation that is an event.
    #[inline]
    pub(super) fn write(&mut self, op: &Op, event: EventType, out: &mut Vec<u8>) {
        if self.write_short(op, event).is_none() {
            self.write_general(op, event, out);
        } else if self.staged >= STAGE_BYTES {
            self.flush(out);
        }
    }

    /// Appends what is staged to the output.
    pub(super) fn flush(&mut self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.stage[..self.staged]);
        self.staged = 0;
    }

    /// Writes an event in order of time, without annotations, with an interned name and a value of at most 8 bytes as a varint.
    /// None: it is not such an event, and nothing has been written.
    #[inline]
    fn write_short(&mut self, op: &Op, event: EventType) -> Option<()> {
        const VARINT56_END: u64 = 1 << 56;
        let delta_ns = op.time_ns.checked_sub(self.clock_ns)?;
        if op.args_len != 0 || delta_ns >= VARINT56_END {
            return None;
        }
        let (name, name_len) = if has_name(op) { self.strings.name_field(op.name).parts()? } else { (0, 0) };
        let (track, track_len) = if Some(op.track) == self.default_track {
            (0, 0)
        } else {
            let (uuid, len) = varint56(u64::from(op.track.0));
            (uuid << 8 | u64::from(track_event::TRACK_UUID << 3), len + 1)
        };
        let value = op.value.cast_unsigned();
        let (value, value_len) = match (event, op.flow) {
            (EventType::Counter, _) if value >= VARINT56_END => return None,
            (EventType::Counter, _) => {
                const COUNTER: u128 = key_of_two_bytes(track_event::COUNTER_VALUE, 0);
                let (value, len) = varint56(value);
                (u128::from(value) << 16 | COUNTER, len + 2)
            }
            (_, Flow::None) => (0, 0),
            _ if value == 0 => (0, 0),
            (_, Flow::Out) => (u128::from(value) << 16 | const { key_of_two_bytes(track_event::FLOW_IDS, 1) }, 10),
            (_, Flow::In) => (u128::from(value) << 16 | const { key_of_two_bytes(track_event::TERMINATING_FLOW_IDS, 1) }, 10),
        };

        // At most 2 + 2 + 6 + 6 = 16 bytes, and 10 more of value.
        let event_len = 2 + track_len + name_len + value_len;
        let event_bits = u128::from(packet::TRACK_EVENT << 3 | 2)
            | u128::from(event_len) << 8
            | u128::from(track_event::TYPE << 3) << 16
            | u128::from(event as u8) << 24
            | u128::from(track) << 32
            | u128::from(name) << (32 + 8 * track_len);
        let (delta, delta_len) = varint56(delta_ns);
        let packet_len = 5 + delta_len + 2 + event_len;
        let head = HEAD | u64::from(packet_len) << 8;

        let at = self.staged;
        let room: &mut [u8; PACKET_ROOM] = self.stage.get_mut(at..)?.first_chunk_mut()?;
        let event_at = HEAD_LEN + delta_len as usize;
        let value_at = event_at + (4 + track_len + name_len) as usize;
        room[0..8].copy_from_slice(&head.to_le_bytes());
        room[HEAD_LEN..HEAD_LEN + 8].copy_from_slice(&delta.to_le_bytes());
        room[event_at..event_at + 16].copy_from_slice(&event_bits.to_le_bytes());
        room[value_at..value_at + 16].copy_from_slice(&value.to_le_bytes());
        self.staged = at + 2 + packet_len as usize;
        self.clock_ns = op.time_ns;
        Some(())
    }

    /// Writes any event.
    #[inline(never)]
    fn write_general(&mut self, op: &Op, event: EventType, out: &mut Vec<u8>) {
        self.flush(out);
        self.fill_event(op, event);
        // An event of the past, known late: in absolute time, so that the incremental clock stays where it is.
        let (time, is_late) = match op.time_ns.checked_sub(self.clock_ns) {
            Some(delta_ns) => (delta_ns, false),
            None => (op.time_ns, true),
        };
        let event_len = self.scratch.event.len();
        let clock_len = if is_late { 3 } else { 0 };
        let packet_len = 5 + encoded_len_varint(time) + clock_len + bytes_field_len(packet::TRACK_EVENT, event_len);
        put_length(out, TRACE_PACKET, packet_len);
        put_varint(out, packet::TRUSTED_PACKET_SEQUENCE_ID, u64::from(SEQUENCE_ID));
        put_varint(out, packet::SEQUENCE_FLAGS, NEEDS_INCREMENTAL_STATE);
        put_varint(out, packet::TIMESTAMP, time);
        if is_late {
            put_varint(out, packet::TIMESTAMP_CLOCK_ID, u64::from(CLOCK_ABSOLUTE));
        } else {
            self.clock_ns = op.time_ns;
        }
        put_bytes(out, packet::TRACK_EVENT, &self.scratch.event);
    }

    fn fill_event(&mut self, op: &Op, event: EventType) {
        let EventScratch { event: bytes, annotation } = &mut *self.scratch;
        bytes.clear();
        put_varint(bytes, track_event::TYPE, event as u64);
        if Some(op.track) != self.default_track {
            put_varint(bytes, track_event::TRACK_UUID, u64::from(op.track.0));
        }
        if has_name(op) {
            put_text(bytes, self.strings.event_name(self.block, op.name), track_event::NAME_IID, track_event::NAME);
        }
        let value = op.value.cast_unsigned();
        match (event, op.flow) {
            (EventType::Counter, _) => put_varint(bytes, track_event::COUNTER_VALUE, value),
            (_, Flow::None) => {}
            _ if value == 0 => {}
            (_, Flow::Out) => put_fixed64(bytes, track_event::FLOW_IDS, value),
            (_, Flow::In) => put_fixed64(bytes, track_event::TERMINATING_FLOW_IDS, value),
        }
        let args_start = op.args_start as usize;
        let args = self.block.args.get(args_start..args_start.saturating_add(usize::from(op.args_len)));
        for arg in args.unwrap_or_default() {
            fill_annotation(annotation, self.block, self.strings, arg);
            put_bytes(bytes, track_event::DEBUG_ANNOTATIONS, annotation);
        }
    }
}

/// `TrackEvent.Type`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EventType {
    SliceBegin = 1,
    SliceEnd = 2,
    Instant = 3,
    Counter = 4,
}

impl EventType {
    /// None for what is no event.
    #[inline]
    pub(super) fn of(kind: OpKind) -> Option<EventType> {
        match kind {
            OpKind::Begin => Some(EventType::SliceBegin),
            OpKind::End => Some(EventType::SliceEnd),
            OpKind::Instant => Some(EventType::Instant),
            OpKind::Counter => Some(EventType::Counter),
            OpKind::Describe => None,
        }
    }
}

/// What all short packets begin with; the second byte is the length.
const HEAD: u64 = u64::from_le_bytes([
    (TRACE_PACKET << 3 | 2) as u8,
    0,
    (packet::TRUSTED_PACKET_SEQUENCE_ID << 3) as u8,
    SEQUENCE_ID as u8,
    (packet::SEQUENCE_FLAGS << 3) as u8,
    NEEDS_INCREMENTAL_STATE as u8,
    (packet::TIMESTAMP << 3) as u8,
    0,
]);
const HEAD_LEN: usize = 7;

/// The key of a field from 16 to 2047, as a varint.
const fn key_of_two_bytes(field: u32, wire_type: u32) -> u128 {
    let key = field << 3 | wire_type;
    assert!(key >= 1 << 7 && key < 1 << 14);
    (key & 0x7f | 0x80 | (key >> 7) << 8) as u128
}

fn put_text(out: &mut Vec<u8>, text: Option<Text<'_>>, iid_field: u32, text_field: u32) {
    match text {
        Some(Text::Interned(iid)) => put_varint(out, iid_field, u64::from(iid)),
        Some(Text::InPlace(text)) => put_bytes(out, text_field, text.as_bytes()),
        None => {}
    }
}

fn fill_annotation(out: &mut Vec<u8>, block: &Block, strings: &Strings, arg: &Arg) {
    out.clear();
    put_text(out, strings.arg_name(block, arg.name), annotation::NAME_IID, annotation::NAME);
    match arg.value {
        ArgValue::Uint(value) => put_varint(out, annotation::UINT_VALUE, value),
        ArgValue::Int(value) => put_varint(out, annotation::INT_VALUE, value.cast_unsigned()),
        ArgValue::Bool(value) => put_varint(out, annotation::BOOL_VALUE, u64::from(value)),
        ArgValue::Name(_) | ArgValue::Text(_) => {
            put_text(out, strings.arg_value(block, arg.value), annotation::STRING_VALUE_IID, annotation::STRING_VALUE);
        }
    }
}
