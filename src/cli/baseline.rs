//! `traceconv baseline RUN...`: the figures of several runs, with how much they differ, to compare others with.

use std::path::PathBuf;

use clap::Args as ClapArgs;

use super::args::{MoreInputs, ReadArgs};
use super::plan::{Place, PlanError, Recordings, SourceName, Verbosity, plan_many, reading};
use super::recording_figures::{PartArgs, Summaries, measure, report_problems, write_result};
use super::{Status, say};
use crate::metrics::Figure;
use crate::metrics::baseline::BaselineFile;
use crate::report::stats::doubtful_findings;
use crate::report::{InputReport, TOOL_VERSION, indented_json};

#[derive(Debug, ClapArgs)]
pub(super) struct BaselineArgs {
    /// The recordings, or statistics that `stats --json` saved: runs of the same firmware that do the same
    #[arg(value_name = "INPUT[@CORE]", required_unless_present = "files_from")]
    pub(super) inputs: Vec<PathBuf>,

    #[command(flatten)]
    pub(super) more: MoreInputs,

    /// Where to write the baseline [default: standard output]
    #[arg(short, long, value_name = "OUT")]
    pub(super) output: Option<PathBuf>,

    #[command(flatten)]
    pub(super) part: PartArgs,

    #[command(flatten)]
    pub(super) read: ReadArgs,
}

/// Writes the baseline, but not if a recording cannot be read: without that run it would be another one.
pub(super) fn main(args: &BaselineArgs) -> Result<Status, PlanError> {
    let output = Place::of_result(args.output.as_deref());
    let reading = reading(&args.read)?;
    let options = args.part.options(&reading)?;
    let Recordings { recordings, problems } = plan_many(&args.inputs, &args.more, &[&output], &args.read, Vec::new())?;
    let mut status = report_problems(&problems);
    let mut runs: Vec<(String, Vec<Figure>)> = Vec::new();
    let mut all_inputs: Vec<InputReport> = Vec::new();
    let mut summaries = Summaries::new(recordings.len(), args.more.skip_unrecognised, reading.verbosity);
    for sources in &recordings {
        let (inputs, figures) = measure(sources, &reading, &options, &output, &mut summaries);
        let name = sources.first().map_or_else(String::new, SourceName::as_typed);
        match figures {
            Some(figures) if figures.iter().any(|figure| figure.runs.is_some_and(|runs| runs.count > 1)) => {
                return Err(PlanError::File(format!(
                    "{name} is a baseline of several runs, and would count as one without their spread: name the runs themselves"
                )));
            }
            Some(figures) => runs.push((name, figures)),
            None if summaries.skips(&inputs) => {}
            None => status = Status::Failed,
        }
        all_inputs.extend(inputs);
    }
    summaries.say_table();
    if status != Status::Done || runs.is_empty() {
        return Ok(status.max(Status::Failed));
    }
    let mut file = BaselineFile::new(TOOL_VERSION, &runs);
    file.findings = doubtful_findings(all_inputs.iter());
    let of_all = file.figures.iter().filter(|figure| !figure.section.is_empty() && figure.count == file.runs);
    if runs.len() > 1 && of_all.count() == 0 && reading.verbosity > Verbosity::Quiet {
        say("warning: no task, interrupt or other thing is in all runs: they are not of the same firmware\n");
    }
    Ok(write_result(&output, "the baseline", indented_json(&file).map_err(Into::into), status))
}
