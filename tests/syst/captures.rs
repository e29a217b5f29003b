//! The captures under `testdata/syst/`: one for each behaviour, by hand or by the encoders.

use traceconv::format::syst::encode::{Draft, Origin};
use traceconv::format::syst::record::{Guid, Kind, Location, Pointers};
use traceconv::format::syst::stp::NibbleOrder;
use traceconv::format::syst::stp::encode::{Ending, TimeScheme, Writer};
use traceconv::frame::tpiu;

use crate::common::golden::Capture;
use crate::common::run::Subject;

/// The GUID of the client `radio`.
pub const RADIO: Guid = *b"\x5B\x1F\x6D\x02\x91\x4C\x4A\x77\x9E\x10\x2C\x44\xD0\x8A\x31\x07";

const COLLATERAL: &[u8] = include_bytes!("../../testdata/syst/collateral.xml");

/// A format with the collateral of the captures.
pub fn subject(name: &str) -> Subject {
    Subject::new(name).with_file("collateral", "collateral.xml", COLLATERAL)
}

fn capture(name: &str, bytes: Vec<u8>) -> Capture {
    Capture { name: name.into(), bytes }
}

pub const CATALOG32_P32: Kind = Kind::Catalog { wide_id: false, pointers: Pointers::Bits32 };
const CATALOG32_P64: Kind = Kind::Catalog { wide_id: false, pointers: Pointers::Bits64 };
const CATALOG64_P64: Kind = Kind::Catalog { wide_id: true, pointers: Pointers::Bits64 };

/// The bytes of one message of `radio`.
pub fn message(kind: Kind, severity: u8, timestamp: Option<u64>, payload: &[u8]) -> Vec<u8> {
    let origin = Origin::Guid(RADIO, 3);
    Draft { severity, origin, timestamp, ..Draft::new(kind, payload) }.bytes()
}

fn packed(parts: &[&[u8]]) -> Vec<u8> {
    parts.concat()
}

/// A payload of each kind.
fn every_kind() -> Vec<(Kind, Vec<u8>)> {
    let int = |value: i32| value.to_le_bytes();
    let long = |value: i64| value.to_le_bytes();
    let id64 = 0x1122_3344_5566_7788u64.to_le_bytes();
    vec![
        (Kind::BuildLong, packed(&[&long(0x10002), b"v1.2\0"])),
        (Kind::BuildLong, packed(&[&long(0x10002), b"no end"])),
        (Kind::BuildCompact32, long(0x3F_FFFF).to_vec()),
        (Kind::BuildCompact64, long(0x12_3456_789A_BCDE).to_vec()),
        (Kind::Short32, long(0x123_4567).to_vec()),
        (Kind::Short32, long(0xE00_0ED8).to_vec()),
        (Kind::Short32, long(0x777_7777).to_vec()),
        (Kind::Short64, long(0x112_2334_4556_6778).to_vec()),
        (Kind::Generic, b"hello\0".to_vec()),
        (Kind::Generic, b"no end".to_vec()),
        (Kind::Generic, b"caf\xC3\xA9, a byte \xFF and a bell \x07\0".to_vec()),
        (Kind::FunctionEnter, b"poll\0".to_vec()),
        (Kind::FunctionExit, b"poll\0".to_vec()),
        (Kind::InvalidParam, b"(null)\0".to_vec()),
        (Kind::Assert, b"radio.c:31 1==2\0".to_vec()),
        (
            Kind::Printf(Pointers::Bits64),
            packed(&[b"[%*d|%.*f|%-*s|%%]\0", &int(6), &int(42), &int(2), &std::f64::consts::PI.to_le_bytes(), &int(5), b"ab\0"]),
        ),
        (Kind::Printf(Pointers::Bits64), packed(&[b"td=%td d=%d\0", &long(-5), &int(9)])),
        (Kind::Printf(Pointers::Bits32), packed(&[b"td=%td d=%d\0", &int(-5), &int(9)])),
        (Kind::Printf(Pointers::Bits32), packed(&[b"%hhu %c %p\0", &int(-1), &int(65), &int(0)])),
        (CATALOG32_P64, packed(&[&int(0x20), &int(7), &long(9), b"xyz\0", &0.25f64.to_le_bytes()])),
        (CATALOG32_P32, packed(&[&int(0x20), &int(7), &int(9), b"xyz\0", &0.25f64.to_le_bytes()])),
        // Numbered macros of a 64-bit target: each argument in eight bytes.
        (CATALOG32_P64, packed(&[&int(0x21), &long(7), &long(9)])),
        (CATALOG64_P64, packed(&[&id64, &int(7), &long(9), &int(99), &long(16)])),
        (CATALOG32_P32, packed(&[&int(0x22)])),
        // Bookkeeping of the sender after the arguments.
        (CATALOG32_P32, packed(&[&int(0x21), &int(1), &int(2), b"\x03\x05"])),
        (CATALOG32_P32, packed(&[&int(0x99), &int(1), &int(2)])),
        (Kind::Raw(0x1A), vec![1, 2, 3, 4, 5, 6, 7]),
        (Kind::Raw(3), vec![]),
        (Kind::ClockSync, packed(&[&long(0x12_3456), &long(1_000_000)])),
        (Kind::Sbd(0), packed(&[&0xAABB_CCDDu32.to_le_bytes(), &[1, 2, 3, 4]])),
        (Kind::Sbd(15), packed(&[&id64, &long(0x1000), b"blob\0", &[1, 2, 3, 4]])),
    ]
}

