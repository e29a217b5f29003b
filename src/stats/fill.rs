//! How the fields of the [`report`](super::report) are found, when everything has been gathered.

use super::machines::MachineState;
use super::objects::{CoreState, IsrState, LaneState, ObjectState};
use super::report::{
    CoreReport, FunctionReport, HeapReport, InterruptReport, LaneReport, LogReport, MachineReport, NamedCount, NamedSpans,
    ObjectReport, StatisticsReport, TaskOnCore, TaskReport, WaitReport,
};
use super::spread::Distribution;
use super::tasks::{LongestWait, TaskState};
use super::{LOG_SEVERITIES, Statistics};
use crate::model::{
    CoreId, Entities, IsrId, LaneId, LaneKind, LaneOwner, MachineId, NameId, ObjectId, RecordedWaits, StepResult, TaskId, Wait,
    WaitReason, numbered,
};

fn log_reports(counts: &[u64; LOG_SEVERITIES.len()]) -> Vec<LogReport> {
    let counted = LOG_SEVERITIES.iter().zip(counts).filter(|(_, count)| **count > 0);
    counted.map(|(&(_, severity), &count)| LogReport { severity: severity.into(), count }).collect()
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
            gaps: self.gaps.count,
            gap_ns: self.gaps.total_ns,
            functions_ns: self.first_ns.map_or(0, |first_ns| self.gaps.functions_ns(first_ns, self.now_ns)),
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
        CoreReport { load_percent: percent(report.busy_ns + report.interrupts_ns, report.load_base_ns()), ..report }
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
        let whole_ns =
            self.first_ns.map_or(0, |first_ns| self.now_ns.saturating_sub(first_ns).saturating_sub(self.gaps.total_ns));
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
        let functions = self.functions.iter().enumerate().filter(|(_, calls)| calls.duration.count() + calls.samples > 0);
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
                    samples: calls.samples,
                })
            })
            .collect();
        reports.sort_by(|one, other| (other.self_ns, one.address, &one.name).cmp(&(one.self_ns, other.address, &other.name)));
        reports
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
    let readiness_is_recorded = task.is_none_or(|task| task.waits != RecordedWaits::Nothing);
    let used = || state.run_ns.iter().enumerate().filter(|(_, run_ns)| **run_ns > 0);
    let share = |(core, &run_ns): (usize, &u64)| 100.0 * run_ns as f64 / known_ns(core).max(1) as f64;
    // Of one core to the digit; of several the sum of their shares.
    let cpu_percent = match used().count() {
        0 => None,
        1 => used().next().and_then(|(core, &run_ns)| percent(run_ns, known_ns(core))),
        _ => Some((100.0 * used().map(share).sum::<f64>()).round() / 100.0),
    };
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
        cpu_percent,
        cores: used().map(on_core).collect(),
        runs: state.runs.report(),
        preemptions: readiness_is_recorded.then_some(state.preemptions),
        ready_ns: readiness_is_recorded.then_some(state.ready_ns),
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
    name.filter(|name| !name.is_empty()).map_or_else(|| numbered(noun, number), ToString::to_string)
}

/// The name of the thing that a task waits for, as in the trace.
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
        WaitReason::NotRecorded if wait.object.is_none() => return "wait".into(),
        WaitReason::Notification if wait.object.is_none() => return "notification".into(),
        WaitReason::Bits if wait.object.is_none() => return "event bits".into(),
        WaitReason::Notification | WaitReason::Bits | WaitReason::NotRecorded => "wait for",
    };
    wait.object.map_or_else(|| verb.into(), |object| format!("{verb} {}", object_name(entities, object)))
}
