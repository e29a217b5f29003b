//! The values of all metrics in a recording. Things of the same name are one: sums add up, extremes are those of all, and quantiles
//! the greatest, which those of all together do not exceed.

use std::collections::{BTreeMap, HashMap};

use super::list::{self, Entry, Metric, Nature, Sampled};
use crate::stats::SpreadReport;
use crate::stats::report::{LaneReport, NamedCount, NamedSpans, Number, ObjectReport, StatisticsReport, TaskOnCore, TaskReport};

/// A value of a metric.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Figure {
    /// Which metric.
    pub metric: &'static Metric,
    /// Of whom; empty where the section has no names.
    pub name: String,
    /// Its value, in the metric's unit; of a baseline of several runs their mean.
    pub value: Number,
    /// The standard error of the value, in the same unit, if it is a mean, share or rate of many samples: how much it would differ in
    /// another recording of the same length.
    pub uncertainty: Option<f64>,
    /// Its values in several runs, if it is of a baseline.
    pub runs: Option<Runs>,
}

/// A figure in several runs of the same.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Runs {
    /// In how many runs there was one.
    pub count: u64,
    /// The standard deviation between runs; 0 of one run.
    pub stddev: f64,
}

impl Figure {
    /// A figure that is exact.
    #[must_use]
    pub fn new(metric: &'static Metric, name: String, value: Number) -> Figure {
        Figure { metric, name, value, uncertainty: None, runs: None }
    }

    /// As rules call it: `task."net rx".cpu_percent`.
    #[must_use]
    pub fn path(&self) -> String {
        path(self.metric, &self.name)
    }
}

/// As rules call a figure.
#[must_use]
pub fn path(metric: &Metric, name: &str) -> String {
    match (metric.section, list::NAMELESS.contains(&metric.section)) {
        ("", _) => metric.full_name(),
        (section, true) => format!("{section}.{}", metric.full_name()),
        (section, false) => format!("{section}.{}.{}", quoted(name), metric.full_name()),
    }
}

/// A name in a rule: in quotes if it is not plain.
#[must_use]
pub fn quoted(name: &str) -> String {
    let is_plain = |letter: char| letter.is_alphanumeric() || "_-/:@#[]".contains(letter);
    if !name.is_empty() && name.chars().all(is_plain) {
        return name.to_owned();
    }
    format!("\"{}\"", name.replace('\\', "\\\\").replace('"', "\\\""))
}

/// The losses of a recording.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Losses {
    /// Events of the recording.
    pub events: u64,
    /// Cases of a loss.
    pub cases: u64,
    /// Events that are missing, at least.
    pub lost_events: u64,
    /// Cases of a repair.
    pub repairs: u64,
}

/// The recording as a whole.
pub(super) struct Recorded {
    pub losses: Losses,
    pub gaps: u64,
}

/// The samples that values are compared with.
pub(super) struct Context<'a> {
    pub duration_ns: u64,
    seen_ns: u64,
    statistics: &'a StatisticsReport,
    known_ns: BTreeMap<u16, u64>,
}

impl Context<'_> {
    pub fn rate(&self, count: u64) -> Option<Number> {
        self.statistics.rate_hz(count).map(Number::Real)
    }

    /// In per cent of the recording without its gaps.
    pub fn share(&self, part_ns: u64) -> Option<Number> {
        percent(part_ns, self.seen_ns)
    }

    /// In per cent of the time of which functions are known.
    pub fn share_of_functions(&self, part_ns: u64) -> Option<Number> {
        percent(part_ns, self.statistics.functions_ns.max(self.seen_ns))
    }

    /// In per cent of the known time of a core.
    fn share_of_core(&self, part_ns: u64, core: u16) -> Option<f64> {
        percent(part_ns, self.known_ns.get(&core).copied()?).map(Number::as_f64)
    }
}

/// The interrupts of one name.
pub(super) struct Interrupt {
    pub durations: SpreadReport,
    pub self_ns: u64,
    pub unfinished: u64,
    /// Of each of their cores, together.
    pub cpu_percent: Option<f64>,
}

/// The objects of one name.
pub(super) struct Objects {
    pub all: ObjectReport,
    /// The highest level, of the capacity: of the fullest.
    pub fill_percent: Option<f64>,
}

impl Objects {
    fn of(object: &ObjectReport) -> Objects {
        let fill = object.high_water.zip(object.capacity);
        let fill_percent = fill.and_then(|(level, capacity)| percent(level.into(), capacity.into()));
        Objects { all: object.clone(), fill_percent: fill_percent.map(Number::as_f64) }
    }
}

