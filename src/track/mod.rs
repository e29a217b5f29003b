//! Track operations: the output of the timeline, and the whole input of the packet writer.
//!
//! Operations are gathered in [`Block`]s. A block is self-contained: every name that its operations use is in its own tables. So
//! blocks can be encoded on any thread and in any order; they are written in the order of their numbers. The end of a block
//! depends only on the number of its operations, never on windows or threads.

use std::sync::Arc;

use crate::model::{Source, Tag, Tagged, TextArena, TextRef};

/// A track of the trace. Also its uuid there; small, counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TrackId(pub u32);

/// One operation on a track.
#[derive(Clone, Copy, Debug)]
pub struct Op {
    /// Time in nanoseconds. Operations come in order of time, except the few that are known late.
    pub time_ns: u64,
    /// The counter's value for [`OpKind::Counter`] and [`OpKind::FloatCounter`], else the flow (see [`Op::flow`]), 0 without a
    /// flow.
    pub value: i64,
    /// Its track.
    pub track: TrackId,
    /// The slice's or instant's name.
    pub name: NameRef,
    /// The index of its first annotation in [`Block::args`].
    pub args_start: u32,
    /// The number of its annotations.
    pub args_len: u8,
    /// The kind of operation.
    pub kind: OpKind,
    /// The meaning of `value` in slices and instants.
    pub flow: Flow,
}

/// The kind of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpKind {
    /// A slice begins. Has a name.
    Begin,
    /// The innermost open slice of the track ends. Has no name.
    End,
    /// An instant. Has a name.
    Instant,
    /// A counter takes a value.
    Counter,
    /// A counter takes a value with a fraction, whose bits are in `value`.
    FloatCounter,
    /// A track comes into being: `value` is an index into [`Block::tracks`].
    Describe,
}

/// The role of a slice or instant in a flow whose id is in `value`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// No flow.
    None,
    /// The flow starts or goes on here.
    Out,
    /// The flow ends here.
    In,
    /// No flow: `value` is the event's place in the source code, one more than an index into [`Block::sources`].
    Source,
}

/// A name: absent, one of [`Block::names`], or one of [`Block::text_refs`]. Packed to keep [`Op`] small.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct NameRef(u32);

/// The target of a [`NameRef`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NameKind {
    /// No name.
    None,
    /// An index into [`Block::names`].
    Interned(u32),
    /// A text of the capture itself: an index into [`Block::text_refs`].
    Text(u32),
}

impl NameRef {
    /// No name.
    pub const NONE: NameRef = NameRef(0);
    /// This bit marks texts.
    const TEXT: u32 = 1 << 31;
    /// Indexes from here on are invalid: no block has that many names.
    const END: u32 = Self::TEXT - 1;

    /// One of [`Block::names`].
    #[must_use]
    #[inline]
    pub const fn interned(index: u32) -> NameRef {
        NameRef(if index < Self::END { index + 1 } else { Self::END })
    }

    /// One of [`Block::text_refs`].
    #[must_use]
    #[inline]
    pub const fn text(index: u32) -> NameRef {
        NameRef(Self::TEXT | if index < Self::END { index } else { Self::END })
    }

    /// Whether it is one of [`Block::text_refs`].
    #[must_use]
    #[inline]
    pub const fn is_text(self) -> bool {
        self.0 >= Self::TEXT
    }

    /// The index of a text, or one more than that of a name; 0 for no name. So finding its place in a table takes no branch.
    #[must_use]
    #[inline]
    pub const fn number(self) -> u32 {
        self.0 & !Self::TEXT
    }

    /// The kind of name.
    #[must_use]
    pub const fn kind(self) -> NameKind {
        match (self.is_text(), self.number()) {
            (true, index) => NameKind::Text(index),
            (false, 0) => NameKind::None,
            (false, number) => NameKind::Interned(number - 1),
        }
    }
}

impl std::fmt::Debug for NameRef {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.kind().fmt(formatter)
    }
}

/// A typed annotation on a slice or instant; its name is an index into [`Block::names`]. [`AnnotationValue::Category`] and
/// [`AnnotationValue::Log`] are not annotations, and their name is ignored.
pub type Annotation = Tagged<u32>;

