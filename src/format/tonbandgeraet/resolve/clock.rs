//! Checks of time stamps against their neighbours on both sides.
//!
//! Times of one core never decrease. A time stamp between its neighbours is used as recorded. Another one is compared with the next few of
//! its core: if most of these agree with it, it is used, else it is an outlier (one flipped bit) and gets the time of its predecessor. A
//! step back that the next time stamps confirm is a reset, if there are other signs of one.

/// The number of records after a record that are inspected, of all cores.
pub const LOOKAHEAD_RECORDS: usize = 256;

/// The number of time stamps of the same core that are compared.
const VOTERS: usize = 8;

/// A step back is a reset without other signs if this many time stamps in a row confirm it.
const SILENT_RESET_VOTERS: usize = 32;

/// A last or first time stamp is an outlier if its distance is larger than this many times the span of all others.
const EDGE_FACTOR: u64 = 64;

/// How the time of a stamp is determined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeStatus {
    /// As recorded.
    AsRecorded,
    /// Slightly earlier than its predecessor: held at its time.
    Clamp,
    /// Contradicts its neighbours: replaced by this time.
    Outlier(u64),
    /// The clock restarted.
    Restart,
}

/// The clock of one core.
#[derive(Clone, Copy, Debug, Default)]
pub struct CoreClock {
    /// The last time, in ticks.
    pub last: Option<u64>,
    /// The first time, in ticks.
    first: u64,
    /// The number of times.
    count: u64,
}

impl CoreClock {
    /// Advances to a time.
    #[inline]
    pub fn advance(&mut self, ticks: u64) {
        if self.last.is_none() {
            self.first = ticks;
        }
        self.last = Some(ticks);
        self.count += 1;
    }

    /// The number of times so far.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Whether a time needs no check: it is not before its predecessor, not after its successor (which may be damaged too), and its
    /// step is not larger than the span of all times before.
    #[inline]
    pub fn fits(&self, ticks: u64, next: Option<u64>) -> bool {
        let (Some(last), Some(next)) = (self.last, next) else { return false };
        last <= ticks && ticks <= next && ticks - last <= last.saturating_sub(self.first)
    }

    /// Checks a time against the next times of the same core, in file order. `is_reset`: there are signs of a reset.
    #[cold]
    pub fn check(&self, ticks: u64, mut following: impl Iterator<Item = u64> + Clone, is_reset: bool) -> TimeStatus {
        let voters = following.clone().take(VOTERS);
        let Some(last) = self.last else { return check_first(ticks, following) };
        if ticks >= last {
            if following.next().is_none() {
                return self.check_last(ticks, last);
            }
            // Later stamps below the last time are not evidence against this one (a reset may follow), unless it is far from all others.
            let lowest = if ticks - last > last.saturating_sub(self.first) { 0 } else { last };
            let (above, between) = voters.fold((0, 0), |(above, between), voter| {
                (above + usize::from(voter >= ticks), between + usize::from(lowest <= voter && voter < ticks))
            });
            return if between > above { TimeStatus::Outlier(last) } else { TimeStatus::AsRecorded };
        }
        let (above, below) = voters.fold((0, 0), |(above, below), voter| {
            (above + usize::from(voter >= last), below + usize::from(ticks <= voter && voter < last))
        });
        if is_reset && below >= above {
            return TimeStatus::Restart;
        }
        let (above, below) = following.take(SILENT_RESET_VOTERS).fold((above, 0), |(above, below), voter| {
            (above + usize::from(voter >= last), below + usize::from(ticks <= voter && voter < last))
        });
        if above == 0 && below == SILENT_RESET_VOTERS { TimeStatus::Restart } else { TimeStatus::Clamp }
    }

    /// The last time: only an extremely large step is an outlier.
    fn check_last(&self, ticks: u64, last: u64) -> TimeStatus {
        let span = (last - self.first).max(1);
        let leap = ticks - last;
        if self.count >= VOTERS as u64 && leap / EDGE_FACTOR > span { TimeStatus::Outlier(last) } else { TimeStatus::AsRecorded }
    }
}

