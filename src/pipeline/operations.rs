//! Events → track operations, for a consumer of the caller: what a trace would hold, without its packets.

use super::drawing::Drawing;
use super::flow::{self, Consumer, Ready};
use super::statistics::{Gathered, Gathering};
use super::threads::Threads;
use super::{ConvertError, Options, Progress, Source, clock::ClockMap, range};
use crate::model::{Entities, EventBatch};
use crate::timeline::Numbers;
use crate::track::{Block, Track};

/// Consumes the operations of a recording, see [`operations`].
pub trait Operations: Send {
    /// Consumes a block. `late` are the tracks of tasks and machines as known so far: they are in no block. Blocks come in their order.
    fn consume(&mut self, late: &[Track], block: &Block);
}

struct Drawer<'c> {
    drawing: Drawing,
    consumer: &'c mut dyn Operations,
}

impl Drawer<'_> {
    fn pass_on(&mut self, entities: &Entities) {
        let blocks = self.drawing.take_blocks();
        let late = if blocks.is_empty() { Vec::new() } else { self.drawing.late_tracks(entities) };
        for block in blocks {
            self.consumer.consume(&late, &block);
            self.drawing.recycle(block);
        }
    }
}

impl Consumer for Drawer<'_> {
    fn consume(&mut self, batch: &EventBatch, entities: &Entities) {
        self.drawing.consume(batch, entities);
        self.pass_on(entities);
    }

    fn finish(&mut self, entities: &Entities) {
        self.drawing.finish(entities);
        self.pass_on(entities);
    }
}

/// Draws the sources, as one recording, passes the operations to `consumer` instead of writing a trace, and gathers statistics.
///
/// `progress` is called now and then and stops the work by returning false.
///
/// # Errors
/// When the work is stopped, an option has a value that cannot be used, or the sources cannot be one recording.
pub fn operations(
    sources: &[Source<'_>],
    options: &Options,
    consumer: &mut dyn Operations,
    progress: &mut dyn FnMut(Progress) -> bool,
) -> Result<Gathered, ConvertError> {
    let threads = Threads::new(options);
    let input_bytes: u64 = sources.iter().map(|source| source.bytes.len() as u64).sum();
    let mut report = |done_bytes| progress(Progress { done_bytes, total_bytes: 2 * input_bytes });
    let ready = Ready::new(sources, ClockMap::default(), options, &threads, &mut report)?;
    let drawing = Drawing::new(options, &ready.facts, Numbers::default());
    let mut drawer = Drawer { drawing, consumer };
    let mut gathering = Gathering::new(options, false);
    let progress = &mut |planned_bytes| report(input_bytes + planned_bytes);
    let (mut inputs, entities) = flow::run(ready, sources, options, &threads, vec![&mut drawer, &mut gathering], None, progress)?;
    drawer.drawing.end(&entities, inputs.first_mut().map(|summary| &mut summary.ledger));
    inputs.iter_mut().for_each(|summary| summary.ledger.sort());
    let (statistics, folded) = gathering.end(&entities);
    let warnings = range::nothing_within(options, &inputs).into_iter().collect();
    Ok(Gathered { inputs, statistics, folded, warnings })
}
