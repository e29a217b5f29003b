//! Statistics for scripts: a table of all fields, and how each is found. The field names are the schema: `schema_version` in the file that
//! holds it changes with its shape.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use super::machines::MachineState;
use super::objects::{CoreState, IsrState, LaneState, ObjectState};
use super::spread::{Distribution, SpreadReport};
use super::tasks::{LongestWait, TaskState};
use super::{LOG_SEVERITIES, Statistics};
use crate::model::{
    CoreId, Entities, IsrId, LaneId, LaneKind, LaneOwner, MachineId, NameId, ObjectId, StepResult, TaskId, Wait, WaitReason,
};

/// All statistics of a recording. Lists are in the order of the firmware's own numbers, but functions by their self time. What did
/// not occur is left out of the lists; what is not known is `null`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct StatisticsReport {
    /// The time of the first event, in nanoseconds on the trace's axis.
    pub first_ns: Option<u64>,
    /// The time of the last event.
    pub last_ns: Option<u64>,
    /// Places where something is missing: across them nothing is measured.
    pub gaps: u64,
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
pub struct CoreReport {
    /// Its number.
    pub core: u16,
    /// Tasks other than the idle task ran.
    pub busy_ns: u64,
    /// The idle task ran.
    pub idle_ns: u64,
    /// Interrupts ran.
    pub interrupts_ns: u64,
    /// Nobody knows what ran.
    pub unknown_ns: u64,
    /// Busy, in per cent of what is known, interrupts included.
    pub load_percent: Option<f64>,
    /// Switches from task to task.
    pub switches: u64,
}

/// One life of a task.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
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
    pub priority: Option<u32>,
    /// The time it ran on all cores, without traced interrupts.
    pub run_ns: u64,
    /// The same, in per cent of the known time of the cores that it ran on.
    pub cpu_percent: Option<f64>,
    /// The same, by core.
    pub cores: Vec<TaskOnCore>,
    /// From being switched in to being switched out, interrupts included.
    pub runs: SpreadReport,
    /// How often it left its core though it could have gone on.
    pub preemptions: u64,
    /// Ready without running: after being made ready, and while pre-empted.
    pub ready_ns: u64,
    /// Its waits: for time, objects, notifications, or for what it did not tell.
    pub waits: SpreadReport,
    /// What the longest of them was for.
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
pub struct WaitReport {
    /// What for, as the trace calls it; `null` if it was not told.
    pub what: Option<String>,
    /// When it began.
    pub begin_ns: u64,
}

/// An interrupt on a core.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
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
pub struct ObjectReport {
    /// Its name.
    pub name: String,
    /// What it is.
    pub kind: Cow<'static, str>,
    /// The target's number of it.
    pub number: u32,
    /// In which session of the target, from 1.
    pub session: u32,
    /// Items put in, or given.
    pub sends: u64,
    /// Items taken out, or taken.
    pub receives: u64,
    /// The highest level that was told, in items; of streams in bytes. `null` for mutexes.
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
pub struct NamedCount {
    /// The name.
    pub name: String,
    /// How often.
    pub count: u64,
}

/// A state machine or active object.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
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
    /// Its run-to-completion steps, from begin to end, with what ran before they had ended.
    pub steps: SpreadReport,
    /// The time of its steps without what ran before they had ended.
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

/// A value as it was told.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(untagged)]
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
    /// Its calls, with what they called. A call of a function by itself counts twice in the total.
    pub calls: SpreadReport,
    /// The time in the function itself.
    pub self_ns: u64,
}

/// The heap.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
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
pub struct LogReport {
    /// The severity.
    pub severity: Cow<'static, str>,
    /// How many.
    pub count: u64,
}

fn log_reports(counts: &[u64; LOG_SEVERITIES.len()]) -> Vec<LogReport> {
    let told = LOG_SEVERITIES.iter().zip(counts).filter(|(_, count)| **count > 0);
    told.map(|(&(_, severity), &count)| LogReport { severity: severity.into(), count }).collect()
}

