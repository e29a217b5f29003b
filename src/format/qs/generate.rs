//! Realistic captures of any size, for tests, benches and `cargo xtask gen`.
//!
//! A small pre-emptive kernel is simulated with dining philosophers on it: a table and some philosophers, all active objects,
//! driven by time events. Queues, pools, priorities and records follow the rules of the real framework, in its order. The
//! capture depends on the options only, and memory does not grow with the size.

use std::collections::VecDeque;
use std::io::{self, Write};

use super::encode::{Encoder, Value};
use super::info::TargetInfo;
use super::layout::{Config, Layout, Sizes};
use super::record::Kind;

/// Options of a generated capture.
#[derive(Clone, Copy, Debug)]
pub struct GenerateOptions {
    /// The capture ends with the frame that reaches this size, in bytes.
    pub bytes: u64,
    /// Another seed is another run of the same firmware.
    pub seed: u64,
    /// The target's configuration.
    pub config: Config,
    /// The damage to the capture.
    pub damage: Damage,
    /// How long the target has run at the start, in units of the clock.
    pub start_units: u64,
    /// In the middle of the capture, nothing is recorded for this number of units.
    pub silent_units: u64,
    /// The ids of records that the target's filter removes.
    pub filtered: &'static [u8],
}

impl Default for GenerateOptions {
    fn default() -> GenerateOptions {
        GenerateOptions {
            bytes: 1 << 20,
            seed: 1,
            config: Config::new(Sizes::default(), 812),
            damage: Damage::None,
            start_units: 0,
            silent_units: 0,
            filtered: &[],
        }
    }
}

/// The damage between the target and the file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Damage {
    /// No damage.
    #[default]
    None,
    /// About one bit in 8 KiB is flipped.
    Flips,
    /// About once in 16 KiB, up to 200 bytes are missing.
    Cuts,
    /// About once in 4096 frames, up to 64 frames are overwritten on the target before they are sent.
    Drops,
    /// The target is reset about once in 64 KiB.
    Resets,
}

const PHILOSOPHERS: usize = 5;
const TABLE: usize = PHILOSOPHERS;
/// Units of the clock in a tick.
const TICK_UNITS: u64 = 40_000;
const CAPACITY: [u64; PHILOSOPHERS + 1] = [11, 11, 11, 11, 11, 6];
const POOL_BLOCKS: u64 = 10;

const EAT: u64 = 4;
const DONE: u64 = 5;
const TIMEOUT: u64 = 10;
const HUNGRY: u64 = 11;

const PHILO_STAT: u8 = 100;
const LOAD: u8 = 101;

const TICK_HANDLER: u64 = 0x0800_49F4;
const POOL: u64 = 0x2000_0F94;
const TOP: u64 = 0x0800_1331;
const SERVING: u64 = 0x0800_0E45;
const TABLE_ACTIVE: u64 = 0x0800_0D19;

/// The states of a philosopher, and their functions.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Thinking,
    Hungry,
    Eating,
}

impl State {
    fn address(self) -> u64 {
        match self {
            State::Thinking => 0x0800_0B35,
            State::Hungry => 0x0800_0BC1,
            State::Eating => 0x0800_0A91,
        }
    }
}

/// An event in a queue: its signal, its subject, and its pool (0: none).
#[derive(Clone, Copy)]
struct Event {
    signal: u64,
    about: usize,
    pool: u64,
}

fn object(number: usize) -> u64 {
    0x2000_0E08 + 0x44 * number as u64
}

fn time_event(number: usize) -> u64 {
    object(number) + 0x24
}

/// The fork at a philosopher's right; that at the left has the philosopher's number.
fn right_of(number: usize) -> usize {
    (number + 1) % PHILOSOPHERS
}

fn priority(number: usize) -> u64 {
    if number == TABLE { 12 } else { number as u64 + 3 }
}

