//! The second pass: decode ∥ → resolve → draw → encode ∥ → write, in rounds.
//!
//! In a round all stages work at the same time, each on what the stage before made in the round before. The two ordered stages
//! (resolve, draw) run beside each other, statistics beside drawing if they are asked for; the rest is cut into small jobs.

use std::io::Write;
use std::sync::Mutex;

use super::clock::ClockMap;
use super::drawing::Drawing;
use super::gathering::Gathering;
use super::recordings::{self, Alignment, Recording};
use super::resolving::{Feed, Resolving, plan_all};
use super::scan::{Cutter, Scanned, behind, put, scan, take};
use super::sizes::Sizes;
use super::threads::{Job, Threads};
use super::{ConvertError, Converted, InputSummary, Options, Progress, Source};
use crate::format::{ErasedDecode, Facts, Parcel, Part, RecordView, Stages};
use crate::model::{Entities, EventBatch, Nanos};
use crate::perfetto::{self, Encoder};
use crate::stats::report::StatisticsReport;
use crate::timeline::Numbers;
use crate::track::Block;

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
    let name = options.firmware_name.clone();
    recordings::merge(&[Recording { sources, name, offset_ns: None }], &Alignment::default(), options, trace, progress)
}

/// A recording that was looked through, ready to be drawn.
pub struct Ready {
    cutter: Cutter,
    decode: Box<dyn ErasedDecode>,
    resolving: Resolving,
    pub facts: Facts,
    /// Of all bytes of all its sources.
    pub hash: u128,
}

impl Ready {
    /// Looks through the sources of a recording, whose times will be put on the trace's time axis by `clock`.
    pub fn new(
        sources: &[Source<'_>],
        clock: ClockMap,
        options: &Options,
        threads: &Threads,
        progress: &mut dyn FnMut(Progress) -> bool,
    ) -> Result<Ready, ConvertError> {
        let Scanned { scan: cutter, stages, ledgers, hash } = scan(sources, options, threads, 0, progress)?;
        let Stages { cores, decode, resolve } = stages;
        let resolving = Resolving::new(resolve, &cores, ledgers, clock);
        let facts = resolving.facts();
        if let Some(reason) = facts.refused {
            return Err(ConvertError::Refused(reason));
        }
        Ok(Ready { cutter, decode, resolving, facts, hash })
    }
}

/// A trace on its way out.
pub struct Trace<'a> {
    writer: &'a mut (dyn Write + Send),
    pub written_bytes: u64,
    /// Which part of it lies where in time, if that is wanted.
    pub sizes: Option<&'a mut Sizes>,
}

impl<'a> Trace<'a> {
    pub fn new(writer: &'a mut (dyn Write + Send), sizes: Option<&'a mut Sizes>) -> Trace<'a> {
        Trace { writer, written_bytes: 0, sizes }
    }

    /// Writes packets that are in no block.
    pub fn put(&mut self, packets: &[u8]) -> Result<(), ConvertError> {
        self.writer.write_all(packets).map_err(ConvertError::Write)?;
        self.written_bytes += packets.len() as u64;
        if let Some(sizes) = self.sizes.as_deref_mut() {
            sizes.add_fixed(packets.len());
        }
        Ok(())
    }

    pub fn flush(&mut self) -> Result<(), ConvertError> {
        self.writer.flush().map_err(ConvertError::Write)
    }
}

