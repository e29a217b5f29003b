//! The facts that a trace keeps about its own conversion, so that a later run can report it without doing it again.
//!
//! It is one of the trace's attributes, as JSON. Only this program reads it, and only of its own version: the shape is no contract.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use xxhash_rust::xxh3::xxh3_128;

use super::{ClockReport, DetailReport, InputReport, LossReport};
use crate::format::{Facts, Format, FormatOptions, OptionValue};
use crate::input::Damage;
use crate::model::{Certainty, Finding, Ledger, Matter, Severity, losses};
use crate::pipeline::{Converted, EventDetail, InputSummary, Options, TimeBound};

/// The attribute's name.
pub const ATTRIBUTE: &str = "conversion";
/// The attribute with damage of the layers around the recording, such as a gzip file that was cut.
pub const INPUT_DAMAGE: &str = "input_damage";
/// The attribute with the options of the user.
const OPTIONS: &str = "options_hash";
/// The attribute with the name of the format.
const FORMAT: &str = "format_name";

/// How many damages of the input are listed in the trace itself. The report has all.
const DAMAGES_LISTED: usize = 16;

/// The stored facts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StoredReport {
    /// The length of the trace before the packet that holds this, in bytes: a trace that was cut or changed has another.
    pub before_bytes: u64,
    /// One per input, in their order.
    pub inputs: Vec<StoredInput>,
    /// Warnings about the trace, as sentences.
    pub warnings: Vec<String>,
}

/// The stored facts about an input: results of the conversion. The fields are those of [`InputReport`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StoredInput {
    decoded_bytes: u64,
    skipped_bytes: u64,
    frames_ok: u64,
    frames_bad: u64,
    events: u64,
    first_ns: Option<u64>,
    last_ns: Option<u64>,
    losses: Vec<LossReport>,
    repairs: Vec<LossReport>,
    clock: Option<ClockReport>,
    system: Option<Cow<'static, str>>,
    cores: u16,
    sessions: u32,
    findings: Vec<Finding>,
    details: Vec<DetailReport>,
    hints: Vec<String>,
}

/// The attributes of a trace of which all but the packet with its attributes is written; for [`crate::pipeline::Options::keep`].
#[must_use]
pub fn attributes(converted: &Converted) -> Vec<(String, String)> {
    let kept = StoredReport {
        before_bytes: converted.output_bytes,
        inputs: converted.inputs.iter().map(StoredInput::from).collect(),
        warnings: converted.warnings.clone(),
    };
    // Serde's interface can fail, this value cannot; a trace without it is only made again.
    serde_json::to_string(&kept).map(|json| (ATTRIBUTE.to_owned(), json)).into_iter().collect()
}

/// The attributes that say how a trace is made: with which options (`firmware_name` is given as it is in the trace; `reading` is for
/// every input, `cores` has the core named for each file), and in which format the first input is.
#[must_use]
pub fn marks(
    options: &Options,
    reading: &FormatOptions,
    cores: &[Option<u16>],
    format: Option<&'static dyn Format>,
) -> Vec<(String, String)> {
    let mut marks = vec![(OPTIONS.to_owned(), options_hash(options, reading, cores))];
    marks.extend(format.map(|format| (FORMAT.to_owned(), format.name().to_owned())));
    marks
}

/// The value of the attribute [`INPUT_DAMAGE`]; `None` without damage.
#[must_use]
pub fn damage<'a>(damages: impl Iterator<Item = &'a Damage>) -> Option<String> {
    let listed: Vec<&str> = damages.map(|damage| damage.detail.as_str()).take(DAMAGES_LISTED).collect();
    (!listed.is_empty()).then(|| listed.join("; "))
}

/// A hash of all that the user asked for and that has an influence on the trace. The format is not part of it: it counts which
/// one it was, not whether it was named.
#[must_use]
pub fn options_hash(options: &Options, reading: &FormatOptions, cores: &[Option<u16>]) -> String {
    // Taken apart, so that whoever adds an option decides here whether it counts. The way in which the source is read has no influence.
    let Options { firmware_name, events, from, to, window_bytes: _, threads: _, team: _, statistics: _, attributes: _, keep: _ } =
        options;
    let FormatOptions { clock, cores: count, core: _, own } = reading;
    let time = |bound: &Option<TimeBound>| match bound {
        None => Value::Null,
        Some(TimeBound::Absolute(time)) => json!({ "at_ns": time.0 }),
        Some(TimeBound::AfterStart(time)) => json!({ "after_start_ns": time.0 }),
    };
    let detail = match events {
        EventDetail::Overview => "overview",
        EventDetail::Default => "default",
        EventDetail::All => "all",
    };
    let own = own.iter().map(|(name, value)| match value {
        OptionValue::Flag => json!([name]),
        OptionValue::Text(text) => json!([name, text]),
        OptionValue::File { path, bytes } => json!([name, path, format!("{:032x}", xxh3_128(bytes))]),
    });
    let all = json!({
        "firmware_name": firmware_name,
        "file_cores": cores,
        "detail": detail,
        "from": time(from),
        "to": time(to),
        "clock_ns_per_tick": clock.map(|rate| rate.ns_per_tick()),
        "cores": count,
        "own": own.collect::<Vec<Value>>(),
    });
    format!("xxh3-128:{:032x}", xxh3_128(all.to_string().as_bytes()))
}

