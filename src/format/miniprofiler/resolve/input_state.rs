//! The state of one input of a recording: its clock and sessions, its lanes, and the stray bytes between its packets.

use super::clock::Clock;
use super::status::Counters;
use super::stray::{Damage, StrayBytes};
use super::*;
use crate::clock::{Copies, RESTART_GAP_NS, SESSIONS_LIMIT};
use crate::model::LossKind;

/// The state of one input.
pub struct InputState {
    pub core: CoreId,
    reading: super::super::record::Reading,
    pub rate: Rate,
    /// Nanoseconds per tick, if that is a whole number.
    tick_ns: Option<u64>,
    pub clock: Clock,
    pub session: u32,
    /// The time of the session's tick 0, in nanoseconds.
    start_ns: u64,
    pub last_ns: Nanos,
    /// Whether METADATA, or the answer to a command, came since the last call: the device may have been restarted.
    pub may_restart: bool,
    /// The last METADATA; before the first, that of the whole capture.
    metadata: Option<Metadata>,
    is_session_described: bool,
    pub functions: Functions,
    /// The depth of the last call of the packets before.
    pub last_depth: u16,
    /// Whether calls are drawn, and whether calls are left out by an option.
    pub has_calls: [bool; 2],
    lanes: Lanes,
    pub counters: Counters,
    /// The number of records received in this session.
    pub received: u64,
    /// The number of its records that are known to be lost without the device's counters.
    pub stated: u64,
    /// The loss since the last call.
    pub gap: Option<LossNote>,
    pub stray: StrayBytes,
    copies: Copies,
    /// Parts whose calls are judged by what follows them.
    pub held: VecDeque<Packets>,
}

/// The lanes of one session.
#[derive(Default)]
struct Lanes {
    answers: Option<LaneId>,
    acknowledgements: Option<LaneId>,
    log: Option<LaneId>,
    usage: Option<LaneId>,
    overflows: Option<LaneId>,
    captured: Option<LaneId>,
}

impl InputState {
    pub fn new(facts: ScanFacts, source: &Source, rate: Rate) -> InputState {
        let (numerator, denominator) = rate.ns_per_tick();
        let first = facts.first_begin();
        let mut input = InputState {
            core: source.core,
            reading: source.reading(),
            rate,
            tick_ns: (denominator == 1).then_some(numerator),
            clock: Clock::new(facts.wraps_before()),
            session: 0,
            start_ns: 0,
            last_ns: Nanos(0),
            may_restart: false,
            metadata: facts.metadata,
            is_session_described: false,
            functions: Functions::default(),
            last_depth: 0,
            has_calls: [false; 2],
            lanes: Lanes::default(),
            counters: Counters::default(),
            received: 0,
            stated: 0,
            gap: None,
            stray: StrayBytes::default(),
            copies: Copies::default(),
            held: VecDeque::new(),
        };
        // A record without a time of its own before the first call has the time at which that begins, not 0.
        input.last_ns = first.and_then(|ticks| rate.to_nanos(Ticks(ticks))).unwrap_or_default();
        input
    }

    /// Whether all that the calls of the oldest part are judged by has come.
    pub fn is_enough_held(&self) -> bool {
        let later = self.held.iter().skip(1);
        let Some((first, last)) = later.clone().next().zip(self.held.back()) else { return false };
        last.base.saturating_sub(first.base) >= LOOKAHEAD_BYTES
            || later.map(|packets| packets.records.len() / RECORD_BYTES).sum::<usize>() >= LOOKAHEAD
    }

    /// The time of a tick of the current session. Times beyond the range of a trace are held at the last one.
    #[inline(always)]
    pub fn nanos(&self, ticks: u64, offset: u64, ledger: &mut Ledger) -> Nanos {
        let plain = match self.tick_ns {
            Some(tick_ns) => ticks.checked_mul(tick_ns),
            None => self.rate.to_nanos(Ticks(ticks)).map(|time| time.0),
        };
        match plain.and_then(|ns| ns.checked_add(self.start_ns)).filter(|&ns| ns <= Nanos::MAX.0) {
            Some(ns) => Nanos(ns),
            None => self.overflowed(offset, ledger),
        }
    }

    #[cold]
    fn overflowed(&self, offset: u64, ledger: &mut Ledger) -> Nanos {
        ledger.enter(losses::TIME_OVERFLOW, offset, 0);
        self.last_ns
    }

