//! `traceconv record SOURCE -o FILE`: arguments, the lines that are shown, and the commands that follow.

use std::ffi::OsString;
use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use clap::{Args as ClapArgs, Parser};
use indicatif::{HumanBytes, ProgressBar, ProgressStyle};

use super::args::{Args, Command};
use super::output::{cannot_write, gentle_stop};
use super::plan::{PlanError, reading, shown};
use super::values::{parse_bytes, parse_time};
use super::{Status, command_status, fail, say};
use crate::format::FORMATS;
use crate::format::host::Wishes;
use crate::input::detect::by_name;
use crate::input::sidecar::{self, Line};
use crate::metrics::rule::Rule;
use crate::model::counted;
use crate::pipeline::TimeBound;
use crate::record::address::Address;
use crate::record::files::{Keep, Output, Rotation};
use crate::record::watch::{Seen, Settings, Watch};
use crate::record::{self, Input, Observer, Second, Session, Summary};
use crate::report::{TOOL_VERSION, visible};

/// How many rows the table of `--live` has.
const LIVE_ROWS: usize = 16;

#[derive(Debug, ClapArgs)]
pub(super) struct RecordArgs {
    /// Where the bytes come from
    ///
    /// `serial:/dev/ttyACM0?baud=921600` (also data=5..8, stop=1|2, parity=none|even|odd, flow=none|hardware), `tcp:HOST:PORT`,
    /// `tcp-listen:PORT`, `udp:PORT`, `file:PATH` (a file that grows), `fifo:PATH`, or `-` for standard input. A port without an address is reached
    /// from this machine only. With the feature record-rtt also `rtt:` or `rtt:VID:PID:SERIAL`, with ?channel=N, at=ADDRESS, ram=ADDRESS+LENGTH,
    /// speed=KHZ, wire=swd|jtag, ap=N.
    #[arg(value_name = "SOURCE", required_unless_present = "list", value_parser = Address::parse)]
    source: Option<Address>,

    /// The recording to write
    ///
    /// While it is recorded it is called FILE.part. Notes about losses on the way are beside it, in FILE.traceconv.jsonl.
    #[arg(short, long, value_name = "FILE", required_unless_present = "list")]
    output: Option<PathBuf>,

    /// List the serial ports of this machine, and the debug probes if the program can use them
    #[arg(long, exclusive = true)]
    list: bool,

    /// Replace a recording that is there already
    #[arg(long)]
    force: bool,

    /// The protocol that is spoken with the target: a format's name; `auto`: as recognised from the first bytes; `none`: listen only
    #[arg(long, value_name = "NAME", default_value = "auto", value_parser = parse_protocol)]
    protocol: Protocol,

    /// Reset the target (QS) or its buffers (MiniProfiler) at the start
    #[arg(long)]
    reset: bool,

    /// Let the target record these ids only, as in 2,6,44 (TraceSniffer)
    #[arg(long, value_name = "IDS", value_delimiter = ',')]
    filter: Option<Vec<u8>>,

    /// Send a command of the firmware's own: a number and up to three parameters, as in "7 100 0 1"; may be repeated (QS)
    #[arg(long, value_name = "NUMBERS", value_parser = parse_command)]
    command: Vec<Numbers>,

    /// End after this time, e.g. `10s`
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    duration: Option<Duration>,

    /// End at this number of bytes; k, M and G may follow
    #[arg(long, value_name = "BYTES", value_parser = parse_size)]
    size: Option<u64>,

    /// End when a statistic of the last seconds is so, e.g. `task.filter.cpu_percent > 4`
    ///
    /// The statistics are those that `traceconv check --metrics` lists, of the time that --window gives.
    #[arg(long, value_name = "RULE", value_parser = parse_rule)]
    until: Option<Rule>,

    /// End when something is lost, in the recording or on the way
    #[arg(long)]
    until_loss: bool,

    /// Keep only the bytes of the last time before the end, in memory until then
    #[arg(long, value_name = "TIME", value_parser = parse_duration, conflicts_with = "rotate")]
    last: Option<Duration>,

