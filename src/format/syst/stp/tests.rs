//! Streams that the encoder writes, and streams that no target should send.

use std::sync::Arc;

use proptest::prelude::*;

use super::anchors::{anchors, bounds, is_tail_damaged};
use super::assembly::MessageSink;
use super::encode::{Ending, TimeScheme, Writer, pieces};
use super::framed::FramedReader;
use super::packets::NibbleOrder;
use super::predecode::{Predecoded, add_frame};
use super::probe;
use super::stream::Stream;
use super::survey::{self, Evidence, InFrames};
use crate::format::Part;
use crate::format::syst::decode::{Context, Decoder, Records};
use crate::format::syst::decoded::{Notice, RecordKind};
use crate::format::syst::record::Marks;
use crate::frame::tpiu::{self, Framed};
use crate::model::Thinned;

/// A message, its place, its time, and whether it is whole.
type Frame = (Vec<u8>, Option<(u16, u16)>, u64, bool);

#[derive(Debug, Default, PartialEq)]
struct Seen {
    frames: Vec<Frame>,
    notices: Vec<(Notice, u64)>,
    /// Where frames and notices are in the file, and how long, in bytes.
    extents: Vec<(u64, usize)>,
}

impl MessageSink for Seen {
    fn frame(&mut self, frame: &[u8], context: Context, is_whole: bool) {
        self.frames.push((frame.to_vec(), context.place, context.transport.unwrap_or(0), is_whole));
        self.extents.push((context.offset, context.len));
    }

    fn notice(&mut self, notice: Notice, value: u64, context: Context) {
        self.notices.push((notice, value));
        self.extents.push((context.offset, context.len));
    }
}

fn read(bytes: &[u8], order: NibbleOrder, part_bytes: usize) -> Seen {
    let mut stream = Stream::new(order);
    let mut seen = Seen::default();
    let mut parts = bytes.chunks(part_bytes.max(1)).peekable();
    while let Some(part) = parts.next() {
        stream.push(part, &[], parts.peek().is_none(), &mut seen);
    }
    seen
}

/// The same for a stream in CoreSight frames, cut where the file is. No message or notice of a part lies before the oldest offset.
fn read_framed(file: &[u8], framed: Framed, part_bytes: usize) -> Seen {
    let (mut stream, mut reader) = (Stream::new(NibbleOrder::Msb), FramedReader::new(framed, NibbleOrder::Msb));
    let mut seen = Seen::default();
    for start in (0..file.len()).step_by(part_bytes) {
        let end = file.len().min(start + part_bytes);
        let (oldest, known) = (stream.oldest_offset(), seen.extents.len());
        reader.push(file, end, &mut stream, &mut seen);
        assert!(seen.extents[known..].iter().all(|(offset, _)| *offset >= oldest));
    }
    seen
}

#[test]
fn the_example_of_the_notes() {
    let mut writer = Writer::new(NibbleOrder::Lsb, TimeScheme::Natural, false);
    writer.nibble(0);
    writer.sync();
    writer.frequency(60_000_000);
    writer.go_to(128, 1);
    writer.message(&[0x42, 0x10, 0x80, 1, 9], 0x1234_5678_9ABC_DEF0, Ending::Flag);
    let bytes = writer.finish();
    assert_eq!(bytes.get(..12), Some(&[0xF0, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xF0][..]));
    let seen = read(&bytes, NibbleOrder::Lsb, 100);
    assert_eq!(seen.notices, [(Notice::Frequency, 60_000_000)]);
    assert_eq!(seen.frames, [(vec![0x42, 0x10, 0x80, 1, 9], Some((128, 1)), 0x1234_5678_9ABC_DEF0, true)]);
}

#[test]
fn losses_and_oddities() {
    let mut writer = Writer::begun();
    writer.go_to(7, 3);
    // Data before any start, then a message that another one cuts off.
    writer.data(&[1, 2], None, false);
    writer.data(&[3], None, false);
    writer.flag(None);
    writer.data(&[1, 1, 1, 1], Some(100), false);
    writer.message(&[2, 2, 2, 2], 101, Ending::Marked);
    writer.master_error(5);
    writer.global_error(6);
    writer.trigger(9, 200);
    writer.flag(None);
    // An unknown packet: the rest up to the next ASYNC is lost.
    writer.nibble(0xF);
    writer.nibble(0);
    writer.nibble(4);
    writer.message(&[3, 3, 3, 3], 201, Ending::Flag);
    writer.sync();
    writer.message(&[4, 4, 4, 4], 202, Ending::FlagWithTime);
    writer.data(&[5, 5, 5, 5], Some(203), false);
    let seen = read(&writer.finish(), NibbleOrder::Msb, 5);
    let kinds: Vec<Notice> = seen.notices.iter().map(|(notice, _)| *notice).collect();
    use Notice::{Beginless, GlobalError, MasterError, Trigger, Unfinished, UnknownPacket, Unsynced};
    assert_eq!(kinds, [Beginless, Unfinished, MasterError, GlobalError, Trigger, UnknownPacket, Unsynced, Unfinished]);
    let frames: Vec<_> = seen.frames.iter().map(|(bytes, place, time, whole)| (bytes[0], *place, *time, *whole)).collect();
    let expected = [
        (1, Some((7, 3)), 100, false),
        (2, Some((7, 3)), 101, true),
        (4, Some((0, 0)), 202, true),
        (5, Some((0, 0)), 203, false),
    ];
    assert_eq!(frames, expected);
}

