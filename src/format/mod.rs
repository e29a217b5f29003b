//! The input formats, and the contract between them and the pipeline.
//!
//! A format is a folder here and a line in [`FORMATS`]. Its work is divided into stages, so that the pipeline can run the
//! expensive ones on any thread:
//!
//! 1. **split**: [`Recording::cut`] says where the input may be cut ([`crate::frame`] states the contract).
//! 2. **scan**: [`Recording::scan`] collects from each part, in parallel, the facts that hold for the whole trace (names, clock).
//! 3. **decode**: [`Decode::decode`] turns each part into records, in parallel, without state.
//! 4. **resolve**: [`Resolve::resolve`] turns records, in file order, into events of the common model.

#[cfg(any(test, feature = "generate"))]
mod generated;
#[doc(hidden)]
pub mod host;
#[doc(hidden)]
pub mod itm;
#[doc(hidden)]
pub mod miniprofiler;
mod options;
pub mod program;
#[doc(hidden)]
pub mod qs;
mod stages;
#[doc(hidden)]
pub mod syst;
#[doc(hidden)]
pub mod systemview;
#[doc(hidden)]
pub mod tonbandgeraet;
#[doc(hidden)]
pub mod tracex;
#[doc(hidden)]
pub mod tsp;

use std::ops::Range;

pub use options::{CORES_SEPARATE, FormatOptions, OptionError, OptionKind, OptionSpec, OptionValue};
pub use stages::{Decode, ErasedDecode, ErasedRecording, ErasedResolve, ErasedStages, Parcel, Recording, Resolve, Stages, erase};

use crate::model::{Entities, EventBatch, Finding, Ledger, Rate, SideClock};

/// All formats, in the order in which they are listed to users.
pub const FORMATS: &[&dyn Format] = &[
    &tonbandgeraet::Tonbandgeraet,
    &qs::Qs,
    &syst::SystText,
    &syst::SystRaw,
    &syst::SystStp,
    &tsp::Tsp,
    &miniprofiler::MiniProfiler,
    &systemview::SystemView,
    &tracex::TraceX,
    &itm::Itm,
];

/// One input format.
pub trait Format: Sync {
    /// The name for `--format`.
    fn name(&self) -> &'static str;

    /// The name for people.
    fn title(&self) -> &'static str;

    /// The recorders of the format, for people, as a noun without a final stop.
    fn recorded_by(&self) -> &'static str;

    /// How a recording of this format is recognised, for people, as a noun without a final stop.
    fn recognised_by(&self) -> &'static str;

    /// Whether a sample from the start of an input (at most [`SAMPLE_BYTES`], the whole of a smaller input) looks like this
    /// format, how certain that is, and why. `whole`: the sample is the whole input.
    fn probe(&self, sample: &[u8], whole: bool) -> Option<Probe>;

    /// The options of this format. Other formats may have options of the same names.
    fn options(&self) -> &'static [OptionSpec] {
        &[]
    }

    /// Whether the number of the target's cores ([`FormatOptions::cores`]) has an effect.
    fn takes_cores(&self) -> bool {
        false
    }

    /// Starts reading a recording of this format: one input, or several that are parts of one recording (one per core). There
    /// is one set of options for each; inputs are known by their place in this list from here on.
    ///
    /// # Errors
    /// When an option has a value that the format cannot use.
    fn open(&self, inputs: &[FormatOptions]) -> Result<Box<dyn ErasedRecording>, OptionError>;

    /// Passes the bytes of a channel of a recording, piece by piece, to `out`: of a stream of its own that a recording of this format
    /// carries. Gives the losses in the recording: by their place among the bytes of the channel, how many; `None`: this format has no channels.
    fn channel(&self, _bytes: &[u8], _number: u16, _out: &mut dyn FnMut(&[u8])) -> Option<Vec<(u64, u64)>> {
        None
    }

    /// The cores of a file that holds a recording of each: their numbers, and the pieces of each one's recording, as ranges of the file.
    /// Empty: the file is one recording.
    fn cores(&self, _bytes: &[u8]) -> Vec<(u16, Vec<Range<usize>>)> {
        Vec::new()
    }

    /// How recordings of this format are found in an image of a target's memory. Empty: targets keep no recordings in memory.
    fn memory_marks(&self) -> &'static [MemoryMark] {
        &[]
    }

    /// The recording whose mark is at `at` in an image of a target's memory.
    ///
    /// # Errors
    /// Why there is no recording, as the end of a sentence without a final stop.
    fn read_memory(&self, _image: &[u8], _at: usize) -> Result<MemoryRecording, String> {
        Err("this format keeps no recordings in memory".into())
    }

    /// The host's side of its protocol. `None`: targets of this format send without being asked.
    fn host(&self, _wishes: &host::Wishes) -> Option<Box<dyn host::Host>> {
        None
    }

    /// Writes a capture of a simulated firmware, which ends with the record that reaches `bytes`. Another seed is another run of it.
    /// Gives the options that it is read with.
    ///
    /// # Errors
    /// Those of `out`.
    #[cfg(any(test, feature = "generate"))]
    fn generate(&self, bytes: u64, seed: u64, out: &mut dyn std::io::Write) -> std::io::Result<FormatOptions>;
}

