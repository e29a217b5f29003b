//! Runs of stamps, and the cost of explaining the breaks between them.
//!
//! Costs are bits of surprise: how much less likely than a usual step something is, as a power of two.

use super::{Cause, Copies, Domain, LOOKAHEAD, Pieces, Stamp};

/// The most runs that are weighed: more pieces than that within the look-ahead are noise.
const RUNS: usize = 40;

/// A step longer than usual: one in a few thousand is. Each doubling of its length adds a bit, as its value takes one more to say.
const LEAP: u32 = 12;
/// A step of more than half of the range, and one of nearly all of it.
const LOOKS_BACK: u32 = 12;
const LOOKS_BACK_A_LITTLE: u32 = 20;
/// A damaged stamp in a capture without damage so far, one in a capture with damage, and each one right after it; beside the bits
/// that say which value of all it took.
const FIRST_DAMAGE: u32 = 14;
const DAMAGE: u32 = 8;
const MORE_DAMAGE: u32 = 4;
/// What a checksum adds to that.
const PROTECTION: u32 = 24;
/// How many bits of a counter that does not wrap damage usually changes.
const PLAIN_BITS: u32 = 40;
/// A piece that was repeated or moved, or stamps of another counter.
const REPEATED: u32 = 14;
const MOVED: u32 = 16;
const FOREIGN: u32 = 20;
/// Stamps that follow each other like a clock are hardly damage: a cost for each stamp, up to a bound, and then slowly more.
const ORDERLY_FROM: u32 = 3;
const ORDERLY: u32 = 24;
const ORDERLY_EACH: u32 = 3;
const ORDERLY_MOST: u32 = 36;
/// Each stamp that contradicts the time reached, except the first few, up to a bound.
const HELD_FREE: u64 = 2;
const HELD_EACH: u64 = 2;
const HELD_MOST: u64 = 12;
/// A step that is shorter than the longest usual one by this factor is close.
const CLOSE: u64 = 4;
/// A restart is never cheaper than this.
const LEAST_RESTART: u32 = 6;
/// Stamps that begin where the session began, and stamps near to 0.
const NEAR_BEGIN: u32 = 45;
const NEAR_ZERO: u32 = 14;
/// The same of a counter that wraps, and comes there anyway.
const NEAR_BEGIN_AGAIN: u32 = 20;
/// Each stamp that lies there speaks for it with this at most.
const NEAR_EACH: u32 = 16;
/// A restart after which the counter does not go back, and one whose stamps soon go on from where the line had come to before.
const NOT_BACK: u32 = 80;
const GOES_ON: u32 = 40;
/// Silence before the last stamps of all is taken, but in doubt, if damage costs less by this at most.
const AT_THE_END: u32 = 12;
/// A contradiction of the coarse clock.
const CONTRADICTED: u32 = 24;
/// A wrong reading of fewer stamps than this stays near the damage.
const FEW: u32 = 16;
/// The first stamp of all has nothing before it that would speak for it.
const NOTHING_BEFORE: u32 = 8;
/// A piece at the start, although nothing shows that it was moved.
const NOWHERE: u32 = 40;

/// Stamps that follow each other by usual steps.
#[derive(Clone, Copy, Debug)]
pub struct Run {
    /// How many there are.
    pub count: u32,
    pub first: Stamp,
    pub last: Stamp,
    /// From the first to the last, in ticks.
    pub span: u64,
    /// Byte for byte a copy of the bytes before.
    pub is_repeated: bool,
    /// Fills the hole that the run before it left.
    pub fills_hole: bool,
    /// A later run goes on from where the run before it had come to.
    pub is_followed: bool,
    /// A later run comes back near to that.
    pub returns: bool,
    /// It may be of another counter.
    pub may_be_foreign: bool,
    /// The stream says of a stamp of it that it is of this counter.
    pub is_marked: bool,
}

