//! One block of track operations → its packets.

use prost::Message;
use prost::encoding::encoded_len_varint;

use super::describe::append_descriptor;
use super::event::{CLOCK_ABSOLUTE, CLOCK_INCREMENTAL, EventScratch, EventWriter, source_iid};
use super::samples::SampleEncoder;
use super::sched::SchedEncoder;
use super::schema::{Clock, ClockSnapshot, TracePacket, TracePacketDefaults, TrackEventDefaults};
use super::strings::{NameUses, Strings, put_short_entry};
use super::tracks::Tracks;
use super::wire::{ShortField, bytes_field_len, put_bytes, put_length, put_varint, varint28};
use super::{SEQUENCE_ID, TRACE_PACKET};
use crate::track::{Block, Op, OpKind, TrackId};

/// `SEQ_INCREMENTAL_STATE_CLEARED`.
const INCREMENTAL_STATE_CLEARED: u32 = 1;
/// `TracePacket.interned_data`.
const INTERNED_DATA: u32 = 12;

/// The lengths of a packet and of an annotation, as a guess.
const PACKET_BYTES: usize = 32;
const ANNOTATION_BYTES: usize = 8;
/// The length of an interned text's entry without the text.
const ENTRY_BYTES: usize = 10;

/// Encodes blocks. It holds only memory for reuse: the packets depend only on the block.
#[derive(Default)]
pub struct Encoder {
    strings: Strings,
    tracks: Tracks,
    events: EventScratch,
    sched: SchedEncoder,
    samples: SampleEncoder,
}

impl Encoder {
    /// An encoder without allocated memory.
    #[must_use]
    pub fn new() -> Encoder {
        Encoder::default()
    }

    /// Appends the packets of a block.
    ///
    /// References of the block to missing names, texts, tracks or annotations are left out.
    pub fn encode_block(&mut self, block: &Block, out: &mut Vec<u8>) {
        self.strings.start(block);
        self.tracks.start();
        self.count_uses(block);
        self.tracks.choose_default();
        // Most events, annotations and entries take less. Growing step by step copies all that is there.
        let grades = if block.grades.is_empty() { 0 } else { 2 * block.ops.len() };
        let annotations = ANNOTATION_BYTES * (block.args.len() + grades);
        let tables_len = block.texts.len_bytes() + ENTRY_BYTES * block.text_refs.len();
        out.reserve(tables_len + PACKET_BYTES * block.ops.len() + annotations);
        // The tables follow at once: their length, which comes before them, is a guess until they are written.
        let opening = opening(block.number, self.tracks.default_track());
        let (start, guess) = (out.len(), opening_head(&opening, tables_len));
        out.extend_from_slice(&guess);
        let tables_at = out.len();
        self.strings.number_all(block, out);
        put_sources(block, out);
        self.samples.intern(block, out);
        let tables_len = out.len() - tables_at;
        out.splice(start..tables_at, opening_head(&opening, tables_len));
        self.append_operations(block, out);
        for rows in &block.sched {
            self.sched.append(block, rows, out);
        }
        self.samples.append(block, out);
    }
}

impl Encoder {
    /// Counts the uses of each text. This function and the next are not inlined: both loops need all registers.
    #[inline(never)]
    fn count_uses(&mut self, block: &Block) {
        // Consecutive events are often alike, and a processor stalls when it adds to a value that it has just stored. So odd and
        // even events use separate counters.
        let tracks = &mut self.tracks;
        let mut names = self.strings.event_name_uses();
        let (pairs, last) = block.ops.as_chunks::<2>();
        for [even, odd] in pairs {
            count_use::<0>(even, tracks, &mut names);
            count_use::<1>(odd, tracks, &mut names);
        }
        last.iter().for_each(|op| count_use::<0>(op, tracks, &mut names));
    }

    #[inline(never)]
    fn append_operations(&mut self, block: &Block, out: &mut Vec<u8>) {
        let mut events = EventWriter::new(block, &self.strings, &self.tracks, &mut self.events);
        for op in &block.ops {
            if op.kind == OpKind::Describe {
                events.flush(out);
                if let Some(track) = usize::try_from(op.value).ok().and_then(|index| block.tracks.get(index)) {
                    append_descriptor(track, out);
                }
            } else {
                events.write(op, out);
            }
        }
        events.flush(out);
    }
}

#[inline(always)]
fn count_use<const PLACE: usize>(op: &Op, tracks: &mut Tracks, names: &mut NameUses<'_>) {
    if op.kind != OpKind::Describe {
        tracks.count::<PLACE>(op.track);
        names.count::<PLACE>(op.name);
    }
}

/// Appends the packets of a block, with memory of its own. See [`Encoder::encode_block`].
pub fn encode_block(block: &Block, out: &mut Vec<u8>) {
    Encoder::new().encode_block(block, out);
}

