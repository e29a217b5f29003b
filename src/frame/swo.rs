//! Packets of the ARM Instrumentation Trace Macrocell (ITM): what software writes to stimulus ports, what the Data Watchpoint and Trace
//! unit (DWT) sends, and time stamps. `docs/formats/itm.md` has the layout and its sources.
//!
//! A packet is a header byte and up to six more bytes; there is no delimiter and no checksum. Only a synchronisation packet (at least
//! five zero bytes, then 0x80) is at no other place. Packets that no target sends are damage, and reading continues at the next byte. As
//! packets are short, all ways of reading meet after a few of them ([`super::sync`]).

use std::ops::Range;

use super::sync::{Grammar, stretches};

/// The length of the longest packet, in bytes.
pub const MAX_PACKET_BYTES: usize = 7;

/// The least number of zero bytes in a synchronisation packet.
const SYNC_ZEROS: usize = 5;

/// A packet at a position is only certain with this number of bytes after it, or at the end of the stream.
pub const LOOKAHEAD_BYTES: usize = MAX_PACKET_BYTES + SYNC_ZEROS;

/// How a local time stamp relates to the packets before it: the two bits TC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Delay {
    /// The time is that of the time stamp packet, which is later than the packets.
    pub of_stamp: bool,
    /// The packets are later than their events.
    pub of_packets: bool,
}

/// A packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packet {
    /// A zero byte of a synchronisation packet.
    Zero,
    /// The end of a synchronisation packet.
    Sync,
    /// The target dropped packets, or its counter of local time overflowed.
    Overflow,
    /// The ticks since the local time stamp before.
    LocalTime { ticks: u32, delay: Delay },
    /// The low bits of the global time, up to bit 25; the others are as before. `has_wrapped`: the high bits have changed, and follow.
    GlobalLow { value: u32, bits: u8, has_wrapped: bool, clock_changed: bool },
    /// The global time from bit 26 on.
    GlobalHigh { value: u64 },
    /// The ports of the packets after it are of this page: 32 ports each.
    Page { page: u8 },
    /// A write of 1, 2 or 4 bytes to a stimulus port of the present page.
    Port { port: u8, bytes: u8, value: u32 },
    /// A packet of the DWT, by its discriminator, with 1, 2 or 4 bytes.
    Hardware { id: u8, bytes: u8, value: u32 },
}

/// Why there is no packet at a position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoPacket {
    /// The bytes are no packet.
    Damaged,
    /// The stream ends within what may be a packet.
    Truncated,
}

/// The number of zero bytes directly before and after a position, each at most [`SYNC_ZEROS`].
fn zeros_around(input: &[u8], at: usize) -> (usize, usize) {
    let before = input.get(at.saturating_sub(SYNC_ZEROS)..at).unwrap_or(&[]);
    let after = input.get(at..input.len().min(at + SYNC_ZEROS)).unwrap_or(&[]);
    (before.iter().rev().take_while(|&&byte| byte == 0).count(), after.iter().take_while(|&&byte| byte == 0).count())
}

/// The seven-bit groups from `at` on, the lowest first, up to the byte without the continuation bit: their bits (of the byte at
/// `limit`, all eight), and the number of bytes.
#[inline]
fn groups(input: &[u8], at: usize, limit: usize) -> Result<(u64, usize), NoPacket> {
    if let Some(&byte @ ..0x80) = input.get(at) {
        return Ok((u64::from(byte), 1));
    }
    if let Some(&word) = input.get(at..).and_then(<[u8]>::first_chunk) {
        let word = u32::from_le_bytes(word);
        let last = !word & 0x8080_8080;
        if last != 0 && limit >= 4 {
            // The bytes up to the first without the continuation bit, without these bits.
            let bits = word & (last ^ (last - 1)) & 0x7F7F_7F7F;
            let value = bits & 0x7F | bits >> 1 & 0x3F80 | bits >> 2 & 0x001F_C000 | bits >> 3 & 0x0FE0_0000;
            return Ok((u64::from(value), last.trailing_zeros() as usize / 8 + 1));
        }
    }
    let mut value = 0;
    for (index, &byte) in input.get(at..).unwrap_or(&[]).iter().take(limit).enumerate() {
        value |= u64::from(byte & 0x7F) << (7 * index);
        if byte < 0x80 {
            return Ok((value, index + 1));
        }
    }
    Err(if input.len().saturating_sub(at) < limit { NoPacket::Truncated } else { NoPacket::Damaged })
}

