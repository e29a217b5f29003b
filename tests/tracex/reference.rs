//! Recordings of real targets, compared with what another decoder reads.
//!
//! They are not part of this project. `TRACECONV_TRACEX` names the folder that has them, and `TRACECONV_TRACEX_PYTHON` a
//! Python with `tracex-parser`, which lists each event; this test is ignored unless asked for.

use std::path::PathBuf;
use std::process::Command;

use traceconv::format::FieldValue;

use crate::run::{Cut, subject};

/// Thread, id, time stamp and fields of each event.
const LIST: &str = "import sys\n\
    from tracex_parser.file_parser import parse_tracex_buffer\n\
    for event in parse_tracex_buffer(sys.argv.pop())[0]:\n    \
        print(event.thread_ptr, event.thread_priority, event.id, event.timestamp, *event.raw_args)\n";

#[test]
#[ignore = "needs recordings that are not in the project, in the folder TRACECONV_TRACEX"]
fn real_recordings_have_the_events_of_the_reference() {
    let folder = std::env::var_os("TRACECONV_TRACEX").map(PathBuf::from).expect("TRACECONV_TRACEX names a folder");
    let python = std::env::var_os("TRACECONV_TRACEX_PYTHON").expect("TRACECONV_TRACEX_PYTHON names a program");
    for (name, count) in [("demo_threadx.trx", 974), ("demo_netx_udp.trx", 950)] {
        let path = folder.join(name);
        let capture = std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let word = |at: usize| u32::from_le_bytes(*capture[at..].first_chunk().expect("it is within the file"));
        let mut found = Vec::new();
        subject().each_record(&capture, Cut::WHOLE, |record| {
            // A file is an image of more memory than the buffer has: its header has the addresses of its start and its end.
            if record.record == "invalid" {
                return assert!(record.offset >= u64::from(word(28) - word(8)), "{}", record.offset);
            }
            let at = record.offset as usize;
            let mut words = [0, 4, 8, 12, 16, 20, 24, 28].map(|field| word(at + field));
            // The mask of the clock's bits is in the header.
            words[3] &= word(4);
            assert!(record.fields.iter().all(|(_, value)| matches!(value, FieldValue::Uint(_))));
            assert_eq!(record.ticks, Some(u64::from(words[3])));
            found.push(words.map(|word| word.to_string()).join(" "));
        });
        assert_eq!(found.len(), count, "{name}");
        let output = Command::new(&python).args(["-c", LIST]).arg(&path).output().expect("Python starts");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let expected = String::from_utf8(output.stdout).expect("it is text");
        assert_eq!(found, expected.lines().collect::<Vec<_>>(), "{name}");
    }
}
