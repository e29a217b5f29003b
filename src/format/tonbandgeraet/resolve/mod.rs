//! Records in file order → events of the common model.
//!
//! All state is here: the current core and its running task, the clock and its sessions, the drop counter, and the repair of known
//! faults of target libraries. One [`Resolver`] handles all inputs of a recording, because tasks and queues are the same on all cores;
//! each input has its own clock.
//!
//! A time stamp is checked against those after it, so the last [`LOOKAHEAD_RECORDS`] records are held back until more have come. The
//! events do not depend on the cuts.

mod events;
mod functions;
mod held;
mod ids;
mod input;
mod mailbox;
mod messages;
mod names;
mod restore;
mod sync_check;
mod view;

use std::cmp::Reverse;
use std::ops::Range;

use crate::clock::{Cause, LOOKAHEAD as LOOKAHEAD_RECORDS, RESTART_GAP_NS, SESSIONS_LIMIT, Verdict};
use crate::format::options::overridden_rate;
use crate::format::{Detail, Facts, FormatOptions, ListRecord, Resolve, Resolved};
use crate::model::{
    Certainty, CoreId, Event, EventKind, Finding, Ledger, LossNote, Matter, Nanos, ObjectId, Rate, TextRef, Ticks, counted,
    losses,
};

use super::decode::{Ordered, Records, Stamp, Stored};
use super::record::Record;
use super::scan::{ScanFacts, Unrecorded};
use functions::Functions;
use held::{Carry, Chunk, PendingRecords, RecordPlace, enter_part, is_first_task, merge_gaps};
use ids::Ids;
use input::{CoreState, InputState, RESTART_SIGN_BITS, START_BITS, Touched};
use mailbox::QueueLevel;
use messages::Messages;
pub use messages::Program;
use names::{Fact, Names, Subject};
use sync_check::SyncCheck;

/// The viewer supports 1024 CPUs.
const CORES_LIMIT: u32 = 1 << 10;

/// A drop counter sent again after fewer events than this, with nothing dropped, is a fault of the target.
const DROP_COUNTER_EVERY: u64 = 2;

/// Turns records into events.
pub(crate) struct Resolver {
    names: Names,
    inputs: Vec<InputState>,
    /// Where the current session starts in each input.
    starts: Vec<u64>,
    /// By session, and within it by program: see [`InputState::slot`].
    sessions: Vec<Session>,
    functions: Functions,
    messages: Messages,
    /// Messages whose format is not known.
    unformatted: u64,
    /// The inputs that have ended.
    ended: usize,
    facts: Facts,
}

/// The target's ids in one session.
#[derive(Default)]
struct Session {
    ids: Ids,
    /// By [`ObjectId`], as far as needed. Those of other sessions are unused.
    levels: Vec<QueueLevel>,
    /// The number of gaps so far.
    gaps: u32,
    /// Tasks that were deleted, and when: another task may get the same id. The files of other cores may be ahead.
    deleted: rustc_hash::FxHashMap<u32, Nanos>,
    /// The ids of deleted tasks that other tasks got.
    reused: rustc_hash::FxHashSet<u32>,
}

impl Session {
    /// The known level of a queue.
    #[inline]
    fn level(&mut self, object: ObjectId) -> &mut QueueLevel {
        let index = object.index();
        if index >= self.levels.len() {
            self.levels.resize(index + 1, QueueLevel::default());
        }
        let level = &mut self.levels[index];
        level.cross(self.gaps);
        level
    }
}

