//! Recognising a capture.
//!
//! There is no magic number. But a valid frame is strong evidence: its chain of codes must end exactly at the delimiter, its id be one
//! of 47 of 256, and its fields fill it exactly. So the share of valid frames decides, counted in frames and in bytes: other
//! binary files have a few valid frames by chance, among many invalid bytes.

use crate::format::Probe;
use crate::model::counted;

use super::decode::{BadFrame, Decoder, Stamp};
use super::record::Record;
use super::scan::ScanFacts;

/// A capture may start and end within a frame: damage at the edges up to this size, in bytes, does not count.
const EDGE_BYTES: u32 = 512;

/// The format is inferred from the frames in this number of bytes at the start.
const WIRE_SAMPLE_BYTES: usize = 64 << 10;

/// Judges a sample from the start of an input; see [`Format::probe`](crate::format::Format::probe).
pub(super) fn probe(sample: &[u8], whole: bool) -> Option<Probe> {
    // Most other data is damage in each of these parts, and need not be decoded as a whole.
    let starts = [0, sample.len() / 2, sample.len().saturating_sub(WIRE_SAMPLE_BYTES)];
    let mut parts = starts.into_iter().filter_map(|start| sample.get(start..start + WIRE_SAMPLE_BYTES));
    if sample.len() > starts.len() * WIRE_SAMPLE_BYTES && parts.all(|part| Counts::of(part).are_of_other_data(part.len())) {
        return None;
    }
    let counts = Counts::of(sample);
    let score = counts.score()?;
    let place = match sample.len() {
        _ if whole => String::new(),
        len if len >= 1 << 20 => format!(" in the first {} MiB", len >> 20),
        len => format!(" in the first {} KiB", len >> 10),
    };
    let verb = if counts.good_frames == 1 { "is" } else { "are" };
    let start = counts.start.map_or(String::new(), |name| format!("; the first one is {name}"));
    let (good, all) = (counts.good_frames, counts.good_frames + counts.bad_frames + counts.empty_frames);
    Some(Probe { score, reason: format!("{good} of {}{place} {verb} valid{start}", counted(all, "frame")) })
}

#[derive(Debug, Default)]
struct Counts {
    good_frames: u64,
    good_bytes: u64,
    bad_frames: u64,
    bad_bytes: u64,
    /// Lone delimiters: buffers are often padded with zeros.
    empty_frames: u64,
    /// Pairs of neighbouring times, and how many of them go forwards.
    pairs: u64,
    ordered_pairs: u64,
    /// The first event of the sample, if recordings can start with it.
    start: Option<&'static str>,
}

impl Counts {
    fn of(sample: &[u8]) -> Counts {
        let head = sample.len().min(WIRE_SAMPLE_BYTES);
        let wire = ScanFacts::scan(sample, 0..head).wire();
        let records = Decoder::new(wire, true).records(sample, 0..sample.len());
        let mut counts = Counts { good_frames: records.frames.len() as u64, good_bytes: records.ok_bytes, ..Counts::default() };
        for bad in &records.bad {
            let at_edge = bad.offset == 0 || bad.reason == BadFrame::Truncated;
            if bad.reason == BadFrame::Empty {
                counts.empty_frames += u64::from(bad.frames);
            } else if !at_edge || bad.len > EDGE_BYTES {
                counts.bad_frames += 1;
                counts.bad_bytes += u64::from(bad.len);
            }
        }
        let mut last = None;
        let absolute = records.frames.iter().filter(|stored| stored.stamp == Stamp::Absolute);
        for ts in absolute.filter_map(|stored| stored.record.ts()) {
            if let Some(last) = last.replace(ts) {
                counts.pairs += 1;
                counts.ordered_pairs += u64::from(last <= ts);
            }
        }
        let first = records.frames.first().filter(|stored| stored.offset == 0).map(|stored| stored.record);
        counts.start = first.filter(|record| matches!(record, Record::CoreId { .. }) || record.ts().is_none()).map(|r| r.name());
        counts
    }

    /// Whether this is damage, and not just padding, in so many bytes.
    fn are_of_other_data(&self, bytes: usize) -> bool {
        self.score().is_none() && self.bad_bytes > bytes as u64 / 2
    }

    fn score(&self) -> Option<u8> {
        if self.good_frames == 0 {
            return None;
        }
        let share = |good: u64, bad: u64| good as f64 / (good + bad) as f64;
        let share = share(self.good_frames, self.bad_frames).min(share(self.good_bytes, self.bad_bytes));
        // The superset has few absolute times, and damage makes some of them.
        let in_order = (self.pairs - self.ordered_pairs) * 5 <= self.good_frames;
        let score = match self.good_frames {
            // So few frames can be valid by chance, unless there is nothing else.
            1..8 if share < 0.5 || self.empty_frames > 2 * self.good_frames => return None,
            1..3 => 50.0 + 20.0 * share,
            3..8 => 50.0 + 35.0 * share,
            _ if share < 0.2 || !in_order => return None,
            _ if self.empty_frames > self.good_bytes => 50.0 + 25.0 * share,
            _ => 54.0 + 45.0 * share,
        };
        let known_start = if self.start.is_some() && share > 0.9 { 1.0 } else { 0.0 };
        Some((score + known_start).min(100.0) as u8)
    }
}

