//! `traceconv stats INPUT...`: the statistics of each recording, as tables, as JSON, as one long table, or as folded stacks.

use super::args::StatsArgs;
use super::plan::{Place, PlanError, SourceName, Verbosity, plan_many, reading};
use super::recording_figures::{Summaries, gather, losses_of, report_problems, write_contents};
use super::{Status, say};
use crate::metrics::{csv, figures};
use crate::report::stats::{Recording, StatsFile};
use crate::report::{summary, visible};
use crate::stats::text;

/// Gathers and prints the statistics. A recording that fails does not stop the others.
pub(super) fn main(args: &StatsArgs) -> Result<Status, PlanError> {
    let output = Place::of_result(args.output.as_deref());
    let planned = plan_many(&args.inputs, &args.more, &[&output], &args.read, Vec::new())?;
    let reading = reading(&args.read)?;
    let options = args.part.options(&reading)?;
    let mut status = report_problems(&planned.problems);
    let mut recordings = Vec::new();
    let mut out = if args.csv { csv::HEADING.to_owned() } else { String::new() };
    let mut summaries = Summaries::new(planned.recordings.len(), args.more.skip_unrecognised, reading.verbosity);
    for sources in &planned.recordings {
        let (inputs, gathered) = gather(sources, &reading, &options, &output, args.folded);
        summaries.say(&inputs, gathered.as_ref().err(), summary);
        let Ok(gathered) = gathered else {
            status = if summaries.skips(&inputs) { status } else { Status::Failed };
            recordings.push(Recording::new(inputs, None));
            continue;
        };
        let recording = Recording::new(inputs, Some(gathered.statistics));
        let statistics = recording.statistics.iter();
        let name = sources.first().filter(|_| planned.recordings.len() > 1).map(SourceName::for_people);
        if args.csv {
            let name = sources.first().map(SourceName::as_typed).unwrap_or_default();
            let figures = statistics.flat_map(|statistics| figures(statistics, losses_of(&recording)));
            out += &csv::lines(&name, &figures.collect::<Vec<_>>());
        } else if args.folded {
            let folded = gathered.folded.unwrap_or_default();
            if folded.is_empty() && reading.verbosity > Verbosity::Quiet {
                let name = sources.first().map_or_else(String::new, SourceName::for_people);
                say(&format!("warning: {name}: there is nothing to fold: it records neither tasks nor functions\n"));
            }
            let frame = name.map_or_else(String::new, |name| name.replace(';', "_") + ";");
            folded.lines().for_each(|line| out += &format!("{}\n", visible(&format!("{frame}{line}"))));
        } else if !args.json {
            if let Some(name) = name {
                out += &format!("{}{name}\n\n", if out.is_empty() { "" } else { "\n" });
            }
            statistics.for_each(|statistics| out += &text::tables(statistics, args.rows));
            out += &format!("\n{}", recording.losses_line());
        }
        recordings.push(recording);
    }
    summaries.say_table();
    let is_any_read = recordings.iter().any(|recording| recording.statistics.is_some());
    let out = if args.json { StatsFile::new(recordings).to_json().map_err(Into::into) } else { Ok(out) };
    Ok(write_contents(&output, "the statistics", out, status, is_any_read))
}
