//! Recognition: every recording, also pieces of it, bare and in frames, and nothing else.

use traceconv::format::itm::generate::{Damage, GenerateOptions, Times};
use traceconv::format::{FORMATS, Format};
use traceconv::frame::tpiu;
use traceconv::model::Severity;

use crate::captures;
use crate::run::{Conversion, Cut, Random, convert, generated_with, subject, with_options};

fn score(format: &dyn Format, sample: &[u8]) -> u8 {
    format.probe(sample, true).map_or(0, |probe| probe.score)
}

#[test]
fn recordings_are_recognised_also_from_their_middle() {
    let format = subject().format;
    for seed in 0..12 {
        let damage = [Damage::None, Damage::Flips, Damage::Bytes][seed as usize % 3];
        let times = [Times::Both, Times::Global, Times::None][seed as usize / 3 % 3];
        let options =
            GenerateOptions { bytes: 60_000, seed, is_framed: seed % 2 == 1, damage, times, ..GenerateOptions::default() };
        let capture = generated_with(&options);
        if options.is_framed && damage == Damage::Bytes {
            // So many bytes are missing that no piece has enough frames without damage: the source has to be named.
            continue;
        }
        assert!(score(format, &capture) >= 80, "{options:?}");
        if times == Times::Both {
            assert!(score(format, &capture[20_001..40_000]) >= 60 || options.is_framed, "{options:?}");
        }
        let probe = format.probe(&capture, true).expect("it is recognised");
        assert_eq!(probe.reason.contains("CoreSight frames"), options.is_framed, "{}", probe.reason);
        for other in FORMATS.iter().filter(|other| other.name() != "itm") {
            assert!(score(*other, &capture) < 50, "{} takes {options:?}", other.name());
        }
    }
    for capture in captures::all() {
        for other in FORMATS.iter().filter(|other| other.name() != "itm") {
            assert!(score(*other, &capture.bytes) < 50, "{} takes {}", other.name(), capture.name);
        }
    }
}

/// A line at another rate, or a boot loader, before the stream.
#[test]
fn bytes_before_the_stream_are_no_packets() {
    let clean = generated_with(&GenerateOptions { bytes: 60_000, ..GenerateOptions::default() });
    let noise = |seed| {
        let mut random = Random(seed);
        (0..200 + 800 * seed).map(|_| random.below(256) as u8).collect::<Vec<_>>()
    };
    let text = b"I (27) boot: second stage, segment 3: paddr=00012000 size=01f4h\r\n".repeat(40);
    let tables = |conversion: &Conversion| {
        let trace = conversion.read();
        // A loss is an instant.
        let losses = conversion.summary.ledger.entries().len();
        (trace.slices.len(), trace.instants.len() - losses, trace.logs.len(), conversion.summary.events)
    };
    let expected = tables(&convert(&clean, Cut::WHOLE));
    for before in (0..8).map(noise).chain([text]) {
        let capture = [&before[..], &clean].concat();
        assert!(score(subject().format, &capture) >= 80);
        for cut in [Cut::WHOLE, Cut { threads: 2, window_bytes: 1000 }] {
            let conversion = convert(&capture, cut);
            assert_eq!(tables(&conversion), expected);
            let ledger = &conversion.summary.ledger;
            assert_eq!((ledger.skipped_bytes, ledger.entries().len()), (before.len() as u64, 1), "{:?}", ledger.entries());
        }
    }
}

/// A recording from the middle of a stream begins anywhere in a frame; a full sync word follows later, or never.
#[test]
fn frames_may_begin_anywhere() {
    for seed in 1..4 {
        let capture = generated_with(&GenerateOptions { bytes: 40_000, seed, is_framed: true, ..GenerateOptions::default() });
        let whole = convert(&capture, Cut::WHOLE).summary;
        let check = |capture: &[u8], skipped: u64, fewer: i64| {
            assert!(score(subject().format, capture) >= 80, "{skipped}");
            for (subject, cut) in
                [(subject(), Cut { threads: 2, window_bytes: 1000 }), (with_options(&[("tpiu-source", "1")]), Cut::WHOLE)]
            {
                let summary = subject.convert(capture, cut).summary;
                let (ledger, expected) = (&summary.ledger, &whole.ledger);
                assert!(ledger.skipped_bytes <= expected.skipped_bytes + skipped, "{:?}", ledger.entries());
                let missing = expected.frames_ok as i64 - ledger.frames_ok as i64;
                assert!((-2..=fewer).contains(&missing), "{missing} packets are missing");
            }
        };
        for start in 1..=2 * tpiu::FRAME_BYTES {
            // The source is not named again before the next piece of another one: what comes before that is of no known source.
            check(&capture[start..], 900, 400);
        }
        let noise: Vec<u8> = (0..999).map(|index: u32| ((index * index * 37) >> 5) as u8).collect();
        check(&[&noise, &tpiu::FULL_SYNC[..], &capture].concat(), 1003, 0);
    }
}

