//! Recordings as Python gives them: opened, recognised and read as the command line does it.

use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use pyo3::prelude::*;
use traceconv::export::{self, Labels, Part, Table, TableSink, table::Rows};
use traceconv::format::{FORMATS, Format, FormatOptions, OptionKind, OptionSpec, OptionValue};
use traceconv::input::archive::is_archive;
use traceconv::input::{Input, InputError, ReadOptions, RecogniseError, Recognised, detect, sidecar};
use traceconv::metrics::{Figure, Losses, figures};
use traceconv::model::{Rate, RecorderNotes};
use traceconv::pipeline::{self, ConvertError, EventDetail, Gathered, InputSummary, Options, Progress, Source, TimeBound};
use traceconv::report::stats::Recording;
use traceconv::report::{
    InputReport, InputStatus, Report, TraceReport, name_in_sentence, stored, viewer, warning_of_format, without_events,
};

/// Which exception a problem becomes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// An input cannot be opened or read.
    Input,
    /// It is in no known format.
    Format,
    /// An option has a value that cannot be used.
    Option,
    /// There is no event, or the format refuses the recording.
    Convert,
    /// A budget, a baseline or saved statistics cannot be used.
    Budget,
    /// A part of a dataset cannot be written or read.
    Dataset,
    /// A signal's handler has raised an exception: `take_raised`.
    Stopped,
}

/// A sentence, and the kind of problem.
#[derive(Debug)]
pub struct Problem(pub Kind, pub String);

/// A problem of an option.
pub fn wrong_option(sentence: impl Into<String>) -> Problem {
    Problem(Kind::Option, sentence.into())
}

thread_local! {
    static RAISED: Cell<Option<PyErr>> = const { Cell::new(None) };
}

/// How long Ctrl-C may wait.
const SIGNALS_EVERY: Duration = Duration::from_millis(100);

/// Runs the handlers of signals now and then. Work goes on unless one raises an exception.
fn goes_on() -> impl FnMut(Progress) -> bool {
    let mut checked = Instant::now();
    move |_| {
        if checked.elapsed() < SIGNALS_EVERY {
            return true;
        }
        checked = Instant::now();
        let raised = Python::attach(|py| py.check_signals()).err();
        let goes_on = raised.is_none();
        RAISED.set(raised);
        goes_on
    }
}

/// The exception of a signal's handler that stopped this thread's work.
pub fn take_raised() -> Option<PyErr> {
    RAISED.take()
}

/// The bytes of an input.
#[derive(Clone, Debug)]
pub enum Content {
    File(PathBuf),
    /// With the notes that lie beside it.
    Bytes(Vec<u8>, Option<Vec<u8>>),
    /// They could not be fetched: the end of a sentence that begins with the input's name.
    Missing(String),
}

/// An input of a recording.
#[derive(Clone, Debug)]
pub struct Given {
    pub name: String,
    pub content: Content,
    pub core: Option<u16>,
}

/// How recordings are read and drawn: the options of the command line.
#[derive(Clone)]
pub struct Settings {
    format: Option<&'static dyn Format>,
    reading: FormatOptions,
    read_options: ReadOptions,
    swo_port: Option<u16>,
    /// `None`: the input's.
    firmware_name: Option<String>,
    options: Options,
}

/// The options as Python gives them.
#[derive(Default)]
pub struct Wanted {
    pub format: Option<String>,
    pub clock_hz: Option<String>,
    pub cores: Option<u16>,
    pub swo_port: Option<u16>,
    pub detail: Option<String>,
    pub from: Option<String>,
    pub to: Option<String>,
    pub name: Option<String>,
    pub threads: usize,
    pub mmap: bool,
    pub max_decompressed: Option<u64>,
    /// The options of formats: the value of a flag is empty.
    pub own: Vec<(String, String)>,
}

