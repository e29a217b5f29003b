//! Plans of command lines: the output of each input, and the answers to wrong usage.

use std::fs;

use clap::Parser;

use super::super::args::Args;
use super::*;

fn plan_on(terminal: bool, dir: &Path, line: &str) -> Result<ConvertPlan, String> {
    // Names are relative to a directory, which tests cannot change to: it is shared by all threads.
    let place = |word: &str| match word.strip_prefix("./") {
        Some(name) => dir.join(name).into_os_string(),
        None => word.into(),
    };
    let args = Args::try_parse_from(std::iter::once("traceconv".into()).chain(line.split(' ').map(place)));
    plan_convert(&args.map_err(|error| error.to_string())?.convert, terminal).map_err(|error| error.to_string())
}

/// The jobs in short: `sources -> output`, without the directory.
fn jobs(dir: &Path, line: &str) -> Result<Vec<String>, String> {
    let short = |place: &Place| match place {
        Place::Standard => "-".to_string(),
        Place::File(path) => path.strip_prefix(dir).unwrap_or(path).display().to_string(),
    };
    let describe = |job: &Job| {
        let sources: Vec<_> = job
            .sources
            .iter()
            .map(|source| short(&source.place) + &source.core.map_or_else(String::new, |core| format!(" core {core}")))
            .collect();
        let text = format!("{} -> {} ({})", sources.join(" + "), short(&job.output), job.firmware_name);
        text.replace(std::path::MAIN_SEPARATOR, "/")
    };
    plan_on(false, dir, line).map(|plan| plan.jobs.iter().map(describe).collect())
}

fn dir_with(names: &[&str]) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    names.iter().for_each(|name| fs::write(dir.path().join(name), "x").unwrap());
    dir
}

#[test]
fn outputs_are_named_after_inputs() {
    let dir = dir_with(&["a.bin", "b.x.gz"]);
    let jobs = |line| jobs(dir.path(), line).unwrap();
    assert_eq!(jobs("./a.bin"), ["a.bin -> a.perfetto-trace (a)"]);
    assert_eq!(jobs("./a.bin ./b.x.gz"), ["a.bin -> a.perfetto-trace (a)", "b.x.gz -> b.x.perfetto-trace (b.x)"]);
    assert_eq!(jobs("./a.bin -o ./t"), ["a.bin -> t (a)"]);
    assert_eq!(jobs("./a.bin -o -"), ["a.bin -> - (a)"]);
    assert_eq!(jobs("- -o ./t --name pump"), ["- -> t (pump)"]);
    fs::create_dir(dir.path().join("out")).unwrap();
    assert_eq!(jobs("./a.bin - -o ./out"), ["a.bin -> out/a.perfetto-trace (a)", "- -> out/stdin.perfetto-trace (stdin)"]);
}

#[test]
fn cores_of_one_recording_become_one_trace() {
    let dir = dir_with(&["a.bin", "b.bin", "c@1", "d@2.bin"]);
    let jobs = |line| jobs(dir.path(), line).unwrap();
    assert_eq!(jobs("./a.bin@0 ./b.bin@1"), ["a.bin core 0 + b.bin core 1 -> a.perfetto-trace (a)"]);
    assert_eq!(jobs("./a.bin@1"), ["a.bin core 1 -> a.perfetto-trace (a)"]);
    assert_eq!(jobs("-o ./t -- -@3"), ["- core 3 -> t (stdin)"]);
    // A file of the whole name wins, and only digits after the last @ name a core.
    assert_eq!(jobs("./c@1"), ["c@1 -> c@1.perfetto-trace (c@1)"]);
    assert_eq!(jobs("./c@1@0"), ["c@1 core 0 -> c@1.perfetto-trace (c@1)"]);
    assert_eq!(jobs("./d@2.bin"), ["d@2.bin -> d@2.perfetto-trace (d@2)"]);
    assert_eq!(jobs("./gone@x"), ["gone@x -> gone@x.perfetto-trace (gone@x)"]);
    assert_eq!(jobs("@1 -o ./t"), ["@1 -> t (@1)"]);
}

#[test]
fn wrong_usage_names_the_way_out() {
    let dir = dir_with(&["a.bin", "a.hex", "b.bin", "c.perfetto-trace"]);
    let error = |line| jobs(dir.path(), line).unwrap_err();
    for (line, part) in [
        ("./a.bin ./b.bin -o ./t", "name a directory with -o that exists or ends in /"),
        ("./a.bin ./b.bin -o -", "several inputs cannot go into one output"),
        ("./a.bin@0 ./b.bin", "name the cores of all"),
        ("./a.bin@1 ./b.bin@1", "are both named as core 1"),
        ("./a.bin@0 ./b.bin@2 --cores 2", "b.bin is not below the 2 of --cores"),
        ("--merge ./a.bin ./b.bin@1 --cores 1 -o ./t", "b.bin is not below the 1 of --cores"),
        ("./a.bin@65536", "65536 is not a core number (0 to 1023)"),
        ("-", "name the output with -o (standard input has no name"),
        ("/dev/stdin", "name the output with -o (/dev/stdin has no name"),
        ("/dev/fd/63", "name the output with -o"),
        ("--merge /dev/fd/63 a.bin", "name the output with -o"),
        ("- - -o ./", "standard input (-) can be read only once"),
        ("./c.perfetto-trace", "is an input itself"),
        ("./c.perfetto-trace", "If it is a Perfetto trace, it needs no conversion"),
        ("./a.bin -o ./a.bin", "is an input itself"),
        ("./a.bin -o - --report -", "cannot share standard output"),
        ("./a.bin --junit - --report-md -", "--report-md - and --junit - cannot share standard output"),
        ("./a.bin --junit ./r --report-md ./r", "--report-md and --junit cannot both be written to"),
        ("--files-from ./gone", "(--files-from) cannot be read"),
        ("--files-from - -", "standard input (-) can be read only once"),
        ("./a.bin --report ./a.bin", "is an input or an output"),
        ("./a.bin --report ./a.perfetto-trace", "is an input or an output"),
        ("./a.bin --report ./", "is a directory"),
        ("./a.bin --from 2s --to 1s", "nothing lies between"),
        ("./a.bin --from +2s --to +1s", "nothing lies between"),
    ] {
        assert!(error(line).contains(part), "{line}: {}", error(line));
    }
    assert!(jobs(dir.path(), "./a.bin --from 2s --to +1s").is_ok());
    assert!(plan_on(true, dir.path(), "./a.bin -o -").unwrap_err().contains("not written to a terminal"));
    assert!(plan_on(false, dir.path(), "./a.bin -o -").is_ok());
}

#[cfg(unix)]
#[test]
fn an_input_is_not_overwritten_through_a_link() {
    let dir = dir_with(&["a.bin"]);
    std::os::unix::fs::symlink(dir.path().join("a.bin"), dir.path().join("soft")).unwrap();
    fs::hard_link(dir.path().join("a.bin"), dir.path().join("hard")).unwrap();
    for line in ["./a.bin -o ./soft", "./a.bin -o ./hard", "./soft -o ./hard"] {
        assert!(jobs(dir.path(), line).unwrap_err().contains("is an input itself"), "{line}");
    }
}
