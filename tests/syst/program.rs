//! With the program that ran: code addresses become places in the source, and numbers of a catalog that are addresses become formats.
//!
//! The program is `testdata/symbols/pump.elf`; its addresses are those of `pump.symbols.csv` there.

use std::path::Path;
use std::sync::Arc;

use traceconv::format::syst::encode::{Draft, Origin};
use traceconv::format::syst::record::{Kind, Location};

use crate::captures::{CATALOG32_P32, line};
use crate::common::run::{Conversion, Cut, Subject};
use crate::reader::Arg;

fn program(name: &str) -> Arc<[u8]> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/symbols").join(name);
    std::fs::read(path).expect("the program is there").into()
}

fn subject(program_name: &str) -> Subject {
    Subject::new("syst-text").with_file("elf", "app.elf", program(program_name))
}

/// In `pump_read`, and where the constant text begins.
const INSIDE_PUMP_READ: u64 = 0x6B;
const FORMAT: u32 = 0xEC;
const NOWHERE: u64 = 0x0900_0001;

fn catalog(id: u32, arguments: &[u8]) -> Vec<u8> {
    let payload = [&id.to_le_bytes(), arguments].concat();
    Draft { origin: Origin::Module(4, 1), ..Draft::new(CATALOG32_P32, &payload) }.bytes()
}

fn located(location: Location, text: &str) -> Vec<u8> {
    let payload = format!("{text}\0");
    Draft { location: Some(location), origin: Origin::Module(4, 1), ..Draft::new(Kind::Generic, payload.as_bytes()) }.bytes()
}

fn convert(subject: &Subject, frames: &[Vec<u8>]) -> Conversion {
    subject.convert(frames.iter().map(|frame| line(frame)).collect::<String>().as_bytes(), Cut::WHOLE)
}

#[test]
fn code_addresses_are_places_in_the_source() {
    let frames = [
        located(Location::Address32(INSIDE_PUMP_READ as u32), "here"),
        located(Location::Address64(INSIDE_PUMP_READ), "here, wide"),
        located(Location::Address64(NOWHERE), "nowhere"),
    ];
    let source = |elf: &str, name: &str| {
        let trace = convert(&subject(elf), &frames).read();
        let logged = trace.logs.iter().find(|log| log.body == name).expect("it is logged");
        let instant = trace.instants.iter().find(|instant| instant.name == name).expect("it is there");
        assert!(instant.args.contains_key("code_address"), "the address stays");
        logged.source.clone()
    };
    let place = source("pump.elf", "here").expect("it has a place");
    assert!(place.contains("pump/pump.c") && !place.contains("??"), "{place}");
    assert_eq!(source("pump.elf", "here, wide").as_ref(), Some(&place));
    assert_eq!(source("pump.elf", "nowhere"), None);
    // Without debug information the function is known.
    let place = source("pump_no_debug.elf", "here").expect("it has a place");
    assert!(place.contains("pump_read"), "{place}");
}

#[test]
fn catalog_numbers_may_be_addresses_of_formats() {
    let frames = [
        catalog(FORMAT, &7u32.to_le_bytes()),
        // In the middle of the text, in code, nowhere.
        catalog(FORMAT + 6, &7u32.to_le_bytes()),
        catalog(0x48, &7u32.to_le_bytes()),
        catalog(NOWHERE as u32, &7u32.to_le_bytes()),
    ];
    let run = convert(&subject("pump.elf"), &frames);
    let trace = run.read();
    let bodies: Vec<&str> = trace.logs.iter().map(|log| log.body.as_str()).collect();
    assert_eq!(bodies, ["pump: flow 7 ml/s, valve öffnet", "catalog 0xf2", "catalog 0x48", "catalog 0x9000001"]);
    let named = &trace.instants[0];
    assert_eq!(named.name, "pump: flow %u ml/s, valve öffnet");
    assert_eq!(named.args.get("args.0"), Some(&Arg::Uint(7)));
    assert_eq!(named.args.get("catalog_id"), Some(&Arg::Pointer(FORMAT.into())));
    let detail =
        |name: &str| run.summary.facts.details.iter().find(|detail| detail.name == name).map(|detail| detail.value.as_str());
    assert_eq!(detail("formats of the program"), Some("1 message with the address of a format as id"));
    assert_eq!(detail("unknown catalog ids"), Some("3 messages of 3 ids: 0x48 (1), 0xf2 (1), 0x9000001 (1)"));
    assert_eq!(detail("program"), Some("app.elf, for ARM, 12 functions"));
}

#[test]
fn files_that_are_no_programs_are_refused() {
    let refused = |bytes: &[u8]| {
        let Subject { format, options } = Subject::new("syst-text").with_file("elf", "app.elf", bytes);
        format.open(&[options]).map(|_| ()).unwrap_err().to_string()
    };
    assert!(refused(b"\x7FELF").contains("a damaged or truncated ELF file"));
    assert!(refused(b"hello").contains("`app.elf` is not an ELF file"), "{}", refused(b"hello"));
    assert!(refused(&program("pump_stripped.elf")).contains("without symbols (stripped)"));
    assert!(refused(&program("pump.elf")[..4000]).contains("a damaged or truncated ELF file"));
}
