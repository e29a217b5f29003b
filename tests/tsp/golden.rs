//! Captures under `testdata/tsp`, and the expected views of each.

use crate::captures;
use crate::common::golden::{Goldens, golden_tests};
use crate::run::subject;

golden_tests!(goldens());

fn goldens() -> [Goldens; 2] {
    let of = |folder, extension, captures, others| Goldens { subject: subject(), folder, extension, captures, others };
    [of("tsp", "bin", captures::streams(), &["README.md", "saved"]), of("tsp/saved", "sniff", captures::saved(), &[])]
}
