//! The windows: split ∥ scan, then split ∥ decode ∥ → resolve → timeline → encode ∥ → write.
//!
//! Two passes over the input. The first collects facts about the whole recording. The second is a flow: while the records of one window
//! are resolved and those of the window before it are drawn (in file order), the next windows are decoded, and blocks that are complete are
//! encoded and written. Only what is on its way is in memory.

use std::io;
use std::ops::Range;

use crate::format::{Facts, Format, FormatOptions, OptionError};
use crate::model::{Ledger, Nanos, RecorderNotes};
use crate::stats::report::StatisticsReport;

/// One input of a conversion.
#[non_exhaustive]
pub struct Source<'a> {
    /// All its bytes. May be a memory map.
    pub bytes: &'a [u8],
    /// Its format.
    pub format: &'static dyn Format,
    /// Options of its format.
    pub options: FormatOptions,
    /// Called with ranges of `bytes` that will not be read again soon, so that a memory map can give its pages back.
    pub release: &'a (dyn Fn(Range<usize>) + Sync),
    /// The notes of the program that recorded it: they are drawn, and part of the identity of the input.
    pub recorder: Option<&'a RecorderNotes>,
}

impl<'a> Source<'a> {
    /// A source with the format's default options, whose bytes are not released.
    #[must_use]
    pub fn new(bytes: &'a [u8], format: &'static dyn Format) -> Source<'a> {
        Source { bytes, format, options: FormatOptions::default(), release: &|_| {}, recorder: None }
    }

    /// Sets the options of the format.
    #[must_use]
    pub fn options(self, options: FormatOptions) -> Source<'a> {
        Source { options, ..self }
    }

    /// Sets the notes of the program that recorded it.
    #[must_use]
    pub fn recorder(self, recorder: impl Into<Option<&'a RecorderNotes>>) -> Source<'a> {
        Source { recorder: recorder.into(), ..self }
    }

    /// Sets the function that releases bytes.
    #[must_use]
    pub fn release(self, release: &'a (dyn Fn(Range<usize>) + Sync)) -> Source<'a> {
        Source { release, ..self }
    }
}

/// Makes attributes of the trace from the result of the conversion: names and values.
pub type Keep = fn(&Converted) -> Vec<(String, String)>;

/// How to convert.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Options {
    /// The name of the firmware's group in the trace.
    pub firmware_name: String,
    /// The raw events that are drawn as instants.
    pub events: EventDetail,
    /// Nothing before this time is written.
    pub from: Option<TimeBound>,
    /// Nothing after this time is written.
    pub to: Option<TimeBound>,
    /// The size of a window of input, in bytes. No influence on the output.
    pub window_bytes: usize,
    /// The number of threads; 0: one per processor. No influence on the output.
    pub threads: usize,
    /// Whether [`convert()`] gathers statistics too.
    pub statistics: bool,
    /// Threads that are shared with other conversions, instead of `threads`: for a conversion within [`Team::each`]. No influence on
    /// the output.
    pub team: Option<Team>,
    /// Attributes of the trace in addition to those of the conversion.
    pub attributes: Vec<(String, String)>,
    /// Makes more attributes from the result of the conversion, when everything else is written.
    pub keep: Option<Keep>,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            firmware_name: "firmware".into(),
            events: EventDetail::Default,
            from: None,
            to: None,
            // What is on its way should stay in the processor's caches.
            window_bytes: 64 << 10,
            threads: 0,
            statistics: false,
            team: None,
            attributes: Vec::new(),
            keep: None,
        }
    }
}

impl Options {
    /// Sets the name of the firmware's group in the trace.
    #[must_use]
    pub fn firmware_name(self, firmware_name: impl Into<String>) -> Options {
        Options { firmware_name: firmware_name.into(), ..self }
    }

    /// Sets the raw events that are drawn as instants.
    #[must_use]
    pub fn events(self, events: EventDetail) -> Options {
        Options { events, ..self }
    }

    /// Sets the begin of the time range.
    #[must_use]
    pub fn from(self, from: impl Into<Option<TimeBound>>) -> Options {
        Options { from: from.into(), ..self }
    }

    /// Sets the end of the time range.
    #[must_use]
    pub fn to(self, to: impl Into<Option<TimeBound>>) -> Options {
        Options { to: to.into(), ..self }
    }

