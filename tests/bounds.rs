//! Hostile input costs a number of passes and an amount of memory that do not grow with its length, whatever its format. Passes are
//! counted by page faults and not by time: a mapping of the input is unmapped again after each window, so a page that is read once more
//! is one fault more.
#![cfg(target_os = "linux")]

use std::fs::File;
use std::ops::Range;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use traceconv::format::FORMATS;
use traceconv::input::{Input, ReadOptions};
use traceconv::pipeline::{Options, Source, statistics};

const BYTES: u64 = 64 << 20;

/// A file of zeros that takes no space.
fn zeros(path: &Path) {
    File::create(path).unwrap().set_len(BYTES).unwrap();
}

fn faults() -> i64 {
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: getrusage writes a whole rusage to the pointer, which is valid for that; all its bit patterns are valid.
    let usage = unsafe {
        assert_eq!(libc::getrusage(libc::RUSAGE_SELF, usage.as_mut_ptr()), 0);
        usage.assume_init()
    };
    usage.ru_minflt + usage.ru_majflt
}

/// The memory of a process that is not a mapped file: pages of those are the kernel's to take back.
fn anonymous_kib(process: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:"))?;
    line.trim().strip_suffix(" kB")?.parse().ok()
}

#[test]
fn zeros_cost_a_few_passes_and_little_memory_in_every_format() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("zeros.bin");
    zeros(&path);
    for format in FORMATS {
        let mut child = Command::new(env!("CARGO_BIN_EXE_traceconv"))
            .args(["zeros.bin", "-o", "x", "-q", "--format", format.name()])
            .current_dir(dir.path())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut most_kib = 0;
        while child.try_wait().unwrap().is_none() {
            most_kib = most_kib.max(anonymous_kib(child.id()).unwrap_or(0));
            std::thread::sleep(Duration::from_millis(1));
        }
        let output = child.wait_with_output().unwrap();
        // One format reads zeros as text, the others find nothing.
        assert!(matches!(output.status.code(), Some(0 | 1)), "{}", String::from_utf8_lossy(&output.stderr));
        println!("{}: at most {most_kib} KiB", format.name());
        assert!(most_kib > 0 && most_kib < BYTES >> 11, "{}: {most_kib} KiB", format.name());
    }

    let input = Input::open(&path, &ReadOptions::default()).unwrap();
    let whole = 0..input.bytes().len();
    let pass = || {
        input.release(whole.clone());
        let before = faults();
        let sum: u64 = input.bytes().iter().step_by(4096).map(|&byte| u64::from(byte)).sum();
        assert_eq!(sum, 0);
        faults() - before
    };
    // The first one also reads the file.
    pass();
    let faults_per_pass = pass();
    assert!(faults_per_pass >= (BYTES >> 20) as i64, "{faults_per_pass} faults: the input is not mapped page by page");

    for &format in FORMATS {
        let faults_with = |release: &(dyn Fn(Range<usize>) + Sync)| {
            let sources = [Source::new(input.bytes(), format).release(release)];
            let before = faults();
            let result = statistics(&sources, &Options::default().threads(1usize), false, &mut |_| true);
            assert!(result.is_ok(), "{}", format.name());
            faults() - before
        };
        // With the whole input in memory, only the heap has faults.
        pass();
        let of_heap = faults_with(&|_| {});
        input.release(whole.clone());
        let all = faults_with(&|_| input.release(whole.clone()));
        let passes = (all - of_heap) as f64 / faults_per_pass as f64;
        println!("{}: {passes:.1} passes", format.name());
        // Windows look beyond their ends, so it is more than the two passes and the hash: up to 12.4 on a busy machine, where the kernel reads fewer
        // pages ahead. A search to the end for each window is more than 20.
        assert!(passes < 17.0, "{}: {passes:.1} passes over the input", format.name());
    }
}
