//! From arguments to a plan: which inputs become which trace, with which options. Whatever can be said about wrong usage
//! without reading an input is said here.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use super::args::{ConvertArgs, DumpArgs, ReadArgs, StatsArgs};
use super::values::MaxLost;
use crate::format::{Format, FormatOptions};
use crate::input::{ReadOptions, detect};
use crate::pipeline::{Options, TimeBound};

/// The highest core number: the viewer knows 1024 CPUs.
const CORE_MAX: u16 = 1023;

/// What the names of outputs end with.
const EXTENSION: &str = "perfetto-trace";

/// Wrong usage, with the way out.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(super) struct UsageError(String);

/// All that `traceconv INPUT...` is to do.
#[derive(Debug)]
pub(super) struct ConvertPlan {
    pub(super) jobs: Vec<Job>,
    pub(super) reading: Reading,
    /// The options of every job but for the firmware's name.
    pub(super) options: Options,
    pub(super) report: Option<Place>,
    pub(super) strict: bool,
    pub(super) max_lost: Option<MaxLost>,
}

/// One trace to be written.
#[derive(Debug)]
pub(super) struct Job {
    pub(super) sources: Vec<SourceName>,
    pub(super) output: Place,
    pub(super) firmware_name: String,
}

/// All that `traceconv dump INPUT` is to do.
#[derive(Debug)]
pub(super) struct DumpPlan {
    pub(super) source: SourceName,
    pub(super) output: Place,
    pub(super) text: bool,
    pub(super) reading: Reading,
}

/// All that `traceconv stats INPUT...` is to do.
#[derive(Debug)]
pub(super) struct StatsPlan {
    /// The inputs of each recording.
    pub(super) recordings: Vec<Vec<SourceName>>,
    pub(super) output: Place,
    pub(super) form: StatsForm,
    pub(super) reading: Reading,
}

/// How statistics are told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StatsForm {
    /// As tables of so many rows at most.
    Tables(usize),
    Json,
    Folded,
}

/// How inputs are read.
#[derive(Debug)]
pub(super) struct Reading {
    format: Option<String>,
    pub(super) format_options: FormatOptions,
    pub(super) threads: usize,
    mmap: bool,
    pub(super) verbosity: Verbosity,
}

impl Reading {
    /// The format that was named.
    pub(super) fn format(&self) -> Option<&'static dyn Format> {
        self.format.as_deref().and_then(detect::by_name)
    }

    /// Large temporary data go beside the output, which has to have room anyway, else to where the system has them.
    pub(super) fn read_options(&self, output: &Place) -> ReadOptions {
        let beside = match output {
            Place::File(path) => Some(directory_of(path).to_path_buf()).filter(|dir| dir.is_dir() && !dir.starts_with("/dev")),
            Place::Standard => None,
        };
        let spool_dir = beside.unwrap_or_else(std::env::temp_dir);
        ReadOptions { mmap: self.mmap, spool_dir: Some(spool_dir), ..ReadOptions::default() }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Verbosity {
    Quiet,
    Normal,
    Verbose,
}

/// A file, or standard input or output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Place {
    Standard,
    File(PathBuf),
}

impl Place {
    fn from_arg(path: &Path) -> Place {
        if path.as_os_str() == "-" { Place::Standard } else { Place::File(path.to_path_buf()) }
    }

    /// The name as typed.
    pub(super) fn as_typed(&self) -> String {
        match self {
            Place::Standard => "-".into(),
            Place::File(path) => path.display().to_string(),
        }
    }
}

/// An input as named on the command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SourceName {
    pub(super) place: Place,
    pub(super) core: Option<u16>,
}

impl SourceName {
    /// Takes `FILE@CORE` apart. A file that has the whole name wins, so that names with an `@` keep working.
    fn parse(arg: &Path) -> Result<SourceName, UsageError> {
        let whole = || SourceName { place: Place::from_arg(arg), core: None };
        if fs::symlink_metadata(arg).is_ok() {
            return Ok(whole());
        }
        let Some((path, digits)) = split_core(arg.as_os_str()) else { return Ok(whole()) };
        let core = digits.parse().ok().filter(|&core| core <= CORE_MAX).ok_or_else(|| {
            UsageError(format!(
                "{}: {digits} is no core number (0 to {}), and no file has the whole name",
                arg.display(),
                CORE_MAX
            ))
        })?;
        Ok(SourceName { place: Place::from_arg(path), core: Some(core) })
    }

