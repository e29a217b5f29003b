//! The changes that a way into the file makes to all bytes alike: text modes, other encodings, lines with 7 bits, terminals that act on control
//! characters.

use std::fmt;

/// Fewer cases than this may be chance.
pub const CASES_MIN: usize = 16;

/// Bytes that were changed so that they cannot be restored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Changed {
    /// Their kind now, as a noun.
    pub what: String,
    /// Whether hardly anything can be read of them.
    pub is_hopeless: bool,
    /// Advice: a sentence without a final stop.
    pub advice: &'static str,
}

impl fmt::Display for Changed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "The input is {}: {}.", self.what, self.advice)
    }
}

/// Whether bytes are no text: text has few control characters.
#[must_use]
pub fn is_binary(bytes: &[u8]) -> bool {
    const ONE_OF: usize = 32;
    // Without branches, and counted in bytes: so the compiler takes many at a time.
    let is_control = |byte: u8| {
        let is_text = (b'\t'..=b'\r').contains(&byte) & (byte != 0x0b) | (byte == 0x1b);
        u8::from((byte < 0x20) & !is_text | (byte == 0x7f))
    };
    let count = |chunk: &[u8]| usize::from(chunk.iter().map(|&byte| is_control(byte)).sum::<u8>());
    bytes.chunks(usize::from(u8::MAX)).map(count).sum::<usize>() > bytes.len() / ONE_OF
}

/// Bytes as UTF-8, of which the last character may be cut. It is a copy: bytes of a file may change.
#[must_use]
pub fn as_utf8(bytes: &[u8]) -> Option<String> {
    let len = match std::str::from_utf8(bytes) {
        Ok(text) => text.len(),
        Err(error) if error.error_len().is_none() => error.valid_up_to(),
        Err(_) => return None,
    };
    String::from_utf8(bytes.get(..len)?.to_vec()).ok()
}

/// The traces of such a change in the bytes of a recording.
#[must_use]
pub fn changed(bytes: &[u8]) -> Option<Changed> {
    const BYTES_MIN: usize = 1024;
    const VALUES_MIN: usize = 64;
    const AGAIN: &str = "these bytes cannot be restored; record again, as binary data";
    if bytes.len() < BYTES_MIN || !is_binary(bytes) {
        return None;
    }
    if bytes.is_ascii() && (0..0x80).filter(|byte| memchr::memchr(*byte, bytes).is_some()).count() >= VALUES_MIN {
        let what = format!("binary data without bit 7 (none of {} bytes is above 0x7F)", bytes.len());
        return Some(Changed { what, is_hopeless: true, advice: "set the line to 8 data bits without parity, and record again" });
    }
    if let Some(text) = as_utf8(bytes) {
        let replaced = text.chars().filter(|&c| c == char::REPLACEMENT_CHARACTER).count();
        if replaced >= CASES_MIN {
            let what = format!(
                "binary data that a program has read as UTF-8: {replaced} characters are U+FFFD, for bytes that are gone"
            );
            return Some(Changed { what, is_hopeless: true, advice: AGAIN });
        }
        if text.chars().filter(|c| !c.is_ascii()).count() >= CASES_MIN {
            let what = "binary data that a program has read as text, and written in another encoding".into();
            let advice = "record again, as binary data (`>` in PowerShell writes text)";
            return Some(Changed { what, is_hopeless: true, advice });
        }
    }
    let missing: Vec<String> = missing_controls(bytes)?.iter().map(|byte| format!("{byte:02X}")).collect();
    let what =
        format!("data in which none of {} bytes is {}, although others below 20 are frequent", bytes.len(), missing.join(" or "));
    let advice = "a terminal that is not in raw mode changes these bytes or takes them out; record with `traceconv record`, or set the line \
                  with `stty raw` first";
    Some(Changed { what, is_hopeless: false, advice })
}

