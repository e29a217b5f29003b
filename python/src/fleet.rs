//! Parts of a dataset: the same files as `traceconv export --parquet` writes.

use serde_json::json;
use traceconv::export::{self, Form, Labels, Part, Table, TableSink};
use traceconv::metrics::budget::Budget;
use traceconv::metrics::{check, figures, text};
use traceconv::report::TOOL_VERSION;
use traceconv::report::stats::Recording;

use super::recording::{Given, Kind, Opened, Problem, Settings, dataset_problem, losses, wrong_option};

/// A recording of a part.
pub struct Row {
    pub id: String,
    pub error: Option<String>,
    /// The rules of the budget that it breaks, as sentences.
    pub broken: Vec<String>,
}

/// A part that is to be put into its place: the table of recordings last.
pub struct Written {
    pub name: String,
    pub files: Vec<(&'static str, Vec<u8>)>,
    pub rows: Vec<Row>,
}

/// The tables of these names.
pub fn tables(names: &[String]) -> Result<Vec<Table>, Problem> {
    let table = |name: &String| {
        let known = Table::ALL.map(Table::name).join(", ");
        let found = Table::ALL.into_iter().find(|table| table.name() == name);
        found.ok_or_else(|| wrong_option(format!("`{name}` is no table; there are {known}")))
    };
    names.iter().map(table).collect()
}

/// Whether labels may have these names.
pub fn check_labels(given: &[(String, String)]) -> Result<(), Problem> {
    given.iter().try_for_each(|(name, _)| export::check_label(name).map_err(wrong_option))
}

/// The labels of a recording, and those that were given for all.
pub fn labels(mut of_recording: Labels, given: &[(String, String)]) -> Labels {
    of_recording.extend(given.iter().cloned());
    of_recording
}

/// Makes a part of recordings. `columns` are the labels of all recordings of the run.
pub fn part(
    recordings: impl Iterator<Item = Given>,
    settings: &Settings,
    table_names: &[String],
    given: &[(String, String)],
    columns: &[String],
    budget: Option<&Budget>,
) -> Result<Written, Problem> {
    check_labels(given)?;
    let mut tables = tables(table_names)?;
    tables.retain(|table| *table != Table::Recordings);
    tables.push(Table::Recordings);
    let mut files: Vec<Vec<u8>> = tables.iter().map(|_| Vec::new()).collect();
    let sinks = tables.iter().zip(&mut files);
    let sinks = sinks.map(|(table, file)| Ok((*table, TableSink::create(*table, columns, Form::Parquet, file)?)));
    let sinks = sinks.collect::<Result<_, export::ExportError>>().map_err(dataset_problem)?;
    let mut part = Part::new(sinks, columns.to_vec());
    let is_drawn = tables.iter().any(|table| table.is_drawn());
    let mut rows = Vec::new();
    for one in recordings {
        let mut opened = Opened::open(vec![one], settings);
        part.begin(&opened.id);
        let gathered = match opened.gather(settings, is_drawn.then_some(&mut part)) {
            Err(Kind::Stopped) => return Err(Problem(Kind::Stopped, opened.errors())),
            gathered => gathered.ok(),
        };
        let error = gathered.is_none().then(|| opened.errors());
        let all = gathered.map(|gathered| figures(&gathered.statistics, losses(&opened.reports))).unwrap_or_default();
        let verdicts = budget.filter(|_| error.is_none()).map(|budget| check::check(budget, &all)).unwrap_or_default();
        let broken = verdicts.iter().filter(|verdict| verdict.is_broken()).flat_map(text::broken).collect();
        let recording = Recording::new(opened.reports, None);
        part.end(&labels(opened.labels, given), &recording, &all).map_err(dataset_problem)?;
        rows.push(Row { id: opened.id, error, broken });
    }
    part.finish().map_err(dataset_problem)?;
    let name = export::part_name(rows.iter().map(|row| row.id.as_str()));
    Ok(Written { name, files: tables.iter().map(|table| table.name()).zip(files).collect(), rows })
}

/// The text of `dataset.json`.
pub fn about() -> String {
    format!("{:#}\n", json!({ "schema_version": export::SCHEMA_VERSION, "tool_version": TOOL_VERSION }))
}
