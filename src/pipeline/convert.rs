//! The second pass: decode ∥ → resolve → timeline → encode ∥ → write, in rounds.

use std::collections::VecDeque;
use std::io::Write;
use std::ops::Range;
use std::sync::Mutex;

use super::merge::{LATE_ON_CORE, Merger};
use super::scan::{Cutter, Scanned, put, scan, take};
use super::threads::Threads;
use super::{ConvertError, Converted, EventDetail, InputSummary, Options, Progress, Source, TimeBound};
use crate::format::{Parcel, Part, RecordView, Resolve, Resolved};
use crate::model::{Entities, EventBatch, Ledger, LossKind, Nanos, Severity};
use crate::perfetto::{self, AttributeValue, Encoder};
use crate::timeline::{Block, Settings, Timeline};

/// How many windows of an input are decoded ahead.
const WINDOWS_AHEAD: usize = 4;

const fn repair(code: &'static str, text: &'static str) -> LossKind {
    LossKind { code, text, severity: Severity::Repair }
}

const UNMATCHED_ISR_EXIT: LossKind = repair("isr_exit_without_enter", "an interrupt ended that was not seen to begin");
const MISSING_ISR_EXIT: LossKind =
    repair("isr_exit_missing", "the end of an interrupt is missing, told by the end of one below it");
const UNMATCHED_SPAN_END: LossKind = repair("span_end_without_begin", "a span ended that was not seen to begin");

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

    let mut feeds: Vec<Feed<'_>> = sources.iter().map(Feed::new).collect();
    let mut ordered = Ordered::new(stages.resolve, &stages.cores, ledgers, options);
    let decode = &*stages.decode;
    let mut to_encode: Vec<Block> = Vec::new();
    let mut to_write: Vec<Vec<u8>> = Vec::new();
    let mut spare_bytes: Vec<Vec<u8>> = Vec::new();
    let mut spare_parcels: Vec<Parcel> = Vec::new();
    let encoders: Mutex<Vec<Encoder>> = Mutex::new(Vec::new());
    loop {
        let windows: Vec<(usize, Range<usize>)> = feeds
            .iter_mut()
            .enumerate()
            .flat_map(|(index, feed)| feed.plan(&cutter, options).into_iter().map(move |window| (index, window)))
            .collect();
        if windows.is_empty() && to_encode.is_empty() && to_write.is_empty() && ordered.is_done() {
            break;
        }
        let decoded: Vec<Mutex<Option<Parcel>>> = windows.iter().map(|_| Mutex::new(None)).collect();
        let encoded: Vec<Mutex<Option<Vec<u8>>>> = to_encode.iter().map(|_| Mutex::new(None)).collect();
        let written: Mutex<Option<std::io::Result<u64>>> = Mutex::new(None);
        let mut jobs: Vec<Box<dyn FnOnce() + Send + '_>> = Vec::new();
        for ((index, window), result) in windows.iter().zip(&decoded) {
            let part = Part::new(sources[*index].bytes, window.clone());
            let spare = spare_parcels.pop();
            jobs.push(Box::new(move || put(result, decode.decode(*index, part, spare))));
        }
        for (block, result) in to_encode.iter().zip(&encoded) {
            let mut bytes = spare_bytes.pop().unwrap_or_default();
            let encoders = &encoders;
            jobs.push(Box::new(move || {
                let lock = || encoders.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
                let mut encoder = lock().pop().unwrap_or_default();
                encoder.encode_block(block, &mut bytes);
                lock().push(encoder);
                put(result, bytes);
            }));
        }
        let trace = &mut *trace;
        let (writing, result) = (&to_write, &written);
        jobs.push(Box::new(move || put(result, write_all(trace, writing))));
        threads.run(|| ordered.advance(&mut feeds), jobs);

        output_bytes += take(written).unwrap_or(Ok(0)).map_err(ConvertError::Write)?;
        for mut bytes in to_write.drain(..) {
            bytes.clear();
            spare_bytes.push(bytes);
        }
        to_write.extend(encoded.into_iter().filter_map(take));
        for block in to_encode.drain(..) {
            ordered.recycle(block);
        }
        to_encode = ordered.take_blocks();
        spare_parcels.append(&mut ordered.spare_parcels);
        for ((index, window), parcel) in windows.into_iter().zip(decoded) {
            feeds[index].put(take(parcel));
            (sources[index].release)(window);
        }
        let planned: u64 = feeds.iter().map(|feed| feed.planned as u64).sum();
        if !progress(Progress { done_bytes: input_bytes + planned, total_bytes }) {
            return Err(ConvertError::Stopped);
        }
    }
    let (epilogue, inputs) = ordered.finish(sources, options, hash);
    trace.write_all(&epilogue).map_err(ConvertError::Write)?;
    trace.flush().map_err(ConvertError::Write)?;
    Ok(Converted { inputs, output_bytes: output_bytes + epilogue.len() as u64 })
}

