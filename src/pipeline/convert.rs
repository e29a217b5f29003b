//! Conversions: one recording or several in one trace. Several may be boards, hosts or processors with
//! clocks of their own, of one format or of several.
//!
//! They are drawn one after the other, each with its own scan, resolver and timeline. Numbers that are unique in a trace continue from
//! one to the next ([`Numbers`]). A clock map for each recording moves its times to one axis, and the viewer sorts by time. So memory is
//! that of one conversion, and each recording is drawn exactly as alone.

use std::io::Write;

use xxhash_rust::xxh3::Xxh3;

use super::align::{Placed, Wanted, align};
use super::attributes::{Drawn, attributes};
use super::flow::Ready;
use super::markers::{self, Occurrences};
use super::sizes::Sizes;
use super::threads::Threads;
use super::trace::{Trace, draw};
use super::{ConvertError, Converted, InputSummary, Options, Progress, Source, TimeBound, range};
use crate::format::Facts;
use crate::model::{ClockKind, SideClock};
use crate::perfetto;
use crate::timeline::Numbers;

/// The number of CPUs that the viewer supports.
const CPUS: u32 = 1024;

/// The sources of one recording: inputs with one clock, such as the cores of one target.
#[derive(Clone)]
pub struct RecordingSources<'a> {
    /// Its inputs.
    pub sources: &'a [Source<'a>],
    /// The name of its firmware in the trace, instead of [`Options::firmware_name`].
    pub name: String,
    /// Added to its times, in nanoseconds.
    pub offset_ns: Option<i64>,
}

/// The alignment of several recordings on one time axis, in addition to the offset that each may have.
#[derive(Clone, Debug, Default)]
pub struct Alignment {
    /// The name of a marker that occurs in all of them. Its first occurrences get the same time.
    pub sync_marker: Option<String>,
    /// Whether the times of the others are stretched so that its last occurrences get the same time too.
    pub correct_drift: bool,
}

