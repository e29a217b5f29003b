//! A SyS-T message: its header word, its optional fields, and its payload, as they stand on the wire.
//!
//! A message is a string of bytes, little endian, without padding:
//!
//! ```text
//! header u32 | GUID 16 B | location 1 + 4 or 8 B | length u16 | timestamp u64 | payload | CRC-32C u32
//!              (bit 23)    (bit 8)                 (bit 9)      (bit 11)                   (bit 10)
//! ```
//!
//! [`Message::read_frame`] takes bytes that are one message ("framed": a line of text, an STP packet sequence), and
//! [`Fields::read`] the part up to the payload, which is all that a raw stream tells at first.

mod kinds;
mod sbd;

pub use sbd::Sbd;

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

/// The size of a pointer, and with it of `long`, on the target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Pointers {
    /// 4 bytes.
    Bits32,
    /// 8 bytes.
    Bits64,
}

impl Kind {
    /// The name by which the library's documentation calls it.
    #[must_use]
    pub fn name(self) -> &'static str {
        use Pointers::{Bits32, Bits64};
        match self {
            Kind::BuildLong => "BUILD:LONG",
            Kind::BuildCompact32 => "BUILD:COMPACT32",
            Kind::BuildCompact64 => "BUILD:COMPACT64",
            Kind::Short32 => "SHORT32",
            Kind::Short64 => "SHORT64",
            Kind::Generic => "STRING:GENERIC",
            Kind::FunctionEnter => "STRING:ENTER",
            Kind::FunctionExit => "STRING:EXIT",
            Kind::InvalidParam => "STRING:INVPARAM",
            Kind::Assert => "STRING:ASSERT",
            Kind::Printf(Bits32) => "STRING:PRINTF32",
            Kind::Printf(Bits64) => "STRING:PRINTF64",
            Kind::Catalog { wide_id: false, pointers: Bits32 } => "CATALOG:ID32P32",
            Kind::Catalog { wide_id: true, pointers: Bits32 } => "CATALOG:ID64P32",
            Kind::Catalog { wide_id: false, pointers: Bits64 } => "CATALOG:ID32P64",
            Kind::Catalog { wide_id: true, pointers: Bits64 } => "CATALOG:ID64P64",
            Kind::Raw(_) => "RAW",
            Kind::ClockSync => "CLOCK:SYNC",
            Kind::Sbd(_) => "SBD",
        }
    }

    /// Whether it is a word or two without any field: its "header" is mostly data.
    #[must_use]
    pub fn is_short_form(self) -> bool {
        matches!(self, Kind::BuildCompact32 | Kind::BuildCompact64 | Kind::Short32 | Kind::Short64)
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

    /// TYPE and SUBTYPE, as the header has them.
    #[must_use]
    pub fn type_and_subtype(self) -> (u32, u32) {
        use Pointers::{Bits32, Bits64};
        match self {
            Kind::BuildCompact32 => (0, 0),
            Kind::BuildCompact64 => (0, 1),
            Kind::BuildLong => (0, 2),
            Kind::Short32 => (1, 0),
            Kind::Generic => (2, 1),
            Kind::FunctionEnter => (2, 2),
            Kind::FunctionExit => (2, 3),
            Kind::InvalidParam => (2, 5),
            Kind::Assert => (2, 7),
            Kind::Printf(Bits32) => (2, 11),
            Kind::Printf(Bits64) => (2, 12),
            Kind::Catalog { wide_id, pointers } => (3, 1 + u32::from(wide_id) + if pointers == Bits64 { 4 } else { 0 }),
            Kind::Raw(protocol) => (6, u32::from(protocol) & 0x3F),
            Kind::Short64 => (7, 0),
            Kind::ClockSync => (8, 1),
            Kind::Sbd(subtype) => (9, u32::from(subtype) & 0xF),
        }
    }
}

/// The first word of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header(pub u32);

/// Bits 7, 30 and 31 are 0, except in the short forms.
const RESERVED: u32 = 1 << 7 | 3 << 30;

/// By TYPE: the SUBTYPEs that are known, but those of short forms, one bit each.
static FULL: [u64; 16] = {
    let mut full = [0; 16];
    full[0] = 1 << 2;
    full[2] = 1 << 1 | 1 << 2 | 1 << 3 | 1 << 5 | 1 << 7 | 1 << 11 | 1 << 12;
    full[3] = 1 << 1 | 1 << 2 | 1 << 5 | 1 << 6;
    full[6] = u64::MAX;
    full[8] = 1 << 1;
    full[9] = 0xFFFF;
    full
};

impl Header {
    /// A location stands behind the GUID.
    pub const LOCATION: u32 = 1 << 8;
    /// A length stands behind the location.
    pub const LENGTH: u32 = 1 << 9;
    /// A checksum ends the message.
    pub const CHECKSUM: u32 = 1 << 10;
    /// A time stamp stands before the payload.
    pub const TIMESTAMP: u32 = 1 << 11;
    /// A GUID stands behind the header.
    pub const GUID: u32 = 1 << 23;

