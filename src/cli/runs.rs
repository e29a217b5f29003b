//! `traceconv check DATASET`: rules over the recordings of a dataset, and since when a metric has moved.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt::Write;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use anyhow::Context;
use arrow_array::Array;
use clap::Args as ClapArgs;
use serde::Serialize;

use super::check::{CheckArgs, SCHEMA_VERSION, outcome};
use super::export::part_files;
use super::output::create_dir;
use super::plan::{Place, PlanError, path_text, shown};
use super::recording_figures::{write_junit, write_result};
use super::values::parse_percent;
use super::{Status, say};
use crate::export::{ExportError, Table, dataset};
use crate::metrics::budget::{Budget, BudgetRule};
use crate::metrics::check::{Candidate, Verdict, judge};
use crate::metrics::figures::path as metric_path;
use crate::metrics::list::{self, Metric};
use crate::metrics::runs::{CONFIDENCE, Over, change};
use crate::metrics::{Nature, Unit, Worse, text};
use crate::model::counted;
use crate::report::{Case, Suite, TOOL_VERSION, indented_json, visible};
use crate::stats::text::markdown_escaped;

/// Options of `check` for a dataset.
#[derive(Debug, ClapArgs)]
#[command(next_help_heading = "Options for a dataset")]
pub(super) struct RunsArgs {
    /// Check each value of this label by itself
    #[arg(long, value_name = "LABEL")]
    by: Option<String>,

    /// The label that orders the recordings, e.g. a build's number [default: the recordings' paths]
    ///
    /// By its text; recordings of the same value by their paths.
    #[arg(long, value_name = "LABEL")]
    order: Option<String>,

    /// Changes of less than this are not listed, in per cent
    #[arg(long, value_name = "PERCENT", value_parser = parse_percent, default_value = "5%", allow_hyphen_values = true)]
    min_change: f64,

    /// Write a chart of each listed change into this directory, as SVG
    #[arg(long, value_name = "DIR")]
    charts: Option<PathBuf>,
}

/// At most this number of changes is listed, except as JSON.
const LISTED: usize = 20;

/// A recording of the dataset.
struct Run {
    id: String,
    path: String,
    order: String,
    group: String,
}

/// A metric in all recordings that have it, in their order.
struct Series {
    metric: &'static Metric,
    name: String,
    runs: Vec<u32>,
    values: Vec<f64>,
}

impl Series {
    fn path(&self) -> String {
        metric_path(self.metric, &self.name)
    }

    /// The values by groups of recordings, with the recordings.
    fn groups<'a>(&self, runs: &'a [Run]) -> BTreeMap<&'a str, Vec<(&'a Run, f64)>> {
        let mut groups: BTreeMap<&str, Vec<(&Run, f64)>> = BTreeMap::new();
        for (run, value) in self.runs.iter().zip(&self.values) {
            let Some(run) = runs.get(*run as usize) else { continue };
            groups.entry(&run.group).or_default().push((run, *value));
        }
        groups
    }
}

/// A change of a metric.
#[derive(Serialize)]
struct Moved {
    metric: String,
    unit: &'static str,
    /// The medians.
    before: f64,
    since: f64,
    change_percent: f64,
    confidence: f64,
    is_worse: bool,
    #[serde(skip)]
    nature: Nature,
    /// The first recording with the new values, and its number among those that have the metric, from 1.
    recording: String,
    path: String,
    /// The value of the label that orders the recordings.
    order: String,
    number: usize,
    recordings: usize,
    /// The medians of each group.
    groups: BTreeMap<String, [Option<f64>; 2]>,
    #[serde(skip)]
    chart: String,
}

/// The result for scripts.
#[derive(Serialize)]
struct RunsFile<'a> {
    schema_version: u32,
    tool_version: &'static str,
    budget: Option<String>,
    broken: usize,
    dataset: String,
    recordings: usize,
    /// Recordings that could not be read when they were exported.
    unread: usize,
    metrics_compared: usize,
    verdicts: &'a [Verdict],
    /// What the verdicts do not cover.
    notes: &'a [String],
    changes: &'a [Moved],
}

