//! Which bytes from 0x80 on are characters: those of whole UTF-8 sequences, which writes and parts of an input may divide.

use std::str::from_utf8;

/// A sequence has a leading byte and at most this number of others.
const REST_MAX: usize = 3;

/// A byte, and whether it is of a write of more than one.
type Written = (u8, bool);

/// The bytes of a port in a part, or in the input so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sequences {
    /// The bytes before all others that may end a sequence of the part before, and how many there are.
    first: ([Written; REST_MAX], u8),
    /// Other bytes have come.
    has_begun: bool,
    /// The bytes of a sequence that is not complete, and how many there are.
    open: ([Written; REST_MAX], u8),
    /// The other bytes from 0x80 on: of writes of one byte, and of more.
    strays: [u64; 2],
}

impl Sequences {
    /// Takes the next bytes of the port, all of one write.
    #[inline]
    pub fn add(&mut self, bytes: &[u8], is_wide: bool) {
        if self.has_begun && self.open.1 == 0 && bytes.is_ascii() {
            return;
        }
        bytes.iter().for_each(|&byte| self.take((byte, is_wide)));
    }

    fn take(&mut self, written @ (byte, is_wide): Written) {
        let is_rest = matches!(byte, 0x80..=0xBF);
        if is_rest && !self.has_begun && push(&mut self.first, written) {
            return;
        }
        self.has_begun = true;
        if !is_rest {
            self.break_off();
        }
        let open = usize::from(self.open.1);
        let mut bytes = [0; REST_MAX + 1];
        bytes.iter_mut().zip(&self.open.0[..open.min(REST_MAX)]).for_each(|(place, one)| *place = one.0);
        if let Some(place) = bytes.get_mut(open) {
            *place = byte;
        }
        match from_utf8(bytes.get(..=open).unwrap_or(&[])) {
            Ok(_) => self.open.1 = 0,
            Err(error) if error.error_len().is_none() && push(&mut self.open, written) => {}
            Err(_) => {
                self.break_off();
                self.strays[usize::from(is_wide)] += 1;
            }
        }
    }

    /// The sequence does not become complete.
    fn break_off(&mut self) {
        let open = self.open.0.iter().take(usize::from(self.open.1));
        open.for_each(|(_, is_wide)| self.strays[usize::from(*is_wide)] += 1);
        self.open.1 = 0;
    }

    /// Takes those of the part after this one.
    pub fn merge(&mut self, next: &Sequences) {
        next.first.0.iter().take(usize::from(next.first.1)).for_each(|&written| self.take(written));
        if next.has_begun {
            self.break_off();
            (self.has_begun, self.open) = (true, next.open);
        }
        (0..2).for_each(|wide| self.strays[wide] += next.strays[wide]);
    }

    /// The number of bytes from 0x80 on that are no characters: of writes of one byte, and of more.
    pub fn strays(mut self) -> [u64; 2] {
        self.break_off();
        self.open = self.first;
        self.break_off();
        self.strays
    }
}

/// Appends a byte, if there is a place for it.
fn push((bytes, len): &mut ([Written; REST_MAX], u8), written: Written) -> bool {
    let place = bytes.get_mut(usize::from(*len));
    *len += u8::from(place.is_some());
    place.map(|place| *place = written).is_some()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn of(bytes: &[u8]) -> Sequences {
        let mut sequences = Sequences::default();
        bytes.iter().for_each(|&byte| sequences.add(&[byte], false));
        sequences
    }

    #[test]
    fn bytes_of_no_whole_sequence_are_strays() {
        let cases: [(&[u8], u64); 10] = [
            ("p\u{e4}, \u{20ac}, \u{1f600}!".as_bytes(), 0),
            (b"\xB6\xB6\xB7\xB6", 4),
            (b"\xFF\xFE\xFD", 3),
            (b"gr\xFC\xDFe", 2),
            (b"\xE2\x82", 2),
            (b"\xC3\xA4\xA4", 1),
            (b"\xC0\x80", 2),
            (b"\xED\xA0\x80", 3),
            (b"\xC3\xC3\xA4", 1),
            (b"\xF0\x9F\x98\x80\x80", 1),
        ];
        for (bytes, expected) in cases {
            assert_eq!(of(bytes).strays(), [expected, 0], "{bytes:x?}");
        }
        let mut both = Sequences::default();
        both.add(b"12\xE2\x82", true);
        both.add(b"\xAC", false);
        both.add(b"\xFF\xFF\xFF\xC3", true);
        assert_eq!(both.strays(), [0, 4]);
    }

    proptest! {
        #[test]
        fn parts_are_counted_as_the_whole(
            bytes in prop::collection::vec(
                prop::sample::select(vec![b'a', 0x80, 0x82, 0xA4, 0xC3, 0xE2, 0xF0, 0x9F, 0xFF]), 0..40),
            cuts in prop::collection::vec(0usize..40, 0..8),
        ) {
            let mut cuts: Vec<usize> = cuts.iter().map(|&cut| cut.min(bytes.len())).chain([0, bytes.len()]).collect();
            cuts.sort_unstable();
            let mut joined = Sequences::default();
            cuts.windows(2).for_each(|pair| joined.merge(&of(&bytes[pair[0]..pair[1]])));
            prop_assert_eq!(joined.strays(), of(&bytes).strays());
        }
    }
}
