//! Two recordings side by side: which metrics changed, for the worse or for the better, and where to look first.
//!
//! Only figures that do not grow with the length of a recording are compared: parts of the time, durations, levels, rates and losses. A change
//! counts if it is neither small in itself nor small beside the former value; quantiles are known to a 64th, so theirs must be more.
//!
//! Two recordings of the same firmware differ as well. So a change is *noise* if it is of a single event (a minimum or maximum), or within
//! [`EVIDENT`] standard errors, which follow from the samples behind a figure or from the runs of a baseline. Noise is listed last, makes no
//! headline, and fails nothing unless it is asked for by name and no runs say how much it differs.

use std::collections::{BTreeSet, HashMap};

use serde::Serialize;

use super::figures::{Figure, Runs, path, quoted};
use super::list::{NAMELESS, Nature, Unit, Worse};
use super::rule::{Pattern, Selector};

/// From how many standard errors on a change is not noise. Samples of one recording are not independent: more than the textbook's 2.
pub const EVIDENT: f64 = 3.0;

/// How much a task's rate may differ for a guess that it was renamed, in per cent.
const RENAMED_RATE_PERCENT: f64 = 10.0;

/// Quantiles are reported up to this many per cent too high.
const QUANTILE_ERROR_PERCENT: f64 = 1.6;

/// The metrics that are compared, and the smallest change that counts.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct DiffOptions {
    /// Changes below this many per cent do not count.
    pub min_change_percent: f64,
    /// Nor do those of a time below this many nanoseconds.
    pub min_time_ns: f64,
    /// Nor do those of a share below this many percentage points.
    pub min_points: f64,
    /// Which things must not be in the new recording only.
    pub fail_on_new: FailOnNew,
    /// For the worse by more than this is too much; `None`: nothing is.
    pub fail_over_percent: Option<f64>,
    /// Only metrics of one of these forms, as `task.*.cpu_percent`; none: all.
    pub only: Vec<String>,
}

impl Default for DiffOptions {
    fn default() -> DiffOptions {
        DiffOptions {
            min_change_percent: 2.0,
            min_time_ns: 1000.0,
            min_points: 0.01,
            fail_on_new: FailOnNew::None,
            fail_over_percent: None,
            only: Vec::new(),
        }
    }
}

/// Which things are too much if they are in the new recording only: a thing that got worse under another name is compared with nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum FailOnNew {
    /// None.
    #[default]
    None,
    /// Tasks.
    Tasks,
    /// All.
    All,
}

/// Which way something changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
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
#[non_exhaustive]
pub struct Change {
    /// As rules call it: `task.sensor.cpu_percent`.
    pub metric: String,
    /// The kind of thing.
    pub section: &'static str,
    /// Whose; empty if it has no name.
    pub name: String,
    /// Its unit.
    pub unit: &'static str,
    /// The value in the base.
    pub base: f64,
    /// The new value.
    pub new: f64,
    /// The difference in per cent of the value in the base; `null` if that was 0.
    pub change_percent: Option<f64>,
    /// Which way.
    pub direction: Direction,
    /// Whether it is more for the worse than is allowed.
    pub is_too_much: bool,
    /// How many standard errors the change is, or spreads of the runs of a baseline; `null` if that is not known.
    pub evidence: Option<f64>,
    /// How many runs the base has; `null` if it is a single recording.
    pub base_runs: Option<u64>,
    /// Whether it is a single event, or within the noise.
    pub is_noise: bool,
    #[serde(skip)]
    pub(super) nature: Nature,
    #[serde(skip)]
    pub(super) of_unit: Unit,
}

/// Something that is in one of the recordings only.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[non_exhaustive]
pub struct Thing {
    /// The kind of thing.
    pub section: &'static str,
    /// Its name.
    pub name: String,
    /// A guess of its name in the other recording.
    pub other_name: Option<String>,
}

/// The result.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Diff {
    /// How many metrics are in both and were compared. None if there are only losses and gaps: every recording has these, so two that
    /// have nothing in common would pass. They do count if [`DiffOptions::only`] names them.
    pub compared: usize,
    /// Those that changed, most relevant first.
    pub changes: Vec<Change>,
    /// Things that are in the new one only.
    pub added: Vec<Thing>,
    /// Things that are in the base only.
    pub removed: Vec<Thing>,
    /// Those of `added` that must not be there.
    pub too_new: Vec<Thing>,
    /// Which of [`DiffOptions::only`] named nothing that was compared.
    pub unmatched: Vec<String>,
    /// From when on a change for the worse is too much, in per cent.
    pub fail_over_percent: Option<f64>,
    /// Whether one is.
    pub is_too_much: bool,
}

