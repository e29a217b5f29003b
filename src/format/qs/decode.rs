//! Frames → records. Strict, and without state: what a frame means here depends on its bytes, those of its neighbours, and what the
//! first pass found out about the whole.
//!
//! A frame that adds up and is as long as its record must be is a record. One that adds up but is not, costs itself. One that does
//! not add up is damage: neighbouring ones are one *run* of damage, of which [`super::repair`] may save something.

use std::ops::Range;
use std::sync::Arc;

use crate::frame::split::{self, Delimiters, MAX_FRAME_BYTES};
use crate::model::{LossKind, Severity, TextRef};

use super::element::Elements;
use super::frame::{self, BadBody, FLAG, OVERHEAD_BYTES};
use super::layout::{Config, Fields, Layout, Length, RecordLayout};
use super::record::{Code, Kind};
use super::repair::{self, Piece};

/// How many bytes of a run of damage are kept for people to look at.
pub const KEPT_RAW_BYTES: usize = 256;

/// Why bytes are no record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Bad {
    /// The frame is none.
    Body(BadBody),
    /// The input ends within it.
    Truncated,
    /// A sound frame with an id that this version of QP does not have.
    UnknownRecord,
    /// A sound frame that is shorter or longer than its record.
    WrongLength,
    /// A sound frame with a text that does not end where it should.
    BadText,
    /// A sound frame of an application record that does not consist of whole elements.
    BadElements,
}

impl Bad {
    /// The line of the ledger that it belongs to.
    #[must_use]
    pub fn loss_kind(self) -> LossKind {
        let (code, text) = match self {
            Bad::Body(BadBody::Empty) => ("empty_frame", "a frame is empty"),
            Bad::Body(BadBody::TooShort) => ("short_frame", "a frame is too short"),
            Bad::Body(BadBody::IllegalEscape) => ("illegal_escape", "a frame holds an escape that no target sends"),
            Bad::Body(BadBody::Checksum) => ("bad_checksum", "a frame does not add up"),
            Bad::Body(BadBody::ImpossibleId) => ("impossible_record", "a frame holds a record id that no target sends"),
            Bad::Body(BadBody::Oversize) => ("oversize_frame", "a run of bytes without a flag is too long to be a frame"),
            Bad::Truncated => ("truncated_frame", "the input ends within a frame"),
            Bad::UnknownRecord => ("unknown_record", "a frame holds a record that this version of QP does not have"),
            Bad::WrongLength => ("wrong_length", "a record is not as long as the target's sizes make it"),
            Bad::BadText => ("bad_text", "a text in a record does not end where the record does"),
            Bad::BadElements => ("bad_elements", "an application record does not consist of whole elements"),
        };
        LossKind { code, text, severity: Severity::Loss }
    }
}

/// A record and where its frame starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stored {
    /// Where its frame starts, in bytes from [`Records::base`].
    pub offset: u32,
    /// Where its data start in [`Records::data`].
    pub start: u32,
    /// Its time stamp as sent; 0 without one.
    pub time: u32,
    /// The length of its data, in bytes.
    pub len: u16,
    /// Which record.
    pub kind: Kind,
    /// Its sequence number.
    pub seq: u8,
    /// Its id.
    pub id: u8,
    /// Whether it has a time stamp.
    pub is_timed: bool,
}

/// Bytes that are no record: one sound frame, or a run of frames that are none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Damage {
    /// How many of [`Records::frames`] come before it.
    pub index: u32,
    /// Where it starts, in bytes from [`Records::base`].
    pub offset: u32,
    /// Its length in bytes, flags included.
    pub len: u32,
    /// How many frames end in it.
    pub frames: u32,
    /// How many of them are more than an empty frame.
    pub filled: u32,
    /// What is wrong with it, or with the first of its frames.
    pub reason: Bad,
    /// The sequence number, if the frame itself is sound.
    pub seq: Option<u8>,
    /// Its first bytes (see [`KEPT_RAW_BYTES`]), in [`Records::data`].
    pub raw: TextRef,
}

/// A record that was saved from damage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Repair {
    /// Where it starts in the input, in bytes.
    pub offset: u64,
    /// How.
    pub kind: LossKind,
}

