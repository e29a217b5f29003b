//! Targets that have to be spoken to: each is played as its protocol has it, and sends nothing before it is asked.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::Stdio;

use super::desk::Desk;
use super::{Recorder, capture, format, noise, notes, notes_of, wait_for_length};

/// Starts a recorder of a target that is played here.
fn play(desk: &Desk, args: &[&str], target: impl FnOnce(TcpStream)) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let source = format!("tcp:{}", listener.local_addr().unwrap());
    let recorder = Recorder::start(desk, &[&[&source, "-o", "run.bin"], args].concat());
    target(listener.accept().unwrap().0);
    recorder.ends_well()
}

fn read<const N: usize>(stream: &mut TcpStream) -> [u8; N] {
    let mut bytes = [0; N];
    stream.read_exact(&mut bytes).unwrap();
    bytes
}

/// Throws away all that comes, until the other side has closed.
fn drain(mut stream: TcpStream) {
    let mut bytes = [0; 1000];
    while stream.read(&mut bytes).is_ok_and(|len| len > 0) {}
}

#[test]
fn a_sniffer_sends_names_on_request() {
    let desk = Desk::new();
    let recording = capture(format("tsp"), 50_000);
    let size = recording.len().to_string();
    let said = play(&desk, &["--protocol", "tsp", "--filter", "2,6,44", "--size", &size], |mut stream| {
        assert_eq!(read::<15>(&mut stream), [0x98, 0x44, 0, 0, 0, 0, 0x10, 0, 0, 0, 0, 0, 0, 0, 0x97]);
        stream.write_all(&recording).unwrap();
        drain(stream);
    });
    assert!(said.contains("ended at the size asked for"), "{said}");
    assert!(desk.get("run.bin") == recording);
    let sent: Vec<_> = notes_of(&desk, "run.bin", "sent").iter().map(|note| note["hex"].as_str().unwrap().to_owned()).collect();
    assert_eq!(sent[..2], ["9844000000001000000000000000", "97"]);
}

/// The protocol follows from the bytes.
#[test]
fn a_sniffer_is_recognised_and_asked() {
    let desk = Desk::new();
    let recording = capture(format("tsp"), 50_000);
    let size = recording.len().to_string();
    let said = play(&desk, &["--size", &size], |mut stream| {
        let (first, rest) = recording.split_at(30_000);
        stream.write_all(first).unwrap();
        assert_eq!(read::<1>(&mut stream), [0x97]);
        stream.write_all(rest).unwrap();
        drain(stream);
    });
    assert!(said.contains("TraceSniffer TSP, because "), "{said}");
    assert!(desk.get("run.bin") == recording);
}

/// The device profiles when it is asked to, reports, and sends its last records before it confirms the end.
#[test]
fn a_profiler_is_started_and_stopped() {
    const START: u8 = 1;
    const STOP: u8 = 2;
    const METADATA: u8 = 5;
    let ack = [0x55, 0xAA, 1, 0, 0, 0x88, 0x83, 0x0A];
    let desk = Desk::new();
    let recording = capture(format("miniprofiler"), 50_000);
    let expected = [&ack[..], &recording, &ack].concat();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let source = format!("tcp:{}", listener.local_addr().unwrap());
    let mut recorder = Recorder::start(
        &desk,
        &[&source, "-o", "run.bin", "--protocol", "miniprofiler", "--convert", "run.perfetto-trace", "--stop-timeout", "1000s"],
    );
    let (mut stream, _) = listener.accept().unwrap();
    assert_eq!(read::<12>(&mut stream)[..2], [0x55, METADATA]);
    assert_eq!(read::<12>(&mut stream)[..2], [0x55, START]);
    stream.write_all(&ack).unwrap();
    recorder.waits_for("the device accepted START_PROFILING");
    let (first, last) = recording.split_at(recording.len() / 2);
    stream.write_all(first).unwrap();
    wait_for_length(&desk.path("run.bin.part"), (ack.len() + first.len()) as u64);
    recorder.signal(libc::SIGINT);
    while read::<12>(&mut stream)[1] != STOP {}
    stream.write_all(last).unwrap();
    stream.write_all(&ack).unwrap();
    drain(stream);
    let said = recorder.ends_well();
    assert!(said.contains("the device accepted STOP_PROFILING") && said.contains("stopped"), "{said}");
    assert!(said.contains("-> run.perfetto-trace"), "{said}");
    assert!(desk.get("run.bin") == expected);
}

