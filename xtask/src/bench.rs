//! `cargo xtask bench`: the speed of the converter as a whole process, next to that of simple reads and copies of the same bytes.
//!
//! One round converts with one thread, with two, and then only reads the input and copies the output (`cat INPUT >/dev/null;
//! cp OUTPUT COPY`). Rounds repeat, and the best of each counts, so that a busy moment of the machine spoils no figure.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use clap::Args;
use traceconv::format::{FORMATS, Format, OptionValue};

use crate::instructions::{self, Compare};

/// The options of the measurement.
#[derive(Args)]
pub struct Bench {
    /// The formats to measure; all if none is given
    #[arg(long)]
    format: Vec<String>,
    /// Size of the generated captures in bytes; k, M and G are powers of 1000
    #[arg(long, default_value = "250M", value_parser = crate::generate::parse_bytes)]
    bytes: u64,
    /// How often everything is measured
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
    /// Another capture than a generated one
    #[arg(long)]
    input: Option<PathBuf>,
    /// Where captures and traces are put; generated captures are kept for the next time
    #[arg(long, default_value = "build/bench")]
    folder: PathBuf,
    /// Another program that reads a format, to compare with: its command line, with {} for the capture, like 'qs=qspy -f{}'. Its output is
    /// discarded
    #[arg(long, value_name = "FORMAT=COMMAND", value_parser = parse_peer)]
    peer: Vec<(String, String)>,
    /// Count instructions per event and stage instead of measuring time. Needs valgrind
    #[arg(long)]
    instructions: bool,
    /// Measure time, then count instructions
    #[arg(long, conflicts_with_all = ["instructions", "input"])]
    all: bool,
    /// Fail if instructions are more than 3 % off benches/instructions.json
    #[arg(long, requires = "instructions")]
    check: bool,
    /// Write benches/instructions.json
    #[arg(long, requires = "instructions", conflicts_with = "check")]
    bless: bool,
}

fn parse_peer(text: &str) -> Result<(String, String), String> {
    let (format, command) = text.split_once('=').ok_or("expected FORMAT=COMMAND")?;
    if command.contains("{}") { Ok((format.into(), command.into())) } else { Err("the command has no {} for the capture".into()) }
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
    let converter = crate::converter()?;
    if let Some(input) = &bench.input {
        println!("{HEADER}");
        return measure_all(bench, &converter, "given", &Capture { path: input.clone(), arguments: Vec::new() });
    }
    let names: Vec<&str> = FORMATS.iter().map(|format| format.name()).collect();
    let asked = bench.format.iter().chain(bench.peer.iter().map(|(format, _)| format));
    if let Some(unknown) = asked.into_iter().find(|name| !names.contains(&name.as_str())) {
        bail!("there is no format {unknown}; there are {}", names.join(", "));
    }
    let wanted = |name: &str| bench.format.is_empty() || bench.format.iter().any(|format| format == name);
    let formats: Vec<&dyn Format> = FORMATS.iter().copied().filter(|format| wanted(format.name())).collect();
    if !bench.instructions {
        println!("{HEADER}");
        for format in &formats {
            measure_all(bench, &converter, format.name(), &capture(&folder, *format, bench.bytes)?)?;
        }
    }
    if bench.instructions || bench.all {
        let compare = match (bench.check, bench.bless) {
            (true, _) => Compare::Check,
            (_, true) => Compare::Write,
            _ => Compare::Show,
        };
        instructions::run(&converter, &folder, &formats, compare)?;
    }
    Ok(())
}

const HEADER: &str = "\
format         input MB  events   output/input  1 thread s (MB/s)  2 threads s (MB/s)  peak MiB  1/2 threads  2 threads/copy";

