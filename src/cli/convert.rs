//! `traceconv INPUT...`, one job of it: the inputs of one recording, or of several that are merged, become one trace.

use std::time::{Duration, Instant};

use super::output::{create_dir, is_denied};
use super::plan::{ConvertPlan, Job, Place, SourceName, Verbosity, directory_of, path_text};
use super::source::{NO_EVENT, Opened, OpenedTogether, PART_OF_UNUSABLE, blame, blame_together, name_in_sentence, with_sources};
use super::trace_file::{Conversion, Written};
use super::{Status, merging, unchanged};
use crate::input::InputError;
use crate::model::Certainty;
use crate::pipeline::{self, Options, Progress, Source, Team};
use crate::report::stored::{self, StoredReport};
use crate::report::{InputReport, InputStatus, TraceReport, summary, viewer, visible};
use crate::stats::report::StatisticsReport;
use crate::stats::text;

/// How many rows a table of statistics has after a conversion. `stats` prints all.
const TABLE_ROWS: usize = 5;

/// The result of one job.
pub(super) struct Outcome {
    pub(super) status: Status,
    pub(super) inputs: Vec<InputReport>,
    /// The trace that was written.
    pub(super) trace: TraceReport,
    /// Of a trace with several recordings: how many inputs each has, and its statistics.
    merged: Vec<(usize, Option<StatisticsReport>)>,
    /// The messages about it.
    pub(super) messages: String,
}

impl Outcome {
    /// Each recording with its inputs. The length of a trace with several counts for the first one.
    pub(super) fn by_recording(self) -> Vec<(TraceReport, Vec<InputReport>)> {
        let Outcome { inputs, mut trace, merged, .. } = self;
        if merged.is_empty() {
            return vec![(trace, inputs)];
        }
        let mut inputs = inputs.into_iter();
        let mut recordings = Vec::with_capacity(merged.len());
        for (count, statistics) in merged {
            recordings.push((TraceReport { statistics, ..trace.clone() }, inputs.by_ref().take(count).collect()));
            (trace.output_bytes, trace.uncompressed_bytes) = (0, trace.uncompressed_bytes.map(|_| 0));
        }
        recordings
    }
}

/// Converts jobs, each on one thread.
pub(super) struct Converter<'a> {
    pub(super) plan: &'a ConvertPlan,
    pub(super) team: Team,
    /// Whether a summary of each input is printed; a batch has a table instead.
    pub(super) with_summaries: bool,
}

/// The trace of a job.
enum JobTrace {
    Written(Written),
    /// It was there already. With its statistics, if they were asked for: it does not hold them.
    Unchanged(StoredReport, Option<Box<StatisticsReport>>),
}