/// `InternedData.source_locations`.
const SOURCE_LOCATIONS: u32 = 4;

/// Writes the table of the block's places in the source code.
fn put_sources(block: &Block, interned_data: &mut Vec<u8>) {
    let key = varint28(SOURCE_LOCATIONS << 3 | 2);
    for (index, source) in (0..).zip(block.sources.iter()) {
        let iid = source_iid(index);
        let line = if source.line > 0 { ShortField::new(4, source.line) } else { ShortField::EMPTY };
        if source.function.is_none() && put_short_entry(interned_data, key, index + 1, source.file.as_bytes(), line) {
            continue;
        }
        let function_len = source.function.map_or(0, |function| bytes_field_len(3, function.len()));
        let line_len = if source.line > 0 { 1 + encoded_len_varint(u64::from(source.line)) } else { 0 };
        let file_len = bytes_field_len(2, source.file.len());
        put_length(interned_data, SOURCE_LOCATIONS, 1 + encoded_len_varint(iid) + file_len + function_len + line_len);
        put_varint(interned_data, 1, iid);
        put_bytes(interned_data, 2, source.file.as_bytes());
        if let Some(function) = source.function {
            put_bytes(interned_data, 3, function.as_bytes());
        }
        if source.line > 0 {
            put_varint(interned_data, 4, u64::from(source.line));
        }
    }
}

/// The first packet of a block without its tables: clears the state of earlier blocks and states everything that its events need.
fn opening(number: u64, default_track: Option<TrackId>) -> Vec<u8> {
    // The incremental clock starts at 0 in every block. It could as well start at the block's first event, but snapshots of
    // the trace's clock must not go backwards from block to block, and a block may begin with an event that is known late.
    let clocks = vec![
        Clock { clock_id: Some(CLOCK_INCREMENTAL), timestamp: Some(0), is_incremental: Some(true) },
        Clock { clock_id: Some(CLOCK_ABSOLUTE), timestamp: Some(0), is_incremental: None },
    ];
    let packet = TracePacket {
        clock_snapshot: Some(ClockSnapshot { clocks }),
        trusted_packet_sequence_id: Some(SEQUENCE_ID),
        sequence_flags: Some(INCREMENTAL_STATE_CLEARED),
        trace_packet_defaults: Some(TracePacketDefaults {
            track_event_defaults: default_track.map(|track| TrackEventDefaults { track_uuid: Some(u64::from(track.0)) }),
            timestamp_clock_id: Some(CLOCK_INCREMENTAL),
        }),
        first_packet_on_sequence: (number == 0).then_some(true),
        ..TracePacket::default()
    };
    packet.encode_to_vec()
}