/// Many formatters never send a full sync word. After lost bytes the packets show where frames begin.
#[test]
fn frames_are_found_again_after_lost_bytes() {
    for seed in 1..4 {
        let capture = generated_with(&GenerateOptions { bytes: 60_000, seed, is_framed: true, ..GenerateOptions::default() });
        let mut capture: Vec<u8> = capture.chunks(4).filter(|word| **word != tpiu::FULL_SYNC).flatten().copied().collect();
        let whole = convert(&capture, Cut::WHOLE).summary.ledger.frames_ok;
        for (lost, at) in [(1, 30_000), (2, 12_345), (5, 50_001)] {
            capture.drain(at..at + lost);
        }
        assert!(score(subject().format, &capture) >= 80);
        for cut in [Cut::WHOLE, Cut { threads: 2, window_bytes: 1000 }] {
            let conversion = convert(&capture, cut);
            let ok = conversion.summary.ledger.frames_ok;
            assert!(ok * 20 > whole * 19 && ok < whole, "{ok} of {whole} packets");
            let hints = conversion.summary.facts.hints.join(" ");
            assert!(!hints.contains("an ITM stream, too"), "{hints}");
        }
    }
}

/// A sync word within a frame shows that bytes are missing before it, also where no packet is damaged.
#[test]
fn a_missing_byte_before_a_sync_word_is_a_loss() {
    let capture = generated_with(&GenerateOptions { bytes: 4000, is_framed: true, ..GenerateOptions::default() });
    assert!(convert(&capture, Cut::WHOLE).summary.ledger.entries().iter().all(|entry| entry.kind.severity == Severity::Repair));
    let last = capture.len() - 300;
    for at in (1000..last).step_by(7) {
        let mut damaged = capture.clone();
        damaged.remove(at);
        let conversion = convert(&damaged, Cut { threads: 2, window_bytes: 1000 });
        let losses = conversion.summary.ledger.entries().iter().any(|entry| entry.kind.severity == Severity::Loss);
        assert!(losses, "byte {at}");
    }
}

/// A recording in flash ends with erased memory.
#[test]
fn erased_memory_after_a_stream_is_no_other_format() {
    let clean = generated_with(&GenerateOptions { bytes: 20_000, ..GenerateOptions::default() });
    for before in [0, 5000] {
        let capture = [vec![0xFF; before], clean.clone(), vec![0xFF; 50_000]].concat();
        let scores: Vec<(u8, &str)> = FORMATS.iter().map(|format| (score(*format, &capture), format.name())).collect();
        assert_eq!(scores.iter().max().map(|best| best.1), Some("itm"), "{scores:?}");
        assert_eq!(convert(&capture, Cut::WHOLE).summary.ledger.decoded_bytes, clean.len() as u64);
    }
}

#[test]
fn text_on_a_port_is_recognised() {
    let text: Vec<u8> = "a line of text\n".bytes().cycle().take(300).flat_map(|byte| [1, byte]).collect();
    assert!(score(subject().format, &text) >= 60);
    let conversion = subject().convert(&text, Cut::WHOLE);
    assert_eq!(conversion.read().logs.len(), 20);
}

#[test]
fn other_files_are_not_recognised() {
    let format = subject().format;
    for other in FORMATS.iter().filter(|other| other.name() != "itm") {
        for seed in 1..4 {
            let mut capture = Vec::new();
            other.generate(100_000, seed, &mut capture).expect("memory does not fail");
            assert!(score(format, &capture) < 50, "{}", other.name());
            assert!(score(format, &capture[capture.len() / 3..]) < 50, "the middle of {}", other.name());
        }
    }
    let text = "A text, with words; and lines.\n".repeat(3000);
    let mut state = 1u32;
    let noise = std::iter::repeat_with(|| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 24) as u8
    });
    let noise: Vec<u8> = noise.take(50_000).collect();
    for (name, sample) in
        [("text", text.as_bytes()), ("zeros", &[0; 5000]), ("ones", &[0xFF; 5000]), ("noise", &noise), ("nothing", &[])]
    {
        assert_eq!(score(format, sample), 0, "{name}");
    }
}
