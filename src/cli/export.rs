//! `traceconv export INPUT... --parquet DIR`: recordings as tables, one after the other or in parts of a dataset.
//!
//! A part has the rows of some recordings, a file for each table. Which recordings are in which part depends only on the inputs, so that
//! the number of threads has no influence. The file of the table of recordings is put in its place last: without it the other files of
//! a part are left from a run that was stopped, and the next one removes them.

use std::collections::{BTreeMap, HashSet};
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{ArgGroup, Args as ClapArgs};
use serde::{Deserialize, Serialize};
use walkdir::WalkDir;

use super::args::{MoreInputs, ReadArgs};
use super::output::{Output, create_dir, is_broken_pipe, write_text};
use super::plan::{Place, PlanError, Reading, Recordings, SourceName, Verbosity, directory_of, plan_many, reading, shown};
use super::progress::ProgressMeter;
use super::recording_figures::{PartArgs, gather_by, losses_of, report_problems};
use super::source::{notes_beside, open_input};
use super::{Status, fail, say};
use crate::export::{
    Form, Labels, PART_RECORDINGS, Part, SCHEMA_VERSION, Table, TableSink, add_folder_labels, add_note_labels, check_label,
    dataset, join_labels, label_columns, part_folder, part_lengths, part_name, recording_identity,
};
use crate::input::Input;
use crate::metrics::figures;
use crate::model::counted;
use crate::pipeline::{self, EventDetail, Options, Team};
use crate::report::stats::Recording;
use crate::report::{TOOL_VERSION, indented_json, stored};

#[derive(Debug, ClapArgs)]
#[command(group = ArgGroup::new("form").required(true))]
pub(super) struct ExportArgs {
    /// The recordings
    ///
    /// Each is a recording of its own. But FILE@0 FILE@1 … are the cores of one, as for a conversion.
    #[arg(value_name = "INPUT[@CORE]", required_unless_present = "files_from")]
    inputs: Vec<PathBuf>,

    #[command(flatten)]
    more: MoreInputs,

    /// Write a dataset of Parquet files: DIR/TABLE/part-*.parquet
    #[arg(long, value_name = "DIR", group = "form")]
    parquet: Option<PathBuf>,

    /// Write a dataset of CSV files: DIR/TABLE/part-*.csv
    #[arg(long, value_name = "DIR", group = "form")]
    csv: Option<PathBuf>,

    /// Write one table as an Arrow file (Feather); `-` is standard output
    #[arg(long, value_name = "FILE", group = "form")]
    arrow: Option<PathBuf>,

    /// Write one table as lines of JSON; `-` is standard output
    #[arg(long, value_name = "FILE", group = "form")]
    ndjson: Option<PathBuf>,

    /// The tables; a dataset always has `recordings`
    #[arg(long, value_delimiter = ',', default_value = "recordings,metrics,losses", value_parser = table_names())]
    tables: Vec<Table>,

    /// A label of all recordings, e.g. `build=1.4.2`; may be repeated
    ///
    /// Each label is a column of the table `recordings`. Recordings also have the labels of their folders (as in
    /// `board=7/run-12.bin`), and those of a file `RECORDING.traceconv.jsonl` beside them: lines as `{"labels": {"board": "7"}}`.
    #[arg(long, value_name = "NAME=VALUE", value_parser = parse_label)]
    label: Vec<(String, String)>,

    /// Put the files of each value of a label into a folder NAME=VALUE, e.g. `format,board`
    ///
    /// `format` is the recordings' own. Several names, separated by commas, are folders in folders.
    #[arg(long, value_name = "NAMES", value_delimiter = ',', conflicts_with_all = ["arrow", "ndjson"])]
    partition_by: Vec<String>,

    /// Add to a dataset: only recordings that are not in it
    #[arg(long, requires = "parquet")]
    append: bool,

    #[command(flatten)]
    part: PartArgs,

    #[command(flatten)]
    read: ReadArgs,
}

/// `dataset.json`.
#[derive(Serialize, Deserialize)]
struct DatasetFile {
    schema_version: u32,
    tool_version: String,
}

