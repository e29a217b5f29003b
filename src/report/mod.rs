//! Reports: the facts of a run as data, as JSON for scripts and as text for people.
//!
//! The names of the JSON fields are a contract: they only change together with [`SCHEMA_VERSION`].

pub mod info;
#[cfg(feature = "cli")]
mod junit;
mod markdown;
pub mod stats;
pub mod stored;
mod table;
mod text;
pub mod viewer;

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::format::{Detail, Format};
use crate::input::detect::by_name;
use crate::input::memory::Part;
use crate::input::{Damage, Input};
use crate::model::{Certainty, Finding, LedgerEntry, Severity};
use crate::pipeline::{ClockOffset, InputSummary};
use crate::stats::report::StatisticsReport;

pub use crate::stats::text::{visible, visible_lines};
#[cfg(feature = "cli")]
pub use junit::junit;
#[cfg(feature = "cli")]
#[doc(hidden)]
pub use junit::{Case, CaseOutcome, Problem, Suite, junit_document};
pub use markdown::{joined, markdown, totals};
pub use table::{Row, table};
pub use text::{name_in_sentence, summary, warning_of_format, without_events};

/// The version of the JSON report's shape.
pub const SCHEMA_VERSION: u32 = 1;

/// The version of this program.
pub const TOOL_VERSION: &str = env!("CARGO_PKG_VERSION");

/// A value as indented JSON with a final line break.
pub(crate) fn indented_json(value: &impl Serialize) -> serde_json::Result<String> {
    serde_json::to_string_pretty(value).map(|json| json + "\n")
}

/// One run.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Report {
    /// [`SCHEMA_VERSION`].
    pub schema_version: u32,
    /// [`TOOL_VERSION`].
    pub tool_version: &'static str,
    /// One per input, in the order in which they were named.
    pub inputs: Vec<InputReport>,
    /// One per recording, in the order of their inputs.
    pub traces: Vec<TraceReport>,
    /// The length of all traces written, in bytes.
    pub output_bytes: u64,
    /// How long it took, in seconds.
    pub wall_seconds: f64,
}

impl Report {
    /// A report of these recordings, each with its inputs.
    #[must_use]
    pub fn new(recordings: Vec<(TraceReport, Vec<InputReport>)>, wall_seconds: f64) -> Report {
        let mut report = Report {
            schema_version: SCHEMA_VERSION,
            tool_version: TOOL_VERSION,
            inputs: Vec::new(),
            traces: Vec::new(),
            output_bytes: 0,
            wall_seconds,
        };
        for (trace, inputs) in recordings {
            report.output_bytes = report.output_bytes.saturating_add(trace.output_bytes);
            let first = report.inputs.len();
            report.inputs.extend(inputs);
            report.traces.push(TraceReport { inputs: (first..report.inputs.len()).collect(), ..trace });
        }
        report
    }

    /// As indented JSON with a final line break.
    ///
    /// # Errors
    /// Never for reports made by this library; serde's interface wants it.
    pub fn to_json(&self) -> serde_json::Result<String> {
        indented_json(self)
    }

    /// As lines of JSON: one for each trace, in which `inputs` are the inputs themselves, and at last one with `schema_version` and the
    /// totals of the run.
    ///
    /// # Errors
    /// Never for reports made by this library; serde's interface wants it.
    pub fn to_ndjson(&self) -> serde_json::Result<String> {
        let mut text = String::new();
        for trace in &self.traces {
            let inputs: Vec<&InputReport> = trace.inputs.iter().filter_map(|&index| self.inputs.get(index)).collect();
            let mut line = serde_json::to_value(trace)?;
            line["inputs"] = serde_json::to_value(inputs)?;
            text += &format!("{line}\n");
        }
        let Report { schema_version, tool_version, output_bytes, wall_seconds, .. } = self;
        let run = serde_json::json!({
            "schema_version": schema_version,
            "tool_version": tool_version,
            "inputs": self.inputs.len(),
            "output_bytes": output_bytes,
            "wall_seconds": wall_seconds,
        });
        Ok(text + &format!("{run}\n"))
    }
}

