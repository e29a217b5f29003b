//! Bytes from a target → readable text. Bytes that are not UTF-8 and control characters are escaped, so that none is lost.

/// The longest text that is shown, in bytes of the message. Longer texts are cut.
pub const TEXT_LIMIT_BYTES: usize = 64 << 10;

/// Appends bytes as text. Bytes that are not UTF-8 become `\xNN`; control characters except tabs and line ends are escaped; line ends at
/// the end are left out. Returns whether all bytes were UTF-8.
pub fn push(bytes: &[u8], out: &mut String) -> bool {
    let start = out.len();
    // SAFETY: what is appended stays only if all of it is ASCII. To check it again costs 1 % of a conversion. It is the copy that is checked:
    // bytes of a file may change.
    let text = unsafe { out.as_mut_vec() };
    text.extend_from_slice(shown(bytes));
    // The usual case.
    if text.get(start..).is_some_and(is_plain) {
        return true;
    }
    let copy = text.split_off(start);
    escape(&copy, out)
}

/// The bytes that are shown of a text.
fn shown(bytes: &[u8]) -> &[u8] {
    let bytes = bytes.get(..TEXT_LIMIT_BYTES).unwrap_or(bytes);
    bytes.get(..len_without_line_ends(bytes)).unwrap_or(&[])
}

/// Appends bytes, which must not change, escaped as [`push`] does. Returns whether all of them were UTF-8.
fn escape(bytes: &[u8], out: &mut String) -> bool {
    let mut is_utf8 = true;
    for chunk in bytes.utf8_chunks() {
        for character in chunk.valid().chars() {
            match character {
                '\t' | '\n' => out.push(character),
                '\r' => out.push_str("\\r"),
                _ if character.is_control() => out.extend(character.escape_default()),
                _ => out.push(character),
            }
        }
        for byte in chunk.invalid() {
            is_utf8 = false;
            push_hex_byte(*byte, out);
        }
    }
    is_utf8
}

/// Fewer equal bytes than these are written as a block.
const SHORT_FILL: usize = 16;

/// A text, followed by bytes that have not been escaped yet.
///
/// Formatted messages are written in place, without a copy. Growing a `Vec` by a few bytes at a time costs more than writing them, so
/// there is room for the next ones always.
#[derive(Debug, Default)]
pub struct PendingText {
    /// The text, the pending bytes, and any bytes as room. Up to `start` they are UTF-8 always: nothing is written before it, and it only
    /// moves over bytes that are ASCII or come from a `str`.
    bytes: Vec<u8>,
    start: usize,
    end: usize,
    /// Memory for escaping.
    escaped: String,
}

impl PendingText {
    /// The text, without pending bytes.
    #[inline]
    #[must_use]
    pub fn text(&self) -> &str {
        let text = self.bytes.get(..self.start).unwrap_or(&[]);
        // SAFETY: these bytes are UTF-8, as the field says. To check them again costs 1 % of a conversion.
        unsafe { std::str::from_utf8_unchecked(text) }
    }

    /// The length of the text.
    #[inline]
    #[must_use]
    pub fn text_len(&self) -> usize {
        self.start
    }

