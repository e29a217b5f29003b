//! Where packets begin and end.
//!
//! A packet is an id, for ids from 24 on the length of its payload, the payload, and the ticks since the packet before. Numbers have 7
//! bits to a byte, the lowest first; those of a target of 64 bits may have 64 ([`Reading::Wide`]). Texts begin with their length. There is
//! no delimiter and no checksum: where a packet begins depends on the packet before it. Ten zero bytes (*sync*) come before the first
//! packet. After damage, reading continues at the next sync or at the first position from which [`CONFIRMED_BY`] packets follow each
//! other ([`crate::frame::sync`] says how parts agree on that).

use std::cell::Cell;
use std::collections::BTreeMap;
use std::ops::Range;

use crate::frame::sync::Grammar;

use super::record::{Fields, SHAPES, Shape, id};

/// The bytes before the first packet.
pub const SYNC: [u8; 10] = [0; 10];

/// No packet is longer, in bytes. The library's texts have at most 128 bytes, unless it is configured otherwise.
pub const MAX_PACKET_BYTES: usize = 1024;

/// Ids are below this: 512 for the system and the kernel, the others for modules.
pub const ID_LIMIT: u16 = 4096;

/// The longest number, in bytes.
const NUMBER_BYTES: usize = 10;

/// After damage, a position is believed if this number of packets follows from it.
pub const CONFIRMED_BY: usize = 8;

/// More bytes before the first start are not searched for it.
const BEFORE_START_BYTES: usize = 64 << 10;

/// How far before a cut such a position is looked for, in bytes.
const CONFIRMED_NEAR_BYTES: usize = 64;

/// If the input ends before, this number is enough.
const CONFIRMED_AT_END_BY: usize = 4;

/// How the first lines of a recording in a file begin. One of them is its [`VERSION`] or an [`OFFSET`]: pyOCD writes no version (its
/// `utility/systemview.py`).
const HEADER: &[u8] = b";\n; ";
const VERSION: &[u8] = b"; Version";

/// The target's greeting on a socket: a text of 32 bytes. On a serial line it has only four: `SV` and the major and minor version.
const HELLO: &[u8] = b"SEGGER SystemView V";
const HELLO_BYTES: usize = 32;
const SHORT_HELLO_BYTES: usize = 4;

/// Such a line of the header says of a core's number where the core's stream begins, in bytes from the end of the header.
const OFFSET: &[u8] = b"; Offset Core";

/// Such a line says that the ids have a bit for the core.
const EXTENSION: &[u8] = b"; ESP_Extension";

/// No event has this number of numbers, or a text after this number of them.
const NUMBERS_LIMIT: usize = 64;
const TEXT_FIELD_LIMIT: usize = 8;

/// How ids and numbers are read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reading {
    /// As the library sends them.
    #[default]
    Plain,
    /// As Espressif's port sends ids: bit 6 of the last byte is the core.
    CoreBit,
    /// As a target of 64 bits sends them. The library's type `U32` is `unsigned long`, so that addresses, negative values and differences of time
    /// stamps may have up to ten bytes.
    Wide,
}

/// Numbers of more than 32 bits are looked for in this number of bytes from the first start on.
const WIDE_BYTES: usize = 16 << 10;

/// Fewer packets with such numbers that have the same upper half may be made up by damage.
const WIDE_PACKETS: usize = 2;

/// The highest bit of each byte: another one of the same number follows.
const GOES_ON: u64 = 0x8080_8080_8080_8080;

/// So many bytes in a row whose highest bit is set are only in such numbers.
const WIDE_RUN: usize = 5;

/// The most ticks of a difference. More would be many days.
const DELTA_LIMIT: u64 = 1 << 53;

impl Reading {
    /// The reading of an input, from its header and its first description of the device, which may come after other bytes.
    #[must_use]
    pub fn of(input: &[u8]) -> Reading {
        let first = input.get(..BEFORE_START_BYTES).unwrap_or(input);
        let at = if header_bytes(first).is_some() { 0 } else { starts(first).next().unwrap_or(0) };
        let start = input.get(at..).unwrap_or(&[]);
        let start = start.get(..4 * MAX_PACKET_BYTES).unwrap_or(start);
        let header = header_bytes(start).and_then(|len| start.get(..len)).unwrap_or(&[]);
        let has = |text: &[u8], words: &[u8]| memchr::memmem::find(text, words).is_some();
        if has(header, EXTENSION) || has(start, b"D=ESP") || has(start, b"D=esp") {
            return Reading::CoreBit;
        }
        if has_wide_numbers(input.get(at..).unwrap_or(&[])) { Reading::Wide } else { Reading::Plain }
    }

