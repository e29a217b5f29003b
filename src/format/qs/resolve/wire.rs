//! The state of the wire in file order: sequence numbers, runs of damage, sessions and time.

use std::sync::Arc;

use crate::model::{Ledger, LossNote, Rate, losses};

use super::super::decode::{Bad, Damage, KEPT_RAW_BYTES, Records, Stored};
use super::super::frame::BadBody;
use super::super::record::Kind;
use super::super::sessions::{Session, Sessions};
use super::clock::{Clock, TimeStatus};

/// The time drawn between the last record before a reset and the first one after it. The real duration is unknown.
const RESET_GAP_NS: u64 = 1_000;

/// A run of damage that has not ended yet.
#[derive(Clone, Debug)]
pub struct Run {
    /// Where it starts in the input, in bytes.
    pub offset: u64,
    /// Its length so far.
    pub bytes: u64,
    frames: u64,
    filled: u64,
    /// Why its first frame is invalid.
    pub reason: Bad,
    /// Its first bytes.
    pub raw: Vec<u8>,
}

/// The state of one input.
pub struct WireState {
    /// Its sessions.
    pub sessions: Sessions,
    /// The number of the current session.
    pub session: usize,
    /// Its clock.
    pub clock: Clock,
    /// The sequence number of the next frame, if none is missing.
    expected: Option<u8>,
    /// The current run of damage.
    pub run: Option<Run>,
    /// The loss before the next record.
    pub gap: Option<LossNote>,
    /// The number of sessions with records.
    pub sessions_begun: u32,
}

impl WireState {
    pub fn new(sessions: Sessions, rate: Rate) -> WireState {
        let width = sessions.all.first().map_or(4, |session| session.layout.config.sizes.time);
        let clock = Clock::new(rate, width);
        WireState { sessions, session: 0, clock, expected: None, run: None, gap: None, sessions_begun: 1 }
    }

    /// The current session.
    #[inline]
    pub fn present(&self) -> &Arc<Session> {
        &self.sessions.all[self.session]
    }

    /// Adds a name that the first pass did not see.
    #[cold]
    pub fn learn(&mut self, records: &Records, stored: &Stored) {
        if let Some(session) = self.sessions.all.get_mut(self.session) {
            let layout = session.layout.clone();
            Arc::make_mut(session).names.learn(stored.kind, &layout, records.data_of(stored));
        }
    }

    /// Accounts for the bytes and frames of a part.
    pub fn enter_part(&self, records: &Records, ledger: &mut Ledger) {
        ledger.decoded_bytes += records.ok_bytes;
        ledger.frames_ok += records.frames.len() as u64;
        for repair in &records.repairs {
            ledger.enter(repair.kind, repair.offset, 0);
        }
    }

    /// Enters another session. False if it is the current one.
    pub fn enter_session(&mut self, index: usize, offset: u64, ledger: &mut Ledger) -> bool {
        if index == self.session || index >= self.sessions.all.len() {
            return false;
        }
        self.end_run(None, ledger);
        self.session = index;
        self.expected = None;
        self.gap = None;
        self.sessions_begun += 1;
        let width = self.present().layout.config.sizes.time;
        self.clock.restart(width, RESET_GAP_NS);
        ledger.enter(losses::SESSION_RESTART, offset, 0);
        true
    }

    /// Whether a record has the expected sequence number and there is no damage before it.
    #[inline]
    pub fn is_next(&mut self, seq: u8) -> bool {
        if self.expected != Some(seq) || self.run.is_some() {
            return false;
        }
        self.expected = Some(seq.wrapping_add(1));
        true
    }

