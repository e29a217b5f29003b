//! The texts of a block: whether each is interned, and under which number.
//!
//! Perfetto has a table for each role of a text (event name, annotation name, annotation value, …), and a number of one byte for
//! the first 127 of each. So the most frequent come first. A text that is used once is written in place, because interning it
//! costs more.

use std::hash::Hasher;

use prost::encoding::encoded_len_varint;
use rustc_hash::FxHasher;

use super::wire::{ShortField, bytes_field_len, put_bytes, put_length, put_varint, varint28};
use crate::model::Tag;
use crate::track::{Annotation, AnnotationValue, Block, NameRef};

/// The use of a text.
#[derive(Clone, Copy)]
pub(super) enum Role {
    EventName = 0,
    ArgName = 1,
    ArgValue = 2,
    /// Interned even if it is used once.
    LogBody = 3,
    /// Interned even if it is used once.
    Category = 4,
}

/// The roles, each with the field of `InternedData` that is its table, and the field that refers to an entry.
const TABLES: [(Role, u32, u32); 5] = [
    (Role::EventName, 2, NAME_IID),
    (Role::ArgName, 3, ARG_NAME_IID),
    (Role::ArgValue, 29, ARG_STRING_VALUE_IID),
    (Role::LogBody, 20, LOG_BODY_IID),
    (Role::Category, 1, CATEGORY_IID),
];

/// The number of uses from which a table entry saves bytes.
const MIN_USES: u32 = 2;

/// `TrackEvent.name_iid`.
pub(super) const NAME_IID: u32 = 10;
/// `DebugAnnotation.name_iid`.
pub(super) const ARG_NAME_IID: u32 = 1;
/// `DebugAnnotation.string_value_iid`.
pub(super) const ARG_STRING_VALUE_IID: u32 = 17;

/// `TrackEvent.category_iids`.
pub(super) const CATEGORY_IID: u32 = 3;

/// `LogMessage.body_iid`.
const LOG_BODY_IID: u32 = 2;

/// The form in which a text is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Text<'a> {
    /// By its number in the table of its role.
    Interned(u32),
    /// In place.
    InPlace(&'a [u8]),
}

/// Reusable memory for the texts of one block.
///
/// Every reference of the block is a slot here: 0 is no text, then come the block's names, then its texts of the capture. Texts
/// of the capture may be equal; all of these use the slot of the first.
#[derive(Default)]
pub(super) struct Strings {
    /// For each role and slot, the number of uses; once numbered, its number there (0: none). If a role uses no text of the
    /// capture, their slots are left out.
    uses: [Vec<u32>; 5],
    /// Uses of names as an event name, counted in a second place.
    more_event_names: Vec<u32>,
    /// For each role but that of log messages and each slot of a name, the field that refers to its number, or too long if the name is
    /// to be written in place. Texts of the capture are many, and few of them have a number.
    fields: [Vec<ShortField>; 5],
    /// The slots whose text has an earlier slot, and the first such.
    doubles: Vec<(u32, u32)>,
    /// The first slot of the texts of the capture.
    texts_start: usize,
    /// The number of slots.
    slots: usize,
    /// A hash table of the texts' slots; 0 for an empty entry. At most half full.
    known: Vec<u32>,
    /// Part of the hash of each text.
    hashes: Vec<u32>,
    /// Memory for sorting: see [`rank`].
    order: Vec<u64>,
}

/// The number of uses of each name and text as an event name. Equal texts are merged later, because counting runs for each operation.
pub(super) struct NameUses<'a> {
    /// In two places.
    names: [&'a mut [u32]; 2],
    texts: &'a mut [u32],
}

impl NameUses<'_> {
    /// Counts a use.
    #[inline]
    pub(super) fn count<const PLACE: usize>(&mut self, name: NameRef) {
        let uses = if name.is_text() { &mut *self.texts } else { &mut *self.names[PLACE] };
        if let Some(uses) = uses.get_mut(name.number() as usize) {
            *uses += 1;
        }
    }
}

impl Strings {
    /// Starts with a block: finds the texts of the capture that are equal.
    #[inline(never)]
    pub(super) fn start(&mut self, block: &Block) {
        self.texts_start = 1 + block.names.len();
        self.slots = self.texts_start + block.text_refs.len();
        let start = self.texts_start as u32;
        self.doubles.clear();
        self.known.clear();
        self.known.resize((2 * block.text_refs.len()).next_power_of_two(), 0);
        self.hashes.clear();
        self.hashes.reserve(block.text_refs.len());
        let Strings { known, hashes, doubles, texts_start, .. } = self;
        for (slot, &text) in (start..).zip(&block.text_refs) {
            let first = find_or_add(known, hashes, *texts_start, block, block.texts.bytes(text), slot);
            if first != slot {
                doubles.push((slot, first));
            }
        }
        self.uses.iter_mut().for_each(Vec::clear);
        // Only as far as these roles reach: texts of the capture are seldom values, and many blocks have no log.
        self.uses[Role::EventName as usize].resize(self.slots, 0);
        self.uses[Role::ArgName as usize].resize(self.texts_start, 0);
        self.uses[Role::ArgValue as usize].resize(self.texts_start, 0);
        self.uses[Role::Category as usize].resize(self.texts_start, 0);
        self.more_event_names.clear();
        self.more_event_names.resize(self.texts_start, 0);
    }

