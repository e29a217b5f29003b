//! The records that are held back until more have come, and the gaps that bad frames left between records.

use crate::clock::Stamp as TimeStamp;
use crate::model::{CoreId, Ledger, LossNote, TextRef, losses};

use super::super::decode::{BadFrame, FragmentJoiner, Records, Stamp, Stored};
use super::super::field::KeepText as _;
use super::super::record::Record;
use super::LOOKAHEAD_RECORDS;
use super::input::{InputState, RESTART_SIGN_BITS, START_BITS};

/// How many of the times of a core are looked at ahead.
const FEW_TIMES: usize = 3;

/// Records in file order: those held back, then those of the current part.
#[derive(Clone, Copy)]
pub struct PendingRecords<'a> {
    pub held: &'a [Stored],
    pub fresh: &'a [Stored],
    /// Where both start in the input.
    pub bases: (u64, u64),
}

impl<'a> PendingRecords<'a> {
    /// Record number `index`.
    #[inline]
    pub fn get(self, index: usize) -> Option<&'a Record<TextRef>> {
        let stored = match index.checked_sub(self.held.len()) {
            None => self.held.get(index),
            Some(index) => self.fresh.get(index),
        };
        stored.map(|stored| &stored.record)
    }

    /// The records after number `index`, as far as may be looked, each with where its part starts.
    pub fn after(self, index: usize) -> impl Iterator<Item = (u64, &'a Stored)> + Clone {
        let start = index + 1;
        let held = self.held.get(start..).unwrap_or(&[]);
        let fresh = self.fresh.get(start.saturating_sub(self.held.len())..).unwrap_or(&[]);
        let held = held.iter().map(move |stored| (self.bases.0, stored));
        held.chain(fresh.iter().map(move |stored| (self.bases.1, stored))).take(LOOKAHEAD_RECORDS)
    }
}

/// The place of a record. Small, because there is one for each.
#[derive(Clone, Copy)]
pub struct RecordPlace<'a> {
    /// Its input.
    pub index: usize,
    /// Its number in the chunk.
    pub number: usize,
    pub stored: &'a Stored,
    pub chunk: &'a Chunk<'a>,
}

impl<'a> RecordPlace<'a> {
    /// Where its frame starts in the input.
    #[inline]
    pub fn offset(self) -> u64 {
        self.chunk.records.base + u64::from(self.stored.offset)
    }

    /// Its number among the pending records.
    pub fn pending(self) -> usize {
        self.chunk.before + self.number
    }

    /// The records after it, as far as may be looked, each with where its part starts.
    pub fn after(self) -> impl Iterator<Item = (u64, &'a Stored)> + Clone {
        self.chunk.pending.after(self.pending())
    }
}

/// Records, with the gaps between them and the records after them.
#[derive(Clone, Copy)]
pub struct Chunk<'a> {
    pub records: &'a Records,
    /// The losses, each with the number of the record after it; in order.
    pub gaps: &'a [(usize, LossNote)],
    /// The number of records before it in `pending`.
    pub before: usize,
    pub pending: PendingRecords<'a>,
    /// The whole input.
    pub bytes: &'a [u8],
}

impl<'a> Chunk<'a> {
    #[inline]
    pub fn at(&'a self, index: usize, number: usize, stored: &'a Stored) -> RecordPlace<'a> {
        RecordPlace { index, number, stored, chunk: self }
    }
}

/// Records that are held back. Never more than [`LOOKAHEAD_RECORDS`], and at most one gap before each and one at the end.
#[derive(Default)]
pub struct Carry {
    pub records: Records,
    pub gaps: Vec<(usize, LossNote)>,
}

impl Carry {
    /// Appends a chunk's records from number `from` on.
    pub fn add(&mut self, chunk: Chunk<'_>, from: usize) {
        let frames = chunk.records.frames.get(from..).unwrap_or(&[]);
        let kept = &mut self.records;
        let before = kept.frames.len();
        if let Some(first) = frames.first().filter(|_| before == 0) {
            kept.base = chunk.records.base + u64::from(first.offset);
        }
        for stored in frames {
            let offset = (chunk.records.base + u64::from(stored.offset)).saturating_sub(kept.base);
            let record = stored.record.map_text(|text| kept.text.keep(chunk.records.bytes(text)));
            kept.frames.push(Stored { record, offset: u32::try_from(offset).unwrap_or(u32::MAX), ..*stored });
        }
        for &(number, note) in chunk.gaps.iter().filter(|gap| gap.0 >= from) {
            push_gap_before(&mut self.gaps, number - from + before, note);
        }
    }
}

