//! The first pass: facts about the whole recording.
//!
//! Names and the target's description may come after their first use, so they are collected before records are decoded. The target's
//! sizes are not known yet, so the data of these records is kept unparsed.

use std::ops::Range;

use rustc_hash::FxHashSet;

use crate::clock::SESSIONS_LIMIT;
use crate::format::{Facts, Part, Recording, Stages, is_unrecorded};
use crate::frame::split::Delimiters;
use crate::model::{CoreId, Ledger, TextRef, losses};

use super::decode::{self, Decoder, Decoders};
use super::frame::{self, ESCAPE, FLAG};
use super::infer::Evidence;
use super::info::TargetInfo;
use super::pieces::CopiedPieces;
use super::record::IDS_END;
use super::resolve::{DrawOptions, Resolver};
use super::sessions::Sessions;
use super::{InputOptions, clockrate, facts};

/// The first pass over a recording.
pub(super) struct Scanner {
    inputs: Vec<InputOptions>,
}

impl Scanner {
    pub(super) fn new(inputs: Vec<InputOptions>) -> Scanner {
        Scanner { inputs }
    }
}

impl Recording for Scanner {
    type PartFacts = ScanFacts;
    type Facts = Collector;
    type Decoder = Decoders;
    type Resolver = Resolver;

    fn cut(&self, input: &[u8], at: usize) -> usize {
        decode::cut(input, at)
    }

    fn scan(&self, _input: usize, part: Part<'_>) -> ScanFacts {
        Collector::scan(part.input, part.start..part.end)
    }

    fn join(&self, bytes: &[u8], facts: &mut Collector, next: ScanFacts) {
        facts.add_part(bytes, next);
    }

    fn finish(self, facts: Vec<Collector>, ledgers: &mut [Ledger]) -> Stages<Decoders, Resolver> {
        let inputs: Vec<ScanFacts> = facts.into_iter().map(Collector::finish).collect();
        for (facts, ledger) in inputs.iter().zip(ledgers) {
            if facts.is_cut {
                ledger.enter(losses::METADATA_LIMIT, 0, 1);
            }
        }
        let none = InputOptions::default();
        let options = self.inputs.first().unwrap_or(&none);
        let target = |index: usize| self.inputs.get(index).map(|options| options.target.clone()).unwrap_or_default();
        let sessions: Vec<Sessions> =
            inputs.iter().enumerate().map(|(index, facts)| Sessions::new(facts, &target(index))).collect();
        let mut report = Facts { system: Some("QP"), cores: sessions.len() as u16, begins_midway: true, ..Facts::default() };
        let rate_of =
            |(facts, sessions): (&ScanFacts, &Sessions)| clockrate::of_ticks(facts, sessions).filter(|_| !facts.is_test);
        let by_ticks: Vec<_> = inputs.iter().zip(&sessions).map(rate_of).collect();
        let of_first = inputs.first().zip(sessions.first()).zip(by_ticks.first());
        let measured = of_first.map(|((facts, sessions), ticks)| clockrate::measure(facts, sessions, *ticks));
        let clock = facts::clock_of(options, measured.as_ref(), inputs.iter().any(|facts| facts.is_test), &mut report);
        report.clock = Some(clock);
        let by_ticks: Vec<Option<f64>> = by_ticks.iter().map(|ticks| ticks.map(|ticks| ticks.rate)).collect();
        facts::add_range(&sessions, &by_ticks, clock.0, &mut report);
        if let (Some(sessions), Some(facts)) = (sessions.first(), inputs.first()) {
            facts::add_target(sessions, &options.target, facts, &mut report);
        }
        let decoders = Decoders(sessions.iter().map(|sessions| Decoder::new(sessions.segments())).collect());
        let cores = (0..sessions.len()).map(|core| vec![CoreId(core as u16)]).collect();
        let lacks_gets = inputs.iter().any(|facts| is_unrecorded(facts.gets, facts.posts));
        if lacks_gets {
            report.hints.push(
                "The capture has events that are posted, but no records of the ids 16 and 17 (QF_ACTIVE_GET, QF_ACTIVE_GET_LAST), which say \
                 when an event is taken out of its queue: it is drawn as taken when it is dispatched, and the levels of queues are unknown. \
                 Enable these ids in the target's filter."
                    .to_owned(),
            );
        }
        let units = measured.and_then(Result::ok).map(|measured| measured.units_per_tick);
        let rates = by_ticks.iter().map(|rate| rate.or(units.map(|units| units as f64))).collect();
        let draw = DrawOptions { lacks_gets, units_per_tick: units, ..options.draw.clone() };
        let resolver = Resolver::new(sessions, clock.0, draw, rates, report);
        Stages { cores, decode: decoders, resolve: resolver }
    }
}

