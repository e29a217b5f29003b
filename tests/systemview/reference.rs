//! Recordings of real targets, compared with what another decoder reads.
//!
//! They are not part of this project. `TRACECONV_SYSTEMVIEW` names the folder that has them; these tests are
//! ignored unless asked for.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::PathBuf;

use crate::run::{Cut, subject};
use traceconv::model::losses;

fn folder() -> PathBuf {
    std::env::var_os("TRACECONV_SYSTEMVIEW").map(PathBuf::from).expect("TRACECONV_SYSTEMVIEW names a folder")
}

fn read(folder: &std::path::Path, name: &str) -> Vec<u8> {
    let path = folder.join(name);
    let bytes = std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    if !name.ends_with(".gz") {
        return bytes;
    }
    let mut out = Vec::new();
    flate2::read::MultiGzDecoder::new(bytes.as_slice()).read_to_end(&mut out).expect("it is compressed");
    out
}

/// The number of packets, of skipped bytes, and of packets that the target dropped.
fn figures(capture: &[u8]) -> (usize, u64, u64) {
    let mut packets = 0;
    subject().each_record(capture, Cut::WHOLE, |record| {
        packets += usize::from(!matches!(record.record, "SYNC" | "HEADER" | "BLOCK" | "invalid"));
    });
    let ledger = subject().convert(capture, Cut::WHOLE).summary.ledger;
    let dropped = ledger.entries().iter().find(|entry| entry.kind == losses::DROPPED_BY_TARGET);
    (packets, ledger.skipped_bytes, dropped.map_or(0, |entry| entry.at_least_lost))
}

#[test]
#[ignore = "needs recordings that are not in the project, in the folder TRACECONV_SYSTEMVIEW"]
fn real_recordings_have_all_their_packets() {
    let folder = folder();
    for (name, expected) in [
        // The reference counts each of the 33 and 27 messages twice: 1374 and 1327.
        ("heap_log0.svdat", (1341, 0, 0)),
        ("heap_log1.svdat", (1300, 0, 0)),
        ("pro-cpu3.SVDat.gz", (46_382, 0, 2884)),
        ("app-cpu3.SVDat.gz", (46_660, 0, 2884)),
    ] {
        assert_eq!(figures(&read(&folder, name)), expected, "{name}");
    }
}

/// Every event of the reference, in its order: id, core, and time within a tick.
#[test]
#[ignore = "needs recordings that are not in the project, in the folder TRACECONV_SYSTEMVIEW"]
fn the_reference_reads_the_same_events() {
    let folder = folder();
    let text = read(&folder, "heap_log.expected_output.json.gz");
    let expected: serde_json::Value = serde_json::from_slice(&text).expect("it is JSON");
    for core in 0..2u64 {
        let mut times: BTreeMap<u64, Vec<f64>> = BTreeMap::new();
        let mut is_message_copied = false;
        for event in expected["events"].as_array().expect("a list").iter().filter(|event| event["core_id"] == core) {
            let id = event["id"].as_u64().expect("a number");
            // Messages are listed twice, one after the other.
            if id == 26 {
                is_message_copied = !is_message_copied;
                if !is_message_copied {
                    continue;
                }
            }
            times.entry(id).or_default().push(event["ts"].as_f64().expect("a number"));
        }
        let capture = read(&folder, &format!("heap_log{core}.svdat"));
        let mut found: BTreeMap<u64, Vec<f64>> = BTreeMap::new();
        let mut start = None;
        subject().each_record(&capture, Cut::WHOLE, |record| {
            let Some(nanos) = record.nanos else { return };
            let start = *start.get_or_insert(nanos);
            let at = record.offset as usize;
            let byte = u64::from(capture[at]);
            let id = if byte < 0x80 { byte } else { byte & 0x7F | u64::from(capture[at + 1]) << 7 };
            found.entry(id).or_default().push((nanos - start) as f64 / 1e9);
        });
        assert_eq!(found.keys().collect::<Vec<_>>(), times.keys().collect::<Vec<_>>());
        for (id, expected) in &times {
            let found = &found[id];
            assert_eq!(found.len(), expected.len(), "core {core}, id {id}");
            for (one, other) in found.iter().zip(expected) {
                assert!((one - other).abs() < 30e-9, "core {core}, id {id}: {one} and {other}");
            }
        }
    }
}
