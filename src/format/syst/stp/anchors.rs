//! The full time stamps of a stream, and the bounds that they give for the stamps between them.
//!
//! Most time stamps have the low digits only; the others stay as they were. So one damaged stamp, or a packet read where none begins, makes all times
//! wrong up to the next stamp with as many digits. But a sender repeats all digits after an ASYNC. These *anchors* are collected in the
//! first pass, and those that fit together are believed. In the second pass, a stamp that is not between the two believed anchors around it is
//! not used. Nor is a frequency, or a scheme of time stamps, that neither the ASYNC before nor the one after it has.

use std::ops::Range;
use std::sync::Arc;

use super::ASYNC_BYTES;
use super::packets::{NibbleOrder, Nibbles, Packets, Scheme, Window, from_gray, to_gray};
use super::predecode::Seeking;
use super::survey::Reading;

/// Fewer anchors give no bounds: of two, either may be wrong.
const LEAST_ANCHORS: usize = 3;

/// Where the first stamp after an ASYNC is searched, in bytes.
const REACH_BYTES: usize = 512;

/// The padding of bytes in memory for [`Nibbles`].
const PAD_BYTES: usize = 16;

/// A stamp with this number of digits or more has all digits.
const ALL_DIGITS: u32 = 14;

/// What follows an ASYNC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Anchor {
    /// Where the ASYNC ends in the stream, in nibbles.
    position: u64,
    /// The first time stamp, if it has all digits.
    time: Option<u64>,
    /// The clock's frequency.
    hz: Option<u64>,
    /// The scheme of time stamps that its VERSION states.
    scheme: Option<Scheme>,
}

/// The anchors whose ASYNC ends in this range of a stream, in bytes.
pub fn anchors(stream: &[u8], range: Range<usize>, order: NibbleOrder) -> Vec<Anchor> {
    let mut found = Vec::new();
    let mut at = range.start.saturating_sub(ASYNC_BYTES.len());
    while let Some(start) = stream.get(at..range.end).and_then(|rest| memchr::memmem::find(rest, &ASYNC_BYTES)) {
        let start = at + start;
        let ones = stream.get(start..range.end).unwrap_or(&[]).iter().take_while(|byte| **byte == 0xFF).count();
        at = start + ones;
        if (range.start..range.end).contains(&at) {
            found.extend(anchor_at(stream, start.max(at.saturating_sub(ASYNC_BYTES.len() + 1)).saturating_sub(1), order));
        }
    }
    found
}

/// The longest tail that is inspected, in bytes.
const TAIL_BYTES: usize = 1 << 20;

/// Whether messages after the last time of an anchor are damaged.
pub fn is_tail_damaged(stream: &[u8], order: NibbleOrder) -> bool {
    let from = stream.len().saturating_sub(TAIL_BYTES);
    let last = anchors(stream, from..stream.len(), order).into_iter().rfind(|anchor| anchor.time.is_some());
    let tail =
        last.and_then(|anchor| stream.get(usize::try_from(anchor.position / 2).ok()?.saturating_sub(ASYNC_BYTES.len() + 2)..));
    let reading = Reading::of(tail.unwrap_or(&[]), order);
    reading.legal < reading.messages || reading.unsynced > 0
}

/// Reads bytes at the position `base` of a stream up to their first ASYNC, and gives the place after it.
fn seek(bytes: &[u8], base: u64, order: NibbleOrder) -> (Window<'_>, Packets, Seeking, usize) {
    let nibbles = Nibbles { bytes, end: 2 * bytes.len().saturating_sub(PAD_BYTES) };
    let window = Window { nibbles, base, origins: &[], bounds: &[] };
    let (mut packets, mut seen) = (Packets::new(order, 0), Seeking::default());
    let synced = packets.run(window, 0, false, &mut seen, |packets, _| !packets.synced);
    (window, packets, seen, synced)
}

