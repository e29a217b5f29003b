//! Recognising a capture.
//!
//! There is no magic number, but every frame has a checksum and a sequence number: other inputs have hardly any valid frames, and never
//! two in sequence.

use crate::format::Probe;
use crate::model::counted;

use super::frame::{self, ESCAPE, FLAG};

/// The number of bytes of a sample that are inspected.
const LOOK_BYTES: usize = 64 << 10;

/// The least number of valid frames.
const GOOD_MIN: u64 = 4;

/// A capture may start and end within a frame: this number of bytes at its begin and end is not counted.
const EDGE_BYTES: usize = 512;

/// Longer frames are treated as invalid. Targets send few of them.
const BODY_MAX: usize = 512;

/// How a target's session starts: an empty record and the head of TARGET_INFO.
const START: &[u8] = &[0x01, 0x00, 0xFE, FLAG, 0x02, 0x40];

/// The same from QP 5.0 to 5.4: both are empty, and the ids are the other way round.
const OLD_START: &[u8] = &[0x01, 0x40, 0xBE, FLAG, 0x02, 0x00, 0xFD, FLAG];

/// Judges a sample from the start of an input; see [`Format::probe`](crate::format::Format::probe).
pub fn probe(sample: &[u8], whole: bool) -> Option<Probe> {
    let counts = Counts::of(sample.get(..LOOK_BYTES).unwrap_or(sample), whole && sample.len() <= LOOK_BYTES);
    let starts = sample.starts_with(START) || sample.starts_with(OLD_START);
    let share = |good: u64, all: u64| if all == 0 { 0.0 } else { good as f64 / all as f64 };
    let (bytes, order) = (share(counts.good_bytes, counts.good_bytes + counts.bad_bytes), share(counts.in_order, counts.pairs));
    let is_enough = counts.good >= GOOD_MIN && bytes >= 0.5 && order >= 0.5;
    // A short capture of valid frames in sequence only.
    let is_short = whole && counts.good >= 2 && counts.bad_bytes == 0 && order >= 1.0;
    let start_is_whole = starts && counts.good >= 2;
    if !is_enough && !is_short && !start_is_whole {
        return None;
    }
    let certainty = 1.0 - 1.0 / (1.0 + counts.good as f64);
    let score = if starts { 99.0 } else { 50.0 + 48.0 * bytes.min(order) * certainty };
    let mut reason = format!(
        "{} of {} {} a valid checksum, {} of {} are in sequence",
        counts.good,
        counted(counts.good + counts.bad, "frame"),
        if counts.good == 1 { "has" } else { "have" },
        counts.in_order,
        counts.pairs
    );
    if starts {
        reason += "; it starts with a target's reset";
    }
    Some(Probe { score: score.min(99.0) as u8, reason })
}

#[derive(Debug, Default)]
struct Counts {
    good: u64,
    good_bytes: u64,
    bad: u64,
    bad_bytes: u64,
    pairs: u64,
    in_order: u64,
}

impl Counts {
    fn of(sample: &[u8], whole: bool) -> Counts {
        let mut counts = Counts::default();
        let mut body = Vec::new();
        let mut last = None;
        let mut at = 0;
        for flag in memchr::memchr_iter(FLAG, sample) {
            let frame = sample.get(at..flag).unwrap_or(&[]);
            let is_edge = at == 0 && frame.len() <= EDGE_BYTES;
            at = flag + 1;
            if frame::unescape(frame, &mut body).is_ok() && body.len() <= BODY_MAX {
                let seq = body.first().copied().unwrap_or(0);
                counts.good += 1;
                counts.good_bytes += frame.len() as u64 + 1;
                if let Some(last) = last.replace(seq) {
                    counts.pairs += 1;
                    counts.in_order += u64::from(seq.wrapping_sub(last) == 1);
                }
            } else if !is_edge {
                counts.bad += 1;
                counts.bad_bytes += frame.len() as u64 + 1;
                last = None;
            }
        }
        let loose = sample.len() - at;
        // The bytes after the last flag are a truncated frame, unless they are longer than one.
        if loose > EDGE_BYTES || (whole && sample.get(at..).is_some_and(|rest| rest.first() == Some(&ESCAPE))) {
            counts.bad_bytes += loose as u64;
        }
        counts
    }
}
