//! The second pass: windows are decoded in rounds, in parallel with the stages that use the records.
//!
//! In a round all stages work at the same time, each on the output that the stage before it made in the preceding round. The ordered
//! stages (resolving, and the consumer of events) are one job each; decoding is one job per window.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Mutex;

use super::clock::ClockMap;
use super::resolving::Resolving;
use super::scan::{Scanned, collect, releasable, scan, store};
use super::threads::{Job, Threads};
use super::{ConvertError, InputSummary, Options, Progress, Source};
use crate::format::{ErasedDecode, Facts, Parcel, Part, SAMPLE_BYTES, Stages};
use crate::frame::transfer;
use crate::model::{Entities, EventBatch, Nanos};

/// Limit of windows of an input that are decoded ahead, for each thread. More are slower: the data of a round then leave the processor's
/// caches.
const WINDOWS_AHEAD: usize = 4;
/// The same for any number of threads: the ordered stages take no more in a round.
const WINDOWS_AHEAD_MAX: usize = 32;

/// An input on its way through the windows.
pub struct WindowQueue<'a> {
    pub bytes: &'a [u8],
    planned: usize,
    /// Where the windows after that end.
    cuts: std::vec::IntoIter<usize>,
    /// Number of windows being decoded.
    in_work: usize,
    /// The decoded windows, in file order.
    pub decoded: VecDeque<Parcel>,
    /// The last event of the input has been resolved.
    pub ended: bool,
}

impl<'a> WindowQueue<'a> {
    fn new(source: &Source<'a>, cuts: Vec<usize>) -> WindowQueue<'a> {
        WindowQueue {
            bytes: source.bytes,
            planned: 0,
            cuts: cuts.into_iter(),
            in_work: 0,
            decoded: VecDeque::new(),
            ended: false,
        }
    }

    /// The windows to decode next, `ahead` at most; none while more are waiting.
    fn plan(&mut self, ahead: usize) -> Vec<Range<usize>> {
        let mut windows = Vec::new();
        // The waiting windows are resolved while these are decoded.
        while windows.len() < ahead && self.decoded.len() <= ahead {
            let Some(end) = self.cuts.next() else { break };
            windows.push(std::mem::replace(&mut self.planned, end)..end);
        }
        self.in_work = windows.len();
        windows
    }

    /// Whether all of it has been decoded and removed.
    pub fn is_drained(&self) -> bool {
        self.cuts.len() == 0 && self.in_work == 0 && self.decoded.is_empty()
    }
}

/// The windows of all inputs of a recording.
pub struct Windows<'a> {
    sources: &'a [Source<'a>],
    queues: Vec<WindowQueue<'a>>,
    decode: Box<dyn ErasedDecode>,
    /// Used parcels, for reuse of their memory.
    pub spare_parcels: Vec<Parcel>,
}

impl<'a> Windows<'a> {
    /// `cuts`: from the first pass.
    pub fn new(sources: &'a [Source<'a>], cuts: Vec<Vec<usize>>, decode: Box<dyn ErasedDecode>) -> Windows<'a> {
        let queues = sources.iter().zip(cuts).map(|(source, cuts)| WindowQueue::new(source, cuts)).collect();
        Windows { sources, queues, decode, spare_parcels: Vec::new() }
    }

    /// One round: decodes the next windows, in parallel with `jobs` (which begin first, because they take longer) and with `ordered`,
    /// which removes decoded windows of earlier rounds on the caller's thread.
    pub fn round(&mut self, threads: &Threads, jobs: Vec<Job<'_>>, ordered: impl FnOnce(&mut [WindowQueue<'a>])) {
        let Windows { sources, queues, decode, spare_parcels } = self;
        let ahead = (WINDOWS_AHEAD * threads.count()).min(WINDOWS_AHEAD_MAX);
        let planned = queues.iter_mut().map(|queue| queue.plan(ahead)).enumerate();
        let windows: Vec<(usize, Range<usize>)> =
            planned.flat_map(|(index, windows)| windows.into_iter().map(move |window| (index, window))).collect();
        let decoded: Vec<Mutex<Option<Parcel>>> = windows.iter().map(|_| Mutex::new(None)).collect();
        let mut jobs: Vec<Job<'_>> = jobs;
        for ((index, window), result) in windows.iter().zip(&decoded) {
            let part = Part::new(sources[*index].bytes, window.clone());
            let (decode, spare) = (&*decode, spare_parcels.pop());
            jobs.push(Box::new(move || store(result, decode.decode(*index, part, spare))));
        }
        threads.run(|| ordered(queues), jobs);
        for ((index, window), parcel) in windows.into_iter().zip(decoded) {
            let queue = &mut queues[index];
            queue.in_work = queue.in_work.saturating_sub(1);
            queue.decoded.extend(collect(parcel));
            releasable(window).into_iter().for_each(|range| (sources[index].release)(range));
        }
    }

    /// The number of bytes in windows that have been planned.
    pub fn planned_bytes(&self) -> u64 {
        self.queues.iter().map(|queue| queue.planned as u64).sum()
    }

    /// Whether all windows have been decoded and removed.
    pub fn is_drained(&self) -> bool {
        self.queues.iter().all(WindowQueue::is_drained)
    }
}

