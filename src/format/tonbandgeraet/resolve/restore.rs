//! The superset: from delta time stamps to absolute ones, and from the numbers of frames to losses.
//!
//! A delta counts from the event before it, so this is done in file order, before times are checked. After a loss, the deltas of the lost
//! frames are missing: the events up to the next sync then get their earliest possible time, and are counted as uncertain.

use std::collections::VecDeque;

use crate::model::{Ledger, LossNote};

use super::super::decode::{Bad, BadFrame, Order, Records, Stamp, Stored};
use super::super::record::{Record, SyncFields};
use super::super::sync_frame::{Delta, DeltaLayout, flags};
use super::losses;
use super::sync_check::SyncCheck;

/// Restores the times of one input.
#[derive(Default)]
pub struct Restorer {
    /// `None` before the first sync.
    sequence: Option<Sequence>,
    /// The cores whose sequence has begun, if each core has a buffer.
    begun: Vec<u32>,
    /// The result of the check of each sync, in file order, and the number of those passed.
    checks: Vec<SyncCheck>,
    passed: usize,
    /// See [`InputState::counts_dropped`](super::input::InputState::counts_dropped).
    counts_dropped: bool,
    /// The syncs that mean more than a time, by their offsets, in file order, until they are resolved.
    marks: VecDeque<(u64, Mark)>,
}

/// What a sync means beside its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// The recording stops at this time, in ticks.
    Stop(u64),
    /// Another recording has begun before it.
    Begun,
}

/// A chain of frames with one base of time and one count.
struct Sequence {
    layout: DeltaLayout,
    cores: u32,
    /// The core that absolute frames and metadata belong to.
    core: u16,
    /// The time of the last event or sync, in ticks.
    ticks: u64,
    /// The number of the last sync.
    sync_number: u32,
    /// The number of the next frame.
    number: u32,
    /// The count of dropped events at the last sync.
    dropped: u32,
    /// Whether each core has a sequence of its own.
    is_snapshot: bool,
    /// Whether frames are missing since the last sync.
    is_uncertain: bool,
    /// The number of unreadable frames since the last readable one.
    unread: u32,
    /// The number of unreadable frames since the last sync that are not among those counted as missing.
    surplus: u32,
    /// The recording has ended.
    has_stopped: bool,
    /// The latest possible time of events before the next sync.
    until: u64,
    /// The largest number of frames that may be missing before the next sync.
    may_be_missing: u32,
    /// Whether the number of the last sync is unknown.
    is_uncounted: bool,
}

impl Restorer {
    pub fn new(checks: Vec<SyncCheck>, counts_dropped: bool) -> Restorer {
        Restorer { checks, counts_dropped, ..Restorer::default() }
    }

    /// The result of the check of the sync at an offset in the input.
    fn check_of(&mut self, offset: u64) -> SyncCheck {
        while let Some(next) = self.checks.get(self.passed).filter(|next| next.offset <= offset) {
            self.passed += 1;
            if next.offset == offset {
                return *next;
            }
        }
        SyncCheck::none(offset)
    }

    /// Whether each core has a sequence of its own.
    pub fn is_snapshot(&self) -> bool {
        self.sequence.as_ref().is_some_and(|sequence| sequence.is_snapshot)
    }

    /// What the sync at an offset means. Asked in file order.
    pub fn mark_at(&mut self, offset: u64) -> Option<Mark> {
        while self.marks.pop_front_if(|mark| mark.0 < offset).is_some() {}
        self.marks.pop_front_if(|mark| mark.0 == offset).map(|mark| mark.1)
    }

    /// Makes the times of a part absolute. Parts come in file order. Losses are entered in the ledger and returned as gaps, in order,
    /// each with the number of the record after it.
    pub fn restore(&mut self, records: &mut Records, ledger: &mut Ledger) -> Vec<(usize, LossNote)> {
        let mut findings = Findings { base: records.base, counts_dropped: self.counts_dropped, gaps: Vec::new(), ledger };
        if records.edges.head_ends
            && let Some(sequence) = &mut self.sequence
        {
            sequence.unread += 1;
        }
        let mut bad = records.bad.iter().peekable();
        let mut order = None;
        for (index, stored) in records.frames.iter_mut().enumerate() {
            while let Some(frame) = bad.next_if(|bad| bad.index as usize <= index) {
                self.skip(frame, index, &mut findings);
            }
            let text = stored.record.text().and_then(|text| records.text.get(text.range()));
            self.record(index, stored, text.unwrap_or(&[]), &mut findings);
            note_order(&mut order, stored);
        }
        for frame in bad {
            self.skip(frame, records.frames.len(), &mut findings);
        }
        records.ordered = order.as_ref().and_then(Order::ordered);
        findings.gaps
    }

