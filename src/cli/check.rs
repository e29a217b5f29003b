//! `traceconv check INPUT... --budget FILE`: the statistics of recordings against a budget.

use std::fs;
use std::path::PathBuf;
use std::time::Instant;

use clap::Args as ClapArgs;
use serde::Serialize;

use super::args::{MoreInputs, ReadArgs};
use super::plan::{Place, PlanError, Recordings, SourceName, Verbosity, path_text, plan_many, reading, shown};
use super::recording_figures::{PartArgs, Summaries, measure, report_problems, write_contents, write_junit, write_result};
use super::{Status, fail, say};
use crate::metrics::budget::Budget;
use crate::metrics::check::{Outcome, Verdict, check};
use crate::metrics::{Figure, list, text};
use crate::model::counted;
use crate::report::stats::doubts;
use crate::report::{Case, CaseOutcome, InputReport, Problem, Suite, TOOL_VERSION, indented_json, joined};
use crate::stats::text::markdown_escaped;

#[derive(Debug, ClapArgs)]
pub(super) struct CheckArgs {
    /// The recordings, or statistics that `stats --json` saved; `-` is standard input
    ///
    /// Each is checked on its own. But FILE@0 FILE@1 … are the cores of one recording, as for a conversion.
    #[arg(value_name = "INPUT[@CORE]", required_unless_present_any = ["metrics", "files_from"])]
    pub(super) inputs: Vec<PathBuf>,

    #[command(flatten)]
    pub(super) more: MoreInputs,

    /// The limits: a TOML file with rules as `task.control.cpu_percent < 40`
    #[arg(short, long, value_name = "FILE")]
    pub(super) budget: Option<PathBuf>,

    /// List all metrics that rules can limit, with their meaning
    #[arg(long, exclusive = true)]
    pub(super) metrics: bool,

    /// Where to write the verdicts [default: standard output]
    #[arg(short, long, value_name = "OUT")]
    pub(super) output: Option<PathBuf>,

    /// For scripts
    #[arg(long, conflicts_with = "md")]
    pub(super) json: bool,

    /// As Markdown, for the summary of a job
    #[arg(long)]
    pub(super) md: bool,

    /// Also write the rules as test cases in JUnit's XML, for CI systems; `-` is standard output
    ///
    /// A suite for each recording. A rule that is broken is a failure, a recording that cannot be read an error.
    #[arg(long, value_name = "FILE")]
    pub(super) junit: Option<PathBuf>,

    #[cfg(feature = "export")]
    #[command(flatten)]
    pub(super) runs: super::runs::RunsArgs,

    #[command(flatten)]
    pub(super) part: PartArgs,

    #[command(flatten)]
    pub(super) read: ReadArgs,
}

/// The verdicts for scripts.
#[derive(Serialize)]
struct CheckFile<'a> {
    schema_version: u32,
    tool_version: &'static str,
    budget: String,
    /// How many verdicts of all recordings count as broken.
    broken: usize,
    recordings: &'a [Checked],
}

/// A recording and its verdicts; `null` if it could not be read.
#[derive(Serialize)]
struct Checked {
    #[serde(skip)]
    name: String,
    #[serde(skip)]
    seconds: f64,
    inputs: Vec<InputReport>,
    verdicts: Option<Vec<Verdict>>,
    /// What the values do not cover.
    #[serde(skip)]
    note: Option<String>,
}

/// The version of the shape of the JSON.
pub(super) const SCHEMA_VERSION: u32 = 1;

