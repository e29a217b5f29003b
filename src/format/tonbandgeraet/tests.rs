//! The byte vectors of the format, and the contracts that hold between its stages.

use std::ops::Range;

use proptest::prelude::*;

use super::decode::{BadFrame, DELIMITER, Decoder, FragmentJoiner, Ordered, Records, Stamp, Wire};
use super::encode::encode;
use super::field::Reader;
use super::generate::{GenerateOptions, generate};
use super::record::{EVENTS, QueueKind as Kind, Record};
use super::scan::{ScanFacts, separate_by_names};
use crate::frame::{MAX_FRAME_BYTES, split};
use crate::model::TextRef;

const FREERTOS: Decoder = Decoder::plain();
const BARE_METAL: Decoder = Decoder::new(Wire::Plain, false);

type Borrowed = Record<&'static [u8]>;

/// One whole frame for every event, as the target's own encoder writes it.
#[rustfmt::skip]
fn vectors() -> Vec<(&'static str, Borrowed)> {
    use Record::*;
    const TS: u64 = 123_456;
    vec![
        ("0101010100", CoreId { ts: 0, core_id: 0 }),
        ("0104e8070100", CoreId { ts: 1000, core_id: 1 }),
        ("0301050100", DroppedEvtCnt { ts: 5, cnt: 0 }),
        ("06018001ac0200", DroppedEvtCnt { ts: 128, cnt: 300 }),
        ("03020100", TsResolutionNs { ns_per_ts: 1 }),
        ("03020a00", TsResolutionNs { ns_per_ts: 10 }),
        ("07028094ebdc0300", TsResolutionNs { ns_per_ts: 1_000_000_000 }),
        ("0203085379735469636b00", IsrName { isr_id: 0, name: b"SysTick" }),
        ("0a030f5379735469636b00", IsrName { isr_id: 15, name: b"SysTick" }),
        ("03030f00", IsrName { isr_id: 15, name: b"" }),
        ("0204010100", IsrEnter { ts: 0, isr_id: 0 }),
        ("0704959aef3a0f00", IsrEnter { ts: 123_456_789, isr_id: 15 }),
        ("0705a09aef3a0f00", IsrExit { ts: 123_456_800, isr_id: 15 }),
        ("0906014d794576747300", EvtmarkerName { evtmarker_id: 1, name: b"MyEvts" }),
        ("0907a38de30401686900", Evtmarker { ts: 10_012_323, evtmarker_id: 1, msg: b"hi" }),
        ("0707a38de3040100", Evtmarker { ts: 10_012_323, evtmarker_id: 1, msg: b"" }),
        ("0c08a38de304ac02776f726b00", EvtmarkerBegin { ts: 10_012_323, evtmarker_id: 300, msg: b"work" }),
        ("0809f08de304ac0200", EvtmarkerEnd { ts: 10_012_400, evtmarker_id: 300 }),
        ("070a0274656d7000", ValmarkerName { valmarker_id: 2, name: b"temp" }),
        ("040b4d020100", Valmarker { ts: 77, valmarker_id: 2, val: 0 }),
        ("050b4d020200", Valmarker { ts: 77, valmarker_id: 2, val: 1 }),
        ("050b4d020300", Valmarker { ts: 77, valmarker_id: 2, val: -1 }),
        ("050b4d027e00", Valmarker { ts: 77, valmarker_id: 2, val: 63 }),
        ("060b4d02800100", Valmarker { ts: 77, valmarker_id: 2, val: 64 }),
        ("060b4d02810100", Valmarker { ts: 77, valmarker_id: 2, val: -64 }),
        ("070b4d0280897a00", Valmarker { ts: 77, valmarker_id: 2, val: 1_000_000 }),
        ("070b4d0281897a00", Valmarker { ts: 77, valmarker_id: 2, val: -1_000_000 }),
        ("1b0bffffffffffffffffff01ffffffff0ffeffffffffffffffff0100",
            Valmarker { ts: u64::MAX, valmarker_id: u32::MAX, val: i64::MAX }),
        ("1b0bffffffffffffffffff01ffffffff0fffffffffffffffffff0100",
            Valmarker { ts: u64::MAX, valmarker_id: u32::MAX, val: i64::MIN + 1 }),
        ("120bffffffffffffffffff01ffffffff0f0100", Valmarker { ts: u64::MAX, valmarker_id: u32::MAX, val: i64::MIN }),
        ("0654c0c4070300", TaskSwitchedIn { ts: TS, task_id: 3 }),
        ("0855a38de304ab0400", TaskToRdyState { ts: 10_012_323, task_id: 555 }),
        ("0656c0c4070300", TaskResumed { ts: TS, task_id: 3 }),
        ("0657c0c4070300", TaskResumedFromIsr { ts: TS, task_id: 3 }),
        ("0658c0c4070300", TaskSuspended { ts: TS, task_id: 3 }),
        ("0659c0c4076400", CurtaskDelay { ts: TS, ticks: 100 }),
        ("0a5ac0c407ffffffff0f00", CurtaskDelayUntil { ts: TS, time_to_wake: u32::MAX }),
        ("075bc0c407030700", TaskPrioritySet { ts: TS, task_id: 3, priority: 7 }),
        ("075cc0c407030700", TaskPriorityInherit { ts: TS, task_id: 3, priority: 7 }),
        ("095dfc80fec104652a00", TaskPriorityDisinherit { ts: 1_212_121_212, task_id: 101, priority: 42 }),
        ("065ec0c4070300", TaskCreated { ts: TS, task_id: 3 }),
        ("095f03776f726b657200", TaskName { task_id: 3, name: b"worker" }),
        ("0360040100", TaskIsIdleTask { task_id: 4, core_id: 0 }),
        ("03610500", TaskIsTimerTask { task_id: 5 }),
        ("0662c0c4070300", TaskDeleted { ts: TS, task_id: 3 }),
        ("0663c0c4070900", QueueCreated { ts: TS, queue_id: 9 }),
        ("0b6465746573743132313200", QueueName { queue_id: 101, name: b"test1212" }),
        ("0365090100", Record::QueueKind { queue_id: 9, kind: Kind::Queue }),
        ("0465090400", Record::QueueKind { queue_id: 9, kind: Kind::RecursiveMutex }),
        ("0766c0c407090400", QueueSend { ts: TS, queue_id: 9, len_after: 4 }),
        ("0767c0c407090400", QueueSendFromIsr { ts: TS, queue_id: 9, len_after: 4 }),
        ("0768c0c407090100", QueueOverwrite { ts: TS, queue_id: 9, len_after: 1 }),
        ("0769c0c407090100", QueueOverwriteFromIsr { ts: TS, queue_id: 9, len_after: 1 }),
        ("066ac0c407090100", QueueReceive { ts: TS, queue_id: 9, len_after: 0 }),
        ("076bc0c407090300", QueueReceiveFromIsr { ts: TS, queue_id: 9, len_after: 3 }),
        ("066cc0c4070900", QueueReset { ts: TS, queue_id: 9 }),
        ("0b6dc0c40709ffffffff0f00", CurtaskBlockOnQueuePeek { ts: TS, queue_id: 9, ticks_to_wait: u32::MAX }),
        ("076ec0c407090a00", CurtaskBlockOnQueueSend { ts: TS, queue_id: 9, ticks_to_wait: 10 }),
        ("066fc0c407090100", CurtaskBlockOnQueueReceive { ts: TS, queue_id: 9, ticks_to_wait: 0 }),
        ("0670c0c407090100", QueueCurLength { ts: TS, queue_id: 9, length: 0 }),
        ("097a0103706861736500", TaskEvtmarkerName { evtmarker_id: 1, task_id: 3, name: b"phase" }),
        ("0a7bc0c4070150494e4700", TaskEvtmarker { ts: TS, evtmarker_id: 1, msg: b"PING" }),
        ("097cc0c4070172756e00", TaskEvtmarkerBegin { ts: TS, evtmarker_id: 1, msg: b"run" }),
        ("067dc0c4070100", TaskEvtmarkerEnd { ts: TS, evtmarker_id: 1 }),
        ("077e0203636e7400", TaskValmarkerName { valmarker_id: 2, task_id: 3, name: b"cnt" }),
        ("077fc0c407020b00", TaskValmarker { ts: TS, valmarker_id: 2, val: -5 }),
    ]
}

