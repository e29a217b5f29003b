//! Labels and identities of recordings, by which their rows are found again.

use std::collections::BTreeMap;
use std::path::Path;

use chrono::DateTime;
use serde::Deserialize;
use xxhash_rust::xxh3::Xxh3;

use super::table::Table;

/// The labels of a recording: a name and a value each.
pub type Labels = BTreeMap<String, String>;

/// The labels that have a column in any case: they win over the facts of the recording.
pub const OWN_LABELS: [&str; 2] = ["firmware", "build"];

/// The label that a folder may have as well as the notes; the folder's wins.
const DATE: &str = "date";

/// Whether labels may have this name; else a sentence that says why not.
///
/// # Errors
/// When it is no word, or the table of recordings has such a column.
pub fn check_label(name: &str) -> Result<(), String> {
    let is_word = name.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_');
    if !is_word || !name.starts_with(|letter: char| letter.is_ascii_alphabetic()) {
        return Err(format!("`{name}` is no name of a label: letters, digits and _ are expected, and a letter first"));
    }
    let columns = std::iter::once("recording").chain(Table::Recordings.columns().iter().map(|(column, _)| *column));
    match columns.into_iter().find(|column| column.eq_ignore_ascii_case(name) && !OWN_LABELS.contains(&name)) {
        Some(column) => Err(format!("`{name}` cannot be a label: the table `recordings` has a column `{column}`")),
        None => Ok(()),
    }
}

/// Adds the labels of a recording's folders: `farm/board=7/run-12.bin` has one.
pub fn add_folder_labels(path: &Path, labels: &mut Labels) {
    let folders = path.parent().into_iter().flat_map(Path::components);
    let folders = folders.filter_map(|folder| folder.as_os_str().to_str()?.split_once('='));
    labels.extend(folders.filter(|(name, _)| check_label(name).is_ok()).map(|(name, value)| (name.into(), value.into())));
}

/// Adds the labels of the notes beside a recording: lines as `{"labels": {"board": "7"}}`, and the `date` (UTC) on which the recorder was started.
/// Returns what is wrong with some; they are left out.
pub fn add_note_labels(text: &[u8], labels: &mut Labels) -> Vec<String> {
    #[derive(Deserialize)]
    struct Line {
        #[serde(default)]
        labels: BTreeMap<String, serde_json::Value>,
        unix_ns: Option<i64>,
    }
    let lines = text.split(|&byte| byte == b'\n').filter_map(|line| serde_json::from_slice::<Line>(line).ok());
    let (mut problems, mut given) = (Vec::new(), Vec::new());
    for line in lines {
        given.extend(line.labels);
        if let Some(unix_ns) = line.unix_ns {
            labels.insert(DATE.into(), DateTime::from_timestamp_nanos(unix_ns).format("%Y-%m-%d").to_string());
        }
    }
    for (name, value) in given {
        match check_label(&name) {
            Ok(()) => {
                labels.insert(name, value.as_str().map_or_else(|| value.to_string(), str::to_owned));
            }
            Err(problem) => problems.push(problem),
        }
    }
    problems
}

/// Joins the labels of a recording: those of the notes win over those of its folders (except for the date), those that were given over both.
pub fn join_labels(folders: &mut Labels, notes: Labels, given: &[(String, String)]) {
    let date = folders.get(DATE).cloned();
    folders.extend(notes);
    folders.extend(date.map(|date| (DATE.into(), date)));
    folders.extend(given.iter().cloned());
}

/// The columns of the table of recordings that labels need.
pub fn label_columns<'a>(all: impl IntoIterator<Item = &'a Labels>) -> Vec<String> {
    let names: std::collections::BTreeSet<&str> = all.into_iter().flat_map(|labels| labels.keys().map(String::as_str)).collect();
    names.into_iter().filter(|name| !OWN_LABELS.contains(name)).map(str::to_owned).collect()
}

/// The identity of a recording: 32 hexadecimal digits, a hash of the core, if named, and the bytes of each input, and of all else that its
/// rows depend on: how it is read (`report::stored::options_hash`), the format's name if the user named it, the text of the notes beside it.
#[must_use]
pub fn recording_identity<'a>(
    inputs: impl IntoIterator<Item = (Option<u16>, &'a [u8])>,
    read_as: &str,
    format: &str,
    notes: &[u8],
) -> String {
    identity(inputs, &[read_as.as_bytes(), format.as_bytes(), notes])
}

/// A hash of parts, each with its length.
pub(super) fn identity<'a>(inputs: impl IntoIterator<Item = (Option<u16>, &'a [u8])>, more: &[&[u8]]) -> String {
    let mut all = Xxh3::new();
    for (core, bytes) in inputs {
        all.update(&core.map_or(u32::MAX, u32::from).to_le_bytes());
        all.update(&(bytes.len() as u64).to_le_bytes());
        all.update(bytes);
    }
    for bytes in more {
        all.update(&(bytes.len() as u64).to_le_bytes());
        all.update(bytes);
    }
    format!("{:032x}", all.digest128())
}
