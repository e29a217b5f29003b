//! An input, opened and recognised: a recording, or an image of a target's memory with one or more recordings in it.

use std::io;
use std::ops::Range;

use super::plan::{Place, Reading, SourceName};
use crate::format::{FORMATS, Format, FormatOptions, OptionSpec};
use crate::input::detect::{Detected, detect};
use crate::input::memory::{Reach, Search};
use crate::input::{Input, ReadOptions};
use crate::pipeline::Source;
use crate::report::{InputReport, visible};

/// An input, opened and recognised.
pub(super) struct Opened {
    pub(super) input: Input,
    detected: Detected,
    options: FormatOptions,
}

type Problem = Box<dyn std::error::Error>;

impl Opened {
    /// Opens an input. What becomes known is entered into a report of it, an error as a sentence too. There is one recording for
    /// each that a memory image holds, and a report for each; else one. Without a recording the report says why.
    fn open(name: &SourceName, reading: &Reading, read_options: &ReadOptions) -> Vec<(InputReport, Option<Opened>)> {
        let mut report = Opened::unopened(name);
        match try_open(name, reading, read_options, &mut report) {
            Ok(opened) => opened
                .into_iter()
                .map(|opened| {
                    let mut report = InputReport { core: opened.options.core, ..Opened::unopened(name) };
                    opened.enter(&mut report);
                    (report, Some(opened))
                })
                .collect(),
            Err(error) => {
                report.error = Some(format!("{} {error}", name.for_people()));
                vec![(report, None)]
            }
        }
    }

    /// A report of an input of which only the name is known.
    pub(super) fn unopened(name: &SourceName) -> InputReport {
        let report = InputReport::named(name.place.as_typed(), name.core);
        InputReport { path_bytes: name.place.raw_name(), ..report }
    }

    fn enter(&self, report: &mut InputReport) {
        report.enter_input(&self.input);
        report.format = Some(self.detected.format.name());
        report.detected_because = Some(self.detected.because.clone());
    }

    /// The format's name for people.
    pub(super) fn format_title(&self) -> &'static str {
        self.detected.format.title()
    }

    /// The format's name, as for `--format`.
    pub(super) fn format_name(&self) -> &'static str {
        self.detected.format.name()
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

/// The inputs of one trace or recording.
pub(super) struct OpenedTogether {
    pub(super) reports: Vec<InputReport>,
    /// As many as there are reports, unless one could not be opened: its report says why.
    pub(super) opened: Vec<Opened>,
    /// How many of them each source gave: a memory image may hold several.
    pub(super) counts: Vec<usize>,
}

impl OpenedTogether {
    /// Opens all of them.
    pub(super) fn open(sources: &[SourceName], reading: &Reading, read_options: &ReadOptions) -> OpenedTogether {
        let by_source: Vec<_> = sources.iter().map(|source| Opened::open(source, reading, read_options)).collect();
        let counts = by_source.iter().map(Vec::len).collect();
        let (mut reports, opened): (Vec<InputReport>, Vec<Option<Opened>>) = by_source.into_iter().flatten().unzip();
        let opened: Vec<Opened> = opened.into_iter().flatten().collect();
        if opened.len() == reports.len() {
            // An option is for one of several formats; it is of no use only if it concerns none of them.
            let known: Vec<OptionSpec> = opened.iter().flat_map(|opened| opened.detected.format.options()).copied().collect();
            for name in reading.format_options.foreign_to(&known) {
                for (report, opened) in reports.iter_mut().zip(&opened) {
                    report.hints.push(format!("--{name} does not concern {}, so it was not used.", opened.format_title()));
                }
            }
        }
        OpenedTogether { reports, opened, counts }
    }
}

/// Says of an input that has no error of its own why it cannot be used: the end of a sentence that begins with its name.
pub(super) fn blame(input: &mut InputReport, reason: &str) {
    let name = name_in_sentence(input);
    input.error.get_or_insert_with(|| format!("{name} {reason}"));
}

/// An input in a sentence.
pub(super) fn name_in_sentence(input: &InputReport) -> String {
    if input.path == "-" { "standard input".into() } else { visible(&input.path).into_owned() }
}

