//! The Python module `traceconv._traceconv`: the base of `python/package/traceconv`. Its interface is described by
//! `traceconv/_traceconv.pyi`. No function holds the interpreter's lock while it reads, converts or writes.

mod fleet;
mod recording;

use std::collections::BTreeMap;
use std::path::PathBuf;

use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{RecordBatch, RecordBatchIterator};
use arrow_schema::SchemaRef;
use bytes::Bytes;
use pyo3::create_exception;
use pyo3::exceptions::PyException;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyBytes, PyCapsule};
use serde::Serialize;
use traceconv::export::{self, PART_RECORDINGS, dataset};
use traceconv::input::ReadOptions;
use traceconv::metrics::baseline::BaselineFile;
use traceconv::metrics::budget::Budget;
use traceconv::metrics::diff::{Diff, DiffOptions, FailOnNew, diff as compare};
use traceconv::metrics::{Figure, check as judge, saved, text};
use traceconv::report::stats::{StatsFile, doubtful_findings, notes_on_comparison};
use traceconv::report::{InputReport, TOOL_VERSION};

use recording::{Content, Given, Identified, Kind, Problem, Read, Settings, Wanted, dataset_problem, wrong_option};

create_exception!(traceconv, TraceconvError, PyException, "Why something cannot be done, as a sentence.");
create_exception!(traceconv, InputError, TraceconvError, "An input cannot be opened or read.");
create_exception!(traceconv, FormatError, TraceconvError, "An input is in no known format.");
create_exception!(traceconv, OptionError, TraceconvError, "An option has a value that cannot be used.");
create_exception!(traceconv, ConvertError, TraceconvError, "A recording has no event, or its format refuses it.");
create_exception!(traceconv, BudgetError, TraceconvError, "A budget or saved statistics cannot be used.");
create_exception!(traceconv, DatasetError, TraceconvError, "A dataset cannot be read or written.");

impl From<Problem> for PyErr {
    fn from(Problem(kind, sentence): Problem) -> PyErr {
        match kind {
            Kind::Input => InputError::new_err(sentence),
            Kind::Format => FormatError::new_err(sentence),
            Kind::Option => OptionError::new_err(sentence),
            Kind::Convert => ConvertError::new_err(sentence),
            Kind::Budget => BudgetError::new_err(sentence),
            Kind::Dataset => DatasetError::new_err(sentence),
            Kind::Stopped => recording::take_raised().unwrap_or_else(|| TraceconvError::new_err(sentence)),
        }
    }
}

/// An input from Python: its name, its content, its core.
#[derive(FromPyObject)]
struct Input(String, Source, Option<u16>);

#[derive(FromPyObject)]
enum Source {
    Bytes(PyBackedBytes),
    File(PathBuf),
    Fetched(Fetched),
}

/// Bytes from a store with the notes beside them, or the reason why they are missing.
#[derive(FromPyObject)]
struct Fetched(Option<PyBackedBytes>, Option<PyBackedBytes>, String);

impl From<Input> for Given {
    fn from(Input(name, source, core): Input) -> Given {
        let content = match source {
            Source::Bytes(bytes) => Content::Bytes(bytes.to_vec(), None),
            Source::File(path) => Content::File(path),
            Source::Fetched(Fetched(Some(bytes), notes, _)) => Content::Bytes(bytes.to_vec(), notes.map(|notes| notes.to_vec())),
            Source::Fetched(Fetched(None, _, why)) => Content::Missing(why),
        };
        Given { name, content, core }
    }
}

/// The options of the command line.
#[pyclass(frozen, name = "Options", module = "traceconv._traceconv")]
struct PyOptions(Settings);

#[pymethods]
impl PyOptions {
    #[new]
    #[pyo3(signature = (own, *, format=None, clock_hz=None, cores=None, swo_port=None, detail=None, from_=None, to=None, name=None, threads=1, mmap=false, max_decompressed=None))]
    #[expect(clippy::too_many_arguments, reason = "they have names")]
    fn new(
        own: Vec<(String, String)>,
        format: Option<String>,
        clock_hz: Option<String>,
        cores: Option<u16>,
        swo_port: Option<u16>,
        detail: Option<String>,
        from_: Option<String>,
        to: Option<String>,
        name: Option<String>,
        threads: usize,
        mmap: bool,
        max_decompressed: Option<u64>,
    ) -> Result<PyOptions, Problem> {
        let from = from_;
        let wanted = Wanted { format, clock_hz, cores, swo_port, detail, from, to, name, threads, mmap, max_decompressed, own };
        Ok(PyOptions(wanted.settings()?))
    }
}

