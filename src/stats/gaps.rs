//! Gaps: how many there are, how long they are, and how much of them completed calls span.
//!
//! A call is reported when it has ended, with its begin, so it counts across a gap, and before the first event. Shares of functions are of
//! the time of which functions are known: with the parts of gaps that calls span.

use std::collections::VecDeque;

/// How many gaps are remembered that a call to come may span. Of older ones nothing is known.
const REMEMBERED: usize = 1 << 10;

/// The gaps of a recording, or of a part of it.
#[derive(Debug, Default)]
pub(super) struct Gaps {
    /// How many. The time between sessions is none.
    pub(super) count: u64,
    /// The time in gaps and between sessions: nobody's events were seen in it.
    pub(super) total_ns: u64,
    /// The part of it in which calls ran.
    spanned_ns: u64,
    /// The parts of gaps that no call spans so far, by time.
    unspanned: VecDeque<(u64, u64)>,
    /// When the first call began.
    first_call_ns: Option<u64>,
}

impl Gaps {
    /// Nothing is known between the event before and the one after.
    pub(super) fn add(&mut self, begin_ns: u64, end_ns: u64) {
        let gap_ns = end_ns.saturating_sub(begin_ns);
        if gap_ns == 0 {
            return;
        }
        self.total_ns = self.total_ns.saturating_add(gap_ns);
        if self.unspanned.len() >= REMEMBERED {
            self.unspanned.pop_front();
        }
        self.unspanned.push_back((begin_ns, end_ns));
    }

    /// A call was reported.
    pub(super) fn called(&mut self, begin_ns: u64, end_ns: u64) {
        self.first_call_ns = Some(self.first_call_ns.map_or(begin_ns, |first_ns| first_ns.min(begin_ns)));
        while let Some((gap_begin_ns, gap_end_ns)) = self.unspanned.back_mut() {
            // It may be reported only after a gap that comes after it.
            if *gap_end_ns <= begin_ns || *gap_begin_ns >= end_ns {
                return;
            }
            let since_ns = begin_ns.max(*gap_begin_ns);
            self.spanned_ns += end_ns.min(*gap_end_ns) - since_ns;
            if since_ns > *gap_begin_ns {
                *gap_end_ns = since_ns;
                return;
            }
            self.unspanned.pop_back();
        }
    }

    /// The time of which functions are known, of a recording from its first event to its last.
    pub(super) fn functions_ns(&self, first_ns: u64, last_ns: u64) -> u64 {
        let first_ns = self.first_call_ns.map_or(first_ns, |call_ns| call_ns.min(first_ns));
        last_ns.saturating_sub(first_ns).saturating_sub(self.total_ns).saturating_add(self.spanned_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_calls_span_of_a_gap_is_known() {
        let mut gaps = Gaps::default();
        gaps.add(10, 30);
        gaps.add(30, 30);
        gaps.add(50, 60);
        assert_eq!((gaps.total_ns, gaps.functions_ns(0, 100)), (30, 70));
        gaps.called(55, 70);
        gaps.called(56, 80);
        assert_eq!(gaps.functions_ns(0, 100), 75, "a nanosecond counts once");
        gaps.called(25, 90);
        assert_eq!(gaps.functions_ns(0, 100), 75 + 5 + 5);
        gaps.called(5, 95);
        assert_eq!(gaps.functions_ns(0, 100), 100);
        // One that began before all events.
        assert_eq!(gaps.functions_ns(8, 100), 95);
        // One that is reported after a gap that comes after it.
        gaps.add(110, 120);
        gaps.called(100, 105);
        assert_eq!(gaps.functions_ns(0, 130), 120);
    }

    #[test]
    fn gaps_do_not_pile_up() {
        let mut gaps = Gaps::default();
        (0..3 * REMEMBERED as u64).for_each(|number| gaps.add(10 * number, 10 * number + 1));
        assert_eq!((gaps.unspanned.len(), gaps.total_ns), (REMEMBERED, 3 * REMEMBERED as u64));
        gaps.called(0, 1 << 40);
        assert_eq!(gaps.spanned_ns, REMEMBERED as u64);
    }
}