impl Wanted {
    /// Their meaning.
    pub fn settings(self) -> Result<Settings, Problem> {
        let format = self.format.map(|name| {
            let known: Vec<&str> = FORMATS.iter().map(|format| format.name()).collect();
            let unknown = || wrong_option(format!("`{name}` is no format; there are {}", known.join(", ")));
            detect::by_name(&name).ok_or_else(unknown)
        });
        let clock = self.clock_hz.map(|text| Rate::parse_hz(&text)).transpose();
        let clock = clock.map_err(|error| wrong_option(format!("clock_hz: {error}")))?;
        let own: Vec<_> = self.own.iter().map(|(name, value)| own_option(name, value)).collect::<Result<_, _>>()?;
        for (at, (spec, _)) in own.iter().enumerate() {
            if !spec.repeatable && own[..at].iter().any(|(before, _)| before.name == spec.name) {
                return Err(wrong_option(format!("`{}` can be given once only", spec.name.replace('-', "_"))));
            }
        }
        let own = own.into_iter().map(|(spec, value)| (spec.name, value)).collect();
        let reading = FormatOptions { clock, cores: self.cores, own, ..FormatOptions::default() };
        let texts = reading.own.iter().filter(|(_, value)| !matches!(value, OptionValue::File { .. })).cloned();
        if reading.own.iter().all(|(_, value)| !matches!(value, OptionValue::File { .. })) {
            let options = FormatOptions { own: texts.collect(), ..FormatOptions::default() };
            for format in FORMATS {
                format.open(std::slice::from_ref(&options)).map_err(|error| wrong_option(error.to_string()))?;
            }
        }
        let time = |option: &str, text: Option<String>| {
            let bound = text.map(|text| text.parse::<TimeBound>()).transpose();
            bound.map_err(|error| wrong_option(format!("{option}: {error}")))
        };
        let (from, to) = (time("from_", self.from)?, time("to", self.to)?);
        if let (Some(TimeBound::Absolute(first)), Some(TimeBound::Absolute(last)))
        | (Some(TimeBound::AfterStart(first)), Some(TimeBound::AfterStart(last))) = (from, to)
            && first > last
        {
            return Err(wrong_option("nothing lies between from_ and to: from_ is the later one"));
        }
        let events = match self.detail.as_deref() {
            None | Some("default") => EventDetail::Default,
            Some("overview") => EventDetail::Overview,
            Some("all") => EventDetail::All,
            Some(other) => return Err(wrong_option(format!("`{other}` is no detail; there are overview, default, all"))),
        };
        let mut read_options = ReadOptions::new().mmap(self.mmap).spool_after_bytes(usize::MAX);
        if let Some(bytes) = self.max_decompressed {
            read_options = read_options.max_decompressed_bytes(bytes);
        }
        Ok(Settings {
            format: format.transpose()?,
            reading,
            read_options,
            swo_port: self.swo_port,
            firmware_name: self.name,
            options: Options::default().from(from).to(to).events(events).threads(self.threads).statistics(true),
        })
    }
}

fn own_option(name: &str, value: &str) -> Result<(OptionSpec, OptionValue), Problem> {
    let name = name.replace('_', "-");
    let spec = FORMATS.iter().flat_map(|format| format.options()).find(|spec| spec.name == name);
    let spec = spec.ok_or_else(|| wrong_option(format!("there is no option `{}`", name.replace('-', "_"))))?;
    let value = match spec.kind {
        OptionKind::Flag if value.is_empty() => OptionValue::Flag,
        OptionKind::Flag => {
            return Err(wrong_option(format!("{}: True or False is expected, not `{value}`", name.replace('-', "_"))));
        }
        _ if value.is_empty() => return Err(wrong_option(format!("{}: a value is missing", name.replace('-', "_")))),
        OptionKind::Text(_) => OptionValue::Text(value.to_owned()),
        OptionKind::File(_) => {
            let bytes = std::fs::read(value)
                .map_err(|error| Problem(Kind::Option, format!("--{name} {value} cannot be read: {error}")))?;
            OptionValue::File { path: value.to_owned(), bytes: bytes.into() }
        }
    };
    Ok((*spec, value))
}