impl Resolver {
    pub(crate) fn new(
        options: &[FormatOptions],
        program: Option<Program>,
        facts: Vec<ScanFacts>,
        has_freertos: bool,
        separate: Option<Detail>,
        ledgers: &mut [Ledger],
    ) -> Resolver {
        let unrecorded = Unrecorded::new(&facts);
        let mut names = Names::new(separate.is_some(), unrecorded);
        let mut spare = Ledger::default();
        let checks: Vec<Vec<SyncCheck>> = facts.iter().map(|facts| sync_check::check(&facts.sync_points)).collect();
        for (index, (facts, checks)) in facts.iter().zip(&checks).enumerate() {
            let core = options.get(index).and_then(|options| options.core).unwrap_or(0);
            let ledger = ledgers.get_mut(index).unwrap_or(&mut spare);
            names.add_input(facts, checks, u32::from(core), ledger);
            if facts.metadata_cut {
                ledger.enter(losses::METADATA_LIMIT, 0, 1);
            }
        }
        let starts = vec![0; facts.len()];
        // A target counts the events that it drops on all its cores, from 0 after a reset: of the files with the most sessions, that with the
        // highest count says how many.
        let highest =
            facts.iter().enumerate().max_by_key(|(index, facts)| (facts.dropped(), Reverse(*index))).map(|(index, _)| index);
        let inputs: Vec<InputState> = facts
            .iter()
            .zip(options)
            .zip(checks)
            .enumerate()
            .map(|(index, ((facts, options), checks))| {
                // Cores with programs of their own have ids of their own.
                let (program, programs) = if separate.is_some() { (index, starts.len()) } else { (0, 1) };
                let counts_dropped = separate.is_some() || highest == Some(index);
                InputState::new((index, program, programs), facts, checks, options, &names, counts_dropped)
            })
            .collect();
        let cores = inputs.iter().flat_map(|input| &input.cores).max().map_or(1, |core| core.0.saturating_add(1));
        let (given, recorded) = (options.first().and_then(|options| options.clock), resolution(&names, 0, &starts));
        let (rate, source, certainty) = match (given, recorded) {
            (Some(rate), _) => (rate, "given by an option", Certainty::Known),
            (None, Some(rate)) => (rate, "recorded in the capture", Certainty::Known),
            (None, None) => (Rate::NANOSECOND, "assumed, the capture does not record it", Certainty::Assumed),
        };
        let because = match certainty {
            Certainty::Assumed => "the capture does not record it, and ticks of 1 ns are taken; give --clock-hz",
            _ => source,
        };
        let findings = vec![Finding::new(Matter::Clock, certainty, because)];
        let clock = (rate, source);
        // The capture has whole nanoseconds: 6 for 168 MHz, which an option gives exactly.
        let overridden =
            overridden_rate(given, recorded.filter(|recorded| given.is_some_and(|given| !is_rounded(given, *recorded))));
        let system = if has_freertos { "FreeRTOS" } else { "bare metal" };
        // The start of a plain recording has a `core_id` at time 0; rings and cut captures have none.
        let starts_plainly = |facts: &ScanFacts| facts.cores.iter().any(|core| core.at_time_zero > 0);
        let begins_midway = inputs.iter().any(|input| input.restorer.is_some()) || !facts.iter().any(starts_plainly);
        let facts = Facts {
            clock: Some(clock),
            system: Some(system),
            cores,
            sessions: 1,
            begins_midway,
            findings,
            details: separate.into_iter().collect(),
            hints: unrecorded.hints().chain(overridden).collect(),
            ..Facts::default()
        };
        let mut sessions = Vec::new();
        sessions.resize_with(inputs.iter().map(|input| input.programs).max().unwrap_or(1), Session::default);
        let functions = Functions::new(program.as_ref().map(|program| program.symbols.clone()));
        Resolver { names, inputs, starts, sessions, functions, messages: Messages::new(program), unformatted: 0, ended: 0, facts }
    }

    /// The cores that may have events, of each input.
    pub(crate) fn cores(&self) -> Vec<Vec<CoreId>> {
        self.inputs.iter().map(|input| input.cores.clone()).collect()
    }
}

fn resolution(names: &Names, input: usize, starts: &[u64]) -> Option<Rate> {
    match names.fact(Subject::Resolution, input, starts)? {
        Fact::Rate(rate) => Some(*rate),
        _ => None,
    }
}

/// Whether a tick of the exact rate has as many nanoseconds as the other one, rounded up or down.
fn is_rounded(exact: Rate, rounded: Rate) -> bool {
    let (ns, ticks) = exact.ns_per_tick();
    let (floor, ceiling) = (ns / ticks, ns.div_ceil(ticks));
    matches!(rounded.ns_per_tick(), (ns, 1) if (floor..=ceiling).contains(&ns))
}

impl Resolve for Resolver {
    type Records = Records;

