//! Packets that are numbered modulo 256, in file order: how many are missing, at least.
//!
//! A number that is not the next one means that packets are missing, unless the packets that follow contradict it. Then the number is
//! damaged, or its packet was moved, repeated, or made up by damage, and nothing is missing there. A number that comes twice counts nothing,
//! unless as much time passed before it as 255 packets take.

/// A damaged number, or a packet that is not one, does not reach further than this number of packets.
const NEAR: usize = 4;
/// How many packets are looked at ahead.
pub const LOOKAHEAD: usize = 256;

/// By how much the numbers are ahead of those that are accounted for.
#[derive(Clone, Copy, Debug, Default)]
pub struct Excess {
    numbers: u8,
    is_disordered: bool,
    /// The place of the last break, in packets.
    since: Option<u64>,
}

/// A number that is not the next one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Break {
    /// How many packets are missing before it, at least.
    pub missing: u8,
    excess: u8,
    /// Whether it is among moved pieces.
    is_disordered: bool,
}

impl Break {
    /// Whether the number is damaged: nothing is missing, nor was anything moved.
    #[must_use]
    pub fn is_damaged(&self) -> bool {
        self.missing == 0 && !self.is_disordered
    }

    /// The same where something else than missing packets explains it.
    #[must_use]
    pub fn unproven(self) -> Break {
        Break { missing: 0, excess: self.excess.wrapping_add(self.missing), is_disordered: true }
    }
}

impl Excess {
    /// Weighs a break at a place. `jump`: how many numbers were skipped, modulo 256; `following`: the same for the packets that follow, 0
    /// for each that follows the one before it. `is_disordered`: pieces near here may have been moved, as the times show. `is_long`: so much
    /// time passed that 255 packets may be missing.
    pub fn weigh(self, jump: u8, place: u64, following: impl Iterator<Item = u8>, is_disordered: bool, is_long: bool) -> Break {
        let (own, distance) = (jump, self.since.map(|since| place.saturating_sub(since)));
        let holds = distance.is_some_and(|distance| distance <= LOOKAHEAD as u64);
        let jump = jump.wrapping_add(if holds { self.numbers } else { 0 });
        let is_disordered = is_disordered || holds && self.is_disordered;
        let is_surplus = |jump: u8, packets: usize| usize::from(jump.wrapping_neg()) <= packets.min(NEAR);
        if distance.is_some_and(|distance| is_surplus(jump, distance.try_into().unwrap_or(usize::MAX)) && distance <= NEAR as u64)
        {
            return Break { missing: 0, excess: 0, is_disordered };
        }
        let (mut now, mut missing) = (jump, if jump == u8::MAX && !is_long { 0 } else { jump });
        for (after, step) in (1..=if is_disordered { LOOKAHEAD } else { NEAR }).zip(following) {
            now = now.wrapping_add(step);
            missing = if now != jump && is_surplus(now, after) { 0 } else { missing.min(now) };
            if missing == 0 {
                break;
            }
        }
        // That it is more than was skipped here is only so if the numbers before were right.
        let missing = missing.min(own);
        Break { missing, excess: jump.wrapping_sub(missing), is_disordered }
    }

    /// The packet at a place was weighed and is there.
    pub fn pass(&mut self, weighed: Break, place: u64) {
        let Break { excess: numbers, is_disordered, .. } = weighed;
        *self = Excess { numbers, is_disordered, since: Some(place) };
    }

    /// The packet at a place repeats an earlier one: its number counts nothing. `jump` as for [`Excess::weigh`].
    pub fn repeat(&mut self, jump: u8, place: u64) {
        *self = Excess { numbers: self.numbers.wrapping_add(jump).wrapping_add(1), since: Some(place), ..*self };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many packets are said to be missing from a recording that has these numbers.
    fn missing(numbers: &[u8], is_disordered: bool) -> u64 {
        let jumps: Vec<u8> = numbers.windows(2).map(|pair| pair[1].wrapping_sub(pair[0]).wrapping_sub(1)).collect();
        let mut excess = Excess::default();
        let mut sum = 0;
        for (place, &jump) in jumps.iter().enumerate().filter(|jump| *jump.1 != 0) {
            let weighed = excess.weigh(jump, place as u64, jumps[place + 1..].iter().copied(), is_disordered, false);
            excess.pass(weighed, place as u64);
            sum += u64::from(weighed.missing);
        }
        sum
    }

    fn whole() -> Vec<u8> {
        (0..2000u32).map(|number| number as u8).collect()
    }

    #[test]
    fn a_gap_is_counted() {
        for gap in [1, 5, 127, 128, 200, 252, 254] {
            let mut numbers = whole();
            numbers.drain(700..700 + gap);
            assert_eq!(missing(&numbers, false), gap as u64);
        }
    }

    #[test]
    fn a_number_that_comes_again_is_a_gap_of_255_if_that_takes_the_time() {
        let weigh =
            |following: [u8; 4], is_long| Excess::default().weigh(255, 700, following.into_iter(), false, is_long).missing;
        assert_eq!(weigh([0; 4], true), 255);
        assert_eq!(weigh([0; 4], false), 0);
        // The number is damaged, or its packet comes from elsewhere.
        assert_eq!(weigh([1, 0, 0, 0], true), 0);
        assert_eq!(weigh([3, 254, 0, 0], true), 0);
    }

    #[test]
    fn each_gap_of_many_is_counted() {
        let numbers: Vec<u8> = (0..20_000u32).filter(|number| number % 30 < 17).map(|number| number as u8).collect();
        assert_eq!(missing(&numbers, false), 13 * 666);
    }

    #[test]
    fn a_damaged_number_says_nothing() {
        for bit in 0..8 {
            let mut numbers = whole();
            numbers[700] ^= 1 << bit;
            assert_eq!(missing(&numbers, false), 0, "bit {bit}");
        }
    }

    /// Of packets that were moved from elsewhere more are missing than of those after them.
    #[test]
    fn a_gap_is_no_longer_than_the_numbers_skipped_there() {
        let mut excess = Excess::default();
        excess.pass(excess.weigh(200, 700, [0; 4].into_iter(), false, false).unproven(), 700);
        assert_eq!(excess.weigh(3, 720, [0; 4].into_iter(), false, false).missing, 3);
        let moved = excess.weigh(56, 720, [0; 4].into_iter(), false, false);
        assert_eq!((moved.missing, moved.is_damaged()), (0, false));
    }

    #[test]
    fn a_packet_made_up_by_damage_says_nothing() {
        for number in 0..=255 {
            let mut numbers = whole();
            numbers.insert(700, number);
            assert_eq!(missing(&numbers, false), 0, "{number}");
        }
    }

    #[test]
    fn swapped_pieces_are_not_missing() {
        for (one, two) in [(60, 60), (100, 100), (140, 20), (20, 140), (60, 140), (120, 130)] {
            let mut numbers = whole();
            numbers[700..700 + one + two].rotate_left(one);
            assert_eq!(missing(&numbers, true), 0, "{one} and {two}");
        }
    }
}
