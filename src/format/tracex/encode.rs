//! Events → a trace buffer, for tests, fuzzing and generated captures.

use super::layout::{ENTRY_BYTES, HEADER_BYTES, MAGIC, OBJECT_BYTES, TAIL};

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
        let registry = HEADER_BYTES + self.objects.len() * (OBJECT_BYTES + NAME_BYTES);
        let slots = self.slots.max(1);
        let mut out = Vec::with_capacity(registry + slots * ENTRY_BYTES);
        let word = |value: u32| if self.is_big { value.to_be_bytes() } else { value.to_le_bytes() };
        let address = |offset: usize| BASE.wrapping_add(offset as u32);
        let next = registry + self.events.len() % slots * ENTRY_BYTES;
        let names = if self.is_big { NAME_BYTES as u32 } else { (NAME_BYTES as u32) << 16 };
        let (start, end) = (address(registry), address(registry + slots * ENTRY_BYTES));
        for value in [MAGIC, self.time_mask, BASE, address(HEADER_BYTES), names, start, start, end, address(next)] {
            out.extend(word(value));
        }
        out.extend(TAIL);
        for object in &self.objects {
            let priority = object.priority.map_or(0, |priority| 0x8000 | priority);
            out.extend([0, object.kind, (priority >> 8) as u8, priority as u8]);
            for value in [object.pointer, object.parameters[0], object.parameters[1]] {
                out.extend(word(value));
            }
            let mut name = [0; NAME_BYTES];
            name.iter_mut().zip(object.name.bytes().take(NAME_BYTES - 1)).for_each(|(place, byte)| *place = byte);
            out.extend(name);
        }
        out.resize(registry + slots * ENTRY_BYTES, 0);
        let kept = self.events.len().saturating_sub(slots);
        for (number, event) in self.events.iter().enumerate().skip(kept) {
            let at = registry + number % slots * ENTRY_BYTES;
            for (place, &value) in out[at..at + ENTRY_BYTES].chunks_exact_mut(4).zip(event) {
                place.copy_from_slice(&word(value));
            }
        }
        out
    }
}
