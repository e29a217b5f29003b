//! Every kind of source: all bytes that a peer sends are in the file, in bursts, byte by byte, with garbage at the start.

use std::fs::{self, File, OpenOptions};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::os::fd::{FromRawFd, OwnedFd};
use std::process::Command;
use std::thread;
use std::time::Duration;

use traceconv::format::FORMATS;

use super::desk::Desk;
use super::{Recorder, capture, noise, notes, notes_of, wait_for_length};

/// Sends bytes in pieces of very different sizes.
fn send(stream: &mut impl Write, bytes: &[u8]) {
    let mut rest = bytes;
    for size in [1, 2, 3, 1000, 7, 65536, 100, 1 << 20].into_iter().cycle() {
        let (piece, later) = rest.split_at(size.min(rest.len()));
        stream.write_all(piece).unwrap();
        rest = later;
        if rest.is_empty() {
            return;
        }
    }
}

/// The controlling side of a pseudo-terminal, and the name of the other side.
pub fn pty() -> (File, String) {
    // SAFETY: The descriptor is new and owned by the file; the name is copied before anything else uses the buffer.
    unsafe {
        let fd = libc::posix_openpt(libc::O_RDWR | libc::O_NOCTTY | libc::O_CLOEXEC);
        assert!(fd >= 0 && libc::grantpt(fd) == 0 && libc::unlockpt(fd) == 0);
        let mut name = [0 as libc::c_char; 128];
        assert_eq!(libc::ptsname_r(fd, name.as_mut_ptr(), name.len()), 0);
        let name = std::ffi::CStr::from_ptr(name.as_ptr()).to_str().unwrap().to_owned();
        (File::from(OwnedFd::from_raw_fd(fd)), name)
    }
}

#[test]
fn every_format_over_tcp_with_garbage_at_the_start() {
    for format in FORMATS {
        let desk = Desk::new();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let sent = [noise(5000), capture(*format, 300_000)].concat();
        let source = format!("tcp:{}", listener.local_addr().unwrap());
        let recorder = Recorder::start(&desk, &[&source, "-o", "run.bin", "--protocol", "none", "--silence", "1000s"]);
        send(&mut listener.accept().unwrap().0, &sent);
        let said = recorder.ends_well();
        assert!(said.contains(&format!("run.bin: {} bytes in ", sent.len())) && said.contains("the source ended"), "{said}");
        assert!(desk.get("run.bin") == sent, "{}: other bytes than were sent", format.name());
        assert_eq!(notes(&desk, "run.bin").len(), 2);
        assert_eq!(notes(&desk, "run.bin")[1]["offset"], sent.len());
    }
}

#[test]
fn a_hundred_megabytes_over_tcp() {
    let desk = Desk::new();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let source = format!("tcp:{}", listener.local_addr().unwrap());
    let recorder = Recorder::start(&desk, &[&source, "-o", "run.bin", "--quiet"]);
    let piece = noise(10 << 20);
    let mut stream = listener.accept().unwrap().0;
    (0..10).for_each(|_| stream.write_all(&piece).unwrap());
    drop(stream);
    recorder.ends_well();
    let mut file = File::open(desk.path("run.bin")).unwrap();
    let mut read = vec![0; piece.len()];
    for _ in 0..10 {
        file.read_exact(&mut read).unwrap();
        assert!(read == piece);
    }
    assert_eq!(file.read(&mut read).unwrap(), 0);
}

#[test]
fn ten_megabytes_over_a_terminal_that_is_then_unplugged() {
    let desk = Desk::new();
    let (mut target, name) = pty();
    let sent = noise(10 << 20);
    let mut recorder = Recorder::start(&desk, &[&format!("serial:{name}?baud=2000000"), "-o", "run.bin", "--protocol", "none"]);
    // From then on the line is raw.
    recorder.waits_for("recording from serial:");
    target.write_all(&sent).unwrap();
    wait_for_length(&desk.path("run.bin.part"), sent.len() as u64);
    drop(target);
    let (_, said) = recorder.end();
    assert!(said.contains("the source ended") || said.contains("the source failed"), "{said}");
    assert!(desk.get("run.bin") == sent);
}

#[test]
fn a_recorder_that_listens() {
    let desk = Desk::new();
    let sent = noise(100_000);
    let mut recorder = Recorder::start(&desk, &["tcp-listen:0", "-o", "run.bin"]);
    let address = recorder.address("listening on ");
    send(&mut TcpStream::connect(address).unwrap(), &sent);
    recorder.ends_well();
    assert!(desk.get("run.bin") == sent);
}

