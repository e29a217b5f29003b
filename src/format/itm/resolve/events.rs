//! The meaning of packets.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::super::InputOptions;
use super::super::decode::Record;
use super::super::ports::Content;
use super::super::scan::ScanFacts;
use crate::format::Resolved;
use crate::format::program::Lookups;
use crate::frame::swo::{Delay, Packet};
use crate::model::{
    Arg, ArgValue, Args, CodeId, CoreId, Entities, Event, EventKind, Function, FunctionId, Isr, IsrId, Label, Lane, LaneId,
    LaneKind, LaneOwner, LogNote, LogSeverity, NameId, Nanos, Packed, RecentMap, SampledCode, Source, losses,
};
use crate::symbols::{Frame, Symbols, exception_name};

/// Longer lines are shown in pieces, in bytes.
const LINE_BYTES: usize = 1024;

/// Exceptions from this number on are interrupts of the device.
const FIRST_INTERRUPT: u16 = 16;

/// A page has 32 of them, and there are eight pages.
const PORTS: usize = 256;

/// Their numbers have nine bits.
const EXCEPTIONS: usize = 512;

/// The values of fewer variables and constants have tracks of their own.
const DATA_LIMIT: usize = 64;

/// The numbers of lanes, by purpose.
mod lane {
    pub(super) const PORTS: u32 = 0;
    pub(super) const PORT_VALUES: u32 = 1 << 12;
    pub(super) const WATCHES: u32 = 2 << 12;
    pub(super) const WATCH_VALUES: u32 = 3 << 12;
    pub(super) const COUNTERS: u32 = 4 << 12;
    pub(super) const DELAYS: u32 = 5 << 12;
}

/// The meaning of the event counters of the DWT, by bit. It is sent when 256 are reached; the cycle counter's has a period of its own.
const COUNTERS: [(&str, i64); 6] = [
    ("CPI: extra cycles of instructions", 256),
    ("EXC: cycles of exception overhead", 256),
    ("SLEEP: cycles asleep", 256),
    ("LSU: extra cycles of loads and stores", 256),
    ("FOLD: folded instructions", 256),
    ("CYC: periods of the cycle counter", 1),
];

/// Words that many events have.
#[derive(Clone, Copy)]
enum Word {
    Write,
    Value,
    Bytes,
    Match,
    Access,
    AddressLow,
    Pc,
    Read,
    Written,
    Data,
}

const WORDS: [&str; 10] = ["write", "value", "bytes", "match", "access", "address_low", "pc", "read", "written", "data"];

/// The time and place of a packet.
#[derive(Clone, Copy)]
pub(super) struct At {
    pub(super) time: Nanos,
    pub(super) offset: u64,
}

/// A stimulus port.
#[derive(Clone, Default)]
struct Port {
    contents: [Option<Content>; 2],
    name: Option<String>,
    has_lines: bool,
    line: Vec<u8>,
    /// Its lanes of messages and of values.
    lanes: [Option<LaneId>; 2],
}

/// The state of one core's packets.
pub(super) struct Meaning {
    core: CoreId,
    is_several: bool,
    symbols: Option<Arc<Symbols>>,
    /// By number.
    ports: Vec<Port>,
    /// The words' handles, from their first use on.
    words: [Option<NameId>; WORDS.len()],
    page: u8,
    /// The exceptions that are active, the innermost last.
    active: Vec<u16>,
    /// By number.
    isrs: Vec<Option<IsrId>>,
    lanes: RecentMap<LaneId>,
    codes: RecentMap<CodeId, 256>,
    functions: FxHashMap<String, FunctionId>,
    /// The address of each comparator's access was shown with its program counter.
    is_shown: [bool; 4],
    /// The names of data that was accessed.
    data: Vec<Arc<str>>,
    /// Which of them has an address with this lower half, that was read (false) or written.
    data_at: FxHashMap<(u16, bool), Option<usize>>,
    /// Which of them each comparator's present access is to.
    accessed: [Option<usize>; 4],
    counts: [i64; 16],
    /// Of samples of code.
    pub(super) lookups: Lookups,
}

/// Samples that are not of code.
const ASLEEP: u64 = 1 << 32;
const PROHIBITED: u64 = 2 << 32;

