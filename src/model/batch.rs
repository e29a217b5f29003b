//! Events on their way from a resolver to the timeline, with the texts and loss notes they point into.

use std::ops::Range;

use super::{Arg, CoreId, Event, EventKind, GradeId, LaneId, LossNote, NameId, Nanos, SourceId};

/// A piece of text in an [`EventBatch`]. An empty one means no text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TextRef {
    /// Where it starts.
    pub start: u32,
    /// Its length in bytes.
    pub len: u32,
}

impl TextRef {
    /// No text.
    pub const NONE: TextRef = TextRef { start: 0, len: 0 };

    /// The bytes that it refers to.
    #[inline]
    #[must_use]
    pub fn range(self) -> Range<usize> {
        let start = self.start as usize;
        start..start.saturating_add(self.len as usize)
    }

    /// Whether there is no text.
    #[inline]
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.len == 0
    }
}

/// The name of a span, instant or state: absent, a name known for the whole conversion, or a text of its batch.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Label {
    start: u32,
    len: u32,
}

impl Label {
    /// No label: a span or instant gets the name of its lane.
    pub const NONE: Label = Label { start: 0, len: 0 };
    const NAME: u32 = u32::MAX;

    /// A name known for the whole conversion.
    #[inline]
    #[must_use]
    pub fn name(name: NameId) -> Label {
        Label { start: name.0, len: Self::NAME }
    }

    /// A text of the batch; the empty text means no label.
    #[inline]
    #[must_use]
    pub fn text(text: TextRef) -> Label {
        Label { start: text.start, len: text.len.min(Self::NAME - 1) }
    }

    /// The name, if the label is one.
    #[inline]
    #[must_use]
    pub fn as_name(self) -> Option<NameId> {
        (self.len == Self::NAME).then_some(NameId(self.start))
    }

    /// The text, if the label is one; empty for no label.
    #[inline]
    #[must_use]
    pub fn as_text(self) -> Option<TextRef> {
        (self.len != Self::NAME).then_some(TextRef { start: self.start, len: self.len })
    }

    /// Whether there is no label.
    #[inline]
    #[must_use]
    pub fn is_none(self) -> bool {
        self.len == 0
    }
}

impl std::fmt::Debug for Label {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.as_name() {
            Some(name) => name.fmt(f),
            None => self.as_text().fmt(f),
        }
    }
}

impl From<TextRef> for Label {
    fn from(text: TextRef) -> Label {
        Label::text(text)
    }
}

impl From<NameId> for Label {
    fn from(name: NameId) -> Label {
        Label::name(name)
    }
}

/// The args of an event: a range of [`EventBatch::args`]. At two-byte alignment, to keep [`Event`] within 32 bytes.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
#[repr(C, packed(2))]
pub struct Args {
    start: u32,
    count: u16,
}

impl Args {
    /// No args.
    pub const NONE: Args = Args { start: 0, count: 0 };

    /// Whether there are none.
    #[inline]
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.count == 0
    }
}

impl std::fmt::Debug for Args {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (start, count) = (self.start, self.count);
        write!(f, "{start}+{count}")
    }
}

/// The severity of a log message, in the terms of the viewer's log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LogSeverity {
    /// Not recorded.
    Unspecified,
    /// The lowest severity.
    Verbose,
    /// For developers.
    Debug,
    /// A level of the user's own, between those for developers and for information.
    User,
    /// For information.
    Info,
    /// Something is unexpected.
    Warning,
    /// Something went wrong.
    Error,
    /// The program cannot continue.
    Fatal,
}

/// A log message.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LogNote {
    /// The lane that shows it as an instant.
    pub lane: LaneId,
    /// Its severity.
    pub severity: LogSeverity,
    /// The name of the instant: preferably the same for all messages of its kind, such as the format string.
    pub name: Label,
    /// The message.
    pub body: TextRef,
    /// Its place in the source code.
    pub source: Option<SourceId>,
    /// Its severity in the terms of the format, and its category, if they are not among its args.
    pub grade: Option<GradeId>,
    /// More facts about it.
    pub args: Args,
}

