//! Clocks: captures whose messages, transport and time of day have clocks of their own, and the trace's times.

use traceconv::format::syst::encode::{Draft, Origin};
use traceconv::format::syst::record::Kind;
use traceconv::format::syst::stp::encode::{Ending, Writer};
use traceconv::model::losses;

use crate::captures::{line, message, subject};
use crate::common::golden::Capture;
use crate::common::run::Cut;
use crate::reader::{Arg, Trace};

/// A time of day, in seconds since 1970.
const NOON: u64 = 1_760_000_000;

/// The number of the first clock of the target's.
const MESSAGE_CLOCK: u32 = 65;
const REALTIME: u32 = 1;
const BOOTTIME: u32 = 6;

fn clock_message_of(module: u8, value: u64, hz: u64) -> Vec<u8> {
    let payload = [value.to_le_bytes(), hz.to_le_bytes()].concat();
    Draft { severity: 0, origin: Origin::Module(module, 0), ..Draft::new(Kind::ClockSync, &payload) }.bytes()
}

fn clock_message(value: u64, hz: u64) -> Vec<u8> {
    clock_message_of(0, value, hz)
}

fn text(time: Option<u64>, text: &str) -> Vec<u8> {
    message(Kind::Generic, 4, time, format!("{text}\0").as_bytes())
}

/// The transport counts at 1 MHz and the messages at 1000 Hz, a tenth too slow: 900 ticks a second.
fn drifting(with_frequency: bool) -> Vec<u8> {
    let mut writer = Writer::begun();
    if with_frequency {
        writer.frequency(1_000_000);
    }
    writer.go_to(1, 1);
    let ending = Ending::Flag;
    writer.message(&text(Some(4910), "before the first"), 9_900_000, ending);
    writer.message(&clock_message(5000, 1000), 10_000_000, ending);
    writer.message(&text(Some(5450), "between"), 10_600_000, ending);
    writer.message(&clock_message(5900, 1000), 11_000_000, ending);
    writer.message(&text(Some(5450), "made before, sent behind"), 11_100_000, ending);
    writer.message(&clock_message(6800, 1000), 12_000_000, ending);
    writer.message(&text(Some(6900), "behind the last"), 12_200_000, ending);
    writer.message(&text(None, "without a time of its own"), 12_300_000, ending);
    writer.finish()
}

/// As Linux sends it: the messages' clock is the time of day, in nanoseconds.
fn linux() -> Vec<u8> {
    let mut writer = Writer::begun();
    writer.frequency(1_000_000);
    let now = NOON * 1_000_000_000;
    writer.message(&clock_message(now, 1_000_000_000), 2_000_000, Ending::Flag);
    writer.message(&text(Some(now + 1_000_000), "one"), 2_001_500, Ending::Flag);
    writer.message(&clock_message(now + 60_000_000_500, 1_000_000_000), 62_000_000, Ending::Flag);
    writer.finish()
}

/// The clock gets twice as fast, and reports it late.
fn two_speeds() -> Vec<u8> {
    let frames = [
        text(Some(1000), "at 1 s"),
        clock_message(1000, 1000),
        text(Some(2000), "at 2 s"),
        clock_message(2000, 2000),
        text(Some(3000), "at 2.5 s"),
        // Not to be trusted, and so not taken.
        clock_message(3000, 0),
        text(Some(4000), "at 3 s"),
    ];
    frames.iter().map(|frame| line(frame)).collect::<String>().into_bytes()
}

/// Two processors with clocks of their own, on a master each: one counts from 1970, one is started later.
fn two_processors() -> Vec<u8> {
    let mut writer = Writer::begun();
    writer.frequency(1_000_000);
    let now = NOON * 1_000_000_000;
    for second in 2..6u64 {
        writer.go_to(1, 1);
        writer.message(&clock_message(now + second * 1_000_000_000, 1_000_000_000), second * 1_000_000, Ending::Flag);
        writer.go_to(2, 1);
        writer.message(&clock_message((second - 1) * 1000, 1000), second * 1_000_000 + 100, Ending::Flag);
        writer.go_to(1, 7);
        let stamp = now + second * 1_000_000_000 + 400_000_000;
        writer.message(&text(Some(stamp), "one"), second * 1_000_000 + 500_000, Ending::Flag);
        writer.go_to(2, 1);
        writer.message(&text(Some(second * 1000 - 500), "two"), second * 1_000_000 + 600_100, Ending::Flag);
        // It has no clock message.
        writer.go_to(3, 1);
        writer.message(&text(Some(second), "three"), second * 1_000_000 + 700_000, Ending::Flag);
    }
    writer.finish()
}

