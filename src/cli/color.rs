//! Colour for people at a terminal: `--color`, else by the environment (`NO_COLOR`, `CLICOLOR`, `CLICOLOR_FORCE`, `TERM`).
//!
//! Texts are made without colour; the word at the start of a line (`error:`, `lost:` ...) is coloured when they are printed.

use std::io::{self, IsTerminal};
use std::sync::atomic::{AtomicBool, Ordering};

use anstream::{AutoStream, ColorChoice};
use anstyle::{AnsiColor, Style};

use super::args::When;
use crate::report::InputStatus;

/// Whether standard error is painted.
static IS_ON: AtomicBool = AtomicBool::new(false);

const BAD: Style = AnsiColor::Red.on_default().bold();
const DOUBTFUL: Style = AnsiColor::Yellow.on_default().bold();
const GOOD: Style = AnsiColor::Green.on_default();
const HELPFUL: Style = AnsiColor::Cyan.on_default();

/// The words that are painted at the start of a line, after blanks.
const BEGINNINGS: [(&str, Style); 6] =
    [("error:", BAD), ("lost:", DOUBTFUL), ("warning:", DOUBTFUL), ("hint:", HELPFUL), ("nothing lost", GOOD), ("->", HELPFUL)];

/// Decides for the rest of the run.
pub(super) fn decide(when: When) {
    let is_on = match when {
        When::Always => true,
        When::Never => false,
        // `CLICOLOR_FORCE=0` is meant to force nothing, which the crate sees otherwise.
        When::Auto if std::env::var_os("CLICOLOR_FORCE").is_some_and(|force| force == "0") && !io::stderr().is_terminal() => {
            false
        }
        When::Auto => AutoStream::choice(&io::stderr()) != ColorChoice::Never,
    };
    IS_ON.store(is_on, Ordering::Relaxed);
}

/// A text with its lines painted, if that is wanted.
pub(super) fn painted(text: &str) -> String {
    if IS_ON.load(Ordering::Relaxed) { text.split_inclusive('\n').map(painted_line).collect() } else { text.to_owned() }
}

fn painted_line(line: &str) -> String {
    let rest = line.trim_start_matches(' ');
    let indent = &line[..line.len() - rest.len()];
    let found = BEGINNINGS.iter().find_map(|(word, style)| Some((word, style, rest.strip_prefix(word)?)));
    found.map_or_else(|| line.to_owned(), |(word, style, rest)| format!("{indent}{style}{word}{style:#}{rest}"))
}

/// A word of a table, painted by the status of an input.
pub(super) fn status(status: InputStatus, word: &str) -> String {
    let style = match status {
        InputStatus::Converted | InputStatus::Unchanged => GOOD,
        InputStatus::TooMuchLost | InputStatus::TooUncertain => DOUBTFUL,
        InputStatus::Failed => BAD,
        InputStatus::Skipped => HELPFUL,
    };
    if IS_ON.load(Ordering::Relaxed) { format!("{style}{word}{style:#}") } else { word.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn beginnings_are_painted() {
        assert_eq!(painted_line("error: x\n"), "\u{1b}[1m\u{1b}[31merror:\u{1b}[0m x\n");
        assert_eq!(painted_line("  nothing lost"), "  \u{1b}[32mnothing lost\u{1b}[0m");
        assert_eq!(painted_line("x error: x\n"), "x error: x\n");
        assert_eq!(painted_line(""), "");
    }
}
