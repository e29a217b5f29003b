//! Images of a target's memory: the rings that the tracer library left there are found, unrolled, converted and accounted for.
//!
//! `testdata/memory` has rings that the library itself wrote (`target/tests/dump_ring.c`); here they are put into larger images, and
//! damaged.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;
use tempfile::TempDir;

mod reader;

use reader::Trace;

/// The offsets of the words of a ring's header, in bytes.
const SEGMENTS_AT: usize = 24;
const BEGUN_AT: usize = 32;
const USED_AT: usize = 40;
/// The length of a header with one core and four segments.
const HEADER_BYTES: usize = 56;
const SEGMENT_BYTES: usize = 512;
const METADATA_ROOM: usize = 100;

fn ring(name: &str) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/memory").join(format!("{name}.ram"));
    fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Bytes as in memory: pointers, small numbers, zeros.
fn other_memory(len: usize) -> Vec<u8> {
    let mut state = 1u64;
    let bytes = std::iter::repeat_with(move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        match state >> 61 {
            0..3 => 0,
            3 => 0x20,
            _ => (state >> 53) as u8,
        }
    });
    bytes.take(len).collect()
}

struct Run {
    dir: TempDir,
    output: Output,
}

/// Converts an image with the built program.
fn convert(image: &[u8], arguments: &[&str]) -> Run {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("ram.bin"), image).unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_traceconv"))
        .args(["ram.bin", "-o", "x", "--report", "report.json", "-v"])
        .args(arguments)
        .current_dir(dir.path())
        .output()
        .unwrap();
    Run { dir, output }
}

impl Run {
    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn says(&self, text: &str) {
        let said = String::from_utf8_lossy(&self.output.stderr);
        assert!(said.contains(text), "{text:?} is not in:\n{said}");
    }

    #[track_caller]
    fn trace(&self) -> Trace {
        assert!(self.output.status.success(), "{}", String::from_utf8_lossy(&self.output.stderr));
        Trace::parse(&fs::read(self.path("x")).unwrap()).unwrap()
    }

    fn inputs(&self) -> Vec<Value> {
        let report: Value = serde_json::from_slice(&fs::read(self.path("report.json")).unwrap()).unwrap();
        let inputs = report["inputs"].as_array().unwrap().clone();
        for input in &inputs {
            let count = |value: &Value, name: &str| value[name].as_u64().unwrap_or_else(|| panic!("{name} of {value}"));
            assert_eq!(count(input, "decoded_bytes") + count(input, "skipped_bytes"), count(input, "input_bytes"));
            let memory = &input["memory"];
            if !memory.is_null() {
                assert_eq!(count(memory, "recording_bytes"), count(input, "input_bytes"));
                let parts = ["header_bytes", "recording_bytes", "unused_bytes", "outside_bytes"];
                assert_eq!(parts.map(|part| count(memory, part)).iter().sum::<u64>(), count(memory, "image_bytes"));
            }
        }
        inputs
    }
}

/// The values of a value marker, in order of time.
fn values(trace: &Trace, name: &str) -> Vec<(u64, i64)> {
    let of_name = trace.counters.iter().filter(|(track, _)| trace.tracks[track].name == name);
    of_name.flat_map(|(_, values)| values.clone()).collect()
}

/// The library counted to `last`, a step every 1500 ns: the newest of them are shown.
#[track_caller]
fn assert_newest(trace: &Trace, name: &str, last: i64, at_least: usize) {
    let values = values(trace, name);
    assert!(values.len() >= at_least, "only {} values of {name}", values.len());
    let first = last + 1 - values.len() as i64;
    assert_eq!(values.iter().map(|value| value.1).collect::<Vec<_>>(), (first..=last).collect::<Vec<_>>());
    assert!(values.windows(2).all(|pair| pair[1].0 - pair[0].0 == 1500), "{values:?}");
}

