//! Packets → bytes: for tests, fuzzing and generated captures.

use crate::frame::swo::{Delay, Packet};

/// Appends a packet. Values that are too large for it are cut off.
pub fn packet(packet: Packet, out: &mut Vec<u8>) {
    let source = |kind: u8, id: u8, bytes: u8, value: u32, out: &mut Vec<u8>| {
        let size = match bytes {
            4.. => 3,
            bytes => bytes.max(1),
        };
        let len = if size == 3 { 4 } else { usize::from(size) };
        out.push(id << 3 | kind << 2 | size);
        out.extend(&value.to_le_bytes()[..len]);
    };
    match packet {
        Packet::Zero => out.push(0),
        Packet::Sync => out.extend([0, 0, 0, 0, 0, 0x80]),
        Packet::Overflow => out.push(0x70),
        Packet::LocalTime { ticks: ticks @ 1..=6, delay } if delay == Delay::default() => out.push((ticks as u8) << 4),
        Packet::LocalTime { ticks, delay } => {
            out.push(0xC0 | u8::from(delay.of_stamp) << 4 | u8::from(delay.of_packets) << 5);
            groups(u64::from(ticks & 0x0FFF_FFFF), 1, out);
        }
        Packet::GlobalLow { value, bits, has_wrapped, clock_changed } => {
            out.push(0x94);
            let flags = u64::from(clock_changed) << 26 | u64::from(has_wrapped) << 27;
            let is_full = bits > 21 || flags != 0;
            groups(u64::from(value & 0x03FF_FFFF) | flags, if is_full { 4 } else { usize::from(bits) / 7 }, out);
        }
        Packet::GlobalHigh { value } => {
            out.push(0xB4);
            groups(value & 0x3F_FFFF_FFFF, 4, out);
        }
        Packet::Page { page } => out.push((page & 7) << 4 | 8),
        Packet::Port { port, bytes, value } => source(0, port & 31, bytes, value, out),
        Packet::Hardware { id, bytes, value } => source(1, id & 31, bytes, value, out),
    }
}

/// A number in seven-bit groups, the lowest first, in at least `least` bytes.
fn groups(mut value: u64, least: usize, out: &mut Vec<u8>) {
    for index in 1.. {
        let is_last = value < 0x80 && index >= least;
        out.push((value & 0x7F) as u8 | if is_last { 0 } else { 0x80 });
        value >>= 7;
        if is_last {
            return;
        }
    }
}

/// A text, as software writes it to a port byte by byte.
pub fn text(port: u8, text: &str, out: &mut Vec<u8>) {
    text.bytes().for_each(|byte| packet(Packet::Port { port, bytes: 1, value: u32::from(byte) }, out));
}

/// An exception: 1 entered, 2 exited, 3 returned to.
pub fn exception(number: u16, what: u8, out: &mut Vec<u8>) {
    packet(Packet::Hardware { id: 1, bytes: 2, value: u32::from(number & 0x1FF) | u32::from(what & 3) << 12 }, out);
}

/// A sample of the program counter.
pub fn sample(pc: u32, out: &mut Vec<u8>) {
    packet(Packet::Hardware { id: 2, bytes: 4, value: pc }, out);
}

/// A local time stamp that is not delayed.
pub fn ticks(ticks: u32, out: &mut Vec<u8>) {
    packet(Packet::LocalTime { ticks, delay: Delay::default() }, out);
}
