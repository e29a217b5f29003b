//! `traceconv INPUT...`: all jobs of a plan, one per thread at a time, and the messages and reports about them.
//!
//! Jobs may finish in any order; messages and reports come in the order of the inputs.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Instant;

use super::convert::{Converter, Outcome};
use super::output::write_report;
use super::plan::{ConvertPlan, Verbosity, directory_of, file, shown};
use super::progress::ProgressMeter;
use super::{Status, color, fail, say_as_is};
use crate::model::counted;
use crate::pipeline::Team;
use crate::report::{InputReport, InputStatus, Report, junit, markdown, table, totals};

/// Recordings of at least this size are started first, the largest before the others: otherwise one of them would keep a single
/// thread busy when all other work is done. Smaller ones keep their order, so that messages come early.
const LARGE_BYTES: u64 = 32 << 20;

/// Converts everything, prints messages on standard error, and writes the reports.
pub(super) fn run(plan: &ConvertPlan) -> Status {
    let started = Instant::now();
    let is_batch = plan.jobs.len() > 1;
    let verbosity = plan.reading.verbosity;
    let with_summaries = if is_batch { verbosity == Verbosity::Verbose } else { verbosity > Verbosity::Quiet };
    // First of all: the reports are wanted even if no input can be converted. A directory that cannot be created is an error of
    // whatever is written into it.
    let dirs_of_reports = plan.reports.wanted().filter_map(|(_, place)| Some(directory_of(file(place)?)));
    for dir in plan.output_dir.as_deref().into_iter().chain(dirs_of_reports) {
        let _ = std::fs::create_dir_all(dir);
    }
    let converter = Converter { plan, team: Team::new(plan.options.threads), with_summaries };

    let mut status = Status::Done;
    let mut recordings = Vec::new();
    convert_all(&converter, &mut |outcome| {
        status = status.max(outcome.status);
        recordings.extend(outcome.by_recording());
    });
    let report = Report::new(recordings, started.elapsed().as_secs_f64());
    if is_batch && verbosity > Verbosity::Quiet {
        print_table(plan, &report);
    }
    for error in write_reports(plan, &report) {
        status = status.max(fail(error));
    }
    status
}

/// Does all jobs. `done` gets their outcomes in order, after their messages were printed.
fn convert_all(converter: &Converter<'_>, done: &mut dyn FnMut(Outcome)) {
    let plan = converter.plan;
    let meter = match plan.jobs.as_slice() {
        [_] => ProgressMeter::new(&plan.reading),
        jobs => ProgressMeter::of_batch(&plan.reading, jobs.len(), jobs.iter().map(|job| job.bytes).fold(0, u64::saturating_add)),
    };
    let mut order: Vec<usize> = (0..plan.jobs.len()).collect();
    // Stable, so all that is not large stays in its order.
    order.sort_by_key(|&index| plan.jobs.get(index).map(|job| std::cmp::Reverse(job.bytes).min(std::cmp::Reverse(LARGE_BYTES))));

    let work = |index: usize| {
        let job = plan.jobs.get(index)?;
        if plan.jobs.len() == 1 {
            return Some(converter.convert(job, &mut meter.observer()));
        }
        let mut seen_bytes = 0;
        let outcome = converter.convert(job, &mut |progress| {
            let share = progress.done_bytes as f64 / progress.total_bytes.max(1) as f64;
            let bytes = ((job.bytes as f64 * share) as u64).clamp(seen_bytes, job.bytes);
            meter.advance(bytes - seen_bytes);
            seen_bytes = bytes;
            true
        });
        meter.advance(job.bytes - seen_bytes);
        meter.end_file();
        Some(outcome)
    };
    let mut waiting: BTreeMap<usize, Option<Outcome>> = BTreeMap::new();
    let mut next = 0;
    converter.team.each(&order, work, |index, outcome| {
        waiting.insert(index, outcome);
        while let Some(outcome) = waiting.remove(&next) {
            next += 1;
            if let Some(outcome) = outcome {
                meter.say_above(&outcome.messages);
                done(outcome);
            }
        }
    });
}

/// The table for people.
fn print_table(plan: &ConvertPlan, report: &Report) {
    let Report { inputs, output_bytes, wall_seconds, .. } = report;
    let traces = report.traces.iter().filter(|trace| trace.output_bytes > 0).count();
    let traces = counted(traces, "trace");
    let place = plan.output_dir.as_deref().map(shown);
    let written = match place {
        Some(place) => format!("{place} ({traces}, {output_bytes} bytes, {wall_seconds:.2} s)"),
        None => format!("{traces} beside the inputs ({output_bytes} bytes, {wall_seconds:.2} s)"),
    };
    let is_foreign = |input: &InputReport| input.unrecognised && input.status == Some(InputStatus::Failed);
    let hint = match inputs.iter().any(is_foreign) {
        true => "  hint: --skip-unrecognised skips what is in no known format, --glob chooses files by name\n",
        false => "",
    };
    say_as_is(&format!("{}{}\n  -> {written}\n{hint}", table(inputs, color::status), totals(inputs)));
}

/// Writes all reports that are wanted. Returns the errors.
fn write_reports(plan: &ConvertPlan, report: &Report) -> Vec<anyhow::Error> {
    let wanted = &plan.reports;
    let written = [
        wanted.json.as_ref().map(|place| {
            let has_lines =
                file(place).and_then(Path::extension).is_some_and(|extension| extension == "ndjson" || extension == "jsonl");
            write_report(place, "the report", &if has_lines { report.to_ndjson()? } else { report.to_json()? })
        }),
        wanted.markdown.as_ref().map(|place| write_report(place, "the Markdown report", &markdown(report))),
        wanted.junit.as_ref().map(|place| write_report(place, "the JUnit report", &junit(report)?)),
    ];
    written.into_iter().flatten().filter_map(Result::err).collect()
}
