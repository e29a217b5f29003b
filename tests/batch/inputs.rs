//! Which files are converted: directories, patterns, lists, odd names; and the names of their traces.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;

use serde_json::Value;

use super::captures::small;
use super::{Desk, inputs};

#[test]
fn a_directory_gives_its_files_and_keeps_its_order() {
    let desk = Desk::new();
    for (number, name) in
        ["c/b/2.bin", "c/b/1.bin", "c/a.bin", "c/.hidden", "c/.git/x.bin", "c/old.perfetto-trace"].iter().enumerate()
    {
        desk.put(name, &small(number as u64));
    }
    desk.run("c -o out/").ends(1).says(&["error: c is a directory, not a recording; --recursive takes the files in it"]);
    desk.run("-r c -o out/ --report r.json").ends(0);
    let report = desk.json("r.json");
    let paths: Vec<&str> = inputs(&report).iter().map(|input| input["path"].as_str().unwrap()).collect();
    assert_eq!(paths, ["c/a.bin", "c/b/1.bin", "c/b/2.bin"]);
    let names = ["a.perfetto-trace", "b/1.perfetto-trace", "b/2.perfetto-trace"];
    assert_eq!(desk.files("out"), names);
    assert_eq!(inputs(&report)[1]["output"], "out/b/1.perfetto-trace");

    // Without -o, each beside its input; the traces and reports of a first run are no inputs of the second.
    for _ in 0..2 {
        desk.run("-q -r c --report c/r.json --junit c/j.xml --report-md c/r.md").ends(0);
    }
    let expected = [
        ".git/x.bin",
        ".hidden",
        "a.bin",
        "a.perfetto-trace",
        "b/1.bin",
        "b/1.perfetto-trace",
        "b/2.bin",
        "b/2.perfetto-trace",
        "j.xml",
        "old.perfetto-trace",
        "r.json",
        "r.md",
    ];
    assert_eq!(desk.files("c"), expected);

    // Of several directories each keeps its name.
    desk.put("d/a.bin", &small(9));
    desk.run("-q -r c/b d -o two/").ends(0);
    assert_eq!(desk.files("two"), ["b/1.perfetto-trace", "b/2.perfetto-trace", "d/a.perfetto-trace"]);
}

#[test]
fn commands_that_tell_take_directories_and_lists() {
    let desk = Desk::new();
    ["c/b/2.bin", "c/a.bin", "c/x.hex", "c/.hidden"].iter().enumerate().for_each(|(n, name)| desk.put(name, &small(n as u64)));
    desk.put("b.toml", b"rules = ['losses >= 0']");
    desk.put("list", b"c/b/2.bin\nc/a.bin\n");
    fs::create_dir(desk.path("empty")).unwrap();
    let paths = |name: &str| -> Vec<String> {
        let json = desk.json(name);
        let recordings = json["recordings"].as_array().unwrap().iter();
        recordings.map(|one| one["inputs"][0]["path"].as_str().unwrap().to_owned()).collect()
    };
    // The output of the first run is no input of the second.
    for command in ["stats --json", "check -b b.toml --json"] {
        for _ in 0..2 {
            desk.run(&format!("{command} -q -r c --glob *.bin --glob *.json -o c/out.json")).ends(0);
            assert_eq!(paths("c/out.json"), ["c/a.bin", "c/b/2.bin"], "{command}");
        }
        fs::remove_file(desk.path("c/out.json")).unwrap();
        desk.run(&format!("{command} -q --files-from list -o out.json")).ends(0);
        assert_eq!(paths("out.json"), ["c/b/2.bin", "c/a.bin"], "{command}");
    }
    let ran = desk.run("info -q --json -r c").ends(0);
    let info: serde_json::Value = serde_json::from_slice(&ran.stdout).unwrap();
    assert_eq!(info["recordings"].as_array().unwrap().len(), 3);
    for command in ["stats", "check -b b.toml", "info"] {
        desk.run(&format!("{command} c"))
            .ends(1)
            .says(&["error: c is a directory, not a recording; --recursive takes the files in it"]);
        // The others are reported all the same.
        let ran = desk.run(&format!("{command} -r empty c/b")).ends(1).says(&["error: empty is a directory without a file\n"]);
        assert!(!ran.stdout.is_empty());
        desk.run(&format!("{command} c --glob *.bin")).ends(2).says(&["--recursive"]);
        desk.run(command).ends(2).says(&["INPUT"]);
    }
    desk.run("stats --files-from list -o list").ends(2).says(&["list is an input itself"]);
    desk.run("check --metrics").ends(0);
}

