//! `docs/reference/loss-codes.md` names every code of the ledger, and no other.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use super::{read, root};

#[test]
fn the_page_of_loss_codes_has_every_code() {
    let page = read(Path::new("docs/reference/loss-codes.md"));
    let rows = page.lines().filter_map(|line| line.strip_prefix("| `"));
    let mut described: BTreeMap<String, String> = BTreeMap::new();
    for row in rows {
        let (code, rest) = row.split_once("` | ").expect("a row has cells");
        let kind = rest.split(" | ").next().unwrap_or_default();
        assert!(matches!(kind, "loss" | "repair"), "{row}");
        assert!(described.insert(code.into(), kind.into()).is_none(), "{code} is there twice");
    }
    let sources = files("src", "rs");
    let sources: Vec<String> = sources.iter().filter(|path| !path.ends_with("tests.rs")).map(|path| read(path)).collect();
    let defined: BTreeSet<String> = sources.iter().flat_map(|source| defined(source)).collect();
    assert!(defined.len() > 80, "only {} codes are found in src/", defined.len());
    for code in &defined {
        assert!(described.contains_key(code), "{code} is not on the page");
    }
    for code in described.keys() {
        assert!(defined.contains(code), "{code} is on the page, but in no source");
    }
    // What really was entered, as the goldens of all formats have it.
    let mut entered = 0;
    for line in files("testdata", "txt")
        .iter()
        .filter(|path| path.to_string_lossy().ends_with(".ledger.txt"))
        .map(|path| read(path))
        .flat_map(|view| view.lines().map(str::to_owned).collect::<Vec<_>>())
    {
        let Some((kind, rest)) = line.split_once(' ').filter(|(kind, _)| matches!(*kind, "loss" | "repair")) else { continue };
        let (code, _) = rest.split_once(':').expect("a code has an account");
        assert_eq!(described.get(code).map(String::as_str), Some(kind), "{code}");
        entered += 1;
    }
    assert!(entered > 50, "{entered} entries");
}

/// The codes that a source file defines: fields, arguments of `loss` and `repair`, and the arms of `loss_kind`.
fn defined(source: &str) -> Vec<String> {
    let source = source.split("#[cfg(test)]\nmod").next().unwrap_or_default();
    let mut codes = Vec::new();
    let mut marks = vec!["code:", "loss(", "repair("];
    if source.contains("fn loss_kind(") {
        marks.push("=> (");
    }
    for mark in marks {
        for (at, _) in source.match_indices(mark) {
            let Some(rest) = source[at + mark.len()..].trim_start().strip_prefix('"') else { continue };
            let code = rest.split('"').next().unwrap_or_default();
            if !code.is_empty() && code.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_') {
                codes.push(code.to_owned());
            }
        }
    }
    codes
}

/// The files of a folder and those below it.
fn files(folder: &str, extension: &str) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut folders = vec![PathBuf::from(folder)];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(root().join(&folder)).unwrap().map(Result::unwrap) {
            let path = folder.join(entry.file_name());
            if entry.path().is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|this| this == extension) {
                files.push(path);
            }
        }
    }
    files
}
