//! Repair of runs of frames with wrong checksums. Nothing is guessed: a repaired record has a valid checksum, the right length, the
//! expected sequence number, and a time stamp that does not contradict both of its neighbours. A checksum of one byte alone fits some of
//! the many pieces that are tried.
//!
//! - A lost or damaged flag joins two frames: the first, the second, or both are found in the joined bytes.
//! - The target writes texts without escaping them: a `~` or `}` in one breaks its frame.

use std::ops::Range;

use crate::model::{LossKind, losses};

use super::decode::{Bad, verify};
use super::frame;
use super::layout::{self, Layout, Length};
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

/// How many frames before and after a run are searched for a time stamp. State changes, a few in a row, have none.
const STAMP_REACH: usize = 16;

/// The valid frames around a run of damage.
#[derive(Clone, Copy, Debug, Default)]
pub struct Neighbours {
    /// The sequence number of the valid frame before it.
    pub last_seq: Option<u8>,
    /// The sequence number of the valid frame after it.
    pub next_seq: Option<u8>,
    last_time: Option<u64>,
    next_time: Option<u64>,
}

impl Neighbours {
    /// The neighbours of the run `run`, in bytes of the input. The sequence numbers are those of frames that touch it.
    #[must_use]
    pub fn of(input: &[u8], run: Range<usize>, last_seq: Option<u8>, next_seq: Option<u8>, layout: &Layout) -> Neighbours {
        let mut body = Vec::new();
        let mut stamp = |frame: &[u8]| {
            frame::unescape(frame, &mut body).ok()?;
            let record = verify(layout, &body).ok().filter(|record| record.time_width > 0)?;
            Some(layout::load(body.get(2..)?, 0, record.time_width))
        };
        let mut start = run.start;
        let last_time = std::iter::from_fn(|| {
            let frame = frame::frame_before(input, start)?;
            start -= frame.len() + 1;
            Some(frame)
        });
        let last_time = last_time.take(STAMP_REACH).find_map(&mut stamp);
        let mut end = run.end;
        let next_time = std::iter::from_fn(|| {
            let frame = frame::frame_after(input, end)?;
            end += frame.len() + 1;
            Some(frame)
        });
        let next_time = next_time.take(STAMP_REACH).find_map(&mut stamp);
        Neighbours { last_seq, next_seq, last_time, next_time }
    }

    /// Whether a record may be between the neighbours, and after the frame with the number `after`.
    fn allow(&self, body: &[u8], after: Option<u8>, layout: &Layout) -> bool {
        let (Some(&seq), Ok(record)) = (body.first(), verify(layout, body)) else { return false };
        let is_ordered = match (self.last_seq, self.next_seq) {
            (Some(last), next) => {
                let number = seq.wrapping_sub(last);
                number > after.map_or(0, |after| after.wrapping_sub(last))
                    && next.is_none_or(|next| number < next.wrapping_sub(last))
            }
            (None, _) => true,
        };
        is_ordered
            // The range of one byte may pass between two records, so its value says nothing.
            && (record.time_width <= 1
                || self.allow_time(layout::load(body.get(2..).unwrap_or(&[]), 0, record.time_width), record.time_width))
    }

    /// Whether a time stamp of `width` bytes is near one of the neighbours'. Near is within the time between them, or, if one is unknown
    /// or wrong itself, within an eighth of the stamps' range. Targets may send stamps in slightly wrong order.
    fn allow_time(&self, time: u64, width: u8) -> bool {
        let bits = 8 * u32::from(width);
        let distance = |from: u64, to: u64| {
            let unused = 64 - bits;
            (to.wrapping_sub(from) << unused).cast_signed() >> unused
        };
        let eighth = 1 << (bits - 3);
        let near = match (self.last_time, self.next_time) {
            (Some(last), Some(next)) if (0..2 * eighth).contains(&distance(last, next)) => {
                distance(last, next).max(eighth.min(1 << 16))
            }
            _ => eighth,
        };
        let mut neighbours = [self.last_time, self.next_time].into_iter().flatten().peekable();
        neighbours.peek().is_none() || neighbours.any(|neighbour| distance(neighbour, time).abs() <= near)
    }
}

