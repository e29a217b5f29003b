//! What a sample of an STP stream tells: where it is synchronised, in which order its nibbles are, how fast its clock is.
//!
//! Senders disagree about the order of nibbles and nothing in the stream tells it. But the messages do: read in the right order nearly
//! all begin with a header that is legal, in the wrong one nearly none.

use super::{NibbleOrder, Sink, Stream};
use crate::format::syst::decode::{Context, Notice};
use crate::format::syst::record::Message;

/// How many bytes of a part are looked at.
const SAMPLE_BYTES: usize = 16 << 10;

/// What was seen in both orders.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Evidence {
    /// Read most significant nibble first.
    pub msb: Reading,
    /// Read least significant nibble first.
    pub lsb: Reading,
}

/// What was seen in one order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reading {
    /// Messages.
    pub messages: u64,
    /// Of those, with a legal header, and a fitting checksum if they have one.
    pub legal: u64,
    /// The frequency of the clock in Hz, told first.
    pub hz: Option<u64>,
    /// Stretches without a packet.
    pub unsynced: u64,
}

impl Sink for Reading {
    fn frame(&mut self, frame: &[u8], _: Context, is_whole: bool) {
        if is_whole {
            self.messages += 1;
            let is_legal = Message::read_frame(frame).is_ok_and(|message| message.marks.0 == 0);
            self.legal += u64::from(is_legal);
        }
    }

    fn notice(&mut self, notice: Notice, value: u64, _: Context) {
        match notice {
            Notice::Frequency if value != 0 => self.hz = self.hz.or(Some(value)),
            Notice::UnknownPacket => self.unsynced += 1,
            _ => {}
        }
    }
}

impl Evidence {
    /// Looks at the start of some bytes of a stream.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Evidence {
        let sample = bytes.get(..SAMPLE_BYTES).unwrap_or(bytes);
        let read = |order| {
            let mut reading = Reading::default();
            // As if nothing followed: what the sample ends within is not whole, and does not count.
            Stream::new(order).push(sample, &[], true, &mut reading);
            reading
        };
        Evidence { msb: read(NibbleOrder::Msb), lsb: read(NibbleOrder::Lsb) }
    }

    /// Adds what was seen later.
    pub fn add(&mut self, next: &Evidence) {
        for (all, next) in [(&mut self.msb, &next.msb), (&mut self.lsb, &next.lsb)] {
            all.messages += next.messages;
            all.legal += next.legal;
            all.hz = all.hz.or(next.hz);
            all.unsynced += next.unsynced;
        }
    }

    /// The order that speaks for itself: most significant first, unless the other one makes more messages legal.
    #[must_use]
    pub fn order(&self) -> NibbleOrder {
        if self.lsb.legal > self.msb.legal { NibbleOrder::Lsb } else { NibbleOrder::Msb }
    }

    /// What was seen in an order.
    #[must_use]
    pub fn reading(&self, order: NibbleOrder) -> &Reading {
        if order == NibbleOrder::Lsb { &self.lsb } else { &self.msb }
    }
}