/// Where exceptions return to; there is no code.
const EXCEPTION_RETURNS: u64 = 0xF000_0000;

impl Meaning {
    pub(super) fn new(core: CoreId, is_several: bool, options: &InputOptions, scan: &ScanFacts) -> Meaning {
        let mut ports = vec![Port::default(); PORTS];
        for (&port, facts) in &scan.ports {
            if let Some(port) = ports.get_mut(usize::from(port)) {
                (port.contents, port.has_lines) = (Content::of(facts).map(Some), facts.has_lines);
            }
        }
        for option in &options.ports {
            let Some(port) = ports.get_mut(usize::from(option.port)) else { continue };
            port.contents = [Some(option.content); 2];
            port.name.clone_from(&option.name);
        }
        Meaning {
            core,
            is_several,
            symbols: options.program.as_ref().map(|program| program.symbols.clone()),
            ports,
            words: [None; WORDS.len()],
            page: 0,
            active: Vec::new(),
            isrs: vec![None; EXCEPTIONS],
            lanes: RecentMap::default(),
            codes: RecentMap::default(),
            functions: FxHashMap::default(),
            is_shown: [false; 4],
            data: Vec::new(),
            data_at: FxHashMap::default(),
            accessed: [None; 4],
            counts: [0; 16],
            lookups: Lookups::default(),
        }
    }

    /// Something is missing from here on.
    pub(super) fn forget(&mut self) {
        self.active.clear();
        (self.is_shown, self.accessed) = ([false; 4], [None; 4]);
    }

    /// The stream has ended: packets that wait for more are shown.
    pub(super) fn finish(&mut self, time: Nanos, out: &mut Resolved<'_>) {
        for port in 0..PORTS as u16 {
            self.end_line(port, Delay::default(), time, out);
        }
    }

    fn emit(&self, kind: EventKind, time: Nanos, out: &mut Resolved<'_>) {
        out.batch.events.push(Event { time, core: self.core, kind });
    }

    /// Appends the events of a packet. `next`: the packets after it, as far as known.
    #[inline(always)]
    pub(super) fn packet(&mut self, packet: Packet, delay: Delay, at: At, next: &[Record], out: &mut Resolved<'_>) {
        match packet {
            Packet::LocalTime { delay, .. } if delay != Delay::default() => {
                let Some(lane) = self.lane(lane::DELAYS, LaneKind::Events, |_| "delayed time stamps".to_owned(), out) else {
                    return;
                };
                let label = name(delay_name(delay), out);
                self.emit(EventKind::Instant { lane, label, args: Args::NONE }, at.time, out);
            }
            Packet::Page { page } => self.page = page,
            Packet::Port { port, bytes, value } => {
                self.port(u16::from(self.page) * 32 + u16::from(port), (bytes, value), delay, at.time, next, out);
            }
            Packet::Hardware { id: 0, value, .. } => self.counters(value, 0, at.time, out),
            Packet::Hardware { id: 3, value, .. } => self.counters(value, COUNTERS.len(), at.time, out),
            Packet::Hardware { id: 1, value, .. } => self.exception((value & 0x1FF) as u16, value >> 12 & 3, at, out),
            Packet::Hardware { id: 2, bytes, value } => self.sample(bytes, value, at, out),
            Packet::Hardware { id, bytes, value } => self.data(id, (bytes, value), at.time, next, out),
            _ => {}
        }
    }

    #[inline]
    fn word(&mut self, word: Word, out: &mut Resolved<'_>) -> Option<NameId> {
        let place = &mut self.words[word as usize];
        if place.is_none() {
            *place = name_id(WORDS[word as usize], out);
        }
        *place
    }

    /// Adds an arg to those of the next event.
    #[inline]
    fn add_arg(&mut self, word: Word, value: ArgValue, out: &mut Resolved<'_>) {
        let word = self.word(word, out);
        out.batch.args.extend(word.map(|word| Arg::new(word, value)));
    }

