//! Recordings written as text: hex digits (as terminals, debuggers and web pages give them) and base64.
//!
//! Both decoders go on after a character that does not belong: it is skipped and counted.

use data_encoding::{BASE64, Encoding};

use super::layer::Damage;
use super::spool::Spool;
use super::{Bytes, InputError, dump};
use crate::model::{LossKind, losses};

/// How much of an input must be text to be taken for it, in bytes.
pub(super) const SNIFF_BYTES: usize = 64 << 10;

/// Fewer hex digits or base64 symbols than this can be anything.
pub(super) const SYMBOLS_MIN: usize = 4;

/// Text is decoded in steps of this many bytes.
pub(super) const STEP_BYTES: usize = 1 << 20;

const BYTE_ORDER_MARK: &[u8] = &[0xef, 0xbb, 0xbf];

pub(super) fn without_mark(bytes: &[u8]) -> &[u8] {
    bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(bytes)
}

/// Whether the first bytes may be of one of these texts at all: most recordings end the search here.
pub(super) fn begins_as_text(bytes: &[u8]) -> bool {
    const BEGIN_BYTES: usize = 64;
    let bytes = without_mark(bytes);
    let start = bytes.get(..BEGIN_BYTES).unwrap_or(bytes);
    start.iter().all(|byte| byte.is_ascii_graphic() || byte.is_ascii_whitespace())
}

/// The start of the input in whole lines.
pub(super) fn first_lines(bytes: &[u8]) -> Vec<&[u8]> {
    let sample = bytes.get(..SNIFF_BYTES).unwrap_or(bytes);
    let mut lines: Vec<&[u8]> = sample.split(|&byte| byte == b'\n').collect();
    if sample.len() < bytes.len() {
        lines.pop();
    }
    lines
}

/// Whether the start of the input is hex digits, white space, dividers and `0x` alone, without offsets before the lines.
pub(super) fn looks_like_hex(bytes: &[u8]) -> bool {
    let bytes = without_mark(bytes);
    let sample = bytes.get(..SNIFF_BYTES).unwrap_or(bytes);
    let mut hex = HexDecoder::default();
    let mut decoded = Vec::new();
    sample.iter().all(|&byte| hex.push(byte, &mut decoded)) && hex.digits >= SYMBOLS_MIN && !dump::begin_with_addresses(bytes)
}

/// Whether the start of the input is lines of base64: no blanks within a line, lines of one length or of whole quanta.
pub(super) fn looks_like_base64(bytes: &[u8]) -> bool {
    let bytes = without_mark(bytes);
    let whole = bytes.len() <= SNIFF_BYTES;
    let sample = bytes.get(..SNIFF_BYTES).unwrap_or(bytes);
    let mut lines: Vec<&[u8]> = sample.split(|&byte| byte == b'\n').map(<[u8]>::trim_ascii_end).collect();
    while lines.last().is_some_and(|line| line.is_empty()) {
        lines.pop();
    }
    let Some((last, before)) = lines.split_last() else { return false };
    let width = before.first().map_or(usize::MAX, |line| line.len());
    let symbols: usize = lines.iter().map(|line| line.len()).sum();
    let in_alphabet = |line: &[u8]| line.iter().all(|&byte| byte == b'=' || is_base64(byte));
    lines.iter().all(|line| in_alphabet(line))
        && before.iter().all(|line| line.len() == width || line.len() % 4 == 0)
        && last.len() <= width
        && symbols >= 2 * SYMBOLS_MIN
        && (!whole || symbols.is_multiple_of(4))
}

fn is_base64(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'-' | b'_')
}

/// Pairs hex digits. White space may occur anywhere, also between the two digits of a byte, but where numbers are written with
/// `0x`, in brackets or divided by commas each number is a byte (or several) of its own: `0x1, 0x22` is 01 22. Bytes of two digits may be
/// divided by colons or hyphens.
#[derive(Default)]
struct HexDecoder {
    high: Option<u8>,
    /// The digits being read follow a `0x`.
    prefixed: bool,
    /// A divider was met: all digits are numbers in a list.
    listed: bool,
    /// The digits since the last divider, or white space.
    run: usize,
    /// Nothing but the end of a line has come since a colon or a hyphen.
    is_joined: bool,
    digits: usize,
}

