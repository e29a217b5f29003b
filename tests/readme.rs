//! The commands in README.md do what README.md says: each `console` block is a session with the built program, line by line.
//!
//! A block starts in a directory with the captures of `testdata/demo`, and so do the examples in tables. `...` stands for any
//! number of lines of output. After a change of what the program prints, `TRACECONV_BLESS=1 cargo test --test readme` writes
//! what it prints now, and the diff shows what changed.
#![cfg(unix)]

use std::fs;
use std::path::Path;
use std::process::Command;

#[test]
fn the_sessions_in_the_readme_are_real() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md");
    let text = fs::read_to_string(&path).unwrap();
    let (real, sessions) = played(&text);
    assert!(sessions > 0, "there is no `console` block");
    if std::env::var_os("TRACECONV_BLESS").is_some() {
        return fs::write(&path, &real).unwrap();
    }
    let differs = text.lines().zip(real.lines()).enumerate().find(|(_, (said, is))| said != is);
    if let Some((index, (said, is))) = differs {
        panic!("README.md:{}: it says\n  {said}\nbut it is\n  {is}", index + 1);
    }
    assert_eq!(text, real);
}

/// The first commands of the tracer library's guide, in a new folder.
#[test]
fn the_tracer_librarys_guide_ends_in_a_trace() {
    let library = Path::new(env!("CARGO_MANIFEST_DIR")).join("target");
    let text = fs::read_to_string(library.join("README.md")).unwrap();
    let block = text.split("```sh\n").nth(1).and_then(|rest| rest.split("```").next()).expect("the guide begins with commands");
    assert!(block.contains("mkdir /tmp/quickstart && cd /tmp/quickstart\n"), "{block}");
    let folder = tempfile::tempdir().unwrap();
    let script = block.replace("/tmp/quickstart", folder.path().join("quickstart").to_str().unwrap());
    let program = Path::new(env!("CARGO_BIN_EXE_traceconv"));
    // The program's directory comes first: the guide calls it by its name.
    let path = std::env::join_paths(
        std::iter::once(program.parent().unwrap().to_owned()).chain(std::env::split_paths(&std::env::var_os("PATH").unwrap())),
    );
    let output = Command::new("sh").args(["-e", "-c", &script]).current_dir(library).env("PATH", path.unwrap()).output().unwrap();
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
    let timed = |path| format!("```console\n$ echo '  -> a (5 bytes, 0.01 s)'\n  -> {path} (6 bytes, 0.02 s)\n```\n");
    assert_eq!(played(&timed("a")).0, timed("a"));
    assert_ne!(played(&timed("b")).0, timed("b"));
}

#[test]
fn the_examples_in_tables_work() {
    let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md")).unwrap();
    let rows = text.lines().filter(|line| line.starts_with("| "));
    let spans = rows.flat_map(|row| row.split('`').skip(1).step_by(2));
    let examples: Vec<&str> = spans.filter(|span| span.starts_with("traceconv ")).collect();
    assert!(examples.len() > 10, "{examples:?}");
    for example in examples {
        let mut session = Session::new();
        let said = session.run(example);
        assert_eq!(session.status, 0, "{example}\n{said}");
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

/// Whether the output is as described. `...` stands for any lines.
fn matches(said: &[&str], is: &[&str]) -> bool {
    match said {
        [] => is.is_empty(),
        ["...", rest @ ..] => (0..=is.len()).any(|skipped| matches(rest, &is[skipped..])),
        [first, rest @ ..] => is.first().is_some_and(|line| timeless(line) == timeless(first)) && matches(rest, &is[1..]),
    }
}

/// A line without how long a conversion took, and without the size of the trace: nobody relies on these.
fn timeless(line: &str) -> &str {
    match line.rsplit_once(" (") {
        Some((start, rest)) if line.starts_with("  -> ") && rest.ends_with(" s)") => start,
        _ => line,
    }
}

/// A shell in a directory of its own.
struct Session {
    dir: tempfile::TempDir,
    status: i32,
}

impl Session {
    fn new() -> Session {
        let dir = tempfile::tempdir().unwrap();
        let testdata = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/demo");
        for entry in fs::read_dir(testdata).unwrap().map(Result::unwrap) {
            if entry.path().extension().is_none_or(|extension| extension != "md") {
                fs::copy(entry.path(), dir.path().join(entry.file_name())).unwrap();
            }
        }
        Session { dir, status: 0 }
    }

    /// What a command prints on both streams.
    fn run(&mut self, command: &str) -> String {
        let program = Path::new(env!("CARGO_BIN_EXE_traceconv"));
        let path = std::env::join_paths(
            std::iter::once(program.parent().unwrap().to_path_buf())
                .chain(std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default())),
        );
        // `$?` is the status of the command before.
        let script = format!("exec 2>&1; (exit {})\n{command}", self.status);
        let mut shell = Command::new("sh");
        let output = shell.args(["-c", &script]).env("PATH", path.unwrap()).current_dir(self.dir.path()).output().unwrap();
        self.status = output.status.code().expect("ended by itself");
        String::from_utf8(output.stdout).unwrap()
    }
}
