//! Checks of sync frames against those before and after them.
//!
//! Frames are decoded with the facts of the sync before them, and a sync has no checksum: one flipped bit would move events in time, or
//! report losses that did not happen. So the first pass keeps all syncs, and each is compared with its neighbours: a value that
//! contradicts both is not used. Syncs also limit the frames between them: no event is later than the next sync, and the number of
//! missing frames follows from the numbers of the syncs and the number of frames in the file.

use super::super::scan::SyncPoint;

/// A last step is an outlier if it is larger than this many times the span of all before.
const EDGE_FACTOR: u64 = 64;

/// The least number of syncs before the last one for its time to be checked.
const ENOUGH: usize = 8;

/// A piece of the file is moved by at most this number of syncs.
const REACH: usize = 64;

/// The last sync has no successor to confirm it: it may report as many losses as frames were sent before, plus this margin.
const UNCONFIRMED: u64 = 256;

/// The values of a sync that are wrong, and the limits for the frames after it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SyncCheck {
    /// The offset of the sync in the input, in bytes.
    pub offset: u64,
    /// The time of the next valid sync, in ticks. Events before that sync are not later.
    pub until: u64,
    /// The largest number of frames that may be missing up to the next sync.
    pub missing_at_most: u32,
    /// Its time contradicts its neighbours.
    pub odd_time: bool,
    /// Its number contradicts its neighbours.
    pub odd_number: bool,
    /// Its count of dropped events contradicts its neighbours.
    pub odd_dropped: bool,
    /// Its number of cores contradicts its neighbours.
    pub odd_cores: bool,
    /// Its clock contradicts its neighbours.
    pub odd_clock: bool,
    /// It does not continue the one before, because a piece of the file was moved or repeated.
    pub is_displaced: bool,
}

impl SyncCheck {
    /// The result for a sync that was not checked.
    pub fn none(offset: u64) -> SyncCheck {
        SyncCheck { offset, until: u64::MAX, missing_at_most: u32::MAX, ..SyncCheck::default() }
    }
}

/// Whether `this` is outside the range from `before` to `after`, if that is not larger than `far`.
fn strays(before: u32, this: u32, after: u32, far: u32) -> bool {
    let span = after.wrapping_sub(before);
    span <= far && this.wrapping_sub(before) > span
}

/// Finds pieces of the file that were moved or repeated. Their first sync is before the one before it, by its number and by its time, and
/// fits between two others. A recording whose start is missing has other times.
fn find_displaced(points: &[SyncPoint], checks: &mut [SyncCheck]) {
    let mut begin = 0;
    for (index, pair) in points.windows(2).enumerate() {
        let [last, this] = *pair else { continue };
        if this.starts {
            begin = index + 1;
        }
        if index < begin || this.seq >= last.seq || this.ts > last.ts {
            continue;
        }
        // Those around its place.
        let from = begin.max(index.saturating_sub(REACH));
        let Some(after) = (from + 1..=index).find(|&after| points[after].seq >= this.seq) else { continue };
        let (before, after_it) = (points[after - 1], points[after]);
        if before.seq > this.seq || !(before.ts..=after_it.ts).contains(&this.ts) {
            continue;
        }
        let ahead = &points[index + 1..points.len().min(index + 1 + REACH)];
        let later = ahead.iter().take_while(|point| !point.starts).position(|point| point.seq > last.seq);
        let goes_on = later.map_or(ahead.len() < REACH, |later| ahead[later].ts >= last.ts);
        if !goes_on {
            continue;
        }
        for place in [index, after, index + 1].into_iter().chain(later.map(|later| index + 1 + later)) {
            let check = &mut checks[place];
            (check.odd_time, check.odd_number, check.odd_dropped) = (false, false, false);
            check.is_displaced |= place != index || place == after;
        }
    }
}

