//! Where messages end in a raw stream, and where to continue after damage.
//!
//! The length of a message follows from its length field; else from its checksum (the payload grows until it fits, first from the end
//! of its text on); else from its kind. The end of a build text, of raw data and of a catalog message without known format cannot be
//! found: such a stream needs lengths or checksums.
//!
//! After damage, and at the start of a part, reading continues at an *anchor*: a place from which several legal messages follow each
//! other, or a message whose checksum fits. Short forms have no redundancy, so they do not count. No message contains the start of
//! another one whose checksum fits: a long message that does is damage.
//!
//! The end of a catalog message may depend on facts that are not known: the size of floats, and the client if clients differ by
//! builds and no build came yet. Then each possibility is tried on the next messages, and the one with most legal messages is used.
//!
//! All decisions depend on the bytes from a place on only, and on a bounded number of them, so that damaged input takes about as long
//! as other input. Searches for checksums that overlap share their work ([`super::checksums`]). A printf format that only its own text
//! delimits has at most [`FORMAT_BYTES`]. The search for an anchor tries every place; there, texts, formats, arguments and payloads
//! have at most [`ANCHOR_PAYLOAD_BYTES`], and lengths that are costly to find are remembered ([`Memo`]).

use std::cell::{Cell, RefCell};
use std::cmp::Reverse;

use super::checksums::Searches;
use crate::format::syst::collateral::{Collateral, Sender};
use crate::format::syst::record::{CLOCK_BYTES, Fields, Header, Kind, Malformed, Pointers, Reader};
use crate::format::syst::scan::Builds;
use crate::printf::{Format, Packing};

/// The largest payload, in bytes.
pub(super) const PAYLOAD_LIMIT: usize = 0xFFFF;

/// How many legal messages must follow each other at an anchor.
const ANCHOR_MESSAGES: usize = 3;

/// How many messages are read for an anchor, short forms included.
const ANCHOR_STEPS: usize = 8;

/// The longest payload whose end is searched for while an anchor is searched for, in bytes. The library's buffer for a format and its
/// arguments has this size.
const ANCHOR_PAYLOAD_BYTES: usize = 1024;

/// The longest printf format in a message with neither length nor checksum, in bytes. The library's buffer for a format and its
/// arguments has 1024 bytes, unless the target's configuration changes it.
const FORMAT_BYTES: usize = 4096;

/// The longest text of a message about an invalid format, in bytes. A longer format has no NUL there.
const INVALID_FORMAT_BYTES: usize = 32;

/// The longest message without a fitting checksum that is believed at once, in bytes. A longer one must not contain the start of a
/// message whose checksum fits, nor messages that follow each other if none follow it.
const UNPROVEN_BYTES: usize = 256;

/// How many possible clients are tried.
const CLIENTS_LIMIT: usize = 16;

/// How many bytes after a place the decision about it may depend on: the messages of an anchor, and those that decide the length of
/// the last one.
pub const REACH_BYTES: usize = 2 * ANCHOR_BYTES + 4 * (PAYLOAD_LIMIT + 64);

/// The length of an anchor's messages except the last one, in bytes.
const ANCHOR_BYTES: usize = 2 * PAYLOAD_LIMIT;

/// Why the length of a message is not known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoLength {
    /// It is not a legal message.
    Illegal,
    /// The input ends within it.
    TooShort,
    /// Its end cannot be found.
    Undelimited,
}

/// The assumptions about catalog messages without length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reading {
    /// Those after which most legal messages follow.
    MostLegal,
    /// These.
    With(Assumed),
}

/// Facts that catalog messages do not contain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Assumed {
    /// The client, one of the possible ones. If it is not possible for a message, the first possible one.
    client: u32,
    /// Floating-point arguments on 32-bit targets have 4 bytes instead of 8: some C++ logging libraries send `float`.
    short_floats: bool,
}

/// A view of a raw stream.
#[derive(Debug)]
pub struct Stream<'a> {
    /// The bytes from `base` on, up to the end of the input or at least [`REACH_BYTES`] after the part.
    bytes: &'a [u8],
    /// Their offset in the input.
    base: usize,
    /// The formats of catalog messages.
    collateral: &'a Collateral,
    /// The builds of the input, once they are known.
    builds: Option<&'a Builds>,
    searches: Searches<'a>,
    memo: Memo,
    proofs: Proofs,
}

