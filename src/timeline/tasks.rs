//! Tasks: running, ready and waiting states, the reason of each wait, and the waker of each task. [`Scheduling`] decides the states.

use super::sched::{PENDING_ROWS, RowNumber, Switch, Waking};
use super::writer::{Name, Note, NoteValue, SliceName};
use super::{At, Timeline};
use crate::model::{CoreId, Nanos, ObjectId, PriorityChange, Scheduling, TaskId, TaskKind, TaskStatus, Wait, WaitReason};
use crate::track::{PrevState, StateRow, TrackId};

/// Limit of undecided tasks. Beyond it, the oldest one is decided from the available evidence.
const UNDECIDED_TASKS: usize = 256;

/// One life of a task, as drawn.
#[derive(Default)]
pub struct TaskState {
    pub(super) scheduling: Scheduling,
    /// The reason it waits for, while it waits on an object.
    pub(super) waits_on: Option<Wait>,
    /// The name of the slice of its present wait.
    wait_slice: Option<Name>,
    /// A wait that a loss cut off.
    cut_wait: Option<CutWait>,
    /// The time at which it left its core.
    pub(super) left_ns: u64,
    /// The object it waited for last, and since when.
    pub(super) last_wait: Option<(ObjectId, u64)>,
    /// The undecided switch row.
    row: Option<(CoreId, RowNumber)>,
    /// The core that it left last, and where the row of that is drawn.
    left_row: Option<(CoreId, u64)>,
    /// The latest time at which the viewer was shown that it became ready.
    woken_ns: u64,
    /// Its present state, if no switch or waking says so. Written when its next change is known: the viewer allows no two at one time.
    unshown: Option<(u64, PrevState)>,
    /// In the list of tasks that a gap visits.
    touched: bool,
    priority: Option<i32>,
    last_core: Option<CoreId>,
    pub(super) drawn: Option<Drawn>,
    /// The name of a mutex's slice while this task holds it.
    pub(super) held_by: Option<Name>,
    pub(super) priority_track: Option<TrackId>,
    /// The lanes of the open spans on its thread track, outermost first.
    pub(super) spans: Vec<super::lanes::OpenSpan>,
    pub(super) stack_track: Option<TrackId>,
    pub(super) notified: super::notify::NotifyState,
    /// The target of its next wait: bits of an event group, or one of its notifications.
    pub(super) awaited: Option<u32>,
    /// The highest priority that was set (not inherited), for the order of the processes.
    pub(super) top_priority: Option<i32>,
}

/// A wait, or a suspension, that a loss cut off. If an end of it follows and nothing else, the task was in it all the time.
#[derive(Clone, Copy, Debug)]
struct CutWait {
    slice: Name,
    status: TaskStatus,
    /// The object it waited on: the one that must have ended the wait.
    object: Option<ObjectId>,
}

/// A task's tracks and ids in the trace.
#[derive(Clone, Copy, Debug)]
pub struct Drawn {
    pub pid: i32,
    pub tid: i32,
    pub comm: Name,
    pub process: TrackId,
    pub thread: TrackId,
    pub idle: bool,
}

impl Timeline {
    /// The task has a state now, so a gap must visit it.
    pub(super) fn touch(&mut self, task: TaskId) {
        let state = &mut self.tasks[task.index()];
        if !state.touched {
            state.touched = true;
            self.touched.tasks.push(task);
        }
    }

    fn viewer_priority(&self, task: TaskId) -> i32 {
        // The viewer hatches slices with a priority below 100 as real-time.
        100 + self.tasks[task.index()].priority.unwrap_or(0).clamp(0, 1 << 20)
    }

