//! Statistics of a recording: events of the common model in, tables out. It knows no format and draws nothing.
//!
//! - [`tasks`]: how long each runs, its waits, and how long it takes from being made ready to running;
//! - [`objects`]: levels of queues, holds of mutexes, spans, states and values of lanes, interrupts;
//! - [`machines`]: steps and queues of state machines;
//! - [`calls`]: how often functions are called, and how long they take with and without their callees;
//! - [`gaps`]: places where something is missing;
//! - [`stacks`]: where the time goes, as folded stacks for flame graphs;
//! - [`range`]: a part of a recording;
//! - [`spread`]: sums and distributions; [`report`]: the result for scripts, and [`fill`]: how it is found; [`text`]: for people.
//!
//! Every nanosecond of every core, from the first event to the last, belongs to the task that runs there, to the interrupt that
//! interrupts it, or is unknown: before the first switch, and from a loss to the next switch. Sums are whole nanoseconds. What
//! begins or ends unseen is not counted as a duration.

mod calls;
mod fill;
mod gaps;
mod machines;
mod objects;
mod range;
pub mod report;
mod spread;
mod stacks;
mod tasks;
#[cfg(test)]
mod tests;
pub mod text;

use calls::{CoreCalls, EndedCall, FunctionCalls};
use gaps::Gaps;
use machines::MachineState;
use objects::{CoreState, HeapState, IsrState, LaneState, Named, ObjectState};
use stacks::{Frame, Stacks};
use tasks::TaskState;

use report::Number;
use spread::Distribution;
pub use spread::SpreadReport;

use crate::model::{
    CodeId, CoreId, Entities, EventBatch, EventKind, FunctionId, HeapBlocks, IsrId, LaneId, LogSeverity, MachineId, ObjectId,
    PriorityChange, PriorityOrder, TaskId, TaskKind,
};

/// How deep interrupts can nest. No hardware has more priorities: deeper, exits are missing.
const NESTING_LIMIT: usize = 256;

/// Gathers statistics, event by event.
#[derive(Default)]
pub struct Statistics {
    first_ns: Option<u64>,
    now_ns: u64,
    session: u32,
    gaps: Gaps,
    cores: Vec<CoreState>,
    tasks: Vec<TaskState>,
    isrs: Vec<IsrState>,
    objects: Vec<ObjectState>,
    lanes: Vec<LaneState>,
    named_spans: Named<LaneId, Distribution>,
    named_instants: Named<LaneId, u64>,
    machines: Vec<MachineState>,
    named_steps: Named<MachineId, Distribution>,
    functions: Vec<FunctionCalls>,
    calls: Vec<CoreCalls>,
    stacks: Option<Stacks>,
    heap: HeapState,
    blocks: HeapBlocks,
    logs: [u64; LOG_SEVERITIES.len()],
    touched: Touched,
    /// On the only core: tasks that left it without a reason.
    undecided: Vec<TaskId>,
    part: Option<range::Part>,
    /// There were events after the part.
    goes_beyond: bool,
    /// The gap that reaches back into the part has ended, if there is one.
    is_over: bool,
}

/// Open spans: visited, and emptied, at a gap.
#[derive(Default)]
struct Touched {
    tasks: Vec<TaskId>,
    objects: Vec<ObjectId>,
    lanes: Vec<LaneId>,
    machines: Vec<MachineId>,
}

const LOG_SEVERITIES: [(LogSeverity, &str); 8] = [
    (LogSeverity::Fatal, "fatal"),
    (LogSeverity::Error, "error"),
    (LogSeverity::Warning, "warning"),
    (LogSeverity::Info, "info"),
    (LogSeverity::User, "user"),
    (LogSeverity::Debug, "debug"),
    (LogSeverity::Verbose, "verbose"),
    (LogSeverity::Unspecified, "unspecified"),
];

impl Statistics {
    /// Nothing yet. `with_stacks`: also for [`Statistics::folded`].
    #[must_use]
    pub fn new(with_stacks: bool) -> Statistics {
        Statistics { stacks: with_stacks.then(Stacks::default), ..Statistics::default() }
    }