#[test]
fn a_ring_is_found_wherever_it_is_and_its_newest_events_are_shown() {
    for (before, behind) in [(0, 0), (0, 5), (9, 0), (196_613, 325_000), (3 << 20, 1 << 20)] {
        for (name, marker, last, at_least) in [
            ("one_core", "north", 1000, 60),
            ("two_cores", "both", 1000, 60),
            ("unfilled", "few", 20, 20),
            ("plain", "plain", 1000, 60),
        ] {
            let image = [other_memory(before), ring(name), other_memory(behind)].concat();
            let run = convert(&image, &[]);
            assert_newest(&run.trace(), marker, last, at_least);
            run.says("a post-mortem ring of the Tonbandgerät tracer library (");
            run.says(&format!("found at byte {before} of a memory image of {} bytes: ", image.len()));
            run.says("nothing lost");
            let inputs = run.inputs();
            assert_eq!((inputs.len(), inputs[0]["memory"]["offset"].as_u64()), (1, Some(before as u64)));
            assert_eq!(inputs[0]["losses"].as_array().unwrap().len(), 0);
        }
    }
}

#[test]
fn core_files_and_packed_images_are_images_too() {
    let elf = [&b"\x7fELF\x01\x01\x01"[..], &[0; 9], &[4, 0], &other_memory(4000)].concat();
    let image = [elf.clone(), ring("one_core"), other_memory(999)].concat();
    assert_newest(&convert(&image, &[]).trace(), "north", 1000, 60);
    assert_newest(&convert(&image, &["--format", "tonbandgeraet"]).trace(), "north", 1000, 60);
    assert_newest(&convert(&zstd::encode_all(&*image, 1).unwrap(), &[]).trace(), "north", 1000, 60);

    let run = convert(&elf, &[]);
    assert_eq!(run.output.status.code(), Some(1));
    run.says("is an ELF core file");
    run.says("nor is it an image of a target's memory with a post-mortem ring of the Tonbandgerät");
}

#[test]
fn several_rings_are_cores_of_one_trace_with_ids_of_their_own() {
    let image = [other_memory(7000), ring("one_core"), other_memory(100_001), ring("other_core"), other_memory(50)].concat();
    let run = convert(&image, &[]);
    let trace = run.trace();
    // Both programs have a marker 1 and an interrupt 3.
    assert_newest(&trace, "north", 1000, 60);
    assert_newest(&trace, "south", 700, 60);
    assert_eq!(trace.tracks.values().filter(|track| track.name.contains("TIMER")).count(), 2);
    let inputs = run.inputs();
    let places: Vec<_> = inputs.iter().map(|input| (input["core"].as_u64(), input["memory"]["offset"].as_u64())).collect();
    assert_eq!(places, [(Some(0), Some(7000)), (Some(1), Some(7000 + 2204 + 100_001))]);

    // Recordings that cannot be the cores of one target are not taken for that.
    let run = convert(&[ring("one_core"), ring("two_cores")].concat(), &[]);
    assert_eq!(run.output.status.code(), Some(1));
    run.says("holds 2 recordings in memory, of which the one at byte 2204 is of 2 cores");
    run.says("(they begin at bytes 0, 2204)");
}

#[test]
fn rings_of_two_formats_are_told_apart_by_the_format() {
    let tracex = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/tracex/services.trx");
    let image = [ring("one_core"), fs::read(tracex).unwrap()].concat();
    let refused = convert(&image, &[]);
    assert_eq!(refused.output.status.code(), Some(1));
    let at = ring("one_core").len();
    refused.says(&format!("tonbandgeraet at byte 0, tracex at byte {at}; choose a format with --format NAME"));
    for format in ["tonbandgeraet", "tracex"] {
        convert(&image, &["--format", format]).trace();
    }
}