#[test]
fn notices_come_in_the_order_of_their_times() {
    let mut writer = Writer::begun();
    writer.go_to(1, 1);
    writer.data(&[1, 1, 1, 1], Some(100), false);
    writer.go_to(1, 2);
    writer.message(&[2, 2, 2, 2], 200, Ending::Flag);
    writer.trigger(9, 300);
    writer.message(&[3, 3, 3, 3], 400, Ending::Flag);
    writer.go_to(1, 1);
    writer.flag(None);
    let (records, _) = records_of(&writer.finish(), NibbleOrder::Msb, usize::MAX >> 8, false);
    let times: Vec<_> = records.iter().filter_map(|record| record.6).collect();
    assert_eq!(times, [100, 200, 300, 400]);
    assert!(records.iter().all(|record| !record.3.has(Marks::EARLY)));
    assert!(records.iter().map(|record| record.0).is_sorted());
}

#[test]
fn padding_before_the_first_async_is_no_loss() {
    let stream = |before: &[u8]| {
        let mut writer = Writer::new(NibbleOrder::Msb, TimeScheme::Natural, false);
        before.iter().for_each(|&nibble| writer.nibble(nibble));
        writer.sync();
        writer.message(&[2, 2, 2, 2], 200, Ending::Flag);
        let bytes = writer.finish();
        let seen = read(&bytes, NibbleOrder::Msb, 100);
        assert_eq!(seen, read(&bytes, NibbleOrder::Msb, 1));
        seen.notices.len()
    };
    assert_eq!([&[0][..], &[0; 2], &[0; 99]].map(stream), [0, 0, 0]);
    assert_eq!([&[0, 1, 0][..], &[0, 0, 15], &[15, 0, 0]].map(stream), [1, 1, 1]);
}

#[test]
fn four_bits_are_half_a_byte() {
    for order in [NibbleOrder::Msb, NibbleOrder::Lsb] {
        let mut writer = Writer::new(order, TimeScheme::Natural, false);
        writer.sync();
        // Two to begin with, two around larger ones, two at the end: the first one of a byte is its lower half.
        writer.data4(0x2, Some(10), false);
        writer.data4(0x4, None, false);
        writer.data(&[0x10], None, false);
        writer.data4(0x0, None, false);
        writer.data(&[0x18, 0x70], None, false);
        writer.data(&[0x68, 0x67, 0x66, 0x65], None, false);
        writer.data4(0x6, None, false);
        writer.data4(0xA, None, false);
        writer.data4(0xB, None, true);
        // Half a byte is left over: no whole message.
        writer.data(&[1, 2, 3, 4], Some(11), false);
        writer.data4(0x5, None, false);
        writer.flag(None);
        // And it is not of the next one.
        writer.message(&[9, 9, 9, 9], 12, Ending::Flag);
        writer.data4(0x7, Some(13), true);
        let stream = writer.finish();
        let place = Some((0, 0));
        let expected = [
            (vec![0x42, 0x10, 0x80, 0x01, 0x87, 0x76, 0x66, 0x56, 0x66, 0xBA], place, 10, true),
            (vec![1, 2, 3, 4], place, 11, false),
            (vec![9, 9, 9, 9], place, 12, true),
            (vec![], place, 13, false),
        ];
        for part_bytes in [3, 1000] {
            let seen = read(&stream, order, part_bytes);
            assert_eq!((&seen.frames[..], &seen.notices[..]), (&expected[..], &[][..]));
        }
    }
}

#[test]
fn an_async_within_a_packet_is_seen() {
    let mut writer = Writer::begun();
    writer.message(&[1, 1, 1, 1], 5, Ending::Flag);
    // A D64 of which three nibbles were sent.
    for nibble in [7, 1, 2, 3] {
        writer.nibble(nibble);
    }
    writer.sync();
    writer.message(&[2, 2, 2, 2], 6, Ending::Flag);
    let seen = read(&writer.finish(), NibbleOrder::Msb, 1000);
    let frames: Vec<u8> = seen.frames.iter().map(|(bytes, ..)| bytes[0]).collect();
    assert_eq!(frames, [1, 2]);
}

