//! Packets in file order → events of the common model.
//!
//! All state is here: the clock ([`clock`]), the packet numbers, the running task, the levels of objects. The events do not depend on
//! the cuts: the last [`HEADROOM`] packets are held back until more have come.
//!
//! Packets that report events lost on the target come late, after all packets that were in the target's FIFO. If a capture has such
//! packets, events are held back, so that each loss is placed at its own time.

mod clock;
mod events;
mod facts;
mod ids;
mod view;

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use super::decode::{BadPacket, HEADROOM, Lengths, Records};
use super::record::{HEAD_BYTES, Packet, id, object_type};
use super::scan::{Listed, ScanFacts, Used};
use super::timer::{Timer, TimerOptions};
use crate::clock::{Copies, SESSIONS_LIMIT};
use crate::format::{Facts, ListRecord, Resolve, Resolved};
use crate::frame::sequence::{Break, Excess};
use crate::model::losses;
use crate::model::{CoreId, EventKind, Ledger, LossNote, Nanos, TaskId};
use clock::{At, BeforeLists, Clock, TimeStatus};
use events::{TimedPacket, is_internal};
use facts::Filtered;
use ids::{CommonNames, Ids, ListedNames};

/// By how many packets the report of a loss on the target may be late: twice the usual size of its FIFO.
const HELD_PACKETS: usize = 4096;

/// The object list packets, one of each type, whose numbers are missing in a saved measurement.
const LISTS: u8 = object_type::TYPES as u8;

/// The options for an input, and the facts from the first pass.
pub struct Setup {
    pub core: u16,
    pub timer_options: TimerOptions,
    pub timer: Timer,
    pub lengths: Lengths,
    pub facts: ScanFacts,
}

/// What is known about a packet from its neighbours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Hint {
    None,
    /// The task was moved to another list because its priority changed.
    Relisted,
    /// The queue is a mutex, of this type.
    Mutex(u8),
    /// The queue is a counting semaphore.
    CountingSemaphore,
}

/// The time of a packet, and what else is known about it.
#[derive(Clone, Copy)]
struct Timed {
    time: u64,
    hint: Hint,
    number: u64,
    offset: u64,
    /// Where the session begins in the input, if it begins here.
    session_at: Option<u64>,
}

/// The resolver of one input.
struct InputResolver {
    core: CoreId,
    clock: Clock,
    names: ListedNames,
    listed: Vec<Listed>,
    /// See [`At::created`].
    created: Vec<(u64, u8)>,
    used: Used,
    is_saved: bool,
    ids: Ids,
    filtered: Filtered,
    common_names: CommonNames,
    running: Option<TaskId>,
    sleeps: bool,
    session: u32,
    last_ns: u64,
    /// The last packets of the part before.
    carry: Vec<Packet>,
    /// The offset of that part in the input, in bytes.
    base: u64,
    /// The number of resolved packets.
    resolved: u64,
    /// The number of the next packet, if none is missing.
    expected: Option<u8>,
    /// What the numbers skipped without a loss.
    excess: Excess,
    /// Where the bytes end that are a copy of those before.
    copied_until: u64,
    copies: Copies,
    /// Whether the packet before reported an error: its number may be used twice.
    after_error: bool,
    /// The packet before those in `carry`, and the last one that is no object list.
    previous: Option<Packet>,
    before_lists: Option<BeforeLists>,
    /// Packets missing before an object list, as its number shows, unless the next hook shows a reset there: how many, its number and offset.
    missing_before_list: Option<(Break, u64, u64)>,
    /// The offset of the last packet, if it reported a loss on the target.
    ends_in_error: Option<u64>,
    /// The damage before a packet, with the packet's number.
    damage: VecDeque<(u64, LossNote)>,
    /// The packets missing before a packet, with its number.
    gaps: VecDeque<(u64, LossNote)>,
    /// Losses on the target, the earliest first: time and offset.
    errors: BinaryHeap<Reverse<(u64, u64)>>,
    /// Whether the input has any.
    has_errors: bool,
    /// Packets that are held back.
    held: VecDeque<(Packet, Timed)>,
    /// The losses before the next event.
    pending: Vec<LossNote>,
    /// The offset and the time of each hook, for tests.
    #[cfg(test)]
    times: Vec<(u64, u64)>,
}

