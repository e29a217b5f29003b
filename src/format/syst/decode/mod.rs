//! Messages → records. The only decoder of messages: all transports pass the bytes of a message to [`Records::add_frame`].
//!
//! A record is decoded from its message alone (and the collateral): its text is formatted, its arguments are listed. Senders, names
//! and sources are numbers into tables of the part, so that the resolver looks each up once per part. Payloads are decoded in
//! `payload.rs`.

mod payload;

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::collateral::{Client, ClientMatch, Collateral, Sender};
use super::decoded::{Key, NameRef, Notice, RecordArg, RecordKind, SourceRef, Stored};
use super::record::{Fields, Guid, Header, Location, Malformed, Marks, Message, Pointers};
use super::scan::{Builds, last_build};
use crate::model::{Tag, TextRef};
use crate::printf::Format;
use crate::printf::escape::{self, PendingText};
use crate::printf::write::Writer;
use crate::symbols::Symbols;

/// How many bytes of a malformed frame are shown.
pub const KEPT_RAW_BYTES: usize = 256;

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
        let unit = if fields.is_short_form { 0 } else { fields.header.unit() };
        SenderKey { sender: Sender::of(fields), unit, place }
    }
}

/// A sender that was looked up, as its messages tell it.
#[derive(Clone, Copy, Debug)]
struct RecentSender {
    origin: u32,
    guid: Option<Guid>,
    place: Option<(u16, u16)>,
    /// Its index in [`Records::senders`].
    index: u32,
}

/// The bits of a header that tell unit and module, and whether a GUID follows, and a 1. 0 for short forms, whose bits are the user's data.
#[inline]
fn origin(fields: &Fields<'_>) -> u32 {
    if fields.is_short_form { 0 } else { fields.header.0 & Header::ORIGIN | 1 }
}

/// The slot of a message's sender among the recent ones. Senders of one client get slots side by side.
#[inline]
fn place_in_recent(origin: u32, guid: Option<&Guid>, place: Option<(u16, u16)>) -> usize {
    let channel = place.map_or(0, |(master, channel)| u32::from(master ^ channel));
    let who = guid.map_or(origin >> 16, |guid| u32::from(guid[0] ^ guid[15]));
    (4 * who + (origin >> 12) + channel) as usize % RECENT_SENDERS
}

/// A sender of the part.
#[derive(Clone, Copy, Debug)]
pub struct PartSender {
    /// Its key.
    pub key: SenderKey,
    /// The client in the collateral.
    pub found: Option<ClientMatch>,
}

/// A place in the target's program, not yet looked up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PartSource {
    /// The client in the collateral, if known.
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
    pub texts: PendingText,
    /// Arguments of records.
    pub args: Vec<RecordArg>,
    /// Senders of records.
    pub senders: Vec<PartSender>,
    /// Names of records.
    pub names: Vec<String>,
    /// Places in the program that records were sent from.
    pub sources: Vec<PartSource>,
    /// Bytes that became records, or that belong to them.
    pub ok_bytes: u64,
    /// Sender to its last build: offset and number. Only in a stream that is decoded in order.
    builds: FxHashMap<Sender, (u64, u64)>,
    /// By sender: the build for which its client was chosen.
    chosen_for: Vec<Option<u64>>,
    sender_of: FxHashMap<SenderKey, u32>,
    /// By sender: all its clients, for ids that the first one lacks.
    clients_of: FxHashMap<u32, Vec<u32>>,
    /// Senders that were looked up, each at [`place_in_recent`].
    recent_senders: [Option<RecentSender>; RECENT_SENDERS],
    name_of: FxHashMap<Box<[u8]>, u32>,
    /// Number of a protocol and its entry in the collateral, to its name.
    protocol_of: FxHashMap<(u8, Option<u32>), u32>,
    /// Text of a format, to its index in `formats`.
    format_of: FxHashMap<Box<[u8]>, u32>,
    /// Compiled formats and their names.
    formats: Vec<(Format, u32)>,
    source_of: FxHashMap<PartSource, u32>,
    writer: Writer,
    /// Catalog messages whose texts have not been written yet, and the bytes of their arguments.
    queued: Vec<Queued>,
    queued_bytes: Vec<u8>,
    /// Texts of arguments, while the text of their message is being written.
    arg_texts: String,
}

