//! The time of each record: from the transport, from the message's own time stamp, or from the order alone.
//!
//! Which time stamps are believed, and what is a restart, [`crate::clock`] decides.

use super::senders::ClockSenders;
use crate::clock::{Domain, Judge, RESTART_GAP_NS, Stamp, Verdict as Judged};
use crate::format::Detail;
use crate::format::options::overridden_rate;
use crate::format::syst::correlation::{ASSUMED, GIVEN, Line, Owner, Pair, Pairs, RECORDED, TransportClock};
use crate::format::syst::decode::Records;
use crate::format::syst::decoded::{Notice, RecordKind, Stored};
use crate::format::syst::record::Marks;
use crate::format::syst::scan::{MessageFacts, Rates};
use crate::model::{Certainty, ClockKind, ClockReadings, Finding, Matter, Nanos, Rate, SideClock, counted};

/// The time between messages if there are no time stamps.
const STEP_NS: u64 = 1_000;

/// How many records following may be looked at. Some have no time stamp; the others are enough to see that time is held for long.
pub const LOOKAHEAD_RECORDS: usize = 96;

/// A small step back, in bits: several threads may send, but each stamp is read right before.
const DISORDER_BITS: u32 = 16;

/// What a restart costs, in bits: no record says that one begins, and pieces of logs are hardly moved.
const RESTART_BITS: u32 = 56;

/// A clock message without a time stamp has its own value as its time, if that is not further from the time reached.
const CLOCK_VALUE_NS: u64 = 1_000_000_000;

/// The judged time of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JudgedTime {
    /// Not known.
    Unknown,
    /// Its own time.
    At(Nanos),
    /// Held at this time; its own is a little earlier.
    Clamped(Nanos),
    /// Held at this time; its own is larger than a trace can hold.
    Overflow(Nanos),
    /// Held at this time; its own contradicts those before and after it.
    Outlier(Nanos),
    /// The clock restarted.
    Restart(Nanos),
    /// It depends on records that have not come yet.
    Wait,
}

/// The records after a record.
#[derive(Clone, Copy)]
pub struct Following<'a> {
    /// The next records.
    pub held: &'a [Stored],
    /// The records after those.
    pub fresh: &'a [Stored],
    /// Whether no more will come.
    pub is_all: bool,
}

impl<'a> Following<'a> {
    fn records(self) -> impl Iterator<Item = &'a Stored> + Clone {
        self.held.iter().chain(self.fresh).take(LOOKAHEAD_RECORDS)
    }
}

/// The clocks of an input.
#[derive(Clone, Debug)]
pub struct MessageTimes {
    /// That of the transport, if it has one.
    transport: Option<Line>,
    transport_source: &'static str,
    message: Line,
    message_source: &'static str,
    /// Whether an option gives the rate. Rates in the capture are ignored then.
    message_is_given: bool,
    /// A hint if they are others.
    overridden: Option<String>,
    rates: Rates,
    transport_is_given: bool,
    /// No message has a time stamp.
    by_order: bool,
    /// Added to times of this session, in nanoseconds.
    shift_ns: i64,
    last: Option<u64>,
    /// The latest time given to a record before the first message that is believed.
    placed: Option<u64>,
    judge: Judge,
    /// The last clock message: its value, its frequency, and the transport's time of it.
    correlation: Option<(u64, u64, Option<u64>)>,
    correlations: u64,
    /// The trace's axis is the time of day.
    counts_from_1970: bool,
    pairs: Pairs,
    /// Without a transport: who sent clock messages.
    senders: ClockSenders,
    /// The numbers of the clocks with the time of day, and of the first clock of all: only their readings are used for other than times
    /// of messages.
    wall_clock: Option<usize>,
    main_clock: Option<usize>,
    wall: ClockReadings,
    target: ClockReadings,
}

const COUNTS_FROM_1970: &str = "inferred: it counts from 1970";

