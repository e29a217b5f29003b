//! The arguments as they are typed, and the help.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::builder::{PossibleValue, PossibleValuesParser};
use clap::{Args as ClapArgs, Parser, Subcommand, ValueEnum};

use super::check::CheckArgs;
use super::diff::DiffArgs;
use super::merging::MergeArgs;
use super::own_options::OwnOptions;
use super::recording_figures::PartArgs;
use super::trace_file::FormArgs;
use super::values::{MaxLost, parse_bytes, parse_max_lost, parse_rows, parse_time};
use crate::format::FORMATS;
use crate::input::MAX_DECOMPRESSED_BYTES;
use crate::model::Rate;
use crate::pipeline::{EventDetail, TimeBound};

const EXIT_STATUS: &str = "\
Exit status: 0 converted; 1 an input could not be converted, or a file that an option names cannot be used; 2 wrong usage; 3 converted, but more was lost than --strict or \
--max-lost allow, or less is known than --strict or --strict-time ask for; 130 stopped by a signal. In a batch the other inputs are still converted, and the worst status counts.";

const MORE_HELP: &str = "`--help` explains all options, `traceconv help COMMAND` those of a command.";

/// Converts binary traces of embedded systems to Perfetto traces.
#[derive(Debug, Parser)]
#[command(about = "Converts binary traces of embedded systems to Perfetto traces (open them at https://ui.perfetto.dev)")]
#[command(name = "traceconv", version, after_help = MORE_HELP, after_long_help = EXIT_STATUS, args_conflicts_with_subcommands = true)]
#[command(subcommand_negates_reqs = true)]
pub(super) struct Args {
    #[command(subcommand)]
    pub(super) command: Option<Command>,

    /// Colour in messages; `auto`: at a terminal, unless NO_COLOR is set, or where CLICOLOR_FORCE is
    #[arg(long, value_name = "WHEN", default_value = "auto", global = true)]
    pub(super) color: When,

    #[command(flatten)]
    pub(super) convert: ConvertArgs,
}

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// List every record of a recording, in file order
    Dump(DumpArgs),
    /// Print statistics of recordings: loads, latencies, queue levels, function times
    Stats(StatsArgs),
    /// Check statistics of recordings against a budget: exit status 3 if a limit is exceeded
    Check(CheckArgs),
    /// Write the mean and spread of several runs' statistics, to compare others with
    Baseline(super::baseline::BaselineArgs),
    /// Compare the statistics of two recordings: what got worse
    Diff(DiffArgs),
    /// Write recordings as tables for query engines: Parquet, Arrow, CSV or JSON lines
    #[cfg(feature = "export")]
    Export(super::export::ExportArgs),
    /// Show what recordings contain, without converting them
    Info(super::info::InfoArgs),
    /// Record from a serial port, a socket or a growing file
    #[cfg(feature = "record")]
    Record(super::record::RecordArgs),
    /// List the formats, how each is recognised, and their options
    Formats(super::formats::FormatsArgs),
    /// Print a script that completes commands and options in a shell
    Completions(super::manual::CompletionsArgs),
    /// Print the manual page, or write the pages of all commands into a directory
    Man(super::manual::ManArgs),
    /// Serve a trace to the viewer in the browser, until Ctrl-C
    #[cfg(feature = "serve")]
    Serve(super::open::ServeArgs),
    /// Serve a page that converts recordings in the browser, until Ctrl-C
    #[cfg(feature = "web-page")]
    Web(super::open::web::WebArgs),
}

/// Which inputs there are.
#[derive(Debug, ClapArgs)]
pub(super) struct InputArgs {
    /// The recordings; `-` is standard input
    ///
    /// Binary, hex text, base64 text, a dump of memory, Intel HEX or S-records, also compressed with gzip or zstd: recognised by
    /// content. An archive (tar, also compressed, or ZIP) is read as the files in it; ARCHIVE!FILE is one of them.
    ///
    /// Each is converted on its own. But FILE@0 FILE@1 … are the cores of one recording and become one trace. The number after
    /// the last `@` names a core only if there is no file of the whole name; to name the core of a file that ends like that, add
    /// another: `file@1@0`. A file called like a command is given as ./dump.
    #[arg(value_name = "INPUT[@CORE]", required_unless_present = "files_from")]
    pub(super) inputs: Vec<PathBuf>,

    #[command(flatten)]
    pub(super) more: MoreInputs,
}

/// Inputs that are not named one by one.
#[derive(Debug, ClapArgs)]
pub(super) struct MoreInputs {
    /// Take all files in input directories and below
    ///
    /// Hidden files, traces (*.perfetto-trace), notes of the recorder (*.traceconv.jsonl) and anything that is not a file are skipped. Links to directories are not followed.
    #[arg(short, long)]
    pub(super) recursive: bool,

