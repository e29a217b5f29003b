//! `docs/reference/options.md`: every command and option, from the definition of the command line, with examples that are run.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::Path;

use clap::{Arg, ArgAction, Command};
use traceconv::cli;
use traceconv::format::{FORMATS, Format};

use super::{hold, pages, read};

/// The name of the main command in [`EXAMPLES`].
const CONVERT: &str = "";

/// An example for each option: its command, its name, a line that works in `testdata/demo`.
const EXAMPLES: [(&str, &str, &str); 101] = [
    (CONVERT, "color", "traceconv --color never demo.bin"),
    (CONVERT, "recursive", "traceconv --recursive . --glob '*.bin' -o out/"),
    (CONVERT, "glob", "traceconv -r . --glob 'd*.bin' --glob '!dual*' -o out/"),
    (CONVERT, "files-from", "find . -name 'd*.bin' | traceconv --files-from - -o out/"),
    (CONVERT, "from0", "find . -name 'd*.bin' -print0 | traceconv --files-from - --from0 -o out/"),
    (CONVERT, "output", "traceconv demo.bin -o out.perfetto-trace"),
    (CONVERT, "skip-unchanged", "traceconv --skip-unchanged demo.bin"),
    (CONVERT, "merge", "traceconv --merge demo.bin dpp.bin"),
    (CONVERT, "offset", "traceconv --merge demo.bin dpp.bin --offset dpp.bin=-1.5ms"),
    (CONVERT, "sync-marker", "traceconv --merge demo.bin damaged.bin --sync-marker USART1"),
    (CONVERT, "correct-drift", "traceconv --merge before.bin after.bin --sync-marker SysTick --correct-drift"),
    (CONVERT, "gzip", "traceconv --gzip demo.bin"),
    (CONVERT, "zstd", "traceconv --zstd demo.bin"),
    (CONVERT, "split-size", "traceconv --split-size 80k demo.bin"),
    (CONVERT, "format", "traceconv --format tonbandgeraet demo.bin"),
    (CONVERT, "cores", "traceconv --cores 1 demo.bin"),
    (CONVERT, "clock-hz", "traceconv --clock-hz 168M demo.bin"),
    (CONVERT, "threads", "traceconv --threads 1 demo.bin"),
    (CONVERT, "no-mmap", "traceconv --no-mmap demo.bin"),
    (CONVERT, "progress", "traceconv --progress never demo.bin"),
    (CONVERT, "quiet", "traceconv -q demo.bin"),
    (CONVERT, "verbose", "traceconv -v damaged.bin"),
    (CONVERT, "from", "traceconv --from +10ms --to +20ms demo.bin"),
    (CONVERT, "to", "traceconv --to 50ms demo.bin"),
    (CONVERT, "detail", "traceconv --detail all demo.bin"),
    (CONVERT, "skip-unrecognised", "traceconv --recursive . --skip-unrecognised -o out/"),
    (CONVERT, "max-decompressed", "traceconv --max-decompressed 2G demo.bin"),
    (CONVERT, "no-statistics", "traceconv --report report.json --no-statistics demo.bin"),
    (CONVERT, "report", "traceconv --report report.json demo.bin"),
    (CONVERT, "report-md", "traceconv --report-md - demo.bin damaged.bin"),
    (CONVERT, "junit", "traceconv --junit junit.xml demo.bin"),
    (CONVERT, "strict", "traceconv --strict demo.bin"),
    (CONVERT, "strict-time", "traceconv --strict-time demo.bin"),
    (CONVERT, "max-lost", "traceconv --max-lost 0.5% demo.bin"),
    (CONVERT, "name", "traceconv --name pump-3 demo.bin"),
    (CONVERT, "elf", "traceconv --elf pump.elf pump.bin"),
    (CONVERT, "require-elf-match", "traceconv --elf pump.elf --require-elf-match pump.bin"),
    (CONVERT, "time-unit", "traceconv --time-unit timer pump.bin"),
    (CONVERT, "min-duration", "traceconv --min-duration 5us pump.bin"),
    (CONVERT, "function", "traceconv --elf pump.elf --function '^pump_' pump.bin"),
    (CONVERT, "tick-hz", "traceconv --tick-hz 100 sniffer.bin"),
    (CONVERT, "timer-hz", "traceconv --timer-hz 1000000 sniffer.bin"),
    (CONVERT, "timer-max", "traceconv --timer-max 999 sniffer.bin"),
    (CONVERT, "timer-dir", "traceconv --timer-dir up sniffer.bin"),
    (CONVERT, "tick-mod", "traceconv --tick-mod 65536 sniffer.bin"),
    (CONVERT, "tsp-len", "traceconv --tsp-len 75=2 sniffer.bin"),
    (CONVERT, "systemview-desc", "traceconv --systemview-desc SYSVIEW_radio.txt controller.SVDat"),
    (CONVERT, "tracex-events", "traceconv --tracex-events gateway.trxc gateway.trx"),
    (CONVERT, "swo-port", "traceconv --swo-port 0 --format syst-text console.swo"),
    (CONVERT, "itm-port", "traceconv --itm-port 1=signed:position blinky.swo"),
    (CONVERT, "itm-sample-period", "traceconv --itm-sample-period 16384 blinky.swo"),
    (CONVERT, "tpiu-source", "traceconv --tpiu-source 1 blinky.swo"),
    (CONVERT, "qs-dict", "traceconv --qs-dict dpp.dic dpp.bin"),
    (CONVERT, "qs-sizes", "traceconv --qs-sizes Q2E4 dpp.bin"),
    (CONVERT, "qs-version", "traceconv --qs-version 6.9.4 dpp.bin"),
    (CONVERT, "qs-tick-hz", "traceconv --qs-tick-hz 100 dpp.bin"),
    (CONVERT, "qs-counter", "traceconv --qs-counter PHILO_STAT:0 dpp.bin"),
    (CONVERT, "qs-events", "traceconv --qs-events dpp.bin"),
    (CONVERT, "collateral", "traceconv --collateral app.xml console.txt"),
    (CONVERT, "syst-clock-hz", "traceconv --syst-clock-hz 1M console.txt"),
    (CONVERT, "cores-separate", "traceconv --cores-separate dual-0.bin@0 dual-1.bin@1"),
    (CONVERT, "short-as-counter", "traceconv --short-as-counter stm.stp"),
    (CONVERT, "syst-short-guid", "traceconv --syst-short-guid 494E5443-8A9C-4014-A65A-2F36A36D96E4 stm.stp"),
    (CONVERT, "stp-freq", "traceconv --stp-freq 60M stm.stp"),
    (CONVERT, "stp-nibbles", "traceconv --stp-nibbles msb stm.stp"),
    (CONVERT, "stp-source", "traceconv --stp-source 16 stm.stp"),
    ("dump", "output", "traceconv dump demo.bin -o records.jsonl"),
    ("dump", "text", "traceconv dump --text demo.bin"),
    ("stats", "output", "traceconv stats demo.bin -o stats.txt"),
    ("stats", "json", "traceconv stats --json demo.bin -o baseline.json"),
    ("stats", "csv", "traceconv stats -q --csv demo.bin"),
    ("stats", "folded", "traceconv stats -q --folded demo.bin"),
    ("stats", "from", "traceconv stats --from +50ms --to +100ms demo.bin"),
    ("stats", "to", "traceconv stats --to +100ms demo.bin"),
    ("stats", "rows", "traceconv stats --rows 5 demo.bin"),
    ("check", "budget", "traceconv check --budget budget.toml before.bin"),
    ("check", "metrics", "traceconv check --metrics"),
    ("check", "output", "traceconv check --budget budget.toml before.bin -o verdicts.txt"),
    ("check", "json", "traceconv check --budget budget.toml --json before.bin"),
    ("check", "md", "traceconv check --budget budget.toml --md before.bin"),
    ("check", "junit", "traceconv check --budget budget.toml --junit budget.xml before.bin"),
    ("check", "from", "traceconv check --budget budget.toml --from +20ms before.bin"),
    ("check", "to", "traceconv check --budget budget.toml --to +60ms before.bin"),
    ("diff", "fail-over", "traceconv diff --fail-over 50% before.bin after.bin"),
    ("diff", "min-change", "traceconv diff --min-change 10% before.bin after.bin"),
    ("diff", "min-time", "traceconv diff --min-time 10us before.bin after.bin"),
    ("diff", "min-points", "traceconv diff --min-points 0.1 before.bin after.bin"),
    ("diff", "fail-on-new", "traceconv diff --fail-on-new all before.bin after.bin"),
    ("diff", "only", "traceconv diff --only 'task.*.cpu_percent' before.bin after.bin"),
    ("diff", "rows", "traceconv diff --rows 5 before.bin after.bin"),
    ("diff", "output", "traceconv diff before.bin after.bin -o changes.txt"),
    ("diff", "json", "traceconv diff --json before.bin after.bin"),
    ("diff", "md", "traceconv diff --md before.bin after.bin"),
    ("diff", "from", "traceconv diff --from +20ms before.bin after.bin"),
    ("diff", "to", "traceconv diff --to +60ms before.bin after.bin"),
    ("baseline", "output", "traceconv baseline before.bin after.bin -o base.json"),
    ("baseline", "from", "traceconv baseline --from +20ms before.bin"),
    ("baseline", "to", "traceconv baseline --to +60ms before.bin"),
    ("info", "output", "traceconv info demo.bin -o contents.txt"),
    ("info", "json", "traceconv info --json demo.bin"),
    ("formats", "json", "traceconv formats --json"),
];