/// The records of one part.
#[derive(Clone, Debug, Default)]
pub struct Records {
    /// Where the part starts in the input, in bytes.
    pub base: u64,
    /// The records, in file order.
    pub frames: Vec<Stored>,
    /// What is none, in file order.
    pub damage: Vec<Damage>,
    /// What was saved, in file order.
    pub repairs: Vec<Repair>,
    /// The data of the above, with some bytes to spare at the end so that fields can be loaded as whole words.
    pub data: Vec<u8>,
    /// Bytes that became records, flags included.
    pub ok_bytes: u64,
    /// By number of `Plan::segments`, the index of the first record that belongs to it, in file order.
    pub segments: Vec<(u32, u32)>,
    /// Whether the first damage goes on from the part before. Only runs longer than any frame are cut.
    pub continues: bool,
    /// Whether the last damage goes on in the next part.
    pub goes_on: bool,
}

/// How many bytes there are to spare behind [`Records::data`].
const SPARE_BYTES: usize = 64;

impl Records {
    fn reset(&mut self, base: u64) {
        self.base = base;
        self.frames.clear();
        self.damage.clear();
        self.repairs.clear();
        self.data.clear();
        self.segments.clear();
        self.ok_bytes = 0;
        (self.continues, self.goes_on) = (false, false);
    }

    /// The data of a record, without what may lie behind them.
    #[inline]
    #[must_use]
    pub fn data_of(&self, stored: &Stored) -> &[u8] {
        let start = stored.start as usize;
        self.data.get(start..start + usize::from(stored.len)).unwrap_or(&[])
    }

    /// The fixed fields of a record, quick to read. Not for texts.
    #[inline]
    #[must_use]
    pub fn fields<'a>(&'a self, layout: &'a Layout, stored: &Stored) -> Fields<'a> {
        layout.fields(stored.kind, self.data.get(stored.start as usize..).unwrap_or(&[]))
    }

    /// The bytes behind a reference into [`Records::data`]; empty for a foreign one.
    #[must_use]
    pub fn bytes(&self, text: TextRef) -> &[u8] {
        let start = text.start as usize;
        self.data.get(start..start.saturating_add(text.len as usize)).unwrap_or(&[])
    }
}

/// A stretch of the input in which the target sends in one way.
#[derive(Clone, Debug)]
pub struct Segment {
    /// Where it starts in the input, in bytes.
    pub start: u64,
    /// How the target sends.
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

    /// A decoder of a capture in which the target sends in one way throughout.
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

    /// Decodes the part `range` of `input` into `records`, whose memory is used again and whose content is forgotten.
    pub fn records_into(&self, input: &[u8], range: Range<usize>, records: &mut Records) {
        records.reset(range.start as u64);
        let part_end = range.end.min(input.len());
        let part = input.get(range.start..part_end).unwrap_or(&[]);
        let first = self.segments.partition_point(|segment| segment.start <= range.start as u64).saturating_sub(1);
        let Some(segment) = self.segments.get(first) else { return };
        records.segments.push((0, first as u32));
        let mut work = Work {
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
        work.enter_part();
        work.run_through();
    }
}

/// Where the segment after `current` starts in the part, in bytes.
fn next_start(segments: &[Segment], current: usize, base: usize) -> usize {
    let start = segments.get(current + 1).map_or(usize::MAX, |segment| usize::try_from(segment.start).unwrap_or(usize::MAX));
    start.saturating_sub(base)
}

/// The first safe cut at or after `at`: behind a frame that is sound by itself. In a run of damage that is longer than any frame it
/// is behind any flag, and where there is none for as long, at `at` itself.
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
struct Work<'a> {
    segments: &'a [Segment],
    current: usize,
    layout: &'a Layout,
    /// Where the next segment starts, in bytes from `base`.
    next_start: usize,
    input: &'a [u8],
    base: usize,
    part: &'a [u8],
    records: &'a mut Records,
    /// The frames of the present run of damage, with their flags.
    run: Vec<Piece>,
    /// The run is too long for anything in it to be saved.
    run_is_long: bool,
    /// The sequence number of the sound frame before, if the last frame was sound.
    last_seq: Option<u8>,
    body: Vec<u8>,
}

impl<'a> Work<'a> {
    /// What is before the part: the frame before is sound, or the part begins within a long run of damage.
    fn enter_part(&mut self) {
        if self.base == 0 {
            return;
        }
        let before = frame::frame_before(self.input, self.base);
        match before.map(|frame| frame::unescape(frame, &mut self.body)) {
            Some(Ok(())) => self.last_seq = self.body.first().copied(),
            _ => {
                self.run_is_long = true;
                self.records.continues = true;
            }
        }
    }

