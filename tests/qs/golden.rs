//! Captures under `testdata/qs`, and the expected views of each.

use crate::captures;
use crate::common::golden::{Goldens, golden_tests};
use crate::common::run::Subject;

golden_tests!(goldens());

fn goldens() -> [Goldens; 1] {
    [Goldens { subject: Subject::new("qs"), folder: "qs", extension: "bin", captures: captures::all(), others: &["README.md"] }]
}
