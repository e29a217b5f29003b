//! Packets in file order → events of the common model.
//!
//! All state is here: the unwrapped clock and its sessions, stray bytes between packets, the device's counters, and the functions.

pub(super) mod clock;
mod functions;
mod input_state;
mod status;
mod stray;
mod view;

use std::collections::VecDeque;
use std::sync::Arc;

use crate::clock::LOOKAHEAD;
use crate::format::program::Lookups;
use crate::format::{Detail, Facts, ListRecord, Resolve, Resolved};
use crate::model::losses;
use crate::model::{
    Certainty, CoreId, Entities, Event, EventKind, Finding, Label, Lane, LaneId, LaneKind, LaneOwner, Ledger, LogNote,
    LogSeverity, LossNote, Matter, Nanos, Packed, Rate, Session, Ticks,
};

use super::decode::{Content, Item, Packets};
use super::options::MiniProfilerOptions;
use super::record::{Command, Metadata, PACKET_HEAD, PROFILE_HEAD, ProfileRecord, RECORD_BYTES, Status, TIMER_HZ};
use super::scan::{ScanFacts, Source};
use clock::{Ended, Step};
use functions::Functions;
use input_state::InputState;
use status::PERCENT_RECORDS;

/// A call is judged by those that follow within this number of bytes, so that what is held is bounded.
const LOOKAHEAD_BYTES: u64 = 1 << 18;

/// Turns packets into events.
pub(crate) struct Resolver {
    options: MiniProfilerOptions,
    inputs: Vec<InputState>,
    facts: Facts,
}

impl Resolver {
    pub(crate) fn new(
        options: MiniProfilerOptions,
        sources: &[Source],
        facts: Vec<Option<ScanFacts>>,
        ledgers: &mut [Ledger],
    ) -> Resolver {
        let metadata = facts.iter().flatten().find_map(|facts| facts.metadata);
        let (rate, origin) = options.rate(metadata.as_ref());
        let mut details = Vec::new();
        let mut hints = Vec::new();
        if let Some(Source { reading: Some((reading, packets)), .. }) = sources.first() {
            let source = format!("inferred from the first valid packets ({packets})");
            details.push(Detail { name: "reading", value: reading.description(), source });
        }
        if let Some(metadata) = metadata {
            describe(&metadata, &mut details);
            if metadata.timer_hz != TIMER_HZ && options.time_unit.is_none() {
                if let Some(ledger) = ledgers.first_mut() {
                    ledger.enter_unplaced(losses::TIMER_FREQUENCY, 1);
                }
                hints.push(format!(
                    "The device's timer runs at {} Hz, but the protocol's times are microseconds; if times look wrong, try \
                     --time-unit timer.",
                    metadata.timer_hz
                ));
            }
        }
        let refused = options.describe_symbols(metadata.map(|metadata| metadata.build_id), &mut details, &mut hints);
        let inputs: Vec<InputState> = facts
            .into_iter()
            .zip(sources)
            .map(|(facts, source)| InputState::new(facts.unwrap_or_default(), source, rate))
            .collect();
        let findings = vec![time_unit(&options, metadata.as_ref(), origin)];
        let cores = inputs.iter().map(|input| input.core.0.saturating_add(1)).max().unwrap_or(1);
        let facts = Facts {
            clock: Some((rate, origin)),
            system: None,
            cores,
            sessions: 1,
            begins_midway: true,
            findings,
            details,
            hints,
            refused,
            ..Facts::default()
        };
        Resolver { options, inputs, facts }
    }

    /// The cores that may have events, of each input.
    pub(crate) fn cores(&self) -> Vec<Vec<CoreId>> {
        self.inputs.iter().map(|input| vec![input.core]).collect()
    }
}

/// How sure it is how long a tick is.
fn time_unit(options: &MiniProfilerOptions, metadata: Option<&Metadata>, origin: &str) -> Finding {
    let (certainty, because) = match metadata {
        _ if options.is_unit_given() => (Certainty::Known, origin.to_owned()),
        None => (Certainty::Assumed, "microseconds as in the protocol; no metadata has the rate of the timer".to_owned()),
        Some(metadata) if metadata.timer_hz == TIMER_HZ => {
            (Certainty::Inferred, origin.trim_start_matches("inferred: ").to_owned())
        }
        Some(metadata) => {
            let hz = metadata.timer_hz;
            (Certainty::Ambiguous, format!("microseconds as in the protocol, but the timer runs at {hz} Hz; see --time-unit"))
        }
    };
    Finding::new(Matter::Clock, certainty, because).never_recorded()
}