fn table_names() -> impl TypedValueParser<Value = Table> {
    let parser = PossibleValuesParser::new(Table::ALL.map(Table::name));
    parser.map(|name| Table::ALL.into_iter().find(|table| table.name() == name).unwrap_or(Table::Recordings))
}

fn parse_label(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("a name and a value are expected, e.g. board=7")?;
    check_label(name)?;
    Ok((name.to_owned(), value.to_owned()))
}

/// A recording that is to be exported.
struct Planned {
    sources: Vec<SourceName>,
    labels: Labels,
    bytes: u64,
    id: String,
    /// If partitions need it.
    format: Option<&'static str>,
}

/// What the bytes of a recording, and the notes beside it, say.
struct Identified {
    id: String,
    format: Option<&'static str>,
    labels: Labels,
    problems: Vec<String>,
}

/// Where tables go.
struct Destination {
    form: Form,
    /// A dataset's directory, or a file.
    place: Place,
    is_dataset: bool,
    tables: Vec<Table>,
    partition_by: Vec<String>,
}

/// Of `--partition-by`: what recordings are, not a label.
const BY_FORMAT: &str = "format";

/// Recordings whose rows are in the same files.
struct PlannedPart<'a> {
    /// As `board=7/part-0123` with the hash of its recordings' identities; empty for a file.
    name: String,
    recordings: Vec<&'a Planned>,
}

/// The result of a part.
#[derive(Default)]
struct Done {
    exported: usize,
    /// Of these: without an event in the time range.
    empty: usize,
    unread: usize,
    skipped: usize,
    error: Option<anyhow::Error>,
}

/// Exports all recordings.
pub(super) fn main(args: &ExportArgs) -> Result<Status, PlanError> {
    let destination = Destination::plan(args)?;
    let place = &destination.place;
    let output = [place].into_iter().filter(|_| !destination.is_dataset).collect::<Vec<_>>();
    let Recordings { recordings, problems } = plan_many(&args.inputs, &args.more, &output, &args.read, Vec::new())?;
    let reading = reading(&args.read)?;
    let options = args.part.options(&reading)?;
    let status = report_problems(&problems);
    let team = Team::new(reading.threads);
    let with_events = destination.tables.contains(&Table::Events);
    let events = if with_events { EventDetail::All } else { EventDetail::Default };
    let options = Options { events, team: Some(team.clone()), ..options };

    let mut planned = recordings.into_iter().map(Planned::new).collect::<Result<Vec<_>, _>>()?;
    let order: Vec<usize> = (0..planned.len()).collect();
    let mut identified: Vec<Option<Identified>> = planned.iter().map(|_| None).collect();
    team.each(
        &order,
        |index| planned.get(index).map(|one| one.identify(&reading, &options, &destination)),
        |index, found| {
            if let Some(slot) = identified.get_mut(index) {
                *slot = found;
            }
        },
    );
    for (one, identified) in planned.iter_mut().zip(identified) {
        let Some(Identified { id, format, labels, problems }) = identified else { continue };
        let shown = problems.iter().filter(|_| reading.verbosity > Verbosity::Quiet);
        shown.for_each(|problem| say(&format!("warning: {problem}\n")));
        (one.id, one.format) = (id, format);
        join_labels(&mut one.labels, labels, &args.label);
    }

    let is_unknown = |name: &&String| *name != BY_FORMAT && !planned.iter().any(|one| one.labels.contains_key(*name));
    if let Some(name) = args.partition_by.iter().find(is_unknown).filter(|_| !planned.is_empty()) {
        return Err(PlanError::File(format!("--partition-by: no recording has a label `{name}`")));
    }
    let known = destination.prepare(args.append)?;
    let found = planned.len();
    let mut seen = known;
    planned.retain(|one| seen.insert(one.id.clone()));
    let known = found - planned.len();
    let labels = label_columns(planned.iter().map(|one| &one.labels));

    let parts = destination.parts(&planned);
    let total_bytes = planned.iter().map(|one| one.bytes).fold(0, u64::saturating_add);
    let meter = ProgressMeter::of_batch(&reading, planned.len(), total_bytes);
    let order: Vec<usize> = (0..parts.len()).collect();
    let mut all: Vec<Done> = Vec::new();
    let export = Export {
        destination: &destination,
        labels: &labels,
        reading: &reading,
        options: &options,
        meter: &meter,
        skips: args.more.skip_unrecognised,
    };
    team.each(&order, |index| parts.get(index).map(|part| export.part(part)), |_, done| all.extend(done));
    drop(meter);

    let mut status = status;
    let sum = |of: fn(&Done) -> usize| all.iter().map(of).sum::<usize>();
    let (exported, empty) = (sum(|done| done.exported), sum(|done| done.empty));
    let (unread, skipped) = (sum(|done| done.unread), sum(|done| done.skipped));
    for error in all.iter().filter_map(|done| done.error.as_ref()) {
        status = fail(error);
    }
    if unread > 0 {
        status = Status::Failed;
    }
    if reading.verbosity > Verbosity::Quiet {
        let more = [
            (empty, "without an event in the time range"),
            (known, "there already"),
            (unread, "not readable"),
            (skipped, "in no known format"),
        ];
        let more: String = more.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!(", {count} {what}")).collect();
        say(&format!("exported {}{more} -> {}\n", counted(exported, "recording"), place.as_output()));
    }
    Ok(status)
}

