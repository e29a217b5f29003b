//! The kind of an input: one recording of a format, the cores of one in one file, or an image of a target's memory with one or more
//! recordings in it.

use std::ops::Range;

use super::cores_json::CoresJson;
use super::detect::{DetectError, Detected, detect, named};
use super::memory::{Reach, Search};
use super::{Damage, Input, InputError, ReadOptions};
use crate::format::{CORES_SEPARATE, FORMATS, Format, FormatOptions, OptionValue};
use crate::model::losses;

/// A recording with its format, ready for the pipeline.
#[derive(Debug)]
pub struct Recognised {
    /// Its bytes.
    pub input: Input,
    /// Its format, and why.
    pub detected: Detected,
    /// The options given, with the core that is known from a memory image or from JSON.
    pub options: FormatOptions,
}

/// Why an input gives no recording. Each message is the end of a sentence that begins with the input's name.
#[derive(Debug, thiserror::Error)]
pub enum RecogniseError {
    /// It is not in any format, or in more than one.
    #[error("{error}{about_memory}")]
    Format {
        /// The result of detection.
        error: DetectError,
        /// The result of the search for recordings in a memory image, as a clause; may be empty.
        about_memory: String,
        /// Whether there is the mark of a recording in memory, but none can be read.
        is_damaged_memory: bool,
    },
    /// A recording could not be taken out of a memory image.
    #[error(transparent)]
    Input(#[from] InputError),
    /// One core was named for an input that holds several recordings.
    #[error("holds {0} recordings, but @ names one core for it; give it without")]
    OneCoreForSeveral(usize),
    /// A memory image holds recordings of several formats.
    #[error(
        "holds recordings of several formats in memory, which cannot be one trace: {}; choose a format with --format NAME",
        .0.iter().map(|(format, at)| format!("{format} at byte {at}")).collect::<Vec<_>>().join(", ")
    )]
    SeveralFormats(Vec<(&'static str, usize)>),
    /// A memory image holds several recordings, and one of them is already of several cores.
    #[error(
        "holds {} recordings in memory, of which the one at byte {at} is of {cores} cores, so that they cannot be the cores of one \
         target; cut it into parts with one recording each (they begin at bytes {})",
        .offsets.len(),
        .offsets.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
    )]
    SeveralOfSeveralCores {
        /// Where the recording of several cores begins.
        at: usize,
        /// The number of its cores.
        cores: u32,
        /// Where all recordings begin.
        offsets: Vec<usize>,
    },
}

impl Input {
    /// Finds the recordings in this input: itself, or those that it holds if it is an image of a target's memory, or JSON with a hex text
    /// for each core. `format` is the format if the user named it. `options` are given to each recording; several recordings of one image
    /// are cores 0, 1, ...
    ///
    /// # Errors
    /// When no format or more than one fits, or when the recordings of a memory image cannot be used together.
    pub fn recognise(
        self,
        format: Option<&'static dyn Format>,
        options: &FormatOptions,
        read_options: &ReadOptions,
    ) -> Result<Vec<Recognised>, RecogniseError> {
        if let Some(CoresJson { cores }) = CoresJson::read(&self, read_options)? {
            return cores_of_one(cores, options, |input| match format {
                Some(format) => Ok(named(format, input.bytes())),
                None => detect(input.bytes(), input.layers()).map_err(|error| RecogniseError::Format {
                    error,
                    about_memory: String::new(),
                    is_damaged_memory: false,
                }),
            });
        }
        let formats: Vec<&'static dyn Format> = format.map_or_else(|| FORMATS.to_vec(), |format| vec![format]);
        // A ring in the first bytes looks like a recording, but its oldest frames may be after the newest.
        let mut found = self.find_recordings(&formats, Reach::Sample);
        let detected = detect(self.bytes(), self.layers());
        let is_certain = detected.as_ref().is_ok_and(|detected| detected.certain);
        if found.recordings.is_empty() && !is_certain {
            found = self.find_recordings(&formats, Reach::Whole);
        }
        if !found.recordings.is_empty() {
            // Those in the first bytes are not necessarily all.
            return take_out(&self, &self.find_recordings(&formats, Reach::Whole), options, read_options);
        }
        let recognised = format.or(detected.as_ref().ok().map(|detected| detected.format));
        let (input, detected) = match self.without_margins(format, recognised, read_options)? {
            Some(input) => {
                let detected = detect(input.bytes(), input.layers());
                (input, detected)
            }
            None => (self, detected),
        };
        let detected = match (format, detected) {
            (Some(format), _) => named(format, input.bytes()),
            (None, Ok(detected)) => Detected { because: detected.because + &about_memory(&found, &formats, false), ..detected },
            (None, Err(error)) => {
                let about_memory = about_memory(&found, &formats, error.may_be_memory());
                let is_damaged_memory = !found.refused.is_empty();
                return Err(RecogniseError::Format { error, about_memory, is_damaged_memory });
            }
        };
        let cores = detected.format.cores(input.bytes());
        if cores.len() > 1 {
            return cores_of_one(input.split(cores, read_options)?, options, |_| Ok(detected.clone()));
        }
        Ok(vec![Recognised { input, detected, options: options.clone() }])
    }

