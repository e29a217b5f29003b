//! Collateral: XML files with the catalogs, files and modules of clients.
//!
//! Elements are matched by their local name; unknown ones are ignored. Ids may have a mask; the first match in the order of the
//! document wins.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::record::{Fields, Guid};
use crate::printf::{Format, escape};

/// The content of all files.
#[derive(Debug, Default)]
pub struct Collateral {
    /// The clients, in order.
    pub clients: Vec<Client>,
    /// All formats of all clients. Tables refer to them by index.
    pub entries: Vec<Entry>,
    /// The GUID that is taken for senders of short messages.
    pub short_guid: Option<Guid>,
}

/// A sender of messages, and the meaning of its ids.
#[derive(Debug, Default)]
pub struct Client {
    /// Its name.
    pub name: String,
    /// Its GUIDs.
    guids: Vec<GuidMatch>,
    /// The builds it applies to: value and mask. Empty: all.
    builds: Vec<(u64, u64)>,
    /// Time stamps of its messages are mere information, not the time of the message.
    pub timestamp_is_field: bool,
    modules: FxHashMap<u64, String>,
    /// Shared by all formats of a file, so that its path stays in the processor's caches.
    files: FxHashMap<u64, Arc<str>>,
    catalog32: Table,
    catalog64: Table,
    short32: Table,
    short64: Table,
    protocols: Table,
}

/// A GUID with a mask.
#[derive(Debug)]
struct GuidMatch {
    id: u128,
    mask: u128,
    label: String,
}

/// A format of a catalog. Kept small, because a catalog may have thousands.
#[derive(Debug)]
pub struct Entry {
    /// The format.
    pub format: Format,
    /// Whether the catalog has its place in the source code.
    pub has_source: bool,
    /// Data that most messages do not need.
    pub details: Box<Details>,
}

/// Data of a format that is needed once.
#[derive(Debug)]
pub struct Details {
    /// Its text, escaped.
    pub label: String,
    /// The bits of an id that choose the format. The others are the value of a short message.
    pub mask: u64,
    /// The file and line in the catalog.
    pub source: Option<(Arc<str>, u32)>,
}

/// From numbers to entries.
#[derive(Debug, Default)]
struct Table {
    /// For each mask: masked id to the first entry that has it.
    by_mask: Vec<(u64, FxHashMap<u64, u32>)>,
}

/// How many masks a section may have: each costs a look-up per message.
const MASKS_LIMIT: usize = 256;

/// How many clients of one sender are searched for an id: each costs a look-up per message.
const OTHERS_LIMIT: usize = 64;

impl Table {
    /// False if there are too many masks.
    fn add(&mut self, id: u64, mask: u64, entry: u32) -> bool {
        let index = self.by_mask.iter().position(|(known, _)| *known == mask).unwrap_or_else(|| {
            self.by_mask.push((mask, FxHashMap::default()));
            self.by_mask.len() - 1
        });
        if let Some((_, ids)) = self.by_mask.get_mut(index) {
            ids.entry(id & mask).or_insert(entry);
        }
        self.by_mask.len() <= MASKS_LIMIT
    }

    /// Adds the entries of a later table.
    fn append(&mut self, later: Table) {
        for (mask, ids) in later.by_mask {
            for (id, entry) in ids {
                self.add(id, mask, entry);
            }
        }
    }

    #[inline]
    fn find(&self, id: u64) -> Option<u32> {
        // The usual case.
        if let [(mask, ids)] = self.by_mask.as_slice() {
            return ids.get(&(id & mask)).copied();
        }
        self.by_mask.iter().filter_map(|(mask, ids)| ids.get(&(id & mask)).copied()).min()
    }
}

/// Who sent a message, as far as it can choose a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Sender {
    /// A GUID.
    Guid(Guid),
    /// A module, known within its transport's master and channel only.
    Module(u8),
    /// Not known: short messages.
    Unknown,
}

impl Sender {
    /// Who sent a message of these fields.
    #[inline]
    #[must_use]
    pub fn of(fields: &Fields<'_>) -> Sender {
        if fields.kind.is_short_form() {
            return Sender::Unknown;
        }
        fields.guid.map_or(Sender::Module(fields.header.module()), |guid| Sender::Guid(*guid))
    }
}

/// A client that was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClientMatch {
    /// Its place in [`Collateral::clients`].
    pub client: u32,
    /// It applies to other builds than the sender's only.
    pub other_build: bool,
    /// It was chosen only because there is no other client.
    pub only_one: bool,
}

