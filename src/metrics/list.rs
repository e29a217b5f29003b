//! The list of all metrics, a table: the name, unit and meaning of each, and how it is found in the statistics.

use super::figures::{Context, Interrupt, Objects, Recorded, percent};
use crate::stats::SpreadReport;
use crate::stats::report::{
    CoreReport, FunctionReport, HeapReport, LaneReport, MachineReport, NamedCount, NamedSpans, Number, TaskReport,
};

/// The unit of a metric's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Unit {
    /// Nanoseconds. Rules may say `_us`, `_ms` or `_s` as well.
    Nanoseconds,
    /// Per cent.
    Percent,
    /// Times per second.
    Hertz,
    /// Bytes.
    Bytes,
    /// A number of things.
    Count,
    /// That of a value of the firmware: not known.
    Unknown,
}

impl Unit {
    /// The end of a metric's name; empty for numbers without unit.
    #[must_use]
    pub fn suffix(self) -> &'static str {
        match self {
            Unit::Nanoseconds => "_ns",
            Unit::Percent => "_percent",
            Unit::Hertz => "_hz",
            Unit::Bytes => "_bytes",
            Unit::Count | Unit::Unknown => "",
        }
    }

    /// The unit in the long table.
    #[must_use]
    pub fn symbol(self) -> &'static str {
        match self {
            Unit::Nanoseconds => "ns",
            Unit::Percent => "%",
            Unit::Hertz => "Hz",
            Unit::Bytes => "bytes",
            Unit::Count => "count",
            Unit::Unknown => "",
        }
    }
}

/// The kind of number that a metric is: which of two recordings may be compared, and which comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Nature {
    /// Something is missing or failed.
    Loss,
    /// Somebody's own part of the time: who takes more of it is where to look first.
    Share,
    /// How long something takes, exactly.
    Duration,
    /// The same, of many values from a histogram: known to a 64th.
    Quantile,
    /// How full or how much at most.
    Level,
    /// How often in a second.
    Rate,
    /// The sum of shares.
    Load,
    /// The longest or shortest of many: a single event, which differs from recording to recording.
    Extreme,
    /// Grows with the length of the recording, or follows from others: not compared.
    Sum,
}

/// Which direction is worse.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Worse {
    /// More is worse.
    More,
    /// Less is worse.
    Less,
    /// Neither.
    Neither,
}

/// A metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Metric {
    /// The kind of thing; empty: the recording as a whole.
    pub section: &'static str,
    /// Its name without unit.
    pub name: &'static str,
    /// Its unit.
    pub unit: Unit,
    /// The kind of number.
    pub nature: Nature,
    /// Which direction is worse.
    pub worse: Worse,
    /// Its meaning.
    pub text: &'static str,
}

impl Metric {
    /// Its name with unit: `max_ns`.
    #[must_use]
    pub fn full_name(&self) -> String {
        format!("{}{}", self.name, self.unit.suffix())
    }
}

/// A thing with samples: its metrics are means, rates or shares of them.
pub(super) trait Sampled {
    /// The samples that a metric of this name is made of.
    fn samples(&self, metric: &str) -> Option<SpreadReport>;
}

fn counted(count: u64) -> Option<SpreadReport> {
    Some(SpreadReport { count, ..SpreadReport::default() })
}

macro_rules! sampled {
    ($($report:ty: |$thing:pat_param, $metric:pat_param| $samples:expr;)*) => {
        $(impl Sampled for $report {
            fn samples(&self, metric: &str) -> Option<SpreadReport> {
                let ($thing, $metric) = (self, metric);
                $samples
            }
        })*
    };
}