/// A recording after the first pass.
pub struct Ready {
    cuts: Vec<Vec<usize>>,
    decode: Box<dyn ErasedDecode>,
    resolving: Resolving,
    pub facts: Facts,
    /// Of all bytes of all its sources.
    pub hash: u128,
}

impl Ready {
    /// Runs the first pass over the sources of a recording. `clock` moves its times to the trace's time axis. `progress` gets the
    /// number of bytes read, and stops the work by returning false.
    pub fn new(
        sources: &[Source<'_>],
        clock: ClockMap,
        options: &Options,
        threads: &Threads,
        progress: &mut dyn FnMut(u64) -> bool,
    ) -> Result<Ready, ConvertError> {
        let Scanned { cuts, stages, ledgers, hash } = scan(sources, options, threads, progress)?;
        let Stages { cores, decode, resolve } = stages;
        let resolving = Resolving::new(resolve, &cores, ledgers, clock, sources);
        let facts = resolving.facts();
        if let Some(reason) = facts.refused {
            return Err(ConvertError::Refused(reason));
        }
        Ok(Ready { cuts, decode, resolving, facts, hash })
    }
}

/// The stages after the resolver.
pub trait Consumer {
    /// The jobs of a round. They consume `batches`, whose events refer to `entities`, and earlier output of this consumer. `is_last`:
    /// no more batches follow.
    fn jobs<'j>(&'j mut self, batches: &'j [EventBatch], entities: &'j Entities, is_last: bool) -> Vec<Job<'j>>;

    /// Ends the round: all its jobs are done.
    fn end_round(&mut self) -> Result<(), ConvertError>;

    /// Whether everything has been consumed.
    fn is_done(&self) -> bool;
}

/// Runs the second pass of a recording. Returns the result for each source, and all entities. `progress` gets the number of bytes read,
/// and stops the work by returning false.
pub fn run(
    ready: Ready,
    sources: &[Source<'_>],
    options: &Options,
    threads: &Threads,
    consumer: &mut dyn Consumer,
    progress: &mut dyn FnMut(u64) -> bool,
) -> Result<(Vec<InputSummary>, Entities), ConvertError> {
    let Ready { cuts, decode, mut resolving, .. } = ready;
    let mut windows = Windows::new(sources, cuts, decode);
    // A copy that matches the batches: the resolver adds to its own meanwhile.
    let mut entities = Entities::default();
    let mut batches: Vec<EventBatch> = Vec::new();
    while !consumer.is_done() {
        let jobs = consumer.jobs(&batches, &entities, resolving.is_done());
        windows.round(threads, jobs, |queues| resolving.advance(queues));
        if resolving.is_beyond_time {
            return Err(ConvertError::Alignment(format!(
                "all of {} would lie beyond the end of a trace's time, {} after its start; check where its clock lies, and move it by less",
                options.firmware_name,
                Nanos::MAX,
            )));
        }
        consumer.end_round()?;
        batches.drain(..).for_each(|batch| resolving.recycle(batch));
        batches = resolving.take_batches();
        entities.extend_from(&resolving.entities);
        windows.spare_parcels.append(&mut resolving.spare_parcels);
        if !progress(windows.planned_bytes()) {
            return Err(ConvertError::Stopped);
        }
    }
    let mut summaries = resolving.finish();
    for (summary, source) in summaries.iter_mut().zip(sources) {
        let sample = source.bytes.get(..SAMPLE_BYTES).unwrap_or(source.bytes);
        if summary.ledger.has_losses()
            && let Some(changed) = transfer::changed(sample)
        {
            summary.facts.hints.push(changed.to_string());
        }
    }
    Ok((summaries, entities))
}

/// A consumer that is one function.
struct Reader<F> {
    consume: F,
    is_done: bool,
}

impl<F: FnMut(&[EventBatch], &Entities) + Send> Consumer for Reader<F> {
    fn jobs<'j>(&'j mut self, batches: &'j [EventBatch], entities: &'j Entities, is_last: bool) -> Vec<Job<'j>> {
        self.is_done = is_last;
        let consume = &mut self.consume;
        vec![Box::new(move || consume(batches, entities))]
    }

    fn end_round(&mut self) -> Result<(), ConvertError> {
        Ok(())
    }

    fn is_done(&self) -> bool {
        self.is_done
    }
}

/// Runs both passes over the sources, as one recording, and passes all events to `consume`: in order of time, with the entities that
/// they refer to. Returns the result for each source, and all entities.
pub fn read(
    sources: &[Source<'_>],
    options: &Options,
    progress: &mut dyn FnMut(Progress) -> bool,
    consume: impl FnMut(&[EventBatch], &Entities) + Send,
) -> Result<(Vec<InputSummary>, Entities), ConvertError> {
    let threads = Threads::new(options);
    let input_bytes: u64 = sources.iter().map(|source| source.bytes.len() as u64).sum();
    let mut report = |done_bytes| progress(Progress { done_bytes, total_bytes: 2 * input_bytes });
    let ready = Ready::new(sources, ClockMap::default(), options, &threads, &mut report)?;
    let mut reader = Reader { consume, is_done: false };
    let (mut inputs, entities) =
        run(ready, sources, options, &threads, &mut reader, &mut |planned_bytes| report(input_bytes + planned_bytes))?;
    inputs.iter_mut().for_each(|summary| summary.ledger.sort());
    Ok((inputs, entities))
}
