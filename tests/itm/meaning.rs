//! Times, losses, names and samples, compared with what the generator knows.

use std::collections::BTreeMap;
use std::sync::Arc;

use traceconv::format::OptionValue;
use traceconv::format::itm::encode::{exception, packet, sample, text, ticks};
use traceconv::format::itm::generate::{CLOCK_HZ, GenerateOptions, SAMPLE_PERIOD, SYSTICK, Times, UART, generate_with_truth};
use traceconv::frame::swo::{Delay, Packet};
use traceconv::frame::tpiu;
use traceconv::model::{EventKind, LossKind, losses};
use traceconv::pipeline::Source;

use crate::captures::encoded;
use crate::common::run::{Subject, options};
use crate::reader::Arg;
use crate::run::{Conversion, Cut, convert, subject, with_options};

fn lost(conversion: &Conversion, kind: LossKind) -> (u64, u64) {
    let entries = conversion.summary.ledger.entries();
    entries.iter().find(|entry| entry.kind == kind).map_or((0, 0), |entry| (entry.count, entry.at_least_lost))
}

fn detail<'a>(conversion: &'a Conversion, name: &str) -> Option<&'a str> {
    conversion.summary.facts.details.iter().find(|detail| detail.name == name).map(|detail| detail.value.as_str())
}

/// The times of the packets that are not time stamps, as `dump` lists them.
fn times(subject: &Subject, capture: &[u8]) -> Vec<Option<u64>> {
    let mut all = Vec::new();
    subject.each_record(capture, Cut::WHOLE, |record| {
        if !record.record.contains("time") && record.record != "sync" {
            all.push(record.nanos);
        }
    });
    all
}

#[test]
fn every_packet_has_its_time() {
    for seed in 0..6 {
        let times_of = [Times::Both, Times::Global][seed as usize % 2];
        let is_framed = seed % 3 == 1;
        let given =
            GenerateOptions { bytes: 60_000, seed, times: times_of, is_framed, delays: seed > 3, ..GenerateOptions::default() };
        let (capture, truth) = generate_with_truth(&given);
        let found = times(&subject(), &capture);
        assert_eq!(found.len(), truth.len(), "{given:?}");
        // The high bits of global time are 0 at the start.
        for (nanos, truth) in found.iter().zip(&truth) {
            let expected = u128::from(truth.ticks) * 1_000_000_000 / u128::from(CLOCK_HZ);
            assert_eq!(*nanos, u64::try_from(expected).ok(), "{given:?} {truth:?}");
        }
    }
}

/// The high bits come after the first time stamps, and hold for these too.
#[test]
fn global_time_counts_from_its_tick_0() {
    for (start, flags_first) in [(130u64, true), (130, false), ((5 << 26) + 130, true), ((1 << 47) + 130, false)] {
        let of_first = (0..40).map(|number| start + number * 700 + number % 3);
        let all: Vec<u64> = of_first.chain((0..40).map(|number| start + (1 << 26) + number * 700)).collect();
        let (mut capture, mut last) = (Vec::new(), None);
        for &ticks in &all {
            text(0, "x", &mut capture);
            let high = ticks >> 26;
            let has_wrapped = last.map_or(flags_first, |last| last != high);
            let value = (ticks & 0x3FF_FFFF) as u32;
            capture.extend(encoded(&[Packet::GlobalLow { value, bits: 26, has_wrapped, clock_changed: false }]));
            if has_wrapped || high != 0 && last.is_none() {
                capture.extend(encoded(&[Packet::GlobalHigh { value: high }]));
            }
            last = Some(high);
        }
        let expected: Vec<Option<u64>> = all.into_iter().map(Some).collect();
        let subject = Subject::new("itm");
        assert_eq!(times(&subject, &capture), expected, "{start} {flags_first}");
        let cut = Cut { window_bytes: 64, ..Cut::WHOLE };
        assert!(subject.convert(&capture, cut).trace == subject.convert(&capture, Cut::WHOLE).trace);
    }
}

