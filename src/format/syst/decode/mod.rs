//! Messages → records: what a message means by itself, its text made.
//!
//! All transports give their messages to [`Records::add_frame`]. Texts, arguments and names lie beside the records, so that a record
//! is `Copy`; who sent it and what it is called are numbers into tables of the part, which the resolver looks up once per part.

mod key;
mod payload;
mod program;

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::model::{Tag, TextRef};
use crate::symbols::Symbols;

pub use self::key::{Key, Told};
use super::collateral::{Collateral, Found, Sender};
use super::printf::Format;
use super::printf::write::Writer;
use super::record::{Fields, Location, Malformed, Marks, Message};
use super::scan::{Builds, last_build};
use super::shown;

/// How many bytes of a frame that is no message are shown.
pub const KEPT_RAW_BYTES: usize = 256;

/// How many bytes of raw data are shown of one message.
pub const SHOWN_DATA_BYTES: usize = 4096;

/// What a record is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// A build was told; [`Stored::value`] is its number.
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
    /// The message clock was told: the value, and its frequency in Hz in [`Stored::extra`].
    Clock,
    /// A line of text around the messages.
    Console,
    /// A frame that is no message.
    Malformed(Malformed),
    /// Something the transport says; see [`Notice`].
    Notice(Notice),
}

/// What a transport says about itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Notice {
    /// The number of hex digits is odd; the last one was dropped.
    OddDigits,
    /// A line is too long to be one.
    OverlongLine,
    /// Bytes between messages that are none.
    Unsynced,
    /// A message whose end nothing tells.
    Undelimited,
    /// Data was lost on one master.
    MasterError,
    /// Data was lost, not known where.
    GlobalError,
    /// A trigger; the value is its number.
    Trigger,
    /// The next message began before this one had ended.
    Unfinished,
    /// Data before the start of a message was seen.
    Beginless,
    /// A packet of unknown layout.
    UnknownPacket,
    /// The scheme of time stamps is none whose meaning is known; the value is its number.
    UnknownTime,
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
            Notice::Frequency => "FREQ",
        }
    }
}

/// What a record is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NameRef {
    /// By its body.
    Body,
    /// As an entry of the collateral.
    Entry(u32),
    /// As a name of the part.
    Local(u32),
}

/// Where a record was sent from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SourceRef {
    /// Not told.
    None,
    /// The catalog tells.
    Entry(u32),
    /// An index into [`Records::sources`].
    Local(u32),
}

/// A record.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stored {
    /// Where it starts in the input, in bytes from [`Records::base`].
    pub offset: u32,
    /// How many bytes of input it takes.
    pub len: u32,
    /// What it is.
    pub what: What,
    /// From 0 to 7.
    pub severity: u8,
    /// What is odd about it.
    pub marks: Marks,
    /// An index into [`Records::senders`].
    pub sender: u32,
    /// What it is called.
    pub name: NameRef,
    /// Where it was sent from.
    pub source: SourceRef,
    /// Its text, in [`Records::texts`].
    pub body: TextRef,
    /// Its arguments: where they start in [`Records::args`], and how many there are.
    pub args: (u32, u32),
    /// The time of the message clock, in ticks.
    pub timestamp: Option<u64>,
    /// The time of the transport, in ticks.
    pub transport: Option<u64>,
    /// A number that its kind has.
    pub value: u64,
    /// Another one.
    pub extra: u64,
}

/// Who sent a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SenderKey {
    /// GUID or module.
    pub sender: Sender,
    /// The unit.
    pub unit: u16,
    /// Master and channel, if the transport has them.
    pub place: Option<(u16, u16)>,
}

/// How many senders are found without looking them up.
const RECENT_SENDERS: usize = 16;

impl SenderKey {
    /// Who sent a message.
    fn of(fields: &Fields<'_>, place: Option<(u16, u16)>) -> SenderKey {
        let unit = if fields.kind.is_short_form() { 0 } else { fields.header.unit() };
        SenderKey { sender: Sender::of(fields), unit, place }
    }

    /// Whether it is who sent a message.
    #[inline]
    fn is_of(&self, fields: &Fields<'_>, place: Option<(u16, u16)>) -> bool {
        let is_sender = match (&self.sender, fields.guid) {
            (Sender::Guid(known), Some(guid)) => known == guid,
            (Sender::Module(known), None) => *known == fields.header.module() && !fields.kind.is_short_form(),
            (Sender::Unknown, _) => fields.kind.is_short_form(),
            _ => false,
        };
        is_sender && self.place == place && (self.unit == fields.header.unit() || fields.kind.is_short_form())
    }
}

