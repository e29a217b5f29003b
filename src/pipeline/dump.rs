//! The records of an input, listed in file order as recorded, each with its judged time.
//!
//! The times are those of a conversion: a second set of stages resolves the input, ahead of the listing.

use rustc_hash::FxHashMap;

use super::rounds::Windows;
use super::scan::{Scanned, scan};
use super::threads::Threads;
use super::{ConvertError, InputSummary, Options, Source};
use crate::format::{ErasedResolve, RecordView, Resolved, Stages};
use crate::model::{Entities, EventBatch, Ledger};

/// Lists the records of one source in file order, without converting them.
///
/// `record` stops the listing by returning false.
///
/// # Errors
/// [`ConvertError::Stopped`] after a stop by `record`, or [`ConvertError::Option`] when an option has a value that cannot be used.
pub fn dump(
    source: &Source<'_>,
    options: &Options,
    record: &mut dyn FnMut(&RecordView<'_>) -> bool,
) -> Result<InputSummary, ConvertError> {
    let threads = Threads::new(options);
    let sources = std::slice::from_ref(source);
    let Scanned { cutter, stages, mut ledgers, .. } = scan(sources, options, &threads, &mut |_| true)?;
    let Stages { decode, mut resolve, .. } = stages;
    let mut ledger = ledgers.pop().unwrap_or_default();
    let mut windows = Windows::new(sources, cutter, decode, options);
    let mut judged = JudgedTimes::new(sources, options, &threads)?;
    let mut goes_on = true;
    while goes_on && !windows.is_drained() {
        judged.advance(windows.planned_bytes(), &threads);
        windows.round(&threads, Vec::new(), |queues| {
            for parcel in queues.iter_mut().flat_map(|queue| queue.decoded.drain(..)) {
                if goes_on {
                    resolve.dump(0, source.bytes, parcel, &mut ledger, &mut |view| {
                        goes_on = record(&RecordView { nanos: judged.take(view.offset), ..view.clone() });
                        goes_on
                    });
                }
            }
        });
    }
    if !goes_on {
        return Err(ConvertError::Stopped);
    }
    ledger.sort();
    Ok(InputSummary { ledger, facts: judged.resolve.facts(), ..InputSummary::default() })
}

/// The judged times of records that have not been listed yet.
struct JudgedTimes<'a> {
    windows: Windows<'a>,
    resolve: Box<dyn ErasedResolve>,
    entities: Entities,
    batch: EventBatch,
    ledger: Ledger,
    /// By the offset of the record.
    nanos: FxHashMap<u64, u64>,
    /// The offset of the furthest record that was judged.
    reached: u64,
    has_ended: bool,
}

impl<'a> JudgedTimes<'a> {
    fn new(sources: &'a [Source<'a>], options: &Options, threads: &Threads) -> Result<JudgedTimes<'a>, ConvertError> {
        let Scanned { cutter, stages, mut ledgers, .. } = scan(sources, options, threads, &mut |_| true)?;
        Ok(JudgedTimes {
            windows: Windows::new(sources, cutter, stages.decode, options),
            resolve: stages.resolve,
            entities: Entities::default(),
            batch: EventBatch { judged: Some(Vec::new()), ..EventBatch::default() },
            ledger: ledgers.pop().unwrap_or_default(),
            nanos: FxHashMap::default(),
            reached: 0,
            has_ended: false,
        })
    }

    /// Judges all records before an offset. Records are judged in file order, so those are done when a later one is.
    fn advance(&mut self, until: u64, threads: &Threads) {
        while !self.has_ended && self.reached < until {
            let JudgedTimes { windows, resolve, entities, batch, ledger, nanos, reached, has_ended } = self;
            let mut take = |batch: &mut EventBatch| {
                for &(offset, time) in batch.judged.iter().flatten() {
                    *reached = offset.max(*reached);
                    nanos.insert(offset, time.0);
                }
                batch.clear();
            };
            let mut spare = Vec::new();
            windows.round(threads, Vec::new(), |queues| {
                for queue in queues {
                    while let Some(parcel) = queue.decoded.pop_front() {
                        spare.push(resolve.resolve(
                            0,
                            queue.bytes,
                            parcel,
                            &mut Resolved { entities: &mut *entities, batch: &mut *batch, ledger: &mut *ledger },
                        ));
                        take(batch);
                    }
                    if queue.is_drained() {
                        resolve.finish(
                            0,
                            queue.bytes,
                            &mut Resolved { entities: &mut *entities, batch: &mut *batch, ledger: &mut *ledger },
                        );
                        take(batch);
                        *has_ended = true;
                    }
                }
            });
            windows.spare_parcels.append(&mut spare);
        }
    }

    /// The time of the record at an offset, which is listed now.
    fn take(&mut self, offset: u64) -> Option<u64> {
        self.nanos.remove(&offset)
    }
}
