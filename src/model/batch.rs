//! Events on their way from a resolver to the timeline, with the texts and loss notes they point into.

use super::{Event, LossNote, Nanos};

/// A piece of text in an [`EventBatch`]. Empty is "none".
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TextRef {
    /// Where it starts.
    pub start: u32,
    /// Its length in bytes.
    pub len: u32,
}

impl TextRef {
    /// No text.
    pub const NONE: TextRef = TextRef { start: 0, len: 0 };

    /// Whether there is no text.
    #[inline]
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.len == 0
    }
}

/// UTF-8 texts, one after the other.
#[derive(Clone, Debug, Default)]
pub struct TextArena {
    text: String,
}

impl TextArena {
    /// Adds a text. Beyond 4 GiB in one batch (which the window size rules out) it is dropped.
    pub fn add(&mut self, text: &str) -> TextRef {
        let (Ok(start), Ok(len)) = (u32::try_from(self.text.len()), u32::try_from(text.len())) else {
            return TextRef::NONE;
        };
        self.text.push_str(text);
        TextRef { start, len }
    }

    /// Adds bytes as text. Bytes that are not UTF-8 become U+FFFD, and the second value is then true.
    pub fn add_lossy(&mut self, bytes: &[u8]) -> (TextRef, bool) {
        match std::str::from_utf8(bytes) {
            Ok(text) => (self.add(text), false),
            Err(_) => (self.add(&String::from_utf8_lossy(bytes)), true),
        }
    }

    /// The text behind a reference of this arena; empty for a foreign one.
    #[inline]
    #[must_use]
    pub fn get(&self, text: TextRef) -> &str {
        let start = text.start as usize;
        self.text.get(start..start.saturating_add(text.len as usize)).unwrap_or("")
    }

    /// The length of all texts together, in bytes.
    #[inline]
    #[must_use]
    pub fn len_bytes(&self) -> usize {
        self.text.len()
    }

    /// Forgets all texts and keeps the memory.
    pub fn clear(&mut self) {
        self.text.clear();
    }
}

/// Events in order of time, and what they refer to.
#[derive(Clone, Debug, Default)]
pub struct EventBatch {
    /// The events.
    pub events: Vec<Event>,
    /// Their texts.
    pub texts: TextArena,
    /// Their loss notes.
    pub losses: Vec<LossNote>,
}

impl EventBatch {
    /// Forgets the content and keeps the memory.
    pub fn clear(&mut self) {
        self.events.clear();
        self.texts.clear();
        self.losses.clear();
    }

    /// The time of the first event.
    #[must_use]
    pub fn first_time(&self) -> Option<Nanos> {
        self.events.first().map(|event| event.time)
    }
}
