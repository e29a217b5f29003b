//! The first pass: the facts that hold for the whole trace, and the hash of the input.

use std::collections::VecDeque;
use std::ops::Range;

use xxhash_rust::xxh3::Xxh3;

use super::threads::{Plan, Threads};
use super::{ConvertError, Options, Source};
use crate::format::{ErasedRecording, ErasedStages, Parcel, Part};
use crate::model::Ledger;

/// Limit of windows that are being scanned, or wait for it.
const WINDOWS_AHEAD: usize = 32;
/// Windows are found in groups of this size.
const WINDOWS_AT_ONCE: usize = 8;
/// The input is hashed in pieces of at least this size.
const HASHED_BYTES: usize = 1 << 20;

/// The result of the first pass.
pub struct Scanned {
    /// By source: where each of its windows ends, for the second pass.
    pub cuts: Vec<Vec<usize>>,
    pub stages: ErasedStages,
    /// By source.
    pub ledgers: Vec<Ledger>,
    /// Of all bytes of all sources.
    pub hash: u128,
}

/// The windows of an input from `start`, which is a cut, and where each ends.
fn windows(recording: &dyn ErasedRecording, input: &[u8], mut start: usize, window_bytes: usize) -> Vec<Range<usize>> {
    let mut windows = Vec::with_capacity(WINDOWS_AT_ONCE);
    while windows.len() < WINDOWS_AT_ONCE && start < input.len() {
        let end = recording.cut(input, start.saturating_add(window_bytes.max(1))).clamp(start, input.len());
        // A cut without progress would never end.
        let end = if end == start { input.len() } else { end };
        windows.push(start..end);
        start = end;
    }
    windows
}

/// The first pass over one input.
struct Scanning<'s> {
    recording: &'s dyn ErasedRecording,
    source: &'s Source<'s>,
    input: usize,
    window_bytes: usize,
    /// The windows up to the last one that was found end here.
    cuts: Vec<usize>,
    is_cutting: bool,
    to_scan: VecDeque<Range<usize>>,
    /// The windows after those that are joined: their ends, and their facts once they are scanned.
    scanned: VecDeque<(usize, Option<Parcel>)>,
    /// The number of windows that are joined, and where they end.
    joined: usize,
    joined_bytes: usize,
    facts: Option<Parcel>,
    is_joining: bool,
    /// Nothing while it is at work.
    hash: Option<Box<Xxh3>>,
    hashed_bytes: usize,
}

