//! Texts of log messages, from the formats in the program that ran and the arguments in the recording.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::super::arguments::{self, Argument};
use crate::model::{Entities, Label, LogSeverity, NameId, Source, SourceId};
use crate::printf::escape::PendingText;
use crate::printf::write::{Oddities, Writer};
use crate::printf::{Class, Format, Packing, Pointers, Size};
use crate::symbols::Symbols;

/// The program that ran on the target.
#[derive(Clone)]
pub struct Program {
    /// Its functions and constant memory.
    pub symbols: Arc<Symbols>,
    /// Where its formats of messages are, and they themselves.
    pub messages: Vec<(u64, Box<[u8]>)>,
}

/// An entry of the program: `severity u8, format, 00, file:line, 00`.
struct Entry {
    severity: LogSeverity,
    format: Format,
    name: Option<NameId>,
    source: Option<SourceId>,
}

/// What is odd about a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MessageOddity {
    /// There is no format at its place in the program.
    UnknownFormat,
    /// The arguments are not those of the format.
    OtherArguments,
}

/// A message as it is shown.
pub struct Message {
    pub severity: LogSeverity,
    pub name: Label,
    pub text: String,
    pub source: Option<SourceId>,
    pub oddity: Option<MessageOddity>,
}

/// Formats messages.
#[derive(Default)]
pub struct Messages {
    program: Option<Program>,
    /// Entries by their places, as far as they were asked for.
    entries: FxHashMap<u32, Option<Entry>>,
    writer: Writer,
    packed: Vec<u8>,
}

const SEVERITIES: [LogSeverity; 7] = [
    LogSeverity::Unspecified,
    LogSeverity::Verbose,
    LogSeverity::Debug,
    LogSeverity::Info,
    LogSeverity::Warning,
    LogSeverity::Error,
    LogSeverity::Fatal,
];

impl Messages {
    pub fn new(program: Option<Program>) -> Messages {
        Messages { program, ..Messages::default() }
    }

    /// Whether the program is there.
    pub fn has_program(&self) -> bool {
        self.program.is_some()
    }

    /// Whether there was any message.
    pub fn has_any(&self) -> bool {
        !self.entries.is_empty()
    }

    /// The message of a place in the program, with these arguments.
    pub fn message(&mut self, place: u32, arguments: &[u8], entities: &mut Entities) -> Message {
        // More formats than that are damage.
        if self.entries.len() >= Entities::LIMIT_PER_KIND {
            self.entries.clear();
        }
        let Messages { program, entries, writer, packed } = self;
        let program = program.as_ref();
        let entry = entries.entry(place).or_insert_with(|| entry(program?, place, entities));
        let (Some(program), Some(entry)) = (program, entry) else {
            let list = arguments::list(arguments);
            let name = format!("log 0x{place:X}");
            let text = if list.is_empty() { name.clone() } else { format!("{name}: {list}") };
            let name = entities.add_name(&name).map_or(Label::NONE, Label::name);
            let oddity = program.is_some().then_some(MessageOddity::UnknownFormat);
            return Message { severity: LogSeverity::Unspecified, name, text, source: None, oddity };
        };
        let packing = Packing::typed(if program.symbols.is_64_bit() { Pointers::Bits64 } else { Pointers::Bits32 });
        packed.clear();
        let are_all = pack(&entry.format, packing, arguments, &program.symbols, packed);
        let mut text = PendingText::default();
        let oddities = writer.write(&entry.format, packing, packed, &mut text, |_| {});
        text.commit();
        let fits = are_all && !oddities.has(Oddities::MISSING_ARGUMENTS);
        Message {
            severity: entry.severity,
            name: entry.name.map_or(Label::NONE, Label::name),
            text: text.text().to_owned(),
            source: entry.source,
            oddity: (!fits).then_some(MessageOddity::OtherArguments),
        }
    }
}

fn entry(program: &Program, place: u32, entities: &mut Entities) -> Option<Entry> {
    let place = u64::from(place);
    // A compiler may put the entry of a template elsewhere.
    let bytes = program.messages.iter().find_map(|(start, bytes)| {
        let at = usize::try_from(place.checked_sub(*start)?).ok()?;
        bytes.get(at..).filter(|rest| !rest.is_empty())
    });
    let bytes = bytes.or_else(|| program.symbols.memory_from(place))?;
    let (&severity, rest) = bytes.split_first()?;
    let severity = *SEVERITIES.get(usize::from(severity)).filter(|_| severity != 0)?;
    let (format, rest) = rest.split_at_checked(memchr::memchr(0, rest)?)?;
    let place = rest.get(1..).and_then(|rest| rest.get(..memchr::memchr(0, rest)?));
    let place = place.and_then(|place| std::str::from_utf8(place).ok()?.rsplit_once(':'));
    let source = place.and_then(|(file, line)| {
        entities.add_source(Source { file: file.into(), function: None, line: line.parse().unwrap_or(0) })
    });
    let name = entities.add_name(&String::from_utf8_lossy(format));
    Some(Entry { severity, format: Format::new(format), name, source })
}

