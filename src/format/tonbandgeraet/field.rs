//! The encodings of single fields: LEB128 numbers, sign-magnitude numbers, bytes, and text that fills the rest of its record.
//!
//! There are two readers of the same encoding. [`SliceReader`] reads a payload of any length and reports the exact error.
//! [`WindowReader`] reads short payloads, as nearly all records have, a word at a time, and only reports *that* there is an error.

use crate::frame::cobs::SHORT_WINDOW_BYTES;
use crate::model::TextRef;

use super::decode::BadFrame;

/// Reads the fields of one record in the order of the wire.
pub(super) trait Reader {
    /// The type of texts.
    type Text: Copy;

    fn u8(&mut self) -> Result<u8, BadFrame>;
    fn u32(&mut self) -> Result<u32, BadFrame>;
    fn u64(&mut self) -> Result<u64, BadFrame>;
    /// The rest of the payload.
    fn text(&mut self) -> Result<Self::Text, BadFrame>;
    /// The rest of the payload, if it passes a check.
    fn checked_text(&mut self, check: impl FnOnce(&[u8]) -> Result<(), BadFrame>) -> Result<Self::Text, BadFrame>;

    #[inline(always)]
    fn i64(&mut self) -> Result<i64, BadFrame> {
        self.u64().map(from_sign_magnitude)
    }
}

/// Stores the text of a record.
pub(super) trait KeepText<'a> {
    type Text: Copy;

    fn keep(&mut self, text: &'a [u8]) -> Self::Text;
}

/// Borrows text from the payload.
pub(super) struct Borrow;

impl<'a> KeepText<'a> for Borrow {
    type Text = &'a [u8];

    #[inline]
    fn keep(&mut self, text: &'a [u8]) -> &'a [u8] {
        text
    }
}

/// Copies text into an arena.
impl KeepText<'_> for Vec<u8> {
    type Text = TextRef;

    #[inline]
    fn keep(&mut self, text: &[u8]) -> TextRef {
        let (Ok(start), Ok(len)) = (u32::try_from(self.len()), u32::try_from(text.len())) else {
            return TextRef::NONE;
        };
        self.extend_from_slice(text);
        TextRef { start, len }
    }
}

/// The value of a sign-magnitude number: the lowest bit is the sign. "Negative zero" is the one value without a magnitude,
/// [`i64::MIN`].
#[inline]
pub(super) fn from_sign_magnitude(wire: u64) -> i64 {
    let magnitude = (wire >> 1).cast_signed();
    match wire & 1 {
        0 => magnitude,
        _ if magnitude == 0 => i64::MIN,
        _ => -magnitude,
    }
}

/// The opposite of [`from_sign_magnitude`].
#[cfg(any(test, feature = "generate"))]
#[inline]
pub(super) fn to_sign_magnitude(value: i64) -> u64 {
    // The magnitude of the smallest value is 2^63, which the shift drops: only the sign remains, as required.
    value.unsigned_abs() << 1 | u64::from(value < 0)
}

/// Reads a payload of any length.
pub(super) struct SliceReader<'a, 'k, K> {
    rest: &'a [u8],
    texts: &'k mut K,
}

impl<'a, 'k, K: KeepText<'a>> SliceReader<'a, 'k, K> {
    pub(super) fn new(payload: &'a [u8], texts: &'k mut K) -> Self {
        SliceReader { rest: payload, texts }
    }

    /// Whether everything has been read.
    pub(super) fn is_at_end(&self) -> bool {
        self.rest.is_empty()
    }

    /// A number of bytes.
    pub(super) fn bytes(&mut self, len: usize) -> Result<&'a [u8], BadFrame> {
        let (bytes, rest) = self.rest.split_at_checked(len).ok_or(BadFrame::MissingField)?;
        self.rest = rest;
        Ok(bytes)
    }

    /// A LEB128 number of at most `max_len` bytes, the last of which is at most `last_max`. Over-long forms are accepted.
    fn varint(&mut self, max_len: usize, last_max: u8) -> Result<u64, BadFrame> {
        let mut value = 0;
        for (index, &byte) in self.rest.iter().enumerate().take(max_len) {
            if index + 1 == max_len && byte > last_max {
                return Err(BadFrame::VarintTooLong);
            }
            value |= u64::from(byte & 0x7F) << (7 * index);
            if byte < 0x80 {
                self.rest = self.rest.get(index + 1..).unwrap_or(&[]);
                return Ok(value);
            }
        }
        Err(if self.rest.is_empty() { BadFrame::MissingField } else { BadFrame::UnterminatedVarint })
    }
}

impl<'a, K: KeepText<'a>> Reader for SliceReader<'a, '_, K> {
    type Text = K::Text;

    fn u8(&mut self) -> Result<u8, BadFrame> {
        let (&byte, rest) = self.rest.split_first().ok_or(BadFrame::MissingField)?;
        self.rest = rest;
        Ok(byte)
    }