    /// A separate function: with the steps that are inlined here it needs all registers.
    #[inline(never)]
    pub(super) fn switched_in(&mut self, task: TaskId, at: &At<'_>) {
        let previous = self.cores[at.core.index()].current;
        let scheduling = &mut self.tasks[task.index()].scheduling;
        if previous == Some(task) {
            return scheduling.stay();
        }
        if let TaskStatus::Running(other) = scheduling.status() {
            // It moved from another core, and that core's own switch is missing.
            self.leave_unknown(other, PrevState::Ready, at.time_ns);
        }
        self.touch(task);
        let drawn = self.drawn(task, at);
        let (prev_state, row_owner) = match previous {
            Some(previous) => self.leave(previous, at),
            // The thread of an unknown task is not ready afterwards: the viewer counts threads that are.
            None => (Some(PrevState::Unknown), None),
        };
        let (number, drawn_ns) = {
            let (next_prio, not_before_ns) = (self.viewer_priority(task), self.not_before(task, at.core));
            let (next_tid, next_comm) = (drawn.tid, drawn.comm);
            let switch = Switch { time_ns: at.time_ns, not_before_ns, prev_state, next_tid, next_prio, next_comm };
            self.core(at.core).rows.switch(switch)
        };
        if let Some(previous) = row_owner {
            self.tasks[previous.index()].row = Some((at.core, number));
        }
        if self.settings.cores > 1
            && let Some(previous) = previous
        {
            self.tasks[previous.index()].left_row = Some((at.core, drawn_ns));
            self.note_successor(previous, task, at);
        }
        self.enter(task, at);
        self.decide_overdue(at.core);
    }

    /// The earliest time at which a core may show that a task enters it, or that it makes it ready: after another core has shown that the
    /// task left.
    #[inline]
    fn not_before(&self, task: TaskId, core: CoreId) -> u64 {
        match self.tasks[task.index()].left_row {
            Some((left, drawn_ns)) if left != core => drawn_ns.saturating_add(1).min(Nanos::MAX.0),
            _ => 0,
        }
    }

    /// The present task of a core leaves it. Returns the state in which it leaves, and the task if that state is undecided.
    #[inline(always)]
    pub(super) fn leave(&mut self, task: TaskId, at: &At<'_>) -> (Option<PrevState>, Option<TaskId>) {
        let state = &mut self.tasks[task.index()];
        state.left_ns = at.time_ns;
        state.last_core = Some(at.core);
        let (status, wait) = state.scheduling.leave(&at.entities.tasks[task.index()]);
        let prev_state = match status {
            TaskStatus::Waiting => {
                if let Some(wait) = wait {
                    self.begin_wait(task, wait, at);
                }
                PrevState::Waiting
            }
            TaskStatus::Suspended => {
                self.begin_suspended(task, at.core, at.time_ns);
                PrevState::Suspended
            }
            TaskStatus::Deleted => {
                self.close_spans_of(task, at.time_ns, self.words.deleted);
                PrevState::Deleted
            }
            TaskStatus::Undecided => {
                if self.undecided.len() >= UNDECIDED_TASKS {
                    self.give_up_oldest();
                }
                self.undecided.push(task);
                return (None, Some(task));
            }
            TaskStatus::Unknown => PrevState::Unknown,
            TaskStatus::Ready | TaskStatus::Running(_) => PrevState::Ready,
        };
        (Some(prev_state), None)
    }

    #[cold]
    fn give_up_oldest(&mut self) {
        let oldest = self.undecided.iter().copied().min_by_key(|&task| self.tasks[task.index()].left_ns);
        oldest.into_iter().for_each(|oldest| self.give_up(oldest));
    }

    #[inline]
    fn enter(&mut self, task: TaskId, at: &At<'_>) {
        let state = &mut self.tasks[task.index()];
        let before = state.scheduling.enter(at.core);
        state.cut_wait = None;
        match before {
            TaskStatus::Undecided => self.decide(task, PrevState::Ready),
            TaskStatus::Ready => self.show_state(task, at.time_ns),
            before => {
                self.show_state(task, at.time_ns);
                self.stop_waiting(task, before, at.time_ns);
            }
        }
        let state = self.core(at.core);
        state.current = Some(task);
        state.untraced_isr = false;
        if !self.undecided.is_empty() && self.settings.cores <= 1 {
            self.note_running(task, at);
        }
    }

