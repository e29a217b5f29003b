//! Developer tasks. `cargo xtask help` lists them.

mod bench;
mod bless;
mod browser;
mod codegen;
mod generate;
mod instructions;
mod scaling;
mod target;
mod truth;
mod web;

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, ensure};
use clap::{Parser, Subcommand};

#[derive(Parser)]
#[command(name = "cargo xtask", about = "Developer tasks of traceconv")]
struct Arguments {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Write a realistic capture of any size
    #[command(subcommand)]
    Gen(generate::Capture),
    /// Write the captures and views under testdata/ again
    Bless,
    /// Show traces in a real browser, with a substitute for the viewer. Needs Chromium
    BrowserTest,
    /// Build the page with the converter as WebAssembly into build/web. Needs clang and the target wasm32-unknown-unknown
    Web,
    /// Test the page that `web` built, in Node and in Chromium. Needs npm, too
    WebTest,
    /// Damage generated recordings, and compare the times of the events that survived with the truth
    Truth(truth::Arguments),
    /// Measure the converter as a whole process: time and memory beside simple copies, or instructions per event and stage
    Bench(bench::Bench),
    /// Run all checks, as .ci/run does; with --all also the heavy ones that nothing since the commit in .ci/last-full concerns
    Ci {
        /// Run every step, and write .ci/last-full if all pass
        #[arg(long)]
        all: bool,
    },
    /// Write the files generated from the table of events, target/events.toml
    Codegen(codegen::Arguments),
    /// Record the tracer library on the real kernel with every backend, convert, and compare the result with the application's log
    TargetTest(target::TestArguments),
    /// Print the size of the tracer library next to the budgets; fail beyond them. Needs arm-none-eabi-gcc
    Size,
    /// Print the instructions per event next to the budgets; fail beyond them. Needs arm-none-eabi-gcc and qemu-system-arm
    Cycles,
}

fn main() -> anyhow::Result<()> {
    match Arguments::parse().task {
        Task::Gen(capture) => generate::run(&capture),
        Task::Bless => bless::run(),
        Task::BrowserTest => browser::test(),
        Task::Web => web::build(),
        Task::WebTest => web::test(),
        Task::Truth(arguments) => truth::run(&arguments),
        Task::Bench(options) => bench::run(&options),
        Task::Ci { all } => ci(all),
        Task::Codegen(arguments) => codegen::run(&arguments),
        Task::TargetTest(arguments) => target::test(&arguments),
        Task::Size => target::size(),
        Task::Cycles => target::cycles(),
    }
}

/// The converter's path. It is built for release, together with these tasks, so that both use one build of the library; tasks that are built
/// for tests, as in `.ci/run`, use the program that was built with them.
fn converter() -> anyhow::Result<PathBuf> {
    if cfg!(debug_assertions) {
        return Ok(std::env::current_exe()?.with_file_name("traceconv"));
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let arguments = ["build", "--release", "--quiet", "--package=traceconv", "--package=xtask"];
    let status = Command::new(env!("CARGO")).current_dir(&root).args(arguments).status().context("cannot run cargo")?;
    ensure!(status.success(), "the converter does not build");
    Ok(root.join("build/release/traceconv"))
}

fn ci(all: bool) -> anyhow::Result<()> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../.ci/run");
    let status = Command::new("bash").arg(script).args(all.then_some("--all")).status().context("cannot run bash")?;
    ensure!(status.success(), "a check failed");
    Ok(())
}
