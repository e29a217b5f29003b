//! Realistic captures of any size, for tests, benches and `cargo xtask bench`.
//!
//! A small FreeRTOS is simulated in virtual time: on each core a tick interrupt wakes tasks, which send and receive, mark, print, sample
//! and wait. With two cores the packets have Espressif's bit for the core. The capture depends on the options only.

use std::io::{self, Write};

use super::encode::{self, numbers, numbers_and_text};
use super::packet::Reading;
use super::record::{extended, id};
pub use crate::format::generated::Damage;
use crate::format::generated::Random;

/// Ticks of the time stamps per second.
pub const SYS_FREQ: u32 = 40_000_000;

/// The address that ids count from.
const RAM_BASE: u32 = 0x2000_0000;

/// The ticks between two tick interrupts.
const PERIOD: u64 = SYS_FREQ as u64 / 1000;

/// The ids of the tasks of each core; the last is the idle task.
const TASKS: [(u32, &str, u32); 4] = [(0x100, "control", 5), (0x200, "sensor", 4), (0x300, "log", 2), (0x400, "IDLE", 0)];
const QUEUE: u32 = 0x40;
const TIMER: u32 = 0x50;
const HEAP: u32 = 0x60;
/// A variable on a stack.
const STACK: u32 = 0x0C00_0F94;

/// Options of a generated capture.
#[derive(Clone, Copy, Debug)]
pub struct GenerateOptions {
    /// The capture ends with the packet that reaches this size, in bytes.
    pub bytes: u64,
    /// Another seed is another run of the same firmware.
    pub seed: u64,
    /// Whether two cores send into one stream, as Espressif's do.
    pub has_two_cores: bool,
    /// Whether the buffer of the target overflows about once in 500 packets.
    pub overflows: bool,
    /// The damage between the target and the file.
    pub damage: Damage,
    /// After how many packets the target restarts.
    pub restart_after: Option<u64>,
    /// How long the target has run at the start, in ticks of the time stamps.
    pub start_ticks: u64,
    /// In the middle of the capture, nothing is recorded for this number of ticks. Less than 2³² can be sent.
    pub silent_ticks: u64,
    /// The ids of packets that the target is told not to send.
    pub filtered: &'static [u8],
}

impl Default for GenerateOptions {
    fn default() -> Self {
        GenerateOptions {
            bytes: 1 << 20,
            seed: 1,
            has_two_cores: false,
            overflows: false,
            damage: Damage::None,
            restart_after: None,
            start_ticks: 0,
            silent_ticks: 0,
            filtered: &[],
        }
    }
}

/// A packet of a generated capture: its time in ticks since the first start, and where it begins. Restarts take no time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Truth {
    /// The time, in ticks.
    pub ticks: u64,
    /// Its id.
    pub id: u16,
    /// Its core.
    pub core: u8,
}

/// Writes a capture.
///
/// # Errors
/// Those of `out`.
pub fn generate(options: &GenerateOptions, out: &mut dyn Write) -> io::Result<()> {
    out.write_all(&run(options).0)
}

/// A capture, and each packet in it that was not dropped by the target.
#[must_use]
pub fn generate_with_truth(options: &GenerateOptions) -> (Vec<u8>, Vec<Truth>) {
    run(options)
}

fn run(options: &GenerateOptions) -> (Vec<u8>, Vec<Truth>) {
    let reading = if options.has_two_cores { Reading::CoreBit } else { Reading::Plain };
    let mut target = Target {
        options: *options,
        reading,
        random: Random(options.seed),
        bytes: encode::header(reading).to_vec(),
        truth: Vec::new(),
        now: options.start_ticks + 1000,
        sent: options.start_ticks,
        packets: 0,
        dropping: None,
        dropped: 0,
        samples: 0,
    };
    target.start();
    let mut cores: Vec<Core> = (0..if options.has_two_cores { 2 } else { 1 }).map(Core::new).collect();
    cores.iter_mut().for_each(|core| core.next_tick += options.start_ticks);
    let limit = usize::try_from(options.bytes).unwrap_or(usize::MAX);
    let mut restart = options.restart_after;
    let mut silent = options.silent_ticks;
    while target.bytes.len() < limit {
        if target.bytes.len() > limit / 2 {
            target.now += silent;
            cores.iter_mut().for_each(|core| core.next_tick += silent);
            silent = 0;
        }
        if restart.is_some_and(|after| target.packets >= after) {
            restart = None;
            (target.now, target.sent) = (1000, 0);
            target.start();
            cores.iter_mut().enumerate().for_each(|(number, core)| *core = Core::new(number as u8));
        }
        let Some(core) = cores.iter_mut().min_by_key(|core| core.next_tick) else { break };
        core.tick(&mut target);
    }
    // The header and the start are spared: without them nothing would have a name.
    (options.damage.to(target.bytes, 1500, &mut target.random), target.truth)
}

