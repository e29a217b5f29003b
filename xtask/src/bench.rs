//! `cargo xtask bench`: the speed of the converter as a whole process, next to what the machine does with the same bytes.
//!
//! One round converts with one thread, with two, and then only reads the input and copies the output (`cat INPUT >/dev/null;
//! cp OUTPUT COPY`). Rounds repeat, and the best of each counts, so that a busy moment of the machine spoils no figure.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use clap::Args;
use traceconv::format::tonbandgeraet::generate::{GenerateOptions, generate};

/// What to measure.
#[derive(Args)]
pub struct Bench {
    /// Size of the generated capture in bytes; k, M and G stand for powers of 1000
    #[arg(long, default_value = "250M", value_parser = crate::generate::parse_bytes)]
    bytes: u64,
    /// How often everything is measured
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
    /// Another capture than a generated one
    #[arg(long)]
    input: Option<PathBuf>,
    /// Where captures and traces are put; the generated capture is kept for the next time
    #[arg(long, default_value = "build/bench")]
    folder: PathBuf,
}

/// The best of some runs.
#[derive(Clone, Copy)]
struct Best {
    wall: Duration,
    peak_rss_kib: u64,
}

pub fn run(bench: &Bench) -> anyhow::Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let folder = root.join(&bench.folder);
    fs::create_dir_all(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
    let build = Command::new(env!("CARGO")).current_dir(&root).args(["build", "--release", "--bin", "traceconv"]).status()?;
    ensure!(build.success(), "the converter does not build");
    let converter = root.join("build/release/traceconv");
    let input = match &bench.input {
        Some(input) => input.clone(),
        None => capture(&folder, bench.bytes)?,
    };
    let (output, copy) = (folder.join("bench.perfetto-trace"), folder.join("copy"));

    let (mut one, mut two, mut machine): (Option<Best>, Option<Best>, Option<Best>) = (None, None, None);
    for _ in 0..bench.rounds {
        better(&mut one, measure(&mut convert(&converter, &input, &output, 1))?);
        better(&mut two, measure(&mut convert(&converter, &input, &output, 2))?);
        let mut read = Command::new("cat");
        read.arg(&input).stdout(Stdio::null());
        let mut write = Command::new("cp");
        write.arg(&output).arg(&copy);
        let (read, write) = (measure(&mut read)?, measure(&mut write)?);
        better(&mut machine, Best { wall: read.wall + write.wall, peak_rss_kib: 0 });
    }
    let (Some(one), Some(two), Some(machine)) = (one, two, machine) else { bail!("nothing was measured") };
    let (input_bytes, output_bytes) = (fs::metadata(&input)?.len(), fs::metadata(&output)?.len());
    let events = events(&converter, &input, &output)?;
    fs::remove_file(&copy)?;

    println!("input     {input_bytes} bytes, {events} events, {:.2} bytes per event", per(input_bytes, events));
    println!(
        "output    {output_bytes} bytes, {:.2} per event, {:.3} times the input",
        per(output_bytes, events),
        per(output_bytes, input_bytes)
    );
    for (name, best) in [("1 thread", one), ("2 threads", two)] {
        let seconds = best.wall.as_secs_f64();
        println!(
            "{name:<10}{seconds:.3} s, {:.1} MB/s, {:.2} M events/s, peak RSS {:.1} MiB",
            input_bytes as f64 / seconds / 1e6,
            events as f64 / seconds / 1e6,
            best.peak_rss_kib as f64 / 1024.0,
        );
    }
    println!("machine   {:.3} s to read the input and copy the output", machine.wall.as_secs_f64());
    let ratio = |of: Duration, to: Duration| of.as_secs_f64() / to.as_secs_f64();
    println!("2 threads are {:.2} times as fast as 1", ratio(one.wall, two.wall));
    println!("2 threads take {:.2} times as long as reading and copying", ratio(two.wall, machine.wall));
    Ok(())
}

/// The command that converts. All that this file knows of the command line.
fn convert(converter: &Path, input: &Path, output: &Path, threads: usize) -> Command {
    let mut command = Command::new(converter);
    command.arg(input).arg("-o").arg(output).arg("--threads").arg(threads.to_string()).arg("-q");
    command
}

/// The generated capture of this size; made if it is not there.
fn capture(folder: &Path, bytes: u64) -> anyhow::Result<PathBuf> {
    let path = folder.join(format!("tonbandgeraet-{bytes}.bin"));
    if fs::metadata(&path).is_ok_and(|metadata| metadata.len() >= bytes) {
        return Ok(path);
    }
    let file = File::create(&path).with_context(|| format!("cannot create {}", path.display()))?;
    let mut out = BufWriter::new(file);
    generate(&GenerateOptions { bytes, ..GenerateOptions::default() }, &mut out).context("cannot write the capture")?;
    out.flush()?;
    Ok(path)
}

/// How many events the converter says it found.
fn events(converter: &Path, input: &Path, output: &Path) -> anyhow::Result<u64> {
    let out = convert(converter, input, output, 2).args(["--report", "-"]).stderr(Stdio::inherit()).output()?;
    let report = String::from_utf8(out.stdout).context("the report is no text")?;
    let number = report.split("\"events\":").nth(1).map(str::trim_start);
    let digits = number.and_then(|number| number.split(|digit: char| !digit.is_ascii_digit()).next());
    digits.and_then(|digits| digits.parse().ok()).context("the report tells no events")
}

fn per(one: u64, other: u64) -> f64 {
    one as f64 / other.max(1) as f64
}

fn better(best: &mut Option<Best>, new: Best) {
    let old = best.unwrap_or(new);
    let wall = old.wall.min(new.wall);
    // The worst of the memory: it must hold every time.
    *best = Some(Best { wall, peak_rss_kib: old.peak_rss_kib.max(new.peak_rss_kib) });
}

/// Runs a command to its end.
fn measure(command: &mut Command) -> anyhow::Result<Best> {
    let start = Instant::now();
    let mut child = command.spawn().with_context(|| format!("cannot run {command:?}"))?;
    let peak_rss_kib = watch(&mut child)?;
    let wall = start.elapsed();
    let status = child.wait()?;
    ensure!(status.success(), "{command:?} failed: {status}");
    Ok(Best { wall, peak_rss_kib })
}

/// Waits for a process and gives the most memory it had, in KiB: the kernel keeps the mark, so the last look before the end is
/// nearly exact. 0 where there is no `/proc`.
fn watch(child: &mut Child) -> anyhow::Result<u64> {
    let path = format!("/proc/{}/status", child.id());
    let mut peak_kib = 0;
    while child.try_wait()?.is_none() {
        if let Ok(status) = fs::read_to_string(&path) {
            let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
            let kib = line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok());
            peak_kib = peak_kib.max(kib.unwrap_or(0));
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    Ok(peak_kib)
}
