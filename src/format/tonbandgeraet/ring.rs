//! The post-mortem ring of the tracer library, in an image of the target's memory. `target/FORMAT.md` describes it.
//!
//! The image may be of a target that was running, was reset in between, or overwrote a part of it, so the header is checked: sizes are
//! limited to the image, a segment with an invalid count is skipped, and a frame that is torn at the end of a segment does not affect the
//! first frame of the next one.

use std::ops::Range;

use crate::format::{MemoryDamage, MemoryMark, MemoryRecording};
use crate::model::counted;

use super::decode::DELIMITER;

/// The four words of the magic, in the target's byte order.
const LITTLE: &[u8] = b"TABNRING\xa5\xc3\x63\x74\x01\x00\x00\x00";
const BIG: &[u8] = b"NBATGNIR\x74\x63\xc3\xa5\x00\x00\x00\x01";

const DESCRIPTION: &str = "a post-mortem ring of the Tonbandgerät tracer library";

/// The marks of a ring.
pub(super) const MARKS: &[MemoryMark] =
    &[MemoryMark { bytes: LITTLE, what: DESCRIPTION }, MemoryMark { bytes: BIG, what: DESCRIPTION }];

/// More cores than any target has.
const CORES_LIMIT: usize = 1 << 10;

/// More segments than any ring has.
const SEGMENTS_LIMIT: usize = 1 << 16;

/// The words before the arrays.
const FIXED_BYTES: usize = 36;

/// The words of a header.
struct Words<'a> {
    bytes: &'a [u8],
    is_big: bool,
}

impl Words<'_> {
    /// The word at an offset in the ring.
    fn at(&self, offset: usize) -> Option<usize> {
        let bytes = self.bytes.get(offset..)?.first_chunk()?;
        let word = if self.is_big { u32::from_be_bytes(*bytes) } else { u32::from_le_bytes(*bytes) };
        usize::try_from(word).ok()
    }

    /// Word number `index` of an array, which was checked to be within the image.
    fn nth(&self, array: usize, index: usize) -> usize {
        self.at(array.saturating_add(index.saturating_mul(4))).unwrap_or(0)
    }
}

/// Collects the pieces of a recording.
struct Pieces<'a> {
    image: &'a [u8],
    kept: MemoryRecording,
}

impl Pieces<'_> {
    /// Adds the whole frames in the `used` bytes from `start` on, as far as they are within the image.
    fn add(&mut self, start: usize, used: usize, name: &str) {
        let there = used.min(self.image.len().saturating_sub(start));
        let Some(bytes) = self.image.get(start..start.saturating_add(there)) else { return };
        let whole = memchr::memrchr(DELIMITER, bytes).map_or(0, |last| last + 1);
        if whole > 0 {
            self.kept.pieces.push(start..start + whole);
        }
        if whole < there {
            let torn = there - whole;
            self.damage(start + whole, format!("{name} ends within a frame, after {torn} of its bytes"));
        }
    }

    fn damage(&mut self, image_offset: usize, what: String) {
        let offset = self.kept.pieces.iter().map(Range::len).sum();
        self.kept.damages.push(MemoryDamage { image_offset, offset, what });
    }
}

