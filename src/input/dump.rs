//! Dumps of memory as text: rows of an address and the bytes there, as `xxd`, `hexdump -C`, `od -t x1`, debuggers and boot loaders print
//! them, and the records of Intel HEX and Motorola S-record files.
//!
//! The addresses say how many bytes a row has, and that no row is missing.

use std::ops::RangeInclusive;

use super::layer::{Damage, Layer};
use super::spool::Spool;
use super::text::{SYMBOLS_MIN, Strays, first_lines, without_mark};
use super::{Bytes, InputError};
use crate::model::losses;

/// How many digits an address has, if nothing else marks it as one.
const ADDRESS_DIGITS: RangeInclusive<usize> = 6..=16;

/// How many digits an address has at least before a sign, if the addresses rise by the lengths of the rows.
const SHORT_ADDRESS_DIGITS: usize = 4;

/// The first words of the lines, where neither a colon nor a sign ends them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FirstWords {
    /// Not addresses, as far as it shows.
    Data,
    /// Addresses in this base, before bytes in hex.
    Addresses(u32),
    /// Addresses, but before numbers that are not bytes in hex; or lines were left out, and their number depends on a base that does not
    /// show.
    Unreadable,
}

/// Finds addresses as `od` and `hexdump` write them: in most lines the first word has risen by the length of the line before.
fn first_words(bytes: &[u8]) -> FirstWords {
    const BASES: [u32; 3] = [16, 8, 10];
    /// How many bytes a word may be.
    const SIZES: [u64; 4] = [1, 2, 4, 8];
    // By size and base: how many lines fit.
    let mut fits = [[0usize; BASES.len()]; SIZES.len()];
    let (mut rises, mut longest, mut are_pairs, mut has_repeats) = (0usize, 0, true, false);
    let mut before: Option<(&str, u64)> = None;
    for line in first_lines(bytes).into_iter().map(<[u8]>::trim_ascii).filter(|line| !line.is_empty()) {
        if line == b"*" {
            (has_repeats, before) = (true, None);
            continue;
        }
        let Ok(line) = std::str::from_utf8(line) else { return FirstWords::Data };
        if !line.bytes().all(|byte| byte.is_ascii_hexdigit() || byte.is_ascii_whitespace()) {
            return FirstWords::Data;
        }
        let mut words = line.split_ascii_whitespace();
        let Some(address) = words.next().filter(|word| ADDRESS_DIGITS.contains(&word.len())) else {
            (rises, before) = (rises + 1, None);
            continue;
        };
        if let Some((address_before, count)) = before.filter(|(_, count)| *count > 0) {
            rises += 1;
            for (index, base) in BASES.into_iter().enumerate() {
                let parse = |address| u64::from_str_radix(address, base).ok();
                let rise = parse(address).zip(parse(address_before)).and_then(|(now, before)| now.checked_sub(before));
                for (fits, size) in fits.iter_mut().zip(SIZES) {
                    if let Some(fits) = fits.get_mut(index).filter(|_| rise.is_some() && rise == count.checked_mul(size)) {
                        *fits += 1;
                    }
                }
            }
        }
        let mut count = 0;
        for word in words {
            count += 1;
            longest = longest.max(word.len());
            are_pairs &= word.len() == 2;
        }
        before = Some((address, count));
    }
    // In hex, octal or decimal.
    let [bytes, halves, words, doubles] = fits;
    let fits = match longest {
        0..=3 => bytes,
        4..=6 => halves,
        7..=11 => words,
        _ => doubles,
    };
    let most = fits.into_iter().max().unwrap_or_default();
    let mut bases = BASES.into_iter().zip(fits).filter(|(_, fits)| *fits == most).map(|(base, _)| base);
    match (bases.next(), bases.next()) {
        _ if most * 2 <= rises && !has_repeats => FirstWords::Data,
        (Some(base), other) if are_pairs && most * 2 > rises && !(has_repeats && other.is_some()) => FirstWords::Addresses(base),
        _ => FirstWords::Unreadable,
    }
}

/// Whether lines of hex digits begin with addresses.
pub(super) fn begin_with_addresses(bytes: &[u8]) -> bool {
    first_words(bytes) != FirstWords::Data
}

/// The kind of the lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rows {
    /// An address in this base, bytes, and often the bytes as characters.
    Words(u32),
    /// `:10…`, Intel HEX.
    Intel,
    /// `S1…`, Motorola S-records.
    Motorola,
}

/// How the rows of a dump are read.
#[derive(Clone, Copy)]
struct Layout {
    rows: Rows,
    /// Bytes in a whole row, if there are two rows that follow each other.
    row_bytes: Option<usize>,
    /// Words of several bytes are numbers of a little-endian machine; else their bytes are in the order of memory.
    is_little_endian: bool,
}