/// Why a file is not a valid collateral.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what}, at line {line}, column {column}")]
pub struct CollateralError {
    /// The problem.
    pub what: String,
    /// The line, from 1.
    pub line: u32,
    /// The column, from 1.
    pub column: u32,
}

impl Collateral {
    /// Adds the content of a file.
    ///
    /// # Errors
    /// When it is not well-formed, or a number in it is invalid.
    pub fn add(&mut self, file: &[u8]) -> Result<(), CollateralError> {
        let file = in_utf8(file);
        // Some generators write a line end before the declaration, which XML forbids.
        let start = file.iter().position(|byte| !byte.is_ascii_whitespace()).unwrap_or(file.len());
        let (blank, document) = file.split_at(start);
        let lines_before = u32::try_from(memchr::memchr_iter(b'\n', blank).count()).unwrap_or(u32::MAX);
        let place = |at: usize, what: String| {
            let before = document.get(..at).unwrap_or(&[]);
            let line = memchr::memchr_iter(b'\n', before).count() + 1;
            let column = before.len() - memchr::memrchr(b'\n', before).map_or(0, |at| at + 1) + 1;
            let number = |value: usize| u32::try_from(value).unwrap_or(u32::MAX);
            CollateralError { what, line: number(line).saturating_add(lines_before), column: number(column) }
        };
        let text = std::str::from_utf8(document)
            .map_err(|error| place(error.valid_up_to(), "a byte is not UTF-8: save the file in UTF-8".to_owned()))?;
        // An entity may stand for any number of elements, one in another.
        if let Some(at) = memchr::memmem::find(document, b"<!ENTITY") {
            return Err(place(at, "entities are not supported".to_owned()));
        }
        if let Some(at) = too_much_open(document) {
            return Err(place(at, format!("the element and those around it have more than {OPEN_MAX} attributes and levels")));
        }
        let options = roxmltree::ParsingOptions { allow_dtd: true, ..roxmltree::ParsingOptions::default() };
        let document = roxmltree::Document::parse_with_options(text, options).map_err(|error| {
            let (at, what) = (error.pos(), error.to_string());
            // The error has its own fields for the place.
            let what = what.strip_suffix(&format!(" at {at}")).unwrap_or(&what).to_owned();
            CollateralError { what, line: at.row.saturating_add(lines_before), column: at.col }
        })?;
        let xml = Xml { document: &document, lines_before };
        let root = document.root_element();
        if root.tag_name().name() != "Collateral" {
            return Err(xml.error(root, format!("the root element is {:?}, not \"Collateral\"", root.tag_name().name())));
        }
        for element in root.children().filter(|child| child.tag_name().name() == "Client") {
            let client = self.read_client(&xml, element)?;
            match self.clients.iter_mut().find(|known| known.is_same(&client)) {
                Some(known) => known.add(client),
                None => self.clients.push(client),
            }
        }
        Ok(())
    }

    fn read_client(&mut self, xml: &Xml<'_, '_>, element: Node<'_, '_>) -> Result<Client, CollateralError> {
        let mut client = Client { name: element.attribute("Name").unwrap_or_default().into(), ..Client::default() };
        for file in items(element, "SourceFiles", "File") {
            client.files.insert(xml.number(file, "ID")?, text_of(file).into());
        }
        for guid in items(element, "Guids", "Guid") {
            let mask = guid.attribute("Mask").map(|_| xml.guid(guid, "Mask")).transpose()?;
            let id = xml.guid(guid, "ID")?;
            client.guids.push(GuidMatch { id, mask: mask.unwrap_or(u128::MAX), label: text_of(guid) });
        }
        for build in items(element, "Builds", "Build") {
            client.builds.push((xml.number(build, "ID")?, xml.mask(build)?));
        }
        for option in items(element, "Options", "Option") {
            let is_timestamp = option.attribute("Name").is_some_and(|name| name.ends_with("timestamp"));
            client.timestamp_is_field |= is_timestamp && text_of(option).trim() == "displayAsField";
        }
        for module in items(element, "Modules", "Module") {
            client.modules.insert(xml.number(module, "ID")?, text_of(module));
        }
        let tables = [
            ("Catalog32", "Format", &mut client.catalog32),
            ("Catalog64", "Format", &mut client.catalog64),
            ("Short32", "Format", &mut client.short32),
            ("Short64", "Format", &mut client.short64),
            ("Write", "Protocol", &mut client.protocols),
        ];
        for (section, item, table) in tables {
            for node in items(element, section, item) {
                let (id, mask) = (xml.number(node, "ID")?, xml.mask(node)?);
                let source = match (node.attribute("File"), node.attribute("Line")) {
                    (Some(_), Some(_)) => {
                        let (file, line) = (xml.number(node, "File")?, xml.number(node, "Line")?);
                        client.files.get(&file).map(|file| (file.clone(), u32::try_from(line).unwrap_or(u32::MAX)))
                    }
                    _ => None,
                };
                let format = Format::new(text_of(node).as_bytes());
                let mut label = String::new();
                escape::push(format.text(), &mut label);
                let index = u32::try_from(self.entries.len()).unwrap_or(u32::MAX);
                let has_source = source.is_some();
                self.entries.push(Entry { format, has_source, details: Box::new(Details { label, mask, source }) });
                if !table.add(id, mask, index) {
                    return Err(xml.error(node, format!("the section {section:?} has more than {MASKS_LIMIT} different masks")));
                }
            }
        }
        Ok(client)
    }

