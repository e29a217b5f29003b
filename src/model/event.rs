//! The common event model: the activity of a firmware, in the firmware's own terms.
//!
//! It knows no wire format and nothing of the output. Every format's resolver produces it, and it is the timeline's only input.

use super::{
    Args, CodeId, CoreId, FunctionId, IsrId, Label, LaneId, MachineId, MaybeName, NameId, Nanos, ObjectId, Origin, StepResult,
    TaskId,
};

/// Something that happened at a time, on a core.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Event {
    /// The time. Never before that of the preceding event.
    pub time: Nanos,
    /// The core.
    pub core: CoreId,
    /// The kind of event, with its fields.
    pub kind: EventKind,
}

/// The kind of an event. The fields are described by their types.
#[allow(missing_docs)]
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum EventKind {
    /// The target restarted: the number of the new session, from 1. Earlier state is discarded.
    SessionStart(u32),
    /// The recording of this core ends here; other cores continue.
    CoreEnd,
    /// From here on records of this core's recording are missing, up to the loss that follows; those of others continue.
    Missing,
    /// Records are missing from here on: an index into [`EventBatch::losses`](super::EventBatch::losses).
    Loss(u32),
    /// The recorder noted something that loses nothing: an index into the same list.
    RecorderNote(u32),

    /// A task was created.
    TaskCreated(TaskId),
    /// A task was deleted by the code that runs on this core.
    TaskDeleted(TaskId),
    /// The scheduler put a task (or the idle task) on this core.
    SwitchedIn(TaskId),
    /// A task became ready; the waker is the code that runs on this core. `from_isr`: known to come from an interrupt even when
    /// no interrupt is being traced.
    Ready { task: TaskId, from_isr: bool },
    /// The kernel put a task on the list of its new priority. It was ready or running before; if not, it is now.
    Relisted(TaskId),
    /// The task running on this core is about to wait.
    Waiting(Wait),
    /// A task was suspended by the code that runs on this core.
    Suspended(TaskId),
    /// A suspended task was resumed.
    Resumed { task: TaskId, from_isr: bool },
    /// The task running on this core is about to wait for bits of an event group, for at most this number of kernel ticks.
    WaitingForBits { object: ObjectId, bits: u32, kernel_ticks: u32 },
    /// The task running on this core is about to wait for one of its notifications, for at most this number of kernel ticks.
    WaitingForNotification { index: u32, kernel_ticks: u32 },
    /// A task's priority changed. It is as the system counts: Zephyr's cooperative threads have negative ones.
    Priority { task: TaskId, priority: i32, change: PriorityChange },
    /// The state of a task that does not run, reported without a change; or a suspended one is resumed, and waits for what it waited for.
    TaskReported { task: TaskId, state: ReportedState },
    /// The least free stack that a task has had so far, in bytes.
    StackFree { task: TaskId, bytes: u32 },
    /// A task's notification was sent; its value after that.
    Notify { task: TaskId, index: u32, value: u32, from_isr: bool },
    /// The wait of the task running on this core for its notification ended, or the notification was already there; the value it
    /// sees.
    Notified { index: u32, value: u32 },

    /// An interrupt handler began.
    IsrEnter(IsrId),
    /// An interrupt handler ended.
    IsrExit(IsrId),

    /// A call of a function on this core has ended, this number of nanoseconds before the event's time: 0 except for calls that
    /// are recorded late. `depth`: the number of calls around it, negative if the target miscounted. Calls come in order of their
    /// ends, so callees come before their caller. `is_hidden`: known, but not drawn.
    Call { function: FunctionId, depth: i16, is_hidden: bool, begin: Packed<u64>, ended_before_ns: u32 },

    /// A sample: the core was running this code.
    Sample(CodeId),

    /// An operation on a kernel object by the code that runs on this core.
    Object { object: ObjectId, op: ObjectOp, from_isr: bool, level: Level },
    /// The level of an object, reported without an operation.
    ObjectLevel { object: ObjectId, level: u32 },
    /// The level an object had since an earlier time, known only now.
    LateObjectLevel { object: ObjectId, level: u32, since: Packed<u64> },

    /// How many items an object can hold, and their size in bytes. Of a stream: bytes.
    Capacity { object: ObjectId, items: u32, item_bytes: u32 },
    /// The holder of a mutex, reported without an operation.
    Holder { object: ObjectId, task: Option<TaskId> },
    /// The number of takes of the holder of a recursive mutex, more than one before or after.
    Depth { object: ObjectId, depth: u32 },
    /// Bytes put into a stream, or taken out of it; the level in bytes after that.
    Stream { object: ObjectId, op: StreamOp, from_isr: bool, bytes: u32, level: u32 },
    /// An operation on the bits of an event group; all bits after it.
    Bits { object: ObjectId, op: BitsOp, bits: u32, after: u32 },
    /// Something happened to a software timer.
    Timer { object: ObjectId, op: TimerOp, kernel_ticks: u32 },
    /// Memory was taken from the heap or given back. Address 0: there was not enough; [`UNKNOWN_ADDRESS`]: not recorded.
    Heap { op: HeapOp, address: Packed<u64>, bytes: u32 },

    /// An event was put into a machine's queue, at its end or (`urgent`) at its front; the level after that.
    Posted { to: MachineId, by: Origin, signal: NameId, fill: Level, urgent: bool },
    /// An event could not be put into a machine's queue, and is lost. The format reports more about it on a lane of its own.
    NotPosted { to: MachineId, by: Origin, signal: NameId },
    /// An event is about to be posted to all subscribers, until [`EventKind::PublishEnd`].
    Publish { by: Origin, signal: NameId },
    /// The publishing ended.
    PublishEnd { by: Origin },
    /// A machine took the oldest event out of its queue; the level after that.
    Taken { machine: MachineId, signal: NameId, fill: Level },
    /// A machine begins its step for an event, in a state.
    StepBegin { machine: MachineId, signal: NameId, state: MaybeName },
    /// The step ends. `from` is the state whose transition it was; `to` the new state of the machine, if it changed.
    StepEnd { machine: MachineId, result: StepResult, from: MaybeName, to: MaybeName },
    /// The state of a machine, reported without a step.
    InState { machine: MachineId, state: NameId },
    /// An action of a machine, within its step if it is in one.
    MachineNote { machine: MachineId, label: NameId },
    /// Another machine runs before this one's step has ended.
    Preempted { machine: MachineId },
    /// A machine continues its step.
    Unpreempted { machine: MachineId },
    /// A machine's priority: the highest has the largest number.
    MachinePriority { machine: MachineId, priority: u32 },

    /// A span begins on a lane.
    SpanBegin { lane: LaneId, label: Label, args: Args },
    /// The innermost open span of a lane ends.
    SpanEnd { lane: LaneId, args: Args },
    /// An instant on a lane.
    Instant { lane: LaneId, label: Label, args: Args },
    /// A lane takes another state; [`Label::NONE`]: its state is no longer known.
    State { lane: LaneId, label: Label, args: Args },
    /// A value on a lane.
    Value { lane: LaneId, value: Packed<i64> },
    /// A value with a fraction on a lane.
    Float { lane: LaneId, value: Packed<f64> },
    /// A log message: an index into [`EventBatch::logs`](super::EventBatch::logs).
    Log(u32),
}

