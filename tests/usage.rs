//! Wrong usage that does not depend on the inputs, of every command of the built program: exit status 2, before anything is read or written.

mod desk;

use std::fs;
use std::path::Path;

use desk::Desk;

fn demo() -> Vec<u8> {
    fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/demo/demo.bin")).unwrap()
}

/// Whatever the inputs are, and before they are read.
#[test]
fn a_wrong_value_of_a_formats_own_option_is_wrong_usage() {
    let desk = Desk::with("a.bin", &demo());
    desk.put("b.toml", b"rules = ['losses == 0']");
    for (option, said) in [
        ("--time-unit x", "--time-unit: `x` is not a unit; us, ns, ms, timer or cpu is expected"),
        ("--min-duration x", "--min-duration: `x` is not a time"),
        ("--function (", "--function: `(` is not a regular expression"),
        ("--stp-nibbles x", "--stp-nibbles: \"x\" is not an order; msb, lsb or auto is expected"),
        ("--stp-freq 0", "--stp-freq: \"0\" is not a frequency"),
        ("--syst-clock-hz x", "--syst-clock-hz: \"x\" is not a frequency"),
        ("--qs-tick-hz x", "--qs-tick-hz: \"x\" is not a frequency"),
        ("--qs-sizes x", "--qs-sizes: 'x' is not one of the letters"),
        ("--qs-version x", "--qs-version: \"x\" is not a version"),
        ("--qs-counter x", "--qs-counter: \"x\" has no index"),
        ("--tick-hz 0", "--tick-hz: \"0\" is not a rate"),
        ("--timer-max 65536", "--timer-max: \"65536\" is out of range"),
        ("--timer-dir x", "--timer-dir: \"x\" is not a direction"),
        ("--tsp-len x", "--tsp-len: \"x\" is not an id with a number of bytes"),
        ("--itm-port 1=x", "its content (text, unsigned, signed, float, hex or none)"),
        ("--require-elf-match", "--require-elf-match: no program is given"),
    ] {
        for command in ["", "dump", "stats", "info", "check -b b.toml", "diff a.bin"] {
            desk.run(&format!("{command} a.bin {option}")).ends(2).says(&[said, "try '--help'"]);
        }
    }
    // The content of a file, or a missing file, is no matter of usage.
    desk.put("broken.toml", b"rules = [");
    desk.put("bytes.toml", b"\xFF\xD8");
    for (line, said) in [
        ("a.bin --collateral gone.xml", "--collateral gone.xml cannot be read"),
        ("stats a.bin --elf gone.elf", "--elf gone.elf cannot be read"),
        ("check -b gone.toml a.bin", "the budget gone.toml cannot be read"),
        ("check -b broken.toml a.bin", "broken.toml: line 1"),
        (
            "check -b bytes.toml a.bin",
            "the budget bytes.toml cannot be read: it is not UTF-8; a TOML file with rules is expected",
        ),
        ("a.bin --swo-port 7", "a.bin is not an ITM stream, which --swo-port reads"),
        ("--files-from gone -o out/", "the list gone (--files-from) cannot be read"),
        ("gone.bin", "gone.bin"),
    ] {
        let ran = desk.run(line).ends(1).says(&[said]);
        assert!(!ran.stderr.contains("try '--help'"), "{}", ran.stderr);
    }
    let profile = [&b"\xAA\x55"[..], &demo()].concat();
    desk.put("p.bin", &profile);
    desk.run("--format miniprofiler --elf a.bin p.bin").ends(1).says(&[
        "--elf: `a.bin` is not an ELF file; the linker's output is expected, the one that the flashed image was made from",
    ]);
    desk.run("--format miniprofiler --elf a.bin --require-elf-match p.bin").ends(1);
    assert_eq!(desk.names(), ["a.bin", "b.toml", "broken.toml", "bytes.toml", "p.bin"]);
}