    /// The input in a sentence.
    pub(super) fn for_people(&self) -> String {
        match &self.place {
            Place::Standard => "standard input".into(),
            Place::File(path) => path.display().to_string(),
        }
    }

    /// The name up to its last dot.
    fn stem(&self) -> PathBuf {
        match &self.place {
            Place::Standard => "stdin".into(),
            Place::File(path) => path.file_stem().map_or_else(|| "trace".into(), PathBuf::from),
        }
    }

    /// The name that the trace gets in a directory.
    fn output_name(&self) -> PathBuf {
        let mut name = self.stem().into_os_string();
        name.push(".");
        name.push(EXTENSION);
        name.into()
    }
}

/// `path@digits`, with something on both sides of the `@`.
fn split_core(arg: &OsStr) -> Option<(&Path, &str)> {
    let bytes = arg.as_encoded_bytes();
    let at = bytes.iter().rposition(|&byte| byte == b'@').filter(|&at| at > 0)?;
    let digits = bytes.get(at + 1..).filter(|digits| !digits.is_empty() && digits.iter().all(u8::is_ascii_digit))?;
    let path = path_from_bytes(bytes.get(..at)?)?;
    Some((path, std::str::from_utf8(digits).ok()?))
}

#[cfg(unix)]
fn path_from_bytes(bytes: &[u8]) -> Option<&Path> {
    Some(Path::new(<OsStr as std::os::unix::ffi::OsStrExt>::from_bytes(bytes)))
}

/// Elsewhere only names that are Unicode can be taken apart without `unsafe`.
#[cfg(not(unix))]
fn path_from_bytes(bytes: &[u8]) -> Option<&Path> {
    std::str::from_utf8(bytes).ok().map(Path::new)
}