    /// What kind of message it begins.
    ///
    /// # Errors
    /// When TYPE or SUBTYPE is none that is known, or a reserved bit is set.
    #[inline]
    pub fn kind(self) -> Result<Kind, Malformed> {
        let found = kinds::KINDS[(self.0 & 0xF) as usize][(self.0 >> 24 & 0x3F) as usize];
        // As nearly all are.
        if self.is_full() { found } else { self.other_kind(found) }
    }

    #[inline(never)]
    fn other_kind(self, found: Result<Kind, Malformed>) -> Result<Kind, Malformed> {
        match found {
            Ok(kind) if !kind.is_short_form() && self.0 & RESERVED != 0 => Err(Malformed::ReservedBits),
            found => found,
        }
    }

    /// Whether it begins a message other than a short form. Cheaper than [`Header::kind`], for those who only pass by.
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

    /// Who sent it, as far as the header tells.
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
    /// The byte that tells which form follows.
    #[must_use]
    pub fn format(self) -> u8 {
        match self {
            Location::FileLine16(..) => 0,
            Location::FileLine32(..) => 1,
            Location::Address32(_) => 2,
            Location::Address64(_) => 3,
        }
    }

    /// The file's number and the line, if it is told so.
    #[must_use]
    pub fn file_line(self) -> Option<(u32, u32)> {
        match self {
            Location::FileLine16(file, line) => Some((file.into(), line.into())),
            Location::FileLine32(file, line) => Some((file, line)),
            _ => None,
        }
    }

    /// The code address, if it is told so.
    #[must_use]
    pub fn address(self) -> Option<u64> {
        match self {
            Location::Address32(address) => Some(address.into()),
            Location::Address64(address) => Some(address),
            _ => None,
        }
    }
}

/// Why bytes are no message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
pub enum Malformed {
    /// There are none.
    #[error("there is no byte")]
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
}

/// Takes fields from the front of bytes.
#[derive(Clone, Copy, Debug)]
pub struct Reader<'a>(pub &'a [u8]);

impl<'a> Reader<'a> {
    /// The next `N` bytes.
    #[inline]
    pub fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (head, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*head)
    }

    /// A u8.
    #[inline]
    pub fn u8(&mut self) -> Option<u8> {
        self.array::<1>().map(|[byte]| byte)
    }

    /// A u16.
    #[inline]
    pub fn u16(&mut self) -> Option<u16> {
        self.array().map(u16::from_le_bytes)
    }

    /// A u32.
    #[inline]
    pub fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }

    /// A u64.
    #[inline]
    pub fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }

    /// Bytes up to a NUL, which is taken too, or to the end; and whether there was a NUL.
    #[inline]
    pub fn text(&mut self) -> (&'a [u8], bool) {
        match memchr::memchr(0, self.0) {
            Some(end) => {
                let (text, rest) = self.0.split_at(end);
                self.0 = rest.get(1..).unwrap_or(&[]);
                (text, true)
            }
            None => (std::mem::take(&mut self.0), false),
        }
    }
}

/// All that stands before the payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fields<'a> {
    /// The first word.
    pub header: Header,
    /// What it is.
    pub kind: Kind,
    /// Who sent it.
    pub guid: Option<&'a Guid>,
    /// From where in the program.
    pub location: Option<Location>,
    /// The length of the payload that the message tells, in bytes.
    pub length: Option<u16>,
    /// The time of the message clock, in its ticks.
    pub timestamp: Option<u64>,
}

