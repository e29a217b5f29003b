//! `traceconv formats`, `completions` and `man`: complete, and readable by shells, `man` and scripts.
#![cfg(unix)]

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;
use traceconv::format::FORMATS;
use traceconv::input::detect::detect;
use traceconv::input::{Input, ReadOptions};

fn program(line: &str) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_traceconv")).args(line.split_whitespace()).output().unwrap();
    assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// The names of all commands, from the help.
fn commands() -> Vec<String> {
    let help = program("-h");
    let list = help.split("Commands:\n").nth(1).unwrap().split("\n\n").next().unwrap();
    let names = list.lines().filter_map(|line| line.strip_prefix("  ").filter(|line| !line.starts_with(' ')));
    let names: Vec<String> = names.map(|line| line.split_whitespace().next().unwrap().to_owned()).collect();
    assert!(["dump", "stats", "info", "formats", "completions", "man"].iter().all(|name| names.iter().any(|is| is == name)));
    names.into_iter().filter(|name| name != "help").collect()
}

#[test]
fn every_format_has_an_example_on_the_page() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let examples: Vec<Value> = serde_json::from_slice(&fs::read(root.join("web/examples.json")).unwrap()).unwrap();
    let mut recognised = BTreeSet::new();
    for file in examples.iter().flat_map(|example| example["files"].as_array().unwrap()) {
        let bytes = fs::read(root.join(file.as_str().unwrap())).unwrap_or_else(|error| panic!("{file}: {error}"));
        // Others are for an option of a format.
        if let Ok(input) = Input::from_vec(bytes, &ReadOptions::default())
            && let Ok(detected) = detect(input.bytes(), input.layers())
        {
            recognised.insert(detected.format.name());
        }
    }
    for format in FORMATS {
        assert!(recognised.contains(format.name()), "web/examples.json has no recording of {}", format.title());
    }
}

#[test]
fn formats_are_listed_with_their_options() {
    let text = program("formats");
    let json: Value = serde_json::from_str(&program("formats --json")).unwrap();
    assert_eq!(json["schema_version"], 1);
    let listed = json["formats"].as_array().unwrap();
    assert_eq!(listed.len(), FORMATS.len());
    let help = program("--help");
    let readme = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/README.md")).unwrap();
    for (format, listed) in FORMATS.iter().zip(listed) {
        assert_eq!((listed["name"].as_str(), listed["title"].as_str()), (Some(format.name()), Some(format.title())));
        assert!(text.contains(&format!("{}: {}\n", format.name(), format.title())), "{text}");
        assert!(readme.contains(&format!("| `{}` |", format.name())), "{} is not in README's table", format.name());
        for clause in [format.recorded_by(), format.recognised_by()] {
            assert!(text.contains(clause) && !clause.ends_with('.'), "{clause}");
        }
        let options = listed["options"].as_array().unwrap();
        assert_eq!(options.len(), format.options().len());
        for (spec, option) in format.options().iter().zip(options) {
            assert_eq!(option["name"].as_str(), Some(spec.name));
            let flag = format!("--{}", spec.name);
            assert!(text.contains(&flag) && help.contains(&flag), "{flag}");
        }
    }
}

#[test]
fn shells_get_their_completions() {
    for (shell, marks) in [
        ("bash", ["complete -F _traceconv", "--format"]),
        ("zsh", ["#compdef traceconv", "--format"]),
        ("fish", ["complete -c traceconv", "-l format"]),
        ("powershell", ["Register-ArgumentCompleter", "--format"]),
        ("elvish", ["edit:completion:arg-completer[traceconv]", "--format"]),
    ] {
        let script = program(&format!("completions {shell}"));
        for mark in marks.into_iter().map(str::to_owned).chain(commands()) {
            assert!(script.contains(&mark), "{mark:?} is not in the script for {shell}");
        }
    }
}

