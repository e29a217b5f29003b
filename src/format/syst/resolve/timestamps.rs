//! The time of each record: from the transport, from the message's own time stamp, or from the order alone.
//!
//! A time stamp that leaps is judged by those after it. If they continue from before the leap, the time stamp is damaged and the time
//! before it is kept. If they continue from it, it is believed; if it goes back, the clock restarted.

use crate::format::Detail;
use crate::format::syst::correlation::{ASSUMED, GIVEN, Line, Pairs, RECORDED, TransportClock};
use crate::format::syst::decoded::{Notice, RecordKind, Stored};
use crate::format::syst::record::Marks;
use crate::format::syst::scan::{MessageFacts, first_sound};
use crate::model::{ClockKind, ClockReadings, Nanos, Rate, SideClock};

/// A smaller step back is held at the time before; a larger one is a restart. Larger steps forward are judged, too. In nanoseconds.
const RESTART_NS: u64 = 1_000_000_000;

/// The time between the last event before a restart and the first one after it.
const RESTART_GAP_NS: u64 = 1_000;

/// The time between messages if there are no time stamps.
const STEP_NS: u64 = 1_000;

/// How many records following may be looked at.
pub const LOOKAHEAD_RECORDS: usize = 64;

/// How many time stamps judge one that leaps.
const VOTERS: usize = 8;

