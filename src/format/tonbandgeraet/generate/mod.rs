//! Realistic captures of any size, for tests, benches and `cargo xtask gen`.
//!
//! A small FreeRTOS is simulated ([`kernel`]) with an application on it ([`firmware`]): scheduling, levels, ownership of mutexes and
//! waking follow the rules of the real kernel, and events come in the order in which the real tracer writes them. The capture
//! depends on the options only, and memory does not grow with the size.

mod firmware;
mod kernel;

use std::io::{self, Write};

use self::kernel::Kernel;
use super::encode::encode;
use super::record::Record;

/// Options of a generated capture.
#[derive(Clone, Copy, Debug)]
pub struct GenerateOptions {
    /// The capture ends with the frame that reaches this size, in bytes. (Cut-outs may leave it a little smaller.)
    pub bytes: u64,
    /// Another seed is another run of the same firmware.
    pub seed: u64,
    /// Cores of the target, at least 1. Each runs a kernel and an application of its own; `core_id` records switch between them.
    pub cores: u16,
    /// The damage to the capture.
    pub damage: Damage,
    /// A task whose computations take longer, as after a change of its code.
    pub slow_task: Option<SlowTask>,
    /// How long the target has run at the start, in ticks of the timer.
    pub start_ticks: u64,
    /// In the middle of the capture, nothing is recorded for this number of ticks of the timer.
    pub silent_ticks: u64,
    /// The ids of events that the tracer is configured not to record.
    pub filtered: &'static [u8],
}

/// A task whose computations take a different time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlowTask {
    task: usize,
    percent: u32,
}

impl SlowTask {
    /// The task of this name takes `percent` of its usual time; `None` if there is no such task.
    #[must_use]
    pub fn named(name: &str, percent: u32) -> Option<SlowTask> {
        let task = firmware::TASKS.iter().position(|task| task.name == name)?;
        Some(SlowTask { task, percent })
    }

    /// The time of a computation that usually takes `ticks` of the timer.
    fn work(slow: Option<SlowTask>, task: usize, ticks: u64) -> u64 {
        match slow {
            Some(slow) if slow.task == task => ticks * u64::from(slow.percent) / 100,
            _ => ticks,
        }
    }
}

