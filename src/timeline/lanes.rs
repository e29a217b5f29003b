//! Lanes: spans, instants and values of markers.
//!
//! The firmware's lanes have a track each. The spans of a task's lanes nest on the task's own thread track. A lane whose spans
//! overlap another's there gets a track of its own from then on.

use super::annotations::{Annotations, LOG_ARGS, priority_number};
use super::layout::{Group, lane_name};
use super::writer::{Name, Note, NoteValue, SliceName};
use super::{At, Timeline};
use crate::model::{EventBatch, Lane, LaneId, LaneKind, LaneOwner, LogNote, TaskId};
use crate::track::{NameRef, OpKind, TrackId, TrackKind, Unit};

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
    pub(super) fn span_begin(&mut self, lane: LaneId, annotations: Annotations<'_>, at: &At<'_>) {
        let entity = &at.entities.lanes[lane.index()];
        self.lanes[lane.index()].is_met = true;
        let name = self.lane_label(lane, entity);
        let own = self.label_of(annotations, at);
        let label = own.unwrap_or(SliceName::Name(name));
        if let Some((task, thread)) = self.nests_on(lane, entity, at) {
            let note = Note { name: self.words.marker, value: NoteValue::Name(name) };
            let notes = if own.is_none() { &[] } else { std::slice::from_ref(&note) };
            self.begin_lane(thread, label, notes, annotations, at);
            let spans = &mut self.tasks[task.index()].spans;
            let text = if spans.is_empty() { None } else { annotations.text(at).map(|text| text.into()) };
            spans.push(OpenSpan { lane, text });
            self.touch(task);
            return;
        }
        let track = self.lane_track(lane, at);
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
        self.begin_lane(track, label, &[], annotations, at);
    }

    /// Begins a slice with these annotations and the event's args.
    #[inline]
    fn begin_lane(&mut self, track: TrackId, label: SliceName<'_>, notes: &[Note], annotations: Annotations<'_>, at: &At<'_>) {
        if annotations.args.is_empty() {
            self.writer.begin(track, at.time_ns, label, notes, None);
        } else {
            self.annotated(OpKind::Begin, track, Some(label), notes, annotations, at);
        }
    }

    /// An instant with these annotations and the event's args.
    #[allow(clippy::too_many_arguments)]
    #[inline(never)]
    fn annotated(
        &mut self,
        kind: OpKind,
        track: TrackId,
        label: Option<SliceName<'_>>,
        more: &[Note],
        annotations: Annotations<'_>,
        at: &At<'_>,
    ) {
        let start = self.writer.notes_start();
        let flow = self.write_args(annotations.batch.args_of(annotations.args), annotations.batch, at);
        more.iter().for_each(|&note| self.writer.note(note));
        self.writer.event_since(start, kind, track, at.time_ns, label, flow);
    }

    /// A lane takes another state.
    pub(super) fn lane_state(&mut self, lane: LaneId, annotations: Annotations<'_>, at: &At<'_>) {
        let track = self.lane_track(lane, at);
        let label = self.label_of(annotations, at);
        let state = &mut self.lanes[lane.index()];
        if std::mem::take(&mut state.depth) > 0 {
            self.writer.end(track, at.time_ns);
        }
        let Some(label) = label else { return };
        let state = &mut self.lanes[lane.index()];
        state.depth = 1;
        if !state.touched {
            state.touched = true;
            self.touched.lanes.push(lane);
        }
        self.begin_lane(track, label, &[], annotations, at);
    }

    /// A log message: an instant that is also a row of the viewer's log.
    pub(super) fn log(&mut self, note: &LogNote, batch: &EventBatch, at: &At<'_>) {
        let Some(entity) = at.entities.lanes.get(note.lane.index()) else { return };
        let track = self.lane_track(note.lane, at);
        // As a rule it is that of many messages.
        let name = note.name.as_name().map(|name| self.local_of(name, at));
        let body = self.writer.add_text(batch.texts.get(note.body));
        let source = note.source.and_then(|id| Some((id, at.entities.sources.get(id.index())?)));
        let source = source.map_or(0, |(id, source)| self.writer.add_source(id, source).saturating_add(1));
        let start = self.writer.notes_start();
        // First, so that it is present whatever the number of args.
        let grade = note.grade.map_or(0, |grade| self.grade_of(grade, at));
        self.writer.log(body, source, priority_number(note.severity), grade);
        let mut args = batch.args_of(note.args);
        if grade > 0 {
            args = args.get(..LOG_ARGS).unwrap_or(args);
        } else if let Some(grade) = note.grade.and_then(|grade| at.entities.grades.get(grade.index())) {
            // The block has too many.
            self.write_args(&grade.args(), batch, at);
        }
        let flow = self.write_args(args, batch, at);
        let name = match (name, note.name.as_text().filter(|text| text.len > 0)) {
            (Some(name), _) => NameRef::interned(name),
            (None, Some(text)) => NameRef::text(self.writer.add_text(batch.texts.get(text))),
            (None, None) => {
                let name = self.lane_label(note.lane, entity);
                NameRef::interned(self.writer.local(name))
            }
        };
        self.writer.named_event_since(start, OpKind::Instant, track, at.time_ns, name, flow);
    }

    pub(super) fn span_end(&mut self, lane: LaneId, annotations: Annotations<'_>, at: &At<'_>) {
        let entity = &at.entities.lanes[lane.index()];
        if let Some((task, thread)) = self.begun_on(lane, entity, at) {
            let spans = &mut self.tasks[task.index()].spans;
            if let Some(position) = spans.iter().rposition(|span| span.lane == lane) {
                let above = spans.split_off(position + 1);
                spans.pop();
                return self.end_below(above, task, thread, annotations, at);
            }
        }
        let state = &mut self.lanes[lane.index()];
        match (state.depth.checked_sub(1), state.track) {
            (Some(depth), Some(track)) => {
                state.depth = depth;
                if depth < NESTING_LIMIT {
                    self.end_lane(track, annotations, at);
                }
            }
            _ if self.settings.begins_midway && !state.is_met => state.is_met = true,
            _ => self.counts.unmatched_span_ends += 1,
        }
    }

    #[inline]
    fn end_lane(&mut self, track: TrackId, annotations: Annotations<'_>, at: &At<'_>) {
        if annotations.args.is_empty() {
            self.writer.end(track, at.time_ns);
        } else {
            self.annotated(OpKind::End, track, None, &[], annotations, at);
        }
    }

    /// Ends a span of a thread track, below those in `above`, which are cut and continue.
    fn end_below(&mut self, above: Vec<OpenSpan>, task: TaskId, thread: TrackId, annotations: Annotations<'_>, at: &At<'_>) {
        for _ in &above {
            self.writer.end(thread, at.time_ns);
        }
        self.end_lane(thread, annotations, at);
        for span in above {
            let name = self.lane_label(span.lane, &at.entities.lanes[span.lane.index()]);
            let label = span.text.as_deref().map_or(SliceName::Name(name), SliceName::Text);
            let note = Note { name: self.words.continued, value: NoteValue::Uint(1) };
            self.writer.begin(thread, at.time_ns, label, &[note], None);
            self.lanes[span.lane.index()].apart = true;
            self.tasks[task.index()].spans.push(span);
        }
    }

    pub(super) fn lane_instant(&mut self, lane: LaneId, annotations: Annotations<'_>, at: &At<'_>) {
        let entity = &at.entities.lanes[lane.index()];
        let name = self.lane_label(lane, entity);
        let own = self.label_of(annotations, at);
        let label = own.unwrap_or(SliceName::Name(name));
        let marker = Note { name: self.words.marker, value: NoteValue::Name(name) };
        let mut notes: &[Note] = &[];
        let track = match self.nests_on(lane, entity, at) {
            Some((_, thread)) => {
                if own.is_some() {
                    notes = std::slice::from_ref(&marker);
                }
                thread
            }
            None => self.lane_track(lane, at),
        };
        if annotations.args.is_empty() {
            self.writer.instant(track, at.time_ns, label, notes, None);
        } else {
            self.annotated(OpKind::Instant, track, Some(label), notes, annotations, at);
        }
    }

    pub(super) fn lane_value(&mut self, lane: LaneId, value: i64, at: &At<'_>) {
        let track = self.lane_track(lane, at);
        self.writer.counter(track, at.time_ns, value);
    }

    pub(super) fn lane_float(&mut self, lane: LaneId, value: f64, at: &At<'_>) {
        let track = self.lane_track(lane, at);
        self.writer.float_counter(track, at.time_ns, value);
    }

    /// The thread track that the lane's next span nests on, if it does.
    fn nests_on(&mut self, lane: LaneId, entity: &Lane, at: &At<'_>) -> Option<(TaskId, TrackId)> {
        let (task, thread) = self.thread_of(lane, entity, at)?;
        let spans = &self.tasks[task.index()].spans;
        let has_room = spans.len() < NESTING_LIMIT as usize;
        let fits = has_room && (!self.lanes[lane.index()].apart || spans.iter().any(|span| span.lane == lane));
        fits.then_some((task, thread))
    }

    /// The thread track that the lane's last span began on, if it did.
    fn begun_on(&mut self, lane: LaneId, entity: &Lane, at: &At<'_>) -> Option<(TaskId, TrackId)> {
        let (task, thread) = self.thread_of(lane, entity, at)?;
        let begun_there = self.tasks[task.index()].spans.iter().any(|span| span.lane == lane);
        begun_there.then_some((task, thread))
    }

    /// The thread track that the lane's spans may be on.
    fn thread_of(&mut self, lane: LaneId, entity: &Lane, at: &At<'_>) -> Option<(TaskId, TrackId)> {
        let LaneOwner::Task(task) = entity.owner else { return None };
        let drawn = self.drawn(task, at);
        // The open slice on the thread track of a waiting task is its wait. And spans end in reverse order: while one is open on
        // the lane's own track, the last one began there.
        let fits =
            !drawn.idle && !self.tasks[task.index()].scheduling.status().is_parked() && self.lanes[lane.index()].depth == 0;
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

    #[inline]
    pub(super) fn lane_track(&mut self, lane: LaneId, at: &At<'_>) -> TrackId {
        match self.lanes[lane.index()].track {
            Some(track) => track,
            None => self.add_lane_track(lane, at),
        }
    }

    #[cold]
    fn add_lane_track(&mut self, lane: LaneId, at: &At<'_>) -> TrackId {
        let entity = &at.entities.lanes[lane.index()];
        let (kind, group) = match entity.kind {
            LaneKind::Events | LaneKind::Log => (TrackKind::Slices, Group::Markers),
            LaneKind::States => (TrackKind::Slices, Group::States),
            LaneKind::Values => (TrackKind::Counter { unit: Unit::None }, Group::Values),
        };
        let parent = match entity.owner {
            LaneOwner::Task(task) => Some(self.drawn(task, at)).filter(|drawn| !drawn.idle).map(|drawn| drawn.process),
            LaneOwner::Group(group) => Some(self.lane_group(group, at)),
            LaneOwner::Firmware => None,
        };
        let rank = entity.number.saturating_add(1);
        let track = if entity.kind == LaneKind::Log {
            let kind = self.log_thread(entity.owner, at);
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