    /// A number of a payload, and its length in bytes.
    #[inline]
    fn number(self, bytes: &[u8]) -> Option<(u64, usize)> {
        number(bytes).filter(|&(value, _)| self == Reading::Wide || value <= u64::from(u32::MAX))
    }

    /// A difference of time stamps, and its length in bytes.
    #[inline]
    fn delta(self, bytes: &[u8]) -> Option<(u64, usize)> {
        let (value, len) = self.number(bytes)?;
        let value = if value < DELTA_LIMIT { value } else { narrow_delta(value)? };
        Some((value, len))
    }
}

/// A target of 64 bits whose counter has fewer bits sends a difference across the counter's wrap with 32 bits of ones before it. *(The library's
/// `MAKE_DELTA_32BIT` shifts a counter's missing bits out of 64 then, not out of 32.)*
#[cold]
fn narrow_delta(value: u64) -> Option<u64> {
    let bits = (u64::BITS - value.leading_zeros()).checked_sub(32)?;
    (value >> bits == u64::from(u32::MAX)).then_some(value & ((1 << bits) - 1))
}

/// Of an overflow packet, the library takes the difference for a signed one: if a counter of 16 or 24 bits has advanced by half its range or more,
/// the bits above are ones. *(`_TrySendOverflowPacket`, where `Delta` is an `I32`)* A counter of 32 bits does not come that close to its wrap.
fn unsigned_delta(delta: u64) -> u64 {
    match delta {
        0xFFFF_8000..=0xFFFF_FFFF => delta & 0xFFFF,
        0xFF80_0000..=0xFFFF_7FFF => delta & 0x00FF_FFFF,
        _ => delta,
    }
}

/// Whether the packets at the begin of a recording have numbers of more than 32 bits. Those of a program are alike: addresses of one memory, negative
/// values, differences across a wrap; those that damage makes up are not.
fn has_wide_numbers(input: &[u8]) -> bool {
    let first = input.get(..WIDE_BYTES).unwrap_or(input);
    // Nearly all recordings have none.
    let after = |bytes: usize| first.get(bytes..).unwrap_or(&[]);
    let runs = first.iter().zip(after(1)).zip(after(2)).zip(after(3)).zip(after(4));
    if runs.fold(0, |found, ((((a, b), c), d), e)| found | a & b & c & d & e) < 0x80 {
        return false;
    }
    let goes_on = |at: usize| first.get(at).is_some_and(|&byte| byte >= 0x80);
    let begins_run = |at: usize| (at..at + WIDE_RUN).all(goes_on);
    // Other formats have such numbers, too. How many of them are alike limits the search for packets, which costs more.
    let starts = (0..first.len()).filter(|&at| begins_run(at) && !at.checked_sub(1).is_some_and(goes_on));
    let limit = most_alike(starts.filter_map(|at| number(first.get(at..)?)));
    let framing = Framing::new(Reading::Wide);
    let (mut at, mut damaged, mut wide) = (0, 0, Vec::new());
    while at < first.len() && damaged < limit {
        let Some(packet) = framing.read(input, at) else {
            damaged += 1;
            at = framing.after_damage(input, at).max(at + 1);
            continue;
        };
        let end = at + usize::from(packet.bytes);
        if read_any(Reading::Plain, input, at).is_none() {
            wide.extend((at..end).find(|&at| begins_run(at)).and_then(|run| number(input.get(run..end)?)));
        }
        at = end;
    }
    let most = most_alike(wide.into_iter());
    most >= WIDE_PACKETS && most > damaged
}

/// The most of these numbers that have the same upper half.
fn most_alike(numbers: impl Iterator<Item = (u64, usize)>) -> usize {
    let mut upper_halves = BTreeMap::<u64, usize>::new();
    numbers.for_each(|(number, _)| *upper_halves.entry(number >> 32).or_default() += 1);
    upper_halves.into_values().max().unwrap_or_default()
}

