//! `cargo xtask gen fleet`: the recordings of a test farm, with a regression in one of them.
//!
//! Boards take turns, firmwares follow each other, and each commit has some runs. From one commit on, a task takes longer. The labels of
//! a recording are its folders, as `traceconv export` reads them.

use std::fs::{self, File};
use std::io::BufWriter;
use std::path::PathBuf;

use anyhow::Context;
use clap::Args;
use traceconv::format::tonbandgeraet::generate::{self, GenerateOptions, SlowTask};

/// Options of the farm.
#[derive(Args)]
pub struct Fleet {
    /// How many recordings
    #[arg(long, default_value_t = 100_000)]
    runs: u64,
    /// The size of each in bytes; k, M and G are powers of 1000
    #[arg(long, default_value = "40k", value_parser = super::parse_bytes)]
    bytes: u64,
    /// From this run on, counted from 0, the task takes longer
    #[arg(long, default_value_t = 61_337)]
    regression: u64,
    /// The task, and its share of the usual time
    #[arg(long, value_name = "TASK=PERCENT", default_value = "filter=120%", value_parser = super::parse_slow_task)]
    slow_task: SlowTask,
    /// The directory
    #[arg(short, long)]
    output: PathBuf,
}

const FIRMWARES: u64 = 5;
const BOARDS: u64 = 20;
const RUNS_OF_COMMIT: u64 = 100;

impl Fleet {
    pub fn write(&self) -> anyhow::Result<()> {
        // The regression begins with a commit.
        let first = RUNS_OF_COMMIT - self.regression % RUNS_OF_COMMIT;
        for run in 0..self.runs {
            let (firmware, commit) = (run * FIRMWARES / self.runs.max(1), (run + first) / RUNS_OF_COMMIT);
            let folder = format!("firmware=1.{firmware}/commit=c{commit:05}/board={:02}", run % BOARDS);
            let folder = self.output.join(folder);
            fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
            let path = folder.join(format!("run-{run:06}.bin"));
            let file = File::create(&path).with_context(|| format!("cannot write {}", path.display()))?;
            let slow_task = (run >= self.regression).then_some(self.slow_task);
            let options = GenerateOptions { bytes: self.bytes, seed: run, slow_task, ..GenerateOptions::default() };
            generate::generate(&options, &mut BufWriter::new(file))
                .with_context(|| format!("cannot write {}", path.display()))?;
        }
        Ok(())
    }
}