    /// The client of a sender's messages. `at` is the transport's master and channel, `build` the last build of the sender.
    #[must_use]
    pub fn client(&self, sender: Sender, at: Option<(u16, u16)>, build: Option<u64>) -> Option<ClientMatch> {
        if let Some(guid) = self.guid_of(sender) {
            return self.client_of(guid, build);
        }
        let found = keys_without_guid(sender, at).find_map(|key| self.client_of(key, build));
        found.or_else(|| {
            let other_build = build.is_some() && !self.clients.first()?.applies_to(build);
            (self.clients.len() == 1).then_some(ClientMatch { client: 0, other_build, only_one: true })
        })
    }

    /// The clients that [`Collateral::client`] may choose for any build, without master and channel. The first one is that for no build.
    pub fn possible(&self, sender: Sender) -> impl Iterator<Item = u32> {
        let key = match self.guid_of(sender) {
            Some(guid) => Some(guid),
            None => keys_without_guid(sender, None).find(|&key| self.known_as(key).next().is_some()),
        };
        let is_only_one = key.is_none() && self.clients.len() == 1;
        let known = || key.into_iter().flat_map(|key| self.known_as(key));
        // A client after one that applies to all builds is never chosen.
        let for_all = known().find(|(_, client)| client.builds.is_empty()).map(|(index, _)| index);
        let others = known().map(|(index, _)| index).take_while(move |&index| Some(index) != for_all);
        for_all.into_iter().chain(others).chain(is_only_one.then_some(0))
    }

    /// All clients that match a sender and its build, in order. Ids that the first one lacks may be in a later one.
    pub fn all(&self, sender: Sender, at: Option<(u16, u16)>, build: Option<u64>) -> impl Iterator<Item = u32> {
        let guid = self.guid_of(sender);
        let keys = guid.into_iter().chain(keys_without_guid(sender, at).filter(move |_| guid.is_none()));
        let known = keys.flat_map(|key| self.known_as(key));
        known.filter(move |(_, client)| client.applies_to(build)).map(|(index, _)| index).take(OTHERS_LIMIT)
    }

    fn guid_of(&self, sender: Sender) -> Option<u128> {
        let guid = match sender {
            Sender::Guid(guid) => Some(guid),
            Sender::Unknown => self.short_guid,
            Sender::Module(_) => None,
        };
        guid.map(u128::from_be_bytes)
    }

    fn client_of(&self, guid: u128, build: Option<u64>) -> Option<ClientMatch> {
        if let Some((client, _)) = self.known_as(guid).find(|(_, client)| client.applies_to(build)) {
            return Some(ClientMatch { client, other_build: false, only_one: false });
        }
        let mut known = self.known_as(guid);
        let (client, _) = known.next()?;
        // If the build is not known, a client for some builds is right if there is no other.
        Some(ClientMatch { client, other_build: build.is_some() || known.next().is_some(), only_one: false })
    }

    /// The clients that have this GUID, in order.
    fn known_as(&self, guid: u128) -> impl Iterator<Item = (u32, &Client)> {
        let has_it = move |client: &Client| client.guids.iter().any(|known| guid & known.mask == known.id & known.mask);
        (0u32..).zip(&self.clients).filter(move |(_, client)| has_it(client))
    }

    /// A client.
    #[must_use]
    pub fn get(&self, client: u32) -> Option<&Client> {
        self.clients.get(client as usize)
    }

    /// A format.
    #[inline]
    #[must_use]
    pub fn entry(&self, index: u32) -> Option<&Entry> {
        self.entries.get(index as usize)
    }

    /// Whether the choice of a client may depend on builds.
    #[must_use]
    pub fn has_builds(&self) -> bool {
        self.clients.iter().any(|client| !client.builds.is_empty())
    }
}

