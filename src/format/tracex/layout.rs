//! The header of a trace buffer, and the registry of the kernel's objects after it.

use std::ops::Range;

use crate::format::{MemoryDamage, MemoryMark, MemoryRecording};

/// The length of the header, of an object in the registry without its name, and of an entry of the ring, in words.
pub const HEADER_WORDS: usize = 12;
pub const OBJECT_WORDS: usize = 4;
pub const ENTRY_WORDS: usize = 8;

/// The length of an entry with words of 32 bits, which nearly all ports have.
pub const ENTRY_BYTES: usize = 4 * ENTRY_WORDS;

/// The number that a header begins with: `TXTB`.
pub const MAGIC: u32 = 0x5458_5442;

/// The last words of a header, the same in both byte orders.
pub const TAIL: [u32; 3] = [0xAAAA_AAAA, 0xBBBB_BBBB, 0xCCCC_CCCC];

/// The magic has four bytes, and is also a constant in the kernel's code: the end of the header is the better mark.
pub(super) const MARKS: &[MemoryMark] = &[
    MemoryMark { bytes: b"\xAA\xAA\xAA\xAA\xBB\xBB\xBB\xBB\xCC\xCC\xCC\xCC", what: "a trace buffer of ThreadX" },
    MemoryMark { bytes: b"\xAA\xAA\xAA\xAA\0\0\0\0\xBB\xBB\xBB\xBB\0\0\0\0\xCC\xCC\xCC\xCC", what: "a trace buffer of ThreadX" },
];

/// Longer names than any kernel is built with.
const NAME_LIMIT: usize = 1 << 12;

/// The places of the parts of a trace buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// The byte order of the target.
    pub is_big: bool,
    /// The length of a word, 4 or 8: that of the port's `ULONG`.
    pub word_bytes: usize,
    /// The bits of a time stamp that its clock has.
    pub time_mask: u64,
    /// The room for a name in the registry.
    pub name_bytes: usize,
    /// Where the ring starts, in bytes.
    pub ring: usize,
    /// The number of its entries.
    pub entries: usize,
    /// The oldest of them, which is the next one to be overwritten.
    pub oldest: usize,
}

impl Layout {
    /// The layout that the header at the start of `bytes` states.
    ///
    /// # Errors
    /// Why it is not a header, as the end of a sentence.
    pub fn read(bytes: &[u8]) -> Result<Layout, String> {
        // With words of 64 bits the place of the time stamp's bits is the upper half of the first word, which is 0.
        let narrow = Layout::of_words(bytes, 4);
        if matches!(narrow, Ok(layout) if layout.time_mask != 0) { narrow } else { Layout::of_words(bytes, 8).or(narrow) }
    }

    /// The layout, if words have this length.
    fn of_words(bytes: &[u8], word_bytes: usize) -> Result<Layout, String> {
        let Some(header) = bytes.get(..HEADER_WORDS * word_bytes) else { return Err("its header is cut off".into()) };
        let mut layout = Layout { is_big: false, word_bytes, time_mask: 0, name_bytes: 0, ring: 0, entries: 0, oldest: 0 };
        layout.is_big = match [false, true].map(|is_big| Layout { is_big, ..layout }.number(header, 0) == u64::from(MAGIC)) {
            [true, _] => false,
            [_, true] => true,
            _ => return Err("it does not begin with TXTB".into()),
        };
        let [time_mask, base, registry, registry_end, ring, ring_end, current] =
            [1, 2, 3, 5, 6, 7, 8].map(|place| layout.number(header, place * word_bytes));
        // The length of names is the second half of four bytes, so its place does not depend on the byte order.
        let halves = half(header, 4 * word_bytes, layout.is_big);
        layout.name_bytes = (if layout.is_big { halves & 0xFFFF } else { halves >> 16 }) as usize;
        let offset = |address: u64| address.checked_sub(base).and_then(|offset| usize::try_from(offset).ok());
        let unfit = || "the addresses in its header do not fit each other".to_owned();
        let (Some(objects), Some(objects_end), Some(start), Some(end)) =
            (offset(registry), offset(registry_end), offset(ring), offset(ring_end))
        else {
            return Err(unfit());
        };
        let ring_bytes = end.saturating_sub(start);
        let is_ordered = objects == header.len() && objects_end >= objects && start >= objects_end;
        if !is_ordered || ring_bytes < layout.entry_bytes() || layout.name_bytes > NAME_LIMIT {
            return Err(unfit());
        }
        (layout.time_mask, layout.ring, layout.entries) = (time_mask, start, ring_bytes / layout.entry_bytes());
        let oldest = offset(current).and_then(|current| current.checked_sub(start)).map(|offset| offset / layout.entry_bytes());
        layout.oldest = oldest.filter(|&oldest| oldest < layout.entries).unwrap_or(0);
        Ok(layout)
    }

    /// For people, without a final stop.
    pub fn describe(&self) -> String {
        let order = if self.is_big { "big" } else { "little" };
        let words = if self.is_wide() { ", words of 64 bits" } else { "" };
        format!("a trace buffer of ThreadX ({} entries, {order}-endian{words})", self.entries)
    }

    /// Whether words have 64 bits.
    #[inline]
    #[must_use]
    pub fn is_wide(&self) -> bool {
        self.word_bytes == 8
    }

    /// The length of an entry of the ring, in bytes.
    #[inline]
    #[must_use]
    pub fn entry_bytes(&self) -> usize {
        ENTRY_WORDS * self.word_bytes
    }