/// The result of one recording. Every field is always there; unknown values are `null`.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct TraceReport {
    /// Which of [`Report::inputs`] it was made of, counted from 0.
    pub inputs: Vec<usize>,
    /// Where the trace was written, `-` for standard output; `null` if none was.
    pub output: Option<String>,
    /// Its files, if it was split (`--split-size`).
    pub files: Vec<String>,
    /// The length of the trace, in bytes: of all its files.
    pub output_bytes: u64,
    /// The length before compression; `null` if it was not compressed.
    pub uncompressed_bytes: Option<u64>,
    /// The statistics of the time range, as in `stats --json`; `null` without a trace.
    pub statistics: Option<StatisticsReport>,
}

/// The result of one input. Every field is always there; unknown values are `null`.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct InputReport {
    /// Its name as given, `-` for standard input. Bytes that are not Unicode are written as `\xNN`.
    pub path: String,
    /// The bytes of the name in hexadecimal digits; `null` if it is Unicode.
    pub path_bytes: Option<String>,
    /// The result of its conversion; `null` if it was not to be converted.
    pub status: Option<InputStatus>,
    /// Whether its trace was there already, made of the same bytes in the same way.
    pub unchanged: bool,
    /// How long its trace took, in seconds. Not in the JSON: the report on an input is the same in every run.
    #[serde(skip)]
    pub wall_seconds: f64,
    /// Whether it is in no known format. Not in the JSON: `error` says so.
    #[serde(skip)]
    pub unrecognised: bool,
    /// The core that was named with it.
    pub core: Option<u16>,
    /// The format's name, as for `--format`.
    pub format: Option<&'static str>,
    /// The evidence for that format.
    pub detected_because: Option<String>,
    /// Which layers were removed, outermost first: `gzip`, `zstd`, `hex text`, `base64 text`.
    pub layers: Vec<&'static str>,
    /// The length of the file itself, in bytes.
    pub file_bytes: u64,
    /// Where in an image of a target's memory the recording was, with an account of all bytes of the image; `null` if it was in none.
    pub memory: Option<Part>,
    /// The bytes that were given to the decoder (without layers). Always `decoded_bytes + skipped_bytes`.
    pub input_bytes: u64,
    /// Those that became records, delimiters included.
    pub decoded_bytes: u64,
    /// Those that did not.
    pub skipped_bytes: u64,
    /// Frames that became records.
    pub frames_ok: u64,
    /// Frames that did not.
    pub frames_bad: u64,
    /// Events of the common model.
    pub events: u64,
    /// The time of the first event, in nanoseconds.
    pub first_ns: Option<u64>,
    /// The time of the last event, in nanoseconds.
    pub last_ns: Option<u64>,
    /// How its times became those of a trace with several recordings (both above are the trace's); `null` for a single recording.
    pub offset: Option<ClockOffset>,
    /// Missing data, by kind.
    pub losses: Vec<LossReport>,
    /// Corrections, by kind.
    pub repairs: Vec<LossReport>,
    /// The tick rate.
    pub clock: Option<ClockReport>,
    /// The operating system on the target.
    pub system: Option<Cow<'static, str>>,
    /// The number of cores.
    pub cores: u16,
    /// The number of target sessions (resets + 1).
    pub sessions: u32,
    /// How sure clock, modulus, breaks in time, restarts and version are, and why.
    pub findings: Vec<Finding>,
    /// Other facts about the recording, each with its source.
    pub details: Vec<DetailReport>,
    /// Advice, as sentences.
    pub hints: Vec<String>,
    /// Warnings about its trace, as sentences.
    pub warnings: Vec<String>,
    /// Where the trace was written, `-` for standard output; `null` if none was.
    pub output: Option<String>,
    /// Why it was not converted, as a sentence.
    pub error: Option<String>,
}

/// The result of an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum InputStatus {
    /// There is a trace of it.
    Converted,
    /// Its trace was there already.
    Unchanged,
    /// There is a trace, but more is lost than is allowed.
    TooMuchLost,
    /// There is a trace, but less is known than is asked for.
    TooUncertain,
    /// There is no trace.
    Failed,
    /// There is no trace: it is in no known format, and such inputs were to be skipped.
    Skipped,
}

