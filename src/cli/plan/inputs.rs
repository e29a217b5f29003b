//! Which inputs there are: those named on the command line, those in a list, and those found in folders.
//!
//! Files in a folder come in the order of their names, so that a run does the same everywhere. Links to folders are not
//! followed, so there are no loops to fall into.

use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use walkdir::{DirEntry, WalkDir};

use super::place::{ArchiveMember, FileId, Place, SourceName, directory_of, path_from_bytes};
use super::{PlanError, TRACE_EXTENSION, usage};
use crate::cli::args::MoreInputs;
use crate::input::archive::Archive;
use crate::input::{InputError, ReadOptions, sidecar};

/// A longer file is not a list of inputs.
const LIST_BYTES_MAX: u64 = 256 << 20;

/// An input of a batch.
#[derive(Debug)]
pub(super) struct FoundInput {
    pub(super) source: SourceName,
    /// Its place within the folder in which it was found, with the name of the file; for others the name alone.
    pub(super) within: PathBuf,
    /// A member of an archive: the name that its trace is derived from if that is to lie beside the archive.
    pub(super) beside: Option<PathBuf>,
    /// Why it cannot be an input.
    pub(super) problem: Option<String>,
}

impl FoundInput {
    fn new(source: SourceName, within: PathBuf, problem: Option<String>) -> FoundInput {
        FoundInput { source, within, beside: None, problem }
    }
}

/// All inputs, in the order in which they were named.
#[derive(Debug)]
pub(super) struct FoundInputs {
    pub(super) found: Vec<FoundInput>,
    /// Whether it was not the command line alone that decided how many there are.
    pub(super) is_open: bool,
}

/// Finds all inputs. Files in `own` (the reports of this run) are not inputs.
pub(super) fn find(
    inputs: &[PathBuf],
    args: &MoreInputs,
    own: &[FileId],
    options: &ReadOptions,
) -> Result<FoundInputs, PlanError> {
    let globs = Globs::new(&args.glob)?;
    let inputs = inputs.iter().flat_map(|arg| expanded(arg));
    let mut names = inputs.map(|arg| SourceName::parse(&arg, options)).collect::<Result<Vec<_>, _>>()?;
    if let Some(list) = &args.files_from {
        if list.as_os_str() == "-" && names.iter().any(|name| name.place == Place::Standard) {
            return usage("standard input (-) can be read only once: it is an input and the list of --files-from");
        }
        names.extend(read_list(list, args.from0, options)?);
    }
    let folders: Vec<bool> =
        names.iter().map(|name| args.recursive && name.core.is_none() && name.member.is_none() && is_folder(name)).collect();
    let has_several = folders.iter().filter(|is_folder| **is_folder).count() > 1;
    let mut found = Vec::new();
    for (source, is_folder) in names.into_iter().zip(&folders) {
        match &source.place {
            Place::File(path) if *is_folder => {
                // Of several folders each keeps its name, so that the outputs of one do not depend on the others.
                let prefix = if has_several { folder_name(path) } else { PathBuf::new() };
                walk(path, &prefix, &globs, own, &mut found);
            }
            _ => {
                let is_unasked = !args.recursive && source.core.is_none() && self::is_folder(&source);
                let problem = is_unasked.then(|| "is a directory, not a recording; --recursive takes the files in it".to_owned());
                let within = source.file_name().into();
                found.push(FoundInput::new(source, within, problem));
            }
        }
    }
    let named = found.len();
    let mut found: Vec<FoundInput> = found.into_iter().flat_map(|input| members(input, &globs, options)).collect();
    let is_open = args.files_from.is_some() || folders.contains(&true) || found.len() != named;
    if found.is_empty()
        && let Some(list) = &args.files_from
    {
        let source = SourceName::of(Place::from_arg(list));
        let problem = Some("is a list that names no input".to_owned());
        found.push(FoundInput::new(source.clone(), source.file_name().into(), problem));
    }
    // A file that is named twice, e.g. by its folder and by itself, is converted once.
    let mut seen = HashSet::new();
    found.retain(|input| match &input.source {
        SourceName { place: Place::File(path), core: None, member: None } => {
            seen.insert(std::path::absolute(path).unwrap_or_else(|_| path.clone()))
        }
        _ => true,
    });
    Ok(FoundInputs { found, is_open })
}

