//! Frames → records. Strict and stateless: the result depends on the frame only.
//!
//! A frame that is not exactly one event is lost alone, with a reason: decoding continues after the next delimiter. Every byte of a part
//! is accounted for: it belongs to a record, to a bad frame, or to a fragment of an oversize frame that extends over several parts.

use std::ops::Range;

use crate::clock::Copies;
use crate::format::{Decode, Part};
use crate::frame::cobs;
use crate::frame::split::{self, Delimiters, Edges, MAX_FRAME_BYTES};
use crate::model::{LossKind, TextRef, losses};

use super::field::{Borrow, KeepText, Reader, SliceReader, WindowReader};
use super::record::{DELTA, EVENTS, Record, RecordSink};
use super::sync_frame;

/// Ends every frame and occurs nowhere else.
pub const DELIMITER: u8 = 0;

/// How many bytes of a bad frame are kept for `dump`.
pub const KEPT_RAW_BYTES: usize = 256;

/// Why a frame is not a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BadFrame {
    /// It has no id.
    Empty,
    /// The chain of COBS codes does not end at the delimiter.
    MalformedCobs,
    /// An id that no event has in this format and mode.
    UnknownEvent,
    /// It ends before its last field.
    MissingField,
    /// It ends within a number.
    UnterminatedVarint,
    /// A number that is too large for its field.
    VarintTooLong,
    /// It has bytes after its last field.
    LooseBytes,
    /// An unknown kind of queue.
    UnknownEnum,
    /// A sync frame of another version, or one that contradicts itself.
    UnknownSync,
    /// Longer than [`MAX_FRAME_BYTES`].
    Oversize,
    /// The input ends before the frame does.
    Truncated,
}

impl BadFrame {
    /// The kind of loss in the ledger.
    #[must_use]
    pub fn loss_kind(self) -> LossKind {
        match self {
            BadFrame::Empty => losses::EMPTY_FRAME,
            BadFrame::MalformedCobs => losses::MALFORMED_COBS,
            BadFrame::UnknownEvent => losses::UNKNOWN_EVENT,
            BadFrame::MissingField => losses::MISSING_FIELD,
            BadFrame::UnterminatedVarint => losses::UNTERMINATED_VARINT,
            BadFrame::VarintTooLong => losses::VARINT_TOO_LONG,
            BadFrame::LooseBytes => losses::LOOSE_BYTES,
            BadFrame::UnknownEnum => losses::UNKNOWN_ENUM,
            BadFrame::UnknownSync => losses::UNKNOWN_SYNC,
            BadFrame::Oversize => losses::OVERSIZE_FRAME,
            BadFrame::Truncated => losses::TRUNCATED_FRAME,
        }
    }

    /// The least number of events lost with it. `before` is the bad frame right before it, if there is one: a delimiter that damage made
    /// splits one frame in two, and the first piece is not valid COBS.
    fn at_least_lost(self, before: Option<BadFrame>) -> u64 {
        u64::from(self != BadFrame::Empty && before != Some(BadFrame::MalformedCobs))
    }
}

/// A record and the place of its frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stored {
    /// The record; its text is in [`Records::text`].
    pub record: Record<TextRef>,
    /// Where its frame starts, in bytes from [`Records::base`].
    pub offset: u32,
    /// In the superset: the core that it belongs to, once the stamp is [`Stamp::Absolute`]. Unused in the plain format.
    pub core: u16,
    /// The kind of the record's time.
    pub stamp: Stamp,
}

/// The kind of a record's time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stamp {
    /// Ticks of the target's clock. Also for metadata, which has no time.
    Absolute,
    /// The value of the wire: see [`DeltaLayout`](super::sync_frame::DeltaLayout).
    Delta,
    /// A delta from an unknown time.
    Unknown,
}

const _: () = assert!(size_of::<Stored>() <= 32);

