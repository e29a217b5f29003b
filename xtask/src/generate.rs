//! `cargo xtask gen`: realistic captures of any size.

mod fleet;
mod syst;

use std::fs::File;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::PathBuf;

use anyhow::{Context, bail};
use clap::{Args, Subcommand, ValueEnum};
use traceconv::format::Format;
use traceconv::format::itm::Itm;
use traceconv::format::miniprofiler::generate as miniprofiler;
use traceconv::format::miniprofiler::record::Reading;
use traceconv::format::qs::generate as qs;
use traceconv::format::syst::generate::Carrier;
use traceconv::format::syst::stp::NibbleOrder;
use traceconv::format::systemview::generate as systemview;
use traceconv::format::tonbandgeraet::generate::{self, GenerateOptions, SlowTask};
use traceconv::format::tracex::TraceX;
use traceconv::format::tsp::generate as tsp;

use self::fleet::Fleet;
use self::syst::Syst;

/// A capture, by format.
#[derive(Subcommand)]
pub enum Capture {
    /// FreeRTOS tasks, interrupts, queues and markers
    Tonbandgeraet(Tonbandgeraet),
    /// FreeRTOS tasks and queues, over a serial line
    Tsp(Tsp),
    /// SyS-T messages of three clients, in lines of text
    SystText(Syst),
    /// The same as bare bytes
    SystRaw(Syst),
    /// The same in STPv2 packets
    SystStp(Syst),
    /// Completed calls of functions
    Miniprofiler(MiniProfiler),
    /// Dining philosophers on a pre-emptive QP kernel
    Qs(Qs),
    /// The recordings of a test farm, in folders that are their labels, with a regression in one of its commits
    Fleet(Fleet),
    /// FreeRTOS tasks and interrupts, over RTT
    Systemview(SystemView),
    /// ThreadX threads, queues and interrupts, in the ring of a trace buffer
    Tracex(Plain),
    /// Interrupts, samples of the program counter and text, over SWO
    Itm(Plain),
}

/// Options of the generators that have no others.
#[derive(Args)]
pub struct Plain {
    /// Size in bytes; k, M and G are powers of 1000
    #[arg(long, value_parser = parse_bytes)]
    bytes: u64,
    /// Another seed is another run of the same firmware
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Where to write it; standard output if not given
    #[arg(short, long)]
    output: Option<PathBuf>,
}

impl Plain {
    fn run(&self, format: &dyn Format) -> anyhow::Result<()> {
        write(self.output.as_ref(), |out| format.generate(self.bytes, self.seed, out).map(drop))
    }
}

/// Options of the generator of SystemView.
#[derive(Args)]
pub struct SystemView {
    /// Size in bytes; k, M and G are powers of 1000
    #[arg(long, value_parser = parse_bytes)]
    bytes: u64,
    /// Another seed is another run of the same firmware
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Two cores send into one stream, with Espressif's bit for the core
    #[arg(long)]
    two_cores: bool,
    /// The target's buffer overflows now and then
    #[arg(long)]
    overflows: bool,
    /// Damage between the target and the file
    #[arg(long, value_enum, default_value_t = SystemViewDamage::None)]
    damage: SystemViewDamage,
    /// Where to write it; standard output if not given
    #[arg(short, long)]
    output: Option<PathBuf>,
}

#[derive(Clone, Copy, ValueEnum)]
enum SystemViewDamage {
    /// Nothing
    None,
    /// Flipped bits
    Flips,
    /// Missing bytes
    Bytes,
}

/// Options of the generator of MiniProfiler.
#[derive(Args)]
pub struct MiniProfiler {
    /// Size in bytes; k, M and G are powers of 1000
    #[arg(long, value_parser = parse_bytes)]
    bytes: u64,
    /// Another seed is another run of the same firmware
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// How long the firmware sleeps between rounds at most, in microseconds
    #[arg(long, default_value_t = 200)]
    sleep_us: u64,
    /// Record main too, which returns at the end
    #[arg(long)]
    main_returns: bool,
    /// Put the commands of the host into the capture
    #[arg(long)]
    commands: bool,
    /// Damage between the device and the file
    #[arg(long, value_enum, default_value_t = LineDamage::None)]
    damage: LineDamage,
    /// A function that takes this share of its usual time, e.g. `0x080001B5=150%`
    #[arg(long, value_name = "ADDRESS=PERCENT", value_parser = parse_slow_function)]
    slow_function: Option<miniprofiler::SlowFunction>,
    /// Where to write it; standard output if not given
    #[arg(short, long)]
    output: Option<PathBuf>,
}

#[derive(Clone, Copy, ValueEnum)]
enum LineDamage {
    /// Nothing
    None,
    /// Lost packets
    Losses,
    /// Flipped bits, missing pieces, garbage, false headers and text
    Line,
}

