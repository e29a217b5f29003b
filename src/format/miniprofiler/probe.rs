//! Recognising a capture: packets with a length that leads to an end byte, and a CRC that is right in one reading. Each of them is an
//! accident once in 2^24 headers, so two are proof, and a capture may begin with any amount of other bytes.

use crate::format::Probe;

use super::decode::each_frame;
use super::packet::{Frame, lock_on};

/// Judges a sample from the start of an input; see [`Format::probe`](crate::format::Format::probe).
pub(super) fn probe(sample: &[u8], whole: bool) -> Option<Probe> {
    let (reading, witnesses) = lock_on(sample)?;
    let (mut packets, mut commands, mut bytes) = (0u64, 0u64, 0usize);
    each_frame(reading, sample, 0..sample.len(), |_, frame| {
        match frame {
            Frame::Packet { .. } => packets += 1,
            Frame::Command(_) => commands += 1,
        }
        bytes += frame.bytes();
    });
    let covers_all = whole && bytes == sample.len();
    let score = match witnesses {
        // One alone is an accident, unless nothing else is there.
        1 if covers_all => 90,
        1 => 40,
        2 => 90,
        3..8 => 95,
        _ => 99,
    };
    let with_commands = if commands > 0 { format!(" and {commands} commands of the host") } else { String::new() };
    let verb = if packets == 1 { "packet has a right CRC" } else { "packets have right CRCs" };
    let place = if whole { String::new() } else { format!(" in the first {} KiB", sample.len() >> 10) };
    Some(Probe { score, reason: format!("{packets} {verb}{with_commands}{place}; {}", reading.description()) })
}
