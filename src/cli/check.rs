//! `traceconv check INPUT... --budget FILE`: the statistics of recordings against a budget.

use std::fs;
use std::path::PathBuf;

use clap::Args as ClapArgs;
use serde::Serialize;

use super::args::ReadArgs;
use super::measure::{PartArgs, json, measure, tell};
use super::plan::{Place, SourceName, UsageError, Verbosity, plan_recordings, reading};
use super::{Status, say};
use crate::metrics::budget::Budget;
use crate::metrics::check::{Verdict, check};
use crate::metrics::{list, text};
use crate::report::{InputReport, TOOL_VERSION};

#[derive(Debug, ClapArgs)]
pub(super) struct CheckArgs {
    /// The recordings, or statistics that `stats --json` saved; `-` is standard input
    ///
    /// Each is checked on its own. But FILE@0 FILE@1 … are the cores of one recording, as for a conversion.
    #[arg(value_name = "INPUT[@CORE]", required_unless_present = "metrics")]
    pub(super) inputs: Vec<PathBuf>,

    /// The limits: a TOML file with rules as `task.control.cpu_percent < 40`
    #[arg(short, long, value_name = "FILE", required_unless_present = "metrics")]
    pub(super) budget: Option<PathBuf>,

    /// List all metrics that rules can limit, and what they say
    #[arg(long, exclusive = true)]
    pub(super) metrics: bool,

    /// Where to write the verdicts [default: standard output]
    #[arg(short, long, value_name = "OUT")]
    pub(super) output: Option<PathBuf>,

    /// For scripts
    #[arg(long)]
    pub(super) json: bool,

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
    inputs: Vec<InputReport>,
    verdicts: Option<Vec<Verdict>>,
}

/// The version of the shape of the JSON.
const SCHEMA_VERSION: u32 = 1;

/// Checks all recordings.
pub(super) fn main(args: &CheckArgs) -> Result<Status, UsageError> {
    let output = args.output.as_deref().map_or(Place::Standard, Place::from_arg);
    if args.metrics {
        return Ok(tell(&output, "the list", Ok(list::explained()), Status::Done));
    }
    let Some(path) = &args.budget else { return Err(UsageError::new("name the budget with --budget")) };
    let text = fs::read_to_string(path)
        .map_err(|error| UsageError::new(format!("the budget {} cannot be read: {error}", path.display())))?;
    let budget = Budget::parse(&text).map_err(|error| UsageError::new(format!("{}: {error}", path.display())))?;
    let recordings = plan_recordings(&args.inputs, &output)?;
    let reading = reading(&args.read)?;
    let options = args.part.options(&reading)?;

    let mut status = Status::Done;
    let mut told = String::new();
    let mut checked = Vec::new();
    let mut broken = 0;
    for sources in &recordings {
        let (inputs, figures) = measure(sources, &reading, &options, &output);
        let Some(figures) = figures else {
            status = status.max(Status::Failed);
            checked.push(Checked { inputs, verdicts: None });
            continue;
        };
        let verdicts = check(&budget, &figures);
        let name = sources.first().map_or_else(String::new, SourceName::for_people);
        let broken_here = verdicts.iter().filter(|verdict| verdict.is_broken()).count();
        told += &format!("{}{name}: {}\n\n", if told.is_empty() { "" } else { "\n" }, text::verdict_summary(&verdicts));
        told += &text::verdicts(&verdicts);
        if broken_here > 0 {
            broken += broken_here;
            status = status.max(Status::BeyondLimits);
            if args.json || reading.verbosity == Verbosity::Quiet || output != Place::Standard {
                // Otherwise the table has just said so.
                let sentences: Vec<String> =
                    verdicts.iter().filter(|verdict| verdict.is_broken()).flat_map(text::broken).collect();
                sentences.iter().for_each(|sentence| say(&format!("error: {name}: {sentence}\n")));
            }
        }
        checked.push(Checked { inputs, verdicts: Some(verdicts) });
    }
    let told = if args.json {
        let budget = path.display().to_string();
        let (schema_version, tool_version) = (SCHEMA_VERSION, TOOL_VERSION);
        let file = CheckFile { schema_version, tool_version, budget, broken, recordings: &checked };
        json(&file).map_err(Into::into)
    } else {
        Ok(told)
    };
    Ok(tell(&output, "the verdicts", told, status))
}