    fn note_running(&mut self, running: TaskId, at: &At<'_>) {
        let is_idle = at.entities.tasks[running.index()].kind == TaskKind::Idle;
        let priority = self.tasks[running.index()].priority;
        let order = at.entities.priority_order(running);
        for task in &self.undecided {
            let state = &mut self.tasks[task.index()];
            state.scheduling.note_running(state.priority, priority, is_idle, order);
        }
    }

    /// An undecided task left its core to `next`. With several cores only that is known: a core that takes a task of lower priority had none
    /// that was ready, but what runs on the others says nothing, because tasks may be bound to cores.
    fn note_successor(&mut self, task: TaskId, next: TaskId, at: &At<'_>) {
        let is_idle = at.entities.tasks[next.index()].kind == TaskKind::Idle;
        let priority = self.tasks[next.index()].priority;
        let state = &mut self.tasks[task.index()];
        state.scheduling.note_running(state.priority, priority, is_idle, at.entities.priority_order(next));
    }

    /// Decides why an undecided task left its core. No effect on other tasks.
    fn decide(&mut self, task: TaskId, state: PrevState) {
        if let Some((core, row)) = self.tasks[task.index()].row.take() {
            self.core(core).rows.decide(row, state);
        }
        if let Some(position) = self.undecided.iter().position(|&other| other == task) {
            self.undecided.swap_remove(position);
        }
    }

    /// If too many rows wait for a decision, the oldest are decided from the available evidence.
    #[inline]
    fn decide_overdue(&mut self, core: CoreId) {
        if self.cores[core.index()].rows.is_overdue() {
            self.decide_oldest(core);
        }
    }

    #[cold]
    fn decide_oldest(&mut self, core: CoreId) {
        self.cores[core.index()].rows.flush(core.0, self.layout.numbers.first_cpu(), &mut self.writer);
        // Well below the limit, so that it is not reached again at once.
        while self.cores[core.index()].rows.len() > PENDING_ROWS / 2 {
            let rows = self.undecided.iter().filter_map(|&task| Some((self.tasks[task.index()].row?, task)));
            let Some((_, oldest)) = rows.filter(|((row_core, _), _)| *row_core == core).min() else { return };
            self.give_up(oldest);
            self.cores[core.index()].rows.flush(core.0, self.layout.numbers.first_cpu(), &mut self.writer);
        }
    }

    fn give_up_undecided(&mut self, task: TaskId) {
        if self.tasks[task.index()].scheduling.status() == TaskStatus::Undecided {
            self.give_up(task);
        }
    }

    /// Decides an undecided task whose continuation was not seen: it is unknown whether it was ready or waited.
    fn give_up(&mut self, task: TaskId) {
        match self.tasks[task.index()].scheduling.presumed(self.settings.cores <= 1) {
            TaskStatus::Waiting => {
                let left_ns = self.tasks[task.index()].left_ns;
                self.decide(task, PrevState::Waiting);
                self.tasks[task.index()].scheduling.decide_waiting();
                self.begin_unknown_wait(task, left_ns);
            }
            TaskStatus::Ready => self.decide(task, PrevState::Ready),
            _ => self.decide(task, PrevState::Unknown),
        }
    }

    pub(super) fn begin_unknown_wait(&mut self, task: TaskId, left_ns: u64) {
        self.tasks[task.index()].wait_slice = Some(self.words.wait);
        if let Some(drawn) = self.tasks[task.index()].drawn.filter(|drawn| !drawn.idle) {
            self.writer.begin(drawn.thread, left_ns, SliceName::Name(self.words.wait), &[], None);
        }
    }

