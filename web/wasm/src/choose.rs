//! Which of several files for one option belongs to a recording: the beginning of the recording is converted with each of them.

use std::cmp::Reverse;
use std::io;

use serde::{Deserialize, Serialize};
use traceconv::format::{FormatOptions, OptionSpec, OptionValue};
use traceconv::input::{Input, ReadOptions, detect};
use traceconv::pipeline::{self, Options, Source};

use super::Problem;
use super::host::File;

/// How much of the recording is converted.
const HEAD_BYTES: u64 = 2 << 20;
/// With this option a format refuses a program that is not known to be the one that ran.
const REQUIRES_MATCH: &str = "require-elf-match";

#[derive(Deserialize)]
pub struct Choose {
    file: File,
    format: String,
    /// The name of the option.
    option: String,
    candidates: Vec<File>,
}

/// The numbers of the files that fit best.
#[derive(Serialize)]
pub struct Chosen {
    best: Vec<u32>,
    /// Whether the recording states that it belongs to them.
    stated: bool,
}

/// How well a file fits, the worse before the better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Fit {
    /// The recording states that it belongs to this file.
    is_stated: bool,
    losses: Reverse<u64>,
    /// Names that are addresses.
    unnamed: Reverse<usize>,
}

impl Choose {
    /// The numbers of the files that fit best: several if nothing distinguishes them, none if no file can be used.
    pub fn answer(&self) -> Result<Chosen, Problem> {
        let format = detect::by_name(&self.format).ok_or("there is no such format")?;
        let spec = format.options().iter().find(|spec| spec.name == self.option).ok_or("there is no such option")?;
        let head = self.file.read(HEAD_BYTES)?;
        let mut fits = Vec::new();
        for candidate in &self.candidates {
            let content = OptionValue::File { path: candidate.name.clone(), bytes: candidate.read(candidate.bytes)?.into() };
            let own = vec![(spec.name, content)];
            let flag = format.options().iter().find(|known| known.name == REQUIRES_MATCH && spec.name == "elf");
            let stated = flag.and_then(|flag: &OptionSpec| {
                let mut own = own.clone();
                own.push((flag.name, OptionValue::Flag));
                self.fit(&head, own, true)
            });
            if let Some(fit) = stated.or_else(|| self.fit(&head, own, false)) {
                fits.push((fit, candidate.id));
            }
        }
        let best = fits.iter().map(|(fit, _)| *fit).max();
        let ids: Vec<u32> = fits.into_iter().filter(|(fit, _)| Some(*fit) == best).map(|(_, id)| id).collect();
        Ok(Chosen { best: ids, stated: best.is_some_and(|best| best.is_stated) })
    }

    /// `None` if the recording cannot be converted with these options.
    fn fit(&self, head: &[u8], own: Vec<(&'static str, OptionValue)>, is_stated: bool) -> Option<Fit> {
        let read_options = ReadOptions::default();
        let input = Input::from_vec(head.to_vec(), &read_options).ok()?;
        let options = FormatOptions { own, ..FormatOptions::default() };
        let recognised = input.recognise(detect::by_name(&self.format), &options, &read_options).ok()?;
        let sources: Vec<Source<'_>> = recognised
            .iter()
            .map(|one| Source::new(one.input.bytes(), one.detected.format).options(one.options.clone()))
            .collect();
        let options = Options::default().threads(1).statistics(true);
        let converted = pipeline::convert(&sources, &options, &mut io::sink(), &mut |_| true).ok()?;
        let losses = converted.inputs.iter().flat_map(|input| input.ledger.entries()).map(|entry| entry.count).sum();
        let unnamed = serde_json::to_string(&converted.statistics).map_or(0, |statistics| addresses(&statistics));
        Some(Fit { is_stated, losses: Reverse(losses), unnamed: Reverse(unnamed) })
    }
}

/// How many things in statistics, which are JSON, have an address instead of a name.
fn addresses(statistics: &str) -> usize {
    let names = statistics.split("\"name\":\"").skip(1).filter_map(|rest| rest.split('"').next());
    names.filter(|name| name.contains("0x")).count()
}
