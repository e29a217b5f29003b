//! The sizes of the parts of a trace. They decide where it is split into files of a given size, each of which is a conversion of
//! its own with a time range.

use crate::model::Nanos;
use crate::perfetto;
use crate::track::{Block, OpKind};

/// Limit of pieces. Beyond it, neighbours are joined.
const PIECES: usize = 1 << 15;

/// The bytes of a piece are spread evenly over its time, in this number of steps.
const STEPS: u64 = 8;

/// The sizes of the parts of a trace.
#[derive(Clone, Debug, Default)]
pub struct Sizes {
    pieces: Vec<Piece>,
    /// The bytes that each file needs: identity, descriptions of tracks, attributes.
    fixed_bytes: u64,
    /// The number of joined blocks per piece.
    together: usize,
    open: usize,
}

#[derive(Clone, Copy, Debug)]
struct Piece {
    first_ns: u64,
    last_ns: u64,
    bytes: u64,
}

impl Sizes {
    /// Adds packets that every part needs.
    pub(super) fn add_fixed(&mut self, bytes: usize) {
        self.fixed_bytes += bytes as u64;
    }

    /// Adds a block with its encoded size.
    pub(super) fn add_block(&mut self, block: &Block, bytes: usize) {
        // A part describes all tracks that are used before its end.
        let described = perfetto::epilogue(&block.tracks, &[]).len().min(bytes) as u64;
        self.fixed_bytes += described;
        let times = || block.ops.iter().filter(|op| op.kind != OpKind::Describe).map(|op| op.time_ns);
        let switches = || block.sched.iter().flat_map(|rows| &rows.switches).map(|row| row.time_ns);
        let first_ns = times().chain(switches()).min();
        let last_ns = times().chain(switches()).max();
        let (Some(first_ns), Some(last_ns)) = (first_ns, last_ns) else { return };
        let piece = Piece { first_ns, last_ns, bytes: bytes as u64 - described };
        if self.open > 0
            && let Some(last) = self.pieces.last_mut()
        {
            *last = last.with(piece);
        } else {
            self.pieces.push(piece);
        }
        self.open = (self.open + 1) % self.together.max(1);
        if self.pieces.len() > PIECES {
            self.pieces = self.pieces.chunks(2).filter_map(|pair| pair.iter().copied().reduce(Piece::with)).collect();
            self.together = self.together.max(1) * 2;
            self.open = 0;
        }
    }

    /// The bytes that each file needs besides events.
    #[must_use]
    pub fn fixed_bytes(&self) -> u64 {
        self.fixed_bytes
    }

    /// The times at which to split a trace so that no part has more than `limit_bytes`, as far as is known beforehand. A part
    /// begins at such a time and ends before the next one. `None` if the limit leaves no room for events.
    #[must_use]
    pub fn cuts(&self, limit_bytes: u64) -> Option<Vec<Nanos>> {
        // Slices that are open at a cut are written twice, and operations that are known late are counted where they are written.
        let room =
            limit_bytes.saturating_sub(limit_bytes / 16).checked_sub(self.fixed_bytes).filter(|&room| room >= limit_bytes / 4)?;
        let mut points: Vec<(u64, u64)> = Vec::with_capacity(self.pieces.len() * STEPS as usize);
        for piece in &self.pieces {
            let lasts_ns = u128::from(piece.last_ns - piece.first_ns);
            for step in 0..STEPS {
                let after_ns = u64::try_from(lasts_ns * u128::from(step) / u128::from(STEPS)).unwrap_or(0);
                let bytes = piece.bytes * (step + 1) / STEPS - piece.bytes * step / STEPS;
                points.push((piece.first_ns + after_ns, bytes));
            }
        }
        points.sort_unstable();
        let mut cuts: Vec<Nanos> = Vec::new();
        let mut part_bytes = 0;
        let mut begin_ns = points.first().map_or(0, |&(time_ns, _)| time_ns);
        for (time_ns, bytes) in points {
            if part_bytes + bytes > room && time_ns > begin_ns {
                cuts.push(Nanos(time_ns));
                (begin_ns, part_bytes) = (time_ns, 0);
            }
            part_bytes += bytes;
        }
        Some(cuts)
    }
}

impl Piece {
    fn with(self, other: Piece) -> Piece {
        Piece {
            first_ns: self.first_ns.min(other.first_ns),
            last_ns: self.last_ns.max(other.last_ns),
            bytes: self.bytes + other.bytes,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::track::{Flow, NameRef, Op, TrackId};

    fn block(times_ns: &[u64]) -> Block {
        let op = |&time_ns: &u64| Op {
            time_ns,
            value: 0,
            track: TrackId(1),
            name: NameRef::NONE,
            args_start: 0,
            args_len: 0,
            kind: OpKind::End,
            flow: Flow::None,
        };
        Block { ops: times_ns.iter().map(op).collect(), ..Block::default() }
    }

    #[test]
    fn a_trace_is_cut_where_a_part_would_become_too_large() {
        let mut sizes = Sizes::default();
        sizes.add_fixed(100);
        assert_eq!(sizes.cuts(1_000), Some(Vec::new()), "nothing to cut");
        for second in 0..10u64 {
            sizes.add_block(&block(&[second * 1_000, second * 1_000 + 999]), 400);
        }
        assert_eq!(sizes.cuts(10_000), Some(Vec::new()));
        let cuts = sizes.cuts(1_000).unwrap();
        assert_eq!(cuts.len(), 4, "{cuts:?}");
        assert!(cuts.windows(2).all(|pair| pair[0] < pair[1]));
        assert_eq!(sizes.cuts(120), None, "no room for events");
    }

    #[test]
    fn many_blocks_are_remembered_in_bounded_memory() {
        let mut sizes = Sizes::default();
        for time in 0..200_000u64 {
            sizes.add_block(&block(&[time * 10]), 100);
        }
        assert!(sizes.pieces.len() <= PIECES + 1);
        assert_eq!(sizes.pieces.iter().map(|piece| piece.bytes).sum::<u64>(), 20_000_000);
        assert_eq!(sizes.cuts(10_000_000).unwrap().len(), 2);
    }

    #[test]
    fn operations_at_one_time_cannot_be_cut() {
        let mut sizes = Sizes::default();
        (0..10).for_each(|_| sizes.add_block(&block(&[5]), 1_000));
        assert_eq!(sizes.cuts(2_000), Some(Vec::new()));
    }
}
