//! Checksums of all stretches of a region at once.
//!
//! A message with a checksum and no length ends where its checksum fits. If it is damaged, the search for its end fails. Many damaged
//! messages make overlapping searches, which would take quadratic time byte by byte.
//!
//! CRC-32C is linear. Its register moves over a bit by one invertible step *X*, so all registers can be moved back to the region's
//! origin and compared there: let `Q(n)` be the register after the first `n` bytes, begun with zeros and moved back over those `n`
//! bytes, and `J(n)` a register of ones moved back over `n` bytes. A message has all ones before its first byte, and, because four
//! bytes of checksum cancel out the register, all ones moved over four bytes of zeros after its last one. Hence the bytes from `s`
//! to `e` are a message whose checksum fits if, and only if, `Q(s) ^ J(s) == Q(e) ^ J(e - 4)`. One pass over the region computes both
//! sides for all places, and a search is a look-up. The result is that of a search byte by byte.

use std::cell::RefCell;
use std::fmt;

/// The polynomial, in the order of the register's bits.
const POLYNOMIAL: u32 = 0x82F6_3B78;

/// The register before a message.
const ONES: u32 = u32::MAX;

/// CRC-32C, one byte at a time.
static CRC: [u32; 256] = {
    let mut table = [0; 256];
    let mut index = 0;
    while index < 256 {
        let mut crc = index as u32;
        let mut bit = 0;
        while bit < 8 {
            crc = crc >> 1 ^ if crc & 1 == 1 { POLYNOMIAL } else { 0 };
            bit += 1;
        }
        table[index] = crc;
        index += 1;
    }
    table
};

/// The register after a byte.
#[inline]
fn over_byte(register: u32, byte: u8) -> u32 {
    register >> 8 ^ CRC[usize::from(register as u8 ^ byte)]
}

/// The register before a bit of zero.
#[inline]
fn back(register: u32) -> u32 {
    let is_odd = register >> 31;
    (register ^ POLYNOMIAL & is_odd.wrapping_neg()) << 1 | is_odd
}

/// The register before a byte of zero.
#[inline]
fn back_byte(register: u32) -> u32 {
    (0..8).fold(register, |register, _| back(register))
}

/// The longest message: all fields, the largest payload, and a checksum, in bytes.
const MESSAGE_BYTES: usize = 39 + 0xFFFF + 4;

/// The number of places in a region where messages may begin.
const STARTS: usize = 128 << 10;

/// After failed searches of this many bytes in a stretch of [`STARTS`], the region is computed. It takes about as long.
const SEARCHED_BYTES: usize = 1 << 20;

/// How much faster a checksum of many bytes is than one that is compared after each byte.
const CHECKED_PER_SEARCHED: usize = 16;

/// Frames of fewer bytes are not worth a look-up.
const LOOKED_UP_BYTES: usize = 256;

/// A region. Places are counted from its first byte.
struct Sums {
    origin: usize,
    /// `Q(n) ^ J(n)`
    starts: Vec<u32>,
    /// `Q(n) ^ J(n - 4)`
    ends: Vec<u32>,
    /// Each of `ends`, and in the lower half its place; sorted.
    sorted: Vec<u64>,
}

impl Sums {
    fn of(bytes: &[u8], origin: usize) -> Sums {
        let bytes = bytes.get(origin..).unwrap_or(&[]);
        let bytes = bytes.get(..STARTS + MESSAGE_BYTES).unwrap_or(bytes);
        let (mut starts, mut ends) = (Vec::with_capacity(bytes.len() + 1), Vec::with_capacity(bytes.len() + 1));
        // A bit of one at the present place, moved back.
        let mut one = 1u32;
        let mut register = 0u32;
        let mut ones = ONES;
        let mut ones_after = (0..4).fold(ONES, |register, _| over_byte(register, 0));
        for &byte in bytes {
            starts.push(register ^ ones);
            ends.push(register ^ ones_after);
            for bit in 0..8 {
                register ^= one & u32::from(byte >> bit & 1).wrapping_neg();
                one = back(one);
            }
            (ones, ones_after) = (back_byte(ones), back_byte(ones_after));
        }
        starts.push(register ^ ones);
        ends.push(register ^ ones_after);
        let mut sorted: Vec<u64> = (0..).zip(&ends).map(|(place, &end)| u64::from(end) << 32 | place).collect();
        sorted.sort_unstable();
        Sums { origin, starts, ends, sorted }
    }