/// A packet, as ranges of the input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet {
    /// Its id, or one of the pseudo-ids of [`id`].
    pub id: u16,
    /// The bit for the core.
    pub core: u8,
    /// Where its payload begins, in bytes from its start.
    pub payload_at: u8,
    /// The length of its payload in bytes.
    pub payload_bytes: u16,
    /// Its length in bytes.
    pub bytes: u16,
    /// The ticks since the packet before.
    pub delta: u64,
}

impl Packet {
    /// Whether it is one of the library's, which have a time each.
    #[inline]
    #[must_use]
    pub fn has_time(&self) -> bool {
        !matches!(self.id, id::SYNC | id::HEADER | id::BLOCK | id::HELLO)
    }

    /// The payload of the packet at `at`.
    #[inline]
    #[must_use]
    pub fn fields<'a>(&self, input: &'a [u8], at: usize) -> Fields<'a> {
        let payload = at.saturating_add(usize::from(self.payload_at));
        Fields(input.get(payload..payload.saturating_add(usize::from(self.payload_bytes))).unwrap_or(&[]))
    }
}

/// A number of at most 64 bits, and its length in bytes.
#[inline(always)]
#[must_use]
pub fn number(bytes: &[u8]) -> Option<(u64, usize)> {
    match *bytes {
        [first @ ..0x80, ..] => Some((u64::from(first), 1)),
        [first, second @ ..0x80, ..] => Some((u64::from(first & 0x7F) | u64::from(second) << 7, 2)),
        _ => long_number(bytes),
    }
}

#[cold]
fn long_number(bytes: &[u8]) -> Option<(u64, usize)> {
    let mut value = 0;
    for (index, &byte) in bytes.iter().take(NUMBER_BYTES).enumerate() {
        if index + 1 == NUMBER_BYTES && byte > 1 {
            return None;
        }
        value |= u64::from(byte & 0x7F) << (7 * index);
        if byte < 0x80 {
            return Some((value, index + 1));
        }
    }
    None
}

/// A text, and its length in bytes with the length field.
#[must_use]
pub fn text(bytes: &[u8]) -> Option<(&[u8], usize)> {
    match *bytes {
        [255, first, second, ..] => {
            let len = |high, low| usize::from(high) << 8 | usize::from(low);
            // Up to version 3.30 the library sent the low byte first, and only for texts that need it.
            let low_first = Some(len(second, first)).filter(|&len| len >= 255);
            let lengths = [Some(len(first, second)), low_first];
            lengths.into_iter().flatten().find_map(|len| Some((bytes.get(3..3 + len)?, 3 + len)))
        }
        [len, ..] => Some((bytes.get(1..1 + usize::from(len))?, 1 + usize::from(len))),
        [] => None,
    }
}

/// Names and descriptions are readable; other bytes are damage.
fn is_readable(text: &[u8]) -> bool {
    text.iter().all(|&byte| byte >= 0x20 || matches!(byte, b'\t' | b'\n' | b'\r'))
}

/// The length of the payload of `shape` at the start of `bytes`.
#[inline]
fn measure(reading: Reading, shape: Shape, bytes: &[u8]) -> Option<usize> {
    let mut at = 0;
    for _ in 0..shape.numbers {
        at += reading.number(bytes.get(at..)?)?.1;
    }
    if shape.has_text {
        let (name, len) = text(bytes.get(at..)?)?;
        is_readable(name).then_some(())?;
        at += len;
    }
    Some(at)
}

/// Whether a payload is numbers, or a text after a few of them.
fn numbers_or_text(reading: Reading, payload: &[u8]) -> bool {
    let mut rest = payload;
    for count in 0..NUMBERS_LIMIT {
        if rest.is_empty()
            || count < TEXT_FIELD_LIMIT && text(rest).is_some_and(|(text, len)| len == rest.len() && is_readable(text))
        {
            return true;
        }
        let Some((_, len)) = reading.number(rest) else { return false };
        rest = rest.get(len..).unwrap_or(&[]);
    }
    false
}

/// Whether the header of a block is at the start of `bytes`.
fn has_block_header(bytes: &[u8]) -> bool {
    matches!(*bytes, [first, second, ..] if first >= 0x80 && first == second)
}

