//! Captures under `testdata/<format>`, and beside each the views that must come out of it.
//!
//! `cargo xtask bless` writes captures and views again; the changes are then reviewed as a diff.

use std::fs;
use std::path::{Path, PathBuf};

use traceconv::pipeline::EventDetail;

use super::run::{self, Cut, Subject};
use super::views;
use crate::reader::Trace;

/// Set to write the views instead of comparing them.
const BLESS: &str = "TRACECONV_BLESS";

/// A capture that a test makes.
#[derive(Clone, Debug)]
pub struct Capture {
    /// The stem of its file's name.
    pub name: String,
    pub bytes: Vec<u8>,
}

/// The captures of one folder and how they are converted.
pub struct Goldens {
    pub subject: Subject,
    /// Below `testdata/`.
    pub folder: &'static str,
    /// The ending of a capture's file, without the dot.
    pub extension: &'static str,
    pub captures: Vec<Capture>,
    /// The other files of the folder, by name.
    pub others: &'static [&'static str],
}

/// The tests of all captures of some folders.
macro_rules! golden_tests {
    ($goldens:expr) => {
        #[test]
        fn captures_give_their_views() {
            $goldens.iter().for_each(Goldens::check_views);
        }

        #[test]
        fn threads_and_windows_change_nothing() {
            $goldens.iter().for_each(Goldens::check_cuts);
        }

        #[test]
        fn every_detail_of_events_is_readable() {
            $goldens.iter().for_each(Goldens::check_details);
        }
    };
}
pub(crate) use golden_tests;

fn is_blessing() -> bool {
    std::env::var_os(BLESS).is_some_and(|value| value == "1")
}

/// Compares, or writes. Returns the differences.
fn check(path: &Path, found: &[u8]) -> Option<String> {
    if is_blessing() {
        // Files that are right are not written: other tests may be reading them.
        if fs::read(path).is_ok_and(|expected| expected == found) {
            return None;
        }
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

impl Goldens {
    fn path(&self) -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata").join(self.folder)
    }

    fn views_of(&self, capture: &Capture) -> Vec<(&'static str, String)> {
        let conversion = self.subject.convert(&capture.bytes, Cut::WHOLE);
        vec![
            ("records.jsonl", self.subject.dump(&capture.bytes, Cut::WHOLE, views::record).join("\n") + "\n"),
            ("events.txt", views::events(&self.subject, &capture.bytes, usize::MAX / 2)),
            ("ledger.txt", views::ledger(&conversion.summary)),
            ("trace.txt", views::trace(&conversion.read())),
        ]
    }

    /// Every capture gives the views that lie beside it, and nothing else lies there.
    pub fn check_views(&self) {
        let folder = self.path();
        let mut wrong = Vec::new();
        let mut known: Vec<String> = self.others.iter().map(|&name| name.to_owned()).collect();
        for capture in &self.captures {
            let file = format!("{}.{}", capture.name, self.extension);
            wrong.extend(check(&folder.join(&file), &capture.bytes));
            known.push(file);
            for (view, text) in self.views_of(capture) {
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
        assert!(wrong.is_empty(), "`cargo xtask bless` writes these again:\n{}", wrong.join("\n"));
    }

    /// Threads and windows change nothing.
    pub fn check_cuts(&self) {
        for Capture { name, bytes } in &self.captures {
            let whole = self.subject.convert(bytes, Cut::WHOLE);
            let records = self.subject.dump(bytes, Cut::WHOLE, views::record);
            let events = views::events(&self.subject, bytes, usize::MAX / 2);
            for window_bytes in [1, 64, 1000, 4096, 1 << 20] {
                for threads in [1, 2, 3] {
                    let cut = Cut { threads, window_bytes };
                    let conversion = self.subject.convert(bytes, cut);
                    assert!(conversion.trace == whole.trace, "{name}: another trace with {cut:?}");
                    assert_eq!(views::ledger(&conversion.summary), views::ledger(&whole.summary), "{name} {cut:?}");
                }
                let cut = Cut { threads: 2, window_bytes };
                assert_eq!(self.subject.dump(bytes, cut, views::record), records, "{name}: windows of {window_bytes}");
                assert_eq!(views::events(&self.subject, bytes, window_bytes), events, "{name}: windows of {window_bytes}");
            }
        }
    }

    /// The reader takes the trace whatever detail of events is asked for.
    pub fn check_details(&self) {
        for Capture { name, bytes } in &self.captures {
            for events in [EventDetail::Overview, EventDetail::All] {
                let options = run::options(Cut::WHOLE).events(events);
                let trace = Trace::parse(&self.subject.convert_with(bytes, &options).trace);
                let trace = trace.unwrap_or_else(|error| panic!("{name} with {events:?}: {error}"));
                let raw = trace.instants.iter().filter(|instant| trace.path(instant.track).contains("/Events/")).count();
                assert_eq!(raw > 0, events == EventDetail::All, "{name} with {events:?}: {raw} raw events");
            }
        }
    }
}
