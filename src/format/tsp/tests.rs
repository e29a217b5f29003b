//! Contracts between the stages: cuts, bytes, times.

use super::decode::{Decoder, Lengths, Packets};
use super::generate::TimerKind::Down93;
use super::generate::{Damage, GenerateOptions, TimerKind, generate_with_truth};
use super::record::{Packet, id, object_type};
use super::resolve::{Resolver, Setup};
use super::scan::ScanFacts;
use super::timer::TimerOptions;
use super::{Tsp, encode};
use crate::format::generated::Random;
use crate::format::{Format, FormatOptions, OptionValue, Resolve, Resolved};
use crate::model::{Entities, EventBatch, Ledger, Rate, losses};

fn times(input: &[u8]) -> (Vec<(u64, u64)>, Ledger) {
    times_with(input, TimerOptions::default())
}

/// The offset and the time of each hook of a capture, and its ledger.
fn times_with(input: &[u8], timer_options: TimerOptions) -> (Vec<(u64, u64)>, Ledger) {
    let cutter = Packets::new(Lengths::default());
    let mut facts = ScanFacts::default();
    Decoder::new(cutter.clone(), Lengths::default()).each(input, 0..input.len(), &mut facts);
    let lengths = facts.lengths(&Lengths::default());
    let timer = facts.timer_counts.infer(&timer_options);
    let decoder = Decoder::new(cutter, lengths.clone()).with_timer(timer);
    let mut ledger = Ledger::default();
    let setup = Setup { core: 0, timer_options, timer, lengths, facts };
    let mut resolver = Resolver::new(vec![setup], std::slice::from_mut(&mut ledger));
    let (mut entities, mut batch) = (Entities::default(), EventBatch::default());
    let mut out = Resolved { entities: &mut entities, batch: &mut batch, ledger: &mut ledger };
    resolver.resolve(0, input, &mut decoder.records(input, 0..input.len()), &mut out);
    resolver.finish(0, input, &mut out);
    (resolver.times().to_vec(), ledger)
}

/// Compares times with the true ones, in nanoseconds: how many steps differ by more than 0.1 ms, the smallest and the largest error.
fn errors(times: &[(u64, u64)], truth: &[u64]) -> (usize, i64, i64) {
    assert_eq!(times.len(), truth.len(), "packets that have no time");
    let error = |(time, truth): (&(u64, u64), &u64)| time.1.cast_signed() - truth.cast_signed();
    let errors: Vec<i64> = times.iter().zip(truth).map(error).collect();
    let wrong = errors.windows(2).filter(|pair| (pair[1] - pair[0]).abs() > 100_000).count();
    (wrong, errors.iter().copied().min().unwrap_or(0), errors.iter().copied().max().unwrap_or(0))
}

#[test]
fn times_of_generated_captures_are_true() {
    use TimerKind::{Modulo1000, Nothing, Up1MHz, Up250kHz};
    for (timer, is_tickless, least, most) in [
        (Up1MHz, false, -1_000, 0),
        (Up1MHz, true, -1_000, 0),
        (Down93, false, -10_700, 2_700),
        (Down93, true, -10_700, 2_700),
        (Up250kHz, false, -4_000, 0),
        (Modulo1000, false, -1_000, 0),
        (Nothing, false, -1_010_000, 0),
    ] {
        let options = GenerateOptions { bytes: 2_000_000, timer, is_tickless, ..GenerateOptions::default() };
        let (capture, truth) = generate_with_truth(&options);
        let (times, ledger) = times(&capture);
        assert!(ledger.entries().is_empty(), "{timer:?}: {:?}", ledger.entries());
        assert!(times.is_sorted_by_key(|time| time.1), "{timer:?}: time goes backwards");
        let (wrong, found_least, found_most) = errors(&times, &truth);
        assert!(found_least >= least && found_most <= most, "{options:?}: {wrong} wrong, {found_least} to {found_most} ns");
    }
}

