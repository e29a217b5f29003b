//! Realistic captures of any size, for tests, benches and `cargo xtask gen`.
//!
//! A small firmware is simulated: a main loop whose functions call others, and interrupts that come at any time. Calls are recorded
//! as by the real hooks, at their exit, with one depth counter for all. The capture depends on the options only, memory does not grow
//! with the size, and each packet is reported with the calls in it ([`Sent`]), so that tests know the truth.

use std::io::{self, Write};

use super::encode;
use super::record::{Command, Metadata, ProfileRecord, Reading, Status};

/// Options of a generated capture.
#[derive(Clone, Copy, Debug)]
pub struct GenerateOptions {
    /// The capture ends with the round of the main loop that reaches this size, in bytes.
    pub bytes: u64,
    /// Another seed is another run of the same firmware.
    pub seed: u64,
    /// The reading in which packets are written.
    pub reading: Reading,
    /// The device's clock at the start, in microseconds.
    pub start_us: u64,
    /// In the middle of the capture, nothing runs for this number of microseconds.
    pub silent_us: u64,
    /// The longest sleep of the firmware between rounds, in microseconds.
    pub sleep_us: u64,
    /// Whether `main` is recorded too: around everything, at the end.
    pub main_returns: bool,
    /// Whether the commands of the host are in the capture.
    pub commands: bool,
    /// The damage to the capture.
    pub damage: Damage,
    /// A function that takes longer, as after a change of its code.
    pub slow_function: Option<SlowFunction>,
}

/// A function that takes another time, without the functions that it calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlowFunction {
    /// Its address, as recorded by its hook.
    pub address: u32,
    /// The share of its usual time that it takes.
    pub percent: u32,
}

impl Default for GenerateOptions {
    fn default() -> Self {
        GenerateOptions {
            bytes: 1 << 20,
            seed: 1,
            reading: Reading::HOST,
            start_us: 0,
            silent_us: 0,
            sleep_us: 200,
            main_returns: false,
            commands: false,
            damage: Damage::None,
            slow_function: None,
        }
    }
}

/// The damage between the device and the file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Damage {
    /// No damage.
    #[default]
    None,
    /// About 5 % of the packets are missing.
    Losses,
    /// About 5 % of the packets are damaged: a flipped bit, a missing piece, stray bytes or lines of text before it, or a header before
    /// it that claims 65535 bytes.
    Line,
}

/// A real call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Call {
    /// The function's address, as recorded by its hook.
    pub func_addr: u32,
    /// The time of its entry, in microseconds since the device started. Does not wrap.
    pub entry_us: u64,
    /// Its duration, in microseconds.
    pub duration_us: u32,
    /// The number of calls around it.
    pub depth: u16,
}

/// A packet of records that was sent.
#[derive(Clone, Copy, Debug)]
pub struct Sent<'a> {
    /// The calls in it.
    pub calls: &'a [Call],
    /// Whether it arrived undamaged.
    pub is_intact: bool,
}

/// A function of the firmware.
struct Function {
    address: u32,
    /// The longest time that it runs itself, in microseconds.
    own_us: u32,
    /// The functions that it calls, each with the largest number of calls.
    calls: &'static [(usize, u32)],
}

const MAIN: usize = 0;
/// The functions that the main loop calls in each round.
const ROUND: [usize; 4] = [1, 4, 7, 9];
const TIMER_INTERRUPT: usize = 11;
const SERIAL_INTERRUPT: usize = 12;

/// Functions only call functions with higher numbers, so that recursion ends.
const FUNCTIONS: [Function; 14] = [
    Function { address: 0x0800_0565, own_us: 3, calls: &[] },
    Function { address: 0x0800_0295, own_us: 8, calls: &[(2, 3)] },
    Function { address: 0x0800_0325, own_us: 5, calls: &[(3, 2)] },
    Function { address: 0x0800_0189, own_us: 2, calls: &[] },
    Function { address: 0x0800_0839, own_us: 6, calls: &[(5, 2), (6, 1)] },
    Function { address: 0x0800_07FD, own_us: 3, calls: &[(6, 2)] },
    Function { address: 0x0800_0739, own_us: 1, calls: &[] },
    Function { address: 0x0800_03C1, own_us: 4, calls: &[(8, 4), (13, 1)] },
    Function { address: 0x0800_01ED, own_us: 3, calls: &[] },
    Function { address: 0x0800_0411, own_us: 2, calls: &[(10, 3)] },
    Function { address: 0x0800_0411, own_us: 1, calls: &[(6, 1)] },
    Function { address: 0x0800_0219, own_us: 1, calls: &[] },
    Function { address: 0x0800_0381, own_us: 3, calls: &[(13, 1)] },
    Function { address: 0x0800_01B5, own_us: 40, calls: &[] },
];

