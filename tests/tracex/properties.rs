//! Contracts that hold for any input: arbitrary bytes, and arbitrary events in any order.

use proptest::prelude::*;
use traceconv::format::tracex::decode::{IN_INITIALIZATION, IN_INTERRUPT, Record, Records};
use traceconv::format::tracex::encode::Buffer;
use traceconv::pipeline::EventDetail;

use crate::captures::{FLAGS, MAIN, MUTEX, QUEUE, THIRD, WORKER, registry};
use crate::run::{Cut, Random, convert, generated, subject};

fn event() -> impl Strategy<Value = [u32; 8]> {
    let thread = || prop::sample::select(vec![MAIN, WORKER, THIRD, 7]);
    let caller = prop_oneof![8 => thread(), 3 => Just(IN_INTERRUPT), 1 => Just(IN_INITIALIZATION), 1 => Just(0)];
    let id = prop_oneof![
        12 => prop::sample::select(vec![1u32, 1, 2, 2, 3, 4, 5, 6]),
        12 => prop::sample::select(vec![10u32, 17, 20, 27, 32, 36, 52, 57, 60, 68, 69, 63, 80, 83, 88, 100, 101, 108, 112, 122, 124]),
        2 => 1u32..1000,
        1 => prop::sample::select(vec![4096u32, 65535, 65536, 0, u32::MAX, 0x0100_0001, 0x3F00_0002, 0x4000_0001]),
    ];
    let info = || {
        prop_oneof![
            3 => thread(),
            3 => prop::sample::select(vec![QUEUE, MUTEX, FLAGS]),
            4 => 0u32..15,
            1 => any::<u32>(),
        ]
    };
    let priority = prop_oneof![3 => (0u32..20).prop_map(|low| 0x8000_0000 | low), 2 => thread(), 1 => any::<u32>()];
    let step = prop_oneof![20 => 0u32..500, 1 => any::<u32>()];
    (caller, priority, id, step, info(), info(), info(), info())
        .prop_map(|(caller, priority, id, step, one, two, three, four)| [caller, priority, id, step, one, two, three, four])
}

fn buffer() -> impl Strategy<Value = Buffer> {
    let mask = prop::sample::select(vec![u32::MAX, 0xFFFF, 0xFF, 0, 0x0F0F]);
    (any::<[bool; 2]>(), mask, prop::collection::vec(event(), 0..150), 1usize..150).prop_map(
        |([is_big, is_wide], time_mask, mut events, slots)| {
            let mut now = 0u32;
            for event in &mut events {
                now = now.wrapping_add(event[3]);
                event[3] = now & time_mask;
            }
            Buffer { is_big, is_wide, time_mask, objects: registry(), slots, events }
        },
    )
}

