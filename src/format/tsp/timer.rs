//! The meaning of the two time fields of a packet. The stream does not record it, so it is inferred from the data.
//!
//! A packet carries the low 16 bits of the kernel's tick count, and a counter of the port's choice that runs within the tick: up or
//! down, of any period, and not necessarily in phase with the tick. The first pass makes counts that can be added up over the parts of an
//! input ([`TimerCounts`]); [`TimerCounts::infer`] infers the [`Timer`] from them.

use super::record::{Packet, id};
use crate::clock::fit;

/// A larger fall of the tick count is not caused by packets in the wrong order.
const FALL_TICKS: u16 = 8;

/// The user's options for the time fields.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TimerOptions {
    /// Ticks of the kernel per second.
    pub tick_hz: Option<f64>,
    /// Counts of the timer per second.
    pub timer_hz: Option<f64>,
    /// The largest value of the timer.
    pub timer_max: Option<u16>,
    /// Whether it counts down.
    pub is_down: Option<bool>,
    /// The number of values of the tick count.
    pub tick_modulus: Option<u32>,
}

/// The counts of the first pass over a part or an input.
#[derive(Clone, Debug, Default)]
pub struct TimerCounts {
    /// By value: how often it was the first of two neighbours of the same tick, minus how often it was the second. Of each stretch of
    /// packets of the same tick the first and the last remain; the very first and last packet are left out until all are known.
    crossings: Vec<i32>,
    /// By value: how often it was in the packet of a tick hook.
    at_tick: Vec<u32>,
    /// Packets with the tick hook.
    ticks: u64,
    /// Neighbours of the same tick whose timer rises, and falls; the second is no tick hook.
    ups: u64,
    downs: u64,
    /// How often each value of the timer was seen; by value.
    values: Vec<u32>,
    /// Falls of the tick count, as the counts before and after: the first [`FALLS`].
    falls: Vec<(u16, u16)>,
    /// How often the tick count reached a value of 0, 1, ... bits, and how often it rose by one of as many.
    tick_bits: [u64; 17],
    rise_bits: [u64; 17],
    /// Known damage: bytes that are not a packet, falls and leaps of the tick count.
    damage: u64,
    /// The first two packets and the last two. The outermost are counted by value when both their neighbours are known.
    first: [Option<Seen>; 2],
    last: Last,
}

/// The last packets so far.
#[derive(Clone, Copy, Debug, Default)]
enum Last {
    #[default]
    None,
    One(Seen),
    /// The last one, and the tick count of the one before it.
    Two(Seen, u16),
}

impl Last {
    fn seen(self) -> Option<Seen> {
        match self {
            Last::None => None,
            Last::One(seen) | Last::Two(seen, _) => Some(seen),
        }
    }
}

/// The time fields of a packet, and whether it is a tick hook.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Seen {
    tick: u16,
    timer: u16,
    is_tick: bool,
}

impl Seen {
    /// Whether its tick count contradicts those of its two neighbours: it is damaged.
    fn is_odd_between(self, before: u16, after: u16) -> bool {
        let way = after.wrapping_sub(before);
        self.tick.wrapping_sub(before) > FALL_TICKS && after.wrapping_sub(self.tick) > FALL_TICKS && way <= FALL_TICKS
    }
}

/// How many bits a value has.
#[inline]
fn bits(value: u16) -> usize {
    (u16::BITS - value.leading_zeros()) as usize
}

/// How many falls of the tick count are kept.
const FALLS: usize = 4096;

impl TimerCounts {
    /// Adds the next packet of the stream of hooks.
    #[inline(always)]
    pub fn add(&mut self, packet: &Packet) {
        let is_tick = packet.id == id::TASK_INCREMENT_TICK;
        let now = Seen { tick: packet.tick, timer: packet.timer, is_tick };
        match self.last {
            // Most packets: the one after it does not contradict the last one.
            Last::Two(last, _) if last.tick == now.tick => {
                self.same_tick(last, now);
                self.count(last);
                self.last = Last::Two(now, now.tick);
            }
            _ => self.add_next(now),
        }
    }

