//! Frames → records. Strict and stateless: the result depends only on the bytes of a frame, those of its neighbours, and the facts of the
//! first pass.
//!
//! A frame with a valid checksum and the length of its record is a record. A frame with a valid checksum and another length is lost
//! alone. Neighbouring frames with wrong checksums are one *run* of damage, of which [`super::repair`] may repair records.

use std::ops::Range;
use std::sync::Arc;

use crate::format::{Decode, Part};
use crate::frame::split::{self, Delimiters, MAX_FRAME_BYTES};
use crate::model::{LossKind, TextRef, losses};

use super::element::Elements;
use super::frame::{self, BadBody, FLAG, OVERHEAD_BYTES};
use super::layout::{self, Config, FixedFields, Layout, Length, RecordLayout, Sizes, WINDOW_BYTES};
use super::record::{Code, Field, Kind};
use super::repair::{self, Neighbours, Piece};

/// How many bytes of a run of damage are kept for `dump`.
pub const KEPT_RAW_BYTES: usize = 256;

/// The host's command that sets up a test of QUTest, in the target's answer to it.
pub const TEST_SETUP: u8 = 7;

/// Why bytes are not a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Bad {
    /// The frame is invalid.
    Body(BadBody),
    /// The input ends within it.
    Truncated,
    /// A valid frame with an id that this version of QP does not have.
    UnknownRecord,
    /// A valid frame that is shorter or longer than its record.
    WrongLength,
    /// A valid frame with a text that does not end with the record.
    BadText,
    /// A valid frame of an application record that does not consist of whole elements.
    BadElements,
}

impl Bad {
    /// The kind of loss in the ledger.
    #[must_use]
    pub fn loss_kind(self) -> LossKind {
        match self {
            Bad::Body(BadBody::Empty) => losses::EMPTY_FRAME,
            Bad::Body(BadBody::TooShort) => losses::SHORT_FRAME,
            Bad::Body(BadBody::IllegalEscape) => losses::ILLEGAL_ESCAPE,
            Bad::Body(BadBody::Checksum) => losses::BAD_CHECKSUM,
            Bad::Body(BadBody::ImpossibleId) => losses::IMPOSSIBLE_RECORD,
            Bad::Body(BadBody::Oversize) => losses::OVERSIZE_FRAME,
            Bad::Truncated => losses::TRUNCATED_FRAME,
            Bad::UnknownRecord => losses::UNKNOWN_RECORD,
            Bad::WrongLength => losses::WRONG_LENGTH,
            Bad::BadText => losses::BAD_TEXT,
            Bad::BadElements => losses::BAD_ELEMENTS,
        }
    }
}

/// A record and the place of its frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stored {
    /// Where its frame starts, in bytes from [`Records::base`].
    pub offset: u32,
    /// Where its data starts in [`Records::data`].
    pub start: u32,
    /// Its time stamp as sent; 0 without one.
    pub time: u32,
    /// The length of its data, in bytes.
    pub len: u16,
    /// The kind of record.
    pub kind: Kind,
    /// Its sequence number.
    pub seq: u8,
    /// Its id.
    pub id: u8,
    /// Whether it has a time stamp.
    pub is_timed: bool,
}

/// Bytes that are not a record: one valid frame, or a run of invalid frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Damage {
    /// The number of [`Records::frames`] before it.
    pub index: u32,
    /// Where it starts, in bytes from [`Records::base`].
    pub offset: u32,
    /// Its length in bytes, flags included.
    pub len: u32,
    /// The number of frames that end in it.
    pub frames: u32,
    /// The number of these that are not empty.
    pub filled: u32,
    /// Why it, or the first of its frames, is invalid.
    pub reason: Bad,
    /// The sequence number, if the frame is valid.
    pub seq: Option<u8>,
    /// Its first bytes (see [`KEPT_RAW_BYTES`]), in [`Records::data`].
    pub raw: TextRef,
}

/// A repaired record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Repair {
    /// Where it starts in the input, in bytes.
    pub offset: u64,
    /// The kind of repair.
    pub kind: LossKind,
}