impl Default for GenerateOptions {
    fn default() -> Self {
        GenerateOptions {
            bytes: 1 << 20,
            seed: 1,
            cores: 1,
            damage: Damage::None,
            slow_task: None,
            start_ticks: 0,
            silent_ticks: 0,
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
    /// About once in 4096 events, up to 64 events are lost on the target, which counts them.
    Drops,
}

/// The length of a run of records of one core, in ticks of the timer.
const BLOCK_TICKS: u64 = 40_000;

/// Writes a capture.
///
/// # Errors
/// Those of `out`.
pub fn generate(options: &GenerateOptions, out: &mut dyn Write) -> io::Result<()> {
    let mut stream = Stream::new(options, out);
    let cores = options.cores.max(1);
    let mut kernels: Vec<Kernel> = (0..cores).map(|core| Kernel::new(core, options, &mut stream)).collect();
    for kernel in &kernels {
        stream.write_frame(&Record::CoreId { ts: 0, core_id: kernel.core() });
        kernel.describe(&mut stream);
    }
    stream.write_frame(&Record::CoreId { ts: 0, core_id: 0 });

    let mut block_end = 0;
    while !stream.is_full() {
        block_end += BLOCK_TICKS;
        for kernel in &mut kernels {
            if cores > 1 {
                stream.write_frame(&Record::CoreId { ts: kernel.now(), core_id: kernel.core() });
            }
            kernel.run(block_end, &mut stream);
        }
        stream.flush_large()?;
    }
    stream.flush()
}

/// The capture as it is written: frames, the drop counter, damage.
pub(super) struct Stream<'w> {
    out: &'w mut dyn Write,
    buffer: Vec<u8>,
    written: u64,
    options: GenerateOptions,
    random: Random,
    /// Timed events since the last drop counter.
    since_counter: u32,
    dropped: u32,
    drops_ahead: u32,
    /// The last task id and queue id given, for all cores.
    last_task_id: u32,
    last_queue_id: u32,
}

/// The target sends its drop counter before every N events.
const EVENTS_PER_COUNTER: u32 = 50;

impl<'w> Stream<'w> {
    fn new(options: &GenerateOptions, out: &'w mut dyn Write) -> Stream<'w> {
        Stream {
            out,
            buffer: Vec::new(),
            written: 0,
            options: *options,
            random: Random::new(options.seed ^ 0xDA3A_6ED0),
            since_counter: EVENTS_PER_COUNTER - 1,
            dropped: 0,
            drops_ahead: 0,
            last_task_id: 0,
            last_queue_id: 0,
        }
    }

    fn is_full(&self) -> bool {
        self.written + self.buffer.len() as u64 >= self.options.bytes
    }

    /// Writes a record that is not counted and cannot be lost.
    fn write_frame(&mut self, record: &Record<&[u8]>) {
        let is_later = (self.written + self.buffer.len() as u64) * 2 >= self.options.bytes;
        let silent = if is_later { self.options.silent_ticks } else { 0 };
        let mut record = *record;
        if let Some(ts) = record.ts() {
            record.set_ts(ts + self.options.start_ticks + silent);
        }
        encode(&record, &mut self.buffer);
    }

    /// Writes an event, and the drop counter before it when that is due.
    fn event(&mut self, ts: u64, record: &Record<&[u8]>) {
        if self.options.filtered.contains(&record.id()) {
            return;
        }
        if self.is_dropped() {
            self.dropped = self.dropped.wrapping_add(1);
            self.since_counter = EVENTS_PER_COUNTER - 1;
            return;
        }
        self.since_counter += 1;
        if self.since_counter == EVENTS_PER_COUNTER {
            self.since_counter = 0;
            self.write_frame(&Record::DroppedEvtCnt { ts, cnt: self.dropped });
        }
        self.write_frame(record);
    }

    fn is_dropped(&mut self) -> bool {
        if self.options.damage != Damage::Drops {
            return false;
        }
        if self.drops_ahead == 0 && self.random.one_in(4096) {
            self.drops_ahead = 1 + self.random.below(64);
        } else {
            self.drops_ahead = self.drops_ahead.saturating_sub(1);
        }
        self.drops_ahead > 0
    }

    fn next_task_id(&mut self) -> u32 {
        self.last_task_id += 1;
        self.last_task_id
    }

    fn next_queue_id(&mut self) -> u32 {
        self.last_queue_id += 1;
        self.last_queue_id
    }

    fn flush_large(&mut self) -> io::Result<()> {
        if self.buffer.len() < 64 << 10 && !self.is_full() {
            return Ok(());
        }
        self.flush()
    }

    fn flush(&mut self) -> io::Result<()> {
        match self.options.damage {
            Damage::Flips => self.flip_bits(),
            Damage::Cuts => self.cut_out(),
            Damage::None | Damage::Drops => {}
        }
        self.out.write_all(&self.buffer)?;
        self.written += self.buffer.len() as u64;
        self.buffer.clear();
        Ok(())
    }

    fn flip_bits(&mut self) {
        let mut at = self.random.below(16 << 10) as usize;
        while let Some(byte) = self.buffer.get_mut(at) {
            *byte ^= 1 << self.random.below(8);
            at += 1 + self.random.below(16 << 10) as usize;
        }
    }

    fn cut_out(&mut self) {
        let mut at = self.random.below(32 << 10) as usize;
        while at < self.buffer.len() {
            let end = (at + 1 + self.random.below(200) as usize).min(self.buffer.len());
            self.buffer.drain(at..end);
            at += 1 + self.random.below(32 << 10) as usize;
        }
    }
}

/// SplitMix64: small, fast, and the same everywhere.
#[derive(Clone, Debug)]
pub(super) struct Random {
    state: u64,
}

impl Random {
    fn new(seed: u64) -> Random {
        Random { state: seed }
    }

    fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// A number below `limit` (0 if that is 0).
    fn below(&mut self, limit: u32) -> u32 {
        (((self.next() >> 32) * u64::from(limit)) >> 32) as u32
    }

    fn one_in(&mut self, count: u32) -> bool {
        self.below(count) == 0
    }
}

#[cfg(test)]
mod tests;