    /// Takes a batch. Its events come after those of the batches before.
    pub fn consume(&mut self, batch: &EventBatch, entities: &Entities) {
        self.tasks.resize_with(entities.tasks.len(), TaskState::default);
        self.isrs.resize_with(entities.isrs.len(), IsrState::default);
        self.objects.resize_with(entities.objects.len(), ObjectState::default);
        self.lanes.resize_with(entities.lanes.len(), LaneState::default);
        self.machines.resize_with(entities.machines.len(), MachineState::default);
        for event in &batch.events {
            let (time_ns, core) = (event.time.0, event.core);
            if !self.takes(event, entities) {
                continue;
            }
            let first_ns = *self.first_ns.get_or_insert_with(|| {
                // A loss before the first event is not a part of the recording's time.
                self.now_ns = time_ns;
                time_ns
            });
            if self.cores.len() <= core.index() {
                let new = |number| CoreState { accounted_ns: first_ns, number: CoreId(number), ..CoreState::default() };
                (self.cores.len()..=core.index()).for_each(|number| self.cores.push(new(number as u16)));
            }
            match event.kind {
                EventKind::SwitchedIn(task) => self.switched_in(task, core, time_ns, entities),
                EventKind::Ready { task, .. } | EventKind::Resumed { task, .. } => self.ready(task, time_ns),
                EventKind::Object { object, op, level, .. } => self.object_op(object, op, level.get(), time_ns, entities),
                EventKind::Waiting(wait) => self.waiting(wait, core, time_ns),
                EventKind::IsrEnter(isr) => self.isr_enter(isr, core, time_ns),
                EventKind::IsrExit(isr) => self.isr_exit(isr, core, time_ns),
                EventKind::Relisted(task) => self.relisted(task, time_ns),
                EventKind::WaitingForBits { object, kernel_ticks, .. } => {
                    self.waiting_for_bits(object, kernel_ticks, core, time_ns);
                }
                EventKind::WaitingForNotification { kernel_ticks, .. } => {
                    self.waiting_for_notification(kernel_ticks, core, time_ns);
                }
                EventKind::Suspended(task) => self.suspended(task, time_ns),
                EventKind::TaskDeleted(task) => self.task_deleted(task, time_ns),
                EventKind::TaskReported { task, state } => self.task_reported(task, state, time_ns),
                EventKind::Priority { task, priority, change } => {
                    self.priority(task, priority, change, entities.priority_order(task));
                }
                EventKind::StackFree { task, bytes } => {
                    if let Some(state) = self.tasks.get_mut(task.index()) {
                        state.stack_free_bytes = Some(state.stack_free_bytes.map_or(bytes, |least| least.min(bytes)));
                    }
                }
                EventKind::ObjectLevel { object, level } => self.object_level(object, level, time_ns, entities),
                EventKind::LateObjectLevel { object, level, since } => {
                    self.object_level(object, level, since.get().max(first_ns), entities);
                    if since.get() < time_ns {
                        self.forget_level(object);
                    }
                }
                EventKind::Stream { object, op, level, .. } => {
                    let op = match op {
                        crate::model::StreamOp::Send => crate::model::ObjectOp::Send,
                        crate::model::StreamOp::Receive => crate::model::ObjectOp::Receive,
                    };
                    self.object_op(object, op, Some(level), time_ns, entities);
                }
                EventKind::Capacity { object, items, item_bytes } => {
                    if let Some(state) = self.objects.get_mut(object.index()) {
                        state.capacity = Some((items, item_bytes));
                    }
                }
                EventKind::Heap { op, address, bytes } => self.heap_op(op, address.get(), bytes),
                EventKind::SpanBegin { lane, label, .. } => self.span_begin(lane, label, time_ns),
                EventKind::SpanEnd { lane, .. } => self.span_end(lane, time_ns),
                EventKind::State { lane, label, .. } => self.lane_state(lane, label, time_ns),
                EventKind::Instant { lane, label, .. } => self.lane_instant(lane, label, None),
                EventKind::Value { lane, value } => self.lane_value(lane, Number::Whole(value.get())),
                EventKind::Float { lane, value } => self.lane_value(lane, Number::Real(value.get())),
                EventKind::Log(index) => {
                    if let Some(note) = batch.logs.get(index as usize)
                        && let Some(place) = LOG_SEVERITIES.iter().position(|(known, _)| *known == note.severity)
                    {
                        self.logs[place] += 1;
                        self.lane_instant(note.lane, note.name, Some(place));
                    }
                }
                EventKind::Call { function, depth, is_hidden, begin, ended_before_ns } => {
                    let end_ns = time_ns.saturating_sub(u64::from(ended_before_ns));
                    let begin_ns = begin.get().min(end_ns);
                    if self.is_in_part(begin_ns) {
                        self.gaps.called(begin_ns, end_ns);
                        self.call(core, EndedCall { function: function.0, depth, begin_ns, end_ns, is_hidden });
                    }
                }
                EventKind::Sample(code) => self.sample(code, core, time_ns, entities),
                EventKind::CoreEnd => {
                    self.account(core, time_ns);
                    self.leave_unknown(core, time_ns);
                }
                EventKind::SessionStart(session) => {
                    // Other cores of the same recording report it too.
                    if session > self.session {
                        self.gaps.add(self.now_ns, time_ns);
                        self.new_session(session);
                    }
                }
                EventKind::Loss(_) => {
                    self.gaps.count += u64::from(self.part.is_none_or(|part| part.is_reached_by_gap(time_ns)));
                    self.gaps.add(self.now_ns, time_ns);
                    self.forget_all(self.now_ns.min(time_ns));
                    self.cores[core.index()].is_missing = false;
                }
                EventKind::Missing => {
                    self.forget_all(time_ns);
                    self.cores[core.index()].is_missing = self.part.is_none_or(|part| part.is_left_by_gap(time_ns));
                }
                EventKind::TaskCreated(_)
                | EventKind::RecorderNote(_)
                | EventKind::Notify { .. }
                | EventKind::Notified { .. }
                | EventKind::Holder { .. }
                | EventKind::Depth { .. }
                | EventKind::Bits { .. }
                | EventKind::Timer { .. }
                | EventKind::Publish { .. }
                | EventKind::PublishEnd { .. }
                | EventKind::InState { .. }
                | EventKind::MachineNote { .. } => {}
                kind @ (EventKind::Posted { .. }
                | EventKind::NotPosted { .. }
                | EventKind::Taken { .. }
                | EventKind::StepBegin { .. }
                | EventKind::StepEnd { .. }
                | EventKind::Preempted { .. }
                | EventKind::Unpreempted { .. }
                | EventKind::MachinePriority { .. }) => self.machine_event(kind, time_ns),
            }
            self.now_ns = self.now_ns.max(time_ns);
        }
    }