/// Turns packets into events.
pub(super) struct Resolver {
    inputs: Vec<InputResolver>,
    facts: Facts,
}

impl Resolver {
    pub(super) fn new(setups: Vec<Setup>, ledgers: &mut [Ledger]) -> Resolver {
        let facts = facts::facts(&setups);
        for (setup, ledger) in setups.iter().zip(ledgers) {
            ledger.enter_unplaced(losses::OBJECT_NUMBER_ZERO, setup.facts.lost_numbers);
            ledger.enter_unplaced(losses::METADATA_LIMIT, setup.facts.unlisted);
        }
        Resolver { inputs: setups.into_iter().map(InputResolver::new).collect(), facts }
    }

    /// The offset and the time of each hook of the first input so far.
    #[cfg(test)]
    pub(super) fn times(&self) -> &[(u64, u64)] {
        &self.inputs[0].times
    }

    /// The cores that may have events, of each input.
    pub(super) fn cores(&self) -> Vec<Vec<CoreId>> {
        self.inputs.iter().map(|input| vec![input.core]).collect()
    }
}

impl Resolve for Resolver {
    type Records = Records;

    fn resolve(&mut self, input: usize, bytes: &[u8], records: &mut Records, out: &mut Resolved<'_>) {
        let Some(input) = self.inputs.get_mut(input) else { return };
        input.resolve_part(records, bytes, false, out);
    }

    fn finish(&mut self, input: usize, bytes: &[u8], out: &mut Resolved<'_>) {
        let Some(input) = self.inputs.get_mut(input) else { return };
        let mut none = Records::default();
        none.reset(input.base);
        input.resolve_part(&mut none, bytes, true, out);
        input.end(out);
    }

    fn dump(&mut self, input: usize, _bytes: &[u8], records: &mut Records, ledger: &mut Ledger, out: &mut ListRecord<'_>) {
        if let Some(input) = self.inputs.get(input) {
            input.dump_part(records, ledger, out);
        }
    }

    fn facts(&self) -> Facts {
        let sessions = self.inputs.iter().map(|input| input.session + 1).max().unwrap_or(1);
        Facts { sessions, ..self.facts.clone() }
    }
}

impl InputResolver {
    fn new(setup: Setup) -> InputResolver {
        let filtered = Filtered::new(&*setup.facts.counts);
        let ScanFacts { listed, deleted, .. } = &setup.facts;
        // After the last number of all the tracer gives 0 to each task.
        let is_sure = |number| number != 0 && !deleted.is_used(object_type::TASK, number);
        let created = listed.iter().filter(|listed| listed.name.is_none() && is_sure(listed.number));
        InputResolver {
            created: created.map(|listed| (listed.offset, listed.number)).collect(),
            core: CoreId(setup.core),
            clock: Clock::new(setup.timer),
            names: ListedNames::of_session(&setup.facts.listed, 0).unwrap_or_else(|| ListedNames::new(&setup.facts.names)),
            listed: setup.facts.listed,
            is_saved: setup.facts.is_saved,
            ids: Ids::new(0, filtered),
            filtered,
            common_names: CommonNames::default(),
            running: None,
            sleeps: false,
            session: 0,
            last_ns: 0,
            carry: Vec::new(),
            base: 0,
            resolved: 0,
            expected: None,
            excess: Excess::default(),
            copied_until: 0,
            copies: Copies::default(),
            after_error: false,
            previous: None,
            before_lists: None,
            missing_before_list: None,
            ends_in_error: None,
            damage: VecDeque::new(),
            gaps: VecDeque::new(),
            errors: BinaryHeap::new(),
            has_errors: setup.facts.counts.get(usize::from(id::ERROR_STREAM_FIFO_FULL)).is_some_and(|&count| count > 0),
            used: setup.facts.used,
            held: VecDeque::new(),
            pending: Vec::new(),
            #[cfg(test)]
            times: Vec::new(),
        }
    }