pub(super) fn bytes_of(hex: &str) -> Vec<u8> {
    data_encoding::HEXLOWER.decode(hex.replace(' ', "").as_bytes()).unwrap()
}

fn encoded(record: &Record<&[u8]>) -> Vec<u8> {
    let mut frame = Vec::new();
    encode(record, &mut frame);
    frame
}

/// All records of a part with their texts, and all bad frames, in file order.
#[derive(Clone, Debug, PartialEq)]
enum Item {
    Record(u64, Record<Vec<u8>>),
    Bad(u64, u64, BadFrame, Vec<u8>),
}

impl Item {
    fn list(parts: &[Records]) -> Vec<Item> {
        let mut joiner = FragmentJoiner::default();
        let mut items = Vec::new();
        for records in parts {
            if let Some(joined) = joiner.join(records) {
                items.push(Item::Bad(joined.offset, joined.len, BadFrame::Oversize, joined.raw));
            }
            let mut bad = records.bad.iter().peekable();
            for index in 0..=records.frames.len() {
                while let Some(bad) = bad.next_if(|bad| bad.index as usize == index) {
                    let offset = records.base + u64::from(bad.offset);
                    let raw = records.bytes(bad.raw).to_vec();
                    let len = u64::from(bad.len / bad.frames);
                    items.extend((0..bad.frames).map(|n| Item::Bad(offset + u64::from(n), len, bad.reason, raw.clone())));
                }
                if let Some(stored) = records.frames.get(index) {
                    let record = stored.record.map_text(|text| records.bytes(text).to_vec());
                    items.push(Item::Record(records.base + u64::from(stored.offset), record));
                }
            }
            assert!(bad.next().is_none());
        }
        items
    }
}

