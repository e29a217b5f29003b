//! The application that runs on the simulated kernel: its tasks, queues, interrupts and markers. A table.

use super::super::record::QueueKind;

/// One step of a task.
#[derive(Clone, Copy, Debug)]
pub(super) enum Step {
    /// Computes for about N ticks of the timer.
    Work(u32),
    /// Waits for N ticks of the kernel.
    Delay(u32),
    /// Waits for the next multiple of N ticks of the kernel.
    DelayUntil(u32),
    /// Receives, or takes; after a timeout in ticks of the kernel, restarts from the first step.
    Receive(usize, u32),
    /// Sends, or gives; waits while the queue is full.
    Send(usize),
    SpanBegin(u32, &'static str),
    SpanEnd(u32),
    Instant(u32, &'static str),
    Value(u32),
    TaskSpanBegin(u32, &'static str),
    TaskSpanEnd(u32),
    TaskInstant(u32, &'static str),
    TaskValue(u32),
    /// Suspends itself.
    Suspend,
    /// Resumes the task of this index, if it is suspended.
    Resume(usize),
    /// Sets the priority of the task of this index.
    ChangePriority(usize, [u32; 2]),
    /// Creates a task that does one job and deletes itself.
    SpawnJob,
    /// Deletes itself.
    Delete,
    /// Does the next N steps only once in M times.
    OneIn(u32, usize),
}

pub(super) const FOREVER: u32 = u32::MAX;

pub(super) struct TaskPlan {
    pub name: &'static str,
    pub priority: u32,
    pub steps: &'static [Step],
}

pub(super) struct QueuePlan {
    pub name: &'static str,
    pub kind: QueueKind,
    pub level: u32,
    pub capacity: u32,
}

pub(super) const SAMPLES: usize = 0;
pub(super) const RX_BYTES: usize = 1;
pub(super) const LOG_LINES: usize = 2;
pub(super) const SPI_BUS: usize = 3;
pub(super) const FLASH: usize = 4;
pub(super) const DMA_DONE: usize = 5;
pub(super) const SLOTS: usize = 6;
pub(super) const TX_BYTES: usize = 7;

pub(super) const QUEUES: &[QueuePlan] = &[
    QueuePlan { name: "samples", kind: QueueKind::Queue, level: 0, capacity: 8 },
    QueuePlan { name: "rx_bytes", kind: QueueKind::Queue, level: 0, capacity: 16 },
    QueuePlan { name: "log_lines", kind: QueueKind::Queue, level: 0, capacity: 8 },
    QueuePlan { name: "spi_bus", kind: QueueKind::Mutex, level: 1, capacity: 1 },
    QueuePlan { name: "flash", kind: QueueKind::RecursiveMutex, level: 1, capacity: 1 },
    QueuePlan { name: "dma_done", kind: QueueKind::BinarySemaphore, level: 0, capacity: 1 },
    QueuePlan { name: "slots", kind: QueueKind::CountingSemaphore, level: 0, capacity: 4 },
    QueuePlan { name: "tx_bytes", kind: QueueKind::Queue, level: 0, capacity: 32 },
];

pub(super) const IDLE: usize = 0;
pub(super) const TIMER_SERVICE: usize = 1;
const WORKER: usize = 7;
pub(super) const STANDBY: usize = 10;
/// The index of the task that [`Step::SpawnJob`] creates.
pub(super) const JOB: usize = 12;

/// Interrupts: the kernel tick, and a serial port that may nest in it.
pub(super) const TICK_ISR: u32 = 15;
pub(super) const UART_ISR: u32 = 37;
pub(super) const ISRS: &[(u32, &str)] = &[(TICK_ISR, "SysTick"), (UART_ISR, "USART1")];

const MISC: u32 = 1;
const CRITICAL: u32 = 2;
const BUS: u32 = 3;
const TIMER: u32 = 4;
pub(super) const EVENT_MARKERS: &[(u32, &str)] = &[(MISC, "misc"), (CRITICAL, "critical"), (BUS, "bus access"), (TIMER, "timer")];

const CONSUMED: u32 = 1;
const FILL: u32 = 2;
const ERRORS: u32 = 3;
pub(super) const VALUE_MARKERS: &[(u32, &str)] = &[(CONSUMED, "consumed"), (FILL, "fill"), (ERRORS, "errors")];

const PHASE: u32 = 1;
const READING: u32 = 2;
/// Markers of single tasks: the task's index, the marker, its name.
pub(super) const TASK_EVENT_MARKERS: &[(usize, u32, &str)] = &[(3, PHASE, "phase"), (7, PHASE, "job")];
pub(super) const TASK_VALUE_MARKERS: &[(usize, u32, &str)] = &[(3, READING, "reading")];

use Step::{
    ChangePriority, Delay, DelayUntil, Delete, Instant, OneIn, Receive, Resume, Send, SpanBegin, SpanEnd, SpawnJob, Suspend,
    TaskInstant, TaskSpanBegin, TaskSpanEnd, TaskValue, Value, Work,
};

pub(super) const TASKS: &[TaskPlan] = &[
    TaskPlan { name: "IDLE", priority: 0, steps: &[Work(1_000_000)] },
    TaskPlan {
        name: "Tmr Svc",
        priority: 9,
        steps: &[DelayUntil(25), SpanBegin(TIMER, "blink"), Work(300), SpanEnd(TIMER), OneIn(16, 1), SpawnJob],
    },
    TaskPlan {
        name: "supervisor",
        priority: 8,
        steps: &[
            Delay(1),
            Work(900),
            OneIn(48, 1),
            ChangePriority(WORKER, [2, 4]),
            OneIn(96, 1),
            Resume(STANDBY),
            OneIn(24, 1),
            Instant(MISC, "alive"),
        ],
    },
    TaskPlan {
        name: "sensor",
        priority: 6,
        steps: &[
            DelayUntil(2),
            TaskSpanBegin(PHASE, "sample"),
            Work(300),
            Send(SAMPLES),
            Send(SAMPLES),
            Send(SAMPLES),
            Work(900),
            TaskValue(READING),
            TaskSpanEnd(PHASE),
        ],
    },
    TaskPlan {
        name: "filter",
        priority: 5,
        steps: &[Receive(SAMPLES, 5), Work(250), Value(CONSUMED), Work(350), Value(FILL), OneIn(8, 1), Send(LOG_LINES)],
    },
    TaskPlan {
        name: "writer",
        priority: 1,
        steps: &[
            Work(400),
            Receive(SPI_BUS, FOREVER),
            SpanBegin(CRITICAL, "write page"),
            Work(7_000),
            OneIn(25, 1),
            Work(50_000),
            SpanEnd(CRITICAL),
            Send(SPI_BUS),
            Delay(1),
        ],
    },
    TaskPlan {
        name: "reader",
        priority: 7,
        steps: &[
            Delay(3),
            SpanBegin(BUS, "wants bus"),
            Receive(SPI_BUS, FOREVER),
            Work(700),
            Send(SPI_BUS),
            SpanEnd(BUS),
            Receive(FLASH, FOREVER),
            Work(60),
            Send(FLASH),
        ],
    },
    TaskPlan {
        name: "worker",
        priority: 3,
        steps: &[Receive(SLOTS, FOREVER), Work(800), Value(CONSUMED), OneIn(20, 1), TaskInstant(PHASE, "cache miss")],
    },
    TaskPlan { name: "dma", priority: 4, steps: &[Receive(DMA_DONE, FOREVER), Work(1_800), Send(SLOTS), Value(FILL)] },
    TaskPlan {
        name: "comm",
        priority: 5,
        steps: &[Receive(RX_BYTES, FOREVER), Work(150), Send(TX_BYTES), OneIn(4, 1), Send(LOG_LINES)],
    },
    TaskPlan { name: "standby", priority: 3, steps: &[Suspend, Work(500), Instant(MISC, "checked")] },
    TaskPlan {
        name: "logger",
        priority: 2,
        steps: &[Receive(LOG_LINES, FOREVER), SpanBegin(MISC, "format"), Work(450), SpanEnd(MISC), OneIn(2, 1), Value(ERRORS)],
    },
    TaskPlan { name: "job", priority: 2, steps: &[Work(3_000), Instant(MISC, "job done"), Delete] },
];
