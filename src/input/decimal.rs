//! Lists of bytes as decimal numbers, as JSON, Python, Java and Rust print them: `[3, 2, 153]`, `3 2 153`, `[3, 2, -103]`.

use super::layer::Damage;
use super::spool::Spool;
use super::text::{SNIFF_BYTES, STEP_BYTES, SYMBOLS_MIN, Strays, steps, without_mark};
use super::{Bytes, InputError};
use crate::model::losses;

/// Reads numbers from -128 to 255, divided by blanks, commas and brackets.
#[derive(Default)]
struct DecimalDecoder {
    value: i16,
    digits: usize,
    is_negative: bool,
    /// How many numbers were read.
    count: usize,
    /// Whether one of them cannot be a byte in hex: it has three digits or a sign.
    is_certain: bool,
}

impl DecimalDecoder {
    /// Takes one character; false if it does not belong, or ends a number that is not a byte.
    fn push(&mut self, byte: u8, decoded: &mut Vec<u8>) -> bool {
        match byte {
            b'0'..=b'9' if self.digits < 3 => {
                self.value = self.value * 10 + i16::from(byte - b'0');
                self.digits += 1;
                true
            }
            b'-' if self.digits == 0 && !self.is_negative => {
                self.is_negative = true;
                true
            }
            b',' | b'[' | b']' | b'}' => self.end_number(decoded),
            _ if byte.is_ascii_whitespace() => self.end_number(decoded),
            _ => false,
        }
    }

    fn end_number(&mut self, decoded: &mut Vec<u8>) -> bool {
        let DecimalDecoder { value, digits, is_negative, count, is_certain } = std::mem::take(self);
        let value = if is_negative { -value } else { value };
        let is_byte = digits > 0 && (-128..=255).contains(&value);
        if is_byte {
            decoded.push(value as u8);
        }
        (self.count, self.is_certain) = (count + usize::from(is_byte), is_certain || is_negative || digits == 3);
        is_byte || digits == 0 && !is_negative
    }
}

/// The length of the text that Node.js writes before bytes in JSON: `{"type":"Buffer","data":`.
fn prefix_len(bytes: &[u8]) -> usize {
    let mut rest = bytes;
    for token in ["{", "\"type\"", ":", "\"Buffer\"", ",", "\"data\"", ":"] {
        let Some(after) = rest.trim_ascii_start().strip_prefix(token.as_bytes()) else { return 0 };
        rest = after;
    }
    bytes.len() - rest.len()
}

/// Whether the start of the input is a list of decimal numbers, and cannot be one of bytes in hex.
pub(super) fn looks_like_decimal(bytes: &[u8]) -> bool {
    let bytes = without_mark(bytes);
    let sample = bytes.get(..SNIFF_BYTES).unwrap_or(bytes);
    let (mut list, mut decoded) = (DecimalDecoder::default(), Vec::new());
    let mut numbers = sample.get(prefix_len(sample)..).unwrap_or_default().iter();
    numbers.all(|&byte| list.push(byte, &mut decoded)) && list.is_certain && list.count >= SYMBOLS_MIN
}

/// Decodes a list of decimal numbers. Others than bytes are left out and counted.
pub(super) fn decode(source: &Bytes, spool: &mut Spool<'_>) -> Result<Option<Damage>, InputError> {
    let mut list = DecimalDecoder::default();
    let mut strays = Strays::new(losses::TEXT_ENCODING_DAMAGED);
    let mut decoded = Vec::with_capacity(STEP_BYTES / 2);
    let mut prefix = prefix_len(without_mark(source));
    for (start, step) in steps(source) {
        let numbers = step.get(prefix..).unwrap_or_default();
        prefix = prefix.saturating_sub(step.len());
        let skipped = step.len() - numbers.len();
        for (index, &byte) in numbers.iter().enumerate() {
            if !list.push(byte, &mut decoded) {
                strays.add(1, spool.len() + decoded.len() as u64, || {
                    format!("up to byte {} of the file there is no number from -128 to 255", start + skipped + index)
                });
            }
        }
        spool.push(&decoded)?;
        decoded.clear();
    }
    if !list.end_number(&mut decoded) {
        strays.add(1, spool.len(), || "the last number is not a byte".into());
    }
    spool.push(&decoded)?;
    Ok(strays.into_damage())
}

#[cfg(test)]
mod tests {
    use super::super::{Input, Layer, ReadOptions};

    fn open(text: &str) -> Input {
        Input::from_vec(text.as_bytes().to_vec(), &ReadOptions::default()).unwrap()
    }

    #[test]
    fn lists_of_many_languages_are_read() {
        for text in [
            "[3, 2, 25, 0, 153, 10]",
            "[3 2 25 0 153 10]\n",
            "3 2 25 0 153 10",
            "3\r\n2\r\n25\r\n0\r\n153\r\n10\r\n",
            "003,002,025,000,153,010",
            "[3, 2, 25, 0, -103, 10]",
            "[3, 2, 25]\n[0, 153, 10]\n",
            "{\"type\":\"Buffer\",\"data\":[3,2,25,0,153,10]}",
            "{\n  \"type\": \"Buffer\",\n  \"data\": [\n    3,\n    2, 25, 0, 153, 10\n  ]\n}\n",
        ] {
            let input = open(text);
            assert_eq!((input.layers(), input.damages()), (&[Layer::Decimal][..], &[][..]), "{text}");
            assert_eq!(input.bytes(), [3, 2, 25, 0, 153, 10], "{text}");
        }
        // Larger than the sample and than a step.
        let data: Vec<u8> = (0..700_000u32).map(|n| (n / 3) as u8).collect();
        let input = open(&format!("{data:?}"));
        assert!(input.bytes() == data && input.damages().is_empty());
    }

    #[test]
    fn other_texts_are_no_lists() {
        for text in
            ["[3, 2, 25, 0, 256, 10]", "[3, 2, 1000, 4, 5]", "[3, 2, --103, 0]", "-1", "[1.5, 2.5, 153, 4]", "{\"type\":1}"]
        {
            assert!(!open(text).layers().contains(&Layer::Decimal), "{text}");
        }
    }

    #[test]
    fn numbers_that_are_no_bytes_are_reported() {
        let text = format!("[{} 256, 1000, {}]", "153, ".repeat(20_000), "7, ".repeat(4));
        let input = open(&text);
        assert_eq!(input.bytes().len(), 20_005);
        let [damage] = input.damages() else { panic!("{:?}", input.damages()) };
        assert_eq!((damage.kind.code, damage.offset, damage.count), ("text_encoding_damaged", 20_000, 2));
        assert_eq!(damage.detail, "up to byte 100005 of the file there is no number from -128 to 255, and 1 more");
    }
}