/// What a word of the command line names: the shells of Windows leave patterns to programs.
pub(super) fn expanded(arg: &Path) -> Vec<PathBuf> {
    let found = if cfg!(windows) { matching(arg) } else { Vec::new() };
    if found.is_empty() { vec![arg.to_path_buf()] } else { found }
}

/// What is in a folder under a name with `*` and `?`, in any case, in the order of names.
fn matching(pattern: &Path) -> Vec<PathBuf> {
    let Some(name) = pattern.file_name().and_then(OsStr::to_str).filter(|name| name.contains(['*', '?'])) else {
        return Vec::new();
    };
    // Brackets and braces are parts of names.
    let name = globset::escape(name).replace("[*]", "*").replace("[?]", "?");
    let Ok(glob) = GlobBuilder::new(&name).case_insensitive(true).build() else { return Vec::new() };
    let glob = glob.compile_matcher();
    let names = fs::read_dir(directory_of(pattern)).into_iter().flatten().flatten().map(|entry| entry.file_name());
    let mut found: Vec<PathBuf> = names.filter(|name| glob.is_match(name)).map(|name| pattern.with_file_name(name)).collect();
    found.sort();
    found
}

/// The files in an archive, each as an input; whatever else it is, the input itself.
fn members(input: FoundInput, globs: &Globs, options: &ReadOptions) -> Vec<FoundInput> {
    let SourceName { place: Place::File(path), core: None, member: None } = &input.source else { return vec![input] };
    if input.problem.is_some() {
        return vec![input];
    }
    let archive = match Archive::open(path, options) {
        Ok(Some(archive)) => Arc::new(archive),
        // Errors of opening are reported when it is read.
        Ok(None) | Err(InputError::Open(_) | InputError::Empty) => return vec![input],
        Err(error) => return vec![FoundInput { problem: Some(error.to_string()), ..input }],
    };
    let is_named = input.within.components().count() == 1;
    let folder = if is_named { PathBuf::new() } else { input.within.with_extension("") };
    let wanted = archive.members().iter().filter(|member| {
        let name = Path::new(&member.name);
        !member.is_hidden() && !is_own(name) && globs.accepts(name)
    });
    let mut found: Vec<FoundInput> = wanted
        .map(|member| {
            let inside: PathBuf =
                Path::new(&member.name).components().filter(|part| matches!(part, Component::Normal(_))).collect();
            let beside = directory_of(path).join(inside.file_name().unwrap_or_default());
            let place = input.source.place.clone();
            let source = SourceName {
                place,
                member: Some(ArchiveMember { archive: archive.clone(), member: member.clone() }),
                core: None,
            };
            FoundInput { source, within: folder.join(inside), beside: Some(beside), problem: member.problem.clone() }
        })
        .collect();
    match archive.problem() {
        Some(problem) => found.push(FoundInput { problem: Some(problem.to_owned()), ..input }),
        None if found.is_empty() => {
            return vec![FoundInput { problem: Some("is an archive without a recording".into()), ..input }];
        }
        None => {}
    }
    found
}

fn is_folder(name: &SourceName) -> bool {
    matches!(&name.place, Place::File(path) if path.is_dir())
}

/// The name of a folder, also of one that is given as `..`. The working directory (`.`) has none: traces are not named after its place.
fn folder_name(path: &Path) -> PathBuf {
    if path.components().all(|component| component == Component::CurDir) {
        return PathBuf::new();
    }
    let whole = fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
    path.file_name().or_else(|| whole.file_name()).map_or_else(PathBuf::new, PathBuf::from)
}