/// The reason why a task is about to leave its core.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wait {
    /// The reason.
    pub reason: WaitReason,
    /// The object, if there is one.
    pub object: Option<ObjectId>,
    /// Timeout in kernel ticks, or (for [`WaitReason::DelayUntil`]) the tick at which the wait ends. `u32::MAX`: no limit.
    pub kernel_ticks: u32,
}

/// The reason of a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WaitReason {
    /// A number of kernel ticks.
    Delay,
    /// A kernel tick.
    DelayUntil,
    /// The next multiple of a number of kernel ticks.
    Period,
    /// Something to receive, a semaphore or mutex to take.
    Receive,
    /// Room to send.
    Send,
    /// Something to peek at without taking it.
    Peek,
    /// A notification sent to the task itself.
    Notification,
    /// Bits of an event group.
    Bits,
    /// The capture says that the task waits, and not why.
    NotRecorded,
}

impl WaitReason {
    /// The number of reasons.
    pub const COUNT: usize = 9;
}

/// The kind of a priority change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PriorityChange {
    /// Set by the program.
    Set,
    /// Raised because a task of higher priority waits for a mutex that this one holds.
    Inherit,
    /// Restored after giving the mutex back.
    Disinherit,
    /// Not changed, only reported.
    Reported,
    /// The priority that it has without inheritance, reported.
    Base,
}

