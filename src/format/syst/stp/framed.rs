//! A stream in CoreSight frames. A frame has no mark, so where bytes of the file were lost, all after them would be unpacked wrongly, until
//! the next full sync word if there is one. But an ASYNC, its VERSION and the messages after it can only be read where frames begin.
//!
//! So the stream is read in *segments* that end just before an ASYNC. If that can be read if frames begin elsewhere, but not where they do
//! now, bytes were lost in the segment. It is read up to the first thing that an undamaged stream does not have, and the next one begins
//! with the ASYNC.

use super::ASYNC_BYTES;
use super::anchors::has_version;
use super::assembly::MessageSink;
use super::packets::NibbleOrder;
use super::stream::Stream;
use super::survey::{Reading, find_async};
use crate::format::syst::decode::Context;
use crate::format::syst::decoded::Notice;
use crate::format::syst::record::Message;
use crate::frame::tpiu::{Deframer, FRAME_BYTES, Framed};

/// An ASYNC begins in the bytes before the place where it was found, and its VERSION is in those after it.
const BEFORE_BYTES: usize = 2 * FRAME_BYTES;
const NEAR_BYTES: usize = BEFORE_BYTES + 8 * FRAME_BYTES;

/// How many bytes are read to choose between several places.
const AHEAD_BYTES: usize = 4096;

/// After searches in vain, at most this number of ASYNC are passed before the next one: damage of other kinds costs no search each time.
const WAIT_MOST: u32 = 64;

/// The longest segment. In a longer one without an ASYNC, frames begin as before.
const SEGMENT_BYTES: usize = 64 << 10;

/// The stream of a source in CoreSight frames.
#[derive(Debug)]
pub struct FramedReader {
    source: u8,
    order: NibbleOrder,
    deframer: Deframer,
    /// The segments so far end here.
    at: usize,
    /// The next ASYNC is searched from here on.
    searched: usize,
    /// After searches in vain: how many ASYNC are passed before the next one, and how many after that.
    wait: (u32, u32),
    bytes: Vec<u8>,
    origins: Vec<u64>,
}

impl FramedReader {
    /// Begins with the input.
    pub fn new(framed: Framed, order: NibbleOrder) -> FramedReader {
        FramedReader {
            source: framed.source,
            order,
            deframer: Deframer::within_frame(framed.place),
            at: 0,
            searched: 0,
            wait: (0, 0),
            bytes: Vec::new(),
            origins: Vec::new(),
        }
    }

    /// The source.
    pub fn source(&self) -> u8 {
        self.source
    }

    /// Reads the segments that begin before `end`.
    pub fn push(&mut self, input: &[u8], end: usize, stream: &mut Stream, sink: &mut impl MessageSink) {
        while self.at < end.min(input.len()) {
            let (until, is_async) = self.end_of_segment(input);
            let breaks = self.deframer.breaks();
            self.bytes.clear();
            self.origins.clear();
            let segment = input.get(self.at..until).unwrap_or(&[]);
            self.deframer.push(self.source, segment, self.at as u64, &mut self.bytes, &mut self.origins);
            let place = is_async.then(|| self.place_of(input.get(until..).unwrap_or(&[]))).flatten();
            let is_damaged = place.is_some_and(|place| place != self.deframer.place());
            let is_last = until >= input.len();
            let start = std::mem::replace(&mut self.at, until) as u64;
            if is_damaged || self.deframer.breaks() > breaks {
                let mut strict = Strict { sink, from: start, damage: None, time: stream.time(), last: None };
                stream.push(&self.bytes, &self.origins, is_last, &mut strict);
                // What follows an open message waits for it.
                stream.break_off(&mut strict);
                strict.pass_last();
                let Strict { damage, time, .. } = strict;
                // Bytes whose source is not known were left out.
                let has_gap = is_damaged || self.deframer.is_source_unknown();
                if let Some(offset) = damage.or(has_gap.then_some(until as u64)) {
                    stream.lose_sync(offset, time);
                    if is_last {
                        stream.push(&[], &[until as u64], true, sink);
                    }
                }
            } else {
                stream.push(&self.bytes, &self.origins, is_last, sink);
            }
            // An ASYNC of the source was read: these bytes are of it.
            match place {
                Some(place) if is_damaged => self.deframer = Deframer::within_source(self.source, place),
                Some(_) => self.deframer.presume_source(self.source),
                None => {}
            }
        }
    }