impl Statistics {
    /// The result, after [`Statistics::finish`].
    #[must_use]
    pub fn report(&self, entities: &Entities) -> StatisticsReport {
        let cores: Vec<CoreReport> = self.cores.iter().map(|core| self.core_report(core, entities)).collect();
        let known_ns = |core: usize| cores.get(core).map_or(0, CoreReport::known_ns);
        let heap = self.heap;
        StatisticsReport {
            first_ns: self.first_ns,
            last_ns: self.first_ns.map(|_| self.now_ns),
            gaps: self.gaps,
            tasks: each(&self.tasks, TaskState::is_seen).map(|(id, state)| task_report(id, state, entities, &known_ns)).collect(),
            interrupts: each(&self.isrs, IsrState::is_seen).filter_map(|(id, state)| isr_report(id, state, entities)).collect(),
            objects: each(&self.objects, ObjectState::is_seen)
                .filter_map(|(id, state)| object_report(id, state, entities))
                .collect(),
            machines: self.machine_reports(entities),
            lanes: self.lane_reports(entities),
            functions: self.function_reports(entities),
            heap: (heap.allocations + heap.frees + heap.failures > 0).then_some(HeapReport {
                allocations: heap.allocations,
                frees: heap.frees,
                failures: heap.failures,
                used_bytes: heap.used_bytes,
                high_water_bytes: heap.high_water_bytes,
            }),
            logs: log_reports(&self.logs),
            cores,
        }
    }

    fn core_report(&self, core: &CoreState, entities: &Entities) -> CoreReport {
        let index = core.number.index();
        let run_ns = |of_idle: bool| {
            let tasks = self.tasks.iter().enumerate().filter(|(task, _)| Statistics::is_idle(entities, *task) == of_idle);
            tasks.map(|(_, state)| state.run_ns.get(index).copied().unwrap_or(0)).sum::<u64>()
        };
        let report = CoreReport {
            core: core.number.0,
            busy_ns: run_ns(false),
            idle_ns: run_ns(true),
            interrupts_ns: core.isr_ns,
            unknown_ns: core.unknown_ns,
            load_percent: None,
            switches: core.switches,
        };
        CoreReport { load_percent: percent(report.busy_ns + report.interrupts_ns, report.known_ns()), ..report }
    }

    fn lane_reports(&self, entities: &Entities) -> Vec<LaneReport> {
        let (spans, instants) = (self.named_spans.by_owner(), self.named_instants.by_owner());
        let report = |(id, state): (u32, &LaneState)| {
            let lane = entities.lanes.get(id as usize)?;
            let owner = match lane.owner {
                LaneOwner::Firmware => None,
                LaneOwner::Task(task) => Some(task_name(entities, task)),
                LaneOwner::Group(group) => entities.groups.get(group.index()).map(|group| group.name.to_string()),
            };
            let noun = match lane.kind {
                LaneKind::Events | LaneKind::Log => "marker",
                LaneKind::Values => "value",
                LaneKind::States => "state",
            };
            Some(LaneReport {
                name: named_or(lane.name.as_deref(), noun, lane.number),
                owner,
                session: lane.session.saturating_add(1),
                spans: state.spans.report(),
                named: named_spans(&spans, LaneId(id), entities),
                instants: state.instants,
                logs: log_reports(&state.logs),
                named_instants: of(&instants, LaneId(id))
                    .map(|&(_, name, &count)| NamedCount { name: text_of(entities, name), count })
                    .collect(),
                values: state.values,
                least: state.least,
                greatest: state.greatest,
                last: state.last,
            })
        };
        each(&self.lanes, LaneState::is_seen).filter_map(report).collect()
    }

    fn machine_reports(&self, entities: &Entities) -> Vec<MachineReport> {
        let signals = self.named_steps.by_owner();
        let whole_ns = self.first_ns.map_or(0, |first_ns| self.now_ns.saturating_sub(first_ns));
        let report = |(id, state): (u32, &MachineState)| {
            let machine = entities.machines.get(id as usize)?;
            let steps = state.steps.report();
            let busy_ns = steps.total_ns.saturating_sub(state.preempted_ns);
            Some(MachineReport {
                name: machine.name.to_string(),
                session: machine.session.saturating_add(1),
                priority: state.priority,
                posts: state.posts,
                not_posted: state.not_posted,
                taken: state.taken,
                steps,
                busy_ns,
                busy_percent: percent(busy_ns, whole_ns),
                transitions: state.results[StepResult::Transition as usize],
                internals: state.results[StepResult::Internal as usize],
                ignored: state.results[StepResult::Ignored as usize],
                preemptions: state.preemptions,
                queued: state.queued.report(),
                responses: state.responses.report(),
                high_water: state.high_water.map(|(fill, _)| fill),
                high_water_ns: state.high_water.map(|(_, time_ns)| time_ns),
                signals: named_spans(&signals, MachineId(id), entities),
            })
        };
        each(&self.machines, MachineState::is_seen).filter_map(report).collect()
    }