/// The records that can be repaired in a run, in file order, without overlap.
#[must_use]
pub fn repair(part: &[u8], run: &[Piece], neighbours: &Neighbours, layout: &Layout) -> Vec<Repaired> {
    let mut repaired = Vec::new();
    let bytes = run.iter().map(|piece| piece.end - piece.start).sum::<usize>();
    if bytes > RUN_BYTES_MAX || run.len() > RUN_PIECES_MAX {
        return repaired;
    }
    let mut expected = neighbours.last_seq.map(|seq| seq.wrapping_add(1));
    let mut index = 0;
    while let Some(piece) = run.get(index) {
        let after = repaired.last().and_then(|last: &Repaired| last.body.first().copied());
        let allow = |body: &[u8], after| neighbours.allow(body, after, layout);
        let text = unescaped_text(part, run.get(index..).unwrap_or(&[]), expected, layout);
        let used = match text.filter(|(text, _)| allow(&text.body, after)) {
            Some((text, used)) => {
                repaired.push(text);
                used
            }
            None => {
                let is_last = index + 1 == run.len();
                let next_seq = neighbours.next_seq.filter(|_| is_last);
                glued(part, piece, expected, next_seq, &mut |body, head| allow(body, head.or(after)), &mut repaired);
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
fn glued(
    part: &[u8],
    piece: &Piece,
    expected: Option<u8>,
    next_seq: Option<u8>,
    allow: &mut dyn FnMut(&[u8], Option<u8>) -> bool,
    repaired: &mut Vec<Repaired>,
) {
    let Some(bytes) = without_flag(part, piece) else { return };
    let mut fits = |range: Range<usize>, head: Option<u8>, is_expected: &dyn Fn(u8) -> bool| {
        let mut body = Vec::new();
        let frame = bytes.get(range.clone())?;
        frame::unescape(frame, &mut body).ok()?;
        let is_right = body.first().is_some_and(|&seq| is_expected(seq)) && allow(&body, head);
        is_right.then_some(Repaired {
            start: piece.start + range.start,
            end: piece.start + range.end,
            body,
            kind: losses::GLUED_FRAMES,
        })
    };
    // The checksum of a beginning of a record often fits by chance, so the next frame must be visible: its damaged flag, or its number.
    let is_followed = |end: usize, seq: u8| {
        let [first, second] = [end, end + 1].map(|at| bytes.get(at).copied());
        let follows = Some(seq.wrapping_add(1));
        first.is_some_and(|flag| (flag ^ frame::FLAG).count_ones() == 1) || first == follows || second == follows
    };
    let mut head = expected.and_then(|expected| {
        let mut ends = (frame::OVERHEAD_BYTES..bytes.len()).filter(|&end| is_followed(end, expected));
        ends.find_map(|end| fits(0..end, None, &|seq| seq == expected))
    });
    let after = head.as_ref().map_or(1, |head| head.end - piece.start);
    let head_seq = head.as_ref().and_then(|head| head.body.first().copied());
    let follows = head_seq.map(|seq| seq.wrapping_add(1)).or(expected);
    let tail_seq = |seq: u8| match (next_seq, follows) {
        (Some(next), _) => seq == next.wrapping_sub(1),
        (None, Some(follows)) => seq.wrapping_sub(follows) < SEQ_REACH,
        (None, None) => false,
    };
    let tail =
        (after..bytes.len().saturating_sub(2)).find_map(|start| fits(start..bytes.len(), head_seq, &tail_seq)).map(|mut tail| {
            tail.end = piece.end;
            tail
        });
    // The byte between them is their flag, damaged.
    if let (Some(head), Some(tail)) = (&mut head, &tail)
        && tail.start == head.end + 1
    {
        head.end = tail.start;
    }
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
        let records = decoder().records(&flipped, 0..flipped.len());
        assert!(records.damage.is_empty() && records.ok_bytes == flipped.len() as u64, "nothing is missing");
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