/// A capture without the packets of some ids, and the true times of the others.
fn without(is_left_out: impl Fn(u8) -> bool, capture: &[u8], truth: &[u64]) -> (Vec<u8>, Vec<u64>) {
    let mut lengths = Lengths::default();
    lengths.learn(73, 0);
    lengths.learn(74, 0);
    lengths.learn(75, 2);
    let decoder = Decoder::new(Packets::new(Lengths::default()), lengths);
    let records = decoder.records(capture, 0..capture.len());
    let hooks = records.packets().iter().filter(|packet| packet.is_hook());
    let (mut bytes, mut times) = (Vec::new(), Vec::new());
    for (hook, time) in hooks.zip(truth).filter(|(hook, _)| !is_left_out(hook.id)) {
        // Packets that are filtered out have no number.
        encode::packet(&Packet { packet_id: times.len() as u8, ..*hook }, &mut bytes);
        times.push(*time);
    }
    (bytes, times)
}

/// The timer that is inferred from a capture.
fn timer_of(input: &[u8]) -> super::timer::Timer {
    let mut facts = ScanFacts::default();
    Decoder::new(Packets::new(Lengths::default()), Lengths::default()).each(input, 0..input.len(), &mut facts);
    facts.timer_counts.infer(&TimerOptions::default())
}

/// Of two tick hooks the same bit of the timer is flipped, and of one the highest bit.
#[test]
fn flipped_bits_do_not_move_the_tick() {
    let mut counts = super::timer::TimerCounts::default();
    for tick in 0..520u16 {
        let timer = match tick {
            100 | 300 => 412 ^ 512,
            200 | 400 => 412 | 1 << 15,
            _ => 412,
        };
        let hook = |timer| Packet { id: id::TASK_INCREMENT_TICK, tick, timer, ..Packet::default() };
        counts.add(&hook(timer));
        for timer in (0..1000).step_by(60) {
            counts.add(&Packet { id: id::TASK_SWITCHED_IN, ..hook((413 + timer) % 1000) });
        }
        if matches!(tick, 100 | 200 | 300 | 400) {
            counts.add_damage();
        }
    }
    let timer = counts.infer(&TimerOptions { timer_max: Some(999), ..TimerOptions::default() });
    assert_eq!((timer.period, timer.phase), (1000, 412));
}

#[test]
fn a_timer_that_is_seen_at_a_few_places_of_the_tick_may_count_further() {
    let (capture, _) = generate_with_truth(&GenerateOptions { bytes: 60_000, ..GenerateOptions::default() });
    assert!(timer_of(&capture).is_spread);
    let mut counts = super::timer::TimerCounts::default();
    for tick in 0..500 {
        for timer in [0, 10, 12, 20, 30, 100, 150, 310, 330] {
            counts.add(&Packet { id: id::TASK_SWITCHED_IN, tick, timer, ..Packet::default() });
        }
    }
    assert!(!counts.infer(&TimerOptions::default()).is_spread);
}

/// In a quiet system most packets are followed by a tick hook, which has their tick and a timer that has begun again.
#[test]
fn tick_hooks_say_nothing_about_the_direction() {
    for is_down in [false, true] {
        let mut counts = super::timer::TimerCounts::default();
        for tick in 0..300 {
            let mut add = |id, tick, since| {
                let timer = if is_down { 999 - since } else { since };
                counts.add(&Packet { id, tick, timer, ..Packet::default() });
            };
            add(id::TASK_INCREMENT_TICK, tick, 2);
            add(id::CUSTOM_MARKER_1, tick + 1, 400);
            if tick % 2 == 0 {
                add(id::CUSTOM_MARKER_1, tick + 1, 450);
            }
        }
        let timer = counts.infer(&TimerOptions::default());
        assert_eq!((timer.is_down, timer.agreeing, timer.pairs), (is_down, 150, 150));
    }
}

/// A piece that is there twice begins and ends within packets, but all packets are there.
#[test]
fn a_piece_that_is_there_twice_loses_nothing() {
    let (capture, _) = generate_with_truth(&GenerateOptions { bytes: 60_000, ..GenerateOptions::default() });
    for step in 0..240 {
        let (at, len) = (10_000 + step * 83, 300 + step * 7 % 300);
        let mut twice = capture.clone();
        twice.splice(at + len..at + len, capture[at..at + len].iter().copied());
        let (_, ledger) = times(&twice);
        assert_eq!(ledger.at_least_lost(), 0, "{len} bytes at {at}: {:?}", ledger.entries());
    }
}

