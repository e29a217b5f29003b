//! Captures that are not in the repository, against the list that the reference printer makes of them.
//!
//! `TRACECONV_SYST_CAPTURES` names the folder: `client64.txt` with `client64.systprint.csv.gz` and so on. Where the printer is known to
//! be wrong, the right value is checked instead, and allowed differences are printed.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::common::run::{Cut, Subject};
use crate::common::views;

fn folder() -> PathBuf {
    std::env::var_os("TRACECONV_SYST_CAPTURES").map(PathBuf::from).expect("TRACECONV_SYST_CAPTURES names a folder")
}

fn read(path: &Path) -> Vec<u8> {
    let bytes = std::fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    if path.extension().is_some_and(|extension| extension == "gz") {
        let mut plain = Vec::new();
        flate2::read::GzDecoder::new(&bytes[..]).read_to_end(&mut plain).expect("it is gzip");
        return plain;
    }
    bytes
}

/// The messages of a capture, in file order, as `dump` lists them.
fn messages(format: &str, capture: &[u8], collateral: &Path) -> Vec<Value> {
    let subject = Subject::new(format).with_file("collateral", "collateral", read(collateral));
    let lines = subject.dump(capture, Cut { threads: 2, window_bytes: 1000 }, views::record);
    let all = lines.iter().map(|line| serde_json::from_str::<Value>(line).expect("a line is JSON"));
    all.filter(|record| !["console", "FREQ"].contains(&record["record"].as_str().unwrap_or(""))).collect()
}

/// Rows of a CSV file, without the heading.
fn rows(csv: &[u8]) -> Vec<Vec<String>> {
    let text = String::from_utf8_lossy(csv);
    let (mut rows, mut row, mut cell, mut quoted) = (Vec::new(), Vec::new(), String::new(), false);
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '"' if quoted && characters.peek() == Some(&'"') => {
                characters.next();
                cell.push('"');
            }
            '"' => quoted = !quoted,
            ',' if !quoted => row.push(std::mem::take(&mut cell)),
            '\n' if !quoted => {
                row.push(std::mem::take(&mut cell));
                rows.push(std::mem::take(&mut row));
            }
            '\r' => {}
            _ => cell.push(character),
        }
    }
    rows.split_off(1)
}

fn text_of(record: &Value) -> &str {
    record["text"].as_str().unwrap_or("")
}

/// The payload column as the printer would fill it.
fn payload(record: &Value) -> String {
    match record["record"].as_str().unwrap_or("") {
        "BUILD" => format!("0x{:016X} {}", record["build"].as_u64().unwrap_or(0), text_of(record)).trim_end().to_lowercase(),
        "SHORT32" if text_of(record).starts_with("0x") => format!("0x{:08X}", record["value"].as_u64().unwrap_or(0)),
        "SHORT64" if text_of(record).starts_with("0x") => format!("0x{:016X}", record["value"].as_u64().unwrap_or(0)),
        "RAW" => record["data"].as_str().unwrap_or("").to_owned(),
        _ => text_of(record).replace('\n', " ").trim_end().to_owned(),
    }
}

