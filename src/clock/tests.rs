//! The judge alone, against a synthetic truth.

use super::*;

/// Numbers that look random.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % limit.max(1)
    }

    fn one_in(&mut self, count: u64) -> bool {
        self.below(count) == 0
    }
}

/// A stamp in the file, and its true time.
#[derive(Clone, Copy, Debug)]
struct Made {
    raw: u64,
    session: u32,
    /// The unwrapped time in its session.
    truth: u64,
    restart_bits: u8,
    is_damaged: bool,
    number: u32,
}

fn wrapped(modulus: Option<u64>, ticks: u64) -> u64 {
    modulus.map_or(ticks, |modulus| ticks % modulus)
}

/// A recording without damage.
fn recording(random: &mut Random, modulus: Option<u64>, count: u32, mean: u64) -> Vec<Made> {
    let mut truth = random.below(mean * 1000);
    (0..count)
        .map(|number| {
            let step = match random.below(200) {
                0 => random.below(mean * 12),
                1..80 => random.below(mean / 4 + 1),
                _ => random.below(mean * 2),
            };
            truth += step;
            Made { raw: wrapped(modulus, truth), session: 0, truth, restart_bits: 0, is_damaged: false, number }
        })
        .collect()
}

/// Each record has its stamp and its number in the file.
fn bytes_of(made: &[Made]) -> Vec<u8> {
    made.iter().flat_map(|made| made.raw.to_le_bytes().into_iter().chain(made.number.to_le_bytes())).collect()
}

fn judge_all(domain: Domain, made: &[Made]) -> Vec<(Judged, u32)> {
    let bytes = bytes_of(made);
    let stamp = |index: usize| Stamp {
        raw: made[index].raw,
        offset: index as u64 * 12,
        restart_bits: made[index].restart_bits,
        ..Stamp::default()
    };
    let mut judge = Judge::new(domain);
    let mut session = 0;
    (0..made.len())
        .map(|index| {
            let fast = made
                .get(index + 1)
                .filter(|next| next.restart_bits == 0 && made[index].restart_bits == 0)
                .and_then(|next| judge.step(made[index].raw, next.raw));
            let judged = match fast {
                Some(ticks) => Judged { ticks, own: ticks, verdict: Verdict::Believed, cause: Cause::Regular, margin: u32::MAX },
                None => judge.judge(stamp(index), (index + 1..made.len()).map(stamp).take(LOOKAHEAD), &bytes),
            };
            session += u32::from(judged.verdict == Verdict::Restarted);
            (judged, session)
        })
        .collect()
}

/// Checks that times are right except near to damage, and that sessions are.
fn check(name: &str, domain: Domain, made: &[Made]) {
    let judged = judge_all(domain, made);
    let damaged: Vec<usize> = (0..made.len()).filter(|&index| made[index].is_damaged).collect();
    let is_near_damage = |index: usize| {
        let at = damaged.partition_point(|&damage| damage < index);
        let near = |other: Option<&usize>| other.is_some_and(|&other| other.abs_diff(index) <= 64);
        near(damaged.get(at)) || near(at.checked_sub(1).and_then(|before| damaged.get(before)))
    };
    let mut last = (0, 0);
    for (index, ((judged, session), made)) in judged.iter().zip(made).enumerate() {
        assert_eq!(*session, made.session, "{name}: session of {index}: {made:?} {judged:?}");
        assert!((*session, judged.ticks) >= last, "{name}: time goes back at {index}");
        last = (*session, judged.ticks);
        if !is_near_damage(index) {
            let is_right = match domain.modulus {
                Some(modulus) => judged.ticks % modulus == made.raw,
                None => judged.ticks == made.truth,
            };
            assert!(is_right, "{name}: {index}: {judged:?} for {made:?}");
        }
    }
    // Wraps: no whole range is added or lost.
    if let Some(modulus) = domain.modulus {
        let begin = made.iter().position(|made| !made.is_damaged).unwrap_or(0);
        let base = made[begin].truth - made[begin].truth % modulus;
        for (index, ((judged, _), made)) in judged.iter().zip(made).enumerate().skip(begin + 64) {
            if !is_near_damage(index) {
                assert_eq!(judged.ticks, made.truth - base, "{name}: wraps at {index}");
            }
        }
    }
}

