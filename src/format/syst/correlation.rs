//! Clocks as lines: ticks to nanoseconds, and the message clock on the axis of the transport's clock.
//!
//! A clock message reports the message clock; the transport has a time for the same message. Such [`Pair`]s put time stamps of messages
//! on the transport's axis: between two pairs the message clock is taken for a straight line. Senders may have clocks of their own, as
//! the processors of one chip do.

use super::collateral::Sender;
use crate::model::{Nanos, Rate, Ticks};

/// Where a rate or value is known from: an option.
pub const GIVEN: &str = "given by an option";
/// The capture.
pub const RECORDED: &str = "recorded in the capture";
/// Nothing.
pub const ASSUMED: &str = "assumed";
/// Two clocks that were compared.
pub const CORRELATED: &str = "inferred from clock messages";

/// What the first pass knows about the clock of a transport.
pub struct TransportClock {
    /// Its rate.
    pub rate: Rate,
    /// Where the rate is known from.
    pub source: &'static str,
    /// A hint if the capture records another one than the option.
    pub overridden: Option<String>,
    /// Readings of the message clock.
    pub pairs: Pairs,
}

/// A straight line through a point.
#[derive(Clone, Copy, Debug)]
pub struct Line {
    /// The ticks of the point.
    pub ticks: u64,
    /// Its nanoseconds.
    pub ns: u64,
    /// The slope.
    pub rate: Rate,
}

impl Line {
    /// A line of this slope, from zero.
    #[must_use]
    pub fn new(rate: Rate) -> Line {
        Line { ticks: 0, ns: 0, rate }
    }

    /// The nanoseconds of some ticks. `None` if negative or larger than a trace can hold.
    #[inline]
    #[must_use]
    pub fn nanos(&self, ticks: u64) -> Option<u64> {
        match ticks.checked_sub(self.ticks) {
            Some(since) => self.rate.to_nanos(Ticks(since))?.0.checked_add(self.ns).filter(|&ns| ns <= Nanos::MAX.0),
            None => self.ns.checked_sub(self.rate.to_nanos(Ticks(self.ticks - ticks))?.0),
        }
    }

    /// Changes the slope from some ticks on. False if it stays the same.
    pub fn bend(&mut self, ticks: u64, rate: Rate) -> bool {
        if self.rate == rate {
            return false;
        }
        let Some(ns) = self.nanos(ticks) else { return false };
        *self = Line { ticks, ns, rate };
        true
    }
}

/// How much the rate between two pairs may differ from the recorded frequency, in percent. If it differs more, the clock restarted
/// between them.
const DRIFT_PERCENT: u64 = 50;

/// How many pairs back a message may have been stamped.
const LOOK_BACK_PAIRS: usize = 8;

/// The readings of two senders are of one clock if they differ by no more than this share of the time between them, ...
const AGREED_SHARE: u128 = 1000;

/// ... and this many nanoseconds.
const AGREED_NS: u128 = 100_000;

/// How many clocks are told apart. The messages of further ones have no time on the transport's axis.
const CLOCKS_LIMIT: usize = 64;

/// How many clocks are listed.
const SHOWN_CLOCKS: usize = 4;

/// Readings of several senders are on one line if none is farther from it than this share of the whole.
const LINE_SHARE: f64 = 0.01;

/// Who sends messages: a master and channel, and an origin on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Owner {
    /// Master and channel.
    pub place: Option<(u16, u16)>,
    /// GUID or module.
    pub sender: Sender,
}

/// A reading of the message clock at a time of the transport.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pair {
    /// Who sent it.
    pub owner: Owner,
    /// Where the clock message starts in the input, in bytes.
    pub offset: u64,
    /// The message clock, in ticks.
    pub ticks: u64,
    /// Its frequency in Hz; not 0.
    pub hz: u64,
    /// The transport's time, in ticks.
    pub transport: u64,
    /// The same in nanoseconds.
    pub ns: u64,
}

impl Pair {
    /// The nanoseconds of some ticks of the message clock, by its frequency alone. `None` if a trace cannot hold them.
    fn extrapolate(&self, ticks: u64) -> Option<u64> {
        let rate = Rate::from_hz(self.hz, 1)?;
        Line { ticks: self.ticks, ns: self.ns, rate }.nanos(ticks)
    }

    /// Whether the clock ran without a restart from here to the next pair.
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