    /// The pending bytes.
    #[inline]
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        self.bytes.get(self.start..self.end).unwrap_or(&[])
    }

    /// The number of pending bytes.
    #[inline]
    #[must_use]
    pub fn len(&self) -> usize {
        self.end - self.start
    }

    /// Whether no bytes are pending.
    #[inline]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Makes room for so many bytes more.
    pub fn reserve(&mut self, bytes: usize) {
        if self.bytes.len() - self.end < bytes {
            self.grow(bytes);
        }
    }

    /// Forgets all and keeps the memory.
    pub fn clear(&mut self) {
        (self.start, self.end) = (0, 0);
    }

    /// Appends what `write` writes: it gets room of at least `most` bytes, and returns how many it used.
    #[inline]
    fn append(&mut self, most: usize, write: impl FnOnce(&mut [u8]) -> usize) {
        if self.bytes.len() - self.end < most {
            self.grow(most);
        }
        if let Some(room) = self.bytes.get_mut(self.end..) {
            self.end += write(room).min(room.len());
        }
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self, most: usize) {
        let len = (2 * self.bytes.len()).max(self.end + most).max(256);
        if self.end == 0 {
            // The system has zeroed memory.
            self.bytes = vec![0; len];
        } else {
            self.bytes.resize(len, 0);
        }
    }

    /// Appends a byte.
    #[inline]
    pub fn push(&mut self, byte: u8) {
        self.extend_head(&[byte], 1);
    }

    /// Appends bytes.
    #[inline]
    pub fn extend(&mut self, bytes: &[u8]) {
        self.append(bytes.len(), |room| {
            if let Some(place) = room.get_mut(..bytes.len()) {
                place.copy_from_slice(bytes);
            }
            bytes.len()
        });
    }

    /// Appends `count` equal bytes.
    #[inline]
    pub fn fill(&mut self, count: usize, byte: u8) {
        if count <= SHORT_FILL {
            return self.extend_head(&[byte; SHORT_FILL], count);
        }
        self.append(count, |room| {
            if let Some(place) = room.get_mut(..count) {
                place.fill(byte);
            }
            count
        });
    }

    /// Appends the first `len` bytes of a block. Copying the whole block is faster than a copy of variable length.
    #[inline]
    pub fn extend_head<const N: usize>(&mut self, block: &[u8; N], len: usize) {
        match self.bytes.get_mut(self.end..).and_then(|room| room.first_chunk_mut::<N>()) {
            Some(place) => {
                *place = *block;
                self.end += len.min(N);
            }
            None => self.extend_slowly(block.get(..len).unwrap_or(block)),
        }
    }

    #[cold]
    #[inline(never)]
    fn extend_slowly(&mut self, bytes: &[u8]) {
        self.extend(bytes);
        // The next blocks need more room than these bytes.
        self.grow(self.bytes.len());
    }

    /// Adds the pending bytes to the text, escaped as [`push`] does. Returns whether all of them were UTF-8.
    #[inline]
    pub fn commit(&mut self) -> bool {
        let pending = self.bytes();
        let len = len_without_line_ends(pending);
        if len > TEXT_LIMIT_BYTES || !pending.get(..len).is_some_and(is_plain) {
            return self.commit_escaped();
        }
        self.start += len;
        self.end = self.start;
        true
    }

    /// The same for bytes that are known to be printable ASCII.
    ///
    /// # Panics
    /// In debug builds, if they are not.
    #[inline]
    pub(super) fn commit_plain(&mut self) -> bool {
        debug_assert!(is_plain(self.bytes()));
        if self.len() > TEXT_LIMIT_BYTES {
            return self.commit_escaped();
        }
        self.start = self.end;
        true
    }

    #[inline(never)]
    fn commit_escaped(&mut self) -> bool {
        let mut escaped = std::mem::take(&mut self.escaped);
        escaped.clear();
        let is_utf8 = escape(shown(self.bytes()), &mut escaped);
        self.end = self.start;
        self.extend(escaped.as_bytes());
        self.start = self.end;
        self.escaped = escaped;
        is_utf8
    }

    /// Adds bytes to the text, escaped as [`push`] does. Returns whether all of them were UTF-8.
    #[inline]
    pub fn push_escaped(&mut self, bytes: &[u8]) -> bool {
        self.extend(bytes);
        self.commit()
    }

    /// Adds a text as it is. Pending bytes are lost.
    pub fn push_text(&mut self, text: &str) {
        self.end = self.start;
        self.extend(text.as_bytes());
        self.start = self.end;
    }

    /// Adds this number of digits of a number in upper-case hex, after `0x`. Pending bytes are lost.
    pub fn push_hex_number(&mut self, value: u64, digits: u32) {
        self.end = self.start;
        self.extend(b"0x");
        for place in (0..digits).rev() {
            self.push(hex_of((value >> (4 * place)) as u8 & 15)[1]);
        }
        self.start = self.end;
    }

    /// Adds bytes in upper-case hex. Pending bytes are lost.
    pub fn push_hex(&mut self, bytes: &[u8]) {
        self.end = self.start;
        self.append(2 * bytes.len(), |room| {
            for (place, byte) in room.as_chunks_mut::<2>().0.iter_mut().zip(bytes) {
                *place = hex_of(*byte);
            }
            2 * bytes.len()
        });
        self.start = self.end;
    }
}

/// The number of bytes before the line ends at the end.
#[inline]
fn len_without_line_ends(bytes: &[u8]) -> usize {
    bytes.iter().rposition(|byte| !matches!(byte, b'\n' | b'\r')).map_or(0, |last| last + 1)
}

/// Whether all bytes are printable ASCII. Checked in blocks; the last two may overlap.
#[inline]
pub(super) fn is_plain(bytes: &[u8]) -> bool {
    fn all<const N: usize>(block: &[u8; N]) -> bool {
        block.iter().fold(true, |plain, byte| plain & (0x20..0x7F).contains(byte))
    }
    match (bytes.last_chunk::<16>(), bytes.last_chunk::<4>()) {
        (Some(last), _) => bytes.as_chunks::<16>().0.iter().fold(all(last), |plain, block| plain & all(block)),
        (_, Some(last)) => bytes.as_chunks::<4>().0.iter().fold(all(last), |plain, block| plain & all(block)),
        _ => bytes.iter().all(|byte| (0x20..0x7F).contains(byte)),
    }
}