    /// The places to count the uses of event names.
    pub(super) fn event_name_uses(&mut self) -> NameUses<'_> {
        let (names, texts) = self.uses[Role::EventName as usize].split_at_mut(self.texts_start);
        NameUses { names: [names, &mut self.more_event_names], texts }
    }

    /// Numbers all texts by their uses (event names must have been counted), and writes the tables.
    pub(super) fn number_all(&mut self, block: &Block, interned_data: &mut Vec<u8>) {
        let uses = &mut self.uses[Role::EventName as usize];
        uses.iter_mut().zip(&self.more_event_names).for_each(|(uses, more)| *uses += more);
        self.count_args(block);
        for (role, table, field) in TABLES {
            self.number(block, role, (table, field), interned_data);
        }
    }

    /// Counts the uses of texts in annotations, which outnumber the events.
    #[inline(never)]
    fn count_args(&mut self, block: &Block) {
        let Strings { uses: [_, arg_names, values, bodies, categories], slots, texts_start, .. } = self;
        // As slices, whose places the processor keeps in registers.
        let (arg_names, categories) = (arg_names.as_mut_slice(), categories.as_mut_slice());
        let (start, all) = (*texts_start, *slots);
        if block.args.iter().any(|arg| arg.tag() == Tag::Log) {
            bodies.resize(all, 0);
        }
        let bodies = bodies.as_mut_slice();
        let count = |uses: &mut [u32], slot: usize| {
            if let Some(uses) = uses.get_mut(slot) {
                *uses += 1;
            }
        };
        let count_text = |uses: &mut Vec<u32>, index: usize| {
            if uses.len() < all {
                uses.resize(all, 0);
            }
            count(uses, start + index);
        };
        let mut grades = [0u32; 1 << u8::BITS];
        for arg in &block.args {
            let index = arg.bits() as u32 as usize;
            match arg.tag() {
                tag if tag.is_plain() => {}
                Tag::Log => {
                    count(bodies, start + index);
                    grades[arg.grade() % grades.len()] += 1;
                    continue;
                }
                Tag::Category => {
                    count(categories, 1 + index);
                    continue;
                }
                Tag::Name if 1 + index < start => count(values, 1 + index),
                Tag::Text => count_text(values, index),
                _ => {}
            }
            count(arg_names, 1 + arg.name as usize);
        }
        for (grade, &count) in block.grades.iter().zip(&grades[1..]) {
            for (uses, name) in [(&mut *arg_names, grade.name), (values, grade.severity), (&mut *categories, grade.category)] {
                if let Some(uses) = uses.get_mut(1 + name as usize) {
                    *uses += count;
                }
            }
        }
    }

    /// The name field of annotations, by their names' indexes; too long if the name is to be written in place.
    #[inline]
    pub(super) fn arg_name_fields(&self) -> &[ShortField] {
        self.fields[Role::ArgName as usize].get(1..).unwrap_or(&[])
    }

    /// The field of events that refers to their category, by the categories' indexes.
    #[inline]
    pub(super) fn category_fields(&self) -> &[ShortField] {
        self.fields[Role::Category as usize].get(1..).unwrap_or(&[])
    }

    /// The name field of an event, or the text field of an annotation. Empty without a name, too long if the text is to be written in
    /// place.
    #[inline]
    pub(super) fn field(&self, name: NameRef, role: Role) -> ShortField {
        if name.is_text() {
            return self.text_field(name.number(), role);
        }
        self.fields[role as usize].get(name.number() as usize).copied().unwrap_or(ShortField::TOO_LONG)
    }

    /// The field that refers to a text of the capture; too long if the text is to be written in place.
    #[inline(always)]
    pub(super) fn text_field(&self, text: u32, role: Role) -> ShortField {
        let (_, _, field) = TABLES[role as usize];
        match self.uses[role as usize].get(self.texts_start + text as usize) {
            None | Some(0) => ShortField::TOO_LONG,
            Some(&iid) => ShortField::new(field, iid),
        }
    }

    /// The name fields of events by the number of a name.
    pub(super) fn event_name_fields(&self) -> &[ShortField] {
        &self.fields[Role::EventName as usize]
    }

    /// The annotations of each grade's log messages in the block; of grade 0, none. `None` if some text is to be written in place.
    pub(super) fn grade_fields(&self, block: &Block) -> impl Iterator<Item = Option<[ShortField; 3]>> {
        let all = block.grades.iter().map(|grade| {
            let roles = [(Role::ArgName, grade.name), (Role::ArgValue, grade.severity), (Role::Category, grade.category)];
            let fields = roles.map(|(role, name)| self.field(NameRef::interned(name), role));
            (!ShortField::any_too_long(fields)).then_some(fields)
        });
        std::iter::once(Some([ShortField::EMPTY; 3])).chain(all)
    }

    /// The text field of an annotation's value; too long for all other values.
    #[inline]
    pub(super) fn arg_value_field(&self, arg: &Annotation) -> ShortField {
        let index = arg.bits() as u32;
        match arg.tag() {
            Tag::Name => self.field(NameRef::interned(index), Role::ArgValue),
            Tag::Text => self.field(NameRef::text(index), Role::ArgValue),
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
    pub(super) fn arg_value<'a>(&self, block: &'a Block, value: AnnotationValue) -> Option<Text<'a>> {
        self.text(block, self.value_slot(value)?, Role::ArgValue)
    }

    /// The text of a log message.
    pub(super) fn log_body<'a>(&self, block: &'a Block, text: u32) -> Option<Text<'a>> {
        self.text(block, self.slot(NameRef::text(text)), Role::LogBody)
    }

    /// The number of a category.
    pub(super) fn category(&self, block: &Block, name: u32) -> Option<u32> {
        match self.text(block, self.slot(NameRef::interned(name)), Role::Category)? {
            Text::Interned(iid) => Some(iid),
            Text::InPlace(_) => None,
        }
    }

    #[inline(never)]
    fn number(&mut self, block: &Block, role: Role, (table, field): (u32, u32), interned_data: &mut Vec<u8>) {
        let min_uses = if matches!(role, Role::Category) { 1 } else { MIN_USES };
        let (uses, fields) = (&mut self.uses[role as usize], &mut self.fields[role as usize]);
        let has_texts = uses.len() > self.texts_start;
        if has_texts {
            for &(slot, first) in &self.doubles {
                uses[first as usize] += std::mem::take(&mut uses[slot as usize]);
            }
        }
        self.order.clear();
        // Most texts of the capture are used once: many are skipped at once.
        for (start, uses) in (0..).step_by(SKIPPED).zip(uses.chunks(SKIPPED)) {
            if uses.iter().fold(false, |any, &uses| any | (uses >= min_uses)) {
                let often = (start..).zip(uses).filter(|&(slot, &uses)| uses >= min_uses && slot > 0);
                self.order.extend(often.map(|(slot, &uses)| rank(uses, slot)));
            }
        }
        self.order.sort_unstable();
        let key = varint28(table << 3 | 2);
        let mut iid = 0;
        for &rank in &self.order {
            iid += 1;
            put_entry(interned_data, (table, key), iid, text_of(block, slot_of(rank)).unwrap_or_default());
        }
        if matches!(role, Role::LogBody) {
            // Most are used once and need not be sorted.
            for (uses, &text) in uses.iter_mut().skip(self.texts_start).zip(&block.text_refs) {
                if *uses == 1 {
                    iid += 1;
                    put_entry(interned_data, (table, key), iid, block.texts.bytes(text));
                    *uses = iid;
                } else {
                    *uses = 0;
                }
            }
        } else {
            uses.fill(0);
            fields.clear();
            fields.resize(self.texts_start, ShortField::TOO_LONG);
            fields[0] = ShortField::EMPTY;
        }
        for (iid, &rank) in (1..).zip(&self.order) {
            uses[slot_of(rank)] = iid;
            if let Some(place) = fields.get_mut(slot_of(rank)) {
                *place = ShortField::new(field, iid);
            }
        }
        if has_texts {
            for &(slot, first) in &self.doubles {
                uses[slot as usize] = uses[first as usize];
            }
        }
    }

    fn text<'a>(&self, block: &'a Block, slot: usize, role: Role) -> Option<Text<'a>> {
        match self.uses[role as usize].get(slot)? {
            0 => text_of(block, slot).map(Text::InPlace),
            &iid => Some(Text::Interned(iid)),
        }
    }

    /// The slot of a name; beyond all slots for an unknown one.
    #[inline]
    fn slot(&self, name: NameRef) -> usize {
        slot(name, self.texts_start)
    }

    /// `None` if the value is not a text.
    fn value_slot(&self, value: AnnotationValue) -> Option<usize> {
        match value {
            AnnotationValue::Name(index) => Some(self.slot(NameRef::interned(index))),
            AnnotationValue::Text(index) => Some(self.slot(NameRef::text(index))),
            _ => None,
        }
    }
}