/// Checks all recordings.
pub(super) fn main(args: &CheckArgs) -> Result<Status, PlanError> {
    let output = Place::of_result(args.output.as_deref());
    if args.metrics {
        return Ok(write_result(&output, "the list", Ok(list::explained()), Status::Done));
    }
    let junit_output = args.junit.as_deref().map(Place::from_arg);
    let outputs: Vec<&Place> = [Some(&output), junit_output.as_ref()].into_iter().flatten().collect();
    if junit_output.as_ref() == Some(&output) {
        return Err(PlanError::usage(match output {
            Place::Standard => "the verdicts and --junit - cannot share standard output; name a file for one of them",
            Place::File(_) => "-o and --junit cannot both be written to one file; name another one",
        }));
    }
    #[cfg(feature = "export")]
    let dataset = super::runs::dataset_of(&args.inputs, &args.runs)?;
    #[cfg(feature = "export")]
    if let (Some(dataset), None) = (dataset, &args.budget) {
        return super::runs::main(args, dataset, &Budget::default(), &output, junit_output.as_ref());
    }
    let Some(path) = &args.budget else { return Err(PlanError::usage("name the budget with --budget FILE")) };
    let refused = |error: &dyn std::fmt::Display| PlanError::File(format!("the budget {} cannot be read: {error}", shown(path)));
    let bytes = fs::read(path).map_err(|error| refused(&error))?;
    let text = String::from_utf8(bytes).map_err(|_| refused(&"it is not UTF-8; a TOML file with rules is expected"))?;
    let budget = Budget::parse(&text).map_err(|error| PlanError::File(format!("{}: {error}", shown(path))))?;
    #[cfg(feature = "export")]
    if let Some(dataset) = dataset {
        return super::runs::main(args, dataset, &budget, &output, junit_output.as_ref());
    }
    let Recordings { recordings, problems } = plan_many(&args.inputs, &args.more, &outputs, &args.read, vec![path.clone()])?;
    let reading = reading(&args.read)?;
    let options = args.part.options(&reading)?;

    let mut status = report_problems(&problems);
    let mut checked = Vec::new();
    let mut summaries = Summaries::new(recordings.len(), args.more.skip_unrecognised, reading.verbosity);
    for sources in &recordings {
        let started = Instant::now();
        let (inputs, figures) = measure(sources, &reading, &options, &output, &mut summaries);
        if figures.is_none() && summaries.skips(&inputs) {
            continue;
        }
        let name = sources.first().map_or_else(String::new, SourceName::for_people);
        let note = figures.as_ref().and_then(|figures| note(figures, &inputs));
        let verdicts = figures.map(|figures| check(&budget, &figures));
        let sentences: Vec<String> =
            verdicts.iter().flatten().filter(|verdict| verdict.is_broken()).flat_map(text::broken).collect();
        if verdicts.is_none() {
            status = status.max(Status::Failed);
        } else if !sentences.is_empty() {
            status = status.max(Status::BeyondLimits);
            if args.json || args.md || reading.verbosity == Verbosity::Quiet || output != Place::Standard {
                // Otherwise the table says so.
                sentences.iter().for_each(|sentence| say(&format!("error: {name}: {sentence}\n")));
            }
        }
        checked.push(Checked { name, seconds: started.elapsed().as_secs_f64(), inputs, verdicts, note });
    }
    summaries.say_table();
    if checked.is_empty() && status == Status::Done {
        status = fail("nothing was checked: no input is in a known format");
    }
    let text_out = if args.json {
        let (schema_version, tool_version) = (SCHEMA_VERSION, TOOL_VERSION);
        let broken = checked.iter().flat_map(|one| one.verdicts.iter().flatten()).filter(|verdict| verdict.is_broken()).count();
        indented_json(&CheckFile { schema_version, tool_version, budget: path_text(path), broken, recordings: &checked })
            .map_err(Into::into)
    } else {
        Ok(shown_to_people(&checked, args.md, reading.verbosity))
    };
    let is_any_read = checked.iter().any(|one| one.verdicts.is_some());
    let status = write_contents(&output, "the verdicts", text_out, status, is_any_read);
    let Some(junit) = &junit_output else { return Ok(status) };
    Ok(write_junit(junit, &checked.iter().map(Checked::suite).collect::<Vec<Suite>>(), status))
}

/// The verdicts on all recordings, as text or Markdown.
fn shown_to_people(checked: &[Checked], is_markdown: bool, verbosity: Verbosity) -> String {
    // Tables of all would hide the broken ones.
    let only_broken = checked.len() > 1 && verbosity != Verbosity::Verbose;
    let show = if is_markdown { Checked::markdown } else { Checked::table };
    let mut parts: Vec<(String, bool)> = Vec::new();
    let mut was_table = false;
    for (one, part) in checked.iter().filter_map(|one| Some((one, show(one, only_broken)?))) {
        let is_table = part.lines().nth(1).is_some();
        let blank = if (is_table || was_table) && !parts.is_empty() { "\n" } else { "" };
        parts.push((format!("{blank}{part}"), !one.is_kept()));
        was_table = is_table;
    }
    let mut text = if is_markdown { joined(&parts) } else { parts.into_iter().map(|(part, _)| part).collect() };
    if checked.len() > 1 {
        text += &total(checked);
    }
    text
}

