//! The help: which options belong together, and which are important enough for `-h`.

use clap::{Arg, Command, CommandFactory};

use super::args::Args;
use super::own_options;

/// Headings with the options below them, in the order of `--help`. Options of formats have their format's name as heading.
const HEADINGS: [(&str, &[&str]); 7] = [
    (
        "Inputs",
        &["recursive", "glob", "skip_unrecognised", "files_from", "from0", "format", "swo_port", "max_decompressed", "no_mmap"],
    ),
    ("Target", &["clock_hz", "cores", "name"]),
    ("Output", &["output", "gzip", "zstd", "split_size", "skip_unchanged", "open", "ui_url", "no_browser"]),
    ("Content", &["from", "to", "detail", "rows", "only", "min_change", "min_time", "min_points"]),
    ("Merging", &["merge", "offset", "sync_marker", "correct_drift"]),
    (
        "Reports and limits",
        &[
            "report",
            "no_statistics",
            "report_md",
            "junit",
            "strict",
            "strict_time",
            "max_lost",
            "budget",
            "fail_over",
            "fail_on_new",
        ],
    ),
    ("Messages", &["quiet", "verbose", "progress", "color", "threads", "help", "version"]),
];

/// The options that `-h` shows; `--help` has all.
const COMMON: [&str; 21] = [
    "recursive",
    "format",
    "output",
    "gzip",
    "open",
    "from",
    "to",
    "report",
    "strict",
    "max_lost",
    "quiet",
    "verbose",
    "json",
    "csv",
    "folded",
    "text",
    "md",
    "budget",
    "metrics",
    "fail_over",
    "only",
];

/// The definition of the command line.
pub(super) fn command() -> Command {
    arranged(Args::command())
}

fn arranged(command: Command) -> Command {
    command.mut_args(arrange).mut_subcommands(arranged)
}

fn arrange(arg: Arg) -> Arg {
    let id = arg.get_id().as_str().to_owned();
    let heading = HEADINGS.iter().find(|(_, ids)| ids.contains(&id.as_str())).map(|(heading, _)| (*heading).to_owned());
    let formats = own_options::titles(&id);
    let is_common = arg.is_positional() || COMMON.contains(&id.as_str());
    let heading = heading.or_else(|| (!formats.is_empty()).then(|| format!("Options of {formats}")));
    let arg = if is_common { arg } else { arg.hide_short_help(true) };
    match heading {
        Some(heading) if !arg.is_positional() => arg.help_heading(heading),
        _ => arg,
    }
}