    fn record(&mut self, index: usize, stored: &mut Stored, text: &[u8], findings: &mut Findings<'_>) {
        if let Record::Sync { .. } = stored.record {
            if let Ok(sync) = SyncFields::read(text) {
                self.sync(&sync, index, stored.offset, findings);
                stored.core = self.sequence.as_ref().map_or(0, |sequence| sequence.core);
            }
            return;
        }
        let Some(sequence) = &mut self.sequence else {
            if stored.stamp == Stamp::Delta {
                stored.stamp = Stamp::Unknown;
                findings.loss(losses::BEFORE_FIRST_SYNC, index, stored.offset, 1);
            }
            return;
        };
        stored.core = sequence.core;
        let time = stored.record.ts();
        if let (Stamp::Delta, Some(wire)) = (stored.stamp, time) {
            let delta = sequence.delta(u32::try_from(wire).unwrap_or(u32::MAX), index, stored.offset, findings);
            stored.record.set_ts(sequence.ticks);
            stored.stamp = Stamp::Absolute;
            stored.core = match u16::try_from(delta.core) {
                Ok(core) if delta.core < sequence.cores => core,
                _ => {
                    findings.repair(losses::IMPLAUSIBLE_CORE, stored.offset);
                    sequence.core
                }
            };
            if sequence.is_uncertain {
                findings.repair(losses::TIME_UNCERTAIN, stored.offset);
            }
            return;
        }
        if let Record::CoreId { core_id, .. } = stored.record {
            sequence.core = u16::try_from(core_id).unwrap_or(sequence.core);
        } else if let Some(ticks) = time {
            // Before the last time, or after the next sync: a damaged frame that looks like one with an absolute time.
            if (sequence.ticks..=sequence.until).contains(&ticks) {
                sequence.ticks = ticks;
            } else {
                findings.repair(losses::TIME_OUTLIER, stored.offset);
                stored.record.set_ts(sequence.ticks);
            }
        }
        if !sequence.has_stopped {
            sequence.number = sequence.number.wrapping_add(1);
        }
    }

    /// Accounts for a frame that is not a record.
    fn skip(&mut self, bad: &Bad, index: usize, findings: &mut Findings<'_>) {
        let Some(sequence) = &mut self.sequence else { return };
        match bad.reason {
            BadFrame::Empty => {}
            // A valid frame of a later version: its number and its time are used.
            BadFrame::UnknownEvent if bad.delta != 0 => drop(sequence.delta(bad.delta, index, bad.offset, findings)),
            BadFrame::UnknownEvent => sequence.number = sequence.number.wrapping_add(1),
            _ => sequence.unread = sequence.unread.saturating_add(bad.frames),
        }
    }

    fn sync(&mut self, sync: &SyncFields, index: usize, offset: u32, findings: &mut Findings<'_>) {
        let check = self.check_of(findings.base + u64::from(offset));
        let mut sync = *sync;
        let mut sync_number = sync.seq;
        let mut is_uncounted = false;
        if check.odd_time {
            findings.repair(losses::TIME_OUTLIER, offset);
            sync.ts = self.sequence.as_ref().map_or(check.until, |sequence| sequence.ticks.min(check.until));
        }
        if check.odd_number {
            findings.repair(losses::FRAME_NUMBER_OUTLIER, offset);
            match &self.sequence {
                Some(sequence) => {
                    sync.seq = sequence.number.wrapping_add(sequence.unread);
                    sync_number = sequence.sync_number;
                }
                None => is_uncounted = true,
            }
        }
        if let Some(sequence) = self.sequence.as_ref().filter(|_| check.odd_dropped) {
            findings.repair(losses::DROP_COUNTER_OUTLIER, offset);
            sync.dropped = sequence.dropped;
        }
        if let Some(sequence) = self.sequence.as_ref().filter(|_| check.odd_cores) {
            findings.repair(losses::IMPLAUSIBLE_CORE, offset);
            (sync.cores, sync.core) = (sequence.cores, u32::from(sequence.core));
        }
        let sync = &sync;
        let (mut stop, place) = (sync.flags & flags::STOP != 0 && !check.odd_time, findings.base + u64::from(offset));
        let begins_core = sync.is_snapshot() && !self.begun.contains(&sync.core);
        if let Some(before) = self.sequence.take() {
            if check.is_displaced {
                // What is missing between the two is elsewhere.
            } else if !sync.starts() {
                if before.check(sync, index, offset, findings) {
                    stop = false;
                    self.marks.push_back((place, Mark::Begun));
                }
            } else if !begins_core {
                self.begun.clear();
                findings.restart(index, offset);
            }
        }
        if stop {
            self.marks.push_back((place, Mark::Stop(sync.ts)));
        }
        if sync.starts() {
            self.begun.push(sync.core);
        }
        self.sequence = Some(Sequence {
            layout: sync.layout(),
            cores: sync.cores,
            core: u16::try_from(sync.core).unwrap_or(0),
            ticks: sync.ts,
            sync_number,
            number: sync.seq.wrapping_add(1),
            dropped: sync.dropped,
            is_snapshot: sync.is_snapshot(),
            is_uncertain: false,
            unread: 0,
            surplus: 0,
            has_stopped: sync.flags & flags::STOP != 0,
            until: check.until,
            may_be_missing: check.missing_at_most,
            is_uncounted,
        });
    }
}

