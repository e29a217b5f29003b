//! Parts of a raw stream, decoded ahead, and how they are put together.
//!
//! Where a message begins follows only from all that is before it. So a part is decoded from the first anchor in it, ahead and on any
//! thread, and the ordered stage goes on from where the part before ended, message by message, until it meets a place from which
//! the part was decoded too: from there on both are the same. It nearly always is the first or second.

use super::collateral::Collateral;
use super::decode::{Context, Decoder, Notice, Records};
use super::raw::{NoLength, REACH_BYTES, Step, Stream};
use super::record::{Marks, Message};
use super::scan::{Builds, Found};
use crate::format::Part;

/// Where a decoder stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// A message begins here.
    Synced(usize),
    /// An anchor is looked for since here; `None`: since before the part.
    Lost(Option<usize>, NoLength),
}

/// What is known of a message's end.
#[derive(Clone, Copy, PartialEq, Eq)]
enum How {
    /// It has one.
    Whole,
    /// The same, and its checksum fits.
    Proven,
    /// The input ends before it.
    Truncated,
}

/// What is made of the messages.
trait Take {
    /// A message, or a place where one is looked for.
    fn at(&mut self, at: usize);
    fn message(&mut self, at: usize, frame: &[u8], how: How);
    fn lost(&mut self, from: usize, to: usize, reason: NoLength);
}

/// What tells how catalog messages are read.
#[derive(Clone, Copy)]
struct Catalogs<'a> {
    collateral: &'a Collateral,
    /// The first pass finds them out.
    builds: Option<&'a Builds>,
}

impl<'a> Catalogs<'a> {
    fn of(decoder: &'a Decoder) -> Catalogs<'a> {
        Catalogs { collateral: &decoder.collateral, builds: decoder.builds.as_deref() }
    }

    fn stream(self, bytes: &'a [u8], base: usize) -> Stream<'a> {
        Stream::new(bytes, base, self.collateral, self.builds)
    }
}

/// Goes on until a place at or behind `end`.
fn run(stream: &Stream<'_>, mut state: State, end: usize, take: &mut impl Take) -> State {
    let mut search_from = stream.base();
    loop {
        match state {
            State::Synced(at) if at >= end => return state,
            State::Synced(at) => {
                take.at(at);
                state = advance(stream, at, take);
                search_from = at + 1;
            }
            State::Lost(since, reason) => {
                let Some(anchor) = stream.find_anchor(search_from, end) else { return state };
                if let Some(since) = since {
                    take.lost(since, anchor, reason);
                }
                state = State::Synced(anchor);
            }
        }
    }
}

fn advance(stream: &Stream<'_>, at: usize, take: &mut impl Take) -> State {
    match stream.step(at) {
        Step::Message(len) => {
            take.message(at, stream.frame(at, len), How::Whole);
            State::Synced(at + len)
        }
        Step::Proven(len) => {
            take.message(at, stream.frame(at, len), How::Proven);
            State::Synced(at + len)
        }
        Step::Truncated(len) => {
            take.message(at, stream.frame(at, len), How::Truncated);
            State::Synced(at + len)
        }
        Step::Padding(len) => State::Synced(at + len.max(1)),
        Step::Lost(reason) => State::Lost(Some(at), reason),
    }
}

struct IntoRecords<'a> {
    decoder: &'a Decoder,
    records: &'a mut Records,
    bounds: Option<&'a mut Vec<(usize, usize)>>,
}

impl Take for IntoRecords<'_> {
    #[inline]
    fn at(&mut self, at: usize) {
        if let Some(bounds) = &mut self.bounds {
            bounds.push((at, self.records.stored.len()));
        }
    }

    #[inline]
    fn message(&mut self, at: usize, frame: &[u8], how: How) {
        let context = Context { offset: at as u64, len: frame.len(), ..Context::default() };
        if how == How::Proven {
            return self.records.add_proven_frame(self.decoder, frame, context);
        }
        self.records.add_frame(self.decoder, frame, context);
        if how == How::Truncated
            && let Some(stored) = self.records.stored.last_mut()
        {
            stored.marks.add(Marks::TRUNCATED);
        }
    }

    fn lost(&mut self, from: usize, to: usize, reason: NoLength) {
        add_lost(self.records, from, to, reason);
    }
}

fn add_lost(records: &mut Records, from: usize, to: usize, reason: NoLength) {
    let notice = if reason == NoLength::Undelimited { Notice::Undelimited } else { Notice::Unsynced };
    records.add_notice(notice, 0, Context { offset: from as u64, len: to - from, ..Context::default() });
}

