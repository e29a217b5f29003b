//! Contracts that hold for any input: arbitrary bytes, and arbitrary packets in any order.

use proptest::prelude::*;
use traceconv::format::systemview::decode::Records;
use traceconv::format::systemview::encode;
use traceconv::format::systemview::generate::Damage;
use traceconv::format::systemview::packet::{Framing, Reading};
use traceconv::frame::sync;
use traceconv::pipeline::{EventDetail, TimeBound};

use crate::common::run as common;
use crate::reader::Trace;
use crate::run::{Cut, Random, convert, generated, subject};

/// A packet, or something else.
#[derive(Clone, Debug)]
enum Piece {
    Numbers(u16, Vec<u32>, u32),
    Text(u16, Vec<u32>, String, u32),
    Start(u32),
    Bytes(Vec<u8>),
    /// Some bytes before are missing.
    Missing(usize),
}

fn piece() -> impl Strategy<Value = Piece> {
    let small = || prop_oneof![6 => 0u32..6, 1 => 30u32..60, 1 => any::<u32>()];
    let delta = || prop_oneof![20 => 0u32..5000, 1 => any::<u32>()];
    let fixed = prop_oneof![
        20 => prop::sample::select(vec![1u16, 2, 2, 3, 4, 4, 5, 6, 7, 8, 12, 13, 15, 16, 17, 18, 19, 20, 21, 23]),
    ];
    let sized = prop::sample::select(vec![27u16, 28, 29, 31, 32, 34, 35, 49, 53, 54, 512, 513, 600]);
    let bytes = prop::collection::vec(prop_oneof![2 => 0u8..40, 1 => any::<u8>()], 0..30);
    prop_oneof![
        30 => (fixed, prop::collection::vec(small(), 4), delta()).prop_map(|(id, mut values, delta)| {
            values.truncate(match id { 3 | 5 | 17 | 18 | 20 => 0, 7 | 13 | 23 => 2, 21 => 4, _ => 1 });
            Piece::Numbers(id, values, delta)
        }),
        12 => (sized, prop::collection::vec(small(), 1..6), delta()).prop_map(|(id, mut values, delta)| {
            values.truncate(match id { 27 | 29 => 1, 28 => 2, _ => 6 });
            if id == 31 { values[0] %= 8; }
            Piece::Numbers(id, values, delta)
        }),
        3 => (prop::sample::select(vec![9u16, 14, 22, 25]), small(), "[a-zA-Z#=,% 0-9]{0,12}", delta()).prop_map(|(id, number, text, delta)| {
            Piece::Text(id, vec![number; match id { 14 => 0, 25 => 1, _ => 2 }], text, delta)
        }),
        1 => delta().prop_map(Piece::Start),
        1 => bytes.prop_map(Piece::Bytes),
        1 => (1usize..15).prop_map(Piece::Missing),
    ]
}

/// On a target of 64 bits, large numbers have more than 32.
fn numbers(reading: Reading, values: &[u32]) -> Vec<u8> {
    let mut payload = Vec::new();
    for &value in values {
        let more = if reading == Reading::Wide && value > 1 << 16 { u64::from(value) << 32 } else { 0 };
        encode::number(more | u64::from(value), &mut payload);
    }
    payload
}

fn capture(reading: Reading, pieces: &[Piece]) -> Vec<u8> {
    let mut bytes = if reading == Reading::CoreBit { encode::header(reading).to_vec() } else { Vec::new() };
    for (index, piece) in pieces.iter().enumerate() {
        let core = (index / 3 % 2) as u8;
        match piece {
            Piece::Numbers(id, values, delta) => {
                encode::packet(reading, core, *id, &numbers(reading, values), *delta, &mut bytes)
            }
            Piece::Text(id, values, text, delta) => {
                encode::packet(reading, core, *id, &encode::numbers_and_text(values, text), *delta, &mut bytes);
            }
            Piece::Start(delta) => {
                encode::sync(&mut bytes);
                encode::packet(reading, core, 10, &[], *delta, &mut bytes);
                encode::packet(reading, core, 24, &encode::numbers(&[1_000_000, 1, 0x2000_0000, 2]), 10u32, &mut bytes);
            }
            Piece::Bytes(more) => bytes.extend(more),
            Piece::Missing(missing) => bytes.truncate(bytes.len().saturating_sub(*missing)),
        }
    }
    bytes
}

