//! The input formats, and the contract between them and the pipeline.
//!
//! A format is a folder here and a line in [`FORMATS`]. Its work is cut in stages so that the pipeline can run the expensive
//! ones on any thread:
//!
//! 1. **split**: [`Recording::cut`] says where the input may be cut ([`crate::frame`] states the contract).
//! 2. **scan**: [`Recording::scan`] collects from each part, in parallel, the facts that hold for the whole trace (names, clock).
//! 3. **decode**: [`Decode::decode`] turns each part into records, in parallel, without state.
//! 4. **resolve**: [`Resolve::resolve`] turns records, in file order, into events of the common model.

#[doc(hidden)]
pub mod miniprofiler;
mod options;
#[doc(hidden)]
pub mod qs;
mod stages;
#[doc(hidden)]
pub mod syst;
#[doc(hidden)]
pub mod tonbandgeraet;
#[doc(hidden)]
pub mod tsp;

use std::ops::Range;

pub use options::{FormatOptions, OptionError, OptionKind, OptionSpec, OptionValue};
pub use stages::{Decode, ErasedDecode, ErasedRecording, ErasedResolve, ErasedStages, Parcel, Recording, Resolve, Stages, erase};

use crate::model::{Entities, EventBatch, Ledger, Rate, SideClock};

/// All formats, in the order in which they are listed to users.
pub const FORMATS: &[&dyn Format] = &[
    &tonbandgeraet::Tonbandgeraet,
    &qs::Qs,
    &syst::SystText,
    &syst::SystRaw,
    &syst::SystStp,
    &tsp::Tsp,
    &miniprofiler::MiniProfiler,
];

/// One input format.
pub trait Format: Sync {
    /// The name for `--format`.
    fn name(&self) -> &'static str;

    /// The name for people.
    fn title(&self) -> &'static str;

    /// What makes such recordings, for people, as a noun without a final stop.
    fn recorded_by(&self) -> &'static str;

    /// By what a recording is told to be of this format, for people, as a noun without a final stop.
    fn told_by(&self) -> &'static str;

    /// Whether a sample from the start of an input (at most [`SAMPLE_BYTES`], the whole of a smaller input) looks like this
    /// format, how sure that is, and why. `whole` says whether the sample is the whole input.
    fn probe(&self, sample: &[u8], whole: bool) -> Option<Probe>;

    /// The options that only this format understands, or a few.
    fn options(&self) -> &'static [OptionSpec] {
        &[]
    }

    /// Starts reading a recording of this format: one input, or several that are parts of one recording (one per core). There
    /// is one set of options for each; inputs are known by their place in this list from here on.
    ///
    /// # Errors
    /// When an option has a value that the format cannot use.
    fn open(&self, inputs: &[FormatOptions]) -> Result<Box<dyn ErasedRecording>, OptionError>;

    /// How recordings of this format are found in an image of a target's memory; empty if targets keep none there.
    fn memory_marks(&self) -> &'static [MemoryMark] {
        &[]
    }

    /// The recording whose mark stands at `at` in an image of a target's memory.
    ///
    /// # Errors
    /// Why none stands there, as the end of a sentence without a final stop.
    fn read_memory(&self, _image: &[u8], _at: usize) -> Result<Kept, String> {
        Err("this format keeps no recordings in memory".into())
    }
}

/// Bytes at which a recording in memory is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryMark {
    /// The bytes. Long enough not to turn up by chance.
    pub bytes: &'static [u8],
    /// What stands there, for people, e.g. `a ring of the tracer library`.
    pub what: &'static str,
}

/// A recording that a target kept in its memory, as ranges of the image. All of them lie within the image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kept {
    /// All of it: header, recording and unused room.
    pub range: Range<usize>,
    /// How much of that is header, in bytes.
    pub header_bytes: usize,
    /// The pieces of the recording, in the order of recording, without overlap.
    pub pieces: Vec<Range<usize>>,
    /// The number of cores that it is of.
    pub cores: u32,
    /// What it is, for people, without a final stop.
    pub what: String,
    /// What is wrong with it.
    pub damages: Vec<KeptDamage>,
}

