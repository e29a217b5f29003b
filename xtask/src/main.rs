//! Developer tasks. `cargo xtask help` lists them.

mod bench;
mod bless;
mod codegen;
mod generate;

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
    /// Measure the converter as a whole process
    Bench(bench::Bench),
    /// Write what is made of the table of events, target/events.toml
    Codegen(codegen::Arguments),
}

fn main() -> anyhow::Result<()> {
    match Arguments::parse().task {
        Task::Gen(capture) => generate::run(&capture),
        Task::Bless => bless::run(),
        Task::Bench(options) => bench::run(&options),
        Task::Codegen(arguments) => codegen::run(&arguments),
    }
}
