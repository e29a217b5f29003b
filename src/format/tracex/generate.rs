//! Realistic captures of any size, for tests, benches and `cargo xtask bench`.
//!
//! A small ThreadX is simulated in virtual time: a timer interrupt wakes a thread, which sends messages to a second one and sets event flags
//! for a third one; these use a mutex, memory and the network. The ring of the target is full, and its oldest entry is in its middle. The
//! capture depends on the options only.

use std::io::{self, Write};

use super::decode::IN_INTERRUPT;
use super::encode::{Buffer, Object};
use super::layout::{ENTRY_WORDS, HEADER_WORDS, OBJECT_WORDS, kind};
use super::names::id;
use crate::format::generated::Random;

/// Ticks of the time stamps between two timer interrupts.
const PERIOD: u64 = 10_000;

const CONTROL: u32 = 0x2000_1000;
const LOGGER: u32 = 0x2000_1100;
const NET: u32 = 0x2000_1200;
const SYSTEM: u32 = 0x2000_1300;
const QUEUE: u32 = 0x2000_2000;
const MUTEX: u32 = 0x2000_2040;
const FLAGS: u32 = 0x2000_2080;
const SEMAPHORE: u32 = 0x2000_20C0;
const POOL: u32 = 0x2000_2100;
const BLOCKS: u32 = 0x2000_2140;
const TIMER: u32 = 0x2000_2180;
const IP: u32 = 0x2000_21C0;
const SOCKET: u32 = 0x2000_2200;
const STACKS: u32 = 0x2001_0000;

/// States of threads.
const SLEEP: u32 = 4;
const IN_QUEUE: u32 = 5;
const IN_FLAGS: u32 = 7;
const IN_MUTEX: u32 = 13;
const FOREVER: u32 = u32::MAX;

/// Options of a generated capture.
#[derive(Clone, Copy, Debug)]
pub struct GenerateOptions {
    /// The size of the capture, rounded up to a whole entry.
    pub bytes: u64,
    /// Another seed is another run of the same firmware.
    pub seed: u64,
    /// Whether the target is big-endian.
    pub is_big: bool,
    /// Whether its `ULONG` has 64 bits.
    pub is_wide: bool,
    /// How many bits its clock has.
    pub time_bits: u32,
    /// Whether entries have been overwritten by other data: about one in 500.
    pub is_damaged: bool,
    /// The ticks of the clock at the start.
    pub start_ticks: u64,
    /// For how many ticks nothing happens in the middle of the events that are kept.
    pub silent_ticks: u64,
}

impl Default for GenerateOptions {
    fn default() -> Self {
        GenerateOptions {
            bytes: 1 << 16,
            seed: 1,
            is_big: false,
            is_wide: false,
            time_bits: 32,
            is_damaged: false,
            // The clock wraps soon.
            start_ticks: 0xFFFF_8000,
            silent_ticks: 0,
        }
    }
}

/// Writes a capture.
///
/// # Errors
/// Those of `out`.
pub fn generate(options: &GenerateOptions, out: &mut dyn Write) -> io::Result<()> {
    out.write_all(&generate_with_truth(options).0)
}

/// A capture, and the time of each event in it, the oldest first, in ticks without a wrap.
#[must_use]
pub fn generate_with_truth(options: &GenerateOptions) -> (Vec<u8>, Vec<u64>) {
    let word_bytes = if options.is_wide { 8 } else { 4 };
    let objects = registry(word_bytes);
    let head = HEADER_WORDS * word_bytes + objects.len() * (OBJECT_WORDS * word_bytes + super::encode::NAME_BYTES);
    let bytes = usize::try_from(options.bytes).unwrap_or(usize::MAX);
    let slots = bytes.saturating_sub(head).div_ceil(ENTRY_WORDS * word_bytes).max(1);
    let (mut target, mut is_silent) = (Target::new(options), false);
    while target.events.len() < slots + slots / 3 {
        if options.silent_ticks > 0 && !is_silent && target.events.len() > slots * 5 / 6 {
            target.next_tick += options.silent_ticks;
            is_silent = true;
        }
        target.tick();
    }
    let (events, times) = (target.events, target.times);
    let time_mask = u32::MAX >> 32u32.saturating_sub(options.time_bits.clamp(1, 32));
    let mut buffer = Buffer { is_big: options.is_big, is_wide: options.is_wide, time_mask, objects, slots, events };
    if options.is_damaged {
        let mut random = Random(options.seed ^ 0xDA3A);
        for event in &mut buffer.events {
            if random.below(500) == 0 {
                event[2] = 0x0042_0000 | random.below(0xFFFF) as u32;
            }
        }
    }
    let kept = times.len().saturating_sub(slots);
    (buffer.bytes(), times.get(kept..).unwrap_or(&[]).to_vec())
}

