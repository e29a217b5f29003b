//! The captures under `testdata/systemview`: one for each behaviour.

use traceconv::format::systemview::encode::{self, numbers, numbers_and_text};
use traceconv::format::systemview::generate::{Damage, GenerateOptions};
use traceconv::format::systemview::packet::Reading;
use traceconv::format::systemview::record::{extended, id};

use crate::common::golden::Capture;
use crate::run::generated_with;

/// A stream of packets, as a target sends it.
#[derive(Clone, Debug, Default)]
pub struct Stream {
    pub bytes: Vec<u8>,
    pub reading: Reading,
    pub core: u8,
}

impl Stream {
    /// The next packet, 100 ticks after the one before.
    pub fn put(&mut self, id: u16, payload: &[u8]) -> &mut Stream {
        self.after(100, id, payload)
    }

    pub fn after(&mut self, ticks: u32, id: u16, payload: &[u8]) -> &mut Stream {
        encode::packet(self.reading, self.core, id, payload, ticks, &mut self.bytes);
        self
    }

    /// The next packet, whose payload are numbers.
    pub fn n(&mut self, id: u16, values: &[u32]) -> &mut Stream {
        self.put(id, &numbers(values))
    }

    /// The start of a recording, at a time.
    pub fn start(&mut self, at: u32, description: &str) -> &mut Stream {
        encode::sync(&mut self.bytes);
        self.after(at, id::TRACE_START, &[]).n(id::INIT, &[10_000_000, 10_000_000, 0x2000_0000, 2]);
        self.put(id::SYSDESC, &numbers_and_text(&[], description))
    }

    pub fn task(&mut self, task: u32, priority: u32, name: &str) -> &mut Stream {
        self.put(id::TASK_INFO, &numbers_and_text(&[task, priority], name))
    }

    pub fn raw(&mut self, bytes: &[u8]) -> &mut Stream {
        self.bytes.extend(bytes);
        self
    }
}

/// Two tasks on FreeRTOS, as the library sends them.
pub fn small(description: &str) -> Stream {
    let mut stream = Stream::default();
    stream.start(5_000, description).n(id::SYSTIME_CYCLES, &[5_300]);
    stream.task(1, 3, "main").task(2, 2, "worker").task(3, 0, "IDLE");
    stream.n(id::TASK_START_EXEC, &[1]);
    stream
}

