//! An event copied out of its batch, with all that it refers to there.

use crate::model::{Arg, Args, Event, EventBatch, EventKind, Label, LogNote, LossNote, TextRef};

/// A text of this size weighs as much as one more held event.
const TEXT_BYTES_PER_EVENT: usize = 64;

/// An event on its own.
pub struct DetachedEvent {
    pub event: Event,
    extra: Option<Box<Extra>>,
}

/// The items that the event refers to in its batch. Their references point into their own texts.
#[derive(Default)]
struct Extra {
    texts: String,
    args: Vec<Arg>,
    loss: Option<LossNote>,
    log: Option<LogNote>,
}

impl DetachedEvent {
    /// Copies an event out of its batch; `None` if it refers to an item that the batch does not have.
    pub fn copy(event: &Event, batch: &EventBatch) -> Option<DetachedEvent> {
        let mut extra = Extra::default();
        let mut event = *event;
        match &mut event.kind {
            EventKind::SpanBegin { label, args, .. }
            | EventKind::Instant { label, args, .. }
            | EventKind::State { label, args, .. } => {
                *label = extra.copy_label(*label, batch);
                extra.copy_args(*args, batch);
            }
            EventKind::SpanEnd { args, .. } => extra.copy_args(*args, batch),
            EventKind::Log(index) => {
                let mut log = *batch.logs.get(*index as usize)?;
                log.name = extra.copy_label(log.name, batch);
                log.body = extra.copy_text(log.body, batch);
                extra.copy_args(log.args, batch);
                extra.log = Some(log);
            }
            EventKind::Loss(index) | EventKind::RecorderNote(index) => extra.loss = Some(*batch.losses.get(*index as usize)?),
            _ => {}
        }
        let is_empty = extra.texts.is_empty() && extra.args.is_empty() && extra.loss.is_none() && extra.log.is_none();
        Some(DetachedEvent { event, extra: (!is_empty).then(|| Box::new(extra)) })
    }

    /// The weight of the event among those that are held.
    pub fn weight(&self) -> usize {
        self.extra.as_ref().map_or(1, |extra| {
            // A grade is two args.
            let grade = if extra.log.is_some_and(|log| log.grade.is_some()) { 2 } else { 0 };
            1 + grade + extra.args.len() + extra.texts.len() / TEXT_BYTES_PER_EVENT
        })
    }

    /// Adds it to another batch.
    pub fn append_to(mut self, batch: &mut EventBatch) {
        if let Some(extra) = self.extra {
            let text = |text: TextRef, batch: &mut EventBatch| batch.texts.add(extra.text(text));
            let relabel = |label: Label, batch: &mut EventBatch| match label.as_text() {
                Some(old) if old.len > 0 => Label::text(text(old, batch)),
                _ => label,
            };
            let mut moved = extra.args.clone();
            for arg in &mut moved {
                if let Some(old) = arg.text() {
                    *arg = Arg::of_text(arg.name, text(old, batch));
                }
            }
            let all: Args = batch.add_args(&moved);
            match &mut self.event.kind {
                EventKind::SpanBegin { label, args, .. }
                | EventKind::Instant { label, args, .. }
                | EventKind::State { label, args, .. } => {
                    *label = relabel(*label, batch);
                    *args = all;
                }
                EventKind::SpanEnd { args, .. } => *args = all,
                EventKind::Log(index) => {
                    let Some(log) = extra.log else { return };
                    let (name, body) = (relabel(log.name, batch), text(log.body, batch));
                    *index = u32::try_from(batch.logs.len()).unwrap_or(u32::MAX);
                    batch.logs.push(LogNote { name, body, args: all, ..log });
                }
                EventKind::Loss(index) | EventKind::RecorderNote(index) => {
                    let Some(loss) = extra.loss else { return };
                    *index = u32::try_from(batch.losses.len()).unwrap_or(u32::MAX);
                    batch.losses.push(loss);
                }
                _ => {}
            }
        }
        batch.events.push(self.event);
    }
}

impl Extra {
    fn text(&self, text: TextRef) -> &str {
        self.texts.get(text.range()).unwrap_or("")
    }

    fn copy_text(&mut self, text: TextRef, batch: &EventBatch) -> TextRef {
        let start = u32::try_from(self.texts.len()).unwrap_or(u32::MAX);
        self.texts.push_str(batch.texts.get(text));
        TextRef { start, len: text.len }
    }

    fn copy_label(&mut self, label: Label, batch: &EventBatch) -> Label {
        match label.as_text() {
            Some(text) if text.len > 0 => Label::text(self.copy_text(text, batch)),
            _ => label,
        }
    }

    fn copy_args(&mut self, args: Args, batch: &EventBatch) {
        for arg in batch.args_of(args) {
            let mut arg = *arg;
            if let Some(text) = arg.text() {
                arg = Arg::of_text(arg.name, self.copy_text(text, batch));
            }
            self.args.push(arg);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{ArgValue, CoreId, LaneId, LogSeverity, NameId, Nanos};

    #[test]
    fn an_event_keeps_its_texts_and_args() {
        let mut batch = EventBatch::default();
        batch.texts.add("earlier text");
        let (label, value) = (batch.texts.add("label"), batch.texts.add("value"));
        let args = [ArgValue::Text(value), ArgValue::Int(-1)].map(|value| Arg::new(NameId(0), value));
        let args = batch.add_args(&args);
        let body = batch.texts.add("body");
        let lane = LaneId(1);
        batch.logs.push(LogNote {
            lane,
            severity: LogSeverity::Info,
            name: NameId(3).into(),
            body,
            source: None,
            grade: None,
            args,
        });
        let kinds =
            [EventKind::Instant { lane, label: label.into(), args }, EventKind::Log(0), EventKind::SpanEnd { lane, args }];
        let events = kinds.map(|kind| Event { time: Nanos(1), core: CoreId(0), kind });
        let mut other = EventBatch::default();
        other.texts.add("something else");
        for event in &events {
            DetachedEvent::copy(event, &batch).unwrap().append_to(&mut other);
        }
        let shown = |args| {
            other
                .args_of(args)
                .iter()
                .map(|arg| match arg.value() {
                    ArgValue::Text(text) => other.texts.get(text).to_owned(),
                    value => format!("{value:?}"),
                })
                .collect::<Vec<_>>()
        };
        let EventKind::Instant { label, args, .. } = other.events[0].kind else { panic!("no instant") };
        assert_eq!(other.texts.get(label.as_text().unwrap()), "label");
        assert_eq!(shown(args), ["value", "Int(-1)"]);
        let EventKind::Log(index) = other.events[1].kind else { panic!("no log") };
        let log = other.logs[index as usize];
        assert_eq!((other.texts.get(log.body), log.name.as_name()), ("body", Some(NameId(3))));
        assert_eq!(shown(log.args), ["value", "Int(-1)"]);
        let EventKind::SpanEnd { args, .. } = other.events[2].kind else { panic!("no end") };
        assert_eq!(shown(args), ["value", "Int(-1)"]);
    }
}
