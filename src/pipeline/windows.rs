//! The first stage of the second pass: windows are decoded, ahead of the stages that use their records.

use std::collections::VecDeque;
use std::ops::Range;

use super::Source;
use super::scan::releasable;
use super::threads::{Plan, Threads};
use crate::format::{ErasedDecode, Parcel, Part};

/// Limit of windows of an input that are decoded ahead, for each thread. More are slower: their data then leave the processor's caches.
const WINDOWS_AHEAD: usize = 4;
/// The same for any number of threads.
const WINDOWS_AHEAD_MAX: usize = 32;

/// The windows of an input, in file order.
struct Queue {
    /// Where the last planned one ends.
    planned: usize,
    /// Where the windows after that end.
    cuts: std::vec::IntoIter<usize>,
    /// The planned ones that have not been taken; `None` while one is being decoded.
    decoded: VecDeque<Option<Parcel>>,
    /// The number of windows that have been taken.
    taken: usize,
}

/// The next window of an input.
pub enum Next {
    /// It is decoded.
    Window(Parcel),
    /// It is not yet decoded.
    Later,
    /// All have been taken.
    End,
}

/// The windows of all inputs of a recording.
pub struct Windows<'a> {
    sources: &'a [Source<'a>],
    decode: &'a dyn ErasedDecode,
    queues: Vec<Queue>,
    ahead: usize,
    /// Used parcels, for reuse of their memory.
    spare_parcels: Vec<Parcel>,
}

/// A window to decode.
pub struct Window<'a> {
    source: &'a Source<'a>,
    decode: &'a dyn ErasedDecode,
    input: usize,
    /// Its number in the input.
    number: usize,
    range: Range<usize>,
    spare: Option<Parcel>,
}

/// A decoded window.
pub struct DecodedWindow {
    input: usize,
    number: usize,
    parcel: Parcel,
}

impl<'a> Windows<'a> {
    /// `cuts`: from the first pass.
    pub fn new(sources: &'a [Source<'a>], cuts: Vec<Vec<usize>>, decode: &'a dyn ErasedDecode, threads: &Threads) -> Windows<'a> {
        let queue = |cuts: Vec<usize>| Queue { planned: 0, cuts: cuts.into_iter(), decoded: VecDeque::new(), taken: 0 };
        let ahead = (WINDOWS_AHEAD * threads.count()).min(WINDOWS_AHEAD_MAX);
        Windows { sources, decode, queues: cuts.into_iter().map(queue).collect(), ahead, spare_parcels: Vec::new() }
    }

    /// Takes the next window of an input.
    pub fn take_next(&mut self, input: usize) -> Next {
        let Some(queue) = self.queues.get_mut(input) else { return Next::End };
        match queue.decoded.front_mut() {
            Some(window) => match window.take() {
                Some(parcel) => {
                    queue.decoded.pop_front();
                    queue.taken += 1;
                    Next::Window(parcel)
                }
                None => Next::Later,
            },
            None if queue.cuts.len() == 0 => Next::End,
            None => Next::Later,
        }
    }

    /// Takes the next window of an input. If it is not yet decoded, the next windows of all inputs are decoded.
    pub fn decode_next(&mut self, input: usize, threads: &Threads) -> Option<Parcel> {
        loop {
            match self.take_next(input) {
                Next::Window(parcel) => return Some(parcel),
                Next::End => return None,
                Next::Later => {
                    threads.drive(&mut *self, &mut |_| true);
                }
            }
        }
    }

    /// Returns a used parcel, for reuse of its memory.
    pub fn recycle(&mut self, parcel: Parcel) {
        self.spare_parcels.push(parcel);
    }

    /// The number of bytes in windows that have been planned.
    pub fn planned_bytes(&self) -> u64 {
        self.queues.iter().map(|queue| queue.planned as u64).sum()
    }
}

impl<'a> Plan for Windows<'a> {
    type Task = Window<'a>;
    type Done = DecodedWindow;

    fn next(&mut self) -> Option<Window<'a>> {
        let Windows { sources, decode, queues, ahead, spare_parcels } = self;
        let has_room = |queue: &Queue| queue.decoded.len() < *ahead && queue.cuts.len() > 0;
        let (input, queue) = queues.iter_mut().enumerate().find(|(_, queue)| has_room(queue))?;
        let end = queue.cuts.next()?;
        let range = std::mem::replace(&mut queue.planned, end)..end;
        let number = queue.taken + queue.decoded.len();
        queue.decoded.push_back(None);
        Some(Window { source: sources.get(input)?, decode: *decode, input, number, range, spare: spare_parcels.pop() })
    }

    fn execute(window: Window<'a>) -> DecodedWindow {
        let Window { source, decode, input, number, range, spare } = window;
        let parcel = decode.decode(input, Part::new(source.bytes, range.clone()), spare);
        releasable(range).into_iter().for_each(|range| (source.release)(range));
        DecodedWindow { input, number, parcel }
    }

    fn take(&mut self, done: DecodedWindow) {
        let Some(queue) = self.queues.get_mut(done.input) else { return };
        if let Some(window) = queue.decoded.get_mut(done.number - queue.taken) {
            *window = Some(done.parcel);
        }
    }
}
