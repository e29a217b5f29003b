//! The events of each packet.

mod messages;
mod rt_thread;
mod threadx;
mod zephyr;

use super::super::descriptions::{Kind, Role, Values};
use super::super::hooks::Hooks;
use super::super::packet::{CONFIRMED_BY, Packet, Reading};
use super::super::record::{Fields, extended, id};
use super::drops::Verdict;
use super::handles::Labelled;
use super::stops::Stop;
use super::{Context, InputResolver};
use crate::format::Resolved;
use crate::model::losses;
use crate::model::{
    Arg, ArgValue, Args, CoreId, Event, EventKind, Exit, HeapOp, Label, LaneId, Level, LossNote, NameId, Nanos, ObjectOp, Packed,
    PriorityChange, TaskId, Wait, WaitReason,
};
use crate::symbols::Symbols;

/// The most nested spans of software timers and interrupts that are followed.
const NESTING_LIMIT: usize = 256;

/// Zephyr's function that takes a block of a slab.
const ZEPHYR_SLAB_ALLOC: u16 = 85;

/// The exception of the system timer of ARM's microcontrollers.
const SYSTICK: u32 = 15;

/// The argument of a call that says that an item is only looked at.
const JUST_PEEK: usize = 3;

/// The time and the place of a packet.
#[derive(Clone, Copy)]
pub(super) struct At {
    pub time: Nanos,
    pub offset: u64,
}

/// The place of a packet's events.
struct Scene<'a, 'b, 'c> {
    input: &'a mut InputResolver,
    bit: usize,
    at: At,
    context: &'a mut Context,
    out: &'a mut Resolved<'c>,
    payload: Fields<'b>,
}

/// Appends the events of a packet.
pub(super) fn resolve(
    input: &mut InputResolver,
    packet: &Packet,
    payload: Fields<'_>,
    at: At,
    context: &mut Context,
    out: &mut Resolved<'_>,
) {
    let bit = usize::from(packet.core & 1);
    Scene { input, bit, at, context, out, payload }.packet(packet.id);
}

impl<'b> Scene<'_, 'b, '_> {
    fn packet(&mut self, packet: u16) {
        match packet {
            id::ISR_ENTER => self.isr_enter(),
            id::ISR_EXIT | id::ISR_TO_SCHEDULER => match self.state().isrs.pop() {
                Some(isr) => {
                    self.push(EventKind::IsrExit(isr));
                    // It may have kept the running thread from sleeping. The next packets show that.
                    self.state().is_sleeping &= self.input.sleeps_are_recorded;
                    self.switch_if_due();
                }
                None => self.out.ledger.enter(losses::ISR_EXIT_WITHOUT_ENTER, self.at.offset, 0),
            },
            id::TASK_START_EXEC => {
                if let Some(task) = self.task() {
                    self.nest(task);
                    self.switch(task, false);
                }
            }
            // The executor in the interrupt has nothing more to do. The task goes on that it kept from running.
            id::IDLE if self.state().running.is_none() && !self.state().preempted.is_empty() => self.resume(),
            id::IDLE => self.idle(),
            id::TASK_STOP_EXEC => self.stop_exec(),
            id::TASK_START_READY => self.start_ready(),
            id::TASK_STOP_READY => self.stop_ready(),
            id::TASK_CREATE => self.created(),
            id::TASK_TERMINATE => {
                if let Some(task) = self.task() {
                    self.state().preempted.retain(|&one| one != task);
                    self.push(EventKind::TaskDeleted(task));
                }
                self.input.begin_life(self.at.offset);
            }
            id::TASK_INFO if !self.input.is_copy => {
                if let Some(task) = self.described_task() {
                    let priority = self.payload.number();
                    self.push(EventKind::Priority { task, priority: priority.cast_signed(), change: PriorityChange::Reported });
                }
            }
            id::STACK_INFO if !self.input.is_copy => self.stack_info(),
            id::OVERFLOW => self.overflow(),
            id::TRACE_START => self.start(),
            id::TRACE_STOP => self.input.stopped_at = Some(self.input.since_damage),
            id::MARK_START | id::MARK_STOP if self.context.shared.hooks == Hooks::NuttX => {
                self.system_call(packet == id::MARK_START)
            }
            id::MARK_START | id::MARK_STOP => {
                let marker = self.payload.number();
                let lane = self.context.shared.marker(marker, self.input.session);
                match self.known(lane) {
                    Some(lane) if packet == id::MARK_START => self.begin(lane, Label::NONE, Args::NONE),
                    Some(lane) => self.push(EventKind::SpanEnd { lane, args: Args::NONE }),
                    None => {}
                }
            }
            id::TIMER_ENTER => self.timer_enter(),
            id::TIMER_EXIT => match self.state().timers.pop() {
                Some(lane) => self.push(EventKind::SpanEnd { lane, args: Args::NONE }),
                None => self.out.ledger.enter(losses::SPAN_END_WITHOUT_BEGIN, self.at.offset, 0),
            },
            id::DATA_SAMPLE => self.data_sample(),
            id::PRINT_FORMATTED => self.message(),
            id::END_CALL => self.end_call(),
            id::EX => self.extended(),
            id::FIRST_OF_KERNEL.. => self.call(packet),
            _ => {}
        }
    }