fn every_packet() -> Vec<u8> {
    let mut stream = small("N=test,D=Board,C=Cortex-M4,O=FreeRTOS");
    stream.put(id::SYSDESC, &numbers_and_text(&[], "I#15=SysTick,I#40=USART1"));
    stream.n(id::SYSTIME_US, &[123, 0]).n(id::STACK_INFO, &[1, 0x2000_4000, 2048, 512]).n(id::NUMMODULES, &[1]);
    stream.put(id::MODULEDESC, &numbers_and_text(&[0, 512], "M=radio, 0 send bytes=%u to=%x, 1 sleep"));
    stream.put(id::NAME_RESOURCE, &numbers_and_text(&[0x40], "samples"));
    stream.put(id::EX, &numbers_and_text(&[extended::NAME_MARKER, 7], "filter"));
    let mut speed = numbers_and_text(&[extended::REGISTER_DATA, 2], "speed");
    speed.extend(numbers(&[2, 0, 0, 0, 1.0f32.to_bits()]));
    stream.put(id::EX, &speed);
    // Interrupts, nested, and one that wakes a task.
    stream.n(id::ISR_ENTER, &[40]).n(id::ISR_ENTER, &[15]).n(id::TASK_START_READY, &[2]).n(id::ISR_EXIT, &[]);
    stream.n(id::ISR_TO_SCHEDULER, &[]).n(id::TASK_START_EXEC, &[2]);
    stream.n(id::MARK_START, &[7]).n(id::EX, &[extended::MARK, 7]).n(id::MARK_STOP, &[7]).n(id::MARK_START, &[8]);
    // A call with a result, one without, and one of a module.
    stream.n(512, &[64, 0x1234]).n(id::END_CALL, &[512, 1]).n(513, &[]).n(90, &[0x40, 0x90, 0, 0]).n(92, &[0x40, 0x90, 10, 1]);
    stream.n(40, &[0x1FFF_FFFF]).n(41, &[2, 4]).n(43, &[1]).n(400, &[9, 8, 7]);
    for (options, text, arguments) in [
        (0, "level %d of %u, %s and 100 %%", &[(-3i32).cast_unsigned(), 8, 0x0800_0000][..]),
        (1, "plain", &[]),
        (2, "broken %d", &[]),
    ] {
        let mut payload = numbers_and_text(&[], text);
        payload.extend(numbers(&[options, arguments.len() as u32]));
        payload.extend(numbers(arguments));
        stream.put(id::PRINT_FORMATTED, &payload);
    }
    let mut long = Vec::new();
    encode::text(&[b'x'; 300], &mut long);
    long.extend(numbers(&[0, 0]));
    stream.put(id::PRINT_FORMATTED, &long);
    stream.n(id::DATA_SAMPLE, &[2, 1.5f32.to_bits()]).n(id::DATA_SAMPLE, &[9, 77]);
    stream.n(id::EX, &[extended::HEAP_DEFINE, 0x60, 0x800, 0x100, 8]);
    stream.n(id::EX, &[extended::HEAP_ALLOC, 0x60, 0x810, 4]).n(id::EX, &[extended::HEAP_ALLOC_EX, 0x60, 0x820, 8, 5]);
    stream.n(id::EX, &[extended::HEAP_FREE, 0x60, 0x810]).n(id::EX, &[extended::PRINT_ELF, 0x0800_1000, 1, 5]);
    stream.n(id::TIMER_ENTER, &[0x50]).n(id::TIMER_EXIT, &[]).n(id::TASK_CREATE, &[4]).n(id::TASK_START_READY, &[4]);
    stream.n(35, &[10]).n(id::TASK_STOP_READY, &[2, 4]).n(id::TASK_START_EXEC, &[4]).n(id::TASK_STOP_READY, &[4, 24]);
    stream.n(id::IDLE, &[]).n(id::ISR_ENTER, &[15]).n(id::TASK_START_READY, &[4]).n(id::ISR_TO_SCHEDULER, &[]);
    stream.n(id::TASK_START_EXEC, &[4]).n(id::TASK_TERMINATE, &[4]).n(id::IDLE, &[]);
    stream.n(id::OVERFLOW, &[0]).n(id::IDLE, &[]).n(id::OVERFLOW, &[6]).n(id::TASK_START_EXEC, &[1]).n(id::TASK_STOP_EXEC, &[]);
    stream
        .n(id::TRACE_STOP, &[])
        .n(id::TRACE_START, &[])
        .n(id::TASK_START_EXEC, &[1])
        .n(id::ISR_EXIT, &[])
        .n(id::TIMER_EXIT, &[]);
    stream.bytes
}

/// Both cores in one stream, with the headers of blocks between the packets, and a block of the heap with a call stack.
fn two_cores() -> Vec<u8> {
    let mut stream = Stream { reading: Reading::CoreBit, ..Stream::default() };
    stream
        .raw(encode::header(Reading::CoreBit))
        .start(900, "N=test,D=esp32,C=xtensa,O=FreeRTOS")
        .task(1, 3, "main")
        .task(2, 2, "worker");
    stream.put(id::MODULEDESC, &numbers_and_text(&[0, 512], "M=ESP32 SystemView Heap Tracing Module"));
    for round in 0..5 {
        stream.core = 0;
        stream.raw(&[0xFC, 0xFC]).n(id::TASK_START_EXEC, &[1]).n(53, &[0x40, 0x90, 0, 0]);
        stream.n(512, &[0x3FFB_6000 + round, 24, 0x8008_1EFF, 0x4008_1F34, 0, 0]);
        stream.core = 1;
        stream.n(id::ISR_ENTER, &[5]).n(id::TASK_START_READY, &[2]).n(id::ISR_TO_SCHEDULER, &[]).n(id::TASK_START_EXEC, &[2]);
        stream.n(513, &[0x3FFB_6000 + round, 0x8008_1EFF]).raw(&[0xF7, 0xF7]).n(id::IDLE, &[]);
        stream.core = 0;
        stream.n(34, &[3]).n(id::TASK_STOP_READY, &[1, 4]).n(id::IDLE, &[]);
    }
    stream.bytes
}

/// The target restarts, a recorder starts again, and a recorder that sends its start again and again goes on.
fn restarts() -> Vec<u8> {
    let mut stream = small("N=test,O=FreeRTOS");
    stream.n(id::IDLE, &[]).n(id::TASK_START_EXEC, &[2]);
    // The start of a post-mortem recording is repeated, without a restart.
    stream.start(100, "N=test,O=FreeRTOS").n(id::SYSTIME_CYCLES, &[6_800]).n(id::IDLE, &[]).n(id::TRACE_STOP, &[]);
    stream.start(90_000, "N=test,O=FreeRTOS").n(id::SYSTIME_CYCLES, &[97_300]).n(id::TASK_START_EXEC, &[1]);
    // The clock begins at 0 again.
    stream.start(2_000, "N=test,O=FreeRTOS").n(id::SYSTIME_CYCLES, &[2_300]).task(1, 3, "main").n(id::TASK_START_EXEC, &[1]);
    stream.n(id::IDLE, &[]).bytes.clone()
}

