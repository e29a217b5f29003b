//! The simulated kernel of one core: priorities, waiting, levels, ownership, interrupts. One state machine.
//!
//! It follows the order of the real kernel and its trace hooks: a wait is reported before the switch that ends the task's run; a send
//! before the wake-up that it causes; the give of a mutex disinherits before it wakes a task; a receive that had to wait is reported when
//! the task runs again and receives an item.

use super::super::record::{QueueKind, Record};
use super::firmware::{self as plan, FOREVER, Step};
use super::{GenerateOptions, Random, SlowTask, Stream};

/// The timer runs at 40 MHz, the kernel ticks every millisecond.
const NS_PER_TS: u64 = 25;
const KERNEL_TICK: u64 = 40_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Ready, or running.
    Ready,
    Waiting {
        queue: Option<usize>,
        until: Option<u32>,
    },
    Suspended,
    /// Not created yet, or deleted.
    Absent,
}

struct Task {
    id: u32,
    priority: u32,
    base_priority: u32,
    state: State,
    /// The index of its current step, and the rest of that step's work.
    step: usize,
    work: Option<u64>,
    timed_out: bool,
    /// When it became ready: tasks of equal priority run in this order.
    ready_since: u64,
}

struct Queue {
    id: u32,
    level: u32,
    holder: Option<usize>,
}

pub(super) struct Kernel {
    core: u32,
    now: u64,
    kernel_tick: u32,
    next_tick: u64,
    next_byte: u64,
    tasks: Vec<Task>,
    queues: Vec<Queue>,
    current: Option<usize>,
    ready_count: u64,
    must_schedule: bool,
    value: i64,
    jobs: u32,
    random: Random,
    is_booted: bool,
    slow_task: Option<SlowTask>,
}

/// The limit of spawned jobs, so that a long capture does not have too many tasks.
const JOBS_LIMIT: u32 = 100;

impl Kernel {
    pub(super) fn new(core: u16, options: &GenerateOptions, stream: &mut Stream<'_>) -> Kernel {
        let mut random = Random::new(options.seed.wrapping_add(u64::from(core) << 32));
        let tasks = plan::TASKS.iter().enumerate().map(|(index, task)| Task {
            id: if index == plan::JOB { 0 } else { stream.next_task_id() },
            priority: task.priority,
            base_priority: task.priority,
            state: if index == plan::JOB { State::Absent } else { State::Ready },
            step: 0,
            work: None,
            timed_out: false,
            ready_since: 0,
        });
        let tasks = tasks.collect();
        let queues = plan::QUEUES.iter().map(|queue| Queue { id: stream.next_queue_id(), level: queue.level, holder: None });
        let queues = queues.collect();
        let now = 40_000 + u64::from(random.below(20_000));
        Kernel {
            core: u32::from(core),
            now,
            kernel_tick: 0,
            next_tick: now + KERNEL_TICK,
            next_byte: now + KERNEL_TICK,
            tasks,
            queues,
            current: None,
            ready_count: 0,
            must_schedule: true,
            value: 0,
            jobs: 0,
            random,
            is_booted: false,
            slow_task: options.slow_task,
        }
    }

    pub(super) fn core(&self) -> u32 {
        self.core
    }

    pub(super) fn now(&self) -> u64 {
        self.now
    }