/// Exact: limits are checked against it. It is rounded where it is printed.
pub(super) fn percent(part: u64, whole: u64) -> Option<Number> {
    (whole > 0).then(|| Number::Real(100.0 * part as f64 / whole as f64))
}

/// All figures of a recording, section by section, in the order of the statistics' lists.
#[must_use]
pub fn figures(statistics: &StatisticsReport, losses: Losses) -> Vec<Figure> {
    let known_ns = statistics.cores.iter().map(|core| (core.core, core.known_ns())).collect();
    let context = Context { duration_ns: statistics.duration_ns(), seen_ns: statistics.seen_ns(), statistics, known_ns };
    let mut all = Figures { context: &context, figures: Vec::new() };
    all.of(list::RECORDING, &[(String::new(), Recorded { losses, gaps: statistics.gaps })]);
    let cores: Vec<_> = statistics.cores.iter().filter(|core| core.known_ns() > 0).collect();
    all.of(list::CORE, &cores.iter().map(|core| (core.core.to_string(), **core)).collect::<Vec<_>>());
    let tasks = tasks(statistics, &context);
    all.of(list::TASK, &tasks);
    let on_cores = |(name, task): &(String, TaskReport)| -> Vec<(String, TaskOnCore)> {
        task.cores.iter().map(|on| (format!("{name}@{}", on.core), *on)).collect()
    };
    all.of(list::TASK_ON_CORE, &tasks.iter().flat_map(on_cores).collect::<Vec<_>>());
    let woken: Vec<_> = tasks.into_iter().filter(|(_, task)| task.latency.count > 0).collect();
    all.of(list::LATENCY, &woken);
    let interrupts = statistics.interrupts.iter().map(|isr| {
        let (durations, self_ns, unfinished) = (isr.durations, isr.self_ns, isr.unfinished);
        let cpu_percent = context.share_of_core(self_ns, isr.core);
        (isr.name.clone(), Interrupt { durations, self_ns, unfinished, cpu_percent })
    });
    let interrupts = joined(interrupts, |all, isr| {
        join_spread(&mut all.durations, &isr.durations);
        all.self_ns = all.self_ns.saturating_add(isr.self_ns);
        all.unfinished += isr.unfinished;
        all.cpu_percent = sum(all.cpu_percent.into_iter().chain(isr.cpu_percent));
    });
    all.of(list::ISR, &interrupts);
    for (list, is_mutex) in [(list::OBJECT, false), (list::MUTEX, true)] {
        let objects = statistics.objects.iter().filter(|object| object.holds.is_some() == is_mutex);
        let objects = joined(objects.map(|object| (object.name.clone(), Objects::of(object))), |objects, object| {
            // Each has a capacity of its own.
            objects.fill_percent = objects.fill_percent.into_iter().chain(object.fill_percent).reduce(f64::max);
            let (all, object) = (&mut objects.all, &object.all);
            all.sends += object.sends;
            all.receives += object.receives;
            all.high_water = all.high_water.max(object.high_water);
            all.capacity = all.capacity.max(object.capacity);
            join_spread(&mut all.waits, &object.waits);
            if let (Some(all), Some(holds)) = (&mut all.holds, &object.holds) {
                join_spread(all, holds);
            }
        });
        all.of(list, &objects);
    }
    all.of_machines(statistics);
    all.of_lanes(statistics);
    let functions =
        joined(statistics.functions.iter().map(|function| (function.name.clone(), function.clone())), |all, other| {
            join_spread(&mut all.calls, &other.calls);
            all.self_ns = all.self_ns.saturating_add(other.self_ns);
            all.samples = all.samples.saturating_add(other.samples);
        });
    all.of(list::FUNCTION, &functions);
    all.of(list::HEAP, &statistics.heap.iter().map(|heap| (String::new(), *heap)).collect::<Vec<_>>());
    all.figures
}

struct Figures<'a> {
    context: &'a Context<'a>,
    figures: Vec<Figure>,
}

