//! The options that formats declare, as flags of the command line.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::path::PathBuf;

use clap::error::Error;
use clap::{Arg, ArgAction, ArgMatches, Command, FromArgMatches};

use crate::format::{FORMATS, FormatOptions, OptionKind, OptionSpec, OptionValue};

/// Those that were given, as typed, in the order in which they were given.
#[derive(Clone, Debug, Default)]
pub(super) struct OwnOptions {
    given: Vec<(OptionSpec, OsString)>,
}

/// All options of all formats, each once.
fn specs() -> Vec<OptionSpec> {
    let mut specs: Vec<OptionSpec> = Vec::new();
    for spec in FORMATS.iter().flat_map(|format| format.options()) {
        if specs.iter().all(|known| known.name != spec.name) {
            specs.push(*spec);
        }
    }
    specs
}

/// Which formats have an option; empty if it belongs to none.
pub(super) fn titles(name: &str) -> String {
    let having = FORMATS.iter().filter(|format| format.options().iter().any(|spec| spec.name == name));
    having.map(|format| format.title()).collect::<Vec<_>>().join(", ")
}

impl OwnOptions {
    /// The files that are to be read.
    pub(super) fn files(&self) -> impl Iterator<Item = PathBuf> {
        self.given.iter().filter(|(spec, _)| matches!(spec.kind, OptionKind::File(_))).map(|(_, typed)| typed.into())
    }

    /// Checks the options that can be checked before anything is read: texts, independent of the inputs. An error is a sentence.
    pub(super) fn check_texts(&self) -> Result<(), String> {
        // The effect of a flag may depend on a file, and the content of a file is checked together with the input.
        let has_file = self.files().next().is_some();
        let own = self.given.iter().filter_map(|(spec, typed)| match spec.kind {
            OptionKind::Flag if has_file => None,
            OptionKind::Flag => Some((spec.name, OptionValue::Flag)),
            OptionKind::Text(_) => Some((spec.name, OptionValue::Text(typed.to_string_lossy().into_owned()))),
            OptionKind::File(_) => None,
        });
        let options = FormatOptions { own: own.collect(), ..FormatOptions::default() };
        for format in FORMATS.iter().filter(|_| !options.own.is_empty()) {
            format.open(std::slice::from_ref(&options)).map_err(|error| error.to_string())?;
        }
        Ok(())
    }

    /// The options for formats, with the content of files. An error is a sentence.
    pub(super) fn read(&self) -> Result<Vec<(&'static str, OptionValue)>, String> {
        let value = |(spec, typed): &(OptionSpec, OsString)| {
            let shown = typed.to_string_lossy().into_owned();
            let value = match spec.kind {
                OptionKind::Flag => OptionValue::Flag,
                OptionKind::Text(_) => OptionValue::Text(shown),
                OptionKind::File(_) => {
                    let bytes = fs::read(typed).map_err(|error| format!("--{} {shown} cannot be read: {error}", spec.name))?;
                    OptionValue::File { path: shown, bytes: bytes.into() }
                }
            };
            Ok((spec.name, value))
        };
        self.given.iter().map(value).collect()
    }
}

impl clap::Args for OwnOptions {
    fn augment_args(command: Command) -> Command {
        command.args(specs().into_iter().map(|spec| {
            let arg = Arg::new(spec.name).long(spec.name).help(spec.help);
            match spec.kind {
                OptionKind::Flag => arg.action(ArgAction::SetTrue),
                OptionKind::Text(value) | OptionKind::File(value) => {
                    let action = if spec.repeatable { ArgAction::Append } else { ArgAction::Set };
                    arg.action(action).value_name(value).value_parser(clap::value_parser!(OsString))
                }
            }
        }))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for OwnOptions {
    fn from_arg_matches(matches: &ArgMatches) -> Result<OwnOptions, Error> {
        // By place, so that the last one given comes last also among several options.
        let mut given = BTreeMap::new();
        for spec in specs() {
            let Some(indices) = matches.indices_of(spec.name) else { continue };
            if spec.kind == OptionKind::Flag {
                if matches.get_flag(spec.name) {
                    given.extend(indices.map(|index| (index, (spec, OsString::new()))));
                }
            } else if let Some(values) = matches.get_many::<OsString>(spec.name) {
                given.extend(indices.zip(values).map(|(index, value)| (index, (spec, value.clone()))));
            }
        }
        Ok(OwnOptions { given: given.into_values().collect() })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One flag cannot mean two things.
    #[test]
    fn options_of_one_name_are_alike() {
        let all: Vec<_> = FORMATS.iter().flat_map(|format| format.options()).collect();
        for one in &all {
            for other in all.iter().filter(|other| other.name == one.name) {
                let shape = |spec: &OptionSpec| (spec.kind, spec.repeatable, spec.help);
                assert_eq!(shape(one), shape(other), "--{} is declared in two ways", one.name);
            }
        }
    }
}
