//! Logs of which some lines hold a recording in hex, after a time and a tag: as `ESP_LOG_BUFFER_HEX`, Zephyr's `LOG_HEXDUMP_INF`, or a terminal
//! that puts the time before each line write them.
//!
//! The lines of the recording are those with one **prefix**: the text before the bytes, in which numbers may differ. After it is a **row**,
//! bytes in hex with or without the same bytes as characters, or a line of a dump with addresses.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::detect::detect;
use super::layer::{Damage, Layer};
use super::spool::Spool;
use super::text::{STEP_BYTES, Strays, begins_as_text, first_lines, without_mark};
use super::{Bytes, InputError, dump};
use crate::frame::transfer::is_binary;
use crate::model::losses;

/// How long a prefix may be, in bytes.
const PREFIX_BYTES: usize = 160;

/// Fewer rows, or bytes in them, can be anything.
const ROWS_MIN: usize = 2;
const BYTES_MIN: usize = 16;

/// The first bytes of a text, in which a recording that is text itself shows, as a rule.
const RECORDING_BYTES: usize = 4 << 10;

/// More prefixes than this in the first lines are not inspected.
const PREFIXES_MAX: usize = 4096;

/// The text before a row: numbers are 0, and blanks are one.
type Prefix = Vec<u8>;

fn prefix(text: &[u8]) -> Prefix {
    let mut prefix = Vec::with_capacity(text.len());
    for word in text.chunk_by(|one, other| one.is_ascii_alphanumeric() && other.is_ascii_alphanumeric()) {
        // Addresses and times, also in hex.
        let is_hex = word.iter().all(u8::is_ascii_hexdigit) && (word.len() >= 4 || word.iter().any(u8::is_ascii_digit));
        for run in word.chunk_by(|one, other| one.is_ascii_digit() == other.is_ascii_digit()) {
            match run {
                _ if is_hex => {}
                [digit, ..] if digit.is_ascii_digit() => prefix.push(b'0'),
                [blank] if blank.is_ascii_whitespace() => {
                    if prefix.last() != Some(&b' ') {
                        prefix.push(b' ');
                    }
                }
                run => prefix.extend_from_slice(run),
            }
        }
        if is_hex {
            prefix.push(b'0');
        }
    }
    prefix
}

/// A line without the codes of colours.
fn without_colours(line: &[u8]) -> Cow<'_, [u8]> {
    if memchr::memchr(0x1b, line).is_none() {
        return Cow::Borrowed(line.trim_ascii_end());
    }
    let mut plain = Vec::with_capacity(line.len());
    let mut pieces = line.split(|&byte| byte == 0x1b);
    plain.extend_from_slice(pieces.next().unwrap_or_default());
    for piece in pieces {
        let end = piece.iter().position(u8::is_ascii_alphabetic).map_or(0, |end| end + 1);
        plain.extend_from_slice(piece.get(end..).unwrap_or_default());
    }
    plain.truncate(plain.trim_ascii_end().len());
    Cow::Owned(plain)
}

/// Where the text after a prefix may begin: first after the blanks at the start, then after each sign and the blanks that follow it.
fn ends_of_prefix(line: &[u8]) -> impl Iterator<Item = usize> {
    let is_blank = |at: usize| line.get(at).is_some_and(u8::is_ascii_whitespace);
    let mut sign = true;
    (0..line.len().min(PREFIX_BYTES)).filter(move |&at| {
        if is_blank(at) {
            return false;
        }
        let begins = sign && (at == 0 || is_blank(at - 1));
        sign = line.get(at).is_some_and(|byte| b":>])|".contains(byte));
        begins
    })
}

/// Reads a row and appends its bytes: pairs of digits, or all digits in one word, and perhaps the same bytes as characters after a bar.
fn row(text: &[u8], decoded: &mut Vec<u8>) -> Option<()> {
    const WORD_DIGITS: usize = 8;
    let (hex, characters) = match memchr::memchr(b'|', text) {
        Some(bar) => (text.get(..bar)?, text.get(bar + 1..)),
        None => (text, None),
    };
    let start = decoded.len();
    let mut words = hex.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
    let is_one_word = hex.trim_ascii().len() >= WORD_DIGITS && !hex.trim_ascii().iter().any(u8::is_ascii_whitespace);
    let is_row = words.all(|word| {
        let bytes = data_encoding::HEXLOWER_PERMISSIVE.decode(word).ok().filter(|bytes| bytes.len() == 1 || is_one_word);
        bytes.map(|bytes| decoded.extend(bytes)).is_some()
    });
    let bytes = decoded.get(start..)?;
    let fits = |characters: &[u8]| are_characters_of(bytes, characters.strip_suffix(b"|").unwrap_or(characters));
    if is_row && !bytes.is_empty() && characters.is_none_or(fits) {
        return Some(());
    }
    decoded.truncate(start);
    None
}

