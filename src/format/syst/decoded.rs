//! Decoded records: the kinds of records, their names, sources and arguments.
//!
//! A record ([`Stored`]) is `Copy`. Its texts, arguments, names and senders are in the tables of
//! [`Records`](super::decode::Records), to which it refers by number.

use super::record::{Malformed, Marks};
use crate::model::{Tagged, TextRef};

/// The kind of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordKind {
    /// A build; [`Stored::value`] is its number.
    Build,
    /// A short message; the value is the user's.
    Short {
        /// Whether it has 60 bits; else 28.
        wide: bool,
    },
    /// A text.
    Text,
    /// A function was entered.
    Enter,
    /// A function was left.
    Exit,
    /// The library was used wrongly.
    InvalidParam,
    /// An assertion failed.
    Assert,
    /// A printf message.
    Printf,
    /// A catalog message; the value is its id. [`Stored::extra`] is 1 if its format is the program's, not a collateral's.
    Catalog,
    /// Data of a protocol; the value is its number.
    Raw,
    /// Structured data; the value is its id.
    Sbd,
    /// A reading of the message clock: the value, and its frequency in Hz in [`Stored::extra`].
    Clock,
    /// A line of text around the messages.
    Console,
    /// A frame that is not a valid message.
    Malformed(Malformed),
    /// A notice of the transport.
    Notice(Notice),
}

/// An observation of the transport that is not a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Notice {
    /// The number of hex digits is odd; the last one was dropped.
    OddDigits,
    /// A line is too long to be one.
    OverlongLine,
    /// Bytes that belong to no message.
    Unsynced,
    /// A message whose end is not known.
    Undelimited,
    /// Data was lost on one master.
    MasterError,
    /// Data was lost; the master is not known.
    GlobalError,
    /// A trigger; the value is its number.
    Trigger,
    /// The next message began before this one had ended.
    Unfinished,
    /// Data without the start of its message.
    Beginless,
    /// A packet of unknown layout.
    UnknownPacket,
    /// The scheme of time stamps is not public; the value is its number.
    UnknownTime,
    /// A time stamp that is not between the full ones around it; the value is what was sent.
    WrongTime,
    /// A scheme of time stamps that those around it contradict; the value is its number.
    WrongVersion,
    /// A frequency that those around it contradict, in Hz.
    WrongFrequency,
    /// The clock's frequency in Hz, in [`Stored::value`].
    Frequency,
}

impl Notice {
    /// Its name, for people and scripts.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Notice::OddDigits => "odd digits",
            Notice::OverlongLine => "overlong line",
            Notice::Unsynced => "unsynced",
            Notice::Undelimited => "undelimited",
            Notice::MasterError => "MERR",
            Notice::GlobalError => "GERR",
            Notice::Trigger => "TRIG",
            Notice::Unfinished => "unfinished message",
            Notice::Beginless => "beginless message",
            Notice::UnknownPacket => "unknown packet",
            Notice::UnknownTime => "unknown time stamps",
            Notice::WrongTime => "wrong time stamp",
            Notice::WrongVersion => "wrong VERSION",
            Notice::WrongFrequency => "wrong FREQ",
            Notice::Frequency => "FREQ",
        }
    }
}

/// The name of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NameRef {
    /// Its body.
    Body,
    /// That of an entry of the collateral.
    Entry(u32),
    /// A name of the part.
    Local(u32),
    /// [`name_of_unknown`]: that of a catalog message whose format is not known.
    CatalogId,
}

/// The name of catalog messages with an id whose format is not known.
#[must_use]
pub fn name_of_unknown(id: u64) -> String {
    format!("catalog {id:#x}")
}

/// Where a record was sent from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SourceRef {
    /// Not known.
    None,
    /// That of an entry of the collateral.
    Entry(u32),
    /// An index into [`Records::sources`](super::decode::Records::sources).
    Local(u32),
}

/// A record.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stored {
    /// Where it starts in the input, in bytes from [`Records::base`](super::decode::Records::base).
    pub offset: u32,
    /// How many bytes of input it takes.
    pub len: u32,
    /// Its kind.
    pub kind: RecordKind,
    /// From 0 to 7.
    pub severity: u8,
    /// Oddities.
    pub marks: Marks,
    /// An index into [`Records::senders`](super::decode::Records::senders).
    pub sender: u32,
    /// Its name.
    pub name: NameRef,
    /// Where it was sent from.
    pub source: SourceRef,
    /// Its text, in [`Records::texts`](super::decode::Records::texts).
    pub body: TextRef,
    /// Its arguments: where they start in [`Records::args`](super::decode::Records::args), and how many there are.
    pub args: (u32, u32),
    /// The time of the message clock, in ticks.
    pub timestamp: Option<u64>,
    /// The time of the transport, in ticks.
    pub transport: Option<u64>,
    /// A number; its meaning depends on the kind.
    pub value: u64,
    /// Another number.
    pub extra: u64,
}

impl Stored {
    /// Whether it is a message without oddities that says nothing about clocks.
    #[inline]
    #[must_use]
    pub fn is_plain_message(&self) -> bool {
        let is_other =
            matches!(self.kind, RecordKind::Clock | RecordKind::Console | RecordKind::Malformed(_) | RecordKind::Notice(_));
        !is_other && self.marks == Marks::default()
    }
}

/// The name of an argument: one of those below, or its place among the arguments of the format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Key(u16);

impl Key {
    /// The number of a catalog's format.
    pub const CATALOG_ID: Key = Key(0);
    /// Bytes, as hex.
    pub const DATA: Key = Key(1);
    /// The number of bytes.
    pub const DATA_LENGTH: Key = Key(2);
    /// The number of a structured record.
    pub const ID: Key = Key(3);
    /// Its address.
    pub const ADDRESS: Key = Key(4);
    /// Its name.
    pub const NAME: Key = Key(5);
    /// The code address that sent the message.
    pub const CODE_ADDRESS: Key = Key(6);
    /// The number of a file that the collateral does not have.
    pub const FILE_ID: Key = Key(7);
    /// The line in that file.
    pub const LINE: Key = Key(8);
    /// The text of a build.
    pub const TEXT: Key = Key(9);

    /// The names, in the order of the numbers above.
    const NAMES: [&str; 10] =
        ["catalog_id", "data", "data_len", "id", "address", "name", "code_address", "file_id", "line", "build_text"];

    /// An argument, by its place among those of the format.
    #[inline]
    #[must_use]
    pub fn place(place: u16) -> Key {
        Key(place.saturating_add(Self::NAMES.len() as u16))
    }

    /// The number of the key: small.
    #[inline]
    #[must_use]
    pub fn index(self) -> usize {
        self.0.into()
    }

    /// Its name, or the argument's place.
    ///
    /// # Errors
    /// The place, if it is one.
    pub fn name(self) -> Result<&'static str, usize> {
        Self::NAMES.get(self.index()).copied().ok_or(self.index().saturating_sub(Self::NAMES.len()))
    }
}

/// An argument of a record.
pub type RecordArg = Tagged<Key>;