    /// Resolves the packets held back and the next part, except the packets that must wait for more.
    fn resolve_part(&mut self, records: &mut Records, bytes: &[u8], is_last: bool, out: &mut Resolved<'_>) {
        if self.common_names.data.is_none() {
            self.common_names = CommonNames::new(out.entities);
        }
        self.account(records, out.ledger);
        let mut carry = std::mem::take(&mut self.carry);
        let shift = self.base.wrapping_sub(records.base) as u32;
        let start = HEADROOM - carry.len().min(HEADROOM);
        for (place, packet) in records.slots.iter_mut().skip(start).zip(&carry) {
            *place = Packet { offset: packet.offset.wrapping_add(shift), ..*packet };
        }
        carry.clear();
        self.base = records.base;
        let packets = records.slots.get(start..).unwrap_or(&[]);
        let ready = if is_last { packets.len() } else { packets.len().saturating_sub(HEADROOM) };
        out.batch.events.reserve(ready);
        let mut index = 0;
        while index < ready {
            self.resolve_packet(packets, index, bytes, out);
            index = self.resolve_steady(packets, index + 1, ready, out);
        }
        self.resolved += ready as u64;
        self.before_lists = BeforeLists::of(packets, ready, self.before_lists);
        self.previous = ready.checked_sub(1).and_then(|last| packets.get(last)).copied().or(self.previous);
        carry.extend_from_slice(packets.get(ready..).unwrap_or(&[]));
        self.carry = carry;
    }

    /// Enters the bytes of a part in the ledger, and notes its damage.
    fn account(&mut self, records: &Records, ledger: &mut Ledger) {
        let before = self.resolved + self.carry.len() as u64;
        ledger.decoded_bytes += records.ok_bytes;
        ledger.frames_ok += records.packets().len() as u64;
        for bad in &records.bad {
            self.clock.note_damage(before + u64::from(bad.index));
            let (kind, offset) = (bad.reason.loss_kind(), records.base + u64::from(bad.offset));
            let (bytes, lost) = (u64::from(bad.len), bad.reason.at_least_lost());
            ledger.bad_frames(kind, offset, bytes, 1, lost);
            if !matches!(bad.reason, BadPacket::HostBytes | BadPacket::BadText) {
                let note = LossNote { kind, offset, bytes, at_least_lost: lost };
                self.note_damage(before + u64::from(bad.index), note);
            }
        }
    }

    /// Notes damage before a packet: one note of each kind, so that much damage takes little memory.
    fn note_damage(&mut self, number: u64, note: LossNote) {
        let mut same = self.damage.iter_mut().rev().take_while(|(before, _)| *before == number);
        match same.find(|(_, noted)| noted.kind == note.kind) {
            Some((_, noted)) => noted.extend(note),
            None => self.damage.push_back((number, note)),
        }
    }

    /// Resolves the next packet: checks its number and determines its time.
    #[inline]
    fn resolve_packet(&mut self, packets: &[Packet], index: usize, bytes: &[u8], out: &mut Resolved<'_>) {
        let packet = &packets[index];
        let number = self.resolved + index as u64;
        let offset = self.offset_of(packet);
        if self.is_saved && (id::PACKETID_ERROR..=id::ERROR_STOP).contains(&packet.id) {
            // Written by the viewer, not sent.
            return out.ledger.enter(losses::HOST_ERROR_MARK, offset, 0);
        }
        let mut missing = None;
        if self.expected != Some(packet.packet_id) || self.after_error || offset < self.copied_until {
            if self.is_copied(packets, index, offset, bytes) {
                let jump = self.expected.map_or(0, |expected| packet.packet_id.wrapping_sub(expected));
                self.excess.repeat(jump, number);
                self.expected = Some(packet.packet_id.wrapping_add(1));
                return out.ledger.enter(losses::DUPLICATED_BLOCK, offset, 0);
            }
            missing = self.check_number(packets, index, number, offset, out.ledger);
        }
        let jump = self.expected.map_or(0, |expected| packet.packet_id.wrapping_sub(expected));
        self.expected = Some(packet.packet_id.wrapping_add(1));
        if !packet.is_hook() {
            self.note_missing(missing, number, offset, packet.id == id::OBJECT_LIST, out.ledger);
            return self.resolve_other(packet, number, offset, out);
        }
        self.ends_in_error = None;
        let (previous, before_lists) = (self.previous.as_ref(), self.before_lists);
        let at = At { packets, previous, before_lists, created: &self.created, index, number, base: self.base, bytes };
        let (time, status) = self.clock.time(at, missing.is_some());
        if let Some(readings) = self.clock.take_doubt() {
            out.ledger.enter_doubt(offset, readings);
        }
        let mut session_at = None;
        match status {
            // That packets are missing is part of the reset, which may have object lists before its first hook.
            TimeStatus::Restart => {
                let (first, begin) = self.missing_before_list.take().map_or((number, offset), |(_, first, begin)| (first, begin));
                self.damage.retain(|(before, _)| !(first..=number).contains(before));
                self.excess = Excess::default();
                self.created.drain(..self.created.partition_point(|created| created.0 < begin));
                session_at = Some(begin).filter(|_| self.session + 1 < SESSIONS_LIMIT);
            }
            TimeStatus::Repeated => self.excess.repeat(jump, number),
            _ => self.note_missing(missing, number, offset, false, out.ledger),
        }
        self.note_missing_before_list(out.ledger);
        let is_odd = missing.is_some_and(|missing| missing.missing == 0);
        if status != TimeStatus::AsRecorded && !self.note_status(status, offset, is_odd, out.ledger) {
            return;
        }
        out.batch.note_judged(offset, Nanos(time));
        #[cfg(test)]
        self.times.push((offset, time));
        let hint = self.hint(packet, packets, index);
        self.pass(packet, Timed { time, hint, number, offset, session_at }, out);
    }

