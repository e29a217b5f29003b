//! Cutting a delimited stream into parts and parts into frames.
//!
//! A *frame* here is a run of bytes other than the delimiter and the delimiter that ends it. A *part* lies between two cuts.
//!
//! Cuts lie behind a delimiter, so that no frame is torn, with one exception: a run of [`MAX_FRAME_BYTES`] bytes or more without
//! a delimiter is damage, however long it is, and may be cut anywhere, so that parts stay bounded. Such a run is *one*
//! oversize frame whatever the cuts: the parts report their pieces of it as fragments ([`Edges`]), and whoever sees the parts in
//! order joins these again.

use std::ops::Range;

use memchr::{memchr, memrchr};

/// The longest frame that is looked at, in bytes, delimiter included. Anything longer is damage.
pub const MAX_FRAME_BYTES: usize = 64 << 10;

/// The first safe cut at or after `at`: the smallest such position that is the start of the input, its end, or behind a
/// delimiter. In a run that is too long to be a frame it is `at` itself.
#[must_use]
pub fn cut<const DELIMITER: u8>(input: &[u8], at: usize) -> usize {
    let Some(rest) = input.get(at..) else { return input.len() };
    if at.checked_sub(1).and_then(|before| input.get(before)).is_none_or(|&byte| byte == DELIMITER) {
        return at;
    }
    let reach = rest.get(..MAX_FRAME_BYTES).unwrap_or(rest);
    match memchr(DELIMITER, reach) {
        Some(index) => at + index + 1,
        None if reach.len() < MAX_FRAME_BYTES => input.len(),
        None => at,
    }
}

/// How the two ends of a part lie to the frames there. Between the fragments lie whole frames, each with its delimiter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Edges {
    /// Bytes at the start that belong to a frame begun in an earlier part, its delimiter included.
    pub head_fragment: usize,
    /// Whether the frame of the head fragment ends in this part, by its delimiter or with the input. If not, the head fragment is
    /// the whole part.
    pub head_ends: bool,
    /// Bytes at the end that belong to a frame begun here that goes on in the next part.
    pub tail_fragment: usize,
    /// Bytes behind the last delimiter of the input, of a frame begun here: a frame that was never finished.
    pub unfinished: usize,
}

/// How the ends of the part `range` of `input` lie to the frames there.
#[must_use]
pub fn edges<const DELIMITER: u8>(input: &[u8], range: Range<usize>) -> Edges {
    let mut edges = Edges::default();
    let part = input.get(range.clone()).unwrap_or(&[]);
    let ends_input = range.end >= input.len();
    let begins_inside = range.start.checked_sub(1).and_then(|before| input.get(before)).is_some_and(|&byte| byte != DELIMITER);
    if begins_inside {
        let delimiter = memchr(DELIMITER, part);
        edges.head_fragment = delimiter.map_or(part.len(), |index| index + 1);
        edges.head_ends = delimiter.is_some() || ends_input;
    }
    let rest = part.get(edges.head_fragment..).unwrap_or(&[]);
    let loose = rest.len() - memrchr(DELIMITER, rest).map_or(0, |index| index + 1);
    if ends_input {
        edges.unfinished = loose;
    } else {
        edges.tail_fragment = loose;
    }
    edges
}

/// The position of the first delimiter at or after `from`.
///
/// Frames are short (9 bytes on average), so the first 16 bytes are searched with two words, which costs less than the start-up of
/// the vector search that looks through the rest.
#[inline]
#[must_use]
pub fn find_delimiter<const DELIMITER: u8>(bytes: &[u8], from: usize) -> Option<usize> {
    let rest = bytes.get(from..)?;
    if let Some((low, high)) = first_words(rest) {
        let (low, high) = (matching_bytes::<DELIMITER>(low), matching_bytes::<DELIMITER>(high));
        if low | high != 0 {
            let bit = if low != 0 { low.trailing_zeros() } else { 64 + high.trailing_zeros() };
            return Some(from + (bit / 8) as usize);
        }
    }
    memchr(DELIMITER, rest).map(|index| from + index)
}