/// The bytes at a place where a message should begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// A message of this many bytes.
    Message(usize),
    /// A message of this many bytes whose checksum fits.
    Proven(usize),
    /// Words of zero, of this many bytes.
    Padding(usize),
    /// The start of a message; the input ends within it.
    Truncated(usize),
    /// No message.
    Lost(NoLength),
}

impl<'a> Stream<'a> {
    /// The bytes at `base` in the input, up to its end or at least [`REACH_BYTES`] after the part.
    #[must_use]
    pub fn new(bytes: &'a [u8], base: usize, collateral: &'a Collateral, builds: Option<&'a Builds>) -> Stream<'a> {
        let builds = builds.filter(|_| collateral.has_builds());
        Stream {
            bytes,
            base,
            collateral,
            builds,
            searches: Searches::new(bytes),
            memo: Memo::default(),
            proofs: Proofs::default(),
        }
    }

    /// The offset of its first byte in the input.
    #[must_use]
    pub fn base(&self) -> usize {
        self.base
    }

    /// The offset of its end.
    #[must_use]
    pub fn end(&self) -> usize {
        self.base + self.bytes.len()
    }

    /// The bytes from a place of the input on.
    #[inline]
    fn from(&self, at: usize) -> &'a [u8] {
        self.bytes.get(at.saturating_sub(self.base)..).unwrap_or(&[])
    }