    /// Handles a restart or a long silence, as known from a call's time.
    #[cold]
    pub fn handle_step(&mut self, step: Step, sessions: &mut u32, offset: u64, out: &mut Resolved<'_>) {
        self.may_restart = false;
        match step {
            Step::Normal | Step::Repeated => {}
            Step::Outlier => out.ledger.enter(losses::TIME_OUTLIER, offset, 0),
            Step::LongSilence => out.ledger.enter(losses::LONG_SILENCE, offset, 0),
            Step::Restart => {
                out.ledger.enter(losses::SESSION_RESTART, offset, 0);
                self.start_ns = self.last_ns.saturating_add(RESTART_GAP_NS).0;
                if self.session + 1 >= SESSIONS_LIMIT {
                    return;
                }
                self.session += 1;
                *sessions = (*sessions).max(self.session + 1);
                self.functions.begin_session();
                self.lanes = Lanes::default();
                self.counters = Counters::default();
                (self.received, self.stated) = (0, 0);
                self.is_session_described = false;
                self.last_ns = Nanos(self.start_ns).min(Nanos::MAX);
                self.describe_session(out.entities);
                let kind = EventKind::SessionStart(self.session);
                out.batch.events.push(Event { time: self.last_ns, core: self.core, kind });
            }
        }
    }

    /// Adds the device's description of itself to the session.
    pub fn describe_session(&mut self, entities: &mut Entities) {
        let Some(metadata) = self.metadata.filter(|_| !std::mem::replace(&mut self.is_session_described, true)) else { return };
        let version = metadata.version();
        let detail = |name: &str, value: String| (Arc::from(name), Arc::from(value));
        let session = Session {
            name: (!version.is_empty()).then(|| Arc::from(version.as_str())),
            details: vec![
                detail("firmware version", version),
                detail("build id", format!("0x{:08X}", metadata.build_id)),
                detail("processor clock", format!("{} Hz", metadata.mcu_clock_hz)),
                detail("profiling timer", format!("{} Hz", metadata.timer_hz)),
            ],
            ..Session::default()
        };
        entities.describe_session(self.session, session);
    }

    pub fn set_metadata(&mut self, metadata: Metadata, out: &mut Resolved<'_>) {
        self.metadata = Some(metadata);
        self.may_restart = true;
        self.instant("METADATA", out);
    }

    /// The device has carried out a command, which may have been to start.
    pub fn acknowledge(&mut self, out: &mut Resolved<'_>) {
        self.may_restart = true;
        self.instant("ACK", out);
    }

    pub fn note_command(&mut self, command: Command, out: &mut Resolved<'_>) {
        self.may_restart |= command == Command::Start;
        if command == Command::ResetBuffers {
            self.counters.restart();
        }
        self.instant(command.name(), out);
    }

    /// An instant on the track of commands and answers.
    pub fn instant(&mut self, name: &str, out: &mut Resolved<'_>) {
        self.describe_session(out.entities);
        // An ACK has no time of its own. At the time of another answer it would be drawn as if it were part of that.
        let lane = match name {
            "ACK" | "NACK" => {
                let number = (5, LaneKind::Events, "acknowledgements");
                lane(&mut self.lanes.acknowledgements, number, self.session, out.entities)
            }
            _ => {
                let number = (0, LaneKind::Events, "commands and answers");
                lane(&mut self.lanes.answers, number, self.session, out.entities)
            }
        };
        let (Some(lane), Some(name)) = (lane, out.entities.add_name(name)) else { return };
        self.push(EventKind::Instant { lane, label: Label::name(name), args: Default::default() }, out);
    }

    /// Emits the values of the device's counters.
    pub fn values(&mut self, usage: u8, overflows: u64, captured: u64, out: &mut Resolved<'_>) {
        self.describe_session(out.entities);
        let Lanes { usage: usage_lane, overflows: overflows_lane, captured: captured_lane, .. } = &mut self.lanes;
        let all = [
            (usage_lane, (1, LaneKind::Values, "buffer use in percent"), u64::from(usage)),
            (overflows_lane, (2, LaneKind::Values, "buffer overflows"), overflows),
            (captured_lane, (3, LaneKind::Values, "records captured"), captured),
        ];
        for (place, number, value) in all {
            if let Some(lane) = lane(place, number, self.session, out.entities) {
                let kind = EventKind::Value { lane, value: Packed(i64::try_from(value).unwrap_or(i64::MAX)) };
                out.batch.events.push(Event { time: self.last_ns, core: self.core, kind });
            }
        }
    }