#[test]
fn negative_values_are_no_text() {
    for bytes in [1u8, 2, 4] {
        let mut capture = vec![0, 0, 0, 0, 0, 0x80];
        for value in [-74i32, -73, -75, -74, -70, -69, -74, -76, -80, -61] {
            let value = value as u32 & u32::MAX >> (32 - 8 * u32::from(bytes));
            capture.extend(encoded(&[Packet::Port { port: 1, bytes, value }]));
            ticks(1000, &mut capture);
        }
        let trace = Subject::new("itm").convert(&capture, Cut::WHOLE).read();
        let times: Vec<u64> = trace.instants.iter().map(|instant| instant.ts).collect();
        assert_eq!(times, (1..=10).map(|number| number * 1000).collect::<Vec<_>>(), "{bytes}");
        assert!(trace.logs.is_empty());
    }
}

/// Samples come at fixed times, so they can replace time stamps: each packet is right to a period.
#[test]
fn samples_can_be_the_time_base() {
    let given = GenerateOptions { bytes: 40_000, times: Times::None, seed: 3, ..GenerateOptions::default() };
    let (capture, truth) = generate_with_truth(&given);
    let found = times(&with_options(&[("itm-sample-period", &SAMPLE_PERIOD.to_string())]), &capture);
    assert_eq!(found.len(), truth.len());
    for (nanos, truth) in found.iter().zip(&truth) {
        let expected = truth.ticks as f64 * 1e9 / CLOCK_HZ as f64;
        let error = (nanos.expect("it has a time") as f64 - expected).abs();
        assert!(error <= SAMPLE_PERIOD as f64 * 1e9 / CLOCK_HZ as f64, "{error} ns at {truth:?}");
    }
    // Without the period, only the order is known, and the user is warned.
    let plain = convert(&capture, Cut::WHOLE);
    assert!(plain.summary.facts.findings.iter().any(|finding| finding.warning().is_some()));
    assert!(plain.summary.facts.hints.iter().any(|hint| hint.contains("--itm-sample-period")));
}

#[test]
fn interrupts_are_those_of_the_generator() {
    let given = GenerateOptions { bytes: 60_000, seed: 2, ..GenerateOptions::default() };
    let (capture, truth) = generate_with_truth(&given);
    let trace = convert(&capture, Cut::WHOLE).read();
    let entered = |number: u16| {
        let is_it =
            |packet: Packet| matches!(packet, Packet::Hardware { id: 1, value, .. } if value == u32::from(number) | 1 << 12);
        truth.iter().filter(|truth| is_it(truth.packet)).count()
    };
    for (number, name) in [(SYSTICK, "SysTick"), (UART, "IRQ 37")] {
        let track = trace.track(&format!("firmware/Interrupts/{name}")).expect("it is drawn");
        assert_eq!(trace.slices_on(track).count(), entered(number), "{name}");
        assert!(trace.slices_on(track).all(|slice| slice.arg("closed_by").is_none()));
    }
    let nested = trace.slices.iter().filter(|slice| slice.name == "IRQ 37");
    let within = |ts: u64| trace.slices.iter().any(|slice| slice.name == "SysTick" && slice.ts < ts && slice.end().unwrap() > ts);
    assert!(nested.filter(|slice| within(slice.ts)).count() > 3);
}

