//! Time stamps, judged by their neighbours on both sides.
//!
//! Times of one core never decrease. A time stamp that lies between its neighbours is taken as it is. One that does not is
//! compared with the next few of its core: if most of these agree with it, it stands, else it is an outlier (one flipped bit) and
//! gets the time of its predecessor. A step back that the following time stamps confirm is a reset, if anything speaks for one.

/// How many records ahead may be looked at, of all cores.
pub const LOOKAHEAD_RECORDS: usize = 256;

/// How many time stamps of the same core are asked.
const VOTERS: usize = 8;

/// How many time stamps must lie below, and how few above, for a step back to be believed without any sign of a reset.
const SILENT_RESET_VOTERS: usize = 32;

/// A last or first time stamp this many times further away than everything else spans is an outlier.
const EDGE_FACTOR: u64 = 64;

/// What becomes of a time stamp.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// As it is.
    Take,
    /// Slightly back: held at its predecessor's time.
    Clamp,
    /// Contradicts its neighbours: this time instead.
    Outlier(u64),
    /// The clock restarted.
    Restart,
}

/// The clock of one core.
#[derive(Clone, Copy, Debug, Default)]
pub struct CoreClock {
    /// The last time taken, in ticks.
    pub last: Option<u64>,
    /// The first.
    first: u64,
    /// How many were taken.
    count: u64,
}

impl CoreClock {
    /// Takes a time.
    #[inline]
    pub fn take(&mut self, ticks: u64) {
        if self.last.is_none() {
            self.first = ticks;
        }
        self.last = Some(ticks);
        self.count += 1;
    }

    /// How many times were taken.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Whether a time needs no further look: not before its predecessor, not after its successor (which may be damaged too), and
    /// no leap further than all that was before.
    #[inline]
    pub fn fits(&self, ticks: u64, next: Option<u64>) -> bool {
        let (Some(last), Some(next)) = (self.last, next) else { return false };
        last <= ticks && ticks <= next && ticks - last <= last.saturating_sub(self.first)
    }

    /// Judges a time by the times that follow on the same core, in file order. `is_reset`: there are signs of a reset.
    #[cold]
    pub fn judge(&self, ticks: u64, mut following: impl Iterator<Item = u64> + Clone, is_reset: bool) -> Verdict {
        let voters = following.clone().take(VOTERS);
        let Some(last) = self.last else { return judge_first(ticks, following) };
        if ticks >= last {
            if following.next().is_none() {
                return self.judge_last(ticks, last);
            }
            // Times before the last one say nothing of this one (a reset may follow it), unless it is far from all that was.
            let lowest = if ticks - last > last.saturating_sub(self.first) { 0 } else { last };
            let (above, between) = voters.fold((0, 0), |(above, between), voter| {
                (above + usize::from(voter >= ticks), between + usize::from(lowest <= voter && voter < ticks))
            });
            return if between > above { Verdict::Outlier(last) } else { Verdict::Take };
        }
        let (above, below) = voters.fold((0, 0), |(above, below), voter| {
            (above + usize::from(voter >= last), below + usize::from(ticks <= voter && voter < last))
        });
        if is_reset && below >= above {
            return Verdict::Restart;
        }
        let (above, below) = following.take(SILENT_RESET_VOTERS).fold((above, 0), |(above, below), voter| {
            (above + usize::from(voter >= last), below + usize::from(ticks <= voter && voter < last))
        });
        if above == 0 && below == SILENT_RESET_VOTERS { Verdict::Restart } else { Verdict::Clamp }
    }

    /// Nothing follows: only a leap out of all proportion is an outlier.
    fn judge_last(&self, ticks: u64, last: u64) -> Verdict {
        let span = (last - self.first).max(1);
        let leap = ticks - last;
        if self.count >= VOTERS as u64 && leap / EDGE_FACTOR > span { Verdict::Outlier(last) } else { Verdict::Take }
    }
}

