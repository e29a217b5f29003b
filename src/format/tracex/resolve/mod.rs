//! Entries in the order of recording → events of the common model.
//!
//! The time stamps of one ring are readings of one counter, which may have few bits and wraps. They are judged by their neighbours
//! ([`crate::clock`]), so the last entries are held back until more have come.

mod events;
mod handles;
mod view;

use super::decode::{Bad, Entry, Record, Records};
use super::layout::Layout;
use super::names::Names;
use super::scan::{ScanFacts, Setup};
use crate::clock::{Domain, Judge, LOOKAHEAD, Stamp};
use crate::format::{Detail, Facts, ListRecord, Resolve, Resolved};
use crate::model::{Certainty, CoreId, Event, EventKind, Finding, Ledger, LossNote, Matter, Nanos, Rate, Ticks, counted, losses};
use events::Kernel;

/// The rate of the clock is not recorded. Without an option, a tick is taken for this fraction of a second.
const ASSUMED_HZ: u64 = 1_000_000;
const RATE_IS_MISSING: &str =
    "Trace buffers do not record the rate of the time stamps; a microsecond is assumed. Give --clock-hz.";
const CLOCK_IS_MISSING: &str =
    "Only the order of the events is known: TX_TRACE_TIME_SOURCE in the kernel's build gives it a clock.";

/// A small step back, in bits: an interrupt may record an event between the time and the entry of another one.
const DISORDER_BITS: u32 = 12;

/// Fewer events do not show that the time stamps only count events.
const LEAST_COUNTED: u64 = 16;

/// The resolver of one input.
struct InputResolver {
    judge: Judge,
    layout: Option<Layout>,
    rate: Rate,
    /// Entries and damage that are not judged yet.
    held: Vec<Record>,
    /// How many of them are entries.
    held_entries: usize,
    last: Nanos,
    /// If the clock counts down: the bits of its time stamps.
    down: Option<u64>,
    /// The last time stamp, and the step to it, if all steps so far are equal.
    last_stamp: Option<u64>,
    step: Option<u64>,
    is_regular: bool,
    kernel: Kernel,
}

/// Turns entries into events.
pub(super) struct Resolver {
    inputs: Vec<InputResolver>,
    names: Names,
    facts: Facts,
    events: u64,
    /// How many threads and objects were created at the address of a deleted one.
    recreated: u64,
    /// The inputs that have ended.
    ended: usize,
}

impl Resolver {
    pub(super) fn new(setups: Vec<Setup>, names: Names) -> Resolver {
        let mut facts = Facts { sessions: 1, system: Some("ThreadX"), begins_midway: true, ..Facts::default() };
        let given = setups.iter().find_map(|setup| setup.clock);
        let rate = given.or(Rate::from_hz(ASSUMED_HZ, 1)).unwrap_or(Rate::NANOSECOND);
        let (origin, certainty) = match given {
            Some(_) => ("given by an option", Certainty::Known),
            None => ("assumed, trace buffers do not record it", Certainty::Assumed),
        };
        facts.clock = Some((rate, origin));
        let because = origin.trim_start_matches("assumed, ");
        facts.findings.push(Finding::new(Matter::Clock, certainty, because).never_recorded());
        if given.is_none() {
            facts.hints.push(RATE_IS_MISSING.to_owned());
        }
        for setup in &setups {
            let last = u16::try_from(64 - setup.facts.cores.leading_zeros()).unwrap_or(1).max(1);
            facts.cores = facts.cores.max(setup.core.0.saturating_add(last));
        }
        facts.details_of = setups.iter().map(|setup| describe(&setup.facts)).collect();
        let events = setups.iter().map(|setup| setup.facts.events).sum();
        if events >= LEAST_COUNTED && setups.iter().all(|setup| setup.facts.scheduled == 0) {
            facts.hints.push(
                "No entry says that a thread waits or is resumed. If the scheduler's events are filtered (TX_TRACE_INTERNAL_EVENTS), whether \
                 threads wait or are ready is unknown."
                    .to_owned(),
            );
        }
        let inputs = setups.into_iter().map(|setup| InputResolver::new(setup, rate)).collect();
        Resolver { inputs, names, facts, events, recreated: 0, ended: 0 }
    }
}

