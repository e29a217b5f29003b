//! The progress of conversions: a bar on a terminal, or lines where there is none and they are asked for.
//!
//! Only for work that takes long enough to be looked at, and only for people: nothing of it is in a log unless it is asked for.

use std::io::{self, IsTerminal};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use indicatif::{HumanBytes, HumanDuration, ProgressBar, ProgressStyle};

use super::args::When;
use super::plan::{Reading, Verbosity};
use super::say;
use crate::pipeline::Progress;

/// Work that is done sooner shows nothing.
const PATIENCE: Duration = Duration::from_millis(500);

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
    /// For one conversion, which tells how much there is to do.
    pub(super) fn new(reading: &Reading) -> ProgressMeter {
        let is_terminal = io::stderr().is_terminal();
        let form = match reading.progress {
            When::Never => Form::Nothing,
            When::Auto if reading.verbosity == Verbosity::Quiet || !is_terminal => Form::Nothing,
            When::Auto | When::Always => {
                if is_terminal {
                    Form::Bar
                } else {
                    Form::Lines
                }
            }
        };
        let patience = if reading.progress == When::Always { Duration::ZERO } else { PATIENCE };
        ProgressMeter { form, patience, started: Instant::now(), files: 1, state: Mutex::default() }
    }

    /// For so many files of so many bytes in all.
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

    /// A conversion of the batch has gone on by so many bytes of its file.
    pub(super) fn advance(&self, bytes: u64) {
        self.change(|state| state.done_bytes = state.done_bytes.saturating_add(bytes));
    }

    /// A conversion of the batch has ended.
    pub(super) fn end_file(&self) {
        self.change(|state| state.done_files += 1);
    }

    /// Tells people something above the bar.
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
        match self.form {
            Form::Nothing => {}
            Form::Bar => self.draw(&mut state),
            Form::Lines => self.print(&mut state),
        }
    }

    fn draw(&self, state: &mut State) {
        let State { done_bytes, total_bytes, done_files, .. } = *state;
        let bar = state.bar.get_or_insert_with(|| {
            let bar = ProgressBar::new(total_bytes).with_elapsed(self.started.elapsed());
            match ProgressStyle::with_template("{bar:40} {percent:>3} %  {msg}{binary_bytes_per_sec}  {eta} left") {
                Ok(style) => bar.with_style(style),
                Err(_) => bar,
            }
        });
        bar.set_length(total_bytes);
        bar.set_position(done_bytes);
        if self.files > 1 {
            bar.set_message(format!("{done_files} of {} files  ", self.files));
        }
    }

    fn print(&self, state: &mut State) {
        if state.last_line.is_some_and(|last| last.elapsed() < PAUSE) {
            return;
        }
        state.last_line = Some(Instant::now());
        say(&format!("progress: {}\n", self.line(state, self.started.elapsed())));
    }

    fn line(&self, state: &State, elapsed: Duration) -> String {
        let State { done_bytes, total_bytes, done_files, .. } = *state;
        let percent = done_bytes.saturating_mul(100).checked_div(total_bytes).unwrap_or(100);
        let files = if self.files > 1 { format!(", {done_files} of {} files", self.files) } else { String::new() };
        let rate = done_bytes as f64 / elapsed.as_secs_f64().max(1e-3);
        let left_bytes = total_bytes.saturating_sub(done_bytes) as f64;
        let left = Duration::try_from_secs_f64(left_bytes / rate).ok().filter(|_| done_bytes > 0);
        let left = left.map_or_else(String::new, |left| format!(", {} left", HumanDuration(left)));
        format!("{percent} %{files}, {}/s{left}", HumanBytes(rate as u64))
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
    fn a_line_tells_share_rate_and_rest() {
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
        assert_eq!(meter(1).line(&State::default(), Duration::ZERO), "100 %, 0 B/s");
    }
}