/// A GUID, with or without braces and hyphens.
#[must_use]
pub fn parse_guid(text: &str) -> Option<u128> {
    let digits: String = text.trim_start_matches('{').trim_end_matches('}').chars().filter(|&c| c != '-').collect();
    u128::from_str_radix(&digits, 16).ok().filter(|_| digits.len() == 32)
}

const LATIN1: &[u8] = b"iso-8859-1";

/// A file in UTF-8, without a byte order mark. UTF-16 is recognised by its mark, ISO-8859-1 by the declaration.
fn in_utf8(file: &[u8]) -> std::borrow::Cow<'_, [u8]> {
    let utf16 = |bytes: &[u8], unit: fn([u8; 2]) -> u16| {
        let units = bytes.as_chunks::<2>().0.iter().map(|pair| unit(*pair));
        let text: String = char::decode_utf16(units).map(|char| char.unwrap_or(char::REPLACEMENT_CHARACTER)).collect();
        text.into_bytes()
    };
    match file {
        [0xEF, 0xBB, 0xBF, rest @ ..] => return rest.into(),
        [0xFF, 0xFE, rest @ ..] => return utf16(rest, u16::from_le_bytes).into(),
        [0xFE, 0xFF, rest @ ..] => return utf16(rest, u16::from_be_bytes).into(),
        _ => {}
    }
    let start = file.trim_ascii_start();
    let end = memchr::memmem::find(start, b"?>").filter(|_| start.starts_with(b"<?xml"));
    let declaration = start.get(..end.unwrap_or(0)).unwrap_or(&[]).to_ascii_lowercase();
    // Not ISO-8859-15, for example.
    let is_latin1 = |at: usize| !declaration.get(at + LATIN1.len()).is_some_and(u8::is_ascii_digit);
    if !memchr::memmem::find_iter(&declaration, LATIN1).any(is_latin1) {
        return file.into();
    }
    let text: String = file.iter().map(|&byte| char::from(byte)).collect();
    text.into_bytes().into()
}

/// The GUIDs under which a sender without GUID is looked up, in order. `at` is the transport's master and channel.
fn keys_without_guid(sender: Sender, at: Option<(u16, u16)>) -> impl Iterator<Item = u128> {
    let module = if let Sender::Module(module) = sender { module } else { 0 };
    let place = |at: (u16, u16)| u128::from(at.0) << 80 | u128::from(at.1) << 64;
    // As documented in the files, then the same without the transport, then as the reference printer does.
    let keys =
        [at.map(|at| place(at) | u128::from(module) << 56), Some(u128::from(module) << 56), Some(u128::from(module) << 64)];
    let count = if sender == Sender::Unknown { 1 } else { keys.len() };
    keys.into_iter().take(count).flatten()
}

impl Client {
    /// Whether both have the same GUIDs and builds.
    fn is_same(&self, other: &Client) -> bool {
        !self.guids.is_empty()
            && self.guids.len() == other.guids.len()
            && self.guids.iter().zip(&other.guids).all(|(one, other)| (one.id, one.mask) == (other.id, other.mask))
            && self.builds == other.builds
    }

    /// Adds a later element about the same client. The first match wins.
    fn add(&mut self, other: Client) {
        self.timestamp_is_field |= other.timestamp_is_field;
        for (module, name) in other.modules {
            self.modules.entry(module).or_insert(name);
        }
        for (file, path) in other.files {
            self.files.entry(file).or_insert(path);
        }
        self.catalog32.append(other.catalog32);
        self.catalog64.append(other.catalog64);
        self.short32.append(other.short32);
        self.short64.append(other.short64);
        self.protocols.append(other.protocols);
    }

    /// Whether it is for this build; if the build is not known, whether it is for all builds.
    fn applies_to(&self, build: Option<u64>) -> bool {
        let is_listed = |build: u64| self.builds.iter().any(|(id, mask)| build & mask == id & mask);
        self.builds.is_empty() || build.is_some_and(is_listed)
    }

    /// The name of a module.
    #[must_use]
    pub fn module(&self, module: u8) -> Option<&str> {
        self.modules.get(&module.into()).map(String::as_str)
    }

    /// The label of the GUID by which it is known.
    #[must_use]
    pub fn label(&self, guid: Guid) -> Option<&str> {
        let guid = u128::from_be_bytes(guid);
        let known = self.guids.iter().find(|known| guid & known.mask == known.id & known.mask)?;
        Some(known.label.as_str()).filter(|label| !label.is_empty())
    }

    /// The path of a file.
    #[must_use]
    pub fn file(&self, file: u32) -> Option<&str> {
        self.files.get(&file.into()).map(AsRef::as_ref)
    }

