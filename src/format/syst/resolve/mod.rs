//! Records in file order → events of the common model. The same for all transports.
//!
//! A transport's [`Sequence`] passes the records of an input in file order. Each record gets a time ([`timestamps`]), is entered in the
//! ledger ([`losses`]) and counted ([`counts`]), and becomes events ([`events`]) on the tracks of its sender ([`tracks`]). A record
//! whose time stamp leaps waits until the next records are known.

mod counts;
mod damage;
mod dump;
mod errors;
mod events;
mod losses;
mod senders;
mod timestamps;
mod tracks;

use std::ops::Range;
use std::sync::Arc;

use self::counts::MessageCounts;
use self::damage::Damage;
use self::errors::ReportedErrors;
use self::events::{EventContext, EventWriter, Missing};
use self::timestamps::{Following, JudgedTime, MessageTimes};
use super::collateral::{Collateral, Sender};
use super::correlation::TransportClock;
use super::decode::Records;
use super::decoded::{Notice, RecordKind, Stored};
use super::record::Marks;
use super::scan::MessageFacts;
use super::settings::Settings;
use crate::clock::{Copies, SESSIONS_LIMIT};
use crate::format::program::shortcomings;
use crate::format::{Detail, Facts, ListRecord, Resolve, Resolved};
use crate::model::{CoreId, Event, EventKind, Ledger, Nanos, counted};

/// The length of the shortest message.
const SHORTEST_BYTES: u64 = 4;

/// The ordered stage of a transport, for one input: its parts become one sequence of records.
pub(super) trait Sequence: Send + 'static {
    /// A decoded part.
    type Part: Default + Send + 'static;

    /// Whether the bytes of a malformed frame count as skipped.
    const SKIPS_MALFORMED: bool;

    /// Whether the input is text. Lines begin alike, and are no copies.
    const IS_TEXT: bool = false;

    /// Passes the records of the next part of `input` to `each`, in file order: a table, and which of its records.
    fn next(&mut self, input: &[u8], part: &mut Self::Part, each: impl FnMut(&Records, Range<usize>)) -> Progress;

    /// Facts about the transport, for the report.
    fn details(&self) -> Vec<Detail>;
}

/// How far an input has been read.
pub(super) struct Progress {
    /// The number of bytes.
    pub end_bytes: u64,
    /// Whether the input has ended.
    pub is_last: bool,
}

impl Progress {
    /// At the end of an input, all bytes that were not skipped are decoded.
    fn enter(&self, ledger: &mut Ledger) {
        if self.is_last {
            ledger.decoded_bytes = self.end_bytes.saturating_sub(ledger.skipped_bytes);
        }
    }
}

/// Makes events of the records of a transport.
pub(super) struct Resolver<S> {
    inputs: Vec<(S, InputState)>,
    records: RecordResolver,
}

impl<S: Sequence> Resolver<S> {
    /// For each input: its sequence, the facts of the first pass, and the transport's clock if there is one.
    pub(super) fn new(settings: &Settings, inputs: Vec<(S, MessageFacts, Option<TransportClock>)>) -> Resolver<S> {
        let mut states = Vec::with_capacity(inputs.len());
        let mut facts = Facts { cores: u16::try_from(inputs.len().max(1)).unwrap_or(u16::MAX), sessions: 1, ..Facts::default() };
        for (core, (sequence, messages, clock)) in (0u16..).zip(inputs) {
            let times = MessageTimes::new(settings.message_rate, &messages, clock);
            if core == 0 {
                facts.clock = times.rate();
                facts.findings = vec![times.finding()];
                facts.clocks.extend(times.wall_at_start(&messages));
                facts.details.extend(times.details((0, 0)));
                facts.details.extend(sequence.details());
                facts.hints.extend(times.hints());
            }
            let state = InputState {
                times,
                held: Records::default(),
                errors: ReportedErrors::default(),
                copies: Copies::default(),
                damage: Damage::default(),
                core: CoreId(core),
                session: 0,
            };
            states.push((sequence, state));
        }
        let records = RecordResolver {
            skips_malformed: S::SKIPS_MALFORMED,
            is_text: S::IS_TEXT,
            collateral: settings.collateral.clone(),
            program: describe_program(settings),
            writer: EventWriter::new(settings),
            counts: MessageCounts::default(),
            sessions: 1,
            facts,
        };
        Resolver { inputs: states, records }
    }

