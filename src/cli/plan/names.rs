//! The names of the traces of a batch, so that no two inputs have one output.
//!
//! A trace has the name of its input up to the last dot; in an output folder it has the place that the input has in the folder
//! that was named. Where that is the same for several inputs, all of these get longer names:
//!
//! 1. inputs of one folder keep their whole name: `x.bin.perfetto-trace`, `x.hex.perfetto-trace`;
//! 2. in an output folder, inputs of several folders are put into as many of their own folders' names, from the last one on, as
//!    distinguish them: `a/x.perfetto-trace`, `b/x.perfetto-trace`; an input in the working directory stays at the top;
//! 3. if there still are two of a name, the later ones are numbered.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::path::{Component, Path, PathBuf};

/// An input that has to have an output.
pub(super) struct Named<'a> {
    /// The path of the file; of none for standard input.
    pub(super) path: Option<&'a Path>,
    /// Its place within the folder in which it was found, with the name of the file; or the name alone.
    pub(super) within: &'a Path,
}

/// The outputs of all inputs, in their order, with this extension. Into `folder`; without one, each beside its input.
pub(super) fn outputs(inputs: &[Named<'_>], folder: Option<&Path>, extension: &str) -> Vec<PathBuf> {
    let choices: Vec<Choice<'_>> = inputs.iter().map(|input| Choice::new(input, folder, extension)).collect();
    let mut outputs: Vec<PathBuf> = choices.iter().map(|choice| choice.name(0, false)).collect();
    for group in alike(&outputs).into_iter().filter(|group| group.len() > 1) {
        let members: Vec<&Choice<'_>> = group.iter().filter_map(|&index| choices.get(index)).collect();
        let mut of_folder = HashMap::new();
        members.iter().for_each(|choice| *of_folder.entry(&choice.parents).or_insert(0) += 1);
        let is_whole = of_folder.values().any(|&count| count > 1);
        let deepest = members.iter().map(|choice| choice.spare()).max().unwrap_or(0);
        let names = |depth| members.iter().map(|choice| choice.name(depth, is_whole)).collect::<Vec<PathBuf>>();
        let is_clear = |names: &Vec<PathBuf>| alike(names).len() == names.len();
        let names = (0..=deepest).map(names).find(is_clear).unwrap_or_else(|| names(0));
        for (index, name) in group.into_iter().zip(names) {
            if let Some(output) = outputs.get_mut(index) {
                *output = name;
            }
        }
    }
    number(&mut outputs, extension);
    outputs
}

/// The ways to name one output.
struct Choice<'a> {
    /// Where outputs go; empty if they go beside their inputs.
    base: PathBuf,
    /// The names of the folders that the input is in, outermost first.
    parents: Vec<OsString>,
    /// How many of them are part of the name at least.
    within: usize,
    file_name: OsString,
    is_beside: bool,
    extension: &'a str,
}

impl<'a> Choice<'a> {
    fn new(input: &Named<'_>, folder: Option<&Path>, extension: &'a str) -> Choice<'a> {
        let file_name = input.within.file_name().unwrap_or_else(|| OsStr::new("trace")).to_owned();
        let mut parents = input.path.and_then(Path::parent).map_or_else(Vec::new, plain_components);
        let within: Vec<OsString> = input.within.parent().map_or_else(Vec::new, names_of);
        // A folder that was given as `.` or through a link has another name within.
        if !parents.ends_with(&within) {
            parents.truncate(parents.len().saturating_sub(within.len()));
            parents.extend(within.iter().cloned());
        }
        let (base, is_beside) = match folder {
            Some(folder) => (folder.to_path_buf(), false),
            None => (input.path.and_then(Path::parent).map_or_else(PathBuf::new, Path::to_path_buf), true),
        };
        Choice { base, parents, within: within.len(), file_name, is_beside, extension }
    }

    /// How many more folders its name may have.
    fn spare(&self) -> usize {
        if self.is_beside { 0 } else { self.parents.len().saturating_sub(self.within) }
    }

    /// Its name with `depth` more of its folders, and with the whole name of the file or not.
    fn name(&self, depth: usize, is_whole: bool) -> PathBuf {
        let mut path = self.base.clone();
        if !self.is_beside {
            let taken = self.within.saturating_add(depth).min(self.parents.len());
            path.extend(self.parents.iter().skip(self.parents.len() - taken));
        }
        let stem = Path::new(&self.file_name).file_stem().filter(|_| !is_whole);
        let mut name = stem.unwrap_or(&self.file_name).to_owned();
        name.push(".");
        name.push(self.extension);
        path.push(name);
        path
    }
}

/// The names of the folders of a path, outermost first, by its text alone: links have no influence. The names of the working directory
/// and of those above it are used only if the path leads out of it. Otherwise traces would be named after the place of a checkout.
fn plain_components(folder: &Path) -> Vec<OsString> {
    let mut depth = 0usize;
    let leads_out = folder.components().any(|component| match component {
        Component::Normal(_) => {
            depth += 1;
            false
        }
        Component::ParentDir => depth.checked_sub(1).map(|up| depth = up).is_none(),
        Component::Prefix(_) | Component::RootDir | Component::CurDir => false,
    });
    if leads_out { names_of(&std::path::absolute(folder).unwrap_or_default()) } else { names_of(folder) }
}

fn names_of(path: &Path) -> Vec<OsString> {
    let mut names: Vec<OsString> = Vec::new();
    for component in path.components() {
        match component {
            Component::Normal(name) => names.push(name.to_owned()),
            Component::ParentDir => drop(names.pop()),
            Component::Prefix(_) | Component::RootDir | Component::CurDir => {}
        }
    }
    names
}

