//! The captures under `testdata/itm`: one for each behaviour.

use traceconv::format::itm::encode::{self, exception, packet, sample, text, ticks};
use traceconv::format::itm::generate::{Damage, GenerateOptions, Times};
use traceconv::frame::swo::{Delay, Packet};
use traceconv::frame::tpiu;

use crate::common::golden::Capture;
use crate::run::generated_with;

fn port(port: u8, bytes: u8, value: u32, out: &mut Vec<u8>) {
    packet(Packet::Port { port, bytes, value }, out);
}

fn hardware(id: u8, bytes: u8, value: u32, out: &mut Vec<u8>) {
    packet(Packet::Hardware { id, bytes, value }, out);
}

/// Each kind of packet at least once.
fn every_packet() -> Vec<u8> {
    let mut out = Vec::new();
    packet(Packet::Sync, &mut out);
    packet(Packet::GlobalLow { value: 0x012_3456, bits: 26, has_wrapped: false, clock_changed: false }, &mut out);
    packet(Packet::GlobalHigh { value: 5 }, &mut out);
    text(0, "hello\r\n", &mut out);
    ticks(3, &mut out);
    text(0, "two ", &mut out);
    ticks(1000, &mut out);
    text(0, "pieces, \u{e4}\n", &mut out);
    // Four characters in a write, as some libraries send them.
    port(2, 4, u32::from_le_bytes(*b"wide"), &mut out);
    port(2, 2, u32::from_le_bytes([b'!', b'\n', 0, 0]), &mut out);
    // Values on a port that has no text.
    port(1, 4, 0xFFFF_FFF6, &mut out);
    port(1, 2, 0x8000, &mut out);
    ticks(500, &mut out);
    packet(Packet::Page { page: 1 }, &mut out);
    text(3, "port 35\n", &mut out);
    packet(Packet::Page { page: 0 }, &mut out);
    ticks(10, &mut out);
    // SysTick, interrupted by interrupt 37; tail-chained into PendSV.
    exception(15, 1, &mut out);
    ticks(200, &mut out);
    exception(53, 1, &mut out);
    ticks(40, &mut out);
    exception(53, 2, &mut out);
    exception(15, 3, &mut out);
    ticks(30, &mut out);
    exception(15, 2, &mut out);
    exception(14, 1, &mut out);
    ticks(60, &mut out);
    exception(14, 2, &mut out);
    exception(0, 3, &mut out);
    ticks(90, &mut out);
    sample(0x0800_0134, &mut out);
    ticks(1024, &mut out);
    hardware(2, 1, 0, &mut out);
    ticks(1024, &mut out);
    hardware(2, 1, 0xFF, &mut out);
    ticks(1024, &mut out);
    // Watched data: where it is accessed, which data, its value.
    hardware(8, 4, 0x0800_0200, &mut out);
    hardware(9, 2, 0x0010, &mut out);
    hardware(17, 4, 42, &mut out);
    ticks(5, &mut out);
    hardware(16, 1, 43, &mut out);
    hardware(11, 2, 0x0020, &mut out);
    hardware(18, 2, 1000, &mut out);
    hardware(12, 1, 1, &mut out);
    hardware(14, 4, 0x0800_0300, &mut out);
    ticks(77, &mut out);
    for bit in 0..6 {
        hardware(0, 1, 1 << bit, &mut out);
        ticks(256, &mut out);
    }
    hardware(3, 1, 0x81, &mut out);
    for (of_stamp, of_packets) in [(true, false), (false, true), (true, true)] {
        text(0, "late\n", &mut out);
        packet(Packet::LocalTime { ticks: 300, delay: Delay { of_stamp, of_packets } }, &mut out);
    }
    packet(Packet::Overflow, &mut out);
    ticks(20_000, &mut out);
    packet(Packet::GlobalLow { value: 0x01, bits: 7, has_wrapped: false, clock_changed: false }, &mut out);
    text(0, "no end of line", &mut out);
    ticks(50, &mut out);
    out
}

/// Interrupts whose begins or ends are not recorded.
fn interrupts() -> Vec<u8> {
    let mut out = Vec::new();
    // It was active before.
    exception(15, 2, &mut out);
    exception(0, 3, &mut out);
    ticks(100, &mut out);
    exception(30, 1, &mut out);
    ticks(100, &mut out);
    exception(40, 1, &mut out);
    ticks(100, &mut out);
    // The exit of 40 is missing.
    exception(30, 3, &mut out);
    ticks(100, &mut out);
    exception(30, 2, &mut out);
    // It was active before, too.
    exception(20, 3, &mut out);
    ticks(100, &mut out);
    exception(20, 2, &mut out);
    exception(0, 3, &mut out);
    ticks(100, &mut out);
    exception(30, 1, &mut out);
    ticks(100, &mut out);
    packet(Packet::Overflow, &mut out);
    exception(0, 3, &mut out);
    ticks(100, &mut out);
    exception(30, 1, &mut out);
    ticks(100, &mut out);
    exception(0, 3, &mut out);
    ticks(100, &mut out);
    out
}

