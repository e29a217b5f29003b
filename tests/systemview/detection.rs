//! Recognition: every recording, also pieces of it and buffers in memory, and nothing else.

use traceconv::format::systemview::generate::{Damage, GenerateOptions};
use traceconv::format::{FORMATS, Format, FormatOptions};
use traceconv::input::{Input, ReadOptions};

use crate::run::{Cut, generated, generated_with, subject};

fn score(format: &dyn Format, sample: &[u8]) -> u8 {
    format.probe(sample, true).map_or(0, |probe| probe.score)
}

#[test]
fn recordings_are_recognised_also_without_their_header() {
    let format = subject().format;
    for (seed, damage) in (0..6).zip([Damage::None, Damage::Flips, Damage::Bytes].into_iter().cycle()) {
        let capture = generated(80_000, seed, damage);
        assert_eq!(score(format, &capture), 99);
        let start = capture.windows(10).position(|bytes| bytes == [0; 10]).expect("it has a start");
        assert!(score(format, &capture[start..]) >= 97, "seed {seed}");
        // Nothing but the packets of tasks and interrupts speaks for a piece.
        assert!(score(format, &capture[30_000..60_000]) <= 60);
        for other in FORMATS.iter().filter(|other| other.name() != "systemview") {
            assert!(score(*other, &capture) < 50, "{} takes seed {seed}", other.name());
        }
    }
}

#[test]
fn other_files_are_not_recognised() {
    let format = subject().format;
    for other in FORMATS.iter().filter(|other| other.name() != "systemview") {
        let mut capture = Vec::new();
        other.generate(100_000, 1, &mut capture).expect("memory does not fail");
        assert_eq!(score(format, &capture), 0, "{}", other.name());
        assert_eq!(score(format, &capture[capture.len() / 3..]), 0, "the middle of {}", other.name());
    }
    let text = "A text, with words; and lines.\n".repeat(3000);
    for (name, sample) in [("text", text.as_bytes()), ("zeros", &[0; 5000]), ("ones", &[0xFF; 5000]), ("nothing", &[])] {
        assert_eq!(score(format, sample), 0, "{name}");
    }
}

/// An image of memory: a control block with two buffers, and the buffer of SystemView as a ring.
fn image(recorded: &[u8], size: usize, has_name: bool) -> Vec<u8> {
    let base = 0x2000_0000u32;
    let (block, buffer, names) = (0x400usize, 0x900usize, 0x200usize);
    let mut image: Vec<u8> = (0..buffer + size + 0x300).map(|index| if index % 3 == 0 { (index / 7) as u8 } else { 0 }).collect();
    let mut ring = vec![0; size];
    recorded.iter().enumerate().for_each(|(index, &byte)| ring[index % size] = byte);
    image[buffer..buffer + size].copy_from_slice(&ring);
    if has_name {
        image[names..names + 8].copy_from_slice(b"SysView\0");
    }
    let name_at = if has_name { base + names as u32 } else { 0x0800_4000 };
    let mut control = b"SEGGER RTT\0\0\0\0\0\0".to_vec();
    let write = (recorded.len() % size) as u32;
    let words = [
        2,
        1,
        0x0800_3000,
        base + 0x800,
        16,
        3,
        3,
        0,
        name_at,
        base + buffer as u32,
        size as u32,
        write,
        write,
        0,
        0,
        0,
        0,
        0,
        0,
        0u32,
    ];
    words.iter().for_each(|word| control.extend(word.to_le_bytes()));
    image[block..block + control.len()].copy_from_slice(&control);
    image
}

#[test]
fn buffers_in_memory_are_unrolled() {
    let capture = generated_with(&GenerateOptions { bytes: 30_000, ..GenerateOptions::default() });
    let start = capture.windows(10).position(|bytes| bytes == [0; 10]).expect("it has a start");
    let stream = &capture[start..];
    let format = subject().format;
    // Not yet full, once around, and with a start in its middle.
    let repeated = [&stream[..6000], &stream[..2500]].concat();
    for (recorded, size, has_name) in
        [(&stream[..3000], 4096, true), (&stream[..3000], 4096, false), (stream, 8192, true), (&repeated[..], 4096, false)]
    {
        let image = image(recorded, size, has_name);
        let found = format.read_memory(&image, 0x400).unwrap_or_else(|error| panic!("{size}, {has_name}: {error}"));
        let unrolled: Vec<u8> = found.pieces.iter().flat_map(|piece| &image[piece.clone()]).copied().collect();
        let expected = &recorded[recorded.len().saturating_sub(size)..];
        assert!(unrolled == expected, "{size}, {has_name}: {} and {} bytes", unrolled.len(), expected.len());
        let ledger = subject().convert(&unrolled, Cut::WHOLE).summary.ledger;
        assert!(ledger.skipped_bytes < 200, "{}", ledger.skipped_bytes);
    }
    // Without a name and a start there is nothing to find it by.
    assert!(format.read_memory(&image(stream, 8192, false), 0x400).is_err());
    assert!(format.read_memory(&capture[..100], 90).is_err());
}

/// The names of all buffers may be in the image, one beside the other.
#[test]
fn the_buffer_is_the_one_whose_name_it_is() {
    let capture = generated_with(&GenerateOptions { bytes: 9_000, ..GenerateOptions::default() });
    let named = image(&capture[70..3_000], 4096, true);
    let expected = subject().format.read_memory(&named, 0x400).expect("it has a name").pieces;
    let mut both = named;
    // The other buffer's name is 12 bytes before this one's.
    both[0x400 + 24..][..4].copy_from_slice(&(0x2000_0200u32 - 12).to_le_bytes());
    both[0x200 - 12..][..9].copy_from_slice(b"Terminal\0");
    assert_eq!(subject().format.read_memory(&both, 0x400).expect("it has two names").pieces, expected);
}

#[test]
fn damaged_control_blocks_are_refused_or_read() {
    let capture = generated_with(&GenerateOptions { bytes: 9_000, ..GenerateOptions::default() });
    let whole = image(&capture[70..], 4096, true);
    for at in (0x410..0x470).chain([0x200, 0x203]) {
        for value in [0, 1, 0x7F, 0xFF] {
            let mut damaged = whole.clone();
            damaged[at] = value;
            if let Ok(found) = subject().format.read_memory(&damaged, 0x400) {
                assert!(found.pieces.iter().all(|piece| piece.end <= damaged.len() && piece.start <= piece.end));
            }
        }
    }
    for len in 0x400..0x480 {
        let _ = subject().format.read_memory(&whole[..len], 0x400);
    }
}

/// A file may begin with its header and bytes from the middle of a stream. Nothing of it is text that something else wrote.
#[test]
fn a_header_before_the_middle_of_a_stream_stays() {
    let capture = generated(40_000, 3, Damage::None);
    let header = capture.windows(10).position(|bytes| bytes == [0; 10]).expect("it has a start");
    for blank in [&b""[..], b"\n"] {
        for at in 20_000..20_100 {
            let cut = [&capture[..header], blank, &capture[at..]].concat();
            let input = Input::from_vec(cut.clone(), &ReadOptions::default()).expect("it is in memory");
            let found = input.recognise(None, &FormatOptions::default(), &ReadOptions::default()).expect("it is a recording");
            assert_eq!((found.len(), found[0].detected.format.name()), (1, "systemview"));
            assert!(found[0].input.bytes() == cut && found[0].input.damages().is_empty(), "cut at byte {at}");
        }
    }
}
