//! Where the target restarted.

use super::{FirstTask, Init, Named, Placed, ScanFacts, Start, SystemTime};
use crate::format::systemview::hooks::Hooks;

/// How much the two readings of the clock in a time of the system may differ, in ticks of the time stamps.
const READING_TICKS: u32 = 1 << 16;

/// A clock that goes on may seem to be this number of ticks from where it is expected, if another program interrupts the one that reads it.
const NEAR_TICKS: u32 = 256;

/// An operating system's clock shows at least once in this number of microseconds that it goes on, …
const STILL_US: u64 = 10_000;

/// … and is not ahead of the time since the target's restart by more than this.
const AHEAD_US: u64 = 2_000;

/// A target initialises the library within this number of microseconds after its restart.
const INITIALISED_US: u64 = 1_000_000;

/// The first packet of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SessionStart {
    /// Where it is in the input.
    pub offset: u64,
    /// Its time stamp: the ticks since the target's restart.
    pub stamp: u64,
    /// All ticks of the input before it.
    pub ticks_before: u64,
    /// The configuration that follows it.
    pub init: Option<Init>,
    /// Whether nothing was recorded between the restart and this start, so that the counter of dropped packets is 0.
    pub counts_from_zero: bool,
}

impl ScanFacts {
    /// The starts: each once, at its first packet that is there.
    fn all_starts(&self) -> Vec<Placed<Start>> {
        let mut all: Vec<Placed<Start>> = Vec::new();
        for start in &self.starts {
            let place = self.times.partition_point(|time| time.offset < start.offset);
            let time_before = place.checked_sub(1).and_then(|place| self.times.get(place)).map_or(0, |time| time.offset);
            match all.last_mut().filter(|last| start.what.is_time && time_before < last.offset) {
                Some(last) => last.what.tasks = last.what.tasks.or(start.what.tasks),
                None => all.push(*start),
            }
        }
        all
    }

    /// Where sessions begin: the offset of the packet, its own time stamp, and all ticks before it. And how many other starts may be
    /// those of sessions, too.
    ///
    /// A recorder may start again without a restart of the target; then the times of the system that are recorded soon after each start
    /// go on as the time stamps do.
    pub(super) fn sessions(&self) -> (Vec<SessionStart>, u64) {
        let hooks = self.hooks();
        let mut sessions: Vec<SessionStart> = Vec::new();
        let mut undecided = 0;
        let starts = self.all_starts();
        let ends = starts.iter().skip(1).map(|next| next.offset).chain([u64::MAX]);
        let times: Vec<_> = self.times.iter().map(|time| Placed { what: hooks.time(time.what), ..*time }).collect();
        let mut times = times.as_slice();
        let mut until = |offset| times.split_off(..times.partition_point(|time| time.offset < offset)).unwrap_or_default();
        let latest = |times: &[Placed<SystemTime>]| {
            let microseconds = times.iter().filter_map(|time| match time.what {
                SystemTime::Microseconds(us) => Some((us, time.ticks)),
                SystemTime::Cycles(_) => None,
            });
            (microseconds.max(), times.first().copied())
        };
        // Damage may have made up a time before the first start.
        until(starts.first().map_or(u64::MAX, |first| first.offset));
        let (mut last_us, mut last_time) = (None, None);
        for (start, end) in starts.iter().zip(ends) {
            let times = until(end);
            let time = times.first();
            let stamp = start.what.stamp;
            let before = start.ticks.saturating_sub(stamp);
            let base = sessions.last().map_or(0, |session| session.ticks_before);
            let is_restart = match time {
                _ if before == 0 && !start.what.is_time || self.has_no_tasks(start) => Some(true),
                None => None,
                Some(time) if start.what.is_time => last_time.map_or(Some(false), |last| self.goes_back(hooks, &last, time)),
                Some(time) => match time.what {
                    SystemTime::Cycles(cycles) => {
                        let since = time.ticks - start.ticks;
                        let off = |ticks: u64| {
                            let difference = cycles.wrapping_sub(ticks as u32);
                            difference.min(difference.wrapping_neg())
                        };
                        begins_again(off(stamp + since), off(time.ticks - base))
                    }
                    SystemTime::Microseconds(us) => {
                        // The clock showed no less than 0 at the start.
                        self.us_begins_again(hooks, last_us.unwrap_or((0, base)), us, start, time.ticks)
                    }
                },
            };
            if is_restart == Some(true) {
                let counts_from_zero = before > 0 || time.is_none_or(|time| self.is_first_start(start, time));
                let init = start.what.init;
                sessions.push(SessionStart { offset: start.offset, stamp, ticks_before: before, init, counts_from_zero });
            }
            undecided += u64::from(is_restart.is_none() && !start.what.is_after_stop);
            let (us, time) = latest(times);
            (last_us, last_time) = (us.or(last_us), time.or(last_time));
        }
        (sessions, undecided)
    }

