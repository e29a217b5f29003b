//! `traceconv stats INPUT...`: the statistics of each recording, as tables, as JSON, as one long table, or as folded stacks.

use super::plan::{SourceName, StatsForm, StatsPlan, Verbosity};
use super::recording_figures::{Summaries, gather, losses_of, report_problems, write_contents};
use super::{Status, say};
use crate::metrics::{csv, figures};
use crate::pipeline::Options;
use crate::report::stats::{Recording, StatsFile};
use crate::report::{summary, visible};
use crate::stats::text;

/// Gathers and prints the statistics. A recording that fails does not stop the others.
pub(super) fn run(plan: &StatsPlan) -> Status {
    let mut status = report_problems(&plan.problems);
    let mut recordings = Vec::new();
    let options = Options { from: plan.from, to: plan.to, threads: plan.reading.threads, ..Options::default() };
    let mut out = if plan.form == StatsForm::Csv { csv::HEADING.to_owned() } else { String::new() };
    let mut summaries = Summaries::new(plan.recordings.len(), plan.skip_unrecognised, plan.reading.verbosity);
    for sources in &plan.recordings {
        let (inputs, gathered) = gather(sources, &plan.reading, &options, &plan.output, plan.form == StatsForm::Folded);
        summaries.say(&inputs, summary);
        let Some(gathered) = gathered else {
            status = if summaries.skips(&inputs) { status } else { Status::Failed };
            recordings.push(Recording::new(inputs, None));
            continue;
        };
        let recording = Recording::new(inputs, Some(gathered.statistics));
        let statistics = recording.statistics.iter();
        let name = sources.first().filter(|_| plan.recordings.len() > 1).map(SourceName::for_people);
        match plan.form {
            StatsForm::Json => {}
            StatsForm::Tables(rows) => {
                if let Some(name) = name {
                    out += &format!("{}{name}\n\n", if out.is_empty() { "" } else { "\n" });
                }
                statistics.for_each(|statistics| out += &text::tables(statistics, rows));
                out += &format!("\n{}", recording.losses_line());
            }
            StatsForm::Csv => {
                let name = sources.first().map(|source| source.as_typed()).unwrap_or_default();
                let figures = statistics.flat_map(|statistics| figures(statistics, losses_of(&recording)));
                out += &csv::lines(&name, &figures.collect::<Vec<_>>());
            }
            StatsForm::Folded => {
                if gathered.folded.as_ref().is_none_or(|folded| folded.lines().next().is_none())
                    && plan.reading.verbosity > Verbosity::Quiet
                {
                    let name = sources.first().map_or_else(String::new, SourceName::for_people);
                    say(&format!("warning: {name}: there is nothing to fold: it records neither tasks nor functions\n"));
                }
                let frame = name.map_or_else(String::new, |name| name.replace(';', "_") + ";");
                gathered
                    .folded
                    .iter()
                    .flat_map(|folded| folded.lines())
                    .for_each(|line| out += &format!("{}\n", visible(&format!("{frame}{line}"))));
            }
        }
        recordings.push(recording);
    }
    summaries.say_table();
    let is_any_read = recordings.iter().any(|recording| recording.statistics.is_some());
    let out = if plan.form == StatsForm::Json { StatsFile::new(recordings).to_json().map_err(Into::into) } else { Ok(out) };
    write_contents(&plan.output, "the statistics", out, status, is_any_read)
}