#[test]
fn no_message_reaches_over_lost_packets() {
    let mut writer = Writer::begun();
    writer.go_to(0, 1);
    writer.data(&[9, 9, 9, 9], Some(4), false);
    writer.go_to(0, 0);
    writer.data(&[1, 1, 1, 1], Some(5), false);
    // A packet of unknown layout; then the end of another message.
    for nibble in [0xF, 0, 4, 1, 2] {
        writer.nibble(nibble);
    }
    writer.sync();
    writer.data(&[2, 2], None, false);
    writer.flag(None);
    writer.message(&[3, 3, 3, 3], 6, Ending::Flag);
    let stream = writer.finish();
    let seen = read(&stream, NibbleOrder::Msb, 1000);
    let frames: Vec<_> = seen.frames.iter().map(|(bytes, _, _, whole)| (bytes.as_slice(), *whole)).collect();
    assert_eq!(frames, [(&[9u8; 4][..], false), (&[1; 4], false), (&[3; 4], true)]);
    use Notice::{Beginless, Unfinished, UnknownPacket, Unsynced};
    let notices: Vec<Notice> = seen.notices.iter().map(|(notice, _)| *notice).collect();
    assert_eq!(notices, [Unfinished, Unfinished, UnknownPacket, Unsynced, Beginless]);
}

#[test]
fn a_payload_of_ones_is_no_async() {
    for order in [NibbleOrder::Msb, NibbleOrder::Lsb] {
        let mut writer = Writer::new(order, TimeScheme::Natural, false);
        writer.sync();
        writer.message(&[0xFF; 100], u64::MAX, Ending::Flag);
        writer.sync();
        writer.message(&[0xFF; 21], u64::MAX - 1, Ending::Marked);
        let seen = read(&writer.finish(), order, 7);
        assert_eq!(seen.frames.iter().map(|(bytes, ..)| bytes.len()).collect::<Vec<_>>(), [100, 21]);
        assert_eq!(seen.notices, []);
    }
}

#[test]
fn the_version_packet_may_state_the_order() {
    let mut writer = Writer::new(NibbleOrder::Lsb, TimeScheme::Delta, true);
    writer.sync();
    writer.go_to(300, 2);
    writer.message(&[1, 2, 3, 4], 77, Ending::Flag);
    let seen = read(&writer.finish(), NibbleOrder::Msb, 1000);
    assert_eq!(seen.frames, [(vec![1, 2, 3, 4], Some((300, 2)), 77, true)]);
}

/// A message, where it is sent, how long after the one before, and how many pieces of others come between its own.
type Sent = (Vec<u8>, (u16, u16), u64);

fn sent() -> impl Strategy<Value = Vec<Sent>> {
    let place = prop_oneof![Just((0u16, 0u16)), (0u16..600, 0u16..600), any::<(u16, u16)>()];
    let bytes = prop::collection::vec(prop_oneof![3 => any::<u8>(), 1 => Just(0xFF)], 1..50);
    let step = prop_oneof![0u64..16, 0u64..5000, any::<u32>().prop_map(u64::from)];
    prop::collection::vec((bytes, place, step), 1..25)
}

proptest! {
    #[test]
    fn written_streams_are_read(
        messages in sent(),
        lsb in any::<bool>(),
        scheme in prop::sample::select(vec![TimeScheme::Delta, TimeScheme::Natural, TimeScheme::Gray]),
        states_order in any::<bool>(),
        ending in prop::sample::select(vec![Ending::Flag, Ending::FlagWithTime, Ending::Marked]),
        half in any::<bool>(),
        part_bytes in 1usize..40,
    ) {
        let order = if lsb { NibbleOrder::Lsb } else { NibbleOrder::Msb };
        let mut writer = Writer::new(order, scheme, states_order);
        if half {
            writer.nibble(0);
        }
        let mut time = 0;
        let mut expected = Vec::new();
        for (number, (bytes, place, step)) in messages.iter().enumerate() {
            if number % 5 == 0 {
                writer.sync();
            }
            time += step;
            writer.go_to(place.0, place.1);
            writer.message(bytes, time, ending);
            expected.push((bytes.clone(), Some(*place), time, true));
        }
        let stream = writer.finish();
        let seen = read(&stream, order, part_bytes);
        prop_assert_eq!(&seen.notices, &[]);
        prop_assert_eq!(seen.frames, expected);
    }

    #[test]
    fn messages_of_several_channels_may_lie_across_each_other(messages in sent(), turns in prop::collection::vec(0usize..4, 0..100)) {
        // One channel for each of four messages at a time; whose turn it is sends its next piece.
        let mut writer = Writer::begun();
        let mut time = 0;
        let mut expected = Vec::new();
        for group in messages.chunks(4) {
            let mut left: Vec<(u16, Vec<&[u8]>)> = (0..).zip(group).map(|(channel, (bytes, ..))| (channel, pieces(bytes).collect())).collect();
            let mut starts: Vec<Option<u64>> = vec![None; left.len()];
            let mut turns = turns.iter().copied().chain(0..);
            while left.iter().any(|(_, pieces)| !pieces.is_empty()) {
                let turn = turns.next().unwrap_or(0) % left.len();
                let (channel, pieces) = &mut left[turn];
                if pieces.is_empty() {
                    continue;
                }
                time += 1;
                writer.go_to(1, *channel);
                let piece = pieces.remove(0);
                let start = starts[turn].is_none().then_some(time);
                if start.is_some() {
                    starts[turn] = start;
                    expected.push((group[turn].0.clone(), Some((1, *channel)), time, true));
                }
                writer.data(piece, start, pieces.is_empty());
            }
        }
        let seen = read(&writer.finish(), NibbleOrder::Msb, 3);
        prop_assert_eq!(seen.frames, expected);
    }

    #[test]
    fn cuts_do_not_show_in_any_bytes(
        bytes in prop::collection::vec(prop_oneof![any::<u8>(), Just(0xFFu8), Just(0xF0), 0u8..16], 0..400),
        part_bytes in 1usize..60,
        with_sync in any::<bool>(),
    ) {
        let mut writer = Writer::new(NibbleOrder::Msb, TimeScheme::Natural, false);
        if with_sync {
            writer.sync();
        }
        let mut stream = writer.finish();
        stream.extend(bytes);
        let whole = read(&stream, NibbleOrder::Msb, usize::MAX);
        let parts = read(&stream, NibbleOrder::Msb, part_bytes);
        prop_assert_eq!(whole, parts);
    }
}