/// The packet at a position, and its length in bytes.
///
/// # Errors
/// When there is none.
#[inline(always)]
pub fn read(input: &[u8], at: usize) -> Result<(Packet, usize), NoPacket> {
    let header = *input.get(at).ok_or(NoPacket::Truncated)?;
    let len = match header & 3 {
        // Most packets with a protocol header.
        0 if header & 0xCF == 0xC0 => {
            let (ticks, len) = groups(input, at + 1, 4)?;
            return Ok((Packet::LocalTime { ticks: ticks as u32, delay: delay_of(header) }, 1 + len));
        }
        0 => return protocol(header, input, at),
        3 => 4,
        len => usize::from(len),
    };
    let value = match input.get(at + 1..).and_then(<[u8]>::first_chunk) {
        Some(&word) => u32::from_le_bytes(word) & u32::MAX >> (32 - 8 * len),
        None => {
            let payload = input.get(at + 1..at + 1 + len).ok_or(NoPacket::Truncated)?;
            payload.iter().rev().fold(0, |value, &byte| value << 8 | u32::from(byte))
        }
    };
    let (id, bytes) = (header >> 3, len as u8);
    if header & 4 == 0 {
        return Ok((Packet::Port { port: id, bytes, value }, 1 + len));
    }
    if is_sent(id, bytes, value) { Ok((Packet::Hardware { id, bytes, value }, 1 + len)) } else { Err(NoPacket::Damaged) }
}

/// Whether the DWT sends such a packet.
fn is_sent(id: u8, bytes: u8, value: u32) -> bool {
    match id {
        // Event counters: six bits; counters of ARMv8.1-M's performance monitor: eight.
        0 => bytes == 1 && value & 0xC0 == 0 && value != 0,
        3 => bytes == 1 && value != 0,
        // An exception: nine bits of number, two of what happened.
        1 => bytes == 2 && value & 0xCE00 == 0 && value & 0x3000 != 0,
        // The program counter; one byte: asleep, or not allowed.
        2 => bytes == 4 || bytes == 1 && (value == 0 || value == 0xFF),
        // Data trace: PC or match, address, value.
        8 | 10 | 12 | 14 => bytes == 4 || bytes == 1 && value == 1,
        9 | 11 | 13 | 15 => bytes == 2,
        16..=23 => true,
        _ => false,
    }
}

/// The delay that the header of a local time stamp states.
#[inline]
fn delay_of(header: u8) -> Delay {
    Delay { of_stamp: header & 0x10 != 0, of_packets: header & 0x20 != 0 }
}

fn protocol(header: u8, input: &[u8], at: usize) -> Result<(Packet, usize), NoPacket> {
    match header {
        0 => match zeros_around(input, at) {
            // The last one of zeros that do not end as a synchronisation packet does: something else is missing there. At the end of the input
            // zeros are unused memory.
            (before, 1) if before + 1 >= SYNC_ZEROS && !matches!(input.get(at + 1), Some(0x80) | None) => Err(NoPacket::Damaged),
            (before, after) if before + after >= SYNC_ZEROS => Ok((Packet::Zero, 1)),
            (_, after) if at + after >= input.len() => Err(NoPacket::Truncated),
            _ => Err(NoPacket::Damaged),
        },
        0x80 if zeros_around(input, at).0 == SYNC_ZEROS => Ok((Packet::Sync, 1)),
        0x70 => Ok((Packet::Overflow, 1)),
        0x10 | 0x20 | 0x30 | 0x40 | 0x50 | 0x60 => {
            Ok((Packet::LocalTime { ticks: u32::from(header >> 4), delay: Delay::default() }, 1))
        }
        0x94 => {
            let (value, len) = groups(input, at + 1, 4)?;
            let is_full = len == 4;
            let (has_wrapped, clock_changed) = (is_full && value & 1 << 27 != 0, is_full && value & 1 << 26 != 0);
            let bits = if is_full { 26 } else { 7 * len as u8 };
            let value = value as u32 & ((1 << bits) - 1);
            Ok((Packet::GlobalLow { value, bits, has_wrapped, clock_changed }, 1 + len))
        }
        0xB4 => {
            let (value, len) = groups(input, at + 1, 6)?;
            Ok((Packet::GlobalHigh { value: value & ((1 << 38) - 1) }, 1 + len))
        }
        // The input may begin within a packet, and a byte of that must not choose the ports of all that follows.
        _ if header & 0x8F == 0x08 && at + 1 >= MAX_PACKET_BYTES => Ok((Packet::Page { page: header >> 4 }, 1)),
        _ => Err(NoPacket::Damaged),
    }
}

