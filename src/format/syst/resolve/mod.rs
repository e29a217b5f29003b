//! Records in file order → events of the common model.
//!
//! Here is what has a memory: the clocks, open functions, the transport's own state (STP packets, raw bytes between anchors), and the
//! tracks that were made.

mod clock;
mod events;
mod feed;
mod held;
mod losses;
mod tally;
mod tracks;
mod view;

use std::ops::Range;
use std::sync::Arc;

use crate::format::{Detail, Facts, ListRecord, Resolve, Resolved};
use crate::model::{CoreId, Event, EventKind, Ledger, LossNote, Nanos};

use super::collateral::Collateral;
use super::decode::{Decoder, Notice, Records, Stored, What};
use super::record::Marks;
use super::scan::Found;
use super::{Settings, Transport, TransportPart};
use clock::{Ahead, Clock, Verdict};
use feed::Feed;
use tally::Tally;
use tracks::Tracks;

/// How many restarts are believed.
const SESSIONS_LIMIT: u32 = 1 << 12;

/// Turns records into events.
pub(super) struct Resolver {
    transport: Transport,
    collateral: Arc<Collateral>,
    /// What is known of the program, and what it lacks.
    program: (Vec<Detail>, Vec<String>),
    short_as_counter: bool,
    inputs: Vec<Input>,
    tracks: Tracks,
    tally: Tally,
    sessions: u32,
    facts: Facts,
    /// Where the texts of the present records start in those of the batch.
    texts_start: u32,
}

/// The state of one input.
struct Input {
    feed: Feed,
    clock: Clock,
    /// Records that wait for what follows.
    held: Records,
    core: CoreId,
    session: u32,
    /// How many bytes it has.
    total_bytes: u64,
}

impl Resolver {
    pub(super) fn new(transport: Transport, settings: &Settings, found: Vec<Found>, decoders: &[Decoder]) -> Resolver {
        let collateral = settings.collateral.clone();
        let inputs: Vec<Input> = (0u16..)
            .zip(found.iter().zip(decoders))
            .map(|(core, (found, decoder))| Input {
                feed: Feed::new(transport, settings, found, decoder.clone()),
                clock: Clock::new(transport, settings, found),
                held: Records::default(),
                core: CoreId(core),
                session: 0,
                total_bytes: 0,
            })
            .collect();
        let mut facts = Facts { cores: u16::try_from(inputs.len().max(1)).unwrap_or(u16::MAX), sessions: 1, ..Facts::default() };
        if let Some(input) = inputs.first() {
            facts.clock = input.clock.told();
            facts.clocks.extend(found.first().and_then(|found| input.clock.wall_at_start(found)));
            facts.details.extend(input.clock.details((0, 0)));
            facts.details.extend(input.feed.details());
            facts.hints.extend(input.clock.hints());
        }
        let short_as_counter = settings.short_as_counter;
        let tracks = Tracks::new(collateral.entries.len(), settings.symbols.as_ref().map(|(_, symbols)| symbols.clone()));
        Resolver {
            transport,
            collateral,
            program: describe_program(settings),
            short_as_counter,
            inputs,
            tracks,
            tally: Tally::default(),
            sessions: 1,
            facts,
            texts_start: 0,
        }
    }

    /// The cores that may have events, of each input.
    pub(super) fn cores(&self) -> Vec<Vec<CoreId>> {
        self.inputs.iter().map(|input| vec![input.core]).collect()
    }

    /// Enters a record in the ledger.
    fn enter(&mut self, records: &Records, stored: &Stored, ledger: &mut Ledger) {
        self.tally.count(stored);
        let offset = records.base + u64::from(stored.offset);
        match stored.what {
            What::Console => return,
            What::Malformed(reason) => {
                // Of STP the packets were sound.
                let bytes = if self.transport == Transport::Stp { 0 } else { u64::from(stored.len) };
                ledger.bad_frame(losses::of_malformed(reason), offset, bytes, 1);
                return;
            }
            What::Notice(notice) => {
                if let Some((kind, skips, lost)) = losses::of_notice(notice) {
                    // A part of an overlong line that was met before is the same case.
                    if notice == Notice::OverlongLine && stored.value == 0 {
                        ledger.skipped_bytes += stored.extra;
                    } else if skips {
                        ledger.bad_frame(kind, offset, stored.extra, lost);
                    } else {
                        ledger.enter(kind, offset, lost);
                    }
                }
                return;
            }
            _ => ledger.frames_ok += 1,
        }
        if stored.marks != Marks::default() {
            losses::enter_marks(stored.marks, offset, ledger);
        }
    }