/// Microseconds since 1970.
fn time_of_day() -> Vec<u8> {
    let frames = [0, 1_000_000, 500, 2_000_000, 2_000_001].map(|us| text(Some(NOON * 1_000_000 + 7_000_000 + us), "tick"));
    ("boot\n".to_owned() + &frames.iter().map(|frame| line(frame)).collect::<String>()).into_bytes()
}

/// Time stamps that cannot be: one leaps forward, one back, the first of all and the last.
fn absurd() -> Vec<u8> {
    let mut stamps: Vec<u64> = (0..40).map(|number| 1_000_000_000 * (5 + number)).collect();
    stamps[0] = 1 << 60;
    stamps[10] = 1 << 50;
    stamps[20] = 3;
    stamps[30] = u64::MAX;
    stamps[39] = 1 << 59;
    let frames = stamps.into_iter().enumerate().map(|(number, stamp)| text(Some(stamp), &format!("number {number}")));
    ("boot\n".to_owned() + &frames.map(|frame| line(&frame)).collect::<String>()).into_bytes()
}

fn capture(name: &str, bytes: Vec<u8>) -> Capture {
    Capture { name: name.into(), bytes }
}

pub fn text_captures() -> Vec<Capture> {
    vec![capture("two_speeds", two_speeds()), capture("time_of_day", time_of_day()), capture("absurd_times", absurd())]
}

pub fn stp_captures() -> Vec<Capture> {
    vec![capture("drift", drifting(true)), capture("drift_no_freq", drifting(false)), capture("linux", linux())]
}

fn shown(format: &str, capture: &[u8]) -> Trace {
    let whole = subject(format).convert(capture, Cut::WHOLE).read();
    let cut = subject(format).convert(capture, Cut { window_bytes: 7, ..Cut::WHOLE }).read();
    assert_eq!(whole.clock_readings, cut.clock_readings);
    whole
}

/// Time, name and an annotation of each message.
fn messages<'a>(trace: &'a Trace, arg: &str) -> Vec<(u64, &'a str, Option<Arg>)> {
    let messages = trace.instants.iter().filter(|instant| instant.name != "clock");
    messages.map(|instant| (instant.ts, instant.name.as_str(), instant.args.get(arg).cloned())).collect()
}

const MS: u64 = 1_000_000;

#[test]
fn the_message_clock_is_mapped_piece_by_piece() {
    for with_frequency in [true, false] {
        let trace = shown("syst-stp", &drifting(with_frequency));
        // The transport's clock is a tenth faster than inferred from the message clock, so both are on the message clock's scale.
        let stretch = |ns: u64| if with_frequency { ns } else { ns / 10 * 9 };
        let made: Vec<_> = messages(&trace, "message_time_ns");
        let at = |ms: u64| Some(Arg::Uint(stretch(ms * MS)));
        assert_eq!(made[1], (stretch(10_600 * MS), "between", at(10_500)), "half the way between two clock messages");
        assert_eq!(made[2], (stretch(11_100 * MS), "made before, sent behind", at(10_500)));
        assert_eq!(made[4], (stretch(12_300 * MS), "without a time of its own", None));
        if with_frequency {
            // Outside of them by the recorded frequency.
            assert_eq!(made[0], (9_900 * MS, "before the first", at(9_910)));
            assert_eq!(made[3], (12_200 * MS, "behind the last", at(12_100)));
        }
        assert_eq!(messages(&trace, "message_time")[0].2, Some(Arg::Uint(4910)), "and the time stamp as it was");
        let readings = [(10_000, 5_000), (11_000, 5_900), (12_000, 6_800)];
        let expected = readings.map(|(time, value)| (stretch(time * MS), MESSAGE_CLOCK, value * MS));
        assert_eq!(trace.clock_readings, expected);
        assert_eq!(trace.first_snapshot.as_ref().and_then(|first| first.get(&REALTIME)), None, "the time of day is not known");
        assert!(trace.attributes.contains_key("clock.65"));
    }
}