/// Accounts for the records and the bad frames of a part. Returns the gaps that these leave.
pub fn enter_part(records: &Records, joiner: &mut FragmentJoiner, input: &[u8], ledger: &mut Ledger) -> Vec<(usize, LossNote)> {
    ledger.decoded_bytes += records.ok_bytes;
    ledger.frames_ok += records.frames.len() as u64;
    let mut gaps = Vec::new();
    if let Some(frame) = joiner.join(records) {
        // It starts before the part, and precedes everything in it.
        let kind = BadFrame::Oversize.loss_kind();
        ledger.bad_frame(kind, frame.offset, frame.len, 1);
        push_gap_before(&mut gaps, 0, LossNote { kind, offset: frame.offset, bytes: frame.len, at_least_lost: 1 });
    }
    for bad in &records.bad {
        let offset = records.base + u64::from(bad.offset);
        let (kind, at_least_lost, bytes) =
            (bad.reason.loss_kind(), joiner.at_least_lost(records.base, bad, input), u64::from(bad.len));
        // A run of lone delimiters is many frames, regardless of the cuts.
        ledger.bad_frames(kind, offset, bytes, u64::from(bad.frames), at_least_lost);
        // An unknown event is a valid frame of a newer target, and an empty frame has no event: no known event is missing.
        if !matches!(bad.reason, BadFrame::UnknownEvent | BadFrame::Empty) {
            push_gap_before(&mut gaps, bad.index as usize, LossNote { kind, offset, bytes, at_least_lost });
        }
    }
    gaps
}

/// Two lists of gaps as one.
pub fn merge_gaps(mut gaps: Vec<(usize, LossNote)>, more: Vec<(usize, LossNote)>) -> Vec<(usize, LossNote)> {
    if more.is_empty() {
        return gaps;
    }
    gaps.extend(more);
    // The first one in the input names the loss, wherever the input is cut.
    gaps.sort_by_key(|gap| (gap.0, gap.1.offset));
    let mut merged = Vec::with_capacity(gaps.len());
    for (number, note) in gaps {
        push_gap_before(&mut merged, number, note);
    }
    merged
}

/// Adds a gap before a record; bad frames without a record between them are one gap.
fn push_gap_before(gaps: &mut Vec<(usize, LossNote)>, number: usize, note: LossNote) {
    match gaps.last_mut().filter(|last| last.0 == number) {
        Some((_, last)) => last.extend(note),
        None => gaps.push((number, note)),
    }
}

/// The time stamps of one core among the next records.
#[derive(Clone)]
pub struct SameCore<'a, I> {
    pub records: I,
    pub core: CoreId,
    /// Whether a record with the number of the core precedes.
    pub is_marked: bool,
    /// The signs of a restart since the last timed record.
    pub signs: Signs,
    pub input: &'a InputState,
}

/// The signs of a restart between two timed records of a plain recording: a start sends a `core_id` at time 0, and metadata.
#[derive(Clone, Copy, Debug, Default)]
pub struct Signs {
    is_at_zero: bool,
    metadata: u8,
}

impl Signs {
    fn note(&mut self, record: &Record<TextRef>) {
        match record {
            Record::CoreId { ts, .. } => self.is_at_zero |= *ts == 0,
            // A single one may be made of something else by damage.
            _ => self.metadata = self.metadata.saturating_add(1),
        }
    }

    /// Their evidence and that of the timed record after them, in bits.
    fn take(&mut self, record: &Record<TextRef>) -> u8 {
        let Signs { is_at_zero, metadata } = std::mem::take(self);
        match () {
            () if is_at_zero && metadata > 0 => START_BITS,
            () if is_at_zero || metadata > 1 || is_first_task(record) => RESTART_SIGN_BITS,
            () => 0,
        }
    }
}