    /// Makes events of some records, and before that of those that waited for them. `is_all`: no more will come.
    fn take(&mut self, index: usize, records: &Records, which: Range<usize>, is_all: bool, out: &mut Resolved<'_>) {
        let fresh = records.stored.get(which).unwrap_or(&[]);
        let Some(input) = self.inputs.get_mut(index) else { return };
        if !input.held.stored.is_empty() {
            let held = std::mem::take(&mut input.held);
            let done = self.take_some(index, &held, &held.stored, fresh, is_all, out);
            let mut waiting = Records::default();
            held::hold(&mut waiting, &held, held.stored.get(done..).unwrap_or(&[]));
            let is_held = !waiting.stored.is_empty();
            if is_held {
                held::hold(&mut waiting, records, fresh);
            }
            if let Some(input) = self.inputs.get_mut(index) {
                input.held = waiting;
            }
            if is_held {
                return;
            }
        }
        let done = self.take_some(index, records, fresh, &[], is_all, out);
        if done < fresh.len()
            && let Some(input) = self.inputs.get_mut(index)
        {
            held::hold(&mut input.held, records, fresh.get(done..).unwrap_or(&[]));
        }
    }

    /// Makes events of records, up to the first whose time cannot be judged yet; gives its number. `behind`: what follows them.
    fn take_some(
        &mut self,
        index: usize,
        records: &Records,
        some: &[Stored],
        behind: &[Stored],
        is_all: bool,
        out: &mut Resolved<'_>,
    ) -> usize {
        self.tracks.begin_part(records);
        // All at once: one by one would cost several times as much.
        let Ok(start) = out.batch.texts.append(&records.texts) else { return some.len() };
        self.texts_start = start;
        for (number, stored) in some.iter().enumerate() {
            let Some(input) = self.inputs.get_mut(index) else { return some.len() };
            let ahead = Ahead { held: some.get(number + 1..).unwrap_or(&[]), fresh: behind, is_all };
            let verdict = input.clock.judge(stored, ahead);
            if verdict == Verdict::Wait {
                return number;
            }
            self.enter(records, stored, out.ledger);
            self.take_one(index, records, stored, verdict, out);
        }
        some.len()
    }

    fn take_one(&mut self, index: usize, records: &Records, stored: &Stored, verdict: Verdict, out: &mut Resolved<'_>) {
        let Some(input) = self.inputs.get_mut(index) else { return };
        let offset = records.base + u64::from(stored.offset);
        let time = match verdict {
            Verdict::Unknown | Verdict::Wait => return,
            Verdict::At(time) => time,
            Verdict::Clamped(time) => {
                // What the transport says is told at once, before messages that are still open.
                if !matches!(stored.what, What::Notice(_)) {
                    out.ledger.enter(losses::TIME_CLAMPED, offset, 0);
                }
                time
            }
            Verdict::Overflow(time) => {
                out.ledger.enter(losses::TIME_OVERFLOW, offset, 0);
                time
            }
            Verdict::Outlier(time) => {
                if !matches!(stored.what, What::Notice(_)) {
                    out.ledger.enter(losses::TIME_OUTLIER, offset, 0);
                }
                time
            }
            Verdict::Restart(_) if input.session + 1 >= SESSIONS_LIMIT => {
                out.ledger.enter(losses::TIME_CLAMPED, offset, 0);
                input.clock.hold()
            }
            Verdict::Restart(time) => {
                input.clock.restart(time);
                input.clock.note_restart(stored, time);
                input.session += 1;
                self.sessions = self.sessions.max(input.session + 1);
                out.ledger.enter(losses::TIME_RESTART, offset, 0);
                out.batch.events.push(Event { time, core: input.core, kind: EventKind::SessionStart(input.session) });
                self.tracks.forget_session();
                self.tracks.begin_part(records);
                time
            }
        };
        input.clock.note(stored, time);
        let made_at = input.clock.made_at(stored, offset).filter(|_| !is_field(&self.collateral, records, stored));
        let at = At { time, core: input.core, session: input.session, has_transport_time: stored.transport.is_some(), made_at };
        if let What::Notice(notice) = stored.what {
            return self.notice(at, notice, records, stored, out);
        }
        self.event(at, records, stored, out);
    }

    fn notice(&mut self, at: At, notice: Notice, records: &Records, stored: &Stored, out: &mut Resolved<'_>) {
        let is_gap = matches!(notice, Notice::Unsynced | Notice::Undelimited | Notice::GlobalError);
        if let Some((kind, _, at_least_lost)) = losses::of_notice(notice).filter(|_| is_gap) {
            let note = LossNote { kind, offset: records.base + u64::from(stored.offset), bytes: stored.extra, at_least_lost };
            if let Ok(index) = u32::try_from(out.batch.losses.len()) {
                out.batch.losses.push(note);
                out.batch.events.push(Event { time: at.time, core: at.core, kind: EventKind::Loss(index) });
                // What was open is closed there.
                self.tracks.close_all();
            }
        }
        self.notice_event(at, notice, stored, out);
    }
}

