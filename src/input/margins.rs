//! What is around a recording in its file: text that a boot loader wrote to the same line before it, and erased memory (bytes 00 or FF) on
//! either side.
//!
//! A recording may begin or end like that itself. So it is left out only if less is lost then.

use super::detect::{DetectError, detect};
use super::trial::lost;
use super::{Damage, Input, InputError, ReadOptions};
use crate::format::Format;
use crate::model::{LossKind, losses};

/// Fewer equal bytes, and shorter text, may be part of a record.
const ERASED_MIN: usize = 16;
const TEXT_MIN: usize = 8;
/// More text than this is no boot loader's.
const TEXT_MAX: usize = 64 << 10;
/// If nearly all of this number of bytes after it are text, too, it goes on, with a damaged byte in it.
const LINES_BYTES: usize = 512;
/// Of equal bytes at the edge of a recording some may belong to it.
const EDGE_BYTES: usize = 12;
/// How much of a recording is decoded to see what is lost, and how much of erased memory with it, in bytes.
const SAMPLE_BYTES: usize = 64 << 10;
const SHOWN_BYTES: usize = 4 << 10;

impl Input {
    /// The recording without what is around it; `None` if nothing is. `format` is the format if the user named it; `recognised` that of the
    /// recording with what is around it.
    ///
    /// # Errors
    /// When it does not fit anywhere.
    pub(super) fn without_margins(
        &self,
        format: Option<&'static dyn Format>,
        recognised: Option<&'static dyn Format>,
        options: &ReadOptions,
    ) -> Result<Option<Input>, InputError> {
        let bytes: &[u8] = &self.bytes;
        let lost_at_end = |sample: &[u8]| lost(format, sample, true);
        let after = after(bytes, lost_at_end, |sample| recognised.and_then(|_| lost_at_end(sample)));
        let rest = bytes.get(..bytes.len() - after.map_or(0, |margin| margin.len)).unwrap_or_default();
        let lost_at_start = |sample: &[u8]| lost(format, sample, false);
        let with_margin = |sample: &[u8]| if after.is_some() || recognised.is_some() { lost_at_start(sample) } else { None };
        let header = |sample: &[u8]| recognised.is_some_and(|format| lost(Some(format), sample, false) == Some(0));
        let before = before(rest, lost_at_start, with_margin, header);
        if before.is_none() && after.is_none() {
            return Ok(None);
        }
        let start = before.map_or(0, |margin| margin.len);
        let mut input = self.of_pieces(std::iter::once(start..rest.len()), options)?;
        let (start, len) = (start as u64, input.bytes.len());
        input.damages.iter_mut().for_each(|damage| damage.offset = damage.offset.saturating_sub(start).min(len as u64));
        let damage = |margin: Margin, place: &str, offset: usize| {
            let what = if margin.kind == losses::CONSOLE_TEXT { "text" } else { "erased memory" };
            let detail = format!("{} bytes of {what} {place} the recording were left out", margin.len);
            Damage { kind: margin.kind, offset: offset as u64, count: 1, at_least_lost: 0, detail }
        };
        input.damages.extend(before.map(|margin| damage(margin, "before", 0)));
        input.damages.extend(after.map(|margin| damage(margin, "after", len)));
        input.notes.clone_from(&self.notes);
        input.notes.iter_mut().for_each(|note| note.offset = note.offset.saturating_sub(start));
        Ok(Some(input))
    }
}

/// Bytes that are not of the recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Margin {
    len: usize,
    kind: LossKind,
}

/// What is before a recording. `lost` gives the number of losses in a sample, or `None` if no format recognises it; `with_margin` the same
/// for one with the margin. `is_header`: the format knows the text at the start of a short sample.
fn before(
    bytes: &[u8],
    lost: impl Fn(&[u8]) -> Option<u64>,
    with_margin: impl Fn(&[u8]) -> Option<u64>,
    is_header: impl Fn(&[u8]) -> bool,
) -> Option<Margin> {
    let erased = erased(bytes.iter());
    let (ends, kind): (Vec<usize>, _) = if erased >= ERASED_MIN {
        ((0..=EDGE_BYTES).map(|kept| erased - kept).collect(), losses::ERASED_MEMORY)
    } else {
        (text_ends(bytes), losses::CONSOLE_TEXT)
    };
    let first = *ends.iter().max()?;
    if kind == losses::CONSOLE_TEXT && is_header(bytes.get(..first + SHOWN_BYTES).unwrap_or(bytes)) {
        return None;
    }
    let sample = |from: usize| bytes.get(from..bytes.len().min(first + SAMPLE_BYTES)).unwrap_or_default();
    let whole = with_margin(sample(first.saturating_sub(SHOWN_BYTES)));
    let len = least_lost(whole, ends.into_iter().map(|end| (end, lost(sample(end)))))?;
    Some(Margin { len, kind })
}

/// Where text at the start of a file may end: after its last lines, or where the next byte is not text.
fn text_ends(bytes: &[u8]) -> Vec<usize> {
    let is_text = |byte: &u8| matches!(byte, b' '..=b'~' | b'\t' | b'\r' | b'\n' | 0x1b);
    let head = bytes.get(..TEXT_MAX).unwrap_or(bytes);
    let text = head.iter().take_while(|byte| is_text(byte)).count();
    // Recordings may be text, with damage in it.
    let next = head.get(text..).unwrap_or_default();
    let next = next.get(..LINES_BYTES).unwrap_or(next);
    let goes_on = next.iter().filter(|byte| is_text(byte)).count() * 20 > next.len() * 19;
    if text < TEXT_MIN || text == head.len() || goes_on || is_recording(head.get(..text).unwrap_or_default()) {
        return Vec::new();
    }
    let line_ends = |end: &usize| head.get(end - 1) == Some(&b'\n');
    let mut ends: Vec<usize> = (TEXT_MIN..=text).rev().filter(line_ends).take(EDGE_BYTES).collect();
    ends.push(text);
    ends
}