fn describe(scanned: &ScanFacts) -> Vec<Detail> {
    let mut details = Vec::new();
    let Some(layout) = scanned.layout else { return details };
    let mut detail = |name, value: String| details.push(Detail { name, value, source: "recorded in the capture".into() });
    let ScanFacts { events, unused, .. } = scanned;
    let state = if *unused > 0 { format!("{unused} not used yet") } else { "all of them used".to_owned() };
    detail("ring", format!("{} entries with {}, {state}", layout.entries, counted(*events, "event")));
    detail("byte order", if layout.is_big { "big-endian" } else { "little-endian" }.to_owned());
    detail(
        "time stamps",
        format!("{} bits{}", layout.time_mask.count_ones(), if scanned.is_down() { ", counting down" } else { "" }),
    );
    if !scanned.objects.is_empty() {
        detail("names", counted(scanned.objects.len(), "object"));
    }
    details
}

impl InputResolver {
    fn new(setup: Setup, rate: Rate) -> InputResolver {
        let mask = setup.facts.layout.map_or(u64::from(u32::MAX), |layout| layout.time_mask);
        // Without a bit there is no time; with gaps between the bits, the highest one decides.
        let modulus = mask.checked_add(1).and_then(u64::checked_next_power_of_two).map(|modulus| modulus.max(2));
        let domain = Domain { modulus, disorder_bits: DISORDER_BITS, restart_bits: None, ..Domain::plain() };
        InputResolver {
            judge: Judge::new(domain),
            layout: setup.facts.layout,
            rate,
            held: Vec::new(),
            held_entries: 0,
            last: Nanos(0),
            down: setup.facts.is_down().then_some(mask),
            last_stamp: None,
            step: None,
            is_regular: true,
            kernel: Kernel::new(setup.core, setup.facts),
        }
    }

    /// Judges and resolves what is held back, except entries whose judgement needs more.
    fn advance(&mut self, is_last: bool, bytes: &[u8], names: &Names, out: &mut Resolved<'_>) {
        let mut held = std::mem::take(&mut self.held);
        let mut done = 0;
        while let Some((record, ahead)) = held.get(done..).and_then(<[Record]>::split_first)
            && (is_last || self.held_entries > LOOKAHEAD)
        {
            done += 1;
            match record {
                Record::Event(entry) => {
                    self.held_entries -= 1;
                    let time = self.time(entry, ahead, bytes, out.ledger);
                    self.last = time.max(self.last);
                    out.batch.note_judged(entry.offset, self.last);
                    if let Some(last) = self.last_stamp.replace(entry.time) {
                        let step = entry.time.wrapping_sub(last);
                        self.is_regular &= *self.step.get_or_insert(step) == step;
                    }
                    let info = match self.layout.filter(Layout::is_wide) {
                        Some(layout) => layout.numbers(bytes, entry.offset as usize).last_chunk().copied().unwrap_or_default(),
                        None => entry.info.map(u64::from),
                    };
                    self.kernel.event(entry, &info, self.last, names, out);
                }
                Record::Bad(bad) => self.lose(bad, out),
            }
        }
        held.drain(..done);
        self.held = held;
    }

    fn lose(&mut self, bad: &Bad, out: &mut Resolved<'_>) {
        if bad.kind == losses::SURPLUS_BYTES {
            return;
        }
        self.judge.note_damage();
        let note = LossNote { kind: bad.kind, offset: bad.offset, bytes: bad.bytes, at_least_lost: 1 };
        self.kernel.lose(self.last, note, out);
    }

