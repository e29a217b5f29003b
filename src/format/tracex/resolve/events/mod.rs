//! The events of each entry: the kernel's state, as far as the entries show it.
//!
//! Switches are not recorded. Each entry says which thread runs; before a thread that records nothing they follow from the events of the
//! scheduler, which state the thread that is to run next. The effects of services on other objects are in `services.rs`.

mod services;
mod threads;

use rustc_hash::{FxHashMap, FxHashSet};

use super::super::decode::{Entry, IN_INITIALIZATION, IN_INTERRUPT};
use super::super::layout::kind;
use super::super::names::{Names, id};
use super::super::scan::ScanFacts;
use super::handles::{FOREVER, Handles};
use super::push;
use crate::format::Resolved;
use crate::model::{
    Arg, ArgValue, BitsOp, CoreId, EventKind, IsrId, Label, Level, LossNote, Nanos, ObjectId, ObjectKind, ObjectOp, Packed,
    PriorityChange, TaskId, Wait, WaitReason, losses,
};
use threads::{CLEAR, Call, Thread, Threads};

/// The limits of nested interrupts, of blocks of byte pools (also of pools, and of deleted objects), and of priority inversions that are followed.
const NESTING_LIMIT: usize = 256;
const BLOCKS_LIMIT: usize = 1 << 16;
const INVERSIONS_LIMIT: usize = 64;

/// The bits of a thread's priority in its entries.
pub const PRIORITY_MASK: u32 = 0x3FF;

/// The states of threads.
#[allow(missing_docs)]
mod state {
    pub const READY: u32 = 0;
    pub const COMPLETED: u32 = 1;
    pub const TERMINATED: u32 = 2;
    pub const SUSPENDED: u32 = 3;
    pub const SLEEP: u32 = 4;
    pub const QUEUE: u32 = 5;
    pub const SEMAPHORE: u32 = 6;
    pub const EVENT_FLAG: u32 = 7;
    pub const BLOCK_MEMORY: u32 = 8;
    pub const BYTE_MEMORY: u32 = 9;
    pub const MUTEX: u32 = 13;
    pub const PRIORITY_CHANGE: u32 = 14;
}

/// A core.
struct Core {
    id: CoreId,
    /// The address of the thread that runs, or 0: none does.
    running: Option<u32>,
    /// The thread that the scheduler has chosen, or 0.
    next: Option<u32>,
    isrs: Vec<IsrId>,
    /// The time of its last entry.
    last: Nanos,
    /// The last call that was not one of a thread.
    call: Call,
    /// A message that is sent if its sender does not wait now.
    send: Option<(Entry, Nanos)>,
}

/// A thread of high priority waits for a mutex of one of low priority.
struct Inversion {
    waiter: u32,
    owner: u32,
    priority: u32,
    is_unbounded: bool,
}

/// The kernel of one recording.
pub struct Kernel {
    base: CoreId,
    pub handles: Handles,
    records_interrupted: bool,
    /// The length of a word.
    word_bytes: u32,
    cores: Vec<Core>,
    threads: Threads,
    /// The flags of event groups, and the owners of mutexes, if known.
    flags: FxHashMap<u32, u32>,
    owners: FxHashMap<u32, u32>,
    /// How many messages queues can hold, and the free blocks of pools, if known.
    capacities: FxHashMap<u32, u32>,
    free_blocks: FxHashMap<u32, u32>,
    /// The sizes of blocks of byte pools, and the times at which the pools' free bytes changed last.
    blocks: FxHashMap<u32, u32>,
    changes: FxHashMap<u32, Nanos>,
    inversions: Vec<Inversion>,
    /// The addresses of deleted threads and objects, and how many were created again at one of them.
    deleted: FxHashSet<u32>,
    pub recreated: u64,
}

/// An entry that is being resolved.
struct Scene<'a, 'b> {
    kernel: &'a mut Kernel,
    core: usize,
    entry: Entry,
    time: Nanos,
    out: &'a mut Resolved<'b>,
}

