//! Operations → `TrackEvent` packets. This is the hot path.
//!
//! Nearly all packets are so short that all their lengths take one byte. Such a packet is put together from prepared pieces with
//! overlapping stores of 8 bytes:
//!
//! ```text
//! 0A len | 50 01 sequence | 68 02 flags | 40 time | 5A len { 48 type | 58 track | 50 name | F0 01 counter, or flow
//!                                                            | for each annotation: 22 len { 08 name | 18 value } }
//! ```
//!
//! The order of fields is free in protobuf; here all fields of fixed length come first.
//!
//! A counter that changes at the time of the event before it gets no packet of its own: it is added to that event, as `F8 01 track
//! 60 value`. A third of a Tonbandgerät trace's counters are such; the viewer loads it an eighth faster.

use prost::encoding::encoded_len_varint;

use super::strings::{ARG_NAME_IID, ARG_STRING_VALUE_IID, CATEGORY_IID, NAME_IID, Role, Strings, Text};
use super::tracks::{TRACK_UUID, Tracks};
use super::wire::{
    MAX_VARINT_LEN, ShortField, VARINT49_END, bytes_field_len, mostly_short_varint, mostly_tiny_varint49, put_bytes, put_fixed64,
    put_length, put_varint, varint, varint28,
};
use super::{SEQUENCE_ID, TRACE_PACKET};
use crate::model::Tag;
use crate::track::{Annotation, AnnotationValue, Block, Flow, NameRef, Op, OpKind};

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
    pub(super) const EXTRA_COUNTER_VALUES: u32 = 12;
    pub(super) const LOG_MESSAGE: u32 = 21;
    pub(super) const NAME: u32 = 23;
    pub(super) const COUNTER_VALUE: u32 = 30;
    pub(super) const EXTRA_COUNTER_TRACK_UUIDS: u32 = 31;
    pub(super) const SOURCE_LOCATION_IID: u32 = 34;
    pub(super) const DOUBLE_COUNTER_VALUE: u32 = 44;
    pub(super) const FLOW_IDS: u32 = 47;
    pub(super) const TERMINATING_FLOW_IDS: u32 = 48;
}

/// Fields of `DebugAnnotation`.
mod annotation {
    pub(super) const BOOL_VALUE: u32 = 2;
    pub(super) const UINT_VALUE: u32 = 3;
    pub(super) const INT_VALUE: u32 = 4;
    pub(super) const DOUBLE_VALUE: u32 = 5;
    pub(super) const STRING_VALUE: u32 = 6;
    pub(super) const POINTER_VALUE: u32 = 7;
    pub(super) const NAME: u32 = 10;
}

/// Fields of `LogMessage`.
mod log_message {
    pub(super) const SOURCE_LOCATION_IID: u32 = 1;
    pub(super) const BODY_IID: u32 = 2;
    pub(super) const PRIO: u32 = 3;
}

/// The sequence's own clock, in which timestamps are differences.
pub(super) const CLOCK_INCREMENTAL: u32 = 64;
/// BOOTTIME, the clock of the trace, in which timestamps are absolute.
pub(super) const CLOCK_ABSOLUTE: u32 = 6;
/// `SEQ_NEEDS_INCREMENTAL_STATE`.
const NEEDS_INCREMENTAL_STATE: u64 = 2;

/// Packets gather here before they are appended to the output: growing a `Vec` by a few bytes at a time costs more than
/// everything else.
const STAGE_BYTES: usize = 4096;
/// Room for one packet, or for what is added to one, and the zeros that are stored after it. Packets that fit into it are shorter than
/// 128 bytes, so their length takes one byte.
const PACKET_ROOM: usize = 128;
/// The maximum size of a packet without annotations: head, time, event head, track, name, key of the value, value.
const PLAIN_LEN: usize = HEAD_LEN + 4 + 4 + 3 + 3 + 2 + MAX_VARINT_LEN;
/// The longest name that is written in place in a short packet: a plain packet with it fits.
const IN_PLACE_LEN: usize = PACKET_ROOM - 8 - PLAIN_LEN - 3;
/// The maximum size of an annotation: its key and length, its name, its value with key; and the zeros after it.
const ANNOTATION_ROOM: usize = 2 + 3 + 1 + MAX_VARINT_LEN + 8;
const _: () = assert!(PLAIN_LEN + 8 <= PACKET_ROOM && PACKET_ROOM <= 128);

