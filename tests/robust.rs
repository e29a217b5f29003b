//! Trouble around a conversion: files that change under it, disks that are full, signals, pipes that break, odd names. Whatever
//! it is, the program ends, reports it, and leaves no half file.
#![cfg(unix)]

mod desk;

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use desk::Desk;
use traceconv::input::{Bytes, detect};
use traceconv::pipeline::{Options, Source, convert};

fn capture(name: &str) -> Vec<u8> {
    fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata").join(name)).unwrap()
}

fn demo() -> Vec<u8> {
    capture("demo/demo.bin")
}

/// A capture of at least this many bytes: the target is reset again and again.
fn long_capture(bytes: usize) -> Vec<u8> {
    repeated(&demo(), bytes)
}

fn repeated(capture: &[u8], bytes: usize) -> Vec<u8> {
    capture.repeat(bytes.div_ceil(capture.len()))
}

/// The program, with its messages kept.
fn piped(desk: &Desk) -> Command {
    let mut command = desk.command("");
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn run(desk: &Desk, args: &[&str]) -> Output {
    piped(desk).args(args).output().unwrap()
}

fn fifo(desk: &Desk, name: &str) -> PathBuf {
    let path = desk.path(name);
    assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
    path
}

/// The names in the directory, hidden ones too.
fn names(desk: &Desk) -> Vec<OsString> {
    let mut names: Vec<OsString> = fs::read_dir(desk.dir.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    names
}

/// Waits until a temporary file is being written.
fn wait_for_temporary(desk: &Desk, child: &mut Child) {
    loop {
        let is_it = |entry: &fs::DirEntry| {
            entry.file_name().as_bytes().starts_with(b".traceconv-") && entry.metadata().is_ok_and(|metadata| metadata.size() > 0)
        };
        if fs::read_dir(desk.dir.path()).unwrap().any(|entry| is_it(&entry.unwrap())) {
            return;
        }
        assert!(child.try_wait().unwrap().is_none(), "it ended before it could be disturbed");
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[track_caller]
fn fails(output: &Output, status: i32, parts: &[&str]) {
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(status), "{:?} {stderr}", output.status.signal());
    parts.iter().for_each(|part| assert!(stderr.contains(part), "{part:?} is not in:\n{stderr}"));
}

/// Starts a conversion into a FIFO, which waits while nobody reads on; disturbs it there, and reads the rest.
fn disturbed(desk: &Desk, args: &[&str], disturb: impl FnOnce()) -> (Output, Vec<u8>) {
    let fifo = fifo(desk, "out");
    let child = piped(desk).args(args).args(["-o", "out"]).spawn().unwrap();
    let mut reader = File::open(&fifo).unwrap();
    let mut trace = vec![0; 100_000];
    reader.read_exact(&mut trace).unwrap();
    disturb();
    reader.read_to_end(&mut trace).unwrap();
    (child.wait_with_output().unwrap(), trace)
}

#[test]
fn a_file_that_is_cut_short_while_it_is_read_fails_with_a_message() {
    for threads in ["1", "2"] {
        let desk = Desk::new();
        let input = desk.path("a.bin");
        desk.put("a.bin", &long_capture(30 << 20));
        let file = File::options().write(true).open(&input).unwrap();
        let (output, _) = disturbed(&desk, &["a.bin", "-q", "--threads", threads], || file.set_len(1 << 20).unwrap());
        fails(&output, 1, &["a.bin", "was cut short while it was read", "convert a copy"]);
    }
}

/// The zeros in the place of what is gone would be gigabytes of invalid records.
#[test]
fn a_list_ends_where_its_file_is_cut_short() {
    let desk = Desk::new();
    for args in [&["dump", "a.bin"][..], &["dump", "a.bin", "--text", "--threads", "1"]] {
        desk.put("a.bin", &long_capture(8 << 20));
        let file = File::options().write(true).open(desk.path("a.bin")).unwrap();
        let mut child = piped(&desk).args(args).spawn().unwrap();
        let (mut list, mut messages) = (vec![0; 100_000], String::new());
        let mut stdout = child.stdout.take().unwrap();
        stdout.read_exact(&mut list).unwrap();
        file.set_len(1 << 20).unwrap();
        stdout.read_to_end(&mut list).unwrap();
        child.stderr.take().unwrap().read_to_string(&mut messages).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(1), "{messages}");
        assert!(messages.contains("a.bin was cut short while it was read") && list.len() < 4 << 20, "{}: {messages}", list.len());
    }
}

/// Nothing is converted, but the statistics are made of the recording: of all of it, or it is an error.
#[cfg(target_os = "linux")]
#[test]
fn statistics_of_an_unchanged_file_that_is_cut_short_are_not_of_zeros() {
    let content = long_capture(20 << 20);
    let desk = Desk::with("a.bin", &content);
    let statistics = || {
        let report: serde_json::Value = serde_json::from_slice(&fs::read(desk.path("r.json")).unwrap()).unwrap();
        report["traces"][0]["statistics"].clone()
    };
    assert!(piped(&desk).args(["a.bin", "-q", "--report", "r.json"]).status().unwrap().success());
    let whole = statistics();
    // It compares the file with that of the trace first. If that takes longer, the file has changed, which is the same error.
    for wait_ms in [50, 100, 150] {
        let mut child = piped(&desk).args(["a.bin", "--skip-unchanged", "--report", "r.json", "--threads", "1"]).spawn().unwrap();
        let maps = format!("/proc/{}/maps", child.id());
        while child.try_wait().unwrap().is_none() && !fs::read_to_string(&maps).unwrap().contains("/a.bin") {}
        std::thread::sleep(Duration::from_millis(wait_ms));
        File::options().write(true).open(desk.path("a.bin")).unwrap().set_len(4096).unwrap();
        let output = child.wait_with_output().unwrap();
        if output.status.success() {
            // It was faster.
            assert_eq!(statistics(), whole);
        } else {
            fails(&output, 1, &["a.bin was not converted", "was cut short while it was read"]);
        }
        desk.put("a.bin", &content);
    }
}

#[test]
fn other_inputs_are_converted_though_one_is_cut_short() {
    let desk = Desk::new();
    let input = desk.path("a.bin");
    desk.put("a.bin", &long_capture(40 << 20));
    desk.put("b.bin", &demo());
    let mut child = piped(&desk).args(["a.bin", "b.bin", "--threads", "1"]).spawn().unwrap();
    wait_for_temporary(&desk, &mut child);
    File::options().write(true).open(&input).unwrap().set_len(4096).unwrap();
    let output = child.wait_with_output().unwrap();
    fails(&output, 1, &["a.bin was not converted", "was cut short while it was read", "2 inputs: 1 converted, 1 failed"]);
    assert_eq!(names(&desk), ["a.bin", "b.bin", "b.perfetto-trace"]);
}

/// Another program may write into a file while it is read: bytes are others when they are used than when they were checked. That gives
/// other results, and nothing worse.
#[test]
fn bytes_that_change_while_they_are_read_do_no_harm() {
    const WRITES: usize = 200_000;
    const NOISE_BYTES: usize = 2048;
    for name in [
        "demo/demo.bin",
        "tonbandgeraet/generated.bin",
        "qs/generated.bin",
        "syst/text/every_kind.txt",
        "syst/raw/every_kind.bin",
        "syst/stp/losses.stp",
        "tsp/generated.bin",
        "miniprofiler/generated.bin",
        "systemview/generated.SVDat",
        "tracex/generated.trx",
        "itm/generated.swo",
    ] {
        let content = repeated(&capture(name), 40_000);
        let format = detect::detect(&content, &[]).unwrap().format;
        let desk = Desk::with("a", &content);
        let file = File::options().read(true).write(true).open(desk.path("a")).unwrap();
        let bytes = Bytes::map(&file).unwrap();
        let mut conversions = 0;
        std::thread::scope(|scope| {
            // SAFETY: The file is nobody else's. It is mapped twice, so that no reference leads to what is written here.
            let mut other = unsafe { memmap2::MmapMut::map_mut(&file) }.unwrap();
            let writer = scope.spawn(move || {
                for number in 0..WRITES {
                    let noise = [&[0; NOISE_BYTES][..], &[0xFF; NOISE_BYTES], &content[number % NOISE_BYTES..][..NOISE_BYTES]]
                        [number % 3];
                    let at = number * 7919 % (content.len() - NOISE_BYTES);
                    other[at..at + NOISE_BYTES].copy_from_slice(noise);
                    other[at..at + NOISE_BYTES].copy_from_slice(&content[at..at + NOISE_BYTES]);
                }
            });
            // The writer may end before the first of them does, on a busy machine.
            loop {
                let options = Options::default().threads(1usize).window_bytes(4096usize);
                let converted = convert(&[Source::new(&bytes, format)], &options, &mut std::io::sink(), &mut |_| true);
                assert!(converted.is_ok(), "{name}");
                conversions += 1;
                if writer.is_finished() {
                    break;
                }
            }
        });
        println!("{name}: {conversions} conversions");
    }
}

#[test]
fn a_file_that_grows_is_converted_at_its_length_of_the_beginning() {
    let desk = Desk::new();
    let capture = long_capture(4 << 20);
    let input = desk.path("a.bin");
    desk.put("a.bin", &capture);
    desk.put("b.bin", &capture);
    assert!(run(&desk, &["b.bin", "-q", "--name", "a"]).status.success());
    let mut file = File::options().append(true).open(&input).unwrap();
    let (output, trace) = disturbed(&desk, &["a.bin", "-q"], || file.write_all(&demo()).unwrap());
    fails(&output, 0, &[]);
    assert!(trace == fs::read(desk.path("b.perfetto-trace")).unwrap());
}

#[test]
fn a_full_disk_is_told_and_nothing_is_left() {
    let desk = Desk::new();
    desk.put("a.bin", &demo());
    let mut command = piped(&desk);
    // SAFETY: Between fork and exec only a system call is made.
    unsafe {
        command.pre_exec(|| {
            let limit = libc::rlimit { rlim_cur: 50_000, rlim_max: 50_000 };
            if libc::setrlimit(libc::RLIMIT_FSIZE, &raw const limit) == 0 { Ok(()) } else { Err(std::io::Error::last_os_error()) }
        });
    }
    let output = command.args(["a.bin"]).output().unwrap();
    fails(&output, 1, &["cannot write a.perfetto-trace", "nothing of it is kept", "too large"]);
    assert_eq!(names(&desk), ["a.bin"]);
    for form in [&[][..], &["--gzip"], &["--zstd"]] {
        let output = piped(&desk).args(["a.bin", "-o", "/dev/full"]).args(form).output().unwrap();
        fails(&output, 1, &["cannot write /dev/full", "No space left"]);
    }
}

#[test]
fn a_directory_that_cannot_be_written_to_is_told() {
    let desk = Desk::new();
    desk.put("a.bin", &demo());
    let closed = desk.path("closed");
    fs::create_dir(&closed).unwrap();
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o555)).unwrap();
    fs::set_permissions(desk.dir.path(), fs::Permissions::from_mode(0o755)).unwrap();
    // Who may do everything does not notice permissions: then it runs as somebody else, who may not be allowed where it was built.
    let program = desk.path("program");
    // Copied by another process: a file that this one writes may be open for a moment in children of other tests, and is then not executed.
    assert!(Command::new("cp").arg(env!("CARGO_BIN_EXE_traceconv")).arg(&program).status().unwrap().success());
    let mut command = Command::new(&program);
    command.current_dir(desk.dir.path()).args(["a.bin", "-o", "closed"]);
    // SAFETY: `geteuid` has no preconditions.
    if unsafe { libc::geteuid() } == 0 {
        command.uid(65_534).gid(65_534);
    }
    let output = command.output().unwrap();
    fails(&output, 1, &["cannot write closed/a.perfetto-trace: Permission denied", "; -o names another place"]);
    assert!(!String::from_utf8_lossy(&output.stderr).contains(".tmp"), "the temporary name says nothing to people");
    assert_eq!(fs::read_dir(&closed).unwrap().count(), 0);
    let output = run(&desk, &["a.bin", "-o", "/proc/a.perfetto-trace"]);
    fails(&output, 1, &["cannot write /proc/a.perfetto-trace"]);
    let output = run(&desk, &["a.bin", "-o", "a.bin/b"]);
    fails(&output, 1, &["cannot write a.bin/b"]);
}

