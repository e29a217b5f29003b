//! The kinds of losses and repairs in a MiniProfiler capture.

use crate::model::{LossKind, Severity};

const fn loss(code: &'static str, text: &'static str) -> LossKind {
    LossKind { code, text, severity: Severity::Loss }
}

const fn repair(code: &'static str, text: &'static str) -> LossKind {
    LossKind { code, text, severity: Severity::Repair }
}

/// A header without a valid packet.
pub const DAMAGED_PACKET: LossKind = loss("damaged_packet", "a packet is damaged: its length, CRC or end byte is wrong");
/// Bytes between packets.
pub const GARBAGE: LossKind = loss("garbage", "bytes between packets are neither packet, command nor text");
/// The last packet is incomplete.
pub const TRUNCATED: LossKind = loss("truncated", "the input ends within a packet");
/// Profile data of another version.
pub const UNKNOWN_VERSION: LossKind = loss("unknown_version", "profile data has a version other than 1");
/// A packet whose type has another length.
pub const ODD_LENGTH: LossKind = loss("odd_length", "a packet has a length that is invalid for its type");
/// A good packet of a type that is not defined.
pub const UNKNOWN_TYPE: LossKind = loss("unknown_packet_type", "a packet has a type that is not defined");
/// A packet whose count is not the number of its records.
pub const COUNT_MISMATCH: LossKind = loss("count_mismatch", "the count of a packet is not the number of its records");
/// The overflow counter grew.
pub const BUFFER_OVERFLOW: LossKind = loss("buffer_overflow", "the device's buffer overflowed, as its counter shows");
/// The device captured more than came.
pub const RECORDS_LOST: LossKind = loss("records_lost", "records were lost on the way, as the device's counter shows");
/// More functions than [`Entities::LIMIT_PER_KIND`](crate::model::Entities::LIMIT_PER_KIND).
pub const ENTITY_LIMIT: LossKind = loss("entity_limit", "there are more functions than are plausible");

/// The device was restarted.
pub const SESSION_RESTART: LossKind = repair("session_restart", "the target was reset, a new session begins");
/// Silence that may hide a wrap.
pub const LONG_SILENCE: LossKind =
    repair("long_silence", "no call ended for so long that a wrap of the 32-bit time may be missing");
/// The timer is not that of the protocol.
pub const TIMER_FREQUENCY: LossKind = repair(
    "timer_frequency",
    "the timer does not run at 1 MHz; times are assumed to be microseconds regardless (see --time-unit)",
);
/// A time beyond the range of a trace.
pub const TIME_OVERFLOW: LossKind = repair("time_overflow", "a time is beyond the range of a trace and was held");
/// A call that began before time 0.
pub const BEFORE_ZERO: LossKind = repair("before_time_zero", "a call began before time 0; it was cut");
/// A count below 0.
pub const DEPTH_UNDERFLOW: LossKind = repair("depth_underflow", "a depth is below 0: profiling was started within a function");
