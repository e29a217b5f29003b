//! The forms in which traces are written, and traces of several recordings, by the built program.

mod desk;
mod reader;

use std::fs;
use std::io::Read;
use std::path::Path;

use desk::Desk;
use reader::{Trace, TrackKind};
use serde_json::Value;

/// A directory with the captures of the demonstration.
fn demo_desk() -> Desk {
    let desk = Desk::new();
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/demo");
    for name in ["demo.bin", "damaged.bin", "dual-0.bin", "dual-1.bin", "dpp.bin", "console.txt"] {
        desk.put(name, &fs::read(from.join(name)).unwrap());
    }
    desk
}

fn read(desk: &Desk, name: &str) -> Trace {
    Trace::parse(&desk.get(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

#[test]
fn compressed_traces_hold_the_same() {
    let desk = demo_desk();
    desk.run("demo.bin").ends(0);
    let plain = desk.get("demo.perfetto-trace");
    let said = desk.run("demo.bin --gzip --report gzip.json").ends(0).stderr;
    let bytes = desk.get("demo.perfetto-trace.gz");
    assert!(
        said.contains(&format!("-> demo.perfetto-trace.gz ({} bytes; {} uncompressed, ", bytes.len(), plain.len())),
        "{said}"
    );
    let mut unpacked = Vec::new();
    flate2::read::GzDecoder::new(&bytes[..]).read_to_end(&mut unpacked).unwrap();
    assert!(unpacked == plain && bytes.len() < plain.len() / 2);
    let report: Value = desk.json("gzip.json");
    assert_eq!(report["output_bytes"], bytes.len() as u64);
    assert_eq!(report["traces"][0]["uncompressed_bytes"], plain.len() as u64);

    desk.run("demo.bin --zstd -q").ends(0);
    assert!(zstd::decode_all(&desk.get("demo.perfetto-trace.zst")[..]).unwrap() == plain);
    // A name that was given is not changed.
    desk.run("demo.bin --zstd -q -o chosen.perfetto-trace --threads 1").ends(0);
    assert!(desk.get("chosen.perfetto-trace") == desk.get("demo.perfetto-trace.zst"));
    // But its end says how the trace is written.
    desk.run("demo.bin -q -o named.gz").ends(0);
    assert!(desk.get("named.gz") == bytes);
    desk.run("demo.bin -q -o named.perfetto-trace.zst").ends(0);
    assert!(desk.get("named.perfetto-trace.zst") == desk.get("demo.perfetto-trace.zst"));
    let said = desk.run("demo.bin --zstd -o other.gz").ends(2).stderr;
    assert!(said.contains("other.gz has the extension of another compression; name a file that ends in .zst"), "{said}");
    fs::create_dir(desk.path("out")).unwrap();
    desk.run("demo.bin --gzip -q -o out --threads 3").ends(0);
    assert!(desk.get("out/demo.perfetto-trace.gz") == bytes);
    assert!(desk.run("demo.bin --gzip --zstd").ends(2).stderr.contains("cannot be used with"));
}

#[test]
fn a_trace_is_split_into_files_that_stand_alone() {
    let desk = demo_desk();
    desk.run("demo.bin -q").ends(0);
    let whole = read(&desk, "demo.perfetto-trace");
    let said = desk.run("demo.bin --split-size 70k --report split.json").ends(0).stderr;
    let report: Value = desk.json("split.json");
    let files: Vec<&str> = report["traces"][0]["files"].as_array().unwrap().iter().map(|file| file.as_str().unwrap()).collect();
    assert_eq!(files.first(), Some(&"demo.000.perfetto-trace"));
    assert!(
        said.contains(&format!("-> demo.000.perfetto-trace to {} ({} files; ", files[files.len() - 1], files.len())),
        "{said}"
    );
    let (mut bytes, mut last_end) = (0, 0);
    let mut switches = 0;
    for file in &files {
        let size = desk.get(file).len();
        assert!(size <= 70_000, "{file} has {size} bytes");
        bytes += size;
        let part = read(&desk, file);
        assert!(part.unclosed.is_empty());
        let begin = part.slices.iter().map(|slice| slice.ts).min().unwrap();
        let end = part.slices.iter().filter_map(|slice| slice.end()).max().unwrap();
        assert!(begin > last_end, "{file} begins at {begin} before {last_end}");
        last_end = end;
        // Each switch of the whole trace is in one of them.
        let own = part.sched[&0].iter().filter(|switch| whole.sched[&0].contains(switch)).count();
        switches += own;
        // Task names, also of tasks that do nothing in this part, and the same ids in all.
        let task = part.tracks.values().find(|info| info.name == "sensor" && matches!(info.kind, TrackKind::Thread { .. }));
        assert_eq!(
            task.unwrap().kind,
            whole.tracks.values().find(|info| info.name == "sensor").map(|_| TrackKind::Thread { pid: 4, tid: 4 }).unwrap()
        );
    }
    assert_eq!(report["output_bytes"], bytes as u64);
    // A switch to no task comes before the first one of the whole; where a part is cut, the end of the one and the begin of the other are new.
    assert!(switches + 2 * files.len() >= whole.sched[&0].len(), "{switches} of {}", whole.sched[&0].len());

    // The parts of another conversion are pointed out.
    let said = desk.run("demo.bin --split-size 1M").ends(0).stderr;
    assert!(said.contains("warning: demo.001.perfetto-trace is left from an earlier conversion"), "{said}");
    desk.run("demo.bin damaged.bin --merge --split-size 90k -q -o m.perfetto-trace --gzip").ends(0);
    let mut part = Vec::new();
    flate2::read::GzDecoder::new(&desk.get("m.001.perfetto-trace")[..]).read_to_end(&mut part).unwrap();
    assert!(part.len() <= 90_000);
    Trace::parse(&part).unwrap();
    // Records at one time cannot be divided: a part is larger, or it is refused if it is far too large.
    let record = |number: u32| {
        let mut body = vec![number as u8, 100, 1, 0, 0, 0, 5];
        body.extend(number.to_le_bytes());
        body.push(!body.iter().fold(0u8, |sum, byte| sum.wrapping_add(*byte)));
        let escaped =
            body.iter().flat_map(|&byte| if matches!(byte, 0x7d | 0x7e) { vec![0x7d, byte ^ 0x20] } else { vec![byte] });
        escaped.chain([0x7e]).collect::<Vec<u8>>()
    };
    for (records, status) in [(4000, 0), (20_000, 1)] {
        desk.put("moment.bin", &(1..records).flat_map(record).collect::<Vec<u8>>());
        let said = desk.run("moment.bin --format qs --split-size 70k").ends(status).stderr;
        let expected =
            if status == 0 { "more than --split-size 70000: they belong to one short moment" } else { "70000 is too small: " };
        assert!(said.contains(expected), "{said}");
    }
    assert!(desk.run("demo.bin --split-size 70k -o -").ends(2).stderr.contains("--split-size writes several files"));
    assert!(desk.run("demo.bin --split-size 70").ends(2).stderr.contains("at least 65536 bytes"));
    #[cfg(unix)]
    desk.run("demo.bin --split-size 70k -o /dev/null").ends(2).says(&["/dev/null is a device or a pipe"]);
    // The name of a part is an input.
    desk.put("d.001", &desk.get("demo.bin"));
    desk.run("d.001 --split-size 70k -o d").ends(2).says(&["d.001 is an input itself"]);
    desk.run("d.001 -q --split-size 70k -o d.perfetto-trace").ends(0);
    assert_eq!(desk.get("d.001"), desk.get("demo.bin"));
}

#[test]
fn several_recordings_become_one_trace() {
    let desk = demo_desk();
    let said =
        desk.run("demo.bin dpp.bin dual-0.bin@0 dual-1.bin@1 --merge --offset dpp.bin=1.5ms --report r.json").ends(0).stderr;
    assert!(said.contains("  offset: +1.500 ms (given by --offset)\n"), "{said}");
    assert!(said.contains("-> demo-merged.perfetto-trace"), "{said}");
    let merged = read(&desk, "demo-merged.perfetto-trace");
    assert_eq!(merged.sched.keys().copied().collect::<Vec<_>>(), [0, 2, 3], "each core has a CPU; dpp has no tasks");
    let names: Vec<&str> = merged.tracks.values().map(|info| &*info.name).collect();
    for name in ["demo", "dpp: QP/C 8.1.2", "dual-0", "demo: sensor"] {
        assert!(names.contains(&name), "{name} is not in {names:?}");
    }
    let report: Value = desk.json("r.json");
    let inputs = report["inputs"].as_array().unwrap();
    let offsets: Vec<Option<i64>> = inputs.iter().map(|input| input["offset"]["ns"].as_i64()).collect();
    assert_eq!(offsets, [Some(0), Some(1_500_000), Some(0), Some(0)]);
    assert_eq!(inputs[1]["offset"]["because"], "given by --offset");
    assert_eq!(inputs[3]["output"], "demo-merged.perfetto-trace");

    // Aligned by a marker, with the drift.
    let said = desk.run("demo.bin damaged.bin --merge --sync-marker spi_bus -o s").ends(1).stderr;
    assert!(said.contains("`spi_bus` does not occur in demo"), "{said}");
    fs::write(desk.dir.path().join("again.bin"), desk.get("demo.bin")).unwrap();
    let said = desk.run("demo.bin again.bin --merge --sync-marker USART1 --correct-drift -o s").ends(0).stderr;
    assert!(said.contains("  drift: +0.000 ppm over 34 markers, which deviate by 0 ns at most (corrected)"), "{said}");
    let said = desk.run("demo.bin damaged.bin --merge --sync-marker USART1 --correct-drift -o s").ends(1).stderr;
    assert!(said.contains("--correct-drift needs a marker that occurs as often in all recordings"), "{said}");
}

#[test]
fn contradicting_options_are_refused() {
    let desk = demo_desk();
    for (line, part) in [
        ("demo.bin --merge", "there is only one"),
        ("demo.bin dpp.bin --offset dpp.bin=1ms", "--merge"),
        ("demo.bin dpp.bin --sync-marker x", "--merge"),
        ("demo.bin dpp.bin --merge --correct-drift", "--sync-marker"),
        ("demo.bin dpp.bin --merge --sync-marker x --offset dpp.bin=1ms", "cannot be used with"),
        ("demo.bin dpp.bin --merge --name x", "cannot be used with"),
        ("demo.bin dpp.bin --merge --offset other.bin=1ms", "no input has this name"),
        ("demo.bin dpp.bin --merge --offset dpp.bin=1", "the unit is missing"),
        ("- - --merge -o x", "standard input (-) can be read only once"),
        ("demo.bin dpp.bin -o x", "add --merge to put them into one trace"),
        ("demo.bin dpp.bin --merge -o dpp.bin", "is an input itself"),
    ] {
        let said = desk.run(line).ends(2).stderr;
        assert!(said.contains(part), "{line}: {said}");
    }
    // One of them cannot be read: there is no trace of the others alone.
    fs::write(desk.path("empty"), "").unwrap();
    let said = desk.run("demo.bin empty --merge -o x").ends(1).stderr;
    assert!(
        said.contains("empty is empty") && said.contains("demo.bin was to be in one trace with an input that cannot be used"),
        "{said}"
    );
    // What is wrong with one of them is said of that one only.
    fs::create_dir(desk.path("dir")).unwrap();
    let ran = desk.run("demo.bin dir dpp.bin --merge -o x --report r.json").ends(1);
    assert_eq!(
        ran.stderr,
        "error: dir is a directory, not a recording; --recursive takes the files in it\n\
         error: demo.bin, dpp.bin were to be in one trace with an input that cannot be used\n"
    );
    let report = desk.json("r.json");
    let error = |input: usize| report["inputs"][input]["error"].as_str().unwrap().to_owned();
    assert_eq!(error(2), "dpp.bin was to be in one trace with an input that cannot be used");
    assert!(error(1).starts_with("dir is a directory"), "{report}");
    // What is wrong with the trace is said once, and is in the report of each input.
    let ran = desk.run("demo.bin dpp.bin --merge --sync-marker none -o x --report r.json").ends(1);
    assert!(
        ran.stderr.starts_with("error: demo.bin, dpp.bin were not converted: `none` does not occur in demo: "),
        "{}",
        ran.stderr
    );
    assert_eq!(ran.stderr.lines().count(), 1);
    for (input, name) in [(0, "demo.bin"), (1, "dpp.bin")] {
        let error = desk.json("r.json")["inputs"][input]["error"].as_str().unwrap().to_owned();
        assert!(error.starts_with(&format!("{name} was not converted: `none` does not occur in demo: ")), "{error}");
    }
    assert!(!desk.path("x").exists());
}

#[test]
fn of_a_merge_only_options_that_concern_no_recording_are_of_no_use() {
    let desk = demo_desk();
    let hint = "does not apply to";
    let said = desk.run("--merge demo.bin dpp.bin --qs-tick-hz 100 -o m").ends(0).stderr;
    assert!(said.contains("measured from time events and --qs-tick-hz") && !said.contains(hint), "{said}");
    let said = desk.run("--merge demo.bin dpp.bin --tick-hz 100 -o m").ends(0).stderr;
    for format in ["Tonbandgerät", "QP/Spy (QS)"] {
        assert!(said.contains(&format!("hint: --tick-hz {hint} {format}, so it was not used.")), "{said}");
    }
    // Of recordings of their own it is said of each.
    desk.run("demo.bin dpp.bin --qs-tick-hz 100 -q -o out/ --report r.json").ends(0);
    let report = desk.json("r.json");
    let hints = |input: usize| report["inputs"][input]["hints"].to_string();
    assert!(hints(0).contains(hint) && !hints(1).contains(hint), "{report}");
}

#[test]
fn limits_of_a_merged_trace_name_who_broke_them() {
    let desk = demo_desk();
    let strict = "--merge demo.bin damaged.bin --strict -q -o m --junit - --report r.json";
    let ran = desk.run(strict).ends(3);
    assert_eq!(
        ran.stderr,
        "error: damaged.bin was converted, but with losses (at least 1 of 6761 events of the trace) beyond the limit set by --strict\n"
    );
    let junit = String::from_utf8(ran.stdout).unwrap();
    assert!(junit.contains("tests=\"2\" failures=\"1\""), "{junit}");
    assert!(junit.contains("at least 1 of 2313 events are lost") && !junit.contains("at least 0 of"), "{junit}");
    let report = desk.json("r.json");
    let status = |report: &Value, input: usize| report["inputs"][input]["status"].clone();
    assert_eq!([status(&report, 0), status(&report, 1)], ["converted", "too_much_lost"]);
    fs::copy(desk.path("damaged.bin"), desk.path("other.bin")).unwrap();
    desk.run("--merge damaged.bin demo.bin other.bin --max-lost 1 -q -o m")
        .ends(3)
        .says(&["error: damaged.bin, other.bin were converted, but with losses (at least 2 of ", "set by --max-lost"]);
    // The unit of the time stamps of QS is assumed.
    desk.run("--merge demo.bin dpp.bin --strict-time -q -o m --report r.json")
        .ends(3)
        .says(&["error: dpp.bin was converted, but its time is assumed, which --strict-time does not allow"]);
    let report = desk.json("r.json");
    assert_eq!([status(&report, 0), status(&report, 1)], ["converted", "too_uncertain"]);
}

#[test]
fn no_input_of_a_merged_trace_is_skipped() {
    let desk = demo_desk();
    desk.put("notes.md", b"no recording");
    desk.run("--merge demo.bin damaged.bin notes.md --skip-unrecognised -o m")
        .ends(2)
        .says(&["--skip-unrecognised is not for --merge: ", "--glob"]);
    assert!(!desk.path("m").exists());
}