#[test]
fn a_broken_pipe_ends_it() {
    let desk = Desk::new();
    desk.put("a.bin", &long_capture(2 << 20));
    for form in [&[][..], &["--gzip"]] {
        let mut child = piped(&desk).args(["a.bin", "-o", "-"]).args(form).spawn().unwrap();
        drop(child.stdout.take());
        fails(&child.wait_with_output().unwrap(), 1, &["cannot write the trace to standard output", "Broken pipe"]);
    }
}

#[test]
fn signals_leave_no_half_file() {
    let cases: [(libc::c_int, &[&str]); 4] = [
        (libc::SIGINT, &[]),
        (libc::SIGTERM, &["--gzip"]),
        (libc::SIGHUP, &["--threads", "1"]),
        (libc::SIGINT, &["--split-size", "100M"]),
    ];
    for (signal, options) in cases {
        let desk = Desk::new();
        desk.put("a.bin", &demo());
        desk.put("b.bin", &long_capture(60 << 20));
        let mut child = piped(&desk).args(["b.bin"]).args(options).spawn().unwrap();
        wait_for_temporary(&desk, &mut child);
        // SAFETY: `kill` takes any number; the child has not been waited for, so the number is still its.
        assert_eq!(unsafe { libc::kill(child.id().cast_signed(), signal) }, 0);
        fails(&child.wait_with_output().unwrap(), 130, &[]);
        assert_eq!(names(&desk), ["a.bin", "b.bin"], "after signal {signal} with {options:?}");
    }
}

