//! Listings: the lines by which the library's example platform lists its STP output before it prints the message itself.
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
//! A message of one word is one line, ` 0 <D32MTS>  12345671`. A listing repeats its message, so it is left out. But if the line of the
//! message is missing, the message is put together from its listing.

use super::find_marker;

/// The line before a listing.
const LISTING_HEADING: &[u8] = b"STP Protocol Output:";

/// The longest line of a listing, in bytes.
const LISTING_LINE_BYTES: usize = 128;

/// The most lines of a listing: one for each byte of the longest message.
const LISTING_LINES: usize = 1 << 16;

/// How far after a listing its message is searched for, in bytes. Other tasks may print between them.
const LISTING_REACH_BYTES: usize = 4096;

/// The role of a line in a listing.
pub(super) enum Listed {
    /// Not a line of a listing, or a remnant of one.
    Unlisted,
    /// A line of a listing whose message has its own line.
    Repeated,
    /// The end of a listing; the message is only there.
    Only(Vec<u8>),
}

/// The role of a line at a place of the input.
pub(super) fn read_listed(input: &[u8], offset: usize, line: &[u8]) -> Listed {
    if line.trim_ascii() == LISTING_HEADING {
        return Listed::Repeated;
    }
    let Some(entry) = Entry::of(line) else { return Listed::Unlisted };
    let rest = input.get(offset + line.len()..).unwrap_or(&[]);
    let rest = rest.get(..LISTING_REACH_BYTES).unwrap_or(rest);
    let next = rest.trim_ascii_start();
    let next_line = next.get(..memchr::memchr2(b'\n', b'\r', next).unwrap_or(next.len())).unwrap_or(&[]);
    if Entry::of(next_line).is_some_and(|next| next.number == entry.number.saturating_add(1)) {
        return Listed::Repeated;
    }
    let to = memchr::memmem::find(rest, LISTING_HEADING).unwrap_or(rest.len());
    if find_marker(rest.get(..to).unwrap_or(&[])).is_some() {
        return Listed::Repeated;
    }
    listed_message(input, offset, entry).map_or(Listed::Unlisted, Listed::Only)
}

/// Whether a text may have ends of listings.
pub(super) fn may_have_listings(text: &[u8]) -> bool {
    // Few texts have this byte, which is the quickest to search for.
    memchr::memchr(b'<', text).is_some()
        && (memchr::memmem::find(text, b"<FLAG>").is_some() || memchr::memmem::find(text, b"MTS>").is_some())
}

/// The message of the listing that ends with `last`; `None` if the listing is not whole.
fn listed_message(input: &[u8], offset: usize, last: Entry<'_>) -> Option<Vec<u8>> {
    let is_one_word = last.number == 0 && last.name.ends_with(b"MTS");
    let is_flag = last.name == b"FLAG" && (1..=LISTING_LINES).contains(&last.number);
    if !is_one_word && !is_flag {
        return None;
    }
    let mut values: Vec<(usize, u64)> = if is_one_word { vec![(last.bytes, last.value)] } else { Vec::new() };
    let (mut number, mut before) = (last.number, input.get(..offset)?);
    while number > 0 {
        before = before.trim_ascii_end();
        let window = before.get(before.len().saturating_sub(LISTING_LINE_BYTES)..)?;
        let start = memchr::memrchr2(b'\n', b'\r', window).map_or(0, |at| at + 1);
        let entry = Entry::of(window.get(start..)?).filter(|entry| entry.number == number - 1 && entry.bytes > 0)?;
        values.push((entry.bytes, entry.value));
        number = entry.number;
        before = before.get(..before.len() - (window.len() - start))?;
    }
    Some(values.iter().rev().flat_map(|(bytes, value)| value.to_le_bytes().into_iter().take(*bytes)).collect())
}

/// A line of a listing.
struct Entry<'a> {
    number: usize,
    name: &'a [u8],
    /// The bytes of its value; 0 if it has none.
    bytes: usize,
    value: u64,
}

impl Entry<'_> {
    fn of(line: &[u8]) -> Option<Entry<'_>> {
        if line.len() > LISTING_LINE_BYTES {
            return None;
        }
        let line = line.trim_ascii();
        let digits = line.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let (number, rest) = line.split_at(digits);
        let number = std::str::from_utf8(number).ok()?.parse().ok()?;
        let rest = rest.strip_prefix(b" <")?;
        let end = memchr::memchr(b'>', rest)?;
        let (name, digits) = rest.split_at(end);
        let digits = digits.get(1..)?.trim_ascii();
        if name == b"FLAG" {
            return digits.is_empty().then_some(Entry { number, name, bytes: 0, value: 0 });
        }
        let width = name.strip_prefix(b"D")?;
        let width = width.strip_suffix(b"TS").unwrap_or(width);
        let bytes = match width.strip_suffix(b"M").unwrap_or(width) {
            b"8" => 1,
            b"16" => 2,
            b"32" => 4,
            b"64" => 8,
            _ => return None,
        };
        // The zeros at the start of these are missing.
        let is_whole = digits.len() == 2 * bytes || (name == b"D64MTS" && (8..16).contains(&digits.len()));
        let is_number = is_whole && digits.iter().all(u8::is_ascii_hexdigit);
        let value = std::str::from_utf8(digits).ok().filter(|_| is_number)?;
        Some(Entry { number, name, bytes, value: u64::from_str_radix(value, 16).ok()? })
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

    #[test]
    fn no_line_comes_after_the_highest_number() {
        let (before, last) = (format!("{} <D8> 00\n", usize::MAX), "1 <FLAG>");
        let input = [&before, last].concat();
        assert_eq!(listed_message(input.as_bytes(), before.len(), Entry::of(last.as_bytes()).unwrap()), None);
    }
}