    /// Resolves packets from an index on as long as they continue a run of equal tick counts without anything odd, and no losses are to be
    /// placed among them. Returns the index of the next packet.
    #[inline]
    fn resolve_steady(&mut self, packets: &[Packet], start: usize, end: usize, out: &mut Resolved<'_>) -> usize {
        // Packets that are held back have their losses placed later.
        let noted = if self.has_errors { u64::MAX } else { self.first_noted() };
        let end = end.min(usize::try_from(noted.saturating_sub(self.resolved)).unwrap_or(usize::MAX));
        let mut index = start;
        while index < end {
            let (first, number) = (&packets[index], self.resolved + index as u64);
            let is_next =
                self.expected == Some(first.packet_id) && !self.after_error && self.offset_of(first) >= self.copied_until;
            let steady = if is_next { self.clock.steady(packets, index, end, number) } else { None };
            let Some((count, tick_ns)) = steady else { break };
            let steady = packets.get(index..index + count).unwrap_or(&[]);
            for (packet, index) in steady.iter().zip(index..) {
                let (time, offset) = (tick_ns + self.clock.since_ns(packet), self.offset_of(packet));
                out.batch.note_judged(offset, Nanos(time));
                #[cfg(test)]
                self.times.push((offset, time));
                if packet.id == id::TASK_INCREMENT_TICK {
                    self.clock.note_tick_hook(packet);
                }
                if self.has_errors {
                    let (hint, number) = (self.hint(packet, packets, index), self.resolved + index as u64);
                    self.pass(packet, Timed { time, hint, number, offset, session_at: None }, out);
                } else if !is_internal(packet.id) {
                    let hint = self.hint(packet, packets, index);
                    self.event(TimedPacket { packet, time: Nanos(time), hint, offset }, out);
                }
            }
            index += count;
            self.expected = Some(packets[index - 1].packet_id.wrapping_add(1));
        }
        if index > start {
            self.ends_in_error = None;
            if !self.has_errors {
                self.last_ns = self.last_ns.max(self.clock.last_ns());
            }
        }
        index
    }

    /// Where a packet is in the input.
    #[inline]
    fn offset_of(&self, packet: &Packet) -> u64 {
        self.base.wrapping_add_signed(i64::from(packet.offset.cast_signed()))
    }

    /// The number of the first packet with losses before it; 0 if losses wait for the next event.
    #[inline]
    fn first_noted(&self) -> u64 {
        let first = |notes: &VecDeque<(u64, LossNote)>| notes.front().map_or(u64::MAX, |note| note.0);
        if self.pending.is_empty() { first(&self.damage).min(first(&self.gaps)) } else { 0 }
    }

    /// Whether losses wait for the next event.
    #[inline]
    fn has_notes(&self) -> bool {
        !(self.damage.is_empty() && self.gaps.is_empty() && self.pending.is_empty())
    }

    /// What is known about a packet from its neighbours.
    #[inline]
    fn hint(&self, packet: &Packet, packets: &[Packet], index: usize) -> Hint {
        match packet.id {
            id::MOVED_TASK_TO_READY_STATE | id::QUEUE_CREATE => hint(packets, index, self.last_changed(packets, index)),
            _ => Hint::None,
        }
    }

