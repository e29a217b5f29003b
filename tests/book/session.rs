//! Each `console` block is a session with the built program, line by line.
//!
//! A block starts in a directory with the captures of `testdata/demo`, and so do the examples in tables. `...` matches any
//! number of lines of output.

use std::fs;
use std::path::Path;
use std::process::Command;

use super::{hold, pages, read, root};

#[test]
fn the_sessions_are_real() {
    let sessions: usize = std::thread::scope(|scope| {
        let running = pages().into_iter().map(|page| {
            scope.spawn(move || {
                let (real, sessions) = played(&read(&page));
                // Pages without sessions may be written by other tests meanwhile.
                if sessions > 0 {
                    hold(&page, &real);
                }
                sessions
            })
        });
        let running: Vec<_> = running.collect();
        let ended = running.into_iter().map(|page| page.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        ended.sum()
    });
    assert!(sessions > 20, "{sessions} `console` blocks");
}

/// The first commands of the tracer library's guide, in a new folder.
#[test]
fn the_tracer_librarys_guide_ends_in_a_trace() {
    let library = root().join("target");
    let text = fs::read_to_string(library.join("README.md")).unwrap();
    let block = text.split("```sh\n").nth(1).and_then(|rest| rest.split("```").next()).expect("the guide begins with commands");
    assert!(block.contains("mkdir /tmp/quickstart && cd /tmp/quickstart\n"), "{block}");
    let folder = tempfile::tempdir().unwrap();
    let script = block.replace("/tmp/quickstart", folder.path().join("quickstart").to_str().unwrap());
    let output = Command::new("sh").args(["-e", "-c", &script]).current_dir(library).env("PATH", path()).output().unwrap();
    assert!(output.status.success(), "{script}\n{}", String::from_utf8_lossy(&output.stderr));
    let trace = fs::metadata(folder.path().join("quickstart/trace.perfetto-trace")).unwrap();
    assert!(trace.len() > 500, "{} bytes", trace.len());
}

#[test]
fn wrong_output_is_noticed() {
    let with = |output: &str| format!("Text\n\n```console\n$ echo \"a\"; echo b; false\n{output}$ echo $?\n1\n```\n\nMore\n");
    assert_eq!(played(&with("")), (with("a\nb\n"), 1));
    assert_eq!(played(&with("a\nc\n")), (with("a\nb\n"), 1));
    assert_eq!(played(&with("a\nb\n")).0, with("a\nb\n"));
    assert_eq!(played(&with("a\n...\n")).0, with("a\n...\n"));
    assert_eq!(played(&with("...\nc\n")).0, with("a\nb\n"));
    let block =
        |bytes, seconds| format!("```console\n$ echo '  -> a ({bytes} bytes, 0.01 s)'\n  -> a (5 bytes, {seconds} s)\n```\n");
    assert_eq!(played(&block(5, "0.02")).0, block(5, "0.02"));
    assert_eq!(played(&block(6, "0.02")).0, block(6, "0.02").replace("(5 bytes, 0.02", "(6 bytes, 0.01"));
}

/// The examples in tables work.
#[test]
fn the_examples_in_tables_work() {
    let mut examples = Vec::new();
    for page in pages() {
        let text = read(&page).replace("\\|", "|");
        let rows = text.lines().filter(|line| line.starts_with("| "));
        let spans: Vec<String> = rows.flat_map(|row| row.split('`').skip(1).step_by(2).map(str::to_owned)).collect();
        examples.extend(spans.into_iter().filter(|span| span.starts_with("traceconv ") || span.contains("| traceconv ")));
    }
    assert!(examples.len() > 30, "{examples:?}");
    for example in examples {
        let mut session = Session::new();
        let said = session.run(&example);
        // A difference that is found, or a rule that is broken, is no failure of the example.
        assert!(matches!(session.status, 0 | 3), "{example}\n{said}");
    }
}

/// The text with the real output of all commands, and the number of `console` blocks.
fn played(text: &str) -> (String, usize) {
    let mut played = String::new();
    let mut sessions = 0;
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        played += line;
        played.push('\n');
        if line != "```console" {
            continue;
        }
        sessions += 1;
        let mut session = Session::new();
        while let Some(line) = lines.next_if(|line| *line != "```") {
            let command = line.strip_prefix("$ ").unwrap_or_else(|| panic!("no command, and no output of one: {line}"));
            played += line;
            played.push('\n');
            let mut said = Vec::new();
            while let Some(line) = lines.next_if(|line| *line != "```" && !line.starts_with("$ ")) {
                said.push(line);
            }
            let is = session.run(command);
            let is: Vec<&str> = is.lines().collect();
            for line in if matches(&said, &is) { said } else { is } {
                played += line;
                played.push('\n');
            }
        }
    }
    (played, sessions)
}

/// Whether the output is as described. `...` matches any lines.
fn matches(said: &[&str], is: &[&str]) -> bool {
    match said {
        [] => is.is_empty(),
        ["...", rest @ ..] => (0..=is.len()).any(|skipped| matches(rest, &is[skipped..])),
        [first, rest @ ..] => is.first().is_some_and(|line| timeless(line) == timeless(first)) && matches(rest, &is[1..]),
    }
}

/// A line without how long a conversion took.
fn timeless(line: &str) -> &str {
    match line.rsplit_once(", ") {
        Some((start, rest)) if line.starts_with("  -> ") && rest.ends_with(" s)") => start,
        _ => line,
    }
}

/// The built program's directory comes first: sessions call it by its name.
fn path() -> std::ffi::OsString {
    let program = Path::new(env!("CARGO_BIN_EXE_traceconv")).parent().unwrap().to_owned();
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::join_paths(std::iter::once(program).chain(std::env::split_paths(&path))).unwrap()
}

/// A shell in a directory of its own.
pub struct Session {
    dir: tempfile::TempDir,
    pub status: i32,
}

impl Session {
    pub fn new() -> Session {
        let dir = tempfile::tempdir().unwrap();
        for entry in fs::read_dir(root().join("testdata/demo")).unwrap().map(Result::unwrap) {
            if entry.path().extension().is_none_or(|extension| extension != "md") {
                fs::copy(entry.path(), dir.path().join(entry.file_name())).unwrap();
            }
        }
        Session { dir, status: 0 }
    }

    /// The output of a command on both streams.
    pub fn run(&mut self, command: &str) -> String {
        // `$?` is the status of the command before.
        let script = format!("exec 2>&1; (exit {})\n{command}", self.status);
        let mut shell = Command::new("sh");
        let output = shell.args(["-c", &script]).env("PATH", path()).current_dir(self.dir.path()).output().unwrap();
        self.status = output.status.code().expect("ended by itself");
        String::from_utf8(output.stdout).unwrap()
    }
}
