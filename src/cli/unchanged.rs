//! `--skip-unchanged`: whether a trace that is there already is the one that would be made now.
//!
//! A trace records by which version it was made, of which bytes, with which options, and the results of the conversion;
//! see [`marks`]. Whatever is not exactly as expected is converted again.

use super::plan::{ConvertPlan, Job, Place};
use super::source::Opened;
use crate::input::{Input, Layer, ReadOptions};
use crate::pipeline::{Compression, ExistingTrace, Options, Source};
use crate::report::stored::{self, StoredReport};

/// The attributes that record how a trace was made, beside those of every trace.
pub(super) fn marks(plan: &ConvertPlan, job: &Job, opened: &[Opened]) -> Vec<(String, String)> {
    let options = Options { firmware_name: job.firmware_name.clone(), ..plan.options.clone() };
    let cores: Vec<Option<u16>> = job.sources.iter().map(|source| source.core).collect();
    stored::marks(&options, &plan.reading.format_options, &cores, opened.first().map(Opened::format))
}

/// The attributes of the existing trace, if it is the one that would be made now. `damage` is that of the inputs.
pub(super) fn find(
    plan: &ConvertPlan,
    job: &Job,
    opened: &[Opened],
    sources: &[Source<'_>],
    damage: Option<&str>,
) -> Option<StoredReport> {
    let Place::File(path) = &job.output else { return None };
    if !path.is_file() {
        return None;
    }
    let trace = Input::open(path, &ReadOptions { spool_dir: None, ..plan.reading.read_options(&job.output) }).ok()?;
    // The compression of the trace is the one that is asked for now.
    let wanted = plan.form.compression.map(|compression| match compression {
        Compression::Gzip => Layer::Gzip,
        Compression::Zstd => Layer::Zstd,
    });
    if !trace.layers().iter().eq(&wanted) || !trace.damages().is_empty() {
        return None;
    }
    let earlier = ExistingTrace::read(trace.bytes())?;
    let has_marks = marks(plan, job, opened).iter().all(|(key, value)| earlier.text(key) == Some(value));
    if !has_marks || earlier.text(stored::INPUT_DAMAGE) != damage {
        return None;
    }
    let kept = StoredReport::from_json(earlier.text(stored::ATTRIBUTE)?)?;
    let is_whole = kept.before_bytes == earlier.before_bytes() && kept.inputs.len() == opened.len();
    // Last, for it takes the longest.
    (is_whole && earlier.is_of(sources)).then_some(kept)
}