#[test]
fn flipped_bits_do_not_scale_the_time() {
    let options = GenerateOptions { bytes: 150_000, ..GenerateOptions::default() };
    let (capture, _) = generate_with_truth(&options);
    for seed in 1..40u64 {
        let (mut random, mut damaged) = (Random(seed), capture.clone());
        for _ in 0..seed {
            damaged[random.below(capture.len() as u64) as usize] ^= 1 << random.below(8);
        }
        let timer = timer_of(&damaged);
        assert_eq!((timer.period, timer.tick_modulus), (1000, 1 << 16), "{seed} bits flipped");
    }
}

/// The hook of a tick, whose count is that of the tick before, keeps its time, and so do the packets after it.
#[test]
fn a_damaged_count_of_a_tick_hook_moves_no_time() {
    let (capture, _) = generate_with_truth(&GenerateOptions { bytes: 60_000, ..GenerateOptions::default() });
    let whole = times(&capture).0;
    let is_tick_hook = |at: &usize| capture[at + 4] == id::TASK_INCREMENT_TICK;
    let ticks: Vec<usize> = whole.iter().map(|&(offset, _)| offset as usize).filter(is_tick_hook).collect();
    for at in ticks.iter().copied().skip(20).step_by(7) {
        let mut damaged = capture.clone();
        damaged[at + 5] ^= 8;
        assert!(times(&damaged).0 == whole, "the count at {at}");
    }
}

#[test]
fn markers_alone_tell_the_timer() {
    let options = GenerateOptions { bytes: 3_000_000, timer: TimerKind::Modulo1000, ..GenerateOptions::default() };
    let (capture, truth) = generate_with_truth(&options);
    let keeps_markers = |id: u8| !(id::CUSTOM_MARKER_1..=id::CUSTOM_MARKER_5).contains(&id);
    let (capture, truth) = without(keeps_markers, &capture, &truth);
    assert!(truth.len() > 1000);
    let timer = timer_of(&capture);
    assert_eq!((timer.period, timer.tick_modulus), (1000, 1000));
    let (times, _) = times(&capture);
    let (wrong, least, most) = errors(&times, &truth);
    assert_eq!(wrong, 0, "{least} to {most} ns");
}

#[test]
fn the_phase_is_found_without_tick_hooks() {
    let options = GenerateOptions { bytes: 1_000_000, ..GenerateOptions::default() };
    let (capture, truth) = generate_with_truth(&options);
    let (capture, truth) = without(|id| id == id::TASK_INCREMENT_TICK, &capture, &truth);
    let (times, ledger) = times(&capture);
    assert!(ledger.entries().is_empty(), "{:?}", ledger.entries());
    let (wrong, least, most) = errors(&times, &truth);
    // Without evidence of the tick, an event right after it may be wrong by a tick.
    assert!(wrong <= times.len() / 1000, "{wrong} of {} wrong, {least} to {most} ns", times.len());
}

#[test]
fn torn_timers_are_corrected() {
    let options = GenerateOptions { bytes: 1_000_000, damage: Damage::Torn, ..GenerateOptions::default() };
    let (capture, truth) = generate_with_truth(&options);
    let (times, ledger) = times(&capture);
    assert!(times.is_sorted_by_key(|time| time.1));
    let repaired: u64 = ledger.entries().iter().map(|entry| entry.count).sum();
    let wrong = errors(&times, &truth).0 as u64;
    // A torn value that is alone in its tick cannot be recognised.
    assert!(repaired > 20 && wrong < repaired, "{repaired} repaired, {wrong} wrong");
}

