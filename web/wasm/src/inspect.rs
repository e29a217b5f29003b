//! The kind of a file: a recording, a file that an option of a format takes, a budget, saved statistics.

use serde::{Deserialize, Serialize};
use traceconv::format::{FORMATS, FormatOptions, OptionKind, OptionValue};
use traceconv::input::archive::begins_archive;
use traceconv::input::detect::detect;
use traceconv::input::{COMPRESSED_HEAD_BYTES, Input, ReadOptions};
use traceconv::metrics::budget::Budget;
use traceconv::metrics::saved;

use super::Problem;
use super::host::File;

/// How much of a file is looked at, unless it may be something that has to be whole.
const HEAD_BYTES: u64 = 4 << 20;
/// Files for options are not larger.
const WHOLE_BYTES: u64 = 256 << 20;

#[derive(Deserialize)]
pub struct Inspect {
    file: File,
}

/// Its kind.
#[derive(Debug, Default, Serialize)]
pub struct Found {
    /// `recording`, `archive`, `option-file`, `budget`, `statistics` or `unknown`.
    kind: &'static str,
    /// The name of a recording's format; `null` if the recording has to be searched for in a memory image.
    format: Option<&'static str>,
    /// The option that takes the file.
    option: Option<&'static str>,
    /// Why, as a sentence without a final stop; of what is unknown a clause that begins after the file's name.
    because: String,
    /// The layers around a recording, outermost first.
    layers: Vec<&'static str>,
    /// How many recordings the file holds: a memory image, or JSON with several cores, may hold more than one.
    recordings: usize,
}

impl Inspect {
    pub fn answer(&self) -> Result<Found, Problem> {
        let file = &self.file;
        let mut head = file.read(HEAD_BYTES)?;
        if head.trim_ascii_start().starts_with(b"{") {
            // JSON is understood as a whole only.
            head = file.read(WHOLE_BYTES)?;
        }
        if begins_archive(head.get(..COMPRESSED_HEAD_BYTES).unwrap_or(&head)) {
            return Ok(Found { kind: "archive", ..Found::default() });
        }
        let is_whole = head.len() as u64 == file.bytes;
        if saved::is_saved(&head) {
            return Ok(Found { kind: "statistics", because: "JSON of `traceconv stats --json`".into(), ..Found::default() });
        }
        let is_elf = head.starts_with(b"\x7fELF") && !is_core_file(&head);
        let read_options = ReadOptions::default();
        let error: String = match Input::from_vec(head, &read_options) {
            Err(error) => error.to_string(),
            Ok(input) if is_elf => {
                drop(input);
                "is an ELF program".into()
            }
            Ok(input) => {
                let layers = input.layers().iter().map(|layer| layer.name()).collect();
                match detect(input.bytes(), input.layers()) {
                    Ok(detected) => {
                        let (format, because) = (Some(detected.format.name()), detected.because);
                        return Ok(Found { kind: "recording", format, because, layers, recordings: 1, ..Found::default() });
                    }
                    Err(error) => {
                        if let Some(found) = self.for_an_option()? {
                            return Ok(found);
                        }
                        let may_be_memory = error.may_be_memory();
                        if is_whole && let Ok(recognised) = input.recognise(None, &FormatOptions::default(), &read_options) {
                            let recordings = recognised.len();
                            let first = recognised.into_iter().next();
                            let format = first.as_ref().map(|first| first.detected.format.name());
                            let because = first.map_or_else(String::new, |first| first.detected.because);
                            return Ok(Found { kind: "recording", format, because, layers, recordings, ..Found::default() });
                        }
                        if !is_whole && may_be_memory {
                            let because =
                                "it may be an image of a target's memory, which is searched when it is converted".into();
                            return Ok(Found { kind: "recording", because, layers, recordings: 1, ..Found::default() });
                        }
                        error.to_string()
                    }
                }
            }
        };
        if let Some(found) = self.for_an_option()? {
            return Ok(found);
        }
        Ok(Found { kind: "unknown", because: error, ..Found::default() })
    }

    /// Its kind if it is not a recording: a format decides about a file for one of its options.
    fn for_an_option(&self) -> Result<Option<Found>, Problem> {
        let file = &self.file;
        if file.bytes > WHOLE_BYTES {
            return Ok(None);
        }
        let content = file.read(WHOLE_BYTES)?;
        if content.trim_ascii().is_empty() {
            return Ok(None);
        }
        if content.starts_with(b"\x7fELF") && !is_core_file(&content) {
            let because = "an ELF program: names of functions, files and lines".into();
            return Ok(Some(Found { kind: "option-file", option: Some("elf"), because, ..Found::default() }));
        }
        let budget = std::str::from_utf8(&content).ok().map(Budget::parse);
        match budget {
            Some(Ok(budget)) => {
                let because = format!("a budget with {} rules", budget.limits.len());
                return Ok(Some(Found { kind: "budget", because, ..Found::default() }));
            }
            Some(Err(error)) if file.name.ends_with(".toml") => {
                return Ok(Some(Found { kind: "unknown", because: format!("is no budget: {error}"), ..Found::default() }));
            }
            _ => {}
        }
        let value = OptionValue::File { path: file.name.clone(), bytes: content.into() };
        for format in FORMATS {
            for spec in format.options().iter().filter(|spec| matches!(spec.kind, OptionKind::File(_))) {
                let options = FormatOptions { own: vec![(spec.name, value.clone())], ..FormatOptions::default() };
                if format.open(&[options]).is_ok() {
                    let because = format!("a file for --{} of {}", spec.name, format.title());
                    return Ok(Some(Found { kind: "option-file", option: Some(spec.name), because, ..Found::default() }));
                }
            }
        }
        Ok(None)
    }
}

/// ELF of the type `ET_CORE`: an image of memory, in the file's own byte order.
fn is_core_file(bytes: &[u8]) -> bool {
    let kind = bytes.get(16..18);
    kind == Some(&[4, 0]) || kind == Some(&[0, 4])
}
