//! The device's counters, and the losses that they show.
//!
//! A status has no time of its own: the time of the last call is used. Overflows are counted by the device. Losses on the way are known
//! from the number of captured records, but the device counts a record when it captures it, and sends it later: records in its buffer are
//! not lost. So two statuses are compared only if the buffer is not fuller at the second one, with a tolerance, since the fill is reported
//! in whole percent. Exact are those at which no record waits: the device has captured none, or it has stopped and its buffer is empty.
//! Records that are missing at such a stop, and were not at a status before it, are lost.

use super::super::record::Status;
use super::losses;
use super::{InputState, LossNote, Resolved};

/// The number of records in one percent of a device's buffer, and between buffer and line, at most. Fewer missing records may still be
/// waiting: the size of the buffer is not recorded, and a false loss would separate valid calls from their callers. When the device has
/// stopped and its buffer is less than a percent full, those records wait that follow directly.
pub const PERCENT_RECORDS: u64 = 128;

/// The number of the last statuses of which one at least came while next to nothing waited, if nothing is lost.
const RECENT: usize = 8;

/// The device's counters.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counters {
    last: Option<Status>,
    /// The records missing at the last statuses; nothing of one with a fuller buffer than the status to compare with.
    recent: [Option<i64>; RECENT],
    /// The counters, unwrapped.
    overflows: u64,
    captured: u64,
    /// The status to compare with.
    base: Option<Base>,
    /// What was missing when no record waited in the device, and what is known to be lost since.
    exact: Option<i64>,
}

#[derive(Clone, Copy, Debug)]
struct Base {
    usage_percent: u8,
    /// Captured records that have not been received, and are not known to be lost.
    missing: i64,
}

impl Counters {
    /// The device discarded its captured records.
    pub fn restart(&mut self) {
        *self = Counters::default();
    }

    /// How many more records were missing at each of the last statuses than at one before: they are lost, or wait in the device.
    pub fn unexplained(&self) -> Option<i64> {
        let least = self.recent.into_iter().collect::<Option<Vec<i64>>>()?.into_iter().min()?;
        Some(least - self.base?.missing).filter(|&more| more > 0)
    }
}

impl InputState {
    /// Whether the counters of a status are behind the last ones: they were reset.
    pub fn is_behind(&self, status: Status) -> bool {
        self.counters.last.is_some_and(|last| {
            status.records_captured.wrapping_sub(last.records_captured).cast_signed() < 0
                || status.buffer_overflows.wrapping_sub(last.buffer_overflows).cast_signed() < 0
        })
    }

    /// `waiting`: the number of records that follow directly, at most [`PERCENT_RECORDS`].
    pub fn compare_status(&mut self, status: Status, waiting: u64, offset: u64, out: &mut Resolved<'_>) {
        let is_reset = self.is_behind(status);
        self.may_restart |= is_reset;
        let counters = &mut self.counters;
        let grown = |now: u32, before: Option<u32>| u64::from(now.wrapping_sub(before.unwrap_or(0)));
        let last = counters.last.replace(status).filter(|_| !is_reset);
        if last.is_none() {
            *counters = Counters { last: counters.last, ..Counters::default() };
        }
        let overflows = grown(status.buffer_overflows, last.map(|last| last.buffer_overflows));
        counters.overflows += overflows;
        counters.captured += grown(status.records_captured, last.map(|last| last.records_captured));
        // Overflows before the first status may have happened before the capture.
        if overflows > 0 && last.is_some() {
            let kind = losses::DROPPED_BY_TARGET;
            out.ledger.enter(kind, offset, overflows);
            LossNote { kind, offset, bytes: 0, at_least_lost: overflows }.add_to(&mut self.gap);
        }
        // What overflowed or was damaged has been entered, and most devices count it as captured too.
        let accounted = self.received.saturating_add(self.stated).saturating_add(counters.overflows);
        let missing = i64::try_from(counters.captured).unwrap_or(i64::MAX) - i64::try_from(accounted).unwrap_or(i64::MAX);
        let usage_percent = status.usage_percent;
        let is_stopped = status.is_profiling == 0 && usage_percent == 0;
        let here = Base { usage_percent, missing };
        let usual = counters.base.map_or(0, |base| match usage_percent <= base.usage_percent {
            true => missing - base.missing - PERCENT_RECORDS.cast_signed(),
            false => 0,
        });
        let gone = missing - waiting.cast_signed();
        // No more were lost before the status to compare with than were missing there: some may have waited.
        let lost_before = counters.exact.or(counters.base.map(|base| base.missing));
        let lost = lost_before.filter(|_| is_stopped).map_or(usual, |before| gone - before);
        counters.base = Some(match counters.base {
            Some(base) if usage_percent > base.usage_percent => base,
            Some(base) if lost <= 0 && missing >= base.missing => Base { usage_percent, ..base },
            _ => here,
        });
        counters.exact = match status.records_captured {
            0 => Some(missing),
            _ if is_stopped => Some(gone),
            _ => counters.exact.map(|exact| exact.saturating_add(lost.max(0))),
        };
        let is_comparable = !is_stopped && counters.base.is_some_and(|base| usage_percent <= base.usage_percent);
        counters.recent.rotate_left(1);
        counters.recent[RECENT - 1] = is_comparable.then_some(missing);
        if let Ok(lost @ 1..) = u64::try_from(lost) {
            let kind = losses::RECORDS_LOST;
            out.ledger.enter(kind, offset, lost);
            LossNote { kind, offset, bytes: 0, at_least_lost: lost }.add_to(&mut self.gap);
        }
        let (overflows, captured) = (counters.overflows, counters.captured);
        self.values(usage_percent, overflows, captured, out);
    }
}