/// The files in a folder and all below it.
fn walk(root: &Path, prefix: &Path, globs: &Globs, own: &[FileId], found: &mut Vec<FoundInput>) {
    let before = found.len();
    let entries =
        WalkDir::new(root).sort_by_file_name().into_iter().filter_entry(|entry| entry.depth() == 0 || !is_hidden(entry));
    for entry in entries {
        let (path, problem) = match entry {
            Ok(entry) if is_input(&entry, own) => (entry.into_path(), None),
            Ok(_) => continue,
            Err(error) => {
                let path = error.path().unwrap_or(root).to_path_buf();
                let reason = error.io_error().map_or_else(|| error.to_string(), io::Error::to_string);
                (path, Some(format!("cannot be looked through: {reason}")))
            }
        };
        let below = path.strip_prefix(root).unwrap_or(&path);
        if problem.is_none() && !globs.accepts(below) {
            continue;
        }
        let within = prefix.join(below);
        found.push(FoundInput::new(SourceName::of(Place::File(path)), within, problem));
    }
    if found.len() == before {
        let of_glob = if globs.is_empty() { "" } else { " that --glob takes" };
        let problem = Some(format!("is a directory without a file{of_glob}"));
        found.push(FoundInput::new(SourceName::of(Place::File(root.to_path_buf())), folder_name(root), problem));
    }
}

fn is_hidden(entry: &DirEntry) -> bool {
    entry.file_name().as_encoded_bytes().starts_with(b".")
}

/// Whether an entry of a folder is an input: a file, or a link to one, that this program did not write. A dangling link is one
/// as well, so that it is reported.
fn is_input(entry: &DirEntry, own: &[FileId]) -> bool {
    let is_file = match entry.file_type() {
        kind if kind.is_symlink() => fs::metadata(entry.path()).map_or(true, |metadata| metadata.is_file()),
        kind => kind.is_file(),
    };
    is_file && !is_own(entry.path()) && (own.is_empty() || FileId::of(entry.path()).is_none_or(|id| !own.contains(&id)))
}

/// Whether a file has a name that this program gives: a trace, or the notes of the recorder.
pub(in crate::cli) fn is_own(path: &Path) -> bool {
    let name = path.as_os_str().as_encoded_bytes();
    let is_trace = ["", ".gz", ".zst"].iter().any(|packed| name.ends_with(format!(".{TRACE_EXTENSION}{packed}").as_bytes()));
    is_trace || sidecar::is_sidecar(path)
}

/// The inputs of a list, one in each line (or before each NUL).
fn read_list(list: &Path, from0: bool, options: &ReadOptions) -> Result<Vec<SourceName>, PlanError> {
    let place = Place::from_arg(list);
    let mut bytes = Vec::new();
    let read = match &place {
        Place::Standard => io::stdin().lock().take(LIST_BYTES_MAX + 1).read_to_end(&mut bytes),
        Place::File(path) => File::open(path).and_then(|file| file.take(LIST_BYTES_MAX + 1).read_to_end(&mut bytes)),
    };
    if let Err(error) = read {
        return Err(PlanError::File(format!("the list {} (--files-from) cannot be read: {error}", place.for_people())));
    }
    if bytes.len() as u64 > LIST_BYTES_MAX {
        let why = format!("the list {} (--files-from) has more than {LIST_BYTES_MAX} bytes", place.for_people());
        return Err(PlanError::File(why));
    }
    if !from0 && bytes.contains(&0) {
        let why = "has NUL bytes, so it is no list with one name in each line; --from0 reads lists whose names end with NUL";
        return Err(PlanError::File(format!("the list {} (--files-from) {why}", place.for_people())));
    }
    let end = if from0 { 0 } else { b'\n' };
    // Editors on Windows begin a file with a byte order mark.
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes);
    let lines = bytes.split(|&byte| byte == end).map(|line| if from0 { line } else { line.strip_suffix(b"\r").unwrap_or(line) });
    let name = |line: &[u8]| {
        let path = path_from_bytes(line).ok_or_else(|| PlanError::File("the list of --files-from is not UTF-8".into()))?;
        let in_list = |error: PlanError| PlanError::File(format!("the list {} (--files-from): {error}", place.for_people()));
        SourceName::parse(path, options).map_err(in_list)
    };
    lines.filter(|line| !line.is_empty()).map(name).collect()
}