fn registry(word_bytes: usize) -> Vec<Object> {
    let thread = |pointer, number: u32, priority, name| {
        let parameters = [STACKS + 0x400 * number, 0x400];
        Object { kind: kind::THREAD, pointer, parameters, priority: Some(priority), name }
    };
    let object = |kind, pointer, one, two, name| Object { kind, pointer, parameters: [one, two], priority: None, name };
    vec![
        thread(SYSTEM, 0, 0, "System Timer Thread"),
        thread(CONTROL, 1, 4, "control"),
        thread(NET, 2, 8, "network"),
        thread(LOGGER, 3, 16, "logger"),
        object(kind::QUEUE, QUEUE, 16 * word_bytes as u32, 0, "messages"),
        object(kind::MUTEX, MUTEX, 1, 0, "bus"),
        object(kind::EVENT_FLAGS, FLAGS, 0, 0, "link"),
        object(kind::SEMAPHORE, SEMAPHORE, 0, 0, "packets"),
        object(kind::BYTE_POOL, POOL, 8192, 0, "heap"),
        object(kind::BLOCK_POOL, BLOCKS, 16, 64, "frames"),
        object(kind::TIMER, TIMER, 0, 10, "blink"),
        object(11, IP, 0, 0, "IP instance 0"),
        object(14, SOCKET, 0, 0, "telemetry"),
    ]
}

/// The firmware.
struct Target {
    random: Random,
    events: Vec<[u32; 8]>,
    times: Vec<u64>,
    now: u64,
    mask: u64,
    next_tick: u64,
    /// The thread that runs, or 0.
    running: u32,
    queued: u32,
    blocks: u32,
    /// Whether the logger waits for a message.
    is_logger_waiting: bool,
    round: u32,
}

impl Target {
    fn new(options: &GenerateOptions) -> Target {
        Target {
            random: Random(options.seed),
            events: Vec::new(),
            times: Vec::new(),
            now: options.start_ticks,
            mask: u64::MAX >> (64 - options.time_bits.clamp(1, 32)),
            next_tick: options.start_ticks,
            running: 0,
            queued: 0,
            blocks: 16,
            is_logger_waiting: true,
            round: 0,
        }
    }

    fn put(&mut self, thread: u32, priority: u32, id: u32, info: [u32; 4]) {
        self.now += 5 + self.random.below(60);
        let [one, two, three, four] = info;
        self.events.push([thread, priority, id, (self.now & self.mask) as u32, one, two, three, four]);
        self.times.push(self.now);
    }

    /// An event of the running thread.
    fn call(&mut self, id: u32, info: [u32; 4]) {
        let priority = match self.running {
            CONTROL => 4,
            NET => 8,
            _ => 16,
        };
        self.put(self.running, 0x8000_0000 | priority << 16 | priority, id, info);
    }

    /// An event of an interrupt.
    fn isr(&mut self, id: u32, info: [u32; 4]) {
        self.put(IN_INTERRUPT, self.running, id, info);
    }

    /// The stack pointer of the running thread.
    fn stack(&mut self) -> u32 {
        let number = match self.running {
            CONTROL => 1,
            NET => 2,
            _ => 3,
        };
        STACKS + 0x400 * number + 0x100 + 4 * self.random.below(0x80) as u32
    }

    /// The running thread waits, and another one runs, or none (0).
    fn suspend(&mut self, state: u32, next: u32) {
        let stack = self.stack();
        self.call(id::THREAD_SUSPEND, [self.running, state, stack, next]);
        self.running = next;
    }

    /// The timer interrupt wakes the control thread.
    fn tick_isr(&mut self) {
        self.isr(id::ISR_ENTER, [STACKS, 15, 1, 0]);
        self.isr(id::THREAD_RESUME, [CONTROL, SLEEP, STACKS, CONTROL]);
        self.isr(id::ISR_EXIT, [STACKS, 15, 1, 0]);
        self.running = CONTROL;
    }