#[test]
fn a_qs_target_takes_commands() {
    let desk = Desk::new();
    let recording = capture(format("qs"), 50_000);
    let size = recording.len().to_string();
    let args = ["--protocol", "qs", "--reset", "--command", "7 100 0x200", "--size", &size];
    play(&desk, &args, |mut stream| {
        // Frames: number (a target that was just reset expects 1), id, data, checksum, flag.
        assert_eq!(read::<4>(&mut stream), [1, 2, 0xFC, 0x7E]);
        let command = read::<17>(&mut stream);
        assert_eq!(command[..15], [2, 1, 7, 100, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0]);
        assert_eq!(command[16], 0x7E);
        stream.write_all(&recording).unwrap();
        drain(stream);
    });
    assert!(desk.get("run.bin") == recording);
}

#[test]
fn nothing_is_said_to_a_target_that_is_only_listened_to() {
    let desk = Desk::new();
    let recording = capture(format("tsp"), 50_000);
    play(&desk, &["--protocol", "none"], |mut stream| {
        stream.write_all(&recording).unwrap();
        stream.shutdown(std::net::Shutdown::Write).unwrap();
        assert_eq!(stream.read(&mut [0; 10]).unwrap_or(0), 0);
    });
    assert!(notes_of(&desk, "run.bin", "sent").is_empty() && desk.get("run.bin") == recording);
}

/// One command for a bench: record, convert, check.
#[test]
fn a_budget_is_checked_at_the_end() {
    let desk = Desk::with("good.toml", b"rules = [\"events > 0\"]");
    desk.put("bad.toml", b"rules = [\"events == 0\"]");
    for (budget, status) in [("good.toml", 0), ("bad.toml", 3)] {
        let mut recorder =
            Recorder::start(&desk, &["-", "-o", "run.bin", "--force", "--convert", "--budget", budget, "--", "--format", "tsp"]);
        recorder.stdin().write_all(&capture(format("tsp"), 50_000)).unwrap();
        let (ended, said) = recorder.end();
        assert_eq!(ended, Some(status), "{said}");
        assert!(desk.path("run.perfetto-trace").exists());
    }
    // A slip is noticed before anything is recorded.
    let mut recorder = Recorder::start(&desk, &["-", "-o", "other.bin", "--convert", "--", "--formt", "tsp"]);
    drop(recorder.stdin());
    let (ended, said) = recorder.end();
    assert_eq!(ended, Some(2), "{said}");
    assert!(said.contains("--formt") && !desk.path("other.bin").exists(), "{said}");
}

/// A flight recorder: it runs until a statistic is so, and keeps what came before.
#[test]
fn it_ends_when_a_statistic_is_so() {
    let desk = Desk::new();
    let recording = capture(format("tonbandgeraet"), 100_000);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let source = format!("tcp:{}", listener.local_addr().unwrap());
    let args = [&source, "-o", "run.bin", "--last", "1000s", "--until", "core.0.load_percent > 0", "--live"];
    let recorder = Recorder::start(&desk, &args);
    let (mut stream, _) = listener.accept().unwrap();
    stream.write_all(&recording).unwrap();
    let said = recorder.ends_well();
    assert!(said.contains("ended because core.0.load_percent is "), "{said}");
    assert!(desk.get("run.bin") == recording);
}

