//! Whether the count in an overflow packet is believed, and how many packets it says were dropped.
//!
//! The count goes up by the packets that were dropped since the overflow before. Overflows come when more happens than usual, so a count may be
//! higher than the usual traffic allows, but not higher than any program can be fast. Damage makes up counts too: one that is not believed
//! still says that a packet was dropped if the next packet follows as it does after an overflow, and later ones are compared with the last one
//! that was believed.

use super::super::packet::{CONFIRMED_BY, Framing, Packet, Reading, read_any};
use super::super::scan::Init;
use super::InputResolver;

/// A target does not drop as many packets before it can send again: a counter that advances by this, or goes back, is damaged.
const DROPS_LIMIT: u32 = 1 << 24;

/// No target drops a packet in fewer cycles of its processor.
const LEAST_CYCLES: u64 = 16;

/// The packet that found room again follows its overflow packet within this number of cycles.
const FOLLOWS_CYCLES: u64 = 512;

/// How an overflow packet looks where it is.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Place {
    /// Whether it may be made up by damage beside it.
    is_doubtful: bool,
    /// Whether it is there twice, with its count, or made up by damage that is counted.
    is_copied: bool,
    /// Whether the next packet follows at once, as the one that found room does.
    is_followed: bool,
    /// How many packets there may have been since the one before.
    room: u64,
}

/// What an overflow packet says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// This number of packets was counted since the last one.
    Counted(u32),
    /// Packets were dropped, but not as many as it says.
    Odd,
    /// It says nothing: it was sent once and is there twice, another one beside the same damage has said that packets were dropped, or neither
    /// its count nor the packet after it shows that it is an overflow at all.
    Void,
}

/// The drop counter of an input.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Drops {
    /// The last count that was believed. `None`: packets may have been dropped before the recording began.
    believed: Option<u32>,
    /// The last count, if it was not.
    odd: Option<u32>,
    /// How many packets there may have been in all overflows since the one that was believed.
    room: u64,
    /// Whether an overflow packet beside the present damage was taken for a loss: damage makes up several of one packet.
    is_told: bool,
    /// The present packet's place.
    place: Place,
}

impl Drops {
    /// Those of a target that has just started.
    pub(super) fn from_zero() -> Drops {
        Drops { believed: Some(0), ..Drops::default() }
    }

    /// Those of a recording that begins in the middle. Until packets follow each other, what looks like an overflow says nothing.
    pub(super) fn midway() -> Drops {
        Drops { is_told: true, ..Drops::default() }
    }

    /// Damage is here.
    pub(super) fn note_damage(&mut self) {
        self.is_told = false;
    }

    /// Judges the count of the packet that was placed last.
    pub(super) fn judge(&mut self, count: u32) -> Verdict {
        let Place { is_doubtful, is_copied, is_followed, room } = self.place;
        let all_room = self.room.saturating_add(room);
        let since = |last: u32, room: u64| {
            let added = count.wrapping_sub(last);
            (added < DROPS_LIMIT && u64::from(added) <= room).then_some(added)
        };
        if is_copied {
            return Verdict::Void;
        }
        // Two odd counts that follow from each other show that an earlier one, or none, was wrong.
        let from_odd = || self.odd.and_then(|odd| since(odd, room));
        let from_believed = || self.believed.map_or(Some(0), |believed| since(believed, all_room));
        match from_believed().or_else(from_odd).filter(|_| !is_doubtful) {
            Some(added) => {
                (self.believed, self.odd, self.room) = (Some(count), None, 0);
                Verdict::Counted(added)
            }
            None => {
                (self.odd, self.room) = (Some(count), all_room);
                let was_told = std::mem::replace(&mut self.is_told, is_doubtful);
                if is_doubtful && was_told || !is_followed { Verdict::Void } else { Verdict::Odd }
            }
        }
    }
}

impl InputResolver {
    /// Looks around an overflow packet from `start` to `end`.
    #[cold]
    pub(super) fn place_overflow(&mut self, packet: &Packet, bytes: &[u8], start: usize, end: usize) {
        let is_near = self.since_damage <= CONFIRMED_BY as u64;
        let is_beside = is_near || Framing::new(self.reading).is_before_damage(bytes, end);
        let is_made_up = self.made_up_overflows.binary_search(&(start as u64)).is_ok();
        let is_doubtful = is_beside || is_made_up;
        // Beside damage it may be made of the pieces of two packets: then the copy begins in it.
        let is_copied =
            self.copies.is_within(bytes, start as u64) || is_beside && (is_made_up || self.copies.is_within(bytes, end as u64));
        let usual = self.close_ticks.map_or(u64::MAX, |close| packet.delta / close);
        let is_followed = follows_at_once(self.reading, self.init, bytes, end);
        let room = if is_followed { usual.max(fastest(self.init, packet.delta)) } else { usual };
        self.drops.is_told &= is_near;
        self.drops.place = Place { is_doubtful, is_copied, is_followed, room };
    }
}