    /// Writes the metadata with which a recording starts.
    pub(super) fn describe(&self, stream: &mut Stream<'_>) {
        stream.write_frame(&Record::TsResolutionNs { ns_per_ts: NS_PER_TS });
        for &(isr_id, name) in plan::ISRS {
            stream.write_frame(&Record::IsrName { isr_id, name: name.as_bytes() });
        }
        for &(evtmarker_id, name) in plan::EVENT_MARKERS {
            stream.write_frame(&Record::EvtmarkerName { evtmarker_id, name: name.as_bytes() });
        }
        for &(valmarker_id, name) in plan::VALUE_MARKERS {
            stream.write_frame(&Record::ValmarkerName { valmarker_id, name: name.as_bytes() });
        }
        for (queue, planned) in self.queues.iter().zip(plan::QUEUES) {
            stream.write_frame(&Record::QueueKind { queue_id: queue.id, kind: planned.kind });
            stream.write_frame(&Record::QueueName { queue_id: queue.id, name: planned.name.as_bytes() });
        }
        for (task, planned) in self.tasks.iter().zip(plan::TASKS).take(plan::JOB) {
            stream.write_frame(&Record::TaskName { task_id: task.id, name: planned.name.as_bytes() });
        }
        stream.write_frame(&Record::TaskIsIdleTask { task_id: self.tasks[plan::IDLE].id, core_id: self.core });
        stream.write_frame(&Record::TaskIsTimerTask { task_id: self.tasks[plan::TIMER_SERVICE].id });
        for &(task, evtmarker_id, name) in plan::TASK_EVENT_MARKERS {
            stream.write_frame(&Record::TaskEvtmarkerName { evtmarker_id, task_id: self.tasks[task].id, name: name.as_bytes() });
        }
        for &(task, valmarker_id, name) in plan::TASK_VALUE_MARKERS {
            stream.write_frame(&Record::TaskValmarkerName { valmarker_id, task_id: self.tasks[task].id, name: name.as_bytes() });
        }
    }

    /// Runs until the timer is at `end`, or the stream is full.
    pub(super) fn run(&mut self, end: u64, stream: &mut Stream<'_>) {
        if !self.is_booted && self.now < end {
            self.is_booted = true;
            self.boot(stream);
        }
        while self.now < end && !stream.is_full() {
            if self.now >= self.next_tick {
                self.tick_interrupt(stream);
            } else if self.now >= self.next_byte {
                self.byte_interrupt(stream);
            }
            if self.must_schedule {
                self.schedule(stream);
            }
            if let Some(current) = self.current {
                self.step(current, stream);
            }
        }
    }

    fn boot(&mut self, stream: &mut Stream<'_>) {
        for index in 0..self.queues.len() {
            let (queue_id, level) = (self.queues[index].id, self.queues[index].level);
            self.event(stream, |ts| Record::QueueCreated { ts, queue_id });
            self.event(stream, |ts| Record::QueueCurLength { ts, queue_id, length: level });
        }
        for index in 0..plan::JOB {
            let (task_id, priority) = (self.tasks[index].id, self.tasks[index].priority);
            self.event(stream, |ts| Record::TaskCreated { ts, task_id });
            self.event(stream, |ts| Record::TaskPrioritySet { ts, task_id, priority });
            self.make_ready(index, stream);
        }
    }

    /// Writes an event. Tracing it takes its time.
    fn event(&mut self, stream: &mut Stream<'_>, record: impl FnOnce(u64) -> Record<&'static [u8]>) {
        stream.event(self.now, &record(self.now));
        self.now += u64::from(8 + self.random.below(32));
    }

    fn make_ready(&mut self, task: usize, stream: &mut Stream<'_>) {
        self.ready_count += 1;
        let ready_since = self.ready_count;
        let task = &mut self.tasks[task];
        task.state = State::Ready;
        task.ready_since = ready_since;
        self.must_schedule = true;
        let task_id = task.id;
        self.event(stream, |ts| Record::TaskToRdyState { ts, task_id });
    }

    /// Gives the core to the ready task of the highest priority; the running one keeps it among equals.
    fn schedule(&mut self, stream: &mut Stream<'_>) {
        self.must_schedule = false;
        let ready = self.tasks.iter().enumerate().filter(|(_, task)| task.state == State::Ready);
        let current = self.current;
        let best = ready.max_by_key(|&(index, task)| (task.priority, current == Some(index), u64::MAX - task.ready_since));
        let Some((best, task)) = best else { return };
        if current != Some(best) {
            let task_id = task.id;
            self.current = Some(best);
            self.now += 20;
            self.event(stream, |ts| Record::TaskSwitchedIn { ts, task_id });
        }
    }

