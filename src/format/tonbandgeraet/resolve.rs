//! Records in file order → events of the common model.
//!
//! Here is everything that has a memory: the present core and its running task, the clock and its sessions, the drop counter, and
//! the repair of known faults of target libraries. One [`Resolver`] serves all inputs of a recording, because tasks and queues are
//! the same on all cores; each input has its own clock.
//!
//! A time stamp is judged by what follows, so the last [`LOOKAHEAD_RECORDS`] records are always held back until more have come.
//! How the input is cut into parts has no influence on the result.

mod clock;
mod events;
mod ids;
mod losses;
mod mailbox;
mod names;
mod view;

use std::collections::VecDeque;

use crate::format::{Facts, FormatOptions, Mode, Parcel, RecordView, Resolve, Resolved};
use crate::model::{CoreId, Event, EventKind, Ledger, LossNote, Nanos, Rate, TaskId, TextRef, Ticks};

use super::decode::{Bad, BadFrame, FragmentJoiner, Records, Stored};
use super::record::Record;
use super::scan::ScanFacts;
use clock::{CoreClock, LOOKAHEAD_RECORDS, Verdict};
use ids::Ids;
use mailbox::QueueLevel;
use names::{Fact, Names, Subject};

/// Time between the last event before a reset and the first one after it: how long the reset took is unknown.
const RESET_GAP_NS: u64 = 1_000;

/// How many resets are believed. Damage can look like one.
const SESSIONS_LIMIT: u32 = 1 << 12;

/// The viewer knows 1024 CPUs.
const CORES_LIMIT: u32 = 1 << 10;

/// A drop counter sent again after fewer events than this, with nothing dropped, is a fault of the target.
const DROP_COUNTER_EVERY: u64 = 2;

/// Turns records into events.
pub(crate) struct Resolver {
    names: Names,
    inputs: Vec<Input>,
    /// Where the present session starts in each input.
    starts: Vec<u64>,
    /// By session.
    sessions: Vec<Session>,
    facts: Facts,
}

/// What the target's ids mean in one session.
#[derive(Default)]
struct Session {
    ids: Ids,
    /// By [`crate::model::ObjectId`].
    levels: rustc_hash::FxHashMap<u32, QueueLevel>,
    /// Tasks that were deleted: their id may come again, with another task.
    deleted: rustc_hash::FxHashSet<u32>,
}

/// One input.
struct Input {
    /// The core that the user named, which overrules the stream.
    forced_core: Option<CoreId>,
    /// The cores that may have events.
    cores: Vec<CoreId>,
    core: CoreId,
    rate: Rate,
    /// By core.
    states: Vec<CoreState>,
    session: u32,
    /// Added to a time in nanoseconds: sessions after the first start where the one before ended.
    shift_ns: i64,
    /// The session's first event lies here; times before it are held.
    start_ns: Nanos,
    last_ns: Nanos,
    dropped: Option<u32>,
    since_drop_counter: u64,
    /// Where metadata or a `core_id` at time 0 stands since the last timed record: a sign of a restart.
    restart_sign: Option<u64>,
    timed_before: bool,
    /// Bad frames since the last event.
    gap: Option<LossNote>,
    joiner: FragmentJoiner,
    /// Where the oversize frames that were joined start, and their lengths, as long as they are not entered.
    joined: VecDeque<(u64, u64)>,
    carry: Records,
}

/// One core of an input.
#[derive(Clone, Copy, Default)]
struct CoreState {
    clock: CoreClock,
    running: Option<TaskId>,
    /// The task, by the target's id, that the last event created or gave a priority.
    touched: Touched,
    /// The last tick that was converted, and its time.
    converted: (u64, Nanos),
}

/// What the last event of a core did to a task.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Touched {
    #[default]
    Otherwise,
    Created(u32),
    Prioritised(u32),
}

