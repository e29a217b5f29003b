//! How many messages are missing at least where packets make no message. All damage between two valid messages may be the remains of one;
//! with several channels, so may all damage of one channel before its next valid message. Data without a beginning may be the rest of a message
//! of any channel: a packet that names the channel may be what is damaged.

use crate::format::syst::decoded::{RecordKind, Stored};
use crate::format::syst::record::Marks;

/// A master and channel.
type Place = Option<(u16, u16)>;

/// How many channels are remembered.
const PLACES_LIMIT: usize = 16;

/// After this many valid messages nothing is taken for the remains of those before.
const VALID_MESSAGES: u32 = 64;

/// Damage after which not all is well yet.
#[derive(Default)]
pub struct Damage {
    /// No valid message came since.
    is_last: bool,
    /// Channels without a valid message since.
    places: Vec<Place>,
    /// The number of valid messages since.
    valid: u32,
}

impl Damage {
    /// Whether it no longer matters.
    #[inline]
    pub fn is_over(&self) -> bool {
        !self.is_last && self.places.is_empty()
    }

    /// Adds bytes that make no message, and whether one begins with them. False if they may be the remains of one that was added before.
    pub fn add(&mut self, place: Place, begins: bool) -> bool {
        let is_known = self.places.contains(&place);
        let counts = !self.is_last && !is_known && (begins || self.is_over());
        if !is_known && place.is_some() && self.places.len() < PLACES_LIMIT {
            self.places.push(place);
        }
        (self.is_last, self.valid) = (true, 0);
        counts
    }

    /// Adds a message. After damage short messages prove nothing: any bytes look like one.
    pub fn add_message(&mut self, stored: &Stored, place: Place) {
        if stored.marks.has(Marks::CRC_BAD) || stored.marks.has(Marks::TRUNCATED) {
            return;
        }
        self.valid += 1;
        if self.valid >= VALID_MESSAGES {
            *self = Damage::default();
        } else if !matches!(stored.kind, RecordKind::Short { .. }) {
            self.is_last = false;
            self.places.retain(|of| *of != place);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::syst::decode::{Context, Decoder, Records};

    #[test]
    fn the_rest_of_a_message_is_no_other_one() {
        let (one, other, third) = (Some((1, 1)), Some((1, 2)), Some((2, 1)));
        let mut records = Records::default();
        records.add_frame(&Decoder::default(), &[0x42, 0x50, 0x2A, 0x01, 0], Context::default());
        let valid = records.stored[0];
        let mut damage = Damage::default();
        assert!(damage.add(one, true), "it has no end");
        damage.add_message(&valid, third);
        assert!(!damage.add(other, false), "the end came on another channel");
        damage.add_message(&valid, third);
        assert!(!damage.add(None, false), "the sync was lost in it");
        damage.add_message(&valid, third);
        assert!(damage.add(third, true), "another one begins");
        for place in [one, other, third] {
            damage.add_message(&valid, place);
        }
        assert!(damage.is_over() && damage.add(other, false), "no other one is missing");
    }
}