/// Writes a capture.
///
/// # Errors
/// Those of `out`.
pub fn generate(options: &GenerateOptions, out: &mut dyn Write) -> io::Result<()> {
    let mut target = Target::new(options);
    target.boot();
    let mut written = 0;
    let mut since_reset = 0;
    while written < options.bytes {
        let before = target.bytes.len();
        if (written + before as u64) * 2 >= options.bytes {
            target.offset = options.start_units + options.silent_units;
        }
        target.tick();
        since_reset += target.bytes.len() - before;
        if options.damage == Damage::Resets && since_reset > 64 << 10 {
            since_reset = 0;
            let bytes = std::mem::take(&mut target.bytes);
            target = Target { bytes, random: target.random, ..Target::new(options) };
            target.boot();
        }
        let is_last = written + target.bytes.len() as u64 >= options.bytes;
        if is_last || target.bytes.len() >= 1 << 16 {
            written += target.bytes.len() as u64;
            target.damage(options.damage);
            out.write_all(&target.bytes)?;
            target.bytes.clear();
        }
    }
    Ok(())
}

/// The target, and the bytes that it has sent.
struct Target {
    encoder: Encoder,
    bytes: Vec<u8>,
    now: u64,
    /// Added to all times.
    offset: u64,
    filtered: &'static [u8],
    random: Random,
    damage: Damage,
    drops: u32,
    states: [State; PHILOSOPHERS],
    queues: [VecDeque<Event>; PHILOSOPHERS + 1],
    /// Ticks left of each philosopher's time event.
    armed: [u64; PHILOSOPHERS],
    pool_free: u64,
    pool_min: u64,
    forks: [bool; PHILOSOPHERS],
    is_hungry: [bool; PHILOSOPHERS],
    running: u64,
    ticks: u64,
}

impl Target {
    fn new(options: &GenerateOptions) -> Target {
        Target {
            encoder: Encoder::new(Layout::new(options.config)),
            bytes: Vec::new(),
            now: 126_740,
            offset: options.start_units,
            filtered: options.filtered,
            random: Random(options.seed | 1),
            damage: options.damage,
            drops: 0,
            states: [State::Thinking; PHILOSOPHERS],
            queues: std::array::from_fn(|_| VecDeque::new()),
            armed: [0; PHILOSOPHERS],
            pool_free: POOL_BLOCKS,
            pool_min: POOL_BLOCKS,
            forks: [false; PHILOSOPHERS],
            is_hungry: [false; PHILOSOPHERS],
            running: 0,
            ticks: 0,
        }
    }

    /// Sends a record of fixed fields. A time stamp, if it has one, is the first number and is set here.
    fn send(&mut self, kind: Kind, numbers: &[u64]) {
        let version = self.encoder.layout.config.version;
        if !kind.spec().is_sent_by(version) {
            return;
        }
        let mut numbers = numbers.to_vec();
        if kind.spec().is_timed(version) {
            self.now += 300 + self.random.below(500);
            numbers[0] = self.now + self.offset;
        }
        if self.filtered.contains(&kind.spec().id) {
            return;
        }
        if self.is_dropped() {
            self.encoder.seq = self.encoder.seq.wrapping_add(1);
            return;
        }
        self.encoder.numbers(kind, &numbers, &mut self.bytes);
    }

    fn is_dropped(&mut self) -> bool {
        if self.damage != Damage::Drops {
            return false;
        }
        if self.drops == 0 && self.random.below(4096) == 0 {
            self.drops = 1 + self.random.below(64) as u32;
        }
        let is_dropped = self.drops > 0;
        self.drops = self.drops.saturating_sub(1);
        is_dropped
    }

    fn name(&mut self, kind: Kind, numbers: &[u64], name: &str) {
        let mut values: Vec<Value<'_>> = numbers.iter().map(|&number| Value::Uint(number)).collect();
        values.push(Value::Bytes(name.as_bytes()));
        self.encoder.record(kind, &values, &mut self.bytes);
    }

    /// Sends an application record.
    fn user(&mut self, id: u8, data: &[u8]) {
        self.now += 400;
        let values = [Value::Uint(self.now + self.offset), Value::Bytes(data)];
        self.encoder.with_id(Kind::User, id, &values, &mut self.bytes);
    }

    fn status(&mut self, number: usize, text: &str) {
        let mut data = vec![0x11, number as u8, 0x08];
        data.extend_from_slice(text.as_bytes());
        data.push(0);
        self.user(PHILO_STAT, &data);
    }

