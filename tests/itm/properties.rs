//! Contracts that hold for any input: arbitrary bytes, and arbitrary packets in any order, bare and in frames.

use proptest::prelude::*;
use traceconv::format::Part;
use traceconv::format::itm::decode::Records;
use traceconv::format::itm::generate::Damage;
use traceconv::frame::swo::{Delay, Packet};
use traceconv::frame::tpiu;
use traceconv::pipeline::{EventDetail, TimeBound};

use crate::captures::encoded;
use crate::common::run::Subject;
use crate::common::{run as common, views};
use crate::reader::Trace;
use crate::run::{Cut, Random, convert, generated, subject, with_options};

fn one_packet() -> impl Strategy<Value = Packet> {
    let size = || prop::sample::select(vec![1u8, 2, 4]);
    let value = |bytes: u8, value: u32| if bytes == 4 { value } else { value & ((1 << (8 * bytes)) - 1) };
    let delay = prop_oneof![5 => Just(Delay::default()), 1 => (any::<bool>(), any::<bool>()).prop_map(|(of_stamp, of_packets)| Delay { of_stamp, of_packets })];
    prop_oneof![
        6 => (0u32..1 << 28, 0u32..28, delay).prop_map(|(ticks, shift, delay)| Packet::LocalTime { ticks: (ticks >> shift).max(1), delay }),
        8 => (0u8..4, size(), any::<u32>()).prop_map(move |(port, bytes, any)| Packet::Port { port, bytes, value: value(bytes, any) }),
        6 => (0u8..2, prop::sample::select(b"ab\n\r\0\xE4".to_vec())).prop_map(|(port, byte)| Packet::Port { port, bytes: 1, value: u32::from(byte) }),
        8 => (prop::sample::select(vec![0u32, 3, 15, 16, 30, 511]), 1u32..4).prop_map(|(number, what)| Packet::Hardware { id: 1, bytes: 2, value: number | what << 12 }),
        4 => (0x0800_0000u32..0x0800_0010).prop_map(|value| Packet::Hardware { id: 2, bytes: 4, value }),
        1 => prop::sample::select(vec![0u32, 0xFF]).prop_map(|value| Packet::Hardware { id: 2, bytes: 1, value }),
        2 => (1u32..64).prop_map(|value| Packet::Hardware { id: 0, bytes: 1, value }),
        1 => (1u32..256).prop_map(|value| Packet::Hardware { id: 3, bytes: 1, value }),
        3 => (prop::sample::select(vec![8u8, 10, 12, 14]), any::<u32>()).prop_map(|(id, value)| Packet::Hardware { id, bytes: 4, value }),
        1 => prop::sample::select(vec![8u8, 10, 12, 14]).prop_map(|id| Packet::Hardware { id, bytes: 1, value: 1 }),
        2 => (prop::sample::select(vec![9u8, 11, 13, 15]), any::<u16>()).prop_map(|(id, value)| Packet::Hardware { id, bytes: 2, value: u32::from(value) }),
        3 => (16u8..24, size(), any::<u32>()).prop_map(move |(id, bytes, any)| Packet::Hardware { id, bytes, value: value(bytes, any) }),
        1 => (0u32..1 << 26, any::<bool>(), any::<bool>()).prop_map(|(value, has_wrapped, clock_changed)| Packet::GlobalLow { value, bits: 26, has_wrapped, clock_changed }),
        1 => (0u32..128).prop_map(|value| Packet::GlobalLow { value, bits: 7, has_wrapped: false, clock_changed: false }),
        1 => (0u64..1 << 38).prop_map(|value| Packet::GlobalHigh { value }),
        1 => (0u8..8).prop_map(|page| Packet::Page { page }),
        1 => Just(Packet::Sync),
        1 => Just(Packet::Overflow),
    ]
}

/// Checks that small and large windows give the same trace, and that the reader accepts it.
fn check(subject: &Subject, capture: &[u8]) -> Result<(), TestCaseError> {
    let whole = subject.convert(capture, Cut::WHOLE);
    let small = subject.convert(capture, Cut::SMALL);
    prop_assert_eq!(views::ledger(&small.summary), views::ledger(&whole.summary));
    prop_assert!(small.trace == whole.trace, "another trace in small pieces");
    let trace = Trace::parse(&whole.trace).map_err(TestCaseError::fail)?;
    prop_assert!(trace.unclosed.is_empty(), "slices without end: {:?}", trace.slices[trace.unclosed[0]]);
    let options = common::options(Cut::WHOLE).events(EventDetail::All);
    Trace::parse(&subject.convert_with(capture, &options).trace).map_err(TestCaseError::fail)?;
    prop_assert_eq!(subject.dump(capture, Cut::SMALL, views::record), subject.dump(capture, Cut::WHOLE, views::record));
    let mut last = 0;
    let mut is_ordered = true;
    subject.resolve(capture, 100, |batch, _| {
        for event in &batch.events {
            is_ordered &= event.time.0 >= last;
            last = event.time.0;
        }
    });
    prop_assert!(is_ordered, "time goes backwards");
    Ok(())
}