/// Scratch memory for events with annotations.
#[derive(Default)]
pub(super) struct EventScratch {
    event: Vec<u8>,
    annotation: Vec<u8>,
    /// The field of each source location's number; of 0, none.
    sources: Vec<ShortField>,
    /// The same for log messages.
    log_sources: Vec<ShortField>,
    /// The annotations of each grade's log messages, and their length; of 0, none. `None` if some text is to be written in place.
    grades: Vec<Option<(u128, usize)>>,
}

/// Writes the events of one block. [`EventWriter::flush`] must be called at the end and before others append to the output.
pub(super) struct EventWriter<'a> {
    block: &'a Block,
    strings: &'a Strings,
    tracks: &'a Tracks,
    /// See [`Strings::event_name_fields`].
    names: &'a [ShortField],
    /// See [`Strings::arg_name_fields`] and [`Strings::category_fields`].
    arg_names: &'a [ShortField],
    categories: &'a [ShortField],
    scratch: &'a mut EventScratch,
    /// The time of the incremental clock.
    clock_ns: u64,
    /// The staged event that counters can be added to.
    host: Host,
    staged: usize,
    stage: [u8; STAGE_BYTES + 2 * PACKET_ROOM],
}

/// A staged slice or instant, the last of all staged packets.
struct Host {
    packet_at: usize,
    event_at: usize,
    /// The number of counters that can still be added; 0 also without such an event.
    room: usize,
}

/// The importer ignores more than 8 of an event, and (measured with v58.2) reads all values after a 0 as 0: that is the last one.
const MAX_EXTRA_COUNTERS: usize = 8;