/// The cycles of the processor in some ticks.
fn cycles(init: Init, ticks: u64) -> u64 {
    let (sys, cpu) = (u64::from(init.sys_freq), u64::from(init.cpu_freq));
    match cpu > sys && sys > 0 {
        true => ticks.saturating_mul(cpu) / sys,
        false => ticks,
    }
}

/// How many packets any program can have sent in these ticks.
fn fastest(init: Init, ticks: u64) -> u64 {
    cycles(init, ticks + 1) / LEAST_CYCLES
}

/// Whether the next packet comes right after the one that ends at `at`, as the packet that found room again does.
fn follows_at_once(reading: Reading, init: Init, bytes: &[u8], mut at: usize) -> bool {
    // There may be the header of a block between.
    for _ in 0..2 {
        let Some(packet) = read_any(reading, bytes, at) else { return false };
        if packet.has_time() {
            return cycles(init, packet.delta.saturating_sub(1)) <= FOLLOWS_CYCLES;
        }
        at += usize::from(packet.bytes);
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(drops: &mut Drops, count: u32, room: u64, is_doubtful: bool) -> Verdict {
        drops.place = Place { is_doubtful, is_copied: false, is_followed: true, room };
        drops.judge(count)
    }

    #[test]
    fn one_odd_count_does_not_spoil_the_later_ones() {
        let mut drops = Drops::from_zero();
        assert_eq!(judged(&mut drops, 10, 100, false), Verdict::Counted(10));
        assert_eq!(judged(&mut drops, 5_000, 100, false), Verdict::Odd);
        assert_eq!(judged(&mut drops, 15, 100, false), Verdict::Counted(5));
        // One that goes back, or is beside damage.
        assert_eq!(judged(&mut drops, 3, 100, false), Verdict::Odd);
        assert_eq!(judged(&mut drops, 20, 100, true), Verdict::Odd);
        assert_eq!(judged(&mut drops, 21, 100, true), Verdict::Void);
        drops.note_damage();
        assert_eq!(judged(&mut drops, 22, 100, true), Verdict::Odd);
        assert_eq!(judged(&mut drops, 25, 100, false), Verdict::Counted(10));
        let mut drops = Drops::from_zero();
        assert_eq!(judged(&mut drops, 70_000, 100, false), Verdict::Odd);
        assert_eq!(judged(&mut drops, 70_009, 100, false), Verdict::Counted(9));
        assert_eq!(judged(&mut drops, 70_011, 100, false), Verdict::Counted(2));
    }

    #[test]
    fn what_was_dropped_before_the_recording_began_is_not_counted() {
        let mut drops = Drops::midway();
        // The first packets may be made of the middle of a packet.
        assert_eq!(judged(&mut drops, 3, 100, true), Verdict::Void);
        assert_eq!(judged(&mut drops, 57, 100, false), Verdict::Counted(0));
        assert_eq!(judged(&mut drops, 59, 100, false), Verdict::Counted(2));
    }

    #[test]
    fn an_odd_count_that_no_packet_follows_at_once_is_no_overflow() {
        let mut drops = Drops { place: Place { room: 10, ..Place::default() }, ..Drops::from_zero() };
        assert_eq!((drops.judge(19_996), drops.judge(116), drops.judge(9)), (Verdict::Void, Verdict::Void, Verdict::Counted(9)));
    }

    #[test]
    fn a_processor_limits_what_it_can_drop() {
        let init = Init { sys_freq: 1_000_000, cpu_freq: 160_000_000, ..Init::default() };
        assert_eq!(fastest(init, 9), 100);
        assert_eq!(fastest(Init { sys_freq: 160_000_000, ..init }, 159), 10);
        assert_eq!(fastest(Init::default(), 1599), 100);
        assert_eq!(fastest(init, u32::MAX.into()), (1u64 << 32) * 10);
    }
}
