//! Frames: HDLC-like, each ended by one flag byte, with escapes, a sequence number and an 8-bit checksum.
//!
//! The body before the flag, once unescaped, is `SEQ REC DATA… CHK`; all its bytes add up to 0xFF.

use memchr::{memchr, memrchr};

use crate::frame::split::MAX_FRAME_BYTES;

use super::record::IDS_END;

/// Ends every frame and occurs nowhere else, except by a fault of the target: see [`join_unescaped`].
pub const FLAG: u8 = 0x7E;
/// The next byte is the XOR of the original byte and [`ESCAPE_XOR`].
pub const ESCAPE: u8 = 0x7D;
/// The XOR of an escaped byte and the original byte.
pub const ESCAPE_XOR: u8 = 0x20;

/// Sequence number, record id and checksum.
pub const OVERHEAD_BYTES: usize = 3;

/// Why a frame is invalid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BadBody {
    /// Two flags with nothing between them.
    Empty,
    /// Fewer than three bytes.
    TooShort,
    /// An escape byte followed by a byte that is never escaped.
    IllegalEscape,
    /// The sum of its bytes is wrong.
    Checksum,
    /// An id that no target sends.
    ImpossibleId,
    /// Longer than a frame can be.
    Oversize,
}

/// A mask of N bytes starts N bytes before the middle.
static MASK: [u8; 2 * WINDOW_MAX] = {
    let mut mask = [0; 2 * WINDOW_MAX];
    let mut index = 0;
    while index < WINDOW_MAX {
        mask[index] = 0xFF;
        index += 1;
    }
    mask
};

const WINDOW_MAX: usize = 64;

/// Whether the first `len` bytes of a window, `len` at most `N`, are a body without escapes and with a valid checksum.
///
/// Without a branch for each byte: the loop becomes a few vector instructions.
#[inline]
#[must_use]
pub fn is_plain<const N: usize>(window: &[u8; N], len: usize) -> bool {
    let from = WINDOW_MAX - len.min(WINDOW_MAX);
    let Some(mask) = MASK.get(from..).and_then(|mask| mask.first_chunk::<N>()) else { return false };
    let (mut sum, mut escapes) = (0u8, 0u8);
    for (&byte, &mask) in window.iter().zip(mask) {
        let byte = byte & mask;
        sum = sum.wrapping_add(byte);
        escapes |= u8::from(byte == ESCAPE);
    }
    sum == 0xFF && escapes == 0
}

/// The body of a frame: as it is, or unescaped into `buffer`. `window`: the frame and the bytes after it, if there are so many.
///
/// # Errors
/// Why it is invalid.
#[inline]
pub fn body<'a>(frame: &'a [u8], window: Option<&[u8; 32]>, buffer: &'a mut Vec<u8>) -> Result<&'a [u8], BadBody> {
    if let Some(window) = window
        && (OVERHEAD_BYTES..=32).contains(&frame.len())
        && is_plain(window, frame.len())
        && window[1] < IDS_END
    {
        return Ok(frame);
    }
    unescape(frame, buffer)?;
    Ok(buffer)
}

/// The sum of some bytes, modulo 256.
#[must_use]
pub fn sum(bytes: &[u8]) -> u8 {
    bytes.iter().fold(0, |sum: u8, &byte| sum.wrapping_add(byte))
}

/// Unescapes a frame, given without its flag, into `body`, and checks it.
///
/// # Errors
/// Why it is invalid. `body` is then incomplete.
pub fn unescape(frame: &[u8], body: &mut Vec<u8>) -> Result<(), BadBody> {
    body.clear();
    if frame.is_empty() {
        return Err(BadBody::Empty);
    }
    if frame.len() >= MAX_FRAME_BYTES {
        return Err(BadBody::Oversize);
    }
    let mut rest = frame;
    while let Some(index) = find_escape(rest) {
        body.extend_from_slice(rest.get(..index).unwrap_or(&[]));
        match rest.get(index + 1).map(|byte| byte ^ ESCAPE_XOR) {
            Some(byte @ (FLAG | ESCAPE)) => body.push(byte),
            _ => return Err(BadBody::IllegalEscape),
        }
        rest = rest.get(index + 2..).unwrap_or(&[]);
    }
    body.extend_from_slice(rest);
    check(body)
}

/// The place of the first escape byte. In a short frame, a search by vectors spends its time on starting.
#[inline]
fn find_escape(bytes: &[u8]) -> Option<usize> {
    if bytes.len() <= 32 { bytes.iter().position(|&byte| byte == ESCAPE) } else { memchr(ESCAPE, bytes) }
}

/// Checks a body.
///
/// # Errors
/// Why it is invalid.
pub fn check(body: &[u8]) -> Result<(), BadBody> {
    match body {
        [] => Err(BadBody::Empty),
        [_] | [_, _] => Err(BadBody::TooShort),
        _ if sum(body) != 0xFF => Err(BadBody::Checksum),
        [_, id, ..] if *id >= IDS_END => Err(BadBody::ImpossibleId),
        _ => Ok(()),
    }
}