impl<'a> EventWriter<'a> {
    pub(super) fn new(
        block: &'a Block,
        strings: &'a Strings,
        tracks: &'a Tracks,
        scratch: &'a mut EventScratch,
    ) -> EventWriter<'a> {
        let stage = [0; STAGE_BYTES + 2 * PACKET_ROOM];
        let host = Host { packet_at: 0, event_at: 0, room: 0 };
        let names = strings.event_name_fields();
        let fields = [track_event::SOURCE_LOCATION_IID, log_message::SOURCE_LOCATION_IID];
        for (sources, field) in [&mut scratch.sources, &mut scratch.log_sources].into_iter().zip(fields) {
            sources.clear();
            sources.push(ShortField::EMPTY);
            sources.extend((1..).take(block.sources.len()).map(|number| ShortField::new(field, number)));
        }
        scratch.grades.clear();
        scratch.grades.extend(strings.grade_fields(block).enumerate().map(|(grade, fields)| {
            let [name, severity, category] = fields?;
            let mut room = [0; ANNOTATION_ROOM];
            let len = if grade == 0 { 0 } else { store_annotation(&mut room, name, severity.short_len(), severity.bytes()) };
            store(&mut room, len, category.bytes());
            Some((room.first_chunk().map_or(0, |room| u128::from_le_bytes(*room)), len + category.short_len()))
        }));
        let (arg_names, categories) = (strings.arg_name_fields(), strings.category_fields());
        EventWriter { block, strings, tracks, names, arg_names, categories, scratch, clock_ns: 0, host, staged: 0, stage }
    }

    /// Writes an operation that is an event.
    #[inline]
    pub(super) fn write(&mut self, op: &Op, out: &mut Vec<u8>) {
        let is_counter = op.kind == OpKind::Counter;
        if is_counter && self.add_to_host(op).is_some() {
            return;
        }
        if self.staged >= STAGE_BYTES {
            self.flush(out);
        }
        let packet_at = self.staged;
        let event_at = match op.args_len {
            0 if is_counter && op.name == NameRef::NONE => {
                self.host.room = 0;
                return self.write_counter(op).unwrap_or_else(|| self.write_general(op, out));
            }
            _ if is_counter => return self.write_general(op, out),
            0 => self.write_short(op),
            _ => self.write_annotated(op),
        };
        let Some(event_at) = event_at else { return self.write_general(op, out) };
        self.host = Host { packet_at, event_at, room: MAX_EXTRA_COUNTERS };
    }

    /// Adds a counter to the event before it, if that has the same time. `None`: it has not, or too little room.
    #[inline]
    fn add_to_host(&mut self, op: &Op) -> Option<()> {
        const TRACK: u64 = key_of_two_bytes(track_event::EXTRA_COUNTER_TRACK_UUIDS, 0) as u64;
        const VALUE: u64 = (track_event::EXTRA_COUNTER_VALUES << 3) as u64;
        let host = &mut self.host;
        if host.room == 0 || op.time_ns != self.clock_ns || op.track.0 >= 1 << 28 {
            return None;
        }
        let (track, track_len) = varint28(op.track.0);
        let (value, rest, value_len) = mostly_short_varint(op.value.cast_unsigned());
        let value_at = 3 + track_len as usize;
        let end = self.staged + value_at + value_len as usize;
        let packet_len = u8::try_from(end - host.packet_at - 2).ok().filter(|&len| len < 0x80)?;
        let room: &mut [u8; ROOM] = self.stage.get_mut(self.staged..)?.first_chunk_mut()?;
        // Two bytes of the key, at most 4 of the track, one of the value's key, at most 10 of the value, and zeros.
        const ROOM: usize = 7 + 16;
        store(room, 0, TRACK | u64::from(track) << 16 | VALUE << (8 * (value_at - 1)));
        store(room, value_at, value);
        store(room, value_at + 8, u64::from(rest));
        self.stage[host.packet_at + 1] = packet_len;
        self.stage[host.packet_at + host.event_at + 1] = packet_len - host.event_at as u8;
        host.room = if op.value == 0 { 0 } else { host.room - 1 };
        self.staged = end;
        Some(())
    }

    /// Writes an event as [`EventWriter::write_short`] does, but with annotations, and maybe with short texts in place.
    ///
    /// A separate function, so that the loop over events without annotations can use all registers.
    #[inline(never)]
    fn write_annotated(&mut self, op: &Op) -> Option<usize> {
        let EventWriter { block, strings, .. } = *self;
        let shape = &SHAPES[op.kind as usize][op.flow as usize];
        let name = self.name_field(op);
        let track = self.tracks.field(op.track);
        let delta_ns = op.time_ns.wrapping_sub(self.clock_ns);
        if (delta_ns >= 1 << 28) | track.is_too_long() {
            return None;
        }
        let (delta, delta_len) = varint28(delta_ns as u32);
        let room: &mut [u8; PACKET_ROOM] = self.stage.get_mut(self.staged..)?.first_chunk_mut()?;
        let event_at = HEAD_LEN + (delta_len & 7) as usize;
        store(room, 0, HEAD);
        store(room, HEAD_LEN, u64::from(delta) | u64::from(shape.event_head) << (8 * delta_len));
        store(room, event_at + 4, track.with_len());
        let mut end = event_at + 4 + track.short_len();
        if name.is_too_long() {
            let Some(Text::InPlace(text)) = strings.event_name(block, op.name) else { return None };
            if text.len() > IN_PLACE_LEN {
                return None;
            }
            store(room, end, NAME_IN_PLACE | (text.len() as u64) << 16);
            end += 3;
            room.get_mut(end..end + text.len())?.copy_from_slice(text);
            end += text.len();
        } else {
            store(room, end, name.with_len());
            end += name.short_len();
        }
        if shape.key_len > 0 {
            store(room, end, u64::from(shape.value_key));
            end += shape.key_len as usize;
            let value = op.value.cast_unsigned();
            if shape.flow_len > 0 {
                store(room, end, value);
                end += 8;
            } else {
                let (value, rest, len) = varint(value);
                store(room, end, value);
                store(room, end + 8, u64::from(rest));
                end += len as usize;
            }
        }
        let args_start = op.args_start as usize;
        let mut args = block.args.get(args_start..args_start.saturating_add(usize::from(op.args_len)))?;
        if let Some((&log, rest)) = args.split_first()
            && let AnnotationValue::Log { body, source, priority, grade } = log.value()
        {
            let source = self.scratch.log_sources.get(source as usize).copied().unwrap_or(ShortField::EMPTY);
            end += store_log(place_at(room, end)?, strings.text_field(body, Role::LogBody), source, priority)?;
            let (annotations, len) = (*self.scratch.grades.get(usize::from(grade))?)?;
            *place_at(room, end)? = annotations.to_le_bytes();
            end += len;
            args = rest;
        }
        for arg in args {
            let place: &mut [u8; ANNOTATION_ROOM] = place_at(room, end)?;
            let (tag, bits) = (arg.tag(), arg.bits());
            let name = self.arg_names.get(arg.name as usize).copied().unwrap_or(ShortField::TOO_LONG);
            let (key, short_end) = NUMBER_KEYS[tag as usize];
            if bits < short_end {
                if name.is_too_long() {
                    return None;
                }
                // As a rule the key and all bytes of the value are stored at once.
                let (bytes, len) = mostly_tiny_varint49(bits);
                end += store_annotation(place, name, 1 + (len & 7) as usize, key | bytes << 8);
                continue;
            }
            if tag == Tag::Category {
                let category = *self.categories.get(bits as u32 as usize)?;
                if category.is_too_long() {
                    return None;
                }
                store(place, 0, category.bytes());
                end += category.short_len();
                continue;
            }
            if name.is_too_long() {
                return None;
            }
            if matches!(tag, Tag::Name | Tag::Text) {
                let text = strings.arg_value_field(arg);
                if !text.is_too_long() {
                    end += store_annotation(place, name, text.short_len(), text.bytes());
                    continue;
                }
                let Some(Text::InPlace(text)) = strings.arg_value(block, arg.value()) else { return None };
                let key = u64::from(STRING_KEY) | (text.len() as u64) << 8;
                let text_at = end + store_annotation(place, name, 2 + text.len(), key) - text.len();
                end = text_at + text.len();
                room.get_mut(text_at..end)?.copy_from_slice(text);
                continue;
            }
            let (key, bits, rest, len) = match tag {
                // Not where they belong.
                Tag::Log | Tag::FlowOut | Tag::FlowIn => return None,
                Tag::Float => (DOUBLE_KEY, bits, 0, 8),
                _ => {
                    let (bits, rest, len) = varint(bits);
                    (key, bits, rest, len)
                }
            };
            let len = len as usize & 15;
            let head_len = store_annotation(place, name, 1 + len, key) - len;
            store(place, head_len, bits);
            store(place, head_len + 8, u64::from(rest));
            end += head_len + len;
        }
        // Both are less than the room, so less than 128.
        room[1] = (end - 2) as u8;
        room[event_at + 1] = (end - event_at - 2) as u8;
        self.staged += end;
        self.clock_ns = op.time_ns;
        Some(event_at)
    }

    /// The name field of an event. Empty without a name, too long if the name is to be written in place.
    #[inline(always)]
    fn name_field(&self, op: &Op) -> ShortField {
        if op.name.is_text() {
            return self.strings.text_field(op.name.number(), Role::EventName);
        }
        self.names.get(op.name.number() as usize).copied().unwrap_or(ShortField::TOO_LONG)
    }

    /// Appends the staged packets to the output.
    pub(super) fn flush(&mut self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.stage[..self.staged]);
        self.staged = 0;
        self.host.room = 0;
    }

    /// Writes a slice or instant with an interned name, less than 2^28 ns after the preceding event, without annotations. Returns where
    /// in the packet the event begins. `None`: it is not such an event, and nothing has been written.
    ///
    /// The kinds of events and the lengths of fields follow each other without a pattern that a processor could learn, so
    /// nothing here branches on them.
    #[inline(always)]
    fn write_short(&mut self, op: &Op) -> Option<usize> {
        let shape = &SHAPES[op.kind as usize][op.flow as usize];
        let value = op.value.cast_unsigned();
        let name = self.name_field(op);
        let track = self.tracks.field(op.track);
        // Wraps to a large number if the event is late.
        let delta_ns = op.time_ns.wrapping_sub(self.clock_ns);
        if (delta_ns >= 1 << 28) | ShortField::any_too_long([name, track]) {
            return None;
        }
        let (delta, delta_len) = varint28(delta_ns as u32);
        let room: &mut [u8; PACKET_ROOM] = self.stage.get_mut(self.staged..)?.first_chunk_mut()?;
        // Each store may write beyond its bytes; the next store overwrites that.
        store(room, 0, HEAD);
        store(room, HEAD_LEN, u64::from(delta));
        let event_at = HEAD_LEN + (delta_len & 7) as usize;
        store(room, event_at, u64::from(shape.event_head));
        let mut end = event_at + 4;
        for field in [track, name] {
            store(room, end, field.with_len());
            end += field.short_len();
        }
        if op.flow == Flow::Source {
            let source = self.scratch.sources.get(value as usize).copied().filter(|source| !source.is_too_long())?;
            store(room, end, source.with_len());
            end += source.short_len();
        } else {
            store(room, end, u64::from(shape.value_key));
            store(room, end + 2, value);
            end += shape.fixed_len as usize & 15;
        }
        // Both are less than the room, so less than 128.
        room[1] = (end - 2) as u8;
        room[event_at + 1] = (end - event_at - 2) as u8;
        self.staged += end;
        self.clock_ns = op.time_ns;
        Some(event_at)
    }

    /// The same for a counter.
    #[inline(always)]
    fn write_counter(&mut self, op: &Op) -> Option<()> {
        let shape = &SHAPES[OpKind::Counter as usize][0];
        let track = self.tracks.field(op.track);
        let delta_ns = op.time_ns.wrapping_sub(self.clock_ns);
        if (delta_ns >= 1 << 28) | track.is_too_long() {
            return None;
        }
        let (delta, delta_len) = varint28(delta_ns as u32);
        let (value, rest, value_len) = mostly_short_varint(op.value.cast_unsigned());
        let room: &mut [u8; PACKET_ROOM] = self.stage.get_mut(self.staged..)?.first_chunk_mut()?;
        store(room, 0, HEAD);
        store(room, HEAD_LEN, u64::from(delta));
        let event_at = HEAD_LEN + (delta_len & 7) as usize;
        store(room, event_at, u64::from(shape.event_head));
        store(room, event_at + 4, track.with_len());
        let key_at = event_at + 4 + track.short_len();
        store(room, key_at, u64::from(shape.value_key));
        store(room, key_at + 2, value);
        store(room, key_at + 10, u64::from(rest));
        let end = key_at + 2 + (value_len & 15) as usize;
        room[1] = (end - 2) as u8;
        room[event_at + 1] = (end - event_at - 2) as u8;
        self.staged += end;
        self.clock_ns = op.time_ns;
        Some(())
    }

    /// Writes any event.
    #[inline(never)]
    fn write_general(&mut self, op: &Op, out: &mut Vec<u8>) {
        self.flush(out);
        self.fill_event(op);
        // An event that is known late: in absolute time, so that the incremental clock keeps its value.
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
        let EventScratch { event: bytes, annotation, .. } = &mut *self.scratch;
        bytes.clear();
        put_varint(bytes, track_event::TYPE, u64::from(EVENT_TYPES[op.kind as usize]));
        if Some(op.track) != self.tracks.default_track() {
            put_varint(bytes, TRACK_UUID, u64::from(op.track.0));
        }
        put_text(bytes, self.strings.event_name(self.block, op.name), NAME_IID, track_event::NAME);
        let value = op.value.cast_unsigned();
        match (op.kind, op.flow) {
            (OpKind::Counter, _) => put_varint(bytes, track_event::COUNTER_VALUE, value),
            (OpKind::FloatCounter, _) => put_fixed64(bytes, track_event::DOUBLE_COUNTER_VALUE, value),
            (_, Flow::None) => {}
            (_, Flow::Out) => put_fixed64(bytes, track_event::FLOW_IDS, value),
            (_, Flow::In) => put_fixed64(bytes, track_event::TERMINATING_FLOW_IDS, value),
            (_, Flow::Source) => put_varint(bytes, track_event::SOURCE_LOCATION_IID, value),
        }
        let args_start = op.args_start as usize;
        let args = self.block.args.get(args_start..args_start.saturating_add(usize::from(op.args_len)));
        for arg in args.unwrap_or_default() {
            match arg.value() {
                AnnotationValue::Log { body, source, priority, grade } => {
                    let Some(Text::Interned(iid)) = self.strings.log_body(self.block, body) else { continue };
                    annotation.clear();
                    if source > 0 && (source as usize) <= self.block.sources.len() {
                        put_varint(annotation, log_message::SOURCE_LOCATION_IID, u64::from(source));
                    }
                    put_varint(annotation, log_message::BODY_IID, u64::from(iid));
                    if priority > 0 {
                        put_varint(annotation, log_message::PRIO, u64::from(priority));
                    }
                    put_bytes(bytes, track_event::LOG_MESSAGE, annotation);
                    if let Some(grade) = usize::from(grade).checked_sub(1).and_then(|grade| self.block.grades.get(grade)) {
                        grade
                            .annotations()
                            .iter()
                            .for_each(|arg| put_annotation(bytes, annotation, self.block, self.strings, arg));
                    }
                }
                _ => put_annotation(bytes, annotation, self.block, self.strings, arg),
            }
        }
    }
}