    fn isr_enter(&mut self) {
        let number = self.payload.number();
        self.input.timer_is_recorded |= number == SYSTICK;
        let (core, session) = (self.core(), self.input.session);
        let isr = self.context.shared.isr(core, number, session, self.out.entities);
        if let Some(isr) = self.known(isr) {
            let isrs = &mut self.state().isrs;
            if isrs.len() < NESTING_LIMIT {
                isrs.push(isr);
            }
            self.push(EventKind::IsrEnter(isr));
        }
    }

    fn idle(&mut self) {
        self.state().preempted.clear();
        let (core, session) = (self.core(), self.input.session);
        let idle = self.context.shared.idle(core, session, self.out.entities);
        let is_due = self.context.shared.hooks == Hooks::RtThread && !self.state().isrs.is_empty();
        match self.known(idle) {
            Some(idle) if is_due => self.state().due = Some(idle),
            Some(idle) => self.switch(idle, true),
            None => {}
        }
    }

    /// A task is ready from here on, unless the packet means something else.
    fn start_ready(&mut self) {
        // Copies of this packet are in the streams of both cores. The task was made ready where something runs.
        let state = self.state();
        let is_elsewhere = state.is_idle && state.isrs.is_empty();
        let from_isr = !state.isrs.is_empty();
        let (is_moving, moved) = (state.is_moving.is_some() && !from_isr, state.moved.filter(|_| !from_isr));
        let (task, hooks) = (self.task(), self.context.shared.hooks);
        if self.state().running == task {
            (self.state().is_leaving, self.state().is_sleeping) = (false, false);
        }
        if let Some(task) = task
            && !(is_elsewhere && self.has_copies())
            // It was ready, and is now in the list of another priority.
            && !(is_moving || moved == Some(task) || self.input.is_no_wake_up)
            && !(hooks == Hooks::RtThread && self.is_late(task))
        {
            if hooks == Hooks::ThreadX {
                self.input.alive.insert(task);
            }
            let from_isr = hooks == Hooks::Zephyr && self.is_by_untraced_timer(task) || from_isr;
            self.push(EventKind::Ready { task, from_isr });
        }
        if std::mem::take(&mut self.input.is_due) {
            (self.state().due, self.input.void_packets) = (task, 1);
        }
    }

    fn created(&mut self) {
        self.input.begin_life(self.at.offset);
        if let Some(task) = self.task() {
            if self.context.shared.hooks == Hooks::Zephyr {
                self.state().aborted = None;
                self.forget_calls_of(task);
            }
            self.push(EventKind::TaskCreated(task));
            if self.context.shared.hooks.create_ready() {
                self.push(EventKind::Ready { task, from_isr: false });
            }
        }
    }

    fn stack_info(&mut self) {
        let Some(task) = self.described_task() else { return };
        let (_, size, used) = (self.payload.number(), self.payload.number(), self.payload.number());
        if used > 0
            && self.context.shared.hooks.know_used_stack()
            && let Some(bytes) = size.checked_sub(used)
        {
            self.push(EventKind::StackFree { task, bytes });
        }
    }

    /// A software timer's function begins, which may end the wait of a thread.
    fn timer_enter(&mut self) {
        let timer = self.payload.number();
        if let Some(task) = self.context.shared.timed_out(timer).and_then(|task| self.task_of(task)) {
            let from_isr = !self.state().isrs.is_empty();
            self.push(EventKind::Ready { task, from_isr });
        }
        let lane = self.context.shared.timer(timer, self.input.session);
        if let Some(lane) = self.known(lane) {
            let timers = &mut self.state().timers;
            if timers.len() < NESTING_LIMIT {
                timers.push(lane);
            }
            self.begin(lane, Label::NONE, Args::NONE);
        }
    }

