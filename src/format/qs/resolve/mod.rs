//! Records in file order → events of the common model.
//!
//! - [`input`]: sequence numbers, damage, sessions; [`clock`]: the time;
//! - [`tables`]: addresses to handles; [`firmware`]: the entities of a session;
//! - [`events`], [`rarer`], [`application`]: what each record means;
//! - [`view`]: the records as they are.

mod application;
mod clock;
mod events;
mod firmware;
mod input;
mod rarer;
mod tables;
mod view;

use std::sync::Arc;

use crate::format::{Facts, ListRecord, Resolve, Resolved};
use crate::model::{CoreId, EventKind, Ledger, Rate};

use super::decode::Records;
use super::record::Kind;
use super::sessions::Sessions;
use events::{Course, Shows, Work};
use firmware::{Firmware, put, session_of};
use input::Input;
use view::{ViewFields, show_invalid};

/// What of the recording is wanted.
#[derive(Clone, Debug, Default)]
pub struct Wanted {
    /// The allocation of events, critical sections.
    pub everything: bool,
    /// Elements of application records that are drawn as counters: the record by name, its number or id, and the element.
    pub counters: Vec<(String, usize)>,
}

/// Turns records into events.
pub struct Resolver {
    lines: Vec<Line>,
    wanted: Wanted,
    units_per_tick: Option<u64>,
    facts: Facts,
}

/// One input and what has been made of it.
struct Line {
    input: Input,
    firmware: Firmware,
    course: Course,
    asserts: u64,
}

impl Resolver {
    pub fn new(inputs: Vec<Sessions>, rate: Rate, wanted: Wanted, units_per_tick: Option<u64>, facts: Facts) -> Resolver {
        let lines = (0u16..)
            .zip(inputs)
            .map(|(core, sessions)| {
                let input = Input::new(sessions, rate);
                let mut firmware = Firmware::new(0, CoreId(core), 0);
                firmware.counters = counters(&wanted, &input);
                Line { input, firmware, course: Course::new(), asserts: 0 }
            })
            .collect();
        Resolver { lines, wanted, units_per_tick, facts }
    }
}

/// The counters that are wanted, by id in the present session.
fn counters(wanted: &Wanted, input: &Input) -> Vec<(u8, usize, Option<crate::model::LaneId>)> {
    let session = input.present();
    let id_of = |name: &str| match name.parse::<u8>() {
        Ok(id) => Some(id),
        Err(_) => (session.layout.config.user_base..=u8::MAX).find(|&id| session.names.record(id) == Some(name)),
    };
    wanted.counters.iter().filter_map(|(name, index)| Some((id_of(name)?, *index, None))).collect()
}

impl Resolve for Resolver {
    type Records = Records;

    fn resolve(&mut self, input: usize, _bytes: &[u8], records: &mut Records, out: &mut Resolved<'_>) {
        let shows = Shows { everything: self.wanted.everything, units_per_tick: self.units_per_tick };
        if let Some(line) = self.lines.get_mut(input) {
            line.take_part(records, shows, &self.wanted, out);
        }
    }

    fn finish(&mut self, input: usize, out: &mut Resolved<'_>) {
        let Some(line) = self.lines.get_mut(input) else { return };
        line.input.end_run(None, out.ledger);
        line.gap(out);
    }

    fn dump(&mut self, input: usize, _bytes: &[u8], records: &mut Records, ledger: &mut Ledger, out: &mut ListRecord<'_>) {
        if let Some(line) = self.lines.get_mut(input) {
            dump_part(&mut line.input, records, ledger, out);
        }
    }

    fn facts(&self) -> Facts {
        let sessions = self.lines.iter().map(|line| line.input.sessions_begun).max().unwrap_or(1);
        let mut facts = Facts { sessions, ..self.facts.clone() };
        let asserts: u64 = self.lines.iter().map(|line| line.asserts).sum();
        if asserts > 0 {
            facts.details.push(crate::format::Detail {
                name: "assertions failed",
                value: asserts.to_string(),
                source: "told by the target".to_owned(),
            });
        }
        facts
    }
}

impl Line {
    fn take_part(&mut self, records: &Records, shows: Shows, wanted: &Wanted, out: &mut Resolved<'_>) {
        self.input.enter_part(records, out.ledger);
        self.tell_sessions(out);
        let mut damage = records.damage.as_slice();
        for (number, &(start, segment)) in records.segments.iter().enumerate() {
            let end = records.segments.get(number + 1).map_or(records.frames.len(), |next| next.0 as usize);
            let start = start as usize;
            if start < end && segment as usize != self.input.session {
                let offset = records.frames.get(start).map_or(0, |stored| records.base + u64::from(stored.offset));
                self.take_damage(records, &mut damage, start, out);
                self.enter_session(segment as usize, offset, wanted, out);
            }
            self.take_records(records, start..end, &mut damage, shows, out);
        }
        self.take_damage(records, &mut damage, usize::MAX, out);
    }

    /// What is known of sessions as a whole, before anything is drawn of them.
    fn tell_sessions(&mut self, out: &mut Resolved<'_>) {
        let known = out.entities.sessions.len();
        let more = self.input.sessions.all.get(known..).unwrap_or(&[]);
        out.entities.sessions.extend(more.iter().map(|session| session_of(session)));
    }

