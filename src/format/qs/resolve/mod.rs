//! Records in file order → events of the common model.
//!
//! - [`wire`]: sequence numbers, damage, sessions; [`clock`]: the time;
//! - [`tables`]: addresses to handles; [`firmware`]: the entities of a session;
//! - [`events`], [`application`]: the events of each record;
//! - [`view`]: the records as recorded.

mod application;
mod clock;
mod events;
mod firmware;
mod tables;
mod view;
mod wire;

use std::collections::VecDeque;
use std::sync::Arc;

use crate::clock::LOOKAHEAD;
use crate::format::program::Lookups;
use crate::format::{Facts, ListRecord, Resolve, Resolved};
use crate::model::{CoreId, Ledger, Rate};

use super::decode::Records;
use super::record::Kind;
use super::sessions::{Session, Sessions};
use events::{RecordResolver, RunState};
use firmware::{Counter, Firmware, record_name, session_of};
use view::{ViewFields, show_invalid};
use wire::{Following, LOOKAHEAD_BYTES, LOOKAHEAD_FRAMES, Later, Place, WireState};

/// The user's options for drawing, and the limits of it.
#[derive(Clone, Debug, Default)]
pub struct DrawOptions {
    /// The allocation of events, critical sections.
    pub everything: bool,
    /// Elements of application records to draw as counters: the record (name or id), and the index of the element.
    pub counters: Vec<(String, usize)>,
    /// Whether the recording never says that an event is taken out of a queue: it is when it is dispatched.
    pub lacks_gets: bool,
    /// Units of the time stamps in a clock tick, if they could be measured.
    pub units_per_tick: Option<u64>,
}

/// Turns records into events.
pub struct Resolver {
    inputs: Vec<InputResolver>,
    draw: DrawOptions,
    facts: Facts,
}

/// The resolver of one input.
struct InputResolver {
    wire: WireState,
    firmware: Firmware,
    run_state: RunState,
    asserts: u64,
    /// All its records were resolved.
    is_ended: bool,
    /// Parts whose stamps are judged by what follows them.
    held: VecDeque<Records>,
}

impl Resolver {
    /// `rates`: the units of the stamps in a clock tick for each input, as exact as known.
    pub fn new(inputs: Vec<Sessions>, rate: Rate, draw: DrawOptions, rates: Vec<Option<f64>>, mut facts: Facts) -> Resolver {
        facts.hints.extend(unknown_counters(&draw, &inputs));
        let inputs = (0u16..)
            .zip(inputs.into_iter().zip(rates))
            .map(|(core, (sessions, units))| {
                let wire = WireState::new(sessions, rate, units);
                let mut firmware = Firmware::new(0, CoreId(core), 0);
                firmware.counters = counters(&draw, &wire);
                firmware.counted = vec![false; draw.counters.len()];
                let run_state = RunState::default();
                InputResolver { wire, firmware, run_state, asserts: 0, is_ended: false, held: VecDeque::new() }
            })
            .collect();
        Resolver { inputs, draw, facts }
    }
}

/// Advice about counters of records that have another name.
fn unknown_counters(draw: &DrawOptions, inputs: &[Sessions]) -> Option<String> {
    let records = inputs
        .iter()
        .flat_map(|sessions| &sessions.all)
        .flat_map(|session| (session.layout.config.user_base..=u8::MAX).filter_map(|id| session.names.record(id)));
    let known: std::collections::BTreeSet<&str> = records.collect();
    let is_unknown =
        |name: &&String| inputs.iter().flat_map(|input| &input.all).all(|session| record_id(name, session).is_none());
    let unknown: Vec<&str> = draw.counters.iter().map(|(name, _)| name).filter(is_unknown).map(String::as_str).collect();
    let known = known.into_iter().filter(|name| *name != "QUTEST_ON_POST").collect::<Vec<_>>().join(", ");
    (!unknown.is_empty()).then(|| {
        let names = match known.as_str() {
            "" => "Their names are not known: give --qs-dict, or an id".to_owned(),
            known => format!("There are: {known}"),
        };
        format!("--qs-counter: no application record has the name {}. {names}.", unknown.join(", "))
    })
}

/// The id of an application record that is given by its id or by the name of its track.
fn record_id(name: &str, session: &Session) -> Option<u8> {
    let by_name = || (session.layout.config.user_base..=u8::MAX).find(|&id| record_name(id, session) == name);
    name.parse().ok().or_else(by_name)
}