/// `nohup` and shells start programs with signals ignored.
#[test]
fn ignored_signals_stay_ignored() {
    for signal in [libc::SIGHUP, libc::SIGINT, libc::SIGTERM] {
        let desk = Desk::new();
        let pipe = fifo(&desk, "pipe");
        let mut command = piped(&desk);
        command.args(["pipe", "-o", "out"]);
        // SAFETY: `signal` may be called between fork and exec.
        unsafe {
            command.pre_exec(move || {
                libc::signal(signal, libc::SIG_IGN);
                Ok(())
            });
        }
        let child = command.spawn().unwrap();
        // Opening the pipe waits for the program, which has installed its handlers by then.
        let mut writer = File::options().write(true).open(pipe).unwrap();
        // SAFETY: `kill` takes any number; the child has not been waited for, so the number is still its.
        assert_eq!(unsafe { libc::kill(child.id().cast_signed(), signal) }, 0);
        writer.write_all(&demo()).unwrap();
        drop(writer);
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "signal {signal}: {}", String::from_utf8_lossy(&output.stderr));
        assert!(desk.path("out").is_file());
    }
}

/// A task with this name, in a recording that is otherwise plain.
fn capture_of_task(name: &[u8]) -> Vec<u8> {
    let frame = |payload: &[u8]| [&[u8::try_from(payload.len() + 1).unwrap()][..], payload, &[0]].concat();
    let mut bytes = [frame(&[0x02, 1]), frame(&[&[0x5f, 1][..], name].concat()), frame(&[0x5f, 2, b'x'])].concat();
    for turn in 1..=120u8 {
        bytes.extend(frame(&[0x54, turn, 1 + turn % 2]));
    }
    bytes
}

