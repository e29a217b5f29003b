//! Losses and repairs of SyS-T captures, as lines of the ledger.

use crate::format::syst::decoded::Notice;
use crate::format::syst::record::{Malformed, Marks};
use crate::model::{Ledger, LossKind, Severity};

const fn loss(code: &'static str, text: &'static str) -> LossKind {
    LossKind { code, text, severity: Severity::Loss }
}

const fn repair(code: &'static str, text: &'static str) -> LossKind {
    LossKind { code, text, severity: Severity::Repair }
}

/// A time stamp is a little before the one before it.
pub const TIME_CLAMPED: LossKind =
    repair("time_clamped", "a time stamp is a little earlier than the one before it, and was held");

/// A time stamp is larger than a trace can hold.
pub const TIME_OVERFLOW: LossKind = repair("time_overflow", "a time stamp is larger than a trace can hold");

/// A time stamp contradicts its neighbours.
pub const TIME_OUTLIER: LossKind =
    repair("time_outlier", "a time stamp contradicts those before and after it; the time before it was kept");

/// The clock restarted.
pub const TIME_RESTART: LossKind =
    repair("time_restart", "the time went back by a second or more: treated as a restart of the target");

/// A function was left that had not been entered.
pub const UNMATCHED_EXIT: LossKind = repair("unmatched_exit", "a function was left that had not been entered");

/// A function was left while others within it had not been.
pub const AUTO_CLOSED: LossKind = repair("exit_missing", "a function's end is missing: it was closed with the one around it");

/// No more tracks can be made.
pub const TRACK_LIMIT: LossKind = loss("track_limit", "there are more senders than can have tracks; messages were left out");

/// The loss of a malformed frame.
pub fn of_malformed(reason: Malformed) -> LossKind {
    match reason {
        Malformed::Empty => loss("empty_message", "a message is empty"),
        Malformed::TooShort => loss("short_message", "a message ends within a field"),
        Malformed::ReservedBits => loss("reserved_bits", "a message has reserved bits set"),
        Malformed::UnknownType => loss("unknown_type", "a message is of unknown type"),
        Malformed::UnknownSubtype => loss("unknown_subtype", "a message is of unknown subtype"),
        Malformed::UnknownLocation => loss("unknown_location", "a message has a location of unknown form"),
    }
}

/// The loss or repair of a notice, whether its bytes are skipped, and the least number of messages lost. `None` if it is neither.
pub fn of_notice(notice: Notice) -> Option<(LossKind, bool, u64)> {
    Some(match notice {
        Notice::OddDigits => {
            (repair("odd_digits", "a message has an odd number of hex digits; the last one was dropped"), false, 0)
        }
        Notice::OverlongLine => (loss("overlong_line", "a line is too long; its rest was left out"), true, 0),
        Notice::Unsynced => (loss("unsynced", "bytes that belong to no message"), true, 1),
        Notice::Undelimited => (loss("undelimited", "the end of a message cannot be found; the message was left out"), true, 1),
        Notice::MasterError => (loss("master_error", "the target lost data of one master"), false, 1),
        Notice::GlobalError => (loss("global_error", "the target lost data"), false, 1),
        Notice::Unfinished => (loss("unfinished_message", "a message was cut off by the next one, or by the end"), false, 1),
        Notice::Beginless => (loss("beginless_message", "a message lacks its beginning"), false, 1),
        Notice::UnknownTime => (
            repair("unknown_time", "the stream's time stamps are of a scheme that is not public: times are unreliable"),
            false,
            0,
        ),
        Notice::UnknownPacket => (loss("unknown_packet", "a packet is of unknown layout"), false, 0),
        Notice::Trigger | Notice::Frequency => return None,
    })
}

/// Enters the oddities of a message.
#[cold]
pub fn enter_marks(marks: Marks, offset: u64, ledger: &mut Ledger) {
    let all = [
        (Marks::CRC_BAD, loss("crc_mismatch", "a message's checksum does not fit: any of its fields may be wrong")),
        (Marks::TRUNCATED, loss("truncated_message", "a message is shorter than it should be")),
        (Marks::SURPLUS, repair("surplus_bytes", "a message is followed by surplus bytes")),
        (Marks::MISSING_ARGUMENTS, loss("missing_arguments", "a message lacks arguments of its format")),
        (Marks::BAD_FORMAT, loss("bad_format", "a format has an invalid conversion")),
        (Marks::NOT_UTF8, repair("not_utf8", "a text is not UTF-8; its bytes are shown as \\xNN")),
        (Marks::CLAMPED, repair("width_clamped", "a width or precision was limited to 4096")),
        (Marks::OTHER_BUILD, repair("other_build", "a message was read with the collateral of another build")),
    ];
    for (mark, kind) in all {
        if marks.has(mark) {
            ledger.enter(kind, offset, u64::from(kind.severity == Severity::Loss));
        }
    }
}