impl Kernel {
    pub fn new(base: CoreId, facts: ScanFacts) -> Kernel {
        let (registered, word_bytes) = (facts.objects.iter(), facts.word_bytes());
        Kernel {
            base,
            records_interrupted: facts.records_interrupted(),
            word_bytes,
            capacities: registered.filter_map(|(&queue, object)| Some((queue, object.queue_capacity(word_bytes)?))).collect(),
            handles: Handles::new(facts.objects, facts.scheduled > 0),
            cores: Vec::new(),
            threads: Threads::new(),
            flags: FxHashMap::default(),
            owners: FxHashMap::default(),
            free_blocks: FxHashMap::default(),
            blocks: FxHashMap::default(),
            changes: FxHashMap::default(),
            inversions: Vec::new(),
            deleted: FxHashSet::default(),
            recreated: 0,
        }
    }

    /// The core of an entry.
    pub fn core_of(&self, entry: &Entry) -> CoreId {
        CoreId(self.base.0.saturating_add(u16::try_from(entry.core).unwrap_or(u16::MAX)))
    }

    /// The next entry, and its whole information fields.
    pub fn event(&mut self, entry: &Entry, info: &[u64; 4], time: Nanos, names: &Names, out: &mut Resolved<'_>) {
        let id = self.core_of(entry);
        let core = self.cores.iter().position(|core| core.id == id).unwrap_or(self.cores.len());
        if core == self.cores.len() {
            let call = Call::default();
            self.cores.push(Core { id, running: None, next: None, isrs: Vec::new(), last: time, call, send: None });
        }
        let mut scene = Scene { kernel: self, core, entry: *entry, time, out };
        scene.resolve(info, names);
        scene.core().last = time;
    }

    /// Entries are missing here.
    pub fn lose(&mut self, time: Nanos, note: LossNote, out: &mut Resolved<'_>) {
        self.finish(out);
        out.batch.add_loss(time, self.cores.first().map_or(self.base, |core| core.id), note);
        for core in &mut self.cores {
            (core.running, core.next) = (None, None);
            core.isrs.clear();
        }
        self.threads
            .all
            .iter_mut()
            .for_each(|thread| (thread.pending, thread.is_waiting, thread.is_delayed) = (None, false, false));
        self.flags.clear();
        self.owners.clear();
        self.free_blocks.clear();
        self.changes.clear();
        self.inversions.clear();
    }

    /// No more entries come.
    pub fn finish(&mut self, out: &mut Resolved<'_>) {
        for core in 0..self.cores.len() {
            if let Some((entry, time)) = self.cores.get_mut(core).and_then(|core| core.send.take()) {
                Scene { kernel: &mut *self, core, entry, time, out: &mut *out }.sent(None);
            }
        }
    }
}

impl Scene<'_, '_> {
    fn core(&mut self) -> &mut Core {
        &mut self.kernel.cores[self.core]
    }

    fn push(&mut self, kind: EventKind) {
        let core = self.core().id;
        push(self.out, self.time, core, kind);
    }

    /// Enters a limit that was reached.
    fn known<T>(&mut self, entity: Option<T>) -> Option<T> {
        if entity.is_none() {
            self.out.ledger.enter(losses::ENTITY_LIMIT, self.entry.offset, 1);
        }
        entity
    }

    fn is_interrupt(&self) -> bool {
        self.entry.thread == IN_INTERRUPT
    }

    /// The thread that caused the entry.
    fn caller(&self) -> Option<u32> {
        (!matches!(self.entry.thread, IN_INTERRUPT | IN_INITIALIZATION)).then_some(self.entry.thread)
    }

    fn resolve(&mut self, whole: &[u64; 4], names: &Names) {
        self.settle_send();
        match self.caller() {
            Some(caller) => {
                // Threads run when all interrupts have ended.
                while let Some(isr) = self.core().isrs.pop() {
                    self.out.ledger.enter(losses::ISR_EXIT_MISSING, self.entry.offset, 0);
                    self.push(EventKind::IsrExit(isr));
                    self.core().next = None;
                }
                self.core().call = Call::default();
                self.run(caller);
                self.note_priority(caller);
            }
            None if self.is_interrupt() => self.interrupted(self.entry.priority),
            None => {}
        }
        let Entry { info, .. } = self.entry;
        match self.entry.id {
            id::THREAD_RESUME => return self.resume(info),
            id::THREAD_SUSPEND => return self.suspend(info),
            id::ISR_ENTER => return self.isr_enter(info[1]),
            id::ISR_EXIT => return self.isr_exit(info),
            id::TIME_SLICE => return self.core().next = Some(info[0]),
            id::RUNNING => return,
            id::THREAD_RELINQUISH => self.core().next = Some(info[1]),
            // The scheduler may choose another thread after these, and does not record it.
            id::THREAD_PREEMPTION_CHANGE | id::THREAD_PRIORITY_CHANGE => self.core().next = None,
            _ => {}
        }
        self.call(whole, names);
        self.service(info);
        if id::is_prioritize(self.entry.id) {
            return;
        }
        let mut call = Call { id: self.entry.id, info };
        if call.id == id::EVENT_FLAGS_SET {
            // The threads that wait are compared with these.
            call.info[1] = self.kernel.flags.get(&info[0]).copied().unwrap_or(0);
        }
        match self.caller().and_then(|caller| self.kernel.threads.get_mut(caller)) {
            Some(thread) => thread.call = call,
            None => self.core().call = call,
        }
    }