/// The first slot that has this text, which is `slot` if it is new. For `known` and `hashes`, see [`Strings`].
#[inline(always)]
fn find_or_add(known: &mut [u32], hashes: &mut Vec<u32>, texts_start: usize, block: &Block, text: &[u8], slot: u32) -> u32 {
    let mut hasher = FxHasher::default();
    hasher.write(text);
    let hash = hasher.finish();
    let mask = known.len() - 1;
    let mut place = hash as usize & mask;
    let part = (hash >> 32) as u32;
    hashes.push(part);
    loop {
        let first = known[place];
        if first == 0 {
            known[place] = slot;
            return slot;
        }
        let is_same = hashes.get(first as usize - texts_start) == Some(&part);
        if is_same && text_of(block, first as usize) == Some(text) {
            return first;
        }
        place = (place + 1) & mask;
    }
}

/// See [`Strings::slot`]. Without branches: whether an event has a name is not predictable.
#[inline]
fn slot(name: NameRef, texts_start: usize) -> usize {
    let number = name.number() as usize;
    let (start, end) = if name.is_text() { (texts_start, usize::MAX) } else { (0, texts_start) };
    if number < end { start + number } else { usize::MAX }
}

/// How many slots are skipped at once if none of them is used twice.
const SKIPPED: usize = 16;