/// A frame that is not a record. A run of empty frames of one byte is one entry, so that a stretch of zeros takes little memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bad {
    /// The number of [`Records::frames`] before it.
    pub index: u32,
    /// Where it starts, in bytes from [`Records::base`].
    pub offset: u32,
    /// Its length in bytes, delimiter included.
    pub len: u32,
    /// The number of frames; more than one only if each is a lone delimiter.
    pub frames: u32,
    /// Why it is not a record.
    pub reason: BadFrame,
    /// The delta time stamp of an unknown event in a valid frame; else 0.
    pub delta: u32,
    /// Its first bytes (see [`KEPT_RAW_BYTES`]), in [`Records::text`].
    pub raw: TextRef,
}

/// Times that never decrease, in ticks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ordered {
    /// The first one.
    pub first: u64,
    /// The last one.
    pub last: u64,
    /// The differences of neighbours, all together by a bitwise OR: none of them is larger.
    pub steps: u64,
}

/// The records of one part.
#[derive(Clone, Debug, Default)]
pub struct Records {
    /// Where the part starts in the input, in bytes.
    pub base: u64,
    /// The records, in file order.
    pub frames: Vec<Stored>,
    /// The bad frames, in file order.
    pub bad: Vec<Bad>,
    /// Texts and raw bytes that the above refer to. Not necessarily UTF-8.
    pub text: Vec<u8>,
    /// The number of bytes that became records, delimiters included.
    pub ok_bytes: u64,
    /// Its times, if they never decrease and the part has no `core_id`: they then need few checks.
    pub ordered: Option<Ordered>,
    /// The parts of oversize frames that extend over several parts. See [`FragmentJoiner`].
    pub edges: Edges,
    /// The first bytes of the head fragment.
    pub head_raw: TextRef,
    /// The first bytes of the tail fragment.
    pub tail_raw: TextRef,
}

impl Records {
    /// Discards the content and keeps the memory, for another part.
    fn reset(&mut self, base: u64, edges: Edges) {
        let Records { mut frames, mut bad, mut text, .. } = std::mem::take(self);
        frames.clear();
        bad.clear();
        text.clear();
        *self = Records { base, edges, frames, bad, text, ..Records::default() };
    }

    /// The length of all whole frames, good and bad, in bytes. With the fragments of [`Records::edges`] it is the length of the part.
    #[must_use]
    pub fn frames_bytes(&self) -> u64 {
        self.bad.iter().fold(self.ok_bytes, |sum, bad| sum + u64::from(bad.len))
    }

    /// The bytes that a reference into [`Records::text`] refers to; empty if it is out of range.
    #[inline]
    #[must_use]
    pub fn bytes(&self, text: TextRef) -> &[u8] {
        self.text.get(text.range()).unwrap_or(&[])
    }
}

/// The format of a capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wire {
    /// Absolute time stamps only.
    Plain,
    /// With sync frames, delta time stamps, and more events.
    Superset,
}

/// The decoder stage.
#[derive(Clone, Copy, Debug)]
pub struct Decoder {
    wire: Wire,
    /// A bit for each valid first byte of a frame.
    known: [u64; 4],
}

impl Decoder {
    /// A decoder. Without FreeRTOS on the target, its events are unknown.
    #[must_use]
    pub const fn new(wire: Wire, has_freertos: bool) -> Decoder {
        let is_superset = matches!(wire, Wire::Superset);
        let mut known = [0; 4];
        let mut index = 0;
        while index < EVENTS.len() {
            let event = EVENTS[index];
            if (is_superset || !event.is_superset) && (has_freertos || !event.is_freertos) {
                known[(event.id >> 6) as usize] |= 1 << (event.id & 63);
                if is_superset && !event.is_metadata {
                    let id = event.id | DELTA;
                    known[(id >> 6) as usize] |= 1 << (id & 63);
                }
            }
            index += 1;
        }
        Decoder { wire, known }
    }

    /// A decoder of the plain format.
    #[must_use]
    pub const fn plain() -> Decoder {
        Decoder::new(Wire::Plain, true)
    }

    /// Decodes the part `range` of `input`.
    #[must_use]
    pub fn records(&self, input: &[u8], range: Range<usize>) -> Records {
        let mut records = Records::default();
        self.records_into(input, range, &mut records);
        records
    }