fn decode_whole(input: &[u8]) -> Records {
    let records = FREERTOS.records(input, 0..input.len());
    assert_eq!(records.frames_bytes(), input.len() as u64);
    records
}

fn decode_cut(input: &[u8], wanted: &[usize]) -> Vec<Records> {
    parts_of(input, wanted).into_iter().map(|range| FREERTOS.records(input, range)).collect()
}

/// The parts of an input that is cut near some places.
fn parts_of(input: &[u8], wanted: &[usize]) -> Vec<Range<usize>> {
    let mut cuts: Vec<usize> = wanted.iter().map(|&at| split::cut::<DELIMITER>(input, at)).collect();
    cuts.extend([0, input.len()]);
    cuts.sort_unstable();
    cuts.windows(2).map(|pair| pair[0]..pair[1]).collect()
}

/// The parts of an input that is cut about every N bytes.
pub(super) fn regular_parts(input: &[u8], part_bytes: usize) -> Vec<Range<usize>> {
    parts_of(input, &(0..input.len()).step_by(part_bytes).collect::<Vec<usize>>())
}

#[test]
fn all_vectors_both_ways() {
    let mut seen = Vec::new();
    // There are enough bytes after the frame for the decoder of short frames.
    let after = [b'x'; 64];
    for (hex, record) in vectors() {
        let frame = bytes_of(hex);
        assert_eq!(encoded(&record), frame, "{record:?}");
        let expected = Item::Record(0, record.map_text(<[u8]>::to_vec));
        let expected = [expected];
        assert_eq!(Item::list(&[decode_whole(&frame)]), expected, "{hex}");
        let followed = [&frame[..], &after].concat();
        assert_eq!(Item::list(&[FREERTOS.records(&followed, 0..frame.len())]), expected, "{hex}");
        seen.push(record.id());
    }
    seen.dedup();
    let plain = EVENTS.iter().filter(|event| !event.is_superset);
    assert_eq!(seen, plain.map(|event| event.id).collect::<Vec<u8>>());
}

#[test]
fn long_texts_take_full_blocks() {
    for (len, first, frame_len) in [(250, 0xFE, 255), (251, 0xFF, 256), (252, 0xFF, 258)] {
        let msg = vec![b'A'; len];
        let record = Record::Evtmarker { ts: 1, evtmarker_id: 1, msg: &msg[..] };
        let frame = encoded(&record);
        assert_eq!((frame[0], frame.len()), (first, frame_len));
        assert_eq!(Item::list(&[decode_whole(&frame)]), [Item::Record(0, record.map_text(<[u8]>::to_vec))]);
    }
}

