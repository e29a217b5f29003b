//! The statistics of a run, for scripts.

use serde::Serialize;

use super::{InputReport, TOOL_VERSION};
use crate::stats::report::StatisticsReport;

/// The version of the shape of [`StatsFile`]. A field that is added does not change it.
pub const STATS_SCHEMA_VERSION: u32 = 1;

/// The statistics of all recordings of a run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StatsFile {
    /// [`STATS_SCHEMA_VERSION`].
    pub schema_version: u32,
    /// The program's version.
    pub tool_version: &'static str,
    /// One per recording, in the order in which they were named.
    pub recordings: Vec<Recording>,
}

/// A recording: one input, or one for each core.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Recording {
    /// Its inputs, with their losses, as in the report of a conversion.
    pub inputs: Vec<InputReport>,
    /// `null` if it could not be read; the inputs say why.
    pub statistics: Option<StatisticsReport>,
}

impl StatsFile {
    /// The statistics of these recordings.
    #[must_use]
    pub fn new(recordings: Vec<Recording>) -> StatsFile {
        StatsFile { schema_version: STATS_SCHEMA_VERSION, tool_version: TOOL_VERSION, recordings }
    }

    /// As indented JSON with a final line break.
    ///
    /// # Errors
    /// Never for statistics made by this library; serde's interface wants it.
    pub fn to_json(&self) -> serde_json::Result<String> {
        serde_json::to_string_pretty(self).map(|json| json + "\n")
    }
}