const WIDTHS: [(Option<u64>, u64); 6] =
    [(None, 1000), (Some(1 << 32), 50_000), (Some(1 << 24), 3000), (Some(1 << 16), 20), (Some(1000), 2), (Some(256), 1)];

fn domain(modulus: Option<u64>) -> Domain {
    let disorder_bits = if modulus.is_some() { 14 } else { Domain::plain().disorder_bits };
    Domain { modulus, disorder_bits, ..Domain::plain() }
}

#[test]
fn without_damage_all_is_believed() {
    for seed in 1..40 {
        for (modulus, mean) in WIDTHS {
            let mut random = Random(seed * 77 + 1);
            let made = recording(&mut random, modulus, 3000, mean);
            check(&format!("{modulus:?} seed {seed}"), domain(modulus), &made);
            let judged = judge_all(domain(modulus), &made);
            assert!(judged.iter().all(|(judged, _)| judged.verdict == Verdict::Believed), "{modulus:?} seed {seed}");
        }
    }
}

#[test]
fn flipped_bits_stay_where_they_are() {
    for seed in 1..60 {
        // With 8 bits damage and a wrap look the same.
        for (modulus, mean) in WIDTHS.into_iter().take(5) {
            let mut random = Random(seed * 9 + 5);
            let mut made = recording(&mut random, modulus, 2500, mean);
            let bits = modulus.map_or(60, |modulus| u64::from((modulus - 1).ilog2() + 1));
            for _ in 0..1 + random.below(20) {
                let index = random.below(2500) as usize;
                made[index].raw ^= 1 << random.below(bits);
                made[index].is_damaged = true;
            }
            check(&format!("{modulus:?} seed {seed}"), domain(modulus), &made);
        }
    }
}

#[test]
fn a_moved_or_repeated_piece_is_no_restart() {
    for seed in 1..80 {
        for (modulus, mean) in WIDTHS.into_iter().take(4) {
            let mut random = Random(seed * 31 + 3);
            let mut made = recording(&mut random, modulus, 3000, mean);
            let (at, len) = (random.below(2700) as usize, 2 + random.below(60) as usize);
            if random.one_in(2) {
                made[at..at + 2 * len].rotate_left(len);
                made[at..at + 2 * len].iter_mut().for_each(|made| made.is_damaged = true);
            } else {
                let piece: Vec<Made> = made[at..at + len].iter().map(|made| Made { is_damaged: true, ..*made }).collect();
                made.splice(at + len..at + len, piece);
            }
            check(&format!("{modulus:?} seed {seed} at {at} {len}"), domain(modulus), &made);
        }
    }
}

#[test]
fn silence_is_believed() {
    for seed in 1..40 {
        for (modulus, mean) in WIDTHS.into_iter().take(4) {
            let mut random = Random(seed * 5 + 9);
            let mut made = recording(&mut random, modulus, 2000, mean);
            let at = random.below(1990) as usize + 5;
            // Shorter than the range.
            let gap = modulus.map_or(1 << 34, |modulus| modulus * 4 / 5) - random.below(mean * 50);
            made[at..].iter_mut().for_each(|made| {
                made.truth += gap;
                made.raw = wrapped(modulus, made.truth);
            });
            check(&format!("{modulus:?} seed {seed} at {at}"), domain(modulus), &made);
        }
    }
}

#[test]
fn restarts_are_seen_if_anything_speaks_for_them() {
    for seed in 1..60 {
        for (modulus, mean) in [(None, 1000), (Some(1 << 32), 50_000)] {
            let mut random = Random(seed * 13 + 7);
            let before = 30 + random.below(2000) as u32;
            let mut made = recording(&mut random, modulus, before, mean);
            let mut after = recording(&mut random, modulus, 1000, mean);
            let shift = after[0].truth;
            after.iter_mut().for_each(|made| {
                made.truth -= shift;
                (made.raw, made.session) = (wrapped(modulus, made.truth), 1);
            });
            after[0].restart_bits = 64;
            made.extend(after);
            check(&format!("{modulus:?} seed {seed} after {before}"), domain(modulus), &made);
        }
    }
}

#[test]
fn evidence_beyond_the_price_of_a_restart_speaks_against_all_else() {
    for (bits, session) in [(100, 0), (140, 1)] {
        let mut made = recording(&mut Random(5), Some(1 << 32), 600, 1000);
        // The counter goes on there.
        made[300].restart_bits = bits;
        made[300..].iter_mut().for_each(|made| made.session = session);
        check(&format!("{bits} bits"), domain(Some(1 << 32)), &made);
    }
}