/// What is wrong with a recording in memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptDamage {
    /// Where in the image.
    pub image_offset: usize,
    /// How much of the recording, in bytes, precedes it.
    pub offset: usize,
    /// What, as a sentence without a final stop.
    pub what: String,
}

/// How much of an input [`Format::probe`] is shown, in bytes.
pub const SAMPLE_BYTES: usize = 1 << 20;

/// The answer of a format that recognises an input.
#[derive(Clone, Debug, PartialEq)]
pub struct Probe {
    /// From 0 (cannot be) to 100 (certain). Below 50 an input is not taken for this format without being asked to.
    pub score: u8,
    /// What speaks for it, as a sentence without a final stop.
    pub reason: String,
}

/// What ran on the target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// No operating system.
    BareMetal,
    /// FreeRTOS.
    FreeRtos,
}

/// A part of the input, between two cuts.
#[derive(Clone, Copy, Debug)]
pub struct Part<'a> {
    /// The whole input.
    pub input: &'a [u8],
    /// Where the part starts.
    pub start: usize,
    /// Where it ends (exclusive).
    pub end: usize,
}

impl<'a> Part<'a> {
    /// A part from its range; held within the input.
    #[must_use]
    pub fn new(input: &'a [u8], range: Range<usize>) -> Part<'a> {
        let end = range.end.min(input.len());
        Part { input, start: range.start.min(end), end }
    }

    /// Its bytes.
    #[must_use]
    pub fn bytes(&self) -> &'a [u8] {
        self.input.get(self.start..self.end).unwrap_or(&[])
    }
}

/// Takes the records of a listing; stops it by returning false.
pub type ListRecord<'a> = dyn FnMut(&RecordView<'_>) -> bool + 'a;

/// Where a resolver puts its results.
pub struct Resolved<'a> {
    /// The entities that events refer to. Shared by all inputs of one conversion.
    pub entities: &'a mut Entities,
    /// The events. Those of one core are in order of time.
    pub batch: &'a mut EventBatch,
    /// The account of this input.
    pub ledger: &'a mut Ledger,
}

/// What is known about a recording.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    /// The tick rate and where it comes from, e.g. `told by the capture`.
    pub clock: Option<(Rate, &'static str)>,
    /// The operating system, for people, e.g. `FreeRTOS`.
    pub system: Option<&'static str>,
    /// The number of cores.
    pub cores: u16,
    /// The number of target sessions (resets + 1).
    pub sessions: u32,
    /// Whether recordings of this kind begin while the firmware runs: then spans may be open, and nothing says so.
    pub begins_midway: bool,
    /// Other clocks, and what they read at times of the trace. Before the second pass: what is known of the time of day.
    pub clocks: Vec<SideClock>,
    /// What else was found out, for the report.
    pub details: Vec<Detail>,
    /// Advice on what to try, as sentences.
    pub hints: Vec<String>,
    /// Why the recording must not be converted with these options, though it could be, as a clause.
    pub refused: Option<String>,
}

/// A fact about a recording that has no field of its own.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Detail {
    /// What it is, as a short noun in lower case: `timer period`. The key of scripts.
    pub name: &'static str,
    /// Its value, with its unit.
    pub value: String,
    /// Where it is known from, e.g. `told by the capture`, `--tick-hz`, `inferred`, `assumed`.
    pub source: String,
}

/// One record, for `traceconv dump`.
#[derive(Clone, Debug)]
pub struct RecordView<'a> {
    /// Offset of its frame in the input, in bytes.
    pub offset: u64,
    /// Its name in the format's notes; `invalid` for a frame that is none.
    pub record: &'a str,
    /// The core it belongs to.
    pub core: Option<u16>,
    /// Its time stamp, in ticks.
    pub ticks: Option<u64>,
    /// Its time stamp in nanoseconds, if it can be told.
    pub nanos: Option<u64>,
    /// Its other fields, in the order of the wire.
    pub fields: &'a [(&'a str, FieldValue<'a>)],
}

/// A field of a record.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum FieldValue<'a> {
    /// An unsigned number.
    Uint(u64),
    /// A signed number.
    Int(i64),
    /// A text (bytes that were not UTF-8 replaced).
    Text(&'a str),
    /// Raw bytes, shown in hex.
    Bytes(&'a [u8]),
}
