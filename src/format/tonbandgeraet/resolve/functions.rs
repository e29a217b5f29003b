//! Names of functions that the target traced, by their addresses, from the program that ran.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::format::program::Lookups;
use crate::model::Entities;
use crate::symbols::Symbols;

/// Names by address.
#[derive(Default)]
pub struct Functions {
    symbols: Option<Arc<Symbols>>,
    /// How many of them the program has.
    pub lookups: Lookups,
    /// Those that were asked for.
    names: FxHashMap<u64, Arc<str>>,
}

impl Functions {
    /// With the program that ran, if it was given.
    pub fn new(symbols: Option<Arc<Symbols>>) -> Functions {
        Functions { symbols, ..Functions::default() }
    }

    /// The name of the function with an address as the compiler's hook is given it, or the address.
    pub fn name(&mut self, address: u64) -> Arc<str> {
        if let Some(name) = self.names.get(&address) {
            return name.clone();
        }
        let function = self.symbols.as_ref().and_then(|symbols| symbols.hooked_function(address));
        self.lookups.note(function.is_some());
        let name: Arc<str> = function.map_or_else(|| format!("0x{address:08X}"), |function| function.name.to_owned()).into();
        // More functions than that are damage.
        if self.names.len() < Entities::LIMIT_PER_KIND {
            self.names.insert(address, name.clone());
        }
        name
    }
}