    /// Begin a new file at this size or after this time: NAME.000.bin, NAME.001.bin, …
    #[arg(long, value_name = "BYTES|TIME", value_parser = parse_rotation, conflicts_with_all = ["convert", "open", "budget"])]
    rotate: Option<Rotation>,

    /// How many files of --rotate are kept, the newest [default: all]
    #[arg(long, value_name = "N", requires = "rotate", value_parser = clap::value_parser!(u32).range(1..))]
    keep: Option<u32>,

    /// Open a source that is gone again when it comes back
    #[arg(long)]
    reconnect: bool,

    /// Note when the source sends nothing for longer
    #[arg(long, value_name = "TIME", default_value = "2s", value_parser = parse_duration)]
    silence: Duration,

    /// How long a target may take to confirm the command to stop (MiniProfiler)
    #[arg(long, value_name = "TIME", default_value = "5s", value_parser = parse_duration)]
    stop_timeout: Duration,

    /// The memory for bytes that the disk has not taken yet, and for --last
    #[arg(long, value_name = "BYTES", default_value = "64M", value_parser = parse_size)]
    buffer: u64,

    /// Show the load of each task while recording
    #[arg(long)]
    live: bool,

    /// Of which time before now --live and --until take statistics
    #[arg(long, value_name = "TIME", default_value = "5s", value_parser = parse_duration)]
    window: Duration,

    /// Convert the recording at the end [default: beside it]
    #[arg(long, value_name = "TRACE", num_args = 0..=1)]
    convert: Option<Option<PathBuf>>,

    /// Convert the recording at the end, and open the trace in the viewer
    #[cfg(feature = "serve")]
    #[arg(long)]
    open: bool,

    /// Check the recording's statistics against a budget at the end
    #[arg(long, value_name = "FILE")]
    budget: Option<PathBuf>,

    /// Print nothing but errors
    #[arg(short, long)]
    quiet: bool,

    /// Options of the format and of the conversion, after `--`: `-- --elf firmware.elf`
    #[arg(last = true, value_name = "OPTIONS")]
    options: Vec<OsString>,
}

