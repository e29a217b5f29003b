//! Statistics of recordings for the commands that print, check or compare them: gathered from recordings, or read from those that
//! `stats --json` saved.

use std::fs;
use std::io::{self, BufRead};

use clap::Args;

use super::output::{write_report, write_text};
use super::plan::{Place, PlanError, Reading, SourceName, Verbosity, check_times};
use super::progress::ProgressMeter;
use super::source::{NO_EVENT, OpenedTogether, blame_together, name_in_sentence};
use super::values::parse_time;
use super::{Status, color, fail, say, say_as_is};
use crate::input::{Input, ReadOptions, beginning};
use crate::metrics::saved::{self, Saved};
use crate::metrics::{Figure, Losses, figures};
use crate::model::counted;
use crate::pipeline::{self, ConvertError, Gathered, Options, Source, TimeBound};
use crate::report::stats::Recording;
use crate::report::{InputReport, InputStatus, Suite, junit_document, summary, table};

/// A part of each recording.
#[derive(Clone, Copy, Debug, Args)]
pub(super) struct PartArgs {
    /// Leave out events before this time, e.g. `1.5ms`; with a plus sign after the first event
    #[arg(long, value_name = "TIME", value_parser = parse_time, allow_hyphen_values = true)]
    from: Option<TimeBound>,

    /// Leave out events after this time
    #[arg(long, value_name = "TIME", value_parser = parse_time, allow_hyphen_values = true)]
    to: Option<TimeBound>,
}

impl PartArgs {
    /// Whether it is the whole recording.
    #[cfg(feature = "export")]
    pub(super) fn is_whole(self) -> bool {
        self.from.is_none() && self.to.is_none()
    }

    /// The options of the pipeline.
    pub(super) fn options(self, reading: &Reading) -> Result<Options, PlanError> {
        check_times(self.from, self.to)?;
        Ok(Options { from: self.from, to: self.to, threads: reading.threads, ..Options::default() })
    }
}

/// The figures of a recording. Without them its inputs say why.
pub(super) fn measure(
    sources: &[SourceName],
    reading: &Reading,
    options: &Options,
    output: &Place,
    summaries: &mut Summaries,
) -> (Vec<InputReport>, Option<Vec<Figure>>) {
    if let [source @ SourceName { place, core: None, member: None }] = sources
        && reading.format().is_none()
        && let Some(result) = read_saved(place, &reading.read_options(output))
    {
        let name = source.for_people();
        let mut report = InputReport { path_bytes: place.raw_name(), ..InputReport::named(place.as_typed(), None) };
        let has_part = options.from.is_some() || options.to.is_some();
        let result = result.and_then(|read| match has_part {
            true => Err("holds statistics that were saved: --from and --to are for recordings".into()),
            false => Ok(read),
        });
        return match result {
            Ok(Saved { figures, events, findings, runs }) => {
                report.events = events;
                report.findings = findings.into_iter().filter_map(|finding| serde_json::from_value(finding).ok()).collect();
                let line = match runs {
                    Some(runs) => format!("{name}: a baseline of {}\n", counted(runs, "run")),
                    None => format!("{name}: statistics that were saved, of {}\n", counted(events, "event")),
                };
                summaries.say(std::slice::from_ref(&report), None, |_, _| line.clone());
                (vec![report], Some(figures))
            }
            Err(reason) => {
                report.error = Some(format!("{name} {reason}"));
                summaries.say(std::slice::from_ref(&report), Some(&summary(&report, false)), summary);
                (vec![report], None)
            }
        };
    }
    let (inputs, gathered) = gather(sources, reading, options, output, false);
    summaries.say(&inputs, gathered.as_ref().err(), summary);
    let Ok(gathered) = gathered else { return (inputs, None) };
    let recording = Recording::new(inputs, None);
    let figures = figures(&gathered.statistics, losses_of(&recording));
    (recording.inputs, Some(figures))
}

/// The figures of saved statistics, also compressed; `None` if the input is something else, or cannot be
/// opened: then opening it as a recording says so. Of standard input nothing is consumed in that case.
fn read_saved(place: &Place, options: &ReadOptions) -> Option<Result<Saved, String>> {
    let input = match place {
        Place::Standard => {
            let mut stdin = io::stdin().lock();
            saved::is_saved(&beginning(stdin.fill_buf().ok()?)).then(|| Input::read(&mut stdin, options))?
        }
        Place::File(path) => Input::open_if(path, options, saved::is_saved)?,
    };
    let input = input.map_err(|error| error.to_string());
    Some(input.and_then(|input| saved::read(input.bytes()).map_err(|error| error.to_string())))
}

/// The losses of a recording.
pub(super) fn losses_of(recording: &Recording) -> Losses {
    let totals = recording.losses;
    Losses { events: recording.events(), cases: totals.cases, lost_events: totals.at_least_lost, repairs: totals.repairs }
}

/// Reports inputs that cannot be recordings. The status so far.
pub(super) fn report_problems(problems: &[String]) -> Status {
    problems.iter().map(fail).max().unwrap_or(Status::Done)
}