/// The limit of metadata records. A real capture has some hundreds.
pub const METADATA_LIMIT: usize = 1 << 17;

/// The limit of their data, in bytes.
const METADATA_BYTES: usize = 16 << 20;

/// Sizes are inferred from the records that start before this offset in the input, in bytes.
const EVIDENCE_BYTES: u64 = 4 << 20;

/// The limits of time event records, and of clock ticks with the records after them: from these the clock is measured.
const TIME_EVENTS_LIMIT: usize = 1 << 14;
const TICKS_LIMIT: usize = 1 << 13;

/// A record with a fact about the whole session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Metadata {
    /// Where its frame starts in the input, in bytes.
    pub offset: u64,
    /// Its id.
    pub id: u8,
    /// Its data, in [`ScanFacts::data`].
    pub data: TextRef,
    /// Where the frame before it starts, if that is an EMPTY: with a TARGET_INFO, that is where the session starts.
    pub empty_before: Option<u64>,
}

/// The facts about a part, or about the whole input.
#[derive(Clone, Debug, Default)]
pub struct ScanFacts {
    /// In file order. Repeated names in a session are left out.
    pub metadata: Vec<Metadata>,
    /// Copies of pieces in which the target starts up.
    pub copies: CopiedPieces,
    /// The first records of time events, in file order.
    pub time_events: Vec<Metadata>,
    /// The first records of clock ticks, each with the next record that has a time stamp, in file order.
    pub ticks: Vec<Metadata>,
    /// Whether the last one of both kinds is a tick, and the record with a time stamp before any tick of the part.
    ends_with_tick: Option<bool>,
    opening_stamp: Option<Metadata>,
    /// The data of all of them.
    pub data: Vec<u8>,
    /// Whether the limits of metadata were exceeded.
    pub is_cut: bool,
    /// Where the first valid frame starts, in bytes, except EMPTY.
    pub first_frame: Option<u64>,
    /// The lengths of records.
    pub evidence: Option<Box<Evidence>>,
    /// By priority: the event that was taken first after it was scheduled.
    pub first_gets: Vec<(u8, Metadata)>,
    /// The scheduler at the end of the part.
    scheduled: Scheduled,
    /// The first event that was taken, if the scheduler was not recorded before it in the part.
    opening_get: Option<(u8, Metadata)>,
    /// How many events are posted to queues, and how many taken out.
    pub posts: u64,
    pub gets: u64,
    /// Whether a test of QUTest begins.
    pub is_test: bool,
}

/// The priority that was scheduled last, as known from a part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Scheduled {
    /// As before the part.
    #[default]
    Before,
    /// None, or its object has taken an event.
    Idle,
    /// The priority, and the sequence number of the record.
    Priority(u8, u8),
}

impl ScanFacts {
    /// The bytes that a reference into [`ScanFacts::data`] refers to; empty if it is out of range.
    #[must_use]
    pub fn bytes(&self, data: TextRef) -> &[u8] {
        self.data.get(data.range()).unwrap_or(&[])
    }