/// Every kind in every dress: with GUID or module, with and without length, time and checksum, from every kind of place.
pub fn all_messages() -> Vec<Vec<u8>> {
    let mut all = Vec::new();
    let mut time = 1_000_000;
    for (with_length, with_crc, with_guid) in
        [(true, false, true), (true, true, true), (false, true, false), (true, false, false)]
    {
        for (number, (kind, payload)) in every_kind().into_iter().enumerate() {
            time += 10;
            let location = match number % 6 {
                0 => Some(Location::FileLine16(7, 47)),
                1 => Some(Location::FileLine32(0x1234_5678, 48)),
                2 => Some(Location::Address32(0x0800_1234)),
                3 => Some(Location::Address64(0x55DC_B3F6_7BB2)),
                _ => None,
            };
            let draft = Draft {
                severity: (number % 8) as u8,
                origin: if with_guid { Origin::Guid(RADIO, 0x155) } else { Origin::Module(0x2A, 5) },
                location,
                with_length,
                timestamp: Some(time),
                with_crc,
                ..Draft::new(kind, &payload)
            };
            all.push(draft.bytes());
        }
    }
    all
}

/// A message as a line.
pub fn line(frame: &[u8]) -> String {
    format!("SYS-T RAW DATA: {}\n", data_encoding::HEXUPPER.encode(frame))
}

fn functions() -> Vec<Vec<u8>> {
    let step = |time, kind, name: &str| message(kind, 4, Some(time), format!("{name}\0").as_bytes());
    use Kind::{FunctionEnter as Enter, FunctionExit as Exit};
    vec![
        step(100, Enter, "main"),
        step(200, Enter, "poll"),
        step(300, Enter, "read"),
        // `read` is left with `poll`.
        step(400, Exit, "poll"),
        step(500, Exit, "never_entered"),
        step(600, Exit, "main"),
        step(700, Enter, "open_at_the_end"),
        // The clock steps back a little, then begins again.
        message(Kind::Generic, 4, Some(650), b"a little late\0"),
        message(Kind::Generic, 4, Some(5_000_000_000), b"much later\0"),
        message(Kind::Generic, 1, Some(50), b"after a reset\0"),
        step(60, Exit, "open_at_the_end"),
    ]
}

