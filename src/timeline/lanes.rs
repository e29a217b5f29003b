//! Lanes: spans, instants and values of markers.
//!
//! The firmware's lanes have a track each. The spans of a task's lanes nest on the task's own thread track. A lane whose spans
//! overlap another's there gets a track of its own from then on.

use super::Timeline;
use super::layout::{Group, lane_name};
use super::what::{What, priority_number};
use super::writer::{Label, Name, Note, NoteValue};
use crate::model::{Entities, EventBatch, Lane, LaneId, LaneKind, LaneOwner, LogNote, TaskId};
use crate::track::{Arg, OpKind, TrackId, TrackKind, Unit};

/// Limit of open spans on one track. The viewer drops slices nested deeper than 512; a thread track also holds waits.
const NESTING_LIMIT: u32 = 500;

/// A lane, as drawn.
#[derive(Default)]
pub struct LaneState {
    track: Option<TrackId>,
    name: Option<Name>,
    /// Open spans on its own track.
    depth: u32,
    /// In the list of lanes that a gap visits.
    touched: bool,
    /// Its spans overlapped another lane's on the thread track.
    apart: bool,
    /// The begin or end of a span was recorded.
    is_met: bool,
}

/// A span open on a thread track.
pub struct OpenSpan {
    lane: LaneId,
    /// Its text, kept only for spans above another one, which may have to be drawn in two pieces.
    text: Option<Box<str>>,
}