    fn run_through(&mut self) {
        let part = self.part;
        // Frames are 11 bytes or more on average.
        self.records.frames.reserve(part.len() / 10);
        self.records.data.reserve(part.len() + SPARE_BYTES);
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
            // A part ends behind a sound frame, with the input, or within a long run.
            self.records.goes_on = self.base + part.len() < self.input.len();
            self.run_is_long |= self.records.goes_on;
            self.end_run(None);
        } else if self.records.frames.is_empty() && self.records.damage.is_empty() {
            self.records.continues = false;
        }
        self.records.data.resize(self.records.data.len() + SPARE_BYTES, 0);
    }

    #[cold]
    fn enter_segment(&mut self, at: usize) {
        let position = (self.base + at) as u64;
        self.current = self.segments.partition_point(|segment| segment.start <= position).saturating_sub(1);
        self.next_start = next_start(self.segments, self.current, self.base);
        if let Some(segment) = self.segments.get(self.current) {
            self.layout = &segment.layout;
        }
        self.records.segments.push((saturate(self.records.frames.len()), saturate(self.current)));
    }

    /// Stores the record of a short and sound frame without escapes. False for any other frame.
    #[inline]
    fn short_frame(&mut self, bytes: &[u8], at: usize, len: usize) -> bool {
        let rest = bytes.get(at..).unwrap_or(&[]);
        if len < OVERHEAD_BYTES {
            return false;
        }
        if len <= 32
            && let Some(window) = rest.first_chunk::<32>()
        {
            return frame::is_plain(window, len) && self.store_window(window, at, len);
        }
        if len <= 64
            && let Some(window) = rest.first_chunk::<64>()
        {
            return frame::is_plain(window, len) && self.store_window(window, at, len);
        }
        false
    }

    #[inline]
    fn store_window<const N: usize>(&mut self, window: &[u8; N], at: usize, len: usize) -> bool {
        let (seq, id) = (window[0], window[1]);
        let Some(record) = self.layout.of_id(id) else { return false };
        let data_len = len - OVERHEAD_BYTES;
        let data = window.get(2..).unwrap_or(&[]);
        let is_sound = match record.length {
            Length::Exact(exact) => usize::from(exact) == data_len,
            _ => data.get(..data_len).is_some_and(|data| is_sound(self.layout, record, data)),
        };
        if !is_sound {
            return false;
        }
        let start = self.records.data.len();
        // More than wanted at once, and then shorter: copies of a fixed length are quick.
        self.records.data.extend_from_slice(data);
        self.records.data.truncate(start + data_len);
        self.push(record, at, seq, id, start, data_len);
        self.last_seq = Some(seq);
        self.records.ok_bytes += len as u64 + 1;
        true
    }

    #[inline]
    fn push(&mut self, record: &RecordLayout, at: usize, seq: u8, id: u8, start: usize, len: usize) {
        let slot = record.slots[0];
        let is_timed = record.is_timed;
        let rest = self.records.data.get(start..).unwrap_or(&[]);
        let time = if is_timed { super::layout::load(rest, 0, slot.width) as u32 } else { 0 };
        self.records.frames.push(Stored {
            offset: at as u32,
            start: start as u32,
            time,
            len: len as u16,
            kind: record.kind,
            seq,
            id,
            is_timed,
        });
    }

    /// Any frame, from `at` up to the flag at `flag`.
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
                match verify(self.layout, &body) {
                    Ok(record) => {
                        self.store_body(&record, &body, at);
                        self.records.ok_bytes += (flag + 1 - at) as u64;
                    }
                    Err(reason) => {
                        self.push_damage(at, flag + 1, (1, 1), reason, Some(seq));
                        self.last_seq = Some(seq);
                    }
                }
            }
        }
        self.body = body;
    }

    fn store_body(&mut self, record: &RecordLayout, body: &[u8], at: usize) {
        let &[seq, id, ..] = body else { return };
        let data = body.get(2..body.len() - 1).unwrap_or(&[]);
        let start = self.records.data.len();
        self.records.data.extend_from_slice(data);
        self.push(record, at, seq, id, start, data.len());
        self.last_seq = Some(seq);
    }

    fn add_piece(&mut self, at: usize, end: usize, reason: Bad) {
        self.run.push(Piece { start: at, end, reason });
    }

    /// A run of damage ended: before a sound frame with this sequence number, or with the part.
    fn end_run(&mut self, next_seq: Option<u8>) {
        let mut run = std::mem::take(&mut self.run);
        let (Some(first), Some(last)) = (run.first(), run.last()) else { return };
        let (mut at, end) = (first.start, last.end);
        let saved =
            if self.run_is_long { Vec::new() } else { repair::save(self.part, &run, self.last_seq, next_seq, self.layout) };
        for record in saved {
            let Ok(layout) = verify(self.layout, &record.body) else { continue };
            self.push_run(&run, at..record.start);
            self.store_body(&layout, &record.body, record.start);
            self.records.ok_bytes += (record.end - record.start) as u64;
            let offset = (self.base + record.start) as u64;
            self.records.repairs.push(Repair { offset, kind: record.kind });
            at = record.end;
        }
        self.push_run(&run, at..end);
        run.clear();
        self.run = run;
        self.last_seq = None;
    }

    /// Enters a stretch of a run as damage.
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
        let raw = self.part.get(at..end.min(at + KEPT_RAW_BYTES)).unwrap_or(&[]);
        let start = self.records.data.len();
        self.records.data.extend_from_slice(raw);
        self.records.damage.push(Damage {
            index: saturate(self.records.frames.len()),
            offset: saturate(at),
            len: saturate(end - at),
            frames: saturate(frames),
            filled: saturate(filled),
            reason,
            seq,
            raw: TextRef { start: saturate(start), len: saturate(raw.len()) },
        });
    }
}