/// A catalog message whose text has not been written yet.
#[derive(Clone, Copy, Debug)]
struct Queued {
    /// Its record.
    record: u32,
    /// Its format.
    entry: u32,
    pointers: Pointers,
    /// The end of its arguments in the queue's bytes.
    end: u32,
}

/// How many catalog messages are queued. Each reads another of thousands of formats, which the processor fetches one after the other while
/// it writes one text after the other, but all at once before it writes the first.
const QUEUED_MESSAGES: usize = 16;

/// What decoding needs besides the bytes.
#[derive(Clone, Default)]
pub struct Decoder {
    /// The catalogs.
    pub collateral: Arc<Collateral>,
    /// The builds of text and raw inputs, from the first pass, because parts are decoded in any order.
    pub builds: Option<Arc<Builds>>,
    /// The program that ran on the target. Its constants may hold formats.
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
    /// Of a notice: messages that began before it follow.
    pub is_early: bool,
}

impl Records {
    /// Forgets the content and keeps the memory, for a part with about this many bytes of messages.
    pub fn start(&mut self, base: u64, bytes: usize) {
        self.reset(base);
        let messages = most_messages(bytes);
        make_room(&mut self.stored, messages);
        make_room(&mut self.args, 3 * messages);
        self.texts.reserve(bytes);
    }

    /// Forgets the content and keeps the memory.
    pub fn reset(&mut self, base: u64) {
        self.base = base;
        self.queued.clear();
        self.queued_bytes.clear();
        self.stored.clear();
        self.texts.clear();
        self.args.clear();
        self.senders.clear();
        self.chosen_for.clear();
        self.names.clear();
        self.sources.clear();
        self.ok_bytes = 0;
        self.sender_of.clear();
        self.clients_of.clear();
        self.recent_senders = [None; RECENT_SENDERS];
        self.name_of.clear();
        self.protocol_of.clear();
        self.format_of.clear();
        self.formats.clear();
        self.source_of.clear();
    }

    /// A text of this part; empty for a foreign reference.
    #[inline]
    #[must_use]
    pub fn text(&self, text: TextRef) -> &str {
        self.texts.text().get(text.range()).unwrap_or("")
    }

    /// The arguments of a record.
    #[inline]
    #[must_use]
    pub fn args_of(&self, stored: &Stored) -> &[RecordArg] {
        let start = stored.args.0 as usize;
        self.args.get(start..start.saturating_add(stored.args.1 as usize)).unwrap_or(&[])
    }

    /// Appends records of another part, with everything they refer to. For records that wait longer than their part lives.
    pub fn append(&mut self, from: &Records, records: &[Stored]) {
        if self.stored.is_empty() {
            self.reset(from.base);
        } else if from.base < self.base && !records.is_empty() {
            // The notice that a message has no end has the offset of the message's start, which may be long before.
            let earlier = u32::try_from(self.base - from.base).unwrap_or(u32::MAX);
            self.stored.iter_mut().for_each(|stored| stored.offset = stored.offset.saturating_add(earlier));
            self.base = from.base;
        }
        for stored in records {
            let mut copy = *stored;
            let offset = (from.base + u64::from(stored.offset)).saturating_sub(self.base);
            copy.offset = u32::try_from(offset).unwrap_or(u32::MAX);
            copy.body = self.append_text(from.text(stored.body));
            copy.args = (number(self.args.len()), 0);
            for arg in from.args_of(stored) {
                let moved = arg.text().map(|text| RecordArg::of_text(arg.name, self.append_text(from.text(text))));
                self.args.push(moved.unwrap_or(*arg));
            }
            copy.args.1 = number(self.args.len()) - copy.args.0;
            if let Some(sender) = from.senders.get(stored.sender as usize) {
                copy.sender = number(self.senders.len());
                self.senders.push(*sender);
            }
            if let NameRef::Local(name) = stored.name
                && let Some(name) = from.names.get(name as usize)
            {
                copy.name = NameRef::Local(number(self.names.len()));
                self.names.push(name.clone());
            }
            if let SourceRef::Local(source) = stored.source
                && let Some(source) = from.sources.get(source as usize)
            {
                copy.source = SourceRef::Local(number(self.sources.len()));
                self.sources.push(*source);
            }
            self.stored.push(copy);
        }
    }

    fn append_text(&mut self, text: &str) -> TextRef {
        let start = number(self.texts.text_len());
        self.texts.push_text(text);
        TextRef { start, len: number(text.len()) }
    }