    fn add_next(&mut self, now: Seen) {
        if let Some(last) = self.last.seen() {
            self.neighbours(last, now);
        }
        match self.last {
            Last::None => self.first[0] = Some(now),
            Last::One(_) => self.first[1] = self.first[1].or(Some(now)),
            Last::Two(last, before) => self.count_between(before, last, now.tick),
        }
        self.last = self.last.seen().map_or(Last::One(now), |last| Last::Two(now, last.tick));
    }

    /// Counts a packet by value, if the tick counts of its neighbours do not contradict it.
    fn count_between(&mut self, before: u16, seen: Seen, after: u16) {
        if !seen.is_odd_between(before, after) {
            self.count(seen);
            self.tick_bits[bits(seen.tick)] += 1;
        }
    }

    #[inline]
    fn count(&mut self, seen: Seen) {
        if seen.is_tick {
            self.ticks += 1;
            add_at(&mut self.at_tick, seen.timer, 1);
        }
        add_at(&mut self.values, seen.timer, 1);
    }

    /// Notes bytes that are no packet.
    pub fn add_damage(&mut self) {
        self.damage += 1;
    }

    /// A packet and the one before it, of the same tick. A tick hook still has the old tick, but the timer has begun again: it says nothing.
    #[inline]
    fn same_tick(&mut self, last: Seen, now: Seen) {
        self.ups += u64::from(now.timer > last.timer && !now.is_tick);
        self.downs += u64::from(now.timer < last.timer && !now.is_tick);
    }

    /// A packet and the one before it.
    fn neighbours(&mut self, last: Seen, now: Seen) {
        if last.tick == now.tick {
            return self.same_tick(last, now);
        }
        add_at(&mut self.crossings, last.timer, -1);
        add_at(&mut self.crossings, now.timer, 1);
        match last.tick.checked_sub(now.tick) {
            None => self.rise_bits[bits(now.tick - last.tick)] += 1,
            Some(fall) if fall > FALL_TICKS => {
                self.damage += 1;
                if self.falls.len() < FALLS {
                    self.falls.push((last.tick, now.tick));
                }
            }
            Some(_) => {}
        }
    }

    /// Whether the falls, as wraps of a modulus, are longer steps than this recording has otherwise. Steps as long as a wrap takes half of
    /// the time fill half of the time, so there are half as many of them as wraps, at least: an idle kernel may stop its tick for long.
    fn wraps_are_long(&self, modulus: u32) -> bool {
        let step = |&(before, after): &(u16, u16)| (modulus + u32::from(after)).saturating_sub(u32::from(before));
        let mut steps: Vec<u32> = self.falls.iter().map(step).collect();
        steps.sort_unstable();
        let median = steps.get(steps.len() / 2).map_or(0, |&step| bits(u16::try_from(step).unwrap_or(u16::MAX)));
        let as_long: u64 = self.rise_bits[median..].iter().sum();
        as_long * 2 < steps.len() as u64
    }

    /// Adds what the next part gave.
    pub fn append(&mut self, next: &TimerCounts) {
        if let (Some(last), [Some(first), second]) = (self.last.seen(), next.first) {
            self.neighbours(last, first);
            if let Last::Two(last, before) = self.last {
                self.count_between(before, last, first.tick);
            }
            if let Some(second) = second {
                self.count_between(last.tick, first, second.tick);
            }
        }
        if next.first[0].is_some() {
            self.first = match self.first {
                [None, _] => next.first,
                [first, None] => [first, next.first[0]],
                known => known,
            };
        }
        self.last = match (self.last.seen(), next.last) {
            (_, Last::None) => self.last,
            (Some(last), Last::One(only)) => Last::Two(only, last.tick),
            (_, last) => last,
        };
        add_all(&mut self.crossings, &next.crossings);
        add_all(&mut self.at_tick, &next.at_tick);
        add_all(&mut self.values, &next.values);
        self.tick_bits.iter_mut().zip(next.tick_bits).for_each(|(all, next)| *all += next);
        self.rise_bits.iter_mut().zip(next.rise_bits).for_each(|(all, next)| *all += next);
        self.ticks += next.ticks;
        self.ups += next.ups;
        self.downs += next.downs;
        let room = FALLS - self.falls.len();
        self.falls.extend(next.falls.iter().take(room));
        self.damage += next.damage;
    }

