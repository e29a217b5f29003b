//! The time of each packet, from a tick count of 16 bits and a timer within the tick.
//!
//! The tick count is incremented a little after the tick itself, so packets in between still have the old count: they
//! are *late*, and their time is one tick more. The tick hook runs before the increment, so it is always late. Which packets
//! before it are late is visible in the timer, which starts again at the tick.

use std::ops::{Range, RangeInclusive};

use super::super::decode::HEADROOM;
use super::super::record::{HEAD_BYTES, Packet, id};
use super::super::timer::Timer;
use crate::clock::{Cause, Domain, Judge, Judged, Stamp, Verdict as Believed};
use crate::model::{Nanos, Rate, Ticks};

/// A small step back of the tick count, in bits: events of interrupts are written between the bytes of others.
const DISORDER_BITS: u32 = 20;

/// Of this number of packets one after the other, not all are damaged.
const NEXT: usize = 3;
/// The packets' numbers begin again below this after a reset: the first packets may have been lost.
const FIRST_NUMBERS: u8 = 64;
/// The evidence for a restart in that, in bits, and in a task that is created within the next packets, and in several that the session has
/// already. The latter is sure, wherever the tick count goes on, because the tracer uses no number of a task twice. A single one might be of a
/// new task, where a tracer does and the packet that deletes the old one is missing.
const NUMBER_BITS: u8 = 25;
const CREATE_BITS: u8 = 45;
const CREATE_AGAIN_BITS: u8 = 135;
const CREATE_WITHIN: usize = 32;
/// How many of the last creations before are compared with it.
const CREATED_MOST: usize = 64;
/// Object lists may come between the reset and the first hook: one of each type, and some of those before.
const LISTS_MOST: usize = 12;

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
    /// The target was reset.
    Restart,
    /// The time contradicts its neighbours: the packet is damaged.
    Implausible,
    /// It contradicts its neighbours, whose numbers prove that the packet is one of them: it has a time between theirs.
    Replaced,
    /// It is a copy of a packet before.
    Repeated,
}

/// The number of a packet, and how many object lists follow it.
#[derive(Clone, Copy)]
pub struct BeforeLists {
    number: u8,
    lists: usize,
}

impl BeforeLists {
    /// Those before the packet at an index. `earlier`: those before the first.
    pub fn of(packets: &[Packet], index: usize, earlier: Option<BeforeLists>) -> Option<BeforeLists> {
        let before = packets.get(..index).unwrap_or(packets);
        let most = before.len().min(LISTS_MOST + 1);
        let lists = before.iter().rev().take(most).take_while(|packet| packet.id == id::OBJECT_LIST).count();
        match before.len().checked_sub(lists + 1) {
            Some(last) => Some(BeforeLists { number: packets[last].packet_id, lists }),
            None => earlier.map(|earlier| BeforeLists { lists: (earlier.lists + lists).min(LISTS_MOST + 1), ..earlier }),
        }
    }

    /// The number of the packet after them, if none is missing; `None` after more lists than are sent together.
    fn next(self) -> Option<u8> {
        (self.lists <= LISTS_MOST).then(|| self.number.wrapping_add(self.lists as u8 + 1))
    }
}

/// A packet and its place.
#[derive(Clone, Copy)]
pub struct At<'a> {
    /// The packets at hand, the one before them, and which of them it is.
    pub packets: &'a [Packet],
    pub previous: Option<&'a Packet>,
    /// The last packet before them that is no object list.
    pub before_lists: Option<BeforeLists>,
    /// The offsets and numbers of the tasks that are created from the session's begin on, except those that are deleted.
    pub created: &'a [(u64, u8)],
    pub index: usize,
    /// Its number in the input.
    pub number: u64,
    /// Where the part starts in the input, and the whole input.
    pub base: u64,
    pub bytes: &'a [u8],
}