    /// The format of a catalog message.
    #[inline]
    #[must_use]
    pub fn catalog(&self, wide: bool, id: u64) -> Option<u32> {
        if wide { self.catalog64.find(id) } else { self.catalog32.find(id) }
    }

    /// The format of a short message.
    #[must_use]
    pub fn short(&self, wide: bool, value: u64) -> Option<u32> {
        if wide { self.short64.find(value) } else { self.short32.find(value) }
    }

    /// The name of a raw protocol, maybe with a place for its number.
    #[must_use]
    pub fn protocol(&self, protocol: u8) -> Option<u32> {
        self.protocols.find(protocol.into())
    }
}

/// How many attributes the elements that are open at one place may have, each element counted as one more. The parser compares each
/// attribute with all others of its element, and copies the namespaces of the elements around it, so without a limit its work is not
/// proportional to the length of the file. Real files have about 20.
const OPEN_MAX: usize = 256;

/// Where an element begins that exceeds [`OPEN_MAX`].
fn too_much_open(document: &[u8]) -> Option<usize> {
    // For each open element: the number for it and those around it.
    let mut open: Vec<usize> = Vec::new();
    let mut at = 0;
    loop {
        let start = at + memchr::memchr(b'<', document.get(at..)?)?;
        let markup = document.get(start..)?;
        let until = |end: &[u8]| memchr::memmem::find(markup, end).map_or(markup.len(), |index| index + end.len());
        at = start
            + match markup {
                [b'<', b'!', b'-', b'-', ..] => until(b"-->"),
                [b'<', b'!', b'[', ..] => until(b"]]>"),
                [b'<', b'?', ..] => until(b"?>"),
                [b'<', b'!', ..] => until(b">"),
                [b'<', b'/', ..] => {
                    open.pop();
                    until(b">")
                }
                _ => {
                    let mut count = open.last().copied().unwrap_or(0) + 1;
                    let (mut quote, mut end) = (None, markup.len());
                    for (index, &byte) in markup.iter().enumerate() {
                        match (quote, byte) {
                            (None, b'"' | b'\'') => {
                                quote = Some(byte);
                                count += 1;
                            }
                            (None, b'>') => {
                                end = index + 1;
                                break;
                            }
                            (Some(begin), _) if begin == byte => quote = None,
                            _ => {}
                        }
                        if count > OPEN_MAX {
                            return Some(start);
                        }
                    }
                    if !markup.get(..end)?.ends_with(b"/>") {
                        open.push(count);
                    }
                    end
                }
            };
    }
}

type Node<'a, 'input> = roxmltree::Node<'a, 'input>;

/// The elements `item` in the sections `section` of `parent`.
fn items<'a, 'input: 'a>(
    parent: Node<'a, 'input>,
    section: &'static str,
    item: &'static str,
) -> impl Iterator<Item = Node<'a, 'input>> {
    let sections = parent.children().filter(move |child| child.tag_name().name() == section);
    sections.flat_map(move |section| section.children().filter(move |child| child.tag_name().name() == item))
}

fn text_of(node: Node<'_, '_>) -> String {
    node.children().filter(|child| !child.is_comment()).filter_map(|child| child.text()).collect()
}

/// A document, and where its text starts in the file.
struct Xml<'a, 'input> {
    document: &'a roxmltree::Document<'input>,
    lines_before: u32,
}

impl Xml<'_, '_> {
    fn error(&self, node: Node<'_, '_>, what: String) -> CollateralError {
        let at = self.document.text_pos_at(node.range().start);
        CollateralError { what, line: at.row.saturating_add(self.lines_before), column: at.col }
    }

    fn attribute<'a>(&self, node: Node<'a, '_>, name: &str) -> Result<&'a str, CollateralError> {
        let missing = || self.error(node, format!("the element {:?} has no attribute {name:?}", node.tag_name().name()));
        node.attribute(name).ok_or_else(missing)
    }

    fn number(&self, node: Node<'_, '_>, name: &str) -> Result<u64, CollateralError> {
        let text = self.attribute(node, name)?.trim();
        let digits = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X"));
        let number = digits.map_or_else(|| text.parse(), |digits| u64::from_str_radix(digits, 16));
        number.map_err(|_| self.error(node, format!("the attribute {name:?} is {text:?}, which is not a 64-bit number")))
    }

    /// Its mask; all bits without one.
    fn mask(&self, node: Node<'_, '_>) -> Result<u64, CollateralError> {
        if node.attribute("Mask").is_some() { self.number(node, "Mask") } else { Ok(u64::MAX) }
    }

