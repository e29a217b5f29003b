//! Verdicts and differences for people, as text and as Markdown.

use super::check::{Measured, Outcome, Verdict};
use super::diff::{Change, Diff, Direction, Thing};
use super::list::Unit;
use crate::stats::text::{Table, counted, duration, markdown_escaped, visible};

/// The verdicts of a recording, with details of broken rules.
#[must_use]
pub fn verdicts(verdicts: &[Verdict]) -> String {
    let mut rows = Vec::new();
    for verdict in verdicts {
        rows.extend(verdict_rows(verdict));
    }
    let table = Table { heading: vec!["VERDICT", "RULE", "OF", "MEASURED", "MARGIN"], left: &["RULE", "OF"], rows };
    let mut text = table.render(usize::MAX, "").unwrap_or_default();
    remarks(verdicts).iter().for_each(|remark| text += &format!("{}\n", visible(remark)));
    text
}

/// A rule with its name in the budget.
#[must_use]
pub fn title(verdict: &Verdict) -> String {
    verdict.name.as_ref().map_or_else(|| verdict.rule.clone(), |name| format!("{name} ({})", verdict.rule))
}

/// Further lines about broken rules.
fn remarks(verdicts: &[Verdict]) -> Vec<String> {
    let mut remarks = Vec::new();
    for verdict in verdicts.iter().filter(|verdict| verdict.is_broken()) {
        let title = title(verdict);
        remarks.extend(verdict.missing.as_ref().map(|missing| format!("missing: {title}: {missing}")));
        remarks.extend(verdict.reason.as_ref().map(|reason| format!("reason: {title}: {reason}")));
    }
    remarks
}

/// The verdicts of a recording as Markdown.
#[must_use]
pub fn verdicts_markdown(name: &str, verdicts: &[Verdict]) -> String {
    let mut text = format!("### {}: {}\n\n", markdown_escaped(name), verdict_summary(verdicts));
    text += "| Verdict | Rule | Of | Measured | Margin |\n|:--|:--|:--|--:|--:|\n";
    for verdict in verdicts {
        for cells in verdict_rows(verdict) {
            let cells: Vec<String> = cells.iter().map(|cell| markdown_escaped(cell)).collect();
            let [word, rest @ ..] = cells.as_slice() else { continue };
            let word = if verdict.is_broken() { format!("**{word}**") } else { word.clone() };
            text += &format!("| {word} | {} |\n", rest.join(" | "));
        }
    }
    remarks(verdicts).iter().for_each(|remark| text += &format!("\n{}\n", markdown_escaped(remark)));
    text
}

/// The Markdown for a recording that could not be read.
#[must_use]
pub fn unread_markdown(name: &str, error: &str) -> String {
    format!("### {}: not checked\n\n**{}**\n", markdown_escaped(name), markdown_escaped(error))
}

fn verdict_rows(verdict: &Verdict) -> Vec<Vec<String>> {
    let word = match verdict.outcome {
        Outcome::Kept => "ok",
        Outcome::Broken => "BROKEN",
        Outcome::Missing => "MISSING",
        Outcome::Skipped => "skipped",
    };
    if verdict.values.is_empty() {
        return vec![vec![word.into(), verdict.rule.clone(), String::new(), "-".into(), "-".into()]];
    }
    let row = |measured: &Measured| {
        let of = match (verdict.outcome, verdict.measured) {
            (Outcome::Kept, 2..) => format!("{} (of {})", measured.name, verdict.measured),
            (_, 2..) => measured.name.clone(),
            _ if verdict.rule.contains(&measured.name) && !verdict.rule.contains(['*', '?']) => String::new(),
            _ => measured.name.clone(),
        };
        let [value, margin] = self::measured(measured, verdict.unit);
        vec![word.into(), verdict.rule.clone(), of, value, margin]
    };
    verdict.values.iter().map(row).collect()
}

/// One line: the number of checks and their result.
#[must_use]
pub fn verdict_summary(verdicts: &[Verdict]) -> String {
    let broken = verdicts.iter().filter(|verdict| verdict.is_broken()).count();
    let skipped = verdicts.iter().filter(|verdict| verdict.outcome == Outcome::Skipped).count();
    let kept = verdicts.len() - broken - skipped;
    let skipped = if skipped > 0 { format!(", {skipped} skipped") } else { String::new() };
    format!("{}: {kept} kept, {broken} broken{skipped}", counted(verdicts.len(), "rule"))
}

/// The broken rules, in a sentence each: `task.sensor.cpu_percent is 4.2 %, which breaks task.*.cpu_percent < 4`.
#[must_use]
pub fn broken(verdict: &Verdict) -> Vec<String> {
    if let Some(missing) = &verdict.missing {
        return vec![visible(&format!("{}: {missing}", verdict.rule)).into_owned()];
    }
    let sentence = |measured: &Measured| {
        let [value, _] = self::measured(measured, verdict.unit);
        format!("{} is {value}, which breaks {}", visible(&measured.metric), verdict.rule)
    };
    verdict.values.iter().map(sentence).collect()
}

/// The differences for people: at most `rows` rows.
#[must_use]
pub fn differences(diff: &Diff, rows: usize) -> String {
    let row = |change: &Change| {
        let word = match (change.direction, change.is_too_much, change.is_noise) {
            (Direction::Worse, true, _) => "WORSE",
            (_, _, true) => "(noise)",
            (Direction::Worse, false, _) => "worse",
            (Direction::Better, ..) => "better",
            (Direction::Different, ..) => "differs",
        };
        vec![word.to_owned(), change.metric.clone(), value(change, change.base), value(change, change.new), percent(change)]
    };
    let table = Table {
        heading: vec!["", "METRIC", "BASE", "NEW", "CHANGE"],
        left: &["METRIC"],
        rows: diff.changes.iter().map(row).collect(),
    };
    let mut text = table.render(rows, "--json has all").unwrap_or_default();
    for (word, things) in [("only in the base", &diff.removed), ("only in the new one", &diff.added)] {
        if !things.is_empty() {
            text += &format!("{word}: {}\n", names(things).join(", "));
        }
    }
    text
}

