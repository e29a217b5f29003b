//! The lines by which the library's example platform lists what it puts out over STP, before it prints the message itself:
//!
//! ```text
//! STP Protocol Output:
//!      0 <D32TS>  012a5042
//!      1 <D32>    6c6c6568
//!      2 <D16>    006f
//!      3 <FLAG>
//! SYS-T RAW DATA: 42502A0168656C6C6F00
//! ```
//!
//! A message of one word is one line, ` 0 <D32MTS>  12345671`. The lines say nothing new. But if the message's own line is missing, it can be put together from them. What a line means is found out by
//! looking around in the input, so that it does not matter where parts begin.

use super::text::{MARKER, hex_len, unhex};

/// What stands before a listing.
const HEADING: &[u8] = b"STP Protocol Output:";

/// The longest line of a listing, in bytes.
const LINE_LIMIT_BYTES: usize = 128;

/// How many lines a listing has at most: one for each byte of the longest message.
const LINES_LIMIT: usize = 1 << 16;

/// How far behind a listing its message is looked for, in bytes: other tasks may print between them.
const REACH_BYTES: usize = 4096;

/// What a line is.
pub enum Listed {
    /// No line of a listing, or all that is left of one.
    Nothing,
    /// A line of a listing whose message is told elsewhere.
    Said,
    /// The end of a listing that alone tells this message.
    Unsaid(Vec<u8>),
}

/// Finds out what a line at a place of the input is.
pub fn read(input: &[u8], offset: usize, line: &[u8]) -> Listed {
    if line.trim_ascii() == HEADING {
        return Listed::Said;
    }
    let Some(entry) = Entry::of(line) else { return Listed::Nothing };
    let behind = input.get(offset + line.len()..).unwrap_or(&[]);
    let behind = behind.get(..REACH_BYTES).unwrap_or(behind);
    let next = behind.trim_ascii_start();
    let next_line = next.get(..memchr::memchr2(b'\n', b'\r', next).unwrap_or(next.len())).unwrap_or(&[]);
    if Entry::of(next_line).is_some_and(|next| next.number == entry.number.saturating_add(1)) {
        return Listed::Said;
    }
    let to = memchr::memmem::find(behind, HEADING).unwrap_or(behind.len());
    if memchr::memmem::find(behind.get(..to).unwrap_or(&[]), MARKER).is_some() {
        return Listed::Said;
    }
    message(input, offset, entry).map_or(Listed::Nothing, Listed::Unsaid)
}

/// Whether there may be ends of listings in a text.
pub fn may_end_in(text: &[u8]) -> bool {
    memchr::memmem::find(text, b"<FLAG>").is_some() || memchr::memmem::find(text, b"MTS>").is_some()
}

/// The message of a listing that ends with an entry; `None` if the listing is not whole.
fn message(input: &[u8], offset: usize, last: Entry<'_>) -> Option<Vec<u8>> {
    let is_one_word = last.number == 0 && last.name.ends_with(b"MTS");
    let is_flag = last.name == b"FLAG" && (1..=LINES_LIMIT).contains(&last.number);
    if !is_one_word && !is_flag {
        return None;
    }
    let mut values: Vec<&[u8]> = if is_one_word { vec![last.value] } else { Vec::new() };
    let (mut number, mut before) = (last.number, input.get(..offset)?);
    while number > 0 {
        before = before.trim_ascii_end();
        let window = before.get(before.len().saturating_sub(LINE_LIMIT_BYTES)..)?;
        let start = memchr::memrchr2(b'\n', b'\r', window).map_or(0, |at| at + 1);
        let entry = Entry::of(window.get(start..)?).filter(|entry| entry.number + 1 == number && !entry.value.is_empty())?;
        values.push(entry.value);
        number = entry.number;
        before = before.get(..before.len() - (window.len() - start))?;
    }
    let (mut frame, mut bytes) = (Vec::new(), Vec::new());
    for value in values.iter().rev() {
        // As numbers are written, the highest byte first.
        unhex(value, &mut bytes);
        frame.extend(bytes.iter().rev());
    }
    Some(frame)
}

/// A line of a listing.
struct Entry<'a> {
    number: usize,
    name: &'a [u8],
    /// Hex digits.
    value: &'a [u8],
}

impl Entry<'_> {
    fn of(line: &[u8]) -> Option<Entry<'_>> {
        if line.len() > LINE_LIMIT_BYTES {
            return None;
        }
        let line = line.trim_ascii();
        let digits = line.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let (number, rest) = line.split_at(digits);
        let number = std::str::from_utf8(number).ok()?.parse().ok()?;
        let rest = rest.strip_prefix(b" <")?;
        let end = memchr::memchr(b'>', rest)?;
        let (name, value) = rest.split_at(end);
        let value = value.get(1..)?.trim_ascii();
        let is_known = name == b"FLAG" || {
            let width = name.strip_prefix(b"D")?;
            let width = width.strip_suffix(b"TS").unwrap_or(width);
            matches!(width.strip_suffix(b"M").unwrap_or(width), b"4" | b"8" | b"16" | b"32" | b"64")
        };
        (is_known && hex_len(value) == value.len()).then_some(Entry { number, name, value })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_listings() {
        for line in ["     4 <D8>     00", "0 <D32TS>  02801c00", "12 <D64MTS> 0011223344556677", " 10 <FLAG>"] {
            assert!(Entry::of(line.as_bytes()).is_some(), "{line}");
        }
        for line in ["<D8> 00", "1 <D9> 00", "3 <D64> nothing", "1 D8 00", "99999999999999999999999 <FLAG>", ""] {
            assert!(Entry::of(line.as_bytes()).is_none(), "{line}");
        }
    }
}