fn write_all(trace: &mut (dyn Write + Send), blocks: &[Vec<u8>]) -> std::io::Result<u64> {
    let mut written = 0;
    for bytes in blocks {
        trace.write_all(bytes)?;
        written += bytes.len() as u64;
    }
    Ok(written)
}

/// An input on its way through the windows.
struct Feed<'a> {
    bytes: &'a [u8],
    planned: usize,
    /// Windows being decoded.
    in_work: usize,
    decoded: VecDeque<Parcel>,
    ended: bool,
}

impl<'a> Feed<'a> {
    fn new(source: &Source<'a>) -> Feed<'a> {
        Feed { bytes: source.bytes, planned: 0, in_work: 0, decoded: VecDeque::new(), ended: false }
    }

    /// The windows to decode next: none while enough are waiting.
    fn plan(&mut self, cutter: &Cutter, options: &Options) -> Vec<Range<usize>> {
        let mut windows = Vec::new();
        // Those that wait now are resolved while these are decoded.
        while windows.len() < WINDOWS_AHEAD && self.decoded.len() <= WINDOWS_AHEAD && self.planned < self.bytes.len() {
            let window = cutter.window(self.bytes, self.planned, options.window_bytes);
            self.planned = window.end;
            windows.push(window);
        }
        self.in_work = windows.len();
        windows
    }

    /// The result of a planned window.
    fn put(&mut self, parcel: Option<Parcel>) {
        self.in_work = self.in_work.saturating_sub(1);
        self.decoded.extend(parcel);
    }

    /// Whether all of it has been decoded and taken.
    fn is_drained(&self) -> bool {
        self.planned >= self.bytes.len() && self.in_work == 0 && self.decoded.is_empty()
    }
}

/// The ordered part: resolve, merge and draw, in file order.
struct Ordered {
    resolve: Box<dyn Resolve>,
    merger: Option<Merger>,
    entities: Entities,
    ledgers: Vec<Ledger>,
    timeline: Option<Timeline>,
    settings: Settings,
    from: Option<TimeBound>,
    to: Option<TimeBound>,
    batch: EventBatch,
    merged: EventBatch,
    summaries: Vec<InputSummary>,
    /// At the start of a round the feeds hold what the round before decoded; this is how many inputs have ended.
    ended: usize,
    is_finished: bool,
    /// Used parcels, for their memory.
    spare_parcels: Vec<Parcel>,
}

impl Ordered {
    fn new(resolve: Box<dyn Resolve>, cores: &[Vec<crate::model::CoreId>], ledgers: Vec<Ledger>, options: &Options) -> Ordered {
        let facts = resolve.facts();
        let settings = Settings {
            firmware_name: options.firmware_name.clone(),
            cores: facts.cores,
            operations: options.events != EventDetail::None,
            raw_events: options.events == EventDetail::All,
            range_ns: None,
        };
        Ordered {
            resolve,
            merger: Merger::new(cores),
            entities: Entities::default(),
            summaries: vec![InputSummary::default(); ledgers.len()],
            ledgers,
            timeline: None,
            settings,
            from: options.from,
            to: options.to,
            batch: EventBatch::default(),
            merged: EventBatch::default(),
            ended: 0,
            is_finished: false,
            spare_parcels: Vec::new(),
        }
    }

    fn is_done(&self) -> bool {
        self.is_finished
    }