fn framed(stream: &[u8], pieces: usize) -> Vec<u8> {
    let mut file = Vec::new();
    for (index, piece) in stream.chunks(pieces.max(1)).enumerate() {
        if index % 3 == 1 {
            file.extend([0xFF, 0xFF, 0xFF, 0x7F]);
        }
        tpiu::wrap(piece, 1, &mut file);
        tpiu::wrap(&[index as u8; 5], 2, &mut file);
    }
    file
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, ..ProptestConfig::default() })]

    #[test]
    fn packets_in_any_order_give_a_sound_trace(
        packets in prop::collection::vec(one_packet(), 0..120),
        noise in prop::collection::vec((0usize..300, prop::collection::vec(any::<u8>(), 0..6)), 0..3),
    ) {
        let mut bytes = encoded(&packets);
        for (at, more) in noise {
            let at = at.min(bytes.len());
            bytes.splice(at..at, more);
        }
        check(&subject(), &bytes)?;
    }

    #[test]
    fn streams_without_time_stamps_give_a_sound_trace(packets in prop::collection::vec(one_packet(), 0..100), period in 1u32..5000) {
        let is_time = |packet: &Packet| matches!(packet, Packet::LocalTime { .. } | Packet::GlobalLow { .. } | Packet::GlobalHigh { .. });
        let without: Vec<Packet> = packets.iter().copied().filter(|packet| !is_time(packet)).collect();
        check(&with_options(&[("itm-sample-period", &period.to_string())]), &encoded(&without))?;
        check(&subject(), &encoded(&without))?;
        let global: Vec<Packet> = packets.into_iter().filter(|packet| !matches!(packet, Packet::LocalTime { .. })).collect();
        check(&subject(), &encoded(&global))?;
    }

    #[test]
    fn frames_give_the_same_events_as_the_stream(packets in prop::collection::vec(one_packet(), 1..100), pieces in 1usize..200) {
        let stream = encoded(&packets);
        let file = framed(&stream, pieces);
        let (bare, framed) = (with_options(&[("tpiu-source", "none")]), with_options(&[("tpiu-source", "1")]));
        check(&framed, &file)?;
        let times = |subject: &Subject, capture: &[u8]| -> Vec<String> {
            let mut list = Vec::new();
            subject.each_record(capture, Cut::SMALL, |record| {
                list.push(format!("{} {:?} {:?} {:?}", record.record, record.ticks, record.nanos, record.fields));
            });
            list
        };
        // Without time stamps the position is the time.
        if packets.iter().any(|packet| matches!(packet, Packet::LocalTime { .. })) {
            prop_assert_eq!(times(&framed, &file), times(&bare, &stream));
        }
    }

    #[test]
    fn any_bytes_give_a_sound_trace(bytes in prop::collection::vec(any::<u8>(), 0..2000)) {
        check(&subject(), &bytes)?;
        check(&with_options(&[("tpiu-source", "1")]), &bytes)?;
    }

    #[test]
    fn what_is_encoded_is_decoded(packets in prop::collection::vec(one_packet(), 0..60)) {
        // Without it, the first bytes may be the end of a packet.
        let packets: Vec<_> = std::iter::once(Packet::Sync).chain(packets).collect();
        let bytes = encoded(&packets);
        let mut records = Records::default();
        records.read(Part::new(&bytes, 0..bytes.len()), 0);
        let found: Vec<_> = records.packets.iter().map(|record| record.packet).collect();
        prop_assert_eq!(found, packets.into_iter().map(Ok).collect::<Vec<_>>());
    }

    #[test]
    fn a_time_range_gives_a_sound_trace(
        packets in prop::collection::vec(one_packet(), 0..100),
        from in prop::option::of(0u64..60_000_000),
        len in prop::option::of(0u64..60_000_000),
    ) {
        let after_start = |ns| TimeBound::AfterStart(traceconv::model::Nanos(ns));
        let options = common::options(Cut::SMALL).from(from.map(after_start)).to(len.map(|len| after_start(from.unwrap_or(0) + len)));
        let trace = Trace::parse(&subject().convert_with(&encoded(&packets), &options).trace).map_err(TestCaseError::fail)?;
        prop_assert!(trace.unclosed.is_empty());
    }
}

/// Files from a running target are longer than a window: the threads really work in parallel.
#[test]
fn windows_and_threads_change_nothing() {
    let mut random = Random(7);
    for (seed, damage) in (0..).zip([Damage::None, Damage::Flips, Damage::Bytes, Damage::None, Damage::Flips]) {
        let capture = generated(150_000, seed, damage);
        let whole = convert(&capture, Cut::WHOLE);
        for threads in [1, 3] {
            let cut = Cut { threads, window_bytes: 100 + random.below(30_000) };
            assert!(convert(&capture, cut).trace == whole.trace, "{damage:?}: another trace with {cut:?}");
        }
        whole.read();
    }
}