    fn boot(&mut self) {
        self.send(Kind::Empty, &[]);
        let config = self.encoder.layout.config;
        let info = TargetInfo {
            is_reset: true,
            version: config.version,
            release_date: Some(260_101),
            product: Some(1),
            is_big_endian: false,
            nibbles: config.sizes.all(),
            max_active: 32,
            max_pools: 3,
            max_tick_rates: 1,
            build: [2026, 1, 2, 3, 4, 5],
        };
        let mut data = Vec::new();
        info.append(&mut data);
        let sends = |kind: Kind| kind.spec().is_sent_by(config.version);
        if sends(Kind::TargetInfo) {
            self.encoder.record(Kind::TargetInfo, &[Value::Bytes(&data)], &mut self.bytes);
        }
        self.name(Kind::ObjDict, &[TICK_HANDLER], "l_SysTick_Handler");
        self.name(Kind::ObjDict, &[POOL], "EvtPool1");
        if sends(Kind::UsrDict) {
            self.name(Kind::UsrDict, &[PHILO_STAT.into()], "PHILO_STAT");
            self.name(Kind::UsrDict, &[LOAD.into()], "LOAD");
        }
        for (signal, name) in [(EAT, "EAT_SIG"), (DONE, "DONE_SIG"), (TIMEOUT, "TIMEOUT_SIG"), (HUNGRY, "HUNGRY_SIG")] {
            self.name(Kind::SigDict, &[signal, 0], name);
        }
        for (function, name) in [
            (TOP, "QHsm_top"),
            (State::Thinking.address(), "Philo_thinking"),
            (State::Hungry.address(), "Philo_hungry"),
            (State::Eating.address(), "Philo_eating"),
            (TABLE_ACTIVE, "Table_active"),
            (SERVING, "Table_serving"),
        ] {
            self.name(Kind::FunDict, &[function], name);
        }
        for number in 0..PHILOSOPHERS {
            self.name(Kind::ObjDict, &[object(number)], &format!("Philo_inst[{number}]"));
            self.name(Kind::ObjDict, &[time_event(number)], &format!("Philo_inst[{number}].timeEvt"));
            self.send(Kind::Subscribe, &[0, EAT, object(number)]);
            self.send(Kind::StateInit, &[object(number), TOP, State::Thinking.address()]);
            self.arm(number);
            self.send(Kind::StateEntry, &[object(number), State::Thinking.address()]);
            self.send(Kind::InitTran, &[0, object(number), State::Thinking.address()]);
        }
        self.name(Kind::ObjDict, &[object(TABLE)], "Table_inst");
        self.send(Kind::Subscribe, &[0, DONE, object(TABLE)]);
        self.send(Kind::StateInit, &[object(TABLE), TOP, SERVING]);
        self.send(Kind::StateEntry, &[object(TABLE), SERVING]);
        self.send(Kind::InitTran, &[0, object(TABLE), SERVING]);
        self.send(Kind::Run, &[]);
    }

    fn arm(&mut self, number: usize) {
        self.armed[number] = 1 + self.random.below(20);
        self.send(Kind::TimeArm, &[0, time_event(number), object(number), self.armed[number], 0, 0]);
    }

    /// One clock tick: all ready objects run.
    fn tick(&mut self) {
        self.ticks += 1;
        self.now = self.now.max(self.ticks * TICK_UNITS);
        for number in 0..PHILOSOPHERS {
            if self.armed[number] == 0 {
                continue;
            }
            self.armed[number] -= 1;
            if self.armed[number] == 0 {
                self.send(Kind::TimeAutoDisarm, &[time_event(number), object(number), 0]);
                self.send(Kind::TimePost, &[0, time_event(number), TIMEOUT, object(number), 0]);
                self.post(TICK_HANDLER, number, Event { signal: TIMEOUT, about: number, pool: 0 });
            }
        }
        if self.ticks.is_multiple_of(64) {
            let load = self.random.below(100) as u8;
            let bytes = [0x01, load, 0x06, 0, 0, 0x80, 0x3F];
            self.user(LOAD, &bytes);
        }
        self.run_above(0);
        if self.running != 0 {
            self.send(Kind::SchedIdle, &[0, self.running]);
            self.running = 0;
        }
    }