/// The anchor of an ASYNC that begins in the byte at `start` or the next one.
fn anchor_at(stream: &[u8], start: usize, order: NibbleOrder) -> Option<Anchor> {
    let bytes = stream.get(start..)?;
    let (window, mut packets, mut seen, synced) = seek(bytes.get(..REACH_BYTES).unwrap_or(bytes), start as u64, order);
    packets.run(window, synced, false, &mut seen, |packets, _| packets.synced && packets.known == 0);
    let has_all = packets.known.count_ones() >= 4 * ALL_DIGITS && matches!(packets.scheme, Scheme::Natural | Scheme::Gray);
    let scheme = packets.has_version.then_some(packets.scheme);
    let anchor = Anchor { position: window.position(synced), time: has_all.then_some(packets.time), hz: seen.hz, scheme };
    (anchor.time.is_some() || anchor.hz.is_some()).then_some(anchor)
}

/// Whether these bytes have an ASYNC with its VERSION.
pub fn has_version(stream: &[u8], order: NibbleOrder) -> bool {
    let Some(start) = memchr::memmem::find(stream, &ASYNC_BYTES) else { return false };
    let bytes = stream.get(start.saturating_sub(1)..).unwrap_or(&[]);
    let (window, mut packets, mut seen, synced) = seek(bytes, 0, order);
    packets.run(window, synced, false, &mut seen, |packets, at| packets.synced && at == synced);
    packets.has_version
}

/// What stamps may be from a position of the stream on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bound {
    /// The position, in nibbles.
    from: u64,
    low: u64,
    high: u64,
    /// The frequencies and schemes recorded before and after, if they are known.
    hz: [Option<u64>; 2],
    schemes: [Option<Scheme>; 2],
}

impl Bound {
    const NONE: Bound = Bound { from: 0, low: 0, high: u64::MAX, hz: [None; 2], schemes: [None; 2] };
}

/// The bounds of a stream, by its anchors in file order.
///
/// `is_tail_damaged`: what follows the last anchor is damaged. Then a stamp there may not be later by much more than anchors are apart.
pub fn bounds(anchors: &[Anchor], is_tail_damaged: bool) -> Arc<[Bound]> {
    let starts = std::iter::once(0).chain(anchors.iter().map(|anchor| anchor.position));
    let mut bounds: Vec<Bound> = starts.map(|from| Bound { from, ..Bound::NONE }).collect();
    bound_times(anchors, is_tail_damaged, &mut bounds);
    let rates = neighbours(anchors, |anchor| anchor.hz);
    let schemes = neighbours(anchors, |anchor| anchor.scheme);
    for ((bound, hz), schemes) in bounds.iter_mut().skip(1).zip(rates).zip(schemes) {
        (bound.hz, bound.schemes) = (hz, schemes);
    }
    bounds.into()
}

fn bound_times(anchors: &[Anchor], is_tail_damaged: bool, bounds: &mut [Bound]) {
    let timed: Vec<(usize, u64)> =
        anchors.iter().enumerate().filter_map(|(index, anchor)| Some((index + 1, anchor.time?))).collect();
    if timed.len() < LEAST_ANCHORS {
        return;
    }
    let times: Vec<u64> = timed.iter().map(|anchor| anchor.1).collect();
    let (mut low, mut from) = (0, 0);
    let believed = believed(&times);
    if let Some(&(first, _)) = believed.first().filter(|first| first.0 > 0) {
        low = times[first].saturating_sub(silence(&times));
    }
    for (number, is_first) in believed {
        let (at, time) = timed[number];
        // What lies before the first anchor of a session after a restart may be of either.
        let high = if is_first && from > 0 { u64::MAX } else { time };
        bounds[from..at].iter_mut().for_each(|bound| (bound.low, bound.high) = (low, high));
        (low, from) = (time, at);
    }
    let high = if is_tail_damaged { low.saturating_add(silence(&times)) } else { u64::MAX };
    bounds[from..].iter_mut().for_each(|bound| (bound.low, bound.high) = (low, high));
}

