//! The state of the wire in file order: sequence numbers, runs of damage, sessions and time.

use std::collections::VecDeque;
use std::hash::BuildHasher as _;
use std::sync::Arc;

use rustc_hash::{FxBuildHasher, FxHashMap};

use crate::clock::{Copies, LOOKAHEAD, SESSIONS_LIMIT, Stamp};
use crate::frame::sequence::{self, Excess};
use crate::model::{Ledger, LossNote, Rate, losses};

use super::super::decode::{Bad, Damage, KEPT_RAW_BYTES, Records, Stored};
use super::super::frame::{BadBody, FLAG};
use super::super::layout::low_bytes;
use super::super::record::{Field, Kind};
use super::super::sessions::{Session, Sessions};
use super::clock::{Clock, Verdict};

/// The evidence for a reset whose target information was lost, in bits: a break of the sequence numbers, unless the count of clock ticks goes
/// on; that they begin again there; names, or the end of the start-up (QF_RUN), which targets send after a reset; EMPTY, which they send only
/// then; a count of clock ticks that begins again.
const SEQUENCE_BITS: u8 = 56;
const BEGIN_BITS: u8 = 64;
/// The same of a break where time stamps have two bytes or less: while frames are missing, such a counter comes anywhere.
const SHORT_SEQUENCE_BITS: u8 = 24;
const START_UP_BITS: u8 = 24;
const EMPTY_BITS: u8 = 64;
/// The same of a name that comes again with its number.
const NAME_BITS: u8 = 64;
/// A start-up that differs by fewer records may be the same.
const NAMES_NEAR: u8 = 8;
/// How many frames may be damaged at the ends of a piece.
const PIECE_ENDS: u8 = 2;
const TICKS_BITS: u8 = 24;

/// The first number after a reset is 1, that of EMPTY. It and the frame after it may be lost.
const FIRST_NUMBERS: u8 = 3;
/// Numbers that skip fewer come there without a reset, too.
const FEW_SKIPPED: u8 = 16;

/// The evidence for a reset since the last record with a time stamp.
#[derive(Clone, Copy, Debug, Default)]
struct ResetEvidence {
    /// That of a break of the sequence numbers; 0 without one.
    sequence_bits: u8,
    is_empty: bool,
    starts_up: bool,
    /// See [`WireState::is_same_name`]. True only of a name right after the break: those of a reset may come later.
    is_same_name: Option<bool>,
    ticks_go_back: bool,
    ticks_go_on: bool,
}

impl ResetEvidence {
    /// The sequence numbers break here.
    fn note_break(&mut self, bits: u8) {
        (self.sequence_bits, self.ticks_go_on) = (bits, false);
    }

    /// A record without a time stamp. `is_same_name`: see [`WireState::is_same_name`].
    fn note(&mut self, stored: &Stored, is_same_name: Option<bool>) {
        self.starts_up |= super::is_name(stored.kind) || stored.kind == Kind::Run;
        self.is_empty |= is_first(stored.kind, stored.seq);
        self.is_same_name = self.is_same_name.or(is_same_name.filter(|is_same| !is_same));
    }

    #[inline]
    fn note_tick(&mut self, last: Option<u64>, now: u64, width: u8) {
        // A count of one byte wraps too soon.
        let Some(last) = last.filter(|_| width > 1) else { return };
        let range = low_bytes(u64::MAX, width);
        let is_back = (1..=range / 2).contains(&(last.wrapping_sub(now) & range));
        self.ticks_go_back |= is_back;
        self.ticks_go_on |= !is_back;
    }

    fn bits(self) -> u8 {
        let bits = |is_so: bool, bits: u8| if is_so { bits } else { 0 };
        bits(!self.ticks_go_on, self.sequence_bits)
            + bits(self.starts_up && self.is_same_name != Some(false), START_UP_BITS)
            + bits(self.is_same_name == Some(true) && self.sequence_bits > 0, NAME_BITS)
            + bits(self.is_empty, EMPTY_BITS)
            + bits(self.ticks_go_back, TICKS_BITS)
    }
}