#[test]
fn options_override_what_is_inferred() {
    let (capture, truth) = generate_with_truth(&GenerateOptions { timer: Down93, bytes: 200_000, ..GenerateOptions::default() });
    let given = TimerOptions {
        tick_hz: Some(500.0),
        timer_hz: Some(46_875.0),
        timer_max: Some(93),
        is_down: Some(true),
        tick_modulus: Some(1 << 16),
    };
    let slow: Vec<u64> = truth.iter().map(|time| time * 2).collect();
    let (_, least, most) = errors(&times_with(&capture, given).0, &slow);
    // With the exact rate, only the resolution of the timer remains.
    assert!(least >= -16_000 - 1 && most <= 5_400, "{least} to {most} ns");
    let text = |name, text: &str| (name, OptionValue::Text(text.to_owned()));
    let open = |own| Tsp.open(&[FormatOptions { own, ..FormatOptions::default() }]);
    assert!(open(vec![text("tsp-len", "75=2"), text("tsp-len", "73 = 0"), text("timer-dir", "down")]).is_ok());
    for wrong in [
        ("tsp-len", "75"),
        ("tsp-len", "75=9"),
        ("tsp-len", "151=1"),
        ("timer-dir", "left"),
        ("tick-hz", "0.2"),
        ("tick-mod", "1"),
    ] {
        let error = open(vec![text(wrong.0, wrong.1)]).err().expect("the value is invalid");
        assert_eq!(error.option, wrong.0);
    }
}

#[test]
fn a_given_length_overrides_an_inferred_one() {
    let mut bytes = Vec::new();
    for number in 0..20 {
        encode::packet(&encode::packet_of(number, 75, 0, 5, &[1, 2]), &mut bytes);
        encode::packet(&encode::packet_of(number, 23, 0, 5, &[0, 1]), &mut bytes);
    }
    let mut given = Lengths::default();
    assert!(given.give(75, 3) && !given.give(75, 9));
    for (known, count) in [(Lengths::default(), 40), (given, 20)] {
        let cutter = Packets::new(known.clone());
        let mut facts = ScanFacts::default();
        Decoder::new(cutter.clone(), known.clone()).each(&bytes, 0..bytes.len(), &mut facts);
        let records = Decoder::new(cutter, facts.lengths(&known)).records(&bytes, 0..bytes.len());
        assert_eq!(records.packets().len(), count);
    }
}

#[test]
fn captures_are_recognised() {
    let (capture, _) = generate_with_truth(&GenerateOptions::default());
    assert!(Tsp.probe(&capture, true).is_some_and(|probe| probe.score >= 90));
    assert!(Tsp.probe(&capture[3..], true).is_some_and(|probe| probe.score >= 90));
    assert!(Tsp.probe(&capture[..300], true).is_some_and(|probe| probe.score >= 50));
    let lossy = GenerateOptions { damage: Damage::Bytes, ..GenerateOptions::default() };
    assert!(Tsp.probe(&generate_with_truth(&lossy).0, true).is_some_and(|probe| probe.score >= 85));
    let mut random = Random(1);
    let noise = std::iter::repeat_with(|| random.next() as u8);
    assert_eq!(Tsp.probe(&noise.take(1 << 16).collect::<Vec<_>>(), true), None);
    assert_eq!(Tsp.probe(b"", true), None);
    assert_eq!(Tsp.probe(b"{\"Other\": 1}", true), None);
}

#[test]
fn rates_may_have_a_unit() {
    let read = |text| super::hz("timer-hz", Some(text));
    assert_eq!([read("24M"), read("93750"), read("0.5")], [Ok(Some(24e6)), Ok(Some(93_750.0)), Ok(Some(0.5))]);
    assert!(read("24Q").is_err() && read("0").is_err());
    // A tick of 5 s.
    let options = FormatOptions { clock: Rate::from_hz(1, 5), ..FormatOptions::default() };
    assert_eq!(Tsp.open(&[options]).err().map(|error| error.option), Some("clock-hz"));
}

/// A packet whose timer is 0.
fn packet(number: u8, id: u8, tick: u16, data: &[u8]) -> Packet {
    encode::packet_of(number, id, tick, 0, data)
}

