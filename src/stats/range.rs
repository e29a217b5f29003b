//! Statistics of a part of a recording. Events before the part are followed and not counted, so that it is known who runs and which
//! waits when the part begins.
//!
//! Times are cut at the borders of the part: the time of tasks that run or are ready there counts from there on, and up to there. A thing with a
//! duration of its own (a run, a wait, an interrupt, a hold, a span, a call) counts if it lies within the part. The level that an object has when the part
//! begins is one of the part's levels.

use super::calls::CoreCalls;
use super::gaps::Gaps;
use super::machines::MachineState;
use super::objects::{CoreState, HeapState, IsrState, LaneState, Named, ObjectState};
use super::stacks::Stacks;
use super::{LOG_SEVERITIES, Statistics};
use crate::model::{CoreId, Entities, Event, EventKind};

/// A part of a recording, in nanoseconds on the trace's axis; both ends belong to it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Part {
    from_ns: u64,
    to_ns: u64,
    has_begun: bool,
    /// Whether the recording began before the part.
    has_past: bool,
    /// Whether a gap leads out of it.
    is_left: bool,
}

impl Part {
    /// Whether a gap that ends then reaches into the part. One before the first event of all has no time, and belongs to the recording's begin.
    pub(super) fn is_reached_by_gap(&self, end_ns: u64) -> bool {
        !self.has_past || end_ns > self.from_ns
    }

    /// Whether a gap that begins then reaches into the part.
    pub(super) fn is_left_by_gap(&self, begin_ns: u64) -> bool {
        begin_ns < self.to_ns
    }
}

impl Statistics {
    /// Counts nothing before and after these times. Before the first event.
    pub fn limit_to(&mut self, from_ns: u64, to_ns: u64) {
        self.part = Some(Part { from_ns, to_ns: to_ns.max(from_ns), has_begun: false, has_past: false, is_left: false });
    }

    /// Whether an event is to be taken.
    #[inline]
    pub(super) fn takes(&mut self, event: &Event, entities: &Entities) -> bool {
        match self.part {
            None => true,
            Some(part) => self.takes_of(part, event, entities),
        }
    }

    fn takes_of(&mut self, part: Part, event: &Event, entities: &Entities) -> bool {
        let (has_begun, is_beyond) = (event.time.0 >= part.from_ns, event.time.0 > part.to_ns);
        let since_ns = self.now_ns;
        if has_begun && !part.has_begun {
            self.part = Some(Part { has_begun, has_past: self.first_ns.is_some(), ..part });
            if self.first_ns.is_some() {
                // A gap reaches back to the event before it, and so across the border.
                match event.kind {
                    EventKind::Loss(_) => self.forget_all(self.now_ns),
                    EventKind::SessionStart(session) if session > self.session => {
                        self.forget_all(self.now_ns);
                        self.forget_calls();
                    }
                    _ => {}
                }
                self.begin_part(part.from_ns);
            }
        }
        if is_beyond && !self.is_over && self.first_ns.is_some() {
            self.end_of_gap(part, since_ns, event);
        }
        if let EventKind::LateObjectLevel { object, level, since } = event.kind
            && is_beyond
            && since.get() <= part.to_ns
        {
            // It was reached in the part, or held at its beginning.
            self.object_level(object, level, since.get().max(part.from_ns), entities);
        }
        self.goes_beyond |= is_beyond;
        !is_beyond
    }

    /// The first events after the part: a gap that ends there, and began then, reaches back into the part.
    fn end_of_gap(&mut self, part: Part, since_ns: u64, event: &Event) {
        let is_left = part.is_left || part.is_left_by_gap(since_ns);
        if let Some(part) = &mut self.part {
            part.is_left = is_left;
        }
        match event.kind {
            EventKind::Loss(_) => {
                // If others went on meanwhile, the part's end counts it.
                let is_missing = self.cores.get(event.core.index()).is_some_and(|core| core.is_missing);
                self.gaps.count += u64::from(!is_missing && is_left);
                self.gaps.add(self.now_ns, part.to_ns);
                self.forget_all(self.now_ns);
            }
            EventKind::SessionStart(session) if session > self.session => {
                self.gaps.add(self.now_ns, part.to_ns);
                self.new_session(session);
            }
            _ => return self.is_over = true,
        }
        self.now_ns = part.to_ns;
    }

    /// Whether a thing that began then began within the part.
    #[inline]
    pub(super) fn is_in_part(&self, begin_ns: u64) -> bool {
        self.part.is_none_or(|part| begin_ns >= part.from_ns)
    }

    /// The recording has ended: the task that runs at the end of the part runs up to there.
    pub(super) fn end_part(&mut self) {
        let Some(part) = self.part else { return };
        if !part.has_begun || self.first_ns.is_none_or(|first_ns| first_ns > part.to_ns) {
            // Nothing of the recording is in the part.
            *self = Statistics::new(self.stacks.is_some());
        } else if self.goes_beyond {
            self.now_ns = part.to_ns;
            self.gaps.count += self.cores.iter().filter(|core| core.is_missing).count() as u64;
        }
    }

    /// Resets all counts, and keeps all states.
    fn begin_part(&mut self, from_ns: u64) {
        for core in 0..self.cores.len() {
            self.account(CoreId(core as u16), from_ns);
        }
        self.first_ns = Some(from_ns);
        self.now_ns = from_ns;
        self.gaps = Gaps::default();
        if self.cores.iter().any(|core| core.is_missing) {
            // Missing events may have changed them.
            self.objects.iter_mut().for_each(ObjectState::forget_level);
            self.machines.iter_mut().for_each(MachineState::forget_fill);
        }
        for core in &mut self.cores {
            let isr_stack = core.isr_stack.iter().map(|&(isr, _)| (isr, None)).collect();
            let CoreState { current, accounted_ns, number, is_missing, .. } = *core;
            *core = CoreState { current, isr_stack, accounted_ns, number, is_missing, ..CoreState::default() };
        }
        self.tasks.iter_mut().for_each(|task| task.begin_part(from_ns));
        self.isrs.iter_mut().for_each(|isr| *isr = IsrState::default());
        self.objects.iter_mut().for_each(|object| object.begin_part(from_ns));
        self.lanes.iter_mut().for_each(LaneState::begin_part);
        self.machines.iter_mut().for_each(|machine| machine.begin_part(from_ns));
        self.named_spans = Named::default();
        self.named_instants = Named::default();
        self.named_steps = Named::default();
        self.functions.clear();
        self.calls.iter_mut().for_each(|calls| *calls = CoreCalls::default());
        self.stacks = self.stacks.is_some().then(Stacks::default);
        self.heap = HeapState::default();
        self.logs = [0; LOG_SEVERITIES.len()];
    }
}