#[test]
fn it_ends_when_something_is_lost() {
    let desk = Desk::new();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let source = format!("tcp:{}", listener.local_addr().unwrap());
    let recorder = Recorder::start(&desk, &[&source, "-o", "run.bin", "--reconnect", "--until-loss"]);
    let recording = capture(format("qs"), 20_000);
    for _ in 0..2 {
        listener.accept().unwrap().0.write_all(&recording).unwrap();
    }
    let said = recorder.ends_well();
    assert!(said.contains("ended because the source was gone and came back"), "{said}");
    assert!(desk.get("run.bin").starts_with(&recording));
}

/// The protocol is known from the bytes although the recorder was started in the middle of something.
#[test]
fn every_format_is_recognised_after_garbage() {
    for name in ["tonbandgeraet", "qs", "tsp", "miniprofiler", "syst-text"] {
        let desk = Desk::new();
        let garbage = if name == "syst-text" { b"\xff\x00tart of a boot message\r\n".to_vec() } else { noise(700) };
        let sent = [garbage, capture(format(name), 300_000)].concat();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let source = format!("tcp:{}", listener.local_addr().unwrap());
        let recorder = Recorder::start(&desk, &[&source, "-o", "run.bin"]);
        let (mut stream, _) = listener.accept().unwrap();
        let mut reader = stream.try_clone().unwrap();
        // Commands are read, so that closing does not reset the connection.
        let drained = std::thread::spawn(move || while reader.read(&mut [0; 100]).is_ok_and(|len| len > 0) {});
        stream.write_all(&sent).unwrap();
        stream.shutdown(std::net::Shutdown::Write).unwrap();
        let said = recorder.ends_well();
        assert!(said.contains(&format!("{}, because ", format(name).title())), "{name}: {said}");
        drained.join().unwrap();
        assert!(desk.get("run.bin") == sent, "{name}");
    }
}

#[test]
fn it_ends_after_a_time_and_notes_silence_at_the_end() {
    let desk = Desk::new();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let source = format!("tcp:{}", listener.local_addr().unwrap());
    // Any time without a byte is silence.
    let recorder = Recorder::start(&desk, &[&source, "-o", "run.bin", "--duration", "300ms", "--silence", "1ns"]);
    let (mut stream, _) = listener.accept().unwrap();
    stream.write_all(b"before").unwrap();
    let said = recorder.ends_well();
    assert!(said.contains("ended after the time asked for") && said.contains("[source_silent]"), "{said}");
    let recorded = desk.get("run.bin").len();
    let all = notes(&desk, "run.bin");
    let [.., silent, end] = all.as_slice() else { panic!("{all:?}") };
    assert_eq!((silent["note"].as_str(), silent["offset"].as_u64()), (Some("source_silent"), Some(recorded as u64)));
    assert!(end["note"] == "end" && end["at_ns"].as_u64().unwrap() >= 300_000_000, "{end}");
}

#[test]
fn files_of_a_time() {
    let desk = Desk::new();
    let mut recorder = Recorder::start(&desk, &["-", "-o", "run.bin", "--rotate", "1ms"]);
    let mut stdin = recorder.stdin();
    let mut sent = Vec::new();
    for number in 0..4 {
        // Until a later byte begins another file. It may have been ended already.
        let files = ["bin.part", "bin"].map(|end| desk.path(format!("run.00{number}.{end}")));
        while !files.iter().any(|file| file.exists()) {
            let byte = sent.len() as u8;
            stdin.write_all(&[byte]).unwrap();
            sent.push(byte);
        }
    }
    drop(stdin);
    recorder.ends_well();
    let mut names: Vec<String> = desk.names().into_iter().filter(|name| name.ends_with(".bin")).collect();
    names.sort();
    assert!(names.len() >= 4 && names[..4] == ["run.000.bin", "run.001.bin", "run.002.bin", "run.003.bin"], "{names:?}");
    let recorded: Vec<u8> = names.iter().flat_map(|name| desk.get(name)).collect();
    assert!(recorded == sent);
}