/// How many metrics changed, in a line.
#[must_use]
pub fn difference_summary(diff: &Diff) -> String {
    let [worse, better, different] = [Direction::Worse, Direction::Better, Direction::Different].map(|way| diff.count(way));
    let noise = match diff.noise() {
        0 => String::new(),
        noise => format!("; {noise} more differ by single events or within the noise"),
    };
    let compared = counted(diff.compared, "metric");
    format!("{compared} compared: {worse} worse, {better} better, {different} different otherwise{noise}")
}

/// The worst change in a sentence: `task sensor: CPU 1.79 % → 4.2 % (+134.6 %)`.
#[must_use]
pub fn worst(diff: &Diff) -> Option<String> {
    diff.worst().map(sentence)
}

/// A change in a sentence.
#[must_use]
pub fn sentence(change: &Change) -> String {
    format!("{} {} → {} ({})", visible(&change.subject()), value(change, change.base), value(change, change.new), percent(change))
}

/// The differences as Markdown.
#[must_use]
pub fn markdown(diff: &Diff, (base, new): (&str, &str), rows: usize) -> String {
    let mut text = format!("### {} → {}\n\n{}", markdown_escaped(base), markdown_escaped(new), difference_summary(diff));
    if let Some(worst) = worst(diff) {
        text += &format!("  \n**worst: {}**", markdown_escaped(&worst));
    }
    text += "\n";
    if !diff.changes.is_empty() {
        text += "\n| | Metric | Base | New | Change |\n|---|---|---:|---:|---:|\n";
    }
    for change in diff.changes.iter().take(rows) {
        let word = match (change.direction, change.is_too_much, change.is_noise) {
            (Direction::Worse, true, _) => "**worse**",
            (_, _, true) => "(noise)",
            (Direction::Worse, false, _) => "worse",
            (Direction::Better, ..) => "better",
            (Direction::Different, ..) => "",
        };
        let [base, new] = [change.base, change.new].map(|number| value(change, number));
        text += &format!("| {word} | {} | {base} | {new} | {} |\n", markdown_escaped(&change.metric), percent(change));
    }
    let more = diff.changes.len().saturating_sub(rows);
    if more > 0 {
        text += &format!("\n{more} more changes are not listed.\n");
    }
    for (word, things) in [("Only in the base", &diff.removed), ("Only in the new one", &diff.added)] {
        if !things.is_empty() {
            text += &format!("\n{word}: {}\n", markdown_escaped(&names(things).join(", ")));
        }
    }
    text
}

fn names(things: &[Thing]) -> Vec<String> {
    things.iter().map(thing).collect()
}

/// A thing that is in one recording only, with a guess of its name in the other.
#[must_use]
pub fn thing(thing: &Thing) -> String {
    let quoted = |name: &str| visible(&super::figures::quoted(name)).into_owned();
    let guess = thing.other_name.as_ref().map_or_else(String::new, |other| format!(" (renamed? {})", quoted(other)));
    format!("{} {}{guess}", thing.section, quoted(&thing.name))
}

fn percent(change: &Change) -> String {
    let spreads = match (change.base_runs, change.evidence) {
        (Some(2..), Some(spreads)) => format!(", {spreads:.1} spreads"),
        _ => String::new(),
    };
    match change.change_percent {
        Some(percent) => format!("{percent:+.1} %{spreads}"),
        None => format!("new{spreads}"),
    }
}

fn value(change: &Change, value: f64) -> String {
    match change.of_unit {
        // Whole nanoseconds, and never negative.
        Unit::Nanoseconds => duration(value as u64),
        unit => with_unit(value, if unit == Unit::Count { "" } else { unit.symbol() }),
    }
}

/// A number with three decimals at most, and its unit. One that would look like 0 has more.
pub(crate) fn with_unit(value: f64, unit: &str) -> String {
    rounded(value, decimals(value), unit)
}

const DECIMALS_MAX: usize = 15;

fn decimals(value: f64) -> usize {
    let size = value.abs();
    if size > 0.0 && size < 1e-3 { ((2.0 - size.log10().floor()) as usize).min(DECIMALS_MAX) } else { 3 }
}

/// The value and margin of a verdict, with as many decimals as the margin needs: what is beyond a limit does not look like the limit, and what is
/// the limit looks like it.
fn measured(measured: &Measured, unit: &str) -> [String; 2] {
    let margin = measured.margin.abs();
    let of_margin = match margin > 0.0 {
        true => (-margin.log10().floor()).clamp(3.0, DECIMALS_MAX as f64) as usize,
        false => measured.value.to_string().split_once('.').map_or(0, |(_, decimals)| decimals.len()).min(DECIMALS_MAX),
    };
    let decimals = of_margin.max(decimals(measured.value));
    [measured.value, measured.margin].map(|number| rounded(number, decimals, unit))
}

fn rounded(value: f64, decimals: usize, unit: &str) -> String {
    let mut number = format!("{value:.decimals$}");
    if number.contains('.') {
        number.truncate(number.trim_end_matches('0').trim_end_matches('.').len());
    }
    if number == "-0" {
        number.remove(0);
    }
    if unit.is_empty() { number } else { format!("{number} {unit}") }
}