/// The first time.
fn check_first(ticks: u64, following: impl Iterator<Item = u64> + Clone) -> TimeStatus {
    let voters = following.clone().take(VOTERS);
    let (above, below) = voters
        .clone()
        .fold((0, 0), |(above, below), voter| (above + usize::from(voter >= ticks), below + usize::from(voter < ticks)));
    if below > above {
        // Too high. The lowest of the next times may be an outlier; the second lowest is probably not.
        let mut sorted: Vec<u64> = voters.collect();
        sorted.sort_unstable();
        let time = sorted.get(1).or(sorted.first()).copied().unwrap_or(ticks);
        return TimeStatus::Outlier(time.min(ticks));
    }
    let Some(next) = following.clone().next() else { return TimeStatus::AsRecorded };
    let (count, furthest) = following.fold((0u64, next), |(count, furthest), voter| (count + 1, furthest.max(voter)));
    let span = furthest.saturating_sub(next).max(1);
    let leap = next.saturating_sub(ticks);
    if count >= VOTERS as u64 && leap / EDGE_FACTOR > span { TimeStatus::Outlier(next) } else { TimeStatus::AsRecorded }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clock(times: &[u64]) -> CoreClock {
        let mut clock = CoreClock::default();
        times.iter().for_each(|&ticks| clock.advance(ticks));
        clock
    }

    fn check(clock: CoreClock, ticks: u64, following: &[u64]) -> TimeStatus {
        clock.check(ticks, following.iter().copied(), false)
    }

    #[test]
    fn a_peak_is_an_outlier_and_a_dip_is_held() {
        let running = clock(&[100, 110]);
        assert_eq!(check(running, 1 << 60, &[120, 130, 140]), TimeStatus::Outlier(110));
        assert_eq!(check(running, 115, &[112, 120]), TimeStatus::AsRecorded);
        assert_eq!(check(running, 118, &[112, 114, 120]), TimeStatus::Outlier(110));
        assert_eq!(check(running, 3, &[120, 130]), TimeStatus::Clamp);
        assert_eq!(check(running, 105, &[]), TimeStatus::Clamp);
    }

    #[test]
    fn two_peaks_do_not_confirm_each_other() {
        let running = clock(&[100, 110]);
        assert!(!running.fits(1 << 40, Some(1 << 41)));
        assert_eq!(check(running, 1 << 40, &[1 << 41, 120, 130]), TimeStatus::Outlier(110));
        assert_eq!(check(running, 1 << 40, &[1 << 41, 1 << 42, 120]), TimeStatus::AsRecorded);
    }

    #[test]
    fn a_small_peak_does_not_open_the_way_for_a_large_one() {
        // 140 was a peak that was accepted.
        let running = clock(&[100, 110, 120, 140]);
        assert_eq!(check(running, 1 << 40, &[125, 130, 135]), TimeStatus::Outlier(140));
        // The last before a reset.
        assert_eq!(check(running, 150, &[5, 6, 7]), TimeStatus::AsRecorded);
    }

    #[test]
    fn a_peak_next_to_a_good_time_does_not_affect_it() {
        assert_eq!(check(clock(&[100]), 110, &[5, 120, 130]), TimeStatus::AsRecorded);
    }

    #[test]
    fn a_confirmed_step_back_with_signs_is_a_restart() {
        let running = clock(&[1000, 1100]);
        assert_eq!(running.check(5, [6, 7, 8].into_iter(), true), TimeStatus::Restart);
        assert_eq!(running.check(5, [6, 7, 8].into_iter(), false), TimeStatus::Clamp);
        assert_eq!(running.check(5, [1101, 1102].into_iter(), true), TimeStatus::Clamp);
        assert_eq!(running.check(5, 6..40, false), TimeStatus::Restart);
        assert_eq!(running.check(5, (6..30).chain([1200]), false), TimeStatus::Clamp);
    }

    #[test]
    fn the_edges_of_a_capture_do_not_stretch_it() {
        let long: Vec<u64> = (0..100).map(|index| 1000 + index * 10).collect();
        assert_eq!(check(clock(&long), 1 << 50, &[]), TimeStatus::Outlier(1990));
        assert_eq!(check(clock(&long), 50_000, &[]), TimeStatus::AsRecorded);
        assert_eq!(check(clock(&[]), 1 << 50, &long), TimeStatus::Outlier(1010));
        assert_eq!(check(clock(&[]), 1 << 50, &[(1 << 50) + 1]), TimeStatus::AsRecorded);
        let late: Vec<u64> = long.iter().map(|ticks| ticks + (1 << 40)).collect();
        assert_eq!(check(clock(&[]), 1000, &late), TimeStatus::Outlier((1 << 40) + 1000));
        assert_eq!(check(clock(&[]), 990, &long), TimeStatus::AsRecorded);
    }
}