    fn resolve(&mut self, input: usize, bytes: &[u8], records: &mut Records, out: &mut Resolved<'_>) {
        self.resolve_part(input, bytes, records, false, out);
    }

    fn finish(&mut self, input: usize, bytes: &[u8], out: &mut Resolved<'_>) {
        self.resolve_part(input, bytes, &mut Records::default(), true, out);
        self.end_input(input, out);
    }

    fn dump(&mut self, input: usize, bytes: &[u8], records: &mut Records, ledger: &mut Ledger, out: &mut ListRecord<'_>) {
        self.dump_part(input, bytes, records, ledger, out);
    }

    fn facts(&self) -> Facts {
        let mut facts = self.facts.clone();
        if self.unformatted > 0 {
            let (messages, have) = if self.unformatted == 1 { ("log message", "has") } else { ("log messages", "have") };
            let advice = if self.messages.has_program() {
                "this is not the program that ran"
            } else {
                "give the program that ran with --elf"
            };
            facts.hints.push(format!("{} {messages} {have} no text: {advice}", self.unformatted));
        }
        let is_one_target = self.inputs.len() > 1 && self.inputs.iter().all(|input| input.programs == 1);
        if is_one_target && facts.sessions > 1 {
            facts.hints.push(
                "The target was reset: from there on the times of one core's file cannot be compared with those of the others."
                    .to_owned(),
            );
        }
        if self.messages.has_program() {
            let is_needed = !self.functions.lookups.is_empty() || self.messages.has_any();
            facts.hints.extend(self.functions.lookups.hint());
            if self.ended == self.inputs.len() && !is_needed {
                facts.hints.push("--elf: the recording has neither functions nor log messages, so it was not used.".to_owned());
            }
        }
        facts
    }
}

impl Resolver {
    /// Resolves the records that were held back and the next part, except those that must wait for more.
    fn resolve_part(&mut self, index: usize, bytes: &[u8], records: &mut Records, is_last: bool, out: &mut Resolved<'_>) {
        let Some(input) = self.inputs.get_mut(index) else { return };
        let searched = input.searched(bytes);
        let mut gaps = enter_part(records, &mut input.joiner, searched, out.ledger);
        if let Some(restorer) = &mut input.restorer {
            gaps = merge_gaps(gaps, restorer.restore(records, out.ledger));
        } else {
            gaps = merge_gaps(gaps, input.missing_in(records, bytes, out.ledger));
        }
        let records = &*records;
        let carry = std::mem::take(&mut input.carry);
        let bases = (carry.records.base, records.base);
        let pending = PendingRecords { held: &carry.records.frames, fresh: &records.frames, bases };
        let held = Chunk { records: &carry.records, gaps: &carry.gaps, before: 0, pending, bytes };
        let fresh = Chunk { records, gaps: &gaps, before: pending.held.len(), pending, bytes };
        let total = pending.held.len() + pending.fresh.len();
        out.batch.events.reserve(total);
        let ready = if is_last { total } else { total.saturating_sub(LOOKAHEAD_RECORDS) };
        let ready_held = ready.min(pending.held.len());
        let ready_fresh = ready - ready_held;
        self.run(index, &held, 0..ready_held, None, out);
        if ready_held == pending.held.len() {
            self.note_gaps(index, &held, ready_held, usize::MAX);
            let input = &self.inputs[index];
            let is_sound = gaps.is_empty() || input.cores.len() < 2;
            let ordered = records.ordered.filter(|&times| is_sound && input.accepts_all(times));
            self.run(index, &fresh, 0..ready_fresh, ordered, out);
        }
        if is_last {
            self.note_gaps(index, &fresh, ready_fresh, usize::MAX);
            return;
        }
        // The rest is resolved with the next part.
        let mut kept = Carry::default();
        if ready_held < pending.held.len() {
            kept.add(held, ready_held);
        }
        kept.add(fresh, ready_fresh);
        self.inputs[index].carry = kept;
    }

