//! What happened: the facts of a run as data, as JSON for scripts and as text for people.
//!
//! The names of the JSON fields are a contract: they only change together with [`SCHEMA_VERSION`].

mod text;

use serde::Serialize;

use crate::format::{Detail, Facts};
use crate::input::Input;
use crate::input::memory::Part;
use crate::model::{Ledger, LedgerEntry, Severity};
use crate::pipeline::InputSummary;

pub use text::summary;

/// The version of the JSON report's shape.
pub const SCHEMA_VERSION: u32 = 1;

/// The version of this program.
pub const TOOL_VERSION: &str = env!("CARGO_PKG_VERSION");

/// One run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// [`SCHEMA_VERSION`].
    pub schema_version: u32,
    /// [`TOOL_VERSION`].
    pub tool_version: &'static str,
    /// One per input, in the order in which they were named.
    pub inputs: Vec<InputReport>,
    /// The length of all traces written, in bytes.
    pub output_bytes: u64,
    /// How long it took, in seconds.
    pub wall_seconds: f64,
}

impl Report {
    /// A report of these inputs.
    #[must_use]
    pub fn new(inputs: Vec<InputReport>, output_bytes: u64, wall_seconds: f64) -> Report {
        Report { schema_version: SCHEMA_VERSION, tool_version: TOOL_VERSION, inputs, output_bytes, wall_seconds }
    }

    /// As indented JSON with a final line break.
    ///
    /// # Errors
    /// Never for reports made by this library; serde's interface wants it.
    pub fn to_json(&self) -> serde_json::Result<String> {
        serde_json::to_string_pretty(self).map(|json| json + "\n")
    }
}

/// What became of one input. Every field is always there; what is not known is `null`.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct InputReport {
    /// Its name as given, `-` for standard input.
    pub path: String,
    /// The core that was named with it.
    pub core: Option<u16>,
    /// The format's name, as for `--format`.
    pub format: Option<&'static str>,
    /// What speaks for that format.
    pub detected_because: Option<String>,
    /// What was taken off, outermost first: `gzip`, `zstd`, `hex text`, `base64 text`.
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
    /// What is missing, by kind.
    pub losses: Vec<LossReport>,
    /// What was put right, by kind.
    pub repairs: Vec<LossReport>,
    /// The tick rate.
    pub clock: Option<ClockReport>,
    /// The operating system on the target.
    pub system: Option<&'static str>,
    /// The number of cores.
    pub cores: u16,
    /// The number of target sessions (resets + 1).
    pub sessions: u32,
    /// What else was found out about the recording, and where it is known from.
    pub details: Vec<Detail>,
    /// Advice on what to try, as sentences.
    pub hints: Vec<String>,
    /// What the user should know of its trace, as sentences.
    pub warnings: Vec<String>,
    /// Where the trace was written, `-` for standard output; `null` if none was.
    pub output: Option<String>,
    /// Why it was not converted, as a sentence.
    pub error: Option<String>,
}

/// The tick rate of an input.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ClockReport {
    /// A tick lasts `ns_numerator / ns_denominator` nanoseconds.
    pub ns_numerator: u64,
    /// See `ns_numerator`.
    pub ns_denominator: u64,
    /// Ticks per second.
    pub hz: f64,
    /// Where that is known from.
    pub because: &'static str,
}

/// All cases of one kind of loss or repair.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LossReport {
    /// The kind's code.
    pub kind: &'static str,
    /// What it is, for people.
    pub text: &'static str,
    /// How often it happened.
    pub count: u64,
    /// The offset of the first case in the decoder's input, in bytes; `null` for what is noticed only between events.
    pub first_offset: Option<u64>,
    /// How many events are lost by it, at least.
    pub at_least_lost: u64,
}

