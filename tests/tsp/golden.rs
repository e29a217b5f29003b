//! Captures under `testdata/tsp`, and the expected views of each.

use crate::captures;
use crate::common::golden::Goldens;
use crate::run::subject;

fn goldens() -> [Goldens; 2] {
    let of = |folder, extension, captures, others| Goldens { subject: subject(), folder, extension, captures, others };
    [of("tsp", "bin", captures::streams(), &["README.md", "saved"]), of("tsp/saved", "sniff", captures::saved(), &[])]
}

#[test]
fn captures_give_their_views() {
    goldens().iter().for_each(Goldens::check_views);
}

#[test]
fn threads_and_windows_change_nothing() {
    goldens().iter().for_each(Goldens::check_cuts);
}

#[test]
fn every_detail_of_events_is_readable() {
    goldens().iter().for_each(Goldens::check_details);
}
