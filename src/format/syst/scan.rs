//! The first pass over messages, for transports that can see them one by one: whether messages have time stamps, the frequency of the
//! message clock, and which builds ran.

use rustc_hash::FxHashMap;

use super::collateral::Sender;
use super::record::{Header, Marks, Message};

/// How many builds are used. They are the first ones of the input, wherever parts begin.
const BUILDS_LIMIT: usize = 1 << 12;

/// How many builds of a part are kept. Some may repeat builds of the part before, but at most one for each of those.
const FOUND_BUILDS_LIMIT: usize = 2 * BUILDS_LIMIT;

/// How many time stamps are used to find the start of the message clock.
const FIRST_TIMESTAMPS: usize = 9;

/// How many frequencies are told apart.
const RATES_LIMIT: usize = 16;

/// The frequencies in clock messages, in Hz, in the order in which they came first, and how often each came.
#[derive(Clone, Debug, Default)]
pub struct Rates(Vec<(u64, u64)>);

impl Rates {
    fn add(&mut self, hz: u64, count: u64) {
        if let Some(known) = self.0.iter_mut().find(|known| known.0 == hz) {
            known.1 += count;
        } else if self.0.len() < RATES_LIMIT {
            self.0.push((hz, count));
        }
    }

    /// Whether a frequency may be right. One that came once, where another one came again, is damaged.
    #[must_use]
    pub fn admits(&self, hz: u64) -> bool {
        let is_repeated = |known: &&(u64, u64)| known.1 > 1;
        let mut repeated = self.0.iter().filter(is_repeated).peekable();
        repeated.peek().is_none() || repeated.any(|known| known.0 == hz)
    }

    /// The first one that may be right.
    #[must_use]
    pub fn first(&self) -> Option<u64> {
        self.0.iter().map(|known| known.0).find(|&hz| self.admits(hz))
    }
}

/// Facts about the messages of a part, or of the whole input.
#[derive(Debug, Default)]
pub struct MessageFacts {
    /// The number of messages.
    pub messages: u64,
    /// How many of them have a time stamp.
    pub with_timestamp: u64,
    /// The first few time stamps.
    first_timestamps: Vec<u64>,
    /// The frequencies of the message clock.
    pub rates: Rates,
    /// The value of the message clock in the first clock message.
    pub first_clock: Option<u64>,
    /// Builds: offset, sender and number.
    builds: Vec<(u64, Sender, u64)>,
    /// The last build of each sender.
    last_builds: FxHashMap<Sender, u64>,
}

impl MessageFacts {
    /// Whether a message with this first word is needed whole. The others are only counted.
    #[inline]
    pub fn wants(&mut self, header: Header) -> bool {
        if matches!(header.0 & 0xF, 0 | 8) || (header.is_timed() && self.first_timestamps.len() < FIRST_TIMESTAMPS) {
            return true;
        }
        self.messages += 1;
        self.with_timestamp += u64::from(header.is_timed());
        false
    }

    /// Adds a message that [`MessageFacts::wants`].
    pub fn add_frame(&mut self, frame: &[u8], offset: u64) {
        if let Ok(message) = Message::read_frame(frame) {
            self.add_message(&message, offset);
        }
    }

    /// Adds a message.
    pub fn add_message(&mut self, message: &Message<'_>, offset: u64) {
        self.messages += 1;
        if message.marks.has(Marks::CRC_BAD) {
            return;
        }
        if let Some(timestamp) = message.fields.timestamp {
            self.with_timestamp += 1;
            self.add_timestamp(timestamp);
        }
        if let Some((value, hz)) = message.clock().filter(|(_, hz)| *hz != 0) {
            self.rates.add(hz, 1);
            self.first_clock = self.first_clock.or(Some(value));
        }
        if let Some(build) = message.build() {
            self.add_build((offset, Sender::of(&message.fields), build));
        }
    }

    /// Adds the facts of the next part.
    pub fn join(&mut self, next: MessageFacts) {
        self.messages += next.messages;
        self.with_timestamp += next.with_timestamp;
        next.first_timestamps.into_iter().for_each(|timestamp| self.add_timestamp(timestamp));
        next.rates.0.into_iter().for_each(|(hz, count)| self.rates.add(hz, count));
        self.first_clock = self.first_clock.or(next.first_clock);
        next.builds.into_iter().for_each(|build| self.add_build(build));
    }