impl Planned {
    fn new(sources: Vec<SourceName>) -> Result<Planned, PlanError> {
        let mut labels = Labels::new();
        for source in &sources {
            let Place::File(path) = &source.place else {
                return Err(PlanError::usage("standard input has no name by which a recording can be found again; name a file"));
            };
            add_folder_labels(path, &mut labels);
        }
        let bytes = sources.iter().filter_map(SourceName::length).fold(0, u64::saturating_add);
        Ok(Planned { sources, labels, bytes, id: String::new(), format: None })
    }

    /// Its identity and the labels beside it. One that cannot be opened is known by its name, and has a row that says why.
    fn identify(&self, reading: &Reading, options: &Options, destination: &Destination) -> Identified {
        let read_options = reading.read_options(&destination.place);
        let opened: Result<Vec<Input>, _> =
            self.sources.iter().map(|source| open_input(source, reading, &read_options)).collect();
        let cores: Vec<Option<u16>> = self.sources.iter().map(|source| source.core).collect();
        let read_as = Options { events: EventDetail::Default, ..options.clone() };
        let read_as = stored::options_hash(&read_as, &reading.format_options, &cores);
        let format = reading.format().map_or("", |format| format.name());
        let (mut notes, mut labels, mut problems) = (Vec::new(), Labels::new(), Vec::new());
        for (source, input) in self.sources.iter().zip(opened.iter().flatten()) {
            let Some(text) = notes_beside(source, input).map(|notes| notes.text) else { continue };
            for name in add_note_labels(&text, &mut labels) {
                problems.push(format!("{}: the notes beside it: {name}", source.for_people()));
            }
            notes.extend(text);
        }
        let identity = |inputs: Vec<&[u8]>| recording_identity(cores.iter().copied().zip(inputs), &read_as, format, &notes);
        let id = match &opened {
            Ok(inputs) => identity(inputs.iter().map(Input::bytes).collect()),
            Err(_) => {
                let names: Vec<String> = self.sources.iter().map(SourceName::as_typed).collect();
                identity(names.iter().map(String::as_bytes).collect())
            }
        };
        let first = opened.into_iter().flatten().next().filter(|_| destination.partition_by.iter().any(|name| name == BY_FORMAT));
        let recognised = first.and_then(|input| input.recognise(reading.format(), &reading.format_options, &read_options).ok());
        let format = recognised.and_then(|recognised| Some(recognised.first()?.detected.format.name()));
        Identified { id, format, labels, problems }
    }
}