#[test]
fn a_restart_without_any_sign_needs_all_that_can_be_seen() {
    let mut random = Random(4242);
    for before in [300, 3000] {
        let mut made = recording(&mut random, None, before, 1000);
        made.iter_mut().for_each(|made| {
            made.truth += 1 << 30;
            made.raw = made.truth;
        });
        let mut after = recording(&mut random, None, 2000, 1000);
        after.iter_mut().for_each(|made| made.session = 1);
        made.extend(after);
        check("silent restart", domain(None), &made);
    }
}

#[test]
fn short_sessions_that_begin_at_nearly_the_same_time_are_told_apart() {
    let domain = Domain { disorder_bits: 16, restart_bits: Some(56), ..Domain::plain() };
    for seed in 1..100 {
        let mut random = Random(seed * 17 + 3);
        let (mut made, mut session) = (Vec::new(), 0);
        for _ in 0..3 {
            let mut truth = 5_000 + random.below(5_000);
            for number in 0..60 + random.below(90) as u32 {
                made.push(Made { raw: truth, session, truth, restart_bits: 0, is_damaged: false, number });
                truth += random.below(2_000);
            }
            session += 1;
        }
        check(&format!("seed {seed}"), domain, &made);
    }
}

#[test]
fn the_coarse_clock_counts_wraps() {
    // 16 bits of microseconds, ticks of 10 ms, and seconds without a stamp.
    let domain = Domain { modulus: Some(1 << 16), restart_bits: None, is_protected: true, ..Domain::plain() };
    let mut random = Random(99);
    let mut times = vec![5_000u64];
    for _ in 0..2000 {
        let step = if random.one_in(20) { random.below(5_000_000) } else { random.below(900) };
        times.push(times.last().unwrap() + step);
    }
    let stamp = |time: u64| Stamp { raw: time % 65_536, coarse: time / 10_000, ..Stamp::default() };
    let mut judge = Judge::new(domain).with_coarse_rate(Some(10_000.0));
    for (index, &time) in times.iter().enumerate() {
        judge.note_coarse(time / 10_000);
        let next = times.get(index + 1).filter(|next| *next / 10_000 == time / 10_000).map(|next| next % 65_536);
        let ticks = next.and_then(|next| judge.step(time % 65_536, next));
        let ahead = times[index + 1..].iter().map(|&time| stamp(time)).take(LOOKAHEAD);
        let ticks = ticks.unwrap_or_else(|| judge.judge(stamp(time), ahead, &[]).ticks);
        assert_eq!(ticks, time, "{index}");
    }
}

#[test]
fn a_tick_that_is_longer_than_half_of_the_range_is_no_wrap() {
    // Each tick has a stamp right before it and some after it.
    let domain = Domain { modulus: Some(1 << 16), disorder_bits: 6, is_protected: true, ..Domain::plain() };
    let stamps: Vec<(u64, u64)> = (1..100)
        .flat_map(|tick| [(0, 1), (2, 0), (9, 0), (14, 0)].map(|(after, early)| (tick * 40_000 + after, tick - early)))
        .collect();
    let stamp = |&(time, coarse): &(u64, u64)| Stamp { raw: time % (1 << 16), coarse, ..Stamp::default() };
    let mut judge = Judge::new(domain).with_coarse_rate(Some(40_000.0));
    for (index, &(time, coarse)) in stamps.iter().enumerate() {
        judge.note_coarse(coarse);
        let ahead = stamps[index + 1..].iter().map(stamp).take(LOOKAHEAD);
        assert_eq!(judge.judge(stamp(&stamps[index]), ahead, &[]).ticks, time, "{index}");
    }
}

#[test]
fn a_first_stamp_may_be_damaged() {
    let made = |raw: &[u64]| -> Vec<Stamp> { raw.iter().map(|&raw| Stamp { raw, ..Stamp::default() }).collect() };
    let mut all = vec![1 << 50];
    all.extend((0..100).map(|index| 1000 + index * 10));
    let stamps = made(&all);
    let mut judge = Judge::new(Domain::plain());
    let first = judge.judge(stamps[0], stamps[1..].iter().copied(), &[]);
    assert_eq!((first.verdict, first.ticks), (Verdict::Replaced, 1000));
    let second = judge.judge(stamps[1], stamps[2..].iter().copied(), &[]);
    assert_eq!((second.verdict, second.ticks), (Verdict::Believed, 1000));
}

