//! What was found out about a stream once, where many places ask for it.

use std::cell::{Cell, RefCell};

use super::{NoLength, Reading};

/// The length of a message, if it has one, and whether a checksum proves it.
type Length = Result<(usize, bool), NoLength>;

/// Lengths that were found out while an anchor was looked for: chains from many places run through the same messages.
#[derive(Debug, Default)]
pub(super) struct Memo(RefCell<Vec<Option<(usize, Reading, Length)>>>);

impl Memo {
    /// How many are kept, as a power of two.
    const BITS: u32 = 10;

    fn slot(at: usize) -> usize {
        ((at as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (u64::BITS - Memo::BITS)) as usize
    }

    pub(super) fn get(&self, at: usize, reading: Reading) -> Option<Length> {
        let memo = self.0.borrow();
        let (known_at, known_reading, length) = (*memo.get(Memo::slot(at))?)?;
        (known_at == at && known_reading == reading).then_some(length)
    }

    pub(super) fn put(&self, at: usize, reading: Reading, length: Length) {
        let mut memo = self.0.borrow_mut();
        memo.resize(1 << Memo::BITS, None);
        if let Some(slot) = memo.get_mut(Memo::slot(at)) {
            *slot = Some((at, reading, length));
        }
    }
}

/// Where messages begin whose checksums fit, found out once for stretches that overlap.
#[derive(Debug, Default)]
pub(super) struct Proofs(Cell<Proof>);

/// From a place on, up to another one, this is the first.
#[derive(Clone, Copy, Debug, Default)]
struct Proof {
    from: usize,
    to: usize,
    first: Option<usize>,
}

impl Proofs {
    /// Whether `is_proven` holds for one of these places. It is always the same.
    pub(super) fn any(&self, from: usize, to: usize, is_proven: impl Fn(usize) -> bool) -> bool {
        let mut known = self.0.get();
        if !(known.from..=known.to).contains(&from) || known.first.is_some_and(|first| first < from) {
            known = Proof { from, to: from, first: None };
        }
        if known.first.is_none() && known.to < to {
            known.first = (known.to..to).find(|&at| is_proven(at));
            known.to = known.first.unwrap_or(to);
        }
        self.0.set(known);
        known.first.is_some_and(|first| first < to)
    }
}
