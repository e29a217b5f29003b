//! Events of a recording on its way from the target into the file, as the program that recorded it noted it.

use super::LossKind;

/// A loss, or something else that is worth a place on the timeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RecorderNote {
    /// The kind; its severity says whether data are missing.
    pub kind: LossKind,
    /// The place in the recording, in bytes: before it everything was as it should be.
    pub offset: u64,
    /// The number of cases.
    pub count: u64,
    /// The number of bytes that are known to be missing; 0 if unknown.
    pub bytes: u64,
}

impl RecorderNote {
    /// One case of `kind` at an offset in the recording.
    #[must_use]
    pub fn new(kind: LossKind, offset: u64) -> RecorderNote {
        RecorderNote { kind, offset, count: 1, bytes: 0 }
    }
}

/// All notes about a recording.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RecorderNotes {
    /// The bytes that they were read from: part of the identity of the input.
    pub text: Vec<u8>,
    /// The notes, in order of their offsets.
    pub notes: Vec<RecorderNote>,
    /// The source of the recording, for people, e.g. `serial:/dev/ttyACM0?baud=921600`.
    pub source: Option<String>,
    /// The faults of the notes, as sentences.
    pub hints: Vec<String>,
}