    /// A lane of this core, made and named at its first use.
    fn lane(
        &mut self,
        number: u32,
        kind: LaneKind,
        name: impl FnOnce(&Meaning) -> String,
        out: &mut Resolved<'_>,
    ) -> Option<LaneId> {
        if let Some(lane) = self.lanes.get(u64::from(number)) {
            return Some(lane);
        }
        let name = name(self);
        let name = if self.is_several { format!("{name} (core {})", self.core.0) } else { name };
        let lane = Lane { number, name: Some(name.into()), owner: LaneOwner::Firmware, kind, session: 0 };
        let lane = out.entities.add_lane(lane)?;
        self.lanes.insert(u64::from(number), lane);
        Some(lane)
    }

    /// The lane of a stimulus port, for its messages or its values.
    fn port_lane(&mut self, number: u16, kind: LaneKind, out: &mut Resolved<'_>) -> Option<LaneId> {
        let is_values = kind == LaneKind::Values;
        let port = self.ports.get(usize::from(number))?;
        if let Some(lane) = port.lanes[usize::from(is_values)] {
            return Some(lane);
        }
        let name = port.name.clone().unwrap_or_else(|| format!("ITM port {number}"));
        let lanes = if is_values { lane::PORT_VALUES } else { lane::PORTS };
        let lane = self.lane(lanes + u32::from(number), kind, |_| name, out)?;
        self.ports.get_mut(usize::from(number))?.lanes[usize::from(is_values)] = Some(lane);
        Some(lane)
    }

    fn port(
        &mut self,
        number: u16,
        (bytes, value): (u8, u32),
        delay: Delay,
        time: Nanos,
        next: &[Record],
        out: &mut Resolved<'_>,
    ) {
        let Some(port) = self.ports.get_mut(usize::from(number)) else { return };
        let content = port.contents[usize::from(bytes > 1)].unwrap_or(Content::Hex);
        let bits = 8 * u32::from(bytes);
        let number_of = |value: u32| match content {
            Content::Signed => i64::from(value.wrapping_shl(32 - bits).cast_signed() >> (32 - bits)),
            _ => i64::from(value),
        };
        match content {
            Content::None => {}
            Content::Text => {
                let texts = port.contents.map(|content| content == Some(Content::Text));
                let is_last = !port.has_lines && !goes_on(self.page, number, texts, next);
                for &byte in value.to_le_bytes().iter().take(usize::from(bytes)) {
                    let Some(port) = self.ports.get_mut(usize::from(number)) else { return };
                    match byte {
                        b'\n' => self.end_line(number, delay, time, out),
                        // Padding of wide writes; an end of line has a line feed, too.
                        0 | b'\r' => {}
                        _ => {
                            port.line.push(byte);
                            if port.line.len() >= LINE_BYTES && ends_character(&port.line) {
                                self.end_line(number, delay, time, out);
                            }
                        }
                    }
                }
                if is_last {
                    self.end_line(number, delay, time, out);
                }
            }
            Content::Unsigned | Content::Signed | Content::Float => {
                let Some(lane) = self.port_lane(number, LaneKind::Values, out) else { return };
                let kind = match content {
                    Content::Float if bytes == 4 => EventKind::Float { lane, value: Packed(f64::from(f32::from_bits(value))) },
                    _ => EventKind::Value { lane, value: Packed(number_of(value)) },
                };
                self.emit(kind, time, out);
            }
            Content::Hex => {
                let Some(lane) = self.port_lane(number, LaneKind::Log, out) else { return };
                let start = out.batch.args.len();
                self.add_arg(Word::Value, ArgValue::Hex(u64::from(value)), out);
                self.add_arg(Word::Bytes, ArgValue::Uint(u64::from(bytes)), out);
                add_delay(delay, out);
                let args = out.batch.args_since(start);
                let label = self.word(Word::Write, out).map_or(Label::NONE, Label::name);
                self.emit(EventKind::Instant { lane, label, args }, time, out);
            }
        }
    }

