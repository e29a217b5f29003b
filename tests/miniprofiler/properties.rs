//! Contracts that hold for any input: arbitrary bytes, and bytes made to deceive.

use proptest::prelude::*;
use traceconv::format::miniprofiler::decode::{Content, Packets, packets_into};
use traceconv::format::miniprofiler::encode;
use traceconv::format::miniprofiler::record::{Command, Metadata, ProfileRecord, Reading, Status, packet_type};

use crate::common::views;
use crate::run::{Cut, Random, calls, options, shown, subject};

const READING: Reading = Reading::DOCUMENT_DUMP;

/// A piece of an input.
#[derive(Clone, Debug)]
enum Piece {
    Records(Vec<ProfileRecord>),
    Status(Status),
    Metadata(u32),
    Command(u8),
    /// A packet of any type with any payload.
    Odd(u8, Vec<u8>),
    /// A good packet whose payload is other pieces.
    Around(Vec<Piece>),
    /// A header that claims this number of bytes.
    Header(u8, u16),
    /// A good packet without its end, or with a flipped byte.
    Cut(Box<Piece>, usize),
    Flipped(Box<Piece>, usize),
    Bytes(Vec<u8>),
    Text(&'static str),
}

impl Piece {
    fn write(&self, out: &mut Vec<u8>) {
        match self {
            Piece::Records(records) => encode::profile(READING, records, out),
            Piece::Status(status) => encode::status(READING, status, out),
            Piece::Metadata(build_id) => {
                let metadata =
                    Metadata { mcu_clock_hz: 1, timer_hz: 1_000_000, build_id: *build_id, fw_version: *b"0123456789ABCDEF" };
                encode::metadata(READING, &metadata, out);
            }
            Piece::Command(code) => out.extend(Command::ALL[usize::from(*code) % Command::ALL.len()].frame(&[])),
            Piece::Odd(kind, payload) => encode::packet(READING, *kind, payload, out),
            Piece::Around(pieces) => {
                let mut payload = vec![1, 0, 0];
                pieces.iter().for_each(|piece| piece.write(&mut payload));
                encode::packet(READING, packet_type::PROFILE_DATA, &payload, out);
            }
            Piece::Header(kind, len) => {
                out.extend(READING.header);
                out.push(*kind);
                out.extend(len.to_le_bytes());
            }
            Piece::Cut(piece, keep) => {
                let start = out.len();
                piece.write(out);
                let len = out.len() - start;
                out.truncate(start + keep % (len + 1));
            }
            Piece::Flipped(piece, at) => {
                let start = out.len();
                piece.write(out);
                let len = out.len() - start;
                if let Some(byte) = out.get_mut(start + at % len.max(1)) {
                    *byte ^= 0x10;
                }
            }
            Piece::Bytes(bytes) => out.extend(bytes),
            Piece::Text(text) => out.extend(text.as_bytes()),
        }
    }
}

prop_compose! {
    fn record()(
        func_addr in 0u32..6,
        entry_us in prop_oneof![9 => 0u32..2_000, 1 => any::<u32>()],
        duration_us in prop_oneof![9 => 0u32..200, 1 => any::<u32>()],
        depth in prop_oneof![9 => 0u16..5, 1 => any::<u16>()],
    ) -> ProfileRecord {
        ProfileRecord { func_addr, entry_us, duration_us, depth }
    }
}

fn piece() -> impl Strategy<Value = Piece> {
    let status =
        (any::<u8>(), 0u32..9, prop_oneof![0u32..900, any::<u32>()], 0u8..101).prop_map(|(on, overflows, captured, usage)| {
            Piece::Status(Status {
                is_profiling: on,
                buffer_overflows: overflows,
                records_captured: captured,
                usage_percent: usage,
            })
        });
    let header_len = prop_oneof![0u16..300, Just(u16::MAX), any::<u16>()];
    let bytes = prop::collection::vec(prop_oneof![Just(0xAAu8), Just(0x55), Just(0x0A), Just(5), Just(0), any::<u8>()], 0..60);
    let leaf = prop_oneof![
        6 => prop::collection::vec(record(), 0..25).prop_map(Piece::Records),
        1 => status,
        1 => any::<u32>().prop_map(Piece::Metadata),
        1 => any::<u8>().prop_map(Piece::Command),
        1 => (0u8..9, bytes.clone()).prop_map(|(kind, payload)| Piece::Odd(kind, payload)),
        2 => (0u8..7, header_len).prop_map(|(kind, len)| Piece::Header(kind, len)),
        2 => bytes.prop_map(Piece::Bytes),
        1 => prop::sample::select(vec!["boot\r\n", "a line of text\n", "U", "\u{B0}C\n"]).prop_map(Piece::Text),
    ];
    leaf.prop_recursive(4, 60, 6, |inner| {
        prop_oneof![
            3 => prop::collection::vec(inner.clone(), 0..6).prop_map(Piece::Around),
            1 => (inner.clone(), any::<usize>()).prop_map(|(piece, keep)| Piece::Cut(Box::new(piece), keep)),
            1 => (inner, any::<usize>()).prop_map(|(piece, at)| Piece::Flipped(Box::new(piece), at)),
        ]
    })
}

fn input_of(pieces: &[Piece]) -> Vec<u8> {
    let mut input = Vec::new();
    pieces.iter().for_each(|piece| piece.write(&mut input));
    input
}

/// Where packets and commands start and end, read byte by byte by the format's description, in one reading.
fn read_simply(reading: Reading, input: &[u8]) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    let mut at = 0;
    while at < input.len() {
        let rest = &input[at..];
        let packet =
            (rest.len() >= 8 && rest[..2] == reading.header).then(|| 8 + usize::from(rest[3]) + 256 * usize::from(rest[4]));
        let is_packet = |&len: &usize| {
            rest.len() >= len && rest[len - 1] == 0x0A && rest[len - 3..len - 1] == reading.crc_bytes(&rest[2..len - 3])
        };
        let is_command = || {
            let frame: Option<&[u8; 12]> = rest.first_chunk();
            frame.is_some_and(|frame| Command::read(frame).is_some())
        };
        let len = packet.filter(is_packet).or_else(|| is_command().then_some(12));
        if let Some(len) = len {
            found.push((at, at + len));
        }
        at += len.unwrap_or(1);
    }
    found
}

