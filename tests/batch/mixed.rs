//! Two hundred inputs of all formats, ten of which are no recordings, each in a way of its own.

use std::os::unix::fs::symlink;
use std::{fs, iter};

use super::captures::{FORMATS, of_format};
use super::{Desk, inputs};

const COUNT: usize = 200;

/// The places of the broken ones, and the messages about them.
const BROKEN: [(usize, &str); 10] = [
    (0, "is empty (0 bytes)"),
    (17, "is a text file"),
    (31, "is a JPEG picture"),
    (32, "is a directory, not a recording; --recursive takes the files in it"),
    (64, "cannot be opened: No such file"),
    (99, "starts like gzip data, but nothing can be decoded from it"),
    (100, "is in no format known here"),
    (128, "is a Perfetto trace already"),
    (150, "is 0x00 in every byte"),
    (199, "cannot be opened: Too many levels of symbolic links"),
];

fn name(index: usize) -> String {
    format!("captures/{}/run-{index:03}.bin", index % 3)
}

fn put_broken(desk: &Desk, index: usize, trace: &[u8]) {
    let noise: Vec<u8> = iter::successors(Some(12345u32), |x| Some(x.wrapping_mul(1_664_525).wrapping_add(1_013_904_223)))
        .map(|x| (x >> 24) as u8)
        .take(3000)
        .collect();
    let name = name(index);
    match index {
        0 => desk.put(name, b""),
        17 => desk.put(name, "A letter, not a recording. It goes on for a while, in whole sentences.\n".repeat(20).as_bytes()),
        31 => desk.put(name, &[&b"\xff\xd8\xff\xe0\0\x10JFIF\0"[..], &noise].concat()),
        32 => fs::create_dir_all(desk.path(name)).unwrap(),
        64 => symlink("nowhere", desk.path(name)).unwrap(),
        99 => desk.put(name, b"\x1f\x8b\x08\x00\x00\x00"),
        100 => desk.put(name, &noise),
        128 => desk.put(name, trace),
        150 => desk.put(name, &[0; 1000]),
        199 => symlink(desk.path(&name).file_name().unwrap(), desk.path(&name)).unwrap(),
        _ => unreachable!(),
    }
}

fn is_broken(index: usize) -> bool {
    BROKEN.iter().any(|(broken, _)| *broken == index)
}

/// The captures in their directories, and a list of them.
fn desk_with_all() -> Desk {
    let desk = Desk::new();
    for index in (0..COUNT).filter(|index| !is_broken(*index)) {
        let format = FORMATS[index % FORMATS.len()];
        desk.put(name(index), &of_format(format, 2000 + 37 * index as u64, index as u64));
    }
    desk.run(&format!("-q {} -o some.trace", name(1))).ends(0);
    let trace = desk.get("some.trace");
    BROKEN.iter().for_each(|(index, _)| put_broken(&desk, *index, &trace));
    let list: String = (0..COUNT).map(|index| name(index) + "\n").collect();
    desk.put("list", list.as_bytes());
    desk
}

#[test]
fn all_but_the_broken_ones_become_the_traces_that_they_are_alone() {
    let desk = desk_with_all();
    let line = "--files-from list --report report.json --junit junit.xml --report-md report.md";
    let ran = desk.run(&format!("{line} -o out/ --threads 2")).ends(1);

    // In the order of the list, with a line for each that failed.
    let errors: Vec<&str> = ran.stderr.lines().filter(|line| line.starts_with("error: ")).collect();
    assert_eq!(errors.len(), BROKEN.len(), "{errors:#?}");
    for (error, (index, part)) in errors.iter().zip(BROKEN) {
        assert!(error.contains(&format!("{} {part}", name(index))), "{error}");
    }
    assert!(ran.stderr.contains("\n200 inputs: 190 converted, 10 failed\n  -> out/ (190 traces, "), "{}", ran.stderr);
    let rows: Vec<&str> = ran.stderr.lines().filter(|line| line.starts_with("captures/")).collect();
    assert_eq!(rows.len(), COUNT);
    for (index, row) in rows.iter().enumerate() {
        assert!(row.starts_with(&name(index)), "{row}");
        assert!(row.ends_with(if is_broken(index) { "  failed" } else { "  converted" }), "{row}");
    }

    // The names of the files are all different, so no directories are needed to distinguish them.
    assert_eq!(desk.files("out").len(), 190);
    let mut names = Vec::new();
    for index in (0..COUNT).filter(|index| !is_broken(*index)) {
        let alone = format!("run-{index:03}.perfetto-trace");
        desk.run(&format!("-q {} -o alone/", name(index))).ends(0);
        assert!(desk.get(format!("alone/{alone}")) == desk.get(format!("out/{alone}")), "{alone}");
        names.push(alone);
    }
    assert_eq!(desk.files("out"), names);

    // Nothing depends on the number of threads.
    let report = desk.json("report.json");
    let (junit, markdown) = (desk.text("junit.xml"), desk.text("report.md"));
    for threads in [1, 5] {
        let again = desk.run(&format!("{line} -o out{threads}/ --threads {threads}")).ends(1);
        let told = |text: &str| text.split("  -> ").next().unwrap().to_owned();
        assert_eq!(told(&again.stderr), told(&ran.stderr));
        for name in &names {
            assert!(desk.get(format!("out/{name}")) == desk.get(format!("out{threads}/{name}")), "{name}, {threads} threads");
        }
        assert_eq!(desk.text("report.md"), markdown);
        let output = |text: &str| text.replace(&format!("\"out{threads}/"), "\"out/");
        assert_eq!(output(&desk.json("report.json")["inputs"].to_string()), report["inputs"].to_string());
    }

    let inputs = inputs(&report);
    assert_eq!(inputs.len(), COUNT);
    for (index, input) in inputs.iter().enumerate() {
        assert_eq!(input["path"], name(index));
        assert_eq!(input["status"], if is_broken(index) { "failed" } else { "converted" });
        assert_eq!(input["error"].is_string(), is_broken(index));
        if !is_broken(index) {
            assert_eq!(input["format"], FORMATS[index % FORMATS.len()]);
        }
    }
    super::reports::check_junit(&junit, COUNT, 0, BROKEN.len());
    super::reports::check_markdown(&markdown, COUNT);
}

#[test]
fn directories_are_looked_through() {
    let desk = desk_with_all();
    let ran = desk.run("-r captures -o out/ --report report.json").ends(1);
    // The directory among them is empty, so nobody misses it.
    assert!(ran.stderr.contains("\n199 inputs: 190 converted, 9 failed\n"), "{}", ran.stderr);
    let names = desk.files("out");
    assert_eq!(names.len(), 190);
    let is_mirrored = |index: &usize| names.contains(&format!("{}/run-{index:03}.perfetto-trace", index % 3));
    assert!((0..COUNT).filter(|index| !is_broken(*index)).all(|index| is_mirrored(&index)), "{names:?}");
}
