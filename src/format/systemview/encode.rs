//! Packets → bytes, for tests, fuzzing and generated captures.

use super::packet::{Reading, SYNC};
use super::record::id;

/// Appends a number.
pub fn number(value: impl Into<u64>, out: &mut Vec<u8>) {
    let mut value = value.into();
    while value > 0x7F {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Appends a text of at most 65535 bytes.
pub fn text(text: &[u8], out: &mut Vec<u8>) {
    let text = text.get(..usize::from(u16::MAX)).unwrap_or(text);
    match u8::try_from(text.len()) {
        Ok(len) if len < 255 => out.push(len),
        _ => out.extend([255, (text.len() >> 8) as u8, text.len() as u8]),
    }
    out.extend(text);
}

/// The payload of these numbers.
#[must_use]
pub fn numbers(values: &[u32]) -> Vec<u8> {
    let mut payload = Vec::new();
    values.iter().for_each(|&value| number(value, &mut payload));
    payload
}

/// The payload of these numbers, and a text after them.
#[must_use]
pub fn numbers_and_text(values: &[u32], last: &str) -> Vec<u8> {
    let mut payload = numbers(values);
    text(last.as_bytes(), &mut payload);
    payload
}

/// Appends a packet.
pub fn packet(reading: Reading, core: u8, id: u16, payload: &[u8], delta: impl Into<u64>, out: &mut Vec<u8>) {
    let start = out.len();
    number(u32::from(id), out);
    if reading == Reading::CoreBit
        && core != 0
        && let Some(last) = out.last_mut()
    {
        *last |= 1 << 6;
    }
    if id >= id::INIT {
        number(u32::try_from(payload.len()).unwrap_or(u32::MAX), out);
    }
    out.extend(payload);
    number(delta, out);
    debug_assert!(out.len() > start);
}

/// Appends the ten zero bytes.
pub fn sync(out: &mut Vec<u8>) {
    out.extend(SYNC);
}

/// The header of a file.
#[must_use]
pub fn header(reading: Reading) -> &'static [u8] {
    match reading {
        Reading::Plain | Reading::Wide => b";\n; Version     SEGGER SystemViewer V3.54\n; Author      traceconv\n;\n",
        Reading::CoreBit => b";\n; Version     SEGGER SystemViewer V2.42\n; Author      Espressif Inc\n; ESP_Extension\n;\n",
    }
}
