//! The target's addresses and signal numbers → dense handles, and the names that go with them.
//!
//! Every record contains some.

use std::collections::hash_map::Entry;
use std::ops::{Index, IndexMut};

use rustc_hash::FxHashMap;

use super::super::names::{FIRST_USER_SIGNAL, Names, address_text};
use crate::format::program::Lookups;
use crate::model::{Entities, LaneId, MachineId, NameId};

/// The limit of addresses of one kind. A real target has some thousands.
const LIMIT: usize = 1 << 16;

/// Something for each number of one byte.
pub struct ByNumber<T>(Box<[T; 256]>);

impl<T: Copy + Default> Default for ByNumber<T> {
    fn default() -> ByNumber<T> {
        ByNumber(Box::new([T::default(); 256]))
    }
}

impl<T: Copy + Default> ByNumber<T> {
    pub fn clear(&mut self) {
        self.0.fill(T::default());
    }
}

impl<T> Index<u8> for ByNumber<T> {
    type Output = T;

    fn index(&self, number: u8) -> &T {
        &self.0[usize::from(number)]
    }
}

impl<T> IndexMut<u8> for ByNumber<T> {
    fn index_mut(&mut self, number: u8) -> &mut T {
        &mut self.0[usize::from(number)]
    }
}

/// Dense indexes of 64-bit keys.
struct Indexes {
    /// Keys that were looked up lately, and their indexes; `usize::MAX`: there is none.
    recent: Box<[(u64, usize); 256]>,
    all: FxHashMap<u64, usize>,
}

impl Default for Indexes {
    fn default() -> Indexes {
        Indexes { recent: Box::new([(0, usize::MAX); 256]), all: FxHashMap::default() }
    }
}

impl Indexes {
    fn place_of(key: u64) -> usize {
        // The product's upper bits depend on all bits of the key.
        (key.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 56) as usize
    }

    /// The item of a key, if that was looked up lately.
    #[inline]
    fn recent<'a, T>(&self, key: u64, items: &'a [T]) -> Option<(usize, &'a T)> {
        let (known, index) = self.recent[Self::place_of(key)];
        items.get(index).filter(|_| known == key).map(|item| (index, item))
    }

    /// The index of a key's item; if the key is new, of the item made for it. `None`: at the limit, or none was made.
    fn of<T>(&mut self, key: u64, items: &mut Vec<T>, make: impl FnOnce() -> Option<T>) -> Option<usize> {
        let index = match self.all.entry(key) {
            Entry::Occupied(known) => *known.get(),
            Entry::Vacant(new) => {
                let next = Some(items.len()).filter(|&next| next < LIMIT)?;
                items.push(make()?);
                *new.insert(next)
            }
        };
        self.recent[Self::place_of(key)] = (key, index);
        Some(index)
    }
}

/// An object: a state machine, a sender, a queue, a pool, a time event, a semaphore, a mutex. It may be several of these.
#[derive(Clone, Copy, Debug, Default)]
pub struct Object {
    /// Its address.
    pub address: u64,
    /// As a state machine.
    pub machine: Option<MachineId>,
    /// In other roles: a track for each.
    pub lanes: [Option<LaneId>; 5],
    /// The places that the last post into its empty queue recorded as free, and the stretch of it.
    pub free_when_empty: Option<(u32, u32)>,
    /// Known to be empty, in the stretch without a gap of this number.
    pub empty_in: Option<u32>,
    /// The last record of its queue is a post, in the stretch of this number, with this number of free places.
    pub posted_in: Option<(u32, u32)>,
    /// Whether its queue has been used.
    pub is_used: bool,
    /// A step is open, in the stretch of this number.
    pub step_in: Option<u32>,
    /// As a time event: armed, in the stretch of this number.
    pub armed_in: Option<u32>,
    /// As a mutex: held, in the stretch of this number.
    pub held_in: Option<u32>,
    /// As a time event.
    pub armed: Armed,
}