/// The counters to draw, by record id in the current session.
fn counters(draw: &DrawOptions, wire: &WireState) -> Vec<Counter> {
    let counter = |(number, (name, index)): (usize, &(String, usize))| {
        Some(Counter { number, id: record_id(name, wire.present())?, index: *index, lane: None })
    };
    draw.counters.iter().enumerate().filter_map(counter).collect()
}

impl Resolve for Resolver {
    type Records = Records;

    fn resolve(&mut self, input: usize, bytes: &[u8], records: &mut Records, out: &mut Resolved<'_>) {
        if let Some(input) = self.inputs.get_mut(input) {
            input.held.push_back(std::mem::take(records));
            while input.is_enough_held() {
                *records = input.take_oldest(&self.draw, bytes, out);
            }
        }
    }

    fn finish(&mut self, input: usize, bytes: &[u8], out: &mut Resolved<'_>) {
        let Some(input) = self.inputs.get_mut(input) else { return };
        while !input.held.is_empty() {
            input.take_oldest(&self.draw, bytes, out);
        }
        input.wire.end_run(None, out.ledger);
        input.gap(&self.draw, out);
        input.is_ended = true;
    }

    fn dump(&mut self, input: usize, _bytes: &[u8], records: &mut Records, ledger: &mut Ledger, out: &mut ListRecord<'_>) {
        if let Some(input) = self.inputs.get_mut(input) {
            dump_part(&mut input.wire, records, ledger, out);
        }
    }

    fn facts(&self) -> Facts {
        let sessions = self.inputs.iter().map(|input| input.wire.sessions_begun).max().unwrap_or(1);
        let mut facts = Facts { sessions, ..self.facts.clone() };
        let asserts: u64 = self.inputs.iter().map(|input| input.asserts).sum();
        if asserts > 0 {
            facts.details.push(crate::format::Detail {
                name: "assertions failed",
                value: asserts.to_string(),
                source: "recorded in the capture".to_owned(),
            });
        }
        if self.inputs.iter().all(|input| input.is_ended) {
            facts.hints.extend(self.unused_counters());
            facts.hints.extend(self.inputs.iter().map(|input| input.firmware.tables.lookups).sum::<Lookups>().hint());
            let highest = self.inputs.iter().filter_map(|input| input.wire.clock.begins_again_after()).max();
            facts.hints.extend(highest.map(|highest| {
                format!(
                    "The target's clock begins again about every {highest} units, as if QS_onGetTime returned only the time since the last \
                     clock tick: the events are in order, but their times are not known. Let QS_onGetTime add the time of all ticks so far."
                )
            }));
        }
        facts
    }
}

impl Resolver {
    /// Advice about counters without a value, although records of their names may be in the capture.
    fn unused_counters(&self) -> impl Iterator<Item = String> {
        let is_unused = |number: usize| {
            let of = |input: &InputResolver| {
                let is_counted = input.firmware.counted.get(number) == Some(&true);
                (is_counted, input.firmware.counters.iter().any(|counter| counter.number == number))
            };
            let of: Vec<(bool, bool)> = self.inputs.iter().map(of).collect();
            !of.iter().any(|(is_counted, _)| *is_counted) && of.iter().any(|(_, has_record)| *has_record)
        };
        let unused = self.draw.counters.iter().enumerate().filter(move |(number, _)| is_unused(*number));
        unused.map(|(_, (name, index))| {
            format!("--qs-counter {name}:{index}: no record {name} in the capture has a number as element {index} (the first one is 0).")
        })
    }
}

impl InputResolver {
    /// Whether all that the oldest part's stamps are judged by has come.
    fn is_enough_held(&self) -> bool {
        let later = self.held.iter().skip(1);
        let Some((first, last)) = later.clone().next().zip(self.held.back()) else { return false };
        if last.base.saturating_sub(first.base) >= LOOKAHEAD_BYTES {
            return true;
        }
        let (mut frames, mut timed) = (0, 0);
        let copies = &self.wire.sessions.copies;
        let stored = later.flat_map(|records| records.frames.iter().map(move |stored| (records, stored)));
        for (records, stored) in stored.take(LOOKAHEAD_FRAMES) {
            let counts = stored.is_timed && copies.end_at(records.offset_of(stored)).is_none();
            (frames, timed) = (frames + 1, timed + usize::from(counts));
            if timed >= LOOKAHEAD || frames >= LOOKAHEAD_FRAMES {
                return true;
            }
        }
        false
    }

