//! Contracts that hold for any input: cuts do not show, bytes add up, nothing panics.

use proptest::prelude::*;
use traceconv::format::syst::encode::{Draft, Origin, encode};
use traceconv::format::syst::generate::{Carrier, GenerateOptions, generate};
use traceconv::format::syst::record::{Kind, Pointers};
use traceconv::format::syst::stp::NibbleOrder;

use crate::captures::{CATALOG32_P32, all_messages, line, subject};
use crate::common::run::{Cut, Random, Subject};
use crate::common::views;

/// Converts with several cuts: the same trace and account each time.
fn check(subject: &Subject, bytes: &[u8], windows: &[usize]) {
    let whole = subject.convert(bytes, Cut::WHOLE);
    whole.read();
    let records = subject.dump(bytes, Cut::WHOLE, views::record);
    for &window_bytes in windows {
        let cut = Cut { threads: 2, window_bytes };
        let parts = subject.convert(bytes, cut);
        assert_eq!(views::ledger(&parts.summary), views::ledger(&whole.summary), "windows of {window_bytes}");
        assert!(parts.trace == whole.trace, "another trace with windows of {window_bytes}");
        assert_eq!(subject.dump(bytes, cut, views::record), records, "windows of {window_bytes}");
    }
}

#[derive(Clone, Copy, Debug)]
enum Damage {
    Flip(usize, u8),
    Cut(usize, usize),
    Insert(usize, u8),
    Fill(usize, usize, u8),
    /// A piece comes twice.
    Repeat(usize, usize),
}

fn damage() -> impl Strategy<Value = Damage> {
    prop_oneof![
        (any::<usize>(), 0u8..8).prop_map(|(at, bit)| Damage::Flip(at, bit)),
        (any::<usize>(), 1usize..60).prop_map(|(at, len)| Damage::Cut(at, len)),
        (any::<usize>(), any::<u8>()).prop_map(|(at, byte)| Damage::Insert(at, byte)),
        (any::<usize>(), 1usize..60, prop_oneof![Just(0u8), Just(0xFF), any::<u8>()])
            .prop_map(|(at, len, byte)| Damage::Fill(at, len, byte)),
        (any::<usize>(), 1usize..700).prop_map(|(at, len)| Damage::Repeat(at, len)),
    ]
}

fn damaged(mut bytes: Vec<u8>, all: &[Damage]) -> Vec<u8> {
    for &damage in all {
        let at = |at: usize| at % bytes.len().max(1);
        match damage {
            _ if bytes.is_empty() => {}
            Damage::Flip(place, bit) => {
                let place = at(place);
                bytes[place] ^= 1 << bit;
            }
            Damage::Cut(place, len) => {
                let place = at(place);
                let end = (place + len).min(bytes.len());
                bytes.drain(place..end);
            }
            Damage::Insert(place, byte) => bytes.insert(at(place), byte),
            Damage::Fill(place, len, byte) => {
                let place = at(place);
                let end = (place + len).min(bytes.len());
                bytes[place..end].fill(byte);
            }
            Damage::Repeat(place, len) => {
                let place = at(place);
                let piece = bytes[place..bytes.len().min(place + len)].to_vec();
                bytes.splice(place..place, piece);
            }
        }
    }
    bytes
}

fn generated(carrier: Carrier, seed: u64, bytes: u64, with_length: bool, with_crc: bool) -> Vec<u8> {
    let options = GenerateOptions { bytes, seed, carrier, formats: 20, with_length, with_crc, ..GenerateOptions::default() };
    let mut out = Vec::new();
    generate(&options, &mut out).expect("memory does not fail");
    out
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn cuts_do_not_show_in_damaged_text(seed in 0u64..1000, damages in prop::collection::vec(damage(), 0..8), window in 1usize..900) {
        let text = damaged(generated(Carrier::Text, seed, 4000, false, true), &damages);
        check(&subject("syst-text"), &text, &[window, 64]);
    }

    #[test]
    fn cuts_do_not_show_in_damaged_raw_bytes(
        seed in 0u64..1000,
        damages in prop::collection::vec(damage(), 0..8),
        (with_length, with_crc) in any::<(bool, bool)>(),
        window in 1usize..900,
    ) {
        let bytes = damaged(generated(Carrier::Raw, seed, 3000, with_length, with_crc), &damages);
        check(&subject("syst-raw"), &bytes, &[window, 64]);
    }

    #[test]
    fn cuts_do_not_show_in_damaged_packets(
        seed in 0u64..1000,
        damages in prop::collection::vec(damage(), 0..8),
        lsb in any::<bool>(),
        window in 1usize..900,
    ) {
        let order = if lsb { NibbleOrder::Lsb } else { NibbleOrder::Msb };
        let bytes = damaged(generated(Carrier::Stp(order), seed, 3000, false, true), &damages);
        check(&subject("syst-stp"), &bytes, &[window, 64]);
    }

    #[test]
    fn any_bytes_are_accounted_for(bytes in prop::collection::vec(any::<u8>(), 0..600), window in 1usize..300) {
        for name in ["syst-text", "syst-raw", "syst-stp"] {
            check(&subject(name), &bytes, &[window]);
        }
    }
}