    /// The thread at an address.
    fn thread(&mut self, pointer: u32) -> Option<&mut Thread> {
        if self.kernel.threads.place(pointer).is_none() {
            let task = self.kernel.handles.add_task(pointer, self.out.entities);
            let task = self.known(task)?;
            let lane = self.kernel.handles.task_lane(task, self.out.entities);
            let registered = self.kernel.handles.registry.get(&pointer).filter(|object| object.kind == kind::THREAD);
            let priority = registered.and_then(|thread| thread.priority);
            let stack = registered.map(|thread| thread.parameters);
            let (call, free_stack) = (Call::default(), u32::MAX);
            let thread = Thread {
                task,
                lane,
                priority,
                has_priority: false,
                is_set: false,
                is_waiting: false,
                is_delayed: false,
                is_terminated: false,
                call,
                pending: None,
                stack,
                free_stack,
            };
            self.kernel.threads.insert(pointer, thread);
            if let Some(priority) = priority {
                self.push(EventKind::Priority { task, priority: priority.cast_signed(), change: PriorityChange::Reported });
            }
        }
        self.kernel.threads.get_mut(pointer)
    }

    fn task(&mut self, pointer: u32) -> Option<TaskId> {
        self.thread(pointer).map(|thread| thread.task)
    }

    fn object(&mut self, pointer: u32, kind: ObjectKind) -> Option<ObjectId> {
        let object = self.kernel.handles.object(pointer, kind, self.out.entities);
        self.known(object)
    }

    /// A thread runs, or none (0), as an entry shows. It began after the last entry, if the scheduler had chosen it then.
    fn run(&mut self, pointer: u32) {
        let (now, core) = (self.time, self.core());
        if core.running != Some(pointer) {
            if core.next == Some(pointer) {
                self.time = core.last;
            }
            self.switch(pointer);
            self.time = now;
        }
    }

    /// A thread was interrupted, or none (0). Between the choice of a thread and the switch to it the old one is still the present one.
    fn interrupted(&mut self, pointer: u32) {
        if pointer == 0 && !self.kernel.records_interrupted {
            return;
        }
        let core = self.core();
        let (running, next) = (core.running, core.next);
        let is_waiting = self.kernel.threads.get(pointer).is_some_and(|thread| thread.is_waiting);
        if running != Some(pointer) && !is_waiting && (pointer != 0 || running.is_none() || running != next) {
            self.run(pointer);
        }
    }

    fn switch(&mut self, pointer: u32) {
        let task = match pointer {
            0 => {
                let core = self.core().id;
                let idle = self.kernel.handles.idle(core, self.out.entities);
                self.known(idle)
            }
            _ => self.task(pointer),
        };
        self.core().running = Some(pointer);
        let Some(task) = task else { return };
        self.push(EventKind::SwitchedIn(task));
        let Some(thread) = self.kernel.threads.get_mut(pointer) else { return };
        thread.is_waiting = false;
        let (pending, priority) = (thread.pending.take(), thread.priority);
        self.kernel.inversions.retain(|inversion| inversion.waiter != pointer);
        self.note_unbounded(pointer, priority);
        if let Some((call, is_given)) = pending {
            self.end_of_wait(call, is_given);
        }
    }