/// The library on the target.
struct Target {
    options: GenerateOptions,
    reading: Reading,
    random: Random,
    bytes: Vec<u8>,
    truth: Vec<Truth>,
    now: u64,
    /// The time of the last packet.
    sent: u64,
    packets: u64,
    /// How many more packets find the buffer full.
    dropping: Option<u32>,
    dropped: u32,
    samples: u32,
}

impl Target {
    fn put(&mut self, core: u8, id: u16, payload: &[u8]) {
        self.now += 40 + self.random.below(200);
        if u8::try_from(id).is_ok_and(|id| self.options.filtered.contains(&id)) {
            return;
        }
        if self.options.overflows && self.dropping.is_none() && id > 30 && self.random.below(500) == 0 {
            // This packet is lost without being counted.
            self.dropping = Some(self.random.below(40) as u32);
            return;
        }
        match &mut self.dropping {
            Some(0) => {
                self.dropping = None;
                let count = numbers(&[self.dropped]);
                self.send(core, id::OVERFLOW, &count);
            }
            Some(left) => {
                *left -= 1;
                self.dropped += 1;
                return;
            }
            None => {}
        }
        self.send(core, id, payload);
    }

    fn send(&mut self, core: u8, id: u16, payload: &[u8]) {
        encode::packet(self.reading, core, id, payload, (self.now - self.sent) as u32, &mut self.bytes);
        self.sent = self.now;
        self.packets += 1;
        self.truth.push(Truth { ticks: self.now, id, core });
    }

    fn start(&mut self) {
        encode::sync(&mut self.bytes);
        self.put(0, id::TRACE_START, &[]);
        self.put(0, id::INIT, &numbers(&[SYS_FREQ, 4 * SYS_FREQ, RAM_BASE, 2]));
        let device = if self.options.has_two_cores { "esp32,C=xtensa" } else { "STM32F407,C=Cortex-M4" };
        self.put(0, id::SYSDESC, &numbers_and_text(&[], &format!("N=demo,D={device},O=FreeRTOS")));
        self.put(0, id::SYSDESC, &numbers_and_text(&[], "I#15=SysTick,I#54=UART"));
        let cycles = numbers(&[self.now as u32]);
        self.put(0, id::SYSTIME_CYCLES, &cycles);
        for core in 0..=u8::from(self.options.has_two_cores) {
            for (task, name, priority) in TASKS {
                let task = task + u32::from(core);
                let suffix = if core == 0 { String::new() } else { core.to_string() };
                self.put(core, id::TASK_INFO, &numbers_and_text(&[task, priority], &format!("{name}{suffix}")));
                self.put(core, id::STACK_INFO, &numbers(&[task, RAM_BASE + task * 64, 1024, 200 + 8 * priority]));
            }
        }
        self.put(0, id::NAME_RESOURCE, &numbers_and_text(&[QUEUE], "samples"));
        self.put(0, id::NAME_RESOURCE, &numbers_and_text(&[TIMER], "blink"));
        self.put(0, id::EX, &numbers_and_text(&[extended::NAME_MARKER, 1], "filter"));
        let mut register = numbers_and_text(&[extended::REGISTER_DATA, 3], "speed");
        register.extend(numbers(&[1, 0]));
        self.put(0, id::EX, &register);
        self.put(0, id::NUMMODULES, &numbers(&[1]));
        self.put(0, id::MODULEDESC, &numbers_and_text(&[0, 512], "M=radio, 0 send bytes=%u to=%x, 1 sleep"));
    }

    /// The ids of the kernel's functions depend on the port.
    fn function(&self, plain: u16, espressif: u16) -> u16 {
        if self.options.has_two_cores { espressif } else { plain }
    }
}