/// A number that sorts slots: the most used first.
#[inline]
fn rank(uses: u32, slot: u32) -> u64 {
    u64::from(u32::MAX - uses) << 32 | u64::from(slot)
}

/// The slot of a [`rank`].
#[inline]
fn slot_of(rank: u64) -> usize {
    rank as u32 as usize
}

/// Writes an entry of a table: `{ 1: iid, 2: text }`.
#[inline(always)]
fn put_entry(out: &mut Vec<u8>, (table, key): (u32, (u32, u32)), iid: u32, text: &[u8]) {
    if !put_short_entry(out, key, iid, text, ShortField::EMPTY) {
        put_long_entry(out, table, iid, text);
    }
}

#[cold]
fn put_long_entry(out: &mut Vec<u8>, table: u32, iid: u32, text: &[u8]) {
    put_length(out, table, 1 + encoded_len_varint(u64::from(iid)) + bytes_field_len(2, text.len()));
    put_varint(out, 1, u64::from(iid));
    put_bytes(out, 2, text);
}

/// Writes such an entry with another field at its end, if it is short, as nearly all are: all lengths take one byte, and the bytes before
/// the text are stored at once. `key` is that of the table, as a varint. False if it is not short.
#[inline(always)]
pub(super) fn put_short_entry(out: &mut Vec<u8>, (key, key_len): (u32, u32), iid: u32, text: &[u8], last: ShortField) -> bool {
    let number = ShortField::new(1, iid);
    let is_short = text.len() < SHORT_TEXT_LEN && !ShortField::any_too_long([number, last, last]);
    if is_short {
        let len = number.len() as usize + 2 + text.len() + last.len() as usize;
        let head = u64::from(key) | (len as u64) << (8 * key_len) | number.bytes() << (8 * (key_len + 1));
        let text_head = u64::from(TEXT_KEY) | (text.len() as u64) << 8;
        let head_len = (key_len + 1 + number.len()) & 7;
        let end = out.len() + head_len as usize + 2;
        // At most 8 bytes. Appending all and cutting them off is faster than a copy of variable length.
        out.extend_from_slice(&(head | text_head << (8 * head_len)).to_le_bytes());
        out.truncate(end);
        out.extend_from_slice(text);
        if last.len() > 0 {
            let end = out.len() + last.len() as usize;
            out.extend_from_slice(&last.bytes().to_le_bytes());
            out.truncate(end);
        }
    }
    is_short
}

/// Texts shorter than this, and their entries, have lengths of one byte.
const SHORT_TEXT_LEN: usize = 128 - 3 - 2 - 4;

/// The key of an entry's text.
const TEXT_KEY: u8 = 2 << 3 | 2;

/// The text of a slot; `None` for slot 0.
#[inline]
fn text_of(block: &Block, slot: usize) -> Option<&[u8]> {
    let index = slot.checked_sub(1)?;
    match index.checked_sub(block.names.len()) {
        None => block.names.get(index).map(str::as_bytes),
        Some(index) => block.text_refs.get(index).map(|&text| block.texts.bytes(text)),
    }
}
