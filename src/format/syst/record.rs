//! A SyS-T message: its header word, its optional fields, and its payload, as on the wire.
//!
//! A message is a string of bytes, little endian, without padding:
//!
//! ```text
//! header u32 | GUID 16 B | location 1 + 4 or 8 B | length u16 | timestamp u64 | payload | CRC-32C u32
//!              (bit 23)    (bit 8)                 (bit 9)      (bit 11)                   (bit 10)
//! ```
//!
//! [`Message::read_frame`] takes bytes that are one message ("framed": a line of text, an STP packet sequence), and
//! [`Fields::read`] reads the part before the payload, which is all that is certain in a raw stream.

use crate::printf::write::Oddities;
pub use crate::printf::{Pointers, Reader};

/// The kinds of message, by the header's TYPE (bits 0–3) and SUBTYPE (bits 24–29).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A build number of 64 bits, and a text.
    BuildLong,
    /// A build number of 22 bits in the header word.
    BuildCompact32,
    /// A build number of 54 bits in the header word and the one after it.
    BuildCompact64,
    /// 28 bits for the user.
    Short32,
    /// 60 bits for the user.
    Short64,
    /// A text.
    Generic,
    /// A function's name, entered.
    FunctionEnter,
    /// A function's name, left.
    FunctionExit,
    /// The library was called with something it cannot send.
    InvalidParam,
    /// An assertion failed.
    Assert,
    /// A printf format and its arguments, packed by a target of these pointers.
    Printf(Pointers),
    /// The number of a printf format, and its arguments.
    Catalog {
        /// Whether the number has 64 bits; else 32.
        wide_id: bool,
        /// How the arguments are packed.
        pointers: Pointers,
    },
    /// Bytes of a protocol that the user numbers.
    Raw(u8),
    /// A reading of the message clock, and its frequency.
    ClockSync,
    /// Structured binary data: an id, maybe an address and a name, and bytes. The value is the subtype.
    Sbd(u8),
}

impl Kind {
    /// Whether it is a word or two without any field: its "header" is mostly data.
    #[inline]
    #[must_use]
    pub const fn is_short_form(self) -> bool {
        matches!(self, Kind::BuildCompact32 | Kind::BuildCompact64 | Kind::Short32 | Kind::Short64)
    }

    /// Whether it is the number of a build.
    #[inline]
    #[must_use]
    pub fn is_build(self) -> bool {
        matches!(self, Kind::BuildLong | Kind::BuildCompact32 | Kind::BuildCompact64)
    }

    /// The length of a short form, in bytes; `None` for all others.
    #[must_use]
    pub fn short_form_bytes(self) -> Option<usize> {
        match self {
            Kind::BuildCompact32 | Kind::Short32 => Some(4),
            Kind::BuildCompact64 | Kind::Short64 => Some(8),
            _ => None,
        }
    }
}

/// The first word of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header(pub u32);

/// Bits 7, 30 and 31 are 0, except in the short forms.
const RESERVED: u32 = 1 << 7 | 3 << 30;

/// The kind of each TYPE and SUBTYPE. Looked up for each message.
pub static KINDS: [[Result<Kind, Malformed>; 64]; 16] = {
    let mut kinds = [[Err(Malformed::UnknownType); 64]; 16];
    let mut at = 0;
    while at < 16 * 64 {
        kinds[at / 64][at % 64] = kind_of((at / 64) as u32, (at % 64) as u8);
        at += 1;
    }
    kinds
};

/// For each TYPE: the known SUBTYPEs, one bit each, except those of short forms.
static FULL: [u64; 16] = {
    let mut full = [0; 16];
    let mut at = 0;
    while at < 16 * 64 {
        if let Ok(kind) = KINDS[at / 64][at % 64]
            && !kind.is_short_form()
        {
            full[at / 64] |= 1 << (at % 64);
        }
        at += 1;
    }
    full
};

