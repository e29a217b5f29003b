//! What an STP stream tells of the messages' own clock: clock messages pair its readings with times of the transport.
//!
//! Between two of these pairs the message clock is taken for a straight line, so both must be known: the first pass looks for them.
//! It reads the stream a second time for that, so only streams are read whose head has clock messages and something that they are
//! needed for.

use super::tpiu::Deframer;
use super::{NibbleOrder, Sink, Stream};
use crate::format::syst::decode::{Context, Notice};
use crate::format::syst::line::Line;
use crate::format::syst::record::{Header, Marks, Message};
use crate::model::{Rate, Thinned};

/// The most by which the rate between two pairs may differ from the frequency that was told, in percent: beyond that the clock began
/// anew between them.
const DRIFT_PERCENT: u64 = 50;

/// How many pairs before its place a message may have been made.
const LOOK_BACK_PAIRS: usize = 8;

/// What the message clock read at a time of the transport.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pair {
    /// Where the clock message starts in the input, in bytes.
    pub offset: u64,
    /// What the message clock read, in ticks.
    pub ticks: u64,
    /// How fast it runs, in Hz; not 0.
    pub hz: u64,
    /// The transport's time, in ticks.
    pub transport: u64,
    /// The same in nanoseconds.
    pub ns: u64,
}

impl Pair {
    /// The nanoseconds of some ticks of the message clock, by its frequency alone. `None` outside of what a trace can hold.
    fn extrapolate(&self, ticks: u64) -> Option<u64> {
        let rate = Rate::from_hz(self.hz, 1)?;
        Line { ticks: self.ticks, ns: self.ns, rate }.nanos(ticks)
    }

    /// Whether the clock ran on from here to the next pair.
    fn goes_on_to(&self, next: &Pair) -> bool {
        let (Some(ticks), Some(ns)) = (next.ticks.checked_sub(self.ticks), next.ns.checked_sub(self.ns)) else { return false };
        if ticks == 0 || ns == 0 {
            return false;
        }
        // Ticks that should have passed, by either frequency.
        let expected = |hz: u64| u128::from(ns) * u128::from(hz) / 1_000_000_000;
        let is_near = |expected: u128| u128::from(ticks).abs_diff(expected) * 100 <= expected * u128::from(DRIFT_PERCENT);
        is_near(expected(self.hz)) || is_near(expected(next.hz))
    }
}

/// All pairs of a stream, in file order.
#[derive(Clone, Debug, Default)]
pub struct Pairs {
    pairs: Vec<Pair>,
    /// The last pair that does not lie behind what was asked for last.
    at: usize,
}

impl Pairs {
    /// Pairs in file order. Those whose time contradicts both neighbours are left out.
    #[must_use]
    pub fn new(all: &[Pair]) -> Pairs {
        let is_outlier = |index: usize| {
            let near = index.checked_sub(1).and_then(|before| all.get(before)).zip(all.get(index + 1));
            near.is_some_and(|(before, after)| {
                let ns = all[index].ns;
                before.ns <= after.ns && (ns < before.ns || ns > after.ns)
            })
        };
        Pairs { pairs: (0..all.len()).filter(|&index| !is_outlier(index)).map(|index| all[index]).collect(), at: 0 }
    }

    /// The first one.
    #[must_use]
    pub fn first(&self) -> Option<&Pair> {
        self.pairs.first()
    }

