//! `traceconv diff BASE NEW`: the statistics of two recordings side by side.

use std::path::PathBuf;

use clap::{Args as ClapArgs, ValueEnum};
use serde::Serialize;

use super::args::ReadArgs;
use super::plan::{Place, PlanError, Verbosity, path_text, plan_recordings, reading, shown};
use super::recording_figures::{PartArgs, Summaries, measure, write_result};
use super::source::name_in_sentence;
use super::values::{parse_percent, parse_rows, parse_time};
use super::{Status, say};
use crate::metrics::diff::{Change, Diff, DiffOptions, FailOnNew, diff};
use crate::metrics::rule::Selector;
use crate::metrics::{Figure, text};
use crate::pipeline::TimeBound;
use crate::report::stats::notes_on_comparison;
use crate::report::{InputReport, TOOL_VERSION, indented_json};
use crate::stats::text::markdown_escaped;

#[derive(Debug, ClapArgs)]
pub(super) struct DiffArgs {
    /// The base: a recording, or a file saved by `stats --json`, `baseline` or `--report`
    #[arg(value_name = "BASE")]
    pub(super) base: PathBuf,

    /// The new recording, or its saved statistics
    #[arg(value_name = "NEW")]
    pub(super) new: PathBuf,

    /// Exit with 3 if something got worse by more than this, e.g. `5%`, or if there is nothing to compare
    ///
    /// Single events (minima, maxima) and changes within the noise do not fail, unless --only names them and the base is not of several runs.
    #[arg(long, value_name = "PERCENT", value_parser = parse_percent, allow_hyphen_values = true)]
    pub(super) fail_over: Option<f64>,

    /// Which things fail if they are only in the new one [default: tasks with --fail-over, else none]
    #[arg(long, value_name = "WHICH")]
    pub(super) fail_on_new: Option<FailOnNewArg>,

    /// Ignore changes that are not greater than this, unless --fail-over is less
    ///
    /// Also ignored are changes of less than 16 bytes, of less than 1 in counts and rates, and those below --min-time and --min-points.
    #[arg(long, value_name = "PERCENT", value_parser = parse_percent, default_value = "2%", allow_hyphen_values = true)]
    pub(super) min_change: f64,

    /// Ignore changes of a time that are smaller than this
    #[arg(long, value_name = "TIME", value_parser = parse_least_time, default_value = "1us")]
    pub(super) min_time: u64,

    /// Ignore changes of a share that are smaller than this many percentage points
    #[arg(long, value_name = "POINTS", value_parser = parse_percent, default_value = "0.01", allow_hyphen_values = true)]
    pub(super) min_points: f64,

    /// Compare only metrics of this form, e.g. `task.*.cpu_percent` or `isr.*.max_us`; may be repeated
    #[arg(long, value_name = "METRIC")]
    pub(super) only: Vec<String>,

    /// How many changes are listed at most
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = parse_rows, allow_hyphen_values = true)]
    pub(super) rows: usize,

    /// Where to write the differences [default: standard output]
    #[arg(short, long, value_name = "OUT")]
    pub(super) output: Option<PathBuf>,

    /// For scripts: all changes
    #[arg(long, conflicts_with = "md")]
    pub(super) json: bool,

    /// As Markdown, for the summary of a job
    #[arg(long)]
    pub(super) md: bool,

    #[command(flatten)]
    pub(super) part: PartArgs,

    #[command(flatten)]
    pub(super) read: ReadArgs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum FailOnNewArg {
    /// Nothing
    None,
    /// Tasks
    Tasks,
    /// Everything that has a name
    All,
}

/// The differences for scripts.
#[derive(Serialize)]
struct DiffFile<'a> {
    schema_version: u32,
    tool_version: &'static str,
    base: &'a str,
    new: &'a str,
    /// The change for the worse that matters most, as a sentence; `null` if nothing got worse.
    worst: Option<String>,
    /// Assumptions on which the times of the recordings rest.
    notes: &'a [String],
    #[serde(flatten)]
    diff: &'a Diff,
}

/// The version of the shape of the JSON.
const SCHEMA_VERSION: u32 = 1;