/// Text without ends of lines: what is written together is a message.
fn words() -> Vec<u8> {
    let mut out = Vec::new();
    for round in 0..6u32 {
        text(0, if round % 2 == 0 { "On" } else { "Off" }, &mut out);
        for index in 0..20 {
            sample(0x0800_0100 + 2 * index, &mut out);
        }
    }
    // Values between words end them.
    for value in [1, 0x8000_0000] {
        text(1, "Sort", &mut out);
        port(1, 4, value, &mut out);
    }
    out
}

/// Global time without local time, whose high bits are known late and change.
fn global() -> Vec<u8> {
    let mut out = Vec::new();
    let low = |value, has_wrapped, out: &mut Vec<u8>| {
        packet(Packet::GlobalLow { value, bits: 26, has_wrapped, clock_changed: false }, out);
    };
    exception(15, 1, &mut out);
    low(0x3FF_0000, false, &mut out);
    exception(15, 2, &mut out);
    low(0x000_0100, true, &mut out);
    packet(Packet::GlobalHigh { value: 9 }, &mut out);
    exception(15, 1, &mut out);
    packet(Packet::GlobalLow { value: 0x7F, bits: 7, has_wrapped: false, clock_changed: false }, &mut out);
    exception(15, 2, &mut out);
    low(0x000_8000, false, &mut out);
    exception(15, 1, &mut out);
    low(0x3FF_0000, true, &mut out);
    packet(Packet::GlobalHigh { value: 10 }, &mut out);
    out
}

fn damage() -> Vec<u8> {
    let mut out = Vec::new();
    for round in 0..8u32 {
        exception(15, 1, &mut out);
        ticks(100, &mut out);
        exception(15, 2, &mut out);
        exception(0, 3, &mut out);
        ticks(900, &mut out);
        match round {
            2 => out.extend([0xFF, 0xFF, 0xFD, 0x04]),
            4 => out.truncate(out.len() - 4),
            5 => {
                // More than the counter has bits.
                packet(Packet::LocalTime { ticks: 0x0FFF_FFFF, delay: Delay::default() }, &mut out);
            }
            6 => packet(Packet::Sync, &mut out),
            _ => {}
        }
    }
    out.extend([0x17, 0x01]);
    out
}

/// Frames with two sources, half sync words, and a frame that is cut.
fn frames() -> Vec<u8> {
    let mut out = vec![0xFF, 0xFF, 0xFF, 0x7F];
    let mut stream = Vec::new();
    for round in 0..12 {
        packet(Packet::Sync, &mut stream);
        exception(15, 1, &mut stream);
        ticks(1000 + round, &mut stream);
        exception(15, 2, &mut stream);
        text(0, "a line of text\n", &mut stream);
        ticks(9000, &mut stream);
    }
    for (index, piece) in stream.chunks(90).enumerate() {
        tpiu::wrap(piece, 1, &mut out);
        tpiu::wrap(&[0x55, 0xAA, 7], 2, &mut out);
        if index == 2 {
            out.truncate(out.len() - 5);
            out.extend([0xFF, 0xFF, 0xFF, 0x7F]);
        }
    }
    out
}

pub fn all() -> Vec<Capture> {
    let made = |options: GenerateOptions| generated_with(&GenerateOptions { bytes: 2_500, ..options });
    let base = GenerateOptions::default();
    let captures = [
        ("every_packet", every_packet()),
        ("interrupts", interrupts()),
        ("words", words()),
        ("global", global()),
        ("damage", damage()),
        ("frames", frames()),
        ("generated", made(base)),
        ("generated_framed", made(GenerateOptions { is_framed: true, overflows: true, seed: 4, ..base })),
        ("generated_damaged", made(GenerateOptions { damage: Damage::Bytes, delays: true, seed: 5, ..base })),
        ("generated_untimed", made(GenerateOptions { times: Times::None, seed: 2, ..base })),
    ];
    captures.into_iter().map(|(name, bytes)| Capture { name: name.to_owned(), bytes }).collect()
}

/// The packets of the encoder are those of the reader; used by the properties.
pub fn encoded(packets: &[Packet]) -> Vec<u8> {
    let mut out = Vec::new();
    packets.iter().for_each(|&one| encode::packet(one, &mut out));
    out
}
