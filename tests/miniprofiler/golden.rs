//! Captures under `testdata/miniprofiler`, and the expected views of each.

use crate::captures;
use crate::common::golden::{Goldens, golden_tests};
use crate::run::subject;

golden_tests!(goldens());

fn goldens() -> [Goldens; 1] {
    [Goldens { subject: subject(), folder: "miniprofiler", extension: "bin", captures: captures::all(), others: &["README.md"] }]
}