#[derive(Clone, Debug)]
enum Protocol {
    Auto,
    None,
    Of(&'static str),
}

#[derive(Clone, Debug)]
struct Numbers(Vec<u32>);

fn parse_protocol(text: &str) -> Result<Protocol, String> {
    match text {
        "auto" => Ok(Protocol::Auto),
        "none" => Ok(Protocol::None),
        _ => by_name(text).map(|format| Protocol::Of(format.name())).ok_or_else(|| {
            let names: Vec<&str> = FORMATS.iter().map(|format| format.name()).collect();
            format!("auto, none or a format is expected: {}", names.join(", "))
        }),
    }
}

fn parse_command(text: &str) -> Result<Numbers, String> {
    let number = |word: &str| match word.strip_prefix("0x") {
        Some(digits) => u32::from_str_radix(digits, 16),
        None => word.parse(),
    };
    let numbers: Result<Vec<u32>, _> = text.split_whitespace().map(number).collect();
    numbers
        .ok()
        .filter(|numbers| (1..=4).contains(&numbers.len()) && numbers.first().is_some_and(|&first| first < 256))
        .map(Numbers)
        .ok_or_else(|| "a number from 0 to 255 and up to three parameters are expected, as in \"7 100 0 1\"".into())
}

fn parse_duration(text: &str) -> Result<Duration, String> {
    match parse_time(text)? {
        TimeBound::Absolute(time) if time.0 > 0 => Ok(Duration::from_nanos(time.0)),
        _ => Err("a duration longer than 0 is expected, e.g. 10s".into()),
    }
}

fn parse_size(text: &str) -> Result<u64, String> {
    parse_bytes(text).and_then(|size| if size > 0 { Ok(size) } else { Err("a size above 0 is expected, e.g. 100M".into()) })
}

fn parse_rotation(text: &str) -> Result<Rotation, String> {
    let time = || parse_duration(text).map(Rotation::Time);
    parse_size(text).map(Rotation::Bytes).or_else(|_| time()).map_err(|_| "a size (100M) or a time (60s) is expected".into())
}

fn parse_rule(text: &str) -> Result<Rule, String> {
    Rule::parse(text).map_err(|error| error.message)
}

/// Records.
pub(super) fn main(args: RecordArgs) -> Result<Status, PlanError> {
    if args.list {
        return Ok(list());
    }
    let (Some(address), Some(output)) = (args.source.clone(), args.output.clone()) else {
        return Err(PlanError::usage("name a source, and a file with -o"));
    };
    if output.as_os_str() == "-" {
        return Err(PlanError::usage(
            "a recording has notes beside it, so it is not written to standard output; name a file with -o",
        ));
    }
    let following = following(&args, &output)?;
    let format_options = match &following.settings.command {
        Some(Command::Info(info)) => reading(&info.read)?.format_options,
        _ => return Err(PlanError::usage("wrong options after --")),
    };
    let keep = match (args.rotate, args.last) {
        (Some(rotation), _) => Keep::Files(rotation, args.keep.and_then(|keep| usize::try_from(keep).ok())),
        (None, Some(last)) => Keep::Last(last, usize::try_from(args.buffer).unwrap_or(usize::MAX)),
        (None, None) => Keep::All,
    };
    let unix_ns =
        SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).ok().and_then(|time| u64::try_from(time.as_nanos()).ok());
    let head = Line {
        note: sidecar::START.into(),
        text: Some(address.to_string()),
        unix_ns,
        tool_version: Some(TOOL_VERSION.into()),
        ..Line::default()
    };
    let cannot = |error: io::Error| PlanError::File(format!("{}: {error}", cannot_write(&output)));
    let stop = gentle_stop(true);
    let file = Output::create(&output, keep, head, args.force).map_err(cannot)?;
    let settings = Settings {
        format_options,
        window: args.window,
        is_live: args.live,
        until: args.until.clone(),
        until_loss: args.until_loss,
    };
    let watch = Watch::start(settings).map_err(|error| PlanError::File(format!("cannot start a thread: {error}")))?;
    let is_standard = address == Address::Standard;
    let session = Session {
        input: Input { address, standard: is_standard.then(|| Box::new(io::stdin()) as Box<dyn io::Read + Send>) },
        output: file,
        protocol: if let Protocol::Of(name) = args.protocol { by_name(name) } else { None },
        speaks: !matches!(args.protocol, Protocol::None),
        wishes: Wishes {
            reset: args.reset,
            filter: args.filter.clone(),
            commands: args.command.iter().map(|numbers| numbers.0.clone()).collect(),
        },
        duration: args.duration,
        bytes: args.size,
        silence: args.silence,
        answer: args.stop_timeout,
        reconnects: args.reconnect,
        buffer_bytes: usize::try_from(args.buffer).unwrap_or(usize::MAX),
        watch,
    };
    let mut screen = Screen::new(args.quiet, args.live);
    let result = record::record(session, stop, &mut screen);
    gentle_stop(false);
    drop(screen);
    let summary = result.map_err(cannot)?;
    if !args.quiet || summary.ended.is_failure() {
        say(&report(&summary, &output));
    }
    let mut status = if summary.ended.is_failure() { Status::Failed } else { Status::Done };
    if summary.bytes > 0 {
        for args in following.commands {
            status = status.max(command_status(args));
        }
    }
    Ok(status)
}

/// The commands that follow the recording.
struct Following {
    /// Only its options for reading are used.
    settings: Box<Args>,
    commands: Vec<Args>,
}