    fn u32(&mut self) -> Result<u32, BadFrame> {
        // Five bytes with a last one of at most 0x0F are at most 32 bits.
        self.varint(5, 0x0F).and_then(|value| u32::try_from(value).map_err(|_| BadFrame::VarintTooLong))
    }

    fn u64(&mut self) -> Result<u64, BadFrame> {
        self.varint(10, 0x01)
    }

    fn text(&mut self) -> Result<K::Text, BadFrame> {
        Ok(self.texts.keep(std::mem::take(&mut self.rest)))
    }

    fn checked_text(&mut self, check: impl FnOnce(&[u8]) -> Result<(), BadFrame>) -> Result<K::Text, BadFrame> {
        check(self.rest)?;
        self.text()
    }
}

/// Reads a short payload from a window that has a 0 after it and spare bytes after that.
///
/// If it reads past the end of the payload, it never returns to it, so one check at the end is enough: a record is valid only if
/// [`WindowReader::is_at_end`]. A number that does not end within the payload includes at least the 0 after it. Numbers of more than 8
/// bytes, which are rare, are errors. After any error, the payload must be read again with a [`SliceReader`].
pub(super) struct WindowReader<'a, 'k, K> {
    window: &'a [u8; SHORT_WINDOW_BYTES],
    at: usize,
    end: usize,
    texts: &'k mut K,
}

impl<'a, 'k, K: KeepText<'a>> WindowReader<'a, 'k, K> {
    #[inline]
    pub(super) fn new(window: &'a [u8; SHORT_WINDOW_BYTES], payload_len: usize, texts: &'k mut K) -> Self {
        WindowReader { window, at: 0, end: payload_len, texts }
    }

    /// Whether everything has been read, and nothing more.
    #[inline]
    pub(super) fn is_at_end(&self) -> bool {
        self.at == self.end
    }

    /// Whether nothing was read beyond the end.
    #[inline]
    pub(super) fn is_within(&self) -> bool {
        self.at <= self.end
    }
}

/// The LEB128 number of at most 8 bytes at a place of a window, and its length.
#[inline]
fn varint_at(window: &[u8; SHORT_WINDOW_BYTES], at: usize) -> Option<(u64, usize)> {
    const TOPS: u64 = u64::from_ne_bytes([0x80; 8]);
    let word = u64::from_le_bytes(*window.get(at..)?.first_chunk::<8>()?);
    let ends = !word & TOPS;
    if ends == 0 {
        return None;
    }
    let own = word & (ends ^ (ends - 1));
    Some((join_groups(own), (ends.trailing_zeros() / 8 + 1) as usize))
}

/// The same for a number of 32 bits. It is given no reader, so that the reader's place can stay in a register.
#[cold]
#[inline(never)]
fn long_u32_at(window: &[u8; SHORT_WINDOW_BYTES], at: usize) -> Option<(u32, usize)> {
    let (value, len) = varint_at(window, at).filter(|&(_, len)| len <= 5)?;
    Some((u32::try_from(value).ok()?, len))
}

/// Joins the lower 7 bits of 8 bytes, lowest byte first: pairs of bytes, then pairs of pairs, then the halves.
#[inline]
fn join_groups(bytes: u64) -> u64 {
    let pairs = bytes & 0x007F_007F_007F_007F | (bytes & 0x7F00_7F00_7F00_7F00) >> 1;
    let quads = pairs & 0x0000_3FFF_0000_3FFF | (pairs & 0x3FFF_0000_3FFF_0000) >> 2;
    quads & 0x0FFF_FFFF | (quads & 0x0FFF_FFFF_0000_0000) >> 4
}

impl<'a, K: KeepText<'a>> Reader for WindowReader<'a, '_, K> {
    type Text = K::Text;

    #[inline(always)]
    fn u8(&mut self) -> Result<u8, BadFrame> {
        let byte = *self.window.get(self.at).ok_or(BadFrame::MissingField)?;
        self.at += 1;
        Ok(byte)
    }

    #[inline(always)]
    fn u32(&mut self) -> Result<u32, BadFrame> {
        // Ids and levels are nearly all below 128.
        if let Some(&byte) = self.window.get(self.at)
            && byte < 0x80
        {
            self.at += 1;
            return Ok(u32::from(byte));
        }
        let (value, len) = long_u32_at(self.window, self.at).ok_or(BadFrame::VarintTooLong)?;
        self.at += len;
        Ok(value)
    }

    #[inline(always)]
    fn u64(&mut self) -> Result<u64, BadFrame> {
        let (value, len) = varint_at(self.window, self.at).ok_or(BadFrame::VarintTooLong)?;
        self.at += len;
        Ok(value)
    }

    #[inline(always)]
    fn text(&mut self) -> Result<K::Text, BadFrame> {
        let text = self.window.get(self.at..self.end).ok_or(BadFrame::MissingField)?;
        self.at = self.end;
        Ok(self.texts.keep(text))
    }

