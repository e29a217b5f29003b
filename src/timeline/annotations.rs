//! Labels and args of the model, converted for the writer.

use super::writer::{Name, SliceName};
use super::{At, Timeline};
use crate::model::{self, Arg, ArgValue, Args, EventBatch, GradeId, LogGrade, LogSeverity, NameId, Tag};
use crate::track::{Annotation, Flow, Grade};

/// The label and args of an event, and the batch that they point into.
#[derive(Clone, Copy)]
pub struct Annotations<'a> {
    pub label: model::Label,
    pub args: Args,
    pub batch: &'a EventBatch,
}

impl<'a> Annotations<'a> {
    /// The text or name, if there is one.
    pub(super) fn text(&self, at: &At<'_>) -> Option<std::borrow::Cow<'a, str>> {
        match self.label.as_name() {
            Some(name) => at.entities.names.get(name.index()).map(|name| name.to_string().into()),
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

/// A grade of the model: the number of the block that used it last, plus one, and its grade there.
pub type KnownGrade = (u64, u8);

/// The most annotations of a log message besides its text, severity and category.
pub const LOG_ARGS: usize = u8::MAX as usize - 3;

/// This bit separates flow numbers of formats from the timeline's own.
const FORMATS_FLOW: u64 = ArgValue::FLOW_LIMIT;

impl Timeline {
    /// A name of the model, as a name of the writer.
    #[inline]
    pub(super) fn name_of(&mut self, name: NameId, at: &At<'_>) -> Name {
        match self.names.get(name.index()) {
            Some(KnownName { name: Some(known), .. }) => *known,
            _ => self.learn_name(name, at),
        }
    }

    #[cold]
    fn learn_name(&mut self, name: NameId, at: &At<'_>) -> Name {
        let text = at.entities.names.get(name.index()).map_or("", |text| text);
        let known = self.writer.name(text);
        if name.index() >= self.names.len() {
            self.names.resize(name.index() + 1, KnownName::default());
        }
        self.names[name.index()].name = Some(known);
        known
    }

    /// The index of a name of the model in the present block.
    #[inline]
    pub(super) fn local_of(&mut self, name: NameId, at: &At<'_>) -> u32 {
        let block = self.writer.block_number() + 1;
        match self.names.get(name.index()) {
            Some(known) if known.block == block => known.local,
            _ => self.learn_local(name, at),
        }
    }

    #[inline(never)]
    fn learn_local(&mut self, name: NameId, at: &At<'_>) -> u32 {
        let known = self.name_of(name, at);
        let local = self.writer.local(known);
        self.names[name.index()] = KnownName { name: Some(known), block: self.writer.block_number() + 1, local };
        local
    }

    /// A label of the model, as a label of the writer; `None` without one.
    #[inline]
    pub(super) fn label_of<'a>(&mut self, annotations: Annotations<'a>, at: &At<'_>) -> Option<SliceName<'a>> {
        match annotations.label.as_name() {
            Some(name) => Some(SliceName::Local(self.local_of(name, at))),
            None if annotations.label.is_none() => None,
            None => Some(SliceName::Text(annotations.batch.texts.get(annotations.label.as_text().unwrap_or_default()))),
        }
    }

    /// A grade of the model in the present block; 0 if the block has too many.
    #[inline]
    pub(super) fn grade_of(&mut self, grade: GradeId, at: &At<'_>) -> u8 {
        match self.grades.get(grade.index()) {
            Some(&(block, local)) if block == self.writer.block_number() + 1 => local,
            _ => self.learn_grade(grade, at),
        }
    }

    #[inline(never)]
    fn learn_grade(&mut self, id: GradeId, at: &At<'_>) -> u8 {
        let Some(&LogGrade { name, severity, category }) = at.entities.grades.get(id.index()) else { return 0 };
        let [name, severity, category] = [name, severity, category].map(|name| self.local_of(name, at));
        let local = self.writer.grade(Grade { name, severity, category });
        if id.index() >= self.grades.len() {
            self.grades.resize(id.index() + 1, (0, 0));
        }
        self.grades[id.index()] = (self.writer.block_number() + 1, local);
        local
    }

    /// Adds the args of an event as annotations of the next event, and returns its flow, if it has one.
    #[inline(always)]
    pub(super) fn write_args(&mut self, args: &[Arg], batch: &EventBatch, at: &At<'_>) -> Option<(u64, Flow)> {
        let mut flow = None;
        for arg in args {
            let (tag, bits) = (arg.tag(), arg.bits());
            match tag {
                tag if tag.is_plain() => {
                    let name = self.local_of(arg.name, at);
                    self.writer.arg(Annotation::of_bits(name, tag, bits));
                }
                Tag::FlowOut => flow = Some((bits | FORMATS_FLOW, Flow::Out)),
                Tag::FlowIn => flow = Some((bits | FORMATS_FLOW, Flow::In)),
                // No arg of an event is a log.
                Tag::Log => {}
                Tag::Category => {
                    let category = self.local_of(NameId(bits as u32), at);
                    self.writer.arg(Annotation::of_bits(category, tag, category.into()));
                }
                _ => {
                    let name = self.local_of(arg.name, at);
                    let bits = match tag {
                        Tag::Name => self.local_of(NameId(bits as u32), at).into(),
                        Tag::Text => self.writer.add_text(batch.texts.get(arg.text().unwrap_or_default())).into(),
                        _ => bits,
                    };
                    self.writer.arg(Annotation::of_bits(name, tag, bits));
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
        LogSeverity::Debug | LogSeverity::User => 3,
        LogSeverity::Info => 4,
        LogSeverity::Warning => 5,
        LogSeverity::Error => 6,
        LogSeverity::Fatal => 7,
    }
}