impl Checked {
    /// Why it could not be read.
    fn error(&self) -> String {
        let errors = self.inputs.iter().filter_map(|input| input.error.clone());
        errors.collect::<Vec<_>>().join("; ")
    }

    /// Whether it could be read and keeps all rules.
    fn is_kept(&self) -> bool {
        self.verdicts.as_ref().is_some_and(|verdicts| !verdicts.iter().any(Verdict::is_broken))
    }

    /// For people, without the recordings that could not be read, which were reported before.
    fn table(&self, only_broken: bool) -> Option<String> {
        let verdicts = self.verdicts.as_ref()?;
        let line = format!("{}: {}\n", self.name, text::verdict_summary(verdicts));
        let note = self.note.iter().map(|note| format!("note: {note}\n")).collect::<String>();
        Some(if only_broken && self.is_kept() { line } else { format!("{line}\n{}{note}", text::verdicts(verdicts)) })
    }

    fn markdown(&self, only_broken: bool) -> Option<String> {
        Some(match &self.verdicts {
            Some(verdicts) if only_broken && self.is_kept() => {
                format!("- {}: {}\n", markdown_escaped(&self.name), text::verdict_summary(verdicts))
            }
            Some(verdicts) => {
                let note = self.note.iter().map(|note| format!("\nnote: {}\n", markdown_escaped(note)));
                text::verdicts_markdown(&self.name, verdicts) + &note.collect::<String>()
            }
            None => text::unread_markdown(&self.name, &self.error()),
        })
    }

    /// A test case for each rule, and one for each recording that could not be read.
    fn suite(&self) -> Suite {
        // A file in the directory that is named `.` is called as without it.
        let class = format!("traceconv.{}", self.name.strip_prefix("./").unwrap_or(&self.name));
        let case = |name, outcome| Case { name, class: class.clone(), seconds: 0.0, outcome, output: self.note.clone() };
        let cases = match &self.verdicts {
            Some(verdicts) => verdicts.iter().map(|verdict| case(text::title(verdict), outcome(verdict))).collect(),
            None => {
                let error = self.error();
                let problem = Problem { kind: "not read", message: error.clone(), text: error };
                vec![case("the recording can be read".into(), CaseOutcome::Error(problem))]
            }
        };
        Suite { name: self.name.clone(), seconds: self.seconds, cases }
    }
}

/// What is missing in a recording, and what its times rest on: the values that rules limit say nothing about it.
fn note(figures: &[Figure], inputs: &[InputReport]) -> Option<String> {
    let of_recording = |name: &str| {
        let figure = figures.iter().find(|figure| figure.metric.section.is_empty() && figure.metric.name == name);
        figure.map_or(0.0, |figure| figure.value.as_f64())
    };
    let losses = match (of_recording("losses"), of_recording("lost_events")) {
        (0.0, _) => "nothing lost".into(),
        (losses, lost) => format!("losses: {losses}, at least {}: nothing is measured across them", counted(lost, "event")),
    };
    let note = losses + &doubts(inputs);
    (note != "nothing lost").then_some(note)
}

/// The line below the verdicts on several recordings.
fn total(checked: &[Checked]) -> String {
    let kept = checked.iter().filter(|one| one.is_kept()).count();
    let unread = checked.iter().filter(|one| one.verdicts.is_none()).count();
    let broken = checked.len() - kept - unread;
    let unread = if unread > 0 { format!(", {unread} could not be read") } else { String::new() };
    format!("\n{} recordings: {kept} within the budget, {broken} not{unread}\n", checked.len())
}

/// The verdict as that of a test case.
pub(super) fn outcome(verdict: &Verdict) -> CaseOutcome {
    let kind = match verdict.outcome {
        Outcome::Kept => return CaseOutcome::Passed,
        Outcome::Skipped => return CaseOutcome::Skipped(verdict.missing.clone().unwrap_or_default()),
        Outcome::Broken => "limit",
        Outcome::Missing => "missing",
    };
    let mut sentences = text::broken(verdict);
    let message = sentences.first().cloned().unwrap_or_default();
    sentences.extend(verdict.reason.as_ref().map(|reason| format!("reason: {reason}")));
    CaseOutcome::Failed(Problem { kind, message, text: sentences.join("\n") })
}