/// Metrics of a recording, or those that were saved, and its inputs.
#[pyclass(frozen, module = "traceconv._traceconv")]
struct Figures(Vec<Figure>, Vec<InputReport>);

#[pymethods]
impl Figures {
    /// Reads a file that `stats --json`, `--report` or `baseline` saved, also compressed; `None` if it is something else.
    #[staticmethod]
    fn saved(py: Python<'_>, path: PathBuf) -> Result<Option<Figures>, Problem> {
        let problem = |error: String| Problem(Kind::Budget, format!("{} {error}", path.display()));
        py.detach(|| {
            let Some(input) = traceconv::input::Input::open_if(&path, &ReadOptions::new(), saved::is_saved) else {
                return Ok(None);
            };
            let input = input.map_err(|error| problem(error.to_string()))?;
            let read = saved::read(input.bytes()).map_err(|error| problem(error.to_string()))?;
            let mut report = InputReport::named(path.display().to_string(), None);
            report.findings = read.findings.into_iter().filter_map(|finding| serde_json::from_value(finding).ok()).collect();
            Ok(Some(Figures(read.figures, vec![report])))
        })
    }

    /// Section, name, metric with its unit, value, unit.
    fn rows(&self) -> Vec<(&'static str, String, String, f64, &'static str)> {
        let row = |figure: &Figure| {
            let Figure { metric, name, value, .. } = figure;
            (metric.section, name.clone(), metric.full_name(), value.as_f64(), metric.unit.symbol())
        };
        self.0.iter().map(row).collect()
    }

    /// As rules call them, with their values.
    fn paths(&self) -> Vec<(String, f64)> {
        self.0.iter().map(|figure| (figure.path(), figure.value.as_f64())).collect()
    }
}

/// A recording that was read.
#[pyclass(frozen, module = "traceconv._traceconv")]
struct Recording {
    read: Read,
    trace: Option<Py<PyBytes>>,
    options: Py<PyOptions>,
}

#[pymethods]
impl Recording {
    #[getter]
    fn trace(&self, py: Python<'_>) -> Option<Py<PyBytes>> {
        self.trace.as_ref().map(|trace| trace.clone_ref(py))
    }

    #[getter]
    fn id(&self) -> &str {
        &self.read.opened.id
    }

    #[getter]
    fn labels(&self) -> BTreeMap<String, String> {
        self.read.opened.labels.clone()
    }

    #[getter]
    fn format(&self) -> Option<&'static str> {
        self.read.opened.format()
    }

    /// Sentences about labels that were left out.
    #[getter]
    fn problems(&self) -> Vec<String> {
        self.read.opened.problems.clone()
    }

    /// The JSON of `--report`.
    fn report(&self, py: Python<'_>) -> PyResult<String> {
        py.detach(|| self.read.report.to_json()).map_err(unserialised)
    }

    /// The JSON of `stats --json`.
    fn stats(&self, py: Python<'_>) -> PyResult<String> {
        py.detach(|| StatsFile::new(vec![self.read.stats.clone()]).to_json()).map_err(unserialised)
    }

    /// The lines that a conversion prints.
    fn summary(&self) -> String {
        self.read.report.inputs.iter().map(|input| traceconv::report::summary(input, false)).collect()
    }

    fn figures(&self) -> Figures {
        Figures(self.read.figures.clone(), self.read.report.inputs.clone())
    }

    fn table(&self, py: Python<'_>, name: String) -> Result<Table, Problem> {
        let settings = &self.options.get().0;
        let (schema, batches) = py.detach(|| {
            let table = fleet::tables(&[name])?.remove(0);
            self.read.table(table, settings)
        })?;
        Ok(Table { schema, batches })
    }
}

/// A table, which Arrow's C data interface hands over without a copy.
#[pyclass(frozen, module = "traceconv._traceconv")]
struct Table {
    schema: SchemaRef,
    batches: Vec<RecordBatch>,
}

#[pymethods]
impl Table {
    #[getter]
    fn num_rows(&self) -> usize {
        self.batches.iter().map(RecordBatch::num_rows).sum()
    }

    #[getter]
    fn column_names(&self) -> Vec<String> {
        self.schema.fields().iter().map(|field| field.name().clone()).collect()
    }

    fn __len__(&self) -> usize {
        self.num_rows()
    }

    fn __repr__(&self) -> String {
        format!("<traceconv.Table of {} rows: {}>", self.num_rows(), self.column_names().join(", "))
    }

