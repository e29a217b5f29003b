//! The text transport: `SYS-T RAW DATA: ` and a message in hex, anywhere in the lines of a console.
//!
//! One marker with its digits is one message. All other text is console text, except the rest of a message that other output interrupts
//! (`interrupted.rs`) or that a terminal has wrapped (`wrapped.rs`), and *listings*, by which the library's example platform repeats its
//! messages (`listing.rs`). Each line is judged by the input around it, so that it does not matter where parts begin.

mod hex;
mod interrupted;
mod listing;
mod wrapped;

use std::ops::Range;

use super::collateral::Collateral;
use super::decode::{Context, Decoder, Records};
use super::decoded::{Notice, RecordKind};
use super::raw::is_whole_message;
use super::record::{Header, Malformed, Marks};
use super::resolve::{Progress, Resolver, Sequence};
use super::scan::MessageFacts;
use super::settings::Settings;
use crate::format::{Decode, Detail, ErasedRecording, FormatOptions, OptionError, Part, Probe, Recording, Stages, erase};
use crate::model::{Ledger, counted};
use hex::{padded, sixteen_unhexed, unhex};
use interrupted::{find_rest, is_interrupted, is_rest};
use listing::{Listed, may_have_listings, read_listed};
use wrapped::{find_wrapped, is_wrapped_rest, may_be_wrapped};

/// The bytes before a message. Some consoles leave out the blank.
pub const MARKER: &[u8] = b"SYS-T RAW DATA: ";

/// The marker without its blank.
const BARE_MARKER: &[u8] = MARKER.trim_ascii_end();

/// The longest line, in bytes. The rest of a longer one is damage. The longest message has 131,156 digits.
const LINE_LIMIT_BYTES: usize = 512 << 10;

/// How far a line end is searched for before a cut is made without one, in bytes.
const CUT_REACH_BYTES: usize = 1 << 20;

/// How much of a sample is searched for the marker, in bytes. A sample that is the whole input is searched whole.
const SAMPLE_BYTES: usize = 64 << 10;

/// Whether a sample has messages in text. `whole`: the sample is the whole input.
pub(super) fn probe(sample: &[u8], whole: bool) -> Option<Probe> {
    let head = if whole { sample } else { sample.get(..SAMPLE_BYTES).unwrap_or(sample) };
    // A text that only mentions the marker has no digits after it.
    let has_digits = |at: &usize| {
        let rest = head.get(at + BARE_MARKER.len()..).unwrap_or(&[]);
        let rest = rest.strip_prefix(b" ").unwrap_or(rest);
        rest.get(..8).is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit))
    };
    let mut with_digits = memchr::memmem::find_iter(head, BARE_MARKER).filter(has_digits);
    let first = with_digits.next()?;
    let markers = 1 + with_digits.count();
    let lines = counted(markers, "message");
    Some(Probe { score: 98, reason: format!("{lines} after \"SYS-T RAW DATA: \"; the first at byte {first}") })
}

/// Starts reading recordings.
pub(super) fn open(inputs: &[FormatOptions]) -> Result<Box<dyn ErasedRecording>, OptionError> {
    Ok(erase(TextRecording { settings: Settings::parse_without_transport_clock(inputs)? }))
}

/// The first pass.
struct TextRecording {
    settings: Settings,
}

impl Recording for TextRecording {
    type PartFacts = MessageFacts;
    type Facts = MessageFacts;
    type Decoder = TextDecoder;
    type Resolver = Resolver<TextSequence>;

    fn cut(&self, input: &[u8], at: usize) -> usize {
        cut(input, at)
    }

    fn scan(&self, _input: usize, part: Part<'_>) -> MessageFacts {
        scan(part)
    }

    fn join(&self, _bytes: &[u8], facts: &mut MessageFacts, next: MessageFacts) {
        facts.join(next);
    }

    fn finish(self, mut facts: Vec<MessageFacts>, _ledgers: &mut [Ledger]) -> Stages<TextDecoder, Resolver<TextSequence>> {
        let decoders = facts.iter_mut().map(|facts| self.settings.decoder(Some(facts.remove_builds()))).collect();
        let inputs = facts.into_iter().map(|facts| (TextSequence, facts, None)).collect();
        let resolve = Resolver::new(&self.settings, inputs);
        Stages { cores: resolve.cores(), decode: TextDecoder(decoders), resolve }
    }
}

/// The parallel stage of the second pass: a decoder for each input.
struct TextDecoder(Vec<Decoder>);

