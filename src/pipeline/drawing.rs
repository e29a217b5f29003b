//! The second ordered stage: events → blocks of track operations.

use super::{EventDetail, Options, range};
use crate::format::Facts;
use crate::model::{Entities, EventBatch, Ledger, LossKind, Severity};
use crate::timeline::{Numbers, Settings, Timeline};
use crate::track::{Block, Track};

const fn repair(code: &'static str, text: &'static str) -> LossKind {
    LossKind { code, text, severity: Severity::Repair }
}

const UNMATCHED_ISR_EXIT: LossKind = repair("isr_exit_without_enter", "an interrupt ended that was not seen to begin");
const MISSING_ISR_EXIT: LossKind =
    repair("isr_exit_missing", "the end of an interrupt is missing, told by the end of one below it");
const TOO_DEEP_SPAN: LossKind =
    LossKind { code: "span_too_deep", text: "spans nest deeper than the viewer shows", severity: Severity::Loss };
const ORPHAN_CALL: LossKind = repair("call_without_caller", "a call's caller is missing; it is drawn without it, and marked");
const OVERLAPPING_CALL: LossKind =
    repair("overlapping_call", "a call overlaps others without lying within them; it is drawn on a track of its own");
const UNDRAWN_CALL: LossKind = LossKind {
    code: "undrawn_call",
    text: "calls overlap on more levels, or nest deeper, than is drawn",
    severity: Severity::Loss,
};
const UNMATCHED_SPAN_END: LossKind = repair("span_end_without_begin", "a span ended that was not seen to begin");

/// Draws the events of a recording.
pub struct Drawing {
    timeline: Option<Timeline>,
    /// The numbers that are free, until the timeline has them.
    numbers: Numbers,
    settings: Settings,
    options: Options,
    is_done: bool,
}

impl Drawing {
    pub fn new(options: &Options, facts: &Facts, numbers: Numbers) -> Drawing {
        let settings = Settings {
            firmware_name: options.firmware_name.clone(),
            cores: facts.cores,
            operations: options.events != EventDetail::None,
            raw_events: options.events == EventDetail::All,
            begins_midway: facts.begins_midway,
            range_ns: None,
        };
        Drawing { timeline: None, numbers, settings, options: options.clone(), is_done: false }
    }

    /// Draws batches. `entities` are those of these events; `is_last`: no more batches follow.
    pub fn advance(&mut self, batches: &[EventBatch], entities: &Entities, is_last: bool) {
        for batch in batches {
            let Some(first) = batch.first_time() else { continue };
            let (settings, options) = (&self.settings, &self.options);
            let range_ns = || range::absolute(options, first).map(|(from, to)| (from.0, to.0));
            let numbers = &mut self.numbers;
            let timeline = self.timeline.get_or_insert_with(|| {
                Timeline::continuing(Settings { range_ns: range_ns(), ..settings.clone() }, std::mem::take(numbers))
            });
            timeline.consume(batch, entities);
        }
        if is_last && !self.is_done {
            self.is_done = true;
            if let Some(timeline) = &mut self.timeline {
                timeline.finish();
            }
        }
    }

    /// Whether everything is drawn.
    pub fn is_done(&self) -> bool {
        self.is_done
    }

    /// The blocks that are complete.
    pub fn take_blocks(&mut self) -> Vec<Block> {
        self.timeline.as_mut().map(Timeline::take_blocks).unwrap_or_default()
    }

    /// Returns a block for reuse of its memory.
    pub fn recycle(&mut self, block: Block) {
        if let Some(timeline) = &mut self.timeline {
            timeline.recycle(block);
        }
    }

    /// The tracks that can be described only at the end, and the numbers that are free. Counts of unmatched records go to the
    /// ledger.
    pub fn finish(mut self, entities: &Entities, ledger: Option<&mut Ledger>) -> (Vec<Track>, Numbers) {
        let Some(mut timeline) = self.timeline.take() else {
            self.numbers.end_recording(self.settings.cores, 1);
            return (Vec::new(), self.numbers);
        };
        if let Some(ledger) = ledger {
            let counts = timeline.counts();
            ledger.enter_unplaced(UNMATCHED_ISR_EXIT, counts.unmatched_isr_exits);
            ledger.enter_unplaced(MISSING_ISR_EXIT, counts.missing_isr_exits);
            ledger.enter_unplaced(UNMATCHED_SPAN_END, counts.unmatched_span_ends);
            ledger.enter_unplaced(ORPHAN_CALL, counts.orphan_calls);
            ledger.enter_unplaced(OVERLAPPING_CALL, counts.overlapping_calls);
            ledger.enter_unplaced(UNDRAWN_CALL, counts.undrawn_calls);
            ledger.enter_unplaced(TOO_DEEP_SPAN, counts.too_deep_spans);
        }
        let tracks = timeline.late_tracks(entities);
        (tracks, timeline.into_numbers())
    }
}