#[test]
fn ports_are_read_as_the_user_says() {
    let given = GenerateOptions { bytes: 40_000, seed: 1, ..GenerateOptions::default() };
    let (capture, truth) = generate_with_truth(&given);
    let values: Vec<i64> = truth
        .iter()
        .filter_map(|truth| match truth.packet {
            Packet::Port { port: 1, value, .. } => Some(i64::from(value.cast_signed())),
            _ => None,
        })
        .collect();
    let trace = with_options(&[("itm-port", "1=signed:position"), ("itm-port", "0=none")]).convert(&capture, Cut::WHOLE).read();
    let track = trace.track("firmware/Values/position").expect("it is drawn");
    assert_eq!(trace.counters[&track].iter().map(|&(_, value)| value).collect::<Vec<_>>(), values);
    assert!(trace.logs.is_empty());
    let plain = convert(&capture, Cut::WHOLE);
    let ports = detail(&plain, "writes to stimulus ports").expect("one line names them all");
    assert!(ports.starts_with("port 0: ") && ports.ends_with(&format!(", port 1: {}", values.len())), "{ports}");
    let plain = plain.read();
    let rounds = truth.iter().filter(|truth| matches!(truth.packet, Packet::Port { port: 0, value: 10, .. })).count();
    assert_eq!(plain.logs.len(), rounds);
    assert_eq!(plain.logs[1].body, "round 10");
    assert!(plain.instants.iter().any(|instant| instant.name == "write"));
    let watched = plain.track("firmware/Values/watch 0: written").expect("it is drawn");
    assert_eq!(plain.counters[&watched].len(), values.len());
    // Floats: 1.5 on port 4.
    let float = encoded(&[
        Packet::Port { port: 4, bytes: 4, value: 1.5f32.to_bits() },
        Packet::LocalTime { ticks: 9, delay: Delay::default() },
    ]);
    let trace = with_options(&[("itm-port", "4=float")]).convert(&float, Cut::WHOLE).read();
    assert_eq!(trace.float_counters.values().flatten().map(|&(_, value)| value).collect::<Vec<_>>(), [1.5]);
    for wrong in ["4=double", "4", "999=text"] {
        assert!(
            with_options(&[("itm-port", wrong)]).format.open(&[with_options(&[("itm-port", wrong)]).options]).is_err(),
            "{wrong}"
        );
    }
}

#[test]
fn overflows_are_losses() {
    let given = GenerateOptions { bytes: 60_000, seed: 3, overflows: true, ..GenerateOptions::default() };
    let (capture, truth) = generate_with_truth(&given);
    let expected = truth.iter().filter(|truth| truth.packet == Packet::Overflow).count() as u64;
    let conversion = convert(&capture, Cut::WHOLE);
    assert!(expected > 10);
    assert_eq!(lost(&conversion, losses::DROPPED_BY_TARGET), (expected, expected));
    let trace = conversion.read();
    let drawn = trace.slices.iter().map(|slice| &slice.name).chain(trace.instants.iter().map(|instant| &instant.name));
    assert_eq!(drawn.filter(|name| **name == losses::DROPPED_BY_TARGET.text).count() as u64, expected);
}

#[test]
fn delayed_time_stamps_are_marked() {
    let given = GenerateOptions { bytes: 60_000, seed: 3, delays: true, ..GenerateOptions::default() };
    let conversion = convert(&generate_with_truth(&given).0, Cut::WHOLE);
    let (count, _) = lost(&conversion, losses::DELAYED_PACKETS);
    assert!(count > 10);
    let trace = conversion.read();
    let track = trace.track("firmware/Markers/delayed time stamps").expect("it is drawn");
    assert_eq!(trace.instants.iter().filter(|instant| instant.track == track).count() as u64, count);
    assert!(detail(&conversion, "delayed time stamps").is_some());
    let global = detail(&conversion, "global time").expect("both are sent");
    let ratio: f64 = global.split(' ').next().unwrap().parse().expect("it begins with a number");
    assert!((ratio - 1.0).abs() < 1e-3, "{global}");
}

#[test]
fn the_other_source_is_counted() {
    let given = GenerateOptions { bytes: 30_000, seed: 5, is_framed: true, ..GenerateOptions::default() };
    let capture = generate_with_truth(&given).0;
    let conversion = convert(&capture, Cut::WHOLE);
    assert_eq!(lost(&conversion, losses::OTHER_SOURCE).0, 1);
    let others = detail(&conversion, "other sources").expect("there is one");
    assert_eq!(others, format!("2: {} bytes; not read", conversion.summary.ledger.skipped_bytes));
    assert_eq!(detail(&conversion, "stream"), Some("source 1 in CoreSight frames"));
}

/// Each core of a processor may have an ITM: what is not read is named.
#[test]
fn a_second_stream_in_frames_is_named() {
    let streams =
        [6, 7].map(|seed| generate_with_truth(&GenerateOptions { bytes: 20_000, seed, ..GenerateOptions::default() }).0);
    let mut capture = Vec::new();
    for (first, second) in streams[0].chunks(100).zip(streams[1].chunks(60)) {
        tpiu::wrap(first, 3, &mut capture);
        tpiu::wrap(second, 4, &mut capture);
    }
    let conversion = convert(&capture, Cut::WHOLE);
    assert_eq!(detail(&conversion, "stream"), Some("source 3 in CoreSight frames"));
    let others = detail(&conversion, "other sources").expect("there is one");
    assert!(others.starts_with("4: ") && others.ends_with(" bytes of an ITM stream; not read"), "{others}");
}

