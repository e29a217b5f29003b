//! The text transport: `SYS-T RAW DATA: ` and a message in hex, anywhere in a line, among whatever else a console shows.
//!
//! One marker with its digits is one message. All other text is kept as what the console said, but for the lines by which the
//! library's example platform lists its STP output ([`listing`](super::listing)): they say the same as the message that follows them.

use memchr::memmem::Finder;

use super::decode::{Context, Decoder, Notice, Records, What};
use super::listing::{self, Listed};
use super::scan::Found;
use crate::format::Part;

/// What stands before a message.
pub const MARKER: &[u8] = b"SYS-T RAW DATA: ";

/// The longest line that is looked at, in bytes; what goes beyond is damage. The longest message has 131,156 digits.
pub const LINE_LIMIT_BYTES: usize = 512 << 10;

/// Where to look for a line end before a cut is made without one, in bytes.
const CUT_REACH_BYTES: usize = 1 << 20;

/// The first cut at or after `at`: behind a line end, or anywhere in a run that is too long for a line.
pub fn cut(input: &[u8], at: usize) -> usize {
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

/// The text that a part stands for: the lines that begin in it, as far as they are looked at, though the last one may end later.
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
            // The line end itself is none of the damage.
            lines.head = (within, line_end.unwrap_or(head).saturating_sub(within));
            lines.start = part.start + head;
        }
        let ends_inside = part.end.checked_sub(1).and_then(|last| input.get(last)).is_some_and(|&byte| !is_line_end(byte));
        if ends_inside && lines.start < part.end && part.end < input.len() {
            let own = input.get(lines.start..part.end).unwrap_or(&[]);
            let last_line = lines.start + memchr::memrchr2(b'\n', b'\r', own).map_or(0, |index| index + 1);
            lines.end = (last_line + LINE_LIMIT_BYTES).min(input.len());
            // Beyond the limit nothing is looked at; before it, the line may end.
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
    /// The digits behind a marker; what else is in the line follows them if no console text is wanted.
    Digits { marker: usize, digits: &'a [u8] },
    /// What goes beyond the limit of a line.
    Beyond {
        rest: &'a [u8],
        /// Whether more of the same line lies beyond, before it.
        goes_on: bool,
    },
}

/// Cuts text into pieces, in order, each with where it starts.
fn pieces<'a>(text: &'a [u8], finder: &Finder<'_>, want_console: bool, mut take: impl FnMut(usize, Piece<'a>)) {
    let mut at = 0;
    let mut line_start = 0;
    while at < text.len() {
        let rest = text.get(at..).unwrap_or(&[]);
        let marker = finder.find(rest).map_or(text.len(), |index| at + index);
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
                    take(piece_start, Piece::Console(shown));
                }
                if len > limit {
                    let goes_on = piece_start > line_start + LINE_LIMIT_BYTES;
                    take(piece_start + limit, Piece::Beyond { rest: piece.get(limit..len).unwrap_or(&[]), goes_on });
                }
                piece_start += len + usize::from(end.is_some());
                if end.is_some() {
                    line_start = piece_start;
                }
            }
        } else if let Some(index) = memchr::memrchr2(b'\n', b'\r', between) {
            line_start = at + index + 1;
        }
        if marker >= text.len() {
            return;
        }
        let start = marker + MARKER.len();
        let line_end = (line_start + LINE_LIMIT_BYTES).min(text.len());
        if start > line_end {
            // A marker beyond the limit of its line is none.
            let rest = text.get(marker..).unwrap_or(&[]);
            let len = memchr::memchr2(b'\n', b'\r', rest).unwrap_or(rest.len());
            if want_console {
                let goes_on = marker > line_start + LINE_LIMIT_BYTES;
                take(marker, Piece::Beyond { rest: rest.get(..len).unwrap_or(&[]), goes_on });
            }
            at = marker + len;
            continue;
        }
        let rest = text.get(start..line_end).unwrap_or(&[]);
        // There is no marker among digits, so whoever wants messages alone need not know how many there are.
        let digits = if want_console { rest.get(..hex_len(rest)).unwrap_or(&[]) } else { rest };
        take(marker, Piece::Digits { marker, digits });
        at = if want_console { start + digits.len() } else { start };
    }
}

/// How many hex digits there are at the start. Sixteen at once without a branch, which compilers make one comparison of.
pub(super) fn hex_len(text: &[u8]) -> usize {
    let (chunks, _) = text.as_chunks::<16>();
    let whole = chunks.iter().take_while(|chunk| chunk.iter().fold(true, |all, byte| all & byte.is_ascii_hexdigit())).count();
    let rest = text.get(16 * whole..).unwrap_or(&[]);
    16 * whole + rest.iter().position(|byte| !byte.is_ascii_hexdigit()).unwrap_or(rest.len())
}

