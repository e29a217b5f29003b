//! Streams that the encoder writes, and streams that nobody should write.

use proptest::prelude::*;

use super::encode::{Ending, TimeScheme, Writer, pieces};
use super::*;

/// A message, its place, its time, and whether it is whole.
type Frame = (Vec<u8>, Option<(u16, u16)>, u64, bool);

#[derive(Debug, Default, PartialEq)]
struct Seen {
    frames: Vec<Frame>,
    notices: Vec<(Notice, u64)>,
}

impl Sink for Seen {
    fn frame(&mut self, frame: &[u8], context: Context, is_whole: bool) {
        self.frames.push((frame.to_vec(), context.place, context.transport.unwrap_or(0), is_whole));
    }

    fn notice(&mut self, notice: Notice, value: u64, _: Context) {
        self.notices.push((notice, value));
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
    let mut writer = Writer::new(NibbleOrder::Msb, TimeScheme::Natural, false);
    writer.sync();
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
    // An unknown packet: what follows is lost up to the next ASYNC.
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
fn an_async_within_a_packet_is_seen() {
    let mut writer = Writer::new(NibbleOrder::Msb, TimeScheme::Natural, false);
    writer.sync();
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
fn the_version_packet_may_tell_the_order() {
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
    fn what_was_written_is_read(
        messages in sent(),
        lsb in any::<bool>(),
        scheme in prop::sample::select(vec![TimeScheme::Delta, TimeScheme::Natural, TimeScheme::Gray]),
        tells_order in any::<bool>(),
        ending in prop::sample::select(vec![Ending::Flag, Ending::FlagWithTime, Ending::Marked]),
        half in any::<bool>(),
        part_bytes in 1usize..40,
    ) {
        let order = if lsb { NibbleOrder::Lsb } else { NibbleOrder::Msb };
        let mut writer = Writer::new(order, scheme, tells_order);
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
        let mut writer = Writer::new(NibbleOrder::Msb, TimeScheme::Natural, false);
        writer.sync();
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
    fn cuts_do_not_show_whatever_the_bytes(
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