/// Messages cannot command a terminal, whatever a recording holds.
#[test]
fn names_in_recordings_do_not_reach_the_terminal_raw() {
    let desk = Desk::new();
    let hostile = "=a|`b`\x1b]0;PWN\x07\u{9b}2J\u{202e}c";
    desk.put("a.bin", &capture_of_task(hostile.as_bytes()));
    desk.put("b.bin", &capture_of_task(b"other"));
    desk.put("b.toml", b"rules = ['task.*.cpu_percent < 1']");
    for line in [
        "-v a.bin -o t",
        "stats -v a.bin",
        "stats --csv a.bin",
        "stats --folded a.bin",
        "info -v a.bin",
        "check -b b.toml a.bin",
        "check --md -b b.toml a.bin",
        "diff b.bin a.bin",
        "diff a.bin b.bin --md",
        "dump --text a.bin",
    ] {
        let ran = desk.run(line);
        let text = String::from_utf8(ran.stdout).unwrap() + &ran.stderr;
        let is_harmless = |c: char| c == '\n' || !(c.is_control() || ('\u{202a}'..='\u{202e}').contains(&c));
        assert!(text.chars().all(is_harmless), "{line}: {text:?}");
    }
    let csv = String::from_utf8(desk.run("stats --csv a.bin").ends(0).stdout).unwrap();
    assert!(csv.contains(",'=a|") && !csv.contains(",=a|"), "{csv}");
    let md = String::from_utf8(desk.run("check --md -b b.toml a.bin").stdout).unwrap();
    assert!(md.contains("=a\\|\\`b\\`") && !md.contains("a|"), "{md}");
}