impl MessageTimes {
    /// The clocks before the first record. `message_rate` is given by an option.
    pub fn new(message_rate: Option<Rate>, facts: &MessageFacts, transport: Option<TransportClock>) -> MessageTimes {
        let is_given = message_rate.is_some();
        let is_transport_given = transport.as_ref().is_some_and(|clock| clock.source == GIVEN);
        let has_transport = transport.is_some();
        let (transport, transport_source, pairs, mut overridden) = match transport {
            Some(clock) => (Some(Line::new(clock.rate)), clock.source, clock.pairs, clock.overridden),
            None => (None, ASSUMED, Pairs::default(), None),
        };
        let first_timestamp = facts.first_timestamp();
        let recorded = facts.rates.first().or(pairs.firsts().next().map(|pair| pair.hz)).and_then(|hz| Rate::from_hz(hz, 1));
        overridden = overridden.or_else(|| overridden_rate(message_rate, recorded));
        let (message_rate, message_source) = match (message_rate, recorded) {
            (Some(rate), _) => (rate, GIVEN),
            (None, Some(rate)) => (rate, RECORDED),
            (None, None) => match first_timestamp.and_then(since_1970) {
                Some(rate) => (rate, COUNTS_FROM_1970),
                None => (Rate::NANOSECOND, ASSUMED),
            },
        };
        let mut times = MessageTimes {
            transport,
            transport_source,
            message: Line::new(message_rate),
            message_source,
            message_is_given: is_given,
            overridden,
            rates: facts.rates.clone(),
            transport_is_given: is_transport_given,
            by_order: !has_transport && facts.with_timestamp == 0,
            shift_ns: 0,
            last: None,
            placed: None,
            judge: Judge::new(Domain { disorder_bits: DISORDER_BITS, restart_bits: Some(RESTART_BITS), ..Domain::plain() }),
            correlation: None,
            correlations: 0,
            counts_from_1970: !has_transport && first_timestamp.is_some_and(|ticks| wall_time(ticks, message_rate).is_some()),
            pairs,
            senders: ClockSenders::default(),
            wall_clock: None,
            main_clock: None,
            wall: ClockReadings::default(),
            target: ClockReadings::default(),
        };
        // Text may come before the first message.
        times.last = match first_timestamp.filter(|_| !has_transport) {
            Some(first) => times.message.nanos(first),
            None if times.by_order => Some(0),
            None => None,
        };
        times
    }

    /// The time of day, if the first pass found it. The viewer needs it before all events.
    pub fn wall_at_start(&self, facts: &MessageFacts) -> Option<SideClock> {
        let mut readings = ClockReadings::default();
        match &self.transport {
            Some(_) => {
                let wall = |pair: &Pair| Some((Nanos(pair.ns), wall_time(pair.ticks, Rate::from_hz(pair.hz, 1)?)?));
                let (time, wall) = self.pairs.firsts().find_map(wall)?;
                readings.add(time, wall);
            }
            None => {
                let recorded = facts.first_clock.zip(facts.rates.first().and_then(|hz| Rate::from_hz(hz, 1)));
                let (ticks, rate) = recorded.or(facts.first_timestamp().map(|ticks| (ticks, self.message.rate)))?;
                readings.add(Nanos(self.message.nanos(ticks)?), wall_time(ticks, rate)?);
            }
        }
        Some(SideClock { kind: ClockKind::Wall, readings })
    }

    /// Readings of other clocks.
    pub fn side_clocks(&self) -> Vec<SideClock> {
        let target = ClockKind::Target("SyS-T message clock");
        let all = [(ClockKind::Wall, &self.wall), (target, &self.target)];
        let read = all.into_iter().filter(|(_, readings)| !readings.all().is_empty());
        read.map(|(kind, readings)| SideClock { kind, readings: readings.clone() }).collect()
    }