    /// A task of which nothing is known since a loss was made ready: if that ends the wait that the loss cut off, begins the slice again, at the
    /// end of the loss. Returns the state that it was in.
    fn continue_wait(&mut self, task: TaskId) -> Option<TaskStatus> {
        let cut = self.tasks[task.index()].cut_wait.take()?;
        let is_ended = cut.object.is_none_or(|object| self.objects[object.index()].is_touched());
        let drawn = self.tasks[task.index()].drawn.filter(|drawn| is_ended && !drawn.idle)?;
        let note = Note { name: self.words.continued, value: NoteValue::Uint(1) };
        self.writer.begin(drawn.thread, self.gap_end_ns, SliceName::Name(cut.slice), &[note], None);
        Some(cut.status)
    }

    fn begin_wait(&mut self, task: TaskId, wait: Wait, at: &At<'_>) {
        let name = self.wait_name(wait, at);
        let state = &mut self.tasks[task.index()];
        state.waits_on = Some(wait);
        state.wait_slice = Some(name);
        let awaited = state.awaited.take();
        // A stream's wait is carried out by a notification.
        state.notified.stream_index = awaited;
        let awaited = match wait.reason {
            WaitReason::Bits => awaited.map(|bits| (self.words.bits, bits)),
            WaitReason::Notification => awaited.map(|index| (self.words.index, index)),
            _ => None,
        };
        if let Some(object) = wait.object {
            state.last_wait = Some((object, at.time_ns));
            self.objects[object.index()].waiters += 1;
        }
        let Some(drawn) = state.drawn.filter(|drawn| !drawn.idle) else { return };
        let ticks = |name| Note { name, value: NoteValue::Uint(u64::from(wait.kernel_ticks)) };
        let note = match wait.reason {
            WaitReason::Delay => ticks(self.words.ticks),
            WaitReason::DelayUntil => ticks(self.words.until_tick),
            WaitReason::Period => ticks(self.words.period_ticks),
            _ => ticks(self.words.timeout_ticks),
        };
        let is_limited = wait.kernel_ticks != u32::MAX;
        match awaited.map(|(name, awaited)| Note { name, value: NoteValue::Uint(u64::from(awaited)) }) {
            Some(awaited) => {
                let notes = [awaited, note];
                let notes = if is_limited { &notes[..] } else { &notes[..1] };
                self.writer.begin(drawn.thread, at.time_ns, SliceName::Name(name), notes, None);
            }
            None => {
                let notes = if is_limited { std::slice::from_ref(&note) } else { &[] };
                self.writer.begin(drawn.thread, at.time_ns, SliceName::Name(name), notes, None);
            }
        }
    }

    pub(super) fn begin_suspended(&mut self, task: TaskId, core: CoreId, time_ns: u64) {
        let by = self.cores[core.index()].current.filter(|&by| by != task);
        let by = by.and_then(|by| self.tasks[by.index()].drawn).map(|by| by.comm);
        self.tasks[task.index()].wait_slice = Some(self.words.suspended);
        if let Some(drawn) = self.tasks[task.index()].drawn.filter(|drawn| !drawn.idle) {
            let note = by.map(|by| Note { name: self.words.by, value: NoteValue::Name(by) });
            self.writer.begin(drawn.thread, time_ns, SliceName::Name(self.words.suspended), note.as_slice(), None);
        }
    }

    /// Ends the slice of a task that was waiting or suspended `before`, if it has one.
    pub(super) fn stop_waiting(&mut self, task: TaskId, before: TaskStatus, time_ns: u64) {
        let state = &mut self.tasks[task.index()];
        if let Some(object) = state.waits_on.take().and_then(|wait| wait.object) {
            let waiters = &mut self.objects[object.index()].waiters;
            *waiters = waiters.saturating_sub(1);
        }
        if let Some(drawn) = state.drawn.filter(|drawn| before.is_parked() && !drawn.idle) {
            self.writer.end(drawn.thread, time_ns);
        }
    }