/// Appends an annotation or a category to an event.
fn put_annotation(bytes: &mut Vec<u8>, annotation: &mut Vec<u8>, block: &Block, strings: &Strings, arg: &Annotation) {
    if let AnnotationValue::Category(name) = arg.value() {
        if let Some(iid) = strings.category(block, name) {
            put_varint(bytes, CATEGORY_IID, u64::from(iid));
        }
        return;
    }
    fill_annotation(annotation, block, strings, arg);
    put_bytes(bytes, track_event::DEBUG_ANNOTATIONS, annotation);
}

/// `TrackEvent.Type` by [`OpKind`]: slice begin, slice end, instant, counter. Descriptions are no events.
const EVENT_TYPES: [u8; 6] = {
    let mut types = [0; 6];
    types[OpKind::Begin as usize] = 1;
    types[OpKind::End as usize] = 2;
    types[OpKind::Instant as usize] = 3;
    types[OpKind::Counter as usize] = 4;
    types[OpKind::FloatCounter as usize] = 4;
    types
};

/// The common start of all short packets; the second byte is the length.
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

/// The bytes that all short events of one kind and flow share.
struct Shape {
    /// The event up to its type; the second byte is the length.
    event_head: u32,
    /// The key of the value, if it has one.
    value_key: u16,
    /// The length of that key.
    key_len: u32,
    /// The length of the value, if it is a flow.
    flow_len: u32,
    /// The length of that key and the value, if it is a flow.
    fixed_len: u32,
}

