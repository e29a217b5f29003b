//! Packets → events, in file order: times, losses, and the facts about the recording.
//!
//! A time stamp comes after the packets that it is for, so packets wait for it. Without local time stamps, the global ones give the time;
//! without any, samples of the program counter do if their period is given; else the position in the stream takes the place of time.

mod events;
mod global;
mod view;

use super::InputOptions;
use super::decode::{FramedReader, Record, Records, Wrapping};
use super::highs::Highs;
use super::scan::{LOCAL_COUNTER, PortFacts, RARE, ScanFacts, are_used};
use crate::clock::SESSIONS_LIMIT;
use crate::format::program::{ElfFile, Lookups, shortcomings};
use crate::format::{Detail, Facts, ListRecord, Part, Resolve, Resolved};
use crate::frame::swo::{Delay, NoPacket, Packet};
use crate::model::{
    Certainty, CoreId, Event, EventKind, Finding, Ledger, LossKind, LossNote, Matter, Nanos, Rate, Ticks, counted, losses, times,
};
use events::Meaning;
use global::Global;

/// More packets do not wait for a time stamp.
const HELD_LIMIT: u64 = 1 << 14;

/// The number of packets after a packet that are known when it becomes an event.
const LOOKAHEAD: u64 = 16;

/// More packets do not wait for global time stamps to be judged.
const UNJUDGED_LIMIT: u64 = 1 << 16;

/// Local time stamps are damage if there are no more than this fraction of the global ones.
const FEW: u64 = 16;

/// The source of the packets' times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TimeBase {
    Local,
    Global,
    /// Samples of the program counter come after this number of ticks each.
    Samples(u64),
    /// The position in the input, in bytes.
    Position,
}

impl TimeBase {
    fn of(options: &InputOptions, scan: &ScanFacts) -> TimeBase {
        match options.sample_period {
            _ if are_used(scan.locals[0], scan.packets()) && scan.locals[0] > scan.globals / FEW => TimeBase::Local,
            _ if are_used(scan.globals, scan.packets()) => TimeBase::Global,
            Some(period) if scan.samples > 0 => TimeBase::Samples(period),
            _ => TimeBase::Position,
        }
    }
}

/// The ordered stage.
pub(super) struct Resolver {
    inputs: Vec<InputResolver>,
    facts: Facts,
}

/// The time of the packets up to a number, from those before it.
#[derive(Clone, Copy, Debug)]
struct Stamped {
    end: u64,
    ticks: u64,
    delay: Delay,
    /// A session begins before them.
    is_restart: bool,
}

struct InputResolver {
    core: CoreId,
    wrapping: Wrapping,
    framed: FramedReader,
    unframed: Records,
    base: TimeBase,
    rate: Rate,
    /// Whether steps beyond the usual counter are damage.
    has_short_steps: bool,
    /// The ticks of the last time stamp.
    ticks: u64,
    global: Global,
    /// The local and the global ticks of the first and the last global time stamp.
    both_times: Option<[(u64, u64); 2]>,
    /// How often the global ticks went back.
    went_back: u64,
    /// How many global time stamps say that a clock changed.
    clock_changes: u64,
    /// Whether there are pages of ports.
    has_pages: bool,
    session: u32,
    /// How many packets wait for the judgement of their global time stamp.
    unjudged: u64,
    last_ns: u64,
    /// The packets that are not events yet.
    held: Vec<Record>,
    /// How many packets have become events, have their time, have come.
    released: u64,
    stamped: u64,
    taken: u64,
    /// The times of the packets up to `stamped`; those before `first_stamp` are of packets that were released.
    stamps: Vec<Stamped>,
    first_stamp: usize,
    /// The record before was not a packet.
    is_damaged: bool,
    pending: Vec<LossNote>,
    meaning: Meaning,
    /// For each kind of delay, how many time stamps have it.
    delays: [u64; 4],
}

/// A time, in ticks, and the number of packets that it is for.
struct Certain {
    ticks: u64,
    packets: u64,
    /// The counter began again.
    is_restart: bool,
}

