//! The time range of `--from` and `--to`. The whole capture is followed, so that states are right, but only the range is written.
//! Slices that are open at its borders are cut there; counters begin with their value at the start of the range.

use std::collections::BTreeMap;

use crate::track::{Block, NameKind, Op, OpKind, TrackId};

/// Follows open slices and counters while nothing is written.
pub struct Clip {
    from_ns: u64,
    to_ns: u64,
    before: bool,
    /// The open slices of each track, outermost first. Ordered, so that the output does not depend on a hash.
    open: BTreeMap<TrackId, Vec<Open>>,
    counters: BTreeMap<TrackId, (OpKind, i64)>,
}

/// An open slice.
enum Open {
    /// Begun before the range: its name.
    Before(Box<str>),
    /// Written.
    Written,
    /// Begun after the range: kept, so that its end does not close an older one.
    After,
}

/// The decision about an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// Write it.
    Write,
    /// Drop it.
    Drop,
    /// First write the slices and counters at the start of the range, then ask again.
    Enter,
}

impl Clip {
    /// A range; both ends belong to it.
    pub fn new(from_ns: u64, to_ns: u64) -> Clip {
        Clip { from_ns, to_ns: to_ns.max(from_ns), before: from_ns > 0, open: BTreeMap::new(), counters: BTreeMap::new() }
    }

    pub fn start_ns(&self) -> u64 {
        self.from_ns
    }

    pub fn end_ns(&self) -> u64 {
        self.to_ns
    }

    /// Whether the range has not begun.
    pub fn is_before(&self) -> bool {
        self.before
    }

    /// Judges one operation and may move it to the border of the range.
    pub fn judge(&mut self, op: &mut Op, block: &Block) -> Decision {
        if op.kind == OpKind::Describe {
            return Decision::Write;
        }
        if self.before {
            if op.time_ns < self.from_ns {
                self.follow(op, block);
                return Decision::Drop;
            }
            self.before = false;
            return Decision::Enter;
        }
        let after = op.time_ns > self.to_ns;
        // Known late: it begins before the range, and reaches into it.
        op.time_ns = op.time_ns.clamp(self.from_ns, self.to_ns);
        match op.kind {
            OpKind::Begin => {
                self.open.entry(op.track).or_default().push(if after { Open::After } else { Open::Written });
            }
            OpKind::End => {
                return match self.pop(op.track) {
                    Some(Open::Written) => Decision::Write,
                    _ => Decision::Drop,
                };
            }
            _ => {}
        }
        if after { Decision::Drop } else { Decision::Write }
    }

    /// Keeps the state before the range.
    fn follow(&mut self, op: &Op, block: &Block) {
        match op.kind {
            OpKind::Begin => self.open.entry(op.track).or_default().push(Open::Before(name_of(op, block).into())),
            OpKind::End => drop(self.pop(op.track)),
            OpKind::Counter | OpKind::FloatCounter => drop(self.counters.insert(op.track, (op.kind, op.value))),
            OpKind::Instant | OpKind::Describe => {}
        }
    }

    fn pop(&mut self, track: TrackId) -> Option<Open> {
        let stack = self.open.get_mut(&track)?;
        let open = stack.pop();
        if stack.is_empty() {
            self.open.remove(&track);
        }
        open
    }

    /// The slices that are open at the start of the range, outermost first on each track. From now on they count as written.
    pub fn enter(&mut self) -> Vec<(TrackId, Box<str>)> {
        let mut entered = Vec::new();
        for (&track, stack) in &mut self.open {
            for open in stack {
                if let Open::Before(name) = std::mem::replace(open, Open::Written) {
                    entered.push((track, name));
                }
            }
        }
        entered
    }

    /// The values of the counters at the start of the range.
    pub fn take_counters(&mut self) -> Vec<(TrackId, (OpKind, i64))> {
        std::mem::take(&mut self.counters).into_iter().collect()
    }

    /// The tracks of the slices that are still open, once for each slice.
    pub fn leave(&mut self) -> Vec<TrackId> {
        let stacks = std::mem::take(&mut self.open).into_iter();
        stacks
            .flat_map(|(track, stack)| stack.into_iter().filter(|open| matches!(open, Open::Written)).map(move |_| track))
            .collect()
    }
}

fn name_of<'a>(op: &Op, block: &'a Block) -> &'a str {
    match op.name.kind() {
        NameKind::None => "",
        NameKind::Interned(index) => block.names.get(index as usize).unwrap_or(""),
        NameKind::Text(index) => block.text_refs.get(index as usize).map_or("", |&text| block.texts.get(text)),
    }
}
