//! Payloads: texts, formats with their arguments, data.

use super::{Decoder, Key, NameRef, Records, SHOWN_DATA_BYTES, SourceRef, Stored, Told, What, program};
use crate::format::syst::collateral::{Client, Entry, Found};
use crate::format::syst::printf::write::Value;
use crate::format::syst::printf::{Format, Packing};
use crate::format::syst::record::{Kind, Marks, Message, Pointers, Reader, Sbd};
use crate::format::syst::shown;
use crate::model::{Tag, TextRef};

/// A message may be followed by bytes that are no arguments (bookkeeping of the target's own logging), but a long format that is
/// not found has nothing else: then this many arguments are shown as words.
const RAW_WORDS: usize = 16;

/// The form in which Linux sends its ftrace events: an id of 64 bits and data.
const SBD_OF_LINUX: u8 = 1;

impl Records {
    #[inline]
    pub(super) fn take_payload(&mut self, decoder: &Decoder, stored: &mut Stored, message: &Message<'_>, found: Option<Found>) {
        let client = found.and_then(|found| decoder.collateral.get(found.client));
        match message.fields.kind {
            Kind::Catalog { wide_id, pointers } => self.take_catalog(decoder, stored, message, client, wide_id, pointers),
            Kind::Printf(pointers) => self.take_printf(stored, message, pointers),
            Kind::Generic => self.take_text(stored, What::Text, message.payload),
            Kind::InvalidParam => self.take_text(stored, What::InvalidParam, message.payload),
            Kind::Assert => self.take_text(stored, What::Assert, message.payload),
            Kind::FunctionEnter => self.take_function(stored, What::Enter, message.payload),
            Kind::FunctionExit => self.take_function(stored, What::Exit, message.payload),
            Kind::Short32 | Kind::Short64 => {
                let wide = message.fields.kind == Kind::Short64;
                stored.what = What::Short { wide };
                stored.value = message.short_value().unwrap_or(0);
                self.take_short(decoder, stored, client, wide);
            }
            Kind::BuildLong | Kind::BuildCompact32 | Kind::BuildCompact64 => self.take_build_text(stored, message),
            Kind::ClockSync => {
                stored.what = What::Clock;
                match message.clock() {
                    Some((value, hz)) => (stored.value, stored.extra) = (value, hz),
                    None => stored.marks.add(Marks::TRUNCATED),
                }
            }
            Kind::Raw(protocol) => {
                stored.what = What::Raw;
                stored.value = protocol.into();
                let named = client.and_then(|client| decoder.collateral.entry(client.protocol(protocol)?));
                let mut name = b"RAW ".to_vec();
                match named {
                    Some(entry) => {
                        let number = u64::from(protocol).to_le_bytes();
                        self.writer.write(&entry.format, Packing::Typed32, &number, &mut name, |_| {});
                    }
                    None => name.extend(protocol.to_string().bytes()),
                }
                stored.name = NameRef::Local(self.local_name(&name));
                self.take_data(message.payload);
            }
            Kind::Sbd(subtype) => self.take_sbd(stored, subtype, message.payload, client.is_some()),
        }
    }

    fn take_text(&mut self, stored: &mut Stored, what: What, payload: &[u8]) {
        stored.what = what;
        let (text, _) = Reader(payload).text();
        self.push_body(stored, text);
    }

    fn push_body(&mut self, stored: &mut Stored, text: &[u8]) {
        let start = self.texts.len();
        if !shown::push(text, &mut self.texts) {
            stored.marks.add(Marks::NOT_UTF8);
        }
        stored.body = self.since(start);
    }

    fn take_function(&mut self, stored: &mut Stored, what: What, payload: &[u8]) {
        stored.what = what;
        let (text, _) = Reader(payload).text();
        self.push_body(stored, text);
        stored.name = NameRef::Local(self.local_name(text));
    }

    fn take_build_text(&mut self, stored: &mut Stored, message: &Message<'_>) {
        stored.what = What::Build;
        let Some(build) = message.build() else {
            stored.marks.add(Marks::TRUNCATED);
            return;
        };
        stored.value = build;
        stored.name = NameRef::Local(self.local_name(format!("build {build:#x}").as_bytes()));
        if message.fields.kind == Kind::BuildLong {
            let (text, _) = Reader(message.payload.get(8..).unwrap_or(&[])).text();
            self.push_body(stored, text);
        }
    }