    /// Sets the size of a window of input, in bytes.
    #[must_use]
    pub fn window_bytes(self, window_bytes: usize) -> Options {
        Options { window_bytes, ..self }
    }

    /// Sets the number of threads; 0: one per processor.
    #[must_use]
    pub fn threads(self, threads: usize) -> Options {
        Options { threads, ..self }
    }

    /// Sets whether [`convert()`] gathers statistics too.
    #[must_use]
    pub fn statistics(self, statistics: bool) -> Options {
        Options { statistics, ..self }
    }

    /// Adds an attribute of the trace.
    #[must_use]
    pub fn attribute(mut self, name: impl Into<String>, value: impl Into<String>) -> Options {
        self.attributes.push((name.into(), value.into()));
        self
    }
}

/// Selects the operations that are drawn as instants.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EventDetail {
    /// Only scheduling, interrupts, levels and spans.
    Overview,
    /// Operations that carry a flow (send → receive, give → take) and rare ones.
    #[default]
    Default,
    /// Also every event as an instant on a track of its core.
    All,
}

/// A bound of a time range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeBound {
    /// On the trace's own time axis.
    Absolute(Nanos),
    /// After the first event.
    AfterStart(Nanos),
}

/// The result of a conversion.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Converted {
    /// One per source, in their order.
    pub inputs: Vec<InputSummary>,
    /// The length of the trace in bytes.
    pub output_bytes: u64,
    /// Warnings for the user: sentences without a final stop.
    pub warnings: Vec<String>,
    /// The statistics of the time range, if requested: one per recording.
    pub statistics: Vec<StatisticsReport>,
}

/// The result for one source.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct InputSummary {
    /// The account of its bytes, its losses and repairs.
    pub ledger: Ledger,
    /// The number of events of the common model.
    pub events: u64,
    /// The time of its first event.
    pub first: Option<Nanos>,
    /// The time of its last event.
    pub last: Option<Nanos>,
    /// Facts about the recording.
    pub facts: Facts,
    /// The alignment of the recording, in a trace with several recordings.
    pub offset: Option<ClockOffset>,
}

impl InputSummary {
    /// Whether anything of the format was found: text between frames alone does not count.
    #[must_use]
    pub fn has_content(&self) -> bool {
        self.events > 0 && self.ledger.frames_ok > 0
    }
}

/// The progress of a conversion.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Progress {
    /// Work done, in bytes of input (both passes counted).
    pub done_bytes: u64,
    /// The total work, in the same unit.
    pub total_bytes: u64,
}

/// The reason why a conversion failed. Damaged input is not an error: it is in the ledger.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConvertError {
    /// The trace could not be written.
    #[error("cannot write the trace")]
    Write(#[source] io::Error),
    /// Stopped by the progress callback.
    #[error("stopped")]
    Stopped,
    /// The recordings cannot be put on one time axis as asked.
    #[error("{0}")]
    Alignment(String),
    /// The sources are of formats that cannot be one recording.
    #[error("{0}")]
    Mismatch(String),
    /// The format refuses the recording, for the options given.
    #[error("{0}")]
    Refused(String),
    /// An option has a value that the format cannot use.
    #[error(transparent)]
    Option(#[from] OptionError),
}

mod align;
mod attributes;
mod bound;
mod clock;
#[cfg(feature = "compress")]
mod compress;
mod convert;
mod detached;
mod drawing;
mod dump;
mod existing_trace;
mod flow;
mod markers;
mod merge;
mod operations;
mod range;
mod recorder;
mod resolving;
mod scan;
mod sizes;
mod statistics;
mod survey;
mod threads;
mod trace;
mod windows;

pub use align::{ClockOffset, Drift};
pub use bound::TimeBoundError;
#[cfg(feature = "compress")]
pub use compress::{Compression, Compressor};
pub use convert::{Alignment, RecordingSources, convert, measure, merge};
pub use dump::dump;
pub use existing_trace::ExistingTrace;
pub use operations::{Operations, operations};
pub use sizes::Sizes;
pub use statistics::{Gathered, statistics};
pub use survey::{
    Contents, CoreContents, GroupContents, InterruptContents, KindCount, LaneContents, MachineContents, ObjectContents,
    SessionContents, Surveyed, TaskContents, survey,
};
pub use threads::Team;