    /// A tick of the kernel, and the work that follows it.
    fn tick(&mut self) {
        self.next_tick += PERIOD;
        self.now = self.now.max(self.next_tick);
        self.round += 1;
        self.tick_isr();
        // The control thread wakes the others.
        self.call(id::EVENT_FLAGS_SET, [FLAGS, 1, 0, 1]);
        let stack = self.stack();
        self.call(id::THREAD_RESUME, [NET, IN_FLAGS, stack, CONTROL]);
        for _ in 0..1 + self.random.below(2) {
            self.send();
        }
        let (channel, value) = (self.round % 4, self.random.below(4096) as u32);
        self.call(4096 + channel, [channel, value, 0, 0]);
        self.call(id::THREAD_SLEEP, [1, 0, stack, 0]);
        self.suspend(SLEEP, NET);
        self.network();
        self.logger();
    }

    fn send(&mut self) {
        let queued = self.queued;
        self.call(id::QUEUE_SEND, [QUEUE, STACKS + 0x500, FOREVER, queued]);
        if std::mem::take(&mut self.is_logger_waiting) {
            let stack = self.stack();
            self.call(id::THREAD_RESUME, [LOGGER, IN_QUEUE, stack, CONTROL]);
        } else {
            self.queued += 1;
        }
    }

    fn network(&mut self) {
        let length = 40 + self.random.below(1400) as u32;
        // nx_packet_allocate, nx_udp_socket_send, nx_internal_ip_send.
        self.call(386, [IP, 0x2002_0000, 0, self.blocks]);
        self.call(436, [SOCKET, 0x2002_0000, length, 0xC0A8_0107]);
        self.call(309, [IP, 0xC0A8_0107, 0x2002_0000, length]);
        if self.blocks > 8 {
            self.call(id::BLOCK_ALLOCATE, [BLOCKS, 0x2003_0000, 0, self.blocks]);
            self.blocks -= 1;
        } else {
            let stack = self.stack();
            self.call(id::BLOCK_RELEASE, [BLOCKS, 0x2003_0000, 0, stack]);
            self.blocks += 1;
        }
        let stack = self.stack();
        self.call(id::SEMAPHORE_PUT, [SEMAPHORE, 0, 0, stack]);
        self.call(id::SEMAPHORE_GET, [SEMAPHORE, 0, 1, stack]);
        self.call(id::EVENT_FLAGS_GET, [FLAGS, 1, 0, 3]);
        self.suspend(IN_FLAGS, LOGGER);
    }

    fn logger(&mut self) {
        self.call(id::MUTEX_GET, [MUTEX, FOREVER, 0, 0]);
        let size = 16 * (1 + self.random.below(8) as u32);
        self.call(id::BYTE_ALLOCATE, [POOL, 0x2004_0000, size, 0]);
        if self.round.is_multiple_of(5) {
            self.inversion();
        }
        self.call(id::BYTE_RELEASE, [POOL, 0x2004_0000, 0, 8000 - size]);
        let stack = self.stack();
        self.call(id::MUTEX_PUT, [MUTEX, LOGGER, 1, stack]);
        while self.queued > 0 {
            let queued = self.queued;
            self.call(id::QUEUE_RECEIVE, [QUEUE, STACKS + 0xC00, FOREVER, queued]);
            self.queued -= 1;
        }
        self.call(id::QUEUE_RECEIVE, [QUEUE, STACKS + 0xC00, FOREVER, 0]);
        self.is_logger_waiting = true;
        self.suspend(IN_QUEUE, 0);
    }

    /// The control thread needs the mutex that the logger has.
    fn inversion(&mut self) {
        self.next_tick += PERIOD;
        self.now = self.now.max(self.next_tick);
        self.tick_isr();
        self.call(id::MUTEX_GET, [MUTEX, 50, LOGGER, 1]);
        self.suspend(IN_MUTEX, LOGGER);
        let stack = self.stack();
        self.call(id::MUTEX_PUT, [MUTEX, LOGGER, 1, stack]);
        self.call(id::THREAD_RESUME, [CONTROL, IN_MUTEX, stack, CONTROL]);
        self.running = CONTROL;
        let stack = self.stack();
        self.call(id::MUTEX_PUT, [MUTEX, CONTROL, 1, stack]);
        self.call(id::THREAD_SLEEP, [1, 0, stack, 0]);
        self.suspend(SLEEP, LOGGER);
        self.call(id::MUTEX_GET, [MUTEX, FOREVER, 0, 0]);
    }
}
