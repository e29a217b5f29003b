//! Arrays of bytes in C, as `xxd -i` and other generators write them: `unsigned char x[] = {0x03, 0x01, 2};`.

use super::layer::Damage;
use super::spool::Spool;
use super::text::{SNIFF_BYTES, STEP_BYTES, SYMBOLS_MIN, Strays, without_mark};
use super::{Bytes, InputError};
use crate::model::{counted, losses};

/// The types whose values are bytes.
const BYTE_TYPES: [&[u8]; 10] = [b"char", b"uint8_t", b"int8_t", b"uint8", b"UINT8", b"u8", b"U8", b"byte", b"BYTE", b"Byte"];

/// How long a declaration may be, in bytes.
const DECLARATION_BYTES: usize = 1024;

/// The declaration of an array.
struct Array<'a> {
    name: &'a [u8],
    /// The number of elements between its brackets.
    stated: Option<u64>,
    /// Where its first element is.
    start: usize,
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// A number as C writes it, in hex or decimal.
fn number(token: &[u8]) -> Option<u64> {
    let len = token.iter().rposition(|byte| !b"uUlL".contains(byte))? + 1;
    let token = std::str::from_utf8(token.get(..len)?).ok()?;
    match token.strip_prefix("0x").or_else(|| token.strip_prefix("0X")) {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        // A leading zero makes it octal.
        None if token.len() > 1 && token.starts_with('0') => u64::from_str_radix(token, 8).ok(),
        None => token.parse().ok(),
    }
}

/// The next array of bytes that begins at or after this place.
fn find(text: &[u8], from: usize) -> Option<Array<'_>> {
    memchr::memchr_iter(b'{', text.get(from..)?).find_map(|at| declaration(text, from + at))
}

/// The declaration before an opening brace: `TYPE NAME[N] ATTRIBUTES =`.
fn declaration(text: &[u8], brace: usize) -> Option<Array<'_>> {
    let before = text.get(brace.saturating_sub(DECLARATION_BYTES)..brace)?;
    let before = before.trim_ascii_end().strip_suffix(b"=")?;
    let start = before.iter().rposition(|byte| b";{}".contains(byte)).map_or(0, |at| at + 1);
    let before = before.get(start..)?;
    let open = memchr::memchr(b'[', before)?;
    let size = before.get(open + 1..)?;
    let size = size.get(..memchr::memchr(b']', size)?)?;
    let before = before.get(..open)?.trim_ascii_end();
    let name_at = before.iter().rposition(|&byte| !is_word(byte)).map_or(0, |at| at + 1);
    let (types, name) = before.split_at_checked(name_at)?;
    let is_of_bytes = types.split(|&byte| !is_word(byte)).any(|word| BYTE_TYPES.contains(&word));
    (is_of_bytes && !name.is_empty()).then(|| Array { name, stated: number(size.trim_ascii()), start: brace + 1 })
}

/// What is at some place between the braces.
enum Element<'a> {
    Byte(u8),
    /// A word or a sign that is not a byte.
    Stray(&'a [u8]),
    /// `}`.
    End,
}

/// The next element, and where the text after it begins; `None` at the end of the text. Commas, blanks and comments divide elements.
fn next(text: &[u8], mut at: usize) -> Option<(Element<'_>, usize)> {
    loop {
        let rest = text.get(at..)?;
        let comment_end: &[u8] = match rest {
            [] => return None,
            [b'}', ..] => return Some((Element::End, at + 1)),
            [b'/', b'*', ..] => b"*/",
            [b'/', b'/', ..] => b"\n",
            [byte, ..] if byte.is_ascii_whitespace() || *byte == b',' => {
                at += 1;
                continue;
            }
            _ => {
                let len = rest.iter().take_while(|&&byte| is_word(byte)).count().max(1);
                let (token, _) = rest.split_at_checked(len)?;
                let byte = number(token).and_then(|number| u8::try_from(number).ok());
                return Some((byte.map_or(Element::Stray(token), Element::Byte), at + len));
            }
        };
        at += 2 + memchr::memmem::find(rest.get(2..)?, comment_end)? + comment_end.len();
    }
}

/// Whether the input starts with an array of bytes, after comments and declarations.
pub(super) fn looks_like_array(bytes: &[u8]) -> bool {
    let text = without_mark(bytes);
    // Not up to a part of a number.
    let sample = text.get(..SNIFF_BYTES).map_or(text, |start| start.rsplitn(2, |&byte| byte == b',').last().unwrap_or(start));
    let Some(array) = find(sample, 0) else { return false };
    let (mut at, mut count) = (array.start, 0);
    while let Some((element, end)) = next(sample, at) {
        match element {
            Element::Byte(_) => count += 1,
            Element::Stray(_) => return false,
            Element::End => break,
        }
        at = end;
    }
    count >= SYMBOLS_MIN
}