    /// Runs the ready objects of a higher priority than `floor`, the highest first.
    fn run_above(&mut self, floor: u64) {
        loop {
            let ready = (0..=PHILOSOPHERS).filter(|&number| !self.queues[number].is_empty());
            let Some(number) = ready.filter(|&number| priority(number) > floor).max_by_key(|&number| priority(number)) else {
                return;
            };
            if self.running != priority(number) {
                self.send(Kind::SchedNext, &[0, priority(number), self.running]);
                self.running = priority(number);
            }
            self.step(number);
            if floor != 0 && self.queues.iter().enumerate().all(|(other, queue)| queue.is_empty() || priority(other) <= floor) {
                self.send(Kind::SchedNext, &[0, floor, self.running]);
                self.running = floor;
            }
        }
    }

    fn post(&mut self, sender: u64, to: usize, event: Event) {
        if self.queues[to].len() as u64 >= CAPACITY[to] {
            let margin = 1;
            self.send(Kind::PostAttempt, &[0, sender, event.signal, object(to), event.pool, 1, 0, margin]);
            return;
        }
        self.queues[to].push_back(event);
        let free = CAPACITY[to] - self.queues[to].len() as u64;
        self.send(Kind::Post, &[0, sender, event.signal, object(to), event.pool, event.pool, free, free]);
    }

    fn new_event(&mut self, signal: u64) {
        self.pool_free = self.pool_free.saturating_sub(1);
        self.pool_min = self.pool_min.min(self.pool_free);
        self.send(Kind::PoolGet, &[0, POOL, self.pool_free, self.pool_min]);
        self.send(Kind::New, &[0, 12, signal]);
    }

    fn recycle(&mut self, signal: u64) {
        self.send(Kind::Gc, &[0, signal, 1, 1]);
        self.pool_free = (self.pool_free + 1).min(POOL_BLOCKS);
        self.send(Kind::PoolPut, &[0, POOL, self.pool_free]);
    }

    /// Takes the oldest event and handles it.
    fn step(&mut self, number: usize) {
        let Some(event) = self.queues[number].pop_front() else { return };
        let left = self.queues[number].len() as u64;
        let (ao, pool) = (object(number), event.pool);
        if left == 0 {
            self.send(Kind::GetLast, &[0, event.signal, ao, pool, pool]);
        } else {
            self.send(Kind::Get, &[0, event.signal, ao, pool, pool, CAPACITY[number] - left]);
        }
        let state = self.states.get(number).map_or(SERVING, |state| state.address());
        self.send(Kind::Dispatch, &[0, event.signal, ao, state]);
        if number == TABLE {
            self.serve(event);
            self.send(Kind::InternTran, &[0, event.signal, ao, SERVING]);
            self.recycle(event.signal);
        } else {
            self.philosophize(number, event);
            if pool != 0 {
                self.send(Kind::GcAttempt, &[0, event.signal, pool, 2]);
            }
        }
    }

    fn philosophize(&mut self, number: usize, event: Event) {
        let (ao, state) = (object(number), self.states[number]);
        let next = match (state, event.signal) {
            (State::Thinking, TIMEOUT) => State::Hungry,
            (State::Eating, TIMEOUT) => State::Thinking,
            (State::Hungry, EAT) if event.about == number => State::Eating,
            (State::Eating, _) => {
                self.send(Kind::Unhandled, &[event.signal, ao, state.address()]);
                self.send(Kind::Ignored, &[0, event.signal, ao, state.address()]);
                return;
            }
            _ => {
                self.send(Kind::InternTran, &[0, event.signal, ao, state.address()]);
                return;
            }
        };
        self.send(Kind::TimeDisarmAttempt, &[0, time_event(number), ao, 0]);
        self.send(Kind::StateExit, &[ao, state.address()]);
        match next {
            State::Hungry => {
                self.new_event(HUNGRY);
                self.post(ao, TABLE, Event { signal: HUNGRY, about: number, pool: 1 });
                self.run_above(priority(number));
            }
            State::Thinking => {
                self.new_event(DONE);
                self.send(Kind::Publish, &[0, ao, DONE, 1, 0]);
                self.post(ao, TABLE, Event { signal: DONE, about: number, pool: 1 });
                self.send(Kind::GcAttempt, &[0, DONE, 1, 2]);
                self.arm(number);
                self.run_above(priority(number));
            }
            State::Eating => self.arm(number),
        }
        self.send(Kind::StateEntry, &[ao, next.address()]);
        self.states[number] = next;
        self.send(Kind::Tran, &[0, event.signal, ao, state.address(), next.address()]);
    }

