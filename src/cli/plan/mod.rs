//! From arguments to a plan: which inputs become which trace, with which options. Whatever can be said about wrong usage
//! without reading an input is said here.

mod inputs;
mod names;
mod place;

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

pub(super) use self::inputs::is_own;
use self::inputs::{FoundInput, FoundInputs};
use self::names::Named;
pub(super) use self::place::{ArchiveMember, Place, SourceName, directory_of, file, os_from_bytes, path_text, shown};
use self::place::{FileId, is_same_file};
use super::args::{ConvertArgs, MoreInputs, ReadArgs, When};
use super::merging::{self, MergePlan};
use super::trace_file::{self, Form};
use super::values::MaxLost;
use crate::format::{Format, FormatOptions};
use crate::input::{ReadOptions, detect};
use crate::pipeline::{Options, TimeBound};

/// The extension of outputs.
pub(super) const TRACE_EXTENSION: &str = "perfetto-trace";

/// Why nothing is done, with the way out.
#[derive(Debug, thiserror::Error)]
pub(super) enum PlanError {
    /// The command line is wrong, whatever is in any file.
    #[error("{0}")]
    Usage(String),
    /// A file that an option names cannot be read, or has the wrong content.
    #[error("{0}")]
    File(String),
}

impl PlanError {
    pub(super) fn usage(message: impl Into<String>) -> PlanError {
        PlanError::Usage(message.into())
    }
}

/// All that `traceconv INPUT...` is to do.
#[derive(Debug)]
pub(super) struct ConvertPlan {
    pub(super) jobs: Vec<Job>,
    pub(super) reading: Reading,
    /// The options of every job, except the firmware's name.
    pub(super) options: Options,
    /// The form of every trace.
    pub(super) form: Form,
    /// The directory that all outputs are in, if there is one; it may have to be made.
    pub(super) output_dir: Option<PathBuf>,
    pub(super) reports: Reports,
    pub(super) strict: bool,
    pub(super) strict_time: bool,
    pub(super) max_lost: Option<MaxLost>,
    pub(super) skip_unchanged: bool,
    pub(super) skip_unrecognised: bool,
}

/// Where each form of the report goes, if it is wanted.
#[derive(Debug)]
pub(super) struct Reports {
    pub(super) json: Option<Place>,
    pub(super) markdown: Option<Place>,
    pub(super) junit: Option<Place>,
}

impl Reports {
    /// Those that are wanted, with their options.
    pub(super) fn wanted(&self) -> impl Iterator<Item = (&'static str, &Place)> {
        let all = [("--report", &self.json), ("--report-md", &self.markdown), ("--junit", &self.junit)];
        all.into_iter().filter_map(|(option, place)| Some((option, place.as_ref()?)))
    }
}

/// One trace to be written.
#[derive(Debug)]
pub(super) struct Job {
    pub(super) sources: Vec<SourceName>,
    pub(super) output: Place,
    pub(super) firmware_name: String,
    /// Which of the sources are which recording, if there are several.
    pub(super) merge: Option<MergePlan>,
    /// The length of its files in bytes, as far as that is known before they are read.
    pub(super) bytes: u64,
    /// Why a source cannot be read, for each, if that is known already. Ends a sentence that begins with the input.
    pub(super) problems: Vec<Option<String>>,
}

impl Job {
    /// The job's (first) input in a sentence.
    pub(super) fn for_people(&self) -> String {
        self.sources.first().map_or_else(String::new, SourceName::for_people)
    }
}

/// How inputs are read.
#[derive(Debug)]
pub(super) struct Reading {
    format: Option<String>,
    pub(super) format_options: FormatOptions,
    pub(super) threads: usize,
    mmap: bool,
    max_decompressed_bytes: u64,
    /// The stimulus port that the recording is read from.
    pub(super) swo_port: Option<u16>,
    pub(super) verbosity: Verbosity,
    pub(super) progress: When,
}