/// By [`OpKind`] and [`Flow`].
static SHAPES: [[Shape; 4]; 6] = {
    const fn shape(kind: usize, is_counter: bool, value_key: u16) -> Shape {
        let head = [(packet::TRACK_EVENT << 3 | 2) as u8, 0, (track_event::TYPE << 3) as u8, EVENT_TYPES[kind]];
        let key_len = if value_key == 0 { 0 } else { 2 };
        let flow_len = if value_key == 0 || is_counter { 0 } else { 8 };
        let fixed_len = if flow_len == 0 { 0 } else { 10 };
        Shape { event_head: u32::from_le_bytes(head), value_key, key_len, flow_len, fixed_len }
    }
    const fn shapes(kind: usize) -> [Shape; 4] {
        const {
            assert!(Flow::None as usize == 0 && Flow::Out as usize == 1 && Flow::In as usize == 2 && Flow::Source as usize == 3);
        };
        const COUNTER_KEY: u16 = key_of_two_bytes(track_event::COUNTER_VALUE, 0);
        const FLOAT_KEY: u16 = key_of_two_bytes(track_event::DOUBLE_COUNTER_VALUE, 1);
        if kind == OpKind::FloatCounter as usize {
            const fn float(kind: usize) -> Shape {
                shape(kind, false, FLOAT_KEY)
            }
            return [float(kind), float(kind), float(kind), float(kind)];
        }
        if kind == OpKind::Counter as usize {
            const fn counter(kind: usize) -> Shape {
                shape(kind, true, COUNTER_KEY)
            }
            return [counter(kind), counter(kind), counter(kind), counter(kind)];
        }
        [
            shape(kind, false, 0),
            shape(kind, false, key_of_two_bytes(track_event::FLOW_IDS, 1)),
            shape(kind, false, key_of_two_bytes(track_event::TERMINATING_FLOW_IDS, 1)),
            // A varint, as the value of a counter.
            shape(kind, true, key_of_two_bytes(track_event::SOURCE_LOCATION_IID, 0)),
        ]
    }
    [shapes(0), shapes(1), shapes(2), shapes(3), shapes(4), shapes(5)]
};

