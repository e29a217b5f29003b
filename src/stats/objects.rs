//! Kernel objects and lanes: levels and their high-water marks, holds of mutexes, spans, states and values.

use rustc_hash::FxHashMap;

use super::Statistics;
use super::spread::Spread;
use crate::model::{CoreId, Entities, HeapOp, Label, LaneId, NameId, ObjectId, ObjectOp, TaskId};

/// How many spans of one lane may be open.
const OPEN_SPANS: usize = 512;

/// How many different names of spans and states are told apart; further ones count for their lane.
const NAMES: usize = 1 << 16;

/// A kernel object.
#[derive(Debug, Default)]
pub(super) struct ObjectState {
    pub(super) sends: u64,
    pub(super) receives: u64,
    /// The highest level, with the time when it was reached first.
    pub(super) high_water: Option<(u32, u64)>,
    pub(super) capacity: Option<(u32, u32)>,
    /// Of a mutex: how long it was held.
    pub(super) holds: Spread,
    /// Since when it is held, if that was seen.
    held_since_ns: Option<u64>,
    pub(super) waits: Spread,
    pub(super) longest_waiter: Option<TaskId>,
    is_touched: bool,
}

/// A lane.
#[derive(Debug, Default)]
pub(super) struct LaneState {
    /// Names and begins of open spans, or of the present state.
    open: Vec<(Option<NameId>, u64)>,
    pub(super) spans: Spread,
    pub(super) instants: u64,
    pub(super) values: u64,
    pub(super) least: Option<i64>,
    pub(super) greatest: Option<i64>,
    is_touched: bool,
}

/// Spans and states by lane and name.
pub(super) type NamedSpans = FxHashMap<(LaneId, NameId), Spread>;

/// What was done with the heap.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct HeapState {
    pub(super) allocations: u64,
    pub(super) frees: u64,
    pub(super) failures: u64,
    /// In use, compared with the beginning of the recording.
    pub(super) used_bytes: i64,
    pub(super) high_water_bytes: i64,
}

impl Statistics {
    fn touch_object(&mut self, object: ObjectId) -> Option<&mut ObjectState> {
        let state = self.objects.get_mut(object.index())?;
        if !state.is_touched {
            state.is_touched = true;
            self.touched.objects.push(object);
        }
        Some(state)
    }

    pub(super) fn object_op(&mut self, object: ObjectId, op: ObjectOp, level: Option<u32>, time_ns: u64, entities: &Entities) {
        let is_mutex = entities.objects.get(object.index()).is_some_and(|object| object.kind.is_mutex());
        if op.changes_nothing() {
            return;
        }
        let Some(state) = self.touch_object(object) else { return };
        match op {
            ObjectOp::Send | ObjectOp::Overwrite => state.sends += 1,
            ObjectOp::Receive => state.receives += 1,
            _ => {}
        }
        if !is_mutex {
            level.into_iter().for_each(|level| state.reached(level, time_ns));
            return;
        }
        let held_since_ns = state.held_since_ns.take();
        match op {
            ObjectOp::Receive => state.held_since_ns = Some(time_ns),
            ObjectOp::Send | ObjectOp::Overwrite => {
                if let Some(since_ns) = held_since_ns {
                    state.holds.add(time_ns.saturating_sub(since_ns));
                }
            }
            _ => {}
        }
    }

    /// The level of an object was told.
    pub(super) fn object_level(&mut self, object: ObjectId, level: u32, time_ns: u64, entities: &Entities) {
        let is_mutex = entities.objects.get(object.index()).is_some_and(|object| object.kind.is_mutex());
        if let Some(state) = self.objects.get_mut(object.index()).filter(|_| !is_mutex) {
            state.reached(level, time_ns);
        }
    }

    pub(super) fn waited_for(&mut self, object: ObjectId, task: TaskId, waited_ns: u64) {
        if let Some(state) = self.objects.get_mut(object.index())
            && state.waits.add(waited_ns)
        {
            state.longest_waiter = Some(task);
        }
    }