/// What is least unlikely: that anchors are wrong, that nothing was sent for long, or that the target restarted. Damage hardly leads to where
/// the session began.
const WRONG: u32 = 2;
const SILENCE: u32 = 3;
const RESTART: u32 = 3;
const RESTART_NEAR_BEGIN: u32 = 1;

/// No more anchors than this one after the other are wrong.
const WRONG_MAX: usize = 64;

/// A step between anchors is a silence if it is longer than this number of usual ones.
const SILENCE_STEPS: u64 = 64;

/// A longer step is a silence. Of a few steps one may be wrong, and long. A copy of an anchor is no step.
fn silence(times: &[u64]) -> u64 {
    let mut steps: Vec<u64> = times.windows(2).filter_map(|two| two[1].checked_sub(two[0])).filter(|step| *step > 0).collect();
    steps.sort_unstable();
    steps.get(steps.len().saturating_sub(1) / 2).copied().unwrap_or(0).max(1).saturating_mul(SILENCE_STEPS)
}

/// The anchors that fit together, by their numbers, and whether a session begins there.
fn believed(times: &[u64]) -> Vec<(usize, bool)> {
    let silence = silence(times);
    // The least cost of all up to each anchor if that is believed, the believed one before, and where its session began.
    let mut best: Vec<(u32, Option<usize>, u64)> = Vec::with_capacity(times.len());
    for (number, &time) in times.iter().enumerate() {
        let cost = |before: usize| {
            let (cost, _, begin) = best[before];
            let (way, begin) = match time.checked_sub(times[before]) {
                Some(step) if step <= silence => (0, begin),
                Some(_) => (SILENCE, begin),
                None if time.abs_diff(begin) <= silence / SILENCE_STEPS => (RESTART_NEAR_BEGIN, time),
                None => (RESTART, time),
            };
            (cost + way + WRONG * (number - before - 1) as u32, begin)
        };
        let first = (WRONG * number as u32, None, time);
        let mut least = first;
        // From the nearest one on, as those further away cost more. Of equal ones, the furthest counts.
        for before in (number.saturating_sub(WRONG_MAX + 1)..number).rev() {
            if WRONG * (number - before - 1) as u32 > least.0 {
                break;
            }
            let (cost, begin) = cost(before);
            if cost <= least.0 {
                least = (cost, Some(before), begin);
            }
        }
        best.push(least);
    }
    let wrong_after = |number: usize| WRONG * (times.len() - 1 - number) as u32;
    let mut at = (0..times.len()).min_by_key(|&number| best[number].0 + wrong_after(number));
    let mut believed = Vec::new();
    while let Some(number) = at {
        at = best[number].1;
        believed.push((number, at.is_none_or(|before| times[before] > times[number])));
    }
    believed.reverse();
    believed
}

/// What the anchors before and after each one record.
fn neighbours<T: Copy>(anchors: &[Anchor], of: impl Fn(&Anchor) -> Option<T>) -> Vec<[Option<T>; 2]> {
    let mut all = vec![[None; 2]; anchors.len()];
    if anchors.iter().filter_map(&of).count() < LEAST_ANCHORS {
        return all;
    }
    let mut known = None;
    for (neighbours, anchor) in all.iter_mut().zip(anchors) {
        neighbours[0] = known;
        known = of(anchor).or(known);
    }
    known = None;
    for (neighbours, anchor) in all.iter_mut().zip(anchors).rev() {
        neighbours[1] = known;
        known = of(anchor).or(known);
    }
    all
}

/// The frequency that two anchors record, one after the other.
pub fn recorded_hz(anchors: &[Anchor]) -> Option<u64> {
    let mut rates = anchors.iter().filter_map(|anchor| anchor.hz);
    let mut last = rates.next()?;
    rates.find(|&hz| std::mem::replace(&mut last, hz) == hz)
}