impl HexDecoder {
    /// Takes one character; false if it does not belong to hex text.
    #[inline]
    fn push(&mut self, byte: u8, decoded: &mut Vec<u8>) -> bool {
        let digit = match byte {
            b'0'..=b'9' => byte - b'0',
            b'a'..=b'f' => byte - b'a' + 10,
            b'A'..=b'F' => byte - b'A' + 10,
            b' ' | b'\t' if self.is_joined => return false,
            b' ' | b'\t' | b'\n' | b'\r' | 0x0b | 0x0c => {
                if self.prefixed || self.listed {
                    self.end_number(decoded);
                }
                self.run = 0;
                return true;
            }
            b',' | b'[' | b']' => {
                self.end_number(decoded);
                self.listed = true;
                return true;
            }
            b':' | b'-' if self.run == 2 => {
                self.end_number(decoded);
                (self.listed, self.is_joined) = (true, true);
                return true;
            }
            // The 0 of a prefix was taken for the first digit of a byte.
            b'x' | b'X' if self.high == Some(0) && !self.prefixed => {
                self.high = None;
                self.prefixed = true;
                self.digits -= 1;
                return true;
            }
            _ => return false,
        };
        self.digits += 1;
        self.run += 1;
        self.is_joined = false;
        match self.high.take() {
            None => self.high = Some(digit),
            Some(high) => decoded.push(high << 4 | digit),
        }
        true
    }

    fn end_number(&mut self, decoded: &mut Vec<u8>) {
        decoded.extend(self.high.take());
        (self.prefixed, self.run) = (false, 0);
    }
}

/// Counts cases of one kind, and describes the first.
pub(super) struct Strays {
    kind: LossKind,
    count: u64,
    first: Option<(u64, String)>,
}

impl Strays {
    pub(super) fn new(kind: LossKind) -> Strays {
        Strays { kind, count: 0, first: None }
    }

    pub(super) fn add(&mut self, count: u64, decoded_offset: u64, what: impl FnOnce() -> String) {
        self.count += count;
        self.first.get_or_insert_with(|| (decoded_offset, what()));
    }

    pub(super) fn into_damage(self) -> Option<Damage> {
        let (offset, first) = self.first?;
        let more = if self.count > 1 { format!(", and {} more", self.count - 1) } else { String::new() };
        let detail = format!("{first}{more}");
        // How many events that costs shows in the frames around it.
        Some(Damage { kind: self.kind, offset, count: self.count, at_least_lost: 0, detail })
    }
}

/// The text in steps, each with its offset in the file; the memory of earlier steps is given back.
pub(super) fn steps(source: &Bytes) -> impl Iterator<Item = (usize, &[u8])> {
    let mark = source.len() - without_mark(source).len();
    let starts = (mark..source.len()).step_by(STEP_BYTES);
    starts.map(|start| {
        source.release(start.saturating_sub(STEP_BYTES)..start);
        let end = start.saturating_add(STEP_BYTES).min(source.len());
        (start, source.get(start..end).unwrap_or_default())
    })
}

/// The length of the lines with which a J-Link's server of RTT begins: its version, the probe, and the process that serves.
pub(super) fn greeting_bytes(bytes: &[u8]) -> Option<usize> {
    const GREETING_BYTES: usize = 512;
    let mut lines = bytes.get(..GREETING_BYTES).unwrap_or(bytes).split_inclusive(|&byte| byte == b'\n');
    let mut line = || lines.next().filter(|line| line.ends_with(b"\n"));
    let [version, probe, process] = [line()?, line()?, line()?];
    let is_greeting = version.starts_with(b"SEGGER J-Link V")
        && version.trim_ascii_end().ends_with(b"Real time terminal output")
        && memchr::memmem::find(probe, b"SN=").is_some()
        && process.starts_with(b"Process: ");
    is_greeting.then_some(version.len() + probe.len() + process.len())
}