/// Decodes the first array of a text, and compares its length with those that the text states.
pub(super) fn decode(source: &Bytes, spool: &mut Spool<'_>) -> Result<Vec<Damage>, InputError> {
    let text = without_mark(source);
    let line = |at: usize| memchr::memchr_iter(b'\n', text.get(..at).unwrap_or_default()).count() + 1;
    let Some(array) = find(text, 0) else { return Ok(Vec::new()) };
    let (mut strays, mut missing) = (Strays::new(losses::TEXT_ENCODING_DAMAGED), Strays::new(losses::TEXT_DATA_MISSING));
    let (mut at, mut decoded, mut is_ended) = (array.start, Vec::with_capacity(STEP_BYTES), false);
    while !is_ended && let Some((element, end)) = next(text, at) {
        match element {
            Element::Byte(byte) => decoded.push(byte),
            Element::Stray(token) => strays.add(1, spool.len() + decoded.len() as u64, || {
                format!("\"{}\" in line {} is not a byte", token.escape_ascii(), line(end))
            }),
            Element::End => is_ended = true,
        }
        at = end;
        if decoded.len() == STEP_BYTES {
            spool.push(&decoded)?;
            decoded.clear();
        }
    }
    spool.push(&decoded)?;
    let count = spool.len();
    if !is_ended {
        missing.add(1, count, || "the text ends before the array's closing brace".into());
    }
    for stated in array.stated.into_iter().chain(stated_len(text, at, array.name)) {
        if is_ended && stated != count {
            missing.add(1, count, || format!("the array has {}, but its length is stated as {stated}", counted(count, "byte")));
        }
    }
    if let Some(other) = find(text, at) {
        strays.add(1, count, || format!("another array begins in line {}, and was left out", line(other.start)));
    }
    Ok(strays.into_damage().into_iter().chain(missing.into_damage()).collect())
}

/// The length that `xxd -i` writes after an array: `unsigned int NAME_len = N;`.
fn stated_len(text: &[u8], from: usize, name: &[u8]) -> Option<u64> {
    let rest = text.get(from..)?;
    let rest = rest.get(..DECLARATION_BYTES).unwrap_or(rest);
    let name = [name, b"_len"].concat();
    let rest = rest.get(memchr::memmem::find(rest, &name)? + name.len()..)?.trim_ascii_start().strip_prefix(b"=")?;
    number(rest.get(..memchr::memchr(b';', rest)?)?.trim_ascii())
}

#[cfg(test)]
mod tests {
    use super::super::{Input, Layer, ReadOptions};

    fn open(text: &str) -> Input {
        Input::from_vec(text.as_bytes().to_vec(), &ReadOptions::default()).unwrap()
    }

    /// As `xxd -i` writes it.
    fn xxd(data: &[u8]) -> String {
        let rows: Vec<String> = data
            .chunks(12)
            .map(|row| format!("  {}", row.iter().map(|byte| format!("0x{byte:02x}")).collect::<Vec<_>>().join(", ")))
            .collect();
        format!("unsigned char trace_bin[] = {{\n{}\n}};\nunsigned int trace_bin_len = {};\n", rows.join(",\n"), data.len())
    }

    #[test]
    fn arrays_of_generators_are_read() {
        let data = [3, 1, 2, 2, 4, 2, 5, 0, 255, 0x41];
        let hex = "0x03,0x1, 0x02,\n0x02, 0x04U /* a, b } */, 0X02, 0x05, // c }\n0x00, 0xff, 0x41,";
        for text in [
            xxd(&data),
            xxd(&data).replace('\n', "\r\n"),
            format!("static const uint8_t trace[10] = {{ {hex} }};"),
            format!(
                "/* generated; do not edit {{ }} */\n#include <stdint.h>\nextern int n;\nconst uint8_t\ntrace[] PROGMEM = {{{hex}}};"
            ),
            "BYTE x [0xA]={3,1,2,2,4,2,5,0,255,65}".to_owned(),
            "const u8 x[] = {03, 01, 02, 2, 4, 2, 5, 00, 0377, 0101};".to_owned(),
        ] {
            let input = open(&text);
            assert_eq!((input.layers(), input.damages()), (&[Layer::CArray][..], &[][..]), "{text}");
            assert_eq!(input.bytes(), data, "{text}");
        }
        // Larger than the sample and than a step.
        let data: Vec<u8> = (0..1_500_000u32).map(|n| (n / 3) as u8).collect();
        let input = open(&xxd(&data));
        assert!(input.bytes() == data && input.damages().is_empty());
    }

    #[test]
    fn what_is_missing_is_reported() {
        let data: Vec<u8> = (0..30_000u32).map(|n| (n % 251) as u8).collect();
        let text = xxd(&data);
        let said = |text: &str| -> Vec<(&str, String)> {
            open(text).damages().iter().map(|damage| (damage.kind.code, damage.detail.clone())).collect()
        };
        let lines: Vec<&str> = text.lines().collect();
        let without = [&lines[..2000], &lines[2001..]].concat().join("\n");
        let stated = "the array has 29988 bytes, but its length is stated as 30000".to_owned();
        assert_eq!(said(&without), [("text_data_missing", stated)]);
        let cut = "the text ends before the array's closing brace".to_owned();
        assert_eq!(said(&text[..text.len() / 2 / 74 * 74]), [("text_data_missing", cut)]);
        let wrong = lines[2000].replacen("0x", "?0x1", 1);
        let wrong = [&lines[..2000], &[&wrong], &lines[2001..]].concat().join("\n");
        assert_eq!(said(&wrong)[0], ("text_encoding_damaged", "\"?\" in line 2001 is not a byte, and 1 more".to_owned()));
        let two = format!("{text}{}", xxd(&[1, 2, 3, 4]));
        let line = text.lines().count() + 1;
        let other = format!("another array begins in line {line}, and was left out");
        assert_eq!(said(&two), [("text_encoding_damaged", other)]);
    }

    #[test]
    fn other_texts_are_no_arrays() {
        for text in [
            "const uint32_t x[] = {0x03, 0x01, 0x02, 0x04};",
            "const char x[] = {'a', 'b', 'c', 'd', 'e'};",
            "const char *x[] = {\"a\", \"b\"};",
            "unsigned char x[] = {1, 2};",
            "unsigned char x[] = {256, 1, 2, 3, 4};",
            "char x = {1, 2, 3, 4};",
            "{1, 2, 3, 4}",
            "char x[ = {1, 2, 3, 4};",
        ] {
            assert_eq!(open(text).layers(), [], "{text}");
        }
    }
}