    fn data_sample(&mut self) {
        let (data, value) = (self.payload.number(), self.payload.number());
        let lane = self.context.shared.data(data, self.input.session);
        let Some(lane) = self.known(lane) else { return };
        self.push(match self.context.shared.data_type(data) {
            Some(1) => EventKind::Value { lane, value: Packed(i64::from(value.cast_signed())) },
            Some(2) => EventKind::Float { lane, value: Packed(f64::from(f32::from_bits(value))) },
            _ => EventKind::Value { lane, value: Packed(i64::from(value)) },
        });
    }

    fn core(&self) -> CoreId {
        self.input.cores[self.bit & 1].core
    }

    fn state(&mut self) -> &mut super::CoreState {
        &mut self.input.cores[self.bit & 1]
    }

    /// Whether the packets that concern all cores are in the streams of all of them.
    fn has_copies(&self) -> bool {
        self.context.has_copies
    }

    fn push(&mut self, kind: EventKind) {
        let core = self.core();
        self.out.batch.events.push(Event { time: self.at.time, core, kind });
    }

    fn begin(&mut self, lane: LaneId, label: Label, args: Args) {
        self.push(EventKind::SpanBegin { lane, label, args });
    }

    /// Enters a limit that was reached.
    fn known<T>(&mut self, entity: Option<T>) -> Option<T> {
        if entity.is_none() {
            self.out.ledger.enter(losses::ENTITY_LIMIT, self.at.offset, 1);
        }
        entity
    }

    /// The task of the payload's next field.
    fn task(&mut self) -> Option<TaskId> {
        let number = self.payload.number();
        self.task_of(number)
    }

    /// The task whose properties follow.
    fn described_task(&mut self) -> Option<TaskId> {
        let number = self.payload.number();
        if self.context.shared.nobody == Some(number) { None } else { self.task_of(number) }
    }

    fn task_of(&mut self, number: u32) -> Option<TaskId> {
        if self.context.shared.idle_task == Some(number) {
            let (core, session) = (self.core(), self.input.session);
            let idle = self.context.shared.idle(core, session, self.out.entities);
            return self.known(idle);
        }
        let task = self.context.shared.task(number, self.life(number), self.input.session, self.out.entities);
        self.known(task)
    }

    /// Which of the tasks of an id, one after the other, has it now.
    #[inline]
    fn life(&self, task: u32) -> u32 {
        if self.input.lives.is_empty() { 0 } else { self.input.lives.get(&task).copied().unwrap_or(0) }
    }

    /// A task starts. One that runs, and has not said that it stops or waits, is kept from running meanwhile, by executors in interrupts.
    fn nest(&mut self, task: TaskId) {
        if !self.context.shared.hooks.nest() {
            return;
        }
        let state = self.state();
        let outer = state.running.filter(|&outer| outer != task && !state.is_idle && !state.has_reason && !state.is_leaving);
        if let Some(at) = state.preempted.iter().position(|&one| one == task) {
            state.preempted.truncate(at);
        } else if let Some(outer) = outer.filter(|_| state.preempted.len() < NESTING_LIMIT) {
            state.preempted.push(outer);
        }
    }

    /// The task goes on that was kept from running last.
    fn resume(&mut self) {
        let state = self.state();
        if let Some(task) = state.preempted.pop() {
            (state.running, state.is_idle, state.has_reason, state.is_leaving) = (Some(task), false, false, false);
            self.push(EventKind::SwitchedIn(task));
        }
    }

    fn switch(&mut self, task: TaskId, is_idle: bool) {
        if std::mem::take(&mut self.state().has_stray) {
            self.end_stray_calls();
        }
        if self.context.shared.hooks == Hooks::RtThread {
            self.note_switch(task);
        }
        let state = self.state();
        (state.is_sleeping, state.is_locking, state.aborted, state.woken) = (false, false, None, None);
        (state.running, state.is_idle, state.has_reason, state.hooked) = (Some(task), is_idle, false, None);
        (state.is_moving, state.moved, state.is_leaving, state.due) = (None, None, false, None);
        // The scheduler runs after all interrupts, even if the end of one is not recorded. An executor runs in one.
        while self.context.shared.hooks != Hooks::Embassy
            && let Some(isr) = self.state().isrs.pop()
        {
            self.push(EventKind::IsrExit(isr));
        }
        self.push(EventKind::SwitchedIn(task));
    }

    /// The interrupts of a core have ended, in which its scheduler has chosen another task.
    fn switch_if_due(&mut self) {
        let state = self.state();
        if state.isrs.is_empty()
            && let Some(task) = state.due.take()
        {
            let (core, session) = (self.core(), self.input.session);
            let is_idle = self.context.shared.idle(core, session, self.out.entities) == Some(task);
            self.switch(task, is_idle);
        }
    }