/// The directory of a dataset, if that is the only input.
pub(super) fn dataset_of<'a>(inputs: &'a [PathBuf], options: &RunsArgs) -> Result<Option<&'a Path>, PlanError> {
    let RunsArgs { by, order, min_change: _, charts } = options;
    match inputs {
        [dir] if dir.join(dataset::ABOUT).is_file() => Ok(Some(dir)),
        _ if by.is_some() || order.is_some() || charts.is_some() => Err(PlanError::usage(
            "--by, --order and --charts are for a dataset: name the directory that `export --parquet` wrote",
        )),
        _ => Ok(None),
    }
}

/// Checks a dataset.
pub(super) fn main(
    args: &CheckArgs,
    dir: &Path,
    budget: &Budget,
    output: &Place,
    junit: Option<&Place>,
) -> Result<Status, PlanError> {
    let options = &args.runs;
    if !args.part.is_whole() {
        return Err(PlanError::usage(
            "--from and --to are for recordings; a dataset has the figures of the part that `export --from --to` named",
        ));
    }
    let failed = |error: &dyn std::fmt::Display| PlanError::File(format!("the dataset {}: {error}", shown(dir)));
    let (runs, unread) = read_runs(dir, options).map_err(|error| failed(&error))?;
    if runs.is_empty() {
        return Err(failed(&"it has no recording that could be read"));
    }
    let all = read_series(dir, &runs, budget).map_err(|error| failed(&error))?;
    let verdicts: Vec<Verdict> = budget.limits.iter().map(|limit| verdict(limit, &runs, &all, options.by.as_deref())).collect();
    let notes: Vec<String> = budget.limits.iter().filter_map(|limit| uncovered(limit, &runs, &all)).collect();
    let compared: Vec<&Series> = all.iter().filter(|series| is_compared(series.metric)).collect();
    let changes = changes(&compared, &runs, options);
    if let Some(dir) = &options.charts {
        write_charts(dir, &changes).map_err(|error| PlanError::File(format!("the charts {}: {error:#}", shown(dir))))?;
    }

    let broken: Vec<String> = verdicts.iter().filter(|verdict| verdict.is_broken()).flat_map(text::broken).collect();
    let status = if broken.is_empty() { Status::Done } else { Status::BeyondLimits };
    if args.json || args.md || *output != Place::Standard {
        broken.iter().for_each(|sentence| say(&format!("error: {sentence}\n")));
    }
    let name = shown(dir);
    let compared = compared.len();
    let text = if args.json {
        let file = RunsFile {
            schema_version: SCHEMA_VERSION,
            tool_version: TOOL_VERSION,
            budget: args.budget.as_deref().map(path_text),
            broken: broken.len(),
            dataset: path_text(dir),
            recordings: runs.len(),
            unread,
            metrics_compared: compared,
            verdicts: &verdicts,
            notes: &notes,
            changes: &changes,
        };
        indented_json(&file).map_err(Into::into)
    } else {
        let more = if unread > 0 { format!(" and {unread} that could not be read") } else { String::new() };
        let summary = format!("{}{more}, {} compared", counted(runs.len(), "recording"), counted(compared, "metric"));
        describe(args, &name, &summary, (&verdicts, &notes), &changes).map_err(Into::into)
    };
    let status = write_result(output, "the verdicts", text, status);
    let Some(junit) = junit else { return Ok(status) };
    let class = format!("traceconv.{name}");
    let case = |verdict: &Verdict| Case {
        name: text::title(verdict),
        class: class.clone(),
        seconds: 0.0,
        outcome: outcome(verdict),
        output: None,
    };
    let suite = Suite { name, seconds: 0.0, cases: verdicts.iter().map(case).collect() };
    Ok(write_junit(junit, &[suite], status))
}

/// Whether a metric of two recordings can be compared: as for `diff`.
fn is_compared(metric: &Metric) -> bool {
    !matches!(metric.nature, Nature::Extreme | Nature::Sum)
}