impl Destination {
    fn plan(args: &ExportArgs) -> Result<Destination, PlanError> {
        let forms =
            [(Form::Parquet, &args.parquet), (Form::Csv, &args.csv), (Form::Arrow, &args.arrow), (Form::Ndjson, &args.ndjson)];
        let (form, path) = forms
            .into_iter()
            .find_map(|(form, path)| Some((form, path.as_deref()?)))
            .ok_or_else(|| PlanError::usage("name where to write with --parquet, --csv, --arrow or --ndjson"))?;
        let is_dataset = matches!(form, Form::Parquet | Form::Csv);
        let mut tables = args.tables.clone();
        if is_dataset {
            // Last: its file says that the part is complete.
            tables.retain(|table| *table != Table::Recordings);
            tables.push(Table::Recordings);
        } else if tables.len() > 1 {
            return Err(PlanError::usage(format!(
                "a file holds one table; name it, e.g. --tables metrics, or write a dataset with --parquet or --csv (not {} tables)",
                tables.len()
            )));
        }
        let place = if is_dataset { Place::File(path.to_path_buf()) } else { Place::from_arg(path) };
        Ok(Destination { form, place, is_dataset, tables, partition_by: args.partition_by.clone() })
    }

    fn dir(&self) -> &Path {
        match &self.place {
            Place::File(path) => path,
            Place::Standard => Path::new("-"),
        }
    }

    /// Makes a dataset's directory. Returns the identities of the recordings in it.
    fn prepare(&self, append: bool) -> Result<HashSet<String>, PlanError> {
        let mut known = HashSet::new();
        if !self.is_dataset {
            return Ok(known);
        }
        let dir = self.dir();
        let failed = |error: &dyn std::fmt::Display| PlanError::File(format!("the dataset {}: {error}", shown(dir)));
        let about = dir.join(dataset::ABOUT);
        match fs::read_to_string(&about) {
            Ok(text) => {
                let file: DatasetFile = serde_json::from_str(&text).map_err(|error| failed(&error))?;
                if !append {
                    let append = if self.form == Form::Parquet { "add recordings to it with --append, or " } else { "" };
                    return Err(PlanError::usage(format!("{} is a dataset already; {append}name another directory", shown(dir))));
                }
                if file.schema_version != SCHEMA_VERSION {
                    return Err(failed(&format!(
                        "its tables have version {} and cannot be added to by this version of traceconv, which writes {SCHEMA_VERSION}",
                        file.schema_version
                    )));
                }
                let files = |table: Table| part_files(&dir.join(table.name()));
                let complete: HashSet<PathBuf> = files(Table::Recordings).into_iter().map(|(_, within)| within).collect();
                for (path, _) in files(Table::Recordings) {
                    let file = File::open(&path).map_err(|error| failed(&error))?;
                    known.extend(dataset::identities(file).map_err(|error| failed(&format!("{} {error}", shown(&path))))?);
                }
                for (path, _) in
                    Table::ALL.into_iter().flat_map(files).filter(|(_, within)| !complete.contains(within)).collect::<Vec<_>>()
                {
                    fs::remove_file(&path).map_err(|error| failed(&error))?;
                }
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                fs::create_dir_all(dir).map_err(|error| failed(&error))?;
                let file = DatasetFile { schema_version: SCHEMA_VERSION, tool_version: TOOL_VERSION.to_owned() };
                let text = indented_json(&file).map_err(|error| failed(&error))?;
                write_text(&Place::File(about), "the dataset", &text).map_err(|error| failed(&format!("{error:#}")))?;
            }
            Err(error) => return Err(failed(&error)),
        }
        Ok(known)
    }

    /// The recordings in parts, by their order, and for each value of the label of `--partition-by`.
    fn parts<'a>(&self, planned: &'a [Planned]) -> Vec<PlannedPart<'a>> {
        if !self.is_dataset {
            return vec![PlannedPart { name: String::new(), recordings: planned.iter().collect() }];
        }
        let mut folders: BTreeMap<String, Vec<&Planned>> = BTreeMap::new();
        for one in planned {
            let value = |name: &String| if name == BY_FORMAT { one.format } else { one.labels.get(name).map(String::as_str) };
            let folder: String = self.partition_by.iter().map(|name| part_folder(name, value(name))).collect();
            folders.entry(folder).or_default().push(one);
        }
        let mut parts = Vec::new();
        for (folder, recordings) in folders {
            let mut rest = recordings.as_slice();
            for length in part_lengths(recordings.iter().map(|one| one.bytes), PART_RECORDINGS) {
                let (part, after) = rest.split_at(length);
                rest = after;
                let name = part_name(part.iter().map(|one| one.id.as_str()));
                parts.push(PlannedPart { name: folder.clone() + &name, recordings: part.to_vec() });
            }
        }
        parts
    }

    /// The file of a table.
    fn file(&self, table: Table, part: &PlannedPart<'_>) -> Place {
        match &self.place {
            Place::File(dir) if self.is_dataset => {
                Place::File(dir.join(table.name()).join(format!("{}.{}", part.name, self.form.extension())))
            }
            place => place.clone(),
        }
    }
}