/// The patterns of `--glob`.
struct Globs {
    /// None: all are taken.
    take: Option<GlobSet>,
    leave: GlobSet,
}

impl Globs {
    fn new(patterns: &[OsString]) -> Result<Globs, PlanError> {
        let (mut take, mut leave) = (GlobSetBuilder::new(), GlobSetBuilder::new());
        let mut takes = false;
        for pattern in patterns {
            let wrong = |why: &str| PlanError::Usage(format!("--glob {}: {why}", pattern.to_string_lossy()));
            let text = pattern.to_str().ok_or_else(|| wrong("a pattern is UTF-8"))?;
            let (set, text) = match text.strip_prefix('!') {
                Some(rest) => (&mut leave, rest),
                None => {
                    takes = true;
                    (&mut take, text)
                }
            };
            // Without a slash it speaks of the file's name, wherever the file is.
            let whole = if text.contains('/') { text.trim_start_matches('/').to_owned() } else { format!("**/{text}") };
            let glob = GlobBuilder::new(&whole).literal_separator(true).build();
            set.add(glob.map_err(|error| wrong(&error.kind().to_string()))?);
        }
        let build = |set: GlobSetBuilder| set.build().map_err(|error| PlanError::Usage(format!("--glob: {error}")));
        Ok(Globs { take: if takes { Some(build(take)?) } else { None }, leave: build(leave)? })
    }

    fn is_empty(&self) -> bool {
        self.take.is_none() && self.leave.is_empty()
    }

    fn accepts(&self, below: &Path) -> bool {
        self.take.as_ref().is_none_or(|set| set.is_match(below)) && !self.leave.is_match(below)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_with_wildcards_are_of_one_folder() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        fs::create_dir(path("c.bin")).unwrap();
        for name in ["b.bin", "A.BIN", "a[1].bin", "c.bin/d.bin", "e.hex"] {
            fs::write(path(name), name).unwrap();
        }
        assert_eq!(matching(&path("*.bin")), ["A.BIN", "a[1].bin", "b.bin", "c.bin"].map(path));
        assert_eq!(matching(&path("a[1]?*")), [path("a[1].bin")]);
        assert_eq!(matching(&path("?.hex")), [path("e.hex")]);
        for none in ["b.bin", "a[1].bin", "*.txt", "{a,b}.b*", "gone/*"] {
            assert_eq!(matching(&path(none)), [] as [PathBuf; 0], "{none}");
        }
    }

    #[test]
    fn globs_are_of_names_or_of_paths() {
        let takes = |patterns: &[&str], path: &str| {
            let patterns: Vec<OsString> = patterns.iter().map(OsString::from).collect();
            Globs::new(&patterns).unwrap().accepts(Path::new(path))
        };
        assert!(takes(&[], "a/b.bin"));
        assert!(takes(&["*.bin"], "a/b.bin") && takes(&["*.bin"], "b.bin") && !takes(&["*.bin"], "a.bin/b.hex"));
        assert!(takes(&["a/*.bin"], "a/b.bin") && !takes(&["a/*.bin"], "a/c/b.bin") && takes(&["a/**/*.bin"], "a/c/b.bin"));
        assert!(takes(&["/b.bin"], "b.bin") && !takes(&["/b.bin"], "a/b.bin"));
        assert!(takes(&["*.{bin,hex}"], "b.hex") && takes(&["*.bin", "*.hex"], "b.hex"));
        assert!(!takes(&["!b*"], "a/b.bin") && takes(&["!b*"], "a/c.bin") && !takes(&["*.bin", "!b*"], "b.bin"));
        assert!(Globs::new(&["a{".into()]).is_err_and(|error| error.to_string().starts_with("--glob a{: ")));
    }
}
