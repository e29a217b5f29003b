//! Pieces of a file that are there twice, byte for byte.

use std::borrow::Cow;
use std::ops::Range;

/// How far a copy may be from its original, in bytes.
const REACH: usize = 1 << 17;
/// Shorter copies are not recognised.
const LEAST_BYTES: usize = 48;
/// How many bytes of it are searched for.
const SEARCHED_BYTES: usize = 32;
/// A copy begins at most this number of bytes after the place at which reading continues: with the rest of a record, and one that is made
/// of the pieces of two.
const SOON: u64 = 64;
/// The rest of a copy in which a packet is, at least.
const WITHIN_BYTES: u64 = 192;
/// How long a doubled piece is whose copy is too short to be searched for, in bytes: shorter ones occur by chance.
const DOUBLED_BYTES: std::ops::RangeInclusive<usize> = 16..=1 << 13;
/// How many bytes are compared for that, besides some for each byte of the input.
const COMPARED: u64 = 1 << 22;
/// Each search reads some bytes before it: there are no more than this number of them, and one for each piece of this size of the input
/// before it, in bytes.
const SEARCHES: u64 = 1 << 11;
const PIECE: u64 = 1 << 12;

/// An input in the order of recording: two pieces, one after the other. They are those of a ring whose oldest byte is anywhere in it; any other
/// input is one piece.
pub type Pieces<'a> = [&'a [u8]; 2];