    /// Takes the oldest part; gives it back for its memory.
    fn take_oldest(&mut self, draw: &DrawOptions, bytes: &[u8], out: &mut Resolved<'_>) -> Records {
        let Some(oldest) = self.held.pop_front() else { return Records::default() };
        let held = std::mem::take(&mut self.held);
        self.resolve_part(&oldest, &Later { records: &held, bytes }, draw, out);
        self.held = held;
        oldest
    }

    fn resolve_part(&mut self, records: &Records, later: &Later<'_>, draw: &DrawOptions, out: &mut Resolved<'_>) {
        self.wire.enter_part(records, out.ledger);
        add_session(&self.wire, out);
        out.batch.events.reserve(records.frames.len());
        let mut damage = records.damage.as_slice();
        for (number, &(start, segment)) in records.segments.iter().enumerate() {
            let end = records.segments.get(number + 1).map_or(records.frames.len(), |next| next.0 as usize);
            let start = start as usize;
            if start < end && segment as usize != self.wire.session {
                let offset = records.frames.get(start).map_or(0, |stored| records.offset_of(stored));
                self.wire.add_damages(records, &mut damage, start, out.ledger);
                self.enter_session(segment as usize, offset, draw, out);
            }
            let mut at = start;
            while at < end {
                at = self.resolve_records(records, later, at..end, &mut damage, draw, out);
            }
        }
        self.wire.add_damages(records, &mut damage, usize::MAX, out.ledger);
    }

    fn enter_session(&mut self, session: usize, offset: u64, draw: &DrawOptions, out: &mut Resolved<'_>) {
        self.wire.end_run(None, out.ledger);
        self.gap(draw, out);
        if self.wire.enter_session(session, offset, out.ledger) {
            let number = add_session(&self.wire, out);
            let from = self.wire.present().clone();
            self.resolver(&from, draw, out).begin_session(number);
            self.firmware.counters = counters(draw, &self.wire);
        }
    }

    fn resolver<'a, 'b>(
        &'a mut self,
        from: &'a Session,
        draw: &'a DrawOptions,
        out: &'a mut Resolved<'b>,
    ) -> RecordResolver<'a, 'b> {
        let now = self.wire.clock.now();
        RecordResolver { firmware: &mut self.firmware, run_state: &mut self.run_state, from, draw, out, now }
    }

    /// Resolves records of the present session. Returns the number of the first one that is left, after a record that added a name.
    fn resolve_records(
        &mut self,
        records: &Records,
        later: &Later<'_>,
        range: std::ops::Range<usize>,
        damage: &mut &[super::decode::Damage],
        draw: &DrawOptions,
        out: &mut Resolved<'_>,
    ) -> usize {
        // Names in repaired dictionary records are not known from the first pass.
        let learns = !records.repairs.is_empty();
        let InputResolver { wire, firmware, run_state, asserts, .. } = self;
        let from = &*wire.present().clone();
        let mut resolver = RecordResolver { firmware, run_state, from, draw, out, now: wire.clock.now() };
        let end = range.end;
        let mut frames = records.frames.get(range).unwrap_or(&[]);
        let damage_left =
            |damage: &[super::decode::Damage]| damage.first().map_or(0, |first| end.saturating_sub(first.index as usize));
        // How many records are left where the next damage is.
        let mut next_damage = damage_left(damage);
        while let Some((stored, following)) = frames.split_first() {
            let left = frames.len();
            frames = following;
            if left <= next_damage {
                wire.add_damages(records, damage, end - left, resolver.out.ledger);
                next_damage = damage_left(damage);
            }
            if !wire.is_next(stored.seq) {
                let (offset, ledger) = (records.offset_of(stored), &mut *resolver.out.ledger);
                if wire.is_repeated(stored.seq, stored.kind, offset, later.bytes, ledger) {
                    continue;
                }
                let following = wire.following(Place { records, number: end - left, end, later });
                wire.check_sequence(stored.seq, Some(stored.kind), offset, &following, ledger);
            }
            if stored.is_timed {
                if let Err(taken) = wire.take_time(stored, following)
                    && wire.judge_time(taken, Place { records, number: end - left, end, later }, resolver.out.ledger)
                {
                    if let Some(note) = wire.gap.take() {
                        resolver.lose(note);
                    }
                    resolver.now = wire.clock.now();
                    let number = add_session(wire, resolver.out);
                    resolver.begin_session(number);
                }
                let now = wire.clock.now();
                resolver.out.batch.note_judged(records.offset_of(stored), now);
                debug_assert!(resolver.now <= now, "time goes back");
                resolver.now = now;
                if let Some(note) = wire.gap.take() {
                    resolver.lose(note);
                }
            } else {
                wire.take_untimed(records, stored);
                if learns && is_name(stored.kind) {
                    wire.learn(records, stored);
                    return end - left + 1;
                }
                if wire.gap.is_some() || !wire.clock.has_begun() {
                    // When it was is known with the next time stamp only, and what it belongs to is not known at all.
                    continue;
                }
            }
            if stored.kind == Kind::AssertFail {
                *asserts += 1;
            }
            // `None`: a limit of entities is reached; the record is not drawn.
            let _ = resolver.record(records, stored);
        }
        end
    }