const fn kind_of(of_type: u32, subtype: u8) -> Result<Kind, Malformed> {
    use Pointers::{Bits32, Bits64};
    Ok(match (of_type, subtype) {
        (0, 0) => Kind::BuildCompact32,
        (0, 1) => Kind::BuildCompact64,
        (0, 2) => Kind::BuildLong,
        (1, _) => Kind::Short32,
        (7, _) => Kind::Short64,
        (2, 1) => Kind::Generic,
        (2, 2) => Kind::FunctionEnter,
        (2, 3) => Kind::FunctionExit,
        (2, 5) => Kind::InvalidParam,
        (2, 7) => Kind::Assert,
        (2, 11) => Kind::Printf(Bits32),
        (2, 12) => Kind::Printf(Bits64),
        (3, 1) => Kind::Catalog { wide_id: false, pointers: Bits32 },
        (3, 2) => Kind::Catalog { wide_id: true, pointers: Bits32 },
        (3, 5) => Kind::Catalog { wide_id: false, pointers: Bits64 },
        (3, 6) => Kind::Catalog { wide_id: true, pointers: Bits64 },
        (6, protocol) => Kind::Raw(protocol),
        (8, 1) => Kind::ClockSync,
        (9, form @ 0..=15) => Kind::Sbd(form),
        (0 | 2 | 3 | 8 | 9, _) => return Err(Malformed::UnknownSubtype),
        _ => return Err(Malformed::UnknownType),
    })
}

impl Header {
    /// A location follows the GUID.
    pub const LOCATION: u32 = 1 << 8;
    /// A length follows the location.
    pub const LENGTH: u32 = 1 << 9;
    /// A checksum ends the message.
    pub const CHECKSUM: u32 = 1 << 10;
    /// A time stamp precedes the payload.
    pub const TIMESTAMP: u32 = 1 << 11;
    /// A GUID follows the header.
    pub const GUID: u32 = 1 << 23;
    /// Unit and module, and whether a GUID follows.
    pub const ORIGIN: u32 = 0xFFF << 12;

    /// The one at the start of some bytes.
    #[inline]
    #[must_use]
    pub fn of(bytes: &[u8]) -> Option<Header> {
        bytes.first_chunk().map(|word| Header(u32::from_le_bytes(*word)))
    }

    /// Whether a message of it has a time stamp. Cheaper than [`Header::kind`].
    #[inline]
    #[must_use]
    pub fn is_timed(self) -> bool {
        !matches!(self.0 & 0xF, 0 | 1 | 7) && self.has(Header::TIMESTAMP)
    }

    /// The kind of the message.
    ///
    /// # Errors
    /// When TYPE or SUBTYPE is unknown, or a reserved bit is set.
    #[inline]
    pub fn kind(self) -> Result<Kind, Malformed> {
        let found = KINDS[(self.0 & 0xF) as usize][(self.0 >> 24 & 0x3F) as usize];
        // The usual case.
        if self.0 & RESERVED == 0 { found } else { self.other_kind(found) }
    }

    #[inline(never)]
    fn other_kind(self, found: Result<Kind, Malformed>) -> Result<Kind, Malformed> {
        match found {
            Ok(kind) if !kind.is_short_form() => Err(Malformed::ReservedBits),
            found => found,
        }
    }

    /// Whether it begins a legal message other than a short form. Cheaper than [`Header::kind`].
    #[inline]
    #[must_use]
    pub fn is_full(self) -> bool {
        FULL[(self.0 & 0xF) as usize] >> (self.0 >> 24 & 0x3F) & 1 != 0 && self.0 & RESERVED == 0
    }

    /// Whether one of the flags is set.
    #[inline]
    #[must_use]
    pub fn has(self, flag: u32) -> bool {
        self.0 & flag != 0
    }

    /// The severity.
    #[inline]
    #[must_use]
    pub fn severity(self) -> u8 {
        (self.0 >> 4 & 7) as u8
    }

    /// The unit that sent it.
    #[inline]
    #[must_use]
    pub fn unit(self) -> u16 {
        let bits = if self.has(Header::GUID) { 0x7FF } else { 0xF };
        (self.0 >> 12 & bits) as u16
    }

    /// The module, in messages without GUID.
    #[inline]
    #[must_use]
    pub fn module(self) -> u8 {
        (self.0 >> 16 & 0x7F) as u8
    }
}

/// The names of the severities, by number.
pub const SEVERITIES: [&str; 8] = ["MAX", "FATAL", "ERROR", "WARNING", "INFO", "USER1", "USER2", "DEBUG"];