    /// The bytes of a message.
    #[inline]
    #[must_use]
    pub fn frame(&self, at: usize, len: usize) -> &'a [u8] {
        let rest = self.from(at);
        rest.get(..len).unwrap_or(rest)
    }

    /// Reads the place where a message should begin.
    #[inline]
    #[must_use]
    pub fn step(&self, at: usize) -> Step {
        // The usual case of streams with lengths.
        match unchecked_length(self.from(at)) {
            Some(len) if len <= UNPROVEN_BYTES => Step::Message(len),
            _ => self.any_step(at),
        }
    }

    #[inline(never)]
    fn any_step(&self, at: usize) -> Step {
        let rest = self.from(at);
        let Some(header) = Header::of(rest) else {
            // Less than a word at the end: padding if it is zero.
            return if rest.iter().all(|&byte| byte == 0) { Step::Padding(rest.len()) } else { Step::Truncated(rest.len()) };
        };
        if header == Header(0) {
            let words = rest.as_chunks::<4>().0.iter().take(PAYLOAD_LIMIT / 4);
            return Step::Padding(4 * words.take_while(|word| **word == [0; 4]).count());
        }
        match self.length(at, PAYLOAD_LIMIT) {
            Ok((len, true)) => Step::Proven(len),
            Ok((len, false)) => {
                let is_short = !header.is_full();
                let is_doubtful = !is_short && (len > UNPROVEN_BYTES || header.has(Header::CHECKSUM));
                if is_doubtful && (self.has_proven(at + 1, at + len) || self.swallows(header, at, len)) {
                    return Step::Lost(NoLength::Illegal);
                }
                // A message that cannot be checked, or whose checksum is wrong, must be followed by a legal one.
                if (!is_short && !header.has(Header::CHECKSUM)) || self.is_followed(at + len, !is_short) {
                    Step::Message(len)
                } else {
                    Step::Lost(NoLength::Illegal)
                }
            }
            Err(NoLength::TooShort) if rest.len() < PAYLOAD_LIMIT && !(at + 1..at + rest.len()).any(|at| self.is_anchor(at)) => {
                Step::Truncated(rest.len())
            }
            Err(reason) => Step::Lost(reason),
        }
    }

    /// Whether a message without checksum contains messages that follow each other, and ends within one: its length is damaged.
    fn swallows(&self, header: Header, at: usize, len: usize) -> bool {
        let ends_well = || self.from(at + len).is_empty() || self.is_anchor(at + len);
        !header.has(Header::CHECKSUM) && !ends_well() && self.find_anchor(at + 1, at + len).is_some()
    }

    /// Whether legal messages, or the end of the input, follow at a place. `is_strict`: they must be whole, and their checksums must fit.
    fn is_followed(&self, mut at: usize, is_strict: bool) -> bool {
        for _ in 0..2 {
            let rest = self.from(at);
            // The end of the input is fine.
            let Some(header) = Header::of(rest) else { return rest.is_empty() || !is_strict };
            if header == Header(0) {
                return !is_strict;
            }
            match self.length(at, PAYLOAD_LIMIT) {
                Ok((_, true)) => return true,
                Ok((len, false)) => {
                    let is_short = header.kind().is_ok_and(Kind::is_short_form);
                    if is_strict && !is_short {
                        return !header.has(Header::CHECKSUM);
                    }
                    at += len;
                }
                Err(NoLength::TooShort | NoLength::Undelimited) => return !is_strict,
                Err(NoLength::Illegal) => return false,
            }
        }
        !is_strict
    }

    /// Whether decoding may begin here without the bytes before.
    #[inline]
    #[must_use]
    pub fn is_anchor(&self, at: usize) -> bool {
        Header::of(self.from(at)).is_some_and(Header::is_full) && self.chain(at).is_some_and(|end| !self.has_proven(at + 1, end))
    }

    /// Whether a message whose checksum fits begins at one of these places.
    fn has_proven(&self, from: usize, to: usize) -> bool {
        self.proofs.any(from, to, |at| {
            self.searches.count_work(1);
            Header::of(self.from(at)).is_some_and(|header| header.has(Header::CHECKSUM) && header.is_full())
                && matches!(self.length(at, ANCHOR_PAYLOAD_BYTES), Ok((_, true)))
        })
    }

    /// Where the messages end that make a place an anchor, if it is one: up to the first one whose checksum fits.
    fn chain(&self, start: usize) -> Option<usize> {
        let mut at = start;
        let mut legal = 0;
        for _ in 0..ANCHOR_STEPS {
            let Some(header) = Header::of(self.from(at)).filter(|_| at - start <= ANCHOR_BYTES) else { break };
            if at != start && header == Header(0) {
                at += 4;
                continue;
            }
            match self.length(at, ANCHOR_PAYLOAD_BYTES) {
                Ok((_, true)) => return Some(at),
                Ok((len, false)) => {
                    if header.kind().is_ok_and(Kind::is_short_form) {
                        if at == start {
                            return None;
                        }
                    } else if header.has(Header::CHECKSUM) {
                        // Its checksum is wrong.
                        return None;
                    } else {
                        legal += 1;
                        if legal >= ANCHOR_MESSAGES {
                            return Some(at + len);
                        }
                    }
                    at += len;
                }
                Err(NoLength::TooShort) => break,
                // Its header is legal, though its end is not known.
                Err(NoLength::Undelimited) => return (legal + 1 >= ANCHOR_MESSAGES).then_some(at),
                Err(NoLength::Illegal) => return None,
            }
        }
        (legal >= 2).then_some(at)
    }

    /// The bytes inspected so far.
    #[cfg(test)]
    pub(super) fn work(&self) -> u64 {
        self.searches.work()
    }

    /// The first anchor from `from` on, before `to`.
    #[must_use]
    pub fn find_anchor(&self, from: usize, to: usize) -> Option<usize> {
        (from..to).find(|&at| self.is_anchor(at))
    }

    /// The length of the message at a place.
    pub fn length(&self, at: usize, payload_limit: usize) -> Length {
        self.length_with(at, payload_limit, Reading::MostLegal)
    }

    fn length_with(&self, at: usize, payload_limit: usize, reading: Reading) -> Length {
        let rest = self.from(at);
        if let Some(header) = Header::of(rest)
            && header.has(Header::LENGTH)
            && header.is_full()
        {
            return self.length_from_field(header, at, rest);
        }
        let mut reader = Reader(rest);
        let fields = Fields::read(&mut reader).map_err(|reason| match reason {
            Malformed::TooShort | Malformed::Empty => NoLength::TooShort,
            _ => NoLength::Illegal,
        })?;
        let fields_bytes = rest.len() - reader.0.len();
        if let Some(len) = fields.kind.short_form_bytes() {
            return if len <= rest.len() { Ok((len, false)) } else { Err(NoLength::TooShort) };
        }
        if fields.header.has(Header::CHECKSUM) {
            return self.length_by_checksum(fields.kind, at, fields_bytes, payload_limit).map(|len| (len, true));
        }
        let is_costly = matches!(fields.kind, Kind::Printf(_) | Kind::Catalog { .. }) && payload_limit == ANCHOR_PAYLOAD_BYTES;
        if is_costly && let Some(known) = self.memo.get(at, reading) {
            return known;
        }
        let payload = self.payload_by_kind(&fields, at, at + fields_bytes, reader.0, payload_limit, reading);
        let found = payload.map(|payload| (fields_bytes + payload, false));
        if is_costly {
            self.memo.insert(at, reading, found);
        }
        found
    }

    /// The length of a message with a length field. Other fields are not read.
    #[inline]
    fn length_from_field(&self, header: Header, at: usize, rest: &[u8]) -> Length {
        let mut fields_bytes = if header.has(Header::GUID) { 4 + 16 } else { 4 };
        if header.has(Header::LOCATION) {
            fields_bytes += match rest.get(fields_bytes) {
                Some(0 | 2) => 5,
                Some(1 | 3) => 9,
                Some(_) => return Err(NoLength::Illegal),
                None => return Err(NoLength::TooShort),
            };
        }
        let length = rest.get(fields_bytes..).and_then(|rest| rest.first_chunk::<2>()).ok_or(NoLength::TooShort)?;
        let has_crc = header.has(Header::CHECKSUM);
        fields_bytes += if header.has(Header::TIMESTAMP) { 2 + 8 } else { 2 };
        let len = fields_bytes + usize::from(u16::from_le_bytes(*length)) + if has_crc { 4 } else { 0 };
        if len > rest.len() {
            return Err(NoLength::TooShort);
        }
        Ok((len, has_crc && self.searches.fits(at - self.base, len)))
    }

    /// The length of a message that ends where its checksum fits: as a rule at the end of its text or soon after it, else at the first
    /// place.
    fn length_by_checksum(&self, kind: Kind, at: usize, fields_bytes: usize, payload_limit: usize) -> Result<usize, NoLength> {
        let rest = self.from(at);
        let payload = rest.get(fields_bytes..).unwrap_or(&[]);
        let start = at - self.base;
        let longest = fields_bytes + payload_limit;
        let ended = self.end_of_text(kind, payload, payload_limit).and_then(|text| {
            let nearby = text.saturating_add(NEARBY_BYTES).min(payload_limit);
            self.searches.find(start, fields_bytes + text, fields_bytes + nearby)
        });
        let found = ended.or_else(|| self.searches.find(start, fields_bytes + least_payload(kind), longest));
        found.ok_or(if rest.len() < longest + 4 { NoLength::TooShort } else { NoLength::Illegal })
    }

    /// The end of the text at the start of a payload, if its kind has one. Arguments may follow.
    fn end_of_text(&self, kind: Kind, payload: &[u8], payload_limit: usize) -> Option<usize> {
        match kind {
            Kind::Generic | Kind::FunctionEnter | Kind::FunctionExit | Kind::InvalidParam | Kind::Assert | Kind::Printf(_) => {
                self.find_nul(payload, payload_limit).map(|end| end + 1)
            }
            _ => None,
        }
    }

    /// Where the first NUL is, within a limit.
    fn find_nul(&self, bytes: &[u8], limit: usize) -> Option<usize> {
        let bytes = bytes.get(..limit).unwrap_or(bytes);
        let found = memchr::memchr(0, bytes);
        self.searches.count_work(found.unwrap_or(bytes.len()) / SCANNED_PER_SEARCHED);
        found
    }

    /// The number of legal messages from a place on under an assumption, at most [`ANCHOR_MESSAGES`]; that many if the input ends
    /// there. Of two assumptions with the same number, the one with fewer words of zero wins, because such words are arguments as a
    /// rule. Short forms do not count, because they are always legal.
    fn legal_run(&self, start: usize, assumed: Assumed) -> (usize, Reverse<usize>) {
        let mut at = start;
        let (mut legal, mut zeros) = (0, 0);
        for _ in 0..ANCHOR_STEPS {
            let rest = self.from(at);
            if rest.is_empty() || legal == ANCHOR_MESSAGES || at - start > ANCHOR_BYTES {
                return (ANCHOR_MESSAGES, Reverse(zeros));
            }
            let Ok((len, _)) = self.length_with(at, ANCHOR_PAYLOAD_BYTES, Reading::With(assumed)) else { break };
            let header = Header::of(rest);
            legal += usize::from(header.is_some_and(Header::is_full));
            zeros += usize::from(header == Some(Header(0)));
            at += len;
        }
        (legal, Reverse(zeros))
    }

    /// The length of the payload `payload` at a place, of a message that has neither length nor checksum.
    fn payload_by_kind(
        &self,
        fields: &Fields<'_>,
        start: usize,
        at: usize,
        payload: &[u8],
        payload_limit: usize,
        reading: Reading,
    ) -> Result<usize, NoLength> {
        let payload = payload.get(..payload_limit).unwrap_or(payload);
        // A payload longer than the limit may be legal all the same.
        let cut = if payload.len() < payload_limit { NoLength::TooShort } else { NoLength::Undelimited };
        match fields.kind {
            Kind::ClockSync if payload.len() >= CLOCK_BYTES => Ok(CLOCK_BYTES),
            Kind::ClockSync => Err(cut),
            // The library cuts the format that it could not read.
            Kind::InvalidParam => match self.find_nul(payload, INVALID_FORMAT_BYTES) {
                Some(end) => Ok(end + 1),
                None if payload.len() >= INVALID_FORMAT_BYTES => Ok(INVALID_FORMAT_BYTES),
                None => Err(cut),
            },
            Kind::Generic | Kind::FunctionEnter | Kind::FunctionExit | Kind::Assert => {
                self.find_nul(payload, payload_limit).map(|end| end + 1).ok_or(NoLength::Undelimited)
            }
            Kind::Printf(pointers) => {
                let end = self.find_nul(payload, FORMAT_BYTES).ok_or(NoLength::Undelimited)?;
                let (text, arguments) = payload.split_at(end);
                let arguments = arguments.get(1..).unwrap_or(&[]);
                self.searches.count_work(FORMATTED_PER_SEARCHED * end);
                let measured = Format::new(text).measure(Packing::typed(pointers), arguments).ok_or(cut)?;
                Ok(end + 1 + measured)
            }
            Kind::Catalog { wide_id, pointers } => {
                let mut reader = Reader(payload);
                let id = if wide_id { reader.u64() } else { reader.u32().map(u64::from) }.ok_or(NoLength::TooShort)?;
                let id_bytes = payload.len() - reader.0.len();
                let readings = || self.readings(fields, start, (wide_id, id), pointers, reader.0);
                let mut all = readings();
                let (_, first) = all.next().ok_or(NoLength::Undelimited)?;
                let arguments = match reading {
                    // The usual case: all agree.
                    _ if all.all(|(_, bytes)| bytes == first) => first,
                    Reading::With(assumed) => {
                        let unlike = |of: &Assumed| (of.client != assumed.client, of.short_floats != assumed.short_floats);
                        readings().min_by_key(|(of, _)| unlike(of)).and_then(|(_, bytes)| bytes)
                    }
                    Reading::MostLegal => {
                        let (mut best, mut best_run) = (first, None);
                        for (assumed, bytes) in readings() {
                            let run = bytes.map(|bytes| self.legal_run(at + id_bytes + bytes, assumed));
                            let run = run.unwrap_or((0, Reverse(0)));
                            if best_run.is_none_or(|best| run > best) {
                                (best, best_run) = (bytes, Some(run));
                            }
                        }
                        best
                    }
                };
                arguments.map(|bytes| id_bytes + bytes).ok_or(cut)
            }
            _ => Err(NoLength::Undelimited),
        }
    }

    /// The possible assumptions about a catalog message, and the size of its arguments under each, in bytes; `None` if that is more than
    /// there are.
    fn readings(
        &self,
        fields: &Fields<'_>,
        start: usize,
        (wide_id, id): (bool, u64),
        pointers: Pointers,
        arguments: &'a [u8],
    ) -> impl Iterator<Item = (Assumed, Option<usize>)> {
        let sender = Sender::of(fields);
        let format_of = move |client: u32| {
            let entry = self.collateral.entry(self.collateral.get(client)?.catalog(wide_id, id)?)?;
            Some((client, &entry.format))
        };
        // The client of the last build; without one, each client of some build.
        let build = self.builds.and_then(|builds| builds.last_of(sender, start as u64));
        let known = build.and_then(|build| self.collateral.client(sender, None, Some(build)));
        let known = known.and_then(|found| format_of(found.client));
        let possible = || self.collateral.possible(sender).filter_map(format_of).take(CLIENTS_LIMIT);
        // An id that these clients lack may be in a later one.
        let is_unknown = known.is_none() && self.collateral.clients.len() > 1 && possible().next().is_none();
        let later = if is_unknown { self.collateral.all(sender, None, build).find_map(format_of) } else { None };
        let possible = known.is_none().then(possible);
        known.or(later).into_iter().chain(possible.into_iter().flatten()).flat_map(move |(client, format)| {
            let measure = |packing| format.measure(packing, arguments);
            let typed = (Assumed { client, short_floats: false }, measure(Packing::typed(pointers)));
            let may_be_short = pointers == Pointers::Bits32 && format.has_floats();
            let short = if may_be_short { measure(Packing::Floats32) } else { None };
            let short = short.map(|bytes| (Assumed { client, short_floats: true }, Some(bytes)));
            [Some(typed), short].into_iter().flatten()
        })
    }
}