    fn wait_name(&mut self, wait: Wait, at: &At<'_>) -> Name {
        let known = match wait.object {
            Some(object) => &self.objects[object.index()].wait_names,
            None => &self.wait_names,
        };
        known[wait.reason as usize].unwrap_or_else(|| self.new_wait_name(wait, at))
    }

    #[cold]
    fn new_wait_name(&mut self, wait: Wait, at: &At<'_>) -> Name {
        let phrase = match wait.object {
            Some(object) => {
                let object_name = super::layout::object_name(&at.entities.objects[object.index()]);
                let verb = match wait.reason {
                    WaitReason::Receive if at.entities.objects[object.index()].kind.is_taken() => "take",
                    WaitReason::Send if at.entities.objects[object.index()].kind.is_taken() => "give",
                    WaitReason::Receive => "receive",
                    WaitReason::Send => "send",
                    WaitReason::Peek => "peek",
                    WaitReason::Delay | WaitReason::DelayUntil | WaitReason::Period => "delay",
                    WaitReason::Notification | WaitReason::Bits | WaitReason::NotRecorded => "wait for",
                };
                format!("{verb} {object_name}")
            }
            None => match wait.reason {
                WaitReason::Delay => "delay".to_owned(),
                WaitReason::DelayUntil => "delay until".to_owned(),
                WaitReason::Period => "delay until next period".to_owned(),
                WaitReason::Receive => "receive".to_owned(),
                WaitReason::Send => "send".to_owned(),
                WaitReason::Peek => "peek".to_owned(),
                WaitReason::Notification => "notification".to_owned(),
                WaitReason::Bits => "event bits".to_owned(),
                WaitReason::NotRecorded => "wait".to_owned(),
            },
        };
        let name = self.writer.name(&phrase);
        let known = match wait.object {
            Some(object) => &mut self.objects[object.index()].wait_names,
            None => &mut self.wait_names,
        };
        known[wait.reason as usize] = Some(name);
        name
    }

    /// The running task reports the reason of its next wait.
    pub(super) fn waiting(&mut self, wait: Wait, core: CoreId, time_ns: u64) {
        self.isrs_must_have_ended(core, time_ns);
        if let Some(task) = self.cores[core.index()].current {
            self.tasks[task.index()].scheduling.will_wait(wait);
        }
    }

    /// A task was made ready, or resumed, by the code that runs on `core`.
    pub(super) fn ready(&mut self, task: TaskId, from_isr: bool, at: &At<'_>) {
        let Some(mut before) = self.tasks[task.index()].scheduling.make_ready() else { return };
        self.touch(task);
        self.show_state(task, at.time_ns);
        let drawn = self.drawn(task, at);
        if before == TaskStatus::Undecided {
            let left_ns = self.tasks[task.index()].left_ns;
            self.decide(task, PrevState::Waiting);
            self.begin_unknown_wait(task, left_ns);
            before = TaskStatus::Waiting;
        } else if before == TaskStatus::Unknown {
            before = self.continue_wait(task).unwrap_or(before);
        }
        self.stop_waiting(task, before, at.time_ns);
        let prio = self.viewer_priority(task);
        let target_core = self.tasks[task.index()].last_core.unwrap_or(at.core).0;
        let not_before_ns = self.not_before(task, at.core);
        let waker = self.core(at.core);
        if drawn.idle {
            return;
        }
        if waker.rows.started() {
            let from_isr = from_isr || waker.untraced_isr || !waker.isr_stack.is_empty();
            let (time_ns, tid, comm) = (at.time_ns, drawn.tid, drawn.comm);
            let drawn_ns = waker.rows.wake(Waking { time_ns, not_before_ns, tid, prio, target_core, from_isr, comm });
            self.tasks[task.index()].woken_ns = drawn_ns;
            self.decide_overdue(at.core);
        } else {
            self.change_state(task, PrevState::Ready, at.time_ns);
        }
    }

