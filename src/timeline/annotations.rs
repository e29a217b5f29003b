//! Labels and args of the model, converted for the writer.

use super::writer::{Name, SliceName};
use super::{At, Timeline};
use crate::model::{self, Arg, ArgValue, Args, EventBatch, LogSeverity, NameId, Tag};
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

/// Log messages of one kind: the numbers of the names of their severity and category in the model, and of the block; and their grade there.
pub type KnownGrade = ([u64; 4], u8);

/// How many kinds of log messages are known, each at the number of its category.
pub const GRADES: usize = 32;

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
    fn local_of(&mut self, name: NameId, at: &At<'_>) -> u32 {
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

    /// The grade of a log message with these args, for the present block, if they begin with a severity and a category. 0: they do not.
    #[inline]
    pub(super) fn grade_of(&mut self, args: &[Arg], at: &At<'_>) -> u8 {
        let Some([severity, category]) = args.first_chunk::<2>() else { return 0 };
        if (severity.tag(), category.tag()) != (Tag::Name, Tag::Category) {
            return 0;
        }
        let key = [u64::from(severity.name.0), severity.bits(), category.bits(), self.writer.block_number()];
        let (known, grade) = self.grades[category.bits() as usize % GRADES];
        // Not as a block of memory: the processor would wait until it is written.
        let is_other = key.iter().zip(&known).fold(0, |differences, (one, other)| differences | (one ^ other));
        if is_other == 0 && grade > 0 { grade } else { self.learn_grade(key, at) }
    }

    #[inline(never)]
    fn learn_grade(&mut self, key: [u64; 4], at: &At<'_>) -> u8 {
        let [name, severity, category] = [key[0], key[1], key[2]].map(|name| self.local_of(NameId(name as u32), at));
        let grade = self.writer.grade(Grade { name, severity, category });
        self.grades[key[2] as usize % GRADES] = (key, grade);
        grade
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
