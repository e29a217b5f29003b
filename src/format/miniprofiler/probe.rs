//! Recognising a capture: packets with an end byte at their length, and a CRC that is valid in one reading. A header is a valid packet by
//! chance once in 2^24, so two packets are proof, and a capture may begin with any number of other bytes.

use crate::format::Probe;
use crate::model::counted;

use super::decode::each_frame;
use super::packet::{Frame, find_reading};

/// Judges a sample from the start of an input; see [`Format::probe`](crate::format::Format::probe).
pub(super) fn probe(sample: &[u8], whole: bool) -> Option<Probe> {
    let (reading, witnesses) = find_reading(sample)?;
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
        // A single packet may be chance, unless there is nothing else.
        1 if covers_all => 90,
        1 => 40,
        2 => 90,
        3..8 => 95,
        _ => 99,
    };
    let with_commands = if commands > 0 { format!(" and {} of the host", counted(commands, "command")) } else { String::new() };
    let verb = if packets == 1 { "packet has a valid CRC" } else { "packets have valid CRCs" };
    let place = if whole { String::new() } else { format!(" in the first {} KiB", sample.len() >> 10) };
    Some(Probe { score, reason: format!("{packets} {verb}{with_commands}{place}; {}", reading.description()) })
}

#[cfg(test)]
mod tests {
    use super::super::encode;
    use super::super::generate::{Damage, GenerateOptions, generate};
    use super::super::record::{Reading, Status};
    use super::*;

    fn capture(bytes: u64, reading: Reading, damage: Damage) -> Vec<u8> {
        let mut capture = Vec::new();
        let options = GenerateOptions { bytes, reading, damage, ..GenerateOptions::default() };
        generate(&options, &mut capture, &mut |_| {}).expect("memory does not fail");
        capture
    }

    fn score(sample: &[u8]) -> u8 {
        probe(sample, true).map_or(0, |probe| probe.score)
    }

    fn noise(bytes: usize) -> Vec<u8> {
        let mut state = 1u64;
        let next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 56) as u8
        };
        std::iter::repeat_with(next).take(bytes).collect()
    }

    #[test]
    fn captures_are_recognised_in_every_reading_and_after_other_bytes() {
        for reading in Reading::ALL {
            assert_eq!(score(&capture(5_000, reading, Damage::None)), 99);
        }
        let damaged = capture(50_000, Reading::HOST, Damage::Line);
        assert_eq!(score(&damaged), 99);
        assert_eq!(score(&[&noise(100_000)[..], &damaged].concat()), 99);
        let answer = probe(&damaged, false).expect("recognised");
        assert!(answer.reason.contains("in the first") && answer.reason.contains("header 55 AA, CRC-16/CCITT from 0000"));
    }

    #[test]
    fn a_single_packet_is_enough_if_there_is_nothing_else() {
        let mut packet = Vec::new();
        let status = Status { is_profiling: 1, buffer_overflows: 0, records_captured: 9, usage_percent: 3 };
        encode::status(Reading::DOCUMENT_TEXT, &status, &mut packet);
        assert_eq!(score(&packet), 90);
        assert!(score(&[&packet[..], &noise(300)].concat()) < 50);
        assert_eq!(score(&packet.repeat(2)), 90);
    }

    #[test]
    fn other_files_are_not_recognised() {
        let text = "A text with \u{AA}U in it.\n".repeat(999);
        let headers = [0xAA, 0x55, 5, 3, 0, 1, 0, 0, 0, 0, 0x0A].repeat(999);
        for (name, sample) in [
            ("nothing", Vec::new()),
            ("text", text.into_bytes()),
            ("zeros", vec![0; 100_000]),
            ("erased flash", vec![0xFF; 100_000]),
            ("noise", noise(1 << 20)),
            ("packets with wrong CRCs", headers),
        ] {
            assert_eq!(score(&sample), 0, "{name}");
        }
    }
}
