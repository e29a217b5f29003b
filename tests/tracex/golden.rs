//! Captures under `testdata/tracex`, and the expected views of each.

use crate::captures;
use crate::common::golden::Goldens;
use crate::run::subject;

fn goldens() -> Goldens {
    Goldens { subject: subject(), folder: "tracex", extension: "trx", captures: captures::all(), others: &["README.md"] }
}

#[test]
fn captures_give_their_views() {
    goldens().check_views();
}

#[test]
fn threads_and_windows_change_nothing() {
    goldens().check_cuts();
}

#[test]
fn every_detail_of_events_is_readable() {
    goldens().check_details();
}