    /// The cores that may have events, of each input.
    pub(super) fn cores(&self) -> Vec<Vec<CoreId>> {
        self.inputs.iter().map(|(_, input)| vec![input.core]).collect()
    }

    fn refresh_facts(&mut self) {
        if let Some((sequence, input)) = self.inputs.first() {
            self.records.refresh_facts(input, sequence.details());
        }
    }
}

impl<S: Sequence> Resolve for Resolver<S> {
    type Records = S::Part;

    fn resolve(&mut self, input: usize, bytes: &[u8], part: &mut S::Part, out: &mut Resolved<'_>) {
        let Resolver { inputs, records } = self;
        let Some((sequence, input)) = inputs.get_mut(input) else { return };
        let progress = sequence.next(bytes, part, |table, which| records.resolve(input, bytes, table, which, false, out));
        if progress.is_last {
            records.resolve(input, bytes, &Records::default(), 0..0, true, out);
        }
        progress.enter(out.ledger);
    }

    fn finish(&mut self, _input: usize, _bytes: &[u8], _out: &mut Resolved<'_>) {
        self.refresh_facts();
    }

    fn dump(&mut self, input: usize, bytes: &[u8], part: &mut S::Part, ledger: &mut Ledger, out: &mut ListRecord<'_>) {
        let Resolver { inputs, records } = self;
        let Some((sequence, input)) = inputs.get_mut(input) else { return };
        let mut goes_on = true;
        let progress = sequence.next(bytes, part, |table, which| {
            for stored in table.stored.get(which).unwrap_or(&[]) {
                records.enter(input, bytes, table, stored, ledger);
                goes_on = goes_on && dump::list(table, stored, &records.collateral, out);
            }
        });
        if progress.is_last {
            input.believe_errors(ledger);
        }
        progress.enter(ledger);
        self.refresh_facts();
    }

    fn facts(&self) -> Facts {
        self.records.facts.clone()
    }
}

/// The part of a resolver that does not depend on the transport.
struct RecordResolver {
    /// See [`Sequence::SKIPS_MALFORMED`].
    skips_malformed: bool,
    /// See [`Sequence::IS_TEXT`].
    is_text: bool,
    collateral: Arc<Collateral>,
    /// Details about the program, and hints about what it lacks.
    program: (Vec<Detail>, Vec<String>),
    writer: EventWriter,
    counts: MessageCounts,
    sessions: u32,
    facts: Facts,
}

/// The state of one input.
struct InputState {
    times: MessageTimes,
    /// Records that wait for the next ones.
    held: Records,
    errors: ReportedErrors,
    copies: Copies,
    damage: Damage,
    core: CoreId,
    session: u32,
}

impl InputState {
    /// Whether nothing before the next message waits for it.
    #[inline]
    fn is_sound(&self) -> bool {
        self.damage.is_over() && self.errors.is_empty()
    }

    /// The context of a record's events.
    #[inline(always)]
    fn context(&mut self, collateral: &Collateral, records: &Records, stored: &Stored, time: Nanos) -> EventContext {
        let offset = records.base + u64::from(stored.offset);
        let made_at = self.times.made_at(records, stored, offset).filter(|_| !is_field(collateral, records, stored));
        EventContext { time, core: self.core, session: self.session, has_transport_time: stored.transport.is_some(), made_at }
    }

    /// How many messages are missing at least where bytes make no message, and whether one begins with them: none where a copy of a piece
    /// of the file begins in them or after them, and none if there are fewer bytes than the shortest message has.
    #[cold]
    fn lost_in_packets(&mut self, bytes: &[u8], (offset, len): (u64, u64), place: Option<(u16, u16)>, begins: bool) -> u64 {
        let counts = self.damage.add(place, begins) && (begins || !(1..SHORTEST_BYTES).contains(&len));
        u64::from(counts && !self.is_copied(bytes, offset, len))
    }

    /// Enters the reported errors that what follows confirms, and forgets the others.
    #[cold]
    fn believe_errors(&mut self, ledger: &mut Ledger) {
        // What lies around it may be the remains of the message that it is about.
        let counts = u64::from(self.damage.is_over());
        for error in self.errors.judge() {
            if let Some((kind, _, lost)) = losses::of_notice(error.notice) {
                error.at_least_lost = lost * counts;
                ledger.enter(kind, error.offset, error.at_least_lost);
            }
        }
    }