sampled! {
    Recorded: |_, _| None;
    CoreReport: |core, _| counted(core.switches);
    TaskReport: |task, metric| Some(if matches!(metric, "cpu" | "run_rate") { task.runs } else { task.latency });
    crate::stats::report::TaskOnCore: |_, _| None;
    Interrupt: |isr, _| Some(isr.durations);
    Objects: |object, metric| if metric.ends_with("wait") { Some(object.all.waits) } else { object.all.holds };
    MachineReport: |machine, metric| Some(match metric.split('_').next() {
        Some("queued") => machine.queued,
        Some("response") => machine.responses,
        _ => machine.steps,
    });
    NamedSpans: |named, _| Some(named.spans);
    LaneReport: |lane, _| counted(lane.logs.iter().map(|log| log.count).sum());
    NamedCount: |named, _| counted(named.count);
    FunctionReport: |function, _| Some(function.calls);
    HeapReport: |_, _| None;
}

/// A metric, and how it is found.
pub(super) type Entry<T> = (Metric, fn(&T, &Context<'_>) -> Option<Number>);

macro_rules! section {
    ($list:ident, $section:literal, $report:ty: $($name:literal $unit:ident $nature:ident $worse:ident $text:literal $get:expr;)*) => {
        pub(super) const $list: &[Entry<$report>] = &[$((
            Metric {
                section: $section,
                name: $name,
                unit: Unit::$unit,
                nature: Nature::$nature,
                worse: Worse::$worse,
                text: $text,
            },
            $get,
        )),*];
    };
}

section! { RECORDING, "", Recorded:
    "duration" Nanoseconds Sum Neither "from the first event to the last" |_, context| whole(context.duration_ns);
    "events" Count Sum Neither "events of the recording" |of, _| whole(of.losses.events);
    "losses" Count Loss More "cases in which something is missing" |of, _| whole(of.losses.cases);
    "lost_events" Count Loss More "events that are missing, at least" |of, _| whole(of.losses.lost_events);
    "gaps" Count Loss More "places in time across which nothing is known" |of, _| whole(of.gaps);
    "repairs" Count Sum Neither "cases in which something was corrected" |of, _| whole(of.losses.repairs);
}

section! { CORE, "core", CoreReport:
    "load" Percent Load More "busy, in tasks and interrupts, of the time in which it is known who ran; none if only interrupts are known" |core, _| percent(core.busy_ns.saturating_add(core.interrupts_ns), core.load_base_ns());
    "unknown" Nanoseconds Sum Neither "the time in which it is not known who ran" |core, _| whole(core.unknown_ns);
    "switches" Count Sum Neither "switches from task to task" |core, _| whole(core.switches);
    "switch_rate" Hertz Rate Neither "the same in a second, gaps left out" |core, context| context.rate(core.switches);
}

section! { TASK, "task", TaskReport:
    "cpu" Percent Share More "the time that it ran itself, of the known time of its core; of several cores the sum" |task, _| real(task.cpu_percent);
    "run" Nanoseconds Sum Neither "the time that it ran itself" |task, _| whole(task.run_ns);
    "runs" Count Sum Neither "how often it got a core" |task, _| whole(task.runs.count);
    "run_rate" Hertz Rate Neither "the same in a second" |task, context| context.rate(task.runs.count);
    "longest_run" Nanoseconds Extreme More "from a switch to the next, interrupts included" |task, _| maybe(task.runs.max_ns);
    "preemptions" Count Sum Neither "how often it left its core without waiting" |task, _| maybe(task.preemptions);
    "ready" Nanoseconds Sum Neither "all time that it could have run and did not" |task, _| maybe(task.ready_ns);
    "waits" Count Sum Neither "how often it waited" |task, _| whole(task.waits.count);
    "longest_wait" Nanoseconds Extreme Neither "for whatever it was" |task, _| maybe(task.waits.max_ns);
    "suspended" Nanoseconds Sum Neither "the time that it was suspended" |task, _| whole(task.suspended_ns);
    "priority" Count Level Neither "the highest without inheritance" |task, _| task.priority.map(|priority| Number::Whole(priority.into()));
    "stack_free" Bytes Level Less "the least free stack" |task, _| maybe(task.stack_free_bytes.map(u64::from));
}

section! { TASK_ON_CORE, "task_on_core", crate::stats::report::TaskOnCore:
    "cpu" Percent Sum Neither "the time that it ran itself there (name: `task@core`)" |on, _| real(on.cpu_percent);
    "run" Nanoseconds Sum Neither "the same as a time" |on, _| whole(on.run_ns);
}

section! { LATENCY, "latency", TaskReport:
    "count" Count Sum Neither "how often the task was made ready and then ran" |task, _| whole(task.latency.count);
    "min" Nanoseconds Extreme More "from being made ready to running" |task, _| maybe(task.latency.min_ns);
    "mean" Nanoseconds Duration More "the mean of that" |task, _| maybe(task.latency.mean_ns);
    "p50" Nanoseconds Quantile More "its median" |task, _| maybe(task.latency.p50_ns);
    "p99" Nanoseconds Quantile More "99 % are not above" |task, _| maybe(task.latency.p99_ns);
    "max" Nanoseconds Extreme More "the longest" |task, _| maybe(task.latency.max_ns);
}

section! { ISR, "isr", Interrupt:
    "cpu" Percent Share More "its own time, of the known time of its core; of several cores the sum" |isr, _| real(isr.cpu_percent);
    "count" Count Sum Neither "how often it ran from begin to end" |isr, _| whole(isr.durations.count);
    "rate" Hertz Rate Neither "the same in a second" |isr, context| context.rate(isr.durations.count);
    "total" Nanoseconds Sum Neither "from begin to end, with its interruptions" |isr, _| whole(isr.durations.total_ns);
    "self" Nanoseconds Sum Neither "without its interruptions" |isr, _| whole(isr.self_ns);
    "min" Nanoseconds Extreme More "the shortest, from begin to end" |isr, _| maybe(isr.durations.min_ns);
    "mean" Nanoseconds Duration More "the mean" |isr, _| maybe(isr.durations.mean_ns);
    "p50" Nanoseconds Quantile More "the median" |isr, _| maybe(isr.durations.p50_ns);
    "p99" Nanoseconds Quantile More "99 % are not above" |isr, _| maybe(isr.durations.p99_ns);
    "max" Nanoseconds Extreme More "the longest" |isr, _| maybe(isr.durations.max_ns);
    "unfinished" Count Sum Neither "begun without an end that was seen" |isr, _| whole(isr.unfinished);
}

section! { OBJECT, "object", Objects:
    "sends" Count Sum Neither "items put in, or given" |object, _| whole(object.all.sends);
    "receives" Count Sum Neither "items taken out, or taken" |object, _| whole(object.all.receives);
    "high_water" Count Level More "the highest level; of streams in bytes" |object, _| maybe(object.all.high_water.map(u64::from));
    "capacity" Count Sum Neither "how much it can hold" |object, _| maybe(object.all.capacity.map(u64::from));
    "fill" Percent Sum More "the highest level, of its capacity; of several of one name the fullest" |object, _| object.fill_percent.map(Number::Real);
    "waits" Count Sum Neither "how often a task waited for it" |object, _| whole(object.all.waits.count);
    "mean_wait" Nanoseconds Duration Neither "how long" |object, _| maybe(object.all.waits.mean_ns);
    "longest_wait" Nanoseconds Extreme Neither "how long at most" |object, _| maybe(object.all.waits.max_ns);
}

section! { MUTEX, "mutex", Objects:
    "holds" Count Sum Neither "how often it was held, from take to give" |mutex, _| maybe(mutex.all.holds.map(|holds| holds.count));
    "total" Nanoseconds Sum Neither "how long together" |mutex, _| maybe(mutex.all.holds.map(|holds| holds.total_ns));
    "min" Nanoseconds Extreme More "the shortest" |mutex, _| maybe(mutex.all.holds.and_then(|holds| holds.min_ns));
    "mean" Nanoseconds Duration More "the mean" |mutex, _| maybe(mutex.all.holds.and_then(|holds| holds.mean_ns));
    "p50" Nanoseconds Quantile More "the median" |mutex, _| maybe(mutex.all.holds.and_then(|holds| holds.p50_ns));
    "p99" Nanoseconds Quantile More "99 % are not above" |mutex, _| maybe(mutex.all.holds.and_then(|holds| holds.p99_ns));
    "max" Nanoseconds Extreme More "the longest" |mutex, _| maybe(mutex.all.holds.and_then(|holds| holds.max_ns));
    "waits" Count Sum Neither "how often a task waited for it" |mutex, _| whole(mutex.all.waits.count);
    "mean_wait" Nanoseconds Duration More "how long" |mutex, _| maybe(mutex.all.waits.mean_ns);
    "longest_wait" Nanoseconds Extreme More "how long at most" |mutex, _| maybe(mutex.all.waits.max_ns);
}

section! { MACHINE, "machine", MachineReport:
    "busy" Percent Share More "the time of its steps, without their interruptions, of the recording without its gaps" |machine, context| context.share(machine.busy_ns);
    "steps" Count Sum Neither "run-to-completion steps" |machine, _| whole(machine.steps.count);
    "step_rate" Hertz Rate Neither "the same in a second" |machine, context| context.rate(machine.steps.count);
    "step_total" Nanoseconds Sum Neither "all steps, from begin to end" |machine, _| whole(machine.steps.total_ns);
    "step_min" Nanoseconds Extreme More "the shortest step" |machine, _| maybe(machine.steps.min_ns);
    "step_mean" Nanoseconds Duration More "the mean" |machine, _| maybe(machine.steps.mean_ns);
    "step_p50" Nanoseconds Quantile More "the median" |machine, _| maybe(machine.steps.p50_ns);
    "step_p99" Nanoseconds Quantile More "99 % are not above" |machine, _| maybe(machine.steps.p99_ns);
    "step_max" Nanoseconds Extreme More "the longest" |machine, _| maybe(machine.steps.max_ns);
    "transitions" Count Sum Neither "steps that went from state to state" |machine, _| whole(machine.transitions);
    "ignored" Count Sum Neither "steps that had nothing to do with the event" |machine, _| whole(machine.ignored);
    "preemptions" Count Sum Neither "how often another ran before a step had ended" |machine, _| whole(machine.preemptions);
    "posts" Count Sum Neither "events put into its queue" |machine, _| whole(machine.posts);
    "refused" Count Loss More "events that could not be put into its queue" |machine, _| whole(machine.not_posted);
    "high_water" Count Level More "the highest fill of its queue" |machine, _| maybe(machine.high_water.map(u64::from));
    "queued_min" Nanoseconds Extreme More "from an event's post to its being taken: the shortest" |machine, _| maybe(machine.queued.min_ns);
    "queued_mean" Nanoseconds Duration More "the mean" |machine, _| maybe(machine.queued.mean_ns);
    "queued_p50" Nanoseconds Quantile More "the median" |machine, _| maybe(machine.queued.p50_ns);
    "queued_p99" Nanoseconds Quantile More "99 % are not above" |machine, _| maybe(machine.queued.p99_ns);
    "queued_max" Nanoseconds Extreme More "the longest" |machine, _| maybe(machine.queued.max_ns);
    "response_mean" Nanoseconds Duration More "from an event's post to the end of its step: the mean" |machine, _| maybe(machine.responses.mean_ns);
    "response_p50" Nanoseconds Quantile More "the median" |machine, _| maybe(machine.responses.p50_ns);
    "response_p99" Nanoseconds Quantile More "99 % are not above" |machine, _| maybe(machine.responses.p99_ns);
    "response_max" Nanoseconds Extreme More "the longest" |machine, _| maybe(machine.responses.max_ns);
}

section! { SIGNAL, "signal", NamedSpans:
    "count" Count Sum Neither "steps that answer this signal (name: `machine/SIGNAL`)" |signal, _| whole(signal.spans.count);
    "total" Nanoseconds Sum Neither "how long together" |signal, _| whole(signal.spans.total_ns);
    "min" Nanoseconds Extreme More "the shortest" |signal, _| maybe(signal.spans.min_ns);
    "mean" Nanoseconds Duration More "the mean" |signal, _| maybe(signal.spans.mean_ns);
    "p50" Nanoseconds Quantile More "the median" |signal, _| maybe(signal.spans.p50_ns);
    "p99" Nanoseconds Quantile More "99 % are not above" |signal, _| maybe(signal.spans.p99_ns);
    "max" Nanoseconds Extreme More "the longest" |signal, _| maybe(signal.spans.max_ns);
}

section! { SPAN, "span", NamedSpans:
    "count" Count Sum Neither "spans or states of a marker (name: `owner/marker/span`, as far as there are such)" |span, _| whole(span.spans.count);
    "rate" Hertz Rate Neither "the same in a second" |span, context| context.rate(span.spans.count);
    "total" Nanoseconds Sum Neither "how long together" |span, _| whole(span.spans.total_ns);
    "min" Nanoseconds Extreme More "the shortest" |span, _| maybe(span.spans.min_ns);
    "mean" Nanoseconds Duration More "the mean" |span, _| maybe(span.spans.mean_ns);
    "p50" Nanoseconds Quantile More "the median" |span, _| maybe(span.spans.p50_ns);
    "p99" Nanoseconds Quantile More "99 % are not above" |span, _| maybe(span.spans.p99_ns);
    "max" Nanoseconds Extreme More "the longest" |span, _| maybe(span.spans.max_ns);
}

section! { VALUE, "value", LaneReport:
    "count" Count Sum Neither "how many values (name: `owner/value`)" |lane, _| whole(lane.values);
    "min" Unknown Level Neither "the least" |lane, _| lane.least;
    "max" Unknown Level Neither "the greatest" |lane, _| lane.greatest;
    "last" Unknown Sum Neither "the last" |lane, _| lane.last;
}

section! { CLIENT, "client", LaneReport:
    "messages" Count Sum Neither "log messages of one sender (name: `owner/sender`)" |lane, _| messages(lane, &[]);
    "rate" Hertz Rate Neither "the same in a second" |lane, context| context.rate(lane.logs.iter().map(|log| log.count).sum());
    "errors" Count Level More "those of severity error or worse" |lane, _| messages(lane, &["fatal", "error"]);
    "warnings" Count Level More "those of severity warning" |lane, _| messages(lane, &["warning"]);
}

section! { MESSAGE, "message", NamedCount:
    "count" Count Sum Neither "messages or instants of this name (name: `owner/sender/name`)" |named, _| whole(named.count);
    "rate" Hertz Rate Neither "the same in a second" |named, context| context.rate(named.count);
}

section! { LOG, "log", NamedCount:
    "count" Count Sum Neither "log messages of this severity" |named, _| whole(named.count);
    "rate" Hertz Rate Neither "the same in a second" |named, context| context.rate(named.count);
}

section! { FUNCTION, "function", FunctionReport:
    "self" Percent Share More "its own time, without the functions that it calls, of the recording without its gaps; with what calls span of gaps, and of the time before the first event" |function, context| context.share_of_functions(function.self_ns);
    "calls" Count Sum Neither "how often it was called" |function, _| whole(function.calls.count);
    "call_rate" Hertz Rate Neither "the same in a second" |function, context| context.rate(function.calls.count);
    "self" Nanoseconds Sum Neither "its own time together" |function, _| whole(function.self_ns);
    "self_mean" Nanoseconds Duration More "its own time in a call, the mean" |function, _| maybe(function.self_ns.checked_div(function.calls.count));
    "total" Nanoseconds Sum Neither "its calls together, with the functions that they call" |function, _| whole(function.calls.total_ns);
    "min" Nanoseconds Extreme More "the shortest call" |function, _| maybe(function.calls.min_ns);
    "mean" Nanoseconds Duration More "the mean" |function, _| maybe(function.calls.mean_ns);
    "p50" Nanoseconds Quantile More "the median" |function, _| maybe(function.calls.p50_ns);
    "p99" Nanoseconds Quantile More "99 % are not above" |function, _| maybe(function.calls.p99_ns);
    "max" Nanoseconds Extreme More "the longest" |function, _| maybe(function.calls.max_ns);
}

section! { HEAP, "heap", HeapReport:
    "allocations" Count Sum Neither "blocks taken" |heap, _| whole(heap.allocations);
    "frees" Count Sum Neither "blocks given back" |heap, _| whole(heap.frees);
    "failures" Count Loss More "blocks refused" |heap, _| whole(heap.failures);
    "used" Bytes Level More "in use at the end, compared with the beginning of the recording, or of the last session" |heap, _| Some(Number::Whole(heap.used_bytes));
    "high_water" Bytes Level More "the most in use in a session, compared with its beginning" |heap, _| Some(Number::Whole(heap.high_water_bytes));
}

/// The sections in the order in which they are listed, with the meaning of their names.
pub const SECTIONS: [(&str, &str); 17] = [
    ("core", "a core, by its number"),
    ("task", "a task; idle tasks are left out"),
    ("task_on_core", "a task on one core"),
    ("latency", "a task, from being made ready to running"),
    ("isr", "an interrupt"),
    ("object", "a queue, semaphore, stream, …"),
    ("mutex", "a mutex"),
    ("machine", "a state machine or active object"),
    ("signal", "the steps of a machine for one signal"),
    ("span", "a marker's spans, or a lane's states"),
    ("value", "a value marker, or counter"),
    ("client", "a sender of log messages"),
    ("message", "log messages or instants of one name"),
    ("log", "log messages of one severity"),
    ("function", "a function"),
    ("heap", "the heap (it has no name)"),
    ("", "the recording (no section, no name)"),
];

/// Sections of which there is only one thing, without a name.
pub const NAMELESS: [&str; 2] = ["", "heap"];

/// All metrics of a section, in the order in which they are listed.
#[must_use]
pub fn of_section(section: &str) -> Vec<&'static Metric> {
    fn metrics<T>(list: &'static [Entry<T>]) -> Vec<&'static Metric> {
        list.iter().map(|(metric, _)| metric).collect()
    }
    match section {
        "" => metrics(RECORDING),
        "core" => metrics(CORE),
        "task" => metrics(TASK),
        "task_on_core" => metrics(TASK_ON_CORE),
        "latency" => metrics(LATENCY),
        "isr" => metrics(ISR),
        "object" => metrics(OBJECT),
        "mutex" => metrics(MUTEX),
        "machine" => metrics(MACHINE),
        "signal" => metrics(SIGNAL),
        "span" => metrics(SPAN),
        "value" => metrics(VALUE),
        "client" => metrics(CLIENT),
        "message" => metrics(MESSAGE),
        "log" => metrics(LOG),
        "function" => metrics(FUNCTION),
        "heap" => metrics(HEAP),
        _ => Vec::new(),
    }
}

/// The meaning of each metric, a line each.
#[must_use]
pub fn explained() -> String {
    let mut text = String::new();
    for (section, meaning) in SECTIONS {
        text += &format!("{}{meaning}\n", if section.is_empty() { String::new() } else { format!("{section}: ") });
        for metric in of_section(section) {
            text += &format!("  {:<20}{}\n", metric.full_name(), metric.text);
        }
    }
    text
}

#[allow(clippy::unnecessary_wraps, reason = "as all that find a metric's value")]
fn whole(value: u64) -> Option<Number> {
    maybe(Some(value))
}

fn maybe(value: Option<u64>) -> Option<Number> {
    value.map(|value| Number::Whole(i64::try_from(value).unwrap_or(i64::MAX)))
}

fn real(value: Option<f64>) -> Option<Number> {
    value.map(Number::Real)
}

/// The log messages of a lane of these severities; of all if none is named.
fn messages(lane: &LaneReport, severities: &[&str]) -> Option<Number> {
    let counted = lane.logs.iter().filter(|log| severities.is_empty() || severities.contains(&&*log.severity));
    whole(counted.map(|log| log.count).sum())
}
