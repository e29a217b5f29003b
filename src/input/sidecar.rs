//! The notes beside a recording: `X.traceconv.jsonl` beside X, lines of JSON that the recorder writes.
//!
//! Each line is an object with `note`, the kind; `offset`, the place in the recording in bytes; and `at_ns`, nanoseconds since the
//! recording was started. Losses are called by their codes. Lines of unknown kinds are skipped, so that others may add theirs.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::{Input, Layer};
use crate::model::{LossKind, RecorderNote, RecorderNotes, counted, losses};

/// The end of the name of the notes, after the whole name of the recording.
pub const SIDECAR_EXTENSION: &str = "traceconv.jsonl";

/// Longer notes are not read: a recorder does not write that much.
pub const SIDECAR_BYTES_MAX: u64 = 16 << 20;

/// The most cases, or bytes, of a note: sums of them do not overflow.
const COUNT_MAX: u64 = 1 << 40;

/// The first line: where the recording is from.
pub const START: &str = "start";
/// Bytes that were sent to the target.
pub const SENT: &str = "sent";
/// The last line: why the recording ended, and its length.
pub const END: &str = "end";

/// The losses that a recorder notes.
const KINDS: [LossKind; 6] = [
    losses::DRIVER_OVERRUN,
    losses::FRAMING_ERROR,
    losses::PARITY_ERROR,
    losses::RECORDER_OVERRUN,
    losses::RECONNECTED,
    losses::SOURCE_SILENT,
];

/// One line.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Line {
    /// The kind.
    pub note: String,
    /// Time since the start of the recording, in nanoseconds.
    #[serde(default)]
    pub at_ns: u64,
    /// The place in the recording, in bytes.
    #[serde(default)]
    pub offset: u64,
    /// The number of cases, if it is not one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count: Option<u64>,
    /// The number of bytes that are missing, if it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// Bytes in hexadecimal digits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hex: Option<String>,
    /// The source, or a reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The time of day of the start, in nanoseconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unix_ns: Option<u64>,
    /// The version of the recorder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_version: Option<String>,
}

/// The name of the notes beside a recording.
#[must_use]
pub fn beside(recording: &Path) -> PathBuf {
    let mut name = OsString::from(recording);
    name.push(".");
    name.push(SIDECAR_EXTENSION);
    name.into()
}

/// Whether a file has the name of notes.
#[must_use]
pub fn is_sidecar(path: &Path) -> bool {
    path.as_os_str().as_encoded_bytes().ends_with(format!(".{SIDECAR_EXTENSION}").as_bytes())
}

/// Reads the notes beside a file that was opened, if there are any. If the notes are about a file around the recording (hex or base64 text, or
/// the stream of a J-Link's server), their places become those in the recording.
#[must_use]
pub fn read_of(recording: &Path, input: &Input) -> Option<RecorderNotes> {
    if matches!(input.layers(), [Layer::Hex | Layer::HexDump | Layer::Base64])
        && let Some(mut notes) = read(recording, input.file_bytes())
        && !notes.text.is_empty()
    {
        let placed = File::open(recording).and_then(|file| decode_places(&mut notes.notes, file, input.bytes().len() as u64));
        return Some(placed.map_or_else(|error| unread(&cannot_be_read(&error)), |()| notes));
    }
    if let [Layer::JLink] = input.layers() {
        let left_out = input.file_bytes() - input.bytes().len() as u64;
        let mut notes = read(recording, input.file_bytes())?;
        notes.notes.iter_mut().for_each(|note| note.offset = note.offset.saturating_sub(left_out));
        return Some(notes);
    }
    read(recording, input.bytes().len() as u64)
}