/// The control characters that never occur, of those that a terminal acts on: carriage return, or XON and XOFF, and perhaps others. `None`
/// if others are rare, too.
fn missing_controls(bytes: &[u8]) -> Option<Vec<u8>> {
    const CR: u8 = 0x0d;
    const XON: u8 = 0x11;
    const XOFF: u8 = 0x13;
    /// NUL, INTR, EOF, LF, CR, DISCARD, XON, REPRINT, XOFF, KILL, LNEXT, WERASE, SUSP, QUIT.
    const ACTED_ON: [u8; 14] = [0, 0x03, 0x04, 0x0a, CR, 0x0f, XON, 0x12, XOFF, 0x15, 0x16, 0x17, 0x1a, 0x1c];
    let count = |byte: u8| memchr::memchr_iter(byte, bytes).take(CASES_MIN).count();
    let missing: Vec<u8> = ACTED_ON.into_iter().filter(|byte| count(*byte) == 0).collect();
    let is_usual = missing.contains(&CR) || missing.contains(&XON) && missing.contains(&XOFF);
    (is_usual && (0..0x20).all(|byte| ACTED_ON.contains(&byte) || count(byte) == CASES_MIN)).then_some(missing)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn random(len: usize) -> Vec<u8> {
        let mut state = 0x9e37_79b9_7f4a_7c15u64;
        let mut next = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 40) as u8
        };
        (0..len).map(|_| next()).collect()
    }

    fn what(bytes: &[u8]) -> String {
        changed(bytes).map(|changed| changed.what).unwrap_or_default()
    }

    #[test]
    fn control_characters_make_bytes_binary() {
        let is_control = |byte: u8| byte.is_ascii_control() && !b"\t\n\r\x0c\x1b".contains(&byte);
        for byte in 0..=u8::MAX {
            // One of 32 is 31 of 1000.
            let mut bytes = [b'x'; 1000];
            bytes[..31].fill(byte);
            assert!(!is_binary(&bytes), "{byte:02x}");
            bytes[999] = byte;
            assert_eq!(is_binary(&bytes), is_control(byte), "{byte:02x}");
            assert_eq!(is_binary(&[byte; 1000]), is_control(byte), "{byte:02x}");
        }
    }

    #[test]
    fn changes_are_seen() {
        let data = random(20_000);
        assert_eq!(changed(&data), None);
        let seven: Vec<u8> = data.iter().map(|byte| byte & 0x7f).collect();
        assert_eq!(what(&seven), "binary data without bit 7 (none of 20000 bytes is above 0x7F)");
        let replaced = String::from_utf8_lossy(&data);
        let count = replaced.matches(char::REPLACEMENT_CHARACTER).count();
        let expected =
            format!("binary data that a program has read as UTF-8: {count} characters are U+FFFD, for bytes that are gone");
        assert_eq!(what(replaced.as_bytes()), expected);
        // A character is cut at the end.
        let other: String = data.iter().map(|&byte| if byte < 0x80 { byte.into() } else { '\u{2500}' }).collect();
        let cut = (0..3).map(|less| &other.as_bytes()[..other.len() - less]);
        cut.for_each(|cut| assert_eq!(what(cut), "binary data that a program has read as text, and written in another encoding"));
        let cooked: Vec<u8> =
            data.iter().filter(|byte| !matches!(byte, 0x11 | 0x13)).map(|&byte| if byte == 0x0d { 0x0a } else { byte }).collect();
        let len = cooked.len();
        let expected = format!("data in which none of {len} bytes is 0D or 11 or 13, although others below 20 are frequent");
        assert_eq!(what(&cooked), expected);
    }

    #[test]
    fn other_bytes_are_not_called_changed() {
        let without = |some: &[u8]| -> Vec<u8> { random(20_000).into_iter().filter(|byte| !some.contains(byte)).collect() };
        // No terminal acts on 05; one of XON and XOFF alone means nothing.
        for some in [&[0x05, 0x0d][..], &[0x11], &[0x0a]] {
            assert_eq!(changed(&without(some)), None, "{some:x?}");
        }
        assert_eq!(changed("Grüße aus dem Gerät\r\n".repeat(1000).as_bytes()), None);
        assert_eq!(changed(&[0; 5000]), None);
        assert_eq!(changed(&random(1023).iter().map(|byte| byte & 0x7f).collect::<Vec<u8>>()), None, "short");
    }
}
