//! The texts of a block: which are interned, under which number.
//!
//! Perfetto has a table for each role of a text (event name, annotation name, annotation value), and a number of one byte for
//! the first 127 of each. So the most used come first. A text that is used once is written in place: to intern it costs more.

use std::cmp::Reverse;

use prost::encoding::encoded_len_varint;
use rustc_hash::FxHashMap;

use super::wire::{bytes_field_len, put_bytes, put_length, put_varint, varint56};
use crate::model::TextRef;
use crate::timeline::{ArgValue, Block, NameRef, Op, OpKind};

/// What a text is used as.
#[derive(Clone, Copy)]
pub(super) enum Role {
    EventName = 0,
    ArgName = 1,
    ArgValue = 2,
}

/// The roles with the field of `InternedData` that is their table.
const TABLES: [(Role, u32); 3] = [(Role::EventName, 2), (Role::ArgName, 3), (Role::ArgValue, 29)];

/// A use that pays for its entry in a table.
const MIN_USES: u32 = 2;

/// `TrackEvent.name_iid`, ready to be copied: the bytes, and their number in the highest byte.
#[derive(Clone, Copy, Default)]
pub(super) struct NameField(u64);

impl NameField {
    const IN_PLACE: NameField = NameField(u64::MAX);

    fn interned(iid: u32) -> NameField {
        const NAME_IID: u64 = 10 << 3;
        let (bytes, len) = varint56(u64::from(iid));
        NameField(u64::from(len + 1) << 56 | bytes << 8 | NAME_IID)
    }

    /// The bytes (at most 6) and their number. None for a name to be written in place.
    #[inline]
    pub(super) fn parts(self) -> Option<(u64, u32)> {
        (self.0 != Self::IN_PLACE.0).then_some((self.0 & ((1 << 56) - 1), (self.0 >> 56) as u32))
    }
}

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
/// A text is known by an index here: the names of the block first, then the different texts of the capture.
#[derive(Default)]
pub(super) struct Strings {
    /// How often each text is used in each role; then, after `number`, its number there (0: none).
    uses: Vec<[u32; 3]>,
    /// The event name field of each text.
    name_fields: Vec<NameField>,
    /// For each of [`Block::text_refs`], its index.
    text_index: Vec<u32>,
    /// The different texts of the capture.
    texts: Vec<TextRef>,
    /// Memory for sorting: uses and index.
    order: Vec<(Reverse<u32>, u32)>,
    /// The number of names in the block.
    names: usize,
}

impl Strings {
    /// Counts the uses of every text and numbers them.
    pub(super) fn collect(&mut self, block: &Block, interned_data: &mut Vec<u8>) {
        self.unify_texts(block);
        self.uses.clear();
        self.uses.resize(self.names + self.texts.len(), [0; 3]);
        for op in &block.ops {
            if has_name(op) {
                self.count(self.name_index(op.name), Role::EventName);
            }
        }
        for arg in &block.args {
            self.count(Some(arg.name), Role::ArgName);
            self.count(self.value_index(arg.value), Role::ArgValue);
        }
        for (role, table) in TABLES {
            self.number(block, role, table, interned_data);
        }
        self.name_fields.clear();
        self.name_fields.extend(self.uses.iter().map(|iids| match iids[Role::EventName as usize] {
            0 => NameField::IN_PLACE,
            iid => NameField::interned(iid),
        }));
    }

    /// The name field of an event; empty if it has no name.
    #[inline]
    pub(super) fn name_field(&self, name: NameRef) -> NameField {
        self.name_index(name).and_then(|index| self.name_fields.get(index as usize).copied()).unwrap_or_default()
    }

    /// The name of an event; none for a reference to nothing.
    pub(super) fn event_name<'a>(&self, block: &'a Block, name: NameRef) -> Option<Text<'a>> {
        self.text(block, self.name_index(name)?, Role::EventName)
    }

    /// The name of an annotation.
    pub(super) fn arg_name<'a>(&self, block: &'a Block, name: u32) -> Option<Text<'a>> {
        self.text(block, name, Role::ArgName)
    }

    /// The value of an annotation that is a text.
    pub(super) fn arg_value<'a>(&self, block: &'a Block, value: ArgValue) -> Option<Text<'a>> {
        self.text(block, self.value_index(value)?, Role::ArgValue)
    }

    /// Finds the texts of the capture that are equal.
    fn unify_texts(&mut self, block: &Block) {
        self.names = block.names.len();
        self.texts.clear();
        self.text_index.clear();
        let mut known = FxHashMap::default();
        for &text in &block.text_refs {
            let next = self.texts.len();
            let index = *known.entry(block.texts.get(text)).or_insert(next);
            if index == next {
                self.texts.push(text);
            }
            self.text_index.push(u32::try_from(self.names + index).unwrap_or(u32::MAX));
        }
    }

    fn number(&mut self, block: &Block, role: Role, table: u32, interned_data: &mut Vec<u8>) {
        self.order.clear();
        for (index, uses) in (0..).zip(&mut self.uses) {
            let uses = std::mem::take(&mut uses[role as usize]);
            if uses >= MIN_USES {
                self.order.push((Reverse(uses), index));
            }
        }
        self.order.sort_unstable();
        for (iid, &(_, index)) in (1..).zip(&self.order) {
            if let Some(iids) = self.uses.get_mut(index as usize) {
                iids[role as usize] = iid;
            }
            let text = resolve(&self.texts, self.names, block, index).unwrap_or("");
            put_length(interned_data, table, 1 + encoded_len_varint(u64::from(iid)) + bytes_field_len(2, text.len()));
            put_varint(interned_data, 1, u64::from(iid));
            put_bytes(interned_data, 2, text.as_bytes());
        }
    }

    fn count(&mut self, index: Option<u32>, role: Role) {
        if let Some(uses) = index.and_then(|index| self.uses.get_mut(index as usize)) {
            uses[role as usize] = uses[role as usize].saturating_add(1);
        }
    }

    fn text<'a>(&self, block: &'a Block, index: u32, role: Role) -> Option<Text<'a>> {
        match self.uses.get(index as usize)?[role as usize] {
            0 => resolve(&self.texts, self.names, block, index).map(Text::InPlace),
            iid => Some(Text::Interned(iid)),
        }
    }

    #[inline]
    fn name_index(&self, name: NameRef) -> Option<u32> {
        match name {
            NameRef::None => None,
            NameRef::Interned(index) => Some(index),
            NameRef::Text(text) => self.text_index.get(text as usize).copied(),
        }
    }

    fn value_index(&self, value: ArgValue) -> Option<u32> {
        match value {
            ArgValue::Name(index) => Some(index),
            ArgValue::Text(text) => self.text_index.get(text as usize).copied(),
            ArgValue::Uint(_) | ArgValue::Int(_) | ArgValue::Bool(_) => None,
        }
    }
}

/// Whether an operation's name is written.
#[inline]
pub(super) fn has_name(op: &Op) -> bool {
    matches!(op.kind, OpKind::Begin | OpKind::Instant)
}

fn resolve<'a>(texts: &[TextRef], names: usize, block: &'a Block, index: u32) -> Option<&'a str> {
    match block.names.get(index as usize) {
        Some(name) => Some(name),
        None => texts.get((index as usize).checked_sub(names)?).map(|&text| block.texts.get(text)),
    }
}