/// Arranges arguments as the writer of texts takes them. Returns whether they are those of the format; after the first that is not, none
/// follows.
fn pack(format: &Format, packing: Packing, arguments: &[u8], symbols: &Symbols, packed: &mut Vec<u8>) -> bool {
    let mut list = Vec::with_capacity(10);
    let is_whole = arguments::read(arguments, |argument| list.push(argument)).is_ok();
    let mut list = list.into_iter();
    for conversion in format.conversions() {
        for size in [conversion.width, conversion.precision] {
            if size == Size::ARGUMENT {
                let Some(value) = list.next().and_then(integer) else { return false };
                packed.extend((value as u32).to_le_bytes());
            }
        }
        let Some(argument) = list.next() else { return false };
        let value = match (conversion.class(), argument) {
            (Class::Text, Argument::Text(text)) => {
                // As in C, a zero byte ends it. Only damage makes one.
                packed.extend(text.iter().take_while(|&&byte| byte != 0));
                packed.push(0);
                continue;
            }
            (Class::Text, Argument::Unsigned(address)) => {
                let Some(text) = symbols.text_at(address) else { return false };
                packed.extend(text.as_bytes());
                packed.push(0);
                continue;
            }
            (Class::Float, Argument::Double(value)) => Some(value.to_bits()),
            (Class::Float, Argument::Float(value)) => Some(f64::from(value).to_bits()),
            (Class::Signed | Class::Unsigned | Class::Char | Class::Pointer | Class::Count, argument) => integer(argument),
            _ => None,
        };
        let (Some(value), Some(bytes)) = (value, conversion.argument_bytes(packing)) else { return false };
        packed.extend(value.to_le_bytes().iter().take(bytes));
    }
    is_whole && list.next().is_none()
}

fn integer(argument: Argument<'_>) -> Option<u64> {
    match argument {
        Argument::Unsigned(value) => Some(value),
        Argument::Signed(value) => Some(value.cast_unsigned()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PUMP: &[u8] = include_bytes!("../../../../testdata/symbols/pump.elf");

    fn messages(entries: &[u8], start: u64) -> Messages {
        let symbols = Arc::new(Symbols::parse(PUMP, None).unwrap());
        Messages::new(Some(Program { symbols, messages: vec![(start, entries.into())] }))
    }

    fn shown(messages: &mut Messages, place: u32, list: &[Argument<'_>]) -> (LogSeverity, String, Option<MessageOddity>) {
        let mut wire = Vec::new();
        arguments::write(list, &mut wire);
        let message = messages.message(place, &wire, &mut Entities::default());
        (message.severity, message.text, message.oddity)
    }

    #[test]
    fn messages_have_the_text_of_their_format() {
        const ENTRIES: &[u8] = b"\x03%s: %d of %5.1f%%\0src/main.c:12\0\x05%lx %*d|%c\0main.c:7\0\x09bad\0\x02unfinished";
        let mut messages = messages(ENTRIES, 0x100);
        let three = [Argument::Text(b"tank"), Argument::Signed(-7), Argument::Float(0.5)];
        assert_eq!(shown(&mut messages, 0x100, &three), (LogSeverity::Info, "tank: -7 of   0.5%".into(), None));
        let second = 0x100 + memchr::memmem::find(ENTRIES, b"\x05").unwrap() as u32;
        let four = [Argument::Signed(-1), Argument::Signed(3), Argument::Unsigned(9), Argument::Signed(65)];
        assert_eq!(shown(&mut messages, second, &four), (LogSeverity::Error, "ffffffff   9|A".into(), None), "32 bits");
        let other = Some(MessageOddity::OtherArguments);
        let zero = [Argument::Text(b"tan\0k"), three[1], three[2]];
        assert_eq!(shown(&mut messages, 0x100, &zero).1, "tan: -7 of   0.5%");
        assert_eq!(shown(&mut messages, 0x100, &three[..2]).2, other);
        assert_eq!(shown(&mut messages, 0x100, &three[..2]).1, "tank: -7 of %5.1f%");
        assert_eq!(shown(&mut messages, 0x100, &[three[1]]).2, other);
        assert_eq!(shown(&mut messages, 0x100, &[three[0], three[0], three[2]]).2, other);
        assert_eq!(shown(&mut messages, 0x100, &[three[0], three[1], three[2], three[1]]).2, other);
        let unknown = Some(MessageOddity::UnknownFormat);
        for place in [0xFF, second + 19, second + 24, 0x100 + ENTRIES.len() as u32, u32::MAX] {
            let (severity, text, oddity) = shown(&mut messages, place, &three);
            assert_eq!((severity, oddity), (LogSeverity::Unspecified, unknown), "0x{place:x}");
            assert_eq!(text, format!("log 0x{place:X}: \"tank\", -7, 0.5"));
        }
    }

    #[test]
    fn a_message_knows_its_place_in_the_source() {
        let mut messages = messages(b"\x03plain\0C:/src/main.c:12\0", 0);
        let mut entities = Entities::default();
        let message = messages.message(0, b"", &mut entities);
        let source = &entities.sources[message.source.unwrap().index()];
        assert_eq!((&*source.file, source.line, &*message.text), ("C:/src/main.c", 12, "plain"));
        assert_eq!(&*entities.names[message.name.as_name().unwrap().index()], "plain");
    }
}