/// A globally unique id, in the order of its text.
pub type Guid = [u8; 16];

/// Where in the target's program a message was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Location {
    /// A file's number and a line, of 16 bits each.
    FileLine16(u16, u16),
    /// A file's number and a line, of 32 bits each.
    FileLine32(u32, u32),
    /// A code address of a 32-bit target.
    Address32(u32),
    /// A code address of a 64-bit target.
    Address64(u64),
}

impl Location {
    /// The byte that states the form.
    #[must_use]
    pub fn format(self) -> u8 {
        match self {
            Location::FileLine16(..) => 0,
            Location::FileLine32(..) => 1,
            Location::Address32(_) => 2,
            Location::Address64(_) => 3,
        }
    }

    /// The file's number and the line, in the forms that have them.
    #[must_use]
    pub fn file_line(self) -> Option<(u32, u32)> {
        match self {
            Location::FileLine16(file, line) => Some((file.into(), line.into())),
            Location::FileLine32(file, line) => Some((file, line)),
            _ => None,
        }
    }

    /// The code address, in the forms that have it.
    #[must_use]
    pub fn address(self) -> Option<u64> {
        match self {
            Location::Address32(address) => Some(address.into()),
            Location::Address64(address) => Some(address),
            _ => None,
        }
    }
}

/// Why bytes are not a valid message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
pub enum Malformed {
    /// There are no bytes.
    #[error("it is empty")]
    Empty,
    /// They end before the payload does, or before its fixed part does.
    #[error("it ends within a field")]
    TooShort,
    /// Bits 7, 30 or 31.
    #[error("a reserved bit of the header is set")]
    ReservedBits,
    /// TYPE.
    #[error("its type is unknown")]
    UnknownType,
    /// SUBTYPE.
    #[error("its subtype is unknown")]
    UnknownSubtype,
    /// The first byte of the location.
    #[error("the form of its location is unknown")]
    UnknownLocation,
    /// Text: the marker before the digits.
    #[error("its marker is damaged")]
    DamagedMarker,
}

/// The fields before the payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fields<'a> {
    /// The first word.
    pub header: Header,
    /// Its kind.
    pub kind: Kind,
    /// See [`Kind::is_short_form`].
    pub is_short_form: bool,
    /// The GUID of the sender.
    pub guid: Option<&'a Guid>,
    /// The place in the program that sent it.
    pub location: Option<Location>,
    /// The stated length of the payload, in bytes.
    pub length: Option<u16>,
    /// The time of the message clock, in its ticks.
    pub timestamp: Option<u64>,
}

impl<'a> Fields<'a> {
    /// Reads the fields from the front of `reader`. A short form has the header word alone.
    ///
    /// # Errors
    /// When a field is missing or unknown.
    #[inline(always)]
    pub fn read(reader: &mut Reader<'a>) -> Result<Fields<'a>, Malformed> {
        let header = match reader.u32() {
            Some(word) => Header(word),
            None if reader.0.is_empty() => return Err(Malformed::Empty),
            None => return Err(Malformed::TooShort),
        };
        let kind = header.kind()?;
        let is_short_form = kind.is_short_form();
        let mut fields = Fields { header, kind, is_short_form, guid: None, location: None, length: None, timestamp: None };
        if is_short_form {
            return Ok(fields);
        }
        if header.has(Header::GUID) {
            let (guid, rest) = reader.0.split_first_chunk().ok_or(Malformed::TooShort)?;
            (fields.guid, reader.0) = (Some(guid), rest);
        }
        if header.has(Header::LOCATION) {
            fields.location = Some(read_location(reader)?);
        }
        if header.has(Header::LENGTH) {
            fields.length = Some(reader.u16().ok_or(Malformed::TooShort)?);
        }
        if header.has(Header::TIMESTAMP) {
            fields.timestamp = Some(reader.u64().ok_or(Malformed::TooShort)?);
        }
        Ok(fields)
    }
}

fn read_location(reader: &mut Reader<'_>) -> Result<Location, Malformed> {
    let format = reader.u8().ok_or(Malformed::TooShort)?;
    let location = match format {
        0 => reader.u16().zip(reader.u16()).map(|(file, line)| Location::FileLine16(file, line)),
        1 => reader.u32().zip(reader.u32()).map(|(file, line)| Location::FileLine32(file, line)),
        2 => reader.u32().map(Location::Address32),
        3 => reader.u64().map(Location::Address64),
        _ => return Err(Malformed::UnknownLocation),
    };
    location.ok_or(Malformed::TooShort)
}

/// The bytes of the payload of a clock message.
pub const CLOCK_BYTES: usize = 16;

/// Oddities of a valid message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Marks(pub u16);

impl Marks {
    /// The checksum does not fit: any field may be wrong.
    pub const CRC_BAD: Marks = Marks(1);
    /// The payload is shorter than its stated length, or than its kind requires.
    pub const TRUNCATED: Marks = Marks(2);
    /// Surplus bytes follow the payload.
    pub const SURPLUS: Marks = Marks(4);
    /// Arguments of the format are missing.
    pub const MISSING_ARGUMENTS: Marks = Marks(8);
    /// The format has an invalid conversion.
    pub const BAD_FORMAT: Marks = Marks(16);
    /// Bytes of its text were not UTF-8 and are shown as `\xNN`.
    pub const NOT_UTF8: Marks = Marks(32);
    /// The arguments were read in slots of 8 bytes, or with padding before those of 8 bytes: their length shows it.
    pub const SLOTS: Marks = Marks(64);
    /// A width or precision was limited.
    pub const CLAMPED: Marks = Marks(128);
    /// The collateral was written for another build.
    pub const OTHER_BUILD: Marks = Marks(256);