impl Converter<'_> {
    /// Converts without printing.
    pub(super) fn convert(&self, job: &Job, progress: &mut dyn FnMut(Progress) -> bool) -> Outcome {
        let started = Instant::now();
        let mut outcome = self.try_convert(job, progress, started);
        for input in &mut outcome.inputs {
            input.wall_seconds = started.elapsed().as_secs_f64();
            // A trace of several inputs is beyond a limit because of some of them.
            input.status = Some(match outcome.status {
                Status::TooMuchLost if has_lost(self.plan, input) => InputStatus::TooMuchLost,
                Status::TooUncertain if is_uncertain(self.plan, input) => InputStatus::TooUncertain,
                Status::Failed => InputStatus::Failed,
                _ if input.unchanged => InputStatus::Unchanged,
                _ => InputStatus::Converted,
            });
        }
        let is_unrecognised = outcome.inputs.iter().all(|input| input.unrecognised) && !outcome.inputs.is_empty();
        if self.plan.skip_unrecognised && is_unrecognised {
            outcome.status = Status::Done;
            outcome.messages = String::new();
            for input in &mut outcome.inputs {
                input.status = Some(InputStatus::Skipped);
                if self.with_summaries && self.plan.reading.verbosity > Verbosity::Quiet {
                    outcome.messages += &format!("skipped: {} is in no known format\n", name_in_sentence(input));
                }
            }
        }
        outcome
    }

    fn try_convert(&self, job: &Job, progress: &mut dyn FnMut(Progress) -> bool, started: Instant) -> Outcome {
        let unusable = |inputs| match job.merge {
            Some(_) => failed(inputs, "was to be in one trace with an input that cannot be used"),
            None => failed(inputs, PART_OF_UNUSABLE),
        };
        if job.problems.iter().any(Option::is_some) {
            let mut inputs: Vec<InputReport> = job.sources.iter().map(Opened::unopened).collect();
            let problems = inputs.iter_mut().zip(&job.problems);
            problems.for_each(|(input, problem)| problem.iter().for_each(|problem| blame(input, problem)));
            return unusable(inputs);
        }
        let plan = self.plan;
        let read_options = plan.reading.read_options(&job.output);
        let OpenedTogether { reports: mut inputs, opened, counts } =
            OpenedTogether::open(&job.sources, &plan.reading, &read_options);
        if opened.len() < inputs.len() {
            return unusable(inputs);
        }

        let mut messages = String::new();
        let mut merged = Vec::new();
        let made = with_sources(&opened, |sources| self.make_trace(job, &opened, sources, &counts, progress));
        let (warnings, is_unchanged, mut trace) = match made {
            Ok(JobTrace::Written(Written { mut converted, parts, output_bytes, plain_bytes, largest_bytes })) => {
                converted.warnings.extend(viewer::too_large(largest_bytes));
                inputs.iter_mut().zip(&converted.inputs).for_each(|(report, summary)| report.enter_summary(summary));
                inputs.iter_mut().zip(&opened).for_each(|(input, opened)| opened.warn_of_format(input));
                if inputs.iter().all(|input| input.events == 0 || input.frames_ok == 0) {
                    inputs.iter_mut().zip(&opened).for_each(|(input, opened)| opened.blame_no_events(input));
                    return failed(inputs, NO_EVENT);
                }
                let mut statistics = converted.statistics.into_iter();
                if let Some(plan) = &job.merge {
                    merged = plan.inputs_of_each(&counts).into_iter().map(|count| (count, statistics.next())).collect();
                }
                let files = parts.iter().map(|part| path_text(part)).collect();
                let uncompressed_bytes = plain_bytes;
                let statistics = statistics.next();
                let trace = TraceReport { files, output_bytes, uncompressed_bytes, statistics, ..TraceReport::default() };
                (converted.warnings, false, trace)
            }
            Ok(JobTrace::Unchanged(kept, statistics)) => {
                inputs.iter_mut().zip(kept.inputs).for_each(|(report, kept)| report.enter_stored(kept));
                (kept.warnings, true, TraceReport { statistics: statistics.map(|boxed| *boxed), ..TraceReport::default() })
            }
            Err(error) => {
                let advice = if is_denied(&error) { "; -o names another place" } else { "" };
                return failed(inputs, &format!("was not converted: {error:#}{advice}"));
            }
        };
        for input in &mut inputs {
            input.output = Some(job.output.as_typed());
            input.unchanged = is_unchanged;
        }
        // Of several recordings the last one has the warnings, which are of all.
        let first = if job.merge.is_some() { inputs.len().saturating_sub(1) } else { 0 };
        inputs.iter_mut().skip(first).for_each(|input| input.warnings.extend(warnings.iter().cloned()));
        trace.output = Some(job.output.as_typed());
        if self.with_summaries {
            messages += &self.summary_text(job, &inputs, &opened, &trace, started.elapsed());
        } else if plan.reading.verbosity > Verbosity::Quiet {
            // In a batch too: there is a trace, but it may be empty.
            let of = if plan.jobs.len() > 1 { format!("{}: ", job.for_people()) } else { String::new() };
            let all = inputs.iter().flat_map(|input| &input.warnings);
            all.for_each(|warning| messages += &format!("warning: {of}{warning}\n"));
        }
        let lost = too_much_lost(plan, job, &inputs).map(|complaint| (Status::TooMuchLost, complaint));
        let complaint = lost.or_else(|| Some((Status::TooUncertain, too_uncertain(plan, job, &inputs)?)));
        let (status, complaint) = complaint.unwrap_or((Status::Done, String::new()));
        messages += &complaint;
        Outcome { status, inputs, trace, merged, messages }
    }

    /// Converts into the output's file, which only appears if there is at least one event.
    fn make_trace(
        &self,
        job: &Job,
        opened: &[Opened],
        sources: &[Source<'_>],
        counts: &[usize],
        progress: &mut dyn FnMut(Progress) -> bool,
    ) -> anyhow::Result<JobTrace> {
        let plan = self.plan;
        let check = || match opened.iter().zip(names(job, counts)).find(|(opened, _)| opened.input.was_cut_short()) {
            Some((_, name)) => Err(anyhow::anyhow!("{} {}", name.for_people(), InputError::CutShort)),
            None => Ok(()),
        };
        // The zeros in the place of the rest need not be read.
        let mut progress = |read| progress(read) && check().is_ok();
        let damage = stored::damage(opened.iter().flat_map(|opened| opened.input.damages()));
        if plan.skip_unchanged
            && let Some(kept) = unchanged::find(plan, job, opened, sources, damage.as_deref())
        {
            let statistics = if plan.options.statistics {
                let options = Options { team: Some(self.team.clone()), ..plan.options.clone() };
                let statistics = pipeline::statistics(sources, &options, false, &mut progress);
                check()?;
                Some(Box::new(statistics?.statistics))
            } else {
                None
            };
            return Ok(JobTrace::Unchanged(kept, statistics));
        }

        let mut options = Options {
            firmware_name: job.firmware_name.clone(),
            team: Some(self.team.clone()),
            keep: Some(stored::attributes),
            ..plan.options.clone()
        };
        options.attributes.extend(damage.map(|damage| (stored::INPUT_DAMAGE.to_owned(), damage)));
        options.attributes.extend(unchanged::marks(plan, job, opened));
        if let Some(dir) = &plan.output_dir {
            let of_job = if let Place::File(path) = &job.output { directory_of(path) } else { dir };
            create_dir(of_job)?;
        }
        let recordings = merging::recordings(job, sources, counts);
        let alignment = job.merge.as_ref().map(|merge| merge.alignment.clone()).unwrap_or_default();
        // In a batch the other threads have traces of their own.
        let compressing_threads = if plan.jobs.len() > 1 { 1 } else { plan.reading.threads };
        let conversion = Conversion { recordings: &recordings, alignment: &alignment, options: &options, compressing_threads };
        let written = plan.form.write(&job.output, &conversion, &check, &mut progress);
        // That it was stopped, or could not go on, is because of that.
        written.or_else(|error| check().and(Err(error))).map(JobTrace::Written)
    }

    /// The summary for people. A trace of no bytes was there already.
    fn summary_text(
        &self,
        job: &Job,
        inputs: &[InputReport],
        opened: &[Opened],
        trace: &TraceReport,
        elapsed: Duration,
    ) -> String {
        let verbose = self.plan.reading.verbosity == Verbosity::Verbose;
        let mut text = String::new();
        for (input, opened) in inputs.iter().zip(opened) {
            text += &summary(input, verbose);
            for damage in opened.input.damages().iter().filter(|_| verbose) {
                text += &format!("  damage of the input: {}\n", damage.detail);
            }
        }
        let output = job.output.as_output();
        let uncompressed = trace.uncompressed_bytes.map_or_else(String::new, |bytes| format!("; {bytes} uncompressed"));
        let size =
            if trace.output_bytes == 0 { "unchanged".to_owned() } else { format!("{} bytes{uncompressed}", trace.output_bytes) };
        let seconds = elapsed.as_secs_f64();
        match (trace.files.first(), trace.files.last()) {
            (Some(first), Some(last)) if trace.files.len() > 1 => {
                let count = trace.files.len();
                text += &format!("  -> {} to {} ({count} files; {size}, {seconds:.2} s)\n", visible(first), visible(last));
            }
            (Some(only), _) => text += &format!("  -> {} ({size}, {seconds:.2} s)\n", visible(only)),
            _ => text += &format!("  -> {output} ({size}, {seconds:.2} s)\n"),
        }
        text + &trace.statistics.as_ref().filter(|_| verbose).map(where_time_went).unwrap_or_default()
    }
}

