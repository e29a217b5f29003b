//! The records of an input, listed in file order as recorded, each with its judged time.
//!
//! The times are those of a conversion: a second set of stages resolves the input, when the listing needs them.

use std::collections::VecDeque;

use super::rounds::Windows;
use super::scan::{Scanned, scan};
use super::threads::Threads;
use super::{ConvertError, InputSummary, Options, Source};
use crate::format::{ErasedResolve, RecordView, Resolved, Stages};
use crate::model::{Entities, EventBatch, Ledger, Nanos};

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
    let Scanned { cuts, stages, mut ledgers, .. } = scan(sources, options, &threads, &mut |_| true)?;
    let Stages { decode, mut resolve, .. } = stages;
    let mut ledger = ledgers.pop().unwrap_or_default();
    let mut windows = Windows::new(sources, cuts, decode);
    let mut judged = JudgedTimes::new(sources, options, &threads)?;
    let mut goes_on = true;
    let mut parcels = Vec::new();
    while goes_on && !windows.is_drained() {
        windows.round(&threads, Vec::new(), |queues| {
            parcels.extend(queues.iter_mut().flat_map(|queue| queue.decoded.drain(..)));
        });
        for parcel in parcels.drain(..) {
            if !goes_on {
                break;
            }
            resolve.dump(0, source.bytes, parcel, &mut ledger, &mut |view| {
                goes_on = record(&RecordView { nanos: judged.take(view.offset, &threads), ..view.clone() });
                goes_on
            });
        }
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
    /// The offset and the time of each record, in the order in which they are listed.
    nanos: VecDeque<(u64, Option<Nanos>)>,
    has_ended: bool,
}

impl<'a> JudgedTimes<'a> {
    fn new(sources: &'a [Source<'a>], options: &Options, threads: &Threads) -> Result<JudgedTimes<'a>, ConvertError> {
        let Scanned { cuts, stages, mut ledgers, .. } = scan(sources, options, threads, &mut |_| true)?;
        Ok(JudgedTimes {
            windows: Windows::new(sources, cuts, stages.decode),
            resolve: stages.resolve,
            entities: Entities::default(),
            batch: EventBatch { judged: Some(Vec::new()), ..EventBatch::default() },
            ledger: ledgers.pop().unwrap_or_default(),
            nanos: VecDeque::new(),
            has_ended: false,
        })
    }

    /// Judges records until the time of one is known, or all are.
    fn advance(&mut self, threads: &Threads) {
        while !self.has_ended && self.nanos.is_empty() {
            let JudgedTimes { windows, resolve, entities, batch, ledger, nanos, has_ended } = self;
            let mut take = |batch: &mut EventBatch| {
                nanos.extend(batch.judged.iter().flatten().map(|judged| (judged.offset, judged.time)));
                batch.clear();
            };
            let mut spare = Vec::new();
            windows.round(threads, Vec::new(), |queues| {
                for queue in queues {
                    while let Some(parcel) = queue.decoded.pop_front() {
                        let mut out = Resolved { entities: &mut *entities, batch: &mut *batch, ledger: &mut *ledger };
                        spare.push(resolve.resolve(0, queue.bytes, parcel, &mut out));
                        take(batch);
                    }
                    if queue.is_drained() {
                        let mut out = Resolved { entities: &mut *entities, batch: &mut *batch, ledger: &mut *ledger };
                        resolve.finish(0, queue.bytes, &mut out);
                        take(batch);
                        *has_ended = true;
                    }
                }
            });
            windows.spare_parcels.append(&mut spare);
        }
    }

    /// The time of the record at an offset, which is listed now.
    fn take(&mut self, offset: u64, threads: &Threads) -> Option<u64> {
        self.advance(threads);
        let is_next = |(next, _): &mut (u64, Option<Nanos>)| *next == offset;
        self.nanos.pop_front_if(is_next).and_then(|(_, time)| time).map(|time| time.0)
    }
}