/// Holds messages against rows; gives how often each known defect was met.
fn compare(name: &str, messages: &[Value], rows: &[Vec<String>]) -> BTreeMap<&'static str, usize> {
    assert_eq!(messages.len(), rows.len(), "{name}: another number of messages");
    let mut allowed = BTreeMap::new();
    for (number, (record, row)) in messages.iter().zip(rows).enumerate() {
        let kind = record["record"].as_str().unwrap_or("");
        let expected = |column: usize| row.get(column).map_or("", String::as_str);
        let printed = expected(1).trim_end();
        let defect = match expected(0) {
            "UNKNOWN_TYPE" => {
                assert!(kind == "CLOCK:SYNC" || kind == "SBD", "{name} {number}: {record}");
                Some("1: clock and structured messages are unknown to it")
            }
            "TOO_SHORT" => {
                assert_eq!((kind, text_of(record)), ("STRING:GENERIC", "hello"), "{name} {number}");
                Some("9: texts without end are refused")
            }
            "MISSING_COLLATERAL" => {
                assert_eq!(kind, "CATALOG", "{name} {number}");
                Some("16: without a client, id and arguments are not shown")
            }
            "OK" if expected(2).starts_with("BUILD:COMPACT") => {
                assert!(
                    [0x3F_FFFF, 0x21_2345, 0x3F_FFFF_FFFF_FFFF, 0x12_3456_789A_BCDE].contains(&record["build"].as_u64().unwrap())
                );
                Some("2: compact builds are read from other bits")
            }
            "OK" if printed.starts_with("td=") => {
                assert_eq!(text_of(record), "td=-5 d=9", "{name} {number}");
                Some("3: %td is taken as four bytes")
            }
            "OK" if printed.contains(" nan ") => Some("3 and 4: %td, and %Lf"),
            "OK" if printed.starts_with("Undefined catalog id") => {
                assert_eq!(kind, "CATALOG", "{name} {number}");
                Some("11: an unknown id is shown without arguments")
            }
            "OK" if payload(record) != printed && payload(record) != printed.to_lowercase() && record["marks"] == "slots" => {
                Some("6: numbered catalog macros on 64 bits")
            }
            _ => {
                let ours = payload(record);
                assert!(ours == printed || ours == printed.to_lowercase(), "{name} {number}: {ours:?}, not {printed:?}");
                let expected_kind = expected(2).split(':').next().unwrap_or("");
                assert!(kind.starts_with(expected_kind), "{name} {number}: {kind}, not {}", expected(2));
                if !kind.starts_with("SHORT") {
                    assert_eq!(record["severity"].as_str().unwrap_or("MAX"), expected(3), "{name} {number}");
                    assert_eq!(record["unit"].to_string(), expected(5), "{name} {number}");
                }
                let timestamp = record["timestamp"].as_u64().map_or(String::new(), |time| format!("0x{time:016X}"));
                if expected(6).len() == 18 && record.get("timestamp").is_some() {
                    assert_eq!(timestamp, expected(6), "{name} {number}");
                }
                None
            }
        };
        if let Some(defect) = defect {
            *allowed.entry(defect).or_default() += 1;
        }
    }
    allowed
}

#[test]
#[ignore = "needs captures that are not in the project, in the folder TRACECONV_SYST_CAPTURES"]
fn the_client_says_the_same_by_all_transports() {
    let folder = folder();
    let collateral = folder.join("collateral.xml");
    let rows = rows(&read(&folder.join("client64.systprint.csv.gz")));
    let transports = [
        ("syst-text", "client64.txt"),
        ("syst-raw", "client64_raw.bin"),
        ("syst-stp", "clientstp.stp"),
        ("syst-stp", "client64_nat.stp"),
    ];
    for (format, file) in transports {
        let capture = read(&folder.join(file));
        let detected = traceconv::input::detect::detect(&capture, &[]).unwrap_or_else(|error| panic!("{file}: {error}"));
        assert_eq!(detected.format.name(), format, "{file}: {}", detected.because);
        let messages = messages(format, &capture, &collateral);
        assert_eq!(messages.len(), 283, "{file}");
        // The simulator's recording is of another run.
        let messages: Vec<Value> = messages
            .into_iter()
            .map(|mut message| {
                if file == "clientstp.stp" {
                    message["timestamp"] = Value::Null;
                    message.as_object_mut().map(|fields| fields.remove("timestamp"));
                }
                message
            })
            .collect();
        let allowed = compare(file, &messages, &rows);
        println!("{file}: 283 of 283 messages; allowed {allowed:?}");
        assert!(allowed.is_empty(), "{file}: {allowed:?}");
    }
}

#[test]
#[ignore = "needs captures that are not in the project, in the folder TRACECONV_SYST_CAPTURES"]
fn every_vector_is_decoded() {
    let folder = folder();
    let collateral = folder.join("collateral.xml");
    let rows = rows(&read(&folder.join("vectors64.systprint.csv.gz")));
    for file in ["vectors64.txt.gz", "vectorslen64.txt.gz", "vectorslen64_raw.bin"] {
        let format = if file.ends_with(".bin") { "syst-raw" } else { "syst-text" };
        let messages = messages(format, &read(&folder.join(file)), &collateral);
        assert_eq!(messages.len(), 248, "{file}");
        assert!(messages.iter().all(|record| record["record"] != "invalid"), "{file}");
        if file == "vectors64.txt.gz" {
            let allowed = compare(file, &messages, &rows);
            println!("{file}: 248 of 248 messages; allowed {allowed:#?}");
        }
    }
}