/// Options of the generator of QS.
#[derive(Args)]
pub struct Qs {
    /// Size in bytes; k, M and G are powers of 1000
    #[arg(long, value_parser = parse_bytes)]
    bytes: u64,
    /// Another seed is another run of the same firmware
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Damage between the target and the file
    #[arg(long, value_enum, default_value_t = QsDamage::None)]
    damage: QsDamage,
    /// Where to write it; standard output if not given
    #[arg(short, long)]
    output: Option<PathBuf>,
}

#[derive(Clone, Copy, ValueEnum)]
enum QsDamage {
    /// Nothing
    None,
    /// Flipped bits
    Flips,
    /// Missing bytes
    Cuts,
    /// Frames overwritten on the target
    Drops,
    /// The target is reset now and then
    Resets,
}

/// Options of the generator.
#[derive(Args)]
pub struct Tonbandgeraet {
    /// Size in bytes; k, M and G are powers of 1000
    #[arg(long, value_parser = parse_bytes)]
    bytes: u64,
    /// Another seed is another run of the same firmware
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Cores of the target, merged into one stream
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=64))]
    cores: u16,
    /// Damage between the target and the file
    #[arg(long, value_enum, default_value_t = Damage::None)]
    damage: Damage,
    /// A task that takes this share of its usual time, e.g. `sensor=150%`
    #[arg(long, value_name = "TASK=PERCENT", value_parser = parse_slow_task)]
    slow_task: Option<SlowTask>,
    /// Where to write it; standard output if not given
    #[arg(short, long)]
    output: Option<PathBuf>,
}

#[derive(Clone, Copy, ValueEnum)]
enum Damage {
    /// Nothing
    None,
    /// Flipped bits
    Flips,
    /// Missing bytes
    Cuts,
    /// Events lost on the target, and counted by it
    Drops,
}

/// Options of the generator of TSP.
#[derive(Args)]
pub struct Tsp {
    /// Size in bytes; k, M and G are powers of 1000
    #[arg(long, value_parser = parse_bytes)]
    bytes: u64,
    /// Another seed is another run of the same firmware
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// The timer within the tick
    #[arg(long, value_enum, default_value_t = Timer::Up1mhz)]
    timer: Timer,
    /// The target stops its ticks while nothing is to do
    #[arg(long)]
    tickless: bool,
    /// Damage between the target and the file
    #[arg(long, value_enum, default_value_t = TspDamage::None)]
    damage: TspDamage,
    /// Where to write it; standard output if not given
    #[arg(short, long)]
    output: Option<PathBuf>,
}

#[derive(Clone, Copy, ValueEnum)]
enum Timer {
    /// Up to 999, not in phase with the tick
    Up1mhz,
    /// Down from 93
    Down93,
    /// Up to 249
    Up250khz,
    /// Up to 999, and a tick count of the same range
    Modulo1000,
    /// Always 0
    None,
}

#[derive(Clone, Copy, ValueEnum)]
enum TspDamage {
    /// Nothing
    None,
    /// Missing bytes
    Bytes,
    /// Flipped bits
    Flips,
    /// Events lost on the target, which reports them
    Fifo,
    /// Timers read in two halves
    Torn,
}