/// The key of a field from 16 to 2047, as a varint.
const fn key_of_two_bytes(field: u32, wire_type: u32) -> u16 {
    let key = field << 3 | wire_type;
    assert!(key >= 1 << 7 && key < 1 << 14);
    (key & 0x7f | 0x80 | (key >> 7) << 8) as u16
}

/// The key of a name in place.
const NAME_IN_PLACE: u64 = key_of_two_bytes(track_event::NAME, 2) as u64;

/// Stores bytes, the first one lowest; nothing where the room ends before.
#[inline]
pub(super) fn store<const ROOM: usize>(room: &mut [u8; ROOM], at: usize, bytes: u64) {
    if let Some(place) = room.get_mut(at..at + 8) {
        place.copy_from_slice(&bytes.to_le_bytes());
    }
}

/// The place for an annotation in a packet, if it has as much room.
#[inline(always)]
fn place_at<const ROOM: usize>(room: &mut [u8; PACKET_ROOM], at: usize) -> Option<&mut [u8; ROOM]> {
    if at > PACKET_ROOM - ROOM { None } else { room.get_mut(at..)?.first_chunk_mut() }
}

/// Stores an annotation: its name, and the first bytes of its value, which has `len` bytes with its key. Returns the length of all.
#[inline]
fn store_annotation(room: &mut [u8; ANNOTATION_ROOM], name: ShortField, len: usize, value: u64) -> usize {
    const KEY: u64 = (track_event::DEBUG_ANNOTATIONS << 3 | 2) as u64;
    // At most 3.
    let name_len = name.len() as usize & 3;
    store(room, 0, KEY | ((name_len + len) as u64) << 8 | name.bytes() << 16);
    store(room, 2 + name_len, value);
    2 + name_len + len
}

