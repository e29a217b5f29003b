//! What events of lanes bring with them: labels and args of the model, as the writer takes them.

use super::writer::{Label, Name, Note, NoteValue};
use super::{Flow, Timeline};
use crate::model::{self, ArgValue, Args, Entities, EventBatch, LogSeverity, NameId};

/// The label and args of an event, and the batch that they point into.
#[derive(Clone, Copy)]
pub struct What<'a> {
    pub label: model::Label,
    pub args: Args,
    pub batch: &'a EventBatch,
}

impl<'a> What<'a> {
    /// The text or name, if there is one.
    pub fn text(&self, entities: &Entities) -> Option<std::borrow::Cow<'a, str>> {
        match self.label.as_name() {
            Some(name) => entities.names.get(name.index()).map(|name| name.to_string().into()),
            None => self.label.as_text().map(|text| self.batch.texts.get(text)).filter(|text| !text.is_empty()).map(Into::into),
        }
    }
}

/// Flows that formats number are told from the timeline's own by this bit.
const FORMATS_FLOW: u64 = ArgValue::FLOW_LIMIT;

impl Timeline {
    /// A name of the model, as the writer knows it.
    #[inline]
    pub(super) fn name_of(&mut self, name: NameId, entities: &Entities) -> Name {
        match self.names.get(name.index()) {
            Some(Some(known)) => *known,
            _ => self.learn_name(name, entities),
        }
    }

    #[cold]
    fn learn_name(&mut self, name: NameId, entities: &Entities) -> Name {
        let text = entities.names.get(name.index()).map_or("", |text| text);
        let known = self.writer.name(text);
        if name.index() >= self.names.len() {
            self.names.resize(name.index() + 1, None);
        }
        self.names[name.index()] = Some(known);
        known
    }

    /// A label of the model, as the writer takes it; `None` for none.
    #[inline]
    pub(super) fn label_of<'a>(&mut self, what: What<'a>, entities: &Entities) -> Option<Label<'a>> {
        match what.label.as_name() {
            Some(name) => Some(Label::Name(self.name_of(name, entities))),
            None if what.label.is_none() => None,
            None => Some(Label::Text(what.batch.texts.get(what.label.as_text().unwrap_or_default()))),
        }
    }

    /// Adds the args of an event to its notes, and returns its flow, if it has one.
    pub(super) fn push_args(&mut self, notes: &mut Vec<Note>, what: What<'_>, entities: &Entities) -> Option<(u64, Flow)> {
        let mut flow = None;
        for arg in what.batch.args_of(what.args) {
            match self.note_of(arg, what, entities) {
                Ok(note) => notes.push(note),
                Err(found) => flow = Some(found),
            }
        }
        flow
    }

    /// Gives the args of an event to the writer at once, and returns its flow, if it has one.
    pub(super) fn write_args(&mut self, what: What<'_>, entities: &Entities) -> Option<(u64, Flow)> {
        let mut flow = None;
        for arg in what.batch.args_of(what.args) {
            match self.note_of(arg, what, entities) {
                Ok(note) => self.writer.note(note),
                Err(found) => flow = Some(found),
            }
        }
        flow
    }

    /// An arg as a note, or the flow that it tells.
    #[inline]
    fn note_of(&mut self, arg: &model::Arg, what: What<'_>, entities: &Entities) -> Result<Note, (u64, Flow)> {
        let value = match arg.value {
            ArgValue::Uint(value) => NoteValue::Uint(value),
            ArgValue::Int(value) => NoteValue::Int(value),
            ArgValue::Hex(value) => NoteValue::Hex(value),
            ArgValue::Float(value) => NoteValue::Float(value),
            ArgValue::Bool(value) => NoteValue::Bool(value),
            ArgValue::Name(name) => NoteValue::Name(self.name_of(name, entities)),
            ArgValue::Text(text) => NoteValue::Text(self.writer.add_text(what.batch.texts.get(text))),
            ArgValue::FlowOut(number) => return Err((number | FORMATS_FLOW, Flow::Out)),
            ArgValue::FlowIn(number) => return Err((number | FORMATS_FLOW, Flow::In)),
        };
        Ok(Note { name: self.name_of(arg.name, entities), value })
    }

    /// The notes and the flow of an event, in memory that is used again: give it back with [`Timeline::keep_notes`].
    pub(super) fn notes_of(&mut self, what: What<'_>, entities: &Entities) -> (Vec<Note>, Option<(u64, Flow)>) {
        let mut notes = std::mem::take(&mut self.notes);
        notes.clear();
        let flow = self.push_args(&mut notes, what, entities);
        (notes, flow)
    }

    pub(super) fn keep_notes(&mut self, notes: Vec<Note>) {
        self.notes = notes;
    }
}

/// The severity in the viewer's numbers, those of Android's log.
pub fn priority_number(severity: LogSeverity) -> u8 {
    match severity {
        LogSeverity::Unspecified => 0,
        LogSeverity::Verbose => 2,
        LogSeverity::Debug => 3,
        LogSeverity::Info => 4,
        LogSeverity::Warning => 5,
        LogSeverity::Error => 6,
        LogSeverity::Fatal => 7,
    }
}
