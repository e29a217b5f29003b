//! Bytes → the notes of a recorder: no panic, in order, counts that can be added, and a conversion that has all of them.

#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use traceconv::format::{FORMATS, Format};
use traceconv::input::sidecar::{Line, parse};
use traceconv::pipeline::{Options, Source, statistics};

static RECORDING: LazyLock<(&'static dyn Format, Vec<u8>)> = LazyLock::new(|| {
    let format = FORMATS.iter().copied().find(|format| format.name() == "tonbandgeraet").expect("it is registered");
    let mut bytes = Vec::new();
    format.generate(2000, 1, &mut bytes).expect("memory has room");
    (format, bytes)
});

fuzz_target!(|text: &[u8]| {
    let (format, bytes) = &*RECORDING;
    let notes = parse(text.to_vec(), bytes.len() as u64);
    assert!(notes.notes.is_sorted_by_key(|note| note.offset));
    assert!(notes.notes.iter().all(|note| note.count > 0));
    // Notes about another recording are not used, not even in part.
    assert!(notes.text == text || (notes.text.is_empty() && notes.notes.is_empty() && notes.hints.len() == 1));
    for line in text.split(|&byte| byte == b'\n') {
        if let Ok(line) = serde_json::from_slice::<Line>(line) {
            let written = serde_json::to_vec(&line).expect("a line can be written");
            assert_eq!(serde_json::from_slice::<Line>(&written).expect("and read"), line);
        }
    }

    let cases = |recorder| {
        let source = Source::new(bytes, *format).recorder(recorder);
        let read = statistics(&[source], &Options::default().threads(1), false, &mut |_| true).expect("notes are no error");
        read.inputs[0].ledger.entries().iter().map(|entry| entry.count).sum::<u64>()
    };
    let noted: u64 = notes.notes.iter().map(|note| note.count).sum();
    assert_eq!(cases(Some(&notes)), cases(None) + noted);
});
