//! `traceconv INPUT...`: does what the plan says, one trace after the other.

use std::io::Write;
use std::time::{Duration, Instant};

use anyhow::Context;

use super::output::{Output, cannot_write};
use super::plan::{ConvertPlan, Job, Place, Verbosity};
use super::progress::ProgressMeter;
use super::source::Opened;
use super::{Status, say};
use crate::pipeline::{self, ConvertError, Converted, Options, Source};
use crate::report::{InputReport, Report, summary};

/// How many damages of the input are told in the trace itself. The report has all.
const DAMAGES_TOLD: usize = 16;

/// Converts everything, tells people on standard error, and writes the report.
pub(super) fn run(plan: &ConvertPlan) -> Status {
    let started = Instant::now();
    let mut status = Status::Done;
    let mut inputs = Vec::new();
    let mut output_bytes = 0u64;
    for job in &plan.jobs {
        let outcome = convert(plan, job);
        if outcome.status == Status::Stopped {
            return Status::Stopped;
        }
        status = status.max(outcome.status);
        output_bytes = output_bytes.saturating_add(outcome.output_bytes);
        inputs.extend(outcome.inputs);
    }
    if let Some(place) = &plan.report {
        let report = Report::new(inputs, output_bytes, started.elapsed().as_secs_f64());
        if let Err(error) = write_report(place, &report) {
            say(&format!("error: {error:#}\n"));
            status = status.max(Status::Failed);
        }
    }
    status
}

/// What became of one job.
struct Outcome {
    status: Status,
    inputs: Vec<InputReport>,
    output_bytes: u64,
}

fn convert(plan: &ConvertPlan, job: &Job) -> Outcome {
    let started = Instant::now();
    let read_options = plan.reading.read_options(&job.output);
    let (mut inputs, opened): (Vec<InputReport>, Vec<Option<Opened>>) =
        job.sources.iter().flat_map(|source| Opened::open(source, &plan.reading, &read_options)).unzip();
    let opened: Vec<Opened> = opened.into_iter().flatten().collect();
    if opened.len() < inputs.len() {
        return failed(inputs, "is one recording with an input that cannot be used");
    }

    let (status, output_bytes) = match write_trace(plan, job, &opened) {
        Ok(converted) => {
            inputs.iter_mut().zip(&converted.inputs).for_each(|(report, summary)| report.enter_summary(summary));
            if inputs.iter().all(|input| input.events == 0) {
                return nothing_decoded(inputs, &opened);
            }
            for input in &mut inputs {
                input.output = Some(job.output.as_typed());
                input.warnings.clone_from(&converted.warnings);
            }
            // Told even to those who want no summary: there is a trace, but with nothing in it.
            if plan.reading.verbosity == Verbosity::Quiet {
                converted.warnings.iter().for_each(|warning| say(&format!("warning: {warning}\n")));
            }
            (Status::Done, converted.output_bytes)
        }
        Err(error) => match error.downcast_ref::<ConvertError>() {
            Some(ConvertError::Stopped) => return Outcome { status: Status::Stopped, inputs, output_bytes: 0 },
            _ => return failed(inputs, &format!("was not converted: {error:#}")),
        },
    };
    if plan.reading.verbosity > Verbosity::Quiet {
        tell(plan, job, &inputs, &opened, output_bytes, started.elapsed());
    }
    let status = status.max(check_losses(plan, job, &inputs));
    Outcome { status, inputs, output_bytes }
}

/// Ends a job whose output was not written. Inputs that have no error of their own get `reason`.
fn failed(mut inputs: Vec<InputReport>, reason: &str) -> Outcome {
    for input in &mut inputs {
        let name = for_people(input);
        input.error.get_or_insert_with(|| format!("{name} {reason}"));
        say(&summary(input, false));
    }
    Outcome { status: Status::Failed, inputs, output_bytes: 0 }
}

fn nothing_decoded(mut inputs: Vec<InputReport>, opened: &[Opened]) -> Outcome {
    for (input, opened) in inputs.iter_mut().zip(opened) {
        let name = for_people(input);
        let InputReport { input_bytes, frames_ok, frames_bad, losses, .. } = input;
        let first = losses.iter().find_map(|loss| Some(format!("; first at byte {}: {}", loss.first_offset?, loss.text)));
        let first = first.unwrap_or_default();
        input.error = Some(format!(
            "{name} gives no event, so no trace was written: of its {input_bytes} bytes, {frames_ok} frames are good {} records without \
             a time, and {frames_bad} are bad{first}. Check the format (--format) and that the recording is complete",
            opened.format_title(),
        ));
    }
    failed(inputs, "gives no event")
}