#[test]
fn every_message_is_found_again_after_damage() {
    // Of messages with checksums only those are lost that were hit.
    let frames: Vec<Vec<u8>> = all_messages().into_iter().skip(31).take(31).filter(|frame| frame.len() > 8).collect();
    let mut random = Random(7);
    let text = |stream: &[u8]| subject("syst-raw").dump(stream, Cut::WHOLE, views::record).len();
    let whole = text(&frames.concat());
    assert_eq!(whole, frames.len());
    for _ in 0..40 {
        let mut stream = frames.concat();
        let at = random.below(stream.len());
        stream.remove(at);
        let lines = subject("syst-raw").dump(&stream, Cut::WHOLE, views::record);
        let is_good = |line: &&String| !["\"unsynced\"", "crc_bad", "truncated"].iter().any(|bad| line.contains(bad));
        let good = lines.iter().filter(is_good).count();
        assert!(good + 2 >= frames.len(), "{good} of {} after a missing byte at {at}: {lines:#?}", frames.len());
    }
}

/// Half of such a stream is noise, in which packets look like reports of errors.
#[test]
fn much_damaged_streams_are_recognised_and_do_not_report_errors_of_the_target() {
    let (mut reported, mut messages) = (0, 0);
    for seed in 0..6 {
        let mut bytes = generated(Carrier::Stp(NibbleOrder::Msb), seed, 40_000, false, true);
        let mut random = Random(seed + 1);
        for piece in bytes.chunks_mut(4000) {
            let noise = random.below(piece.len());
            piece[noise..].iter_mut().for_each(|byte| *byte = random.below(256) as u8);
        }
        let detected = traceconv::input::detect::detect(&bytes, &[]).unwrap();
        assert_eq!(detected.format.name(), "syst-stp", "{}", detected.because);
        let ledger = subject("syst-stp").convert(&bytes, Cut::WHOLE).summary.ledger;
        let errors = ledger.entries().iter().filter(|entry| ["master_error", "global_error"].contains(&entry.kind.code));
        reported += errors.map(|entry| entry.count).sum::<u64>();
        messages += ledger.frames_ok;
    }
    assert!(reported <= messages / 100, "{reported} errors reported beside {messages} messages");
}

#[test]
fn a_line_cut_anywhere_never_hides_the_next_one() {
    let frames = all_messages();
    let lines: Vec<String> = frames.iter().map(|frame| line(frame)).collect();
    let text = lines.concat();
    for at in (0..text.len()).step_by(97) {
        let mut cut = text.clone();
        cut.remove(at);
        let records = subject("syst-text").dump(cut.as_bytes(), Cut::WHOLE, views::record);
        let found =
            records.iter().filter(|record| !record.contains("\"record\":\"console\"") && !record.contains("odd digits")).count();
        assert!(found + 1 >= lines.len(), "{found} of {} after byte {at} was taken out", lines.len());
    }
}

/// Two clients of all modules, for different builds.
fn collateral_of_builds() -> Subject {
    let client = |name: &str, build: u32| {
        format!(
            "<Client Name=\"{name}\"><Guids><Guid ID=\"{{00000000-0000-0000-0000-000000000000}}\" \
             Mask=\"{{00000000-0000-0000-0000-000000000000}}\"/></Guids><Builds><Build ID=\"{build}\"/></Builds>\
             <Catalog32><Format ID=\"1\">{name} says %d</Format></Catalog32></Client>"
        )
    };
    let xml = format!("<Collateral>{}{}</Collateral>", client("old", 1), client("new", 2));
    Subject::new("syst-text").with_file("collateral", "builds.xml", xml.into_bytes())
}