    /// Only files in directories that match this pattern; may be repeated
    ///
    /// `*` and `?` match anything but `/`, `**` matches any directories, `{bin,hex}` matches either. A pattern with a `/` applies to
    /// the whole path within the directory, otherwise to the file's name. `!PATTERN` excludes files.
    #[arg(long, value_name = "PATTERN", requires = "recursive", allow_hyphen_values = true)]
    pub(super) glob: Vec<OsString>,

    /// Skip inputs that are in no known format, instead of failing: they are listed, and do not change the exit status
    #[arg(long)]
    pub(super) skip_unrecognised: bool,

    /// Read more inputs from a list, one in each line; `-` is standard input
    #[arg(long, value_name = "FILE")]
    pub(super) files_from: Option<PathBuf>,

    /// Names in the list end with a NUL byte, as written by `find -print0`
    #[arg(long, requires = "files_from")]
    pub(super) from0: bool,
}

#[derive(Debug, ClapArgs)]
pub(super) struct ConvertArgs {
    #[command(flatten)]
    pub(super) inputs: InputArgs,

    /// Where to write the trace; DIR/ gets one per input; `-` is standard output
    ///
    /// A name that ends in `/` is a directory, which is created if needed. Without this option the trace is written beside the (first)
    /// input, with its name up to the last dot and `.perfetto-trace`. Inputs of the same name get longer names in a directory: the
    /// whole name of the file if they are in one directory, or the names of the directories that distinguish them.
    #[arg(short, long, value_name = "OUT")]
    pub(super) output: Option<PathBuf>,

    /// Keep a trace that was made from the same bytes, by the same version, with the same options
    ///
    /// The trace records how it was made. It counts for --strict and --max-lost as if it were converted now.
    #[arg(long, conflicts_with_all = ["merge", "split_size"])]
    pub(super) skip_unchanged: bool,

    #[command(flatten)]
    pub(super) merging: MergeArgs,

    #[command(flatten)]
    pub(super) form: FormArgs,

    #[command(flatten)]
    pub(super) read: ReadArgs,

    /// Leave out events before this time
    ///
    /// A number with a unit (ns, us, ms, s), e.g. `1.5ms`: the trace's own time, as `dump` shows it in `ns`. With a plus sign,
    /// e.g. `+2s`: after the first event.
    #[arg(long, value_name = "TIME", value_parser = parse_time, allow_hyphen_values = true)]
    pub(super) from: Option<TimeBound>,

    /// Leave out events after this time
    #[arg(long, value_name = "TIME", value_parser = parse_time, allow_hyphen_values = true)]
    pub(super) to: Option<TimeBound>,

    /// How much detail the trace has
    #[arg(long, value_name = "LEVEL", default_value = "default")]
    pub(super) detail: DetailArg,

    /// Write a report (inputs, losses, statistics) as JSON; `-` is standard output
    ///
    /// If the name ends in .ndjson or .jsonl, it has a line for each trace with its inputs, and one for the run at the end. The directory
    /// is created if needed, as for the other reports.
    #[arg(long, value_name = "FILE")]
    pub(super) report: Option<PathBuf>,

    /// Leave the statistics out of the report: they are most of it, and take time
    #[arg(long, requires = "report")]
    pub(super) no_statistics: bool,

    /// Write a table of the inputs as Markdown, for the summary of a CI job; `-` is standard output
    #[arg(long, value_name = "FILE")]
    pub(super) report_md: Option<PathBuf>,

    /// Write the inputs as JUnit test cases, for CI; `-` is standard output
    ///
    /// An input that cannot be converted is an error, one that --strict, --strict-time or --max-lost reject is a failure.
    #[arg(long, value_name = "FILE")]
    pub(super) junit: Option<PathBuf>,

    /// Exit with 3 if anything was lost, or is ambiguous
    #[arg(long)]
    pub(super) strict: bool,

    /// Exit with 3 if the time axis is assumed or ambiguous
    #[arg(long)]
    pub(super) strict_time: bool,

    /// Exit with 3 if more events were lost in a trace, e.g. `10` or `0.5%`
    #[arg(long, value_name = "N|N%", value_parser = parse_max_lost, allow_hyphen_values = true)]
    pub(super) max_lost: Option<MaxLost>,

    /// The name of the firmware in the trace [default: the input's name]
    #[arg(long)]
    pub(super) name: Option<String>,

    #[cfg(feature = "serve")]
    #[command(flatten)]
    pub(super) open: super::open::OpenArgs,
}

/// The options of every command that reads inputs.
#[derive(Debug, ClapArgs)]
pub(super) struct ReadArgs {
    /// The format, instead of recognising it
    #[arg(long, value_name = "NAME", value_parser = format_names())]
    pub(super) format: Option<String>,

    /// The number of the target's cores [default: as the recording shows]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(super) cores: Option<u16>,

    /// The frequency of the time stamps, instead of the one that the recording states
    ///
    /// In Hz: whole numbers, also as a fraction, with k, M or G: `168M`, `32768`, `72M/7`.
    #[arg(long, value_name = "N[/D]", value_parser = Rate::parse_hz)]
    pub(super) clock_hz: Option<Rate>,

