//! `traceconv runs DATASET`: limits on statistics over the recordings of a dataset, and since when a metric has moved.

use std::collections::{BTreeMap, HashMap};
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use arrow_array::Array;
use clap::Args as ClapArgs;

use super::export::part_files;
use super::plan::{Place, PlanError, shown};
use super::recording_figures::write_result;
use super::{Status, say};
use crate::export::{ExportError, Table, dataset};
use crate::metrics::figures::path as metric_path;
use crate::metrics::list::{self, Metric, NAMELESS};
use crate::metrics::runs::{CONFIDENCE, Change, Over, RunsRule, change};
use crate::metrics::{Nature, Unit, Worse};
use crate::report::visible;

#[derive(Debug, ClapArgs)]
pub(super) struct RunsArgs {
    /// A dataset that `export --parquet` wrote, with the tables `recordings` and `metrics`
    dataset: PathBuf,

    /// A limit, e.g. `p95(task.filter.cpu_percent) < 4`; may be repeated
    ///
    /// The statistics are min, max, mean, median, p95 (any per cent), and change: by how many per cent a metric has moved.
    #[arg(long, value_name = "RULE", value_parser = |text: &str| RunsRule::parse(text).map_err(|error| error.to_string()))]
    rule: Vec<RunsRule>,

    /// Check each value of this label by itself
    #[arg(long, value_name = "LABEL")]
    by: Option<String>,

    /// The label that orders the recordings, e.g. a build's number [default: the recordings' paths]
    ///
    /// By its text; recordings of the same value by their paths.
    #[arg(long, value_name = "LABEL")]
    order: Option<String>,

    /// Changes of less than this are not listed, in per cent
    #[arg(long, value_name = "PERCENT", default_value_t = 5.0)]
    min_change: f64,

    /// As Markdown, for the summary of a job
    #[arg(long)]
    md: bool,

    /// Write a chart of each listed change into this directory, as SVG
    #[arg(long, value_name = "DIR")]
    charts: Option<PathBuf>,

    /// Where to write the result [default: standard output]
    #[arg(short, long, value_name = "OUT")]
    output: Option<PathBuf>,
}

/// At most this number of changes is listed.
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
    runs: Vec<usize>,
    values: Vec<f64>,
}

impl Series {
    fn path(&self) -> String {
        metric_path(self.metric, &self.name)
    }
}