/// How a time event was armed.
#[derive(Clone, Copy, Debug, Default)]
pub struct Armed {
    /// The time stamp, as recorded.
    pub at: u32,
    /// The number of ticks.
    pub ticks: u32,
    /// The number of ticks of each repetition; 0: it is not repeated.
    pub interval: u32,
    /// Whether it has not been posted since it was armed.
    pub is_first: bool,
}

impl Armed {
    /// By how many ticks it was late (early, if negative) when posted `passed` units after it was armed, by a counter of this number of bits,
    /// which may have wrapped. The first tick after arming may come immediately; each later one takes a whole tick.
    pub fn late_ticks(self, passed: u32, bits: u32, units_per_tick: u64) -> Option<i64> {
        let units = i64::try_from(units_per_tick).ok().filter(|&units| units > 0)?;
        let half_ticks = 2 * i64::from(self.ticks) - i64::from(self.is_first);
        // In halves of a unit. A difference of up to three quarters of a tick is within the uncertainty.
        let range = 1 << bits;
        let twice_late = (2 * i64::from(passed) - half_ticks.checked_mul(units)? + range).rem_euclid(2 * range) - range;
        if twice_late.saturating_abs() <= units + units / 2 {
            return Some(0);
        }
        Some(twice_late.saturating_add(units * twice_late.signum()) / (2 * units))
    }
}

/// A function: a state.
#[derive(Clone, Copy, Debug)]
pub struct Function {
    /// Its name.
    pub name: NameId,
    /// The names of its records: `entry …` and so on, by [`Verb`].
    pub notes: [Option<NameId>; Verb::COUNT],
}

/// What happens to a state, by a record without a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verb {
    Entry,
    Exit,
    Init,
    History,
    EntryPoint,
    ExitPoint,
    Unhandled,
}

impl Verb {
    const COUNT: usize = 7;

    fn text(self) -> &'static str {
        match self {
            Verb::Entry => "entry",
            Verb::Exit => "exit",
            Verb::Init => "init",
            Verb::History => "history",
            Verb::EntryPoint => "entry point",
            Verb::ExitPoint => "exit point",
            Verb::Unhandled => "unhandled in",
        }
    }
}

/// The objects, functions and signals of a session.
#[derive(Default)]
pub struct Tables {
    objects_by_address: Indexes,
    /// By index.
    pub objects: Vec<Object>,
    functions_by_address: Indexes,
    functions: Vec<Function>,
    signals_by_key: Indexes,
    signals: Vec<NameId>,
    /// Phrases about signals, by signal's name and word.
    phrases: FxHashMap<(NameId, &'static str), NameId>,
    /// The functions without a name in a dictionary that were looked up in the program.
    pub lookups: Lookups,
}

impl Tables {
    /// The index of an object.
    #[inline]
    pub fn object(&mut self, address: u64) -> Option<usize> {
        match self.objects_by_address.recent(address, &self.objects) {
            Some((index, _)) => Some(index),
            None => self.find_object(address),
        }
    }

    #[cold]
    fn find_object(&mut self, address: u64) -> Option<usize> {
        self.objects_by_address.of(address, &mut self.objects, || Some(Object { address, ..Object::default() }))
    }

    /// The name of a function.
    #[inline]
    pub fn function(&mut self, address: u64, width: u8, names: &Names, entities: &mut Entities) -> Option<NameId> {
        match self.functions_by_address.recent(address, &self.functions) {
            Some((_, function)) => Some(function.name),
            None => {
                let index = self.find_function(address, width, names, entities)?;
                self.functions.get(index).map(|function| function.name)
            }
        }
    }

    #[cold]
    fn find_function(&mut self, address: u64, width: u8, names: &Names, entities: &mut Entities) -> Option<usize> {
        self.functions_by_address.of(address, &mut self.functions, || {
            let name = names.function(address);
            if names.is_left_to_program(address) {
                self.lookups.note(name.is_some());
            }
            let name = match name {
                Some(name) => entities.add_name(name),
                None => entities.add_name(&address_text(address, width)),
            };
            Some(Function { name: name?, notes: [None; Verb::COUNT] })
        })
    }

