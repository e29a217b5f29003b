//! An existing trace, and whether it was made from the same input bytes.

use xxhash_rust::xxh3::Xxh3;

use super::Source;
use super::scan::releasable;
use crate::perfetto::{self, AttributeValue};

/// The attribute with the program's name and version.
pub const TOOL: &str = "tool";
/// The attribute with the hash of all bytes of all sources.
pub const INPUT_HASH: &str = "input_hash";

/// The number of bytes hashed before their memory is given back.
const STEP_BYTES: usize = 4 << 20;

/// The name and version of this program, as its traces record it.
pub fn tool() -> String {
    format!("traceconv {}", env!("CARGO_PKG_VERSION"))
}

/// The text of a hash in traces.
pub fn input_hash(hash: u128) -> String {
    format!("xxh3-128:{hash:032x}")
}

/// The facts that an existing trace records about itself.
#[derive(Clone, Debug)]
pub struct ExistingTrace {
    before_bytes: u64,
    /// At least the bytes before the first event.
    begin: Vec<u8>,
    attributes: Vec<(String, AttributeValue)>,
}

impl ExistingTrace {
    /// Reads the begin and the end of a trace. `None` if it does not end with the attributes that this version of the program
    /// writes: it is from another program or version, was cut, or is not a trace.
    #[must_use]
    pub fn read(trace: &[u8]) -> Option<ExistingTrace> {
        let (at, attributes) = perfetto::attributes_at_end(trace)?;
        // This is the longest encoding of an identity.
        let longest = perfetto::prelude((u64::MAX, u64::MAX)).len();
        let begin = trace.get(..longest.min(at))?.to_vec();
        let existing = ExistingTrace { before_bytes: at as u64, begin, attributes };
        (existing.text(TOOL) == Some(&tool())).then_some(existing)
    }

    /// The attribute of this name, if it is a text.
    #[must_use]
    pub fn text(&self, key: &str) -> Option<&str> {
        self.attributes.iter().find_map(|(name, value)| match value {
            AttributeValue::Text(text) if name == key => Some(text.as_str()),
            _ => None,
        })
    }

    /// The length of the trace before its attributes, in bytes.
    #[must_use]
    pub fn before_bytes(&self) -> u64 {
        self.before_bytes
    }

    /// Whether it was made from these bytes, according to begin and end of the trace. Costs as much as hashing the bytes.
    #[must_use]
    pub fn is_of(&self, sources: &[Source<'_>]) -> bool {
        let mut hash = Xxh3::new();
        for source in sources {
            let mut end = 0;
            for piece in source.bytes.chunks(STEP_BYTES) {
                hash.update(piece);
                let start = end;
                end += piece.len();
                releasable(start..end).into_iter().for_each(|range| (source.release)(range));
            }
            if let Some(recorder) = source.recorder {
                hash.update(&recorder.text);
            }
        }
        let hash = hash.digest128();
        let prelude = perfetto::prelude(((hash >> 64) as u64, hash as u64));
        self.text(INPUT_HASH) == Some(&input_hash(hash)) && self.begin.starts_with(&prelude)
    }
}
