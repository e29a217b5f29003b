//! The events of each kind of record.

use std::sync::Arc;

use super::losses;
use super::tracks::{Special, Tracks};
use crate::format::Resolved;
use crate::format::syst::collateral::Collateral;
use crate::format::syst::decode::Records;
use crate::format::syst::decoded::{Key, NameRef, Notice, RecordKind, Stored, name_of_unknown};
use crate::format::syst::record::Marks;
use crate::format::syst::settings::Settings;
use crate::model::{
    Arg, ArgValue, Args, CoreId, Event, EventBatch, EventKind, Exit, GradeId, Label, LaneId, LogNote, LogSeverity, LossNote,
    NameId, Nanos, Packed, TextRef,
};

/// The severities of the viewer's log.
const LOG_SEVERITIES: [LogSeverity; 8] = [
    LogSeverity::Unspecified,
    LogSeverity::Fatal,
    LogSeverity::Error,
    LogSeverity::Warning,
    LogSeverity::Info,
    LogSeverity::User,
    LogSeverity::User,
    LogSeverity::Debug,
];

/// The time and origin of an event.
#[derive(Clone, Copy)]
pub struct EventContext {
    /// Its time.
    pub time: Nanos,
    /// The core of the input.
    pub core: CoreId,
    /// The session.
    pub session: u32,
    /// Whether the transport has a time for it.
    pub has_transport_time: bool,
    /// The time of the message's own time stamp on the trace's axis, in nanoseconds, if the transport has a time for it, too.
    pub made_at: Option<u64>,
}

/// A record that is not a notice, with its time and origin.
#[derive(Clone, Copy)]
struct Message<'a> {
    /// Its kind and oddities. Those of `stored`, except of a plain log message: all kinds of these are treated alike.
    kind: RecordKind,
    marks: Marks,
    at: EventContext,
    records: &'a Records,
    stored: &'a Stored,
}

impl Message<'_> {
    /// Where it starts in the input, in bytes.
    fn offset(&self) -> u64 {
        self.records.base + u64::from(self.stored.offset)
    }
}

/// What is missing by a notice.
#[derive(Clone, Copy)]
pub struct Missing {
    /// Where, in bytes from the start of the input.
    pub offset: u64,
    /// How many bytes.
    pub bytes: u64,
    /// How many messages, at least.
    pub at_least_lost: u64,
}

/// Makes events of records.
pub struct EventWriter {
    collateral: Arc<Collateral>,
    pub short_as_counter: bool,
    tracks: Tracks,
    /// The start of the present table's texts in those of the batch.
    texts_start: u32,
    /// The start of its args in those of the batch; `None` if some of them have no name there.
    args_start: Option<u32>,
}

impl EventWriter {
    pub fn new(settings: &Settings) -> EventWriter {
        let collateral = settings.collateral.clone();
        let tracks = Tracks::new(collateral.entries.len(), settings.symbols.as_ref().map(|(_, symbols)| symbols.clone()));
        EventWriter { collateral, short_as_counter: settings.short_as_counter, tracks, texts_start: 0, args_start: None }
    }

    /// Whether senders were assigned to a client only because there is no other.
    pub fn assumes_client(&self) -> bool {
        self.tracks.assumes_client
    }

    /// Records of another table come. Adds its texts to the batch; false if the batch is full.
    pub fn begin_table(&mut self, records: &Records, out: &mut Resolved<'_>) -> bool {
        self.tracks.begin_part(records);
        // A few records make more than usual. Without room for these, everything would be copied for them.
        let usual = |len: usize| len + len / 8;
        let (count, texts) = (records.stored.len(), records.texts.text());
        out.batch.texts.reserve(usual(texts.len()));
        // All texts at once. One by one costs several times as much.
        let Ok(start) = out.batch.texts.append(texts) else { return false };
        self.texts_start = start;
        out.batch.events.reserve(usual(count));
        out.batch.logs.reserve(usual(count));
        out.batch.args.reserve(usual(records.args.len()));
        self.args_start = self.add_args(records, out);
        true
    }

    /// Adds all args of a table to the batch, as most records have no others. Returns the place of the first one; `None` if one has no
    /// name, and none was added.
    fn add_args(&mut self, records: &Records, out: &mut Resolved<'_>) -> Option<u32> {
        let start = out.batch.args.len();
        let (tracks, texts_start, entities) = (&mut self.tracks, self.texts_start, &mut *out.entities);
        let mut all_named = true;
        out.batch.args.extend(records.args.iter().map(|arg| {
            let name = tracks.key(arg.name, entities);
            all_named &= name.is_some();
            let name = name.unwrap_or(NameId(0));
            match arg.text() {
                Some(text) => Arg::of_text(name, moved(text, texts_start)),
                None => arg.renamed(name),
            }
        }));
        if !all_named {
            out.batch.args.truncate(start);
        }
        u32::try_from(start).ok().filter(|_| all_named)
    }

