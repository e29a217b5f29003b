//! Interrupts: a stack per core, a track per interrupt and core, so that nested and re-entered handlers stay visible.

use super::layout::Group;
use super::writer::{Name, Note, NoteValue, SliceName};
use super::{At, Timeline};
use crate::model::{CoreId, IsrId};
use crate::track::{TrackId, TrackKind};

/// Limit of nested interrupts. No hardware has that many priorities, so deeper nesting means missing exits.
const NESTING_LIMIT: usize = 256;

/// An interrupt, as drawn.
#[derive(Default)]
pub struct IsrState {
    drawn: Option<(TrackId, Name)>,
    /// Whether its begin or end was recorded.
    is_met: bool,
}

impl Timeline {
    pub(super) fn isr_enter(&mut self, isr: IsrId, at: &At<'_>) {
        let (track, name) = self.isr_track(isr, at);
        self.isrs[isr.index()].is_met = true;
        if self.core(at.core).isr_stack.len() >= NESTING_LIMIT {
            self.counts.missing_isr_exits += NESTING_LIMIT as u64;
            self.close_isrs(at.core, at.time_ns, self.words.loss);
        }
        self.core(at.core).isr_stack.push(isr);
        self.writer.begin(track, at.time_ns, SliceName::Name(name), &[], None);
    }

    pub(super) fn isr_exit(&mut self, isr: IsrId, at: &At<'_>) {
        let (track, _) = self.isr_track(isr, at);
        let state = &mut self.cores[at.core.index()];
        let Some(position) = state.isr_stack.iter().rposition(|&active| active == isr) else {
            // It was active before the capture began, or its enter was lost: its begin is unknown.
            let is_met = std::mem::replace(&mut self.isrs[isr.index()].is_met, true);
            if is_met || !self.settings.begins_midway {
                self.counts.unmatched_isr_exits += 1;
            }
            self.writer.instant(track, at.time_ns, SliceName::Name(self.words.exit_without_enter), &[], None);
            return;
        };
        // Handlers above it must have ended: their exits are missing.
        for above in state.isr_stack.split_off(position + 1).into_iter().rev() {
            self.counts.missing_isr_exits += 1;
            self.close_isr(above, at.time_ns, self.words.loss);
        }
        self.core(at.core).isr_stack.pop();
        self.writer.end(track, at.time_ns);
    }

    /// A task is about to wait, so no interrupt can be active on its core. If one seems to be, its exit is missing.
    #[inline]
    pub(super) fn isrs_must_have_ended(&mut self, core: CoreId, time_ns: u64) {
        if !self.cores[core.index()].isr_stack.is_empty() {
            self.counts.missing_isr_exits += self.cores[core.index()].isr_stack.len() as u64;
            self.close_isrs(core, time_ns, self.words.loss);
        }
    }

    fn close_isr(&mut self, isr: IsrId, time_ns: u64, why: Name) {
        if let Some((track, _)) = self.isrs[isr.index()].drawn {
            let note = Note { name: self.words.closed, value: NoteValue::Name(why) };
            self.writer.end_with(track, time_ns, &[note], None);
        }
    }

    /// Ends all active handlers of a core.
    pub(super) fn close_isrs(&mut self, core: CoreId, time_ns: u64, why: Name) {
        while let Some(isr) = self.core(core).isr_stack.pop() {
            self.close_isr(isr, time_ns, why);
        }
        self.core(core).untraced_isr = false;
    }

    #[inline]
    pub(super) fn isr_track(&mut self, isr: IsrId, at: &At<'_>) -> (TrackId, Name) {
        self.isrs[isr.index()].drawn.unwrap_or_else(|| self.new_isr_track(isr, at))
    }

    #[cold]
    fn new_isr_track(&mut self, isr: IsrId, at: &At<'_>) -> (TrackId, Name) {
        let entity = &at.entities.isrs[isr.index()];
        let name = match &entity.name {
            Some(name) if !name.is_empty() => name.to_string(),
            _ => format!("ISR #{}", entity.number),
        };
        let label = if self.settings.cores > 1 { format!("{name} (core {})", entity.core.0) } else { name.clone() };
        let group = self.group(Group::Interrupts);
        // Cores stay together; within a core by number.
        let rank = u32::from(entity.core.0) * 4096 + entity.number.min(4095);
        let track = self.writer.track(Some(group), TrackKind::Slices, label.into(), None, rank);
        let drawn = (track, self.writer.name(&name));
        self.isrs[isr.index()].drawn = Some(drawn);
        drawn
    }
}