fn saturate(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

/// The layout of the record in a body that adds up.
///
/// # Errors
/// Why it is no record after all.
pub fn verify(layout: &Layout, body: &[u8]) -> Result<RecordLayout, Bad> {
    let (Some(&id), Some(data)) = (body.get(1), body.get(2..body.len().saturating_sub(1))) else {
        return Err(Bad::Body(BadBody::TooShort));
    };
    let record = layout.of_id(id).ok_or(Bad::UnknownRecord)?;
    if u16::try_from(data.len()).is_err() {
        return Err(Bad::WrongLength);
    }
    if is_sound(layout, record, data) {
        return Ok(*record);
    }
    Err(match record.length {
        Length::Text(fixed) if data.len() > usize::from(fixed) => Bad::BadText,
        _ if record.kind == Kind::User && data.len() >= usize::from(layout.config.sizes.time) => Bad::BadElements,
        _ => Bad::WrongLength,
    })
}

/// Whether the data of a record are as long as they must be, and what is of any length ends where they do.
#[inline]
fn is_sound(layout: &Layout, record: &RecordLayout, data: &[u8]) -> bool {
    match record.length {
        Length::Exact(exact) => data.len() == usize::from(exact),
        Length::Text(fixed) => {
            data.get(usize::from(fixed)..).is_some_and(|text| memchr::memchr(0, text) == text.len().checked_sub(1))
        }
        Length::Rest(fixed) => data.get(usize::from(fixed)..).is_some_and(|rest| is_rest_sound(layout, record, data, rest)),
    }
}

fn is_rest_sound(layout: &Layout, record: &RecordLayout, data: &[u8], rest: &[u8]) -> bool {
    let Config { sizes, version, .. } = layout.config;
    match record.kind {
        Kind::User => Elements::new(rest, sizes, version).all(|element| element.is_ok()),
        Kind::TargetInfo => super::info::TargetInfo::read(rest).is_some(),
        Kind::PeekData => {
            let fields = layout.fields(record.kind, data);
            let (size, items) = (fields.uint(2), fields.uint(3));
            matches!(size, 1 | 2 | 4) && rest.len() as u64 == size * items
        }
        Kind::QueryData => {
            let query = layout.fields(record.kind, data).uint(1);
            let Some(fields) = query_fields(query, version) else { return false };
            let len = |code: &Code| usize::from(sizes.width(*code).unwrap_or(0));
            fields.iter().map(|(_, code)| len(code)).sum::<usize>() == rest.len()
        }
        _ => true,
    }
}

/// What QUERY_DATA tells of a kind of object, in a version of QP; `None` for a kind that it does not have.
#[must_use]
pub fn query_fields(query: u64, version: u16) -> Option<&'static [(&'static str, Code)]> {
    use Code::{Function, Object, PoolCounter, QueueCounter, Signal, TimeCounter, U8, U16};
    const SM: &[(&str, Code)] = &[("obj", Object), ("state", Function)];
    const TE: &[(&str, Code)] =
        &[("te", Object), ("ao", Object), ("ticks", TimeCounter), ("interval", TimeCounter), ("sig", Signal(1)), ("flags", U8)];
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
        (5, _) => &[],
        (7, true) => &[("id", U8), ("used", U16), ("free", U16), ("min", U16), ("size", U16)],
        _ => return None,
    })
}