    /// The characters so far are a message.
    fn end_line(&mut self, number: u16, delay: Delay, time: Nanos, out: &mut Resolved<'_>) {
        let Some(port) = self.ports.get_mut(usize::from(number)) else { return };
        let mut line = std::mem::take(&mut port.line);
        if !line.is_empty()
            && let Some(lane) = self.port_lane(number, LaneKind::Log, out)
        {
            let (body, _) = out.batch.texts.add_lossy(&line);
            let start = out.batch.args.len();
            add_delay(delay, out);
            let args = out.batch.args_since(start);
            let note =
                LogNote { lane, severity: LogSeverity::Unspecified, name: Label::NONE, body, source: None, grade: None, args };
            out.batch.add_log(time, self.core, note);
        }
        line.clear();
        if let Some(port) = self.ports.get_mut(usize::from(number)) {
            port.line = line;
        }
    }

    fn counters(&mut self, bits: u32, first: usize, time: Nanos, out: &mut Resolved<'_>) {
        for index in (0..8usize).filter(|index| bits >> index & 1 == 1) {
            let counter = first + index;
            let known = COUNTERS.get(counter);
            let step = known.map_or(1, |&(_, step)| step);
            let name = |_: &Meaning| match known {
                Some(&(title, _)) => title.to_owned(),
                None => format!("performance counter {index}: overflows"),
            };
            let Some(lane) = self.lane(lane::COUNTERS + counter as u32, LaneKind::Values, name, out) else { return };
            let Some(count) = self.counts.get_mut(counter) else { return };
            *count = count.saturating_add(step);
            let value = Packed(*count);
            self.emit(EventKind::Value { lane, value }, time, out);
        }
    }

    fn isr(&mut self, number: u16, out: &mut Resolved<'_>) -> Option<IsrId> {
        if let Some(isr) = *self.isrs.get(usize::from(number))? {
            return Some(isr);
        }
        let vectors = self.symbols.as_ref().map_or(&[][..], |symbols| symbols.vectors());
        let vector = vectors.iter().find(|vector| vector.exception == u32::from(number));
        // Handlers that the program does not define share one, often called Default_Handler: that is no name of an interrupt.
        let is_own = |handler: u64| vectors.iter().filter(|vector| vector.handler == handler).count() == 1;
        let function = vector.filter(|vector| is_own(vector.handler));
        let function = function.and_then(|vector| Some(self.symbols.as_ref()?.function_at(vector.handler)?.name.to_owned()));
        let name = match (function, exception_name(u32::from(number))) {
            (Some(name), _) => name,
            (None, Some(name)) => name.to_owned(),
            (None, None) if number >= FIRST_INTERRUPT => format!("IRQ {}", number - FIRST_INTERRUPT),
            (None, None) => format!("exception {number}"),
        };
        let isr = Isr { number: u32::from(number), name: Some(name.into()), core: self.core, session: 0 };
        let isr = out.entities.add_isr(isr)?;
        *self.isrs.get_mut(usize::from(number))? = Some(isr);
        Some(isr)
    }

    /// An exception was entered (1), exited (2) or returned to (3). 0 is the code outside of exceptions.
    fn exception(&mut self, number: u16, what: u32, at: At, out: &mut Resolved<'_>) {
        match what {
            1 if number != 0 => self.enter(number, at, out),
            2 if number != 0 => {
                if let Some(place) = self.active.iter().rposition(|&active| active == number) {
                    self.active.truncate(place);
                }
                self.exit(number, at, out);
            }
            3 => {
                // Those above it have ended; if it was not active, all have.
                let place = self.active.iter().rposition(|&active| active == number);
                let first = place.map_or(0, |place| place + 1);
                if let Some(&missing) = self.active.get(first) {
                    self.active.truncate(first);
                    self.exit(missing, at, out);
                }
                if place.is_none() && number != 0 {
                    self.enter(number, at, out);
                }
            }
            _ => {}
        }
    }

    fn enter(&mut self, number: u16, at: At, out: &mut Resolved<'_>) {
        // Without an exit, no interrupt can be entered again: the timeline limits the rest.
        self.active.retain(|&active| active != number);
        self.active.push(number);
        if let Some(isr) = self.isr(number, out) {
            self.emit(EventKind::IsrEnter(isr), at.time, out);
        }
    }

    fn exit(&mut self, number: u16, at: At, out: &mut Resolved<'_>) {
        if let Some(isr) = self.isr(number, out) {
            self.emit(EventKind::IsrExit(isr), at.time, out);
        }
    }