fn with_program(file: &str) -> Subject {
    let path = format!("{}/testdata/symbols/{file}", env!("CARGO_MANIFEST_DIR"));
    let bytes: Arc<[u8]> = std::fs::read(path).expect("the program is there").into();
    let mut subject = subject();
    subject.options.own.push(("elf", OptionValue::File { path: file.into(), bytes }));
    subject
}

#[test]
fn what_the_program_lacks_is_said() {
    let mut capture = Vec::new();
    text(0, "On\n", &mut capture);
    let hints = |file| with_program(file).convert(&capture, Cut::WHOLE).summary.facts.hints.join(" ");
    let said = hints("pump_no_debug.elf");
    assert!(said.contains("About pump_no_debug.elf: it has no debug information"), "{said}");
    assert!(!hints("pump.elf").contains("About"));
    // Of other code than the samples, twice where there is some; exceptions return to no code.
    for address in [INLINED.0, 0x0800_0000, INLINED.0, 0x0800_0100, 0xFFFF_FFF9] {
        sample(address, &mut capture);
        ticks(1000, &mut capture);
    }
    let said = with_program("pump.elf").convert(&capture, Cut::WHOLE).summary.facts.hints.join(" ");
    assert!(said.contains("The program has only 1 of 3 addresses in the recording"), "{said}");
}

/// A function that begins with code of another one, which is inlined: where it is, and the other one.
const INLINING: &str = "pump_read";
const INLINED: (u32, &str) = (0x5C, "scaled");

/// The functions of the program, by address.
fn functions() -> Vec<(u32, String)> {
    let list = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/testdata/symbols/pump.symbols.csv")).unwrap();
    let line = |line: &str| {
        let mut fields = line.split(',');
        let address = u32::from_str_radix(fields.next()?, 16).ok()?;
        fields.next().filter(|kind| *kind == "T")?;
        Some((address, fields.next()?.trim_matches('"').to_owned()))
    };
    list.lines().filter_map(line).filter(|(_, name)| name != "Default_Handler" && name != INLINING).collect()
}

#[test]
fn samples_are_a_profile() {
    let functions = functions();
    assert!(functions.len() > 2);
    let mut capture = Vec::new();
    let mut expected: BTreeMap<String, u64> = BTreeMap::new();
    for round in 0..200u32 {
        let (address, name) = &functions[round as usize % 3];
        sample(*address, &mut capture);
        ticks(1000, &mut capture);
        *expected.entry(name.clone()).or_default() += 1;
    }
    let subject = with_program("pump.elf");
    let trace = subject.convert(&capture, Cut::WHOLE).read();
    let mut found: BTreeMap<String, u64> = BTreeMap::new();
    for sample in &trace.samples {
        *found.entry(sample.stack.last().unwrap().clone()).or_default() += 1;
    }
    assert_eq!(found, expected);
    assert!(trace.samples.windows(2).all(|pair| pair[1].ts > pair[0].ts));
    let mut inlined = Vec::new();
    sample(INLINED.0, &mut inlined);
    ticks(1000, &mut inlined);
    assert_eq!(subject.convert(&inlined, Cut::WHOLE).read().samples[0].stack, [INLINING, INLINED.1]);
    // Each sample has the time since the one before; folded stacks have the same sum.
    let source = Source::new(&capture, subject.format).options(subject.options.clone());
    let gathered =
        traceconv::pipeline::statistics(&[source], &options(Cut::WHOLE), true, &mut |_| true).expect("it is converted");
    let reported: BTreeMap<String, u64> =
        gathered.statistics.functions.iter().map(|function| (function.name.clone(), function.samples)).collect();
    assert_eq!(reported, expected);
    let sum: u64 = gathered.statistics.functions.iter().map(|function| function.self_ns).sum();
    let all = 199 * 1000 * 1_000_000_000 / CLOCK_HZ;
    assert!(sum.abs_diff(all) <= 1, "{sum} of {all}");
    let folded: u64 = gathered.folded.unwrap().lines().map(|line| line.rsplit_once(' ').unwrap().1.parse::<u64>().unwrap()).sum();
    assert_eq!(folded, sum);
}

