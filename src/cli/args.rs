//! The arguments as they are typed, and the help.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::builder::{PossibleValue, PossibleValuesParser};
use clap::{Args as ClapArgs, Parser, Subcommand, ValueEnum};

use super::check::CheckArgs;
use super::diff::DiffArgs;
use super::forms::FormArgs;
use super::merging::MergeArgs;
use super::own_options::OwnOptions;
use super::values::{MaxLost, parse_max_lost, parse_time};
use crate::format::{FORMATS, Mode};
use crate::model::Rate;
use crate::pipeline::{EventDetail, TimeBound};

const EXIT_STATUS: &str = "\
Exit status: 0 converted; 1 an input could not be converted, or a file that an option names cannot be used; 2 wrong usage; 3 converted, but more was lost than --strict or \
--max-lost allow; 130 stopped by a signal. In a batch the other inputs are still converted, and the worst status counts.";

/// Converts binary traces of embedded systems to Perfetto traces.
#[derive(Debug, Parser)]
#[command(about = "Converts binary traces of embedded systems to Perfetto traces (open them at https://ui.perfetto.dev)")]
#[command(name = "traceconv", version, after_help = EXIT_STATUS, args_conflicts_with_subcommands = true)]
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
    /// Tell statistics of recordings: loads, latencies, queue levels, function times
    Stats(StatsArgs),
    /// Hold the statistics of recordings against limits: exit status 3 if one is broken
    Check(CheckArgs),
    /// Compare the statistics of two recordings: what got worse
    Diff(DiffArgs),
    /// Tell what is in recordings, without converting them
    Info(super::info::InfoArgs),
    /// List the formats, how they are told, and their options
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
    /// Binary, hex text or base64 text, also compressed with gzip or zstd: told by content.
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
    /// Of inputs that are directories, take all files in them and below
    ///
    /// Left out are hidden ones, traces (*.perfetto-trace), and what is neither a file nor a link to one. Links to directories are not
    /// followed.
    #[arg(short, long)]
    pub(super) recursive: bool,

    /// Of the files in directories, only those of this name; may be given several times
    ///
    /// `*` and `?` stand for what has no `/` in it, `**` for any directories, `{bin,hex}` for one of these. A pattern with a `/` is
    /// of the whole path within the directory, else of the file's name. `!PATTERN` leaves out what the others take.
    #[arg(long, value_name = "PATTERN", requires = "recursive", allow_hyphen_values = true)]
    pub(super) glob: Vec<OsString>,

    /// Read more inputs from a list, one in each line; `-` is standard input
    #[arg(long, value_name = "FILE")]
    pub(super) files_from: Option<PathBuf>,

    /// In that list, names end with a NUL byte, as `find -print0` writes them
    #[arg(long, requires = "files_from")]
    pub(super) from0: bool,
}

#[derive(Debug, ClapArgs)]
pub(super) struct ConvertArgs {
    #[command(flatten)]
    pub(super) inputs: InputArgs,

    /// Where to write the trace; a directory gets one trace per input; `-` is standard output
    ///
    /// A directory is one that exists, or a name that ends in `/`: it is made. Without this option: beside the (first) input, with its
    /// name up to the last dot and `.perfetto-trace`. In a directory, too; inputs of one name get longer names there: the whole name
    /// of the file if they are in one directory, or the names of the directories that tell them apart.
    #[arg(short, long, value_name = "OUT")]
    pub(super) output: Option<PathBuf>,

    /// Leave a trace as it is if it was made from the same bytes, by the same version, with the same options
    ///
    /// Told by what the trace says of itself. It counts for --strict and --max-lost as if it had been made now.
    #[arg(long, conflicts_with_all = ["merge", "split_size"])]
    pub(super) skip_unchanged: bool,

    #[command(flatten)]
    pub(super) merging: MergeArgs,

    #[command(flatten)]
    pub(super) form: FormArgs,

    #[command(flatten)]
    pub(super) read: ReadArgs,

    /// Leave out what was before this time
    ///
    /// A number with a unit (ns, us, ms, s), e.g. `1.5ms`: the trace's own time, as `dump` shows it in `ns`. With a plus sign,
    /// e.g. `+2s`: after the first event.
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    pub(super) from: Option<TimeBound>,

    /// Leave out what was after this time
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    pub(super) to: Option<TimeBound>,

    /// Which raw events become instants of their own
    #[arg(long, value_name = "WHICH", default_value = "default")]
    pub(super) events: EventsArg,