/// Whether a frame is the first one after a reset. Damage may look like EMPTY, but hardly with this number, too.
fn is_first(kind: Kind, seq: u8) -> bool {
    matches!(kind, Kind::Empty | Kind::OldEmpty) && seq <= 1
}

/// Whether a sequence number that skips `jump` is one of the first after a reset.
fn begins_again(seq: u8, jump: u8) -> bool {
    seq <= FIRST_NUMBERS && jump >= FEW_SKIPPED
}

/// A hash of a name and its key.
fn name_hash(records: &Records, stored: &Stored) -> u64 {
    FxBuildHasher.hash_one((stored.kind as u8, records.data_of(stored)))
}

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
    /// Its clock, and the last count of the target's clock tick.
    pub clock: Clock,
    tick_count: Option<u64>,
    /// Whether ticks may be missing since that count.
    lacks_ticks: bool,
    evidence: ResetEvidence,
    /// Whether frames were missing without a reset.
    lacks_frames: bool,
    /// The sequence number that the next frame should have.
    expected: Option<u8>,
    /// Up to here the input is a copy, in bytes; in it no number is `expected`, and after it this one.
    copy_end: u64,
    resumes: Option<u8>,
    copies: Copies,
    /// The numbers of the names in the start-up, by their hash, and the last one. No more are added after [`u8::MAX`].
    names: FxHashMap<u64, u8>,
    last_name: u8,
    /// What the sequence numbers skipped without a loss.
    excess: Excess,
    /// The number of frames before the part, and in it.
    frames: (u64, u64),
    /// The next time stamp of records before a place, in bytes; `None`: not one near.
    next_stamp: (u64, Option<u32>),
    /// The present run of damage.
    pub run: Option<Run>,
    /// The loss before the next record.
    pub gap: Option<LossNote>,
    /// The number of sessions with records.
    pub sessions_begun: u32,
}

impl WireState {
    pub fn new(sessions: Sessions, rate: Rate, units_per_tick: Option<f64>) -> WireState {
        let clock = Clock::new(rate, sessions.all.first().map(|session| &**session), units_per_tick);
        WireState {
            sessions,
            session: 0,
            clock,
            tick_count: None,
            lacks_ticks: true,
            evidence: ResetEvidence::default(),
            lacks_frames: false,
            expected: None,
            copy_end: 0,
            resumes: None,
            copies: Copies::default(),
            names: FxHashMap::default(),
            last_name: 0,
            excess: Excess::default(),
            frames: (0, 0),
            next_stamp: (0, None),
            run: None,
            gap: None,
            sessions_begun: 1,
        }
    }

    /// The current session.
    #[inline]
    pub fn present(&self) -> &Arc<Session> {
        &self.sessions.all[self.session]
    }

    /// Adds a name that the first pass did not see: that of a repaired record.
    #[cold]
    pub fn learn(&mut self, records: &Records, stored: &Stored) {
        let offset = records.offset_of(stored);
        if records.repairs.iter().all(|repair| repair.offset != offset) {
            return;
        }
        if let Some(session) = self.sessions.all.get_mut(self.session) {
            let layout = session.layout.clone();
            Arc::make_mut(session).names.learn(stored.kind, &layout, records.data_of(stored));
        }
    }

