//! The sessions in `docs/recording.md`: each is run as it is written there, with a target that is played here, and prints what is written there.
//!
//! Only what differs each time is left out of the comparison: the line of each second, numbers that depend on it, and the names of ports.

use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;

use super::desk::Desk;
use super::peers::pty;
use super::{Recorder, capture, format, wait_for_length};

/// A MiniProfiler's command to stop, and its confirmation of a command.
const STOP: u8 = 2;
const ACK: [u8; 8] = [0x55, 0xAA, 1, 0, 0, 0x88, 0x83, 0x0A];

/// The first line of a session.
const MARK: &str = "<!-- session: ";

/// The sessions of a page: the format, the command, and what it prints.
fn sessions(page: &str) -> Vec<(String, String, String)> {
    let mut sessions = Vec::new();
    for part in page.split(MARK).skip(1) {
        let (name, rest) = part.split_once(" -->\n```text\n$ ").expect("a mark is before a block with a command");
        let (block, _) = rest.split_once("\n```").unwrap();
        let (command, output) = block.split_once('\n').unwrap();
        sessions.push((name.to_owned(), command.to_owned(), output.to_owned() + "\n"));
    }
    sessions
}

/// Without what depends on time and on how the bytes arrive: the length of the recording in time, the reason at the first look, and the
/// trace, which has the notes.
fn comparable(text: &str) -> String {
    let lines = text.lines().map(|line| {
        let line = line.split(", because ").next().unwrap_or_default();
        let line = if line.starts_with("  -> ") { line.split(" (").next().unwrap_or_default() } else { line };
        match line.split_once(" bytes in ") {
            Some((bytes, rest)) => format!("{bytes} bytes in {}", rest.split_once(" s, ").map_or(rest, |(_, end)| end)),
            None => line.to_owned(),
        }
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// With the names that the book has for the source and its peer, and without the line of each second.
fn settled(said: &str, source: &str, named: &str) -> String {
    let is_second = |line: &str| line.split_once(" s: ").is_some_and(|(second, _)| second.parse::<u32>().is_ok());
    let lines = said.lines().filter(|line| !is_second(line) && !line.starts_with("listening on "));
    let lines = lines.map(|line| match line.replace(source, named).split_once(" from 127.0.0.1:") {
        Some((line, _)) => format!("{line} from 127.0.0.1:50612\n"),
        None => line.replace(source, named) + "\n",
    });
    lines.collect()
}

/// Plays a target on an open line, until the whole recording is in the file. It answers a MiniProfiler's commands.
fn play(desk: &Desk, name: &str, mut line: impl Read + Write) {
    let mut recording = capture(format(name), 200_000);
    if name == "miniprofiler" {
        line.read_exact(&mut [0; 24]).unwrap();
        // Only commands that were given are confirmed.
        while let Some(at) = recording.windows(ACK.len()).position(|window| window == ACK) {
            recording.drain(at..at + ACK.len());
        }
        recording = [&ACK, recording.as_slice()].concat();
    }
    line.write_all(&recording).unwrap();
    wait_for_length(&desk.path("run.bin.part"), recording.len() as u64);
}

/// The words of a part of a command between quotes: every second part was quoted.
fn words((index, part): (usize, &str)) -> Vec<&str> {
    if index % 2 == 0 { part.split_whitespace().collect() } else { vec![part] }
}

/// Runs a session: what it prints.
fn run(name: &str, command: &str) -> String {
    let desk = Desk::new();
    let words: Vec<&str> = command.split('"').enumerate().flat_map(words).collect();
    let ["traceconv", "record", source, args @ ..] = words.as_slice() else { panic!("{command}") };
    let (kind, rest) = source.split_once(':').unwrap();
    // Nothing here depends on time.
    let args = [args, &["--silence", "1000s", "--stop-timeout", "1000s"]].concat();
    let settle = |said: String, used: &str| settled(&said, used, source);
    let ended = |recorder: Recorder| {
        recorder.signal(libc::SIGINT);
        recorder.ends_well()
    };
    match kind {
        "serial" => {
            let (target, device) = pty();
            let (own, settings) = rest.split_once('?').map_or((rest, String::new()), |(own, rest)| (own, format!("?{rest}")));
            assert!(own.starts_with("/dev/"), "{own}");
            let used = format!("serial:{device}{settings}");
            let mut recorder = Recorder::start(&desk, &[&[used.as_str()], args.as_slice()].concat());
            recorder.waits_for("recording from serial:");
            play(&desk, name, &target);
            if name == "miniprofiler" {
                recorder.signal(libc::SIGINT);
                let mut command = [0; 12];
                while command[1] != STOP {
                    (&target).read_exact(&mut command).unwrap();
                }
                (&target).write_all(&ACK).unwrap();
                return settle(recorder.ends_well(), &used);
            }
            settle(ended(recorder), &used)
        }
        "tcp" => {
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            let used = format!("tcp:{}", listener.local_addr().unwrap());
            let recorder = Recorder::start(&desk, &[&[used.as_str()], args.as_slice()].concat());
            let (stream, _) = listener.accept().unwrap();
            play(&desk, name, &stream);
            settle(ended(recorder), &used)
        }
        "tcp-listen" => {
            let mut recorder = Recorder::start(&desk, &[&["tcp-listen:0"], args.as_slice()].concat());
            let address = recorder.address("listening on ");
            let stream = TcpStream::connect(address).unwrap();
            play(&desk, name, &stream);
            settled(&ended(recorder), "tcp-listen:127.0.0.1:0", &format!("tcp-listen:127.0.0.1:{rest}"))
        }
        _ => panic!("{source}"),
    }
}

#[test]
fn the_sessions_of_the_book_are_true() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/recording.md");
    let mut page = fs::read_to_string(&path).unwrap();
    let all = sessions(&page);
    let mut names: Vec<&str> = all.iter().map(|(name, ..)| name.as_str()).collect();
    names.sort_unstable();
    assert_eq!(names, ["miniprofiler", "qs", "syst-text", "systemview", "tonbandgeraet", "tsp"]);
    for (name, command, written) in &all {
        let printed = run(name, command);
        if std::env::var_os("TRACECONV_BLESS").is_some() {
            page = page.replace(&format!("$ {command}\n{written}"), &format!("$ {command}\n{printed}"));
        } else {
            assert_eq!(comparable(&printed), comparable(written), "{name}; TRACECONV_BLESS=1 writes it again");
        }
    }
    if std::env::var_os("TRACECONV_BLESS").is_some() {
        fs::write(path, page).unwrap();
    }
}
