//! Captures under `testdata/syst/`, and beside each the views that must come out of it.

use crate::captures;
use crate::common::golden::{Goldens, golden_tests};

golden_tests!(goldens());

fn goldens() -> [Goldens; 3] {
    let of = |name, folder, extension, captures| Goldens {
        subject: captures::subject(name),
        folder,
        extension,
        captures,
        others: &[],
    };
    [
        of("syst-text", "syst/text", "txt", captures::text()),
        of("syst-raw", "syst/raw", "bin", captures::raw()),
        of("syst-stp", "syst/stp", "stp", captures::stp()),
    ]
}

#[test]
fn each_capture_is_recognised() {
    for goldens in goldens() {
        for capture in &goldens.captures {
            let found = traceconv::input::detect::detect(&capture.bytes, &[]);
            // These have too few messages that can be delimited to be recognised.
            if capture.name == "bare" || capture.name == "losses" {
                continue;
            }
            let found = found.unwrap_or_else(|error| panic!("{}: {error}", capture.name));
            assert_eq!(found.format.name(), goldens.subject.format.name(), "{}: {}", capture.name, found.because);
        }
    }
}
