//! The facts about a recording for the report: the clock, the target, and their sources.

use super::clockrate::{self, Measured};
use super::layout::{Config, Sizes};
use super::scan::ScanFacts;
use super::sessions::{self, Sessions, TargetOptions};
use super::{InputOptions, info};
use crate::format::program::{other_build, refusal, shortcomings};
use crate::format::{Detail, Facts};
use crate::model::{Certainty, Finding, Matter, Rate, Ticks, counted};

/// The rate of the clock, and its source.
pub(super) fn clock_of(
    options: &InputOptions,
    measured: Option<&Result<Measured, String>>,
    is_test: bool,
    report: &mut Facts,
) -> (Rate, &'static str) {
    if let Some(Ok(measured)) = measured {
        report.details.push(Detail {
            name: "clock units per tick",
            value: measured.units_per_tick.to_string(),
            source: match measured.of {
                clockrate::Source::TimeEvents => format!("measured from {} time events", measured.samples),
                // A longer one would be measured as the rest of it.
                clockrate::Source::Ticks => {
                    format!("measured from {} clock ticks, taken for shorter than the range of the time stamps", measured.samples)
                }
            },
        });
    }
    let mut finding = |certainty, because| report.findings.push(Finding::new(Matter::Clock, certainty, because).never_recorded());
    if is_test {
        report.hints.push(
            "The target was built for QUTest: a time stamp is the number of stamps since the test was set up. The order of events is right, \
             and how long something took is not known."
                .to_owned(),
        );
    }
    if let Some(rate) = options.clock {
        finding(Certainty::Known, "given by an option");
        return (rate, "given by an option");
    }
    if let Some(tick) = options.tick {
        match measured {
            Some(Ok(measured)) => {
                if let Some(rate) = clockrate::rate_of(*measured, tick) {
                    let because = match measured.of {
                        clockrate::Source::TimeEvents => "measured from time events and --qs-tick-hz",
                        clockrate::Source::Ticks => "measured from clock ticks and --qs-tick-hz",
                    };
                    finding(Certainty::Inferred, because);
                    return (rate, because);
                }
            }
            Some(Err(reason)) => report.hints.push(format!("--qs-tick-hz cannot be used: {reason}. Give --clock-hz instead.")),
            None => {}
        }
    }
    finding(Certainty::Assumed, "QS does not record it; a microsecond is taken");
    if !is_test {
        report.hints.push(
            "QS does not record the unit of the time stamps; a microsecond is assumed. Give --clock-hz, or --qs-tick-hz with the \
             frequency of the clock tick."
                .to_owned(),
        );
    }
    (Rate::from_ns_per_tick(1000).unwrap_or(Rate::NANOSECOND), "assumed, QS does not record it")
}

/// Adds that silence may be longer than a short counter shows, where no clock ticks count it. `rates`: the units in a tick for each input, where
/// ticks are recorded.
pub(super) fn add_range(sessions: &[Sessions], rates: &[Option<f64>], clock: Rate, report: &mut Facts) {
    let ranges = sessions.iter().zip(rates).filter_map(|(sessions, rate)| {
        let size = sessions.all.iter().map(|session| session.layout.config.sizes.time).min()?;
        (size < 4).then(|| (1u64 << (8 * size), *rate))
    });
    // A tick more or less must not be a wrap.
    let Some((range, rate)) =
        ranges.filter(|(range, rate)| rate.is_none_or(|rate| rate * 2.0 > *range as f64)).min_by_key(|of| of.0)
    else {
        return;
    };
    if let Some(rate) = rate {
        let because = format!(
            "a clock tick takes {rate:.0} of the {range} values of the time stamps, so it does not tell how often they wrapped"
        );
        report.findings.push(Finding::new(Matter::Breaks, Certainty::Ambiguous, because));
    }
    let is_assumed = |finding: &Finding| finding.of == Matter::Clock && finding.certainty == Certainty::Assumed;
    let time = match report.findings.iter().any(is_assumed) {
        true => String::new(),
        false => format!(" ({})", clock.to_nanos(Ticks(range)).unwrap_or_default()),
    };
    let remedy = if rate.is_some() { "" } else { "enable QF_TICK (id 31) in the target's filter, which counts on, or " };
    report.hints.push(format!(
        "The time stamps begin again after {range} units{time}: of a longer silence only the rest is seen, and all times after it are too \
         early. To see it, {remedy}build the target with a QS_TIME_SIZE of 4."
    ));
}

/// Adds options that contradict what the capture records, which wins.
fn add_unused(options: &TargetOptions, recorded: &Config, version: &str, report: &mut Facts) {
    let mut hint = |option: &str, given: String, recorded: &str| {
        report.hints.push(format!("{option} {given} was not used: the capture records {recorded}."));
    };
    if let Some(given) = options.version.filter(|given| *given != recorded.version) {
        hint("--qs-version", info::version_text(given), version);
    }
    let mut sizes = recorded.sizes;
    for &(letter, given) in &options.sizes {
        if let Some(size) = sizes.get_mut(letter).filter(|size| **size != given) {
            hint("--qs-sizes", format!("{letter}{given}"), &format!("{letter}{size}"));
        }
    }
    let Some(dictionary) = &options.dictionary else { return };
    let other_sizes = dictionary.sizes.iter().any(|&(letter, given)| sizes.get_mut(letter).is_some_and(|size| *size != given));
    if other_sizes || dictionary.version.is_some_and(|given| given != recorded.version) {
        report.hints.push(format!(
            "The dictionary file has another version or other sizes than the capture, which records {version} and {}: it may be of another \
             build, whose names are wrong here.",
            recorded.sizes
        ));
    }
}

