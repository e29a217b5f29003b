//! Contracts that hold for any input: arbitrary bytes, and arbitrary packets in any order.

use proptest::prelude::*;
use traceconv::format::tsp::decode::{Decoder, Lengths, Packets};
use traceconv::format::tsp::encode::{object_list, packet, packet_of};
use traceconv::format::tsp::generate::Damage;
use traceconv::format::tsp::record::{ListEntry, OPEN, data_bytes_of};
use traceconv::frame::sync;
use traceconv::pipeline::{EventDetail, TimeBound};

use crate::common::run as common;
use crate::reader::Trace;
use crate::run::{Cut, Random, convert, generated, subject};

/// A packet, or a damaged one.
#[derive(Clone, Debug)]
enum Piece {
    Packet {
        id: u8,
        data: [u8; 3],
        forth: u16,
        timer: u16,
        skipped: u8,
    },
    List {
        type_number: u8,
        names: Vec<(u8, String)>,
    },
    Bytes(Vec<u8>),
    /// Some bytes before are missing.
    Missing(usize),
}

fn piece() -> impl Strategy<Value = Piece> {
    let awkward = || prop_oneof![3 => 0u8..4, 1 => Just(0xFDu8), 1 => Just(0xFE), 1 => Just(0xFF), 1 => any::<u8>()];
    let id = prop_oneof![
        4 => prop::sample::select(vec![2u8, 6, 11, 9, 23, 25, 44, 44, 39, 101]),
        8 => 0u8..78,
        1 => any::<u8>(),
    ];
    let forth = prop_oneof![20 => 0u16..2, 2 => 0u16..300, 1 => any::<u16>()];
    let skipped = prop_oneof![20 => Just(0u8), 1 => any::<u8>()];
    let data = [awkward(), awkward(), awkward()];
    let timer = prop_oneof![5 => 0u16..1000, 1 => any::<u16>(), 1 => Just(0xFDFEu16)];
    let bytes = prop::collection::vec(
        prop_oneof![2 => prop::sample::select(vec![0xFDu8, 0xFE, 0xFF, 0x97, 0x98, 2]), 1 => any::<u8>()],
        0..30,
    );
    prop_oneof![
        30 => (id, data, forth, timer, skipped).prop_map(|(id, data, forth, timer, skipped)| Piece::Packet { id, data, forth, timer, skipped }),
        1 => (0u8..7, prop::collection::vec((0u8..4, "[a-z]{0,5}"), 0..4)).prop_map(|(type_number, names)| Piece::List { type_number, names }),
        1 => bytes.prop_map(Piece::Bytes),
        1 => (1usize..15).prop_map(Piece::Missing),
    ]
}