    /// The result of the call that a thread has waited in.
    fn end_of_wait(&mut self, call: Call, is_given: bool) {
        let (kind, op, failed) = match call.id {
            id::QUEUE_SEND | id::QUEUE_FRONT_SEND => (ObjectKind::Queue, ObjectOp::Send, ObjectOp::SendFailed),
            id::QUEUE_RECEIVE => (ObjectKind::Queue, ObjectOp::Receive, ObjectOp::ReceiveFailed),
            id::SEMAPHORE_GET => (ObjectKind::CountingSemaphore, ObjectOp::Receive, ObjectOp::ReceiveFailed),
            id::MUTEX_GET => (ObjectKind::RecursiveMutex, ObjectOp::Receive, ObjectOp::ReceiveFailed),
            id::BLOCK_ALLOCATE => (ObjectKind::MemoryPool, ObjectOp::Receive, ObjectOp::ReceiveFailed),
            _ => return,
        };
        if is_given && call.id == id::MUTEX_GET {
            let running = self.core().running;
            running.map(|running| self.kernel.owners.insert(call.info[0], running));
        }
        self.operate(call.info[0], kind, if is_given { op } else { failed }, Level::UNKNOWN);
    }

    fn operate(&mut self, pointer: u32, kind: ObjectKind, op: ObjectOp, level: Level) {
        let from_isr = self.is_interrupt();
        if let Some(object) = self.object(pointer, kind) {
            self.push(EventKind::Object { object, op, from_isr, level });
        }
    }

    /// The priority of the thread that caused the entry.
    fn note_priority(&mut self, pointer: u32) {
        let priority = self.entry.priority & PRIORITY_MASK;
        let Some(thread) = self.kernel.threads.get_mut(pointer) else { return };
        let before = thread.priority.replace(priority);
        let (had_priority, is_set) = (std::mem::replace(&mut thread.has_priority, true), std::mem::take(&mut thread.is_set));
        if before != Some(priority) {
            // The lowest number is the highest priority.
            let change = match before {
                _ if !had_priority => PriorityChange::Reported,
                Some(_) if is_set => PriorityChange::Set,
                Some(before) if priority < before => PriorityChange::Inherit,
                _ => PriorityChange::Disinherit,
            };
            let task = thread.task;
            self.push(EventKind::Priority { task, priority: priority.cast_signed(), change });
        }
    }

    fn isr_enter(&mut self, number: u32) {
        self.core().call = Call::default();
        let core = self.core().id;
        let isr = self.kernel.handles.isr(core, number, self.out.entities);
        let Some(isr) = self.known(isr) else { return };
        if self.core().isrs.len() < NESTING_LIMIT {
            self.core().isrs.push(isr);
        }
        self.push(EventKind::IsrEnter(isr));
    }

    fn isr_exit(&mut self, [_, _, _, preempt_disable]: [u32; 4]) {
        match self.core().isrs.pop() {
            Some(isr) => self.push(EventKind::IsrExit(isr)),
            None => self.out.ledger.enter(losses::ISR_EXIT_WITHOUT_ENTER, self.entry.offset, 0),
        }
        let core = self.core();
        core.call = Call::default();
        if let Some(next) = core.next
            && core.isrs.is_empty()
            && preempt_disable == 0
            && core.running != Some(next)
        {
            self.switch(next);
        }
    }

    fn resume(&mut self, [pointer, state, stack, next]: [u32; 4]) {
        // Old kernels do not record it.
        self.core().next = (next != 0).then_some(next);
        self.note_stack(stack);
        // A thread that ends is not kept from that.
        if matches!(state, state::PRIORITY_CHANGE | state::COMPLETED | state::TERMINATED) {
            return;
        }
        let by = self.caller().and_then(|caller| self.kernel.threads.get(caller)).map(|thread| thread.call);
        let by = by.unwrap_or(self.core().call);
        let from_isr = self.is_interrupt();
        let Some(thread) = self.thread(pointer) else { return };
        let is_suspended = std::mem::take(&mut thread.is_delayed);
        thread.is_waiting = is_suspended;
        // If the caller's last call ends the wait with success, that is why it is resumed; otherwise its time is over. A thread that was
        // suspended after that has its result already, and the state of one whose wait is aborted is that of suspended threads.
        let wait = thread.pending.as_mut().filter(|_| state != state::SUSPENDED).map(|(call, is_given)| {
            *is_given = by.gives(*call);
            (*call, *is_given)
        });
        let task = thread.task;
        match wait {
            Some((wait, true)) => self.given(by, wait),
            // Its call is unknown, so it may have cleared flags.
            None if state == state::EVENT_FLAG && by.id == id::EVENT_FLAGS_SET => {
                self.kernel.flags.remove(&by.info[0]);
            }
            _ => {}
        }
        self.push(match state {
            _ if is_suspended => EventKind::Suspended(task),
            state::SUSPENDED => EventKind::Resumed { task, from_isr },
            _ => EventKind::Ready { task, from_isr },
        });
    }

