//! The judge of one domain: a line of time through its stamps.

use super::doubt::{Doubt, Rival};
use super::runs::{Anchor, Choice, Setting, Way, forward};
use super::{Cause, Copies, Domain, Judged, LOOKAHEAD, Pieces, Stamp, Verdict};
use crate::model::{Ledger, Rate, losses};

/// Usual steps are below this many times the step that most steps at the start do not exceed.
const USUAL_FACTOR: u64 = 8;
/// How many of a hundred steps at the start are usual, at least.
const USUAL_SHARE: usize = 85;
/// From fewer steps no more than this share of the counter's range is learned as usual.
const FEW_STEPS: usize = 8;
const FEW_STEPS_SHARE: u64 = 1 << 12;
/// Usual steps are below this, at least.
const LEAST_NEAR: u64 = 16;
/// Time that is held for as many stamps is in doubt.
const HELD_LONG: usize = 64;
/// If longer steps than usual come sooner than this one after the other, in stamps, they are usual.
const OFTEN: u64 = 512;
/// If they are as rare as this, less is usual.
const RARELY: u64 = 1 << 16;

/// Judges the stamps of one domain, in file order.
///
/// [`Judge::step`] is the fast way for a stamp that follows by a usual step, [`Judge::judge`] the slow one for all others. Both move on by one
/// stamp.
#[derive(Clone, Debug)]
pub struct Judge {
    domain: Domain,
    /// Steps below this go the fast way; 0 while none may. Otherwise equal to `near`.
    limit: u64,
    /// Usual steps are below this. A power of two.
    near: u64,
    /// The value of the last stamp of the line, and its unwrapped time.
    raw: u64,
    ticks: u64,
    /// How many stamps of the session lie on the line.
    count: u64,
    /// How many of them had come at the last long step, and at the last break.
    count_at_leap: u64,
    count_at_break: u64,
    /// The longest step of the session that was believed to be silence, in ticks; 0 without one.
    longest_leap: u64,
    /// The values of the last stamp before that break, and of the first one after it.
    raw_at_break: u64,
    raw_after_break: u64,
    last: Stamp,
    /// The value of the stamp judged last the slow way, on the line or beside it.
    judged: u64,
    begin: Option<u64>,
    /// The time reached, which can be later than the line.
    floor: u64,
    plan: Option<Plan>,
    coarse_rate: Option<f64>,
    damage_seen: bool,
    /// Ticks before the first value.
    base: u64,
    /// The readings of the last break, if it is in doubt.
    doubt: Option<Doubt>,
    copies: Copies,
}

/// A decision about the next stamps: they are beside the line.
#[derive(Clone, Copy, Debug)]
struct Plan {
    left: u32,
    all: u32,
    cause: Cause,
    from: u64,
    to: Option<u64>,
    margin: u32,
}

impl Judge {
    /// A judge before the first stamp.
    #[must_use]
    pub fn new(domain: Domain) -> Judge {
        Judge {
            domain,
            limit: 0,
            near: LEAST_NEAR,
            raw: 0,
            ticks: 0,
            count: 0,
            count_at_leap: 0,
            count_at_break: 0,
            longest_leap: 0,
            raw_at_break: 0,
            raw_after_break: 0,
            last: Stamp::default(),
            judged: 0,
            begin: None,
            floor: 0,
            plan: None,
            coarse_rate: None,
            damage_seen: false,
            base: 0,
            doubt: None,
            copies: Copies::default(),
        }
    }

    /// Adds ticks to all times: the wraps of the counter before.
    #[must_use]
    pub fn with_base(mut self, ticks: u64) -> Judge {
        self.base = ticks;
        self
    }

    /// How many ticks of the counter there are in one of the coarse clock.
    #[must_use]
    pub fn with_coarse_rate(mut self, rate: Option<f64>) -> Judge {
        self.coarse_rate = rate;
        self
    }

    /// The facts about the counter.
    #[must_use]
    pub fn domain(&self) -> Domain {
        self.domain
    }

    /// Forgets the session: the next stamp is the first of another one.
    pub fn begin_session(&mut self, domain: Domain) {
        let Judge { damage_seen, coarse_rate, copies, .. } = *self;
        *self = Judge { damage_seen, coarse_rate, copies, ..Judge::new(domain) };
    }

    /// The time reached, in ticks; `None` before the first stamp.
    #[inline]
    #[must_use]
    pub fn reached(&self) -> Option<u64> {
        self.begin.map(|_| self.ticks.max(self.floor))
    }

    /// The first time of the session.
    #[must_use]
    pub fn begin(&self) -> Option<u64> {
        self.begin
    }

