//! The effects of services on the kernel's objects.

use super::threads::{ALL, CLEAR, Call, are_there};
use super::{BLOCKS_LIMIT, Scene, state};
use crate::format::tracex::decode::Entry;
use crate::format::tracex::names::id;
use crate::model::{
    BitsOp, EventKind, HeapOp, Level, Nanos, ObjectKind, ObjectOp, Packed, PriorityChange, TimerCommand, TimerOp,
};

impl Scene<'_, '_> {
    /// The effect of a service on the kernel's objects.
    pub(super) fn service(&mut self, info: [u32; 4]) {
        use ObjectKind::{CountingSemaphore, MemoryPool, Queue, RecursiveMutex};
        let [object, one, two, three] = info;
        self.note_life(object);
        match self.entry.id {
            id::QUEUE_SEND | id::QUEUE_FRONT_SEND => {
                let held = (self.entry, self.time);
                self.core().send = Some(held);
            }
            id::QUEUE_RECEIVE if three > 0 => self.operate(object, Queue, ObjectOp::Receive, Level::known(three - 1)),
            id::QUEUE_RECEIVE if two == 0 => self.operate(object, Queue, ObjectOp::ReceiveFailed, Level::UNKNOWN),
            id::QUEUE_FLUSH => self.operate(object, Queue, ObjectOp::Reset, Level::known(0)),
            id::QUEUE_CREATE => {
                self.operate(object, Queue, ObjectOp::Create, Level::known(0));
                let item_bytes = one.saturating_mul(self.kernel.word_bytes);
                let items = three.checked_div(item_bytes);
                if let (queue, Some(object), Some(items)) = (object, self.object(object, Queue), items) {
                    self.kernel.capacities.insert(queue, items);
                    self.push(EventKind::Capacity { object, items, item_bytes });
                }
            }
            id::QUEUE_DELETE => self.operate(object, Queue, ObjectOp::Delete, Level::UNKNOWN),
            id::SEMAPHORE_GET if two > 0 => self.operate(object, CountingSemaphore, ObjectOp::Receive, Level::known(two - 1)),
            id::SEMAPHORE_GET if one == 0 => {
                self.operate(object, CountingSemaphore, ObjectOp::ReceiveFailed, Level::UNKNOWN);
            }
            id::SEMAPHORE_CEILING_PUT if one >= three && two == 0 => {
                self.operate(object, CountingSemaphore, ObjectOp::SendFailed, Level::UNKNOWN);
            }
            id::SEMAPHORE_PUT | id::SEMAPHORE_CEILING_PUT => {
                // A thread that waits gets it at once.
                let level = one.saturating_add(u32::from(two == 0));
                self.operate(object, CountingSemaphore, ObjectOp::Send, Level::known(level));
            }
            id::SEMAPHORE_CREATE => self.operate(object, CountingSemaphore, ObjectOp::Create, Level::known(one)),
            id::SEMAPHORE_DELETE => self.operate(object, CountingSemaphore, ObjectOp::Delete, Level::UNKNOWN),
            id::MUTEX_GET => self.mutex_get(info),
            id::MUTEX_PUT => self.mutex_put(info),
            id::MUTEX_DELETE => self.operate(object, RecursiveMutex, ObjectOp::Delete, Level::UNKNOWN),
            id::EVENT_FLAGS_CREATE => {
                if let Some(group) = self.object(object, ObjectKind::EventGroup) {
                    self.kernel.flags.insert(object, 0);
                    self.push(EventKind::Bits { object: group, op: BitsOp::Reported, bits: 0, after: 0 });
                }
            }
            id::EVENT_FLAGS_GET => self.flags_get(info),
            id::EVENT_FLAGS_SET => self.flags_set(info),
            id::BLOCK_POOL_CREATE => self.blocks_left(object, ObjectOp::Create, Some(two)),
            id::BLOCK_ALLOCATE if three > 0 => self.blocks_left(object, ObjectOp::Receive, Some(three - 1)),
            id::BLOCK_ALLOCATE if two == 0 => self.operate(object, MemoryPool, ObjectOp::ReceiveFailed, Level::UNKNOWN),
            id::BLOCK_RELEASE => {
                // A thread that waits gets it at once.
                let free = self.kernel.free_blocks.get(&object).map(|free| free.saturating_add(u32::from(two == 0)));
                self.blocks_left(object, ObjectOp::Send, free);
            }
            id::BYTE_ALLOCATE if one != 0 || three == 0 => {
                if self.kernel.blocks.len() < BLOCKS_LIMIT && one != 0 {
                    self.kernel.blocks.insert(one, two);
                    self.note_change(object);
                }
                self.push(EventKind::Heap { op: HeapOp::Allocate, address: Packed(u64::from(one)), bytes: two });
            }
            id::BYTE_RELEASE => {
                let bytes = self.kernel.blocks.remove(&one).unwrap_or(0);
                self.push(EventKind::Heap { op: HeapOp::Free, address: Packed(u64::from(one)), bytes });
                // The free bytes are those before this, since the last change: how much one of these costs is not recorded.
                let since = self.note_change(object).unwrap_or(self.time);
                if let Some(object) = self.object(object, MemoryPool) {
                    self.push(EventKind::LateObjectLevel { object, level: three, since: Packed(since.0) });
                }
            }
            id::BYTE_POOL_CREATE => _ = self.note_change(object),
            id::THREAD_CREATE => {
                if let Some(thread) = self.thread(object) {
                    (thread.priority, thread.has_priority) = (Some(one), true);
                    let task = thread.task;
                    self.push(EventKind::TaskCreated(task));
                    self.push(EventKind::Priority { task, priority: one.cast_signed(), change: PriorityChange::Set });
                }
            }
            id::THREAD_DELETE => {
                if let Some(task) = self.task(object) {
                    self.push(EventKind::TaskDeleted(task));
                    self.kernel.threads.remove(object);
                }
            }
            id::THREAD_SUSPEND_API => {
                let is_waiting = !matches!(one, state::READY | state::COMPLETED | state::TERMINATED | state::SUSPENDED);
                if let Some(thread) = self.thread(object) {
                    thread.is_delayed |= is_waiting;
                }
            }
            id::THREAD_RESUME_API => {
                if let Some(thread) = self.thread(object) {
                    thread.is_delayed = false;
                }
            }
            id::THREAD_TERMINATE if one != state::COMPLETED => self.terminate(object),
            id::THREAD_RESET => {
                if let Some(thread) = self.thread(object) {
                    thread.is_terminated = false;
                }
            }
            id::THREAD_PRIORITY_CHANGE => {
                if let Some(thread) = self.thread(object) {
                    (thread.priority, thread.is_set) = (Some(one), true);
                    let task = thread.task;
                    self.push(EventKind::Priority { task, priority: one.cast_signed(), change: PriorityChange::Set });
                }
            }
            id::TIMER_CREATE => {
                self.timer(object, TimerOp::Create { auto_reload: two != 0 }, if two != 0 { two } else { one });
                if three != 0 {
                    self.timer(object, TimerOp::Done(TimerCommand::Start), one);
                }
            }
            id::TIMER_ACTIVATE => self.timer(object, TimerOp::Done(TimerCommand::Start), 0),
            id::TIMER_DEACTIVATE => self.timer(object, TimerOp::Done(TimerCommand::Stop), 0),
            id::TIMER_CHANGE => self.timer(object, TimerOp::Done(TimerCommand::ChangePeriod), one),
            id::TIMER_DELETE => self.timer(object, TimerOp::Done(TimerCommand::Delete), 0),
            _ => {}
        }
    }

