//! Stray bytes between packets: text that the firmware printed, or damage.
//!
//! They are read byte by byte, since they may continue in the next part and have any length. Lines of text are drawn; all other bytes up
//! to the next packet are one bad frame.

use super::super::record::{PACKET_HEAD, Reading};
use super::losses;
use crate::model::LossKind;

/// The largest length of a line, in bytes.
const LINE_BYTES: usize = 1024;

/// The least length of a line of text without blanks, in bytes.
const LINE_MIN_BYTES: usize = 4;

/// The same for a line next to damage.
const LINE_MIN_BYTES_IN_DAMAGE: usize = 8;

/// The number of bytes of damage that are kept for `dump`.
pub const KEPT_BYTES: usize = 16;

/// The stray bytes since the last packet.
#[derive(Clone, Debug, Default)]
pub struct StrayBytes {
    /// Printable bytes that may become a line, and where they start in the input.
    line: Vec<u8>,
    line_offset: u64,
    /// Whether the byte before the line was damage.
    after_damage: bool,
    text_bytes: u64,
    damage: Damage,
}

/// The bytes between two packets that are not text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Damage {
    /// The offset of the first byte in the input.
    pub offset: u64,
    /// The number of bytes.
    pub bytes: u64,
    /// The first bytes, at most [`KEPT_BYTES`].
    pub head: Vec<u8>,
}

impl Damage {
    /// The kind of loss. `at_end`: the input ends with the damage.
    pub fn kind(&self, reading: Reading, at_end: bool) -> LossKind {
        let is_packet = self.head.starts_with(&reading.header) && self.head.get(2).is_none_or(|kind| (1..=5).contains(kind));
        let length = self.head.get(3..PACKET_HEAD).map_or(u64::MAX, |len| u64::from(len[0]) | u64::from(len[1]) << 8);
        match is_packet {
            true if at_end && self.bytes < length.saturating_add(8) => losses::TRUNCATED_FRAME,
            true => losses::DAMAGED_PACKET,
            false => losses::NOISE,
        }
    }
}

impl StrayBytes {
    /// Whether there are no stray bytes.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.text_bytes == 0 && self.damage.bytes == 0 && self.line.is_empty()
    }

    /// Adds the next bytes, at `offset` in the input. Each line of text is passed to `line`, with its offset.
    pub fn add(&mut self, offset: u64, bytes: &[u8], line: &mut dyn FnMut(u64, &str)) {
        for (offset, &byte) in (offset..).zip(bytes) {
            if !matches!(byte, b' '..=b'~' | b'\t' | b'\r' | b'\n' | 0x1B | 0x80..) {
                self.end_line(true, line);
                self.add_damage(offset, &[byte]);
                continue;
            }
            if self.line.is_empty() {
                self.line_offset = offset;
            }
            self.line.push(byte);
            if byte == b'\n' || self.line.len() >= LINE_BYTES {
                self.end_line(false, line);
            }
        }
    }

    /// Ends the stray bytes: the number of bytes of text, and the damage.
    pub fn end(&mut self, line: &mut dyn FnMut(u64, &str)) -> (u64, Damage) {
        self.end_line(false, line);
        self.after_damage = false;
        (std::mem::take(&mut self.text_bytes), std::mem::take(&mut self.damage))
    }

    fn end_line(&mut self, before_damage: bool, show: &mut dyn FnMut(u64, &str)) {
        if self.line.is_empty() {
            return;
        }
        let line = std::mem::take(&mut self.line);
        let text = std::str::from_utf8(&line).ok().map(|text| text.trim_matches(|char: char| char.is_ascii_whitespace()));
        let beside_damage = before_damage || self.after_damage;
        let least = if beside_damage { LINE_MIN_BYTES_IN_DAMAGE } else { LINE_MIN_BYTES };
        match text {
            Some("") if !beside_damage => self.text_bytes += line.len() as u64,
            Some(text) if text.len() >= least => {
                show(self.line_offset, text);
                self.text_bytes += line.len() as u64;
                self.after_damage = false;
            }
            _ => self.add_damage(self.line_offset, &line),
        }
        self.line = line;
        self.line.clear();
    }

    fn add_damage(&mut self, offset: u64, bytes: &[u8]) {
        if self.damage.bytes == 0 {
            self.damage.offset = offset;
        }
        self.damage.bytes += bytes.len() as u64;
        let room = KEPT_BYTES.saturating_sub(self.damage.head.len());
        self.damage.head.extend(bytes.iter().take(room));
        self.after_damage = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn look(pieces: &[&[u8]]) -> (Vec<(u64, String)>, u64, Damage) {
        let (mut stray, mut lines, mut offset) = (StrayBytes::default(), Vec::new(), 100);
        let mut show = |offset: u64, line: &str| lines.push((offset, line.to_owned()));
        for piece in pieces {
            stray.add(offset, piece, &mut show);
            offset += piece.len() as u64;
        }
        let (text_bytes, damage) = stray.end(&mut show);
        assert!(stray.is_empty());
        assert_eq!(text_bytes + damage.bytes, offset - 100);
        (lines, text_bytes, damage)
    }

    #[test]
    fn lines_are_text_and_the_rest_is_damage() {
        let (lines, text_bytes, damage) = look(&[b"boot 1.2\r\n\r\nSensor: 21\xC2\xB0C\r\n"]);
        assert_eq!(lines, [(100, "boot 1.2".to_owned()), (112, "Sensor: 21°C".to_owned())]);
        assert_eq!((text_bytes, damage.bytes), (27, 0));
        let (lines, _, damage) = look(&[b"assert failed\r\n", b"\xAA\x55\x05abcdef\0\x01"]);
        assert_eq!(lines.len(), 1);
        assert_eq!((damage.offset, damage.bytes, damage.head[0]), (115, 11, 0xAA));
        assert_eq!(damage.kind(Reading::DOCUMENT_DUMP, false), losses::DAMAGED_PACKET);
        assert_eq!(damage.kind(Reading::DOCUMENT_DUMP, true), losses::TRUNCATED_FRAME);
        assert_eq!(damage.kind(Reading::HOST, false), losses::NOISE);
    }

    #[test]
    fn cuts_do_not_show() {
        let bytes = b"\x01\x02printed text\x03ok\nerror: no answer\r\n\xFF\xFEend of it";
        let whole = look(&[bytes]);
        for at in 0..bytes.len() {
            let (one, two) = bytes.split_at(at);
            assert_eq!(look(&[one, two]), whole, "cut at {at}");
        }
        assert_eq!(whole.0.len(), 2, "{:?}", whole.0);
    }
}