    /// The most likely meaning of the time fields.
    #[must_use]
    pub fn infer(&self, options: &TimerOptions) -> Timer {
        let mut all = self.clone();
        let ends = [self.first[0], self.last.seen().filter(|_| self.first[1].is_some())];
        ends.into_iter().flatten().for_each(|end| all.count(end));
        if let (Some(first), Some(last)) = (self.first[0], self.last.seen()) {
            add_at(&mut all.crossings, first.timer, 1);
            add_at(&mut all.crossings, last.timer, -1);
        }
        all.infer_from_all(options)
    }

    fn infer_from_all(&self, options: &TimerOptions) -> Timer {
        let is_down = options.is_down.unwrap_or(self.downs > self.ups);
        let falls = fit::modulus(&self.falls);
        let modulus = falls.filter(fit::Modulus::is_proved);
        let damage = self.damage - modulus.map_or(0, |modulus| modulus.support).min(self.damage);
        let top = fit::top(&self.values, damage).unwrap_or(fit::Top { value: 0, support: 0, beyond: 0 });
        let (period, period_source) = match options.timer_max {
            Some(max) => (u32::from(max) + 1, PeriodSource::Given),
            None => match fit::rounded(&self.values, top) {
                fit::Rounded { values, .. } if values == u32::from(top.value) + 1 => (values, PeriodSource::Largest),
                fit::Rounded { values, other } => (values, PeriodSource::Rounded { other }),
            },
        };
        let mut timer = Timer {
            is_down,
            period,
            period_source,
            // A round period is right as it is, and no value is larger than 16 bits.
            is_spread: period.is_multiple_of(250) || period == 1 << 16 || is_spread(&self.values, top.value),
            phase: 0,
            phase_source: PhaseSource::Assumed,
            tick_modulus: options
                .tick_modulus
                .map_or(modulus.map_or(1 << 16, |found| found.values), |given| given.clamp(2, 1 << 16)),
            falls,
            tick_hz: options.tick_hz.unwrap_or(1000.0),
            timer_hz: options.timer_hz,
            ticks: self.ticks,
            agreeing: if is_down { self.downs } else { self.ups },
            pairs: self.ups + self.downs,
            largest: top.value,
            beyond: top.beyond,
            beyond_modulus: 0,
            wraps_are_long: options.tick_modulus.is_some_and(|modulus| self.wraps_are_long(modulus)),
        };
        // A value that has more bits than the largest one is certainly beyond.
        let bits = (u32::BITS - (timer.tick_modulus - 1).leading_zeros()) as usize;
        let beyond: u64 = self.tick_bits.get(bits + 1..).unwrap_or_default().iter().sum();
        // A few are damaged.
        timer.beyond_modulus = if beyond > self.tick_bits.iter().sum::<u64>() / 64 { beyond } else { 0 };
        let phase = match self.ticks {
            0..3 => self.phase_from_crossings(&timer).map(|phase| (phase, PhaseSource::Neighbours)),
            _ => self.phase_from_ticks(&timer, damage).map(|phase| (phase, PhaseSource::Ticks)),
        };
        if let Some((phase, source)) = phase {
            let near = period / 200;
            timer.phase = if phase <= near || phase + near >= period { 0 } else { phase };
            timer.phase_source = source;
        }
        timer
    }