fn capture(pieces: &[Piece]) -> Vec<u8> {
    let (mut bytes, mut packet_id, mut tick) = (Vec::new(), 0u8, 0u16);
    for piece in pieces {
        match piece {
            Piece::Packet { id, data, forth, timer, skipped } => {
                packet_id = packet_id.wrapping_add(1).wrapping_add(*skipped);
                tick = tick.wrapping_add(*forth);
                let len = match data_bytes_of(*id) {
                    OPEN => usize::from(id % 4),
                    len => usize::from(len),
                };
                packet(&packet_of(packet_id, *id, tick, *timer, &data[..len]), &mut bytes);
            }
            Piece::List { type_number, names } => {
                packet_id = packet_id.wrapping_add(1);
                let entries: Vec<_> =
                    names.iter().map(|(number, name)| ListEntry { number: *number, name: name.as_bytes() }).collect();
                object_list(packet_id, *type_number, &entries, &mut bytes);
            }
            Piece::Bytes(more) => bytes.extend(more),
            Piece::Missing(missing) => bytes.truncate(bytes.len().saturating_sub(*missing)),
        }
    }
    bytes
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn packets_in_any_order_give_a_sound_trace(pieces in prop::collection::vec(piece(), 0..150)) {
        subject().check_sound(&capture(&pieces), &[EventDetail::Overview, EventDetail::All]);
    }

    #[test]
    fn any_bytes_give_a_sound_trace(bytes in prop_oneof![
        prop::collection::vec(any::<u8>(), 0..2000),
        prop::collection::vec(prop::sample::select(vec![0xFDu8, 0xFE, 0xFF, 2, 44, 23, 151, 0]), 0..2000),
    ]) {
        subject().check_sound(&bytes, &[EventDetail::Overview, EventDetail::All]);
    }

    #[test]
    fn any_text_is_read_like_its_parts(cuts in prop::collection::vec(0usize..4000, 0..4), flips in prop::collection::vec((0usize..9000, any::<u8>()), 0..4)) {
        let mut text = crate::captures::save(&generated(400, 3, Damage::None));
        for (at, byte) in flips {
            let len = text.len();
            text[at % len] = byte;
        }
        for at in cuts {
            text.drain(at..(at + 100).min(text.len()));
        }
        if text.starts_with(b"{\n  \"Sniffer") {
            subject().check_sound(&text, &[EventDetail::Overview, EventDetail::All]);
        }
    }

    #[test]
    fn what_is_encoded_is_decoded(pieces in prop::collection::vec(piece(), 0..60)) {
        let whole: Vec<_> = pieces.into_iter().filter(|piece| match piece {
            Piece::Packet { id, .. } => data_bytes_of(*id) != OPEN,
            Piece::List { .. } => true,
            _ => false,
        }).collect();
        let bytes = capture(&whole);
        let records = Decoder::new(Packets::new(Lengths::default()), Lengths::default()).records(&bytes, 0..bytes.len());
        prop_assert_eq!((records.packets().len(), records.bad.len()), (whole.len(), 0));
        let mut again = Vec::new();
        for (stored, piece) in records.packets().iter().zip(&whole) {
            match piece {
                Piece::List { type_number, names } => {
                    let entries: Vec<_> = names.iter().map(|(number, name)| ListEntry { number: *number, name: name.as_bytes() }).collect();
                    object_list(stored.packet_id, *type_number, &entries, &mut again);
                }
                _ => packet(stored, &mut again),
            }
        }
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
        let trace = Trace::parse(&subject().convert_with(&capture(&pieces), &options).trace).map_err(TestCaseError::fail)?;
        prop_assert!(trace.unclosed.is_empty());
    }
}

/// Two chains of packets, each in the payloads of the other, for longer than the resynchronisation distance.
#[test]
fn crossing_chains_are_read_alike_in_parts() {
    let mut crossing = [0xFD, 0xFE, 0xFF, 2, 2].repeat(130_000);
    crossing.splice(300_000..300_000, [0xFD, 0xFE, 0xFF, 7, 44, 0, 0, 0]);
    let cutter = Packets::new(Lengths::default());
    let decoder = Decoder::new(cutter.clone(), Lengths::default());
    let whole = decoder.records(&crossing, 0..crossing.len());
    let mut random = Random(3);
    for _ in 0..6 {
        let (mut start, mut packets, mut bad) = (0, Vec::new(), 0);
        while start < crossing.len() {
            let end = sync::cut(&cutter, &crossing, start + 1 + random.below(300_000));
            let part = decoder.records(&crossing, start..end);
            packets.extend(part.packets().iter().map(|packet| start as u32 + packet.offset));
            bad += part.bad.len();
            start = end;
        }
        assert_eq!(packets, whole.packets().iter().map(|packet| packet.offset).collect::<Vec<_>>());
        assert_eq!(bad, whole.bad.len());
    }
}

/// Cut and put together again, files from a running target are longer than a window: the threads really work in parallel.
#[test]
fn windows_and_threads_change_nothing() {
    let mut random = Random(7);
    for (seed, damage) in (0..).zip([Damage::None, Damage::Bytes, Damage::Flips, Damage::Fifo, Damage::Torn]) {
        let capture = generated(150_000, seed, damage);
        let whole = convert(&capture, Cut::WHOLE);
        for threads in [1, 2, 3] {
            let cut = Cut { threads, window_bytes: 100 + random.below(30_000) };
            assert!(convert(&capture, cut).trace == whole.trace, "{damage:?}: another trace with {cut:?}");
        }
        whole.read();
    }
}