struct One {
    recognised: Recognised,
    notes: Option<RecorderNotes>,
}

struct OpenedInput {
    name: String,
    core: Option<u16>,
    /// An error is the end of a sentence.
    input: Result<Input, String>,
    notes: Option<RecorderNotes>,
}

/// The inputs of a recording, opened, but not recognised: that takes most of the time of a small one.
pub struct Identified {
    inputs: Vec<OpenedInput>,
    firmware_name: String,
    cores: Vec<Option<u16>>,
    /// The recording's identity: that of `traceconv export`.
    pub id: String,
    pub labels: Labels,
    /// Sentences about labels that cannot be used.
    pub problems: Vec<String>,
}

/// The inputs of a recording, opened.
pub struct Opened {
    pub reports: Vec<InputReport>,
    found: Vec<One>,
    firmware_name: String,
    cores: Vec<Option<u16>>,
    problem: Option<Kind>,
    /// The recording's identity: that of `traceconv export`.
    pub id: String,
    pub labels: Labels,
    /// Sentences about labels that cannot be used.
    pub problems: Vec<String>,
}

impl Identified {
    /// Opens a recording.
    pub fn open(given: Vec<Given>, settings: &Settings) -> Identified {
        let cores: Vec<Option<u16>> = given.iter().map(|one| one.core).collect();
        let stem = given.first().and_then(|first| Path::new(&first.name).file_stem()).map(|stem| stem.to_string_lossy());
        let firmware_name = settings.firmware_name.clone().or(stem.map(Into::into)).unwrap_or_else(|| "trace".into());
        let (mut inputs, mut labels, mut noted) = (Vec::new(), Labels::new(), Labels::new());
        let (mut texts, mut problems) = (Vec::new(), Vec::new());
        for Given { name, content, core } in given {
            export::add_folder_labels(Path::new(&name), &mut labels);
            let (input, notes) = match content {
                Content::File(path) => {
                    let input = Input::open(&path, &settings.read_options).and_then(|input| settings.channel(input));
                    let notes = input.as_ref().ok().filter(|input| input.part().is_none());
                    let notes = notes.and_then(|input| sidecar::read_of(&path, input));
                    (input.map_err(|error| error.to_string()), notes)
                }
                Content::Bytes(bytes, notes) => {
                    let input = Input::from_vec(bytes, &settings.read_options).and_then(|input| settings.channel(input));
                    let bytes = input.as_ref().map_or(0, |input| input.bytes().len() as u64);
                    (input.map_err(|error| error.to_string()), notes.map(|notes| sidecar::parse(notes, bytes)))
                }
                Content::Missing(why) => (Err(why), None),
            };
            if let Some(notes) = notes.as_ref().filter(|_| input.is_ok()) {
                for problem in export::add_note_labels(&notes.text, &mut noted) {
                    problems.push(format!("{name}: the notes beside it: {problem}"));
                }
                texts.extend_from_slice(&notes.text);
            }
            inputs.push(OpenedInput { name, core, input, notes });
        }
        export::join_labels(&mut labels, noted, &[]);

        let read_as = settings.options.clone().events(EventDetail::Default);
        let read_as = stored::options_hash(&read_as, &settings.reading, &cores);
        let identity = |inputs: Vec<&[u8]>| {
            let format = settings.format.map_or("", Format::name);
            export::recording_identity(cores.iter().copied().zip(inputs), &read_as, format, &texts)
        };
        let bytes: Result<Vec<&[u8]>, ()> =
            inputs.iter().map(|one| one.input.as_ref().map(Input::bytes).map_err(|_| ())).collect();
        let id = identity(bytes.unwrap_or_else(|()| inputs.iter().map(|one| one.name.as_bytes()).collect()));
        Identified { inputs, firmware_name, cores, id, labels, problems }
    }