    /// A task is not ready from here on. If it runs, it will wait.
    fn stop_ready(&mut self) {
        let Some(task) = self.task() else { return };
        match std::mem::take(&mut self.input.stop) {
            Stop::Nothing(void_packets) => return self.input.void_packets = void_packets,
            Stop::Due => return self.input.is_due = true,
            Stop::Said | Stop::Followed => {}
        }
        self.state().preempted.retain(|&one| one != task);
        // RT-Thread does not record which thread it runs first.
        if self.context.shared.hooks == Hooks::RtThread && self.state().running.is_none() && self.state().isrs.is_empty() {
            self.switch(task, false);
        }
        let (running, has_reason) = (self.state().running, self.state().has_reason);
        self.state().is_leaving |= running == Some(task);
        if running == Some(task) && !has_reason {
            self.push_reason(task);
        }
        if running == Some(task) {
            let is_sleeping = std::mem::take(&mut self.state().is_sleeping);
            self.input.sleeps_are_recorded |= is_sleeping;
        }
        // Another task was in the list of ready tasks.
        if matches!(self.context.shared.hooks, Hooks::MicroCos | Hooks::Zephyr) && running.is_some_and(|running| running != task)
        {
            self.input.suspensions_are_recorded = true;
            self.push(EventKind::Suspended(task));
        }
    }

    /// The running task will leave its core, for the cause in the packet. ThreadX's is the state of the thread, and recorded at each switch.
    fn push_reason(&mut self, task: TaskId) {
        let reason = if self.context.shared.hooks == Hooks::ThreadX {
            self.input.alive.insert(task);
            match self.payload.number() {
                0 => return,
                1 | 2 => return self.end_thread(task),
                3 => return self.push(EventKind::Suspended(task)),
                4 => WaitReason::Delay,
                6 | 13 => WaitReason::Receive,
                7 => WaitReason::Bits,
                _ => WaitReason::NotRecorded,
            }
        } else if self.state().is_sleeping {
            self.input.sleepers.insert(task);
            WaitReason::Delay
        } else if self.input.suspending.take() == Some(task) {
            return self.push(EventKind::Suspended(task));
        } else {
            WaitReason::NotRecorded
        };
        self.push(EventKind::Waiting(Wait { reason, object: None, kernel_ticks: u32::MAX }));
    }

    /// NuttX records the begins and ends of system calls as those of markers. Many tasks may be in the same one.
    #[cold]
    fn system_call(&mut self, is_begin: bool) {
        let (marker, session) = (self.payload.number(), self.input.session);
        let Some(lane) = self.calls() else { return };
        let function = 1 << 32 | u64::from(marker);
        if !is_begin {
            if !self.exit(lane, function, Args::NONE) {
                self.out.ledger.enter(losses::SPAN_END_WITHOUT_BEGIN, self.at.offset, 0);
            }
        } else if self.enter(lane, function) {
            let name = self.out.entities.add_name(&self.context.shared.marker_name(marker, session));
            self.begin(lane, name.map_or(Label::NONE, Label::name), Args::NONE);
        }
    }

    /// The running task leaves its core. In embOS that is its end; in Zephyr it is any switch.
    fn stop_exec(&mut self) {
        let stop = std::mem::take(&mut self.input.stop);
        if stop == Stop::Nothing(0) {
            if self.context.shared.hooks == Hooks::Mynewt {
                self.out.ledger.enter(losses::UNNAMED_REMOVAL, self.at.offset, 0);
            }
            return;
        }
        let Some(task) = self.state().running.take() else { return };
        // Since version 4, Zephyr does not record that a thread that sleeps stops being ready.
        if self.state().is_sleeping && !self.input.sleeps_are_recorded {
            self.push_reason(task);
        }
        if self.context.shared.hooks == Hooks::EmbOs {
            self.push(EventKind::TaskDeleted(task));
        }
        if stop == Stop::Followed {
            return;
        }
        if !self.state().preempted.is_empty() {
            return self.resume();
        }
        let (core, session) = (self.core(), self.input.session);
        let idle = self.context.shared.idle(core, session, self.out.entities);
        if let Some(idle) = self.known(idle) {
            self.state().is_idle = false;
            self.push(EventKind::SwitchedIn(idle));
        }
    }