/// A terminal shows a row for each task, again each second.
#[test]
fn the_load_of_each_task_is_shown_in_a_terminal() {
    let desk = Desk::new();
    let demo = fs::read(concat!(env!("CARGO_MANIFEST_DIR"), "/testdata/demo/demo.bin")).unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let source = format!("tcp:{}", listener.local_addr().unwrap());
    let (mut terminal, name) = super::peers::pty();
    let other_side = File::options().read(true).write(true).open(name).unwrap();
    let size = libc::winsize { ws_row: 40, ws_col: 100, ws_xpixel: 0, ws_ypixel: 0 };
    // SAFETY: The descriptor is open; the request reads a structure of this layout.
    assert_eq!(unsafe { libc::ioctl(std::os::fd::AsRawFd::as_raw_fd(&other_side), libc::TIOCSWINSZ, &raw const size) }, 0);
    let mut command = desk.command("");
    command.args(["record", &source, "-o", "run.bin", "--live", "--window", "1000s"]).env("TERM", "xterm");
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(other_side).spawn().unwrap();
    // It has this side of the terminal, too.
    drop(command);
    let (mut stream, _) = listener.accept().unwrap();
    stream.write_all(&demo).unwrap();
    let mut shown = String::new();
    // The rows, in their order, of one picture.
    let rows = ["writer ", "filter ", "supervisor ", "sensor ", "dma ", "reader ", "worker ", "logger ", "comm "];
    let is_whole = |shown: &str| {
        shown.split("good frames").any(|picture| {
            let mut rest = picture;
            rows.iter().all(|row| rest.find(row).is_some_and(|at| (rest = &rest[at..], true).1)) && picture.contains(" %")
        })
    };
    let mut bytes = [0; 4096];
    while !is_whole(&shown) {
        let len = terminal.read(&mut bytes).unwrap_or_else(|error| panic!("{error}: {shown}"));
        shown += &String::from_utf8_lossy(&bytes[..len]);
    }
    drop(stream);
    // The rest, so that the recorder does not wait for the terminal.
    while terminal.read(&mut bytes).is_ok_and(|len| len > 0) {}
    assert!(child.wait().unwrap().success());
    assert!(desk.get("run.bin") == demo);
}

/// From the wire to the viewer with one command.
#[test]
fn the_trace_is_opened_at_the_end() {
    // One program at a time may have the viewer's port: the tests of `serve` use the same lock.
    let lock =
        File::options().create(true).append(true).open(std::env::temp_dir().join("traceconv-test-port-9001.lock")).unwrap();
    lock.lock().unwrap();
    let desk = Desk::new();
    let mut recorder = Recorder::start(&desk, &["-", "-o", "run.bin", "--open", "--", "--no-browser"]);
    recorder.stdin().write_all(&capture(format("qs"), 50_000)).unwrap();
    let link = recorder.waits_for("https://ui.perfetto.dev/");
    let path = link.split("127.0.0.1%3A9001").nth(1).and_then(|rest| rest.split('&').next()).unwrap().replace("%2F", "/");
    let mut viewer = TcpStream::connect("127.0.0.1:9001").unwrap();
    let request = format!("GET {path} HTTP/1.1\r\nHost: 127.0.0.1:9001\r\nOrigin: https://ui.perfetto.dev\r\n\r\n");
    viewer.write_all(request.as_bytes()).unwrap();
    let mut answer = Vec::new();
    viewer.read_to_end(&mut answer).unwrap();
    drop(viewer);
    let said = recorder.ends_well();
    assert!(answer.starts_with(b"HTTP/1.1 200 ") && answer.ends_with(&desk.get("run.perfetto-trace")), "{said}");
    assert!(said.contains("The viewer has the trace"), "{said}");
}
