//! Recognition: every trace buffer, also in memory, and nothing else.

use traceconv::format::tracex::generate::GenerateOptions;
use traceconv::format::tracex::layout::TAIL;
use traceconv::format::{FORMATS, Format};
use traceconv::input::{Input, ReadOptions};

use crate::run::{Cut, convert, generated, generated_with, subject};

fn score(format: &dyn Format, sample: &[u8]) -> u8 {
    format.probe(sample, true).map_or(0, |probe| probe.score)
}

#[test]
fn recordings_are_recognised_and_taken_by_no_other_format() {
    for seed in 0..6 {
        let capture = generated(60_000, seed);
        assert_eq!(score(subject().format, &capture), 99);
        for other in FORMATS.iter().filter(|other| other.name() != "tracex") {
            assert!(score(*other, &capture) < 50, "{} takes seed {seed}", other.name());
        }
    }
}

#[test]
fn other_files_are_not_recognised() {
    let format = subject().format;
    for other in FORMATS.iter().filter(|other| other.name() != "tracex") {
        let mut capture = Vec::new();
        other.generate(100_000, 1, &mut capture).expect("memory does not fail");
        assert_eq!(score(format, &capture), 0, "{}", other.name());
    }
    let capture = generated(2000, 0);
    let with = |at: usize, byte: u8| {
        let mut capture = capture.clone();
        capture[at] = byte;
        score(format, &capture)
    };
    // The magic, the base address, the start of the registry, the end of the ring.
    assert_eq!([with(0, 0), with(8, 1), with(12, 1), with(31, 0)], [0; 4]);
    assert_eq!(score(format, &capture[..47]), 0);
    let text = "TXTB, a text, with words; and lines.\n".repeat(300);
    for (name, sample) in [("text", text.as_bytes()), ("zeros", &[0; 5000]), ("ones", &[0xFF; 5000]), ("nothing", &[])] {
        assert_eq!(score(format, sample), 0, "{name}");
    }
}

/// The content of the memory does not matter: neither what is around the trace buffer nor where it begins.
#[test]
fn buffers_in_memory_are_found_and_read_as_files() {
    let wide = [(2, 0, 0), (3, 7, 9), (5, 300_000, 1 << 20)].map(|place| (true, place));
    for (is_wide, (seed, before, after)) in
        [(0, 0, 16), (1, 7, 0), (2, 300_000, 1 << 20)].map(|place| (false, place)).into_iter().chain(wide)
    {
        let options = GenerateOptions { bytes: 9_000, seed, is_big: seed % 2 == 1, is_wide, ..GenerateOptions::default() };
        let capture = generated_with(&options);
        let mut image: Vec<u8> = (0..before).map(|index: usize| (index % 251) as u8).collect();
        // The kernel's code has the magic, and the tail of a header may be left over from something else.
        image.extend(b"BTXT".repeat(before / 4000));
        image.extend(TAIL.map(u32::to_le_bytes).concat().repeat(usize::from(before > 1000)));
        image.extend([0xEE; 40].repeat(usize::from(before > 0)));
        let start = image.len();
        image.extend(&capture);
        image.extend(vec![0xEE; after]);
        let input = Input::from_vec(image, &ReadOptions::default()).expect("it is in memory");
        let found = input.recognise(None, &Default::default(), &ReadOptions::default()).expect("it is found");
        assert_eq!(found.len(), 1);
        let found = &found[0];
        assert_eq!(found.detected.format.name(), "tracex");
        assert!(found.detected.because.ends_with(&format!("found at byte {start}")), "{}", found.detected.because);
        assert!(found.input.bytes() == capture, "other bytes");
    }
}

#[test]
fn a_buffer_cut_off_by_the_end_of_the_image_is_damaged() {
    let capture = generated(9_000, 0);
    let input = Input::from_vec(capture[..7_001].to_vec(), &ReadOptions::default()).expect("it is in memory");
    let found = input.recognise(None, &Default::default(), &ReadOptions::default()).expect("it is found");
    let damages = found[0].input.damages();
    assert_eq!(damages.len(), 1);
    assert!(damages[0].detail.contains("the image has only 7001 of the"), "{}", damages[0].detail);
    // The entries that are there are read.
    let summary = convert(&capture[..7_001], Cut::WHOLE).summary;
    assert!(summary.ledger.frames_ok > 150, "{}", summary.ledger.frames_ok);
}
