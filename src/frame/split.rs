//! Cutting a delimited stream into parts and parts into frames.
//!
//! A *frame* here is a run of bytes other than the delimiter and the delimiter that ends it. A *part* lies between two cuts.
//!
//! Cuts lie after a delimiter, so that no frame is torn, with one exception: a run of [`MAX_FRAME_BYTES`] bytes or more without a
//! delimiter is damage, and may be cut anywhere, so that parts stay bounded. Such a run is *one* oversize frame whatever the
//! cuts: the parts report their pieces of it as fragments ([`Edges`]), and the stage that sees the parts in order joins them.

use std::ops::Range;

use memchr::{memchr, memrchr};

/// The longest frame that is decoded, in bytes, delimiter included. Anything longer is damage.
pub const MAX_FRAME_BYTES: usize = 64 << 10;

/// The first safe cut at or after `at`: the smallest such position that is the start of the input, its end, or directly after a
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

/// The position of the two ends of a part within frames. Between the fragments lie whole frames, each with its delimiter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Edges {
    /// Bytes at the start that belong to a frame begun in an earlier part, its delimiter included.
    pub head_fragment: usize,
    /// Whether the frame of the head fragment ends in this part, by its delimiter or with the input. If not, the head fragment is
    /// the whole part.
    pub head_ends: bool,
    /// Bytes at the end that belong to a frame that begins here and continues in the next part.
    pub tail_fragment: usize,
    /// Bytes after the last delimiter of the input, of a frame that begins here: a frame that was never finished.
    pub unfinished: usize,
}

/// The position of the ends of the part `range` of `input` within frames.
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

/// The positions of all delimiters from a position on.
///
/// Frames are short (9 bytes on average), so a search for each delimiter spends its time on starting. Instead 64 bytes are
/// compared at once, and their delimiters are taken from a bit mask. On generated captures this is about twice as fast as a
/// `memchr` search per delimiter.
#[derive(Clone, Debug)]
pub struct Delimiters<'a, const DELIMITER: u8> {
    bytes: &'a [u8],
    /// Where the block of `mask` starts.
    block: usize,
    /// The bytes of the block that are delimiters and have not been returned yet.
    mask: u64,
    /// Where the next block starts.
    next: usize,
}

const BLOCK_BYTES: usize = 64;

impl<'a, const DELIMITER: u8> Delimiters<'a, DELIMITER> {
    /// The delimiters of `bytes` at or after `from`.
    #[must_use]
    pub fn new(bytes: &'a [u8], from: usize) -> Self {
        Delimiters { bytes, block: from, mask: 0, next: from }
    }

    /// Loads the next block. False at the end.
    #[inline]
    fn load(&mut self) -> bool {
        let Some(rest) = self.bytes.get(self.next..) else { return false };
        self.block = self.next;
        self.next += BLOCK_BYTES;
        if let Some(block) = rest.first_chunk::<BLOCK_BYTES>() {
            self.mask = mask_of::<DELIMITER>(block);
        } else {
            let mut block = [!DELIMITER; BLOCK_BYTES];
            block.iter_mut().zip(rest).for_each(|(to, &from)| *to = from);
            self.mask = mask_of::<DELIMITER>(&block);
        }
        true
    }
}

impl<const DELIMITER: u8> Iterator for Delimiters<'_, DELIMITER> {
    type Item = usize;

    #[inline]
    fn next(&mut self) -> Option<usize> {
        while self.mask == 0 {
            if !self.load() {
                return None;
            }
        }
        let index = self.mask.trailing_zeros() as usize;
        self.mask &= self.mask - 1;
        Some(self.block + index)
    }
}

/// Bit `n` is set if byte `n` is a delimiter.
#[inline]
fn mask_of<const DELIMITER: u8>(block: &[u8; BLOCK_BYTES]) -> u64 {
    #[cfg(all(target_arch = "x86_64", target_feature = "sse2"))]
    // SAFETY: it needs SSE2, for which this is compiled.
    return unsafe { mask_by_sse2::<DELIMITER>(block) };
    #[cfg(not(all(target_arch = "x86_64", target_feature = "sse2")))]
    return mask_by_words::<DELIMITER>(block);
}

/// Every x86-64 processor has SSE2. A tenth of the instructions that words take.
#[cfg(all(target_arch = "x86_64", target_feature = "sse2"))]
#[target_feature(enable = "sse2")]
#[inline]
fn mask_by_sse2<const DELIMITER: u8>(block: &[u8; BLOCK_BYTES]) -> u64 {
    use std::arch::x86_64::{_mm_cmpeq_epi8, _mm_movemask_epi8, _mm_set_epi64x, _mm_set1_epi8};
    let delimiters = _mm_set1_epi8(DELIMITER.cast_signed());
    let mut mask = 0;
    for (index, words) in block.as_chunks::<8>().0.as_chunks::<2>().0.iter().enumerate() {
        let [low, high] = *words;
        let bytes = _mm_set_epi64x(i64::from_le_bytes(high), i64::from_le_bytes(low));
        let equal = _mm_movemask_epi8(_mm_cmpeq_epi8(bytes, delimiters));
        mask |= u64::from(equal.cast_unsigned()) << (16 * index);
    }
    mask
}

/// The same with words of 8 bytes, for any processor.
#[cfg(any(test, not(all(target_arch = "x86_64", target_feature = "sse2"))))]
fn mask_by_words<const DELIMITER: u8>(block: &[u8; BLOCK_BYTES]) -> u64 {
    const LOWS: u64 = u64::from_ne_bytes([0x7F; 8]);
    let mut mask = 0;
    for (index, word) in block.as_chunks::<8>().0.iter().enumerate() {
        let zero_where_equal = u64::from_le_bytes(*word) ^ u64::from_ne_bytes([DELIMITER; 8]);
        // The top bit of each byte that is 0, without a carry from one byte to the next.
        let tops = !((zero_where_equal & LOWS).wrapping_add(LOWS) | zero_where_equal | LOWS);
        // Gathers the eight top bits, lowest byte first.
        let bits = (tops >> 7).wrapping_mul(0x0102_0408_1020_4080) >> 56;
        mask |= bits << (8 * index);
    }
    mask
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn cuts_lie_after_delimiters() {
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
        fn delimiters_are_found_like_memchr_finds_them(
            bytes in prop::collection::vec(prop::sample::select(vec![0u8, 1, 0x7E, 0x7F, 0x80, 0x81, 0xFF]), 0..300),
            from in 0usize..90,
        ) {
            let rest = bytes.get(from..).unwrap_or(&[]);
            let zeros: Vec<usize> = Delimiters::<0>::new(&bytes, from).collect();
            prop_assert_eq!(zeros, memchr::memchr_iter(0, rest).map(|index| from + index).collect::<Vec<_>>());
            let flags: Vec<usize> = Delimiters::<0x7E>::new(&bytes, from).collect();
            prop_assert_eq!(flags, memchr::memchr_iter(0x7E, rest).map(|index| from + index).collect::<Vec<_>>());
            if let Some(block) = rest.first_chunk() {
                prop_assert_eq!(mask_of::<0>(block), mask_by_words::<0>(block));
                prop_assert_eq!(mask_of::<0x7E>(block), mask_by_words::<0x7E>(block));
            }
        }
    }
}