/// Bytes by which a recording in memory is recognised.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryMark {
    /// The bytes. Long enough not to occur by chance.
    pub bytes: &'static [u8],
    /// The thing that begins with them, for people, e.g. `a ring of the tracer library`.
    pub what: &'static str,
}

/// A recording in a target's memory, as ranges of the image. All ranges are within the image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemoryRecording {
    /// All of it: header, recording and free space.
    pub range: Range<usize>,
    /// The length of the header, in bytes.
    pub header_bytes: usize,
    /// The pieces of the recording, in the order of recording, without overlap.
    pub pieces: Vec<Range<usize>>,
    /// The number of cores that it was recorded on.
    pub cores: u32,
    /// A short description, for people, without a final stop.
    pub what: String,
    /// Damage found in it.
    pub damages: Vec<MemoryDamage>,
}

/// Damage to a recording in memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemoryDamage {
    /// Where in the image.
    pub image_offset: usize,
    /// Where in the recording, in bytes from its start.
    pub offset: usize,
    /// The damage, as a sentence without a final stop.
    pub what: String,
}

/// The number of bytes at the start of an input that [`Format::probe`] is given.
pub const SAMPLE_BYTES: usize = 1 << 20;

/// The answer of a format that recognises an input.
#[derive(Clone, Debug, PartialEq)]
pub struct Probe {
    /// From 0 (impossible) to 100 (certain). Below 50 the format is used only if the user names it.
    pub score: u8,
    /// The evidence for this format, as a sentence without a final stop.
    pub reason: String,
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
    /// The part of this range, clamped to the input.
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

/// Receives the records of a listing. Returns false to stop it.
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

/// Facts about a recording.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    /// The tick rate and its source, e.g. `recorded in the capture`.
    pub clock: Option<(Rate, &'static str)>,
    /// The operating system, for people, e.g. `FreeRTOS`.
    pub system: Option<&'static str>,
    /// The number of cores.
    pub cores: u16,
    /// The number of target sessions (resets + 1).
    pub sessions: u32,
    /// Whether recordings of this kind begin while the firmware runs: spans may then be open at the begin of the recording
    /// without a record that says so.
    pub begins_midway: bool,
    /// Other clocks, and their readings at times of the trace. Before the second pass: those of the time of day, as far as known.
    pub clocks: Vec<SideClock>,
    /// How sure clock, modulus, restarts and version are, with the evidence.
    pub findings: Vec<Finding>,
    /// Other facts, for the report.
    pub details: Vec<Detail>,
    /// Facts about each input alone, in the order of the inputs; empty if there are none.
    pub details_of: Vec<Vec<Detail>>,
    /// Advice, as sentences.
    pub hints: Vec<String>,
    /// Why the recording must not be converted with these options, although it could be, as a clause.
    pub refused: Option<String>,
}

/// Whether a recording lacks records that it would have if they were not filtered: how many there are, and how many of those that usually
/// come with them. A few may be damaged ones.
#[must_use]
pub fn is_unrecorded(count: u64, companions: u64) -> bool {
    companions >= LEAST_COMPANIONS && count < companions.div_ceil(1000)
}

/// With fewer of these, it is not known whether the others are filtered.
const LEAST_COMPANIONS: u64 = 32;

/// A fact about a recording that has no field of its own.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Detail {
    /// A short noun in lower case: `timer period`. Scripts use it as a key.
    pub name: &'static str,
    /// The value, with its unit.
    pub value: String,
    /// The source: `recorded in the capture`, `given by an option`, `inferred`, `assumed` or `measured`, with details if needed.
    pub source: String,
}

/// The name of the [`Detail`] of losses that are counted with another input of the recording.
pub const SHARED_LOSSES: &str = "losses";

/// One record, for `traceconv dump`.
#[derive(Clone, Debug)]
pub struct RecordView<'a> {
    /// Offset of its frame in the input, in bytes.
    pub offset: u64,
    /// Its name in the format's notes; `invalid` for bytes that are not a valid frame.
    pub record: &'a str,
    /// The core it belongs to.
    pub core: Option<u16>,
    /// Its time stamp as on the wire, in ticks.
    pub ticks: Option<u64>,
    /// Its judged time in nanoseconds, as in the trace; `None` if it has none. Formats leave it to the pipeline.
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
    /// A floating-point number.
    Float(f64),
    /// Several values.
    List(&'a [FieldValue<'a>]),
}