    /// Accounts for the bytes and frames of a part.
    pub fn enter_part(&mut self, records: &Records, ledger: &mut Ledger) {
        ledger.decoded_bytes += records.ok_bytes;
        let frames = records.frames.len() as u64;
        ledger.frames_ok += frames;
        self.frames = (self.frames.0 + self.frames.1, frames);
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
        (self.expected, self.resumes, self.copy_end) = (None, None, 0);
        (self.names, self.last_name) = (FxHashMap::default(), 0);
        self.excess = Excess::default();
        self.gap = None;
        self.sessions_begun += 1;
        (self.tick_count, self.lacks_ticks) = (None, true);
        self.evidence = ResetEvidence::default();
        self.copies.begin_session(offset);
        let session = Arc::clone(self.present());
        self.clock.restart(&session);
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

    /// Whether a frame that is not the next one belongs to a copy of bytes before it. Such are left out, and nothing is missing there. A name
    /// may also be sent again after a reset, of which EMPTY is the sign.
    #[cold]
    pub fn is_repeated(&mut self, seq: u8, kind: Kind, offset: u64, bytes: &[u8], ledger: &mut Ledger) -> bool {
        if offset < self.copy_end {
            return true;
        }
        self.expected = self.resumes.take().or(self.expected);
        // Where numbers go forwards, something is missing instead.
        let goes_back = self.expected.is_some_and(|expected| seq.wrapping_sub(expected) >= 128) && !is_first(kind, seq);
        let end = self.sessions.copies.end_at(offset).or_else(|| {
            let start = Some(offset).filter(|_| goes_back)?;
            let copied = if super::is_name(kind) { self.copies.doubled(bytes, start) } else { self.copies.copied(bytes, start) };
            let start = usize::try_from(start).ok()?;
            Some((start + memchr::memrchr(FLAG, bytes.get(start..start + copied as usize)?)? + 1) as u64)
        });
        let Some(end) = end else { return false };
        ledger.enter(losses::DUPLICATED_BLOCK, offset, 0);
        (self.resumes, self.copy_end) = (self.expected.take(), end);
        true
    }

    /// A sound frame that is not simply the next one: after damage, or with frames missing before it.
    #[cold]
    pub fn check_sequence(&mut self, seq: u8, kind: Option<Kind>, offset: u64, following: &Following, ledger: &mut Ledger) {
        let expected = self.expected.replace(seq.wrapping_add(1));
        // The sequence number of the first record of a session is not related to those before.
        let is_restart = kind.is_some_and(|kind| is_first(kind, seq));
        let jump = expected.map_or(0, |expected| seq.wrapping_sub(expected));
        // After a piece that was repeated or moved, the numbers go on from before it.
        let is_same_name = if following.goes_on(jump) { Some(false) } else { following.is_same_name };
        // By chance, other numbers come again, too.
        let is_same_name = is_same_name.filter(|is_same| !is_same || begins_again(seq, jump));
        if jump != 0 {
            let begins_again = begins_again(seq, jump);
            let bits = if is_same_name == Some(true) { BEGIN_BITS } else { self.break_bits(seq, jump) };
            self.evidence.note_break(bits);
            self.evidence.is_same_name = is_same_name;
            (self.lacks_ticks, self.lacks_frames) = (true, self.lacks_frames || !begins_again || is_same_name == Some(false));
            self.clock.note_gap();
        }
        if is_restart || expected.is_none() {
            self.excess = Excess::default();
            self.end_run(None, ledger);
            return;
        }
        let place = self.frames.0 + following.number;
        let jumps = following.jumps.iter().copied();
        let weighed = self.excess.weigh(jump, place, jumps, following.goes_back, false);
        self.excess.pass(weighed, place);
        let mut missing = u64::from(weighed.missing);
        let is_start_up = kind.is_some_and(super::is_name) && begins_again(seq, jump);
        if following.may_be_reset || is_same_name.unwrap_or(is_start_up) {
            // The numbers begin again.
            self.excess = Excess::default();
            missing = 0;
        }
        if self.run.is_some() {
            self.end_run(Some(missing), ledger);
            if missing == 0 && (jump != 0 || following.is_long) {
                // Out of order, or a multiple of 256 frames may be missing: what was known before does not hold.
                LossNote { kind: losses::FRAMES_LOST, offset, bytes: 0, at_least_lost: 0 }.add_to(&mut self.gap);
            }
            return;
        }
        let kind = match (jump, missing) {
            (0, _) => return,
            (255, 0) => losses::SEQUENCE_REPEATED,
            (_, 0) if weighed.is_damaged() && !following.may_be_reset => {
                return ledger.enter(losses::FRAME_NUMBER_OUTLIER, offset, 0);
            }
            _ => losses::FRAMES_LOST,
        };
        ledger.enter(kind, offset, missing);
        LossNote { kind, offset, bytes: 0, at_least_lost: missing }.add_to(&mut self.gap);
    }

    /// Whether a name comes with the number that it had in the start-up. Names that are sent again upon request have other numbers. `None`: it
    /// is not known, or the start-up was not quite the same.
    fn is_same_name(&self, records: &Records, stored: &Stored) -> Option<bool> {
        if self.names.is_empty() || !super::is_name(stored.kind) {
            return None;
        }
        let number = self.names.get(&name_hash(records, stored))?;
        match stored.seq.abs_diff(*number) {
            0 => Some(true),
            1..NAMES_NEAR => None,
            _ => Some(false),
        }
    }

    /// A name of the start-up, as long as the numbers rise.
    #[cold]
    fn note_name(&mut self, records: &Records, stored: &Stored) {
        let is_first = self.last_name == 0 && stored.seq <= FIRST_NUMBERS;
        self.last_name = if is_first || (1..stored.seq).contains(&self.last_name) { stored.seq } else { u8::MAX };
        if self.last_name != u8::MAX {
            self.names.entry(name_hash(records, stored)).or_insert(stored.seq);
        }
    }

    /// The evidence for a reset of sequence numbers that skip `jump` and go on with `seq`, in bits.
    fn break_bits(&self, seq: u8, jump: u8) -> u8 {
        let is_short = self.present().layout.config.sizes.time <= 2;
        match begins_again(seq, jump) {
            // Where frames are missing now and then, the numbers come there, too.
            true if !(is_short && self.lacks_frames) => BEGIN_BITS,
            _ if is_short => SHORT_SEQUENCE_BITS,
            _ => SEQUENCE_BITS,
        }
    }

    /// The frames that follow one of the present session.
    #[cold]
    pub fn following(&mut self, place: Place<'_>) -> Following {
        let width = u32::from(self.present().layout.config.sizes.time).clamp(1, 4) * 8;
        let mut following = Following { number: place.number as u64, ..Following::default() };
        let Some(first) = place.record() else { return following };
        // After EMPTY the numbers begin again, whatever they are.
        if is_first(first.kind, first.seq) {
            return following;
        }
        let (mut seq, mut time) = (first.seq, first.is_timed.then_some(first.time));
        following.is_same_name = self.is_same_name(place.records, first);
        let next = time.or_else(|| self.next_stamp(place));
        following.may_be_reset = next.is_some_and(|next| self.clock.goes_far_back(next));
        following.is_long = next.is_some_and(|next| self.clock.takes_stamps(next, 64));
        for (_, stored) in self.ahead(place).take(sequence::LOOKAHEAD) {
            following.jumps.push(stored.seq.wrapping_sub(seq).wrapping_sub(1));
            seq = stored.seq;
            if stored.is_timed {
                let before = time.replace(stored.time).unwrap_or(stored.time);
                // Less than half the range of the counter.
                let back = before.wrapping_sub(stored.time) << (32 - width);
                following.goes_back |= (1..1 << 31).contains(&back);
            }
        }
        following
    }

    /// The next time stamp after a record that has none. It is searched for once for all records before it, so that each may be one with a
    /// break; if nothing is found, once for those of half the look-ahead.
    fn next_stamp(&mut self, place: Place<'_>) -> Option<u32> {
        if place.offset() >= self.next_stamp.0 {
            let mut next = (place.offset() + 1, None);
            for (number, (records, stored)) in self.ahead(place).enumerate() {
                if stored.is_timed || number < LOOKAHEAD_FRAMES / 2 {
                    next = (records.offset_of(stored), stored.is_timed.then_some(stored.time));
                }
                if stored.is_timed {
                    break;
                }
            }
            self.next_stamp = next;
        }
        self.next_stamp.1
    }

    /// The records of the present session that follow one, as far as all parts see, without those of copies.
    fn ahead<'a>(&'a self, place: Place<'a>) -> impl Iterator<Item = (&'a Records, &'a Stored)> {
        let Place { records, number, end, later } = place;
        let session = self.session;
        let own = records.frames.get(number + 1..end).unwrap_or(&[]).iter().map(move |stored| (records, stored));
        // A session that ends in a later part ends there.
        let ends = later.records.iter().position(|records| leading(records, session) < records.frames.len());
        let parts = if end >= records.frames.len() { ends.map_or(usize::MAX, |ends| ends + 1) } else { 0 };
        let after = later.records.iter().take(parts).flat_map(move |records| {
            records.frames.get(..leading(records, session)).unwrap_or(&[]).iter().map(move |stored| (records, stored))
        });
        let reach = place.offset() + LOOKAHEAD_BYTES;
        // The time stamps of a test of QUTest are those of another counter.
        let is_in_reach =
            move |(records, stored): &(&Records, &Stored)| records.offset_of(stored) < reach && !records.begins_test(stored);
        let is_in_place =
            |(records, stored): &(&Records, &Stored)| self.sessions.copies.end_at(records.offset_of(stored)).is_none();
        own.chain(after).take(LOOKAHEAD_FRAMES).take_while(is_in_reach).filter(is_in_place)
    }