/// Prints a line of the table.
fn measure_all(bench: &Bench, converter: &Path, name: &str, capture: &Capture) -> anyhow::Result<()> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(&bench.folder);
    let (output, copy) = (folder.join("bench.perfetto-trace"), folder.join("copy"));
    let (mut one, mut two, mut machine): (Option<Best>, Option<Best>, Option<Best>) = (None, None, None);
    for _ in 0..bench.rounds {
        better(&mut one, measure(&mut convert(converter, capture, &output, 1))?);
        better(&mut two, measure(&mut convert(converter, capture, &output, 2))?);
        let mut read = Command::new("cat");
        read.arg(&capture.path).stdout(Stdio::null());
        let mut write = Command::new("cp");
        write.arg(&output).arg(&copy);
        let (read, write) = (measure(&mut read)?, measure(&mut write)?);
        better(&mut machine, Best { wall: read.wall + write.wall, peak_rss_kib: 0 });
    }
    let (Some(one), Some(two), Some(machine)) = (one, two, machine) else { bail!("nothing was measured") };
    let (input_bytes, output_bytes) = (fs::metadata(&capture.path)?.len(), fs::metadata(&output)?.len());
    let events = events(converter, capture, &output)?;
    fs::remove_file(&copy)?;
    let megabytes = input_bytes as f64 / 1e6;
    let speed = |best: Best| format!("{:.3} ({:.0})", best.wall.as_secs_f64(), megabytes / best.wall.as_secs_f64());
    let ratio = |of: Best, to: Best| of.wall.as_secs_f64() / to.wall.as_secs_f64();
    println!(
        "{name:<14} {megabytes:>8.1}  {events:<8} {:>12.3}  {:>17}  {:>18}  {:>8.1}  {:>11.2}  {:>14.2}",
        output_bytes as f64 / input_bytes.max(1) as f64,
        speed(one),
        speed(two),
        two.peak_rss_kib as f64 / 1024.0,
        ratio(one, two),
        ratio(two, machine),
    );
    for (_, command) in bench.peer.iter().filter(|(format, _)| format == name) {
        let mut peer = None;
        for _ in 0..bench.rounds {
            let mut words = command.split_whitespace().map(|word| word.replace("{}", &capture.path.to_string_lossy()));
            let mut run = Command::new(words.next().context("the peer has no command")?);
            better(&mut peer, measure(run.args(words).stdout(Stdio::null()).stderr(Stdio::null()))?);
        }
        let Some(peer) = peer else { bail!("nothing was measured") };
        println!("  {command}: {:.3} s, {:.2} times as long as with 2 threads", peer.wall.as_secs_f64(), ratio(peer, two));
    }
    Ok(())
}

/// A capture, and the command line's options for it.
pub struct Capture {
    path: PathBuf,
    arguments: Vec<OsString>,
}

/// The command that converts. All that this file knows of the command line.
pub fn convert(converter: &Path, capture: &Capture, output: &Path, threads: usize) -> Command {
    let mut command = Command::new(converter);
    command.arg(&capture.path).args(&capture.arguments).arg("-o").arg(output).arg("--threads").arg(threads.to_string()).arg("-q");
    command
}

/// The generated capture of this size; made if it is not there.
pub fn capture(folder: &Path, format: &dyn Format, bytes: u64) -> anyhow::Result<Capture> {
    let path = folder.join(format!("{}-{bytes}.bin", format.name()));
    let options = if fs::metadata(&path).is_ok_and(|metadata| metadata.len() >= bytes) {
        // The options do not depend on the size.
        format.generate(1, 1, &mut std::io::sink())?
    } else {
        let file = File::create(&path).with_context(|| format!("cannot create {}", path.display()))?;
        let mut out = BufWriter::new(file);
        let options = format.generate(bytes, 1, &mut out).context("cannot write the capture")?;
        out.flush()?;
        options
    };
    let mut arguments: Vec<OsString> = vec!["--format".into(), format.name().into()];
    for (name, value) in &options.own {
        arguments.push(format!("--{name}").into());
        match value {
            OptionValue::Flag => {}
            OptionValue::Text(text) => arguments.push(text.into()),
            OptionValue::File { path, bytes } => {
                let path = folder.join(path);
                fs::write(&path, bytes).with_context(|| format!("cannot write {}", path.display()))?;
                arguments.push(path.into());
            }
        }
    }
    Ok(Capture { path, arguments })
}

/// The number of events that the converter reports.
pub fn events(converter: &Path, capture: &Capture, output: &Path) -> anyhow::Result<u64> {
    let out = convert(converter, capture, output, 2).args(["--report", "-"]).stderr(Stdio::inherit()).output()?;
    let report: serde_json::Value = serde_json::from_slice(&out.stdout).context("the report is not JSON")?;
    report["inputs"][0]["events"].as_u64().context("the report has no number of events")
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