fn push_hex_byte(byte: u8, out: &mut String) {
    out.push_str("\\x");
    push_hex(&[byte], out);
}

/// The digits of a byte in upper-case hex.
fn hex_of(byte: u8) -> [u8; 2] {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    [DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]]
}

/// Appends bytes in upper-case hex.
pub fn push_hex(bytes: &[u8], out: &mut String) {
    out.extend(bytes.iter().flat_map(|&byte| hex_of(byte)).map(char::from));
}

/// Appends a GUID in its usual form.
pub fn push_guid(guid: &[u8; 16], out: &mut String) {
    out.push('{');
    for (index, byte) in guid.iter().enumerate() {
        if matches!(index, 4 | 6 | 8 | 10) {
            out.push('-');
        }
        push_hex(&[*byte], out);
    }
    out.push('}');
}

/// Appends console text without its terminal sequences (`ESC [ … letter`, `ESC` and a letter), as [`push`] does.
pub fn push_console(bytes: &[u8], out: &mut String) {
    if memchr::memchr(0x1B, bytes).is_none() {
        push(bytes, out);
        return;
    }
    let mut plain = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    while let Some(escape) = memchr::memchr(0x1B, rest) {
        plain.extend_from_slice(rest.get(..escape).unwrap_or(&[]));
        rest = rest.get(escape + 1..).unwrap_or(&[]);
        let len = match rest.first() {
            Some(b'[') => rest.iter().skip(1).position(|byte| (0x40..0x7F).contains(byte)).map_or(rest.len(), |at| at + 2),
            Some(_) => 1,
            None => 0,
        };
        rest = rest.get(len..).unwrap_or(&[]);
    }
    plain.extend_from_slice(rest);
    push(&plain, out);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn escaped(bytes: &[u8]) -> (String, bool) {
        let mut out = String::new();
        let is_utf8 = push(bytes, &mut out);
        (out, is_utf8)
    }

    #[test]
    fn texts_lose_nothing() {
        assert_eq!(escaped(b"plain"), ("plain".into(), true));
        assert_eq!(escaped("é\n".as_bytes()), ("é".into(), true));
        assert_eq!(escaped(b"two\nlines\r\n"), ("two\nlines".into(), true));
        assert_eq!(escaped(b"a\xFFb\x07c"), ("a\\xFFb\\u{7}c".into(), false));
        assert_eq!(escaped(&[b'a'; 70_000]).0.len(), TEXT_LIMIT_BYTES);
    }

    fn in_place(before: &str, bytes: &[u8]) -> (String, bool) {
        let mut text = PendingText::default();
        text.push_text(before);
        let is_utf8 = text.push_escaped(bytes);
        (text.text().to_owned(), is_utf8)
    }

    #[test]
    fn texts_written_in_place_are_the_same() {
        // Miri takes a thousand times as long: it sees blocks of each kind, and no more.
        let step = if cfg!(miri) { 19 } else { 1 };
        let plain: Vec<u8> = (0x20..0x7F).collect();
        for len in (0..plain.len()).step_by(step) {
            let text = plain[..len].to_vec();
            assert!(is_plain(&text));
            for at in (0..len).step_by(step) {
                for byte in [0x1F, 0x7F, 0x80, 0xFF, 0, b'\n'] {
                    let mut other = text.clone();
                    other[at] = byte;
                    assert!(!is_plain(&other), "{byte} at {at} of {len}");
                    let mut pushed = "before".to_owned();
                    let is_utf8 = push(&other, &mut pushed);
                    assert_eq!(in_place("before", &other), (pushed, is_utf8));
                }
            }
        }
        let long = vec![b'a'; if cfg!(miri) { 100 } else { TEXT_LIMIT_BYTES + 1 }];
        for text in [&b""[..], b"\n", b"text\r\n", &long] {
            let mut pushed = String::new();
            assert!(push(text, &mut pushed));
            assert_eq!(in_place("", text), (pushed, true));
        }
    }

    #[test]
    fn terminal_sequences_are_left_out() {
        let console = |bytes: &[u8]| {
            let mut out = String::new();
            push_console(bytes, &mut out);
            out
        };
        assert_eq!(console(b"\x1B[1;31mred\x1B[0m text\x1B"), "red text");
        assert_eq!(console(b"\x1B[unfinish"), "nfinish");
        assert_eq!(console(b"\x1B[12;"), "");
        assert_eq!(console(b"\x1BMup"), "up");
    }
}