impl Resolver {
    pub(crate) fn new(options: &[FormatOptions], facts: Vec<ScanFacts>, mode: Mode, ledgers: &mut [Ledger]) -> Resolver {
        let mut names = Names::default();
        let mut spare = Ledger::default();
        for (index, facts) in facts.iter().enumerate() {
            let core = options.get(index).and_then(|options| options.core).unwrap_or(0);
            let ledger = ledgers.get_mut(index).unwrap_or(&mut spare);
            names.add_input(facts, u32::from(core), ledger);
            if facts.metadata_cut {
                ledger.enter(losses::METADATA_LIMIT, 0, 1);
            }
        }
        let starts = vec![0; facts.len()];
        let inputs: Vec<Input> = facts
            .iter()
            .zip(options)
            .enumerate()
            .map(|(index, (facts, options))| Input::new(index, facts, options, &names))
            .collect();
        let cores = inputs.iter().flat_map(|input| &input.cores).max().map_or(1, |core| core.0.saturating_add(1));
        let clock = match (options.first().and_then(|options| options.clock), resolution(&names, 0, &starts)) {
            (Some(rate), _) => (rate, "given by an option"),
            (None, Some(rate)) => (rate, "told by the capture"),
            (None, None) => (Rate::NANOSECOND, "assumed, the capture does not tell"),
        };
        let system = match mode {
            Mode::FreeRtos => "FreeRTOS",
            Mode::BareMetal => "bare metal",
        };
        let facts = Facts { clock: Some(clock), system: Some(system), cores, sessions: 1 };
        Resolver { names, inputs, starts, sessions: vec![Session::default()], facts }
    }

    /// The cores that may have events, of each input.
    pub(crate) fn cores(&self) -> Vec<Vec<CoreId>> {
        self.inputs.iter().map(|input| input.cores.clone()).collect()
    }
}

fn resolution(names: &Names, input: usize, starts: &[u64]) -> Option<Rate> {
    match names.fact(Subject::Resolution, input, starts)? {
        Fact::NsPerTick(ns) => Rate::from_ns_per_tick(*ns),
        _ => None,
    }
}

impl Input {
    fn new(index: usize, facts: &ScanFacts, options: &FormatOptions, names: &Names) -> Input {
        let forced_core = options.core.map(CoreId);
        let limit = options.cores.map_or(CORES_LIMIT, u32::from).min(CORES_LIMIT);
        let mut cores: Vec<CoreId> = match forced_core {
            Some(core) => vec![core],
            None => {
                // A core_id that stands alone is more likely a damaged frame of another kind.
                let plausible = facts.cores.iter().filter(|core| {
                    core.core < limit
                        && (options.cores.is_some() || core.at_time_zero > 0 || core.records > 1 || core.first_offset == 0)
                });
                plausible.map(|core| CoreId(core.core as u16)).collect()
            }
        };
        let core = forced_core.unwrap_or_default();
        // Events before the first core_id are those of core 0.
        if !cores.contains(&core) {
            cores.push(core);
        }
        cores.sort_unstable();
        let states = cores.last().map_or(1, |core| core.index() + 1);
        let rate = options.clock.or_else(|| resolution(names, index, &[])).unwrap_or(Rate::NANOSECOND);
        Input {
            forced_core,
            cores,
            core,
            rate,
            states: vec![CoreState::default(); states],
            session: 0,
            shift_ns: 0,
            start_ns: Nanos(0),
            last_ns: Nanos(0),
            dropped: None,
            since_drop_counter: DROP_COUNTER_EVERY,
            restart_sign: None,
            timed_before: false,
            gap: None,
            joiner: FragmentJoiner::default(),
            joined: VecDeque::new(),
            carry: Records::default(),
        }
    }

    fn state(&mut self) -> &mut CoreState {
        let index = self.core.index().min(self.states.len() - 1);
        &mut self.states[index]
    }

    /// The core that a `core_id` record stands for; `None` if it is not to be believed.
    fn core_of(&self, core_id: u32) -> Option<CoreId> {
        let core = CoreId(u16::try_from(core_id).ok()?);
        self.forced_core.or_else(|| self.cores.binary_search(&core).is_ok().then_some(core))
    }

    /// The time of a tick of the present session. `None` beyond what a trace can hold.
    fn nanos(&self, ticks: u64) -> Option<Nanos> {
        let time = self.rate.to_nanos(Ticks(ticks))?.0.checked_add_signed(self.shift_ns)?;
        (time <= Nanos::MAX.0).then_some(Nanos(time))
    }
}

/// Records in file order: those held back, then those of the part at hand.
#[derive(Clone, Copy)]
struct Ahead<'a> {
    held: &'a [Stored],
    fresh: &'a [Stored],
}

impl<'a> Ahead<'a> {
    /// The records after number `index`, as far as may be looked.
    fn after(self, index: usize) -> impl Iterator<Item = &'a Record<TextRef>> + Clone {
        let start = index + 1;
        let held = self.held.get(start..).unwrap_or(&[]);
        let fresh = self.fresh.get(start.saturating_sub(self.held.len())..).unwrap_or(&[]);
        held.iter().chain(fresh).take(LOOKAHEAD_RECORDS).map(|stored| &stored.record)
    }
}