/// Whether the first `len` bytes, from one to eight, are numbers of at most four bytes. If not, they may be others.
#[inline]
fn are_short_numbers(bytes: &[u8], len: usize) -> bool {
    let (Some(&word), 1..=8) = (bytes.first_chunk(), len) else { return false };
    let goes_on = u64::from_le_bytes(word) & GOES_ON >> (64 - 8 * len);
    goes_on >> (8 * len - 1) == 0 && goes_on & goes_on >> 8 & goes_on >> 16 & goes_on >> 24 == 0
}

/// Whether a payload fits an id from 24 on. The functions of the kernel and of modules have numbers; a text is the last field, or short.
fn fits(reading: Reading, id: u16, payload: &[u8]) -> bool {
    let numbers = |payload: &[u8], counts: Range<usize>| {
        let (mut at, mut count) = (0, 0);
        while let Some(rest) = payload.get(at..).filter(|rest| !rest.is_empty()) {
            let Some((_, len)) = reading.number(rest) else { return false };
            (at, count) = (at + len, count + 1);
        }
        counts.contains(&count)
    };
    let exactly = |numbers, has_text| measure(reading, Shape { numbers, has_text }, payload) == Some(payload.len());
    match id {
        id::INIT => numbers(payload, 4..5),
        id::NAME_RESOURCE => exactly(1, true),
        id::PRINT_FORMATTED => text(payload).is_some_and(|(_, len)| numbers(payload.get(len..).unwrap_or(&[]), 1..20)),
        id::NUMMODULES | id::TASK_TERMINATE => exactly(1, false),
        id::END_CALL => numbers(payload, 1..3),
        id::EX => number(payload).is_some_and(|(number, _)| number < 32),
        id::FIRST_OF_KERNEL.. => numbers_or_text(reading, payload),
        _ => false,
    }
}

/// The length of the header at the start of `bytes`: lines that begin with a semicolon.
fn header_bytes(bytes: &[u8]) -> Option<usize> {
    if !bytes.starts_with(HEADER) {
        return None;
    }
    let (mut at, mut is_known) = (0, false);
    while bytes.get(at) == Some(&b';') {
        let rest = bytes.get(at..MAX_PACKET_BYTES.min(bytes.len()))?;
        is_known |= rest.starts_with(VERSION) || rest.starts_with(OFFSET);
        at += memchr::memchr(b'\n', rest)? + 1;
    }
    is_known.then_some(())?;
    // A blank line may follow. It is also the id of a start packet, which the configuration follows.
    at += usize::from(bytes.get(at) == Some(&b'\n') && !is_start(Reading::Wide, bytes, at));
    Some(at)
}

/// The length of the target's greeting at the start of `bytes`. A short one is known by the sync after it.
#[cold]
fn hello_bytes(bytes: &[u8]) -> Option<usize> {
    if bytes.starts_with(HELLO) {
        return (bytes.len() >= HELLO_BYTES).then_some(HELLO_BYTES);
    }
    let is_short = matches!(*bytes, [b'S', b'V', ..10, ..10, ..]);
    let is_hello = is_short && bytes.get(SHORT_HELLO_BYTES..)?.starts_with(&SYNC);
    is_hello.then_some(SHORT_HELLO_BYTES)
}

/// The cores that the header names, and the pieces of each one's recording: the header and the core's stream. Empty unless there are
/// several, one after the other, and each begins with a sync.
pub fn cores(input: &[u8]) -> Vec<(u16, Vec<Range<usize>>)> {
    let Some(header) = header_bytes(input) else { return Vec::new() };
    // A text is made of a copy: bytes of a file may change.
    let text = input.get(..header).unwrap_or(&[]).to_vec();
    let offset = |line: &[u8]| -> Option<(u16, usize)> {
        let line = std::str::from_utf8(line.strip_prefix(OFFSET)?).ok()?;
        let (core, offset) = line.trim().split_once(' ')?;
        Some((core.parse().ok()?, header.checked_add(offset.trim().parse().ok()?)?))
    };
    let lines = text.split(|&byte| byte == b'\n');
    let starts: Vec<(u16, usize)> = lines.filter_map(offset).collect();
    let is_start = |at: usize| at >= input.len() || input.get(at..).is_some_and(|stream| stream.starts_with(&SYNC));
    if starts.len() < 2 || !starts.is_sorted_by(|one, next| one.1 < next.1) || !starts.iter().all(|start| is_start(start.1)) {
        return Vec::new();
    }
    let ends = starts.iter().skip(1).map(|&(_, next)| next).chain([input.len()]);
    let stream = |(&(core, start), end): (&(u16, usize), usize)| {
        let end = end.min(input.len());
        (core, vec![0..header, start.min(end)..end])
    };
    starts.iter().zip(ends).map(stream).collect()
}

