//! The state of one input of a recording: its current core, its clocks and sessions, and the records held back.

use crate::clock::{Copies, Domain, Judge, Judged, Stamp};
use crate::format::FormatOptions;
use crate::model::{CoreId, Event, EventBatch, EventKind, Ledger, LossNote, Nanos, Rate, TaskId, Ticks, losses};

use super::super::decode::{FragmentJoiner, Ordered, Records, Wire};
use super::super::intervals::{self, Missing, OddInterval};
use super::super::scan::ScanFacts;
use super::held::{Carry, RecordPlace, SameCore, Signs};
use super::names::Names;
use super::restore::Restorer;
use super::sync_check::SyncCheck;
use super::{CORES_LIMIT, DROP_COUNTER_EVERY, resolution};

/// What a sign of a restart says, in bits: metadata again, a drop counter that starts again.
pub const RESTART_SIGN_BITS: u8 = 56;
/// A start of a recording, with a `core_id` at time 0 and metadata: if time goes back with it, it is sure.
pub const START_BITS: u8 = Domain::RESTART_BITS as u8;

/// A recording that stops this long after its last event is believed, in nanoseconds.
const LONGEST_END_NS: u64 = 60_000_000_000;

/// How many values a timer has that a port has not extended to 64 bits.
const RANGES: [u64; 3] = [1 << 16, 1 << 24, 1 << 32];

/// The range of a timer that goes back twice or more often among the first stamps of a recording, each time from the end to the start of it.
fn range_of(stamps: &[Stamp]) -> Option<u64> {
    let highest = stamps.iter().map(|stamp| stamp.raw).max()?;
    let range = RANGES.into_iter().find(|range| highest < *range)?;
    let steps = || stamps.windows(2).map(|pair| (pair[0].raw, pair[1].raw));
    let is_usual = |(from, to): (u64, u64)| to.wrapping_sub(from) & (range - 1) < range / 2;
    let has_sign = stamps.iter().any(|stamp| stamp.restart_bits > 0);
    (!has_sign && steps().all(is_usual) && steps().filter(|(from, to)| to < from).count() > 1).then_some(range)
}

/// One input.
pub struct InputState {
    /// The core that the user named, which overrules the stream.
    pub forced_core: Option<CoreId>,
    /// The cores that may have events.
    pub cores: Vec<CoreId>,
    pub core: CoreId,
    /// Whether the next record may be of another core than the present one: a change of the core may have been lost.
    pub is_core_in_doubt: bool,
    /// Where the last `core_id` is.
    pub core_id_at: Option<u64>,
    pub copies: Copies,
    pub axis: Axis,
    /// The user gave its rate.
    pub is_rate_given: bool,
    /// By core.
    pub states: Vec<CoreState>,
    /// The target's timer.
    pub domain: Domain,
    /// The present core may have been silent while the timer wrapped.
    pub is_behind: bool,
    /// The ticks of its wraps in the session.
    wrapped: u64,
    pub session: u32,
    /// The program that recorded it, and the number of programs. Inputs of one program share its ids.
    pub program: usize,
    pub programs: usize,
    /// Where the file's times go back without a start, and the first one of the file.
    pub seam: Option<(u64, u64)>,
    /// The time of the session's first event; earlier times are held.
    pub start_ns: Nanos,
    pub last_ns: Nanos,
    pub dropped: Option<u32>,
    /// The events that the last drop counter alone reports as lost, if one flipped bit can have made it.
    pub unconfirmed_drops: Option<u64>,
    /// Whether its drop counters say how many events are lost; otherwise another input says that, of all cores.
    pub counts_dropped: bool,
    pub since_drop_counter: u64,
    /// The time of the last drop counter.
    pub drop_counter_ns: Nanos,
    /// The offset of metadata or of a `core_id` at time 0 since the last timed record: a sign of a restart.
    pub restart_sign: Option<u64>,
    /// The offset of the first metadata since the last timed record.
    pub first_metadata: Option<u64>,
    /// A `core_id` at time 0 after timed records, since the last of these.
    pub late_start: Option<u64>,
    /// The start of a recording after timed records: a `core_id` at time 0, with metadata.
    pub recording_start: Option<u64>,
    pub timed_before: bool,
    /// Bad frames since the last event.
    pub gap: Option<LossNote>,
    pub joiner: FragmentJoiner,
    /// For the superset.
    pub restorer: Option<Restorer>,
    pub carry: Carry,
    /// Intervals between drop counters that were not looked at yet.
    odd_intervals: Vec<OddInterval>,
    /// The events that these show to be missing.
    missing: Vec<Missing>,
}