/// Whether these are the characters of a row's bytes. Zephyr has a blank after each eight; blanks at the end of a line may be missing.
fn are_characters_of(bytes: &[u8], characters: &[u8]) -> bool {
    let is = |character: u8, byte: u8| character == byte || !(0x20..0x7f).contains(&byte) && !character.is_ascii_alphanumeric();
    let fits = |spread: fn(usize) -> usize| {
        let character = |index| characters.get(spread(index)).copied().unwrap_or(b' ');
        let rest = characters.get(spread(bytes.len())..).unwrap_or_default();
        rest.trim_ascii().is_empty() && bytes.iter().enumerate().all(|(index, &byte)| is(character(index), byte))
    };
    fits(|index| index) || fits(|index| index + index / 8)
}

/// Whether the text of a line that has the prefix was meant as a row.
fn resembles_row(text: &[u8]) -> bool {
    matches!(text, [high, low, rest @ ..] if high.is_ascii_hexdigit() && low.is_ascii_hexdigit()
        && rest.first().is_none_or(|byte| byte.is_ascii_whitespace() || byte.is_ascii_hexdigit()))
}

/// The lines that hold a recording.
struct Holding {
    prefix: Prefix,
    /// Lines of a dump with addresses are given as text.
    is_dump: bool,
}

impl Holding {
    /// The text of a line after the prefix.
    fn text<'a>(&self, line: &'a [u8]) -> Option<&'a [u8]> {
        let end =
            ends_of_prefix(line).find(|&end| line.get(..end).is_some_and(|start| prefix(start.trim_ascii()) == self.prefix))?;
        line.get(end..)
    }

    /// Finds them in the first lines: those whose bytes are in a known format, otherwise those that are most lines. Any text has some lines
    /// with numbers.
    fn find(bytes: &[u8]) -> Option<Holding> {
        let lines: Vec<Cow<'_, [u8]>> = first_lines(without_mark(bytes)).into_iter().map(without_colours).collect();
        if lines.iter().any(|line| is_binary(line)) {
            return None;
        }
        // By prefix: the rows, their bytes, and all lines.
        let mut found: BTreeMap<Prefix, (usize, Vec<u8>, Vec<u8>)> = BTreeMap::new();
        for line in &lines {
            for end in ends_of_prefix(line) {
                let (before, after) = line.split_at(end);
                let before = prefix(before.trim_ascii());
                if found.len() < PREFIXES_MAX || found.contains_key(&before) {
                    let (rows, decoded, all) = found.entry(before).or_default();
                    *rows += usize::from(row(after, decoded).is_some());
                    all.extend_from_slice(after);
                    all.push(b'\n');
                }
            }
        }
        let mut holding: Vec<(Holding, Vec<u8>)> = Vec::new();
        let mut is_most = false;
        for (prefix, (rows, decoded, all)) in found {
            let is_dump = !prefix.is_empty() && dump::sniff(&all).is_some();
            // What follows a prefix of rows is part of them: `00000010: ` of a dump.
            let is_within = holding.iter().any(|(of, _)| of.is_dump && prefix.starts_with(&of.prefix));
            if !is_within && (is_dump || rows >= ROWS_MIN && decoded.len() >= BYTES_MIN) {
                holding.push((Holding { prefix, is_dump }, decoded));
                is_most |= 2 * rows > lines.len();
            }
        }
        if holding.len() > 1 || !is_most {
            holding.retain(|(of, decoded)| of.is_dump || detect(decoded, &[]).is_ok());
        }
        match <[_; 1]>::try_from(holding) {
            Ok([(holding, _)]) => Some(holding),
            Err(_) => None,
        }
    }
}

/// Whether the input is a log with a recording in it, and no recording by itself: messages of SyS-T are lines of a log too.
pub(super) fn sniff(bytes: &[u8]) -> Option<Layer> {
    // A recording shows in its first bytes, and costs less to recognise than lines that hold one.
    let is_recording = |sample| detect(sample, &[]).is_ok();
    let text = without_mark(bytes);
    let is_text = begins_as_text(&without_colours(text.get(..PREFIX_BYTES).unwrap_or(text)));
    if !is_text || is_recording(bytes.get(..RECORDING_BYTES).unwrap_or(bytes)) {
        return None;
    }
    Holding::find(bytes).filter(|_| !is_recording(bytes)).map(|_| Layer::LogLines)
}