#[test]
fn patterns_choose_among_what_is_found() {
    let desk = Desk::new();
    ["c/1.bin", "c/2.hex", "c/x/3.bin", "c/x/y/4.bin", "c/readme.txt"].iter().for_each(|name| desk.put(name, &small(1)));
    let taken = |globs: &str| {
        let _ = fs::remove_dir_all(desk.path("out"));
        desk.run(&format!("-q -r c -o out/ {globs}")).ends(0);
        desk.files("out").iter().map(|name| name.replace(".perfetto-trace", "")).collect::<Vec<_>>()
    };
    assert_eq!(taken("--glob *.bin"), ["1", "x/3", "x/y/4"]);
    assert_eq!(taken("--glob *.bin --glob *.hex"), ["1", "2", "x/3", "x/y/4"]);
    assert_eq!(taken("--glob !*.txt --glob !x/y/**"), ["1", "2", "x/3"]);
    assert_eq!(taken("--glob x/*.bin"), ["x/3"]);
    desk.run("-r c --glob *.elf").ends(1).says(&["error: c is a directory without a file that --glob takes"]);
    desk.run("-r c --glob {").ends(2).says(&["--glob {: "]);
    desk.run("c --glob *.bin").ends(2).says(&["--recursive"]);
    // An input that is named itself needs no pattern.
    desk.run("-q -r c/readme.txt --glob *.bin -o out/").ends(0);
    assert!(desk.files("out").contains(&"readme.perfetto-trace".to_owned()));
}

#[test]
fn lists_are_read_in_every_form() {
    let desk = Desk::new();
    ["a.bin", "b.bin", "c\nd.bin"].iter().enumerate().for_each(|(number, name)| desk.put(name, &small(number as u64)));
    let names = || {
        let names = desk.files("out");
        fs::remove_dir_all(desk.path("out")).unwrap();
        names
    };
    desk.put("list", b"a.bin\n\nb.bin");
    desk.run("-q --files-from list -o out/").ends(0);
    assert_eq!(names(), ["a.perfetto-trace", "b.perfetto-trace"]);
    desk.put("list", b"a.bin\r\nb.bin\r\n");
    desk.run("-q --files-from list -o out/").ends(0);
    assert_eq!(names(), ["a.perfetto-trace", "b.perfetto-trace"]);
    desk.run_with_stdin("-q --files-from - --from0 -o out/", b"c\nd.bin\0a.bin\0").ends(0);
    assert_eq!(names(), ["a.perfetto-trace", "c\\nd.perfetto-trace"]);
    desk.run_with_stdin("-q b.bin --files-from - -o out/", b"a.bin\n./a.bin\nb.bin\n").ends(0);
    assert_eq!(names(), ["a.perfetto-trace", "b.perfetto-trace"]);

    desk.put("list", b"\n");
    desk.run("--files-from list -o out/").ends(1).says(&["error: list is a list that names no input"]);
    desk.run("--files-from gone -o out/").ends(1).says(&["the list gone (--files-from) cannot be read: No such file"]);
    desk.run("--files-from b.bin -o out/").ends(1).says(&["the list b.bin (--files-from) has NUL bytes", "--from0"]);
    desk.run("--files-from . -o out/").ends(1).says(&["cannot be read: Is a directory"]);
    desk.put("list", b"a.bin\n");
    // One input, but it could have been more: a file for it would be a surprise another time.
    desk.run("--files-from list -o one.trace").ends(2).says(&["several inputs cannot go into one output"]);
    desk.run("--from0 a.bin").ends(2).says(&["--files-from"]);
    desk.run("--files-from - -").ends(2).says(&["standard input (-) can be read only once"]);
}

#[test]
fn inputs_of_one_name_have_outputs_of_their_own() {
    let desk = Desk::new();
    for (number, name) in ["a/x.bin", "b/x.bin", "b/x.hex", "y.bin", "p/sub/a/x.bin", "p/sup/a/x.bin"].iter().enumerate() {
        desk.put(name, &small(number as u64));
    }
    desk.run("-q a/x.bin b/x.bin y.bin -o out/").ends(0);
    assert_eq!(desk.files("out"), ["a/x.perfetto-trace", "b/x.perfetto-trace", "y.perfetto-trace"]);
    for name in ["a/x", "b/x"] {
        desk.run(&format!("-q {name}.bin -o alone.trace")).ends(0);
        assert!(desk.get("alone.trace") == desk.get(format!("out/{name}.perfetto-trace")), "{name}");
    }
    desk.run("-q b/x.bin b/x.hex -o two/").ends(0);
    assert_eq!(desk.files("two"), ["x.bin.perfetto-trace", "x.hex.perfetto-trace"]);
    desk.run("-q b/x.bin b/x.hex").ends(0);
    assert_eq!(desk.files("b"), ["x.bin", "x.bin.perfetto-trace", "x.hex", "x.hex.perfetto-trace"]);
    desk.run("-q -r p/sub/a p/sup/a -o three/").ends(0);
    assert_eq!(desk.files("three"), ["sub/a/x.perfetto-trace", "sup/a/x.perfetto-trace"]);
    // The same file by two ways is one input.
    desk.run("-q -r a a/x.bin ./a/x.bin -o four/").ends(0);
    assert_eq!(desk.files("four"), ["x.perfetto-trace"]);
}