impl Annotation {
    /// An annotation.
    #[must_use]
    pub fn new(name: u32, value: AnnotationValue) -> Annotation {
        let (tag, bits) = match value {
            AnnotationValue::Uint(value) => (Tag::Uint, value),
            AnnotationValue::Int(value) => (Tag::Int, value.cast_unsigned()),
            AnnotationValue::Hex(value) => (Tag::Hex, value),
            AnnotationValue::Float(value) => (Tag::Float, value.to_bits()),
            AnnotationValue::Bool(value) => (Tag::Bool, u64::from(value)),
            AnnotationValue::Name(name) => (Tag::Name, name.into()),
            AnnotationValue::Text(text) => (Tag::Text, text.into()),
            AnnotationValue::Category(name) => (Tag::Category, name.into()),
            AnnotationValue::Log { body, source, priority, grade } => return Annotation::log(body, source, priority, grade),
        };
        Annotation::of_bits(name, tag, bits)
    }

    /// Makes an event a log message; see [`AnnotationValue::Log`].
    #[inline]
    #[must_use]
    pub fn log(body: u32, source: u32, priority: u8, grade: u8) -> Annotation {
        let name = u32::from(priority) | u32::from(grade) << 8;
        Annotation::of_bits(name, Tag::Log, u64::from(body) | u64::from(source) << 32)
    }

    /// The grade of a log message; see [`AnnotationValue::Log`].
    #[inline]
    pub(crate) fn grade(&self) -> usize {
        (self.name >> 8 & 0xFF) as usize
    }

    /// Its value.
    #[inline]
    #[must_use]
    pub fn value(&self) -> AnnotationValue {
        let bits = self.bits();
        match self.tag() {
            // Flows are no annotations.
            Tag::Uint | Tag::FlowOut | Tag::FlowIn => AnnotationValue::Uint(bits),
            Tag::Int => AnnotationValue::Int(bits.cast_signed()),
            Tag::Hex => AnnotationValue::Hex(bits),
            Tag::Float => AnnotationValue::Float(f64::from_bits(bits)),
            Tag::Bool => AnnotationValue::Bool(bits != 0),
            Tag::Name => AnnotationValue::Name(bits as u32),
            Tag::Text => AnnotationValue::Text(bits as u32),
            Tag::Category => AnnotationValue::Category(bits as u32),
            Tag::Log => AnnotationValue::Log {
                body: bits as u32,
                source: (bits >> 32) as u32,
                priority: self.name as u8,
                grade: self.grade() as u8,
            },
        }
    }
}

/// The value of an annotation.
#[derive(Clone, Copy, Debug)]
pub enum AnnotationValue {
    /// An unsigned number.
    Uint(u64),
    /// A signed number.
    Int(i64),
    /// A number to be shown in hex.
    Hex(u64),
    /// A number with a fraction.
    Float(f64),
    /// True or false.
    Bool(bool),
    /// One of [`Block::names`].
    Name(u32),
    /// One of [`Block::text_refs`].
    Text(u32),
    /// No annotation: the event's category, one of [`Block::names`]. At most one of an event.
    Category(u32),
    /// No annotation: the event is a log message. At most one of an event.
    Log {
        /// One of [`Block::text_refs`].
        body: u32,
        /// Its place in the source code, one more than an index into [`Block::sources`]; 0 without a place.
        source: u32,
        /// From 2 (verbose) to 7 (fatal), 0 if not known.
        priority: u8,
        /// Its severity and category, one more than an index into [`Block::grades`]; 0: they are annotations of their own.
        grade: u8,
    },
}

/// The annotations that many log messages have in common: a severity, under a name of its own, and a category. All are of
/// [`Block::names`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grade {
    /// The name of the severity.
    pub name: u32,
    /// The severity.
    pub severity: u32,
    /// The category.
    pub category: u32,
}

impl Grade {
    /// The same as annotations, in their order.
    #[must_use]
    pub fn annotations(self) -> [Annotation; 2] {
        let severity = Annotation::new(self.name, AnnotationValue::Name(self.severity));
        [severity, Annotation::new(self.category, AnnotationValue::Category(self.category))]
    }
}