    /// The time since the sample before is that of this one's code. Before the first one, and across a gap, nobody's.
    fn sample(&mut self, code: CodeId, core: CoreId, time_ns: u64, entities: &Entities) {
        self.account(core, time_ns);
        let state = &mut self.cores[core.index()];
        let spent_ns = state.sampled_ns.replace(time_ns).map_or(0, |before_ns| time_ns.saturating_sub(before_ns));
        let Some(code) = entities.codes.get(code.index()) else { return };
        if let Some(&FunctionId(innermost)) = code.stack.last() {
            if self.functions.len() <= innermost as usize {
                self.functions.resize(innermost as usize + 1, FunctionCalls::default());
            }
            let totals = &mut self.functions[innermost as usize];
            totals.samples += 1;
            totals.self_ns = totals.self_ns.saturating_add(spent_ns);
        }
        if let Some(stacks) = &mut self.stacks {
            let functions = code.stack.iter().map(|function| Frame::Function(function.0));
            stacks.spend(state.frames().chain(functions), spent_ns);
        }
    }

    fn call(&mut self, core: CoreId, call: EndedCall) {
        if self.calls.len() <= core.index() {
            self.calls.resize_with(core.index() + 1, CoreCalls::default);
        }
        self.calls[core.index()].ended(call, &mut self.functions, self.stacks.as_mut());
    }

    /// The capture has ended: nothing may be consumed after it.
    pub fn finish(&mut self) {
        self.end_part();
        for core in 0..self.cores.len() {
            self.account(CoreId(core as u16), self.now_ns);
            for (isr, _) in std::mem::take(&mut self.cores[core].isr_stack) {
                unfinished(&mut self.isrs, isr);
            }
        }
        for task in std::mem::take(&mut self.touched.tasks) {
            self.forget_task(task, self.now_ns);
        }
        self.forget_calls();
    }

    /// Where the time went: lines `bottom;…;top nanoseconds`, as flame graph tools read them. Only after [`Statistics::finish`], and
    /// if stacks were asked for.
    #[must_use]
    pub fn folded(&self, entities: &Entities) -> Option<String> {
        let several = self.cores.len() > 1;
        let name = |frame| match frame {
            Frame::Root => None,
            Frame::Core(core) => several.then(|| format!("CPU {core}")),
            Frame::Task(task) => Some(fill::task_name(entities, TaskId(task))),
            Frame::Isr(isr) => Some(fill::isr_name(entities, IsrId(isr))),
            Frame::Function(function) => Some(fill::function_name(entities, function)),
        };
        self.stacks.as_ref().map(|stacks| stacks.folded(name))
    }

    /// The time of a core up to now belongs to whatever runs there.
    fn account(&mut self, core: CoreId, time_ns: u64) {
        let Some(state) = self.cores.get_mut(core.index()) else { return };
        let is_sampled = state.sampled_ns.is_some();
        let spent_ns = time_ns.saturating_sub(state.accounted_ns);
        if spent_ns == 0 {
            return;
        }
        state.accounted_ns = time_ns;
        if let Some(&(isr, _)) = state.isr_stack.last() {
            state.isr_ns += spent_ns;
            if let Some(isr) = self.isrs.get_mut(isr.index()) {
                isr.self_ns += spent_ns;
            }
        } else if let Some(task) = state.current {
            let run_ns = &mut self.tasks[task.index()].run_ns;
            if run_ns.len() <= core.index() {
                run_ns.resize(core.index() + 1, 0);
            }
            run_ns[core.index()] += spent_ns;
        } else {
            state.unknown_ns += spent_ns;
            return;
        }
        // Samples say more about the same time.
        if let Some(stacks) = self.stacks.as_mut().filter(|_| !is_sampled) {
            stacks.spend(state.frames(), spent_ns);
        }
    }