    /// The length of all of it, in bytes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.ring.saturating_add(self.entries * self.entry_bytes())
    }

    /// The ring's entries that are whole in an input of this length: their bytes.
    #[must_use]
    pub fn ring_in(&self, input_bytes: usize) -> Range<usize> {
        let start = self.ring.min(input_bytes);
        let entries = ((input_bytes - start) / self.entry_bytes()).min(self.entries);
        start..start + entries * self.entry_bytes()
    }

    /// These bytes in the order of recording: those from the oldest entry to the end of the ring, and those after them.
    #[must_use]
    pub fn pieces_in(&self, input_bytes: usize) -> [Range<usize>; 2] {
        let ring = self.ring_in(input_bytes);
        let oldest = ring.start.saturating_add(self.oldest * self.entry_bytes());
        let oldest = if oldest < ring.end { oldest } else { ring.start };
        [oldest..ring.end, ring.start..oldest]
    }

    /// The lower 32 bits of the word at an offset; 0 beyond the end.
    #[inline]
    #[must_use]
    pub fn word(&self, bytes: &[u8], at: usize) -> u32 {
        half(bytes, at + if self.is_wide() && self.is_big { 4 } else { 0 }, self.is_big)
    }

    /// The whole word at an offset.
    #[inline]
    #[must_use]
    pub fn number(&self, bytes: &[u8], at: usize) -> u64 {
        let high = if self.is_wide() { half(bytes, at + if self.is_big { 0 } else { 4 }, self.is_big) } else { 0 };
        u64::from(high) << 32 | u64::from(self.word(bytes, at))
    }

    /// The words of the entry at an offset.
    #[inline]
    #[must_use]
    pub fn numbers(&self, bytes: &[u8], at: usize) -> [u64; ENTRY_WORDS] {
        let entry = bytes.get(at..).and_then(|bytes| bytes.get(..self.entry_bytes())).unwrap_or(&[]);
        std::array::from_fn(|place| self.number(entry, place * self.word_bytes))
    }

    /// The objects of the registry, in its order.
    pub fn objects<'a>(&self, bytes: &'a [u8]) -> impl Iterator<Item = Object<'a>> {
        let (layout, word_bytes) = (*self, self.word_bytes);
        let name_at = OBJECT_WORDS * word_bytes;
        let size = (name_at + self.name_bytes).next_multiple_of(word_bytes);
        let registry = bytes.get(HEADER_WORDS * word_bytes..layout.ring.min(bytes.len())).unwrap_or(&[]);
        registry.chunks_exact(size).filter_map(move |object| {
            let (&[is_free, kind, high, low, ..], Some(name)) = (object, object.get(name_at..)) else { return None };
            let [pointer, one, two] = [1, 2, 3].map(|place| layout.word(object, place * word_bytes));
            let priority = (high & 0x80 != 0).then(|| u32::from(high & 0x7F) << 8 | u32::from(low));
            let name = name.get(..memchr::memchr(0, name).unwrap_or(name.len())).unwrap_or(name);
            let parameters = [one, two];
            (kind != 0 && pointer != 0).then_some(Object { is_free: is_free != 0, kind, pointer, parameters, priority, name })
        })
    }
}

/// Four bytes as a number; 0 beyond the end.
#[inline]
fn half(bytes: &[u8], at: usize, is_big: bool) -> u32 {
    let Some(&half) = bytes.get(at..).and_then(<[u8]>::first_chunk) else { return 0 };
    if is_big { u32::from_be_bytes(half) } else { u32::from_le_bytes(half) }
}

/// An object of the registry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Object<'a> {
    /// Whether it was deleted, so that its place may be used again.
    pub is_free: bool,
    /// Its type, from 1 (a thread).
    pub kind: u8,
    /// Its address, of which the lower 32 bits identify it.
    pub pointer: u32,
    /// Facts about it, by type.
    pub parameters: [u32; 2],
    /// The priority of a thread when it was registered.
    pub priority: Option<u32>,
    /// Its name.
    pub name: &'a [u8],
}

/// The types of objects.
#[allow(missing_docs)]
pub mod kind {
    pub const THREAD: u8 = 1;
    pub const TIMER: u8 = 2;
    pub const QUEUE: u8 = 3;
    pub const SEMAPHORE: u8 = 4;
    pub const MUTEX: u8 = 5;
    pub const EVENT_FLAGS: u8 = 6;
    pub const BLOCK_POOL: u8 = 7;
    pub const BYTE_POOL: u8 = 8;
}

/// The trace buffer whose header ends with the mark at `at`.
///
/// # Errors
/// Why there is none, as the end of a sentence.
pub(super) fn read_memory(image: &[u8], at: usize) -> Result<MemoryRecording, String> {
    let before_mark = (HEADER_WORDS - TAIL.len()) * 4;
    // Of words of 64 bits in big-endian order, the mark begins in the middle of one.
    let read = |before: usize| {
        let start = at.checked_sub(before).ok_or("its header is cut off")?;
        Layout::read(image.get(start..).unwrap_or(&[])).map(|layout| (start, layout))
    };
    let (start, layout) = read(before_mark)
        .or_else(|error| [2 * before_mark, 2 * before_mark + 4].into_iter().find_map(|before| read(before).ok()).ok_or(error))?;
    let bytes = image.get(start..).unwrap_or(&[]);
    let (there, whole) = (bytes.len().min(layout.bytes()), layout.bytes());
    let mut damages = Vec::new();
    if there < whole {
        let what = format!("the image has only {there} of the {whole} bytes of the trace buffer");
        damages.push(MemoryDamage { image_offset: image.len(), offset: there, what });
    }
    let range = start..start + there;
    Ok(MemoryRecording { range: range.clone(), header_bytes: 0, pieces: vec![range], cores: 1, what: layout.describe(), damages })
}
