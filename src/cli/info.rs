//! `traceconv info INPUT...`: the contents of recordings, without converting them.

use std::path::PathBuf;

use clap::Args as ClapArgs;

use super::Status;
use super::args::{MoreInputs, ReadArgs};
use super::plan::{Place, PlanError, Reading, Recordings, SourceName, Verbosity, plan_many, reading};
use super::progress::ProgressMeter;
use super::recording_figures::{Summaries, report_problems, write_contents};
use super::source::{Opened, OpenedTogether, blame};
use crate::input::InputError;
use crate::pipeline::{self, Options, Source, Surveyed};
use crate::report::info::{InfoFile, RecordingInfo};
use crate::report::summary;

#[derive(Debug, ClapArgs)]
pub(super) struct InfoArgs {
    /// The recordings; `-` is standard input
    ///
    /// FILE@0 FILE@1 … are the cores of one recording, as for a conversion.
    #[arg(value_name = "INPUT[@CORE]", required_unless_present = "files_from")]
    inputs: Vec<PathBuf>,

    #[command(flatten)]
    more: MoreInputs,

    /// Where to write the contents [default: standard output]
    #[arg(short, long, value_name = "OUT")]
    output: Option<PathBuf>,

    /// For scripts: with everything by name
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    read: ReadArgs,
}

#[cfg(feature = "record")]
impl InfoArgs {
    /// How inputs are read.
    pub(super) fn read(&self) -> &ReadArgs {
        &self.read
    }
}

/// All that `traceconv info INPUT...` is to do.
#[derive(Debug)]
pub(super) struct InfoPlan {
    /// The inputs of each recording.
    recordings: Vec<Vec<SourceName>>,
    /// The named inputs that cannot be recordings, with the reason.
    problems: Vec<String>,
    skip_unrecognised: bool,
    output: Place,
    json: bool,
    reading: Reading,
}

/// Plans the survey.
pub(super) fn plan(args: &InfoArgs) -> Result<InfoPlan, PlanError> {
    let output = args.output.as_deref().map_or(Place::Standard, Place::from_arg);
    let Recordings { recordings, problems } = plan_many(&args.inputs, &args.more, &[&output], &args.read, Vec::new())?;
    let (skip_unrecognised, reading) = (args.more.skip_unrecognised, reading(&args.read)?);
    Ok(InfoPlan { recordings, problems, skip_unrecognised, output, json: args.json, reading })
}

/// Surveys all recordings. One that fails does not stop the others.
pub(super) fn run(plan: &InfoPlan) -> Status {
    let infos: Vec<RecordingInfo> = plan.recordings.iter().map(|sources| survey(plan, sources)).collect();
    let mut summaries = Summaries::new(1, plan.skip_unrecognised, plan.reading.verbosity);
    let mut status = report_problems(&plan.problems);
    for info in infos.iter().filter(|info| info.contents.is_none()) {
        summaries.say(&info.inputs, summary);
        status = if summaries.skips(&info.inputs) { status } else { Status::Failed };
    }
    let is_any_read = infos.iter().any(|info| info.contents.is_some());
    write_contents(&plan.output, "the contents", rendered(plan, infos), status, is_any_read)
}

/// The contents of one recording. Without contents, its inputs have the reason.
fn survey(plan: &InfoPlan, sources: &[SourceName]) -> RecordingInfo {
    let OpenedTogether { reports: mut inputs, opened, .. } =
        OpenedTogether::open(sources, &plan.reading, &plan.reading.read_options(&Place::Standard));
    let surveyed = if opened.len() < inputs.len() {
        Err("is one recording with an input that cannot be used".into())
    } else {
        let surveyed = pipeline_survey(plan, &opened).map_err(|error| format!("cannot be read: {error}"));
        let was_cut_short = opened.iter().any(|opened| opened.input.was_cut_short());
        if was_cut_short { Err(InputError::CutShort.to_string()) } else { surveyed }
    };
    match surveyed {
        Ok(Surveyed { inputs: summaries, contents }) => {
            inputs.iter_mut().zip(&summaries).for_each(|(report, summary)| report.enter_summary(summary));
            inputs.iter_mut().zip(&opened).for_each(|(report, opened)| opened.warn_of_format(report));
            RecordingInfo::new(inputs, Some(contents))
        }
        Err(reason) => {
            inputs.iter_mut().for_each(|input| blame(input, &reason));
            RecordingInfo::new(inputs, None)
        }
    }
}

fn pipeline_survey(plan: &InfoPlan, opened: &[Opened]) -> Result<Surveyed, pipeline::ConvertError> {
    let releasers: Vec<_> = opened.iter().map(Opened::releaser).collect();
    let sources: Vec<Source<'_>> = opened.iter().zip(&releasers).map(|(opened, release)| opened.source(release)).collect();
    let options = Options { threads: plan.reading.threads, ..Options::default() };
    let meter = ProgressMeter::new(&plan.reading);
    pipeline::survey(&sources, &options, &mut |progress| {
        meter.show(progress);
        true
    })
}

fn rendered(plan: &InfoPlan, infos: Vec<RecordingInfo>) -> anyhow::Result<String> {
    if plan.json {
        return Ok(InfoFile::new(infos).to_json()?);
    }
    let verbose = plan.reading.verbosity == Verbosity::Verbose;
    let readable = infos.iter().filter(|info| info.contents.is_some());
    Ok(readable.map(|info| info.text(verbose)).collect())
}