    /// Notes which object takes an event after a priority was scheduled.
    fn note_scheduler(&mut self, offset: u64, body: &[u8]) {
        let (Some(&[seq, id]), Some(data)) = (body.first_chunk(), body.get(2..body.len().saturating_sub(1))) else { return };
        match (id, data) {
            // SCHED_NEXT ends with the next and the previous priority.
            (52, [.., next, _]) => self.scheduled = Scheduled::Priority(*next, seq),
            (53 | 64, _) => self.scheduled = Scheduled::Idle,
            (16 | 17, _) => {
                let entry = |data| Metadata { offset, id, data, empty_before: None };
                match std::mem::replace(&mut self.scheduled, Scheduled::Idle) {
                    Scheduled::Before => self.opening_get = Some((seq, entry(self.keep(data)))),
                    Scheduled::Priority(priority, before) if self.is_first(priority, before, seq) => {
                        let get = entry(self.keep(data));
                        self.first_gets.push((priority, get));
                    }
                    _ => {}
                }
            }
            _ => {}
        }
    }

    /// Whether the get `seq` follows the scheduling `before` of a priority for the first time.
    fn is_first(&self, priority: u8, before: u8, seq: u8) -> bool {
        let is_known = |known: &(u8, Metadata)| known.0 == priority;
        seq.wrapping_sub(before) <= GET_REACH && self.first_gets.len() < FIRST_GETS_LIMIT && !self.first_gets.iter().any(is_known)
    }

    /// Notes a clock tick, or a record with a time stamp, which may be the first one after a tick.
    fn note_tick(&mut self, offset: u64, id: u8, data: &[u8]) {
        let is_tick = id == TICK;
        let before = self.ends_with_tick.replace(is_tick);
        if !is_tick && before == Some(false) {
            return;
        }
        let entry = Metadata { offset, id, data: self.keep(data), empty_before: None };
        if is_tick || before == Some(true) {
            self.add_tick(entry);
        } else {
            self.opening_stamp = Some(entry);
        }
    }

    fn add_tick(&mut self, entry: Metadata) {
        if self.ticks.len() < TICKS_LIMIT {
            self.ticks.push(entry);
        }
    }

    fn keep(&mut self, data: &[u8]) -> TextRef {
        let start = self.data.len();
        self.data.extend_from_slice(data);
        TextRef { start: start as u32, len: data.len() as u32 }
    }

    /// A record of another part, with its data kept here.
    fn adopt(&mut self, part: &ScanFacts, entry: &Metadata) -> Metadata {
        Metadata { data: self.keep(part.bytes(entry.data)), ..*entry }
    }
}

/// The limit of frames between a scheduled priority and the event that its object takes.
const GET_REACH: u8 = 8;

/// The limit of first gets of a part: more than there are priorities.
const FIRST_GETS_LIMIT: usize = 1 << 9;

const IS_METADATA: u8 = 1;
const IS_TIME_EVENT: u8 = 2;
const IS_OF_SCHEDULER: u8 = 4;
const IS_TICK: u8 = 8;
/// In most versions. Those of others are not valid, or have no time stamp there.
const IS_TIMED: u8 = 16;
const IS_ANSWER: u8 = 32;

/// QF_TICK.
const TICK: u8 = 31;

/// RX_STATUS.
const ANSWER: u8 = 66;

/// The facts in a record, by id.
static CLASSES: [u8; 256] = {
    let mut classes = [0; 256];
    let mut id = 0;
    while id < IDS_END {
        let class = match id {
            64 => IS_METADATA | IS_OF_SCHEDULER,
            0 | 54 | 60..=63 => IS_METADATA,
            32..=37 => IS_TIME_EVENT,
            16 | 17 | 52 | 53 => IS_OF_SCHEDULER,
            TICK => IS_TICK,
            ANSWER => IS_ANSWER,
            _ => 0,
        };
        let is_timed = !matches!(id, 0..=3 | 9 | 31 | 33 | 43 | 44 | 54..=58 | 60..=64 | 66 | 70);
        classes[id as usize] = class | if is_timed { IS_TIMED } else { 0 };
        id += 1;
    }
    classes
};