impl Diff {
    /// The greatest change for the worse.
    #[must_use]
    pub fn worst(&self) -> Option<&Change> {
        self.changes.first().filter(|change| change.direction == Direction::Worse && !change.is_noise)
    }

    /// How many changed this way, noise left out.
    #[must_use]
    pub fn count(&self, direction: Direction) -> usize {
        self.changes.iter().filter(|change| change.direction == direction && !change.is_noise).count()
    }

    /// How many changes are noise.
    #[must_use]
    pub fn noise(&self) -> usize {
        self.changes.iter().filter(|change| change.is_noise).count()
    }
}

impl Change {
    /// Its name in a sentence: `task sensor: CPU`.
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

    /// How far it goes, to bring changes in order. A part of the time counts by the difference as well as beside the former value: neither
    /// a little more of a large part is the place to look first, nor twice of next to nothing.
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
    let (mut compared, mut has_things, mut changes) = (0, !options.only.is_empty(), Vec::new());
    let only: Vec<Only> = options.only.iter().map(|text| Only::new(text)).collect();
    let mut matched = vec![false; only.len()];
    for figure in new.iter().filter(|figure| figure.metric.nature != Nature::Sum) {
        let Some(base) = before.get(&key(figure)) else { continue };
        let mut is_asked = only.is_empty();
        for (_, matched) in only.iter().zip(&mut matched).filter(|(only, _)| only.fits(figure)) {
            (is_asked, *matched) = (true, true);
        }
        if is_asked {
            compared += 1;
            has_things |= !figure.metric.section.is_empty();
            changes.extend(change(base, figure, options));
        }
    }
    changes.sort_by(|one, other| {
        let order = (one.is_noise, one.direction, one.nature).cmp(&(other.is_noise, other.direction, other.nature));
        order.then(other.weight().total_cmp(&one.weight())).then_with(|| one.metric.cmp(&other.metric))
    });
    let things = |figures: &[Figure]| -> BTreeSet<Thing> {
        let named = figures.iter().filter(|figure| !NAMELESS.contains(&figure.metric.section));
        // They come and go with what they are of.
        let first = named.filter(|figure| !["task_on_core", "signal"].contains(&figure.metric.section));
        first.map(|figure| Thing { section: figure.metric.section, name: figure.name.clone(), other_name: None }).collect()
    };
    let (old, now) = (things(base), things(new));
    let mut added: Vec<Thing> = now.difference(&old).cloned().collect();
    let mut removed: Vec<Thing> = old.difference(&now).cloned().collect();
    for things in [&mut added, &mut removed] {
        // A latency goes with its task. But a task that is there and was never woken, or never ran then, is nothing that both have.
        let tasks: BTreeSet<String> =
            things.iter().filter(|thing| thing.section == "task").map(|thing| thing.name.clone()).collect();
        things.retain(|thing| thing.section != "latency" || !tasks.contains(&thing.name));
    }
    guess_renamed(&mut removed, base, &mut added, new);
    let is_too_new = |thing: &&Thing| match options.fail_on_new {
        FailOnNew::None => false,
        FailOnNew::Tasks => thing.section == "task",
        FailOnNew::All => true,
    };
    let too_new: Vec<Thing> = added.iter().filter(is_too_new).cloned().collect();
    let unmatched = options.only.iter().zip(matched).filter(|(_, matched)| !matched).map(|(text, _)| text.clone());
    Diff {
        compared: if has_things { compared } else { 0 },
        added,
        removed,
        unmatched: unmatched.collect(),
        fail_over_percent: options.fail_over_percent,
        is_too_much: !too_new.is_empty() || changes.iter().any(|change| change.is_too_much),
        too_new,
        changes,
    }
}

/// The metrics that `--only` names: as rules name them, or by a pattern of names.
enum Only {
    Selector(Selector),
    Path(Pattern),
}

impl Only {
    fn new(text: &str) -> Only {
        Selector::parse(text).map_or_else(|_| Only::Path(Pattern::new(text)), Only::Selector)
    }

    fn fits(&self, figure: &Figure) -> bool {
        match self {
            Only::Selector(selector) => selector.fits(figure),
            Only::Path(pattern) => pattern.fits(&figure.path()),
        }
    }
}

