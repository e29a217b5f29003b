//! Events → statistics: in parallel with drawing, or without a trace.

use super::rounds::read;
use super::{ConvertError, InputSummary, Options, Progress, Source, range};
use crate::model::{Entities, EventBatch};
use crate::stats::Statistics;
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
    let (inputs, entities) = read(sources, options, progress, |batches, known| gathering.advance(batches, known))?;
    let (statistics, folded) = gathering.finish(&entities);
    let warnings = range::nothing_within(options, &inputs).into_iter().collect();
    Ok(Gathered { inputs, statistics, folded, warnings })
}

/// Gathers statistics.
pub struct Gathering {
    statistics: Statistics,
    options: Options,
    has_begun: bool,
}

impl Gathering {
    pub fn new(options: &Options, with_stacks: bool) -> Gathering {
        Gathering { statistics: Statistics::new(with_stacks), options: options.clone(), has_begun: false }
    }

    /// Consumes batches; `entities` are those of these events.
    pub fn advance(&mut self, batches: &[EventBatch], entities: &Entities) {
        for batch in batches {
            let Some(first) = batch.first_time() else { continue };
            if !self.has_begun {
                self.has_begun = true;
                if let Some((from, to)) = range::absolute(&self.options, first) {
                    self.statistics.limit_to(from.0, to.0);
                }
            }
            self.statistics.consume(batch, entities);
        }
    }

    /// The result, and the folded stacks if they were requested.
    pub fn finish(mut self, entities: &Entities) -> (StatisticsReport, Option<String>) {
        self.statistics.finish();
        (self.statistics.report(entities), self.statistics.folded(entities))
    }
}