    /// Ends the run of damage before a valid frame, which is handled afterwards.
    pub fn end_run_before(&mut self, seq: u8, offset: u64, ledger: &mut Ledger) {
        self.check_sequence(seq, None, offset, &Following::default(), ledger);
        self.expected = Some(seq);
    }

    /// Adds the first bytes that are not records: those before the record of this number.
    pub fn add_damages(&mut self, records: &Records, damage: &mut &[Damage], number: usize, ledger: &mut Ledger) {
        while let Some((first, rest)) = damage.split_first().filter(|(first, _)| first.index as usize <= number) {
            *damage = rest;
            self.add_damage(records, first, ledger);
        }
    }

    /// Adds bytes that are not a record.
    pub fn add_damage(&mut self, records: &Records, damage: &Damage, ledger: &mut Ledger) {
        let offset = records.base + u64::from(damage.offset);
        let bytes = u64::from(damage.len);
        if let Some(seq) = damage.seq {
            // A checksum of one byte fits some damaged bytes, too. If the number does not fit, the next record shows the loss.
            let is_copied = self.resumes.is_some();
            let is_sure = !is_copied && (self.expected.is_none() || self.is_next(seq));
            if self.expected.is_none() && !is_copied {
                self.check_sequence(seq, None, offset, &Following::default(), ledger);
            }
            let kind = damage.reason.loss_kind();
            let at_least_lost = u64::from(is_sure);
            ledger.bad_frame(kind, offset, bytes, at_least_lost);
            // A record of a newer target: no known record is missing.
            if damage.reason != Bad::UnknownRecord {
                LossNote { kind, offset, bytes, at_least_lost }.add_to(&mut self.gap);
            }
            return;
        }
        self.clock.note_damage();
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
        let at_least_lost = missing.unwrap_or(u64::from(!is_lone_flags));
        ledger.enter(kind, run.offset, at_least_lost);
        if at_least_lost > 0 {
            LossNote { kind, offset: run.offset, bytes: run.bytes, at_least_lost }.add_to(&mut self.gap);
        }
        Some(run)
    }