    /// The value at the tick: the first of the shortest arc, on the circle of values, with all that come with the tick hook, except as many as
    /// may be damaged.
    fn phase_from_ticks(&self, timer: &Timer, damage: u64) -> Option<u32> {
        let mut counts = vec![0u64; timer.period as usize];
        // Values beyond the period are damaged.
        for (value, &count) in (0..=u16::MAX).zip(&self.at_tick).take(timer.period as usize) {
            *counts.get_mut(timer.counts(value) as usize)? += u64::from(count);
        }
        // Tick interrupts that were served late are rare and have arbitrary values.
        let rare = self.ticks / 500;
        let usual: Vec<(u32, u64)> = (0..timer.period).zip(counts.iter().copied()).filter(|value| value.1 > rare).collect();
        usual.first()?;
        let all: u64 = usual.iter().map(|value| value.1).sum();
        let least = all.saturating_sub(damage.min(self.ticks / 32));
        let (mut shortest, mut end, mut inside) = ((u32::MAX, 0), 0, 0);
        for &(value, count) in &usual {
            while inside < least {
                inside += usual.get(end % usual.len())?.1;
                end += 1;
            }
            let last = usual.get((end + usual.len() - 1) % usual.len())?.0;
            shortest = shortest.min(((last + timer.period - value) % timer.period, value));
            inside = inside.saturating_sub(count);
        }
        let mut phase = shortest.1;
        // The earliest may be rare too. Where bits were flipped, a single one may be damaged.
        let least = if damage == 0 { 1 } else { 3 };
        let near = (timer.period / 100).max(1);
        for _ in 0..near {
            let earlier = (phase..phase + near).map(|value| (value + timer.period - near) % timer.period);
            let Some(found) = earlier.into_iter().find(|&value| counts.get(value as usize).is_some_and(|&count| count >= least))
            else {
                break;
            };
            phase = found;
        }
        Some(phase)
    }

    /// The place on the circle of values that neighbours of the same tick cross least often: the tick count changes there.
    fn phase_from_crossings(&self, timer: &Timer) -> Option<u32> {
        if self.ups + self.downs < 16 {
            return None;
        }
        let mut steps = vec![0i64; timer.period as usize];
        for (value, &count) in (0..=u16::MAX).zip(&self.crossings) {
            *steps.get_mut(timer.counts(value) as usize)? += i64::from(count);
        }
        // Pairs that wrap around the end of the circle cross all places outside their range.
        let mut crossing = i64::try_from(if timer.is_down { self.ups } else { self.downs }).unwrap_or(i64::MAX);
        let mut least = (i64::MAX, 0);
        for (value, step) in (0..timer.period).zip(steps) {
            crossing += step;
            // The last of equal places: the first event of a tick follows soon after it.
            if crossing <= least.0 {
                least = (crossing, (value + 1) % timer.period);
            }
        }
        Some(least.1)
    }
}

/// Adds to the count of a value. `counts` grows to the largest value only: most timers have few values.
#[inline(always)]
fn add_at<T: Copy + Default + std::ops::AddAssign>(counts: &mut Vec<T>, value: u16, number: T) {
    match counts.get_mut(usize::from(value)) {
        Some(count) => *count += number,
        None => grow(counts, usize::from(value), number),
    }
}

#[cold]
#[inline(never)]
fn grow<T: Copy + Default + std::ops::AddAssign>(counts: &mut Vec<T>, index: usize, number: T) {
    counts.resize((index + 1).next_power_of_two(), T::default());
    counts[index] += number;
}

fn add_all<T: Copy + Default + std::ops::AddAssign>(all: &mut Vec<T>, next: &[T]) {
    if all.len() < next.len() {
        all.resize(next.len(), T::default());
    }
    all.iter_mut().zip(next).for_each(|(all, &next)| *all += next);
}

/// Whether most parts of the range up to the largest value occur about as often as the others.
fn is_spread(values: &[u32], largest: u16) -> bool {
    const PARTS: usize = 16;
    const PARTS_MIN: usize = 10;
    const RARE: u64 = 8;
    let values = values.get(..=usize::from(largest)).unwrap_or(values);
    let counts = values.chunks(values.len().div_ceil(PARTS).max(1)).map(|part| part.iter().map(|&count| u64::from(count)).sum());
    let counts: Vec<u64> = counts.collect();
    let all: u64 = counts.iter().sum();
    counts.iter().filter(|&&count| count > 0 && count * RARE * counts.len() as u64 >= all).count() >= PARTS_MIN
}