    /// The start of the message clock, in ticks: the first time stamp that is not later than most of the next ones. Earlier ones are
    /// taken for damaged.
    pub fn first_timestamp(&self) -> Option<u64> {
        first_sound(&self.first_timestamps)
    }

    fn add_timestamp(&mut self, timestamp: u64) {
        if self.first_timestamps.len() < FIRST_TIMESTAMPS {
            self.first_timestamps.push(timestamp);
        }
    }

    fn add_build(&mut self, build: (u64, Sender, u64)) {
        let (_, sender, number) = build;
        if self.builds.len() >= FOUND_BUILDS_LIMIT || self.last_builds.get(&sender) == Some(&number) {
            return;
        }
        // Builds of a module and compact builds, which name no sender, are of the same messages. The later one counts.
        match sender {
            Sender::Unknown => self.last_builds.retain(|of, _| matches!(of, Sender::Guid(_))),
            Sender::Module(_) => drop(self.last_builds.remove(&Sender::Unknown)),
            Sender::Guid(_) => {}
        }
        self.last_builds.insert(sender, number);
        self.builds.push(build);
    }

    /// Removes the builds, for the second pass.
    pub fn remove_builds(&mut self) -> Builds {
        Builds::new(std::mem::take(&mut self.builds))
    }
}

/// The builds of an input, and where they are.
#[derive(Debug, Default)]
pub struct Builds {
    /// Sender to offsets and numbers, in file order.
    by_sender: FxHashMap<Sender, Vec<(u64, u64)>>,
}

impl Builds {
    fn new(mut all: Vec<(u64, Sender, u64)>) -> Builds {
        all.truncate(BUILDS_LIMIT);
        let mut by_sender: FxHashMap<Sender, Vec<(u64, u64)>> = FxHashMap::default();
        for (offset, sender, build) in all {
            by_sender.entry(sender).or_default().push((offset, build));
        }
        Builds { by_sender }
    }

    /// The build that applies to a sender's messages at an offset.
    #[must_use]
    pub fn last_of(&self, sender: Sender, offset: u64) -> Option<u64> {
        last_build(sender, |of| self.before(of, offset))
    }

    /// The last build of a sender up to an offset: where it is, and its number.
    #[must_use]
    pub fn before(&self, sender: Sender, offset: u64) -> Option<(u64, u64)> {
        let builds = self.by_sender.get(&sender)?;
        builds.get(builds.partition_point(|(at, _)| *at <= offset).checked_sub(1)?).copied()
    }
}

/// The build that applies to a sender's messages. `last` gives the last build of a sender: its offset and number.
///
/// A compact build names no sender. It applies to all messages without GUID.
pub fn last_build(sender: Sender, last: impl Fn(Sender) -> Option<(u64, u64)>) -> Option<u64> {
    let compact = if matches!(sender, Sender::Module(_)) { last(Sender::Unknown) } else { None };
    last(sender).max(compact).map(|(_, build)| build)
}

/// The first of some times that is not later than most of those after it.
pub fn first_sound(times: &[u64]) -> Option<u64> {
    let is_sound = |&(index, time): &(usize, &u64)| {
        let next = times.get(index + 1..).unwrap_or(&[]);
        2 * next.iter().filter(|&later| later < time).count() <= next.len()
    };
    times.iter().enumerate().find(is_sound).map(|(_, &time)| time)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frequency_that_came_once_is_damaged_where_others_came_again() {
        let mut rates = Rates::default();
        assert!(rates.admits(7) && rates.first().is_none(), "nothing is known");
        rates.add(9000, 1);
        rates.add(1000, 1);
        assert!(rates.admits(9000) && rates.admits(1000) && rates.first() == Some(9000), "either may be right");
        rates.add(1000, 1);
        assert!(!rates.admits(9000) && rates.admits(1000) && rates.first() == Some(1000));
        rates.add(2000, 2);
        assert!(rates.admits(1000) && rates.admits(2000), "it changed");
    }
}