/// Takes the recording out of a log.
pub(super) fn decode(source: &Bytes, spool: &mut Spool<'_>) -> Result<Vec<Damage>, InputError> {
    let Some(holding) = Holding::find(source) else { return Ok(Vec::new()) };
    let (mut strays, mut left_out) = (Strays::new(losses::TEXT_ENCODING_DAMAGED), Strays::new(losses::LOG_LINES));
    let mut decoded = Vec::with_capacity(STEP_BYTES);
    for (number, line) in (1..).zip(without_mark(source).split(|&byte| byte == b'\n')) {
        let line = without_colours(line);
        let offset = spool.len() + decoded.len() as u64;
        match holding.text(&line) {
            Some(text) if holding.is_dump => {
                decoded.extend_from_slice(text);
                decoded.push(b'\n');
            }
            Some(text) if row(text, &mut decoded).is_some() => {}
            Some(text) if resembles_row(text) => {
                strays.add(1, offset, || format!("line {number} is not a row of bytes, or is damaged"))
            }
            _ if line.is_empty() => {}
            _ => left_out.add(1, offset, || format!("line {number} does not hold the recording")),
        }
        if decoded.len() >= STEP_BYTES {
            spool.push(&decoded)?;
            decoded.clear();
        }
    }
    spool.push(&decoded)?;
    Ok(strays.into_damage().into_iter().chain(left_out.into_damage()).collect())
}

#[cfg(test)]
mod tests {
    use super::super::{Input, ReadOptions};
    use super::*;
    use crate::format::FORMATS;

    fn open(text: &str) -> Input {
        Input::from_vec(text.as_bytes().to_vec(), &ReadOptions::default()).unwrap()
    }

    fn recording() -> Vec<u8> {
        let format = FORMATS.iter().find(|of| of.name() == "tonbandgeraet").unwrap();
        let mut out = Vec::new();
        format.generate(5_000, 1, &mut out).unwrap();
        out
    }

    fn pairs(row: &[u8]) -> String {
        row.iter().map(|byte| format!("{byte:02x} ")).collect()
    }

    fn characters(row: &[u8]) -> String {
        row.iter().map(|&byte| if (0x20..0x7f).contains(&byte) { char::from(byte) } else { '.' }).collect()
    }

    /// The rows of a recording, each printed with its number.
    fn rows(data: &[u8], len: usize, print: impl Fn(usize, &[u8]) -> String) -> String {
        data.chunks(len).enumerate().map(|(number, row)| print(number, row)).collect()
    }

    fn zephyr(number: usize, row: &[u8]) -> String {
        let spread = |text: &str, width: usize| {
            let (left, right) = text.split_at(text.len().min(8 * width));
            format!("{left:0$} {right:0$}", 8 * width)
        };
        let head =
            if number.is_multiple_of(4) { format!("[00:00:{number:02}.250,000] <inf> trace: ring\n") } else { String::new() };
        format!("{head}{:34}{}|{}\r\n", "", spread(&pairs(row), 3), spread(&characters(row), 1))
    }