    fn function_reports(&self, entities: &Entities) -> Vec<FunctionReport> {
        let functions = self.functions.iter().enumerate().filter(|(_, calls)| calls.duration.count() > 0);
        let mut reports: Vec<FunctionReport> = functions
            .filter_map(|(index, calls)| {
                let function = entities.functions.get(index)?;
                let source = function.source.and_then(|source| entities.sources.get(source.index()));
                Some(FunctionReport {
                    name: function.name.to_string(),
                    address: function.address,
                    file: source.map(|source| source.file.to_string()),
                    line: source.map(|source| source.line).filter(|&line| line > 0),
                    is_interrupt: function.isr.is_some(),
                    calls: calls.duration.report(),
                    self_ns: calls.self_ns,
                })
            })
            .collect();
        reports.sort_by(|one, other| (other.self_ns, one.address, &one.name).cmp(&(one.self_ns, other.address, &other.name)));
        reports
    }
}

impl StatisticsReport {
    /// From the first event to the last, in nanoseconds.
    #[must_use]
    pub fn duration_ns(&self) -> u64 {
        self.first_ns.zip(self.last_ns).map_or(0, |(first_ns, last_ns)| last_ns.saturating_sub(first_ns))
    }

    /// How often something was in a second, that was so often in the recording; `None` of no time.
    #[must_use]
    pub fn rate_hz(&self, count: u64) -> Option<f64> {
        let duration_ns = self.duration_ns();
        (duration_ns > 0).then(|| count as f64 * 1e9 / duration_ns as f64)
    }
}

impl CoreReport {
    /// The time of which it is known what ran.
    #[must_use]
    pub fn known_ns(&self) -> u64 {
        self.busy_ns + self.idle_ns + self.interrupts_ns
    }
}

/// Those of one owner, in a list that is in order of owners.
fn of<'a, O: Copy + Ord + 'a, T>(named: &'a [(O, NameId, &'a T)], owner: O) -> impl Iterator<Item = &'a (O, NameId, &'a T)> {
    let start = named.partition_point(|(other, ..)| *other < owner);
    named[start..].iter().take_while(move |(other, ..)| *other == owner)
}

fn named_spans<O: Copy + Ord>(named: &[(O, NameId, &Distribution)], owner: O, entities: &Entities) -> Vec<NamedSpans> {
    of(named, owner).map(|(_, name, spans)| NamedSpans { name: text_of(entities, *name), spans: spans.report() }).collect()
}

fn text_of(entities: &Entities, name: NameId) -> String {
    entities.names.get(name.index()).map(ToString::to_string).unwrap_or_default()
}

/// Those that anything was seen of, with their indexes.
fn each<T>(states: &[T], is_seen: impl Fn(&T) -> bool) -> impl Iterator<Item = (u32, &T)> {
    states.iter().enumerate().filter(move |(_, state)| is_seen(state)).map(|(index, state)| (index as u32, state))
}

impl TaskState {
    fn is_seen(&self) -> bool {
        self.run_ns.iter().any(|&run_ns| run_ns > 0)
            || self.runs.count() + self.waits.count() + self.latency.count() > 0
            || self.ready_ns + self.suspended_ns > 0
            || self.priority.is_some()
            || self.stack_free_bytes.is_some()
    }
}

impl IsrState {
    fn is_seen(&self) -> bool {
        self.durations.count() + self.unfinished + self.self_ns > 0
    }
}

impl ObjectState {
    fn is_seen(&self) -> bool {
        self.sends + self.receives + self.waits.count() > 0 || self.high_water.is_some()
    }
}

impl LaneState {
    fn is_seen(&self) -> bool {
        self.spans.count() + self.instants + self.values + self.logs.iter().sum::<u64>() > 0
    }
}

fn task_report(id: u32, state: &TaskState, entities: &Entities, known_ns: &dyn Fn(usize) -> u64) -> TaskReport {
    let task = entities.tasks.get(id as usize);
    let used = || state.run_ns.iter().enumerate().filter(|(_, run_ns)| **run_ns > 0);
    let run_ns = state.run_ns.iter().sum();
    let on_core = |(core, &run_ns): (usize, &u64)| TaskOnCore {
        core: CoreId(core as u16).0,
        run_ns,
        cpu_percent: percent(run_ns, known_ns(core)),
    };
    let wait_report = |longest: &LongestWait| WaitReport {
        what: longest.wait.map(|wait| wait_name(wait, entities)),
        begin_ns: longest.begin_ns,
    };
    TaskReport {
        name: task_name(entities, TaskId(id)),
        number: task.map_or(0, |task| task.number),
        session: task.map_or(0, |task| task.session).saturating_add(1),
        is_idle: Statistics::is_idle(entities, id as usize),
        priority: state.priority,
        run_ns,
        cpu_percent: percent(run_ns, used().map(|(core, _)| known_ns(core)).sum()),
        cores: used().map(on_core).collect(),
        runs: state.runs.report(),
        preemptions: state.preemptions,
        ready_ns: state.ready_ns,
        waits: state.waits.report(),
        longest_wait: state.longest_wait.as_ref().map(wait_report),
        suspended_ns: state.suspended_ns,
        latency: state.latency.report(),
        stack_free_bytes: state.stack_free_bytes,
    }
}

