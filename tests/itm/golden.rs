//! Captures under `testdata/itm`, and the expected views of each.

use crate::captures;
use crate::common::golden::{Goldens, golden_tests};
use crate::run::subject;

golden_tests!(goldens());

fn goldens() -> [Goldens; 1] {
    [Goldens { subject: subject(), folder: "itm", extension: "swo", captures: captures::all(), others: &["README.md"] }]
}
