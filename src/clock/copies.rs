//! Pieces of a file that are there twice, byte for byte.

/// How far a copy may be from its original, in bytes.
const REACH: usize = 1 << 17;
/// Shorter copies are not recognised.
const LEAST_BYTES: usize = 48;
/// A copy begins at most this number of bytes after the place at which reading continues: with the rest of a record, and one that is made
/// of the pieces of two.
const SOON: u64 = 64;
/// The rest of a copy in which a packet is, at least.
const WITHIN_BYTES: u64 = 192;
/// With more damage than this, copies are not searched for beside it: each search reads some bytes before it.
const SEARCHES_LIMIT: u32 = 1 << 11;

/// How many bytes from `start` on are a copy of bytes shortly before; 0 if too few are.
#[must_use]
pub fn copied_bytes(bytes: &[u8], start: u64) -> u64 {
    let Ok(start) = usize::try_from(start) else { return 0 };
    let (Some(before), Some(copy)) = (bytes.get(start.saturating_sub(REACH)..start), bytes.get(start..)) else { return 0 };
    let Some(piece) = copy.get(..LEAST_BYTES) else { return 0 };
    let Some(at) = memchr::memmem::rfind(before, piece) else { return 0 };
    let original = bytes.get(start - before.len() + at..start).unwrap_or(&[]);
    original.iter().zip(copy).take_while(|(one, other)| one == other).count() as u64
}

/// Where copies begin after damage. At such a place the pieces of two records meet, of which nothing is missing: both are there as a
/// whole, one before and one after.
#[derive(Clone, Copy, Debug, Default)]
pub struct Copies {
    searches: u32,
}

impl Copies {
    /// Whether a copy of bytes shortly before begins at `start`, right after a bad record, or soon after it.
    #[cold]
    pub fn begins_at(&mut self, bytes: &[u8], start: u64) -> bool {
        [0, SOON].into_iter().any(|after| self.copied(bytes, start.saturating_add(after)) > 0)
    }

    /// Whether a packet that ends at `start` is in a copy of bytes shortly before. The bytes of a regular program are not taken for a copy so
    /// soon.
    #[cold]
    pub fn is_within(&mut self, bytes: &[u8], start: u64) -> bool {
        self.copied(bytes, start) >= WITHIN_BYTES
    }

    fn copied(&mut self, bytes: &[u8], start: u64) -> u64 {
        self.searches += 1;
        if self.searches <= SEARCHES_LIMIT { copied_bytes(bytes, start) } else { 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_is_found_where_it_begins() {
        let mut bytes: Vec<u8> = (0..2000u32).map(|number| (number.wrapping_mul(number) >> 3) as u8).collect();
        assert_eq!(copied_bytes(&bytes, 900), 0);
        let piece = bytes[500..900].to_vec();
        bytes.splice(900..900, piece);
        assert!((400..404).contains(&copied_bytes(&bytes, 900)));
        // Not within the last bytes of it.
        assert_eq!(copied_bytes(&bytes, 1299 - LEAST_BYTES as u64 / 2), 0);
        assert_eq!(copied_bytes(&bytes, 1 << 40), 0);
        assert!(Copies::default().begins_at(&bytes, 900) && Copies::default().begins_at(&bytes, 880));
        assert!(!Copies::default().begins_at(&bytes, 700));
        assert!(Copies::default().is_within(&bytes, 1000) && !Copies::default().is_within(&bytes, 1200));
    }
}