/// The ring whose magic is at `at`.
///
/// # Errors
/// Why there is no ring, as the end of a sentence.
pub(super) fn read(image: &[u8], at: usize) -> Result<MemoryRecording, String> {
    let bytes = image.get(at..).unwrap_or(&[]);
    let words = Words { bytes, is_big: bytes.starts_with(BIG) };
    let word = |offset| words.at(offset).ok_or_else(|| "the image ends within its header".to_owned());
    let (cores, metadata_bytes, segments, segment_bytes, begun) = (word(16)?, word(20)?, word(24)?, word(28)?, word(32)?);
    if cores == 0 || cores > CORES_LIMIT {
        return Err(format!("its header has {cores} cores"));
    }
    if segments == 0 || segments > SEGMENTS_LIMIT || segment_bytes == 0 {
        return Err(format!("its header has {segments} segments of {segment_bytes} bytes"));
    }
    if begun == 0 {
        return Err("nothing was recorded into it".into());
    }
    // The counts limit the number of segments to the size of the image; 64 bits are enough for all products of the header's words.
    let header_bytes = FIXED_BYTES as u64 + 4 * (cores as u64 + segments as u64);
    if header_bytes > bytes.len() as u64 {
        return Err(format!("the image ends within its header, which has {segments} segments"));
    }
    let metadata_room = cores as u64 * (metadata_bytes.max(1)) as u64;
    let ring_bytes = header_bytes.saturating_add(metadata_room).saturating_add(segments as u64 * segment_bytes as u64);
    let there = usize::try_from(ring_bytes).unwrap_or(usize::MAX).min(bytes.len());
    let order = if words.is_big { "big" } else { "little" };
    let in_use = begun.min(segments);
    let mut pieces = Pieces {
        image,
        kept: MemoryRecording {
            range: at..at + there,
            header_bytes: usize::try_from(header_bytes).unwrap_or(usize::MAX).min(there),
            pieces: Vec::new(),
            cores: u32::try_from(cores).unwrap_or(u32::MAX),
            what: format!(
                "{DESCRIPTION} ({}{} of {}, {in_use} in use, {order}-endian)",
                if cores > 1 { format!("{cores} cores, ") } else { String::new() },
                counted(segments, "segment"),
                counted(segment_bytes, "byte"),
            ),
            damages: Vec::new(),
        },
    };
    if (there as u64) < ring_bytes {
        pieces.damage(image.len(), format!("the image has only {there} of the {ring_bytes} bytes of the ring"));
    }
    // An offset in the image; the end of the image for offsets beyond it.
    let place = |offset: u64| usize::try_from(offset).ok().and_then(|offset| at.checked_add(offset)).unwrap_or(image.len());

    for core in 0..cores {
        let used = words.nth(FIXED_BYTES, core);
        let start = place(header_bytes + core as u64 * metadata_bytes.max(1) as u64);
        if used > metadata_bytes {
            pieces.damage(start, format!("the names of core {core} have a count of {used} bytes in room for {metadata_bytes}"));
        } else if used > 0 {
            pieces.add(start, used, &format!("the names of core {core}"));
        }
    }
    let names = pieces.kept.pieces.len();
    let used_of = FIXED_BYTES + 4 * cores;
    for slot in oldest_first(begun, segments) {
        let used = words.nth(used_of, slot);
        let start = place(header_bytes + metadata_room + slot as u64 * segment_bytes as u64);
        if used > segment_bytes {
            pieces.damage(start, format!("segment {slot} has a count of {used} bytes in room for {segment_bytes}"));
        } else if used > 0 {
            pieces.add(start, used, &format!("segment {slot}"));
        }
    }
    if pieces.kept.pieces.len() == names {
        return Err("it has no whole frame".into());
    }
    Ok(pieces.kept)
}