#[test]
fn usual_steps_can_be_taken_all_at_once() {
    let stamps: Vec<Stamp> = (0..100).map(|index| Stamp { raw: 1000 + index * 10, ..Stamp::default() }).collect();
    let mut one_by_one = Judge::new(Domain::plain());
    one_by_one.judge(stamps[0], stamps[1..].iter().copied(), &[]);
    let mut at_once = one_by_one.clone();
    for stamp in &stamps[1..] {
        assert!(one_by_one.step(stamp.raw, stamp.raw).is_some());
    }
    assert!(at_once.would_step(stamps[1].raw, 10) && !at_once.would_step(stamps[1].raw, 1 << 20));
    at_once.step_all(stamps[99].raw, 99);
    let state = |judge: &Judge| (judge.last(), judge.reached(), judge.count());
    assert_eq!(state(&at_once), state(&one_by_one));
}

#[test]
fn noise_ends() {
    for seed in 1..20 {
        let mut random = Random(seed);
        let made: Vec<Made> = (0..3000)
            .map(|number| {
                let raw = random.below(1 << (8 + random.0 % 50));
                Made { raw, session: 0, truth: 0, restart_bits: 0, is_damaged: true, number }
            })
            .collect();
        let judged = judge_all(domain(None), &made);
        assert_eq!(judged.len(), 3000);
    }
}

#[test]
fn silence_over_half_the_range_is_told_by_the_coarse_clock() {
    let domain = Domain { modulus: Some(1 << 32), disorder_bits: 6, restart_bits: None, is_protected: true, ..Domain::plain() };
    let mut times = Vec::new();
    let mut time = 101_000u64;
    for second in 0..24 {
        times.extend([time, time + 900_000, time + 900_001, time + 900_002, time + 900_009]);
        time += 1_000_000;
        if second == 11 {
            time += 3_000_000_000;
        }
    }
    let stamp = |time: u64| Stamp { raw: time % (1 << 32), coarse: time / 100_000, ..Stamp::default() };
    let mut judge = Judge::new(domain).with_coarse_rate(Some(100_000.0));
    for (index, &time) in times.iter().enumerate() {
        judge.note_coarse(time / 100_000);
        let ahead = times[index + 1..].iter().map(|&time| stamp(time)).take(if index < 60 { 59 - index } else { LOOKAHEAD });
        assert_eq!(judge.judge(stamp(time), ahead, &[]).ticks, time, "{index}");
    }
}

/// The times of stamps of 16 bits, from the first on, by a coarse clock with ticks of `rate`. `is_least`: of which numbers ticks may be missing.
fn by_coarse_clock(times: &[u64], rate: u64, is_least: std::ops::Range<usize>) -> Vec<u64> {
    let domain = Domain { modulus: Some(1 << 16), disorder_bits: 6, is_protected: true, ..Domain::plain() };
    let stamp = |(index, &time): (usize, &u64)| Stamp {
        raw: time % (1 << 16),
        coarse: time / rate,
        coarse_is_least: is_least.contains(&index),
        ..Stamp::default()
    };
    let stamps: Vec<Stamp> = times.iter().enumerate().map(stamp).collect();
    let mut judge = Judge::new(domain).with_coarse_rate(Some(rate as f64));
    let mut judged = Vec::new();
    for (index, &stamp) in stamps.iter().enumerate() {
        judge.note_coarse(stamp.coarse);
        judged.push(judge.judge(stamp, stamps[index + 1..].iter().copied().take(LOOKAHEAD), &[]).ticks);
    }
    judged.iter().map(|ticks| ticks - judged[0]).collect()
}

#[test]
fn several_ticks_between_stamps_are_a_sign_of_a_wrap() {
    // Nearly a tick of 30 000 is left of one, two ticks and most of a third pass: the counter wrapped, although its step is a usual one.
    let before = (0..40).map(|index| 6_696_426 - (39 - index) * 2000);
    let times: Vec<u64> = before.chain((0..40).map(|index| 6_771_429 + index * 2000)).collect();
    let expected: Vec<u64> = times.iter().map(|time| time - times[0]).collect();
    assert_eq!(by_coarse_clock(&times, 30_000, 0..0), expected);
}

