//! Whatever happens, a valid file is left: signals at any moment, a full disk, sources that are not there.

use std::fs;
use std::io::Write;
use std::net::TcpListener;
use std::thread;

use super::desk::Desk;
use super::{Recorder, noise, notes, wait_for_length};

/// A hundred times, after another number of bytes each time.
#[test]
fn a_signal_at_any_moment_leaves_a_whole_recording() {
    let sent = noise(4 << 20);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let source = format!("tcp:{}", listener.local_addr().unwrap());
    let moments = noise(200);
    for moment in moments.chunks(2) {
        let desk = Desk::new();
        let mut recorder = Recorder::start(&desk, &[&source, "-o", "run.bin"]);
        let (mut stream, _) = listener.accept().unwrap();
        recorder.waits_for("recording from tcp:");
        let bytes = u64::from(u16::from_le_bytes([moment[0], moment[1]]));
        let to_send = sent.clone();
        // Until the recorder closes.
        let sender = thread::spawn(move || while stream.write_all(&to_send).is_ok() {});
        wait_for_length(&desk.path("run.bin.part"), bytes);
        recorder.signal(if moment[0].is_multiple_of(2) { libc::SIGINT } else { libc::SIGTERM });
        assert!(recorder.ends_well().contains(", stopped\n"));
        sender.join().unwrap();
        let recorded = desk.get("run.bin");
        assert!(recorded.len() as u64 >= bytes);
        assert!(recorded.chunks(sent.len()).all(|part| sent.starts_with(part)), "not the bytes that were sent");
        let end = notes(&desk, "run.bin").pop().unwrap();
        assert_eq!((end["note"].as_str(), end["offset"].as_u64()), (Some("end"), Some(recorded.len() as u64)));
        assert!(!desk.path("run.bin.part").exists());
    }
}

#[test]
fn a_second_signal_ends_it_at_once() {
    let desk = Desk::new();
    assert!(std::process::Command::new("mkfifo").arg(desk.path("disk")).status().unwrap().success());
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let source = format!("tcp:{}", listener.local_addr().unwrap());
    let mut recorder = Recorder::start(&desk, &[&source, "-o", "disk"]);
    // Nobody reads it on, so writing does not end.
    let disk = std::fs::File::open(desk.path("disk")).unwrap();
    let (mut stream, _) = listener.accept().unwrap();
    recorder.waits_for("recording from tcp:");
    stream.write_all(&noise(1 << 20)).unwrap();
    // The first one may only ask, so the second one may come at any time after it.
    let ended = loop {
        recorder.signal(libc::SIGINT);
        if let Some(status) = recorder.child.try_wait().unwrap() {
            break status;
        }
        thread::yield_now();
    };
    assert_eq!(ended.code(), Some(130));
    drop(disk);
}

#[test]
fn a_full_disk_leaves_what_fitted() {
    let desk = Desk::new();
    let sent = noise(1 << 20);
    // Blocks of 512 bytes in dash, of 1024 in bash.
    let mut recorder = Recorder::start_after(&desk, "ulimit -f 200", &["-", "-o", "run.bin"]);
    let mut stdin = recorder.stdin();
    let to_send = sent.clone();
    let sender = thread::spawn(move || drop(stdin.write_all(&to_send)));
    let (status, said) = recorder.end();
    sender.join().unwrap();
    assert_eq!(status, Some(1), "{said}");
    assert!(said.contains("error: run.bin: ") && said.contains("the file cannot be written: "), "{said}");
    let recorded = desk.get("run.bin");
    assert!([102_400, 204_800].contains(&recorded.len()) && sent.starts_with(&recorded), "{}", recorded.len());
    assert_eq!(notes(&desk, "run.bin").pop().unwrap()["offset"], recorded.len());
}

#[test]
fn sources_that_are_not_there() {
    let desk = Desk::with("run.bin", b"precious");
    fs::write(desk.path("run.bin.traceconv.jsonl"), b"notes").unwrap();
    // A port that is not given to the listeners of other tests.
    for source in ["tcp:127.0.0.1:1", "serial:/dev/there-is-none", "file:none", "fifo:none"] {
        let (status, said) = Recorder::start(&desk, &[source, "-o", "run.bin", "--force", "--reconnect"]).end();
        assert_eq!(status, Some(1), "{said}");
        assert!(said.contains("run.bin: nothing was recorded, the source failed: "), "{said}");
        assert!(said.contains(source) && said.contains(" cannot be opened: "), "{said}");
        // What was there before is there still, and the next try meets nothing of this one.
        assert_eq!((desk.get("run.bin"), desk.get("run.bin.traceconv.jsonl")), (b"precious".to_vec(), b"notes".to_vec()));
        assert_eq!(fs::read_dir(desk.dir.path()).unwrap().count(), 2);
    }
    let mut recorder = Recorder::start(&desk, &["tcp-listen:0", "-o", "run.bin", "--force"]);
    recorder.waits_for("listening on ");
    recorder.signal(libc::SIGINT);
    assert!(recorder.ends_well().contains("run.bin: nothing was recorded, stopped"));
    assert_eq!(desk.get("run.bin"), b"precious");
    for wrong in [["usb:1", "-o", "run.bin"], ["-", "-o", "-"]] {
        let (status, said) = Recorder::start(&desk, &wrong).end();
        assert_eq!(status, Some(2), "{said}");
    }
}

#[test]
fn a_recording_is_not_overwritten() {
    let desk = Desk::with("run.bin", b"precious");
    let (status, said) = Recorder::start(&desk, &["-", "-o", "run.bin"]).end();
    assert_eq!(status, Some(1));
    assert!(said.contains("run.bin is there already; --force replaces it"), "{said}");
    assert_eq!(desk.get("run.bin"), b"precious");
    let mut recorder = Recorder::start(&desk, &["-", "-o", "run.bin", "--force"]);
    recorder.stdin().write_all(b"new").unwrap();
    recorder.ends_well();
    assert_eq!(desk.get("run.bin"), b"new");
}