impl Figures<'_> {
    fn of<T: Sampled>(&mut self, list: &'static [Entry<T>], things: &[(String, T)]) {
        for (name, thing) in things {
            for (metric, get) in list {
                if let Some(value) = get(thing, self.context) {
                    let samples = thing.samples(metric.name);
                    let uncertainty = samples.and_then(|samples| uncertainty(metric, value.as_f64(), &samples));
                    self.figures.push(Figure { uncertainty, ..Figure::new(metric, name.clone(), value) });
                }
            }
        }
    }

    fn of_machines(&mut self, statistics: &StatisticsReport) {
        let machines = joined(statistics.machines.iter().map(|machine| (machine.name.clone(), machine.clone())), |all, other| {
            all.busy_ns = all.busy_ns.saturating_add(other.busy_ns);
            for (all, other) in
                [(&mut all.steps, &other.steps), (&mut all.queued, &other.queued), (&mut all.responses, &other.responses)]
            {
                join_spread(all, other);
            }
            all.posts += other.posts;
            all.not_posted += other.not_posted;
            all.transitions += other.transitions;
            all.ignored += other.ignored;
            all.preemptions += other.preemptions;
            all.high_water = all.high_water.max(other.high_water);
        });
        self.of(list::MACHINE, &machines);
        let signals = statistics.machines.iter().flat_map(|machine| {
            machine.signals.iter().map(|signal| (format!("{}/{}", machine.name, signal.name), signal.clone()))
        });
        self.of(list::SIGNAL, &joined(signals, |all, other| join_spread(&mut all.spans, &other.spans)));
    }

    fn of_lanes(&mut self, statistics: &StatisticsReport) {
        let full_name = |lane: &LaneReport| match &lane.owner {
            Some(owner) => format!("{owner}/{}", lane.name),
            None => lane.name.clone(),
        };
        let spans = statistics.lanes.iter().filter(|lane| lane.spans.count > 0).flat_map(|lane| {
            let name = full_name(lane);
            let named: Vec<_> = lane.named.iter().map(|named| (format!("{name}/{}", named.name), named.clone())).collect();
            std::iter::once((name.clone(), NamedSpans { name, spans: lane.spans })).chain(named)
        });
        self.of(list::SPAN, &joined(spans, |all, other| join_spread(&mut all.spans, &other.spans)));
        let lanes = |of: fn(&LaneReport) -> bool| {
            joined(statistics.lanes.iter().filter(|lane| of(lane)).map(|lane| (full_name(lane), lane.clone())), join_lane)
        };
        self.of(list::VALUE, &lanes(|lane| lane.values > 0));
        self.of(list::CLIENT, &lanes(|lane| !lane.logs.is_empty()));
        let messages = statistics.lanes.iter().flat_map(|lane| {
            let name = full_name(lane);
            lane.named_instants.iter().map(move |named| (format!("{name}/{}", named.name), named.clone()))
        });
        self.of(list::MESSAGE, &joined(messages, |all, other| all.count += other.count));
        let logs = statistics.logs.iter().map(|log| {
            let name = log.severity.to_string();
            (name.clone(), NamedCount { name, count: log.count })
        });
        self.of(list::LOG, &joined(logs, |all, other| all.count += other.count));
    }
}

/// The tasks except idle ones.
fn tasks(statistics: &StatisticsReport, context: &Context<'_>) -> Vec<(String, TaskReport)> {
    let tasks = statistics.tasks.iter().filter(|task| !task.is_idle);
    let mut tasks = joined(tasks.map(|task| (task.name.clone(), task.clone())), |all, task| {
        all.run_ns = all.run_ns.saturating_add(task.run_ns);
        for on in &task.cores {
            match all.cores.iter_mut().find(|known| known.core == on.core) {
                Some(known) => known.run_ns = known.run_ns.saturating_add(on.run_ns),
                None => all.cores.push(*on),
            }
        }
        for (all, other) in [(&mut all.runs, &task.runs), (&mut all.waits, &task.waits), (&mut all.latency, &task.latency)] {
            join_spread(all, other);
        }
        all.preemptions = all.preemptions.zip(task.preemptions).map(|(all, of)| all + of);
        all.ready_ns = all.ready_ns.zip(task.ready_ns).map(|(all, of)| all.saturating_add(of));
        all.suspended_ns = all.suspended_ns.saturating_add(task.suspended_ns);
        all.priority = all.priority.max(task.priority);
        all.stack_free_bytes = all.stack_free_bytes.into_iter().chain(task.stack_free_bytes).min();
    });
    for (_, task) in &mut tasks {
        task.cores.sort_by_key(|on| on.core);
        task.cores.iter_mut().for_each(|on| on.cpu_percent = context.share_of_core(on.run_ns, on.core));
        // A task that never ran has nothing of the cores' time.
        task.cpu_percent = match task.cores.is_empty() {
            true => Some(0.0),
            false => sum(task.cores.iter().filter_map(|on| on.cpu_percent)),
        };
    }
    tasks
}

