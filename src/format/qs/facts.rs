//! The facts about a recording for the report: the clock, the target, and their sources.

use super::clockrate::{self, Measured};
use super::layout::Sizes;
use super::scan::ScanFacts;
use super::sessions::{self, Sessions};
use super::{InputOptions, info};
use crate::format::{Detail, Facts};
use crate::model::{Certainty, Finding, Matter, Rate};

/// The rate of the clock, and its source.
pub(super) fn clock_of(
    options: &InputOptions,
    measured: Option<&Result<Measured, String>>,
    report: &mut Facts,
) -> (Rate, &'static str) {
    if let Some(Ok(measured)) = measured {
        report.details.push(Detail {
            name: "clock units per tick",
            value: measured.units_per_tick.to_string(),
            source: format!("measured from {} time events", measured.samples),
        });
    }
    let mut finding = |certainty, because| report.findings.push(Finding::new(Matter::Clock, certainty, because).never_recorded());
    if let Some(rate) = options.clock {
        finding(Certainty::Known, "given by an option");
        return (rate, "given by an option");
    }
    if let Some(tick) = options.tick {
        match measured {
            Some(Ok(measured)) => {
                if let Some(rate) = clockrate::rate_of(*measured, tick) {
                    finding(Certainty::Inferred, "measured from time events and --qs-tick-hz");
                    return (rate, "measured from time events and --qs-tick-hz");
                }
            }
            Some(Err(reason)) => report.hints.push(format!("--qs-tick-hz cannot be used: {reason}. Give --clock-hz instead.")),
            None => {}
        }
    }
    finding(Certainty::Assumed, "QS does not record it; a microsecond is taken");
    report.hints.push(
        "QS does not record the unit of the time stamps; a microsecond is assumed. Give --clock-hz, or --qs-tick-hz with the \
         frequency of the clock tick."
            .to_owned(),
    );
    (Rate::from_ns_per_tick(1000).unwrap_or(Rate::NANOSECOND), "assumed, QS does not record it")
}

/// Adds the facts about the target, with their sources.
pub(super) fn add_target(sessions: &Sessions, facts: &ScanFacts, report: &mut Facts) {
    // Records before the first session with a TARGET_INFO may be the rest of another session.
    let reported = sessions.all.iter().find(|session| session.info.is_some());
    let Some(session) = reported.or(sessions.all.first()) else { return };
    if let Some(info) = &session.info {
        report.system = Some(info.product_text());
    }
    let from = session.version_source;
    let version = info::version_text(session.layout.config.version);
    let others = match &sessions.inferred {
        Some(inferred) if from == sessions::Source::Inferred && inferred.versions.0 < inferred.versions.1 => {
            let [oldest, newest] = [inferred.versions.0, inferred.versions.1].map(info::version_text);
            format!(", which fit other versions from {oldest} to {newest} as well")
        }
        _ => String::new(),
    };
    report.details.push(Detail { name: "QP version", value: version, source: from.text().to_owned() + &others });
    report.findings.push(Finding::new(Matter::Version, from.certainty(), from.evidence()));
    let of_time = Sizes::LETTERS.iter().position(|letter| *letter == 'T').and_then(|index| session.size_sources.get(index));
    if let Some(source) = of_time {
        let size = session.layout.config.sizes.time;
        let because = format!("time stamps of {size} bytes: {}", source.evidence());
        report.findings.push(Finding::new(Matter::Modulus, source.certainty(), because));
    }
    let mut detail = |name, value: String, source: String| report.details.push(Detail { name, value, source });
    let letters = Sizes::LETTERS.iter().zip(session.layout.config.sizes.all()).zip(session.size_sources);
    let mut by_source: Vec<(sessions::Source, String)> = Vec::new();
    for ((letter, size), from) in letters {
        let text = format!("{letter}{size}");
        match by_source.iter_mut().find(|(source, _)| *source == from) {
            Some((_, sizes)) => *sizes += &text,
            None => by_source.push((from, text)),
        }
    }
    for (source, sizes) in by_source {
        detail("sizes", sizes, source.text().to_owned());
    }
    if let Some(info) = &session.info {
        detail("build", info.build_text(), "recorded in the capture".to_owned());
    }
    if let Some(inferred) = &sessions.inferred {
        let value = format!("{} of {}", inferred.fitting, inferred.all);
        detail("records that fit the sizes", value, "measured".to_owned());
    }
    detail("names", sessions.all.iter().map(|session| session.names.count()).sum::<usize>().to_string(), "measured".to_owned());
    if sessions.all.iter().all(|session| session.info.is_none())
        && facts.evidence.as_ref().is_some_and(|evidence| evidence.is_from_host())
    {
        report.hints.push(
            "These are probably commands that the host sends to the target (QS-RX), not records of the target: record the \
             other direction."
                .to_owned(),
        );
    }
}