    /// Every consumer gets the same memory. A schema that is asked for is a wish only, which the protocol lets us leave unfulfilled.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let _ = requested_schema;
        let batches = self.batches.clone().into_iter().map(Ok);
        let stream = FFI_ArrowArrayStream::new(Box::new(RecordBatchIterator::new(batches, self.schema.clone())));
        PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
    }
}

fn unserialised(error: serde_json::Error) -> PyErr {
    TraceconvError::new_err(error.to_string())
}

fn json(value: &impl Serialize) -> PyResult<String> {
    serde_json::to_string(value).map_err(unserialised)
}

/// Reads a recording of these inputs, and draws it if a trace is wanted.
#[pyfunction]
fn read(py: Python<'_>, inputs: Vec<Input>, options: Py<PyOptions>, draws: bool) -> PyResult<Recording> {
    let settings = &options.get().0;
    let mut read = py.detach(|| Read::new(inputs.into_iter().map(Given::from).collect(), settings, draws))?;
    let trace = read.trace.take().map(|trace| PyBytes::new(py, &trace).unbind());
    Ok(Recording { read, trace, options })
}

/// The verdicts of a budget as JSON, their sentences, and the table for people.
#[pyfunction]
fn check(py: Python<'_>, figures: &Figures, budget: &str) -> PyResult<(String, Vec<String>, String)> {
    py.detach(|| {
        let budget = parse_budget(budget)?;
        let verdicts = judge::check(&budget, &figures.0);
        let broken = verdicts.iter().filter(|verdict| verdict.is_broken()).flat_map(text::broken).collect();
        let table = format!("{}\n\n{}", text::verdict_summary(&verdicts), text::verdicts(&verdicts));
        Ok((json(&verdicts)?, broken, table))
    })
}

fn parse_budget(text: &str) -> Result<Budget, Problem> {
    Budget::parse(text).map_err(|error| Problem(Kind::Budget, error.to_string()))
}

/// A recording: its name, and its metrics.
type Named = (String, Py<Figures>);

/// The differences, with the doubts about times.
#[derive(Serialize)]
struct Differences<'a> {
    notes: &'a [String],
    #[serde(flatten)]
    diff: &'a Diff,
}

/// The differences as JSON, the worst as a sentence, and the table for people.
#[pyfunction]
#[pyo3(signature = (base, new, *, fail_over=None, fail_on_new=None, min_change=None, only=Vec::new()))]
fn diff(
    py: Python<'_>,
    base: Named,
    new: Named,
    fail_over: Option<f64>,
    fail_on_new: Option<&str>,
    min_change: Option<f64>,
    only: Vec<String>,
) -> PyResult<(String, Option<String>, String)> {
    let fail_on_new = match fail_on_new {
        None if fail_over.is_some() => FailOnNew::Tasks,
        None | Some("none") => FailOnNew::None,
        Some("tasks") => FailOnNew::Tasks,
        Some("all") => FailOnNew::All,
        Some(other) => return Err(wrong_option(format!("fail_on_new: `{other}` is unknown; there are none, tasks, all")).into()),
    };
    let names = [&*base.0, &*new.0];
    let (base, new) = (base.1.get(), new.1.get());
    py.detach(|| {
        let mut options = DiffOptions::default();
        (options.fail_over_percent, options.fail_on_new, options.only) = (fail_over, fail_on_new, only);
        options.min_change_percent = min_change.unwrap_or(options.min_change_percent);
        let diff = compare(&base.0, &new.0, &options);
        let notes = notes_on_comparison(names, [&base.1, &new.1]);
        let mut table = format!("{}\n\n{}", text::difference_summary(&diff), text::differences(&diff, usize::MAX));
        notes.iter().for_each(|note| table += &format!("note: {note}\n"));
        Ok((json(&Differences { notes: &notes, diff: &diff })?, text::worst(&diff), table))
    })
}

/// The file that `traceconv baseline` writes of these runs: a name and the metrics of each.
#[pyfunction]
fn baseline(runs: Vec<Named>) -> PyResult<String> {
    let figures: Vec<_> = runs.iter().map(|(name, figures)| (name.clone(), figures.get().0.clone())).collect();
    let mut file = BaselineFile::new(TOOL_VERSION, &figures);
    file.findings = doubtful_findings(runs.iter().flat_map(|(_, figures)| &figures.get().1));
    let text = serde_json::to_string_pretty(&file).map_err(unserialised)?;
    Ok(text + "\n")
}