    /// The end of the segment that begins here, and whether an ASYNC seems to follow.
    fn end_of_segment(&mut self, input: &[u8]) -> (usize, bool) {
        let limit = input.len().min(self.at + SEGMENT_BYTES);
        self.searched = self.searched.max(self.at);
        let found = input.get(self.searched..limit).and_then(find_async).map(|at| self.searched + at);
        self.searched = found.map_or(limit, |at| at + BEFORE_BYTES);
        (found.map_or(limit, |at| at.saturating_sub(BEFORE_BYTES).max(self.at)), found.is_some())
    }

    /// The place in a frame of the first of these bytes, if they have an ASYNC with its VERSION.
    fn place_of(&mut self, bytes: &[u8]) -> Option<usize> {
        let (source, order) = (self.source, self.order);
        let read = |mut deframer: Deframer, len| {
            let (mut stream, bytes) = (Vec::new(), bytes.get(..len).unwrap_or(bytes));
            deframer.push(source, bytes, 0, &mut stream, &mut Vec::new());
            let start = memchr::memmem::find(&stream, &ASYNC_BYTES)?.saturating_sub(1);
            let stream = stream.get(start..).unwrap_or(&[]);
            has_version(stream, order).then(|| Reading::of(stream, order))
        };
        let is_sound = |reading: &Reading| reading.legal == reading.messages && reading.unsynced == 0;
        // The bytes may begin within a sync word.
        let mut now = self.deframer.clone();
        now.presume_source(source);
        let near = read(now.clone(), NEAR_BYTES);
        let (left, last) = self.wait;
        if near.as_ref().is_some_and(is_sound) {
            self.wait = (0, last / 2);
            return Some(now.place());
        } else if left > 0 {
            self.wait.0 -= 1;
            return near.map(|_| now.place());
        }
        // Some ASYNC can be read at several places, but not the messages after it.
        let legal = |deframer| read(deframer, AHEAD_BYTES).map(|reading| reading.legal);
        let all = (0..FRAME_BYTES).map(|place| (legal(Deframer::within_source(source, place)), place));
        let (most, place) = all.max()?;
        if most > legal(now.clone()) {
            self.wait = (0, 0);
            return Some(place);
        }
        self.wait = (last, (2 * last).clamp(1, WAIT_MOST));
        near.map(|_| now.place())
    }
}

/// Passes everything up to the first thing that an undamaged stream does not have, except a message just before it without a checksum:
/// bytes may be missing there.
struct Strict<'a, S> {
    sink: &'a mut S,
    /// The segment begins here. Earlier damage is no sign of damage in it: an open message without end holds back all after it.
    from: u64,
    /// Where that is.
    damage: Option<u64>,
    /// The time before it.
    time: u64,
    /// The last message, if it has no checksum.
    last: Option<(Vec<u8>, Context)>,
}

impl<S: MessageSink> Strict<'_, S> {
    fn pass_last(&mut self) {
        if let Some((frame, context)) = self.last.take() {
            self.time = context.transport.unwrap_or(self.time);
            self.sink.frame(&frame, context, true);
        }
    }

    fn stop(&mut self, offset: u64) {
        let offset = self.last.take().map_or(offset, |(_, context)| context.offset);
        self.damage.get_or_insert(offset);
    }
}

impl<S: MessageSink> MessageSink for Strict<'_, S> {
    fn frame(&mut self, frame: &[u8], context: Context, is_whole: bool) {
        if context.offset < self.from && (!is_whole || context.offset + context.len as u64 <= self.from) {
            return self.sink.frame(frame, context, is_whole);
        }
        match Message::read_frame(frame) {
            Ok(message) if self.damage.is_none() && is_whole && message.marks.0 == 0 => {
                self.pass_last();
                self.last = Some((frame.to_vec(), context));
                if message.crc.is_some() {
                    self.pass_last();
                }
            }
            _ => self.stop(context.offset),
        }
    }

    fn notice(&mut self, notice: Notice, value: u64, context: Context) {
        if context.offset < self.from {
            self.sink.notice(notice, value, context);
        } else if self.damage.is_none() && matches!(notice, Notice::Frequency | Notice::Trigger) {
            self.pass_last();
            self.sink.notice(notice, value, context);
        } else {
            self.stop(context.offset);
        }
    }
}