#[test]
fn no_input_is_overwritten() {
    let desk = Desk::new();
    desk.put("a/x.bin", &small(1));
    desk.put("b/y.bin", &small(2));
    fs::create_dir(desk.path("out")).unwrap();
    fs::hard_link(desk.path("a/x.bin"), desk.path("out/y.perfetto-trace")).unwrap();
    desk.run("a/x.bin b/y.bin -o out/").ends(2).says(&["out/y.perfetto-trace is an input itself and is not overwritten"]);
    assert_eq!(desk.get("a/x.bin"), small(1));
    // Two outputs that are one file behind links.
    desk.put("t", b"");
    fs::remove_file(desk.path("out/y.perfetto-trace")).unwrap();
    ["x", "y"].iter().for_each(|name| symlink(desk.path("t"), desk.path(format!("out/{name}.perfetto-trace"))).unwrap());
    desk.run("a/x.bin b/y.bin -o out/").ends(2).says(&["a/x.bin and b/y.bin would both be written to out/y.perfetto-trace"]);
}

#[test]
fn loops_and_dead_ends_are_no_traps() {
    let desk = Desk::new();
    desk.put("c/x.bin", &small(1));
    symlink("..", desk.path("c/up")).unwrap();
    symlink("itself", desk.path("c/itself")).unwrap();
    symlink("x.bin", desk.path("c/also.bin")).unwrap();
    let ran = desk.run("-r c -o out/").ends(1);
    assert_eq!(desk.files("out"), ["also.perfetto-trace", "x.perfetto-trace"]);
    ran.says(&["error: c/itself cannot be opened: Too many levels of symbolic links", "3 inputs: 2 converted, 1 failed"]);
    // A link that is named is followed.
    symlink("c", desk.path("link")).unwrap();
    fs::remove_file(desk.path("c/itself")).unwrap();
    desk.run("-q -r link/ -o two").ends(2);
    desk.run("-q -r link -o two/").ends(0);
    assert_eq!(desk.files("two"), ["also.perfetto-trace", "x.perfetto-trace"]);

    fs::create_dir(desk.path("empty")).unwrap();
    desk.run("-r empty c -o three/").ends(1).says(&["error: empty is a directory without a file\n", "2 converted, 1 failed"]);
}

#[test]
fn names_need_not_be_text() {
    let desk = Desk::new();
    let name = OsStr::from_bytes(b"c/caf\xe9\x1b[31m.bin");
    desk.put(name, &small(1));
    desk.put("c/z.bin", &small(2));
    let ran = desk.run("-r c -o out/ --report r.json --junit j.xml --report-md r.md").ends(0);
    assert_eq!(desk.files("out"), [r"caf\xe9\x1b[31m.perfetto-trace", "z.perfetto-trace"]);
    let report = desk.json("r.json");
    let [odd, plain] = inputs(&report) else { panic!("{report}") };
    assert_eq!(odd["path"], "c/caf\\xe9\u{1b}[31m.bin");
    assert_eq!(odd["path_bytes"], name.as_bytes().iter().map(|byte| format!("{byte:02x}")).collect::<String>());
    assert_eq!(odd["output"], "out/caf\\xe9\u{1b}[31m.perfetto-trace");
    assert_eq!((&plain["path"], &plain["path_bytes"]), (&"c/z.bin".into(), &serde_json::Value::Null));
    assert!(!ran.stderr.contains('\u{1b}') && ran.stderr.contains("c/caf\\xe9\\u{1b}[31m.bin"), "{}", ran.stderr);
    super::reports::check_junit(&desk.text("j.xml"), 2, 0, 0);
    super::reports::check_markdown(&desk.text("r.md"), 2);

    let mut command = desk.command("-q -o named.trace --");
    command.arg(name);
    assert!(command.status().unwrap().success());
    assert!(desk.get("named.trace") == desk.get(OsStr::from_bytes(b"out/caf\xe9\x1b[31m.perfetto-trace")));
    desk.run_with_stdin("-q --files-from - -o three/", &[name.as_bytes(), b"\nc/gone\xff.bin\n"].concat())
        .ends(1)
        .says(&["error: c/gone\\xff.bin cannot be opened"]);
}

