//! Compares every record of external captures with the text that qspy printed of them.
//!
//! `TRACECONV_QS_CAPTURES` names a folder with captures `NAME.bin` and texts `NAME.qspy.txt.gz`. Tests that need it are ignored
//! unless asked for.

use std::io::Read;
use std::path::{Path, PathBuf};

use crate::common::run::{Cut, Subject};
use crate::qspy::{Said, records};

/// The folder of external captures.
pub fn folder() -> Option<PathBuf> {
    std::env::var_os("TRACECONV_QS_CAPTURES").map(PathBuf::from)
}

/// The external captures, if there is a folder with such, and their names.
pub fn external() -> Vec<(String, Vec<u8>)> {
    let files = folder().into_iter().flat_map(|folder| std::fs::read_dir(folder).expect("it can be listed"));
    let paths = files.map(|entry| entry.expect("it can be listed").path());
    let captures = paths.filter(|path| path.extension().is_some_and(|extension| extension == "bin"));
    let name = |path: &Path| path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    captures.map(|path| (name(&path), std::fs::read(path).expect("it can be read"))).collect()
}

fn text(path: &Path) -> String {
    let file = std::fs::File::open(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let mut text = Vec::new();
    flate2::read::GzDecoder::new(file).read_to_end(&mut text).expect("it is gzip");
    String::from_utf8_lossy(&text).into_owned()
}

/// The known differences, and how often each occurred.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Exceptions {
    /// qspy prints numbers of things whose names come later in the stream.
    pub named_later: usize,
    /// qspy adds one to the tick rate when it prints ARM, DISARM and REARM, and to the byte that says whether it was armed.
    pub one_too_many: usize,
    /// A record with an unescaped text, which qspy refuses and we repair.
    pub repaired: usize,
}

/// Compares a capture with its text, and counts the exceptions.
fn compare(capture: &[u8], text: &str, name: &str) -> Exceptions {
    let mut exceptions = Exceptions::default();
    let mut said = Vec::new();
    Subject::new("qs").each_record(capture, Cut::WHOLE, |view| said.push(Said::of(view)));
    let mut printed = records(text).into_iter().peekable();
    let squeezed = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    for (number, said) in said.iter().enumerate() {
        let Some(line) = said.line(false) else { continue };
        let Some(next) = printed.peek() else { panic!("{name}: qspy has no record {number}: {line}") };
        let same = |line: &str| {
            if said.is_user() {
                squeezed_values(&next.text) == squeezed_values(line)
            } else {
                squeezed(&next.text) == squeezed(line)
            }
        };
        let is_time = next.time == said.time();
        if is_time && same(&line) {
        } else if is_time && said.partly_named().iter().any(|line| same(line)) {
            exceptions.named_later += 1;
        } else if is_time && said.one_too_many().is_some_and(|line| same(&line)) {
            exceptions.one_too_many += 1;
        } else if said.has_unescaped_text() {
            exceptions.repaired += 1;
            continue;
        } else {
            panic!("{name}, record {number}:\n  qspy {:?} {}\n  ours {:?} {line}", next.time, next.text, said.time());
        }
        printed.next();
    }
    let rest: Vec<String> = printed.map(|printed| printed.text).collect();
    assert!(rest.is_empty(), "{name}: qspy has more: {rest:?}");
    exceptions
}

/// The values of an application record, as numbers if possible, so that the digits of a fraction do not matter.
fn squeezed_values(line: &str) -> Vec<String> {
    let words = line.split_whitespace().map(|word| match word.parse::<f64>() {
        Ok(number) if word.contains(['.', 'e']) => format!("{:e}", (number * 1e6).round() / 1e6),
        _ => word.to_owned(),
    });
    words.filter(|word| word != "''").collect()
}

#[test]
#[ignore = "needs captures that are not in the project, in the folder TRACECONV_QS_CAPTURES"]
fn sizes_are_inferred_so_that_no_record_is_rejected() {
    let folder = folder().expect("TRACECONV_QS_CAPTURES names a folder");
    let capture = std::fs::read(folder.join("qp694_dpp_no_dict.bin")).expect("it lies there");
    let conversion = Subject::new("qs").convert(&capture, Cut::WHOLE);
    let ledger = &conversion.summary.ledger;
    // The recording begins within a frame.
    let kinds: Vec<_> = ledger.entries().iter().map(|entry| (entry.kind.code, entry.count, entry.first_offset)).collect();
    assert_eq!(kinds, [("bad_checksum", 1, Some(0))]);
    assert_eq!(ledger.frames_ok, 845);
}

#[test]
#[ignore = "needs captures that are not in the project, in the folder TRACECONV_QS_CAPTURES"]
fn records_are_those_that_qspy_prints() {
    let folder = folder().expect("TRACECONV_QS_CAPTURES names a folder");
    let mut compared = 0;
    for entry in std::fs::read_dir(&folder).expect("it can be listed") {
        let path = entry.expect("it can be listed").path();
        let Some(name) = path.to_str().and_then(|path| path.strip_suffix(".qspy.txt.gz")) else { continue };
        let capture = std::fs::read(format!("{name}.bin")).expect("the capture is beside its text");
        let exceptions = compare(&capture, &text(&path), name);
        println!("{name}: equal, except for {exceptions:?}");
        compared += 1;
    }
    assert!(compared > 0, "no text of qspy in {}", folder.display());
}
