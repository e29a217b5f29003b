//! The progress bar: only on a terminal, and only for work that takes long enough to be looked at.

use std::io::{self, IsTerminal};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

use crate::pipeline::Progress;

/// Work that is done sooner shows no bar.
const PATIENCE: Duration = Duration::from_millis(500);

/// Shows how far a conversion is. The bar goes away with the value.
pub(super) struct ProgressMeter {
    wanted: bool,
    started: Instant,
    bar: Option<ProgressBar>,
}

impl ProgressMeter {
    pub(super) fn new(wanted: bool) -> ProgressMeter {
        ProgressMeter { wanted: wanted && io::stderr().is_terminal(), started: Instant::now(), bar: None }
    }

    pub(super) fn show(&mut self, progress: Progress) {
        if !self.wanted || self.started.elapsed() < PATIENCE {
            return;
        }
        let bar = self.bar.get_or_insert_with(|| {
            let bar = ProgressBar::new(progress.total_bytes).with_elapsed(self.started.elapsed());
            match ProgressStyle::with_template("{bar:40} {percent:>3} %  {binary_bytes_per_sec}  {eta} left") {
                Ok(style) => bar.with_style(style),
                Err(_) => bar,
            }
        });
        bar.set_length(progress.total_bytes);
        bar.set_position(progress.done_bytes);
    }
}

impl Drop for ProgressMeter {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
