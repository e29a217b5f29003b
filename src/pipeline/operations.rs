//! Events → track operations, for a consumer of the caller: what a trace would hold, without its packets.

use super::drawing::Drawing;
use super::rounds::{self, Consumer, Ready};
use super::statistics::{Gathered, Gathering};
use super::threads::{Job, Threads};
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
    gathering: Gathering,
    consumer: &'c mut dyn Operations,
}

impl Consumer for Drawer<'_> {
    fn jobs<'j>(&'j mut self, batches: &'j [EventBatch], entities: &'j Entities, is_last: bool) -> Vec<Job<'j>> {
        let Drawer { drawing, gathering, consumer } = self;
        let draw = move || {
            drawing.advance(batches, entities, is_last);
            let blocks = drawing.take_blocks();
            let late = if blocks.is_empty() { Vec::new() } else { drawing.late_tracks(entities) };
            for block in blocks {
                consumer.consume(&late, &block);
                drawing.recycle(block);
            }
        };
        vec![Box::new(draw), Box::new(move || gathering.advance(batches, entities))]
    }

    fn end_round(&mut self) -> Result<(), ConvertError> {
        Ok(())
    }

    fn is_done(&self) -> bool {
        self.drawing.is_done()
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
    let mut drawer = Drawer { drawing, gathering: Gathering::new(options, false), consumer };
    let (mut inputs, entities) =
        rounds::run(ready, sources, options, &threads, &mut drawer, &mut |planned| report(input_bytes + planned))?;
    let Drawer { drawing, gathering, .. } = drawer;
    drawing.finish(&entities, inputs.first_mut().map(|summary| &mut summary.ledger));
    inputs.iter_mut().for_each(|summary| summary.ledger.sort());
    let (statistics, folded) = gathering.finish(&entities);
    let warnings = range::nothing_within(options, &inputs).into_iter().collect();
    Ok(Gathered { inputs, statistics, folded, warnings })
}
