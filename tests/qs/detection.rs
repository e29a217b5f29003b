//! Which inputs are taken for QS: every capture, also a piece out of its middle, and nothing else.

use traceconv::format::FORMATS;
use traceconv::format::qs::generate::Damage;

use crate::captures::generated;

fn score(sample: &[u8]) -> u8 {
    let format = FORMATS.iter().find(|format| format.name() == "qs").expect("it is registered");
    format.probe(sample, true).map_or(0, |probe| probe.score)
}

#[test]
fn captures_are_recognised_also_by_a_piece() {
    let mut captures = vec![
        ("generated".to_owned(), generated(50_000, 31, Damage::None)),
        ("flips".to_owned(), generated(50_000, 32, Damage::Flips)),
        ("cuts".to_owned(), generated(50_000, 33, Damage::Cuts)),
        ("drops".to_owned(), generated(50_000, 34, Damage::Drops)),
    ];
    if let Some(folder) = crate::compare::folder() {
        for entry in std::fs::read_dir(folder).expect("it can be listed") {
            let path = entry.expect("it can be listed").path();
            if path.extension().is_some_and(|extension| extension == "bin") {
                captures.push((path.display().to_string(), std::fs::read(path).expect("it can be read")));
            }
        }
    }
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