#[test]
fn bash_completes() {
    let dir = tempfile::tempdir().unwrap();
    let script = dir.path().join("traceconv.bash");
    fs::write(&script, program("completions bash")).unwrap();
    let parsed = Command::new("bash").arg("-n").arg(&script).output().unwrap();
    assert!(parsed.status.success() && parsed.stderr.is_empty(), "{}", String::from_utf8_lossy(&parsed.stderr));
    let completed = |words: &[&str]| {
        let (last, before) = words.split_last().unwrap();
        // As readline does: with the function that the script registers.
        let ask = "source \"$1\"; COMP_WORDS=(\"${@:2}\"); COMP_CWORD=$(($# - 2)); registered=$(complete -p traceconv); \
                   function=${registered#*-F }; ${function%% *} traceconv \"${@: -1}\" \"${@: -2:1}\"; \
                   printf '%s\\n' \"${COMPREPLY[@]}\"";
        let mut bash = Command::new("bash");
        bash.args(["-c", ask, "bash"]).arg(&script).args(before).arg(last).current_dir(dir.path());
        let output = bash.stdin(Stdio::null()).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(completed(&["traceconv", "--max-l"]), ["--max-lost"]);
    assert_eq!(completed(&["traceconv", "inf"]), ["info"]);
    assert_eq!(completed(&["traceconv", "--format", "mini"]), ["miniprofiler"]);
    assert!(completed(&["traceconv", "stats", "--js"]).contains(&"--json".to_owned()));
    // Files beside commands as the first word; after an input, options and no commands. Without words, bash completes files.
    fs::write(dir.path().join("stats.bin"), "").unwrap();
    assert_eq!(completed(&["traceconv", "stat"]), ["stats", "stats.bin"]);
    assert_eq!(completed(&["traceconv", "--threads", "2", "stat"]), ["stats", "stats.bin"]);
    let files: [&str; 1] = [""];
    assert_eq!(completed(&["traceconv", "a.bin", "stat"]), files);
    assert_eq!(completed(&["traceconv", "a.bin", ""]), files);
    assert_eq!(completed(&["traceconv", "stats", ""]), files);
    assert_eq!(completed(&["traceconv", "a.bin", "--max-l"]), ["--max-lost"]);
    assert_eq!(completed(&["traceconv", "a.bin", "--format", "mini"]), ["miniprofiler"]);
    assert_eq!(completed(&["traceconv", "completions", "fi"]), ["fish"]);
    assert_eq!(completed(&["traceconv", "help", "sta"]), ["stats"]);
}

#[test]
fn fish_completes() {
    let dir = tempfile::tempdir().unwrap();
    let text = program("completions fish");
    // Options depend on the command only; commands are offered as the first word.
    assert!(text.contains("complete -c traceconv -n __fish_traceconv_converts -l detail "), "{text}");
    let first_words = text.lines().filter(|line| line.contains("-n \"__fish_traceconv_needs_command\""));
    assert!(first_words.clone().count() >= commands().len() && first_words.clone().all(|line| line.contains(" -a ")), "{text}");
    let script = dir.path().join("traceconv.fish");
    fs::write(&script, &text).unwrap();
    fs::write(dir.path().join("stats.bin"), "").unwrap();
    if Command::new("fish").arg("--version").stdout(Stdio::null()).status().is_err() {
        println!("The script is not run here: there is no fish.");
        return;
    }
    let completed = |line: &str| {
        let mut fish = Command::new("fish");
        fish.args(["--no-config", "-c", "source $argv[1]; complete -C $argv[2]"]).arg(&script).arg(line);
        let output = fish.current_dir(dir.path()).env("HOME", dir.path()).stdin(Stdio::null()).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let text = String::from_utf8(output.stdout).unwrap();
        text.lines().map(|line| line.split('\t').next().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(completed("traceconv --max-l"), ["--max-lost"]);
    assert_eq!(completed("traceconv a.bin --max-l"), ["--max-lost"]);
    assert_eq!(completed("traceconv a.bin --detail over"), ["overview"]);
    assert_eq!(completed("traceconv a.bin stat"), ["stats.bin"]);
    assert_eq!(completed("traceconv stat"), ["stats", "stats.bin"]);
    assert_eq!(completed("traceconv stats --max-l"), Vec::<String>::new());
    assert_eq!(completed("traceconv stats a.bin --js"), ["--json"]);
}

#[test]
fn every_command_has_a_manual_page() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().to_str().unwrap();
    program(&format!("man {path}"));
    let names: Vec<String> =
        std::iter::once("traceconv".to_owned()).chain(commands().iter().map(|name| format!("traceconv-{name}"))).collect();
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), names.len());
    assert_eq!(program("man"), fs::read_to_string(dir.path().join("traceconv.1")).unwrap());
    let has_groff = Command::new("groff").arg("--version").stdout(Stdio::null()).status().is_ok();
    if !has_groff {
        println!("The pages are not rendered here: there is no groff.");
    }
    for name in &names {
        let file = dir.path().join(format!("{name}.1"));
        let page = fs::read_to_string(&file).unwrap();
        for part in [&format!(".TH {name} 1"), ".SH NAME", ".SH SYNOPSIS", ".SH DESCRIPTION", ".SH OPTIONS"] {
            assert!(page.contains(part), "{name}: {part:?} is not in\n{page}");
        }
        assert!(page.is_ascii(), "{name}");
        // Lines of the page are text or requests that there are.
        let requests = page.lines().filter_map(|line| line.strip_prefix('.')).map(|line| line.split(' ').next().unwrap());
        for request in requests {
            assert!(
                ["TH", "SH", "TP", "IP", "RS", "RE", "ie", "el", "br", "SS", "nf", "fi"].contains(&request),
                "{name}: .{request}"
            );
        }
        if has_groff {
            let output = Command::new("groff").args(["-man", "-Tutf8", "-ww", "-P-cbou"]).arg(&file).output().unwrap();
            let complaints = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success() && complaints.is_empty(), "{name}: {complaints}");
            assert!(String::from_utf8_lossy(&output.stdout).contains("NAME"), "{name}");
        }
    }
    let (help, first) = (program("--help"), fs::read_to_string(dir.path().join("traceconv.1")).unwrap().replace("\\-", "-"));
    let options = help.split_whitespace().filter_map(|word| word.strip_prefix("--")).filter(|word| word.len() > 2);
    for option in options.map(|word| word.trim_end_matches([',', ':', '.', ')'])).map(|word| word.split('[').next().unwrap()) {
        assert!(first.contains(&format!("--{option}")), "--{option} is in the help only");
    }
}

#[test]
fn the_short_help_fits_a_screen_and_the_long_one_is_grouped() {
    let (short, long) = (program("-h"), program("--help"));
    assert!(short.lines().count() <= 50, "{} lines:\n{short}", short.lines().count());
    for word in ["--output", "--format", "--report", "--from", "--quiet", "stats"] {
        assert!(short.contains(word), "{word} is not in\n{short}");
    }
    assert!(!short.contains("--qs-version"), "{short}");
    let position = |text: &str| long.find(text).unwrap_or_else(|| panic!("{text:?} is not in\n{long}"));
    for heading in ["Inputs:", "Output:", "Content:", "Reports and limits:", "Messages:", "Merging:"] {
        position(&format!("\n{heading}\n"));
    }
    // Each format's options are together, under its name.
    for format in FORMATS.iter().filter(|format| !format.options().is_empty()) {
        let heading = long.lines().position(|line| line.starts_with("Options of ") && line.contains(format.title()));
        assert!(heading.is_some(), "{} has no heading", format.title());
    }
}