    /// Whether all messages that begin at a place are within the region, as far as the input goes.
    #[inline]
    fn covers(&self, start: usize) -> bool {
        (self.origin..self.origin + STARTS).contains(&start)
    }

    /// Whether the checksum of these bytes fits; `None` if they are not within the region.
    #[inline]
    fn fits(&self, start: usize, len: usize) -> Option<bool> {
        let start = start.checked_sub(self.origin)?;
        Some(self.starts.get(start)? == self.ends.get(start + len)?)
    }

    /// The fewest bytes from a place on, of at least `least` and at most `most`, whose checksum fits.
    fn first_end(&self, start: usize, least: usize, most: usize) -> Option<usize> {
        let start = start.checked_sub(self.origin)?;
        let key = u64::from(*self.starts.get(start)?) << 32;
        let from = key | (start + least) as u64;
        let found = *self.sorted.get(self.sorted.partition_point(|&end| end < from))?;
        let place = usize::try_from(found.checked_sub(key)?).ok()?;
        place.checked_sub(start).filter(|len| *len <= most)
    }
}

/// The regions computed so far, and the work done.
#[derive(Default)]
struct State {
    /// Two regions: that of the present place, and that of messages after it. The one used last comes first.
    sums: [Option<Box<Sums>>; 2],
    /// The number of bytes of failed searches, since this place.
    searched: usize,
    searched_from: usize,
    /// All bytes inspected, for tests.
    work: u64,
}

impl State {
    fn covering(&mut self, start: usize) -> Option<&Sums> {
        if !self.sums.first()?.as_ref()?.covers(start) {
            self.sums.swap(0, 1);
        }
        self.sums.first()?.as_deref().filter(|sums| sums.covers(start))
    }

    /// Notes a failed search. After many, the region is computed.
    fn add(&mut self, bytes: &[u8], start: usize, searched: usize) {
        if !(self.searched_from..self.searched_from + STARTS).contains(&start) {
            (self.searched, self.searched_from) = (0, start);
        }
        self.searched += searched;
        if self.searched >= SEARCHED_BYTES {
            self.searched = 0;
            let sums = Box::new(Sums::of(bytes, start));
            self.work += (CHECKED_PER_SEARCHED * sums.ends.len()) as u64;
            self.sums.swap(0, 1);
            self.sums[0] = Some(sums);
        }
    }
}

/// Finds messages by their checksums. Places are counted from the first of the bytes.
pub(super) struct Searches<'a> {
    bytes: &'a [u8],
    state: RefCell<State>,
}

impl<'a> Searches<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Searches<'a> {
        Searches { bytes, state: RefCell::default() }
    }

    /// Whether the last four of these bytes are the checksum of those before.
    #[inline]
    pub(super) fn fits(&self, start: usize, len: usize) -> bool {
        let Some(frame) = self.bytes.get(start..).and_then(|rest| rest.get(..len)) else { return false };
        let Some((message, crc)) = frame.split_last_chunk::<4>() else { return false };
        if len >= LOOKED_UP_BYTES
            && let Some(fits) = self.known_fit(start, len)
        {
            return fits;
        }
        let fits = crc32c::crc32c(message) == u32::from_le_bytes(*crc);
        if !fits {
            self.add(start, len / CHECKED_PER_SEARCHED);
        }
        fits
    }

    #[inline]
    fn known_fit(&self, start: usize, len: usize) -> Option<bool> {
        let mut state = self.state.borrow_mut();
        let known = state.covering(start)?.fits(start, len);
        state.work += 1;
        known
    }

    #[cold]
    fn add(&self, start: usize, searched: usize) {
        let mut state = self.state.borrow_mut();
        state.work += searched as u64;
        state.add(self.bytes, start, searched);
    }

    /// The length of the message at a place that ends where its checksum first fits, if it has at least `least` and at most `most`
    /// bytes before the checksum.
    pub(super) fn find(&self, start: usize, least: usize, most: usize) -> Option<usize> {
        let rest = self.bytes.get(start..)?;
        let mut state = self.state.borrow_mut();
        if let Some(sums) = state.covering(start) {
            let found = sums.first_end(start, least + 4, most.saturating_add(4));
            state.work += 16;
            return found;
        }
        let mut register = !crc32c::crc32c(rest.get(..least)?);
        let ends = rest.get(least..)?.windows(4).take((most + 1).saturating_sub(least));
        let searched = ends.len() + least / CHECKED_PER_SEARCHED;
        for (len, end) in (least..).zip(ends) {
            let stated = end.first_chunk::<4>().map_or(0, |stated| u32::from_le_bytes(*stated));
            if stated == !register {
                state.work += (len - least) as u64;
                return Some(len + 4);
            }
            register = over_byte(register, end[0]);
        }
        state.work += searched as u64;
        state.add(self.bytes, start, searched);
        None
    }

    /// Notes other work, in bytes inspected.
    #[inline]
    pub(super) fn count_work(&self, bytes: usize) {
        if cfg!(test) {
            self.state.borrow_mut().work += bytes as u64;
        }
    }

    /// The number of bytes inspected.
    #[cfg(test)]
    pub(super) fn work(&self) -> u64 {
        self.state.borrow().work
    }
}

