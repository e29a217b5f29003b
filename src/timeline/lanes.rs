//! Lanes: spans, instants and values of markers.
//!
//! The firmware's lanes have a track each. The spans of a task's lanes nest on the task's own thread track; a lane whose spans
//! overlap another's there gets a track of its own from then on.

use super::layout::{Group, lane_name};
use super::writer::{Label, Name, Note, NoteValue};
use super::{Timeline, TrackId, TrackKind, Unit};
use crate::model::{Entities, Lane, LaneId, LaneOwner, TaskId};

/// How many spans may be open on one track. The viewer drops what is nested deeper than 512; a thread track also holds waits.
const NESTING_LIMIT: u32 = 500;

/// A lane, as drawn.
#[derive(Default)]
pub struct LaneState {
    track: Option<TrackId>,
    name: Option<Name>,
    /// Open spans on its own track.
    depth: u32,
    /// Listed among those that a gap visits.
    touched: bool,
    /// Its spans overlapped another lane's on the thread track.
    apart: bool,
    /// A span was seen to begin or end.
    is_met: bool,
}

/// A span open on a thread track.
pub struct OpenSpan {
    lane: LaneId,
    /// Its text, kept for spans above another one only: they may have to be drawn in two pieces.
    text: Option<Box<str>>,
}

impl Timeline {
    pub(super) fn span_begin(&mut self, lane: LaneId, text: &str, time_ns: u64, entities: &Entities) {
        let entity = &entities.lanes[lane.index()];
        self.lanes[lane.index()].is_met = true;
        let name = self.lane_label(lane, entity);
        let label = if text.is_empty() { Label::Name(name) } else { Label::Text(text) };
        if let Some((task, thread)) = self.nests_on(lane, entity, entities) {
            let note = Note { name: self.words.marker, value: NoteValue::Name(name) };
            let notes = if text.is_empty() { &[] } else { std::slice::from_ref(&note) };
            self.writer.begin(thread, time_ns, label, notes, None);
            let spans = &mut self.tasks[task.index()].spans;
            let text = (!spans.is_empty() && !text.is_empty()).then(|| text.into());
            spans.push(OpenSpan { lane, text });
            self.touch(task);
            return;
        }
        let track = self.lane_track(lane, entities);
        let state = &mut self.lanes[lane.index()];
        if !state.touched {
            state.touched = true;
            self.touched.lanes.push(lane);
        }
        state.depth = state.depth.saturating_add(1);
        if state.depth > NESTING_LIMIT {
            self.counts.too_deep_spans += 1;
            return;
        }
        self.writer.begin(track, time_ns, label, &[], None);
    }

    pub(super) fn span_end(&mut self, lane: LaneId, time_ns: u64, entities: &Entities) {
        let entity = &entities.lanes[lane.index()];
        if let Some((task, thread)) = self.begun_on(lane, entity, entities) {
            let spans = &mut self.tasks[task.index()].spans;
            if let Some(position) = spans.iter().rposition(|span| span.lane == lane) {
                let above = spans.split_off(position + 1);
                spans.pop();
                return self.end_below(above, task, thread, time_ns, entities);
            }
        }
        let state = &mut self.lanes[lane.index()];
        match (state.depth.checked_sub(1), state.track) {
            (Some(depth), Some(track)) => {
                state.depth = depth;
                if depth < NESTING_LIMIT {
                    self.writer.end(track, time_ns);
                }
            }
            _ if self.settings.begins_midway && !state.is_met => state.is_met = true,
            _ => self.counts.unmatched_span_ends += 1,
        }
    }

    /// Ends a span of a thread track, below those in `above`: these are cut, and go on.
    fn end_below(&mut self, above: Vec<OpenSpan>, task: TaskId, thread: TrackId, time_ns: u64, entities: &Entities) {
        for _ in 0..=above.len() {
            self.writer.end(thread, time_ns);
        }
        for span in above {
            let name = self.lane_label(span.lane, &entities.lanes[span.lane.index()]);
            let label = span.text.as_deref().map_or(Label::Name(name), Label::Text);
            let note = Note { name: self.words.continued, value: NoteValue::Uint(1) };
            self.writer.begin(thread, time_ns, label, &[note], None);
            self.lanes[span.lane.index()].apart = true;
            self.tasks[task.index()].spans.push(span);
        }
    }