/// The sum of shares of several cores: nothing changes if a bit of a task moves to another core. `None` of none.
fn sum(shares: impl Iterator<Item = f64>) -> Option<f64> {
    shares.reduce(|sum, share| sum + share)
}

fn join_lane(all: &mut LaneReport, other: &LaneReport) {
    all.values += other.values;
    let extreme = |one: Option<Number>, other: Option<Number>, is_beyond: fn(&Number, &Number) -> bool| match (one, other) {
        (Some(one), Some(other)) => Some(if is_beyond(&other, &one) { other } else { one }),
        (one, other) => one.or(other),
    };
    all.least = extreme(all.least, other.least, |one, other| one.as_f64() < other.as_f64());
    all.greatest = extreme(all.greatest, other.greatest, |one, other| one.as_f64() > other.as_f64());
    all.last = other.last.or(all.last);
    all.logs.extend(other.logs.iter().cloned());
}

/// Things of the same name as one, in order of first use.
fn joined<T>(things: impl Iterator<Item = (String, T)>, join: impl Fn(&mut T, &T)) -> Vec<(String, T)> {
    let mut places: HashMap<String, usize> = HashMap::new();
    let mut all: Vec<(String, T)> = Vec::new();
    for (name, thing) in things {
        match places.get(&name) {
            Some(&place) => join(&mut all[place].1, &thing),
            None => {
                places.insert(name.clone(), all.len());
                all.push((name, thing));
            }
        }
    }
    all
}

/// The standard error of a value that is made of samples. They are taken as independent, which is why whoever compares asks for more than
/// the textbook does.
fn uncertainty(metric: &Metric, value: f64, samples: &SpreadReport) -> Option<f64> {
    let count = samples.count as f64;
    // Of a single sample nothing is known: as uncertain as an exponential distribution is wide.
    let variation = match (samples.stddev_ns, samples.mean_ns) {
        (Some(stddev_ns), Some(mean_ns)) if mean_ns > 0 => stddev_ns as f64 / mean_ns as f64,
        _ => 1.0,
    };
    let relative = match metric.nature {
        // One run more or less, and how long each takes: most things run periodically.
        Nature::Share => (variation / count.sqrt()).hypot(1.0 / count),
        Nature::Rate => (1.0 / count).sqrt(),
        Nature::Duration => variation / count.sqrt(),
        Nature::Quantile if metric.name.ends_with("p50") => 1.25 * variation / count.sqrt(),
        // The 99th percentile of an exponential distribution: few samples lie above it.
        Nature::Quantile => 10.0 * variation / count.sqrt(),
        Nature::Loss | Nature::Level | Nature::Load | Nature::Extreme | Nature::Sum => return None,
    };
    (count > 0.0).then_some(value.abs() * relative)
}

fn join_spread(all: &mut SpreadReport, other: &SpreadReport) {
    all.stddev_ns = joined_stddev(all, other);
    // Those of one that has samples and no quantiles may be greater.
    let greatest = |one: Option<u64>, two: Option<u64>| match (all.count, other.count) {
        (0, _) | (_, 0) => one.max(two),
        _ => one.zip(two).map(|(one, two)| one.max(two)),
    };
    (all.p50_ns, all.p99_ns) = (greatest(all.p50_ns, other.p50_ns), greatest(all.p99_ns, other.p99_ns));
    all.count += other.count;
    all.total_ns = all.total_ns.saturating_add(other.total_ns);
    all.min_ns = all.min_ns.into_iter().chain(other.min_ns).min();
    all.mean_ns = all.total_ns.checked_div(all.count);
    all.max_ns = all.max_ns.max(other.max_ns);
}

/// The standard deviation of two sets of samples together.
fn joined_stddev(one: &SpreadReport, other: &SpreadReport) -> Option<u64> {
    let squares = |of: &SpreadReport| {
        let (count, mean) = (of.count as f64, of.mean_ns.unwrap_or(0) as f64);
        let stddev = if of.count < 2 { 0.0 } else { of.stddev_ns? as f64 };
        Some((count, count * mean, stddev * stddev * (count - 1.0).max(0.0) + count * mean * mean))
    };
    let ((count, total, sum), (count_2, total_2, sum_2)) = (squares(one)?, squares(other)?);
    let (count, total, sum) = (count + count_2, total + total_2, sum + sum_2);
    (count >= 2.0).then(|| ((sum - total * total / count).max(0.0) / (count - 1.0)).sqrt() as u64)
}
