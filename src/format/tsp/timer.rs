//! The meaning of the two time fields of a packet. The stream does not record it, so it is inferred from the data.
//!
//! A packet carries the low 16 bits of the kernel's tick count, and a counter of the port's choice that runs within the tick: up or
//! down, of any period, and not necessarily in phase with the tick. The first pass makes counts that can be added up over the parts of an
//! input ([`TimerCounts`]); [`TimerCounts::infer`] infers the [`Timer`] from them.

use super::record::{Packet, id};

/// Values of a 16-bit field.
const VALUES: usize = 1 << 16;

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
    /// By value: how often it was the first of two neighbours of the same tick, minus how often it was the second.
    crossings: Vec<i32>,
    /// By value: how often it was in the packet of a tick hook.
    at_tick: Vec<u32>,
    /// Packets with the tick hook.
    ticks: u64,
    /// Neighbours of the same tick whose timer rises, and falls.
    ups: u64,
    downs: u64,
    /// The largest value that its neighbours do not contradict, and the largest of all.
    largest: Option<u16>,
    largest_any: u16,
    /// The largest tick count; the number of falls of the tick count, and the smallest of them.
    largest_tick: u16,
    falls: u64,
    least_fall: u16,
    /// The first two packets and the last two, as tick and timer.
    head: Ends,
    tail: Ends,
}

/// Up to two packets, in order.
#[derive(Clone, Copy, Debug, Default)]
struct Ends([Option<(u16, u16)>; 2]);

impl TimerCounts {
    /// Adds the next packet of the stream of hooks.
    #[inline]
    pub fn add(&mut self, packet: &Packet) {
        let now = (packet.tick, packet.timer);
        if packet.id == id::TASK_INCREMENT_TICK {
            self.ticks += 1;
            *place(&mut self.at_tick, packet.timer) += 1;
        }
        self.largest_any = self.largest_any.max(packet.timer);
        self.largest_tick = self.largest_tick.max(packet.tick);
        if let [before, Some(last)] = self.tail.0 {
            self.neighbours(before, last, now);
        }
        self.note_end(now);
    }

    fn note_end(&mut self, now: (u16, u16)) {
        if let Some(free) = self.head.0.iter_mut().find(|end| end.is_none()) {
            *free = Some(now);
        }
        self.tail.0 = [self.tail.0[1], Some(now)];
    }

    /// Compares a packet with the two before it.
    #[inline]
    fn neighbours(&mut self, before: Option<(u16, u16)>, last: (u16, u16), now: (u16, u16)) {
        if last.0 == now.0 {
            if last.1 != now.1 {
                *place(&mut self.crossings, last.1) += 1;
                *place(&mut self.crossings, now.1) -= 1;
                self.ups += u64::from(now.1 > last.1);
                self.downs += u64::from(now.1 < last.1);
            }
        } else if let Some(fall) = last.0.checked_sub(now.0).filter(|&fall| fall > FALL_TICKS) {
            self.least_fall = if self.falls == 0 { fall } else { self.least_fall.min(fall) };
            self.falls += 1;
        }
        if let Some(before) = before {
            self.judge(before, last, now);
        }
    }

    /// Updates the largest value from `last`, the middle one of three packets.
    #[inline]
    fn judge(&mut self, before: (u16, u16), last: (u16, u16), now: (u16, u16)) {
        if self.largest.is_none_or(|largest| last.1 > largest) {
            // A torn value (its halves read before and after a carry) can be larger than all others. It is then not between its
            // neighbours, which are near to each other.
            let is_torn = before.0 == last.0
                && last.0 == now.0
                && before.1.abs_diff(now.1) < 64
                && !(before.1.min(now.1)..=before.1.max(now.1)).contains(&last.1);
            if !is_torn {
                self.largest = Some(last.1);
            }
        }
    }