impl From<&LedgerEntry> for LossReport {
    fn from(entry: &LedgerEntry) -> Self {
        LossReport {
            kind: entry.kind.code,
            text: entry.kind.text,
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

    /// Enters what is known of the input before it is decoded. Damage of its layers becomes losses.
    pub fn enter_input(&mut self, input: &Input) {
        self.layers = input.layers().iter().map(|layer| layer.name()).collect();
        self.file_bytes = input.file_bytes();
        self.memory = input.part().cloned();
        self.losses = input
            .damages()
            .iter()
            .map(|damage| LossReport {
                kind: damage.kind.code,
                text: damage.kind.text,
                count: damage.count,
                first_offset: Some(damage.offset),
                at_least_lost: damage.at_least_lost,
            })
            .collect();
    }

    /// Enters what the conversion says about it.
    pub fn enter_summary(&mut self, summary: &InputSummary) {
        let InputSummary { ledger, events, first, last, facts } = summary;
        let Ledger { decoded_bytes, skipped_bytes, frames_ok, frames_bad, .. } = *ledger;
        self.input_bytes = decoded_bytes.saturating_add(skipped_bytes);
        (self.decoded_bytes, self.skipped_bytes) = (decoded_bytes, skipped_bytes);
        (self.frames_ok, self.frames_bad) = (frames_ok, frames_bad);
        self.events = *events;
        self.first_ns = first.map(|time| time.0);
        self.last_ns = last.map(|time| time.0);
        let of = |severity| ledger.entries().iter().filter(move |entry| entry.kind.severity == severity).map(LossReport::from);
        self.losses.extend(of(Severity::Loss));
        self.repairs.extend(of(Severity::Repair));
        let Facts { clock, system, cores, sessions, details, hints, .. } = facts;
        self.clock = clock.map(|(rate, because)| {
            let (ns_numerator, ns_denominator) = rate.ns_per_tick();
            ClockReport { ns_numerator, ns_denominator, hz: rate.hz(), because }
        });
        (self.system, self.cores, self.sessions) = (*system, *cores, *sessions);
        self.details.clone_from(details);
        self.hints.extend_from_slice(hints);
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
    use crate::model::{LossKind, Nanos, Rate};

    const GAP: LossKind = LossKind { code: "gap", text: "a gap", severity: Severity::Loss };
    const FIX: LossKind = LossKind { code: "fix", text: "a fix", severity: Severity::Repair };

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
            facts: Facts {
                clock: Some((Rate::from_hz(168_000_000, 1).unwrap(), "told by --clock-hz")),
                system: Some("FreeRTOS"),
                cores: 2,
                sessions: 1,
                begins_midway: false,
                details: vec![Detail { name: "timer period", value: "1 ms".into(), source: "inferred".into() }],
                hints: vec!["Try --elf.".into()],
                refused: None,
            },
        };
        let mut report = InputReport::named("a.bin".into(), Some(1));
        report.enter_summary(&summary);
        report.format = Some("tonbandgeraet");
        report.detected_because = Some("it looks so".into());
        report.file_bytes = 1000;
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
        let of_image = InputReport { memory: Some(in_memory()), ..example() };
        let json = Report { tool_version: "1.2.3", ..Report::new(vec![of_image, failed], 5_000, 0.25) }.to_json().unwrap();
        let expected = r#"{
  "schema_version": 1,
  "tool_version": "1.2.3",
  "inputs": [
    {
      "path": "a.bin",
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
      "losses": [
        {
          "kind": "gap",
          "text": "a gap",
          "count": 1,
          "first_offset": 40,
          "at_least_lost": 1
        }
      ],
      "repairs": [
        {
          "kind": "fix",
          "text": "a fix",
          "count": 1,
          "first_offset": 90,
          "at_least_lost": 0
        }
      ],
      "clock": {
        "ns_numerator": 125,
        "ns_denominator": 21,
        "hz": 168000000.0,
        "because": "told by --clock-hz"
      },
      "system": "FreeRTOS",
      "cores": 2,
      "sessions": 1,
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
      "losses": [],
      "repairs": [],
      "clock": null,
      "system": null,
      "cores": 0,
      "sessions": 0,
      "details": [],
      "hints": [],
      "warnings": [],
      "output": null,
      "error": "b.bin is empty"
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
        assert_eq!((report.losses[0].kind, report.losses[0].first_offset), ("text_encoding_damaged", Some(2)));
    }
}