    /// Takes what is decoded, as far as the order of time allows.
    fn advance(&mut self, feeds: &mut [Feed<'_>]) {
        loop {
            let wanted = match &self.merger {
                Some(merger) => merger.wants().filter(|&input| !feeds[input].ended).or_else(|| first_open(feeds)),
                None => first_open(feeds),
            };
            let Some(index) = wanted else { break };
            let feed = &mut feeds[index];
            self.batch.clear();
            let mut out = Resolved { entities: &mut self.entities, batch: &mut self.batch, ledger: &mut self.ledgers[index] };
            if let Some(parcel) = feed.decoded.pop_front() {
                self.spare_parcels.extend(self.resolve.resolve(index, parcel, &mut out));
            } else if feed.is_drained() {
                self.resolve.finish(index, &mut out);
                feed.ended = true;
                self.ended += 1;
            } else {
                // The next windows of this input are being decoded.
                return;
            }
            let ended = feed.ended;
            self.count(index);
            self.draw(index, ended);
        }
        if !self.is_finished && self.ended == feeds.len() {
            self.is_finished = true;
            if let Some(timeline) = &mut self.timeline {
                timeline.finish(&self.entities);
            }
        }
    }

    fn count(&mut self, index: usize) {
        let summary = &mut self.summaries[index];
        // Each loss note has one event, which is none of the firmware.
        let losses = self.batch.losses.len() as u64;
        summary.events += (self.batch.events.len() as u64).saturating_sub(losses);
        if summary.first.is_none() {
            summary.first = self.batch.first_time();
        }
        if let Some(last) = self.batch.events.iter().map(|event| event.time).max() {
            summary.last = summary.last.max(Some(last));
        }
    }

    fn draw(&mut self, index: usize, ended: bool) {
        let events = match &mut self.merger {
            None => &self.batch,
            Some(merger) => {
                self.merged.clear();
                merger.push(index, &self.batch, &mut self.merged);
                if ended {
                    merger.end(index, &mut self.merged);
                }
                &self.merged
            }
        };
        let Some(first) = events.first_time() else { return };
        let timeline = self.timeline.get_or_insert_with(|| {
            let bound = |bound: Option<TimeBound>| match bound? {
                TimeBound::Absolute(time) => Some(time.0),
                TimeBound::AfterStart(after) => Some(first.saturating_add(after.0).0),
            };
            let mut settings = self.settings.clone();
            let (from, to) = (bound(self.from), bound(self.to));
            settings.range_ns = (from.is_some() || to.is_some()).then(|| (from.unwrap_or(0), to.unwrap_or(Nanos::MAX.0)));
            Timeline::new(settings)
        });
        timeline.consume(events, &self.entities);
    }

    fn take_blocks(&mut self) -> Vec<Block> {
        self.timeline.as_mut().map(Timeline::take_blocks).unwrap_or_default()
    }

    fn recycle(&mut self, block: Block) {
        if let Some(timeline) = &mut self.timeline {
            timeline.recycle(block);
        }
    }

    /// The end of the trace, and what became of each source.
    fn finish(mut self, sources: &[Source<'_>], options: &Options, hash: u128) -> (Vec<u8>, Vec<InputSummary>) {
        let tracks = self.timeline.as_mut().map(|timeline| timeline.late_tracks(&self.entities)).unwrap_or_default();
        if let (Some(timeline), Some(ledger)) = (&self.timeline, self.ledgers.first_mut()) {
            let counts = timeline.counts();
            let entries = [
                (UNMATCHED_ISR_EXIT, counts.unmatched_isr_exits),
                (MISSING_ISR_EXIT, counts.missing_isr_exits),
                (UNMATCHED_SPAN_END, counts.unmatched_span_ends),
            ];
            for (kind, count) in entries {
                ledger.enter_many(kind, 0, count);
            }
        }
        if let Some(merger) = &self.merger {
            for (ledger, &late) in self.ledgers.iter_mut().zip(&merger.late) {
                ledger.enter_many(LATE_ON_CORE, 0, late);
            }
        }
        let facts = self.resolve.facts();
        for (summary, ledger) in self.summaries.iter_mut().zip(self.ledgers) {
            summary.ledger = ledger;
            summary.facts = facts.clone();
        }
        let attributes = attributes(sources, &self.summaries, options, hash);
        (perfetto::epilogue(&tracks, &attributes), self.summaries)
    }
}

/// The first input that has not ended.
fn first_open(feeds: &[Feed<'_>]) -> Option<usize> {
    feeds.iter().position(|feed| !feed.ended)
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
    while goes_on {
        let windows = feed.plan(&cutter, options);
        let decoded: Vec<Mutex<Option<Parcel>>> = windows.iter().map(|_| Mutex::new(None)).collect();
        let decode = &*stages.decode;
        let jobs = windows.iter().zip(&decoded).map(|(window, result)| {
            let part = Part::new(source.bytes, window.clone());
            let job: Box<dyn FnOnce() + Send + '_> = Box::new(move || put(result, decode.decode(0, part, None)));
            job
        });
        let (waiting, resolve) = (std::mem::take(&mut feed.decoded), &mut stages.resolve);
        let (record, ledger, goes) = (&mut *record, &mut ledger, &mut goes_on);
        let list = move || {
            for parcel in waiting {
                if *goes {
                    resolve.dump(0, parcel, ledger, &mut |view| {
                        *goes = record(view);
                        *goes
                    });
                }
            }
        };
        // The listing prints, so it stays on this thread.
        threads.run(|| {}, jobs.collect());
        list();
        for (window, parcel) in windows.into_iter().zip(decoded) {
            feed.put(take(parcel));
            (source.release)(window);
        }
        if feed.is_drained() {
            break;
        }
    }
    stages.resolve.finish_dump(0, &mut ledger, record);
    if !goes_on {
        return Err(ConvertError::Stopped);
    }
    Ok(InputSummary { ledger, facts: stages.resolve.facts(), ..InputSummary::default() })
}
