//! The raw transport: messages, one after the other, with nothing between them.
//!
//! How long a message is follows from its length field, else from its checksum (the payload grows until it fits; first from the end of
//! its text on, if it begins with one), else from its kind where that tells. Build texts, raw data and unknown catalog formats tell
//! nothing: such a stream needs lengths or checksums.
//!
//! After damage, and where a part begins, a place to go on is looked for: an *anchor*, from which several legal messages follow each
//! other, or one whose checksum fits. Short forms have nothing that could be checked and count for nothing there. And where a message
//! whose checksum fits begins, no other one is under way: what was taken for the head of a long message there is damage.
//!
//! Where a catalog message ends may depend on what is not known: the size of floats, and, where clients differ by their builds and none
//! was told yet, the client. Then each way of reading is tried on the messages that follow, and that counts which finds most of them
//! legal.
//!
//! All this is decided by the bytes from a place on alone, and within bounds, so that no input takes much more time than its length is
//! worth, however it is damaged. Searches for checksums that overlap share what they have in common ([`sums`]). A printf format that
//! nothing but its own text delimits is one of at most [`FORMAT_BYTES`]. While an anchor is looked for, which is tried at every place,
//! texts, formats, arguments and payloads that have to be searched for their ends are believed up to [`ANCHOR_PAYLOAD_BYTES`], and
//! how long a message is there that nothing proves is found out once ([`Memo`]).

mod memo;
mod sums;

use std::cmp::Reverse;

use self::memo::{Memo, Proofs};
use self::sums::Searches;
use super::collateral::{Collateral, Sender};
use super::printf::{Format, Packing};
use super::record::{Fields, Header, Kind, Pointers, Reader};
use super::scan::Builds;

/// The largest payload, in bytes.
const PAYLOAD_LIMIT: usize = 0xFFFF;

/// How many legal messages must follow each other for an anchor.
const ANCHOR_MESSAGES: usize = 3;

/// How many messages are looked at for an anchor; short forms are among them.
const ANCHOR_STEPS: usize = 8;

/// While an anchor is looked for, ends of payloads are searched for up to here, in bytes: every place is tried. The library's buffer for a
/// format and its arguments holds as many.
const ANCHOR_PAYLOAD_BYTES: usize = 1024;

/// The longest printf format that is believed where neither a length nor a checksum tells where the message ends, in bytes. The
/// library's buffer for a format and its arguments holds 1024, unless the target's configuration says otherwise.
const FORMAT_BYTES: usize = 4096;

/// Messages that nothing proves are believed up to this length, in bytes; in longer ones none must begin whose checksum fits.
const UNPROVEN_BYTES: usize = 256;

/// How many clients that may be meant are tried.
const CLIENTS_LIMIT: usize = 16;

/// How far behind a place the decision about it may look, in bytes.
///
/// That is an anchor's last message, and what follows it, if that decides about its length.
pub const REACH_BYTES: usize = 2 * ANCHOR_BYTES + 4 * (PAYLOAD_LIMIT + 64);

/// An anchor's messages lie within this, in bytes, but for the last one.
const ANCHOR_BYTES: usize = 2 * PAYLOAD_LIMIT;

/// Why a message does not tell its length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoLength {
    /// It is none.
    Illegal,
    /// The input ends before it does.
    TooShort,
    /// Nothing tells where it ends.
    Undelimited,
}

/// How catalog messages without length are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reading {
    /// With whatever is followed by most legal messages.
    ByWhatFollows,
    /// With these.
    With(Assumed),
}

/// What no message tells about catalog messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Assumed {
    /// Of the clients that may be meant, this one; the first one where it cannot be.
    client: u32,
    /// Floating-point arguments on 32-bit targets have 4 bytes instead of 8: some C++ logging libraries send `float`.
    short_floats: bool,
}

