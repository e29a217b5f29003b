//! Addresses → functions of the model. One table per session.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::super::options::MiniProfilerOptions;
use super::losses;
use crate::format::Resolved;
use crate::format::program::Lookups;
use crate::model::{CoreId, Function, FunctionId, Isr, IsrId};

/// The slots of the direct table: a firmware has some hundreds of functions.
const SLOTS: usize = 1 << 10;

/// A function, and whether its calls are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KnownFunction {
    pub id: FunctionId,
    pub is_hidden: bool,
}

/// The functions of a session.
#[derive(Default)]
pub struct Functions {
    /// The last function looked up, by some bits of the address.
    recent: Vec<Option<(u32, KnownFunction)>>,
    all: FxHashMap<u32, KnownFunction>,
    /// Handlers by name: a function may be recorded with several addresses.
    handlers: FxHashMap<String, IsrId>,
    /// Functions by name and place in the source: one that is inlined in several places is recorded with an address for each.
    declared: FxHashMap<(String, Arc<str>, u32), KnownFunction>,
    /// How many of them the program has, in all sessions.
    pub lookups: Lookups,
}

impl Functions {
    /// Discards those of the session before.
    pub fn begin_session(&mut self) {
        *self = Functions { lookups: self.lookups, ..Functions::default() };
    }

    /// The function with an address; `None` at the limit of entities.
    #[inline]
    pub fn id(
        &mut self,
        address: u32,
        session: u32,
        core: CoreId,
        options: &MiniProfilerOptions,
        out: &mut Resolved<'_>,
    ) -> Option<KnownFunction> {
        let slot = (address >> 1 ^ address >> 11) as usize % SLOTS;
        match self.recent.get(slot) {
            Some(&Some((known, function))) if known == address => Some(function),
            _ => self.look_up(address, slot, session, core, options, out),
        }
    }

    #[cold]
    fn look_up(
        &mut self,
        address: u32,
        slot: usize,
        session: u32,
        core: CoreId,
        options: &MiniProfilerOptions,
        out: &mut Resolved<'_>,
    ) -> Option<KnownFunction> {
        self.recent.resize(SLOTS, None);
        let known = match self.all.get(&address) {
            Some(&known) => known,
            None => {
                let Some(known) = self.add(address, session, core, options, out) else {
                    out.ledger.enter_unplaced(losses::ENTITY_LIMIT, 1);
                    return None;
                };
                self.all.insert(address, known);
                known
            }
        };
        self.recent[slot] = Some((address, known));
        Some(known)
    }

    fn add(
        &mut self,
        address: u32,
        session: u32,
        core: CoreId,
        options: &MiniProfilerOptions,
        out: &mut Resolved<'_>,
    ) -> Option<KnownFunction> {
        let named = options.name(address);
        if options.has_symbols() {
            self.lookups.note(named.is_found);
        }
        let isr = match named.exception {
            None => None,
            Some(number) => match self.handlers.get(&named.name) {
                Some(&isr) => Some(isr),
                None => {
                    let isr = Isr { number, name: Some(named.name.as_str().into()), core, session };
                    let isr = out.entities.add_isr(isr);
                    if let Some(isr) = isr {
                        self.handlers.insert(named.name.clone(), isr);
                    }
                    isr
                }
            },
        };
        let is_hidden = options.function.as_ref().is_some_and(|pattern| !pattern.is_match(&named.name));
        let declared = named.source.as_ref().map(|source| (named.name.clone(), source.file.clone(), source.line));
        if let Some(&known) = declared.as_ref().and_then(|declared| self.declared.get(declared)) {
            return Some(known);
        }
        let source = named.source.and_then(|source| out.entities.add_source(source));
        let name = named.name.as_str().into();
        let id = out.entities.add_function(Function { name, address: u64::from(address), source, isr })?;
        let known = KnownFunction { id, is_hidden };
        self.declared.extend(declared.map(|declared| (declared, known)));
        Some(known)
    }
}