/// The records of one part.
#[derive(Clone, Debug, Default)]
pub struct Records {
    /// Where the part starts in the input, in bytes.
    pub base: u64,
    /// The records, in file order.
    pub frames: Vec<Stored>,
    /// The bytes that are not records, in file order.
    pub damage: Vec<Damage>,
    /// The repaired records, in file order.
    pub repairs: Vec<Repair>,
    /// The bytes of the part, in which most data is, then the data of records that are not in it as they are. At the end are spare bytes,
    /// so that fields can be loaded as whole words.
    pub data: Vec<u8>,
    /// The number of bytes that became records, flags included.
    pub ok_bytes: u64,
    /// For each segment in the part: the index of its first record, and the number of the segment.
    pub segments: Vec<(u32, u32)>,
    /// Whether the first damage continues from the part before. Only runs longer than any frame are cut.
    pub continues_before: bool,
    /// Whether the last damage continues in the next part.
    pub continues_after: bool,
}

/// The number of spare bytes at the end of [`Records::data`].
const SPARE_BYTES: usize = WINDOW_BYTES;

impl Records {
    fn reset(&mut self, base: u64) {
        self.base = base;
        self.frames.clear();
        self.damage.clear();
        self.repairs.clear();
        self.data.clear();
        self.segments.clear();
        self.ok_bytes = 0;
        (self.continues_before, self.continues_after) = (false, false);
    }

    /// The data of a record, without the bytes after it.
    #[inline]
    #[must_use]
    pub fn data_of(&self, stored: &Stored) -> &[u8] {
        let start = stored.start as usize;
        self.data.get(start..start + usize::from(stored.len)).unwrap_or(&[])
    }

    /// Where the frame of a record starts in the input, in bytes.
    #[inline]
    #[must_use]
    pub fn offset_of(&self, stored: &Stored) -> u64 {
        self.base + u64::from(stored.offset)
    }

    /// Whether a test of QUTest begins after a record, and with it the counter of the time stamps: the host's command is acknowledged.
    #[inline]
    #[must_use]
    pub fn begins_test(&self, stored: &Stored) -> bool {
        stored.kind == Kind::RxStatus && self.data_of(stored) == [TEST_SETUP]
    }

    /// The fields of fixed width of a record.
    #[inline]
    #[must_use]
    pub fn fields<'a>(&'a self, layout: &'a Layout, stored: &Stored) -> Option<FixedFields<'a>> {
        Some(layout.fixed_fields(stored.kind, self.data.get(stored.start as usize..)?.first_chunk()?))
    }

    /// The bytes that a reference into [`Records::data`] refers to; empty if it is out of range.
    #[must_use]
    pub fn bytes(&self, text: TextRef) -> &[u8] {
        self.data.get(text.range()).unwrap_or(&[])
    }
}

/// A stretch of the input with one configuration of the target.
#[derive(Clone, Debug)]
pub struct Segment {
    /// Where it starts in the input, in bytes.
    pub start: u64,
    /// The layout of its records.
    pub layout: Arc<Layout>,
    /// The target session, from 0.
    pub session: u32,
}

/// The decoder stage.
#[derive(Clone, Debug)]
pub struct Decoder {
    /// In file order; the first starts at 0.
    segments: Vec<Segment>,
}

impl Decoder {
    /// A decoder. There must be a segment that starts at 0.
    #[must_use]
    pub fn new(segments: Vec<Segment>) -> Decoder {
        Decoder { segments }
    }

    /// A decoder of a capture with one configuration.
    #[must_use]
    pub fn of(config: Config) -> Decoder {
        Decoder::new(vec![Segment { start: 0, layout: Arc::new(Layout::new(config)), session: 0 }])
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
        records.reset(range.start as u64);
        let part_end = range.end.min(input.len());
        let part = input.get(range.start..part_end).unwrap_or(&[]);
        let first = self.segments.partition_point(|segment| segment.start <= range.start as u64).saturating_sub(1);
        let Some(segment) = self.segments.get(first) else { return };
        records.segments.push((0, first as u32));
        let mut decoder = PartDecoder {
            segments: &self.segments,
            current: first,
            layout: &segment.layout,
            next_start: next_start(&self.segments, first, range.start),
            input,
            base: range.start,
            part,
            records,
            run: Vec::new(),
            run_is_long: false,
            last_seq: None,
            body: Vec::new(),
        };
        decoder.enter_part();
        decoder.decode_part();
    }
}

/// The decoders of a recording, by input.
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