impl Timeline {
    pub(super) fn span_begin(&mut self, lane: LaneId, what: What<'_>, time_ns: u64, entities: &Entities) {
        let entity = &entities.lanes[lane.index()];
        self.lanes[lane.index()].is_met = true;
        let name = self.lane_label(lane, entity);
        let own = self.label_of(what, entities);
        let label = own.unwrap_or(Label::Name(name));
        if let Some((task, thread)) = self.nests_on(lane, entity, entities) {
            let note = Note { name: self.words.marker, value: NoteValue::Name(name) };
            let notes = if own.is_none() { &[] } else { std::slice::from_ref(&note) };
            self.begin_lane(thread, time_ns, label, notes, what, entities);
            let spans = &mut self.tasks[task.index()].spans;
            let text = if spans.is_empty() { None } else { what.text(entities).map(|text| text.into()) };
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
        self.begin_lane(track, time_ns, label, &[], what, entities);
    }

    /// Begins a slice with these annotations and the event's args.
    #[inline]
    fn begin_lane(
        &mut self,
        track: TrackId,
        time_ns: u64,
        label: Label<'_>,
        notes: &[Note],
        what: What<'_>,
        entities: &Entities,
    ) {
        if what.args.is_empty() {
            self.writer.begin(track, time_ns, label, notes, None);
        } else {
            self.annotated(OpKind::Begin, track, time_ns, Some(label), notes, what, entities);
        }
    }

    /// An instant with these annotations and the event's args.
    #[allow(clippy::too_many_arguments)]
    #[inline(never)]
    fn annotated(
        &mut self,
        kind: OpKind,
        track: TrackId,
        time_ns: u64,
        label: Option<Label<'_>>,
        more: &[Note],
        what: What<'_>,
        entities: &Entities,
    ) {
        let start = self.writer.notes_start();
        let flow = self.write_args(what, entities);
        more.iter().for_each(|&note| self.writer.note(note));
        self.writer.event_since(start, kind, track, time_ns, label, flow);
    }

    /// A lane takes another state.
    pub(super) fn lane_state(&mut self, lane: LaneId, what: What<'_>, time_ns: u64, entities: &Entities) {
        let track = self.lane_track(lane, entities);
        let label = self.label_of(what, entities);
        let state = &mut self.lanes[lane.index()];
        if std::mem::take(&mut state.depth) > 0 {
            self.writer.end(track, time_ns);
        }
        let Some(label) = label else { return };
        let state = &mut self.lanes[lane.index()];
        state.depth = 1;
        if !state.touched {
            state.touched = true;
            self.touched.lanes.push(lane);
        }
        self.begin_lane(track, time_ns, label, &[], what, entities);
    }

    /// A log message: an instant that is also a row of the viewer's log.
    pub(super) fn log(&mut self, note: &LogNote, batch: &EventBatch, time_ns: u64, entities: &Entities) {
        let Some(entity) = entities.lanes.get(note.lane.index()) else { return };
        let track = self.lane_track(note.lane, entities);
        let what = What { label: note.name, args: note.args, batch };
        let label = match self.label_of(what, entities) {
            Some(label) => label,
            None => Label::Name(self.lane_label(note.lane, entity)),
        };
        let body = self.writer.add_text(batch.texts.get(note.body));
        let source = note.source.and_then(|id| Some((id, entities.sources.get(id.index())?)));
        let source = source.map_or(0, |(id, source)| self.writer.add_source(id, source).saturating_add(1));
        let start = self.writer.notes_start();
        // First, so that it is present whatever the number of args.
        self.writer.arg(Arg::log(body, source, priority_number(note.severity)));
        let flow = self.write_args(what, entities);
        self.writer.event_since(start, OpKind::Instant, track, time_ns, Some(label), flow);
    }

    pub(super) fn span_end(&mut self, lane: LaneId, what: What<'_>, time_ns: u64, entities: &Entities) {
        let entity = &entities.lanes[lane.index()];
        if let Some((task, thread)) = self.begun_on(lane, entity, entities) {
            let spans = &mut self.tasks[task.index()].spans;
            if let Some(position) = spans.iter().rposition(|span| span.lane == lane) {
                let above = spans.split_off(position + 1);
                spans.pop();
                return self.end_below(above, task, thread, (what, time_ns), entities);
            }
        }
        let state = &mut self.lanes[lane.index()];
        match (state.depth.checked_sub(1), state.track) {
            (Some(depth), Some(track)) => {
                state.depth = depth;
                if depth < NESTING_LIMIT {
                    self.end_lane(track, what, time_ns, entities);
                }
            }
            _ if self.settings.begins_midway && !state.is_met => state.is_met = true,
            _ => self.counts.unmatched_span_ends += 1,
        }
    }

    #[inline]
    fn end_lane(&mut self, track: TrackId, what: What<'_>, time_ns: u64, entities: &Entities) {
        if what.args.is_empty() {
            self.writer.end(track, time_ns);
        } else {
            self.annotated(OpKind::End, track, time_ns, None, &[], what, entities);
        }
    }

    /// Ends a span of a thread track, below those in `above`, which are cut and continue.
    fn end_below(
        &mut self,
        above: Vec<OpenSpan>,
        task: TaskId,
        thread: TrackId,
        (what, time_ns): (What<'_>, u64),
        entities: &Entities,
    ) {
        for _ in &above {
            self.writer.end(thread, time_ns);
        }
        self.end_lane(thread, what, time_ns, entities);
        for span in above {
            let name = self.lane_label(span.lane, &entities.lanes[span.lane.index()]);
            let label = span.text.as_deref().map_or(Label::Name(name), Label::Text);
            let note = Note { name: self.words.continued, value: NoteValue::Uint(1) };
            self.writer.begin(thread, time_ns, label, &[note], None);
            self.lanes[span.lane.index()].apart = true;
            self.tasks[task.index()].spans.push(span);
        }
    }

    pub(super) fn lane_instant(&mut self, lane: LaneId, what: What<'_>, time_ns: u64, entities: &Entities) {
        let entity = &entities.lanes[lane.index()];
        let name = self.lane_label(lane, entity);
        let own = self.label_of(what, entities);
        let label = own.unwrap_or(Label::Name(name));
        let marker = Note { name: self.words.marker, value: NoteValue::Name(name) };
        let mut notes: &[Note] = &[];
        let track = match self.nests_on(lane, entity, entities) {
            Some((_, thread)) => {
                if own.is_some() {
                    notes = std::slice::from_ref(&marker);
                }
                thread
            }
            None => self.lane_track(lane, entities),
        };
        if what.args.is_empty() {
            self.writer.instant(track, time_ns, label, notes, None);
        } else {
            self.annotated(OpKind::Instant, track, time_ns, Some(label), notes, what, entities);
        }
    }

    pub(super) fn lane_value(&mut self, lane: LaneId, value: i64, time_ns: u64, entities: &Entities) {
        let track = self.lane_track(lane, entities);
        self.writer.counter(track, time_ns, value);
    }

    pub(super) fn lane_float(&mut self, lane: LaneId, value: f64, time_ns: u64, entities: &Entities) {
        let track = self.lane_track(lane, entities);
        self.writer.float_counter(track, time_ns, value);
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
        // The open slice on the thread track of a waiting task is its wait. And spans end in reverse order: while one is open on
        // the lane's own track, the last one began there.
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

    pub(super) fn lane_track(&mut self, lane: LaneId, entities: &Entities) -> TrackId {
        if let Some(track) = self.lanes[lane.index()].track {
            return track;
        }
        let entity = &entities.lanes[lane.index()];
        let (kind, group) = match entity.kind {
            LaneKind::Events | LaneKind::Log => (TrackKind::Slices, Group::Markers),
            LaneKind::States => (TrackKind::Slices, Group::States),
            LaneKind::Values => (TrackKind::Counter { unit: Unit::None }, Group::Values),
        };
        let parent = match entity.owner {
            LaneOwner::Task(task) => Some(self.drawn(task, entities)).filter(|drawn| !drawn.idle).map(|drawn| drawn.process),
            LaneOwner::Group(group) => Some(self.lane_group(group, entities)),
            LaneOwner::Firmware => None,
        };
        let rank = entity.number.saturating_add(1);
        let track = if entity.kind == LaneKind::Log {
            let kind = self.log_thread(entity.owner, entities);
            self.writer.track(None, kind, lane_name(entity).into(), None, rank)
        } else {
            let parent = parent.unwrap_or_else(|| self.group(group));
            self.writer.track(Some(parent), kind, lane_name(entity).into(), None, rank)
        };
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