#[test]
fn bad_vectors_are_lost_alone() {
    let vectors = [
        ("00", BadFrame::Empty),
        ("0100", BadFrame::Empty),
        ("05540100", BadFrame::MalformedCobs),
        ("028000", BadFrame::UnknownEvent),
        ("020c00", BadFrame::UnknownEvent),
        ("020400", BadFrame::MissingField),
        ("04048080", BadFrame::Truncated),
        ("0404808000", BadFrame::UnterminatedVarint),
        ("080401ffffffff1f00", BadFrame::VarintTooLong),
        ("0c048080808080808080800200", BadFrame::VarintTooLong),
        ("050401010700", BadFrame::LooseBytes),
        ("0465010900", BadFrame::UnknownEnum),
    ];
    let good = bytes_of("0654c0c4070300");
    let after = [b'x'; 64];
    for (hex, reason) in vectors {
        let bad = bytes_of(hex);
        let item = Item::Bad(good.len() as u64, bad.len() as u64, reason, bad.clone());
        if reason == BadFrame::Truncated {
            assert_eq!(Item::list(&[decode_whole(&[&good[..], &bad].concat())])[1..], [item], "{hex}");
            continue;
        }
        let input = [&good[..], &bad, &good, &after].concat();
        let records = FREERTOS.records(&input, 0..input.len() - after.len());
        assert_eq!((records.frames.len(), records.ok_bytes), (2, 14), "{hex}");
        assert_eq!(Item::list(&[records])[1], item, "{hex}");
    }
}

#[test]
fn lossy_text_and_over_long_numbers_are_accepted() {
    let name = decode_whole(&bytes_of("050601c32800"));
    assert_eq!(Item::list(&[name]), [Item::Record(0, Record::EvtmarkerName { evtmarker_id: 1, name: vec![0xC3, 0x28] })]);
    // isr_enter(5, 0) with the interrupt's id as `80 00`.
    let over_long = decode_whole(&bytes_of("040405800100"));
    assert_eq!(Item::list(&[over_long]), [Item::Record(0, Record::IsrEnter { ts: 5, isr_id: 0 })]);
}

#[test]
fn bare_metal_knows_no_freertos_events() {
    for (hex, record) in vectors() {
        let frame = bytes_of(hex);
        let records = BARE_METAL.records(&frame, 0..frame.len());
        if record.id() < 0x54 {
            assert_eq!(records.frames.len(), 1);
        } else {
            assert_eq!(records.bad[0].reason, BadFrame::UnknownEvent);
        }
    }
}

#[test]
fn zeros_are_cheap_empty_frames() {
    let records = decode_whole(&[0; 100_000]);
    assert_eq!(records.bad.len(), 1);
    assert_eq!((records.bad[0].frames, records.bad[0].len), (100_000, 100_000));
    let records = decode_whole(&[0, 0, 0xFE]);
    assert_eq!(
        records.bad.iter().map(|bad| (bad.reason, bad.len)).collect::<Vec<_>>(),
        [(BadFrame::Empty, 2), (BadFrame::Truncated, 1)]
    );
}

#[test]
fn an_oversize_run_is_one_bad_frame_wherever_it_is_cut() {
    let good = bytes_of("0654c0c4070300");
    for run_len in [MAX_FRAME_BYTES - 1, MAX_FRAME_BYTES, MAX_FRAME_BYTES * 3 + 17] {
        let run: Vec<u8> = (0..run_len).map(|n| (n % 255 + 1) as u8).collect();
        for end in [&[0][..], &[]] {
            let mut input = [&good[..], &run, end].concat();
            if !end.is_empty() {
                input.extend(&good);
            }
            let reason = match (run_len < MAX_FRAME_BYTES, end.is_empty()) {
                (false, _) => BadFrame::Oversize,
                (true, true) => BadFrame::Truncated,
                (true, false) => BadFrame::LooseBytes,
            };
            let whole = Item::list(&[decode_whole(&input)]);
            let bad_len = (run_len + end.len()) as u64;
            assert_eq!(whole[1], Item::Bad(good.len() as u64, bad_len, reason, run[..256].to_vec()));
            let thirds = [input.len() / 3, input.len() / 3 * 2];
            for wanted in [&[8][..], &[7, 9, 10], &thirds, &[100, 101, 102, input.len() - 9]] {
                assert_eq!(Item::list(&decode_cut(&input, wanted)), whole, "{run_len} {wanted:?}");
            }
        }
    }
}