    fn isr_enter(&mut self, isr: IsrId, core: CoreId, time_ns: u64) {
        self.account(core, time_ns);
        if self.cores[core.index()].isr_stack.len() >= NESTING_LIMIT {
            self.close_isrs(core, time_ns);
        }
        self.cores[core.index()].isr_stack.push((isr, Some(time_ns)));
    }

    fn isr_exit(&mut self, isr: IsrId, core: CoreId, time_ns: u64) {
        self.account(core, time_ns);
        let stack = &mut self.cores[core.index()].isr_stack;
        // It was active before the capture began, or its enter was lost.
        let Some(position) = stack.iter().rposition(|(active, _)| *active == isr) else { return };
        // Handlers above it must have ended: their exits are missing.
        for (above, _) in stack.drain(position + 1..) {
            unfinished(&mut self.isrs, above);
        }
        if let (Some((_, Some(since_ns))), Some(state)) = (stack.pop(), self.isrs.get_mut(isr.index())) {
            state.durations.add(time_ns.saturating_sub(since_ns), isr.index());
        }
    }

    /// The exits of all handlers that are active on a core are missing.
    fn close_isrs(&mut self, core: CoreId, time_ns: u64) {
        if self.cores[core.index()].isr_stack.is_empty() {
            return;
        }
        self.account(core, time_ns);
        for (isr, _) in std::mem::take(&mut self.cores[core.index()].isr_stack) {
            unfinished(&mut self.isrs, isr);
        }
    }

    fn priority(&mut self, task: TaskId, priority: i32, change: PriorityChange, order: PriorityOrder) {
        let Some(state) = self.tasks.get_mut(task.index()) else { return };
        match change {
            PriorityChange::Set | PriorityChange::Base => {
                let highest = state.priority.filter(|&highest| order.urgency(highest) >= order.urgency(priority));
                state.priority = highest.or(Some(priority));
            }
            // It may be inherited; better than nothing.
            PriorityChange::Reported => _ = state.priority.get_or_insert(priority),
            PriorityChange::Inherit | PriorityChange::Disinherit => {}
        }
    }

    /// Nobody knows who runs on a core from here on.
    fn leave_unknown(&mut self, core: CoreId, time_ns: u64) {
        let state = &mut self.cores[core.index()];
        for (isr, _) in std::mem::take(&mut state.isr_stack) {
            unfinished(&mut self.isrs, isr);
        }
        if let Some(task) = state.current.take() {
            self.forget_task(task, time_ns);
        }
    }

    /// Something is missing from `time_ns` on: nothing that was open is known to go on. Completed calls are kept: a call that is
    /// reported after it has begun before it, and has the calls before it that lie within it.
    fn forget_all(&mut self, time_ns: u64) {
        for core in 0..self.cores.len() {
            let core = CoreId(core as u16);
            self.account(core, time_ns);
            self.leave_unknown(core, time_ns);
            self.cores[core.index()].sampled_ns = None;
        }
        let Touched { tasks, objects, lanes, machines } = std::mem::take(&mut self.touched);
        tasks.into_iter().for_each(|task| self.forget_task(task, time_ns));
        objects.into_iter().for_each(|object| self.forget_object(object));
        lanes.into_iter().for_each(|lane| self.forget_lane(lane));
        machines.into_iter().for_each(|machine| self.forget_machine(machine));
    }

    /// The target has restarted: nothing goes on, and its heap is empty.
    fn new_session(&mut self, session: u32) {
        self.session = session;
        self.forget_all(self.now_ns);
        self.forget_calls();
        self.heap.used_bytes = 0;
        self.blocks = HeapBlocks::default();
    }

    fn forget_calls(&mut self) {
        for calls in &mut self.calls {
            calls.forget(self.stacks.as_mut());
        }
    }

    /// The time in an idle task.
    fn is_idle(entities: &Entities, task: usize) -> bool {
        entities.tasks.get(task).is_some_and(|task| task.kind == TaskKind::Idle)
    }
}

fn unfinished(isrs: &mut [IsrState], isr: IsrId) {
    if let Some(state) = isrs.get_mut(isr.index()) {
        state.unfinished += 1;
    }
}
