//! Calls of functions that the compiler has instrumented (`-finstrument-functions`), as a module of ESP-IDF sends them.
//!
//! A module describes itself when it starts; a recording that begins later lacks that. The events are found in the program then: their
//! first argument is the address of a function.

use std::collections::{BTreeMap, BTreeSet};

use super::record::{Fields, id};
use crate::format::program::function_from;
use crate::symbols::Symbols;

/// The module's name.
pub const MODULE: &[u8] = b"M=ESP_FunctionTrace";

/// The module's events.
pub const EVENTS: &str = "0 function_enter func=%p call_site=%p, 1 function_exit func=%p call_site=%p";

/// Only the first ids of modules are looked at.
const IDS: u16 = 64;

/// How many addresses of an id are kept: the lowest.
const ADDRESSES: usize = 32;

/// The events of modules, and the first arguments of those whose payloads all are two numbers.
#[derive(Clone, Debug, Default)]
pub struct ModuleEvents(BTreeMap<u16, Option<BTreeSet<u64>>>);

impl ModuleEvents {
    /// Notes an event.
    pub fn note(&mut self, event: u16, mut payload: Fields<'_>) {
        if event >= id::FIRST_OF_MODULES + IDS {
            return;
        }
        let pair = payload.next_long().zip(payload.next_long()).filter(|_| payload.0.is_empty());
        self.add(event, pair.map(|(first, _)| first));
    }

    fn add(&mut self, event: u16, first: Option<u64>) {
        let known = self.0.entry(event).or_insert_with(|| Some(BTreeSet::new()));
        match (known.as_mut(), first) {
            (Some(all), Some(first)) => {
                if all.insert(first) && all.len() > ADDRESSES {
                    all.pop_last();
                }
            }
            _ => *known = None,
        }
    }

    /// Adds the events that follow.
    pub fn append(&mut self, next: ModuleEvents) {
        for (event, firsts) in next.0 {
            match firsts {
                Some(firsts) => firsts.into_iter().for_each(|first| self.add(event, Some(first))),
                None => self.add(event, None),
            }
        }
    }

    /// The ids.
    pub fn ids(&self) -> impl Iterator<Item = u16> {
        self.0.keys().copied()
    }

    /// The first of two ids, one after the other and not described, whose first arguments all are addresses of functions.
    pub fn functions(&self, symbols: &Symbols, is_described: impl Fn(u16) -> bool) -> Option<u16> {
        let are_functions = |event| {
            let firsts = self.0.get(&event).and_then(Option::as_ref);
            !is_described(event)
                && firsts.is_some_and(|firsts| firsts.iter().all(|&first| function_from(symbols, first).is_some()))
        };
        self.ids().find(|&event| are_functions(event) && event.checked_add(1).is_some_and(are_functions))
    }
}
