//! Captures under `testdata/systemview`, and the expected views of each.

use crate::captures;
use crate::common::golden::{Goldens, golden_tests};
use crate::run::subject;

golden_tests!(goldens());

fn goldens() -> [Goldens; 1] {
    [Goldens { subject: subject(), folder: "systemview", extension: "SVDat", captures: captures::all(), others: &["README.md"] }]
}
