//! The records of an input, listed in file order as recorded, each with its judged time.
//!
//! The times are those of a conversion: a second set of stages resolves the input, when the listing needs them.

use std::collections::VecDeque;

use super::scan::{Scanned, scan};
use super::threads::Threads;
use super::windows::Windows;
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
    let mut windows = Windows::new(sources, cuts, &*decode, &threads);
    let Scanned { cuts, stages: judging, ledgers, .. } = scan(sources, options, &threads, &mut |_| true)?;
    let mut judged = JudgedTimes {
        windows: Windows::new(sources, cuts, &*judging.decode, &threads),
        resolve: judging.resolve,
        entities: Entities::default(),
        batch: EventBatch { judged: Some(Vec::new()), ..EventBatch::default() },
        ledger: ledgers.into_iter().next().unwrap_or_default(),
        nanos: VecDeque::new(),
        has_ended: false,
    };
    let mut goes_on = true;
    while goes_on && let Some(parcel) = windows.decode_next(0, &threads) {
        resolve.dump(0, source.bytes, parcel, &mut ledger, &mut |view| {
            goes_on = record(&RecordView { nanos: judged.take(view.offset, source.bytes, &threads), ..view.clone() });
            goes_on
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
    /// The offset and the time of each record, in the order in which they are listed.
    nanos: VecDeque<(u64, Option<Nanos>)>,
    has_ended: bool,
}

impl JudgedTimes<'_> {
    /// Judges records until the time of one is known, or all are.
    fn advance(&mut self, bytes: &[u8], threads: &Threads) {
        while !self.has_ended && self.nanos.is_empty() {
            let JudgedTimes { windows, resolve, entities, batch, ledger, nanos, has_ended } = self;
            let mut out = Resolved { entities, batch, ledger };
            match windows.decode_next(0, threads) {
                Some(parcel) => windows.recycle(resolve.resolve(0, bytes, parcel, &mut out)),
                None => {
                    resolve.finish(0, bytes, &mut out);
                    *has_ended = true;
                }
            }
            nanos.extend(batch.judged.iter().flatten().map(|judged| (judged.offset, judged.time)));
            batch.clear();
        }
    }

    /// The time of the record at an offset of the input, which is `bytes`. It is listed now.
    fn take(&mut self, offset: u64, bytes: &[u8], threads: &Threads) -> Option<u64> {
        self.advance(bytes, threads);
        let is_next = |(next, _): &mut (u64, Option<Nanos>)| *next == offset;
        self.nanos.pop_front_if(is_next).and_then(|(_, time)| time).map(|time| time.0)
    }
}