/// Appends a frame.
pub fn append(seq: u8, id: u8, data: &[u8], out: &mut Vec<u8>) {
    let checksum = !seq.wrapping_add(id).wrapping_add(sum(data));
    let mut push = |byte: u8| match byte {
        FLAG | ESCAPE => out.extend([ESCAPE, byte ^ ESCAPE_XOR]),
        _ => out.push(byte),
    };
    push(seq);
    push(id);
    data.iter().copied().for_each(&mut push);
    push(checksum);
    out.push(FLAG);
}

/// Joins the pieces of a frame that the target broke: it writes texts without escaping them, so a `~` in one looks like a flag, and a
/// `}` like an escape. The checksum is not checked.
pub fn join_unescaped<'a>(pieces: impl Iterator<Item = &'a [u8]>, body: &mut Vec<u8>) {
    body.clear();
    for (number, piece) in pieces.enumerate() {
        if number > 0 {
            body.push(FLAG);
        }
        let mut bytes = piece.iter().copied().peekable();
        while let Some(byte) = bytes.next() {
            let escaped = bytes.peek().map(|next| next ^ ESCAPE_XOR).filter(|next| matches!(*next, FLAG | ESCAPE));
            match escaped.filter(|_| byte == ESCAPE) {
                Some(escaped) => {
                    bytes.next();
                    body.push(escaped);
                }
                None => body.push(byte),
            }
        }
    }
}

/// The frame that ends before `end`, a position after a flag: its bytes without the flag. `None` if there is no flag, or no start
/// within reach.
#[must_use]
pub fn frame_before(input: &[u8], end: usize) -> Option<&[u8]> {
    let (flag, before) = input.get(..end)?.split_last()?;
    if *flag != FLAG {
        return None;
    }
    let reach = before.len().saturating_sub(MAX_FRAME_BYTES);
    match memrchr(FLAG, before.get(reach..)?) {
        Some(index) => before.get(reach + index + 1..),
        None if reach == 0 => Some(before),
        None => None,
    }
}

/// The frame that starts at `start`, without its flag. `None` if there is no flag within reach.
#[must_use]
pub fn frame_after(input: &[u8], start: usize) -> Option<&[u8]> {
    let rest = input.get(start..)?;
    let reach = rest.get(..MAX_FRAME_BYTES).unwrap_or(rest);
    rest.get(..memchr(FLAG, reach)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_example_of_the_manual() {
        let bytes = [0x7d, 0x5e, 0x7d, 0x5d, 0x7d, 0x5d, 0x08, 0x01, 0x7d, 0x5e, 0x7e];
        let mut out = Vec::new();
        append(0x7E, 0x7D, &[0x7D, 0x08, 0x01], &mut out);
        assert_eq!(out, bytes);
        let mut body = Vec::new();
        // Well formed, but no target sends this id.
        assert_eq!(unescape(&bytes[..10], &mut body), Err(BadBody::ImpossibleId));
        assert_eq!(body, [0x7E, 0x7D, 0x7D, 0x08, 0x01, 0x7E]);
    }

    #[test]
    fn errors_are_recognised() {
        let mut body = Vec::new();
        let mut of = |frame: &[u8]| unescape(frame, &mut body);
        assert_eq!(of(&[]), Err(BadBody::Empty));
        assert_eq!(of(&[0xFF]), Err(BadBody::TooShort));
        assert_eq!(of(&[1, 0, 0xFE]), Ok(()));
        assert_eq!(of(&[1, 0, 0xFF]), Err(BadBody::Checksum));
        assert_eq!(of(&[1, 0, 0x7D]), Err(BadBody::IllegalEscape));
        assert_eq!(of(&[1, 0x7D, 0x41, 0]), Err(BadBody::IllegalEscape));
    }

    #[test]
    fn texts_that_were_not_escaped_are_joined() {
        let mut body = Vec::new();
        join_unescaped([&b"a}b"[..], b"", b"c\x7d\x5ed"].into_iter(), &mut body);
        assert_eq!(body, b"a}b~~c~d");
    }

    #[test]
    fn the_frame_before_a_position() {
        let input = b"ab\x7ecd\x7e\x7eef";
        assert_eq!(frame_before(input, 3), Some(&b"ab"[..]));
        assert_eq!(frame_before(input, 6), Some(&b"cd"[..]));
        assert_eq!(frame_before(input, 7), Some(&b""[..]));
        assert_eq!(frame_before(input, 5), None);
        assert_eq!(frame_before(input, 0), None);
    }

    proptest! {
        #[test]
        fn frames_come_back(seq: u8, id in 0..IDS_END, data in prop::collection::vec(any::<u8>(), 0..80)) {
            let mut out = Vec::new();
            append(seq, id, &data, &mut out);
            prop_assert_eq!(out.pop(), Some(FLAG));
            let mut body = Vec::new();
            prop_assert_eq!(unescape(&out, &mut body), Ok(()));
            prop_assert_eq!((body[0], body[1], &body[2..body.len() - 1]), (seq, id, &data[..]));
            let len = out.len();
            if len <= 32 {
                let mut window = [0x55; 32];
                window[..len].copy_from_slice(&out);
                prop_assert_eq!(is_plain(&window, len), !out.contains(&ESCAPE));
                window[0] ^= 1;
                prop_assert!(!is_plain(&window, len));
            }
        }
    }
}
