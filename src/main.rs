//! The binary: parse arguments, run, exit status.

use std::process::ExitCode;

fn main() -> ExitCode {
    traceconv::cli::main()
}
