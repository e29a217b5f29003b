//! CoreSight frames: 16 bytes in which the streams of several trace sources are interleaved (Arm DDI 0314, "formatter").
//!
//! An even byte with bit 0 set names the source of the next bytes; else it is data, and its bit 0 is in the last byte of the frame. An
//! odd byte is always data. A full sync word may occur between frames, a half sync word at any even position. No source has id 0x7F, so
//! both are recognised wherever they are: after bytes were lost, the next full sync gives the begin of a frame. After eight frames without
//! a change the target names the source again (8.12.1 there), so a misread name is wrong for no longer.

/// The length of a frame.
pub const FRAME_BYTES: usize = 16;

/// A full sync word.
pub const FULL_SYNC: [u8; 4] = [0xFF, 0xFF, 0xFF, SYNC_END];

/// The bytes of ones in a full sync word, which ends with [`SYNC_END`]. A half sync word has one.
const SYNC_ONES: usize = 3;
/// The last byte of all sync words.
pub const SYNC_END: u8 = 0x7F;

/// Sources from here on are reserved or triggers.
pub const SOURCES: usize = 0x70;

/// Whether no target sends bytes of this source: it is reserved, and neither a trigger (0x7D) nor the answer to a flush (0x7B).
#[must_use]
pub fn is_reserved(source: u8) -> bool {
    usize::from(source) >= SOURCES && !matches!(source, 0x7B | 0x7D)
}

/// The source of the bytes before the first one that is named: no source has this number.
pub const UNKNOWN: u8 = 0x7F;

/// A source in frames that may begin before the input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Framed {
    /// The source.
    pub source: u8,
    /// The place in a frame of the input's first byte.
    pub place: usize,
}

/// Unpacks frames.
#[derive(Clone, Debug)]
pub struct Deframer {
    /// The source of the next bytes; 0: none.
    source: u8,
    frame: [u8; FRAME_BYTES],
    have: usize,
    /// The bytes of ones before the next byte, at most [`SYNC_ONES`].
    ones: usize,
    /// The bytes of frames that a sync word cut off.
    broken_bytes: u64,
    /// The number of such sync words.
    breaks: u64,
}

impl Default for Deframer {
    fn default() -> Deframer {
        Deframer { source: UNKNOWN, frame: [0; FRAME_BYTES], have: 0, ones: 0, broken_bytes: 0, breaks: 0 }
    }
}

impl Deframer {
    /// Begins with a frame.
    #[must_use]
    pub fn new() -> Deframer {
        Deframer::default()
    }

    /// Begins at this place in a frame, from 0 on. The source of its first bytes is not known.
    #[must_use]
    pub fn within_frame(place: usize) -> Deframer {
        Deframer { have: place % FRAME_BYTES, ..Deframer::default() }
    }

    /// The same among bytes of this source.
    #[must_use]
    pub fn within_source(source: u8, place: usize) -> Deframer {
        Deframer { source, ..Deframer::within_frame(place) }
    }

    /// The next bytes are of this source, if theirs is not known.
    pub fn presume_source(&mut self, source: u8) {
        if self.source == UNKNOWN {
            self.source = source;
        }
    }

    /// Whether the source of the next bytes is not known.
    #[must_use]
    pub fn is_source_unknown(&self) -> bool {
        self.source == UNKNOWN
    }

    /// How many full sync words were within a frame: bytes were lost before each.
    #[must_use]
    pub fn breaks(&self) -> u64 {
        self.breaks
    }

    /// The place in a frame of the next byte.
    #[must_use]
    pub fn place(&self) -> usize {
        self.have
    }

    /// The next byte is at this place in a frame: bytes were lost before it, at least one, and which source it is of is not known.
    pub fn move_to(&mut self, place: usize) {
        let broken_bytes = self.broken_bytes + self.have.max(1) as u64;
        *self = Deframer { broken_bytes, ..Deframer::within_frame(place) };
    }

    /// The number of bytes so far that belong to no whole frame. At the end of the input: `is_last`.
    #[must_use]
    pub fn broken_bytes(&self, is_last: bool) -> u64 {
        self.broken_bytes + if is_last { self.have as u64 } else { 0 }
    }