    /// Where on the transport's axis the message clock read so many ticks, in nanoseconds. `offset` is where the message starts in the
    /// input; asked in file order.
    ///
    /// Between two pairs it is a straight line, before the first and behind the last one the frequency that was told counts, and so it
    /// does where the clock began anew.
    pub fn nanos(&mut self, offset: u64, ticks: u64) -> Option<u64> {
        while self.pairs.get(self.at + 1).is_some_and(|next| next.offset <= offset) {
            self.at += 1;
        }
        let mut at = self.at;
        // A message may have been made before the clock message that was sent before it.
        for before in (0..self.at).rev().take(LOOK_BACK_PAIRS) {
            let (before, pair) = (self.pairs.get(before)?, self.pairs.get(at)?);
            if ticks >= pair.ticks || !before.goes_on_to(pair) {
                break;
            }
            at -= 1;
        }
        let pair = self.pairs.get(at)?;
        let next = self.pairs.get(at + 1).filter(|next| pair.goes_on_to(next));
        let (Some(next), true) = (next, ticks >= pair.ticks) else { return pair.extrapolate(ticks) };
        if ticks > next.ticks {
            // Made after the next clock message and sent before it: only where stamps are odd.
            return next.extrapolate(ticks);
        }
        let (since, all) = (u128::from(ticks - pair.ticks), u128::from(next.ticks - pair.ticks));
        let ns = since * u128::from(next.ns - pair.ns) / all;
        u64::try_from(ns).ok()?.checked_add(pair.ns)
    }

    /// How long a tick of the transport lasts, if its frequency is not known but that of the message clock is.
    #[must_use]
    pub fn transport_rate(&self) -> Option<Rate> {
        let (first, last) = (self.pairs.first()?, self.pairs.last()?);
        let runs = |two: &[Pair]| two[0].hz == two[1].hz && two[0].ticks < two[1].ticks && two[0].transport < two[1].transport;
        if self.pairs.len() < 2 || !self.pairs.windows(2).all(runs) {
            return None;
        }
        let ns = u128::from(last.ticks - first.ticks) * 1_000_000_000 / u128::from(first.hz);
        Rate::from_ns_fraction(u64::try_from(ns).ok()?, last.transport - first.transport)
    }

    /// Makes the nanoseconds anew, with a rate that was found out later.
    pub fn set_transport_rate(&mut self, rate: Rate) {
        let line = Line::new(rate);
        self.pairs.retain_mut(|pair| line.nanos(pair.transport).map(|ns| pair.ns = ns).is_some());
    }
}

/// Reads a stream for its clock messages.
#[derive(Debug)]
pub struct Correlator {
    stream: Stream,
    deframer: Option<Deframer>,
    /// How many bytes were taken.
    taken: u64,
    bytes: Vec<u8>,
    origins: Vec<u64>,
    found: ClockMessages,
}

/// What is looked for.
#[derive(Debug)]
struct ClockMessages {
    line: Line,
    rate_is_given: bool,
    pairs: Thinned<Pair>,
    has_timestamps: bool,
}

impl Sink for ClockMessages {
    #[inline]
    fn frame(&mut self, frame: &[u8], context: Context, is_whole: bool) {
        let Some(word) = frame.first_chunk::<4>().map(|word| u32::from_le_bytes(*word)) else { return };
        self.has_timestamps |= !matches!(word & 0xF, 0 | 1 | 7) && Header(word).has(Header::TIMESTAMP);
        if word & 0xF == 8 && is_whole {
            self.clock_message(frame, context);
        }
    }

    fn notice(&mut self, notice: Notice, value: u64, context: Context) {
        if notice == Notice::Frequency
            && !self.rate_is_given
            && let (Some(rate), Some(ticks)) = (Rate::from_hz(value, 1), context.transport)
        {
            self.line.bend(ticks, rate);
        }
    }
}

impl ClockMessages {
    #[cold]
    fn clock_message(&mut self, frame: &[u8], context: Context) {
        let Ok(message) = Message::read_frame(frame) else { return };
        if message.marks.has(Marks::CRC_BAD) {
            return;
        }
        if let Some((ticks, hz)) = message.clock().filter(|(_, hz)| *hz != 0)
            && let Some(transport) = context.transport
            && let Some(ns) = self.line.nanos(transport)
        {
            self.pairs.add(Pair { offset: context.offset, ticks, hz, transport, ns });
        }
    }
}