/// These need a browser, or are at home in every program.
const WITHOUT_EXAMPLE: [&str; 6] = ["open", "ui-url", "no-browser", "page", "help", "version"];

#[test]
fn the_page_of_options_is_fresh() {
    hold(Path::new("docs/reference/options.md"), &page());
}

#[test]
fn every_option_has_an_example() {
    let mut missing = Vec::new();
    for (command, option) in listed() {
        let has_one = EXAMPLES.iter().any(|(of, name, _)| *of == command && *name == option);
        if !has_one && !WITHOUT_EXAMPLE.contains(&option.as_str()) {
            missing.push(format!("(\"{command}\", \"{option}\", …)"));
        }
    }
    assert!(missing.is_empty(), "EXAMPLES in tests/book/options.rs lacks {}", missing.join(", "));
    for (command, option, _) in EXAMPLES {
        assert!(listed().contains(&(command.to_owned(), option.to_owned())), "there is no {command} --{option}");
    }
}

/// The commands and their options that have a line of their own on the page.
fn listed() -> BTreeSet<(String, String)> {
    let program = program();
    let shared = &common(&program, "format") | &common(&program, "recursive");
    let mut listed: BTreeSet<(String, String)> =
        options(&program).map(|arg| (CONVERT.to_owned(), long(arg).to_owned())).collect();
    for command in commands(&program) {
        let own = options(command).filter(|arg| !shared.contains(long(arg)));
        listed.extend(own.filter(|arg| !is_global(arg)).map(|arg| (command.get_name().to_owned(), long(arg).to_owned())));
    }
    listed
}