fn source_in_frames(sample: &[u8]) -> Option<(Framed, Evidence)> {
    survey::source_in_frames(sample, None).map(|InFrames { framed, evidence, .. }| (framed, evidence))
}

/// A recording from the middle of frames has no full sync word before it either.
#[test]
fn frames_may_begin_anywhere() {
    // The source is named in each piece.
    let wrap = |stream: Vec<u8>| {
        let mut file = Vec::new();
        stream.chunks(100).for_each(|piece| tpiu::wrap(piece, 0x10, &mut file));
        file
    };
    let file = |message: &[u8]| {
        let mut writer = Writer::new(NibbleOrder::Msb, TimeScheme::Natural, false);
        for number in 0..20 {
            writer.sync();
            writer.frequency(60_000_000);
            writer.go_to(128, 1);
            writer.message(message, 100 * number, Ending::Flag);
        }
        wrap(writer.finish())
    };
    let short = file(&[0x17, 0x10, 0, 0, 9, 9, 9, 9]);
    for place in 0..tpiu::FRAME_BYTES {
        let sample = &short[place..];
        let (framed, evidence) = source_in_frames(sample).expect("it has an ASYNC");
        assert_eq!(framed, Framed { source: 0x10, place });
        let reading = evidence.reading(evidence.order());
        assert!(reading.messages >= 15 && reading.legal == reading.messages, "{place}: {reading:?}");
        assert!(probe(sample).is_some_and(|probe| probe.score > 90));
    }
    // The only source was named before the recording begins.
    let mut unnamed = Vec::new();
    tpiu::wrap(&framed_messages().0, 0x10, &mut unnamed);
    let (framed, _) = source_in_frames(&unnamed[20..]).expect("it has an ASYNC");
    assert_eq!(framed, Framed { source: tpiu::UNKNOWN, place: 4 });
    assert!(read_framed(&unnamed[20..], framed, usize::MAX >> 8).frames.len() >= 232);
    // Where frames do not begin, bytes before a sync word name any source.
    let synced: Vec<u8> = unnamed.chunks(192).flat_map(|frames| [frames, &tpiu::FULL_SYNC].concat()).collect();
    let (framed, _) = source_in_frames(&synced[20..]).expect("it has an ASYNC");
    assert_eq!(framed.source, tpiu::UNKNOWN);
    assert!(read_framed(&synced[20..], framed, usize::MAX >> 8).frames.len() >= 224);
    // Streams that do not carry SyS-T are found, too, so that the report is about them; but that is no reason to take them for it.
    let other = file(&[0x0F, 0x10, 0, 0, 9, 9, 9, 9]);
    let (framed, evidence) = source_in_frames(&other).expect("it has an ASYNC");
    assert_eq!((framed.source, evidence.reading(evidence.order()).legal), (0x10, 0));
    assert!(probe(&other).is_none());
    assert!(source_in_frames(&wrap(vec![0x55; 3000])).is_none());
}

#[test]
fn other_streams_in_frames_are_named() {
    let (stream, messages) = framed_messages();
    let mut file = Vec::new();
    for (number, piece) in stream.chunks(40).enumerate() {
        // The first source has less of its stream.
        if number % 3 > 0 {
            tpiu::wrap(piece, 7, &mut file);
        }
        tpiu::wrap(piece, 8, &mut file);
        tpiu::wrap(&[0x55; 9], 9, &mut file);
    }
    for (wanted, source, other) in [(None, 8, 7), (Some(7), 7, 8), (Some(5), 8, 7)] {
        let found = survey::source_in_frames(&file, wanted).expect("it has an ASYNC");
        assert_eq!((found.framed.source, found.others.as_slice()), (source, [other].as_slice()), "{wanted:?}");
        let whole = read_framed(&file, found.framed, usize::MAX >> 8).frames.len();
        assert_eq!(whole == messages.len(), source == 8, "{whole} messages of source {source}");
    }
}

