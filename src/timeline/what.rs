//! Labels and args of the model, converted for the writer.

use super::Timeline;
use super::writer::{Label, Name};
use crate::model::{self, ArgValue, Args, Entities, EventBatch, LogSeverity, NameId, Tag};
use crate::track::{Arg, Flow};

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

/// A name of the model in the writer.
#[derive(Clone, Copy, Default)]
pub struct KnownName {
    /// Its id in the writer.
    name: Option<Name>,
    /// The number of the block that used it last, plus one.
    block: u64,
    /// Its index there.
    local: u32,
}

/// This bit separates flow numbers of formats from the timeline's own.
const FORMATS_FLOW: u64 = ArgValue::FLOW_LIMIT;

impl Timeline {
    /// A name of the model, as a name of the writer.
    #[inline]
    pub(super) fn name_of(&mut self, name: NameId, entities: &Entities) -> Name {
        match self.names.get(name.index()) {
            Some(KnownName { name: Some(known), .. }) => *known,
            _ => self.learn_name(name, entities),
        }
    }

    #[cold]
    fn learn_name(&mut self, name: NameId, entities: &Entities) -> Name {
        let text = entities.names.get(name.index()).map_or("", |text| text);
        let known = self.writer.name(text);
        if name.index() >= self.names.len() {
            self.names.resize(name.index() + 1, KnownName::default());
        }
        self.names[name.index()].name = Some(known);
        known
    }

    /// The index of a name of the model in the present block.
    #[inline]
    fn local_of(&mut self, name: NameId, entities: &Entities) -> u32 {
        let block = self.writer.block_number() + 1;
        match self.names.get(name.index()) {
            Some(known) if known.block == block => known.local,
            _ => self.learn_local(name, entities),
        }
    }

    #[inline(never)]
    fn learn_local(&mut self, name: NameId, entities: &Entities) -> u32 {
        let known = self.name_of(name, entities);
        let local = self.writer.local(known);
        self.names[name.index()] = KnownName { name: Some(known), block: self.writer.block_number() + 1, local };
        local
    }

    /// A label of the model, as a label of the writer; `None` without one.
    #[inline]
    pub(super) fn label_of<'a>(&mut self, what: What<'a>, entities: &Entities) -> Option<Label<'a>> {
        match what.label.as_name() {
            Some(name) => Some(Label::Local(self.local_of(name, entities))),
            None if what.label.is_none() => None,
            None => Some(Label::Text(what.batch.texts.get(what.label.as_text().unwrap_or_default()))),
        }
    }

    /// Adds the args of an event as annotations of the next event, and returns its flow, if it has one.
    pub(super) fn write_args(&mut self, what: What<'_>, entities: &Entities) -> Option<(u64, Flow)> {
        let mut flow = None;
        for arg in what.batch.args_of(what.args) {
            let (tag, bits) = (arg.tag(), arg.bits());
            match tag {
                Tag::FlowOut => flow = Some((bits | FORMATS_FLOW, Flow::Out)),
                Tag::FlowIn => flow = Some((bits | FORMATS_FLOW, Flow::In)),
                // No arg of an event is a log.
                Tag::Log => {}
                Tag::Category => {
                    let category = self.local_of(NameId(bits as u32), entities);
                    self.writer.arg(Arg::of_bits(category, tag, category.into()));
                }
                _ => {
                    let name = self.local_of(arg.name, entities);
                    let bits = match tag {
                        Tag::Name => self.local_of(NameId(bits as u32), entities).into(),
                        Tag::Text => self.writer.add_text(what.batch.texts.get(arg.text().unwrap_or_default())).into(),
                        _ => bits,
                    };
                    self.writer.arg(Arg::of_bits(name, tag, bits));
                }
            }
        }
        flow
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
