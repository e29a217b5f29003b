//! Binary data that a program has taken for text and changed so that it can be undone: a carriage return before each line feed, UTF-8 or
//! UTF-16 for each byte.
//!
//! Recordings may look like that by chance or because of the texts in them. So a change is undone only if less is lost then.

use super::layer::{Damage, Layer};
use super::spool::Spool;
use super::text::{STEP_BYTES, steps};
use super::trial::lost;
use super::{Bytes, InputError, LAYERS_MAX};
use crate::format::SAMPLE_BYTES;
use crate::frame::transfer::{CASES_MIN, as_utf8, is_binary};
use crate::model::{counted, losses};

/// The change to a recording that can be undone, if there is one.
pub(super) fn undoable(bytes: &[u8]) -> Option<Layer> {
    let sample = bytes.get(..SAMPLE_BYTES).unwrap_or(bytes);
    let layer = candidate(sample)?;
    let undone = lost_within(&undo(layer, sample), LAYERS_MAX)?;
    lost(None, sample, true).is_none_or(|lost| undone < lost).then_some(layer)
}

/// The change that a sample may have gone through.
fn candidate(sample: &[u8]) -> Option<Layer> {
    let mut line_feeds = memchr::memchr_iter(b'\n', sample);
    let mut count = 0;
    let all_have_cr = line_feeds.all(|at| {
        count += 1;
        at.checked_sub(1).and_then(|before| sample.get(before)) == Some(&b'\r')
    });
    if all_have_cr && count >= CASES_MIN && is_binary(sample) {
        return Some(Layer::CrLf);
    }
    if sample.is_ascii() {
        return None;
    }
    let text = as_utf8(sample)?;
    let are_bytes = || text.chars().all(|c| byte_of(c).is_some());
    let is_changed = || text.chars().filter(|c| !c.is_ascii()).count() >= CASES_MIN;
    (is_binary(sample) && are_bytes() && is_changed()).then_some(Layer::Latin1)
}

/// What is lost in a sample after up to so many further changes are undone.
fn lost_within(sample: &[u8], changes: usize) -> Option<u64> {
    lost(None, sample, true).or_else(|| lost_within(&undo(candidate(sample)?, sample), changes.checked_sub(1)?))
}

/// Undoes a change of [`candidate`] in a sample.
fn undo(layer: Layer, sample: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(sample.len());
    match layer {
        Layer::CrLf => CrLf::default().push(sample, &mut out),
        _ => out.extend(as_utf8(sample).unwrap_or_default().chars().filter_map(byte_of)),
    }
    out
}

/// The byte for which a program has written a character: as Latin-1 or Windows-1252 has it.
fn byte_of(c: char) -> Option<u8> {
    /// Windows-1252 from 0x80 on. It has nothing at five places: programs keep the bytes.
    const WINDOWS_1252: &str = "€\u{81}‚ƒ„…†‡ˆ‰Š‹Œ\u{8d}Ž\u{8f}\u{90}‘’“”•–—˜™š›œ\u{9d}žŸ";
    u8::try_from(c).ok().or_else(|| (0x80..).zip(WINDOWS_1252.chars()).find(|(_, of)| *of == c).map(|(byte, _)| byte))
}

/// Takes the carriage return before each line feed out.
#[derive(Default)]
struct CrLf {
    /// The last byte was a carriage return.
    is_open: bool,
    taken_out: u64,
    /// Line feeds without one.
    alone: u64,
}

impl CrLf {
    fn push(&mut self, bytes: &[u8], out: &mut Vec<u8>) {
        for &byte in bytes {
            match (byte, self.is_open) {
                (b'\n', true) => self.taken_out += 1,
                (b'\n', false) => self.alone += 1,
                (_, true) => out.push(b'\r'),
                (_, false) => {}
            }
            self.is_open = byte == b'\r';
            if !self.is_open {
                out.push(byte);
            }
        }
    }
}

/// Takes the carriage returns of a text mode out.
pub(super) fn decode_cr_lf(source: &Bytes, spool: &mut Spool<'_>) -> Result<Option<Damage>, InputError> {
    let (mut cr_lf, mut decoded) = (CrLf::default(), Vec::new());
    for (_, step) in steps(source) {
        cr_lf.push(step, &mut decoded);
        spool.push(&decoded)?;
        decoded.clear();
    }
    if cr_lf.is_open {
        spool.push(b"\r")?;
    }
    let CrLf { taken_out, alone, .. } = cr_lf;
    let but = if alone == 0 { String::new() } else { format!(", and {alone} line feeds had none") };
    Ok(Some(undone(taken_out, format!("a text mode had put a carriage return before each of {taken_out} line feeds{but}"))))
}