    /// Recognises the inputs. If one cannot be used, its report says why.
    pub fn recognise(self, settings: &Settings) -> Opened {
        let Identified { inputs, firmware_name, cores, id, labels, problems } = self;
        let (mut reports, mut found, mut problem) = (Vec::new(), Vec::new(), None);
        for OpenedInput { name, core, input, notes } in inputs {
            let mut report = InputReport::named(name.clone(), core);
            match input.map_err(|error| (Kind::Input, error)).and_then(|input| settings.recognise(input, core, &mut report)) {
                Ok(recognised) => {
                    let is_one = recognised.len() == 1;
                    for recognised in recognised {
                        let mut report = InputReport::named(name.clone(), recognised.options.core);
                        let is_misplaced = notes.is_some() && is_one && settings.swo_port.is_some();
                        report.enter_input(&recognised.input);
                        if is_misplaced {
                            let hint = "The recorder's notes are not shown: they are about the whole stream, not about one port.";
                            report.hints.push(hint.into());
                        }
                        report.format = Some(recognised.detected.format.name());
                        report.detected_because = Some(recognised.detected.because.clone());
                        reports.push(report);
                        let notes = notes.clone().filter(|_| is_one && !is_misplaced).or(recognised.input.notes());
                        found.push(One { recognised, notes });
                    }
                }
                Err((kind, error)) => {
                    report.error = Some(format!("{} {error}", name_in_sentence(&report)));
                    problem = problem.or(Some(kind));
                    reports.push(report);
                }
            }
        }
        if problem.is_none() {
            let known: Vec<OptionSpec> = found.iter().flat_map(|one| one.recognised.detected.format.options()).copied().collect();
            for name in settings.reading.foreign_to(&known) {
                for (report, one) in reports.iter_mut().zip(&found) {
                    let title = one.recognised.detected.format.title();
                    report.hints.push(format!("--{name} does not apply to {title}, so it was not used."));
                }
            }
        }
        Opened { reports, found, firmware_name, cores, problem, id, labels, problems }
    }
}

impl Opened {
    /// Opens and recognises a recording.
    pub fn open(given: Vec<Given>, settings: &Settings) -> Opened {
        Identified::open(given, settings).recognise(settings)
    }