/// A decoded part.
#[derive(Debug, Default)]
pub(super) struct TextPart {
    records: Records,
    end: usize,
    is_last: bool,
}

impl Decode for TextDecoder {
    type Records = TextPart;

    fn decode(&self, input: usize, part: Part<'_>, decoded: &mut TextPart) {
        let Some(decoder) = self.0.get(input) else { return };
        // Two digits are a byte.
        decoded.records.start(part.start as u64, part.bytes().len() / 2);
        (decoded.end, decoded.is_last) = (part.end, part.end >= part.input.len());
        decode(decoder, part, &mut decoded.records);
    }
}

/// The ordered stage: parts are complete and in order already.
pub(super) struct TextSequence;

impl Sequence for TextSequence {
    type Part = TextPart;

    const SKIPS_MALFORMED: bool = true;
    const IS_TEXT: bool = true;

    fn next(&mut self, _input: &[u8], part: &mut TextPart, mut each: impl FnMut(&Records, Range<usize>)) -> Progress {
        each(&part.records, 0..part.records.stored.len());
        Progress { end_bytes: part.end as u64, is_last: part.is_last }
    }

    fn details(&self) -> Vec<Detail> {
        vec![Detail { name: "transport", value: "text".into(), source: "the input's format".into() }]
    }
}

/// The first cut at or after `at`: after a line end, or anywhere in a run that is too long for a line.
fn cut(input: &[u8], at: usize) -> usize {
    let Some(rest) = input.get(at..) else { return input.len() };
    if at.checked_sub(1).and_then(|before| input.get(before)).is_none_or(|&byte| is_line_end(byte)) {
        return at;
    }
    let reach = rest.get(..CUT_REACH_BYTES).unwrap_or(rest);
    match memchr::memchr2(b'\n', b'\r', reach) {
        Some(index) => at + index + 1,
        None if reach.len() < CUT_REACH_BYTES => input.len(),
        None => at,
    }
}

fn is_line_end(byte: u8) -> bool {
    matches!(byte, b'\n' | b'\r')
}

/// The lines that begin in a part. The last one may end after the part.
struct Lines {
    /// Bytes at the start of the part that belong to a line begun before it: those within the line's limit, and those beyond.
    head: (usize, usize),
    /// Where the first own line begins.
    start: usize,
    /// Where the last own line ends, held within the limit.
    end: usize,
}

impl Lines {
    fn of(part: Part<'_>) -> Lines {
        let input = part.input;
        let mut lines = Lines { head: (0, 0), start: part.start, end: part.end };
        let begins_inside =
            part.start.checked_sub(1).and_then(|before| input.get(before)).is_some_and(|&byte| !is_line_end(byte));
        if begins_inside {
            let line_end = memchr::memchr2(b'\n', b'\r', part.bytes());
            let head = line_end.map_or(part.bytes().len(), |index| index + 1);
            let before = input.get(part.start.saturating_sub(LINE_LIMIT_BYTES)..part.start).unwrap_or(&[]);
            let since_start = memchr::memrchr2(b'\n', b'\r', before).map(|index| before.len() - index - 1);
            let since_start = since_start.or((part.start <= LINE_LIMIT_BYTES).then_some(part.start));
            let within = since_start.map_or(0, |since| LINE_LIMIT_BYTES.saturating_sub(since)).min(head);
            // The line end itself is not damage.
            lines.head = (within, line_end.unwrap_or(head).saturating_sub(within));
            lines.start = part.start + head;
        }
        let ends_inside = part.end.checked_sub(1).and_then(|last| input.get(last)).is_some_and(|&byte| !is_line_end(byte));
        if ends_inside && lines.start < part.end && part.end < input.len() {
            let own = input.get(lines.start..part.end).unwrap_or(&[]);
            let last_line = lines.start + memchr::memrchr2(b'\n', b'\r', own).map_or(0, |index| index + 1);
            lines.end = (last_line + LINE_LIMIT_BYTES).min(input.len());
            // The line may end before the limit. Bytes beyond the limit are not inspected.
            let rest = input.get(part.end..lines.end).unwrap_or(&[]);
            lines.end = memchr::memchr2(b'\n', b'\r', rest).map_or(lines.end, |index| part.end + index + 1);
        }
        lines
    }
}