    /// Whether bytes that make no message are where a piece of the file and its copy meet: then nothing is missing.
    #[cold]
    fn is_copied(&mut self, bytes: &[u8], offset: u64, len: u64) -> bool {
        let mut is_at = |at| self.copies.begins_at(bytes, at);
        is_at(offset) || is_at(offset + len) || self.copies.is_doubled(bytes, offset, offset + len)
    }
}

impl RecordResolver {
    /// Enters a record in the ledger. Returns how many messages are missing at least by a notice.
    fn enter(&mut self, input: &mut InputState, bytes: &[u8], records: &Records, stored: &Stored, ledger: &mut Ledger) -> u64 {
        self.counts.count(stored);
        let offset = records.base + u64::from(stored.offset);
        if input.errors.add(stored, offset) {
            input.believe_errors(ledger);
        }
        let place = records.senders.get(stored.sender as usize).and_then(|sender| sender.key.place);
        match stored.kind {
            RecordKind::Console => return 0,
            RecordKind::Malformed(reason) => {
                let skipped = if self.skips_malformed { u64::from(stored.len) } else { 0 };
                // The line that follows, if it is one of text.
                let next = offset + u64::from(stored.len);
                let rest = usize::try_from(next).ok().and_then(|next| bytes.get(next..)).unwrap_or(&[]);
                let next = next + rest.iter().take(2).take_while(|byte| b"\r\n".contains(byte)).count() as u64;
                let lost = if self.skips_malformed {
                    let is_doubled = !self.is_text && input.copies.is_doubled(bytes, offset, next);
                    u64::from(!is_doubled && !input.copies.begins_at(bytes, next))
                } else {
                    input.lost_in_packets(bytes, (offset, stored.len.into()), place, true)
                };
                ledger.bad_frame(losses::of_malformed(reason), offset, skipped, lost);
                return 0;
            }
            RecordKind::Notice(Notice::MasterError | Notice::GlobalError) => return 0,
            RecordKind::Notice(notice) => {
                let Some((kind, skips, lost)) = losses::of_notice(notice) else { return 0 };
                let lost = match notice {
                    // It has a begin that is right.
                    Notice::Undelimited => u64::from(!input.copies.is_doubled(bytes, offset, offset + stored.extra)),
                    Notice::Unsynced => input.lost_in_packets(bytes, (offset, stored.extra), place, false),
                    Notice::Unfinished | Notice::Beginless => {
                        input.lost_in_packets(bytes, (offset, 0), place, notice == Notice::Unfinished)
                    }
                    _ => lost,
                };
                // A later piece of an overlong line is the same case.
                if notice == Notice::OverlongLine && stored.value == 0 {
                    ledger.skipped_bytes += stored.extra;
                } else if skips {
                    ledger.bad_frame(kind, offset, stored.extra, lost);
                } else {
                    ledger.enter(kind, offset, lost);
                }
                return lost;
            }
            _ => ledger.frames_ok += 1,
        }
        if !input.damage.is_over() {
            input.damage.add_message(stored, place);
        }
        if stored.marks != Marks::default() {
            losses::enter_marks(stored.marks, offset, ledger);
        }
        0
    }

    /// Makes the events of the errors that were confirmed. `reached`: the time of the records that came meanwhile.
    #[cold]
    fn show_errors(&mut self, input: &mut InputState, reached: Nanos, out: &mut Resolved<'_>) {
        for error in input.errors.take_believed() {
            if let Some(mut at) = error.at {
                at.time = at.time.max(reached);
                let missing = Missing { offset: error.offset, bytes: 0, at_least_lost: error.at_least_lost };
                self.writer.notice(at, error.notice, error.value, missing, out);
            }
        }
    }