    /// Of a notice: messages that began before it follow.
    pub const EARLY: Marks = Marks(512);

    /// The names of all marks that are shown.
    pub const NAMES: [(Marks, &'static str); 9] = [
        (Marks::CRC_BAD, "crc_bad"),
        (Marks::TRUNCATED, "truncated"),
        (Marks::SURPLUS, "surplus"),
        (Marks::MISSING_ARGUMENTS, "missing_arguments"),
        (Marks::BAD_FORMAT, "bad_format"),
        (Marks::NOT_UTF8, "not_utf8"),
        (Marks::SLOTS, "slots"),
        (Marks::CLAMPED, "clamped"),
        (Marks::OTHER_BUILD, "other_build"),
    ];

    /// What was odd about a format and its arguments.
    #[must_use]
    pub fn of_printf(oddities: Oddities) -> Marks {
        let mut marks = Marks::default();
        for (oddity, mark) in [
            (Oddities::MISSING_ARGUMENTS, Marks::MISSING_ARGUMENTS),
            (Oddities::BAD_FORMAT, Marks::BAD_FORMAT),
            (Oddities::CLAMPED, Marks::CLAMPED),
        ] {
            if oddities.has(oddity) {
                marks.add(mark);
            }
        }
        marks
    }

    /// Adds marks.
    pub fn add(&mut self, marks: Marks) {
        self.0 |= marks.0;
    }

    /// Whether one of them is set.
    #[inline]
    #[must_use]
    pub fn has(self, marks: Marks) -> bool {
        self.0 & marks.0 != 0
    }
}

/// A message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message<'a> {
    /// The fields before the payload.
    pub fields: Fields<'a>,
    /// The payload; of a short form its 4 or 8 bytes.
    pub payload: &'a [u8],
    /// The stated checksum.
    pub crc: Option<u32>,
    /// Oddities.
    pub marks: Marks,
}

impl<'a> Message<'a> {
    /// Reads `frame` as one message. The frame decides its length, and the length field that of the payload.
    ///
    /// # Errors
    /// When it is not a valid message.
    pub fn read_frame(frame: &'a [u8]) -> Result<Message<'a>, Malformed> {
        Message::read(frame, false)
    }

    /// The same. `is_proven`: the last four bytes are known to be a checksum that fits.
    ///
    /// # Errors
    /// When it is not a valid message.
    #[inline(always)]
    pub fn read(frame: &'a [u8], is_proven: bool) -> Result<Message<'a>, Malformed> {
        let mut reader = Reader(frame);
        let fields = Fields::read(&mut reader)?;
        let mut message = Message { fields, payload: reader.0, crc: None, marks: Marks::default() };
        if fields.is_short_form {
            let len = fields.kind.short_form_bytes().unwrap_or(4);
            message.payload = frame.get(..len).ok_or(Malformed::TooShort)?;
            if frame.len() > len {
                message.marks.add(Marks::SURPLUS);
            }
            return Ok(message);
        }
        let length = fields.length.map(usize::from);
        let has_crc = fields.header.has(Header::CHECKSUM);
        if has_crc && is_proven {
            let (payload, crc) = message.payload.split_last_chunk().ok_or(Malformed::TooShort)?;
            (message.payload, message.crc) = (payload, Some(u32::from_le_bytes(*crc)));
        } else if has_crc {
            let crc;
            (message.payload, crc, message.marks) = split_checksum(frame, message.payload, length)?;
            message.crc = Some(crc);
        }
        match length {
            // Of a payload that is longer than the field can state, senders write the lowest 16 bits of the length.
            Some(len) if (message.payload.len().wrapping_sub(len)).trailing_zeros() >= 16 => {}
            Some(len) if len < message.payload.len() => {
                message.payload = message.payload.get(..len).unwrap_or(&[]);
                message.marks.add(Marks::SURPLUS);
            }
            Some(_) => message.marks.add(Marks::TRUNCATED),
            None => {}
        }
        Ok(message)
    }

    /// The number in a short form: the build, or the user's value.
    #[inline]
    #[must_use]
    pub fn short_value(&self) -> Option<u64> {
        let word = u64::from(self.fields.header.0);
        let wide = || self.payload.first_chunk::<8>().map(|bytes| u64::from_le_bytes(*bytes));
        match self.fields.kind {
            Kind::Short32 => Some(word >> 4),
            Kind::Short64 => wide().map(|value| value >> 4),
            Kind::BuildCompact32 => Some(word >> 4 & 0xF_FFFF | word >> 30 << 20),
            Kind::BuildCompact64 => wide().map(|value| value >> 4 & 0xF_FFFF | value >> 30 << 20),
            _ => None,
        }
    }

    /// Clock value and frequency of a clock message. The frequency is 0 if more bytes follow: then it need not be one.
    #[inline]
    #[must_use]
    pub fn clock(&self) -> Option<(u64, u64)> {
        if self.fields.kind != Kind::ClockSync {
            return None;
        }
        let mut reader = Reader(self.payload);
        let (value, hz) = reader.u64().zip(reader.u64())?;
        Some((value, if reader.0.is_empty() { hz } else { 0 }))
    }

    /// The number of a build message.
    #[inline]
    #[must_use]
    pub fn build(&self) -> Option<u64> {
        match self.fields.kind {
            Kind::BuildLong => Reader(self.payload).u64(),
            Kind::BuildCompact32 | Kind::BuildCompact64 => self.short_value(),
            _ => None,
        }
    }
}

/// Splits the checksum off the end of a frame, of which `rest` follows the fields, and checks it. `length`: the stated length of the payload.
/// Returns the payload, the checksum, and oddities. By value, so that the message itself stays in registers.
#[inline(never)]
fn split_checksum<'a>(frame: &'a [u8], rest: &'a [u8], length: Option<usize>) -> Result<(&'a [u8], u32, Marks), Malformed> {
    let fields_bytes = frame.len() - rest.len();
    // A frame may continue after the checksum. Then the length field states where the checksum is, if it fits there.
    let stated = length.and_then(|len| rest.get(len..)?.first_chunk::<4>().map(|crc| (len, u32::from_le_bytes(*crc))));
    let stated_fits = stated.filter(|&(len, crc)| frame.get(..fields_bytes + len).is_some_and(|all| crc32c::crc32c(all) == crc));
    let at_end = rest.split_last_chunk::<4>().map(|(payload, crc)| (payload.len(), u32::from_le_bytes(*crc)));
    let (len, crc) = stated_fits.or(at_end).ok_or(Malformed::TooShort)?;
    let all = frame.get(..fields_bytes + len).unwrap_or(&[]);
    let mut marks = Marks::default();
    if stated_fits.is_none() && crc32c::crc32c(all) != crc {
        marks.add(Marks::CRC_BAD);
    }
    if stated_fits.is_some() && fields_bytes + len + 4 < frame.len() {
        marks.add(Marks::SURPLUS);
    }
    Ok((rest.get(..len).unwrap_or(&[]), crc, marks))
}

/// Structured binary data: the fixed part of the payload, and the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sbd<'a> {
    /// The id.
    pub id: u64,
    /// The address, if there is one.
    pub address: Option<u64>,
    /// The name, if there is one.
    pub name: Option<&'a [u8]>,
    /// The data.
    pub blob: &'a [u8],
}

impl<'a> Sbd<'a> {
    /// Reads the payload of a message of this subtype; `None` if it is too short.
    #[must_use]
    pub fn read(subtype: u8, payload: &'a [u8]) -> Option<Sbd<'a>> {
        let mut reader = Reader(payload);
        let id = if subtype & 1 == 0 { reader.u32()?.into() } else { reader.u64()? };
        let address = match subtype >> 2 & 3 {
            0 => None,
            1 => Some(reader.u16()?.into()),
            2 => Some(reader.u32()?.into()),
            _ => Some(reader.u64()?),
        };
        let name = (subtype & 2 != 0).then(|| reader.text().0);
        Some(Sbd { id, address, name, blob: reader.0 })
    }

    /// The number of a Linux ftrace event, if the message is as Linux sends them: of severity INFO and unit 0, with a GUID and without
    /// location and checksum. The id is the number alone, because Linux clears the bits above, where ftrace has flags and a process.
    #[must_use]
    pub fn ftrace_event(&self, header: Header) -> Option<u16> {
        let is_of_linux = header.0 & !(Header::LENGTH | Header::TIMESTAMP) == 9 | 4 << 4 | Header::GUID | 1 << 24;
        u16::try_from(self.id).ok().filter(|&number| is_of_linux && number > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(hex: &str) -> Vec<u8> {
        let hex: String = hex.replace("<guid>", "494E54438A9C4014A65A2F36A36D96E4").replace(' ', "");
        data_encoding::HEXUPPER.decode(hex.as_bytes()).unwrap()
    }

    #[test]
    fn short_forms_of_the_reference_library() {
        let value = |hex: &str| {
            let bytes = bytes(hex);
            let message = Message::read_frame(&bytes).unwrap();
            (message.fields.kind, message.short_value().unwrap())
        };
        assert_eq!(value("71563412"), (Kind::Short32, 0x123_4567));
        assert_eq!(value("8777665544332211"), (Kind::Short64, 0x112_2334_4556_6778));
        assert_eq!(value("F1DEBC0A"), (Kind::Short32, 0x0AB_CDEF));
        assert_eq!(value("F0FFFFC0"), (Kind::BuildCompact32, 0x3F_FFFF));
        assert_eq!(value("50341280"), (Kind::BuildCompact32, 0x21_2345));
        assert_eq!(value("E0CDAB41E259D148"), (Kind::BuildCompact64, 0x12_3456_789A_BCDE));
    }

    #[test]
    fn all_fields() {
        let frame =
            bytes("001C8002 <guid> A02914BDBA600600 0000010000000000 76657273696F6E2062616E6E657220737472696E6700 6A07097B");
        let message = Message::read_frame(&frame).unwrap();
        assert_eq!((message.fields.kind, message.build()), (Kind::BuildLong, Some(0x10000)));
        assert_eq!((message.crc, message.marks), (Some(0x7B09_076A), Marks::default()));
        assert_eq!((message.fields.timestamp, message.fields.header.unit()), (Some(0x0006_60BA_BD14_29A0), 1));
        assert_eq!(message.payload.get(8..), Some(&b"version banner string\0"[..]));
        let frame = bytes("00522A02 0B00 8877665544332211 763100");
        let message = Message::read_frame(&frame).unwrap();
        assert_eq!((message.fields.header.module(), message.fields.header.unit(), message.fields.length), (0x2A, 5, Some(11)));
        let location = |hex: &str| Message::read_frame(&bytes(hex)).unwrap().fields.location.unwrap();
        assert_eq!(location("32532A01 00 0700 2F00 0600 6C6F63313600"), Location::FileLine16(7, 47));
        assert_eq!(location("22532A01 01 78563412 30000000 0600 6C6F63333200"), Location::FileLine32(0x1234_5678, 48));
        assert_eq!(location("62532A01 03 B27BF6B3DC550000 0500 6164647200"), Location::Address64(0x55DC_B3F6_7BB2));
    }

    #[test]
    fn clocks_and_structured_data() {
        let frame = bytes("08522A01 1000 9A78563412000000 00366E0100000000");
        assert_eq!(Message::read_frame(&frame).unwrap().clock(), Some((0x12_3456_789A, 24_000_000)));
        let frame = bytes("08502A01 9A78563412000000 00366E0100000000 00");
        assert_eq!(Message::read_frame(&frame).unwrap().clock(), Some((0x12_3456_789A, 0)), "there should be no more bytes");
        let frame = bytes("4950950F <guid> 8877665544332211 0010000000000000 626C6F6200 01020304");
        let message = Message::read_frame(&frame).unwrap();
        let Kind::Sbd(subtype) = message.fields.kind else { panic!("{message:?}") };
        let sbd = Sbd::read(subtype, message.payload).unwrap();
        assert_eq!(
            (sbd.id, sbd.address, sbd.name, sbd.blob),
            (0x1122_3344_5566_7788, Some(0x1000), Some(&b"blob"[..]), &[1, 2, 3, 4][..])
        );
    }

    #[test]
    fn events_of_linux_differ_from_other_data() {
        let event = |hex: &str| {
            let frame = bytes(hex);
            let message = Message::read_frame(&frame).unwrap();
            let Kind::Sbd(subtype) = message.fields.kind else { panic!("{message:?}") };
            Sbd::read(subtype, message.payload).unwrap().ftrace_event(message.fields.header)
        };
        assert_eq!(event("49008001 <guid> 3901000000000000 00112233"), Some(313));
        assert_eq!(
            event("490A8001 <guid> 0C00 8877665544332211 3901000000000000 00112233"),
            Some(313),
            "a length and a time stamp"
        );
        assert_eq!(event("49108001 <guid> 3901000000000000 00112233"), None, "of a unit");
        assert_eq!(event("49000001 3901000000000000 00112233"), None, "of a module");
        assert_eq!(event("49008001 <guid> 8877665544332211"), None, "a hash");
        assert_eq!(event("49008003 <guid> 3901000000000000 6100"), None, "it has a name");
    }

    #[test]
    fn odd_and_malformed_frames() {
        let read = |hex: &str| Message::read_frame(&bytes(hex)).map(|message| (message.payload.len(), message.marks));
        assert_eq!(read(""), Err(Malformed::Empty));
        assert_eq!(read("7156"), Err(Malformed::TooShort));
        assert_eq!(read("8777665544"), Err(Malformed::TooShort));
        assert_eq!(read("42509501494E54438A9C4014"), Err(Malformed::TooShort));
        assert_eq!(read("42522A01070068656C6C6F00"), Ok((6, Marks::TRUNCATED)));
        assert_eq!(read("42522A01050068656C6C6F00"), Ok((5, Marks::SURPLUS)));
        assert_eq!(read("42542A0168656C6C6F00DEADBEEF"), Ok((6, Marks::CRC_BAD)));
        assert_eq!(read("04502A01AABB"), Err(Malformed::UnknownType));
        assert_eq!(read("C2502A0168656C6C6F00"), Err(Malformed::ReservedBits));
        assert_eq!(read("42502A4168656C6C6F00"), Err(Malformed::ReservedBits));
        assert_eq!(read("42502A8168656C6C6F00"), Err(Malformed::ReservedBits));
        assert_eq!(read("42502A0468656C6C6F00"), Err(Malformed::UnknownSubtype));
        assert_eq!(read("42512A01FF0100020068656C6C6F00"), Err(Malformed::UnknownLocation));
        assert_eq!(read("42502A01"), Ok((0, Marks::default())));
        let data = "55".repeat(0x1_0000);
        assert_eq!(read(&format!("49522A000400DDCCBBAA{data}")), Ok((0x1_0004, Marks::default())));
        assert_eq!(read(&format!("49522A000500DDCCBBAA{data}")), Ok((5, Marks::SURPLUS)));
    }
}
