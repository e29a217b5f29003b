//! Very many inputs, slow ones, and a batch that is stopped.

use std::io::Write;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use super::captures::{of_format, small};
use super::{Desk, Ran};

#[test]
fn ten_thousand_inputs_need_few_files_at_a_time() {
    const COUNT: usize = 10_000;
    let desk = Desk::new();
    let bytes = of_format("tonbandgeraet", 1500, 1);
    for index in 0..COUNT {
        desk.put(format!("c/{}/{index}.bin", index % 10), &bytes);
    }
    let script = format!("ulimit -n 40; exec {} -r c -o out/ --report r.json --threads 8", env!("CARGO_BIN_EXE_traceconv"));
    let mut shell = Command::new("sh");
    let ran: Ran = shell.args(["-c", &script]).current_dir(desk.path("")).output().unwrap().into();
    let ran = ran.ends(0);
    assert!(ran.stderr.contains("\n10000 inputs: 10000 converted\n"), "{}", ran.stderr);
    assert_eq!(desk.files("out").len(), COUNT);
    assert_eq!(super::inputs(&desk.json("r.json")).len(), COUNT);
}

#[test]
fn a_slow_pipe_is_waited_for() {
    let desk = Desk::new();
    let bytes = small(1);
    desk.put("a.bin", &bytes);
    let mut command = desk.command("- a.bin -o out/");
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    for piece in bytes.chunks(bytes.len() / 7) {
        stdin.write_all(piece).unwrap();
        stdin.flush().unwrap();
        sleep(Duration::from_millis(30));
    }
    drop(stdin);
    let ran: Ran = child.wait_with_output().unwrap().into();
    ran.ends(0).says(&["\n-      Tonbandgerät", "\na.bin  Tonbandgerät", "2 inputs: 2 converted"]);
    let [one, two] = ["out/stdin.perfetto-trace", "out/a.perfetto-trace"].map(|name| desk.get(name).len());
    // They differ by their names alone.
    assert!(one.abs_diff(two) < 100, "{one} {two}");
}

#[test]
fn a_batch_that_is_stopped_leaves_whole_traces_only() {
    let desk = Desk::new();
    let bytes = of_format("tonbandgeraet", 4_000_000, 1);
    let names: Vec<String> = (0..12).map(|index| format!("{index:02}.bin")).collect();
    names.iter().for_each(|name| desk.put(name, &bytes));
    desk.run("-q 00.bin -o whole --name x").ends(0);
    let mut command = desk.command("-q --name x --threads 3 -o out/ --report r.json");
    let mut child = command.args(&names).stderr(Stdio::piped()).spawn().unwrap();
    let under_way =
        || desk.path("out").is_dir() && desk.files("out").iter().filter(|name| name.starts_with(".traceconv-")).count() > 1;
    while !under_way() && child.try_wait().unwrap().is_none() {
        sleep(Duration::from_millis(1));
    }
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    let ran: Ran = child.wait_with_output().unwrap().into();
    assert_eq!(ran.ends(130).stderr, "");
    let whole = desk.get("whole");
    for name in desk.files("out") {
        assert!(name.ends_with(".perfetto-trace") && desk.get(format!("out/{name}")) == whole, "{name}");
    }
    assert!(!desk.path("r.json").exists());
}