    /// The target restarted.
    pub fn begin_session(&mut self, records: &Records) {
        self.tracks.forget_session();
        self.tracks.begin_part(records);
    }

    /// Makes the events of a record that is not a notice.
    #[inline(never)]
    pub fn message(&mut self, at: EventContext, records: &Records, stored: &Stored, out: &mut Resolved<'_>) {
        self.message_of(Message { kind: stored.kind, marks: stored.marks, at, records, stored }, out);
    }

    /// The same for a log message without oddities, as most are. All kinds of these are treated alike, so nothing asks for the kind.
    #[inline]
    pub fn plain_log(&mut self, at: EventContext, records: &Records, stored: &Stored, out: &mut Resolved<'_>) {
        self.message_of(Message { kind: RecordKind::Printf, marks: Marks::default(), at, records, stored }, out);
    }

    #[inline(always)]
    fn message_of(&mut self, message: Message<'_>, out: &mut Resolved<'_>) {
        let Message { kind, marks, at, records, stored } = message;
        let lane = match kind {
            RecordKind::Console => self.tracks.special(Special::Console, at.session, out.entities),
            RecordKind::Malformed(_) => self.tracks.special(Special::Errors, at.session, out.entities),
            _ if marks.has(Marks::CRC_BAD) => self.tracks.special(Special::Errors, at.session, out.entities),
            RecordKind::Clock => self.tracks.special(Special::Clock, at.session, out.entities),
            _ => self.tracks.track(records, stored, at.session, &self.collateral, out.entities).map(|track| track.lane),
        };
        let Some(lane) = lane else {
            out.ledger.enter(losses::ENTITY_LIMIT, message.offset(), 1);
            return;
        };
        let name = self.tracks.name(records, stored, &self.collateral, out.entities);
        let is_graded = matches!(
            kind,
            RecordKind::Text
                | RecordKind::InvalidParam
                | RecordKind::Assert
                | RecordKind::Printf
                | RecordKind::Catalog
                | RecordKind::Raw
        );
        let grade = if is_graded { self.tracks.grade(kind, stored.severity, out.entities) } else { None };
        let args = self.args(message, grade.is_some(), out);
        let label = self.label_of_empty(name.map_or(Label::NONE, Label::name), stored.body, out);
        match kind {
            RecordKind::Text
            | RecordKind::InvalidParam
            | RecordKind::Assert
            | RecordKind::Printf
            | RecordKind::Catalog
            | RecordKind::Build
            | RecordKind::Raw
            | RecordKind::Console
            | RecordKind::Malformed(_) => {
                self.log(message, (lane, label, grade, args), out);
            }
            RecordKind::Enter | RecordKind::Exit if !marks.has(Marks::CRC_BAD) => {
                self.function(message, lane, label, args, out);
            }
            RecordKind::Short { .. } => self.short(message, lane, label, args, out),
            RecordKind::Clock => {
                let label = self.word_label("clock", out);
                push(at, EventKind::Instant { lane, label, args }, out);
            }
            _ => {
                let label = self.label_or(label, stored.body);
                push(at, EventKind::Instant { lane, label, args }, out);
            }
        }
    }

    /// The text of a record, in the batch.
    #[inline]
    fn text(&self, text: TextRef) -> TextRef {
        moved(text, self.texts_start)
    }

    /// A label; the text if it is empty.
    #[inline]
    fn label_or(&self, label: Label, text: TextRef) -> Label {
        if label.is_none() { Label::text(self.text(text)) } else { label }
    }

    /// The label of a record whose text is empty. Without one, the viewer shows the name of the thread.
    fn label_of_empty(&mut self, label: Label, text: TextRef, out: &mut Resolved<'_>) -> Label {
        if label.is_none() && text.is_empty() { self.word_label("(empty text)", out) } else { label }
    }

    fn word_label(&mut self, word: &'static str, out: &mut Resolved<'_>) -> Label {
        self.tracks.word(word, out.entities).map_or(Label::NONE, Label::name)
    }