    /// Handles a valid frame after damage, or with another sequence number than expected.
    #[cold]
    pub fn check_sequence(&mut self, seq: u8, kind: Option<Kind>, offset: u64, ledger: &mut Ledger) {
        let expected = self.expected.replace(seq.wrapping_add(1));
        // The sequence number of the first record of a session is not related to those before.
        let is_restart = kind == Some(Kind::Empty);
        let Some(expected) = expected.filter(|_| !is_restart) else {
            self.end_run(None, ledger);
            return;
        };
        let missing = u64::from(seq.wrapping_sub(expected));
        if self.run.is_some() {
            self.end_run(Some(missing), ledger);
            return;
        }
        let (kind, missing) = match missing {
            0 => return,
            255 => (losses::SEQUENCE_REPEATED, 0),
            _ => (losses::FRAMES_LOST, missing),
        };
        ledger.enter(kind, offset, missing);
        self.add_gap(LossNote { kind, offset, bytes: 0, at_least_lost: missing });
    }

    /// Ends the run of damage before a valid frame, which is handled afterwards.
    pub fn end_run_before(&mut self, seq: u8, offset: u64, ledger: &mut Ledger) {
        self.check_sequence(seq, None, offset, ledger);
        self.expected = Some(seq);
    }

    /// Adds bytes that are not a record.
    pub fn add_damage(&mut self, records: &Records, damage: &Damage, ledger: &mut Ledger) {
        let offset = records.base + u64::from(damage.offset);
        let bytes = u64::from(damage.len);
        if let Some(seq) = damage.seq {
            if !self.is_next(seq) {
                self.check_sequence(seq, None, offset, ledger);
            }
            let kind = damage.reason.loss_kind();
            ledger.bad_frame(kind, offset, bytes, 1);
            // A record of a newer target: no known record is missing.
            if damage.reason != Bad::UnknownRecord {
                self.add_gap(LossNote { kind, offset, bytes, at_least_lost: 1 });
            }
            return;
        }
        let run = self.run.get_or_insert_with(|| Run {
            offset,
            bytes: 0,
            frames: 0,
            filled: 0,
            reason: damage.reason,
            raw: Vec::new(),
        });
        run.bytes += bytes;
        run.frames += u64::from(damage.frames);
        run.filled += u64::from(damage.filled);
        let room = KEPT_RAW_BYTES - run.raw.len().min(KEPT_RAW_BYTES);
        run.raw.extend(records.bytes(damage.raw).iter().take(room));
    }

    /// Ends the run of damage, if there is one. `missing`: the number of missing frames, if known from the sequence numbers.
    pub fn end_run(&mut self, missing: Option<u64>, ledger: &mut Ledger) -> Option<Run> {
        let run = self.run.take()?;
        let kind = run.reason.loss_kind();
        ledger.skipped_bytes += run.bytes;
        ledger.frames_bad += run.frames;
        let is_lone_flags = run.filled == 0 && run.reason == Bad::Body(BadBody::Empty);
        let at_least_lost = match missing {
            Some(255) => 0,
            Some(missing) => missing,
            None => u64::from(!is_lone_flags),
        };
        ledger.enter(kind, run.offset, at_least_lost);
        if missing != Some(0) && !is_lone_flags {
            self.add_gap(LossNote { kind, offset: run.offset, bytes: run.bytes, at_least_lost });
        }
        Some(run)
    }

    fn add_gap(&mut self, note: LossNote) {
        match &mut self.gap {
            Some(gap) => {
                gap.bytes = gap.bytes.saturating_add(note.bytes);
                gap.at_least_lost = gap.at_least_lost.saturating_add(note.at_least_lost);
            }
            None => self.gap = Some(note),
        }
    }

    /// Sets the current time to the time of a record.
    #[inline]
    pub fn set_time(&mut self, base: u64, stored: &Stored, ledger: &mut Ledger) {
        let status = self.clock.advance(stored.time);
        if status != TimeStatus::AsRecorded {
            let kind = match status {
                TimeStatus::SetBack => losses::TIME_SET_BACK,
                TimeStatus::Overflow => losses::TIME_OVERFLOW,
                _ => losses::TIME_HELD,
            };
            ledger.enter(kind, base + u64::from(stored.offset), 0);
        }
    }
}