    #[test]
    fn rows_in_logs_are_read() {
        let data = recording();
        let noise = "I (27) boot: ESP-IDF v5.1\nW (31) wifi: rx 12 34\n";
        let esp = |number: usize, row: &[u8]| format!("I ({}) trace: {}\n", 1234 + number, pairs(row));
        let colours = |number: usize, row: &[u8]| format!("\u{1b}[0;32mI ({}) trace: {}\u{1b}[0m\r\n", 990 + number, pairs(row));
        let terminal = |number: usize, row: &[u8]| format!("[2026-01-02 12:34:{:02}.789] {}\n", number % 60, pairs(row));
        let viewer = |_: usize, row: &[u8]| format!("00> {}\n", data_encoding::HEXUPPER.encode(row));
        let between = |number: usize, row: &[u8]| {
            let log = if number.is_multiple_of(2) { "" } else { "main: loop took 12 ms\n" };
            format!("{log}{}\n", pairs(row))
        };
        let other: Vec<u8> = (1..=16u32).map(|n| (n * n * 37) as u8 | 0x80).collect();
        let several = |number: usize, row: &[u8]| format!("I ({number}) ble: {}\n{}", pairs(&other), esp(number, row));
        for (name, text) in [
            ("ESP", noise.to_owned() + &rows(&data, 16, esp)),
            ("ESP in colours", rows(&data, 16, colours)),
            ("a terminal", rows(&data, 20, terminal)),
            ("RTT viewer", rows(&data, 32, viewer)),
            ("no prefix", rows(&data, 16, between)),
            ("Zephyr", rows(&data, 16, zephyr)),
            ("two tags", rows(&data, 16, several)),
        ] {
            let input = open(&text);
            assert_eq!(input.layers(), [Layer::LogLines], "{name}: {}", &text[..400]);
            assert!(input.damages().iter().all(|damage| damage.kind == losses::LOG_LINES), "{name}: {:?}", input.damages());
            assert!(input.bytes() == data, "{name}");
        }
        let damages = open(&(noise.to_owned() + &rows(&data, 16, esp))).damages().to_vec();
        assert_eq!((damages[0].count, &*damages[0].detail), (2, "line 1 does not hold the recording, and 1 more"));
    }

    #[test]
    fn dumps_in_logs_are_read() {
        let data = recording();
        let esp = |number: usize, row: &[u8]| {
            format!("I ({number}) trace: {:#x}   {:49} |{}|\n", 0x3ffb_4280 + 16 * number, pairs(row), characters(row))
        };
        let kernel = |number: usize, row: &[u8]| format!("[   12.0{number:05}] trace: {:08x}: {}\n", 16 * number, pairs(row));
        let terminal = |number: usize, row: &[u8]| {
            format!("12:34:56.{:03} -> {:04x}: {:49} {}\n", number % 1000, 16 * number, pairs(row), characters(row))
        };
        for text in [rows(&data, 16, esp), rows(&data, 16, kernel), rows(&data, 16, terminal)] {
            for text in [text.clone(), text.replacen('\n', "\nboot: done\n", 3)] {
                let input = open(&text);
                assert_eq!(input.layers(), [Layer::LogLines, Layer::HexDump], "{}", &text[..400]);
                assert!(input.damages().iter().all(|damage| damage.kind == losses::LOG_LINES), "{:?}", input.damages());
                assert!(input.bytes() == data);
            }
            let lines: Vec<&str> = text.lines().collect();
            let without = [&lines[..20], &lines[21..]].concat().join("\n");
            let damages = open(&without).damages().to_vec();
            let [damage] = &damages[..] else { panic!("{damages:?}") };
            assert_eq!((damage.kind.code, damage.offset), ("text_data_missing", 320));
        }
    }

    #[test]
    fn a_damaged_row_is_reported() {
        let data = recording();
        let text = rows(&data, 16, |number, row| format!("I ({number}) trace: {}\n", pairs(row)));
        let mut lines: Vec<&str> = text.lines().collect();
        let wrong = lines[20].replace(": ", ": 1").replace(' ', "  ");
        lines[20] = &wrong;
        let input = open(&lines.join("\n"));
        assert_eq!(input.damages().len(), 1);
        assert_eq!((input.damages()[0].kind.code, input.damages()[0].offset), ("text_encoding_damaged", 320));
        assert_eq!(input.bytes().len(), data.len() - 16);
        // The characters contradict the bytes.
        let text = rows(&data, 16, zephyr).replacen("|t", "|T", 1);
        assert_eq!(open(&text).damages().iter().filter(|damage| damage.kind == losses::TEXT_ENCODING_DAMAGED).count(), 1);
    }

    #[test]
    fn other_logs_stay_as_they_are() {
        let syst = FORMATS.iter().find(|of| of.name() == "syst-text").unwrap();
        let mut messages = Vec::new();
        syst.generate(5_000, 1, &mut messages).unwrap();
        let messages = String::from_utf8(messages).unwrap();
        let heap = |n: usize| format!("I ({n}) heap: {}\nI ({n}) wifi: up\n", 1000 + n);
        // Numbers are not bytes.
        let json = |n: usize| format!("{{\n  \"count\": {n},\n  \"max_ns\": {}\n}}\n", 12_345_600 + n);
        let texts = [messages, (0..50).map(heap).collect(), (0..50).map(json).collect()];
        for text in texts.into_iter().chain(["mac: 12 34 56 78 9a bc\nboot\n".to_owned()]) {
            assert_eq!(open(&text).layers(), [], "{text}");
        }
    }
}