/// The key of an annotation's value that is a text in place.
const STRING_KEY: u8 = (annotation::STRING_VALUE << 3 | 2) as u8;

/// The key of an annotation's value that is a number with a fraction.
const DOUBLE_KEY: u64 = (annotation::DOUBLE_VALUE << 3 | 1) as u64;

/// The keys of annotations' values that are varints, and the end of the values that [`mostly_tiny_varint49`] takes, by their tags; 0 for all
/// others.
const NUMBER_KEYS: [(u64, u64); Tag::Log as usize + 1] = {
    let mut keys = [(0, 0); Tag::Log as usize + 1];
    keys[Tag::Uint as usize] = ((annotation::UINT_VALUE << 3) as u64, VARINT49_END);
    keys[Tag::Int as usize] = ((annotation::INT_VALUE << 3) as u64, VARINT49_END);
    keys[Tag::Hex as usize] = ((annotation::POINTER_VALUE << 3) as u64, VARINT49_END);
    keys[Tag::Bool as usize] = ((annotation::BOOL_VALUE << 3) as u64, VARINT49_END);
    keys
};

/// Stores the log message of an event. `None`: one of its numbers is too long.
#[inline(always)]
fn store_log(room: &mut [u8; ANNOTATION_ROOM], body: ShortField, source: ShortField, priority: u8) -> Option<usize> {
    const KEY: u64 = key_of_two_bytes(track_event::LOG_MESSAGE, 2) as u64;
    const PRIO: u64 = (log_message::PRIO << 3) as u64;
    if body.is_too_long() | source.is_too_long() | (priority >= 0x80) {
        return None;
    }
    // At most 3, 3 and 2 bytes.
    let prio_at = source.len() + body.len();
    let prio = if priority == 0 { 0 } else { PRIO | u64::from(priority) << 8 };
    let len = prio_at + if priority == 0 { 0 } else { 2 };
    store(room, 0, KEY | u64::from(len) << 16);
    store(room, 3, source.bytes() | body.bytes() << (8 * source.len()) | prio << (8 * prio_at));
    Some(3 + len as usize)
}

