//! The common event model: what a firmware did, in the firmware's own language.
//!
//! It knows no wire format and nothing of the output. Every format's resolver speaks it, and the timeline understands nothing
//! else.

use super::{
    Args, CoreId, FunctionId, IsrId, Label, LaneId, MachineId, MaybeName, NameId, Nanos, ObjectId, Origin, StepResult, TaskId,
};

/// Something that happened at a time, on a core.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Event {
    /// When. Never before the event that precedes it.
    pub time: Nanos,
    /// On which core.
    pub core: CoreId,
    /// What.
    pub kind: EventKind,
}

/// What happened. The fields are described by their types.
#[allow(missing_docs)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum EventKind {
    /// The target began again: the number of the session, from 1. Nothing of before holds any more.
    SessionStart(u32),
    /// The recording of this core ends here; other cores go on.
    CoreEnd,
    /// Something is missing from here on: an index into [`EventBatch::losses`](super::EventBatch::losses).
    Loss(u32),

    /// A task was created.
    TaskCreated(TaskId),
    /// A task was deleted, by whatever ran on this core.
    TaskDeleted(TaskId),
    /// The scheduler put a task (or the idle task) on this core.
    SwitchedIn(TaskId),
    /// A task became ready; the waker is what runs on this core. `from_isr`: known to come from an interrupt even when no
    /// interrupt is being traced.
    Ready { task: TaskId, from_isr: bool },
    /// The kernel put a task on the list of its new priority. It had been ready or running; if it had not, it is now.
    Relisted(TaskId),
    /// The task running on this core is about to wait.
    Waiting(Wait),
    /// A task was suspended, by whatever ran on this core.
    Suspended(TaskId),
    /// A suspended task was resumed.
    Resumed { task: TaskId, from_isr: bool },
    /// The task running on this core is about to wait for bits of an event group, for so many kernel ticks at most.
    WaitingForBits { object: ObjectId, bits: u32, kernel_ticks: u32 },
    /// The task running on this core is about to wait for one of its notifications, for so many kernel ticks at most.
    WaitingForNotification { index: u32, kernel_ticks: u32 },
    /// A task's priority changed.
    Priority { task: TaskId, priority: u32, change: PriorityChange },
    /// Where a task stands that does not run, told without a change.
    TaskStanding { task: TaskId, standing: Standing },
    /// The least free stack that a task has had so far, in bytes.
    StackFree { task: TaskId, bytes: u32 },
    /// A task's notification was sent; its value after that.
    Notify { task: TaskId, index: u32, value: u32, from_isr: bool },
    /// The task running on this core has waited for its notification, or found it; the value it sees.
    Notified { index: u32, value: u32 },

    /// An interrupt handler began.
    IsrEnter(IsrId),
    /// An interrupt handler ended.
    IsrExit(IsrId),

    /// A call of a function on this core has ended, so many nanoseconds before the event's time: 0 but for calls that are told late.
    /// `depth`: how many calls are around it, negative if the target miscounted. Calls come in order of their ends, so those
    /// that a call makes come before it. `is_hidden`: known, but not to be drawn.
    Call { function: FunctionId, depth: i16, is_hidden: bool, begin: Packed<u64>, ended_before_ns: u32 },

    /// An operation on a kernel object by whatever runs on this core.
    Object { object: ObjectId, op: ObjectOp, from_isr: bool, level: Level },
    /// The level of an object, told without an operation.
    ObjectLevel { object: ObjectId, level: u32 },
    /// The level an object had since an earlier time, known only now.
    LateObjectLevel { object: ObjectId, level: u32, since: Packed<u64> },

    /// How many items an object can hold, and their size in bytes. Of a stream: bytes.
    Capacity { object: ObjectId, items: u32, item_bytes: u32 },
    /// Who holds a mutex, told without an operation.
    Holder { object: ObjectId, task: Option<TaskId> },
    /// How often the holder of a recursive mutex has taken it by now, more than once before or after.
    Depth { object: ObjectId, depth: u32 },
    /// Bytes put into a stream, or taken out of it; the fill in bytes after that.
    Stream { object: ObjectId, op: StreamOp, from_isr: bool, bytes: u32, level: u32 },
    /// An operation on the bits of an event group; all bits after it.
    Bits { object: ObjectId, op: BitsOp, bits: u32, after: u32 },
    /// Something happened to a software timer.
    Timer { object: ObjectId, op: TimerOp, kernel_ticks: u32 },
    /// Memory was taken from the heap or given back. Address 0: there was not enough; [`UNKNOWN_ADDRESS`]: not told.
    Heap { op: HeapOp, address: Packed<u64>, bytes: u32 },

    /// An event was put into a machine's queue, at its end or (`urgent`) at its front; the fill after that.
    Posted { to: MachineId, by: Origin, signal: NameId, fill: Level, urgent: bool },
    /// An event could not be put into a machine's queue, and is lost to it. The format tells more of it on a lane of its own.
    NotPosted { to: MachineId, by: Origin, signal: NameId },
    /// An event is about to be posted to all who subscribed to it, until [`EventKind::PublishEnd`].
    Publish { by: Origin, signal: NameId },
    /// The publishing ended.
    PublishEnd { by: Origin },
    /// A machine took the oldest event out of its queue; the fill after that.
    Taken { machine: MachineId, signal: NameId, fill: Level },
    /// A machine begins its step for an event, in a state.
    StepBegin { machine: MachineId, signal: NameId, state: MaybeName },
    /// The step ends. `from` is the state whose transition it was; `to` the one that the machine is in from now on, if another.
    StepEnd { machine: MachineId, result: StepResult, from: MaybeName, to: MaybeName },
    /// The state of a machine, told without a step.
    InState { machine: MachineId, state: NameId },
    /// Something that a machine did, within its step if it is in one.
    MachineNote { machine: MachineId, label: NameId },
    /// Another runs before a machine's step has ended.
    Preempted { machine: MachineId },
    /// A machine goes on with its step.
    Unpreempted { machine: MachineId },
    /// A machine's priority: the highest has the largest number.
    MachinePriority { machine: MachineId, priority: u32 },

    /// A span begins on a lane.
    SpanBegin { lane: LaneId, label: Label, args: Args },
    /// The innermost open span of a lane ends.
    SpanEnd { lane: LaneId, args: Args },
    /// An instant on a lane.
    Instant { lane: LaneId, label: Label, args: Args },
    /// A lane takes another state; [`Label::NONE`]: its state is not known any more.
    State { lane: LaneId, label: Label, args: Args },
    /// A value on a lane.
    Value { lane: LaneId, value: Packed<i64> },
    /// A value with a fraction on a lane.
    Float { lane: LaneId, value: Packed<f64> },
    /// A log message: an index into [`EventBatch::logs`](super::EventBatch::logs).
    Log(u32),
}