    #[inline(always)]
    fn log(
        &mut self,
        message: Message<'_>,
        (lane, mut label, grade, args): (LaneId, Label, Option<GradeId>, Args),
        out: &mut Resolved<'_>,
    ) {
        let Message { kind, marks, at, records, stored } = message;
        let source = self.tracks.source(records, stored.source, &self.collateral, out.entities);
        let mut severity = LOG_SEVERITIES[usize::from(stored.severity & 7)];
        match kind {
            RecordKind::Short { .. } | RecordKind::Build => severity = LogSeverity::Unspecified,
            RecordKind::Assert | RecordKind::InvalidParam => severity = severity.max(LogSeverity::Warning),
            RecordKind::Malformed(reason) => {
                severity = LogSeverity::Error;
                label = self.word_label(losses::of_malformed(reason).code, out);
            }
            _ => {}
        }
        if marks.has(Marks::CRC_BAD) {
            severity = severity.max(LogSeverity::Error);
        }
        let body = match stored.name {
            NameRef::Local(name) if stored.body.is_empty() => {
                out.batch.texts.add(records.names.get(name as usize).map_or("", String::as_str))
            }
            // Without its format, such a message has no text.
            NameRef::CatalogId => {
                let name = self.tracks.name_of_unknown(stored.value, out.entities);
                match name.and_then(|name| out.entities.names.get(name.0 as usize)) {
                    Some(name) => out.batch.texts.add(name),
                    None => out.batch.texts.add(&name_of_unknown(stored.value)),
                }
            }
            _ => self.text(stored.body),
        };
        let name = if label.is_none() { Label::text(body) } else { label };
        out.batch.add_log(at.time, at.core, LogNote { lane, severity, name, body, source, grade, args });
    }

    fn function(&mut self, message: Message<'_>, lane: LaneId, label: Label, args: Args, out: &mut Resolved<'_>) {
        let Message { at, records, stored, .. } = message;
        let name = records.text(stored.body);
        let label = self.label_or(label, stored.body);
        let Some(track) = self.tracks.track(records, stored, at.session, &self.collateral, out.entities) else { return };
        if stored.kind == RecordKind::Enter {
            let kind = if track.enter(name) {
                EventKind::SpanBegin { lane, label, args }
            } else {
                EventKind::Instant { lane, label, args }
            };
            return push(at, kind, out);
        }
        match track.exit(name) {
            Exit::Closes(inner) => {
                let auto_closed = if inner > 0 { self.tracks.word("auto_closed", out.entities) } else { None };
                for _ in 0..inner {
                    out.ledger.enter(losses::EXIT_MISSING, message.offset(), 0);
                    let args = auto_closed.map_or(Args::NONE, |name| out.batch.add_args(&[Arg::new(name, ArgValue::Bool(true))]));
                    push(at, EventKind::SpanEnd { lane, args }, out);
                }
                push(at, EventKind::SpanEnd { lane, args }, out);
            }
            Exit::Unmatched => {
                out.ledger.enter(losses::UNMATCHED_EXIT, message.offset(), 0);
                let text = out.batch.texts.add(&format!("exit {name} (no enter)"));
                push(at, EventKind::Instant { lane, label: Label::text(text), args }, out);
            }
        }
    }

    fn short(&mut self, message: Message<'_>, lane: LaneId, label: Label, args: Args, out: &mut Resolved<'_>) {
        let Message { at, records, stored, .. } = message;
        let Some(group) = self.tracks.track(records, stored, at.session, &self.collateral, out.entities).map(|track| track.group)
        else {
            return;
        };
        let counter = match stored.name {
            NameRef::Entry(number) => {
                let entry = self.collateral.entry(number).filter(|entry| !entry.format.is_plain());
                entry.map(|entry| (number, entry.details.label.as_str(), stored.extra))
            }
            _ if self.short_as_counter => Some((u32::MAX, "short value", stored.value)),
            _ => None,
        };
        if let Some((entry, name, value)) = counter
            && let Some(lane) = self.tracks.counter(group, entry, name, at.session, out.entities)
        {
            push(at, EventKind::Value { lane, value: Packed(i64::try_from(value).unwrap_or(i64::MAX)) }, out);
        }
        self.log(message, (lane, label, None, args), out);
    }

