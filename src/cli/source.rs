//! An input, opened and recognised.

use std::io;
use std::ops::Range;

use super::plan::{Place, Reading, SourceName};
use crate::format::FormatOptions;
use crate::input::detect::{Detected, detect};
use crate::input::{Input, ReadOptions};
use crate::pipeline::Source;
use crate::report::InputReport;

/// An input, opened and recognised.
pub(super) struct Opened {
    pub(super) input: Input,
    detected: Detected,
    options: FormatOptions,
}

impl Opened {
    /// Opens an input. What becomes known is entered into its report, an error as a sentence too.
    pub(super) fn open(
        name: &SourceName,
        reading: &Reading,
        read_options: &ReadOptions,
        report: &mut InputReport,
    ) -> Option<Opened> {
        let opened = try_open(name, reading, read_options, report);
        opened.map_err(|error| report.error = Some(format!("{} {error}", name.for_people()))).ok()
    }

    /// The format's name for people.
    pub(super) fn format_title(&self) -> &'static str {
        self.detected.format.title()
    }

    /// The source as the pipeline takes it. `release` comes from [`Opened::releaser`].
    pub(super) fn source<'a>(&'a self, release: &'a (dyn Fn(Range<usize>) + Sync)) -> Source<'a> {
        Source { bytes: self.input.bytes(), format: self.detected.format, options: self.options.clone(), release }
    }

    /// Gives memory back as the pipeline goes on.
    pub(super) fn releaser(&self) -> impl Fn(Range<usize>) + Sync + '_ {
        |range| self.input.release(range)
    }
}

fn try_open(
    name: &SourceName,
    reading: &Reading,
    read_options: &ReadOptions,
    report: &mut InputReport,
) -> Result<Opened, Box<dyn std::error::Error>> {
    let input = match &name.place {
        Place::Standard => Input::read(&mut io::stdin().lock(), read_options)?,
        Place::File(path) => Input::open(path, read_options)?,
    };
    report.enter_input(&input);
    let detected = match reading.format() {
        Some(format) => Detected { format, because: format!("--format {} says so", format.name()) },
        None => detect(input.bytes(), input.layers())?,
    };
    report.format = Some(detected.format.name());
    report.detected_because = Some(detected.because.clone());
    for name in reading.format_options.foreign_to(detected.format.options()) {
        report.hints.push(format!("--{name} does not concern {}, so it was not used.", detected.format.title()));
    }
    let options = FormatOptions { core: name.core, ..reading.format_options.clone() };
    Ok(Opened { input, detected, options })
}
