//! The later stages of a conversion: events → draw → encode ∥ → write.

use std::io::Write;
use std::sync::Mutex;

use super::drawing::Drawing;
use super::rounds::{self, Consumer, Ready};
use super::scan::{collect, store};
use super::sizes::Sizes;
use super::statistics::Gathering;
use super::threads::{Job, Threads};
use super::{ConvertError, InputSummary, Options, Source};
use crate::model::{Entities, EventBatch};
use crate::perfetto::{self, Encoder};
use crate::stats::report::StatisticsReport;
use crate::timeline::Numbers;
use crate::track::Block;

/// A trace being written.
pub struct Trace<'a> {
    writer: &'a mut (dyn Write + Send),
    pub written_bytes: u64,
    /// The sizes of its parts by time, if requested.
    sizes: Option<&'a mut Sizes>,
}

impl<'a> Trace<'a> {
    pub fn new(writer: &'a mut (dyn Write + Send), sizes: Option<&'a mut Sizes>) -> Trace<'a> {
        Trace { writer, written_bytes: 0, sizes }
    }

    /// Writes packets that are in no block.
    pub fn write(&mut self, packets: &[u8]) -> Result<(), ConvertError> {
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

/// The stages after the resolver. Each works on the output that the one before it made in the preceding round.
struct Drawer<'d, 'a> {
    drawing: Drawing,
    gathering: Option<Gathering>,
    trace: &'d mut Trace<'a>,
    to_encode: Vec<Block>,
    encoded: Vec<Mutex<Option<Vec<u8>>>>,
    to_write: Vec<Vec<u8>>,
    written: Mutex<Option<std::io::Result<u64>>>,
    spare_bytes: Vec<Vec<u8>>,
    encoders: Mutex<Vec<Encoder>>,
}

impl Consumer for Drawer<'_, '_> {
    fn jobs<'j>(&'j mut self, batches: &'j [EventBatch], entities: &'j Entities, is_last: bool) -> Vec<Job<'j>> {
        let Drawer { drawing, gathering, trace, to_encode, encoded, to_write, written, spare_bytes, encoders } = self;
        *encoded = to_encode.iter().map(|_| Mutex::new(None)).collect();
        // The long ones first: the last job to begin decides how long the other threads wait at the end of the round.
        let mut jobs: Vec<Job<'j>> = vec![Box::new(move || drawing.advance(batches, entities, is_last))];
        if let Some(gathering) = gathering {
            jobs.push(Box::new(move || gathering.advance(batches, entities)));
        }
        let (writer, to_write, written) = (&mut *trace.writer, &*to_write, &*written);
        jobs.push(Box::new(move || store(written, write_all(writer, to_write))));
        for (block, result) in to_encode.iter().zip(&*encoded) {
            let (encoders, bytes) = (&*encoders, spare_bytes.pop().unwrap_or_default());
            jobs.push(Box::new(move || store(result, encode(block, bytes, encoders))));
        }
        jobs
    }

    fn end_round(&mut self) -> Result<(), ConvertError> {
        let written = collect(std::mem::take(&mut self.written));
        self.trace.written_bytes += written.unwrap_or(Ok(0)).map_err(ConvertError::Write)?;
        for mut bytes in self.to_write.drain(..) {
            bytes.clear();
            self.spare_bytes.push(bytes);
        }
        self.to_write.extend(self.encoded.drain(..).filter_map(collect));
        if let Some(sizes) = self.trace.sizes.as_deref_mut() {
            self.to_encode.iter().zip(&self.to_write).for_each(|(block, bytes)| sizes.add_block(block, bytes.len()));
        }
        self.to_encode.drain(..).for_each(|block| self.drawing.recycle(block));
        self.to_encode = self.drawing.take_blocks();
        Ok(())
    }

    fn is_done(&self) -> bool {
        self.drawing.is_done() && self.to_encode.is_empty() && self.to_write.is_empty()
    }
}

/// Draws a recording into a trace. `numbers` are those that are free; the next recording continues with them. `progress` gets the number
/// of bytes read, and stops the work by returning false.
pub fn draw(
    ready: Ready,
    sources: &[Source<'_>],
    options: &Options,
    numbers: &mut Numbers,
    threads: &Threads,
    trace: &mut Trace<'_>,
    progress: &mut dyn FnMut(u64) -> bool,
) -> Result<(Vec<InputSummary>, Option<StatisticsReport>), ConvertError> {
    let mut drawer = Drawer {
        drawing: Drawing::new(options, &ready.facts, std::mem::take(numbers)),
        gathering: options.statistics.then(|| Gathering::new(options, false)),
        trace,
        to_encode: Vec::new(),
        encoded: Vec::new(),
        to_write: Vec::new(),
        written: Mutex::new(None),
        spare_bytes: Vec::new(),
        encoders: Mutex::new(Vec::new()),
    };
    let (mut inputs, entities) = rounds::run(ready, sources, options, threads, &mut drawer, progress)?;
    let Drawer { drawing, gathering, trace, .. } = drawer;
    let (tracks, free) = drawing.finish(&entities, inputs.first_mut().map(|summary| &mut summary.ledger));
    *numbers = free;
    inputs.iter_mut().for_each(|summary| summary.ledger.sort());
    trace.write(&perfetto::epilogue(&tracks, &[]))?;
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