/// A track's description for the viewer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Track {
    /// Its uuid.
    pub id: TrackId,
    /// The track it hangs under.
    pub parent: Option<TrackId>,
    /// Its kind.
    pub kind: TrackKind,
    /// The name to show.
    pub name: Arc<str>,
    /// A text for the viewer's help popup.
    pub description: Option<Arc<str>>,
    /// Its place among its siblings, lowest first. Not negative.
    pub rank: i32,
}

/// The kind of a track.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrackKind {
    /// A process: the group that a task, or the firmware as a whole, is drawn as.
    Process {
        /// Process id.
        pid: i32,
    },
    /// A thread; its slices are strictly nested.
    Thread {
        /// Process id.
        pid: i32,
        /// Thread id, 0 for idle tasks.
        tid: i32,
    },
    /// A group whose children are ordered by rank.
    Group,
    /// Slices and instants. Never merged with a sibling of the same name.
    Slices,
    /// A counter.
    Counter {
        /// Its unit.
        unit: Unit,
    },
}

/// The unit of a counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Not known.
    None,
    /// A number of things.
    Count,
    /// Bytes.
    Bytes,
    /// Nanoseconds.
    Nanoseconds,
    /// Any other, by name.
    Named(&'static str),
}

/// One context switch on a core.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SwitchRow {
    /// When, in nanoseconds.
    pub time_ns: u64,
    /// The state in which the previous thread left.
    pub prev_state: PrevState,
    /// The thread that runs from now on.
    pub next_tid: i32,
    /// Its priority in the viewer's terms: 100 + the RTOS priority.
    pub next_prio: i32,
    /// Its name, an index into [`Block::names`].
    pub next_comm: u32,
}

/// The state of a thread that does not run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PrevState {
    /// Pre-empted, or gave way: still ready ("R").
    Ready,
    /// Waits ("S").
    Waiting,
    /// Suspended ("T").
    Suspended,
    /// Deleted ("X").
    Deleted,
    /// Not known. The viewer has no such state: it is written as "S", which has no colour there.
    Unknown,
}

/// A thread made ready by the code that runs on a core.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WakingRow {
    /// When, in nanoseconds.
    pub time_ns: u64,
    /// The thread made ready.
    pub tid: i32,
    /// Its priority in the viewer's terms.
    pub prio: i32,
    /// The core it will probably run on: its last core, otherwise the waker's.
    pub target_core: u16,
    /// Whether an interrupt handler did it.
    pub from_isr: bool,
    /// Its name, an index into [`Block::names`].
    pub comm: u32,
}

/// The state of a thread that does not run changes, and no switch or waking says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StateRow {
    /// When, in nanoseconds.
    pub time_ns: u64,
    /// The thread.
    pub tid: i32,
    /// Its state from now on.
    pub state: PrevState,
}

/// The scheduling of one core, each kind of rows in order of time.
#[derive(Clone, Debug, Default)]
pub struct SchedRows {
    /// The core.
    pub core: u16,
    /// Its context switches.
    pub switches: Vec<SwitchRow>,
    /// The threads made ready from it.
    pub wakings: Vec<WakingRow>,
    /// The threads that changed their state otherwise, in any order.
    pub states: Vec<StateRow>,
}

/// A sample: the code that a thread was found in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SampleRow {
    /// When, in nanoseconds.
    pub time_ns: u64,
    /// The CPU.
    pub cpu: u16,
    /// The process and the thread.
    pub pid: i32,
    /// The thread.
    pub tid: i32,
    /// An index into [`Block::stacks`].
    pub stack: u32,
}

/// The functions that code is of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SampledStack {
    /// The address of the code.
    pub address: u64,
    /// The names, indexes into [`Block::names`], the outermost first.
    pub names: Vec<u32>,
}

/// A self-contained run of operations.
#[derive(Debug, Default)]
pub struct Block {
    /// Counted from 0.
    pub number: u64,
    /// The operations.
    pub ops: Vec<Op>,
    /// Annotations of the operations.
    pub args: Vec<Annotation>,
    /// What log messages have in common, all different. At most 255.
    pub grades: Vec<Grade>,
    /// The names used in this block. All different.
    pub names: Names,
    /// Tracks that come into being in this block.
    pub tracks: Vec<Track>,
    /// The places in the source code used in this block. All different.
    pub sources: Sources,
    /// Scheduling rows that became certain during this block.
    pub sched: Vec<SchedRows>,
    /// Samples, in order of time.
    pub samples: Vec<SampleRow>,
    /// The code of the samples, all different.
    pub stacks: Vec<SampledStack>,
    /// Texts of the capture that are used as names or annotations; not unique.
    pub text_refs: Vec<TextRef>,
    /// Where `text_refs` point.
    pub texts: TextArena,
}