    /// Write what was converted, what was lost, and statistics as JSON; `-` is standard output
    #[arg(long, value_name = "FILE")]
    pub(super) report: Option<PathBuf>,

    /// Write a table of the inputs as Markdown, for the summary of a CI job; `-` is standard output
    #[arg(long, value_name = "FILE")]
    pub(super) report_md: Option<PathBuf>,

    /// Write the inputs as test cases in JUnit's XML, for CI systems; `-` is standard output
    ///
    /// An input that cannot be converted is an error, one that lost more than --strict or --max-lost allow is a failure.
    #[arg(long, value_name = "FILE")]
    pub(super) junit: Option<PathBuf>,

    /// Exit with 3 if anything at all was lost
    #[arg(long)]
    pub(super) strict: bool,

    /// Exit with 3 if more events than this were lost in one trace, e.g. `10`, or `0.5%` of all events
    #[arg(long, value_name = "N|N%", value_parser = parse_max_lost)]
    pub(super) max_lost: Option<MaxLost>,

    /// What the firmware is called in the trace [default: the input's name]
    #[arg(long)]
    pub(super) name: Option<String>,

    #[cfg(feature = "serve")]
    #[command(flatten)]
    pub(super) open: super::open::OpenArgs,
}

/// What concerns the reading of inputs, for every command.
#[derive(Debug, ClapArgs)]
pub(super) struct ReadArgs {
    /// The format, if it is not to be told by content
    #[arg(long, value_name = "NAME", value_parser = format_names())]
    pub(super) format: Option<String>,

    /// What ran on the target, if it is not to be found out
    #[arg(long)]
    pub(super) mode: Option<ModeArg>,

    /// The number of the target's cores, if it is not to be found out
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(super) cores: Option<u16>,

    /// The frequency of the time stamps, instead of the one that the recording states
    ///
    /// In Hz: whole numbers, also as a fraction, with k, M or G: `168M`, `32768`, `72M/7`.
    #[arg(long, value_name = "N[/D]", value_parser = Rate::parse_hz)]
    pub(super) clock_hz: Option<Rate>,

    #[command(flatten)]
    pub(super) own: OwnOptions,

    /// The number of threads; 0 is one per processor. Has no influence on the trace
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = parse_threads)]
    pub(super) threads: usize,

    /// Read inputs into memory instead of mapping them (for files that are cut short while they are read)
    #[arg(long)]
    pub(super) no_mmap: bool,

    /// Show progress; `auto`: at a terminal
    ///
    /// `always` prints a line now and then where there is no terminal.
    #[arg(long, value_name = "WHEN", default_value = "auto")]
    pub(super) progress: When,

    /// Print nothing but errors
    #[arg(short, long)]
    pub(super) quiet: bool,

    /// Also tell what was repaired, the account of the bytes, and who took the time
    #[arg(short, long, conflicts_with = "quiet")]
    pub(super) verbose: bool,
}

#[derive(Debug, ClapArgs)]
pub(super) struct DumpArgs {
    /// The recording; `-` is standard input
    #[arg(value_name = "INPUT[@CORE]")]
    pub(super) input: PathBuf,

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

    /// Where the time went, as lines `bottom;...;top nanoseconds` for flame graph tools
    #[arg(long)]
    pub(super) folded: bool,

    /// Count nothing before this time: as for a conversion
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    pub(super) from: Option<TimeBound>,

    /// Count nothing after this time
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    pub(super) to: Option<TimeBound>,

    /// How many rows a table has at most
    #[arg(long, value_name = "N", default_value_t = 40)]
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
pub(super) enum ModeArg {
    /// No operating system
    BareMetal,
    /// FreeRTOS
    FreeRtos,
}

impl From<ModeArg> for Mode {
    fn from(mode: ModeArg) -> Mode {
        match mode {
            ModeArg::BareMetal => Mode::BareMetal,
            ModeArg::FreeRtos => Mode::FreeRtos,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum EventsArg {
    /// Scheduling, interrupts, levels and spans only
    None,
    /// Also operations that carry a flow (send to receive, give to take), and rare ones
    Default,
    /// Also every event as an instant on a track of its core
    All,
}

impl From<EventsArg> for EventDetail {
    fn from(events: EventsArg) -> EventDetail {
        match events {
            EventsArg::None => EventDetail::None,
            EventsArg::Default => EventDetail::Default,
            EventsArg::All => EventDetail::All,
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