#[test]
#[ignore = "needs captures that are not in the project, in the folder TRACECONV_SYST_CAPTURES"]
fn vectors_fit_their_labels() {
    let folder = folder();
    let text = String::from_utf8(read(&folder.join("vectors64.txt.gz"))).expect("it is text");
    let labels: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("## ")).collect();
    let messages = messages("syst-text", text.as_bytes(), &folder.join("vectors_collateral.xml"));
    assert_eq!((labels.len(), messages.len()), (248, 248));
    for (label, record) in labels.iter().zip(&messages) {
        let kind = record["record"].as_str().unwrap_or("");
        let has_guid = record.get("guid").is_some();
        let expected: (&str, Option<&str>) = match *label {
            "BUILD LONG id=0x1122334455667788 text 'v1' incl NUL" => ("BUILD", Some("v1")),
            "STRING GENERIC 'hello' NUL" | "STRING GENERIC 'hello' without NUL" => ("STRING:GENERIC", Some("hello")),
            "STRING FUNC ENTER" => ("STRING:ENTER", Some("all")),
            "STRING FUNC EXIT" => ("STRING:EXIT", Some("all")),
            "STRING INVALIDPARAM (null string)" => ("STRING:INVPARAM", Some("(null)")),
            "STRING ASSERT" => ("STRING:ASSERT", Some("vectors.c:31 1==2")),
            "STRING PRINTF star" => ("STRING:PRINTF", Some("[    42|3.14|ab   |%]")),
            "STRING PRINTF %td only" => ("STRING:PRINTF", Some("td=-5 d=9")),
            "CATALOG32 typed" => ("CATALOG", has_guid.then_some("a=7 b=9 s=xyz f=0.250000")),
            "CATALOG32_2 numbered %d %d params 7,9" => ("CATALOG", has_guid.then_some("x=7 y=9")),
            "CATALOG64_3 numbered params 1,2,3" => ("CATALOG", has_guid.then_some("1-2-3")),
            "CATALOG64 typed" => ("CATALOG", has_guid.then_some("a=7 b=9 c=c p=0x10")),
            "LOC16 string" => ("STRING:GENERIC", Some("loc16")),
            "LOC32 string" => ("STRING:GENERIC", Some("loc32")),
            "LOCADDR string" => ("STRING:GENERIC", Some("addr")),
            label if label.starts_with("BUILD") => ("BUILD", None),
            label if label.starts_with("SHORT") => ("SHORT", None),
            label if label.starts_with("RAW") => ("RAW", None),
            label if label.starts_with("CLOCK") => ("CLOCK:SYNC", None),
            label if label.starts_with("SBD") => ("SBD", None),
            label if label.starts_with("CATALOG") => ("CATALOG", None),
            _ => ("STRING", None),
        };
        assert!(kind.starts_with(expected.0), "{label}: {record}");
        if let Some(text) = expected.1 {
            assert_eq!(text_of(record), text, "{label}");
        }
        if let Some(hex) = label.split("n=0x").nth(1).filter(|_| label.starts_with("BUILD COMPACT")) {
            assert_eq!(record["build"].as_u64(), u64::from_str_radix(hex, 16).ok(), "{label}");
        }
    }
}

#[test]
#[ignore = "needs captures that are not in the project, in the folder TRACECONV_SYST_CAPTURES"]
fn zephyr_samples_are_complete() {
    let folder = folder().join("zephyr");
    for sample in ["qemu_x86_text", "qemu_x86_catalog"] {
        let capture = read(&folder.join(format!("{sample}.txt")));
        let messages = messages("syst-text", &capture, &folder.join("mipi_syst_collateral.xml"));
        // The printer leaves out the first one, which follows other text.
        assert!(text_of(&messages[0]).starts_with("*** Booting Zephyr OS build zephyr-v3.0.0"), "{}", messages[0]);
        let rows = rows(&read(&folder.join(format!("{sample}.systprint.csv"))));
        let allowed = compare(sample, &messages[1..], &rows);
        println!("{sample}: {} messages; allowed {allowed:?}", messages.len());
        assert!(allowed.is_empty());
    }
}