/// 255 packets are missing where the number comes again as late as that takes, and none where it comes again at once.
#[test]
fn a_gap_of_255_packets_is_seen_by_the_time_it_took() {
    let lost = |gap: u16| {
        let mut bytes = Vec::new();
        let numbers = (0..2000u16).map(|number| (number, number)).filter(|packet| !(700..700 + gap).contains(&packet.0));
        numbers.for_each(|(number, tick)| encode::packet(&packet(number as u8, id::TASK_INCREMENT_TICK, tick, &[]), &mut bytes));
        times(&bytes).1
    };
    assert_eq!(lost(0).at_least_lost(), 0);
    assert_eq!(lost(254).at_least_lost(), 254);
    assert_eq!(lost(255).at_least_lost(), 255);
    let mut bytes = Vec::new();
    let numbers = (0..700u16).map(|number| (number, number)).chain((699..2000).map(|number| (number, number + 1)));
    numbers.for_each(|(number, tick)| encode::packet(&packet(number as u8, id::TASK_INCREMENT_TICK, tick, &[]), &mut bytes));
    assert_eq!(times(&bytes).1.at_least_lost(), 0);
}

/// Damage makes a type that does not exist. That is no sign of too many objects.
#[test]
fn an_object_of_an_unknown_type_is_reported_as_that() {
    let mut bytes = Vec::new();
    for number in 0..40 {
        let type_number = if number == 20 { 9 } else { object_type::QUEUE };
        encode::packet(&packet(number, id::QUEUE_SEND, 0, &[type_number, 1]), &mut bytes);
    }
    let ledger = times(&bytes).1;
    let entries: Vec<_> = ledger.entries().iter().map(|entry| (entry.kind, entry.count, entry.at_least_lost)).collect();
    assert_eq!(entries, [(losses::UNKNOWN_ENUM, 1, 1)]);
}

/// After damage a packet is kept if something is left of the preamble after it. Otherwise nothing shows that it is whole.
#[test]
fn a_packet_before_damage_is_kept_if_a_part_of_the_next_preamble_is_left() {
    let mut bytes = Vec::new();
    for number in 0..6 {
        encode::packet(&packet(number, id::TASK_SWITCHED_IN, u16::from(number), &[1]), &mut bytes);
    }
    let decoder = Decoder::new(Packets::new(Lengths::default()), Lengths::default());
    let kept = |bytes: &[u8]| -> Vec<u8> {
        decoder.records(bytes, 0..bytes.len()).packets().iter().map(|packet| packet.packet_id).collect()
    };
    let without = |range| {
        let mut bytes = bytes.clone();
        bytes.drain(range);
        bytes
    };
    assert_eq!([kept(&without(31..46)), kept(&without(32..46))], [[0, 1, 2, 5], [0, 1, 2, 5]]);
    assert_eq!([kept(&without(30..46)), kept(&without(27..44))], [[0, 1, 5], [0, 1, 5]]);
    for bit in 0..24 {
        let mut bytes = bytes.clone();
        bytes[30 + bit / 8] ^= 1 << (bit % 8);
        assert_eq!(kept(&bytes), [0, 1, 2, 4, 5], "bit {bit}");
    }
}

/// The object lists may be the first packets after a reset.
#[test]
fn a_reset_is_seen_where_object_lists_come_first() {
    // Tasks are created from this number on, and the tick rises from here on.
    let run = |first: u8, from: u16, number: u8, bytes: &mut Vec<u8>| {
        let creates = (0..3).map(|task| packet(first.wrapping_add(task), id::TASK_CREATE, from, &[number + task]));
        let ticks = (0..300)
            .map(|tick| packet(first.wrapping_add(3).wrapping_add(tick as u8), id::TASK_INCREMENT_TICK, from + tick, &[]));
        creates.chain(ticks).for_each(|packet| encode::packet(&packet, bytes));
    };
    let restarts = |lists_at: u8, from: u16, number: u8| {
        let mut bytes = Vec::new();
        run(0, 0, 1, &mut bytes);
        (0..6).for_each(|list| encode::object_list(lists_at + list, list, &[], &mut bytes));
        run(lists_at + 6, from, number, &mut bytes);
        let ledger = times(&bytes).1;
        (ledger.entries().iter().any(|entry| entry.kind == losses::SESSION_RESTART), ledger.at_least_lost())
    };
    // 303 packets come before: the next number is 47.
    assert_eq!(restarts(0, 0, 1), (true, 0));
    assert_eq!(restarts(47, 300, 4), (false, 0));
    assert_eq!(restarts(50, 300, 4), (false, 3));
    // No number of a task is used twice.
    assert_eq!(restarts(50, 300, 1), (true, 0));
}

