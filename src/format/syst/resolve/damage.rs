//! How many messages are missing at least where packets make no message. All damage between two valid messages may be the remains of one;
//! with several channels, so may all damage of one channel before its next valid message.

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

    /// Adds bytes that make no message. False if they may be the remains of one that was added before.
    pub fn add(&mut self, place: Place) -> bool {
        let is_known = self.places.contains(&place);
        if !is_known && place.is_some() && self.places.len() < PLACES_LIMIT {
            self.places.push(place);
        }
        self.valid = 0;
        !std::mem::replace(&mut self.is_last, true) && !is_known
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
