//! The time of each packet, from a tick count of 16 bits and a timer within the tick.
//!
//! The tick count is incremented a little after the tick itself, so packets in between still have the old count: they
//! are *late*, and their time is one tick more. The tick hook runs before the increment, so it is always late. Which packets
//! before it are late is visible in the timer, which starts again at the tick.

use std::ops::Range;

use super::super::record::{Packet, id};
use super::super::timer::Timer;
use crate::model::{Nanos, Rate, Ticks};

/// The largest step forward of the tick count that is always accepted if the next count continues from it.
const STEP_TICKS: i64 = 64;

/// A fall by this much or less means that the count before was wrong: a wrap without any event in between is less likely.
const FALSE_STEP_TICKS: i64 = 1024;

/// The largest valid step back of the tick count: events of interrupts, sent between the bytes of other packets.
const BACK_TICKS: i64 = 4;

/// With a shorter period, late packets cannot be recognised.
const LEAST_PERIOD: u32 = 8;

/// How the time of a packet was determined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeStatus {
    /// As recorded.
    AsRecorded,
    /// The timer was corrected.
    TornTimer,
    /// The tick count was corrected.
    TornTick,
    /// The time of the packet before was used.
    Held,
    /// The tick count before was wrong.
    FalseStep,
    /// The target was reset.
    Restart,
    /// The time contradicts its neighbours: the packet is damaged.
    Implausible,
}

/// The clock of one input.
#[derive(Clone, Debug)]
pub struct Clock {
    timer: Timer,
    rate: Rate,
    /// Nanoseconds by counts since the tick.
    nanos: Vec<u32>,
    /// The largest valid step back in time: a fiftieth of a tick, in nanoseconds.
    slack_ns: u64,
    /// The tick count of the current run of packets with equal counts, as recorded.
    tick: Option<u16>,
    /// The same, unwrapped.
    ticks: u64,
    /// The times of this tick and of the next one, in nanoseconds.
    tick_ns: [u64; 2],
    /// The packets of the run that are late, by number.
    late: Range<u64>,
    /// The number of the first packet of the run that has not been inspected.
    scanned: u64,
    /// Whether the last packet was a tick hook.
    after_hook: bool,
    /// The timer of the last packet, corrected.
    last_timer: u16,
    last_ns: u64,
}

impl Clock {
    pub fn new(timer: Timer) -> Clock {
        let rate = Rate::from_hz((timer.tick_hz * 1e6).round() as u64, 1_000_000).unwrap_or(Rate::NANOSECOND);
        let slack_ns = (1e9 / timer.tick_hz / 50.0) as u64;
        let nanos = timer.nanos_table();
        Clock {
            timer,
            rate,
            nanos,
            slack_ns,
            tick: None,
            ticks: 0,
            tick_ns: [0; 2],
            late: 0..0,
            scanned: 0,
            after_hook: false,
            last_timer: 0,
            last_ns: 0,
        }
    }

    pub fn last_ns(&self) -> u64 {
        self.last_ns
    }

    /// The time of the hook `packets[index]`, whose number in the input is `number`. At most
    /// [`HEADROOM`](super::super::decode::HEADROOM) packets after it are inspected. `may_restart`: the packet ids of the stream may have restarted.
    #[inline]
    pub fn time(&mut self, packets: &[Packet], index: usize, number: u64, may_restart: bool) -> (u64, TimeStatus) {
        let packet = &packets[index];
        let mut status = TimeStatus::AsRecorded;
        let continues = self.tick == Some(packet.tick);
        if !continues {
            status = self.advance(packets, index, number, may_restart);
            if matches!(status, TimeStatus::Implausible | TimeStatus::Held) {
                return (self.last_ns, status);
            }
        } else if number >= self.scanned {
            self.after_hook = false;
            self.find_late(packets, index, number);
        }
        let mut timer = packet.timer;
        if continues && let Some(torn) = self.torn(packets, index) {
            timer = torn;
            status = TimeStatus::TornTimer;
        }
        self.last_timer = timer;
        self.after_hook = packet.id == id::TASK_INCREMENT_TICK;
        let since = u64::from(self.nanos[self.timer.since_tick(timer) as usize]);
        let is_late = self.late.contains(&number);
        let mut time = self.tick_ns[usize::from(is_late)] + since;
        if time < self.last_ns {
            let next = self.tick_ns[1] + since;
            if time + self.slack_ns < self.last_ns {
                if !is_late && next >= self.last_ns {
                    time = next;
                } else {
                    status = TimeStatus::Held;
                }
            }
            time = time.max(self.last_ns);
        }
        self.last_ns = time;
        (time, status)
    }

