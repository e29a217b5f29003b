//! Options for reading an input: the general ones, and those that formats declare.
//!
//! A format lists its options ([`OptionSpec`]); the command line makes flags from the lists of all formats. If two
//! formats declare an option of the same name, it is one flag: its kind and meaning must be the same.

use std::sync::Arc;

use crate::model::{Rate, frequency_text};

/// A flag that formats declare whose ids belong to a program: each input was recorded by a program of its own. It is set for several
/// recordings in one memory image.
pub const CORES_SEPARATE: &str = "cores-separate";

/// An option that a format declares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OptionSpec {
    /// Its name, in lower case with hyphens: `tick-hz` for `--tick-hz`.
    pub name: &'static str,
    /// The kind of its value.
    pub kind: OptionKind,
    /// Whether it may be given several times.
    pub repeatable: bool,
    /// One line of help, without a final stop.
    pub help: &'static str,
}

impl OptionSpec {
    /// An option that may be given once.
    #[must_use]
    pub const fn once(name: &'static str, kind: OptionKind, help: &'static str) -> OptionSpec {
        OptionSpec { name, kind, repeatable: false, help }
    }

    /// An option that may be given several times.
    #[must_use]
    pub const fn repeated(name: &'static str, kind: OptionKind, help: &'static str) -> OptionSpec {
        OptionSpec { name, kind, repeatable: true, help }
    }
}

/// The kind of an option's value. The text names the value in the help, as in `--tick-hz N`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OptionKind {
    /// No value.
    Flag,
    /// A text that the format parses.
    Text(&'static str),
    /// The name of a file; the format receives its content.
    File(&'static str),
}

/// The value of an option.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OptionValue {
    /// The option was given.
    Flag,
    /// A text.
    Text(String),
    /// A file.
    File {
        /// Its name as given.
        path: String,
        /// Its content.
        bytes: Arc<[u8]>,
    },
}

/// The options for one input. A format uses those that concern it.
#[derive(Clone, Debug, Default)]
pub struct FormatOptions {
    /// The tick rate, instead of the one recorded in the capture.
    pub clock: Option<Rate>,
    /// The number of cores; `None`: find out.
    pub cores: Option<u16>,
    /// The core that this input was recorded on; `None`: as recorded in the stream, else core 0.
    pub core: Option<u16>,
    /// Options that formats declare, in the order in which they were given.
    pub own: Vec<(&'static str, OptionValue)>,
}

impl FormatOptions {
    /// Whether a flag was given.
    #[must_use]
    pub fn flag(&self, name: &str) -> bool {
        self.values(name).next().is_some()
    }

    /// The text of an option; the last one if it was given several times.
    #[must_use]
    pub fn text(&self, name: &str) -> Option<&str> {
        self.own.iter().rev().find_map(|(own, value)| match value {
            OptionValue::Text(text) if *own == name => Some(text.as_str()),
            _ => None,
        })
    }

    /// All texts of an option, in the order in which they were given.
    pub fn texts<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.values(name).filter_map(|value| match value {
            OptionValue::Text(text) => Some(text.as_str()),
            _ => None,
        })
    }

    /// All files of an option, with their names, in the order in which they were given.
    pub fn files<'a>(&'a self, name: &'a str) -> impl Iterator<Item = (&'a str, &'a Arc<[u8]>)> {
        self.values(name).filter_map(|value| match value {
            OptionValue::File { path, bytes } => Some((path.as_str(), bytes)),
            _ => None,
        })
    }

    /// The options given that are not in `specs`, each once.
    #[must_use]
    pub fn foreign_to(&self, specs: &[OptionSpec]) -> Vec<&'static str> {
        let mut names: Vec<&'static str> =
            self.own.iter().map(|(name, _)| *name).filter(|name| specs.iter().all(|spec| spec.name != *name)).collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    fn values<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a OptionValue> {
        self.own.iter().filter(move |(own, _)| *own == name).map(|(_, value)| value)
    }
}

/// A hint if an option gives another rate than the capture: all times depend on which of them is right.
#[must_use]
pub fn overridden_rate(given: Option<Rate>, recorded: Option<Rate>) -> Option<String> {
    let (given, recorded) = given.zip(recorded).filter(|(given, recorded)| given != recorded)?;
    let [given, recorded] = [given, recorded].map(|rate| frequency_text(rate.hz()));
    Some(format!("The capture records a clock of {recorded}; the {given} that an option gives were taken instead."))
}

/// An option has a value that its format cannot use.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("--{option}: {found}; {expected}")]
pub struct OptionError {
    /// The option's name.
    pub option: &'static str,
    /// The error in the value, as a clause, with the place if known.
    pub found: String,
    /// The expected value, or advice, as a clause.
    pub expected: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_that_is_not_the_recorded_one_is_named() {
        let [slow, fast] = [40_000_000, 80_000_000].map(|hz| Rate::from_hz(hz, 1));
        let hint = overridden_rate(fast, slow).unwrap();
        assert_eq!(hint, "The capture records a clock of 40 MHz; the 80 MHz that an option gives were taken instead.");
        assert_eq!([overridden_rate(slow, slow), overridden_rate(None, slow), overridden_rate(slow, None)], [None, None, None]);
    }

    #[test]
    fn options_are_found_by_name() {
        let file = OptionValue::File { path: "a.elf".into(), bytes: Arc::from(*b"elf") };
        let text = |text: &str| OptionValue::Text(text.into());
        let own = vec![("len", text("1=2")), ("elf", file), ("len", text("3=4")), ("fast", OptionValue::Flag)];
        let options = FormatOptions { own, ..FormatOptions::default() };
        assert_eq!(options.texts("len").collect::<Vec<_>>(), ["1=2", "3=4"]);
        assert_eq!(options.text("len"), Some("3=4"));
        assert_eq!(options.text("elf"), None);
        assert_eq!(options.files("elf").map(|(path, bytes)| (path, bytes.len())).collect::<Vec<_>>(), [("a.elf", 3)]);
        assert!(options.flag("fast") && !options.flag("slow"));
        let known = [OptionSpec { name: "len", kind: OptionKind::Text("ID=N"), repeatable: true, help: "" }];
        assert_eq!(options.foreign_to(&known), ["elf", "fast"]);
    }
}
