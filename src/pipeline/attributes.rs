//! Facts about a conversion, for the viewer's overview page.

use super::convert::RecordingSources;
use super::{Converted, InputSummary, Options, existing_trace};
use crate::model::{ClockKind, SideClock};
use crate::perfetto::{self, AttributeValue};

fn text(key: &str, value: String) -> (String, AttributeValue) {
    (key.to_owned(), AttributeValue::Text(value))
}

fn int(key: &str, value: u64) -> (String, AttributeValue) {
    (key.to_owned(), AttributeValue::Int(i64::try_from(value).unwrap_or(i64::MAX)))
}

/// A recording that was drawn.
pub struct Drawn<'a> {
    pub recording: &'a RecordingSources<'a>,
    pub summaries: &'a [InputSummary],
    pub hash: u128,
    /// The CPU number of its core 0.
    pub first_cpu: u16,
}

/// The attributes of a trace whose other contents are `converted`. Attributes of one recording have plain names; those of several
/// have a numbered prefix.
pub fn attributes(
    drawn: &[Drawn<'_>],
    clocks: &[SideClock],
    hash: u128,
    converted: &Converted,
    options: &Options,
) -> Vec<(String, AttributeValue)> {
    let mut all = vec![
        text(existing_trace::TOOL, existing_trace::tool()),
        text(existing_trace::INPUT_HASH, existing_trace::input_hash(hash)),
    ];
    match drawn {
        [only] => {
            all.push(text("firmware", only.recording.name.clone()));
            about(only, "", clocks, &mut all);
        }
        several => {
            all.push(int("recordings", several.len() as u64));
            all.extend(clock_names(clocks));
            for (number, one) in (1..).zip(several) {
                let prefix = format!("recording.{number}.");
                all.push(text(&format!("{prefix}firmware"), one.recording.name.clone()));
                all.push(text(&format!("{prefix}input_hash"), existing_trace::input_hash(one.hash)));
                about(one, &prefix, &[], &mut all);
                placed(one, &prefix, &mut all);
            }
        }
    }
    let summaries = || drawn.iter().flat_map(|one| one.summaries);
    let sum = |of: fn(&InputSummary) -> u64| summaries().map(of).sum::<u64>();
    let input_bytes = drawn.iter().flat_map(|one| one.recording.sources).map(|source| source.bytes.len() as u64).sum();
    all.push(int("input_bytes", input_bytes));
    all.push(int("skipped_bytes", sum(|summary| summary.ledger.skipped_bytes)));
    all.push(int("events", sum(|summary| summary.events)));
    all.push(int("events_lost_at_least", sum(|summary| summary.ledger.at_least_lost())));
    if let [only] = drawn {
        losses(only, "", &mut all);
    } else {
        for (number, one) in (1..).zip(drawn) {
            losses(one, &format!("recording.{number}."), &mut all);
        }
    }
    let kept = options.keep.map(|keep| keep(converted)).unwrap_or_default();
    all.extend(options.attributes.iter().cloned().chain(kept).map(|(key, value)| text(&key, value)));
    all
}

/// The names of the targets' clocks.
fn clock_names(clocks: &[SideClock]) -> impl Iterator<Item = (String, AttributeValue)> {
    clocks.iter().enumerate().filter_map(|(index, clock)| match (clock.kind, perfetto::clock_id(clocks, index)) {
        (ClockKind::Target(name), Some(id)) => Some(text(&format!("clock.{id}"), name.to_owned())),
        _ => None,
    })
}

/// The known facts of a recording.
fn about(drawn: &Drawn<'_>, prefix: &str, clocks: &[SideClock], all: &mut Vec<(String, AttributeValue)>) {
    let (Some(source), Some(summary)) = (drawn.recording.sources.first(), drawn.summaries.first()) else { return };
    all.push(text(&format!("{prefix}format"), source.format.title().to_owned()));
    if let Some(system) = summary.facts.system {
        all.push(text(&format!("{prefix}system"), system.to_owned()));
    }
    if let Some((rate, origin)) = summary.facts.clock {
        all.push(text(&format!("{prefix}clock"), format!("{} Hz ({origin})", rate.hz())));
    }
    all.extend(clock_names(clocks));
    all.push(int(&format!("{prefix}cores"), u64::from(summary.facts.cores)));
    all.push(int(&format!("{prefix}sessions"), u64::from(summary.facts.sessions)));
}

/// The place of one of several recordings, in time and among the CPUs.
fn placed(drawn: &Drawn<'_>, prefix: &str, all: &mut Vec<(String, AttributeValue)>) {
    let Some(summary) = drawn.summaries.first() else { return };
    all.push(int(&format!("{prefix}first_cpu"), u64::from(drawn.first_cpu)));
    let Some(offset) = &summary.offset else { return };
    all.push((format!("{prefix}offset_ns"), AttributeValue::Int(offset.ns)));
    all.push(text(&format!("{prefix}offset_because"), offset.because.clone()));
    if let Some(drift) = &offset.drift {
        let corrected = if drift.is_corrected { "corrected" } else { "not corrected" };
        all.push(text(&format!("{prefix}drift"), format!("{:.3} ppm, {corrected}", drift.ppm)));
    }
}

/// What was lost or repaired in all inputs of a recording, each kind once: the viewer has one value for a key.
fn losses(drawn: &Drawn<'_>, prefix: &str, all: &mut Vec<(String, AttributeValue)>) {
    let mut counts: Vec<(&str, u64)> = Vec::new();
    for entry in drawn.summaries.iter().flat_map(|summary| summary.ledger.entries()) {
        match counts.iter_mut().find(|(code, _)| *code == entry.kind.code) {
            Some((_, count)) => *count = count.saturating_add(entry.count),
            None => counts.push((entry.kind.code, entry.count)),
        }
    }
    all.extend(counts.into_iter().map(|(code, count)| int(&format!("{prefix}ledger.{code}"), count)));
}