    /// Decodes a frame. If it is not a valid message, it becomes a record with the reason. The records are not complete until
    /// [`Records::finish`] is called.
    #[inline]
    pub fn add_frame(&mut self, decoder: &Decoder, frame: &[u8], context: Context) {
        self.add_read(decoder, frame, false, context);
    }

    /// Decodes a message whose checksum is known to fit.
    #[inline]
    pub fn add_proven_frame(&mut self, decoder: &Decoder, frame: &[u8], context: Context) {
        self.add_read(decoder, frame, true, context);
    }

    /// In one function with all that each message needs: its fields then stay in registers.
    fn add_read(&mut self, decoder: &Decoder, frame: &[u8], is_proven: bool, context: Context) {
        match Message::read(frame, is_proven) {
            Ok(message) => self.add_message(decoder, &message, context),
            Err(reason) => self.add_malformed(reason, frame, context),
        }
    }

    /// Adds the record of a message.
    #[inline(always)]
    fn add_message(&mut self, decoder: &Decoder, message: &Message<'_>, context: Context) {
        let header = message.fields.header;
        if message.fields.kind.is_build()
            && !message.marks.has(Marks::CRC_BAD)
            && let Some(build) = message.build()
        {
            self.note_build(decoder, Sender::of(&message.fields), build, context.offset);
        }
        let origin = origin(&message.fields);
        let sender = self.sender(decoder, &message.fields, origin, context);
        // Short forms have none.
        let severity = header.severity() * (origin & 1) as u8;
        let found = self.senders.get(sender as usize).and_then(|sender| sender.found);
        // The record is filled in place: filling it elsewhere and copying it stalls the processor (store forwarding).
        let mut all = std::mem::take(&mut self.stored);
        let record = number(all.len());
        all.push(self.empty(RecordKind::Text, context));
        if let Some(stored) = all.last_mut() {
            stored.severity = severity;
            stored.marks = message.marks;
            stored.sender = sender;
            stored.timestamp = message.fields.timestamp.filter(|_| !message.marks.has(Marks::CRC_BAD));
            if let Some(location) = message.fields.location {
                self.add_location(decoder, stored, found, location);
            }
            self.decode_payload(decoder, stored, record, message, found);
            if matches!(stored.name, NameRef::Entry(_)) && found.is_some_and(|found| found.other_build) {
                stored.marks.add(Marks::OTHER_BUILD);
            }
            stored.args.1 = number(self.args.len()) - stored.args.0;
        }
        self.stored = all;
        self.ok_bytes += context.len as u64;
        if self.queued.len() >= QUEUED_MESSAGES {
            self.finish(decoder);
        }
    }

    /// Adds the record of a malformed frame. Its bytes do not count as decoded.
    #[cold]
    pub fn add_malformed(&mut self, reason: Malformed, frame: &[u8], context: Context) {
        let mut stored = self.empty(RecordKind::Malformed(reason), context);
        stored.sender = self.place_alone(context);
        stored.body = self.hex_text(frame, KEPT_RAW_BYTES);
        self.stored.push(stored);
    }

    /// Adds a line of console text.
    pub fn add_console(&mut self, line: &[u8], context: Context) {
        let mut text = std::mem::take(&mut self.arg_texts);
        escape::push_console(line, &mut text);
        if !text.trim().is_empty() {
            let mut stored = self.empty(RecordKind::Console, context);
            stored.body = self.append_text(&text);
            self.stored.push(stored);
        }
        text.clear();
        self.arg_texts = text;
    }

    /// Adds a notice of the transport. The ledger decides whether its bytes count as decoded or as skipped.
    pub fn add_notice(&mut self, notice: Notice, value: u64, context: Context) {
        let mut stored = self.empty(RecordKind::Notice(notice), context);
        stored.value = value;
        stored.extra = context.len as u64;
        if context.is_early {
            stored.marks.add(Marks::EARLY);
        }
        stored.sender = self.place_alone(context);
        self.stored.push(stored);
    }

    /// The sender of a record that is no message: its master and channel.
    fn place_alone(&mut self, context: Context) -> u32 {
        // No message has this unit, so a short message of the same place keeps its own sender, with its client.
        let key = SenderKey { sender: Sender::Unknown, unit: u16::MAX, place: context.place };
        if context.place.is_some() { self.sender_without_client(key) } else { u32::MAX }
    }

