//! `--skip-unchanged`: whether a trace that is there already is the one that would be made now.
//!
//! A trace says of itself by which version it was made, of which bytes, with which options, and what the conversion found out;
//! see [`marks`]. Whatever is not exactly as expected is converted again.

use std::fmt::Write;

use xxhash_rust::xxh3::xxh3_128;

use super::plan::{ConvertPlan, Job, Place};
use super::source::Opened;
use crate::format::{FormatOptions, OptionValue};
use crate::input::{Input, Layer, ReadOptions};
use crate::pipeline::{Compression, EarlierTrace, Options, Source};
use crate::report::kept::{self, Kept};

/// The attribute with what the user asked for.
const OPTIONS: &str = "options_hash";
/// The attribute with damage of what is around the recording, such as a gzip file that was cut.
pub(super) const INPUT_DAMAGE: &str = "input_damage";
/// The attribute with the name of the format.
const FORMAT: &str = "format_name";

/// What a trace says of how it was made, beside what every trace says.
pub(super) fn marks(plan: &ConvertPlan, job: &Job, opened: &[Opened]) -> Vec<(String, String)> {
    let mut marks = vec![(OPTIONS.to_owned(), options_hash(plan, job))];
    marks.extend(opened.first().map(|first| (FORMAT.to_owned(), first.format_name().to_owned())));
    marks
}

/// What the trace that is there says, if it is the one that would be made now. `damage` is that of the inputs.
pub(super) fn find(
    plan: &ConvertPlan,
    job: &Job,
    opened: &[Opened],
    sources: &[Source<'_>],
    damage: Option<&str>,
) -> Option<Kept> {
    let Place::File(path) = &job.output else { return None };
    if !path.is_file() {
        return None;
    }
    let trace = Input::open(path, &ReadOptions { spool_dir: None, ..plan.reading.read_options(&job.output) }).ok()?;
    // What is around the trace is what is to be around it now.
    let wanted = plan.form.compression.map(|compression| match compression {
        Compression::Gzip => Layer::Gzip,
        Compression::Zstd => Layer::Zstd,
    });
    if !trace.layers().iter().eq(&wanted) || !trace.damages().is_empty() {
        return None;
    }
    let earlier = EarlierTrace::read(trace.bytes())?;
    let has_marks = marks(plan, job, opened).iter().all(|(key, value)| earlier.text(key) == Some(value));
    if !has_marks || earlier.text(INPUT_DAMAGE) != damage {
        return None;
    }
    let kept = Kept::from_json(earlier.text(kept::ATTRIBUTE)?)?;
    let is_whole = kept.before_bytes == earlier.before_bytes() && kept.inputs.len() == opened.len();
    // Last, for it takes the longest.
    (is_whole && earlier.is_of(sources)).then_some(kept)
}

/// A hash of all that the user asked for and that has an influence on the trace. The format is not part of it: it counts which
/// one it was, not whether it was named.
fn options_hash(plan: &ConvertPlan, job: &Job) -> String {
    // Taken apart, so that whoever adds an option decides here whether it counts. What the source is read from has no influence.
    let Options {
        firmware_name: _,
        events,
        from,
        to,
        window_bytes: _,
        threads: _,
        team: _,
        statistics: _,
        attributes: _,
        keep: _,
    } = &plan.options;
    let FormatOptions { clock, mode, cores, core: _, has_own_ids, own } = &plan.reading.format_options;
    let of_job: Vec<Option<u16>> = job.sources.iter().map(|source| source.core).collect();
    let mut text = format!("{:?} {of_job:?} {events:?} {from:?} {to:?}", job.firmware_name);
    // Writing to a string cannot fail.
    let _ = write!(text, " {clock:?} {mode:?} {cores:?} {has_own_ids:?}");
    for (name, value) in own {
        let _ = match value {
            OptionValue::File { path, bytes } => write!(text, " {name}={path:?}:{:032x}", xxh3_128(bytes)),
            value => write!(text, " {name}={value:?}"),
        };
    }
    format!("xxh3-128:{:032x}", xxh3_128(text.as_bytes()))
}
