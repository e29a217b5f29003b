//! Kernel objects and lanes: levels and their high-water marks, holds of mutexes, spans, states and values.

use std::hash::Hash;

use rustc_hash::FxHashMap;

use super::Statistics;
use super::report::Number;
use super::spread::Distribution;
use super::stacks::Frame;
use crate::model::{CoreId, Entities, HeapOp, Label, LaneId, NameId, ObjectId, ObjectOp, TaskId};

/// How many spans of one lane may be open.
const OPEN_SPANS: usize = 512;

/// How many different names of spans and states are counted separately; further ones count for their lane.
const NAMES: usize = 1 << 16;

/// A kernel object.
#[derive(Debug, Default)]
pub(super) struct ObjectState {
    pub(super) sends: u64,
    pub(super) receives: u64,
    /// The highest level, with the time when it was reached first.
    pub(super) high_water: Option<(u32, u64)>,
    /// The level that it has, if that is known.
    level: Option<u32>,
    pub(super) capacity: Option<(u32, u32)>,
    /// Of a mutex: how long it was held.
    pub(super) holds: Distribution,
    /// Since when it is held, if that was seen.
    held_since_ns: Option<u64>,
    pub(super) waits: Distribution,
    /// Who waited longest, and since when.
    pub(super) longest_waiter: Option<(TaskId, u64)>,
    is_touched: bool,
}

/// A lane.
#[derive(Debug, Default)]
pub(super) struct LaneState {
    /// Names and begins of open spans, or of the present state. Spans that began before the part that is counted have no begin.
    open: Vec<(Option<NameId>, Option<u64>)>,
    pub(super) spans: Distribution,
    pub(super) instants: u64,
    /// Log messages, by place in [`super::LOG_SEVERITIES`].
    pub(super) logs: [u64; super::LOG_SEVERITIES.len()],
    pub(super) values: u64,
    pub(super) least: Option<Number>,
    pub(super) greatest: Option<Number>,
    pub(super) last: Option<Number>,
    is_touched: bool,
}

/// Something for each name that occurs on a lane or a machine, in order of first use.
#[derive(Debug)]
pub(super) struct Named<Owner, T> {
    places: FxHashMap<(Owner, NameId), usize>,
    pub(super) all: Vec<((Owner, NameId), T)>,
}

impl<Owner, T> Default for Named<Owner, T> {
    fn default() -> Self {
        Named { places: FxHashMap::default(), all: Vec::new() }
    }
}

impl<Owner: Copy + Eq + Hash + Ord, T: Default> Named<Owner, T> {
    /// That of this name, with its place among all; `None` beyond the limit.
    #[inline]
    pub(super) fn entry(&mut self, owner: Owner, name: NameId) -> Option<(usize, &mut T)> {
        let next = self.all.len();
        let place = match self.places.get(&(owner, name)) {
            Some(&place) => place,
            None if next >= NAMES => return None,
            None => {
                self.places.insert((owner, name), next);
                self.all.push(((owner, name), T::default()));
                next
            }
        };
        self.all.get_mut(place).map(|(_, value)| (place, value))
    }

    /// Those of each owner, by name.
    pub(super) fn by_owner(&self) -> Vec<(Owner, NameId, &T)> {
        let mut all: Vec<_> = self.all.iter().map(|((owner, name), value)| (*owner, *name, value)).collect();
        all.sort_unstable_by_key(|(owner, name, _)| (*owner, *name));
        all
    }
}