/// A minus sign begins a value here, not an option.
#[test]
fn a_negative_value_is_answered_with_what_is_expected() {
    let desk = Desk::with("a.bin", &demo());
    for (line, said) in [
        ("a.bin --max-lost -1", "a number of events (10) or a share of them (0.5%) is expected"),
        ("stats a.bin --rows -1", "a whole number is expected, e.g. 20"),
        ("diff a.bin a.bin --rows -1", "a whole number is expected, e.g. 20"),
        ("diff a.bin a.bin --fail-over -5%", "per cent are expected, e.g. 5%"),
        ("diff a.bin a.bin --min-points -1", "per cent are expected, e.g. 5%"),
        ("baseline a.bin --to -1ms", "times are not negative"),
    ] {
        desk.run(line).ends(2).says(&[said]);
    }
}

#[test]
fn what_options_name_to_be_read_is_not_overwritten() {
    let desk = Desk::with("a.bin", &demo());
    desk.put("app.xml", b"<x/>");
    desk.put("list", b"a.bin\n");
    desk.put("b.toml", b"rules = ['losses == 0']");
    let names = desk.names();
    for line in [
        "a.bin --collateral app.xml -o app.xml",
        "a.bin --collateral app.xml --report app.xml",
        "a.bin --elf app.xml --junit ./app.xml",
        "--files-from list --report-md list -o out/",
        "dump a.bin --elf app.xml -o app.xml",
        "stats a.bin --elf app.xml -o app.xml",
        "check -b b.toml a.bin -o b.toml",
        "check -b b.toml a.bin --junit b.toml",
        "check -b b.toml a.bin --junit a.bin",
        "diff a.bin a.bin --elf app.xml -o app.xml",
    ] {
        desk.run(line).ends(2).says(&["is an input"]);
    }
    assert_eq!(desk.names(), names);
    assert_eq!((desk.get("app.xml"), desk.get("list")), (b"<x/>".to_vec(), b"a.bin\n".to_vec()));
}

/// Options that every command has may come before it; and nothing is converted when a command was probably meant.
#[test]
fn commands_are_recognised_wherever_they_are() {
    let desk = Desk::with("demo.bin", &demo());
    for line in ["-q stats demo.bin", "--color never -v stats demo.bin", "--threads=1 stats demo.bin", "stats -q demo.bin"] {
        assert!(String::from_utf8(desk.run(line).ends(0).stdout).unwrap().contains("CPU 0"), "{line}");
    }
    assert_eq!(desk.run("-q formats").ends(0).stdout, desk.run("formats --threads 2").ends(0).stdout);
    desk.run("stat demo.bin").ends(2).says(&["`stat` is neither a file nor a command; did you mean `stats`?"]);
    desk.run("convert demo.bin")
        .ends(2)
        .says(&["`convert` is neither a file nor a command; the command line is: traceconv FILE"]);
    desk.run("-v dmup demo.bin").ends(2).says(&["did you mean `dump`?"]);
    desk.run("demo.bin stats").ends(2).says(&["`stats` is not a file but a command, which comes first"]);
    #[cfg(not(feature = "record"))]
    desk.run("help record").ends(2).says(&["built without the command `record`", "cargo install --path . --features record"]);
    assert_eq!(desk.names(), ["demo.bin"]);
    // A file that is missing may be one that is there.
    for missing in ["demo", "dmeo.bin", "demo.hex"] {
        for command in ["", "stats ", "dump "] {
            let said = desk.run(&format!("{command}{missing}")).ends(1).stderr;
            let end = said.trim_end().rsplit_once("(os error 2)").unwrap().1;
            let expected = if missing == "demo.hex" { "" } else { "; did you mean demo.bin?" };
            assert_eq!(end, expected, "{command}{missing}: {said}");
        }
    }
    // A file of such a name is an input.
    desk.put("stat", &demo());
    desk.run("stat demo.bin").ends(0);
}