fn of_module(kind: Kind, unit: u16, payload: &[u8]) -> String {
    line(&Draft { origin: Origin::Module(5, unit), ..Draft::new(kind, payload) }.bytes())
}

#[test]
fn the_last_build_counts_wherever_the_parts_begin() {
    let subject = collateral_of_builds();
    let said = |unit| of_module(CATALOG32_P32, unit, &[1, 0, 0, 0, 9, 0, 0, 0]);
    let long = |build: u64| of_module(Kind::BuildLong, 0, &build.to_le_bytes());
    let compact = |build: u64| of_module(Kind::BuildCompact32, 0, &build.to_le_bytes());
    // A build of the module, then one without sender: the later one counts, for units that have sent messages and for others.
    let text = [said(1), long(1), said(1), compact(2), said(1), said(2), long(1), said(3), said(1)].concat();
    check(&subject, text.as_bytes(), &[1, 64, 100]);
    let records = subject.dump(text.as_bytes(), Cut::WHOLE, views::record);
    let who: Vec<&str> = records
        .iter()
        .filter(|record| record.contains("says"))
        .map(|record| &record[record.find("says").unwrap() - 4..][..3])
        .collect();
    assert_eq!(who, ["old", "old", "new", "new", "old", "old"]);
}

#[test]
fn more_builds_than_are_kept_are_the_same_for_all_parts() {
    let said = of_module(CATALOG32_P32, 1, &[1, 0, 0, 0, 9, 0, 0, 0]);
    let text: String =
        (0..5000u64).map(|number| of_module(Kind::BuildLong, 0, &(1 + number % 2).to_le_bytes()) + &said).collect();
    check(&collateral_of_builds(), text.as_bytes(), &[10_000, 50_000]);
}

#[test]
fn the_number_of_names_in_a_part_does_not_show() {
    let mut raw = Vec::new();
    for number in 0..20_000u32 {
        let text = format!("{number} %%\0");
        let kind = if number % 2 == 0 { Kind::FunctionEnter } else { Kind::Printf(Pointers::Bits32) };
        encode(&Draft { with_length: true, ..Draft::new(kind, text.as_bytes()) }, &mut raw);
    }
    check(&Subject::new("syst-raw"), &raw, &[10_000]);
}

/// Catalog messages without any length, with floating-point arguments of this size, and short messages between them.
fn floats_without_lengths(float_bytes: usize, count: u32) -> Vec<u8> {
    let mut raw = Vec::new();
    for number in 0..count {
        let value = f64::from(number) / 4.0;
        let mut payload = (1 + number % 3).to_le_bytes().to_vec();
        // Format 1 is one number, 2 a number and two floats, 3 a text and a float.
        let floats = |count: usize| {
            let bytes = if float_bytes == 4 { (value as f32).to_le_bytes().to_vec() } else { value.to_le_bytes().to_vec() };
            bytes.repeat(count)
        };
        match number % 3 {
            0 => payload.extend(number.to_le_bytes()),
            1 => payload.extend([&number.to_le_bytes()[..], &floats(2)].concat()),
            _ => payload.extend([&b"text\0"[..], &floats(1)].concat()),
        }
        encode(&Draft { origin: Origin::Module(5, 1), ..Draft::new(CATALOG32_P32, &payload) }, &mut raw);
        if number % 4 == 0 {
            encode(&Draft::new(Kind::Short32, &u64::from(number).to_le_bytes()), &mut raw);
        }
    }
    raw
}

#[test]
fn the_next_messages_decide_the_size_of_floats() {
    let xml = "<Collateral><Client Name=\"c\"><Catalog32><Format ID=\"1\">n %d</Format><Format ID=\"2\">m %d %.2f %.2f</Format>\
               <Format ID=\"3\">t %s %.2f</Format></Catalog32></Client></Collateral>";
    let subject = Subject::new("syst-raw").with_file("collateral", "c.xml", xml.as_bytes());
    for float_bytes in [4, 8] {
        let raw = floats_without_lengths(float_bytes, 600);
        check(&subject, &raw, &[100, 5000]);
        let records = subject.dump(&raw, Cut::WHOLE, views::record);
        for number in 0..600u32 {
            let value = f64::from(number) / 4.0;
            let text = match number % 3 {
                0 => format!("n {number}"),
                1 => format!("m {number} {value:.2} {value:.2}"),
                _ => format!("t text {value:.2}"),
            };
            assert!(records.iter().any(|record| record.contains(&format!("\"{text}\""))), "{float_bytes}: {text}");
        }
        assert_eq!(records.len(), 750, "{float_bytes}");
    }
}

