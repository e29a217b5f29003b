//! What the trace shows, through an independent reader.

use crate::captures::{self, subject};
use crate::common::run::{Cut, Subject};

fn shown(subject: &Subject, captures: &[crate::common::golden::Capture], name: &str) -> crate::reader::Trace {
    let capture = captures.iter().find(|capture| capture.name == name).expect("it is there");
    subject.convert(&capture.bytes, Cut::WHOLE).read()
}

#[test]
fn functions_survive_what_does_not_match() {
    let trace = shown(&subject("syst-text"), &captures::text(), "functions");
    let names: Vec<&str> = trace.slices.iter().map(|slice| slice.name.as_str()).collect();
    for name in ["main", "poll", "read", "open_at_the_end"] {
        assert!(names.contains(&name), "{name} is missing: {names:?}");
    }
    let instants: Vec<&str> = trace.instants.iter().map(|instant| instant.name.as_str()).collect();
    assert!(instants.contains(&"exit never_entered (no enter)"), "{instants:?}");
    assert!(instants.contains(&"exit open_at_the_end (no enter)"), "after a reset nothing is open: {instants:?}");
}

#[test]
fn the_same_messages_by_every_transport() {
    let texts = |name: &str, captures: Vec<crate::common::golden::Capture>, capture: &str| {
        let capture = captures.into_iter().find(|known| known.name == capture).expect("it is there");
        let mut lines = subject(name).dump(&capture.bytes, Cut::WHOLE, |view| {
            let text = view.fields.iter().find(|(name, _)| *name == "text").map(|(_, value)| format!("{value:?}"));
            format!("{} {}", view.record, text.unwrap_or_default())
        });
        lines.retain(|line| !line.starts_with("FREQ"));
        lines
    };
    let text = texts("syst-text", captures::text(), "every_kind");
    assert_eq!(texts("syst-raw", captures::raw(), "every_kind"), text);
    for capture in ["natural_flags", "natural_lsb", "delta_told_lsb", "gray_marked", "tpiu"] {
        assert_eq!(texts("syst-stp", captures::stp(), capture), text, "{capture}");
    }
}
