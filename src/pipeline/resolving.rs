//! The first ordered stage: records → events, in file order, and the cores into one order of time.

use super::clock::ClockMap;
use super::merge::Merger;
use super::recorder::{self, Placement};
use super::rounds::WindowQueue;
use super::{InputSummary, Source};
use crate::format::{Detail, ErasedResolve, Facts, Parcel, Resolved};
use crate::model::{CoreId, Entities, Event, EventBatch, EventKind, Ledger, losses};

/// Limit of the work of one round; the rest waits for the next one. The unit is an event. A loss counts as several, because each
/// closes open slices and is drawn itself. Sound windows of one round stay below the limit.
const ROUND_WEIGHT: usize = 1 << 18;
const LOSS_WEIGHT: usize = 8;

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
    /// Events in order of time, for the next stage.
    batches: Vec<EventBatch>,
    spare_batches: Vec<EventBatch>,
    /// Used parcels, for reuse of their memory.
    pub spare_parcels: Vec<Parcel>,
    is_done: bool,
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
            batches: Vec::new(),
            spare_batches: Vec::new(),
            spare_parcels: Vec::new(),
            is_done: false,
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

    /// Whether all inputs have ended.
    pub fn is_done(&self) -> bool {
        self.is_done
    }

    /// Resolves the decoded windows, as far as the order of time allows.
    pub fn advance(&mut self, queues: &mut [WindowQueue<'_>]) {
        let mut weight = 0;
        while let Some(index) = self.wanted(queues) {
            if weight > ROUND_WEIGHT {
                return;
            }
            let Some(queue) = queues.get_mut(index) else { return };
            let mut batch = self.spare_batches.pop().unwrap_or_default();
            batch.clear();
            let notes = self.notes.get_mut(index).and_then(Option::as_mut);
            batch.judged = notes.is_some().then(Vec::new);
            let mut out = Resolved { entities: &mut self.entities, batch: &mut batch, ledger: &mut self.ledgers[index] };
            if let Some(parcel) = queue.decoded.pop_front() {
                self.spare_parcels.push(self.resolve.resolve(index, queue.bytes, parcel, &mut out));
            } else if queue.is_drained() {
                self.resolve.finish(index, queue.bytes, &mut out);
                queue.ended = true;
            } else {
                // The next windows of this input are being decoded.
                self.spare_batches.push(batch);
                return;
            }
            if let Some(notes) = notes {
                notes.place(&mut batch, &mut self.ledgers[index], queue.ended);
            }
            let beyond = self.clock.apply(&mut batch);
            self.is_beyond_time |= beyond > 0 && beyond == batch.events.len() && self.summaries[index].first.is_none();
            if let Some(all) = self.beyond.get_mut(index) {
                *all += beyond as u64;
            }
            weight += batch.events.len() + LOSS_WEIGHT * batch.losses.len();
            self.count(index, &batch);
            if queues.len() > 1 && queues.get(index).is_some_and(|queue| queue.ended) {
                self.end_cores(index, &mut batch);
            }
            let batch = match &mut self.merger {
                None => batch,
                Some(merger) => {
                    let mut merged = self.spare_batches.pop().unwrap_or_default();
                    merged.clear();
                    merger.push(index, &batch, &mut merged);
                    if queues.get(index).is_some_and(|queue| queue.ended) {
                        merger.end(index, &mut merged);
                    }
                    self.spare_batches.push(batch);
                    merged
                }
            };
            self.batches.push(batch);
        }
        self.is_done = queues.iter().all(|queue| queue.ended);
    }

    /// The input to continue with. With cores to merge it is the one that the others wait for.
    fn wanted(&self, queues: &[WindowQueue<'_>]) -> Option<usize> {
        let held_up =
            self.merger.as_ref().and_then(Merger::wants).filter(|&input| queues.get(input).is_some_and(|queue| !queue.ended));
        held_up.or_else(|| queues.iter().position(|queue| !queue.ended))
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

    /// The events that are ready, in order of time.
    pub fn take_batches(&mut self) -> Vec<EventBatch> {
        std::mem::take(&mut self.batches)
    }

    /// Returns a batch for reuse of its memory.
    pub fn recycle(&mut self, batch: EventBatch) {
        self.spare_batches.push(batch);
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
        let facts = self.facts();
        for (summary, ledger) in self.summaries.iter_mut().zip(self.ledgers) {
            summary.ledger = ledger;
            summary.facts = facts.clone();
        }
        for (summary, (detail, hints)) in self.summaries.iter_mut().zip(self.recorded) {
            summary.facts.details.extend(detail);
            summary.facts.hints.extend(hints);
        }
        self.summaries
    }
}