/// The header may have changed since the parts were made.
#[test]
fn parts_need_not_be_of_whole_entries() {
    let events = vec![[1, 0, 0xFF_FFFF, 0, 0, 0, 0, 0]; 2];
    let buffer = Buffer { is_big: false, is_wide: false, time_mask: u32::MAX, objects: Vec::new(), slots: 2, events };
    let bytes = buffer.bytes();
    let mut records = Records::default();
    let ring = bytes.len() - 64;
    records.read(&bytes, ring..ring + 1);
    assert!(matches!(records.records[..], [Record::Bad(_)]));
    assert_eq!(records.ok_bytes, 0);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn events_in_any_order_give_a_sound_trace(buffer in buffer(), missing in 0usize..100, more in 0usize..100) {
        let mut bytes = buffer.bytes();
        bytes.truncate(bytes.len().saturating_sub(missing));
        bytes.extend(vec![0x11; more]);
        subject().check_sound(&bytes, &[EventDetail::All]);
    }

    #[test]
    fn any_bytes_give_a_sound_trace(mut bytes in prop::collection::vec(any::<u8>(), 0..2000), header in any::<bool>()) {
        if header {
            let buffer = Buffer {
                is_big: false,
                is_wide: false,
                time_mask: u32::MAX,
                objects: Vec::new(),
                slots: bytes.len() / 32,
                events: Vec::new(),
            };
            let start = buffer.bytes();
            let len = 48.min(bytes.len()).min(start.len());
            bytes[..len].copy_from_slice(&start[..len]);
        }
        subject().check_sound(&bytes, &[EventDetail::All]);
    }

    /// A header that is damaged reads as no header, or as another one, and never beyond the input.
    #[test]
    fn any_header_gives_a_sound_trace(buffer in buffer(), changes in prop::collection::vec((0usize..96, any::<u8>()), 0..4)) {
        let mut bytes = buffer.bytes();
        for (at, byte) in changes {
            bytes[at] = byte;
        }
        subject().check_sound(&bytes, &[EventDetail::All]);
    }

    #[test]
    fn what_is_encoded_is_decoded(mut buffer in buffer()) {
        buffer.events.retain(|event| event[0] != 0 && (1..=65535).contains(&(event[2] & 0xFF_FFFF)) && event[2] >> 24 < 64);
        let bytes = buffer.bytes();
        let mut records = Records::default();
        records.read(&bytes, 0..bytes.len());
        let kept = buffer.events.len().saturating_sub(buffer.slots);
        let found: Vec<[u32; 8]> = records.records.iter().map(|record| match record {
            Record::Event(entry) => {
                let [one, two, three, four] = entry.info;
                [entry.thread, entry.priority, entry.core << 24 | entry.id, entry.time as u32, one, two, three, four]
            }
            Record::Bad(bad) => panic!("{bad:?}"),
        }).collect();
        prop_assert_eq!(&found, &buffer.events[kept..]);
    }

    /// The records of the parts are those of the whole, wherever it is cut.
    #[test]
    fn parts_read_as_the_whole(buffer in buffer(), wanted in prop::collection::vec(0usize..6000, 0..8)) {
        let bytes = buffer.bytes();
        let scan = subject().format.open(&[Default::default()]).expect("there are no options");
        let read = |range: std::ops::Range<usize>| {
            let mut records = Records::default();
            records.read(&bytes, range);
            (records.records, records.ok_bytes)
        };
        let mut cuts: Vec<usize> = wanted.iter().map(|&at| scan.cut(&bytes, at)).collect();
        cuts.extend([0, bytes.len()]);
        cuts.sort_unstable();
        let mut parts = (Vec::new(), 0);
        for pair in cuts.windows(2) {
            let (records, ok_bytes) = read(pair[0]..pair[1]);
            parts.0.extend(records);
            parts.1 += ok_bytes;
        }
        prop_assert_eq!(parts, read(0..bytes.len()));
    }
}

/// Buffers longer than a window: the threads really work in parallel.
#[test]
fn windows_and_threads_change_nothing() {
    let mut random = Random(7);
    for seed in 0..4 {
        let capture = generated(300_000, seed);
        let whole = convert(&capture, Cut::WHOLE);
        for threads in [1, 3] {
            let cut = Cut { threads, window_bytes: 100 + random.below(30_000) };
            assert!(convert(&capture, cut).trace == whole.trace, "seed {seed}: another trace with {cut:?}");
        }
        whole.read();
    }
}

/// Windows of fewer entries than the clock looks at ahead.
#[test]
fn small_windows_change_nothing_in_damaged_rings() {
    let mut random = Random(11);
    for seed in 0..30 {
        let mut capture = generated(30_000, seed);
        for _ in 0..1 + random.below(8) {
            let (at, to) = (random.below(capture.len() - 4_000), random.below(capture.len() - 4_000));
            let len = 32 * random.below(100) + random.below(2) * random.below(32);
            match random.below(4) {
                0 => drop(capture.drain(at..at + len)),
                1 => capture.copy_within(at..at + len, to),
                2 => {
                    let piece = capture[at..at + len].to_vec();
                    capture.splice(to..to, piece);
                }
                _ => capture[at] = random.below(256) as u8,
            }
        }
        let whole = convert(&capture, Cut::WHOLE);
        for window_bytes in [100, 1_000, 4_000, 15_000] {
            let cut = Cut { threads: 1 + random.below(3), window_bytes };
            assert!(convert(&capture, cut).trace == whole.trace, "seed {seed}: another trace with {cut:?}");
        }
    }
}