/// Compares the two.
pub(super) fn main(args: &DiffArgs) -> Result<Status, PlanError> {
    let output = Place::of_result(args.output.as_deref());
    let reading = reading(&args.read)?;
    let part = args.part.options(&reading)?;
    let mut plans = Vec::new();
    for input in [&args.base, &args.new] {
        plans.extend(plan_recordings(std::slice::from_ref(input), &output, &args.read)?);
    }
    if plans.iter().flatten().filter(|source| source.place == Place::Standard).count() > 1 {
        return Err(PlanError::usage("standard input (-) can be read only once"));
    }
    // Two are not many.
    let mut summaries = Summaries::new(1, false, reading.verbosity);
    let (inputs, measured): (Vec<Vec<InputReport>>, Vec<Option<Vec<Figure>>>) =
        plans.iter().map(|sources| measure(sources, &reading, &part, &output, &mut summaries)).unzip();
    let [Some(base), Some(new)] = &measured[..] else { return Ok(Status::Failed) };
    let options = DiffOptions {
        min_change_percent: args.min_change,
        min_time_ns: args.min_time as f64,
        min_points: args.min_points,
        fail_on_new: match args.fail_on_new {
            None if args.fail_over.is_some() => FailOnNew::Tasks,
            None | Some(FailOnNewArg::None) => FailOnNew::None,
            Some(FailOnNewArg::Tasks) => FailOnNew::Tasks,
            Some(FailOnNewArg::All) => FailOnNew::All,
        },
        fail_over_percent: args.fail_over,
        only: args.only.clone(),
    };
    let diff = diff(base, new, &options);
    say_not_compared(args, &diff, &inputs, reading.verbosity);
    let typed = [&args.base, &args.new].map(|path| path_text(path));
    let names = [&args.base, &args.new].map(|path| shown(path));
    let limits_nothing = args.fail_over.is_some() && (diff.compared == 0 || !diff.unmatched.is_empty());
    let status = if diff.is_too_much || limits_nothing { Status::BeyondLimits } else { Status::Done };
    let worst = text::worst(&diff);
    let notes = notes_on_comparison([&names[0], &names[1]], [&inputs[0], &inputs[1]]);
    let text_out = if args.json {
        let [base, new] = &typed;
        let (schema_version, tool_version) = (SCHEMA_VERSION, TOOL_VERSION);
        indented_json(&DiffFile { schema_version, tool_version, base, new, worst, notes: &notes, diff: &diff })
            .map_err(Into::into)
    } else if args.md {
        let notes = notes.iter().map(|note| format!("\nnote: {}\n", markdown_escaped(note)));
        Ok(text::markdown(&diff, (&names[0], &names[1]), args.rows) + &notes.collect::<String>())
    } else {
        let worst = worst.map_or_else(String::new, |worst| format!("worst: {worst}\n"));
        let table = text::differences(&diff, args.rows);
        let separator = if table.is_empty() { "" } else { "\n" };
        let notes = notes.iter().map(|note| format!("note: {note}\n")).collect::<String>();
        Ok(format!("{} -> {}: {}\n{worst}{separator}{table}{notes}", names[0], names[1], text::difference_summary(&diff)))
    };
    let status = write_result(&output, "the differences", text_out, status);
    say_too_much(args, &diff);
    Ok(status)
}

/// Names the metrics that were asked for and not compared. A limit that limits nothing is mostly a slip.
fn say_not_compared(args: &DiffArgs, diff: &Diff, inputs: &[Vec<InputReport>], verbosity: Verbosity) {
    let word = match args.fail_over {
        Some(_) => "error",
        None if verbosity > Verbosity::Quiet => "warning",
        None => return,
    };
    if diff.compared == 0 {
        // The summaries say why, unless they are left out.
        for input in inputs.iter().flatten().filter(|_| verbosity == Verbosity::Quiet) {
            let name = name_in_sentence(input);
            input.warnings.iter().for_each(|warning| say(&format!("warning: {name}: {warning}\n")));
        }
        let what = match args.only.is_empty() {
            true => "no metric is in both, except losses and gaps",
            false => "no metric that --only names is in both",
        };
        return say(&format!("{word}: nothing was compared: {what}\n"));
    }
    for only in &diff.unmatched {
        let why = Selector::parse(only).err().map_or_else(String::new, |error| format!(" ({})", error.message));
        say(&format!("{word}: --only {only} names nothing that is in both{why}\n"));
    }
}

/// Names the changes beyond the limits.
fn say_too_much(args: &DiffArgs, diff: &Diff) {
    for thing in &diff.too_new {
        let thing = text::thing(thing);
        say(&format!("error: {thing} is only in the new one, so it is compared with nothing (--fail-on-new=none allows that)\n"));
    }
    let too_much: Vec<&Change> = diff.changes.iter().filter(|change| change.is_too_much).collect();
    if let (Some(first), Some(limit)) = (too_much.first(), args.fail_over) {
        let first = text::sentence(first);
        let more = match too_much.len() {
            0 | 1 => String::new(),
            count => format!(", and {} more", count - 1),
        };
        say(&format!("error: worse than --fail-over {limit}% allows: {first}{more}\n"));
    }
}

fn parse_least_time(text: &str) -> Result<u64, String> {
    match parse_time(text)? {
        TimeBound::Absolute(time) => Ok(time.0),
        TimeBound::AfterStart(_) => Err("a time without a sign is expected, e.g. 1us".into()),
    }
}