/// Guesses which tasks were renamed: they run as often, at the same priority.
fn guess_renamed(removed: &mut [Thing], base: &[Figure], added: &mut [Thing], new: &[Figure]) {
    let value = |figures: &[Figure], name: &str, metric: &str| {
        let figure =
            figures.iter().find(|figure| figure.metric.section == "task" && figure.metric.name == metric && figure.name == name);
        figure.map(|figure| figure.value.as_f64())
    };
    for task in added.iter_mut().filter(|thing| thing.section == "task") {
        let rate = value(new, &task.name, "run_rate").unwrap_or(0.0);
        let priority = value(new, &task.name, "priority");
        let distance = |other: &Thing| (value(base, &other.name, "run_rate").unwrap_or(0.0) - rate).abs();
        let candidates = removed.iter_mut().filter(|thing| thing.section == "task" && thing.other_name.is_none());
        let alike = candidates.filter(|other| {
            rate > 0.0
                && distance(other) * 100.0 <= rate * RENAMED_RATE_PERCENT
                && value(base, &other.name, "priority") == priority
        });
        if let Some(other) = alike.min_by(|one, other| distance(one).total_cmp(&distance(other))) {
            task.other_name = Some(other.name.clone());
            other.other_name = Some(task.name.clone());
        }
    }
}

fn change(base: &Figure, new: &Figure, options: &DiffOptions) -> Option<Change> {
    let metric = new.metric;
    let (was, is) = (base.value.as_f64(), new.value.as_f64());
    let difference = is - was;
    let change_percent = (was != 0.0).then(|| 100.0 * difference / was.abs());
    let least = match metric.unit {
        Unit::Nanoseconds => options.min_time_ns,
        Unit::Percent => options.min_points,
        Unit::Bytes => 16.0,
        Unit::Hertz | Unit::Count => 1.0,
        Unit::Unknown => f64::MIN_POSITIVE,
    };
    // A change that fails is not left out.
    let min_change_percent = options.min_change_percent.min(options.fail_over_percent.unwrap_or(f64::INFINITY));
    let least_percent = match metric.nature {
        Nature::Quantile => min_change_percent.max(QUANTILE_ERROR_PERCENT),
        _ => min_change_percent,
    };
    let counts = difference.abs() >= least && change_percent.is_none_or(|percent| percent.abs() > least_percent);
    // NaN differs from everything and carries no information.
    if !counts || difference.is_nan() {
        return None;
    }
    let direction = match (metric.worse, difference > 0.0) {
        (Worse::Neither, _) => Direction::Different,
        (Worse::More, true) | (Worse::Less, false) => Direction::Worse,
        (Worse::More, false) | (Worse::Less, true) => Direction::Better,
    };
    let (evidence, base_runs) = evidence(base, new);
    let is_noise = match evidence {
        Some(evidence) => evidence < EVIDENT,
        None => metric.nature == Nature::Extreme && base_runs.is_none(),
    };
    let is_too_much = direction == Direction::Worse
        && (!is_noise || (!options.only.is_empty() && base_runs.is_none()))
        && options.fail_over_percent.is_some_and(|limit| change_percent.is_none_or(|percent| percent.abs() > limit));
    Some(Change {
        metric: path(metric, &new.name),
        section: metric.section,
        name: new.name.clone(),
        unit: metric.unit.symbol(),
        base: was,
        new: is,
        change_percent,
        direction,
        is_too_much,
        evidence,
        base_runs,
        is_noise,
        nature: metric.nature,
        of_unit: metric.unit,
    })
}

/// How many standard errors or spreads lie between two figures, and how many runs the base has.
fn evidence(base: &Figure, new: &Figure) -> (Option<f64>, Option<u64>) {
    let difference = (new.value.as_f64() - base.value.as_f64()).abs();
    let runs = base.runs.filter(|runs| runs.count > 1);
    let error = match runs {
        Some(runs) => Some(spread(runs, new.uncertainty)),
        // The greatest of many events has no error that follows from their number.
        None => base.uncertainty.zip(new.uncertainty).map(|(one, other)| one.hypot(other)),
    };
    (error.filter(|error| *error > 0.0).map(|error| difference / error), runs.map(|runs| runs.count))
}

/// How much another run differs from the mean of these: [`EVIDENT`] times as much is as rare with few runs as with many.
fn spread(runs: Runs, uncertainty: Option<f64>) -> f64 {
    /// Student's distribution beside the normal one, at [`EVIDENT`] deviations, of two runs and more.
    const FEW: [f64; 8] = [78.6, 6.4, 3.07, 2.21, 1.84, 1.63, 1.51, 1.43];
    let count = runs.count as f64;
    let few = usize::try_from(runs.count - 2).ok().and_then(|place| FEW.get(place)).copied();
    let by_runs = runs.stddev * few.unwrap_or(1.0 + 3.3 / (count - 1.0));
    // Few runs may be alike by chance. But the samples of one say how much they are expected to differ.
    let deviation = uncertainty.map_or(by_runs, |uncertainty| by_runs.min(runs.stddev.max(uncertainty)));
    deviation * (1.0 + 1.0 / count).sqrt()
}