    fn push(&self, kind: EventKind, out: &mut Resolved<'_>) {
        out.batch.events.push(Event { time: self.last_ns, core: self.core, kind });
    }

    /// Adds bytes that are not a packet.
    pub fn add_stray(&mut self, offset: u64, bytes: &[u8], out: &mut Resolved<'_>) {
        let mut stray = std::mem::take(&mut self.stray);
        stray.add(offset, bytes, &mut |_, line| self.log(line, out));
        self.stray = stray;
    }

    /// Ends the stray bytes, before the packet at `next` or at the end.
    #[inline]
    pub fn end_stray(&mut self, next: Option<u64>, bytes: &[u8], out: &mut Resolved<'_>) {
        if self.stray.is_empty() {
            return;
        }
        let mut stray = std::mem::take(&mut self.stray);
        let (text_bytes, damage) = stray.end(&mut |_, line| self.log(line, out));
        self.stray = stray;
        out.ledger.decoded_bytes += text_bytes;
        // A boot loader may have written it.
        self.may_restart |= text_bytes > 0;
        if damage.bytes > 0 {
            let kind = damage.kind(self.reading, next.is_none());
            let at_least_lost = self.at_least_lost(kind, &damage, next, bytes);
            self.stated += at_least_lost;
            out.ledger.bad_frame(kind, damage.offset, damage.bytes, at_least_lost);
            LossNote { kind, offset: damage.offset, bytes: damage.bytes, at_least_lost }.add_to(&mut self.gap);
        }
    }

    /// How many records are lost with stray bytes that end before the packet at `next`, at least.
    pub fn at_least_lost(&mut self, kind: LossKind, damage: &Damage, next: Option<u64>, bytes: &[u8]) -> u64 {
        let is_seam = |copies: &mut Copies| next.is_some_and(|next| copies.begins_at(bytes, next));
        if kind == losses::NOISE || is_seam(&mut self.copies) {
            return 0;
        }
        let end =
            next.filter(|next| next.checked_sub(damage.offset) == Some(damage.bytes)).and_then(|next| usize::try_from(next).ok());
        let packets = end.and_then(|end| bytes.get(usize::try_from(damage.offset).ok()?..end));
        packets.and_then(|packets| self.reading.records_in_damaged(packets)).unwrap_or(0).max(1)
    }

    /// Emits a line of text that the firmware printed.
    fn log(&mut self, line: &str, out: &mut Resolved<'_>) {
        self.describe_session(out.entities);
        let number = (4, LaneKind::Log, "text between packets");
        let Some(lane) = lane(&mut self.lanes.log, number, self.session, out.entities) else { return };
        let body = out.batch.texts.add(line);
        let severity = LogSeverity::Unspecified;
        let note = LogNote { lane, severity, name: Label::text(body), body, source: None, grade: None, args: Default::default() };
        out.batch.add_log(self.last_ns, self.core, note);
    }

    /// Accounts for the bytes of a packet or command.
    #[inline]
    pub fn account(&mut self, item: &Item, offset: u64, ledger: &mut Ledger) {
        let bytes = u64::from(item.len);
        let bad = match item.content {
            Content::Profile { count, records, fits } => {
                if !fits {
                    let missing = u64::from(count.saturating_sub(records));
                    ledger.enter(losses::COUNT_MISMATCH, offset, missing);
                    self.stated += missing;
                }
                None
            }
            Content::UnknownType { .. } => Some(losses::UNKNOWN_PACKET_TYPE),
            Content::OddLength { .. } => Some(losses::WRONG_LENGTH),
            // Accounted for together with its loss.
            Content::OtherVersion { .. } | Content::Stray => return,
            _ => None,
        };
        match bad {
            Some(kind) => {
                ledger.bad_frame(kind, offset, bytes, 1);
                LossNote { kind, offset, bytes, at_least_lost: 1 }.add_to(&mut self.gap);
            }
            None => {
                ledger.decoded_bytes += bytes;
                ledger.frames_ok += 1;
            }
        }
    }

    pub fn reading(&self) -> super::super::record::Reading {
        self.reading
    }
}

fn lane(
    place: &mut Option<LaneId>,
    (number, kind, name): (u32, LaneKind, &str),
    session: u32,
    entities: &mut Entities,
) -> Option<LaneId> {
    if place.is_none() {
        *place = entities.add_lane(Lane { number, name: Some(name.into()), owner: LaneOwner::Firmware, kind, session });
    }
    *place
}