    /// Adds the counts of the next part.
    pub fn append(&mut self, next: &TimerCounts) {
        let [before, last] = self.tail.0;
        if let ([Some(first), second], Some(last)) = (next.head.0, last) {
            self.neighbours(before, last, first);
            // The next part could not judge its own first packet, for it had no packet before it.
            if let Some(second) = second {
                self.judge(last, first, second);
            }
        }
        add_all(&mut self.crossings, &next.crossings);
        add_all(&mut self.at_tick, &next.at_tick);
        self.ticks += next.ticks;
        self.ups += next.ups;
        self.downs += next.downs;
        self.largest = self.largest.max(next.largest);
        self.largest_any = self.largest_any.max(next.largest_any);
        self.largest_tick = self.largest_tick.max(next.largest_tick);
        self.least_fall = match (self.falls, next.falls) {
            (0, _) => next.least_fall,
            (_, 0) => self.least_fall,
            _ => self.least_fall.min(next.least_fall),
        };
        self.falls += next.falls;
        self.head = match self.head.0 {
            [Some(first), None] => Ends([Some(first), next.head.0[0]]),
            [None, _] => next.head,
            both => Ends(both),
        };
        self.tail = match next.tail.0 {
            [_, None] => self.tail,
            [None, only] => Ends([last, only]),
            both => Ends(both),
        };
    }

    /// The most likely meaning of the time fields.
    #[must_use]
    pub fn infer(&self, options: &TimerOptions) -> Timer {
        let is_down = options.is_down.unwrap_or(self.downs > self.ups);
        let largest = self.largest.unwrap_or(self.largest_any);
        let (period, period_source) = match options.timer_max {
            Some(max) => (u32::from(max) + 1, PeriodSource::Given),
            None => rounded(u32::from(largest) + 1),
        };
        let mut timer = Timer {
            is_down,
            period,
            period_source,
            phase: 0,
            phase_source: PhaseSource::Assumed,
            tick_modulus: self.modulus(options),
            tick_hz: options.tick_hz.unwrap_or(1000.0),
            timer_hz: options.timer_hz,
            ticks: self.ticks,
            agreeing: if is_down { self.downs } else { self.ups },
            pairs: self.ups + self.downs,
            largest,
        };
        let phase = match self.ticks {
            0..3 => self.phase_from_crossings(&timer).map(|phase| (phase, PhaseSource::Neighbours)),
            _ => self.phase_from_ticks(&timer).map(|phase| (phase, PhaseSource::Ticks)),
        };
        if let Some((phase, source)) = phase {
            let near = period / 200;
            timer.phase = if phase <= near || phase + near >= period { 0 } else { phase };
            timer.phase_source = source;
        }
        timer
    }

    fn modulus(&self, options: &TimerOptions) -> u32 {
        let whole = u32::from(self.largest_tick) + 1;
        match options.tick_modulus {
            Some(given) => given.clamp(2, 1 << 16),
            // All falls go from about the largest value to about 0. One or two could also be resets of the target.
            None if self.falls >= 3 && whole < 65_000 && u32::from(self.least_fall) >= whole - whole / 16 => whole,
            None => 1 << 16,
        }
    }