/// The packets that [`short`] reads: the bytes that must follow their start, and the highest bits of the bytes of a payload, by its length.
const SHORT_WINDOW: usize = 16;
const SHORT_PAYLOADS: [u64; 9] = {
    let mut masks = [0; 9];
    let mut len = 1;
    while len < masks.len() {
        masks[len] = GOES_ON >> (64 - 8 * len);
        len += 1;
    }
    masks
};

/// What the first byte of a packet says of its payload: how many numbers it has, …
const LENGTH: u8 = 0xFE;
/// … that its length follows, or that [`short`] does not read the packet.
const OTHER: u8 = 0xFF;

/// The same of each byte, if the lowest bits of this mask are the id.
const fn payloads(id_mask: u8) -> [u8; 256] {
    let mut payloads = [OTHER; 256];
    let mut first = 1;
    while first < 0x80 {
        let id = first as u8 & id_mask;
        payloads[first] = match id {
            _ if first as u8 == b';' || first as u8 == b'S' => OTHER,
            0..24 => match SHAPES[id as usize] {
                Some(Shape { numbers, has_text: false }) => numbers,
                _ => OTHER,
            },
            28 | 31.. => LENGTH,
            _ => OTHER,
        };
        first += 1;
    }
    payloads
}

static PAYLOADS: [u8; 256] = payloads(0xFF);
static PAYLOADS_WITH_CORE: [u8; 256] = payloads(0x3F);

/// The packet that a window begins with, if it is one of most: its id has one byte, its payload is a few numbers of at most four bytes each. Any
/// other, valid or not, is read by [`read_any`].
#[inline(always)]
fn short(reading: Reading, window: &[u8; SHORT_WINDOW]) -> Option<Packet> {
    let first = window[0];
    let (payloads, id, core) = match reading {
        Reading::Plain | Reading::Wide => (&PAYLOADS, first, 0),
        Reading::CoreBit => (&PAYLOADS_WITH_CORE, first & 0x3F, first >> 6),
    };
    let word_at = |at: usize| window.get(at..).and_then(<[u8]>::first_chunk).map(|word| u64::from_le_bytes(*word));
    let (payload_at, payload_bytes) = match payloads[usize::from(first)] {
        OTHER => return None,
        LENGTH => (2, usize::from(window[1])),
        0 => (1, 0),
        numbers => {
            let mut ends = !word_at(1)? & GOES_ON;
            for _ in 1..numbers {
                ends &= ends.wrapping_sub(1);
            }
            (1, ends.trailing_zeros() as usize / 8 + 1)
        }
    };
    let bytes = *SHORT_PAYLOADS.get(payload_bytes)?;
    let goes_on = word_at(payload_at)? & bytes;
    // The last byte ends a number, and four in a row go on in no number of at most four bytes.
    if goes_on > bytes >> 1 || goes_on & goes_on >> 8 & goes_on >> 16 & goes_on >> 24 != 0 {
        return None;
    }
    let fits = match id.into() {
        id::EX => payload_bytes > 0 && window[2] < 32,
        id::END_CALL => (1..3).contains(&(payload_bytes - goes_on.count_ones() as usize)),
        _ => true,
    };
    if !fits {
        return None;
    }
    let delta_at = payload_at + payload_bytes;
    let delta = window.get(delta_at..).and_then(<[u8]>::first_chunk).map(|word| u32::from_le_bytes(*word))?;
    let end = !delta & GOES_ON as u32;
    // The bytes up to the first that ends the number, without their highest bits; then pairs, then both pairs together.
    let bits = delta & (end ^ end.wrapping_sub(1)) & 0x7F7F_7F7F;
    let bits = bits & 0x007F_007F | bits >> 1 & 0x3F80_3F80;
    let delta = bits & 0x3FFF | bits >> 2 & 0x0FFF_C000;
    let bytes = delta_at + end.trailing_zeros() as usize / 8 + 1;
    if end == 0 || bytes >= SYNC.len() && window[SYNC.len() - 1] == 0 {
        return None;
    }
    let [payload_bytes, bytes] = [payload_bytes, bytes].map(|number| number as u16);
    Some(Packet { id: id.into(), core, payload_at: payload_at as u8, payload_bytes, bytes, delta: delta.into() })
}