/// Two names with the same identity are one file.
fn identity(path: &Path) -> OsString {
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf());
    if cfg!(any(windows, target_os = "macos")) { absolute.as_os_str().to_ascii_lowercase() } else { absolute.into_os_string() }
}

/// The indices of those that have the same name, in order of their first.
fn alike(names: &[PathBuf]) -> Vec<Vec<usize>> {
    let mut places = HashMap::new();
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for (index, name) in names.iter().enumerate() {
        let place = *places.entry(identity(name)).or_insert(groups.len());
        match groups.get_mut(place) {
            Some(group) => group.push(index),
            None => groups.push(vec![index]),
        }
    }
    groups
}

/// Numbers those that still have the name of another.
fn number(names: &mut [PathBuf], extension: &str) {
    let mut taken: HashMap<OsString, usize> = HashMap::new();
    let groups = alike(names);
    taken.extend(names.iter().map(|name| (identity(name), 1)));
    for index in groups.iter().flat_map(|group| group.iter().skip(1)) {
        let Some(name) = names.get_mut(*index) else { continue };
        let whole = name.clone();
        // The extension may have dots of its own.
        let mut stem = whole.file_stem().unwrap_or_default();
        for _ in extension.matches('.') {
            stem = Path::new(stem).file_stem().unwrap_or(stem);
        }
        let mut next = taken.get(&identity(&whole)).copied().unwrap_or(1);
        loop {
            next += 1;
            let mut numbered = stem.to_owned();
            numbered.push(format!("-{next}.{extension}"));
            name.set_file_name(numbered);
            if taken.insert(identity(name), 1).is_none() {
                break;
            }
        }
        taken.insert(identity(&whole), next);
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    /// The outputs of inputs, each given as its path with `//` where the folder ends in which it was found.
    fn names(inputs: &[&str], folder: Option<&str>) -> Vec<String> {
        let paths: Vec<(PathBuf, PathBuf)> = inputs
            .iter()
            .map(|input| match input.split_once("//") {
                Some((folder, within)) => (Path::new(folder).join(within), within.into()),
                None => (input.into(), Path::new(input).file_name().unwrap().into()),
            })
            .collect();
        let named: Vec<Named<'_>> = paths.iter().map(|(path, within)| Named { path: Some(path), within }).collect();
        let packed = outputs(&named, folder.map(Path::new), "perfetto-trace.gz");
        let outputs = outputs(&named, folder.map(Path::new), "perfetto-trace");
        assert_eq!(alike(&outputs).len(), inputs.len(), "{outputs:?}");
        let with_gz = |path: &PathBuf| PathBuf::from(format!("{}.gz", path.display()));
        assert_eq!(packed, outputs.iter().map(with_gz).collect::<Vec<PathBuf>>());
        outputs.into_iter().map(|path| path.to_str().unwrap().replace(".perfetto-trace", "")).collect()
    }

    #[test]
    fn what_is_clear_keeps_its_short_name() {
        assert_eq!(names(&["a/x.bin", "b/y.bin", "z.b.gz"], Some("o")), ["o/x", "o/y", "o/z.b"]);
        assert_eq!(names(&["c//a/x.bin", "c//y.bin"], Some("o")), ["o/a/x", "o/y"]);
        assert_eq!(names(&["a/x.bin", "b/x.bin"], None), ["a/x", "b/x"]);
    }

    #[test]
    fn what_is_not_gets_what_tells_it_apart() {
        assert_eq!(names(&["a/x.bin", "b/x.bin", "y.bin"], Some("o")), ["o/a/x", "o/b/x", "o/y"]);
        assert_eq!(names(&["1/a/x.bin", "2/a/x.bin", "3/b/x.bin"], Some("o")), ["o/1/a/x", "o/2/a/x", "o/3/b/x"]);
        assert_eq!(names(&["a/x.bin", "a/x.hex"], Some("o")), ["o/x.bin", "o/x.hex"]);
        assert_eq!(names(&["a/x.bin", "a/x.hex"], None), ["a/x.bin", "a/x.hex"]);
        assert_eq!(names(&["a/x.bin", "b/x.hex", "b/x.bin"], Some("o")), ["o/a/x.bin", "o/b/x.hex", "o/b/x.bin"]);
        assert_eq!(names(&["p/c//a/x.bin", "p/d//a/x.bin"], Some("o")), ["o/c/a/x", "o/d/a/x"]);
        assert_eq!(names(&["/x.bin", "/a/x.bin", "a/../b/x.bin"], Some("o")), ["o/x", "o/a/x", "o/b/x"]);
        // The name of the working directory is used only for what is outside of it.
        assert_eq!(names(&["x.bin", "a/x.bin", "./b/./x.bin"], Some("o")), ["o/x", "o/a/x", "o/b/x"]);
        assert_eq!(names(&["a/b/x.bin", "b/x.bin"], Some("o")), ["o/a/b/x", "o/b/x"]);
        let here = std::env::current_dir().unwrap();
        let above = here.parent().unwrap().file_name().unwrap().to_str().unwrap();
        assert_eq!(names(&["x.bin", "../x.bin"], Some("o")), ["o/x".to_owned(), format!("o/{above}/x")]);
    }

    #[test]
    fn what_nothing_tells_apart_is_numbered() {
        // The long name of one is the short name of another.
        assert_eq!(names(&["a/x.bin", "a/x.hex", "a/x.bin.gz"], Some("o")), ["o/x.bin", "o/x.hex", "o/x.bin-2"]);
        assert_eq!(names(&["a/x.bin", "b/x.bin", "c//a/x.hex"], Some("o")), ["o/a/x", "o/b/x", "o/a/x-2"]);
        assert_eq!(names(&["x.bin", "./x.bin", "x-2.bin"], Some("o")), ["o/x.bin", "o/x.bin-2", "o/x-2"]);
    }
}