/// Where the time went, in a few lines.
fn where_time_went(statistics: &StatisticsReport) -> String {
    let tables = text::overview(statistics, TABLE_ROWS);
    tables.lines().map(|line| if line.is_empty() { "\n".into() } else { format!("  {line}\n") }).collect()
}

/// Ends a job whose output was not written. Inputs that have no error of their own get a reason.
fn failed(mut inputs: Vec<InputReport>, reason: &str) -> Outcome {
    let messages = blame_together(&mut inputs, reason);
    Outcome { status: Status::Failed, inputs, trace: TraceReport::default(), merged: Vec::new(), messages }
}

/// The name of the source of each opened input.
fn names<'a>(job: &'a Job, counts: &'a [usize]) -> impl Iterator<Item = &'a SourceName> {
    job.sources.iter().zip(counts).flat_map(|(source, &count)| std::iter::repeat_n(source, count))
}

/// Checks the losses of one trace against the limits that were asked for: a message if they are exceeded.
fn too_much_lost(plan: &ConvertPlan, job: &Job, inputs: &[InputReport]) -> Option<String> {
    let lost = inputs.iter().fold(0u64, |sum, input| sum.saturating_add(input.at_least_lost()));
    let events = inputs.iter().fold(0u64, |sum, input| sum.saturating_add(input.events));
    let limit = if plan.strict && inputs.iter().any(|input| !input.losses.is_empty()) {
        "--strict"
    } else if plan.max_lost.is_some_and(|limit| limit.is_exceeded(lost, events)) {
        "--max-lost"
    } else {
        return None;
    };
    let (names, count) = named(job, inputs, |input| has_lost(plan, input));
    let (was, of) = (if count > 1 { "were" } else { "was" }, if inputs.len() > 1 { " of the trace" } else { "" });
    let events = events.saturating_add(lost);
    Some(format!(
        "error: {names} {was} converted, but with losses (at least {lost} of {events} events{of}) beyond the limit set by {limit}\n"
    ))
}

