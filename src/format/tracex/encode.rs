//! Events → a trace buffer, for tests, fuzzing and generated captures.

use super::layout::{ENTRY_WORDS, HEADER_WORDS, MAGIC, OBJECT_WORDS, TAIL};

/// The room for names that the kernel has by default.
pub const NAME_BYTES: usize = 32;

/// The address of generated trace buffers.
pub const BASE: u32 = 0x2000_4000;

/// An object of the registry.
#[derive(Clone, Debug)]
pub struct Object {
    /// Its type.
    pub kind: u8,
    /// Its address.
    pub pointer: u32,
    /// Facts about it.
    pub parameters: [u32; 2],
    /// The priority of a thread.
    pub priority: Option<u32>,
    /// Its name.
    pub name: &'static str,
}

/// A trace buffer.
#[derive(Clone, Debug)]
pub struct Buffer {
    /// The byte order.
    pub is_big: bool,
    /// Whether words have 64 bits.
    pub is_wide: bool,
    /// The bits of time stamps.
    pub time_mask: u32,
    /// The registry.
    pub objects: Vec<Object>,
    /// The number of entries of the ring, at least 1.
    pub slots: usize,
    /// The events, each as the words of an entry: thread, priority, id, time stamp, four information fields.
    pub events: Vec<[u32; 8]>,
}

impl Buffer {
    /// Its bytes: of more events than the ring has entries, the last ones.
    #[must_use]
    pub fn bytes(&self) -> Vec<u8> {
        let word_bytes = if self.is_wide { 8 } else { 4 };
        let (header, entry_bytes) = (HEADER_WORDS * word_bytes, ENTRY_WORDS * word_bytes);
        let registry = header + self.objects.len() * (OBJECT_WORDS * word_bytes + NAME_BYTES);
        let slots = self.slots.max(1);
        let mut out = Vec::with_capacity(registry + slots * entry_bytes);
        let half = |value: u32| if self.is_big { value.to_be_bytes() } else { value.to_le_bytes() };
        let word = |out: &mut Vec<u8>, value: u32| match (self.is_wide, self.is_big) {
            (false, _) => out.extend(half(value)),
            (true, false) => out.extend(u64::from(value).to_le_bytes()),
            (true, true) => out.extend(u64::from(value).to_be_bytes()),
        };
        let address = |offset: usize| BASE.wrapping_add(offset as u32);
        let next = registry + self.events.len() % slots * entry_bytes;
        let (start, end) = (address(registry), address(registry + slots * entry_bytes));
        for value in [MAGIC, self.time_mask, BASE, address(header)] {
            word(&mut out, value);
        }
        out.extend(half(if self.is_big { NAME_BYTES as u32 } else { (NAME_BYTES as u32) << 16 }));
        out.resize((HEADER_WORDS - 7) * word_bytes, 0);
        for value in [start, start, end, address(next)].into_iter().chain(TAIL) {
            word(&mut out, value);
        }
        for object in &self.objects {
            let priority = object.priority.map_or(0, |priority| 0x8000 | priority);
            out.extend([0, object.kind, (priority >> 8) as u8, priority as u8]);
            out.resize(out.len().next_multiple_of(word_bytes), 0);
            for value in [object.pointer, object.parameters[0], object.parameters[1]] {
                word(&mut out, value);
            }
            let mut name = [0; NAME_BYTES];
            name.iter_mut().zip(object.name.bytes().take(NAME_BYTES - 1)).for_each(|(place, byte)| *place = byte);
            out.extend(name);
        }
        out.resize(registry + slots * entry_bytes, 0);
        let kept = self.events.len().saturating_sub(slots);
        let mut words = Vec::with_capacity(entry_bytes);
        for (number, event) in self.events.iter().enumerate().skip(kept) {
            words.clear();
            event.iter().for_each(|&value| word(&mut words, value));
            let at = registry + number % slots * entry_bytes;
            out[at..at + entry_bytes].copy_from_slice(&words);
        }
        out
    }
}