impl Resolver {
    pub(super) fn new(options: &[InputOptions], scans: Vec<ScanFacts>) -> Resolver {
        let mut facts = Facts { sessions: 1, begins_midway: true, ..Facts::default() };
        let is_several = options.len() > 1;
        let mut inputs = Vec::with_capacity(options.len());
        for (index, (options, scan)) in options.iter().zip(scans).enumerate() {
            let core = CoreId(options.core.unwrap_or_else(|| u16::try_from(index).unwrap_or(u16::MAX)));
            let base = TimeBase::of(options, &scan);
            let rate = options.clock.unwrap_or(match base {
                TimeBase::Position => Rate::from_ns_per_tick(1000).unwrap_or(Rate::NANOSECOND),
                _ => Rate::NANOSECOND,
            });
            let mut own = Facts::default();
            describe(&mut own, options, &scan, base, rate);
            facts.details_of.push(std::mem::take(&mut own.details));
            if index == 0 {
                (facts.clock, facts.findings, facts.hints) = (own.clock, own.findings, own.hints);
            }
            facts.cores = facts.cores.max(core.0.saturating_add(1));
            // Where local time stamps give the time, the global ones are only compared with them.
            let high = if base == TimeBase::Global { start_of(&scan.highs, rate) } else { 0 };
            inputs.push(InputResolver {
                core,
                wrapping: scan.wrapping,
                framed: FramedReader::default(),
                unframed: Records::default(),
                base,
                rate,
                has_short_steps: scan.locals[1] * RARE <= scan.locals[0],
                ticks: 0,
                global: Global::new(high),
                both_times: None,
                went_back: 0,
                clock_changes: 0,
                has_pages: scan.has_pages(),
                session: 0,
                unjudged: 0,
                last_ns: 0,
                held: Vec::new(),
                released: 0,
                stamped: 0,
                taken: 0,
                stamps: Vec::new(),
                first_stamp: 0,
                is_damaged: false,
                pending: Vec::new(),
                meaning: Meaning::new(core, is_several, options, &scan),
                delays: [0; 4],
            });
        }
        Resolver { inputs, facts }
    }

    pub(super) fn cores(&self) -> Vec<Vec<CoreId>> {
        self.inputs.iter().map(|input| vec![input.core]).collect()
    }
}

/// The high bits of the global time at the start, if a trace can hold the time.
fn start_of(highs: &Highs, rate: Rate) -> i64 {
    let high = highs.at_start();
    let ticks = high.max(0).cast_unsigned() << global::LOW_BITS;
    if rate.to_nanos(Ticks(ticks)).is_some() { high } else { 0 }
}

