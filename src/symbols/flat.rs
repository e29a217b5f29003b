//! Intervals that may lie in one another, made flat: which is the innermost one at an address is one binary search.

/// An interval of addresses with a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Interval {
    pub(super) start: u64,
    /// The first address after it.
    pub(super) end: u64,
    /// How deep it lies in others that begin at the same address: the deeper is the inner one.
    pub(super) depth: u32,
    pub(super) value: u32,
}

/// Intervals that do not overlap, in order.
#[derive(Clone, Debug, Default)]
pub(super) struct Flat {
    pieces: Vec<(u64, u64, u32)>,
}

impl Flat {
    /// At every address the interval that begins last counts; of those that begin together, the deepest; then the last given.
    /// There are at most twice as many pieces as intervals.
    pub(super) fn new(mut intervals: Vec<Interval>) -> Flat {
        intervals.retain(|interval| interval.start < interval.end);
        intervals.sort_by_key(|interval| (interval.start, interval.depth));
        let mut flat = Flat { pieces: Vec::with_capacity(intervals.len()) };
        let mut open: Vec<Interval> = Vec::new();
        let mut at = 0;
        for interval in intervals {
            at = flat.close(&mut open, at, interval.start);
            flat.add(at, interval.start, open.last());
            at = interval.start;
            open.push(interval);
        }
        flat.close(&mut open, at, u64::MAX);
        flat.pieces.shrink_to_fit();
        flat
    }

    /// Closes what ends up to `until`, and returns where that leaves off.
    fn close(&mut self, open: &mut Vec<Interval>, mut at: u64, until: u64) -> u64 {
        while let Some(top) = open.last().filter(|top| top.end <= until) {
            let end = top.end;
            self.add(at, end, Some(top));
            at = at.max(end);
            open.pop();
        }
        at
    }

    fn add(&mut self, start: u64, end: u64, interval: Option<&Interval>) {
        let Some(value) = interval.map(|interval| interval.value) else { return };
        match self.pieces.last_mut() {
            Some((_, before_end, before)) if *before == value && *before_end == start => *before_end = end.max(start),
            _ if start < end => self.pieces.push((start, end, value)),
            _ => {}
        }
    }

    /// The value at an address.
    pub(super) fn at(&self, address: u64) -> Option<u32> {
        let after = self.pieces.partition_point(|&(start, ..)| start <= address);
        let &(_, end, value) = self.pieces.get(after.checked_sub(1)?)?;
        (address < end).then_some(value)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn flat(intervals: &[(u64, u64, u32)]) -> Flat {
        let interval = |(value, &(start, end, depth))| Interval { start, end, depth, value: value as u32 };
        Flat::new(intervals.iter().enumerate().map(interval).collect())
    }

    #[test]
    fn the_innermost_counts_and_the_outer_one_goes_on_after_it() {
        let nested = flat(&[(10, 50, 0), (20, 30, 1), (20, 25, 2), (60, 61, 0)]);
        let at: Vec<_> = [9, 10, 19, 20, 24, 25, 29, 30, 49, 50, 60, 61].map(|address| nested.at(address)).into();
        let expected = [None, Some(0), Some(0), Some(2), Some(2), Some(1), Some(1), Some(0), Some(0), None, Some(3), None];
        assert_eq!(at, expected);
        assert_eq!(Flat::default().at(0), None);
    }

    proptest! {
        #[test]
        fn any_intervals_give_at_every_address_one_that_is_there(
            intervals in proptest::collection::vec((0u64..40, 0u64..40, 0u32..3), 0..12)
        ) {
            let flat = flat(&intervals);
            prop_assert!(flat.pieces.len() <= 2 * intervals.len());
            prop_assert!(flat.pieces.windows(2).all(|pair| pair[0].1 <= pair[1].0));
            for address in 0..41 {
                let over = intervals.iter().enumerate().filter(|(_, (start, end, _))| (*start..*end).contains(&address));
                let innermost = over.max_by_key(|&(index, &(start, _, depth))| (start, depth, index));
                prop_assert_eq!(flat.at(address), innermost.map(|(index, _)| index as u32));
            }
        }
    }
}