impl<'a> Fields<'a> {
    /// Takes the fields from the front of `reader`. Of a short form that is the header word alone.
    ///
    /// # Errors
    /// When a field is missing or is none that is known.
    #[inline(always)]
    pub fn read(reader: &mut Reader<'a>) -> Result<Fields<'a>, Malformed> {
        let header = match reader.u32() {
            Some(word) => Header(word),
            None if reader.0.is_empty() => return Err(Malformed::Empty),
            None => return Err(Malformed::TooShort),
        };
        let kind = header.kind()?;
        let mut fields = Fields { header, kind, guid: None, location: None, length: None, timestamp: None };
        if kind.is_short_form() {
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

/// What is odd about a message that is one all the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Marks(pub u16);

impl Marks {
    /// The checksum does not fit the bytes: nothing of it is sure.
    pub const CRC_BAD: Marks = Marks(1);
    /// The payload is shorter than its length says, or than its kind must be.
    pub const TRUNCATED: Marks = Marks(2);
    /// Bytes stand behind the payload that belong to nothing.
    pub const SURPLUS: Marks = Marks(4);
    /// Arguments of the format are missing.
    pub const MISSING_ARGUMENTS: Marks = Marks(8);
    /// The format has a conversion that is none.
    pub const BAD_FORMAT: Marks = Marks(16);
    /// Bytes of its text were not UTF-8 and are shown as `\xNN`.
    pub const NOT_UTF8: Marks = Marks(32);
    /// The arguments were taken in slots of 8 bytes.
    pub const SLOTS: Marks = Marks(64);
    /// A width or precision was held down.
    pub const CLAMPED: Marks = Marks(128);
    /// The collateral was written for another build.
    pub const OTHER_BUILD: Marks = Marks(256);

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
    /// What stands before the payload.
    pub fields: Fields<'a>,
    /// The payload; of a short form its 4 or 8 bytes.
    pub payload: &'a [u8],
    /// The checksum that it tells.
    pub crc: Option<u32>,
    /// What is odd about it.
    pub marks: Marks,
}

impl<'a> Message<'a> {
    /// Takes `frame` as one message. The frame decides how long it is, the message's length how long its payload is.
    ///
    /// # Errors
    /// When it is none.
    pub fn read_frame(frame: &'a [u8]) -> Result<Message<'a>, Malformed> {
        Message::read(frame, false)
    }

    /// The same. `is_proven`: it is known that the last four bytes are its checksum, and that it fits.
    ///
    /// # Errors
    /// When it is none.
    #[inline(always)]
    pub fn read(frame: &'a [u8], is_proven: bool) -> Result<Message<'a>, Malformed> {
        let mut reader = Reader(frame);
        let fields = Fields::read(&mut reader)?;
        let mut message = Message { fields, payload: reader.0, crc: None, marks: Marks::default() };
        if let Some(len) = fields.kind.short_form_bytes() {
            message.payload = frame.get(..len).ok_or(Malformed::TooShort)?;
            if frame.len() > len {
                message.marks.add(Marks::SURPLUS);
            }
            return Ok(message);
        }
        let told = fields.length.map(usize::from);
        let has_crc = fields.header.has(Header::CHECKSUM);
        if has_crc && is_proven {
            let (payload, crc) = message.payload.split_last_chunk().ok_or(Malformed::TooShort)?;
            (message.payload, message.crc) = (payload, Some(u32::from_le_bytes(*crc)));
        } else if has_crc {
            message.take_checksum(frame, told)?;
        }
        match told {
            Some(len) if len < message.payload.len() => {
                message.payload = message.payload.get(..len).unwrap_or(&[]);
                message.marks.add(Marks::SURPLUS);
            }
            Some(len) if len > message.payload.len() => message.marks.add(Marks::TRUNCATED),
            _ => {}
        }
        Ok(message)
    }

    /// Takes the checksum off the payload, and sees whether it fits. `told`: the length of the payload, if the message tells it.
    #[inline(never)]
    fn take_checksum(&mut self, frame: &'a [u8], told: Option<usize>) -> Result<(), Malformed> {
        let rest = self.payload;
        let fields_bytes = frame.len() - rest.len();
        // A frame may go on behind the checksum: then the length tells where that is, if it fits.
        let told_crc = told.and_then(|len| rest.get(len..)?.first_chunk::<4>().map(|crc| (len, u32::from_le_bytes(*crc))));
        let told_fits =
            told_crc.filter(|&(len, crc)| frame.get(..fields_bytes + len).is_some_and(|all| crc32c::crc32c(all) == crc));
        let at_end = rest.split_last_chunk::<4>().map(|(payload, crc)| (payload.len(), u32::from_le_bytes(*crc)));
        let (len, crc) = told_fits.or(at_end).ok_or(Malformed::TooShort)?;
        self.payload = rest.get(..len).unwrap_or(&[]);
        self.crc = Some(crc);
        let all = frame.get(..fields_bytes + len).unwrap_or(&[]);
        if told_fits.is_none() && crc32c::crc32c(all) != crc {
            self.marks.add(Marks::CRC_BAD);
        }
        if told_fits.is_some() && fields_bytes + len + 4 < frame.len() {
            self.marks.add(Marks::SURPLUS);
        }
        Ok(())
    }

    /// The number in a short form: the build, or the user's value.
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

    /// Clock value and frequency of a clock message.
    #[must_use]
    pub fn clock(&self) -> Option<(u64, u64)> {
        if self.fields.kind != Kind::ClockSync {
            return None;
        }
        let mut reader = Reader(self.payload);
        reader.u64().zip(reader.u64())
    }

    /// The number that a build message tells.
    #[must_use]
    pub fn build(&self) -> Option<u64> {
        match self.fields.kind {
            Kind::BuildLong => Reader(self.payload).u64(),
            Kind::BuildCompact32 | Kind::BuildCompact64 => self.short_value(),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests;