/// An input in a sentence.
fn for_people(input: &InputReport) -> String {
    if input.path == "-" { "standard input".into() } else { input.path.clone() }
}

/// Converts into the output's file. It only appears if there is at least one event.
fn write_trace(plan: &ConvertPlan, job: &Job, opened: &[Opened]) -> anyhow::Result<Converted> {
    let mut options = Options { firmware_name: job.firmware_name.clone(), ..plan.options.clone() };
    let damages: Vec<&str> =
        opened.iter().flat_map(|opened| opened.input.damages()).map(|damage| damage.detail.as_str()).take(DAMAGES_TOLD).collect();
    if !damages.is_empty() {
        options.attributes.push(("input_damage".into(), damages.join("; ")));
    }

    let releasers: Vec<_> = opened.iter().map(Opened::releaser).collect();
    let sources: Vec<Source<'_>> = opened.iter().zip(&releasers).map(|(opened, release)| opened.source(release)).collect();
    let mut output = Output::create(&job.output)?;
    let mut meter = ProgressMeter::new(plan.reading.verbosity > Verbosity::Quiet);
    let result = pipeline::convert(&sources, &options, &mut output, &mut |progress| {
        meter.show(progress);
        true
    });
    drop(meter);
    let converted = match result {
        Ok(converted) => converted,
        Err(ConvertError::Write(error)) => return Err(error).with_context(|| cannot_write_trace(job)),
        Err(error) => return Err(error.into()),
    };
    if converted.inputs.iter().any(|input| input.events > 0) {
        output.finish().with_context(|| cannot_write_trace(job))?;
    }
    Ok(converted)
}

fn cannot_write_trace(job: &Job) -> String {
    match &job.output {
        Place::Standard => "cannot write the trace to standard output".into(),
        Place::File(path) => format!("{} (nothing of it is kept; -o names another place)", cannot_write(path)),
    }
}

/// The summary for people.
fn tell(plan: &ConvertPlan, job: &Job, inputs: &[InputReport], opened: &[Opened], output_bytes: u64, elapsed: Duration) {
    let verbose = plan.reading.verbosity == Verbosity::Verbose;
    let mut text = String::new();
    for (input, opened) in inputs.iter().zip(opened) {
        text += &summary(input, verbose);
        for damage in opened.input.damages().iter().filter(|_| verbose) {
            text += &format!("  damage of the input: {}\n", damage.detail);
        }
    }
    let output = match &job.output {
        Place::Standard => "standard output".into(),
        Place::File(path) => path.display().to_string(),
    };
    text += &format!("  -> {output} ({output_bytes} bytes, {:.2} s)\n", elapsed.as_secs_f64());
    say(&text);
}

/// Holds the losses of one trace against the limits that were asked for.
fn check_losses(plan: &ConvertPlan, job: &Job, inputs: &[InputReport]) -> Status {
    let lost = inputs.iter().fold(0u64, |sum, input| sum.saturating_add(input.at_least_lost()));
    let events = inputs.iter().fold(0u64, |sum, input| sum.saturating_add(input.events));
    let limit = if plan.strict && inputs.iter().any(|input| !input.losses.is_empty()) {
        "--strict"
    } else if plan.max_lost.is_some_and(|limit| limit.is_exceeded(lost, events)) {
        "--max-lost"
    } else {
        return Status::Done;
    };
    say(&format!(
        "error: {} was converted, but with losses (at least {lost} of {} events) beyond the limit set by {limit}\n",
        job.sources.first().map_or_else(String::new, |source| source.for_people()),
        events.saturating_add(lost)
    ));
    Status::TooMuchLost
}

fn write_report(place: &Place, report: &Report) -> anyhow::Result<()> {
    let json = report.to_json()?;
    let mut output = Output::create(place)?;
    let written = output.write_all(json.as_bytes()).and_then(|()| output.finish());
    written.with_context(|| format!("cannot write the report to {}", place.as_typed()))
}