    /// The args of a record. `is_graded`: its severity and category are known without them.
    #[inline(always)]
    fn args(&mut self, message: Message<'_>, is_graded: bool, out: &mut Resolved<'_>) -> Args {
        let Message { kind, marks, at, records, stored } = message;
        let texts_start = self.texts_start;
        let message_time = stored.timestamp.filter(|_| at.has_transport_time);
        let has_others = matches!(kind, RecordKind::Clock | RecordKind::Build | RecordKind::Short { .. });
        // The usual case.
        if is_graded
            && !has_others
            && marks == Marks::default()
            && message_time.is_none()
            && let Some(start) = self.args_start
        {
            return EventBatch::args_at(start.saturating_add(stored.args.0), stored.args.1);
        }
        let start = out.batch.args.len();
        let all = &mut out.batch.args;
        let tracks = &mut self.tracks;
        let has_severity = !matches!(
            kind,
            RecordKind::Short { .. } | RecordKind::Console | RecordKind::Malformed(_) | RecordKind::Clock | RecordKind::Build
        );
        if has_severity
            && !is_graded
            && let Some((name, severity)) = tracks.severity(stored.severity, out.entities)
        {
            all.push(Arg::new(name, ArgValue::Name(severity)));
        }
        // The end of a function has the category of its begin.
        if !is_graded && !matches!(kind, RecordKind::Console | RecordKind::Exit) {
            let category = tracks.category(kind, has_severity.then_some(stored.severity), out.entities);
            all.extend(category.map(|category| Arg::new(category, ArgValue::Category(category))));
        }
        for arg in records.args_of(stored) {
            let Some(name) = tracks.key(arg.name, out.entities) else { continue };
            all.push(match arg.text() {
                Some(text) => Arg::of_text(name, moved(text, texts_start)),
                None => arg.renamed(name),
            });
        }
        let mut add = |name: Option<NameId>, value: ArgValue| all.extend(name.map(|name| Arg::new(name, value)));
        match kind {
            RecordKind::Clock => {
                add(tracks.word("clock_value", out.entities), ArgValue::Uint(stored.value));
                add(tracks.word("clock_hz", out.entities), ArgValue::Uint(stored.extra));
            }
            RecordKind::Build if !stored.body.is_empty() => {
                add(tracks.key(Key::TEXT, out.entities), ArgValue::Text(moved(stored.body, texts_start)));
            }
            RecordKind::Short { .. } => add(tracks.word("value", out.entities), ArgValue::Hex(stored.value)),
            _ => {}
        }
        if let Some(timestamp) = message_time {
            add(tracks.word("message_time", out.entities), ArgValue::Uint(timestamp));
            if let Some(made_at) = at.made_at {
                add(tracks.word("message_time_ns", out.entities), ArgValue::Uint(made_at));
            }
        }
        if marks != Marks::default() {
            for (mark, word) in Marks::NAMES.iter().filter(|(mark, _)| *mark != Marks::SLOTS) {
                if marks.has(*mark) {
                    add(tracks.word(word, out.entities), ArgValue::Bool(true));
                }
            }
        }
        out.batch.args_since(start)
    }

    /// Makes the events of a notice.
    pub fn notice(&mut self, at: EventContext, notice: Notice, value: u64, missing: Missing, out: &mut Resolved<'_>) {
        let is_gap = matches!(notice, Notice::Unsynced | Notice::Undelimited | Notice::GlobalError);
        if let Some((kind, ..)) = losses::of_notice(notice).filter(|_| is_gap) {
            let Missing { offset, bytes, at_least_lost } = missing;
            out.batch.add_loss(at.time, at.core, LossNote { kind, offset, bytes, at_least_lost });
            // The timeline closes open spans at a loss.
            self.tracks.close_all();
        }
        let has_place = matches!(notice, Notice::MasterError | Notice::Beginless | Notice::Unfinished);
        if !has_place && !matches!(notice, Notice::GlobalError | Notice::Trigger | Notice::UnknownPacket) {
            return;
        }
        let Some(lane) = self.tracks.special(Special::Transport, at.session, out.entities) else { return };
        let label = self.word_label(notice.name(), out);
        let name = self.tracks.word("value", out.entities);
        let args = name.map_or(Args::NONE, |name| out.batch.add_args(&[Arg::new(name, ArgValue::Uint(value))]));
        push(at, EventKind::Instant { lane, label, args }, out);
    }
}

/// A text of a table, in the batch.
#[inline]
fn moved(text: TextRef, texts_start: u32) -> TextRef {
    TextRef { start: text.start.saturating_add(texts_start), len: text.len }
}

#[inline]
fn push(at: EventContext, kind: EventKind, out: &mut Resolved<'_>) {
    out.batch.events.push(Event { time: at.time, core: at.core, kind });
}