    /// The cores of a file that holds a recording of each.
    fn split(&self, cores: Vec<(u16, Vec<Range<usize>>)>, options: &ReadOptions) -> Result<Vec<(u16, Input)>, InputError> {
        let last = cores.len() - 1;
        let input = |(index, (core, pieces)): (usize, (u16, Vec<Range<usize>>))| {
            let is_missing = pieces.last().is_none_or(Range::is_empty);
            let mut input = self.of_pieces(pieces, options)?;
            let offset = input.bytes.len() as u64;
            input.damages.retain(|_| index == last);
            input.damages.iter_mut().for_each(|damage| damage.offset = offset);
            if is_missing {
                let detail = format!("the file ends before the recording of core {core}");
                input.damages.push(Damage { kind: losses::TRUNCATED_FRAME, offset, count: 1, at_least_lost: 1, detail });
            }
            Ok((core, input))
        };
        cores.into_iter().enumerate().map(input).collect()
    }
}

/// The cores of a recording, with their formats. One core is as a recording of its own.
fn cores_of_one(
    cores: Vec<(u16, Input)>,
    options: &FormatOptions,
    format: impl Fn(&Input) -> Result<Detected, RecogniseError>,
) -> Result<Vec<Recognised>, RecogniseError> {
    let is_several = cores.len() > 1;
    if is_several && options.core.is_some() {
        return Err(RecogniseError::OneCoreForSeveral(cores.len()));
    }
    let recognised = cores.into_iter().map(|(core, input)| {
        let detected = format(&input)?;
        let core = if is_several { Some(core) } else { options.core };
        Ok(Recognised { input, detected, options: FormatOptions { core, ..options.clone() } })
    });
    recognised.collect()
}

/// The recordings in an image of a target's memory. Several are of as many processors, each with a program of its own.
fn take_out(
    image: &Input,
    found: &Search,
    options: &FormatOptions,
    read_options: &ReadOptions,
) -> Result<Vec<Recognised>, RecogniseError> {
    let is_several = found.recordings.len() > 1;
    if is_several && options.core.is_some() {
        return Err(RecogniseError::OneCoreForSeveral(found.recordings.len()));
    }
    let formats: Vec<_> = found.recordings.iter().map(|other| (other.format.name(), other.kept.range.start)).collect();
    if formats.windows(2).any(|pair| matches!(pair, [(one, _), (two, _)] if one != two)) {
        return Err(RecogniseError::SeveralFormats(formats));
    }
    let mut recognised = Vec::with_capacity(found.recordings.len());
    for (core, recording) in (0u16..).zip(&found.recordings) {
        let kept = &recording.kept;
        if is_several && kept.cores > 1 {
            let offsets = found.recordings.iter().map(|other| other.kept.range.start).collect();
            return Err(RecogniseError::SeveralOfSeveralCores { at: kept.range.start, cores: kept.cores, offsets });
        }
        let input = image.take_out(recording, read_options)?;
        let because = format!("{} found at byte {}", kept.what, kept.range.start);
        let detected = Detected { format: recording.format, because, certain: true, is_doubtful: false };
        let core = if is_several { Some(core) } else { options.core };
        let mut options = FormatOptions { core, ..options.clone() };
        if is_several && recording.format.options().iter().any(|spec| spec.name == CORES_SEPARATE) {
            options.own.push((CORES_SEPARATE, OptionValue::Flag));
        }
        recognised.push(Recognised { input, detected, options });
    }
    Ok(recognised)
}

/// The addition to a message on the kind of the input: that it was searched as an image of memory, too.
fn about_memory(found: &Search, formats: &[&'static dyn Format], may_be_memory: bool) -> String {
    if let Some((at, kind, why)) = found.refused.first() {
        return format!("; at byte {at} is the mark of {kind}, as in an image of a target's memory, but {why}");
    }
    let mut kinds: Vec<&str> = formats.iter().flat_map(|format| format.memory_marks()).map(|mark| mark.what).collect();
    kinds.dedup();
    if !may_be_memory || kinds.is_empty() {
        return String::new();
    }
    format!("; nor is it an image of a target's memory with {}", kinds.join(", or "))
}