/// Where the segment after `current` starts in the part, in bytes.
fn next_start(segments: &[Segment], current: usize, base: usize) -> usize {
    let start = segments.get(current + 1).map_or(usize::MAX, |segment| usize::try_from(segment.start).unwrap_or(usize::MAX));
    start.saturating_sub(base)
}

/// The first safe cut at or after `at`: after a frame with a valid checksum. In a run of damage that is longer than any frame, the cut
/// is after any flag, and if there is no flag for as long, at `at` itself.
#[must_use]
pub fn cut(input: &[u8], at: usize) -> usize {
    if at == 0 || at >= input.len() {
        return at.min(input.len());
    }
    let reach = input.get(..input.len().min(at.saturating_add(MAX_FRAME_BYTES))).unwrap_or(input);
    let mut body = Vec::new();
    let mut start = None;
    for flag in Delimiters::<FLAG>::new(reach, at - 1) {
        let frame = match start {
            Some(start) => input.get(start..flag),
            None => frame::frame_before(input, flag + 1),
        };
        start = Some(flag + 1);
        if frame.is_some_and(|frame| frame::unescape(frame, &mut body).is_ok()) {
            return flag + 1;
        }
    }
    if reach.len() == input.len() { input.len() } else { split::cut::<FLAG>(input, at) }
}

/// Decoding of one part.
struct PartDecoder<'a> {
    segments: &'a [Segment],
    current: usize,
    layout: &'a Layout,
    /// Where the next segment starts, in bytes from `base`.
    next_start: usize,
    input: &'a [u8],
    base: usize,
    part: &'a [u8],
    records: &'a mut Records,
    /// The frames of the current run of damage, with their flags.
    run: Vec<Piece>,
    /// Whether the run is too long to be repaired.
    run_is_long: bool,
    /// The sequence number of the last frame, if it was valid.
    last_seq: Option<u8>,
    body: Vec<u8>,
}

impl<'a> PartDecoder<'a> {
    /// Inspects the bytes before the part: the last frame is valid, or the part begins within a long run of damage.
    fn enter_part(&mut self) {
        if self.base == 0 {
            return;
        }
        let before = frame::frame_before(self.input, self.base);
        match before.map(|frame| frame::unescape(frame, &mut self.body)) {
            Some(Ok(())) => self.last_seq = self.body.first().copied(),
            _ => {
                self.run_is_long = true;
                self.records.continues_before = true;
            }
        }
    }

    fn decode_part(&mut self) {
        let part = self.part;
        // Frames are 11 bytes or more on average. A few of them have escapes.
        self.records.frames.reserve(part.len() / 10);
        self.records.data.reserve(part.len() + part.len() / 16 + SPARE_BYTES);
        self.records.data.extend_from_slice(part);
        let beyond = self.input.get(self.base..).unwrap_or(&[]);
        let mut at = 0;
        let is_torn = self.base > 0 && self.input.get(self.base - 1) != Some(&FLAG);
        for flag in Delimiters::<FLAG>::new(part, 0) {
            if at >= self.next_start {
                self.enter_segment(at);
            }
            let is_fragment = is_torn && at == 0;
            if is_fragment {
                self.add_piece(at, flag + 1, Bad::Body(BadBody::Oversize));
            } else if !self.run.is_empty() || !self.short_frame(beyond, at, flag - at) {
                self.any_frame(at, flag);
            }
            at = flag + 1;
        }
        if at < part.len() {
            let is_end = self.base + part.len() >= self.input.len();
            let is_long = !is_end || (is_torn && at == 0) || part.len() - at >= MAX_FRAME_BYTES;
            self.add_piece(at, part.len(), if is_long { Bad::Body(BadBody::Oversize) } else { Bad::Truncated });
        }
        if !self.run.is_empty() {
            // A part ends after a valid frame, with the input, or within a long run.
            self.records.continues_after = self.base + part.len() < self.input.len();
            self.run_is_long |= self.records.continues_after;
            self.end_run(None);
        } else if self.records.frames.is_empty() && self.records.damage.is_empty() {
            self.records.continues_before = false;
        }
        self.records.data.resize(self.records.data.len() + SPARE_BYTES, 0);
        let damaged: u64 = self.records.damage.iter().map(|damage| u64::from(damage.len)).sum();
        self.records.ok_bytes = (part.len() as u64).saturating_sub(damaged);
    }

