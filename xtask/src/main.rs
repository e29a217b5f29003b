//! Developer tasks. `cargo xtask help` lists them.

mod bench;
mod bless;
mod browser;
mod codegen;
mod generate;
mod target;

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
    /// Write the captures and views under testdata/ anew
    Bless,
    /// Show traces in a real browser, with a stand-in for the viewer. Needs Chromium
    BrowserTest,
    /// Measure the converter as a whole process
    Bench(bench::Bench),
    /// Write what is made of the table of events, target/events.toml
    Codegen(codegen::Arguments),
    /// Record the tracer library on the real kernel with every backend, convert, and hold the result against the application's log
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
        Task::Bench(options) => bench::run(&options),
        Task::Codegen(arguments) => codegen::run(&arguments),
        Task::TargetTest(arguments) => target::test(&arguments),
        Task::Size => target::size(),
        Task::Cycles => target::cycles(),
    }
}