    /// Emits a packet, or holds it back if earlier losses may still be reported.
    #[inline]
    fn pass(&mut self, packet: &Packet, timed: Timed, out: &mut Resolved<'_>) {
        if !self.has_errors {
            if is_internal(packet.id) && !self.has_notes() && timed.session_at.is_none() {
                self.last_ns = self.last_ns.max(timed.time);
                return;
            }
            return self.emit(packet, timed, out);
        }
        self.held.push_back((*packet, timed));
        if self.held.len() > HELD_PACKETS {
            self.release_oldest(out);
        }
    }

    /// The task whose priority was changed by the packet before the one at `index`.
    fn last_changed(&self, packets: &[Packet], index: usize) -> Option<u8> {
        let before = index.checked_sub(1).and_then(|before| packets.get(before)).or(self.previous.as_ref())?;
        let changes = matches!(before.id, id::TASK_PRIORITY_SET | id::TASK_PRIORITY_DISINHERIT);
        changes.then_some(before.data[0])
    }

    /// Whether a packet belongs to a copy of the bytes before it, as its number shows.
    #[cold]
    fn is_copied(&mut self, packets: &[Packet], index: usize, offset: u64, bytes: &[u8]) -> bool {
        let packet = &packets[index];
        let (previous, before_lists) = (self.previous.as_ref(), self.before_lists);
        let at = At { packets, previous, before_lists, created: &self.created, index, number: 0, base: self.base, bytes };
        let is_next = self.expected.is_none_or(|expected| expected == packet.packet_id);
        let end = offset + HEAD_BYTES as u64 + u64::from(packet.data_len);
        if end > self.copied_until && !is_next && !is_error_of_fifo(packet) {
            let until = self.copies.end([bytes, &[]], offset, end).unwrap_or(offset);
            // A program that was reset may begin as before, too, but then numbers and time do not go on after that, give or take a packet
            // where pieces meet.
            let goes_on = |after: &[Packet]| {
                let passed = self.expected.zip(after.first()).map(|(expected, next)| next.packet_id.wrapping_sub(expected));
                passed.is_some_and(|passed| passed.wrapping_add(1) <= 2) && !self.clock.falls(after)
            };
            self.copied_until = if !at.restarts(index) || goes_on(at.after(until)) { until } else { offset };
        }
        // A packet that goes on after the copy is the original.
        end <= self.copied_until
    }

    /// A packet whose number is not the next one. Gives how many are missing before it, if any.
    #[cold]
    fn check_number(&mut self, packets: &[Packet], index: usize, number: u64, offset: u64, ledger: &mut Ledger) -> Option<Break> {
        let packet = &packets[index];
        let is_error = is_error_of_fifo(packet);
        let Some(expected) = self.expected else {
            self.after_error = is_error;
            return None;
        };
        let repeats = packet.packet_id == expected.wrapping_sub(1) && (is_error || self.after_error);
        self.after_error = is_error;
        let lost = packet.packet_id.wrapping_sub(expected);
        if lost == 0 || repeats {
            return None;
        }
        if self.is_saved && lost == LISTS {
            ledger.enter(losses::LISTS_KEPT_APART, offset, 0);
            return None;
        }
        // Never further than all parts see.
        let following = packets.get(index..packets.len().min(index + 1 + HEADROOM)).unwrap_or(&[]);
        let jumps = following.windows(2).map(|pair| match pair {
            [one, two] => {
                let jump = two.packet_id.wrapping_sub(one.packet_id).wrapping_sub(1);
                // The number of an error packet may be used twice.
                if jump == u8::MAX && (is_error_of_fifo(one) || is_error_of_fifo(two)) { 0 } else { jump }
            }
            _ => 0,
        });
        let before = index.checked_sub(1).map_or(self.previous.as_ref(), |before| packets.get(before));
        let is_disordered = self.clock.goes_back(before.into_iter().chain(following));
        let is_long = lost == u8::MAX && self.clock.is_long(before, following);
        let weighed = self.excess.weigh(lost, number, jumps, is_disordered, is_long);
        // Packets before those that came are no later ones of the same numbers: they were moved, or the target was reset.
        Some(if self.clock.falls(following) { weighed.unproven() } else { weighed })
    }