/// The bytes before the tables. Messages written one after the other are one message. This avoids the copy of each text that a `prost`
/// message owns.
fn opening_head(packet: &[u8], tables_len: usize) -> Vec<u8> {
    let mut head = Vec::new();
    let field_len = if tables_len > 0 { bytes_field_len(INTERNED_DATA, tables_len) } else { 0 };
    put_length(&mut head, TRACE_PACKET, packet.len() + field_len);
    head.extend_from_slice(packet);
    if tables_len > 0 {
        put_length(&mut head, INTERNED_DATA, tables_len);
    }
    head
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::track::{Annotation, AnnotationValue, Flow, Grade, NameRef, Track, TrackKind};

    /// The first packet of a block without events and texts.
    const OPENING: &[u8] =
        b"\x0a\x1a\x32\x0e\x0a\x06\x08\x40\x10\x00\x18\x01\x0a\x04\x08\x06\x10\x00\x50\x01\x68\x01\xda\x03\x03\xd0\x03\x40";

    fn op(time_ns: u64, track: u32, kind: OpKind, name: NameRef) -> Op {
        Op { time_ns, value: 0, track: TrackId(track), name, args_start: 0, args_len: 0, kind, flow: Flow::None }
    }

    fn encode(block: &Block) -> Vec<u8> {
        let mut out = Vec::new();
        encode_block(block, &mut out);
        out
    }

    /// The packets after the opening one.
    fn events(block: &Block) -> Vec<u8> {
        let bytes = encode(block);
        let opening_len = usize::from(bytes[1]);
        assert!(opening_len < 128, "the test takes the length for one byte");
        bytes[2 + opening_len..].to_vec()
    }

    #[test]
    fn every_block_opens_alike_and_the_first_says_so() {
        assert_eq!(encode(&Block { number: 1, ..Block::default() }), OPENING);
        let mut first = OPENING.to_vec();
        first[1] += 3;
        first.extend(b"\xb8\x05\x01");
        assert_eq!(encode(&Block::default()), first);
    }

    #[test]
    fn texts_used_twice_are_interned_by_use_and_the_busiest_track_is_the_default() {
        let names = ["once", "twice", "thrice"].into_iter().collect();
        let mut block = Block { number: 1, names, ..Block::default() };
        for (time_ns, (track, name)) in [(1, 0), (7, 1), (7, 1), (1, 2), (7, 2), (1, 2), (7, 1)].into_iter().enumerate() {
            block.ops.push(op(time_ns as u64, track, OpKind::Instant, NameRef::interned(name)));
        }
        block.ops.pop();
        let bytes = encode(&block);
        let defaults = b"\xda\x03\x07\x5a\x02\x58\x01\xd0\x03\x40";
        assert!(bytes.windows(defaults.len()).any(|window| window == defaults), "of two equally busy tracks the first");
        let interned = b"\x62\x17\x12\x0a\x08\x01\x12\x06thrice\x12\x09\x08\x02\x12\x05twice";
        assert!(bytes.windows(interned.len()).any(|window| window == interned), "{bytes:x?}");
        let in_place = b"\x5a\x09\x48\x03\xba\x01\x04once";
        assert!(bytes.windows(in_place.len()).any(|window| window == in_place), "{bytes:x?}");
    }

    #[test]
    fn times_are_differences_and_late_events_are_absolute() {
        let mut block = Block { number: 1, ..Block::default() };
        for time_ns in [5, 3, 305] {
            block.ops.push(op(time_ns, 1, OpKind::End, NameRef::NONE));
        }
        let expected = [
            &b"\x0a\x0a\x50\x01\x68\x02\x40\x05\x5a\x02\x48\x02"[..],
            b"\x0a\x0d\x50\x01\x68\x02\x40\x03\xd0\x03\x06\x5a\x02\x48\x02",
            b"\x0a\x0b\x50\x01\x68\x02\x40\xac\x02\x5a\x02\x48\x02",
        ];
        assert_eq!(events(&block), expected.concat());
    }

    #[test]
    fn events_of_each_kind() {
        let mut block = Block { number: 1, names: ["n"].into_iter().collect(), ..Block::default() };
        let name = NameRef::interned(0);
        block.ops = vec![
            op(0, 1, OpKind::Begin, name),
            Op { value: 0x0102_0304_0506_0708, flow: Flow::Out, ..op(0, 2, OpKind::Instant, name) },
            Op { value: 9, flow: Flow::In, ..op(0, 1, OpKind::End, NameRef::NONE) },
            Op { value: 300, ..op(1, 200, OpKind::Counter, NameRef::NONE) },
            Op { value: -1, ..op(1, 1, OpKind::Counter, NameRef::NONE) },
        ];
        let expected = [
            &b"\x0a\x0c\x50\x01\x68\x02\x40\x00\x5a\x04\x48\x01\x50\x01"[..],
            b"\x0a\x18\x50\x01\x68\x02\x40\x00\x5a\x10\x48\x03\x58\x02\x50\x01\xf9\x02\x08\x07\x06\x05\x04\x03\x02\x01",
            b"\x0a\x14\x50\x01\x68\x02\x40\x00\x5a\x0c\x48\x02\x81\x03\x09\x00\x00\x00\x00\x00\x00\x00",
            b"\x0a\x11\x50\x01\x68\x02\x40\x01\x5a\x09\x48\x04\x58\xc8\x01\xf0\x01\xac\x02",
            b"\x0a\x16\x50\x01\x68\x02\x40\x00\x5a\x0e\x48\x04\xf0\x01\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
        ];
        assert_eq!(events(&block), expected.concat());
    }

    #[test]
    fn counters_are_added_to_an_event_of_the_same_time() {
        let mut block = Block { number: 1, ..Block::default() };
        block.ops = vec![op(5, 1, OpKind::End, NameRef::NONE)];
        block.ops.extend((1..10).map(|value| Op { value, ..op(5, 200, OpKind::Counter, NameRef::NONE) }));
        block.ops.push(op(6, 1, OpKind::End, NameRef::NONE));
        block.ops.push(Op { value: -1, ..op(6, 2, OpKind::Counter, NameRef::NONE) });
        block.ops.push(Op { value: 3, ..op(7, 2, OpKind::Counter, NameRef::NONE) });
        block.ops.push(op(8, 1, OpKind::End, NameRef::NONE));
        block.ops.extend([0, 4].map(|value| Op { value, ..op(8, 2, OpKind::Counter, NameRef::NONE) }));
        let mut expected = b"\x0a\x3c\x50\x01\x68\x02\x40\x05\x5a\x34\x48\x02\x58\x01".to_vec();
        (1..9).for_each(|value| expected.extend([0xF8, 1, 0xC8, 1, 0x60, value]));
        expected.extend(b"\x0a\x0d\x50\x01\x68\x02\x40\x00\x5a\x05\x48\x04\xf0\x01\x09");
        expected.extend(b"\x0a\x1a\x50\x01\x68\x02\x40\x01\x5a\x12\x48\x02\x58\x01\xf8\x01\x02\x60");
        expected.extend(b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01");
        expected.extend(b"\x0a\x0f\x50\x01\x68\x02\x40\x01\x5a\x07\x48\x04\x58\x02\xf0\x01\x03");
        // Nothing is added after a 0.
        expected.extend(b"\x0a\x11\x50\x01\x68\x02\x40\x01\x5a\x09\x48\x02\x58\x01\xf8\x01\x02\x60\x00");
        expected.extend(b"\x0a\x0f\x50\x01\x68\x02\x40\x00\x5a\x07\x48\x04\x58\x02\xf0\x01\x04");
        assert_eq!(events(&block), expected);
    }

    #[test]
    fn annotations_of_each_type() {
        let mut block = Block { number: 1, names: ["n", "v"].into_iter().collect(), ..Block::default() };
        let reference = block.texts.add("t");
        block.text_refs.push(reference);
        let values = [
            AnnotationValue::Uint(300),
            AnnotationValue::Int(2),
            AnnotationValue::Bool(true),
            AnnotationValue::Name(1),
            AnnotationValue::Name(1),
            AnnotationValue::Text(0),
        ];
        block.args = values.map(|value| Annotation::new(0, value)).to_vec();
        block.ops = vec![Op { args_len: 6, ..op(0, 1, OpKind::End, NameRef::NONE) }];
        let expected = b"\x0a\x32\x50\x01\x68\x02\x40\x00\x5a\x2a\x48\x02\x22\x05\x08\x01\x18\xac\x02\x22\x04\x08\x01\x20\x02\
            \x22\x04\x08\x01\x10\x01\x22\x05\x08\x01\x88\x01\x01\x22\x05\x08\x01\x88\x01\x01\x22\x05\x08\x01\x32\x01t";
        assert_eq!(events(&block), expected);
    }

    #[test]
    fn grades_are_written_as_the_annotations_that_they_stand_for() {
        for uses in 1..4 {
            let mut blocks = [(); 2].map(|()| Block {
                number: 1,
                names: ["n", "severity", "INFO", "category"].into_iter().collect(),
                ..Block::default()
            });
            for (block, is_graded) in blocks.iter_mut().zip([true, false]) {
                let grade = Grade { name: 1, severity: 2, category: 3 };
                let body = block.texts.add("text");
                block.text_refs.push(body);
                block.grades.extend(is_graded.then_some(grade));
                for time_ns in 0..uses {
                    let args_start = block.args.len() as u32;
                    block.args.push(Annotation::log(0, 0, 4, u8::from(is_graded)));
                    block.args.extend(grade.annotations().into_iter().filter(|_| !is_graded));
                    block.args.extend([5, -5, 1 << 49, i64::MIN].map(|value| Annotation::new(0, AnnotationValue::Int(value))));
                    let args_len = (block.args.len() as u32 - args_start) as u8;
                    block.ops.push(Op { args_start, args_len, ..op(time_ns, 1, OpKind::Instant, NameRef::interned(0)) });
                }
            }
            assert_eq!(encode(&blocks[0]), encode(&blocks[1]), "{uses}");
        }
    }

    #[test]
    fn tracks_are_described_where_they_come_into_being() {
        let mut block = Block { number: 1, ..Block::default() };
        let name = "q".into();
        block.tracks.push(Track { id: TrackId(4), parent: None, kind: TrackKind::Slices, name, description: None, rank: 0 });
        block.ops = vec![
            op(0, 1, OpKind::End, NameRef::NONE),
            op(0, 4, OpKind::Describe, NameRef::NONE),
            op(0, 1, OpKind::End, NameRef::NONE),
        ];
        let end = b"\x0a\x0a\x50\x01\x68\x02\x40\x00\x5a\x02\x48\x02";
        let descriptor = b"\x0a\x0e\x50\x01\xe2\x03\x09\x08\x04\x12\x01q\x60\x00\x78\x02";
        assert_eq!(events(&block), [&end[..], descriptor, end].concat());
    }

    #[test]
    fn invalid_references_of_a_block_are_left_out() {
        let mut block = Block { number: 1, ..Block::default() };
        block.ops = vec![
            Op { value: 3, ..op(0, 4, OpKind::Describe, NameRef::NONE) },
            Op { args_start: 9, args_len: 1, ..op(0, 1, OpKind::Instant, NameRef::text(5)) },
            op(0, 1, OpKind::Instant, NameRef::interned(0)),
        ];
        let reference = block.texts.add("a text is no name");
        block.text_refs.push(reference);
        let nameless = b"\x0a\x0a\x50\x01\x68\x02\x40\x00\x5a\x02\x48\x03";
        assert_eq!(events(&block), nameless.repeat(2));
    }
}
