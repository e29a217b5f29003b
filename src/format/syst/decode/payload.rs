//! The payload of each type of message.

use super::{Decoder, Queued, Records, number, text_ref};
use crate::format::syst::collateral::{Client, ClientMatch};
use crate::format::syst::decoded::{Key, NameRef, RecordArg, RecordKind, SourceRef, Stored};
use crate::format::syst::record::{CLOCK_BYTES, Header, Kind, Marks, Message, Pointers, Reader, Sbd};
use crate::model::{Tag, TextRef};
use crate::printf::escape::{self, PendingText};
use crate::printf::write::{Oddities, Value};
use crate::printf::{Format, Packing};
use crate::symbols::Symbols;

/// How many bytes of raw data are shown of one message.
pub const SHOWN_DATA_BYTES: usize = 4096;

/// How many arguments of a catalog message are shown as words if its format is not known. Surplus bytes may follow the arguments
/// (some targets' logging adds bookkeeping).
const RAW_WORDS: usize = 16;

impl Records {
    /// Decodes a payload. Most are of a catalog, so all other kinds have functions of their own, and leave the registers to these.
    #[inline(always)]
    pub(super) fn decode_payload(
        &mut self,
        decoder: &Decoder,
        stored: &mut Stored,
        record: u32,
        message: &Message<'_>,
        found: Option<ClientMatch>,
    ) {
        let client = found.and_then(|found| decoder.collateral.get(found.client));
        match message.fields.kind {
            Kind::Catalog { wide_id, pointers } => {
                self.decode_catalog(decoder, stored, record, message.payload, client, (wide_id, pointers));
            }
            Kind::Printf(pointers) => self.decode_printf(stored, message.payload, pointers),
            Kind::Generic => self.decode_text(stored, RecordKind::Text, message.payload),
            Kind::InvalidParam => self.decode_text(stored, RecordKind::InvalidParam, message.payload),
            Kind::Assert => self.decode_text(stored, RecordKind::Assert, message.payload),
            Kind::FunctionEnter => self.decode_function(stored, RecordKind::Enter, message.payload),
            Kind::FunctionExit => self.decode_function(stored, RecordKind::Exit, message.payload),
            Kind::Short32 | Kind::Short64 => {
                let wide = message.fields.kind == Kind::Short64;
                stored.kind = RecordKind::Short { wide };
                stored.value = message.short_value().unwrap_or(0);
                self.decode_short(decoder, stored, client, wide);
            }
            Kind::BuildLong | Kind::BuildCompact32 | Kind::BuildCompact64 => {
                let text = message.payload.get(8..).filter(|_| message.fields.kind == Kind::BuildLong);
                self.decode_build(stored, message.build(), text);
            }
            Kind::ClockSync => {
                stored.kind = RecordKind::Clock;
                match message.clock() {
                    Some((value, hz)) => {
                        (stored.value, stored.extra) = (value, hz);
                        if message.payload.len() > CLOCK_BYTES {
                            stored.marks.add(Marks::SURPLUS);
                        }
                    }
                    None => stored.marks.add(Marks::TRUNCATED),
                }
            }
            Kind::Raw(protocol) => self.decode_raw(decoder, stored, message.payload, client, protocol),
            Kind::Sbd(subtype) => self.decode_sbd(stored, (message.fields.header, subtype), message.payload, client.is_some()),
        }
    }

    #[inline(never)]
    fn decode_text(&mut self, stored: &mut Stored, kind: RecordKind, payload: &[u8]) {
        stored.kind = kind;
        let mut reader = Reader(payload);
        let (text, _) = reader.text();
        self.push_body(stored, text);
        // Linux passes on whatever programs write.
        if reader.0.iter().any(|&byte| byte != 0) {
            self.add_data(reader.0);
        }
    }

    fn push_body(&mut self, stored: &mut Stored, text: &[u8]) {
        let start = self.texts.text_len();
        if !self.texts.push_escaped(text) {
            stored.marks.add(Marks::NOT_UTF8);
        }
        stored.body = self.since(start);
    }

