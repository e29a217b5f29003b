//! Realistic captures of any size, for tests, benches and `cargo xtask bench`.
//!
//! A firmware without an operating system is simulated in virtual time: a main loop prints, sends values and writes a watched variable,
//! interrupted by SysTick and a UART, which may interrupt SysTick; the program counter is sampled. The capture depends on the options only.

use std::io::{self, Write};

use super::encode;
pub use crate::format::generated::Damage;
use crate::format::generated::Random;
use crate::frame::swo::{Delay, Packet};
use crate::frame::tpiu;

/// Ticks of local and global time per second.
pub const CLOCK_HZ: u64 = 72_000_000;

/// The exception numbers of the interrupts.
pub const SYSTICK: u16 = 15;
pub const UART: u16 = 16 + 37;

/// Ticks between samples of the program counter.
pub const SAMPLE_PERIOD: u64 = 16 * 1024;

/// The source of the stream in frames, and of another one that is not ITM.
pub const SOURCE: u8 = 1;
pub const OTHER_SOURCE: u8 = 2;

/// The time stamps of a generated capture.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Times {
    /// Local ones, and a global one now and then.
    #[default]
    Both,
    /// Global ones only.
    Global,
    /// None.
    None,
}

/// Options of a generated capture.
#[derive(Clone, Copy, Debug)]
pub struct GenerateOptions {
    /// The capture ends with the packet that reaches this size, in bytes.
    pub bytes: u64,
    /// Another seed is another run of the same firmware.
    pub seed: u64,
    /// The time stamps.
    pub times: Times,
    /// Whether the stream is in CoreSight frames, with another source.
    pub is_framed: bool,
    /// Whether the target's buffer overflows about once in 500 packets.
    pub overflows: bool,
    /// Whether about one time stamp in 50 is delayed.
    pub delays: bool,
    /// The damage between the target and the file.
    pub damage: Damage,
    /// For how many ticks the clock has run before the start.
    pub start_ticks: u64,
    /// For how many ticks the firmware does nothing in the middle: fewer than the counter of local time has, if that is recorded.
    pub silent_ticks: u64,
    /// Packets of the DWT that are not recorded, by their ids.
    pub filtered: &'static [u8],
}

impl Default for GenerateOptions {
    fn default() -> Self {
        GenerateOptions {
            bytes: 1 << 20,
            seed: 1,
            times: Times::Both,
            is_framed: false,
            overflows: false,
            delays: false,
            damage: Damage::None,
            start_ticks: 0,
            silent_ticks: 0,
            filtered: &[],
        }
    }
}

/// A packet of a generated capture that is not a time stamp, and its time in ticks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Truth {
    /// The time, in ticks since the start.
    pub ticks: u64,
    /// The packet.
    pub packet: Packet,
}

/// Writes a capture.
///
/// # Errors
/// Those of `out`.
pub fn generate(options: &GenerateOptions, out: &mut dyn Write) -> io::Result<()> {
    out.write_all(&generate_with_truth(options).0)
}

/// A capture, and each packet in it.
#[must_use]
pub fn generate_with_truth(options: &GenerateOptions) -> (Vec<u8>, Vec<Truth>) {
    let mut target = Target {
        options: *options,
        random: Random(options.seed),
        bytes: Vec::new(),
        truth: Vec::new(),
        waiting: Vec::new(),
        now: 1000,
        before: options.start_ticks,
        slept: 0,
        stamped: 0,
        globals: options.start_ticks,
        next_sample: SAMPLE_PERIOD,
        function: MAIN,
        wide: 0,
    };
    target.synchronise();
    let limit = usize::try_from(options.bytes).unwrap_or(usize::MAX);
    let (mut round, mut is_silent) = (0u32, options.silent_ticks == 0);
    while target.bytes.len() < limit {
        if !is_silent && target.bytes.len() > limit / 2 {
            target.stamp();
            target.slept = options.silent_ticks;
            is_silent = true;
        }
        target.round(round);
        round += 1;
    }
    target.stamp();
    let Target { mut bytes, truth, mut random, .. } = target;
    if options.is_framed {
        bytes = framed(&bytes, &mut random);
    }
    (options.damage.to(bytes, 300, &mut random), truth)
}

/// Where functions of the firmware are: start and length.
const MAIN: (u32, u32) = (0x0800_0200, 0x80);
const FILTER: (u32, u32) = (0x0800_0400, 0x200);
const SYSTICK_HANDLER: (u32, u32) = (0x0800_0800, 0x40);
const UART_HANDLER: (u32, u32) = (0x0800_0900, 0x60);

/// The trace hardware of the target.
struct Target {
    options: GenerateOptions,
    random: Random,
    bytes: Vec<u8>,
    truth: Vec<Truth>,
    /// The packets since the last time stamp.
    waiting: Vec<Packet>,
    now: u64,
    /// The ticks before the start.
    before: u64,
    /// The ticks that have passed in silence.
    slept: u64,
    stamped: u64,
    globals: u64,
    next_sample: u64,
    function: (u32, u32),
    wide: u32,
}

impl Target {
    fn synchronise(&mut self) {
        encode::packet(Packet::Sync, &mut self.bytes);
        if self.options.times != Times::None {
            self.global(true);
        }
    }

    /// The ticks since the start.
    fn clock(&self) -> u64 {
        self.now + self.slept
    }

