//! The global time, where no local time stamps are recorded: one counter, whose low bits come in each of its time stamps and whose high
//! bits come if they have changed.

use std::collections::VecDeque;

use super::Certain;
use crate::clock::{Domain, Judge, LOOKAHEAD, Stamp, Verdict};
use crate::frame::swo::Packet;
use crate::model::{Ledger, Rate, losses};

/// The bits of the counter that its packets of low bits have.
pub(super) const LOW_BITS: u32 = 26;
const LOW_MASK: u32 = (1 << LOW_BITS) - 1;

/// Of this number of time stamps one after the other, at most one is damaged.
const ALIKE: usize = 4;

/// How much a whole time stamp that goes back speaks for a counter that began again, in bits: few time stamps are whole, but the first one is.
/// It may be damaged, unless this number of others follow it.
const WHOLE_BITS: u8 = 60;
const CERTAIN_BITS: u8 = 120;
const FOLLOWED_BY: usize = 2;

/// The counter.
pub(super) struct Global {
    judge: Judge,
    /// The time stamps that are not judged yet, and the number of packets that each is for.
    waiting: VecDeque<(Stamp, u64)>,
    low: u32,
    /// The high bits.
    high: u64,
    /// How often the next packets say that the high bits have changed although they have not.
    unchanged: u64,
    /// They have changed, and follow.
    is_stale: bool,
    /// The last packet of low bits has all of them.
    is_whole: bool,
    /// How far their first packet is from them, and how many packets agree with it.
    first: Option<(u64, u32)>,
    /// How far the last packet of high bits was from the count. If the next one is as far, the count is wrong.
    suspect: Option<i64>,
    /// The ticks before the counter began again.
    before: u64,
    is_damaged: bool,
    /// Whether the last packet of high bits was not believed.
    pub is_refused: bool,
}

impl Global {
    /// A counter whose high bits are these at the start; below 0: the next packet says wrongly that they have changed.
    pub fn new(high: i64) -> Global {
        Global {
            judge: Judge::new(Domain::plain()),
            waiting: VecDeque::new(),
            low: 0,
            high: high.max(0).cast_unsigned(),
            unchanged: high.min(0).unsigned_abs(),
            is_stale: false,
            is_whole: false,
            first: None,
            suspect: None,
            before: 0,
            is_damaged: false,
            is_refused: false,
        }
    }

    /// Takes a packet of the counter at this offset; `packets` wait for it. Whether it is their time stamp.
    pub fn take(&mut self, packet: Packet, offset: u64, packets: u64) -> bool {
        match packet {
            Packet::GlobalLow { value, bits, has_wrapped, .. } => {
                let mask = 1u32.checked_shl(u32::from(bits)).unwrap_or(0).wrapping_sub(1);
                self.low = self.low & !mask | value & LOW_MASK;
                self.is_stale = has_wrapped;
                self.is_whole = u32::from(bits) == LOW_BITS;
                if has_wrapped {
                    return false;
                }
            }
            Packet::GlobalHigh { value } => {
                let was_stale = std::mem::take(&mut self.is_stale);
                self.take_high(value, was_stale);
                if !was_stale {
                    let before = self.waiting.iter().rev().nth(1).map_or(self.judge.last(), |(before, _)| before.raw);
                    if let Some((last, _)) = self.waiting.back_mut() {
                        last.raw = self.high << LOW_BITS | last.raw & u64::from(LOW_MASK);
                        last.restart_bits = if self.is_whole && last.raw < before { WHOLE_BITS } else { 0 };
                    }
                    return false;
                }
            }
            _ => return false,
        }
        let raw = self.high << LOW_BITS | u64::from(self.low);
        self.waiting.push_back((Stamp { raw, offset, ..Stamp::default() }, packets));
        self.recognise_wrap();
        self.recognise_restart();
        true
    }

    /// Whether the last time stamps follow a whole one that went back, and have not come to where the counter was before.
    fn recognise_restart(&mut self) {
        let Some(index) = self.waiting.len().checked_sub(1 + FOLLOWED_BY) else { return };
        let raw = |index: usize| self.waiting.get(index).map_or(0, |(stamp, _)| stamp.raw);
        let before = index.checked_sub(1).map_or(self.judge.last(), raw);
        let follows = (index..index + FOLLOWED_BY).all(|index| (raw(index)..before).contains(&raw(index + 1)));
        if let Some((stamp, _)) = self.waiting.get_mut(index).filter(|(stamp, _)| follows && stamp.restart_bits > 0) {
            stamp.restart_bits = CERTAIN_BITS;
        }
    }

