//! `traceconv info INPUT...`: what is in captures, without converting them.

use std::path::PathBuf;

use clap::Args as ClapArgs;

use super::args::{MoreInputs, ReadArgs};
use super::measure::{tell, tell_problems};
use super::plan::{Place, PlanError, Reading, Recordings, SourceName, Verbosity, plan_many, reading};
use super::progress::ProgressMeter;
use super::source::{Opened, OpenedTogether, blame};
use super::{Status, say};
use crate::input::InputError;
use crate::pipeline::{self, Options, Source, Surveyed};
use crate::report::info::{InfoFile, RecordingInfo};
use crate::report::{InputReport, summary};

#[derive(Debug, ClapArgs)]
pub(super) struct InfoArgs {
    /// The recordings; `-` is standard input
    ///
    /// FILE@0 FILE@1 … are the cores of one recording, as for a conversion.
    #[arg(value_name = "INPUT[@CORE]", required_unless_present = "files_from")]
    inputs: Vec<PathBuf>,

    #[command(flatten)]
    more: MoreInputs,

    /// For scripts: with everything by name
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    read: ReadArgs,
}

/// All that `traceconv info INPUT...` is to do.
#[derive(Debug)]
pub(super) struct InfoPlan {
    /// The inputs of each recording.
    recordings: Vec<Vec<SourceName>>,
    /// What was named and cannot be one, and why.
    problems: Vec<String>,
    json: bool,
    reading: Reading,
}

/// Plans what to look at.
pub(super) fn plan(args: &InfoArgs) -> Result<InfoPlan, PlanError> {
    let Recordings { recordings, problems } = plan_many(&args.inputs, &args.more, &[], Vec::new())?;
    Ok(InfoPlan { recordings, problems, json: args.json, reading: reading(&args.read)? })
}

/// Looks at everything. One recording that fails does not stop the others.
pub(super) fn run(plan: &InfoPlan) -> Status {
    let infos: Vec<RecordingInfo> = plan.recordings.iter().map(|sources| survey(plan, sources)).collect();
    let failed: Vec<&InputReport> = infos.iter().flat_map(|info| &info.inputs).filter(|input| input.error.is_some()).collect();
    failed.iter().for_each(|input| say(&summary(input, false)));
    let status = if failed.is_empty() { Status::Done } else { Status::Failed }.max(tell_problems(&plan.problems));
    tell(&Place::Standard, "the contents", told(plan, infos), status)
}

/// What is in one recording. Without contents its inputs say why.
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

fn told(plan: &InfoPlan, infos: Vec<RecordingInfo>) -> anyhow::Result<String> {
    if plan.json {
        return Ok(InfoFile::new(infos).to_json()?);
    }
    let verbose = plan.reading.verbosity == Verbosity::Verbose;
    let readable = infos.iter().filter(|info| info.contents.is_some());
    Ok(readable.map(|info| info.text(verbose)).collect())
}
