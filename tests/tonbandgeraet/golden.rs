//! Captures under `testdata/tonbandgeraet`, and beside each the views that must come out of it.
//!
//! `cargo xtask bless` writes captures and views anew; the changes are then reviewed as a diff.

use std::fs;
use std::path::Path;

use traceconv::pipeline::EventDetail;

use crate::captures::{self, Capture, folder};
use crate::reader::Trace;
use crate::run::{self, Cut, convert, convert_with, dump};
use crate::views;

/// Set to write what is instead of comparing with what shall be.
const BLESS: &str = "TRACECONV_BLESS";

/// What else lies in the folder: captures to try the program on.
const OTHERS: [&str; 3] = ["README.md", "demo.bin", "damaged.bin"];

fn is_blessing() -> bool {
    std::env::var_os(BLESS).is_some_and(|value| value == "1")
}

/// Compares, or writes. Gives what is wrong.
fn check(path: &Path, found: &[u8]) -> Option<String> {
    if is_blessing() {
        fs::write(path, found).unwrap_or_else(|error| panic!("cannot write {}: {error}", path.display()));
        return None;
    }
    let expected = match fs::read(path) {
        Ok(expected) => expected,
        Err(error) => return Some(format!("{}: {error}", path.display())),
    };
    if expected == found {
        return None;
    }
    let (expected, found) = (String::from_utf8_lossy(&expected), String::from_utf8_lossy(found));
    let differs = expected.lines().zip(found.lines()).position(|(expected, found)| expected != found);
    let line = differs.unwrap_or(expected.lines().count().min(found.lines().count()));
    let of = |text: &str| text.lines().nth(line).unwrap_or("(the end)").to_owned();
    Some(format!("{}, line {}:\n  expected {}\n  found    {}", path.display(), line + 1, of(&expected), of(&found)))
}

fn views_of(capture: &Capture) -> Vec<(&'static str, String)> {
    let conversion = convert(&capture.bytes, Cut::WHOLE);
    vec![
        ("records.jsonl", dump(&capture.bytes, Cut::WHOLE, views::record).join("\n") + "\n"),
        ("events.txt", views::events(&capture.bytes, usize::MAX / 2)),
        ("ledger.txt", views::ledger(&conversion.summary)),
        ("trace.txt", views::trace(&conversion.read())),
    ]
}

#[test]
fn captures_give_their_views() {
    let folder = folder();
    let mut wrong = Vec::new();
    let mut known: Vec<String> = OTHERS.map(str::to_owned).into();
    for capture in captures::all() {
        known.push(format!("{}.bin", capture.name));
        if capture.is_recorded {
            known.push(format!("{}.log.txt", capture.name));
        } else {
            wrong.extend(check(&folder.join(format!("{}.bin", capture.name)), &capture.bytes));
        }
        for (view, text) in views_of(&capture) {
            known.push(format!("{}.{view}", capture.name));
            wrong.extend(check(&folder.join(format!("{}.{view}", capture.name)), text.as_bytes()));
        }
    }
    for entry in fs::read_dir(&folder).expect("the folder is there") {
        let entry = entry.expect("it can be listed");
        let name = entry.file_name().to_string_lossy().into_owned();
        if known.contains(&name) {
            continue;
        }
        if is_blessing() {
            fs::remove_file(entry.path()).unwrap_or_else(|error| panic!("cannot remove {name}: {error}"));
        } else {
            wrong.push(format!("{name} belongs to no capture"));
        }
    }
    assert!(wrong.is_empty(), "`cargo xtask bless` writes these anew:\n{}", wrong.join("\n"));
}

/// What the tracer library recorded, with every backend, is whole, and nothing of it needs a repair.
#[test]
fn recorded_captures_have_an_empty_ledger() {
    let recorded: Vec<Capture> = captures::all().into_iter().filter(|capture| capture.is_recorded).collect();
    assert!(recorded.len() >= 10, "only {} captures of the library are left", recorded.len());
    for capture in recorded {
        let ledger = convert(&capture.bytes, Cut::WHOLE).summary.ledger;
        assert!(ledger.entries().is_empty(), "{}: {:?}", capture.name, ledger.entries());
        assert_eq!((ledger.decoded_bytes, ledger.frames_bad), (capture.bytes.len() as u64, 0), "{}", capture.name);
        assert!(capture.bytes.len() <= 20_000, "{} is large", capture.name);
    }
}

#[test]
fn threads_and_windows_change_nothing() {
    for capture in captures::all() {
        let whole = convert(&capture.bytes, Cut::WHOLE);
        let records = dump(&capture.bytes, Cut::WHOLE, views::record);
        let events = views::events(&capture.bytes, usize::MAX / 2);
        for window_bytes in [1, 64, 1000, 4096, 1 << 20] {
            for threads in [1, 2, 3] {
                let cut = Cut { threads, window_bytes };
                let conversion = convert(&capture.bytes, cut);
                assert!(conversion.trace == whole.trace, "{}: another trace with {cut:?}", capture.name);
                assert_eq!(views::ledger(&conversion.summary), views::ledger(&whole.summary), "{} {cut:?}", capture.name);
            }
            let cut = Cut { threads: 2, window_bytes };
            assert_eq!(dump(&capture.bytes, cut, views::record), records, "{}: windows of {window_bytes}", capture.name);
            assert_eq!(views::events(&capture.bytes, window_bytes), events, "{}: windows of {window_bytes}", capture.name);
        }
    }
}

#[test]
fn every_detail_of_events_is_readable() {
    for capture in captures::all() {
        for events in [EventDetail::None, EventDetail::All] {
            let options = traceconv::pipeline::Options { events, ..run::options(Cut::WHOLE) };
            let trace = Trace::parse(&convert_with(&capture.bytes, &options).trace);
            let trace = trace.unwrap_or_else(|error| panic!("{} with {events:?}: {error}", capture.name));
            let raw = trace.instants.iter().filter(|instant| trace.path(instant.track).contains("/Events/")).count();
            assert_eq!(raw > 0, events == EventDetail::All, "{} with {events:?}: {raw} raw events", capture.name);
        }
    }
}
