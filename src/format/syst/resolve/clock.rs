//! Times: the transport's, the messages' own, or the order alone.
//!
//! A time stamp that leaps is judged by those that follow it: if they go on from before the leap, it is damaged and the time before is
//! kept; if they go on from behind it, it stands, and where it goes back the clock began anew.

use crate::format::Detail;
use crate::format::syst::decode::{Notice, Stored, What};
use crate::format::syst::line::Line;
use crate::format::syst::record::Marks;
use crate::format::syst::scan::{Found, first_sound};
use crate::format::syst::stp::Evidence;
use crate::format::syst::stp::correlate::Pairs;
use crate::format::syst::{Settings, Transport};
use crate::model::{ClockKind, ClockReadings, Nanos, Rate, SideClock};

/// A step back of less than this is held; a larger one is a restart. Steps forward beyond it are looked at, too. In nanoseconds.
const RESTART_NS: u64 = 1_000_000_000;

/// Between the last event before a restart and the first one after it.
const RESTART_GAP_NS: u64 = 1_000;

/// Between messages without any time.
const STEP_NS: u64 = 1_000;

/// How many records ahead may be looked at.
pub const LOOKAHEAD_RECORDS: usize = 64;

/// How many time stamps are asked about one that leaps.
const VOTERS: usize = 8;

/// A last time stamp this many times further away than everything before it spans is damaged.
const EDGE_FACTOR: u64 = 64;

/// What a record's time is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// None is known so far.
    Unknown,
    /// This.
    At(Nanos),
    /// This, though its own is a little earlier.
    Clamped(Nanos),
    /// This, though its own is beyond what a trace can hold.
    Overflow(Nanos),
    /// This: its own contradicts those before and after it.
    Outlier(Nanos),
    /// The clock began again.
    Restart(Nanos),
    /// More must have come to tell.
    Wait,
}

/// What follows a record.
#[derive(Clone, Copy)]
pub struct Ahead<'a> {
    /// The next records.
    pub held: &'a [Stored],
    /// Those after them.
    pub fresh: &'a [Stored],
    /// Whether no more will come.
    pub is_all: bool,
}

impl<'a> Ahead<'a> {
    fn records(self) -> impl Iterator<Item = &'a Stored> + Clone {
        self.held.iter().chain(self.fresh).take(LOOKAHEAD_RECORDS)
    }
}

/// The clocks of an input.
#[derive(Clone, Debug)]
pub struct Clock {
    /// The transport's, if it has one.
    transport: Option<Line>,
    transport_source: &'static str,
    message: Line,
    message_source: &'static str,
    /// Whether the option says so, whatever the capture says.
    message_is_given: bool,
    transport_is_given: bool,
    /// No message has a time.
    by_order: bool,
    /// What is added to the time of this session, in nanoseconds.
    shift_ns: i64,
    last: Option<u64>,
    /// The own time of the last message, if it lies before `last` and was held there.
    held_at: Option<u64>,
    /// The first time of the session, and how many were taken.
    first: u64,
    taken: u64,
    /// The last clock message: its value, its frequency, and the transport's time of it.
    correlation: Option<(u64, u64, Option<u64>)>,
    correlations: u64,
    is_stp: bool,
    /// The axis is the time of day.
    counts_from_1970: bool,
    pairs: Pairs,
    wall: ClockReadings,
    target: ClockReadings,
}

const GIVEN: &str = "given by an option";
const TOLD: &str = "told by the capture";
const ASSUMED: &str = "assumed, the capture does not tell";
const CORRELATED: &str = "inferred from clock messages";
const COUNTS_FROM_1970: &str = "inferred: it counts from 1970";