/// A last time stamp is damaged if its leap is this many times longer than the session before it.
const EDGE_FACTOR: u64 = 64;

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
    transport_is_given: bool,
    /// No message has a time stamp.
    by_order: bool,
    /// Added to times of this session, in nanoseconds.
    shift_ns: i64,
    last: Option<u64>,
    /// The own time of the last message, if it was held at `last`.
    held_at: Option<u64>,
    /// The first time of the session, and the number of times accepted.
    first: u64,
    accepted: u64,
    /// The last clock message: its value, its frequency, and the transport's time of it.
    correlation: Option<(u64, u64, Option<u64>)>,
    correlations: u64,
    /// The trace's axis is the time of day.
    counts_from_1970: bool,
    pairs: Pairs,
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
        let (transport, transport_source, pairs) = match transport {
            Some(clock) => (Some(Line::new(clock.rate)), clock.source, clock.pairs),
            None => (None, ASSUMED, Pairs::default()),
        };
        let first_timestamp = facts.first_timestamp();
        let recorded = facts.message_hz.or(pairs.first().map(|pair| pair.hz)).and_then(|hz| Rate::from_hz(hz, 1));
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
            transport_is_given: is_transport_given,
            by_order: !has_transport && facts.with_timestamp == 0,
            shift_ns: 0,
            last: None,
            held_at: None,
            first: 0,
            accepted: 0,
            correlation: None,
            correlations: 0,
            counts_from_1970: !has_transport && first_timestamp.is_some_and(|ticks| wall_time(ticks, message_rate).is_some()),
            pairs,
            wall: ClockReadings::default(),
            target: ClockReadings::default(),
        };
        // Text may come before the first message.
        times.last = match first_timestamp.filter(|_| !has_transport) {
            Some(first) => times.message.nanos(first),
            None if times.by_order => Some(0),
            None => None,
        };
        times.first = times.last.unwrap_or(0);
        times
    }

    /// The time of day, if the first pass found it. The viewer needs it before all events.
    pub fn wall_at_start(&self, facts: &MessageFacts) -> Option<SideClock> {
        let mut readings = ClockReadings::default();
        match &self.transport {
            Some(_) => {
                let pair = self.pairs.first()?;
                readings.add(Nanos(pair.ns), wall_time(pair.ticks, Rate::from_hz(pair.hz, 1)?)?);
            }
            None => {
                let recorded = facts.first_clock.zip(facts.message_hz.and_then(|hz| Rate::from_hz(hz, 1)));
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

    /// Judges the time of a record.
    #[inline]
    pub fn judge(&mut self, stored: &Stored, following: Following<'_>) -> JudgedTime {
        let is_message = is_message(stored);
        let Some(own) = self.own(stored) else {
            if self.by_order && is_message {
                let next = self.last.map_or(0, |last| last.saturating_add(STEP_NS)).min(Nanos::MAX.0);
                self.last = Some(next);
            }
            return self.last.map_or(JudgedTime::Unknown, |last| JudgedTime::At(Nanos(last)));
        };
        match (own, self.last) {
            (Some(ns), Some(last)) if ns >= last && ns - last < RESTART_NS => self.accept(ns),
            (Some(ns), Some(last)) if ns < last && last - ns < RESTART_NS => {
                if is_message {
                    self.held_at = Some(ns);
                }
                JudgedTime::Clamped(Nanos(last))
            }
            // A notice about a message that began earlier.
            (Some(ns), Some(last)) if ns < last && matches!(stored.kind, RecordKind::Notice(_)) => {
                JudgedTime::Clamped(Nanos(last))
            }
            (own, _) => self.judge_leap(own, following),
        }
    }

    /// A record's own time; `Some(None)` if it is larger than a trace can hold.
    #[inline]
    fn own(&self, stored: &Stored) -> Option<Option<u64>> {
        let own = if let (Some(line), Some(ticks)) = (&self.transport, stored.transport) {
            line.nanos(ticks)
        } else {
            self.message.nanos(stored.timestamp.filter(|_| is_message(stored) && self.transport.is_none())?)
        };
        Some(own.and_then(|ns| ns.checked_add_signed(self.shift_ns)).filter(|&ns| ns <= Nanos::MAX.0))
    }

    #[inline]
    fn accept(&mut self, ns: u64) -> JudgedTime {
        if self.accepted == 0 {
            self.first = ns;
        }
        self.last = Some(ns);
        self.held_at = None;
        self.accepted += 1;
        JudgedTime::At(Nanos(ns))
    }

    #[cold]
    fn judge_leap(&mut self, own: Option<u64>, following: Following<'_>) -> JudgedTime {
        let records = following.records();
        let voters = records
            .clone()
            .filter(|stored| !matches!(stored.kind, RecordKind::Notice(_)))
            .filter_map(|stored| self.own(stored)?)
            .take(VOTERS);
        let count = voters.clone().count();
        if count < VOTERS && !following.is_all && records.count() < LOOKAHEAD_RECORDS {
            return JudgedTime::Wait;
        }
        let among = |range: std::ops::Range<u64>| voters.clone().filter(|voter| range.contains(voter)).count();
        let Some(last) = self.last else { return self.judge_first(own, voters.collect()) };
        let Some(ns) = own else { return JudgedTime::Overflow(Nanos(last)) };
        if ns >= last {
            // Times before the last one are no evidence against this one, because the clock may restart after it. But while times are
            // held, the clock has not reached the last time yet.
            let between = self.held_at.unwrap_or(last)..ns.saturating_sub(RESTART_NS);
            let is_outlier =
                if count > 0 { among(between.clone()) > among(between.end..u64::MAX) } else { self.leaps_off(ns, last) };
            return if is_outlier { JudgedTime::Outlier(Nanos(last)) } else { self.accept(ns) };
        }
        let middle = ns + (last - ns) / 2;
        if among(0..middle) <= among(middle..u64::MAX) {
            return JudgedTime::Outlier(Nanos(last));
        }
        let start = Nanos(last).saturating_add(RESTART_GAP_NS);
        self.shift_ns = self.shift_ns.saturating_add(start.0.cast_signed().saturating_sub(ns.cast_signed()));
        JudgedTime::Restart(start)
    }

    /// Judges the first time.
    fn judge_first(&mut self, own: Option<u64>, mut times: Vec<u64>) -> JudgedTime {
        times.splice(0..0, own);
        let Some(time) = first_sound(&times) else { return JudgedTime::Overflow(Nanos(*self.last.get_or_insert(0))) };
        self.accept(time);
        if own == Some(time) { JudgedTime::At(Nanos(time)) } else { JudgedTime::Outlier(Nanos(time)) }
    }

    /// Whether the last time stamp of an input leaps out of proportion.
    fn leaps_off(&self, ns: u64, last: u64) -> bool {
        self.accepted >= VOTERS as u64 && (ns - last) / EDGE_FACTOR > last.saturating_sub(self.first).max(1)
    }

    /// The time of a message's own time stamp on the trace's axis, in nanoseconds, if the transport has a time for it, too. `offset` is
    /// where the message starts in the input.
    pub fn made_at(&mut self, stored: &Stored, offset: u64) -> Option<u64> {
        stored.transport?;
        let ns = self.pairs.nanos(offset, stored.timestamp?)?;
        ns.checked_add_signed(self.shift_ns).filter(|&ns| ns <= Nanos::MAX.0)
    }

    /// A record's own time, not judged.
    pub fn plain_nanos(&self, stored: &Stored) -> Option<u64> {
        match (&self.transport, stored.transport) {
            (Some(line), Some(ticks)) => line.nanos(ticks),
            _ => stored.timestamp.filter(|_| self.transport.is_none()).and_then(|ticks| self.message.nanos(ticks)),
        }
    }

    /// The clock restarts at a time.
    pub fn restart(&mut self, time: Nanos) {
        self.last = Some(time.0);
        self.held_at = None;
        (self.first, self.accepted) = (time.0, 1);
    }

    /// The time reached.
    pub fn reached(&self) -> Nanos {
        Nanos(self.last.unwrap_or(0))
    }

    /// Notes facts about the clocks in a record. `time` is the judged time of the record.
    #[inline]
    pub fn note(&mut self, stored: &Stored, time: Nanos) {
        match stored.kind {
            RecordKind::Clock if !stored.marks.has(Marks::CRC_BAD) && stored.extra != 0 => self.note_clock(stored, time),
            RecordKind::Notice(Notice::Frequency) if !self.transport_is_given => {
                let (Some(line), Some(rate)) = (&mut self.transport, Rate::from_hz(stored.value, 1)) else { return };
                line.bend(stored.transport.unwrap_or(0), rate);
                self.transport_source = RECORDED;
            }
            _ => {}
        }
    }

    #[cold]
    fn note_clock(&mut self, stored: &Stored, time: Nanos) {
        self.correlations += 1;
        self.correlation = Some((stored.value, stored.extra, stored.transport));
        let Some(rate) = Rate::from_hz(stored.extra, 1) else { return };
        if !self.message_is_given {
            if self.transport.is_some() && self.message_source != RECORDED {
                // The first fact about it.
                (self.message, self.message_source) = (Line::new(rate), RECORDED);
            } else if self.message.bend(stored.value, rate) {
                // It continues from here at another rate.
                self.message_source = RECORDED;
            }
        }
        if let Some(wall) = wall_time(stored.value, rate) {
            self.wall.add(time, wall);
        } else if let Some(value) = self.message.nanos(stored.value) {
            self.target.add(time, Nanos(value));
        }
    }

    /// Notes the clock's reading after a restart.
    pub fn note_restart(&mut self, stored: &Stored, time: Nanos) {
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

    /// Details about the clocks. `stamped`: the number of messages with a time stamp of their own, and of all messages.
    pub fn details(&self, stamped: (u64, u64)) -> Vec<Detail> {
        let detail = |name, value: String, source: &str| Detail { name, value, source: source.to_owned() };
        let mut details = Vec::new();
        let (with, all) = stamped;
        let (time, source) = match (self.transport.is_some(), self.by_order) {
            (true, _) => ("the transport's time stamps", RECORDED.to_owned()),
            (false, false) => ("the messages' time stamps", format!("inferred: {with} of {all} messages have one")),
            (false, true) => ("none: messages are 1 µs apart, in their order", "inferred: no message has a time stamp".into()),
        };
        details.push(detail("time", time.into(), &source));
        if self.transport.is_some() && (self.message_source != ASSUMED || self.correlations > 0) {
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
        let wall =
            self.wall.all().last().map(|reading| (reading.value, reading.time, "inferred: the message clock counts from 1970"));
        if let Some((wall, time, source)) = wall {
            details.push(detail("wall clock", format!("{} s since 1970 at {time}", wall.0 / 1_000_000_000), source));
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
        let mut hints = Vec::new();
        if self.transport.is_some() && self.transport_source == ASSUMED {
            hints.push(
                "The stream does not record the frequency of its clock: give it with --stp-freq, as in --stp-freq 60M."
                    .to_owned(),
            );
        }
        if self.transport.is_none() && !self.by_order && self.message_source == ASSUMED {
            hints.push(
                "The capture does not record the frequency of the message clock: give it with --syst-clock-hz, as in \
                 --syst-clock-hz 24M."
                    .to_owned(),
            );
        }
        hints
    }
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