fn program() -> Command {
    let mut program = cli::definition();
    program.build();
    program
}

/// All but `record`, which has a page of its own (`tests/record/options.rs`).
fn commands(program: &Command) -> impl Iterator<Item = &Command> {
    program.get_subcommands().filter(|command| !["help", "record"].contains(&command.get_name()))
}

fn options(command: &Command) -> impl Iterator<Item = &Arg> {
    command.get_arguments().filter(|arg| arg.get_long().is_some() && !arg.is_hide_set())
}

fn long(arg: &Arg) -> &str {
    arg.get_long().unwrap_or_default()
}

fn is_global(arg: &Arg) -> bool {
    arg.is_global_set() || ["help", "version"].contains(&long(arg))
}

/// The text of an option that all its commands share.
fn common(program: &Command, option: &str) -> BTreeSet<String> {
    // `--output` has a meaning of its own in each command.
    let is_own = |arg: &&Arg| is_global(arg) || long(arg) == "output";
    let names = |command: &Command| options(command).filter(|arg| !is_own(arg)).map(|arg| long(arg).to_owned()).collect();
    let having = std::iter::once(program).chain(commands(program)).filter(|command| has(command, option));
    having.map(names).reduce(|one: BTreeSet<String>, other| &one & &other).expect("there are such commands")
}

fn has(command: &Command, option: &str) -> bool {
    options(command).any(|arg| long(arg) == option)
}

/// The formats that have an option of their own.
fn having(name: &str) -> Vec<&'static dyn Format> {
    FORMATS.iter().copied().filter(|format| format.options().iter().any(|spec| spec.name == name)).collect()
}