impl At<'_> {
    /// The end of the packets that may be read.
    fn end(&self) -> usize {
        self.packets.len().min(self.index + 1 + HEADROOM)
    }

    fn packet(&self) -> &Packet {
        &self.packets[self.index]
    }

    /// Whether the packets before and after it have the numbers before and after its own.
    fn is_numbered(&self) -> bool {
        let before = self.index.checked_sub(1).map_or(self.previous, |before| self.packets.get(before));
        let after = self.packets.get(self.index + 1);
        let number = self.packet().packet_id;
        before.is_some_and(|before| before.packet_id == number.wrapping_sub(1))
            && after.is_some_and(|after| after.packet_id == number.wrapping_add(1))
    }

    /// The tick count of the hook at an index, for the judge.
    fn stamp(&self, index: usize) -> Stamp {
        let (raw, restart_bits) = (u64::from(self.packets[index].tick), self.restart_bits(index));
        Stamp { raw, offset: self.offset(index), restart_bits, ..Stamp::default() }
    }

    /// Where a packet is in the input.
    fn offset(&self, index: usize) -> u64 {
        self.base.wrapping_add_signed(i64::from(self.packets[index].offset.cast_signed()))
    }

    /// The packets from the first on that ends after an offset.
    pub fn after(&self, offset: u64) -> &[Packet] {
        let end_of = |index| self.offset(index) + HEAD_BYTES as u64 + u64::from(self.packets[index].data_len);
        let first = (self.index..self.end()).find(|&index| end_of(index) > offset);
        first.map_or(&[], |first| &self.packets[first..self.end()])
    }

    /// Whether both the number and the packets that follow speak for a reset.
    pub fn restarts(&self, index: usize) -> bool {
        self.restart_bits(index) > NUMBER_BITS
    }

    /// The evidence for a reset before a packet.
    fn restart_bits(&self, index: usize) -> u8 {
        let packet = &self.packets[index];
        if packet.packet_id >= FIRST_NUMBERS {
            return 0;
        }
        let expected = BeforeLists::of(self.packets, index, self.before_lists).and_then(BeforeLists::next);
        if expected.is_none_or(|expected| expected == packet.packet_id) {
            return 0;
        }
        // Never further than all parts see.
        let end = (index + CREATE_WITHIN).min(self.end());
        let following = self.packets.get(index..end).unwrap_or(&[]);
        let creates = following.iter().filter(|packet| packet.id == id::TASK_CREATE);
        let (count, again) =
            creates.fold((0, 0), |(count, again), create| (count + 1, again + usize::from(self.has_task(index, create.data[0]))));
        NUMBER_BITS
            + match (count, again) {
                (0, _) => 0,
                (_, 0..2) => CREATE_BITS,
                _ => CREATE_AGAIN_BITS,
            }
    }

    /// Whether the session has created a task of this number before a packet.
    fn has_task(&self, index: usize, number: u8) -> bool {
        let offset = self.offset(index);
        let before = self.created.partition_point(|created| created.0 < offset);
        self.created.iter().take(before).rev().take(CREATED_MOST).any(|created| created.1 == number)
    }
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
    judge: Judge,
    /// The number of the first packet after damage.
    damaged_from: u64,
    /// Added to the ticks of the present session.
    shift_ticks: u64,
    /// The tick count of the present run of equal ones, as on the wire.
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
    /// The counts from the tick to the last tick hook.
    hook_since: Option<u16>,
    /// The counts since the tick at the last packet, corrected.
    last_since: u16,
    last_ns: u64,
}

impl Clock {
    pub fn new(timer: Timer) -> Clock {
        let rate = Rate::from_hz((timer.tick_hz * 1e6).round() as u64, 1_000_000).unwrap_or(Rate::NANOSECOND);
        let slack_ns = (1e9 / timer.tick_hz / 50.0) as u64;
        let nanos = timer.nanos_table();
        let modulus = Some(u64::from(timer.tick_modulus));
        let judge = Judge::new(Domain { modulus, disorder_bits: DISORDER_BITS, ..Domain::plain() });
        Clock {
            timer,
            rate,
            nanos,
            slack_ns,
            judge,
            damaged_from: u64::MAX,
            shift_ticks: 0,
            tick: None,
            ticks: 0,
            tick_ns: [0; 2],
            late: 0..0,
            scanned: 0,
            after_hook: false,
            hook_since: None,
            last_since: 0,
            last_ns: 0,
        }
    }