/// What was found out ahead about where messages begin in a part.
#[derive(Debug, Default)]
struct Ahead {
    /// The places where a message was looked for, and how many records come before each.
    bounds: Vec<(usize, usize)>,
    start: usize,
    end: usize,
    input_len: usize,
    tail: Option<State>,
}

impl Ahead {
    /// Takes note of a part, and gives its view.
    fn begin<'a>(&mut self, part: Part<'a>) -> &'a [u8] {
        self.bounds.clear();
        (self.start, self.end, self.input_len) = (part.start, part.end, part.input.len());
        view(part.input, part.start, part.end)
    }

    fn stream<'a>(&self, input: &'a [u8], catalogs: Catalogs<'a>) -> Stream<'a> {
        catalogs.stream(view(input, self.start, self.end), self.start)
    }

    /// Goes on from where the part before ended until a place from which the part was read ahead: gives its index, `None` if the part
    /// has none. What lies before it goes to `take`, and the state is then that behind the part.
    fn meet(&self, state: &mut State, input: &[u8], catalogs: Catalogs<'_>, take: &mut impl Take) -> Option<usize> {
        let stream = self.stream(input, catalogs);
        let met = loop {
            match *state {
                _ if self.start == 0 => break Some(0),
                State::Synced(at) if at >= self.end => break None,
                State::Synced(at) => match self.bounds.binary_search_by_key(&at, |bound| bound.0) {
                    Ok(index) => break Some(index),
                    Err(_) => *state = advance(&stream, at, take),
                },
                State::Lost(since, reason) => {
                    let from = since.map_or(self.start, |since| (since + 1).max(self.start));
                    // The part has looked from its start on.
                    let known = self.bounds.first().map(|bound| bound.0);
                    let anchor = if from > self.start { stream.find_anchor(from, self.end) } else { known };
                    let Some(anchor) = anchor else { break None };
                    take.lost(since.unwrap_or(0), anchor, reason);
                    *state = State::Synced(anchor);
                }
            }
        };
        if let (Some(_), Some(tail)) = (met, self.tail) {
            *state = tail;
        }
        met
    }
}

/// A part, decoded from its first anchor on.
#[derive(Debug, Default)]
pub struct RawPart {
    /// What was decoded.
    pub records: Records,
    ahead: Ahead,
}

impl RawPart {
    /// Decodes a part. The memory is used again.
    pub fn decode(&mut self, decoder: &Decoder, part: Part<'_>) {
        self.records.reset(part.start as u64);
        let view = self.ahead.begin(part);
        let stream = Catalogs::of(decoder).stream(view, part.start);
        let mut take = IntoRecords { decoder, records: &mut self.records, bounds: Some(&mut self.ahead.bounds) };
        let tail = run(&stream, initial(part.start), part.end, &mut take);
        self.ahead.tail = Some(tail);
    }

    /// Whether it ends where the input does.
    #[must_use]
    pub fn is_last(&self) -> bool {
        self.ahead.end >= self.ahead.input_len
    }

    /// The length of the input, in bytes.
    #[must_use]
    pub fn input_len(&self) -> usize {
        self.ahead.input_len
    }
}

/// A part's bytes and as many behind it as decisions need.
fn view(input: &[u8], start: usize, end: usize) -> &[u8] {
    let to = (end + REACH_BYTES).min(input.len());
    input.get(start..to).unwrap_or(&[])
}

fn initial(start: usize) -> State {
    if start == 0 { State::Synced(0) } else { State::Lost(None, NoLength::Illegal) }
}

/// Puts parts together, in file order.
#[derive(Debug)]
pub struct Joiner {
    state: State,
    /// Records of messages that lie before the place where the part was decoded too.
    bridge: Records,
}

impl Joiner {
    /// Before the first part.
    #[must_use]
    pub fn new() -> Joiner {
        Joiner { state: State::Synced(0), bridge: Records::default() }
    }

    /// Gives the records of the next part of `input`, in order: some made here, then those of the part from an index on.
    pub fn join<'a>(&'a mut self, part: &'a RawPart, input: &[u8], decoder: &Decoder) -> (&'a Records, &'a Records, usize) {
        let first = if let State::Lost(Some(since), _) = self.state { since.min(part.ahead.start) } else { part.ahead.start };
        self.bridge.reset(first as u64);
        let mut take = IntoRecords { decoder, records: &mut self.bridge, bounds: None };
        let met = part.ahead.meet(&mut self.state, input, Catalogs::of(decoder), &mut take);
        let first = met.and_then(|index| part.ahead.bounds.get(index)).map_or(part.records.stored.len(), |bound| bound.1);
        // The first part counts from its first record on, whatever stands before the first bound.
        let first = if part.ahead.start == 0 { 0 } else { first };
        (&self.bridge, &part.records, first)
    }

    /// No part follows: what was lost at the end, if anything was.
    pub fn finish(&mut self, input_len: usize) -> Option<&Records> {
        let State::Lost(since, reason) = self.state else { return None };
        self.state = State::Synced(input_len);
        self.bridge.reset(since.unwrap_or(0) as u64);
        add_lost(&mut self.bridge, since.unwrap_or(0), input_len, reason);
        Some(&self.bridge)
    }
}

