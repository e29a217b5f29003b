//! Times: the transport's, the messages' own, or the order alone.

use crate::format::Detail;
use crate::format::sys_t::decode::{Notice, Stored, What};
use crate::format::sys_t::record::Marks;
use crate::format::sys_t::scan::Found;
use crate::format::sys_t::stp::Evidence;
use crate::format::sys_t::{Settings, Transport};
use crate::model::{Nanos, Rate, Ticks};

/// A step back of less than this is held; a larger one is a restart. In nanoseconds.
const RESTART_NS: u64 = 1_000_000_000;

/// Between the last event before a restart and the first one after it.
const RESTART_GAP_NS: u64 = 1_000;

/// Between messages without any time.
const STEP_NS: u64 = 1_000;

/// From ticks to nanoseconds, from a point on.
#[derive(Clone, Copy, Debug)]
struct Line {
    ticks: u64,
    ns: u64,
    rate: Rate,
}

impl Line {
    fn nanos(&self, ticks: u64) -> Option<u64> {
        match ticks.checked_sub(self.ticks) {
            Some(since) => self.rate.to_nanos(Ticks(since))?.0.checked_add(self.ns).filter(|&ns| ns <= Nanos::MAX.0),
            None => self.ns.checked_sub(self.rate.to_nanos(Ticks(self.ticks - ticks))?.0),
        }
    }
}

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
    /// The clock began again.
    Restart(Nanos),
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
    /// The last clock message: its value, its frequency, and the transport's time of it.
    correlation: Option<(u64, u64, Option<u64>)>,
    correlations: u64,
    is_stp: bool,
}

const GIVEN: &str = "given by an option";
const TOLD: &str = "told by the capture";
const ASSUMED: &str = "assumed, the capture does not tell";

impl Clock {
    pub fn new(transport: Transport, settings: &Settings, found: &Found) -> Clock {
        let is_stp = transport == Transport::Stp;
        let line = |rate| Line { ticks: 0, ns: 0, rate };
        let (message_rate, message_source) = match (settings.message_rate, found.message_hz.and_then(|hz| Rate::from_hz(hz, 1))) {
            (Some(rate), _) => (rate, GIVEN),
            (None, Some(rate)) => (rate, TOLD),
            (None, None) => match found.first_timestamp.and_then(since_1970) {
                Some(rate) => (rate, "inferred: it counts from 1970"),
                None => (Rate::NANOSECOND, ASSUMED),
            },
        };
        let order = settings.nibble_order.unwrap_or(found.stp.order());
        let told = Evidence::reading(&found.stp, order).hz.and_then(|hz| Rate::from_hz(hz, 1));
        let (transport_rate, transport_source) = match (settings.transport_rate, told) {
            (Some(rate), _) => (rate, GIVEN),
            (None, Some(rate)) => (rate, TOLD),
            (None, None) => (Rate::NANOSECOND, ASSUMED),
        };
        let mut clock = Clock {
            transport: is_stp.then(|| line(transport_rate)),
            transport_source,
            message: line(message_rate),
            message_source,
            message_is_given: settings.message_rate.is_some(),
            transport_is_given: settings.transport_rate.is_some(),
            by_order: !is_stp && found.with_timestamp == 0,
            shift_ns: 0,
            last: None,
            correlation: None,
            correlations: 0,
            is_stp,
        };
        // Text may precede the first message.
        clock.last = match found.first_timestamp.filter(|_| !is_stp) {
            Some(first) => clock.message.nanos(first),
            None if clock.by_order => Some(0),
            None => None,
        };
        clock
    }

    /// Decides about a record's time.
    #[inline]
    pub fn judge(&mut self, stored: &Stored) -> Verdict {
        let is_message = !matches!(stored.what, What::Console | What::Notice(_) | What::Malformed(_));
        let own = if let (Some(line), Some(ticks)) = (&self.transport, stored.transport) {
            Some(line.nanos(ticks))
        } else {
            stored.timestamp.filter(|_| is_message && !self.is_stp).map(|ticks| self.message.nanos(ticks))
        };
        let Some(own) = own else {
            if self.by_order && is_message {
                let next = self.last.map_or(0, |last| last.saturating_add(STEP_NS)).min(Nanos::MAX.0);
                self.last = Some(next);
            }
            return self.last.map_or(Verdict::Unknown, |last| Verdict::At(Nanos(last)));
        };
        let shifted = own.and_then(|ns| ns.checked_add_signed(self.shift_ns)).filter(|&ns| ns <= Nanos::MAX.0);
        let Some(ns) = shifted else {
            let last = *self.last.get_or_insert(0);
            return Verdict::Overflow(Nanos(last));
        };
        match self.last {
            Some(last) if ns < last && last - ns < RESTART_NS => Verdict::Clamped(Nanos(last)),
            Some(last) if ns < last => {
                let start = Nanos(last).saturating_add(RESTART_GAP_NS);
                self.shift_ns = self.shift_ns.saturating_add(start.0.cast_signed().saturating_sub(ns.cast_signed()));
                Verdict::Restart(start)
            }
            _ => {
                self.last = Some(ns);
                Verdict::At(Nanos(ns))
            }
        }
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
    }