/// Of each input, which is a recording: its identity, its labels, its format if it is to be recognised, and sentences about labels that were left out.
type IdentifiedRow = (String, BTreeMap<String, String>, Option<&'static str>, Vec<String>);

#[pyfunction]
fn identify(
    py: Python<'_>,
    inputs: Vec<Input>,
    options: Py<PyOptions>,
    labels: Vec<(String, String)>,
    recognises: bool,
) -> Result<Vec<IdentifiedRow>, Problem> {
    let settings = &options.get().0;
    py.detach(|| {
        let one = |input: Input| {
            let found = Identified::open(vec![input.into()], settings);
            let (id, own, problems) = (found.id.clone(), found.labels.clone(), found.problems.clone());
            let format = if recognises { found.recognise(settings).format() } else { None };
            (id, fleet::labels(own, &labels), format, problems)
        };
        fleet::check_labels(&labels)?;
        Ok(inputs.into_iter().map(one).collect())
    })
}

/// The name of a part, its files by table, and of each recording its identity, its error, and the rules that it breaks.
type PartOf<'py> = (String, Vec<(&'static str, Bound<'py, PyBytes>)>, Vec<(String, Option<String>, Vec<String>)>);

#[pyfunction]
fn part<'py>(
    py: Python<'py>,
    inputs: Vec<Input>,
    options: Py<PyOptions>,
    tables: Vec<String>,
    labels: Vec<(String, String)>,
    columns: Vec<String>,
    budget: Option<&str>,
) -> PyResult<PartOf<'py>> {
    let settings = &options.get().0;
    let written = py.detach(|| {
        let budget = budget.map(parse_budget).transpose()?;
        // One after the other: each has a copy of its bytes while it is read.
        fleet::part(inputs.into_iter().map(Given::from), settings, &tables, &labels, &columns, budget.as_ref())
    })?;
    let files = written.files.into_iter().map(|(table, bytes)| (table, PyBytes::new(py, &bytes))).collect();
    let rows = written.rows.into_iter().map(|row| (row.id, row.error, row.broken)).collect();
    Ok((written.name, files, rows))
}

/// How many recordings each part has, by their lengths in bytes.
#[pyfunction]
fn part_lengths(bytes: Vec<u64>, most: Option<usize>) -> Vec<usize> {
    export::part_lengths(bytes, most.unwrap_or(PART_RECORDINGS).max(1))
}

/// The folder of a partition, with the `/` after it.
#[pyfunction]
fn part_folder(label: &str, value: Option<&str>) -> String {
    export::part_folder(label, value)
}

/// The columns of labels.
#[pyfunction]
fn label_columns(labels: Vec<BTreeMap<String, String>>) -> Vec<String> {
    export::label_columns(&labels)
}

/// The text of `dataset.json`.
#[pyfunction]
fn about() -> String {
    fleet::about()
}

/// The identities of the recordings in a file of the table of recordings that could be read.
#[pyfunction]
fn identities(py: Python<'_>, file: PyBackedBytes) -> Result<Vec<String>, Problem> {
    py.detach(|| dataset::identities(Bytes::copy_from_slice(&file)).map_err(dataset_problem))
}

#[pymodule]
fn _traceconv(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    module.add("__version__", TOOL_VERSION)?;
    module.add("SCHEMA_VERSION", export::SCHEMA_VERSION)?;
    for (name, exception) in [
        ("TraceconvError", py.get_type::<TraceconvError>()),
        ("InputError", py.get_type::<InputError>()),
        ("FormatError", py.get_type::<FormatError>()),
        ("OptionError", py.get_type::<OptionError>()),
        ("ConvertError", py.get_type::<ConvertError>()),
        ("BudgetError", py.get_type::<BudgetError>()),
        ("DatasetError", py.get_type::<DatasetError>()),
    ] {
        module.add(name, exception)?;
    }
    module.add_class::<PyOptions>()?;
    module.add_class::<Figures>()?;
    module.add_class::<Recording>()?;
    module.add_class::<Table>()?;
    module.add_function(wrap_pyfunction!(read, module)?)?;
    module.add_function(wrap_pyfunction!(check, module)?)?;
    module.add_function(wrap_pyfunction!(diff, module)?)?;
    module.add_function(wrap_pyfunction!(baseline, module)?)?;
    module.add_function(wrap_pyfunction!(identify, module)?)?;
    module.add_function(wrap_pyfunction!(part, module)?)?;
    module.add_function(wrap_pyfunction!(part_lengths, module)?)?;
    module.add_function(wrap_pyfunction!(part_folder, module)?)?;
    module.add_function(wrap_pyfunction!(label_columns, module)?)?;
    module.add_function(wrap_pyfunction!(about, module)?)?;
    module.add_function(wrap_pyfunction!(identities, module)?)?;
    Ok(())
}