    pub(super) fn lane_instant(&mut self, lane: LaneId, text: &str, time_ns: u64, entities: &Entities) {
        let entity = &entities.lanes[lane.index()];
        let name = self.lane_label(lane, entity);
        let label = if text.is_empty() { Label::Name(name) } else { Label::Text(text) };
        if let Some((_, thread)) = self.nests_on(lane, entity, entities) {
            let note = Note { name: self.words.marker, value: NoteValue::Name(name) };
            let notes = if text.is_empty() { &[] } else { std::slice::from_ref(&note) };
            return self.writer.instant(thread, time_ns, label, notes, None);
        }
        let track = self.lane_track(lane, entities);
        self.writer.instant(track, time_ns, label, &[], None);
    }

    pub(super) fn lane_value(&mut self, lane: LaneId, value: i64, time_ns: u64, entities: &Entities) {
        let track = self.lane_track(lane, entities);
        self.writer.counter(track, time_ns, value);
    }

    /// The thread track that the lane's next span nests on, if it does.
    fn nests_on(&mut self, lane: LaneId, entity: &Lane, entities: &Entities) -> Option<(TaskId, TrackId)> {
        let (task, thread) = self.thread_of(lane, entity, entities)?;
        let spans = &self.tasks[task.index()].spans;
        let has_room = spans.len() < NESTING_LIMIT as usize;
        let fits = has_room && (!self.lanes[lane.index()].apart || spans.iter().any(|span| span.lane == lane));
        fits.then_some((task, thread))
    }

    /// The thread track that the lane's last span began on, if it did.
    fn begun_on(&mut self, lane: LaneId, entity: &Lane, entities: &Entities) -> Option<(TaskId, TrackId)> {
        let (task, thread) = self.thread_of(lane, entity, entities)?;
        let begun_there = self.tasks[task.index()].spans.iter().any(|span| span.lane == lane);
        begun_there.then_some((task, thread))
    }

    /// The thread track that the lane's spans may be on.
    fn thread_of(&mut self, lane: LaneId, entity: &Lane, entities: &Entities) -> Option<(TaskId, TrackId)> {
        let LaneOwner::Task(task) = entity.owner else { return None };
        let drawn = self.drawn(task, entities);
        // What is open on the thread track of a task that waits is its wait. And spans end in reverse order: while one is open on
        // the lane's own track, that is where the last one began.
        let fits = !drawn.idle && !self.tasks[task.index()].is_parked() && self.lanes[lane.index()].depth == 0;
        fits.then_some((task, drawn.thread))
    }

    fn lane_label(&mut self, lane: LaneId, entity: &Lane) -> Name {
        if let Some(name) = self.lanes[lane.index()].name {
            return name;
        }
        let name = self.writer.name(&lane_name(entity));
        self.lanes[lane.index()].name = Some(name);
        name
    }

    fn lane_track(&mut self, lane: LaneId, entities: &Entities) -> TrackId {
        if let Some(track) = self.lanes[lane.index()].track {
            return track;
        }
        let entity = &entities.lanes[lane.index()];
        let (kind, group) = match entity.kind {
            crate::model::LaneKind::Events => (TrackKind::Slices, Group::Markers),
            crate::model::LaneKind::Values => (TrackKind::Counter { unit: Unit::None }, Group::Values),
        };
        let owner = match entity.owner {
            LaneOwner::Task(task) => Some(self.drawn(task, entities)).filter(|drawn| !drawn.idle),
            LaneOwner::Firmware => None,
        };
        let parent = match owner {
            Some(drawn) => drawn.process,
            None => self.group(group),
        };
        let track = self.writer.track(Some(parent), kind, lane_name(entity).into(), None, entity.number.saturating_add(1));
        self.lanes[lane.index()].track = Some(track);
        track
    }

    /// Ends the open spans on a lane's own track.
    pub(super) fn close_lane(&mut self, lane: LaneId, time_ns: u64, why: Name) {
        let state = &mut self.lanes[lane.index()];
        state.touched = false;
        let depth = std::mem::take(&mut state.depth);
        if let Some(track) = state.track {
            let note = Note { name: self.words.closed, value: NoteValue::Name(why) };
            for _ in 0..depth.min(NESTING_LIMIT) {
                self.writer.end_with(track, time_ns, &[note], None);
            }
        }
    }

    /// Ends the open spans on a task's thread track.
    pub(super) fn close_spans_of(&mut self, task: TaskId, time_ns: u64, why: Name) {
        let spans = std::mem::take(&mut self.tasks[task.index()].spans);
        if let Some(drawn) = self.tasks[task.index()].drawn {
            let note = Note { name: self.words.closed, value: NoteValue::Name(why) };
            for _ in spans {
                self.writer.end_with(drawn.thread, time_ns, &[note], None);
            }
        }
    }
}