    /// A recorder that was stopped started again. The packet of the stop is missing if the buffer was full.
    fn start(&mut self) {
        self.input.begin_life(self.at.offset);
        // Hardly anything is recorded between a stop and the next start: other stops are made up by damage.
        let since = self.input.since_damage;
        let packets = self.input.stopped_at.take().and_then(|stop| since.checked_sub(stop));
        if packets.is_none_or(|packets| packets > CONFIRMED_BY as u64) && !self.input.is_after_silence {
            return;
        }
        self.input.forget();
        let kind = losses::RECORDING_RESTARTED;
        self.out.ledger.enter(kind, self.at.offset, 0);
        let note = LossNote { kind, offset: self.at.offset, bytes: 0, at_least_lost: 0 };
        self.out.batch.add_loss(self.at.time, self.core(), note);
    }

    /// Packets were dropped: one that found the buffer full, and those counted since, until there was room for this one.
    fn overflow(&mut self) {
        self.input.begin_life(self.at.offset);
        let count = self.payload.number();
        let verdict = self.input.drops.judge(count);
        if !matches!(verdict, Verdict::Counted(_)) {
            self.out.ledger.enter(losses::DROP_COUNTER_OUTLIER, self.at.offset, 0);
        }
        let lost = match verdict {
            Verdict::Counted(added) => 1 + u64::from(added),
            Verdict::Odd => 1,
            Verdict::Void => return,
        };
        if self.input.is_copy {
            self.input.counted_elsewhere += lost;
            return;
        }
        let kind = losses::DROPPED_BY_TARGET;
        self.out.ledger.enter(kind, self.at.offset, lost);
        LossNote { kind, offset: self.at.offset, bytes: 0, at_least_lost: lost }.add_by_kind(&mut self.input.pending);
        self.input.emit_losses(self.at.time, self.out);
    }

    /// An event of the kernel or of a module: an instant or a span on the track of the task that runs, and its effect.
    fn call(&mut self, event: u16) {
        if let Some(first) = self.context.shared.heap_offset
            && (event == first || event == first.saturating_add(1))
        {
            return self.heap_event(event == first);
        }
        let label = self.context.shared.take_label(event, self.out.entities);
        if matches!(label.role, Role::EnterFunction | Role::ExitFunction) {
            self.function(label.role == Role::EnterFunction);
            return self.context.shared.put_back(event, label);
        }
        let lane = self.calls();
        let is_zephyr = self.context.shared.hooks == Hooks::Zephyr;
        if is_zephyr && let Some(lane) = lane {
            self.end_leaf(lane, event, label.role);
            self.state().woken = None;
        }
        let is_hooked_twice = label.has_end && matches!(label.role, Role::SetPriority | Role::DeleteTask);
        if is_hooked_twice && self.state().hooked.replace((lane, event)) == Some((lane, event)) {
            return self.context.shared.put_back(event, label);
        }
        let payload = self.payload;
        let mut has_end = label.has_end;
        if is_zephyr && label.role == Role::DeleteTask {
            let task = self.subject(payload.clone().long());
            // It is recorded where it is called, and once more where the thread is aborted. Its end is not, where the thread aborts itself.
            if task.is_some() && std::mem::replace(&mut self.state().aborted, task) == task {
                return self.context.shared.put_back(event, label);
            }
            has_end &= task != self.state().running || !self.state().isrs.is_empty();
        }
        let args = self.arguments(&label);
        if !label.has_end {
            self.state().moved = None;
        } else if label.role == Role::Inherit {
            self.state().is_moving = Some(event);
        }
        if label.role != Role::None {
            self.act(&label, payload);
        }
        if let Some(lane) = lane {
            let name = label.name.map_or(Label::NONE, Label::name);
            let state = self.state();
            state.has_stray |= has_end && state.running.is_none() && state.isrs.is_empty();
            match has_end {
                true if self.enter(lane, u64::from(event)) => self.begin(lane, name, args),
                true => {}
                false => self.push(EventKind::Instant { lane, label: name, args }),
            }
        }
        self.context.shared.put_back(event, label);
    }

    /// The lane of the calls of the code that runs.
    #[inline(always)]
    fn calls(&mut self) -> Option<LaneId> {
        let (core, session, task) = self.running_code();
        let lane = self.context.shared.call_lane(core, task, session, self.out.entities);
        self.known(lane)
    }

    /// Where code runs, and of which task it is, unless it is outside of tasks.
    fn running_code(&mut self) -> (CoreId, u32, Option<TaskId>) {
        let (core, session, state) = (self.core(), self.input.session, self.state());
        (core, session, state.running.filter(|_| state.isrs.is_empty() && !state.is_idle))
    }

