//! The captures under `testdata/tracex`: one for each behaviour.

use traceconv::format::tracex::decode::{IN_INITIALIZATION, IN_INTERRUPT};
use traceconv::format::tracex::encode::{Buffer, Object};
use traceconv::format::tracex::generate::GenerateOptions;
use traceconv::format::tracex::layout::kind;
use traceconv::format::tracex::names::id;

use crate::common::golden::Capture;
use crate::run::generated_with;

pub const MAIN: u32 = 0x2000_1000;
pub const WORKER: u32 = 0x2000_1100;
pub const THIRD: u32 = 0x2000_1200;
pub const QUEUE: u32 = 0x2000_2000;
pub const MUTEX: u32 = 0x2000_2040;
pub const FLAGS: u32 = 0x2000_2080;
pub const SEMAPHORE: u32 = 0x2000_20C0;
pub const POOL: u32 = 0x2000_2100;
pub const BLOCKS: u32 = 0x2000_2140;
pub const TIMER: u32 = 0x2000_2180;
pub const FOREVER: u32 = u32::MAX;

/// States of threads.
pub const SUSPENDED: u32 = 3;
pub const SLEEP: u32 = 4;
pub const IN_QUEUE: u32 = 5;
pub const IN_SEMAPHORE: u32 = 6;
pub const IN_FLAGS: u32 = 7;
pub const IN_MUTEX: u32 = 13;

/// The events of a target, each 100 ticks after the one before.
#[derive(Clone, Debug, Default)]
pub struct Events {
    pub words: Vec<[u32; 8]>,
    pub now: u32,
    pub core: u32,
}

impl Events {
    pub fn put(&mut self, thread: u32, priority: u32, id: u32, info: [u32; 4]) -> &mut Events {
        self.now = self.now.wrapping_add(100);
        let [one, two, three, four] = info;
        self.words.push([thread, priority, self.core << 24 | id, self.now, one, two, three, four]);
        self
    }

    /// An event of a thread, with the priority that the registry has.
    pub fn by(&mut self, thread: u32, id: u32, info: [u32; 4]) -> &mut Events {
        let priority = match thread {
            MAIN => 4,
            WORKER => 8,
            _ => 16,
        };
        self.put(thread, 0x8000_0000 | priority << 16 | priority, id, info)
    }

    /// An event of an interrupt, which interrupted a thread, or none (0).
    pub fn isr(&mut self, interrupted: u32, id: u32, info: [u32; 4]) -> &mut Events {
        self.put(IN_INTERRUPT, interrupted, id, info)
    }

    pub fn resume(&mut self, by: u32, thread: u32, state: u32, next: u32) -> &mut Events {
        self.by(by, id::THREAD_RESUME, [thread, state, 0, next])
    }

    pub fn suspend(&mut self, thread: u32, state: u32, next: u32) -> &mut Events {
        self.by(thread, id::THREAD_SUSPEND, [thread, state, 0, next])
    }

    /// The trace buffer, with as many entries as there are events.
    pub fn buffer(&self) -> Buffer {
        let slots = self.words.len();
        Buffer { is_big: false, is_wide: false, time_mask: u32::MAX, objects: registry(), slots, events: self.words.clone() }
    }
}

pub fn registry() -> Vec<Object> {
    let thread = |pointer, priority, name| {
        let parameters = [0x2001_0000 + (pointer & 0xF00) * 4, 0x400];
        Object { kind: kind::THREAD, pointer, parameters, priority: Some(priority), name }
    };
    let object = |kind, pointer, name| Object { kind, pointer, parameters: [0, 0], priority: None, name };
    vec![
        thread(MAIN, 4, "main"),
        thread(WORKER, 8, "worker"),
        thread(THIRD, 16, "third"),
        object(kind::QUEUE, QUEUE, "messages"),
        object(kind::MUTEX, MUTEX, "bus"),
        object(kind::EVENT_FLAGS, FLAGS, "link"),
        object(kind::SEMAPHORE, SEMAPHORE, "packets"),
        object(kind::BYTE_POOL, POOL, "heap"),
        object(kind::BLOCK_POOL, BLOCKS, "frames"),
        object(kind::TIMER, TIMER, "blink"),
        object(11, 0x2000_21C0, "IP instance 0"),
    ]
}

