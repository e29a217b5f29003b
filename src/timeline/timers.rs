//! Software timers: a track each, with a slice while the timer is armed and an instant when it expires. A flow leads from the
//! sender of a command to its execution by the timer task.

use std::collections::VecDeque;

use super::writer::{Name, Note, NoteValue, SliceName};
use super::{At, Timeline};
use crate::model::{ObjectId, TimerCommand, TimerOp};
use crate::track::Flow;

/// Limit of commands of one timer that are followed.
const FOLLOWED_COMMANDS: usize = 64;

/// A timer.
#[derive(Default)]
pub struct TimerState {
    /// Whether it restarts when it expires, if known.
    auto_reload: Option<bool>,
    is_armed: bool,
    /// Commands that are not carried out yet, oldest first, with their flows.
    queued: VecDeque<(TimerCommand, u64)>,
}

impl Timeline {
    pub(super) fn timer_op(&mut self, object: ObjectId, op: TimerOp, kernel_ticks: u32, at: &At<'_>) {
        self.touch_object(object);
        match op {
            TimerOp::Reported { auto_reload, is_armed } => {
                let track = self.object_track(object, at);
                let state = &mut self.objects[object.index()].timer;
                state.auto_reload = Some(auto_reload);
                match (std::mem::replace(&mut state.is_armed, is_armed), is_armed) {
                    (false, true) => {
                        let note = Note { name: self.words.period_ticks, value: NoteValue::Uint(u64::from(kernel_ticks)) };
                        self.writer.begin(track, at.time_ns, SliceName::Name(self.words.armed), &[note], None);
                    }
                    (true, false) => self.writer.end(track, at.time_ns),
                    _ => {}
                }
            }
            TimerOp::Create { auto_reload } => {
                let state = &mut self.objects[object.index()];
                state.timer.auto_reload = Some(auto_reload);
                let verb = self.verbs(object, at).create;
                let note = Note { name: self.words.period_ticks, value: NoteValue::Uint(u64::from(kernel_ticks)) };
                self.timer_instant(verb, &[note], None, false, at);
            }
            TimerOp::Queued(command, from_isr) => {
                let flow = self.writer.flow();
                let queued = &mut self.objects[object.index()].timer.queued;
                if queued.len() >= FOLLOWED_COMMANDS {
                    queued.pop_front();
                }
                queued.push_back((command, flow));
                let verb = self.command_name(object, command, "", at);
                self.timer_instant(verb, &[], Some((flow, Flow::Out)), from_isr, at);
            }
            TimerOp::NotQueued(command, from_isr) => {
                let verb = self.command_name(object, command, " failed", at);
                self.timer_instant(verb, &[], None, from_isr, at);
            }
            TimerOp::Done(command) => self.timer_command(object, command, at),
            TimerOp::Expired => {
                let track = self.object_track(object, at);
                self.writer.instant(track, at.time_ns, SliceName::Name(self.words.expired), &[], None);
                let state = &mut self.objects[object.index()].timer;
                if state.auto_reload == Some(false) && std::mem::take(&mut state.is_armed) {
                    self.writer.end(track, at.time_ns);
                }
            }
        }
    }

    fn timer_command(&mut self, object: ObjectId, command: TimerCommand, at: &At<'_>) {
        let track = self.object_track(object, at);
        let state = &mut self.objects[object.index()].timer;
        let position = state.queued.iter().position(|&(queued, _)| queued == command);
        // Commands are carried out in order, so the execution of earlier ones was not recorded.
        let flow = position.and_then(|position| state.queued.drain(..=position).next_back()).map(|(_, flow)| flow);
        let flow = flow.filter(|_| self.settings.operations);
        match command {
            TimerCommand::Start | TimerCommand::Reset | TimerCommand::ChangePeriod => {
                if std::mem::replace(&mut state.is_armed, true) {
                    let flow = flow.map(|flow| (flow, Flow::In));
                    self.writer.instant(track, at.time_ns, SliceName::Name(self.words.restarted), &[], flow);
                } else {
                    self.writer.begin(track, at.time_ns, SliceName::Name(self.words.armed), &[], flow);
                }
            }
            TimerCommand::Stop | TimerCommand::Delete => {
                if std::mem::take(&mut state.is_armed) {
                    self.writer.end(track, at.time_ns);
                }
            }
            TimerCommand::Other => {}
        }
    }

    #[allow(clippy::too_many_arguments)]
    fn timer_instant(&mut self, verb: Name, notes: &[Note], flow: Option<(u64, Flow)>, from_isr: bool, at: &At<'_>) {
        self.note_isr(from_isr, at.core);
        if self.settings.operations
            && let Some(track) = self.context(from_isr, at)
        {
            self.writer.instant(track, at.time_ns, SliceName::Name(verb), notes, flow);
        }
    }

    fn command_name(&mut self, object: ObjectId, command: TimerCommand, suffix: &str, at: &At<'_>) -> Name {
        let verb = match command {
            TimerCommand::Start => "start",
            TimerCommand::Reset => "restart",
            TimerCommand::Stop => "stop",
            TimerCommand::ChangePeriod => "change period of",
            TimerCommand::Delete => "delete",
            TimerCommand::Other => "command",
        };
        let name = super::layout::object_name(&at.entities.objects[object.index()]);
        self.writer.name(&format!("{verb} {name}{suffix}"))
    }

    /// Ends the slice of an armed timer.
    pub(super) fn close_timer(&mut self, object: ObjectId, time_ns: u64, why: Name) {
        let state = &mut self.objects[object.index()];
        state.timer.queued.clear();
        if std::mem::take(&mut state.timer.is_armed)
            && let Some(track) = state.track
        {
            let note = Note { name: self.words.closed, value: NoteValue::Name(why) };
            self.writer.end_with(track, time_ns, &[note], None);
        }
    }
}
