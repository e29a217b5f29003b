//! Contracts that hold for any input: every record in every configuration comes back, cuts do not show, bytes add up.

use proptest::prelude::*;
use traceconv::format::OptionValue;
use traceconv::format::qs::decode::{Decoder, Records, cut};
use traceconv::format::qs::encode::{Encoder, Value};
use traceconv::format::qs::frame;
use traceconv::format::qs::generate::{Damage, GenerateOptions, generate};
use traceconv::format::qs::infer::Evidence;
use traceconv::format::qs::layout::{Config, Layout, Sizes};
use traceconv::format::qs::record::{Code, Kind, SPECS};
use traceconv::format::qs::scan::Collector;

use crate::captures::{after_reset, generated, values_of};
use crate::common::run::{Cut, Subject, options};
use crate::common::views;

/// The versions between which records differ.
const VERSIONS: [u16; 16] = [410, 430, 510, 560, 583, 620, 636, 650, 660, 690, 694, 710, 712, 720, 804, 815];

fn configs() -> impl Iterator<Item = Config> {
    let numbers = [1, 2, 4];
    let addresses = [1, 2, 4, 8];
    (0..48usize).flat_map(move |number| {
        // Not all combinations: each size with each other at least once.
        let sizes = Sizes {
            time: numbers[number % 3],
            object: addresses[number % 4],
            function: addresses[(number / 3) % 4],
            signal: numbers[(number / 4) % 3],
            event_size: numbers[(number + number / 3) % 3],
            queue: numbers[(number / 2) % 3],
            pool: numbers[(number / 5) % 3],
            block: 2,
            time_event: numbers[(number / 7) % 3],
        };
        VERSIONS.into_iter().map(move |version| Config::new(sizes, version))
    })
}

#[test]
fn every_record_of_every_configuration_comes_back() {
    let mut count = 0;
    for config in configs() {
        let layout = Layout::new(config);
        let sent = SPECS.iter().filter(|spec| {
            let is_shadowed = spec.id >= config.user_base && spec.kind != Kind::User;
            // The query that has no data, below 8.1, has an object.
            let is_other_query = spec.kind == Kind::QueryData && config.version < 810;
            spec.is_sent_by(config.version) && !is_shadowed && !is_other_query && spec.kind != Kind::TargetInfo
        });
        let mut bytes = Vec::new();
        let mut encoder = Encoder::new(layout.clone());
        let sent: Vec<_> = sent.collect();
        for spec in &sent {
            encoder.record(spec.kind, &values_of(spec.kind, 0x7D), &mut bytes);
        }
        let records = Decoder::of(config).records(&bytes, 0..bytes.len());
        assert_eq!(records.ok_bytes, bytes.len() as u64, "{config:?}: {:?}", records.damage);
        for (spec, stored) in sent.iter().zip(&records.frames) {
            assert_eq!(stored.kind, spec.kind, "{config:?}");
            let data = records.data_of(stored);
            let fields = layout.fields(stored.kind, data);
            for (field, value) in spec.fields.iter().zip(values_of(spec.kind, 0x7D)) {
                if !field.is_sent_by(config.version) {
                    continue;
                }
                match (value, field.code) {
                    (Value::Uint(value), _) => assert_eq!(fields.uint(field.field), value, "{} {:?}", spec.name, field.field),
                    (Value::Bytes(bytes), Code::Text) => assert_eq!(fields.text(field.field), bytes, "{}", spec.name),
                    (Value::Bytes(bytes), _) => assert_eq!(fields.rest(field.field), bytes, "{}", spec.name),
                }
            }
            count += 1;
        }
    }
    assert!(count > 40_000, "{count} records");
}