/// Adds how many records fit what was given or inferred, and whether they fit something else better.
fn add_fit(used: &Config, facts: &ScanFacts, report: &mut Facts) {
    let Some(evidence) = &facts.evidence else { return };
    let Some(fit) = evidence.infer(Some(used.sizes), Some(used.version)) else { return };
    let value = format!("{} of {}", fit.fitting, fit.all);
    report.details.push(Detail { name: "records that fit the sizes", value, source: "counted".to_owned() });
    // Damage may look like other records.
    let is_much_more = |than: u64| fit.fitting * 20 < than * 19;
    let best = is_much_more(fit.all).then(|| evidence.infer(None, None)).flatten();
    if let Some(best) = best.filter(|best| is_much_more(best.fitting)) {
        let Config { sizes, version, .. } = best.config;
        let hint = format!(
            "--qs-sizes, --qs-version or --qs-dict does not fit the records: {} of {} fit version {} and the sizes {}, but {} fit \
             version {} and {sizes}.",
            fit.fitting,
            fit.all,
            info::version_text(used.version),
            used.sizes,
            best.fitting,
            info::version_text(version),
        );
        report.hints.insert(0, hint);
    }
}

/// Adds the facts about the target, with their sources.
pub(super) fn add_target(sessions: &Sessions, options: &TargetOptions, facts: &ScanFacts, report: &mut Facts) {
    // Records before the first session with a TARGET_INFO may be the rest of another session.
    let reported = sessions.all.iter().find(|session| session.info.is_some());
    let Some(session) = reported.or(sessions.all.first()) else { return };
    let from = session.version_source;
    let version = info::version_text(session.layout.config.version);
    if let Some(info) = &session.info {
        report.system = Some(info.product_text());
        add_unused(options, &session.layout.config, &version, report);
    }
    let others = match &sessions.inferred {
        Some(inferred) if from == sessions::Source::Inferred && inferred.versions.0 < inferred.versions.1 => {
            let [oldest, newest] = [inferred.versions.0, inferred.versions.1].map(info::version_text);
            format!(", which fit other versions from {oldest} to {newest} as well")
        }
        _ => String::new(),
    };
    report.details.push(Detail { name: "QP version", value: version, source: from.text().to_owned() + &others });
    report.findings.push(Finding::new(Matter::Version, from.certainty(), from.evidence()));
    if let Some(source) = Sizes::index('T').map(|index| session.size_sources[index]) {
        let size = session.layout.config.sizes.time;
        let because = format!("time stamps of {}: {}", counted(size, "byte"), source.evidence());
        report.findings.push(Finding::new(Matter::Modulus, source.certainty(), because));
    }
    let letters = Sizes::LETTERS.iter().zip(session.layout.config.sizes.all()).zip(session.size_sources);
    let mut by_source: Vec<(sessions::Source, String)> = Vec::new();
    for ((letter, size), from) in letters {
        let text = format!("{letter}{size}");
        match by_source.iter_mut().find(|(source, _)| *source == from) {
            Some((_, sizes)) => *sizes += &text,
            None => by_source.push((from, text)),
        }
    }
    let mut detail = |name, value: String, source: String| report.details.push(Detail { name, value, source });
    for (source, sizes) in by_source {
        detail("sizes", sizes, source.text().to_owned());
    }
    if let Some(info) = &session.info {
        detail("build", info.build_text(), "recorded in the capture".to_owned());
    }
    if sessions.inferred.is_some() {
        add_fit(&session.layout.config, facts, report);
    }
    let names = sessions.all.iter().map(|session| session.names.count()).sum::<usize>();
    report.details.push(Detail { name: "names", value: names.to_string(), source: "counted".to_owned() });
    add_program(sessions, options, names, report);
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

/// Adds whether the program that was given is the one that ran. `names`: how many the capture and the dictionary file have.
fn add_program(sessions: &Sessions, options: &TargetOptions, names: usize, report: &mut Facts) {
    if let Some(program) = &options.program {
        let uses = sessions.all.iter().filter(|session| session.names.has_program()).count();
        let source = match uses {
            0 => "given by an option, not used",
            _ => "given by an option: names of objects and functions that no dictionary has",
        };
        report.details.push(Detail { name: "program", value: program.path.clone(), source: source.to_owned() });
        report.hints.extend(shortcomings(&program.path, &program.symbols));
        let contradiction = sessions.named_functions.contradiction();
        if let Some(reason) = &contradiction {
            let all = sessions.all.len();
            let scope = if uses == 0 { String::new() } else { format!(" in {} of {all} sessions", all - uses) };
            report.hints.push(format!("{} Its names are not used{scope}.", other_build(&program.path, reason)));
        }
        if options.is_match_required && (contradiction.is_some() || sessions.named_functions.is_empty()) {
            let reason = contradiction.unwrap_or_else(|| "the recording names no function".to_owned());
            report.refused = Some(refusal(&program.path, &reason));
        }
    } else if names == 0 {
        let hint = "No names are recorded: --qs-dict FILE.dic gives them, and --elf FILE those of objects and functions.";
        report.hints.push(hint.to_owned());
    }
}
