//! Every event as an instant on a track of its core, for `--detail all`: the whole stream, searchable, beside the other tracks.

use super::annotations::Annotations;
use super::layout::{Group, lane_name, object_name, task_name};
use super::writer::{self, Note, NoteValue};
use super::{At, Timeline};
use crate::model::{
    Args, BitsOp, CoreId, Event, EventBatch, EventKind, HeapOp, Label, Nanos, ObjectOp, PriorityChange, ReportedState, StreamOp,
    TimerOp, WaitReason,
};
use crate::track::{OpKind, TrackId, TrackKind};

/// Below the 512 that the viewer nests.
const INSTANTS_AT_ONCE: u32 = 500;

/// The last instants of a core.
#[derive(Default)]
pub struct RawLast {
    /// The time of the first one that had to be at the same place.
    begin_ns: u64,
    /// The time of the last one, and how many have it.
    time_ns: u64,
    count: u32,
}

impl Timeline {
    pub(super) fn raw_event(&mut self, event: &Event, batch: &EventBatch, at: &At<'_>) {
        let mut subject = match event.kind {
            EventKind::TaskCreated(task)
            | EventKind::TaskDeleted(task)
            | EventKind::SwitchedIn(task)
            | EventKind::Ready { task, .. }
            | EventKind::Relisted(task)
            | EventKind::Suspended(task)
            | EventKind::Resumed { task, .. }
            | EventKind::Priority { task, .. }
            | EventKind::TaskReported { task, .. }
            | EventKind::StackFree { task, .. }
            | EventKind::Notify { task, .. } => Some(("task", task_name(&at.entities.tasks[task.index()]))),
            _ => None,
        };
        let mut number = None;
        let mut annotations = Annotations { label: Label::NONE, args: Args::NONE, batch };
        let word = match event.kind {
            // Drawn on the losses track.
            EventKind::SessionStart(_)
            | EventKind::Loss(_)
            | EventKind::RecorderNote(_)
            | EventKind::LateObjectLevel { .. }
            | EventKind::CoreEnd
            | EventKind::Missing => return,
            EventKind::TaskCreated(_) => "task created",
            EventKind::TaskDeleted(_) => "task deleted",
            EventKind::SwitchedIn(_) => "switched in",
            EventKind::Ready { .. } => "ready",
            EventKind::Relisted(_) => "relisted",
            EventKind::Suspended(_) => "suspended",
            EventKind::Resumed { .. } => "resumed",
            EventKind::Priority { priority, change, .. } => {
                number = Some(("priority", i64::from(priority)));
                match change {
                    PriorityChange::Set => "priority set",
                    PriorityChange::Inherit => "priority inherited",
                    PriorityChange::Disinherit => "priority disinherited",
                    PriorityChange::Reported => "priority",
                    PriorityChange::Base => "base priority",
                }
            }
            EventKind::Waiting(wait) => {
                subject = wait.object.map(|object| ("object", object_name(&at.entities.objects[object.index()])));
                number = Some(("kernel_ticks", i64::from(wait.kernel_ticks)));
                match wait.reason {
                    WaitReason::Delay => "delay",
                    WaitReason::DelayUntil => "delay until",
                    WaitReason::Period => "delay until next period",
                    WaitReason::Receive => "wait to receive",
                    WaitReason::Send => "wait to send",
                    WaitReason::Peek => "wait to peek",
                    WaitReason::Notification => "wait for notification",
                    WaitReason::Bits => "wait for bits",
                    WaitReason::NotRecorded => "wait",
                }
            }
            EventKind::WaitingForBits { object, bits, .. } => {
                subject = Some(("object", object_name(&at.entities.objects[object.index()])));
                number = Some(("bits", i64::from(bits)));
                "wait for bits"
            }
            EventKind::WaitingForNotification { index, .. } => {
                number = Some(("index", i64::from(index)));
                "wait for notification"
            }
            EventKind::TaskReported { state, .. } => match state {
                ReportedState::Ready => "is ready",
                ReportedState::Waiting => "is waiting",
                ReportedState::Suspended => "is suspended",
                ReportedState::Deleted => "is deleted",
            },
            EventKind::StackFree { bytes, .. } => {
                number = Some(("bytes", i64::from(bytes)));
                "least free stack"
            }
            EventKind::Notify { value, .. } => {
                number = Some(("value", i64::from(value)));
                "notify"
            }
            EventKind::Notified { value, .. } => {
                number = Some(("value", i64::from(value)));
                "notified"
            }
            EventKind::Heap { op, bytes, .. } => {
                number = Some(("bytes", i64::from(bytes)));
                if op == HeapOp::Allocate { "malloc" } else { "free" }
            }
            EventKind::Stream { object, op, bytes, .. } => {
                subject = Some(("object", object_name(&at.entities.objects[object.index()])));
                number = Some(("bytes", i64::from(bytes)));
                if op == StreamOp::Send { "send" } else { "receive" }
            }
            EventKind::Bits { object, op, bits, after } => {
                subject = Some(("object", object_name(&at.entities.objects[object.index()])));
                number = Some(("bits", i64::from(if bits == 0 { after } else { bits })));
                match op {
                    BitsOp::Set => "set bits",
                    BitsOp::Clear => "clear bits",
                    BitsOp::RequestSet => "ask to set bits",
                    BitsOp::RequestClear => "ask to clear bits",
                    BitsOp::Reported => "bits",
                    BitsOp::WaitEnded => "wait for bits ended",
                    BitsOp::WaitTimedOut => "wait for bits timed out",
                }
            }
            EventKind::Call { function, depth, .. } => {
                let name =
                    at.entities.functions.get(function.index()).map_or_else(String::new, |function| function.name.to_string());
                subject = Some(("function", name));
                number = Some(("depth", i64::from(depth.max(0))));
                "call ended"
            }
            EventKind::Timer { object, op, kernel_ticks } => {
                subject = Some(("object", object_name(&at.entities.objects[object.index()])));
                number = Some(("kernel_ticks", i64::from(kernel_ticks)));
                match op {
                    TimerOp::Reported { .. } => "timer state",
                    TimerOp::Create { .. } => "create",
                    TimerOp::Queued(..) => "queue timer command",
                    TimerOp::NotQueued(..) => "timer command failed",
                    TimerOp::Done(_) => "timer command",
                    TimerOp::Expired => "timer expired",
                }
            }
            EventKind::Holder { object, .. } => {
                subject = Some(("object", object_name(&at.entities.objects[object.index()])));
                "held"
            }
            EventKind::Depth { object, depth } => {
                subject = Some(("object", object_name(&at.entities.objects[object.index()])));
                number = Some(("depth", i64::from(depth)));
                "nested"
            }
            EventKind::Capacity { object, items, .. } => {
                subject = Some(("object", object_name(&at.entities.objects[object.index()])));
                number = Some(("items", i64::from(items)));
                "capacity"
            }
            EventKind::IsrEnter(isr) | EventKind::IsrExit(isr) => {
                let entity = &at.entities.isrs[isr.index()];
                subject = entity.name.as_ref().map(|name| ("isr", name.to_string()));
                number = Some(("isr_number", i64::from(entity.number)));
                if matches!(event.kind, EventKind::IsrEnter(_)) { "ISR enter" } else { "ISR exit" }
            }
            EventKind::Object { object, op, level, .. } => {
                subject = Some(("object", object_name(&at.entities.objects[object.index()])));
                number = level.get().map(|level| ("level", i64::from(level)));
                match op {
                    ObjectOp::Create => "create",
                    ObjectOp::Send => "send",
                    ObjectOp::Overwrite => "overwrite",
                    ObjectOp::Receive => "receive",
                    ObjectOp::Peek => "peek",
                    ObjectOp::SendFailed => "send failed",
                    ObjectOp::ReceiveFailed => "receive failed",
                    ObjectOp::PeekFailed => "peek failed",
                    ObjectOp::Reset => "reset",
                    ObjectOp::Delete => "delete",
                }
            }
            EventKind::ObjectLevel { object, level } => {
                subject = Some(("object", object_name(&at.entities.objects[object.index()])));
                number = Some(("level", i64::from(level)));
                "level"
            }
            EventKind::Posted { to: machine, signal, .. } => {
                subject = Some(("to", at.entities.machines[machine.index()].name.to_string()));
                annotations = Annotations { label: signal.into(), args: Args::NONE, batch };
                "posted"
            }
            EventKind::Taken { machine, signal, .. } => {
                subject = Some(("machine", at.entities.machines[machine.index()].name.to_string()));
                annotations = Annotations { label: signal.into(), args: Args::NONE, batch };
                "taken"
            }
            EventKind::NotPosted { to, signal, .. } => {
                subject = Some(("machine", at.entities.machines[to.index()].name.to_string()));
                annotations = Annotations { label: signal.into(), args: Args::NONE, batch };
                "not posted"
            }
            EventKind::StepBegin { machine, signal, .. } => {
                subject = Some(("machine", at.entities.machines[machine.index()].name.to_string()));
                annotations = Annotations { label: signal.into(), args: Args::NONE, batch };
                "step begin"
            }
            EventKind::StepEnd { machine, to, .. } => {
                subject = Some(("machine", at.entities.machines[machine.index()].name.to_string()));
                annotations = Annotations { label: to.get().map_or(Label::NONE, Label::name), args: Args::NONE, batch };
                "step end"
            }
            EventKind::InState { machine, state } => {
                subject = Some(("machine", at.entities.machines[machine.index()].name.to_string()));
                annotations = Annotations { label: state.into(), args: Args::NONE, batch };
                "in state"
            }
            EventKind::MachineNote { machine, label } => {
                subject = Some(("machine", at.entities.machines[machine.index()].name.to_string()));
                annotations = Annotations { label: label.into(), args: Args::NONE, batch };
                "step"
            }
            EventKind::Preempted { machine } => {
                subject = Some(("machine", at.entities.machines[machine.index()].name.to_string()));
                "preempted"
            }
            EventKind::Unpreempted { machine } => {
                subject = Some(("machine", at.entities.machines[machine.index()].name.to_string()));
                "goes on"
            }
            EventKind::MachinePriority { machine, priority } => {
                subject = Some(("machine", at.entities.machines[machine.index()].name.to_string()));
                number = Some(("priority", i64::from(priority)));
                "priority"
            }
            EventKind::Publish { signal, .. } => {
                annotations = Annotations { label: signal.into(), args: Args::NONE, batch };
                "publish"
            }
            EventKind::PublishEnd { .. } => "publish end",
            EventKind::SpanBegin { lane, label, args }
            | EventKind::Instant { lane, label, args }
            | EventKind::State { lane, label, args } => {
                subject = Some(("marker", lane_name(&at.entities.lanes[lane.index()])));
                annotations = Annotations { label, args, batch };
                match event.kind {
                    EventKind::Instant { .. } => "instant",
                    EventKind::State { .. } => "state",
                    _ => "span begin",
                }
            }
            EventKind::Log(index) => {
                let Some(note) = batch.logs.get(index as usize) else { return };
                subject = at.entities.lanes.get(note.lane.index()).map(|lane| ("marker", lane_name(lane)));
                annotations = Annotations { label: Label::text(note.body), args: note.args, batch };
                "log"
            }
            EventKind::Float { lane, .. } => {
                subject = Some(("marker", lane_name(&at.entities.lanes[lane.index()])));
                "value"
            }
            EventKind::Sample(code) => {
                let function = at.entities.codes.get(code.index()).and_then(|code| code.stack.last());
                let function = function.and_then(|function| at.entities.functions.get(function.index()));
                subject = function.map(|function| ("function", function.name.to_string()));
                "sample"
            }
            EventKind::SpanEnd { lane, .. } => {
                subject = Some(("marker", lane_name(&at.entities.lanes[lane.index()])));
                "span end"
            }
            EventKind::Value { lane, value } => {
                subject = Some(("marker", lane_name(&at.entities.lanes[lane.index()])));
                number = Some(("value", value.get()));
                "value"
            }
        };
        let start = self.writer.notes_start();
        if let Some((key, value)) = subject {
            let value = NoteValue::Name(self.writer.name(&value));
            let name = self.writer.name(key);
            self.writer.note(Note { name, value });
        }
        if let Some((key, value)) = number {
            let name = self.writer.name(key);
            let value = if key == "value" || value < 0 { NoteValue::Int(value) } else { NoteValue::Uint(value.cast_unsigned()) };
            self.writer.note(Note { name, value });
        }
        if let Some(text) = annotations.text(at) {
            let value = NoteValue::Text(self.writer.add_text(&text));
            let name = self.writer.name("text");
            self.writer.note(Note { name, value });
        }
        if let EventKind::Float { value, .. } = event.kind {
            self.writer.note(Note { name: self.words.value, value: NoteValue::Float(value.get()) });
        }
        if let EventKind::Log(index) = event.kind
            && let Some(grade) = batch.logs.get(index as usize).and_then(|log| at.entities.grades.get(log.grade?.index()))
        {
            self.write_args(&grade.args(), batch, at);
        }
        // An instant here is not the end of a flow.
        self.write_args(annotations.batch.args_of(annotations.args), annotations.batch, at);
        let track = self.raw_track(event.core);
        let label = writer::SliceName::Name(self.writer.name(word));
        let time_ns = self.raw_time(event.core, event.time.0);
        self.writer.event_since(start, OpKind::Instant, track, time_ns, Some(label), None);
    }

    /// The time of a core's next instant. The viewer nests those of one time, so more than it can nest are at the next nanoseconds.
    fn raw_time(&mut self, core: CoreId, time_ns: u64) -> u64 {
        let last = &mut self.core(core).raw_last;
        match time_ns {
            _ if time_ns < last.begin_ns => return time_ns,
            _ if time_ns > last.time_ns => *last = RawLast { begin_ns: time_ns, time_ns, count: 0 },
            _ if last.count >= INSTANTS_AT_ONCE => (last.time_ns, last.count) = (Nanos(last.time_ns).saturating_add(1).0, 0),
            _ => {}
        }
        last.count += 1;
        last.time_ns
    }

    fn raw_track(&mut self, core: CoreId) -> TrackId {
        if let Some(track) = self.cores[core.index()].raw_track {
            return track;
        }
        let group = self.group(Group::Events);
        let name = format!("core {}", core.0);
        let track = self.writer.track(Some(group), TrackKind::Slices, name.into(), None, u32::from(core.0));
        self.core(core).raw_track = Some(track);
        track
    }
}
