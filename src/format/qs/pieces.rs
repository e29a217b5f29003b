//! Copies of pieces of the file in which the target starts up: no resets.
//!
//! That a start-up is there twice says nothing, as a target may send the same after each reset. But of a copy the bytes before it are there
//! twice, too, and not at each reset; they begin with a break of the numbers; and after it, the numbers go on from where they were before.

use std::ops::Range;

use memchr::memmem;

use super::frame::{self, FLAG};

/// How far a copy reaches on each side of a start-up, and how far from it the original is, in bytes.
const REACH: usize = 1 << 16;
/// At how many breaks of the numbers on each side it may end: some frames may be missing within it.
const BREAKS: usize = 8;
/// The numbers go on within this number of frames: at each end one may be damaged.
const GOES_ON: u8 = 3;

/// A valid frame.
struct Frame {
    range: Range<usize>,
    seq: u8,
    is_start: bool,
}

impl Frame {
    /// From the bytes at `start`, given without the flag after them.
    fn read(bytes: &[u8], start: usize, buffer: &mut Vec<u8>) -> Option<Frame> {
        let &[seq, id, ..] = frame::body(bytes, None, buffer).ok()? else { return None };
        Some(Frame { range: start..start + bytes.len() + 1, seq, is_start: id == 0 && seq <= 1 })
    }

    fn is_before(&self, next: &Frame) -> bool {
        self.seq.wrapping_add(1) == next.seq
    }
}

/// The valid frames that end at or before `end`, the last one first.
fn before(input: &[u8], end: usize) -> impl Iterator<Item = Frame> {
    let (mut at, mut buffer) = (end, Vec::new());
    let frames = std::iter::from_fn(move || {
        let bytes = frame::frame_before(input, at).filter(|_| end - at < REACH)?;
        at -= bytes.len() + 1;
        Some(Frame::read(bytes, at, &mut buffer))
    });
    frames.flatten()
}

/// The valid frames from `start` on.
fn after(input: &[u8], start: usize) -> impl Iterator<Item = Frame> {
    let mut buffer = Vec::new();
    let reach = input.get(..start.saturating_add(REACH)).unwrap_or(input);
    let mut at = start;
    let frames = std::iter::from_fn(move || {
        let bytes = reach.get(at..)?;
        let bytes = bytes.get(..memchr::memchr(FLAG, bytes)?)?;
        at += bytes.len() + 1;
        Some(Frame::read(bytes, at - bytes.len() - 1, &mut buffer))
    });
    frames.flatten()
}

/// The copy in which the start-up at `start` is, if it is in one, up to the end of its last whole frame. `starts`: the start-ups before it.
#[must_use]
pub fn copy_around(input: &[u8], start: usize, starts: &[u64]) -> Option<Range<usize>> {
    // Where it may begin: the frame before it, and its first one.
    let mut begins: Vec<(Frame, usize)> = Vec::new();
    let mut next: Option<Frame> = None;
    for frame in before(input, start) {
        let is_start = frame.is_start;
        let line = next.replace(Frame { range: frame.range.clone(), ..frame });
        if let Some(first) = line.filter(|first| !frame.is_before(first)) {
            begins.push((frame, first.range.start));
        }
        if is_start || begins.len() >= BREAKS {
            break;
        }
    }
    // The frames before the start-up, of a program that does the same each time, are there after each reset.
    let near = input.get(start.saturating_sub(REACH)..start.saturating_add(REACH).min(input.len()))?;
    begins.retain(|(_, first)| memmem::find_iter(near, input.get(*first..start).unwrap_or(&[])).take(3).count() <= 2);
    let doubled = begins.iter().find_map(|(line, first)| {
        let lens = starts.iter().rev().map(|&other| start - other as usize);
        let is_doubled = |len: &usize| {
            let original = input.get(first.checked_sub(*len)?..line.range.end)?;
            Some(line.range.end + len > start && original == input.get(*first..line.range.end + len)?)
        };
        let len = lens.take_while(|len| *len <= REACH).find(|len| is_doubled(len) == Some(true))?;
        Some(line.range.end..line.range.end + len)
    });
    if doubled.is_some() || begins.is_empty() {
        return doubled;
    }
    // Where it may end: the end of its last frame, and the number after it.
    let mut ends: Vec<(usize, u8)> = Vec::new();
    let (mut last, mut starts): (Option<Frame>, usize) = (None, 0);
    for frame in after(input, start) {
        if let Some(last) = last.filter(|last| !last.is_before(&frame) && !frame.is_start) {
            ends.push((last.range.end, frame.seq));
        }
        starts += usize::from(frame.is_start);
        if ends.len() >= BREAKS || starts >= BREAKS {
            break;
        }
        last = Some(frame);
    }
    let pairs = begins.iter().flat_map(|begin| ends.iter().map(move |end| (begin, end)));
    let goes_on = |((line, first), (end, seq)): &(&(Frame, usize), &(usize, u8))| {
        (1..=GOES_ON).contains(&seq.wrapping_sub(line.seq)) && is_twice(input, &(*first..*end))
    };
    // The numbers also go on within the longest one, if a start-up is right before it.
    let longest = pairs.filter(goes_on).max_by_key(|((_, first), (end, _))| end - first);
    longest.map(|((line, _), (end, _))| line.range.end..*end)
}

/// Whether bytes are there once more, not far away.
fn is_twice(input: &[u8], range: &Range<usize>) -> bool {
    let before = input.get(range.start.saturating_sub(REACH)..range.start);
    let after = input.get(range.end..range.end.saturating_add(REACH).min(input.len()));
    let piece = input.get(range.clone()).unwrap_or(&[]);
    let finder = memmem::Finder::new(piece);
    [before, after].into_iter().flatten().any(|bytes| finder.find(bytes).is_some())
}