/// The recordings that could be read, in their order, and the number of the others.
fn read_runs(dir: &Path, options: &RunsArgs) -> Result<(Vec<Run>, usize), ExportError> {
    // `export --append` tries one that could not be read again.
    let (mut runs, mut unread) = (Vec::new(), HashSet::new());
    let labels = [&options.by, &options.order];
    let mut is_known = labels.map(Option::is_none);
    for (file, _) in part_files(&dir.join(Table::Recordings.name())) {
        let about = |error: ExportError| ExportError::Dataset(format!("{} {error}", shown(&file)));
        let columns: Vec<&str> =
            ["recording", "path", "error"].into_iter().chain(labels.into_iter().filter_map(|label| label.as_deref())).collect();
        let opened = File::open(&file).map_err(|error| ExportError::Dataset(format!("{}: {error}", shown(&file))))?;
        dataset::read(opened, &columns, |batch| {
            let ids = dataset::names(batch, "recording")?;
            let (paths, errors) = (dataset::texts(batch, "path")?, dataset::texts(batch, "error")?);
            // Of recordings that were added with other labels the value is unknown, and empty here.
            let [groups, orders] = labels.map(|label| label.as_deref().and_then(|name| dataset::names(batch, name).ok()));
            for (is_known, column) in is_known.iter_mut().zip([&groups, &orders]) {
                *is_known |= column.is_some();
            }
            let value = |names: &Option<dataset::Names<'_>>, row: usize| {
                names.as_ref().map_or("", |names| dataset::name_at(names, row)).to_owned()
            };
            for row in 0..batch.num_rows() {
                let id = dataset::name_at(&ids, row).to_owned();
                if errors.is_valid(row) {
                    unread.insert(id);
                    continue;
                }
                let path = if paths.is_valid(row) { paths.value(row) } else { "" };
                runs.push(Run { id, path: path.to_owned(), order: value(&orders, row), group: value(&groups, row) });
            }
            Ok(())
        })
        .map_err(about)?;
    }
    if let Some(label) = labels.into_iter().zip(is_known).find_map(|(label, is_known)| label.as_ref().filter(|_| !is_known)) {
        return Err(ExportError::Dataset(format!("no recording has a label `{label}`")));
    }
    runs.sort_by(|one, other| (&one.order, &one.path).cmp(&(&other.order, &other.path)));
    let read: HashSet<&str> = runs.iter().map(|run| run.id.as_str()).collect();
    unread.retain(|id| !read.contains(id.as_str()));
    Ok((runs, unread.len()))
}