/// The packet at `at`; `None` if there is no valid one.
#[inline(always)]
fn read(reading: Reading, input: &[u8], at: usize) -> Option<Packet> {
    let window = input.get(at..).and_then(<[u8]>::first_chunk);
    window.and_then(|window| short(reading, window)).or_else(|| read_any(reading, input, at))
}

/// The same for any packet, in less code and more time.
#[must_use]
pub fn read_any(reading: Reading, input: &[u8], at: usize) -> Option<Packet> {
    let bytes = input.get(at..at.saturating_add(MAX_PACKET_BYTES).min(input.len()))?;
    let pseudo = |id, len: usize| Packet { id, core: 0, payload_at: 0, payload_bytes: 0, bytes: len as u16, delta: 0 };
    let first = *bytes.first()?;
    if first == 0 {
        return bytes.starts_with(&SYNC).then(|| pseudo(id::SYNC, SYNC.len()));
    }
    if first == b';'
        && let Some(len) = header_bytes(bytes)
    {
        return Some(pseudo(id::HEADER, len));
    }
    if first == b'S'
        && let Some(len) = hello_bytes(bytes)
    {
        return Some(pseudo(id::HELLO, len));
    }
    let (id, core, mut payload_at) = match reading {
        Reading::Plain | Reading::Wide => {
            let (id, len) = Reading::Plain.number(bytes)?;
            (id, 0, len)
        }
        Reading::CoreBit => {
            if first < 0x80 {
                (u64::from(first & 0x3F), first >> 6, 1)
            } else {
                match *bytes.get(1)? {
                    // The header of a block of the memory that the target shares with the debugger; no block is empty.
                    second if second == first => return (!has_block_header(bytes.get(2..)?)).then(|| pseudo(id::BLOCK, 2)),
                    second if second >= 0x80 => return None,
                    second => (u64::from(first & 0x7F) | u64::from(second & 0x3F) << 7, second >> 6, 2),
                }
            }
        }
    };
    if id >= u64::from(ID_LIMIT) {
        return None;
    }
    let id = id as u16;
    let payload_bytes = match SHAPES.get(usize::from(id)) {
        Some(shape) => measure(reading, (*shape)?, bytes.get(payload_at..)?)?,
        None => {
            let (len, len_bytes) = Reading::Plain.number(bytes.get(payload_at..)?)?;
            payload_at += len_bytes;
            let len = len as usize;
            let payload = bytes.get(payload_at..payload_at.checked_add(len)?)?;
            let is_short = id >= id::FIRST_OF_KERNEL && are_short_numbers(bytes.get(payload_at..)?, len);
            if !is_short && !fits(reading, id, payload) {
                return None;
            }
            len
        }
    };
    let delta_at = payload_at + payload_bytes;
    let (mut delta, delta_bytes) = reading.delta(bytes.get(delta_at..)?)?;
    if id == id::OVERFLOW {
        delta = unsigned_delta(delta);
    }
    if holds_start(reading, bytes, delta_at + delta_bytes) {
        return None;
    }
    Some(Packet {
        id,
        core,
        payload_at: payload_at as u8,
        payload_bytes: payload_bytes as u16,
        bytes: (delta_at + delta_bytes) as u16,
        delta,
    })
}