/// A view of a raw stream.
#[derive(Debug)]
pub struct Stream<'a> {
    /// The bytes from `base` on; they reach to the end of the input, or [`REACH_BYTES`] beyond what is asked for.
    bytes: &'a [u8],
    /// Where they stand in the input.
    base: usize,
    /// The formats of catalog messages.
    collateral: &'a Collateral,
    /// The builds that were told, once they are known.
    builds: Option<&'a Builds>,
    searches: Searches<'a>,
    memo: Memo,
    proofs: Proofs,
}

/// What stands at a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// A message of this many bytes.
    Message(usize),
    /// A message of this many bytes whose checksum fits.
    Proven(usize),
    /// Words of zero: this many bytes.
    Padding(usize),
    /// The start of a message that the input ends within.
    Truncated(usize),
    /// Neither.
    Lost(NoLength),
}

impl<'a> Stream<'a> {
    /// Bytes that stand at `base` in the input; they reach to its end, or [`REACH_BYTES`] beyond what is asked for.
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

    /// Where its bytes begin in the input.
    #[must_use]
    pub fn base(&self) -> usize {
        self.base
    }

    /// Where they end.
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

    /// What stands at a place where a message should begin.
    #[inline]
    #[must_use]
    pub fn step(&self, at: usize) -> Step {
        // Nearly all messages of streams that tell lengths are like this: no more is to be found out about them.
        match plain_length(self.from(at)) {
            Some(len) if len <= UNPROVEN_BYTES => Step::Message(len),
            _ => self.any_step(at),
        }
    }

