//! The progress of conversions: a bar on a terminal, or lines elsewhere if asked for.
//!
//! Only work that takes long enough shows progress, and logs contain none unless asked for.

use std::io::{self, IsTerminal};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use indicatif::{HumanBytes, HumanDuration, ProgressBar, ProgressStyle};

use super::args::When;
use super::plan::{Reading, Verbosity};
use super::say;
use crate::pipeline::Progress;

/// Shorter work shows nothing.
const PATIENCE: Duration = Duration::from_millis(500);

/// Before this there is no rate.
const SETTLED: Duration = Duration::from_secs(1);

/// How often a line is printed where there is no terminal.
const PAUSE: Duration = Duration::from_secs(1);

/// Shows how far a conversion is, or all of a batch together. The bar goes away with the value. Any thread may show progress.
pub(super) struct ProgressMeter {
    form: Form,
    patience: Duration,
    started: Instant,
    /// Of how many files, if it is of more than one.
    files: usize,
    state: Mutex<State>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Nothing,
    Bar,
    Lines,
}

#[derive(Default)]
struct State {
    done_bytes: u64,
    total_bytes: u64,
    done_files: usize,
    bar: Option<ProgressBar>,
    last_line: Option<Instant>,
}

impl ProgressMeter {
    /// For one conversion, which reports its total.
    pub(super) fn new(reading: &Reading) -> ProgressMeter {
        let is_terminal = io::stderr().is_terminal();
        let form = match reading.progress {
            When::Never => Form::Nothing,
            When::Auto if reading.verbosity == Verbosity::Quiet || !is_terminal => Form::Nothing,
            When::Auto | When::Always if is_terminal => Form::Bar,
            When::Auto | When::Always => Form::Lines,
        };
        let patience = if reading.progress == When::Always { Duration::ZERO } else { PATIENCE };
        ProgressMeter { form, patience, started: Instant::now(), files: 1, state: Mutex::default() }
    }

    /// For `files` files of `total_bytes` bytes in all.
    pub(super) fn of_batch(reading: &Reading, files: usize, total_bytes: u64) -> ProgressMeter {
        let state = State { total_bytes, ..State::default() };
        ProgressMeter { files, state: Mutex::new(state), ..ProgressMeter::new(reading) }
    }

    /// One conversion is so far.
    pub(super) fn show(&self, progress: Progress) {
        self.change(|state| {
            // Both passes are counted, and people count their file once.
            (state.done_bytes, state.total_bytes) = (progress.done_bytes / 2, progress.total_bytes / 2);
        });
    }

    /// Shows the progress of work that is never stopped.
    pub(super) fn observer(&self) -> impl FnMut(Progress) -> bool {
        |progress| {
            self.show(progress);
            true
        }
    }

    /// A conversion of the batch has advanced by `bytes` bytes of its file.
    pub(super) fn advance(&self, bytes: u64) {
        self.change(|state| state.done_bytes = state.done_bytes.saturating_add(bytes));
    }

    /// A conversion of the batch has ended.
    pub(super) fn end_file(&self) {
        self.change(|state| state.done_files += 1);
    }

    /// Prints a message above the bar.
    pub(super) fn say_above(&self, text: &str) {
        if text.is_empty() {
            return;
        }
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        match &state.bar {
            Some(bar) => bar.suspend(|| say(text)),
            None => say(text),
        }
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        if self.form == Form::Nothing {
            return;
        }
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        change(&mut state);
        if self.started.elapsed() < self.patience {
            return;
        }
        if self.form == Form::Bar { self.draw(&mut state) } else { self.print(&mut state) }
    }

    fn draw(&self, state: &mut State) {
        let State { done_bytes, total_bytes, .. } = *state;
        let message = self.rates(state, self.started.elapsed());
        let bar = state.bar.get_or_insert_with(|| {
            let bar = ProgressBar::new(total_bytes).with_elapsed(self.started.elapsed());
            match ProgressStyle::with_template("{bar:40} {percent:>3} %{msg}") {
                Ok(style) => bar.with_style(style),
                Err(_) => bar,
            }
        });
        bar.set_length(total_bytes);
        bar.set_position(done_bytes);
        bar.set_message(message);
    }

    fn print(&self, state: &mut State) {
        if state.last_line.is_some_and(|last| last.elapsed() < PAUSE) {
            return;
        }
        state.last_line = Some(Instant::now());
        say(&format!("progress: {}\n", self.line(state, self.started.elapsed())));
    }

    fn line(&self, state: &State, elapsed: Duration) -> String {
        let percent = state.done_bytes.saturating_mul(100).checked_div(state.total_bytes).unwrap_or(100);
        format!("{percent} %{}", self.rates(state, elapsed))
    }

    /// Files, rate and time left. The rate is the mean since the start: the first steps are much faster than the rest, so that a
    /// rate of the moment, and whatever is said before [`SETTLED`], would be wrong by orders of magnitude.
    fn rates(&self, state: &State, elapsed: Duration) -> String {
        let State { done_bytes, total_bytes, done_files, .. } = *state;
        let files = if self.files > 1 { format!(", {done_files} of {} files", self.files) } else { String::new() };
        if elapsed < SETTLED || done_bytes == 0 {
            return files;
        }
        let rate = done_bytes as f64 / elapsed.as_secs_f64();
        let left_bytes = total_bytes.saturating_sub(done_bytes) as f64;
        let left = Duration::try_from_secs_f64(left_bytes / rate).ok();
        let left = left.map_or_else(String::new, |left| format!(", {} left", HumanDuration(left)));
        format!("{files}, {}/s{left}", HumanBytes(rate as u64))
    }
}

impl Drop for ProgressMeter {
    fn drop(&mut self) {
        if let Some(bar) = &self.state.get_mut().unwrap_or_else(PoisonError::into_inner).bar {
            bar.finish_and_clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_share_rate_and_rest() {
        let meter = |files| ProgressMeter {
            form: Form::Lines,
            patience: Duration::ZERO,
            started: Instant::now(),
            files,
            state: Mutex::default(),
        };
        let state = State { done_bytes: 30 << 20, total_bytes: 120 << 20, done_files: 7, ..State::default() };
        let at = Duration::from_secs(2);
        assert_eq!(meter(1).line(&state, at), "25 %, 15.00 MiB/s, 6 seconds left");
        assert_eq!(meter(30).line(&state, at), "25 %, 7 of 30 files, 15.00 MiB/s, 6 seconds left");
        assert_eq!(meter(1).line(&State::default(), at), "100 %");
        // The first bytes are done at once: nothing is said of a rate yet.
        assert_eq!(meter(1).line(&state, Duration::from_millis(1)), "25 %");
    }
}