#[test]
fn cuts_do_not_show_in_wreckage_of_checksums() {
    // Messages with checksums and without lengths, every second one broken: their searches share their work, and how
    // much that is depends on where parts begin.
    let mut raw = Vec::new();
    for number in 0..24_000u32 {
        // Nothing within them looks like a message.
        let payload = [0xFF, 0xFF, number as u8, 0xFF];
        let draft =
            Draft { with_crc: true, origin: Origin::Module(5, 1), ..Draft::new(Kind::Raw(number as u8 & 0x3F), &payload) };
        encode(&draft, &mut raw);
        if number % 2 == 0 {
            let end = raw.len();
            raw[end - 4..].fill(0xFF);
        }
    }
    check(&subject("syst-raw"), &raw, &[20_000, 150_000]);
    let records = subject("syst-raw").dump(&raw, Cut::WHOLE, views::record);
    assert_eq!(records.iter().filter(|record| record.contains("\"RAW\"")).count(), 12_000);
}

/// Two clients of a module, for different builds, with other arguments for the same number.
fn collateral_of_sizes() -> Subject {
    let guid = |id: &str, mask: &str| format!("<Guids><Guid ID=\"{{{id}}}\" Mask=\"{{{mask}}}\"/></Guids>");
    let module_5 = guid("00000000-0000-0000-0500-000000000000", "FFFFFFFF-FFFF-FFFF-FF00-000000000000");
    let client = |name: &str, build: u32, format: &str| {
        format!(
            "<Client Name=\"{name}\">{module_5}<Builds><Build ID=\"{build}\"/></Builds><Catalog32><Format ID=\"1\">{name} {format}</Format>\
             <Format ID=\"2\">{name} of both %d</Format></Catalog32></Client>"
        )
    };
    let xml = format!("<Collateral>{}{}</Collateral>", client("old", 1, "%d"), client("new", 2, "%d %s %lld"));
    Subject::new("syst-raw").with_file("collateral", "sizes.xml", xml.into_bytes())
}

#[test]
fn builds_decide_the_size_of_raw_catalog_messages() {
    let add = |raw: &mut Vec<u8>, kind, payload: &[u8]| {
        encode(&Draft { origin: Origin::Module(5, 1), ..Draft::new(kind, payload) }, raw);
    };
    for has_builds in [true, false] {
        let mut raw = Vec::new();
        let mut expected = Vec::new();
        for number in 0..1200u32 {
            let is_new = number / 300 % 2 == 1;
            if number % 300 == 0 && has_builds {
                add(&mut raw, Kind::BuildCompact32, &u64::from(1 + u32::from(is_new)).to_le_bytes());
            }
            let name = if is_new { "new" } else { "old" };
            // If the build is known, not even arguments that are all zeros mislead.
            let value = if has_builds { 0 } else { 0x00A5_5A00 | number & 0xFF };
            let value_bytes = value.to_le_bytes();
            if number % 5 == 0 {
                add(&mut raw, CATALOG32_P32, &[&2u32.to_le_bytes()[..], &value_bytes].concat());
                expected.push((name, format!("of both {value}")));
            } else if is_new {
                let wide = u64::from(value).to_le_bytes();
                add(&mut raw, CATALOG32_P32, &[&1u32.to_le_bytes()[..], &value_bytes, b"x\0", &wide].concat());
                expected.push((name, format!("{value} x {value}")));
            } else {
                add(&mut raw, CATALOG32_P32, &[&1u32.to_le_bytes()[..], &value_bytes].concat());
                expected.push((name, format!("{value}")));
            }
        }
        let subject = collateral_of_sizes();
        check(&subject, &raw, &[300, 5000]);
        let records = subject.dump(&raw, Cut::WHOLE, views::record);
        let catalogs: Vec<&String> = records.iter().filter(|record| record.contains("CATALOG")).collect();
        assert_eq!(catalogs.len(), expected.len(), "builds known: {has_builds}");
        assert!(!records.iter().any(|record| record.contains("unsynced") || record.contains("undelimited")));
        if has_builds {
            for (record, (name, text)) in catalogs.iter().zip(&expected) {
                assert!(record.contains(&format!("\"{name} {text}\"")), "{record}: {name} {text}");
            }
        }
    }
}