impl Correlator {
    /// A reader of a stream whose clock has this rate at first; `rate_is_given`: whatever the stream says.
    #[must_use]
    pub fn new(order: NibbleOrder, source: Option<u8>, rate: Rate, rate_is_given: bool) -> Correlator {
        Correlator {
            stream: Stream::new(order),
            deframer: source.map(Deframer::new),
            taken: 0,
            bytes: Vec::new(),
            origins: Vec::new(),
            found: ClockMessages { line: Line::new(rate), rate_is_given, pairs: Thinned::default(), has_timestamps: false },
        }
    }

    /// Takes the next bytes of the input, maybe the last ones.
    pub fn push(&mut self, bytes: &[u8], is_last: bool) {
        match &mut self.deframer {
            None => self.stream.push(bytes, &[], is_last, &mut self.found),
            Some(deframer) => {
                self.bytes.clear();
                self.origins.clear();
                deframer.push(bytes, self.taken, &mut self.bytes, &mut self.origins);
                self.stream.push(&self.bytes, &self.origins, is_last, &mut self.found);
            }
        }
        self.taken += bytes.len() as u64;
    }

    /// Whether messages have time stamps of their own.
    #[must_use]
    pub fn has_timestamps(&self) -> bool {
        self.found.has_timestamps
    }

    /// The pairs so far, in file order.
    #[must_use]
    pub fn pairs(&self) -> &[Pair] {
        self.found.pairs.all()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair(offset: u64, ticks: u64, ns: u64) -> Pair {
        Pair { offset, ticks, hz: 1_000_000, transport: ns / 10, ns }
    }

    #[test]
    fn between_two_pairs_the_clock_is_a_straight_line() {
        // The clock is slow: 900 ticks in a millisecond.
        let mut pairs = Pairs::new(&[pair(10, 1000, 5_000_000), pair(20, 1900, 6_000_000), pair(30, 2900, 7_000_000)]);
        assert_eq!(pairs.nanos(0, 900), Some(4_900_000), "before the first one by its frequency");
        assert_eq!(pairs.nanos(10, 1000), Some(5_000_000));
        assert_eq!(pairs.nanos(12, 1450), Some(5_500_000));
        assert_eq!(pairs.nanos(21, 1450), Some(5_500_000), "made before the clock message that was sent before it");
        assert_eq!(pairs.nanos(22, 2400), Some(6_500_000));
        assert_eq!(pairs.nanos(31, 3000), Some(7_100_000), "behind the last one by its frequency");
        assert_eq!(pairs.nanos(31, u64::MAX), None);
        assert_eq!(Pairs::default().nanos(0, 0), None);
    }

    #[test]
    fn a_clock_that_began_anew_is_not_bridged() {
        let mut pairs = Pairs::new(&[pair(10, 1_000_000, 5_000_000), pair(20, 100, 6_000_000)]);
        assert_eq!(pairs.nanos(11, 1_000_500), Some(5_500_000));
        assert_eq!(pairs.nanos(21, 600), Some(6_500_000));
        assert_eq!(pairs.nanos(21, 0), Some(5_900_000));
    }

    #[test]
    fn one_pair_of_an_absurd_time_is_left_out() {
        let pairs = Pairs::new(&[pair(1, 1000, 1_000_000), pair(2, 2000, 9_000_000_000), pair(3, 3000, 3_000_000)]);
        assert_eq!(pairs.pairs.iter().map(|pair| pair.ticks).collect::<Vec<_>>(), [1000, 3000]);
    }

    #[test]
    fn the_transports_rate_follows_from_the_message_clock() {
        let pairs = Pairs::new(&[pair(1, 1000, 1_000_000), pair(2, 3000, 3_000_000)]);
        assert_eq!(pairs.transport_rate().map(|rate| rate.hz()), Some(100_000_000.0));
        assert!(Pairs::new(&[pair(1, 1000, 1_000_000)]).transport_rate().is_none());
        assert!(Pairs::new(&[pair(1, 1000, 1_000_000), pair(2, 10, 3_000_000)]).transport_rate().is_none());
    }
}