/// The clock of a session.
#[derive(Clone, Copy)]
pub struct Axis {
    pub rate: Rate,
    /// The offset of times in nanoseconds: a session starts where the one before ended.
    pub shift_ns: i64,
}

impl Axis {
    /// The time of a tick of the session, unwrapped. `None` beyond the range of a trace.
    #[inline]
    pub fn nanos(self, ticks: u64) -> Option<Nanos> {
        let time = self.rate.to_nanos(Ticks(ticks))?.0.checked_add_signed(self.shift_ns)?;
        (time <= Nanos::MAX.0).then_some(Nanos(time))
    }
}

/// One core of an input.
#[derive(Clone)]
pub struct CoreState {
    pub clock: Judge,
    pub running: Option<TaskId>,
    /// How the last event changed a task.
    pub touched: Touched,
    /// The last tick that was converted, unwrapped, and its time.
    pub converted: (u64, Nanos),
}

impl CoreState {
    /// At the start of a session.
    pub fn new(domain: Domain, start_ns: Nanos) -> CoreState {
        CoreState { clock: Judge::new(domain), running: None, touched: Touched::default(), converted: (0, start_ns) }
    }
}

/// What the last event of a core did to a task, by the target's id.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Touched {
    #[default]
    Otherwise,
    Created(u32),
    Prioritised(u32),
}

/// Whether the frame at `next` is the first one after that at `offset`.
fn is_next_frame(bytes: &[u8], offset: u64, next: u64) -> bool {
    let between = usize::try_from(offset).ok().zip(usize::try_from(next).ok()).and_then(|(from, to)| bytes.get(from..to));
    between.is_some_and(|between| memchr::memchr(0, between) == between.len().checked_sub(1))
}

impl InputState {
    /// `index` is its place among the inputs.
    pub fn new(
        (index, program, programs): (usize, usize, usize),
        facts: &ScanFacts,
        checks: Vec<SyncCheck>,
        options: &FormatOptions,
        names: &Names,
        counts_dropped: bool,
    ) -> InputState {
        let forced_core = options.core.map(CoreId);
        let limit = options.cores.map_or(CORES_LIMIT, u32::from).min(CORES_LIMIT);
        let is_superset = facts.wire() == Wire::Superset;
        let mut cores: Vec<CoreId> = match forced_core {
            Some(core) => vec![core],
            None if is_superset => {
                let syncs = facts.sync_points.iter().zip(&checks).filter(|(_, check)| !check.odd_cores);
                let cores = syncs.map(|(sync, _)| sync.cores).max().unwrap_or(1).min(limit);
                (0..cores).map(|core| CoreId(core as u16)).collect()
            }
            None => {
                // A core_id that occurs only once is more likely a damaged frame of another kind.
                let plausible = facts.cores.iter().filter(|core| {
                    core.core < limit
                        && (options.cores.is_some() || core.at_time_zero > 0 || core.records > 1 || core.first_offset == 0)
                });
                plausible.map(|core| CoreId(core.core as u16)).collect()
            }
        };
        let core = forced_core.unwrap_or_default();
        // Events before the first core_id are of core 0.
        if !cores.contains(&core) {
            cores.push(core);
        }
        cores.sort_unstable();
        let states = cores.last().map_or(1, |core| core.index() + 1);
        // Each core has drop counters of its own, so the records must be of one core: no `core_id` but those at a start.
        let is_of_one_core = forced_core.is_some() || facts.cores.iter().all(|core| core.records == core.at_time_zero);
        let odd_intervals = if is_superset || !is_of_one_core { Vec::new() } else { facts.intervals.odd() };
        let rate = options.clock.or_else(|| resolution(names, index, &[])).unwrap_or(Rate::NANOSECOND);
        let domain = Domain { may_be_foreign: cores.len() > 1, ..Domain::plain() };
        InputState {
            states: vec![CoreState::new(domain, Nanos(0)); states],
            domain,
            is_behind: false,
            wrapped: 0,
            forced_core,
            cores,
            core,
            is_core_in_doubt: false,
            core_id_at: None,
            copies: Copies::default(),
            axis: Axis { rate, shift_ns: 0 },
            is_rate_given: options.clock.is_some(),
            session: 0,
            program,
            programs,
            seam: None,
            start_ns: Nanos(0),
            last_ns: Nanos(0),
            dropped: None,
            unconfirmed_drops: None,
            counts_dropped,
            since_drop_counter: DROP_COUNTER_EVERY,
            drop_counter_ns: Nanos(0),
            restart_sign: None,
            first_metadata: None,
            late_start: None,
            recording_start: None,
            timed_before: false,
            gap: None,
            joiner: FragmentJoiner::default(),
            restorer: is_superset.then(|| Restorer::new(checks, counts_dropped)),
            carry: Carry::default(),
            odd_intervals,
            missing: Vec::new(),
        }
    }