/// The usual number of records in a packet.
const RECORDS_PER_PACKET: usize = 20;

/// The number of record packets before each STATUS packet.
const PACKETS_PER_STATUS: u64 = 256;

/// Writes a capture; every packet of records is passed to `sent`.
///
/// # Errors
/// Those of `out`.
pub fn generate(options: &GenerateOptions, out: &mut dyn Write, sent: &mut dyn FnMut(Sent<'_>)) -> io::Result<()> {
    let stream = Stream {
        options,
        out,
        sent,
        random: Random(options.seed.wrapping_mul(0x9E37_79B9_7F4A_7C15)),
        calls: Vec::new(),
        bytes: Vec::new(),
        written: 0,
        packets: 0,
        captured: 0,
        silence_us: 0,
    };
    let random = Random(options.seed);
    let depth = u16::from(options.main_returns);
    let mut firmware = Firmware { now_us: options.start_us, next_interrupt_us: 0, depth, in_interrupt: false, random, stream };
    firmware.run()
}

struct Firmware<'a> {
    now_us: u64,
    next_interrupt_us: u64,
    depth: u16,
    in_interrupt: bool,
    random: Random,
    stream: Stream<'a>,
}

impl Firmware<'_> {
    fn run(&mut self) -> io::Result<()> {
        self.stream.start()?;
        let begin_us = self.now_us;
        while self.stream.written < self.stream.options.bytes {
            if self.stream.written * 2 >= self.stream.options.bytes {
                self.stream.silence_us = self.stream.options.silent_us;
            }
            for function in ROUND {
                self.call(function)?;
            }
            // Between rounds only interrupts run.
            let sleep_us = self.random.below(self.stream.options.sleep_us.saturating_add(1));
            self.pass(sleep_us)?;
        }
        if self.stream.options.main_returns {
            self.depth = 0;
            self.end_of(MAIN, begin_us)?;
        }
        self.stream.end()
    }

    fn call(&mut self, number: usize) -> io::Result<()> {
        let Function { address, own_us, calls } = FUNCTIONS[number];
        let entry_us = self.now_us;
        self.depth += 1;
        for &(callee, times) in calls {
            for _ in 0..self.random.below(u64::from(times) + 1) {
                let before_us = self.random.below(2);
                self.pass(before_us)?;
                self.call(callee)?;
            }
        }
        let own_us = self.random.below(u64::from(own_us) + 1);
        let slow = self.stream.options.slow_function.filter(|slow| slow.address == address);
        self.pass(slow.map_or(own_us, |slow| own_us * u64::from(slow.percent) / 100))?;
        self.depth -= 1;
        self.end_of(number, entry_us)
    }

    /// Advances the time and runs interrupts.
    fn pass(&mut self, us: u64) -> io::Result<()> {
        self.now_us += us;
        if self.now_us >= self.next_interrupt_us && !self.in_interrupt {
            self.next_interrupt_us = self.now_us + 300 + self.random.below(400);
            self.in_interrupt = true;
            let handler = if self.random.below(4) == 0 { SERIAL_INTERRUPT } else { TIMER_INTERRUPT };
            self.call(handler)?;
            self.in_interrupt = false;
        }
        Ok(())
    }

    fn end_of(&mut self, number: usize, entry_us: u64) -> io::Result<()> {
        let duration_us = (self.now_us - entry_us) as u32;
        self.stream.record(Call { func_addr: FUNCTIONS[number].address, entry_us, duration_us, depth: self.depth })
    }
}

/// The path from the device to the file.
struct Stream<'a> {
    options: &'a GenerateOptions,
    out: &'a mut dyn Write,
    sent: &'a mut dyn FnMut(Sent<'_>),
    random: Random,
    calls: Vec<Call>,
    bytes: Vec<u8>,
    written: u64,
    packets: u64,
    captured: u64,
    /// How long nothing ran, so far.
    silence_us: u64,
}