/// Damage, and a clock after it that says how long it was.
fn damage() -> Vec<u8> {
    let mut stream = small("N=test,O=FreeRTOS");
    let busy = |stream: &mut Stream| {
        for _ in 0..6 {
            stream
                .n(id::ISR_ENTER, &[15])
                .n(id::TASK_START_READY, &[2])
                .n(id::ISR_TO_SCHEDULER, &[])
                .n(id::TASK_START_EXEC, &[2]);
            stream.n(id::IDLE, &[]);
        }
    };
    busy(&mut stream);
    stream.raw(&[30, 0, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF]);
    busy(&mut stream);
    stream.n(id::SYSTIME_CYCLES, &[5_000_000]);
    busy(&mut stream);
    stream.raw(&[id::TASK_INFO as u8, 1, 2, 200, b'x']).bytes.clone()
}

/// Zephyr's functions have results, and its switches two packets.
fn zephyr() -> Vec<u8> {
    let mut stream = small("N=shell,D=nRF52840,C=ARM,O=Zephyr");
    stream.n(42, &[0x40, 0xFFFF_FFFF]).n(id::TASK_STOP_READY, &[1, 24]).n(id::TASK_STOP_EXEC, &[]).n(id::TASK_START_EXEC, &[2]);
    stream
        .n(41, &[0x40])
        .n(id::TASK_START_READY, &[1])
        .n(id::END_CALL, &[41])
        .n(id::TASK_STOP_EXEC, &[])
        .n(id::TASK_START_EXEC, &[1]);
    stream.n(id::END_CALL, &[42, 0]).n(id::TASK_STOP_EXEC, &[]).n(id::IDLE, &[]);
    stream.bytes
}

/// Functions of two tasks and of an interrupt. One end is missing, another has no begin; a function that the program does not have is
/// perhaps the last.
pub fn functions(is_described: bool, has_another: bool) -> Vec<u8> {
    let [reset, clamp, irq, tick] = [0x91, 0xAD, 0x81, 0x49];
    let mut stream = small("N=test,D=Board,C=Cortex-M4,O=FreeRTOS");
    if is_described {
        stream.put(id::MODULEDESC, &numbers_and_text(&[0, 512], "M=ESP_FunctionTrace"));
    }
    stream.n(512, &[reset, 0x99]).n(512, &[clamp, 0x99]);
    stream.n(id::ISR_ENTER, &[40]).n(512, &[irq, 0x99]).n(513, &[irq, 0x99]).n(id::ISR_TO_SCHEDULER, &[]);
    stream.n(id::TASK_START_EXEC, &[2]).n(512, &[reset, 0x99]).n(512, &[tick, 0x99]).n(513, &[clamp, 0x99]);
    stream.n(35, &[1]).n(id::TASK_STOP_READY, &[2, 4]).n(513, &[reset, 0x99]);
    stream.n(id::TASK_START_EXEC, &[1]).n(513, &[clamp, 0x99]).n(id::IDLE, &[]);
    stream.n(id::TASK_START_EXEC, &[1]).n(513, &[reset, 0x99]);
    if has_another {
        stream.n(512, &[0x2000_0000, 0x99]).n(513, &[0x2000_0000, 0x99]);
    }
    stream.bytes
}

pub fn all() -> Vec<Capture> {
    let made = |options: GenerateOptions| generated_with(&GenerateOptions { bytes: 3_000, ..options });
    let base = GenerateOptions::default();
    let captures = [
        ("every_packet", every_packet()),
        ("two_cores", two_cores()),
        ("restarts", restarts()),
        ("damage", damage()),
        ("zephyr", zephyr()),
        ("functions", functions(true, true)),
        ("generated", made(base)),
        ("generated_two_cores", made(GenerateOptions { has_two_cores: true, overflows: true, ..base })),
        ("generated_damaged", made(GenerateOptions { damage: Damage::Bytes, seed: 5, ..base })),
    ];
    captures.into_iter().map(|(name, bytes)| Capture { name: name.to_owned(), bytes }).collect()
}