/// The source of the period.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PeriodSource {
    /// An option.
    Given,
    /// The largest value that occurred.
    Largest,
    /// The largest value that occurred, rounded. `other`: another round number that fits as well.
    Rounded { other: Option<u32> },
}

/// The source of the phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PhaseSource {
    /// No evidence: assumed to be 0.
    Assumed,
    /// The tick hooks.
    Ticks,
    /// The place that neighbours of the same tick cross least often.
    Neighbours,
}

/// The meaning of the time fields.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Timer {
    /// Whether the timer counts down.
    pub is_down: bool,
    /// The number of counts in a tick of the kernel.
    pub period: u32,
    /// The source of `period`.
    pub period_source: PeriodSource,
    /// Whether values occur all over the range below the largest one. Otherwise the timer may count further: the system may be idle for most
    /// of each tick.
    pub is_spread: bool,
    /// The counts from the timer's start to the tick.
    pub phase: u32,
    /// The source of `phase`.
    pub phase_source: PhaseSource,
    /// The number of values of the tick count.
    pub tick_modulus: u32,
    /// Ticks of the kernel per second.
    pub tick_hz: f64,
    /// Counts per second, if the user gave them.
    pub timer_hz: Option<f64>,
    /// The number of tick hooks in the input.
    pub ticks: u64,
    /// How many of the `pairs` agree with the direction.
    pub agreeing: u64,
    /// The number of pairs of neighbours of the same tick with different values.
    pub pairs: u64,
    /// The largest value seen that is believed.
    pub largest: u16,
    /// How many packets have a larger one, and are taken for damaged.
    pub beyond: u64,
    /// How often the tick count had a value that its modulus does not allow, at least; 0 if they may be damaged.
    pub beyond_modulus: u64,
    /// Whether the falls are longer steps than usual if they are wraps of the modulus that was given.
    pub wraps_are_long: bool,
    /// The falls of the tick count that are not wraps of 16 bits, if there are some. They prove a modulus, or may be restarts.
    pub falls: Option<fit::Modulus>,
}

/// The counts since the tick by the timer's value, prepared for many values. By default, 0 for each.
#[derive(Clone, Copy, Debug, Default)]
pub struct Since {
    largest: i32,
    flip: i32,
    start: i32,
}

impl Since {
    /// The counts at a value.
    #[inline]
    #[must_use]
    pub fn of(&self, value: u16) -> u16 {
        let counts = (i32::from(value).min(self.largest) ^ self.flip) + self.start;
        (if counts < 0 { counts + self.largest + 1 } else { counts }) as u16
    }

    /// Whether the timer has a value if it is not damaged.
    #[inline]
    #[must_use]
    pub fn has(&self, value: u16) -> bool {
        i32::from(value) <= self.largest
    }
}

impl Timer {
    /// The counts since the timer's start at a value; less than the period.
    #[inline]
    #[must_use]
    pub fn counts(&self, value: u16) -> u32 {
        let value = u32::from(value).min(self.period - 1);
        if self.is_down { self.period - 1 - value } else { value }
    }

    /// The counts since the tick at each value; less than the period.
    #[must_use]
    pub fn since(&self) -> Since {
        let (period, phase) = (self.period as i32, self.phase as i32);
        // `!value` is `-1 - value`.
        let (flip, start) = if self.is_down { (!0, period - phase) } else { (0, -phase) };
        Since { largest: period - 1, flip, start }
    }

    /// The counts since the tick at a value.
    #[must_use]
    pub fn since_tick(&self, value: u16) -> u16 {
        self.since().of(value)
    }

    /// Nanoseconds since the tick, indexed by [`Timer::since_tick`]. All are less than a tick.
    #[must_use]
    pub fn nanos_table(&self) -> Vec<u32> {
        let tick_ns = 1e9 / self.tick_hz;
        let hz = self.timer_hz.unwrap_or(self.tick_hz * f64::from(self.period));
        let nanos = |counts: u32| (f64::from(counts) * 1e9 / hz).min(tick_ns - 1.0).max(0.0);
        (0..self.period).map(|counts| nanos(counts) as u32).collect()
    }
}