    #[cold]
    fn enter_segment(&mut self, at: usize) {
        // What is repaired of the bytes before belongs to the session before.
        if !self.run.is_empty() {
            self.end_run(None);
        }
        let position = (self.base + at) as u64;
        self.current = self.segments.partition_point(|segment| segment.start <= position).saturating_sub(1);
        self.next_start = next_start(self.segments, self.current, self.base);
        if let Some(segment) = self.segments.get(self.current) {
            self.layout = &segment.layout;
        }
        self.records.segments.push((saturate(self.records.frames.len()), saturate(self.current)));
    }

    /// Stores the record of a short and valid frame without escapes. False for any other frame.
    #[inline]
    fn short_frame(&mut self, bytes: &[u8], at: usize, len: usize) -> bool {
        if len < OVERHEAD_BYTES {
            return false;
        }
        if len <= 32
            && let Some(window) = bytes.get(at..).and_then(|rest| rest.first_chunk::<32>())
        {
            return frame::is_plain(window, len) && self.store_window(window, at, len);
        }
        if len <= 64
            && let Some(window) = bytes.get(at..).and_then(|rest| rest.first_chunk::<64>())
        {
            return frame::is_plain(window, len) && self.store_window(window, at, len);
        }
        false
    }

    #[inline]
    fn store_window<const N: usize>(&mut self, window: &[u8; N], at: usize, len: usize) -> bool {
        let (seq, id) = (window[0], window[1]);
        let Some(record) = self.layout.of_id(id) else { return false };
        let is_valid = match record.length {
            Length::Exact(exact) => usize::from(exact) + OVERHEAD_BYTES == len,
            _ => self.part.get(at + 2..at + len - 1).is_some_and(|data| is_valid(self.layout, record, data)),
        };
        if !is_valid {
            return false;
        }
        let word = u64::from_le_bytes([window[2], window[3], window[4], window[5], 0, 0, 0, 0]);
        let time = layout::low_bytes(word, record.time_width);
        // The part is at the start of the data.
        self.push(record, at, (seq, id), (at + 2, len - OVERHEAD_BYTES), time);
        self.last_seq = Some(seq);
        true
    }

    #[inline]
    fn push(&mut self, record: &RecordLayout, at: usize, (seq, id): (u8, u8), (start, len): (usize, usize), time: u64) {
        self.records.frames.push(Stored {
            offset: at as u32,
            start: start as u32,
            time: time as u32,
            len: len as u16,
            kind: record.kind,
            seq,
            id,
            is_timed: record.time_width > 0,
        });
    }

    /// Decodes any frame, from `at` to the flag at `flag`.
    #[cold]
    fn any_frame(&mut self, at: usize, flag: usize) {
        let mut body = std::mem::take(&mut self.body);
        match frame::unescape(self.part.get(at..flag).unwrap_or(&[]), &mut body) {
            Err(reason) => self.add_piece(at, flag + 1, Bad::Body(reason)),
            Ok(()) => {
                let seq = body.first().copied().unwrap_or(0);
                if !self.run.is_empty() {
                    self.end_run(Some(seq));
                }
                self.run_is_long = false;
                let verified = verify(self.layout, &body).or_else(|reason| {
                    let other = of_other_version(self.layout, &body).filter(|_| self.is_in_sequence(seq, flag));
                    other.ok_or(reason)
                });
                match verified {
                    Ok(record) => self.store_body(&record, &body, at),
                    Err(reason) => {
                        self.push_damage(at, flag + 1, (1, 1), reason, Some(seq));
                        self.last_seq = Some(seq);
                    }
                }
            }
        }
        self.body = body;
    }

    /// Whether the number of a frame that ends with the flag at `flag` follows that of the frame before it, or precedes that of the next.
    fn is_in_sequence(&self, seq: u8, flag: usize) -> bool {
        let follows = self.last_seq.is_some_and(|last| seq.wrapping_sub(last) == 1);
        follows || {
            let next = frame::frame_after(self.input, self.base + flag + 1);
            let mut body = Vec::new();
            next.is_some_and(|next| frame::unescape(next, &mut body).is_ok())
                && body.first().is_some_and(|next| next.wrapping_sub(seq) == 1)
        }
    }