/// All files of parts in a table's folder: their paths, and these within it, without the extension.
pub(super) fn part_files(dir: &Path) -> Vec<(PathBuf, PathBuf)> {
    let files = WalkDir::new(dir).into_iter().filter_map(Result::ok).map(walkdir::DirEntry::into_path);
    let is_part = |path: &PathBuf| {
        let is_named = path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"part-"));
        is_named && path.extension().is_some_and(|extension| extension == Form::Parquet.extension())
    };
    files.filter(is_part).filter_map(|path| Some((path.clone(), path.strip_prefix(dir).ok()?.with_extension("")))).collect()
}

struct Export<'a> {
    destination: &'a Destination,
    labels: &'a [String],
    reading: &'a Reading,
    options: &'a Options,
    meter: &'a ProgressMeter,
    skips: bool,
}

impl Export<'_> {
    fn part(&self, part: &PlannedPart<'_>) -> Done {
        let mut done = Done::default();
        if let Err(error) = self.write(part, &mut done) {
            // Lines are complete without those that nobody reads; other files are not.
            let is_enough = self.destination.form == Form::Ndjson && is_broken_pipe(&error);
            done.error = Some(error).filter(|_| !is_enough);
        }
        done
    }

    fn write(&self, part: &PlannedPart<'_>, done: &mut Done) -> anyhow::Result<()> {
        let Destination { form, tables, .. } = self.destination;
        let places: Vec<Place> = tables.iter().map(|table| self.destination.file(*table, part)).collect();
        let mut outputs = Vec::new();
        for place in &places {
            if let (Place::File(path), true) = (place, self.destination.is_dataset) {
                create_dir(directory_of(path))?;
            }
            outputs.push(Output::create(place)?);
        }
        let failed = || format!("cannot write {}", places.first().map(Place::as_output).unwrap_or_default());
        let sinks = tables.iter().zip(&mut outputs);
        let sinks = sinks.map(|(table, output)| Ok((*table, TableSink::create(*table, self.labels, *form, output)?)));
        let sinks = sinks.collect::<anyhow::Result<_>>().with_context(failed)?;
        let mut rows = Part::new(sinks, self.labels.to_vec());
        for recording in &part.recordings {
            self.recording(recording, &mut rows, done).with_context(failed)?;
            self.meter.advance(recording.bytes);
            self.meter.end_file();
        }
        rows.finish().with_context(failed)?;
        for (output, place) in outputs.into_iter().zip(&places) {
            output.finish().with_context(|| format!("cannot write {}", place.as_output()))?;
        }
        Ok(())
    }

    fn recording(&self, planned: &Planned, rows: &mut Part<'_>, done: &mut Done) -> anyhow::Result<()> {
        let Export { destination, reading, options, .. } = self;
        let is_drawn = destination.tables.iter().any(|table| table.is_drawn());
        rows.begin(&planned.id);
        let (inputs, gathered) = gather_by(&planned.sources, reading, &destination.place, |sources| {
            if is_drawn {
                pipeline::operations(sources, options, rows, &mut |_| true)
            } else {
                pipeline::statistics(sources, options, false, &mut |_| true)
            }
        });
        if let Err(failure) = &gathered {
            if self.skips && inputs.iter().all(|input| input.unrecognised) {
                done.skipped += 1;
                return Ok(());
            }
            self.meter.say_above(failure);
        }
        *if gathered.is_ok() { &mut done.exported } else { &mut done.unread } += 1;
        done.empty += usize::from(gathered.as_ref().is_ok_and(|gathered| !gathered.warnings.is_empty()));
        let recording = Recording::new(inputs, None);
        let figures = gathered.map(|gathered| figures(&gathered.statistics, losses_of(&recording))).unwrap_or_default();
        Ok(rows.end(&planned.labels, &recording, &figures)?)
    }
}