#[test]
fn names_need_not_be_text() {
    let desk = Desk::new();
    let name = OsStr::from_bytes(b"caf\xe9 \xff.bin");
    desk.put(name, &demo());
    desk.put("b.bin", &demo());
    let run = |args: &[&OsStr]| fails(&piped(&desk).arg("-q").args(args).output().unwrap(), 0, &[]);
    run(&[name]);
    run(&[name, "--gzip".as_ref()]);
    run(&[name, "--split-size".as_ref(), "80k".as_ref(), "-o".as_ref(), OsStr::from_bytes(b"\xfe.perfetto-trace")]);
    let mut offset = name.to_os_string();
    offset.push("=1ms");
    run(&["b.bin".as_ref(), name, "--merge".as_ref(), "--offset".as_ref(), &offset, "-o".as_ref(), "m".as_ref()]);
    let expected: [&[u8]; 7] = [
        b"b.bin",
        b"caf\xe9 \xff.bin",
        b"caf\xe9 \xff.perfetto-trace",
        b"caf\xe9 \xff.perfetto-trace.gz",
        b"m",
        b"\xfe.000.perfetto-trace",
        b"\xfe.001.perfetto-trace",
    ];
    assert_eq!(names(&desk), expected.map(OsStr::from_bytes));
}

#[test]
fn an_output_may_be_a_fifo_or_a_device() {
    let desk = Desk::new();
    desk.put("a.bin", &demo());
    assert!(run(&desk, &["a.bin", "-q"]).status.success());
    let fifo = fifo(&desk, "pipe");
    let child = piped(&desk).args(["a.bin", "-q", "-o", "pipe"]).spawn().unwrap();
    let trace = fs::read(&fifo).unwrap();
    fails(&child.wait_with_output().unwrap(), 0, &[]);
    assert!(trace == fs::read(desk.path("a.perfetto-trace")).unwrap());
    fails(&run(&desk, &["a.bin", "-o", "/dev/null"]), 0, &["-> /dev/null"]);
    assert!(!fs::metadata("/dev/null").unwrap().is_file());
}

#[test]
fn standard_input_may_be_slow() {
    let desk = Desk::new();
    let demo = demo();
    desk.put("a.bin", &demo);
    assert!(run(&desk, &["a.bin", "-q", "--name", "x"]).status.success());
    let mut child = piped(&desk).args(["-", "-q", "-o", "b", "--name", "x"]).stdin(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    for chunk in demo.chunks(demo.len() / 20) {
        stdin.write_all(chunk).unwrap();
        std::thread::sleep(Duration::from_millis(5));
    }
    drop(stdin);
    fails(&child.wait_with_output().unwrap(), 0, &[]);
    assert!(fs::read(desk.path("a.perfetto-trace")).unwrap() == fs::read(desk.path("b")).unwrap());
}