impl<'a, I: Iterator<Item = (u64, &'a Stored)>> Iterator for SameCore<'a, I> {
    type Item = TimeStamp;

    fn next(&mut self) -> Option<TimeStamp> {
        let wanted = self.input.core;
        let is_superset = self.input.restorer.is_some();
        loop {
            let (base, stored) = self.records.next()?;
            let ts = stored.record.ts().filter(|_| !matches!(stored.record, Record::CoreId { .. }));
            let mut restart_bits = 0;
            if is_superset {
                self.core = self.input.core_of_stored(stored.core);
            } else if ts.is_some() {
                restart_bits = self.signs.take(&stored.record);
            } else {
                self.signs.note(&stored.record);
            }
            match &stored.record {
                Record::CoreId { core_id, .. } => {
                    let core = self.input.core_of(*core_id);
                    (self.core, self.is_marked) = (core.unwrap_or(self.core), core.is_some());
                }
                record if self.core == wanted && stored.stamp == Stamp::Absolute => {
                    if let Some(ticks) = record.ts() {
                        let (offset, is_marked) = (base + u64::from(stored.offset), std::mem::take(&mut self.is_marked));
                        return Some(TimeStamp { raw: ticks, offset, is_marked, restart_bits, ..TimeStamp::default() });
                    }
                }
                _ => {}
            }
        }
    }
}

/// Whether the first task of all is created: a kernel numbers its tasks from 1, and no number is used again.
pub fn is_first_task(record: &Record<TextRef>) -> bool {
    matches!(record, Record::TaskCreated { task_id: 1, .. })
}

impl InputState {
    /// Decides of which core the next records are, after a change of the core may have been lost: of another one, if their times
    /// contradict those of the present core on either side, and no others.
    #[cold]
    pub fn judge_core(&mut self, at: RecordPlace<'_>, ticks: u64, ledger: &mut Ledger) {
        self.is_core_in_doubt = false;
        let is_certain = self.forced_core.is_some() || self.restorer.is_some() || self.restart_sign.is_some();
        if self.cores.len() < 2 || is_certain {
            return;
        }
        if self.copies.is_within(at.chunk.bytes, at.offset()) {
            return;
        }
        // The times up to the next change, and those of each core after it.
        let (mut block, mut core) = (vec![ticks], None);
        let mut after: Vec<Vec<u64>> = vec![Vec::new(); self.states.len()];
        for (_, stored) in at.after() {
            match (&stored.record, core) {
                (Record::CoreId { core_id, .. }, _) => match self.core_of(*core_id) {
                    Some(next) => core = Some(next),
                    None => break,
                },
                (record, None) => block.extend(record.ts()),
                (record, Some(core)) => {
                    if let Some(after) = after.get_mut(core.index()).filter(|after| after.len() < FEW_TIMES) {
                        after.extend(record.ts());
                    }
                }
            }
        }
        // Of a timer that wraps, a time that goes back says nothing.
        let wraps = |from: u64, to: u64| to < from && self.wrap_between(from, to, false).is_some();
        let reached = self.states.get(self.core.index()).and_then(|state| state.clock.reached());
        if self.domain.modulus.is_some()
            || reached.is_some_and(|reached| wraps(reached, ticks))
            || block.windows(2).any(|pair| wraps(pair[0], pair[1]))
        {
            return;
        }
        after.iter_mut().for_each(|after| after.sort_unstable());
        let contradicts = |core: CoreId| {
            let reached = self.states.get(core.index()).and_then(|state| state.clock.reached()).unwrap_or(0);
            // The middle one: any may be damaged.
            let next = after.get(core.index()).and_then(|after| after.get(after.len() / 2));
            let is_odd = |ticks: &&u64| **ticks < reached || next.is_some_and(|next| *ticks > next);
            block.iter().filter(is_odd).count() * 4 > block.len()
        };
        let mut fitting = self.cores.iter().copied().filter(|&core| core != self.core && !contradicts(core));
        if contradicts(self.core)
            && let (Some(core), None) = (fitting.next(), fitting.next())
        {
            self.core = core;
            self.states.iter_mut().for_each(|state| state.clock.reconsider());
            ledger.enter(losses::CORE_INFERRED, at.offset(), 0);
        }
    }

    /// The earliest of the first time stamps that the cores other than the present one have among the next records.
    pub fn first_of_other_cores(&self, at: RecordPlace<'_>) -> Option<u64> {
        let (mut core, mut seen) = (self.core, vec![self.core]);
        let firsts = at.after().filter_map(|(_, stored)| {
            if self.restorer.is_some() {
                core = self.core_of_stored(stored.core);
            }
            if let Record::CoreId { core_id, .. } = stored.record {
                core = self.core_of(core_id).unwrap_or(core);
                return None;
            }
            let ticks = stored.record.ts().filter(|_| stored.stamp == Stamp::Absolute && !seen.contains(&core))?;
            seen.push(core);
            Some(ticks)
        });
        firsts.min()
    }
}