impl Reading {
    /// The format that was named.
    pub(super) fn format(&self) -> Option<&'static dyn Format> {
        self.format.as_deref().and_then(detect::by_name)
    }

    /// Large temporary data go beside the output, which has to have room anyway, else to where the system has them.
    pub(super) fn read_options(&self, output: &Place) -> ReadOptions {
        let beside = match output {
            // The directory itself may still have to be made.
            Place::File(path) => directory_of(path).ancestors().find(|dir| dir.is_dir()).map(Path::to_path_buf),
            Place::Standard => None,
        };
        let beside = beside.filter(|dir| !dir.starts_with("/dev"));
        let spool_dir = beside.unwrap_or_else(std::env::temp_dir);
        let max_decompressed_bytes = self.max_decompressed_bytes;
        ReadOptions { mmap: self.mmap, spool_dir: Some(spool_dir), max_decompressed_bytes, ..ReadOptions::default() }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Verbosity {
    Quiet,
    Normal,
    Verbose,
}

/// Plans a conversion.
pub(super) fn plan_convert(args: &ConvertArgs, stdout_is_terminal: bool) -> Result<ConvertPlan, PlanError> {
    let place = |path: &Option<PathBuf>| path.as_deref().map(Place::from_arg);
    let output = place(&args.output);
    let reports = Reports { json: place(&args.report), markdown: place(&args.report_md), junit: place(&args.junit) };
    check_times(args.from, args.to)?;
    check_standard_output(output.as_ref(), &reports, stdout_is_terminal)?;
    let own: Vec<FileId> = reports.wanted().filter_map(|(_, place)| FileId::of(file(place)?)).collect();
    let FoundInputs { found, is_open } =
        inputs::find(&args.inputs.inputs, &args.inputs.more, &own, &first_read_options(&args.read))?;
    let output_dir = output.as_ref().and_then(file).filter(|path| path.is_dir() || ends_as_directory(path));
    let form = Form::new(&args.form, output.as_ref().and_then(file).filter(|_| output_dir.is_none()))?;
    if let Some(output) = &output {
        form.check(output)?;
    }
    let sources = || found.iter().map(|input| &input.source);
    check_core_count(sources(), args.read.cores)?;
    let mut merge = None;
    if args.merging.merge {
        if args.inputs.more.skip_unrecognised {
            return usage(
                "--skip-unrecognised is not for --merge: which recordings the trace has must not depend on what they contain; \
                 name the recordings, or choose them with --glob",
            );
        }
        check_standard_input(sources())?;
        let all: Vec<SourceName> = sources().cloned().collect();
        merge = Some(merging::plan(&args.merging, &all)?);
    } else {
        check_sources(sources())?;
    }

    let is_one = merge.is_some() || sources().all(|source| source.core.is_some());
    let groups: Vec<Vec<FoundInput>> = if is_one { vec![found] } else { found.into_iter().map(|input| vec![input]).collect() };
    let outputs = match (&output, output_dir) {
        (Some(_), None) if groups.len() > 1 || is_open && merge.is_none() => return Err(several_into_one(&groups)),
        (Some(output), None) => vec![output.clone()],
        _ => derived_outputs(&groups, merge.is_some(), output_dir, &form.extension())?,
    };
    let output_dir = output_dir.map(Path::to_path_buf);
    let mut jobs = Vec::with_capacity(groups.len());
    for (group, output) in groups.into_iter().zip(outputs) {
        let firmware_name = group.first().map_or_else(String::new, |first| path_text(Path::new(first.source.stem())));
        let (sources, problems): (Vec<_>, Vec<_>) = group.into_iter().map(|input| (input.source, input.problem)).unzip();
        jobs.push(Job {
            output,
            firmware_name: args.name.clone().unwrap_or(firmware_name),
            bytes: sources.iter().filter_map(SourceName::length).fold(0, u64::saturating_add),
            merge: merge.take(),
            sources,
            problems,
        });
    }
    let reads: Vec<PathBuf> = args.read.own.files().chain(listed_in(&args.inputs.more)).collect();
    check_outputs(&jobs, &reports, &reads)?;
    if form.split_bytes.is_some() {
        check_parts(&jobs)?;
    }

    Ok(ConvertPlan {
        jobs,
        options: Options {
            events: args.detail.into(),
            from: args.from,
            to: args.to,
            threads: args.read.threads,
            // Gathering them takes time: only if they are printed.
            statistics: reports.json.is_some() && !args.no_statistics || args.read.verbose,
            ..Options::default()
        },
        reading: reading(&args.read)?,
        form,
        output_dir,
        reports,
        strict: args.strict,
        strict_time: args.strict_time,
        max_lost: args.max_lost,
        skip_unchanged: args.skip_unchanged,
        skip_unrecognised: args.inputs.more.skip_unrecognised,
    })
}

/// Why several recordings cannot be converted to one output.
fn several_into_one(groups: &[Vec<FoundInput>]) -> PlanError {
    let inputs = groups.iter().flatten();
    let problem = inputs.filter_map(|input| Some((&input.source.place, input.source.member.as_ref()?.archive.problem()?))).next();
    match problem {
        Some((place, problem)) => {
            PlanError::File(format!("{} {problem}, or name a directory with -o for the files in it", place.for_people()))
        }
        None => PlanError::usage(
            "several inputs cannot go into one output; name a directory with -o that exists or ends in / (one trace for each), \
             name their cores (FILE@0 FILE@1 ...) if they are one recording, or add --merge to put them into one trace",
        ),
    }
}

/// The output of each group of inputs, named after its first one: in a directory, or beside the input.
fn derived_outputs(
    groups: &[Vec<FoundInput>],
    is_merge: bool,
    output_dir: Option<&Path>,
    extension: &str,
) -> Result<Vec<Place>, PlanError> {
    let firsts = || groups.iter().filter_map(|group| group.first());
    if output_dir.is_none()
        && let Some(nameless) = firsts().find(|first| first.source.is_nameless())
    {
        let input = nameless.source.for_people();
        return usage(format!("name the output with -o ({input} has no name to derive it from)"));
    }
    // A trace of several recordings is called so.
    let merged = firsts().next().filter(|_| is_merge).map(|first| merging::name_of_several(&first.source));
    let named: Vec<Named<'_>> = firsts()
        .map(|first| Named {
            path: first.beside.as_deref().or(file(&first.source.place)),
            within: merged.as_deref().unwrap_or(&first.within),
        })
        .collect();
    Ok(names::outputs(&named, output_dir, extension).into_iter().map(Place::File).collect())
}

/// Whether a path is written as that of a directory.
fn ends_as_directory(path: &Path) -> bool {
    path.as_os_str().as_encoded_bytes().last().is_some_and(|&byte| std::path::is_separator(char::from(byte)))
}

/// At most one thing goes to standard output, and no trace to a terminal.
fn check_standard_output(output: Option<&Place>, reports: &Reports, stdout_is_terminal: bool) -> Result<(), PlanError> {
    let all = output.map(|output| ("-o", output)).into_iter().chain(reports.wanted());
    let standard: Vec<&str> = all.filter(|(_, place)| **place == Place::Standard).map(|(option, _)| option).collect();
    if let [one, two, ..] = standard.as_slice() {
        return usage(format!("{one} - and {two} - cannot share standard output; name a file for one of them"));
    }
    if stdout_is_terminal && output == Some(&Place::Standard) {
        return usage("a trace is binary and is not written to a terminal; name a file with -o, or pipe the output");
    }
    Ok(())
}

/// The recordings that are to be read. Neither they nor other files that are read may be outputs.
pub(super) fn plan_recordings(inputs: &[PathBuf], output: &Place, read: &ReadArgs) -> Result<Vec<Vec<SourceName>>, PlanError> {
    let options = first_read_options(read);
    let named = inputs.iter().flat_map(|arg| inputs::expanded(arg));
    let sources = named.map(|arg| SourceName::parse(&arg, &options)).collect::<Result<Vec<_>, _>>()?;
    check_core_count(sources.iter(), read.cores)?;
    check_recordings(&sources, &[output], &read.own.files().collect::<Vec<_>>())?;
    Ok(recordings(sources))
}

/// The recordings that are to be read, of a command that takes many.
#[derive(Debug)]
pub(super) struct Recordings {
    pub(super) recordings: Vec<Vec<SourceName>>,
    /// Sentences about the named inputs that cannot be recordings.
    pub(super) problems: Vec<String>,
}

/// The recordings that are named, listed, or in directories. Neither they nor other files that are read may be outputs.
pub(super) fn plan_many(
    inputs: &[PathBuf],
    more: &MoreInputs,
    outputs: &[&Place],
    read: &ReadArgs,
    mut reads: Vec<PathBuf>,
) -> Result<Recordings, PlanError> {
    let own: Vec<FileId> = outputs.iter().filter_map(|place| FileId::of(file(place)?)).collect();
    let mut sources = Vec::new();
    let mut problems = Vec::new();
    for FoundInput { source, problem, .. } in inputs::find(inputs, more, &own, &first_read_options(read))?.found {
        match problem {
            Some(problem) => problems.push(format!("{} {problem}", source.for_people())),
            None => sources.push(source),
        }
    }
    reads.extend(read.own.files());
    reads.extend(listed_in(more));
    check_core_count(sources.iter(), read.cores)?;
    check_recordings(&sources, outputs, &reads)?;
    let recordings = if sources.is_empty() { Vec::new() } else { recordings(sources) };
    Ok(Recordings { recordings, problems })
}

/// The file with a list of inputs.
fn listed_in(more: &MoreInputs) -> Option<PathBuf> {
    more.files_from.as_deref().map(Place::from_arg).as_ref().and_then(file).map(Path::to_path_buf)
}

fn check_recordings(sources: &[SourceName], outputs: &[&Place], reads: &[PathBuf]) -> Result<(), PlanError> {
    check_sources(sources.iter())?;
    for output in outputs.iter().filter_map(|place| file(place)) {
        let mut read = sources.iter().filter_map(|source| file(&source.place)).chain(reads.iter().map(PathBuf::as_path));
        if read.any(|input| is_same_file(input, output)) {
            return usage(format!("{} is an input itself; name another output", shown(output)));
        }
    }
    Ok(())
}

/// How archives are read for the list of their files, before outputs are known.
fn first_read_options(args: &ReadArgs) -> ReadOptions {
    let spool_dir = Some(std::env::temp_dir());
    ReadOptions { mmap: !args.no_mmap, spool_dir, max_decompressed_bytes: args.max_decompressed, ..ReadOptions::default() }
}

/// Inputs that name their cores are one recording, others one each.
fn recordings(sources: Vec<SourceName>) -> Vec<Vec<SourceName>> {
    let is_one = sources.iter().all(|source| source.core.is_some());
    if is_one { vec![sources] } else { sources.into_iter().map(|source| vec![source]).collect() }
}

/// How inputs are read.
pub(super) fn reading(args: &ReadArgs) -> Result<Reading, PlanError> {
    let verbosity = match (args.quiet, args.verbose) {
        (true, _) => Verbosity::Quiet,
        (false, true) => Verbosity::Verbose,
        (false, false) => Verbosity::Normal,
    };
    args.own.check_texts().map_err(PlanError::Usage)?;
    let own = args.own.read().map_err(PlanError::File)?;
    let format_options = FormatOptions { clock: args.clock_hz, cores: args.cores, core: None, own };
    Ok(Reading {
        format: args.format.clone(),
        format_options,
        threads: args.threads,
        mmap: !args.no_mmap,
        max_decompressed_bytes: args.max_decompressed,
        swo_port: args.swo_port,
        verbosity,
        progress: args.progress,
    })
}

fn usage<T>(message: impl Into<String>) -> Result<T, PlanError> {
    Err(PlanError::Usage(message.into()))
}

pub(super) fn check_times(from: Option<TimeBound>, to: Option<TimeBound>) -> Result<(), PlanError> {
    match (from, to) {
        (Some(TimeBound::Absolute(from)), Some(TimeBound::Absolute(to)))
        | (Some(TimeBound::AfterStart(from)), Some(TimeBound::AfterStart(to)))
            if from > to =>
        {
            usage("nothing lies between --from and --to: --from is the later one")
        }
        _ => Ok(()),
    }
}

fn check_standard_input<'a>(sources: impl Iterator<Item = &'a SourceName>) -> Result<(), PlanError> {
    if sources.filter(|source| source.place == Place::Standard).count() > 1 {
        return usage("standard input (-) can be read only once");
    }
    Ok(())
}