/// The operations on the heap.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct HeapState {
    pub(super) allocations: u64,
    pub(super) frees: u64,
    pub(super) failures: u64,
    /// In use, compared with the beginning of the recording, or of the session.
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
        let Some(entity) = entities.objects.get(object.index()).filter(|_| !op.changes_nothing()) else { return };
        let Some(state) = self.touch_object(object) else { return };
        match op {
            ObjectOp::Send | ObjectOp::Overwrite => state.sends += 1,
            ObjectOp::Receive => state.receives += 1,
            _ => {}
        }
        if !entity.kind.is_mutex() {
            // An operation without a level leaves it unknown.
            state.level = None;
            level.into_iter().filter(|_| entity.kind.has_level()).for_each(|level| state.reached(level, time_ns));
            return;
        }
        let held_since_ns = state.held_since_ns.take();
        match op {
            ObjectOp::Receive => state.held_since_ns = Some(time_ns).filter(|_| !entity.giving_is_unrecorded),
            ObjectOp::Send | ObjectOp::Overwrite | ObjectOp::Delete => {
                if let Some(since_ns) = held_since_ns {
                    state.holds.add(time_ns.saturating_sub(since_ns), object.index());
                }
            }
            _ => {}
        }
    }

    /// The level of an object was reported.
    pub(super) fn object_level(&mut self, object: ObjectId, level: u32, time_ns: u64, entities: &Entities) {
        let has_level = entities.objects.get(object.index()).is_some_and(|object| object.kind.has_level());
        if has_level && let Some(state) = self.touch_object(object) {
            state.reached(level, time_ns);
        }
    }

    /// It had a level until here; now it has another one.
    pub(super) fn forget_level(&mut self, object: ObjectId) {
        if let Some(state) = self.objects.get_mut(object.index()) {
            state.forget_level();
        }
    }

    pub(super) fn waited_for(&mut self, object: ObjectId, task: TaskId, begin_ns: u64, waited_ns: u64) {
        if let Some(state) = self.objects.get_mut(object.index())
            && state.waits.add(waited_ns, object.index())
        {
            state.longest_waiter = Some((task, begin_ns));
        }
    }

    /// Nobody is known to hold the mutex from here on.
    pub(super) fn forget_object(&mut self, object: ObjectId) {
        if let Some(state) = self.objects.get_mut(object.index()) {
            (state.held_since_ns, state.level) = (None, None);
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
            state.open.push((label.as_name(), Some(time_ns)));
        }
    }

    pub(super) fn span_end(&mut self, lane: LaneId, time_ns: u64) {
        let Some(state) = self.lanes.get_mut(lane.index()) else { return };
        if let Some((name, Some(since_ns))) = state.open.pop() {
            state.spans.add(time_ns.saturating_sub(since_ns), lane.index());
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
        if let Some((place, spans)) = name.and_then(|name| self.named_spans.entry(lane, name)) {
            spans.add(duration_ns, place);
        }
    }

    /// An instant, or a log message of this severity (a place in [`super::LOG_SEVERITIES`]).
    pub(super) fn lane_instant(&mut self, lane: LaneId, label: Label, severity: Option<usize>) {
        let Some(state) = self.lanes.get_mut(lane.index()) else { return };
        match severity.and_then(|severity| state.logs.get_mut(severity)) {
            Some(count) => *count += 1,
            None => state.instants += 1,
        }
        if let Some((_, count)) = label.as_name().and_then(|name| self.named_instants.entry(lane, name)) {
            *count += 1;
        }
    }

    pub(super) fn lane_value(&mut self, lane: LaneId, value: Number) {
        let Some(state) = self.lanes.get_mut(lane.index()) else { return };
        state.values += 1;
        state.last = Some(value);
        // NaN is neither the least nor the greatest.
        if value.as_f64().is_nan() {
            return;
        }
        if state.least.is_none_or(|least| value < least) {
            state.least = Some(value);
        }
        if state.greatest.is_none_or(|greatest| value > greatest) {
            state.greatest = Some(value);
        }
    }

    /// The lane's next state is unknown.
    pub(super) fn forget_lane(&mut self, lane: LaneId) {
        if let Some(state) = self.lanes.get_mut(lane.index()) {
            state.open.clear();
            state.is_touched = false;
        }
    }

    pub(super) fn heap_op(&mut self, op: HeapOp, address: u64, bytes: u32) {
        let bytes = self.blocks.size(op, address, bytes);
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

impl LaneState {
    /// Resets all counts.
    pub(super) fn begin_part(&mut self) {
        let mut open = std::mem::take(&mut self.open);
        open.iter_mut().for_each(|(_, since_ns)| *since_ns = None);
        *self = LaneState { open, is_touched: self.is_touched, ..LaneState::default() };
    }
}

impl ObjectState {
    /// Resets all counts.
    pub(super) fn begin_part(&mut self, from_ns: u64) {
        let ObjectState { capacity, level, is_touched, .. } = *self;
        let high_water = level.map(|level| (level, from_ns));
        *self = ObjectState { capacity, level, high_water, is_touched, ..ObjectState::default() };
    }

    /// The level that it has is unknown.
    pub(super) fn forget_level(&mut self) {
        self.level = None;
    }

    fn reached(&mut self, level: u32, time_ns: u64) {
        self.level = Some(level);
        if self.high_water.is_none_or(|(highest, _)| level > highest) {
            self.high_water = Some((level, time_ns));
        }
    }
}

/// An interrupt.
#[derive(Debug, Default)]
pub(super) struct IsrState {
    /// From begin to end, with those that interrupted it.
    pub(super) durations: Distribution,
    /// Without them.
    pub(super) self_ns: u64,
    /// Begun without an end that was seen.
    pub(super) unfinished: u64,
}

/// A core.
#[derive(Debug, Default)]
pub(super) struct CoreState {
    pub(super) current: Option<TaskId>,
    /// The handlers that are active, with their begins, except those before the part that is counted.
    pub(super) isr_stack: Vec<(crate::model::IsrId, Option<u64>)>,
    pub(super) accounted_ns: u64,
    pub(super) unknown_ns: u64,
    pub(super) isr_ns: u64,
    pub(super) switches: u64,
    pub(super) number: CoreId,
    /// Records of its recording are missing, up to a loss that is still to come, while others go on.
    pub(super) is_missing: bool,
    /// When the last sample was.
    pub(super) sampled_ns: Option<u64>,
}

impl CoreState {
    /// The core, the task that runs on it, and the interrupts that interrupt it: the frames of its time.
    pub(super) fn frames(&self) -> impl Iterator<Item = Frame> + '_ {
        let task = self.current.map(|task| Frame::Task(task.0));
        let isrs = self.isr_stack.iter().map(|(isr, _)| Frame::Isr(isr.0));
        std::iter::once(Frame::Core(self.number.0)).chain(task).chain(isrs)
    }
}