    fn tick_interrupt(&mut self, stream: &mut Stream<'_>) {
        self.next_tick += KERNEL_TICK;
        self.kernel_tick += 1;
        self.event(stream, |ts| Record::IsrEnter { ts, isr_id: plan::TICK_ISR });
        for index in 0..self.tasks.len() {
            let task = &mut self.tasks[index];
            if let State::Waiting { queue, until: Some(until) } = task.state
                && until <= self.kernel_tick
            {
                task.timed_out = queue.is_some();
                self.make_ready(index, stream);
            }
        }
        if self.kernel_tick.is_multiple_of(3) {
            self.send_from_isr(plan::DMA_DONE, stream);
        }
        if self.queues[plan::TX_BYTES].level > 0 {
            self.receive_from_isr(plan::TX_BYTES, stream);
        }
        if self.kernel_tick.is_multiple_of(60) && self.tasks[plan::STANDBY].state == State::Suspended {
            let task_id = self.tasks[plan::STANDBY].id;
            self.event(stream, |ts| Record::TaskResumedFromIsr { ts, task_id });
            self.make_ready(plan::STANDBY, stream);
        }
        if self.now >= self.next_byte || self.random.one_in(16) {
            self.byte_interrupt(stream);
        }
        self.event(stream, |ts| Record::IsrExit { ts, isr_id: plan::TICK_ISR });
    }

    fn byte_interrupt(&mut self, stream: &mut Stream<'_>) {
        self.next_byte = self.now + KERNEL_TICK + u64::from(self.random.below(6 * 40_000));
        self.event(stream, |ts| Record::IsrEnter { ts, isr_id: plan::UART_ISR });
        self.send_from_isr(plan::RX_BYTES, stream);
        self.event(stream, |ts| Record::IsrExit { ts, isr_id: plan::UART_ISR });
    }

    fn send_from_isr(&mut self, queue: usize, stream: &mut Stream<'_>) {
        if self.queues[queue].level >= plan::QUEUES[queue].capacity {
            return;
        }
        self.queues[queue].level += 1;
        let (queue_id, len_after) = (self.queues[queue].id, self.queues[queue].level);
        self.event(stream, |ts| Record::QueueSendFromIsr { ts, queue_id, len_after });
        self.wake_waiter(queue, stream);
    }

    fn receive_from_isr(&mut self, queue: usize, stream: &mut Stream<'_>) {
        self.queues[queue].level -= 1;
        let (queue_id, len_after) = (self.queues[queue].id, self.queues[queue].level);
        self.event(stream, |ts| Record::QueueReceiveFromIsr { ts, queue_id, len_after });
        self.wake_waiter(queue, stream);
    }

    /// Readies the most important task that waits for this queue. (None has tasks waiting at both of its ends.)
    fn wake_waiter(&mut self, queue: usize, stream: &mut Stream<'_>) {
        let waits = |task: &Task| matches!(task.state, State::Waiting { queue: Some(waits_for), .. } if waits_for == queue);
        let waiters = self.tasks.iter().enumerate().filter(|(_, task)| waits(task));
        if let Some((waiter, _)) = waiters.max_by_key(|(_, task)| task.priority) {
            self.make_ready(waiter, stream);
        }
    }