#[test]
fn a_part_says_whether_its_times_never_decrease() {
    let ordered = |times: &[u64], is_marked: bool| {
        let mut input = Vec::new();
        encode(&Record::TsResolutionNs { ns_per_ts: 1 }, &mut input);
        for &ts in times {
            encode(&Record::TaskSwitchedIn { ts, task_id: 1 }, &mut input);
        }
        if is_marked {
            encode(&Record::CoreId { ts: times[times.len() - 1], core_id: 0 }, &mut input);
        }
        decode_whole(&input).ordered
    };
    assert_eq!(ordered(&[5, 5, 9, 17], false), Some(Ordered { first: 5, last: 17, steps: 4 | 8 }));
    assert_eq!(ordered(&[1 << 62], false), Some(Ordered { first: 1 << 62, last: 1 << 62, steps: 0 }));
    assert_eq!(ordered(&[5, 9], true), None);
    for back in [[1, 0], [1 << 40, 1], [u64::MAX, 0], [u64::MAX, u64::MAX - 1], [1 << 63, 0], [1, u64::MAX]] {
        assert_eq!(ordered(&back, false), None, "{back:?}");
    }
}

#[test]
fn a_flipped_bit_costs_two_frames_at_most() {
    let mut input = Vec::new();
    generate(&GenerateOptions { bytes: 6_000, ..GenerateOptions::default() }, &mut input).unwrap();
    let good = Item::list(&[decode_whole(&input)]);
    for bit in (0..input.len() * 8).step_by(7) {
        input[bit / 8] ^= 1 << (bit % 8);
        let damaged = Item::list(&[decode_whole(&input)]);
        let before = good.iter().zip(&damaged).take_while(|(a, b)| a == b).count();
        let after = good[before..].iter().rev().zip(damaged[before..].iter().rev()).take_while(|(a, b)| a == b).count();
        assert!(good.len() - before - after <= 2, "bit {bit}");
        input[bit / 8] ^= 1 << (bit % 8);
    }
}

/// Makes a record with values from lists, as if it were read.
struct Values<'a> {
    longs: std::vec::IntoIter<u64>,
    ints: std::vec::IntoIter<u32>,
    kind: u8,
    text: &'a [u8],
}

impl<'a> Reader for Values<'a> {
    type Text = &'a [u8];

    fn u8(&mut self) -> Result<u8, BadFrame> {
        Ok(self.kind)
    }

    fn u32(&mut self) -> Result<u32, BadFrame> {
        self.ints.next().ok_or(BadFrame::MissingField)
    }

    fn u64(&mut self) -> Result<u64, BadFrame> {
        self.longs.next().ok_or(BadFrame::MissingField)
    }

    fn text(&mut self) -> Result<&'a [u8], BadFrame> {
        Ok(self.text)
    }

    fn checked_text(&mut self, check: impl FnOnce(&[u8]) -> Result<(), BadFrame>) -> Result<&'a [u8], BadFrame> {
        check(self.text).map(|()| self.text)
    }
}

prop_compose! {
    /// Any record, as its frame, with small numbers as likely as large ones.
    fn any_frame()(
        event in prop::sample::select(EVENTS.iter().copied().filter(|event| !event.is_superset).collect::<Vec<_>>()),
        longs in prop::collection::vec((any::<u64>(), 0u32..64).prop_map(|(value, shift)| value >> shift), 2),
        ints in prop::collection::vec((any::<u32>(), 0u32..32).prop_map(|(value, shift)| value >> shift), 2),
        kind in 0u8..6,
        text in prop_oneof![9 => prop::collection::vec(any::<u8>(), 0..24), 1 => prop::collection::vec(1u8.., 240..260)],
    ) -> (Record<Vec<u8>>, Vec<u8>) {
        let mut values = Values { longs: longs.into_iter(), ints: ints.into_iter(), kind, text: &text };
        let (record, _) = Record::read(event.id, &mut values, &mut super::decode::Return { is_delta: false }).unwrap();
        (record.map_text(<[u8]>::to_vec), encoded(&record))
    }
}

#[derive(Clone, Debug)]
enum Damage {
    Flip(prop::sample::Index, u8),
    Cut(prop::sample::Index, usize),
    Insert(prop::sample::Index, Vec<u8>),
}

