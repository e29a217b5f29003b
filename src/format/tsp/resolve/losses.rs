//! The kinds of losses and repairs in a TSP capture, except damaged packets.

use crate::model::{LossKind, Severity};

const fn loss(code: &'static str, text: &'static str) -> LossKind {
    LossKind { code, text, severity: Severity::Loss }
}

const fn repair(code: &'static str, text: &'static str) -> LossKind {
    LossKind { code, text, severity: Severity::Repair }
}

/// A gap in the packets' numbers.
pub const PACKETS_LOST: LossKind =
    loss("packets_lost", "packets were lost between the target and the file, as their numbers show");
/// Hooks that found the FIFO full.
pub const FIFO_FULL: LossKind = loss("stream_fifo_full", "the target's stream FIFO was full: events were lost on the target");
/// The capture ends with FIFO errors.
pub const TRACER_STOPPED: LossKind =
    loss("tracer_stopped", "the capture ends while the target's FIFOs were full: the tracer probably stopped or crashed here");
/// A packet with a time that contradicts its neighbours.
pub const IMPLAUSIBLE_PACKET: LossKind =
    loss("implausible_packet", "a packet has a time that contradicts its neighbours: it was left out as damaged");
/// More tasks or objects than are plausible.
pub const ENTITY_LIMIT: LossKind = loss("entity_limit", "there are more tasks or objects than are plausible");

/// A timer whose halves were read before and after a carry.
pub const TORN_TIMER: LossKind = repair("torn_timer", "the timer was read while it passed a multiple of 256; it was corrected");
/// A tick count whose halves were read before and after a carry.
pub const TORN_TICK: LossKind =
    repair("torn_tick", "the tick count was read while it passed a multiple of 256; it was corrected");
/// A time before that of the packet before.
pub const TIME_HELD: LossKind = repair("time_held", "a time went backwards and was held");
/// A reset of the target.
pub const SESSION_RESTART: LossKind = repair("session_restart", "the target was reset, a new session begins");
/// A FIFO error that came too late to be placed at its time.
pub const LATE_ERROR: LossKind = repair("late_error", "a packet that reports a loss came too late to be placed at its time");
/// An event of the running task while another task runs, according to the switches.
pub const OTHER_TASK: LossKind =
    repair("no_current_task", "an event belongs to the running task, but the running task is unknown or another one");
/// The delete bug of the tracer's object list.
pub const LOST_NUMBER: LossKind = repair(
    "object_number_zero",
    "the object list has number 0 for an object (a fault of the tracer); its position is its number",
);
/// An error mark written by the viewer.
pub const HOST_MARK: LossKind =
    repair("host_error_mark", "the viewer marked an error in its file; only the packets' numbers were used");
/// Packet numbers used by the object lists.
pub const LISTS_KEPT_APART: LossKind =
    repair("lists_kept_apart", "six packet numbers are missing: those of the object lists, which the viewer saves separately");