/// A stream whose messages differ, and these. There is an ASYNC before each eighth one.
fn framed_messages() -> (Vec<u8>, Vec<Vec<u8>>) {
    let mut writer = Writer::new(NibbleOrder::Msb, TimeScheme::Natural, false);
    let messages = (0..240u64).map(|number| [&[0x42, 0x50, 0x2A, 1][..], format!("message {number}\0").as_bytes()].concat());
    let messages: Vec<Vec<u8>> = messages.collect();
    for (number, message) in (0..).zip(&messages) {
        if number % 8 == 0 {
            writer.sync();
            writer.frequency(60_000_000);
            writer.go_to(128, 1);
        }
        writer.message(message, 1000 + 100 * number, Ending::Flag);
    }
    (writer.finish(), messages)
}

/// Nothing is lost beyond the ASYNC before lost bytes and the one after them.
#[test]
fn frames_begin_elsewhere_after_lost_bytes() {
    let (stream, messages) = framed_messages();
    for (has_other, has_syncs) in [(false, false), (true, false), (true, true), (false, true)] {
        let mut file = Vec::new();
        for piece in stream.chunks(if has_other { 50 } else { stream.len() }) {
            tpiu::wrap(piece, 0x10, &mut file);
            if has_other {
                tpiu::wrap(&[0x55, 0xAA, 0x17, 0xFF, 0x80, 0x31, 0xC5], 0x21, &mut file);
            }
        }
        if has_syncs {
            file = file.chunks(12 * tpiu::FRAME_BYTES).flat_map(|frames| [frames, &tpiu::FULL_SYNC].concat()).collect();
        }
        for lost in 1..=40 {
            let mut rest = file.clone();
            let at = file.len() / 3 + 7 * lost;
            rest.drain(at..at + lost);
            // Bytes before a sync word may have named any source.
            let framed = Framed { source: 0x10, place: 0 };
            assert_eq!(source_in_frames(&rest).map(|found| found.0), Some(framed), "{lost} bytes are lost");
            let seen = read_framed(&rest, framed, usize::MAX >> 8);
            let found = seen.frames.iter().filter(|(frame, ..)| messages.contains(frame)).count();
            assert!(found >= messages.len() - 24, "{lost} bytes are lost, and {found} messages were found");
            // Whole frames, also with a sync word, leave the others where they were.
            let without_sync = if has_syncs { lost.saturating_sub(tpiu::FULL_SYNC.len()) } else { lost };
            if lost % tpiu::FRAME_BYTES != 0 && without_sync % tpiu::FRAME_BYTES != 0 {
                // Without a checksum, the message in which the bytes are missing may be read.
                assert!(seen.frames.len() <= found + 1, "{lost} bytes are lost: no other message is read wrongly");
                assert!(seen.notices.iter().any(|(notice, _)| *notice == Notice::Unsynced), "{lost}");
            }
        }
    }
}

/// Messages wait for one that began before them. If that has no end, they are not left out with what follows lost bytes.
#[test]
fn an_open_message_does_not_hide_those_before_lost_bytes() {
    let mut writer = Writer::begun();
    writer.go_to(5, 5);
    writer.data(&[0x42, 0x50, 0x2A, 1], Some(900), false);
    let (stream, messages) = framed_messages();
    let mut file = Vec::new();
    tpiu::wrap(&[writer.finish(), stream].concat(), 0x10, &mut file);
    let at = file.len() / 2;
    file.drain(at..at + 5);
    let seen = read_framed(&file, Framed { source: 0x10, place: 0 }, usize::MAX >> 8);
    let found = seen.frames.iter().filter(|(frame, ..)| messages.contains(frame)).count();
    assert!(found >= messages.len() - 24, "{found} messages were found");
}

proptest! {
    #[test]
    fn cuts_between_coresight_frames_do_not_show(
        bytes in prop::collection::vec(prop_oneof![any::<u8>(), Just(0xFFu8), Just(0xF0), 0u8..16], 0..400),
        messages in 0usize..8,
        missing in 0usize..20,
        (lost_at, lost) in (0usize..400, 0usize..20),
    ) {
        let mut writer = Writer::new(NibbleOrder::Msb, TimeScheme::Natural, false);
        for number in 0..messages {
            writer.sync();
            writer.message(&[number as u8; 30], number as u64, Ending::Flag);
        }
        let mut stream = writer.finish();
        stream.extend(bytes);
        let mut file = Vec::new();
        tpiu::wrap(&stream, 0x10, &mut file);
        // The last frame may be cut off.
        file.truncate(file.len().saturating_sub(missing));
        file.drain(lost_at.min(file.len())..(lost_at + lost).min(file.len()));
        let framed = Framed { source: 0x10, place: 0 };
        let whole = read_framed(&file, framed, usize::MAX >> 8);
        for part_bytes in (1..70).chain([127, 250]) {
            prop_assert_eq!(&read_framed(&file, framed, part_bytes), &whole, "in parts of {}", part_bytes);
        }
    }
}