    pub fn last_ns(&self) -> u64 {
        self.last_ns
    }

    /// How many hooks from an index on, before `end`, continue the run of equal tick counts without anything odd, and the time of their tick.
    /// The first has the expected number. Their times are those that [`Clock::time`] would give. [`Clock::note_tick_hook`] is to follow for
    /// each tick hook.
    pub fn steady(&mut self, packets: &[Packet], index: usize, end: usize, number: u64) -> Option<(usize, u64)> {
        let (first, next) = (packets.get(index)?, packets.get(index + 1)?);
        if self.tick != Some(first.tick) || number >= self.scanned {
            return None;
        }
        let is_steady = first.is_hook()
            && self.fits_between(first, next)
            && self.stays(first, 0)
            && self.tick_ns[1] < Nanos::MAX.0 - u64::from(u32::MAX);
        // They are late, or they are not.
        let (tick_ns, until) = match number {
            _ if number < self.late.start => (self.tick_ns[0], self.late.start),
            _ if number < self.late.end => (self.tick_ns[1], self.late.end),
            _ => (self.tick_ns[0], self.scanned),
        };
        if !is_steady || tick_ns + self.since_ns(first) < self.last_ns {
            return None;
        }
        let most = usize::try_from(until.min(self.scanned) - number).unwrap_or(usize::MAX);
        let end = end.min(index.saturating_add(most));
        let following = packets.get(index + 1..packets.len().min(end + 1)).unwrap_or(&[]);
        let mut count = following.iter().position(|next| !next.continues).unwrap_or(following.len());
        self.stays(first, count as u64);
        if let Some(before) = count.checked_sub(1).and_then(|before| packets.get(index + before)) {
            self.last_since = before.since_tick;
        }
        // The next packet does not continue the last one, but may have been sent after it, or at the next tick.
        if let (Some(last), Some(next)) = (packets.get(index + count), following.get(count))
            && self.fits_between(last, next)
        {
            let next = if next.is_hook() { next.tick } else { last.tick };
            count += usize::from(self.judge.step(u64::from(last.tick), u64::from(next)).is_some());
        }
        let last = count.checked_sub(1).and_then(|last| packets.get(index + last))?;
        self.last_since = last.since_tick;
        self.last_ns = tick_ns + self.since_ns(last);
        self.after_hook = last.id == id::TASK_INCREMENT_TICK;
        Some((count, tick_ns))
    }

    /// Whether the timer of a hook does not contradict the hooks before it and after it.
    #[inline]
    fn fits_between(&self, packet: &Packet, next: &Packet) -> bool {
        let (before, now, after) = (self.last_since, packet.since_tick, next.since_tick);
        let is_between = u32::from(packet.timer) < self.timer.period && before <= now && now <= after;
        is_between || before > after || next.tick != packet.tick || !next.is_hook()
    }

    /// Whether the judge has nothing to do for this number of hooks with the tick count of one of them.
    #[inline]
    fn stays(&mut self, packet: &Packet, hooks: u64) -> bool {
        self.judge.stays(u64::from(packet.tick), self.ticks.wrapping_sub(self.shift_ticks), hooks)
    }

    /// The time since the tick.
    #[inline]
    pub fn since_ns(&self, packet: &Packet) -> u64 {
        u64::from(self.nanos[usize::from(packet.since_tick)])
    }

    /// Notes a tick hook whose time is known.
    #[inline]
    pub fn note_tick_hook(&mut self, packet: &Packet) {
        self.hook_since = Some(packet.since_tick);
    }

