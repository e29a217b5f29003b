//! A recording's own time → the time of a trace that has other recordings too.

use crate::model::{ClockReadings, EventBatch, EventKind, Nanos, Packed, SideClock};

/// The map from the times of a recording to those of the trace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClockMap {
    /// Added to each time, in nanoseconds.
    offset_ns: i128,
    stretch: Option<Stretch>,
}

/// Times are stretched before the offset is added: from a fixed time on, and before it alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stretch {
    /// The time that does not change.
    fixed_ns: i128,
    /// This duration of the recording's clock …
    own_ns: i128,
    /// … is this duration of the trace's.
    true_ns: i128,
}

impl ClockMap {
    /// Moves times.
    pub fn offset(offset_ns: i128) -> ClockMap {
        ClockMap { offset_ns, stretch: None }
    }

    /// Makes `own_ns` (if not 0) as long as `true_ns`. The time `fixed` is only moved, as it is now.
    pub fn stretched(self, fixed: Nanos, own_ns: u64, true_ns: u64) -> ClockMap {
        let stretch = Stretch { fixed_ns: fixed.0.into(), own_ns: own_ns.into(), true_ns: true_ns.into() };
        ClockMap { stretch: (own_ns > 0 && own_ns != true_ns).then_some(stretch), ..self }
    }

    /// Moves all times by `ns` more.
    pub fn moved(self, ns: i128) -> ClockMap {
        ClockMap { offset_ns: self.offset_ns.saturating_add(ns), ..self }
    }

    /// A time in nanoseconds of the trace, which may lie beyond its time axis.
    pub fn exact(&self, time: Nanos) -> i128 {
        let own = i128::from(time.0);
        let time = match self.stretch {
            None => own,
            // Both factors fit into 64 bits. The result never decreases, so the order of events stays.
            Some(stretch) => stretch.fixed_ns + ((own - stretch.fixed_ns) * stretch.true_ns).div_euclid(stretch.own_ns),
        };
        time.saturating_add(self.offset_ns)
    }

    /// Whether a time lies beyond the end of the trace's time axis.
    fn is_beyond(&self, time: Nanos) -> bool {
        self.exact(time) > i128::from(Nanos::MAX.0)
    }

    /// A time on the trace's time axis, limited to it.
    pub fn time(&self, time: Nanos) -> Nanos {
        let clamped = self.exact(time).clamp(0, i128::from(Nanos::MAX.0));
        Nanos(u64::try_from(clamped).unwrap_or(0))
    }

    /// Moves the readings of other clocks.
    pub fn move_readings(&self, clocks: &mut [SideClock]) {
        if *self == ClockMap::default() {
            return;
        }
        for clock in clocks {
            let mut moved = ClockReadings::default();
            clock.readings.all().iter().for_each(|reading| moved.add(self.time(reading.time), reading.value));
            clock.readings = moved;
        }
    }

    /// Moves all events of a batch, with the earlier times that they refer to. Returns the number of events beyond the end of the
    /// trace's time axis: they are put there.
    pub fn apply(&self, batch: &mut EventBatch) -> usize {
        if *self == ClockMap::default() {
            return 0;
        }
        let mut beyond = 0;
        let earlier = |time: Packed<u64>| Packed(self.time(Nanos(time.get().min(Nanos::MAX.0))).0);
        for event in &mut batch.events {
            beyond += usize::from(self.is_beyond(event.time));
            event.time = self.time(event.time);
            match &mut event.kind {
                EventKind::LateObjectLevel { since, .. } => *since = earlier(*since),
                EventKind::Call { begin, .. } => *begin = earlier(*begin),
                _ => {}
            }
        }
        beyond
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_moved_and_stay_on_the_axis() {
        let later = ClockMap::offset(5);
        assert_eq!((later.time(Nanos(0)), later.time(Nanos(7)), later.time(Nanos::MAX)), (Nanos(5), Nanos(12), Nanos::MAX));
        let earlier = ClockMap::offset(-5);
        assert_eq!((earlier.time(Nanos(3)), earlier.time(Nanos(7)), earlier.exact(Nanos(3))), (Nanos(0), Nanos(2), -2));
        assert_eq!(ClockMap::offset(i128::MAX).moved(i128::MAX).time(Nanos(1)), Nanos::MAX);
    }

    #[test]
    fn a_clock_that_is_too_fast_is_slowed_down_and_keeps_the_order() {
        // 100 ppm too fast: 1_000_100 of its nanoseconds are 1_000_000.
        let map = ClockMap::offset(-1_000).stretched(Nanos(5_000), 1_000_100, 1_000_000);
        assert_eq!(map.time(Nanos(5_000)), Nanos(4_000));
        assert_eq!(map.time(Nanos(5_000 + 1_000_100)), Nanos(4_000 + 1_000_000));
        let mut last = Nanos(0);
        for time in 0..30_000 {
            let mapped = map.time(Nanos(time));
            assert!(mapped >= last && mapped.0.abs_diff(last.0) <= 2, "{time}");
            last = mapped;
        }
        let far = ClockMap::default().stretched(Nanos(0), 1, u64::MAX >> 1);
        assert_eq!(far.time(Nanos::MAX), Nanos::MAX);
        assert_eq!(ClockMap::default().stretched(Nanos(0), 0, 5), ClockMap::default());
    }
}