    fn store_body(&mut self, record: &RecordLayout, body: &[u8], at: usize) {
        let &[seq, id, ..] = body else { return };
        let data = body.get(2..body.len() - 1).unwrap_or(&[]);
        let start = self.records.data.len();
        self.records.data.extend_from_slice(data);
        self.push(record, at, (seq, id), (start, data.len()), layout::load(data, 0, record.time_width));
        self.last_seq = Some(seq);
    }

    fn add_piece(&mut self, at: usize, end: usize, reason: Bad) {
        self.run.push(Piece { start: at, end, reason });
    }

    /// Ends a run of damage: before a valid frame with this sequence number, or with the part.
    fn end_run(&mut self, next_seq: Option<u8>) {
        let mut run = std::mem::take(&mut self.run);
        let (Some(first), Some(last)) = (run.first(), run.last()) else { return };
        let (mut at, end) = (first.start, last.end);
        let repaired = if self.run_is_long {
            Vec::new()
        } else {
            let place = self.base + at..self.base + end;
            let neighbours = Neighbours::of(self.input, place, self.last_seq, next_seq, self.layout);
            repair::repair(self.part, &run, &neighbours, self.layout)
        };
        for record in repaired {
            let Ok(layout) = verify(self.layout, &record.body) else { continue };
            self.push_run(&run, at..record.start);
            self.store_body(&layout, &record.body, record.start);
            let offset = (self.base + record.start) as u64;
            self.records.repairs.push(Repair { offset, kind: record.kind });
            at = record.end;
        }
        self.push_run(&run, at..end);
        run.clear();
        self.run = run;
        self.last_seq = None;
    }

    /// Stores a stretch of a run as damage.
    fn push_run(&mut self, run: &[Piece], range: Range<usize>) {
        if range.is_empty() {
            return;
        }
        let ends_inside = |piece: &&Piece| {
            range.start < piece.end
                && piece.end <= range.end
                && (self.part.get(piece.end - 1) == Some(&FLAG) || piece.reason == Bad::Truncated)
        };
        let frames = run.iter().filter(ends_inside).count();
        let filled = run.iter().filter(ends_inside).filter(|piece| piece.end - piece.start > 1).count();
        let reason = run.iter().find(|piece| piece.end > range.start).map_or(Bad::Truncated, |piece| piece.reason);
        self.push_damage(range.start, range.end, (frames, filled), reason, None);
    }

    fn push_damage(&mut self, at: usize, end: usize, (frames, filled): (usize, usize), reason: Bad, seq: Option<u8>) {
        self.records.damage.push(Damage {
            index: saturate(self.records.frames.len()),
            offset: saturate(at),
            len: saturate(end - at),
            frames: saturate(frames),
            filled: saturate(filled),
            reason,
            seq,
            raw: TextRef { start: saturate(at), len: saturate((end - at).min(KEPT_RAW_BYTES)) },
        });
    }
}