/// The facts that the first pass knows.
fn describe(facts: &mut Facts, options: &InputOptions, scan: &ScanFacts, base: TimeBase, rate: Rate) {
    let value = match base {
        TimeBase::Local => "local time stamps".to_owned(),
        TimeBase::Global => "global time stamps".to_owned(),
        TimeBase::Samples(period) => format!("samples of the program counter, one in {period} ticks"),
        TimeBase::Position => "the position in the stream, in bytes".to_owned(),
    };
    let clock = |certainty, because| Finding::new(Matter::Clock, certainty, because);
    facts.findings.push(match (options.clock, base) {
        (Some(_), TimeBase::Position) => clock(Certainty::Assumed, "the stream has no time stamps: bytes are taken for ticks"),
        (Some(_), _) => clock(Certainty::Known, "given by an option"),
        (None, TimeBase::Position) => {
            clock(Certainty::Assumed, "the stream has no time stamps: a byte was taken for 1 µs, so that only the order is right")
        }
        (None, _) => {
            facts.hints.push("ITM streams do not record how long a tick is; 1 ns is assumed. Give --clock-hz.".to_owned());
            clock(Certainty::Assumed, "ITM streams do not record it; 1 ns is taken").never_recorded()
        }
    });
    let origin = match (options.clock, base) {
        (Some(_), _) => "given by an option",
        (None, TimeBase::Position) => "assumed",
        (None, _) => "assumed, ITM streams do not record it",
    };
    facts.clock = Some((rate, origin));
    let mut detail = |name, value: String, source: &str| facts.details.push(Detail { name, value, source: source.to_owned() });
    let is_given = matches!(base, TimeBase::Samples(_));
    detail("time base", value, if is_given { "given by an option" } else { "inferred from the packets" });
    let source = if options.source.is_some() { "given by an option" } else { "inferred from the packets" };
    match scan.wrapping {
        Wrapping::Bare(_) => detail("stream", "without frames".to_owned(), source),
        Wrapping::Framed(id, _) => {
            detail("stream", format!("source {id} in CoreSight frames"), source);
            let is_stream = |id| scan.other_streams.iter().any(|&other| usize::from(other) == id);
            let kind = |id| if is_stream(id) { " of an ITM stream" } else { "" };
            let others: Vec<String> =
                scan.others().map(|(id, bytes)| format!("{id}: {}{}", counted(bytes, "byte"), kind(id))).collect();
            if !others.is_empty() {
                let value = format!("{}; not read", others.join(", "));
                detail("other sources", value, "recorded in the capture: ETM or another trace source");
            }
        }
    }
    if !scan.ports.is_empty() {
        let writes = |(port, seen): (&_, &PortFacts)| format!("port {port}: {}", seen.writes[0] + seen.writes[1]);
        let ports: Vec<String> = scan.ports.iter().map(writes).collect();
        detail("writes to stimulus ports", ports.join(", "), "recorded in the capture");
    }
    if let Some(ElfFile { path, symbols, .. }) = &options.program {
        let functions = counted(symbols.functions().len(), "function");
        detail("program", format!("{functions}, {}", counted(symbols.vectors().len(), "vector")), "--elf");
        facts.hints.extend(shortcomings(path, symbols));
    }
    if let Some(Some(id)) = options.source
        && scan.packets() == 0
    {
        let sources: Vec<String> = scan.others().map(|(id, _)| id.to_string()).collect();
        facts
            .hints
            .push(format!("--tpiu-source {id}: the frames have no packets of this source, but of: {}.", sources.join(", ")));
    }
    let written: Vec<String> = scan.ports.keys().map(ToString::to_string).collect();
    for port in options.ports.iter().filter(|option| !scan.ports.contains_key(&option.port)).map(|option| option.port) {
        let ports = if written.is_empty() { "no other".to_owned() } else { written.join(", ") };
        facts.hints.push(format!("--itm-port {port}: nothing was written to this port. Ports with writes: {ports}."));
    }
    if options.sample_period.is_some() && !matches!(base, TimeBase::Samples(_)) {
        facts.hints.push("--itm-sample-period was not used: it is for streams of samples without time stamps.".to_owned());
    }
    if let Some(id) = scan.other_streams.first() {
        facts.hints.push(format!("Source {id} is an ITM stream, too, as of another core: --tpiu-source {id} reads it instead."));
    }
    if base == TimeBase::Position && scan.samples > 0 {
        facts.hints.push(
            "The samples of the program counter can be the time base: --itm-sample-period N says how many ticks lie between them.".into(),
        );
    }
    if options.program.is_none() && scan.samples + scan.exceptions > 0 {
        facts.hints.push("--elf FILE names functions and interrupt handlers.".into());
    }
}

impl Resolve for Resolver {
    type Records = Records;

    fn resolve(&mut self, input: usize, bytes: &[u8], records: &mut Records, out: &mut Resolved<'_>) {
        let Some(input) = self.inputs.get_mut(input) else { return };
        let mut unframed = std::mem::take(&mut input.unframed);
        let records = input.unframe(bytes, records, &mut unframed);
        input.account(bytes, records, out.ledger);
        let held = input.taken - input.released;
        match input.base {
            TimeBase::Local => input.take_stamps(records, bytes, out),
            _ => records.packets.iter().for_each(|record| input.take(record, bytes, out)),
        }
        input.release_part(held, &records.packets, LOOKAHEAD, out);
        input.unframed = unframed;
    }

    fn finish(&mut self, input: usize, bytes: &[u8], out: &mut Resolved<'_>) {
        let Some(input) = self.inputs.get_mut(input) else { return };
        input.judge(true, bytes, out);
        input.stamp(input.taken, input.ticks, Delay::default());
        input.release_part(input.taken - input.released, &[], 0, out);
        input.meaning.finish(Nanos(input.last_ns), out);
        input.emit_losses(Nanos(input.last_ns), out);
    }

    fn dump(&mut self, input: usize, bytes: &[u8], records: &mut Records, ledger: &mut Ledger, out: &mut ListRecord<'_>) {
        let Some(input) = self.inputs.get_mut(input) else { return };
        let mut unframed = std::mem::take(&mut input.unframed);
        let records = input.unframe(bytes, records, &mut unframed);
        input.account(bytes, records, ledger);
        view::dump(input.core, records, bytes, out);
        input.unframed = unframed;
    }