fn try_open(
    name: &SourceName,
    reading: &Reading,
    read_options: &ReadOptions,
    report: &mut InputReport,
) -> Result<Vec<Opened>, Problem> {
    let input = match &name.place {
        Place::Standard => Input::read(&mut io::stdin().lock(), read_options)?,
        Place::File(path) => Input::open(path, read_options)?,
    };
    report.enter_input(&input);
    let formats: Vec<&'static dyn Format> = reading.format().map_or_else(|| FORMATS.to_vec(), |format| vec![format]);
    // A ring in the first bytes looks like a recording, but its oldest frames may stand behind the newest.
    let mut found = input.find_recordings(&formats, Reach::Sample);
    let detected = detect(input.bytes(), input.layers());
    let is_certain = detected.as_ref().is_ok_and(|detected| detected.certain);
    if found.recordings.is_empty() && !is_certain {
        found = input.find_recordings(&formats, Reach::Whole);
    }
    if !found.recordings.is_empty() {
        // Those in the first bytes are not necessarily all.
        let found = input.find_recordings(&formats, Reach::Whole);
        return take_out(&input, &found, name, reading, read_options);
    }
    let detected = match (reading.format(), detected) {
        (Some(format), _) => Detected { format, because: format!("--format {} says so", format.name()), certain: true },
        (None, Ok(detected)) => Detected { because: detected.because + &about_memory(&found, &formats, false), ..detected },
        (None, Err(error)) => {
            let about_memory = about_memory(&found, &formats, error.may_be_memory());
            return Err(format!("{error}{about_memory}").into());
        }
    };
    let options = FormatOptions { core: name.core, ..reading.format_options.clone() };
    Ok(vec![Opened { input, detected, options }])
}

/// The recordings in an image of a target's memory. Several are of as many processors, each with a program of its own.
fn take_out(
    image: &Input,
    found: &Search,
    name: &SourceName,
    reading: &Reading,
    read_options: &ReadOptions,
) -> Result<Vec<Opened>, Problem> {
    let count = found.recordings.len();
    if count > 1 && name.core.is_some() {
        return Err(format!("holds {count} recordings, but @ names one core for it; give it without").into());
    }
    let mut opened = Vec::with_capacity(count);
    for (core, recording) in (0u16..).zip(&found.recordings) {
        let kept = &recording.kept;
        if count > 1 && kept.cores > 1 {
            return Err(format!(
                "holds {count} recordings in memory, of which the one at byte {} is of {} cores, so that they cannot be the cores \
                 of one target; cut it into parts with one recording each (they begin at bytes {})",
                kept.range.start,
                kept.cores,
                found.recordings.iter().map(|other| other.kept.range.start.to_string()).collect::<Vec<_>>().join(", ")
            )
            .into());
        }
        let input = image.take_out(recording, read_options)?;
        let because = format!("{} stands at byte {}", kept.what, kept.range.start);
        let detected = Detected { format: recording.format, because, certain: true };
        let core = if count > 1 { Some(core) } else { name.core };
        let options = FormatOptions { core, has_own_ids: count > 1, ..reading.format_options.clone() };
        opened.push(Opened { input, detected, options });
    }
    Ok(opened)
}

/// What to add to a message on what the input is: that it was searched as an image of memory, too.
fn about_memory(found: &Search, formats: &[&'static dyn Format], may_be_memory: bool) -> String {
    if let Some((at, what, why)) = found.refused.first() {
        return format!("; at byte {at} stands the mark of {what}, as in an image of a target's memory, but {why}");
    }
    let mut kinds: Vec<&str> = formats.iter().flat_map(|format| format.memory_marks()).map(|mark| mark.what).collect();
    kinds.dedup();
    if !may_be_memory || kinds.is_empty() {
        return String::new();
    }
    format!(
        "\nNor is it an image of a target's memory that holds a recording ({} was looked for). If it should be one, check that the \
         memory in which the recording is kept was dumped, and before a new one was started",
        kinds.join(", or ")
    )
}