#[test]
fn processors_may_have_clocks_of_their_own() {
    let run = subject("syst-stp").convert(&two_processors(), Cut::WHOLE);
    let trace = run.read();
    let made: Vec<_> =
        messages(&trace, "message_time_ns").into_iter().map(|(time, name, made)| (time / MS, name, made)).collect();
    let at = |ns: u64| Some(Arg::Uint(ns));
    for (second, three) in (2..).zip(made.chunks(3)) {
        let ms = second * 1000;
        let expected =
            [(ms + 500, "one", at((ms + 400) * MS)), (ms + 600, "two", at((ms + 500) * MS + 100_000)), (ms + 700, "three", None)];
        assert_eq!(three, expected);
    }
    let wall = |second: u64| (second * 1000 * MS, REALTIME, (NOON + second) * 1000 * MS);
    assert!(trace.clock_readings.contains(&wall(5)), "{:?}", trace.clock_readings);
    assert!(trace.clock_readings.iter().all(|(_, clock, _)| *clock == REALTIME), "{:?}", trace.clock_readings);
    let clocks = run.summary.facts.details.iter().find(|detail| detail.name == "message clocks").expect("it is there");
    assert_eq!(clocks.value, "2: 1000000000 Hz on channel 1:1, 1000 Hz on channel 2:1");
}

/// Nothing in a text or raw capture relates the clocks of two senders.
#[test]
fn unrelated_clocks_are_said() {
    let said = |values: [(u8, u64); 4]| {
        let capture: String = values.iter().map(|&(module, value)| line(&clock_message_of(module, value, 1_000))).collect();
        let facts = subject("syst-text").convert(capture.as_bytes(), Cut::WHOLE).summary.facts;
        (facts.findings.iter().find_map(|finding| finding.warning()).unwrap_or_default(), facts.hints.join(" "))
    };
    let (warning, hints) = said([(1, 1_000), (2, 1_900), (1, 2_000), (2, 2_900)]);
    assert!(!warning.contains("clocks of their own") && !hints.contains("one sender"), "{warning} {hints}");
    let (warning, hints) = said([(1, 1_000), (2, 71_000), (1, 2_000), (2, 72_000)]);
    assert!(
        warning.contains("clocks of their own") && warning.contains("71000 at 1000 Hz lies between 1000 and 2000"),
        "{warning}"
    );
    assert!(hints.contains("Only times of one sender can be compared"), "{hints}");
}

#[test]
fn a_clock_message_of_wrong_length_is_not_used() {
    let mut capture = line(&clock_message(1_000_000, 1_000_000));
    for number in 0..20u64 {
        if number == 10 {
            // A piece twice: what seems to be the frequency is the value.
            let whole = clock_message(1_000_000 + 1000, 1_000_000);
            capture.push_str(&line(&[&whole[..12], &whole[4..]].concat()));
        }
        capture.push_str(&line(&text(Some(1_000_000 + 100 * number), "tick")));
    }
    let run = subject("syst-text").convert(capture.as_bytes(), Cut::WHOLE);
    let times: Vec<u64> = messages(&run.read(), "").into_iter().map(|(time, ..)| time).collect();
    assert_eq!(times, (0..20).map(|number| 1_000_000_000 + 100_000 * number).collect::<Vec<u64>>());
    assert!(run.summary.ledger.entries().iter().any(|entry| entry.kind.code == "surplus_bytes"));
}

#[test]
fn the_viewer_gets_the_time_of_day_from_the_first_snapshot() {
    let trace = shown("syst-stp", &linux());
    let first = trace.first_snapshot.clone().unwrap();
    let second = 1_000_000_000;
    assert_eq!((first[&BOOTTIME], first[&REALTIME]), (0, (NOON - 2) * second));
    let expected = [
        (0, REALTIME, (NOON - 2) * second),
        (2 * second, REALTIME, NOON * second),
        (62 * second, REALTIME, (NOON + 60) * second + 500),
    ];
    assert_eq!(trace.clock_readings, expected);
    let made = messages(&trace, "message_time_ns");
    assert_eq!((made[0].0, made[0].1), (2_001_500_000, "one"));
    assert_eq!(made[0].2, Some(Arg::Uint(2_000_999_999)), "between the pairs, of which the second is 500 ns late");

    let trace = shown("syst-text", &time_of_day());
    let first = trace.first_snapshot.clone().unwrap();
    assert_eq!((first[&BOOTTIME], first[&REALTIME]), (0, 0), "the trace's time is the time of day");
    // A restart moves it on, and the time of day with it.
    assert_eq!(messages(&trace, "")[0].0, (NOON + 7) * second);
}

