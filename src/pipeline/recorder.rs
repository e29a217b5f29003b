//! The notes of the program that recorded an input, put among its events.
//!
//! A note has an offset in the input, and events have times: a note belongs before the events of the first record at or after its
//! offset. Resolvers say where in a batch the events of a record begin, so the place does not depend on the windows.

use std::collections::VecDeque;

use crate::format::Detail;
use crate::model::{CoreId, Event, EventBatch, EventKind, Ledger, LossNote, Nanos, RecorderNote, RecorderNotes, Severity};

/// The notes of one input that are not placed yet.
pub struct Placement {
    /// In order of their offsets.
    ahead: VecDeque<RecorderNote>,
    /// Their place is before the next event.
    due: Vec<RecorderNote>,
    core: CoreId,
    last: Nanos,
}

impl Placement {
    /// For an input of this length, with this core; `None` if there is nothing to place.
    pub fn new(notes: &[RecorderNote], input_bytes: u64, core: Option<CoreId>) -> Option<Placement> {
        let mut ahead: Vec<RecorderNote> = notes.to_vec();
        ahead.iter_mut().for_each(|note| note.offset = note.offset.min(input_bytes));
        ahead.sort_by_key(|note| note.offset);
        let core = core.unwrap_or_default();
        (!ahead.is_empty()).then(|| Placement { ahead: ahead.into(), due: Vec::new(), core, last: Nanos(0) })
    }

    /// Puts notes into the next batch of the input, which has the records that were judged, and enters them into its ledger.
    /// `has_ended`: it is the last batch.
    pub fn place(&mut self, batch: &mut EventBatch, ledger: &mut Ledger, has_ended: bool) {
        let judged = batch.judged.take().unwrap_or_default();
        let end = batch.events.len();
        let mut placed: Vec<(usize, RecorderNote)> = Vec::new();
        if end > 0 {
            placed.extend(self.due.drain(..).map(|note| (0, note)));
        }
        for record in judged {
            while let Some(note) = self.ahead.pop_front_if(|note| note.offset <= record.offset) {
                if record.event < end {
                    placed.push((record.event, note));
                } else {
                    self.due.push(note);
                }
            }
        }
        if has_ended {
            placed.extend(self.due.drain(..).chain(self.ahead.drain(..)).map(|note| (end, note)));
        }
        if !placed.is_empty() {
            self.insert(placed, batch, ledger);
        }
        self.last = batch.events.last().map_or(self.last, |event| event.time);
    }

    fn insert(&self, placed: Vec<(usize, RecorderNote)>, batch: &mut EventBatch, ledger: &mut Ledger) {
        let before = std::mem::take(&mut batch.events);
        let mut events = Vec::with_capacity(before.len() + placed.len());
        let mut copied = 0;
        for (index, note) in placed {
            events.extend_from_slice(before.get(copied..index).unwrap_or(&[]));
            copied = copied.max(index);
            let next = before.get(index).or(before.last()).map_or(self.last, |event| event.time);
            let RecorderNote { kind, offset, count, bytes, .. } = note;
            let number = u32::try_from(batch.losses.len()).unwrap_or(u32::MAX);
            batch.losses.push(LossNote { kind, offset, bytes, at_least_lost: 0 });
            ledger.enter_cases(kind, Some(offset), count, 0);
            let is_loss = kind.severity == Severity::Loss;
            let kind = if is_loss { EventKind::Loss(number) } else { EventKind::RecorderNote(number) };
            events.push(Event { time: next, core: self.core, kind });
        }
        events.extend_from_slice(before.get(copied..).unwrap_or(&[]));
        batch.events = events;
    }
}

/// The facts that the notes hold about the recording, for the report: where it is from, and hints.
pub fn facts(recorder: &RecorderNotes) -> (Option<Detail>, Vec<String>) {
    let detail = recorder.source.as_ref().map(|source| Detail {
        name: "source",
        value: source.clone(),
        source: "noted by the recorder".into(),
    });
    (detail, recorder.hints.clone())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{TaskId, losses};

    /// Events at these times, and records: offset, and number of the event that they begin with.
    fn batch(times: &[u64], records: &[(u64, usize)]) -> EventBatch {
        let event = |&time: &u64| Event { time: Nanos(time), core: CoreId(0), kind: EventKind::TaskCreated(TaskId(0)) };
        let judged = records.iter().map(|&(offset, event)| crate::model::Judged { offset, time: None, event });
        EventBatch { events: times.iter().map(event).collect(), judged: Some(judged.collect()), ..EventBatch::default() }
    }

    /// The times of all events, those of notes negative.
    fn times(batches: &[EventBatch]) -> Vec<i64> {
        let is_note = |event: &Event| matches!(event.kind, EventKind::Loss(_) | EventKind::RecorderNote(_));
        let time = |event: &Event| if is_note(event) { -event.time.0.cast_signed() } else { event.time.0.cast_signed() };
        batches.iter().flat_map(|batch| &batch.events).map(time).collect()
    }

    #[test]
    fn notes_come_before_the_events_of_the_record_that_follows() {
        let notes =
            [(losses::RECONNECTED, 12), (losses::SOURCE_SILENT, 30), (losses::DRIVER_OVERRUN, 5), (losses::RECONNECTED, 99)];
        let notes = notes.map(|(kind, offset)| RecorderNote::new(kind, offset));
        let records = [(0, 0), (10, 1), (20, 3), (30, 3)];
        let mut whole = [batch(&[1, 2, 3, 4, 5], &records)];
        let mut ledger = Ledger::default();
        Placement::new(&notes, 40, None).unwrap().place(&mut whole[0], &mut ledger, true);
        let expected = [1, -2, 2, 3, -4, -4, 4, 5, -5];
        assert_eq!(times(&whole), expected);
        assert_eq!(ledger.entries().iter().map(|entry| entry.count).collect::<Vec<_>>(), [1, 2, 1]);
        assert_eq!(whole[0].losses.iter().map(|note| note.offset).collect::<Vec<_>>(), [5, 12, 30, 40]);

        // Cut anywhere: a record may be judged before its events come.
        for cut in 0..=5 {
            let all = [1, 2, 3, 4, 5];
            for early in 0..=records.len() {
                let in_first = |&&(_, event): &&(u64, usize)| event < cut;
                let first: Vec<_> = records.iter().filter(in_first).copied().collect();
                let second: Vec<_> =
                    records.iter().skip(first.len()).map(|&(offset, event)| (offset, event - cut.min(event))).collect();
                let (early, late) = second.split_at(early.min(second.iter().take_while(|record| record.1 == 0).count()));
                let first: Vec<_> = first.into_iter().chain(early.iter().map(|&(offset, _)| (offset, cut))).collect();
                let mut parts = [batch(&all[..cut], &first), batch(&all[cut..], late)];
                let mut placement = Placement::new(&notes, 40, None).unwrap();
                let mut ledger = Ledger::default();
                placement.place(&mut parts[0], &mut ledger, false);
                placement.place(&mut parts[1], &mut ledger, true);
                assert_eq!(times(&parts), expected, "{cut} {}", early.len());
            }
        }
    }

    #[test]
    fn without_notes_there_is_nothing_to_place() {
        assert!(Placement::new(&[], 10, None).is_none());
    }
}