#[test]
fn a_directory_that_cannot_be_made_fails_each_input() {
    let desk = Desk::new();
    desk.put("a.bin", &small(1));
    desk.put("b.bin", &small(2));
    desk.put("file", b"");
    let ran = desk.run("a.bin b.bin -o file/out/").ends(1);
    assert_eq!(ran.stderr.matches("cannot make the directory file/out").count(), 2, "{}", ran.stderr);
    // A directory in the place of one trace concerns that trace only.
    fs::create_dir_all(desk.path("out/a.perfetto-trace")).unwrap();
    desk.run("a.bin b.bin -o out").ends(1).says(&["cannot write out/a.perfetto-trace", "1 converted, 1 failed"]);
    assert_eq!(desk.files("out"), ["b.perfetto-trace"]);
}

/// Members of archives are inputs, with outputs as if they lay in a directory.
#[test]
fn archives_give_their_members() {
    let desk = Desk::new();
    desk.put("src/run/a.bin", &small(1));
    desk.put("src/b.bin", &small(2));
    desk.put("src/.hidden", b"x");
    desk.put("src/README", b"Recordings of today.\n");
    std::os::unix::fs::symlink("b.bin", desk.path("src/link.bin")).unwrap();
    for (name, option) in [("x.tar", "-cf"), ("x.tgz", "-czf")] {
        let made = std::process::Command::new("tar").args([option, name, "-C", "src", "."]).current_dir(desk.path("")).status();
        assert!(made.unwrap().success());
        let ran = desk.run(&format!("{name} -o out/ --skip-unrecognised --report report.json")).ends(1);
        let report = desk.json("report.json");
        let found: Vec<(&str, &str)> =
            inputs(&report).iter().map(|input| (input["path"].as_str().unwrap(), input["status"].as_str().unwrap())).collect();
        for (member, status) in
            [("README", "skipped"), ("b.bin", "converted"), ("link.bin", "failed"), ("run/a.bin", "converted")]
        {
            assert!(found.contains(&(&format!("{name}!{member}"), status)), "{member}: {found:?}");
        }
        assert_eq!(found.len(), 4);
        ran.says(&["is a link in an archive, which is not followed"]);
        assert_eq!(desk.files("out"), ["b.perfetto-trace", "run/a.perfetto-trace"]);
        fs::remove_dir_all(desk.path("out")).unwrap();
        // One member by its name; and every command takes it.
        desk.run(&format!("{name}!run/a.bin -o one")).ends(0).says(&[&format!("{name}!run/a.bin: Tonbandger")]);
        desk.run("src/run/a.bin -o other").ends(0);
        assert_eq!(desk.get("one").len(), desk.get("other").len());
        assert!(!desk.run(&format!("dump {name}!b.bin")).ends(0).stdout.is_empty());
        desk.run(&format!("dump {name}!c.bin")).ends(1).says(&["has no file c.bin"]);
        desk.run(&format!("dump {name}")).ends(1).says(&["is an archive, not a recording", "ARCHIVE!FILE"]);
        desk.run(&format!("stats -q --csv --skip-unrecognised {name}!b.bin")).ends(0);
    }
    // One within another has to be unpacked: no name leads into it.
    let made = std::process::Command::new("tar").args(["-cf", "outer.tar", "x.tar"]).current_dir(desk.path("")).status();
    assert!(made.unwrap().success());
    let ran = desk.run("outer.tar -o out/").ends(1);
    ran.says(&["outer.tar!x.tar is an archive, not a recording; unpack what is around it first"]);
    // A file of the whole name wins.
    desk.put("x.tar!b.bin", &small(3));
    desk.run("x.tar!b.bin -o whole").ends(0).says(&["x.tar!b.bin: "]);
}