    /// A function of the code that runs begins or ends.
    #[inline(never)]
    fn function(&mut self, is_begin: bool) {
        let (function, call) = (self.payload.long(), self.payload.long());
        let (core, session, task) = self.running_code();
        let lane = self.context.shared.function_lane(core, task, session, self.out.entities);
        let Some(lane) = self.known(lane) else { return };
        if is_begin {
            if !self.enter(lane, function) {
                return;
            }
            let label = self.function_name(function).map_or(Label::NONE, Label::name);
            let start = self.out.batch.args.len();
            let call = self.caller(call);
            self.add_arg(self.context.words.called_at, call);
            let args = self.out.batch.args_since(start);
            return self.begin(lane, label, args);
        }
        if !self.exit(lane, function, Args::NONE) {
            self.out.ledger.enter(losses::UNMATCHED_EXIT, self.at.offset, 0);
        }
    }

    /// A function or a call begins on a lane. False if there are too many.
    fn enter(&mut self, lane: LaneId, function: u64) -> bool {
        if self.context.has_inputs {
            return true;
        }
        let has_room = self.input.open_functions.entry(lane).or_default().enter(function);
        if !has_room {
            self.out.ledger.enter(losses::ENTITY_LIMIT, self.at.offset, 1);
        }
        has_room
    }

    /// A function or a call ends, and with it those within it whose ends are missing. False if it had not begun.
    fn exit(&mut self, lane: LaneId, function: u64, args: Args) -> bool {
        // A task may go on in another input, which is resolved at another time. Then the timeline ends the innermost one.
        if self.context.has_inputs {
            self.push(EventKind::SpanEnd { lane, args });
            return true;
        }
        match self.input.open_functions.entry(lane).or_default().exit(function) {
            Exit::Closes(inner) => {
                for _ in 0..inner {
                    self.out.ledger.enter(losses::EXIT_MISSING, self.at.offset, 0);
                    self.push(EventKind::SpanEnd { lane, args: Args::NONE });
                }
                self.push(EventKind::SpanEnd { lane, args });
                true
            }
            Exit::Unmatched => false,
        }
    }

    /// The name of a function, or its address.
    fn function_name(&mut self, address: u64) -> Option<NameId> {
        let names = &self.context.code_names[0];
        if let Some(&name) = names.get(&address) {
            return name;
        }
        let symbols = self.context.symbols.as_deref();
        let function = symbols.and_then(|symbols| symbols.function_at(address));
        let is_known = function.is_some();
        let name = match function {
            Some(function) => self.out.entities.add_name(function.name),
            None => self.out.entities.add_name(&format!("0x{address:08X}")),
        };
        self.context.lookups.note(is_known);
        self.context.remember_name(0, address, name)
    }

    /// The function and line of a call, or its address, by the address after it.
    fn caller(&mut self, address: u64) -> ArgValue {
        let code = code_address(address, self.input.reading);
        let name = match (self.context.code_names[1].get(&code), &self.context.symbols) {
            (Some(&name), _) => name,
            (None, None) => None,
            (None, Some(symbols)) => {
                let described = describe_caller(symbols, code);
                self.context.lookups.note(described.is_some());
                let name = described.and_then(|text| self.out.entities.add_name(&text));
                self.context.remember_name(1, code, name)
            }
        };
        name.map_or(ArgValue::Hex(code), ArgValue::Name)
    }

    fn arguments(&mut self, label: &Labelled) -> Args {
        let start = self.out.batch.args.len();
        for (name, kind, values) in &label.parameters {
            if *kind == Kind::Text {
                if self.payload.0.is_empty() {
                    break;
                }
                let (text, _) = self.out.batch.texts.add_lossy(self.payload.text());
                self.add_arg(*name, ArgValue::Text(text));
                continue;
            }
            let Some(value) = self.payload.next_long() else { break };
            let value = self.value(*kind, values.as_ref(), value);
            self.add_arg(*name, value);
        }
        for index in 0..self.context.words.arguments.len() {
            let Some(value) = self.payload.next_long() else { break };
            self.add_arg(self.context.words.arguments[index], ArgValue::Uint(value));
        }
        self.out.batch.args_since(start)
    }

    fn add_arg(&mut self, name: Option<NameId>, value: ArgValue) {
        self.out.batch.args.extend(name.map(|name| Arg::new(name, value)));
    }