#[test]
fn datagrams() {
    let desk = Desk::new();
    let sent = noise(40_000);
    let mut recorder = Recorder::start(&desk, &["udp:0", "-o", "run.bin", "--size", "40000"]);
    let address = recorder.address("waiting for datagrams on ");
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let mut done = 0;
    for piece in sent.chunks(1400) {
        socket.send_to(piece, &address).unwrap();
        done += piece.len() as u64;
        // One at a time: nothing else keeps them.
        if done < sent.len() as u64 {
            wait_for_length(&desk.path("run.bin.part"), done);
        }
    }
    assert!(recorder.ends_well().contains("ended at the size asked for"));
    assert!(desk.get("run.bin") == sent);
}

/// A recorder that does not get to run for a while: the system drops datagrams, and says how many.
#[cfg(target_os = "linux")]
#[test]
fn datagrams_that_the_system_dropped_are_noted() {
    let desk = Desk::new();
    let mut recorder = Recorder::start(&desk, &["udp:0", "-o", "run.bin", "--protocol", "none"]);
    let address = recorder.address("waiting for datagrams on ");
    recorder.waits_for("recording from udp:");
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let mut sent = 0u64;
    let mut send = |bytes: &[u8; 1000]| {
        socket.send_to(bytes, &address).unwrap();
        sent += 1;
    };
    recorder.signal(libc::SIGSTOP);
    (0..20_000).for_each(|_| send(&[0; 1000]));
    recorder.signal(libc::SIGCONT);
    // When the last one has come, all others have come or are lost.
    for mark in (1..=255).cycle() {
        send(&[mark; 1000]);
        thread::sleep(Duration::from_millis(20));
        if desk.get("run.bin.part").last() == Some(&mark) {
            break;
        }
    }
    recorder.signal(libc::SIGINT);
    let said = recorder.ends_well();
    let received = desk.get("run.bin").len() as u64 / 1000;
    let noted: u64 = notes_of(&desk, "run.bin", "driver_overrun").iter().map(|note| note["count"].as_u64().unwrap_or(1)).sum();
    assert!(received < 20_000 && received + noted == sent, "{sent} sent, {received} received, {noted} noted: {said}");
}

#[test]
fn a_file_that_grows_and_begins_again() {
    let desk = Desk::with("log", b"first");
    let mut recorder = Recorder::start(&desk, &["file:log", "-o", "run.bin", "--size", "14"]);
    recorder.waits_for("recording from file:log");
    wait_for_length(&desk.path("run.bin.part"), 5);
    let mut log = OpenOptions::new().append(true).open(desk.path("log")).unwrap();
    log.write_all(b" second").unwrap();
    wait_for_length(&desk.path("run.bin.part"), 12);
    fs::write(desk.path("log"), b"ab").unwrap();
    recorder.ends_well();
    assert_eq!(desk.get("run.bin"), b"first secondab");
    assert_eq!(notes_of(&desk, "run.bin", "reconnected")[0]["offset"], 12);
}

/// Another file of the same name, as programs that rotate their logs make it, is longer than the one before when it is seen.
#[cfg(unix)]
#[test]
fn a_file_that_is_replaced_by_a_longer_one() {
    let desk = Desk::with("log", b"first");
    let mut recorder = Recorder::start(&desk, &["file:log", "-o", "run.bin", "--size", "21"]);
    recorder.waits_for("recording from file:log");
    wait_for_length(&desk.path("run.bin.part"), 5);
    fs::write(desk.path("next"), b"longer than that").unwrap();
    fs::rename(desk.path("next"), desk.path("log")).unwrap();
    recorder.ends_well();
    assert_eq!(desk.get("run.bin"), b"firstlonger than that");
    assert_eq!(notes_of(&desk, "run.bin", "reconnected")[0]["offset"], 5);
}

#[test]
fn pipes() {
    let desk = Desk::new();
    let sent = noise(200_000);
    let mut recorder = Recorder::start(&desk, &["-", "-o", "run.bin"]);
    recorder.stdin().write_all(&sent).unwrap();
    recorder.ends_well();
    assert!(desk.get("run.bin") == sent);

    assert!(Command::new("mkfifo").arg(desk.path("pipe")).status().unwrap().success());
    let recorder = Recorder::start(&desk, &["fifo:pipe", "-o", "fifo.bin"]);
    send(&mut OpenOptions::new().write(true).open(desk.path("pipe")).unwrap(), &sent);
    recorder.ends_well();
    assert!(desk.get("fifo.bin") == sent);
}

