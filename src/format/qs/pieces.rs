//! Copies of pieces of the file in which the target starts up: no resets.
//!
//! That a start-up is there twice says nothing, as a target may send the same after each reset. But of a copy the bytes before it are there
//! twice, too, and not at each reset; they begin with a break of the numbers; and after it, the numbers go on from where they were before.

use std::ops::Range;

use memchr::{memchr, memmem, memrchr};

use super::frame::{self, FLAG};

/// How far a copy reaches on each side of a start-up, and how far from it the original is, in bytes.
const REACH: usize = 1 << 16;
/// At least this number of bytes before a start-up are in its copy: the end of a frame.
const LEAST_BYTES: usize = 4;
/// The limit of other start-ups that one is compared with.
const OTHERS: usize = 16;
/// The numbers go on within this number of frames: at each end one may be damaged.
const GOES_ON: u8 = 3;

/// Copies, in file order, without overlap.
#[derive(Clone, Debug, Default)]
pub struct CopiedPieces(Vec<Range<u64>>);

impl CopiedPieces {
    /// Where the copy ends in which a place is.
    #[cold]
    #[must_use]
    pub fn end_at(&self, offset: u64) -> Option<u64> {
        let copy = self.0.get(self.0.partition_point(|copy| copy.end <= offset))?;
        copy.contains(&offset).then_some(copy.end)
    }

    /// Adds a copy that ends after all others.
    fn add(&mut self, mut copy: Range<u64>) {
        while let Some(last) = self.0.pop_if(|last| last.end > copy.start) {
            copy = last.start.min(copy.start)..last.end.max(copy.end);
        }
        self.0.push(copy);
    }

    /// Adds the copy in which the start-up at `start` is, if it is in one. `last_start`: the start-up before it.
    pub fn search(&mut self, input: &[u8], last_start: u64, start: u64) {
        if self.end_at(start).is_none()
            && let (Ok(last), Ok(start)) = (usize::try_from(last_start), usize::try_from(start))
            && let Some(copy) = copy_around(input, last, start)
        {
            self.add(copy.start as u64..copy.end as u64);
        }
    }
}

/// The copy in which the start-up at `start` is, up to the end of its last whole frame.
fn copy_around(input: &[u8], last_start: usize, start: usize) -> Option<Range<usize>> {
    let from = start.saturating_sub(REACH);
    let near = input.get(from..start.saturating_add(REACH).min(input.len()))?;
    let (head, tail) = input.split_at_checked(start)?;
    let (head, tail) = (head.get(last_start.max(from)..)?, tail.get(..REACH).unwrap_or(tail));
    let needle = input.get(start.checked_sub(LEAST_BYTES)?..start + LEAST_BYTES)?;
    let others = memmem::find_iter(near, needle).map(|at| from + at + LEAST_BYTES).filter(|&other| other != start);
    let copies = others.take(OTHERS).filter_map(|other| {
        let (other_head, other_tail) = input.split_at_checked(other)?;
        let is_same = |(one, other): &(&u8, &u8)| one == other;
        let before = head.iter().rev().zip(other_head.iter().rev()).take_while(is_same).count();
        let before = Some(before).filter(|&before| before < head.len())?;
        // The first whole frame of the copy, and the last valid one that is not of it.
        let begin = start - before + memchr(FLAG, head.get(head.len() - before..)?)? + 1;
        let ((last, last_end), first) = (last_before(input, begin)?, seq_after(input, begin)?);
        // A start-up always breaks the numbers: it is the first whole frame of a copy only if the frame before it is damaged.
        if first.wrapping_sub(last) == 1 || begin == start && last_end == begin {
            return None;
        }
        let after = tail.iter().zip(other_tail).take_while(is_same).count();
        let end = start + memrchr(FLAG, tail.get(..after)?)? + 1;
        // What a program that does the same each time sends before the start-up is there after each reset.
        let times = |from: usize| input.get(from..start).map_or(0, |piece| memmem::find_iter(near, piece).count());
        let is_once_more = || times(start - before) == times((start - before).saturating_sub(2 * LEAST_BYTES)) + 1;
        (goes_on(input, end, last) && is_once_more()).then_some(last_end..end)
    });
    copies.max_by_key(Range::len)
}

/// Whether the numbers go on at `end` after `last`.
fn goes_on(input: &[u8], end: usize, last: u8) -> bool {
    seq_after(input, end).is_some_and(|next| (1..=GOES_ON).contains(&next.wrapping_sub(last)))
}

/// The number of the last valid frame that ends at or before `end`, and where it ends.
fn last_before(input: &[u8], mut end: usize) -> Option<(u8, usize)> {
    let (least, mut buffer) = (end.saturating_sub(REACH), Vec::new());
    while end > least {
        let bytes = frame::frame_before(input, end)?;
        if let Ok(&[seq, ..]) = frame::body(bytes, None, &mut buffer) {
            return Some((seq, end));
        }
        end -= bytes.len() + 1;
    }
    None
}

/// The number of the first valid frame from `start` on.
fn seq_after(input: &[u8], mut start: usize) -> Option<u8> {
    let (most, mut buffer) = (start.saturating_add(REACH), Vec::new());
    while start < most {
        let bytes = frame::frame_after(input, start)?;
        if let Ok(&[seq, ..]) = frame::body(bytes, None, &mut buffer) {
            return Some(seq);
        }
        start += bytes.len() + 1;
    }
    None
}
