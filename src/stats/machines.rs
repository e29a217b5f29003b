//! State machines and active objects: how long their steps take, how long events wait for theirs, and how full their queues get.
//!
//! Events are followed through a queue by their signals as on the timeline: what is taken out is looked for from the front, and what
//! stands before it was lost to sight.

use std::collections::VecDeque;

use super::Statistics;
use super::spread::Distribution;
use crate::model::{EventKind, Level, MachineId, NameId, StepResult};

/// How many events of one queue are followed.
const FOLLOWED_EVENTS: usize = 1024;

/// A machine.
#[derive(Debug, Default)]
pub(super) struct MachineState {
    pub(super) posts: u64,
    pub(super) not_posted: u64,
    pub(super) taken: u64,
    /// From begin to end, with interruptions.
    pub(super) steps: Distribution,
    /// By [`StepResult`].
    pub(super) results: [u64; 3],
    pub(super) preemptions: u64,
    /// The time within steps in which others ran.
    pub(super) preempted_ns: u64,
    /// From being posted to being taken.
    pub(super) queued: Distribution,
    /// From being posted to the end of the step that answers.
    pub(super) responses: Distribution,
    /// The highest fill of the queue, with the time when it was reached first.
    pub(super) high_water: Option<(u32, u64)>,
    /// The fill that it has, if that is known.
    fill: Option<u32>,
    pub(super) priority: Option<u32>,
    /// The events in the queue, oldest first: signal and time of the post, if that was within the part that is counted.
    waiting: VecDeque<(NameId, Option<u64>)>,
    /// The events that were taken and have no step yet.
    in_hand: Option<(NameId, Option<u64>)>,
    step: Option<Step>,
    preempted_since_ns: Option<u64>,
    is_touched: bool,
}

/// A step that has not ended.
#[derive(Clone, Copy, Debug)]
struct Step {
    signal: NameId,
    since_ns: u64,
    posted_ns: Option<u64>,
    /// The time of it in which others ran, so far.
    preempted_ns: u64,
}

impl Statistics {
    /// Takes an event of a machine. Others are ignored.
    pub(super) fn machine_event(&mut self, kind: EventKind, time_ns: u64) {
        match kind {
            EventKind::Posted { to, signal, fill, urgent, .. } => {
                let Some(state) = self.touch_machine(to) else { return };
                state.posts += 1;
                state.reached(fill, time_ns);
                if state.waiting.len() >= FOLLOWED_EVENTS {
                    state.waiting.pop_front();
                }
                let item = (signal, Some(time_ns));
                if urgent { state.waiting.push_front(item) } else { state.waiting.push_back(item) }
            }
            EventKind::NotPosted { to, .. } => {
                if let Some(state) = self.touch_machine(to) {
                    state.not_posted += 1;
                }
            }
            EventKind::Taken { machine, signal, fill } => {
                let Some(state) = self.touch_machine(machine) else { return };
                state.taken += 1;
                state.reached(fill, time_ns);
                state.in_hand = state.pop(signal);
                if let Some((_, Some(posted_ns))) = state.in_hand {
                    state.queued.add(time_ns.saturating_sub(posted_ns), machine.index());
                }
            }
            EventKind::StepBegin { machine, signal, .. } => {
                let Some(state) = self.touch_machine(machine) else { return };
                // The end of a step before it is missing.
                state.preempted_since_ns = None;
                let posted_ns = state.in_hand.take().filter(|(taken, _)| *taken == signal).and_then(|(_, posted_ns)| posted_ns);
                state.step = Some(Step { signal, since_ns: time_ns, posted_ns, preempted_ns: 0 });
            }
            EventKind::StepEnd { machine, result, .. } => self.step_end(machine, result, time_ns),
            EventKind::Preempted { machine } => {
                let Some(state) = self.touch_machine(machine) else { return };
                if state.step.is_some() && state.preempted_since_ns.is_none() {
                    state.preempted_since_ns = Some(time_ns);
                    state.preemptions += 1;
                }
            }
            EventKind::Unpreempted { machine } => {
                if let Some(state) = self.machines.get_mut(machine.index()) {
                    state.go_on(time_ns);
                }
            }
            EventKind::MachinePriority { machine, priority } => {
                if let Some(state) = self.machines.get_mut(machine.index()) {
                    state.priority = Some(priority);
                }
            }
            _ => {}
        }
    }

    fn step_end(&mut self, machine: MachineId, result: StepResult, time_ns: u64) {
        let Some(state) = self.touch_machine(machine) else { return };
        state.go_on(time_ns);
        // Without a beginning it began before a gap.
        let Some(step) = state.step.take() else { return };
        let duration_ns = time_ns.saturating_sub(step.since_ns);
        state.steps.add(duration_ns, machine.index());
        state.preempted_ns += step.preempted_ns;
        state.results[result as usize] += 1;
        if let Some(posted_ns) = step.posted_ns {
            state.responses.add(time_ns.saturating_sub(posted_ns), machine.index());
        }
        if let Some((place, steps)) = self.named_steps.entry(machine, step.signal) {
            steps.add(duration_ns, place);
        }
    }

    fn touch_machine(&mut self, machine: MachineId) -> Option<&mut MachineState> {
        let state = self.machines.get_mut(machine.index())?;
        if !state.is_touched {
            state.is_touched = true;
            self.touched.machines.push(machine);
        }
        Some(state)
    }

    /// The machine's state and the content of its queue are unknown.
    pub(super) fn forget_machine(&mut self, machine: MachineId) {
        if let Some(state) = self.machines.get_mut(machine.index()) {
            state.waiting.clear();
            state.fill = None;
            (state.in_hand, state.step, state.preempted_since_ns, state.is_touched) = (None, None, None, false);
        }
    }
}

impl MachineState {
    pub(super) fn is_seen(&self) -> bool {
        self.posts + self.not_posted + self.taken + self.steps.count() > 0
    }

    /// Nothing has been counted, and steps that began before have no begin.
    pub(super) fn begin_part(&mut self, from_ns: u64) {
        let waiting = std::mem::take(&mut self.waiting);
        *self = MachineState {
            waiting: waiting.into_iter().map(|(signal, _)| (signal, None)).collect(),
            in_hand: self.in_hand.map(|(signal, _)| (signal, None)),
            high_water: self.fill.map(|fill| (fill, from_ns)),
            fill: self.fill,
            priority: self.priority,
            is_touched: self.is_touched,
            ..MachineState::default()
        };
    }

    /// The fill that its queue has is unknown.
    pub(super) fn forget_fill(&mut self) {
        self.fill = None;
    }

    fn reached(&mut self, fill: Level, time_ns: u64) {
        self.fill = fill.get();
        if let Some(fill) = self.fill
            && self.high_water.is_none_or(|(highest, _)| fill > highest)
        {
            self.high_water = Some((fill, time_ns));
        }
    }

    /// The event with this signal that has waited longest.
    fn pop(&mut self, signal: NameId) -> Option<(NameId, Option<u64>)> {
        let position = self.waiting.iter().position(|(waiting, _)| *waiting == signal)?;
        self.waiting.drain(..=position).next_back()
    }

    /// The step goes on, if another ran.
    fn go_on(&mut self, time_ns: u64) {
        if let (Some(since_ns), Some(step)) = (self.preempted_since_ns.take(), &mut self.step) {
            step.preempted_ns += time_ns.saturating_sub(since_ns);
        }
    }
}
