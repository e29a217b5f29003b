//! Repair of runs of frames with wrong checksums. Nothing is guessed: a repaired record has a valid checksum, the right length and the
//! expected sequence number.
//!
//! - A lost or damaged flag joins two frames: the first, the second, or both are found in the joined bytes.
//! - The target writes texts without escaping them: a `~` or `}` in one breaks its frame.

use std::ops::Range;

use crate::model::{LossKind, losses};

use super::decode::{Bad, verify};
use super::frame;
use super::layout::{Layout, Length};
use super::record::Kind;

/// A frame of a run of damage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// Where it starts in the part, in bytes.
    pub start: usize,
    /// Where it ends, after its flag if it has one.
    pub end: usize,
    /// Why it is invalid.
    pub reason: Bad,
}

/// A repaired record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Repaired {
    /// Where its bytes start in the part.
    pub start: usize,
    /// Where they end.
    pub end: usize,
    /// Sequence number, id, data and checksum.
    pub body: Vec<u8>,
    /// The kind of repair.
    pub kind: LossKind,
}

/// Longer runs are noise.
const RUN_BYTES_MAX: usize = 2048;
const RUN_PIECES_MAX: usize = 64;
/// How many frames may be missing between two that are found in joined bytes.
const SEQ_REACH: u8 = 8;

/// The records that can be repaired in a run, in file order, without overlap. `last_seq` is the sequence number of the valid frame
/// before it, `next_seq` of the one after it, if they exist.
#[must_use]
pub fn repair(part: &[u8], run: &[Piece], last_seq: Option<u8>, next_seq: Option<u8>, layout: &Layout) -> Vec<Repaired> {
    let mut repaired = Vec::new();
    let bytes = run.iter().map(|piece| piece.end - piece.start).sum::<usize>();
    if bytes > RUN_BYTES_MAX || run.len() > RUN_PIECES_MAX {
        return repaired;
    }
    let mut expected = last_seq.map(|seq| seq.wrapping_add(1));
    let mut index = 0;
    while let Some(piece) = run.get(index) {
        let used = match unescaped_text(part, run.get(index..).unwrap_or(&[]), expected, layout) {
            Some((text, used)) => {
                repaired.push(text);
                used
            }
            None => {
                let is_last = index + 1 == run.len();
                glued(part, piece, expected, next_seq.filter(|_| is_last), layout, &mut repaired);
                1
            }
        };
        // A frame that cannot be read also uses a number.
        expected = match repaired.last() {
            Some(last) if last.end > piece.start => last.body.first().map(|seq| seq.wrapping_add(1)),
            _ if piece.end - piece.start > 1 => expected.map(|seq| seq.wrapping_add(1)),
            _ => expected,
        };
        index += used;
    }
    repaired
}

/// A record with a text that was broken into the first pieces, and the number of these pieces.
fn unescaped_text(part: &[u8], pieces: &[Piece], expected: Option<u8>, layout: &Layout) -> Option<(Repaired, usize)> {
    let expected = expected?;
    let first = pieces.first()?;
    let mut body = Vec::new();
    // The body starts with the sequence number, which is escaped correctly, and the id.
    frame::join_unescaped([without_flag(part, first)?].into_iter(), &mut body);
    let &[seq, id, ..] = body.as_slice() else { return None };
    let can_hold_text =
        layout.of_id(id).is_some_and(|record| record.kind == Kind::User || matches!(record.length, Length::Text(_)));
    if seq != expected || !can_hold_text {
        return None;
    }
    (1..=pieces.len()).find_map(|used| {
        let pieces = pieces.get(..used)?;
        frame::join_unescaped(pieces.iter().filter_map(|piece| without_flag(part, piece)), &mut body);
        let fits = frame::check(&body).is_ok() && verify(layout, &body).is_ok();
        let last = pieces.last()?;
        fits.then(|| (Repaired { start: first.start, end: last.end, body: body.clone(), kind: losses::UNESCAPED_TEXT }, used))
    })
}

fn without_flag<'a>(part: &'a [u8], piece: &Piece) -> Option<&'a [u8]> {
    let bytes = part.get(piece.start..piece.end)?;
    Some(bytes.strip_suffix(&[frame::FLAG]).unwrap_or(bytes))
}

