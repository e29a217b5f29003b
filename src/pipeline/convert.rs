//! The second pass: decode ∥ → resolve → draw → encode ∥ → write, in rounds.
//!
//! In a round all stages work at the same time, each on what the stage before made in the round before. The two ordered stages
//! (resolve, draw) run beside each other; the rest is cut into small jobs.

use std::io::Write;
use std::ops::Range;
use std::sync::Mutex;

use super::drawing::Drawing;
use super::resolving::{Feed, Resolving};
use super::scan::{Scanned, behind, put, scan, take};
use super::threads::{Job, Threads};
use super::{ConvertError, Converted, InputSummary, Options, Progress, Source, TimeBound};
use crate::format::{Parcel, Part, RecordView, Stages};
use crate::model::EventBatch;
use crate::perfetto::{self, AttributeValue, Encoder};
use crate::timeline::Block;

/// Converts the sources, as one recording, into one trace.
///
/// `progress` is called now and then and stops the conversion by returning false.
///
/// # Errors
/// Only when the trace cannot be written, the conversion is stopped, or the sources cannot be one recording.
pub fn convert(
    sources: &[Source<'_>],
    options: &Options,
    trace: &mut (dyn Write + Send),
    progress: &mut dyn FnMut(Progress) -> bool,
) -> Result<Converted, ConvertError> {
    let threads = Threads::new(options.threads);
    let input_bytes: u64 = sources.iter().map(|source| source.bytes.len() as u64).sum();
    let total_bytes = input_bytes * 2;
    let Scanned { scan: cutter, stages, ledgers, hash } = scan(sources, options, &threads, total_bytes, progress)?;
    let uuid = ((hash >> 64) as u64, hash as u64);
    let prelude = perfetto::prelude(uuid);
    trace.write_all(&prelude).map_err(ConvertError::Write)?;
    let mut output_bytes = prelude.len() as u64;

    let Stages { cores, decode, resolve } = stages;
    let mut feeds: Vec<Feed<'_>> = sources.iter().map(Feed::new).collect();
    let mut resolving = Resolving::new(resolve, &cores, ledgers);
    let facts = resolving.facts();
    if let Some(reason) = facts.refused {
        return Err(ConvertError::Refused(reason));
    }
    let mut drawing = Drawing::new(options, &facts);
    let mut to_draw: Vec<EventBatch> = Vec::new();
    let mut to_encode: Vec<Block> = Vec::new();
    let mut to_write: Vec<Vec<u8>> = Vec::new();
    let mut spare_bytes: Vec<Vec<u8>> = Vec::new();
    let mut spare_parcels: Vec<Parcel> = Vec::new();
    let encoders: Mutex<Vec<Encoder>> = Mutex::new(Vec::new());
    while !drawing.is_done() || !to_encode.is_empty() || !to_write.is_empty() {
        let windows: Vec<(usize, Range<usize>)> = feeds
            .iter_mut()
            .enumerate()
            .flat_map(|(index, feed)| feed.plan(&cutter, options.window_bytes).into_iter().map(move |window| (index, window)))
            .collect();
        let decoded: Vec<Mutex<Option<Parcel>>> = windows.iter().map(|_| Mutex::new(None)).collect();
        let encoded: Vec<Mutex<Option<Vec<u8>>>> = to_encode.iter().map(|_| Mutex::new(None)).collect();
        let written: Mutex<Option<std::io::Result<u64>>> = Mutex::new(None);
        let is_last = resolving.is_done();
        let mut jobs: Vec<Job<'_>> = Vec::new();
        let (drawn, batches) = (&mut drawing, &to_draw);
        jobs.push(Box::new(move || drawn.advance(batches, is_last)));
        // The long ones first: what begins last decides how long the other threads wait at the end of the round.
        let (trace_bytes, result) = (&to_write, &written);
        let trace = &mut *trace;
        jobs.push(Box::new(move || put(result, write_all(trace, trace_bytes))));
        for (block, result) in to_encode.iter().zip(&encoded) {
            let (encoders, bytes) = (&encoders, spare_bytes.pop().unwrap_or_default());
            jobs.push(Box::new(move || put(result, encode(block, bytes, encoders))));
        }
        for ((index, window), result) in windows.iter().zip(&decoded) {
            let part = Part::new(sources[*index].bytes, window.clone());
            let (decode, spare) = (&decode, spare_parcels.pop());
            jobs.push(Box::new(move || put(result, decode.decode(*index, part, spare))));
        }
        threads.run(|| resolving.advance(&mut feeds), jobs);

        output_bytes += take(written).unwrap_or(Ok(0)).map_err(ConvertError::Write)?;
        for mut bytes in to_write.drain(..) {
            bytes.clear();
            spare_bytes.push(bytes);
        }
        to_write.extend(encoded.into_iter().filter_map(take));
        to_encode.drain(..).for_each(|block| drawing.recycle(block));
        to_encode = drawing.take_blocks();
        to_draw.drain(..).for_each(|batch| resolving.recycle(batch));
        to_draw = resolving.take_batches();
        drawing.learn(&resolving.entities);
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
    let tracks = drawing.finish(inputs.first_mut().map(|summary| &mut summary.ledger));
    inputs.iter_mut().for_each(|summary| summary.ledger.sort());
    let epilogue = perfetto::epilogue(&tracks, &attributes(sources, &inputs, options, hash));
    trace.write_all(&epilogue).map_err(ConvertError::Write)?;
    trace.flush().map_err(ConvertError::Write)?;
    let warnings = outside_of_range(options, &inputs).into_iter().collect();
    Ok(Converted { inputs, output_bytes: output_bytes + epilogue.len() as u64, warnings })
}

/// A time range in which there is nothing, said in a sentence.
fn outside_of_range(options: &Options, inputs: &[InputSummary]) -> Option<String> {
    let first = inputs.iter().filter_map(|input| input.first).min()?;
    let last = inputs.iter().filter_map(|input| input.last).max()?;
    let absolute = |bound: TimeBound| match bound {
        TimeBound::Absolute(time) => time,
        TimeBound::AfterStart(after) => first.saturating_add(after.0),
    };
    let (bound, what) = match (options.from.map(absolute), options.to.map(absolute)) {
        (Some(from), _) if from > last => (from, "after the last"),
        (_, Some(to)) if to < first => (to, "before the first"),
        _ => return None,
    };
    let option = if bound > last { "--from" } else { "--to" };
    Some(format!("nothing is in the time range: {option} is {bound}, {what} event (events are from {first} to {last})"))
}

fn encode(block: &Block, mut bytes: Vec<u8>, encoders: &Mutex<Vec<Encoder>>) -> Vec<u8> {
    let lock = || encoders.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let spare = lock().pop();
    let mut encoder = spare.unwrap_or_default();
    encoder.encode_block(block, &mut bytes);
    lock().push(encoder);
    bytes
}

fn write_all(trace: &mut (dyn Write + Send), blocks: &[Vec<u8>]) -> std::io::Result<u64> {
    let mut written = 0;
    for bytes in blocks {
        trace.write_all(bytes)?;
        written += bytes.len() as u64;
    }
    Ok(written)
}

/// Facts about the conversion, for the viewer's overview page.
fn attributes(
    sources: &[Source<'_>],
    summaries: &[InputSummary],
    options: &Options,
    hash: u128,
) -> Vec<(String, AttributeValue)> {
    let text = |key: &str, value: String| (key.to_owned(), AttributeValue::Text(value));
    let int = |key: &str, value: u64| (key.to_owned(), AttributeValue::Int(i64::try_from(value).unwrap_or(i64::MAX)));
    let mut all = vec![
        text("tool", format!("traceconv {}", env!("CARGO_PKG_VERSION"))),
        text("input_hash", format!("xxh3-128:{hash:032x}")),
        text("firmware", options.firmware_name.clone()),
    ];
    if let (Some(source), Some(summary)) = (sources.first(), summaries.first()) {
        all.push(text("format", source.format.title().to_owned()));
        if let Some(system) = summary.facts.system {
            all.push(text("system", system.to_owned()));
        }
        if let Some((rate, origin)) = summary.facts.clock {
            all.push(text("clock", format!("{} Hz ({origin})", rate.hz())));
        }
        all.push(int("cores", u64::from(summary.facts.cores)));
        all.push(int("sessions", u64::from(summary.facts.sessions)));
    }
    let sum = |of: fn(&InputSummary) -> u64| summaries.iter().map(of).sum::<u64>();
    all.push(int("input_bytes", sources.iter().map(|source| source.bytes.len() as u64).sum()));
    all.push(int("skipped_bytes", sum(|summary| summary.ledger.skipped_bytes)));
    all.push(int("events", sum(|summary| summary.events)));
    all.push(int("events_lost_at_least", sum(|summary| summary.ledger.at_least_lost())));
    for summary in summaries {
        for entry in summary.ledger.entries() {
            all.push(int(&format!("ledger.{}", entry.kind.code), entry.count));
        }
    }
    all.extend(options.attributes.iter().map(|(key, value)| text(key, value.clone())));
    all
}

/// Lists the records of one source in file order, without converting them.
///
/// `record` stops the listing by returning false.
///
/// # Errors
/// None but a stop by `record`, which is [`ConvertError::Stopped`].
pub fn dump(
    source: &Source<'_>,
    options: &Options,
    record: &mut dyn FnMut(&RecordView<'_>) -> bool,
) -> Result<InputSummary, ConvertError> {
    let threads = Threads::new(options.threads);
    let sources = std::slice::from_ref(source);
    let Scanned { scan: cutter, mut stages, mut ledgers, .. } = scan(sources, options, &threads, 0, &mut |_| true)?;
    let mut ledger = ledgers.pop().unwrap_or_default();
    let mut feed = Feed::new(source);
    let mut goes_on = true;
    while goes_on && !feed.is_drained() {
        let windows = feed.plan(&cutter, options.window_bytes);
        let decoded: Vec<Mutex<Option<Parcel>>> = windows.iter().map(|_| Mutex::new(None)).collect();
        let decode = &*stages.decode;
        let jobs = windows.iter().zip(&decoded).map(|(window, result)| {
            let part = Part::new(source.bytes, window.clone());
            let job: Job<'_> = Box::new(move || put(result, decode.decode(0, part, None)));
            job
        });
        // The listing calls the caller back, so it stays on this thread.
        threads.run(|| {}, jobs.collect());
        for (window, parcel) in windows.into_iter().zip(decoded) {
            feed.put(take(parcel));
            (source.release)(behind(window.end));
        }
        for parcel in feed.take_decoded() {
            if goes_on {
                stages.resolve.dump(0, parcel, &mut ledger, &mut |view| {
                    goes_on = record(view);
                    goes_on
                });
            }
        }
    }
    if !goes_on {
        return Err(ConvertError::Stopped);
    }
    ledger.sort();
    Ok(InputSummary { ledger, facts: stages.resolve.facts(), ..InputSummary::default() })
}
