//! `--skip-unchanged`: a trace is kept only if a conversion now would give the same bytes.

use std::fs::{self, FileTimes};
use std::io::Write;
use std::time::{Duration, SystemTime};

use super::captures::{damaged, of_format, small};
use super::{Desk, inputs};

/// Sets the time of a file back, so that it is seen when it is written.
fn age(desk: &Desk, name: &str) {
    let old = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000);
    let file = fs::File::options().write(true).open(desk.path(name)).unwrap();
    file.set_times(FileTimes::new().set_modified(old)).unwrap();
}

fn is_old(desk: &Desk, name: &str) -> bool {
    fs::metadata(desk.path(name)).unwrap().modified().unwrap() < SystemTime::UNIX_EPOCH + Duration::from_secs(2_000_000)
}

const TRACE: &str = "out/a.perfetto-trace";

#[test]
fn what_was_made_before_is_not_made_again() {
    let desk = Desk::new();
    desk.put("a.bin", &damaged(1));
    desk.put("b.bin", &small(2));
    // The first run need not know of the second.
    desk.run("-q a.bin b.bin -o out/ --report first.json").ends(0);
    age(&desk, TRACE);
    desk.put("b.bin", &small(3));
    let ran = desk.run("a.bin b.bin -o out/ --skip-unchanged --report second.json").ends(0);
    ran.says(&["  unchanged\n", "  converted\n", "2 inputs: 1 converted, 1 unchanged\n  -> out/ (1 trace, "]);
    assert!(is_old(&desk, TRACE));

    // All that was found out is still known.
    let (first, second) = (desk.json("first.json"), desk.json("second.json"));
    let mut again = inputs(&second)[0].clone();
    assert_eq!((&again["status"], &again["unchanged"]), (&"unchanged".into(), &true.into()));
    again["status"] = "converted".into();
    again["unchanged"] = false.into();
    assert_eq!(again, inputs(&first)[0]);
    let statistics = |report: &serde_json::Value| report["traces"][0]["statistics"].clone();
    assert!(statistics(&second).is_object() && statistics(&second) == statistics(&first));
    assert_eq!(second["output_bytes"], fs::metadata(desk.path("out/b.perfetto-trace")).unwrap().len());
    desk.run("a.bin -o out/ --skip-unchanged").ends(0).says(&["  lost: ", "  -> out/a.perfetto-trace (unchanged, "]);

    let told = desk.run("-v a.bin -o out/ --skip-unchanged").ends(0).says(&["(unchanged, "]);
    assert!(told.stderr.contains("\n  CORE "), "{}", told.stderr);

    // Its losses count as if it were made now.
    desk.run("-q a.bin -o out/ --skip-unchanged --strict").ends(3).says(&["beyond the limit set by --strict"]);
    let ran = desk.run("a.bin b.bin -o out/ --skip-unchanged --max-lost 0 --report r.json --junit j.xml").ends(3);
    ran.says(&["2 inputs: 1 unchanged, 1 too much lost"]);
    assert_eq!(inputs(&desk.json("r.json"))[0]["unchanged"], true);
    super::reports::check_junit(&desk.text("j.xml"), 2, 1, 0);
    assert!(is_old(&desk, TRACE));
}

#[test]
fn every_format_is_known_again() {
    let desk = Desk::new();
    for format in super::captures::FORMATS {
        desk.put(format!("c/{format}.bin"), &of_format(format, 4000, 1));
    }
    desk.put("c/all.dump", &[&[0xff; 5000][..], &small(4)].concat());
    desk.run("-q -r c --glob *.bin -o out/ --report first.json").ends(0);
    desk.run("-q -r c --glob *.bin -o out/ --report second.json --skip-unchanged").ends(0);
    let text = |name: &str| desk.json(name)["inputs"].to_string();
    let as_if_new =
        text("second.json").replace("\"unchanged\":true", "\"unchanged\":false").replace("\"unchanged\"", "\"converted\"");
    assert_eq!(as_if_new.replace("\"converted\":false", "\"unchanged\":false"), text("first.json"));
    assert!(inputs(&desk.json("second.json")).iter().all(|input| input["unchanged"] == true));
}