    /// Resolves some records of a chunk. `ordered`: their times, if they never decrease, neither in it nor from the time before, and none
    /// overflows: they need few checks.
    fn run(&mut self, index: usize, chunk: &Chunk<'_>, range: Range<usize>, ordered: Option<Ordered>, out: &mut Resolved<'_>) {
        let mut number = range.start;
        while let Some(stored) = chunk.records.frames.get(number).filter(|_| number < range.end) {
            let reached = self.run_scene(index, chunk, number..range.end, ordered, out);
            if reached == number {
                self.run_one(index, chunk, (number, stored), ordered, out);
                number += 1;
            } else {
                number = reached;
            }
        }
    }

    /// Resolves records as long as they need nothing but the state of one core. Returns the number of the first one that needs more.
    fn run_scene(
        &mut self,
        index: usize,
        chunk: &Chunk<'_>,
        range: Range<usize>,
        ordered: Option<Ordered>,
        out: &mut Resolved<'_>,
    ) -> usize {
        let input = &mut self.inputs[index];
        let frames = chunk.records.frames.as_slice();
        let Some(first) = frames.get(range.start) else { return range.start };
        if input.restorer.is_some() && first.stamp == Stamp::Absolute {
            input.core = input.core_of_stored(first.core);
        }
        if input.gap.is_some()
            || input.is_behind
            || input.recording_start.is_some()
            || (input.is_core_in_doubt && ordered.is_none())
        {
            return range.start;
        }
        let gap = chunk.gaps.get(chunk.gaps.partition_point(|gap| gap.0 < range.start));
        let end = gap.map_or(range.end, |gap| gap.0.min(range.end));
        let axis = input.axis;
        let mut scene = self.scene(index);
        // None of the records has wrapped since the last one.
        let wrapped = scene.state.clock.wrapped();
        let needs_no_checks = first.record.ts().zip(ordered).is_some_and(|(first, times)| {
            scene.state.clock.would_step(first, times.steps)
                && axis.nanos(first.saturating_add(wrapped)).is_some_and(|time| time >= scene.state.converted.1)
        });
        let notes_judged = out.batch.judged.is_some();
        let mut number = range.start;
        let mut reached = scene.state.converted;
        for stored in frames.get(range.start..end).unwrap_or(&[]) {
            let needs_more = matches!(stored.record, Record::CoreId { .. } | Record::DroppedEvtCnt { .. });
            let Some(ticks) = stored.record.ts().filter(|_| !needs_more) else { break };
            let Some(mut time) = axis.nanos(ticks.saturating_add(wrapped)) else { break };
            if !needs_no_checks {
                let next = if ordered.is_some() {
                    ticks
                } else {
                    if (stored.core, stored.stamp) != (first.core, Stamp::Absolute) {
                        break;
                    }
                    let Some(next) = next_ticks(frames, number) else { break };
                    next
                };
                if ticks < scene.state.clock.last() || scene.state.clock.step(ticks, next).is_none() {
                    break;
                }
                time = time.max(reached.1);
            }
            reached = (ticks, time);
            let at = chunk.at(index, number, stored);
            if notes_judged {
                out.batch.note_judged(at.offset(), time);
            }
            scene.event(at, &stored.record, time, out);
            number += 1;
        }
        let counted = number - range.start;
        if counted > 0 {
            let state = &mut *scene.state;
            if needs_no_checks {
                state.clock.step_all(reached.0, counted as u64);
            }
            state.converted = (reached.0.saturating_add(wrapped), reached.1);
            let input = &mut self.inputs[index];
            input.note_timed(counted);
            input.last_ns = input.last_ns.max(reached.1);
        }
        number
    }