    /// The format's name, if the recording is in one.
    pub fn format(&self) -> Option<&'static str> {
        self.reports.first().and_then(|report| report.format)
    }

    /// Reads all inputs with `work`. A problem is the end of a sentence that begins with an input's name.
    fn with_sources<T>(
        &self,
        verb: &str,
        work: impl FnOnce(&[Source<'_>]) -> Result<T, ConvertError>,
    ) -> Result<T, (Kind, String)> {
        if let Some(kind) = self.problem {
            return Err((kind, "is one recording with an input that cannot be used".into()));
        }
        let releasers: Vec<_> = self.found.iter().map(|one| |range| one.recognised.input.release(range)).collect();
        let source = |(one, release)| -> Source<'_> {
            let One { recognised: Recognised { input, detected, options }, notes }: &One = one;
            Source::new(input.bytes(), detected.format).options(options.clone()).release(release).recorder(notes.as_ref())
        };
        let sources: Vec<Source<'_>> = self.found.iter().zip(releasers.iter().map(|release| release as _)).map(source).collect();
        let result = work(&sources);
        if self.found.iter().any(|one| one.recognised.input.was_cut_short()) {
            return Err((Kind::Input, InputError::CutShort.to_string()));
        }
        result.map_err(|error| {
            let kind = if matches!(error, ConvertError::Stopped) { Kind::Stopped } else { Kind::Convert };
            (kind, format!("{verb}: {error}"))
        })
    }

    /// The same. Without a result the reports say why.
    fn read<T>(&mut self, verb: &str, work: impl FnOnce(&[Source<'_>]) -> Result<T, ConvertError>) -> Result<T, Kind> {
        self.with_sources(verb, work).map_err(|(kind, reason)| {
            for report in &mut self.reports {
                let name = name_in_sentence(report);
                report.error.get_or_insert_with(|| format!("{name} {reason}"));
            }
            kind
        })
    }

    /// The statistics of the recording, and the batches of a table that is drawn. Without statistics the reports say why.
    pub fn gather(&mut self, settings: &Settings, part: Option<&mut Part<'_>>) -> Result<Gathered, Kind> {
        let gathered = self.read("cannot be read", |sources| match part {
            Some(part) => operations(sources, settings, part),
            None => pipeline::statistics(sources, &settings.options, false, &mut goes_on()),
        })?;
        self.enter(&gathered.inputs);
        self.reports.iter_mut().for_each(|report| report.warnings.extend(gathered.warnings.iter().cloned()));
        if self.reports.iter().any(|report| report.events > 0 && report.frames_ok > 0) {
            return Ok(gathered);
        }
        self.blame_no_events();
        Err(Kind::Convert)
    }

    /// Draws the recording: its trace and its statistics. Without a trace the reports say why.
    fn convert(&mut self, settings: &Settings) -> Result<(Vec<u8>, Gathered), Kind> {
        let mut options = settings.options.clone().firmware_name(self.firmware_name.clone());
        options.keep = Some(stored::attributes);
        let damage = stored::damage(self.found.iter().flat_map(|one| one.recognised.input.damages()));
        options.attributes.extend(damage.map(|damage| (stored::INPUT_DAMAGE.to_owned(), damage)));
        let format = self.found.first().map(|one| one.recognised.detected.format);
        options.attributes.extend(stored::marks(&options, &settings.reading, &self.cores, format));
        let mut trace = Vec::new();
        let mut converted =
            self.read("was not converted", |sources| pipeline::convert(sources, &options, &mut trace, &mut goes_on()))?;
        converted.warnings.extend(viewer::too_large(converted.output_bytes));
        self.enter(&converted.inputs);
        if self.reports.iter().all(|report| report.events == 0 || report.frames_ok == 0) {
            self.blame_no_events();
            return Err(Kind::Convert);
        }
        let statistics = converted.statistics.into_iter().next().ok_or(Kind::Convert)?;
        self.reports.iter_mut().for_each(|report| report.warnings.extend(converted.warnings.iter().cloned()));
        Ok((trace, Gathered { inputs: converted.inputs, statistics, folded: None, warnings: Vec::new() }))
    }

    /// Enters what was read into the reports.
    fn enter(&mut self, inputs: &[InputSummary]) {
        for ((report, summary), one) in self.reports.iter_mut().zip(inputs).zip(&self.found) {
            report.enter_summary(summary);
            let Recognised { input, detected, .. } = &one.recognised;
            report.warnings.extend(warning_of_format(report, input, detected));
        }
    }

    fn blame_no_events(&mut self) {
        for (report, one) in self.reports.iter_mut().zip(&self.found) {
            report.error = Some(without_events(report, &one.recognised.input, &one.recognised.detected));
        }
    }

    /// The errors of the inputs, in a sentence for each.
    pub fn errors(&self) -> String {
        let errors: Vec<&str> = self.reports.iter().filter_map(|report| report.error.as_deref()).collect();
        errors.join("; ")
    }
}

impl Settings {
    fn channel(&self, input: Input) -> Result<Input, InputError> {
        match self.swo_port {
            Some(port) => input.channel(port, &self.read_options),
            None => Ok(input),
        }
    }

    fn recognise(&self, input: Input, core: Option<u16>, report: &mut InputReport) -> Result<Vec<Recognised>, (Kind, String)> {
        report.enter_input(&input);
        if self.format.is_none() && is_archive(input.bytes()) {
            return Err((Kind::Format, "is an archive, not a recording; unpack it, and give its files one by one".into()));
        }
        let options = FormatOptions { core, ..self.reading.clone() };
        input.recognise(self.format, &options, &self.read_options).map_err(|error| {
            report.unrecognised = matches!(error, RecogniseError::Format { is_damaged_memory: false, .. });
            (if report.unrecognised { Kind::Format } else { Kind::Input }, error.to_string())
        })
    }
}

/// A recording that was read.
pub struct Read {
    pub opened: Opened,
    pub trace: Option<Vec<u8>>,
    pub report: Report,
    pub stats: Recording,
    pub figures: Vec<Figure>,
}

impl Read {
    /// Reads a recording, and draws it if a trace is wanted.
    pub fn new(given: Vec<Given>, settings: &Settings, draws: bool) -> Result<Read, Problem> {
        let mut opened = Opened::open(given, settings);
        let result = if draws {
            opened.convert(settings).map(|(trace, gathered)| (Some(trace), gathered))
        } else {
            opened.gather(settings, None).map(|gathered| (None, gathered))
        };
        let (trace, gathered) = result.map_err(|kind| Problem(kind, opened.errors()))?;
        let inputs = opened.reports.clone();
        let figures = figures(&gathered.statistics, losses(&inputs));
        let stats = Recording::new(inputs.clone(), Some(gathered.statistics.clone()));
        let mut of_trace = TraceReport::default();
        of_trace.output_bytes = trace.as_ref().map_or(0, |trace| trace.len() as u64);
        of_trace.statistics = Some(gathered.statistics);
        let mut inputs = inputs;
        if trace.is_some() {
            inputs.iter_mut().for_each(|input| input.status = Some(InputStatus::Converted));
        }
        let report = Report::new(vec![(of_trace, inputs)], 0.0);
        Ok(Read { opened, trace, report, stats, figures })
    }

    /// The rows of a table of the recording.
    pub fn table(&self, table: Table, settings: &Settings) -> Result<(SchemaRef, Vec<RecordBatch>), Problem> {
        let (id, labels) = (&self.opened.id, &self.opened.labels);
        let columns = export::label_columns([labels]);
        collect(table, &columns, |part| {
            part.begin(id);
            if table.is_drawn() {
                let drawn = self.opened.with_sources("cannot be read", |sources| operations(sources, settings, part));
                drawn.map_err(|(kind, reason)| Problem(kind, format!("the recording {reason}")))?;
            }
            let recording = Recording::new(self.stats.inputs.clone(), None);
            part.end(labels, &recording, &self.figures).map_err(dataset_problem)
        })
    }
}

/// The rows of the tables that are drawn.
fn operations(sources: &[Source<'_>], settings: &Settings, part: &mut Part<'_>) -> Result<Gathered, ConvertError> {
    pipeline::operations(sources, &settings.options.clone().events(EventDetail::All), part, &mut goes_on())
}

/// The batches of a table whose rows `fill` adds.
pub fn collect(
    table: Table,
    labels: &[String],
    fill: impl FnOnce(&mut Part<'_>) -> Result<(), Problem>,
) -> Result<(SchemaRef, Vec<RecordBatch>), Problem> {
    let mut batches = Vec::new();
    let rows = Rows::new(table, labels);
    let schema = rows.schema();
    let mut part = Part::new(vec![(table, TableSink::to_sink(rows, Box::new(&mut batches)))], labels.to_vec());
    fill(&mut part)?;
    part.finish().map_err(dataset_problem)?;
    Ok((schema, batches))
}

/// The losses of a recording's inputs.
pub fn losses(inputs: &[InputReport]) -> Losses {
    let recording = Recording::new(inputs.to_vec(), None);
    let totals = recording.losses;
    let mut losses = Losses::default();
    (losses.events, losses.cases, losses.lost_events, losses.repairs) =
        (recording.events(), totals.cases, totals.at_least_lost, totals.repairs);
    losses
}

/// A table that cannot be written or read.
pub fn dataset_problem(error: impl std::fmt::Display) -> Problem {
    Problem(Kind::Dataset, error.to_string())
}