fn describe(metadata: &Metadata, details: &mut Vec<Detail>) {
    let source = || "recorded in the capture".to_owned();
    details.push(Detail { name: "firmware version", value: metadata.version(), source: source() });
    details.push(Detail { name: "build id", value: format!("0x{:08X}", metadata.build_id), source: source() });
    details.push(Detail { name: "processor clock", value: format!("{} Hz", metadata.mcu_clock_hz), source: source() });
    details.push(Detail { name: "profiling timer", value: format!("{} Hz", metadata.timer_hz), source: source() });
}

impl Resolve for Resolver {
    type Records = Packets;

    fn resolve(&mut self, input: usize, bytes: &[u8], packets: &mut Packets, out: &mut Resolved<'_>) {
        if let Some(input) = self.inputs.get_mut(input) {
            input.held.push_back(std::mem::take(packets));
        }
        while self.inputs.get(input).is_some_and(InputState::is_enough_held) {
            *packets = self.take_oldest(input, bytes, out);
        }
    }

    fn finish(&mut self, input: usize, bytes: &[u8], out: &mut Resolved<'_>) {
        while self.inputs.get(input).is_some_and(|input| !input.held.is_empty()) {
            drop(self.take_oldest(input, bytes, out));
        }
        let Some(input) = self.inputs.get_mut(input) else { return };
        if let Some(gap) = input.gap.take() {
            out.batch.add_loss(input.last_ns, input.core, gap);
        }
    }

    fn dump(&mut self, input: usize, bytes: &[u8], packets: &mut Packets, ledger: &mut Ledger, out: &mut ListRecord<'_>) {
        if let Some(input) = self.inputs.get_mut(input) {
            view::dump_part(input, packets, bytes, ledger, out);
        }
    }

    fn facts(&self) -> Facts {
        let mut facts = self.facts.clone();
        let unexplained: i64 = self.inputs.iter().filter_map(|input| input.counters.unexplained()).sum();
        if unexplained > 0 {
            facts.hints.push(format!(
                "{unexplained} of the records that the device captured had not arrived at any of the last statuses: they are lost, or \
                 wait in its buffer, whose size is not recorded."
            ));
        }
        facts.hints.extend(self.inputs.iter().map(|input| input.functions.lookups).sum::<Lookups>().hint());
        let has = |index: usize| self.inputs.iter().any(|input| input.has_calls[index]);
        if has(1) && !has(0) {
            let without = if self.options.has_symbols() { "" } else { "; without --elf, functions have only addresses" };
            facts.hints.push(format!(
                "--function and --min-duration leave out all calls{without}. `traceconv stats` lists functions and their times."
            ));
        }
        facts
    }
}

impl Resolver {
    /// Takes the oldest part that is held; gives it back for its memory.
    fn take_oldest(&mut self, index: usize, bytes: &[u8], out: &mut Resolved<'_>) -> Packets {
        let Some(input) = self.inputs.get_mut(index) else { return Packets::default() };
        let Some(oldest) = input.held.pop_front() else { return Packets::default() };
        let later = std::mem::take(&mut input.held);
        self.resolve_part(index, &oldest, &later, bytes, out);
        if let Some(input) = self.inputs.get_mut(index) {
            input.held = later;
        }
        oldest
    }

