//! A small FreeRTOS: tasks by priority, ticks, queues and mutexes, and their hooks in the order in which the kernel calls them.

use std::collections::VecDeque;

use super::super::record::id;
use super::super::record::object_type::{BINARY_SEMAPHORE, COUNTING_SEMAPHORE, MUTEX, QUEUE, RECURSIVE_MUTEX, TASK, TYPES};
use super::GenerateOptions;
use super::port::{Port, TICK_NS};
use crate::format::generated::Random;

/// One step of a task.
#[derive(Clone, Copy, Debug)]
enum Step {
    /// Computes for about N microseconds.
    Work(u64),
    /// Waits for N ticks.
    Delay(u64),
    /// Waits for the next multiple of N ticks.
    DelayUntil(u64),
    /// Takes or receives, and waits until that is possible.
    Take(usize),
    /// Takes or receives without waiting.
    TryTake(usize),
    /// Gives or sends.
    Give(usize),
    /// Takes a recursive mutex twice, works, and gives it back twice.
    Nested(usize),
    /// A user's marker: id and number of data bytes.
    Marker(u8, usize),
    /// Allocates memory, works, and frees it.
    Memory(u16),
    /// Suspends itself.
    Suspend,
    /// Resumes a task, if it is suspended.
    Resume(usize),
    /// Sets its own priority.
    Priority(u8),
}

struct Plan {
    name: &'static str,
    priority: u8,
    steps: &'static [Step],
}

const SAMPLES: usize = 0;
const LINES: usize = 1;
const BUS: usize = 2;
const SLOTS: usize = 3;
const DONE: usize = 4;
const FLASH: usize = 5;

/// Objects: type, number, initial items, capacity.
const OBJECTS: [(u8, u8, u32, u32); 6] = [
    (QUEUE, 1, 0, 8),
    (QUEUE, 2, 0, 4),
    (MUTEX, 1, 1, 1),
    (COUNTING_SEMAPHORE, 1, 2, 3),
    (BINARY_SEMAPHORE, 1, 0, 1),
    (RECURSIVE_MUTEX, 1, 1, 1),
];

const STANDBY: usize = 8;

const PLANS: &[Plan] = &[
    Plan { name: "sniffTask", priority: 1, steps: &[Step::Delay(10), Step::Work(40)] },
    Plan {
        name: "sampler",
        priority: 5,
        steps: &[Step::DelayUntil(5), Step::Marker(75, 2), Step::Work(60), Step::Give(SAMPLES), Step::Resume(STANDBY)],
    },
    Plan {
        name: "filter",
        priority: 4,
        steps: &[Step::Take(SAMPLES), Step::Work(150), Step::Memory(64), Step::Marker(73, 0), Step::Give(LINES)],
    },
    Plan { name: "logger", priority: 2, steps: &[Step::Take(LINES), Step::Take(BUS), Step::Work(400), Step::Give(BUS)] },
    Plan { name: "display", priority: 6, steps: &[Step::Delay(3), Step::Take(BUS), Step::Work(30), Step::Give(BUS)] },
    Plan { name: "storage", priority: 3, steps: &[Step::Nested(FLASH), Step::Work(90), Step::Delay(17)] },
    Plan { name: "uartRx", priority: 7, steps: &[Step::Take(DONE), Step::Work(25), Step::Memory(1040), Step::Marker(74, 0)] },
    Plan { name: "poller", priority: 3, steps: &[Step::TryTake(SLOTS), Step::Work(15), Step::Delay(9), Step::Give(SLOTS)] },
    Plan {
        name: "standby",
        priority: 6,
        steps: &[Step::Suspend, Step::Work(35), Step::Priority(3), Step::Work(80), Step::Priority(6)],
    },
    Plan { name: "IDLE", priority: 0, steps: &[] },
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Ready,
    Delayed(u64),
    Waiting(usize),
    Suspended,
}

struct Task {
    state: State,
    base: u8,
    priority: u8,
    step: usize,
    /// The rest of its current work, in nanoseconds.
    work: u64,
    /// The remaining kernel calls of its current step.
    calls: VecDeque<Call>,
    /// When it became ready: tasks of the same priority take turns.
    since: u64,
    holds: u32,
}