/// Where the sender of a message stands among the recent ones: those of one client lie side by side.
#[inline]
fn place_in_recent(fields: &Fields<'_>, place: Option<(u16, u16)>) -> usize {
    let channel = place.map_or(0, |(master, channel)| usize::from(master ^ channel));
    let who = match fields.guid {
        Some(guid) => usize::from(guid[0] ^ guid[15]),
        // Their bits are the user's.
        None if fields.kind.is_short_form() => return channel % RECENT_SENDERS,
        None => usize::from(fields.header.module()),
    };
    (4 * who).wrapping_add(usize::from(fields.header.unit())).wrapping_add(channel) % RECENT_SENDERS
}

/// A sender of the part.
#[derive(Clone, Copy, Debug)]
pub struct PartSender {
    /// Who.
    pub key: SenderKey,
    /// The client in the collateral.
    pub found: Option<Found>,
}

/// Where in a program, not yet looked up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PartSource {
    /// The client in the collateral, or none.
    pub client: Option<u32>,
    /// File and line, or an address.
    pub location: Location,
}

/// The records of one part.
#[derive(Debug, Default)]
pub struct Records {
    /// Where the part starts in the input, in bytes.
    pub base: u64,
    /// The records, in file order.
    pub stored: Vec<Stored>,
    /// Texts of records and arguments.
    pub texts: String,
    /// Arguments of records.
    pub args: Vec<Told>,
    /// Who sent them.
    pub senders: Vec<PartSender>,
    /// Names that records have.
    pub names: Vec<String>,
    /// Where they were sent from.
    pub sources: Vec<PartSource>,
    /// Bytes that became records, or that belong to them.
    pub ok_bytes: u64,
    /// The builds that senders told last, and where, in a stream that is decoded in order.
    builds: FxHashMap<Sender, (u64, u64)>,
    /// By sender: the build for which its client was chosen.
    chosen_for: Vec<Option<u64>>,
    sender_of: FxHashMap<SenderKey, u32>,
    /// Senders that were looked up, each at [`place_in_recent`].
    recent_senders: [Option<(SenderKey, u32)>; RECENT_SENDERS],
    name_of: FxHashMap<Box<[u8]>, u32>,
    /// By a catalog's number: the name of its messages, if nobody knows the format.
    unknown_of: FxHashMap<u64, u32>,
    /// By the format's text: the compiled format, and its name.
    format_of: FxHashMap<Box<[u8]>, u32>,
    formats: Vec<(Format, u32)>,
    source_of: FxHashMap<PartSource, u32>,
    writer: Writer,
    /// Texts of the arguments of a message whose own text is being made.
    beside: String,
}

/// What decoding needs to know beside the bytes.
#[derive(Clone, Default)]
pub struct Decoder {
    /// The catalogs.
    pub collateral: Arc<Collateral>,
    /// The builds of text and raw inputs, found by the first pass: their parts are decoded in any order.
    pub builds: Option<Arc<Builds>>,
    /// The program that ran on the target: it may have formats, too.
    pub symbols: Option<Arc<Symbols>>,
}

/// Where a frame comes from.
#[derive(Clone, Copy, Debug, Default)]
pub struct Context {
    /// Where in the input, in bytes.
    pub offset: u64,
    /// How many bytes of input it takes.
    pub len: usize,
    /// Master and channel.
    pub place: Option<(u16, u16)>,
    /// The time of the transport, in ticks.
    pub transport: Option<u64>,
}

impl Records {
    /// Forgets the content and keeps the memory, for another part.
    pub fn reset(&mut self, base: u64) {
        self.base = base;
        self.stored.clear();
        self.texts.clear();
        self.args.clear();
        self.senders.clear();
        self.chosen_for.clear();
        self.names.clear();
        self.sources.clear();
        self.ok_bytes = 0;
        self.sender_of.clear();
        self.recent_senders = [None; RECENT_SENDERS];
        self.name_of.clear();
        self.unknown_of.clear();
        self.format_of.clear();
        self.formats.clear();
        self.source_of.clear();
    }

    /// A text of this part; empty for a foreign reference.
    #[inline]
    #[must_use]
    pub fn text(&self, text: TextRef) -> &str {
        let start = text.start as usize;
        self.texts.get(start..start.saturating_add(text.len as usize)).unwrap_or("")
    }

    /// The arguments of a record.
    #[inline]
    #[must_use]
    pub fn args_of(&self, stored: &Stored) -> &[Told] {
        let start = stored.args.0 as usize;
        self.args.get(start..start.saturating_add(stored.args.1 as usize)).unwrap_or(&[])
    }