/// Writes the capture.
pub fn run(capture: &Capture) -> anyhow::Result<()> {
    match capture {
        Capture::Fleet(arguments) => arguments.write(),
        Capture::Qs(arguments) => {
            let damage = match arguments.damage {
                QsDamage::None => qs::Damage::None,
                QsDamage::Flips => qs::Damage::Flips,
                QsDamage::Cuts => qs::Damage::Cuts,
                QsDamage::Drops => qs::Damage::Drops,
                QsDamage::Resets => qs::Damage::Resets,
            };
            let (bytes, seed) = (arguments.bytes, arguments.seed);
            let options = qs::GenerateOptions { bytes, seed, damage, ..qs::GenerateOptions::default() };
            write(arguments.output.as_ref(), |out| qs::generate(&options, out))
        }
        Capture::Tracex(arguments) => arguments.run(&TraceX),
        Capture::Itm(arguments) => arguments.run(&Itm),
        Capture::Systemview(arguments) => {
            let damage = match arguments.damage {
                SystemViewDamage::None => systemview::Damage::None,
                SystemViewDamage::Flips => systemview::Damage::Flips,
                SystemViewDamage::Bytes => systemview::Damage::Bytes,
            };
            let &SystemView { bytes, seed, two_cores: has_two_cores, overflows, .. } = arguments;
            let options = systemview::GenerateOptions {
                bytes,
                seed,
                has_two_cores,
                overflows,
                damage,
                ..systemview::GenerateOptions::default()
            };
            write(arguments.output.as_ref(), |out| systemview::generate(&options, out))
        }
        Capture::Tonbandgeraet(arguments) => {
            let damage = match arguments.damage {
                Damage::None => generate::Damage::None,
                Damage::Flips => generate::Damage::Flips,
                Damage::Cuts => generate::Damage::Cuts,
                Damage::Drops => generate::Damage::Drops,
            };
            let &Tonbandgeraet { bytes, seed, cores, slow_task, .. } = arguments;
            let options = GenerateOptions { bytes, seed, cores, damage, slow_task, ..GenerateOptions::default() };
            write(arguments.output.as_ref(), |out| generate::generate(&options, out))
        }
        Capture::SystText(arguments) => syst::run(arguments, Carrier::Text),
        Capture::SystRaw(arguments) => syst::run(arguments, Carrier::Raw),
        Capture::SystStp(arguments) => {
            syst::run(arguments, Carrier::Stp(if arguments.lsb { NibbleOrder::Lsb } else { NibbleOrder::Msb }))
        }
        Capture::Tsp(arguments) => {
            let timer = match arguments.timer {
                Timer::Up1mhz => tsp::TimerKind::Up1MHz,
                Timer::Down93 => tsp::TimerKind::Down93,
                Timer::Up250khz => tsp::TimerKind::Up250kHz,
                Timer::Modulo1000 => tsp::TimerKind::Modulo1000,
                Timer::None => tsp::TimerKind::Nothing,
            };
            let damage = match arguments.damage {
                TspDamage::None => tsp::Damage::None,
                TspDamage::Bytes => tsp::Damage::Bytes,
                TspDamage::Flips => tsp::Damage::Flips,
                TspDamage::Fifo => tsp::Damage::Fifo,
                TspDamage::Torn => tsp::Damage::Torn,
            };
            let &Tsp { bytes, seed, tickless: is_tickless, .. } = arguments;
            let options = tsp::GenerateOptions { bytes, seed, timer, is_tickless, damage, ..tsp::GenerateOptions::default() };
            write(arguments.output.as_ref(), |out| tsp::generate(&options, out))
        }
        Capture::Miniprofiler(arguments) => {
            let damage = match arguments.damage {
                LineDamage::None => miniprofiler::Damage::None,
                LineDamage::Losses => miniprofiler::Damage::Losses,
                LineDamage::Line => miniprofiler::Damage::Line,
            };
            let MiniProfiler { bytes, seed, sleep_us, main_returns, commands, slow_function, .. } = *arguments;
            let options = miniprofiler::GenerateOptions {
                bytes,
                seed,
                reading: Reading::HOST,
                sleep_us,
                main_returns,
                commands,
                damage,
                slow_function,
                ..miniprofiler::GenerateOptions::default()
            };
            write(arguments.output.as_ref(), |out| miniprofiler::generate(&options, out, &mut |_| {}))
        }
    }
}

/// Writes the output of `generate` to a file, or to standard output.
fn write(path: Option<&PathBuf>, generate: impl Fn(&mut dyn Write) -> io::Result<()>) -> anyhow::Result<()> {
    let mut out: Box<dyn Write> = match path {
        Some(path) => Box::new(File::create(path).with_context(|| format!("cannot create {}", path.display()))?),
        None if io::stdout().is_terminal() => bail!("a capture is binary: give a file with -o, or a pipe"),
        None => Box::new(io::stdout().lock()),
    };
    // The generators write in large pieces already, but in small ones for small captures.
    let mut out = BufWriter::new(&mut out);
    generate(&mut out).and_then(|()| out.flush()).context("cannot write the capture")
}

fn parse_slow_task(text: &str) -> Result<SlowTask, String> {
    let (name, percent) = parse_share(text)?;
    SlowTask::named(name, percent).ok_or_else(|| format!("the firmware has no task {name:?}"))
}

fn parse_slow_function(text: &str) -> Result<miniprofiler::SlowFunction, String> {
    let (address, percent) = parse_share(text)?;
    let address = u32::from_str_radix(address.trim_start_matches("0x"), 16).map_err(|_| format!("{address:?} is no address"))?;
    Ok(miniprofiler::SlowFunction { address, percent })
}

/// `name=150%`, up to 100 times the usual.
fn parse_share(text: &str) -> Result<(&str, u32), String> {
    let (name, percent) = text.split_once('=').ok_or("a name and a share are expected: sensor=150%")?;
    let percent = percent.trim_end_matches('%').parse().ok().filter(|&percent| percent <= 10_000);
    Ok((name, percent.ok_or("a share from 0% to 10000% is expected")?))
}

pub fn parse_bytes(text: &str) -> Result<u64, String> {
    let digits = text.trim_end_matches(['k', 'M', 'G']);
    let factor: u64 = match text.get(digits.len()..) {
        Some("k") => 1_000,
        Some("M") => 1_000_000,
        Some("G") => 1_000_000_000,
        Some("") => 1,
        _ => return Err("expected a number with at most one of k, M, G".into()),
    };
    let number: u64 = digits.parse().map_err(|_| format!("{digits:?} is not a number of bytes"))?;
    number.checked_mul(factor).ok_or_else(|| "too large".into())
}
