//! The names of objects, functions, signals, application records and enumerations in one session of the target.
//!
//! An object's or function's key is its address. A signal's is the pair of its number and an object: the same number may mean
//! different signals for different objects.

use std::borrow::Cow;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::layout::Layout;
use super::record::{Field, Kind};
use crate::format::program::{NamedFunctions, function_from};
use crate::symbols::Symbols;

/// The limit of names of one kind. A real target has some thousands.
pub const NAMES_LIMIT: usize = 1 << 16;

/// The names of one session.
#[derive(Clone, Debug, Default)]
pub struct Names {
    objects: FxHashMap<u64, Box<str>>,
    functions: FxHashMap<u64, Box<str>>,
    signals: FxHashMap<(u32, u64), Box<str>>,
    /// By number: the only name that any object gives a signal; `None` if they differ.
    signals_alone: FxHashMap<u32, Option<Box<str>>>,
    records: FxHashMap<u8, Box<str>>,
    enums: FxHashMap<(u8, u8), Box<str>>,
    /// The program, for objects and functions that no dictionary names.
    program: Option<Arc<Symbols>>,
}

/// The id of the application record that unit tests send.
const ON_POST: u8 = 124;

/// Signals below this one belong to the framework.
pub const FIRST_USER_SIGNAL: u32 = 4;

impl Names {
    /// Adds the name in a dictionary record. The last name of a key is used. Other records are ignored.
    pub fn learn(&mut self, kind: Kind, layout: &Layout, data: &[u8]) {
        let fields = layout.fields(kind, data);
        // Before 5.5 the macros send the whole expression, usually an address.
        let name = || {
            let text = fields.text(Field::Name);
            String::from_utf8_lossy(text.strip_prefix(b"&").unwrap_or(text)).into_owned()
        };
        match kind {
            Kind::ObjDict => self.add_object(fields.uint(Field::Obj), &name()),
            Kind::FunDict => self.add_function(fields.uint(Field::Function), &name()),
            Kind::SigDict => self.add_signal(fields.uint(Field::Sig) as u32, fields.uint(Field::Obj), &name()),
            Kind::UsrDict => self.add_record(fields.uint(Field::Record) as u8, &name()),
            Kind::EnumDict => {
                let (value, group) = (fields.uint(Field::Value) as u8, fields.uint(Field::Group) as u8 & 7);
                add(&mut self.enums, (group, value), &name());
            }
            _ => {}
        }
    }

    /// Names an object.
    pub fn add_object(&mut self, address: u64, name: &str) {
        add(&mut self.objects, address, name);
    }

    /// Names a function.
    pub fn add_function(&mut self, address: u64, name: &str) {
        add(&mut self.functions, address, name);
    }

    /// Names an application record.
    pub fn add_record(&mut self, id: u8, name: &str) {
        add(&mut self.records, id, name);
    }

    /// Names a signal of an object, or of all with object 0.
    pub fn add_signal(&mut self, signal: u32, object: u64, name: &str) {
        add(&mut self.signals, (signal, object), name);
        if self.signals_alone.len() < NAMES_LIMIT || self.signals_alone.contains_key(&signal) {
            self.signals_alone
                .entry(signal)
                .and_modify(|alone| *alone = alone.take().filter(|known| **known == *name))
                .or_insert_with(|| Some(name.into()));
        }
    }

    /// Adds the names of another table whose keys have no name in this one.
    pub fn fill_from(&mut self, other: &Names) {
        fill(&mut self.objects, &other.objects);
        fill(&mut self.functions, &other.functions);
        fill(&mut self.records, &other.records);
        fill(&mut self.enums, &other.enums);
        let mut keys: Vec<_> = other.signals.keys().filter(|key| !self.signals.contains_key(key)).copied().collect();
        keys.sort_unstable();
        for (signal, object) in keys {
            if let Some(name) = other.signals.get(&(signal, object)) {
                self.add_signal(signal, object, name);
            }
        }
    }

    /// Takes names of objects and functions that no dictionary has from the program.
    pub fn use_program(&mut self, program: &Arc<Symbols>) {
        self.program = Some(program.clone());
    }

    /// Whether a program gives names.
    #[must_use]
    pub fn has_program(&self) -> bool {
        self.program.is_some()
    }

    /// Looks up the named functions in a program.
    #[must_use]
    pub fn look_up(&self, program: &Symbols) -> NamedFunctions {
        let mut functions: Vec<_> = self.functions.iter().filter(|(address, _)| **address != 0).collect();
        functions.sort_unstable();
        let mut found = NamedFunctions::default();
        functions.into_iter().for_each(|(&address, name)| found.note(program, address, name));
        found
    }

