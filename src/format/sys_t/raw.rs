//! The raw transport: messages, one after the other, with nothing between them.
//!
//! How long a message is follows from its length field, else from its checksum (the payload grows until it fits; first from the end of
//! its text on, if it begins with one), else from its kind where that tells. Build texts, raw data and unknown catalog formats tell
//! nothing: such a stream needs lengths or checksums.
//!
//! After damage, and where a part begins, a place to go on is looked for: an *anchor*, from which several legal messages follow each
//! other, or one whose checksum fits. Short forms have nothing that could be checked and count for nothing there.

use super::collateral::{Collateral, Sender};
use super::printf::{Format, Packing};
use super::record::{Fields, Header, Kind, Pointers, Reader};

/// The largest payload, in bytes.
const PAYLOAD_LIMIT: usize = 0xFFFF;

/// How many legal messages must follow each other for an anchor.
const ANCHOR_MESSAGES: usize = 3;

/// How many messages are looked at for an anchor; short forms are among them.
const ANCHOR_STEPS: usize = 8;

/// While an anchor is looked for, a checksum without length is tried for payloads up to this, in bytes: every place is tried.
const ANCHOR_PAYLOAD_BYTES: usize = 512;

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

/// How many bytes the floating-point arguments of catalog messages have on 32-bit targets. Some C++ logging libraries send `float`,
/// and no header tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Floats {
    Bytes8,
    Bytes4,
    /// Whichever is followed by more legal messages.
    ByWhatFollows,
}

/// A view of a raw stream.
#[derive(Clone, Copy, Debug)]
pub struct Stream<'a> {
    /// The bytes from `base` on; they reach to the end of the input, or [`REACH_BYTES`] beyond what is asked for.
    pub bytes: &'a [u8],
    /// Where they stand in the input.
    pub base: usize,
    /// The formats of catalog messages.
    pub collateral: &'a Collateral,
}

/// What stands at a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// A message of this many bytes.
    Message(usize),
    /// Words of zero: this many bytes.
    Padding(usize),
    /// The start of a message that the input ends within.
    Truncated(usize),
    /// Neither.
    Lost(NoLength),
}

