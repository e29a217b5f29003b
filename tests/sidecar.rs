//! The notes of a recorder beside a recording: a second input, drawn on the Losses track, in the report, and part of the identity.

mod desk;
mod reader;

use desk::Desk;
use reader::Trace;
use traceconv::format::FORMATS;
use traceconv::input::sidecar;
use traceconv::pipeline::{self, Options, Source};

const NOTES: &str = r#"{"note":"start","text":"serial:/dev/ttyACM0?baud=921600","unix_ns":1}
{"note":"driver_overrun","at_ns":5,"offset":20000,"count":3}
{"note":"source_silent","at_ns":7,"offset":30000}
{"note":"reconnected","at_ns":9,"offset":40000}
{"note":"recorder_overrun","at_ns":11,"offset":40005,"bytes":77}
"#;

fn demo() -> Vec<u8> {
    std::fs::read(concat!(env!("CARGO_MANIFEST_DIR"), "/testdata/demo/demo.bin")).unwrap()
}

fn desk(notes: &str) -> Desk {
    let desk = Desk::with("run.bin", &demo());
    desk.put("run.bin.traceconv.jsonl", notes.as_bytes());
    desk
}

/// The names of what is on the Losses track.
fn losses(trace: &[u8]) -> Vec<String> {
    let trace = Trace::parse(trace).unwrap();
    let Some(track) = trace.track("Losses") else { return Vec::new() };
    let slices = trace.slices_on(track).map(|slice| (slice.ts, slice.name.clone()));
    let instants =
        trace.instants.iter().filter(|instant| instant.track == track).map(|instant| (instant.ts, instant.name.clone()));
    let mut drawn: Vec<(u64, String)> = slices.chain(instants).collect();
    drawn.sort_by_key(|&(ts, _)| ts);
    drawn.into_iter().map(|(_, name)| name).collect()
}

#[test]
fn notes_are_drawn_and_reported() {
    let desk = desk(NOTES);
    desk.run("run.bin -v").ends(0).says(&[
        "source: serial:/dev/ttyACM0?baud=921600 (noted by the recorder)",
        "lost: 3 x the host lost bytes or datagrams, because they were not taken fast enough [driver_overrun], first at byte 20000",
        "[reconnected], at byte 40000",
        "[recorder_overrun], at byte 40005",
        "repaired: 1 x the source sent nothing for a while [source_silent], at byte 30000",
    ]);
    let drawn = losses(&desk.get("run.perfetto-trace"));
    let expected = [
        "the host lost bytes or datagrams, because they were not taken fast enough",
        "the source sent nothing for a while",
        "the source was gone and came back; what it sent in between is missing",
        "the recorder dropped bytes, because the file could not be written fast enough",
    ];
    assert_eq!(drawn, expected);
    desk.run("run.bin --strict").ends(3);
    desk.run("info run.bin").ends(0);
    desk.run("stats run.bin").ends(0);
}

/// A trace without them is another one, and so is one with others.
#[test]
fn notes_are_part_of_the_identity() {
    let desk = desk(NOTES);
    desk.run("run.bin").ends(0);
    desk.run("run.bin --skip-unchanged").ends(0).says(&["unchanged"]);
    let with = desk.get("run.perfetto-trace");
    desk.put("run.bin.traceconv.jsonl", NOTES.replace("20000", "20001").as_bytes());
    let said = desk.run("run.bin --skip-unchanged").ends(0).stderr;
    assert!(!said.contains("unchanged") && desk.get("run.perfetto-trace") != with, "{said}");
    // Those of another recording are not used, and that is said.
    desk.put("run.bin.traceconv.jsonl", format!("{NOTES}{{\"note\":\"end\",\"offset\":7}}\n").as_bytes());
    desk.run("run.bin").ends(0).says(&["nothing lost", "are about a recording of 7 bytes, not of"]);
    let unused = desk.get("run.perfetto-trace");
    std::fs::remove_file(desk.path("run.bin.traceconv.jsonl")).unwrap();
    desk.run("run.bin").ends(0).says(&["nothing lost"]);
    assert!(losses(&desk.get("run.perfetto-trace")).is_empty() && losses(&unused).is_empty());
}

#[test]
fn notes_are_no_inputs() {
    let desk = desk(NOTES);
    desk.run("-r . -o out/").ends(0);
    assert_eq!(desk.files("out"), ["run.perfetto-trace"]);
    desk.run_with_stdin("- -o piped.perfetto-trace", &demo()).ends(0).says(&["nothing lost"]);
}

/// In every format: the place of a note depends neither on windows nor on threads, and each note is drawn once.
#[test]
fn windows_have_no_influence() {
    for format in FORMATS {
        let mut capture = Vec::new();
        let options = format.generate(60_000, 3, &mut capture).unwrap();
        let line = |(number, offset): (usize, usize)| {
            let note = ["reconnected", "source_silent", "framing_error"][number % 3];
            format!("{{\"note\":\"{note}\",\"offset\":{offset}}}\n")
        };
        let text: String = (0..capture.len() + 9_000).step_by(7_001).enumerate().map(line).collect();
        let count = text.lines().count();
        let notes = sidecar::parse(text.into_bytes(), capture.len() as u64);
        let convert = |threads: usize, window_bytes: usize| {
            let sources = [Source::new(&capture, *format).options(options.clone()).recorder(&notes)];
            let options = Options::default().threads(threads).window_bytes(window_bytes);
            let mut trace = Vec::new();
            let converted = pipeline::convert(&sources, &options, &mut trace, &mut |_| true).unwrap();
            (trace, converted.inputs[0].ledger.clone())
        };
        let (whole, ledger) = convert(1, 1 << 20);
        let noted = ["reconnected", "source_silent", "framing_error"];
        let cases = ledger.entries().iter().filter(|entry| noted.contains(&entry.kind.code));
        assert_eq!(cases.map(|entry| entry.count).sum::<u64>(), count as u64, "{}", format.name());
        for (threads, window_bytes) in [(1, 64), (2, 1000), (3, 10_000)] {
            assert!(convert(threads, window_bytes).0 == whole, "{}: {threads} threads, windows of {window_bytes}", format.name());
        }
    }
}