/// The rules by which packets follow each other.
#[derive(Clone, Copy, Debug, Default)]
pub struct Packets;

impl Grammar for Packets {
    const MAX_PACKET_BYTES: usize = MAX_PACKET_BYTES;
    /// In a regular stream without synchronisation packets, wrong readings may go on for as long as the right one.
    const RESYNC_BYTES: usize = 1 << 20;

    #[inline]
    fn sync(&self, input: &[u8], at: usize) -> usize {
        at.min(input.len())
    }

    #[inline]
    fn next(&self, input: &[u8], at: usize, mut each: impl FnMut(usize)) {
        each(at + read(input, at).map_or(1, |(_, len)| len));
    }
}

/// The packets of a part between two cuts of [`Packets`]: passes each with its length, or a byte that is not part of a packet, to `each`.
pub fn each_packet(input: &[u8], range: Range<usize>, mut each: impl FnMut(usize, Result<(Packet, usize), NoPacket>)) {
    for stretch in stretches(&Packets, input, range) {
        let mut at = stretch.start;
        while at < stretch.end {
            let found = match read(input, at) {
                Ok((_, len)) if at + len > stretch.end => Err(NoPacket::Damaged),
                found => found,
            };
            each(at, found);
            at += found.map_or(1, |(_, len)| len);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::sync::cut;
    use super::*;

    fn all(stream: &[u8]) -> Vec<Result<Packet, NoPacket>> {
        let mut all = Vec::new();
        each_packet(stream, 0..stream.len(), |_, found| match found {
            Ok((Packet::Zero, _)) => {}
            found => all.push(found.map(|(packet, _)| packet)),
        });
        all
    }

    #[test]
    fn each_kind_of_packet() {
        let local = |ticks, of_stamp, of_packets| Ok(Packet::LocalTime { ticks, delay: Delay { of_stamp, of_packets } });
        let cases: [(&[u8], _); 17] = [
            (&[0, 0, 0, 0, 0, 0x80], Ok(Packet::Sync)),
            (&[0x70], Ok(Packet::Overflow)),
            (&[0x60], local(6, false, false)),
            (&[0xC0, 0x85, 0x01], local(133, false, false)),
            (&[0xD0, 0xFF, 0xFF, 0xFF, 0x7F], local((1 << 28) - 1, true, false)),
            (&[0xE0, 0x00], local(0, false, true)),
            (&[0xF0, 0x01], local(1, true, true)),
            (&[0x94, 0x05], Ok(Packet::GlobalLow { value: 5, bits: 7, has_wrapped: false, clock_changed: false })),
            (
                &[0x94, 0x81, 0x80, 0x80, 0x61],
                Ok(Packet::GlobalLow { value: 1 | 1 << 21, bits: 26, has_wrapped: true, clock_changed: true }),
            ),
            (&[0xB4, 0x81, 0x80, 0x80, 0x01], Ok(Packet::GlobalHigh { value: 1 | 1 << 21 })),
            (&[0xB4, 0x81, 0x80, 0x80, 0x80, 0x80, 0x01], Ok(Packet::GlobalHigh { value: 1 | 1 << 35 })),
            (&[0xF9, b'x'], Ok(Packet::Port { port: 31, bytes: 1, value: 0x78 })),
            (&[0x03, 4, 3, 2, 1], Ok(Packet::Port { port: 0, bytes: 4, value: 0x0102_0304 })),
            (&[0x0E, 0x1C, 0x10], Ok(Packet::Hardware { id: 1, bytes: 2, value: 0x101C })),
            (&[0x15, 0], Ok(Packet::Hardware { id: 2, bytes: 1, value: 0 })),
            (&[0x4E, 0x34, 0x12], Ok(Packet::Hardware { id: 9, bytes: 2, value: 0x1234 })),
            (&[0x8F, 1, 0, 0, 0], Ok(Packet::Hardware { id: 17, bytes: 4, value: 1 })),
        ];
        for (bytes, expected) in cases {
            assert_eq!(all(bytes), [expected], "{bytes:x?}");
        }
        // No exception happens, a reserved discriminator, reserved headers, zeros that are too few.
        for bytes in [&[0x0E, 0x1C, 0x00][..], &[0x25, 1], &[0x90], &[0x04], &[0x80], &[0, 0, 0, 0, 0x80]] {
            assert!(all(bytes)[0].is_err(), "{bytes:x?}");
        }
        assert_eq!(read(&[0x60, 0x60, 0x60, 0x60, 0x60, 0x60, 0x28], 6), Ok((Packet::Page { page: 2 }, 1)));
        assert_eq!(read(&[0x03, 1, 2], 0), Err(NoPacket::Truncated));
        assert_eq!(read(&[0xC0, 0x81], 0), Err(NoPacket::Truncated));
        assert_eq!(read(&[0, 0], 0), Err(NoPacket::Truncated));
    }

    #[test]
    fn a_synchronisation_packet_ends_where_it_ends_however_it_is_read() {
        for before in 0..=255u8 {
            let stream = [&[before, 0, 0, 0, 0, 0, 0x80][..], &[0x01, b'a'].repeat(20)].concat();
            let found = all(&stream);
            let letters = found.iter().filter(|found| matches!(found, Ok(Packet::Port { value: 0x61, bytes: 1, .. }))).count();
            assert_eq!(letters, 20, "{before:#x}: {found:?}");
        }
    }

    #[test]
    fn zeros_that_are_no_synchronisation_packet_are_damage() {
        let zeros = |count, end: &[u8]| all(&[&[0x01, b'a'][..], &vec![0; count], end, &[0x60]].concat()).len();
        for count in [5, 6, 100] {
            assert_eq!((zeros(count, &[0x80]), zeros(count, &[0x01, b'b'])), (3, 4), "{count}");
        }
        // Zeros of values, and those at the end of the input, which may be unused memory.
        assert!(all(&[&[0x03, 0, 0, 0, 0, 0x8F, 0, 0, 0, 0, 0x60][..], &[0; 100]].concat()).iter().all(Result::is_ok));
    }

    #[test]
    fn the_first_bytes_choose_no_page() {
        let is_page = |before: &[u8]| all(&[before, b"h"].concat()).contains(&Ok(Packet::Page { page: 6 }));
        assert!(!is_page(&[]) && !is_page(&[0x01, b'a', 0x60]));
        assert!(is_page(&[0, 0, 0, 0, 0, 0x80]));
    }

    #[test]
    fn a_regular_stream_is_read_from_its_begin() {
        // The same line end and time stamp again and again: each wrong reading gives packets too.
        let stream = [0x01, 0x0A, 0xC0, 0x93, 0x4E].repeat(100_000);
        assert_eq!(
            all(&stream).iter().filter(|found| matches!(found, Ok(Packet::LocalTime { ticks: 10_003, .. }))).count(),
            100_000
        );
    }

    proptest! {
        #[test]
        fn parts_read_as_the_whole(
            stream in prop::collection::vec(prop_oneof![
                2 => any::<u8>(), 3 => Just(0u8), 2 => prop::sample::select(vec![0x03u8, 0x17, 0x0E, 0xC0, 0x94, 0xB4, 0x80, 0x01])
            ], 0..3000),
            wanted in prop::collection::vec(0usize..3000, 0..10),
        ) {
            let mut cuts: Vec<usize> = wanted.iter().map(|&at| cut(&Packets, &stream, at)).collect();
            cuts.extend([0, stream.len()]);
            cuts.sort_unstable();
            let list = |range| {
                let mut list = Vec::new();
                each_packet(&stream, range, |at, found| list.push((at, found)));
                list
            };
            let parts: Vec<_> = cuts.windows(2).flat_map(|pair| list(pair[0]..pair[1])).collect();
            prop_assert_eq!(parts, list(0..stream.len()));
        }
    }
}
