//! Operations → `TrackEvent` packets. This is the hot path.
//!
//! A packet without annotations is at most 43 bytes long, so all lengths take one byte. It is put
//! together from ready pieces with overlapping stores of 8 bytes:
//!
//! ```text
//! 0A len | 50 01 sequence | 68 02 flags | 40 time | 5A len { 48 type | 58 track | 50 name | F0 01 counter, or flow }
//! ```
//!
//! The order of fields is free in protobuf; this one puts all that has a fixed length first.

use prost::encoding::encoded_len_varint;

use super::strings::{NAME_IID, Strings, Text};
use super::tracks::{TRACK_UUID, Tracks};
use super::wire::{bytes_field_len, put_bytes, put_fixed64, put_length, put_varint, varint28, varint56};
use super::{SEQUENCE_ID, TRACE_PACKET};
use crate::timeline::{Arg, ArgValue, Block, Flow, Op, OpKind};

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
    tracks: &'a Tracks,
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
        tracks: &'a Tracks,
        scratch: &'a mut EventScratch,
    ) -> EventWriter<'a> {
        let stage = [0; STAGE_BYTES + PACKET_ROOM];
        EventWriter { block, strings, tracks, scratch, clock_ns: 0, staged: 0, stage }
    }

    /// Writes an operation that is an event, whose name has the given slot.
    #[inline]
    pub(super) fn write(&mut self, op: &Op, name_slot: u32, out: &mut Vec<u8>) {
        if self.write_short(op, name_slot).is_none() {
            self.write_general(op, out);
        } else if self.staged >= STAGE_BYTES {
            self.flush(out);
        }
    }

    /// Appends what is staged to the output.
    pub(super) fn flush(&mut self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.stage[..self.staged]);
        self.staged = 0;
    }

    /// Writes an event without annotations, with an interned name, less than 2^28 ns after the one before, and a value of at
    /// most 8 bytes as a varint. None: it is not such an event, and nothing has been written.
    ///
    /// The kinds of events and the lengths of fields follow each other without a pattern that a processor could learn, so
    /// nothing here branches on them.
    #[inline]
    fn write_short(&mut self, op: &Op, name_slot: u32) -> Option<()> {
        let shape = &SHAPES[op.kind as usize][op.flow as usize];
        let name = self.strings.name_field(name_slot);
        let track = self.tracks.field(op.track);
        let value = op.value.cast_unsigned();
        let is_long_value = shape.is_counter & (value >= 1 << 56);
        // Wraps to something long if the event is late.
        let delta_ns = op.time_ns.wrapping_sub(self.clock_ns);
        if (delta_ns >= 1 << 28) | is_long_value | (op.args_len != 0) | name.is_too_long() | track.is_too_long() {
            return None;
        }
        let (delta, delta_len) = varint28(delta_ns as u32);
        let (varint, varint_len) = varint56(value & ((1 << 56) - 1));
        let (value, value_len) = if shape.is_counter { (varint, varint_len) } else { (value, 0) };

        let track_len = track.len();
        let name_len = name.len();
        let event_len = 2 + track_len + name_len + shape.value_len + value_len;
        let packet_len = 7 + delta_len + event_len;

        let at = self.staged;
        let room: &mut [u8; PACKET_ROOM] = self.stage.get_mut(at..)?.first_chunk_mut()?;
        let event_at = HEAD_LEN + delta_len as usize;
        let track_at = event_at + 4;
        let name_at = track_at + track_len as usize;
        let value_at = name_at + name_len as usize;
        // Each store may leave something behind its bytes, which the next one overwrites.
        store(room, 0, HEAD | u64::from(packet_len) << 8);
        store(room, HEAD_LEN, u64::from(delta));
        store(room, event_at, u64::from(shape.event_head | event_len << 8));
        store(room, track_at, track.bytes());
        store(room, name_at, name.bytes());
        store(room, value_at, u64::from(shape.value_key));
        store(room, value_at + 2, value);
        self.staged = at + 2 + packet_len as usize;
        self.clock_ns = op.time_ns;
        Some(())
    }

    /// Writes any event.
    #[inline(never)]
    fn write_general(&mut self, op: &Op, out: &mut Vec<u8>) {
        self.flush(out);
        self.fill_event(op);
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

    fn fill_event(&mut self, op: &Op) {
        let EventScratch { event: bytes, annotation } = &mut *self.scratch;
        bytes.clear();
        put_varint(bytes, track_event::TYPE, u64::from(EVENT_TYPES[op.kind as usize]));
        if Some(op.track) != self.tracks.default_track() {
            put_varint(bytes, TRACK_UUID, u64::from(op.track.0));
        }
        put_text(bytes, self.strings.event_name(self.block, op.name), NAME_IID, track_event::NAME);
        let value = op.value.cast_unsigned();
        match (op.kind, op.flow) {
            (OpKind::Counter, _) => put_varint(bytes, track_event::COUNTER_VALUE, value),
            (_, Flow::None) => {}
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

/// `TrackEvent.Type` by [`OpKind`]: slice begin, slice end, instant, counter. Descriptions are no events.
const EVENT_TYPES: [u8; 5] = {
    let mut types = [0; 5];
    types[OpKind::Begin as usize] = 1;
    types[OpKind::End as usize] = 2;
    types[OpKind::Instant as usize] = 3;
    types[OpKind::Counter as usize] = 4;
    types
};

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

/// What is the same in all short events of one kind and flow.
struct Shape {
    /// The event up to its type; the second byte is the length.
    event_head: u32,
    /// The length of the value and its key; of a counter, of the key alone.
    value_len: u32,
    /// The key of the value, if it has one.
    value_key: u16,
    is_counter: bool,
}

/// By [`OpKind`] and [`Flow`].
static SHAPES: [[Shape; 3]; 5] = {
    const fn shape(kind: usize, is_counter: bool, value_key: u16) -> Shape {
        let head = [(packet::TRACK_EVENT << 3 | 2) as u8, 0, (track_event::TYPE << 3) as u8, EVENT_TYPES[kind]];
        let value_len = match (is_counter, value_key) {
            (true, _) => 2,
            (false, 0) => 0,
            (false, _) => 2 + 8,
        };
        Shape { event_head: u32::from_le_bytes(head), value_len, value_key, is_counter }
    }
    const fn shapes(kind: usize) -> [Shape; 3] {
        const { assert!(Flow::None as usize == 0 && Flow::Out as usize == 1 && Flow::In as usize == 2) };
        const COUNTER_KEY: u16 = key_of_two_bytes(track_event::COUNTER_VALUE, 0);
        if kind == OpKind::Counter as usize {
            return [shape(kind, true, COUNTER_KEY), shape(kind, true, COUNTER_KEY), shape(kind, true, COUNTER_KEY)];
        }
        [
            shape(kind, false, 0),
            shape(kind, false, key_of_two_bytes(track_event::FLOW_IDS, 1)),
            shape(kind, false, key_of_two_bytes(track_event::TERMINATING_FLOW_IDS, 1)),
        ]
    }
    [shapes(0), shapes(1), shapes(2), shapes(3), shapes(4)]
};

/// The key of a field from 16 to 2047, as a varint.
const fn key_of_two_bytes(field: u32, wire_type: u32) -> u16 {
    let key = field << 3 | wire_type;
    assert!(key >= 1 << 7 && key < 1 << 14);
    (key & 0x7f | 0x80 | (key >> 7) << 8) as u16
}

#[inline]
fn store(room: &mut [u8; PACKET_ROOM], at: usize, bytes: u64) {
    if let Some(place) = room.get_mut(at..at + 8) {
        place.copy_from_slice(&bytes.to_le_bytes());
    }
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
