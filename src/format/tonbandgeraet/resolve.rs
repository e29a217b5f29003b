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

use crate::format::{Facts, FormatOptions, Mode, Parcel, RecordView, Resolve, Resolved};
use crate::model::{CoreId, Event, EventKind, Ledger, LossNote, Nanos, ObjectId, Rate, TaskId, TextRef, Ticks};

use super::decode::{BadFrame, FragmentJoiner, Records, Stored};
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
    /// By [`ObjectId`], as far as needed. Those of other sessions stay untouched.
    levels: Vec<QueueLevel>,
    /// Tasks that were deleted: their id may come again, with another task.
    deleted: rustc_hash::FxHashSet<u32>,
}

impl Session {
    /// What is known about the level of a queue.
    #[inline]
    fn level(&mut self, object: ObjectId) -> &mut QueueLevel {
        let index = object.index();
        if index >= self.levels.len() {
            self.levels.resize(index + 1, QueueLevel::default());
        }
        &mut self.levels[index]
    }
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
    carry: Carry,
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
            carry: Carry::default(),
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

    /// Whether times from `first` to `last`, all of the present core, would be taken as they are.
    fn takes_all(&self, first: u64, last: u64) -> bool {
        let state = self.states.get(self.core.index());
        let follows = |state: &CoreState| {
            state.clock.last.is_some_and(|before| before <= first)
                && self.nanos(first).is_some_and(|time| time >= self.start_ns.max(state.converted.1).max(self.last_ns))
        };
        state.is_some_and(follows) && self.nanos(last).is_some()
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
        let records = records.downcast::<Records>().ok()?;
        self.take_part(input, &records, false, out);
        Some(records)
    }