    /// Decodes the part `range` of `input` into `records`, whose memory is reused.
    pub fn records_into(&self, input: &[u8], range: Range<usize>, records: &mut Records) {
        let part = input.get(range.clone()).unwrap_or(&[]);
        let edges = split::edges::<DELIMITER>(input, range.clone());
        records.reset(range.start as u64, edges);
        let tail_at = part.len() - edges.tail_fragment;
        let frames_end = tail_at - edges.unfinished;
        let frames_start = edges.head_fragment.min(frames_end);
        records.head_raw = keep_raw(part.get(..edges.head_fragment), &mut records.text);
        // Frames are 8 to 10 bytes on average, rarely less.
        records.frames.reserve((frames_end - frames_start) / 8);

        let frames = part.get(..frames_end).unwrap_or(&[]);
        // Bytes after the part may be loaded with it, but have no effect.
        let beyond = input.get(range.start..).unwrap_or(&[]);
        let mut payload = Vec::new();
        let mut at = frames_start;
        let first = self.first_time(frames, at, &mut payload);
        let mut order = Order::starting_at(first.unwrap_or(0));
        let mut scratch = [0; cobs::SHORT_WINDOW_BYTES];
        loop {
            let cut = self.cut_frame(frames, at, &mut payload, &mut records.text);
            let whole = frames.get(..cut.map_or(frames.len(), |cut| cut.0)).unwrap_or(&[]);
            for delimiter in Delimiters::<DELIMITER>::new(whole, at) {
                let len = delimiter + 1 - at;
                if self.short_frame(beyond, at, len, records, &mut order, &mut scratch) {
                } else if len == 1 {
                    // Erased memory and sparse files are runs of these.
                    add_bad(records, part, at, len, BadFrame::Empty, 0);
                } else {
                    match self.frame_in_full(part.get(at..at + len).unwrap_or(&[]), &mut payload, &mut records.text) {
                        Ok((record, stamp)) => {
                            order.note(&record);
                            records.frames.push(Stored { record, offset: saturate(at), core: 0, stamp });
                        }
                        Err(reason) => add_bad(records, part, at, len, reason, self.delta_of_unknown(reason, &payload)),
                    }
                }
                at += len;
            }
            let Some((start, sync, end, record)) = cut else { break };
            let frame = part.get(start..end).unwrap_or(&[]);
            // With the sync, it may look whole.
            let reason = self.frame_in_full(frame, &mut payload, &mut records.text).err().unwrap_or(BadFrame::LooseBytes);
            add_bad(records, part, start, sync - start, reason, self.delta_of_unknown(reason, &payload));
            records.frames.push(Stored { record, offset: saturate(sync), core: 0, stamp: Stamp::Absolute });
            at = end;
        }

        let bad: u64 = records.bad.iter().map(|bad| u64::from(bad.len)).sum();
        records.ok_bytes = ((at - frames_start) as u64).saturating_sub(bad);
        // In the superset this is known only once times are absolute.
        records.ordered = order.ordered().filter(|_| self.wire == Wire::Plain && first.is_some());
        if edges.unfinished > 0 {
            let reason = if edges.unfinished < MAX_FRAME_BYTES { BadFrame::Truncated } else { BadFrame::Oversize };
            add_bad(records, part, frames_end, edges.unfinished, reason, 0);
        }
        records.tail_raw = keep_raw(part.get(tail_at..), &mut records.text);
    }

    /// The time of the first record from `at` on that has one.
    fn first_time(&self, frames: &[u8], mut at: usize, payload: &mut Vec<u8>) -> Option<u64> {
        Delimiters::<DELIMITER>::new(frames, at).find_map(|delimiter| {
            let frame = frames.get(std::mem::replace(&mut at, delimiter + 1)..=delimiter)?;
            self.record(frame, payload).ok()?.0.ts()
        })
    }