    /// Packets are missing before one. Before an object list, the next hook is to say whether there was a reset.
    fn note_missing(&mut self, missing: Option<Break>, number: u64, offset: u64, is_list: bool, ledger: &mut Ledger) {
        let Some(missing) = missing else { return };
        self.note_missing_before_list(ledger);
        self.excess.pass(missing, number);
        if is_list {
            self.clock.note_gap();
            self.missing_before_list = Some((missing, number, offset));
        } else {
            self.enter_missing(missing, number, offset, ledger);
        }
    }

    fn note_missing_before_list(&mut self, ledger: &mut Ledger) {
        if let Some((missing, number, offset)) = self.missing_before_list.take() {
            self.enter_missing(missing, number, offset, ledger);
        }
    }

    fn enter_missing(&mut self, missing: Break, number: u64, offset: u64, ledger: &mut Ledger) {
        if missing.is_damaged() {
            return ledger.enter(losses::FRAME_NUMBER_OUTLIER, offset, 0);
        }
        let (kind, at_least_lost) = (losses::FRAMES_LOST, u64::from(missing.missing));
        ledger.enter(kind, offset, at_least_lost);
        self.gaps.push_back((number, LossNote { kind, offset, bytes: 0, at_least_lost }));
    }

    /// Handles a packet that was not sent by a hook: it has no time, or one that does not advance the clock.
    #[cold]
    fn resolve_other(&mut self, packet: &Packet, number: u64, offset: u64, out: &mut Resolved<'_>) {
        match packet.id {
            id::ERROR_STREAM_FIFO_FULL => {
                out.ledger.enter(losses::DROPPED_BY_TARGET, offset, 1);
                self.ends_in_error = Some(offset);
                let time = self.clock.error_time(packet);
                out.batch.note_judged(offset, Nanos(time));
                if time < self.last_ns {
                    out.ledger.enter(losses::LATE_ERROR, offset, 0);
                }
                self.errors.push(Reverse((time, offset)));
                if self.errors.len() > HELD_PACKETS {
                    self.add_errors(u64::MAX);
                }
            }
            // The exact time at which the target lost a command of the host is not important.
            id::ERROR_RECEIVE_FIFO_FULL => {
                let time = self.clock.last_ns();
                self.pass(packet, Timed { time, hint: Hint::None, number, offset, session_at: None }, out);
            }
            _ => {}
        }
    }

    /// Enters the status of a packet's time in the ledger. False if the packet is to be left out.
    #[cold]
    fn note_status(&mut self, status: TimeStatus, offset: u64, is_odd: bool, ledger: &mut Ledger) -> bool {
        match status {
            TimeStatus::AsRecorded => {}
            TimeStatus::TornTimer => ledger.enter(losses::TORN_TIMER, offset, 0),
            TimeStatus::TornTick => ledger.enter(losses::TORN_TICK, offset, 0),
            TimeStatus::Replaced => ledger.enter(losses::TIME_OUTLIER, offset, 0),
            TimeStatus::Held => ledger.enter(losses::TIME_HELD, offset, 0),
            TimeStatus::Restart => ledger.enter(losses::SESSION_RESTART, offset, 0),
            TimeStatus::Repeated => {
                ledger.enter(losses::DUPLICATED_BLOCK, offset, 0);
                return false;
            }
            TimeStatus::Implausible => {
                // A packet whose number is odd, too, may be made up by damage.
                ledger.enter(losses::IMPLAUSIBLE_PACKET, offset, u64::from(!is_odd));
                return false;
            }
        }
        true
    }

    /// Emits the oldest packet that is held back.
    fn release_oldest(&mut self, out: &mut Resolved<'_>) {
        if let Some((packet, timed)) = self.held.pop_front() {
            self.add_errors(timed.time);
            self.emit(&packet, timed, out);
        }
    }

    /// Adds the losses on the target up to a time to those before the next event.
    fn add_errors(&mut self, until: u64) {
        while let Some(&Reverse((time, offset))) = self.errors.peek() {
            if time > until {
                return;
            }
            self.errors.pop();
            let note = LossNote { kind: losses::DROPPED_BY_TARGET, offset, bytes: 0, at_least_lost: 1 };
            note.add_by_kind(&mut self.pending);
        }
    }