#[test]
fn ticks_before_a_loss_speak_for_a_step_forwards() {
    // Three quarters of the range pass. It is not known whether ticks were lost, but those that were recorded make up for it.
    let before = (0..40).map(|index| 4_930_226 - (39 - index) * 100);
    let times: Vec<u64> = before.chain((0..40).map(|index| 4_980_134 + index * 100)).collect();
    let expected: Vec<u64> = times.iter().map(|time| time - times[0]).collect();
    assert_eq!(by_coarse_clock(&times, 10_000, 40..42), expected);
}

#[test]
fn both_readings_of_a_doubtful_break_are_given() {
    // Three quarters of the range without a stamp: any number of ranges more would look the same.
    let domain = Domain { modulus: Some(1 << 16), restart_bits: None, ..Domain::plain() };
    let times = (0..300u64).map(|index| 1000 + index * 5 + if index < 150 { 0 } else { 3 << 14 });
    let stamps: Vec<Stamp> = times.map(|time| Stamp { raw: time % (1 << 16), ..Stamp::default() }).collect();
    let mut judge = Judge::new(domain);
    let mut doubts = Vec::new();
    for index in 0..stamps.len() {
        judge.judge(stamps[index], stamps[index + 1..].iter().copied().take(LOOKAHEAD), &[]);
        doubts.extend(judge.take_doubt().map(|doubt| (index, doubt.text(crate::model::Rate::NANOSECOND))));
    }
    let readings = "a step of 0.000049157 s, which is taken, or one that is longer by any number of 0.000065536 s";
    assert_eq!(doubts, [(150, readings.to_owned())]);
}

/// Activity at each tick of a kernel, and nothing between: the usual steps are long.
fn bursts(count: u32) -> Vec<Made> {
    let truth = |number: u32| 50_000 + u64::from(number / 40) * 40_000 + u64::from(number % 40) * 300;
    let made = |number| Made { raw: truth(number), session: 0, truth: truth(number), restart_bits: 0, is_damaged: false, number };
    (0..count).map(made).collect()
}

#[test]
fn a_damaged_stamp_within_a_usual_step_does_not_hold_what_follows() {
    // Where there are several counters, a run that goes back might be of another one.
    let domain = Domain { may_be_foreign: true, ..Domain::plain() };
    for place in 0..40 {
        for (one, two) in [(15, 14), (15, 16), (14, 16), (14, 14), (16, 15)] {
            let mut made = bursts(3000);
            for (at, bit) in [(1200 + place, one), (1290 + place, two)] {
                made[at].raw ^= 1 << bit;
                made[at].is_damaged = true;
            }
            for (index, ((judged, _), stamp)) in judge_all(domain, &made).iter().zip(&made).enumerate() {
                let off = judged.ticks.abs_diff(stamp.truth);
                let is_near_damage = made[index.saturating_sub(4)..=index].iter().any(|made| made.is_damaged);
                assert!(is_near_damage || off == 0, "{index}: off by {off} with bits {one} and {two} at {place}");
            }
        }
    }
}

#[test]
fn a_made_up_stamp_beside_a_moved_piece_is_no_restart() {
    for seed in 1..40 {
        let mut random = Random(seed * 17 + 3);
        let mut made = bursts(3000);
        made.iter_mut().for_each(|made| made.raw = made.truth);
        let (at, len) = (440 + random.below(40) as usize, 60 + random.below(40) as usize);
        made[at..at + 2 * len].rotate_left(len);
        made[at..at + 2 * len].iter_mut().for_each(|made| made.is_damaged = true);
        let raw = (100 + random.below(1000)) << 19;
        (made[100].raw, made[100].is_damaged) = (1 << 45, true);
        made.insert(at + len, Made { raw, is_damaged: true, ..made[at] });
        let judged = judge_all(Domain::plain(), &made);
        assert!(judged.iter().all(|judged| judged.1 == 0), "seed {seed}");
    }
}