    /// The last call of the entry's caller has ended a wait with success.
    fn given(&mut self, by: Call, wait: Call) {
        let object = by.info[0];
        if by.gives_once() {
            match self.caller().and_then(|caller| self.kernel.threads.get_mut(caller)) {
                Some(thread) => thread.call = Call::default(),
                None => self.core().call = Call::default(),
            }
        }
        // The message of a sender that waits takes the place of the one received.
        if by.id == id::QUEUE_RECEIVE
            && let Some(object) = self.object(object, ObjectKind::Queue)
        {
            self.push(EventKind::LateObjectLevel { object, level: by.info[3], since: Packed(self.time.0) });
        }
        let [_, requested, _, option] = wait.info;
        if by.id == id::EVENT_FLAGS_SET
            && option & CLEAR != 0
            && let Some(flags) = self.kernel.flags.get_mut(&object)
        {
            *flags &= !requested;
            let after = *flags;
            if let Some(object) = self.object(object, ObjectKind::EventGroup) {
                self.push(EventKind::Bits { object, op: BitsOp::WaitEnded, bits: requested, after });
            }
        }
    }

    fn suspend(&mut self, [pointer, state, stack, next]: [u32; 4]) {
        self.core().next = Some(next);
        self.note_stack(stack);
        if state == state::PRIORITY_CHANGE {
            return;
        }
        let caller = self.caller();
        let Some(thread) = self.thread(pointer) else { return };
        thread.is_waiting = true;
        // A later call resumes other threads.
        let (task, call) = (thread.task, std::mem::take(&mut thread.call));
        if caller != Some(pointer) || matches!(state, state::COMPLETED | state::TERMINATED | state::SUSPENDED) {
            self.push(EventKind::Suspended(task));
        } else {
            self.wait(pointer, state, call);
        }
        // A thread that terminates itself still gives its mutexes back: the next entry shows when it has left.
        if caller == Some(pointer) && next != pointer && state != state::TERMINATED {
            self.switch(next);
        }
    }

    /// The running thread waits, in its last call if that fits the state.
    fn wait(&mut self, pointer: u32, state: u32, call: Call) {
        let [object, one, two, three] = call.info;
        let (kind, reason, kernel_ticks) = match (state, call.id) {
            (state::SLEEP, id::THREAD_SLEEP) => {
                return self.push(EventKind::Waiting(Wait { reason: WaitReason::Delay, object: None, kernel_ticks: object }));
            }
            (state::QUEUE, id::QUEUE_RECEIVE) => (ObjectKind::Queue, WaitReason::Receive, two),
            (state::QUEUE, id::QUEUE_SEND | id::QUEUE_FRONT_SEND) => (ObjectKind::Queue, WaitReason::Send, two),
            (state::SEMAPHORE, id::SEMAPHORE_GET) => (ObjectKind::CountingSemaphore, WaitReason::Receive, one),
            (state::EVENT_FLAG, id::EVENT_FLAGS_GET) => {
                if let Some(object) = self.object(object, ObjectKind::EventGroup) {
                    self.push(EventKind::WaitingForBits { object, bits: one, kernel_ticks: FOREVER });
                }
                if let Some(thread) = self.kernel.threads.get_mut(pointer) {
                    thread.pending = Some((call, false));
                }
                return;
            }
            (state::BLOCK_MEMORY, id::BLOCK_ALLOCATE) => (ObjectKind::MemoryPool, WaitReason::Receive, two),
            (state::BYTE_MEMORY, id::BYTE_ALLOCATE) => (ObjectKind::MemoryPool, WaitReason::Receive, three),
            (state::MUTEX, id::MUTEX_GET) => (ObjectKind::RecursiveMutex, WaitReason::Receive, one),
            (state, _) => {
                let reason = if state == state::SLEEP { WaitReason::Delay } else { WaitReason::NotRecorded };
                return self.push(EventKind::Waiting(Wait { reason, object: None, kernel_ticks: FOREVER }));
            }
        };
        let Some(handle) = self.object(object, kind) else { return };
        self.push(EventKind::Waiting(Wait { reason, object: Some(handle), kernel_ticks }));
        if let Some(thread) = self.kernel.threads.get_mut(pointer) {
            thread.pending = Some((call, false));
        }
        if state == state::MUTEX {
            self.note_inversion(pointer, call);
        }
    }