/// The directory that a file is in; never empty.
pub(super) fn directory_of(path: &Path) -> &Path {
    path.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Plans a conversion.
pub(super) fn plan_convert(args: &ConvertArgs, stdout_is_terminal: bool) -> Result<ConvertPlan, UsageError> {
    let sources = args.inputs.iter().map(|arg| SourceName::parse(arg)).collect::<Result<Vec<_>, _>>()?;
    let output = args.output.as_deref().map(Place::from_arg);
    let report = args.report.as_deref().map(Place::from_arg);
    check_times(args.from, args.to)?;
    check_sources(&sources)?;
    if output == Some(Place::Standard) {
        if stdout_is_terminal {
            return usage("a trace is binary and is not written to a terminal; name a file with -o, or pipe the output");
        }
        if report == Some(Place::Standard) {
            return usage("-o - and --report - cannot share standard output; name a file for one of them");
        }
    }

    let groups = recordings(sources);
    let mut jobs = Vec::new();
    let several = groups.len() > 1;
    for sources in groups {
        let Some(first) = sources.first() else { continue };
        let output = match (&output, &first.place) {
            (Some(Place::File(dir)), _) if dir.is_dir() => Place::File(dir.join(first.output_name())),
            (Some(_), _) if several => {
                return usage(
                    "several inputs cannot go into one output; name a directory that exists with -o (one trace for each), or \
                     name their cores (FILE@0 FILE@1 ...) if they are one recording",
                );
            }
            (Some(output), _) => output.clone(),
            (None, Place::Standard) => return usage("name the output with -o (standard input has no name to derive it from)"),
            (None, Place::File(path)) => Place::File(path.with_file_name(first.output_name())),
        };
        let firmware_name = args.name.clone().unwrap_or_else(|| first.stem().to_string_lossy().into_owned());
        jobs.push(Job { sources, output, firmware_name });
    }
    check_outputs(&jobs, report.as_ref())?;

    Ok(ConvertPlan {
        jobs,
        options: Options {
            events: args.events.into(),
            from: args.from,
            to: args.to,
            threads: args.read.threads,
            ..Options::default()
        },
        reading: reading(&args.read)?,
        report,
        strict: args.strict,
        max_lost: args.max_lost,
    })
}

/// Plans a dump.
pub(super) fn plan_dump(args: &DumpArgs) -> Result<DumpPlan, UsageError> {
    let source = SourceName::parse(&args.input)?;
    let output = args.output.as_deref().map_or(Place::Standard, Place::from_arg);
    if let (Place::File(input), Place::File(output)) = (&source.place, &output)
        && is_same_file(input, output)
    {
        return usage(format!("{} is the input itself; name another output with -o", output.display()));
    }
    Ok(DumpPlan { source, output, text: args.text, reading: reading(&args.read)? })
}

/// Plans statistics.
pub(super) fn plan_stats(args: &StatsArgs) -> Result<StatsPlan, UsageError> {
    let sources = args.inputs.iter().map(|arg| SourceName::parse(arg)).collect::<Result<Vec<_>, _>>()?;
    check_sources(&sources)?;
    let output = args.output.as_deref().map_or(Place::Standard, Place::from_arg);
    if let Some(output) = file(&output)
        && sources.iter().filter_map(|source| file(&source.place)).any(|input| is_same_file(input, output))
    {
        return usage(format!("{} is an input itself; name another output with -o", output.display()));
    }
    let form = match (args.json, args.folded) {
        (true, _) => StatsForm::Json,
        (false, true) => StatsForm::Folded,
        (false, false) => StatsForm::Tables(args.rows),
    };
    Ok(StatsPlan { recordings: recordings(sources), output, form, reading: reading(&args.read)? })
}

/// Inputs that name their cores are one recording, others one each.
fn recordings(sources: Vec<SourceName>) -> Vec<Vec<SourceName>> {
    let is_one = sources.iter().all(|source| source.core.is_some());
    if is_one { vec![sources] } else { sources.into_iter().map(|source| vec![source]).collect() }
}

fn reading(args: &ReadArgs) -> Result<Reading, UsageError> {
    let verbosity = match (args.quiet, args.verbose) {
        (true, _) => Verbosity::Quiet,
        (false, true) => Verbosity::Verbose,
        (false, false) => Verbosity::Normal,
    };
    let own = args.own.read().map_err(UsageError)?;
    let format_options = FormatOptions {
        clock: args.clock_hz,
        mode: args.mode.map(Into::into),
        cores: args.cores,
        core: None,
        has_own_ids: false,
        own,
    };
    Ok(Reading { format: args.format.clone(), format_options, threads: args.threads, mmap: !args.no_mmap, verbosity })
}

fn usage<T>(message: impl Into<String>) -> Result<T, UsageError> {
    Err(UsageError(message.into()))
}

fn check_times(from: Option<TimeBound>, to: Option<TimeBound>) -> Result<(), UsageError> {
    match (from, to) {
        (Some(TimeBound::Absolute(from)), Some(TimeBound::Absolute(to)))
        | (Some(TimeBound::AfterStart(from)), Some(TimeBound::AfterStart(to)))
            if from > to =>
        {
            usage("nothing lies between --from and --to: the first is the later one")
        }
        _ => Ok(()),
    }
}

fn check_sources(sources: &[SourceName]) -> Result<(), UsageError> {
    if sources.iter().filter(|source| source.place == Place::Standard).count() > 1 {
        return usage("standard input (-) can be read only once");
    }
    let with_core = sources.iter().filter(|source| source.core.is_some()).count();
    if with_core != 0 && with_core != sources.len() {
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

/// No output may be an input, another output, or the report.
fn check_outputs(jobs: &[Job], report: Option<&Place>) -> Result<(), UsageError> {
    let inputs: Vec<&Path> = jobs.iter().flat_map(|job| &job.sources).filter_map(|source| file(&source.place)).collect();
    let mut outputs: HashMap<PathBuf, String> = HashMap::new();
    for job in jobs {
        let Some(output) = file(&job.output) else { continue };
        if inputs.iter().any(|input| is_same_file(input, output)) {
            return usage(format!("{} is an input itself and is not overwritten; name the output with -o", output.display()));
        }
        let name = job.sources.first().map_or_else(String::new, SourceName::for_people);
        let absolute = std::path::absolute(output).unwrap_or_else(|_| output.to_path_buf());
        if let Some(other) = outputs.insert(absolute, name.clone()) {
            return usage(format!(
                "{other} and {name} would both be written to {}; convert them separately, each with its own -o",
                output.display()
            ));
        }
    }
    if let Some(report) = report.and_then(file) {
        let absolute = std::path::absolute(report).unwrap_or_else(|_| report.to_path_buf());
        let is_output = outputs.contains_key(&absolute) || outputs.keys().any(|output| is_same_file(output, report));
        if is_output || inputs.iter().any(|input| is_same_file(input, report)) {
            return usage(format!(
                "--report {} is an input or an output of this conversion; name another file",
                report.display()
            ));
        }
        if report.is_dir() {
            return usage(format!("--report {} is a directory; name a file", report.display()));
        }
    }
    Ok(())
}

fn file(place: &Place) -> Option<&Path> {
    match place {
        Place::File(path) => Some(path),
        Place::Standard => None,
    }
}

/// Whether two names lead to one regular file, by whatever links.
fn is_same_file(one: &Path, two: &Path) -> bool {
    let (Ok(one_meta), Ok(two_meta)) = (fs::metadata(one), fs::metadata(two)) else { return false };
    if !one_meta.is_file() || !two_meta.is_file() {
        return false;
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        (one_meta.dev(), one_meta.ino()) == (two_meta.dev(), two_meta.ino())
    }
    #[cfg(not(unix))]
    {
        matches!((fs::canonicalize(one), fs::canonicalize(two)), (Ok(one), Ok(two)) if one == two)
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::super::args::{Args, Command};
    use super::*;

    fn plan_on(terminal: bool, dir: &Path, line: &str) -> Result<ConvertPlan, String> {
        // Names are relative to a directory, which tests cannot change to: it is shared by all threads.
        let place = |word: &str| match word.strip_prefix("./") {
            Some(name) => dir.join(name).into_os_string(),
            None => word.into(),
        };
        let args = Args::try_parse_from(std::iter::once("traceconv".into()).chain(line.split(' ').map(place)));
        plan_convert(&args.map_err(|error| error.to_string())?.convert, terminal).map_err(|error| error.to_string())
    }

    /// The jobs in short: `sources -> output`, without the directory.
    fn jobs(dir: &Path, line: &str) -> Result<Vec<String>, String> {
        let short = |place: &Place| match place {
            Place::Standard => "-".to_string(),
            Place::File(path) => path.strip_prefix(dir).unwrap_or(path).display().to_string(),
        };
        let describe = |job: &Job| {
            let sources: Vec<_> = job
                .sources
                .iter()
                .map(|source| short(&source.place) + &source.core.map_or_else(String::new, |core| format!(" core {core}")))
                .collect();
            format!("{} -> {} ({})", sources.join(" + "), short(&job.output), job.firmware_name)
        };
        plan_on(false, dir, line).map(|plan| plan.jobs.iter().map(describe).collect())
    }

    fn dir_with(names: &[&str]) -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        names.iter().for_each(|name| fs::write(dir.path().join(name), "x").unwrap());
        dir
    }

    #[test]
    fn outputs_are_named_after_inputs() {
        let dir = dir_with(&["a.bin", "b.x.gz"]);
        let jobs = |line| jobs(dir.path(), line).unwrap();
        assert_eq!(jobs("./a.bin"), ["a.bin -> a.perfetto-trace (a)"]);
        assert_eq!(jobs("./a.bin ./b.x.gz"), ["a.bin -> a.perfetto-trace (a)", "b.x.gz -> b.x.perfetto-trace (b.x)"]);
        assert_eq!(jobs("./a.bin -o ./t"), ["a.bin -> t (a)"]);
        assert_eq!(jobs("./a.bin -o -"), ["a.bin -> - (a)"]);
        assert_eq!(jobs("- -o ./t --name pump"), ["- -> t (pump)"]);
        fs::create_dir(dir.path().join("out")).unwrap();
        assert_eq!(jobs("./a.bin - -o ./out"), ["a.bin -> out/a.perfetto-trace (a)", "- -> out/stdin.perfetto-trace (stdin)"]);
    }

    #[test]
    fn cores_of_one_recording_become_one_trace() {
        let dir = dir_with(&["a.bin", "b.bin", "c@1", "d@2.bin"]);
        let jobs = |line| jobs(dir.path(), line).unwrap();
        assert_eq!(jobs("./a.bin@0 ./b.bin@1"), ["a.bin core 0 + b.bin core 1 -> a.perfetto-trace (a)"]);
        assert_eq!(jobs("./a.bin@1"), ["a.bin core 1 -> a.perfetto-trace (a)"]);
        assert_eq!(jobs("-o ./t -- -@3"), ["- core 3 -> t (stdin)"]);
        // A file of the whole name wins, and only digits after the last @ name a core.
        assert_eq!(jobs("./c@1"), ["c@1 -> c@1.perfetto-trace (c@1)"]);
        assert_eq!(jobs("./c@1@0"), ["c@1 core 0 -> c@1.perfetto-trace (c@1)"]);
        assert_eq!(jobs("./d@2.bin"), ["d@2.bin -> d@2.perfetto-trace (d@2)"]);
        assert_eq!(jobs("./gone@x"), ["gone@x -> gone@x.perfetto-trace (gone@x)"]);
        assert_eq!(jobs("@1 -o ./t"), ["@1 -> t (@1)"]);
    }

    #[test]
    fn wrong_usage_names_the_way_out() {
        let dir = dir_with(&["a.bin", "a.hex", "b.bin", "c.perfetto-trace"]);
        let error = |line| jobs(dir.path(), line).unwrap_err();
        for (line, part) in [
            ("./a.bin ./b.bin -o ./t", "name a directory that exists with -o"),
            ("./a.bin ./b.bin -o -", "several inputs cannot go into one output"),
            ("./a.bin@0 ./b.bin", "name the cores of all"),
            ("./a.bin@1 ./b.bin@1", "are both named as core 1"),
            ("./a.bin@65536", "65536 is no core number (0 to 1023)"),
            ("-", "name the output with -o"),
            ("- - -o ./", "standard input (-) can be read only once"),
            ("./c.perfetto-trace", "is an input itself"),
            ("./a.bin -o ./a.bin", "is an input itself"),
            ("./a.bin ./a.hex", "would both be written to"),
            ("./a.bin ./a.bin", "would both be written to"),
            ("./a.bin -o - --report -", "cannot share standard output"),
            ("./a.bin --report ./a.bin", "is an input or an output"),
            ("./a.bin --report ./a.perfetto-trace", "is an input or an output"),
            ("./a.bin --report ./", "is a directory"),
            ("./a.bin --from 2s --to 1s", "nothing lies between"),
            ("./a.bin --from +2s --to +1s", "nothing lies between"),
        ] {
            assert!(error(line).contains(part), "{line}: {}", error(line));
        }
        assert!(jobs(dir.path(), "./a.bin --from 2s --to +1s").is_ok());
        assert!(plan_on(true, dir.path(), "./a.bin -o -").unwrap_err().contains("not written to a terminal"));
        assert!(plan_on(false, dir.path(), "./a.bin -o -").is_ok());
    }

    #[cfg(unix)]
    #[test]
    fn an_input_is_not_overwritten_through_a_link() {
        let dir = dir_with(&["a.bin"]);
        std::os::unix::fs::symlink(dir.path().join("a.bin"), dir.path().join("soft")).unwrap();
        fs::hard_link(dir.path().join("a.bin"), dir.path().join("hard")).unwrap();
        for line in ["./a.bin -o ./soft", "./a.bin -o ./hard", "./soft -o ./hard"] {
            assert!(jobs(dir.path(), line).unwrap_err().contains("is an input itself"), "{line}");
        }
    }

    #[test]
    fn a_dump_does_not_overwrite_its_input() {
        let dir = dir_with(&["a.bin"]);
        let input = dir.path().join("a.bin");
        let args =
            Args::try_parse_from(["traceconv".as_ref(), "dump".as_ref(), input.as_os_str(), "-o".as_ref(), input.as_os_str()]);
        let Some(Command::Dump(args)) = args.unwrap().command else { panic!("no dump") };
        assert!(plan_dump(&args).unwrap_err().to_string().contains("is the input itself"));
        let plan = plan_dump(&DumpArgs { output: None, ..args }).unwrap();
        assert_eq!((plan.output, plan.source.place), (Place::Standard, Place::File(input)));
    }
}