impl Stream<'_> {
    fn start(&mut self) -> io::Result<()> {
        let mut fw_version = [0; 16];
        fw_version[..6].copy_from_slice(b"v1.2.0");
        let metadata = Metadata { mcu_clock_hz: 168_000_000, timer_hz: 1_000_000, build_id: 0x9EBF_7745, fw_version };
        let reading = self.options.reading;
        self.command(Command::GetMetadata);
        encode::metadata(reading, &metadata, &mut self.bytes);
        self.command(Command::Start);
        encode::answer(reading, true, &mut self.bytes);
        self.write()
    }

    fn end(&mut self) -> io::Result<()> {
        self.send()?;
        self.command(Command::Stop);
        encode::answer(self.options.reading, true, &mut self.bytes);
        self.status(0, 0);
        self.write()
    }

    fn command(&mut self, command: Command) {
        if self.options.commands {
            self.bytes.extend(command.frame(&[]));
        }
    }

    fn status(&mut self, is_profiling: u8, usage_percent: u8) {
        let status = Status { is_profiling, buffer_overflows: 0, records_captured: self.captured as u32, usage_percent };
        encode::status(self.options.reading, &status, &mut self.bytes);
    }

    fn record(&mut self, call: Call) -> io::Result<()> {
        self.calls.push(Call { entry_us: call.entry_us + self.silence_us, ..call });
        self.captured += 1;
        if self.calls.len() >= RECORDS_PER_PACKET { self.send() } else { Ok(()) }
    }

    /// Sends the collected calls as a packet, with the damage.
    fn send(&mut self) -> io::Result<()> {
        let mut packet = Vec::with_capacity(300);
        let wire = |call: &Call| ProfileRecord {
            func_addr: call.func_addr,
            entry_us: call.entry_us as u32,
            duration_us: call.duration_us,
            depth: call.depth,
        };
        let records: Vec<ProfileRecord> = self.calls.iter().map(wire).collect();
        encode::profile(self.options.reading, &records, &mut packet);
        let is_hit = self.options.damage != Damage::None && self.random.below(20) == 0;
        let mut is_intact = !is_hit;
        match self.options.damage {
            Damage::Losses if is_hit => {}
            Damage::Line if is_hit => is_intact = self.damage(packet),
            _ => self.bytes.extend(packet),
        }
        (self.sent)(Sent { calls: &self.calls, is_intact });
        self.calls.clear();
        self.packets += 1;
        if self.packets.is_multiple_of(PACKETS_PER_STATUS) {
            let usage = self.random.below(40) as u8;
            self.status(1, usage);
        }
        self.write()
    }

    /// Writes a packet with damage from the line. Returns whether it is still intact.
    fn damage(&mut self, mut packet: Vec<u8>) -> bool {
        let end = packet.len() as u64;
        match self.random.below(5) {
            0 => {
                let bit = self.random.below(end * 8);
                packet[(bit / 8) as usize] ^= 1 << (bit % 8);
            }
            1 => {
                let start = self.random.below(end);
                let len = 1 + self.random.below((end - start).min(200));
                packet.drain(start as usize..(start + len) as usize);
            }
            2 => {
                let garbage = 1 + self.random.below(60);
                let noise: Vec<u8> = (0..garbage).map(|_| self.random.below(256) as u8).collect();
                self.bytes.extend(noise);
                self.bytes.extend(packet);
                return true;
            }
            3 => {
                let header = self.options.reading.header;
                self.bytes.extend([header[0], header[1], 5, 0xFF, 0xFF]);
                self.bytes.extend(packet);
                return true;
            }
            _ => {
                self.bytes.extend(b"W (4711) sensor: no answer, trying again\r\n");
                self.bytes.extend(packet);
                return true;
            }
        }
        self.bytes.extend(packet);
        false
    }

    fn write(&mut self) -> io::Result<()> {
        self.out.write_all(&self.bytes)?;
        self.written += self.bytes.len() as u64;
        self.bytes.clear();
        Ok(())
    }
}

/// Small, fast, and the same everywhere.
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((u128::from(self.0) * u128::from(end)) >> 64) as u64
    }
}
