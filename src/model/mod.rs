//! The common event model. It names no other part of the program; every other part may name it.
//!
//! - [`Event`]: an action of the firmware, with its time and core.
//! - [`Entities`]: the tasks, interrupts, objects and lanes that events are about.
//! - [`Ledger`]: losses and repairs, and the account of every byte.
//! - [`Finding`]: how sure the time and the reading of a recording are.
//! - [`RecorderNotes`]: what happened to a recording on its way into the file.
//! - [`SideClock`]: readings of other clocks at times of the trace: the time of day, a clock of the target.

mod arg;
mod batch;
mod clock;
mod counted;
mod entity;
mod event;
mod finding;
mod frequency;
mod function;
mod heap;
mod ledger;
pub mod losses;
mod machine;
mod recent;
mod recorder;
mod scheduling;
mod time;

pub use arg::{Arg, ArgValue, Tag, Tagged};
pub use batch::{Args, EventBatch, Judged, Label, LogNote, LogSeverity, TextArena, TextRef, lossy};
pub use clock::{ClockKind, ClockReading, ClockReadings, SideClock, Thinned};
pub use counted::{counted, times};
pub use entity::{
    CoreId, Entities, EntityCounts, GradeId, Group, GroupId, Isr, IsrId, Lane, LaneId, LaneKind, LaneOwner, LogGrade, MachineId,
    NameId, Object, ObjectId, ObjectKind, PriorityOrder, RecordedWaits, Session, Source, SourceId, Task, TaskId, TaskKind,
    numbered,
};
pub use event::{
    BitsOp, Event, EventKind, FromIsr, HeapOp, Level, ObjectOp, Packed, PriorityChange, ReportedState, StreamOp, TimerCommand,
    TimerOp, UNKNOWN_ADDRESS, Wait, WaitReason,
};
pub use finding::{Certainty, Finding, Matter};
pub use frequency::{FrequencyError, frequency_text, whole_number};
pub use function::{CodeId, Exit, Function, FunctionId, OpenFunctions, SampledCode};
pub use heap::HeapBlocks;
pub use ledger::{Ledger, LedgerEntry, LossNote};
pub use losses::{LossKind, Severity};
pub use machine::{Machine, MaybeName, Origin, OriginKind, StepResult};
pub use recent::RecentMap;
pub use recorder::{RecorderNote, RecorderNotes};
pub use scheduling::{Scheduling, TaskStatus};
pub use time::{Nanos, Rate, Ticks};