#[cfg(test)]
mod tests {
    use super::super::encode::encode;
    use super::super::generate::{Damage, GenerateOptions, generate};
    use super::*;
    use crate::format::generated::Random;

    fn capture(bytes: u64, damage: Damage) -> Vec<u8> {
        let mut capture = Vec::new();
        generate(&GenerateOptions { bytes, damage, ..GenerateOptions::default() }, &mut capture).unwrap();
        capture
    }

    fn score(sample: &[u8]) -> u8 {
        probe(sample, true).map_or(0, |probe| probe.score)
    }

    #[test]
    fn captures_are_recognised() {
        let good = capture(70_000, Damage::None);
        let answer = probe(&good, true).unwrap();
        assert_eq!(answer.score, 100);
        assert!(answer.reason.ends_with("frames are valid; the first one is core_id"), "{}", answer.reason);
        let answer = probe(&good[..64 << 10], false).unwrap();
        assert!(answer.reason.contains("in the first 64 KiB are valid"), "{}", answer.reason);
        assert!(score(&good[3..]) >= 98, "starts within a frame");
        assert!(score(&good[30_003..60_002]) >= 98, "starts and ends within a frame");
        assert!(score(&capture(70_000, Damage::Cuts)) >= 95);
        assert!(score(&capture(70_000, Damage::Drops)) >= 95);
    }

    #[test]
    fn a_single_frame_is_enough() {
        for record in [Record::CoreId { ts: 0, core_id: 0 }, Record::TaskSwitchedIn { ts: 123_456, task_id: 3 }] {
            let mut frame = Vec::new();
            encode(&record, &mut frame);
            assert!(score(&frame) >= 50, "{record:?}");
        }
    }

    #[test]
    fn damage_lowers_the_score_but_does_not_hide_a_capture() {
        let good = capture(40_000, Damage::None);
        let noise: Vec<u8> = noise().take(30_000).collect();
        let damaged_start = [&noise[..], &good].concat();
        assert!((60..99).contains(&score(&damaged_start)));
        let padded = [&good[..], &[0; 200_000]].concat();
        assert!((60..99).contains(&score(&padded)));
        // Neither what is before it nor what is after it is looked at alone.
        let between = [&[0; 200_000], &good[..], &[0; 500_000]].concat();
        assert!((60..99).contains(&score(&between)));
        let after_noise = [&noise.repeat(13)[..], &capture(200_000, Damage::None)].concat();
        assert!((60..99).contains(&score(&after_noise)));
    }

    fn noise() -> impl Iterator<Item = u8> {
        let mut random = Random(1);
        std::iter::repeat_with(move || random.next() as u8)
    }

    #[test]
    fn other_files_are_not_recognised() {
        let utf16: Vec<u8> =
            "A text in UTF-16, as some systems write it.\r\n".repeat(50).encode_utf16().flat_map(u16::to_le_bytes).collect();
        // Much like a program's sections: small numbers in words.
        let words: Vec<u8> = noise().take(20_000).flat_map(|byte| u32::from(byte % 16).to_le_bytes()).collect();
        // Packets of a Perfetto trace: length, time, sequence, and a slice with a name.
        let mut perfetto = Vec::new();
        for n in 0..2000u16 {
            perfetto.extend([0x0A, 22, 0x08, (n & 0x7F) as u8 | 0x80, (n >> 7) as u8, 0x50, 1, 0x5A, 0x0E, 0x48, 1, 0x58, 0]);
            perfetto.extend(b"\xBA\x01\x07running");
        }
        let qs: Vec<u8> = noise().take(20_000).enumerate().map(|(n, byte)| if n % 11 == 0 { 0x7E } else { byte }).collect();
        let samples: [(&str, &[u8]); 9] = [
            ("nothing", b""),
            ("text", b"Hello, this is a text file.\nIt has no zeros.\n"),
            ("utf-16", &utf16),
            ("zeros", &[0; 100_000]),
            ("erased flash", &[0xFF; 100_000]),
            ("words", &words),
            ("perfetto", &perfetto),
            ("hdlc", &qs),
            ("noise", &noise().take(1 << 20).collect::<Vec<u8>>()),
        ];
        for (name, sample) in samples {
            assert_eq!(probe(sample, true), None, "{name}");
            assert_eq!(probe(sample, false), None, "{name}");
        }
        let jpeg = [
            &b"\xFF\xD8\xFF\xE0\x00\x10JFIF\x00\x01\x01\x01\x00H\x00H\x00\x00\xFF\xDB\x00C\x00"[..],
            &noise().take(50_000).collect::<Vec<u8>>(),
        ];
        let png = [
            &b"\x89PNG\r\n\x1A\n\x00\x00\x00\rIHDR\x00\x00\x02\x00\x00\x00\x01\x00\x08\x06\x00\x00\x00"[..],
            &noise().take(50_000).collect::<Vec<u8>>(),
        ];
        let zip = [&b"PK\x03\x04\x14\x00\x00\x00\x08\x00"[..], &noise().take(50_000).collect::<Vec<u8>>()];
        for file in [jpeg, png, zip] {
            assert_eq!(probe(&file.concat(), true), None);
            assert_eq!(probe(file[0], true), None);
        }
    }
}