#[test]
fn a_change_of_frequency_bends_the_messages_time() {
    let trace = shown("syst-text", &two_speeds());
    let times: Vec<(u64, &str)> = messages(&trace, "").into_iter().map(|(time, name, _)| (time / MS, name)).collect();
    assert_eq!(times, [(1000, "at 1 s"), (2000, "at 2 s"), (2500, "at 2.5 s"), (3000, "at 3 s")]);
}

/// The clock goes back to the middle of what was before, and reaches its end only much later. Short messages have no time.
#[test]
fn time_that_is_held_for_long_is_in_doubt() {
    let mut lines = String::new();
    for (start, count) in [(100_000u64, 300u64), (110_000, 100)] {
        let mut time = start;
        for number in 0..count {
            time += [50, 200, 150, 400, 50, 150, 400][number as usize % 7];
            lines += &line(&text(Some(time), &format!("number {number}")));
            if number % 10 == 0 {
                lines += &line(&[0x71, 0x56, 0x34, 0x12]);
            }
        }
    }
    let summary = subject("syst-text").convert(lines.as_bytes(), Cut::WHOLE).summary;
    let count = |kind| summary.ledger.entries().iter().find(|entry| entry.kind == kind).map_or(0, |entry| entry.count);
    assert_eq!((count(losses::TIME_HELD), count(losses::TIME_AMBIGUOUS)), (100, 1), "{:?}", summary.ledger.entries());
}

/// One of several clock messages has another frequency than the others.
#[test]
fn a_damaged_frequency_is_not_used() {
    for damaged in 0..3 {
        let second = |number: u64| {
            let hz = if number == damaged { 1000 ^ 1 << 40 } else { 1000 };
            [clock_message(number * 1000, hz), text(Some(number * 1000 + 500), &number.to_string())]
        };
        let lines: String = (0..3).flat_map(second).map(|frame| line(&frame)).collect();
        let run = subject("syst-text").convert(lines.as_bytes(), Cut::WHOLE);
        let trace = run.read();
        let times: Vec<(u64, &str)> = messages(&trace, "").into_iter().map(|(time, name, _)| (time / MS, name)).collect();
        assert_eq!(times, [(500, "0"), (1500, "1"), (2500, "2")], "number {damaged} is damaged");
        let repairs = run.summary.ledger.entries().iter().map(|entry| (entry.kind, entry.count));
        assert!(repairs.clone().any(|repair| repair == (losses::RATE_OUTLIER, 1)), "{:?}", repairs.collect::<Vec<_>>());
    }
}

#[test]
fn absurd_times_do_not_move_their_neighbours() {
    let run = subject("syst-text").convert(&absurd(), Cut::WHOLE);
    let trace = run.read();
    let second = 1_000_000_000;
    for (time, name, _) in messages(&trace, "") {
        let Some(number) = name.strip_prefix("number ").and_then(|number| number.parse::<u64>().ok()) else { continue };
        let expected = match number {
            // That of the one after it.
            0 => 6,
            // That of the one before: none follows, or the stamp is beyond the time of a trace.
            30 | 39 => 5 + number - 1,
            _ => 5 + number,
        };
        assert_eq!(time, expected * second, "{name}");
    }
    assert_eq!(run.summary.facts.sessions, 1);
    let count =
        |code: &str| run.summary.ledger.entries().iter().find(|entry| entry.kind.code == code).map_or(0, |entry| entry.count);
    assert_eq!((count("time_outlier"), count("time_overflow"), count("session_restart")), (4, 1, 0));
}

/// It is shown at the time stamp of the second message. That one is not used, as the next ones contradict it.
#[test]
fn a_first_message_beyond_all_times_is_not_later_than_those_after_it() {
    let times = [u64::MAX, 7_812_741_514_407_723_520, 7_812_619_453_580_967_936, 10_002_605_197_693_550_666];
    let capture: String = times.iter().map(|&time| line(&text(Some(time), "odd"))).collect();
    let run = subject("syst-text").convert(capture.as_bytes(), Cut::WHOLE);
    assert_eq!(run.summary.first, run.summary.last);
    subject("syst-text").check_sound(capture.as_bytes(), &[]);
}

