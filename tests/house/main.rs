//! The rules of the house, as a test: the imports that each part may have, the parts that may print, and the begin of files.
//!
//! ARCHITECTURE.md says why each rule is there. All of them are checked on the source text ([`source`] splits it into code and
//! comments), so that a broken rule is named with its file and line. Each rule is also shown to fail on a file that breaks it.

mod source;
mod words;

use std::fs;
use std::path::{Path, PathBuf};

use source::Source;

/// The parts of the library that each part may name, beside itself. `lib.rs` and `main.rs` may name all.
const LAYERS: [(&str, &[&str]); 17] = [
    ("model", &[]),
    ("printf", &[]),
    ("symbols", &[]),
    ("clock", &["model"]),
    ("frame", &["model"]),
    ("format", &["clock", "frame", "model", "printf", "symbols"]),
    ("input", &["format", "frame", "model"]),
    ("track", &["model"]),
    ("timeline", &["model", "track"]),
    ("stats", &["model"]),
    ("metrics", &["stats"]),
    ("perfetto", &["model", "track"]),
    ("pipeline", &["format", "frame", "model", "perfetto", "stats", "timeline", "track"]),
    ("report", &["format", "input", "model", "pipeline", "stats"]),
    ("export", &["metrics", "model", "pipeline", "report", "stats", "track"]),
    ("record", &["format", "input", "metrics", "model", "pipeline", "stats"]),
    ("cli", &["export", "format", "input", "metrics", "model", "pipeline", "record", "report", "stats"]),
];

/// The parts that know no input format, not even by its name in a text.
const BLIND_TO_FORMATS: [&str; 10] =
    ["model", "clock", "printf", "symbols", "frame", "timeline", "track", "stats", "metrics", "perfetto"];

/// Crates that belong to some parts only. `main` is the binary.
const CRATES: [(&str, &[&str]); 41] = [
    ("anstream", &["cli"]),
    ("anstyle", &["cli"]),
    ("anyhow", &["cli", "main"]),
    ("arrow_array", &["cli", "export"]),
    ("arrow_csv", &["export"]),
    ("arrow_ipc", &["export"]),
    ("arrow_json", &["export"]),
    ("arrow_schema", &["export"]),
    ("chrono", &["export"]),
    ("clap", &["cli"]),
    ("clap_complete", &["cli"]),
    ("clap_mangen", &["cli"]),
    ("cpp_demangle", &["symbols"]),
    ("crc", &["format", "frame", "symbols"]),
    ("ctrlc", &["cli"]),
    ("flate2", &["input", "pipeline", "symbols"]),
    ("getrandom", &["cli"]),
    ("gimli", &["symbols"]),
    ("globset", &["cli"]),
    ("http", &["cli"]),
    ("httparse", &["cli"]),
    ("indicatif", &["cli"]),
    ("libc", &["cli", "input", "record"]),
    ("memmap2", &["input"]),
    ("object", &["symbols"]),
    ("open", &["cli"]),
    ("parquet", &["export"]),
    ("percent_encoding", &["cli"]),
    ("probe_rs", &["record"]),
    ("prost", &["perfetto"]),
    ("quick_xml", &["report"]),
    ("rayon", &["pipeline"]),
    ("rustc_demangle", &["symbols"]),
    ("serialport", &["record"]),
    ("sha2", &["symbols"]),
    ("tar", &["input"]),
    ("tempfile", &["cli", "input", "record"]),
    ("toml", &["metrics"]),
    ("walkdir", &["cli"]),
    ("zip", &["input"]),
    ("zstd", &["input", "pipeline", "symbols"]),
];

/// Parts of the standard library that reach outside of the program. `std::process` is needed by `main` for its exit code.
const OUTSIDE: [(&str, &[&str]); 6] = [
    ("env", &["cli"]),
    ("fs", &["cli", "input", "record"]),
    ("net", &["cli", "record"]),
    ("process", &["cli", "main"]),
    ("thread", &["cli", "pipeline", "record"]),
    ("time", &["cli", "record"]),
];

/// Macros that print or that mark code not yet written.
const PRINTING: [&str; 4] = ["print", "println", "eprint", "eprintln"];
const UNFINISHED: [&str; 3] = ["dbg", "todo", "unimplemented"];

/// A file longer than this says in its first lines why.
const MAX_LINES: usize = 1000;
/// The accepted reasons for a longer file.
const GOOD_REASONS: [&str; 2] = ["table", "state machine"];