    fn sample(&mut self, bytes: u8, value: u32, at: At, out: &mut Resolved<'_>) {
        let pc = match (bytes, value) {
            (4, pc) => u64::from(pc),
            (_, 0) => ASLEEP,
            _ => PROHIBITED,
        };
        let code = self.codes.get(pc).or_else(|| self.add_code(pc, out.entities));
        match code {
            Some(code) => self.emit(EventKind::Sample(code), at.time, out),
            None => out.ledger.enter(losses::ENTITY_LIMIT, at.offset, 1),
        }
    }

    fn add_code(&mut self, pc: u64, entities: &mut Entities) -> Option<CodeId> {
        let symbols = self.symbols.clone();
        let frames: Vec<Frame<'_>> = match &symbols {
            Some(symbols) if pc < ASLEEP => symbols.frames_at(pc),
            _ => Vec::new(),
        };
        if symbols.is_some() && pc < EXCEPTION_RETURNS {
            self.lookups.note(!frames.is_empty());
        }
        let mut stack = Vec::with_capacity(frames.len());
        for frame in frames.iter().rev() {
            let source = frame.declared.and_then(|place| {
                entities.add_source(Source { file: place.file.into(), function: Some(frame.function.into()), line: place.line })
            });
            stack.push(self.function(frame.function, pc, source, entities)?);
        }
        if stack.is_empty() {
            let title = match pc {
                ASLEEP => "(asleep)".to_owned(),
                PROHIBITED => "(sampling not allowed)".to_owned(),
                EXCEPTION_RETURNS.. => "(exception return)".to_owned(),
                _ => format!("{pc:#010x}"),
            };
            stack.push(self.function(&title, pc, None, entities)?);
        }
        let code = entities.add_code(SampledCode { address: pc & u64::from(u32::MAX), stack: stack.into() })?;
        self.codes.insert(pc, code);
        Some(code)
    }

    fn function(
        &mut self,
        title: &str,
        pc: u64,
        source: Option<crate::model::SourceId>,
        entities: &mut Entities,
    ) -> Option<FunctionId> {
        if let Some(&function) = self.functions.get(title) {
            return Some(function);
        }
        let start = self.symbols.as_ref().and_then(|symbols| symbols.function_at(pc)).filter(|function| function.name == title);
        let address = start.map_or(pc & u64::from(u32::MAX), |function| function.start);
        let function = entities.add_function(Function { name: title.into(), address, source, isr: None })?;
        self.functions.insert(title.to_owned(), function);
        Some(function)
    }

    /// The data trace of a comparator: the program counter, the low half of the address, the value.
    fn data(&mut self, id: u8, (bytes, value): (u8, u32), time: Nanos, next: &[Record], out: &mut Resolved<'_>) {
        let comparator = usize::from(id >> 1 & 3);
        if id >= 16 {
            let access = if id & 1 == 1 { "written" } else { "read" };
            let accessed = self.accessed[comparator].take();
            let name = |meaning: &Meaning| match accessed.and_then(|index| meaning.data.get(index)) {
                Some(name) => format!("watch {comparator}, {name}: {access}"),
                None => format!("watch {comparator}: {access}"),
            };
            let number = lane::WATCH_VALUES + u32::from(id & 7) + 8 * accessed.map_or(0, |index| index as u32 + 1);
            let Some(lane) = self.lane(number, LaneKind::Values, name, out) else { return };
            self.emit(EventKind::Value { lane, value: Packed(i64::from(value)) }, time, out);
            return;
        }
        if id & 1 == 1 && std::mem::take(&mut self.is_shown[comparator]) {
            return;
        }
        let number = lane::WATCHES + comparator as u32;
        let Some(lane) = self.lane(number, LaneKind::Events, |_| format!("watch {comparator}"), out) else { return };
        let function = self.symbols.as_ref().filter(|_| id & 1 == 0 && bytes == 4);
        let function = function.and_then(|symbols| symbols.function_at(u64::from(value)));
        let label = match (function, id & 1, bytes) {
            (Some(function), ..) => name(function.name, out),
            (None, 0, 1) => self.word(Word::Match, out).map_or(Label::NONE, Label::name),
            _ => self.word(Word::Access, out).map_or(Label::NONE, Label::name),
        };
        let key = if id & 1 == 1 { Word::AddressLow } else { Word::Pc };
        let start = out.batch.args.len();
        self.add_arg(key, ArgValue::Hex(u64::from(value)), out);
        if bytes == 1 {
            out.batch.args.truncate(start);
        }
        let mut address = (id & 1 == 1).then_some(value as u16);
        let mut is_written = false;
        // The packets of one access follow each other.
        let mut has_address = false;
        for record in next.iter().take(2) {
            let Ok(Packet::Hardware { id: other, value, .. }) = record.packet else { break };
            match other {
                9.. if other < 16
                    && other & 1 == 1
                    && id & 1 == 0
                    && usize::from(other >> 1 & 3) == comparator
                    && !has_address =>
                {
                    has_address = true;
                    self.is_shown[comparator] = true;
                    address = Some(value as u16);
                    self.add_arg(Word::AddressLow, ArgValue::Hex(u64::from(value)), out);
                }
                16..=23 if usize::from(other >> 1 & 3) == comparator => {
                    is_written = other & 1 == 1;
                    self.add_arg(if is_written { Word::Written } else { Word::Read }, ArgValue::Hex(u64::from(value)), out);
                    break;
                }
                _ => break,
            }
        }
        self.accessed[comparator] = address.and_then(|low| self.data_at(low, is_written));
        if let Some(name) = self.accessed[comparator].and_then(|index| self.data.get(index))
            && let Some(name) = name_id(name, out)
        {
            self.add_arg(Word::Data, ArgValue::Name(name), out);
        }
        let args = out.batch.args_since(start);
        self.emit(EventKind::Instant { lane, label, args }, time, out);
    }

    /// The data that an access is to, if the lower half of its address says that.
    fn data_at(&mut self, low: u16, is_written: bool) -> Option<usize> {
        let symbols = self.symbols.as_ref()?;
        *self.data_at.entry((low, is_written)).or_insert_with(|| {
            let name = symbols.data_at_low(low, is_written)?;
            let known = self.data.iter().position(|known| **known == *name);
            known.or_else(|| {
                self.data.push(name.into());
                (self.data.len() < DATA_LIMIT).then_some(self.data.len() - 1)
            })
        })
    }
}