#[test]
fn leaps_of_single_messages_are_damage() {
    // The tenth leaps by half a second and another one by 150 hours; all others follow each other.
    let mut capture = line(&clock_message(1_000_000, 1_000_000));
    for number in 0..60u64 {
        let late = [(10, 500_000), (15, 150 * 3600 * 1_000_000)].iter().find(|(which, _)| *which == number);
        let time = 1_000_000 + 100 * number + late.map_or(0, |(_, late)| *late);
        capture.push_str(&line(&text(Some(time), &format!("number {number}"))));
    }
    let run = subject("syst-text").convert(capture.as_bytes(), Cut::WHOLE);
    let trace = run.read();
    let times: Vec<u64> = messages(&trace, "").into_iter().map(|(time, ..)| time / MS).collect();
    assert_eq!((times.len(), times.iter().max()), (60, Some(&1005)));
    assert_eq!(run.summary.facts.sessions, 1);
    let outliers = run.summary.ledger.entries().iter().find(|entry| entry.kind.code == "time_outlier");
    assert_eq!(outliers.map(|entry| entry.count), Some(2));
}

/// The capture began within a message, 7 minutes after the clock: what comes before the first time stamp is not at 0.
#[test]
fn a_stream_from_its_middle_begins_with_its_first_time_stamp() {
    let mut writer = Writer::begun();
    writer.message(&text(None, "cut"), 399_000_000, Ending::Flag);
    let begun = writer.take_bytes();
    writer.sync();
    writer.send_whole_time();
    writer.frequency(1_000_000);
    for time in 0..20 {
        writer.message(&text(None, "whole"), 400_000_000 + time, Ending::Flag);
    }
    let capture = [begun.get(begun.len() / 2..).unwrap_or_default(), &writer.finish()].concat();
    let conversion = subject("syst-stp").convert(&capture, Cut::WHOLE);
    assert_eq!(conversion.summary.ledger.entries().len(), 1);
    let instants = conversion.read().instants;
    assert_eq!(
        (instants.first().map(|first| first.ts), instants.last().map(|last| last.ts)),
        (Some(400_000 * MS), Some(400_000_019_000))
    );
}

/// Other data is read as a frequency where packets are damaged: times after it would all be wrong.
#[test]
fn a_new_frequency_after_damage_is_not_used() {
    let ms = 24_000;
    let stream = |damage: &dyn Fn(&mut Writer), hz: u32| {
        let mut writer = Writer::begun();
        writer.frequency(24_000_000);
        writer.go_to(1, 1);
        (1..20).for_each(|number| writer.message(&text(None, "before"), number * ms, Ending::Flag));
        damage(&mut writer);
        writer.frequency(hz);
        writer.go_to(1, 1);
        (20..40).for_each(|number| writer.message(&text(None, "after"), number * ms, Ending::Flag));
        let run = subject("syst-stp").convert(&writer.finish(), Cut::WHOLE);
        let last = run.read().instants.into_iter().rfind(|instant| instant.name == "after").map(|instant| instant.ts / MS);
        (last, run.summary.ledger.entries().iter().filter(|entry| entry.kind == losses::RATE_OUTLIER).count())
    };
    let none = |_: &mut Writer| {};
    // A message too short to be one.
    let short = |writer: &mut Writer| {
        writer.data(&[0x42, 0x50], Some(19 * ms + 1), false);
        writer.flag(None);
    };
    // The next message begins before it ends, and after the frequency.
    let open = |writer: &mut Writer| writer.data(&[0x42, 0x50, 0xAA, 0x01], Some(19 * ms + 1), false);
    // Packets that cannot be read, up to an ASYNC.
    let unread = |writer: &mut Writer| {
        [0xF, 0, 0xD, 5, 5].iter().for_each(|&nibble| writer.nibble(nibble));
        writer.sync();
    };
    assert_eq!(stream(&short, 3_000_000_000), (Some(39), 1));
    assert_eq!(stream(&open, 3_000_000_000), (Some(39), 1));
    assert_eq!(stream(&short, 24_000_000), (Some(39), 0));
    // A sender may change it: the time goes on at half the rate from the last stamp on.
    assert_eq!(stream(&none, 12_000_000), (Some(19 + 2 * 20), 0));
    assert_eq!(stream(&unread, 12_000_000), (Some(19 + 2 * 20), 0));
}