/// Collects facts in file order.
#[derive(Clone, Debug, Default)]
pub struct Collector {
    facts: ScanFacts,
    /// How often the target starts up, and where it does so last, in bytes.
    starts: (u32, u64),
    /// The names already sent in the current session.
    sent: FxHashSet<Box<[u8]>>,
}

impl Collector {
    /// Scans the part `range` of `input`.
    #[must_use]
    pub fn scan(input: &[u8], range: Range<usize>) -> ScanFacts {
        let mut collector = Collector::default();
        let mut buffer = Vec::new();
        let beyond = input.get(range.start..).unwrap_or(&[]);
        let part = input.get(range.clone()).unwrap_or(&[]);
        let evidence_end = EVIDENCE_BYTES.saturating_sub(range.start as u64) as usize;
        let mut evidence = (evidence_end > 0).then(Box::<Evidence>::default);
        let is_torn = range.start.checked_sub(1).and_then(|before| input.get(before)).is_some_and(|&byte| byte != FLAG);
        let whole_from = usize::from(is_torn);
        // From here on, only frames with facts are looked at.
        let mut skips_from = usize::MAX;
        let mut at = 0;
        // The frames of each id, valid or not.
        let mut counts = [0u32; 256];
        for flag in Delimiters::<FLAG>::new(part, 0) {
            let (start, Some(frame)) = (at, part.get(at..flag)) else { continue };
            at = flag + 1;
            let id = id_of(frame);
            counts[usize::from(id)] += 1;
            let class = CLASSES[usize::from(id)] & if start < evidence_end { u8::MAX } else { IS_METADATA };
            if class == 0 && start >= skips_from || start < whole_from {
                continue;
            }
            let window = beyond.get(start..).and_then(|rest| rest.first_chunk());
            let Ok(body) = frame::body(frame, window, &mut buffer) else { continue };
            if start < evidence_end
                && let Some(evidence) = &mut evidence
            {
                evidence.add(body);
            }
            let is_of_tick = class & IS_TICK != 0 || class & IS_TIMED != 0 && collector.facts.ends_with_tick != Some(false);
            if class & !IS_TIMED != 0 || is_of_tick || skips_from == usize::MAX {
                collector.add_frame(input, (range.start + start) as u64, body, class);
                if collector.facts.first_frame.is_some() {
                    skips_from = evidence_end;
                }
            }
        }
        let count = |ids: [usize; 2]| ids.iter().map(|&id| u64::from(counts[id])).sum();
        (collector.facts.posts, collector.facts.gets) = (count([14, 15]), count([16, 17]));
        collector.facts.evidence = evidence;
        collector.facts
    }

    #[inline(never)]
    fn add_frame(&mut self, input: &[u8], offset: u64, body: &[u8], class: u8) {
        let (Some(&id), Some(data)) = (body.get(1), body.get(2..body.len().saturating_sub(1))) else { return };
        // From 5.0 to 5.4 the empty record has the id that TARGET_INFO, which is not empty, has later.
        let id = if id == 64 && data.is_empty() { 0 } else { id };
        if id != 0 && self.facts.first_frame.is_none() {
            self.facts.first_frame = Some(offset);
        }
        match class & (IS_ANSWER | IS_OF_SCHEDULER) {
            0 => {}
            IS_ANSWER => self.facts.is_test |= data == [decode::TEST_SETUP],
            _ => self.facts.note_scheduler(offset, body),
        }
        if class & IS_TIME_EVENT != 0 && self.facts.time_events.len() < TIME_EVENTS_LIMIT {
            let data = self.facts.keep(data);
            self.facts.time_events.push(Metadata { offset, id, data, empty_before: None });
        }
        if class & (IS_TICK | IS_TIMED) != 0 {
            self.facts.note_tick(offset, id, data);
        }
        // A target sends EMPTY, which has no data, as the first frame after a reset, and at no other time. The end of a frame whose beginning
        // was overwritten may look like one that has.
        if class & IS_METADATA != 0 && (id != 0 || data.is_empty() && body.first().is_some_and(|&seq| seq <= 1)) {
            let before = frame::frame_before(input, usize::try_from(offset).unwrap_or(0)).filter(|_| id == 64);
            let is_empty = |frame: &&[u8]| matches!(frame, [_, 0, _] | [ESCAPE, _, 0, _] | [_, 0, ESCAPE, _]);
            let empty_before = before.filter(is_empty).map(|frame| offset - frame.len() as u64 - 1);
            self.add(offset, id, data, empty_before);
        }
    }

