//! `traceconv info INPUT...`: the contents of recordings, without converting them.

use std::path::PathBuf;

use clap::Args as ClapArgs;

use super::Status;
use super::args::{MoreInputs, ReadArgs};
use super::plan::{Place, PlanError, Reading, Recordings, SourceName, Verbosity, plan_many, reading};
use super::progress::ProgressMeter;
use super::recording_figures::{Summaries, report_problems, write_contents};
use super::source::{OpenedTogether, blame_together};
use crate::pipeline::{self, Options, Surveyed};
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
    pub(super) read: ReadArgs,
}

/// Surveys all recordings. One that fails does not stop the others.
pub(super) fn main(args: &InfoArgs) -> Result<Status, PlanError> {
    let output = Place::of_result(args.output.as_deref());
    let Recordings { recordings, problems } = plan_many(&args.inputs, &args.more, &[&output], &args.read, Vec::new())?;
    let reading = reading(&args.read)?;
    let (infos, failures): (Vec<RecordingInfo>, Vec<Option<String>>) =
        recordings.iter().map(|sources| survey(sources, &reading)).unzip();
    let mut summaries = Summaries::new(1, args.more.skip_unrecognised, reading.verbosity);
    let mut status = report_problems(&problems);
    for (info, failure) in infos.iter().zip(&failures).filter(|(_, failure)| failure.is_some()) {
        summaries.say(&info.inputs, failure.as_ref(), summary);
        status = if summaries.skips(&info.inputs) { status } else { Status::Failed };
    }
    let is_any_read = infos.iter().any(|info| info.contents.is_some());
    let text = if args.json {
        InfoFile::new(infos).to_json().map_err(Into::into)
    } else {
        let verbose = reading.verbosity == Verbosity::Verbose;
        Ok(infos.iter().filter(|info| info.contents.is_some()).map(|info| info.text(verbose)).collect())
    };
    Ok(write_contents(&output, "the contents", text, status, is_any_read))
}

/// The contents of one recording, or a message in their place; then its inputs have the reason, too.
fn survey(sources: &[SourceName], reading: &Reading) -> (RecordingInfo, Option<String>) {
    let together = OpenedTogether::open(sources, reading, &reading.read_options(&Place::Standard));
    let options = Options { threads: reading.threads, ..Options::default() };
    let meter = ProgressMeter::new(reading);
    let surveyed = together.work(|sources| pipeline::survey(sources, &options, &mut meter.observer()));
    let OpenedTogether { reports: mut inputs, opened, .. } = together;
    match surveyed {
        Ok(Surveyed { inputs: summaries, contents }) => {
            inputs.iter_mut().zip(&summaries).for_each(|(report, summary)| report.enter_summary(summary));
            inputs.iter_mut().zip(&opened).for_each(|(report, opened)| opened.warn_of_format(report));
            (RecordingInfo::new(inputs, Some(contents)), None)
        }
        Err(reason) => {
            let failure = blame_together(&mut inputs, &reason);
            (RecordingInfo::new(inputs, None), Some(failure))
        }
    }
}