/// Draws a recording into a trace, with the numbers that are free, which go on to the next one.
pub fn draw(
    ready: Ready,
    sources: &[Source<'_>],
    options: &Options,
    numbers: &mut Numbers,
    threads: &Threads,
    trace: &mut Trace<'_>,
    progress: &mut dyn FnMut(Progress) -> bool,
) -> Result<(Vec<InputSummary>, Option<StatisticsReport>), ConvertError> {
    let Ready { cutter, decode, mut resolving, facts, hash: _ } = ready;
    let mut feeds: Vec<Feed<'_>> = sources.iter().map(Feed::new).collect();
    let mut drawing = Drawing::new(options, &facts, std::mem::take(numbers));
    let mut gathering = options.statistics.then(|| Gathering::new(options, false));
    // A copy, as of the events at hand: the stage before adds to its own meanwhile.
    let mut entities = Entities::default();
    let mut to_draw: Vec<EventBatch> = Vec::new();
    let mut to_encode: Vec<Block> = Vec::new();
    let mut to_write: Vec<Vec<u8>> = Vec::new();
    let mut spare_bytes: Vec<Vec<u8>> = Vec::new();
    let mut spare_parcels: Vec<Parcel> = Vec::new();
    let encoders: Mutex<Vec<Encoder>> = Mutex::new(Vec::new());
    while !drawing.is_done() || !to_encode.is_empty() || !to_write.is_empty() {
        let windows = plan_all(&mut feeds, &cutter, options.window_bytes);
        let decoded: Vec<Mutex<Option<Parcel>>> = windows.iter().map(|_| Mutex::new(None)).collect();
        let encoded: Vec<Mutex<Option<Vec<u8>>>> = to_encode.iter().map(|_| Mutex::new(None)).collect();
        let written: Mutex<Option<std::io::Result<u64>>> = Mutex::new(None);
        let is_last = resolving.is_done();
        let mut jobs: Vec<Job<'_>> = Vec::new();
        let (drawn, batches, known) = (&mut drawing, &to_draw, &entities);
        jobs.push(Box::new(move || drawn.advance(batches, known, is_last)));
        if let Some(gathering) = &mut gathering {
            jobs.push(Box::new(move || gathering.advance(batches, known)));
        }
        // The long ones first: what begins last decides how long the other threads wait at the end of the round.
        let (trace_bytes, result) = (&to_write, &written);
        let writer = &mut *trace.writer;
        jobs.push(Box::new(move || put(result, write_all(writer, trace_bytes))));
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
        if resolving.is_beyond_time {
            return Err(ConvertError::Alignment(format!(
                "all of {} would lie beyond the end of a trace's time, {} after its start; check where its clock lies, and move it by less",
                options.firmware_name,
                Nanos::MAX,
            )));
        }

        trace.written_bytes += take(written).unwrap_or(Ok(0)).map_err(ConvertError::Write)?;
        for mut bytes in to_write.drain(..) {
            bytes.clear();
            spare_bytes.push(bytes);
        }
        to_write.extend(encoded.into_iter().filter_map(take));
        if let Some(sizes) = trace.sizes.as_deref_mut() {
            to_encode.iter().zip(&to_write).for_each(|(block, bytes)| sizes.add_block(block, bytes.len()));
        }
        to_encode.drain(..).for_each(|block| drawing.recycle(block));
        to_encode = drawing.take_blocks();
        to_draw.drain(..).for_each(|batch| resolving.recycle(batch));
        to_draw = resolving.take_batches();
        entities.extend_from(&resolving.entities);
        spare_parcels.append(&mut resolving.spare_parcels);
        for ((index, window), parcel) in windows.into_iter().zip(decoded) {
            feeds[index].put(take(parcel));
            (sources[index].release)(behind(window.end));
        }
        let done_bytes = feeds.iter().map(Feed::planned_bytes).sum();
        if !progress(Progress { done_bytes, total_bytes: 0 }) {
            return Err(ConvertError::Stopped);
        }
    }
    let mut inputs = resolving.finish();
    let (tracks, free) = drawing.finish(&entities, inputs.first_mut().map(|summary| &mut summary.ledger));
    *numbers = free;
    inputs.iter_mut().for_each(|summary| summary.ledger.sort());
    trace.put(&perfetto::epilogue(&tracks, &[]))?;
    Ok((inputs, gathering.map(|gathering| gathering.finish(&entities).0)))
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
    let threads = Threads::new(options);
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
                stages.resolve.dump(0, source.bytes, parcel, &mut ledger, &mut |view| {
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