fn check(input: &[u8]) -> Result<(), TestCaseError> {
    let subject = subject();
    let whole = subject.convert(input, Cut::WHOLE);
    let records = subject.dump(input, Cut::WHOLE, views::record);
    let expected = calls(&subject, input, usize::MAX / 2);
    for window_bytes in [1, 700, 20_000] {
        for threads in [1, 3] {
            let conversion = subject.convert(input, Cut { threads, window_bytes });
            prop_assert!(conversion.trace == whole.trace, "another trace with windows of {}", window_bytes);
            prop_assert_eq!(views::ledger(&conversion.summary), views::ledger(&whole.summary));
        }
        prop_assert_eq!(&subject.dump(input, Cut { threads: 2, window_bytes }, views::record), &records);
        prop_assert_eq!(&calls(&subject, input, window_bytes), &expected);
    }
    // The reader finds every slice closed and nested.
    let drawn = shown(&whole.read());
    prop_assert!(drawn.len() <= expected.len());
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn cuts_do_not_show_in_deceptive_inputs(pieces in prop::collection::vec(piece(), 1..30)) {
        check(&input_of(&pieces))?;
    }

    #[test]
    fn any_bytes_are_accounted_for(input in prop::collection::vec(any::<u8>(), 0..2_000)) {
        check(&input)?;
    }

    #[test]
    fn what_is_found_is_what_simple_code_finds(pieces in prop::collection::vec(piece(), 1..60)) {
        let input = input_of(&pieces);
        let expected = read_simply(READING, &input);
        let mut packets = Packets::default();
        packets_into(READING, &input, 0..input.len(), &mut packets);
        let found = packets.items.iter().filter(|item| item.content != Content::Stray);
        let found: Vec<(usize, usize)> = found.map(|item| (item.offset as usize, (item.offset + item.len) as usize)).collect();
        prop_assert_eq!(found, expected);
    }

    #[test]
    fn packets_are_read_as_they_were_written(records in prop::collection::vec(record(), 0..4_680), reading in 0usize..16) {
        let reading = Reading::ALL[reading];
        let mut input = Vec::new();
        encode::profile(reading, &records, &mut input);
        let mut packets = Packets::default();
        packets_into(reading, &input, 0..input.len(), &mut packets);
        prop_assert_eq!(packets.items.len(), 1);
        let content = packets.items[0].content;
        let count = records.len() as u16;
        prop_assert_eq!(content, Content::Profile { records: count, count, fits: true });
        let (found, rest) = packets.records.as_chunks::<14>();
        prop_assert!(rest.is_empty());
        prop_assert_eq!(found.iter().map(ProfileRecord::read).collect::<Vec<_>>(), records);
    }
}