fn page() -> String {
    let program = program();
    let reading = common(&program, "format");
    let inputs = &common(&program, "recursive") - &reading;
    let shared = &reading | &inputs;
    let mut page = String::from(
        "<!-- Generated from the definition of the command line: `TRACECONV_BLESS=1 cargo test --test book` -->\n\n\
         # Options\n\n\
         `traceconv COMMAND --help` prints the same. Every example runs in `testdata/demo`.\n\n\
         ## Conversion\n\n",
    );
    let convert: Vec<&Arg> = options(&program).collect();
    usage(&mut page, &program);
    let own = |arg: &&&Arg| !shared.contains(long(arg)) && !is_global(arg);
    table(&mut page, CONVERT, convert.iter().filter(own).copied());
    let taking: Vec<String> = commands(&program)
        .filter(|command| has(command, "recursive"))
        .map(|command| format!("`{}`", command.get_name()))
        .collect();
    let (last, others) = taking.split_last().expect("commands take many inputs");
    let _ = write!(page, "\n## Inputs\n\nThe conversion, {} and {last} have these options.\n\n", others.join(", "));
    table(&mut page, CONVERT, convert.iter().filter(|arg| inputs.contains(long(arg))).copied());
    page += "\n## Reading\n\nEvery command that reads recordings has these options.\n\n";
    let is_formats = |arg: &&&Arg| !having(long(arg)).is_empty();
    table(&mut page, CONVERT, convert.iter().filter(|arg| reading.contains(long(arg)) && !is_formats(arg)).copied());
    page += "\n## Formats\n\nThese options concern one format each. Every command that reads recordings has them, and other formats ignore them.\n";
    let mut groups: Vec<(Vec<&str>, Vec<&Arg>)> = Vec::new();
    for arg in convert.iter().filter(is_formats) {
        let names: Vec<&str> = having(long(arg)).iter().map(|format| format.title()).collect();
        match groups.iter_mut().find(|(of, _)| *of == names) {
            Some((_, args)) => args.push(arg),
            None => groups.push((names, vec![arg])),
        }
    }
    for (names, args) in groups {
        let _ = write!(page, "\n### {}\n\n", names.join(", "));
        table(&mut page, CONVERT, args.into_iter());
    }
    page += "\n## Every command\n\n";
    table(&mut page, CONVERT, convert.iter().filter(|arg| is_global(arg)).copied());
    for command in commands(&program) {
        let _ = write!(page, "\n## `traceconv {}`\n\n", command.get_name());
        let about = command.get_about().map(ToString::to_string).unwrap_or_default();
        let _ = write!(page, "{about}.\n\n");
        usage(&mut page, command);
        let own: Vec<&Arg> = options(command).filter(|arg| !shared.contains(long(arg)) && !is_global(arg)).collect();
        if !own.is_empty() {
            table(&mut page, command.get_name(), own.into_iter());
            page.push('\n');
        }
        if has(command, "recursive") {
            page += "It also has the options for [inputs](#inputs), for [reading](#reading) and of the [formats](#formats).\n";
        } else if has(command, "format") {
            page += "It also has the options for [reading](#reading) and of the [formats](#formats).\n";
        }
    }
    // A command without options leaves an empty line at the end.
    page.truncate(page.trim_end().len());
    page.push('\n');
    page
}

/// The usage of a command, and the meaning of its arguments without a name.
fn usage(page: &mut String, command: &Command) {
    let positionals: Vec<&Arg> = command.get_positionals().filter(|arg| !arg.is_hide_set()).collect();
    let name = if command.get_name() == "traceconv" { String::new() } else { format!(" {}", command.get_name()) };
    let has_options = options(command).any(|arg| !is_global(arg));
    let mut line = format!("traceconv{name}{}", if has_options { " [OPTIONS]" } else { "" });
    for arg in &positionals {
        let many = if matches!(arg.get_action(), ArgAction::Append) { "..." } else { "" };
        let value = value(arg);
        let _ = if arg.is_required_set() { write!(line, " {value}{many}") } else { write!(line, " [{value}]{many}") };
    }
    let _ = write!(page, "```text\n{line}\n```\n\n");
    for arg in positionals {
        let _ = write!(page, "- `{}`: {}\n\n", value(arg), text(arg).replace("<br>", "\n  "));
    }
}

/// The name of an option's value; the values, if they are few.
fn value(arg: &Arg) -> String {
    let names = arg.get_value_names().map(|names| names.iter().map(ToString::to_string).collect::<Vec<_>>().join(" "));
    let values = arg.get_possible_values();
    let few = !values.is_empty() && values.len() <= 3 && !arg.is_positional();
    if few {
        return values.iter().map(|value| value.get_name().to_owned()).collect::<Vec<_>>().join("|");
    }
    names.unwrap_or_default()
}

/// A table of options, with the examples of a command.
fn table<'a>(page: &mut String, command: &str, args: impl Iterator<Item = &'a Arg>) {
    *page += "| Option | Meaning | Example |\n|---|---|---|\n";
    for arg in args {
        let short = arg.get_short().map(|short| format!("`-{short}`, ")).unwrap_or_default();
        let takes = matches!(arg.get_action(), ArgAction::Set | ArgAction::Append);
        let value = if takes { value(arg) } else { String::new() };
        let optional = arg.get_num_args().is_some_and(|range| range.min_values() == 0);
        let value = match (takes, optional) {
            (false, _) => String::new(),
            (true, true) => format!("[={value}]"),
            (true, false) => format!(" {value}"),
        };
        let example = EXAMPLES.iter().find(|(of, name, _)| *of == command && *name == long(arg));
        let example = example.map(|(.., example)| format!("`{example}`")).unwrap_or_default();
        let cells = [format!("{short}`--{}{value}`", long(arg)), text(arg), example].map(|cell| cell.replace('|', "\\|"));
        let _ = writeln!(page, "| {} |", cells.join(" | ").replace("  ", " "));
    }
}