/// The metrics that are compared, or that rules limit.
fn read_series(dir: &Path, runs: &[Run], budget: &Budget) -> Result<Vec<Series>, ExportError> {
    let numbers: HashMap<&str, u32> = (0u32..).zip(runs).map(|(number, run)| (run.id.as_str(), number)).collect();
    let mut places: HashMap<(&'static str, String, String), Option<usize>> = HashMap::new();
    let mut found: Vec<Series> = Vec::new();
    let mut sections: HashMap<&str, Vec<(&'static Metric, String)>> = HashMap::new();
    for (section, _) in list::SECTIONS {
        sections.insert(section, list::of_section(section).into_iter().map(|metric| (metric, metric.full_name())).collect());
    }
    for (file, _) in part_files(&dir.join(Table::Metrics.name())) {
        let opened = File::open(&file).map_err(|error| ExportError::Dataset(format!("{}: {error}", shown(&file))))?;
        dataset::read(opened, &["recording", "section", "name", "metric", "value"], |batch| {
            let column = |name| dataset::names(batch, name);
            let (ids, of_sections, names, metrics) =
                (column("recording")?, column("section")?, column("name")?, column("metric")?);
            let values = dataset::reals(batch, "value")?;
            let run_of: Vec<Option<u32>> = dataset::dictionary(&ids).map(|id| numbers.get(id).copied()).collect();
            // The dictionaries of a batch are small: each combination is looked up once.
            let mut known: HashMap<(i32, i32, i32), Option<usize>> = HashMap::new();
            for row in (0..batch.num_rows()).filter(|row| values.is_valid(*row)) {
                let key = |names: &dataset::Names<'_>| dataset::key_at(names, row);
                let Some(run) = run_of.get(usize::try_from(key(&ids)).unwrap_or(usize::MAX)).copied().flatten() else { continue };
                let place = *known.entry((key(&of_sections), key(&names), key(&metrics))).or_insert_with(|| {
                    let text = |names| dataset::name_at(names, row);
                    let (section, metric) = (text(&of_sections), text(&metrics));
                    let (section, all) = sections.get_key_value(section)?;
                    let (metric, full_name) = all.iter().find(|(_, full_name)| full_name == metric)?;
                    let name = text(&names).to_owned();
                    let is_limited = budget.limits.iter().any(|limit| limit.rule.is_about(metric, &name));
                    *places.entry((section, name.clone(), full_name.clone())).or_insert_with(|| {
                        (is_compared(metric) || is_limited).then(|| {
                            found.push(Series { metric, name, runs: Vec::new(), values: Vec::new() });
                            found.len() - 1
                        })
                    })
                });
                if let Some(series) = place.and_then(|place| found.get_mut(place)) {
                    series.runs.push(run);
                    series.values.push(values.value(row));
                }
            }
            Ok(())
        })
        .map_err(|error| ExportError::Dataset(format!("{} {error}", shown(&file))))?;
    }
    for Series { runs, values, .. } in &mut found {
        if !runs.is_sorted() {
            let mut both: Vec<(u32, f64)> = runs.iter().copied().zip(values.iter().copied()).collect();
            both.sort_by_key(|(run, _)| *run);
            (*runs, *values) = both.into_iter().unzip();
        }
    }
    found.sort_by_cached_key(Series::path);
    Ok(found)
}

/// The verdict on a rule: of a statistic over all recordings, or those of a group; without a statistic, of the worst recording of each.
fn verdict(limit: &BudgetRule, runs: &[Run], all: &[Series], by: Option<&str>) -> Verdict {
    let rule = &limit.rule;
    let mut candidates = Vec::new();
    for series in all.iter().filter(|series| rule.is_about(series.metric, &series.name)) {
        for (group, values) in series.groups(runs) {
            let of_group = by.map_or_else(String::new, |by| format!(" of {by}={group}"));
            let scaled = |value: f64| value / rule.scale.factor;
            if let Some(over) = rule.over {
                let values: Vec<f64> = values.iter().map(|(_, value)| scaled(*value)).collect();
                let Some(value) = over.of(&values) else { continue };
                let path = rule.measured(&series.name);
                candidates.push(Candidate {
                    metric: format!("{path}{of_group}"),
                    name: format!("{}{of_group}", series.name).trim_start().to_owned(),
                    value,
                });
            } else {
                let margin = |value: &(&Run, f64)| rule.limit.margin(scaled(value.1));
                let Some((run, value)) = values.iter().min_by(|one, other| margin(one).total_cmp(&margin(other))) else {
                    continue;
                };
                let place = format!("{of_group} in {}", run.path);
                let path = rule.measured(&series.name);
                let (metric, name) = (format!("{path}{place}"), format!("{}{place}", series.name).trim_start().to_owned());
                candidates.push(Candidate { metric, name, value: scaled(*value) });
            }
        }
    }
    let mut names: Vec<&str> =
        all.iter().filter(|series| series.metric.section == rule.metric.section).map(|series| series.name.as_str()).collect();
    names.dedup();
    judge(limit, candidates, &names)
}

/// A sentence if some recordings have nothing that a rule limits: it is not known to hold there.
fn uncovered(limit: &BudgetRule, runs: &[Run], all: &[Series]) -> Option<String> {
    let series = all.iter().filter(|series| limit.rule.is_about(series.metric, &series.name));
    let covered = series.flat_map(|series| &series.runs).collect::<HashSet<_>>().len();
    let missing = runs.len() - covered;
    let verb = if missing == 1 { "has" } else { "have" };
    let is_said = !limit.is_optional && covered > 0 && missing > 0;
    is_said
        .then(|| format!("{}: {missing} of {} {verb} nothing that it limits", limit.rule.text, counted(runs.len(), "recording")))
}

/// All changes that are sure: first what is worse; then what is closest to the cause; then what moved most.
fn changes(compared: &[&Series], runs: &[Run], options: &RunsArgs) -> Vec<Moved> {
    let mut changes: Vec<Moved> = compared
        .iter()
        .filter_map(|series| {
            let change = change(&series.values)?;
            let (change_percent, confidence) = (change.percent(), change.confidence(compared.len()));
            if confidence < CONFIDENCE || change_percent.abs() < options.min_change {
                return None;
            }
            let run = series.runs.get(change.at).and_then(|run| runs.get(*run as usize))?;
            let mut groups = BTreeMap::new();
            if options.by.is_some() {
                let mut split: BTreeMap<&str, [Vec<f64>; 2]> = BTreeMap::new();
                for (index, (run, value)) in series.runs.iter().zip(&series.values).enumerate() {
                    let group = runs.get(*run as usize).map_or("", |run| run.group.as_str());
                    if let Some(values) = split.entry(group).or_default().get_mut(usize::from(index >= change.at)) {
                        values.push(*value);
                    }
                }
                let median = |values: Vec<f64>| Over::Percentile(50.0).of(&values);
                groups.extend(split.into_iter().map(|(group, values)| (group.to_owned(), values.map(median))));
            }
            Some(Moved {
                metric: series.path(),
                unit: if series.metric.unit == Unit::Count { "" } else { series.metric.unit.symbol() },
                before: change.before,
                since: change.since,
                change_percent,
                confidence,
                is_worse: match series.metric.worse {
                    Worse::More => change.since > change.before,
                    Worse::Less => change.since < change.before,
                    Worse::Neither => false,
                },
                nature: series.metric.nature,
                recording: run.id.clone(),
                path: run.path.clone(),
                order: run.order.clone(),
                number: change.at + 1,
                recordings: series.values.len(),
                groups,
                chart: if options.charts.is_some() { chart(&series.values, change.at) } else { String::new() },
            })
        })
        .collect();
    changes.sort_by(|one, other| {
        let key = |moved: &Moved| (!moved.is_worse, moved.nature);
        key(one).cmp(&key(other)).then(other.change_percent.abs().total_cmp(&one.change_percent.abs()))
    });
    changes
}

/// The result for people.
fn describe(
    args: &CheckArgs,
    name: &str,
    summary: &str,
    (verdicts, notes): (&[Verdict], &[String]),
    changes: &[Moved],
) -> Result<String, std::fmt::Error> {
    let RunsArgs { by, order, min_change, charts } = &args.runs;
    let mut text = String::new();
    if !verdicts.is_empty() {
        text += &if args.md {
            text::verdicts_markdown(name, verdicts) + "\n"
        } else {
            format!("{name}: {}\n\n{}\n", text::verdict_summary(verdicts), text::verdicts(verdicts))
        };
    }
    for note in notes {
        text += &if args.md { markdown_escaped(note) + "\n\n" } else { format!("note: {}\n", visible(note)) };
    }
    if !notes.is_empty() && !args.md {
        text += "\n";
    }
    let (mark, end) = if args.md { ("### ", "\n") } else { ("", "") };
    writeln!(text, "{mark}{name}: {summary}\n{end}", end = end)?;
    if changes.is_empty() {
        writeln!(text, "no metric has moved by {min_change} % or more")?;
    } else if args.md {
        text += "| Metric | Before | Since | Change | Since | Confidence |\n|:--|--:|--:|--:|:--|--:|\n";
    }
    for moved in changes.iter().take(LISTED) {
        let [before, since] = [moved.before, moved.since].map(|value| text::with_unit(value, moved.unit));
        let order = order.as_ref().map_or_else(String::new, |label| format!("{label} {}, ", moved.order));
        let place = format!("{order}{} ({} of {})", moved.path, moved.number, moved.recordings);
        let percent = format!("{:+.1} %", moved.change_percent);
        let confidence = match 100.0 * moved.confidence {
            sure if sure > 99.99 => "> 99.99 %".to_owned(),
            confidence => format!("{confidence:.2} %"),
        };
        if args.md {
            let [metric, place] = [&moved.metric, &place].map(|text| markdown_escaped(text));
            writeln!(text, "| {metric} | {before} | {since} | {percent} | {place} | {confidence} |")?;
            continue;
        }
        let [metric, place] = [&moved.metric, &place].map(|text| visible(text).into_owned());
        writeln!(text, "{metric}: {before} -> {since} ({percent}) since {place}, confidence {confidence}")?;
        for (group, values) in &moved.groups {
            let [before, since] = values.map(|value| value.map_or("none".into(), |value| text::with_unit(value, moved.unit)));
            writeln!(text, "  {}={}: {before} -> {since}", by.as_deref().unwrap_or_default(), visible(group))?;
        }
    }
    if changes.len() > LISTED {
        writeln!(text, "{end}and {} more: --json has all", changes.len() - LISTED)?;
    }
    if let (Some(dir), true) = (charts, args.md) {
        for (index, moved) in changes.iter().take(LISTED).enumerate() {
            writeln!(text, "\n{}\n\n![]({})", markdown_escaped(&moved.metric), dir.join(chart_name(index, moved)).display())?;
        }
    }
    Ok(text)
}

/// The metric's name, as far as it can be a file's; then its place in the list distinguishes it from others.
fn chart_name(index: usize, moved: &Moved) -> String {
    const LETTERS: usize = 150;
    let letter = |letter: char| if letter.is_ascii_alphanumeric() || "._-".contains(letter) { letter } else { '_' };
    let name: String = moved.metric.chars().map(letter).take(LETTERS).collect();
    if name == moved.metric { format!("{name}.svg") } else { format!("{name}-{}.svg", index + 1) }
}

fn write_charts(dir: &Path, changes: &[Moved]) -> anyhow::Result<()> {
    create_dir(dir)?;
    for (index, moved) in changes.iter().take(LISTED).enumerate() {
        let name = chart_name(index, moved);
        fs::write(dir.join(&name), &moved.chart).with_context(|| name.clone())?;
    }
    Ok(())
}

/// The means of pieces of the values, from the least to the greatest of them, with a line where they changed.
fn chart(values: &[f64], changed_at: usize) -> String {
    const WIDTH: f64 = 600.0;
    const HEIGHT: f64 = 80.0;
    const PIECES: usize = 200;
    let size = values.len().div_ceil(PIECES).max(1);
    let means: Vec<f64> = values.chunks(size).map(|piece| piece.iter().sum::<f64>() / piece.len() as f64).collect();
    let least = means.iter().copied().fold(f64::INFINITY, f64::min);
    let most = means.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let x = |index: f64| WIDTH * index / values.len().max(1) as f64;
    let y = |value: f64| HEIGHT - 4.0 - (HEIGHT - 8.0) * (value - least) / (most - least).max(f64::MIN_POSITIVE);
    let points: Vec<String> =
        means.iter().enumerate().map(|(index, mean)| format!("{:.1},{:.1}", x((index * size) as f64), y(*mean))).collect();
    let at = x(changed_at as f64);
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" width=\"{WIDTH}\" height=\"{HEIGHT}\">\
         <rect width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"#fff\"/>\
         <line x1=\"{at:.1}\" x2=\"{at:.1}\" y1=\"0\" y2=\"{HEIGHT}\" stroke=\"#d62728\"/>\
         <polyline points=\"{}\" fill=\"none\" stroke=\"#1f77b4\"/></svg>\n",
        points.join(" ")
    )
}
