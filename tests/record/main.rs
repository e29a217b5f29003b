//! `traceconv record` with targets that are played here: by sockets, pseudo-terminals, pipes and files.
//!
//! The feature `record` is on in tests. No test depends on time: each waits for what the recorder says or for the length of its file.
#![cfg(unix)]

#[path = "../desk/mod.rs"]
mod desk;
mod options;
mod peers;
mod qemu;
mod sessions;
mod targets;
mod trouble;

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::PathBuf;
use std::process::{Child, ChildStderr, Stdio};

use desk::Desk;
use serde_json::Value;
use traceconv::format::{FORMATS, Format};

/// A recording of a format.
pub fn capture(format: &dyn Format, bytes: u64) -> Vec<u8> {
    let mut capture = Vec::new();
    format.generate(bytes, 7, &mut capture).unwrap();
    capture
}

/// The format of this name.
pub fn format(name: &str) -> &'static dyn Format {
    FORMATS.iter().copied().find(|format| format.name() == name).unwrap()
}

/// Bytes that are no recording, and never the same.
pub fn noise(bytes: usize) -> Vec<u8> {
    let mut state = 0x9E37_79B9_7F4A_7C15u64;
    (0..bytes)
        .map(|_| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state as u8
        })
        .collect()
}

/// A recorder at work.
pub struct Recorder {
    child: Child,
    stderr: BufReader<ChildStderr>,
    said: String,
}

impl Recorder {
    /// Starts `traceconv record` with these arguments, after a shell command that prepares the process.
    pub fn start_after(desk: &Desk, prepare: &str, args: &[&str]) -> Recorder {
        let mut command = desk.command("");
        let program = command.get_program().to_owned();
        if !prepare.is_empty() {
            command = desk::signals::with_default_signals(std::process::Command::new("sh"));
            command.current_dir(desk.dir.path()).args(["-c", &format!("{prepare}; exec \"$0\" \"$@\"")]).arg(program);
        }
        let mut child =
            command.arg("record").args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let stderr = BufReader::new(child.stderr.take().unwrap());
        Recorder { child, stderr, said: String::new() }
    }

    /// Starts `traceconv record` with these arguments.
    pub fn start(desk: &Desk, args: &[&str]) -> Recorder {
        Recorder::start_after(desk, "", args)
    }

    /// Waits until it says this. Returns the line.
    #[track_caller]
    pub fn waits_for(&mut self, part: &str) -> String {
        loop {
            let mut line = String::new();
            let len = self.stderr.read_line(&mut line).unwrap();
            assert!(len > 0, "it ended without saying {part:?}:\n{}", self.said);
            self.said += &line;
            if line.contains(part) {
                return line;
            }
        }
    }

    /// The address that it says that it listens on.
    pub fn address(&mut self, before: &str) -> String {
        let line = self.waits_for(before);
        line.split_once(before).unwrap().1.trim().to_owned()
    }

    pub fn stdin(&mut self) -> std::process::ChildStdin {
        self.child.stdin.take().unwrap()
    }

    /// Sends it a signal.
    pub fn signal(&self, signal: libc::c_int) {
        // SAFETY: The process has not been waited for, so the number is still its own.
        assert_eq!(unsafe { libc::kill(self.child.id() as libc::pid_t, signal) }, 0);
    }

    /// Waits for its end. The exit status and all that it said.
    pub fn end(mut self) -> (Option<i32>, String) {
        self.stderr.read_to_string(&mut self.said).unwrap();
        (self.child.wait().unwrap().code(), self.said)
    }

    /// Waits for its end, which is a good one.
    #[track_caller]
    pub fn ends_well(self) -> String {
        let (status, said) = self.end();
        assert_eq!(status, Some(0), "{said}");
        said
    }
}

/// Waits until a file has this length.
pub fn wait_for_length(path: &PathBuf, bytes: u64) {
    while fs::metadata(path).map_or(0, |metadata| metadata.len()) < bytes {
        std::thread::yield_now();
    }
}

/// The notes beside a recording.
pub fn notes(desk: &Desk, recording: &str) -> Vec<Value> {
    let text = String::from_utf8(desk.get(format!("{recording}.traceconv.jsonl"))).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The notes of a kind.
pub fn notes_of(desk: &Desk, recording: &str, kind: &str) -> Vec<Value> {
    notes(desk, recording).into_iter().filter(|note| note["note"] == kind).collect()
}