#[test]
fn whatever_is_not_exactly_so_is_made_again() {
    let desk = Desk::new();
    desk.put("a.bin", &small(1));
    desk.run("-q a.bin -o out/").ends(0);
    let trace = desk.get(TRACE);
    let is_kept = |options: &str| {
        age(&desk, TRACE);
        desk.run(&format!("-q a.bin -o out/ --skip-unchanged {options}")).ends(0);
        is_old(&desk, TRACE)
    };
    assert!(is_kept("") && is_kept("--threads 1") && is_kept("--no-mmap") && is_kept("--format tonbandgeraet"));
    for options in ["--detail all", "--name pump", "--from +1us", "--to +1s", "--clock-hz 1M", "--cores-separate", "--cores 2"] {
        assert!(!is_kept(options), "{options}");
        assert!(is_kept(options), "{options}");
        desk.run("-q a.bin -o out/").ends(0);
    }

    // Something else is in the place of the trace: it is replaced, as without the option.
    let gzipped = {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        encoder.write_all(&trace).unwrap();
        encoder.finish().unwrap()
    };
    let attributes = trace.windows(4).rposition(|bytes| bytes == b"tool").unwrap() - 8;
    let mut others: Vec<Vec<u8>> = vec![Vec::new(), b"x".to_vec(), b"\x0a".to_vec(), gzipped, small(2), vec![0x0a; 100_000]];
    others.extend([1, 2, trace.len() / 2, trace.len() - 1].map(|len| trace[..len].to_vec()));
    // The end of a trace without its begin or middle, and one with the begin of another.
    others.push(trace[attributes - 100..].to_vec());
    others.push([&trace[..100], &trace[200..]].concat());
    others.push([&[trace[0]][..], &trace].concat());
    desk.put("b.bin", &small(2));
    desk.run("-q b.bin --name a -o other").ends(0);
    others.push(desk.get("other"));
    others.push([&desk.get("other")[..100], &trace[100..]].concat());
    let version = format!("traceconv {}", env!("CARGO_PKG_VERSION"));
    let at = trace.windows(version.len()).position(|bytes| bytes == version.as_bytes()).unwrap();
    let mut older = trace.clone();
    older[at + version.len() - 1] ^= 1;
    others.push(older);
    for (index, other) in others.iter().enumerate() {
        desk.put(TRACE, other);
        assert!(!is_kept(""), "{index}");
        assert!(desk.get(TRACE) == trace, "{index}");
    }

    // The same bytes in another file are the same input; other bytes are not.
    desk.put("gz/a.bin", &{
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(&small(1)).unwrap();
        encoder.finish().unwrap()
    });
    age(&desk, TRACE);
    desk.run("-q gz/a.bin -o out/ --skip-unchanged").ends(0);
    assert!(is_old(&desk, TRACE));
    // But not when that file is cut, even if all of the recording came out of it.
    let mut cut = desk.get("gz/a.bin");
    cut.truncate(cut.len() - 8);
    desk.put("gz/a.bin", &cut);
    desk.run("-q gz/a.bin -o out/ --skip-unchanged --strict").ends(3);
    assert!(!is_old(&desk, TRACE));
    desk.put("a.bin", &damaged(1));
    assert!(!is_kept(""));
}

#[test]
fn cores_of_one_recording_are_known_again() {
    let desk = Desk::new();
    desk.put("0.bin", &small(1));
    desk.put("1.bin", &small(2));
    let line = "-q 0.bin@0 1.bin@1 -o dual.perfetto-trace --skip-unchanged";
    desk.run(line).ends(0);
    age(&desk, "dual.perfetto-trace");
    desk.run(&format!("{line} --report r.json")).ends(0);
    assert!(is_old(&desk, "dual.perfetto-trace"));
    assert!(inputs(&desk.json("r.json")).iter().all(|input| input["unchanged"] == true && input["events"].as_u64() > Some(0)));
    desk.run("-q 0.bin@1 1.bin@0 -o dual.perfetto-trace --skip-unchanged").ends(0);
    assert!(!is_old(&desk, "dual.perfetto-trace"));
    // A trace that goes to a pipe is always made.
    let ran = desk.run("-q 0.bin -o - --skip-unchanged").ends(0);
    assert!(ran.stdout.len() > 100);
}