    fn facts(&self) -> Facts {
        let sessions = 1 + self.inputs.iter().map(|input| input.session).max().unwrap_or(0);
        let mut facts = Facts { sessions, ..self.facts.clone() };
        facts.hints.extend(self.inputs.iter().map(|input| input.meaning.lookups).sum::<Lookups>().hint());
        for (input, details) in self.inputs.iter().zip(&mut facts.details_of) {
            let mut detail = |name, value: String| {
                details.push(Detail { name, value, source: "recorded in the capture".to_owned() });
            };
            let [_, of_stamp, of_packets, both] = input.delays;
            if of_stamp + of_packets + both > 0 {
                detail(
                    "delayed time stamps",
                    format!("{of_stamp} of the time stamp, {of_packets} of the packets, {both} of both"),
                );
            }
            if input.clock_changes > 0 {
                let changed = times(input.clock_changes);
                detail("clock", format!("changed {changed}, as global time stamps say: times are those of one frequency"));
            }
            if input.went_back > 0 {
                detail("global time", format!("went back {}, as after a reset", times(input.went_back)));
            }
            if let Some([first, last]) = input.both_times
                && last.0 > first.0
                && last.1 > first.1
            {
                let ratio = (last.1 - first.1) as f64 / (last.0 - first.0) as f64;
                detail("global time", format!("{ratio:.6} of its ticks in a tick of local time, at the end {}", last.1));
            }
        }
        facts
    }
}

fn kind_of(damage: NoPacket) -> LossKind {
    match damage {
        NoPacket::Damaged => losses::DAMAGED_PACKET,
        NoPacket::Truncated => losses::TRUNCATED_FRAME,
    }
}

impl InputResolver {
    /// The packets of a part: those that were decoded in parallel, or else those read here.
    fn unframe<'a>(&mut self, bytes: &[u8], records: &'a Records, unframed: &'a mut Records) -> &'a Records {
        let Wrapping::Framed(source, first) = self.wrapping else { return records };
        let (start, end) = records.range;
        self.framed.read(source, first, Part::new(bytes, start..end), unframed);
        unframed
    }

    /// Enters the bytes of a part in the ledger. Those of frames are known at the end.
    fn account(&mut self, bytes: &[u8], records: &Records, ledger: &mut Ledger) {
        let mut before = self.is_damaged;
        for record in records.packets.iter().filter(|_| records.bad > 0) {
            if let Err(damage) = record.packet {
                // Bytes one after the other are one case. One packet can be damaged in several places, and may be a time stamp.
                match before {
                    true => ledger.skipped_bytes += 1,
                    false => ledger.bad_frame(kind_of(damage), record.offset, 1, 0),
                }
            }
            before = record.packet.is_err();
        }
        self.is_damaged = records.packets.last().map_or(self.is_damaged, |last| last.packet.is_err());
        ledger.frames_ok += records.packets.len() as u64 - records.bad;
        let (start, end) = records.range;
        if matches!(self.wrapping, Wrapping::Bare(_)) {
            ledger.decoded_bytes += ((end - start) as u64).saturating_sub(records.bad);
        } else if end >= bytes.len() {
            let broken = self.framed.broken_bytes(true);
            let others = self.framed.others.iter().sum::<u64>();
            ledger.skipped_bytes += broken + others;
            ledger.enter_unplaced(losses::SHORT_FRAME, u64::from(broken > 0));
            ledger.enter_unplaced(losses::OTHER_SOURCE, u64::from(others > 0));
            ledger.decoded_bytes = (end as u64).saturating_sub(ledger.skipped_bytes);
        }
    }

    /// Takes the packets of a part where local time stamps are the time base: the others wait.
    fn take_stamps(&mut self, records: &Records, bytes: &[u8], out: &mut Resolved<'_>) {
        let before = self.taken;
        self.stamps.reserve(records.stamps.len());
        for &index in &records.stamps {
            self.wait_until(before + u64::from(index));
            match records.packets.get(index as usize) {
                Some(&Record { packet: Ok(Packet::LocalTime { ticks, delay }), .. })
                    if ticks <= LOCAL_COUNTER && delay == Delay::default() =>
                {
                    self.taken += 1;
                    self.ticks = self.ticks.saturating_add(u64::from(ticks));
                    self.delays[0] += 1;
                    self.stamp(self.taken, self.ticks, delay);
                }
                Some(record) => self.take(record, bytes, out),
                None => {}
            }
        }
        self.wait_until(before + records.packets.len() as u64);
    }