    /// The number of names.
    #[must_use]
    pub fn count(&self) -> usize {
        self.objects.len() + self.functions.len() + self.signals.len() + self.records.len() + self.enums.len()
    }

    /// The name of an object: the recorded one, or that of the variable of the program that it lies in, as `pumps+0x40`.
    #[must_use]
    pub fn object(&self, address: u64) -> Option<Cow<'_, str>> {
        if let Some(name) = self.objects.get(&address) {
            return Some(Cow::Borrowed(name));
        }
        let (name, offset) = self.program.as_ref().filter(|_| address != 0)?.data_at(address)?;
        Some(if offset == 0 { name.into_string() } else { format!("{name}+{offset:#x}") }.into())
    }

    /// The same; the address, of `width` bytes, if there is none.
    #[must_use]
    pub fn object_or_address(&self, address: u64, width: u8) -> String {
        self.object(address).map_or_else(|| address_text(address, width), Cow::into_owned)
    }

    /// The name of a function.
    #[must_use]
    pub fn function(&self, address: u64) -> Option<&str> {
        if let Some(name) = self.functions.get(&address) {
            return Some(name);
        }
        function_from(self.program.as_ref().filter(|_| address != 0)?, address).map(|function| function.name)
    }

    /// Whether only the program can name a function.
    #[must_use]
    pub fn is_left_to_program(&self, address: u64) -> bool {
        self.has_program() && address != 0 && !self.functions.contains_key(&address)
    }

    /// The name of a signal of an object: its own, else the global one. Of an unknown object, which is 0, else the only name that objects give
    /// the signal; `None` if they give it several.
    #[must_use]
    pub fn signal(&self, signal: u32, object: u64) -> Option<&str> {
        let own = self.signals.get(&(signal, object)).or_else(|| self.signals.get(&(signal, 0))).map(|name| &**name);
        own.or_else(|| self.signals_alone.get(&signal).filter(|_| object == 0)?.as_deref())
    }

    /// The name of an application record. The record that unit tests send has a fixed name.
    #[must_use]
    pub fn record(&self, id: u8) -> Option<&str> {
        let name = self.records.get(&id).map(|name| &**name);
        name.or((id == ON_POST).then_some("QUTEST_ON_POST"))
    }

    /// The name of an enumeration's value.
    #[must_use]
    pub fn value(&self, group: u8, value: u8) -> Option<&str> {
        self.enums.get(&(group, value)).map(|name| &**name)
    }
}

fn add<K: std::hash::Hash + Eq>(names: &mut FxHashMap<K, Box<str>>, key: K, name: &str) {
    if names.len() < NAMES_LIMIT || names.contains_key(&key) {
        names.insert(key, name.into());
    }
}

fn fill<K: std::hash::Hash + Eq + Copy>(names: &mut FxHashMap<K, Box<str>>, other: &FxHashMap<K, Box<str>>) {
    for (&key, name) in other {
        names.entry(key).or_insert_with(|| name.clone());
    }
}

/// An address in hex, with the digits of its width; 0 is `NULL`.
#[must_use]
pub fn address_text(address: u64, width: u8) -> String {
    if address == 0 { "NULL".to_owned() } else { format!("0x{address:0digits$X}", digits = usize::from(width) * 2) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signal_is_looked_up_with_its_object() {
        let mut names = Names::default();
        names.add_signal(4, 0, "EAT");
        names.add_signal(10, 0x100, "HUNGRY");
        assert_eq!((names.signal(4, 0x100), names.signal(4, 0)), (Some("EAT"), Some("EAT")));
        assert_eq!((names.signal(10, 0x100), names.signal(10, 0x200)), (Some("HUNGRY"), None));
        assert_eq!(names.signal(10, 0), Some("HUNGRY"));
        names.add_signal(10, 0x200, "HUNGRY");
        assert_eq!(names.signal(10, 0), Some("HUNGRY"));
        names.add_signal(10, 0x300, "THIRSTY");
        assert_eq!((names.signal(10, 0), names.signal(10, 0x300)), (None, Some("THIRSTY")));
        names.add_signal(10, 0x400, "HUNGRY");
        assert_eq!(names.signal(10, 0), None, "once ambiguous, always ambiguous");
        names.add_signal(4, 0x100, "EAT_ME");
        assert_eq!((names.signal(4, 0x100), names.signal(4, 0)), (Some("EAT_ME"), Some("EAT")));
    }

    #[test]
    fn addresses_have_the_width_of_the_target() {
        assert_eq!(address_text(0x12AB, 4), "0x000012AB");
        assert_eq!(address_text(0x12AB, 8), "0x00000000000012AB");
        assert_eq!(address_text(0, 4), "NULL");
    }
}