    #[inline(always)]
    fn checked_text(&mut self, check: impl FnOnce(&[u8]) -> Result<(), BadFrame>) -> Result<K::Text, BadFrame> {
        check(self.window.get(self.at..self.end).ok_or(BadFrame::MissingField)?)?;
        self.text()
    }
}

/// Writes the fields of one record in the order of the wire, numbers in their shortest form.
#[cfg(any(test, feature = "generate"))]
pub(super) struct Writer<'a> {
    payload: &'a mut Vec<u8>,
}

#[cfg(any(test, feature = "generate"))]
impl<'a> Writer<'a> {
    pub(super) fn new(payload: &'a mut Vec<u8>) -> Writer<'a> {
        Writer { payload }
    }

    #[inline]
    pub(super) fn byte(&mut self, byte: u8) {
        self.payload.push(byte);
    }

    #[inline]
    pub(super) fn u32(&mut self, value: u32) {
        self.u64(u64::from(value));
    }

    #[inline]
    pub(super) fn u64(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.payload.push((value & 0x7F) as u8 | 0x80);
            value >>= 7;
        }
        self.payload.push(value as u8);
    }

    #[inline]
    pub(super) fn i64(&mut self, value: i64) {
        self.u64(to_sign_magnitude(value));
    }

    #[inline]
    pub(super) fn text(&mut self, text: &[u8]) {
        self.payload.extend_from_slice(text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn written(write: impl FnOnce(&mut Writer<'_>)) -> Vec<u8> {
        let mut payload = Vec::new();
        write(&mut Writer::new(&mut payload));
        payload
    }

    #[test]
    fn signed_vectors() {
        let vectors: [(i64, &[u8]); 11] = [
            (0, &[0x00]),
            (1, &[0x02]),
            (-1, &[0x03]),
            (63, &[0x7E]),
            (64, &[0x80, 0x01]),
            (-64, &[0x81, 0x01]),
            (1_000_000, &[0x80, 0x89, 0x7A]),
            (-1_000_000, &[0x81, 0x89, 0x7A]),
            (i64::MAX, &[0xFE, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x01]),
            (i64::MIN + 1, &[0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x01]),
            (i64::MIN, &[0x01]),
        ];
        for (value, wire) in vectors {
            assert_eq!(written(|writer| writer.i64(value)), wire);
            assert_eq!(SliceReader::new(wire, &mut Borrow).i64(), Ok(value));
        }
    }

    #[test]
    fn numbers_have_limits_and_may_be_over_long() {
        let read_u32 = |wire: &[u8]| SliceReader::new(wire, &mut Borrow).u32();
        assert_eq!(read_u32(&[0xFF, 0xFF, 0xFF, 0xFF, 0x0F]), Ok(u32::MAX));
        assert_eq!(read_u32(&[0xFF, 0xFF, 0xFF, 0xFF, 0x1F]), Err(BadFrame::VarintTooLong));
        assert_eq!(read_u32(&[0xFF, 0xFF, 0xFF, 0xFF, 0x8F, 0]), Err(BadFrame::VarintTooLong));
        assert_eq!(read_u32(&[0x80, 0x00]), Ok(0));
        assert_eq!(read_u32(&[0x80, 0x80]), Err(BadFrame::UnterminatedVarint));
        assert_eq!(read_u32(&[]), Err(BadFrame::MissingField));
        let read_u64 = |wire: &[u8]| SliceReader::new(wire, &mut Borrow).u64();
        assert_eq!(read_u64(&[0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 1]), Ok(u64::MAX));
        assert_eq!(read_u64(&[0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 2]), Err(BadFrame::VarintTooLong));
    }

    proptest! {
        #[test]
        fn the_readers_agree(bytes in prop::collection::vec(prop_oneof![1u8..0x80, 0x80u8..], 0..20), after in any::<u8>()) {
            let mut window = [after; SHORT_WINDOW_BYTES];
            window[..bytes.len()].copy_from_slice(&bytes);
            window[bytes.len()] = 0;
            let (mut exact_texts, mut fast_texts) = (Borrow, Borrow);
            let mut exact = SliceReader::new(&bytes, &mut exact_texts);
            let mut fast = WindowReader::new(&window, bytes.len(), &mut fast_texts);
            let expected = (exact.u64(), exact.u32(), exact.i64(), exact.text());
            let found = (fast.u64(), fast.u32(), fast.i64(), fast.text());
            if let (Ok(ts), Ok(id), Ok(value), Ok(text)) = found
                && fast.is_at_end()
            {
                prop_assert_eq!(expected, (Ok(ts), Ok(id), Ok(value), Ok(text)));
                prop_assert!(exact.is_at_end());
            }
            let all_short = bytes.split_inclusive(|&byte| byte < 0x80).all(|number| number.len() <= 8);
            if all_short && expected.0.is_ok() && expected.1.is_ok() && expected.2.is_ok() {
                prop_assert_eq!(expected, found);
            }
        }
    }
}
