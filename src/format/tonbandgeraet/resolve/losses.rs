//! The kinds of losses and repairs in a Tonbandgerät capture, except bad frames.

use crate::model::{LossKind, Severity};

const fn loss(code: &'static str, text: &'static str) -> LossKind {
    LossKind { code, text, severity: Severity::Loss }
}

const fn repair(code: &'static str, text: &'static str) -> LossKind {
    LossKind { code, text, severity: Severity::Repair }
}

/// The drop counter grew.
pub const DROPPED_BY_TARGET: LossKind = loss("dropped_by_target", "the target dropped events");
/// More entities of one kind than [`Entities::LIMIT_PER_KIND`](crate::model::Entities::LIMIT_PER_KIND).
pub const ENTITY_LIMIT: LossKind = loss("entity_limit", "there are more tasks, queues, interrupts or markers than are plausible");
/// More metadata than is kept.
pub const METADATA_LIMIT: LossKind = loss("metadata_limit", "there is more metadata than is plausible");
/// Frames whose numbers are missing.
pub const FRAMES_LOST: LossKind = loss("frames_lost", "frames were lost on the way from the target, as their numbers show");
/// Delta time stamps from an unknown time.
pub const BEFORE_FIRST_SYNC: LossKind = loss("before_first_sync", "an event is before the first sync frame: its time is unknown");
/// The metadata buffer was too small.
pub const METADATA_DROPPED: LossKind =
    loss("metadata_dropped", "the target had no room for all names: its metadata buffer is too small");

/// Deltas that follow a loss.
pub const TIME_UNCERTAIN: LossKind =
    repair("time_uncertain", "an event follows lost frames: it has its earliest possible time, up to the next sync");
/// A recording ended and another one began.
pub const RECORDING_RESTARTED: LossKind =
    repair("recording_restarted", "the recording was stopped and started again: what happened between is unknown");
/// Objects whose state at the start is not recorded.
pub const STATE_INCOMPLETE: LossKind =
    repair("state_incomplete", "the target sent the state of only some objects: its object table is too small");
/// The number of a frame that contradicts those around it.
pub const FRAME_NUMBER_OUTLIER: LossKind =
    repair("frame_number_outlier", "the number of a frame contradicts those around it, so nothing is missing there");
/// A drop counter that contradicts those around it.
pub const DROP_COUNTER_OUTLIER: LossKind = repair("drop_counter_outlier", "a drop counter contradicts its neighbours");
/// A drop counter although nothing was dropped and few events passed since the last.
pub const DROP_COUNTER_REPEATED: LossKind = repair("drop_counter_repeated", "the drop counter was repeated without need");
/// A time stamp below its predecessor's.
pub const TIME_CLAMPED: LossKind = repair("time_clamped", "a time stamp went backwards and was held");
/// A time stamp that contradicts its neighbours.
pub const TIME_OUTLIER: LossKind = repair("time_outlier", "a time stamp contradicts its neighbours and was replaced");
/// A time stamp beyond the range of a trace.
pub const TIME_OVERFLOW: LossKind = repair("time_overflow", "a time stamp is beyond the range of a trace and was replaced");
/// A reset of the target.
pub const SESSION_RESTART: LossKind = repair("session_restart", "the target was reset, a new session begins");
/// A `core_id` with time 0 in mid-stream.
pub const CORE_ID_AT_ZERO: LossKind = repair("core_id_at_zero", "a core_id in mid-stream has time 0");
/// A `core_id` of a core that no other record confirms.
pub const IMPLAUSIBLE_CORE: LossKind = repair("implausible_core_id", "a core_id names a core that no other record confirms");
/// A task-local marker's name with task id 0.
pub const MARKER_WITHOUT_TASK: LossKind =
    repair("task_marker_without_task", "the name of a task-local marker has no task; the running one was used");
/// A mailbox reported as fuller than it can be.
pub const MAILBOX_OVERWRITTEN: LossKind = repair("mailbox_overwritten", "an overwritten mailbox was reported with two items");
/// Text that is not UTF-8.
pub const LOSSY_UTF8: LossKind = repair("lossy_utf8", "a text is not UTF-8 (often cut by the target)");
/// A tick of 0 ns.
pub const ZERO_RESOLUTION: LossKind = repair("zero_resolution", "the capture records a tick of 0 ns, which was ignored");
/// More than one tick length.
pub const CONFLICTING_RESOLUTION: LossKind = repair("conflicting_resolution", "the capture records different tick lengths");
/// An event of the running task while the running task is unknown.
pub const NO_CURRENT_TASK: LossKind =
    repair("no_current_task", "an event belongs to the running task, but the running task is unknown");
