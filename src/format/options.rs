//! What a user may say about an input: the general options, and those that formats declare for themselves.
//!
//! A format lists its options ([`OptionSpec`]); the command line makes flags of the lists of all formats. Two formats may
//! declare an option of the same name: it is one flag then, so its kind and meaning must be the same.

use std::sync::Arc;

use super::Mode;
use crate::model::Rate;

/// An option that a format declares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OptionSpec {
    /// Its name, in lower case with hyphens: `tick-hz` for `--tick-hz`.
    pub name: &'static str,
    /// What it takes.
    pub kind: OptionKind,
    /// Whether it may be given several times.
    pub repeatable: bool,
    /// What it does, as one line of help without a final stop.
    pub help: &'static str,
}

/// What an option takes. The text names the value in the help, as in `--tick-hz N`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OptionKind {
    /// Nothing.
    Flag,
    /// A text that the format understands.
    Text(&'static str),
    /// The name of a file, whose content the format gets.
    File(&'static str),
}

/// The value of an option.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OptionValue {
    /// It was given.
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

/// What the user said about the input. A format takes what concerns it.
#[derive(Clone, Debug, Default)]
pub struct FormatOptions {
    /// The tick rate, instead of the one that the capture states.
    pub clock: Option<Rate>,
    /// Whether the target ran an RTOS; `None`: find out.
    pub mode: Option<Mode>,
    /// The number of cores; `None`: find out.
    pub cores: Option<u16>,
    /// The core that a split recording belongs to; `None`: what the stream says, else core 0.
    pub core: Option<u16>,
    /// The input is of a program of its own: ids mean other things in it than in the other inputs.
    pub has_own_ids: bool,
    /// Options that formats declared, in the order in which they were given.
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

/// An option has a value that its format cannot use.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("--{option}: {found}; {expected}")]
pub struct OptionError {
    /// The option's name.
    pub option: &'static str,
    /// What is wrong with what was given, as a clause, with its place if it has one.
    pub found: String,
    /// What is expected, or what to try, as a clause.
    pub expected: String,
}

#[cfg(test)]
mod tests {
    use super::*;

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