fn saturate(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

/// The layout of the record in a body with a valid checksum.
///
/// # Errors
/// Why it is not a record.
pub fn verify(layout: &Layout, body: &[u8]) -> Result<RecordLayout, Bad> {
    let (Some(&id), Some(data)) = (body.get(1), body.get(2..body.len().saturating_sub(1))) else {
        return Err(Bad::Body(BadBody::TooShort));
    };
    let record = layout.of_id(id).ok_or(Bad::UnknownRecord)?;
    if u16::try_from(data.len()).is_err() {
        return Err(Bad::WrongLength);
    }
    if is_valid(layout, record, data) {
        return Ok(*record);
    }
    Err(match record.length {
        Length::Text(fixed) if data.len() > usize::from(fixed) => Bad::BadText,
        _ if record.kind == Kind::User && data.len() >= usize::from(layout.config.sizes.time) => Bad::BadElements,
        _ => Bad::WrongLength,
    })
}

/// The layout of a record that the target's version does not have, or has in another form: that of the version nearest to it whose
/// record has this length.
fn of_other_version(layout: &Layout, body: &[u8]) -> Option<RecordLayout> {
    let (&id, data) = (body.get(1)?, body.get(2..body.len().saturating_sub(1))?);
    u16::try_from(data.len()).ok()?;
    if let Some(record) = layout.of_id(id).filter(|record| record.kind == Kind::QueryData) {
        let Length::Rest(fixed) = record.length else { return None };
        let (query, rest) = (layout.fields(record.kind, data).uint(Field::Query), data.get(usize::from(fixed)..)?);
        return query_fields_of(query, rest.len(), layout.config).map(|_| *record);
    }
    layout.of_other_versions(id).find(|record| is_valid(layout, record, data)).copied()
}

/// Whether the data of a record has the right length, and its fields of variable length end with the data.
#[inline]
pub fn is_valid(layout: &Layout, record: &RecordLayout, data: &[u8]) -> bool {
    match record.length {
        Length::Exact(exact) => data.len() == usize::from(exact),
        Length::Text(fixed) => {
            data.get(usize::from(fixed)..).is_some_and(|text| memchr::memchr(0, text) == text.len().checked_sub(1))
        }
        Length::Rest(fixed) => data.get(usize::from(fixed)..).is_some_and(|rest| is_rest_valid(layout, record, data, rest)),
    }
}

fn is_rest_valid(layout: &Layout, record: &RecordLayout, data: &[u8], rest: &[u8]) -> bool {
    let Config { sizes, version, .. } = layout.config;
    match record.kind {
        Kind::User => Elements::new(rest, sizes, version).all(|element| element.is_ok()),
        Kind::TargetInfo => super::info::TargetInfo::read(rest).is_some(),
        Kind::PeekAddress => rest.len() as u64 == layout.fields(record.kind, data).uint(Field::Items),
        Kind::PeekData => {
            let fields = layout.fields(record.kind, data);
            let (size, items) = (fields.uint(Field::Size), fields.uint(Field::Items));
            matches!(size, 1 | 2 | 4) && rest.len() as u64 == size * items
        }
        Kind::QueryData => {
            let query = layout.fields(record.kind, data).uint(Field::Query);
            let Some(fields) = query_fields(query, version) else { return false };
            fields_len(fields, sizes) == rest.len()
        }
        _ => true,
    }
}

/// The fields of QUERY_DATA for a kind of object, whose length is `len`: those of the target's version, or else of another one. Before 6.9.0, a
/// target that was not built for QUTest records of queues, pools and time events only which one it is.
#[must_use]
pub fn query_fields_of(query: u64, len: usize, config: Config) -> Option<&'static [(&'static str, Code)]> {
    let of_version = |version| query_fields(query, version).filter(|fields| fields_len(fields, config.sizes) == len);
    let whole = [config.version, 815, 740, 680].into_iter().find_map(of_version);
    let object: &[_] = &[("obj", Code::Object)];
    whole.or_else(|| (matches!(query, 1..=4) && fields_len(object, config.sizes) == len).then_some(object))
}

fn fields_len(fields: &[(&str, Code)], sizes: Sizes) -> usize {
    fields.iter().map(|(_, code)| usize::from(sizes.width(*code).unwrap_or(0))).sum()
}

/// The fields of QUERY_DATA for a kind of object, in a version of QP; `None` for a kind that the version does not have.
fn query_fields(query: u64, version: u16) -> Option<&'static [(&'static str, Code)]> {
    use Code::{Function, Object, PoolCounter, QueueCounter, Signal, TimeCounter, U8, U16};
    const SM: &[(&str, Code)] = &[("obj", Object), ("state", Function)];
    const TE: &[(&str, Code)] = &[
        ("te", Object),
        ("ao", Object),
        ("ticks", TimeCounter),
        ("interval", TimeCounter),
        ("sig", Signal(None)),
        ("flags", U8),
    ];
    Some(match (query, version >= 810) {
        (0 | 6, _) => SM,
        (1, true) => &[("prio", U8), ("used", U16), ("free", U16), ("min", U16)],
        (1, false) if version < 690 => &[("obj", Object), ("free", QueueCounter), ("min", QueueCounter)],
        (1, false) => SM,
        (2, true) => &[("obj", Object), ("used", U16), ("free", U16), ("min", U16), ("size", U16)],
        (2, false) => &[("obj", Object), ("free", PoolCounter), ("min", PoolCounter)],
        (3, true) => &[("obj", Object), ("used", U16), ("free", U16), ("min", U16)],
        (3, false) => &[("obj", Object), ("free", QueueCounter), ("min", QueueCounter)],
        (4, _) => TE,
        (5, true) => &[],
        (5, false) => &[("obj", Object)],
        (7, true) => &[("id", U8), ("used", U16), ("free", U16), ("min", U16), ("size", U16)],
        _ => return None,
    })
}
