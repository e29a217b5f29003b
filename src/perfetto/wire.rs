//! Protobuf's wire format, for packets that are written by hand.

use prost::encoding::encoded_len_varint;

/// The length of the longest varint.
pub(super) const MAX_VARINT_LEN: usize = 10;

/// A varint: its first 8 bytes, the first one lowest, the other 2, and their number (1 to 10). All bytes after it are 0.
///
/// Without branches: the lengths of timestamps and values are not predictable.
#[inline]
pub(super) fn varint(value: u64) -> (u64, u16, u32) {
    let bytes = spread(value);
    let len = VARINT_LENS[(value | 1).ilog2() as usize];
    // The last bit is a byte of its own. It also marks the preceding byte as followed by another, and is already in its place
    // there.
    let rest = (value >> 56) | (value >> 63) << 8;
    // Every byte except the last one has the continuation bit.
    (bytes | MORE_FLAGS[len as usize & 15], rest as u16, len)
}

/// Spreads the groups of 7 bits to bytes: 28+28 bits, then 4 times 14, then 8 times 7.
#[inline]
fn spread(value: u64) -> u64 {
    let halves = (value & 0x0fff_ffff) | ((value & 0x00ff_ffff_f000_0000) << 4);
    let quarters = (halves & 0x0000_3fff_0000_3fff) | ((halves & 0x0fff_c000_0fff_c000) << 2);
    (quarters & 0x007f_007f_007f_007f) | ((quarters & 0x3f80_3f80_3f80_3f80) << 1)
}

/// The end of values that [`varint49`] takes.
pub(super) const VARINT49_END: u64 = 1 << 49;

/// The same for a value below 2^49 (1 to 7 bytes): its bytes and their number.
#[inline(always)]
pub(super) fn varint49(value: u64) -> (u64, u32) {
    debug_assert!(value < VARINT49_END);
    let len = VARINT_LENS[(value | 1).ilog2() as usize];
    (spread(value) | MORE_FLAGS[len as usize & 15], len)
}

/// The same, faster for values below 2^14, as most are.
#[inline(always)]
pub(super) fn mostly_tiny_varint49(value: u64) -> (u64, u32) {
    if value < 1 << 14 {
        let has_second = u64::from(value >= 0x80);
        return ((value & 0x7F) | has_second << 7 | (value >> 7) << 8, 1 + has_second as u32);
    }
    varint49(value)
}

/// The same, faster for values below 2^28, as most are.
#[inline]
pub(super) fn mostly_short_varint(value: u64) -> (u64, u16, u32) {
    if value < 1 << 28 {
        let (bytes, len) = varint28(value as u32);
        return (bytes.into(), 0, len);
    }
    long_varint(value)
}

/// A separate function, so that [`mostly_short_varint`] is small.
#[cold]
#[inline(never)]
fn long_varint(value: u64) -> (u64, u16, u32) {
    varint(value)
}

/// The same for a value below 2^28 (1 to 4 bytes): its bytes and their number.
#[inline]
pub(super) fn varint28(value: u32) -> (u32, u32) {
    debug_assert!(value < 1 << 28);
    let halves = (value & 0x3fff) | ((value & 0x0fff_c000) << 2);
    let bytes = (halves & 0x007f_007f) | ((halves & 0x3f80_3f80) << 1);
    let end = VARINT28_ENDS[(value | 1).ilog2() as usize];
    (bytes | end as u32, (end >> 32) as u32)
}

/// The continuation bits of a varint of up to 28 bits and, in the upper half, its length: by the number of its value's highest bit.
const VARINT28_ENDS: [u64; 32] = {
    let mut ends = [0; 32];
    let mut bit = 0;
    while bit < 28 {
        let len = VARINT_LENS[bit];
        ends[bit] = MORE_FLAGS[len as usize] | (len as u64) << 32;
        bit += 1;
    }
    ends
};

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

/// The continuation bits of the first 8 bytes, by the length of the varint.
const MORE_FLAGS: [u64; 16] = {
    let mut flags = [0; 16];
    let mut len = 1;
    while len <= 8 {
        flags[len] = 0x8080_8080_8080_8080 & ((1 << (8 * (len - 1))) - 1);
        len += 1;
    }
    flags[9] = 0x8080_8080_8080_8080;
    flags[10] = flags[9];
    flags
};

/// A varint field of few bytes, ready to be copied: its bytes (at most 4), and their number in the highest byte.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ShortField(u64);

impl ShortField {
    /// No field: no bytes.
    pub(super) const EMPTY: ShortField = ShortField(0);
    /// A field that is longer than this type can hold.
    pub(super) const TOO_LONG: ShortField = ShortField(u64::MAX);
    /// Values from here on are too long.
    pub(super) const END: u32 = 1 << 14;

