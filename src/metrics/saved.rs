//! Statistics that were saved as JSON (`traceconv stats --json`), read back as a baseline. Fields that are not known here are passed over,
//! and those that an older program did not write are empty.

use serde::Deserialize;

use super::figures::Losses;
use crate::stats::report::StatisticsReport;

/// Why a file cannot be a baseline.
#[derive(Debug, thiserror::Error)]
pub enum SavedError {
    /// It is JSON, but not of statistics.
    #[error("is JSON, but holds no statistics of `traceconv stats --json` ({0})")]
    OtherJson(serde_json::Error),
    /// It is of a later program.
    #[error("is of shape {0}, which is newer than this program; it reads shape 1")]
    Newer(u32),
    /// There is not exactly one recording in it.
    #[error("holds {0} recordings; save the statistics of one recording for each file")]
    Several(usize),
    /// The recording could not be read.
    #[error("holds no statistics: {0}")]
    Nothing(String),
}

#[derive(Deserialize)]
struct File {
    schema_version: u32,
    recordings: Vec<Recording>,
}

#[derive(Deserialize)]
struct Recording {
    inputs: Vec<Input>,
    statistics: Option<StatisticsReport>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Input {
    events: u64,
    losses: Vec<Loss>,
    repairs: Vec<Loss>,
    error: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Loss {
    count: u64,
    at_least_lost: u64,
}

/// Whether a file looks like saved statistics: it is told by its content, as captures are.
#[must_use]
pub fn is_saved(bytes: &[u8]) -> bool {
    let start = bytes.iter().position(|byte| !byte.is_ascii_whitespace()).unwrap_or(bytes.len());
    let head = &bytes[start..bytes.len().min(start + 200)];
    head.starts_with(b"{") && head.windows(16).any(|window| window == b"\"schema_version\"")
}

/// Reads the statistics of one recording.
///
/// # Errors
/// When they are no statistics of one recording.
pub fn read(bytes: &[u8]) -> Result<(StatisticsReport, Losses), SavedError> {
    let file: File = serde_json::from_slice(bytes).map_err(SavedError::OtherJson)?;
    if file.schema_version > 1 {
        return Err(SavedError::Newer(file.schema_version));
    }
    let count = file.recordings.len();
    let mut recordings = file.recordings.into_iter();
    let (Some(recording), None) = (recordings.next(), recordings.next()) else { return Err(SavedError::Several(count)) };
    let sum = |of: fn(&Input) -> u64| recording.inputs.iter().fold(0u64, |sum, input| sum.saturating_add(of(input)));
    let losses = Losses {
        events: sum(|input| input.events),
        cases: sum(|input| input.losses.iter().fold(0, |sum, loss| sum.saturating_add(loss.count))),
        lost_events: sum(|input| input.losses.iter().fold(0, |sum, loss| sum.saturating_add(loss.at_least_lost))),
        repairs: sum(|input| input.repairs.iter().fold(0, |sum, loss| sum.saturating_add(loss.count))),
    };
    match recording.statistics {
        Some(statistics) => Ok((statistics, losses)),
        None => {
            let reasons = recording.inputs.into_iter().filter_map(|input| input.error);
            Err(SavedError::Nothing(reasons.collect::<Vec<_>>().join("; ")))
        }
    }
}