    /// A task was put on the ready list of its new priority: it was ready, or runs. A waiting task cannot be on such a list, so
    /// for a waiting task this is the end of its wait.
    pub(super) fn relisted(&mut self, task: TaskId, at: &At<'_>) {
        if self.tasks[task.index()].scheduling.status().is_parked() {
            self.ready(task, false, at);
        }
    }

    pub(super) fn suspended(&mut self, task: TaskId, at: &At<'_>) {
        self.give_up_undecided(task);
        let Some(before) = self.tasks[task.index()].scheduling.suspend() else { return };
        self.tasks[task.index()].cut_wait = None;
        self.touch(task);
        self.drawn(task, at);
        self.stop_waiting(task, before, at.time_ns);
        self.begin_suspended(task, at.core, at.time_ns);
        self.change_state(task, PrevState::Suspended, at.time_ns);
    }

    pub(super) fn task_created(&mut self, task: TaskId, at: &At<'_>) {
        let drawn = self.drawn(task, at);
        self.task_instant(drawn, self.words.created, at.core, at.time_ns);
    }

    pub(super) fn task_deleted(&mut self, task: TaskId, at: &At<'_>) {
        let drawn = self.drawn(task, at);
        self.task_instant(drawn, self.words.deleted, at.core, at.time_ns);
        self.give_up_undecided(task);
        let Some(before) = self.tasks[task.index()].scheduling.delete() else { return };
        self.stop_waiting(task, before, at.time_ns);
        self.close_spans_of(task, at.time_ns, self.words.deleted);
        self.touch(task);
        self.change_state(task, PrevState::Deleted, at.time_ns);
    }

    /// An instant in a task's life, with the task that caused it if that is another one.
    pub(super) fn task_instant(&mut self, drawn: Drawn, label: Name, core: CoreId, time_ns: u64) {
        if drawn.idle {
            return;
        }
        let by = self.cores[core.index()].current.and_then(|by| self.tasks[by.index()].drawn);
        let by = by.filter(|by| by.tid != drawn.tid).map(|by| Note { name: self.words.by, value: NoteValue::Name(by.comm) });
        self.writer.instant(drawn.thread, time_ns, SliceName::Name(label), by.as_slice(), None);
    }

    pub(super) fn priority(&mut self, task: TaskId, priority: i32, change: PriorityChange, at: &At<'_>) {
        let drawn = self.drawn(task, at);
        let state = &mut self.tasks[task.index()];
        let before = state.priority.replace(priority);
        match change {
            PriorityChange::Set | PriorityChange::Base => {
                let order = at.entities.priority_order(task);
                let is_top = state.top_priority.is_none_or(|top| order.urgency(priority) > order.urgency(top));
                state.top_priority = if is_top { Some(priority) } else { state.top_priority };
            }
            // It may be inherited, but no better value is known.
            PriorityChange::Reported => _ = state.top_priority.get_or_insert(priority),
            PriorityChange::Inherit | PriorityChange::Disinherit => {}
        }
        if change == PriorityChange::Base {
            state.priority = before;
            return;
        }
        if drawn.idle {
            return;
        }
        if before != Some(priority) {
            let track = self.priority_track(task, drawn);
            self.writer.counter(track, at.time_ns, i64::from(priority));
        }
        let verb = match change {
            PriorityChange::Set | PriorityChange::Reported | PriorityChange::Base => return,
            PriorityChange::Inherit => self.words.inherits_priority,
            PriorityChange::Disinherit => self.words.priority_restored,
        };
        let value = match i64::from(priority) {
            value @ ..0 => NoteValue::Int(value),
            value => NoteValue::Uint(value.cast_unsigned()),
        };
        let note = Note { name: self.words.priority, value };
        self.writer.instant(drawn.thread, at.time_ns, SliceName::Name(verb), &[note], None);
    }