    /// Takes packets that wait, up to this number of all.
    fn wait_until(&mut self, taken: u64) {
        while taken - self.stamped > HELD_LIMIT {
            self.taken = self.stamped + HELD_LIMIT + 1;
            self.stamp(self.taken, self.ticks, Delay::default());
        }
        self.taken = taken;
    }

    /// Takes the next packet: it waits, or brings the time of those that wait.
    #[inline]
    fn take(&mut self, record: &Record, bytes: &[u8], out: &mut Resolved<'_>) {
        self.taken += 1;
        if let Ok(Packet::GlobalLow { clock_changed: true, .. }) = record.packet {
            self.clock_changes += 1;
        }
        match (record.packet, self.base) {
            (Ok(Packet::LocalTime { ticks, delay }), TimeBase::Local) => {
                if ticks > LOCAL_COUNTER && self.has_short_steps {
                    out.ledger.enter(losses::TIME_OUTLIER, record.offset, 0);
                } else {
                    self.ticks = self.ticks.saturating_add(u64::from(ticks));
                }
                self.delays[usize::from(delay.of_stamp) + 2 * usize::from(delay.of_packets)] += 1;
                if delay != Delay::default() {
                    out.ledger.enter(losses::DELAYED_PACKETS, record.offset, 0);
                }
                self.stamp(self.taken, self.ticks, delay);
            }
            (Ok(packet @ (Packet::GlobalLow { .. } | Packet::GlobalHigh { .. })), TimeBase::Global) => {
                let packets = self.taken - self.stamped - self.unjudged;
                if self.global.take(packet, record.offset, packets) {
                    self.unjudged += packets;
                    self.judge(self.unjudged > UNJUDGED_LIMIT, bytes, out);
                }
                if std::mem::take(&mut self.global.is_refused) {
                    out.ledger.enter(losses::TIME_OUTLIER, record.offset, 0);
                }
            }
            (Ok(packet @ (Packet::GlobalLow { .. } | Packet::GlobalHigh { .. })), TimeBase::Local) => {
                if self.global.take(packet, record.offset, 0)
                    && let Some(reading) = self.global.take_reading()
                {
                    let pair = (self.ticks, reading);
                    let goes_back = self.both_times.is_some_and(|pairs| reading < pairs[1].1);
                    self.went_back += u64::from(goes_back);
                    self.both_times = Some([self.both_times.filter(|_| !goes_back).map_or(pair, |pairs| pairs[0]), pair]);
                }
            }
            (Err(_) | Ok(Packet::Overflow), TimeBase::Global) => self.global.note_damage(),
            (Ok(Packet::Hardware { id: 2, .. }), TimeBase::Samples(period)) => {
                // The packets between two samples are spread evenly.
                let (start, waiting) = (self.stamped, self.taken - self.stamped);
                for index in 1..=waiting {
                    let ticks = self.ticks + (u128::from(period) * u128::from(index) / u128::from(waiting)) as u64;
                    self.stamp(start + index, ticks, Delay::default());
                }
                self.ticks = self.ticks.saturating_add(period);
            }
            (_, TimeBase::Position) => {
                self.ticks = record.offset;
                self.stamp(self.taken, self.ticks, Delay::default());
            }
            _ => {}
        }
        if self.taken - self.stamped - self.unjudged > HELD_LIMIT {
            self.judge(true, bytes, out);
            self.stamp(self.taken, self.ticks, Delay::default());
        }
    }

    /// Judges the global time stamps that have enough others after them, or all.
    fn judge(&mut self, is_last: bool, bytes: &[u8], out: &mut Resolved<'_>) {
        while let Some(Certain { ticks, packets, is_restart }) = self.global.next(is_last, bytes, self.rate, out.ledger) {
            self.ticks = ticks;
            self.stamp(self.stamped + packets, ticks, Delay::default());
            if let (true, Some(last)) = (is_restart, self.stamps.last_mut()) {
                last.is_restart = true;
            }
            self.unjudged -= packets;
        }
    }

    /// The packets up to this number have a time.
    #[inline]
    fn stamp(&mut self, end: u64, ticks: u64, delay: Delay) {
        self.stamps.push(Stamped { end, ticks, delay, is_restart: false });
        self.stamped = end;
    }