/// A line of a dump.
enum Line {
    /// Bytes at this address; none at the end of `hexdump -C`.
    Bytes(u64),
    /// The line before is repeated up to the next address.
    Repeated,
    /// Nothing, or a record without data.
    Blank,
}

/// A row of words.
struct Row<'a> {
    address: u64,
    /// The address has fewer digits than one by itself.
    is_short: bool,
    /// The words after the address, as far as they are in hex, each with the blanks before it.
    words: Vec<(usize, &'a [u8])>,
    /// The rest: the bytes as characters, with the blanks before it.
    characters: Option<(usize, &'a [u8])>,
    /// The words are numbers, by the form of the row, not bytes in the order of memory.
    are_numbers: bool,
}

/// Splits hex digits off the start: them, the rest, and whether `0x` precedes them.
fn hex_digits(text: &[u8]) -> (&[u8], &[u8], bool) {
    let digits = text.strip_prefix(b"0x").or_else(|| text.strip_prefix(b"0X"));
    let (text, is_prefixed) = (digits.unwrap_or(text), digits.is_some());
    let (digits, rest) = text.split_at(text.iter().take_while(|byte| byte.is_ascii_hexdigit()).count());
    (digits, rest, is_prefixed)
}

fn without_blanks(text: &[u8]) -> (usize, &[u8]) {
    let rest = text.trim_ascii_start();
    (text.len() - rest.len(), rest)
}

impl<'a> Row<'a> {
    /// Reads `00000010: 0301 0202  ..`, `00000010  03 01 |..|`, `0x10 <ring+16>: 0x03 0x01`, `20000010 = 03 01`, `SD:20000010| 03 01`.
    fn read(line: &'a [u8], base: u32) -> Option<Row<'a>> {
        // The class of memory, as TRACE32 names it.
        let class = line.iter().take_while(|byte| byte.is_ascii_uppercase()).count();
        let classed = line.get(class..)?.strip_prefix(b":").filter(|_| (1..=4).contains(&class));
        let (digits, rest, is_prefixed) = hex_digits(classed.unwrap_or(line));
        let is_marked = is_prefixed || classed.is_some();
        let is_short = !is_prefixed && (SHORT_ADDRESS_DIGITS..*ADDRESS_DIGITS.start()).contains(&digits.len());
        if !is_prefixed && !is_short && !ADDRESS_DIGITS.contains(&digits.len()) {
            return None;
        }
        let address = u64::from_str_radix(std::str::from_utf8(digits).ok()?, base).ok()?;
        let (blanks, after) = without_blanks(rest);
        // The symbol, as GDB names it.
        let after = match after.strip_prefix(b"<").filter(|_| is_marked) {
            Some(symbol) => symbol.get(memchr::memchr(b'>', symbol)? + 1..)?,
            None => after,
        };
        let (rest, is_ended) = match after {
            [b':' | b'=' | b'|', rest @ ..] => (rest, true),
            _ if is_short => return None,
            // ESP-IDF has no sign between them.
            _ if blanks > 0 && (!is_marked || after.ends_with(b"|")) || after.is_empty() => (after, false),
            _ => return None,
        };
        let is_sign = is_ended && after.first() != Some(&b':');
        let mut row = Row { address, is_short, words: Vec::new(), characters: None, are_numbers: is_marked || is_sign };
        let mut rest = rest;
        loop {
            let (blanks, after) = without_blanks(rest);
            if after.is_empty() {
                return Some(row);
            }
            let (digits, end, is_prefixed) = hex_digits(after);
            let is_word = end.first().is_none_or(u8::is_ascii_whitespace) && digits.len().is_multiple_of(2) && digits.len() <= 32;
            if after.starts_with(b"|") || after.starts_with(b">") || digits.is_empty() || !is_word {
                // Without a sign after the address, characters are between bars, or as `od -t x1z` writes them.
                let signed = after.strip_prefix(b"|").or(after.strip_prefix(b">"));
                let characters = signed.or(is_ended.then_some(after))?;
                row.characters = Some((blanks, characters));
                return Some(row).filter(|row| !row.words.is_empty());
            }
            row.are_numbers |= is_prefixed;
            if row.words.is_empty() {
                // `xxd` writes one blank.
                row.are_numbers |= is_ended && blanks > 1;
            }
            row.words.push((blanks, digits));
            rest = end;
        }
    }

    /// The words that are bytes, not characters that look like hex: those of the first one's length, as many as a whole row has; in a
    /// shorter one up to a wide gap that is not in its middle.
    fn data(&self, row_bytes: Option<usize>) -> impl Iterator<Item = &'a [u8]> {
        let mut bytes = 0;
        let mut width = usize::MAX;
        self.words.iter().enumerate().map_while(move |(index, &(blanks, word))| {
            let is_first = index == 0;
            let is_middle = 2 * bytes == row_bytes.unwrap_or(16);
            let is_wide = !is_first && blanks > if is_middle { 3 } else { 1 };
            let is_full = row_bytes.is_some_and(|row| bytes >= row);
            if is_wide || is_full || word.len() > width || !is_first && bytes * 2 % width != 0 {
                return None;
            }
            if is_first {
                width = word.len();
            }
            bytes += word.len() / 2;
            Some(word)
        })
    }

    /// Appends its bytes.
    fn decode(&self, layout: Layout, decoded: &mut Vec<u8>) -> Option<()> {
        for word in self.data(layout.row_bytes) {
            let start = decoded.len();
            decoded.extend(data_encoding::HEXLOWER_PERMISSIVE.decode(word).ok()?);
            if layout.is_little_endian {
                decoded[start..].reverse();
            }
        }
        Some(())
    }

    /// How many of its characters are these bytes. Bytes that are not printable are written as dots.
    fn agreement(&self, bytes: &[u8]) -> usize {
        let Some((_, characters)) = self.characters else { return 0 };
        characters.iter().zip(bytes).filter(|&(&character, &byte)| character != b'.' && character == byte).count()
    }
}

/// Reads a record of Intel HEX, whose address counts from `base`.
fn intel_record(line: &[u8], base: &mut u64, decoded: &mut Vec<u8>) -> Option<Line> {
    let record = data_encoding::HEXUPPER_PERMISSIVE.decode(line.strip_prefix(b":")?).ok()?;
    let [len, high, low, kind, data @ .., _] = record.as_slice() else { return None };
    if usize::from(*len) != data.len() || record.iter().fold(0, |sum: u8, byte| sum.wrapping_add(*byte)) != 0 {
        return None;
    }
    match (kind, data) {
        (0, _) => {
            decoded.extend_from_slice(data);
            return Some(Line::Bytes(*base + u64::from(u16::from_be_bytes([*high, *low]))));
        }
        (2, &[high, low]) => *base = u64::from(u16::from_be_bytes([high, low])) << 4,
        (4, &[high, low]) => *base = u64::from(u16::from_be_bytes([high, low])) << 16,
        (1 | 3 | 5, _) => {}
        _ => return None,
    }
    Some(Line::Blank)
}

/// Reads a Motorola S-record.
fn motorola_record(line: &[u8], decoded: &mut Vec<u8>) -> Option<Line> {
    let (&kind, digits) = line.strip_prefix(b"S")?.split_first()?;
    let record = data_encoding::HEXUPPER_PERMISSIVE.decode(digits).ok()?;
    let [len, body @ .., _] = record.as_slice() else { return None };
    if usize::from(*len) != body.len() + 1 || record.iter().fold(0, |sum: u8, byte| sum.wrapping_add(*byte)) != 0xFF {
        return None;
    }
    let (address, data) = match kind {
        b'1'..=b'3' => body.split_at_checked(usize::from(kind - b'1') + 2)?,
        b'0' | b'5'..=b'9' => return Some(Line::Blank),
        _ => return None,
    };
    decoded.extend_from_slice(data);
    Some(Line::Bytes(address.iter().fold(0, |address, &byte| address << 8 | u64::from(byte))))
}

impl Layout {
    /// The layout of a dump, from its first lines; `None`: they are not a dump.
    fn of(text: &[u8]) -> Option<Layout> {
        let text = without_mark(text);
        let lines: Vec<&[u8]> = first_lines(text).into_iter().map(<[u8]>::trim_ascii).filter(|line| !line.is_empty()).collect();
        let first = lines.first()?;
        let records = [(b":", Rows::Intel), (b"S", Rows::Motorola)];
        let found = records.into_iter().find(|(start, _)| first.starts_with(*start)).map(|(_, rows)| rows);
        let plain = |rows| Layout { rows, row_bytes: None, is_little_endian: false };
        let rows = match (found, first_words(text)) {
            (Some(rows), _) if plain(rows).fits(&lines) => rows,
            (_, FirstWords::Addresses(base)) => Rows::Words(base),
            // With a sign after them, or with characters between bars.
            (_, FirstWords::Data) => Rows::Words(16),
            (_, FirstWords::Unreadable) => return None,
        };
        let mut layout = plain(rows);
        if let Rows::Words(base) = rows {
            let read: Vec<Row<'_>> = lines.iter().filter_map(|line| Row::read(line, base)).collect();
            layout.row_bytes = row_bytes(&read);
            if !are_addresses(&read, layout.row_bytes) {
                return None;
            }
            layout.is_little_endian = is_little_endian(&read, layout);
        }
        layout.fits(&lines).then_some(layout)
    }

    /// Whether most lines are rows, and those have bytes. Prompts and commands of a debugger may be between them.
    fn fits(self, lines: &[&[u8]]) -> bool {
        let (mut base, mut decoded) = (0, Vec::new());
        let rows = lines.iter().filter(|line| self.line(line, &mut base, &mut decoded).is_some()).count();
        let others = lines.len() - rows;
        // A row by itself proves little, so nothing else may be beside few of them.
        decoded.len() >= SYMBOLS_MIN && others * 4 <= rows
    }

    /// Whether a line that is no row begins as one: it is damaged, or cut off.
    fn resembles_row(self, line: &[u8]) -> bool {
        let line = line.trim_ascii();
        match (self.rows, line) {
            (Rows::Intel, _) => line.starts_with(b":"),
            (Rows::Motorola, [start, kind, ..]) => *start == b'S' && kind.is_ascii_digit(),
            (Rows::Motorola, _) => false,
            (Rows::Words(_), _) => {
                let (digits, _, is_prefixed) = hex_digits(line);
                is_prefixed
                    || digits.len() >= *ADDRESS_DIGITS.start()
                    || digits.len() >= SHORT_ADDRESS_DIGITS && line.get(digits.len()) == Some(&b':')
            }
        }
    }

    /// Reads a line and appends its bytes; `None` if it is something else.
    fn line(self, line: &[u8], base: &mut u64, decoded: &mut Vec<u8>) -> Option<Line> {
        let line = line.trim_ascii();
        match (self.rows, line) {
            (_, b"") => Some(Line::Blank),
            (Rows::Intel, _) => intel_record(line, base, decoded),
            (Rows::Motorola, _) => motorola_record(line, decoded),
            (Rows::Words(_), b"*") => Some(Line::Repeated),
            (Rows::Words(base), _) => {
                let row = Row::read(line, base)?;
                row.decode(self, decoded)?;
                Some(Line::Bytes(row.address))
            }
        }
    }
}

/// How many bytes a whole row has: the most frequent rise of the address.
fn row_bytes(rows: &[Row<'_>]) -> Option<usize> {
    let mut rises: Vec<usize> = rows
        .windows(2)
        .filter_map(|two| usize::try_from(two[1].address.checked_sub(two[0].address)?).ok())
        .filter(|&rise| rise > 0 && rise <= 256)
        .collect();
    rises.sort_unstable();
    rises.chunk_by(|one, other| one == other).max_by_key(|equal| equal.len()).and_then(|equal| equal.first().copied())
}

/// Whether short numbers before the rows are addresses, and not line numbers or times: most rise by the bytes of the row before.
fn are_addresses(rows: &[Row<'_>], row_bytes: Option<usize>) -> bool {
    let follows = |two: &[Row<'_>]| {
        let len: usize = two[0].data(row_bytes).map(|word| word.len() / 2).sum();
        two[0].address.checked_add(len as u64) == Some(two[1].address)
    };
    !rows.iter().any(|row| row.is_short) || 2 * rows.windows(2).filter(|two| follows(two)).count() > rows.len() - 1
}

/// Whether words of several bytes are numbers of a little-endian machine: the characters say so, otherwise the form of the rows.
fn is_little_endian(rows: &[Row<'_>], layout: Layout) -> bool {
    let (mut as_shown, mut reversed, mut numbers, mut wide) = (0, 0, 0, 0);
    let mut bytes = Vec::new();
    for row in rows {
        for (is_little_endian, agreement) in [(false, &mut as_shown), (true, &mut reversed)] {
            bytes.clear();
            if row.decode(Layout { is_little_endian, ..layout }, &mut bytes).is_some() {
                *agreement += row.agreement(&bytes);
            }
        }
        numbers += usize::from(row.are_numbers);
        // `xxd` writes two blanks.
        wide += usize::from(row.characters.is_some_and(|(blanks, _)| blanks > 2) && layout.row_bytes == Some(bytes.len()));
    }
    let is_long = rows.iter().any(|row| row.data(layout.row_bytes).any(|word| word.len() > 2));
    match as_shown.cmp(&reversed) {
        _ if !is_long => false,
        std::cmp::Ordering::Less => true,
        std::cmp::Ordering::Greater => false,
        std::cmp::Ordering::Equal => 2 * numbers.max(wide) > rows.len(),
    }
}

/// The kind of dump with which the input starts.
pub(super) fn sniff(bytes: &[u8]) -> Option<Layer> {
    Layout::of(bytes).map(|layout| match layout.rows {
        Rows::Intel => Layer::IntelHex,
        Rows::Motorola => Layer::SRecords,
        Rows::Words(_) if layout.is_little_endian => Layer::HexDumpOfWords,
        Rows::Words(_) => Layer::HexDump,
    })
}

/// Lines that are no rows.
#[derive(Default)]
struct OtherLines {
    count: u64,
    /// The number of the first one, and where it is in the decoded bytes.
    first: Option<(u64, u64)>,
}

impl OtherLines {
    fn move_to(&mut self, strays: &mut Strays) {
        let OtherLines { count, first } = std::mem::take(self);
        if let Some((number, offset)) = first {
            strays.add(count, offset, || format!("line {number} is not a line of a dump, or is damaged"));
        }
    }
}

/// Decodes a dump. The addresses must follow each other; where they do not, lines are missing, or something else lies between. Prompts and
/// commands before the first row and after the last one are not part of it.
pub(super) fn decode(source: &Bytes, spool: &mut Spool<'_>) -> Result<Vec<Damage>, InputError> {
    let text = without_mark(source);
    let (mut strays, mut missing) = (Strays::new(losses::TEXT_ENCODING_DAMAGED), Strays::new(losses::TEXT_DATA_MISSING));
    let Some(layout) = Layout::of(text) else { return Ok(Vec::new()) };
    let (mut line_bytes, mut before, mut others) = (Vec::new(), Vec::new(), OtherLines::default());
    let (mut expected, mut is_repeated, mut base) = (None, false, 0);
    // Damaged rows before this one, and the bytes of the longest row.
    let (mut damaged, mut longest) = (0, 0);
    for (number, line) in (1..).zip(text.split(|&byte| byte == b'\n')) {
        line_bytes.clear();
        match layout.line(line, &mut base, &mut line_bytes) {
            Some(Line::Bytes(address)) => {
                others.move_to(&mut strays);
                if let Some(mut at) = expected.replace(address.saturating_add(line_bytes.len() as u64)) {
                    while is_repeated && at < address && !before.is_empty() {
                        let len = usize::try_from(address - at).unwrap_or(usize::MAX).min(before.len());
                        spool.push(before.get(..len).unwrap_or_default())?;
                        at += len as u64;
                    }
                    let is_explained = address.checked_sub(at).is_some_and(|gap| gap <= u64::saturating_mul(damaged, longest));
                    if at != address && !is_explained {
                        missing.add(1, spool.len(), || format!("the address in line {number} does not follow the line before"));
                    }
                }
                (is_repeated, damaged) = (false, 0);
                longest = longest.max(line_bytes.len() as u64);
                spool.push(&line_bytes)?;
                if !line_bytes.is_empty() {
                    std::mem::swap(&mut before, &mut line_bytes);
                }
            }
            Some(Line::Repeated) => is_repeated = true,
            Some(Line::Blank) => {}
            None if expected.is_none() && !layout.resembles_row(line) => {}
            None => {
                others.count += 1;
                damaged += 1;
                others.first.get_or_insert((number, spool.len()));
                if layout.resembles_row(line) {
                    others.move_to(&mut strays);
                }
            }
        }
    }
    Ok(strays.into_damage().into_iter().chain(missing.into_damage()).collect())
}

#[cfg(test)]
mod tests {
    use super::super::{Input, Layer, ReadOptions};
    use super::{FirstWords, first_words, sniff};

    fn open(text: &[u8]) -> Input {
        Input::from_vec(text.to_vec(), &ReadOptions::default()).unwrap()
    }

    /// Bytes of which some are printable, and some look like hex digits then.
    fn content(len: usize) -> Vec<u8> {
        (0..len).map(|n| if n % 5 == 0 { b'a' + (n % 7) as u8 } else { (n * n / 3) as u8 }).collect()
    }

    /// Rows of an address and words of `width` bytes, with blanks in the middle, and the bytes as characters.
    struct Printed {
        address: fn(usize) -> String,
        row: usize,
        width: usize,
        is_reversed: bool,
        prefix: &'static str,
        between: &'static str,
        middle: &'static str,
        /// The blanks before the characters, and the bars around them.
        characters: Option<(&'static str, [&'static str; 2])>,
    }

    impl Printed {
        fn words(&self, row: &[u8]) -> String {
            let mut words = String::new();
            for (index, word) in row.chunks(self.width).enumerate() {
                let at = index * self.width;
                words += if index == 0 {
                    ""
                } else if 2 * at == self.row {
                    self.middle
                } else {
                    self.between
                };
                words += self.prefix;
                let mut word = word.to_vec();
                if self.is_reversed {
                    word.reverse();
                }
                words += &data_encoding::HEXLOWER.encode(&word);
            }
            words
        }

        fn text(&self, data: &[u8]) -> String {
            let full = self.words(&vec![0; self.row]).len();
            let mut text = String::new();
            for (number, row) in data.chunks(self.row).enumerate() {
                text += &(self.address)(number * self.row);
                let words = self.words(row);
                text += &words;
                if let Some((blanks, [open, close])) = self.characters {
                    text += &" ".repeat(full - words.len());
                    text += blanks;
                    text += open;
                    text.extend(row.iter().map(|&byte| if (0x20..0x7f).contains(&byte) { char::from(byte) } else { '.' }));
                    text += close;
                }
                text.push('\n');
            }
            text
        }
    }

    const XXD: Printed = Printed {
        address: |at| format!("{at:08x}: "),
        row: 16,
        width: 2,
        is_reversed: false,
        prefix: "",
        between: " ",
        middle: " ",
        characters: Some(("  ", [""; 2])),
    };

    #[test]
    fn dumps_of_tools_and_debuggers_are_read() {
        const BASE: usize = 0x2000_1000;
        let bytes = Printed { width: 1, ..XXD };
        let numbers = Printed { width: 4, is_reversed: true, characters: None, ..XXD };
        let hex_dump = |printed: Printed| (printed, Layer::HexDump);
        let of_words = |printed: Printed| (printed, Layer::HexDumpOfWords);
        for (name, (printed, layer)) in [
            ("xxd", hex_dump(XXD)),
            ("xxd -g1", hex_dump(Printed { width: 1, ..XXD })),
            ("xxd -g4", hex_dump(Printed { width: 4, ..XXD })),
            (
                "hexdump -C",
                hex_dump(Printed {
                    address: |at| format!("{at:08x}  "),
                    middle: "  ",
                    characters: Some(("  ", ["|"; 2])),
                    ..bytes
                }),
            ),
            (
                "od -A x -t x1z",
                hex_dump(Printed { address: |at| format!("{at:06x} "), characters: Some(("  ", [">", "<"])), ..bytes }),
            ),
            ("Zephyr", hex_dump(Printed { middle: "  ", width: 1, characters: Some((" ", ["|"; 2])), ..XXD })),
            (
                "pyOCD",
                hex_dump(Printed {
                    address: |at| format!("{at:08x}:  "),
                    middle: "  ",
                    width: 1,
                    characters: Some(("    ", ["|"; 2])),
                    ..XXD
                }),
            ),
            (
                "pyOCD words",
                of_words(Printed { address: |at| format!("{at:08x}:  "), characters: Some(("    ", ["|"; 2])), ..numbers }),
            ),
            (
                "GDB",
                hex_dump(Printed {
                    address: |at| format!("0x{:x} <ring+{at}>:\t", BASE + at),
                    row: 8,
                    width: 1,
                    prefix: "0x",
                    between: "\t",
                    middle: "\t",
                    characters: None,
                    ..XXD
                }),
            ),
            (
                "GDB words",
                of_words(Printed {
                    address: |at| format!("0x{:x}:\t", BASE + at),
                    prefix: "0x",
                    between: "\t",
                    middle: "\t",
                    ..numbers
                }),
            ),
            (
                "GDB giant words",
                of_words(Printed {
                    address: |at| format!("0x{:x}:\t", BASE + at),
                    width: 8,
                    prefix: "0x",
                    between: "\t",
                    middle: "\t",
                    ..numbers
                }),
            ),
            (
                "OpenOCD",
                hex_dump(Printed { address: |at| format!("0x{:08x}: ", BASE + at), row: 32, width: 1, characters: None, ..XXD }),
            ),
            ("OpenOCD words", of_words(Printed { address: |at| format!("0x{:08x}: ", BASE + at), row: 32, ..numbers })),
            ("J-Link", hex_dump(Printed { address: |at| format!("{:08X} = ", BASE + at), width: 1, middle: "  ", ..XXD })),
            ("J-Link words", of_words(Printed { address: |at| format!("{:08X} = ", BASE + at), ..numbers })),
            ("TRACE32", hex_dump(Printed { address: |at| format!("  SD:{:08X}| ", BASE + at), width: 1, ..XXD })),
            ("U-Boot", of_words(Printed { characters: Some(("    ", [""; 2])), ..numbers })),
            ("U-Boot bytes", hex_dump(Printed { width: 1, characters: Some(("    ", [""; 2])), ..XXD })),
        ] {
            for len in [1000, 1024, 1008 + 8] {
                let data = content(len);
                let text = printed.text(&data);
                for text in [text.clone(), format!("(gdb) x/64xb ring\n{text}(gdb) quit\n"), text.replace('\n', "\r\n")] {
                    let input = open(text.as_bytes());
                    assert_eq!((input.layers(), input.damages()), (&[layer][..], &[][..]), "{name}\n{text}");
                    assert!(input.bytes() == data, "{name}\n{text}");
                }
            }
        }
    }

    #[test]
    fn the_order_of_bytes_in_words_needs_no_printable_ones() {
        let data: Vec<u8> = (0..64).map(|n| 0x80 | n).collect();
        let u_boot = Printed { width: 4, is_reversed: true, characters: Some(("    ", [""; 2])), ..XXD };
        assert_eq!(open(u_boot.text(&data).as_bytes()).bytes(), data);
        let xxd = Printed { width: 4, ..XXD };
        assert_eq!(open(xxd.text(&data).as_bytes()).bytes(), data);
    }

    #[test]
    fn characters_that_look_like_hex_are_no_bytes() {
        for len in 1..40 {
            // Not hex as a whole.
            let data = [&b"ab cd ef ".repeat(20)[..len], &[0xff]].concat();
            for printed in [XXD, Printed { width: 1, ..XXD }, Printed { width: 1, middle: "  ", ..XXD }] {
                let text = printed.text(&data);
                if data.len() >= 4 {
                    assert_eq!(open(text.as_bytes()).bytes(), data, "{text}");
                }
            }
        }
    }

    /// A record of the given bytes after its start, with the sum that makes all of them `total`.
    fn record(start: &str, body: &[u8], total: u8) -> String {
        let sum = total.wrapping_sub(body.iter().fold(0, |sum: u8, byte| sum.wrapping_add(*byte)));
        format!("{start}{}\n", data_encoding::HEXUPPER.encode(&[body, &[sum]].concat()))
    }

    fn intel(data: &[u8]) -> String {
        let mut text = record(":", &[2, 0, 0, 4, 0x20, 0], 0);
        for (number, row) in data.chunks(16).enumerate() {
            let [high, low] = ((16 * number) as u16).to_be_bytes();
            text += &record(":", &[&[row.len() as u8, high, low, 0], row].concat(), 0);
        }
        text + ":00000001FF\n"
    }

    fn motorola(data: &[u8]) -> String {
        let mut text = record("S0", &[3, 0, 0], 0xFF);
        for (number, row) in data.chunks(28).enumerate() {
            let address = (0x2000_0000 + 28 * number as u32).to_be_bytes();
            text += &record("S3", &[&[row.len() as u8 + 5], &address[..], row].concat(), 0xFF);
        }
        text + &record("S7", &[5, 0x20, 0, 0, 0], 0xFF)
    }

    #[test]
    fn intel_hex_and_s_records_are_read() {
        let data = content(5000);
        for (text, layer) in [(intel(&data), Layer::IntelHex), (motorola(&data), Layer::SRecords)] {
            for text in [text.clone(), text.replace('\n', "\r\n")] {
                let input = open(text.as_bytes());
                assert_eq!((input.layers(), input.damages()), (&[layer][..], &[][..]));
                assert!(input.bytes() == data);
            }
            // A digit is wrong, a line is missing, the last line is cut off.
            let mut lines: Vec<&str> = text.lines().collect();
            let wrong = lines[20].replacen(&lines[20][12..13], "Z", 1);
            lines[20] = &wrong;
            let [damage] = open(lines.join("\n").as_bytes()).damages().to_vec().try_into().unwrap();
            let said = damage.detail;
            assert_eq!(said, "line 21 is not a line of a dump, or is damaged");
            lines.remove(20);
            assert_eq!(
                open(lines.join("\n").as_bytes()).damages()[0].detail,
                "the address in line 21 does not follow the line before"
            );
            let cut = open(&text.as_bytes()[..text.len() / 2 / 44 * 44 + 7]);
            assert!(data.starts_with(cut.bytes()) && cut.damages().len() == 1, "{:?}", cut.damages());
        }
        // Segments of 64 KiB.
        let data = content(70_000);
        let mut text = String::new();
        for (number, row) in data.chunks(16).enumerate() {
            let at = 16 * number;
            if at % 0x1_0000 == 0 {
                let [high, low] = ((at >> 4) as u16).to_be_bytes();
                text += &record(":", &[2, 0, 0, 2, high, low], 0);
            }
            let [high, low] = (at as u16).to_be_bytes();
            text += &record(":", &[&[row.len() as u8, high, low, 0], row].concat(), 0);
        }
        let input = open(text.as_bytes());
        assert!(input.bytes() == data && input.damages().is_empty());
    }

    #[test]
    fn damage_is_told_and_prompts_are_not() {
        let data = content(256);
        let text = XXD.text(&data);
        let lines: Vec<&str> = text.lines().collect();
        let damage = |lines: &[&str]| open(lines.join("\n").as_bytes()).damages().first().map(|damage| damage.detail.clone());
        let with = |at: usize, line| [&lines[..at], &[line], &lines[at..]].concat();
        assert_eq!(damage(&with(0, "=> md.b 0 100")), None);
        assert_eq!(damage(&with(16, "=> ")), None);
        assert_eq!(damage(&with(5, "a log line")).unwrap(), "line 6 is not a line of a dump, or is damaged");
        assert_eq!(damage(&with(16, "00000100: zz")).unwrap(), "line 17 is not a line of a dump, or is damaged");
        assert_eq!(damage(&with(0, "00000000: 0")).unwrap(), "line 1 is not a line of a dump, or is damaged");
    }

    #[test]
    fn dumps_of_xxd_hexdump_and_od_are_read() {
        let read = |text: &str| {
            let input = open(text.as_bytes());
            assert_eq!(input.layers(), [Layer::HexDump], "{text}");
            (input.bytes().to_vec(), input.damages().first().map(|damage| damage.detail.clone()))
        };
        let xxd = "00000000: 0301 0202 0402 0500 ffff ffff ffff ffff  ................\n00000010: 41de                                     A.\n";
        let whole = [3, 1, 2, 2, 4, 2, 5, 0, 255, 255, 255, 255, 255, 255, 255, 255, 0x41, 0xde];
        assert_eq!(read(xxd), (whole.to_vec(), None));
        let hexdump = "00000000  03 01 02 02 04 02 05 00  ff ff ff ff ff ff ff ff  |......|.........|\n00000010  41 de                    |A.|\n00000012\n";
        assert_eq!(read(hexdump), (whole.to_vec(), None));
        let zeros =
            "00000000  00 00 00 00 00 00 00 00  00 00 00 00 00 00 00 00  |................|\n*\n00000030  07  |.|\n00000031\n";
        assert_eq!(read(zeros), ([&[0; 48][..], &[7]].concat(), None));
        let gap = "00000000: 0102 0304  ....\n00000008: 0506  ..\n";
        assert_eq!(read(gap), (vec![1, 2, 3, 4, 5, 6], Some("the address in line 2 does not follow the line before".into())));
        for (base, offsets) in [
            (16, ["000000", "000010", "000012"]),
            (8, ["0000000", "0000020", "0000022"]),
            (10, ["0000000", "0000016", "0000018"]),
        ] {
            let [first, second, end] = offsets;
            let od = format!("{first} 03 01 02 02 04 02 05 00 ff ff ff ff ff ff ff ff\n{second} 41 de\n{end}\n");
            assert_eq!(first_words(od.as_bytes()), FirstWords::Addresses(base));
            assert_eq!(read(&od), (whole.to_vec(), None), "{od}");
        }
        // Lines that are left out: the base shows in the others, or it does not.
        let line = " 00".repeat(16);
        let od = format!("0000000{line}\n0000020{line}\n*\n0000100 07\n0000101\n");
        assert_eq!(read(&od), ([&[0; 64][..], &[7]].concat(), None));
        for od in [format!("0000000{line}\n*\n0000100 07\n0000101\n"), format!("0000000{line}\n*\n0000100\n")] {
            assert_eq!((first_words(od.as_bytes()), open(od.as_bytes()).layers()), (FirstWords::Unreadable, &[][..]));
        }
        // A line that is missing is reported.
        let od = format!("0000000{line}\n0000020{line}\n0000040{line}\n0000100 07 08\n0000102\n");
        let said = "the address in line 4 does not follow the line before".to_owned();
        assert_eq!(read(&od), ([&[0; 48][..], &[7, 8]].concat(), Some(said)));
        // Numbers are in the byte order of some machine, and not all in hex.
        for other in [
            "0000000 0103 0202\n0000004\n",
            "0000000 000403 001002 177777\n0000006\n",
            "0000000 003 001 002 377\n0000004\n",
            "0000000   3   1   2 255\n0000004\n",
            "0000000 02020103 00050204\n0000010\n",
        ] {
            assert_eq!((first_words(other.as_bytes()), open(other.as_bytes()).layers()), (FirstWords::Unreadable, &[][..]));
        }
        for plain in ["03010202 04020500\n03010203 04020500\n", "030102 02\n", "0000000301020204\n0205\n"] {
            assert_eq!(open(plain.as_bytes()).layers(), [Layer::Hex], "{plain}");
        }
        for other in ["0000000 0103 0202\n0000004\n", "00000000: no hex\n", "note\n", "", "12345678\n"] {
            assert!(sniff(other.as_bytes()).is_none(), "{other}");
        }
    }
}
