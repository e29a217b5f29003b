//! Functions of the firmware, whose completed calls are [`EventKind::Call`](super::EventKind::Call)s.

use std::sync::Arc;

use super::{Entities, IsrId, SourceId};

/// A function. Also a handle: an index into [`Entities::functions`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FunctionId(pub u32);

impl FunctionId {
    /// The handle as a vector index.
    #[inline]
    #[must_use]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A function of the firmware, in one session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Function {
    /// Its name, or its address in hex.
    pub name: Arc<str>,
    /// The address by which the target names it.
    pub address: u64,
    /// Its place in the source code, if known.
    pub source: Option<SourceId>,
    /// The interrupt that it handles. Calls of a handler interrupt others, and are drawn on the interrupt's track.
    pub isr: Option<IsrId>,
}

impl Entities {
    /// Adds a function; `None` at the limit.
    pub fn add_function(&mut self, function: Function) -> Option<FunctionId> {
        if self.functions.len() >= Entities::LIMIT_PER_KIND {
            return None;
        }
        self.functions.push(function);
        u32::try_from(self.functions.len() - 1).ok().map(FunctionId)
    }
}