/// The value of a hex digit. In letters bit 6 is set, and the low bits count from 1.
#[inline]
fn value_of(digit: u8) -> u8 {
    (digit & 15) + 9 * (digit >> 6)
}

/// The bytes that pairs of digits stand for; an odd one at the end is left out.
pub(super) fn unhex(digits: &[u8], bytes: &mut Vec<u8>) {
    bytes.clear();
    bytes.extend(digits.as_chunks::<2>().0.iter().map(|&[high, low]| value_of(high) << 4 | value_of(low)));
}

/// Takes a frame. If it is no message, gives how many of its bytes lie in the part: they were not decoded.
fn add(records: &mut Records, decoder: &Decoder, frame: &[u8], context: Context, part_end: usize) -> usize {
    let before = records.stored.len();
    records.add_frame(decoder, frame, context);
    match records.stored.get_mut(before).filter(|stored| matches!(stored.what, What::Malformed(_))) {
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
pub fn decode(decoder: &Decoder, part: Part<'_>, records: &mut Records) {
    let lines = Lines::of(part);
    let finder = Finder::new(MARKER);
    let text = part.input.get(lines.start..lines.end).unwrap_or(&[]);
    let mut frame = Vec::new();
    // Of a byte beyond the part the next part keeps account.
    let own = |from: usize, len: usize| len.min(part.end.saturating_sub(from));
    let mut not_ok = 0;
    if lines.head.1 > 0 {
        let context = Context { offset: (part.start + lines.head.0) as u64, len: lines.head.1, ..Context::default() };
        records.add_notice(Notice::OverlongLine, 0, context);
        not_ok += lines.head.1;
    }
    pieces(text, &finder, true, |at, piece| {
        let offset = lines.start + at;
        match piece {
            Piece::Console(line) => {
                let context = Context { offset: offset as u64, len: line.len(), ..Context::default() };
                match listing::read(part.input, offset, line) {
                    Listed::Said => {}
                    Listed::Unsaid(frame) => not_ok += add(records, decoder, &frame, context, part.end),
                    Listed::Nothing => records.add_console(line, context),
                }
            }
            Piece::Beyond { rest, goes_on } => {
                let len = own(offset, rest.len());
                let context = Context { offset: offset as u64, len, ..Context::default() };
                // The value tells that the line is met first here.
                records.add_notice(Notice::OverlongLine, u64::from(!goes_on), context);
                not_ok += len;
            }
            Piece::Digits { marker, digits } => {
                unhex(digits, &mut frame);
                let context =
                    Context { offset: (lines.start + marker) as u64, len: MARKER.len() + digits.len(), ..Context::default() };
                if digits.len() % 2 == 1 {
                    records.add_notice(Notice::OddDigits, 0, Context { len: 0, ..context });
                }
                not_ok += add(records, decoder, &frame, context, part.end);
            }
        }
    });
    if lines.end < part.end {
        let len = part.end - lines.end;
        records.add_notice(Notice::OverlongLine, 1, Context { offset: lines.end as u64, len, ..Context::default() });
        not_ok += len;
    }
    records.ok_bytes = (part.bytes().len() - not_ok) as u64;
}

/// Finds in a part what holds for the whole trace.
pub fn scan(part: Part<'_>) -> Found {
    let lines = Lines::of(part);
    let text = part.input.get(lines.start..lines.end).unwrap_or(&[]);
    let mut found = Found::default();
    let mut frame = Vec::new();
    pieces(text, &Finder::new(MARKER), listing::may_end_in(text), |at, piece| {
        let offset = lines.start + at;
        let digits = match piece {
            Piece::Digits { digits, .. } => digits,
            Piece::Console(line) => {
                if let Listed::Unsaid(frame) = listing::read(part.input, offset, line) {
                    found.take_frame(&frame, offset as u64);
                }
                return;
            }
            Piece::Beyond { .. } => return,
        };
        let Some(word) = digits.first_chunk::<8>().filter(|word| hex_len(*word) == 8) else { return };
        let mut head = [0; 4];
        for (byte, [high, low]) in head.iter_mut().zip(word.as_chunks::<2>().0) {
            *byte = value_of(*high) << 4 | value_of(*low);
        }
        if found.wants(u32::from_le_bytes(head)) {
            unhex(digits.get(..hex_len(digits)).unwrap_or(&[]), &mut frame);
            found.take_frame(&frame, offset as u64);
        }
    });
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::syst::record::{Malformed, Marks};

    fn records(text: &[u8]) -> Records {
        let mut records = Records::default();
        records.reset(0);
        decode(&Decoder::default(), Part::new(text, 0..text.len()), &mut records);
        records
    }

    fn listed(text: &str) -> Vec<(What, String, Marks)> {
        let records = records(text.as_bytes());
        records.stored.iter().map(|stored| (stored.what, records.text(stored.body).to_owned(), stored.marks)).collect()
    }

    #[test]
    fn digits_and_their_values() {
        let mut all = Vec::new();
        unhex(b"00199aAbBcCdDeEfF90", &mut all);
        assert_eq!(all, [0x00, 0x19, 0x9A, 0xAB, 0xBC, 0xCD, 0xDE, 0xEF, 0xF9]);
        for len in 0..40 {
            for end in 0..=255u8 {
                let text: Vec<u8> = b"0123456789abcdefABCDEF".iter().copied().cycle().take(len).chain([end, b'0']).collect();
                let expected = if end.is_ascii_hexdigit() { len + 2 } else { len };
                assert_eq!(hex_len(&text), expected, "{text:?}");
            }
        }
    }

    const HELLO: &str = "42502A0168656C6C6F00";

    #[test]
    fn messages_and_what_stands_around_them() {
        let text =
            format!("boot\r\nROM..SYS-T RAW DATA: {HELLO}\r\n\x1B[31mred\x1B[0m SYS-T RAW DATA: {} end\n", HELLO.to_lowercase());
        let hello = || (What::Text, "hello".to_owned(), Marks::default());
        let console = |text: &str| (What::Console, text.to_owned(), Marks::default());
        assert_eq!(listed(&text), [console("boot"), console("ROM.."), hello(), console("red "), hello(), console(" end")]);
        assert_eq!(records(text.as_bytes()).ok_bytes, text.len() as u64);
    }

    #[test]
    fn listings_of_the_example_platform_are_not_repeated() {
        let listing = "STP Protocol Output:\n     0 <D32TS>  012a5042\n     1 <D32>  6c6c6568\r\n 2 <D16>  006f\n 3 <FLAG>\n";
        let hello = || (What::Text, "hello".to_owned(), Marks::default());
        let console = |text: &str| (What::Console, text.to_owned(), Marks::default());
        let told = |text: &str| listed(&text.replace("LISTING", listing).replace("RAW", &format!("SYS-T RAW DATA: {HELLO}\n")));
        assert_eq!(told("LISTINGRAWLISTINGRAW"), [hello(), hello()]);
        assert_eq!(told("LISTING\nanother task\nRAW"), [console("another task"), hello()]);
        // Where the message itself is missing, it is taken from them.
        assert_eq!(told("LISTINGLISTINGRAW"), [hello(), hello()]);
        assert_eq!(told("LISTINGend\n"), [hello(), console("end")]);
        let short = (What::Short { wide: false }, "0x1234567".to_owned(), Marks::default());
        assert_eq!(told("STP Protocol Output:\n 0 <D32MTS>  12345671\n"), [short]);
        // And if they are not whole either, it is said what is left.
        assert_eq!(told(" 1 <D32>  6c6c6568\n 2 <FLAG>\n"), [console(" 2 <FLAG>")]);
        assert_eq!(told("STP Protocol Output:\n 0 <D32TS>  012a5042\n"), [console(" 0 <D32TS>  012a5042")]);
        assert_eq!(told("3 <D64> nothing\n"), [console("3 <D64> nothing")]);
    }

    #[test]
    fn digits_that_are_no_message() {
        let listed = listed("SYS-T RAW DATA: \nSYS-T RAW DATA: 7156341\nSYS-T RAW DATA: 04502A01AABB\n");
        let what: Vec<What> = listed.iter().map(|(what, ..)| *what).collect();
        let expected = [
            What::Malformed(Malformed::Empty),
            What::Notice(Notice::OddDigits),
            What::Malformed(Malformed::TooShort),
            What::Malformed(Malformed::UnknownType),
        ];
        assert_eq!((&what[..], listed[3].1.as_str()), (&expected[..], "04502A01AABB"));
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
            met.push(records.stored.iter().filter(|stored| stored.what == What::Text).count());
        }
        assert_eq!((skipped[0], met[0]), (skipped[1] + skipped[2], met[1] + met[2]));
        assert_eq!(met, [2, 1, 1]);
        assert!(skipped[0] > 2 * CUT_REACH_BYTES as u64 && whole.ok_bytes > LINE_LIMIT_BYTES as u64);
    }
}
