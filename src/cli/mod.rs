//! The command line: [`args`] as typed → a [`plan`] → the work. The only part of the program that prints.
//!
//! Exit status: 0 converted; 1 could not convert, or a file that an option names cannot be used; 2 wrong usage; 3 converted, but beyond the asked loss limit; 130 stopped by a
//! signal. In a batch the worst one counts: 1 over 3 over 0.

mod args;
mod baseline;
mod batch;
mod check;
mod color;
mod convert;
mod diff;
mod dump;
#[cfg(feature = "export")]
mod export;
mod formats;
mod guard;
mod help;
mod info;
mod manual;
mod merging;
#[cfg(feature = "serve")]
mod open;
mod output;
mod own_options;
mod plan;
mod progress;
#[cfg(feature = "record")]
mod record;
mod recording_figures;
#[cfg(feature = "export")]
mod runs;
mod source;
mod stats;
mod trace_file;
mod unchanged;
mod values;
mod words;

use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;

use clap::FromArgMatches as _;

use args::{Args, Command};

use crate::report::visible_lines;

/// How a run ended, the better before the worse.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Status {
    Done,
    /// Converted, but more was lost than `--strict` or `--max-lost` allow.
    TooMuchLost,
    /// Converted, but less is known than `--strict` or `--strict-time` ask for.
    TooUncertain,
    /// Read, but a budget is broken, or something got worse than is allowed.
    BeyondLimits,
    Failed,
    WrongUsage,
    Stopped,
}

impl From<Status> for ExitCode {
    fn from(status: Status) -> ExitCode {
        ExitCode::from(match status {
            Status::Done => 0,
            Status::Failed => 1,
            Status::WrongUsage => 2,
            Status::TooMuchLost | Status::TooUncertain | Status::BeyondLimits => 3,
            // As shells report a program that was ended by SIGINT.
            Status::Stopped => STATUS_STOPPED,
        })
    }
}

const STATUS_STOPPED: u8 = 130;

/// The definition of the command line: the book's page of options is made of it.
#[must_use]
pub fn definition() -> clap::Command {
    <Args as clap::CommandFactory>::command()
}

/// Parses the arguments of this process and executes them. Wrong usage found by the parser exits with status 2.
pub fn main() -> ExitCode {
    let words = words::command_first(std::env::args_os());
    if let Some(message) = words::left_out(&words) {
        return refuse(&plan::PlanError::usage(message)).into();
    }
    let matches = help::command().get_matches_from(words);
    let args = Args::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
    color::decide(args.color);
    guard::keep_ignored_signals(output::clean_up_on_signals);
    guard::install();
    command_status(args).into()
}

/// Executes a command.
fn command_status(args: Args) -> Status {
    match args.command {
        Some(Command::Dump(args)) => match plan::plan_dump(&args) {
            Ok(plan) => dump::run(&plan),
            Err(error) => refuse(&error),
        },
        Some(Command::Stats(args)) => match plan::plan_stats(&args) {
            Ok(plan) => stats::run(&plan),
            Err(error) => refuse(&error),
        },
        Some(Command::Check(args)) => check::main(&args).unwrap_or_else(|error| refuse(&error)),
        Some(Command::Baseline(args)) => baseline::main(&args).unwrap_or_else(|error| refuse(&error)),
        #[cfg(feature = "export")]
        Some(Command::Export(args)) => export::main(&args).unwrap_or_else(|error| refuse(&error)),
        Some(Command::Diff(args)) => diff::main(&args).unwrap_or_else(|error| refuse(&error)),
        Some(Command::Info(args)) => match info::plan(&args) {
            Ok(plan) => info::run(&plan),
            Err(error) => refuse(&error),
        },
        Some(Command::Formats(args)) => formats::run(&args),
        Some(Command::Completions(args)) => manual::completions(&args),
        Some(Command::Man(args)) => manual::man(&args),
        #[cfg(feature = "record")]
        Some(Command::Record(args)) => record::main(args).unwrap_or_else(|error| refuse(&error)),
        #[cfg(feature = "serve")]
        Some(Command::Serve(args)) => open::run(&open::plan_serve(args)),
        #[cfg(feature = "web-page")]
        Some(Command::Web(args)) => open::web::run(&args),
        None if let Some(message) = words::mistyped_command(&args.convert.inputs.inputs) => {
            refuse(&plan::PlanError::usage(message))
        }
        None => match plan::plan_convert(&args.convert, io::stdout().is_terminal()) {
            #[cfg(feature = "serve")]
            Ok(plan) => match open::plan_open(&args.convert.open, &plan) {
                Ok(open) => open::after(open.as_ref(), batch::run(&plan)),
                Err(error) => refuse(&error),
            },
            #[cfg(not(feature = "serve"))]
            Ok(plan) => batch::run(&plan),
            Err(error) => refuse(&error),
        },
    }
}

/// Says why nothing is done. A file that cannot be used fails like an input, without a pointer to the help.
fn refuse(error: &plan::PlanError) -> Status {
    match error {
        plan::PlanError::Usage(_) => {
            say(&format!("error: {error}\n\nFor more information, try '--help'.\n"));
            Status::WrongUsage
        }
        plan::PlanError::File(_) => {
            say(&format!("error: {error}\n"));
            Status::Failed
        }
    }
}

/// Prints a message on standard error. That it is closed or full is not a reason to fail.
fn say(text: &str) {
    say_as_is(&visible_lines(text));
}

/// The same for a text without anything from outside that is not escaped: it may have colours of its own.
fn say_as_is(text: &str) {
    let _ = io::stderr().write_all(color::painted(text).as_bytes());
}

/// Prints a result on standard output. A reader that has had enough (`| head`) is no failure.
fn print(text: &str) -> Status {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            say(&format!("error: cannot write to standard output: {error}\n"));
            Status::Failed
        }
        _ => Status::Done,
    }
}
