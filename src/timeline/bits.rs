//! Event groups: a counter of all bits, and the tasks that set or clear them. The timer task carries out requests of interrupts;
//! a flow leads from the request to its execution.

use super::writer::{Name, Note, NoteValue, SliceName};
use super::{At, Timeline};
use crate::model::{BitsOp, CoreId, ObjectId, Wait, WaitReason};
use crate::track::Flow;

/// Limit of interrupt requests that are followed for one group.
const FOLLOWED_REQUESTS: usize = 64;

/// An event group.
#[derive(Default)]
pub struct BitsState {
    verbs: Option<Verbs>,
    /// Requests of interrupts that were not carried out yet, oldest first: set or clear, the bits, and the flow.
    requests: Vec<(bool, u32, u64)>,
}

/// Names of its operations.
#[derive(Clone, Copy)]
struct Verbs {
    set: Name,
    clear: Name,
    timed_out: Name,
}

impl BitsState {
    /// Drops the pending requests.
    pub fn forget(&mut self) {
        self.requests.clear();
    }

    fn ask(&mut self, sets: bool, bits: u32, flow: u64) {
        if self.requests.len() >= FOLLOWED_REQUESTS {
            self.requests.remove(0);
        }
        self.requests.push((sets, bits, flow));
    }

    fn carry_out(&mut self, sets: bool, bits: u32) -> Option<u64> {
        let position = self.requests.iter().position(|&(asked, asked_bits, _)| (asked, asked_bits) == (sets, bits))?;
        Some(self.requests.remove(position).2)
    }
}

impl Timeline {
    #[allow(clippy::too_many_arguments)]
    pub(super) fn bits_op(&mut self, object: ObjectId, op: BitsOp, bits: u32, after: u32, at: &At<'_>) {
        self.touch_object(object);
        let is_request = matches!(op, BitsOp::RequestSet | BitsOp::RequestClear);
        self.note_isr(is_request, at.core);
        let sets = matches!(op, BitsOp::Set | BitsOp::RequestSet);
        if self.settings.operations
            && !matches!(op, BitsOp::Reported | BitsOp::WaitEnded)
            && let Some(track) = self.context(is_request, at)
        {
            let verbs = self.bits_verbs(object, at);
            let state = &mut self.objects[object.index()].bits;
            let (verb, flow) = match op {
                BitsOp::WaitTimedOut => (verbs.timed_out, None),
                _ if is_request => {
                    let flow = self.writer.flow();
                    state.ask(sets, bits, flow);
                    (if sets { verbs.set } else { verbs.clear }, Some((flow, Flow::Out)))
                }
                _ => (if sets { verbs.set } else { verbs.clear }, state.carry_out(sets, bits).map(|flow| (flow, Flow::In))),
            };
            let note = Note { name: self.words.bits, value: NoteValue::Uint(u64::from(bits)) };
            let notes = if op == BitsOp::WaitTimedOut { &[] } else { std::slice::from_ref(&note) };
            self.writer.instant(track, at.time_ns, SliceName::Name(verb), notes, flow);
        }
        if !is_request {
            self.set_level(object, after, at);
        }
    }

    /// The running task reports the bits that it is about to wait for.
    pub(super) fn waiting_for_bits(&mut self, object: ObjectId, bits: u32, kernel_ticks: u32, core: CoreId, time_ns: u64) {
        if let Some(task) = self.cores[core.index()].current {
            self.tasks[task.index()].awaited = Some(bits);
        }
        self.waiting(Wait { reason: WaitReason::Bits, object: Some(object), kernel_ticks }, core, time_ns);
    }

    fn bits_verbs(&mut self, object: ObjectId, at: &At<'_>) -> Verbs {
        if let Some(verbs) = self.objects[object.index()].bits.verbs {
            return verbs;
        }
        let name = super::layout::object_name(&at.entities.objects[object.index()]);
        let verbs = Verbs {
            set: self.writer.name(&format!("set {name}")),
            clear: self.writer.name(&format!("clear {name}")),
            timed_out: self.writer.name(&format!("time-out of {name}")),
        };
        self.objects[object.index()].bits.verbs = Some(verbs);
        verbs
    }
}