    /// How many stamps of the session have been believed.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The value of the last stamp of the line.
    #[must_use]
    pub fn last(&self) -> u64 {
        self.raw
    }

    /// Steps below this are usual.
    #[must_use]
    pub fn usual_step(&self) -> u64 {
        self.near
    }

    /// Bytes are known to be damaged: stamps may be, too.
    pub fn note_damage(&mut self) {
        self.damage_seen = true;
    }

    /// The reading of the coarse clock at the stamp that [`Judge::step`] took.
    #[inline]
    pub fn note_coarse_at_step(&mut self, coarse: u64) {
        self.last.coarse = self.last.coarse.max(coarse);
    }

    /// Something is missing before the next stamp: it goes the slow way.
    pub fn note_gap(&mut self) {
        self.limit = 0;
    }

    /// The coarse clock has ticked, and came to `coarse`: if that is so far since the last stamp that the counter may have wrapped unseen, the
    /// next stamp goes the slow way.
    #[inline]
    pub fn note_coarse(&mut self, coarse: u64) {
        if std::mem::take(&mut self.last.coarse_is_least) {
            self.last.coarse = coarse.saturating_sub(1);
        }
        if let (Some(rate), Some(modulus)) = (self.coarse_rate, self.domain.modulus)
            && coarse.saturating_sub(self.last.coarse) as f64 * rate > modulus as f64 / 2.0
        {
            self.limit = 0;
        }
    }

    /// The next stamp, if it follows by a usual step and is followed by one. Otherwise nothing is moved, and [`Judge::judge`] is to be
    /// asked.
    #[inline]
    pub fn step(&mut self, raw: u64, next: u64) -> Option<u64> {
        let step = forward(self.domain.modulus, self.raw, raw);
        let after = forward(self.domain.modulus, raw, next);
        // The limit is a power of two.
        if step | after >= self.limit {
            return None;
        }
        self.raw = raw;
        self.ticks = self.ticks.saturating_add(step);
        self.count += 1;
        Some(self.ticks)
    }

    /// The same for this number of stamps that equal the one before and the one after them, and are to have this time. False: nothing is
    /// moved.
    #[inline]
    pub fn stays(&mut self, raw: u64, ticks: u64, stamps: u64) -> bool {
        let stays = self.limit > 0 && (self.raw, self.ticks) == (raw, ticks);
        self.count += if stays { stamps } else { 0 };
        stays
    }

    /// Whether stamps from `first` to `last`, in order and `most` apart at most, would all go the fast way.
    #[inline]
    #[must_use]
    pub fn would_step(&self, first: u64, most: u64) -> bool {
        (forward(self.domain.modulus, self.raw, first) | most) < self.limit
    }

    /// Takes stamps of a counter that does not wrap, all at once, of which [`Judge::would_step`] is true. `last` is the last one.
    #[inline]
    pub fn step_all(&mut self, last: u64, stamps: u64) {
        self.ticks = self.ticks.saturating_add(forward(self.domain.modulus, self.raw, last));
        self.raw = last;
        self.count += stamps;
    }

    /// Judges a stamp by those that follow it, at most [`LOOKAHEAD`]. All of these must be there, or no more come. `bytes` is the whole
    /// input, to recognise repeated pieces.
    #[cold]
    pub fn judge(&mut self, stamp: Stamp, ahead: impl Iterator<Item = Stamp> + Clone, bytes: &[u8]) -> Judged {
        self.judge_in(stamp, ahead, [bytes, &[]])
    }

    /// The same in an input of two pieces.
    #[cold]
    pub fn judge_in(&mut self, stamp: Stamp, ahead: impl Iterator<Item = Stamp> + Clone, pieces: Pieces<'_>) -> Judged {
        self.doubt = None;
        let mut readings = None;
        let judged = self.judge_slowly(stamp, ahead, pieces, &mut readings);
        self.doubt = readings.filter(|_| judged.is_ambiguous());
        self.judged = stamp.raw;
        judged
    }

    /// The doubt about the stamp judged last, if another explanation is nearly as good. Given once.
    #[inline]
    pub fn take_doubt(&mut self) -> Option<Doubt> {
        self.doubt?;
        self.doubt.take()
    }

