//! All links within the repository lead somewhere, in the repository's view and in the book's; every page is in the book's summary.

use std::collections::HashMap;
use std::fs;
use std::path::{Component, Path, PathBuf};

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

use super::{pages, read, root};

const BOOK: &str = "docs";

#[test]
fn links_lead_somewhere() {
    let mut files = pages();
    files.extend(["ARCHITECTURE.md", "CHANGELOG.md", "target/README.md", "target/FORMAT.md"].map(PathBuf::from));
    for entry in fs::read_dir(root().join("testdata")).unwrap().map(Result::unwrap) {
        files.push(Path::new("testdata").join(entry.file_name()).join("README.md"));
    }
    let mut complaints = Vec::new();
    let mut followed = 0;
    for file in files {
        // As people read it in the repository, and (with its includes) as they read it in the book.
        let mut views = vec![read(&file)];
        if file.starts_with(BOOK) {
            views.push(expanded(&file));
        }
        for (view, text) in views.iter().enumerate() {
            for link in links(text) {
                followed += 1;
                let is_in_book = view == 1 || file.starts_with(BOOK);
                complaints.extend(broken(&file, &link, is_in_book).map(|why| format!("{}: {link}: {why}", file.display())));
            }
        }
    }
    assert!(complaints.is_empty(), "\n{}\n", complaints.join("\n"));
    assert!(followed > 50, "{followed} links");
}

#[test]
fn the_summary_has_every_page() {
    let summary = Path::new(BOOK).join("SUMMARY.md");
    let listed: Vec<PathBuf> = links(&read(&summary)).iter().map(|link| Path::new(BOOK).join(link)).collect();
    for page in pages().into_iter().filter(|page| page.starts_with(BOOK) && *page != summary) {
        assert_eq!(listed.iter().filter(|listed| **listed == page).count(), 1, "{} is not once in the summary", page.display());
    }
}

#[test]
fn broken_links_are_noticed() {
    let from = Path::new("docs/ci.md");
    let text = "# One\n\n## `traceconv dump`: *two* & three_3\n\n## One\n\n[a](statistics.md) ![b](pictures/none.svg) [c][d]\n\n[d]: #one-1\n";
    assert_eq!(anchors(text), ["one", "traceconv-dump-two--three_3", "one-1"]);
    assert_eq!(links(text), ["statistics.md", "pictures/none.svg", "#one-1"]);
    for (link, is_broken) in [
        ("statistics.md", false),
        ("pictures/none.svg", true),
        ("statistics.md#no-such-heading", true),
        ("#no-such-heading", true),
        ("../README.md", true),
        ("https://ui.perfetto.dev", false),
    ] {
        assert_eq!(broken(from, link, true).is_some(), is_broken, "{link}");
    }
    assert!(broken(from, "../README.md", false).is_none());
}

/// A page with its includes in their places, as mdBook does it.
pub fn expanded(page: &Path) -> String {
    let mut text = String::new();
    for line in read(page).lines() {
        match line.strip_prefix("{{#include ").and_then(|rest| rest.strip_suffix("}}")) {
            Some(path) => text += &read(&normal(&page.parent().unwrap().join(path))),
            None => text += line,
        }
        text.push('\n');
    }
    text
}

/// Why a link of a file leads nowhere. A page of the book leads to pages of the book.
fn broken(file: &Path, link: &str, is_in_book: bool) -> Option<String> {
    if link.contains("://") || link.starts_with("mailto:") {
        return None;
    }
    let (path, anchor) = link.split_once('#').map_or((link, None), |(path, anchor)| (path, Some(anchor)));
    let to = if path.is_empty() { file.to_owned() } else { normal(&file.parent().unwrap().join(path)) };
    if !root().join(&to).exists() {
        return Some("there is no such file".into());
    }
    if is_in_book && !to.starts_with(BOOK) {
        return Some("this is not in the book".into());
    }
    if is_in_book && to.ends_with("README.md") && !file.ends_with("SUMMARY.md") {
        return Some("mdBook calls this index.html, and leaves links to it as they are".into());
    }
    let anchor = anchor?;
    if to.extension().is_none_or(|extension| extension != "md") {
        return Some("only pages have headings".into());
    }
    let has_it = anchors(&expanded(&to)).iter().any(|heading| heading == anchor);
    (!has_it).then(|| "there is no such heading".into())
}

fn parser(text: &str) -> Parser<'_> {
    Parser::new_ext(text, Options::ENABLE_TABLES | Options::ENABLE_FOOTNOTES | Options::ENABLE_STRIKETHROUGH)
}

/// Where all links and pictures of a text lead.
fn links(text: &str) -> Vec<String> {
    let links = parser(text).filter_map(|event| match event {
        Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => Some(dest_url.into_string()),
        _ => None,
    });
    links.collect()
}

/// The names of a text's headings in links, as GitHub and mdBook make them.
fn anchors(text: &str) -> Vec<String> {
    let mut seen: HashMap<String, usize> = HashMap::new();
    let mut anchors = Vec::new();
    let mut heading: Option<String> = None;
    for event in parser(text) {
        match event {
            Event::Start(Tag::Heading { .. }) => heading = Some(String::new()),
            Event::Text(text) | Event::Code(text) => heading.iter_mut().for_each(|heading| heading.push_str(&text)),
            Event::End(TagEnd::Heading(_)) => {
                let kept = heading.take().unwrap_or_default();
                let kept = kept.chars().filter(|c| c.is_alphanumeric() || "_- ".contains(*c));
                let name: String = kept.map(|c| if c == ' ' { '-' } else { c }).collect::<String>().to_lowercase();
                let times = seen.entry(name.clone()).or_default();
                anchors.push(if *times == 0 { name } else { format!("{name}-{times}") });
                *times += 1;
            }
            _ => {}
        }
    }
    anchors
}

/// Without `.` and `..`.
fn normal(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for component in path.components() {
        match component {
            Component::ParentDir => assert!(normal.pop(), "{} leaves the repository", path.display()),
            Component::CurDir => {}
            other => normal.push(other),
        }
    }
    normal
}
