//! The statistics of a recording, without a trace.

use super::gathering::Gathering;
use super::reading::read;
use super::{ConvertError, InputSummary, Options, Progress, Source, range};
use crate::model::{Entities, EventBatch};
use crate::stats::report::StatisticsReport;

/// The result of [`statistics`].
#[derive(Clone, Debug)]
pub struct Gathered {
    /// One per source, in their order.
    pub inputs: Vec<InputSummary>,
    /// The statistics of the recording.
    pub statistics: StatisticsReport,
    /// Time by function as folded stacks, if requested.
    pub folded: Option<String>,
    /// Warnings for the user: sentences without a final stop.
    pub warnings: Vec<String>,
}

/// Gathers the statistics of the sources, as one recording. No trace is made; of the options for a trace only the time range has
/// an effect.
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
    let mut gathering = Gathering::new(options, with_stacks);
    let mut consume = |batches: &[EventBatch], known: &Entities| gathering.advance(batches, known);
    let (inputs, entities) = read(sources, options, progress, &mut consume)?;
    let (statistics, folded) = gathering.finish(&entities);
    let warnings = range::nothing_within(options, &inputs).into_iter().collect();
    Ok(Gathered { inputs, statistics, folded, warnings })
}