impl InputStatus {
    /// As a word or two.
    #[must_use]
    pub fn text(self) -> &'static str {
        match self {
            InputStatus::Converted => "converted",
            InputStatus::Unchanged => "unchanged",
            InputStatus::TooMuchLost => "too much lost",
            InputStatus::TooUncertain => "too uncertain",
            InputStatus::Failed => "failed",
            InputStatus::Skipped => "skipped",
        }
    }
}

/// A fact about a recording that has no field of its own, see [`Detail`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct DetailReport {
    /// Its name, as a short noun in lower case.
    pub name: Cow<'static, str>,
    /// Its value, with its unit.
    pub value: String,
    /// Where it is known from.
    pub source: String,
}

impl From<&Detail> for DetailReport {
    fn from(detail: &Detail) -> Self {
        DetailReport { name: detail.name.into(), value: detail.value.clone(), source: detail.source.clone() }
    }
}

/// The tick rate of an input.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ClockReport {
    /// A tick lasts `ns_numerator / ns_denominator` nanoseconds.
    pub ns_numerator: u64,
    /// See `ns_numerator`.
    pub ns_denominator: u64,
    /// Ticks per second.
    pub hz: f64,
    /// Where that is known from.
    pub because: Cow<'static, str>,
}

/// All cases of one kind of loss or repair.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct LossReport {
    /// The kind's code.
    pub kind: Cow<'static, str>,
    /// Its description, for people.
    pub text: Cow<'static, str>,
    /// How often it happened.
    pub count: u64,
    /// The offset of the first case in the decoder's input, in bytes; `null` for a loss that is noticed only between events.
    pub first_offset: Option<u64>,
    /// How many events are lost by it, at least.
    pub at_least_lost: u64,
}

impl From<&LedgerEntry> for LossReport {
    fn from(entry: &LedgerEntry) -> Self {
        LossReport {
            kind: entry.kind.code.into(),
            text: entry.kind.text.into(),
            count: entry.count,
            first_offset: entry.first_offset,
            at_least_lost: entry.at_least_lost,
        }
    }
}

impl InputReport {
    /// An input of which only the name is known.
    #[must_use]
    pub fn named(path: String, core: Option<u16>) -> InputReport {
        InputReport { path, core, ..InputReport::default() }
    }

    /// Enters the facts about the input before it is decoded. Damage of its layers becomes losses.
    pub fn enter_input(&mut self, input: &Input) {
        self.layers = input.layers().iter().map(|layer| layer.name()).collect();
        self.file_bytes = input.file_bytes();
        self.memory = input.part().cloned();
        let report = |damage: &Damage| LossReport {
            kind: damage.kind.code.into(),
            text: damage.kind.text.into(),
            count: damage.count,
            first_offset: Some(damage.offset),
            at_least_lost: damage.at_least_lost,
        };
        let (losses, repairs): (Vec<_>, Vec<_>) =
            input.damages().iter().partition(|damage| damage.kind.severity == Severity::Loss);
        self.losses = losses.into_iter().map(report).collect();
        self.hints = repairs.iter().map(|damage| format!("About the file: {}. {}", damage.detail, damage.kind.advice)).collect();
        self.repairs = repairs.into_iter().map(report).collect();
    }

    /// Enters the results of the conversion.
    pub fn enter_summary(&mut self, summary: &InputSummary) {
        self.offset.clone_from(&summary.offset);
        self.enter_stored(stored::StoredInput::from(summary));
    }

    /// Its name with its core if it has one, without control characters.
    pub(crate) fn title(&self) -> String {
        let core = self.core.map_or_else(String::new, |core| format!(" (core {core})"));
        format!("{}{core}", visible(&self.path))
    }

