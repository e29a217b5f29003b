//! The common event model: what a firmware did, in the firmware's own language.
//!
//! It knows no wire format and nothing of the output. Every format's resolver speaks it, and the timeline understands nothing
//! else.

use super::{CoreId, IsrId, LaneId, Nanos, ObjectId, TaskId, TextRef};

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
    /// A task's priority changed.
    Priority { task: TaskId, priority: u32, change: PriorityChange },

    /// An interrupt handler began.
    IsrEnter(IsrId),
    /// An interrupt handler ended.
    IsrExit(IsrId),

    /// An operation on a kernel object by whatever runs on this core.
    Object { object: ObjectId, op: ObjectOp, from_isr: bool, level: Level },
    /// The level of an object, told without an operation.
    ObjectLevel { object: ObjectId, level: u32 },
    /// The level an object had since an earlier time, known only now.
    LateObjectLevel { object: ObjectId, level: u32, since: Packed<u64> },

    /// A span begins on a lane. The text, if not empty, is its name.
    SpanBegin { lane: LaneId, text: TextRef },
    /// The innermost open span of a lane ends.
    SpanEnd { lane: LaneId },
    /// An instant on a lane.
    Instant { lane: LaneId, text: TextRef },
    /// A value on a lane.
    Value { lane: LaneId, value: Packed<i64> },
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
    /// Something to receive, a semaphore or mutex to take.
    Receive,
    /// Room to send.
    Send,
    /// Something to look at without taking it.
    Peek,
}

impl WaitReason {
    /// How many reasons there are.
    pub const COUNT: usize = 5;
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
    /// Emptied.
    Reset,
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
