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

use std::fmt::Display;
use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;

use clap::FromArgMatches as _;

use args::{Args, Command, ConvertArgs};
use plan::PlanError;

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
}

impl From<Status> for ExitCode {
    fn from(status: Status) -> ExitCode {
        ExitCode::from(match status {
            Status::Done => 0,
            Status::Failed => 1,
            Status::WrongUsage => 2,
            Status::TooMuchLost | Status::TooUncertain | Status::BeyondLimits => 3,
        })
    }
}

/// The exit status after a signal, as shells report a program that was ended by SIGINT.
const STATUS_STOPPED: i32 = 130;

/// The definition of the command line: the book's page of options is made of it.
#[must_use]
pub fn definition() -> clap::Command {
    <Args as clap::CommandFactory>::command()
}

/// Parses the arguments of this process and executes them. Wrong usage found by the parser exits with status 2.
pub fn main() -> ExitCode {
    let words = words::command_first(std::env::args_os());
    if let Some(message) = words::left_out(&words) {
        return refuse(&PlanError::Usage(message)).into();
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
    let result = match args.command {
        Some(Command::Dump(args)) => dump::main(&args),
        Some(Command::Stats(args)) => stats::main(&args),
        Some(Command::Check(args)) => check::main(&args),
        Some(Command::Baseline(args)) => baseline::main(&args),
        #[cfg(feature = "export")]
        Some(Command::Export(args)) => export::main(&args),
        Some(Command::Diff(args)) => diff::main(&args),
        Some(Command::Info(args)) => info::main(&args),
        Some(Command::Formats(args)) => Ok(formats::run(&args)),
        Some(Command::Completions(args)) => Ok(manual::completions(&args)),
        Some(Command::Man(args)) => Ok(manual::man(&args)),
        #[cfg(feature = "record")]
        Some(Command::Record(args)) => record::main(args),
        #[cfg(feature = "serve")]
        Some(Command::Serve(args)) => Ok(open::run(&open::plan_serve(args))),
        #[cfg(feature = "web-page")]
        Some(Command::Web(args)) => Ok(open::web::run(&args)),
        None => convert_inputs(&args.convert),
    };
    result.unwrap_or_else(|error| refuse(&error))
}

/// `traceconv INPUT...`
fn convert_inputs(args: &ConvertArgs) -> Result<Status, PlanError> {
    if let Some(message) = words::mistyped_command(&args.inputs.inputs) {
        return Err(PlanError::Usage(message));
    }
    let plan = plan::plan_convert(args, io::stdout().is_terminal())?;
    #[cfg(feature = "serve")]
    let open = open::plan_open(&args.open, &plan)?;
    let status = batch::run(&plan);
    #[cfg(feature = "serve")]
    let status = open::after(open.as_ref(), status);
    Ok(status)
}

/// Says why nothing is done. A file that cannot be used fails like an input, without a pointer to the help.
fn refuse(error: &PlanError) -> Status {
    match error {
        PlanError::Usage(_) => {
            say(&format!("error: {error}\n\nFor more information, try '--help'.\n"));
            Status::WrongUsage
        }
        PlanError::File(_) => fail(error),
    }
}

/// Says why something failed, with all causes.
fn fail(error: impl Display) -> Status {
    say(&format!("error: {error:#}\n"));
    Status::Failed
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
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => fail(format_args!("cannot write to standard output: {error}")),
        _ => Status::Done,
    }
}