fn any_input() -> impl Strategy<Value = Vec<u8>> {
    let damage = prop_oneof![
        (any::<prop::sample::Index>(), 0u8..8).prop_map(|(at, bit)| Damage::Flip(at, bit)),
        (any::<prop::sample::Index>(), 1usize..30).prop_map(|(at, len)| Damage::Cut(at, len)),
        (any::<prop::sample::Index>(), prop::collection::vec(any::<u8>(), 0..30))
            .prop_map(|(at, bytes)| Damage::Insert(at, bytes)),
    ];
    let capture =
        (prop::collection::vec(any_frame(), 0..60), prop::collection::vec(damage, 0..6)).prop_map(|(frames, damages)| {
            let mut input: Vec<u8> = frames.into_iter().flat_map(|(_, frame)| frame).collect();
            for damage in damages {
                let len = input.len() + 1;
                match damage {
                    Damage::Flip(at, bit) => input.get_mut(at.index(len)).into_iter().for_each(|byte| *byte ^= 1 << bit),
                    Damage::Cut(at, count) => drop(input.drain(at.index(len)..(at.index(len) + count).min(len - 1))),
                    Damage::Insert(at, bytes) => drop(input.splice(at.index(len)..at.index(len), bytes)),
                }
            }
            input
        });
    prop_oneof![
        4 => capture,
        1 => prop::collection::vec(any::<u8>(), 0..600),
        1 => prop::collection::vec(prop::sample::select(vec![0u8, 1, 2, 3, 4, 0x54, 0x80, 0xFF]), 0..600),
    ]
}

/// The facts of the scan, without the places of its texts.
fn comparable(facts: &ScanFacts) -> impl PartialEq + std::fmt::Debug + use<> {
    let text = |text: TextRef| facts.bytes(text).to_vec();
    let metadata: Vec<_> =
        facts.metadata.iter().map(|entry| ((entry.offset, entry.last_offset), entry.core, entry.record.map_text(text))).collect();
    (metadata, facts.metadata_cut, facts.cores.clone(), facts.last_core, facts.frames, facts.freertos_frames)
}

proptest! {
    #[test]
    fn decoding_undoes_encoding((record, frame) in any_frame(), after in prop::collection::vec(any::<u8>(), 0..60)) {
        let input = [&frame[..], &after].concat();
        let records = FREERTOS.records(&input, 0..frame.len());
        prop_assert_eq!(Item::list(&[records]), [Item::Record(0, record)]);
    }

    #[test]
    fn encoding_undoes_decoding(frames in prop::collection::vec(any_frame(), 0..40)) {
        let input: Vec<u8> = frames.into_iter().flat_map(|(_, frame)| frame).collect();
        let records = decode_whole(&input);
        prop_assert!(records.bad.is_empty());
        let mut again = Vec::new();
        for stored in &records.frames {
            prop_assert_eq!(stored.offset as usize, again.len());
            encode(&stored.record.map_text(|text| records.bytes(text)), &mut again);
        }
        prop_assert_eq!(again, input);
    }

    #[test]
    fn short_frames_decode_like_any_other(input in any_input()) {
        let records = decode_whole(&input);
        let mut payload = Vec::new();
        for stored in &records.frames {
            let at = stored.offset as usize;
            let len = input[at..].iter().position(|&byte| byte == 0).unwrap() + 1;
            let exact = FREERTOS.record(&input[at..at + len], &mut payload);
            prop_assert_eq!(exact, Ok((stored.record.map_text(|text| records.bytes(text)), Stamp::Absolute)));
        }
        for bad in records.bad.iter().filter(|bad| bad.reason != BadFrame::Truncated) {
            let (at, len) = (bad.offset as usize, (bad.len / bad.frames) as usize);
            prop_assert_eq!(FREERTOS.record(&input[at..at + len], &mut payload), Err(bad.reason));
        }
    }

    #[test]
    fn cuts_change_nothing(input in any_input(), wanted in prop::collection::vec(0usize..800, 0..8)) {
        let parts = decode_cut(&input, &wanted);
        for (records, range) in parts.iter().zip(parts_of(&input, &wanted)) {
            let fragments = records.edges.head_fragment + records.edges.tail_fragment;
            prop_assert_eq!(records.frames_bytes() + fragments as u64, range.len() as u64);
        }
        prop_assert_eq!(Item::list(&parts), Item::list(&[decode_whole(&input)]));

        let scanned = parts_of(&input, &wanted).into_iter().map(|range| ScanFacts::scan(&input, range));
        let whole = ScanFacts::scan(&input, 0..input.len());
        prop_assert_eq!(comparable(&ScanFacts::merge(scanned)), comparable(&whole));
    }

    #[test]
    fn the_scan_finds_what_decoding_finds(input in any_input()) {
        let facts = ScanFacts::scan(&input, 0..input.len());
        let records = decode_whole(&input);
        let core_records = records.frames.iter().filter(|stored| matches!(stored.record, Record::CoreId { .. })).count();
        prop_assert_eq!(facts.cores.iter().map(|core| core.records).sum::<u64>(), core_records as u64);
        let offsets: Vec<u64> = records.frames.iter().filter(|stored| stored.record.ts().is_none()).map(|s| u64::from(s.offset)).collect();
        let mut facts = facts;
        facts.retain(Wire::Plain, true);
        prop_assert!(facts.metadata.iter().all(|entry| offsets.contains(&entry.offset)));
        // Every metadata record is either kept or repeats the last one.
        for stored in records.frames.iter().filter(|stored| stored.record.ts().is_none()) {
            let record = stored.record.map_text(|text| records.bytes(text).to_vec());
            let same = |entry: &super::scan::Metadata| {
                entry.offset <= u64::from(stored.offset) && entry.record.map_text(|text| facts.bytes(text).to_vec()) == record
            };
            prop_assert!(facts.metadata.iter().any(same), "{:?}", record);
        }
    }
}