    /// Resolves one record of a chunk that may need more.
    #[inline(never)]
    fn run_one(
        &mut self,
        index: usize,
        chunk: &Chunk<'_>,
        (number, stored): (usize, &Stored),
        ordered: Option<Ordered>,
        out: &mut Resolved<'_>,
    ) {
        self.note_gaps(index, chunk, number, number + 1);
        let at = chunk.at(index, number, stored);
        let input = &mut self.inputs[index];
        if input.restorer.is_some() {
            if stored.stamp != Stamp::Absolute {
                return;
            }
            input.core = input.core_of_stored(stored.core);
        }
        let ticks = match stored.record.ts() {
            Some(ticks) if !matches!(stored.record, Record::CoreId { .. }) => ticks,
            _ => return self.untimed(index, at.offset(), chunk.records, &stored.record, out),
        };
        if input.is_core_in_doubt && ordered.is_none() {
            input.judge_core(at, ticks, out.ledger);
        }
        let next = if ordered.is_some() { Some(ticks) } else { next_ticks(&chunk.records.frames, number) };
        let start = input.recording_start.take();
        if std::mem::take(&mut input.is_behind) {
            let latest = input.latest();
            input.state().clock.catch_up(latest, ticks);
        }
        let unwrapped = ticks.saturating_add(input.state().clock.wrapped());
        let is_later = input.state().clock.reached().is_some_and(|reached| reached <= unwrapped);
        let session = input.session;
        let input = &mut self.inputs[index];
        let is_superset = input.restorer.is_some();
        if let Some(offset) = start.filter(|_| session + 1 < SESSIONS_LIMIT)
            // A sync that starts a recording says so surely: if the clock has gone back, the target was reset.
            && (is_superset && input.states.iter().any(|state| state.clock.reached().is_some_and(|reached| reached > ticks))
                || is_later && creates_again(&self.sessions[input.slot()], at))
        {
            let offset = input.restart_sign.unwrap_or(offset);
            let clock = &mut input.state().clock;
            clock.begin_session(clock.domain());
            self.restart(index, offset, ticks, out);
        }
        let time = self.time(at, (&stored.record, start.is_some()), ticks, next, out);
        out.batch.note_judged(at.offset(), time);
        let input = &mut self.inputs[index];
        if input.has_wrapped() {
            out.ledger.enter(losses::TIMER_WRAPPED, at.offset(), 0);
        }
        if let Some(offset) = start.filter(|_| is_later && input.session == session && !is_superset) {
            let kind = losses::RECORDING_RESTARTED;
            out.ledger.enter(kind, offset, 0);
            LossNote { kind, offset, bytes: 0, at_least_lost: 0 }.add_to(&mut input.gap);
        }
        self.event(at, &stored.record, time, out);
    }

    /// Notes the gaps of a chunk before the records `from..to`, for the next event.
    #[inline]
    fn note_gaps(&mut self, index: usize, chunk: &Chunk<'_>, from: usize, to: usize) {
        if chunk.gaps.last().is_none_or(|last| last.0 < from) {
            return;
        }
        let start = chunk.gaps.partition_point(|gap| gap.0 < from);
        let input = &mut self.inputs[index];
        for &(_, note) in chunk.gaps.get(start..).unwrap_or(&[]).iter().take_while(|gap| gap.0 < to) {
            note.add_to(&mut input.gap);
            if note.kind == losses::EVENTS_MISSING {
                // The bytes that are there are sound.
                continue;
            }
            // Bad frames may have been a change of the core, and there may be more damage, of times of any core.
            input.is_core_in_doubt = true;
            input.states.iter_mut().for_each(|state| state.clock.note_damage());
        }
    }

    /// The time of a record, and whether a start of a recording is before it, in nanoseconds. May start a session.
    fn time(
        &mut self,
        at: RecordPlace<'_>,
        record: (&Record<TextRef>, bool),
        ticks: u64,
        next: Option<u64>,
        out: &mut Resolved<'_>,
    ) -> Nanos {
        let input = &mut self.inputs[at.index];
        let state = input.state();
        if let Some(next) = next
            && let Some(ticks) = state.clock.step(ticks, next)
        {
            if ticks == state.converted.0 {
                return state.converted.1;
            }
            return self.placed(at, ticks, out);
        }
        self.judged_time(at, record, ticks, out)
    }