/// Moves notes, in order, from places in a text to those in the bytes that it encodes. Each symbol of the text has the same share of the
/// bytes; that is exact for hex digits without prefixes, and else within a symbol or a line.
fn decode_places(notes: &mut [RecorderNote], mut text: impl Read, decoded_bytes: u64) -> io::Result<()> {
    let (mut at, mut symbols, mut block) = (0u64, 0u64, [0; 64 << 10]);
    let mut left = notes.iter_mut().peekable();
    let mut placed = Vec::new();
    loop {
        let len = match text.read(&mut block) {
            Ok(0) => break,
            Ok(len) => len,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        for byte in block.get(..len).unwrap_or_default() {
            while let Some(note) = left.next_if(|note| note.offset <= at) {
                note.offset = symbols;
                placed.push(note);
            }
            symbols += u64::from(byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/'));
            at += 1;
        }
    }
    for note in left {
        note.offset = symbols;
        placed.push(note);
    }
    for note in placed {
        let place = u128::from(note.offset) * u128::from(decoded_bytes) / u128::from(symbols.max(1));
        note.offset = u64::try_from(place).unwrap_or(decoded_bytes);
    }
    Ok(())
}

/// Reads the notes beside a recording of `input_bytes` bytes, if there are any. Problems with them are among their hints: the recording
/// is read all the same.
#[must_use]
pub fn read(recording: &Path, input_bytes: u64) -> Option<RecorderNotes> {
    let path = beside(recording);
    // A device or a FIFO of that name would block.
    if !fs::metadata(&path).ok()?.is_file() {
        return None;
    }
    let mut text = Vec::new();
    let read = File::open(&path).and_then(|file| file.take(SIDECAR_BYTES_MAX + 1).read_to_end(&mut text));
    Some(match read {
        Ok(_) if text.len() as u64 > SIDECAR_BYTES_MAX => unread(&format!("have more than {SIDECAR_BYTES_MAX} bytes")),
        Ok(_) => parse(text, input_bytes),
        Err(error) => unread(&cannot_be_read(&error)),
    })
}

fn cannot_be_read(error: &io::Error) -> String {
    format!("cannot be read: {error}")
}

fn unread(why: &str) -> RecorderNotes {
    RecorderNotes {
        hints: vec![format!("The notes of the recorder (.{SIDECAR_EXTENSION}) {why}; they were not used.")],
        ..RecorderNotes::default()
    }
}

/// Reads the text of notes about a recording of `input_bytes` bytes.
#[must_use]
pub fn parse(text: Vec<u8>, input_bytes: u64) -> RecorderNotes {
    let mut notes: Vec<RecorderNote> = Vec::new();
    let (mut source, mut length, mut bad) = (None, None, 0u64);
    for line in text.split(|&byte| byte == b'\n').map(<[u8]>::trim_ascii).filter(|line| !line.is_empty()) {
        let Ok(line) = serde_json::from_slice::<Line>(line) else {
            // Other objects may be those of another program.
            bad += u64::from(serde_json::from_slice::<serde_json::Map<_, serde_json::Value>>(line).is_err());
            continue;
        };
        match line.note.as_str() {
            START => source = line.text,
            END => length = Some(line.offset),
            code => notes.extend(KINDS.iter().find(|kind| kind.code == code).map(|&kind| RecorderNote {
                count: line.count.unwrap_or(1).clamp(1, COUNT_MAX),
                bytes: line.bytes.unwrap_or(0).min(COUNT_MAX),
                ..RecorderNote::new(kind, line.offset)
            })),
        }
    }
    if let Some(length) = length.filter(|&length| length != input_bytes) {
        return unread(&format!("are about a recording of {length} bytes, not of {input_bytes}"));
    }
    notes.sort_by_key(|note| note.offset);
    let hints = (bad > 0)
        .then(|| format!("Not JSON objects in the notes of the recorder (.{SIDECAR_EXTENSION}): {}.", counted(bad, "line")));
    let mut read = RecorderNotes::default();
    (read.text, read.notes, read.source, read.hints) = (text, notes, source, hints.into_iter().collect());
    read
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(lines: &[&str]) -> Vec<u8> {
        lines.join("\n").into_bytes()
    }

    #[test]
    fn losses_are_read_and_other_lines_skipped() {
        let lines = [
            r#"{"note":"start","text":"tcp:host:1","unix_ns":1}"#,
            r#"{"note":"reconnected","at_ns":5,"offset":90}"#,
            r#"{"note":"driver_overrun","at_ns":2,"offset":10,"count":3}"#,
            r#"{"note":"sent","offset":10,"hex":"97"}"#,
            r#"{"labels":{"board":"A"}}"#,
            r#"{"note":"recorder_overrun","offset":95,"bytes":7}"#,
            r#"{"note":"end","offset":100,"text":"stopped"}"#,
        ];
        let read = parse(text(&lines), 100);
        assert_eq!(read.source.as_deref(), Some("tcp:host:1"));
        let found: Vec<_> = read.notes.iter().map(|note| (note.kind.code, note.offset, note.count, note.bytes)).collect();
        assert_eq!(found, [("driver_overrun", 10, 3, 0), ("reconnected", 90, 1, 0), ("recorder_overrun", 95, 1, 7)]);
        assert!(read.hints.is_empty() && read.text == text(&lines));
    }

    #[test]
    fn notes_about_another_recording_are_not_used() {
        let read = parse(text(&[r#"{"note":"reconnected","offset":5}"#, r#"{"note":"end","offset":9}"#]), 10);
        assert!(read.notes.is_empty() && read.text.is_empty());
        assert_eq!(
            read.hints,
            ["The notes of the recorder (.traceconv.jsonl) are about a recording of 9 bytes, not of 10; they were not used."]
        );
    }

    #[test]
    fn damage_is_reported_and_the_rest_used() {
        let read = parse(text(&["{", "\u{0}\u{1}", r#"{"note":7}"#, r#"{"note":"source_silent","offset":3}"#, "[]"]), 10);
        assert_eq!(read.notes.len(), 1);
        assert_eq!(read.hints, ["Not JSON objects in the notes of the recorder (.traceconv.jsonl): 3 lines."]);
    }

    #[test]
    fn places_in_text_become_those_of_its_bytes() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run.txt");
        let note = |offset: u64| format!("{{\"note\":\"reconnected\",\"offset\":{offset}}}\n");
        let end = |offset: usize| format!("{{\"note\":\"end\",\"offset\":{offset}}}\n");
        // Lines of 16 bytes; 12 notes, one in each.
        let bytes: Vec<u8> = (0..192).collect();
        let hex: String = bytes.chunks(16).map(|line| data_encoding::HEXLOWER.encode(line) + "\n").collect();
        let in_hex: String = (0..12).map(|line| note(line * 33 + 10)).collect();
        let greeting = b"SEGGER J-Link V6.44 - Real time terminal output\r\nJ-Link OB V1.0, SN=1\r\nProcess: JLinkExe\r\n";
        let base64 = data_encoding::BASE64.encode(&bytes).into_bytes();
        let hex = hex.into_bytes();
        let cases = [
            // The notes are about the text, also without its length; about the bytes; about something else.
            (hex.clone(), in_hex.clone() + &end(hex.len()), (0..12).map(|line| line * 16 + 5).collect()),
            (hex.clone(), in_hex, (0..12).map(|line| line * 16 + 5).collect()),
            (hex.clone(), note(10) + &note(100) + &end(192), vec![10, 100]),
            (hex, note(10) + &end(191), vec![]),
            (base64, note(0) + &note(128) + &note(999) + &end(256), vec![0, 96, 192]),
            ([greeting, &bytes[..]].concat(), note(9) + &note(90 + 100) + &end(90 + 192), vec![0, 100]),
        ];
        for (text, notes, expected) in cases {
            fs::write(&path, &text).unwrap();
            fs::write(beside(&path), notes).unwrap();
            let input = Input::open(&path, &super::super::ReadOptions::default()).unwrap();
            assert_eq!(input.bytes(), bytes);
            let read = read_of(&path, &input).unwrap();
            assert_eq!(read.notes.iter().map(|note| note.offset).collect::<Vec<_>>(), expected, "{}", text.escape_ascii());
            assert_eq!(read.hints.is_empty(), !expected.is_empty());
        }
    }

    #[test]
    fn the_name_is_that_of_the_recording_and_more() {
        assert_eq!(beside(Path::new("a/run.bin")), Path::new("a/run.bin.traceconv.jsonl"));
        assert!(is_sidecar(Path::new("a/run.bin.traceconv.jsonl")) && !is_sidecar(Path::new("run.jsonl")));
        assert_eq!(read(Path::new("there/is/none.bin"), 1), None);
    }
}