/// Checks a dataset.
pub(super) fn main(args: &RunsArgs) -> Result<Status, PlanError> {
    let failed = |error: &dyn std::fmt::Display| PlanError::File(format!("the dataset {}: {error}", shown(&args.dataset)));
    let runs = read_runs(args).map_err(|error| failed(&error))?;
    if runs.is_empty() {
        return Err(failed(&"it has no recording that could be read"));
    }
    let all = read_series(&args.dataset, &runs, &args.rule).map_err(|error| failed(&error))?;
    let output = args.output.as_deref().map_or(Place::Standard, Place::from_arg);

    let broken: Vec<(String, bool)> = args.rule.iter().flat_map(|rule| verdicts(rule, &runs, &all, args.by.as_deref())).collect();
    let candidates: Vec<&Series> = all.iter().filter(|series| is_compared(series.metric)).collect();
    let mut changes: Vec<(&Series, Change)> = candidates
        .iter()
        .filter_map(|series| Some((*series, change(&series.values)?)))
        .filter(|(_, change)| change.confidence(candidates.len()) >= CONFIDENCE && change.percent().abs() >= args.min_change)
        .collect();
    let found = changes.len();
    // First what is worse; then what is closest to the cause; then what moved most.
    let is_worse = |series: &Series, change: &Change| match series.metric.worse {
        Worse::More => change.since > change.before,
        Worse::Less => change.since < change.before,
        Worse::Neither => false,
    };
    changes.sort_by(|(one, first), (other, second)| {
        let key = |series: &Series, change: &Change| (!is_worse(series, change), series.metric.nature);
        key(one, first).cmp(&key(other, second)).then(second.percent().abs().total_cmp(&first.percent().abs()))
    });
    changes.truncate(LISTED);

    let title = format!("{}: {} recordings, {} metrics compared", shown(&args.dataset), runs.len(), candidates.len());
    let mut text = if args.md { format!("### {title}\n\n") } else { format!("{title}\n") };
    for (sentence, is_broken) in &broken {
        let mark = match (args.md, is_broken) {
            (true, true) => "- ❌ ",
            (true, false) => "- ✅ ",
            (false, true) => "broken: ",
            (false, false) => "kept: ",
        };
        text += &format!("{mark}{}\n", visible(sentence));
    }
    if args.md && !broken.is_empty() {
        text.push('\n');
    }
    if changes.is_empty() {
        text += &format!("no metric has moved by {} % or more\n", args.min_change);
    } else if args.md {
        text += "| metric | before | since | change | since | confidence |\n|---|---:|---:|---:|---|---:|\n";
    }
    for (series, change) in &changes {
        text += &describe(series, change, &runs, candidates.len(), args);
    }
    if found > changes.len() {
        text += &format!("{}and {} more\n", if args.md { "\n" } else { "" }, found - changes.len());
    }
    if let Some(dir) = &args.charts {
        write_charts(dir, &changes)
            .map_err(|error| PlanError::File(format!("cannot write charts to {}: {error}", shown(dir))))?;
        if args.md {
            for (series, _) in &changes {
                text += &format!("\n{}\n\n![{0}]({}/{})\n", series.path(), dir.display(), chart_name(series));
            }
        }
    }
    let is_broken = broken.iter().any(|(_, is_broken)| *is_broken);
    let status = if is_broken { Status::BeyondLimits } else { Status::Done };
    if is_broken && output != Place::Standard {
        broken.iter().filter(|(_, is_broken)| *is_broken).for_each(|(sentence, _)| say(&format!("error: {sentence}\n")));
    }
    Ok(write_result(&output, "the result", Ok(text), status))
}

/// Whether a metric of two recordings can be compared: as for `diff`.
fn is_compared(metric: &Metric) -> bool {
    !matches!(metric.nature, Nature::Extreme | Nature::Sum)
}

/// A metric, with its value in each recording that has it, in any order.
struct Found {
    metric: &'static Metric,
    name: String,
    values: Vec<(usize, f64)>,
}

/// The recordings that could be read, in their order.
fn read_runs(args: &RunsArgs) -> Result<Vec<Run>, ExportError> {
    let mut runs = Vec::new();
    for (file, _) in part_files(&args.dataset.join(Table::Recordings.name())) {
        let about = |error: ExportError| ExportError::Dataset(format!("{} {error}", shown(&file)));
        let columns: Vec<&str> =
            ["recording", "path", "error"].into_iter().chain(args.by.as_deref()).chain(args.order.as_deref()).collect();
        let opened = File::open(&file).map_err(|error| ExportError::Dataset(format!("{}: {error}", shown(&file))))?;
        dataset::read(opened, &columns, |batch| {
            let ids = dataset::names(batch, "recording")?;
            let (paths, errors) = (dataset::texts(batch, "path")?, dataset::texts(batch, "error")?);
            let label = |name: &Option<String>| name.as_deref().map(|name| dataset::names(batch, name)).transpose();
            let (groups, orders) = (label(&args.by)?, label(&args.order)?);
            let value = |names: &Option<dataset::Names<'_>>, row: usize| {
                names.as_ref().filter(|names| names.is_valid(row)).map_or("", |names| dataset::name_at(names, row)).to_owned()
            };
            for row in (0..batch.num_rows()).filter(|row| errors.is_null(*row)) {
                let path = if paths.is_valid(row) { paths.value(row) } else { "" };
                let id = dataset::name_at(&ids, row).to_owned();
                runs.push(Run { id, path: path.to_owned(), order: value(&orders, row), group: value(&groups, row) });
            }
            Ok(())
        })
        .map_err(about)?;
    }
    runs.sort_by(|one, other| (&one.order, &one.path).cmp(&(&other.order, &other.path)));
    Ok(runs)
}