    #[inline(never)]
    fn decode_function(&mut self, stored: &mut Stored, kind: RecordKind, payload: &[u8]) {
        stored.kind = kind;
        let (text, _) = Reader(payload).text();
        self.push_body(stored, text);
        stored.name = NameRef::Local(self.local_name(text));
    }

    /// `text`: of a long build.
    #[inline(never)]
    fn decode_build(&mut self, stored: &mut Stored, build: Option<u64>, text: Option<&[u8]>) {
        stored.kind = RecordKind::Build;
        let Some(build) = build else {
            stored.marks.add(Marks::TRUNCATED);
            return;
        };
        stored.value = build;
        stored.name = NameRef::Local(self.local_name(format!("build {build:#x}").as_bytes()));
        if let Some(text) = text {
            self.push_body(stored, Reader(text).text().0);
        }
    }

    #[inline(never)]
    fn decode_short(&mut self, decoder: &Decoder, stored: &mut Stored, client: Option<&Client>, wide: bool) {
        let number = self.entry_of(decoder, stored.sender, client, |client| client.short(wide, stored.value));
        match number.and_then(|number| Some((number, decoder.collateral.entry(number)?))) {
            Some((number, entry)) => {
                stored.name = NameRef::Entry(number);
                let value = stored.value & !entry.details.mask;
                // It is the only argument, whatever its type.
                self.format(stored, &entry.format, Packing::Slots64, &value.to_le_bytes(), false);
                if !entry.format.is_plain() {
                    self.args.push(RecordArg::of_bits(Key::place(0), Tag::Uint, value));
                    // The value of a counter.
                    stored.extra = value;
                }
            }
            None => {
                let start = self.texts.text_len();
                self.texts.push_hex_number(stored.value, if wide { 15 } else { 7 });
                stored.body = self.since(start);
            }
        }
    }

