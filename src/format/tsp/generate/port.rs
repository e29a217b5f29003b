//! From a hook of the kernel to the file: the two time fields, the packet's number, the FIFOs, the line.

use std::io::{self, Write};

use super::super::encode;
use super::super::record::{ListEntry, id, object_type::TYPES};
use super::{Damage, GenerateOptions, TimerKind};
use crate::format::generated::Random;

/// Length of a tick.
pub const TICK_NS: u64 = 1_000_000;

/// How far the timer is ahead of the tick, where they are not in phase.
const PHASE_NS: u64 = 412_000;

/// How often the stream FIFO is emptied, in ticks. Losses are reported after its content.
const DRAIN_TICKS: u64 = 10;

/// Makes packets of hooks.
pub struct Port<'t> {
    out: Vec<u8>,
    written: u64,
    options: GenerateOptions,
    random: Random,
    packet_id: u8,
    truth: &'t mut dyn FnMut(u64),
    /// The time, in nanoseconds.
    pub now: u64,
    /// The kernel's tick count.
    pub tick: u64,
    /// The number of hooks that are still to be lost, and the time fields of those lost.
    losing: u64,
    lost: Vec<(u16, u16)>,
    last_drain: u64,
}

impl<'t> Port<'t> {
    pub fn new(options: &GenerateOptions, truth: &'t mut dyn FnMut(u64)) -> Port<'t> {
        Port {
            out: Vec::new(),
            written: 0,
            options: *options,
            random: Random(options.seed ^ 0x7599),
            packet_id: 0,
            truth,
            now: 60,
            tick: 0,
            losing: 0,
            lost: Vec::new(),
            last_drain: 0,
        }
    }

    pub fn is_full(&self) -> bool {
        self.written + self.out.len() as u64 >= self.options.bytes
    }

    pub fn flush_large(&mut self, out: &mut dyn Write) -> io::Result<()> {
        if self.out.len() >= 1 << 16 { self.flush(out) } else { Ok(()) }
    }

    pub fn flush(&mut self, out: &mut dyn Write) -> io::Result<()> {
        self.written += self.out.len() as u64;
        out.write_all(&self.out)?;
        self.out.clear();
        Ok(())
    }

    /// How long nothing was recorded, so far.
    fn silence(&self) -> u64 {
        let is_later = (self.written + self.out.len() as u64) * 2 >= self.options.bytes;
        if is_later { self.options.silent_ticks } else { 0 }
    }

    /// The time fields now.
    fn fields(&self) -> (u16, u16) {
        let within = |ns: u64| ns % TICK_NS;
        let timer = match self.options.timer {
            TimerKind::Up1MHz => within(self.now + PHASE_NS) / 1000,
            TimerKind::Down93 => (23_999 - within(self.now) * 24 / 1000) >> 8,
            TimerKind::Up250kHz => within(self.now) / 4000,
            TimerKind::Modulo1000 => within(self.now) / 1000,
            TimerKind::Nothing => 0,
        };
        let tick = self.tick + self.options.start_ticks + self.silence();
        let tick = if self.options.timer == TimerKind::Modulo1000 { tick % 1000 } else { tick };
        (tick as u16, timer as u16)
    }

    /// A hook runs.
    pub fn hook(&mut self, id: u8, data: &[u8]) {
        if self.is_full() {
            return;
        }
        if self.options.filtered.contains(&id) {
            self.now += 960;
            return;
        }
        let (tick, mut timer) = self.fields();
        if self.options.damage == Damage::Fifo {
            if self.losing == 0 && self.random.one_in(4096) {
                self.losing = 1 + self.random.below(64);
            }
            if self.losing > 0 {
                self.losing -= 1;
                self.lost.push((tick, timer));
                self.now += 200;
                return;
            }
            if self.tick >= self.last_drain + DRAIN_TICKS {
                self.last_drain = self.tick;
                self.report_lost();
            }
        }
        // The high half was read before the carry, the low half after it.
        if self.options.damage == Damage::Torn && timer & 0xFF == 0xFF && self.random.one_in(2) {
            timer &= 0xFF00;
        }
        let time = self.now + (self.options.start_ticks + self.silence()) * TICK_NS;
        (self.truth)(time);
        self.send(id, tick, timer, data);
        self.now += 960;
    }

    fn report_lost(&mut self) {
        for (tick, timer) in std::mem::take(&mut self.lost) {
            self.send(id::ERROR_STREAM_FIFO_FULL, tick, timer, &[]);
        }
    }

    fn send(&mut self, id: u8, tick: u16, timer: u16, data: &[u8]) {
        let start = self.out.len();
        encode::packet(&encode::packet_of(self.packet_id, id, tick, timer, data), &mut self.out);
        self.sent(start);
    }

    /// The host has asked for the object lists.
    pub fn lists(&mut self, lists: &[Vec<String>; TYPES]) {
        for (type_number, names) in (0u8..).zip(lists) {
            let entries: Vec<ListEntry<'_>> =
                (1u8..=255).zip(names).map(|(number, name)| ListEntry { number, name: name.as_bytes() }).collect();
            let start = self.out.len();
            encode::object_list(self.packet_id, type_number, &entries, &mut self.out);
            self.sent(start);
        }
    }

    /// A packet goes over the line, from `start` on.
    fn sent(&mut self, start: usize) {
        self.packet_id = self.packet_id.wrapping_add(1);
        let len = (self.out.len() - start) as u64;
        match self.options.damage {
            Damage::Bytes if self.random.below(4096) < len => {
                let missing = 1 + self.random.below(40).min(self.out.len() as u64 - 1);
                self.out.truncate(self.out.len() - missing as usize);
            }
            Damage::Flips if self.random.below(8192) < len => {
                let at = start as u64 + self.random.below(len);
                let bit = 1 << self.random.below(8);
                if let Some(byte) = self.out.get_mut(at as usize) {
                    *byte ^= bit;
                }
            }
            _ => {}
        }
    }
}
