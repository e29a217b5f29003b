//! Two recordings side by side: which metrics changed, for the worse or for the better, and where to look first.
//!
//! Only what does not grow with the length of a recording is compared: parts of the time, durations, levels, rates and losses. A change
//! counts if it is neither small in itself nor small beside what it was; quantiles are known to an eighth, so theirs must be more.

use std::collections::{BTreeSet, HashMap};

use serde::Serialize;

use super::figures::{Figure, path, quoted};
use super::list::{NAMELESS, Nature, Unit, Worse};
use super::rule::Pattern;

/// Quantiles are told up to so many per cent too high.
const QUANTILE_ERROR_PERCENT: f64 = 12.5;

/// What is compared, and from when on it counts.
#[derive(Clone, Debug, PartialEq)]
pub struct DiffOptions {
    /// Changes below so many per cent do not count.
    pub min_change_percent: f64,
    /// Nor do those of a time below so many nanoseconds.
    pub min_time_ns: f64,
    /// For the worse by more than this is too much; `None`: nothing is.
    pub fail_over_percent: Option<f64>,
    /// Only metrics of one of these forms, as `task.*.cpu_percent`; none: all.
    pub only: Vec<String>,
}

impl Default for DiffOptions {
    fn default() -> DiffOptions {
        DiffOptions { min_change_percent: 2.0, min_time_ns: 1000.0, fail_over_percent: None, only: Vec::new() }
    }
}

/// Which way something changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// For the worse.
    Worse,
    /// For the better.
    Better,
    /// Neither.
    Different,
}

/// A metric that changed.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Change {
    /// As rules call it: `task.sensor.cpu_percent`.
    pub metric: String,
    /// The kind of thing.
    pub section: &'static str,
    /// Whose; empty if it has no name.
    pub name: String,
    /// What it is measured in.
    pub unit: &'static str,
    /// What it was.
    pub base: f64,
    /// What it is.
    pub new: f64,
    /// The difference in per cent of what it was; `null` if that was nothing.
    pub change_percent: Option<f64>,
    /// Which way.
    pub direction: Direction,
    /// Whether it is more for the worse than is allowed.
    pub is_too_much: bool,
    #[serde(skip)]
    pub(super) nature: Nature,
    #[serde(skip)]
    pub(super) of_unit: Unit,
}

/// Something that is in one of the recordings only.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Thing {
    /// The kind of thing.
    pub section: &'static str,
    /// Its name.
    pub name: String,
}

/// The result.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Diff {
    /// How many metrics are in both and were compared.
    pub compared: usize,
    /// Those that changed, most relevant first.
    pub changes: Vec<Change>,
    /// Things that are in the new one only.
    pub added: Vec<Thing>,
    /// Things that are in the base only.
    pub removed: Vec<Thing>,
    /// From when on a change for the worse is too much, in per cent.
    pub fail_over_percent: Option<f64>,
    /// Whether one is.
    pub is_too_much: bool,
}

impl Diff {
    /// What changed most for the worse.
    #[must_use]
    pub fn worst(&self) -> Option<&Change> {
        self.changes.first().filter(|change| change.direction == Direction::Worse)
    }

    /// How many changed this way.
    #[must_use]
    pub fn count(&self, direction: Direction) -> usize {
        self.changes.iter().filter(|change| change.direction == direction).count()
    }
}

impl Change {
    /// What it is in a sentence: `task sensor: CPU`.
    #[must_use]
    pub fn subject(&self) -> String {
        let metric = self.metric.rsplit('.').next().unwrap_or(&self.metric);
        let metric = metric.strip_suffix(self.of_unit.suffix()).unwrap_or(metric).replace('_', " ");
        let metric = if metric == "cpu" { "CPU".into() } else { metric };
        match (self.section, self.name.is_empty()) {
            ("", _) => metric,
            (section, true) => format!("{section}: {metric}"),
            (section, false) => format!("{section} {}: {metric}", quoted(&self.name)),
        }
    }