/// Joined frames in one piece: a head with the expected sequence number; a tail with the number before the next frame, or with one soon
/// after the head.
fn glued(part: &[u8], piece: &Piece, expected: Option<u8>, next_seq: Option<u8>, layout: &Layout, repaired: &mut Vec<Repaired>) {
    let Some(bytes) = without_flag(part, piece) else { return };
    let fits = |range: Range<usize>, is_expected: &dyn Fn(u8) -> bool| {
        let mut body = Vec::new();
        let frame = bytes.get(range.clone())?;
        frame::unescape(frame, &mut body).ok()?;
        let is_right = body.first().is_some_and(|&seq| is_expected(seq)) && verify(layout, &body).is_ok();
        is_right.then_some(Repaired {
            start: piece.start + range.start,
            end: piece.start + range.end,
            body,
            kind: losses::GLUED_FRAMES,
        })
    };
    let head =
        expected.and_then(|expected| (frame::OVERHEAD_BYTES..bytes.len()).find_map(|end| fits(0..end, &|seq| seq == expected)));
    let after = head.as_ref().map_or(1, |head| head.end - piece.start);
    let follows = head.as_ref().and_then(|head| head.body.first().map(|seq| seq.wrapping_add(1))).or(expected);
    let tail_seq = |seq: u8| match (next_seq, follows) {
        (Some(next), _) => seq == next.wrapping_sub(1),
        (None, Some(follows)) => seq.wrapping_sub(follows) < SEQ_REACH,
        (None, None) => false,
    };
    let tail = (after..bytes.len().saturating_sub(2)).find_map(|start| fits(start..bytes.len(), &tail_seq)).map(|mut tail| {
        tail.end = piece.end;
        tail
    });
    repaired.extend(head);
    repaired.extend(tail);
}

#[cfg(test)]
mod tests {
    use super::super::decode::Decoder;
    use super::super::layout::{Config, Sizes};
    use super::*;

    fn decoder() -> Decoder {
        Decoder::of(Config::new(Sizes::default(), 812))
    }

    fn tick(seq: u8) -> Vec<u8> {
        let mut out = Vec::new();
        frame::append(seq, 31, &[seq, 0, 0, 0, 0], &mut out);
        out
    }

    fn seqs(bytes: &[u8]) -> Vec<u8> {
        let records = decoder().records(bytes, 0..bytes.len());
        let bad: u64 = records.damage.iter().map(|damage| u64::from(damage.len)).sum();
        assert_eq!(records.ok_bytes + bad, bytes.len() as u64);
        records.frames.iter().map(|stored| stored.seq).collect()
    }

    #[test]
    fn frames_without_a_flag_between_them_are_separated() {
        let [one, two, three, four] = [1, 2, 3, 4].map(tick);
        let without = [&one[..], &two[..two.len() - 1], &three, &four].concat();
        assert_eq!(seqs(&without), [1, 2, 3, 4]);
        let mut flipped = [&one[..], &two, &three, &four].concat();
        flipped[one.len() + two.len() - 1] ^= 0x10;
        assert_eq!(seqs(&flipped), [1, 2, 3, 4]);
        // The first of the two is also damaged.
        let torn = [&one[..], &two[..3], &three, &four].concat();
        assert_eq!(seqs(&torn), [1, 3, 4]);
    }

    #[test]
    fn texts_with_flags_and_escapes_in_them_are_restored() {
        let mut frame = vec![2, 61, 1, 0, 0, 0x20];
        frame.extend(b"~a}b~~\0");
        frame.push(!frame::sum(&frame));
        frame.push(frame::FLAG);
        let bytes = [&tick(1)[..], &frame, &tick(3)].concat();
        let records = decoder().records(&bytes, 0..bytes.len());
        assert_eq!(records.ok_bytes, bytes.len() as u64);
        assert_eq!(records.data_of(&records.frames[1]), b"\x01\0\0\x20~a}b~~\0");
        assert_eq!(records.repairs.len(), 1);
    }

    #[test]
    fn an_illegal_escape_does_not_eat_the_flag() {
        let bytes = [&tick(1)[..], &[2, 31, 9, 9, 0x7D, 0x7E], &tick(3)].concat();
        assert_eq!(seqs(&bytes), [1, 3]);
    }

    #[test]
    fn the_damage_of_the_real_capture() {
        // Three bytes were lost on the wire.
        let bytes = [
            0xf2, 0x18, 0xeb, 0xf0, 0xfc, 0x01, 0xa8, 0x0b, 0x00, 0x20, 0x09, 0x00, 0x07, 0x1c, 0xd0, 0xf2, 0xfc, 0x01, 0x0c,
            0x00, 0x05, 0x00, 0x20, 0x7e,
        ];
        let bytes = [&tick(0xF1)[..], &bytes, &tick(0xF4)].concat();
        assert_eq!(seqs(&bytes), [0xF1, 0xF4]);
    }
}