    /// Sets the present to the time of a record. `following` are the records of its session after it in the part. `Err`: it is not just a
    /// usual step, and [`WireState::judge_time`] is to be asked with the result.
    #[inline]
    pub fn take_time(&mut self, stored: &Stored, following: &[Stored]) -> Result<(), Option<Verdict>> {
        let next = following.iter().find(|next| next.is_timed);
        match next.and_then(|next| self.clock.step(stored.time, next.time)) {
            Some(Verdict::Taken) => {
                self.evidence = ResetEvidence::default();
                Ok(())
            }
            taken => Err(taken),
        }
    }

    /// Sets the present to the time of a record that [`WireState::take_time`] left. True: the target was reset before it.
    #[cold]
    pub fn judge_time(&mut self, taken: Option<Verdict>, place: Place<'_>, ledger: &mut Ledger) -> bool {
        let Some(stored) = place.record() else { return false };
        let offset = place.offset();
        let mut evidence = std::mem::take(&mut self.evidence);
        // The next stamp may be in a later part.
        let taken = taken.or_else(|| {
            let next = self.ahead(place).find(|(_, next)| next.is_timed)?.1.time;
            self.clock.step(stored.time, next)
        });
        if evidence.sequence_bits > 0 {
            // The records after it may be evidence for a reset here, too.
            for (records, stored) in self.ahead(place).take(LOOKAHEAD) {
                if self.note(&mut evidence, self.tick_count, records, stored).is_some() {
                    break;
                }
            }
        }
        let verdict = match taken {
            Some(verdict) => verdict,
            None => {
                let stamps = self.stamps(place, evidence);
                let Some((stamp, ahead)) = stamps.split_first() else { return false };
                self.clock.judge(*stamp, ahead.iter().copied(), place.later.bytes)
            }
        };
        if let Some(readings) = self.clock.take_doubt() {
            ledger.enter_doubt(offset, readings);
        }
        let kind = match verdict {
            Verdict::Taken => return false,
            Verdict::Restarted => losses::SESSION_RESTART,
            Verdict::Overflow => losses::TIME_OVERFLOW,
            Verdict::Held => losses::TIME_HELD,
            Verdict::Replaced => losses::TIME_OUTLIER,
        };
        ledger.enter(kind, offset, 0);
        if verdict != Verdict::Restarted {
            return false;
        }
        self.copies.begin_session(offset);
        if self.sessions_begun >= SESSIONS_LIMIT {
            // The session goes on, but nothing is paired across.
            LossNote { kind, offset, bytes: 0, at_least_lost: 0 }.add_to(&mut self.gap);
            return false;
        }
        self.sessions_begun += 1;
        true
    }