/// A record: offset, length, kind, marks, text, place and time.
type SeenRecord = (u64, u32, RecordKind, Marks, String, Option<(u16, u16)>, Option<u64>);

#[derive(Default)]
struct Collected {
    own: Records,
    order: Vec<(bool, u32)>,
}

impl MessageSink for Collected {
    fn frame(&mut self, frame: &[u8], context: Context, is_whole: bool) {
        add_frame(&mut self.own, &Decoder::default(), frame, context, is_whole);
        self.order.push((false, self.own.stored.len() as u32 - 1));
    }

    fn notice(&mut self, notice: Notice, value: u64, context: Context) {
        self.own.add_notice(notice, value, context);
        self.order.push((false, self.own.stored.len() as u32 - 1));
    }

    fn predecoded(&mut self, record: u32) {
        self.order.push((true, record));
    }
}

/// The records of a stream, in order, and how many were decoded ahead.
fn records_of(stream: &[u8], order: NibbleOrder, part_bytes: usize, is_ahead: bool) -> (Vec<SeenRecord>, usize) {
    let mut found = Thinned::default();
    anchors(stream, 0..stream.len(), order).into_iter().for_each(|anchor| found.add(anchor));
    let bounds = bounds(found.all(), is_tail_damaged(stream, order));
    let mut state = Stream::new(order).with_bounds(Arc::clone(&bounds));
    let (mut all, mut predecoded) = (Vec::new(), Predecoded::default());
    let mut count = 0;
    for start in (0..stream.len()).step_by(part_bytes.max(1)) {
        let part = &stream[start..stream.len().min(start + part_bytes)];
        let is_last = start + part.len() == stream.len();
        let mut sink = Collected::default();
        sink.own.reset(state.oldest_offset());
        if is_ahead {
            let part = Part::new(stream, start..start + part.len());
            predecoded.decode(&Decoder::default(), order, &bounds, part);
            state.push_part(stream, part.end, &mut predecoded, &mut sink);
        } else {
            state.push(part, &[], is_last, &mut sink);
        }
        for (is_ahead, index) in sink.order {
            let records = if is_ahead { &predecoded.records } else { &sink.own };
            let stored = &records.stored[index as usize];
            let place = records.senders.get(stored.sender as usize).and_then(|sender| sender.key.place);
            let text = format!("{} {:?} {}", records.text(stored.body), stored.value, stored.extra);
            let offset = records.base + u64::from(stored.offset);
            all.push((offset, stored.len, stored.kind, stored.marks, text, place, stored.transport));
            count += usize::from(is_ahead);
        }
    }
    (all, count)
}

/// The times of the messages of a stream, and how many time stamps were not used.
fn times_of(stream: &[u8]) -> (Vec<u64>, usize) {
    let (records, _) = records_of(stream, NibbleOrder::Msb, usize::MAX >> 8, false);
    let wrong = records.iter().filter(|record| record.2 == RecordKind::Notice(Notice::WrongTime)).count();
    let times = records.iter().filter(|record| !matches!(record.2, RecordKind::Notice(_) | RecordKind::Malformed(_)));
    (times.filter_map(|record| record.6).collect(), wrong)
}

const TEXT: [u8; 5] = [0x42, 0x50, 0x2A, 0x01, 0];

/// A stream of four sections with four messages each, from a time on, and the times of the messages. After one of them there may be another
/// one, whose stamp is wrong.
fn sections(from: u64, wrong: Option<u64>) -> (Writer, Vec<u64>) {
    let mut writer = Writer::new(NibbleOrder::Msb, TimeScheme::Natural, false);
    let mut times = Vec::new();
    for section in 0..4u64 {
        writer.sync();
        writer.send_whole_time();
        for message in 0..4 {
            let time = from + 0x1000 * section + 0x100 * message;
            writer.message(&TEXT, time, Ending::Flag);
            times.push(time);
            if let Some(wrong) = wrong.filter(|_| (section, message) == (1, 2)) {
                writer.message(&TEXT, wrong, Ending::Flag);
                times.push(time);
            }
        }
    }
    (writer, times)
}

/// The bounds differ in five digits, and the damaged stamp has four.
#[test]
fn a_stamp_of_few_digits_is_judged_by_those_before_it() {
    let (writer, times) = sections(0xF_F000, Some(0x10_9000));
    assert_eq!(times_of(&writer.finish()), (times, 1));
}

/// After the last stamp with all digits only the usual steps between such bound the times.
#[test]
fn a_frequency_at_the_end_is_no_bound() {
    let (mut writer, mut times) = sections(0x1000, None);
    writer.message(&[0x0F, 0, 0, 0], 0x4400, Ending::Flag);
    writer.message(&TEXT, 1 << 60, Ending::Flag);
    times.push(0x4400);
    writer.sync();
    writer.frequency(1_000_000);
    assert_eq!(times_of(&writer.finish()), (times, 1));
}