/// Bytes as text, in which bytes that are not UTF-8 are U+FFFD. It is a copy that is checked: bytes of a file may change.
#[must_use]
pub fn lossy(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

/// UTF-8 texts, one after the other.
#[derive(Clone, Debug, Default)]
pub struct TextArena {
    text: String,
}

impl TextArena {
    /// Adds a text. Beyond 4 GiB in one batch (which the window size rules out) it is dropped.
    pub fn add(&mut self, text: &str) -> TextRef {
        let (Ok(start), Ok(len)) = (u32::try_from(self.text.len()), u32::try_from(text.len())) else {
            return TextRef::NONE;
        };
        self.text.push_str(text);
        TextRef { start, len }
    }

    /// Adds many texts at once. Returns the offset to add to the starts of references into them.
    ///
    /// # Errors
    /// Beyond 4 GiB in one batch, which the window size rules out. Nothing is added then.
    pub fn append(&mut self, texts: &str) -> Result<u32, std::num::TryFromIntError> {
        u32::try_from(self.text.len() + texts.len())?;
        let start = u32::try_from(self.text.len())?;
        self.text.push_str(texts);
        Ok(start)
    }

    /// Adds bytes as text. Bytes that are not UTF-8 become U+FFFD, and the second value is then true.
    pub fn add_lossy(&mut self, bytes: &[u8]) -> (TextRef, bool) {
        let at = self.text.len();
        let (Ok(start), Ok(len)) = (u32::try_from(at), u32::try_from(bytes.len())) else {
            return (TextRef::NONE, false);
        };
        // SAFETY: the appended bytes stay only if they are UTF-8. It is the copy that is checked: bytes of a file may change.
        let text = unsafe { self.text.as_mut_vec() };
        text.extend_from_slice(bytes);
        if std::str::from_utf8(text.get(at..).unwrap_or(&[])).is_ok() {
            return (TextRef { start, len }, false);
        }
        let copy = text.split_off(at);
        (self.add(&String::from_utf8_lossy(&copy)), true)
    }

    /// The text of a reference into this arena; empty for a foreign one.
    #[inline]
    #[must_use]
    pub fn get(&self, text: TextRef) -> &str {
        self.text.get(text.range()).unwrap_or("")
    }

    /// The bytes of [`TextArena::get`], without a check that the reference is of whole characters.
    #[inline]
    pub(crate) fn bytes(&self, text: TextRef) -> &[u8] {
        self.text.as_bytes().get(text.range()).unwrap_or(&[])
    }

    /// Makes room for so many bytes more.
    pub(crate) fn reserve(&mut self, bytes: usize) {
        self.text.reserve(bytes);
    }

    /// The length of all texts together, in bytes.
    #[inline]
    #[must_use]
    pub fn len_bytes(&self) -> usize {
        self.text.len()
    }

    /// Forgets all texts and keeps the memory.
    pub fn clear(&mut self) {
        self.text.clear();
    }
}

/// A record whose time was judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Judged {
    /// Its offset in the input, in bytes.
    pub offset: u64,
    /// Its time, if it has one.
    pub time: Option<Nanos>,
    /// The number of events in the batch before those of the record.
    pub event: usize,
}

/// Events in order of time, and what they refer to.
#[derive(Clone, Debug, Default)]
pub struct EventBatch {
    /// The events.
    pub events: Vec<Event>,
    /// Their texts.
    pub texts: TextArena,
    /// Their loss notes.
    pub losses: Vec<LossNote>,
    /// Their log messages.
    pub logs: Vec<LogNote>,
    /// Their args.
    pub args: Vec<Arg>,
    /// How many of the events are not events of the target, but added: the end of a core, levels that are known late.
    pub added: u64,
    /// If wanted: the records that were judged, in file order.
    pub judged: Option<Vec<Judged>>,
}

impl EventBatch {
    /// Notes the judged time of a record, if that is wanted. The events of the record follow.
    #[inline]
    pub fn note_judged(&mut self, offset: u64, time: impl Into<Option<Nanos>>) {
        if let Some(judged) = &mut self.judged {
            judged.push(Judged { offset, time: time.into(), event: self.events.len() });
        }
    }

    /// Adds the event of a loss.
    pub fn add_loss(&mut self, time: Nanos, core: CoreId, note: LossNote) {
        let number = u32::try_from(self.losses.len()).unwrap_or(u32::MAX);
        self.losses.push(note);
        self.events.push(Event { time, core, kind: EventKind::Loss(number) });
    }

    /// Adds the event of a log message.
    #[inline]
    pub fn add_log(&mut self, time: Nanos, core: CoreId, note: LogNote) {
        let number = u32::try_from(self.logs.len()).unwrap_or(u32::MAX);
        self.logs.push(note);
        self.events.push(Event { time, core, kind: EventKind::Log(number) });
    }

    /// Forgets the content and keeps the memory.
    pub fn clear(&mut self) {
        if let Some(judged) = &mut self.judged {
            judged.clear();
        }
        self.added = 0;
        self.events.clear();
        self.texts.clear();
        self.losses.clear();
        self.logs.clear();
        self.args.clear();
    }

    /// Adds the args of one event; more than 65535 are cut off there.
    #[inline]
    pub fn add_args(&mut self, args: &[Arg]) -> Args {
        let args = args.get(..usize::from(u16::MAX)).unwrap_or(args);
        let Ok(start) = u32::try_from(self.args.len()) else { return Args::NONE };
        self.args.extend_from_slice(args);
        Args { start, count: args.len() as u16 }
    }

    /// The args of one event: these many from `start` on; more than 65535 are cut off there.
    #[inline]
    #[must_use]
    pub fn args_at(start: u32, count: u32) -> Args {
        Args { start, count: u16::try_from(count).unwrap_or(u16::MAX) }
    }

    /// The args of one event that were pushed since there were `start` of them; more than 65535 are cut off there.
    #[inline]
    #[must_use]
    pub fn args_since(&self, start: usize) -> Args {
        let count = self.args.len().saturating_sub(start);
        match u32::try_from(start) {
            Ok(start) if count > 0 => Args { start, count: u16::try_from(count).unwrap_or(u16::MAX) },
            _ => Args::NONE,
        }
    }

    /// The args of an event of this batch.
    #[inline]
    #[must_use]
    pub fn args_of(&self, args: Args) -> &[Arg] {
        let start = args.start as usize;
        self.args.get(start..start.saturating_add(usize::from(args.count))).unwrap_or(&[])
    }

    /// The time of the first event.
    #[must_use]
    pub fn first_time(&self) -> Option<Nanos> {
        self.events.first().map(|event| event.time)
    }
}