    #[cold]
    fn judged_time(
        &mut self,
        at: RecordPlace<'_>,
        (record, is_start): (&Record<TextRef>, bool),
        ticks: u64,
        out: &mut Resolved<'_>,
    ) -> Nanos {
        let input = &mut self.inputs[at.index];
        if input.cores.len() > 1 && !input.state().clock.follows(ticks) && !input.is_marked(at) {
            input.judge_core(at, ticks, out.ledger);
        }
        let is_first_task = || input.timed_before && input.restorer.is_none() && is_first_task(record);
        let is_sign = || drop_counter_restarts(input.dropped, at) || is_first_task();
        let sign = input.restart_sign.or_else(|| is_sign().then_some(at.offset()));
        let restart_bits = match sign {
            Some(_) if is_start => START_BITS,
            Some(_) => RESTART_SIGN_BITS,
            None => 0,
        };
        let clock = &input.state().clock;
        let (begin, reached) = (clock.begin(), clock.reached());
        let before = clock.domain().modulus.is_none().then(|| clock.clone());
        let mut judged = input.judge(at, ticks, restart_bits);
        if let Some(doubt) = input.state().clock.take_doubt() {
            out.ledger.enter_doubt(at.offset(), doubt.text(input.axis.rate));
        }
        match judged.verdict {
            Verdict::Believed | Verdict::Unknown => {}
            Verdict::Held if judged.cause == Cause::Repeated => out.ledger.enter(losses::DUPLICATED_BLOCK, at.offset(), 0),
            Verdict::Held => out.ledger.enter(losses::TIME_HELD, at.offset(), 0),
            Verdict::Replaced => {
                input.states.iter_mut().for_each(|state| state.clock.note_damage());
                out.ledger.enter(losses::TIME_OUTLIER, at.offset(), 0);
            }
            Verdict::Restarted => {
                let dropped = input.dropped.unwrap_or(0);
                let counts_on = matches!(*record, Record::DroppedEvtCnt { cnt, .. } if cnt > dropped);
                let wrap = reached.filter(|_| sign.is_none()).and_then(|before| input.wrap_between(before, ticks, counts_on));
                if let Some((range, before)) = wrap.zip(before) {
                    judged = input.wrap(range, before, ticks, at.offset());
                } else if input.session + 1 < SESSIONS_LIMIT {
                    // Another core may have begun earlier, and be recorded later.
                    let first = input.first_of_other_cores(at).map_or(ticks, |other| other.min(ticks));
                    input.seam = begin.filter(|_| sign.is_none() && input.session == 0).map(|begin| (at.offset(), begin));
                    self.restart(at.index, sign.unwrap_or(at.offset()), first, out);
                } else {
                    return input.state().converted.1;
                }
            }
        }
        self.placed(at, judged.ticks, out)
    }

    /// The time of a tick of the present core, which it has reached.
    fn placed(&mut self, at: RecordPlace<'_>, ticks: u64, out: &mut Resolved<'_>) -> Nanos {
        let input = &mut self.inputs[at.index];
        let nanos = input.axis.nanos(ticks);
        let state = input.state();
        let time = match nanos {
            Some(time) => {
                state.converted.0 = ticks;
                time.max(state.converted.1)
            }
            None => {
                out.ledger.enter(losses::TIME_OVERFLOW, at.offset(), 0);
                state.converted.1
            }
        };
        state.converted.1 = time;
        input.last_ns = input.last_ns.max(time);
        time
    }

    /// The target was reset: another session begins, at `ticks`.
    fn restart(&mut self, index: usize, offset: u64, ticks: u64, out: &mut Resolved<'_>) {
        self.end_session(index, offset, out);
        out.ledger.enter(losses::SESSION_RESTART, offset, 0);
        let input = &mut self.inputs[index];
        // The reset implies it.
        input.gap = input.gap.filter(|gap| gap.kind != losses::RECORDING_RESTARTED);
        input.session += 1;
        self.facts.sessions = self.facts.sessions.max(input.session + 1);
        let programs = input.programs;
        if self.sessions.len() <= input.slot() {
            self.sessions.resize_with((input.session as usize + 1) * programs, Session::default);
        }
        // Sessions that all inputs have left are not used any more.
        let oldest = self.inputs.iter().map(|input| input.session).min().unwrap_or(0);
        let left = oldest.checked_sub(1).map(|left| left as usize * programs);
        let left = left.and_then(|left| self.sessions.get_mut(left..left + programs));
        left.into_iter().flatten().for_each(|left| *left = Session::default());
        let input = &mut self.inputs[index];
        if let Some(start) = self.starts.get_mut(index) {
            *start = offset;
        }
        if !input.is_rate_given {
            input.axis.rate = resolution(&self.names, index, &self.starts).unwrap_or(input.axis.rate);
        }
        let start_ns = input.last_ns.saturating_add(RESTART_GAP_NS);
        input.start_ns = start_ns;
        let first_ns = input.axis.rate.to_nanos(Ticks(ticks)).unwrap_or_default();
        input.axis.shift_ns = start_ns.0.cast_signed().saturating_sub(first_ns.0.cast_signed());
        input.last_ns = start_ns;
        let clock = input.state().clock.clone();
        input.start_states(start_ns);
        input.state().clock = clock;
        input.dropped = None;
        input.since_drop_counter = DROP_COUNTER_EVERY;
        let session = input.session;
        let core = input.core;
        out.batch.events.push(Event { time: start_ns, core, kind: EventKind::SessionStart(session) });
    }