/// A block's items of one kind, and their texts. The texts are copies: sharing them costs more, because each is used only a few
/// times in a block.
#[derive(Clone, Debug)]
pub struct Copied<T> {
    texts: TextArena,
    all: Vec<T>,
}

/// Names of a block.
pub type Names = Copied<TextRef>;

/// Places in the source code that a block speaks of: file, function if known, and line.
pub type Sources = Copied<(TextRef, Option<TextRef>, u32)>;

impl<T> Default for Copied<T> {
    fn default() -> Self {
        Copied { texts: TextArena::default(), all: Vec::new() }
    }
}

impl<T> Copied<T> {
    /// How many there are.
    #[inline]
    #[must_use]
    pub fn len(&self) -> usize {
        self.all.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    fn push(&mut self, one: T) -> u32 {
        let index = u32::try_from(self.all.len()).unwrap_or(u32::MAX);
        self.all.push(one);
        index
    }

    fn clear(&mut self) {
        self.texts.clear();
        self.all.clear();
    }
}

impl Names {
    /// Adds a name; gives its index.
    pub fn add(&mut self, name: &str) -> u32 {
        let name = self.texts.add(name);
        self.push(name)
    }

    /// A name.
    #[inline]
    #[must_use]
    pub fn get(&self, index: usize) -> Option<&str> {
        self.all.get(index).map(|&name| self.texts.get(name))
    }
}

impl<T: AsRef<str>> FromIterator<T> for Names {
    fn from_iter<I: IntoIterator<Item = T>>(names: I) -> Names {
        let mut all = Names::default();
        for name in names {
            all.add(name.as_ref());
        }
        all
    }
}

/// A place in the source code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SourcePlace<'a> {
    /// The file.
    pub file: &'a str,
    /// The function, if known.
    pub function: Option<&'a str>,
    /// The line, counted from 1; 0: not known.
    pub line: u32,
}

impl Sources {
    /// Adds a place; gives its index.
    pub fn add(&mut self, source: &Source) -> u32 {
        let file = self.texts.add(&source.file);
        let function = source.function.as_deref().map(|function| self.texts.add(function));
        self.push((file, function, source.line))
    }

    /// All places, in the order of their indexes.
    pub fn iter(&self) -> impl Iterator<Item = SourcePlace<'_>> {
        let text = |text| self.texts.get(text);
        self.all.iter().map(move |&(file, function, line)| SourcePlace { file: text(file), function: function.map(text), line })
    }
}

impl Block {
    /// Forgets the content and keeps the memory, for the next use under another number.
    pub fn reset(&mut self, number: u64) {
        self.number = number;
        self.ops.clear();
        self.args.clear();
        self.grades.clear();
        self.names.clear();
        self.tracks.clear();
        self.sources.clear();
        self.sched.clear();
        self.samples.clear();
        self.stacks.clear();
        self.text_refs.clear();
        self.texts.clear();
    }
}

/// There are a hundred operations for each kilobyte of a capture, and all are written and read twice.
const _: () = assert!(std::mem::size_of::<Op>() == 32);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reference_is_unpacked_as_it_was_packed() {
        assert_eq!(NameRef::NONE.kind(), NameKind::None);
        for index in [0, 1, 300, NameRef::END - 1] {
            assert_eq!(NameRef::interned(index).kind(), NameKind::Interned(index));
            assert_eq!(NameRef::text(index).kind(), NameKind::Text(index));
        }
        // An index that cannot be packed refers to an item that no block has, never to another item.
        for index in [NameRef::END, NameRef::END + 1, u32::MAX] {
            assert!(matches!(NameRef::interned(index).kind(), NameKind::Interned(found) if found >= NameRef::END - 1));
            assert!(matches!(NameRef::text(index).kind(), NameKind::Text(found) if found >= NameRef::END - 1));
        }
    }
}