impl Resolve for Resolver {
    fn resolve(&mut self, input: usize, records: Parcel, out: &mut Resolved<'_>) -> Option<Parcel> {
        let mut records = records.downcast::<Records>().ok()?;
        self.take_part(input, &mut records, false, out);
        Some(records)
    }

    fn finish(&mut self, input: usize, out: &mut Resolved<'_>) {
        self.take_part(input, &mut Records::default(), true, out);
        self.end_input(input, out);
    }

    fn dump(&mut self, input: usize, records: Parcel, ledger: &mut Ledger, out: &mut dyn FnMut(&RecordView<'_>) -> bool) {
        if let Ok(records) = records.downcast::<Records>() {
            self.dump_part(input, &records, ledger, out);
        }
    }

    fn finish_dump(&mut self, _input: usize, _ledger: &mut Ledger, _out: &mut dyn FnMut(&RecordView<'_>) -> bool) {}

    fn facts(&self) -> Facts {
        self.facts.clone()
    }
}

impl Resolver {
    /// Resolves what was held back and the next part, but for the records that must wait for more.
    fn take_part(&mut self, index: usize, records: &mut Records, is_last: bool, out: &mut Resolved<'_>) {
        let Some(input) = self.inputs.get_mut(index) else { return };
        out.ledger.decoded_bytes += records.ok_bytes;
        out.ledger.frames_ok += records.frames.len() as u64;
        if let Some(frame) = input.joiner.join(records) {
            // It stands before everything in the part, but starts before it: where is kept apart.
            input.joined.push_back((frame.offset, frame.len));
            let raw = TextRef::NONE;
            records.bad.insert(0, Bad { index: 0, offset: 0, len: 0, frames: 0, reason: BadFrame::Oversize, raw });
        }
        let carry = std::mem::take(&mut input.carry);
        let total = carry.frames.len() + records.frames.len();
        let ready = if is_last { total } else { total.saturating_sub(LOOKAHEAD_RECORDS) };
        let ready_held = ready.min(carry.frames.len());
        let ready_fresh = ready - ready_held;
        let ahead = Ahead { held: &carry.frames, fresh: &records.frames };
        let mut bad_held = carry.bad.as_slice();
        let mut bad_fresh = records.bad.as_slice();
        self.run(index, &carry, 0..ready_held, 0, ahead, &mut bad_held, out);
        if ready_fresh > 0 || is_last {
            self.note_bad(index, &carry, &mut bad_held, usize::MAX, out);
        }
        self.run(index, records, 0..ready_fresh, carry.frames.len(), ahead, &mut bad_fresh, out);
        if is_last {
            self.note_bad(index, records, &mut bad_fresh, usize::MAX, out);
            return;
        }
        // Keep the rest, as if it were the start of the next part.
        let mut kept = Records { base: carry.base, ..Records::default() };
        if carry.frames.len() == ready_held && bad_held.is_empty() {
            kept.base = records.base + records.frames.get(ready_fresh).map_or(0, |stored| u64::from(stored.offset));
            let first_bad = bad_fresh.first().map_or(kept.base, |bad| records.base + u64::from(bad.offset));
            kept.base = kept.base.min(first_bad);
        }
        keep(&mut kept, &carry, ready_held, bad_held);
        keep(&mut kept, records, ready_fresh, bad_fresh);
        self.inputs[index].carry = kept;
    }

    /// Resolves some records of a chunk. `before` is how many records precede the chunk in `ahead`.
    #[allow(clippy::too_many_arguments)]
    fn run(
        &mut self,
        index: usize,
        chunk: &Records,
        range: std::ops::Range<usize>,
        before: usize,
        ahead: Ahead<'_>,
        bad: &mut &[Bad],
        out: &mut Resolved<'_>,
    ) {
        let end = range.end;
        for number in range {
            let Some(stored) = chunk.frames.get(number) else { return };
            if bad.first().is_some_and(|bad| bad.index as usize <= number) {
                self.note_bad(index, chunk, bad, number, out);
            }
            let next = chunk.frames.get(number + 1).filter(|_| number + 1 < end);
            let offset = chunk.base + u64::from(stored.offset);
            match stored.record.ts() {
                Some(ticks) if !matches!(stored.record, Record::CoreId { .. }) => {
                    let next = next.filter(|next| !matches!(next.record, Record::CoreId { .. }));
                    let next = next.and_then(|next| next.record.ts());
                    let place = At { index, offset, ahead, number: before + number };
                    let time = self.time(place, &stored.record, ticks, next, out);
                    self.event(place, chunk, &stored.record, time, out);
                }
                _ => self.untimed(index, offset, chunk, &stored.record, out),
            }
        }
    }

    /// Enters bad frames that come before record number `before` of their chunk.
    fn note_bad(&mut self, index: usize, chunk: &Records, bad: &mut &[Bad], before: usize, out: &mut Resolved<'_>) {
        while let Some((first, rest)) = bad.split_first().filter(|(first, _)| first.index as usize <= before) {
            *bad = rest;
            let own_place = (chunk.base + u64::from(first.offset), u64::from(first.len));
            let joined = if first.frames == 0 { self.inputs[index].joined.pop_front() } else { None };
            let (offset, len) = joined.unwrap_or(own_place);
            let (kind, lost) = (first.reason.loss_kind(), first.reason.at_least_lost());
            out.ledger.bad_frame(kind, offset, len, lost);
            // A run of lone delimiters is many frames.
            out.ledger.frames_bad += u64::from(first.frames.saturating_sub(1));
            // An unknown event is a whole frame of a newer target, and an empty frame holds none: no event of ours is missing.
            if matches!(first.reason, BadFrame::UnknownEvent | BadFrame::Empty) {
                continue;
            }
            let gap = self.inputs[index].gap.get_or_insert(LossNote { kind, offset, bytes: 0, at_least_lost: 0 });
            gap.bytes += len;
            gap.at_least_lost += lost;
        }
    }

    /// A time for a record, in nanoseconds. May start a session.
    #[inline]
    fn time(&mut self, at: At<'_>, record: &Record<TextRef>, ticks: u64, next: Option<u64>, out: &mut Resolved<'_>) -> Nanos {
        let input = &mut self.inputs[at.index];
        let state = input.state();
        if state.clock.fits(ticks, next) {
            if ticks == state.converted.0 {
                state.clock.take(ticks);
                return state.converted.1;
            }
            if let Some(time) = input.nanos(ticks) {
                let state = input.state();
                state.clock.take(ticks);
                state.converted = (ticks, time);
                input.last_ns = input.last_ns.max(time);
                return time;
            }
        }
        self.judged_time(at, record, ticks, out)
    }

    #[cold]
    fn judged_time(&mut self, at: At<'_>, record: &Record<TextRef>, ticks: u64, out: &mut Resolved<'_>) -> Nanos {
        let input = &mut self.inputs[at.index];
        let core = input.core;
        let sign =
            input.restart_sign.or_else(|| drop_counter_restarts(input.dropped, record, at.ahead.after(at.number), at.offset));
        let following = SameCore { records: at.ahead.after(at.number), core, input };
        let verdict = input.states[core.index().min(input.states.len() - 1)].clock.judge(ticks, following, sign.is_some());
        let ticks = match verdict {
            Verdict::Take => ticks,
            Verdict::Clamp => {
                out.ledger.enter(losses::TIME_CLAMPED, at.offset, 0);
                input.state().clock.last.unwrap_or(ticks)
            }
            Verdict::Outlier(instead) => {
                out.ledger.enter(losses::TIME_OUTLIER, at.offset, 0);
                instead
            }
            Verdict::Restart => {
                if input.session + 1 < SESSIONS_LIMIT {
                    self.restart(at.index, sign.unwrap_or(at.offset), ticks, out);
                    ticks
                } else {
                    input.state().clock.last.unwrap_or(ticks)
                }
            }
        };
        let input = &mut self.inputs[at.index];
        let time = input.nanos(ticks).map(|time| time.max(input.start_ns));
        let time = time.unwrap_or_else(|| {
            out.ledger.enter(losses::TIME_OVERFLOW, at.offset, 0);
            input.state().converted.1
        });
        // An overflowing tick must not hold up those that follow.
        if input.nanos(ticks).is_some() {
            input.state().clock.take(ticks);
        }
        let time = time.max(input.state().converted.1);
        input.state().converted = (ticks, time);
        input.last_ns = input.last_ns.max(time);
        time
    }

    /// The target was reset: another session begins, with the record whose time is `ticks`.
    fn restart(&mut self, index: usize, offset: u64, ticks: u64, out: &mut Resolved<'_>) {
        self.forget_levels(index, out);
        out.ledger.enter(losses::SESSION_RESTART, offset, 0);
        let input = &mut self.inputs[index];
        input.session += 1;
        self.facts.sessions = self.facts.sessions.max(input.session + 1);
        if self.sessions.len() <= input.session as usize {
            self.sessions.push(Session::default());
        }
        if let Some(start) = self.starts.get_mut(index) {
            *start = offset;
        }
        let start_ns = input.last_ns.saturating_add(RESET_GAP_NS);
        input.start_ns = start_ns;
        let first_ns = input.rate.to_nanos(Ticks(ticks)).unwrap_or_default();
        input.shift_ns = start_ns.0.cast_signed().saturating_sub(first_ns.0.cast_signed());
        input.last_ns = start_ns;
        let last_event = CoreState { converted: (0, start_ns), ..CoreState::default() };
        input.states.fill(last_event);
        input.dropped = None;
        input.since_drop_counter = DROP_COUNTER_EVERY;
        let session = input.session;
        let core = input.core;
        out.batch.events.push(Event { time: start_ns, core, kind: EventKind::SessionStart(session) });
    }

    fn end_input(&mut self, index: usize, out: &mut Resolved<'_>) {
        self.forget_levels(index, out);
        let Some(input) = self.inputs.get_mut(index) else { return };
        // A frame of which only fragments came.
        if let Some(gap) = input.gap.take() {
            push_gap(gap, input.last_ns, input.core, out);
        }
    }
}

/// Where a record stands.
#[derive(Clone, Copy)]
struct At<'a> {
    index: usize,
    offset: u64,
    ahead: Ahead<'a>,
    number: usize,
}

fn push_gap(gap: LossNote, time: Nanos, core: CoreId, out: &mut Resolved<'_>) {
    let number = u32::try_from(out.batch.losses.len()).unwrap_or(u32::MAX);
    out.batch.losses.push(gap);
    out.batch.events.push(Event { time, core, kind: EventKind::Loss(number) });
}

/// Whether the drop counter starts again with this record or soon after it: a sign of a reset.
fn drop_counter_restarts<'a>(
    dropped: Option<u32>,
    record: &'a Record<TextRef>,
    following: impl Iterator<Item = &'a Record<TextRef>>,
    offset: u64,
) -> Option<u64> {
    let dropped = dropped?;
    let mut counters = std::iter::once(record).chain(following).filter_map(|record| match record {
        Record::DroppedEvtCnt { cnt, .. } => Some(*cnt),
        _ => None,
    });
    counters.next().filter(|&next| next < dropped).map(|_| offset)
}

/// The time stamps of one core among the records that follow.
#[derive(Clone)]
struct SameCore<'a, I> {
    records: I,
    core: CoreId,
    input: &'a Input,
}