impl Clock {
    pub fn new(transport: Transport, settings: &Settings, found: &Found) -> Clock {
        let is_stp = transport == Transport::Stp;
        let order = settings.nibble_order.unwrap_or(found.stp.order());
        let told = Evidence::reading(&found.stp, order).hz.and_then(|hz| Rate::from_hz(hz, 1));
        let mut pairs = Pairs::new(found.correlator.as_ref().map_or(&found.pairs, |correlator| correlator.pairs()));
        let (transport_rate, transport_source) = match (settings.transport_rate, told, pairs.transport_rate()) {
            (Some(rate), ..) => (rate, GIVEN),
            (None, Some(rate), _) => (rate, TOLD),
            (None, None, Some(rate)) => {
                pairs.set_transport_rate(rate);
                (rate, CORRELATED)
            }
            (None, None, None) => (Rate::NANOSECOND, ASSUMED),
        };
        let first_timestamp = found.first_timestamp();
        let told = found.message_hz.or(pairs.first().map(|pair| pair.hz)).and_then(|hz| Rate::from_hz(hz, 1));
        let (message_rate, message_source) = match (settings.message_rate, told) {
            (Some(rate), _) => (rate, GIVEN),
            (None, Some(rate)) => (rate, TOLD),
            (None, None) => match first_timestamp.and_then(since_1970) {
                Some(rate) => (rate, COUNTS_FROM_1970),
                None => (Rate::NANOSECOND, ASSUMED),
            },
        };
        let mut clock = Clock {
            transport: is_stp.then(|| Line::new(transport_rate)),
            transport_source,
            message: Line::new(message_rate),
            message_source,
            message_is_given: settings.message_rate.is_some(),
            transport_is_given: settings.transport_rate.is_some(),
            by_order: !is_stp && found.with_timestamp == 0,
            shift_ns: 0,
            last: None,
            held_at: None,
            first: 0,
            taken: 0,
            correlation: None,
            correlations: 0,
            is_stp,
            counts_from_1970: !is_stp && first_timestamp.is_some_and(|ticks| wall_time(ticks, message_rate).is_some()),
            pairs,
            wall: ClockReadings::default(),
            target: ClockReadings::default(),
        };
        // Text may precede the first message.
        clock.last = match first_timestamp.filter(|_| !is_stp) {
            Some(first) => clock.message.nanos(first),
            None if clock.by_order => Some(0),
            None => None,
        };
        clock.first = clock.last.unwrap_or(0);
        clock
    }

    /// The time of day, as far as the first pass has found out. The viewer wants to know it before all events.
    pub fn wall_at_start(&self, found: &Found) -> Option<SideClock> {
        let mut readings = ClockReadings::default();
        match &self.transport {
            Some(_) => {
                let pair = self.pairs.first()?;
                readings.add(Nanos(pair.ns), wall_time(pair.ticks, Rate::from_hz(pair.hz, 1)?)?);
            }
            None => {
                let told = found.first_clock.zip(found.message_hz.and_then(|hz| Rate::from_hz(hz, 1)));
                let (ticks, rate) = told.or(found.first_timestamp().map(|ticks| (ticks, self.message.rate)))?;
                readings.add(Nanos(self.message.nanos(ticks)?), wall_time(ticks, rate)?);
            }
        }
        Some(SideClock { kind: ClockKind::Wall, readings })
    }

    /// What was read of other clocks.
    pub fn side_clocks(&self) -> Vec<SideClock> {
        let target = ClockKind::Target("SyS-T message clock");
        let all = [(ClockKind::Wall, &self.wall), (target, &self.target)];
        let read = all.into_iter().filter(|(_, readings)| !readings.all().is_empty());
        read.map(|(kind, readings)| SideClock { kind, readings: readings.clone() }).collect()
    }

    /// Decides about a record's time.
    #[inline]
    pub fn judge(&mut self, stored: &Stored, ahead: Ahead<'_>) -> Verdict {
        let is_message = is_message(stored);
        let Some(own) = self.own(stored) else {
            if self.by_order && is_message {
                let next = self.last.map_or(0, |last| last.saturating_add(STEP_NS)).min(Nanos::MAX.0);
                self.last = Some(next);
            }
            return self.last.map_or(Verdict::Unknown, |last| Verdict::At(Nanos(last)));
        };
        match (own, self.last) {
            (Some(ns), Some(last)) if ns >= last && ns - last < RESTART_NS => self.take(ns),
            (Some(ns), Some(last)) if ns < last && last - ns < RESTART_NS => {
                if is_message {
                    self.held_at = Some(ns);
                }
                Verdict::Clamped(Nanos(last))
            }
            // What the transport says of a message that began earlier.
            (Some(ns), Some(last)) if ns < last && matches!(stored.what, What::Notice(_)) => Verdict::Clamped(Nanos(last)),
            (own, _) => self.judge_leap(own, ahead),
        }
    }