    /// Read what software wrote to an ITM stimulus port, as a recording of its own
    ///
    /// The input is an ITM stream (SWO), bare or in CoreSight frames; the port carries SyS-T, Tonbandgerät or another format.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(0..=255))]
    pub(super) swo_port: Option<u16>,

    #[command(flatten)]
    pub(super) own: OwnOptions,

    /// The number of threads; 0: one per processor. Does not affect the trace
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = parse_threads, allow_hyphen_values = true, global = true)]
    pub(super) threads: usize,

    /// Refuse inputs, layers and members of archives that decompress to more than this
    ///
    /// In bytes, also with k, M or G. Temporary data of that size go to the directory of the output, or to TMPDIR.
    #[arg(long, value_name = "BYTES", default_value_t = MAX_DECOMPRESSED_BYTES, hide_default_value = true, value_parser = parse_bytes, help = "Refuse inputs that decompress to more than this [default: 64G]")]
    pub(super) max_decompressed: u64,

    /// Read inputs into memory instead of mapping them (for files that are truncated while they are read)
    #[arg(long)]
    pub(super) no_mmap: bool,

    /// Show progress; `auto`: at a terminal
    ///
    /// `always` prints a line per second if standard error is not a terminal.
    #[arg(long, value_name = "WHEN", default_value = "auto", global = true)]
    pub(super) progress: When,

    /// Print nothing but errors: no summaries, warnings and hints
    #[arg(short, long, global = true)]
    pub(super) quiet: bool,

    /// Also print repairs, the account of bytes, and the most important statistics
    #[arg(short, long, conflicts_with = "quiet", global = true)]
    pub(super) verbose: bool,
}

#[derive(Debug, ClapArgs)]
pub(super) struct DumpArgs {
    /// The recording; `-` is standard input. FILE@0 FILE@1 … are its cores, listed one after the other
    #[arg(value_name = "INPUT[@CORE]", required = true)]
    pub(super) inputs: Vec<PathBuf>,

    /// Where to write the list [default: standard output]
    #[arg(short, long, value_name = "OUT")]
    pub(super) output: Option<PathBuf>,

    /// For people, instead of JSON lines
    #[arg(long)]
    pub(super) text: bool,

    #[command(flatten)]
    pub(super) read: ReadArgs,
}

#[derive(Debug, ClapArgs)]
pub(super) struct StatsArgs {
    /// The recordings; `-` is standard input
    ///
    /// Each has statistics of its own. But FILE@0 FILE@1 … are the cores of one recording, as for a conversion.
    #[arg(value_name = "INPUT[@CORE]", required_unless_present = "files_from")]
    pub(super) inputs: Vec<PathBuf>,

    #[command(flatten)]
    pub(super) more: MoreInputs,

    /// Where to write the statistics [default: standard output]
    #[arg(short, long, value_name = "OUT")]
    pub(super) output: Option<PathBuf>,

    /// For scripts: exact figures in nanoseconds
    #[arg(long, conflicts_with_all = ["csv", "folded"])]
    pub(super) json: bool,

    /// For spreadsheets: a line `recording,section,name,metric,value,unit` for each figure
    #[arg(long, conflicts_with = "folded")]
    pub(super) csv: bool,

    /// Time per call stack, as lines `bottom;...;top nanoseconds` for flame graph tools
    #[arg(long)]
    pub(super) folded: bool,

    #[command(flatten)]
    pub(super) part: PartArgs,

    /// The maximum number of rows of a table
    #[arg(long, value_name = "N", default_value_t = 40, value_parser = parse_rows, allow_hyphen_values = true)]
    pub(super) rows: usize,

    #[command(flatten)]
    pub(super) read: ReadArgs,
}

/// When something is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum When {
    Auto,
    Always,
    Never,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum DetailArg {
    /// Scheduling, interrupts, levels and spans
    Overview,
    /// Also operations with a flow (send to receive, give to take), and rare ones
    Default,
    /// Also every event as an instant on a track of its core
    All,
}

impl From<DetailArg> for EventDetail {
    fn from(detail: DetailArg) -> EventDetail {
        match detail {
            DetailArg::Overview => EventDetail::Overview,
            DetailArg::Default => EventDetail::Default,
            DetailArg::All => EventDetail::All,
        }
    }
}

fn format_names() -> PossibleValuesParser {
    PossibleValuesParser::new(FORMATS.iter().map(|format| PossibleValue::new(format.name()).help(format.title())))
}

/// More threads than this are a slip of the finger.
const THREADS_MAX: usize = 1024;

fn parse_threads(text: &str) -> Result<usize, String> {
    let threads = text.parse().ok().filter(|&threads| threads <= THREADS_MAX);
    threads.ok_or_else(|| format!("a number from 0 to {THREADS_MAX} is expected"))
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_definition_holds_together() {
        Args::command().debug_assert();
    }
}