impl<'a> Stream<'a> {
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
            Some(len) => Step::Message(len),
            None => self.any_step(at),
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
            let zeros = rest.as_chunks::<4>().0.iter().take_while(|word| **word == [0; 4]).count();
            return Step::Padding(4 * zeros.min(PAYLOAD_LIMIT / 4));
        }
        match self.length(at, PAYLOAD_LIMIT) {
            Ok((len, is_proven)) => {
                let header = Header(u32::from_le_bytes(*word));
                let is_short = !header.is_full();
                // What cannot be checked, or is wrong, must at least be followed by something that can be.
                if is_proven || (!is_short && !header.has(Header::CHECKSUM)) || self.is_followed(at + len, !is_short) {
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
            Ok(kind) if !kind.is_short_form() => self.is_chain(at),
            _ => false,
        }
    }

    fn is_chain(&self, start: usize) -> bool {
        let mut at = start;
        let mut legal = 0;
        for _ in 0..ANCHOR_STEPS {
            let rest = self.from(at);
            if rest.is_empty() || at - start > ANCHOR_BYTES {
                return legal >= 2;
            }
            if at != start && rest.get(..4) == Some(&[0; 4]) {
                at += 4;
                continue;
            }
            match self.length(at, ANCHOR_PAYLOAD_BYTES) {
                Ok((_, true)) => return true,
                Ok((len, false)) => {
                    let word = rest.first_chunk::<4>().map_or(0, |word| u32::from_le_bytes(*word));
                    let header = Header(word);
                    if header.kind().is_ok_and(Kind::is_short_form) {
                        if at == start {
                            return false;
                        }
                    } else if header.has(Header::CHECKSUM) {
                        // It has one, and it is wrong.
                        return false;
                    } else {
                        legal += 1;
                        if legal >= ANCHOR_MESSAGES {
                            return true;
                        }
                    }
                    at += len;
                }
                Err(NoLength::TooShort) => return legal >= 2,
                // A legal header as well, though nothing tells what is behind it.
                Err(NoLength::Undelimited) => return legal + 1 >= ANCHOR_MESSAGES,
                Err(NoLength::Illegal) => return false,
            }
        }
        legal >= 2
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
        self.length_with(at, payload_limit, Floats::ByWhatFollows)
    }

    fn length_with(&self, at: usize, payload_limit: usize, floats: Floats) -> Result<(usize, bool), NoLength> {
        let rest = self.from(at);
        if let Some(word) = rest.first_chunk::<4>() {
            let header = Header(u32::from_le_bytes(*word));
            if header.has(Header::LENGTH) && header.is_full() {
                return told_length(header, rest);
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
        let has_crc = fields.header.has(Header::CHECKSUM);
        if has_crc {
            // Nearly all messages end where their kind says, or soon behind it.
            let ended = by_text(fields.kind, reader.0, payload_limit).and_then(|payload| {
                let nearby = payload.saturating_add(NEARBY_BYTES).min(payload_limit);
                by_checksum(rest, fields_bytes, payload, nearby).ok()
            });
            let least = least_payload(fields.kind);
            let searched = || by_checksum(rest, fields_bytes, least, payload_limit);
            return ended.map_or_else(searched, Ok).map(|len| (len, true));
        }
        self.by_kind(&fields, at + fields_bytes, reader.0, floats).map(|payload| (fields_bytes + payload, false))
    }

    /// How many legal messages follow each other from a place on, if all floats have this size; enough of them if the input ends there.
    /// Short forms cannot be wrong, and count for nothing.
    fn legal_run(&self, start: usize, floats: Floats) -> usize {
        let mut at = start;
        let mut legal = 0;
        for _ in 0..ANCHOR_STEPS {
            let rest = self.from(at);
            if rest.is_empty() || legal == ANCHOR_MESSAGES || at - start > ANCHOR_BYTES {
                return ANCHOR_MESSAGES;
            }
            let Ok((len, _)) = self.length_with(at, ANCHOR_PAYLOAD_BYTES, floats) else { break };
            legal += usize::from(rest.first_chunk().is_some_and(|word| Header(u32::from_le_bytes(*word)).is_full()));
            at += len;
        }
        legal
    }

    /// The length of the payload at a place, which has neither length nor checksum.
    fn by_kind(&self, fields: &Fields<'_>, at: usize, payload: &[u8], floats: Floats) -> Result<usize, NoLength> {
        let payload = payload.get(..PAYLOAD_LIMIT).unwrap_or(payload);
        match fields.kind {
            Kind::ClockSync => {
                if payload.len() >= 16 {
                    Ok(16)
                } else {
                    Err(NoLength::TooShort)
                }
            }
            Kind::Generic | Kind::FunctionEnter | Kind::FunctionExit | Kind::InvalidParam | Kind::Assert => {
                memchr::memchr(0, payload).map(|end| end + 1).ok_or(NoLength::Undelimited)
            }
            Kind::Printf(pointers) => {
                let end = memchr::memchr(0, payload).ok_or(NoLength::Undelimited)?;
                let (text, arguments) = payload.split_at(end);
                let arguments = arguments.get(1..).unwrap_or(&[]);
                let measured = Format::new(text).measure(Packing::typed(pointers), arguments).ok_or(NoLength::TooShort)?;
                Ok(end + 1 + measured)
            }
            Kind::Catalog { wide_id, pointers } => {
                let mut reader = Reader(payload);
                let id = if wide_id { reader.u64() } else { reader.u32().map(u64::from) }.ok_or(NoLength::TooShort)?;
                let sender = fields.guid.map_or(Sender::Module(fields.header.module()), |guid| Sender::Guid(*guid));
                let client = self.collateral.client(sender, None, None).and_then(|found| self.collateral.get(found.client));
                let entry = client.and_then(|client| self.collateral.entry(client.catalog(wide_id, id)?));
                let format = &entry.ok_or(NoLength::Undelimited)?.format;
                let id_bytes = payload.len() - reader.0.len();
                let measured = |packing| Some(id_bytes + format.measure(packing, reader.0)?);
                let typed = measured(Packing::typed(pointers));
                let short = if pointers == Pointers::Bits32 { measured(Packing::Floats32) } else { None };
                let (Some(short), true) = (short, format.has_floats()) else { return typed.ok_or(NoLength::TooShort) };
                let are_short = match floats {
                    Floats::Bytes8 => false,
                    Floats::Bytes4 => true,
                    Floats::ByWhatFollows => {
                        let follow = |floats, len: usize| self.legal_run(at + len, floats);
                        follow(Floats::Bytes4, short) > typed.map_or(0, |typed| follow(Floats::Bytes8, typed))
                    }
                };
                if are_short { Ok(short) } else { typed.ok_or(NoLength::TooShort) }
            }
            _ => Err(NoLength::Undelimited),
        }
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

/// The length of a message that tells it, and whether a checksum proves it. Nothing else of the message is read.
#[inline]
fn told_length(header: Header, rest: &[u8]) -> Result<(usize, bool), NoLength> {
    let mut at = if header.has(Header::GUID) { 4 + 16 } else { 4 };
    if header.has(Header::LOCATION) {
        at += match rest.get(at) {
            Some(0 | 2) => 5,
            Some(1 | 3) => 9,
            Some(_) => return Err(NoLength::Illegal),
            None => return Err(NoLength::TooShort),
        };
    }
    let told = rest.get(at..).and_then(|rest| rest.first_chunk::<2>()).ok_or(NoLength::TooShort)?;
    let has_crc = header.has(Header::CHECKSUM);
    let fields_bytes = at + if header.has(Header::TIMESTAMP) { 2 + 8 } else { 2 };
    let len = fields_bytes + usize::from(u16::from_le_bytes(*told)) + if has_crc { 4 } else { 0 };
    if len > rest.len() {
        return Err(NoLength::TooShort);
    }
    Ok((len, has_crc && rest.get(..len).is_some_and(crc_fits)))
}

/// Whether the last four bytes are the checksum of those before.
fn crc_fits(frame: &[u8]) -> bool {
    frame.split_last_chunk::<4>().is_some_and(|(message, crc)| crc32c::crc32c(message) == u32::from_le_bytes(*crc))
}

/// CRC-32C, one byte at a time.
static CRC: [u32; 256] = {
    let mut table = [0; 256];
    let mut index = 0;
    while index < 256 {
        let mut crc = index as u32;
        let mut bit = 0;
        while bit < 8 {
            crc = crc >> 1 ^ if crc & 1 == 1 { 0x82F6_3B78 } else { 0 };
            bit += 1;
        }
        table[index] = crc;
        index += 1;
    }
    table
};

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

/// Where the text ends with which a payload begins, if it does; its arguments follow.
fn by_text(kind: Kind, payload: &[u8], payload_limit: usize) -> Option<usize> {
    let payload = payload.get(..payload_limit).unwrap_or(payload);
    match kind {
        Kind::Generic | Kind::FunctionEnter | Kind::FunctionExit | Kind::InvalidParam | Kind::Assert | Kind::Printf(_) => {
            memchr::memchr(0, payload).map(|end| end + 1)
        }
        _ => None,
    }
}

/// The length of a message that ends where its checksum first fits, with a payload of at least so many bytes.
fn by_checksum(rest: &[u8], fields_bytes: usize, least: usize, payload_limit: usize) -> Result<usize, NoLength> {
    let start = fields_bytes + least;
    let head = rest.get(..start).ok_or(NoLength::TooShort)?;
    let mut crc = !crc32c::crc32c(head);
    let longest = fields_bytes + payload_limit;
    let windows = rest.get(start..).unwrap_or(&[]).windows(4).take((longest + 1).saturating_sub(start));
    for (len, window) in (start..).zip(windows) {
        let told = window.first_chunk::<4>().map_or(0, |told| u32::from_le_bytes(*told));
        if told == !crc {
            return Ok(len + 4);
        }
        crc = crc >> 8 ^ CRC[usize::from(crc as u8 ^ window[0])];
    }
    Err(if rest.len() < longest + 4 { NoLength::TooShort } else { NoLength::Illegal })
}
