//! Bytes from a target → text for people: nothing is lost, nothing is a control character.

/// The longest text that is shown, in bytes of the message; what is longer is cut.
pub const TEXT_LIMIT_BYTES: usize = 64 << 10;

/// Appends bytes as text: those that are not UTF-8 as `\xNN`, control characters but tabs and line ends escaped, line ends at the end
/// left out. Returns whether all were UTF-8.
pub fn push(bytes: &[u8], out: &mut String) -> bool {
    let bytes = bytes.get(..TEXT_LIMIT_BYTES).unwrap_or(bytes);
    let end = bytes.iter().rposition(|byte| !matches!(byte, b'\n' | b'\r')).map_or(0, |last| last + 1);
    let bytes = bytes.get(..end).unwrap_or(&[]);
    // Nearly every text is like this.
    if bytes.iter().fold(true, |plain, byte| plain & (0x20..0x7F).contains(byte)) {
        // SAFETY: all bytes are ASCII. To have that found out once more cost 1 % of the time of a conversion.
        out.push_str(unsafe { std::str::from_utf8_unchecked(bytes) });
        return true;
    }
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

fn push_hex_byte(byte: u8, out: &mut String) {
    out.push_str("\\x");
    push_hex(&[byte], out);
}

/// Appends bytes in upper-case hex.
pub fn push_hex(bytes: &[u8], out: &mut String) {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    for byte in bytes {
        out.push(char::from(DIGITS[usize::from(byte >> 4)]));
        out.push(char::from(DIGITS[usize::from(byte & 15)]));
    }
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

    fn shown(bytes: &[u8]) -> (String, bool) {
        let mut out = String::new();
        let is_utf8 = push(bytes, &mut out);
        (out, is_utf8)
    }

    #[test]
    fn texts_lose_nothing() {
        assert_eq!(shown(b"plain"), ("plain".into(), true));
        assert_eq!(shown("é\n".as_bytes()), ("é".into(), true));
        assert_eq!(shown(b"two\nlines\r\n"), ("two\nlines".into(), true));
        assert_eq!(shown(b"a\xFFb\x07c"), ("a\\xFFb\\u{7}c".into(), false));
        assert_eq!(shown(&[b'a'; 70_000]).0.len(), TEXT_LIMIT_BYTES);
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