    fn finish(&mut self, input: usize, out: &mut Resolved<'_>) {
        self.take_part(input, &Records::default(), true, out);
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
    fn take_part(&mut self, index: usize, records: &Records, is_last: bool, out: &mut Resolved<'_>) {
        let Some(input) = self.inputs.get_mut(index) else { return };
        let gaps = enter_part(records, &mut input.joiner, out.ledger);
        let carry = std::mem::take(&mut input.carry);
        let ahead = Ahead { held: &carry.records.frames, fresh: &records.frames };
        let held = Chunk { records: &carry.records, gaps: &carry.gaps, before: 0, ahead };
        let fresh = Chunk { records, gaps: &gaps, before: ahead.held.len(), ahead };
        let total = ahead.held.len() + ahead.fresh.len();
        let ready = if is_last { total } else { total.saturating_sub(LOOKAHEAD_RECORDS) };
        let ready_held = ready.min(ahead.held.len());
        let ready_fresh = ready - ready_held;
        self.run(index, held, 0..ready_held, out);
        if ready_held == ahead.held.len() {
            self.note_gaps(index, held, ready_held, usize::MAX);
            if records.ordered.is_some_and(|(first, last)| self.inputs[index].takes_all(first, last)) {
                self.run_ordered(index, fresh, 0..ready_fresh, out);
            } else {
                self.run(index, fresh, 0..ready_fresh, out);
            }
        }
        if is_last {
            self.note_gaps(index, fresh, ready_fresh, usize::MAX);
            return;
        }
        // Keep the rest, as if it were the start of the next part.
        let mut kept = Carry::default();
        if ready_held < ahead.held.len() {
            kept.add(held, ready_held);
        }
        kept.add(fresh, ready_fresh);
        self.inputs[index].carry = kept;
    }

    /// Resolves some records of a chunk.
    fn run(&mut self, index: usize, chunk: Chunk<'_>, range: std::ops::Range<usize>, out: &mut Resolved<'_>) {
        let frames = chunk.records.frames.as_slice();
        for (number, stored) in range.clone().zip(frames.get(range).unwrap_or(&[])) {
            self.note_gaps(index, chunk, number, number + 1);
            let at = chunk.at(index, number, stored);
            match stored.record.ts() {
                Some(ticks) if !matches!(stored.record, Record::CoreId { .. }) => {
                    let next = frames.get(number + 1).filter(|next| !matches!(next.record, Record::CoreId { .. }));
                    let time = self.time(at, &stored.record, ticks, next.and_then(|next| next.record.ts()), out);
                    self.event(at, chunk.records, &stored.record, time, out);
                }
                _ => self.untimed(index, at.offset, chunk.records, &stored.record, out),
            }
        }
    }

    /// Like [`Resolver::run`], for a chunk whose times need no judging: they never decrease, neither in it nor after what came
    /// before, and none overflows.
    fn run_ordered(&mut self, index: usize, chunk: Chunk<'_>, range: std::ops::Range<usize>, out: &mut Resolved<'_>) {
        let frames = chunk.records.frames.get(range.clone()).unwrap_or(&[]);
        for (number, stored) in range.zip(frames) {
            self.note_gaps(index, chunk, number, number + 1);
            let at = chunk.at(index, number, stored);
            let Some(ticks) = stored.record.ts() else {
                self.untimed(index, at.offset, chunk.records, &stored.record, out);
                continue;
            };
            let input = &mut self.inputs[index];
            let (last_ticks, last_time) = input.state().converted;
            let time = if ticks == last_ticks { last_time } else { input.nanos(ticks).unwrap_or(last_time) };
            input.last_ns = time;
            let state = input.state();
            state.clock.take(ticks);
            state.converted = (ticks, time);
            self.event(at, chunk.records, &stored.record, time, out);
        }
    }

    /// Remembers the gaps of a chunk that lie before the records `from..to`, for the next event.
    #[inline]
    fn note_gaps(&mut self, index: usize, chunk: Chunk<'_>, from: usize, to: usize) {
        if chunk.gaps.last().is_none_or(|last| last.0 < from) {
            return;
        }
        let start = chunk.gaps.partition_point(|gap| gap.0 < from);
        for &(_, note) in chunk.gaps.get(start..).unwrap_or(&[]).iter().take_while(|gap| gap.0 < to) {
            add_gap(&mut self.inputs[index].gap, note);
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

/// Records at hand, with the gaps between them and what follows them.
#[derive(Clone, Copy)]
struct Chunk<'a> {
    records: &'a Records,
    /// What is missing, and before which record; in order.
    gaps: &'a [(usize, LossNote)],
    /// How many records precede it in `ahead`.
    before: usize,
    ahead: Ahead<'a>,
}

impl<'a> Chunk<'a> {
    fn at(self, index: usize, number: usize, stored: &Stored) -> At<'a> {
        let offset = self.records.base + u64::from(stored.offset);
        At { index, offset, ahead: self.ahead, number: self.before + number }
    }
}

/// Records that are held back. Never more than [`LOOKAHEAD_RECORDS`], and at most one gap before each and one at the end.
#[derive(Default)]
struct Carry {
    records: Records,
    gaps: Vec<(usize, LossNote)>,
}

impl Carry {
    /// Appends a chunk's records from number `from` on.
    fn add(&mut self, chunk: Chunk<'_>, from: usize) {
        let frames = chunk.records.frames.get(from..).unwrap_or(&[]);
        let kept = &mut self.records;
        let before = kept.frames.len();
        if let Some(first) = frames.first().filter(|_| before == 0) {
            kept.base = chunk.records.base + u64::from(first.offset);
        }
        for stored in frames {
            let offset = (chunk.records.base + u64::from(stored.offset)).saturating_sub(kept.base);
            let record = stored.record.map_text(|text| {
                let start = u32::try_from(kept.text.len()).unwrap_or(u32::MAX);
                kept.text.extend_from_slice(chunk.records.bytes(text));
                TextRef { start, len: text.len }
            });
            kept.frames.push(Stored { record, offset: u32::try_from(offset).unwrap_or(u32::MAX) });
        }
        for &(number, note) in chunk.gaps.iter().filter(|gap| gap.0 >= from) {
            push_gap_before(&mut self.gaps, number - from + before, note);
        }
    }
}

/// Enters a part into the account: its records, and its bad frames. Gives the gaps that these leave.
fn enter_part(records: &Records, joiner: &mut FragmentJoiner, ledger: &mut Ledger) -> Vec<(usize, LossNote)> {
    ledger.decoded_bytes += records.ok_bytes;
    ledger.frames_ok += records.frames.len() as u64;
    let mut gaps = Vec::new();
    if let Some(frame) = joiner.join(records) {
        // It starts before the part, and stands before everything in it.
        let kind = BadFrame::Oversize.loss_kind();
        ledger.bad_frame(kind, frame.offset, frame.len, 1);
        push_gap_before(&mut gaps, 0, LossNote { kind, offset: frame.offset, bytes: frame.len, at_least_lost: 1 });
    }
    for bad in &records.bad {
        let offset = records.base + u64::from(bad.offset);
        let (kind, at_least_lost, bytes) = (bad.reason.loss_kind(), bad.reason.at_least_lost(), u64::from(bad.len));
        ledger.bad_frame(kind, offset, bytes, at_least_lost);
        // A run of lone delimiters is many frames, and one entry or two depending on where windows end.
        let further = u64::from(bad.frames.saturating_sub(1));
        ledger.frames_bad += further;
        ledger.enter_many(kind, offset, further);
        // An unknown event is a whole frame of a newer target, and an empty frame holds none: no event of ours is missing.
        if !matches!(bad.reason, BadFrame::UnknownEvent | BadFrame::Empty) {
            push_gap_before(&mut gaps, bad.index as usize, LossNote { kind, offset, bytes, at_least_lost });
        }
    }
    gaps
}

/// Adds a gap before a record; bad frames without a record between them are one gap.
fn push_gap_before(gaps: &mut Vec<(usize, LossNote)>, number: usize, note: LossNote) {
    match gaps.last_mut().filter(|last| last.0 == number) {
        Some((_, last)) => extend_gap(last, note),
        None => gaps.push((number, note)),
    }
}

fn add_gap(gap: &mut Option<LossNote>, note: LossNote) {
    match gap {
        Some(gap) => extend_gap(gap, note),
        None => *gap = Some(note),
    }
}

fn extend_gap(gap: &mut LossNote, more: LossNote) {
    gap.bytes = gap.bytes.saturating_add(more.bytes);
    gap.at_least_lost = gap.at_least_lost.saturating_add(more.at_least_lost);
}
