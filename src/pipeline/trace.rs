//! A trace being written, and the drawing of recordings into it.

use std::io::Write;

use super::drawing::Drawing;
use super::flow::{self, Consumer, Ready};
use super::sizes::Sizes;
use super::statistics::Gathering;
use super::threads::Threads;
use super::{ConvertError, InputSummary, Options, Source};
use crate::perfetto;
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

    /// Whether [`Trace::write_block`] needs the block.
    pub fn needs_blocks(&self) -> bool {
        self.sizes.is_some()
    }

    /// Writes the packets of a block.
    pub fn write_block(&mut self, block: Option<&Block>, packets: &[u8]) -> Result<(), ConvertError> {
        self.writer.write_all(packets).map_err(ConvertError::Write)?;
        self.written_bytes += packets.len() as u64;
        if let (Some(sizes), Some(block)) = (self.sizes.as_deref_mut(), block) {
            sizes.add_block(block, packets.len());
        }
        Ok(())
    }

    pub fn flush(&mut self) -> Result<(), ConvertError> {
        self.writer.flush().map_err(ConvertError::Write)
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
    let mut drawing = Drawing::new(options, &ready.facts, std::mem::take(numbers));
    let mut gathering = options.statistics.then(|| Gathering::new(options, false));
    let mut consumers: Vec<&mut dyn Consumer> = vec![&mut drawing];
    if let Some(gathering) = &mut gathering {
        consumers.push(gathering);
    }
    let (mut inputs, entities) = flow::run(ready, sources, options, threads, consumers, Some(&mut *trace), progress)?;
    let (tracks, free) = drawing.end(&entities, inputs.first_mut().map(|summary| &mut summary.ledger));
    *numbers = free;
    inputs.iter_mut().for_each(|summary| summary.ledger.sort());
    trace.write(&perfetto::epilogue(&tracks, &[]))?;
    Ok((inputs, gathering.map(|gathering| gathering.end(&entities).0)))
}