/// The most bytes that a packet can have at the start of `bytes`, valid or not, if its first bytes show that.
fn most_bytes(reading: Reading, bytes: &[u8]) -> Option<usize> {
    let (id, id_bytes) = match (reading, bytes) {
        (_, [0, ..]) => return Some(SYNC.len()),
        (_, [b';' | b'S', ..]) => return None,
        (Reading::CoreBit, &[first @ ..0x80, ..]) => (first & 0x3F, 1),
        (_, &[first @ ..0x80, ..]) => (first, 1),
        (Reading::CoreBit, &[first, second @ ..0x80, ..]) if second & 0x3F > 0 => (first | 0x80, 2),
        (Reading::Plain | Reading::Wide, &[first, 1..0x80, ..]) => (first | 0x80, 2),
        _ => return None,
    };
    let payload_bytes = match SHAPES.get(usize::from(id)) {
        Some(shape) => usize::from(shape.filter(|shape| !shape.has_text)?.numbers) * NUMBER_BYTES,
        None => NUMBER_BYTES + usize::try_from(number(bytes.get(id_bytes..)?)?.0).ok()?,
    };
    Some(id_bytes + payload_bytes.saturating_add(NUMBER_BYTES))
}

/// Whether a start lies within the first `len` bytes: what seems to be a packet there was cut by it.
#[inline]
fn holds_start(reading: Reading, bytes: &[u8], len: usize) -> bool {
    len >= SYNC.len() && {
        // The last byte of every ten: one of them is in each ten zeros.
        let mut last = bytes.get(..len).unwrap_or(&[]).iter().skip(SYNC.len() - 1).step_by(SYNC.len());
        last.any(|&byte| byte == 0) && start_in(reading, bytes, len)
    }
}

#[cold]
fn start_in(reading: Reading, bytes: &[u8], len: usize) -> bool {
    let Some(at) = bytes.get(..len).and_then(|bytes| memchr::memmem::find(bytes, &SYNC)) else { return false };
    let end = at + bytes.get(at..).unwrap_or(&[]).iter().take_while(|&&byte| byte == 0).count();
    is_start(reading, bytes, end)
}

/// Whether a start packet and the configuration are at `at`. Neither can hold ten zeros itself.
fn is_start(reading: Reading, bytes: &[u8], at: usize) -> bool {
    let start = read_any(reading, bytes, at).filter(|packet| packet.id == id::TRACE_START);
    let init = start.and_then(|start| read_any(reading, bytes, at + usize::from(start.bytes)));
    init.is_some_and(|packet| packet.id == id::INIT)
}

/// Whether the start packet at `at` is one that the library has sent: with ten zeros before it, or the configuration after it. Damage makes
/// up others.
pub fn is_sent_start(reading: Reading, input: &[u8], at: usize) -> bool {
    input.get(..at).is_some_and(|before| before.ends_with(&SYNC)) || is_start(reading, input, at)
}

/// Where the ten zeros of a start are: a start packet and the configuration follow them.
pub fn starts(bytes: &[u8]) -> impl Iterator<Item = usize> + '_ {
    let mut from = 0;
    std::iter::from_fn(move || {
        let at = from + memchr::memmem::find(bytes.get(from..)?, &SYNC)?;
        // There may be more zeros before. Those that were found may be gone: bytes of a file may change.
        from = at + bytes.get(at..)?.iter().take_while(|&&byte| byte == 0).count().max(SYNC.len());
        Some(from)
    })
    .filter(move |&end| [Reading::Wide, Reading::CoreBit].into_iter().any(|reading| is_start(reading, bytes, end)))
    .map(|end| end - SYNC.len())
}

/// How packets follow each other in one region of an input.
#[derive(Clone, Debug, Default)]
pub struct Framing {
    reading: Reading,
    /// The last stretch without a believable position, and the position after it.
    unconfirmed: Cell<(usize, usize)>,
    /// The last believable position up to another one, which comes first.
    confirmed_before: Cell<(usize, usize)>,
}

impl Framing {
    /// The framing of a reading.
    #[must_use]
    pub fn new(reading: Reading) -> Framing {
        Framing { reading, ..Framing::default() }
    }

    /// The packet at `at`.
    #[inline]
    #[must_use]
    pub fn read(&self, input: &[u8], at: usize) -> Option<Packet> {
        read(self.reading, input, at)
    }

    /// Where reading continues after bytes at `at` that are not a packet.
    #[must_use]
    pub fn after_damage(&self, input: &[u8], at: usize) -> usize {
        let limit = at.saturating_add(MAX_PACKET_BYTES).min(input.len());
        let (from, to) = self.unconfirmed.get();
        let start = if (from..to).contains(&(at + 1)) { to } else { at + 1 };
        let found = (start..limit).find(|&position| self.is_confirmed(input, position)).unwrap_or(limit.max(start));
        self.unconfirmed.set((at + 1, found));
        found.min(limit)
    }

