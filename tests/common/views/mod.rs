//! The results of a capture, stage by stage, as text that can be reviewed as a diff.

mod events;
mod trace;

use std::fmt::Write;

use traceconv::format::{FieldValue, RecordView};
use traceconv::model::Severity;
use traceconv::pipeline::InputSummary;

pub use events::events;
pub use trace::trace;

/// A record as a line of JSON, as `traceconv dump` prints it.
pub fn record(view: &RecordView<'_>) -> String {
    let mut line = format!("{{\"offset\":{},\"record\":\"{}\"", view.offset, view.record);
    let numbers = [("core", view.core.map(u64::from)), ("ts", view.ticks), ("ns", view.nanos)];
    for (name, number) in numbers {
        if let Some(number) = number {
            write!(line, ",\"{name}\":{number}").expect("memory does not fail");
        }
    }
    for (name, value) in view.fields {
        write!(line, ",\"{name}\":{}", field(value)).expect("memory does not fail");
    }
    line + "}"
}

fn field(value: &FieldValue<'_>) -> String {
    match value {
        FieldValue::Uint(number) => number.to_string(),
        FieldValue::Int(number) => number.to_string(),
        FieldValue::Float(number) => serde_json::to_string(number).expect("a number is JSON"),
        FieldValue::Text(text) => serde_json::to_string(text).expect("a text is JSON"),
        FieldValue::Bytes(bytes) => {
            let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            format!("\"{hex}\"")
        }
        FieldValue::List(values) => format!("[{}]", values.iter().map(field).collect::<Vec<_>>().join(",")),
    }
}

/// The account of an input.
pub fn ledger(summary: &InputSummary) -> String {
    let ledger = &summary.ledger;
    let time = |time: Option<traceconv::model::Nanos>| time.map_or("none".to_owned(), |time| time.to_string());
    let clock = summary.facts.clock.map_or("none".to_owned(), |(rate, origin)| format!("{} Hz, {origin}", rate.hz()));
    let mut text = format!(
        "system: {}\nclock: {clock}\ncores: {}\nsessions: {}\nevents: {} from {} to {}\n\
        frames: {} ok, {} bad\nbytes: {} decoded, {} skipped\nat least lost: {}\n",
        summary.facts.system.unwrap_or("unknown"),
        summary.facts.cores,
        summary.facts.sessions,
        summary.events,
        time(summary.first),
        time(summary.last),
        ledger.frames_ok,
        ledger.frames_bad,
        ledger.decoded_bytes,
        ledger.skipped_bytes,
        ledger.at_least_lost(),
    );
    for detail in &summary.facts.details {
        writeln!(text, "{}: {} ({})", detail.name, detail.value, detail.source).expect("memory does not fail");
    }
    for hint in &summary.facts.hints {
        writeln!(text, "hint: {hint}").expect("memory does not fail");
    }
    for entry in ledger.entries() {
        let kind = match entry.kind.severity {
            Severity::Loss => "loss",
            Severity::Repair => "repair",
        };
        let place = entry.first_offset.map_or("nowhere in particular".to_owned(), |offset| format!("first at offset {offset}"));
        writeln!(
            text,
            "{kind} {}: {} times, {place}, at least {} events lost",
            entry.kind.code, entry.count, entry.at_least_lost
        )
        .expect("memory does not fail");
    }
    text
}
