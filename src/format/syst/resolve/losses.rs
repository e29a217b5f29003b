//! Losses and repairs of SyS-T captures, as lines of the ledger.

use crate::format::syst::decoded::Notice;
use crate::format::syst::record::{Malformed, Marks};
pub use crate::model::losses::{
    ENTITY_LIMIT, EXIT_MISSING, RATE_OUTLIER, SESSION_RESTART, TIME_HELD, TIME_OUTLIER, TIME_OVERFLOW, UNMATCHED_EXIT,
};
use crate::model::{Ledger, LossKind, losses};

/// The loss of a malformed frame.
pub fn of_malformed(reason: Malformed) -> LossKind {
    match reason {
        Malformed::Empty => losses::EMPTY_MESSAGE,
        Malformed::TooShort => losses::SHORT_MESSAGE,
        Malformed::ReservedBits => losses::RESERVED_BITS,
        Malformed::UnknownType => losses::UNKNOWN_TYPE,
        Malformed::UnknownSubtype => losses::UNKNOWN_SUBTYPE,
        Malformed::UnknownLocation => losses::UNKNOWN_LOCATION,
        Malformed::DamagedMarker => losses::DAMAGED_MARKER,
    }
}

/// The loss or repair of a notice, whether its bytes are skipped, and the least number of messages lost. `None` if it is neither.
pub fn of_notice(notice: Notice) -> Option<(LossKind, bool, u64)> {
    Some(match notice {
        Notice::OddDigits => (losses::ODD_DIGITS, false, 0),
        Notice::OverlongLine => (losses::OVERLONG_LINE, true, 0),
        Notice::Unsynced => (losses::UNSYNCED, true, 1),
        Notice::Undelimited => (losses::UNDELIMITED, true, 1),
        Notice::MasterError => (losses::MASTER_ERROR, false, 1),
        Notice::GlobalError => (losses::GLOBAL_ERROR, false, 1),
        Notice::Unfinished => (losses::UNFINISHED_MESSAGE, false, 1),
        Notice::Beginless => (losses::BEGINLESS_MESSAGE, false, 1),
        Notice::UnknownTime => (losses::UNKNOWN_TIME, false, 0),
        Notice::WrongTime => (TIME_OUTLIER, false, 0),
        Notice::WrongFrequency | Notice::WrongVersion => (RATE_OUTLIER, false, 0),
        Notice::UnknownPacket => (losses::UNKNOWN_PACKET, false, 0),
        Notice::Trigger | Notice::Frequency => return None,
    })
}

/// Enters the oddities of a message.
#[cold]
pub fn enter_marks(marks: Marks, offset: u64, ledger: &mut Ledger) {
    let all = [
        (Marks::CRC_BAD, losses::BAD_CHECKSUM),
        (Marks::TRUNCATED, losses::TRUNCATED_MESSAGE),
        (Marks::SURPLUS, losses::SURPLUS_BYTES),
        (Marks::MISSING_ARGUMENTS, losses::MISSING_ARGUMENTS),
        (Marks::BAD_FORMAT, losses::BAD_FORMAT),
        (Marks::NOT_UTF8, losses::NOT_UTF8),
        (Marks::CLAMPED, losses::WIDTH_CLAMPED),
        (Marks::OTHER_BUILD, losses::OTHER_BUILD),
    ];
    for (mark, kind) in all {
        if marks.has(mark) {
            // The message is shown: no event is missing.
            ledger.enter(kind, offset, 0);
        }
    }
}
