//! An input, opened and recognised: a recording, or an image of a target's memory with one or more recordings in it.

use std::fs;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};

use super::plan::{ArchiveMember, Place, Reading, SourceName, directory_of, file, is_own, shown};
use crate::format::{Format, FormatOptions, OptionSpec};
use crate::input::archive::is_archive;
use crate::input::detect::Detected;
use crate::input::sidecar;
use crate::input::{Input, InputError, ReadOptions, RecogniseError, Recognised};
use crate::metrics::nearest::nearest;
use crate::model::RecorderNotes;
use crate::pipeline::{ConvertError, Source};
pub(super) use crate::report::name_in_sentence;
use crate::report::{InputReport, summary, visible_lines, warning_of_format, without_events};

/// An input, opened and recognised.
pub(super) struct Opened {
    pub(super) input: Input,
    detected: Detected,
    options: FormatOptions,
    /// The notes of the recorder beside the file.
    recorder: Option<RecorderNotes>,
}

/// Why an input is not read although it could be.
pub(super) const PART_OF_UNUSABLE: &str = "is one recording with an input that cannot be used";

/// Why there is nothing to show of an input.
pub(super) const NO_EVENT: &str = "gives no event";

type Problem = Box<dyn std::error::Error>;

impl Opened {
    /// Opens an input. The facts are entered into a report of it, an error as a sentence too. There is one recording for
    /// each that a memory image holds, and a report for each; else one. Without a recording the report says why.
    fn open(name: &SourceName, reading: &Reading, read_options: &ReadOptions) -> Vec<(InputReport, Option<Opened>)> {
        let mut report = Opened::unopened(name);
        match try_open(name, reading, read_options, &mut report) {
            Ok(recognised) => {
                let is_one = recognised.len() == 1;
                recognised
                    .into_iter()
                    .map(|Recognised { input, detected, options }| {
                        let notes = notes_beside(name, &input).filter(|_| is_one);
                        // The notes' places are those of the whole stream.
                        let is_misplaced = notes.is_some() && reading.swo_port.is_some();
                        let recorder = notes.filter(|_| !is_misplaced).or(input.notes());
                        let mut report = InputReport { core: options.core, ..Opened::unopened(name) };
                        report.enter_input(&input);
                        report.format = Some(detected.format.name());
                        report.detected_because = Some(detected.because.clone());
                        if is_misplaced {
                            report.hints.push(
                                "The recorder's notes are not shown: they are about the whole stream, not about one port.".into(),
                            );
                        }
                        (report, Some(Opened { input, detected, options, recorder }))
                    })
                    .collect()
            }
            Err(error) => {
                let meant =
                    meant(name, error.as_ref()).map_or_else(String::new, |path| format!("; did you mean {}?", shown(&path)));
                report.error = Some(format!("{} {error}{meant}", name.for_people()));
                vec![(report, None)]
            }
        }
    }

    /// A report of an input of which only the name is known.
    pub(super) fn unopened(name: &SourceName) -> InputReport {
        let report = InputReport::named(name.as_typed(), name.core);
        InputReport { path_bytes: name.place.raw_name(), ..report }
    }

