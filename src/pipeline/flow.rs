//! The second pass: a recording flows through the stages, each of which works on what the one before it has made.
//!
//! Decoding and encoding are tasks for each window and each block, on any number of threads at the same time. The ordered stages
//! (resolving, the consumers of events, writing) are one task at a time each.

use std::collections::VecDeque;

use super::clock::ClockMap;
use super::resolving::Resolving;
use super::scan::{Scanned, scan};
use super::threads::{Plan, Threads};
use super::trace::Trace;
use super::windows::{DecodedWindow, Next, Window, Windows};
use super::{ConvertError, InputSummary, Options, Progress, Source};
use crate::format::{ErasedDecode, Facts, Parcel, SAMPLE_BYTES, Stages};
use crate::frame::transfer;
use crate::model::{Entities, EntityCounts, EventBatch, Nanos};
use crate::perfetto::Encoder;
use crate::track::Block;

/// Limit of batches that wait for a consumer.
const BATCHES_WAITING: usize = 4;
/// Limit of blocks that wait to be encoded or written, for each thread.
const BLOCKS_WAITING: usize = 4;

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

/// An ordered stage after the resolver.
pub trait Consumer: Send {
    /// Consumes a batch of events, in order of time. `entities` are those of these events and of all before.
    fn consume(&mut self, batch: &EventBatch, entities: &Entities);

    /// No more batches follow.
    fn finish(&mut self, _entities: &Entities) {}

    /// The blocks that are complete.
    fn take_blocks(&mut self) -> Vec<Block> {
        Vec::new()
    }

    /// Returns a block for reuse of its memory.
    fn recycle(&mut self, _block: Block) {}
}

/// A batch on its way, and how many entities there were after its last event.
struct Resolved {
    batch: EventBatch,
    counts: EntityCounts,
}

/// A consumer with what waits for it.
struct Stage<'f> {
    /// Nothing while it is at work.
    idle: Option<Box<Consuming<'f>>>,
    waiting: VecDeque<Resolved>,
    has_finished: bool,
}

struct Consuming<'f> {
    consumer: &'f mut dyn Consumer,
    /// Those that it has seen. A copy: the resolver adds to its own meanwhile.
    entities: Entities,
}

/// Blocks on their way into a trace.
struct Output<'f, 't> {
    /// Nothing while it is being written.
    trace: Option<&'f mut Trace<'t>>,
    /// The trace needs blocks after they are encoded.
    keeps_blocks: bool,
    to_encode: VecDeque<Block>,
    /// In order; `None` while one is being encoded.
    encoded: VecDeque<Option<EncodedBlock>>,
    /// The number of blocks that have been written.
    written: usize,
    spare_blocks: Vec<Block>,
    spare_bytes: Vec<Vec<u8>>,
    encoders: Vec<Encoder>,
}

struct Encoding {
    encoder: Encoder,
    block: Block,
    bytes: Vec<u8>,
}

struct EncodedBlock {
    /// If the trace needs it.
    block: Option<Block>,
    bytes: Vec<u8>,
}

/// The second pass of a recording.
struct Flow<'f, 't> {
    sources: &'f [Source<'f>],
    firmware_name: &'f str,
    windows: Windows<'f>,
    /// Nothing while it is at work.
    resolving: Option<Box<Resolving>>,
    /// A copy of the resolver's.
    entities: Entities,
    spare_batches: Vec<EventBatch>,
    /// Each gets the batches from the one before it.
    stages: Vec<Stage<'f>>,
    output: Output<'f, 't>,
    blocks_waiting: usize,
    error: Option<ConvertError>,
}