/// A part of a step.
#[derive(Clone, Copy, Debug)]
enum Call {
    Work(u64),
    Take(usize),
    Give(usize),
    Hook(u8, [u8; 2], usize),
}

struct Object {
    items: u32,
    room: u32,
    holder: Option<usize>,
}

pub struct Kernel<'t> {
    pub port: Port<'t>,
    random: Random,
    is_tickless: bool,
    tasks: Vec<Task>,
    objects: Vec<Object>,
    current: usize,
    /// The time of the next tick.
    edge: u64,
    turns: u64,
    /// The time of the next interrupt.
    interrupt: u64,
}

impl<'t> Kernel<'t> {
    pub fn new(port: Port<'t>, options: &GenerateOptions) -> Kernel<'t> {
        let mut kernel = Kernel {
            port,
            random: Random(options.seed),
            is_tickless: options.is_tickless,
            tasks: Vec::new(),
            objects: Vec::new(),
            current: 0,
            edge: TICK_NS,
            turns: 0,
            interrupt: 3_300_000,
        };
        kernel.start();
        kernel
    }

    fn start(&mut self) {
        for (index, plan) in PLANS.iter().enumerate() {
            let task = Task {
                state: State::Ready,
                base: plan.priority,
                priority: plan.priority,
                step: 0,
                work: 0,
                calls: VecDeque::new(),
                since: index as u64,
                holds: 0,
            };
            self.tasks.push(task);
            self.port.hook(id::MALLOC, &[4, 16]);
            self.port.hook(id::TASK_CREATE, &[number(index)]);
            self.listed(index);
        }
        for (type_number, object, items, room) in OBJECTS {
            self.objects.push(Object { items, room, holder: None });
            self.port.hook(id::MALLOC, &[0, 80]);
            self.port.hook(id::QUEUE_CREATE, &[object]);
            match type_number {
                MUTEX | RECURSIVE_MUTEX => {
                    self.port.hook(id::CREATE_MUTEX, &[object]);
                    self.port.hook(id::QUEUE_SEND, &[type_number, object]);
                }
                COUNTING_SEMAPHORE => self.port.hook(id::CREATE_COUNTING_SEMAPHORE, &[]),
                _ => {}
            }
        }
        let mut lists: [Vec<String>; TYPES] = Default::default();
        for (type_number, ..) in OBJECTS {
            lists[usize::from(type_number)].push("Queue".to_owned());
        }
        lists[usize::from(TASK)] = PLANS.iter().map(|plan| plan.name.to_owned()).collect();
        self.port.lists(&lists);
        self.current = self.highest();
        self.port.hook(id::TASK_SWITCHED_IN, &[number(self.current)]);
    }

    fn highest(&self) -> usize {
        let ready = (0..self.tasks.len()).filter(|&task| self.tasks[task].state == State::Ready);
        ready
            .max_by_key(|&task| (self.tasks[task].priority, std::cmp::Reverse(self.tasks[task].since)))
            .unwrap_or(PLANS.len() - 1)
    }

    /// Adds a task to its ready list.
    fn listed(&mut self, task: usize) {
        self.turns += 1;
        self.tasks[task].since = self.turns;
        self.port.hook(id::MOVED_TASK_TO_READY_STATE, &[number(task)]);
        self.port.hook(id::POST_MOVED_TASK_TO_READY_STATE, &[number(task)]);
    }

    fn make_ready(&mut self, task: usize) {
        self.tasks[task].state = State::Ready;
        self.listed(task);
    }

    fn switch(&mut self) {
        let next = self.highest();
        if next != self.current {
            self.port.hook(id::TASK_SWITCHED_OUT, &[number(self.current)]);
            self.port.now += 400;
            self.current = next;
            self.port.hook(id::TASK_SWITCHED_IN, &[number(next)]);
        }
    }

    /// Runs the interrupts that are due, between two calls of the kernel.
    fn interrupts(&mut self) {
        if self.port.now >= self.edge {
            self.edge += TICK_NS;
            self.port.now += 300;
            self.port.hook(id::TASK_INCREMENT_TICK, &[]);
            self.port.tick += 1;
            let tick = self.port.tick;
            for task in 0..self.tasks.len() {
                if matches!(self.tasks[task].state, State::Delayed(until) if until <= tick) {
                    self.make_ready(task);
                }
            }
        }
        if self.port.now >= self.interrupt {
            self.interrupt = self.port.now + 200_000 + self.random.below(9_000_000);
            if self.objects[DONE].items < self.objects[DONE].room {
                self.hook_of_object(DONE, id::QUEUE_SEND_FROM_ISR);
            } else {
                self.port.hook(id::QUEUE_SEND_FROM_ISR_FAILED, &object_data(DONE));
            }
        }
        self.switch();
    }

    /// Runs the next step of the current task.
    pub fn step(&mut self) {
        self.interrupts();
        let task = self.current;
        if task == PLANS.len() - 1 {
            return self.idle();
        }
        if self.tasks[task].work > 0 {
            let until = self.edge.min(self.interrupt).max(self.port.now);
            let spent = self.tasks[task].work.min(until - self.port.now).max(1);
            self.tasks[task].work = self.tasks[task].work.saturating_sub(spent);
            self.port.now += spent;
            return;
        }
        match self.tasks[task].calls.pop_front() {
            Some(call) => self.call(call),
            None => self.next_step(),
        }
        self.switch();
    }

    fn next_step(&mut self) {
        let task = self.current;
        let steps = PLANS[task].steps;
        let step = steps[self.tasks[task].step % steps.len()];
        self.tasks[task].step += 1;
        let calls = &mut self.tasks[task].calls;
        match step {
            Step::Work(us) => self.tasks[task].work = us * 700 + self.random.below(us * 600),
            Step::Delay(ticks) => self.delay(id::TASK_DELAY, ticks, self.port.tick + ticks),
            Step::DelayUntil(period) => self.delay(id::TASK_DELAY_UNTIL, period, (self.port.tick / period + 1) * period),
            Step::Take(object) => calls.push_back(Call::Take(object)),
            Step::Give(object) => calls.push_back(Call::Give(object)),
            Step::TryTake(object) if self.objects[object].items > 0 => calls.push_back(Call::Take(object)),
            Step::TryTake(object) => self.port.hook(id::QUEUE_RECEIVE_FAILED, &object_data(object)),
            Step::Nested(object) => {
                let [type_number, object_number] = object_data(object);
                let hook = |id| Call::Hook(id, [type_number, object_number], 2);
                calls.extend([hook(id::TAKE_MUTEX_RECURSIVE), Call::Take(object), Call::Work(20_000)]);
                calls.extend([hook(id::TAKE_MUTEX_RECURSIVE), Call::Work(50_000), hook(id::GIVE_MUTEX_RECURSIVE)]);
                calls.extend([hook(id::GIVE_MUTEX_RECURSIVE), Call::Give(object)]);
            }
            Step::Marker(marker, len) => {
                let value = (self.random.below(4096) as u16).to_be_bytes();
                self.port.hook(marker, &value[..len]);
            }
            Step::Memory(bytes) => {
                let bytes = bytes.to_be_bytes();
                calls.extend([Call::Hook(id::MALLOC, bytes, 2), Call::Work(15_000), Call::Hook(id::FREE, bytes, 2)]);
            }
            Step::Suspend => {
                self.port.hook(id::TASK_SUSPEND, &[number(task)]);
                self.tasks[task].state = State::Suspended;
            }
            Step::Resume(other) => {
                if self.tasks[other].state == State::Suspended && self.random.one_in(4) {
                    self.port.hook(id::TASK_RESUME, &[number(other)]);
                    self.make_ready(other);
                }
            }
            Step::Priority(priority) => {
                self.port.hook(id::TASK_PRIORITY_SET, &[number(task), priority]);
                (self.tasks[task].base, self.tasks[task].priority) = (priority, priority);
                self.listed(task);
            }
        }
    }

    fn delay(&mut self, id: u8, ticks: u64, until: u64) {
        let [high, low] = (ticks as u16).to_be_bytes();
        self.port.hook(id, &[number(self.current), high, low]);
        self.tasks[self.current].state = State::Delayed(until);
    }

    fn call(&mut self, call: Call) {
        let task = self.current;
        match call {
            Call::Work(ns) => self.tasks[task].work = ns,
            Call::Hook(id, data, len) => self.port.hook(id, &data[..len]),
            Call::Take(object) if self.objects[object].items > 0 => {
                self.objects[object].items -= 1;
                self.port.hook(id::QUEUE_RECEIVE, &object_data(object));
                if is_mutex(object) {
                    self.objects[object].holder = Some(task);
                    self.tasks[task].holds += 1;
                }
                self.wake(object);
            }
            Call::Take(object) => {
                self.inherit(object);
                self.port.hook(id::BLOCKING_ON_QUEUE_RECEIVE, &object_data(object));
                self.wait(object, call);
            }
            Call::Give(object) if self.objects[object].items < self.objects[object].room => {
                if is_mutex(object) {
                    self.disinherit(object);
                }
                self.hook_of_object(object, id::QUEUE_SEND);
            }
            Call::Give(object) if OBJECTS[object].0 != QUEUE => self.port.hook(id::QUEUE_SEND_FAILED, &object_data(object)),
            Call::Give(object) => {
                self.port.hook(id::BLOCKING_ON_QUEUE_SEND, &object_data(object));
                self.wait(object, call);
            }
        }
    }

    fn wait(&mut self, object: usize, call: Call) {
        self.tasks[self.current].calls.push_front(call);
        self.tasks[self.current].state = State::Waiting(object);
    }

    fn hook_of_object(&mut self, object: usize, id: u8) {
        self.port.hook(id, &object_data(object));
        self.objects[object].items += 1;
        self.wake(object);
    }

    /// The task of highest priority that waits for an object tries again.
    fn wake(&mut self, object: usize) {
        let waiting = (0..self.tasks.len()).filter(|&task| self.tasks[task].state == State::Waiting(object));
        if let Some(task) = waiting.max_by_key(|&task| self.tasks[task].priority) {
            self.make_ready(task);
        }
    }

    /// The holder of a mutex gets the priority of the one who waits for it.
    fn inherit(&mut self, object: usize) {
        let priority = self.tasks[self.current].priority;
        let Some(holder) = self.objects[object].holder.filter(|&holder| self.tasks[holder].priority < priority) else { return };
        self.tasks[holder].priority = priority;
        if self.tasks[holder].state == State::Ready {
            self.listed(holder);
        }
        self.port.hook(id::TASK_PRIORITY_INHERIT, &[number(holder), priority]);
    }

    fn disinherit(&mut self, object: usize) {
        let Some(holder) = self.objects[object].holder.take() else { return };
        self.tasks[holder].holds -= 1;
        let base = self.tasks[holder].base;
        if self.tasks[holder].holds == 0 && self.tasks[holder].priority != base {
            self.port.hook(id::TASK_PRIORITY_DISINHERIT, &[number(holder), base]);
            self.tasks[holder].priority = base;
            self.listed(holder);
        }
    }

    /// Idles until the next tick, or for several ticks.
    fn idle(&mut self) {
        let wakes = self.tasks.iter().filter_map(|task| match task.state {
            State::Delayed(until) => Some(until),
            _ => None,
        });
        let ticks = wakes.min().unwrap_or(self.port.tick + 1).saturating_sub(self.port.tick).min(100);
        let sleep_end = self.edge + TICK_NS * ticks.saturating_sub(1);
        if !self.is_tickless || ticks < 3 || self.interrupt < sleep_end {
            self.port.now = self.port.now.max(self.edge.min(self.interrupt));
            return;
        }
        // The count is stepped to one before the end; the tick that ends the sleep is counted as any other.
        self.port.hook(id::LOW_POWER_IDLE_BEGIN, &[]);
        self.port.now = self.port.now.max(sleep_end);
        let stepped = self.port.now / TICK_NS - self.port.tick - 1;
        self.port.tick += stepped;
        self.port.hook(id::INCREASE_TICK_COUNT, &[stepped as u8]);
        self.edge = self.port.now / TICK_NS * TICK_NS;
        self.port.hook(id::LOW_POWER_IDLE_END, &[]);
    }
}

fn number(task: usize) -> u8 {
    task as u8 + 1
}

fn is_mutex(object: usize) -> bool {
    matches!(OBJECTS[object].0, MUTEX | RECURSIVE_MUTEX)
}

fn object_data(object: usize) -> [u8; 2] {
    [OBJECTS[object].0, OBJECTS[object].1]
}
