//! The texts of a block: which are interned, under which number.
//!
//! Perfetto has a table for each role of a text (event name, annotation name, annotation value), and a number of one byte for
//! the first 127 of each. So the most used come first. A text that is used once is written in place: to intern it costs more.

use std::cmp::Reverse;

use prost::encoding::encoded_len_varint;
use rustc_hash::FxHashMap;

use super::wire::{ShortField, bytes_field_len, put_bytes, put_length, put_varint};
use crate::timeline::{ArgValue, Block, NameRef};

/// What a text is used as.
#[derive(Clone, Copy)]
pub(super) enum Role {
    EventName = 0,
    ArgName = 1,
    ArgValue = 2,
    /// Has to be interned, however rare.
    LogBody = 3,
}

/// The roles with the field of `InternedData` that is their table, and the field by which they refer to it.
const TABLES: [(Role, u32, u32); 4] = [
    (Role::EventName, 2, NAME_IID),
    (Role::ArgName, 3, ARG_NAME_IID),
    (Role::ArgValue, 29, ARG_STRING_VALUE_IID),
    (Role::LogBody, 20, LOG_BODY_IID),
];

/// The number of uses that pays for an entry in a table.
const MIN_USES: u32 = 2;

/// `TrackEvent.name_iid`.
pub(super) const NAME_IID: u32 = 10;
/// `DebugAnnotation.name_iid`.
pub(super) const ARG_NAME_IID: u32 = 1;
/// `DebugAnnotation.string_value_iid`.
pub(super) const ARG_STRING_VALUE_IID: u32 = 17;

/// `LogMessage.body_iid`.
const LOG_BODY_IID: u32 = 2;

/// How a text is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Text<'a> {
    /// By its number in the table of its role.
    Interned(u32),
    /// In place.
    InPlace(&'a str),
}

/// Reusable memory for the texts of one block.
///
/// Every reference of the block is a slot here: 0 is no text, then come the block's names, then its texts of the capture.
/// Texts of the capture may be equal; all but the first of these stand for the first.
#[derive(Default)]
pub(super) struct Strings {
    /// For each role and slot, how often it is used; once numbered, its number there (0: none).
    uses: [Vec<u32>; 4],
    /// For each role and slot, the field that refers to its number, or too long if the text is to be written in place.
    fields: [Vec<ShortField>; 4],
    /// For each slot, the first one with the same text.
    first: Vec<usize>,
    /// The first slot of the texts of the capture.
    texts_start: usize,
    /// Memory for sorting: uses and slot.
    order: Vec<(Reverse<u32>, usize)>,
}

impl Strings {
    /// Starts with a block: finds the texts of the capture that are equal.
    pub(super) fn start(&mut self, block: &Block) {
        self.texts_start = 1 + block.names.len();
        self.first.clear();
        self.first.extend(0..self.texts_start);
        let mut known = FxHashMap::default();
        for (slot, &text) in (self.texts_start..).zip(&block.text_refs) {
            self.first.push(*known.entry(block.texts.get(text)).or_insert(slot));
        }
        for uses in &mut self.uses {
            uses.clear();
            uses.resize(self.first.len(), 0);
        }
    }

    /// Counts the use of an event name.
    #[inline]
    pub(super) fn count_event_name(&mut self, name: NameRef) {
        // Equal texts are counted together later: this runs for each operation.
        self.count(self.slot(name), Role::EventName);
    }

    /// Numbers all texts by their uses (event names must have been counted), and writes the tables.
    pub(super) fn number_all(&mut self, block: &Block, interned_data: &mut Vec<u8>) {
        for arg in &block.args {
            match arg.value {
                ArgValue::LogBody(text, _) => {
                    self.count(self.slot(NameRef::text(text)), Role::LogBody);
                    continue;
                }
                ArgValue::Source(_) => continue,
                _ => self.count(self.slot(NameRef::interned(arg.name)), Role::ArgName),
            }
            if let Some(slot) = self.value_slot(arg.value) {
                self.count(slot, Role::ArgValue);
            }
        }
        for (role, table, field) in TABLES {
            self.number(block, role, table, interned_data);
            let iids = &self.uses[role as usize];
            let fields = &mut self.fields[role as usize];
            fields.clear();
            fields.extend(self.first.iter().map(|&first| match iids.get(first) {
                _ if first == 0 => ShortField::EMPTY,
                None | Some(0) => ShortField::TOO_LONG,
                Some(&iid) => ShortField::new(field, iid),
            }));
        }
    }

