//! Statistics for scripts: a table of all fields. The field names are the schema: `schema_version` in the file that holds it changes
//! with its shape. How each is found: `fill.rs`.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use super::spread::SpreadReport;

/// All statistics of a recording. Lists are in the order of the firmware's own numbers, but functions by their self time. What did
/// not occur is left out of the lists; unknown values are `null`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct StatisticsReport {
    /// The time of the first event, in nanoseconds on the trace's axis.
    pub first_ns: Option<u64>,
    /// The time of the last event.
    pub last_ns: Option<u64>,
    /// Places where something is missing: across them nothing is measured.
    pub gaps: u64,
    /// The time in them and between sessions: from the event before to the one after.
    pub gap_ns: u64,
    /// The time of which functions are known: the recording without its gaps, and with the time that calls span of those and before the first event.
    pub functions_ns: u64,
    /// The cores.
    pub cores: Vec<CoreReport>,
    /// The tasks that were seen; one that was deleted and created again is several.
    pub tasks: Vec<TaskReport>,
    /// The interrupts, per core.
    pub interrupts: Vec<InterruptReport>,
    /// Queues, semaphores, mutexes and the like.
    pub objects: Vec<ObjectReport>,
    /// State machines and active objects.
    pub machines: Vec<MachineReport>,
    /// Spans, states and values of markers; instants and log messages.
    pub lanes: Vec<LaneReport>,
    /// The functions of which calls ended.
    pub functions: Vec<FunctionReport>,
    /// The heap, if it was used.
    pub heap: Option<HeapReport>,
    /// Log messages by severity, the gravest first.
    pub logs: Vec<LogReport>,
}

/// A core: `busy_ns + idle_ns + interrupts_ns + unknown_ns` is the time from the first event to the last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct CoreReport {
    /// Its number.
    pub core: u16,
    /// Tasks other than the idle task ran.
    pub busy_ns: u64,
    /// The idle task ran.
    pub idle_ns: u64,
    /// Interrupts ran.
    pub interrupts_ns: u64,
    /// It is not known who ran.
    pub unknown_ns: u64,
    /// Busy, in per cent of the known time, interrupts included. `None` if nothing but interrupts is known.
    pub load_percent: Option<f64>,
    /// Switches from task to task.
    pub switches: u64,
}

/// One life of a task.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct TaskReport {
    /// Its name.
    pub name: String,
    /// The target's number of it.
    pub number: u32,
    /// In which session of the target it lived, from 1.
    pub session: u32,
    /// Whether it is the idle task.
    pub is_idle: bool,
    /// Its highest priority without inheritance.
    pub priority: Option<i32>,
    /// The time it ran on all cores, without traced interrupts.
    pub run_ns: u64,
    /// The same, in per cent of the known time of the cores that it ran on.
    pub cpu_percent: Option<f64>,
    /// The same, by core.
    pub cores: Vec<TaskOnCore>,
    /// From being switched in to being switched out, interrupts included.
    pub runs: SpreadReport,
    /// How often it left its core though it could have gone on. `None`: the recording does not say when tasks become ready.
    pub preemptions: Option<u64>,
    /// Ready without running: after being made ready, and while pre-empted. `None` likewise.
    pub ready_ns: Option<u64>,
    /// Its waits: for time, objects, notifications, or for an unknown reason.
    pub waits: SpreadReport,
    /// The reason of the longest of them.
    pub longest_wait: Option<WaitReport>,
    /// Suspended.
    pub suspended_ns: u64,
    /// From being made ready to running.
    pub latency: SpreadReport,
    /// The least free stack.
    pub stack_free_bytes: Option<u32>,
}

/// A task on a core.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct TaskOnCore {
    /// The core's number.
    pub core: u16,
    /// The time it ran there.
    pub run_ns: u64,
    /// The same, in per cent of the core's known time.
    pub cpu_percent: Option<f64>,
}

/// A wait.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct WaitReport {
    /// The reason, as the trace calls it; `null` if unknown.
    pub what: Option<String>,
    /// When it began.
    pub begin_ns: u64,
}

/// An interrupt on a core.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct InterruptReport {
    /// Its name.
    pub name: String,
    /// The target's number of it.
    pub number: u32,
    /// The core's number.
    pub core: u16,
    /// In which session of the target, from 1.
    pub session: u32,
    /// From begin to end, with those that interrupted it.
    pub durations: SpreadReport,
    /// Without those that interrupted it.
    pub self_ns: u64,
    /// Handlers that began without an end that was seen.
    pub unfinished: u64,
}

/// A kernel object.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct ObjectReport {
    /// Its name.
    pub name: String,
    /// Its kind.
    pub kind: Cow<'static, str>,
    /// The target's number of it.
    pub number: u32,
    /// In which session of the target, from 1.
    pub session: u32,
    /// Items put in, or given.
    pub sends: u64,
    /// Items taken out, or taken.
    pub receives: u64,
    /// The highest level that was reported, in items; of streams in bytes. `null` for mutexes.
    pub high_water: Option<u32>,
    /// When that level was reached first.
    pub high_water_ns: Option<u64>,
    /// How many items it can hold; of streams bytes.
    pub capacity: Option<u32>,
    /// Of a mutex: how long it was held.
    pub holds: Option<SpreadReport>,
    /// How long tasks waited for it.
    pub waits: SpreadReport,
    /// Which task waited longest.
    pub longest_waiter: Option<String>,
    /// When that wait began.
    pub longest_wait_begin_ns: Option<u64>,
}