/// Nothing precedes.
fn judge_first(ticks: u64, following: impl Iterator<Item = u64> + Clone) -> Verdict {
    let voters = following.clone().take(VOTERS);
    let (above, below) = voters
        .clone()
        .fold((0, 0), |(above, below), voter| (above + usize::from(voter >= ticks), below + usize::from(voter < ticks)));
    if below > above {
        // Too high. The lowest of those that follow may be an outlier itself; the second lowest is hardly one too.
        let mut sorted: Vec<u64> = voters.collect();
        sorted.sort_unstable();
        let time = sorted.get(1).or(sorted.first()).copied().unwrap_or(ticks);
        return Verdict::Outlier(time.min(ticks));
    }
    let Some(next) = following.clone().next() else { return Verdict::Take };
    let (count, furthest) = following.fold((0u64, next), |(count, furthest), voter| (count + 1, furthest.max(voter)));
    let span = furthest.saturating_sub(next).max(1);
    let leap = next.saturating_sub(ticks);
    if count >= VOTERS as u64 && leap / EDGE_FACTOR > span { Verdict::Outlier(next) } else { Verdict::Take }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clock(times: &[u64]) -> CoreClock {
        let mut clock = CoreClock::default();
        times.iter().for_each(|&ticks| clock.take(ticks));
        clock
    }

    fn judge(clock: CoreClock, ticks: u64, following: &[u64]) -> Verdict {
        clock.judge(ticks, following.iter().copied(), false)
    }

    #[test]
    fn a_peak_is_an_outlier_and_a_dip_is_held() {
        let running = clock(&[100, 110]);
        assert_eq!(judge(running, 1 << 60, &[120, 130, 140]), Verdict::Outlier(110));
        assert_eq!(judge(running, 115, &[112, 120]), Verdict::Take);
        assert_eq!(judge(running, 118, &[112, 114, 120]), Verdict::Outlier(110));
        assert_eq!(judge(running, 3, &[120, 130]), Verdict::Clamp);
        assert_eq!(judge(running, 105, &[]), Verdict::Clamp);
    }

    #[test]
    fn two_peaks_do_not_speak_for_each_other() {
        let running = clock(&[100, 110]);
        assert!(!running.fits(1 << 40, Some(1 << 41)));
        assert_eq!(judge(running, 1 << 40, &[1 << 41, 120, 130]), Verdict::Outlier(110));
        assert_eq!(judge(running, 1 << 40, &[1 << 41, 1 << 42, 120]), Verdict::Take);
    }

    #[test]
    fn a_small_peak_does_not_open_the_way_for_a_large_one() {
        // 140 was a peak that was taken.
        let running = clock(&[100, 110, 120, 140]);
        assert_eq!(judge(running, 1 << 40, &[125, 130, 135]), Verdict::Outlier(140));
        // The last before a reset.
        assert_eq!(judge(running, 150, &[5, 6, 7]), Verdict::Take);
    }

    #[test]
    fn a_peak_next_to_a_good_time_does_not_condemn_it() {
        assert_eq!(judge(clock(&[100]), 110, &[5, 120, 130]), Verdict::Take);
    }

    #[test]
    fn a_confirmed_step_back_with_signs_is_a_restart() {
        let running = clock(&[1000, 1100]);
        assert_eq!(running.judge(5, [6, 7, 8].into_iter(), true), Verdict::Restart);
        assert_eq!(running.judge(5, [6, 7, 8].into_iter(), false), Verdict::Clamp);
        assert_eq!(running.judge(5, [1101, 1102].into_iter(), true), Verdict::Clamp);
        assert_eq!(running.judge(5, 6..40, false), Verdict::Restart);
        assert_eq!(running.judge(5, (6..30).chain([1200]), false), Verdict::Clamp);
    }

    #[test]
    fn the_edges_of_a_capture_do_not_stretch_it() {
        let long: Vec<u64> = (0..100).map(|index| 1000 + index * 10).collect();
        assert_eq!(judge(clock(&long), 1 << 50, &[]), Verdict::Outlier(1990));
        assert_eq!(judge(clock(&long), 50_000, &[]), Verdict::Take);
        assert_eq!(judge(clock(&[]), 1 << 50, &long), Verdict::Outlier(1010));
        assert_eq!(judge(clock(&[]), 1 << 50, &[(1 << 50) + 1]), Verdict::Take);
        let late: Vec<u64> = long.iter().map(|ticks| ticks + (1 << 40)).collect();
        assert_eq!(judge(clock(&[]), 1000, &late), Verdict::Outlier((1 << 40) + 1000));
        assert_eq!(judge(clock(&[]), 990, &long), Verdict::Take);
    }
}