    /// Reads the next bytes of the file, at `offset`, and appends those of a source, each with the offset of its frame in the file. After a
    /// full sync word within a frame the source is not known: bytes were lost, and those before the word may have named any.
    pub fn push(&mut self, wanted: u8, bytes: &[u8], offset: u64, out: &mut Vec<u8>, origins: &mut Vec<u64>) {
        self.each_of_known(bytes, |source, byte, index| {
            if source == wanted {
                out.push(byte);
                origins.push((offset + index as u64).saturating_sub(FRAME_BYTES as u64 - 1));
            }
        });
    }

    /// As [`Deframer::each`], but after a full sync word within a frame the source is not known.
    fn each_of_known(&mut self, bytes: &[u8], mut each: impl FnMut(u8, u8, usize)) {
        let mut start = 0;
        for end in memchr::memchr_iter(SYNC_END, bytes).map(|at| at + 1).chain([bytes.len()]) {
            let (piece, breaks) = (bytes.get(start..end).unwrap_or(&[]), self.breaks);
            self.each(piece, |source, byte, index, _| each(source, byte, start + index));
            if self.breaks > breaks {
                self.source = UNKNOWN;
            }
            start = end;
        }
    }

    /// Passes each byte with its source: the source, the byte, the index of the last byte of its frame, and its place in the frame.
    pub fn each(&mut self, bytes: &[u8], mut each: impl FnMut(u8, u8, usize, usize)) {
        let mut index = 0;
        while let Some(&byte) = bytes.get(index) {
            // A frame without sync words.
            if self.have == 0
                && let Some(frame) = bytes.get(index..).and_then(<[u8]>::first_chunk)
                && !frame.contains(&SYNC_END)
            {
                self.frame = *frame;
                self.ones = frame.iter().rev().take_while(|&&byte| byte == 0xFF).count().min(SYNC_ONES);
                index += FRAME_BYTES;
                self.unpack(index - 1, &mut each);
                continue;
            }
            let ones = self.ones;
            self.ones = if byte == 0xFF { (ones + 1).min(SYNC_ONES) } else { 0 };
            index += 1;
            if byte == SYNC_END && ones == SYNC_ONES {
                self.broken_bytes += self.have.saturating_sub(SYNC_ONES) as u64;
                self.breaks += u64::from(self.have != SYNC_ONES);
                self.have = 0;
                continue;
            }
            if byte == SYNC_END && self.have % 2 == 1 && self.frame[self.have - 1] == 0xFF {
                self.have -= 1;
                continue;
            }
            self.frame[self.have] = byte;
            self.have += 1;
            if self.have == FRAME_BYTES {
                self.have = 0;
                self.unpack(index - 1, &mut each);
            }
        }
    }

    fn unpack(&mut self, index: usize, each: &mut impl FnMut(u8, u8, usize, usize)) {
        let frame = self.frame;
        let bits = frame[15];
        let mut delayed = None;
        for (at, &byte) in frame[..15].iter().enumerate() {
            let bit = bits >> (at / 2) & 1;
            if at % 2 == 1 {
                each(self.source, byte, index, at);
                self.source = delayed.take().unwrap_or(self.source);
            } else if byte & 1 == 1 {
                // With its bit set, the next byte is still of the source before.
                if bit == 1 && at < 14 { delayed = Some(byte >> 1) } else { self.source = byte >> 1 }
            } else {
                each(self.source, byte | bit, index, at);
            }
        }
    }
}

/// The bytes of each source in a sample of frames, except source 0 (no source), in the order of their first bytes. The sample begins at
/// this place in a frame.
#[must_use]
pub fn sources(sample: &[u8], place: usize) -> Vec<(u8, Vec<u8>)> {
    let mut bytes_of: [Vec<u8>; SOURCES] = [const { Vec::new() }; SOURCES];
    let mut order = Vec::new();
    Deframer::within_frame(place).each_of_known(sample, |source, byte, _| {
        if source == 0 {
            return;
        }
        if let Some(bytes) = bytes_of.get_mut(usize::from(source)) {
            if bytes.is_empty() {
                order.push(source);
            }
            bytes.push(byte);
        }
    });
    order.into_iter().map(|source| (source, std::mem::take(&mut bytes_of[usize::from(source)]))).collect()
}

