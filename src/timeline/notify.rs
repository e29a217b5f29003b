//! Notifications: from the sender to the task that receives it.

use super::writer::{Name, Note, NoteValue, SliceName};
use super::{At, Timeline};
use crate::model::{CoreId, TaskId, Wait, WaitReason};
use crate::track::Flow;

/// A task's notification being sent.
#[derive(Clone, Copy)]
pub struct Notification {
    pub task: TaskId,
    /// The index of the notification in the task.
    pub index: u32,
    /// Its value afterwards.
    pub value: u32,
}

/// The notifications of one task.
#[derive(Default)]
pub struct NotifyState {
    /// Name of the operation that notifies this task.
    name: Option<Name>,
    /// The last notification that was not received: its index, and its flow.
    sent: Option<(u32, u64)>,
    /// The index by which a stream wakes the task, if it waits for one and this is known.
    pub(super) stream_index: Option<u32>,
    /// The notification wakes the task for a stream: it is drawn as the stream's.
    of_stream: bool,
}

impl NotifyState {
    /// Drops the notifications that were sent.
    pub fn forget(&mut self) {
        self.sent = None;
        self.of_stream = false;
    }
}

impl Timeline {
    /// The running task reports which of its notifications it is about to wait for.
    pub(super) fn waiting_for_notification(&mut self, index: u32, kernel_ticks: u32, core: CoreId, time_ns: u64) {
        if let Some(task) = self.cores[core.index()].current {
            self.tasks[task.index()].awaited = Some(index);
        }
        self.waiting(Wait { reason: WaitReason::Notification, object: None, kernel_ticks }, core, time_ns);
    }

    pub(super) fn notify(&mut self, sent: Notification, from_isr: bool, at: &At<'_>) {
        let Notification { task, index, value } = sent;
        self.note_isr(from_isr, at.core);
        let state = &mut self.tasks[task.index()];
        let waits_on = state.waits_on.and_then(|wait| wait.object);
        let is_woken = state.notified.stream_index.is_none_or(|awaited| awaited == index);
        if is_woken && waits_on.is_some_and(|object| at.entities.objects[object.index()].kind.is_stream()) {
            state.notified.of_stream = true;
            return;
        }
        if !self.settings.operations {
            return;
        }
        let Some(track) = self.context(from_isr, at) else { return };
        let name = self.notify_name(task, at);
        let flow = self.writer.flow();
        self.tasks[task.index()].notified.sent = Some((index, flow));
        let number = |name, value: u32| Note { name, value: NoteValue::Uint(u64::from(value)) };
        let notes = [number(self.words.value, value), number(self.words.index, index)];
        let notes = if index == 0 { &notes[..1] } else { &notes[..] };
        self.writer.instant(track, at.time_ns, SliceName::Name(name), notes, Some((flow, Flow::Out)));
    }

    /// The running task receives its notification, or its wait has timed out.
    pub(super) fn notified(&mut self, index: u32, value: u32, core: CoreId, time_ns: u64) {
        let Some(task) = self.cores[core.index()].current else { return };
        let state = &mut self.tasks[task.index()];
        if std::mem::take(&mut state.notified.of_stream) {
            return;
        }
        let Some((_, flow)) = state.notified.sent.take_if(|(sent, _)| *sent == index) else { return };
        let Some(drawn) = state.drawn.filter(|drawn| !drawn.idle) else { return };
        let note = Note { name: self.words.value, value: NoteValue::Uint(u64::from(value)) };
        self.writer.instant(drawn.thread, time_ns, SliceName::Name(self.words.notified), &[note], Some((flow, Flow::In)));
    }

    fn notify_name(&mut self, task: TaskId, at: &At<'_>) -> Name {
        if let Some(name) = self.tasks[task.index()].notified.name {
            return name;
        }
        let comm = self.drawn(task, at).comm;
        let phrase = format!("notify {}", self.writer.text_of(comm));
        let name = self.writer.name(&phrase);
        self.tasks[task.index()].notified.name = Some(name);
        name
    }
}
