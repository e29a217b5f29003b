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

/// Code that was found running. Also a handle: an index into [`Entities::codes`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CodeId(pub u32);

impl CodeId {
    /// The handle as a vector index.
    #[inline]
    #[must_use]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A place in the program where a sample found the processor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SampledCode {
    /// Its address.
    pub address: u64,
    /// The functions it is of, the outermost first: callers, or functions in which others are inlined.
    pub stack: Arc<[FunctionId]>,
}

/// More functions are not open on one track.
const OPEN_LIMIT: usize = 1 << 12;

/// The functions that are open on a track, outermost first, by a number of each.
#[derive(Clone, Debug, Default)]
pub struct OpenFunctions(Vec<u64>);

/// The effect of a function's end on open functions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// It also ends this many inner ones.
    Closes(usize),
    /// It was not entered.
    Unmatched,
}

impl OpenFunctions {
    /// A function begins. False if there are too many.
    pub fn enter(&mut self, function: u64) -> bool {
        let has_room = self.0.len() < OPEN_LIMIT;
        if has_room {
            self.0.push(function);
        }
        has_room
    }

    /// All functions end.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// The innermost open function.
    pub fn innermost(&self) -> Option<u64> {
        self.0.last().copied()
    }

    /// All functions end. How many were open.
    pub fn exit_all(&mut self) -> usize {
        let open = self.0.len();
        self.0.clear();
        open
    }

    /// A function ends.
    pub fn exit(&mut self, function: u64) -> Exit {
        match self.0.iter().rposition(|&open| open == function) {
            Some(place) => {
                let inner = self.0.len() - place - 1;
                self.0.truncate(place);
                Exit::Closes(inner)
            }
            None => Exit::Unmatched,
        }
    }
}

impl Entities {
    /// Adds code; `None` at the limit.
    pub fn add_code(&mut self, code: SampledCode) -> Option<CodeId> {
        if self.codes.len() >= Entities::LIMIT_PER_KIND {
            return None;
        }
        self.codes.push(code);
        u32::try_from(self.codes.len() - 1).ok().map(CodeId)
    }

    /// Adds a function; `None` at the limit.
    pub fn add_function(&mut self, function: Function) -> Option<FunctionId> {
        if self.functions.len() >= Entities::LIMIT_PER_KIND {
            return None;
        }
        self.functions.push(function);
        u32::try_from(self.functions.len() - 1).ok().map(FunctionId)
    }
}