    /// A session of an input ends at `offset`.
    fn end_session(&mut self, index: usize, offset: u64, out: &mut Resolved<'_>) {
        self.forget_levels(index, out);
        let session = self.inputs.get(index).and_then(|input| self.sessions.get(input.slot()));
        let is_reused = |task| session.is_some_and(|session| session.reused.contains(&task));
        let start = self.starts.get(index).copied().unwrap_or(0);
        for (subject, offset) in self.names.conflicts(index, start..offset) {
            if !matches!(subject, Subject::Task(task) if is_reused(task)) {
                out.ledger.enter(losses::CONFLICTING_NAME, offset, 0);
            }
        }
    }

    fn end_input(&mut self, index: usize, out: &mut Resolved<'_>) {
        self.end_session(index, u64::MAX, out);
        self.ended += 1;
        let Some(input) = self.inputs.get_mut(index) else { return };
        // A frame of which there are only fragments.
        if let Some(gap) = input.gap.take() {
            out.batch.add_loss(input.last_ns, input.core, gap);
        }
        if let Some(seam) = input.ring_seam() {
            self.facts.hints.push(format!(
                "The times from byte {seam} on end right before the first ones of the file: if it is a ring as it lay in memory, put the \
                 bytes before that place at its end. Then there was no reset."
            ));
        }
        if let Some(lost) = input.unconfirmed_drops.filter(|_| input.counts_dropped && out.ledger.frames_bad > 0) {
            let lost = counted(lost, "dropped event");
            self.facts.hints.push(format!(
                "The last drop counter reports {lost}, and nothing confirms it: in a recording with damaged frames it may be one flipped \
                 bit."
            ));
        }
    }
}

/// The time of the record after number `index`, if it is of the same core.
#[inline]
fn next_ticks(frames: &[Stored], index: usize) -> Option<u64> {
    let (stored, next) = (frames.get(index)?, frames.get(index + 1)?);
    let is_event = !matches!(next.record, Record::CoreId { .. } | Record::Sync { .. });
    let is_timed = is_event && (next.core, next.stamp) == (stored.core, Stamp::Absolute);
    next.record.ts().filter(|_| is_timed)
}

/// Whether, after the start of a recording before this record, a task is created that the session has had before. That start was a reset:
/// the kernel does not use a number again.
fn creates_again(session: &Session, at: RecordPlace<'_>) -> bool {
    let is_timed = |record: &&Record<TextRef>| !matches!(record, Record::CoreId { ts: 0, .. });
    std::iter::once(&at.stored.record).chain(records_after(at)).take_while(is_timed).any(|record| match record {
        Record::TaskCreated { task_id, .. } => session.ids.has_task(*task_id) && !session.deleted.contains_key(task_id),
        _ => false,
    })
}

/// The records that follow.
fn records_after(at: RecordPlace<'_>) -> impl Iterator<Item = &Record<TextRef>> {
    at.after().map(|(_, stored)| &stored.record)
}

/// The first drop counter of some records.
fn drop_counter_in<'a>(mut records: impl Iterator<Item = &'a Record<TextRef>>) -> Option<u32> {
    records.find_map(|record| match record {
        Record::DroppedEvtCnt { cnt, .. } => Some(*cnt),
        _ => None,
    })
}

/// Whether the drop counter starts again with this record or soon after it: a sign of a reset.
fn drop_counter_restarts(dropped: Option<u32>, at: RecordPlace<'_>) -> bool {
    let next = || drop_counter_in(std::iter::once(&at.stored.record).chain(records_after(at)));
    dropped.is_some_and(|dropped| next().is_some_and(|next| next < dropped))
}