    /// The format's name for people.
    pub(super) fn format_title(&self) -> &'static str {
        self.detected.format.title()
    }

    /// Warns if the user named a format that does not recognise the bytes.
    pub(super) fn warn_of_format(&self, report: &mut InputReport) {
        report.warnings.extend(warning_of_format(report, &self.input, &self.detected));
    }

    /// Says why there is nothing to show of the input.
    pub(super) fn blame_no_events(&self, report: &mut InputReport) {
        report.error = Some(without_events(report, &self.input, &self.detected));
    }

    /// The format.
    pub(super) fn format(&self) -> &'static dyn Format {
        self.detected.format
    }

    /// The source as the pipeline takes it. `release` comes from [`Opened::releaser`].
    pub(super) fn source<'a>(&'a self, release: &'a (dyn Fn(Range<usize>) + Sync)) -> Source<'a> {
        let recorder = self.recorder.as_ref();
        Source { bytes: self.input.bytes(), format: self.detected.format, options: self.options.clone(), release, recorder }
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
            let has_no_cores =
                reading.format_options.cores.is_some() && !opened.iter().any(|opened| opened.format().takes_cores());
            for name in reading.format_options.foreign_to(&known).into_iter().chain(has_no_cores.then_some("cores")) {
                for (report, opened) in reports.iter_mut().zip(&opened) {
                    report.hints.push(format!("--{name} does not apply to {}, so it was not used.", opened.format_title()));
                }
            }
        }
        OpenedTogether { reports, opened, counts }
    }

    /// The result of work on all of them, as one recording. An error is the end of a sentence that begins with an input's name.
    pub(super) fn work<T>(&self, work: impl FnOnce(&[Source<'_>]) -> Result<T, ConvertError>) -> Result<T, String> {
        if self.opened.len() < self.reports.len() {
            return Err(PART_OF_UNUSABLE.into());
        }
        let result = with_sources(&self.opened, work);
        if self.opened.iter().any(|opened| opened.input.was_cut_short()) {
            return Err(InputError::CutShort.to_string());
        }
        result.map_err(|error| format!("cannot be read: {error}"))
    }
}

/// Does work on opened inputs, as the pipeline takes them.
pub(super) fn with_sources<T>(opened: &[Opened], work: impl FnOnce(&[Source<'_>]) -> T) -> T {
    let releasers: Vec<_> = opened.iter().map(Opened::releaser).collect();
    let sources: Vec<Source<'_>> = opened.iter().zip(&releasers).map(|(opened, release)| opened.source(release)).collect();
    work(&sources)
}

/// Says of an input that has no error of its own why it cannot be used: the end of a sentence that begins with its name.
pub(super) fn blame(input: &mut InputReport, reason: &str) {
    let name = name_in_sentence(input);
    input.error.get_or_insert_with(|| format!("{name} {reason}"));
}

/// The same of inputs that belong together. Returns the message: first the errors of their own, then the reason, once for all others.
pub(super) fn blame_together(inputs: &mut [InputReport], reason: &str) -> String {
    let (blamed, others): (Vec<&mut InputReport>, Vec<_>) = inputs.iter_mut().partition(|input| input.error.is_none());
    let mut messages: String = others.into_iter().map(|input| summary(input, false)).collect();
    let mut names: Vec<String> = blamed.iter().map(|input| name_in_sentence(input)).collect();
    blamed.into_iter().for_each(|input| blame(input, reason));
    // A memory image may hold several.
    names.dedup();
    let plural = [("is ", "are "), ("was ", "were "), ("gives ", "give ")];
    let of_several = |(one, several)| Some(format!("{several}{}", reason.strip_prefix(one)?));
    let reason = plural.into_iter().find_map(of_several).filter(|_| names.len() > 1).unwrap_or_else(|| reason.to_owned());
    if !names.is_empty() {
        messages += &format!("error: {} {}\n", names.join(", "), visible_lines(&reason));
    }
    messages
}

/// The file beside one that does not exist that was probably meant: one with its name and an extension, or nearly with its name.
fn meant(name: &SourceName, error: &(dyn std::error::Error + 'static)) -> Option<PathBuf> {
    /// More files of a directory are not looked at.
    const ENTRIES_MAX: usize = 1000;
    let Some(InputError::Open(error)) = error.downcast_ref() else { return None };
    let path = file(&name.place).filter(|_| error.kind() == io::ErrorKind::NotFound)?;
    let typed = path.file_name()?.to_str()?;
    let entries = fs::read_dir(directory_of(path)).ok()?.flatten().take(ENTRIES_MAX);
    let files = entries.filter(|entry| entry.file_type().is_ok_and(|kind| !kind.is_dir()) && !is_own(&entry.path()));
    let mut names: Vec<String> = files.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.sort_unstable();
    let with_extension = names.iter().find(|name| Path::new(name).file_stem() == Some(typed.as_ref()));
    let found = with_extension.map(String::as_str).or_else(|| nearest(typed, names.iter().map(String::as_str)))?;
    Some(path.with_file_name(found))
}

/// The bytes of an input: those of a port, if one is selected.
pub(super) fn open_input(name: &SourceName, reading: &Reading, read_options: &ReadOptions) -> Result<Input, InputError> {
    let input = match (&name.place, &name.member) {
        (_, Some(ArchiveMember { archive, member })) => archive.read(member, read_options)?,
        (Place::Standard, _) => Input::read(&mut io::stdin().lock(), read_options)?,
        (Place::File(path), _) => Input::open(path, read_options)?,
    };
    match reading.swo_port {
        Some(port) => input.channel(port, read_options),
        None => Ok(input),
    }
}

/// The notes of the recorder beside a file.
pub(super) fn notes_beside(name: &SourceName, input: &Input) -> Option<RecorderNotes> {
    match (&name.place, &name.member, input.part()) {
        (Place::File(path), None, None) => sidecar::read_of(path, input),
        _ => None,
    }
}

fn try_open(
    name: &SourceName,
    reading: &Reading,
    read_options: &ReadOptions,
    report: &mut InputReport,
) -> Result<Vec<Recognised>, Problem> {
    let input = open_input(name, reading, read_options)?;
    report.enter_input(&input);
    // Before the formats: in an archive of recordings each of them finds some of its own.
    if reading.format().is_none() && is_archive(input.bytes()) {
        let advice = if name.member.is_some() || input.layers().len() > 1 {
            "unpack what is around it first"
        } else {
            "name one file of it, as ARCHIVE!FILE; only a conversion, stats, check and info take all of them, and only from a file"
        };
        return Err(format!("is an archive, not a recording; {advice}").into());
    }
    let options = FormatOptions { core: name.core, ..reading.format_options.clone() };
    let recognised = input.recognise(reading.format(), &options, read_options);
    report.unrecognised = matches!(recognised, Err(RecogniseError::Format { is_damaged_memory: false, .. }));
    Ok(recognised?)
}