    /// The free bytes of a pool change. When they did before, if that is known.
    fn note_change(&mut self, pool: u32) -> Option<Nanos> {
        let changes = &mut self.kernel.changes;
        let has_room = changes.len() < BLOCKS_LIMIT || changes.contains_key(&pool);
        has_room.then(|| changes.insert(pool, self.time)).flatten()
    }

    /// The registry has only the last name of an address.
    fn note_life(&mut self, object: u32) {
        if id::is_creation(self.entry.id) {
            self.kernel.recreated += u64::from(self.kernel.deleted.remove(&object));
        } else if id::is_deletion(self.entry.id) && self.kernel.deleted.len() < BLOCKS_LIMIT {
            self.kernel.deleted.insert(object);
        }
    }

    /// A thread that waits is terminated without an entry of the scheduler.
    fn terminate(&mut self, pointer: u32) {
        let is_own = self.caller() == Some(pointer);
        let Some(thread) = self.thread(pointer) else { return };
        (thread.pending, thread.is_delayed, thread.is_terminated) = (None, false, true);
        if !is_own {
            thread.is_waiting = true;
            let task = thread.task;
            self.push(EventKind::Suspended(task));
        }
    }

    /// A block pool has this number of free blocks after an operation, if known.
    fn blocks_left(&mut self, pool: u32, op: ObjectOp, free: Option<u32>) {
        if let Some(free) = free.filter(|_| self.object(pool, ObjectKind::MemoryPool).is_some()) {
            self.kernel.free_blocks.insert(pool, free);
        }
        self.operate(pool, ObjectKind::MemoryPool, op, free.map_or(Level::UNKNOWN, Level::known));
    }

    fn timer(&mut self, pointer: u32, op: TimerOp, kernel_ticks: u32) {
        if let Some(object) = self.object(pointer, ObjectKind::Timer) {
            self.push(EventKind::Timer { object, op, kernel_ticks });
        }
    }