    fn time(&mut self, entry: &Entry, ahead: &[Record], bytes: &[u8], ledger: &mut Ledger) -> Nanos {
        let ahead = ahead.iter().filter_map(|record| match record {
            Record::Event(entry) => Some(entry),
            Record::Bad(_) => None,
        });
        let down = self.down;
        let raw = |entry: &Entry| down.map_or(entry.time, |mask| mask.saturating_sub(entry.time));
        let next = ahead.clone().next().map(raw);
        let ticks = match next.and_then(|next| self.judge.step(raw(entry), next)) {
            Some(ticks) => ticks,
            None => {
                let [first, second] = self.layout.map_or([0..0, 0..0], |layout| layout.pieces_in(bytes.len()));
                // The order of recording counts, also for copies of pieces.
                let place = |entry: &Entry| match entry.offset.checked_sub(first.start as u64) {
                    Some(place) => place,
                    None => entry.offset.saturating_sub(second.start as u64) + first.len() as u64,
                };
                let stamp = |entry: &Entry| Stamp { raw: raw(entry), offset: place(entry), ..Stamp::default() };
                let pieces = [&first, &second].map(|piece| bytes.get(piece.clone()).unwrap_or(&[]));
                let judged = self.judge.judge_in(stamp(entry), ahead.take(LOOKAHEAD).map(stamp), pieces);
                self.judge.enter(&judged, entry.offset, self.rate, ledger);
                judged.ticks
            }
        };
        self.rate.to_nanos(Ticks(ticks)).unwrap_or_else(|| {
            ledger.enter(losses::TIME_OVERFLOW, entry.offset, 0);
            Nanos::MAX
        })
    }
}

impl Resolve for Resolver {
    type Records = Records;

    fn resolve(&mut self, input: usize, bytes: &[u8], records: &mut Records, out: &mut Resolved<'_>) {
        account(records, out.ledger);
        let Some(input) = self.inputs.get_mut(input) else { return };
        input.held_entries += records.records.iter().filter(|record| matches!(record, Record::Event(_))).count();
        input.held.extend_from_slice(&records.records);
        out.batch.events.reserve(input.held_entries);
        input.advance(false, bytes, &self.names, out);
    }

    fn finish(&mut self, input: usize, bytes: &[u8], out: &mut Resolved<'_>) {
        let Some(state) = self.inputs.get_mut(input) else { return };
        state.advance(true, bytes, &self.names, out);
        state.kernel.finish(out);
        self.ended += 1;
        self.recreated += state.kernel.recreated;
        if let Some(step) = state.step.filter(|_| state.is_regular && self.events >= LEAST_COUNTED)
            && let Some(details) = self.facts.details_of.get_mut(input)
        {
            let value = format!("the time stamps count the events, {step} for each: the kernel was built without a clock");
            details.push(Detail { name: "time", value, source: "inferred".to_owned() });
            self.facts.hints.retain(|hint| hint != RATE_IS_MISSING && hint != CLOCK_IS_MISSING);
            self.facts.hints.push(CLOCK_IS_MISSING.to_owned());
        }
    }

    fn dump(&mut self, input: usize, bytes: &[u8], records: &mut Records, ledger: &mut Ledger, out: &mut ListRecord<'_>) {
        account(records, ledger);
        if let Some(input) = self.inputs.get(input)
            && let Some(layout) = &input.layout
        {
            view::dump_part(&input.kernel, layout, &self.names, bytes, records, out);
        }
    }

    fn facts(&self) -> Facts {
        let mut facts = self.facts.clone();
        if self.ended == self.inputs.len() {
            let occurs = |id| self.inputs.iter().any(|input| input.kernel.handles.has_occurred(id));
            let unused = self.names.unused_files(occurs).map(|(path, names)| {
                format!("--tracex-events {path}: none of the {names} user events that it names is in the capture.")
            });
            facts.hints.extend(unused);
            if self.recreated > 0 {
                facts.hints.push(format!(
                    "Threads or objects were created where others had been deleted ({} of them): the earlier ones have the name of the last one, \
                     because only that is kept.",
                    self.recreated
                ));
            }
        }
        facts
    }
}

/// Enters the bytes of a part in the ledger.
fn account(records: &Records, ledger: &mut Ledger) {
    ledger.decoded_bytes += records.ok_bytes;
    for record in &records.records {
        match record {
            Record::Event(_) => ledger.frames_ok += 1,
            Record::Bad(bad) => {
                let lost = u64::from(bad.kind != losses::SURPLUS_BYTES);
                ledger.bad_frame(bad.kind, bad.offset, bad.bytes, lost);
            }
        }
    }
}

/// Appends an event.
fn push(out: &mut Resolved<'_>, time: Nanos, core: CoreId, kind: EventKind) {
    out.batch.events.push(Event { time, core, kind });
}