/// Some bytes of an input. They are copied only where its pieces meet.
fn bytes_of([first, second]: Pieces<'_>, range: Range<usize>) -> Option<Cow<'_, [u8]>> {
    if range.end <= first.len() {
        return first.get(range).map(Cow::Borrowed);
    }
    let end = range.end - first.len();
    match range.start.checked_sub(first.len()) {
        Some(start) => second.get(start..end).map(Cow::Borrowed),
        None => Some(Cow::Owned([first.get(range.start..)?, second.get(..end)?].concat())),
    }
}

/// How many bytes from `start` on are a copy of bytes shortly before, but not before `since`, and how far before; `None` if too few are.
fn copied_bytes(pieces: Pieces<'_>, since: u64, start: u64) -> Option<(u64, u64)> {
    let (start, since) = (usize::try_from(start).ok()?, usize::try_from(since).ok()?);
    let end = start.saturating_add(REACH).min(pieces[0].len() + pieces[1].len());
    let before = bytes_of(pieces, start.saturating_sub(REACH).max(since)..start)?;
    let copy = bytes_of(pieces, start..end)?;
    let piece = copy.get(..LEAST_BYTES)?;
    // Forwards is faster, although the last one is wanted; so is the search for its beginning, which needs no preparation.
    let begins = memchr::memmem::find_iter(&before, piece.get(..SEARCHED_BYTES).unwrap_or(piece));
    let is_copy = |at: &usize| before.get(*at..).is_some_and(|rest| rest.starts_with(piece));
    let at = begins.filter(is_copy).last()?;
    let original = before.get(at..)?;
    let copied = original.iter().zip(&*copy).take_while(|(one, other)| one == other).count();
    Some((copied as u64, original.len() as u64))
}

/// Searches for copies in an input, in the order of recording.
#[derive(Clone, Copy, Debug, Default)]
pub struct Copies {
    searches: u64,
    /// How many bytes were compared with those of a doubled piece.
    compared: u64,
    /// Where the session begins, in bytes.
    since: u64,
}

impl Copies {
    /// A session begins at this offset. After a reset a program may record the same once more: that is no copy.
    pub fn begin_session(&mut self, offset: u64) {
        self.since = offset;
    }

    /// Whether a copy of bytes shortly before begins at `start`, right after a bad record, or soon after it. At such a place the pieces of
    /// two records meet, of which nothing is missing: both are there as a whole, one before and one after.
    #[cold]
    pub fn begins_at(&mut self, bytes: &[u8], start: u64) -> bool {
        [0, SOON].into_iter().any(|after| self.copied(bytes, start.saturating_add(after)) > 0)
    }

    /// Whether bytes from `start` to `end` lie in a piece of which a copy follows at once, or in that copy. Of such bytes nothing is missing: where
    /// both meet, what the piece's end begins is whole at the copy's end, and what the copy's begin ends is whole at the piece's begin.
    #[cold]
    pub fn is_doubled(&mut self, bytes: &[u8], start: u64, end: u64) -> bool {
        let (Ok(start), Ok(end)) = (usize::try_from(start), usize::try_from(end)) else { return false };
        if end > bytes.len() || !self.may_search(start as u64) {
            return false;
        }
        let since = usize::try_from(self.since).unwrap_or(usize::MAX);
        let most = COMPARED + 4 * start as u64;
        // The length of the piece is that by which its copy is further.
        DOUBLED_BYTES.skip_while(|len| 2 * len < end - start).any(|len| {
            [end, start + len].into_iter().any(|at| {
                let (Some(before), Some((head, tail))) = (at.checked_sub(len), bytes.split_at_checked(at)) else { return false };
                let (Some(head_before), Some(tail_before)) = (bytes.get(since..before), bytes.get(before..)) else {
                    return false;
                };
                // Most lengths end here.
                if head.last() != head_before.last() && tail.first() != tail_before.first() || self.compared > most {
                    return false;
                }
                let same = |(one, other): &(&u8, &u8)| one == other;
                let after = tail.iter().zip(tail_before).take(2 * len).take_while(same).count();
                let reach = head.iter().rev().zip(head_before.iter().rev()).take(2 * len).take_while(same).count();
                self.compared += (after + reach) as u64;
                // Where the copy may begin, so that all lies within both.
                let first = (at - reach).max(end.saturating_sub(len));
                first <= (at + after).saturating_sub(len).min(start + len)
            })
        })
    }

    /// Whether a packet that begins or ends at `start` is in a copy of bytes shortly before. The bytes of a regular program are not taken for a
    /// copy so soon, and go on after all that are before the packet: within a copy fewer follow.
    #[cold]
    pub fn is_within(&mut self, bytes: &[u8], start: u64) -> bool {
        self.search([bytes, &[]], start).is_some_and(|(copied, distance)| (WITHIN_BYTES..distance).contains(&copied))
    }

    /// Where the copy ends to which a record from `start` to `end` belongs, if it does. Its first record may be made of the pieces of two.
    #[cold]
    pub fn end(&mut self, pieces: Pieces<'_>, start: u64, end: u64) -> Option<u64> {
        let found = [start, end].into_iter().find_map(|place| Some((place, self.search(pieces, place)?)));
        found.map(|(place, (copied, _))| place + copied)
    }

    /// How many bytes from `start` on are a copy of bytes shortly before; 0 if too few are.
    pub fn copied(&mut self, bytes: &[u8], start: u64) -> u64 {
        self.search([bytes, &[]], start).map_or(0, |copy| copy.0)
    }

    /// The same, if the original reaches up to the copy. After a reset a program sends the same names, but other records lie between.
    pub fn doubled(&mut self, bytes: &[u8], start: u64) -> u64 {
        self.search([bytes, &[]], start).filter(|(copied, distance)| copied + SOON >= *distance).map_or(0, |copy| copy.0)
    }

    /// How many bytes from `start` on are there twice, one after the other, and no more often: the bytes of a program that repeats itself
    /// go on after that. 0 if too few are.
    #[cold]
    pub fn twice(&mut self, bytes: &[u8], start: u64) -> u64 {
        let is_twice = |&(copied, distance): &(u64, u64)| copied >= WITHIN_BYTES && copied.abs_diff(distance) <= SOON;
        self.search([bytes, &[]], start).filter(is_twice).map_or(0, |copy| copy.0)
    }

    fn search(&mut self, pieces: Pieces<'_>, start: u64) -> Option<(u64, u64)> {
        if !self.may_search(start) {
            return None;
        }
        copied_bytes(pieces, self.since, start)
    }

    fn may_search(&mut self, start: u64) -> bool {
        let may = self.searches < SEARCHES + start / PIECE;
        self.searches += u64::from(may);
        may
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_is_found_where_it_begins() {
        let mut bytes: Vec<u8> = (0..2000u32).map(|number| (number.wrapping_mul(number) >> 3) as u8).collect();
        let copied_bytes = |bytes: &[u8], since, start| copied_bytes([bytes, &[]], since, start).map_or(0, |copy| copy.0);
        assert_eq!(copied_bytes(&bytes, 0, 900), 0);
        let piece = bytes[500..900].to_vec();
        bytes.splice(900..900, piece);
        assert!((400..404).contains(&copied_bytes(&bytes, 0, 900)));
        // Not of bytes before the session.
        assert!(copied_bytes(&bytes, 500, 900) > 0 && copied_bytes(&bytes, 600, 900) == 0);
        // Not within the last bytes of it.
        assert_eq!(copied_bytes(&bytes, 0, 1299 - LEAST_BYTES as u64 / 2), 0);
        assert_eq!(copied_bytes(&bytes, 0, 1 << 40), 0);
        assert!(Copies::default().begins_at(&bytes, 900) && Copies::default().begins_at(&bytes, 880));
        assert!(!Copies::default().begins_at(&bytes, 700));
        assert!(Copies::default().is_within(&bytes, 1000) && !Copies::default().is_within(&bytes, 1200));
    }

    #[test]
    fn bytes_in_a_short_piece_and_its_copy_are_there() {
        let whole: Vec<u8> = (0..2000u32).map(|number| (number.wrapping_mul(number) >> 3) as u8).collect();
        for len in [16, 20, 47, 100, 400] {
            let mut bytes = whole.clone();
            bytes.splice(900..900, whole[900 - len..900].iter().copied());
            let is_doubled = |start, end| Copies::default().is_doubled(&bytes, start, end);
            let len = len as u64;
            // Where both meet, and what is in the piece and the copy alone.
            for (start, end) in [(900, 900), (890, 910), (901 - len, 899 + len), (890, 890), (905, 912)] {
                assert!(is_doubled(start, end), "{start} to {end} of {len}");
            }
            // A message within which both lie is not there.
            for (start, end) in [(895 - len, 905), (895, 905 + len), (850 - len, 850 - len), (950 + len, 960 + len)] {
                assert!(!is_doubled(start, end), "{start} to {end} of {len}");
            }
        }
        assert!(!Copies::default().is_doubled(&whole, 880, 910) && !Copies::default().is_doubled(&whole, 1990, 3000));
    }

    #[test]
    fn a_copy_is_found_wherever_pieces_meet() {
        let mut bytes: Vec<u8> = (0..2000u32).map(|number| (number.wrapping_mul(number) >> 3) as u8).collect();
        let piece = bytes[500..900].to_vec();
        bytes.splice(900..900, piece);
        let whole = copied_bytes([&bytes, &[]], 0, 900);
        assert!(whole.is_some_and(|(copied, distance)| copied >= 400 && distance == 400));
        for at in [0, 499, 500, 700, 899, 900, 901, 940, 1100, 1300, bytes.len()] {
            assert_eq!(copied_bytes(bytes.split_at(at).into(), 0, 900), whole, "pieces that meet at {at}");
        }
    }

    #[test]
    fn a_copy_right_after_its_original_differs_from_one_after_other_bytes() {
        let mut bytes: Vec<u8> = (0..2000u32).map(|number| (number.wrapping_mul(number) >> 3) as u8).collect();
        let piece = bytes[500..900].to_vec();
        bytes.splice(900..900, piece.iter().copied());
        bytes.splice(1600..1600, piece.iter().copied());
        let mut copies = Copies::default();
        assert!(copies.doubled(&bytes, 900) >= 400 && copies.doubled(&bytes, 930) > 300);
        assert!(copies.copied(&bytes, 1600) >= 400 && copies.doubled(&bytes, 1600) == 0);
    }

    #[test]
    fn searches_are_limited_by_the_size_of_what_is_searched() {
        let piece: Vec<u8> = (0..2000u32).map(|number| (number.wrapping_mul(number) >> 3) as u8).collect();
        let mut bytes = vec![0; 1 << 20];
        bytes.extend([&piece[..], &piece[..]].concat());
        let mut copies = Copies::default();
        let start = bytes.len() - 1000;
        let found = (0..5000).filter(|_| copies.copied(&bytes, start as u64) > 0).count();
        assert_eq!(found, (1 << 11) + (start >> 12));
    }
}