#[inline]
fn first_words(bytes: &[u8]) -> Option<(u64, u64)> {
    let (low, rest) = bytes.split_first_chunk::<8>()?;
    let (high, _) = rest.split_first_chunk::<8>()?;
    Some((u64::from_le_bytes(*low), u64::from_le_bytes(*high)))
}

/// A word whose lowest set bit is the top bit of the first (lowest) byte of `word` that equals the delimiter; 0 if none does.
#[inline]
fn matching_bytes<const DELIMITER: u8>(word: u64) -> u64 {
    const ONES: u64 = u64::from_ne_bytes([0x01; 8]);
    const TOPS: u64 = u64::from_ne_bytes([0x80; 8]);
    let zero_where_equal = word ^ u64::from_ne_bytes([DELIMITER; 8]);
    zero_where_equal.wrapping_sub(ONES) & !zero_where_equal & TOPS
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn cuts_lie_behind_delimiters() {
        let input = b"ab\0cd\0\0e";
        let cuts: Vec<usize> = (0..=9).map(|at| cut::<0>(input, at)).collect();
        assert_eq!(cuts, [0, 3, 3, 3, 6, 6, 6, 7, 8, 8]);
    }

    #[test]
    fn a_run_too_long_for_a_frame_is_cut_where_asked() {
        let mut input = vec![7; 3 * MAX_FRAME_BYTES];
        input.push(0);
        assert_eq!(cut::<0>(&input, 0), 0);
        assert_eq!(cut::<0>(&input, 1), 1);
        assert_eq!(cut::<0>(&input, 2 * MAX_FRAME_BYTES), 2 * MAX_FRAME_BYTES);
        assert_eq!(cut::<0>(&input, 2 * MAX_FRAME_BYTES + 1), input.len());
        input.pop();
        assert_eq!(cut::<0>(&input, 2 * MAX_FRAME_BYTES), 2 * MAX_FRAME_BYTES);
        assert_eq!(cut::<0>(&input, 2 * MAX_FRAME_BYTES + 1), input.len());
    }

    #[test]
    fn edges_of_torn_runs() {
        let input = b"ab\0cd\0ef";
        let edges_of = |range| edges::<0>(input, range);
        assert_eq!(edges_of(0..3), Edges::default());
        assert_eq!(edges_of(3..8), Edges { unfinished: 2, ..Edges::default() });
        assert_eq!(edges_of(0..4), Edges { tail_fragment: 1, ..Edges::default() });
        assert_eq!(edges_of(1..4), Edges { head_fragment: 2, head_ends: true, tail_fragment: 1, unfinished: 0 });
        assert_eq!(edges_of(4..5), Edges { head_fragment: 1, ..Edges::default() });
        assert_eq!(edges_of(7..8), Edges { head_fragment: 1, head_ends: true, ..Edges::default() });
        assert_eq!(edges_of(8..8), Edges { head_ends: true, ..Edges::default() });
    }

    proptest! {
        #[test]
        fn a_delimiter_is_found_like_memchr_finds_it(bytes in prop::collection::vec(0u8..4, 0..80), from in 0usize..90) {
            let expected = bytes.get(from..).and_then(|rest| rest.iter().position(|&byte| byte == 0)).map(|index| from + index);
            prop_assert_eq!(find_delimiter::<0>(&bytes, from), expected);
            let three = bytes.get(from..).and_then(|rest| rest.iter().position(|&byte| byte == 3)).map(|index| from + index);
            prop_assert_eq!(find_delimiter::<3>(&bytes, from), three);
        }

        #[test]
        fn bytes_just_above_the_delimiter_are_not_taken_for_it(bytes in prop::collection::vec(prop::sample::select(vec![0u8, 1, 0x80, 0x81, 0xFF]), 16..40)) {
            prop_assert_eq!(find_delimiter::<0>(&bytes, 0), bytes.iter().position(|&byte| byte == 0));
        }
    }
}