/// Services of every kind, with waits, handed-over objects and failures.
fn services() -> Events {
    let mut events = Events::default();
    events.put(IN_INITIALIZATION, 0, id::QUEUE_CREATE, [QUEUE, 4, 0x2000_3000, 64]);
    events.put(IN_INITIALIZATION, 0, id::SEMAPHORE_CREATE, [SEMAPHORE, 1, 0, 0]);
    events.put(IN_INITIALIZATION, 0, id::TIMER_CREATE, [TIMER, 5, 10, 1]);
    events.put(IN_INITIALIZATION, 0, id::THREAD_CREATE, [WORKER, 8, 0x2001_0400, 1024]);
    // The worker waits for a message, which main hands over; the next one is queued.
    events.by(WORKER, id::QUEUE_RECEIVE, [QUEUE, 0x2001_0500, FOREVER, 0]).suspend(WORKER, IN_QUEUE, MAIN);
    events.by(MAIN, id::QUEUE_SEND, [QUEUE, 0x2001_0100, 0, 0]).resume(MAIN, WORKER, IN_QUEUE, MAIN);
    events.by(MAIN, id::QUEUE_SEND, [QUEUE, 0x2001_0100, 0, 0]);
    // The queue is full for main until the worker takes a message.
    events.by(MAIN, id::QUEUE_FRONT_SEND, [QUEUE, 0x2001_0100, 20, 4]).suspend(MAIN, IN_QUEUE, WORKER);
    events.by(WORKER, id::QUEUE_RECEIVE, [QUEUE, 0x2001_0500, FOREVER, 4]).resume(WORKER, MAIN, IN_QUEUE, MAIN);
    events.by(MAIN, id::QUEUE_FLUSH, [QUEUE, 0, 0, 0]).by(MAIN, id::QUEUE_RECEIVE, [QUEUE, 0, 0, 0]);
    // A semaphore: taken, not there, waited for until the time is over.
    events.by(MAIN, id::SEMAPHORE_GET, [SEMAPHORE, 0, 1, 0]).by(MAIN, id::SEMAPHORE_GET, [SEMAPHORE, 0, 0, 0]);
    events.by(MAIN, id::SEMAPHORE_CEILING_PUT, [SEMAPHORE, 1, 0, 1]);
    events.by(MAIN, id::SEMAPHORE_GET, [SEMAPHORE, 7, 0, 0]).suspend(MAIN, IN_SEMAPHORE, WORKER);
    events.isr(WORKER, id::ISR_ENTER, [0, 15, 1, 0]).isr(WORKER, id::THREAD_RESUME, [MAIN, IN_SEMAPHORE, 0, MAIN]);
    events.isr(WORKER, id::ISR_EXIT, [0, 15, 1, 0]);
    // The worker has the mutex that main needs; the third thread runs meanwhile.
    events.by(MAIN, id::THREAD_SLEEP, [3, 0, 0, 0]).suspend(MAIN, SLEEP, WORKER);
    events.by(WORKER, id::MUTEX_GET, [MUTEX, FOREVER, 0, 0]).by(WORKER, id::MUTEX_GET, [MUTEX, FOREVER, WORKER, 1]);
    events.isr(WORKER, id::THREAD_RESUME, [MAIN, SLEEP, 0, MAIN]);
    events.by(MAIN, id::MUTEX_GET, [MUTEX, 0, WORKER, 2]);
    events.by(MAIN, id::MUTEX_GET, [MUTEX, 50, WORKER, 2]).suspend(MAIN, IN_MUTEX, WORKER);
    events.by(WORKER, id::THREAD_RELINQUISH, [0, THIRD, 0, 0]).by(THIRD, 4097, [1, 2, 3, 4]);
    events.put(WORKER, 0x8004_0004, id::MUTEX_PUT, [MUTEX, WORKER, 2, 0]);
    events.put(WORKER, 0x8004_0004, id::MUTEX_PUT, [MUTEX, WORKER, 1, 0]);
    events.put(WORKER, 0x8004_0004, id::THREAD_RESUME, [MAIN, IN_MUTEX, 0, MAIN]);
    events.by(MAIN, id::MUTEX_PUT, [MUTEX, MAIN, 1, 0]);
    // Event flags, memory, a timer, priorities, another thread suspended.
    events.by(MAIN, id::EVENT_FLAGS_GET, [FLAGS, 3, 4, 0]).suspend(MAIN, IN_FLAGS, WORKER);
    events.by(WORKER, id::EVENT_FLAGS_SET, [FLAGS, 1, 0, 1]).resume(WORKER, MAIN, IN_FLAGS, MAIN);
    events.by(MAIN, id::EVENT_FLAGS_GET, [FLAGS, 5, 5, 3]).by(MAIN, id::EVENT_FLAGS_SET, [FLAGS, 2, 0, 0]);
    events.by(MAIN, id::EVENT_FLAGS_SET, [FLAGS, !2, 2, 0]);
    events.by(MAIN, id::BLOCK_ALLOCATE, [BLOCKS, 0x2003_0000, 0, 16]).by(MAIN, id::BLOCK_RELEASE, [BLOCKS, 0x2003_0000, 0, 0]);
    events.by(MAIN, id::BYTE_ALLOCATE, [POOL, 0x2004_0000, 100, 0]).by(MAIN, id::BYTE_RELEASE, [POOL, 0x2004_0000, 0, 900]);
    events.by(MAIN, id::TIMER_DEACTIVATE, [TIMER, 0, 0, 0]).by(MAIN, id::TIMER_CHANGE, [TIMER, 1, 2, 0]);
    events.by(MAIN, id::TIMER_ACTIVATE, [TIMER, 0, 0, 0]);
    events.by(MAIN, id::THREAD_PRIORITY_CHANGE, [WORKER, 9, 8, 0]);
    // thread_suspend, as a service for another thread.
    events.by(MAIN, 114, [WORKER, 0, 0, 0]).by(MAIN, id::THREAD_SUSPEND, [WORKER, SUSPENDED, 0, MAIN]);
    events.by(MAIN, 111, [WORKER, SUSPENDED, 0, 0]).resume(MAIN, WORKER, SUSPENDED, MAIN);
    events.by(MAIN, id::THREAD_DELETE, [THIRD, 0, 0, 0]).by(MAIN, id::MUTEX_DELETE, [MUTEX, 0, 0, 0]);
    events.by(MAIN, id::THREAD_SLEEP, [1, 0, 0, 0]).suspend(MAIN, SLEEP, 0);
    // The kernel is idle; an interrupt without its begin wakes the worker.
    events.isr(0, id::ISR_EXIT, [0, 16, 1, 0]).isr(0, 250, [0x2005_0000, 0, 0, 0]);
    events
}

