//! The second ordered stage: events → blocks of track operations.

use super::flow::Consumer;
use super::{EventDetail, Options, range};
use crate::format::Facts;
use crate::model::{Entities, EventBatch, Ledger, losses};
use crate::timeline::{Numbers, Settings, Timeline};
use crate::track::{Block, Track};

/// Draws the events of a recording.
pub struct Drawing {
    timeline: Option<Timeline>,
    /// The numbers that are free, until the timeline has them.
    numbers: Numbers,
    settings: Settings,
    options: Options,
}

impl Consumer for Drawing {
    fn consume(&mut self, batch: &EventBatch, entities: &Entities) {
        let Some(first) = batch.first_time() else { return };
        let (settings, options) = (&self.settings, &self.options);
        let range_ns = || range::absolute(options, first).map(|(from, to)| (from.0, to.0));
        let numbers = &mut self.numbers;
        let timeline = self.timeline.get_or_insert_with(|| {
            Timeline::continuing(Settings { range_ns: range_ns(), ..settings.clone() }, std::mem::take(numbers))
        });
        timeline.consume(batch, entities);
    }

    fn finish(&mut self, _entities: &Entities) {
        if let Some(timeline) = &mut self.timeline {
            timeline.finish();
        }
    }

    fn take_blocks(&mut self) -> Vec<Block> {
        self.timeline.as_mut().map(Timeline::take_blocks).unwrap_or_default()
    }

    fn recycle(&mut self, block: Block) {
        if let Some(timeline) = &mut self.timeline {
            timeline.recycle(block);
        }
    }
}

impl Drawing {
    pub fn new(options: &Options, facts: &Facts, numbers: Numbers) -> Drawing {
        let settings = Settings {
            firmware_name: options.firmware_name.clone(),
            cores: facts.cores,
            operations: options.events != EventDetail::Overview,
            raw_events: options.events == EventDetail::All,
            begins_midway: facts.begins_midway,
            range_ns: None,
        };
        Drawing { timeline: None, numbers, settings, options: options.clone() }
    }

    /// The tracks of tasks and machines as known so far.
    pub fn late_tracks(&mut self, entities: &Entities) -> Vec<Track> {
        self.timeline.as_mut().map(|timeline| timeline.late_tracks(entities)).unwrap_or_default()
    }

    /// The tracks that can be described only at the end, and the numbers that are free. Counts of unmatched records go to the
    /// ledger.
    pub fn end(mut self, entities: &Entities, ledger: Option<&mut Ledger>) -> (Vec<Track>, Numbers) {
        let Some(mut timeline) = self.timeline.take() else {
            self.numbers.end_recording(self.settings.cores, 1);
            return (Vec::new(), self.numbers);
        };
        if let Some(ledger) = ledger {
            let counts = timeline.counts();
            ledger.enter_unplaced(losses::ISR_EXIT_WITHOUT_ENTER, counts.unmatched_isr_exits);
            ledger.enter_unplaced(losses::ISR_EXIT_MISSING, counts.missing_isr_exits);
            ledger.enter_unplaced(losses::SPAN_END_WITHOUT_BEGIN, counts.unmatched_span_ends);
            ledger.enter_unplaced(losses::CALL_WITHOUT_CALLER, counts.orphan_calls);
            ledger.enter_unplaced(losses::OVERLAPPING_CALL, counts.overlapping_calls);
            ledger.enter_unplaced(losses::UNDRAWN_CALL, counts.undrawn_calls);
            ledger.enter_unplaced(losses::SPAN_TOO_DEEP, counts.too_deep_spans);
        }
        let tracks = timeline.late_tracks(entities);
        (tracks, timeline.into_numbers())
    }
}
