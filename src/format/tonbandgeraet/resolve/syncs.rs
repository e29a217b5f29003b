//! Sync frames, judged by those before and after them.
//!
//! A sync is all that what follows it is decoded by, and nothing checks it: one flipped bit in it would move events in time, or tell of
//! frames that were never lost. So the first pass remembers all syncs, and here each is held against its neighbours: what
//! contradicts both is not believed. They also bound what lies between them: no delta reaches beyond the next sync, and no more
//! frames are missing than the numbers of the syncs and the frames in the file leave room for.

use super::super::scan::SyncPoint;

/// A last leap this many times further than everything before it is an outlier.
const EDGE_FACTOR: u64 = 64;

/// How many syncs must precede the last one for it to be judged by them.
const ENOUGH: usize = 8;

/// A last sync, which nothing confirms, may tell of as many losses as frames were sent before, and so many more.
const UNCONFIRMED: u64 = 256;

/// What is wrong with a sync, and what bounds the frames behind it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Judgement {
    /// Where the sync stands in the input.
    pub offset: u64,
    /// The time of the next sync that can be believed, in ticks; no event before that sync is later.
    pub until: u64,
    /// How many frames are missing at most up to the next sync.
    pub missing_at_most: u32,
    /// Its time contradicts its neighbours.
    pub odd_time: bool,
    /// Its number does.
    pub odd_number: bool,
    /// Its count of dropped events does.
    pub odd_dropped: bool,
    /// Its number of cores does.
    pub odd_cores: bool,
    /// Its clock does.
    pub odd_clock: bool,
}

impl Judgement {
    /// Of a sync that nothing is known of.
    pub fn none(offset: u64) -> Judgement {
        Judgement {
            offset,
            until: u64::MAX,
            missing_at_most: u32::MAX,
            odd_time: false,
            odd_number: false,
            odd_dropped: false,
            odd_cores: false,
            odd_clock: false,
        }
    }
}

/// Whether `this` lies outside of the way from `before` to `after`, which are not further apart than `far`.
fn strays(before: u32, this: u32, after: u32, far: u32) -> bool {
    let span = after.wrapping_sub(before);
    span <= far && this.wrapping_sub(before) > span
}

/// Judges all syncs of an input, in file order.
pub fn judge(points: &[SyncPoint]) -> Vec<Judgement> {
    let mut judged: Vec<Judgement> = points.iter().map(|point| Judgement::none(point.offset)).collect();
    let mut begin = 0;
    for (index, &this) in points.iter().enumerate() {
        if this.starts {
            begin = index;
        }
        let before = index.checked_sub(1).and_then(|before| points.get(before)).filter(|_| index > begin);
        let after = points.get(index + 1).filter(|after| !after.starts);
        // A contradiction of the one before says nothing against this one.
        let odd_before = index.checked_sub(1).and_then(|before| judged.get(before)).copied().unwrap_or(Judgement::none(0));
        let own = &mut judged[index];
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
            // The first one: the two behind it speak for each other.
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
    for index in 0..points.len() {
        let this = points[index];
        let behind = (index + 1..points.len()).take(4).take_while(|&next| !points[next].starts);
        if let Some(next) = behind.clone().find(|&next| !judged[next].odd_time) {
            let is_sound = judged[index].odd_time || points[next].ts >= this.ts;
            judged[index].until = if is_sound { points[next].ts } else { u64::MAX };
        }
        if let Some(next) = behind.take(1).find(|&next| !judged[next].odd_number && !judged[index].odd_number) {
            let sent = u64::from(points[next].seq.wrapping_sub(this.seq));
            let there = points[next].frame.saturating_sub(this.frame);
            judged[index].missing_at_most = u32::try_from(sent.saturating_sub(there)).unwrap_or(u32::MAX);
        }
    }
    judged
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
    fn sound_syncs_bound_what_is_between_them() {
        let judged = judge(&points(4));
        let until: Vec<u64> = judged.iter().map(|one| one.until).collect();
        assert_eq!(until, [6000, 7000, 8000, u64::MAX]);
        assert_eq!(judged.iter().map(|one| one.missing_at_most).collect::<Vec<_>>(), [0, 0, 0, u32::MAX]);
        assert!(judged.iter().all(|one| !one.odd_time && !one.odd_number && !one.odd_dropped && !one.odd_cores));
    }

    #[test]
    fn a_flipped_bit_of_one_sync_is_seen_by_its_neighbours() {
        for index in 1..11 {
            for bit in 8..31 {
                let mut flipped = points(12);
                flipped[index].ts ^= 1 << (bit + 3);
                let odd: Vec<usize> = (0..12).filter(|&other| judge(&flipped)[other].odd_time).collect();
                assert_eq!(odd, [index], "time, bit {bit}");
                let mut flipped = points(12);
                flipped[index].seq ^= 1 << bit;
                let odd: Vec<usize> = (0..12).filter(|&other| judge(&flipped)[other].odd_number).collect();
                assert_eq!(odd, [index], "number, bit {bit}");
                let mut flipped = points(12);
                flipped[index].dropped ^= 1 << bit;
                let odd: Vec<usize> = (0..12).filter(|&other| judge(&flipped)[other].odd_dropped).collect();
                assert_eq!(odd, [index], "dropped, bit {bit}");
            }
            let mut flipped = points(12);
            flipped[index].cores = 3;
            assert!(judge(&flipped)[index].odd_cores);
        }
    }

    #[test]
    fn a_clock_that_others_contradict_is_not_believed() {
        for index in 0..12 {
            let mut flipped = points(12);
            flipped[index].clock.0 ^= 1 << 6;
            let odd: Vec<usize> = (0..12).filter(|&other| judge(&flipped)[other].odd_clock).collect();
            assert_eq!(odd, [index]);
        }
        // Of two nobody knows which is right, and another recording may have another clock.
        let mut two = points(2);
        two[0].clock.0 = 61;
        assert!(!judge(&two)[0].odd_clock);
        let mut another = points(12);
        another[6].starts = true;
        another[6..].iter_mut().for_each(|point| point.clock = (40, 1));
        assert!(judge(&another).iter().all(|one| !one.odd_clock));
    }

    #[test]
    fn real_losses_and_leaps_are_believed() {
        let mut lossy = points(12);
        lossy[6..].iter_mut().for_each(|point| {
            point.seq += 500_000;
            point.ts += 1 << 40;
            point.dropped += 9000;
        });
        let judged = judge(&lossy);
        assert!(judged.iter().all(|one| !one.odd_time && !one.odd_number && !one.odd_dropped));
        assert_eq!(judged[5].missing_at_most, 500_000);
        // At the end there is nobody to confirm them: then only what is in proportion.
        let mut last = points(12);
        last[11].seq += 1000;
        last[11].dropped += 1000;
        assert!(!judge(&last)[11].odd_number && !judge(&last)[11].odd_dropped);
        last[11].seq += 1 << 24;
        last[11].dropped += 1 << 24;
        last[11].ts += 1 << 40;
        assert!(judge(&last)[11].odd_number && judge(&last)[11].odd_dropped && judge(&last)[11].odd_time);
    }
}