    #[inline(never)]
    fn any_step(&self, at: usize) -> Step {
        let rest = self.from(at);
        let Some(word) = rest.first_chunk::<4>() else {
            // Less than a word at the end: padding if it is zero.
            return if rest.iter().all(|&byte| byte == 0) { Step::Padding(rest.len()) } else { Step::Truncated(rest.len()) };
        };
        if *word == [0; 4] {
            let words = rest.as_chunks::<4>().0.iter().take(PAYLOAD_LIMIT / 4);
            return Step::Padding(4 * words.take_while(|word| **word == [0; 4]).count());
        }
        match self.length(at, PAYLOAD_LIMIT) {
            Ok((len, true)) => Step::Proven(len),
            Ok((len, false)) => {
                let header = Header(u32::from_le_bytes(*word));
                let is_short = !header.is_full();
                let is_doubtful = !is_short && (len > UNPROVEN_BYTES || header.has(Header::CHECKSUM));
                if is_doubtful && self.has_proven(at + 1, at + len) {
                    return Step::Lost(NoLength::Illegal);
                }
                // What cannot be checked, or is wrong, must at least be followed by something that can be.
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

    /// Whether legal messages stand behind a place, or nothing at all. `is_strict`: what has a checksum there must fit it, and all must
    /// be whole.
    fn is_followed(&self, mut at: usize, is_strict: bool) -> bool {
        for _ in 0..2 {
            let rest = self.from(at);
            // The end of the input is none that is wrong.
            let Some(word) = rest.first_chunk::<4>() else { return rest.is_empty() || !is_strict };
            if *word == [0; 4] {
                return !is_strict;
            }
            match self.length(at, ANCHOR_PAYLOAD_BYTES) {
                Ok((_, true)) => return true,
                Ok((len, false)) => {
                    let header = Header(u32::from_le_bytes(*word));
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

    /// Whether decoding may begin here without having seen what is before.
    #[inline]
    #[must_use]
    pub fn is_anchor(&self, at: usize) -> bool {
        let Some(word) = self.from(at).first_chunk::<4>() else { return false };
        match Header(u32::from_le_bytes(*word)).kind() {
            Ok(kind) if !kind.is_short_form() => self.chain(at).is_some_and(|end| !self.has_proven(at + 1, end)),
            _ => false,
        }
    }

    /// Whether a message whose checksum fits begins at one of these places.
    fn has_proven(&self, from: usize, to: usize) -> bool {
        self.proofs.any(from, to, |at| {
            self.searches.looks_at(1);
            let header = self.from(at).first_chunk().map(|word| Header(u32::from_le_bytes(*word)));
            header.is_some_and(|header| header.has(Header::CHECKSUM) && header.is_full())
                && matches!(self.length(at, ANCHOR_PAYLOAD_BYTES), Ok((_, true)))
        })
    }

    /// Where the messages end that make a place an anchor, if it is one: up to the first one whose checksum fits.
    fn chain(&self, start: usize) -> Option<usize> {
        let mut at = start;
        let mut legal = 0;
        for _ in 0..ANCHOR_STEPS {
            let rest = self.from(at);
            if rest.is_empty() || at - start > ANCHOR_BYTES {
                return (legal >= 2).then_some(at);
            }
            if at != start && rest.get(..4) == Some(&[0; 4]) {
                at += 4;
                continue;
            }
            match self.length(at, ANCHOR_PAYLOAD_BYTES) {
                Ok((_, true)) => return Some(at),
                Ok((len, false)) => {
                    let word = rest.first_chunk::<4>().map_or(0, |word| u32::from_le_bytes(*word));
                    let header = Header(word);
                    if header.kind().is_ok_and(Kind::is_short_form) {
                        if at == start {
                            return None;
                        }
                    } else if header.has(Header::CHECKSUM) {
                        // It has one, and it is wrong.
                        return None;
                    } else {
                        legal += 1;
                        if legal >= ANCHOR_MESSAGES {
                            return Some(at + len);
                        }
                    }
                    at += len;
                }
                Err(NoLength::TooShort) => return (legal >= 2).then_some(at),
                // A legal header as well, though nothing tells what is behind it.
                Err(NoLength::Undelimited) => return (legal + 1 >= ANCHOR_MESSAGES).then_some(at),
                Err(NoLength::Illegal) => return None,
            }
        }
        (legal >= 2).then_some(at)
    }

    /// The first anchor from `from` on, before `to`.
    #[must_use]
    pub fn find_anchor(&self, from: usize, to: usize) -> Option<usize> {
        (from..to).find(|&at| self.is_anchor(at))
    }

    /// The length of the message at a place, and whether a checksum proves it.
    ///
    /// # Errors
    /// When there is none, or nothing tells.
    pub fn length(&self, at: usize, payload_limit: usize) -> Result<(usize, bool), NoLength> {
        self.length_with(at, payload_limit, Reading::ByWhatFollows)
    }

    fn length_with(&self, at: usize, payload_limit: usize, reading: Reading) -> Result<(usize, bool), NoLength> {
        let rest = self.from(at);
        if let Some(word) = rest.first_chunk::<4>() {
            let header = Header(u32::from_le_bytes(*word));
            if header.has(Header::LENGTH) && header.is_full() {
                return self.told_length(header, at, rest);
            }
        }
        let mut reader = Reader(rest);
        let fields = Fields::read(&mut reader).map_err(|reason| match reason {
            super::record::Malformed::TooShort | super::record::Malformed::Empty => NoLength::TooShort,
            _ => NoLength::Illegal,
        })?;
        let fields_bytes = rest.len() - reader.0.len();
        if let Some(len) = fields.kind.short_form_bytes() {
            return if len <= rest.len() { Ok((len, false)) } else { Err(NoLength::TooShort) };
        }
        if fields.header.has(Header::CHECKSUM) {
            return self.by_checksum(fields.kind, at, fields_bytes, payload_limit).map(|len| (len, true));
        }
        let is_costly = matches!(fields.kind, Kind::Printf(_) | Kind::Catalog { .. }) && payload_limit == ANCHOR_PAYLOAD_BYTES;
        if is_costly && let Some(known) = self.memo.get(at, reading) {
            return known;
        }
        let payload = self.by_kind(&fields, at, at + fields_bytes, reader.0, payload_limit, reading);
        let found = payload.map(|payload| (fields_bytes + payload, false));
        if is_costly {
            self.memo.put(at, reading, found);
        }
        found
    }

    /// The length of a message that tells it, and whether a checksum proves it. Nothing else of the message is read.
    #[inline]
    fn told_length(&self, header: Header, at: usize, rest: &[u8]) -> Result<(usize, bool), NoLength> {
        let mut fields_bytes = if header.has(Header::GUID) { 4 + 16 } else { 4 };
        if header.has(Header::LOCATION) {
            fields_bytes += match rest.get(fields_bytes) {
                Some(0 | 2) => 5,
                Some(1 | 3) => 9,
                Some(_) => return Err(NoLength::Illegal),
                None => return Err(NoLength::TooShort),
            };
        }
        let told = rest.get(fields_bytes..).and_then(|rest| rest.first_chunk::<2>()).ok_or(NoLength::TooShort)?;
        let has_crc = header.has(Header::CHECKSUM);
        fields_bytes += if header.has(Header::TIMESTAMP) { 2 + 8 } else { 2 };
        let len = fields_bytes + usize::from(u16::from_le_bytes(*told)) + if has_crc { 4 } else { 0 };
        if len > rest.len() {
            return Err(NoLength::TooShort);
        }
        Ok((len, has_crc && self.searches.fits(at - self.base, len)))
    }

    /// The length of the message at a place that ends where its checksum fits: as a rule where its text says, or soon behind it, else
    /// where it first does.
    fn by_checksum(&self, kind: Kind, at: usize, fields_bytes: usize, payload_limit: usize) -> Result<usize, NoLength> {
        let rest = self.from(at);
        let payload = rest.get(fields_bytes..).unwrap_or(&[]);
        let start = at - self.base;
        let longest = fields_bytes + payload_limit;
        let ended = self.by_text(kind, payload, payload_limit).and_then(|text| {
            let nearby = text.saturating_add(NEARBY_BYTES).min(payload_limit);
            self.searches.find(start, fields_bytes + text, fields_bytes + nearby)
        });
        let found = ended.or_else(|| self.searches.find(start, fields_bytes + least_payload(kind), longest));
        found.ok_or(if rest.len() < longest + 4 { NoLength::TooShort } else { NoLength::Illegal })
    }

    /// Where the text ends with which a payload begins, if it does; its arguments follow.
    fn by_text(&self, kind: Kind, payload: &[u8], payload_limit: usize) -> Option<usize> {
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
        self.searches.looks_at(found.unwrap_or(bytes.len()) / SCANNED_PER_SEARCHED);
        found
    }

    /// How many legal messages follow each other from a place on, if catalogs are read so; enough of them if the input ends there. Of
    /// two that have as many, the one with fewer words of zero is right: those are arguments as a rule. Short forms cannot be wrong,
    /// and count for nothing.
    fn legal_run(&self, start: usize, assumed: Assumed) -> (usize, Reverse<usize>) {
        let mut at = start;
        let (mut legal, mut zeros) = (0, 0);
        for _ in 0..ANCHOR_STEPS {
            let rest = self.from(at);
            if rest.is_empty() || legal == ANCHOR_MESSAGES || at - start > ANCHOR_BYTES {
                return (ANCHOR_MESSAGES, Reverse(zeros));
            }
            let Ok((len, _)) = self.length_with(at, ANCHOR_PAYLOAD_BYTES, Reading::With(assumed)) else { break };
            legal += usize::from(rest.first_chunk().is_some_and(|word| Header(u32::from_le_bytes(*word)).is_full()));
            zeros += usize::from(rest.first_chunk() == Some(&[0; 4]));
            at += len;
        }
        (legal, Reverse(zeros))
    }

    /// The length of the payload `payload` at a place, of a message that has neither length nor checksum.
    fn by_kind(
        &self,
        fields: &Fields<'_>,
        start: usize,
        at: usize,
        payload: &[u8],
        payload_limit: usize,
        reading: Reading,
    ) -> Result<usize, NoLength> {
        let payload = payload.get(..payload_limit).unwrap_or(payload);
        // What is longer than is looked at may be a message all the same.
        let cut = if payload.len() < payload_limit { NoLength::TooShort } else { NoLength::Undelimited };
        match fields.kind {
            Kind::ClockSync => {
                if payload.len() >= 16 {
                    Ok(16)
                } else {
                    Err(cut)
                }
            }
            Kind::Generic | Kind::FunctionEnter | Kind::FunctionExit | Kind::InvalidParam | Kind::Assert => {
                self.find_nul(payload, payload_limit).map(|end| end + 1).ok_or(NoLength::Undelimited)
            }
            Kind::Printf(pointers) => {
                let end = self.find_nul(payload, FORMAT_BYTES).ok_or(NoLength::Undelimited)?;
                let (text, arguments) = payload.split_at(end);
                let arguments = arguments.get(1..).unwrap_or(&[]);
                self.searches.looks_at(FORMATTED_PER_SEARCHED * end);
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
                    // As nearly all do.
                    _ if all.all(|(_, bytes)| bytes == first) => first,
                    Reading::With(assumed) => {
                        let unlike = |of: &Assumed| (of.client != assumed.client, of.short_floats != assumed.short_floats);
                        readings().min_by_key(|(of, _)| unlike(of)).and_then(|(_, bytes)| bytes)
                    }
                    Reading::ByWhatFollows => {
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

    /// The ways in which a catalog message may be read, and how many bytes its arguments have then; `None`: more than there are.
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
        // The client of the build that was told last; else each that is the client for some build.
        let build = self.builds.and_then(|builds| builds.last_of(sender, start as u64));
        let told = build.and_then(|build| self.collateral.client(sender, None, Some(build)));
        let told = told.and_then(|found| format_of(found.client));
        let possible = told.is_none().then(|| self.collateral.possible(sender).filter_map(format_of).take(CLIENTS_LIMIT));
        told.into_iter().chain(possible.into_iter().flatten()).flat_map(move |(client, format)| {
            let measure = |packing| format.measure(packing, arguments);
            let typed = (Assumed { client, short_floats: false }, measure(Packing::typed(pointers)));
            let may_be_short = pointers == Pointers::Bits32 && format.has_floats();
            let short = if may_be_short { measure(Packing::Floats32) } else { None };
            let short = short.map(|bytes| (Assumed { client, short_floats: true }, Some(bytes)));
            [Some(typed), short].into_iter().flatten()
        })
    }
}

/// The length of a message that tells it and has no checksum, if it is whole.
#[inline]
fn plain_length(rest: &[u8]) -> Option<usize> {
    let header = Header(u32::from_le_bytes(*rest.first_chunk()?));
    if !header.has(Header::LENGTH) || header.has(Header::CHECKSUM | Header::LOCATION) || !header.is_full() {
        return None;
    }
    let at = if header.has(Header::GUID) { 4 + 16 } else { 4 };
    let told = rest.get(at..at + 2)?.first_chunk()?;
    let fields_bytes = at + if header.has(Header::TIMESTAMP) { 2 + 8 } else { 2 };
    let len = fields_bytes + usize::from(u16::from_le_bytes(*told));
    (len <= rest.len()).then_some(len)
}

/// How many bytes are scanned for a NUL in the time in which one is searched for a checksum.
const SCANNED_PER_SEARCHED: usize = 32;

/// How many bytes are searched for a checksum in the time in which one byte of a format is compiled.
const FORMATTED_PER_SEARCHED: usize = 2;

/// The fewest bytes that a payload of this kind has.
fn least_payload(kind: Kind) -> usize {
    match kind {
        Kind::BuildLong => 8,
        Kind::ClockSync => 16,
        Kind::Catalog { wide_id, .. } => 4 + 4 * usize::from(wide_id),
        Kind::Sbd(_) => 4,
        _ => 0,
    }
}

/// How far behind the end of a payload's text its checksum is looked for first, in bytes: arguments stand there.
const NEARBY_BYTES: usize = 64;

#[cfg(test)]
mod tests;
