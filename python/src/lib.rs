//! The Python module `traceconv._core`: recordings as objects, tables through Arrow's C data interface, parts of a dataset as bytes.
//!
//! The package around it (`traceconv/`) has what Python can do as well. Work is done without Python's lock.

use std::path::Path;
use std::sync::Mutex;

use arrow_array::RecordBatchIterator;
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use pyo3::create_exception;
use pyo3::exceptions::{PyException, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyCapsule};
use traceconv::export::table::Rows;
use traceconv::export::{Form, Labels, OWN_LABELS, Part, Table, TableSink, identity};
use traceconv::format::{FORMATS, FormatOptions, OptionKind, OptionSpec, OptionValue};
use traceconv::input::{Input, ReadOptions, Recognised, detect};
use traceconv::metrics::budget::Budget;
use traceconv::metrics::diff::{DiffOptions, diff};
use traceconv::metrics::{Figure, Losses, check, figures, saved, text};
use traceconv::model::Rate;
use traceconv::pipeline::{self, EventDetail, Gathered, Options, Source, TimeBound};
use traceconv::report::stats::{Recording, StatsFile};
use traceconv::report::{InputReport, Report, TraceReport, stored, summary, visible};

create_exception!(traceconv, Error, PyException, "A recording cannot be read, or an option has a value that cannot be used.");
create_exception!(traceconv, BudgetError, Error, "A budget, or a baseline, cannot be read.");

fn error(reason: impl std::fmt::Display) -> PyErr {
    Error::new_err(reason.to_string())
}

/// How recordings are read.
#[pyclass(frozen, module = "traceconv._core")]
struct Reading {
    format: Option<String>,
    format_options: FormatOptions,
    options: Options,
}

#[pymethods]
impl Reading {
    /// `own`: options of formats, each with a text or the name of a file; `None` for a flag.
    #[new]
    #[pyo3(signature = (format, cores, clock_hz, start, end, threads, own))]
    fn new(
        format: Option<String>,
        cores: Option<u16>,
        clock_hz: Option<String>,
        start: Option<String>,
        end: Option<String>,
        threads: usize,
        own: Vec<(String, Option<String>)>,
    ) -> PyResult<Reading> {
        let value = |reason: String| PyValueError::new_err(reason);
        if let Some(name) = format.as_deref().filter(|name| detect::by_name(name).is_none()) {
            let known: Vec<&str> = FORMATS.iter().map(|format| format.name()).collect();
            return Err(value(format!("`{name}` is no format; there are: {}", known.join(", "))));
        }
        let clock = clock_hz.map(|hz| Rate::parse_hz(&hz)).transpose().map_err(|reason| value(reason.to_string()))?;
        let time = |text: Option<String>| {
            text.map(|text| text.parse::<TimeBound>().map_err(|reason| value(reason.to_string()))).transpose()
        };
        let own = own.into_iter().map(|(name, given)| own_option(&name, given)).collect::<PyResult<_>>()?;
        let options = Options::default().from(time(start)?).to(time(end)?).threads(threads);
        Ok(Reading { format, format_options: FormatOptions { clock, cores, core: None, own }, options })
    }
}

fn own_option(name: &str, given: Option<String>) -> PyResult<(&'static str, OptionValue)> {
    let spec: &OptionSpec = FORMATS
        .iter()
        .flat_map(|format| format.options())
        .find(|spec| spec.name == name)
        .ok_or_else(|| PyValueError::new_err(format!("no format has an option `{}`", name.replace('-', "_"))))?;
    let value = match (spec.kind, given) {
        (OptionKind::Flag, None) => OptionValue::Flag,
        (OptionKind::Text(_), Some(text)) => OptionValue::Text(text),
        (OptionKind::File(_), Some(path)) => {
            let bytes = std::fs::read(&path).map_err(|reason| error(format!("{} cannot be read: {reason}", visible(&path))))?;
            OptionValue::File { path, bytes: bytes.into() }
        }
        (OptionKind::Flag, Some(_)) => return Err(PyValueError::new_err(format!("`{name}` is True or False"))),
        (_, None) => return Err(PyValueError::new_err(format!("`{name}` has a text"))),
    };
    Ok((spec.name, value))
}

/// An input: its name, its bytes unless it is a file, and its core.
type Given = (String, Option<Vec<u8>>, Option<u16>);

fn open((name, bytes, core): Given) -> Result<(Option<u16>, Input, String), String> {
    let options = ReadOptions { spool_dir: Some(std::env::temp_dir()), ..ReadOptions::default() };
    let input = match bytes {
        Some(bytes) => Input::from_vec(bytes, &options),
        None => Input::open(Path::new(&name), &options),
    };
    Ok((core, input.map_err(|reason| format!("{} {reason}", visible(&name)))?, name))
}