    fn decode_catalog(
        &mut self,
        decoder: &Decoder,
        stored: &mut Stored,
        record: u32,
        payload: &[u8],
        client: Option<&Client>,
        (wide, pointers): (bool, Pointers),
    ) {
        stored.kind = RecordKind::Catalog;
        let mut reader = Reader(payload);
        let id = if wide { reader.u64() } else { reader.u32().map(u64::from) };
        let Some(id) = id else {
            stored.marks.add(Marks::TRUNCATED);
            return;
        };
        stored.value = id;
        let arguments = reader.0;
        if let Some(entry) = self.entry_of(decoder, stored.sender, client, |client| client.catalog(wide, id)) {
            stored.name = NameRef::Entry(entry);
            self.queued_bytes.extend_from_slice(arguments);
            self.queued.push(Queued { record, entry, pointers, end: number(self.queued_bytes.len()) });
            return;
        }
        if let Some(symbols) = &decoder.symbols
            && let Some(text) = format_at(symbols, id)
        {
            stored.extra = 1;
            self.args.push(RecordArg::of_bits(Key::CATALOG_ID, Tag::Hex, id));
            return self.decode_with_format(stored, text, pointers, true, arguments);
        }
        stored.name = NameRef::CatalogId;
        for (place, word) in (0u16..).zip(arguments.chunks(4).take(RAW_WORDS)) {
            let value = word.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte));
            self.args.push(RecordArg::of_bits(Key::place(place), Tag::Hex, value));
        }
        if arguments.len() > 4 * RAW_WORDS {
            self.add_data(arguments);
        }
    }

    #[inline(never)]
    fn decode_raw(&mut self, decoder: &Decoder, stored: &mut Stored, payload: &[u8], client: Option<&Client>, protocol: u8) {
        stored.kind = RecordKind::Raw;
        stored.value = protocol.into();
        let entry = self.entry_of(decoder, stored.sender, client, |client| client.protocol(protocol));
        let name = match self.protocol_of.get(&(protocol, entry)) {
            Some(&name) => name,
            None => self.name_protocol(decoder, protocol, entry),
        };
        stored.name = NameRef::Local(name);
        self.add_data(payload);
    }

    /// The name of a protocol. `entry`: in the collateral.
    fn name_protocol(&mut self, decoder: &Decoder, protocol: u8, entry: Option<u32>) -> u32 {
        let mut name = PendingText::default();
        name.extend(b"RAW ");
        match entry.and_then(|entry| decoder.collateral.entry(entry)) {
            Some(entry) => {
                let number = u64::from(protocol).to_le_bytes();
                self.writer.write(&entry.format, Packing::Slots64, &number, &mut name, |_| {});
            }
            None => name.extend(protocol.to_string().as_bytes()),
        }
        let name = self.local_name(name.bytes());
        self.protocol_of.insert((protocol, entry), name);
        name
    }

    /// Writes the texts of the last messages. To be called after the last one.
    #[inline(never)]
    pub fn finish(&mut self, decoder: &Decoder) {
        if self.queued.is_empty() {
            return;
        }
        let (mut queued, mut bytes) = (std::mem::take(&mut self.queued), std::mem::take(&mut self.queued_bytes));
        let mut all = std::mem::take(&mut self.stored);
        let entry_of = |message: &Queued| decoder.collateral.entry(message.entry);
        let touched = queued.iter().filter_map(entry_of).fold(0, |sum, entry| sum ^ entry.format.touch());
        std::hint::black_box(touched);
        let mut start = 0;
        for message in &queued {
            let arguments = bytes.get(start as usize..message.end as usize).unwrap_or(&[]);
            start = message.end;
            let (Some(entry), Some(stored)) = (entry_of(message), all.get_mut(message.record as usize)) else { continue };
            if stored.source == SourceRef::None && entry.has_source {
                stored.source = SourceRef::Entry(message.entry);
            }
            let args_start = self.args.len();
            if stored.args.1 > 0 {
                // The args of a record are side by side.
                let (from, len) = (stored.args.0 as usize, stored.args.1 as usize);
                self.args.extend_from_within(from..from + len);
            }
            self.args.push(RecordArg::of_bits(Key::CATALOG_ID, Tag::Hex, stored.value));
            self.format_catalog(stored, &entry.format, message.pointers, arguments);
            stored.args = (number(args_start), number(self.args.len() - args_start));
        }
        queued.clear();
        bytes.clear();
        (self.stored, self.queued, self.queued_bytes) = (all, queued, bytes);
    }

    #[inline(never)]
    fn decode_printf(&mut self, stored: &mut Stored, payload: &[u8], pointers: Pointers) {
        stored.kind = RecordKind::Printf;
        let mut reader = Reader(payload);
        let (text, _) = reader.text();
        self.decode_with_format(stored, text, pointers, false, reader.0);
    }

    /// Formats a message whose format is a text of the message, or of the program (`of_catalog`). A format is compiled once per part.
    fn decode_with_format(&mut self, stored: &mut Stored, text: &[u8], pointers: Pointers, of_catalog: bool, arguments: &[u8]) {
        let index = match self.format_of.get(text) {
            Some(&index) => index,
            None => {
                let name = self.local_name(text);
                let index = number(self.formats.len());
                self.formats.push((Format::new(text), name));
                self.format_of.insert(text.into(), index);
                index
            }
        };
        let formats = std::mem::take(&mut self.formats);
        if let Some((format, name)) = formats.get(index as usize) {
            stored.name = NameRef::Local(*name);
            if of_catalog {
                self.format_catalog(stored, format, pointers, arguments);
            } else {
                self.format(stored, format, Packing::typed(pointers), arguments, true);
            }
        }
        self.formats = formats;
    }

    /// Writes the text of a catalog message. Its length shows how the arguments are packed.
    #[inline(always)]
    fn format_catalog(&mut self, stored: &mut Stored, format: &Format, pointers: Pointers, arguments: &[u8]) {
        let packing = format.catalog_packing(pointers, arguments);
        if packing == Packing::Slots64 {
            stored.marks.add(Marks::SLOTS);
        } else if format.leaves_bytes(packing, arguments) {
            return self.format_padded(stored, format, pointers, arguments);
        }
        self.format(stored, format, packing, arguments, true);
    }

    /// Of a message with more bytes than its arguments take by type.
    #[cold]
    fn format_padded(&mut self, stored: &mut Stored, format: &Format, pointers: Pointers, arguments: &[u8]) {
        let packed = format.without_padding(pointers, arguments);
        if packed.is_some() {
            stored.marks.add(Marks::SLOTS);
        }
        self.format(stored, format, Packing::typed(pointers), packed.as_deref().unwrap_or(arguments), true);
    }

    /// Writes the text of a message, and lists the arguments if `lists_args`.
    #[inline(always)]
    fn format(&mut self, stored: &mut Stored, format: &Format, packing: Packing, arguments: &[u8], lists_args: bool) {
        let Records { arg_texts, args, texts, writer, .. } = self;
        let (start, args_start) = (texts.text_len(), args.len());
        let mut place = 0u16;
        let list = |value: Value<'_>| {
            if !lists_args {
                return;
            }
            let (tag, bits) = match value {
                Value::Int(value) => (Tag::Int, value.cast_unsigned()),
                Value::Uint(value) => (Tag::Uint, value),
                Value::Hex(value) => (Tag::Hex, value),
                Value::Float(value) => (Tag::Float, value.to_bits()),
                Value::Char(_) | Value::Text(_) => (Tag::Text, push_value(arg_texts, value)),
            };
            args.push(RecordArg::of_bits(Key::place(place), tag, bits));
            place = place.saturating_add(1);
        };
        let (oddities, is_utf8) = writer.write_text(format, packing, arguments, texts, list);
        if !is_utf8 {
            stored.marks.add(Marks::NOT_UTF8);
        }
        if oddities != Oddities::default() {
            stored.marks.add(Marks::of_printf(oddities));
        }
        stored.body = self.since(start);
        if !self.arg_texts.is_empty() {
            self.append_arg_texts(args_start);
        }
    }

    /// Appends the texts of arguments after that of their message.
    fn append_arg_texts(&mut self, args_start: usize) {
        let Records { arg_texts, args, texts, .. } = self;
        let start = number(texts.text_len());
        texts.push_text(arg_texts);
        arg_texts.clear();
        for arg in args.iter_mut().skip(args_start) {
            if let Some(text) = arg.text() {
                *arg = RecordArg::of_text(arg.name, TextRef { start: text.start.saturating_add(start), ..text });
            }
        }
    }

    #[inline(never)]
    fn decode_sbd(&mut self, stored: &mut Stored, (header, subtype): (Header, u8), payload: &[u8], has_client: bool) {
        stored.kind = RecordKind::Sbd;
        let Some(sbd) = Sbd::read(subtype, payload) else {
            stored.marks.add(Marks::TRUNCATED);
            return;
        };
        stored.value = sbd.id;
        // Linux has an STP transport and no collateral.
        let is_in_stp = self.senders.get(stored.sender as usize).is_some_and(|sender| sender.key.place.is_some());
        let ftrace = sbd.ftrace_event(header).filter(|_| is_in_stp && !has_client);
        let mut name = if ftrace.is_some() { b"ftrace event ".to_vec() } else { b"SBD ".to_vec() };
        match (ftrace, sbd.name) {
            (Some(number), _) => name.extend(number.to_string().bytes()),
            (None, Some(text)) => name.extend_from_slice(text),
            (None, None) => name.extend(format!("{:#x}", sbd.id).bytes()),
        }
        stored.name = NameRef::Local(self.local_name(&name));
        self.args.push(RecordArg::of_bits(Key::ID, Tag::Hex, sbd.id));
        if let Some(address) = sbd.address {
            self.args.push(RecordArg::of_bits(Key::ADDRESS, Tag::Hex, address));
        }
        if let Some(name) = sbd.name {
            let start = self.texts.text_len();
            self.texts.push_escaped(name);
            self.args.push(RecordArg::of_text(Key::NAME, self.since(start)));
        }
        self.add_data(sbd.blob);
    }

    fn add_data(&mut self, data: &[u8]) {
        let hex = self.hex_text(data, SHOWN_DATA_BYTES);
        self.args.push(RecordArg::of_text(Key::DATA, hex));
        self.args.push(RecordArg::of_bits(Key::DATA_LENGTH, Tag::Uint, data.len() as u64));
    }
}