/// `pump_ticks`, a variable of 4 bytes at 0x2000_0000, has the lower half of the address of a constant (`vectors`); only the second one
/// spans the other addresses here.
#[test]
fn watched_data_has_its_name_where_only_one_object_fits() {
    let access = |address: u32, written: bool| {
        [
            Packet::Hardware { id: 9, bytes: 2, value: address },
            Packet::Hardware { id: 16 + u8::from(written), bytes: 4, value: 7 },
            Packet::LocalTime { ticks: 9, delay: Delay::default() },
        ]
    };
    let capture = encoded(&[access(0, true), access(0, false), access(8, false), access(0x7000, true)].concat());
    let trace = with_program("pump.elf").convert(&capture, Cut::WHOLE).read();
    let accesses = trace.instants.iter().filter(|instant| instant.name == "access");
    let data: Vec<Option<&Arg>> = accesses.map(|instant| instant.args.get("data")).collect();
    let named = |name: &str| Arg::Text(name.to_owned());
    assert_eq!(data, [Some(&named("pump_ticks")), None, Some(&named("vectors")), None]);
    let values = |track: &str| trace.track(&format!("firmware/Values/watch 0{track}")).map(|track| trace.counters[&track].len());
    let counts = [", pump_ticks: written", ": read", ", vectors: read", ": written"].map(values);
    assert_eq!(counts, [Some(1); 4]);
}

#[test]
fn interrupts_have_the_names_of_their_handlers() {
    let subject = with_program("pump.elf");
    let mut names = BTreeMap::new();
    let mut capture = Vec::new();
    for number in 2..60 {
        exception(number, 1, &mut capture);
        ticks(100, &mut capture);
        exception(number, 2, &mut capture);
        ticks(100, &mut capture);
    }
    subject.resolve(&capture, 1000, |_, entities| {
        names.extend(entities.isrs.iter().map(|isr| (isr.number, isr.name.as_ref().unwrap().to_string())));
    });
    let functions = functions();
    let handlers = names.values().filter(|name| functions.iter().any(|(_, function)| function == *name)).count();
    assert!(handlers > 0, "{names:?}");
    assert_eq!(names.len(), 58);
    let distinct: std::collections::BTreeSet<&String> = names.values().collect();
    assert_eq!(distinct.len(), names.len(), "shared handlers name no interrupt: {names:?}");
}

/// The text of a port may be spread over many packets and windows.
#[test]
fn lines_are_put_together() {
    let mut capture = Vec::new();
    for index in 0..300 {
        text(5, "0123456789", &mut capture);
        ticks(50, &mut capture);
        if index % 150 == 149 {
            text(5, "\n", &mut capture);
        }
    }
    let mut logs = Vec::new();
    subject().resolve(&capture, 64, |batch, _| {
        for event in &batch.events {
            if let EventKind::Log(index) = event.kind {
                logs.push(batch.texts.get(batch.logs[index as usize].body).len());
            }
        }
    });
    assert_eq!(logs, [1024, 476, 1024, 476]);
}

/// A session of global time: a whole time stamp, then a write and a time stamp every 1000 ticks.
fn session(first: u64, writes: u64, capture: &mut Vec<u8>) {
    let low =
        |ticks: u64| Packet::GlobalLow { value: ticks as u32 & 0x03FF_FFFF, bits: 26, has_wrapped: false, clock_changed: false };
    for one in [Packet::Sync, low(first), Packet::GlobalHigh { value: first >> 26 }] {
        packet(one, capture);
    }
    for index in 1..=writes {
        packet(Packet::Port { port: 2, bytes: 1, value: 7 }, capture);
        packet(low(first + 1000 * index), capture);
    }
}