    fn resolve_part(&mut self, index: usize, packets: &Packets, later: &VecDeque<Packets>, bytes: &[u8], out: &mut Resolved<'_>) {
        let Some(input) = self.inputs.get_mut(index) else { return };
        let (mut records, _) = packets.records.as_chunks::<RECORD_BYTES>();
        let mut stray = packets.stray.as_slice();
        input.describe_session(out.entities);
        for (number, item) in packets.items.iter().enumerate() {
            let offset = packets.base + u64::from(item.offset);
            if item.content == Content::Stray {
                let (here, rest) = stray.split_at_checked(item.len as usize).unwrap_or((stray, &[]));
                stray = rest;
                input.add_stray(offset, here, out);
                continue;
            }
            input.end_stray(Some(offset), bytes, out);
            input.account(item, offset, out.ledger);
            match item.content {
                Content::Profile { records: count, .. } => {
                    let (here, rest) = records.split_at_checked(usize::from(count)).unwrap_or((records, &[]));
                    records = rest;
                    let ahead = CallsAhead { here, at: (packets, number, offset), rest: records, later, bytes };
                    resolve_records(input, &self.options, &mut self.facts.sessions, ahead, offset, out);
                }
                Content::Metadata(metadata) => input.set_metadata(metadata, out),
                // Of a piece that was moved or repeated, the counters go on after it.
                Content::Status(status)
                    if status.records_captured > 0
                        && input.is_behind(status)
                        && statuses_after(packets, number, later).any(|next| !input.is_behind(next)) => {}
                Content::Status(status) => {
                    let waiting = records_after((packets, number, offset), later);
                    input.compare_status(status, waiting, offset, out);
                }
                Content::Ack => input.acknowledge(out),
                Content::Nack => input.instant("NACK", out),
                Content::Command(command) => input.note_command(command, out),
                Content::OtherVersion { version, count } => {
                    let kind = losses::UNKNOWN_VERSION;
                    let lost = u64::from(count).max(1);
                    input.stated += lost;
                    out.ledger.bad_frame(kind, offset, u64::from(item.len), lost);
                    input.instant(&format!("profile data of version {version}"), out);
                    LossNote { kind, offset, bytes: u64::from(item.len), at_least_lost: lost }.add_to(&mut input.gap);
                }
                Content::OddLength { .. } | Content::UnknownType { .. } | Content::Stray => {}
            }
        }
        if packets.ends_input {
            input.end_stray(None, bytes, out);
        }
    }
}

/// The calls of a packet, and what follows them.
#[derive(Clone, Copy)]
struct CallsAhead<'a> {
    /// Those of the packet.
    here: &'a [[u8; RECORD_BYTES]],
    /// The part, which of its items the packet is, and where it starts.
    at: (&'a Packets, usize, u64),
    /// Those of the packets after it.
    rest: &'a [[u8; RECORD_BYTES]],
    /// Those of the parts after its own.
    later: &'a VecDeque<Packets>,
    /// The whole input.
    bytes: &'a [u8],
}

impl<'a> CallsAhead<'a> {
    /// The end of the call after number `number` of the packet.
    #[inline]
    fn next(self, number: usize) -> Option<u32> {
        let later = || self.later.iter().find_map(|packets| packets.records.as_chunks::<RECORD_BYTES>().0.first());
        self.here.get(number + 1).or(self.rest.first()).or_else(later).map(end_of)
    }

    /// The calls after number `number` of the packet.
    fn after(self, number: usize) -> impl Iterator<Item = Ended> + 'a {
        let (packets, item, offset) = self.at;
        let here = self.here.get(number + 1..).unwrap_or(&[]).iter().map(move |record| (record, offset));
        let rest = self.rest.iter().zip(offsets(packets, item + 1));
        let later =
            self.later.iter().flat_map(|packets| packets.records.as_chunks::<RECORD_BYTES>().0.iter().zip(offsets(packets, 0)));
        let reach = offset.saturating_add(LOOKAHEAD_BYTES);
        let all = here.chain(rest).chain(later).take_while(move |call| call.1 < reach);
        all.map(|(record, offset)| Ended::of(&ProfileRecord::read(record), offset))
    }
}

/// When a call ended, as on the wire.
#[inline]
fn end_of(record: &[u8; RECORD_BYTES]) -> u32 {
    let record = ProfileRecord::read(record);
    record.entry_us.wrapping_add(record.duration_us)
}

/// Where the packet of each record starts, from an item of a part on.
fn offsets(packets: &Packets, item: usize) -> impl Iterator<Item = u64> + '_ {
    packets.items.get(item..).unwrap_or(&[]).iter().flat_map(|item| {
        let count = match item.content {
            Content::Profile { records, .. } => usize::from(records),
            _ => 0,
        };
        std::iter::repeat_n(packets.base + u64::from(item.offset), count)
    })
}