    /// Makes events of some records, and first of those that waited for them. `is_all`: no more will come.
    fn resolve(
        &mut self,
        input: &mut InputState,
        bytes: &[u8],
        records: &Records,
        which: Range<usize>,
        is_all: bool,
        out: &mut Resolved<'_>,
    ) {
        let fresh = records.stored.get(which).unwrap_or(&[]);
        if !input.held.stored.is_empty() {
            let held = std::mem::take(&mut input.held);
            let done = self.resolve_some(input, bytes, &held, (&held.stored, fresh), is_all, out);
            let mut waiting = Records::default();
            waiting.append(&held, held.stored.get(done..).unwrap_or(&[]));
            let is_held = !waiting.stored.is_empty();
            if is_held {
                waiting.append(records, fresh);
            }
            input.held = waiting;
            if is_held {
                return;
            }
        }
        let done = self.resolve_some(input, bytes, records, (fresh, &[]), is_all, out);
        if is_all {
            input.believe_errors(out.ledger);
            let reached = input.times.reached();
            self.show_errors(input, reached, out);
        }
        if done < fresh.len() {
            input.held.append(records, fresh.get(done..).unwrap_or(&[]));
        }
    }

    /// Makes events of records up to the first one whose time cannot be judged yet. Returns its index. `next` are the records after
    /// them.
    fn resolve_some(
        &mut self,
        input: &mut InputState,
        bytes: &[u8],
        records: &Records,
        (some, next): (&[Stored], &[Stored]),
        is_all: bool,
        out: &mut Resolved<'_>,
    ) -> usize {
        if !self.writer.begin_table(records, out) {
            return some.len();
        }
        let mut rest = some;
        while let Some((stored, held)) = rest.split_first() {
            let reached = input.times.reached();
            let judged = input.times.judge(stored, || Following { held, fresh: next, is_all });
            if judged == JudgedTime::Wait {
                return some.len() - rest.len();
            }
            rest = held;
            // The usual case.
            if let JudgedTime::At(time) = judged
                && stored.is_plain_message()
                && input.is_sound()
            {
                self.counts.count(stored);
                out.ledger.frames_ok += 1;
                let offset = records.base + u64::from(stored.offset);
                if let Some(readings) = input.times.take_doubt() {
                    out.ledger.enter_doubt(offset, readings);
                }
                let has_stamp = stored.transport.or(stored.timestamp).is_some();
                out.batch.note_judged(offset, has_stamp.then_some(time));
                if matches!(stored.kind, RecordKind::Text | RecordKind::Printf | RecordKind::Catalog | RecordKind::Raw) {
                    let context = input.context(&self.collateral, records, stored, time);
                    self.writer.plain_log(context, records, stored, out);
                } else {
                    self.make_events(input, records, stored, time, 0, out);
                }
                continue;
            }
            let lost = self.enter(input, bytes, records, stored, out.ledger);
            if input.errors.are_believed() {
                self.show_errors(input, reached, out);
            }
            if let Some(time) = self.time_of(input, records, stored, judged, out) {
                self.make_events(input, records, stored, time, lost, out);
            }
        }
        some.len()
    }

    /// The time of a record's events; `None` if it is not known.
    #[inline(never)]
    fn time_of(
        &mut self,
        input: &mut InputState,
        records: &Records,
        stored: &Stored,
        judged: JudgedTime,
        out: &mut Resolved<'_>,
    ) -> Option<Nanos> {
        let offset = records.base + u64::from(stored.offset);
        if let Some(readings) = input.times.take_doubt() {
            out.ledger.enter_doubt(offset, readings);
        }
        // Notices are of messages, which have their own times; a trigger is not.
        let has_own_time = !matches!(stored.kind, RecordKind::Notice(notice) if notice != Notice::Trigger);
        let time = match judged {
            JudgedTime::Unknown | JudgedTime::Wait => {
                out.batch.note_judged(offset, None::<Nanos>);
                return None;
            }
            JudgedTime::At(time) => time,
            JudgedTime::Clamped(time) | JudgedTime::Outlier(time) if !has_own_time => time,
            JudgedTime::Clamped(time) => {
                out.ledger.enter(losses::TIME_HELD, offset, 0);
                time
            }
            JudgedTime::Overflow(time) => {
                out.ledger.enter(losses::TIME_OVERFLOW, offset, 0);
                time
            }
            JudgedTime::Outlier(time) => {
                out.ledger.enter(losses::TIME_OUTLIER, offset, 0);
                time
            }
            JudgedTime::Restart(_) if input.session + 1 >= SESSIONS_LIMIT => {
                out.ledger.enter(losses::TIME_HELD, offset, 0);
                input.times.reached()
            }
            JudgedTime::Restart(time) => {
                input.times.restart(stored, time);
                input.session += 1;
                self.sessions = self.sessions.max(input.session + 1);
                out.ledger.enter(losses::SESSION_RESTART, offset, 0);
                out.batch.events.push(Event { time, core: input.core, kind: EventKind::SessionStart(input.session) });
                self.writer.begin_session(records);
                time
            }
        };
        // A notice of a message without end comes before messages that are still open: a time at which it is held is not its own.
        let is_held_notice = matches!((stored.kind, judged), (RecordKind::Notice(_), JudgedTime::Clamped(_)));
        let has_stamp = stored.transport.or(stored.timestamp).is_some() && !is_held_notice;
        out.batch.note_judged(offset, has_stamp.then_some(time));
        if !input.times.note(records, stored, time, input.errors.is_damaged()) {
            out.ledger.enter(losses::RATE_OUTLIER, offset, 0);
        }
        Some(time)
    }

