//! Statistics that were saved as JSON (`traceconv stats --json`), read back as a baseline. Unknown fields are ignored,
//! and those that an older program did not write are empty.

use serde::Deserialize;

use super::baseline::BaselineFile;
use super::figures::{Figure, Losses, figures};
use crate::stats::report::StatisticsReport;

/// Why a file cannot be a baseline.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SavedError {
    /// It is JSON, but not of statistics.
    #[error("is JSON, but holds no statistics of `traceconv stats --json`, `baseline` or `--report` ({0})")]
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
    /// Of `stats`.
    #[serde(default)]
    recordings: Option<Vec<Recording>>,
    /// Of a report: which inputs, and their statistics.
    #[serde(default)]
    traces: Option<Vec<Trace>>,
    #[serde(default)]
    inputs: Vec<serde_json::Value>,
    /// Of a baseline.
    #[serde(default)]
    figures: Option<serde_json::Value>,
}

#[derive(Deserialize)]
struct Trace {
    inputs: Vec<usize>,
    statistics: Option<StatisticsReport>,
}

#[derive(Deserialize)]
struct Recording {
    inputs: Vec<Input>,
    statistics: Option<StatisticsReport>,
}

/// A line of a report in lines: a trace with its inputs, or the last one, about the run.
#[derive(Deserialize)]
struct Line {
    #[serde(default)]
    schema_version: Option<u32>,
    inputs: serde_json::Value,
    #[serde(default)]
    statistics: Option<StatisticsReport>,
}

/// How a report in lines begins.
const LINES: &[u8] = b"{\"files\":[";

/// The first field of such a file, as it is written or in order of the alphabet.
const FIRST_FIELDS: [&[u8]; 4] = [b"\"schema_version\"", b"\"figures\"", b"\"inputs\"", b"\"recordings\""];

#[derive(Default, Deserialize)]
#[serde(default)]
struct Input {
    events: u64,
    losses: Vec<Loss>,
    repairs: Vec<Loss>,
    findings: Vec<serde_json::Value>,
    error: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Loss {
    count: u64,
    at_least_lost: u64,
}

/// Whether a file looks like saved statistics: recognised by content, as recordings are.
#[must_use]
pub fn is_saved(bytes: &[u8]) -> bool {
    let text = text_of(bytes);
    let fields = text.strip_prefix(b"{").unwrap_or_default().trim_ascii_start();
    text.starts_with(LINES) || FIRST_FIELDS.iter().any(|field| fields.starts_with(field))
}

/// Without a byte order mark and spaces, as editors and tools put them before the text.
fn text_of(bytes: &[u8]) -> &[u8] {
    bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(bytes).trim_ascii_start()
}

/// The figures of a saved file.
#[derive(Debug)]
pub struct Saved {
    /// The figures.
    pub figures: Vec<Figure>,
    /// The number of events of the recording; 0 for a baseline.
    pub events: u64,
    /// How sure its times are, as they were reported.
    pub findings: Vec<serde_json::Value>,
    /// The number of runs of a baseline; `None` for the statistics of one recording.
    pub runs: Option<u64>,
}

/// Reads the figures of one recording or baseline.
///
/// # Errors
/// When they are no statistics of one recording.
pub fn read(bytes: &[u8]) -> Result<Saved, SavedError> {
    let bytes = text_of(bytes);
    if bytes.starts_with(LINES) {
        return read_one(read_lines(bytes).map_err(SavedError::OtherJson)?);
    }
    let file: File = serde_json::from_slice(bytes).map_err(SavedError::OtherJson)?;
    if file.schema_version > 1 {
        return Err(SavedError::Newer(file.schema_version));
    }
    if file.figures.is_some() {
        let mut baseline: BaselineFile = serde_json::from_slice(bytes).map_err(SavedError::OtherJson)?;
        let (findings, runs) = (std::mem::take(&mut baseline.findings), Some(baseline.runs));
        return Ok(Saved { figures: baseline.into_figures(), events: 0, findings, runs });
    }
    let recordings = match (file.recordings, file.traces) {
        (Some(recordings), _) => recordings,
        (None, Some(traces)) => {
            let input = |index: usize| file.inputs.get(index).cloned().and_then(|input| serde_json::from_value(input).ok());
            let recording = |trace: Trace| Recording {
                inputs: trace.inputs.into_iter().filter_map(input).collect(),
                statistics: trace.statistics,
            };
            traces.into_iter().map(recording).collect()
        }
        (None, None) => return Err(SavedError::OtherJson(serde::de::Error::missing_field("recordings"))),
    };
    read_one(recordings)
}

/// The recordings of a report in lines.
fn read_lines(bytes: &[u8]) -> serde_json::Result<Vec<Recording>> {
    let mut recordings = Vec::new();
    for line in serde_json::Deserializer::from_slice(bytes).into_iter::<Line>() {
        let Line { schema_version, inputs, statistics } = line?;
        if schema_version.is_some() {
            return Ok(recordings);
        }
        recordings.push(Recording { inputs: serde_json::from_value(inputs)?, statistics });
    }
    Err(serde::de::Error::custom("it is cut off: its last line is missing"))
}

fn read_one(recordings: Vec<Recording>) -> Result<Saved, SavedError> {
    let count = recordings.len();
    let mut recordings = recordings.into_iter();
    let (Some(recording), None) = (recordings.next(), recordings.next()) else { return Err(SavedError::Several(count)) };
    let sum = |of: fn(&Input) -> u64| recording.inputs.iter().fold(0u64, |sum, input| sum.saturating_add(of(input)));
    let losses = Losses {
        events: sum(|input| input.events),
        cases: sum(|input| input.losses.iter().fold(0, |sum, loss| sum.saturating_add(loss.count))),
        lost_events: sum(|input| input.losses.iter().fold(0, |sum, loss| sum.saturating_add(loss.at_least_lost))),
        repairs: sum(|input| input.repairs.iter().fold(0, |sum, loss| sum.saturating_add(loss.count))),
    };
    match recording.statistics {
        Some(statistics) => Ok(Saved {
            figures: figures(&statistics, losses),
            events: losses.events,
            findings: recording.inputs.into_iter().flat_map(|input| input.findings).collect(),
            runs: None,
        }),
        None => {
            let mut reasons: Vec<String> = recording.inputs.into_iter().filter_map(|input| input.error).collect();
            if reasons.is_empty() {
                reasons.push("it was written without them".into());
            }
            Err(SavedError::Nothing(reasons.join("; ")))
        }
    }
}