    fn add(&mut self, offset: u64, id: u8, data: &[u8], empty_before: Option<u64>) {
        if self.facts.metadata.len() >= METADATA_LIMIT || self.facts.data.len() >= METADATA_BYTES {
            self.facts.is_cut = true;
            return;
        }
        if is_start(id, data) {
            self.sent.clear();
        } else if id != 64 && !self.sent.insert([&[id], data].concat().into()) {
            return;
        }
        let data = self.facts.keep(data);
        self.facts.metadata.push(Metadata { offset, id, data, empty_before });
    }

    /// Notes that the target starts up.
    fn add_start(&mut self, input: &[u8], offset: u64) {
        let (count, last) = self.starts;
        if offset > last && count < SESSIONS_LIMIT {
            self.facts.copies.search(input, last, offset);
            self.starts = (count + 1, offset);
        }
    }

    /// Adds the facts of the next part of `input`.
    pub fn add_part(&mut self, input: &[u8], part: ScanFacts) {
        for entry in &part.metadata {
            if is_start(entry.id, part.bytes(entry.data)) {
                self.add_start(input, entry.empty_before.unwrap_or(entry.offset));
            }
            self.add(entry.offset, entry.id, part.bytes(entry.data), entry.empty_before);
        }
        for entry in part.time_events.iter().take(TIME_EVENTS_LIMIT.saturating_sub(self.facts.time_events.len())) {
            let entry = self.facts.adopt(&part, entry);
            self.facts.time_events.push(entry);
        }
        let opening = part.opening_stamp.filter(|_| self.facts.ends_with_tick == Some(true));
        for entry in opening.iter().chain(&part.ticks) {
            let entry = self.facts.adopt(&part, entry);
            self.facts.add_tick(entry);
        }
        self.facts.ends_with_tick = part.ends_with_tick.or(self.facts.ends_with_tick);
        if let (Scheduled::Priority(priority, before), Some((seq, get))) = (self.facts.scheduled, part.opening_get)
            && self.facts.is_first(priority, before, seq)
        {
            let get = self.facts.adopt(&part, &get);
            self.facts.first_gets.push((priority, get));
        }
        for (priority, get) in &part.first_gets {
            if self.facts.is_first(*priority, 0, 0) {
                let get = self.facts.adopt(&part, get);
                self.facts.first_gets.push((*priority, get));
            }
        }
        if part.scheduled != Scheduled::Before {
            self.facts.scheduled = part.scheduled;
        }
        self.facts.is_cut |= part.is_cut;
        self.facts.is_test |= part.is_test;
        self.facts.posts += part.posts;
        self.facts.gets += part.gets;
        self.facts.first_frame = self.facts.first_frame.or(part.first_frame);
        match (&mut self.facts.evidence, part.evidence) {
            (Some(evidence), Some(more)) => evidence.merge(&more),
            (evidence @ None, more) => *evidence = more,
            _ => {}
        }
    }

    /// All facts.
    #[must_use]
    pub fn finish(self) -> ScanFacts {
        self.facts
    }
}

/// Whether a record says that the target starts up: EMPTY, or a TARGET_INFO of a reset.
fn is_start(id: u8, data: &[u8]) -> bool {
    id == 0 || id == 64 && TargetInfo::read(data).is_some_and(|info| info.is_reset)
}

/// The id of a frame, the second unescaped byte. Ids are never escaped; sequence numbers may be.
#[inline]
fn id_of(frame: &[u8]) -> u8 {
    match frame {
        [ESCAPE, _, id, ..] | [_, id, ..] => *id,
        _ => IDS_END,
    }
}