    /// The stamp of a record, and those of the records that follow it.
    fn stamps(&self, place: Place<'_>, mut evidence: ResetEvidence) -> Vec<Stamp> {
        let width = self.present().layout.config.sizes.time_event;
        let mut stamps: Vec<Stamp> = Vec::new();
        let (mut count, mut coarse, mut seq) = (self.tick_count, self.clock.coarse, None);
        // From where on clock ticks may be missing. The next one says how many were.
        let mut lacks_from = self.lacks_ticks.then_some(0);
        let own = place.record().map(|stored| (place.records, stored));
        for (records, stored) in own.into_iter().chain(self.ahead(place)) {
            let jump = seq.replace(stored.seq).map_or(0, |seq: u8| stored.seq.wrapping_sub(seq).wrapping_sub(1));
            if jump != 0 {
                evidence.note_break(self.break_bits(stored.seq, jump));
                let unknown = lacks_from.replace(stamps.len()).and_then(|from| stamps.get_mut(from..));
                unknown.into_iter().flatten().for_each(|stamp| stamp.coarse_is_least = true);
            }
            if let Some(now) = self.note(&mut evidence, count, records, stored) {
                Clock::tick(&mut count, &mut coarse, now, width);
                let before = lacks_from.take().and_then(|from| stamps.get_mut(from..));
                before.into_iter().flatten().for_each(|stamp| stamp.coarse = coarse.saturating_sub(1));
            }
            if stored.is_timed {
                stamps.push(Stamp {
                    raw: u64::from(stored.time),
                    offset: records.offset_of(stored),
                    coarse,
                    restart_bits: std::mem::take(&mut evidence).bits(),
                    ..Stamp::default()
                });
            }
            if stamps.len() > LOOKAHEAD {
                break;
            }
        }
        let unknown = lacks_from.and_then(|from| stamps.get_mut(from..));
        unknown.into_iter().flatten().for_each(|stamp| stamp.coarse_is_least = true);
        stamps
    }

    /// Notes the evidence of a record, with the count of clock ticks before it. Returns that of a record of the clock tick of rate 0.
    #[inline]
    fn note(&self, evidence: &mut ResetEvidence, count: Option<u64>, records: &Records, stored: &Stored) -> Option<u64> {
        if stored.kind != Kind::Tick {
            evidence.note(stored, self.is_same_name(records, stored));
            return None;
        }
        let layout = &self.present().layout;
        let fields = layout.fields(stored.kind, records.data_of(stored));
        let now = (fields.uint(Field::Rate) == 0).then(|| fields.uint(Field::Count))?;
        evidence.note_tick(count, now, layout.config.sizes.time_event);
        Some(now)
    }

    #[inline(never)]
    fn take_name_or_answer(&mut self, records: &Records, stored: &Stored) {
        if records.begins_test(stored) {
            self.clock.begin_test();
        } else if stored.kind != Kind::RxStatus {
            self.note_name(records, stored);
        }
    }