impl StoredReport {
    /// The content of an attribute; `None` if it does not have this shape.
    #[must_use]
    pub fn from_json(json: &str) -> Option<StoredReport> {
        serde_json::from_str(json).ok()
    }
}

impl From<&InputSummary> for StoredInput {
    fn from(summary: &InputSummary) -> Self {
        // A trace of several recordings, which have offsets, is never kept.
        let InputSummary { ledger, events, first, last, facts, offset: _ } = summary;
        let Ledger { decoded_bytes, skipped_bytes, frames_ok, frames_bad, .. } = *ledger;
        let of = |severity| ledger.entries().iter().filter(move |entry| entry.kind.severity == severity).map(LossReport::from);
        let Facts { clock, system, cores, sessions, findings, details, hints, .. } = facts;
        let clock = clock.map(|(rate, because)| {
            let (ns_numerator, ns_denominator) = rate.ns_per_tick();
            ClockReport { ns_numerator, ns_denominator, hz: rate.hz(), because: because.into() }
        });
        StoredInput {
            decoded_bytes,
            skipped_bytes,
            frames_ok,
            frames_bad,
            events: *events,
            first_ns: first.map(|time| time.0),
            last_ns: last.map(|time| time.0),
            losses: of(Severity::Loss).collect(),
            repairs: of(Severity::Repair).collect(),
            clock,
            system: system.map(Cow::Borrowed),
            cores: *cores,
            sessions: *sessions,
            findings: findings.iter().cloned().chain(of_ledger(ledger)).collect(),
            details: details.iter().map(DetailReport::from).collect(),
            hints: hints.iter().cloned().chain(of_time(summary)).collect(),
        }
    }
}

/// Events of one and the same time: a few may be simultaneous, not this many.
fn of_time(summary: &InputSummary) -> Option<String> {
    let stands = summary.events >= 1000 && summary.first.is_some() && summary.first == summary.last;
    stands
        .then(|| "All events have the same time: the clock of the target does not run. Start it before the recording.".to_owned())
}

/// What the ledger says of the time: breaks with more than one explanation, silence in which a wrap may be missing, restarts.
fn of_ledger(ledger: &Ledger) -> impl Iterator<Item = Finding> {
    let of_kind = [
        (losses::TIME_AMBIGUOUS, Matter::Breaks, Certainty::Ambiguous, "two explanations are nearly as likely"),
        (losses::LONG_SILENCE, Matter::Breaks, Certainty::Ambiguous, "a wrap of the time counter may be missing"),
        (losses::SESSION_RESTART, Matter::Restarts, Certainty::Inferred, "the time counter began again"),
    ];
    of_kind.into_iter().filter_map(|(kind, of, certainty, what)| {
        let entry = ledger.entries().iter().find(|entry| entry.kind == kind)?;
        let place = entry.first_offset.map_or_else(String::new, |offset| format!(", first at byte {offset}"));
        let readings = ledger.doubt().filter(|_| kind == losses::TIME_AMBIGUOUS);
        let readings = readings.map_or_else(String::new, |readings| format!(": {readings}"));
        Some(Finding::new(of, certainty, format!("{what} ({} x{place}{readings})", entry.count)))
    })
}

impl InputReport {
    /// Enters the results of a conversion about the input.
    pub fn enter_stored(&mut self, kept: StoredInput) {
        self.input_bytes = kept.decoded_bytes.saturating_add(kept.skipped_bytes);
        (self.decoded_bytes, self.skipped_bytes) = (kept.decoded_bytes, kept.skipped_bytes);
        (self.frames_ok, self.frames_bad) = (kept.frames_ok, kept.frames_bad);
        (self.events, self.first_ns, self.last_ns) = (kept.events, kept.first_ns, kept.last_ns);
        // Those of the layers around the recording are there already.
        self.losses.extend(kept.losses);
        self.repairs.extend(kept.repairs);
        (self.clock, self.system) = (kept.clock, kept.system);
        (self.cores, self.sessions) = (kept.cores, kept.sessions);
        self.details = kept.details;
        self.warnings.extend(kept.findings.iter().filter_map(Finding::warning));
        self.findings = kept.findings;
        self.hints.extend(kept.hints);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Nanos;

    #[test]
    fn a_clock_that_stands_still_is_said() {
        let hints = |events, last| {
            let time = Some(Nanos(5));
            StoredInput::from(&InputSummary { events, first: time, last, ..InputSummary::default() }).hints
        };
        assert_eq!(hints(1000, Some(Nanos(5))).len(), 1);
        assert!(hints(999, Some(Nanos(5))).is_empty(), "events may be simultaneous");
        assert!(hints(1000, Some(Nanos(6))).is_empty());
    }
}