/// The metrics that are compared, or that rules limit.
fn read_series(dir: &Path, runs: &[Run], rules: &[RunsRule]) -> Result<Vec<Series>, ExportError> {
    let numbers: HashMap<&str, usize> = runs.iter().enumerate().map(|(number, run)| (run.id.as_str(), number)).collect();
    let mut places: HashMap<(&'static str, String, String), Option<usize>> = HashMap::new();
    let mut found: Vec<Found> = Vec::new();
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
            let run_of: Vec<Option<usize>> = dataset::dictionary(&ids).map(|id| numbers.get(id).copied()).collect();
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
                    let is_limited = rules.iter().any(|rule| is_meant(rule, metric, &name));
                    *places.entry((section, name.clone(), full_name.clone())).or_insert_with(|| {
                        (is_compared(metric) || is_limited).then(|| {
                            found.push(Found { metric, name, values: Vec::new() });
                            found.len() - 1
                        })
                    })
                });
                if let Some(found) = place.and_then(|place| found.get_mut(place)) {
                    found.values.push((run, values.value(row)));
                }
            }
            Ok(())
        })
        .map_err(|error| ExportError::Dataset(format!("{} {error}", shown(&file))))?;
    }
    let series = found.into_iter().map(|Found { metric, name, mut values }| {
        values.sort_unstable_by_key(|(run, _)| *run);
        let (runs, values) = values.into_iter().unzip();
        Series { metric, name, runs, values }
    });
    let mut all: Vec<Series> = series.collect();
    all.sort_by_key(Series::path);
    Ok(all)
}

/// Whether a rule limits a metric.
fn is_meant(rule: &RunsRule, metric: &Metric, name: &str) -> bool {
    *rule.rule.metric == *metric && (NAMELESS.contains(&metric.section) || rule.rule.name.fits(name))
}

/// A sentence for each metric and group that a rule limits, and whether it is broken.
fn verdicts(rule: &RunsRule, runs: &[Run], all: &[Series], by: Option<&str>) -> Vec<(String, bool)> {
    let mut verdicts = Vec::new();
    for series in all.iter().filter(|series| is_meant(rule, series.metric, &series.name)) {
        let mut groups: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
        for (run, value) in series.runs.iter().zip(&series.values) {
            let group = runs.get(*run).map_or("", |run| run.group.as_str());
            groups.entry(group).or_default().push(*value);
        }
        for (group, values) in groups {
            let (factor, unit) = match rule.over {
                Over::Change => (1.0, "%"),
                _ => (rule.rule.scale.factor, rule.rule.scale.symbol),
            };
            let Some(value) = rule.over.of(&values).map(|value| value / factor) else { continue };
            let of_group = by.map_or_else(String::new, |by| format!(" of {by}={group}"));
            let (path, count) = (series.path(), values.len());
            let sentence = format!("{}: {path} has {} over {count} recordings{of_group}", rule.text, with_unit(value, unit));
            // A change is a limit on how far, in whichever direction.
            let value = if rule.over == Over::Change { value.abs() } else { value };
            verdicts.push((sentence, !rule.rule.limit.holds(value)));
        }
    }
    if verdicts.is_empty() {
        verdicts.push((format!("{}: no recording has such a metric", rule.text), true));
    }
    verdicts
}

fn with_unit(value: f64, unit: &str) -> String {
    let digits = if value.abs() >= 100.0 { 1 } else { 3 };
    format!("{value:.digits$}{}{unit}", if unit.is_empty() { "" } else { " " })
}