/// Whether a message's time stamp is information, as its client's collateral says, and not when it was made.
fn is_field(collateral: &Collateral, records: &Records, stored: &Stored) -> bool {
    let found = records.senders.get(stored.sender as usize).and_then(|sender| sender.found);
    found.and_then(|found| collateral.get(found.client)).is_some_and(|client| client.timestamp_is_field)
}

/// Where an event goes.
#[derive(Clone, Copy)]
struct At {
    time: Nanos,
    core: CoreId,
    session: u32,
    has_transport_time: bool,
    /// Where on the trace's axis the message was made, by its own time stamp, if the transport has a time for it, too. In nanoseconds.
    made_at: Option<u64>,
}

impl Resolve for Resolver {
    type Records = TransportPart;

    fn resolve(&mut self, input: usize, bytes: &[u8], part: &mut TransportPart, out: &mut Resolved<'_>) {
        let Some(state) = self.inputs.get_mut(input) else { return };
        let mut feed = std::mem::take(&mut state.feed);
        feed.take(bytes, part, |records, which| self.take(input, records, which, false, out));
        let is_done = feed.is_done();
        let Some(state) = self.inputs.get_mut(input) else { return };
        state.total_bytes = feed.end_bytes();
        state.feed = feed;
        if is_done {
            self.take(input, &Records::default(), 0..0, true, out);
            self.settle(input, out.ledger);
        }
    }

    fn finish(&mut self, _input: usize, _out: &mut Resolved<'_>) {
        self.refresh_facts();
    }

    fn dump(&mut self, input: usize, bytes: &[u8], part: &mut TransportPart, ledger: &mut Ledger, out: &mut ListRecord<'_>) {
        let Some(state) = self.inputs.get_mut(input) else { return };
        let mut feed = std::mem::take(&mut state.feed);
        let mut goes_on = true;
        feed.take(bytes, part, |records, which| {
            for stored in records.stored.get(which).unwrap_or(&[]) {
                self.enter(records, stored, ledger);
                goes_on = goes_on && self.show(input, records, stored, out);
            }
        });
        let is_done = feed.is_done();
        if let Some(state) = self.inputs.get_mut(input) {
            state.total_bytes = feed.end_bytes();
            state.feed = feed;
        }
        if is_done {
            self.settle(input, ledger);
        }
        self.refresh_facts();
    }

    fn facts(&self) -> Facts {
        self.facts.clone()
    }
}

impl Resolver {
    /// An input has ended: what was not skipped was decoded.
    fn settle(&mut self, input: usize, ledger: &mut Ledger) {
        if let Some(state) = self.inputs.get(input) {
            ledger.decoded_bytes = state.total_bytes.saturating_sub(ledger.skipped_bytes);
        }
        self.refresh_facts();
    }

    fn refresh_facts(&mut self) {
        let Some(input) = self.inputs.first() else { return };
        self.facts.sessions = self.sessions;
        self.facts.clock = input.clock.told();
        self.facts.clocks = input.clock.side_clocks();
        self.facts.details = input.clock.details(self.tally.stamped());
        self.facts.details.extend(input.feed.details());
        self.facts.details.extend(self.program.0.iter().cloned());
        self.facts.details.extend(self.tally.details());
        if let Some(client) = self.collateral.clients.first().filter(|_| self.tracks.assumes_client) {
            let value = format!("{:?}, also for senders that the collateral does not name", client.name);
            self.facts.details.push(Detail { name: "client", value, source: "assumed: there is no other".into() });
        }
        self.facts.hints = input.clock.hints();
        self.facts.hints.extend(self.program.1.iter().cloned());
        self.facts.hints.extend(self.tally.hints(self.transport, !self.collateral.clients.is_empty()));
    }
}

/// The program that was given, and what it lacks.
fn describe_program(settings: &Settings) -> (Vec<Detail>, Vec<String>) {
    let Some((path, symbols)) = &settings.symbols else { return Default::default() };
    let value = format!("{path}, for {}, {} functions", symbols.machine(), symbols.functions().len());
    let hints = symbols.shortcomings().iter().map(|shortcoming| format!("About {path}: {shortcoming}.")).collect();
    (vec![Detail { name: "program", value, source: "--elf".into() }], hints)
}
