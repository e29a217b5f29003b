//! The ids of packets, their names and the fields of their payloads.

/// A payload without a length: numbers, then perhaps a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// How many numbers.
    pub numbers: u8,
    /// Whether a text follows.
    pub has_text: bool,
}

/// The packets of the system by id, with the library's names and the fields of their payloads: of those without a length, which tell how
/// long they are, and of those with one.
macro_rules! packets {
    (
        $($short:literal $short_name:ident($($number:ident),* $(; $text:ident)?);)*
        with a length:
        $($long:literal $long_name:ident($($field:ident),*);)*
    ) => {
        /// The ids of the system's packets, and numbers for bytes that are not packets with an id.
        #[allow(missing_docs)]
        pub mod id {
            $(pub const $short_name: u16 = $short;)*
            $(pub const $long_name: u16 = $long;)*
            /// Ten zero bytes. A packet of this id is never sent.
            pub const SYNC: u16 = 0;
            /// The first id of the kernel's functions.
            pub const FIRST_OF_KERNEL: u16 = 32;
            /// The first id of modules.
            pub const FIRST_OF_MODULES: u16 = 512;
            /// The header of a file.
            pub const HEADER: u16 = 0xFFFF;
            /// The header of a block.
            pub const BLOCK: u16 = 0xFFFE;
            /// The target's greeting on a serial line or a socket.
            pub const HELLO: u16 = 0xFFFD;
        }

        /// The payloads of the ids below 24.
        pub const SHAPES: [Option<Shape>; 24] = [
            None,
            $(Some(Shape {
                numbers: <[&str]>::len(&[$(stringify!($number)),*]) as u8,
                has_text: <[&str]>::len(&[$(stringify!($text))?]) > 0,
            }),)*
        ];

        /// The library's name of an id below 32, and the names of its fields.
        #[must_use]
        pub fn system_record(id: u16) -> Option<(&'static str, &'static [&'static str])> {
            Some(match id {
                $($short => (stringify!($short_name), &[$(stringify!($number),)* $(stringify!($text))?]),)*
                $($long => (stringify!($long_name), &[$(stringify!($field)),*]),)*
                id::SYNC => ("SYNC", &[]),
                id::HEADER => ("HEADER", &[]),
                id::BLOCK => ("BLOCK", &[]),
                id::HELLO => ("HELLO", &[]),
                _ => return None,
            })
        }
    };
}

packets! {
    1 OVERFLOW(drop_count);
    2 ISR_ENTER(irq);
    3 ISR_EXIT();
    4 TASK_START_EXEC(task);
    5 TASK_STOP_EXEC();
    6 TASK_START_READY(task);
    7 TASK_STOP_READY(task, cause);
    8 TASK_CREATE(task);
    9 TASK_INFO(task, priority; name);
    10 TRACE_START();
    11 TRACE_STOP();
    12 SYSTIME_CYCLES(cycles);
    13 SYSTIME_US(low, high);
    14 SYSDESC(; description);
    15 MARK_START(marker);
    16 MARK_STOP(marker);
    17 IDLE();
    18 ISR_TO_SCHEDULER();
    19 TIMER_ENTER(timer);
    20 TIMER_EXIT();
    21 STACK_INFO(task, base, size, used);
    22 MODULEDESC(module, event_offset; description);
    23 DATA_SAMPLE(data, value);
    with a length:
    24 INIT(sys_freq, cpu_freq, ram_base, id_shift);
    25 NAME_RESOURCE(resource, name);
    26 PRINT_FORMATTED(text, options, arguments);
    27 NUMMODULES(modules);
    28 END_CALL(event, result);
    29 TASK_TERMINATE(task);
    31 EX(extended);
}

/// The extended packets by the number at the start of their payload.
macro_rules! extended_packets {
    ($($number:literal $name:ident;)*) => {
        /// The numbers of extended packets.
        #[allow(missing_docs)]
        pub mod extended {
            $(pub const $name: u32 = $number;)*
        }

        /// The library's name of an extended packet.
        #[must_use]
        pub fn extended_record(number: u32) -> Option<&'static str> {
            Some(match number {
                $($number => concat!("EX_", stringify!($name)),)*
                _ => return None,
            })
        }
    };
}

extended_packets! {
    0 MARK;
    1 NAME_MARKER;
    2 HEAP_DEFINE;
    3 HEAP_ALLOC;
    4 HEAP_ALLOC_EX;
    5 HEAP_FREE;
    6 REGISTER_DATA;
    7 PRINT_ELF;
}

/// Reads the numbers and texts of a payload one after the other.
#[derive(Clone, Copy, Debug)]
pub struct Fields<'a>(pub &'a [u8]);

impl<'a> Fields<'a> {
    /// The lowest 32 bits of the next number; 0 beyond the end of the payload.
    #[inline]
    pub fn number(&mut self) -> u32 {
        self.long() as u32
    }

    /// The lowest 32 bits of the next number, if there is one.
    #[inline]
    pub fn next_number(&mut self) -> Option<u32> {
        self.next_long().map(|value| value as u32)
    }

    /// The next number; 0 beyond the end of the payload.
    #[inline]
    pub fn long(&mut self) -> u64 {
        self.next_long().unwrap_or(0)
    }

    /// The next number, if there is one.
    #[inline]
    pub fn next_long(&mut self) -> Option<u64> {
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