    /// A thread waits for a mutex whose owner has a lower priority.
    fn note_inversion(&mut self, waiter: u32, call: Call) {
        let [mutex, _, owner, _] = call.info;
        let priority_of = |pointer| self.kernel.threads.get(pointer).and_then(|thread| thread.priority);
        let registered = || self.kernel.handles.registry.get(&owner).and_then(|thread| thread.priority);
        let (Some(priority), Some(of_owner)) = (priority_of(waiter), priority_of(owner).or_else(registered)) else { return };
        if priority < of_owner && self.kernel.inversions.len() < INVERSIONS_LIMIT {
            self.kernel.inversions.push(Inversion { waiter, owner, priority, is_unbounded: false });
            self.note(waiter, "priority inversion", &[("mutex", mutex), ("owner", owner)]);
        }
    }

    /// While threads wait for mutexes of threads of lower priority, another one with a priority between them runs.
    fn note_unbounded(&mut self, running: u32, priority: Option<u32>) {
        for index in 0..self.kernel.inversions.len() {
            let Some(inversion) = self.kernel.inversions.get_mut(index) else { return };
            let is_between = running != inversion.owner && priority.is_some_and(|priority| priority > inversion.priority);
            if is_between && !inversion.is_unbounded {
                inversion.is_unbounded = true;
                let (waiter, owner) = (inversion.waiter, inversion.owner);
                self.note(waiter, "unbounded priority inversion", &[("owner", owner), ("thread", running)]);
            }
        }
    }

    /// Marks a thread's track, with the names of other things.
    fn note(&mut self, pointer: u32, label: &str, things: &[(&str, u32)]) {
        let Some(lane) = self.kernel.threads.get(pointer).and_then(|thread| thread.lane) else { return };
        let label = self.out.entities.add_name(label).map_or(Label::NONE, Label::name);
        let start = self.out.batch.args.len();
        for &(name, thing) in things {
            let value = match self.kernel.handles.name_id(thing, self.out.entities) {
                Some(name) => ArgValue::Name(name),
                None => ArgValue::Hex(u64::from(thing)),
            };
            if let Some(name) = self.out.entities.add_name(name) {
                self.out.batch.args.push(Arg::new(name, value));
            }
        }
        let args = self.out.batch.args_since(start);
        self.push(EventKind::Instant { lane, label, args });
    }

    /// The stack pointer of the thread that caused the entry.
    fn note_stack(&mut self, stack: u32) {
        let Some(caller) = self.caller() else { return };
        if let Some(thread) = self.kernel.threads.get_mut(caller)
            && let Some([start, size]) = thread.stack
            && let Some(bytes) = stack.checked_sub(start).filter(|&bytes| bytes < size && bytes < thread.free_stack)
        {
            thread.free_stack = bytes;
            let task = thread.task;
            self.push(EventKind::StackFree { task, bytes });
        }
    }

    /// The call itself, as an instant of its caller.
    fn call(&mut self, info: &[u64; 4], names: &Names) {
        let stack = self.kernel.handles.stack_field(self.entry.id, names);
        if let Some(&stack) = stack.and_then(|field| self.entry.info.get(field)) {
            self.note_stack(stack);
        }
        let lane = match self.caller() {
            Some(caller) => self.kernel.threads.get(caller).and_then(|thread| thread.lane),
            None => {
                let (core, is_interrupt) = (self.core().id, self.is_interrupt());
                self.kernel.handles.other_lane(core, is_interrupt, self.out.entities)
            }
        };
        let Some(lane) = self.known(lane) else { return };
        let (label, args) = self.kernel.handles.label(self.entry.id, info, names, self.out.entities, self.out.batch);
        self.push(EventKind::Instant { lane, label, args });
    }
}
