//! The words of comments and texts: phrases that made this project's English a dialect of its own must not come back.
//!
//! Each phrase has a limit per 10,000 words of a part's comments and texts, measured against the comments of ripgrep, object, inferno
//! and samply. One use more than the limit is an error, and the test lists all uses.

use std::collections::BTreeMap;
use std::fs;

use super::source::Source;
use super::{root, rust_files};

/// Phrases, and how many of them a part may have per 10,000 words. A phrase of several words may be broken over lines.
const PHRASES: [(&[&str], f64); 8] = [
    (&["told", "tell", "tells"], 4.0),
    (&["what"], 19.0),
    (&["stands", "stand"], 1.0),
    (&["behind"], 2.0),
    (&["is none", "are none"], 1.0),
    (&["so many", "so much"], 1.0),
    (&["anew"], 0.0),
    (&["but for", "put right"], 0.0),
];

/// Right uses of a phrase: the start of the file's name, and the phrase with the words around it.
const ALLOWED: &[(&str, &str)] = &[];

/// The words of comments and texts of some files, in order, each with its place.
#[derive(Default)]
struct Prose {
    words: Vec<(String, String)>,
}

impl Prose {
    fn add(&mut self, file: &str, source: &Source) {
        for (line, text) in source.prose() {
            let words =
                text.split(|char: char| !char.is_alphanumeric() && char != '_' && char != '\'').filter(|word| !word.is_empty());
            self.words.extend(words.map(|word| (format!("{file}:{line}"), word.to_lowercase())));
        }
    }

    /// The places of a phrase.
    fn find(&self, phrase: &str) -> Vec<&str> {
        let parts: Vec<&str> = phrase.split(' ').collect();
        let is_at = |window: &&[(String, String)]| window.iter().map(|(_, word)| word.as_str()).eq(parts.iter().copied());
        self.words.windows(parts.len()).filter(is_at).map(|window| window[0].0.as_str()).collect()
    }

    /// The phrases that are used too often.
    fn complaints(&self, name: &str, allowed: &[(&str, &str)]) -> Vec<String> {
        let mut complaints = Vec::new();
        for (phrases, limit) in PHRASES {
            let right: Vec<&str> = allowed
                .iter()
                .filter(|(_, around)| phrases.iter().any(|phrase| around.split(' ').any(|word| word == *phrase)))
                .flat_map(|(file, around)| self.find(around).into_iter().filter(move |place| place.starts_with(file)))
                .collect();
            let mut places: Vec<&str> = phrases.iter().flat_map(|phrase| self.find(phrase)).collect();
            places.retain(|place| !right.contains(place));
            let most = (limit * self.words.len() as f64 / 10_000.0).ceil();
            if places.len() as f64 > most {
                let phrases = phrases.join("`, `");
                complaints.push(format!("{name}: `{phrases}` {} times, at most {most}: {}", places.len(), places.join(" ")));
            }
        }
        complaints
    }
}

/// The part that a file belongs to: its folder, and in `src` a folder more; each format by itself.
fn part_of(file: &str) -> String {
    let folders: Vec<&str> = file.split('/').collect();
    let depth = match folders.as_slice() {
        ["src", "format", _, _, ..] => 3,
        ["src", _, _, ..] => 2,
        _ => 1,
    };
    folders[..depth.min(folders.len() - 1)].join("/")
}

#[test]
fn comments_and_texts_are_plain_english() {
    let mut parts: BTreeMap<String, Prose> = BTreeMap::new();
    for file in rust_files().iter().filter(|file| *file != "tests/house/words.rs") {
        let text = fs::read_to_string(root().join(file)).unwrap();
        parts.entry(part_of(file)).or_default().add(file, &Source::parse(file, &text));
    }
    let complaints: Vec<String> = parts.iter().flat_map(|(name, prose)| prose.complaints(name, ALLOWED)).collect();
    assert!(complaints.is_empty(), "\n{}\n", complaints.join("\n"));
}

#[test]
fn phrases_are_found() {
    let mut prose = Prose::default();
    let text =
        "/// It is told\n/// anew, but\n/// for one.\nfn behind() -> &str { \"stands behind it\" }\n/// It stands in for it.";
    prose.add("src/timeline/a.rs", &Source::parse("src/timeline/a.rs", text));
    assert_eq!(prose.find("behind"), ["src/timeline/a.rs:4"]);
    let complaints = prose.complaints("src/timeline", &[("src/timeline/", "stands in for")]).join("\n");
    assert!(complaints.contains("`anew` 1 times, at most 0: src/timeline/a.rs:2"), "{complaints}");
    assert!(complaints.contains("`but for`, `put right` 1 times, at most 0: src/timeline/a.rs:2"), "{complaints}");
    assert!(!complaints.contains("`stands`"), "one of two is right, the other within the limit: {complaints}");
    assert!(prose.complaints("src/timeline", &[]).join("\n").contains("`stands`, `stand` 2 times, at most 1"));
    assert_eq!(part_of("src/format/one/a/b.rs"), "src/format/one");
    assert_eq!(part_of("src/format/mod.rs"), "src/format");
    assert_eq!(part_of("src/lib.rs"), "src");
    assert_eq!(part_of("tests/cli.rs"), "tests");
}