    /// The next entry of the core shows what became of a message: its sender waits if the queue is full, and a thread that waited for it
    /// gets it at once. If the queue's capacity is known, its level shows whether it was full.
    pub(super) fn settle_send(&mut self) {
        if self.core().send.is_some()
            && let Some((sent, time)) = self.core().send.take()
        {
            let after = std::mem::replace(&mut self.entry, sent);
            let now = std::mem::replace(&mut self.time, time);
            self.sent(Some(after));
            (self.entry, self.time) = (after, now);
        }
    }

    pub(super) fn sent(&mut self, after: Option<Entry>) {
        let [queue, _, wait_option, enqueued] = self.entry.info;
        let [one, state, ..] = after.map_or([0; 4], |after| after.info);
        let is_full = self.kernel.capacities.get(&queue) == Some(&enqueued);
        let level = match after.map_or(0, |after| after.id) {
            id::THREAD_SUSPEND if state == state::QUEUE && one == self.entry.thread && wait_option != 0 => return,
            _ if is_full && wait_option == 0 => {
                return self.operate(queue, ObjectKind::Queue, ObjectOp::SendFailed, Level::UNKNOWN);
            }
            // It waits, as soon as an interrupt has ended.
            _ if is_full => return,
            id::THREAD_RESUME if state == state::QUEUE && self.awaits_message(one, queue, enqueued) => enqueued,
            // If waits are not recorded, a thread may have got it at once.
            _ if enqueued == 0 && !self.kernel.handles.waits_are_recorded => {
                return self.operate(queue, ObjectKind::Queue, ObjectOp::Send, Level::UNKNOWN);
            }
            _ => enqueued.saturating_add(1),
        };
        self.operate(queue, ObjectKind::Queue, ObjectOp::Send, Level::known(level));
    }

    /// Whether a thread waits for a message of a queue. If its call is unknown, it may if the queue is empty.
    fn awaits_message(&self, thread: u32, queue: u32, enqueued: u32) -> bool {
        match self.kernel.threads.get(thread).and_then(|thread| thread.pending) {
            Some((call, _)) => call.id == id::QUEUE_RECEIVE && call.info[0] == queue,
            None => enqueued == 0,
        }
    }

    fn mutex_get(&mut self, [mutex, wait_option, owner, count]: [u32; 4]) {
        let Some(object) = self.object(mutex, ObjectKind::RecursiveMutex) else { return };
        if owner == 0 {
            self.kernel.owners.insert(mutex, self.entry.thread);
            return self.operate(mutex, ObjectKind::RecursiveMutex, ObjectOp::Receive, Level::UNKNOWN);
        }
        if self.kernel.owners.insert(mutex, owner) != Some(owner)
            && let Some(task) = self.task(owner)
        {
            self.push(EventKind::Holder { object, task: Some(task) });
        }
        if owner == self.entry.thread {
            self.push(EventKind::Depth { object, depth: count.saturating_add(1) });
        } else if wait_option == 0 {
            self.operate(mutex, ObjectKind::RecursiveMutex, ObjectOp::ReceiveFailed, Level::UNKNOWN);
        }
    }

    fn mutex_put(&mut self, [mutex, owner, count, _]: [u32; 4]) {
        // The kernel gives back the mutexes of a thread that is terminated; other threads cannot.
        if owner != self.entry.thread && !self.kernel.threads.get(owner).is_some_and(|owner| owner.is_terminated) {
            return;
        }
        let Some(object) = self.object(mutex, ObjectKind::RecursiveMutex) else { return };
        match count {
            0 | 1 => {
                self.kernel.owners.remove(&mutex);
                self.operate(mutex, ObjectKind::RecursiveMutex, ObjectOp::Send, Level::UNKNOWN);
            }
            _ => self.push(EventKind::Depth { object, depth: count - 1 }),
        }
    }

    fn flags_get(&mut self, [group, requested, current, option]: [u32; 4]) {
        let Some(object) = self.object(group, ObjectKind::EventGroup) else { return };
        self.push(EventKind::Bits { object, op: BitsOp::Reported, bits: current, after: current });
        let mut after = current;
        if are_there(current, Call { id: id::EVENT_FLAGS_GET, info: [group, requested, current, option] }) && option & CLEAR != 0
        {
            after = current & !requested;
            self.push(EventKind::Bits { object, op: BitsOp::WaitEnded, bits: requested, after });
        }
        self.kernel.flags.insert(group, after);
    }

    /// The flags after that are known if those before are. Threads that wait may clear them, when they are resumed.
    fn flags_set(&mut self, [group, flags, option, _]: [u32; 4]) {
        let Some(&before) = self.kernel.flags.get(&group) else { return };
        let Some(object) = self.object(group, ObjectKind::EventGroup) else { return };
        let is_and = option & ALL != 0;
        let after = if is_and { before & flags } else { before | flags };
        let (op, bits) = if is_and { (BitsOp::Clear, !flags) } else { (BitsOp::Set, flags) };
        self.push(EventKind::Bits { object, op, bits, after });
        self.kernel.flags.insert(group, after);
    }
}
