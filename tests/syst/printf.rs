//! printf formatting against the C library's own `snprintf`, digit for digit.

use proptest::prelude::*;

use crate::printf_case::Case;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20_000))]

    #[test]
    fn formats_print_as_the_c_library_prints_them(bytes in prop::collection::vec(any::<u8>(), 0..96)) {
        Case::from_bytes(&bytes).check();
    }
}

/// The generator reaches every letter, every length, and widths and precisions of every kind.
#[test]
fn the_cases_have_everything() {
    let mut seen = std::collections::BTreeSet::new();
    let mut state = 1u64;
    for _ in 0..20_000 {
        let mut bytes = [0; 64];
        for byte in &mut bytes {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            *byte = (state >> 56) as u8;
        }
        let debug = format!("{:?}", Case::from_bytes(&bytes));
        for part in debug.split("format: \"%").skip(1) {
            let format = part.split('"').next().unwrap_or("");
            let size = |text: &str| {
                if text.is_empty() {
                    "none"
                } else if text == "*" {
                    "argument"
                } else {
                    "fixed"
                }
            };
            let decorations = format.trim_start_matches(['-', '+', ' ', '#', '0']);
            let tail = decorations.trim_start_matches(|c: char| c.is_ascii_digit() || c == '*' || c == '.');
            let sizes = decorations.strip_suffix(tail).unwrap_or("");
            seen.insert(format!("conversion {tail}"));
            let (width, precision) = sizes.split_once('.').map_or((sizes, None), |(width, precision)| (width, Some(precision)));
            seen.insert(format!("width {}", size(width)));
            seen.insert(format!("precision {}", precision.map_or("absent", size)));
        }
    }
    let wanted =
        ["conversion lld", "conversion hhx", "conversion tu", "conversion jX", "conversion La", "conversion lc", "conversion zn"];
    let sizes = [
        "width none",
        "width fixed",
        "width argument",
        "precision absent",
        "precision none",
        "precision fixed",
        "precision argument",
    ];
    for wanted in wanted.iter().chain(&sizes) {
        assert!(seen.contains(*wanted), "{wanted}: {seen:?}");
    }
}