    /// The name field of an event, or the name or text field of an annotation. Empty if it has no name, too long if the text
    /// is to be written in place.
    #[inline]
    pub(super) fn field(&self, name: NameRef, role: Role) -> ShortField {
        self.fields[role as usize].get(self.slot(name)).copied().unwrap_or(ShortField::TOO_LONG)
    }

    /// The field of an annotation's value that is a text; too long for all others.
    #[inline]
    pub(super) fn arg_value_field(&self, value: ArgValue) -> ShortField {
        match value {
            ArgValue::Name(index) => self.field(NameRef::interned(index), Role::ArgValue),
            ArgValue::Text(index) => self.field(NameRef::text(index), Role::ArgValue),
            _ => ShortField::TOO_LONG,
        }
    }

    /// The name of an event.
    pub(super) fn event_name<'a>(&self, block: &'a Block, name: NameRef) -> Option<Text<'a>> {
        self.text(block, self.slot(name), Role::EventName)
    }

    /// The name of an annotation.
    pub(super) fn arg_name<'a>(&self, block: &'a Block, name: u32) -> Option<Text<'a>> {
        self.text(block, self.slot(NameRef::interned(name)), Role::ArgName)
    }

    /// The value of an annotation that is a text.
    pub(super) fn arg_value<'a>(&self, block: &'a Block, value: ArgValue) -> Option<Text<'a>> {
        self.text(block, self.value_slot(value)?, Role::ArgValue)
    }

    /// The text of a log message.
    pub(super) fn log_body<'a>(&self, block: &'a Block, text: u32) -> Option<Text<'a>> {
        self.text(block, self.slot(NameRef::text(text)), Role::LogBody)
    }

    fn number(&mut self, block: &Block, role: Role, table: u32, interned_data: &mut Vec<u8>) {
        let min_uses = if matches!(role, Role::LogBody) { 1 } else { MIN_USES };
        let uses = &mut self.uses[role as usize];
        for (slot, &first) in self.first.iter().enumerate().skip(self.texts_start) {
            if first != slot {
                uses[first] += std::mem::take(&mut uses[slot]);
            }
        }
        self.order.clear();
        for (slot, uses) in uses.iter_mut().enumerate() {
            let uses = std::mem::take(uses);
            if uses >= min_uses && slot != 0 {
                self.order.push((Reverse(uses), slot));
            }
        }
        self.order.sort_unstable();
        for (iid, &(_, slot)) in (1..).zip(&self.order) {
            let text = text_of(block, slot).unwrap_or_default();
            uses[slot] = iid;
            put_length(interned_data, table, 1 + encoded_len_varint(u64::from(iid)) + bytes_field_len(2, text.len()));
            put_varint(interned_data, 1, u64::from(iid));
            put_bytes(interned_data, 2, text.as_bytes());
        }
    }

    #[inline]
    fn count(&mut self, slot: usize, role: Role) {
        if let Some(uses) = self.uses[role as usize].get_mut(slot) {
            *uses += 1;
        }
    }

    fn text<'a>(&self, block: &'a Block, slot: usize, role: Role) -> Option<Text<'a>> {
        let first = *self.first.get(slot)?;
        match self.uses[role as usize].get(first)? {
            0 => text_of(block, first).map(Text::InPlace),
            &iid => Some(Text::Interned(iid)),
        }
    }

    /// The slot of a name; beyond all slots for one that the block does not have. Without branches: whether an event has a
    /// name is not predictable.
    #[inline]
    fn slot(&self, name: NameRef) -> usize {
        let number = name.number() as usize;
        let (start, end) = if name.is_text() { (self.texts_start, usize::MAX) } else { (0, self.texts_start) };
        if number < end { start + number } else { usize::MAX }
    }

    /// None if the value is no text.
    fn value_slot(&self, value: ArgValue) -> Option<usize> {
        match value {
            ArgValue::Name(index) => Some(self.slot(NameRef::interned(index))),
            ArgValue::Text(index) => Some(self.slot(NameRef::text(index))),
            _ => None,
        }
    }
}

/// The text of a slot; none for slot 0.
fn text_of(block: &Block, slot: usize) -> Option<&str> {
    let index = slot.checked_sub(1)?;
    match block.names.get(index) {
        Some(name) => Some(name),
        None => block.text_refs.get(index - block.names.len()).map(|&text| block.texts.get(text)),
    }
}