/// Checks all syncs of an input, in file order.
pub fn check(points: &[SyncPoint]) -> Vec<SyncCheck> {
    let mut checks: Vec<SyncCheck> = points.iter().map(|point| SyncCheck::none(point.offset)).collect();
    let mut begin = 0;
    for (index, &this) in points.iter().enumerate() {
        if this.starts {
            begin = index;
        }
        let before = index.checked_sub(1).and_then(|before| points.get(before)).filter(|_| index > begin);
        let after = points.get(index + 1).filter(|after| !after.starts);
        // If the one before is wrong, a contradiction to it is not evidence against this one.
        let odd_before = index.checked_sub(1).and_then(|before| checks.get(before)).copied().unwrap_or(SyncCheck::none(0));
        let own = &mut checks[index];
        match (before, after) {
            (Some(before), Some(after)) => {
                own.odd_time = before.ts <= after.ts && !(before.ts..=after.ts).contains(&this.ts);
                own.odd_number = strays(before.seq, this.seq, after.seq, u32::MAX / 4);
                own.odd_dropped = strays(before.dropped, this.dropped, after.dropped, u32::MAX / 2);
                own.odd_cores = before.cores == after.cores && this.cores != before.cores;
                own.odd_clock = before.clock == after.clock && this.clock != before.clock;
            }
            (Some(before), None) => {
                let first = points[begin];
                let sent = u64::from(before.seq.wrapping_sub(first.seq));
                let may_grow = sent.saturating_add(UNCONFIRMED);
                let leap = this.ts.saturating_sub(before.ts);
                let span = before.ts.saturating_sub(first.ts).max(1);
                own.odd_time = !odd_before.odd_time && index - begin >= ENOUGH && leap / EDGE_FACTOR > span;
                own.odd_number = !odd_before.odd_number && u64::from(this.seq.wrapping_sub(before.seq)) > may_grow;
                own.odd_dropped = !odd_before.odd_dropped && u64::from(this.dropped.wrapping_sub(before.dropped)) > may_grow;
                own.odd_cores = !odd_before.odd_cores && this.cores != before.cores;
                own.odd_clock = !odd_before.odd_clock && this.clock != before.clock;
            }
            // The first one: the two after it confirm each other.
            (None, Some(after)) => {
                if let Some(third) = points.get(index + 2).filter(|third| !third.starts) {
                    own.odd_time = this.ts > after.ts.max(third.ts) && after.ts <= third.ts;
                    let step = u64::from(third.seq.wrapping_sub(after.seq));
                    own.odd_number = u64::from(after.seq.wrapping_sub(this.seq)) > EDGE_FACTOR * step + UNCONFIRMED;
                    own.odd_cores = after.cores == third.cores && this.cores != after.cores;
                    own.odd_clock = after.clock == third.clock && this.clock != after.clock;
                }
            }
            (None, None) => {}
        }
    }
    find_displaced(points, &mut checks);
    for index in 0..points.len() {
        let this = points[index];
        let next_syncs = (index + 1..points.len()).take(4).take_while(|&next| !points[next].starts);
        let is_later = |next: &usize| !checks[*next].odd_time && (checks[index].odd_time || points[*next].ts >= this.ts);
        if let Some(next) = next_syncs.clone().find(is_later) {
            checks[index].until = points[next].ts;
        }
        if let Some(next) = next_syncs.take(1).find(|&next| !checks[next].odd_number && !checks[index].odd_number) {
            let sent = u64::from(points[next].seq.wrapping_sub(this.seq));
            let present = points[next].frame.saturating_sub(this.frame);
            let missing = if checks[next].is_displaced { 0 } else { sent.saturating_sub(present) };
            checks[index].missing_at_most = u32::try_from(missing).unwrap_or(u32::MAX);
        }
    }
    checks
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every 100 frames a sync, 1000 ticks apart.
    fn points(count: u32) -> Vec<SyncPoint> {
        let point = |n: u32| SyncPoint {
            offset: u64::from(n) * 700,
            frame: u64::from(n) * 101,
            ts: 5000 + u64::from(n) * 1000,
            seq: n * 101,
            dropped: 7,
            cores: 2,
            clock: (125, 21),
            starts: n == 0,
        };
        (0..count).map(point).collect()
    }

    #[test]
    fn valid_syncs_limit_the_frames_between_them() {
        let checks = check(&points(4));
        let until: Vec<u64> = checks.iter().map(|one| one.until).collect();
        assert_eq!(until, [6000, 7000, 8000, u64::MAX]);
        assert_eq!(checks.iter().map(|one| one.missing_at_most).collect::<Vec<_>>(), [0, 0, 0, u32::MAX]);
        assert!(checks.iter().all(|one| !one.odd_time && !one.odd_number && !one.odd_dropped && !one.odd_cores));
    }

    #[test]
    fn a_flipped_bit_of_one_sync_contradicts_its_neighbours() {
        for index in 1..11 {
            for bit in 8..31 {
                let mut flipped = points(12);
                flipped[index].ts ^= 1 << (bit + 3);
                let odd: Vec<usize> = (0..12).filter(|&other| check(&flipped)[other].odd_time).collect();
                assert_eq!(odd, [index], "time, bit {bit}");
                let mut flipped = points(12);
                flipped[index].seq ^= 1 << bit;
                let odd: Vec<usize> = (0..12).filter(|&other| check(&flipped)[other].odd_number).collect();
                assert_eq!(odd, [index], "number, bit {bit}");
                let mut flipped = points(12);
                flipped[index].dropped ^= 1 << bit;
                let odd: Vec<usize> = (0..12).filter(|&other| check(&flipped)[other].odd_dropped).collect();
                assert_eq!(odd, [index], "dropped, bit {bit}");
            }
            let mut flipped = points(12);
            flipped[index].cores = 3;
            assert!(check(&flipped)[index].odd_cores);
        }
    }

    #[test]
    fn a_clock_that_others_contradict_is_not_used() {
        for index in 0..12 {
            let mut flipped = points(12);
            flipped[index].clock.0 ^= 1 << 6;
            let odd: Vec<usize> = (0..12).filter(|&other| check(&flipped)[other].odd_clock).collect();
            assert_eq!(odd, [index]);
        }
        // With two syncs it is unknown which is right, and another recording may have another clock.
        let mut two = points(2);
        two[0].clock.0 = 61;
        assert!(!check(&two)[0].odd_clock);
        let mut another = points(12);
        another[6].starts = true;
        another[6..].iter_mut().for_each(|point| point.clock = (40, 1));
        assert!(check(&another).iter().all(|one| !one.odd_clock));
    }

    #[test]
    fn real_losses_and_steps_are_accepted() {
        let mut lossy = points(12);
        lossy[6..].iter_mut().for_each(|point| {
            point.seq += 500_000;
            point.ts += 1 << 40;
            point.dropped += 9000;
        });
        let checks = check(&lossy);
        assert!(checks.iter().all(|one| !one.odd_time && !one.odd_number && !one.odd_dropped));
        assert_eq!(checks[5].missing_at_most, 500_000);
        // At the end no sync confirms them: only plausible values are accepted.
        let mut last = points(12);
        last[11].seq += 1000;
        last[11].dropped += 1000;
        assert!(!check(&last)[11].odd_number && !check(&last)[11].odd_dropped);
        last[11].seq += 1 << 24;
        last[11].dropped += 1 << 24;
        last[11].ts += 1 << 40;
        assert!(check(&last)[11].odd_number && check(&last)[11].odd_dropped && check(&last)[11].odd_time);
    }
}
