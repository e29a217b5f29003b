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
    if is_plain(bytes) {
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

/// Appends what `write` appends, as [`push`] does.
#[inline]
pub fn push_made(out: &mut String, write: impl FnOnce(&mut Vec<u8>)) -> bool {
    let mut bytes = std::mem::take(out).into_bytes();
    let start = bytes.len();
    write(&mut bytes);
    let made = bytes.get(start..).unwrap_or(&[]);
    let len = made.iter().rposition(|byte| !matches!(byte, b'\n' | b'\r')).map_or(0, |last| last + 1);
    if len <= TEXT_LIMIT_BYTES && made.get(..len).is_some_and(is_plain) {
        bytes.truncate(start + len);
        // SAFETY: what was there is UTF-8, and what was appended is ASCII.
        *out = unsafe { String::from_utf8_unchecked(bytes) };
        return true;
    }
    let made = bytes.split_off(start.min(bytes.len()));
    // SAFETY: it is what was there.
    *out = unsafe { String::from_utf8_unchecked(bytes) };
    push(&made, out)
}

/// Whether all bytes are printable ASCII. By blocks, of which the last ones overlap.
#[inline]
fn is_plain(bytes: &[u8]) -> bool {
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
    fn a_text_made_in_place_is_the_same() {
        let plain: Vec<u8> = (0x20..0x7F).collect();
        for len in 0..plain.len() {
            let text = plain[..len].to_vec();
            assert!(is_plain(&text));
            for at in 0..len {
                for byte in [0x1F, 0x7F, 0x80, 0xFF, 0, b'\n'] {
                    let mut other = text.clone();
                    other[at] = byte;
                    assert!(!is_plain(&other), "{byte} at {at} of {len}");
                    let (mut pushed, mut made) = ("before".to_owned(), "before".to_owned());
                    assert_eq!(push(&other, &mut pushed), push_made(&mut made, |out| out.extend_from_slice(&other)));
                    assert_eq!(pushed, made);
                }
            }
        }
        for text in [&b""[..], b"\n", b"text\r\n", &[b'a'; TEXT_LIMIT_BYTES + 1]] {
            let (mut pushed, mut made) = (String::new(), String::new());
            assert!(push(text, &mut pushed) && push_made(&mut made, |out| out.extend_from_slice(text)));
            assert_eq!(pushed, made);
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