    /// Stores the record of a short and valid frame. False for any other frame.
    #[inline(always)]
    fn short_frame(
        &self,
        bytes: &[u8],
        at: usize,
        len: usize,
        records: &mut Records,
        order: &mut Order,
        scratch: &mut [u8; cobs::SHORT_WINDOW_BYTES],
    ) -> bool {
        let rest = bytes.get(at..).unwrap_or(&[]);
        let Some(window) = cobs::unstuff_short(rest, len, scratch) else { return false };
        let Records { frames, text, .. } = records;
        let mut reader = WindowReader::new(window, len - 2, text);
        let mut store =
            Store { frames, order, offset: saturate(at), allows_more: self.allows_more(), is_delta: is_delta(window[0]) };
        self.event(&mut reader, &mut store).is_ok()
    }

    /// Decodes any frame, with the exact error.
    #[cold]
    fn frame_in_full(
        &self,
        frame: &[u8],
        payload: &mut Vec<u8>,
        texts: &mut Vec<u8>,
    ) -> Result<(Record<TextRef>, Stamp), BadFrame> {
        unstuff_frame(frame, payload)?;
        self.payload(payload, texts)
    }

    /// The first frame from `at` on that a sync is within: where both start, the end, and the sync. A target that is reset within a frame
    /// does not end it.
    #[cold]
    fn cut_frame(
        &self,
        frames: &[u8],
        mut at: usize,
        payload: &mut Vec<u8>,
        texts: &mut Vec<u8>,
    ) -> Option<(usize, usize, usize, Record<TextRef>)> {
        if self.wire != Wire::Superset {
            return None;
        }
        let begin = memchr::memmem::Finder::new(&sync_frame::BEGIN);
        loop {
            let found = at + begin.find(frames.get(at..)?)?;
            let start = memchr::memrchr(DELIMITER, frames.get(at..found)?).map_or(at, |delimiter| at + delimiter + 1);
            at = found + memchr::memchr(DELIMITER, frames.get(found..)?)? + 1;
            let frame = frames.get(start..at)?;
            let Some(within) = sync_frame::place_within(frame) else { continue };
            if let Ok((sync @ Record::Sync { .. }, _)) = self.frame_in_full(frame.get(within..)?, payload, texts) {
                return Some((start, start + within, at, sync));
            }
        }
    }

    /// The record in one frame, given with its delimiter, and the kind of its time. The frame is decoded into `payload`.
    ///
    /// # Errors
    /// Why it is not a record.
    pub fn record<'a>(&self, frame: &[u8], payload: &'a mut Vec<u8>) -> Result<(Record<&'a [u8]>, Stamp), BadFrame> {
        unstuff_frame(frame, payload)?;
        self.payload(payload, &mut Borrow)
    }

    fn payload<'a, K: KeepText<'a>>(&self, payload: &'a [u8], texts: &mut K) -> Result<(Record<K::Text>, Stamp), BadFrame> {
        let mut reader = SliceReader::new(payload, texts);
        let is_delta = payload.first().is_some_and(|&id| is_delta(id));
        let event = self.event(&mut reader, &mut Return { is_delta })?;
        if reader.is_at_end() || self.allows_more() { Ok(event) } else { Err(BadFrame::LooseBytes) }
    }

    /// Whether fields may follow the last known one: later versions of the superset append some.
    #[inline]
    fn allows_more(&self) -> bool {
        self.wire == Wire::Superset
    }

    #[inline(always)]
    fn event<R: Reader, K: RecordSink<R>>(&self, reader: &mut R, to: &mut K) -> Result<K::Out, BadFrame> {
        let id = reader.u8()?;
        if self.known[usize::from(id >> 6)] >> (id & 63) & 1 == 0 {
            return Err(BadFrame::UnknownEvent);
        }
        Record::read(id & !DELTA, reader, to)
    }

    /// The delta time stamp of a frame, given its payload, that is valid except for an unknown id: an event of a later version.
    #[cold]
    fn delta_of_unknown(&self, reason: BadFrame, payload: &[u8]) -> u32 {
        let mut texts = Borrow;
        let mut reader = SliceReader::new(payload, &mut texts);
        match (reason, self.wire, reader.u8()) {
            (BadFrame::UnknownEvent, Wire::Superset, Ok(id)) if is_delta(id) => reader.u32().unwrap_or(0),
            _ => 0,
        }
    }
}