/// Damage so dense that a checksum of one byte often fits by chance. Flips keep each byte in its place, so the record that a frame's
/// place had is known.
#[test]
fn repairs_make_up_no_records() {
    let (mut repaired, mut made_up, mut kept) = (0, 0, 0);
    let decoder = Decoder::of(Config::new(Sizes::default(), 812));
    for (seed, spacing) in [(51, 40), (52, 80), (53, 160), (54, 320), (55, 640)] {
        let whole = generated(1 << 20, seed, Damage::None);
        let mut damaged = whole.clone();
        let mut state = seed;
        let mut random = |limit: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % limit
        };
        let mut at = random(spacing);
        while let Some(byte) = damaged.get_mut(at as usize) {
            *byte ^= 1 << random(8);
            at += 1 + random(2 * spacing);
        }
        let [sent, found] = [&whole, &damaged].map(|bytes| decoder.records(bytes, 0..bytes.len()));
        for repair in &found.repairs {
            let index = found.frames.partition_point(|stored| u64::from(stored.offset) < repair.offset);
            let sent_index = sent.frames.partition_point(|stored| u64::from(stored.offset) < repair.offset);
            let [is, was] = [(&found, index), (&sent, sent_index)].map(|(records, index)| {
                records.frames.get(index).map(|stored| (stored.offset, stored.seq, stored.id, records.data_of(stored)))
            });
            made_up += u32::from(is.is_some() && is != was);
        }
        repaired += found.repairs.len();
        kept += found.frames.len();
    }
    assert!(made_up <= 4 && repaired > 5000, "{made_up} made-up of {repaired} repaired of {kept} records");
}

#[test]
fn records_of_other_versions_are_decoded_if_their_length_and_sequence_fit() {
    let deferred = |config, after: u8| {
        let mut encoder = Encoder::new(Layout::new(config));
        let mut bytes = Vec::new();
        encoder.record(Kind::Tick, &values_of(Kind::Tick, 1), &mut bytes);
        encoder.seq = encoder.seq.wrapping_add(after);
        encoder.record(Kind::DeferAttempt, &values_of(Kind::DeferAttempt, 0x7D), &mut bytes);
        let records = Decoder::of(config).records(&bytes, 0..bytes.len());
        let kinds: Vec<Kind> = records.frames.iter().map(|stored| stored.kind).collect();
        (kinds, records.damage.len())
    };
    for config in configs().filter(|config| (660..804).contains(&config.version)) {
        assert_eq!(deferred(config, 0), (vec![Kind::Tick, Kind::DeferAttempt], 0), "{config:?}");
        assert_eq!(deferred(config, 1), (vec![Kind::Tick], 1), "{config:?}");
    }
}

/// The data of queries: object, state and numbers in the sizes of the target.
#[test]
fn queries_of_all_versions_are_decoded() {
    const OBJECT: [u8; 4] = [0x80, 0x00, 0x00, 0x20];
    let with_object = |rest: &[u8]| [&OBJECT[..], rest].concat();
    let machine = with_object(&[1, 1, 0, 8]);
    let timer = with_object(&[0x90, 0, 0, 0x20, 5, 0, 0, 0, 10, 0, 0, 0, 6, 0, 0x21]);
    let old = |active: &[u8]| {
        [(0, machine.clone()), (1, with_object(active)), (2, with_object(&[3, 0, 2, 0])), (3, with_object(&[3, 2]))]
            .into_iter()
            .chain([(4, timer.clone()), (5, OBJECT.to_vec()), (6, machine.clone())])
            .collect::<Vec<(u64, Vec<u8>)>>()
    };
    let levels = [1, 0, 3, 0, 2, 0];
    let sized = [1, 0, 3, 0, 2, 0, 9, 0];
    let active = [&[7][..], &levels].concat();
    let new = vec![(0, machine.clone()), (1, active), (2, with_object(&sized)), (3, with_object(&levels)), (4, timer.clone())];
    let new = new.into_iter().chain([(5, vec![]), (6, machine.clone()), (7, [&[1][..], &sized].concat())]).collect();
    for (version, queries) in [(680, old(&[3, 2])), (740, old(&[1, 1, 0, 8])), (815, new)] {
        let config = Config::new(Sizes::default(), version);
        let mut encoder = Encoder::new(Layout::new(config));
        let mut bytes = Vec::new();
        for (query, data) in &queries {
            encoder.record(Kind::QueryData, &[Value::Uint(1), Value::Uint(*query), Value::Bytes(data)], &mut bytes);
        }
        let records = Decoder::of(config).records(&bytes, 0..bytes.len());
        assert_eq!(
            (records.frames.len(), records.ok_bytes),
            (queries.len(), bytes.len() as u64),
            "{version}: {:?}",
            records.damage
        );
        // One byte more, and it is none.
        let mut bytes = Vec::new();
        let data = [OBJECT.as_slice(), &[0]].concat();
        encoder.record(Kind::QueryData, &[Value::Uint(1), Value::Uint(5), Value::Bytes(&data)], &mut bytes);
        assert_eq!(Decoder::of(config).records(&bytes, 0..bytes.len()).frames.len(), 0, "{version}");
    }
}