/// Parses the commands that follow, so that a slip in them is found before anything is recorded.
fn following(args: &RecordArgs, output: &Path) -> Result<Following, PlanError> {
    let parse = |before: &[&std::ffi::OsStr], after: &[&std::ffi::OsStr]| {
        // A recording called like a command, or like an option, is a file all the same.
        let path = if output.is_absolute() { output.to_path_buf() } else { Path::new(".").join(output) };
        let words = [std::ffi::OsStr::new("traceconv")].into_iter().chain(before.iter().copied()).map(OsString::from);
        let words = words.chain([path.into_os_string()]).chain(after.iter().copied().map(OsString::from));
        Args::try_parse_from(words.chain(args.quiet.then(|| "--quiet".into()))).map_err(|error| {
            let message = error.to_string();
            let first = message.lines().next().unwrap_or_default().trim_start_matches("error: ").to_owned();
            PlanError::usage(format!("{first} (after --, for the conversion)"))
        })
    };
    let own: Vec<&std::ffi::OsStr> = args.options.iter().map(OsString::as_os_str).collect();
    let mut commands = Vec::new();
    let is_for_conversion = wants_trace(args);
    if is_for_conversion {
        let mut words = own.clone();
        if let Some(Some(trace)) = &args.convert {
            words.extend(["-o".as_ref(), trace.as_os_str()]);
        }
        if opens(args) {
            words.push("--open".as_ref());
        }
        commands.push(parse(&[], &words)?);
    }
    // Options of a conversion alone are not those of other commands.
    let reading_only: &[&std::ffi::OsStr] = if is_for_conversion { &[] } else { &own };
    let settings = match parse(&["info".as_ref()], &own) {
        Ok(settings) => settings,
        Err(_) if is_for_conversion => parse(&["info".as_ref()], reading_only)?,
        Err(error) => return Err(error),
    };
    if let Some(budget) = &args.budget {
        let options = if parse(&["info".as_ref()], &own).is_ok() { own.as_slice() } else { reading_only };
        let words: Vec<&std::ffi::OsStr> = options.iter().copied().chain(["--budget".as_ref(), budget.as_os_str()]).collect();
        commands.push(parse(&["check".as_ref()], &words)?);
    }
    Ok(Following { settings: Box::new(settings), commands })
}

fn wants_trace(args: &RecordArgs) -> bool {
    args.convert.is_some() || opens(args)
}

#[cfg(feature = "serve")]
fn opens(args: &RecordArgs) -> bool {
    args.open
}

#[cfg(not(feature = "serve"))]
fn opens(_: &RecordArgs) -> bool {
    false
}

fn list() -> Status {
    match record::list() {
        Ok(ports) => {
            let lines = ports.iter().map(|(name, description)| format!("{name}  {description}").trim_end().to_owned() + "\n");
            let text: String = lines.collect();
            if text.is_empty() {
                say("there is no serial port\n");
            }
            super::print(&text)
        }
        Err(error) => fail(format_args!("the serial ports cannot be listed: {error}")),
    }
}

/// The result of a recording, for people.
fn report(summary: &Summary, output: &Path) -> String {
    let Summary { files, bytes, elapsed, ended, lost, .. } = summary;
    let seconds = elapsed.as_secs_f64();
    let begin = if ended.is_failure() { "error: " } else { "" };
    let size = if files.is_empty() {
        "nothing was recorded".to_owned()
    } else {
        format!("{} in {seconds:.1} s", counted(*bytes, "byte"))
    };
    let mut text = format!("{begin}{}: {size}, {}\n", shown(output), visible(&ended.text()));
    for (kind, count, bytes) in lost {
        let verb = if kind.severity == crate::model::Severity::Loss { "lost" } else { "noted" };
        let bytes = if *bytes > 0 { format!(", {}", counted(*bytes, "byte")) } else { String::new() };
        text += &format!("  {verb}: {count} x {} [{}]{bytes}\n", kind.text, kind.code);
    }
    if let [first, .., last] = files.as_slice() {
        text += &format!("  -> {} to {} ({} files)\n", shown(first), shown(last), files.len());
    }
    text
}

/// Shows the progress: lines, or a table at the bottom of a terminal.
struct Screen {
    is_quiet: bool,
    is_live: bool,
    bar: Option<ProgressBar>,
}