    /// Whether both readings may be of one clock that runs at its frequency.
    fn agrees_with(&self, next: &Pair) -> bool {
        let (Some(ticks), Some(ns)) = (next.ticks.checked_sub(self.ticks), next.ns.checked_sub(self.ns)) else { return false };
        let by_clock = u128::from(ticks) * 1_000_000_000 / u128::from(self.hz);
        self.hz == next.hz && by_clock.abs_diff(u128::from(ns)) <= u128::from(ns) / AGREED_SHARE + AGREED_NS
    }
}

/// All pairs of a stream, by clock.
#[derive(Clone, Debug, Default)]
pub struct Pairs {
    /// In the order of their first pairs.
    clocks: Vec<Clock>,
}

/// The pairs of a clock, in file order.
#[derive(Clone, Debug)]
struct Clock {
    /// Whose clock it is, if there are several.
    owner: Owner,
    pairs: Vec<Pair>,
    /// The last pair that is not after the last offset asked for.
    at: usize,
}

impl Pairs {
    /// Pairs in file order. Pairs whose time contradicts both neighbours are left out.
    #[must_use]
    pub fn new(all: &[Pair]) -> Pairs {
        let is_outlier = |index: usize| {
            let near = index.checked_sub(1).and_then(|before| all.get(before)).zip(all.get(index + 1));
            near.is_some_and(|(before, after)| {
                let ns = all[index].ns;
                before.ns <= after.ns && (ns < before.ns || ns > after.ns)
            })
        };
        Pairs::by_clock((0..all.len()).filter(|&index| !is_outlier(index)).map(|index| all[index]).collect())
    }

    fn by_clock(all: Vec<Pair>) -> Pairs {
        let mut clocks: Vec<Clock> = Vec::new();
        for pair in &all {
            let known = clocks.iter().position(|clock| clock.owner == pair.owner);
            if let Some(clock) = known.and_then(|known| clocks.get_mut(known)) {
                clock.pairs.push(*pair);
            } else if clocks.len() < CLOCKS_LIMIT {
                clocks.push(Clock { owner: pair.owner, pairs: vec![*pair], at: 0 });
            }
        }
        // Senders that agree have one clock: all their pairs together are more exact.
        if clocks.len() > 1 && all.windows(2).all(|two| two[0].agrees_with(&two[1])) {
            clocks.truncate(1);
            clocks.iter_mut().for_each(|clock| clock.pairs.clone_from(&all));
        }
        Pairs { clocks }
    }

    /// The first one of each clock.
    pub fn firsts(&self) -> impl Iterator<Item = &Pair> {
        self.clocks.iter().filter_map(|clock| clock.pairs.first())
    }

    /// Whether there is at most one clock.
    #[inline]
    #[must_use]
    pub fn is_one_clock(&self) -> bool {
        self.clocks.len() <= 1
    }

    /// The number of the clock of a sender's messages: its own; or else the only one on its channel, of its GUID, or of its master.
    #[must_use]
    pub fn clock_of(&self, owner: Owner) -> Option<usize> {
        if self.is_one_clock() {
            return Some(0);
        }
        let only = |is_it: &dyn Fn(&Owner) -> bool| {
            let mut found = (0..).zip(&self.clocks).filter(|(_, clock)| is_it(&clock.owner)).map(|(index, _)| index);
            found.next().filter(|_| found.next().is_none())
        };
        let master = |owner: &Owner| owner.place.map(|(master, _)| master);
        only(&|of| *of == owner)
            .or_else(|| only(&|of| of.place == owner.place))
            .or_else(|| only(&|of| of.sender == owner.sender && matches!(of.sender, Sender::Guid(_))))
            .or_else(|| only(&|of| master(of) == master(&owner)))
    }

    /// The time of `ticks` of a message clock on the transport's axis, in nanoseconds. `offset` is where the message starts in the
    /// input; calls come in file order.
    ///
    /// Between two pairs the clock is a straight line. Before the first pair, after the last one, and where the clock restarted, the
    /// recorded frequency is used.
    pub fn nanos(&mut self, clock: usize, offset: u64, ticks: u64) -> Option<u64> {
        self.clocks.get_mut(clock)?.nanos(offset, ticks)
    }

    /// All of them in file order.
    fn all(&self) -> Vec<Pair> {
        let mut all: Vec<Pair> = self.clocks.iter().flat_map(|clock| clock.pairs.iter().copied()).collect();
        all.sort_by_key(|pair| pair.offset);
        all
    }