    /// Enters the stamp judged last in the ledger if it was replaced or held, or is in doubt. A tick has the length that `rate` says.
    pub fn enter(&mut self, judged: &Judged, offset: u64, rate: Rate, ledger: &mut Ledger) {
        match judged.verdict {
            Verdict::Replaced => ledger.enter(losses::TIME_OUTLIER, offset, 0),
            Verdict::Held => ledger.enter(losses::TIME_HELD, offset, 0),
            Verdict::Believed | Verdict::Restarted | Verdict::Unknown => {}
        }
        if let Some(doubt) = self.take_doubt() {
            ledger.enter_doubt(offset, doubt.text(rate));
        }
    }

    fn judge_slowly(
        &mut self,
        stamp: Stamp,
        ahead: impl Iterator<Item = Stamp> + Clone,
        pieces: Pieces<'_>,
        readings: &mut Option<Doubt>,
    ) -> Judged {
        // The fast way keeps no more than value and time of the last stamp.
        self.last.raw = self.raw;
        if let Some(judged) = self.go_on_with_plan(&stamp) {
            return judged;
        }
        let Some(begin) = self.begin else { return self.judge_first(stamp, ahead, pieces, readings) };
        self.floor = self.floor.max(self.ticks);
        let step = forward(self.domain.modulus, self.raw, stamp.raw);
        let is_near = step < self.near && stamp.restart_bits == 0 && !self.may_have_wrapped(&stamp);
        let next_is_near = ahead.clone().next().is_none_or(|next| forward(self.domain.modulus, stamp.raw, next.raw) < self.near);
        if is_near && next_is_near {
            return self.believe(&stamp, self.ticks.saturating_add(step), Cause::Regular, u32::MAX);
        }
        let anchor = Anchor {
            last: self.last,
            ticks: self.ticks,
            begin,
            count: self.count.saturating_sub(self.count_at_break),
            before: (self.count_at_break > 0).then_some(self.raw_at_break),
            after: self.raw_after_break,
            session_count: self.count,
        };
        let setting = self.setting(pieces);
        let runs = setting.runs(Some(self.raw), std::iter::once(stamp).chain(ahead.clone().take(LOOKAHEAD)), &mut self.copies);
        let Some(explained) = setting.explain(Some(&anchor), runs) else {
            return self.believe(&stamp, self.ticks, Cause::Regular, u32::MAX);
        };
        let mut margin = if explained.matters { explained.margin } else { u32::MAX };
        *readings = explained.rival.map(|rival| Doubt::new(explained.choice, Rival::Choice(rival)));
        // Silence of more than half of the range, of which no other clock says anything: it may be longer by any number of wraps.
        if let Choice::Line(Way::Forward(ticks)) = explained.choice
            && self.coarse_rate.is_none()
            && let Some(modulus) = self.domain.modulus.filter(|modulus| ticks > modulus / 2)
        {
            *readings = Some(Doubt::new(explained.choice, Rival::Wraps(modulus)));
            margin = 0;
        }
        match explained.choice {
            Choice::Line(Way::Forward(ticks)) => {
                let is_leap = ticks >= self.near;
                if is_leap {
                    self.longest_leap = self.longest_leap.max(ticks);
                    self.learn_leap(stamp.raw);
                }
                let cause = if is_leap { Cause::Silence } else { Cause::Regular };
                self.believe(&stamp, self.ticks.saturating_add(ticks), cause, margin)
            }
            Choice::Line(Way::Back(back)) => {
                if is_held_for_long(back, self.domain.modulus, &stamp, ahead.take(LOOKAHEAD)) {
                    let rival = explained.rival.unwrap_or(Choice::Line(Way::Restart));
                    *readings = Some(Doubt::new(explained.choice, Rival::Choice(rival)));
                    margin = 0;
                }
                self.note_break(stamp.raw);
                self.believe(&stamp, self.ticks.saturating_sub(back), Cause::Disorder, margin)
            }
            Choice::Line(Way::Restart) => {
                self.begin_session(self.domain);
                self.near = setting.near;
                self.start(&stamp);
                Judged { ticks: stamp.raw, own: stamp.raw, verdict: Verdict::Restarted, cause: Cause::Restart, margin }
            }
            Choice::Beside(cause, ahead) => {
                let to = ahead.map(|ahead| self.ticks.saturating_add(ahead));
                self.begin_plan(explained.count, cause, self.floor, to, margin);
                self.go_on_with_plan(&stamp).unwrap_or_else(|| self.held(self.floor, cause, margin))
            }
        }
    }

    /// The value of the stamp before in the file, whether it is on the line or beside it.
    #[must_use]
    pub fn previous(&self) -> u64 {
        if self.limit == 0 { self.judged } else { self.raw }
    }

    /// The ticks of the wraps so far.
    #[inline]
    #[must_use]
    pub fn wrapped(&self) -> u64 {
        self.ticks.saturating_sub(self.raw)
    }