impl Run {
    fn of(stamp: Stamp) -> Run {
        Run {
            count: 1,
            first: stamp,
            last: stamp,
            span: 0,
            is_repeated: false,
            fills_hole: false,
            is_followed: false,
            returns: false,
            may_be_foreign: false,
            is_marked: stamp.is_marked,
        }
    }
}

/// How the line of time goes on to a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// Forwards by this number of ticks, wraps included.
    Forward(u64),
    /// Backwards by this number; time is held until it is reached again.
    Back(u64),
    /// The counter began again.
    Restart,
}

/// The meaning of the next run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// Part of the line of time.
    Line(Way),
    /// Beside it; the line goes on this number of ticks later, if it does.
    Beside(Cause, Option<u64>),
}

/// The cheapest explanation.
#[derive(Clone, Copy, Debug)]
pub struct Explained {
    pub choice: Choice,
    /// How long the run is that it is for.
    pub count: u32,
    /// The best of another kind, and how much more it costs.
    pub rival: Option<Choice>,
    pub margin: u32,
    /// Whether the best of another kind leads to other times for more than a few stamps.
    pub matters: bool,
}

/// Where the line of time has come to.
#[derive(Clone, Copy, Debug)]
pub struct Anchor {
    pub last: Stamp,
    /// The unwrapped times of the last stamp and of the session's first.
    pub ticks: u64,
    pub begin: u64,
    /// How many stamps have been believed since the last break, and in the session.
    pub count: u64,
    /// The last value before that break, if there was one, and the first one after it.
    pub before: Option<u64>,
    pub after: u64,
    pub session_count: u64,
}

/// The facts about the domain while explaining.
#[derive(Clone, Copy, Debug)]
pub struct Setting<'a> {
    pub domain: Domain,
    /// Steps below this are usual. A power of two.
    pub near: u64,
    /// The longest step of the session that was believed to be silence, in ticks; 0 without one.
    pub longest_leap: u64,
    pub damage_seen: bool,
    /// Ticks of the counter in a tick of the coarse clock.
    pub coarse_rate: Option<f64>,
    /// The whole input, to recognise copies.
    pub pieces: Pieces<'a>,
}