    /// A record's own time, `None` within it if it lies beyond what a trace can hold.
    #[inline]
    fn own(&self, stored: &Stored) -> Option<Option<u64>> {
        let own = if let (Some(line), Some(ticks)) = (&self.transport, stored.transport) {
            line.nanos(ticks)
        } else {
            self.message.nanos(stored.timestamp.filter(|_| is_message(stored) && !self.is_stp)?)
        };
        Some(own.and_then(|ns| ns.checked_add_signed(self.shift_ns)).filter(|&ns| ns <= Nanos::MAX.0))
    }

    #[inline]
    fn take(&mut self, ns: u64) -> Verdict {
        if self.taken == 0 {
            self.first = ns;
        }
        self.last = Some(ns);
        self.held_at = None;
        self.taken += 1;
        Verdict::At(Nanos(ns))
    }

    #[cold]
    fn judge_leap(&mut self, own: Option<u64>, ahead: Ahead<'_>) -> Verdict {
        let records = ahead.records();
        let voters = records
            .clone()
            .filter(|stored| !matches!(stored.what, What::Notice(_)))
            .filter_map(|stored| self.own(stored)?)
            .take(VOTERS);
        let count = voters.clone().count();
        if count < VOTERS && !ahead.is_all && records.count() < LOOKAHEAD_RECORDS {
            return Verdict::Wait;
        }
        let among = |range: std::ops::Range<u64>| voters.clone().filter(|voter| range.contains(voter)).count();
        let Some(last) = self.last else { return self.judge_first(own, voters.collect()) };
        let Some(ns) = own else { return Verdict::Overflow(Nanos(last)) };
        if ns >= last {
            // What lies before the last time says nothing of this one: the clock may begin anew behind it. But where times are held,
            // the clock is not as far as that yet.
            let between = self.held_at.unwrap_or(last)..ns.saturating_sub(RESTART_NS);
            let is_outlier =
                if count > 0 { among(between.clone()) > among(between.end..u64::MAX) } else { self.leaps_off(ns, last) };
            return if is_outlier { Verdict::Outlier(Nanos(last)) } else { self.take(ns) };
        }
        let middle = ns + (last - ns) / 2;
        if among(0..middle) <= among(middle..u64::MAX) {
            return Verdict::Outlier(Nanos(last));
        }
        let start = Nanos(last).saturating_add(RESTART_GAP_NS);
        self.shift_ns = self.shift_ns.saturating_add(start.0.cast_signed().saturating_sub(ns.cast_signed()));
        Verdict::Restart(start)
    }

    /// Nothing precedes.
    fn judge_first(&mut self, own: Option<u64>, mut times: Vec<u64>) -> Verdict {
        times.splice(0..0, own);
        let Some(time) = first_sound(&times) else { return Verdict::Overflow(Nanos(*self.last.get_or_insert(0))) };
        self.take(time);
        if own == Some(time) { Verdict::At(Nanos(time)) } else { Verdict::Outlier(Nanos(time)) }
    }

    /// Nothing follows: only a leap out of all proportion cannot be.
    fn leaps_off(&self, ns: u64, last: u64) -> bool {
        self.taken >= VOTERS as u64 && (ns - last) / EDGE_FACTOR > last.saturating_sub(self.first).max(1)
    }

    /// Where on the trace's axis a message was made, by its own time stamp: of messages that the transport has a time for, too. In
    /// nanoseconds. `offset` is where it starts in the input.
    pub fn made_at(&mut self, stored: &Stored, offset: u64) -> Option<u64> {
        stored.transport?;
        let ns = self.pairs.nanos(offset, stored.timestamp?)?;
        ns.checked_add_signed(self.shift_ns).filter(|&ns| ns <= Nanos::MAX.0)
    }

    /// A record's own time, judged by nobody.
    pub fn plain_nanos(&self, stored: &Stored) -> Option<u64> {
        match (&self.transport, stored.transport) {
            (Some(line), Some(ticks)) => line.nanos(ticks),
            _ => stored.timestamp.filter(|_| !self.is_stp).and_then(|ticks| self.message.nanos(ticks)),
        }
    }

    /// A restart is believed.
    pub fn restart(&mut self, time: Nanos) {
        self.last = Some(time.0);
        self.held_at = None;
        (self.first, self.taken) = (time.0, 1);
    }

    /// The time reached.
    pub fn hold(&self) -> Nanos {
        Nanos(self.last.unwrap_or(0))
    }

