//! Recognition of QS: every capture, also a piece from its middle, and nothing else.

use traceconv::format::qs::frame;
use traceconv::format::qs::generate::Damage;

use crate::captures::generated;
use crate::common::run::{Cut, Subject};

fn score(sample: &[u8]) -> u8 {
    Subject::new("qs").format.probe(sample, true).map_or(0, |probe| probe.score)
}

#[test]
fn captures_are_recognised_also_by_a_piece() {
    let mut captures = vec![
        ("generated".to_owned(), generated(50_000, 31, Damage::None)),
        ("flips".to_owned(), generated(50_000, 32, Damage::Flips)),
        ("cuts".to_owned(), generated(50_000, 33, Damage::Cuts)),
        ("drops".to_owned(), generated(50_000, 34, Damage::Drops)),
    ];
    captures.extend(crate::compare::external());
    for (name, capture) in captures {
        assert!(score(&capture) >= 80, "{name}: {}", score(&capture));
        let middle = capture.len() / 3;
        let piece = &capture[middle..middle + 256];
        assert!(score(piece) >= 50, "{name}: a piece scores {}", score(piece));
        if capture.len() > 4096 {
            assert!(score(&capture[middle..middle + 1024]) >= 70, "{name}");
        }
    }
}

#[test]
fn the_other_direction_is_recognised_and_reported() {
    let mut capture = Vec::new();
    let commands: [(u8, &[u8]); 9] = [
        (0, &[]),
        (10, &[16, 0xFE, 0xFF, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]),
        (13, &[3, 0x08, 0x0E, 0x00, 0x20]),
        (3, &[0]),
        (16, &[3, 4, 0, 0, 0]),
        (3, &[0]),
        (16, &[5, 7, 0, 0, 0]),
        (3, &[0]),
        (2, &[]),
    ];
    for (seq, (command, data)) in (1u8..).zip(commands) {
        frame::append(seq, command, data, &mut capture);
    }
    let conversion = Subject::new("qs").convert(&capture, Cut::WHOLE);
    let hints = &conversion.summary.facts.hints;
    assert!(hints.iter().any(|hint| hint.contains("the host sends")), "{hints:?}");
    let usual = generated(50_000, 35, Damage::None);
    // A target that sends records of state machines only: commands have the same numbers.
    let (mut steps, mut body, mut seq) = (Vec::new(), Vec::new(), 0u8);
    for frame in usual.split(|&byte| byte == 0x7E) {
        if frame::unescape(frame, &mut body).is_ok() && (1..=9).contains(&body[1]) {
            frame::append(seq, body[1], &body[2..body.len() - 1], &mut steps);
            seq = seq.wrapping_add(1);
        }
    }
    assert!(steps.len() > 1000);
    for capture in [usual, steps] {
        let hints = Subject::new("qs").convert(&capture, Cut::WHOLE).summary.facts.hints;
        assert!(hints.iter().all(|hint| !hint.contains("the host sends")), "{hints:?}");
    }
}

#[test]
fn options_that_are_wrong_are_refused_with_a_reason() {
    let open = |Subject { format, options }| format.open(&[options]).err().map(|error| error.to_string()).unwrap_or_default();
    let error = |name: &'static str, text: &str| open(Subject::new("qs").with_text(name, text));
    assert!(error("qs-sizes", "T3").contains("1, 2 or 4"));
    assert!(error("qs-version", "eight").contains("not a version"));
    assert!(error("qs-tick-hz", "0").contains("not a frequency"));
    assert!(error("qs-counter", "LOAD").contains("no index"));
    assert_eq!(error("qs-sizes", "T2O8"), "");
    assert!(open(Subject::new("qs").with_file("qs-dict", "a.dic", *b"hello")).contains("a.dic: line 1"));
}

#[test]
fn nothing_else_is_recognised() {
    let mut state = 1u64;
    for round in 0..500 {
        let noise: Vec<u8> = std::iter::repeat_with(|| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 56) as u8
        })
        .take(16 << 10)
        .collect();
        assert_eq!(score(&noise), 0, "round {round}");
    }
    let own = std::fs::read(std::env::current_exe().expect("it is known")).expect("it can be read");
    assert!(own.starts_with(b"\x7fELF") || !cfg!(target_os = "linux"));
    for piece in own.chunks(256 << 10) {
        assert_eq!(score(piece), 0);
    }
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/tonbandgeraet");
    for entry in std::fs::read_dir(folder).expect("it is there") {
        let path = entry.expect("it can be listed").path();
        assert_eq!(score(&std::fs::read(&path).expect("it can be read")), 0, "{}", path.display());
    }
    // Frames of another protocol with the same delimiter.
    let ppp: Vec<u8> =
        (0..400u32).flat_map(|n| [0x7E, 0xFF, 0x7D, 0x23, 0xC0, 0x21, n as u8, (n >> 3) as u8, 0x99, 0x7E]).collect();
    assert_eq!(score(&ppp), 0);
}
