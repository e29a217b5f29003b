//! Clocks beside the trace's own, and their readings at some times of the trace.

use super::Nanos;

/// A clock that is not the trace's own, and its readings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SideClock {
    /// The quantity that it counts.
    pub kind: ClockKind,
    /// Its readings, in order of the trace's time.
    pub readings: ClockReadings,
}

/// The quantity that a clock counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClockKind {
    /// The time of day: nanoseconds since 1970, UTC.
    Wall,
    /// A clock of the target, for people: nanoseconds since it began.
    Target(&'static str),
}

/// The reading of a clock at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockReading {
    /// The time on the trace's axis.
    pub time: Nanos,
    /// The reading, in nanoseconds.
    pub value: Nanos,
}

/// Readings in order of time. At most [`ClockReadings::LIMIT`] are kept, spread evenly, the first among them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClockReadings {
    kept: Thinned<ClockReading>,
}

impl ClockReadings {
    /// The limit of kept readings.
    pub const LIMIT: usize = Thinned::<ClockReading>::LIMIT;

    /// Adds a reading. One that lies before the last one is ignored.
    pub fn add(&mut self, time: Nanos, value: Nanos) {
        if self.kept.all().last().is_none_or(|last| last.time <= time) {
            self.kept.add(ClockReading { time, value });
        }
    }

    /// The readings that are kept.
    #[must_use]
    pub fn all(&self) -> &[ClockReading] {
        self.kept.all()
    }
}

/// A list of bounded length: it keeps every n-th item, and n doubles when the list is full.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Thinned<T> {
    kept: Vec<T>,
    /// Number of items added.
    added: u64,
    /// Every item whose number is a multiple of this is kept.
    stride: u64,
}

impl<T> Default for Thinned<T> {
    fn default() -> Thinned<T> {
        Thinned { kept: Vec::new(), added: 0, stride: 1 }
    }
}

impl<T> Thinned<T> {
    /// The limit of kept items.
    pub const LIMIT: usize = 4096;

    /// Adds an item, which may be left out.
    pub fn add(&mut self, item: T) {
        let number = self.added;
        self.added += 1;
        if !number.is_multiple_of(self.stride) {
            return;
        }
        if self.kept.len() >= Self::LIMIT {
            let mut index = 0;
            self.kept.retain(|_| {
                index += 1;
                index % 2 == 1
            });
            self.stride *= 2;
            if !number.is_multiple_of(self.stride) {
                return;
            }
        }
        self.kept.push(item);
    }

    /// The items that are kept.
    #[must_use]
    pub fn all(&self) -> &[T] {
        &self.kept
    }

    /// Number of items added.
    #[must_use]
    pub fn added(&self) -> u64 {
        self.added
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn readings_are_in_order_and_bounded() {
        let mut readings = ClockReadings::default();
        for time in 0..100_000 {
            readings.add(Nanos(time), Nanos(3 * time));
            readings.add(Nanos(time / 2), Nanos(0));
        }
        let all = readings.all();
        assert!(all.len() > ClockReadings::LIMIT / 2 && all.len() <= ClockReadings::LIMIT, "{}", all.len());
        assert_eq!(all[0], ClockReading { time: Nanos(0), value: Nanos(0) });
        assert!(all.is_sorted_by_key(|reading| reading.time));
    }

    #[test]
    fn every_so_many_are_kept() {
        let mut thinned = Thinned::default();
        (0..4 * Thinned::<usize>::LIMIT + 1).for_each(|number| thinned.add(number));
        let step = thinned.all()[1];
        assert!(thinned.all().iter().enumerate().all(|(index, &number)| number == index * step), "{step}");
        assert!(thinned.all().last().is_some_and(|&last| last + step > 4 * Thinned::<usize>::LIMIT));
    }
}