    /// The time reached.
    pub fn hold(&self) -> Nanos {
        Nanos(self.last.unwrap_or(0))
    }

    /// Takes what a record says about the clocks.
    #[inline]
    pub fn note(&mut self, stored: &Stored) {
        match stored.what {
            What::Clock if !stored.marks.has(Marks::CRC_BAD) && stored.extra != 0 => self.note_clock(stored),
            What::Notice(Notice::Frequency) if !self.transport_is_given => {
                let (Some(line), Some(rate)) = (&mut self.transport, Rate::from_hz(stored.value, 1)) else { return };
                if line.rate != rate {
                    let ticks = stored.transport.unwrap_or(0);
                    if let Some(ns) = line.nanos(ticks) {
                        *line = Line { ticks, ns, rate };
                    }
                    self.transport_source = TOLD;
                }
            }
            _ => {}
        }
    }

    #[cold]
    fn note_clock(&mut self, stored: &Stored) {
        self.correlations += 1;
        self.correlation = Some((stored.value, stored.extra, stored.transport));
        if self.message_is_given {
            return;
        }
        if let Some(rate) = Rate::from_hz(stored.extra, 1).filter(|rate| *rate != self.message.rate) {
            // It goes on from here at another pace.
            if let Some(ns) = self.message.nanos(stored.value) {
                self.message = Line { ticks: stored.value, ns, rate };
                self.message_source = TOLD;
            }
        }
    }

    /// The rate that times are made with, and where it is known from.
    pub fn told(&self) -> (Rate, &'static str) {
        match &self.transport {
            Some(line) => (line.rate, self.transport_source),
            None => (self.message.rate, self.message_source),
        }
    }

    /// What is known about the clocks.
    pub fn details(&self) -> Vec<Detail> {
        let detail = |name, value: String, source: &str| Detail { name, value, source: source.to_owned() };
        let mut details = Vec::new();
        let time = match (self.is_stp, self.by_order) {
            (true, _) => "the transport's time stamps",
            (false, false) => "the messages' time stamps",
            (false, true) => "none: messages stand 1 µs apart, in their order",
        };
        details.push(detail("time", time.into(), "told by the capture"));
        if self.is_stp {
            details.push(detail("message clock", format!("{} Hz", self.message.rate.hz()), self.message_source));
        }
        if let Some((value, hz, transport)) = self.correlation {
            let at = transport.map_or(String::new(), |ticks| format!(" at tick {ticks} of the transport"));
            details.push(detail("clock messages", format!("{}, the last one {value} at {hz} Hz{at}", self.correlations), TOLD));
            if let Some(wall) = wall_clock(value, hz) {
                details.push(detail("wall clock", wall, "inferred: the message clock counts from 1970"));
            }
        }
        details
    }

    /// What to try.
    pub fn hints(&self) -> Vec<String> {
        let mut hints = Vec::new();
        if self.is_stp && self.transport_source == ASSUMED {
            hints.push("The stream does not tell the frequency of its clock: give it with --stp-freq HZ.".to_owned());
        }
        if !self.is_stp && !self.by_order && self.message_source == ASSUMED {
            hints.push(
                "The capture does not tell the frequency of the message clock: give it with --syst-clock-hz HZ.".to_owned(),
            );
        }
        hints
    }
}

/// The rate of a clock that counts from 1970, if this may be a time of one between 2001 and 2100: of microseconds, as the library's
/// example sends, or of nanoseconds, as Linux does.
fn since_1970(ticks: u64) -> Option<Rate> {
    [1_000_000, 1_000_000_000].into_iter().find(|&hz| wall_clock(ticks, hz).is_some()).and_then(|hz| Rate::from_hz(hz, 1))
}

/// Seconds since 1970, if a clock of this value and frequency counts them.
fn wall_clock(value: u64, hz: u64) -> Option<String> {
    // From 2001 to 2100.
    let seconds = value.checked_div(hz)?;
    ((1_000_000_000..4_102_444_800).contains(&seconds)).then(|| format!("{seconds} s since 1970"))
}