    fn enter_session(&mut self, session: usize, offset: u64, wanted: &Wanted, out: &mut Resolved<'_>) {
        let core = self.firmware.core;
        self.input.end_run(None, out.ledger);
        self.gap(out);
        if !self.input.enter_session(session, offset, out.ledger) {
            return;
        }
        let stretch = self.firmware.stretch + 1;
        self.firmware = Firmware::new(session as u32, core, stretch);
        self.firmware.counters = counters(wanted, &self.input);
        self.course = Course::new();
        put(out.batch, core, self.input.clock.now(), EventKind::SessionStart(session as u32));
    }

    fn take_damage(&mut self, records: &Records, damage: &mut &[super::decode::Damage], before: usize, out: &mut Resolved<'_>) {
        while let Some((first, rest)) = damage.split_first().filter(|(first, _)| first.index as usize <= before) {
            *damage = rest;
            self.input.take_damage(records, first, out.ledger);
        }
    }

    fn take_records(
        &mut self,
        records: &Records,
        range: std::ops::Range<usize>,
        damage: &mut &[super::decode::Damage],
        shows: Shows,
        out: &mut Resolved<'_>,
    ) {
        // Names of damaged dictionaries that were saved are not known from the first pass.
        let learns = !records.repairs.is_empty();
        let mut session = self.input.present().clone();
        for (number, stored) in range.clone().zip(records.frames.get(range).unwrap_or(&[])) {
            if damage.first().is_some_and(|first| first.index as usize <= number) {
                self.take_damage(records, damage, number, out);
            }
            if !self.input.is_next(stored.seq) {
                let offset = records.base + u64::from(stored.offset);
                self.input.take_odd(stored.seq, Some(stored.kind), offset, out.ledger);
            }
            if stored.is_timed {
                let before = self.input.clock.now();
                self.input.take_time(records.base, stored, out.ledger);
                if self.input.gap.is_some() {
                    self.gap(out);
                } else {
                    let now = self.input.clock.now();
                    debug_assert!(before <= now, "time goes back");
                }
            } else if self.input.gap.is_some() || !self.input.clock.has_begun() {
                // When it was is known with the next time stamp only, and what it belongs to is not known at all.
                continue;
            }
            if learns && matches!(stored.kind, Kind::ObjDict | Kind::FunDict | Kind::SigDict | Kind::UsrDict | Kind::EnumDict) {
                self.input.learn(records, stored);
                session = self.input.present().clone();
            }
            self.asserts += u64::from(stored.kind == Kind::AssertFail);
            let mut work = Work {
                firmware: &mut self.firmware,
                course: &mut self.course,
                from: &session,
                shows,
                out,
                now: self.input.clock.now(),
            };
            // `None`: more of something than anybody has; it is not drawn.
            let _ = work.record(records, stored);
        }
    }

    /// What is missing before the present is told, and nothing of before holds any more.
    #[cold]
    fn gap(&mut self, out: &mut Resolved<'_>) {
        let Some(note) = self.input.gap.take() else { return };
        self.firmware.stretch += 1;
        self.course.forget();
        let number = u32::try_from(out.batch.losses.len()).unwrap_or(u32::MAX);
        out.batch.losses.push(note);
        put(out.batch, self.firmware.core, self.input.clock.now(), EventKind::Loss(number));
    }
}

/// Lists the records of a part. False: no more are wanted.
fn dump_part(input: &mut Input, records: &Records, ledger: &mut Ledger, out: &mut ListRecord<'_>) -> bool {
    input.enter_part(records, ledger);
    let mut damage = records.damage.iter().peekable();
    let mut segments = records.segments.iter().peekable();
    for number in 0..=records.frames.len() {
        while let Some(bad) = damage.next_if(|bad| bad.index as usize <= number) {
            let offset = records.base + u64::from(bad.offset);
            if bad.seq.is_some() && input.run.is_some() && !show_run(input, ledger, bad.seq, offset, out) {
                return false;
            }
            input.take_damage(records, bad, ledger);
            if bad.seq.is_some() && !show_invalid(offset, records.bytes(bad.raw), bad.reason, bad.seq, out) {
                return false;
            }
        }
        let Some(stored) = records.frames.get(number) else { break };
        let offset = records.base + u64::from(stored.offset);
        if input.run.is_some() && !show_run(input, ledger, Some(stored.seq), offset, out) {
            return false;
        }
        while let Some(&(_, segment)) = segments.next_if(|segment| segment.0 as usize <= number) {
            input.enter_session(segment as usize, offset, ledger);
        }
        if !input.is_next(stored.seq) {
            input.take_odd(stored.seq, Some(stored.kind), offset, ledger);
        }
        input.gap = None;
        if stored.is_timed {
            input.take_time(records.base, stored, ledger);
        }
        let session = Arc::clone(input.present());
        let fields = ViewFields::of(records, stored, &session.layout, &session.names);
        let ticks = stored.is_timed.then_some(u64::from(stored.time));
        let nanos = stored.is_timed.then_some(input.clock.now().0);
        if !fields.show(stored.kind.spec().name, offset, (ticks, nanos), out) {
            return false;
        }
    }
    // A part ends behind a sound frame, within a run that goes on, or with the input.
    records.goes_on || input.run.is_none() || show_run(input, ledger, None, 0, out)
}

/// Shows a run of damage, which ends before a sound frame or with the input.
fn show_run(input: &mut Input, ledger: &mut Ledger, seq: Option<u8>, offset: u64, out: &mut ListRecord<'_>) -> bool {
    let Some(run) = input.run.clone() else { return true };
    match seq {
        Some(seq) => input.end_run_before(seq, offset, ledger),
        None => drop(input.end_run(None, ledger)),
    }
    show_invalid(run.offset, &run.raw, run.reason, None, out)
}