/// A piece of a hostile, damaged or merely odd stream.
#[derive(Clone, Debug)]
enum Odd {
    /// The next piece of a message of this channel, or the first one of a message of this length.
    Piece(u16, usize),
    Sync,
    /// With a time stamp of all digits after it.
    SyncWhole,
    /// Another scheme of time stamps.
    SyncAs(TimeScheme),
    Flag(u16),
    /// Data without a time.
    Data(u16),
    /// Four bits of data, maybe with a time.
    Half(u16, bool),
    MasterError,
    GlobalError,
    Trigger,
    Frequency,
    Nibbles(Vec<u8>),
    /// Time goes on.
    Wait(u64),
}

fn odd() -> impl Strategy<Value = Odd> {
    prop_oneof![
        30 => (0u16..4, 1usize..40).prop_map(|(channel, len)| Odd::Piece(channel, len)),
        6 => Just(Odd::Sync),
        6 => Just(Odd::SyncWhole),
        1 => prop::sample::select(vec![TimeScheme::Delta, TimeScheme::Natural, TimeScheme::Gray]).prop_map(Odd::SyncAs),
        2 => (0u16..4).prop_map(Odd::Flag),
        1 => (0u16..4).prop_map(Odd::Data),
        1 => (0u16..4, any::<bool>()).prop_map(|(channel, begins)| Odd::Half(channel, begins)),
        1 => Just(Odd::MasterError),
        1 => Just(Odd::GlobalError),
        1 => Just(Odd::Trigger),
        1 => Just(Odd::Frequency),
        1 => prop::collection::vec(prop_oneof![0u8..16, Just(15u8)], 1..30).prop_map(Odd::Nibbles),
        4 => prop_oneof![0u64..40, 0u64..100_000, any::<u64>()].prop_map(Odd::Wait),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn decoding_ahead_gives_what_one_decoder_gives(
        all in prop::collection::vec(odd(), 1..120),
        scheme in prop::sample::select(vec![TimeScheme::Delta, TimeScheme::Natural, TimeScheme::Gray]),
        (lsb, states_order, starts_in_sync) in any::<(bool, bool, bool)>(),
        part_bytes in prop_oneof![1usize..40, 40usize..700],
        damage in prop::collection::vec((any::<usize>(), 0u8..8), 0..3),
    ) {
        let order = if lsb { NibbleOrder::Lsb } else { NibbleOrder::Msb };
        let mut writer = Writer::new(order, scheme, states_order);
        if starts_in_sync {
            writer.sync();
        }
        let mut time = 0u64;
        let mut left: [Vec<Vec<u8>>; 4] = Default::default();
        for step in all {
            match step {
                Odd::Piece(channel, len) => {
                    writer.go_to(1 + channel / 2, channel);
                    let left = &mut left[usize::from(channel)];
                    let start = left.is_empty().then_some(time);
                    if start.is_some() {
                        let mut frame = vec![0x42, 0x50, 0x2A, 0x01];
                        frame.extend(std::iter::repeat_n(b'a' + channel as u8, len));
                        frame.push(0);
                        *left = pieces(&frame).map(<[u8]>::to_vec).collect();
                    }
                    let piece = left.remove(0);
                    writer.data(&piece, start, left.is_empty() && len % 2 == 0);
                    if left.is_empty() && len % 2 == 1 {
                        writer.flag(None);
                    }
                }
                Odd::Sync => writer.sync(),
                Odd::SyncWhole => {
                    writer.sync();
                    writer.send_whole_time();
                }
                Odd::SyncAs(scheme) => {
                    let bytes = writer.take_bytes();
                    let mut other = Writer::new(order, scheme, states_order);
                    bytes.iter().for_each(|byte| {
                        other.nibble(byte & 15);
                        other.nibble(byte >> 4);
                    });
                    other.sync();
                    writer = other;
                }
                Odd::Flag(channel) => {
                    writer.go_to(1 + channel / 2, channel);
                    writer.flag(None);
                }
                Odd::Data(channel) => {
                    writer.go_to(1 + channel / 2, channel);
                    writer.data(&[channel as u8], None, time.is_multiple_of(2));
                }
                Odd::Half(channel, begins) => {
                    writer.go_to(1 + channel / 2, channel);
                    writer.data4(channel as u8 + 5, begins.then_some(time), false);
                }
                Odd::MasterError => writer.master_error(1),
                Odd::GlobalError => writer.global_error(2),
                Odd::Trigger => writer.trigger(3, time),
                Odd::Frequency => writer.frequency(1_000_000),
                Odd::Nibbles(nibbles) => nibbles.into_iter().for_each(|nibble| writer.nibble(nibble)),
                Odd::Wait(step) => time = time.wrapping_add(step),
            }
        }
        let mut stream = writer.finish();
        for (at, bit) in damage {
            if let Some(at) = at.checked_rem(stream.len()) {
                stream[at] ^= 1 << bit;
            }
        }
        let (expected, _) = records_of(&stream, order, usize::MAX >> 8, false);
        let (parts, _) = records_of(&stream, order, part_bytes, true);
        prop_assert_eq!(&parts, &expected);
        let (whole, _) = records_of(&stream, order, usize::MAX >> 8, true);
        prop_assert_eq!(&whole, &expected);
    }
}

#[test]
fn nearly_all_of_a_healthy_stream_is_decoded_ahead() {
    for scheme in [TimeScheme::Delta, TimeScheme::Natural, TimeScheme::Gray] {
        let mut writer = Writer::new(NibbleOrder::Msb, scheme, false);
        for number in 0..4000u64 {
            if number % 40 == 0 {
                writer.sync();
            }
            writer.go_to(1, (number % 3) as u16);
            writer.message(b"\x42\x50\x2A\x01text\0", (7 << 40) + 1000 * number, Ending::Flag);
        }
        let stream = writer.finish();
        let (all, ahead) = records_of(&stream, NibbleOrder::Msb, 8 << 10, true);
        assert_eq!(all, records_of(&stream, NibbleOrder::Msb, 8 << 10, false).0);
        assert!(all.len() == 4000 && ahead > 3500, "{ahead} of {} were decoded ahead", all.len());
    }
}

#[test]
fn beyond_the_limit_of_open_messages_nothing_is_decoded_ahead() {
    // One message stays open, and more begin after it than the limit.
    let mut writer = Writer::begun();
    writer.go_to(1, 9);
    writer.data(&[1, 2, 3, 4], Some(1), false);
    for number in 0..6000u64 {
        writer.go_to(1, 1);
        writer.message(b"\x42\x50\x2A\x01a\0", 2 + number, Ending::Marked);
    }
    writer.go_to(1, 9);
    writer.flag(None);
    let stream = writer.finish();
    let expected = records_of(&stream, NibbleOrder::Msb, 10 << 20, false);
    assert_eq!(expected.1, 0);
    for part_bytes in [10 << 20, 16 << 10] {
        assert_eq!(records_of(&stream, NibbleOrder::Msb, part_bytes, true).0, expected.0);
    }
}

/// A stream of a message every 100 ticks, with an ASYNC, the frequency and a full time stamp before every 20th. Before the message `odd`
/// are packets that time and frequency contradict.
fn anchored(scheme: TimeScheme, messages: u64, odd: u64) -> Vec<u8> {
    let mut writer = Writer::new(NibbleOrder::Msb, scheme, false);
    for number in 0..messages {
        if number % 20 == 0 {
            writer.sync();
            writer.frequency(24_000_000);
            writer.send_whole_time();
        }
        if number == odd {
            // A flag with a time stamp.
            [0xE, 0xE].into_iter().chain([5; 16]).for_each(|nibble| writer.nibble(nibble));
            writer.frequency(25_000_000);
        }
        writer.go_to(1, 2);
        let frame = [0x42, 0x50, 0x2A, 0x01, b'a' + (number % 26) as u8, b'a' + (number / 26) as u8, 0];
        writer.message(&frame, 0x2_5410_0000 + 100 * number, Ending::Flag);
    }
    writer.finish()
}

#[test]
fn anchors_are_found_wherever_a_stream_is_cut() {
    for scheme in [TimeScheme::Natural, TimeScheme::Gray, TimeScheme::Delta] {
        let stream = anchored(scheme, 200, u64::MAX);
        let whole = anchors(&stream, 0..stream.len(), NibbleOrder::Msb);
        assert_eq!(whole.len(), 10);
        for part_bytes in 1..60 {
            let starts = (0..stream.len()).step_by(part_bytes);
            let cut: Vec<_> = starts
                .flat_map(|start| anchors(&stream, start..stream.len().min(start + part_bytes), NibbleOrder::Msb))
                .collect();
            assert_eq!(cut, whole, "{part_bytes}");
        }
    }
}

#[test]
fn what_the_anchors_contradict_is_not_used() {
    for scheme in [TimeScheme::Natural, TimeScheme::Gray] {
        let read = |odd: u64| {
            let stream = anchored(scheme, 200, odd);
            let (seen, _) = records_of(&stream, NibbleOrder::Msb, stream.len(), false);
            let is_notice = |record: &SeenRecord| matches!(record.2, RecordKind::Notice(_));
            let texts: Vec<_> =
                seen.iter().filter(|record| !is_notice(record)).map(|record| (record.4.clone(), record.6)).collect();
            let notices = seen
                .iter()
                .filter(|record| is_notice(record))
                .map(|record| record.2)
                .filter(|kind| *kind != RecordKind::Notice(Notice::Frequency));
            (texts, notices.collect::<Vec<_>>())
        };
        let (clean, none) = read(u64::MAX);
        assert!(none.is_empty() && clean.len() == 200);
        for odd in [5, 70, 111, 170] {
            let (texts, notices) = read(odd);
            assert_eq!(notices, [RecordKind::Notice(Notice::WrongTime), RecordKind::Notice(Notice::WrongFrequency)], "{odd}");
            assert_eq!(texts, clean, "{odd}");
        }
    }
}