/// A change, in a line.
fn describe(series: &Series, change: &Change, runs: &[Run], compared: usize, args: &RunsArgs) -> String {
    let unit = if series.metric.unit == Unit::Count { "" } else { series.metric.unit.symbol() };
    let (before, since) = (with_unit(change.before, unit), with_unit(change.since, unit));
    let percent = format!("{:+.1} %", change.percent());
    let since_run = series.runs.get(change.at).and_then(|run| runs.get(*run));
    let order = args.order.as_deref().zip(since_run).map_or_else(String::new, |(label, run)| format!("{label} {}, ", run.order));
    let path = since_run.map_or("", |run| run.path.as_str());
    let place = format!("{order}{path} ({} of {})", change.at + 1, series.values.len());
    let confidence = 100.0 * change.confidence(compared);
    let confidence = if confidence > 99.99 { "> 99.99 %".to_owned() } else { format!("{confidence:.2} %") };
    let mut text = if args.md {
        format!("| {} | {before} | {since} | {percent} | {} | {confidence} |\n", visible(&series.path()), visible(&place))
    } else {
        let path = series.path();
        format!("{}: {before} -> {since} ({percent}) since {}, confidence {confidence}\n", visible(&path), visible(&place))
    };
    if let Some(by) = args.by.as_deref().filter(|_| !args.md) {
        let mut groups: BTreeMap<&str, [Vec<f64>; 2]> = BTreeMap::new();
        for (index, (run, value)) in series.runs.iter().zip(&series.values).enumerate() {
            let group = runs.get(*run).map_or("", |run| run.group.as_str());
            if let Some(values) = groups.entry(group).or_default().get_mut(usize::from(index >= change.at)) {
                values.push(*value);
            }
        }
        for (group, [before, since]) in groups {
            let median = |values: &[f64]| Over::Percentile(50.0).of(values).map_or("none".into(), |value| with_unit(value, unit));
            text += &format!("  {by}={}: {} -> {}\n", visible(group), median(&before), median(&since));
        }
    }
    text
}

fn chart_name(series: &Series) -> String {
    let letter = |letter: char| if letter.is_ascii_alphanumeric() || "._-".contains(letter) { letter } else { '_' };
    series.path().chars().map(letter).collect::<String>() + ".svg"
}

fn write_charts(dir: &Path, changes: &[(&Series, Change)]) -> std::io::Result<()> {
    fs::create_dir_all(dir)?;
    changes.iter().try_for_each(|(series, change)| fs::write(dir.join(chart_name(series)), chart(series, change)))
}

/// The means of pieces of the series, from the least to the greatest of them, with a line where it changed.
fn chart(series: &Series, change: &Change) -> String {
    const WIDTH: f64 = 600.0;
    const HEIGHT: f64 = 80.0;
    const PIECES: usize = 200;
    let values = &series.values;
    let size = values.len().div_ceil(PIECES).max(1);
    let means: Vec<f64> = values.chunks(size).map(|piece| piece.iter().sum::<f64>() / piece.len() as f64).collect();
    let least = means.iter().copied().fold(f64::INFINITY, f64::min);
    let most = means.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let x = |index: f64| WIDTH * index / values.len().max(1) as f64;
    let y = |value: f64| HEIGHT - 4.0 - (HEIGHT - 8.0) * (value - least) / (most - least).max(f64::MIN_POSITIVE);
    let points: Vec<String> =
        means.iter().enumerate().map(|(index, mean)| format!("{:.1},{:.1}", x((index * size) as f64), y(*mean))).collect();
    let at = x(change.at as f64);
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" width=\"{WIDTH}\" height=\"{HEIGHT}\">\
         <rect width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"#fff\"/>\
         <line x1=\"{at:.1}\" x2=\"{at:.1}\" y1=\"0\" y2=\"{HEIGHT}\" stroke=\"#d62728\"/>\
         <polyline points=\"{}\" fill=\"none\" stroke=\"#1f77b4\"/></svg>\n",
        points.join(" ")
    )
}
