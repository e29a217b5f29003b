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
    let len = (70 - (value | 1).leading_zeros()) / 7;
    // Every byte but the last one says that another follows.
    let more = 0x8080_8080_8080_8080 & ((1u64 << (8 * (len - 1))) - 1);
    (bytes | more, len)
}

/// Appends a varint field.
#[inline]
pub(super) fn put_varint(out: &mut Vec<u8>, field: u32, value: u64) {
    encode_varint(u64::from(field << 3), out);
    encode_varint(value, out);
}

/// Appends a field of 8 bytes.
pub(super) fn put_fixed64(out: &mut Vec<u8>, field: u32, value: u64) {
    encode_varint(u64::from(field << 3 | 1), out);
    out.extend_from_slice(&value.to_le_bytes());
}

/// Appends a field of bytes: a text, a packed column or an encoded message.
pub(super) fn put_bytes(out: &mut Vec<u8>, field: u32, bytes: &[u8]) {
    put_length(out, field, bytes.len());
    out.extend_from_slice(bytes);
}

/// Appends the key and length of a field whose bytes the caller appends next.
pub(super) fn put_length(out: &mut Vec<u8>, field: u32, len: usize) {
    encode_varint(u64::from(field << 3 | 2), out);
    encode_varint(len as u64, out);
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
            let (bytes, len) = varint56(value);
            prop_assert_eq!(&bytes.to_le_bytes()[..len as usize], &expected[..]);
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