    fn value(&mut self, kind: Kind, values: Option<&Values>, value: u64) -> ArgValue {
        let number = match u32::try_from(value) {
            Ok(value) if kind == Kind::Int => i64::from(value.cast_signed()),
            _ => value.cast_signed(),
        };
        let is_raw = self.context.shared.hooks == Hooks::Zephyr;
        let value = if is_raw && matches!(kind, Kind::Task | Kind::Resource) { self.input.init.id(value) } else { value };
        let named = match kind {
            Kind::Task | Kind::Resource => {
                let life = if kind == Kind::Task { self.life(value as u32) } else { 0 };
                self.context.shared.name_of(kind, value as u32, life, self.input.session, self.out.entities)
            }
            _ => values.and_then(|values| values.get(&number)).and_then(|name| self.out.entities.add_name(name)),
        };
        if let Some(name) = named {
            return ArgValue::Name(name);
        }
        match kind {
            Kind::Int => ArgValue::Int(number),
            Kind::Hex => ArgValue::Hex(value),
            Kind::Task | Kind::Resource => ArgValue::Hex(self.input.init.address(value)),
            Kind::Uint | Kind::Text => ArgValue::Uint(value),
        }
    }

    /// The effect of a function of the kernel, in the terms of the model.
    fn act(&mut self, label: &Labelled, mut payload: Fields<'_>) {
        let values = [0; 4].map(|_: u64| payload.long());
        let from_isr = label.from_isr || !self.state().isrs.is_empty();
        let kind = match label.role {
            Role::None | Role::Inherit | Role::Unlock => return,
            Role::Sleep | Role::Yield => return self.state().is_sleeping = label.role == Role::Sleep && !from_isr,
            Role::Lock => return self.state().is_locking = true,
            Role::Delay | Role::DelayUntil if from_isr || self.state().running.is_none() => return,
            Role::Delay | Role::DelayUntil => {
                self.state().has_reason = true;
                let (reason, kernel_ticks) = match label.role {
                    Role::Delay => (WaitReason::Delay, u32::try_from(values[0]).unwrap_or(u32::MAX)),
                    _ => (WaitReason::Period, u32::MAX),
                };
                EventKind::Waiting(Wait { reason, object: None, kernel_ticks })
            }
            Role::Object(_) | Role::Receive => {
                let object = self.context.shared.object(values[0] as u32, self.input.session, self.out.entities);
                let Some(object) = self.known(object) else { return };
                let op = match label.role {
                    Role::Object(op) => op,
                    // The ports for FreeRTOS 10 say so of each receive too, but without a place for the item.
                    _ if label.parameters.len() > JUST_PEEK
                        && values[JUST_PEEK] == 1
                        && self.input.init.address(values[1]) != 0 =>
                    {
                        ObjectOp::Peek
                    }
                    _ => ObjectOp::Receive,
                };
                EventKind::Object { object, op, from_isr, level: Level::UNKNOWN }
            }
            _ => {
                let Some(task) = self.subject(values[0]) else { return };
                match self.context.shared.hooks {
                    Hooks::ThreadX => return self.change_other_thread(task, label.role),
                    Hooks::Zephyr => return self.change_thread(task, label.role, values[1] as i32),
                    _ => {}
                }
                if label.role == Role::SetPriority {
                    self.state().moved = Some(task);
                }
                match label.role {
                    Role::Suspend => EventKind::Suspended(task),
                    Role::Resume => EventKind::Resumed { task, from_isr },
                    Role::SetPriority => EventKind::Priority { task, priority: values[1] as i32, change: PriorityChange::Set },
                    Role::InheritPriority => {
                        EventKind::Priority { task, priority: values[1] as i32, change: PriorityChange::Inherit }
                    }
                    Role::DisinheritPriority => {
                        EventKind::Priority { task, priority: values[1] as i32, change: PriorityChange::Disinherit }
                    }
                    Role::DeleteTask => EventKind::TaskDeleted(task),
                    _ => return,
                }
            }
        };
        self.push(kind);
    }

    /// The task of an argument; the running one if it is the null pointer.
    fn task_or_running(&mut self, value: u64) -> Option<TaskId> {
        match self.input.init.address(value) {
            0 => self.state().running,
            _ => self.task_of(value as u32),
        }
    }