    /// The counter was found to have this many values.
    pub fn set_modulus(&mut self, modulus: u64) {
        self.domain.modulus = Some(modulus);
        self.set_near(self.near);
    }

    /// Another counter that counts the same time, and has the same modulus, has come to `ticks`: so many times this one has wrapped unseen
    /// before its next stamp.
    #[cold]
    pub fn catch_up(&mut self, ticks: u64, next: u64) {
        let Some(modulus) = self.domain.modulus else { return };
        let own = match self.begin {
            Some(_) => self.ticks.saturating_add(forward(Some(modulus), self.raw, next)),
            None => self.base.saturating_add(next),
        };
        let unseen = (ticks.saturating_sub(own).saturating_add(modulus / 2) / modulus).saturating_mul(modulus);
        match self.begin {
            Some(_) => self.ticks = self.ticks.saturating_add(unseen),
            None => self.base = self.base.saturating_add(unseen),
        }
    }

    /// Whether a stamp follows that one by a usual step.
    #[must_use]
    pub fn follows(&self, raw: u64) -> bool {
        self.begin.is_none() || forward(self.domain.modulus, self.previous(), raw) < self.near
    }

    /// Other stamps follow than those that were looked at: what was decided about them no longer holds.
    pub fn reconsider(&mut self) {
        self.plan = None;
    }

    /// Adds ticks to all times of the session, those that have been given too: only right at its first stamp.
    pub fn move_by(&mut self, ticks: u64) {
        self.ticks = self.ticks.saturating_add(ticks);
        self.floor = self.floor.saturating_add(ticks);
        self.begin = self.begin.map(|begin| begin.saturating_add(ticks));
    }

    /// Believes a stamp that something else has judged, and that is not before the time reached.
    pub fn accept(&mut self, stamp: Stamp) -> Judged {
        if self.begin.is_none() {
            return self.start(&stamp);
        }
        let step = forward(self.domain.modulus, self.raw, stamp.raw);
        self.plan = None;
        if step >= self.near {
            self.learn_leap(stamp.raw);
        }
        self.floor = self.floor.max(self.ticks);
        self.believe(&stamp, self.ticks.saturating_add(step), Cause::Regular, u32::MAX)
    }