#[test]
fn the_scan_keeps_changes_only() {
    let mut input = Vec::new();
    let mut add = |record: Borrowed| encode(&record, &mut input);
    for _ in 0..3 {
        add(Record::CoreId { ts: 0, core_id: 0 });
        add(Record::TsResolutionNs { ns_per_ts: 25 });
        add(Record::IsrName { isr_id: 15, name: b"SysTick" });
        add(Record::CoreId { ts: 7, core_id: 1 });
        add(Record::IsrName { isr_id: 15, name: b"SysTick" });
    }
    add(Record::IsrName { isr_id: 15, name: b"Timer" });
    add(Record::IsrName { isr_id: 15, name: b"SysTick" });
    let facts = ScanFacts::scan(&input, 0..input.len());
    let kept: Vec<_> =
        facts.metadata.iter().map(|entry| (entry.core, entry.record.text().map(|text| facts.bytes(text)))).collect();
    assert_eq!(
        kept,
        [
            (Some(0), None),
            (Some(0), Some(&b"SysTick"[..])),
            (Some(1), Some(b"SysTick")),
            (Some(1), Some(b"Timer")),
            (Some(1), Some(b"SysTick"))
        ]
    );
    assert_eq!(
        (facts.cores.len(), facts.cores[0].records, facts.cores[0].at_time_zero, facts.cores[1].at_time_zero),
        (2, 3, 3, 0)
    );
    assert_eq!((facts.frames, facts.freertos_frames, facts.has_freertos()), (17, 0, false));
}

#[test]
fn cores_with_other_names_for_the_same_ids_have_programs_of_their_own() {
    let named = |names: [&[u8]; 4]| {
        let mut input = Vec::new();
        for (id, &name) in (1..).zip(&names) {
            encode(&Record::TaskName { task_id: id, name }, &mut input);
            encode(&Record::QueueName { queue_id: id, name }, &mut input);
        }
        ScanFacts::scan(&input, 0..input.len())
    };
    let one = || named([b"IDLE", b"motor", b"sensor", b"log"]);
    assert_eq!(separate_by_names(&[one()]), None);
    assert_eq!(separate_by_names(&[one(), one()]), None);
    // Damage.
    assert_eq!(separate_by_names(&[one(), named([b"IDLE", b"motor", b"sensos", b"log"])]), None);
    let other = separate_by_names(&[one(), named([b"IDLE", b"wifi", b"mqtt", b"ota"])]);
    assert_eq!(other.as_deref(), Some("inferred: of the same ids 6 have different names or kinds, 2 the same"));
}