    /// Emits the pending loss, if there is one.
    fn gap(&mut self, draw: &DrawOptions, out: &mut Resolved<'_>) {
        if let Some(note) = self.wire.gap.take() {
            let from = self.wire.present().clone();
            self.resolver(&from, draw, out).lose(note);
        }
    }
}

fn is_name(kind: Kind) -> bool {
    matches!(kind, Kind::ObjDict | Kind::FunDict | Kind::SigDict | Kind::UsrDict | Kind::EnumDict)
}

/// The number of the current session. Its description is added before its events.
fn add_session(wire: &WireState, out: &mut Resolved<'_>) -> u32 {
    let number = wire.sessions_begun.saturating_sub(1);
    if out.entities.sessions.len() <= number as usize {
        out.entities.sessions.push(session_of(wire.present()));
    }
    number
}

/// Lists the records of a part. False: the listing was stopped.
fn dump_part(wire: &mut WireState, records: &Records, ledger: &mut Ledger, out: &mut ListRecord<'_>) -> bool {
    wire.enter_part(records, ledger);
    let mut damage = records.damage.iter().peekable();
    let mut segments = records.segments.iter().peekable();
    for number in 0..=records.frames.len() {
        while let Some(bad) = damage.next_if(|bad| bad.index as usize <= number) {
            let offset = records.base + u64::from(bad.offset);
            if bad.seq.is_some() && wire.run.is_some() && !show_run(wire, ledger, bad.seq, offset, out) {
                return false;
            }
            wire.add_damage(records, bad, ledger);
            if bad.seq.is_some() && !show_invalid(offset, records.bytes(bad.raw), bad.reason, bad.seq, out) {
                return false;
            }
        }
        let Some(stored) = records.frames.get(number) else { break };
        let offset = records.offset_of(stored);
        if wire.run.is_some() && !show_run(wire, ledger, Some(stored.seq), offset, out) {
            return false;
        }
        while let Some(&(_, segment)) = segments.next_if(|segment| segment.0 as usize <= number) {
            wire.enter_session(segment as usize, offset, ledger);
        }
        if !wire.is_next(stored.seq) {
            wire.check_sequence(stored.seq, Some(stored.kind), offset, &Following::default(), ledger);
        }
        wire.gap = None;
        if !records.repairs.is_empty() && is_name(stored.kind) {
            wire.learn(records, stored);
        }
        let session = Arc::clone(wire.present());
        let fields = ViewFields::of(records, stored, &session.layout, &session.names);
        let ticks = stored.is_timed.then_some(u64::from(stored.time));
        if !fields.show(stored.kind.spec().name, offset, ticks, out) {
            return false;
        }
    }
    // A part ends after a valid frame, within a run that continues, or with the input.
    records.continues_after || wire.run.is_none() || show_run(wire, ledger, None, 0, out)
}

/// Lists a run of damage, which ends before a valid frame or with the input.
fn show_run(wire: &mut WireState, ledger: &mut Ledger, seq: Option<u8>, offset: u64, out: &mut ListRecord<'_>) -> bool {
    let Some(run) = wire.run.clone() else { return true };
    match seq {
        Some(seq) => wire.end_run_before(seq, offset, ledger),
        None => drop(wire.end_run(None, ledger)),
    }
    show_invalid(run.offset, &run.raw, run.reason, None, out)
}