/// Converts the sources, as one recording, into one trace.
///
/// `progress` is called now and then and stops the conversion by returning false.
///
/// # Errors
/// Only when the trace cannot be written, the conversion is stopped, or the sources cannot be one recording.
pub fn convert(
    sources: &[Source<'_>],
    options: &Options,
    trace: &mut (dyn Write + Send),
    progress: &mut dyn FnMut(Progress) -> bool,
) -> Result<Converted, ConvertError> {
    let name = options.firmware_name.clone();
    merge(&[RecordingSources { sources, name, offset_ns: None }], &Alignment::default(), options, trace, progress)
}

/// Converts several recordings into one trace. The first one keeps its times, unless a recording would begin before 0: then all move.
///
/// `progress` is called now and then and stops the conversion by returning false.
///
/// # Errors
/// When the trace cannot be written, the conversion is stopped, or the recordings cannot be put on one time axis as asked.
pub fn merge(
    recordings: &[RecordingSources<'_>],
    alignment: &Alignment,
    options: &Options,
    trace: &mut (dyn Write + Send),
    progress: &mut dyn FnMut(Progress) -> bool,
) -> Result<Converted, ConvertError> {
    convert_all(recordings, alignment, options, Trace::new(trace, None), progress)
}

/// Converts without writing, to measure the sizes of the parts of the trace.
///
/// # Errors
/// Those of [`merge`].
pub fn measure(
    recordings: &[RecordingSources<'_>],
    alignment: &Alignment,
    options: &Options,
    progress: &mut dyn FnMut(Progress) -> bool,
) -> Result<(Converted, Sizes), ConvertError> {
    let mut sizes = Sizes::default();
    let mut nowhere = std::io::sink();
    let converted = convert_all(recordings, alignment, options, Trace::new(&mut nowhere, Some(&mut sizes)), progress)?;
    Ok((converted, sizes))
}

fn convert_all(
    recordings: &[RecordingSources<'_>],
    alignment: &Alignment,
    options: &Options,
    mut trace: Trace<'_>,
    progress: &mut dyn FnMut(Progress) -> bool,
) -> Result<Converted, ConvertError> {
    let threads = Threads::new(options);
    let marker = alignment.sync_marker.as_deref();
    let is_relative = |bound: Option<TimeBound>| matches!(bound, Some(TimeBound::AfterStart(_)));
    let is_early = recordings.iter().any(|recording| recording.offset_ns.is_some_and(|ns| ns < 0));
    let several = recordings.len() > 1;
    let must_search = several && (marker.is_some() || is_early || is_relative(options.from) || is_relative(options.to));

    let bytes: Vec<u64> =
        recordings.iter().map(|recording| recording.sources.iter().map(|source| source.bytes.len() as u64).sum()).collect();
    let total_bytes = bytes.iter().sum::<u64>() * if must_search { 4 } else { 2 };
    let mut before = 0;
    let found = if must_search {
        let mut found: Vec<Occurrences> = Vec::with_capacity(recordings.len());
        for (recording, bytes) in recordings.iter().zip(&bytes) {
            let mut report = |read: Progress| progress(Progress { done_bytes: before + read.done_bytes, total_bytes });
            found.push(markers::find(recording.sources, marker, options, &mut report)?);
            before += 2 * bytes;
        }
        found
    } else {
        Vec::new()
    };
    let wanted = Wanted {
        recordings: recordings.iter().map(|recording| (recording.name.as_str(), recording.offset_ns)).collect(),
        marker,
        correct_drift: alignment.correct_drift,
    };
    let placed = align(&wanted, &found)?;
    let options = on_one_axis(options, &found, &placed);

    let mut ready: Vec<Ready> = Vec::with_capacity(recordings.len());
    for ((recording, placed), bytes) in recordings.iter().zip(&placed).zip(&bytes) {
        let mut report = |scanned_bytes| progress(Progress { done_bytes: before + scanned_bytes, total_bytes });
        ready.push(Ready::new(recording.sources, placed.clock, &options, &threads, &mut report)?);
        before += bytes;
    }
    let cores: u32 = ready.iter().map(|ready| u32::from(ready.facts.cores)).sum();
    if several && cores > CPUS {
        return Err(ConvertError::Mismatch(format!(
            "the recordings have {cores} cores together, and the viewer has {CPUS} CPUs; merge fewer of them"
        )));
    }
    let hashes: Vec<u128> = ready.iter().map(|ready| ready.hash).collect();
    let hash = combined(&hashes, &placed);
    trace.write(&perfetto::prelude(((hash >> 64) as u64, hash as u64)))?;
    trace.write(&perfetto::wall_clock(&side_clocks(ready.iter().map(|ready| &ready.facts))))?;

    let mut numbers = if several { Numbers::of_several() } else { Numbers::default() };
    let mut summaries: Vec<(u16, Vec<InputSummary>)> = Vec::with_capacity(recordings.len());
    let mut statistics = Vec::new();
    for (((recording, ready), placed), bytes) in recordings.iter().zip(ready).zip(placed).zip(bytes) {
        let options = Options { firmware_name: recording.name.clone(), ..options.clone() };
        let first_cpu = numbers.first_cpu();
        let mut report = |drawn_bytes| progress(Progress { done_bytes: before + drawn_bytes, total_bytes });
        let (mut inputs, gathered) = draw(ready, recording.sources, &options, &mut numbers, &threads, &mut trace, &mut report)?;
        if several {
            inputs.iter_mut().for_each(|input| input.offset = Some(placed.offset.clone()));
        }
        summaries.push((first_cpu, inputs));
        statistics.extend(gathered);
        before += bytes;
    }
    let clocks = side_clocks(summaries.iter().filter_map(|(_, inputs)| Some(&inputs.first()?.facts)));
    trace.write(&perfetto::clock_readings(&clocks))?;
    let drawn: Vec<Drawn<'_>> = recordings
        .iter()
        .zip(&summaries)
        .zip(hashes)
        .map(|((recording, (first_cpu, summaries)), hash)| Drawn { recording, summaries, hash, first_cpu: *first_cpu })
        .collect();
    // The attributes are a packet of their own at the end, where a later run finds them.
    let inputs: Vec<InputSummary> = summaries.iter().flat_map(|(_, inputs)| inputs).cloned().collect();
    let warnings = range::nothing_within(&options, &inputs).into_iter().collect();
    let mut converted = Converted { inputs, output_bytes: trace.written_bytes, warnings, statistics };
    trace.write(&perfetto::epilogue(&[], &attributes(&drawn, &clocks, hash, &converted, &options)))?;
    trace.flush()?;
    converted.output_bytes = trace.written_bytes;
    Ok(converted)
}

/// With several recordings a time range begins after the first event of all, not of each.
fn on_one_axis(options: &Options, found: &[Occurrences], placed: &[Placed]) -> Options {
    let first = found.iter().zip(placed).filter_map(|(found, placed)| Some(placed.clock.time(found.first?))).min();
    let Some(first) = first else { return options.clone() };
    let absolute = |bound: Option<TimeBound>| match bound? {
        TimeBound::Absolute(time) => Some(TimeBound::Absolute(time)),
        TimeBound::AfterStart(after) => Some(TimeBound::Absolute(first.saturating_add(after.0))),
    };
    Options { from: absolute(options.from), to: absolute(options.to), ..options.clone() }
}

/// The other clocks of all recordings. The trace has one time of day: that of the first recording that has one.
fn side_clocks<'a>(facts: impl Iterator<Item = &'a Facts>) -> Vec<SideClock> {
    let mut all: Vec<SideClock> = Vec::new();
    for clock in facts.flat_map(|facts| &facts.clocks) {
        if clock.kind != ClockKind::Wall || all.iter().all(|other| other.kind != ClockKind::Wall) {
            all.push(clock.clone());
        }
    }
    all
}

/// The identity of a trace: that of its input, or of all inputs with their offsets.
fn combined(hashes: &[u128], placed: &[Placed]) -> u128 {
    if let [only] = hashes {
        return *only;
    }
    let mut all = Xxh3::new();
    for (hash, placed) in hashes.iter().zip(placed) {
        all.update(&hash.to_le_bytes());
        all.update(&placed.offset.ns.to_le_bytes());
        all.update(&[u8::from(placed.offset.drift.as_ref().is_some_and(|drift| drift.is_corrected))]);
    }
    all.digest128()
}
