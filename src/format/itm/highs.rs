//! The high bits of the global time at the start of a stream, from the first pass: the first time stamps come before the packet with them.

use crate::frame::swo::Packet;

/// The first readings are enough to recognise a damaged one.
const READINGS_MAX: usize = 16;

/// The packets of global time in a part, or in the input so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Highs {
    /// How often the high bits have changed.
    wraps: i64,
    /// They have changed, and follow. `None`: no packet has come.
    is_stale: Option<bool>,
    /// The first packet has high bits: whether they have changed, the part before knows.
    begins_high: bool,
    /// What the high bits were at the start, by each of the first packets that have them.
    readings: Vec<i64>,
}

impl Highs {
    /// Takes the next packet.
    pub fn add(&mut self, packet: Packet) {
        match packet {
            Packet::GlobalLow { has_wrapped, .. } => self.is_stale = Some(has_wrapped),
            Packet::GlobalHigh { value } => {
                self.begins_high |= self.is_stale.is_none();
                self.wraps += i64::from(self.is_stale == Some(true));
                self.is_stale = Some(false);
                if self.readings.len() < READINGS_MAX {
                    self.readings.push(value.cast_signed() - self.wraps);
                }
            }
            _ => {}
        }
    }

    /// Takes those of the part after this one.
    pub fn merge(&mut self, next: Highs) {
        let before = self.wraps + i64::from(next.begins_high && self.is_stale == Some(true));
        let room = READINGS_MAX.saturating_sub(self.readings.len());
        self.readings.extend(next.readings.into_iter().take(room).map(|reading| reading - before));
        self.begins_high |= self.is_stale.is_none() && next.begins_high;
        self.is_stale = next.is_stale.or(self.is_stale);
        self.wraps = before + next.wraps;
    }

    /// The high bits at the start; 0 if no packet has them. -1: the first packet says that they have changed, to 0.
    pub fn at_start(&self) -> i64 {
        let Some((&first, later)) = self.readings.split_first() else { return 0 };
        // Later ones are larger after a silence, and smaller after a restart. A first one with which none agrees is damaged if others agree
        // on less, or if it is the larger one of two.
        let other = match later {
            [next, ..] if *next == first => None,
            [next] => Some(*next),
            _ => later.windows(2).find(|pair| pair[0] == pair[1]).map(|pair| pair[0]),
        };
        other.filter(|other| (0..first).contains(other)).unwrap_or(first)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(packets: &[(u64, bool)]) -> Vec<Packet> {
        let low = |has_wrapped| Packet::GlobalLow { value: 0, bits: 26, has_wrapped, clock_changed: false };
        packets.iter().flat_map(|&(value, has_wrapped)| [low(has_wrapped), Packet::GlobalHigh { value }]).collect()
    }

    #[test]
    fn damage_silence_and_restarts_do_not_move_the_start() {
        let cases: [(&[(u64, bool)], i64); 9] = [
            (&[], 0),
            (&[(7, false)], 7),
            (&[(7, true), (8, true), (8, false)], 6),
            (&[(0, true), (0, false), (1, true)], -1),
            // The first is damaged, the second, there is silence, a restart.
            (&[(1 << 37, false), (8, true), (9, true)], 7),
            (&[(7, false), (1 << 37, true), (9, true)], 7),
            (&[(7, false), (20, true), (21, true)], 7),
            (&[(7, false), (7, false), (0, false), (0, false)], 7),
            (&[(1 << 30, false), (8, true)], 7),
        ];
        for (packets, expected) in cases {
            let packets = of(packets);
            for cut in 0..=packets.len() {
                let (mut parts, mut joined) = ([Highs::default(), Highs::default()], Highs::default());
                packets.iter().enumerate().for_each(|(index, packet)| parts[usize::from(index >= cut)].add(*packet));
                parts.into_iter().for_each(|part| joined.merge(part));
                assert_eq!(joined.at_start(), expected, "{packets:?}, cut at {cut}");
            }
        }
    }
}
