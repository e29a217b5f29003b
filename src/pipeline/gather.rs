//! The second pass without drawing: decode ∥ → resolve → statistics, in rounds as those of a conversion.

use std::ops::Range;
use std::sync::Mutex;

use super::resolving::{Feed, Resolving};
use super::scan::{Scanned, behind, put, scan, take};
use super::threads::{Job, Threads};
use super::{ConvertError, InputSummary, Options, Progress, Source};
use crate::format::{Parcel, Part, Stages};
use crate::model::{Entities, EventBatch};
use crate::stats::Statistics;
use crate::stats::report::StatisticsReport;

/// What was gathered.
#[derive(Clone, Debug)]
pub struct Gathered {
    /// One per source, in their order.
    pub inputs: Vec<InputSummary>,
    /// The statistics of the recording.
    pub statistics: StatisticsReport,
    /// Where the time went, as folded stacks, if that was asked for.
    pub folded: Option<String>,
}

/// Gathers the statistics of the sources, as one recording. No trace is made; the options that concern one have no effect.
///
/// `progress` is called now and then and stops the work by returning false.
///
/// # Errors
/// When the work is stopped, an option has a value that cannot be used, or the sources cannot be one recording.
pub fn statistics(
    sources: &[Source<'_>],
    options: &Options,
    with_stacks: bool,
    progress: &mut dyn FnMut(Progress) -> bool,
) -> Result<Gathered, ConvertError> {
    let threads = Threads::new(options.threads);
    let input_bytes: u64 = sources.iter().map(|source| source.bytes.len() as u64).sum();
    let total_bytes = input_bytes * 2;
    let Scanned { scan: cutter, stages, ledgers, .. } = scan(sources, options, &threads, total_bytes, progress)?;
    let Stages { cores, decode, resolve } = stages;
    let mut feeds: Vec<Feed<'_>> = sources.iter().map(Feed::new).collect();
    let mut resolving = Resolving::new(resolve, &cores, ledgers);
    if let Some(reason) = resolving.facts().refused {
        return Err(ConvertError::Refused(reason));
    }
    let mut statistics = Statistics::new(with_stacks);
    // A copy, as of the events at hand: the stage before adds to its own meanwhile.
    let mut entities = Entities::default();
    let mut batches: Vec<EventBatch> = Vec::new();
    let mut spare_parcels: Vec<Parcel> = Vec::new();
    loop {
        let windows: Vec<(usize, Range<usize>)> = feeds
            .iter_mut()
            .enumerate()
            .flat_map(|(index, feed)| feed.plan(&cutter, options.window_bytes).into_iter().map(move |window| (index, window)))
            .collect();
        let decoded: Vec<Mutex<Option<Parcel>>> = windows.iter().map(|_| Mutex::new(None)).collect();
        let is_last = resolving.is_done();
        let mut jobs: Vec<Job<'_>> = Vec::new();
        let (gathering, consumed, known) = (&mut statistics, &batches, &entities);
        jobs.push(Box::new(move || consumed.iter().for_each(|batch| gathering.consume(batch, known))));
        for ((index, window), result) in windows.iter().zip(&decoded) {
            let part = Part::new(sources[*index].bytes, window.clone());
            let (decode, spare) = (&decode, spare_parcels.pop());
            jobs.push(Box::new(move || put(result, decode.decode(*index, part, spare))));
        }
        threads.run(|| resolving.advance(&mut feeds), jobs);

        batches.drain(..).for_each(|batch| resolving.recycle(batch));
        if is_last {
            break;
        }
        batches = resolving.take_batches();
        entities.extend_from(&resolving.entities);
        spare_parcels.append(&mut resolving.spare_parcels);
        for ((index, window), parcel) in windows.into_iter().zip(decoded) {
            feeds[index].put(take(parcel));
            (sources[index].release)(behind(window.end));
        }
        let planned: u64 = feeds.iter().map(Feed::planned_bytes).sum();
        if !progress(Progress { done_bytes: input_bytes + planned, total_bytes }) {
            return Err(ConvertError::Stopped);
        }
    }
    statistics.finish();
    let mut inputs = resolving.finish();
    inputs.iter_mut().for_each(|summary| summary.ledger.sort());
    let folded = statistics.folded(&entities);
    Ok(Gathered { inputs, statistics: statistics.report(&entities), folded })
}