    fn guid(&self, node: Node<'_, '_>, name: &str) -> Result<u128, CollateralError> {
        let text = self.attribute(node, name)?.trim();
        parse_guid(text).ok_or_else(|| self.error(node, format!("the attribute {name:?} is {text:?}, which is not a GUID")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GUID: Guid = *b"\x49\x4E\x54\x43\x8A\x9C\x40\x14\xA6\x5A\x2F\x36\xA3\x6D\x96\xE4";

    #[test]
    fn files_may_have_a_document_type_and_other_encodings() {
        let text = "<?xml version=\"1.0\" encoding=\"ISO-8859-1\"?>\n<!DOCTYPE Collateral SYSTEM \"c.dtd\">\n\
                    <Collateral><Client Name=\"M\u{FC}hle\"/></Collateral>";
        let latin: Vec<u8> = text.chars().map(|char| char as u8).collect();
        let other: Vec<u8> = text.replace("8859-1", "8859-15").chars().map(|char| char as u8).collect();
        let error = Collateral::default().add(&other).unwrap_err();
        assert_eq!(error.to_string(), "a byte is not UTF-8: save the file in UTF-8, at line 3, column 28");
        let mut little = vec![0xFF, 0xFE];
        little.extend(text.encode_utf16().flat_map(u16::to_le_bytes));
        let mut big = vec![0xFE, 0xFF];
        big.extend(text.encode_utf16().flat_map(u16::to_be_bytes));
        for file in [latin, little, big] {
            let mut collateral = Collateral::default();
            collateral.add(&file).unwrap();
            assert_eq!(collateral.clients[0].name, "M\u{FC}hle");
        }
        let error = read("<!DOCTYPE Collateral [<!ENTITY a \"b\">]>\n<Collateral/>").unwrap_err();
        assert_eq!(error.to_string(), "entities are not supported, at line 1, column 23");
    }

    #[test]
    fn short_messages_may_be_given_a_client() {
        let mut collateral = read(&format!(
            "<Collateral>{}{}</Collateral>",
            "<Client Name=\"one\"><Guids><Guid ID=\"{494E5443-8A9C-4014-A65A-2F36A36D96E4}\"/></Guids></Client>",
            "<Client Name=\"two\"><Guids><Guid ID=\"{594E5443-8A9C-4014-A65A-2F36A36D96E4}\"/></Guids></Client>"
        ))
        .unwrap();
        assert_eq!(collateral.client(Sender::Unknown, None, None), None);
        collateral.short_guid = parse_guid("594E5443-8A9C-4014-A65A-2F36A36D96E4").map(u128::to_be_bytes);
        assert_eq!(collateral.client(Sender::Unknown, None, None).map(|found| found.client), Some(1));
        assert_eq!(collateral.possible(Sender::Unknown).collect::<Vec<_>>(), [1]);
        assert_eq!(collateral.client(Sender::Module(3), None, None), None);
    }

    fn read(text: &str) -> Result<Collateral, CollateralError> {
        let mut collateral = Collateral::default();
        collateral.add(text.as_bytes()).map(|()| collateral)
    }

    fn client(inside: &str) -> String {
        format!(
            "<syst:Collateral xmlns:syst=\"http://www.mipi.org/1.0/sys-t\"><syst:Client Name=\"c\">{inside}</syst:Client></syst:Collateral>"
        )
    }

    #[test]
    fn everything_a_client_may_have() {
        let text = "\n\n<?xml version=\"1.0\"?>".to_owned()
            + &client(
                "<syst:Guids><syst:Guid ID=\"{494E5443-8A9C-4014-A65A-2F36A36D96E4}\"><![CDATA[user]]></syst:Guid></syst:Guids>
                 <syst:Options><syst:Option Name=\"syst:timestamp\">displayAsField</syst:Option></syst:Options>
                 <syst:Modules><syst:Module ID=\"0x2\">net</syst:Module></syst:Modules>
                 <syst:Catalog32><syst:Format ID=\"0x20\" File=\"1\" Line=\"7\"><![CDATA[a=%d <b>]]><!-- no text --> &amp; c</syst:Format></syst:Catalog32>
                 <syst:SourceFiles><syst:File ID=\"1\">main.c</syst:File></syst:SourceFiles>
                 <syst:Short32><syst:Format ID=\"0x0E000000\" Mask=\"0x0F000000\">error %d</syst:Format></syst:Short32>
                 <syst:Write><syst:Protocol ID=\"1\" Mask=\"0x00\">Protocol%d</syst:Protocol></syst:Write>
                 <other:EnumDefinition xmlns:other=\"x\"><Enum/></other:EnumDefinition>",
            );
        let collateral = read(&text).unwrap();
        let found = collateral.client(Sender::Guid(GUID), None, Some(9)).unwrap();
        assert_eq!(found, ClientMatch { client: 0, other_build: false, only_one: false });
        let client = collateral.get(0).unwrap();
        assert_eq!((client.label(GUID), client.module(2), client.timestamp_is_field), (Some("user"), Some("net"), true));
        let entry = collateral.entry(client.catalog(false, 0x20).unwrap()).unwrap();
        assert_eq!((entry.details.label.as_str(), &entry.details.source), ("a=%d <b> & c", &Some(("main.c".into(), 7))));
        let short = collateral.entry(client.short(false, 0x0E00_0003).unwrap()).unwrap();
        assert_eq!((short.details.label.as_str(), short.details.mask), ("error %d", 0x0F00_0000));
        assert!(client.protocol(26).is_some() && client.catalog(true, 0x20).is_none());
    }

    #[test]
    fn the_first_match_in_the_document_wins() {
        let entry = |id: &str, mask: &str, text: &str| format!("<Format ID=\"{id}\" {mask}>{text}</Format>");
        let collateral = read(&client(&format!(
            "<Catalog32>{}{}{}</Catalog32>",
            entry("5", "", "exact"),
            entry("0x10", "Mask=\"0xF0\"", "masked"),
            entry("0x11", "", "late")
        )));
        let collateral = collateral.unwrap();
        let label = |id| collateral.entry(collateral.clients[0].catalog(false, id)?).map(|entry| entry.details.label.clone());
        assert_eq!(label(5).as_deref(), Some("exact"));
        assert_eq!(label(0x11).as_deref(), Some("masked"));
        assert_eq!(label(0x25), None);
    }

    #[test]
    fn builds_choose_among_clients() {
        let one = |name: &str, build: &str| {
            format!(
                "<Client Name=\"{name}\"><Guids><Guid ID=\"494E5443-8A9C-4014-A65A-2F36A36D96E4\"/></Guids>
                 <Builds><Build ID=\"{build}\" Mask=\"0xFFFF0000\"/></Builds></Client>"
            )
        };
        let collateral = read(&format!("<Collateral>{}{}</Collateral>", one("a", "0x10000"), one("b", "0x20000"))).unwrap();
        let found = |build| collateral.client(Sender::Guid(GUID), None, build).unwrap();
        assert_eq!((found(Some(0x2_0007)).client, found(Some(0x1_0000)).client, found(None).client), (1, 0, 0));
        assert_eq!(found(Some(0x3_0000)), ClientMatch { client: 0, other_build: true, only_one: false });
        // Which of both ran is not known.
        assert_eq!(found(None), ClientMatch { client: 0, other_build: true, only_one: false });
        let single = read(&format!("<Collateral>{}</Collateral>", one("a", "0x10000"))).unwrap();
        assert!(!single.client(Sender::Guid(GUID), None, None).unwrap().other_build);
        assert!(collateral.has_builds());
        assert_eq!(collateral.possible(Sender::Guid(GUID)).collect::<Vec<_>>(), [0, 1]);
        assert_eq!(collateral.possible(Sender::Module(0)).count(), 0);
        // No client is chosen after one that applies to all builds.
        let applies_to_all = "<Client Name=\"c\"><Guids><Guid ID=\"494E5443-8A9C-4014-A65A-2F36A36D96E4\"/></Guids></Client>";
        let collateral =
            read(&format!("<Collateral>{}{applies_to_all}{}</Collateral>", one("a", "0x10000"), one("b", "0x20000")));
        let collateral = collateral.unwrap();
        assert_eq!(collateral.possible(Sender::Guid(GUID)).collect::<Vec<_>>(), [1, 0]);
        let found = ClientMatch { client: 1, other_build: false, only_one: false };
        assert_eq!(collateral.client(Sender::Guid(GUID), None, None), Some(found), "before the first build message");
    }

    #[test]
    fn files_may_be_about_the_same_client() {
        let one = |name: &str, inside: &str| {
            format!(
                "<Collateral><Client Name=\"{name}\"><Guids><Guid ID=\"494E5443-8A9C-4014-A65A-2F36A36D96E4\"/></Guids>
                 <Catalog32>{inside}</Catalog32></Client></Collateral>"
            )
        };
        let mut collateral = read(&one("a", "<Format ID=\"1\">one</Format>")).unwrap();
        collateral.add(one("b", "<Format ID=\"1\">other</Format><Format ID=\"2\">two</Format>").as_bytes()).unwrap();
        assert_eq!(collateral.clients.len(), 1);
        let label = |id| collateral.entry(collateral.clients[0].catalog(false, id)?).map(|entry| entry.details.label.clone());
        assert_eq!((label(1).as_deref(), label(2).as_deref()), (Some("one"), Some("two")));
    }

    #[test]
    fn senders_without_guid() {
        let collateral = read(
            "<Collateral><Client Name=\"a\"><Guids><Guid ID=\"{00000000-0644-0000-0000-000000000000}\" \
             Mask=\"{00000000-FFFF-0000-8000-000000000000}\"/></Guids></Client>\
             <Client Name=\"b\"><Guids><Guid ID=\"{00000000-0000-0000-2A00-000000000000}\"/></Guids></Client>\
             <Client Name=\"c\"><Guids><Guid ID=\"{00000000-0000-002B-0000-000000000000}\"/></Guids></Client></Collateral>",
        );
        let collateral = collateral.unwrap();
        let found = |sender, at| collateral.client(sender, at, None).map(|found| found.client);
        assert_eq!(found(Sender::Module(9), Some((0x644, 3))), Some(0));
        assert_eq!(found(Sender::Unknown, Some((0x644, 3))), Some(0));
        assert_eq!(found(Sender::Module(0x2A), Some((1, 1))), Some(1));
        assert_eq!(found(Sender::Module(0x2B), None), Some(2));
        assert_eq!(found(Sender::Module(0x2C), None), None);
        let only = read(&client("")).unwrap();
        assert_eq!(only.client(Sender::Unknown, None, None), Some(ClientMatch { client: 0, other_build: false, only_one: true }));
        assert_eq!(only.client(Sender::Guid(GUID), None, None), None);
        assert_eq!(only.possible(Sender::Module(9)).collect::<Vec<_>>(), [0]);
        assert_eq!(only.possible(Sender::Guid(GUID)).count(), 0);
    }

    /// The parser's work is quadratic in these.
    #[test]
    fn what_costs_more_than_its_length_is_refused() {
        let error = |text: &str| read(text).map(|_| ()).unwrap_err().to_string();
        let attributes = |count: usize| (0..count).map(|number| format!(" a{number}='>'")).collect::<String>();
        assert!(read(&format!("<Collateral{}/>", attributes(255))).is_ok());
        let refused = "the element and those around it have more than 256 attributes and levels, at line 2, column 1";
        assert_eq!(error(&format!("<Collateral>\n<x{}/></Collateral>", attributes(40_000))), refused);
        let names = |count: usize| (0..count).map(|number| format!("<x xmlns:a{number}=\"u\">")).collect::<String>();
        assert!(error(&format!("<Collateral>{}", names(200))).starts_with("the element and those around it"));
        assert!(error(&"<x>".repeat(300)).starts_with("the element and those around it"));
        // Elements that follow each other, and quotes outside of tags, do not add up.
        let flat = format!("<!-- {0} --><?p {0}?><a b=\"1\"/><c d=\"2\">{0}<![CDATA[<{0}]]></c>", "' ".repeat(300)).repeat(300);
        assert!(read(&format!("<Collateral>{flat}</Collateral>")).is_ok());
    }

    #[test]
    fn broken_files_say_where() {
        let error = |text: &str| read(text).map(|_| ()).unwrap_err().to_string();
        assert_eq!(
            error("\n<Collateral>\n  <Client></Collateral>"),
            "expected 'Client' tag, not 'Collateral', at line 3, column 11"
        );
        assert_eq!(error("<Other/>"), "the root element is \"Other\", not \"Collateral\", at line 1, column 1");
        let number = client("\n<Builds><Build ID=\"0xZ\"/></Builds>");
        assert_eq!(error(&number), "the attribute \"ID\" is \"0xZ\", which is not a 64-bit number, at line 2, column 9");
        let guid = client("<Guids><Guid ID=\"{1234}\"/></Guids>");
        assert!(error(&guid).contains("which is not a GUID"));
        let masks: String = (0..300).map(|mask| format!("<Format ID=\"1\" Mask=\"{mask}\">x</Format>")).collect();
        let error_of_masks = error(&client(&format!("<Short32>{masks}</Short32>")));
        assert!(
            error_of_masks.starts_with("the section \"Short32\" has more than 256 different masks, at line 1"),
            "{error_of_masks}"
        );
        assert!(error(&client("<Builds><Build/></Builds>")).contains("the element \"Build\" has no attribute \"ID\""));
        let mut collateral = Collateral::default();
        assert_eq!(
            collateral.add(b"<Collateral>\n\xFF").unwrap_err().to_string(),
            "a byte is not UTF-8: save the file in UTF-8, at line 2, column 1"
        );
    }
}