    fn global(&mut self, is_whole: bool) {
        let now = self.before + self.clock();
        let has_wrapped = !is_whole && now >> 26 != self.globals >> 26;
        let low = (now & 0x03FF_FFFF) as u32;
        encode::packet(Packet::GlobalLow { value: low, bits: 26, has_wrapped, clock_changed: false }, &mut self.bytes);
        if is_whole || has_wrapped {
            encode::packet(Packet::GlobalHigh { value: now >> 26 }, &mut self.bytes);
        }
        self.globals = now;
    }

    fn put(&mut self, packet: Packet) {
        if self.options.overflows && self.random.below(500) == 0 {
            self.send(Packet::Overflow);
            return;
        }
        self.send(packet);
    }

    fn send(&mut self, packet: Packet) {
        if let Packet::Hardware { id, .. } = packet
            && self.options.filtered.contains(&id)
        {
            return;
        }
        encode::packet(packet, &mut self.bytes);
        if self.options.times == Times::None {
            self.truth.push(Truth { ticks: self.clock(), packet });
        } else {
            self.waiting.push(packet);
        }
    }

    /// A time stamp for the packets since the last one.
    fn stamp(&mut self) {
        if self.waiting.is_empty() {
            return;
        }
        match self.options.times {
            Times::None => {}
            Times::Global => self.global(false),
            Times::Both => {
                let mut delay = Delay::default();
                if self.options.delays && self.random.below(50) == 0 {
                    self.now += 300;
                    (delay.of_stamp, delay.of_packets) =
                        [(true, false), (false, true), (true, true)][self.random.below(3) as usize];
                }
                let ticks = (self.clock() - self.stamped) as u32;
                encode::packet(Packet::LocalTime { ticks, delay }, &mut self.bytes);
            }
        }
        self.stamped = self.clock();
        let ticks = self.stamped;
        self.truth.extend(self.waiting.drain(..).map(|packet| Truth { ticks, packet }));
        if self.options.times == Times::Both && self.before + self.clock() - self.globals > 1 << 20 {
            self.global(self.globals == self.before);
        }
    }

    /// Time passes in a function: it is sampled.
    fn run(&mut self, ticks: u64) {
        let end = self.now + ticks;
        while self.next_sample <= end {
            self.now = self.next_sample;
            self.next_sample += SAMPLE_PERIOD;
            let (start, len) = self.function;
            let value = start + (self.random.below(u64::from(len)) as u32 & !1);
            self.put(Packet::Hardware { id: 2, bytes: 4, value });
            self.stamp();
        }
        self.now = self.now.max(end);
    }

    fn exception(&mut self, number: u16, what: u32) {
        self.put(Packet::Hardware { id: 1, bytes: 2, value: u32::from(number) | what << 12 });
    }

    /// An interrupt; another one may come within it.
    fn interrupt(&mut self, number: u16, within: u16) {
        let before = std::mem::replace(&mut self.function, if number == UART { UART_HANDLER } else { SYSTICK_HANDLER });
        self.exception(number, 1);
        self.stamp();
        let ticks = 200 + self.random.below(1500);
        self.run(ticks);
        if number == SYSTICK && self.random.below(8) == 0 {
            self.interrupt(UART, SYSTICK);
        }
        self.exception(number, 2);
        self.exception(within, 3);
        self.run(20);
        self.stamp();
        self.function = before;
    }

    fn print(&mut self, text: &str) {
        for byte in text.bytes() {
            self.put(Packet::Port { port: 0, bytes: 1, value: u32::from(byte) });
            self.run(30);
            if byte == b'\n' || self.random.below(3) == 0 {
                self.stamp();
            }
        }
    }

    /// A millisecond of the firmware.
    fn round(&mut self, round: u32) {
        if round.is_multiple_of(64) && round > 0 {
            self.stamp();
            encode::packet(Packet::Sync, &mut self.bytes);
        }
        self.interrupt(SYSTICK, 0);
        self.function = FILTER;
        let ticks = 8_000 + self.random.below(30_000);
        self.run(ticks);
        self.wide = self.wide.wrapping_add(self.random.below(2000) as u32).wrapping_sub(1000);
        self.put(Packet::Port { port: 1, bytes: 4, value: self.wide });
        self.stamp();
        self.run(100);
        self.put(Packet::Hardware { id: 8, bytes: 4, value: FILTER.0 + 0x10 });
        self.put(Packet::Hardware { id: 17, bytes: 2, value: self.wide & 0xFFFF });
        self.stamp();
        self.function = MAIN;
        if round.is_multiple_of(10) {
            self.print(&format!("round {round}\n"));
        }
        if self.random.below(6) == 0 {
            self.interrupt(UART, 0);
        }
        if round.is_multiple_of(4) {
            self.put(Packet::Hardware { id: 0, bytes: 1, value: 1 << (round / 4 % 6) });
            self.stamp();
        }
        let tick = self.now.next_multiple_of(CLOCK_HZ / 1000);
        self.run(tick - self.now);
    }
}

/// The stream in frames, a piece of the other source after each few frames, and full sync words.
fn framed(stream: &[u8], random: &mut Random) -> Vec<u8> {
    let mut file = Vec::new();
    for (index, piece) in stream.chunks(700).enumerate() {
        if index % 3 == 0 {
            file.extend([0xFF, 0xFF, 0xFF, 0x7F]);
        }
        let start = file.len();
        tpiu::wrap(piece, SOURCE, &mut file);
        // Padding is a byte of no source, not of this one.
        debug_assert!((file.len() - start).is_multiple_of(tpiu::FRAME_BYTES));
        let noise: Vec<u8> = (0..60).map(|_| random.below(256) as u8).collect();
        tpiu::wrap(&noise, OTHER_SOURCE, &mut file);
    }
    file
}