    /// The field with the value: at most 3 bytes for fields up to 15, at most 4 for fields up to 2047.
    #[inline(always)]
    pub(super) fn new(field: u32, value: u32) -> ShortField {
        if value >= Self::END {
            return Self::TOO_LONG;
        }
        let (key, key_len) = varint28(field << 3);
        debug_assert!(key_len <= 2);
        // Two bytes at most.
        let has_second = u32::from(value >= 0x80);
        let bytes = (value & 0x7F) | has_second << 7 | (value >> 7) << 8;
        ShortField(u64::from(key_len + 1 + has_second) << 56 | u64::from(bytes) << (8 * key_len) | u64::from(key))
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

    /// The same, with the number of bytes in the highest byte: for a place whose bytes after the field are overwritten.
    #[inline]
    pub(super) fn with_len(self) -> u64 {
        self.0
    }

    /// Whether one of them is longer than this type can hold.
    #[inline]
    pub(super) fn any_too_long<const FIELDS: usize>(fields: [ShortField; FIELDS]) -> bool {
        // The number of bytes is small otherwise.
        fields.iter().fold(0, |all, field| all | field.0).cast_signed() < 0
    }

    /// The number of bytes.
    #[inline]
    pub(super) fn len(self) -> u32 {
        (self.0 >> 56) as u32
    }

    /// The same of a field that is not too long. The compiler sees that it is small.
    #[inline]
    pub(super) fn short_len(self) -> usize {
        (self.0 >> 56) as usize & 7
    }
}

/// Memory for a column of varints.
#[derive(Default)]
pub(super) struct Column(Vec<u8>);

impl Column {
    /// The varints, one after the other. It is fastest if most are of one byte, or all are longer.
    #[inline]
    pub(super) fn pack(&mut self, values: impl ExactSizeIterator<Item = u64>) -> &[u8] {
        let most = values.len() * MAX_VARINT_LEN;
        if self.0.len() < most {
            self.0.resize(most, 0);
        }
        let mut len = 0;
        for value in values {
            let Some(room) = self.0.get_mut(len..).and_then(|room| room.first_chunk_mut::<MAX_VARINT_LEN>()) else { break };
            if value < 0x80 {
                room[0] = value as u8;
                len += 1;
            } else {
                let varint_len;
                (*room, varint_len) = varint_bytes(value);
                len += varint_len;
            }
        }
        &self.0[..len]
    }
}

/// Appends a bare varint.
#[inline]
pub(super) fn push_varint(out: &mut Vec<u8>, value: u64) {
    // Copying a fixed length and truncating costs less than copying a variable length.
    let (bytes, len) = varint_bytes(value);
    let end = out.len() + len;
    out.extend_from_slice(&bytes);
    out.truncate(end);
}

/// A varint and its length.
#[inline]
fn varint_bytes(value: u64) -> ([u8; MAX_VARINT_LEN], usize) {
    let (bytes, rest, len) = varint(value);
    let mut room = [0; MAX_VARINT_LEN];
    room[..8].copy_from_slice(&bytes.to_le_bytes());
    room[8..].copy_from_slice(&rest.to_le_bytes());
    (room, len as usize)
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

/// Appends the key and length of a field. The caller appends its bytes next.
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
    use prost::encoding::encode_varint;

    use super::*;

    proptest! {
        #[test]
        fn varints_are_as_prost_writes_them(shift in 0u32..64, bits: u64) {
            let value = bits >> shift;
            let mut expected = Vec::new();
            encode_varint(value, &mut expected);
            let mut pushed = Vec::new();
            push_varint(&mut pushed, value);
            prop_assert_eq!(&pushed, &expected);
            // The bits above the varint are merged with a shift, so they must be zero.
            expected.resize(MAX_VARINT_LEN, 0);
            prop_assert_eq!(varint_bytes(value), (<[u8; MAX_VARINT_LEN]>::try_from(&expected[..]).unwrap(), pushed.len()));
            let (bytes, _, len) = varint(value);
            if value < 1 << 28 {
                prop_assert_eq!(varint28(value as u32), (bytes as u32, len));
            }
            if value < VARINT49_END {
                prop_assert_eq!(varint49(value), (bytes, len));
                prop_assert_eq!(mostly_tiny_varint49(value), (bytes, len));
            }
        }
    }

    proptest! {
        #[test]
        fn columns_are_varints_one_after_the_other(columns in prop::collection::vec(prop::collection::vec((0u32..64, any::<u64>()), 0..30), 1..4)) {
            let mut memory = Column::default();
            for column in columns {
                let values = column.into_iter().map(|(shift, bits)| bits >> shift);
                let mut expected = Vec::new();
                values.clone().for_each(|value| encode_varint(value, &mut expected));
                prop_assert_eq!(memory.pack(values.collect::<Vec<_>>().into_iter()), &expected[..]);
            }
        }

        #[test]
        fn short_fields_are_as_prost_writes_them(field in 1u32..2048, value in 0u32..20_000) {
            let short = ShortField::new(field, value);
            prop_assert_eq!(short.is_too_long(), value >= ShortField::END);
            if !short.is_too_long() {
                let mut expected = Vec::new();
                put_varint(&mut expected, field, value.into());
                prop_assert_eq!(&short.bytes().to_le_bytes()[..short.len() as usize], &expected[..]);
                prop_assert!(expected.len() <= 4);
            }
        }
    }

    #[test]
    fn the_length_of_a_field_is_exact() {
        for len in [0, 1, 127, 128, 20_000] {
            for field in [1, 15, 16, 2047, 2048] {
                let mut out = Vec::new();
                put_bytes(&mut out, field, &vec![7; len]);
                assert_eq!(out.len(), bytes_field_len(field, len));
            }
        }
    }
}