/// Leaves these lines out.
pub(super) fn leave_greeting(source: &Bytes, spool: &mut Spool<'_>) -> Result<Option<Damage>, InputError> {
    let mut left_out = greeting_bytes(source).unwrap_or(0);
    for (_, step) in steps(source) {
        let rest = step.get(left_out..).unwrap_or_default();
        left_out -= step.len() - rest.len();
        spool.push(rest)?;
    }
    Ok(None)
}

/// Decodes hex text.
pub(super) fn decode_hex(source: &Bytes, spool: &mut Spool<'_>) -> Result<Option<Damage>, InputError> {
    let mut hex = HexDecoder::default();
    let mut strays = Strays::new(losses::TEXT_ENCODING_DAMAGED);
    let mut decoded = Vec::with_capacity(STEP_BYTES / 2);
    for (start, step) in steps(source) {
        for (index, &byte) in step.iter().enumerate() {
            if !hex.push(byte, &mut decoded) {
                strays.add(1, spool.len() + decoded.len() as u64, || {
                    format!("{:?} at byte {} of the file is not a hex digit", byte.escape_ascii().to_string(), start + index)
                });
            }
        }
        spool.push(&decoded)?;
        decoded.clear();
    }
    if hex.prefixed || hex.listed {
        hex.end_number(&mut decoded);
        spool.push(&decoded)?;
    } else if hex.high.is_some() {
        strays.add(1, spool.len(), || "the last hex digit has no partner".into());
    }
    Ok(strays.into_damage())
}

/// Decodes base64 text: padded or not, also several padded texts one after the other.
pub(super) fn decode_base64(source: &Bytes, spool: &mut Spool<'_>) -> Result<Option<Damage>, InputError> {
    let encoding = lenient_base64();
    let mut strays = Strays::new(losses::TEXT_ENCODING_DAMAGED);
    let mut symbols = Vec::with_capacity(STEP_BYTES + 4);
    let mut decoded = Vec::new();
    for (start, step) in steps(source) {
        for (index, &byte) in step.iter().enumerate() {
            if is_base64(byte) || byte == b'=' {
                symbols.push(byte);
            } else if !byte.is_ascii_whitespace() {
                strays.add(1, spool.len() + symbols.len() as u64 / 4 * 3, || {
                    format!("{:?} at byte {} of the file is no base64 symbol", byte.escape_ascii().to_string(), start + index)
                });
            }
        }
        let quanta = symbols.len() / 4 * 4;
        decode_quanta(&encoding, symbols.get(..quanta).unwrap_or_default(), &mut decoded, spool, &mut strays)?;
        symbols.drain(..quanta);
    }
    if symbols.len() > 1 {
        symbols.resize(4, b'=');
        decode_quanta(&encoding, &symbols, &mut decoded, spool, &mut strays)?;
    } else if symbols.len() == 1 {
        strays.add(1, spool.len(), || "the last base64 symbol is incomplete".into());
    }
    Ok(strays.into_damage())
}

/// Standard base64, also in the alphabet for URLs; the unused bits of a last symbol may have any value.
fn lenient_base64() -> Encoding {
    let mut specification = BASE64.specification();
    specification.check_trailing_bits = false;
    specification.translate.from.push_str("-_");
    specification.translate.to.push_str("+/");
    specification.encoding().unwrap_or(BASE64)
}