    /// The last believable position up to `end`, if it is near; 0 otherwise.
    fn confirmed_before(&self, input: &[u8], end: usize) -> usize {
        let (of, known) = self.confirmed_before.get();
        if of == end {
            return known;
        }
        let found = (1..=end).rev().take(CONFIRMED_NEAR_BYTES).find(|&position| self.is_confirmed(input, position)).unwrap_or(0);
        self.confirmed_before.set((end, found));
        found
    }

    /// Whether packets follow each other from a position.
    #[must_use]
    pub fn is_confirmed(&self, input: &[u8], mut at: usize) -> bool {
        let mut count = 0;
        while count < CONFIRMED_BY {
            if at >= input.len() {
                return count >= CONFIRMED_AT_END_BY;
            }
            match self.read(input, at) {
                Some(Packet { id: id::SYNC | id::HEADER | id::HELLO, .. }) => return true,
                Some(packet) => {
                    at += usize::from(packet.bytes);
                    // The header of a block proves nothing: any two equal bytes may be one.
                    count += usize::from(packet.id != id::BLOCK);
                }
                None => return false,
            }
        }
        true
    }

    /// Whether one of the next packets from a position cannot be read.
    #[must_use]
    pub fn is_before_damage(&self, input: &[u8], mut at: usize) -> bool {
        for _ in 0..CONFIRMED_BY {
            match read_any(self.reading, input, at) {
                _ if at >= input.len() => return false,
                Some(Packet { id: id::SYNC | id::HEADER | id::HELLO, .. }) => return false,
                Some(packet) => at += usize::from(packet.bytes),
                None => return true,
            }
        }
        false
    }
}

impl Grammar for Framing {
    const MAX_PACKET_BYTES: usize = MAX_PACKET_BYTES;
    const RESYNC_BYTES: usize = 1 << 20;

    fn sync(&self, input: &[u8], at: usize) -> usize {
        at.min(input.len())
    }

    #[inline]
    fn may_reach_beyond(&self, input: &[u8], at: usize, end: usize) -> bool {
        // Damage ends at the next believable position, and packets claim their length.
        at >= self.confirmed_before(input, end)
            || most_bytes(self.reading, input.get(at..).unwrap_or(&[])).is_none_or(|bytes| bytes > end - at)
    }

    #[inline]
    fn next(&self, input: &[u8], at: usize, mut each: impl FnMut(usize)) {
        match self.read(input, at) {
            Some(packet) => each(at + usize::from(packet.bytes)),
            None => each(self.after_damage(input, at).max(at + 1)),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig { cases: 20_000, ..ProptestConfig::default() })]

        #[test]
        fn short_packets_are_read_as_any(
            bytes in prop::collection::vec(prop_oneof![
                3 => 0u8..8, 3 => any::<u8>(), 2 => 1u8..0x40, 2 => 0x80u8.., 1 => Just(0u8), 1 => 28u8..32
            ], SHORT_WINDOW..40),
        ) {
            for reading in [Reading::Plain, Reading::CoreBit, Reading::Wide] {
                if let Some(packet) = bytes.first_chunk().and_then(|window| short(reading, window)) {
                    prop_assert_eq!(read_any(reading, &bytes, 0), Some(packet));
                }
            }
        }

        #[test]
        fn what_cannot_reach_beyond_a_position_does_not(
            bytes in prop::collection::vec(prop_oneof![
                4 => 0u8..24, 2 => any::<u8>(), 1 => 24u8..0x40, 1 => 0x80u8.., 1 => Just(b';'), 1 => Just(0u8)
            ], 2..200),
            end in any::<prop::sample::Index>(),
        ) {
            let end = 1 + end.index(bytes.len() - 1);
            for reading in [Reading::Plain, Reading::CoreBit, Reading::Wide] {
                let (framing, other) = (Framing::new(reading), Framing::new(reading));
                for at in (0..end).filter(|&at| !framing.may_reach_beyond(&bytes, at, end)) {
                    other.next(&bytes, at, |next| assert!(next <= end, "{at} {next} {end}"));
                }
            }
        }
    }
}