/// Nothing in the stream says that the target was reset, but its counter of global time begins again with a whole time stamp.
#[test]
fn global_time_that_begins_again_begins_a_session() {
    for (first, writes) in [(5_000, 3), (5_000, 60), (60_000_000, 5), (7 << 30, 60)] {
        let mut capture = Vec::new();
        session(first, writes, &mut capture);
        session(5_000, writes, &mut capture);
        session(5_200, writes, &mut capture);
        let conversion = convert(&capture, Cut::WHOLE);
        assert_eq!(conversion.summary.facts.sessions, 3, "{first} {writes}");
        assert_eq!(lost(&conversion, losses::SESSION_RESTART).0, 2);
        assert_eq!(lost(&conversion, losses::TIME_OUTLIER).0 + lost(&conversion, losses::TIME_HELD).0, 0);
        let times: Vec<u64> = times(&subject(), &capture).into_iter().flatten().collect();
        for session in times.chunks(writes as usize) {
            let is_step = |pair: &[u64]| (pair[1] - pair[0]).abs_diff(1000 * 1_000_000_000 / CLOCK_HZ) <= 1;
            assert!(session.windows(2).all(is_step), "{first} {writes}: {session:?}");
        }
        assert!(times.is_sorted());
    }
    let mut capture = Vec::new();
    session(5_000, 60, &mut capture);
    session(5_000 + 60_000, 60, &mut capture);
    assert_eq!(convert(&capture, Cut::WHOLE).summary.facts.sessions, 1);
}

/// After a long silence the high bits are several steps ahead, while the low bits may seem to have gone on a little.
#[test]
fn high_bits_after_a_long_silence_are_believed() {
    let mut capture = Vec::new();
    session(5_000, 60, &mut capture);
    let silent = 7u64 << 26;
    packet(Packet::Port { port: 2, bytes: 1, value: 7 }, &mut capture);
    packet(Packet::GlobalLow { value: 66_000, bits: 26, has_wrapped: true, clock_changed: false }, &mut capture);
    packet(Packet::GlobalHigh { value: 7 }, &mut capture);
    let times: Vec<u64> = times(&subject(), &capture).into_iter().flatten().collect();
    assert_eq!(times.last(), Some(&((silent + 66_000) * 1_000_000_000 / CLOCK_HZ)));
}

/// A byte of damage that looks like a page packet would move all writes after it to another port.
#[test]
fn a_page_that_is_chosen_once_is_damage() {
    let ports_of = |pages: &[usize]| {
        let mut capture = Vec::new();
        packet(Packet::Sync, &mut capture);
        for index in 0..3000 {
            if let Some(page) = pages.iter().position(|&page| page == index) {
                packet(Packet::Page { page: 1 - page as u8 % 2 }, &mut capture);
            }
            text(0, "a", &mut capture);
            ticks(50, &mut capture);
        }
        let conversion = convert(&capture, Cut::SMALL);
        let ports = detail(&conversion, "writes to stimulus ports").map(str::to_owned);
        (ports.unwrap_or_default(), lost(&conversion, losses::DAMAGED_PACKET).0)
    };
    assert_eq!(ports_of(&[1000]), ("port 0: 3000".to_owned(), 1));
    assert_eq!(ports_of(&[1000, 1500, 2000, 2500]), ("port 0: 2000, port 32: 1000".to_owned(), 0));
}

/// Local time is counted in processor clocks: their length is another one from then on.
#[test]
fn changes_of_the_clock_are_said() {
    let mut capture = Vec::new();
    for index in 0..100u32 {
        text(0, "a line\n", &mut capture);
        ticks(50, &mut capture);
        let clock_changed = index % 50 == 10;
        packet(Packet::GlobalLow { value: 50 * index, bits: 26, has_wrapped: false, clock_changed }, &mut capture);
    }
    let conversion = convert(&capture, Cut::SMALL);
    assert!(detail(&conversion, "clock").is_some_and(|detail| detail.starts_with("changed 2 times")));
}

/// Lines that are too long are shown in pieces, of whole characters.
#[test]
fn a_long_line_is_not_cut_within_a_character() {
    let line = "\u{20ac}".repeat(1000);
    let mut capture = Vec::new();
    text(5, &format!("{line}\n"), &mut capture);
    ticks(50, &mut capture);
    let mut found = String::new();
    subject().resolve(&capture, 64, |batch, _| {
        for event in &batch.events {
            if let EventKind::Log(index) = event.kind {
                found.push_str(batch.texts.get(batch.logs[index as usize].body));
            }
        }
    });
    assert_eq!(found, line);
}