/// Makes bytes of the characters that were written for them.
pub(super) fn decode_latin1(source: &Bytes, spool: &mut Spool<'_>) -> Result<Option<Damage>, InputError> {
    let (mut decoded, mut changed, mut gone) = (Vec::new(), 0u64, 0u64);
    let (mut text, mut rest) = (Vec::new(), &source[..]);
    while !rest.is_empty() {
        // A copy: bytes of a file may change.
        text.clear();
        text.extend_from_slice(rest.get(..STEP_BYTES).unwrap_or(rest));
        // The last character may be cut: then it begins within the last three bytes.
        let begin = text.iter().rev().take(3).position(|&byte| byte >= 0xC0);
        if let Some(begin) = begin.filter(|_| text.len() < rest.len()) {
            text.truncate(text.len() - 1 - begin);
        }
        for chunk in text.utf8_chunks() {
            for c in chunk.valid().chars() {
                let byte = byte_of(c);
                changed += u64::from(!c.is_ascii() && byte.is_some());
                gone += u64::from(byte.is_none());
                decoded.extend(byte);
            }
            gone += u64::from(!chunk.invalid().is_empty());
        }
        spool.push(&decoded)?;
        decoded.clear();
        rest = rest.get(text.len()..).unwrap_or(&[]);
    }
    if gone > 0 {
        let detail = format!("in the UTF-8 text, {} without a byte", counted(gone, "character"));
        return Ok(Some(Damage {
            kind: losses::TEXT_ENCODING_DAMAGED,
            offset: spool.len(),
            count: gone,
            at_least_lost: 0,
            detail,
        }));
    }
    Ok(Some(undone(changed, format!("{} had been written in UTF-8, as characters", counted(changed, "byte")))))
}

fn undone(count: u64, detail: String) -> Damage {
    Damage { kind: losses::TEXT_MODE, offset: 0, count, at_least_lost: 0, detail }
}

/// The code units of bytes that begin with the byte order mark of UTF-16, without the mark.
fn units(bytes: &[u8]) -> impl Iterator<Item = u16> {
    let of = if bytes.first() == Some(&0xff) { u16::from_le_bytes } else { u16::from_be_bytes };
    bytes.as_chunks().0.iter().skip(1).map(move |unit| of(*unit))
}

/// Whether these bytes are text: most of the characters are of the first 256, and none is half of one.
pub(super) fn looks_like_utf16(bytes: &[u8]) -> bool {
    const SNIFF_BYTES: usize = 4096;
    let sample = bytes.get(..SNIFF_BYTES).unwrap_or(bytes);
    let (mut all, mut latin) = (0, 0);
    for c in char::decode_utf16(units(sample)) {
        let Ok(c) = c else { break };
        all += 1;
        latin += usize::from(u8::try_from(c).is_ok());
    }
    // The last one may be cut.
    all + 1 >= units(sample).count() && all >= CASES_MIN && latin > all / 2
}

/// The beginning of the text in UTF-8.
#[cfg(feature = "compress")]
pub(super) fn beginning_of_utf16(head: &[u8]) -> Vec<u8> {
    char::decode_utf16(units(head).take(4096)).map_while(Result::ok).collect::<String>().into_bytes()
}

/// Writes the text in UTF-8.
pub(super) fn decode_utf16(source: &Bytes, spool: &mut Spool<'_>) -> Result<Option<Damage>, InputError> {
    let (mut text, mut count) = (String::new(), u64::from(!source.len().is_multiple_of(2)));
    for c in char::decode_utf16(units(source)) {
        count += u64::from(c.is_err());
        text.push(c.unwrap_or(char::REPLACEMENT_CHARACTER));
        if text.len() >= STEP_BYTES {
            spool.push(text.as_bytes())?;
            text.clear();
        }
    }
    spool.push(text.as_bytes())?;
    let detail = "a character of the UTF-16 text is incomplete".into();
    let kind = losses::TEXT_ENCODING_DAMAGED;
    Ok((count > 0).then(|| Damage { kind, offset: spool.len(), count, at_least_lost: 0, detail }))
}

