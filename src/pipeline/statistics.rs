//! Events → statistics: in parallel with drawing, or without a trace.

use super::flow::{Consumer, read};
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
    /// Warnings for the user, sentences without a final stop: nothing is in the time range.
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
    let (inputs, entities) = read(sources, options, progress, |batch, known| gathering.consume(batch, known))?;
    let (statistics, folded) = gathering.end(&entities);
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

    /// The result, and the folded stacks if they were requested.
    pub fn end(mut self, entities: &Entities) -> (StatisticsReport, Option<String>) {
        self.statistics.finish();
        (self.statistics.report(entities), self.statistics.folded(entities))
    }
}

impl Consumer for Gathering {
    fn consume(&mut self, batch: &EventBatch, entities: &Entities) {
        let Some(first) = batch.first_time() else { return };
        if !self.has_begun {
            self.has_begun = true;
            if let Some((from, to)) = range::absolute(&self.options, first) {
                self.statistics.limit_to(from.0, to.0);
            }
        }
        self.statistics.consume(batch, entities);
    }
}