impl<'a, I: Iterator<Item = &'a Record<TextRef>>> Iterator for SameCore<'a, I> {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        let wanted = self.input.core;
        loop {
            match self.records.next()? {
                Record::CoreId { core_id, .. } => self.core = self.input.core_of(*core_id).unwrap_or(self.core),
                record if self.core == wanted => {
                    if let Some(ticks) = record.ts() {
                        return Some(ticks);
                    }
                }
                _ => {}
            }
        }
    }
}

/// Appends what remains of a chunk to the records that are held back.
fn keep(kept: &mut Records, chunk: &Records, from: usize, bad: &[Bad]) {
    let rebase = |offset: u32| {
        let offset = chunk.base + u64::from(offset);
        u32::try_from(offset.saturating_sub(kept.base)).unwrap_or(u32::MAX)
    };
    let index_before = kept.frames.len();
    let frames = chunk.frames.get(from..).unwrap_or(&[]);
    let mut rebased: Vec<Stored> = Vec::with_capacity(frames.len());
    for stored in frames {
        let offset = rebase(stored.offset);
        let record = stored.record.map_text(|text| {
            let start = u32::try_from(kept.text.len()).unwrap_or(u32::MAX);
            kept.text.extend_from_slice(chunk.bytes(text));
            TextRef { start, len: text.len }
        });
        rebased.push(Stored { record, offset });
    }
    kept.bad.extend(bad.iter().map(|bad| Bad {
        index: u32::try_from((bad.index as usize).saturating_sub(from) + index_before).unwrap_or(u32::MAX),
        offset: rebase(bad.offset),
        raw: TextRef::NONE,
        ..*bad
    }));
    kept.frames.extend(rebased);
}