#[test]
fn the_house_is_in_order() {
    let formats = formats();
    assert!(!formats.is_empty());
    let mut complaints = Vec::new();
    for file in rust_files() {
        let text = fs::read_to_string(root().join(&file)).unwrap();
        complaints.extend(check(&file, &text, &formats));
    }
    assert!(complaints.is_empty(), "\n{}\n", complaints.join("\n"));
}

#[test]
fn all_parts_have_their_layer() {
    for entry in fs::read_dir(root().join("src")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let part = name.trim_end_matches(".rs");
        let known = ["lib", "main"].contains(&part) || LAYERS.iter().any(|(layer, _)| *layer == part);
        assert!(known, "src/{name} has no line in LAYERS");
    }
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The folders of `src/format`.
fn formats() -> Vec<String> {
    let entries = fs::read_dir(root().join("src/format")).unwrap().map(Result::unwrap);
    let folders = entries.filter(|entry| entry.path().is_dir());
    folders.map(|entry| entry.file_name().into_string().unwrap()).collect()
}

/// All Rust files of the repository, relative to its root, with `/` between folders.
fn rust_files() -> Vec<String> {
    let mut files = Vec::new();
    for folder in [
        "src",
        "tests",
        "benches",
        "examples",
        "xtask/src",
        "fuzz/fuzz_targets",
        "target/tests/differential",
        "web/wasm/src",
        "python/src",
    ] {
        let mut folders = vec![PathBuf::from(folder)];
        while let Some(folder) = folders.pop() {
            let Ok(entries) = fs::read_dir(root().join(&folder)) else { continue };
            for entry in entries.map(Result::unwrap) {
                let path = folder.join(entry.file_name());
                if entry.path().is_dir() {
                    folders.push(path);
                } else if path.extension().is_some_and(|extension| extension == "rs") {
                    files.push(path.to_str().unwrap().replace('\\', "/"));
                }
            }
        }
    }
    files.sort();
    assert!(files.iter().any(|file| file == "src/lib.rs"));
    files
}

/// All broken rules of a file.
fn check(file: &str, text: &str, formats: &[String]) -> Vec<String> {
    let source = Source::parse(file, text);
    let mut complaints = Vec::new();
    let mut complain = |line: usize, rule: String| complaints.push(format!("{file}:{line}: {rule}"));
    if !text.starts_with("//!") {
        complain(1, "does not begin with a `//!` that says the purpose of the file".into());
    }
    let lines = text.lines().count();
    let opening: Vec<&str> = text.lines().take_while(|line| line.starts_with("//!")).collect();
    let opening = opening.join(" ");
    if lines > MAX_LINES && !GOOD_REASONS.iter().any(|reason| opening.contains(reason)) {
        complain(1, format!("has {lines} lines, and does not begin by saying that it is a table or one state machine"));
    }
    for line in source.unproven_unsafe() {
        complain(line, "`unsafe` without a `SAFETY:` comment above it".into());
    }
    for (line, name) in source.macros() {
        if UNFINISHED.contains(&name.as_str()) {
            complain(line, format!("`{name}!` marks code that is missing"));
        }
    }
    if let Some(part) = source.part() {
        check_part(part, &source, formats, &mut complain);
    }
    complaints
}

/// The rules for a part of the library, or for the binary.
fn check_part(part: &str, source: &Source, formats: &[String], complain: &mut dyn FnMut(usize, String)) {
    let layer = LAYERS.iter().find(|(layer, _)| *layer == part);
    for path in source.paths() {
        let names: Vec<&str> = path.names.iter().map(String::as_str).collect();
        match names.as_slice() {
            ["crate", other, rest @ ..] => {
                if let Some((_, may_name)) = layer
                    && LAYERS.iter().any(|(layer, _)| layer == other)
                    && *other != part
                    && !may_name.contains(other)
                {
                    complain(path.line, format!("`{part}` must not name `{other}`"));
                }
                let own = source.format();
                if let ("format", Some(own), [format, ..]) = (*other, own, rest)
                    && *format != own
                    && formats.iter().any(|known| known == format)
                {
                    complain(path.line, format!("the format `{own}` must not name the format `{format}`"));
                }
            }
            ["std", outside, ..] => {
                if let Some((_, allowed)) = OUTSIDE.iter().find(|(name, _)| name == outside)
                    && !allowed.contains(&part)
                {
                    complain(path.line, format!("`{part}` must not use `std::{outside}`"));
                }
                if let ["std", "io", "stdout" | "stderr" | "stdin", ..] = names.as_slice()
                    && part != "cli"
                {
                    complain(path.line, format!("`{part}` must not use the standard streams"));
                }
            }
            [first, ..] => {
                if let Some((name, allowed)) = CRATES.iter().find(|(name, _)| name == first)
                    && !allowed.contains(&part)
                {
                    complain(path.line, format!("`{part}` must not use the crate `{name}`"));
                }
            }
            [] => {}
        }
    }
    for (line, name) in source.macros() {
        if PRINTING.contains(&name.as_str()) && part != "cli" && part != "main" {
            complain(line, format!("`{part}` must not print"));
        }
    }
    if BLIND_TO_FORMATS.contains(&part) {
        for (line, word) in source.words_and_texts() {
            if formats.iter().any(|format| speaks_of(&word, format)) {
                complain(line, format!("`{part}` must not know the format that `{word}` speaks of"));
            }
        }
    }
}

/// Whether a name or a text contains the name of a format, in any case, and not as the start of a longer word (`syst` in `system`).
fn speaks_of(word: &str, format: &str) -> bool {
    let lower = word.to_ascii_lowercase();
    let ends_there = |end: usize| !word.as_bytes().get(end).is_some_and(u8::is_ascii_lowercase);
    lower.match_indices(format).any(|(at, _)| ends_there(at + format.len()))
}

/// The broken rules of a file of two formats, `one` and `other`, whose first line is as it should be.
fn wrong_with(file: &str, code: &str) -> String {
    let text = format!("//! A file.\n{code}\n");
    check(file, &text, &["one".to_owned(), "other".to_owned()]).join("\n")
}

#[test]
fn parts_name_only_those_before_them() {
    let bad = [
        ("src/model/time.rs", "use crate::timeline::Op;", "src/model/time.rs:2: `model` must not name `timeline`"),
        ("src/format/one/decode.rs", "fn f() { crate::perfetto::prelude(); }", "`format` must not name `perfetto`"),
        ("src/format/mod.rs", "use crate::{model::Event, timeline};", "`format` must not name `timeline`"),
        ("src/format/one/mod.rs", "use super::super::pipeline::Options;", "`format` must not name `pipeline`"),
        ("src/format/one/mod.rs", "mod tests { use super::super::super::cli; }", "`format` must not name `cli`"),
        ("src/timeline/tasks.rs", "use crate::format::Part;", "`timeline` must not name `format`"),
        ("src/perfetto/wire.rs", "use crate::{model, format::{Format, Part}};", "`perfetto` must not name `format`"),
        ("src/pipeline/mod.rs", "use crate::cli;", "`pipeline` must not name `cli`"),
        ("src/frame/cobs.rs", "use traceconv::format::Part;", "`frame` must not name `format`"),
    ];
    for (file, code, complaint) in bad {
        assert!(wrong_with(file, code).contains(complaint), "{file}: {code}: {:?}", wrong_with(file, code));
    }
    for (file, code) in [
        ("src/model/time.rs", "/// Not [`crate::timeline`].\nuse super::Nanos; // crate::timeline"),
        ("src/format/one/mod.rs", "use super::super::frame::split; use crate::model::Event;"),
        ("src/format/one/mod.rs", "mod tests { use super::super::Format; }"),
        ("src/timeline/mod.rs", "fn format() -> &'static str { \"crate::cli\" }"),
        ("src/pipeline/mod.rs", "use crate::{format, perfetto, timeline};"),
        ("src/main.rs", "fn main() -> std::process::ExitCode { traceconv::cli::main() }"),
    ] {
        assert_eq!(wrong_with(file, code), "", "{file}: {code}");
    }
}

#[test]
fn formats_do_not_know_each_other_and_nobody_else_knows_them() {
    let complaint = "the format `one` must not name the format `other`";
    assert!(wrong_with("src/format/one/mod.rs", "use super::other::Record;").contains(complaint));
    assert!(wrong_with("src/format/one/a/b.rs", "use super::super::super::other::Record;").contains(complaint));
    assert!(wrong_with("src/format/one/a.rs", "use crate::format::{Part, other};").contains(complaint));
    assert_eq!(wrong_with("src/format/one/a.rs", "use super::super::one::Record; use crate::format::Part;"), "");
    assert_eq!(wrong_with("src/format/mod.rs", "pub const FORMATS: &[&dyn Format] = &[&one::One, &other::Other];"), "");
    let complaint = "`timeline` must not know the format that `is_from_other` speaks of";
    assert!(wrong_with("src/timeline/tasks.rs", "fn is_from_other() {}").contains(complaint));
    assert!(wrong_with("src/model/event.rs", "const NAME: &str = \"Other\";").contains("speaks of"));
    assert_eq!(wrong_with("src/timeline/tasks.rs", "// the other one"), "");
}

#[test]
fn the_library_does_not_reach_outside() {
    let bad = [
        ("src/pipeline/mod.rs", "fn f() { println!(\"x\"); }", "`pipeline` must not print"),
        ("src/lib.rs", "fn f() { eprintln!(); }", "`lib` must not print"),
        ("src/report/mod.rs", "use std::io::{self, stdout};", "`report` must not use the standard streams"),
        ("src/input/mod.rs", "fn f() { std::process::exit(1) }", "`input` must not use `std::process`"),
        ("src/timeline/mod.rs", "use std::time::Instant;", "`timeline` must not use `std::time`"),
        ("src/pipeline/mod.rs", "use std::{io, env};", "`pipeline` must not use `std::env`"),
        ("src/format/one/mod.rs", "use std::fs::File;", "`format` must not use `std::fs`"),
        ("src/report/mod.rs", "use anyhow::Result;", "`report` must not use the crate `anyhow`"),
        ("src/input/mod.rs", "fn f() -> ::anyhow::Result<()> {}", "`input` must not use the crate `anyhow`"),
        ("src/format/one/mod.rs", "use {memmap2::Mmap, std::io};", "`format` must not use the crate `memmap2`"),
        ("src/timeline/mod.rs", "#[derive(prost::Message)] struct A;", "`timeline` must not use the crate `prost`"),
    ];
    for (file, code, complaint) in bad {
        assert!(wrong_with(file, code).contains(complaint), "{file}: {code}: {:?}", wrong_with(file, code));
    }
    for (file, code) in [
        ("src/cli/mod.rs", "use std::{env, time::Instant}; use anyhow::Context; fn f() { eprintln!(); std::process::exit(1) }"),
        ("src/pipeline/mod.rs", "const VERSION: &str = env!(\"CARGO_PKG_VERSION\"); fn f(x: Instant) { x.time.env }"),
        (
            "src/model/event.rs",
            "/// `println!(\"{}\", std::time::now())`\nconst A: (&str, char) = (\"println!()\", '\"'); // println!()",
        ),
        ("tests/cli.rs", "use std::env; fn f() { println!() }"),
    ] {
        assert_eq!(wrong_with(file, code), "", "{file}: {code}");
    }
}

#[test]
fn unsafe_code_has_its_proof_and_nothing_is_unfinished() {
    assert!(wrong_with("src/input/a.rs", "fn f() { unsafe { g() } }").contains("src/input/a.rs:2: `unsafe` without"));
    let far_away = "// SAFETY: proven.\n\nfn f() { unsafe { g() } }";
    assert!(wrong_with("src/input/a.rs", far_away).contains("src/input/a.rs:4: `unsafe` without"));
    let proven = "fn f() {\n    // SAFETY: proven,\n    // in two lines.\n    let a = unsafe { g() };\n}";
    assert_eq!(wrong_with("src/input/a.rs", proven), "");
    assert_eq!(wrong_with("src/lib.rs", "#![forbid(unsafe_op_in_unsafe_fn)] // unsafe"), "");
    assert!(wrong_with("src/input/a.rs", "fn f() { todo!() }").contains("`todo!` marks code that is missing"));
    assert!(wrong_with("xtask/src/main.rs", "fn f() { dbg!(1); }").contains("xtask/src/main.rs:2: `dbg!`"));
}

#[test]
fn files_begin_with_what_they_are_for() {
    let begin = |text: &str| check("src/model/time.rs", text, &[]).join("\n");
    assert!(begin("use std::fmt;\n").contains("src/model/time.rs:1: does not begin"));
    assert!(begin("").contains("does not begin"));
    let long = "const A: u8 = 1;\n".repeat(MAX_LINES);
    assert!(begin(&format!("//! A file.\n{long}")).contains("has 1001 lines"));
    assert_eq!(begin(&format!("//! A file.\n{}", &long[17..])), "");
    assert_eq!(begin(&format!("//! A file.\n//! One state machine.\n{long}")), "");
    assert!(begin(&format!("//! A file.\n{long}//! A table.\n")).contains("has 1002 lines"));
}