impl fmt::Debug for Searches<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Searches").field("bytes", &self.bytes.len()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn naive(bytes: &[u8], start: usize, least: usize, most: usize) -> Option<usize> {
        (least..=most).map(|len| len + 4).find(|len| {
            let frame = bytes.get(start..start + len);
            frame
                .and_then(|frame| frame.split_last_chunk::<4>())
                .is_some_and(|(message, crc)| crc32c::crc32c(message) == u32::from_le_bytes(*crc))
        })
    }

    /// Bytes with checksums of some of the stretches before them.
    fn with_checksums(mut bytes: Vec<u8>, stretches: &[(usize, usize)]) -> Vec<u8> {
        for &(start, len) in stretches {
            let start = start % (bytes.len() + 1);
            let end = (start + len).min(bytes.len());
            let crc = crc32c::crc32c(&bytes[start..end]).to_le_bytes();
            bytes.splice(end..(end + 4).min(bytes.len()), crc);
        }
        bytes
    }

    proptest! {
        #[test]
        fn a_look_up_finds_what_a_search_finds(
            bytes in prop::collection::vec(prop_oneof![any::<u8>(), Just(0), Just(0xFF)], 0..300),
            stretches in prop::collection::vec((any::<usize>(), 0usize..90), 0..9),
            origin in 0usize..40,
            (least, more) in (0usize..60, 0usize..200),
        ) {
            let bytes = with_checksums(bytes, &stretches);
            let sums = Sums::of(&bytes, origin.min(bytes.len()));
            for start in sums.origin..bytes.len() {
                let expected = naive(&bytes, start, least, least + more);
                prop_assert_eq!(sums.first_end(start, least + 4, least + more + 4), expected);
                let searches = Searches::new(&bytes);
                prop_assert_eq!(searches.find(start, least, least + more), expected);
                for end in start + 4..=bytes.len() {
                    let fits = naive(&bytes, start, end - start - 4, end - start - 4).is_some();
                    prop_assert_eq!(sums.fits(start, end - start), Some(fits));
                    prop_assert_eq!(searches.fits(start, end - start), fits);
                }
            }
        }
    }

    #[test]
    fn searches_that_share_a_region_find_the_same_and_cost_little() {
        let mut bytes: Vec<u8> = (0..600_000u32).map(|at| (at.wrapping_mul(0x9E37_79B1) >> 13) as u8).collect();
        // A checksum that fits, far after the start.
        let crc = crc32c::crc32c(&bytes[70_000..130_000]).to_le_bytes();
        bytes[130_000..130_004].copy_from_slice(&crc);
        let searches = Searches::new(&bytes);
        for start in (0..500_000).step_by(8) {
            let found = searches.find(start, 0, 0xFFFF);
            // Of four thousand million stretches, one or two fit by chance.
            let fits = |len| naive(&bytes, start, len - 4, len - 4).is_some();
            assert!(found.is_none_or(fits), "from {start}");
            assert!(start != 70_000 || found == Some(60_004));
            assert_eq!(searches.fits(start, 60_004), start == 70_000);
        }
        assert!(searches.work() < 64 * bytes.len() as u64, "{} bytes inspected", searches.work());
    }
}
