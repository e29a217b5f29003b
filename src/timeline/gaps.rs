//! Losses, resets and the end of the capture. Everything open is closed there and marked; nothing is paired across a gap.

use super::layout::Layout;
use super::sched::Switch;
use super::writer::{Name, Note, NoteValue, SliceName};
use super::{At, Timeline};
use crate::model::{CoreId, LossNote, TaskId};
use crate::track::{PrevState, TrackId, TrackKind};

impl Timeline {
    /// Records are missing between the event before and `time_ns`.
    #[cold]
    pub(super) fn gap(&mut self, note: &LossNote, time_ns: u64) {
        let since_ns = self.now_ns.min(time_ns);
        self.missing(since_ns);
        let since_ns = self.missing_since_ns.take().unwrap_or(since_ns);
        self.gap_end_ns = time_ns;
        let track = self.losses_track();
        let name = self.writer.name(note.kind.text);
        let notes = self.loss_notes(note);
        if since_ns < time_ns && self.has_begun() {
            self.writer.begin(track, since_ns, SliceName::Name(name), &notes, None);
            self.writer.end(track, time_ns);
        } else {
            self.writer.instant(track, time_ns, SliceName::Name(name), &notes, None);
        }
    }

    /// Something happened to the recording that loses nothing: nothing is closed.
    #[cold]
    pub(super) fn recorder_note(&mut self, note: &LossNote, time_ns: u64) {
        let track = self.losses_track();
        let name = self.writer.name(note.kind.text);
        let notes = self.loss_notes(note);
        self.writer.instant(track, time_ns, SliceName::Name(name), &notes, None);
    }

    /// Records of one recording are missing from `since_ns` on, while others continue. What is open may have ended.
    #[cold]
    pub(super) fn missing(&mut self, since_ns: u64) {
        self.missing_since_ns.get_or_insert(since_ns);
        self.gap_end_ns = since_ns;
        self.close_all(since_ns, self.words.loss);
        for core in 0..self.cores.len() {
            self.leave_unknown(CoreId(core as u16), PrevState::Unknown, since_ns);
        }
    }

    fn loss_notes(&self, note: &LossNote) -> Vec<Note> {
        let offset = Note { name: self.words.offset, value: NoteValue::Uint(note.offset) };
        // Events that the target dropped have no bytes, and other bytes are no events.
        let amounts = [(self.words.bytes, note.bytes), (self.words.at_least_lost, note.at_least_lost)];
        let amounts = amounts.into_iter().filter(|(_, value)| *value > 0);
        std::iter::once(offset).chain(amounts.map(|(name, value)| Note { name, value: NoteValue::Uint(value) })).collect()
    }

    /// The target restarted: session `session`.
    #[cold]
    pub(super) fn session_start(&mut self, session: u32, time_ns: u64) {
        if session <= self.session {
            // Another core of the same recording reported it before.
            return;
        }
        let end_ns = self.now_ns;
        self.finish_calls();
        self.close_all(end_ns, self.words.reset);
        for core in 0..self.cores.len() {
            self.leave_unknown(CoreId(core as u16), PrevState::Unknown, end_ns);
            self.cores[core].untraced_isr_track = None;
            self.cores[core].raw_track = None;
        }
        self.session = session;
        self.heap = super::memory::HeapState::default();
        self.machine_words.forget_tracks();
        self.layout = Layout::of_session(session, &mut self.layout);
        let track = self.losses_track();
        self.writer.instant(track, time_ns, SliceName::Name(self.words.reset), &[], None);
    }

    /// The recording of a core ends while others continue. From now on it is unknown which task runs there. A task that stated that it
    /// will wait does.
    #[cold]
    pub(super) fn core_end(&mut self, core: CoreId, at: &At<'_>) {
        self.close_isrs(core, at.time_ns, self.words.end_of_trace);
        let waits = |task: &TaskId| self.tasks[task.index()].scheduling.is_about_to_wait();
        let Some(task) = self.cores[core.index()].current.filter(waits) else {
            return self.leave_unknown(core, PrevState::Unknown, at.time_ns);
        };
        let (prev_state, _) = self.leave(task, at);
        self.core(core).current = None;
        self.switch_to_unknown(core, prev_state, at.time_ns);
    }

    pub(super) fn end(&mut self) {
        let end_ns = self.now_ns;
        self.finish_calls();
        self.close_all(end_ns, self.words.end_of_trace);
        let next_comm = self.words.idle;
        for task in 0..self.tasks.len() {
            self.show_state(TaskId(task as u32), u64::MAX);
        }
        for core in &mut self.cores {
            if core.current.take().is_some() {
                let (prev_state, not_before_ns) = (Some(PrevState::Ready), 0);
                core.rows.switch(Switch { time_ns: end_ns, not_before_ns, prev_state, next_tid: 0, next_prio: 0, next_comm });
            }
        }
    }

    fn has_begun(&self) -> bool {
        self.cores.iter().any(|core| core.rows.started()) || !self.touched.is_empty() || self.now_ns > 0
    }

    fn close_all(&mut self, time_ns: u64, why: Name) {
        for core in 0..self.cores.len() {
            self.close_isrs(CoreId(core as u16), time_ns, why);
        }
        for task in std::mem::take(&mut self.touched.tasks) {
            self.forget(task, time_ns, why);
        }
        for object in std::mem::take(&mut self.touched.objects) {
            self.forget_object(object, time_ns, why);
        }
        for machine in std::mem::take(&mut self.touched.machines) {
            self.forget_machine(machine, time_ns, why);
        }
        for lane in std::mem::take(&mut self.touched.lanes) {
            self.close_lane(lane, time_ns, why);
        }
    }

    fn losses_track(&mut self) -> TrackId {
        if let Some(track) = self.layout.losses {
            return track;
        }
        let text = "Data missing from the capture, with its offset in the input file. Open slices end at the loss.";
        let numbers = &self.layout.numbers;
        let name = if numbers.has_others { format!("Losses of {}", self.settings.firmware_name) } else { "Losses".to_owned() };
        let rank = numbers.recordings;
        let track = self.writer.track(None, TrackKind::Slices, name.into(), Some(text), rank);
        self.layout.losses = Some(track);
        track
    }
}

impl super::Touched {
    fn is_empty(&self) -> bool {
        self.tasks.is_empty() && self.objects.is_empty() && self.machines.is_empty() && self.lanes.is_empty()
    }
}
