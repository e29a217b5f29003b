//! Protobuf's wire format, as far as packets are written by hand.

use prost::encoding::{encode_varint, encoded_len_varint};

/// A varint of a value below 2^56: its bytes, the first one lowest, and how many there are (1 to 8).
///
/// Without branches: the lengths of timestamps and values are not predictable.
#[inline]
pub(super) fn varint56(value: u64) -> (u64, u32) {
    debug_assert!(value < 1 << 56);
    // Spread the groups of 7 bits to bytes: 28+28 bits, then 4 times 14, then 8 times 7.
    let halves = (value & 0x0fff_ffff) | ((value & 0x00ff_ffff_f000_0000) << 4);
    let quarters = (halves & 0x0000_3fff_0000_3fff) | ((halves & 0x0fff_c000_0fff_c000) << 2);
    let bytes = (quarters & 0x007f_007f_007f_007f) | ((quarters & 0x3f80_3f80_3f80_3f80) << 1);
    let len = VARINT_LENS[(value | 1).ilog2() as usize];
    // Every byte but the last one says that another follows.
    (bytes | MORE_FLAGS[len as usize & 15], len)
}

/// The same for a value below 2^28 (1 to 4 bytes).
#[inline]
pub(super) fn varint28(value: u32) -> (u32, u32) {
    debug_assert!(value < 1 << 28);
    let halves = (value & 0x3fff) | ((value & 0x0fff_c000) << 2);
    let bytes = (halves & 0x007f_007f) | ((halves & 0x3f80_3f80) << 1);
    let len = VARINT_LENS[(value | 1).ilog2() as usize];
    (bytes | MORE_FLAGS[len as usize & 15] as u32, len)
}

/// The length of a varint by the number of its value's highest bit.
const VARINT_LENS: [u32; 64] = {
    let mut lens = [0; 64];
    let mut bit = 0;
    while bit < 64 {
        lens[bit] = bit as u32 / 7 + 1;
        bit += 1;
    }
    lens
};

/// The highest bits of all bytes but the last, by the length of the varint.
const MORE_FLAGS: [u64; 16] = {
    let mut flags = [0; 16];
    let mut len = 1;
    while len <= 8 {
        flags[len] = 0x8080_8080_8080_8080 & ((1 << (8 * (len - 1))) - 1);
        len += 1;
    }
    flags
};

/// A varint field with a key of one byte, ready to be copied: its bytes (at most 6), and their number in the highest byte.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ShortField(u64);

impl ShortField {
    /// No field: no bytes.
    pub(super) const EMPTY: ShortField = ShortField(0);
    /// A field that is longer than this type can hold.
    pub(super) const TOO_LONG: ShortField = ShortField(u64::MAX);

    /// The field (1 to 15) with the value.
    pub(super) fn new(field: u32, value: u32) -> ShortField {
        debug_assert!(field < 16);
        let (bytes, len) = varint56(u64::from(value));
        ShortField(u64::from(len + 1) << 56 | bytes << 8 | u64::from(field << 3))
    }

    #[inline]
    pub(super) fn is_too_long(self) -> bool {
        self == Self::TOO_LONG
    }

    /// The bytes, the first one lowest.
    #[inline]
    pub(super) fn bytes(self) -> u64 {
        self.0 & ((1 << 56) - 1)
    }

    /// The number of bytes.
    #[inline]
    pub(super) fn len(self) -> u32 {
        (self.0 >> 56) as u32
    }
}

/// Appends a bare varint.
#[inline]
pub(super) fn push_varint(out: &mut Vec<u8>, value: u64) {
    if value < 1 << 56 {
        // Most are short. A copy of fixed length that is cut off costs less than one of variable length.
        let (bytes, len) = varint56(value);
        let end = out.len() + len as usize;
        out.extend_from_slice(&bytes.to_le_bytes());
        out.truncate(end);
    } else {
        encode_varint(value, out);
    }
}

/// Appends a varint field.
#[inline]
pub(super) fn put_varint(out: &mut Vec<u8>, field: u32, value: u64) {
    push_varint(out, u64::from(field << 3));
    push_varint(out, value);
}

/// Appends a field of 8 bytes.
pub(super) fn put_fixed64(out: &mut Vec<u8>, field: u32, value: u64) {
    push_varint(out, u64::from(field << 3 | 1));
    out.extend_from_slice(&value.to_le_bytes());
}

/// Appends a field of bytes: a text, a packed column or an encoded message.
pub(super) fn put_bytes(out: &mut Vec<u8>, field: u32, bytes: &[u8]) {
    put_length(out, field, bytes.len());
    out.extend_from_slice(bytes);
}

/// Appends the key and length of a field whose bytes the caller appends next.
pub(super) fn put_length(out: &mut Vec<u8>, field: u32, len: usize) {
    push_varint(out, u64::from(field << 3 | 2));
    push_varint(out, len as u64);
}

/// The length of a field of bytes, with its key.
pub(super) fn bytes_field_len(field: u32, len: usize) -> usize {
    encoded_len_varint(u64::from(field << 3)) + encoded_len_varint(len as u64) + len
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn short_varints_are_as_prost_writes_them(bits in 0u32..=56, value: u64) {
            let value = value & ((1 << bits) - 1);
            let mut expected = Vec::new();
            encode_varint(value, &mut expected);
            let mut pushed = Vec::new();
            push_varint(&mut pushed, value);
            prop_assert_eq!(&pushed, &expected);
            let (bytes, len) = varint56(value);
            prop_assert_eq!(&bytes.to_le_bytes()[..len as usize], &expected[..]);
            if bits <= 28 {
                prop_assert_eq!(varint28(value as u32), (bytes as u32, len));
            }
            // What lies above the varint is overwritten or merged with a shift, so it has to be zero.
            prop_assert_eq!(bytes.to_le_bytes()[len as usize..].iter().max().copied().unwrap_or(0), 0);
        }
    }

    #[test]
    fn the_length_of_a_field_is_what_it_takes() {
        for len in [0, 1, 127, 128, 20_000] {
            for field in [1, 15, 16, 2047, 2048] {
                let mut out = Vec::new();
                put_bytes(&mut out, field, &vec![7; len]);
                assert_eq!(out.len(), bytes_field_len(field, len));
            }
        }
    }
}