/// The inputs of a recording, opened and recognised.
struct Opened {
    id: String,
    recognised: Vec<Recognised>,
    reports: Vec<InputReport>,
}

impl Opened {
    fn open(given: Vec<Given>, reading: &Reading) -> Result<Opened, String> {
        let inputs = given.into_iter().map(open).collect::<Result<Vec<_>, _>>()?;
        let id = identity_of(inputs.iter().map(|(core, input, _)| (*core, input.bytes())), reading);
        let mut opened = Opened { id, recognised: Vec::new(), reports: Vec::new() };
        let read_options = ReadOptions { spool_dir: Some(std::env::temp_dir()), ..ReadOptions::default() };
        for (core, input, name) in inputs {
            let format = reading.format.as_deref().and_then(detect::by_name);
            let options = FormatOptions { core, ..reading.format_options.clone() };
            let found = input.recognise(format, &options, &read_options);
            for recognised in found.map_err(|reason| format!("{} {reason}", visible(&name)))? {
                let mut report = InputReport::named(name.clone(), recognised.options.core);
                report.enter_input(&recognised.input);
                report.format = Some(recognised.detected.format.name());
                report.detected_because = Some(recognised.detected.because.clone());
                opened.reports.push(report);
                opened.recognised.push(recognised);
            }
        }
        Ok(opened)
    }

    fn sources(&self) -> Vec<Source<'_>> {
        let source = |one: &Recognised| Source::new(one.input.bytes(), one.detected.format).options(one.options.clone());
        self.recognised.iter().map(source).collect()
    }

    fn name(&self) -> String {
        self.reports.first().map_or_else(String::new, |report| visible(&report.path).into_owned())
    }

    /// Enters the results of reading. An error if there is nothing.
    fn enter(&mut self, gathered: &Gathered) -> Result<(), String> {
        self.reports.iter_mut().zip(&gathered.inputs).for_each(|(report, summary)| report.enter_summary(summary));
        for report in &mut self.reports {
            report.warnings.extend(gathered.warnings.iter().cloned());
        }
        match self.reports.iter().any(|report| report.events > 0 && report.frames_ok > 0) {
            true => Ok(()),
            false => Err(format!("{} gives no event. Check the format and that the recording is complete", self.name())),
        }
    }
}

/// As `traceconv export` has it.
fn identity_of<'a>(inputs: impl Iterator<Item = (Option<u16>, &'a [u8])> + Clone, reading: &Reading) -> String {
    let cores: Vec<Option<u16>> = inputs.clone().map(|(core, _)| core).collect();
    let read_as = stored::options_hash(&reading.options, &reading.format_options, &cores);
    let format = reading.format.as_deref().unwrap_or_default();
    identity(inputs, &[read_as.as_bytes(), format.as_bytes(), b""])
}

fn figures_of(gathered: &Gathered, reports: &[InputReport]) -> (Recording, Vec<Figure>) {
    let recording = Recording::new(reports.to_vec(), Some(gathered.statistics.clone()));
    let totals = recording.losses;
    let mut losses = Losses::default();
    (losses.events, losses.cases) = (recording.events(), totals.cases);
    (losses.lost_events, losses.repairs) = (totals.at_least_lost, totals.repairs);
    let figures = figures(&gathered.statistics, losses);
    (recording, figures)
}

/// A recording that was read.
#[pyclass(frozen, module = "traceconv._core")]
struct Read {
    opened: Opened,
    recording: Recording,
    figures: Vec<Figure>,
    options: Options,
}

#[pymethods]
impl Read {
    /// Reads the inputs as one recording.
    #[new]
    fn new(py: Python<'_>, given: Vec<Given>, reading: &Reading) -> PyResult<Read> {
        let read = || {
            let mut opened = Opened::open(given, reading)?;
            let gathered = pipeline::statistics(&opened.sources(), &reading.options, false, &mut |_| true)
                .map_err(|reason| format!("{} cannot be read: {reason}", opened.name()))?;
            opened.enter(&gathered)?;
            let (recording, figures) = figures_of(&gathered, &opened.reports);
            Ok::<_, String>(Read { opened, recording, figures, options: reading.options.clone() })
        };
        py.detach(read).map_err(error)
    }

    /// The recording's identity in a dataset.
    #[getter]
    fn id(&self) -> &str {
        &self.opened.id
    }

    /// As `traceconv` prints it.
    fn summary(&self) -> String {
        self.opened.reports.iter().map(|report| summary(report, false)).collect()
    }