    /// Nobody is known to hold the mutex from here on.
    pub(super) fn forget_object(&mut self, object: ObjectId) {
        if let Some(state) = self.objects.get_mut(object.index()) {
            state.held_since_ns = None;
            state.is_touched = false;
        }
    }

    fn touch_lane(&mut self, lane: LaneId) -> Option<&mut LaneState> {
        let state = self.lanes.get_mut(lane.index())?;
        if !state.is_touched {
            state.is_touched = true;
            self.touched.lanes.push(lane);
        }
        Some(state)
    }

    pub(super) fn span_begin(&mut self, lane: LaneId, label: Label, time_ns: u64) {
        if let Some(state) = self.touch_lane(lane)
            && state.open.len() < OPEN_SPANS
        {
            state.open.push((label.as_name(), time_ns));
        }
    }

    pub(super) fn span_end(&mut self, lane: LaneId, time_ns: u64) {
        let Some(state) = self.lanes.get_mut(lane.index()) else { return };
        if let Some((name, since_ns)) = state.open.pop() {
            state.spans.add(time_ns.saturating_sub(since_ns));
            self.named_span(lane, name, time_ns.saturating_sub(since_ns));
        }
    }

    pub(super) fn lane_state(&mut self, lane: LaneId, label: Label, time_ns: u64) {
        self.span_end(lane, time_ns);
        if !label.is_none() {
            self.span_begin(lane, label, time_ns);
        }
    }

    fn named_span(&mut self, lane: LaneId, name: Option<NameId>, duration_ns: u64) {
        let Some(name) = name else { return };
        if let Some(spread) = self.named_spans.get_mut(&(lane, name)) {
            spread.add(duration_ns);
        } else if self.named_spans.len() < NAMES {
            self.named_spans.entry((lane, name)).or_default().add(duration_ns);
        }
    }

    pub(super) fn lane_value(&mut self, lane: LaneId, value: i64) {
        let Some(state) = self.lanes.get_mut(lane.index()) else { return };
        state.values += 1;
        state.least = Some(state.least.map_or(value, |least| least.min(value)));
        state.greatest = Some(state.greatest.map_or(value, |greatest| greatest.max(value)));
    }

    /// Nothing tells how the lane goes on.
    pub(super) fn forget_lane(&mut self, lane: LaneId) {
        if let Some(state) = self.lanes.get_mut(lane.index()) {
            state.open.clear();
            state.is_touched = false;
        }
    }

    pub(super) fn heap_op(&mut self, op: HeapOp, address: u64, bytes: u32) {
        let heap = &mut self.heap;
        match op {
            HeapOp::Allocate if address == 0 => heap.failures += 1,
            HeapOp::Allocate => {
                heap.allocations += 1;
                heap.used_bytes = heap.used_bytes.saturating_add(i64::from(bytes));
                heap.high_water_bytes = heap.high_water_bytes.max(heap.used_bytes);
            }
            HeapOp::Free => {
                heap.frees += 1;
                heap.used_bytes = heap.used_bytes.saturating_sub(i64::from(bytes));
            }
        }
    }
}

impl ObjectState {
    fn reached(&mut self, level: u32, time_ns: u64) {
        if self.high_water.is_none_or(|(highest, _)| level > highest) {
            self.high_water = Some((level, time_ns));
        }
    }
}

/// An interrupt.
#[derive(Debug, Default)]
pub(super) struct IsrState {
    /// From begin to end, with those that interrupted it.
    pub(super) durations: Spread,
    /// Without them.
    pub(super) self_ns: u64,
    /// Begun without an end that was seen.
    pub(super) unfinished: u64,
}

/// A core.
#[derive(Debug, Default)]
pub(super) struct CoreState {
    pub(super) current: Option<TaskId>,
    /// The handlers that are active, with their begins.
    pub(super) isr_stack: Vec<(crate::model::IsrId, u64)>,
    pub(super) accounted_ns: u64,
    pub(super) unknown_ns: u64,
    pub(super) isr_ns: u64,
    pub(super) switches: u64,
    pub(super) number: CoreId,
}