/// An option's help, its values and default, for a cell of a table.
fn text(arg: &Arg) -> String {
    let help = arg.get_long_help().or(arg.get_help()).map(ToString::to_string).unwrap_or_default();
    // Which formats have it is the heading of its table.
    let titles: Vec<&str> = having(long(arg)).iter().map(|format| format.title()).collect();
    let help = help.replace(&format!(" ({})", titles.join(", ")), "");
    let mut paragraphs: Vec<String> = help.split("\n\n").map(|text| text.replace('\n', " ")).collect();
    let values: Vec<String> = (arg.get_possible_values().iter())
        .filter(|_| matches!(arg.get_action(), ArgAction::Set | ArgAction::Append))
        .filter_map(|value| value.get_help().map(|help| format!("`{}`: {help}", value.get_name())))
        .collect();
    if !values.is_empty() {
        paragraphs.push(values.join("; "));
    }
    let default = arg.get_default_values().iter().filter_map(|value| value.to_str()).collect::<Vec<_>>().join(" ");
    if !default.is_empty() && matches!(arg.get_action(), ArgAction::Set | ArgAction::Append) {
        paragraphs.push(format!("Default: `{default}`"));
    }
    // In code an entity would be read as it is written.
    let escaped = |(index, part): (usize, &str)| if index % 2 == 0 { part.replace('<', "&lt;") } else { part.to_owned() };
    let paragraphs = paragraphs.iter().map(|text| text.split('`').enumerate().map(escaped).collect::<Vec<_>>().join("`"));
    paragraphs.collect::<Vec<_>>().join("<br>")
}

/// Options of builds with more features, of `cargo xtask` and of other programs, which the book names alone.
const ELSEWHERE: [&str; 19] = [
    "append",
    "arrow",
    "bless",
    "by",
    "charts",
    "check",
    "explain",
    "features",
    "first-seed",
    "label",
    "ndjson",
    "order",
    "parquet",
    "partition-by",
    "peer",
    "tables",
    "traceconv-dir",
    "traceconv-keep",
    "traceconv-write-baseline",
];

/// The options that the book names exist, and its commands are understood.
#[test]
fn options_in_the_book_exist() {
    let program = program();
    let is_known = |name: &str| std::iter::once(&program).chain(commands(&program)).any(|command| has(command, name));
    let recorder = read(Path::new("docs/reference/record-options.md"));
    let mut wrong = Vec::new();
    for page in pages() {
        let text = read(&page);
        let spans = text.lines().flat_map(|line| line.split('`').skip(1).step_by(2));
        let names = spans.filter_map(|span| span.strip_prefix("--")?.split([' ', '=', '[']).next());
        for name in names.filter(|name| name.starts_with(char::is_alphabetic)) {
            if !is_known(name) && !recorder.contains(&format!("`--{name}")) && !ELSEWHERE.contains(&name) {
                wrong.push(format!("{}: there is no --{name}", page.display()));
            }
        }
        for block in text.split("```sh\n").skip(1).filter_map(|rest| rest.split("```").next()) {
            for line in block.lines().filter(|line| line.starts_with("traceconv ")) {
                let words = words(line);
                let is_here = words.get(1).is_some_and(|word| !["record", "export"].contains(&word.as_str()));
                // `check` of a dataset has options of the feature `export`.
                if is_here
                    && !line.contains("--order")
                    && let Err(error) = program.clone().try_get_matches_from(words)
                {
                    wrong.push(format!("{}: {line}: {error}", page.display()));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The words of a command in a shell, up to a comment, pipe or redirection.
fn words(line: &str) -> Vec<String> {
    let (mut words, mut quote) = (vec![String::new()], None);
    for char in line.chars() {
        match (char, quote) {
            ('#' | '|' | '>', None) => break,
            (' ', None) => words.push(String::new()),
            ('"' | '\'', None) => quote = Some(char),
            _ if quote == Some(char) => quote = None,
            _ => words.last_mut().expect("there is one").push(char),
        }
    }
    words.retain(|word| !word.is_empty());
    words
}