    fn empty(&self, kind: RecordKind, context: Context) -> Stored {
        Stored {
            offset: u32::try_from(context.offset.saturating_sub(self.base)).unwrap_or(u32::MAX),
            len: u32::try_from(context.len).unwrap_or(u32::MAX),
            kind,
            severity: 0,
            marks: Marks::default(),
            sender: u32::MAX,
            name: NameRef::Body,
            source: SourceRef::None,
            body: TextRef::NONE,
            args: (number(self.args.len()), 0),
            timestamp: None,
            transport: context.transport,
            value: 0,
            extra: 0,
        }
    }

    /// The text appended since `start`.
    fn since(&self, start: usize) -> TextRef {
        text_ref(start, self.texts.text_len())
    }

    fn hex_text(&mut self, bytes: &[u8], limit: usize) -> TextRef {
        let start = self.texts.text_len();
        self.texts.push_hex(bytes.get(..limit).unwrap_or(bytes));
        self.since(start)
    }

    #[inline]
    fn sender(&mut self, decoder: &Decoder, fields: &Fields<'_>, origin: u32, context: Context) -> u32 {
        let (guid, place) = (fields.guid, context.place);
        let slot = place_in_recent(origin, guid, place);
        match &self.recent_senders[slot] {
            Some(recent) if recent.origin == origin && recent.guid.as_ref() == guid && recent.place == place => recent.index,
            // By value, so that the fields stay in registers.
            _ => {
                let index = self.look_up_sender(decoder, SenderKey::of(fields, place), context.offset);
                self.recent_senders[slot] = Some(RecentSender { origin, guid: guid.copied(), place, index });
                index
            }
        }
    }

    #[inline(never)]
    fn look_up_sender(&mut self, decoder: &Decoder, key: SenderKey, offset: u64) -> u32 {
        let build = self.build_of(decoder, key.sender, offset);
        let known = self.sender_of.get(&key).map(|&index| index as usize);
        match known {
            Some(index) if self.chosen_for.get(index) == Some(&build) => index as u32,
            _ => {
                let found = decoder.collateral.client(key.sender, key.place, build);
                match known {
                    Some(index) if self.senders.get(index).is_some_and(|sender| sender.found == found) => {
                        self.chosen_for[index] = build;
                        index as u32
                    }
                    // Records before a build keep their client: the sender continues under a new number.
                    _ => self.add_sender(PartSender { key, found }, build),
                }
            }
        }
    }

    /// The format that a client has; else that of another client of the sender.
    #[inline(always)]
    fn entry_of(
        &mut self,
        decoder: &Decoder,
        sender: u32,
        client: Option<&Client>,
        entry: impl Fn(&Client) -> Option<u32>,
    ) -> Option<u32> {
        let client = client?;
        entry(client).or_else(|| self.of_others(decoder, sender, &|client, _| entry(client)))
    }

    /// The number that the first client of a sender which has one gives: GUIDs with masks may be those of several.
    #[cold]
    #[inline(never)]
    fn of_others(&mut self, decoder: &Decoder, sender: u32, number: &dyn Fn(&Client, u32) -> Option<u32>) -> Option<u32> {
        let (PartSender { key, .. }, build) = (*self.senders.get(sender as usize)?, *self.chosen_for.get(sender as usize)?);
        let all = || decoder.collateral.all(key.sender, key.place, build).collect();
        let clients = self.clients_of.entry(sender).or_insert_with(all);
        clients.iter().find_map(|&client| number(decoder.collateral.get(client)?, client))
    }

    fn sender_without_client(&mut self, key: SenderKey) -> u32 {
        match self.sender_of.get(&key) {
            Some(&index) => index,
            None => self.add_sender(PartSender { key, found: None }, None),
        }
    }

    fn add_sender(&mut self, sender: PartSender, build: Option<u64>) -> u32 {
        let index = number(self.senders.len());
        self.sender_of.insert(sender.key, index);
        self.senders.push(sender);
        self.chosen_for.push(build);
        index
    }

    /// The last build of a sender before `offset`.
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
    fn note_build(&mut self, decoder: &Decoder, sender: Sender, build: u64, offset: u64) {
        if decoder.collateral.has_builds() {
            if decoder.builds.is_none() {
                self.builds.insert(sender, (offset, build));
            }
            // Other clients may match now.
            self.recent_senders = [None; RECENT_SENDERS];
        }
    }

