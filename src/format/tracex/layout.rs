//! The header of a trace buffer, and the registry of the kernel's objects after it.

use std::ops::Range;

use crate::format::{MemoryDamage, MemoryMark, MemoryRecording};

/// The length of the header, of an object in the registry without its name, and of an entry of the ring.
pub const HEADER_BYTES: usize = 48;
pub const OBJECT_BYTES: usize = 16;
pub const ENTRY_BYTES: usize = 32;

/// The number that a header begins with: `TXTB`.
pub const MAGIC: u32 = 0x5458_5442;

/// The end of a header, the same in both byte orders.
pub const TAIL: &[u8; 12] = b"\xAA\xAA\xAA\xAA\xBB\xBB\xBB\xBB\xCC\xCC\xCC\xCC";

/// The magic has four bytes, and is also a constant in the kernel's code: the end of the header is the better mark.
pub(super) const MARKS: &[MemoryMark] = &[MemoryMark { bytes: TAIL, what: "a trace buffer of ThreadX" }];

/// Longer names than any kernel is built with.
const NAME_LIMIT: usize = 1 << 12;

/// The places of the parts of a trace buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// The byte order of the target.
    pub is_big: bool,
    /// The bits of a time stamp that its clock has.
    pub time_mask: u32,
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
        let Some(header) = bytes.first_chunk::<HEADER_BYTES>() else { return Err("its header is cut off".into()) };
        let is_big = match header.first_chunk().copied().map(u32::from_le_bytes) {
            Some(MAGIC) => false,
            Some(magic) if magic == MAGIC.swap_bytes() => true,
            _ => return Err("it does not begin with TXTB".into()),
        };
        let word = |at: usize| word(header, at, is_big);
        let [time_mask, base, registry, registry_end, ring, ring_end, current] = [4, 8, 12, 20, 24, 28, 32].map(word);
        // The length of names is the second half of a word, so its place does not depend on the byte order.
        let name_bytes = (if is_big { word(16) & 0xFFFF } else { word(16) >> 16 }) as usize;
        let offset = |address: u32| address.checked_sub(base).map(|offset| offset as usize);
        let (Some(HEADER_BYTES), Some(objects_end), Some(start), Some(end)) =
            (offset(registry), offset(registry_end), offset(ring), offset(ring_end))
        else {
            return Err("the addresses in its header do not fit each other".into());
        };
        let ring_bytes = end.saturating_sub(start);
        if objects_end < HEADER_BYTES || start < objects_end || ring_bytes < ENTRY_BYTES || name_bytes > NAME_LIMIT {
            return Err("the addresses in its header do not fit each other".into());
        }
        let entries = ring_bytes / ENTRY_BYTES;
        let oldest = offset(current).and_then(|current| current.checked_sub(start)).map_or(0, |offset| offset / ENTRY_BYTES);
        Ok(Layout { is_big, time_mask, name_bytes, ring: start, entries, oldest: if oldest < entries { oldest } else { 0 } })
    }

    /// For people, without a final stop.
    pub fn describe(&self) -> String {
        let order = if self.is_big { "big" } else { "little" };
        format!("a trace buffer of ThreadX ({} entries, {order}-endian)", self.entries)
    }

    /// The length of all of it, in bytes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.ring + self.entries * ENTRY_BYTES
    }

    /// The ring's entries that are whole in an input of this length: their bytes.
    #[must_use]
    pub fn ring_in(&self, input_bytes: usize) -> Range<usize> {
        let start = self.ring.min(input_bytes);
        let entries = ((input_bytes - start) / ENTRY_BYTES).min(self.entries);
        start..start + entries * ENTRY_BYTES
    }

    /// These bytes in the order of recording: those from the oldest entry to the end of the ring, and those after them.
    #[must_use]
    pub fn pieces_in(&self, input_bytes: usize) -> [Range<usize>; 2] {
        let ring = self.ring_in(input_bytes);
        let oldest = ring.start + self.oldest * ENTRY_BYTES;
        let oldest = if oldest < ring.end { oldest } else { ring.start };
        [oldest..ring.end, ring.start..oldest]
    }

    /// The word at an offset; 0 beyond the end.
    #[inline]
    #[must_use]
    pub fn word(&self, bytes: &[u8], at: usize) -> u32 {
        word(bytes, at, self.is_big)
    }

    /// The objects of the registry, in its order.
    pub fn objects<'a>(&self, bytes: &'a [u8]) -> impl Iterator<Item = Object<'a>> {
        let (size, layout) = (OBJECT_BYTES + self.name_bytes, *self);
        let registry = bytes.get(HEADER_BYTES..layout.ring.min(bytes.len())).unwrap_or(&[]);
        registry.chunks_exact(size).filter_map(move |object| {
            let (&[is_free, kind, high, low, ..], Some(name)) = (object, object.get(OBJECT_BYTES..)) else { return None };
            let pointer = layout.word(object, 4);
            let priority = (high & 0x80 != 0).then(|| u32::from(high & 0x7F) << 8 | u32::from(low));
            let name = name.get(..memchr::memchr(0, name).unwrap_or(name.len())).unwrap_or(name);
            let parameters = [layout.word(object, 8), layout.word(object, 12)];
            (kind != 0 && pointer != 0).then_some(Object { is_free: is_free != 0, kind, pointer, parameters, priority, name })
        })
    }
}

#[inline]
fn word(bytes: &[u8], at: usize, is_big: bool) -> u32 {
    let Some(&word) = bytes.get(at..).and_then(<[u8]>::first_chunk) else { return 0 };
    if is_big { u32::from_be_bytes(word) } else { u32::from_le_bytes(word) }
}

/// An object of the registry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Object<'a> {
    /// Whether it was deleted, so that its place may be used again.
    pub is_free: bool,
    /// Its type, from 1 (a thread).
    pub kind: u8,
    /// Its address.
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
    let start = (at + TAIL.len()).checked_sub(HEADER_BYTES).ok_or("its header is cut off")?;
    let bytes = image.get(start..).unwrap_or(&[]);
    let layout = Layout::read(bytes)?;
    let (there, whole) = (bytes.len().min(layout.bytes()), layout.bytes());
    let mut damages = Vec::new();
    if there < whole {
        let what = format!("the image has only {there} of the {whole} bytes of the trace buffer");
        damages.push(MemoryDamage { image_offset: image.len(), offset: there, what });
    }
    let range = start..start + there;
    Ok(MemoryRecording { range: range.clone(), header_bytes: 0, pieces: vec![range], cores: 1, what: layout.describe(), damages })
}