/// Whether it is because of this input that too much is lost.
fn has_lost(plan: &ConvertPlan, input: &InputReport) -> bool {
    input.at_least_lost() > 0 || plan.strict && !input.losses.is_empty()
}

/// Whether it is because of this input that a trace is not certain enough.
fn is_uncertain(plan: &ConvertPlan, input: &InputReport) -> bool {
    let has_such_time = || input.time_certainty().is_some_and(|time| time >= Certainty::Assumed);
    plan.strict && input.is_ambiguous() || plan.strict_time && has_such_time()
}

/// The inputs of a trace that a complaint is about, in a sentence, and how many they are.
fn named(job: &Job, inputs: &[InputReport], is_meant: impl Fn(&InputReport) -> bool) -> (String, usize) {
    if inputs.len() < 2 {
        return (job.for_people(), inputs.len());
    }
    let mut names: Vec<String> = inputs.iter().filter(|input| is_meant(input)).map(name_in_sentence).collect();
    // A memory image may hold several.
    names.dedup();
    (names.join(", "), names.len())
}

/// Checks how sure the times of one trace are against what was asked for: a message if it is not enough.
fn too_uncertain(plan: &ConvertPlan, job: &Job, inputs: &[InputReport]) -> Option<String> {
    let time = inputs.iter().filter_map(InputReport::time_certainty).max();
    let (names, count) = named(job, inputs, |input| is_uncertain(plan, input));
    let is_one = count < 2;
    let (of, certainty, option) = match time {
        _ if plan.strict && inputs.iter().any(InputReport::is_ambiguous) => {
            (if is_one { "what it holds" } else { "what they hold" }, Certainty::Ambiguous, "--strict")
        }
        Some(time) if plan.strict_time && time >= Certainty::Assumed => {
            (if is_one { "its time" } else { "their time" }, time, "--strict-time")
        }
        _ => return None,
    };
    let (was, certainty) = (if is_one { "was" } else { "were" }, certainty.text());
    Some(format!("error: {names} {was} converted, but {of} is {certainty}, which {option} does not allow\n"))
}