    /// The time of an error packet, which does not move the clock.
    pub fn error_time(&self, packet: &Packet) -> u64 {
        let Some(tick) = self.tick else { return self.last_ns };
        let ticks = self.ticks.saturating_add_signed(self.difference(packet.tick, tick));
        let since = self.nanos[self.timer.since_tick(packet.timer) as usize];
        self.nanos_of(ticks).saturating_add(u64::from(since))
    }

    fn nanos_of(&self, ticks: u64) -> u64 {
        self.rate.to_nanos(Ticks(ticks)).unwrap_or(Nanos::MAX).0
    }

    /// The difference from `before` to `tick`, modulo the number of values; the one nearer to 0.
    fn difference(&self, tick: u16, before: u16) -> i64 {
        let modulus = i64::from(self.timer.tick_modulus);
        let forward = (i64::from(tick) - i64::from(before)).rem_euclid(modulus);
        if forward * 2 >= modulus { forward - modulus } else { forward }
    }

    /// Advances to a packet with another tick count.
    fn advance(&mut self, packets: &[Packet], index: usize, number: u64, may_restart: bool) -> TimeStatus {
        let tick = packets[index].tick;
        let Some(before) = self.tick else {
            let mut following = packets.iter().skip(index + 1).filter(|packet| packet.is_hook()).map(|packet| packet.tick);
            if let (Some(one), Some(two)) = (following.next(), following.next())
                && self.difference(two, one).abs() <= STEP_TICKS
                && self.difference(one, tick).abs() > STEP_TICKS
                && one != tick
            {
                return TimeStatus::Implausible;
            }
            self.begin_run(tick, u64::from(tick), packets, index, number);
            return TimeStatus::AsRecorded;
        };
        let difference = self.difference(tick, before);
        if difference == 1 {
            self.begin_run(tick, self.ticks.saturating_add_signed(difference), packets, index, number);
            return TimeStatus::AsRecorded;
        }
        self.jump(difference, before, packets, index, number, may_restart)
    }

    #[cold]
    fn jump(
        &mut self,
        difference: i64,
        before: u16,
        packets: &[Packet],
        index: usize,
        number: u64,
        may_restart: bool,
    ) -> TimeStatus {
        let tick = packets[index].tick;
        let following = packets.iter().skip(index + 1).filter(|packet| packet.is_hook());
        let near = -BACK_TICKS..=STEP_TICKS;
        let to_next = following.clone().next().map(|packet| self.difference(packet.tick, before));
        // The next one continues from the one before, and this one is after both.
        let is_outlier =
            |to_next: &i64| near.contains(to_next) && (!near.contains(&difference) || difference > (*to_next).max(0) + 1);
        if let Some(to_next) = to_next.filter(is_outlier) {
            // The halves of the count may have been read before and after a carry into the high byte.
            let torn = [tick.wrapping_add(256), tick.wrapping_sub(256)];
            let torn = torn.into_iter().find(|&torn| (0..=to_next.max(0)).contains(&self.difference(torn, before)));
            let Some(torn) = torn else { return TimeStatus::Implausible };
            let ticks = self.ticks.saturating_add_signed(self.difference(torn, before));
            if torn != before {
                self.begin_run(torn, ticks, packets, index, number);
                self.scanned = number + 1;
            }
            return TimeStatus::TornTick;
        }
        if (-BACK_TICKS..0).contains(&difference) {
            return TimeStatus::Held;
        }
        if difference < 0 && may_restart && following.take(32).any(|packet| packet.id == id::TASK_CREATE) {
            // At least one tick later than all packets before.
            self.last_ns = self.last_ns.max(self.tick_ns[1]);
            self.begin_run(tick, self.ticks + 2, packets, index, number);
            return TimeStatus::Restart;
        }
        if (-FALSE_STEP_TICKS..0).contains(&difference) {
            self.begin_run(tick, self.ticks.saturating_add_signed(difference), packets, index, number);
            return TimeStatus::FalseStep;
        }
        // Time does not go back: the count wrapped.
        let modulus = i64::from(self.timer.tick_modulus);
        let forward = if difference < 0 { difference + modulus } else { difference };
        self.begin_run(tick, self.ticks.saturating_add_signed(forward), packets, index, number);
        TimeStatus::AsRecorded
    }

