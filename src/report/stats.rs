//! The statistics of a run, for scripts.

use serde::Serialize;

use super::{InputReport, LossReport, TOOL_VERSION, indented_json};
use crate::model::{Finding, counted};
use crate::stats::report::StatisticsReport;

/// The version of the shape of [`StatsFile`]. A field that is added does not change it.
pub const STATS_SCHEMA_VERSION: u32 = 1;

/// The statistics of all recordings of a run.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
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
#[non_exhaustive]
pub struct Recording {
    /// Its inputs, with their losses, as in the report of a conversion.
    pub inputs: Vec<InputReport>,
    /// The losses of all inputs together.
    pub losses: LossTotals,
    /// `null` if it could not be read; the inputs say why.
    pub statistics: Option<StatisticsReport>,
}

/// The losses of a recording, summed up. The inputs have kinds and places.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct LossTotals {
    /// Cases in which something is missing.
    pub cases: u64,
    /// Events that are missing, at least.
    pub at_least_lost: u64,
    /// Cases in which something was corrected.
    pub repairs: u64,
}

impl Recording {
    /// A recording of these inputs.
    #[must_use]
    pub fn new(inputs: Vec<InputReport>, statistics: Option<StatisticsReport>) -> Recording {
        let mut losses = LossTotals::default();
        for input in &inputs {
            let count = |all: &[LossReport]| all.iter().fold(0u64, |sum, loss| sum.saturating_add(loss.count));
            losses.cases = losses.cases.saturating_add(count(&input.losses));
            losses.at_least_lost = losses.at_least_lost.saturating_add(input.at_least_lost());
            losses.repairs = losses.repairs.saturating_add(count(&input.repairs));
        }
        Recording { inputs, losses, statistics }
    }

    /// Events of all inputs.
    #[must_use]
    pub fn events(&self) -> u64 {
        self.inputs.iter().fold(0, |sum, input| sum.saturating_add(input.events))
    }

    /// The losses, in a line for people, and what is not sure about the times.
    #[must_use]
    pub fn losses_line(&self) -> String {
        let LossTotals { cases, at_least_lost, .. } = self.losses;
        let losses = self.inputs.iter().flat_map(|input| &input.losses);
        let kinds: Vec<String> = losses.map(|loss| format!("{} x {}", loss.count, loss.kind)).collect();
        let losses = match cases {
            0 => "none".into(),
            _ => format!("{}, at least {} ({})", counted(cases, "case"), counted(at_least_lost, "event"), kinds.join(", ")),
        };
        format!("Losses: {losses}{}\n", doubts(&self.inputs))
    }
}

/// The doubts about the times of a recording's inputs, each once.
#[must_use]
pub fn doubts(inputs: &[InputReport]) -> String {
    let mut all: Vec<String> = inputs.iter().map(InputReport::doubts).filter(|doubts| !doubts.is_empty()).collect();
    all.dedup();
    all.concat()
}

/// The doubts about the times of two recordings that are compared. If only one has some, a change may come from it.
#[must_use]
pub fn notes_on_comparison(names: [&str; 2], inputs: [&[InputReport]; 2]) -> Vec<String> {
    let of = inputs.map(|inputs| doubts(inputs).trim_start_matches("; ").to_owned());
    if of[0] == of[1] {
        return if of[0].is_empty() { Vec::new() } else { vec![format!("both: {}", of[0])] };
    }
    let is_of_one = of.iter().any(String::is_empty);
    let tail = if is_of_one { ", unlike the other: their times may not be comparable" } else { "" };
    let named = names.iter().zip(&of).filter(|(_, doubts)| !doubts.is_empty());
    named.map(|(name, doubts)| format!("{name}: {doubts}{tail}")).collect()
}

/// What is doubtful about the times of several runs, each once, as a baseline keeps it.
#[must_use]
pub fn doubtful_findings<'a>(inputs: impl Iterator<Item = &'a InputReport>) -> Vec<serde_json::Value> {
    let mut all: Vec<&Finding> = Vec::new();
    for finding in inputs.flat_map(|input| &input.findings).filter(|finding| finding.is_doubt()) {
        if !all.iter().any(|one| (one.of, one.certainty) == (finding.of, finding.certainty)) {
            all.push(finding);
        }
    }
    all.into_iter().filter_map(|finding| serde_json::to_value(finding).ok()).collect()
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
        indented_json(self)
    }
}
