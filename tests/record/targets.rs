//! Targets that have to be spoken to: each is played as its protocol has it, and sends nothing before it is asked.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};

use super::desk::Desk;
use super::{Recorder, capture, format, notes_of};

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

/// Sends whatever comes to nowhere, until the other side has closed.
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
    let mut recorder =
        Recorder::start(&desk, &[&source, "-o", "run.bin", "--protocol", "miniprofiler", "--convert", "run.perfetto-trace"]);
    let (mut stream, _) = listener.accept().unwrap();
    assert_eq!(read::<12>(&mut stream)[..2], [0x55, METADATA]);
    assert_eq!(read::<12>(&mut stream)[..2], [0x55, START]);
    stream.write_all(&ack).unwrap();
    recorder.waits_for("the device accepted START_PROFILING");
    recorder.signal(libc::SIGINT);
    while read::<12>(&mut stream)[1] != STOP {}
    stream.write_all(&recording).unwrap();
    stream.write_all(&ack).unwrap();
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
        // Frames: number, id, data, checksum, flag.
        assert_eq!(read::<4>(&mut stream), [0, 2, 0xFD, 0x7E]);
        let command = read::<17>(&mut stream);
        assert_eq!(command[..15], [1, 1, 7, 100, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0]);
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
