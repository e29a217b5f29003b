//! The built program: options of SyS-T, their combinations, and messages about files that cannot be used.

use std::path::Path;
use std::process::Command;

use serde_json::Value;
use traceconv::format::syst::encode::{Draft, Origin, encode};
use traceconv::format::syst::record::Kind;
use traceconv::format::syst::stp::encode::{Ending, Writer};

use crate::captures::{line, message};

struct Ran {
    status: i32,
    said: String,
    report: Value,
}

/// Converts a file with these options; `{dir}` in them is the directory of the files.
fn run(files: &[(&str, &[u8])], options: &str) -> Ran {
    let dir = tempfile::tempdir().unwrap();
    for (name, content) in files {
        std::fs::write(dir.path().join(name), content).unwrap();
    }
    let input = dir.path().join(files[0].0);
    let options = options.replace("{dir}", dir.path().to_str().unwrap());
    let ran = Command::new(env!("CARGO_BIN_EXE_traceconv"))
        .args([input.as_os_str(), "-o".as_ref(), dir.path().join("out").as_os_str(), "--report".as_ref(), "-".as_ref()])
        .args(options.split_whitespace())
        .output()
        .unwrap();
    Ran {
        status: ran.status.code().unwrap(),
        said: String::from_utf8(ran.stderr).unwrap(),
        report: serde_json::from_slice(&ran.stdout).unwrap_or(Value::Null),
    }
}

impl Ran {
    fn hz(&self) -> f64 {
        self.report["inputs"][0]["clock"]["hz"].as_f64().unwrap_or_else(|| panic!("{}", self.said))
    }
}

fn texts() -> Vec<u8> {
    let stamps = [10, 20, 30];
    stamps.map(|time| line(&message(Kind::Generic, 4, Some(time), b"tick\0"))).concat().into_bytes()
}

fn packets() -> Vec<u8> {
    let mut writer = Writer::begun();
    (1..9).for_each(|time| writer.message(&message(Kind::Generic, 4, Some(5 * time), b"tick\0"), 100 * time, Ending::Flag));
    writer.finish()
}

#[test]
fn frequencies_are_written_as_everywhere() {
    let (text, stp) = (texts(), packets());
    let text = |options: &str| run(&[("a.txt", &text)], options);
    let stp = |options: &str| run(&[("a.stp", &stp)], options);
    assert_eq!(text("--syst-clock-hz 168M").hz(), 168e6);
    assert_eq!(text("--syst-clock-hz 72M/7").hz().round(), (72e6f64 / 7.0).round());
    assert_eq!(stp("--stp-freq 60M").hz(), 60e6);
    assert_eq!(stp("").said.matches("give it, as in --stp-freq 60M").count(), 1);
    assert_eq!(text("").said.matches("--syst-clock-hz").count(), 1, "it is said once");
    let wrong = text("--syst-clock-hz 1.5M");
    assert_eq!(wrong.status, 2);
    assert!(wrong.said.contains("--syst-clock-hz: \"1.5M\" is not a frequency; whole numbers are expected"), "{}", wrong.said);
    assert!(stp("--stp-freq 0").said.contains("--stp-freq: \"0\" is not a frequency; a clock does not have 0 Hz"));
}

/// `--clock-hz` is the clock that times are made with; an option of its own goes before it.
#[test]
fn the_general_option_speaks_of_the_clock_of_the_times() {
    let (text, stp) = (texts(), packets());
    assert_eq!(run(&[("a.txt", &text)], "--clock-hz 1M").hz(), 1e6);
    assert_eq!(run(&[("a.txt", &text)], "--clock-hz 1M --syst-clock-hz 2M").hz(), 2e6);
    assert_eq!(run(&[("a.stp", &stp)], "--clock-hz 1M").hz(), 1e6);
    assert_eq!(run(&[("a.stp", &stp)], "--clock-hz 1M --stp-freq 2M").hz(), 2e6);
    let both = run(&[("a.stp", &stp)], "--syst-clock-hz 5M --stp-freq 2M");
    assert_eq!(both.hz(), 2e6);
    let details = both.report["inputs"][0]["details"].to_string();
    assert!(details.contains("message clock") && details.contains("5000000 Hz"), "{details}");
}

#[test]
fn files_that_cannot_be_used_say_where() {
    let text = texts();
    let collateral = |content: &[u8]| run(&[("a.txt", &text), ("c.xml", content)], "--collateral {dir}/c.xml").said;
    assert!(collateral(b"<Collateral>\n  <Client>\n</Collateral>").contains("at line 3, column 1"));
    assert!(
        collateral(b"<Collateral><Client Name='a'><Modules>\n<Module ID='x'>m</Module></Modules></Client></Collateral>")
            .contains("the attribute \"ID\" is \"x\", which is not a 64-bit number, at line 2, column 1")
    );
    assert!(collateral(b"").contains("a SyS-T collateral XML file is expected"));
    let stripped = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/symbols/pump_stripped.elf");
    let elf = run(&[("a.txt", &text)], &format!("--elf {}", stripped.display()));
    assert!(elf.status == 1 && elf.said.contains("without symbols (stripped)"), "{}", elf.said);
    let missing = run(&[("a.txt", &text)], "--elf {dir}/none.elf");
    assert!(missing.status != 0 && missing.said.contains("none.elf"), "{}", missing.said);
}

#[test]
fn a_raw_stream_that_nothing_delimits_names_the_switch() {
    let mut bytes = Vec::new();
    for number in 0..200u8 {
        let payload = [1, 2, 3, 4, 5, 200, number];
        encode(&Draft::new(Kind::Raw(5), &payload), &mut bytes);
    }
    let ran = run(&[("a.bin", &bytes)], "--format syst-raw");
    assert_eq!(ran.status, 1);
    assert!(ran.said.contains("MIPI_SYST_ENABLE_HANDLE_LENGTH"), "{}", ran.said);
    // Messages between these that can be delimited are found.
    let mut bytes = Vec::new();
    for number in 0..300u32 {
        let text = format!("hello {number}\0");
        let (kind, payload) = if number % 3 == 0 { (Kind::Raw(5), &b"no end"[..]) } else { (Kind::Generic, text.as_bytes()) };
        encode(&Draft { origin: Origin::Module(3, 1), ..Draft::new(kind, payload) }, &mut bytes);
    }
    let ran = run(&[("a.bin", &bytes)], "--format syst-raw");
    assert!(ran.said.contains("MIPI_SYST_ENABLE_HANDLE_LENGTH"), "{}", ran.said);
    let details = ran.report["inputs"][0]["details"].to_string();
    assert!(details.contains("200 text"), "{details}");
}