/// Whether a line that is too long can end here: not within a character.
#[cold]
fn ends_character(line: &[u8]) -> bool {
    line.len() >= LINE_BYTES + 3
        || (1..=4).any(|len| std::str::from_utf8(line.get(line.len().saturating_sub(len)..).unwrap_or(&[])).is_ok())
}

/// Whether the text of a port continues in the next packets. `page`: the present one. `texts`: whether writes of one byte, and of more, are
/// text there; a write that is not ends it.
fn goes_on(mut page: u8, number: u16, texts: [bool; 2], next: &[Record]) -> bool {
    let mut writes = next.iter().take(super::LOOKAHEAD as usize).filter_map(|record| match record.packet {
        Ok(Packet::Page { page: other }) => {
            page = other;
            None
        }
        Ok(Packet::Port { port, bytes, .. }) if u16::from(page) * 32 + u16::from(port) == number => Some(bytes),
        _ => None,
    });
    writes.next().is_some_and(|bytes| texts[usize::from(bytes > 1)])
}

fn name_id(text: &str, out: &mut Resolved<'_>) -> Option<NameId> {
    out.entities.add_name(text)
}

fn name(text: &str, out: &mut Resolved<'_>) -> Label {
    name_id(text, out).map_or(Label::NONE, Label::name)
}

fn delay_name(delay: Delay) -> &'static str {
    match (delay.of_stamp, delay.of_packets) {
        (_, false) => "time stamp",
        (false, true) => "packets",
        (true, true) => "packets and time stamp",
    }
}

/// Adds the delay of a time stamp, if there is one, to the args of the next event.
fn add_delay(delay: Delay, out: &mut Resolved<'_>) {
    if delay != Delay::default()
        && let Some(value) = name_id(delay_name(delay), out)
        && let Some(name) = name_id("delayed", out)
    {
        out.batch.args.push(Arg::new(name, ArgValue::Name(value)));
    }
}
