//! What can be lost or put right in a MiniProfiler capture.

use crate::model::{LossKind, Severity};

const fn loss(code: &'static str, text: &'static str) -> LossKind {
    LossKind { code, text, severity: Severity::Loss }
}

const fn repair(code: &'static str, text: &'static str) -> LossKind {
    LossKind { code, text, severity: Severity::Repair }
}

/// A header, and what follows is no packet.
pub const DAMAGED_PACKET: LossKind = loss("damaged_packet", "a packet is damaged: its length, CRC or end byte is wrong");
/// Bytes between packets.
pub const GARBAGE: LossKind = loss("garbage", "bytes between packets are neither packet, command nor text");
/// The last packet is not all there.
pub const TRUNCATED: LossKind = loss("truncated", "the input ends within a packet");
/// Profile data of another version.
pub const UNKNOWN_VERSION: LossKind = loss("unknown_version", "profile data has a version other than 1");
/// A packet whose type has another length.
pub const ODD_LENGTH: LossKind = loss("odd_length", "a packet has a length that its type cannot have");
/// A good packet of a type that is not defined.
pub const UNKNOWN_TYPE: LossKind = loss("unknown_packet_type", "a packet has a type that is not defined");
/// A packet with a count that is not that of its records.
pub const COUNT_MISMATCH: LossKind = loss("count_mismatch", "a packet has another number of records than it says");
/// The overflow counter grew.
pub const BUFFER_OVERFLOW: LossKind = loss("buffer_overflow", "the device's buffer overflowed, as its counter tells");
/// The device captured more than came.
pub const RECORDS_LOST: LossKind = loss("records_lost", "records were lost on the way, as the device's counter tells");
/// More functions than [`Entities::LIMIT_PER_KIND`](crate::model::Entities::LIMIT_PER_KIND).
pub const ENTITY_LIMIT: LossKind = loss("entity_limit", "there are more functions than can be real");

/// The device was restarted.
pub const SESSION_RESTART: LossKind = repair("session_restart", "the target was reset, a new session begins");
/// Silence that may hide a wrap.
pub const LONG_SILENCE: LossKind =
    repair("long_silence", "no call ended for so long that a wrap of the 32-bit time may be missing");
/// The timer is not that of the protocol.
pub const TIMER_FREQUENCY: LossKind =
    repair("timer_frequency", "the timer does not run at 1 MHz; times are taken for microseconds all the same (see --time-unit)");
/// Beyond what a trace can hold.
pub const TIME_OVERFLOW: LossKind = repair("time_overflow", "a time is beyond what a trace can hold and was held");
/// A call that began before time 0.
pub const BEFORE_ZERO: LossKind = repair("before_time_zero", "a call began before the time from which is counted; it was cut");
/// A count below 0.
pub const DEPTH_UNDERFLOW: LossKind = repair("depth_underflow", "a depth is below 0: profiling was started within a function");