/// The decoders of a recording, by input: one may be in the plain format, another in the superset.
pub(super) struct Decoders(pub(super) Vec<Decoder>);

impl Decode for Decoders {
    type Records = Records;

    fn decode(&self, input: usize, part: Part<'_>, records: &mut Records) {
        match self.0.get(input) {
            Some(decoder) => decoder.records_into(part.input, part.start..part.end, records),
            None => *records = Records::default(),
        }
    }
}

fn is_delta(id: u8) -> bool {
    id & DELTA != 0
}

/// The kind of a record's time. A delta is never 0, and has 32 bits.
#[inline(always)]
fn stamp_of<T: Copy>(record: &Record<T>, is_delta: bool) -> Result<Stamp, BadFrame> {
    match record.ts() {
        _ if !is_delta => Ok(Stamp::Absolute),
        Some(1..=0xFFFF_FFFF) => Ok(Stamp::Delta),
        _ => Err(BadFrame::VarintTooLong),
    }
}

/// Returns a record to the caller.
pub(super) struct Return {
    pub(super) is_delta: bool,
}

impl<R: Reader> RecordSink<R> for Return {
    type Out = (Record<R::Text>, Stamp);

    #[inline(always)]
    fn record(&mut self, _: &mut R, record: Record<R::Text>) -> Result<Self::Out, BadFrame> {
        stamp_of(&record, self.is_delta).map(|stamp| (record, stamp))
    }
}

/// Stores a record of a short frame, if the frame ends with it.
struct Store<'a> {
    frames: &'a mut Vec<Stored>,
    order: &'a mut Order,
    offset: u32,
    allows_more: bool,
    is_delta: bool,
}

impl<'t> RecordSink<WindowReader<'_, '_, Vec<u8>>> for Store<'t> {
    type Out = ();

    #[inline(always)]
    fn record(&mut self, reader: &mut WindowReader<'_, '_, Vec<u8>>, record: Record<TextRef>) -> Result<(), BadFrame> {
        if !(reader.is_at_end() || self.allows_more && reader.is_within()) {
            return Err(BadFrame::LooseBytes);
        }
        let stamp = stamp_of(&record, self.is_delta)?;
        self.order.note(&record);
        self.frames.push(Stored { record, offset: self.offset, core: 0, stamp });
        Ok(())
    }
}

/// Whether the times of a part never decrease.
pub(super) struct Order {
    first: u64,
    last: u64,
    /// Has the highest bit if they do.
    steps: u64,
}

impl Order {
    const BROKEN: u64 = 1 << 63;

    /// No times yet; the first one will be `first`.
    pub(super) fn starting_at(first: u64) -> Order {
        Order { first, last: first, steps: 0 }
    }

    /// Adds the next record.
    #[inline(always)]
    pub(super) fn note(&mut self, record: &Record<TextRef>) {
        let Some(ticks) = record.ts() else { return };
        if let Record::CoreId { .. } = record {
            self.end();
        }
        // If the highest bit is never set, a difference below 0 sets it.
        self.steps |= ticks.wrapping_sub(self.last) | ticks & Order::BROKEN;
        self.last = ticks;
    }

    /// The times are not comparable.
    pub(super) fn end(&mut self) {
        self.steps |= Order::BROKEN;
    }

    pub(super) fn ordered(&self) -> Option<Ordered> {
        let &Order { first, last, steps } = self;
        (steps < Order::BROKEN).then_some(Ordered { first, last, steps })
    }
}

fn unstuff_frame(frame: &[u8], payload: &mut Vec<u8>) -> Result<(), BadFrame> {
    payload.clear();
    if frame.len() > MAX_FRAME_BYTES {
        return Err(BadFrame::Oversize);
    }
    match frame.split_last() {
        Some((&DELIMITER, [])) | None => return Err(BadFrame::Empty),
        Some((&DELIMITER, body)) => cobs::unstuff(body, payload).map_err(|cobs::BadChain| BadFrame::MalformedCobs)?,
        Some(_) => return Err(BadFrame::Truncated),
    }
    if payload.is_empty() { Err(BadFrame::Empty) } else { Ok(()) }
}

