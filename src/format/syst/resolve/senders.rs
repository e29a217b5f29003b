//! Whether clock messages of several senders can be of one clock, where no transport has a time for them.
//!
//! Text and raw captures have the messages' own time stamps alone. All are read as those of one clock, so senders that contradict this must
//! be named: nothing in such a capture relates their clocks.

use super::super::correlation::Owner;

/// How many senders are compared.
const SENDERS_LIMIT: usize = 64;

/// A reading may be sent this long after it was taken, in milliseconds.
const DELAY_MS: u64 = 100;

/// The last clock message of a sender.
#[derive(Clone, Copy, Debug)]
struct Reading {
    owner: Owner,
    /// Its place among all clock messages.
    number: u64,
    ticks: u64,
    hz: u64,
}

/// The clock messages so far.
#[derive(Clone, Debug, Default)]
pub struct ClockSenders {
    last: Vec<Reading>,
    count: u64,
    /// The first reading that is not of the same clock as those around it, and why.
    apart: Option<(Reading, String)>,
    /// Another reading is not, either: it is not damage.
    is_confirmed: bool,
}

impl ClockSenders {
    /// Notes a clock message.
    pub fn note(&mut self, owner: Owner, ticks: u64, hz: u64) {
        self.count += 1;
        let now = Reading { owner, number: self.count, ticks, hz };
        let Some(place) = self.last.iter().position(|last| last.owner == owner) else {
            if self.last.len() < SENDERS_LIMIT {
                self.last.push(now);
            }
            return;
        };
        let Some(last) = self.last.get_mut(place) else { return };
        let before = std::mem::replace(last, now);
        // A clock that was set back, or gets another rate, says nothing.
        if self.is_confirmed || before.ticks > ticks || before.hz != hz {
            return;
        }
        let delay = (hz / 1000).saturating_mul(DELAY_MS);
        let range = before.ticks.saturating_sub(delay)..=ticks.saturating_add(delay);
        let mut others = self.last.iter().filter(|other| other.number > before.number && other.owner != owner);
        let Some(&other) = others.find(|other| other.hz != hz || !range.contains(&other.ticks)) else { return };
        match &self.apart {
            Some((first, _)) => self.is_confirmed = first.number != other.number,
            None => {
                let (from, to) = (before.ticks, ticks);
                let why = format!("{} at {} Hz lies between {from} and {to} at {hz} Hz of another sender", other.ticks, other.hz);
                self.apart = Some((other, why));
            }
        }
    }

    /// Which readings cannot be of one clock. One that is alone and that its sender did not repeat may be true; else it is damage.
    pub fn contradiction(&self) -> Option<&str> {
        let (first, why) = self.apart.as_ref()?;
        let is_last = self.last.iter().any(|last| last.number == first.number);
        (self.is_confirmed || is_last).then_some(why.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::syst::collateral::Sender;

    fn judged(readings: &[(u8, u64, u64)]) -> Option<String> {
        let mut senders = ClockSenders::default();
        for &(module, ticks, hz) in readings {
            senders.note(Owner { place: None, sender: Sender::Module(module) }, ticks, hz);
        }
        senders.contradiction().map(str::to_owned)
    }

    #[test]
    fn senders_of_one_clock_agree() {
        assert_eq!(judged(&[(1, 1_000, 1000), (2, 1_500, 1000), (1, 2_000, 1000), (2, 2_500, 1000)]), None);
        assert_eq!(judged(&[(1, 1_000, 1000), (2, 2_050, 1000), (1, 2_000, 1000)]), None, "sent late");
        assert_eq!(judged(&[(1, 9_000, 1000), (2, 100, 1000), (1, 200, 1000)]), None, "a restart");
        assert_eq!(judged(&[(1, 1_000, 1000), (2, 2_000, 2000), (1, 3_000, 2000)]), None, "it gets faster");
        assert_eq!(judged(&[(1, 1_000, 1000), (2, 900_000, 1000)]), None, "nobody knows");
    }

    #[test]
    fn one_damaged_reading_is_no_other_clock() {
        let damaged = [(1, 1_000, 1000), (2, 1_100, 9000), (1, 2_000, 1000), (2, 2_100, 1000), (1, 3_000, 1000)];
        assert_eq!(judged(&damaged), None, "its frequency");
        assert_eq!(judged(&[(1, 1_000, 1000), (2, 901_100, 1000), (1, 2_000, 1000), (2, 2_100, 1000)]), None, "its value");
        assert!(judged(&[(1, 1_000, 1000), (2, 9_100, 1000), (1, 2_000, 1000), (2, 10_100, 1000)]).is_some(), "another clock");
    }

    #[test]
    fn senders_of_other_clocks_do_not() {
        let far = judged(&[(1, 1_000, 1000), (2, 900_000, 1000), (1, 2_000, 1000)]);
        assert_eq!(far.as_deref(), Some("900000 at 1000 Hz lies between 1000 and 2000 at 1000 Hz of another sender"));
        assert!(judged(&[(1, 1_000, 1000), (2, 1_500, 4000), (1, 2_000, 1000)]).is_some(), "another rate");
    }
}
