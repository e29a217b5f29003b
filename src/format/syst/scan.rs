//! What the first pass finds: whether messages have times, what the message clock is, which builds were told.

use rustc_hash::FxHashMap;

use super::collateral::Sender;
use super::record::{Header, Marks, Message};
use super::stp::correlate::{Correlator, Pair};

/// How many builds are believed; those behind them are not. Wherever parts begin, these are the same.
const BUILDS_LIMIT: usize = 1 << 12;

/// How many builds of a part are kept: some may be told by the part before already, but at most one for each of those that it kept.
const FOUND_BUILDS_LIMIT: usize = 2 * BUILDS_LIMIT;

/// How many time stamps tell where the messages' clock begins.
const FIRST_TIMESTAMPS: usize = 9;

/// What a part, or the whole input, holds.
#[derive(Debug, Default)]
pub struct Found {
    /// Messages, as far as they are looked at.
    pub messages: u64,
    /// Of those, messages with a time stamp.
    pub with_timestamp: u64,
    /// The first few time stamps.
    first_timestamps: Vec<u64>,
    /// The frequency of the message clock in Hz, from the first clock message.
    pub message_hz: Option<u64>,
    /// Value of the message clock in the first clock message.
    pub first_clock: Option<u64>,
    /// Where builds were told, by whom, and which.
    builds: Vec<(u64, Sender, u64)>,
    /// The last one of each sender.
    last_builds: FxHashMap<Sender, u64>,
    /// What is known about STP.
    pub stp: super::stp::Evidence,
    /// The source of STP in CoreSight frames, if the input is made of such.
    pub tpiu: Option<u8>,
    /// The bytes of a part of an STP stream, if it is read for its clock messages, and whether they are the last ones.
    pub stp_bytes: (Vec<u8>, bool),
    /// What reads them. It is with the first part.
    pub correlator: Option<Box<Correlator>>,
    /// The clock messages of the head of an STP stream; of all of it, if there is a correlator.
    pub pairs: Vec<Pair>,
}

impl Found {
    /// Whether a message with this first word should be looked at. Others are counted.
    #[inline]
    pub fn wants(&mut self, word: u32) -> bool {
        let header = Header(word);
        let has_timestamp = !matches!(word & 0xF, 0 | 1 | 7) && header.has(Header::TIMESTAMP);
        if matches!(word & 0xF, 0 | 8) || (has_timestamp && self.first_timestamps.len() < FIRST_TIMESTAMPS) {
            return true;
        }
        self.messages += 1;
        self.with_timestamp += u64::from(has_timestamp);
        false
    }

    /// Takes a message that is wanted.
    pub fn take_frame(&mut self, frame: &[u8], offset: u64) {
        if let Ok(message) = Message::read_frame(frame) {
            self.take(&message, offset);
        }
    }

    /// Takes a message.
    pub fn take(&mut self, message: &Message<'_>, offset: u64) {
        self.messages += 1;
        if message.marks.has(Marks::CRC_BAD) {
            return;
        }
        if let Some(timestamp) = message.fields.timestamp {
            self.with_timestamp += 1;
            self.add_timestamp(timestamp);
        }
        if let Some((value, hz)) = message.clock().filter(|(_, hz)| *hz != 0) {
            self.message_hz = self.message_hz.or(Some(hz));
            self.first_clock = self.first_clock.or(Some(value));
        }
        if let Some(build) = message.build() {
            self.add_build((offset, Sender::of(&message.fields), build));
        }
    }

    /// Takes what the next part holds.
    pub fn add(&mut self, next: Found) {
        self.messages += next.messages;
        self.with_timestamp += next.with_timestamp;
        next.first_timestamps.into_iter().for_each(|timestamp| self.add_timestamp(timestamp));
        self.message_hz = self.message_hz.or(next.message_hz);
        self.first_clock = self.first_clock.or(next.first_clock);
        next.builds.into_iter().for_each(|build| self.add_build(build));
        self.stp.add(&next.stp);
        self.tpiu = self.tpiu.or(next.tpiu);
        if let Some(correlator) = &mut self.correlator {
            correlator.push(&next.stp_bytes.0, next.stp_bytes.1);
        }
    }

    /// Where the messages' clock begins, in ticks: the first time stamp that most of the next ones do not lie before. Those that they do
    /// lie before are damaged.
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
        // What a module tells and what nobody tells is of the same messages: the later one counts, though it was told before.
        match sender {
            Sender::Unknown => self.last_builds.retain(|of, _| matches!(of, Sender::Guid(_))),
            Sender::Module(_) => drop(self.last_builds.remove(&Sender::Unknown)),
            Sender::Guid(_) => {}
        }
        self.last_builds.insert(sender, number);
        self.builds.push(build);
    }

    /// The builds that are believed. They are taken out.
    pub fn take_builds(&mut self) -> Builds {
        Builds::new(std::mem::take(&mut self.builds))
    }
}

/// Which builds were told in an input, and where.
#[derive(Debug, Default)]
pub struct Builds {
    /// By sender: offsets and numbers, in file order.
    told: FxHashMap<Sender, Vec<(u64, u64)>>,
}

impl Builds {
    fn new(mut all: Vec<(u64, Sender, u64)>) -> Builds {
        all.truncate(BUILDS_LIMIT);
        let mut told: FxHashMap<Sender, Vec<(u64, u64)>> = FxHashMap::default();
        for (offset, sender, build) in all {
            told.entry(sender).or_default().push((offset, build));
        }
        Builds { told }
    }

    /// The build that holds for a sender's messages at a place. A compact build names no sender: it is of those that have no GUID.
    #[must_use]
    pub fn last_of(&self, sender: Sender, offset: u64) -> Option<u64> {
        last_build(sender, |of| self.before(of, offset))
    }

    /// What a sender told last, up to a place: where, and the number.
    #[must_use]
    pub fn before(&self, sender: Sender, offset: u64) -> Option<(u64, u64)> {
        let told = self.told.get(&sender)?;
        told.get(told.partition_point(|(at, _)| *at <= offset).checked_sub(1)?).copied()
    }
}

/// The build that holds for a sender's messages, if `told` gives where and which one a sender told last.
pub fn last_build(sender: Sender, told: impl Fn(Sender) -> Option<(u64, u64)>) -> Option<u64> {
    let compact = if matches!(sender, Sender::Module(_)) { told(Sender::Unknown) } else { None };
    told(sender).max(compact).map(|(_, build)| build)
}

/// The first of some times that most of those behind it do not lie before.
pub fn first_sound(times: &[u64]) -> Option<u64> {
    let is_sound = |&(index, time): &(usize, &u64)| {
        let behind = times.get(index + 1..).unwrap_or(&[]);
        2 * behind.iter().filter(|&later| later < time).count() <= behind.len()
    };
    times.iter().enumerate().find(is_sound).map(|(_, &time)| time)
}