/// The packets of a target from its start on, whose timer differs from start to start, up to a number of ticks.
fn boot(from: u16, ticks: u16, jitter: u16) -> Vec<Packet> {
    let creates = (1..4).map(|task| packet(0, id::TASK_CREATE, from, &[task]));
    let ticks = (0..ticks).flat_map(|tick| {
        let hook = packet(0, id::TASK_INCREMENT_TICK, from + tick, &[]);
        [hook, packet(0, id::TASK_SWITCHED_IN, from + tick + 1, &[1 + (tick % 3) as u8])]
    });
    let timed = |(place, one): (u16, Packet)| {
        let timer = match one.id {
            id::TASK_INCREMENT_TICK => 0,
            id::TASK_CREATE => 900 + place * 5 + jitter,
            _ => 40 + place * 7 % 50 + jitter,
        };
        Packet { packet_id: place as u8, timer, ..one }
    };
    (0..).zip(creates.chain(ticks)).map(timed).collect()
}

fn restarts_and_lost(packets: &[Packet]) -> (u64, u64) {
    let mut bytes = Vec::new();
    packets.iter().for_each(|packet| encode::packet(packet, &mut bytes));
    let ledger = times(&bytes).1;
    let restarts = ledger.entries().iter().filter(|entry| entry.kind == losses::SESSION_RESTART);
    (restarts.map(|entry| entry.count).sum(), ledger.at_least_lost())
}

/// Each start ends before the ticks at which the next one begins: the tick count goes on.
#[test]
fn a_target_that_starts_again_and_again_loses_nothing() {
    for (froms, ticks) in [([0, 0, 0], 3), ([0, 0, 0], 40), ([20, 23, 26], 3), ([20, 24, 28], 3), ([500, 504, 508], 3)] {
        let packets: Vec<Packet> = froms.into_iter().zip(1..).flat_map(|(from, jitter)| boot(from, ticks, jitter)).collect();
        assert_eq!(restarts_and_lost(&packets), (2, 0), "{ticks} ticks from {froms:?}");
    }
}

#[test]
fn a_copy_of_the_start_is_no_start() {
    let packets = boot(0, 400, 1);
    for (len, at) in [(20, 20), (60, 60), (200, 200), (20, 70), (60, 300), (150, 310)] {
        let copied = [&packets[..at], &packets[..len], &packets[at..]].concat();
        assert_eq!(restarts_and_lost(&copied), (0, 0), "{len} packets at {at}");
    }
}

/// A task that is deleted may give its number to another one.
#[test]
fn a_number_that_a_deleted_task_had_shows_no_start() {
    let mut packets = boot(0, 400, 1);
    for (at, id) in [(200, id::TASK_DELETE), (545, id::TASK_CREATE)] {
        packets[at] =
            Packet { packet_id: packets[at].packet_id, timer: packets[at].timer, ..packet(0, id, packets[at].tick, &[3]) };
    }
    packets.drain(530..540);
    assert_eq!(restarts_and_lost(&packets), (0, 10));
}

/// The starts of the later sessions are not in the file, and so nothing says that the target was reset. But nothing says either that packets
/// are missing where the ticks go back.
#[test]
fn packets_are_not_missing_where_the_ticks_go_back() {
    let packets: Vec<Packet> = (1..4).flat_map(|jitter| boot(0, 20, jitter).split_off(if jitter > 1 { 12 } else { 0 })).collect();
    assert_eq!(restarts_and_lost(&packets).1, 0);
}