pub fn text() -> Vec<Capture> {
    let all: String = all_messages().iter().map(|frame| line(frame)).collect();
    let hello = "42502A0168656C6C6F00";
    let console = format!(
        "SeaBIOS (version 1.0)\r\nBooting from ROM..SYS-T RAW DATA: {hello}\r\n\x1B[1;32m[00:01]\x1B[0m SYS-T RAW DATA: {}\r\n\
         STP Protocol Output:\r\n     0 <D32TS>  01010101\r\n     1 <FLAG>\r\nSYS-T RAW DATA: {hello} trailing\r\n\r\nlogin: ",
        hello.to_lowercase()
    );
    let malformed: String = [
        "",
        "7156",
        "7156341",
        "8777665544",
        "42509501494E54438A9C4014",
        "42522A01070068656C6C6F00",
        "42522A01050068656C6C6F00",
        "42542A0168656C6C6F00DEADBEEF",
        "04502A01AABB",
        "C2502A0168656C6C6F00",
        "42502A4168656C6C6F00",
        "42502A8168656C6C6F00",
        "42502A0468656C6C6F00",
        "42512A01FF0100020068656C6C6F00",
        "42502A0B25640001",
        "42502A0B2573006162",
        "42502A0B257900",
        "42502A0B252A6400FFFFFF7F01000000",
        "42502A01",
    ]
    .iter()
    .map(|hex| format!("SYS-T RAW DATA: {hex}\n"))
    .collect();
    let mut captures = crate::clocks::text_captures();
    captures.extend([
        capture("every_kind", all.into_bytes()),
        capture("console", console.into_bytes()),
        capture("malformed", malformed.into_bytes()),
        capture("functions", functions().iter().map(|frame| line(frame)).collect::<String>().into_bytes()),
    ]);
    captures
}

pub fn raw() -> Vec<Capture> {
    let mut all = all_messages().concat();
    let whole = capture("every_kind", all.clone());
    // A byte is missing, and some are wrong.
    all.remove(400);
    if let Some(bytes) = all.get_mut(2000..2030) {
        bytes.fill(0xA5);
    }
    all.truncate(all.len() - 3);
    // The ends of these only follow from their kinds.
    let mut bare = functions().concat();
    bare.extend([0; 12]);
    bare.extend(message(Kind::Raw(5), 4, Some(70), b"unbounded"));
    bare.extend(functions().concat());
    vec![whole, capture("damaged", all), capture("bare", bare)]
}

fn packets(order: NibbleOrder, scheme: TimeScheme, tells_order: bool, ending: Ending) -> Vec<u8> {
    let mut writer = Writer::new(order, scheme, tells_order);
    let mut time = 5_000;
    for (number, frame) in all_messages().iter().enumerate() {
        if number % 20 == 0 {
            writer.sync();
            writer.frequency(24_000_000);
        }
        time += 7 * number as u64;
        writer.go_to(128 + (number / 40) as u16 * 200, (number % 3) as u16);
        writer.message(frame, time, ending);
    }
    writer.finish()
}

pub fn stp() -> Vec<Capture> {
    let mut losses = Writer::new(NibbleOrder::Msb, TimeScheme::Gray, false);
    losses.sync();
    losses.frequency(1_000_000);
    losses.go_to(2, 1);
    let hello = message(Kind::Generic, 4, None, b"hello\0");
    losses.message(&hello, 10, Ending::FlagWithTime);
    losses.data(&[1, 2], None, false);
    losses.flag(None);
    // Two channels in turn.
    losses.data(&hello[..4], Some(20), false);
    losses.go_to(2, 2);
    losses.data(&hello[..4], Some(21), false);
    losses.go_to(2, 1);
    hello[4..].iter().for_each(|byte| losses.data(&[*byte], None, false));
    losses.go_to(2, 2);
    losses.data(&hello[4..8], None, false);
    losses.master_error(1);
    losses.global_error(2);
    losses.trigger(3, 30);
    losses.go_to(2, 1);
    losses.flag(None);
    losses.message(&hello, 35, Ending::Flag);
    // A packet of unknown layout.
    [0xF, 0, 4].iter().for_each(|nibble| losses.nibble(*nibble));
    losses.message(&hello, 40, Ending::Flag);
    losses.sync();
    losses.message(&hello, 50, Ending::Marked);
    let natural = packets(NibbleOrder::Msb, TimeScheme::Natural, false, Ending::Flag);
    let mut framed = Vec::new();
    tpiu::wrap(&natural, 0x21, &mut framed);
    let mut captures = crate::clocks::stp_captures();
    captures.extend([
        capture("natural_flags", natural),
        capture("natural_lsb", packets(NibbleOrder::Lsb, TimeScheme::Natural, false, Ending::Flag)),
        capture("delta_told_lsb", packets(NibbleOrder::Lsb, TimeScheme::Delta, true, Ending::Marked)),
        capture("gray_marked", packets(NibbleOrder::Msb, TimeScheme::Gray, false, Ending::Marked)),
        capture("losses", losses.finish()),
        capture("tpiu", framed),
    ]);
    captures
}