/// Why a task is about to leave its core.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wait {
    /// What it waits for.
    pub reason: WaitReason,
    /// On which object, if on one.
    pub object: Option<ObjectId>,
    /// For how many kernel ticks at most, or (for [`WaitReason::DelayUntil`]) until which tick. `u32::MAX`: no limit.
    pub kernel_ticks: u32,
}

/// What a task waits for.
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
    /// Something to look at without taking it.
    Peek,
    /// A notification sent to the task itself.
    Notification,
    /// Bits of an event group.
    Bits,
}

impl WaitReason {
    /// How many reasons there are.
    pub const COUNT: usize = 8;
}

/// How a priority changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PriorityChange {
    /// Set by the program.
    Set,
    /// Raised because a task of higher priority waits for a mutex that this one holds.
    Inherit,
    /// Restored after giving the mutex back.
    Disinherit,
    /// Not changed, only told.
    Told,
    /// The one that it has without inheritance, told.
    Base,
}

/// Where a task stands while it does not run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// Ready to run.
    Ready,
    /// Waits, not told for what.
    Waiting,
    /// Suspended.
    Suspended,
    /// Deleted.
    Deleted,
}

/// What was done with a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamOp {
    /// Bytes were put in.
    Send,
    /// Bytes were taken out.
    Receive,
}

/// What was done with an event group.
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
    /// Nothing: the bits are told.
    Told,
    /// The running task got what it had waited for, and cleared some of it.
    WaitEnded,
    /// The running task waited in vain.
    WaitTimedOut,
}

/// What happened to a timer. Commands are queued by tasks and interrupts, and carried out by the timer task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimerOp {
    /// How it stands, told without a change.
    Stands {
        /// Whether it starts anew when it expires.
        auto_reload: bool,
        /// Whether it is going to expire.
        is_armed: bool,
    },
    /// Came into being. The event's ticks are its period.
    Create {
        /// Whether it starts anew whenever it expires.
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

/// What a timer shall do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimerCommand {
    /// Run from now on.
    Start,
    /// Run from now on, anew if it runs.
    Reset,
    /// Run no longer.
    Stop,
    /// Run from now on with another period.
    ChangePeriod,
    /// Go.
    Delete,
    /// One that is not known here.
    Other,
}

/// The address of memory, where the capture does not tell it.
pub const UNKNOWN_ADDRESS: u64 = u64::MAX;

/// What was done with the heap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeapOp {
    /// Memory was taken.
    Allocate,
    /// Memory was given back.
    Free,
}

/// An operation on an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ObjectOp {
    /// Came into being.
    Create,
    /// Put in, given.
    Send,
    /// Put in over what was there.
    Overwrite,
    /// Taken out, taken.
    Receive,
    /// Looked at without taking anything out.
    Peek,
    /// Not put in, not given.
    SendFailed,
    /// Not taken out, not taken.
    ReceiveFailed,
    /// Nothing to look at.
    PeekFailed,
    /// Emptied.
    Reset,
    /// Gone.
    Delete,
}

impl ObjectOp {
    /// Whether the object is as it was before: somebody only looked, or failed.
    #[must_use]
    pub fn changes_nothing(self) -> bool {
        matches!(self, ObjectOp::Peek | ObjectOp::SendFailed | ObjectOp::ReceiveFailed | ObjectOp::PeekFailed)
    }
}

/// The fill of an object after an operation, or unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Level(u32);

impl Level {
    /// Not told, or not to be believed.
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