    /// How far it goes, to bring changes in order. A part of the time counts by the difference as well as beside what it was: neither
    /// a little more of what was much anyway is where to look first, nor twice of next to nothing.
    fn weight(&self) -> f64 {
        const FROM_NOTHING_PERCENT: f64 = 1000.0;
        let (difference, percent) = ((self.new - self.base).abs(), self.change_percent.map(f64::abs));
        match self.nature {
            Nature::Share => difference * percent.unwrap_or(FROM_NOTHING_PERCENT).min(FROM_NOTHING_PERCENT),
            Nature::Load | Nature::Loss => difference,
            _ => percent.unwrap_or(f64::INFINITY),
        }
    }
}

/// Compares the figures of two recordings.
#[must_use]
pub fn diff(base: &[Figure], new: &[Figure], options: &DiffOptions) -> Diff {
    let key = |figure: &Figure| (figure.metric.section, figure.metric.full_name(), figure.name.clone());
    let before: HashMap<_, &Figure> = base.iter().map(|figure| (key(figure), figure)).collect();
    let (mut compared, mut changes) = (0, Vec::new());
    let only: Vec<Pattern> = options.only.iter().map(|only| Pattern::new(only)).collect();
    let is_asked = |figure: &&Figure| only.is_empty() || only.iter().any(|only| only.fits(&figure.path()));
    for figure in new.iter().filter(|figure| figure.metric.nature != Nature::Sum).filter(is_asked) {
        let Some(base) = before.get(&key(figure)) else { continue };
        compared += 1;
        changes.extend(change(base, figure, options));
    }
    changes.sort_by(|one, other| {
        let order = (one.direction, one.nature).cmp(&(other.direction, other.nature));
        order.then(other.weight().total_cmp(&one.weight())).then_with(|| one.metric.cmp(&other.metric))
    });
    let things = |figures: &[Figure]| -> BTreeSet<Thing> {
        let named = figures.iter().filter(|figure| !NAMELESS.contains(&figure.metric.section));
        // A task's latency and its shares of cores come and go with it.
        let first = named.filter(|figure| !["latency", "task_on_core", "signal"].contains(&figure.metric.section));
        first.map(|figure| Thing { section: figure.metric.section, name: figure.name.clone() }).collect()
    };
    let (old, now) = (things(base), things(new));
    Diff {
        compared,
        added: now.difference(&old).cloned().collect(),
        removed: old.difference(&now).cloned().collect(),
        fail_over_percent: options.fail_over_percent,
        is_too_much: changes.iter().any(|change| change.is_too_much),
        changes,
    }
}

fn change(base: &Figure, new: &Figure, options: &DiffOptions) -> Option<Change> {
    let metric = new.metric;
    let (was, is) = (base.value.as_f64(), new.value.as_f64());
    let difference = is - was;
    let change_percent = (was != 0.0).then(|| 100.0 * difference / was.abs());
    let least = match metric.unit {
        Unit::Nanoseconds => options.min_time_ns,
        Unit::Percent => 0.1,
        Unit::Bytes => 16.0,
        Unit::Hertz | Unit::Count => 1.0,
        Unit::Unknown => f64::MIN_POSITIVE,
    };
    // What is to fail is not passed over.
    let min_change_percent = options.min_change_percent.min(options.fail_over_percent.unwrap_or(f64::INFINITY));
    let least_percent = match metric.nature {
        Nature::Quantile => min_change_percent.max(QUANTILE_ERROR_PERCENT),
        _ => min_change_percent,
    };
    let counts = difference.abs() >= least && change_percent.is_none_or(|percent| percent.abs() > least_percent);
    // What is not a number differs from everything, and tells nothing.
    if !counts || difference.is_nan() {
        return None;
    }
    let direction = match (metric.worse, difference > 0.0) {
        (Worse::Neither, _) => Direction::Different,
        (Worse::More, true) | (Worse::Less, false) => Direction::Worse,
        (Worse::More, false) | (Worse::Less, true) => Direction::Better,
    };
    let is_too_much = direction == Direction::Worse
        && options.fail_over_percent.is_some_and(|limit| change_percent.is_none_or(|percent| percent.abs() > limit));
    Some(Change {
        metric: path(metric, &new.name),
        section: metric.section,
        name: new.name.clone(),
        unit: metric.unit.symbol(),
        base: was,
        new: is,
        change_percent: change_percent.map(super::figures::rounded),
        direction,
        is_too_much,
        nature: metric.nature,
        of_unit: metric.unit,
    })
}