/// What an archive still holds is converted, and that it is cut off is an error.
#[test]
fn a_cut_archive_gives_the_files_in_it() {
    let desk = Desk::new();
    let names = ["a.bin", "b.bin", "c.bin"];
    for (seed, name) in (1..).zip(names) {
        desk.put(name, &small(seed));
    }
    let mut tar = std::process::Command::new("tar");
    assert!(tar.args(["-cf", "x.tar"]).args(names).current_dir(desk.path("")).status().unwrap().success());
    let archive = desk.get("x.tar");
    let second = 512 + small(1).len().next_multiple_of(512);
    let third = second + 512 + small(2).len().next_multiple_of(512);
    // Between two files, within one, and before the mark at the end.
    for (cut, whole, is_partial) in
        [(third, 2, false), (third + 512 + small(3).len() / 2, 2, true), (second + 700, 1, true), (third + 1024, 2, true)]
    {
        desk.put("cut.tar", &archive[..cut]);
        let ran = desk.run("cut.tar -o out/ --report r.json --no-statistics").ends(1);
        ran.says(&["error: cut.tar is cut off or damaged (", "may be missing. Copy the archive again"]);
        let report = desk.json("r.json");
        let inputs = inputs(&report);
        assert_eq!(inputs.len(), whole + usize::from(is_partial) + 1, "{report}");
        assert!(inputs[..whole].iter().all(|input| input["status"] == "converted" && input["losses"] == serde_json::json!([])));
        let partial = inputs.iter().filter(|input| input["losses"].to_string().contains("archive_cut")).count();
        assert_eq!(partial, usize::from(is_partial), "{report}");
        assert_eq!(inputs.last().unwrap()["status"], "failed");
        fs::remove_dir_all(desk.path("out")).unwrap();
        desk.run("stats cut.tar").ends(1).says(&["error: cut.tar is cut off"]);
        desk.run("cut.tar -o one").ends(1).says(&["cut.tar is cut off", "name a directory with -o"]);
        desk.run("cut.tar!a.bin -o one").ends(0);
    }
    // Files in an archive may be the cores of a recording.
    desk.run("x.tar!a.bin@0 x.tar!b.bin@1 -o one --report r.json").ends(0);
    assert_eq!(inputs(&desk.json("r.json"))[1]["core"], 1);
    desk.run("x.tar!d.bin@0 -o one").ends(1).says(&["x.tar has no file d.bin"]);
    // One recording needs no directory.
    let mut tar = std::process::Command::new("tar");
    assert!(tar.args(["-czf", "one.tgz", "a.bin"]).current_dir(desk.path("")).status().unwrap().success());
    desk.run("one.tgz -o one.trace").ends(0).says(&["-> one.trace"]);
    desk.run("x.tar -o one.trace").ends(2).says(&["several inputs"]);
}

#[test]
fn what_is_in_no_known_format_can_be_skipped() {
    let desk = Desk::with("in/a.bin", &small(1));
    desk.put("in/README.md", b"# Recordings\n");
    desk.run("-r in -o out/").ends(1).says(&["  hint: --skip-unrecognised skips what is in no known format"]);
    let ran = desk.run("-r in -o out/ --skip-unrecognised --junit junit.xml --report report.ndjson --no-statistics").ends(0);
    // The table lists it.
    let ran = ran.says(&["in/README.md  -", "  skipped\n", "2 inputs: 1 converted, 1 skipped"]);
    assert!(!ran.stderr.contains("skipped: "));
    desk.run("in/README.md --skip-unrecognised").ends(0).says(&["skipped: in/README.md is in no known format"]);
    assert!(desk.text("junit.xml").contains("<skipped"));
    let lines = desk.text("report.ndjson");
    let lines: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), 3);
    assert_eq!((&lines[1]["inputs"][0]["status"], &lines[1]["statistics"]), (&"converted".into(), &Value::Null));
    assert_eq!((&lines[2]["schema_version"], &lines[2]["inputs"]), (&1.into(), &2.into()));
    desk.put("b.toml", b"rules = ['losses >= 0']");
    let row = ["in/README.md  -", "  skipped\n"];
    for (command, said) in [("stats", &row[..]), ("check -b b.toml", &row[..]), ("info", &["skipped: in/README.md"])] {
        desk.run(&format!("{command} -r in")).ends(1);
        desk.run(&format!("{command} -r in --skip-unrecognised")).ends(0).says(said);
        desk.run(&format!("{command} -v -r in --skip-unrecognised")).ends(0).says(&["skipped: in/README.md"]);
    }
    // A budget that nothing is checked against is not kept.
    let none = "check -q -b b.toml in/README.md --skip-unrecognised --junit none.xml";
    desk.run(none).ends(1).says(&["error: nothing was checked: no input is in a known format"]);
    assert!(desk.text("none.xml").contains("tests=\"0\" failures=\"0\" errors=\"0\" time=\"0.000\""));
    // A damaged input is not unrecognised.
    desk.put("in/empty.bin", b"");
    desk.run("-r in -o out/ --skip-unrecognised").ends(1);
}
