//! `traceconv stats INPUT...`: the statistics of each recording, as tables, as JSON, or as folded stacks.

use std::io::{self, Write};

use anyhow::Context;

use super::output::Output;
use super::plan::{SourceName, StatsForm, StatsPlan, Verbosity};
use super::progress::ProgressMeter;
use super::source::Opened;
use super::{Status, say};
use crate::pipeline::{self, ConvertError, Gathered, Options, Source};
use crate::report::stats::{Recording, StatsFile};
use crate::report::{InputReport, summary};
use crate::stats::text;

/// Gathers and tells everything. One recording that fails does not stop the others.
pub(super) fn run(plan: &StatsPlan) -> Status {
    let mut status = Status::Done;
    let mut recordings = Vec::new();
    let mut told = String::new();
    for sources in &plan.recordings {
        let (recording, gathered) = gather(plan, sources);
        let Some(gathered) = gathered else {
            recording.inputs.iter().for_each(|input| say(&summary(input, false)));
            status = Status::Failed;
            recordings.push(recording);
            continue;
        };
        if plan.reading.verbosity > Verbosity::Quiet {
            let is_verbose = plan.reading.verbosity == Verbosity::Verbose;
            recording.inputs.iter().for_each(|input| say(&summary(input, is_verbose)));
        }
        let name = sources.first().filter(|_| plan.recordings.len() > 1).map(SourceName::for_people);
        match plan.form {
            StatsForm::Json => {}
            StatsForm::Tables(rows) => {
                if let Some(name) = name {
                    told += &format!("{}{name}\n\n", if told.is_empty() { "" } else { "\n" });
                }
                told += &text::tables(&gathered.statistics, rows);
            }
            StatsForm::Folded => {
                let frame = name.map_or_else(String::new, |name| name.replace(';', "_") + ";");
                gathered.folded.iter().flat_map(|folded| folded.lines()).for_each(|line| told += &format!("{frame}{line}\n"));
            }
        }
        recordings.push(Recording { statistics: Some(gathered.statistics), ..recording });
    }
    match write(plan, told, recordings) {
        Ok(()) => status,
        // The reader had enough (`| head`): nothing to complain about.
        Err(error) if error.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe) => status,
        Err(error) => {
            say(&format!("error: {error:#}\n"));
            Status::Failed
        }
    }
}

/// The statistics of one recording. Without them its inputs say why.
fn gather(plan: &StatsPlan, sources: &[SourceName]) -> (Recording, Option<Gathered>) {
    let read_options = plan.reading.read_options(&plan.output);
    let (mut inputs, opened): (Vec<InputReport>, Vec<Option<Opened>>) =
        sources.iter().flat_map(|source| Opened::open(source, &plan.reading, &read_options)).unzip();
    let opened: Vec<Opened> = opened.into_iter().flatten().collect();
    let result = if opened.len() == inputs.len() {
        pipeline_statistics(plan, &opened).map_err(|error| format!("cannot be read: {error}"))
    } else {
        Err("is one recording with an input that cannot be used".into())
    };
    let result = result.and_then(|gathered| {
        inputs.iter_mut().zip(&gathered.inputs).for_each(|(report, summary)| report.enter_summary(summary));
        let has_events = inputs.iter().any(|input| input.events > 0);
        let nothing = || "gives no event. Check the format (--format) and that the recording is complete".to_owned();
        has_events.then_some(gathered).ok_or_else(nothing)
    });
    match result {
        Ok(gathered) => (Recording { inputs, statistics: None }, Some(gathered)),
        Err(reason) => {
            for input in &mut inputs {
                let name = if input.path == "-" { "standard input" } else { &input.path };
                let error = format!("{name} {reason}");
                input.error.get_or_insert(error);
            }
            (Recording { inputs, statistics: None }, None)
        }
    }
}

fn pipeline_statistics(plan: &StatsPlan, opened: &[Opened]) -> Result<Gathered, ConvertError> {
    let releasers: Vec<_> = opened.iter().map(Opened::releaser).collect();
    let sources: Vec<Source<'_>> = opened.iter().zip(&releasers).map(|(opened, release)| opened.source(release)).collect();
    let options = Options { threads: plan.reading.threads, ..Options::default() };
    let mut meter = ProgressMeter::new(plan.reading.verbosity > Verbosity::Quiet);
    pipeline::statistics(&sources, &options, plan.form == StatsForm::Folded, &mut |progress| {
        meter.show(progress);
        true
    })
}

fn write(plan: &StatsPlan, told: String, recordings: Vec<Recording>) -> anyhow::Result<()> {
    let told = if plan.form == StatsForm::Json { StatsFile::new(recordings).to_json()? } else { told };
    let mut output = Output::create(&plan.output)?;
    let written = output.write_all(told.as_bytes()).and_then(|()| output.finish());
    written.with_context(|| format!("cannot write the statistics to {}", plan.output.as_typed()))
}
