//! Messages that a terminal has wrapped: their digits go on in the lines after, which hold nothing else.
//!
//! The lines of a screen's copy end at its width. Only lines that make one whole message are joined: its length field, its checksum or
//! its own text says where it ends, and it does not end where its first line does.

use std::ops::Range;

use super::hex::unhex;
use super::{BARE_MARKER, digits_after, is_line_end};
use crate::format::syst::collateral::Collateral;
use crate::format::syst::raw::is_whole_message;

/// The most lines after its first one that a message goes on in.
const LINES: usize = 64;

/// The widest line, in bytes.
const WIDTH_BYTES: usize = 4096;

/// Whether the digits that end here, with their line, may go on in the next line.
#[inline]
pub(super) fn may_be_wrapped(input: &[u8], digits_end: usize) -> bool {
    let next = match input.get(digits_end..) {
        Some([b'\r', b'\n', next, ..] | [b'\r' | b'\n', next, ..]) => next,
        _ => return false,
    };
    next.is_ascii_hexdigit()
}

/// The end of the last line of a wrapped message, and the whole message.
#[cold]
pub(super) fn find_wrapped(input: &[u8], digits: Range<usize>) -> Option<(usize, Vec<u8>)> {
    let collateral = Collateral::default();
    let mut room = Vec::new();
    let mut is_whole = |digits: &[u8]| {
        let frame = unhex(digits, &mut room).1;
        (digits.len().is_multiple_of(2) && is_whole_message(frame, &collateral)).then(|| frame.to_vec())
    };
    let mut width = line_before(input, digits.end)?.len();
    let mut all = input.get(digits.clone())?.to_vec();
    if is_whole(&all).is_some() {
        return None;
    }
    let mut at = digits.end;
    for number in 0..LINES {
        at += match input.get(at..)? {
            [b'\r', b'\n', ..] => 2,
            [] => return None,
            _ => 1,
        };
        let rest = input.get(at..)?;
        let len = rest.iter().take(width + 1).take_while(|byte| byte.is_ascii_hexdigit()).count();
        at += len;
        if len == 0 || len > width || input.get(at).is_some_and(|&byte| !is_line_end(byte)) {
            return None;
        }
        all.extend_from_slice(rest.get(..len)?);
        match is_whole(&all) {
            Some(frame) => return Some((at, frame)),
            // The characters of the first line may have several bytes.
            None if len < width && number > 0 => return None,
            None => width = len,
        }
    }
    None
}

/// Whether a line of digits belongs to a wrapped message before it. For a part's first lines: after a message it is known where it ends.
pub(super) fn is_wrapped_rest(input: &[u8], offset: usize, line: &[u8]) -> bool {
    if !line.iter().all(u8::is_ascii_hexdigit) {
        return false;
    }
    let mut end = offset;
    for _ in 0..LINES {
        end = match input.get(..end) {
            Some([.., b'\r', b'\n']) => end - 2,
            Some([.., b'\r' | b'\n']) => end - 1,
            _ => return false,
        };
        let Some(above) = line_before(input, end) else { return false };
        let start = end - above.len();
        if let Some(marker) = memchr::memmem::rfind(above, BARE_MARKER) {
            let digits = digits_after(input, start + marker);
            return digits.end == end && find_wrapped(input, digits).is_some_and(|(end, _)| offset < end);
        }
        if above.is_empty() || !above.iter().all(u8::is_ascii_hexdigit) {
            return false;
        }
        end = start;
    }
    false
}

/// The text of a line before a place in it, if that is not long.
fn line_before(input: &[u8], end: usize) -> Option<&[u8]> {
    let window = input.get(end.saturating_sub(WIDTH_BYTES)..end)?;
    let start = memchr::memrchr2(b'\n', b'\r', window).map(|at| at + 1);
    window.get(start.or((window.len() == end).then_some(0))?..)
}
