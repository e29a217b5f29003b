//! The second pass without drawing: decode ∥ → resolve → whoever wants the events, in rounds as those of a conversion.

use std::sync::Mutex;

use super::clock::ClockMap;
use super::resolving::{Feed, Resolving, plan_all};
use super::scan::{Scanned, behind, put, scan, take};
use super::threads::{Job, Threads};
use super::{ConvertError, InputSummary, Options, Progress, Source};
use crate::format::{Parcel, Part, Stages};
use crate::model::{Entities, EventBatch};

/// Shows all events of the sources, as one recording, to `consume`: in order of time, with the entities that they speak of. It runs
/// beside the other stages. At the end come what became of the sources, and all entities.
pub fn read(
    sources: &[Source<'_>],
    options: &Options,
    progress: &mut dyn FnMut(Progress) -> bool,
    consume: &mut (dyn FnMut(&[EventBatch], &Entities) + Send),
) -> Result<(Vec<InputSummary>, Entities), ConvertError> {
    let threads = Threads::new(options);
    let input_bytes: u64 = sources.iter().map(|source| source.bytes.len() as u64).sum();
    let total_bytes = input_bytes * 2;
    let Scanned { scan: cutter, stages, ledgers, .. } = scan(sources, options, &threads, total_bytes, progress)?;
    let Stages { cores, decode, resolve } = stages;
    let mut feeds: Vec<Feed<'_>> = sources.iter().map(Feed::new).collect();
    let mut resolving = Resolving::new(resolve, &cores, ledgers, ClockMap::default());
    if let Some(reason) = resolving.facts().refused {
        return Err(ConvertError::Refused(reason));
    }
    // A copy, as of the events at hand: the stage before adds to its own meanwhile.
    let mut entities = Entities::default();
    let mut batches: Vec<EventBatch> = Vec::new();
    let mut spare_parcels: Vec<Parcel> = Vec::new();
    loop {
        let windows = plan_all(&mut feeds, &cutter, options.window_bytes);
        let decoded: Vec<Mutex<Option<Parcel>>> = windows.iter().map(|_| Mutex::new(None)).collect();
        let is_last = resolving.is_done();
        let mut jobs: Vec<Job<'_>> = Vec::new();
        let (consume, consumed, known) = (&mut *consume, &batches, &entities);
        jobs.push(Box::new(move || consume(consumed, known)));
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
    let mut inputs = resolving.finish();
    inputs.iter_mut().for_each(|summary| summary.ledger.sort());
    Ok((inputs, entities))
}