/// The number of a block's source location in the interned table: from 1.
pub(super) fn source_iid(index: u32) -> u64 {
    u64::from(index) + 1
}

fn put_text(out: &mut Vec<u8>, text: Option<Text<'_>>, iid_field: u32, text_field: u32) {
    match text {
        Some(Text::Interned(iid)) => put_varint(out, iid_field, u64::from(iid)),
        Some(Text::InPlace(text)) => put_bytes(out, text_field, text),
        None => {}
    }
}

fn fill_annotation(out: &mut Vec<u8>, block: &Block, strings: &Strings, arg: &Annotation) {
    out.clear();
    put_text(out, strings.arg_name(block, arg.name), ARG_NAME_IID, annotation::NAME);
    match arg.value() {
        AnnotationValue::Uint(value) => put_varint(out, annotation::UINT_VALUE, value),
        AnnotationValue::Int(value) => put_varint(out, annotation::INT_VALUE, value.cast_unsigned()),
        AnnotationValue::Hex(value) => put_varint(out, annotation::POINTER_VALUE, value),
        AnnotationValue::Float(value) => put_fixed64(out, annotation::DOUBLE_VALUE, value.to_bits()),
        AnnotationValue::Bool(value) => put_varint(out, annotation::BOOL_VALUE, u64::from(value)),
        // No annotations: this event gets them.
        AnnotationValue::Log { .. } | AnnotationValue::Category(_) => {}
        AnnotationValue::Name(_) | AnnotationValue::Text(_) => {
            put_text(out, strings.arg_value(block, arg.value()), ARG_STRING_VALUE_IID, annotation::STRING_VALUE);
        }
    }
}