/// What people read about the inputs, as recordings are read: a summary of each, or one table of many.
pub(super) struct Summaries {
    verbosity: Verbosity,
    skips_unrecognised: bool,
    /// The lines of the table, if there will be one.
    rows: Option<Vec<InputReport>>,
}

impl Summaries {
    /// Of so many recordings. A table is for many, unless all details are wanted.
    pub(super) fn new(recordings: usize, skips_unrecognised: bool, verbosity: Verbosity) -> Self {
        let has_table = recordings > 1 && verbosity == Verbosity::Normal;
        Summaries { verbosity, skips_unrecognised, rows: has_table.then(Vec::new) }
    }

    /// Whether a recording is to be skipped, because it is in no known format.
    pub(super) fn skips(&self, inputs: &[InputReport]) -> bool {
        self.skips_unrecognised && !inputs.is_empty() && inputs.iter().all(|input| input.unrecognised)
    }

    /// Takes the inputs of the next recording. Why it could not be read is said in any case.
    pub(super) fn say(
        &mut self,
        inputs: &[InputReport],
        failure: Option<&String>,
        summary: impl Fn(&InputReport, bool) -> String,
    ) {
        let is_skipped = self.skips(inputs);
        failure.filter(|_| !is_skipped).into_iter().for_each(|failure| say(failure));
        for input in inputs.iter().filter(|_| failure.is_none() || is_skipped) {
            if self.rows.is_none() && self.verbosity > Verbosity::Quiet {
                say(&match is_skipped {
                    true => format!("skipped: {} is in no known format\n", name_in_sentence(input)),
                    false => summary(input, self.verbosity == Verbosity::Verbose),
                });
            }
        }
        let status = is_skipped.then_some(InputStatus::Skipped);
        if let Some(rows) = &mut self.rows {
            rows.extend(inputs.iter().cloned().map(|input| InputReport { status, ..input }));
        }
    }

    /// Prints the table, if there is one.
    pub(super) fn say_table(&self) {
        let word =
            |status: InputStatus, text: &str| color::status(status, if status == InputStatus::Converted { "read" } else { text });
        if let Some(rows) = &self.rows {
            say_as_is(&table(rows, word));
        }
    }
}

/// The statistics of one recording, or the message in their place; then its inputs say why, too.
pub(super) fn gather(
    sources: &[SourceName],
    reading: &Reading,
    options: &Options,
    output: &Place,
    with_stacks: bool,
) -> (Vec<InputReport>, Result<Gathered, String>) {
    let meter = ProgressMeter::new(reading);
    gather_by(sources, reading, output, |sources| pipeline::statistics(sources, options, with_stacks, &mut meter.observer()))
}

/// The statistics of one recording as `work` gathers them, or the message in their place; then its inputs say why, too.
pub(super) fn gather_by(
    sources: &[SourceName],
    reading: &Reading,
    output: &Place,
    work: impl FnOnce(&[Source<'_>]) -> Result<Gathered, ConvertError>,
) -> (Vec<InputReport>, Result<Gathered, String>) {
    let together = OpenedTogether::open(sources, reading, &reading.read_options(output));
    let result = together.work(work);
    let OpenedTogether { reports: mut inputs, opened, .. } = together;
    let result = result.and_then(|gathered| {
        inputs.iter_mut().zip(&gathered.inputs).for_each(|(report, summary)| report.enter_summary(summary));
        inputs.iter_mut().for_each(|input| input.warnings.extend(gathered.warnings.iter().cloned()));
        inputs.iter_mut().zip(&opened).for_each(|(input, opened)| opened.warn_of_format(input));
        let has_events = inputs.iter().any(|input| input.events > 0 && input.frames_ok > 0);
        if !has_events {
            inputs.iter_mut().zip(&opened).for_each(|(input, opened)| opened.blame_no_events(input));
        }
        has_events.then_some(gathered).ok_or_else(|| NO_EVENT.to_owned())
    });
    let result = result.map_err(|reason| blame_together(&mut inputs, &reason));
    (inputs, result)
}

/// Writes what recordings hold. If none of them could be read, that is no result: then a file stays as it is.
pub(super) fn write_contents(
    output: &Place,
    noun: &str,
    text: anyhow::Result<String>,
    status: Status,
    is_any_read: bool,
) -> Status {
    let is_kept = match output {
        Place::Standard => false,
        // Who reads from a pipe waits for its end.
        Place::File(path) => !fs::metadata(path).is_ok_and(|metadata| !metadata.is_file() && !metadata.is_dir()),
    };
    if status == Status::Failed && !is_any_read && is_kept { status } else { write_result(output, noun, text, status) }
}

/// Writes a result; the status is that of the run, or a failure.
pub(super) fn write_result(output: &Place, noun: &str, text: anyhow::Result<String>, status: Status) -> Status {
    text.and_then(|text| write_text(output, noun, &text)).map_or_else(|error| status.max(fail(error)), |()| status)
}

/// Writes the verdicts as test cases; the status is that of the run, or a failure.
pub(super) fn write_junit(place: &Place, suites: &[Suite], status: Status) -> Status {
    let text = junit_document(suites).map_err(anyhow::Error::from);
    let written = text.and_then(|text| write_report(place, "the JUnit report", &text));
    written.map_or_else(|error| status.max(fail(error)), |()| status)
}