/// The state of a task that does not run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReportedState {
    /// Ready to run.
    Ready,
    /// Waits; the reason is not recorded.
    Waiting,
    /// Suspended.
    Suspended,
    /// Deleted.
    Deleted,
}

/// The kind of an operation on a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamOp {
    /// Bytes were put in.
    Send,
    /// Bytes were taken out.
    Receive,
}

/// The kind of an operation on an event group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BitsOp {
    /// Bits were set.
    Set,
    /// Bits were cleared.
    Clear,
    /// An interrupt asked the timer task to set bits. Nothing has changed yet.
    RequestSet,
    /// An interrupt asked the timer task to clear bits. Nothing has changed yet.
    RequestClear,
    /// No operation: the bits are reported.
    Reported,
    /// The wait of the running task succeeded, and cleared some bits.
    WaitEnded,
    /// The wait of the running task timed out.
    WaitTimedOut,
}

/// The kind of a timer event. Commands are queued by tasks and interrupts, and carried out by the timer task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimerOp {
    /// Its state, reported without a change.
    Reported {
        /// Whether it restarts when it expires.
        auto_reload: bool,
        /// Whether it is armed.
        is_armed: bool,
    },
    /// Created. The event's ticks are its period.
    Create {
        /// Whether it restarts whenever it expires.
        auto_reload: bool,
    },
    /// A command was queued.
    Queued(TimerCommand, FromIsr),
    /// There was no room for a command.
    NotQueued(TimerCommand, FromIsr),
    /// A command is carried out.
    Done(TimerCommand),
    /// Its callback is called.
    Expired,
}

/// Whether an interrupt did it.
pub type FromIsr = bool;

/// A command to a timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimerCommand {
    /// Start.
    Start,
    /// Start, or restart if it is armed.
    Reset,
    /// Stop.
    Stop,
    /// Start with another period.
    ChangePeriod,
    /// Delete.
    Delete,
    /// An unknown command.
    Other,
}

/// The address of memory, if the capture does not record it.
pub const UNKNOWN_ADDRESS: u64 = u64::MAX;

/// The kind of an operation on the heap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeapOp {
    /// Memory was taken.
    Allocate,
    /// Memory was given back.
    Free,
}

/// The kind of an operation on an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ObjectOp {
    /// Created.
    Create,
    /// Put in, given.
    Send,
    /// Put in, overwriting the previous content.
    Overwrite,
    /// Taken out, taken.
    Receive,
    /// Peeked at without taking anything out.
    Peek,
    /// A send or give failed.
    SendFailed,
    /// A receive or take failed.
    ReceiveFailed,
    /// A peek failed.
    PeekFailed,
    /// Emptied.
    Reset,
    /// Deleted.
    Delete,
}

impl ObjectOp {
    /// Whether the object is unchanged: a peek, or a failed operation.
    #[must_use]
    pub fn changes_nothing(self) -> bool {
        matches!(self, ObjectOp::Peek | ObjectOp::SendFailed | ObjectOp::ReceiveFailed | ObjectOp::PeekFailed)
    }
}

/// The level of an object after an operation, or unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Level(u32);

impl Level {
    /// Not recorded, or not credible.
    pub const UNKNOWN: Level = Level(u32::MAX);

    /// `level` items.
    #[must_use]
    pub fn known(level: u32) -> Level {
        Level(level)
    }

    /// The number of items, if known.
    #[inline]
    #[must_use]
    pub fn get(self) -> Option<u32> {
        (self.0 != u32::MAX).then_some(self.0)
    }
}

/// A 64-bit value at 4-byte alignment: keeps [`Event`] within 32 bytes.
#[derive(Clone, Copy)]
#[repr(C, packed(4))]
pub struct Packed<T: Copy>(pub T);

impl<T: Copy> Packed<T> {
    /// The value.
    #[inline]
    #[must_use]
    pub fn get(self) -> T {
        self.0
    }
}

impl<T: Copy + std::fmt::Debug> std::fmt::Debug for Packed<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let value = self.0;
        value.fmt(f)
    }
}

impl<T: Copy + PartialEq> PartialEq for Packed<T> {
    fn eq(&self, other: &Self) -> bool {
        let (a, b) = (self.0, other.0);
        a == b
    }
}

const _: () = assert!(std::mem::size_of::<Event>() <= 32);