    /// The name of its format for people.
    pub(crate) fn format_title(&self) -> Option<&'static str> {
        self.format.map(|name| by_name(name).map_or(name, Format::title))
    }

    /// The time from its first event to its last, in nanoseconds.
    #[must_use]
    pub fn duration_ns(&self) -> Option<u64> {
        Some(self.last_ns?.saturating_sub(self.first_ns?))
    }

    /// How sure its times are: as sure as what is least sure of all they depend on. `None` if nothing is known of it.
    #[must_use]
    pub fn time_certainty(&self) -> Option<Certainty> {
        self.findings.iter().filter(|finding| finding.of.is_of_time()).map(|finding| finding.certainty).max()
    }

    /// Whether the data speak for more than one reading of it.
    #[must_use]
    pub fn is_ambiguous(&self) -> bool {
        self.findings.iter().any(|finding| finding.certainty == Certainty::Ambiguous)
    }

    /// What its times rest on that the recording does not say, to follow a sentence: `; time unit assumed`.
    #[must_use]
    pub fn doubts(&self) -> String {
        let doubtful = self.findings.iter().filter(|finding| finding.is_doubt());
        doubtful.map(|finding| format!("; {} {}", finding.of.text(), finding.certainty.text())).collect()
    }

    /// How many events are lost, at least.
    #[must_use]
    pub fn at_least_lost(&self) -> u64 {
        self.losses.iter().fold(0, |sum, loss| sum.saturating_add(loss.at_least_lost))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::Facts;
    use crate::model::{Entities, Ledger, LossKind, Matter, Nanos, Rate, losses};
    use crate::stats::Statistics;

    const GAP: LossKind = losses::FRAMES_LOST;
    const FIX: LossKind = losses::TIME_HELD;

    /// An input with one loss and one repair.
    pub(super) fn example() -> InputReport {
        let mut ledger = Ledger::default();
        (ledger.decoded_bytes, ledger.frames_ok) = (990, 100);
        ledger.bad_frame(GAP, 40, 10, 1);
        ledger.enter(FIX, 90, 0);
        let summary = InputSummary {
            ledger,
            events: 98,
            first: Some(Nanos(1_000)),
            last: Some(Nanos(2_500_001_000)),
            offset: None,
            facts: Facts {
                clock: Some((Rate::from_hz(168_000_000, 1).unwrap(), "given by --clock-hz")),
                system: Some("FreeRTOS"),
                cores: 2,
                sessions: 1,
                begins_midway: false,
                clocks: Vec::new(),
                details_of: Vec::new(),
                details: vec![Detail { name: "timer period", value: "1 ms".into(), source: "inferred".into() }],
                findings: vec![Finding::new(Matter::Clock, Certainty::Known, "given by --clock-hz")],
                hints: vec!["Try --elf.".into()],
                refused: None,
            },
        };
        let mut report = InputReport::named("a.bin".into(), Some(1));
        report.enter_summary(&summary);
        report.format = Some("tonbandgeraet");
        report.detected_because = Some("it looks so".into());
        report.file_bytes = 1000;
        report.status = Some(InputStatus::Converted);
        report.wall_seconds = 0.125;
        report.output = Some("a.perfetto-trace".into());
        report.warnings = vec!["nothing is in the time range".into()];
        report
    }

    /// The place of a recording in a memory image.
    pub(super) fn in_memory() -> Part {
        Part {
            what: "a ring".into(),
            image_bytes: 4000,
            offset: 400,
            header_bytes: 60,
            recording_bytes: 1000,
            unused_bytes: 40,
            outside_bytes: 2900,
        }
    }

    #[test]
    fn the_json_keeps_its_contract() {
        let mut failed = InputReport::named("b.bin".into(), None);
        failed.error = Some("b.bin is empty".into());
        failed.status = Some(InputStatus::Failed);
        let of_image = InputReport { memory: Some(in_memory()), ..example() };
        let statistics = Statistics::default().report(&Entities::default());
        let output = of_image.output.clone();
        let trace = TraceReport { output, output_bytes: 5_000, statistics: Some(statistics), ..TraceReport::default() };
        let recordings = vec![(trace, vec![of_image]), (TraceReport::default(), vec![failed])];
        let json = Report { tool_version: "1.2.3", ..Report::new(recordings, 0.25) }.to_json().unwrap();
        let expected = r#"{
  "schema_version": 1,
  "tool_version": "1.2.3",
  "inputs": [
    {
      "path": "a.bin",
      "path_bytes": null,
      "status": "converted",
      "unchanged": false,
      "core": 1,
      "format": "tonbandgeraet",
      "detected_because": "it looks so",
      "layers": [],
      "file_bytes": 1000,
      "memory": {
        "what": "a ring",
        "image_bytes": 4000,
        "offset": 400,
        "header_bytes": 60,
        "recording_bytes": 1000,
        "unused_bytes": 40,
        "outside_bytes": 2900
      },
      "input_bytes": 1000,
      "decoded_bytes": 990,
      "skipped_bytes": 10,
      "frames_ok": 100,
      "frames_bad": 1,
      "events": 98,
      "first_ns": 1000,
      "last_ns": 2500001000,
      "offset": null,
      "losses": [
        {
          "kind": "frames_lost",
          "text": "frames or packets were lost between the target and the file, as their sequence numbers show",
          "count": 1,
          "first_offset": 40,
          "at_least_lost": 1
        }
      ],
      "repairs": [
        {
          "kind": "time_held",
          "text": "a time stamp is earlier than the one before it; the earlier time was held",
          "count": 1,
          "first_offset": 90,
          "at_least_lost": 0
        }
      ],
      "clock": {
        "ns_numerator": 125,
        "ns_denominator": 21,
        "hz": 168000000.0,
        "because": "given by --clock-hz"
      },
      "system": "FreeRTOS",
      "cores": 2,
      "sessions": 1,
      "findings": [
        {
          "of": "clock",
          "certainty": "known",
          "because": "given by --clock-hz",
          "is_recordable": true
        }
      ],
      "details": [
        {
          "name": "timer period",
          "value": "1 ms",
          "source": "inferred"
        }
      ],
      "hints": [
        "Try --elf."
      ],
      "warnings": [
        "nothing is in the time range"
      ],
      "output": "a.perfetto-trace",
      "error": null
    },
    {
      "path": "b.bin",
      "path_bytes": null,
      "status": "failed",
      "unchanged": false,
      "core": null,
      "format": null,
      "detected_because": null,
      "layers": [],
      "file_bytes": 0,
      "memory": null,
      "input_bytes": 0,
      "decoded_bytes": 0,
      "skipped_bytes": 0,
      "frames_ok": 0,
      "frames_bad": 0,
      "events": 0,
      "first_ns": null,
      "last_ns": null,
      "offset": null,
      "losses": [],
      "repairs": [],
      "clock": null,
      "system": null,
      "cores": 0,
      "sessions": 0,
      "findings": [],
      "details": [],
      "hints": [],
      "warnings": [],
      "output": null,
      "error": "b.bin is empty"
    }
  ],
  "traces": [
    {
      "inputs": [
        0
      ],
      "output": "a.perfetto-trace",
      "files": [],
      "output_bytes": 5000,
      "uncompressed_bytes": null,
      "statistics": {
        "first_ns": null,
        "last_ns": null,
        "gaps": 0,
        "gap_ns": 0,
        "functions_ns": 0,
        "cores": [],
        "tasks": [],
        "interrupts": [],
        "objects": [],
        "machines": [],
        "lanes": [],
        "functions": [],
        "heap": null,
        "logs": []
      }
    },
    {
      "inputs": [
        1
      ],
      "output": null,
      "files": [],
      "output_bytes": 0,
      "uncompressed_bytes": null,
      "statistics": null
    }
  ],
  "output_bytes": 5000,
  "wall_seconds": 0.25
}
"#;
        assert_eq!(json, expected);
    }

    #[cfg(feature = "compress")]
    #[test]
    fn damage_of_a_layer_is_a_loss() {
        let input = Input::from_vec(b"ab cd e".to_vec(), &crate::input::ReadOptions::default()).unwrap();
        let mut report = InputReport::named("x".into(), None);
        report.enter_input(&input);
        assert_eq!((report.layers, report.file_bytes), (vec!["hex text"], 7));
        assert_eq!((&*report.losses[0].kind, report.losses[0].first_offset), ("text_encoding_damaged", Some(2)));
    }
}
