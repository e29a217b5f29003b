//! The records of an input, listed in file order without a conversion.

use super::rounds::Windows;
use super::scan::{Scanned, scan};
use super::threads::Threads;
use super::{ConvertError, InputSummary, Options, Source};
use crate::format::{RecordView, Stages};

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
    let mut goes_on = true;
    while goes_on && !windows.is_drained() {
        windows.round(&threads, Vec::new(), |queues| {
            for parcel in queues.iter_mut().flat_map(|queue| queue.decoded.drain(..)) {
                if goes_on {
                    resolve.dump(0, source.bytes, parcel, &mut ledger, &mut |view| {
                        goes_on = record(view);
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
    Ok(InputSummary { ledger, facts: resolve.facts(), ..InputSummary::default() })
}