    /// The rate of the transport's clock, from that of a message clock: of one sender, or of all if their readings are on one line.
    #[must_use]
    pub fn transport_rate(&self) -> Option<Rate> {
        let of_one = self.clocks.iter().find_map(|clock| transport_rate(&clock.pairs));
        of_one.or_else(|| {
            let all = self.all();
            let (first, last) = all.first().zip(all.last()).filter(|_| all.len() > 2)?;
            let (ticks, transport) =
                (last.ticks.saturating_sub(first.ticks) as f64, last.transport.saturating_sub(first.transport) as f64);
            let is_line = all.iter().all(|pair| {
                let share = pair.ticks.saturating_sub(first.ticks) as f64 / ticks;
                (share - pair.transport.saturating_sub(first.transport) as f64 / transport).abs() < LINE_SHARE
            });
            transport_rate(&all).filter(|_| is_line)
        })
    }

    /// Computes the nanoseconds again, with a rate found later.
    pub fn set_transport_rate(&mut self, rate: Rate) {
        let line = Line::new(rate);
        let mut all = self.all();
        all.retain_mut(|pair| line.nanos(pair.transport).map(|ns| pair.ns = ns).is_some());
        *self = Pairs::by_clock(all);
    }
}

/// The clocks, for people.
impl std::fmt::Display for Pairs {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut rates = self.firsts().map(|pair| pair.hz);
        let first = rates.next().unwrap_or(0);
        if rates.all(|hz| hz == first) {
            return write!(out, "{}, each at {first} Hz", self.clocks.len());
        }
        write!(out, "{}:", self.clocks.len())?;
        for (index, pair) in self.firsts().take(SHOWN_CLOCKS).enumerate() {
            let (master, channel) = pair.owner.place.unwrap_or_default();
            write!(out, "{} {} Hz on channel {master}:{channel}", if index == 0 { "" } else { "," }, pair.hz)?;
        }
        out.write_str(if self.clocks.len() > SHOWN_CLOCKS { ", …" } else { "" })
    }
}

impl Clock {
    fn nanos(&mut self, offset: u64, ticks: u64) -> Option<u64> {
        while self.pairs.get(self.at + 1).is_some_and(|next| next.offset <= offset) {
            self.at += 1;
        }
        let mut at = self.at;
        // A message may have been stamped before the clock message that precedes it in the stream.
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
            // Stamped after the next clock message but sent before it: an odd time stamp.
            return next.extrapolate(ticks);
        }
        let (since, all, all_ns) = (ticks - pair.ticks, next.ticks - pair.ticks, next.ns - pair.ns);
        // As a rule the product is short.
        let ns = match since.checked_mul(all_ns) {
            Some(product) => product / all,
            None => u64::try_from(u128::from(since) * u128::from(all_ns) / u128::from(all)).ok()?,
        };
        ns.checked_add(pair.ns)
    }
}

/// The rate of the transport's clock, from readings of one clock.
fn transport_rate(pairs: &[Pair]) -> Option<Rate> {
    let (first, last) = (pairs.first()?, pairs.last()?);
    let runs = |two: &[Pair]| two[0].hz == two[1].hz && two[0].ticks < two[1].ticks && two[0].transport < two[1].transport;
    if pairs.len() < 2 || !pairs.windows(2).all(runs) {
        return None;
    }
    let ns = u128::from(last.ticks - first.ticks) * 1_000_000_000 / u128::from(first.hz);
    Rate::from_ns_fraction(u64::try_from(ns).ok()?, last.transport - first.transport)
}

#[cfg(test)]
mod tests {
    use super::*;

    const OWNER: Owner = Owner { place: Some((1, 1)), sender: Sender::Module(0) };

    fn pair(offset: u64, ticks: u64, ns: u64) -> Pair {
        Pair { owner: OWNER, offset, ticks, hz: 1_000_000, transport: ns / 10, ns }
    }

    fn of_channel(channel: u16, offset: u64, ticks: u64, ns: u64) -> Pair {
        Pair { owner: Owner { place: Some((channel / 10, channel)), ..OWNER }, ..pair(offset, ticks, ns) }
    }