    /// Appends the losses before a packet, and its events.
    #[inline]
    fn emit(&mut self, packet: &Packet, timed: Timed, out: &mut Resolved<'_>) {
        let Timed { time, hint, number, offset, session_at } = timed;
        let time = Nanos(time).min(Nanos::MAX);
        self.last_ns = self.last_ns.max(time.0);
        if !(self.damage.is_empty() && self.gaps.is_empty()) {
            self.add_missing(number);
        }
        if let Some(begin) = session_at {
            self.restart(time, begin, out);
        }
        if !self.pending.is_empty() {
            self.emit_losses(time, out);
        }
        self.event(TimedPacket { packet, time, hint, offset }, out);
    }

    /// Adds the losses up to a packet to those before the next event.
    #[cold]
    fn add_missing(&mut self, number: u64) {
        for missing in [&mut self.damage, &mut self.gaps] {
            while let Some((_, note)) = missing.pop_front_if(|(before, _)| *before <= number) {
                note.add_by_kind(&mut self.pending);
            }
        }
    }

    #[cold]
    fn emit_losses(&mut self, time: Nanos, out: &mut Resolved<'_>) {
        for note in std::mem::take(&mut self.pending) {
            out.batch.add_loss(time, self.core, note);
        }
        self.running = None;
        self.sleeps = false;
        self.ids.forget_levels();
    }

    #[cold]
    fn restart(&mut self, time: Nanos, offset: u64, out: &mut Resolved<'_>) {
        self.session += 1;
        if let Some(names) = ListedNames::of_session(&self.listed, offset) {
            self.names = names;
        }
        self.ids = self.ids.of_next(self.session);
        self.running = None;
        self.sleeps = false;
        self.push(time, EventKind::SessionStart(self.session), out);
    }

    /// Emits everything at the end of the input.
    fn end(&mut self, out: &mut Resolved<'_>) {
        while !self.held.is_empty() {
            self.release_oldest(out);
        }
        self.add_errors(u64::MAX);
        self.note_missing_before_list(out.ledger);
        for (_, note) in std::mem::take(&mut self.damage).into_iter().chain(std::mem::take(&mut self.gaps)) {
            note.add_by_kind(&mut self.pending);
        }
        if let Some(offset) = self.ends_in_error {
            out.ledger.enter(losses::TRACER_STOPPED, offset, 0);
            LossNote { kind: losses::TRACER_STOPPED, offset, bytes: 0, at_least_lost: 0 }.add_by_kind(&mut self.pending);
        }
        if !self.pending.is_empty() {
            self.emit_losses(Nanos(self.last_ns), out);
        }
    }
}

fn is_error_of_fifo(packet: &Packet) -> bool {
    matches!(packet.id, id::ERROR_STREAM_FIFO_FULL | id::ERROR_RECEIVE_FIFO_FULL)
}

/// What is known about a packet from its neighbours. `changed` is the task whose priority the packet before changed.
fn hint(packets: &[Packet], index: usize, changed: Option<u8>) -> Hint {
    let packet = &packets[index];
    let subject = packet.data[0];
    let following = packets.get(index + 1..).unwrap_or(&[]);
    match packet.id {
        id::MOVED_TASK_TO_READY_STATE => {
            // The kernel moves a task to another ready list after its priority was set or restored, and before the hook of an
            // inheritance.
            let rest = match following {
                [post, rest @ ..] if post.id == id::POST_MOVED_TASK_TO_READY_STATE => rest,
                rest => rest,
            };
            let inherits = rest.first().is_some_and(|next| next.id == id::TASK_PRIORITY_INHERIT && next.data[0] == subject);
            if inherits || changed == Some(subject) { Hint::Relisted } else { Hint::None }
        }
        _ => match following {
            [mutex, give, ..] if mutex.id == id::CREATE_MUTEX => match give.data {
                [object_type::RECURSIVE_MUTEX, number, ..] if give.id == id::QUEUE_SEND && number == subject => {
                    Hint::Mutex(object_type::RECURSIVE_MUTEX)
                }
                _ => Hint::Mutex(object_type::MUTEX),
            },
            [semaphore, ..] if semaphore.id == id::CREATE_COUNTING_SEMAPHORE => Hint::CountingSemaphore,
            _ => Hint::None,
        },
    }
}