/// Appends the text of a value, and returns the bits of an argument that is that text.
#[inline(never)]
fn push_value(texts: &mut String, value: Value<'_>) -> u64 {
    let start = texts.len();
    let mut utf8 = [0; 4];
    let bytes = match value {
        Value::Text(text) => text,
        Value::Char(value) => char::from_u32(value).unwrap_or(char::REPLACEMENT_CHARACTER).encode_utf8(&mut utf8).as_bytes(),
        _ => &[],
    };
    escape::push(bytes, texts);
    RecordArg::of_text(Key::TEXT, text_ref(start, texts.len())).bits()
}

/// The format at an address of the program's constant memory: a text, from its first byte on.
///
/// Zephyr uses the address of the format as the catalog id. An id that is a hash or a counter hardly is the address of the first byte
/// of a text, and ids that the collateral has are not looked up here.
fn format_at(symbols: &Symbols, address: u64) -> Option<&[u8]> {
    let text = symbols.text_at(address).filter(|text| !text.is_empty())?;
    let is_readable = |character: char| !character.is_control() || matches!(character, '\n' | '\r' | '\t' | '\x1B');
    if !text.chars().all(is_readable) {
        return None;
    }
    // No format begins in the middle of another text.
    let before = address.checked_sub(1).and_then(|before| symbols.memory_from(before)?.first().copied());
    before.is_none_or(|byte| byte == 0 || !(byte.is_ascii_graphic() || byte == b' ' || byte >= 0x80)).then_some(text.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::syst::collateral::Collateral;
    use crate::format::syst::decode::Context;

    #[test]
    fn a_short_message_has_one_argument() {
        let mut collateral = Collateral::default();
        let formats = [(1, "%u of %u"), (2, "%lu"), (3, "%hhd")]
            .map(|(id, text)| format!("<Format ID=\"0x{id}00000000000000\" Mask=\"0xF00000000000000\">{text}</Format>"));
        let file = format!("<Collateral><Client Name=\"c\"><Short64>{}</Short64></Client></Collateral>", formats.concat());
        collateral.add(file.as_bytes()).unwrap();
        let decoder = Decoder { collateral: collateral.into(), ..Decoder::default() };
        for (value, text, marks) in [
            (0x100_0000_0000_0007u64, "7 of %u", Marks::of_printf(Oddities::MISSING_ARGUMENTS)),
            (0x200_0001_0000_0000, "4294967296", Marks::default()),
            (0x300_0000_0000_00FE, "-2", Marks::default()),
        ] {
            let mut records = Records::default();
            records.add_frame(&decoder, &(7 | value << 4).to_le_bytes(), Context::default());
            let stored = records.stored[0];
            assert_eq!((records.text(stored.body), stored.marks), (text, marks));
        }
    }

    #[test]
    fn catalog_arguments_may_be_padded() {
        let padded = [&7u32.to_le_bytes()[..], &[0xEE; 4], &2.5f64.to_le_bytes()].concat();
        let packed = [&7u32.to_le_bytes()[..], &2.5f64.to_le_bytes()].concat();
        for (arguments, marks) in [(padded, Marks::SLOTS), (packed, Marks::default())] {
            let mut records = Records::default();
            let mut stored = records.empty(RecordKind::Catalog, Context::default());
            records.decode_with_format(&mut stored, b"%d %.1f", Pointers::Bits32, true, &arguments);
            assert_eq!((records.text(stored.body), stored.marks), ("7 2.5", marks));
        }
    }
}