#[test]
fn a_damaged_header_costs_what_it_says_nothing_of() {
    let ring = ring("one_core");
    let with = |at: usize, word: u32| {
        let mut ring = ring.clone();
        ring[at..at + 4].copy_from_slice(&word.to_le_bytes());
        [other_memory(1000), ring, other_memory(1000)].concat()
    };
    // Which slot is the newest, and how many there are.
    let word = |at: usize| u32::from_le_bytes(ring[at..at + 4].try_into().unwrap());
    let newest = (word(BEGUN_AT) - 1) as usize % 4;

    // The count of the newest segment: the older ones remain.
    let run = convert(&with(USED_AT + 4 * newest, 0xFFFF_FFFF), &[]);
    let values_left = values(&run.trace(), "north");
    assert!(values_left.len() > 40 && values_left.last().unwrap().1 < 1000);
    run.says("the recording in memory is damaged, some of it is missing");
    let losses = run.inputs()[0]["losses"].clone();
    assert_eq!(losses[0]["kind"], "memory_recording_damaged");

    // A frame at the end of the newest segment that was not written to its end costs itself only.
    let run = convert(&with(USED_AT + 4 * newest, word(USED_AT + 4 * newest) - 2), &[]);
    assert!(values(&run.trace(), "north").last().unwrap().1 >= 999);
    run.says("the recording in memory is damaged");

    for (at, value, why) in [
        (SEGMENTS_AT, 0, "its header has 0 segments of 512 bytes"),
        (SEGMENTS_AT, u32::MAX, "its header has 4294967295 segments of 512 bytes"),
        (SEGMENTS_AT, 5000, "the image ends within its header, which has 5000 segments"),
        (16, 0, "its header has 0 cores"),
        (BEGUN_AT, 0, "nothing was recorded into it"),
    ] {
        let run = convert(&with(at, value), &[]);
        // The frames may be taken as they are, but not without a message.
        run.says("at byte 1000 is the mark of a post-mortem ring of the Tonbandgerät tracer library");
        run.says(why);
    }

    // A dump that ends within the ring.
    let whole = METADATA_ROOM + HEADER_BYTES + 2 * SEGMENT_BYTES + 100;
    let run = convert(&ring[..whole], &[]);
    run.says(&format!("only {whole} of the 2204 bytes of the ring"));
    assert!(values(&run.trace(), "north").len() > 20);
}

/// Whatever a flipped bit does to a ring, the shown events are some of the recorded ones, at their time or with a line in the report.
#[test]
fn a_flipped_bit_anywhere_in_the_header_invents_nothing() {
    let ring = ring("one_core");
    let true_values: Vec<i64> = values(&convert(&ring, &[]).trace(), "north").iter().map(|value| value.1).collect();
    for at in 0..HEADER_BYTES {
        let mut image = ring.clone();
        image[at] ^= 1 << (at % 8);
        let run = convert(&image, &[]);
        if run.output.status.success() {
            let left = values(&run.trace(), "north");
            // Another place of the oldest segment shows older frames after newer ones, but never others than were recorded.
            assert!(left.iter().all(|value| (1..=1000).contains(&value.1)), "byte {at}");
            run.inputs();
            if at >= USED_AT {
                let shown: Vec<i64> = left.iter().map(|value| value.1).collect();
                assert!(shown.len() <= true_values.len() + 20, "byte {at}");
            }
        } else {
            assert_eq!(run.output.status.code(), Some(1), "byte {at}");
        }
    }
}

#[test]
fn dump_lists_the_records_of_a_ring_in_order() {
    let image = [other_memory(3000), ring("one_core"), other_memory(10), ring("other_core")].concat();
    let run = |arguments: &[&str]| {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("ram.bin"), &image).unwrap();
        let program = env!("CARGO_BIN_EXE_traceconv");
        Command::new(program).args(["dump", "ram.bin"]).args(arguments).current_dir(dir.path()).output().unwrap()
    };
    let output = run(&[]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("at byte 3000 of the memory image; offsets count from its start"), "{said}");
    assert!(said.contains("at byte 5214 of the memory image"), "{said}");
    let lines: Vec<Value> =
        String::from_utf8_lossy(&output.stdout).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let values = |core: u64| {
        let of_core = lines.iter().filter(move |line| line["record"] == "valmarker" && line["core"] == core);
        of_core.map(|line| line["val"].as_i64().unwrap()).collect::<Vec<_>>()
    };
    for (core, last) in [(0, 1000), (1, 700)] {
        let values = values(core);
        assert_eq!(values, (last + 1 - values.len() as i64..=last).collect::<Vec<_>>());
        assert!(values.len() > 60);
    }
    assert!(String::from_utf8_lossy(&run(&["-q"]).stderr).is_empty());
}