fn check_sources<'a>(sources: impl IntoIterator<Item = &'a SourceName, IntoIter: Clone>) -> Result<(), PlanError> {
    let sources = sources.into_iter();
    check_standard_input(sources.clone())?;
    let with_core = sources.clone().filter(|source| source.core.is_some()).count();
    if with_core != 0 && with_core != sources.clone().count() {
        return usage(
            "inputs with a core (FILE@CORE) are one recording, inputs without are recordings of their own; name the cores of all, \
             or convert the others separately",
        );
    }
    let mut cores = HashMap::new();
    for source in sources {
        if let Some(core) = source.core
            && let Some(other) = cores.insert(core, source)
        {
            let (one, two) = (other.for_people(), source.for_people());
            return usage(format!("{one} and {two} are both named as core {core}; each core has one input"));
        }
    }
    Ok(())
}

/// No input may be of a core that `--cores` rules out.
fn check_core_count<'a>(mut sources: impl Iterator<Item = &'a SourceName>, core_count: Option<u16>) -> Result<(), PlanError> {
    let Some(core_count) = core_count else { return Ok(()) };
    match sources.find(|source| source.core.is_some_and(|core| core >= core_count)) {
        Some(source) => usage(format!(
            "the core of {} is not below the {core_count} of --cores: cores are counted from 0",
            source.for_people()
        )),
        None => Ok(()),
    }
}