/// Two pieces are swapped, and a stamp made of the ends of both is where they meet.
#[test]
fn swapped_pieces_with_an_odd_stamp_between_them_stay_beside_the_line() {
    let of = |range: std::ops::Range<u64>| range.map(|number| 15_000_000 + number * 9_000);
    let stamps: Vec<u64> = of(0..200)
        .chain(of(280..360))
        .chain([of(360..361).sum::<u64>() + 700_000])
        .chain(of(200..280))
        .chain(of(360..700))
        .collect();
    let made = stamps.iter().zip(0..).map(|(&raw, number)| Made {
        raw,
        session: 0,
        truth: raw,
        restart_bits: 0,
        is_damaged: false,
        number,
    });
    let judged = judge_all(Domain::plain(), &made.collect::<Vec<_>>());
    let wrong = judged.iter().zip(&stamps).filter(|((judged, _), raw)| judged.ticks != **raw).count();
    assert_eq!(wrong, 81, "the odd one, and the piece that comes late");
}

#[test]
fn time_that_is_held_for_long_is_in_doubt() {
    let domain = Domain { disorder_bits: 6, restart_bits: None, ..domain(Some(1 << 32)) };
    let made = |truth: u64| Made { raw: truth, session: 0, truth, restart_bits: 0, is_damaged: false, number: truth as u32 };
    let doubts = |back: u64| {
        let first = (1..1000).map(|number| made(number * 10_000));
        let second = (1..1000).map(|number| made(10_000_000 - back + number * 9_970));
        let judged = judge_all(domain, &first.chain(second).collect::<Vec<_>>());
        judged.iter().filter(|(judged, _)| judged.is_ambiguous()).count()
    };
    assert_eq!((doubts(5_000_000), doubts(60_000)), (1, 0));
}

#[test]
fn silence_between_bursts_is_silence() {
    for (modulus, gaps) in [(None, &[1 << 20, 1 << 34, 1 << 42, 1 << 50][..]), (Some(1 << 32), &[1 << 20, 1 << 29, 1 << 30][..])]
    {
        // One or two stamps of a counter that wraps may be damaged.
        let least = if modulus.is_some() { 3 } else { 1 };
        let bursts = [1u32, 2, 3, 7, 10, 30, 100, 300].into_iter().filter(|&burst| burst >= least);
        for (gap, burst) in bursts.flat_map(|burst| gaps.iter().map(move |&gap| (gap, burst))) {
            for (step, tail) in [(0, 1), (0, 3), (1, 2), (7, 6), (1000, 1)] {
                let truth = |number: u32| {
                    1000 + u64::from(number / burst) * (gap + u64::from(burst) * step) + u64::from(number % burst) * step
                };
                let made = |number| Made {
                    raw: wrapped(modulus, truth(number)),
                    truth: truth(number),
                    number,
                    session: 0,
                    restart_bits: 0,
                    is_damaged: false,
                };
                let made: Vec<Made> = (0..6 * burst + tail.min(burst)).map(made).collect();
                for (index, ((judged, _), made)) in judge_all(domain(modulus), &made).iter().zip(&made).enumerate() {
                    let is_right =
                        (judged.ticks, judged.verdict, judged.is_ambiguous()) == (made.truth, Verdict::Believed, false);
                    assert!(
                        is_right,
                        "{modulus:?}, {index} of bursts of {burst} each {step}, {gap} apart: {judged:?} for {made:?}"
                    );
                }
            }
        }
    }
}

#[test]
fn silence_before_the_last_stamp_is_taken_but_in_doubt_if_it_is_new() {
    let last = |gaps: &[u64], tail: u64| {
        let mut stamps: Vec<u64> = Vec::new();
        for gap in gaps {
            let begin = stamps.last().map_or(1000, |last| last + gap);
            stamps.extend((0..50).map(|number| begin + number));
        }
        let begin = stamps.last().unwrap() + (1 << 46);
        stamps.extend((0..tail).map(|number| begin + number));
        let made = |(number, &raw): (usize, &u64)| Made {
            raw,
            truth: raw,
            number: number as u32,
            session: 0,
            restart_bits: 0,
            is_damaged: false,
        };
        let judged = judge_all(domain(None), &stamps.iter().enumerate().map(made).collect::<Vec<_>>());
        assert!(judged.iter().zip(&stamps).all(|(judged, &raw)| judged.0.ticks == raw));
        judged.iter().filter(|judged| judged.0.is_ambiguous()).count()
    };
    assert_eq!([last(&[0], 1), last(&[0], 3), last(&[0, 1 << 46], 1)], [1, 0, 0]);
}
