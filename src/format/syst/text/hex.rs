//! Hex digits → bytes, sixteen characters at a time.

/// Eight bytes of the same value.
#[cfg(any(test, not(all(target_arch = "x86_64", target_feature = "sse2"))))]
const fn eight(byte: u8) -> u64 {
    u64::from_le_bytes([byte; 8])
}

/// The number of hex digits at the start of eight bytes, the first one lowest. The highest bit of a byte of a sum tells whether the byte is
/// at least, or above, some character.
#[cfg(any(test, not(all(target_arch = "x86_64", target_feature = "sse2"))))]
fn eight_hex_len(bytes: u64) -> usize {
    let low = bytes & eight(0x7F);
    let digits = (low + eight(0x80 - b'0')) & !(low + eight(0x7F - b'9'));
    let lower = low | eight(0x20);
    let letters = (lower + eight(0x80 - b'a')) & !(lower + eight(0x7F - b'f'));
    let others = (!(digits | letters) | bytes) & eight(0x80);
    others.trailing_zeros() as usize / 8
}

/// The number of hex digits at the start of sixteen characters, and their bytes. Those of other characters mean nothing.
#[inline]
pub(super) fn sixteen_unhexed(text: [u8; 16]) -> (usize, u64) {
    let words = text.as_chunks::<8>().0;
    let word = |at: usize| words.get(at).map_or(0, |word| u64::from_le_bytes(*word));
    let words = [word(0), word(1)];
    #[cfg(all(target_arch = "x86_64", target_feature = "sse2"))]
    // SAFETY: it needs SSE2, for which this is compiled.
    return unsafe { unhexed_by_sse2(words) };
    #[cfg(not(all(target_arch = "x86_64", target_feature = "sse2")))]
    return unhexed_by_words(words);
}

/// Every x86-64 processor has SSE2. Half of the instructions that words take.
#[cfg(all(target_arch = "x86_64", target_feature = "sse2"))]
#[target_feature(enable = "sse2")]
#[inline]
fn unhexed_by_sse2([low, high]: [u64; 2]) -> (usize, u64) {
    use std::arch::x86_64::*;
    let all = |byte: u8| _mm_set1_epi8(byte.cast_signed());
    let text = _mm_set_epi64x(high.cast_signed(), low.cast_signed());
    let at_most = |value, most| _mm_cmpeq_epi8(_mm_min_epu8(value, all(most)), value);
    let digits = at_most(_mm_sub_epi8(text, all(b'0')), 9);
    let letters = at_most(_mm_sub_epi8(_mm_or_si128(text, all(0x20)), all(b'a')), 5);
    let values = _mm_add_epi8(_mm_and_si128(text, all(15)), _mm_and_si128(letters, all(9)));
    let pairs = _mm_or_si128(_mm_slli_epi16(values, 4), _mm_srli_epi16(values, 8));
    let bytes = _mm_packus_epi16(_mm_and_si128(pairs, _mm_set1_epi16(0xFF)), pairs);
    let others = !_mm_movemask_epi8(_mm_or_si128(digits, letters));
    (others.trailing_zeros() as usize, _mm_cvtsi128_si64(bytes).cast_unsigned())
}

/// The same with words of 8 bytes, for any processor.
#[cfg(any(test, not(all(target_arch = "x86_64", target_feature = "sse2"))))]
fn unhexed_by_words([low, high]: [u64; 2]) -> (usize, u64) {
    let count = match eight_hex_len(low) {
        8 => 8 + eight_hex_len(high),
        count => count,
    };
    // Letters have bit 6 set, and their low bits count from 1.
    let bytes = |digits: u64| {
        let values = (digits & eight(15)) + 9 * (digits >> 6 & eight(1));
        // Pairs, then the bytes side by side.
        let pairs = (values << 4 | values >> 8) & 0x00FF_00FF_00FF_00FF;
        let words = (pairs | pairs >> 8) & 0x0000_FFFF_0000_FFFF;
        (words | words >> 16) & 0xFFFF_FFFF
    };
    (count, bytes(low) | bytes(high) << 32)
}

/// A text of less than sixteen characters, and zeros.
#[cold]
pub(super) fn padded(text: &[u8]) -> [u8; 16] {
    let mut padded = [0; 16];
    padded.iter_mut().zip(text).for_each(|(place, byte)| *place = *byte);
    padded
}

/// Decodes the hex digits at the start of some chunks, each into its place. Returns their number.
#[inline(always)]
fn unhex_chunks(chunks: &[[u8; 16]], places: &mut [[u8; 8]]) -> usize {
    let both = chunks.len().min(places.len());
    for (whole, (chunk, place)) in chunks.iter().zip(places).enumerate() {
        let (count, bytes) = sixteen_unhexed(*chunk);
        *place = bytes.to_le_bytes();
        if count < 16 {
            return 16 * whole + count;
        }
    }
    16 * both
}

/// Decodes the hex digits at the start. Returns their number and the bytes, which are in `room`. An odd digit at the end is left out.
#[inline]
pub(super) fn unhex<'r>(text: &[u8], room: &'r mut Vec<u8>) -> (usize, &'r [u8]) {
    let (chunks, rest) = text.as_chunks();
    let mut len = 0;
    loop {
        let done = len / 16;
        let places = room.as_chunks_mut().0.get_mut(done..).unwrap_or_default();
        let most = 16 * places.len();
        let count = unhex_chunks(chunks.get(done..).unwrap_or(&[]), places);
        len += count;
        if count < most {
            break;
        }
        // There is no room left.
        room.resize(2 * room.len() + 64, 0);
    }
    if len == 16 * chunks.len()
        && let Some(place) = room.as_chunks_mut().0.get_mut(chunks.len())
    {
        let (count, bytes) = sixteen_unhexed(padded(rest));
        *place = bytes.to_le_bytes();
        len += count;
    }
    (len, room.get(..len / 2).unwrap_or(&[]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_and_their_values() {
        let mut room = Vec::new();
        let expected: &[u8] = &[0x00, 0x19, 0x9A, 0xAB, 0xBC, 0xCD, 0xDE, 0xEF, 0xF9];
        assert_eq!(unhex(b"00199aAbBcCdDeEfF90", &mut room), (19, expected));
        let cycled = [0x01, 0x23, 0x45, 0x67, 0x89, 0xAB, 0xCD, 0xEF, 0xAB, 0xCD, 0xEF];
        for len in 0..40 {
            for end in (0..=255u8).step_by(if cfg!(miri) { 15 } else { 1 }) {
                let text: Vec<u8> = b"0123456789abcdefABCDEF".iter().copied().cycle().take(len).chain([end, b'0']).collect();
                let expected = if end.is_ascii_hexdigit() { len + 2 } else { len };
                let (count, bytes) = unhex(&text, &mut room);
                assert_eq!((count, bytes.len()), (expected, expected / 2), "{text:?}");
                let chunk = text.first_chunk::<16>().copied().unwrap_or_else(|| padded(&text));
                let word = |at: usize| u64::from_le_bytes(std::array::from_fn(|index| chunk[at + index]));
                let (of_words, of_all) = (unhexed_by_words([word(0), word(8)]), sixteen_unhexed(chunk));
                assert_eq!(of_words.0, of_all.0, "{text:?}");
                assert!(of_words.0 < 16 || of_words == of_all, "{text:?}");
                assert!(bytes.iter().zip(cycled.iter().cycle()).take(len / 2).all(|(one, other)| one == other), "{text:?}");
            }
        }
    }
}