#[cfg(test)]
mod tests {
    use super::super::{Input, ReadOptions};
    use super::*;
    use crate::format::FORMATS;

    fn recording(format: &str) -> Vec<u8> {
        let format = FORMATS.iter().find(|of| of.name() == format).unwrap();
        let mut out = Vec::new();
        format.generate(40_000, 1, &mut out).unwrap();
        out
    }

    fn open(file: Vec<u8>) -> Input {
        Input::from_vec(file, &ReadOptions::default()).unwrap()
    }

    fn with_cr_lf(bytes: &[u8]) -> Vec<u8> {
        bytes.iter().flat_map(|&byte| if byte == b'\n' { &b"\r\n"[..] } else { std::slice::from_ref(&byte) }.to_vec()).collect()
    }

    fn as_text(bytes: &[u8]) -> String {
        bytes.iter().map(|&byte| char::from(byte)).collect()
    }

    /// A recording of each format, in binary.
    fn recordings() -> impl Iterator<Item = Vec<u8>> {
        FORMATS.iter().map(|format| format.name()).filter(|name| *name != "syst-text").map(recording)
    }

    #[test]
    fn text_modes_are_undone() {
        for recording in recordings() {
            let utf8 = as_text(&recording);
            let utf16 = |text: &str| -> Vec<u8> {
                std::iter::once(0xfeff).chain(text.encode_utf16()).flat_map(u16::to_le_bytes).collect()
            };
            let cp1252 = utf8.replace('\u{80}', "€").replace('\u{9f}', "Ÿ");
            for (file, layers) in [
                (recording.clone(), &[][..]),
                (with_cr_lf(&recording), &[Layer::CrLf]),
                (utf8.clone().into_bytes(), &[Layer::Latin1]),
                (cp1252.into_bytes(), &[Layer::Latin1]),
                (with_cr_lf(utf8.as_bytes()), &[Layer::CrLf, Layer::Latin1]),
                (utf16(&utf8), &[Layer::Utf16, Layer::Latin1]),
                (utf16(&data_encoding::HEXLOWER.encode(&recording)), &[Layer::Utf16, Layer::Hex]),
            ] {
                let input = open(file);
                assert_eq!((input.layers(), input.bytes() == recording), (layers, true));
                assert!(input.damages().iter().all(|damage| damage.kind == losses::TEXT_MODE), "{:?}", input.damages());
            }
        }
    }

    #[test]
    fn what_is_undone_is_counted() {
        // Beyond the sample a carriage return may be missing.
        let recording = recording("tonbandgeraet").repeat(30);
        let line_feeds = recording.iter().filter(|&&byte| byte == b'\n').count();
        let input = open([&with_cr_lf(&recording)[..], b"\n\n\r"].concat());
        assert!(input.bytes() == [&recording[..], b"\n\n\r"].concat());
        let [damage] = input.damages() else { panic!("{:?}", input.damages()) };
        let detail =
            format!("a text mode had put a carriage return before each of {line_feeds} line feeds, and 2 line feeds had none");
        assert_eq!((damage.count, &damage.detail), (line_feeds as u64, &detail));
    }

    #[test]
    fn characters_may_be_cut_by_steps() {
        let (options, pairs) = (ReadOptions::default(), STEP_BYTES / 2);
        for shift in 0..5 {
            let text = ["a".repeat(shift), "é€".repeat(pairs)].concat();
            let mut spool = Spool::new(&options);
            let damage = decode_latin1(&Bytes::from(text.into_bytes()), &mut spool).unwrap().unwrap();
            assert_eq!((damage.kind, damage.count), (losses::TEXT_MODE, 2 * pairs as u64), "{shift}");
            assert_eq!(spool.len(), (shift + 2 * pairs) as u64, "{shift}");
        }
    }

    #[test]
    fn recordings_stay_as_they_are() {
        // Line ends within the texts of a recording.
        let log = b"\x03abc\r\n".iter().chain(b"\x00\x00").copied().collect::<Vec<u8>>().repeat(40);
        assert_eq!(open([&[0, 0, 0, 0, 0, 0x80][..], &log].concat()).layers(), []);
        assert_eq!(open(with_cr_lf(&recording("syst-text"))).layers(), []);
        assert_eq!(open("Gerät: läuft\r\n".repeat(50).into_bytes()).layers(), []);
        assert_eq!(open([&[0xff, 0xfe][..], &[0xd8; 100]].concat()).layers(), []);
    }
}