/// Whether a format recognises these bytes, or more than one does.
fn is_recording(bytes: &[u8]) -> bool {
    matches!(detect(bytes, &[]), Ok(_) | Err(DetectError::Ambiguous(_)))
}

/// What is after a recording.
fn after(bytes: &[u8], lost: impl Fn(&[u8]) -> Option<u64>, with_margin: impl Fn(&[u8]) -> Option<u64>) -> Option<Margin> {
    let erased = erased(bytes.iter().rev());
    if erased < ERASED_MIN || erased == bytes.len() {
        return None;
    }
    let start = bytes.len() - erased;
    let sample = |end: usize| bytes.get(start.saturating_sub(SAMPLE_BYTES)..end).unwrap_or_default();
    let whole = with_margin(sample(start + erased.min(SHOWN_BYTES)));
    let kept = least_lost(whole, (0..=EDGE_BYTES).map(|kept| (kept, lost(sample(start + kept)))))?;
    Some(Margin { len: erased - kept, kind: losses::ERASED_MEMORY })
}

/// The number of equal bytes, 00 or FF, at the start.
fn erased<'a>(mut bytes: impl Iterator<Item = &'a u8>) -> usize {
    match bytes.next() {
        Some(&first @ (0x00 | 0xFF)) => 1 + bytes.take_while(|&&byte| byte == first).count(),
        _ => 0,
    }
}

/// The first choice of those with the fewest losses, if they are fewer than with the margin.
fn least_lost(whole: Option<u64>, choices: impl Iterator<Item = (usize, Option<u64>)>) -> Option<usize> {
    if whole == Some(0) {
        return None;
    }
    let recognised = choices.filter_map(|(choice, lost)| Some((choice, lost?)));
    let (choice, lost) = recognised.min_by_key(|choice| choice.1)?;
    whole.is_none_or(|whole| lost < whole).then_some(choice)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::{FORMATS, FormatOptions};

    fn recording(format: &dyn Format) -> Vec<u8> {
        let mut out = Vec::new();
        format.generate(30_000, 7, &mut out).unwrap();
        out
    }

    #[test]
    fn what_is_around_a_recording_is_left_out_and_a_recording_alone_stays() {
        let names = ["tonbandgeraet", "qs", "tsp", "syst-raw", "syst-stp", "miniprofiler"];
        for format in FORMATS.iter().filter(|format| names.contains(&format.name())) {
            let recording = recording(*format);
            let opened = |file: Vec<u8>| {
                let input = Input::from_vec(file, &ReadOptions::default()).unwrap();
                let mut all = input.recognise(None, &FormatOptions::default(), &ReadOptions::default()).unwrap();
                assert_eq!((all.len(), all[0].detected.format.name()), (1, format.name()));
                all.remove(0).input
            };
            let alone = opened(recording.clone());
            assert!(alone.bytes() == recording && alone.damages().is_empty(), "{}", format.name());
            for (before, after) in [
                (&b"Boot 1.2\r\nDRAM: 64 MiB\r\n\r\n"[..], &[][..]),
                (&[], &[0xFF; 5000]),
                (&[], &[0; 5000]),
                (&[0xFF; 600], &[]),
                (&[0; 600], &[]),
                (b"\x1b[1mStarting\x1b[0m\n", &[0xFF; 200_000]),
            ] {
                let input = opened([before, &recording, after].concat());
                // Some formats pass such bytes without a loss.
                assert!(
                    input.bytes() == recording || lost(None, input.bytes(), true) == lost(None, &recording, true),
                    "{}: {} bytes of {}, {before:?}",
                    format.name(),
                    input.bytes().len(),
                    recording.len()
                );
                assert!(input.damages().iter().all(|damage| damage.at_least_lost == 0));
            }
        }
    }

    /// What is lost in text that is a recording is not what is around it.
    #[test]
    fn text_that_is_a_recording_stays() {
        let format = FORMATS.iter().find(|format| format.name() == "syst-text").unwrap();
        let mut text = recording(*format);
        // A message with a wrong digit, and a character that is not ASCII soon after it.
        let marker = memchr::memmem::find(&text[10_000..], b"RAW DATA: ").unwrap() + 10_000;
        text[marker + 12] = b'?';
        let line = marker + memchr::memchr(b'\n', &text[marker..]).unwrap() + 1;
        text.splice(line..line, "21.5 °C\n".bytes());
        for format in [None, Some(*format)] {
            let input = Input::from_vec(text.clone(), &ReadOptions::default()).unwrap();
            let mut all = input.recognise(format, &FormatOptions::default(), &ReadOptions::default()).unwrap();
            assert!(all.remove(0).input.bytes() == text);
        }
        // Nor if the first message has the damaged character.
        let mut text = recording(*FORMATS.iter().find(|format| format.name() == "syst-text").unwrap());
        let marker = memchr::memmem::find(&text, b"RAW DATA: ").unwrap();
        text[marker + 13] = 0xB2;
        let input = Input::from_vec(text.clone(), &ReadOptions::default()).unwrap();
        let mut all = input.recognise(None, &FormatOptions::default(), &ReadOptions::default()).unwrap();
        assert!(all.remove(0).input.bytes() == text);
    }
}