fn reading() -> impl Strategy<Value = Reading> {
    prop::sample::select(vec![Reading::Plain, Reading::CoreBit, Reading::Wide])
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn packets_in_any_order_give_a_sound_trace(reading in reading(), pieces in prop::collection::vec(piece(), 0..120)) {
        subject().check_sound(&capture(reading, &pieces), &[EventDetail::All]);
    }

    #[test]
    fn any_bytes_give_a_sound_trace(bytes in prop_oneof![
        prop::collection::vec(any::<u8>(), 0..2000),
        prop::collection::vec(0u8..34, 0..2000),
    ]) {
        subject().check_sound(&bytes, &[EventDetail::All]);
    }

    #[test]
    fn what_is_encoded_is_decoded(reading in reading(), pieces in prop::collection::vec(piece(), 0..60)) {
        let whole: Vec<_> = pieces
            .into_iter()
            .filter(|piece| match piece {
                // Overflow packets with these differences are those of narrow counters, and are read as such.
                Piece::Numbers(1, _, delta) => *delta < 0xFF80_0000,
                Piece::Numbers(..) | Piece::Text(..) => true,
                Piece::Start(_) | Piece::Bytes(_) | Piece::Missing(_) => false,
            })
            .collect();
        let bytes = capture(reading, &whole);
        let mut records = Records::default();
        records.read(reading, &bytes, 0..bytes.len());
        prop_assert_eq!(records.bad.len(), 0);
        let mut again = Vec::new();
        let mut found = 0;
        for record in &records.packets {
            let (packet, start) = (record.packet, record.offset as usize);
            if packet.id == traceconv::format::systemview::record::id::HEADER {
                again.extend(&bytes[..usize::from(packet.bytes)]);
                continue;
            }
            found += 1;
            let payload = start + usize::from(packet.payload_at);
            let payload = &bytes[payload..payload + usize::from(packet.payload_bytes)];
            encode::packet(reading, packet.core, packet.id, payload, packet.delta, &mut again);
        }
        prop_assert_eq!(found, whole.len());
        prop_assert_eq!(again, bytes);
    }

    #[test]
    fn a_time_range_gives_a_sound_trace(
        pieces in prop::collection::vec(piece(), 0..100),
        from in prop::option::of(0u64..60_000_000),
        len in prop::option::of(0u64..60_000_000),
    ) {
        let after_start = |ns| TimeBound::AfterStart(traceconv::model::Nanos(ns));
        let options = common::options(Cut::SMALL).from(from.map(after_start)).to(len.map(|len| after_start(from.unwrap_or(0) + len)));
        let capture = capture(Reading::Plain, &pieces);
        let trace = Trace::parse(&subject().convert_with(&capture, &options).trace).map_err(TestCaseError::fail)?;
        prop_assert!(trace.unclosed.is_empty());
    }

    /// Positions after damage, and where parts begin, do not depend on where the search begins.
    #[test]
    fn parts_read_as_the_whole(
        reading in reading(),
        pieces in prop::collection::vec(piece(), 0..200),
        noise in prop::collection::vec((0usize..3000, prop::collection::vec(any::<u8>(), 0..40)), 0..6),
        wanted in prop::collection::vec(0usize..4000, 0..8),
    ) {
        let mut bytes = capture(reading, &pieces);
        for (at, more) in noise {
            let at = at.min(bytes.len());
            bytes.splice(at..at, more);
        }
        let read = |range: std::ops::Range<usize>| {
            let mut records = Records::default();
            records.read(reading, &bytes, range.clone());
            let packets: Vec<_> = records.packets.iter().map(|record| range.start + record.offset as usize).collect();
            let bad: Vec<_> = records.bad.iter().map(|bad| bad.range).collect();
            (packets, bad)
        };
        let mut cuts: Vec<usize> = wanted.iter().map(|&at| sync::cut(&Framing::new(reading), &bytes, at)).collect();
        cuts.extend([0, bytes.len()]);
        cuts.sort_unstable();
        let mut parts = (Vec::new(), Vec::new());
        for pair in cuts.windows(2) {
            let (packets, bad) = read(pair[0]..pair[1]);
            parts.0.extend(packets);
            parts.1.extend(bad);
        }
        prop_assert_eq!(parts, read(0..bytes.len()));
    }
}

/// Files from a running target are longer than a window: the threads really work in parallel.
#[test]
fn windows_and_threads_change_nothing() {
    let mut random = Random(7);
    for (seed, damage) in (0..).zip([Damage::None, Damage::Flips, Damage::Bytes]) {
        let capture = generated(150_000, seed, damage);
        let whole = convert(&capture, Cut::WHOLE);
        for threads in [1, 3] {
            let cut = Cut { threads, window_bytes: 100 + random.below(30_000) };
            assert!(convert(&capture, cut).trace == whole.trace, "{damage:?}: another trace with {cut:?}");
        }
        whole.read();
    }
}

/// So much damage that not every bad packet is searched for among the bytes before it.
#[test]
fn windows_change_nothing_in_heavy_damage() {
    let mut random = Random(5);
    let mut capture = generated(400_000, 3, Damage::None);
    for _ in 0..3_000 {
        let at = random.below(capture.len() - 300);
        match random.below(3) {
            0 => drop(capture.drain(at..at + 1 + random.below(10))),
            1 => {
                let piece = capture[at..at + 1 + random.below(300)].to_vec();
                capture.splice(at..at, piece);
            }
            _ => capture[at] = random.below(256) as u8,
        }
    }
    let whole = convert(&capture, Cut::WHOLE);
    for window_bytes in [1_000, 64_000, 100_000] {
        let parts = convert(&capture, Cut { threads: 1, window_bytes });
        assert_eq!(parts.summary.ledger.at_least_lost(), whole.summary.ledger.at_least_lost(), "windows of {window_bytes}");
        assert!(parts.trace == whole.trace, "another trace with windows of {window_bytes}");
    }
}