    /// The time of a hook. The packets after it are read, [`HEADROOM`] at most. `may_restart`: its number in the stream begins again.
    pub fn time(&mut self, at: At<'_>, may_restart: bool) -> (u64, TimeStatus) {
        let (packets, index, number) = (at.packets, at.index, at.number);
        let packet = at.packet();
        let raw = u64::from(packet.tick);
        let next = packets.get(index + 1).filter(|next| next.is_hook()).map_or(raw, |next| u64::from(next.tick));
        let mut status = TimeStatus::AsRecorded;
        let stepped = if may_restart { None } else { self.judge.step(raw, next) };
        let ticks = match stepped {
            Some(ticks) => ticks.wrapping_add(self.shift_ticks),
            None => match self.judged(at) {
                (Some(ticks), judged) => {
                    status = judged;
                    ticks
                }
                (None, judged) => return (self.last_ns, judged),
            },
        };
        let is_same = self.tick == Some(packet.tick) || status == TimeStatus::Replaced;
        let continues = is_same && ticks == self.ticks;
        if !continues {
            self.begin_run(ticks, at);
            if matches!(status, TimeStatus::TornTick | TimeStatus::Replaced) {
                self.scanned = number + 1;
            }
        } else if number >= self.scanned {
            self.after_hook = false;
            self.find_late(packets, index, number);
        }
        let mut counts = packet.since_tick;
        if continues && let Some((right, fault)) = self.wrong_timer(packets, index, number) {
            (counts, status) = (right, fault);
        }
        let falls = continues && counts < self.last_since;
        self.last_since = counts;
        self.after_hook = packet.id == id::TASK_INCREMENT_TICK;
        if self.after_hook {
            self.hook_since = Some(counts);
        }
        let since = u64::from(self.nanos[usize::from(counts)]);
        let is_late = self.late.contains(&number);
        let mut time = self.tick_ns[usize::from(is_late)] + since;
        if time < self.last_ns {
            let next = self.tick_ns[1] + since;
            if time + self.slack_ns < self.last_ns {
                // It is late, although no tick hook shows it. If there are tick hooks, the timer must show it.
                if !is_late && next >= self.last_ns && (falls || self.timer.ticks == 0) {
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

    /// See [`Judge::take_doubt`].
    #[inline]
    pub fn take_doubt(&mut self) -> Option<String> {
        self.judge.take_doubt().map(|doubt| doubt.text(self.rate))
    }

    /// Packets are missing before the next hook.
    pub fn note_gap(&mut self) {
        self.judge.note_gap();
    }

    /// Bytes before a packet are damaged: tick counts may be, too.
    pub fn note_damage(&mut self, number: u64) {
        self.damaged_from = self.damaged_from.min(number);
    }

    /// The time of an error packet, which does not move the clock.
    pub fn error_time(&self, packet: &Packet) -> u64 {
        let Some(tick) = self.tick else { return self.last_ns };
        let ticks = self.ticks.saturating_add_signed(self.difference(packet.tick, tick));
        let counts = packet.since_tick;
        // The count is incremented right after the tick hook: until then, it is late.
        let is_late = self.timer.period >= LEAST_PERIOD && self.hook_since.is_some_and(|hook| counts <= hook);
        let ticks = ticks.saturating_add(u64::from(is_late));
        self.nanos_of(ticks).saturating_add(u64::from(self.nanos[usize::from(counts)]))
    }

    fn nanos_of(&self, ticks: u64) -> u64 {
        self.rate.to_nanos(Ticks(ticks)).unwrap_or(Nanos::MAX).0
    }

    /// Whether the tick count goes back among packets, as where pieces were moved.
    pub fn goes_back<'a>(&self, packets: impl Iterator<Item = &'a Packet>) -> bool {
        let mut ticks = packets.filter(|packet| packet.is_hook()).map(|packet| packet.tick);
        let Some(mut before) = ticks.next() else { return false };
        ticks.any(|tick| self.difference(tick, std::mem::replace(&mut before, tick)) < 0)
    }

    /// Whether all of the next packets are before the last one whose tick count was believed: one may be damaged.
    pub fn falls(&self, following: &[Packet]) -> bool {
        let Some(tick) = self.tick else { return false };
        let hooks = following.iter().filter(|packet| packet.is_hook()).take(NEXT);
        hooks.map(|packet| self.difference(packet.tick, tick)).max().is_some_and(|most| most < 0)
    }

    /// Whether half the time of the next 255 packets or more, and several ticks, passed between a packet and those that follow it.
    pub fn is_long(&self, before: Option<&Packet>, following: &[Packet]) -> bool {
        let Some(before) = before.filter(|packet| packet.is_hook()) else { return false };
        let hooks = || following.iter().filter(|packet| packet.is_hook());
        let since = |packet: &Packet| u64::try_from(self.difference(packet.tick, before.tick)).unwrap_or(0);
        // One packet may be damaged.
        let passed = hooks().take(NEXT).map(since).min().unwrap_or(0);
        let (count, span) = (hooks().count() as u64, hooks().next_back().map_or(0, since).saturating_sub(passed));
        passed >= 2 && count >= NEXT as u64 && passed * count * 2 >= span * 255
    }

    /// The difference from `before` to `tick`, modulo the number of values; the one nearer to 0.
    fn difference(&self, tick: u16, before: u16) -> i64 {
        let modulus = i64::from(self.timer.tick_modulus);
        let forward = (i64::from(tick) - i64::from(before)).rem_euclid(modulus);
        if forward * 2 >= modulus { forward - modulus } else { forward }
    }

    /// The slow way: the unwrapped tick count of a packet, or its fault.
    #[cold]
    fn judged(&mut self, at: At<'_>) -> (Option<u64>, TimeStatus) {
        let hooks = (at.index + 1..at.end()).filter(|&index| at.packets[index].is_hook());
        if at.number >= self.damaged_from {
            self.judge.note_damage();
        }
        let before = self.judge.reached();
        let Judged { ticks, verdict, cause, .. } =
            self.judge.judge(at.stamp(at.index), hooks.clone().map(|index| at.stamp(index)), at.bytes);
        match (verdict, cause) {
            (Believed::Believed, _) => (Some(ticks.wrapping_add(self.shift_ticks)), TimeStatus::AsRecorded),
            (Believed::Restarted, _) => {
                // Later than all before, by a tick at least.
                self.last_ns = self.last_ns.max(self.tick_ns[1]);
                self.shift_ticks = (self.ticks + 2).wrapping_sub(ticks);
                (Some(self.ticks + 2), TimeStatus::Restart)
            }
            (_, Cause::Repeated) => (None, TimeStatus::Repeated),
            (Believed::Held, _) => (None, TimeStatus::Held),
            _ => {
                let tick = at.packet().tick;
                let from = before.map(|before| (before % u64::from(self.timer.tick_modulus)) as u16);
                // To the next one. It may be damaged, too: those after it are not before it.
                let ways = hooks.take(NEXT).filter_map(|next| Some(self.difference(at.packets[next].tick, from?)));
                let way = ways.filter(|way| *way >= 0).min();
                // The two halves of the count may have been read before and after it went over a multiple of 256.
                let torn = [tick.wrapping_add(256), tick.wrapping_sub(256)].into_iter().find_map(|torn| {
                    let (from, to_torn) = (before?, self.difference(torn, from?));
                    (0..=way?).contains(&to_torn).then(|| from.wrapping_add(to_torn.unsigned_abs()))
                });
                match torn {
                    Some(ticks) => (Some(ticks.wrapping_add(self.shift_ticks)), TimeStatus::TornTick),
                    None if at.is_numbered() => self.between(at, way),
                    None => (None, TimeStatus::Implausible),
                }
            }
        }
    }

    /// The ticks of a packet whose tick count is damaged: those of the packet before, or of the next one, which is this way further, if
    /// the timer fell meanwhile. The tick hook has the count before the next one.
    fn between(&self, at: At<'_>, way: Option<i64>) -> (Option<u64>, TimeStatus) {
        let way = way.unwrap_or(0).unsigned_abs();
        let further = match at.packet() {
            packet if packet.id == id::TASK_INCREMENT_TICK => way.saturating_sub(1),
            packet if packet.since_tick < self.last_since => way,
            _ => 0,
        };
        (Some(self.ticks + further), TimeStatus::Replaced)
    }

    fn begin_run(&mut self, ticks: u64, at: At<'_>) {
        let follows = self.tick.is_some() && ticks == self.ticks + 1;
        self.after_hook &= follows;
        self.tick_ns = [if follows { self.tick_ns[1] } else { self.nanos_of(ticks) }, self.nanos_of(ticks.saturating_add(1))];
        self.tick = Some(at.packet().tick);
        self.ticks = ticks;
        self.find_late(at.packets, at.index, at.number);
    }

    /// Finds the late packets of the current run: those from the tick to the last tick hook soon after it.
    fn find_late(&mut self, packets: &[Packet], index: usize, number: u64) {
        let tick = packets[index].tick;
        let run = packets.get(index..).unwrap_or(&[]);
        let run = run.get(..HEADROOM).unwrap_or(run);
        let half = self.timer.period / 2;
        let step = if self.timer.period >= LEAST_PERIOD { self.timer.period * 3 / 10 } else { 0 };
        let start = number;
        self.late = start..start;
        let mut scanned = start;
        // Where the timer began to rise without a jump, and a tick hook: the first since then, or an earlier one.
        let (mut rise, mut first_hook) = (number, None);
        let mut before = u32::from(packets[index].since_tick);
        for (packet, number) in run.iter().zip(number..) {
            if !packet.continues {
                if !packet.is_hook() {
                    continue;
                }
                if packet.tick != tick {
                    break;
                }
            }
            scanned = number + 1;
            let since = u32::from(packet.since_tick);
            rise = if since.wrapping_sub(before) < step { rise } else { number };
            before = since;
            if packet.id == id::TASK_INCREMENT_TICK && since <= half {
                let first_hook = *first_hook.insert(first_hook.filter(|&hook| hook >= rise).unwrap_or(number));
                // Right after the hook of the tick before, the rising packets are the first events of this tick.
                let begins_tick = self.after_hook && rise == start;
                let first = if begins_tick { first_hook } else { rise };
                // After a late packet, all are late until the count is incremented.
                self.late = if self.late.is_empty() { first } else { self.late.start }..number + 1;
            }
        }
        self.scanned = scanned;
    }

    /// The counts since the tick of a packet whose timer contradicts its neighbours of the same tick, and the cause: its halves were read
    /// before and after a carry into the high byte, or it is damaged.
    #[inline]
    fn wrong_timer(&self, packets: &[Packet], index: usize, number: u64) -> Option<(u16, TimeStatus)> {
        let packet = &packets[index];
        let next = packets.get(index + 1).filter(|next| !self.fits_between(packet, next))?;
        self.fault_of_timer(packets, index, number, self.last_since..=next.since_tick)
    }

    #[cold]
    fn fault_of_timer(
        &self,
        packets: &[Packet],
        index: usize,
        number: u64,
        between: RangeInclusive<u16>,
    ) -> Option<(u16, TimeStatus)> {
        let packet = &packets[index];
        let fits = |timer: u16| u32::from(timer) < self.timer.period && between.contains(&self.timer.since_tick(timer));
        let carried = [packet.timer.wrapping_add(256), packet.timer.wrapping_sub(256)];
        if self.timer.period > 256
            && let Some(torn) = carried.into_iter().find(|&timer| fits(timer))
        {
            return Some((self.timer.since_tick(torn), TimeStatus::TornTimer));
        }
        // Around a tick of which the count says nothing yet, the timer may do anything.
        if self.timer.ticks == 0 || (self.late.start..self.late.end + 1).contains(&(number + 1)) && !self.late.is_empty() {
            return None;
        }
        let (now, slack) = (u32::from(packet.since_tick), self.timer.period / 50);
        let (before, after) = (u32::from(*between.start()), u32::from(*between.end()));
        let last = packets.get(index + 2).filter(|last| last.tick == packet.tick && last.is_hook());
        let is_high = now > after + slack && last.is_some_and(|last| (after..now).contains(&u32::from(last.since_tick)));
        (is_high || now + slack < before).then_some((self.last_since, TimeStatus::Replaced))
    }
}