    /// Runs the next step of the running task, or a part of it.
    fn step(&mut self, current: usize, stream: &mut Stream<'_>) {
        let steps = plan::TASKS[current].steps;
        let at = self.tasks[current].step;
        let mut next = at + 1;
        match steps[at] {
            Step::Work(average) => {
                let random = u64::from(average / 2 + self.random.below(average));
                let left = self.tasks[current].work.take().unwrap_or_else(|| SlowTask::work(self.slow_task, current, random));
                let until_interrupt = self.next_tick.min(self.next_byte).saturating_sub(self.now);
                self.now += left.min(until_interrupt);
                if left > until_interrupt {
                    self.tasks[current].work = Some(left - until_interrupt);
                    next = at;
                }
            }
            Step::Delay(ticks) => {
                self.event(stream, |ts| Record::CurtaskDelay { ts, ticks });
                self.wait(current, None, self.kernel_tick + ticks);
            }
            Step::DelayUntil(period) => {
                let time_to_wake = (self.kernel_tick / period + 1) * period;
                self.event(stream, |ts| Record::CurtaskDelayUntil { ts, time_to_wake });
                self.wait(current, None, time_to_wake);
            }
            Step::Receive(queue, ticks_to_wait) => next = self.receive(current, queue, ticks_to_wait, stream),
            Step::Send(queue) => next = self.send(current, queue, stream),
            Step::Suspend => {
                let task_id = self.tasks[current].id;
                self.event(stream, |ts| Record::TaskSuspended { ts, task_id });
                self.tasks[current].state = State::Suspended;
                self.must_schedule = true;
            }
            Step::Resume(task) => {
                if self.tasks[task].state == State::Suspended {
                    let task_id = self.tasks[task].id;
                    self.event(stream, |ts| Record::TaskResumed { ts, task_id });
                    self.make_ready(task, stream);
                }
            }
            Step::ChangePriority(task, priorities) => {
                let priority = priorities[self.random.below(2) as usize];
                let task = &mut self.tasks[task];
                (task.priority, task.base_priority) = (priority, priority);
                let task_id = task.id;
                self.must_schedule = true;
                self.event(stream, |ts| Record::TaskPrioritySet { ts, task_id, priority });
            }
            Step::SpawnJob => self.spawn_job(stream),
            Step::Delete => {
                let task_id = self.tasks[current].id;
                self.event(stream, |ts| Record::TaskDeleted { ts, task_id });
                self.tasks[current].state = State::Absent;
                self.must_schedule = true;
            }
            Step::OneIn(count, steps) => {
                if !self.random.one_in(count) {
                    next += steps;
                }
            }
            marker => self.mark(marker, stream),
        }
        self.tasks[current].step = if next < steps.len() { next } else { 0 };
    }

    fn mark(&mut self, marker: Step, stream: &mut Stream<'_>) {
        self.value += i64::from(self.random.below(64)) - 32;
        let val = self.value;
        self.event(stream, |ts| match marker {
            Step::SpanBegin(evtmarker_id, msg) => Record::EvtmarkerBegin { ts, evtmarker_id, msg: msg.as_bytes() },
            Step::SpanEnd(evtmarker_id) => Record::EvtmarkerEnd { ts, evtmarker_id },
            Step::Instant(evtmarker_id, msg) => Record::Evtmarker { ts, evtmarker_id, msg: msg.as_bytes() },
            Step::TaskSpanBegin(evtmarker_id, msg) => Record::TaskEvtmarkerBegin { ts, evtmarker_id, msg: msg.as_bytes() },
            Step::TaskSpanEnd(evtmarker_id) => Record::TaskEvtmarkerEnd { ts, evtmarker_id },
            Step::TaskInstant(evtmarker_id, msg) => Record::TaskEvtmarker { ts, evtmarker_id, msg: msg.as_bytes() },
            Step::TaskValue(valmarker_id) => Record::TaskValmarker { ts, valmarker_id, val },
            Step::Value(valmarker_id) => Record::Valmarker { ts, valmarker_id, val },
            other => unreachable!("{other:?} is not a marker"),
        });
    }

    fn wait(&mut self, task: usize, queue: Option<usize>, until: u32) {
        let until = (until != FOREVER).then_some(until);
        self.tasks[task].state = State::Waiting { queue, until };
        self.must_schedule = true;
    }