    /// Counts a wrap whose high bits are missing: the last time stamps are nearly the whole range of low bits before those before.
    fn recognise_wrap(&mut self) {
        let count = self.waiting.len();
        let Some(start) = count.checked_sub(2 * ALIKE) else { return };
        let (before, after) = (start..start + ALIKE, start + ALIKE..count);
        let raw = |index: usize| self.waiting.get(index).map_or(0, |(stamp, _)| stamp.raw);
        let is_after = |late: usize| {
            before.clone().filter(|early| raw(late).saturating_add(1 << LOW_BITS >> 1) < raw(*early)).count() + 1 >= ALIKE
        };
        let begins_again = self.waiting.range(start..).any(|(stamp, _)| stamp.restart_bits > 0);
        if begins_again || after.clone().filter(|late| is_after(*late)).count() + 1 < ALIKE {
            return;
        }
        self.high += 1;
        for (stamp, _) in self.waiting.range_mut(after) {
            stamp.raw = stamp.raw.saturating_add(1 << LOW_BITS);
        }
    }

    fn take_high(&mut self, value: u64, was_stale: bool) {
        let is_change = was_stale && self.unchanged == 0;
        self.unchanged = self.unchanged.saturating_sub(u64::from(was_stale));
        let expected = self.high + u64::from(is_change);
        self.high = expected;
        let Some((first, support)) = self.first else {
            self.first = Some((value.wrapping_sub(expected), 1));
            return;
        };
        let more = value.wrapping_sub(first).wrapping_sub(expected) as i64;
        let is_confirmed = self.suspect.replace(more) == Some(more);
        // Damage hardly makes up lower high bits right after all low bits.
        let may_be_flip = self.is_damaged || (value ^ first.wrapping_add(expected)).is_power_of_two();
        let begins_again = more < 0 && !was_stale && self.is_whole && !may_be_flip;
        if more == 0 {
            self.first = Some((first, support.saturating_add(1)));
        } else if is_confirmed && (more < 0 || support == 1) {
            // The counter began again, or its first high bits were damaged.
            self.first = Some((first.wrapping_add_signed(more), 2));
            self.suspect = None;
        } else if is_confirmed || begins_again || more > 0 && self.is_leap() {
            // Silence, or the counter began again.
            self.high = self.high.saturating_add_signed(more) & (u64::MAX >> LOW_BITS);
            self.suspect = None;
        } else {
            self.is_refused = true;
        }
    }

    /// Whether the low bits went further than usual.
    fn is_leap(&self) -> bool {
        let usual = self.judge.usual_step();
        let step = |last: &Stamp| u64::from(self.low.wrapping_sub(last.raw as u32) & LOW_MASK);
        self.waiting.iter().rev().take(ALIKE).all(|(last, _)| step(last) >= usual)
    }

    /// The last time stamp as it is, with all bits, once they are known: where local time stamps are the time base, nothing waits for it.
    pub fn take_reading(&mut self) -> Option<u64> {
        let (stamp, _) = self.waiting.pop_back()?;
        self.first.map(|(high, _)| stamp.raw.wrapping_add(high << LOW_BITS))
    }

    /// Bytes are damaged, or packets were dropped.
    pub fn note_damage(&mut self) {
        self.is_damaged = true;
        self.judge.note_damage();
    }

    /// The next time that is certain, in ticks, and the number of packets that it is for. At the end, all are.
    pub fn next(&mut self, is_last: bool, bytes: &[u8], rate: Rate, ledger: &mut Ledger) -> Option<Certain> {
        if self.waiting.len() <= LOOKAHEAD && !is_last {
            return None;
        }
        let (stamp, packets) = self.waiting.pop_front()?;
        let ahead = self.waiting.iter().map(|(stamp, _)| *stamp);
        if let Some(ticks) = ahead.clone().next().and_then(|next| self.judge.step(stamp.raw, next.raw)) {
            return Some(Certain { ticks: self.before.wrapping_add(ticks), packets, is_restart: false });
        }
        let reached = self.before.wrapping_add(self.judge.reached().unwrap_or(0));
        let judged = self.judge.judge(stamp, ahead, bytes);
        let is_restart = judged.verdict == Verdict::Restarted;
        if is_restart {
            ledger.enter(losses::SESSION_RESTART, stamp.offset, 0);
            self.before = reached.wrapping_sub(judged.ticks);
        }
        self.judge.enter(&judged, stamp.offset, rate, ledger);
        Some(Certain { ticks: self.before.wrapping_add(judged.ticks), packets, is_restart })
    }
}