    /// `at_least_lost`: how many messages are missing by a notice.
    #[inline(never)]
    fn make_events(
        &mut self,
        input: &mut InputState,
        records: &Records,
        stored: &Stored,
        time: Nanos,
        at_least_lost: u64,
        out: &mut Resolved<'_>,
    ) {
        let context = input.context(&self.collateral, records, stored, time);
        match stored.kind {
            RecordKind::Notice(Notice::MasterError | Notice::GlobalError) => input.errors.set_context(context),
            RecordKind::Notice(notice) => {
                let offset = records.base + u64::from(stored.offset);
                let missing = Missing { offset, bytes: stored.extra, at_least_lost };
                self.writer.notice(context, notice, stored.value, missing, out);
            }
            _ => self.writer.message(context, records, stored, out),
        }
    }

    /// `transport`: the details of the transport.
    fn refresh_facts(&mut self, input: &InputState, transport: Vec<Detail>) {
        self.facts.sessions = self.sessions;
        self.facts.clock = input.times.rate();
        self.facts.findings = vec![input.times.finding()];
        self.facts.clocks = input.times.side_clocks();
        self.facts.details = input.times.details(self.counts.stamped());
        self.facts.details.extend(transport);
        self.facts.details.extend(self.program.0.iter().cloned());
        self.facts.details.extend(self.counts.details());
        if let Some(client) = self.collateral.clients.first().filter(|_| self.writer.assumes_client()) {
            let value = format!("{:?}, also for senders that the collateral does not name", client.name);
            self.facts.details.push(Detail { name: "client", value, source: "assumed: it is the only client".into() });
        }
        self.facts.hints = input.times.hints();
        self.facts.hints.extend(self.program.1.iter().cloned());
        self.facts.hints.extend(self.counts.hints(!self.collateral.clients.is_empty()));
        if self.counts.shorts() == 0 && self.writer.short_as_counter {
            self.facts.hints.push("--short-as-counter was not used: there are no short messages.".to_owned());
        }
        if self.collateral.short_guid.is_some()
            && !self.collateral.clients.is_empty()
            && self.collateral.client(Sender::Unknown, None, None).is_none()
        {
            let names: Vec<&str> = self.collateral.clients.iter().map(|client| client.name.as_str()).collect();
            self.facts.hints.push(format!("--syst-short-guid: no client of the collateral has this GUID: {}.", names.join(", ")));
        }
    }
}

/// Whether a message's time stamp is mere information, as its client's collateral says, and not the time of the message.
fn is_field(collateral: &Collateral, records: &Records, stored: &Stored) -> bool {
    let found = records.senders.get(stored.sender as usize).and_then(|sender| sender.found);
    found.and_then(|found| collateral.get(found.client)).is_some_and(|client| client.timestamp_is_field)
}

/// Details about the program that was given, and hints about what it lacks.
fn describe_program(settings: &Settings) -> (Vec<Detail>, Vec<String>) {
    let Some((path, symbols)) = &settings.symbols else { return Default::default() };
    let value = format!("{path}, for {}, {}", symbols.machine(), counted(symbols.functions().len(), "function"));
    (vec![Detail { name: "program", value, source: "--elf".into() }], shortcomings(path, symbols).collect())
}