    /// Ticks in microseconds, if the frequency is known.
    fn in_us(&self, ticks: u64) -> Option<u64> {
        let hz = self.init.map_or(0, |init| u64::from(init.sys_freq));
        ticks.saturating_mul(1_000_000).checked_div(hz)
    }

    /// Whether there was no task at a start, of those that there were before: only a restart of the target ends all of them.
    fn has_no_tasks(&self, start: &Placed<Start>) -> bool {
        let Some(FirstTask::Created(task)) = start.what.tasks else { return false };
        let names = self.names.get(&(Named::Task, task)).and_then(|names| names.first());
        names.is_some_and(|name| name.first < start.offset)
    }

    /// Whether the operating system's clock begins again with a start: it goes back; or it shows no more than the time since the restart,
    /// and stands still although time has passed, or fits that time far better than a clock that goes on. `last` and `us` are its readings
    /// before and after the start, with the ticks at the first, and `ticks` those at the second. `None`: it may have.
    fn us_begins_again(&self, hooks: Hooks, last: (u64, u64), us: u64, start: &Placed<Start>, ticks: u64) -> Option<bool> {
        let (last_us, last_ticks) = last;
        let passed = self.in_us(ticks - last_ticks.min(ticks));
        if us < last_us {
            return (!hooks.clock_wraps(last_us, passed.unwrap_or(0))).then_some(true);
        }
        let (since, passed) = self.in_us(start.what.stamp).zip(passed)?;
        if us > since.saturating_add(AHEAD_US) {
            return Some(false);
        }
        let behind = passed.saturating_sub(us - last_us);
        let fits = if us == last_us { !start.what.is_after_stop } else { behind / 8 > since.abs_diff(us) };
        (behind >= STILL_US.max(hooks.clock_step_us()) && fits).then_some(true)
    }

    /// Whether a clock has gone back from one reading to the next: missing packets can only make it go further than the time stamps do.
    /// `None`: it may have.
    fn goes_back(&self, hooks: Hooks, last: &Placed<SystemTime>, time: &Placed<SystemTime>) -> Option<bool> {
        let passed = time.ticks - last.ticks.min(time.ticks);
        match (last.what, time.what) {
            (SystemTime::Cycles(last), SystemTime::Cycles(cycles)) => {
                let step = cycles.wrapping_sub(last).cast_signed();
                Some(u64::try_from(step).map_or(true, |step| passed > u64::from(NEAR_TICKS) && step < passed / 8))
            }
            (SystemTime::Microseconds(last), SystemTime::Microseconds(us)) if us == last => {
                self.in_us(passed).filter(|&passed| passed >= STILL_US.max(hooks.clock_step_us())).map(|_| true)
            }
            (SystemTime::Microseconds(last), SystemTime::Microseconds(us)) => match us < last {
                true if hooks.clock_wraps(last, self.in_us(passed).unwrap_or(0)) => None,
                is_restart => Some(is_restart),
            },
            _ => None,
        }
    }

    /// Whether the first start of the input is also the target's first one since its restart: then its time stamp is the time since then.
    /// The system's clock, at the first `time` after the start, shows if that is longer ago.
    fn is_first_start(&self, start: &Placed<Start>, time: &Placed<SystemTime>) -> bool {
        let since = start.what.stamp + (time.ticks - start.ticks);
        match time.what {
            // The counter may have run for a while when the library was initialised.
            SystemTime::Cycles(cycles) => {
                let ahead = cycles.wrapping_sub(since as u32);
                self.in_us(u64::from(ahead.min(ahead.wrapping_neg()))).is_none_or(|ahead| ahead < INITIALISED_US)
            }
            SystemTime::Microseconds(us) => self.in_us(since).is_none_or(|since| us <= since.saturating_add(AHEAD_US)),
        }
    }
}

/// Whether the time stamps' clock begins again with a start, by how far its reading is from both expectations, in ticks: that of a restart,
/// and that of a clock that goes on. `None`: it fits both.
fn begins_again(as_restarted: u32, as_before: u32) -> Option<bool> {
    let is_far = |one: u32, other: u32| one > READING_TICKS || one > NEAR_TICKS && one / 8 > other;
    if is_far(as_restarted, as_before) { Some(false) } else { is_far(as_before, as_restarted).then_some(true) }
}