enum Task<'f, 't> {
    Decode(Window<'f>),
    /// The next window of an input, or its end.
    Resolve(Box<Resolving>, usize, &'f [u8], Option<Parcel>, EventBatch),
    /// The next batch for a consumer, or the end; and used blocks.
    Consume(usize, Box<Consuming<'f>>, Option<Resolved>, Vec<Block>),
    Encode(usize, Box<Encoding>),
    Write(&'f mut Trace<'t>, Vec<EncodedBlock>),
}

enum Done<'f, 't> {
    Decoded(DecodedWindow),
    Resolved(Box<Resolving>, Option<Parcel>, EventBatch),
    Consumed(usize, Box<Consuming<'f>>, Option<Resolved>, Vec<Block>),
    Encoded(usize, Box<Encoding>),
    Written(&'f mut Trace<'t>, Vec<EncodedBlock>, Result<(), ConvertError>),
}

impl<'f, 't> Flow<'f, 't> {
    /// The last consumers first: what is on its way is finished before more is begun.
    fn consume_next(&mut self) -> Option<Task<'f, 't>> {
        let has_room = self.output.to_encode.len() + self.output.encoded.len() < self.blocks_waiting;
        for index in (0..self.stages.len()).rev() {
            let next_has_room = self.stages.get(index + 1).is_none_or(|next| next.waiting.len() < BATCHES_WAITING);
            let all_come = match index.checked_sub(1) {
                Some(before) => self.stages[before].has_finished,
                None => self.resolving.as_ref().is_some_and(|resolving| resolving.wanted().is_none()),
            };
            let stage = &mut self.stages[index];
            let is_last = all_come && stage.waiting.is_empty() && !stage.has_finished;
            if !(has_room && next_has_room) || (stage.waiting.is_empty() && !is_last) {
                continue;
            }
            let Some(mut idle) = stage.idle.take() else { continue };
            let next = stage.waiting.pop_front();
            if let Some(next) = &next {
                idle.entities.extend_from(&self.entities, &next.counts);
            }
            // The first one makes the blocks.
            let spare_blocks = if index == 0 { std::mem::take(&mut self.output.spare_blocks) } else { Vec::new() };
            return Some(Task::Consume(index, idle, next, spare_blocks));
        }
        None
    }

    fn resolve_next(&mut self) -> Option<Task<'f, 't>> {
        let has_room = self.stages.first().is_none_or(|stage| stage.waiting.len() < BATCHES_WAITING);
        let resolving = self.resolving.take_if(|_| has_room)?;
        let next = resolving.wanted().map(|input| (input, self.windows.take_next(input)));
        let (input, parcel) = match next {
            Some((input, Next::Window(parcel))) => (input, Some(parcel)),
            Some((input, Next::End)) => (input, None),
            Some((_, Next::Later)) | None => {
                self.resolving = Some(resolving);
                return None;
            }
        };
        let bytes = self.sources.get(input).map_or(&[][..], |source| source.bytes);
        Some(Task::Resolve(resolving, input, bytes, parcel, self.spare_batches.pop().unwrap_or_default()))
    }

    fn write_next(&mut self) -> Option<Task<'f, 't>> {
        let Output { trace, encoded, written, .. } = &mut self.output;
        let ready = encoded.iter().take_while(|block| block.is_some()).count();
        let trace = trace.take_if(|_| ready > 0)?;
        *written += ready;
        Some(Task::Write(trace, encoded.drain(..ready).flatten().collect()))
    }

    fn encode_next(&mut self) -> Option<Task<'f, 't>> {
        let Output { to_encode, encoded, written, spare_bytes, encoders, .. } = &mut self.output;
        let block = to_encode.pop_front()?;
        let number = *written + encoded.len();
        encoded.push_back(None);
        let (encoder, bytes) = (encoders.pop().unwrap_or_default(), spare_bytes.pop().unwrap_or_default());
        Some(Task::Encode(number, Box::new(Encoding { encoder, block, bytes })))
    }
}

impl<'f, 't> Plan for Flow<'f, 't> {
    type Task = Task<'f, 't>;
    type Done = Done<'f, 't>;

    fn next(&mut self) -> Option<Task<'f, 't>> {
        if self.error.is_some() {
            return None;
        }
        // The ordered stages first: nobody else can do their work meanwhile.
        self.consume_next()
            .or_else(|| self.resolve_next())
            .or_else(|| self.write_next())
            .or_else(|| self.encode_next())
            .or_else(|| self.windows.next().map(Task::Decode))
    }

    fn execute(task: Task<'f, 't>) -> Done<'f, 't> {
        match task {
            Task::Decode(window) => Done::Decoded(Windows::execute(window)),
            Task::Resolve(mut resolving, input, bytes, parcel, mut batch) => {
                let spare = resolving.advance(input, bytes, parcel, &mut batch);
                Done::Resolved(resolving, spare, batch)
            }
            Task::Consume(index, mut consuming, next, spare_blocks) => {
                let Consuming { consumer, entities } = &mut *consuming;
                spare_blocks.into_iter().for_each(|block| consumer.recycle(block));
                match &next {
                    Some(next) => consumer.consume(&next.batch, entities),
                    None => consumer.finish(entities),
                }
                let blocks = consumer.take_blocks();
                Done::Consumed(index, consuming, next, blocks)
            }
            Task::Encode(number, mut encoding) => {
                let Encoding { encoder, block, bytes } = &mut *encoding;
                encoder.encode_block(block, bytes);
                Done::Encoded(number, encoding)
            }
            Task::Write(trace, blocks) => {
                let mut write = |EncodedBlock { block, bytes }: &EncodedBlock| trace.write_block(block.as_ref(), bytes);
                let result = blocks.iter().try_for_each(&mut write);
                Done::Written(trace, blocks, result)
            }
        }
    }

    fn take(&mut self, done: Done<'f, 't>) {
        match done {
            Done::Decoded(window) => self.windows.take(window),
            Done::Resolved(resolving, spare, batch) => {
                spare.into_iter().for_each(|parcel| self.windows.recycle(parcel));
                if resolving.is_beyond_time {
                    self.error = Some(ConvertError::Alignment(format!(
                        "all of {} would lie beyond the end of a trace's time, {} after its start; check where its clock lies, and move it by less",
                        self.firmware_name,
                        Nanos::MAX,
                    )));
                }
                let counts = resolving.entities.counts();
                self.entities.extend_from(&resolving.entities, &counts);
                self.resolving = Some(resolving);
                match self.stages.first_mut() {
                    Some(stage) if !batch.events.is_empty() => stage.waiting.push_back(Resolved { batch, counts }),
                    _ => self.spare_batches.push(batch),
                }
            }
            Done::Consumed(index, consuming, next, blocks) => {
                self.output.to_encode.extend(blocks);
                let stage = &mut self.stages[index];
                stage.idle = Some(consuming);
                stage.has_finished = next.is_none();
                match (next, self.stages.get_mut(index + 1)) {
                    (Some(next), Some(stage)) => stage.waiting.push_back(next),
                    (next, _) => self.spare_batches.extend(next.map(|next| next.batch)),
                }
            }
            Done::Encoded(number, encoding) => {
                let Encoding { encoder, block, bytes } = *encoding;
                let Output { keeps_blocks, encoded, written, spare_blocks, encoders, .. } = &mut self.output;
                encoders.push(encoder);
                let block = if *keeps_blocks {
                    Some(block)
                } else {
                    spare_blocks.push(block);
                    None
                };
                if let Some(place) = encoded.get_mut(number - *written) {
                    *place = Some(EncodedBlock { block, bytes });
                }
            }
            Done::Written(trace, blocks, result) => {
                self.output.trace = Some(trace);
                for EncodedBlock { block, mut bytes } in blocks {
                    bytes.clear();
                    self.output.spare_bytes.push(bytes);
                    self.output.spare_blocks.extend(block);
                }
                self.error = self.error.take().or(result.err());
            }
        }
    }
}

/// Runs the second pass of a recording. Each of the consumers gets all events, and their blocks go to `trace`, if there is one. Returns the
/// result for each source, and all entities. `progress` gets the number of bytes read, and stops the work by returning false.
pub fn run(
    ready: Ready,
    sources: &[Source<'_>],
    options: &Options,
    threads: &Threads,
    mut consumers: Vec<&mut dyn Consumer>,
    trace: Option<&mut Trace<'_>>,
    progress: &mut dyn FnMut(u64) -> bool,
) -> Result<(Vec<InputSummary>, Entities), ConvertError> {
    let Ready { cuts, decode, resolving, .. } = ready;
    let mut stages = Vec::with_capacity(consumers.len());
    for consumer in &mut consumers {
        let idle = Some(Box::new(Consuming { consumer: &mut **consumer, entities: Entities::default() }));
        stages.push(Stage { idle, waiting: VecDeque::new(), has_finished: false });
    }
    let flow = Flow {
        sources,
        firmware_name: &options.firmware_name,
        windows: Windows::new(sources, cuts, &*decode, threads),
        resolving: Some(Box::new(resolving)),
        entities: Entities::default(),
        spare_batches: Vec::new(),
        stages,
        blocks_waiting: BLOCKS_WAITING * threads.count(),
        output: Output {
            keeps_blocks: trace.as_ref().is_some_and(|trace| trace.needs_blocks()),
            trace,
            to_encode: VecDeque::new(),
            encoded: VecDeque::new(),
            written: 0,
            spare_blocks: Vec::new(),
            spare_bytes: Vec::new(),
            encoders: Vec::new(),
        },
        error: None,
    };
    let (mut planned_bytes, mut is_stopped) = (0, false);
    let flow = threads.drive(flow, &mut |flow| {
        let now = flow.windows.planned_bytes();
        is_stopped = is_stopped || (now != planned_bytes && !progress(now));
        planned_bytes = now;
        !is_stopped
    });
    if let Some(error) = flow.error {
        return Err(error);
    }
    let (Some(resolving), false) = (flow.resolving, is_stopped) else { return Err(ConvertError::Stopped) };
    let mut summaries = resolving.finish();
    for (summary, source) in summaries.iter_mut().zip(sources) {
        let sample = source.bytes.get(..SAMPLE_BYTES).unwrap_or(source.bytes);
        if summary.ledger.has_losses()
            && let Some(changed) = transfer::changed(sample)
        {
            summary.facts.hints.push(changed.to_string());
        }
    }
    Ok((summaries, flow.entities))
}

/// A consumer that is one function.
struct Reader<F>(F);

impl<F: FnMut(&EventBatch, &Entities) + Send> Consumer for Reader<F> {
    fn consume(&mut self, batch: &EventBatch, entities: &Entities) {
        (self.0)(batch, entities);
    }
}

/// Runs both passes over the sources, as one recording, and passes all events to `consume`: in order of time, with the entities that
/// they refer to. Returns the result for each source, and all entities.
pub fn read(
    sources: &[Source<'_>],
    options: &Options,
    progress: &mut dyn FnMut(Progress) -> bool,
    consume: impl FnMut(&EventBatch, &Entities) + Send,
) -> Result<(Vec<InputSummary>, Entities), ConvertError> {
    let threads = Threads::new(options);
    let input_bytes: u64 = sources.iter().map(|source| source.bytes.len() as u64).sum();
    let mut report = |done_bytes| progress(Progress { done_bytes, total_bytes: 2 * input_bytes });
    let ready = Ready::new(sources, ClockMap::default(), options, &threads, &mut report)?;
    let mut reader = Reader(consume);
    let progress = &mut |planned_bytes| report(input_bytes + planned_bytes);
    let (mut inputs, entities) = run(ready, sources, options, &threads, vec![&mut reader], None, progress)?;
    inputs.iter_mut().for_each(|summary| summary.ledger.sort());
    Ok((inputs, entities))
}