    /// Takes what a record says about the clocks. `time` is that of the record.
    #[inline]
    pub fn note(&mut self, stored: &Stored, time: Nanos) {
        match stored.what {
            What::Clock if !stored.marks.has(Marks::CRC_BAD) && stored.extra != 0 => self.note_clock(stored, time),
            What::Notice(Notice::Frequency) if !self.transport_is_given => {
                let (Some(line), Some(rate)) = (&mut self.transport, Rate::from_hz(stored.value, 1)) else { return };
                line.bend(stored.transport.unwrap_or(0), rate);
                self.transport_source = TOLD;
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
            if self.is_stp && self.message_source != TOLD {
                // The first that is known of it.
                (self.message, self.message_source) = (Line::new(rate), TOLD);
            } else if self.message.bend(stored.value, rate) {
                // It goes on from here at another pace.
                self.message_source = TOLD;
            }
        }
        if let Some(wall) = wall_time(stored.value, rate) {
            self.wall.add(time, wall);
        } else if let Some(value) = self.message.nanos(stored.value) {
            self.target.add(time, Nanos(value));
        }
    }

    /// The clock began again: what it reads now.
    pub fn note_restart(&mut self, stored: &Stored, time: Nanos) {
        if let Some(wall) = stored.timestamp.filter(|_| !self.is_stp).and_then(|ticks| wall_time(ticks, self.message.rate)) {
            self.wall.add(time, wall);
        }
    }

    /// The rate that times are made with, and where it is known from; `None` if nothing has a time.
    pub fn told(&self) -> Option<(Rate, &'static str)> {
        match &self.transport {
            Some(line) => Some((line.rate, self.transport_source)),
            None => (!self.by_order).then_some((self.message.rate, self.message_source)),
        }
    }

    /// What is known about the clocks.
    ///
    /// `stamped`: how many messages have a time stamp of their own, of how many.
    pub fn details(&self, stamped: (u64, u64)) -> Vec<Detail> {
        let detail = |name, value: String, source: &str| Detail { name, value, source: source.to_owned() };
        let mut details = Vec::new();
        let (with, all) = stamped;
        let (time, source) = match (self.is_stp, self.by_order) {
            (true, _) => ("the transport's time stamps", "as STP has them".to_owned()),
            (false, false) => ("the messages' time stamps", format!("inferred: {with} of {all} messages have one")),
            (false, true) => ("none: messages stand 1 µs apart, in their order", "inferred: no message has a time stamp".into()),
        };
        details.push(detail("time", time.into(), &source));
        if self.is_stp && (self.message_source != ASSUMED || self.correlations > 0) {
            details.push(detail("message clock", format!("{} Hz", self.message.rate.hz()), self.message_source));
        }
        if let Some((value, hz, transport)) = self.correlation {
            let at = transport.map_or(String::new(), |ticks| format!(" at tick {ticks} of the transport"));
            details.push(detail("clock messages", format!("{}, the last one {value} at {hz} Hz{at}", self.correlations), TOLD));
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

    /// What to try.
    pub fn hints(&self) -> Vec<String> {
        let mut hints = Vec::new();
        if self.is_stp && self.transport_source == ASSUMED {
            hints.push(
                "The stream does not tell the frequency of its clock: give it with --stp-freq, as in --stp-freq 60M.".to_owned(),
            );
        }
        if !self.is_stp && !self.by_order && self.message_source == ASSUMED {
            hints.push(
                "The capture does not tell the frequency of the message clock: give it with --syst-clock-hz, as in \
                 --syst-clock-hz 24M."
                    .to_owned(),
            );
        }
        hints
    }
}

#[inline]
fn is_message(stored: &Stored) -> bool {
    !matches!(stored.what, What::Console | What::Notice(_) | What::Malformed(_))
}

/// The rate of a clock that counts from 1970, if this may be a time of one: of microseconds, as the library's example sends, or of
/// nanoseconds, as Linux does.
fn since_1970(ticks: u64) -> Option<Rate> {
    let rates = [1_000_000, 1_000_000_000].into_iter().filter_map(|hz| Rate::from_hz(hz, 1));
    rates.into_iter().find(|&rate| wall_time(ticks, rate).is_some())
}

/// The time of day, if a clock of this value and rate counts it: a time between 2001 and 2100.
fn wall_time(ticks: u64, rate: Rate) -> Option<Nanos> {
    let wall = Line::new(rate).nanos(ticks)?;
    (1_000_000_000..4_102_444_800).contains(&(wall / 1_000_000_000)).then_some(Nanos(wall))
}