    /// The gaps before the records of a part that drop counters show. `bytes` is the whole input.
    pub fn missing_in(&mut self, records: &Records, bytes: &[u8], ledger: &mut Ledger) -> Vec<(usize, LossNote)> {
        let odd = std::mem::take(&mut self.odd_intervals);
        self.missing.extend(intervals::missing(&odd, bytes));
        let (base, frames) = (records.base, &records.frames);
        let end = frames.last().map_or(base, |last| base + u64::from(last.offset) + 1);
        let count = self.missing.partition_point(|missing| missing.before < end);
        let gaps =
            self.missing.drain(..count).filter_map(|Missing { before: offset, is_place_known, at_least: at_least_lost }| {
                let kind = losses::EVENTS_MISSING;
                ledger.enter(kind, offset, at_least_lost);
                let number = frames.partition_point(|stored| base + u64::from(stored.offset) < offset);
                is_place_known.then_some((number, LossNote { kind, offset, bytes: 0, at_least_lost }))
            });
        gaps.collect()
    }

    /// An upper limit of the events since the last drop counter, from the average of the whole session, with a margin for bursts.
    pub fn events_at_most(&self, now: Nanos) -> u64 {
        const BURST: u128 = 64;
        let events: u64 = self.states.iter().map(|state| state.clock.count()).sum();
        let whole_ns = now.0.saturating_sub(self.start_ns.0).max(1);
        let part_ns = now.0.saturating_sub(self.drop_counter_ns.max(self.start_ns).0).min(whole_ns);
        let average = u128::from(events) * u128::from(part_ns) / u128::from(whole_ns);
        u64::try_from(BURST * (average + BURST)).unwrap_or(u64::MAX)
    }

    /// The index of its ids in the current session.
    #[inline]
    pub fn slot(&self) -> usize {
        self.session as usize * self.programs + self.program
    }

    pub fn state(&mut self) -> &mut CoreState {
        let index = self.core.index().min(self.states.len() - 1);
        &mut self.states[index]
    }

    /// Timed records came, `counted` of them other than drop counters.
    #[inline]
    pub fn note_timed(&mut self, counted: usize) {
        (self.restart_sign, self.first_metadata, self.late_start) = (None, None, None);
        self.timed_before = true;
        self.since_drop_counter += counted as u64;
    }

    /// The core of a `core_id` record; `None` if it is not plausible.
    pub fn core_of(&self, core_id: u32) -> Option<CoreId> {
        let core = CoreId(u16::try_from(core_id).ok()?);
        self.forced_core.or_else(|| self.cores.binary_search(&core).is_ok().then_some(core))
    }

    /// The core of a record of the superset.
    pub fn core_of_stored(&self, core: u16) -> CoreId {
        self.forced_core.unwrap_or_else(|| self.core_of(u32::from(core)).unwrap_or_default())
    }

    /// Whether the frame before a record says of which core it is.
    pub fn is_marked(&self, at: RecordPlace<'_>) -> bool {
        self.core_id_at.is_some_and(|mark| is_next_frame(at.chunk.bytes, mark, at.offset()))
    }

    /// Where the oldest record is, if the input is a ring as it lay in memory: the times from there on end right before the first ones.
    #[cold]
    pub fn ring_seam(&mut self) -> Option<u64> {
        const STEPS: u64 = 64;
        let (seam, first) = self.seam.filter(|_| self.session == 1)?;
        let clock = &self.state().clock;
        let (begin, reached) = clock.begin().zip(clock.reached())?;
        let step = (reached - begin) / clock.count().max(1);
        (reached <= first && first - reached <= step.saturating_mul(STEPS)).then_some(seam)
    }

    /// The range of the target's timer, if it has wrapped between two times. Ports should extend it to 64 bits, and not all do. A reset
    /// would have to come by chance right before the end of the range, and say nothing of it. `counts_on`: the drop counter has become higher.
    #[cold]
    pub fn wrap_between(&self, before: u64, ticks: u64, counts_on: bool) -> Option<u64> {
        let range = RANGES.into_iter().find(|range| before < *range)?;
        let most = if counts_on { range / 2 } else { range / 16 };
        ((range - before).saturating_add(ticks) <= most).then_some(range)
    }