enum Task<'s> {
    Cut(&'s dyn ErasedRecording, &'s Source<'s>, usize, usize),
    Hash(Box<Xxh3>, &'s [u8]),
    Scan(&'s dyn ErasedRecording, &'s Source<'s>, usize, Range<usize>, usize),
    Join(&'s dyn ErasedRecording, &'s Source<'s>, Range<usize>, Option<Parcel>, Vec<Parcel>),
}

enum Done {
    Cut(Vec<Range<usize>>),
    Hashed(Box<Xxh3>),
    Scanned(usize, Parcel),
    Joined(Option<Parcel>),
}

impl Scanning<'_> {
    fn end(&self) -> usize {
        self.cuts.last().copied().unwrap_or(0)
    }
}

impl<'s> Plan for Scanning<'s> {
    type Task = Task<'s>;
    type Done = Done;

    fn next(&mut self) -> Option<Task<'s>> {
        let (recording, source, end) = (self.recording, self.source, self.end());
        let all_bytes = source.bytes.len();
        let ready = self.scanned.iter().take_while(|(_, facts)| facts.is_some()).count();
        if ready > 0 && !self.is_joining {
            self.is_joining = true;
            let parts: Vec<(usize, Option<Parcel>)> = self.scanned.drain(..ready).collect();
            let joined = parts.last().map_or(0, |(end, _)| *end);
            let range = std::mem::replace(&mut self.joined_bytes, joined)..joined;
            self.joined += ready;
            let parts = parts.into_iter().filter_map(|(_, facts)| facts).collect();
            return Some(Task::Join(recording, source, range, self.facts.take(), parts));
        }
        let to_hash = end - self.hashed_bytes;
        if (to_hash >= HASHED_BYTES || (to_hash > 0 && end == all_bytes))
            && let Some(hash) = self.hash.take()
        {
            let from = std::mem::replace(&mut self.hashed_bytes, end);
            return Some(Task::Hash(hash, source.bytes.get(from..end).unwrap_or(&[])));
        }
        if let Some(window) = self.to_scan.pop_front() {
            let number = self.joined + self.scanned.len() - self.to_scan.len() - 1;
            return Some(Task::Scan(recording, source, self.input, window, number));
        }
        let has_room = self.scanned.len() < WINDOWS_AHEAD && to_hash < 2 * HASHED_BYTES;
        if has_room && !self.is_cutting && end < all_bytes {
            self.is_cutting = true;
            return Some(Task::Cut(recording, source, end, self.window_bytes));
        }
        None
    }

    fn execute(task: Task<'s>) -> Done {
        match task {
            Task::Cut(recording, source, start, window_bytes) => Done::Cut(windows(recording, source.bytes, start, window_bytes)),
            Task::Hash(mut hash, bytes) => {
                hash.update(bytes);
                Done::Hashed(hash)
            }
            Task::Scan(recording, source, input, window, number) => {
                Done::Scanned(number, recording.scan(input, Part::new(source.bytes, window)))
            }
            Task::Join(recording, source, range, facts, parts) => {
                let join = |facts, part| Some(recording.join(source.bytes, facts, part));
                let facts = parts.into_iter().fold(facts, join);
                releasable(range).into_iter().for_each(|range| (source.release)(range));
                Done::Joined(facts)
            }
        }
    }

    fn take(&mut self, done: Done) {
        match done {
            Done::Cut(windows) => {
                self.is_cutting = false;
                self.cuts.extend(windows.iter().map(|window| window.end));
                self.scanned.extend(windows.iter().map(|window| (window.end, None)));
                self.to_scan.extend(windows);
            }
            Done::Hashed(hash) => self.hash = Some(hash),
            Done::Scanned(number, facts) => {
                if let Some((_, place)) = self.scanned.get_mut(number - self.joined) {
                    *place = Some(facts);
                }
            }
            Done::Joined(facts) => (self.facts, self.is_joining) = (facts, false),
        }
    }
}

/// Runs the first pass. `progress` gets the number of bytes read, and stops the work by returning false.
pub fn scan(
    sources: &[Source<'_>],
    options: &Options,
    threads: &Threads,
    progress: &mut dyn FnMut(u64) -> bool,
) -> Result<Scanned, ConvertError> {
    let Some(first) = sources.first() else { return Err(ConvertError::Mismatch("there is no input".into())) };
    if let Some(other) = sources.iter().find(|source| source.format.name() != first.format.name()) {
        let (one, two) = (first.format.title(), other.format.title());
        return Err(ConvertError::Mismatch(format!(
            "inputs of different formats ({one} and {two}) cannot be parts of one recording; convert them one by one, or put them into one trace with --merge"
        )));
    }
    let per_input: Vec<_> = sources.iter().map(|source| source.options.clone()).collect();
    let recording = first.format.open(&per_input)?;
    let mut cuts: Vec<Vec<usize>> = Vec::with_capacity(sources.len());
    let mut facts: Vec<Option<Parcel>> = Vec::with_capacity(sources.len());
    let mut hash = Box::new(Xxh3::new());
    let mut before = 0;
    for (input, source) in sources.iter().enumerate() {
        let scanning = Scanning {
            recording: &*recording,
            source,
            input,
            window_bytes: options.window_bytes,
            cuts: Vec::new(),
            is_cutting: false,
            to_scan: VecDeque::new(),
            scanned: VecDeque::new(),
            joined: 0,
            joined_bytes: 0,
            facts: None,
            is_joining: false,
            hash: Some(hash),
            hashed_bytes: 0,
        };
        let (mut joined_bytes, mut is_stopped) = (0, false);
        let scanned = threads.drive(scanning, &mut |scanning| {
            let now = scanning.joined_bytes;
            is_stopped = is_stopped || (now != joined_bytes && !progress(before + now as u64));
            joined_bytes = now;
            !is_stopped
        });
        let (Some(own), false) = (scanned.hash, is_stopped) else { return Err(ConvertError::Stopped) };
        hash = own;
        if let Some(recorder) = source.recorder {
            hash.update(&recorder.text);
        }
        cuts.push(scanned.cuts);
        facts.push(scanned.facts);
        before += source.bytes.len() as u64;
    }
    let mut ledgers = vec![Ledger::default(); sources.len()];
    let stages = recording.finish(facts, &mut ledgers);
    Ok(Scanned { cuts, stages, ledgers, hash: hash.digest128() })
}

/// The range to release once everything before the end of `read` has been read, if it is time to: releasing takes time. A page fault maps
/// neighbouring pages too, also of windows that were released before, so the range goes back further than to the last time. It does not
/// go back to the start, because releasing pages that are released already takes time too.
pub fn releasable(read: Range<usize>) -> Option<Range<usize>> {
    const STEP_BYTES: usize = 4 << 20;
    const REACH_BYTES: usize = 16 << 20;
    (read.start / STEP_BYTES != read.end / STEP_BYTES).then(|| read.end.saturating_sub(REACH_BYTES)..read.end)
}