/// How many records directly follow an item of a part, before the device answers or the host commands something: at most
/// [`PERCENT_RECORDS`], fewer than are held.
fn records_after((packets, number, offset): (&Packets, usize, u64), later: &VecDeque<Packets>) -> u64 {
    let reach = offset.saturating_add(LOOKAHEAD_BYTES);
    let mut waiting = 0;
    for (packets, from) in std::iter::once((packets, number + 1)).chain(later.iter().map(|packets| (packets, 0))) {
        for item in packets.items.get(from..).unwrap_or(&[]) {
            match item.content {
                _ if packets.base + u64::from(item.offset) >= reach || waiting >= PERCENT_RECORDS => {
                    return waiting.min(PERCENT_RECORDS);
                }
                Content::Profile { records, .. } => waiting += u64::from(records),
                Content::Stray | Content::OtherVersion { .. } | Content::OddLength { .. } | Content::UnknownType { .. } => {}
                Content::Ack | Content::Nack | Content::Metadata(_) | Content::Status(_) | Content::Command(_) => {
                    return waiting.min(PERCENT_RECORDS);
                }
            }
        }
    }
    waiting.min(PERCENT_RECORDS)
}

/// The next statuses after an item of a part.
fn statuses_after<'a>(packets: &'a Packets, number: usize, later: &'a VecDeque<Packets>) -> impl Iterator<Item = Status> + 'a {
    let here = packets.items.get(number + 1..).unwrap_or(&[]);
    let ahead = here.iter().chain(later.iter().flat_map(|packets| &packets.items)).take(LOOKAHEAD);
    ahead.filter_map(|item| match item.content {
        Content::Status(status) => Some(status),
        _ => None,
    })
}

/// The records of one packet.
fn resolve_records(
    input: &mut InputState,
    options: &MiniProfilerOptions,
    sessions: &mut u32,
    ahead: CallsAhead<'_>,
    offset: u64,
    out: &mut Resolved<'_>,
) {
    let records = ahead.here;
    input.received = input.received.saturating_add(records.len() as u64);
    out.batch.events.reserve(records.len());
    for (number, record) in records.iter().enumerate() {
        let record = ProfileRecord::read(record);
        let exit = record.entry_us.wrapping_add(record.duration_us);
        let stepped = ahead.next(number).filter(|_| !input.may_restart).and_then(|next| input.clock.step(exit, next));
        let (exit, step) = match stepped {
            Some(exit) => (exit, Step::Normal),
            None => {
                let calls: Vec<Ended> = ahead.after(number).take(LOOKAHEAD).collect();
                let before = number.checked_sub(1).and_then(|before| records.get(before)).map(ProfileRecord::read);
                let depth_before = before.map_or(input.last_depth, |before| before.depth);
                let call = Ended::of(&record, offset);
                input.clock.judge(call, depth_before, input.may_restart, calls.iter().copied(), ahead.bytes)
            }
        };
        if let Some(doubt) = input.clock.take_doubt() {
            out.ledger.enter_doubt(offset, doubt.text(input.rate));
        }
        if step == Step::Repeated {
            input.received = input.received.saturating_sub(1);
            out.ledger.enter(losses::DUPLICATED_BLOCK, offset, 0);
            continue;
        }
        if step != Step::Normal || input.may_restart {
            input.handle_step(step, sessions, offset, out);
        }
        let Some(function) = input.functions.id(record.func_addr, input.session, input.core, options, out) else { continue };
        let begin = match exit.checked_sub(u64::from(record.duration_us)) {
            Some(begin) => begin,
            None => {
                out.ledger.enter(losses::BEFORE_TIME_ZERO, offset, 0);
                0
            }
        };
        let (begin_ns, end_ns) = (input.nanos(begin, offset, out.ledger), input.nanos(exit, offset, out.ledger));
        out.batch.note_judged(offset + (PACKET_HEAD + PROFILE_HEAD + number * RECORD_BYTES) as u64, begin_ns);
        let time_ns = end_ns.max(input.last_ns);
        if let Some(gap) = input.gap.take() {
            out.batch.add_loss(time_ns, input.core, gap);
        }
        input.last_ns = time_ns;
        let depth = record.depth.cast_signed();
        if depth < 0 {
            out.ledger.enter(losses::DEPTH_UNDERFLOW, offset, 0);
        }
        let is_hidden = function.is_hidden || end_ns.0 - begin_ns.0.min(end_ns.0) < options.min_duration_ns;
        input.has_calls[usize::from(is_hidden)] = true;
        let kind = EventKind::Call {
            function: function.id,
            depth,
            is_hidden,
            begin: Packed(begin_ns.0),
            ended_before_ns: u32::try_from(time_ns.0 - end_ns.0).unwrap_or(u32::MAX),
        };
        out.batch.events.push(Event { time: time_ns, core: input.core, kind });
    }
    input.last_depth = records.last().map_or(input.last_depth, |last| ProfileRecord::read(last).depth);
}