/// A lane of spans, states or values.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct LaneReport {
    /// Its name.
    pub name: String,
    /// The task or group that it belongs to.
    pub owner: Option<String>,
    /// In which session of the target, from 1.
    pub session: u32,
    /// Its spans or states.
    pub spans: SpreadReport,
    /// The same by name, where they have names of their own.
    pub named: Vec<NamedSpans>,
    /// Its instants.
    pub instants: u64,
    /// Its log messages by severity, the gravest first.
    pub logs: Vec<LogReport>,
    /// Its instants and log messages by name, as that of a log message's format, where they have names that do not change.
    pub named_instants: Vec<NamedCount>,
    /// How many values.
    pub values: u64,
    /// The least value.
    pub least: Option<Number>,
    /// The greatest value.
    pub greatest: Option<Number>,
    /// The last value.
    pub last: Option<Number>,
}

/// How often something of this name was.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct NamedCount {
    /// The name.
    pub name: String,
    /// How often.
    pub count: u64,
}

/// A state machine or active object.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct MachineReport {
    /// Its name.
    pub name: String,
    /// In which session of the target, from 1.
    pub session: u32,
    /// Its priority; the highest has the largest number.
    pub priority: Option<u32>,
    /// Events put into its queue.
    pub posts: u64,
    /// Events that could not be put into its queue.
    pub not_posted: u64,
    /// Events taken out of its queue.
    pub taken: u64,
    /// Its run-to-completion steps, from begin to end, with their interruptions.
    pub steps: SpreadReport,
    /// The time of its steps without their interruptions.
    pub busy_ns: u64,
    /// Busy, in per cent of the recording.
    pub busy_percent: Option<f64>,
    /// Steps that went from state to state.
    pub transitions: u64,
    /// Steps that left the state as it was.
    pub internals: u64,
    /// Steps that had nothing to do with the event.
    pub ignored: u64,
    /// How often another ran before a step had ended.
    pub preemptions: u64,
    /// How long an event is in the queue: from being posted to being taken.
    pub queued: SpreadReport,
    /// How long it takes until an event is answered: from being posted to the end of its step.
    pub responses: SpreadReport,
    /// The highest fill of its queue, in events.
    pub high_water: Option<u32>,
    /// When that was reached first.
    pub high_water_ns: Option<u64>,
    /// Its steps by the signal that they answer.
    pub signals: Vec<NamedSpans>,
}

/// A value as recorded.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(untagged)]
#[non_exhaustive]
pub enum Number {
    /// Without a fraction.
    Whole(i64),
    /// With a fraction.
    Real(f64),
}

impl Number {
    /// As the nearest number with a fraction.
    #[must_use]
    pub fn as_f64(self) -> f64 {
        match self {
            Number::Whole(value) => value as f64,
            Number::Real(value) => value,
        }
    }
}

impl std::fmt::Display for Number {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Number::Whole(value) => value.fmt(f),
            Number::Real(value) => value.fmt(f),
        }
    }
}

/// The spans of one name on a lane.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct NamedSpans {
    /// The name.
    pub name: String,
    /// The spans.
    #[serde(flatten)]
    pub spans: SpreadReport,
}

/// A function.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct FunctionReport {
    /// Its name.
    pub name: String,
    /// Its address on the target.
    pub address: u64,
    /// Its source file.
    pub file: Option<String>,
    /// Its line there.
    pub line: Option<u32>,
    /// Whether it handles interrupts.
    pub is_interrupt: bool,
    /// Its calls, with their callees. A call of a function by itself counts twice in the total.
    pub calls: SpreadReport,
    /// The time in the function itself. Of a sampled one: the time before each of its samples, since the sample before.
    pub self_ns: u64,
    /// How many samples found the processor in it.
    pub samples: u64,
}

/// The heap.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct HeapReport {
    /// Blocks taken.
    pub allocations: u64,
    /// Blocks given back.
    pub frees: u64,
    /// Blocks refused.
    pub failures: u64,
    /// Bytes in use at the end, compared with the beginning.
    pub used_bytes: i64,
    /// The most bytes in use, compared with the beginning.
    pub high_water_bytes: i64,
}

/// Log messages of one severity.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct LogReport {
    /// The severity.
    pub severity: Cow<'static, str>,
    /// How many.
    pub count: u64,
}

impl StatisticsReport {
    /// From the first event to the last, in nanoseconds.
    #[must_use]
    pub fn duration_ns(&self) -> u64 {
        self.first_ns.zip(self.last_ns).map_or(0, |(first_ns, last_ns)| last_ns.saturating_sub(first_ns))
    }

    /// The same without the gaps: the time in which events would have been seen.
    #[must_use]
    pub fn seen_ns(&self) -> u64 {
        self.duration_ns().saturating_sub(self.gap_ns)
    }

    /// How often something was in a second, that was so often in the recording; `None` of no time.
    #[must_use]
    pub fn rate_hz(&self, count: u64) -> Option<f64> {
        let seen_ns = self.seen_ns();
        (seen_ns > 0).then(|| count as f64 * 1e9 / seen_ns as f64)
    }
}

impl CoreReport {
    /// The time in which it is known who ran.
    #[must_use]
    pub fn known_ns(&self) -> u64 {
        self.busy_ns + self.idle_ns + self.interrupts_ns
    }

    /// The time that the load is a share of: 0 if only interrupts are known, because nothing is known of the time between them then.
    #[must_use]
    pub fn load_base_ns(&self) -> u64 {
        if self.busy_ns + self.idle_ns == 0 { 0 } else { self.known_ns() }
    }
}