/// A piece of a line.
enum Piece<'a> {
    /// Text between messages, within one line.
    Console(&'a [u8]),
    /// A message. After its marker: its digits, and the rest of the text within the line's limit.
    Message(&'a [u8]),
    /// Bytes beyond the limit of a line.
    Beyond {
        rest: &'a [u8],
        /// Whether a piece of the same line beyond the limit came before.
        goes_on: bool,
    },
}

/// By how much a search for the marker moves on for the byte that it compares with the marker's last one. Digits move it by nearly the whole
/// marker, so that it inspects few of them.
static MARKER_SHIFTS: [u8; 256] = {
    let mut shifts = [BARE_MARKER.len() as u8; 256];
    let mut at = 0;
    while at < BARE_MARKER.len() - 1 {
        shifts[BARE_MARKER[at] as usize] = (BARE_MARKER.len() - 1 - at) as u8;
        at += 1;
    }
    shifts
};

/// The place of the first marker, and its length.
fn find_marker(text: &[u8]) -> Option<(usize, usize)> {
    let mut at = 0;
    loop {
        let last = *text.get(at + BARE_MARKER.len() - 1)?;
        if last == b':'
            && let Some([next, ..]) = text.get(at..)?.strip_prefix(BARE_MARKER)
            && (*next == b' ' || next.is_ascii_hexdigit())
        {
            return Some((at, BARE_MARKER.len() + usize::from(*next == b' ')));
        }
        at += usize::from(MARKER_SHIFTS[usize::from(last)]);
    }
}

/// The digits after a marker that begins here.
fn digits_after(input: &[u8], marker: usize) -> Range<usize> {
    let start = marker + BARE_MARKER.len();
    let start = start + usize::from(input.get(start) == Some(&b' '));
    let rest = input.get(start..).unwrap_or(&[]);
    start..start + rest.iter().take_while(|byte| byte.is_ascii_hexdigit()).count()
}

/// The message of these digits, if it goes on elsewhere; and where the lines end that follow and are of nothing else, or 0.
#[inline]
fn whole_message(input: &[u8], digits: Range<usize>) -> Option<(usize, Vec<u8>)> {
    match is_interrupted(input, digits.end) {
        true => find_rest(input, digits).map(|(_, frame)| (0, frame)),
        false if may_be_wrapped(input, digits.end) => find_wrapped(input, digits),
        false => None,
    }
}

/// Cuts text into pieces. `each` gets them in order, with their starts, and returns the number of a message's digits, which is not needed
/// unless console text is wanted: digits contain no marker.
fn pieces<'a>(text: &'a [u8], want_console: bool, mut each: impl FnMut(usize, Piece<'a>) -> usize) {
    let mut at = 0;
    let mut line_start = 0;
    while at < text.len() {
        let rest = text.get(at..).unwrap_or(&[]);
        let (marker, marker_len) = find_marker(rest).map_or((text.len(), 0), |(index, len)| (at + index, len));
        let between = text.get(at..marker).unwrap_or(&[]);
        if want_console && !matches!(between, [] | b"\n" | b"\r\n") {
            let mut piece_start = at;
            while piece_start < marker {
                let piece = text.get(piece_start..marker).unwrap_or(&[]);
                let end = memchr::memchr2(b'\n', b'\r', piece);
                let len = end.unwrap_or(piece.len());
                let limit = (line_start + LINE_LIMIT_BYTES).saturating_sub(piece_start);
                let shown = piece.get(..len.min(limit)).unwrap_or(&[]);
                if !shown.is_empty() {
                    each(piece_start, Piece::Console(shown));
                }
                if len > limit {
                    let goes_on = piece_start > line_start + LINE_LIMIT_BYTES;
                    each(piece_start + limit, Piece::Beyond { rest: piece.get(limit..len).unwrap_or(&[]), goes_on });
                }
                piece_start += len + usize::from(end.is_some());
                if end.is_some() {
                    line_start = piece_start;
                }
            }
        } else if between.last().is_some_and(|&byte| is_line_end(byte)) {
            line_start = marker;
        } else if let Some(index) = memchr::memrchr2(b'\n', b'\r', between) {
            line_start = at + index + 1;
        }
        if marker >= text.len() {
            return;
        }
        let start = marker + marker_len;
        let line_end = (line_start + LINE_LIMIT_BYTES).min(text.len());
        if start > line_end {
            // A marker beyond the limit of its line is not valid.
            let rest = text.get(marker..).unwrap_or(&[]);
            let len = memchr::memchr2(b'\n', b'\r', rest).unwrap_or(rest.len());
            if want_console {
                let goes_on = marker > line_start + LINE_LIMIT_BYTES;
                each(marker, Piece::Beyond { rest: rest.get(..len).unwrap_or(&[]), goes_on });
            }
            at = marker + len;
            continue;
        }
        let rest = text.get(start..line_end).unwrap_or(&[]);
        at = start + each(marker, Piece::Message(rest));
    }
}

/// Decodes a frame. If it is malformed, returns the number of its bytes in the part, which do not count as decoded.
fn add(records: &mut Records, decoder: &Decoder, frame: &[u8], context: Context, part_end: usize) -> usize {
    let before = records.stored.len();
    records.add_frame(decoder, frame, context);
    match records.stored.get_mut(before).filter(|stored| matches!(stored.kind, RecordKind::Malformed(_))) {
        Some(stored) => {
            let start = usize::try_from(context.offset).unwrap_or(usize::MAX);
            let own = context.len.min(part_end.saturating_sub(start));
            stored.len = u32::try_from(own).unwrap_or(u32::MAX);
            own
        }
        None => 0,
    }
}

/// Decodes a part.
fn decode(decoder: &Decoder, part: Part<'_>, records: &mut Records) {
    let lines = Lines::of(part);
    let text = part.input.get(lines.start..lines.end).unwrap_or(&[]);
    let mut room = Vec::new();
    // The next part accounts for bytes beyond this one.
    let own = |from: usize, len: usize| len.min(part.end.saturating_sub(from));
    let mut not_ok = 0;
    // Where the lines of the last message end; unknown before the first one of the part.
    let mut wrapped_end = None;
    if lines.head.1 > 0 {
        let context = Context { offset: (part.start + lines.head.0) as u64, len: lines.head.1, ..Context::default() };
        records.add_notice(Notice::OverlongLine, 0, context);
        not_ok += lines.head.1;
    }
    pieces(text, true, |at, piece| {
        let offset = lines.start + at;
        match piece {
            Piece::Console(line) => {
                let context = Context { offset: offset as u64, len: line.len(), ..Context::default() };
                let is_wrapped = || wrapped_end.map_or_else(|| is_wrapped_rest(part.input, offset, line), |end| offset < end);
                match read_listed(part.input, offset, line) {
                    Listed::Repeated => {}
                    Listed::Unlisted if is_rest(part.input, offset, line) || is_wrapped() => {}
                    Listed::Only(frame) => not_ok += add(records, decoder, &frame, context, part.end),
                    Listed::Unlisted => {
                        // After a message, and after other bytes that are no text, the digits may be the rest of that message.
                        let begins = || {
                            let before = part.input.get(..offset).unwrap_or(&[]);
                            let is_line = before.last().is_none_or(|&byte| is_line_end(byte));
                            is_line && before.trim_ascii_end().last().is_none_or(|&byte| is_text(byte))
                        };
                        let Some((marker, digits)) = damaged_marker(line, begins) else {
                            records.add_console(line, context);
                            return 0;
                        };
                        let (before, message) = line.split_at(marker);
                        records.add_console(before, Context { len: before.len(), ..context });
                        let (_, frame) = unhex(digits, &mut room);
                        let len = own(offset + marker, message.len());
                        let context = Context { offset: (offset + marker) as u64, len, ..Context::default() };
                        records.add_malformed(Malformed::DamagedMarker, frame, context);
                        not_ok += len;
                    }
                }
            }
            Piece::Beyond { rest, goes_on } => {
                let len = own(offset, rest.len());
                let context = Context { offset: offset as u64, len, ..Context::default() };
                // The value is 1 where the line is counted.
                records.add_notice(Notice::OverlongLine, u64::from(!goes_on), context);
                not_ok += len;
            }
            Piece::Message(rest) => {
                let (digits, frame) = unhex(rest, &mut room);
                let blank = part.input.get(offset + BARE_MARKER.len()) == Some(&b' ');
                let len = BARE_MARKER.len() + usize::from(blank) + digits;
                let context = Context { offset: offset as u64, len, ..Context::default() };
                let end = offset + len;
                let whole = whole_message(part.input, end - digits..end);
                wrapped_end = Some(whole.as_ref().map_or(0, |(end, _)| *end));
                if let Some((_, frame)) = whole {
                    not_ok += add(records, decoder, &frame, context, part.end);
                    return digits;
                }
                let is_odd = digits % 2 == 1;
                if is_odd {
                    records.add_notice(Notice::OddDigits, 0, Context { len: 0, ..context });
                }
                not_ok += add(records, decoder, frame, context, part.end);
                // Half a byte is surplus only if the message is whole without it.
                if is_odd
                    && !is_whole_message(frame, &Collateral::default())
                    && let Some(stored) = records.stored.last_mut()
                    && !matches!(stored.kind, RecordKind::Malformed(_))
                {
                    stored.marks.add(Marks::TRUNCATED);
                }
                return digits;
            }
        }
        0
    });
    if lines.end < part.end {
        let len = part.end - lines.end;
        records.add_notice(Notice::OverlongLine, 1, Context { offset: lines.end as u64, len, ..Context::default() });
        not_ok += len;
    }
    records.finish(decoder);
    // A byte may count twice if the file changes meanwhile.
    records.ok_bytes = part.bytes().len().saturating_sub(not_ok) as u64;
}

/// The fewest bytes of a damaged marker that are right, in their places.
const MARKER_RIGHT_BYTES: usize = 11;

fn is_text(byte: u8) -> bool {
    matches!(byte, b'\t'..=b'\r' | 0x1B | b' '..=b'~')
}

/// The fewest digits that are the rest of a message if bytes that are not of a text come right before them.
const REST_DIGITS: usize = 16;

/// Where the damaged marker of a line that ends with the digits of a message begins, and the digits. `begins`: it is a whole line.
fn damaged_marker(line: &[u8], begins: impl FnOnce() -> bool) -> Option<(usize, &[u8])> {
    let line = line.trim_ascii_end();
    let digits = line.iter().rev().take_while(|byte| byte.is_ascii_hexdigit()).count();
    // The header of a message.
    if digits < 8 {
        return None;
    }
    let (before, digits) = line.split_at(line.len() - digits);
    let is_near = |marker: &[u8]| marker.iter().zip(MARKER).filter(|(one, other)| one == other).count() >= MARKER_RIGHT_BYTES;
    // A byte may be missing or surplus, so that the marker's end is not before the digits.
    let starts = (before.len().saturating_sub(MARKER.len() + 1)..before.len()).take(3);
    let mut found = starts.filter(|&start| before.get(start..).is_some_and(is_near));
    // Erased memory or noise may be in place of the marker, and of the first digits.
    let is_overwritten = || digits.len() >= REST_DIGITS && before.last().is_some_and(|&byte| !is_text(byte)) && begins();
    found.next().or_else(|| is_overwritten().then_some(before.len())).map(|start| (start, digits))
}

/// The facts of a part.
fn scan(part: Part<'_>) -> MessageFacts {
    let lines = Lines::of(part);
    let text = part.input.get(lines.start..lines.end).unwrap_or(&[]);
    let mut facts = MessageFacts::default();
    let mut room = Vec::new();
    let want_console = may_have_listings(text);
    pieces(text, want_console, |at, piece| {
        let offset = (lines.start + at) as u64;
        match piece {
            Piece::Console(line) => {
                if let Listed::Only(frame) = read_listed(part.input, lines.start + at, line) {
                    facts.add_frame(&frame, offset);
                }
                0
            }
            Piece::Beyond { .. } => 0,
            Piece::Message(rest) => {
                let (count, bytes) = sixteen_unhexed(rest.first_chunk().copied().unwrap_or_else(|| padded(rest)));
                let is_wanted = count >= 8 && facts.wants(Header(bytes as u32));
                if !is_wanted && !want_console {
                    return 0;
                }
                let (digits, frame) = unhex(rest, &mut room);
                if is_wanted {
                    let own = digits_after(part.input, lines.start + at);
                    let whole = whole_message(part.input, own);
                    facts.add_frame(whole.as_ref().map_or(frame, |(_, frame)| frame), offset);
                }
                digits
            }
        }
    });
    facts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn records(text: &[u8]) -> Records {
        let mut records = Records::default();
        records.reset(0);
        decode(&Decoder::default(), Part::new(text, 0..text.len()), &mut records);
        records
    }

    fn listed(text: &str) -> Vec<(RecordKind, String, Marks)> {
        let records = records(text.as_bytes());
        records.stored.iter().map(|stored| (stored.kind, records.text(stored.body).to_owned(), stored.marks)).collect()
    }

    const HELLO: &str = "42502A0168656C6C6F00";

    #[test]
    fn an_overwritten_marker_is_damage() {
        let kinds = |text: &str| listed(text).iter().map(|(kind, ..)| *kind).collect::<Vec<_>>();
        let damaged = RecordKind::Malformed(Malformed::DamagedMarker);
        for before in ["\0\0\0\0\0\0", "SYS-T R\u{fffd}\u{fffd}"] {
            let console = RecordKind::Console;
            assert_eq!(kinds(&format!("boot\n{before}{HELLO}\nend\n")), [console, console, damaged, console], "{before:?}");
        }
        for text in [format!("boot\n\0\0{}\n", &HELLO[..12]), format!("{HELLO}\n"), format!("\0\0\n\0{HELLO}\n")] {
            assert!(!kinds(&text).contains(&damaged), "{text:?}");
        }
        // The rest of the digits of a message that was counted.
        assert!(!kinds(&format!("SYS-T RAW DATA: 4250\u{1}{HELLO}\n")).contains(&damaged));
    }

    #[test]
    fn a_message_with_a_damaged_marker_is_not_console_text() {
        for marker in [
            "SYS-T RAW DATA: ",
            "SYS-T RAW DATA:",
            "SYS-T RAW DQTA: ",
            "SYS-T RAW DATA; ",
            "SYS- RAW DATA: ",
            "S\u{1}S-T RAW DATA:\0",
            "SYS-T  RAW DATA: ",
        ] {
            let is_right = marker.as_bytes().trim_ascii_end() == BARE_MARKER;
            let kind = if is_right { RecordKind::Text } else { RecordKind::Malformed(Malformed::DamagedMarker) };
            let seen = listed(&format!("boot {marker}{HELLO}\r\nend\n"));
            let kinds: Vec<RecordKind> = seen.iter().map(|(kind, ..)| *kind).collect();
            assert_eq!(kinds, [RecordKind::Console, kind, RecordKind::Console], "{marker:?}");
        }
        for text in
            ["GUID 42502A0168656C6C6F00", "SYS-T RAW DUMP", "SYS-T RAW DUMP 4250", "RAW DATA: 42502A0168656C6C6F00 at the end"]
        {
            assert_eq!(listed(text).iter().map(|(kind, ..)| *kind).collect::<Vec<_>>(), [RecordKind::Console], "{text}");
        }
    }

    #[test]
    fn messages_and_the_text_around_them() {
        let text =
            format!("boot\r\nROM..SYS-T RAW DATA: {HELLO}\r\n\x1B[31mred\x1B[0m SYS-T RAW DATA: {} end\n", HELLO.to_lowercase());
        let hello = || (RecordKind::Text, "hello".to_owned(), Marks::default());
        let console = |text: &str| (RecordKind::Console, text.to_owned(), Marks::default());
        assert_eq!(listed(&text), [console("boot"), console("ROM.."), hello(), console("red "), hello(), console(" end")]);
        assert_eq!(records(text.as_bytes()).ok_bytes, text.len() as u64);
    }

    #[test]
    fn a_message_that_other_output_interrupts_is_joined_with_its_rest() {
        // The lengths differ, because the last two texts have another one.
        let message = |text: &str| {
            let payload: String = text.bytes().map(|byte| format!("{byte:02X}")).collect();
            format!("42522A01{:02X}00{payload}", text.len())
        };
        let (outer, middle, inner) = (message("outermost"), message("middle"), message("inner"));
        let marker = "SYS-T RAW DATA: ";
        let text = |text: &str| (RecordKind::Text, text.to_owned(), Marks::default());
        let console = |text: &str| (RecordKind::Console, text.to_owned(), Marks::default());
        // Between the digits of a byte, too.
        for cut in [2, 10, 13, 20] {
            let (start, rest) = outer.split_at(cut);
            let seen = listed(&format!("{marker}{start}{marker}{inner}\r\n{rest}\r\nend\n"));
            assert_eq!(seen, [text("outermost"), text("inner"), console("end")], "{cut}");
            let seen = listed(&format!("{marker}{start}uart: on\r\n{rest}\r\n"));
            assert_eq!(seen, [text("outermost"), console("uart: on")], "{cut}");
        }
        let (first, last) = (outer.split_at(16), middle.split_at(14));
        let nested = format!("{marker}{}{marker}{}{marker}{inner}\n{}\n{}\n", first.0, last.0, last.1, first.1);
        assert_eq!(listed(&nested), [text("outermost"), text("middle"), text("inner")]);
        // Both rests fit both messages: the one that began last ends first.
        let (twin, other) = (message("twin one"), message("twin two"));
        let nested = format!("{marker}{}{marker}{} x\n{}\n{}\n", &twin[..16], &other[..16], &other[16..], &twin[16..]);
        assert_eq!(listed(&nested), [text("twin one"), text("twin two"), console(" x")]);
        assert_eq!(records(nested.as_bytes()).ok_bytes, nested.len() as u64);
        // Each part judges its lines by the whole input.
        for at in 0..nested.len() {
            let (mut kinds, cut) = (Vec::new(), cut(nested.as_bytes(), at));
            for range in [0..cut, cut..nested.len()] {
                let mut records = Records::default();
                records.reset(range.start as u64);
                decode(&Decoder::default(), Part::new(nested.as_bytes(), range), &mut records);
                kinds.extend(records.stored.iter().map(|stored| stored.kind));
            }
            assert_eq!(kinds, [RecordKind::Text, RecordKind::Text, RecordKind::Console], "{at}");
        }
        // Many unfinished messages and lines that fit them take no long time.
        let start = format!("{marker}{}", &twin[..16]);
        let hostile = format!("{0} {0} {0} {0} x\n{1}\n{1}\n", start, &twin[16..]).repeat(1000);
        assert_eq!(records(hostile.as_bytes()).ok_bytes, hostile.len() as u64);
        // Digits of another number are not the rest.
        let kinds = listed(&format!("{marker}{} x\n{}00\n", &twin[..16], &twin[16..]));
        assert_eq!(kinds.last(), Some(&console(&format!("{}00", &twin[16..]))));
    }

    #[test]
    fn a_message_that_a_terminal_wraps_is_joined() {
        let (marker, lower) =
            ("SYS-T RAW DATA: ", "the quick brown fox jumps over the lazy dog, and over the lazy dog, and again");
        let hex = |text: &str| text.bytes().map(|byte| format!("{byte:02X}")).collect::<String>();
        let text = |text: &str| (RecordKind::Text, text.to_owned(), Marks::default());
        let console = |text: &str| (RecordKind::Console, text.to_owned(), Marks::default());
        // Its own text, its length, or its checksum says where it ends.
        let body = format!("42502A01{}00", hex(lower));
        let stated = format!("42522A01{:02X}00{}", lower.len(), hex(lower));
        let summed = format!("42542A01{}", hex(lower));
        let bytes: Vec<u8> =
            (0..summed.len()).step_by(2).map(|at| u8::from_str_radix(&summed[at..at + 2], 16).unwrap()).collect();
        let summed = crc32c::crc32c(&bytes).to_le_bytes().iter().fold(summed, |all, byte| format!("{all}{byte:02X}"));
        for (message, end) in [&body, &stated, &summed].into_iter().flat_map(|message| ["\n", "\r\n"].map(|end| (message, end))) {
            // At a width that divides a byte, too.
            for width in [40, 79, 80, 132] {
                let line = format!("{marker}{message}");
                let lines: Vec<String> =
                    line.as_bytes().chunks(width).map(|line| String::from_utf8(line.to_vec()).unwrap()).collect();
                let wrapped = format!("boot{end}{}{end}DEADBEEF{end}", lines.join(end));
                assert_eq!(listed(&wrapped), [console("boot"), text(lower), console("DEADBEEF")], "{width} {wrapped}");
                assert_eq!(records(wrapped.as_bytes()).ok_bytes, wrapped.len() as u64);
                for at in (0..wrapped.len()).step_by(7) {
                    let (mut kinds, cut) = (Vec::new(), cut(wrapped.as_bytes(), at));
                    for range in [0..cut, cut..wrapped.len()] {
                        let mut records = Records::default();
                        records.reset(range.start as u64);
                        decode(&Decoder::default(), Part::new(wrapped.as_bytes(), range), &mut records);
                        kinds.extend(records.stored.iter().map(|stored| stored.kind));
                    }
                    assert_eq!(kinds, [RecordKind::Console, RecordKind::Text, RecordKind::Console], "{at}");
                }
            }
        }
        // The first line has fewer characters than bytes.
        let line = format!("25 °C {marker}{summed}");
        let wrapped: Vec<String> = line.chars().collect::<Vec<char>>().chunks(80).map(|line| line.iter().collect()).collect();
        assert_eq!(listed(&wrapped.join("\n")), [console("25 °C "), text(lower)]);
        // Digits after a whole message are none of it; nor are those that do not make it whole.
        assert_eq!(listed(&format!("{marker}{HELLO}\nDEADBEEF\n")), [text("hello"), console("DEADBEEF")]);
        let cut = &body[..64];
        assert_eq!(listed(&format!("{marker}{cut}\nDEADBEEF\n")).last(), Some(&console("DEADBEEF")));
        // Many unfinished messages take no long time.
        let hostile = format!("{marker}{cut}\n{}", format!("{}\n", "41".repeat(40)).repeat(80)).repeat(100);
        assert_eq!(records(hostile.as_bytes()).ok_bytes, hostile.len() as u64);
    }

    #[test]
    fn half_a_byte_is_a_loss_unless_the_message_is_whole() {
        let truncated = |text: String| listed(&text).last().is_some_and(|(_, _, marks)| marks.has(Marks::TRUNCATED));
        assert!(truncated(format!("SYS-T RAW DATA: {}", &HELLO[..17])));
        assert!(truncated(format!("SYS-T RAW DATA: {}\n", &HELLO[..19])));
        assert!(!truncated(format!("SYS-T RAW DATA: {HELLO}4\n")));
    }

    #[test]
    fn listings_of_the_example_platform_are_not_repeated() {
        let listing = "STP Protocol Output:\n     0 <D32TS>  012a5042\n     1 <D32>  6c6c6568\r\n 2 <D16>  006f\n 3 <FLAG>\n";
        let hello = || (RecordKind::Text, "hello".to_owned(), Marks::default());
        let console = |text: &str| (RecordKind::Console, text.to_owned(), Marks::default());
        let with_listing =
            |text: &str| listed(&text.replace("LISTING", listing).replace("RAW", &format!("SYS-T RAW DATA: {HELLO}\n")));
        assert_eq!(with_listing("LISTINGRAWLISTINGRAW"), [hello(), hello()]);
        assert_eq!(with_listing("LISTING\nanother task\nRAW"), [console("another task"), hello()]);
        // Where the message itself is missing, it is taken from them.
        assert_eq!(with_listing("LISTINGLISTINGRAW"), [hello(), hello()]);
        assert_eq!(with_listing("LISTINGend\n"), [hello(), console("end")]);
        let short = (RecordKind::Short { wide: false }, "0x1234567".to_owned(), Marks::default());
        assert_eq!(with_listing("STP Protocol Output:\n 0 <D32MTS>  12345671\n"), [short]);
        let short = (RecordKind::Short { wide: true }, "0x000000000001234".to_owned(), Marks::default());
        assert_eq!(with_listing("STP Protocol Output:\n 0 <D64MTS> 00012347\n"), [short]);
        // If the listing is not whole either, its end becomes console text.
        assert_eq!(with_listing(" 1 <D32>  6c6c6568\n 2 <FLAG>\n"), [console(" 2 <FLAG>")]);
        assert_eq!(with_listing("STP Protocol Output:\n 0 <D32TS>  012a5042\n"), [console(" 0 <D32TS>  012a5042")]);
        assert_eq!(with_listing("3 <D64> nothing\n"), [console("3 <D64> nothing")]);
    }

    #[test]
    fn digits_that_are_not_a_message() {
        let listed = listed("SYS-T RAW DATA: \nSYS-T RAW DATA: 7156341\nSYS-T RAW DATA: 04502A01AABB\n");
        let kinds: Vec<RecordKind> = listed.iter().map(|(kind, ..)| *kind).collect();
        let expected = [
            RecordKind::Malformed(Malformed::Empty),
            RecordKind::Notice(Notice::OddDigits),
            RecordKind::Malformed(Malformed::TooShort),
            RecordKind::Malformed(Malformed::UnknownType),
        ];
        assert_eq!((&kinds[..], listed[3].1.as_str()), (&expected[..], "04502A01AABB"));
    }

    #[test]
    fn a_line_without_end_is_cut_and_still_one_line() {
        let mut text = format!("SYS-T RAW DATA: {HELLO}\n").into_bytes();
        text.resize(text.len() + 3 * CUT_REACH_BYTES, b'x');
        text.extend(format!(" SYS-T RAW DATA: {HELLO}\nSYS-T RAW DATA: {HELLO}\n").bytes());
        let whole = records(&text);
        let at = 100 + CUT_REACH_BYTES;
        assert_eq!(cut(&text, at), at);
        let mut skipped = Vec::new();
        let mut met = Vec::new();
        for range in [0..text.len(), 0..at, at..text.len()] {
            let mut records = Records::default();
            records.reset(range.start as u64);
            decode(&Decoder::default(), Part::new(&text, range.clone()), &mut records);
            skipped.push(range.len() as u64 - records.ok_bytes);
            met.push(records.stored.iter().filter(|stored| stored.kind == RecordKind::Text).count());
        }
        assert_eq!((skipped[0], met[0]), (skipped[1] + skipped[2], met[1] + met[2]));
        assert_eq!(met, [2, 1, 1]);
        assert!(skipped[0] > 2 * CUT_REACH_BYTES as u64 && whole.ok_bytes > LINE_LIMIT_BYTES as u64);
    }
}