/// Appends frames that hold `bytes` of one source: for tests and generated captures.
pub fn wrap(bytes: &[u8], source: u8, out: &mut Vec<u8>) {
    // The first frame names the source, the others begin with data.
    let mut rest = bytes;
    let mut is_first = true;
    while is_first || !rest.is_empty() {
        let mut frame = [0; FRAME_BYTES];
        let mut bits = 0u8;
        let mut has_ended = false;
        for (at, place) in frame.iter_mut().enumerate().take(15) {
            *place = match (rest, at % 2) {
                _ if at == 0 && is_first => source << 1 | 1,
                // The rest belongs to no source; before an odd byte, from the byte after that on.
                ([] | [_], 0) if !has_ended && (at != 14 || rest.is_empty()) => {
                    has_ended = true;
                    bits |= u8::from(!rest.is_empty()) << (at / 2);
                    1
                }
                ([], _) => 0,
                ([byte, more @ ..], even) => {
                    rest = more;
                    if even == 0 {
                        bits |= (byte & 1) << (at / 2);
                        byte & 0xFE
                    } else {
                        *byte
                    }
                }
            };
        }
        is_first = false;
        frame[15] = bits;
        out.extend(frame);
        if rest.is_empty() && !has_ended {
            let mut end = [0; FRAME_BYTES];
            end[0] = 1;
            out.extend(end);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_frame_of_two_sources() {
        // Source 1 from byte 1 on; source 2 is named at byte 4 but begins after byte 5.
        let frame = [0x03, 0xAA, 0xBA, 0xCC, 0x05, 0xDD, 0xE0, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88, 0b0000_0110];
        let all = sources(&frame, 0);
        assert_eq!(all[0], (1, vec![0xAA, 0xBB, 0xCC, 0xDD]));
        assert_eq!(all[1].0, 2);
        assert_eq!(all[1].1, [0xE0, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88]);
    }

    #[test]
    fn sync_words_are_skipped_and_give_the_begin_of_a_frame() {
        let data: Vec<u8> = (0..60).collect();
        let mut frames = Vec::new();
        wrap(&data, 3, &mut frames);
        let (first, rest) = frames.split_at(FRAME_BYTES);
        let full = [0xFF, 0xFF, 0xFF, 0x7F];
        let unpacked = |file: &[u8]| {
            let (mut out, mut deframer) = (Vec::new(), Deframer::new());
            deframer.push(3, file, 0, &mut out, &mut Vec::new());
            (out, deframer.broken_bytes(true))
        };
        let whole = unpacked(&frames);
        assert_eq!(whole.1, 0);
        assert_eq!(unpacked(&[&full, first, &full, &full, rest].concat()), whole);
        // A half sync within a frame.
        assert_eq!(unpacked(&[&first[..6], &[0xFF, 0x7F], &first[6..], rest].concat()), whole);
        // Five bytes of a frame are missing: it is lost, and no other.
        let (rest_bytes, broken) = unpacked(&[&full, &first[5..], &full, first, rest].concat());
        assert_eq!((rest_bytes, broken), (whole.0, 11));
    }

    proptest! {
        #[test]
        fn wrapped_bytes_are_unpacked(bytes in prop::collection::vec(any::<u8>(), 1..200), cut in 0usize..200) {
            let mut frames = Vec::new();
            wrap(&bytes, 0x10, &mut frames);
            prop_assert_eq!(frames.len() % FRAME_BYTES, 0);
            let (mut out, mut origins) = (Vec::new(), Vec::new());
            let mut deframer = Deframer::new();
            let cut = cut.min(frames.len());
            deframer.push(0x10, &frames[..cut], 0, &mut out, &mut origins);
            deframer.push(0x10, &frames[cut..], cut as u64, &mut out, &mut origins);
            prop_assert_eq!(out.get(..bytes.len()), Some(&bytes[..]));
            prop_assert!(out[bytes.len()..].iter().all(|&byte| byte == 0));
            prop_assert_eq!(origins.len(), out.len());
            prop_assert!(origins.iter().all(|&at| at % 16 == 0 && at < frames.len() as u64));
        }
    }
}