    /// Judges the time of a record, if need be by the following ones.
    #[inline]
    pub fn judge<'a>(&mut self, stored: &Stored, following: impl FnOnce() -> Following<'a>) -> JudgedTime {
        let is_message = is_message(stored);
        let own = self.own(stored);
        if self.judge.begin().is_none() && !self.by_order && (own.is_none() || !self.is_timed(stored)) {
            return self.judge_early(stored, own.flatten(), following());
        }
        let Some(own) = own else {
            if self.by_order && is_message {
                let next = self.last.map_or(0, |last| last.saturating_add(STEP_NS)).min(Nanos::MAX.0);
                self.last = Some(next);
            }
            return self.last.map_or(JudgedTime::Unknown, |last| JudgedTime::At(Nanos(last)));
        };
        let Some(raw) = own else {
            let time = *self.last.get_or_insert(0);
            // The first message that has a time is not placed before it.
            self.placed = self.placed.max(Some(time));
            return JudgedTime::Overflow(Nanos(time));
        };
        if !self.is_timed(stored) {
            return self.judge_notice(raw, stored.marks.has(Marks::EARLY));
        }
        if let Some(ticks) = self.judge.step(raw, raw) {
            return self.accept(ticks);
        }
        self.judge_odd(raw, following())
    }

    /// See [`Judge::take_doubt`].
    #[inline]
    pub fn take_doubt(&mut self) -> Option<String> {
        self.judge.take_doubt().map(|doubt| doubt.text(Rate::NANOSECOND))
    }

    /// A record before the first message: not later than that.
    fn judge_early(&mut self, stored: &Stored, own: Option<u64>, following: Following<'_>) -> JudgedTime {
        if !following.is_all && following.records().count() < LOOKAHEAD_RECORDS {
            return JudgedTime::Wait;
        }
        let stamps = self.stamps(following);
        let first = stamps.split_first().map(|(first, ahead)| {
            let judged = self.judge.clone().judge(*first, ahead.iter().copied(), &[]);
            judged.ticks.saturating_add_signed(self.shift_ns)
        });
        let time = match (own, first) {
            // A transport's time is 0 before its first time stamp.
            (Some(own @ 1..), Some(first)) => Some(own.min(first)),
            (own, first) => first.or(self.last).or(own),
        };
        let time = time.max(self.placed);
        // A frequency is not drawn: a trigger after it may be earlier than the first message.
        if first.is_some() && stored.kind != RecordKind::Notice(Notice::Frequency) {
            (self.placed, self.last) = (time, time);
        }
        time.map_or(JudgedTime::Unknown, |time| JudgedTime::At(Nanos(time)))
    }

    /// The stamps of the messages and triggers among the next records.
    fn stamps(&self, following: Following<'_>) -> Vec<Stamp> {
        let timed = following.records().filter(|stored| self.is_timed(stored));
        timed.filter_map(|stored| Some(Stamp { raw: self.own(stored)??, ..Stamp::default() })).collect()
    }

    /// Whether a record's time is judged: that of a message, or of a trigger unless messages that began earlier follow. Before the first
    /// message a trigger may have no time: a transport's is 0 before its first time stamp.
    #[inline]
    fn is_timed(&self, stored: &Stored) -> bool {
        match stored.kind {
            RecordKind::Notice(Notice::Trigger) => !stored.marks.has(Marks::EARLY) && self.judge.begin().is_some(),
            RecordKind::Notice(_) => false,
            _ => true,
        }
    }

    /// A notice of the transport has its own time, unless messages that began earlier follow.
    fn judge_notice(&mut self, raw: u64, is_early: bool) -> JudgedTime {
        let own = raw.checked_add_signed(self.shift_ns).unwrap_or(0);
        match self.last {
            Some(last) if is_early || own < last || own - last >= self.judge.usual_step() => JudgedTime::Clamped(Nanos(last)),
            _ => {
                self.last = Some(own);
                JudgedTime::At(Nanos(own))
            }
        }
    }

    /// A record's own time; `Some(None)` if it is larger than a trace can hold.
    #[inline]
    fn own(&self, stored: &Stored) -> Option<Option<u64>> {
        let own = if let (Some(line), Some(ticks)) = (&self.transport, stored.transport) {
            line.nanos(ticks)
        } else {
            let own = stored.timestamp.or_else(|| self.clock_value(stored));
            self.message.nanos(own.filter(|_| is_message(stored) && self.transport.is_none())?)
        };
        let is_shown = |ns: &u64| ns.checked_add_signed(self.shift_ns).is_some_and(|ns| ns <= Nanos::MAX.0);
        Some(own.filter(is_shown))
    }

    /// What a clock message without a time stamp reads, if it may be its time.
    fn clock_value(&self, stored: &Stored) -> Option<u64> {
        let reads = matches!(stored.kind, RecordKind::Clock) && !stored.marks.has(Marks::CRC_BAD) && stored.extra != 0;
        let ns = self.message.nanos(stored.value).filter(|_| reads && !self.by_order)?;
        let own = ns.checked_add_signed(self.shift_ns)?;
        self.last.is_some_and(|last| own.abs_diff(last) < CLOCK_VALUE_NS).then_some(stored.value)
    }

    #[inline]
    fn accept(&mut self, ticks: u64) -> JudgedTime {
        let own = ticks.saturating_add_signed(self.shift_ns);
        let time = own.max(self.last.unwrap_or(0));
        self.last = Some(time);
        if own < time { JudgedTime::Clamped(Nanos(time)) } else { JudgedTime::At(Nanos(time)) }
    }

    #[cold]
    fn judge_odd(&mut self, raw: u64, following: Following<'_>) -> JudgedTime {
        if !following.is_all && following.records().count() < LOOKAHEAD_RECORDS {
            return JudgedTime::Wait;
        }
        let is_first = self.judge.begin().is_none();
        let stamps = self.stamps(following);
        let judged = self.judge.judge(Stamp { raw, ..Stamp::default() }, stamps.iter().copied(), &[]);
        if is_first {
            let time = judged.ticks.saturating_add_signed(self.shift_ns);
            self.last = Some(time).max(self.placed);
            self.placed = self.last;
        }
        match judged.verdict {
            Judged::Believed => self.accept(judged.ticks),
            Judged::Restarted => {
                let start = self.last.map_or(Nanos(raw), |last| Nanos(last).saturating_add(RESTART_GAP_NS));
                self.shift_ns = start.0.cast_signed().saturating_sub(raw.cast_signed());
                JudgedTime::Restart(start)
            }
            Judged::Replaced => match self.accept(judged.ticks) {
                JudgedTime::At(time) | JudgedTime::Clamped(time) => JudgedTime::Outlier(time),
                other => other,
            },
            Judged::Held | Judged::Unknown => {
                let time = self.last.unwrap_or(0).max(judged.ticks.saturating_add_signed(self.shift_ns));
                self.last = Some(time);
                JudgedTime::Clamped(Nanos(time))
            }
        }
    }

    /// The time of a message's own time stamp on the trace's axis, in nanoseconds, if the transport has a time for it, too. `offset` is
    /// where the message starts in the input.
    #[inline]
    pub fn made_at(&mut self, records: &Records, stored: &Stored, offset: u64) -> Option<u64> {
        match (stored.transport, stored.timestamp) {
            (Some(_), Some(ticks)) => self.on_transport(records, stored, ticks, offset),
            _ => None,
        }
    }

    #[inline(never)]
    fn on_transport(&mut self, records: &Records, stored: &Stored, ticks: u64, offset: u64) -> Option<u64> {
        let clock = if self.pairs.is_one_clock() { 0 } else { self.pairs.clock_of(owner_of(records, stored)?)? };
        let ns = self.pairs.nanos(clock, offset, ticks)?;
        ns.checked_add_signed(self.shift_ns).filter(|&ns| ns <= Nanos::MAX.0)
    }

    /// The time reached.
    pub fn reached(&self) -> Nanos {
        Nanos(self.last.unwrap_or(0))
    }

    /// Notes facts about the clocks in a record. `time` is the judged time of the record. False if a frequency in it is not used: after
    /// damage, other data looks like a new one (`is_damaged`).
    #[inline]
    pub fn note(&mut self, records: &Records, stored: &Stored, time: Nanos, is_damaged: bool) -> bool {
        match stored.kind {
            RecordKind::Clock if !stored.marks.has(Marks::CRC_BAD) && stored.extra != 0 => {
                return self.note_clock(owner_of(records, stored), stored, time);
            }
            RecordKind::Notice(Notice::Frequency) if !self.transport_is_given => {
                if let (Some(line), Some(rate)) = (&mut self.transport, Rate::from_hz(stored.value, 1)) {
                    if is_damaged && rate != line.rate {
                        return false;
                    }
                    line.bend(stored.transport.unwrap_or(0), rate);
                    self.transport_source = RECORDED;
                }
            }
            _ => {}
        }
        true
    }

    #[cold]
    fn note_clock(&mut self, owner: Option<Owner>, stored: &Stored, time: Nanos) -> bool {
        let Some(rate) = Rate::from_hz(stored.extra, 1) else { return false };
        if let (None, Some(owner)) = (&self.transport, owner) {
            self.senders.note(owner, stored.value, stored.extra);
        }
        if !self.rates.admits(stored.extra) {
            return false;
        }
        self.correlations += 1;
        self.correlation = Some((stored.value, stored.extra, stored.transport));
        let clock = owner.and_then(|owner| self.pairs.clock_of(owner)).unwrap_or(0);
        if let Some(wall) = wall_time(stored.value, rate)
            && *self.wall_clock.get_or_insert(clock) == clock
        {
            self.wall.add(time, wall);
        }
        if *self.main_clock.get_or_insert(clock) != clock {
            return true;
        }
        if !self.message_is_given {
            if self.transport.is_some() && self.message_source != RECORDED {
                // The first fact about it.
                (self.message, self.message_source) = (Line::new(rate), RECORDED);
            } else if self.message.bend(stored.value, rate) {
                // It continues from here at another rate.
                self.message_source = RECORDED;
            }
        }
        if wall_time(stored.value, rate).is_none()
            && let Some(value) = self.message.nanos(stored.value)
        {
            self.target.add(time, Nanos(value));
        }
        true
    }

    /// The clock restarts at a time, with this record.
    pub fn restart(&mut self, stored: &Stored, time: Nanos) {
        self.last = Some(time.0);
        if let Some(wall) =
            stored.timestamp.filter(|_| self.transport.is_none()).and_then(|ticks| wall_time(ticks, self.message.rate))
        {
            self.wall.add(time, wall);
        }
    }

    /// The rate of the times, and where it is known from; `None` if there are no times.
    pub fn rate(&self) -> Option<(Rate, &'static str)> {
        match &self.transport {
            Some(line) => Some((line.rate, self.transport_source)),
            None => (!self.by_order).then_some((self.message.rate, self.message_source)),
        }
    }

    /// How sure the rate of the times is.
    pub fn finding(&self) -> Finding {
        if let Some(why) = self.senders.contradiction() {
            let because = format!("senders have clocks of their own, which nothing relates, and are read as having one: {why}");
            return Finding::new(Matter::Clock, Certainty::Ambiguous, because);
        }
        let source = if self.transport.is_some() { self.transport_source } else { self.message_source };
        let (certainty, because) = match source {
            _ if self.by_order => (Certainty::Assumed, "no message has a time stamp: only their order is known"),
            ASSUMED if self.transport.is_some() => {
                (Certainty::Assumed, "the stream does not record the frequency of its clock; give it, as in --stp-freq 60M")
            }
            ASSUMED => (
                Certainty::Assumed,
                "the capture does not record the frequency of the message clock; give it, as in --syst-clock-hz 24M",
            ),
            COUNTS_FROM_1970 => (Certainty::Inferred, COUNTS_FROM_1970),
            known => (Certainty::Known, known),
        };
        Finding::new(Matter::Clock, certainty, because)
    }

    /// Details about the clocks. `stamped`: the number of messages with a time stamp of their own, and of all messages.
    pub fn details(&self, stamped: (u64, u64)) -> Vec<Detail> {
        let detail = |name, value: String, source: &str| Detail { name, value, source: source.to_owned() };
        let mut details = Vec::new();
        let (with, all) = stamped;
        let (time, source) = match (self.transport.is_some(), self.by_order) {
            (true, _) => ("the transport's time stamps", RECORDED.to_owned()),
            (false, false) => (
                "the messages' time stamps",
                format!("inferred: {with} of {} {} one", counted(all, "message"), if with == 1 { "has" } else { "have" }),
            ),
            (false, true) => ("none: messages are 1 µs apart, in their order", "inferred: no message has a time stamp".into()),
        };
        details.push(detail("time", time.into(), &source));
        if !self.pairs.is_one_clock() {
            details.push(detail(
                "message clocks",
                self.pairs.to_string(),
                "inferred: the clock messages of senders do not agree",
            ));
        } else if self.transport.is_some() && (self.message_source != ASSUMED || self.correlations > 0) {
            details.push(detail("message clock", format!("{} Hz", self.message.rate.hz()), self.message_source));
        }
        if let Some((value, hz, transport)) = self.correlation {
            let at = transport.map_or(String::new(), |ticks| format!(" at tick {ticks} of the transport"));
            details.push(detail(
                "clock messages",
                format!("{}, the last one {value} at {hz} Hz{at}", self.correlations),
                RECORDED,
            ));
        }
        if let Some(reading) = self.wall.all().last() {
            let value = format!("{} s since 1970 at {}", reading.value.0 / 1_000_000_000, reading.time);
            details.push(detail("wall clock", value, "inferred: the message clock counts from 1970"));
        } else if self.counts_from_1970 {
            details.push(detail(
                "wall clock",
                "the time of the trace, which counts from 1970".into(),
                "inferred from the time stamps",
            ));
        }
        details
    }

    /// Advice on what to try.
    pub fn hints(&self) -> Vec<String> {
        let mut hints = Vec::from_iter(self.overridden.clone());
        if self.senders.contradiction().is_some() {
            hints.push(
                "Only times of one sender can be compared. A transport with time stamps (STP) relates the clocks of several senders.".to_owned(),
            );
        }
        hints
    }
}

/// Who sent a record.
fn owner_of(records: &Records, stored: &Stored) -> Option<Owner> {
    let key = records.senders.get(stored.sender as usize)?.key;
    Some(Owner { place: key.place, sender: key.sender })
}

#[inline]
fn is_message(stored: &Stored) -> bool {
    !matches!(stored.kind, RecordKind::Console | RecordKind::Notice(_) | RecordKind::Malformed(_))
}

/// The rate of a clock that counts from 1970, if this may be a time of one: microseconds, as in the library's example, or nanoseconds,
/// as in Linux.
fn since_1970(ticks: u64) -> Option<Rate> {
    let rates = [1_000_000, 1_000_000_000].into_iter().filter_map(|hz| Rate::from_hz(hz, 1));
    rates.into_iter().find(|&rate| wall_time(ticks, rate).is_some())
}

/// The time of day, if the clock's value is one between 2001 and 2100.
fn wall_time(ticks: u64, rate: Rate) -> Option<Nanos> {
    let wall = Line::new(rate).nanos(ticks)?;
    (1_000_000_000..4_102_444_800).contains(&(wall / 1_000_000_000)).then_some(Nanos(wall))
}
