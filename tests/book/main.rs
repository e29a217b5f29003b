//! The book (`docs/`) and README.md are true: their sessions are run, their links resolve, and generated pages are fresh.
//!
//! `TRACECONV_BLESS=1 cargo test --test book` writes the output of all sessions and all generated pages. The diff shows the changes.
#![cfg(unix)]

mod codes;
mod fields;
#[path = "../common/fields.rs"]
mod json_page;
mod links;
mod options;
mod reference;
mod session;

use std::fs;
use std::path::{Path, PathBuf};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn is_blessing() -> bool {
    std::env::var_os("TRACECONV_BLESS").is_some()
}

/// README.md and all pages of the book, relative to the repository.
fn pages() -> Vec<PathBuf> {
    let mut pages = vec![PathBuf::from("README.md")];
    let mut folders = vec![PathBuf::from("docs")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(root().join(&folder)).unwrap().map(Result::unwrap) {
            let path = folder.join(entry.file_name());
            if entry.path().is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "md") {
                pages.push(path);
            }
        }
    }
    pages.sort();
    assert!(pages.len() > 10, "{pages:?}");
    pages
}

fn read(page: &Path) -> String {
    fs::read_to_string(root().join(page)).unwrap_or_else(|error| panic!("{}: {error}", page.display()))
}

/// Compares a page with its expected text, or writes it.
fn hold(page: &Path, real: &str) {
    let text = fs::read_to_string(root().join(page)).unwrap_or_default();
    if text == real {
        return;
    }
    if is_blessing() {
        return fs::write(root().join(page), real).unwrap();
    }
    let differs = text.lines().zip(real.lines()).position(|(said, is)| said != is);
    let index = differs.unwrap_or(text.lines().count().min(real.lines().count()));
    let line = |text: &str| text.lines().nth(index).unwrap_or("(the end)").to_owned();
    panic!(
        "{}:{}: it says\n  {}\nbut it is\n  {}\n`TRACECONV_BLESS=1 cargo test --test book` writes it",
        page.display(),
        index + 1,
        line(&text),
        line(real)
    );
}