/// A core and its tasks.
struct Core {
    number: u8,
    next_tick: u64,
    ticks: u64,
    /// The tick at which each task is to be woken.
    wake: [u64; 3],
}

impl Core {
    fn new(number: u8) -> Core {
        Core { number, next_tick: 20_000 + 7_000 * u64::from(number), ticks: 0, wake: [1, 2, 3] }
    }

    fn task(&self, index: usize) -> u32 {
        TASKS[index].0 + u32::from(self.number)
    }

    /// A tick interrupt, and the work of the tasks that it wakes.
    fn tick(&mut self, target: &mut Target) {
        let core = self.number;
        target.now = target.now.max(self.next_tick);
        self.next_tick += PERIOD;
        self.ticks += 1;
        target.put(core, id::ISR_ENTER, &numbers(&[15]));
        let woken: Vec<usize> = (0..3).filter(|&index| self.wake[index] <= self.ticks).collect();
        for &index in &woken {
            target.put(core, id::TASK_START_READY, &numbers(&[self.task(index)]));
        }
        if target.random.below(20) == 0 {
            target.put(core, id::ISR_ENTER, &numbers(&[54]));
            let give = target.function(96, 54);
            // SEGGER's port sends two of the arguments, Espressif's all.
            let arguments: &[u32] = if target.options.has_two_cores { &[QUEUE, 0x90, 1, 0] } else { &[QUEUE, STACK] };
            target.put(core, give, &numbers(arguments));
            target.put(core, id::ISR_EXIT, &[]);
        }
        if woken.is_empty() {
            target.put(core, id::ISR_EXIT, &[]);
            return;
        }
        target.put(core, id::ISR_TO_SCHEDULER, &[]);
        for index in woken {
            target.put(core, id::TASK_START_EXEC, &numbers(&[self.task(index)]));
            self.work(index, target);
            let ticks = 1 + target.random.below(8);
            self.wake[index] = self.ticks + ticks;
            let delay = target.function(35, 34);
            target.put(core, delay, &numbers(&[ticks as u32]));
            target.put(core, id::TASK_STOP_READY, &numbers(&[self.task(index), 4]));
        }
        target.put(core, id::IDLE, &[]);
    }

    fn work(&mut self, index: usize, target: &mut Target) {
        let core = self.number;
        match index {
            0 => {
                target.put(core, id::MARK_START, &numbers(&[1]));
                target.now += target.random.below(2_000);
                let receive = target.function(92, 49);
                target.put(core, receive, &numbers(&[QUEUE, 0x90, 10, 0]));
                target.put(core, id::EX, &numbers(&[extended::MARK, 1]));
                target.put(core, id::MARK_STOP, &numbers(&[1]));
                target.put(core, 512, &numbers(&[64, 0x1234]));
                target.now += target.random.below(400);
                target.put(core, id::END_CALL, &numbers(&[512, 1]));
            }
            1 => {
                let send = target.function(90, 53);
                target.put(core, send, &numbers(&[QUEUE, 0x90, 0, 0]));
                target.samples += 1;
                let value = (target.random.below(2_000) as i32 - 1_000).cast_unsigned();
                target.put(core, id::DATA_SAMPLE, &numbers(&[3, value]));
                if target.samples.is_multiple_of(4) {
                    let block = 0x800 + 8 * (target.samples % 64);
                    target.put(core, id::EX, &numbers(&[extended::HEAP_ALLOC, HEAP, block, 16]));
                    target.now += 300;
                    target.put(core, id::EX, &numbers(&[extended::HEAP_FREE, HEAP, block]));
                }
            }
            _ => {
                let mut payload = numbers_and_text(&[], "level %d of %u");
                payload.extend(numbers(&[0, 2, (-3i32).cast_unsigned(), self.ticks as u32]));
                target.put(core, id::PRINT_FORMATTED, &payload);
                let mut payload = numbers_and_text(&[], "written by the target");
                payload.extend(numbers(&[1, 0]));
                target.put(core, id::PRINT_FORMATTED, &payload);
                target.put(core, id::TIMER_ENTER, &numbers(&[TIMER]));
                target.put(core, id::TIMER_EXIT, &[]);
            }
        }
    }
}