/// No file of a trace that is split may have the name of an input.
fn check_parts(jobs: &[Job]) -> Result<(), PlanError> {
    let outputs: HashSet<PathBuf> = jobs.iter().filter_map(|job| file(&job.output)).map(absolute).collect();
    for input in jobs.iter().flat_map(|job| &job.sources).filter_map(|source| file(&source.place)) {
        if trace_file::wholes(&absolute(input)).any(|whole| outputs.contains(&whole)) {
            return usage(format!(
                "{} is an input itself and could be overwritten by --split-size; name another output with -o",
                shown(input)
            ));
        }
    }
    Ok(())
}

fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf())
}

/// No output may be an input, another output, a report, or another file that is read.
fn check_outputs(jobs: &[Job], reports: &Reports, reads: &[PathBuf]) -> Result<(), PlanError> {
    let input_files = jobs.iter().flat_map(|job| &job.sources).filter_map(|source| file(&source.place));
    let inputs: HashSet<FileId> = input_files.chain(reads.iter().map(PathBuf::as_path)).filter_map(FileId::of).collect();
    let is_input = |path: &Path| FileId::of(path).is_some_and(|id| inputs.contains(&id));
    let mut outputs: HashMap<PathBuf, &Job> = HashMap::new();
    let mut output_ids: HashMap<FileId, &Job> = HashMap::new();
    for job in jobs {
        let Some(output) = file(&job.output) else { continue };
        if is_input(output) {
            let looks_like_trace = output.as_os_str().as_encoded_bytes().ends_with(TRACE_EXTENSION.as_bytes());
            let hint = if looks_like_trace {
                ". If it is a Perfetto trace, it needs no conversion: open it at https://ui.perfetto.dev"
            } else {
                ""
            };
            return usage(format!("{} is an input itself and is not overwritten; name the output with -o{hint}", shown(output)));
        }
        // By name and by file: another output may be a link to it.
        let by_id = FileId::of(output).and_then(|id| output_ids.insert(id, job));
        if let Some(other) = outputs.insert(absolute(output), job).or(by_id) {
            return usage(format!(
                "{} and {} would both be written to {}; convert them separately, each with its own -o",
                other.for_people(),
                job.for_people(),
                job.output.as_output(),
            ));
        }
    }
    let mut named: HashMap<PathBuf, &str> = HashMap::new();
    for (option, report) in reports.wanted().filter_map(|(option, place)| Some((option, file(place)?))) {
        let shown = shown(report);
        let is_output =
            outputs.contains_key(&absolute(report)) || FileId::of(report).is_some_and(|id| output_ids.contains_key(&id));
        if is_output || is_input(report) {
            return usage(format!("{option} {shown} is an input or an output of this conversion; name another file"));
        }
        if report.is_dir() {
            return usage(format!("{option} {shown} is a directory; name a file"));
        }
        if let Some(other) = named.insert(absolute(report), option) {
            return usage(format!("{other} and {option} cannot both be written to {shown}"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