#[cold]
fn add_bad(records: &mut Records, part: &[u8], at: usize, len: usize, reason: BadFrame, delta: u32) {
    let index = saturate(records.frames.len());
    // A run of lone delimiters, without the single byte of an unfinished frame after it.
    if (reason, len) == (BadFrame::Empty, 1)
        && let Some(last) = records.bad.last_mut()
        && (last.reason, last.len, last.index) == (BadFrame::Empty, last.frames, index)
        && last.offset as usize + last.len as usize == at
    {
        last.len += 1;
        last.frames += 1;
        return;
    }
    let raw = keep_raw(part.get(at..at + len), &mut records.text);
    records.bad.push(Bad { index, offset: saturate(at), len: saturate(len), frames: 1, reason, delta, raw });
}

fn keep_raw(bytes: Option<&[u8]>, arena: &mut Vec<u8>) -> TextRef {
    let bytes = bytes.unwrap_or(&[]);
    arena.keep(bytes.get(..KEPT_RAW_BYTES).unwrap_or(bytes))
}

/// An offset within a part. Parts are a few MiB; beyond 4 GiB, offsets saturate.
#[inline]
fn saturate(value: usize) -> u32 {
    u32::try_from(value).unwrap_or(u32::MAX)
}

/// An oversize frame that was cut into fragments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JoinedFrame {
    /// Where it starts in the input, in bytes.
    pub offset: u64,
    /// Its length in bytes, delimiter included.
    pub len: u64,
    /// Its first bytes, at most [`KEPT_RAW_BYTES`].
    pub raw: Vec<u8>,
}

/// Joins the fragments of oversize frames, so that each is one bad frame regardless of the cuts.
#[derive(Clone, Debug, Default)]
pub struct FragmentJoiner {
    open: Option<JoinedFrame>,
    /// How many records the part has, and how many of them precede the last bad frame.
    frames: u32,
    passed: u32,
    /// How often copies were searched for.
    copies: Copies,
    /// The bad frame right before what follows.
    before: Option<BadFrame>,
}

impl FragmentJoiner {
    /// Adds the fragments of the next part (parts come in file order). A frame that it returns ends in this part: its reason is
    /// [`BadFrame::Oversize`], and it precedes everything else in the part.
    pub fn join(&mut self, records: &Records) -> Option<JoinedFrame> {
        let edges = records.edges;
        if self.passed != self.frames {
            self.before = None;
        }
        (self.frames, self.passed) = (saturate(records.frames.len()), 0);
        if edges.head_fragment > 0 {
            let open = self.open.get_or_insert_with(|| JoinedFrame { offset: records.base, len: 0, raw: Vec::new() });
            open.len += edges.head_fragment as u64;
            let room = KEPT_RAW_BYTES.saturating_sub(open.raw.len());
            open.raw.extend(records.bytes(records.head_raw).iter().take(room));
        }
        let ended = if edges.head_ends { self.open.take() } else { None };
        if edges.tail_fragment > 0 {
            let tail = edges.tail_fragment as u64;
            let frames_end = records.frames_bytes() + edges.head_fragment as u64;
            let raw = records.bytes(records.tail_raw).to_vec();
            self.open = Some(JoinedFrame { offset: records.base + frames_end, len: tail, raw });
        }
        if ended.is_some() {
            self.before = Some(BadFrame::Oversize);
        }
        ended
    }

    /// The least number of events lost with a bad frame of the part. Asked for each, in file order.
    pub fn at_least_lost(&mut self, base: u64, bad: &Bad, bytes: &[u8]) -> u64 {
        if self.passed != bad.index {
            (self.passed, self.before) = (bad.index, None);
        }
        let lost = bad.reason.at_least_lost(self.before.replace(bad.reason));
        let next = base + u64::from(bad.offset) + u64::from(bad.len);
        u64::from(lost > 0 && !self.copies.begins_at(bytes, next))
    }
}