#[test]
fn a_source_that_comes_back() {
    let desk = Desk::new();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let source = format!("tcp:{}", listener.local_addr().unwrap());
    let sent = capture(super::format("tsp"), 200_000);
    let size = sent.len().to_string();
    let recorder = Recorder::start(&desk, &[&source, "-o", "run.bin", "--reconnect", "--size", &size, "--protocol", "none"]);
    let cuts = [0, 50_000, 120_000, sent.len()];
    for part in cuts.windows(2) {
        let (mut stream, _) = listener.accept().unwrap();
        stream.write_all(&sent[part[0]..part[1]]).unwrap();
    }
    let said = recorder.ends_well();
    assert!(
        said.contains("lost: 2 x the source was gone and came back; what it sent in between is missing [reconnected]"),
        "{said}"
    );
    assert!(desk.get("run.bin") == sent);
    let offsets: Vec<_> = notes_of(&desk, "run.bin", "reconnected").iter().map(|note| note["offset"].as_u64().unwrap()).collect();
    assert_eq!(offsets, [50_000, 120_000]);
    // The converter reads the notes.
    desk.run("run.bin").ends(0).says(&[
        "lost: 2 x the source was gone and came back",
        "[reconnected], first at byte 50000",
        "source: tcp:",
    ]);
}

/// That it is not back yet is said once, not at each try.
#[test]
fn a_source_that_stays_away() {
    let desk = Desk::new();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let source = format!("tcp:{}", listener.local_addr().unwrap());
    let mut recorder = Recorder::start(&desk, &[&source, "-o", "run.bin", "--reconnect", "--protocol", "none"]);
    let (mut stream, _) = listener.accept().unwrap();
    drop(listener);
    stream.write_all(b"all").unwrap();
    drop(stream);
    let begin = recorder.waits_for("the source is gone (it ended)");
    // A line each second, and several tries in it.
    (0..3).for_each(|_| drop(recorder.waits_for(": 3 bytes, ")));
    recorder.signal(libc::SIGINT);
    let said = recorder.ends_well();
    assert_eq!(said.matches("the source is gone").count(), 2, "{begin}{said}");
    assert_eq!(desk.get("run.bin"), b"all");

    // Standard input is never there again.
    let mut recorder = Recorder::start(&desk, &["-", "-o", "input.bin", "--reconnect"]);
    recorder.stdin().write_all(b"all").unwrap();
    assert!(recorder.ends_well().contains("the source ended"));
}

/// A disk that is slower than the source: the source is made to wait, though the ring is small.
#[test]
fn a_slow_disk() {
    let desk = Desk::new();
    assert!(Command::new("mkfifo").arg(desk.path("disk")).status().unwrap().success());
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let source = format!("tcp:{}", listener.local_addr().unwrap());
    let sent = noise(3 << 20);
    let recorder = Recorder::start(&desk, &[&source, "-o", "disk", "--buffer", "100k", "--protocol", "none"]);
    let mut disk = File::open(desk.path("disk")).unwrap();
    let (mut stream, _) = listener.accept().unwrap();
    let to_send = sent.clone();
    let sender = thread::spawn(move || send(&mut stream, &to_send));
    let mut written = Vec::new();
    let mut piece = [0; 999];
    loop {
        match disk.read(&mut piece).unwrap() {
            0 => break,
            len => written.extend_from_slice(&piece[..len]),
        }
        thread::yield_now();
    }
    sender.join().unwrap();
    recorder.ends_well();
    assert!(written == sent);
}

#[test]
fn files_of_a_rotation_are_the_whole() {
    let desk = Desk::new();
    let sent = noise(1_000_000);
    let mut recorder = Recorder::start(&desk, &["-", "-o", "run.bin", "--rotate", "300k", "--silence", "1000s"]);
    recorder.stdin().write_all(&sent).unwrap();
    assert!(recorder.ends_well().contains("-> run.000.bin to run.003.bin (4 files)"));
    let parts: Vec<u8> = (0..4).flat_map(|number| desk.get(format!("run.00{number}.bin"))).collect();
    assert!(parts == sent);
    assert_eq!(notes(&desk, "run.002.bin")[1]["text"], "continued in the next file");

    let mut recorder = Recorder::start(&desk, &["-", "-o", "ring.bin", "--rotate", "300k", "--keep", "2"]);
    recorder.stdin().write_all(&sent).unwrap();
    recorder.ends_well();
    let kept: Vec<u8> = [2, 3].into_iter().flat_map(|number| desk.get(format!("ring.00{number}.bin"))).collect();
    assert!(kept == sent[600_000..]);
    assert!(!desk.path("ring.001.bin").exists() && !desk.path("ring.000.bin.traceconv.jsonl").exists());
}