    /// The trace.
    fn trace<'py>(&self, py: Python<'py>, name: &str, detail: &str) -> PyResult<Bound<'py, PyBytes>> {
        let events = match detail {
            "overview" => EventDetail::Overview,
            "default" => EventDetail::Default,
            "all" => EventDetail::All,
            _ => return Err(PyValueError::new_err(format!("`{detail}` is no detail; there are: overview, default, all"))),
        };
        let options = self.options.clone().firmware_name(name).events(events);
        let convert = || {
            let mut trace = Vec::new();
            pipeline::convert(&self.opened.sources(), &options, &mut trace, &mut |_| true).map(|_| trace)
        };
        let trace = py.detach(convert).map_err(|reason| error(format!("{}: {reason}", self.opened.name())))?;
        Ok(PyBytes::new(py, &trace))
    }

    /// The report as JSON, as of `--report`, of a conversion that wrote no file.
    fn report(&self) -> PyResult<String> {
        let recordings = vec![(TraceReport::default(), self.opened.reports.clone())];
        Report::new(recordings, 0.0).to_json().map_err(error)
    }

    /// The statistics as JSON, as of `stats --json`.
    fn stats(&self) -> PyResult<String> {
        StatsFile::new(vec![self.recording.clone()]).to_json().map_err(error)
    }

    /// All figures: section, name, metric, value, unit.
    fn figures(&self) -> Vec<(&'static str, &str, String, f64, &'static str)> {
        let figure = |of| {
            let Figure { metric, name, value, .. }: &Figure = of;
            (metric.section, name.as_str(), metric.full_name(), value.as_f64(), metric.unit.symbol())
        };
        self.figures.iter().map(figure).collect()
    }

    /// The verdicts on a budget, as JSON, and a sentence for each that counts as broken.
    fn check(&self, budget: &str) -> PyResult<(String, Vec<String>)> {
        let verdicts = check::check(&parse_budget(budget)?, &self.figures);
        let sentences = verdicts.iter().filter(|verdict| verdict.is_broken()).flat_map(text::broken).collect();
        Ok((serde_json::to_string(&verdicts).map_err(error)?, sentences))
    }

    /// The differences from another recording, as JSON, and the worst as a sentence. `fail_over`: in per cent.
    fn diff(&self, base: &Read, fail_over: Option<f64>) -> PyResult<(String, Option<String>)> {
        differences(&base.figures, &self.figures, fail_over)
    }

    /// The same from saved statistics, or from a baseline.
    fn diff_saved(&self, base: &[u8], fail_over: Option<f64>) -> PyResult<(String, Option<String>)> {
        let base = saved::read(base).map_err(|reason| BudgetError::new_err(format!("the baseline {reason}")))?;
        differences(&base.figures, &self.figures, fail_over)
    }

    /// A table.
    fn table(&self, py: Python<'_>, name: &str) -> PyResult<ArrowTable> {
        let table = table_of(name)?;
        let rows = Rows::new(table, &[]);
        let schema = rows.schema();
        let mut batches = Vec::new();
        py.detach(|| {
            let sink = TableSink::to_sink(rows, Box::new(&mut batches));
            let mut part = Part::new(vec![(table, sink)], Vec::new());
            part.begin(&self.opened.id);
            if table.is_drawn() {
                let options =
                    self.options.clone().events(if table == Table::Events { EventDetail::All } else { EventDetail::Default });
                pipeline::operations(&self.opened.sources(), &options, &mut part, &mut |_| true).map_err(error)?;
            }
            part.end(&Labels::new(), &self.recording, &self.figures).map_err(error)?;
            part.finish().map_err(error)
        })?;
        let reader = RecordBatchIterator::new(batches.into_iter().map(Ok), schema);
        Ok(ArrowTable { stream: Mutex::new(Some(FFI_ArrowArrayStream::new(Box::new(reader)))) })
    }
}

fn differences(base: &[Figure], new: &[Figure], fail_over_percent: Option<f64>) -> PyResult<(String, Option<String>)> {
    let mut options = DiffOptions::default();
    options.fail_over_percent = fail_over_percent;
    let diff = diff(base, new, &options);
    Ok((serde_json::to_string(&diff).map_err(error)?, text::worst(&diff)))
}

fn parse_budget(budget: &str) -> PyResult<Budget> {
    Budget::parse(budget).map_err(|reason| BudgetError::new_err(format!("the budget: {reason}")))
}

fn table_of(name: &str) -> PyResult<Table> {
    let known = || Table::ALL.map(Table::name).join(", ");
    let table = Table::ALL.into_iter().find(|table| table.name() == name);
    table.ok_or_else(|| PyValueError::new_err(format!("`{name}` is no table; there are: {}", known())))
}

/// Rows of a table on their way to another library, which takes them once.
#[pyclass(frozen, module = "traceconv._core")]
struct ArrowTable {
    stream: Mutex<Option<FFI_ArrowArrayStream>>,
}

#[pymethods]
impl ArrowTable {
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // Consumers must accept another schema than the one that they ask for.
        let _ = requested_schema;
        let stream = self.stream.lock().unwrap_or_else(std::sync::PoisonError::into_inner).take();
        let stream = stream.ok_or_else(|| error("the rows were taken already; make the table again with to_arrow"))?;
        PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
    }
}