    fn begin_run(&mut self, tick: u16, ticks: u64, packets: &[Packet], index: usize, number: u64) {
        let follows = self.tick.is_some() && ticks == self.ticks + 1;
        self.after_hook &= follows;
        self.tick_ns = [if follows { self.tick_ns[1] } else { self.nanos_of(ticks) }, self.nanos_of(ticks.saturating_add(1))];
        self.tick = Some(tick);
        self.ticks = ticks;
        self.find_late(packets, index, number);
    }

    /// Finds the late packets of the current run: those from the tick to the last tick hook soon after it.
    fn find_late(&mut self, packets: &[Packet], index: usize, number: u64) {
        let tick = packets[index].tick;
        let run = packets.get(index..).unwrap_or(&[]);
        let run = run.get(..super::super::decode::HEADROOM).unwrap_or(run);
        let (half, step) = (self.timer.period / 2, self.timer.period * 3 / 10);
        let has_timer = self.timer.period >= LEAST_PERIOD;
        let start = number;
        self.late = start..start;
        self.scanned = start;
        // Where the timer began to rise without a jump, and the first tick hook since then.
        let (mut rise, mut first_hook) = (number, None);
        let mut before = None;
        for (packet, number) in run.iter().zip(number..) {
            if !packet.is_hook() {
                continue;
            }
            if packet.tick != tick {
                break;
            }
            self.scanned = number + 1;
            let since = self.timer.since_tick(packet.timer);
            let rises = before.is_none_or(|before| since >= before && since - before < step);
            before = Some(since);
            if !rises || !has_timer {
                (rise, first_hook) = (number, None);
            }
            if packet.id == id::TASK_INCREMENT_TICK && since <= half {
                let first_hook = *first_hook.get_or_insert(number);
                // Right after the hook of the tick before, the rising packets are the first events of this tick.
                let begins_tick = self.after_hook && rise == start;
                let first = if begins_tick { first_hook } else { rise };
                // After a late packet, all are late until the count is incremented.
                self.late = if self.late.is_empty() { first } else { self.late.start }..number + 1;
            }
        }
    }

    /// The correct timer of a packet whose timer was torn: its halves were read before and after a carry into the high byte.
    #[inline]
    fn torn(&self, packets: &[Packet], index: usize) -> Option<u16> {
        let packet = &packets[index];
        let next = packets.get(index + 1)?;
        if self.timer.period <= 256 || next.tick != packet.tick || !next.is_hook() {
            return None;
        }
        let (before, after) = (self.timer.since_tick(self.last_timer), self.timer.since_tick(next.timer));
        let fits = |timer: u16| u32::from(timer) < self.timer.period && (before..=after).contains(&self.timer.since_tick(timer));
        if before > after || fits(packet.timer) {
            return None;
        }
        [packet.timer.wrapping_add(256), packet.timer.wrapping_sub(256)].into_iter().find(|&timer| fits(timer))
    }
}