/// Repeated pieces, longer than any search distance, with packets of the greatest length among them.
#[test]
fn long_deceptive_inputs_are_read_as_simple_code_reads_them() {
    for seed in 0..6 {
        let mut random = Random(seed);
        let mut input = Vec::new();
        let mut small = Vec::new();
        encode::profile(READING, &[ProfileRecord { func_addr: 1, entry_us: 2, duration_us: 3, depth: 0 }], &mut small);
        while input.len() < 900_000 {
            match random.below(12) {
                0 => {
                    // A long packet that is full of short ones.
                    let payload: Vec<u8> = [1, 0, 0].into_iter().chain(small.iter().copied().cycle()).take(65_535).collect();
                    encode::packet(READING, packet_type::PROFILE_DATA, &payload, &mut input);
                }
                1 => input.extend([READING.header[0], READING.header[1], 5, 0xFF, 0xFF]),
                2 => input.extend([READING.header[0], READING.header[1], 5, random.below(256) as u8, random.below(256) as u8]),
                3 => (0..random.below(500)).for_each(|_| input.push([0xAA, 0x55, 0x0A, 5, 0][random.below(5)])),
                _ => input.extend(&small),
            }
        }
        let expected = read_simply(READING, &input);
        let mut parts = Vec::new();
        let subject = subject();
        let scan = subject.format.open(std::slice::from_ref(&subject.options)).expect("no options");
        let mut start = 0;
        while start < input.len() {
            let end = scan.cut(&input, start + 1 + random.below(200_000)).max(start + 1);
            let mut packets = Packets::default();
            packets_into(READING, &input, start..end, &mut packets);
            let found = packets.items.iter().filter(|item| item.content != Content::Stray);
            parts.extend(found.map(|item| {
                let at = start + item.offset as usize;
                (at, at + item.len as usize)
            }));
            start = end;
        }
        assert_eq!(parts.len(), expected.len(), "seed {seed}");
        assert_eq!(parts, expected, "seed {seed}");
    }
}

/// Millions of headers that claim 65535 bytes, with an end where each of them says: takes time in proportion to the input.
#[test]
fn a_flood_of_false_headers_is_not_slow() {
    let unit = [READING.header[0], READING.header[1], 5, 0xFF, 0xFF, 0, 0x0A, 0];
    // The last byte that a header claims is the end byte in a later unit.
    assert_eq!((8 + 65_535 - 1) % unit.len(), 6);
    let flood = unit.repeat(300_000);
    let started = std::time::Instant::now();
    let conversion = subject().convert_with(&flood, &options(Cut { threads: 2, window_bytes: 100_000 }));
    assert_eq!(conversion.summary.ledger.skipped_bytes, flood.len() as u64);
    // One by one they would take minutes.
    assert!(started.elapsed().as_secs() < 30, "{:?}", started.elapsed());
}