impl Sequence {
    /// Adds a delta time stamp: counts the frame and those missing before it, and advances the time.
    fn delta(&mut self, wire: u32, index: usize, offset: u32, findings: &mut Findings<'_>) -> Delta {
        let delta = self.layout.parts(wire);
        let mut missing = nearest(self.unread, delta.number.wrapping_sub(self.number) & 3);
        let mut lost = missing.saturating_sub(self.unread);
        if lost > self.may_be_missing {
            // By the syncs on both sides no frame is missing: the number is damaged, or that of the one before was.
            findings.repair(losses::FRAME_NUMBER_OUTLIER, offset);
            missing = self.unread;
        } else if missing > 0 {
            self.is_uncertain = true;
            self.may_be_missing -= lost;
            let counted = lost.min(self.surplus);
            self.surplus -= counted;
            lost -= counted;
            findings.lost_frames(lost, index, offset);
        }
        self.surplus = self.surplus.saturating_add(self.unread.saturating_sub(missing));
        self.unread = 0;
        self.number = self.number.wrapping_add(missing).wrapping_add(1);
        let ticks = self.ticks.saturating_add(delta.ticks);
        if ticks <= self.until {
            self.ticks = ticks;
        } else {
            // After the next sync: the earliest possible time is used.
            findings.repair(losses::TIME_OUTLIER, offset);
            self.is_uncertain = true;
        }
        delta
    }

    /// Compares the counts with those of a sync. Whether that is of another recording.
    fn check(&self, sync: &SyncFields, index: usize, offset: u32, findings: &mut Findings<'_>) -> bool {
        let missing = sync.seq.wrapping_sub(self.number);
        if missing <= u32::MAX / 2 {
            if !self.is_uncounted {
                findings.lost_frames(missing.saturating_sub(self.unread).saturating_sub(self.surplus), index, offset);
            }
        } else if !self.is_uncounted && sync.seq.wrapping_sub(self.sync_number) > u32::MAX / 2 {
            // A sync of another recording, whose first frames are missing.
            findings.restart(index, offset);
            findings.lost_frames(sync.seq, index, offset);
            return true;
        }
        let dropped = sync.dropped.wrapping_sub(self.dropped);
        if dropped > u32::MAX / 2 {
            findings.repair(losses::DROP_COUNTER_OUTLIER, offset);
        } else if dropped > 0 {
            let lost = if findings.counts_dropped { u64::from(dropped) } else { 0 };
            findings.loss(losses::DROPPED_BY_TARGET, index, offset, lost);
        }
        false
    }
}

/// The number nearest to `expected` that is `rest` modulo 4; the lower one of two.
fn nearest(expected: u32, rest: u32) -> u32 {
    let above = rest.wrapping_sub(expected) & 3;
    match above {
        0 => expected,
        3 if expected >= 1 => expected - 1,
        2 if expected >= 2 => expected - 2,
        _ => expected.saturating_add(above),
    }
}

/// The losses and repairs found in a part.
struct Findings<'a> {
    base: u64,
    counts_dropped: bool,
    gaps: Vec<(usize, LossNote)>,
    ledger: &'a mut Ledger,
}

impl Findings<'_> {
    fn loss(&mut self, kind: crate::model::LossKind, index: usize, offset: u32, at_least_lost: u64) {
        let offset = self.base + u64::from(offset);
        self.ledger.enter(kind, offset, at_least_lost);
        self.gaps.push((index, LossNote { kind, offset, bytes: 0, at_least_lost }));
    }

    fn repair(&mut self, kind: crate::model::LossKind, offset: u32) {
        self.ledger.enter(kind, self.base + u64::from(offset), 0);
    }

    fn lost_frames(&mut self, count: u32, index: usize, offset: u32) {
        if count > 0 {
            self.loss(losses::FRAMES_LOST, index, offset, u64::from(count));
        }
    }

    fn restart(&mut self, index: usize, offset: u32) {
        self.loss(losses::RECORDING_RESTARTED, index, offset, 0);
    }
}

/// Adds a record to the times of a part, which must all be of core 0.
fn note_order(order: &mut Option<Order>, stored: &Stored) {
    let ticks = stored.record.ts();
    let is_known = stored.stamp != Stamp::Unknown && (stored.core == 0 || ticks.is_none());
    if is_known && ticks.is_none() {
        return;
    }
    let order = order.get_or_insert_with(|| Order::starting_at(ticks.unwrap_or(0)));
    order.note(&stored.record);
    if !is_known {
        order.end();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_number_of_frames() {
        for expected in 0..12 {
            for rest in 0..4 {
                let found = nearest(expected, rest);
                assert_eq!(found % 4, rest);
                let best = (0..20).filter(|n| n % 4 == rest).min_by_key(|&n: &u32| (n.abs_diff(expected), n));
                assert_eq!(Some(found), best, "{expected} {rest}");
            }
        }
    }
}
