//! CRC-16 with the CCITT polynomial (x^16 + x^12 + x^5 + 1), not reflected, without a final inversion.
//!
//! There are two algorithms: [`update`] reads the bytes, and [`Prefix`] computes the CRC of any range within a stretch in constant time,
//! after the stretch has been read once. The second one is for inputs with many headers that claim large lengths: each would cost
//! reading 64 KiB otherwise.

/// The polynomial without its highest power.
const POLYNOMIAL: u16 = 0x1021;

/// The number of bytes that [`update`] processes at once.
const SLICE: usize = 16;

/// `TABLES[n][byte]`: the contribution of `byte` to the CRC if `n` bytes follow it.
static TABLES: [[u16; 256]; SLICE] = {
    let mut tables = [[0; 256]; SLICE];
    let mut byte = 0;
    while byte < 256 {
        let mut crc = (byte as u16) << 8;
        let mut bit = 0;
        while bit < 8 {
            crc = times_x(crc);
            bit += 1;
        }
        tables[0][byte] = crc;
        byte += 1;
    }
    let mut follow = 1;
    while follow < SLICE {
        let mut byte = 0;
        while byte < 256 {
            let before: u16 = tables[follow - 1][byte];
            tables[follow][byte] = (before << 8) ^ tables[0][(before >> 8) as usize];
            byte += 1;
        }
        follow += 1;
    }
    tables
};

/// `crc * x`, modulo the polynomial.
const fn times_x(crc: u16) -> u16 {
    (crc << 1) ^ (if crc & 0x8000 == 0 { 0 } else { POLYNOMIAL })
}

/// The CRC after `bytes`, from the CRC before them.
#[must_use]
pub fn update(mut crc: u16, bytes: &[u8]) -> u16 {
    let mut slices = bytes.chunks_exact(SLICE);
    for slice in &mut slices {
        let Ok(slice) = <&[u8; SLICE]>::try_from(slice) else { break };
        let [high, low] = crc.to_be_bytes();
        let mut sum = TABLES[SLICE - 1][usize::from(slice[0] ^ high)] ^ TABLES[SLICE - 2][usize::from(slice[1] ^ low)];
        let mut at = 2;
        while at < SLICE {
            sum ^= TABLES[SLICE - 1 - at][usize::from(slice[at])];
            at += 1;
        }
        crc = sum;
    }
    for &byte in slices.remainder() {
        crc = (crc << 8) ^ TABLES[0][usize::from((crc >> 8) as u8 ^ byte)];
    }
    crc
}

/// `a * b`, modulo the polynomial.
fn multiply(a: u16, b: u16) -> u16 {
    let mut product = 0;
    for bit in (0..16).rev() {
        product = times_x(product);
        if b & 1 << bit != 0 {
            product ^= a;
        }
    }
    product
}

/// The CRC after `bytes` zero bytes, from the CRC before them. The CRC of two consecutive runs is the CRC of the first one shifted by
/// the length of the second, XOR the CRC of the second one (from 0).
#[must_use]
pub fn shift(crc: u16, bytes: usize) -> u16 {
    // `POWERS[n]` is x^(8 * 2^n).
    const POWERS: [u16; 64] = {
        let mut powers = [0; 64];
        powers[0] = 1 << 8;
        let mut n = 1;
        while n < 64 {
            let (a, mut product, mut bit) = (powers[n - 1], 0, 16);
            while bit > 0 {
                bit -= 1;
                product = times_x(product);
                if a & 1 << bit != 0 {
                    product ^= a;
                }
            }
            powers[n] = product;
            n += 1;
        }
        powers
    };
    let mut crc = crc;
    let mut left = bytes;
    while left != 0 {
        crc = multiply(crc, POWERS[left.trailing_zeros() as usize & 63]);
        left &= left - 1;
    }
    crc
}

/// The CRCs of all starts of a stretch of the input.
#[derive(Clone, Debug, Default)]
pub struct Prefix {
    /// Where the stretch starts in the input.
    start: usize,
    /// By N: the CRC (from 0) of the first N bytes of the stretch.
    crcs: Vec<u16>,
}

impl Prefix {
    /// The length of a stretch: twice the longest packet, so that it is rarely read for a single packet.
    const STRETCH: usize = 1 << 17;

    /// The CRC, from 0, of `input[start..end]`; `None` if the range is beyond the input or longer than a stretch.
    pub fn crc(&mut self, input: &[u8], start: usize, end: usize) -> Option<u16> {
        if start < self.start || end.checked_sub(self.start)? >= self.crcs.len() {
            self.read_stretch(input, start);
        }
        let before = *self.crcs.get(start.checked_sub(self.start)?)?;
        let after = *self.crcs.get(end.checked_sub(self.start)?)?;
        Some(shift(before, end.checked_sub(start)?) ^ after)
    }

    fn read_stretch(&mut self, input: &[u8], start: usize) {
        let end = start.saturating_add(Self::STRETCH).min(input.len());
        let mut crc = 0;
        self.start = start;
        self.crcs.clear();
        self.crcs.push(0);
        self.crcs.extend(input.get(start..end).unwrap_or(&[]).iter().map(|&byte| {
            crc = (crc << 8) ^ TABLES[0][usize::from((crc >> 8) as u8 ^ byte)];
            crc
        }));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn check_values_of_the_catalogue() {
        assert_eq!(update(0xFFFF, b"123456789"), 0x29B1);
        assert_eq!(update(0, b"123456789"), 0x31C3);
        // Both orders of the header with both starts: two and two are the same.
        assert_eq!(update(0xFFFF, &[0xAA, 0x55]), 0xE5EA);
        assert_eq!(update(0, &[0x55, 0xAA]), 0xE5EA);
        assert_eq!(update(0xFFFF, &[0x55, 0xAA]), 0xF8E5);
        assert_eq!(update(0, &[0xAA, 0x55]), 0xF8E5);
    }

    #[test]
    fn slices_equal_single_bytes() {
        let bytes: Vec<u8> = (0..200u32).map(|n| (n * n + 7) as u8).collect();
        for len in 0..bytes.len() {
            let one_by_one = bytes[..len].iter().fold(0xE5EA, |crc, byte| update(crc, &[*byte]));
            assert_eq!(update(0xE5EA, &bytes[..len]), one_by_one, "{len} bytes");
        }
    }

    #[test]
    fn a_shift_is_a_run_of_zeros() {
        for len in [0, 1, 2, 3, 15, 16, 17, 255, 256, 65_535, 70_000] {
            assert_eq!(shift(0xE5EA, len), update(0xE5EA, &vec![0; len]), "{len} bytes");
        }
    }

    #[test]
    fn prefixes_answer_for_any_run() {
        let input: Vec<u8> = (0..300_000u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
        let mut prefix = Prefix::default();
        for (start, end) in [(0, 0), (0, 9), (5, 65_540), (100_000, 165_000), (4, 8), (299_990, 300_000), (131_000, 131_072)] {
            assert_eq!(prefix.crc(&input, start, end), Some(update(0, &input[start..end])), "{start}..{end}");
        }
        assert_eq!(prefix.crc(&input, 299_990, 300_001), None);
    }
}