/// Decodes whole quanta of four symbols; a malformed quantum (padding in its middle) is skipped.
fn decode_quanta(
    encoding: &Encoding,
    mut symbols: &[u8],
    decoded: &mut Vec<u8>,
    spool: &mut Spool<'_>,
    strays: &mut Strays,
) -> Result<(), InputError> {
    while !symbols.is_empty() {
        decoded.resize(symbols.len() / 4 * 3, 0);
        match encoding.decode_mut(symbols, decoded) {
            Ok(written) => {
                spool.push(decoded.get(..written).unwrap_or_default())?;
                break;
            }
            Err(partial) => {
                spool.push(decoded.get(..partial.written).unwrap_or_default())?;
                strays.add(1, spool.len(), || "padding (=) within base64 text".into());
                symbols = symbols.get(partial.read.saturating_add(4)..).unwrap_or_default();
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::{Input, Layer, ReadOptions};

    fn open(text: &[u8]) -> Input {
        Input::from_vec(text.to_vec(), &ReadOptions::default()).unwrap()
    }

    fn decoded(text: &str, layer: Layer) -> Vec<u8> {
        let input = open(text.as_bytes());
        assert_eq!((input.layers(), input.damages()), (&[layer][..], &[][..]), "{text:?}");
        input.bytes().to_vec()
    }

    #[test]
    fn hex_in_every_dress() {
        for text in [
            "0301020204020500",
            "03 01 02 02 04 02 05 00\n",
            "0301 0202\r\n0402\t0500",
            "030102020402050\n0",
            "0x03, 0x01, 0x02, 0x02,\n0x04,0x02,0x05,0x00,",
            "0x3 0X1 0x2 0x2 0x4 0x2 0x5 0x0",
            "0x03010202 0x04020500",
            "3,1,2,2,4,2,5,0",
            "[03, 01, 02, 02, 04, 02, 05, 00]",
            "[3, 1, 2, 2]\n[4, 2, 5, 0]\n",
            "03:01:02:02:04:02:05:00",
            "03-01-02-02-\n04-02-05-00\n",
            "\u{feff}0301020204020500",
        ] {
            assert_eq!(decoded(text, Layer::Hex), [3, 1, 2, 2, 4, 2, 5, 0], "{text:?}");
        }
        assert_eq!(decoded("DEADbeef", Layer::Hex), [0xde, 0xad, 0xbe, 0xef]);
    }

    #[test]
    fn base64_in_every_dress() {
        for text in [
            "AwECAgQCBQD/",
            "AwEC\nAgQC\nBQD/\n",
            "AwECAg==BAIFAP8=",
            "AwECAgQCBQD/\r\n\r\n",
            "AwECAg==\nBAIFAP8=\n",
            "AwECAgQCBQD_",
        ] {
            assert_eq!(decoded(text, Layer::Base64), [3, 1, 2, 2, 4, 2, 5, 0, 255], "{text:?}");
        }
        // Unused bits of the last symbol that are not 0.
        assert_eq!(decoded("AwECAgR=", Layer::Base64), [3, 1, 2, 2, 4]);
    }

    #[test]
    fn text_larger_than_a_step() {
        let data: Vec<u8> = (0..2_000_000u32).map(|i| (i / 3) as u8).collect();
        assert_eq!(decoded(&data_encoding::HEXUPPER.encode(&data), Layer::Hex), data);
        assert_eq!(decoded(&data_encoding::BASE64.encode(&data), Layer::Base64), data);
    }

    #[test]
    fn what_is_neither_is_left_alone() {
        for text in [
            "hello world, this is text",
            "hello\nworldly\n",
            "abc",
            "12",
            "key: 0x12",
            "",
            "3.14159",
            "AwEC AgQC",
            "0x0x0x1",
            "0301: 02",
            "10: 20 30",
            "2026-11-27",
        ] {
            if !text.is_empty() {
                assert_eq!(open(text.as_bytes()).layers(), [], "{text:?}");
            }
        }
        assert_eq!(open(&[3, 1, 2, 2, 4, 2, 5, 0]).layers(), []);
    }

    #[test]
    fn a_stray_character_is_skipped_and_told() {
        let text = format!("{}!{}", "ab".repeat(40_000), "cd".repeat(10));
        let input = open(text.as_bytes());
        assert_eq!(input.bytes().len(), 40_010);
        let [damage] = input.damages() else { panic!("{:?}", input.damages()) };
        assert_eq!((damage.kind.code, damage.offset, damage.count), ("text_encoding_damaged", 40_000, 1));
        assert_eq!(damage.detail, "\"!\" at byte 80000 of the file is not a hex digit");

        let text = format!("{}!{}~~", "AwEC".repeat(20_000), "AwEC".repeat(2));
        let input = open(text.as_bytes());
        assert_eq!(input.bytes(), [3, 1, 2].repeat(20_002));
        assert_eq!(input.damages()[0].detail, "\"!\" at byte 80000 of the file is no base64 symbol, and 2 more");

        assert_eq!(open(b"ab cd e").damages()[0].detail, "the last hex digit has no partner");
    }
}