    /// The timer of the target has this range, and has wrapped before a time of the present core. The clock is as it was before that.
    #[cold]
    pub fn wrap(&mut self, range: u64, before: Judge, ticks: u64, offset: u64) -> Judged {
        self.state().clock = before;
        self.set_range(range);
        self.state().clock.accept(Stamp { raw: ticks, offset, ..Stamp::default() })
    }

    fn set_range(&mut self, range: u64) {
        self.domain.modulus = Some(range);
        self.states.iter_mut().for_each(|state| state.clock.set_modulus(range));
    }

    /// Whether the timer has wrapped since it was last asked. All cores see the same wrap.
    pub fn has_wrapped(&mut self) -> bool {
        let wrapped = self.state().clock.wrapped();
        let has_wrapped = self.domain.modulus.is_some() && wrapped > self.wrapped;
        self.wrapped = self.wrapped.max(wrapped);
        has_wrapped
    }

    /// A session starts: nothing is known of the cores.
    pub fn start_states(&mut self, start_ns: Nanos) {
        self.states.fill(CoreState::new(self.domain, start_ns));
        self.wrapped = 0;
    }

    /// The time that the latest core has reached, in ticks.
    pub fn latest(&self) -> u64 {
        self.states.iter().filter_map(|state| state.clock.reached()).max().unwrap_or(0)
    }

    /// Judges a time of the present core. `restart_bits`: the evidence for a restart.
    pub fn judge(&mut self, at: RecordPlace<'_>, ticks: u64, restart_bits: u8) -> Judged {
        let stamp = Stamp { raw: ticks, offset: at.offset(), restart_bits, is_marked: self.is_marked(at), ..Stamp::default() };
        let index = self.core.index().min(self.states.len() - 1);
        // Deltas only go forwards: a time that is ahead of those that follow was not corrected by a sync.
        if self.restorer.is_some() && self.states[index].clock.reached().is_none_or(|reached| reached <= ticks) {
            return self.states[index].clock.accept(stamp);
        }
        let following = SameCore { records: at.after(), core: self.core, is_marked: false, signs: Signs::default(), input: self };
        let ahead: Vec<Stamp> = following.collect();
        if self.domain.modulus.is_none()
            && self.states[index].clock.begin().is_none()
            && let Some(range) = range_of(&ahead)
        {
            self.set_range(range);
        }
        self.states[index].clock.judge(stamp, ahead.iter().copied(), at.chunk.bytes)
    }

    /// Whether times of the current core need no correction.
    pub fn accepts_all(&self, times: Ordered) -> bool {
        let state = self.states.get(self.core.index());
        let follows = |state: &CoreState| {
            let nanos = |ticks: u64| self.axis.nanos(ticks.saturating_add(state.clock.wrapped()));
            let least = self.start_ns.max(state.converted.1).max(self.last_ns);
            state.clock.would_step(times.first, 0)
                && nanos(times.first).is_some_and(|time| time >= least)
                && nanos(times.last).is_some()
        };
        state.is_some_and(follows)
    }

    /// The bytes among which copies of pieces are found. In the superset, equal bytes may be equal differences of times.
    pub fn searched<'a>(&self, bytes: &'a [u8]) -> &'a [u8] {
        if self.restorer.is_none() { bytes } else { &[] }
    }

    /// The time at which the recording stops. `None`: it is not believed.
    #[cold]
    pub fn stop_time(&self, ticks: u64) -> Option<Nanos> {
        let time = self.axis.nanos(ticks)?.max(self.start_ns);
        let lived = self.last_ns.0.saturating_sub(self.start_ns.0);
        // Nothing follows that would contradict a damaged time.
        (time.0.saturating_sub(self.last_ns.0) <= LONGEST_END_NS.max(lived.saturating_mul(64))).then_some(time)
    }

    /// The recording stops: what runs on its cores runs until then.
    #[cold]
    pub fn stop(&mut self, time: Nanos, batch: &mut EventBatch) {
        let is_snapshot = self.restorer.as_ref().is_some_and(Restorer::is_snapshot);
        let (own, cores) = (self.core, std::mem::take(&mut self.cores));
        for &core in cores.iter().filter(|&&core| !is_snapshot || core == own) {
            let Some(state) = self.states.get_mut(core.index()) else { continue };
            let time = time.max(state.converted.1);
            (state.converted.1, state.running) = (time, None);
            self.last_ns = self.last_ns.max(time);
            batch.events.push(Event { time, core, kind: EventKind::CoreEnd });
            batch.added += 1;
        }
        self.cores = cores;
    }
}