    fn serve(&mut self, event: Event) {
        let number = event.about;
        if event.signal == DONE {
            (self.forks[number], self.forks[right_of(number)]) = (false, false);
            self.status(number, "thinking");
            for other in 0..PHILOSOPHERS {
                if self.is_hungry[other] {
                    self.feed(other);
                }
            }
        } else {
            self.status(number, "hungry  ");
            self.is_hungry[number] = true;
            self.feed(number);
        }
    }

    /// Lets a philosopher eat, if both forks are free.
    fn feed(&mut self, number: usize) {
        let right = right_of(number);
        if self.forks[number] || self.forks[right] {
            return;
        }
        (self.forks[number], self.forks[right]) = (true, true);
        self.is_hungry[number] = false;
        self.new_event(EAT);
        self.send(Kind::Publish, &[0, object(TABLE), EAT, 1, 0]);
        self.send(Kind::SchedLock, &[0, 0, 7]);
        for to in (0..PHILOSOPHERS).rev() {
            self.post(object(TABLE), to, Event { signal: EAT, about: number, pool: 1 });
        }
        self.send(Kind::SchedUnlock, &[0, 7, 0]);
        self.send(Kind::GcAttempt, &[0, EAT, 1, 6]);
        self.pool_free = (self.pool_free + 1).min(POOL_BLOCKS);
        self.status(number, "eating  ");
    }

    /// Damages the bytes that are about to be written.
    fn damage(&mut self, damage: Damage) {
        match damage {
            Damage::Flips => {
                let len = self.bytes.len() as u64;
                for _ in 0..len.div_ceil(8 << 10) {
                    let (at, bit) = (self.random.below(len) as usize, self.random.below(8));
                    self.bytes[at] ^= 1 << bit;
                }
            }
            Damage::Cuts => {
                for _ in 0..self.bytes.len().div_ceil(16 << 10) {
                    let at = self.random.below(self.bytes.len() as u64) as usize;
                    let end = (at + 1 + self.random.below(200) as usize).min(self.bytes.len());
                    self.bytes.drain(at..end);
                }
            }
            Damage::None | Damage::Drops | Damage::Resets => {}
        }
    }
}

/// Small, fast, and the same everywhere.
#[derive(Clone, Copy)]
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((u128::from(self.0) * u128::from(end)) >> 64) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::super::decode::Decoder;
    use super::*;

    fn capture(damage: Damage) -> Vec<u8> {
        let mut out = Vec::new();
        generate(&GenerateOptions { bytes: 200_000, damage, ..GenerateOptions::default() }, &mut out).unwrap();
        out
    }

    #[test]
    fn all_records_are_sound() {
        let bytes = capture(Damage::None);
        let records = Decoder::of(GenerateOptions::default().config).records(&bytes, 0..bytes.len());
        assert_eq!((records.ok_bytes, records.damage.len()), (bytes.len() as u64, 0));
        let mut kinds: Vec<Kind> = records.frames.iter().map(|stored| stored.kind).collect();
        kinds.sort_unstable_by_key(|kind| *kind as u8);
        kinds.dedup();
        assert!(kinds.len() >= 35, "{kinds:?}");
        assert!(records.frames.windows(2).all(|pair| pair[1].seq == pair[0].seq.wrapping_add(1)));
    }

    #[test]
    fn damage_is_damage() {
        for damage in [Damage::Flips, Damage::Cuts] {
            let bytes = capture(damage);
            let records = Decoder::of(GenerateOptions::default().config).records(&bytes, 0..bytes.len());
            assert!(!records.damage.is_empty() && records.ok_bytes > 190_000, "{damage:?}");
        }
    }
}