/// A part, looked through ahead for what holds for the whole trace.
#[derive(Debug, Default)]
pub struct Scanned {
    ahead: Ahead,
    found: Found,
}

struct Looking<'a> {
    found: Found,
    bounds: Option<&'a mut Vec<(usize, usize)>>,
}

impl Take for Looking<'_> {
    fn at(&mut self, at: usize) {
        if let Some(bounds) = &mut self.bounds {
            bounds.push((at, 0));
        }
    }

    fn message(&mut self, at: usize, frame: &[u8], how: How) {
        let Some(word) = frame.first_chunk::<4>().filter(|_| how != How::Truncated) else { return };
        if self.found.wants(u32::from_le_bytes(*word)) {
            self.found.take_frame(frame, at as u64);
        }
    }

    fn lost(&mut self, _: usize, _: usize, _: NoLength) {}
}

/// Looks through a part.
pub fn scan(collateral: &Collateral, part: Part<'_>) -> Scanned {
    let mut scanned = Scanned::default();
    let view = scanned.ahead.begin(part);
    let stream = Stream::new(view, part.start, collateral, None);
    let mut looking = Looking { found: Found::default(), bounds: Some(&mut scanned.ahead.bounds) };
    let tail = run(&stream, initial(part.start), part.end, &mut looking);
    scanned.found = looking.found;
    scanned.ahead.tail = Some(tail);
    scanned
}

/// What was found in the parts so far.
#[derive(Debug)]
pub struct Scan {
    state: State,
    /// What was found.
    pub found: Found,
}

impl Scan {
    /// Before the first part.
    #[must_use]
    pub fn new() -> Scan {
        Scan { state: State::Synced(0), found: Found::default() }
    }

    /// Adds the next part of `input`.
    pub fn add(&mut self, part: Scanned, input: &[u8], collateral: &Collateral) {
        let mut before = Looking { found: Found::default(), bounds: None };
        let catalogs = Catalogs { collateral, builds: None };
        let met = part.ahead.meet(&mut self.state, input, catalogs, &mut before);
        self.found.add(before.found);
        match met {
            Some(0) => self.found.add(part.found),
            // The part was read from another place first: once more, from the right one.
            Some(index) => {
                let at = part.ahead.bounds.get(index).map_or(part.ahead.end, |bound| bound.0);
                let mut again = Looking { found: Found::default(), bounds: None };
                run(&part.ahead.stream(input, catalogs), State::Synced(at), part.ahead.end, &mut again);
                self.found.add(again.found);
            }
            None => {}
        }
    }
}

/// What a sample holds.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counts {
    /// Messages other than short forms.
    pub full: u64,
    /// Of those, with a checksum that fits.
    pub proven: u64,
    /// Of those, with a length.
    pub with_length: u64,
    /// The bytes of all messages.
    pub bytes: u64,
}

/// Counts the messages at the start of an input. `whole`: nothing follows the sample.
pub fn count(stream: &Stream<'_>, whole: bool) -> Counts {
    struct Counting(Counts);
    impl Take for Counting {
        fn at(&mut self, _: usize) {}
        fn message(&mut self, _: usize, frame: &[u8], how: How) {
            let Ok(message) = Message::read_frame(frame) else { return };
            if how == How::Truncated {
                return;
            }
            let counts = &mut self.0;
            counts.bytes += frame.len() as u64;
            if !message.fields.kind.is_short_form() {
                counts.full += 1;
                counts.proven += u64::from(message.crc.is_some() && !message.marks.has(Marks::CRC_BAD));
                counts.with_length += u64::from(message.fields.length.is_some());
            }
        }
        fn lost(&mut self, _: usize, _: usize, _: NoLength) {}
    }
    let mut counting = Counting(Counts::default());
    // What lies near the end of a sample that goes on cannot be judged.
    let end = if whole { stream.end() } else { stream.end().saturating_sub(4096) };
    let state = run(stream, initial(0), end, &mut counting);
    if !whole && let State::Synced(at) = state {
        counting.0.bytes += (stream.end() - at.min(stream.end())) as u64;
    }
    counting.0
}