impl Setting<'_> {
    /// The way from one value to another, forwards. Huge if it is backwards and the counter does not wrap.
    #[inline]
    pub fn forward(&self, from: u64, to: u64) -> u64 {
        forward(self.domain.modulus, from, to)
    }

    /// Cuts stamps into runs. `before` is the value that precedes them.
    pub fn runs(&self, before: Option<u64>, stamps: impl Iterator<Item = Stamp> + Clone, copies: &mut Copies) -> Vec<Run> {
        let mut runs: Vec<Run> = Vec::with_capacity(RUNS);
        // Where the copy ends that the present run is of.
        let mut copied_until = 0;
        // Whether there may be copies.
        let mut may_repeat = None;
        let mut before = before;
        // Where the line had come to when the present run went back.
        let mut top = None;
        let mut stamps = stamps.take(LOOKAHEAD + 1).peekable();
        while let Some(stamp) = stamps.next() {
            // Where its record ends, at most. The last record of a copy that is cut within it is the original.
            let end = stamps.peek().map_or(stamp.offset, |next| next.offset);
            let last = before.replace(stamp.raw);
            let step = last.map(|last| self.forward(last, stamp.raw));
            // One or two stamps after which the line goes on do not belong to what follows there.
            let is_short = runs.last().is_some_and(|run| run.count < ORDERLY_FROM);
            let is_near_line = |top| self.follows(top, stamp.raw) && self.forward(top, stamp.raw) < self.near;
            let is_on_line = is_short && top.is_some_and(is_near_line);
            let is_near =
                step.is_some_and(|step| step < self.near) && !is_on_line && stamp.restart_bits == 0 && self.is_valid(stamp.raw);
            if let Some(run) = runs.last_mut().filter(|run| is_near && !(run.is_repeated && end > copied_until)) {
                (run.last, run.span, run.count) = (stamp, run.span + step.unwrap_or(0), run.count + 1);
                run.is_marked |= stamp.is_marked;
                continue;
            }
            if runs.len() == RUNS {
                break;
            }
            top = if is_on_line { None } else { last.filter(|&last| !self.follows(last, stamp.raw)).or(top) };
            let may_be_copied = !is_near && step.is_some() && end > copied_until;
            if may_be_copied
                && *may_repeat.get_or_insert_with(|| self.may_repeat(last, std::iter::once(stamp).chain(stamps.clone())))
                && let Some(until) = copies.end(self.pieces, stamp.offset, end)
            {
                copied_until = until;
            }
            runs.push(Run { is_repeated: end <= copied_until && copied_until > 0, ..Run::of(stamp) });
        }
        runs
    }

    /// Whether a copy of earlier bytes can begin among stamps: a counter that does not wrap goes back there.
    fn may_repeat(&self, before: Option<u64>, stamps: impl Iterator<Item = Stamp>) -> bool {
        let mut before = before.unwrap_or(0);
        let mut goes_back = stamps.map(|stamp| stamp.raw < std::mem::replace(&mut before, stamp.raw));
        self.domain.modulus.is_some() || goes_back.any(|goes_back| goes_back)
    }

    /// Whether one value is at or after another: of a counter that wraps, not more than half of its range.
    fn follows(&self, from: u64, to: u64) -> bool {
        self.forward(from, to) <= self.domain.modulus.map_or(u64::MAX - 1, |modulus| modulus / 2)
    }

    /// Whether the counter can have this value at all.
    fn is_valid(&self, raw: u64) -> bool {
        self.domain.modulus.is_none_or(|modulus| raw < modulus)
    }

    /// Recognises moved pieces among runs.
    fn recognise(&self, anchor: Option<&Anchor>, runs: &mut [Run]) {
        for index in 0..runs.len() {
            let mut recognised = self.recognised(anchor, runs, index, index);
            // A single odd stamp may be where two pieces meet.
            if !recognised.is_followed && index.checked_sub(1).is_some_and(|before| runs[before].count == 1) {
                recognised = self.recognised(anchor, runs, index, index - 1);
            }
            runs[index] = recognised;
        }
    }

    /// A run, compared with what is before it: the runs up to number `end`, or else the line.
    fn recognised(&self, anchor: Option<&Anchor>, runs: &[Run], index: usize, end: usize) -> Run {
        let run = runs[index];
        let before = end.checked_sub(1).map(|before| runs[before]);
        let Some(line) = before.map(|before| before.last.raw).or(anchor.map(|anchor| anchor.last.raw)) else { return run };
        if self.forward(line, run.first.raw) < self.near {
            return run;
        }
        // A later run continues the one before: otherwise the one before is the piece that does not belong there.
        let goes_on = |later: &Run| self.forward(line, later.first.raw) < self.near;
        let later = runs.get(index + 1..).unwrap_or(&[]);
        let way_back = self.forward(run.last.raw, line);
        let returns = later.iter().any(|later| self.forward(line, later.first.raw) < way_back / 8);
        let is_followed = later.iter().any(goes_on);
        let mut may_be_foreign = is_followed && !run.is_marked;
        // The piece before this one lies beyond it, and left a hole in which this one fits.
        let piece = match (before, anchor) {
            (Some(before), _) => {
                let from = end.checked_sub(2).map(|from| runs[from].last.raw).or(anchor.map(|anchor| anchor.last.raw));
                from.map(|from| (from, before.first.raw, u64::from(before.count)))
            }
            (None, Some(anchor)) => anchor.before.map(|from| (from, anchor.after, anchor.count)),
            (None, None) => None,
        };
        let mut fills_hole = false;
        if let Some((from, beyond, count)) = piece {
            let hole = self.forward(from, beyond);
            let to_first = self.forward(from, run.first.raw);
            // It follows the line closely, except for one stamp: that one is odd, not this run.
            may_be_foreign &= count > 1 || to_first > self.near / CLOSE;
            fills_hole = is_followed && count > 1 && hole < u64::MAX / 2 && to_first.saturating_add(run.span) <= hole;
        }
        Run { is_followed, returns: is_followed || returns, may_be_foreign, fills_hole, ..run }
    }

    /// The cost of a run that is not part of the line of time, and the cause of it.
    fn beside(&self, run: &Run) -> (u32, Cause) {
        let count = run.count;
        let first = if self.damage_seen { DAMAGE } else { FIRST_DAMAGE };
        let protection = if self.domain.is_protected { PROTECTION } else { 0 };
        // Which of all values it took, where a usual step has to choose among a few.
        let width = self.domain.modulus.map_or(PLAIN_BITS, |modulus| modulus.max(2).ilog2() + 1);
        let value = width.saturating_sub(self.near.ilog2()) + protection;
        let damaged = if self.is_valid(run.first.raw) {
            (first + value).saturating_add((count - 1).saturating_mul(MORE_DAMAGE + value))
        } else {
            // It cannot be anything else.
            0
        };
        let orderly = ORDERLY + protection + (ORDERLY_EACH * count).min(ORDERLY_MOST) + count / 8;
        let mut best = (damaged, Cause::Damaged);
        let mut offer = |cost: u32, cause| {
            if cost < best.0 {
                best = (cost, cause);
            }
        };
        if count >= ORDERLY_FROM {
            offer(orderly, Cause::Moved);
        }
        if run.is_repeated {
            offer(REPEATED, Cause::Repeated);
        }
        if run.fills_hole && count > 1 {
            offer(MOVED, Cause::Moved);
        }
        if self.domain.may_be_foreign && run.may_be_foreign {
            offer(FOREIGN + count / 16, Cause::Foreign);
        }
        best
    }

    /// The cost of a step of this number of ticks. One that is nearly the whole range looks like one back.
    fn leap(&self, ticks: u64) -> u32 {
        if ticks < self.near {
            return 0;
        }
        let looks_back = match self.domain.modulus {
            Some(modulus) if ticks > modulus - modulus / 16 => LOOKS_BACK_A_LITTLE,
            Some(modulus) if ticks > modulus / 2 => LOOKS_BACK,
            _ => 0,
        };
        LEAP + (ticks / self.near.max(1)).max(1).ilog2() + looks_back
    }

    /// The cheapest way from one stamp to a run.
    fn ways(&self, from: &Stamp, to: &Run, anchor: Option<&Anchor>) -> [(u32, Option<Way>); 3] {
        let step = self.forward(from.raw, to.first.raw);
        let mut ways = [(u32::MAX, None); 3];
        if !self.is_valid(to.first.raw) {
            return ways;
        }
        let goes_forward = self.domain.modulus.is_some() || to.first.raw >= from.raw;
        if goes_forward {
            ways[0] = match self.by_coarse_clock(from, &to.first, step) {
                Some((ticks, true)) if ticks < self.near => (0, Some(Way::Forward(ticks))),
                // That nothing was recorded for so long is odd only if the coarse clock says nothing of it.
                Some((ticks, true)) => (2, Some(Way::Forward(ticks))),
                Some((ticks, false)) => (self.leap(ticks) + CONTRADICTED, Some(Way::Forward(ticks))),
                None => (self.leap(step), Some(Way::Forward(step))),
            };
        }
        let back = match self.domain.modulus {
            Some(modulus) => (step > modulus / 2).then(|| modulus.saturating_sub(step)),
            None => (to.first.raw < from.raw).then(|| from.raw - to.first.raw),
        };
        if let Some(back) = back {
            let far = 4 * (back / self.near.max(1) + 1).ilog2();
            // All stamps up to the time that was reached contradict it.
            let count = u128::from(to.count);
            let held = if to.span >= back { count * u128::from(back) / u128::from(to.span.max(1)) } else { count };
            let held = (held as u64).saturating_sub(HELD_FREE).saturating_mul(HELD_EACH).min(HELD_MOST) as u32;
            let cost = self.domain.disorder_bits.saturating_add(far).saturating_add(held);
            // The few stamps that were believed since the last break may have been wrong, if this one follows those before.
            let protection = if self.domain.is_protected { PROTECTION } else { 0 };
            let each = u64::from(10 + protection);
            let follows = |anchor: &&Anchor| anchor.before.is_none_or(|before| self.follows(before, to.first.raw));
            let wrong = anchor.filter(follows);
            let wrong =
                wrong.map_or(u32::MAX, |anchor| u32::try_from(anchor.count.saturating_mul(each) + 12).unwrap_or(u32::MAX));
            ways[1] = (cost.min(wrong), Some(Way::Back(back)));
        }
        if let Some(bits) = self.domain.restart_bits {
            let (price, evidence) = (self.restart(bits, from, to, anchor), u32::from(to.first.restart_bits));
            ways[2] = (price.saturating_sub(evidence).max(LEAST_RESTART), Some(Way::Restart));
            // Evidence beyond the price speaks against all else.
            if let Some(surplus) = evidence.checked_sub(price) {
                ways[..2].iter_mut().for_each(|way| way.0 = way.0.saturating_add(surplus + LEAST_RESTART));
            }
        }
        ways
    }

    /// The price of a restart, in bits, which evidence for it lowers.
    fn restart(&self, bits: u32, from: &Stamp, to: &Run, anchor: Option<&Anchor>) -> u32 {
        let mut cost = bits;
        // A clock that surely begins again passes the times of the session before once more.
        if to.returns && u32::from(to.first.restart_bits) < bits {
            cost = cost.saturating_add(GOES_ON);
        }
        let first = to.first.raw;
        // A counter that has wrapped says nothing by that.
        let wrapped =
            |anchor: &Anchor| self.domain.modulus.is_some_and(|modulus| anchor.ticks.saturating_sub(anchor.begin) >= modulus);
        if first >= from.raw {
            return cost.saturating_add(match to.first.restart_bits {
                0 => NOT_BACK,
                _ if anchor.is_some_and(wrapped) => 0,
                _ => NOT_BACK / 2,
            });
        }
        let back = from.raw - first;
        // A run that goes on far beyond the time that was reached was rather moved, if it does not begin where the session began.
        let goes_beyond = to.span / 2 > back;
        let (mut near, mut highest) = (0, from.raw);
        if let Some(anchor) = anchor {
            // Where there is damage, one stamp does not say how far the session had come.
            let (is_doubtful, before) = (self.damage_seen && anchor.count < 2, anchor.before);
            let far = before.filter(|_| is_doubtful).map_or(0, |before| self.forward(before, anchor.last.raw));
            let (lived, reached) =
                (anchor.ticks.saturating_sub(anchor.begin).saturating_sub(far), anchor.last.raw.saturating_sub(far));
            // Only of a counter that did not wrap it can be seen that it is again where it began.
            let begin = self.domain.modulus.map_or(anchor.begin, |modulus| anchor.begin % modulus);
            // It follows the stamp before the last break, or the one before the present runs: those between do not belong there.
            let follows = |before| self.forward(before, first) < self.near;
            let goes_on = follows(anchor.last.raw) || before.is_some_and(follows);
            // A usual step more is as near to the beginning.
            let is_step = back >= self.near && !goes_on;
            let tolerance = if is_step { self.near.max(lived / 16) } else { lived / 16 };
            let is_at_begin = !goes_on && first.abs_diff(begin) <= tolerance;
            let is_near_begin = first <= begin.saturating_add(tolerance) && (is_at_begin || !goes_beyond);
            if lived > 0 && is_near_begin && anchor.session_count >= 4 {
                let wraps = self.domain.modulus.is_some();
                near += if wraps { NEAR_BEGIN_AGAIN } else { NEAR_BEGIN };
            }
            if self.damage_seen {
                highest = highest.min(reached);
            }
        }
        if first <= highest / 16 && !goes_beyond && self.domain.modulus.is_none() {
            near += NEAR_ZERO;
        }
        // A damaged stamp may lie there, several in a row hardly do.
        cost.saturating_sub(near.min(NEAR_EACH.saturating_mul(to.count)))
    }

    /// How far the counter came according to the coarse clock, and whether both agree. `None` if it says nothing.
    fn by_coarse_clock(&self, from: &Stamp, to: &Stamp, step: u64) -> Option<(u64, bool)> {
        let rate = self.coarse_rate.filter(|_| !from.coarse_is_least)?;
        let expected = to.coarse.saturating_sub(from.coarse) as f64 * rate;
        // The coarse clock may have been about to tick, and its rate may be a little wrong.
        let tolerance = rate * 1.5 + expected / 256.0;
        if to.coarse_is_least && step as f64 + tolerance >= expected {
            // It does not say how much longer it was, but agrees that it was as long.
            return (step as f64 <= expected + tolerance).then_some((step, true));
        }
        let modulus = match self.domain.modulus {
            Some(modulus) => modulus as f64,
            None => return Some((step, (step as f64 - expected).abs() <= tolerance)),
        };
        // A tick between two stamps that follow each other is no sign of a wrap, but several are: all but one have passed as a whole.
        if step < self.near && (step as f64 - expected).abs() <= rate * 1.125 + expected / 256.0 {
            return Some((step, true));
        }
        // After very long silence the number of wraps is only nearly known. It is the best there is.
        let wraps = ((expected - step as f64) / modulus).round().max(0.0);
        let ticks = step as f64 + wraps * modulus;
        let ticks_exact = step.saturating_add((wraps as u64).saturating_mul(modulus as u64));
        Some((ticks_exact, (ticks - expected).abs() <= tolerance))
    }

    /// Whether no run goes back: then no stamp contradicts another, and only the length of steps is odd, as it is after silence. Of a counter
    /// that wraps, two damaged stamps and a return may look like that.
    fn only_advances(&self, anchor: Option<&Anchor>, runs: &[Run]) -> bool {
        let mut from = anchor.map(|anchor| anchor.last);
        let (mut all, mut are_long) = (0u64, true);
        runs.iter().all(|run| {
            let from = from.replace(run.last).unwrap_or(run.first);
            let step = self.forward(from.raw, run.first.raw);
            all = all.saturating_add(step).saturating_add(run.span);
            let is_sure = are_long || self.domain.modulus.is_none_or(|modulus| all <= modulus / 2);
            are_long &= run.count >= ORDERLY_FROM;
            let coarse = self.by_coarse_clock(&from, &run.first, step);
            let agrees = coarse.is_none_or(|(ticks, agrees)| agrees && ticks == step);
            is_sure
                && agrees
                && run.first.restart_bits == 0
                && self.is_valid(run.first.raw)
                && self.follows(from.raw, run.first.raw)
        })
    }

    /// Explains the runs that follow an anchor; without one, those at the start of a session. `None` without runs.
    pub fn explain(&self, anchor: Option<&Anchor>, mut runs: Vec<Run>) -> Option<Explained> {
        if self.only_advances(anchor, &runs) {
            let first = *runs.first()?;
            let regular = (0, Some(Way::Forward(0)));
            let (cost, way) = anchor.map_or(regular, |anchor| self.ways(&anchor.last, &first, Some(anchor))[0]);
            let (beside, cause) = self.beside(&first);
            // The last few of all may be damaged, if there was no such silence before.
            let is_new = matches!(way, Some(Way::Forward(ticks)) if ticks > self.longest_leap);
            let matters = is_new && runs.len() == 1 && first.count < ORDERLY_FROM;
            if !matters || cost <= beside.saturating_add(AT_THE_END) {
                let margin = if matters { beside.saturating_sub(cost) } else { u32::MAX };
                let rival = Some(Choice::Beside(cause, None));
                return Some(Explained { choice: Choice::Line(way?), count: first.count, rival, margin, matters });
            }
        }
        self.recognise(anchor, &mut runs);
        let count = runs.len();
        let first_count = runs.first().map_or(0, |run| run.count);
        let mut beside: Vec<(u32, Cause)> = runs.iter().map(|run| self.beside(run)).collect();
        if let (None, Some((cost, cause))) = (anchor, beside.first_mut()) {
            // Nor is it known of a longer piece that it belongs elsewhere.
            let is_piece = *cause == Cause::Moved && first_count >= FEW;
            *cost = if is_piece { cost.saturating_add(NOWHERE) } else { cost.saturating_sub(NOTHING_BEFORE) };
        }
        // The cost of leaving out all runs before each.
        let mut skipped = vec![0u32; count + 1];
        for index in 0..count {
            skipped[index + 1] = skipped[index].saturating_add(beside[index].0);
        }
        let between = |from: usize, to: usize| skipped[to].saturating_sub(skipped[from]);
        // The least cost of all that follows a run of the line.
        let mut rest = vec![0u32; count];
        for index in (0..count).rev() {
            let none = between(index + 1, count);
            let some = (index + 1..count).map(|next| {
                let way =
                    self.ways(&runs[index].last, &runs[next], anchor).into_iter().map(|way| way.0).min().unwrap_or(u32::MAX);
                between(index + 1, next).saturating_add(way).saturating_add(rest[next])
            });
            rest[index] = some.min().unwrap_or(u32::MAX).min(none);
        }
        let first = runs.first()?;
        // By kind: forwards, backwards, restart, beside.
        let mut best: [(u32, Option<Choice>); 4] = [(u32::MAX, None); 4];
        let mut offer = |kind: usize, cost: u32, choice: Choice| {
            if cost < best[kind].0 {
                best[kind] = (cost, Some(choice));
            }
        };
        let cause = beside[0].1;
        for (index, run) in runs.iter().enumerate() {
            let ways = match anchor {
                Some(anchor) => self.ways(&anchor.last, run, Some(anchor)),
                None if self.is_valid(run.first.raw) => [(0, Some(Way::Forward(0))), (u32::MAX, None), (u32::MAX, None)],
                None => [(u32::MAX, None); 3],
            };
            for (kind, (cost, way)) in ways.into_iter().enumerate() {
                let Some(way) = way else { continue };
                let cost = cost.saturating_add(between(0, index)).saturating_add(rest[index]);
                if index == 0 {
                    offer(kind, cost, Choice::Line(way));
                } else {
                    let ahead = match (way, anchor) {
                        (Way::Forward(ticks), Some(_)) => Some(ticks),
                        (Way::Forward(_), None) => Some(run.first.raw),
                        _ => None,
                    };
                    offer(3, cost, Choice::Beside(cause, ahead));
                }
            }
        }
        offer(3, between(0, count), Choice::Beside(cause, None));
        let (kind, &(cost, choice)) = best.iter().enumerate().min_by_key(|(_, best)| best.0)?;
        let others = best.iter().enumerate().filter(|(other, _)| *other != kind);
        let (second, rival) = others.map(|(_, best)| *best).min_by_key(|best| best.0)?;
        let ends = |choice: Option<Choice>| matches!(choice, Some(Choice::Line(Way::Restart) | Choice::Beside(_, None)));
        let matters = first.count >= FEW || ends(choice) || ends(rival);
        Some(Explained { choice: choice?, count: first.count, rival, margin: second.saturating_sub(cost), matters })
    }
}

/// From one value of a counter to another, forwards. Of a counter that does not wrap, a step back is [`u64::MAX`].
#[inline]
pub fn forward(modulus: Option<u64>, from: u64, to: u64) -> u64 {
    match (to.checked_sub(from), modulus) {
        (Some(step), _) => step,
        (None, Some(modulus)) => to.wrapping_sub(from).wrapping_add(modulus),
        (None, None) => u64::MAX,
    }
}