#[test]
fn old_versions_are_recognised_by_their_records() {
    for (version, expected) in [(410, 410), (450, 450), (740, 740)] {
        let mut capture = Vec::new();
        let config = Config::new(Sizes::default(), version);
        generate(&GenerateOptions { bytes: 100_000, seed: 61, config, ..GenerateOptions::default() }, &mut capture).unwrap();
        let evidence = Collector::scan(&capture, 0..capture.len()).evidence.unwrap();
        let inferred = evidence.infer(None, None).unwrap();
        assert_eq!((inferred.config.version, inferred.fitting), (expected, inferred.all), "version {version}");
        assert_eq!(inferred.config.sizes, config.sizes);
    }
}

#[test]
fn sizes_are_inferred_from_the_records() {
    for config in configs().filter(|config| config.version >= 650 && config.sizes.object > 1 && config.sizes.function > 1) {
        let mut encoder = Encoder::new(Layout::new(config));
        let mut evidence = Evidence::default();
        let sent = SPECS
            .iter()
            .filter(|spec| spec.is_sent_by(config.version) && !matches!(spec.kind, Kind::TargetInfo | Kind::QueryData));
        for spec in sent {
            let mut bytes = Vec::new();
            encoder.record(spec.kind, &values_of(spec.kind, 5), &mut bytes);
            let mut body = Vec::new();
            traceconv::format::qs::frame::unescape(&bytes[..bytes.len() - 1], &mut body).unwrap();
            evidence.add(&body);
        }
        let found = evidence.infer(None, Some(config.version)).unwrap();
        let expected = Sizes { block: 2, ..config.sizes };
        assert_eq!(found.config.sizes, expected, "{config:?}");
        assert_eq!(found.fitting, found.all, "{config:?}");
    }
}

fn in_parts(bytes: &[u8], window: usize) -> Vec<Records> {
    let decoder = Decoder::of(Config::new(Sizes::default(), 812));
    let mut parts = Vec::new();
    let mut start = 0;
    while start < bytes.len() {
        let end = cut(bytes, start + window).max(start + 1);
        parts.push(decoder.records(bytes, start..end));
        start = end;
    }
    parts
}

/// Records with their offsets and data.
fn list(parts: &[Records]) -> Vec<(u64, Kind, u8, Vec<u8>)> {
    let of = |records: &Records| {
        let frames = records.frames.iter();
        let own = frames
            .map(|stored| (records.base + u64::from(stored.offset), stored.kind, stored.seq, records.data_of(stored).to_vec()));
        own.collect::<Vec<_>>()
    };
    parts.iter().flat_map(of).collect()
}

fn check_parts(bytes: &[u8], windows: &[usize]) {
    let whole = in_parts(bytes, usize::MAX / 2);
    for &window in windows {
        let parts = in_parts(bytes, window);
        assert!(list(&parts) == list(&whole), "windows of {window} bytes");
        let accounted: u64 =
            parts.iter().map(|part| part.ok_bytes + part.damage.iter().map(|damage| u64::from(damage.len)).sum::<u64>()).sum();
        assert_eq!(accounted, bytes.len() as u64);
    }
}

