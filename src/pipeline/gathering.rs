//! The other second ordered stage: events → statistics. It runs beside drawing, or in its place.

use super::{Options, range};
use crate::model::{Entities, EventBatch};
use crate::stats::Statistics;
use crate::stats::report::StatisticsReport;

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