    /// The number of a name in the part. Without a limit: which names come first depends on where parts begin, and the size of a
    /// part bounds their number.
    fn local_name(&mut self, bytes: &[u8]) -> u32 {
        if let Some(&index) = self.name_of.get(bytes) {
            return index;
        }
        let mut name = String::new();
        escape::push(bytes, &mut name);
        let index = number(self.names.len());
        self.names.push(name);
        self.name_of.insert(bytes.into(), index);
        index
    }

    #[inline(never)]
    fn add_location(&mut self, decoder: &Decoder, stored: &mut Stored, found: Option<ClientMatch>, location: Location) {
        let mut client = found.map(|found| found.client);
        if let (Some((file, _)), Some(own)) = (location.file_line(), client.and_then(|client| decoder.collateral.get(client)))
            && own.file(file).is_none()
        {
            client = self.of_others(decoder, stored.sender, &|client, index| client.file(file).and(Some(index))).or(client);
        }
        if let Some(address) = location.address() {
            self.args.push(RecordArg::of_bits(Key::CODE_ADDRESS, Tag::Hex, address));
        } else if let Some((file, line)) = location.file_line()
            && client.and_then(|client| decoder.collateral.get(client)?.file(file)).is_none()
        {
            self.args.push(RecordArg::of_bits(Key::FILE_ID, Tag::Uint, file.into()));
            self.args.push(RecordArg::of_bits(Key::LINE, Tag::Uint, line.into()));
        }
        let source = PartSource { client, location };
        let index = match self.source_of.get(&source) {
            Some(&index) => index,
            None => {
                let index = number(self.sources.len());
                self.sources.push(source);
                self.source_of.insert(source, index);
                index
            }
        };
        stored.source = SourceRef::Local(index);
    }
}

/// The text between two places.
#[inline]
fn text_ref(from: usize, to: usize) -> TextRef {
    TextRef { start: number(from), len: number(to - from) }
}

/// How many messages this many bytes usually are at most.
pub fn most_messages(bytes: usize) -> usize {
    bytes / 32
}

/// Empties a table and makes room for so many elements. [`Vec::reserve`] would move what is no longer there.
pub fn make_room<T>(table: &mut Vec<T>, elements: usize) {
    table.clear();
    if table.capacity() < elements {
        *table = Vec::with_capacity(elements);
    }
}

/// An index as a number of 32 bits. The size of a part bounds all tables.
#[inline]
fn number(index: usize) -> u32 {
    u32::try_from(index).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The records of messages of a GUID, of which these are the first byte, the subtype and the payload.
    fn records_of(messages: &[(u8, u8, &[u8])], place: Option<(u16, u16)>) -> Records {
        let mut records = Records::default();
        records.reset(0);
        for (first, subtype, payload) in messages {
            let frame = [&[*first, 0, 0x80, *subtype][..], &[0x5B; 16], payload].concat();
            records.add_frame(&Decoder::default(), &frame, Context { place, ..Context::default() });
        }
        records
    }

    #[test]
    fn bytes_after_the_nul_of_a_text_are_kept() {
        let records = records_of(&[(0x42, 1, b"abc\0de\0"), (0x42, 1, b"abc\0\0\0")], None);
        let shown = |stored: &Stored| {
            let texts = records.args_of(stored).iter().filter_map(|arg| arg.text());
            (records.text(stored.body), texts.map(|text| records.text(text)).collect::<Vec<_>>())
        };
        assert_eq!(records.stored.iter().map(shown).collect::<Vec<_>>(), [("abc", vec!["646500"]), ("abc", vec![])]);
    }

    #[test]
    fn events_of_linux_have_their_numbers_as_names() {
        let event: (u8, u8, &[u8]) = (0x49, 1, &[0x39, 1, 0, 0, 0, 0, 0, 0, 7, 7]);
        assert_eq!(records_of(&[event], Some((256, 4))).names, ["ftrace event 313"]);
        assert_eq!(records_of(&[event], None).names, ["SBD 0x139"], "Linux sends over STP");
    }

    #[test]
    fn offsets_are_kept_whichever_part_comes_first() {
        let mut all = Records::default();
        for (base, offset) in [(100, 130), (40, 45), (100, 160)] {
            let mut part = Records::default();
            part.reset(base);
            part.add_notice(Notice::Unfinished, 0, Context { offset, ..Context::default() });
            all.append(&part, &part.stored);
        }
        let offsets: Vec<u64> = all.stored.iter().map(|stored| all.base + u64::from(stored.offset)).collect();
        assert_eq!(offsets, [130, 45, 160]);
    }
}