/// Whether the transport's time of a message at an offset in the file is within its bounds.
pub fn admits(bounds: &[Bound], offset: u64, time: u64) -> bool {
    let Bound { low, high, .. } = Segment::at(bounds, 2 * offset).bound;
    (low..=high).contains(&time)
}

/// A bound, and how far it reaches.
#[derive(Clone, Copy, Debug)]
pub(super) struct Segment {
    /// From here on another bound holds.
    pub until: u64,
    bound: Bound,
    /// No anchor is before it.
    is_start: bool,
    /// A stamp is judged if these digits are its own or known: whatever the others were, it means one time.
    digits: u64,
}

impl Segment {
    /// The one before the first position.
    pub(super) const NONE: Segment = Segment { until: 0, bound: Bound::NONE, is_start: false, digits: u64::MAX };

    /// The one of a position.
    #[cold]
    pub(super) fn at(bounds: &[Bound], position: u64) -> Segment {
        let after = bounds.partition_point(|bound| bound.from <= position);
        let until = bounds.get(after).map_or(u64::MAX, |next| next.from);
        match after.checked_sub(1).and_then(|index| bounds.get(index)) {
            // The digits above are those of both bounds, and so is their Gray code.
            Some(&bound) => {
                let digits = u64::MAX.unbounded_shr((bound.low ^ bound.high).leading_zeros() / 4 * 4);
                let is_start = bounds.first().is_some_and(|first| first.low == bound.low && bound.low > 0);
                Segment { until, bound, is_start, digits }
            }
            None => Segment { until, ..Segment::NONE },
        }
    }

    /// Whether a stamp may be of this segment: `value`, of which only the digits in `mask` are sent. Of the time before it, the digits in
    /// `known` were sent since the last VERSION.
    #[inline]
    pub(super) fn admits(&self, scheme: Scheme, (time, known): (u64, u64), value: u64, mask: u64) -> bool {
        if (known | mask) < self.digits {
            return true;
        }
        let Bound { low, high, .. } = self.bound;
        let with = |low: u64, time: u64| (low & !known | time & known) & !mask | value;
        let time = match scheme {
            Scheme::Natural => with(low, time),
            Scheme::Gray => from_gray(with(to_gray(low), to_gray(time))),
            Scheme::Delta | Scheme::Legacy => return true,
        };
        (low..=high).contains(&time)
    }

    /// A time in place of a stamp with all digits that is not used, if there is no anchor before it.
    pub(super) fn instead(&self, digits: usize) -> Option<u64> {
        (self.is_start && digits >= ALL_DIGITS as usize).then_some(self.bound.low)
    }

    /// Whether a frequency may be right: the one recorded before or after it is the same, if there is one.
    pub(super) fn admits_hz(&self, hz: u64) -> bool {
        self.bound.hz == [None; 2] || self.bound.hz.contains(&Some(hz))
    }

    /// The scheme that a VERSION states, or that of those around it if they contradict it.
    pub(super) fn scheme(&self, stated: Scheme) -> Scheme {
        let [before, after] = self.bound.schemes;
        if [before, after].contains(&Some(stated)) { stated } else { before.or(after).unwrap_or(stated) }
    }
}

#[cfg(test)]
mod tests {
    use super::believed;

    #[test]
    fn a_session_of_two_anchors_is_not_left_out() {
        let all = [(0, true), (1, false), (2, true), (3, false), (4, false)];
        assert_eq!(believed(&[1_000, 61_000, 3_000, 64_000, 125_000]), all);
        // One that is wrong elsewhere, or far before the others, is still left out.
        assert_eq!(believed(&[1_000, 61_000, 121_000, 99_000, 182_000]), [all[0], all[1], (2, false), all[4]]);
        assert_eq!(believed(&[1 << 40, 1_000, 61_000, 121_000]), [(1, true), (2, false), (3, false)]);
        // The last one of three, and its copy.
        assert_eq!(believed(&[1_000, 61_000, 61_000]), [(0, true), (1, false), (2, false)]);
    }
}