/// The slots that were begun, from the oldest to the newest.
fn oldest_first(begun: usize, segments: usize) -> impl Iterator<Item = usize> {
    let oldest = if begun > segments { begun % segments } else { 0 };
    let older: Range<usize> = oldest..begun.min(segments);
    let newer: Range<usize> = 0..oldest;
    older.chain(newer)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A ring of two cores and four segments of 8 bytes, with room for 4 bytes of names of each core.
    fn ring(begun: u32, metadata_used: [u32; 2], used: [u32; 4], is_big: bool) -> Vec<u8> {
        let word = |word: u32| if is_big { word.to_be_bytes() } else { word.to_le_bytes() };
        let magic = [0x4E42_4154, 0x474E_4952, 0x7463_C3A5, 1];
        let words = [&magic[..], &[2, 4, 4, 8, begun], &metadata_used, &used].concat();
        let mut ring: Vec<u8> = words.into_iter().flat_map(word).collect();
        ring.extend(b"aa\0ABB\0b");
        ring.extend((0..4u8).flat_map(|segment| [b'0' + segment, b'x', 0, b'0' + segment, b'y', 0, 9, 9]));
        ring
    }

    fn recording(image: &[u8], at: usize) -> String {
        let kept = read(image, at).unwrap();
        assert!(kept.pieces.iter().all(|piece| kept.range.start <= piece.start && piece.end <= kept.range.end));
        let bytes: Vec<u8> = kept.pieces.iter().flat_map(|piece| image[piece.clone()].to_vec()).collect();
        String::from_utf8(bytes).unwrap().replace('\0', ".")
    }

    #[test]
    fn the_oldest_segment_comes_first() {
        let in_order = |begun| recording(&ring(begun, [3, 3], [6; 4], false), 0);
        assert_eq!(in_order(1), "aa.BB.0x.0y.");
        assert_eq!(in_order(4), "aa.BB.0x.0y.1x.1y.2x.2y.3x.3y.");
        assert_eq!(in_order(5), "aa.BB.1x.1y.2x.2y.3x.3y.0x.0y.");
        assert_eq!(in_order(8), "aa.BB.0x.0y.1x.1y.2x.2y.3x.3y.");
        assert_eq!(in_order(u32::MAX), "aa.BB.3x.3y.0x.0y.1x.1y.2x.2y.");
        assert_eq!(recording(&ring(6, [3, 0], [6; 4], true), 0), "aa.2x.2y.3x.3y.0x.0y.1x.1y.");
    }

    #[test]
    fn a_ring_anywhere_in_an_image_is_found_with_its_parts() {
        let image = [&b"?????"[..], &ring(2, [0, 0], [6, 3, 0, 0], false), b"!!"].concat();
        let kept = read(&image, 5).unwrap();
        assert_eq!((kept.range, kept.header_bytes, kept.cores), (5..5 + 60 + 8 + 32, 60, 2));
        assert_eq!(kept.pieces, [73..79, 81..84]);
        assert_eq!(kept.what, format!("{DESCRIPTION} (2 cores, 4 segments of 8 bytes, 2 in use, little-endian)"));
        assert_eq!(kept.damages, []);
    }

    #[test]
    fn damage_affects_nothing_else() {
        // A torn frame at the end of a segment, a count above its room, and the same of names.
        let image = ring(5, [3, 5], [6, 7, 9, 6], false);
        assert_eq!(recording(&image, 0), "aa.1x.1y.3x.3y.0x.0y.");
        let damages = |image: &[u8]| -> Vec<String> {
            let damages = read(image, 0).unwrap().damages.into_iter();
            damages.map(|damage| format!("{} ({}): {}", damage.image_offset, damage.offset, damage.what)).collect()
        };
        assert_eq!(
            damages(&image),
            [
                "64 (3): the names of core 1 have a count of 5 bytes in room for 4",
                "82 (9): segment 1 ends within a frame, after 1 of its bytes",
                "84 (9): segment 2 has a count of 9 bytes in room for 8",
            ]
        );
        // An image that ends early.
        let image = ring(5, [3, 3], [6; 4], false);
        assert_eq!(recording(&image[..80], 0), "aa.BB.1x.0x.0y.");
        assert_eq!(
            damages(&image[..80]),
            [
                "80 (0): the image has only 80 of the 100 bytes of the ring",
                "79 (9): segment 1 ends within a frame, after 1 of its bytes",
            ]
        );
    }

    #[test]
    fn an_invalid_ring_is_refused_with_a_reason() {
        let with = |word: usize, value: u32| {
            let mut image = ring(5, [3, 3], [6; 4], false);
            image[4 * word..4 * word + 4].copy_from_slice(&value.to_le_bytes());
            read(&image, 0).unwrap_err()
        };
        assert_eq!(with(4, 0), "its header has 0 cores");
        assert_eq!(with(4, 5000), "its header has 5000 cores");
        assert_eq!(with(6, 0), "its header has 0 segments of 8 bytes");
        assert_eq!(with(6, u32::MAX), "its header has 4294967295 segments of 8 bytes");
        assert_eq!(with(6, 60_000), "the image ends within its header, which has 60000 segments");
        assert_eq!(with(7, 0), "its header has 4 segments of 0 bytes");
        assert_eq!(with(8, 0), "nothing was recorded into it");
        assert_eq!(with(5, u32::MAX), "it has no whole frame");
        let image = ring(5, [3, 3], [6; 4], false);
        assert_eq!(read(&image[..30], 0).unwrap_err(), "the image ends within its header");
        assert_eq!(read(&image[..50], 0).unwrap_err(), "the image ends within its header, which has 4 segments");
        assert_eq!(read(&image, 5000).unwrap_err(), "the image ends within its header");
    }

    proptest! {
        #[test]
        fn any_header_gives_pieces_within_the_image(
            words in prop::collection::vec(prop_oneof![0u32..40, Just(u32::MAX), any::<u32>()], 0..30),
            fill in prop::collection::vec(0u8..3, 0..200),
            at in 0usize..20,
        ) {
            let mut image = vec![7; at];
            image.extend(LITTLE);
            image.extend(words.into_iter().flat_map(u32::to_le_bytes));
            image.extend(fill);
            if let Ok(kept) = read(&image, at) {
                prop_assert!(kept.range.start == at && kept.range.end <= image.len());
                let data_at = at + kept.header_bytes;
                prop_assert!(data_at <= kept.range.end);
                prop_assert!(kept.pieces.iter().all(|piece| piece.start >= data_at && piece.end <= kept.range.end && !piece.is_empty()));
                prop_assert!(kept.pieces.iter().all(|piece| image[piece.end - 1] == 0));
                let mut sorted = kept.pieces.clone();
                sorted.sort_by_key(|piece| piece.start);
                prop_assert!(sorted.windows(2).all(|pair| pair[0].end <= pair[1].start), "pieces overlap");
            }
        }
    }
}