    fn setting<'a>(&self, pieces: Pieces<'a>) -> Setting<'a> {
        let &Judge { domain, near, longest_leap, damage_seen, coarse_rate, .. } = self;
        Setting { domain, near, longest_leap, damage_seen, coarse_rate, pieces }
    }

    fn may_have_wrapped(&self, stamp: &Stamp) -> bool {
        let (Some(rate), Some(modulus)) = (self.coarse_rate, self.domain.modulus) else { return false };
        stamp.coarse.saturating_sub(self.last.coarse) as f64 * rate > modulus as f64 / 2.0
    }

    /// Nothing precedes.
    fn judge_first(
        &mut self,
        stamp: Stamp,
        ahead: impl Iterator<Item = Stamp> + Clone,
        pieces: Pieces<'_>,
        readings: &mut Option<Doubt>,
    ) -> Judged {
        let stamps = std::iter::once(stamp).chain(ahead.take(LOOKAHEAD));
        self.learn_usual(stamps.clone());
        let setting = self.setting(pieces);
        let explained = setting.explain(None, setting.runs(None, stamps, &mut self.copies));
        match explained {
            Some(explained) if matches!(explained.choice, Choice::Beside(_, Some(_))) => {
                let Choice::Beside(cause, Some(first)) = explained.choice else { return self.start(&stamp) };
                self.damage_seen = true;
                *readings = explained.rival.map(|rival| Doubt::new(explained.choice, Rival::Choice(rival)));
                let ticks = self.base.saturating_add(first);
                Judged { ticks, own: ticks, verdict: Verdict::Replaced, cause, margin: explained.margin }
            }
            _ => self.start(&stamp),
        }
    }

    fn start(&mut self, stamp: &Stamp) -> Judged {
        let ticks = self.base.saturating_add(stamp.raw);
        (self.raw, self.ticks, self.last, self.begin) = (stamp.raw, ticks, *stamp, Some(ticks));
        (self.floor, self.count, self.limit) = (ticks, 1, self.near);
        self.copies.begin_session(stamp.offset);
        Judged { ticks, own: ticks, verdict: Verdict::Believed, cause: Cause::Regular, margin: u32::MAX }
    }

    /// Learns the usual step from the first stamps.
    fn learn_usual(&mut self, stamps: impl Iterator<Item = Stamp>) {
        let mut before = None;
        let mut steps: Vec<u64> = Vec::with_capacity(LOOKAHEAD);
        for stamp in stamps {
            if let Some(before) = before.replace(stamp.raw) {
                steps.push(forward(self.domain.modulus, before, stamp.raw));
            }
        }
        // Steps back say nothing of it.
        let half = self.domain.modulus.map_or(1 << 63, |modulus| modulus / 2);
        steps.retain(|step| *step < half);
        steps.sort_unstable();
        let usual = steps.get(steps.len().saturating_sub(1) * USUAL_SHARE / 100).copied().unwrap_or(LEAST_NEAR);
        // A few steps may all be long ones.
        let most = match self.domain.modulus {
            Some(modulus) if steps.len() < FEW_STEPS => (modulus / FEW_STEPS_SHARE).max(LEAST_NEAR),
            _ => u64::MAX,
        };
        self.set_near(usual.saturating_mul(USUAL_FACTOR).saturating_add(1).min(most));
    }

    fn set_near(&mut self, near: u64) {
        // Only a step of less than half of the range differs from a step back.
        let most = self.domain.modulus.map_or(1 << 62, |modulus| (modulus / 4).max(2));
        let near = near.clamp(LEAST_NEAR.min(most), most);
        self.near = 1 << near.ilog2();
        if self.limit != 0 {
            self.limit = self.near;
        }
    }

    /// A step that is longer than usual was believed.
    fn learn_leap(&mut self, raw: u64) {
        let since = self.count - self.count_at_leap.min(self.count);
        if since < OFTEN {
            self.set_near(self.near.saturating_mul(2));
        } else if since > RARELY {
            self.set_near(self.near / 2);
        }
        self.count_at_leap = self.count;
        self.note_break(raw);
    }

    /// The next stamp is believed, and does not follow by a usual step.
    fn note_break(&mut self, raw: u64) {
        (self.count_at_break, self.raw_at_break, self.raw_after_break) = (self.count, self.raw, raw);
    }

    /// A stamp lies on the line, at a time that may be before the one reached.
    fn believe(&mut self, stamp: &Stamp, ticks: u64, cause: Cause, margin: u32) -> Judged {
        (self.raw, self.ticks, self.last) = (stamp.raw, ticks, *stamp);
        self.count += 1;
        if ticks < self.floor {
            // Not the fast way: each of them is looked at until the time is reached.
            self.limit = 0;
            return Judged { ticks: self.floor, own: ticks, verdict: Verdict::Held, cause: Cause::Disorder, margin };
        }
        self.floor = ticks;
        self.limit = self.near;
        Judged { ticks, own: ticks, verdict: Verdict::Believed, cause, margin }
    }

    fn begin_plan(&mut self, count: u32, cause: Cause, from: u64, to: Option<u64>, margin: u32) {
        self.damage_seen |= cause == Cause::Damaged;
        self.limit = 0;
        self.plan = Some(Plan { left: count, all: count, cause, from, to, margin });
    }

    /// The next stamp, if it was decided already.
    fn go_on_with_plan(&mut self, stamp: &Stamp) -> Option<Judged> {
        let plan = self.plan.as_mut().filter(|plan| plan.left > 0)?;
        plan.left -= 1;
        let Plan { left, all, cause, from, to, margin } = *plan;
        // The doubt is about the whole run: it is said once.
        plan.margin = u32::MAX;
        if left == 0 {
            self.plan = None;
        }
        if cause != Cause::Damaged {
            let own = self.ticks.saturating_sub(forward(self.domain.modulus, stamp.raw, self.raw));
            return Some(Judged { own, ..self.held(from, cause, margin) });
        }
        // Between the last that is right and the next one.
        let way = to.unwrap_or(from).saturating_sub(from);
        let ticks = from + (u128::from(way) * u128::from(all - left) / u128::from(all + 1)) as u64;
        self.floor = self.floor.max(ticks);
        Some(Judged { ticks, own: ticks, verdict: Verdict::Replaced, cause, margin })
    }

    fn held(&self, ticks: u64, cause: Cause, margin: u32) -> Judged {
        Judged { ticks, own: ticks, verdict: Verdict::Held, cause, margin }
    }
}

/// Whether the time from which a stamp goes back is not reached again soon: a late stamp is late for a shorter time.
fn is_held_for_long(back: u64, modulus: Option<u64>, stamp: &Stamp, ahead: impl Iterator<Item = Stamp>) -> bool {
    ahead.take_while(|next| forward(modulus, stamp.raw, next.raw) < back).count() >= HELD_LONG
}
