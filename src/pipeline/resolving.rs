//! The first ordered stage: records → events, in file order, and the cores into one order of time.

use super::clock::ClockMap;
use super::merge::Merger;
use super::recorder::{self, Placement};
use super::{InputSummary, Source};
use crate::format::{Detail, ErasedResolve, Facts, Parcel, Resolved};
use crate::model::{CoreId, Entities, Event, EventBatch, EventKind, Ledger, losses};

/// Resolves and merges.
pub struct Resolving {
    resolve: Box<dyn ErasedResolve>,
    clock: ClockMap,
    merger: Option<Merger>,
    /// The cores of each input.
    cores: Vec<Vec<CoreId>>,
    pub entities: Entities,
    ledgers: Vec<Ledger>,
    summaries: Vec<InputSummary>,
    /// By input: its last event has been resolved.
    ended: Vec<bool>,
    /// For reuse of its memory.
    spare_batch: EventBatch,
    /// By input: events beyond the end of the trace's time axis.
    beyond: Vec<u64>,
    /// An input has only events beyond that end.
    pub is_beyond_time: bool,
    /// By input: the notes of the recorder, if there are any.
    notes: Vec<Option<Placement>>,
    /// By input: facts from the recorder.
    recorded: Vec<(Option<Detail>, Vec<String>)>,
}

impl Resolving {
    pub fn new(
        resolve: Box<dyn ErasedResolve>,
        cores: &[Vec<CoreId>],
        ledgers: Vec<Ledger>,
        clock: ClockMap,
        sources: &[Source<'_>],
    ) -> Resolving {
        let placement = |(source, cores): (&Source<'_>, &Vec<CoreId>)| {
            Placement::new(&source.recorder?.notes, source.bytes.len() as u64, cores.first().copied())
        };
        Resolving {
            resolve,
            clock,
            merger: Merger::new(cores),
            cores: cores.to_vec(),
            entities: Entities::default(),
            summaries: vec![InputSummary::default(); ledgers.len()],
            ledgers,
            ended: vec![false; cores.len()],
            spare_batch: EventBatch::default(),
            beyond: vec![0; cores.len()],
            is_beyond_time: false,
            notes: sources.iter().zip(cores).map(placement).collect(),
            recorded: sources.iter().map(|source| source.recorder.map(recorder::facts).unwrap_or_default()).collect(),
        }
    }

    /// The known facts of the recording.
    pub fn facts(&self) -> Facts {
        let mut facts = self.resolve.facts();
        self.clock.move_readings(&mut facts.clocks);
        facts
    }

    /// The input to continue with; `None` when all have ended. With cores to merge it is the one that the others wait for.
    pub fn wanted(&self) -> Option<usize> {
        let has_ended = |input: usize| self.ended.get(input).is_none_or(|&ended| ended);
        let held_up = self.merger.as_ref().and_then(Merger::wants).filter(|&input| !has_ended(input));
        held_up.or_else(|| self.ended.iter().position(|&ended| !ended))
    }

    /// Resolves the next window of an input, which is `bytes`, or its end. Afterwards `batch` has the events that are ready, in order of
    /// time. Returns the parcel, for reuse of its memory.
    pub fn advance(&mut self, input: usize, bytes: &[u8], window: Option<Parcel>, batch: &mut EventBatch) -> Option<Parcel> {
        batch.clear();
        let notes = self.notes.get_mut(input).and_then(Option::as_mut);
        batch.judged = notes.is_some().then(Vec::new);
        let has_ended = window.is_none();
        self.ended[input] = has_ended;
        let mut out = Resolved { entities: &mut self.entities, batch: &mut *batch, ledger: &mut self.ledgers[input] };
        let spare = match window {
            Some(parcel) => Some(self.resolve.resolve(input, bytes, parcel, &mut out)),
            None => {
                self.resolve.finish(input, bytes, &mut out);
                None
            }
        };
        if let Some(notes) = notes {
            notes.place(batch, &mut self.ledgers[input], has_ended);
        }
        let beyond = self.clock.apply(batch);
        self.is_beyond_time |= beyond > 0 && beyond == batch.events.len() && self.summaries[input].first.is_none();
        if let Some(all) = self.beyond.get_mut(input) {
            *all += beyond as u64;
        }
        self.count(input, batch);
        if self.ended.len() > 1 && has_ended {
            self.end_cores(input, batch);
        }
        if let Some(merger) = &mut self.merger {
            std::mem::swap(batch, &mut self.spare_batch);
            batch.clear();
            merger.push(input, &self.spare_batch, batch);
            if has_ended {
                merger.end(input, batch);
            }
        }
        spare
    }

    /// Ends the cores of an input at the input's last event, though others continue.
    fn end_cores(&self, index: usize, batch: &mut EventBatch) {
        let Some(time) = self.summaries[index].last else { return };
        let ends = self.cores.get(index).into_iter().flatten().map(|&core| Event { time, core, kind: EventKind::CoreEnd });
        batch.events.extend(ends);
    }

    fn count(&mut self, index: usize, batch: &EventBatch) {
        let summary = &mut self.summaries[index];
        // Each loss note has one event, which is not an event of the firmware.
        summary.events += (batch.events.len() as u64).saturating_sub(batch.losses.len() as u64 + batch.added);
        // Events of one core are in order of time, those of several nearly so.
        let times = batch.events.iter().map(|event| event.time);
        let (first, last) = match self.merger {
            None => (batch.first_time(), batch.events.last().map(|event| event.time)),
            Some(_) => (times.clone().min(), times.max()),
        };
        summary.first = summary.first.into_iter().chain(first).min();
        summary.last = summary.last.max(last);
    }

    /// The result for each source.
    pub fn finish(mut self) -> Vec<InputSummary> {
        if let Some(merger) = &self.merger {
            for (ledger, &late) in self.ledgers.iter_mut().zip(&merger.late) {
                ledger.enter_unplaced(losses::LATE_ON_CORE, late);
            }
        }
        for (ledger, &beyond) in self.ledgers.iter_mut().zip(&self.beyond) {
            ledger.enter_unplaced(losses::BEYOND_TIME, beyond);
        }
        let mut facts = self.facts();
        let mut details_of = std::mem::take(&mut facts.details_of).into_iter();
        for (summary, ledger) in self.summaries.iter_mut().zip(self.ledgers) {
            summary.ledger = ledger;
            let details = details_of.next().unwrap_or_default().into_iter().chain(facts.details.iter().cloned()).collect();
            summary.facts = Facts { details, ..facts.clone() };
        }
        for (summary, (detail, hints)) in self.summaries.iter_mut().zip(self.recorded) {
            summary.facts.details.extend(detail);
            summary.facts.hints.extend(hints);
        }
        self.summaries
    }
}
