//! The ids of packets, their names and the fields of their payloads.

/// The ids of the system's packets, and numbers for bytes that are not packets with an id.
#[allow(missing_docs)]
pub mod id {
    pub const SYNC: u16 = 0;
    pub const OVERFLOW: u16 = 1;
    pub const ISR_ENTER: u16 = 2;
    pub const ISR_EXIT: u16 = 3;
    pub const TASK_START_EXEC: u16 = 4;
    pub const TASK_STOP_EXEC: u16 = 5;
    pub const TASK_START_READY: u16 = 6;
    pub const TASK_STOP_READY: u16 = 7;
    pub const TASK_CREATE: u16 = 8;
    pub const TASK_INFO: u16 = 9;
    pub const TRACE_START: u16 = 10;
    pub const TRACE_STOP: u16 = 11;
    pub const SYSTIME_CYCLES: u16 = 12;
    pub const SYSTIME_US: u16 = 13;
    pub const SYSDESC: u16 = 14;
    pub const MARK_START: u16 = 15;
    pub const MARK_STOP: u16 = 16;
    pub const IDLE: u16 = 17;
    pub const ISR_TO_SCHEDULER: u16 = 18;
    pub const TIMER_ENTER: u16 = 19;
    pub const TIMER_EXIT: u16 = 20;
    pub const STACK_INFO: u16 = 21;
    pub const MODULE_DESC: u16 = 22;
    pub const DATA_SAMPLE: u16 = 23;
    pub const INIT: u16 = 24;
    pub const NAME_RESOURCE: u16 = 25;
    pub const PRINT_FORMATTED: u16 = 26;
    pub const NUM_MODULES: u16 = 27;
    pub const END_CALL: u16 = 28;
    pub const TASK_TERMINATE: u16 = 29;
    pub const EXTENDED: u16 = 31;
    /// The first id of the kernel's functions.
    pub const FIRST_OF_KERNEL: u16 = 32;
    /// The first id of modules.
    pub const FIRST_OF_MODULES: u16 = 512;
    /// The header of a file.
    pub const HEADER: u16 = 0xFFFF;
    /// The header of a block.
    pub const BLOCK: u16 = 0xFFFE;
}

/// The numbers at the start of the payload of an extended packet.
#[allow(missing_docs)]
pub mod extended {
    pub const MARK: u32 = 0;
    pub const NAME_MARKER: u32 = 1;
    pub const HEAP_DEFINE: u32 = 2;
    pub const HEAP_ALLOC: u32 = 3;
    pub const HEAP_ALLOC_TAGGED: u32 = 4;
    pub const HEAP_FREE: u32 = 5;
    pub const REGISTER_DATA: u32 = 6;
    pub const PRINT_ELF: u32 = 7;
}

/// A payload without a length: numbers, then perhaps a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// How many numbers.
    pub numbers: u8,
    /// Whether a text follows.
    pub has_text: bool,
}

const fn numbers(numbers: u8) -> Option<Shape> {
    Some(Shape { numbers, has_text: false })
}

const fn with_text(numbers: u8) -> Option<Shape> {
    Some(Shape { numbers, has_text: true })
}

/// The payloads of the ids below 24. A packet of id 0 is never sent: ten zero bytes are the sync.
pub const SHAPES: [Option<Shape>; 24] = [
    None,
    numbers(1),
    numbers(1),
    numbers(0),
    numbers(1),
    numbers(0),
    numbers(1),
    numbers(2),
    numbers(1),
    with_text(2),
    numbers(0),
    numbers(0),
    numbers(1),
    numbers(2),
    with_text(0),
    numbers(1),
    numbers(1),
    numbers(0),
    numbers(0),
    numbers(1),
    numbers(0),
    numbers(4),
    with_text(2),
    numbers(2),
];

/// The library's name of an id below 32, and the names of its fields; a text comes last.
#[must_use]
pub fn system_record(id: u16) -> Option<(&'static str, &'static [&'static str])> {
    let record: (&str, &[&str]) = match id {
        id::SYNC => ("SYNC", &[]),
        id::OVERFLOW => ("OVERFLOW", &["drop_count"]),
        id::ISR_ENTER => ("ISR_ENTER", &["irq"]),
        id::ISR_EXIT => ("ISR_EXIT", &[]),
        id::TASK_START_EXEC => ("TASK_START_EXEC", &["task"]),
        id::TASK_STOP_EXEC => ("TASK_STOP_EXEC", &[]),
        id::TASK_START_READY => ("TASK_START_READY", &["task"]),
        id::TASK_STOP_READY => ("TASK_STOP_READY", &["task", "cause"]),
        id::TASK_CREATE => ("TASK_CREATE", &["task"]),
        id::TASK_INFO => ("TASK_INFO", &["task", "priority", "name"]),
        id::TRACE_START => ("TRACE_START", &[]),
        id::TRACE_STOP => ("TRACE_STOP", &[]),
        id::SYSTIME_CYCLES => ("SYSTIME_CYCLES", &["cycles"]),
        id::SYSTIME_US => ("SYSTIME_US", &["low", "high"]),
        id::SYSDESC => ("SYSDESC", &["description"]),
        id::MARK_START => ("MARK_START", &["marker"]),
        id::MARK_STOP => ("MARK_STOP", &["marker"]),
        id::IDLE => ("IDLE", &[]),
        id::ISR_TO_SCHEDULER => ("ISR_TO_SCHEDULER", &[]),
        id::TIMER_ENTER => ("TIMER_ENTER", &["timer"]),
        id::TIMER_EXIT => ("TIMER_EXIT", &[]),
        id::STACK_INFO => ("STACK_INFO", &["task", "base", "size", "used"]),
        id::MODULE_DESC => ("MODULEDESC", &["module", "event_offset", "description"]),
        id::DATA_SAMPLE => ("DATA_SAMPLE", &["data", "value"]),
        id::INIT => ("INIT", &["sys_freq", "cpu_freq", "ram_base", "id_shift"]),
        id::NAME_RESOURCE => ("NAME_RESOURCE", &["resource", "name"]),
        id::PRINT_FORMATTED => ("PRINT_FORMATTED", &["text", "options", "arguments"]),
        id::NUM_MODULES => ("NUMMODULES", &["modules"]),
        id::END_CALL => ("END_CALL", &["event", "result"]),
        id::TASK_TERMINATE => ("TASK_TERMINATE", &["task"]),
        id::EXTENDED => ("EX", &["extended"]),
        id::HEADER => ("HEADER", &[]),
        id::BLOCK => ("BLOCK", &[]),
        _ => return None,
    };
    Some(record)
}

/// Reads the numbers and texts of a payload one after the other.
#[derive(Clone, Copy, Debug)]
pub struct Fields<'a>(pub &'a [u8]);

impl<'a> Fields<'a> {
    /// The next number; 0 beyond the end of the payload.
    #[inline]
    pub fn number(&mut self) -> u32 {
        self.next_number().unwrap_or(0)
    }

    /// The next number, if there is one.
    #[inline]
    pub fn next_number(&mut self) -> Option<u32> {
        let (value, len) = super::packet::number(self.0)?;
        self.0 = self.0.get(len..).unwrap_or(&[]);
        Some(value)
    }

    /// The next text; empty beyond the end of the payload.
    #[inline]
    pub fn text(&mut self) -> &'a [u8] {
        let (text, len) = super::packet::text(self.0).unwrap_or((&[], self.0.len()));
        self.0 = self.0.get(len..).unwrap_or(&[]);
        text
    }
}