/// Other components, an event that is not documented, nested interrupts and one that never ends.
fn components() -> Events {
    let mut events = Events::default();
    for number in [201, 247, 309, 436, 400, 475, 601, 786, 900, 2000, 4096, 65535] {
        events.by(MAIN, number, [0x2000_21C0, 0xC0A8_0107, 7, number]);
    }
    events.isr(MAIN, id::ISR_ENTER, [0, 1, 1, 0]).isr(MAIN, id::ISR_ENTER, [0, 2, 2, 0]).isr(MAIN, 386, [1, 2, 3, 4]);
    events.isr(MAIN, id::ISR_EXIT, [0, 2, 2, 0]).isr(MAIN, id::TIME_SLICE, [WORKER, 1, 0, 0]);
    events.by(WORKER, id::RUNNING, [0; 4]).by(WORKER, 120, [77, 0x2001_0480, 0, 0]);
    events
}

/// Two cores of ThreadX SMP.
fn two_cores() -> Events {
    let mut events = Events::default();
    for _ in 0..4 {
        events.core = 0;
        events.by(MAIN, id::SEMAPHORE_PUT, [SEMAPHORE, 0, 1, 0]).resume(MAIN, WORKER, IN_SEMAPHORE, MAIN);
        events.core = 1;
        events.by(WORKER, id::SEMAPHORE_GET, [SEMAPHORE, FOREVER, 0, 0]).suspend(WORKER, IN_SEMAPHORE, 0);
    }
    events
}

pub fn all() -> Vec<Capture> {
    let made = |options: GenerateOptions| generated_with(&GenerateOptions { bytes: 6_000, ..options });
    let base = GenerateOptions::default();
    // A ring that is not full, with a clock of 16 bits that wraps.
    let mut unfilled = components();
    unfilled.words.iter_mut().enumerate().for_each(|(index, words)| words[3] = 0xF000 + 700 * index as u32);
    let unfilled = Buffer { is_big: true, time_mask: 0xFFFF, slots: 40, ..unfilled.buffer() };
    // Entries overwritten by other data, and a ring whose end is missing.
    let mut damaged = services();
    damaged.words[9] = [0x2001_2345, 7, 0x0055_5555, 1, 2, 3, 4, 5];
    damaged.words[20][3] = 0x7000_0000;
    let damaged = damaged.buffer().bytes();
    let captures = [
        ("services", services().buffer().bytes()),
        ("components", components().buffer().bytes()),
        ("unfilled", unfilled.bytes()),
        ("two_cores", two_cores().buffer().bytes()),
        ("damaged", damaged[..damaged.len() - 50].to_vec()),
        ("generated", made(base)),
        ("generated_damaged", made(GenerateOptions { is_damaged: true, is_big: true, time_bits: 16, seed: 3, ..base })),
    ];
    captures.into_iter().map(|(name, bytes)| Capture { name: name.to_owned(), bytes }).collect()
}
