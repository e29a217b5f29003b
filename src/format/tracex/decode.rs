//! Bytes → entries, in parallel and without state, in the order of recording.
//!
//! The oldest entry of a ring may be anywhere in it. Each part gives as many entries as it has room for, in the order of recording: a part from
//! the third entry of the file has the third oldest one first.

use std::ops::Range;

use crate::format::{Decode, Part};
use crate::model::{LossKind, losses};

use super::layout::{ENTRY_BYTES, ENTRY_WORDS, Layout};
use super::names::LAST;

/// More cores than ThreadX SMP has.
pub const CORES_LIMIT: u32 = 64;

/// An event, as recorded, of wide words the lower 32 bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Entry {
    /// Where it is in the input, in bytes.
    pub offset: u64,
    /// The address of the thread that caused it, [`IN_INTERRUPT`] or [`IN_INITIALIZATION`].
    pub thread: u32,
    /// The thread's priority and threshold; in an interrupt the address of the thread that was interrupted.
    pub priority: u32,
    /// Its id.
    pub id: u32,
    /// The core of ThreadX SMP.
    pub core: u32,
    /// The time stamp.
    pub time: u64,
    /// The information fields.
    pub info: [u32; 4],
}

/// The thread of an event in an interrupt.
pub const IN_INTERRUPT: u32 = 0xFFFF_FFFF;

/// The thread of an event before threads run.
pub const IN_INITIALIZATION: u32 = 0xF0F0_F0F0;

/// Content of a place in the ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Slot {
    /// It was not used yet.
    Unused,
    /// An event.
    Event(Entry),
    /// Something else.
    Bad,
}

impl Slot {
    /// The content of the place at `at`.
    #[inline]
    #[must_use]
    pub fn read(layout: &Layout, input: &[u8], at: usize) -> Slot {
        let (words, time) = if layout.is_wide() { read_wide(layout, input, at) } else { read_narrow(layout, input, at) };
        let [thread, priority, id, _, info @ ..] = words;
        if thread == 0 || id == u32::MAX {
            return Slot::Unused;
        }
        let (id, core) = (id & 0x00FF_FFFF, id >> 24);
        if id == 0 || id > LAST || core >= CORES_LIMIT {
            return Slot::Bad;
        }
        Slot::Event(Entry { offset: at as u64, thread, priority, id, core, time: time & layout.time_mask, info })
    }
}

/// The words of the entry at a place, of 32 bits, and its time stamp.
#[inline]
fn read_narrow(layout: &Layout, input: &[u8], at: usize) -> ([u32; ENTRY_WORDS], u64) {
    let Some(entry) = input.get(at..).and_then(<[u8]>::first_chunk::<ENTRY_BYTES>) else { return ([0; ENTRY_WORDS], 0) };
    let (words, _) = entry.as_chunks::<4>();
    let words = std::array::from_fn(|place| {
        let word = words[place];
        if layout.is_big { u32::from_be_bytes(word) } else { u32::from_le_bytes(word) }
    });
    (words, u64::from(words[3]))
}

/// The lower halves of words of 64 bits, and the time stamp.
#[cold]
fn read_wide(layout: &Layout, input: &[u8], at: usize) -> ([u32; ENTRY_WORDS], u64) {
    let words = layout.numbers(input, at);
    (words.map(|word| word as u32), words[3])
}

/// The places of a part's entries in the input, in the order of recording.
pub fn places(layout: &Layout, input: &[u8], part: Range<usize>) -> impl Iterator<Item = usize> {
    let [first, second] = layout.pieces_in(input.len());
    let (start, end) = (second.start, first.end);
    let entry_bytes = layout.entry_bytes();
    let number = |at: usize| (at.clamp(start, end) - start).div_ceil(entry_bytes);
    (number(part.start)..number(part.end)).map(move |number| {
        let at = first.start + entry_bytes * number;
        if at < end { at } else { at - (end - start) }
    })
}

/// An entry, or other bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Record {
    /// An event.
    Event(Entry),
    /// Damage.
    Bad(Bad),
}

/// Bytes that are not an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bad {
    /// Where they start.
    pub offset: u64,
    /// Their number.
    pub bytes: u64,
    /// What is wrong with them.
    pub kind: LossKind,
}

/// The content of a part, in the order of recording.
#[derive(Clone, Debug, Default)]
pub struct Records {
    /// Entries and damage.
    pub records: Vec<Record>,
    /// The bytes that are neither damage nor left over.
    pub ok_bytes: u64,
}

impl Records {
    /// Reads a part. The memory is reused.
    pub fn read(&mut self, input: &[u8], part: Range<usize>) {
        self.records.clear();
        let Ok(layout) = Layout::read(input) else {
            self.ok_bytes = 0;
            let bad = Bad { offset: part.start as u64, bytes: part.len() as u64, kind: losses::UNKNOWN_PACKET };
            return self.records.extend((!part.is_empty()).then_some(Record::Bad(bad)));
        };
        self.ok_bytes = part.len() as u64;
        self.records.reserve(part.len() / layout.entry_bytes());
        let ring = layout.ring_in(input.len());
        let is_cut = layout.bytes() > input.len();
        // The entries that a cut ring lacks are older than its first place, unless the oldest of all is one of them.
        let has_gap = is_cut && layout.oldest > 0 && layout.oldest < ring.len() / layout.entry_bytes();
        let rest_bytes = input.len().saturating_sub(ring.end) as u64;
        for at in places(&layout, input, part.clone()) {
            if has_gap && at == ring.start {
                let gap = Bad { offset: ring.end as u64, bytes: rest_bytes, kind: losses::TRUNCATED_FRAME };
                self.records.push(Record::Bad(gap));
            }
            match Slot::read(&layout, input, at) {
                Slot::Unused => {}
                Slot::Event(entry) => self.records.push(Record::Event(entry)),
                Slot::Bad => self.bad(at, layout.entry_bytes(), losses::UNKNOWN_EVENT),
            }
        }
        let rest = part.start.max(ring.end)..part.end;
        if has_gap {
            self.ok_bytes = self.ok_bytes.saturating_sub(rest.len() as u64);
        } else if !rest.is_empty() {
            let kind = if is_cut { losses::TRUNCATED_FRAME } else { losses::SURPLUS_BYTES };
            self.bad(rest.start, rest.len(), kind);
        }
    }

    fn bad(&mut self, at: usize, bytes: usize, kind: LossKind) {
        // The part is of whole entries, unless the layout has changed since.
        self.ok_bytes = self.ok_bytes.saturating_sub(bytes as u64);
        self.records.push(Record::Bad(Bad { offset: at as u64, bytes: bytes as u64, kind }));
    }
}

/// Decodes parts.
pub(super) struct Decoder;

impl Decode for Decoder {
    type Records = Records;

    fn decode(&self, _input: usize, part: Part<'_>, records: &mut Records) {
        records.read(part.input, part.start..part.end);
    }
}