/// The length of a message with a length field and without checksum, if it is whole.
#[inline]
fn unchecked_length(rest: &[u8]) -> Option<usize> {
    let header = Header::of(rest)?;
    if !header.has(Header::LENGTH) || header.has(Header::CHECKSUM | Header::LOCATION) || !header.is_full() {
        return None;
    }
    let at = if header.has(Header::GUID) { 4 + 16 } else { 4 };
    let length = rest.get(at..at + 2)?.first_chunk()?;
    let fields_bytes = at + if header.has(Header::TIMESTAMP) { 2 + 8 } else { 2 };
    let len = fields_bytes + usize::from(u16::from_le_bytes(*length));
    (len <= rest.len()).then_some(len)
}

/// How many bytes are searched for a NUL in the time of searching one for a checksum.
const SCANNED_PER_SEARCHED: usize = 32;

/// How many bytes are searched for a checksum in the time of compiling one byte of a format.
const FORMATTED_PER_SEARCHED: usize = 2;

/// The fewest bytes that a payload of this kind has.
fn least_payload(kind: Kind) -> usize {
    match kind {
        Kind::BuildLong => 8,
        Kind::ClockSync => CLOCK_BYTES,
        Kind::Catalog { wide_id, .. } => 4 + 4 * usize::from(wide_id),
        Kind::Sbd(_) => 4,
        _ => 0,
    }
}