/// A row about a recording of a part: name, identity, why it could not be read, sentences about its budget.
type Outcome = (String, String, Option<String>, Vec<String>);

/// Writes recordings as a part of a dataset: the hash in the names of its files, each table's file, and a row for each recording. The same
/// recordings give the same bytes. `label_names` are the columns, `labels` their values of each recording.
#[pyfunction]
#[allow(clippy::type_complexity, reason = "as Python gets it")]
fn part<'py>(
    py: Python<'py>,
    recordings: Vec<(String, Vec<u8>, Vec<Option<String>>)>,
    reading: &Reading,
    tables: Vec<String>,
    label_names: Vec<String>,
    budget: Option<&str>,
) -> PyResult<(String, Vec<(String, Bound<'py, PyBytes>)>, Vec<Outcome>)> {
    let tables: Vec<Table> = tables.iter().map(|name| table_of(name)).collect::<PyResult<_>>()?;
    let budget = budget.map(parse_budget).transpose()?;
    let events = if tables.contains(&Table::Events) { EventDetail::All } else { EventDetail::Default };
    let options = reading.options.clone().events(events);
    let mut files: Vec<Vec<u8>> = tables.iter().map(|_| Vec::new()).collect();
    let work = || {
        let sinks = tables.iter().zip(&mut files);
        let columns: Vec<String> = label_names.iter().filter(|name| !OWN_LABELS.contains(&name.as_str())).cloned().collect();
        let sinks = sinks.map(|(table, file)| Ok((*table, TableSink::create(*table, &columns, Form::Parquet, file)?)));
        let mut rows = Part::new(sinks.collect::<Result<_, traceconv::export::ExportError>>()?, columns.clone());
        let mut outcomes: Vec<Outcome> = Vec::new();
        for (name, bytes, labels) in recordings {
            let labels = label_names.iter().cloned().zip(labels).filter_map(|(name, value)| Some((name, value?))).collect();
            // What the row is known by if it cannot be read.
            let raw = identity_of([(None, bytes.as_slice())].into_iter(), reading);
            let is_drawn = tables.iter().any(|table| table.is_drawn());
            let read = Opened::open(vec![(name.clone(), Some(bytes), None)], reading).and_then(|mut opened| {
                if outcomes.iter().any(|(_, id, ..)| *id == opened.id) {
                    return Ok(None);
                }
                rows.begin(&opened.id);
                let gathered = match is_drawn {
                    true => pipeline::operations(&opened.sources(), &options, &mut rows, &mut |_| true),
                    false => pipeline::statistics(&opened.sources(), &options, false, &mut |_| true),
                };
                let gathered = gathered.map_err(|reason| format!("{} cannot be read: {reason}", opened.name()))?;
                opened.enter(&gathered)?;
                let (recording, figures) = figures_of(&gathered, &opened.reports);
                Ok(Some((opened.id, recording, figures)))
            });
            match read {
                Ok(None) => {}
                Ok(Some((id, recording, figures))) => {
                    rows.end(&labels, &recording, &figures)?;
                    let verdicts = budget.as_ref().map(|budget| check::check(budget, &figures)).unwrap_or_default();
                    let broken = verdicts.iter().filter(|verdict| verdict.is_broken()).flat_map(text::broken).collect();
                    outcomes.push((name, id, None, broken));
                }
                Err(reason) => {
                    let mut report = InputReport::named(name.clone(), None);
                    report.error = Some(reason.clone());
                    rows.begin(&raw);
                    rows.end(&labels, &Recording::new(vec![report], None), &[])?;
                    outcomes.push((name, raw, Some(reason), Vec::new()));
                }
            }
        }
        rows.finish()?;
        Ok::<_, traceconv::export::ExportError>(outcomes)
    };
    let outcomes = py.detach(work).map_err(error)?;
    let hash = identity(outcomes.iter().map(|(_, id, ..)| (None, id.as_bytes())), &[]);
    let files = tables.iter().zip(&files).map(|(table, file)| (table.name().to_owned(), PyBytes::new(py, file))).collect();
    Ok((hash, files, outcomes))
}

/// The names of the options that formats have.
#[pyfunction]
fn option_names() -> Vec<&'static str> {
    FORMATS.iter().flat_map(|format| format.options()).map(|spec| spec.name).collect()
}

#[pymodule]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("Error", module.py().get_type::<Error>())?;
    module.add("BudgetError", module.py().get_type::<BudgetError>())?;
    module.add("version", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<Reading>()?;
    module.add_class::<Read>()?;
    module.add_class::<ArrowTable>()?;
    module.add_function(wrap_pyfunction!(part, module)?)?;
    module.add_function(wrap_pyfunction!(option_names, module)?)
}