    /// The name of a note about a state.
    #[inline]
    pub fn note(&mut self, verb: Verb, address: u64, width: u8, names: &Names, entities: &mut Entities) -> Option<NameId> {
        let known = self.functions_by_address.recent(address, &self.functions);
        match known.and_then(|(_, function)| function.notes[verb as usize]) {
            Some(note) => Some(note),
            None => self.find_note(verb, address, width, names, entities),
        }
    }

    #[cold]
    fn find_note(&mut self, verb: Verb, address: u64, width: u8, names: &Names, entities: &mut Entities) -> Option<NameId> {
        let index = self.find_function(address, width, names, entities)?;
        let function = self.functions.get_mut(index)?;
        let place = function.notes.get_mut(verb as usize)?;
        if place.is_none() {
            let phrase = format!("{} {}", verb.text(), entities.names.get(function.name.index())?);
            *place = entities.add_name(&phrase);
        }
        *place
    }

    /// The name of a signal of an object, given by its index; `None`: of an unknown object.
    #[inline]
    pub fn signal(&mut self, signal: u32, object: Option<usize>, names: &Names, entities: &mut Entities) -> Option<NameId> {
        let number = match object {
            None => 0,
            Some(_) if signal < FIRST_USER_SIGNAL => 1,
            Some(object) => object as u64 + 2,
        };
        let key = number << 32 | u64::from(signal);
        match self.signals_by_key.recent(key, &self.signals) {
            Some((_, &name)) => Some(name),
            None => self.find_signal(key, signal, object, names, entities),
        }
    }

    #[cold]
    fn find_signal(
        &mut self,
        key: u64,
        signal: u32,
        object: Option<usize>,
        names: &Names,
        entities: &mut Entities,
    ) -> Option<NameId> {
        let address = object.and_then(|object| self.objects.get(object)).map(|object| object.address);
        let index = self.signals_by_key.of(key, &mut self.signals, || match names.signal(signal, address.unwrap_or(0)) {
            Some(name) => entities.add_name(name),
            None => entities.add_name(&format!("signal {signal}")),
        })?;
        self.signals.get(index).copied()
    }

    /// A word followed by a signal's name.
    pub fn phrase(&mut self, word: &'static str, signal: NameId, entities: &mut Entities) -> Option<NameId> {
        if let Some(&phrase) = self.phrases.get(&(signal, word)) {
            return Some(phrase);
        }
        let text = format!("{word} {}", entities.names.get(signal.index())?);
        let phrase = entities.add_name(&text)?;
        self.phrases.insert((signal, word), phrase);
        Some(phrase)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_without_an_item_does_not_move_those_of_others() {
        let (mut indexes, mut items) = (Indexes::default(), Vec::new());
        for key in 0..10 {
            indexes.of(key, &mut items, || (key % 3 != 1).then_some(key));
        }
        for key in 0..10 {
            let index = indexes.of(key, &mut items, || None);
            assert_eq!(index.map(|index| items[index]), (key % 3 != 1).then_some(key));
        }
    }

    #[test]
    fn a_late_time_event_is_recognised() {
        let armed = Armed { at: 0, ticks: 10, interval: 0, is_first: true };
        let late = |passed| armed.late_ticks(passed, 32, 1000);
        assert_eq!([9000, 9500, 10_000, 10_200].map(late), [Some(0); 4]);
        assert_eq!((late(11_500), late(7_500), late(30_000)), (Some(2), Some(-2), Some(21)));
        let again = Armed { is_first: false, ..armed };
        let late = |passed| again.late_ticks(passed, 32, 1000);
        assert_eq!((late(10_100), late(11_000), again.late_ticks(1, 32, 0)), (Some(0), Some(1), None));
        // The counter wraps.
        let long = Armed { ticks: 100, ..again };
        let late = |passed: u64| long.late_ticks((passed % (1 << 16)) as u32, 16, 1000);
        assert_eq!((late(100_010), late(105_000), late(97_000)), (Some(0), Some(5), Some(-3)));
    }
}