impl Screen {
    fn new(is_quiet: bool, is_live: bool) -> Screen {
        let has_bar = is_live && !is_quiet && io::stderr().is_terminal();
        let bar = has_bar.then(|| {
            // The template is constant; without a style the message is shown all the same.
            ProgressBar::new_spinner()
                .with_style(ProgressStyle::with_template("{msg}").unwrap_or_else(|_| ProgressStyle::default_spinner()))
        });
        Screen { is_quiet, is_live, bar }
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

impl Observer for Screen {
    fn say(&mut self, text: &str) {
        if self.is_quiet {
            return;
        }
        let show = || say(&format!("{}\n", visible(text)));
        match &self.bar {
            Some(bar) => bar.suspend(show),
            None => show(),
        }
    }

    fn second(&mut self, second: &Second) {
        if self.is_quiet {
            return;
        }
        let mut text = line(second);
        if self.is_live {
            text += &table(&second.seen.loads);
        }
        match &self.bar {
            Some(bar) => bar.set_message(text),
            None => say(&format!("{text}\n")),
        }
    }
}

/// The line of a second.
fn line(second: &Second) -> String {
    let Second { elapsed, bytes, bytes_per_second, lost, ring_percent, target_percent, seen } = second;
    let Seen { frames_ok, frames_bad, lost: lost_in_it, is_partial, format, .. } = seen;
    let mut line = format!("{} s: {bytes} bytes, {}/s", elapsed.as_secs(), HumanBytes(*bytes_per_second));
    if format.is_some() {
        let some = if *is_partial { " (not all were looked at)" } else { "" };
        line += &format!(", {}, {frames_bad} bad{some}", counted(*frames_ok, "good frame"));
    }
    line += &match lost + lost_in_it {
        0 => ", nothing lost".to_owned(),
        cases => format!(", {}", counted(cases, "loss")),
    };
    if let Some(percent) = target_percent {
        line += &format!(", the target's buffer {percent} % full");
    }
    if *ring_percent > 0 {
        line += &format!(", the recorder's {ring_percent} %");
    }
    line
}

/// The loads of the last seconds.
fn table(loads: &[(String, f64)]) -> String {
    let width = loads.iter().take(LIVE_ROWS).map(|(name, _)| name.chars().count()).max().unwrap_or(0);
    loads.iter().take(LIVE_ROWS).map(|(name, percent)| format!("\n  {:width$}  {percent:6.2} %", visible(name))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_options() {
        assert!(matches!(parse_rotation("100M"), Ok(Rotation::Bytes(100_000_000))));
        assert!(matches!(parse_rotation("60s"), Ok(Rotation::Time(time)) if time.as_secs() == 60));
        assert!(parse_rotation("much").is_err() && parse_rotation("0").is_err());
        assert_eq!(parse_command("7 0x10 3").unwrap().0, [7, 16, 3]);
        assert!(["", "256", "1 2 3 4 5", "a"].iter().all(|text| parse_command(text).is_err()));
        assert!(parse_duration("0s").is_err() && parse_duration("+1s").is_err());
        assert!(parse_protocol("tsp").is_ok() && parse_protocol("usb").unwrap_err().contains("miniprofiler"));
        assert!(parse_rule("task.filter.cpu_percent > 4").is_ok() && parse_rule("nothing").is_err());
    }

    #[test]
    fn a_line_says_what_is_known() {
        let seen = Seen { format: Some("QS"), frames_ok: 12, frames_bad: 1, lost: 1, ..Seen::default() };
        let mut second = Second {
            elapsed: Duration::from_millis(3400),
            bytes: 5000,
            bytes_per_second: 2048,
            lost: 1,
            ring_percent: 7,
            target_percent: Some(37),
            seen,
        };
        let expected =
            "3 s: 5000 bytes, 2.00 KiB/s, 12 good frames, 1 bad, 2 losses, the target's buffer 37 % full, the recorder's 7 %";
        assert_eq!(line(&second), expected);
        (second.seen, second.lost, second.ring_percent, second.target_percent) = (Seen::default(), 0, 0, None);
        assert_eq!(line(&second), "3 s: 5000 bytes, 2.00 KiB/s, nothing lost");
        assert_eq!(table(&[("a".into(), 12.345), ("long".into(), 1.0)]), "\n  a      12.35 %\n  long    1.00 %");
    }
}
