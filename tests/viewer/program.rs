//! The built program while it runs, and the one port that all tests of it share.

use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::time::{Duration, Instant};

#[path = "../common/signals.rs"]
mod signals;

/// Enough that a wait for it is a failure.
pub const LONG: Duration = Duration::from_secs(60);

/// The port that the viewer fetches from.
pub const PORT: u16 = 9001;

/// The right to use the port: one test at a time, of all that run on this machine.
pub struct Port {
    _lock: File,
}

impl Port {
    /// Waits for the port. Another program that holds it makes the test fail.
    pub fn take() -> Port {
        let path = std::env::temp_dir().join("traceconv-test-port-9001.lock");
        let lock = File::options().create(true).append(true).open(&path).unwrap_or_else(|error| panic!("{path:?}: {error}"));
        lock.lock().unwrap();
        let started = Instant::now();
        while let Err(error) = TcpListener::bind(("127.0.0.1", PORT)) {
            assert!(started.elapsed() < LONG, "these tests need port {PORT}, which another program holds: {error}");
            std::thread::sleep(Duration::from_millis(100));
        }
        Port { _lock: lock }
    }
}

/// A directory with the demo in it.
pub struct Desk {
    pub dir: tempfile::TempDir,
}

impl Desk {
    pub fn new() -> Desk {
        let desk = Desk { dir: tempfile::tempdir().unwrap() };
        let demo = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/demo/demo.bin");
        fs::copy(demo, desk.path("demo.bin")).unwrap();
        desk
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// The program, with its arguments divided by blanks.
    pub fn command(&self, line: &str) -> Command {
        let mut command = signals::with_default_signals(Command::new(env!("CARGO_BIN_EXE_traceconv")));
        command.args(line.split_whitespace()).current_dir(self.dir.path()).stdin(Stdio::null()).env_remove("SSH_CONNECTION");
        command
    }

    /// Starts the program.
    pub fn start(&self, line: &str) -> Running {
        Running::start(self.command(line))
    }

    /// Runs the program to its end: its status and its messages.
    pub fn run(&self, line: &str) -> (i32, String) {
        self.start(line).ends()
    }
}

/// A program that runs. It ends with this value.
pub struct Running {
    pub child: Child,
    lines: Receiver<String>,
    pub said: String,
}

impl Running {
    pub fn start(mut command: Command) -> Running {
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let stderr = BufReader::new(child.stderr.take().unwrap());
        let (sender, lines) = mpsc::channel();
        std::thread::spawn(move || stderr.lines().map_while(Result::ok).try_for_each(|line| sender.send(line)));
        Running { child, lines, said: String::new() }
    }

    /// The next line that has this in it.
    #[track_caller]
    pub fn says(&mut self, part: &str) -> String {
        let started = Instant::now();
        while let Ok(line) = self.lines.recv_timeout(LONG.saturating_sub(started.elapsed())) {
            self.said += &format!("{line}\n");
            if line.contains(part) {
                return line;
            }
        }
        panic!("{part:?} is not said, but:\n{}", self.said);
    }

    /// The link that it prints.
    #[track_caller]
    pub fn link(&mut self) -> String {
        self.says("  http").trim().to_owned()
    }

    /// Waits for its end: its status, and all it said.
    #[track_caller]
    pub fn ends(mut self) -> (i32, String) {
        let started = Instant::now();
        let status = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status.code().expect("ended by itself");
            }
            assert!(started.elapsed() < LONG, "it does not end:\n{}", self.said);
            std::thread::sleep(Duration::from_millis(5));
        };
        while let Ok(line) = self.lines.recv_timeout(LONG) {
            self.said += &format!("{line}\n");
        }
        (status, std::mem::take(&mut self.said))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
