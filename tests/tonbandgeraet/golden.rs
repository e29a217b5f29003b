//! Captures under `testdata/tonbandgeraet`, and beside each the views that must come out of it.

use crate::captures;
use crate::common::golden::{Capture, Goldens, golden_tests};
use crate::run::{Cut, convert, subject};

golden_tests!(goldens());

fn goldens() -> [Goldens; 1] {
    let log = |capture: &Capture| &*format!("{}.log.txt", capture.name).leak();
    let mut others = vec!["README.md", "demo.bin", "damaged.bin"];
    others.extend(captures::recorded().iter().map(log));
    [Goldens { subject: subject(), folder: "tonbandgeraet", extension: "bin", captures: captures::all(), others: others.leak() }]
}

/// Recordings of the tracer library, with every backend, are complete and need no repair.
#[test]
fn recorded_captures_have_an_empty_ledger() {
    let recorded = captures::recorded();
    assert!(recorded.len() >= 10, "only {} captures of the library are left", recorded.len());
    for capture in recorded {
        let ledger = convert(&capture.bytes, Cut::WHOLE).summary.ledger;
        assert!(ledger.entries().is_empty(), "{}: {:?}", capture.name, ledger.entries());
        assert_eq!((ledger.decoded_bytes, ledger.frames_bad), (capture.bytes.len() as u64, 0), "{}", capture.name);
        assert!(capture.bytes.len() <= 20_000, "{} is large", capture.name);
    }
}
