//! The first pass: the facts that hold for the whole trace, and the hash of the input.

use std::ops::Range;
use std::sync::Mutex;

use xxhash_rust::xxh3::Xxh3;

use super::threads::{Job, Threads};
use super::{ConvertError, Options, Source};
use crate::format::{ErasedRecording, ErasedStages, Parcel, Part};
use crate::model::Ledger;

/// Limit of windows that one round of this pass scans.
const WINDOWS_PER_ROUND: usize = 32;

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

/// The window that starts at `start`, which is a cut.
fn window(scan: &dyn ErasedRecording, input: &[u8], start: usize, window_bytes: usize) -> Range<usize> {
    let end = scan.cut(input, start.saturating_add(window_bytes.max(1))).clamp(start, input.len());
    // A cut without progress would never end.
    if end == start { start..input.len() } else { start..end }
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
            "inputs of different formats ({one} and {two}) cannot be parts of one recording; convert them one by one"
        )));
    }
    let per_input: Vec<_> = sources.iter().map(|source| source.options.clone()).collect();
    let scan = first.format.open(&per_input)?;
    let mut cuts: Vec<Vec<usize>> = vec![Vec::new(); sources.len()];
    let mut hash = Xxh3::new();
    let mut facts: Vec<Option<Parcel>> = Vec::new();
    let mut done_bytes = 0;
    for (index, (source, cuts)) in sources.iter().zip(&mut cuts).enumerate() {
        let mut of_input = None;
        let mut start = 0;
        while start < source.bytes.len() {
            let round_start = start;
            let mut windows = Vec::with_capacity(WINDOWS_PER_ROUND);
            while windows.len() < WINDOWS_PER_ROUND && start < source.bytes.len() {
                let window = window(&*scan, source.bytes, start, options.window_bytes);
                start = window.end;
                cuts.push(start);
                windows.push(window);
            }
            let results: Vec<Mutex<Option<Parcel>>> = windows.iter().map(|_| Mutex::new(None)).collect();
            let scan = &*scan;
            let jobs = windows.iter().zip(&results).map(|(window, result)| {
                let part = Part::new(source.bytes, window.clone());
                let job: Job<'_> = Box::new(move || store(result, scan.scan(index, part)));
                job
            });
            let hashed = source.bytes.get(round_start..start).unwrap_or(&[]);
            threads.run(|| hash.update(hashed), jobs.collect());
            for part in results.into_iter().filter_map(collect) {
                of_input = Some(scan.join(source.bytes, of_input, part));
            }
            releasable(round_start..start).into_iter().for_each(|range| (source.release)(range));
            done_bytes += (start - round_start) as u64;
            if !progress(done_bytes) {
                return Err(ConvertError::Stopped);
            }
        }
        if let Some(recorder) = source.recorder {
            hash.update(&recorder.text);
        }
        facts.push(of_input);
    }
    let mut ledgers = vec![Ledger::default(); sources.len()];
    let stages = scan.finish(facts, &mut ledgers);
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

/// Stores a job's result.
pub fn store<T>(place: &Mutex<Option<T>>, value: T) {
    *place.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = Some(value);
}

/// Returns a job's result.
pub fn collect<T>(place: Mutex<Option<T>>) -> Option<T> {
    place.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner)
}