    /// Takes a frame: a message, or what is none.
    pub fn add_frame(&mut self, decoder: &Decoder, frame: &[u8], context: Context) {
        self.add_read(decoder, Message::read(frame, false), frame, context);
    }

    /// Takes a message whose checksum fits.
    pub fn add_proven_frame(&mut self, decoder: &Decoder, frame: &[u8], context: Context) {
        self.add_read(decoder, Message::read(frame, true), frame, context);
    }

    #[inline(always)]
    fn add_read(&mut self, decoder: &Decoder, read: Result<Message<'_>, Malformed>, frame: &[u8], context: Context) {
        match read {
            Ok(message) => self.add_message(decoder, &message, context),
            Err(reason) => self.add_malformed(reason, frame, context),
        }
    }

    /// Takes a message.
    #[inline]
    pub fn add_message(&mut self, decoder: &Decoder, message: &Message<'_>, context: Context) {
        let header = message.fields.header;
        if let Some(build) = message.build().filter(|_| !message.marks.has(Marks::CRC_BAD)) {
            self.take_build(decoder, Sender::of(&message.fields), build, context.offset);
        }
        let sender = self.sender(decoder, &message.fields, context);
        let severity = if message.fields.kind.is_short_form() { 0 } else { header.severity() };
        let found = self.senders.get(sender as usize).and_then(|sender| sender.found);
        // It is made in its place: to make it elsewhere in small pieces and copy it in large ones makes the processor wait.
        let mut all = std::mem::take(&mut self.stored);
        all.push(self.empty(What::Text, context));
        if let Some(stored) = all.last_mut() {
            stored.severity = severity;
            stored.marks = message.marks;
            stored.sender = sender;
            stored.timestamp = message.fields.timestamp.filter(|_| !message.marks.has(Marks::CRC_BAD));
            self.take_location(decoder, stored, found, message.fields.location);
            self.take_payload(decoder, stored, message, found);
            if matches!(stored.name, NameRef::Entry(_)) && found.is_some_and(|found| found.other_build) {
                stored.marks.add(Marks::OTHER_BUILD);
            }
            stored.args.1 = u32::try_from(self.args.len()).unwrap_or(u32::MAX) - stored.args.0;
        }
        self.stored = all;
        self.ok_bytes += context.len as u64;
    }

    /// Takes bytes that are no message. They are not decoded.
    #[cold]
    pub fn add_malformed(&mut self, reason: Malformed, frame: &[u8], context: Context) {
        let mut stored = self.empty(What::Malformed(reason), context);
        stored.body = self.hex_text(frame, KEPT_RAW_BYTES);
        self.stored.push(stored);
    }

    /// Takes a line of text between messages.
    pub fn add_console(&mut self, line: &[u8], context: Context) {
        let start = self.texts.len();
        shown::push_console(line, &mut self.texts);
        if self.texts.get(start..).is_none_or(|text| text.trim().is_empty()) {
            self.texts.truncate(start);
            return;
        }
        let mut stored = self.empty(What::Console, context);
        stored.body = self.since(start);
        self.stored.push(stored);
    }

    /// Takes what a transport says. Its bytes count as decoded, or as skipped, where it is entered in the ledger.
    pub fn add_notice(&mut self, notice: Notice, value: u64, context: Context) {
        let mut stored = self.empty(What::Notice(notice), context);
        stored.value = value;
        stored.extra = context.len as u64;
        if context.place.is_some() {
            // No message has this unit: a short one of the same place may have a client.
            let key = SenderKey { sender: Sender::Unknown, unit: u16::MAX, place: context.place };
            stored.sender = self.sender_without_client(key);
        }
        self.stored.push(stored);
    }

    fn empty(&self, what: What, context: Context) -> Stored {
        Stored {
            offset: u32::try_from(context.offset.saturating_sub(self.base)).unwrap_or(u32::MAX),
            len: u32::try_from(context.len).unwrap_or(u32::MAX),
            what,
            severity: 0,
            marks: Marks::default(),
            sender: u32::MAX,
            name: NameRef::Body,
            source: SourceRef::None,
            body: TextRef::NONE,
            args: (u32::try_from(self.args.len()).unwrap_or(u32::MAX), 0),
            timestamp: None,
            transport: context.transport,
            value: 0,
            extra: 0,
        }
    }