    /// A task that does not run changes its state without a switch or a waking.
    pub(super) fn change_state(&mut self, task: TaskId, state: PrevState, time_ns: u64) {
        self.show_state(task, time_ns);
        let own = &mut self.tasks[task.index()];
        // Never at the time of the last row, which would be taken after it.
        let row_ns = own.left_ns.max(own.woken_ns);
        let since_ns = if row_ns >= time_ns { row_ns.saturating_add(1) } else { time_ns };
        own.unshown = Some((since_ns, state));
    }

    /// Another state follows at `until_ns`: shows the one before, unless it took no time.
    #[inline]
    pub(super) fn show_state(&mut self, task: TaskId, until_ns: u64) {
        let own = &mut self.tasks[task.index()];
        if let Some((time_ns, state)) = own.unshown.take().filter(|(time_ns, _)| *time_ns < until_ns)
            && let Some(drawn) = own.drawn.filter(|drawn| !drawn.idle)
        {
            let cpu = own.last_core.map_or(0, |core| core.0).saturating_add(self.layout.numbers.first_cpu());
            self.writer.state(cpu, StateRow { time_ns, tid: drawn.tid, state });
        }
    }

    /// The core's task leaves it for a state that is unknown, or `unknown`, and the next task is unknown.
    pub(super) fn leave_unknown(&mut self, core: CoreId, unknown: PrevState, time_ns: u64) {
        let Some(task) = self.core(core).current.take() else { return };
        let scheduling = &mut self.tasks[task.index()].scheduling;
        let state = if scheduling.is_about_to_wait() { PrevState::Waiting } else { unknown };
        scheduling.forget();
        let drawn_ns = self.switch_to_unknown(core, Some(state), time_ns);
        self.tasks[task.index()].left_row = Some((core, drawn_ns));
    }

    /// Nobody knows who runs on a core. Returns where the row of that is drawn.
    pub(super) fn switch_to_unknown(&mut self, core: CoreId, prev_state: Option<PrevState>, time_ns: u64) -> u64 {
        let next_comm = self.words.unknown;
        let next_tid = self.layout.unknown_tid(core);
        let switch = Switch { time_ns, not_before_ns: 0, prev_state, next_tid, next_prio: 100, next_comm };
        self.core(core).rows.switch(switch).1
    }

    /// Discards a task's state: its slices end here, marked with `why`.
    pub(super) fn forget(&mut self, task: TaskId, time_ns: u64, why: Name) {
        self.give_up_undecided(task);
        let state = &mut self.tasks[task.index()];
        let is_shown = matches!(state.scheduling.status(), TaskStatus::Ready | TaskStatus::Undecided | TaskStatus::Suspended);
        if is_shown
            && why != self.words.end_of_trace
            && (state.last_core.is_some() || state.woken_ns > 0 || state.unshown.is_some())
        {
            self.change_state(task, PrevState::Unknown, time_ns);
        }
        let state = &mut self.tasks[task.index()];
        let before = state.scheduling.forget();
        let object = state.waits_on.take().and_then(|wait| wait.object);
        let slice = state.wait_slice.filter(|_| before.is_parked() && why == self.words.loss);
        state.cut_wait = slice.map(|slice| CutWait { slice, status: before, object });
        if let Some(object) = object {
            let waiters = &mut self.objects[object.index()].waiters;
            *waiters = waiters.saturating_sub(1);
        }
        if let Some(drawn) = self.tasks[task.index()].drawn.filter(|drawn| before.is_parked() && !drawn.idle) {
            let note = Note { name: self.words.closed, value: NoteValue::Name(why) };
            self.writer.end_with(drawn.thread, time_ns, &[note], None);
        }
        self.close_spans_of(task, time_ns, why);
        let state = &mut self.tasks[task.index()];
        state.touched = false;
        state.notified.forget();
    }
}