    /// Makes events of the packets that have a time, except the last ones: of those that are held, this number, and of those of a part.
    fn release_part(&mut self, held: u64, packets: &[Record], except: u64, out: &mut Resolved<'_>) {
        let mut waiting = std::mem::take(&mut self.held);
        // The held ones, with all after them that their meaning depends on.
        let (before, near) = (held as usize, packets.get(..LOOKAHEAD as usize).unwrap_or(packets));
        waiting.extend_from_slice(near);
        let end = self.stamped.saturating_sub(except);
        let done = self.release(&waiting, before, end, out);
        if done < before {
            waiting.extend_from_slice(packets.get(near.len()..).unwrap_or(&[]));
            waiting.drain(..done);
        } else {
            let done = self.release(packets, packets.len(), end, out);
            waiting.clear();
            waiting.extend_from_slice(packets.get(done..).unwrap_or(&[]));
        }
        self.held = waiting;
        self.stamps.drain(..self.first_stamp);
        self.first_stamp = 0;
    }

    /// Makes events of the first ones of these packets, up to the number `end` of all. Returns how many.
    fn release(&mut self, packets: &[Record], most: usize, end: u64, out: &mut Resolved<'_>) -> usize {
        let end = end.min(self.released + most as u64);
        let mut done = 0;
        while self.released < end
            && let Some(stamp) = self.stamps.get_mut(self.first_stamp)
        {
            let is_restart = std::mem::take(&mut stamp.is_restart);
            let Stamped { end: stamped, ticks, delay, .. } = *stamp;
            let until = stamped.min(end);
            self.first_stamp += usize::from(until == stamped);
            let nanos = self.rate.to_nanos(Ticks(ticks));
            let time = nanos.unwrap_or(Nanos::MAX).max(Nanos(self.last_ns));
            self.last_ns = time.0;
            if is_restart {
                self.begin_session(time, out);
            }
            let count = usize::try_from(until - self.released).unwrap_or(usize::MAX);
            for record in packets.get(done..).map_or(&[][..], |rest| rest.get(..count).unwrap_or(rest)) {
                done += 1;
                if nanos.is_none() {
                    out.ledger.enter(losses::TIME_OVERFLOW, record.offset, 0);
                }
                let packet = match record.packet {
                    Ok(Packet::Page { .. }) if !self.has_pages => {
                        out.ledger.enter(losses::DAMAGED_PACKET, record.offset, 0);
                        self.note_damage(losses::DAMAGED_PACKET, record.offset);
                        continue;
                    }
                    Ok(packet) => packet,
                    Err(damage) => {
                        self.note_damage(kind_of(damage), record.offset);
                        continue;
                    }
                };
                out.batch.note_judged(record.offset, time);
                if !self.pending.is_empty() || packet == Packet::Overflow {
                    self.lose(packet, record.offset, time, out);
                }
                // Most packets are time stamps, which are no events.
                if matches!(packet, Packet::LocalTime { delay, .. } if delay == Delay::default()) {
                    continue;
                }
                let at = events::At { time, offset: record.offset };
                self.meaning.packet(packet, delay, at, packets.get(done..).unwrap_or(&[]), out);
            }
            self.released = until;
        }
        done
    }

    /// The target was reset: nothing goes on.
    #[cold]
    fn begin_session(&mut self, time: Nanos, out: &mut Resolved<'_>) {
        if self.session + 1 < SESSIONS_LIMIT {
            self.session += 1;
            self.meaning.finish(time, out);
            self.meaning.forget();
            out.batch.events.push(Event { time, core: self.core, kind: EventKind::SessionStart(self.session) });
        }
    }

    /// Notes that packets are missing before this one, and passes on the losses before it.
    #[cold]
    fn lose(&mut self, packet: Packet, offset: u64, time: Nanos, out: &mut Resolved<'_>) {
        if packet == Packet::Overflow {
            let kind = losses::DROPPED_BY_TARGET;
            out.ledger.enter(kind, offset, 1);
            LossNote { kind, offset, bytes: 0, at_least_lost: 1 }.add_by_kind(&mut self.pending);
        }
        self.emit_losses(time, out);
    }

    /// Adds a damaged byte to the losses before the next event. Its packet may be a time stamp, so no event need be missing.
    fn note_damage(&mut self, kind: LossKind, offset: u64) {
        LossNote { kind, offset, bytes: 1, at_least_lost: 0 }.add_by_kind(&mut self.pending);
    }

    #[cold]
    fn emit_losses(&mut self, time: Nanos, out: &mut Resolved<'_>) {
        for note in std::mem::take(&mut self.pending) {
            out.batch.add_loss(time, self.core, note);
            self.meaning.forget();
        }
    }
}
