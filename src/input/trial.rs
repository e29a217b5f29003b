//! A trial: what is lost if a sample is decoded as it is.

use super::detect::detect;
use crate::format::{Format, FormatOptions, Part, Resolved};
use crate::model::{Entities, EventBatch, Ledger, LossKind, Severity, losses};

/// The number of losses in a sample of a recording. `None`: no format recognises it. `format` is the one that the user named. That the
/// sample ends within a frame is a loss if it `ends` where the recording does.
pub(super) fn lost(format: Option<&'static dyn Format>, sample: &[u8], ends: bool) -> Option<u64> {
    let format = match format {
        Some(format) => format,
        None => detect(sample, &[]).ok()?.format,
    };
    let recording = format.open(&[FormatOptions::default()]).ok()?;
    let part = Part::new(sample, 0..sample.len());
    let facts = recording.join(sample, None, recording.scan(0, part));
    let mut ledger = Ledger::default();
    let mut stages = recording.finish(vec![Some(facts)], std::slice::from_mut(&mut ledger));
    let (mut entities, mut batch) = (Entities::default(), EventBatch::default());
    let records = stages.decode.decode(0, part, None);
    let mut out = Resolved { entities: &mut entities, batch: &mut batch, ledger: &mut ledger };
    drop(stages.resolve.resolve(0, sample, records, &mut out));
    stages.resolve.finish(0, sample, &mut out);
    let is_loss = |kind: LossKind| kind.severity == Severity::Loss && (ends || kind != losses::TRUNCATED_FRAME);
    Some(ledger.entries().iter().filter(|entry| is_loss(entry.kind)).map(|entry| entry.count).sum())
}