fn isr_report(id: u32, state: &IsrState, entities: &Entities) -> Option<InterruptReport> {
    let isr = entities.isrs.get(id as usize)?;
    Some(InterruptReport {
        name: isr_name(entities, IsrId(id)),
        number: isr.number,
        core: isr.core.0,
        session: isr.session.saturating_add(1),
        durations: state.durations.report(),
        self_ns: state.self_ns,
        unfinished: state.unfinished,
    })
}

fn object_report(id: u32, state: &ObjectState, entities: &Entities) -> Option<ObjectReport> {
    let object = entities.objects.get(id as usize)?;
    Some(ObjectReport {
        name: object_name(entities, ObjectId(id)),
        kind: object.kind.noun().into(),
        number: object.number,
        session: object.session.saturating_add(1),
        sends: state.sends,
        receives: state.receives,
        high_water: state.high_water.map(|(level, _)| level),
        high_water_ns: state.high_water.map(|(_, time_ns)| time_ns),
        capacity: state.capacity.map(|(items, _)| items),
        holds: object.kind.is_mutex().then(|| state.holds.report()),
        waits: state.waits.report(),
        longest_waiter: state.longest_waiter.map(|(task, _)| task_name(entities, task)),
        longest_wait_begin_ns: state.longest_waiter.map(|(_, begin_ns)| begin_ns),
    })
}

/// In per cent, to two decimals; `None` of nothing.
fn percent(part: u64, whole: u64) -> Option<f64> {
    let hundredths = (u128::from(part) * 10_000 + u128::from(whole) / 2).checked_div(u128::from(whole))?;
    Some(hundredths as f64 / 100.0)
}

/// The name of a task, for people.
pub(super) fn task_name(entities: &Entities, task: TaskId) -> String {
    match entities.tasks.get(task.index()) {
        Some(task) => named_or(task.name.as_deref(), "task", task.number),
        None => "?".into(),
    }
}

/// The name of an interrupt.
pub(super) fn isr_name(entities: &Entities, isr: IsrId) -> String {
    match entities.isrs.get(isr.index()) {
        Some(isr) => named_or(isr.name.as_deref(), "ISR", isr.number),
        None => "?".into(),
    }
}

/// The name of a function, by its index.
pub(super) fn function_name(entities: &Entities, function: u32) -> String {
    entities.functions.get(function as usize).map_or_else(|| "?".into(), |function| function.name.to_string())
}

fn object_name(entities: &Entities, object: ObjectId) -> String {
    match entities.objects.get(object.index()) {
        Some(object) => named_or(object.name.as_deref(), object.kind.noun(), object.number),
        None => "?".into(),
    }
}

fn named_or(name: Option<&str>, noun: &str, number: u32) -> String {
    name.filter(|name| !name.is_empty()).map_or_else(|| format!("{noun} #{number}"), ToString::to_string)
}

/// What a task waits for, as the trace calls it.
fn wait_name(wait: Wait, entities: &Entities) -> String {
    let is_taken =
        wait.object.and_then(|object| entities.objects.get(object.index())).is_some_and(|object| object.kind.is_taken());
    let verb = match wait.reason {
        WaitReason::Delay => return "delay".into(),
        WaitReason::DelayUntil | WaitReason::Period => return "delay until".into(),
        WaitReason::Receive if is_taken => "take",
        WaitReason::Send if is_taken => "give",
        WaitReason::Receive => "receive",
        WaitReason::Send => "send",
        WaitReason::Peek => "peek",
        WaitReason::Notification if wait.object.is_none() => return "notification".into(),
        WaitReason::Bits if wait.object.is_none() => return "event bits".into(),
        WaitReason::Notification | WaitReason::Bits => "wait for",
    };
    wait.object.map_or_else(|| verb.into(), |object| format!("{verb} {}", object_name(entities, object)))
}