    /// A record without a time stamp: the target's clock may have ticked, or the target starts up.
    #[inline]
    pub fn take_untimed(&mut self, records: &Records, stored: &Stored) {
        let mut evidence = self.evidence;
        let tick = self.note(&mut evidence, self.tick_count, records, stored);
        self.evidence = evidence;
        if super::is_name(stored.kind) || stored.kind == Kind::RxStatus {
            self.take_name_or_answer(records, stored);
        }
        if let Some(now) = tick {
            let width = self.present().layout.config.sizes.time_event;
            Clock::tick(&mut self.tick_count, &mut self.clock.coarse, now, width);
            self.lacks_ticks = false;
            self.clock.note_tick();
        }
    }
}

/// At most this number of records is looked at ahead: there may be none with a time for long.
pub const LOOKAHEAD_FRAMES: usize = 64 * LOOKAHEAD;
/// And within at most this number of bytes, so that what is held is bounded.
pub const LOOKAHEAD_BYTES: u64 = 1 << 20;

/// A record, and what follows it.
#[derive(Clone, Copy)]
pub struct Place<'a> {
    pub records: &'a Records,
    /// Its number in its part.
    pub number: usize,
    /// Where the records of its session end in the part.
    pub end: usize,
    pub later: &'a Later<'a>,
}

impl<'a> Place<'a> {
    fn record(&self) -> Option<&'a Stored> {
        self.records.frames.get(self.number)
    }

    fn offset(&self) -> u64 {
        self.record().map_or(self.records.base, |stored| self.records.offset_of(stored))
    }
}

/// What follows a part: the parts that have come already.
#[derive(Clone, Copy)]
pub struct Later<'a> {
    pub records: &'a VecDeque<Records>,
    /// The whole input.
    pub bytes: &'a [u8],
}

/// The frames that follow one, as evidence of what is missing before it.
#[derive(Default)]
pub struct Following {
    /// The number of the one in its part.
    number: u64,
    /// How many sequence numbers each of the others skips.
    jumps: Vec<u8>,
    /// Whether a time stamp among them is earlier than the one before it.
    goes_back: bool,
    /// Whether the next time stamp is much earlier than the last one.
    may_be_reset: bool,
    /// Whether so much time passed before it that all 256 numbers may be missing. Silence makes the average step longer, so a quarter is enough.
    is_long: bool,
    /// See [`WireState::is_same_name`].
    is_same_name: Option<bool>,
}

impl Following {
    /// Whether the numbers soon go on from where they were before one that skips `jump`.
    fn goes_on(&self, jump: u8) -> bool {
        let mut ahead = jump;
        self.jumps.iter().any(|&jump| {
            ahead = ahead.wrapping_add(jump).wrapping_add(1);
            jump != 0 && ahead <= PIECE_ENDS
        })
    }
}

/// How many records at the start of a part belong to a session.
fn leading(records: &Records, session: usize) -> usize {
    let other = records.segments.iter().find(|(_, segment)| *segment as usize != session);
    other.map_or(records.frames.len(), |&(start, _)| (start as usize).min(records.frames.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_count_of_ticks_that_goes_on_after_a_break_contradicts_a_reset() {
        let evidence = |ticks: [Option<u64>; 2], width: u8| {
            let mut evidence = ResetEvidence::default();
            let [before, after] = ticks;
            before.into_iter().for_each(|now| evidence.note_tick(Some(9), now, width));
            evidence.note_break(SEQUENCE_BITS);
            after.into_iter().for_each(|now| evidence.note_tick(Some(9), now, width));
            evidence.bits()
        };
        assert_eq!(evidence([None, Some(17)], 4), 0);
        assert_eq!(evidence([None, Some(1)], 4), SEQUENCE_BITS + TICKS_BITS);
        // Before the break it says nothing, nor does a count that wraps soon.
        assert_eq!(evidence([Some(10), None], 4), SEQUENCE_BITS);
        assert_eq!(evidence([None, Some(17)], 1), SEQUENCE_BITS);
    }
}