    /// Receives from a queue, or waits. Returns the next step.
    fn receive(&mut self, current: usize, queue: usize, ticks_to_wait: u32, stream: &mut Stream<'_>) -> usize {
        let at = self.tasks[current].step;
        let queue_id = self.queues[queue].id;
        if self.queues[queue].level > 0 {
            self.tasks[current].timed_out = false;
            self.queues[queue].level -= 1;
            let len_after = self.queues[queue].level;
            self.event(stream, |ts| Record::QueueReceive { ts, queue_id, len_after });
            if is_mutex(queue) {
                self.queues[queue].holder = Some(current);
            } else {
                self.wake_waiter(queue, stream);
            }
            return at + 1;
        }
        if std::mem::take(&mut self.tasks[current].timed_out) {
            return 0;
        }
        self.event(stream, |ts| Record::CurtaskBlockOnQueueReceive { ts, queue_id, ticks_to_wait });
        if let Some(holder) = self.queues[queue].holder {
            self.inherit(current, holder, stream);
        }
        self.wait(current, Some(queue), self.kernel_tick.saturating_add(ticks_to_wait));
        at
    }

    /// Sends to a queue, or waits while it is full. Returns the next step.
    fn send(&mut self, current: usize, queue: usize, stream: &mut Stream<'_>) -> usize {
        let at = self.tasks[current].step;
        let queue_id = self.queues[queue].id;
        if self.queues[queue].level >= plan::QUEUES[queue].capacity {
            if plan::QUEUES[queue].kind == QueueKind::CountingSemaphore || queue == plan::TX_BYTES {
                return at + 1;
            }
            self.event(stream, |ts| Record::CurtaskBlockOnQueueSend { ts, queue_id, ticks_to_wait: FOREVER });
            self.wait(current, Some(queue), FOREVER);
            return at;
        }
        self.queues[queue].level += 1;
        let len_after = self.queues[queue].level;
        self.event(stream, |ts| Record::QueueSend { ts, queue_id, len_after });
        if is_mutex(queue) {
            self.queues[queue].holder = None;
            self.disinherit(current, stream);
        }
        self.wake_waiter(queue, stream);
        at + 1
    }

    /// Raises the holder of a mutex to the priority of the task that waits for it.
    fn inherit(&mut self, waiter: usize, holder: usize, stream: &mut Stream<'_>) {
        let priority = self.tasks[waiter].priority;
        if self.tasks[holder].priority >= priority {
            return;
        }
        self.tasks[holder].priority = priority;
        let task_id = self.tasks[holder].id;
        if self.tasks[holder].state == State::Ready {
            self.make_ready(holder, stream);
        }
        self.event(stream, |ts| Record::TaskPriorityInherit { ts, task_id, priority });
    }

    fn disinherit(&mut self, current: usize, stream: &mut Stream<'_>) {
        let priority = self.tasks[current].base_priority;
        if self.tasks[current].priority == priority {
            return;
        }
        self.tasks[current].priority = priority;
        let task_id = self.tasks[current].id;
        self.event(stream, |ts| Record::TaskPriorityDisinherit { ts, task_id, priority });
        self.make_ready(current, stream);
    }

    fn spawn_job(&mut self, stream: &mut Stream<'_>) {
        if self.tasks[plan::JOB].state != State::Absent || self.jobs == JOBS_LIMIT {
            return;
        }
        self.jobs += 1;
        let (task_id, priority) = (stream.next_task_id(), self.tasks[plan::JOB].priority);
        self.tasks[plan::JOB].id = task_id;
        self.event(stream, |ts| Record::TaskCreated { ts, task_id });
        self.event(stream, |ts| Record::TaskPrioritySet { ts, task_id, priority });
        stream.write_frame(&Record::TaskName { task_id, name: plan::TASKS[plan::JOB].name.as_bytes() });
        self.make_ready(plan::JOB, stream);
    }
}

fn is_mutex(queue: usize) -> bool {
    matches!(plan::QUEUES[queue].kind, QueueKind::Mutex | QueueKind::RecursiveMutex)
}