    fn take_short(&mut self, decoder: &Decoder, stored: &mut Stored, client: Option<&Client>, wide: bool) {
        let number = client.and_then(|client| client.short(wide, stored.value));
        match number.and_then(|number| Some((number, decoder.collateral.entry(number)?))) {
            Some((number, entry)) => {
                stored.name = NameRef::Entry(number);
                let value = stored.value & !entry.details.mask;
                self.format(stored, &entry.format, Packing::Typed32, &value.to_le_bytes(), false);
                if !entry.format.is_plain() {
                    self.args.push(Told::of_bits(Key::place(0), Tag::Uint, value));
                    // The value of a counter.
                    stored.extra = value;
                }
            }
            None => {
                let start = self.texts.len();
                let width = if wide { 15 } else { 7 };
                let _ = std::fmt::Write::write_fmt(&mut self.texts, format_args!("0x{:0width$X}", stored.value));
                stored.body = self.since(start);
            }
        }
    }

    fn take_catalog(
        &mut self,
        decoder: &Decoder,
        stored: &mut Stored,
        message: &Message<'_>,
        client: Option<&Client>,
        wide: bool,
        pointers: Pointers,
    ) {
        stored.what = What::Catalog;
        let mut reader = Reader(message.payload);
        let id = if wide { reader.u64() } else { reader.u32().map(u64::from) };
        let Some(id) = id else {
            stored.marks.add(Marks::TRUNCATED);
            return;
        };
        stored.value = id;
        let arguments = reader.0;
        let number = client.and_then(|client| client.catalog(wide, id));
        if let Some((number, entry)) = number.and_then(|number| Some((number, decoder.collateral.entry(number)?))) {
            stored.name = NameRef::Entry(number);
            if stored.source == SourceRef::None && entry.has_source {
                stored.source = SourceRef::Entry(number);
            }
            return self.take_entry(stored, entry, pointers, arguments);
        }
        if let Some(symbols) = &decoder.symbols
            && let Some(text) = program::format_at(symbols, id)
        {
            stored.extra = 1;
            self.args.push(Told::of_bits(Key::CATALOG_ID, Tag::Hex, id));
            let packing = |format: &Format| format.catalog_packing(pointers, arguments);
            return self.take_format(stored, text, packing, arguments);
        }
        stored.name = NameRef::Local(self.name_of_unknown(id));
        for (place, word) in (0u16..).zip(arguments.chunks(4).take(RAW_WORDS)) {
            let value = word.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte));
            self.args.push(Told::of_bits(Key::place(place), Tag::Hex, value));
        }
        if arguments.len() > 4 * RAW_WORDS {
            self.take_data(arguments);
        }
    }

    /// The name of catalog messages whose format nobody knows.
    fn name_of_unknown(&mut self, id: u64) -> u32 {
        match self.unknown_of.get(&id) {
            Some(&name) => name,
            None => {
                let name = self.local_name(format!("catalog {id:#x}").as_bytes());
                self.unknown_of.insert(id, name);
                name
            }
        }
    }

    fn take_entry(&mut self, stored: &mut Stored, entry: &Entry, pointers: Pointers, arguments: &[u8]) {
        let packing = entry.format.catalog_packing(pointers, arguments);
        if packing == Packing::Slots64 {
            stored.marks.add(Marks::SLOTS);
        }
        self.args.push(Told::of_bits(Key::CATALOG_ID, Tag::Hex, stored.value));
        self.format(stored, &entry.format, packing, arguments, true);
    }

    fn take_printf(&mut self, stored: &mut Stored, message: &Message<'_>, pointers: Pointers) {
        stored.what = What::Printf;
        let mut reader = Reader(message.payload);
        let (text, _) = reader.text();
        self.take_format(stored, text, |_| Packing::typed(pointers), reader.0);
    }

    /// Prints a format that is a text of the message or the program; it is compiled once for the part.
    fn take_format(&mut self, stored: &mut Stored, text: &[u8], packing: impl Fn(&Format) -> Packing, arguments: &[u8]) {
        let index = match self.format_of.get(text) {
            Some(&index) => index,
            None => {
                let name = self.local_name(text);
                let index = u32::try_from(self.formats.len()).unwrap_or(u32::MAX);
                self.formats.push((Format::new(text), name));
                self.format_of.insert(text.into(), index);
                index
            }
        };
        let formats = std::mem::take(&mut self.formats);
        if let Some((format, name)) = formats.get(index as usize) {
            stored.name = NameRef::Local(*name);
            let packing = packing(format);
            if packing == Packing::Slots64 {
                stored.marks.add(Marks::SLOTS);
            }
            self.format(stored, format, packing, arguments, true);
        }
        self.formats = formats;
    }

    /// Makes the text of a format, and lists its arguments if they are wanted.
    fn format(&mut self, stored: &mut Stored, format: &Format, packing: Packing, arguments: &[u8], with_args: bool) {
        let Records { beside, args, texts, writer, .. } = self;
        let (start, args_start) = (texts.len(), args.len());
        let mut place = 0u16;
        let take = |value: Value<'_>| {
            if !with_args {
                return;
            }
            let key = Key::place(place);
            args.push(match value {
                Value::Int(value) => Told::of_bits(key, Tag::Int, value.cast_unsigned()),
                Value::Uint(value) => Told::of_bits(key, Tag::Uint, value),
                Value::Hex(value) => Told::of_bits(key, Tag::Hex, value),
                Value::Float(value) => Told::of_bits(key, Tag::Float, value.to_bits()),
                Value::Char(value) => {
                    let mut utf8 = [0; 4];
                    let character = char::from_u32(value).unwrap_or(char::REPLACEMENT_CHARACTER);
                    Told::of_text(key, push_text(beside, character.encode_utf8(&mut utf8).as_bytes()))
                }
                Value::Text(text) => Told::of_text(key, push_text(beside, text)),
            });
            place = place.saturating_add(1);
        };
        let mut marks = Marks::default();
        if !shown::push_made(texts, |out| marks = writer.write(format, packing, arguments, out, take)) {
            marks.add(Marks::NOT_UTF8);
        }
        stored.marks.add(marks);
        stored.body = self.since(start);
        if !self.beside.is_empty() {
            self.put_beside(args_start);
        }
    }

    /// Puts the texts of arguments behind that of their message.
    fn put_beside(&mut self, args_start: usize) {
        let Records { beside, args, texts, .. } = self;
        let start = u32::try_from(texts.len()).unwrap_or(u32::MAX);
        texts.push_str(beside);
        beside.clear();
        for arg in args.iter_mut().skip(args_start) {
            if let Some(text) = arg.text() {
                *arg = Told::of_text(arg.name, TextRef { start: text.start.saturating_add(start), ..text });
            }
        }
    }

    fn take_sbd(&mut self, stored: &mut Stored, subtype: u8, payload: &[u8], has_client: bool) {
        stored.what = What::Sbd;
        let Some(sbd) = Sbd::read(subtype, payload) else {
            stored.marks.add(Marks::TRUNCATED);
            return;
        };
        stored.value = sbd.id;
        // Linux has no collateral.
        let ftrace = sbd.ftrace_event().filter(|_| subtype == SBD_OF_LINUX && !has_client);
        let mut name = if ftrace.is_some() { b"ftrace event ".to_vec() } else { b"SBD ".to_vec() };
        match (ftrace, sbd.name) {
            (Some(number), _) => name.extend(number.to_string().bytes()),
            (None, Some(text)) => name.extend_from_slice(text),
            (None, None) => name.extend(format!("{:#x}", sbd.id).bytes()),
        }
        stored.name = NameRef::Local(self.local_name(&name));
        self.args.push(Told::of_bits(Key::ID, Tag::Hex, sbd.id));
        if let Some(address) = sbd.address {
            self.args.push(Told::of_bits(Key::ADDRESS, Tag::Hex, address));
        }
        if let Some(name) = sbd.name {
            let name = push_text(&mut self.texts, name);
            self.args.push(Told::of_text(Key::NAME, name));
        }
        self.take_data(sbd.blob);
    }

    fn take_data(&mut self, data: &[u8]) {
        let hex = self.hex_text(data, SHOWN_DATA_BYTES);
        self.args.push(Told::of_text(Key::DATA, hex));
        self.args.push(Told::of_bits(Key::DATA_LENGTH, Tag::Uint, data.len() as u64));
    }
}

fn push_text(texts: &mut String, bytes: &[u8]) -> crate::model::TextRef {
    let start = texts.len();
    shown::push(bytes, texts);
    match (u32::try_from(start), u32::try_from(texts.len() - start)) {
        (Ok(start), Ok(len)) => crate::model::TextRef { start, len },
        _ => crate::model::TextRef::NONE,
    }
}