    #[test]
    fn senders_may_have_clocks_of_their_own() {
        // The second clock is 7 s behind the first one.
        let all = [
            of_channel(11, 10, 10_000_000, 1_000_000),
            of_channel(27, 20, 3_000_100, 1_100_000),
            of_channel(11, 30, 10_001_000, 2_000_000),
            of_channel(27, 40, 3_001_100, 2_100_000),
        ];
        let mut pairs = Pairs::new(&all);
        let owner = |channel: u16, sender: Sender| Owner { place: Some((channel / 10, channel)), sender };
        let (one, other) = (pairs.clock_of(owner(11, Sender::Module(0))), pairs.clock_of(owner(27, Sender::Module(0))));
        assert_eq!((one, other), (Some(0), Some(1)));
        assert_eq!(pairs.nanos(0, 35, 10_000_500), Some(1_500_000));
        assert_eq!(pairs.nanos(1, 35, 3_000_600), Some(1_600_000));
        // By channel, then by master; a third master has no clock.
        assert_eq!(pairs.clock_of(owner(27, Sender::Guid([1; 16]))), Some(1));
        assert_eq!(pairs.clock_of(owner(12, Sender::Guid([1; 16]))), Some(0));
        assert_eq!(pairs.clock_of(owner(31, Sender::Module(0))), None);
        // Channels that agree have one clock, which is everyone's.
        let all =
            [of_channel(11, 10, 1_000, 1_000_000), of_channel(27, 20, 1_105, 1_100_000), of_channel(12, 30, 2_000, 2_000_000)];
        let mut pairs = Pairs::new(&all);
        assert!(pairs.is_one_clock());
        assert_eq!(pairs.clock_of(owner(31, Sender::Module(0))), Some(0));
        assert_eq!(pairs.nanos(0, 12, 1_105), Some(1_100_000));
        // They do so with the rate that they give, if no other is known.
        let mut unknown = Pairs::new(&all.map(|pair| Pair { ns: pair.transport, ..pair }));
        assert!(!unknown.is_one_clock());
        let rate = unknown.transport_rate().unwrap();
        assert_eq!(rate.hz(), 100_000_000.0);
        unknown.set_transport_rate(rate);
        assert!(unknown.is_one_clock());
    }

    #[test]
    fn between_two_pairs_the_clock_is_a_straight_line() {
        // The clock is slow: 900 ticks in a millisecond.
        let mut pairs = Pairs::new(&[pair(10, 1000, 5_000_000), pair(20, 1900, 6_000_000), pair(30, 2900, 7_000_000)]);
        assert_eq!(pairs.nanos(0, 0, 900), Some(4_900_000), "before the first one by its frequency");
        assert_eq!(pairs.nanos(0, 10, 1000), Some(5_000_000));
        assert_eq!(pairs.nanos(0, 12, 1450), Some(5_500_000));
        assert_eq!(pairs.nanos(0, 21, 1450), Some(5_500_000), "stamped before the clock message that was sent before it");
        assert_eq!(pairs.nanos(0, 22, 2400), Some(6_500_000));
        assert_eq!(pairs.nanos(0, 31, 3000), Some(7_100_000), "after the last one by its frequency");
        assert_eq!(pairs.nanos(0, 31, u64::MAX), None);
        assert_eq!(Pairs::default().nanos(0, 0, 0), None);
    }

    #[test]
    fn a_restart_of_the_clock_is_not_bridged() {
        let mut pairs = Pairs::new(&[pair(10, 1_000_000, 5_000_000), pair(20, 100, 6_000_000)]);
        assert_eq!(pairs.nanos(0, 11, 1_000_500), Some(5_500_000));
        assert_eq!(pairs.nanos(0, 21, 600), Some(6_500_000));
        assert_eq!(pairs.nanos(0, 21, 0), Some(5_900_000));
    }

    #[test]
    fn one_pair_of_an_absurd_time_is_left_out() {
        let pairs = Pairs::new(&[pair(1, 1000, 1_000_000), pair(2, 2000, 9_000_000_000), pair(3, 3000, 3_000_000)]);
        assert_eq!(pairs.clocks[0].pairs.iter().map(|pair| pair.ticks).collect::<Vec<_>>(), [1000, 3000]);
    }

    #[test]
    fn the_transports_rate_follows_from_the_message_clock() {
        let pairs = Pairs::new(&[pair(1, 1000, 1_000_000), pair(2, 3000, 3_000_000)]);
        assert_eq!(pairs.transport_rate().map(|rate| rate.hz()), Some(100_000_000.0));
        assert!(Pairs::new(&[pair(1, 1000, 1_000_000)]).transport_rate().is_none());
        assert!(Pairs::new(&[pair(1, 1000, 1_000_000), pair(2, 10, 3_000_000)]).transport_rate().is_none());
    }
}
