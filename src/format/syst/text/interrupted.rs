//! Messages that other output interrupts.
//!
//! Other tasks and interrupts may write within the digits of a message: then its rest is a line of its own, soon after.

use std::ops::Range;

use super::hex::unhex;
use super::{BARE_MARKER, digits_after, is_line_end};
use crate::format::syst::record::{Fields, Header, Marks, Message, Reader};

/// How many lines after a message its rest is searched for.
const REST_LINES: usize = 4;

/// The longest line of them, in bytes.
const REST_LINE_BYTES: usize = 4096;

/// The most digits of the fields before a payload.
const FIELDS_DIGITS: usize = 2 * (4 + 16 + 9 + 2 + 8);

/// Whether the digits that end here are followed by other text in their line.
#[inline]
pub(super) fn is_interrupted(input: &[u8], digits_end: usize) -> bool {
    input.get(digits_end).is_some_and(|&byte| !is_line_end(byte))
}

/// The rest of an interrupted message: where its line begins, and the whole message. If messages interrupt each other, the last one
/// ends first.
#[cold]
pub(super) fn find_rest(input: &[u8], digits: Range<usize>) -> Option<(usize, Vec<u8>)> {
    let mut at = digits.end;
    let mut open = vec![digits];
    for number in 0..=REST_LINES {
        let len = line_len(input.get(at..)?)?;
        let line = input.get(at..at + len)?;
        let mut of_open = open.iter().enumerate().rev();
        let completed = of_open.find_map(|(index, digits)| Some((index, join(input.get(digits.clone())?, line)?)));
        match completed.filter(|_| number > 0) {
            Some((0, frame)) => return Some((at, frame)),
            Some((index, _)) => {
                open.remove(index);
            }
            None => {
                let inner = memchr::memmem::find_iter(line, BARE_MARKER).map(|marker| digits_after(input, at + marker));
                open.extend(inner.filter(|digits| is_interrupted(input, digits.end)).take(REST_LINES));
            }
        }
        at += len;
        at += input.get(at..)?.iter().take_while(|&&byte| is_line_end(byte)).count();
    }
    None
}

/// Whether a line is the rest of a message before it.
pub(super) fn is_rest(input: &[u8], offset: usize, line: &[u8]) -> bool {
    let mut end = offset;
    for _ in 0..if line.iter().all(u8::is_ascii_hexdigit) { REST_LINES } else { 0 } {
        let before = input.get(..end).unwrap_or(&[]).trim_ascii_end();
        let window = before.get(before.len().saturating_sub(REST_LINE_BYTES)..).unwrap_or(&[]);
        end = before.len() - window.len() + memchr::memrchr2(b'\n', b'\r', window).map_or(0, |at| at + 1);
        let above = input.get(end..before.len()).unwrap_or(&[]);
        let mut messages =
            memchr::memmem::rfind_iter(above, BARE_MARKER).map(|at| digits_after(input, end + at)).take(REST_LINES);
        let ends_here = |digits| find_rest(input, digits).is_some_and(|(at, _)| at == offset);
        if messages.any(|digits| is_interrupted(input, digits.end) && ends_here(digits)) {
            return true;
        }
    }
    false
}

/// The message of these digits, if it is one whose length field says that these are all.
fn join(digits: &[u8], rest: &[u8]) -> Option<Vec<u8>> {
    if digits.len() > REST_LINE_BYTES || rest.is_empty() || !rest.iter().all(u8::is_ascii_hexdigit) {
        return None;
    }
    let mut room = Vec::new();
    let head: Vec<u8> = digits.iter().chain(rest).copied().take(FIELDS_DIGITS).collect();
    let mut reader = Reader(unhex(&head, &mut room).1);
    let bytes = reader.0.len();
    let fields = Fields::read(&mut reader).ok()?;
    let crc_bytes = if fields.header.has(Header::CHECKSUM) { 4 } else { 0 };
    let message_bytes = bytes - reader.0.len() + usize::from(fields.length?) + crc_bytes;
    if digits.len() + rest.len() != 2 * message_bytes {
        return None;
    }
    let (_, frame) = unhex(&[digits, rest].concat(), &mut room);
    let message = Message::read_frame(frame).ok()?;
    (message.marks == Marks::default()).then(|| frame.to_vec())
}

/// The length of the line at the start of a text, if that is not long.
fn line_len(text: &[u8]) -> Option<usize> {
    let near = text.get(..REST_LINE_BYTES).unwrap_or(text);
    memchr::memchr2(b'\n', b'\r', near).or((near.len() == text.len()).then_some(text.len()))
}