#[test]
fn cuts_do_not_show() {
    for damage in [Damage::None, Damage::Flips, Damage::Cuts] {
        check_parts(&generated(60_000, 11, damage), &[1, 13, 100, 1_000, 10_000]);
    }
    // Longer than any frame, without a flag, and with flags but without a valid frame.
    let long = vec![0x55; 200_000];
    let noise: Vec<u8> = (0..200_000u32).map(|n| (n.wrapping_mul(0x9E37_79B1) >> 24) as u8).collect();
    let good = generated(3_000, 12, Damage::None);
    check_parts(&[&good[..], &long, &good, &noise, &good].concat(), &[5_000, 70_000]);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn any_damage_is_accounted_for_and_cuts_do_not_show(
        seed in 0u64..50,
        damage in prop::collection::vec((0usize..8_000, any::<u8>(), 0usize..40), 0..12),
    ) {
        let mut bytes = generated(8_000, seed, Damage::None);
        for (at, byte, gone) in damage {
            let at = at.min(bytes.len() - 1);
            bytes[at] = byte;
            let end = (at + gone).min(bytes.len() - 1);
            bytes.drain(at..end);
        }
        check_parts(&bytes, &[1, 40, 700]);
        let subject = Subject::new("qs");
        let whole = subject.convert(&bytes, Cut::WHOLE);
        whole.read();
        let parts = subject.convert(&bytes, Cut::SMALL);
        prop_assert!(whole.trace == parts.trace);
        prop_assert_eq!(views::ledger(&whole.summary), views::ledger(&parts.summary));
    }

    #[test]
    fn any_frames_make_a_readable_trace(
        version in prop::sample::select(vec!["400", "5.8.3", "7.1.9", "8.1.5"]),
        sizes in prop::sample::select(vec!["T4O4F4S2E2Q1P2C4", "T1O1F2S1E1Q1P1C1", "T2O8F8S4E4Q4P4C2"]),
        frames in prop::collection::vec((0u8..125, prop::collection::vec(prop::sample::select(vec![0u8, 1, 2, 3, 0x7E, 0x80, 0xFF]), 0..40)), 0..120),
    ) {
        let mut bytes = Vec::new();
        for (seq, (id, data)) in frames.iter().enumerate() {
            traceconv::format::qs::frame::append(seq as u8, *id, data, &mut bytes);
        }
        let subject = Subject::new("qs").with_text("qs-version", version).with_text("qs-sizes", sizes);
        let subject = subject.with("qs-events", OptionValue::Flag);
        let whole = subject.convert(&bytes, Cut::WHOLE);
        prop_assert!(whole.read().unclosed.is_empty());
        let parts = subject.convert(&bytes, Cut::SMALL);
        prop_assert!(whole.trace == parts.trace);
    }

    #[test]
    fn any_records_make_a_readable_trace(
        version in prop::sample::select(vec![583u16, 694, 719, 740, 815]),
        steps in prop::collection::vec((0usize..SPECS.len(), 0u64..4, 0u64..400, 0u8..=40), 1..300),
    ) {
        let config = Config::new(Sizes::default(), version);
        let (mut encoder, mut bytes) = after_reset(config);
        let mut time = 0u64;
        for (number, object, passed, lost) in steps {
            let spec = &SPECS[number];
            if !spec.is_sent_by(version) || spec.kind == Kind::TargetInfo || spec.id >= config.user_base && spec.kind != Kind::User {
                continue;
            }
            time += passed;
            let values: Vec<Value<'_>> = values_of(spec.kind, time).into_iter().map(|value| match value {
                Value::Uint(address @ 0x40..=0x41) => Value::Uint(address + object * 2),
                Value::Uint(small @ 3..=10) => Value::Uint(small - object.min(small)),
                value => value,
            }).collect();
            // The kind of a query and the size of items must not change.
            let values = if matches!(spec.kind, Kind::QueryData | Kind::PeekData) { values_of(spec.kind, time) } else { values };
            if lost == 40 {
                encoder.seq = encoder.seq.wrapping_add(3);
            }
            encoder.record(spec.kind, &values, &mut bytes);
        }
        let subject = Subject::new("qs");
        let trace = subject.convert(&bytes, Cut::WHOLE).read();
        prop_assert!(trace.unclosed.is_empty());
        let all = options(Cut::SMALL).events(traceconv::pipeline::EventDetail::All);
        let raw = subject.convert_with(&bytes, &all).read();
        prop_assert!(raw.unclosed.is_empty());
    }
}

/// The first pass does not see the names of repaired records. Those that it sees are not learned again.
#[test]
fn names_beside_a_repair_are_those_of_the_whole_recording() {
    let (object, time) = ([0xF8, 0x0E, 0, 0x20], [0x6E, 8, 2, 0]);
    // After a byte of a frame that is lost.
    let mut bytes = vec![0x91];
    frame::append(37, 4, b"\x0F\x03\x02\0\x90\x0E\0\x20\x35\x0B\0\x08", &mut bytes);
    frame::append(38, 61, &[&object[..], b"one\0"].concat(), &mut bytes);
    frame::append(39, 32, &[&time[..], &object, b"\xD4\x0E\0\x20\x02\0\0"].concat(), &mut bytes);
    frame::append(40, 61, &[&object[..], b"two\0"].concat(), &mut bytes);
    let subject = Subject::new("qs").with_text("qs-version", "583");
    subject.check_cuts(&bytes);
    let texts = subject.convert(&bytes, Cut::WHOLE).trace;
    let has = |text: &[u8]| texts.windows(text.len()).any(|window| window == text);
    assert!(has(b"two") && !has(b"one"));
}