    fn end_call(&mut self) {
        let Ok(event) = u16::try_from(self.payload.number()) else { return };
        let label = self.context.shared.take_label(event, self.out.entities);
        let lane = self.calls();
        let state = self.state();
        state.hooked = state.hooked.filter(|&hooked| hooked != (lane, event));
        state.is_moving = state.is_moving.filter(|&moving| moving != event);
        match label.role {
            Role::SetPriority => state.moved = None,
            Role::DeleteTask => state.aborted = None,
            Role::Sleep => state.is_sleeping = false,
            Role::Wake => self.still_waits(),
            _ => {}
        }
        let start = self.out.batch.args.len();
        if let (Some(_), Some(value)) = (lane, self.payload.next_long()) {
            let (kind, values) = label.result.as_ref().map_or((Kind::Uint, None), |(kind, values)| (*kind, values.as_ref()));
            let value = self.value(kind, values, value);
            self.add_arg(self.context.words.result, value);
        }
        self.context.shared.put_back(event, label);
        let Some(lane) = lane else { return };
        let args = self.out.batch.args_since(start);
        // Zephyr records the end of `k_mem_slab_free` as one of `k_mem_slab_alloc`.
        let is_known = self.context.shared.hooks == Hooks::Zephyr && event == ZEPHYR_SLAB_ALLOC;
        if !self.exit(lane, u64::from(event), args) && !is_known {
            self.out.ledger.enter(losses::SPAN_END_WITHOUT_BEGIN, self.at.offset, 0);
        }
    }

    fn extended(&mut self) {
        match self.payload.number() {
            extended::MARK => {
                let marker = self.payload.number();
                let lane = self.context.shared.marker(marker, self.input.session);
                if let Some(lane) = self.known(lane) {
                    self.push(EventKind::Instant { lane, label: Label::NONE, args: Args::NONE });
                }
            }
            number @ (extended::HEAP_ALLOC | extended::HEAP_ALLOC_EX | extended::HEAP_FREE) => {
                let (heap, block) = (self.payload.long(), self.payload.long());
                let bytes = match number {
                    extended::HEAP_FREE => self.context.bytes_of(block as u32, self.input.ticks()),
                    _ => self.payload.number(),
                };
                let init = self.input.init;
                let start = self.out.batch.args.len();
                let heap = self.value(Kind::Resource, None, heap);
                self.add_arg(self.context.words.heap, heap);
                if let Some(tag) = self.payload.next_number() {
                    self.add_arg(self.context.words.tag, ArgValue::Uint(u64::from(tag)));
                }
                let bytes = bytes.checked_shl(init.id_shift).unwrap_or(u32::MAX);
                self.heap(number != extended::HEAP_FREE, init.address(block), bytes, start);
            }
            extended::PRINT_ELF => self.elf_message(),
            _ => {}
        }
    }

    /// ESP-IDF's heap module: a block, its size if it is taken, and the calls that led here.
    fn heap_event(&mut self, is_taken: bool) {
        let address = self.payload.long();
        let bytes = match is_taken {
            true => self.payload.number(),
            false => self.context.bytes_of(address as u32, self.input.ticks()),
        };
        let start = self.out.batch.args.len();
        for index in 0..self.context.words.callers.len() {
            let name = self.context.words.callers[index];
            let Some(caller) = self.payload.next_long().filter(|&caller| caller != 0) else { break };
            let caller = self.caller(caller);
            self.add_arg(name, caller);
        }
        self.heap(is_taken, address, bytes, start);
    }

    /// A block of the heap was taken or given back; its other arguments were added since there were `start`.
    fn heap(&mut self, is_taken: bool, address: u64, bytes: u32, start: usize) {
        self.add_arg(self.context.words.address, ArgValue::Hex(address));
        self.add_arg(self.context.words.bytes, ArgValue::Uint(u64::from(bytes)));
        let args = self.out.batch.args_since(start);
        let label =
            self.out.entities.add_name(if is_taken { "heap alloc" } else { "heap free" }).map_or(Label::NONE, Label::name);
        if let Some(lane) = self.calls() {
            self.push(EventKind::Instant { lane, label, args });
        }
        let op = if is_taken { HeapOp::Allocate } else { HeapOp::Free };
        self.push(EventKind::Heap { op, address: Packed(address), bytes });
    }
}

/// The address of code in a call stack. On Xtensa the two highest bits of a return address say how many registers the call saved; code lies
/// in the second quarter.
fn code_address(address: u64, reading: Reading) -> u64 {
    match (reading, address >> 30) {
        (Reading::CoreBit, 2 | 3) => address & 0x3FFF_FFFF | 0x4000_0000,
        _ => address,
    }
}

/// The function that made a call, and the line, by the address after the call.
fn describe_caller(symbols: &Symbols, address: u64) -> Option<String> {
    let frame = symbols.frames_before(address).into_iter().next()?;
    Some(match frame.place {
        Some(place) => format!("{} ({}:{})", frame.function, place.file, place.line),
        None => frame.function.to_owned(),
    })
}