    /// The value at the tick: the one after the largest gap on the circle of the values in packets of tick hooks.
    fn phase_from_ticks(&self, timer: &Timer) -> Option<u32> {
        let mut counts = vec![0u64; timer.period as usize];
        for (value, &count) in (0..=u16::MAX).zip(&self.at_tick) {
            if count > 0 {
                *counts.get_mut(timer.counts(value) as usize)? += u64::from(count);
            }
        }
        // Tick interrupts that were served late are rare and have arbitrary values.
        let rare = self.ticks / 500;
        let usual: Vec<u32> =
            (0..timer.period).zip(&counts).filter(|(_, count)| **count > rare).map(|(value, _)| value).collect();
        let (&first, &last) = (usual.first()?, usual.last()?);
        let around = (timer.period - last + first, first);
        let gaps = usual.windows(2).map(|pair| (pair[1] - pair[0], pair[1]));
        let (_, mut phase) = gaps.fold(around, |best, gap| if gap.0 > best.0 { gap } else { best });
        // The earliest value may be rare too.
        let near = (timer.period / 100).max(1);
        for _ in 0..near {
            let earlier = (phase..phase + near).map(|value| (value + timer.period - near) % timer.period);
            let Some(found) = earlier.into_iter().find(|&value| counts.get(value as usize).is_some_and(|&count| count > 0))
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

/// The count of a value. `counts` grows to the largest value only: most timers have few values.
#[inline]
fn place<T: Copy + Default>(counts: &mut Vec<T>, value: u16) -> &mut T {
    let index = usize::from(value);
    if index >= counts.len() {
        counts.resize((index + 1).next_power_of_two(), T::default());
    }
    &mut counts[index]
}

fn add_all<T: Copy + Default + std::ops::AddAssign>(all: &mut Vec<T>, next: &[T]) {
    if all.len() < next.len() {
        all.resize(next.len(), T::default());
    }
    all.iter_mut().zip(next).for_each(|(all, &next)| *all += next);
}

/// The period, rounded up to a round number if that is near: the last values before the end may not have occurred.
fn rounded(period: u32) -> (u32, PeriodSource) {
    let round = period.next_multiple_of(250);
    if period >= 500 && round != period && round - period <= period / 100 && round <= VALUES as u32 {
        (round, PeriodSource::Rounded)
    } else {
        (period, PeriodSource::Largest)
    }
}

/// The source of the period.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PeriodSource {
    /// An option.
    Given,
    /// The largest value that occurred.
    Largest,
    /// The largest value that occurred, rounded up.
    Rounded,
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
    /// The largest value that occurred.
    pub largest: u16,
}

impl Timer {
    /// The counts since the timer's start at a value; less than the period.
    #[inline]
    #[must_use]
    pub fn counts(&self, value: u16) -> u32 {
        let value = u32::from(value).min(self.period - 1);
        if self.is_down { self.period - 1 - value } else { value }
    }

    /// The counts since the tick at a value; less than the period.
    #[inline]
    #[must_use]
    pub fn since_tick(&self, value: u16) -> u32 {
        let counts = self.counts(value);
        if counts >= self.phase { counts - self.phase } else { counts + self.period - self.phase }
    }

    /// Nanoseconds since the tick, indexed by [`Timer::since_tick`]. All are less than a tick.
    #[must_use]
    pub fn nanos_table(&self) -> Vec<u32> {
        let tick_ns = 1e9 / self.tick_hz;
        let hz = self.timer_hz.unwrap_or(self.tick_hz * f64::from(self.period));
        let nanos = |counts: u32| (f64::from(counts) * 1e9 / hz).min(tick_ns - 1.0).max(0.0);
        (0..self.period).map(|counts| nanos(counts) as u32).collect()
    }

    /// The timer for people, with the evidence.
    #[must_use]
    pub fn describe(&self) -> String {
        if self.period == 1 {
            return "always 0: times are whole ticks".to_owned();
        }
        let direction = if self.is_down { "down" } else { "up" };
        let from = match self.period_source {
            PeriodSource::Given => "given by an option".to_owned(),
            PeriodSource::Largest => format!("the largest value is {}", self.largest),
            PeriodSource::Rounded => format!("the largest value is {}, assumed to be rounded", self.largest),
        };
        let phase = f64::from(self.phase) / f64::from(self.period);
        let phase = match self.phase_source {
            PhaseSource::Ticks => format!("the tick is at {phase:.3} of its period (from {} tick hooks)", self.ticks),
            PhaseSource::Neighbours => {
                format!("the tick is at {phase:.3} of its period (from neighbours, there are no tick hooks)")
            }
            PhaseSource::Assumed => "assumed to be in phase with the tick".to_owned(),
        };
        let (agreeing, pairs, period) = (self.agreeing, self.pairs, self.period);
        format!("counts {direction} ({agreeing} of {pairs} neighbours), {period} counts a tick ({from}), {phase}")
    }
}