/// How many bytes after a payload's text its checksum is searched for first. Arguments may follow the text.
const NEARBY_BYTES: usize = 64;

/// The length of a message, if it has one, and whether a checksum proves it.
pub type Length = Result<(usize, bool), NoLength>;

/// Lengths found while an anchor was searched for. Chains from many places visit the same messages.
#[derive(Debug, Default)]
struct Memo(RefCell<Vec<Option<(usize, Reading, Length)>>>);

impl Memo {
    /// The base-2 logarithm of the number of lengths kept.
    const BITS: u32 = 10;

    fn slot(at: usize) -> usize {
        ((at as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (u64::BITS - Memo::BITS)) as usize
    }

    fn get(&self, at: usize, reading: Reading) -> Option<Length> {
        let memo = self.0.borrow();
        let (known_at, known_reading, length) = (*memo.get(Memo::slot(at))?)?;
        (known_at == at && known_reading == reading).then_some(length)
    }

    fn insert(&self, at: usize, reading: Reading, length: Length) {
        let mut memo = self.0.borrow_mut();
        memo.resize(1 << Memo::BITS, None);
        if let Some(slot) = memo.get_mut(Memo::slot(at)) {
            *slot = Some((at, reading, length));
        }
    }
}

/// Places of messages whose checksums fit, found once for stretches that overlap.
#[derive(Debug, Default)]
struct Proofs(Cell<Proof>);

/// The first such place between two places.
#[derive(Clone, Copy, Debug, Default)]
struct Proof {
    from: usize,
    to: usize,
    first: Option<usize>,
}

impl Proofs {
    /// Whether `is_proven` holds for one of these places. It must always be the same function.
    fn any(&self, from: usize, to: usize, is_proven: impl Fn(usize) -> bool) -> bool {
        let mut known = self.0.get();
        if !(known.from..=known.to).contains(&from) || known.first.is_some_and(|first| first < from) {
            known = Proof { from, to: from, first: None };
        }
        if known.first.is_none() && known.to < to {
            known.first = (known.to..to).find(|&at| is_proven(at));
            known.to = known.first.unwrap_or(to);
        }
        self.0.set(known);
        known.first.is_some_and(|first| first < to)
    }
}
