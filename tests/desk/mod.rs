//! A directory to run the built program in, and the result of a run: for the tests of the command line.
#![allow(dead_code, reason = "each test uses another part")]

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

#[path = "../common/signals.rs"]
pub mod signals;

/// A directory to work in.
pub struct Desk {
    pub dir: TempDir,
}

/// The result of a run of the program.
pub struct Ran {
    pub status: i32,
    pub stdout: Vec<u8>,
    pub stderr: String,
}

impl From<Output> for Ran {
    fn from(output: Output) -> Ran {
        let stderr = String::from_utf8(output.stderr).expect("messages are UTF-8");
        Ran { status: output.status.code().expect("ended by itself"), stdout: output.stdout, stderr }
    }
}

impl Ran {
    /// Checks the exit status.
    #[track_caller]
    pub fn ends(self, status: i32) -> Ran {
        assert_eq!(self.status, status, "{}", self.stderr);
        self
    }

    /// Checks that standard error says all of this.
    #[track_caller]
    pub fn says(self, parts: &[&str]) -> Ran {
        parts.iter().for_each(|part| assert!(self.stderr.contains(part), "{part:?} is not in:\n{}", self.stderr));
        self
    }

    pub fn lines(&self) -> Vec<Value> {
        let text = std::str::from_utf8(&self.stdout).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

impl Desk {
    pub fn new() -> Desk {
        Desk { dir: tempfile::tempdir().unwrap() }
    }

    pub fn with(name: &str, content: &[u8]) -> Desk {
        let desk = Desk::new();
        desk.put(name, content);
        desk
    }

    pub fn path(&self, name: impl AsRef<Path>) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Makes a file, and the directories that it is in.
    pub fn put(&self, name: impl AsRef<Path>, content: &[u8]) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    pub fn get(&self, name: impl AsRef<Path>) -> Vec<u8> {
        let name = name.as_ref();
        fs::read(self.path(name)).unwrap_or_else(|error| panic!("{}: {error}; there are {:?}", name.display(), self.files("")))
    }

    pub fn text(&self, name: &str) -> String {
        String::from_utf8(self.get(name)).unwrap()
    }

    pub fn json(&self, name: &str) -> Value {
        serde_json::from_slice(&self.get(name)).unwrap()
    }

    /// All files in a directory and below, also hidden ones, in order. Bytes that are not UTF-8 are escaped.
    pub fn files(&self, dir: &str) -> Vec<String> {
        let root = self.path(dir);
        let mut names = Vec::new();
        let mut dirs = vec![root.clone()];
        while let Some(dir) = dirs.pop() {
            for entry in fs::read_dir(&dir).unwrap().map(Result::unwrap) {
                if entry.file_type().unwrap().is_dir() {
                    dirs.push(entry.path());
                } else {
                    names.push(
                        entry.path().strip_prefix(&root).unwrap().as_os_str().as_encoded_bytes().escape_ascii().to_string(),
                    );
                }
            }
        }
        names.sort();
        names
    }

    /// Everything in the directory, also hidden files.
    pub fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.dir.path()).unwrap();
        let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    /// The program, with its arguments divided by blanks.
    pub fn command(&self, line: &str) -> Command {
        let mut command = signals::with_default_signals(Command::new(env!("CARGO_BIN_EXE_traceconv")));
        command.args(line.split_whitespace()).current_dir(self.dir.path()).stdin(Stdio::null());
        command
    }

    #[track_caller]
    pub fn run(&self, line: &str) -> Ran {
        self.command(line).output().unwrap().into()
    }

    pub fn run_with_stdin(&self, line: &str, input: &[u8]) -> Ran {
        let mut command = self.command(line);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        std::thread::scope(|scope| {
            // The program may refuse without reading; then the pipe breaks.
            scope.spawn(move || drop(stdin.write_all(input)));
            child.wait_with_output().unwrap().into()
        })
    }
}