    /// The text that was appended since.
    fn since(&self, start: usize) -> TextRef {
        match (u32::try_from(start), u32::try_from(self.texts.len() - start)) {
            (Ok(start), Ok(len)) => TextRef { start, len },
            _ => TextRef::NONE,
        }
    }

    fn hex_text(&mut self, bytes: &[u8], limit: usize) -> TextRef {
        let start = self.texts.len();
        shown::push_hex(bytes.get(..limit).unwrap_or(bytes), &mut self.texts);
        self.since(start)
    }

    #[inline]
    fn sender(&mut self, decoder: &Decoder, fields: &Fields<'_>, context: Context) -> u32 {
        match &self.recent_senders[place_in_recent(fields, context.place)] {
            Some((recent, index)) if recent.is_of(fields, context.place) => *index,
            _ => self.look_up_sender(decoder, fields, context),
        }
    }

    #[inline(never)]
    fn look_up_sender(&mut self, decoder: &Decoder, fields: &Fields<'_>, context: Context) -> u32 {
        let (key, offset) = (SenderKey::of(fields, context.place), context.offset);
        let build = self.build_of(decoder, key.sender, offset);
        let known = self.sender_of.get(&key).map(|&index| index as usize);
        let index = match known {
            Some(index) if self.chosen_for.get(index) == Some(&build) => index as u32,
            _ => {
                let found = decoder.collateral.client(key.sender, key.place, build);
                match known {
                    Some(index) if self.senders.get(index).is_some_and(|sender| sender.found == found) => {
                        self.chosen_for[index] = build;
                        index as u32
                    }
                    // What was said before a build keeps its client: the sender goes on under a new number.
                    _ => self.add_sender(PartSender { key, found }, build),
                }
            }
        };
        self.recent_senders[place_in_recent(fields, context.place)] = Some((key, index));
        index
    }

    fn sender_without_client(&mut self, key: SenderKey) -> u32 {
        match self.sender_of.get(&key) {
            Some(&index) => index,
            None => self.add_sender(PartSender { key, found: None }, None),
        }
    }

    fn add_sender(&mut self, sender: PartSender, build: Option<u64>) -> u32 {
        let index = u32::try_from(self.senders.len()).unwrap_or(u32::MAX);
        self.sender_of.insert(sender.key, index);
        self.senders.push(sender);
        self.chosen_for.push(build);
        index
    }

    /// The build that a sender told last before `offset`.
    fn build_of(&self, decoder: &Decoder, sender: Sender, offset: u64) -> Option<u64> {
        if !decoder.collateral.has_builds() {
            return None;
        }
        match &decoder.builds {
            Some(builds) => builds.last_of(sender, offset),
            None => last_build(sender, |of| self.builds.get(&of).copied()),
        }
    }

    #[cold]
    fn take_build(&mut self, decoder: &Decoder, sender: Sender, build: u64, offset: u64) {
        if decoder.collateral.has_builds() {
            if decoder.builds.is_none() {
                self.builds.insert(sender, (offset, build));
            }
            // Clients are chosen anew.
            self.recent_senders = [None; RECENT_SENDERS];
        }
    }

    /// A name of the part. There is no limit: which names come first depends on where parts begin, and a part has only so many bytes.
    fn local_name(&mut self, bytes: &[u8]) -> u32 {
        if let Some(&index) = self.name_of.get(bytes) {
            return index;
        }
        let mut name = String::new();
        shown::push(bytes, &mut name);
        let index = u32::try_from(self.names.len()).unwrap_or(u32::MAX);
        self.names.push(name);
        self.name_of.insert(bytes.into(), index);
        index
    }

    fn take_location(&mut self, decoder: &Decoder, stored: &mut Stored, found: Option<Found>, location: Option<Location>) {
        let Some(location) = location else { return };
        let client = found.map(|found| found.client);
        if let Some(address) = location.address() {
            self.args.push(Told::of_bits(Key::CODE_ADDRESS, Tag::Hex, address));
        } else if let Some((file, line)) = location.file_line()
            && client.and_then(|client| decoder.collateral.get(client)?.file(file)).is_none()
        {
            self.args.push(Told::of_bits(Key::FILE_ID, Tag::Uint, file.into()));
            self.args.push(Told::of_bits(Key::LINE, Tag::Uint, line.into()));
        }
        let source = PartSource { client, location };
        let index = match self.source_of.get(&source) {
            Some(&index) => index,
            None => {
                let index = u32::try_from(self.sources.len()).unwrap_or(u32::MAX);
                self.sources.push(source);
                self.source_of.insert(source, index);
                index
            }
        };
        stored.source = SourceRef::Local(index);
    }
}
