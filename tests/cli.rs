//! The command line as scripts see it: files, standard streams, messages and exit status of the built program.

mod desk;

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

use desk::{Desk, Ran};

/// COBS with its delimiter.
fn frame(payload: &[u8]) -> Vec<u8> {
    assert!(payload.len() < 254);
    let mut framed = Vec::new();
    for block in payload.split(|&byte| byte == 0) {
        framed.push(u8::try_from(block.len() + 1).unwrap());
        framed.extend_from_slice(block);
    }
    framed.push(0);
    framed
}

fn varint(mut value: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
    bytes
}

/// An event with a time and one number.
fn event(id: u8, ts: u64, number: u64) -> Vec<u8> {
    frame(&[&[id][..], &varint(ts), &varint(number)].concat())
}

const SWITCHED_IN: u8 = 0x54;

/// Two tasks that take turns every 1000 ticks, from tick 1000 on.
fn capture(turns: u64) -> Vec<u8> {
    let name = |task: u8, name: &str| frame(&[&[0x5f, task], name.as_bytes()].concat());
    let mut bytes = [frame(&[0x02, 1]), name(1, "blink"), name(2, "radio")].concat();
    for turn in 1..=turns {
        bytes.extend(event(SWITCHED_IN, turn * 1000, 1 + turn % 2));
    }
    bytes
}

/// A capture of 40 turns with an invalid frame in its middle.
fn damaged_capture() -> Vec<u8> {
    let mut bytes = capture(20);
    bytes.extend_from_slice(&[0x09, 0x54, 0x00]);
    (21..=40).for_each(|turn| bytes.extend(event(SWITCHED_IN, turn * 1000, 1 + turn % 2)));
    bytes
}

fn gzip(data: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(data).unwrap();
    encoder.finish().unwrap()
}

fn hex(data: &[u8]) -> String {
    data.iter().map(|byte| format!("{byte:02x} ")).collect()
}

#[test]
fn a_capture_becomes_a_trace_beside_it() {
    let desk = Desk::with("run.bin", &capture(50));
    let ran = desk.run("run.bin").ends(0);
    assert_eq!(desk.names(), ["run.bin", "run.perfetto-trace"]);
    assert!(desk.get("run.perfetto-trace").starts_with(&[0x0a]));
    assert!(ran.stdout.is_empty());
    ran.says(&["run.bin: Tonbandgerät, because ", "FreeRTOS", "nothing lost", "-> run.perfetto-trace ("]);
}

#[test]
fn quiet_is_silent_and_verbose_accounts_for_the_bytes() {
    let bytes = damaged_capture();
    let desk = Desk::with("run.bin", &bytes);
    assert_eq!(desk.run("-q run.bin").ends(0).stderr, "");
    let account = format!("{} bytes: {} decoded, 3 skipped; 43 good frames, 1 bad", bytes.len(), bytes.len() - 3);
    let quiet = desk.run("run.bin").ends(0).says(&["  lost: 1 x "]);
    assert!(!quiet.stderr.contains("decoded,"));
    desk.run("-v run.bin").ends(0).says(&[&account]);
    assert!(desk.run("-q nothing.bin").ends(1).stderr.starts_with("error: nothing.bin cannot be opened"));
    desk.run("-q -v run.bin").ends(2);
}

#[test]
fn help_version_and_wrong_usage() {
    let desk = Desk::new();
    let help = desk.run("--help").ends(0);
    let help = String::from_utf8(help.stdout).unwrap();
    for word in ["INPUT[@CORE]", "--clock-hz", "--from", "--max-lost", "tonbandgeraet", "Exit status", "dump"] {
        assert!(help.contains(word), "{word}");
    }
    assert!(desk.run("--version").ends(0).stdout.starts_with(b"traceconv "));
    desk.run("").ends(2).says(&["INPUT"]);
    desk.run("x --fast").ends(2).says(&["--fast"]);
    desk.run("x --format wav").ends(2).says(&["tonbandgeraet"]);
    desk.run("x --cores 0").ends(2);
    desk.run("x --threads many").ends(2).says(&["a number from 0 to 1024"]);
    desk.run("x --clock-hz 0").ends(2).says(&["a clock does not have 0 Hz"]);
    desk.run("x --from 5").ends(2).says(&["the unit is missing"]);
    desk.run("x --max-lost few").ends(2).says(&["0.5%"]);
    desk.run("x --detail some").ends(2).says(&["overview", "default", "all"]);
    desk.run("dump").ends(2);
}

#[test]
fn wrong_combinations_name_the_way_out() {
    let desk = Desk::with("a.bin", &capture(9));
    desk.put("b.bin", &capture(9));
    desk.run("a.bin b.bin -o one").ends(2).says(&["name a directory with -o that exists or ends in /"]);
    desk.run("a.bin@0 b.bin").ends(2).says(&["name the cores of all"]);
    desk.run("a.bin -o a.bin").ends(2).says(&["is an input itself"]);
    desk.run("a.bin -o - --report -").ends(2).says(&["cannot share standard output"]);
    desk.run("-").ends(2).says(&["name the output with -o"]);
    assert_eq!(desk.names(), ["a.bin", "b.bin"]);
    assert_eq!(desk.get("a.bin"), capture(9));
}

#[test]
fn outputs_go_where_they_are_sent() {
    let desk = Desk::with("run.bin", &capture(50));
    desk.run("run.bin -o trace").ends(0);
    let trace = desk.get("trace");
    assert_eq!(desk.run("run.bin -q -o -").ends(0).stdout, trace);
    fs::create_dir(desk.path("out")).unwrap();
    desk.put("more.bin", &capture(60));
    desk.run("run.bin more.bin -o out").ends(0);
    assert_eq!(desk.get("out/run.perfetto-trace"), trace);
    assert_ne!(desk.get("out/more.perfetto-trace"), trace);
    desk.run_with_stdin("- -o piped --name run", &capture(50)).ends(0);
    assert_eq!(desk.get("piped"), trace);
    desk.run("run.bin -o missing/trace").ends(1).says(&["error: run.bin was not converted: cannot write missing/trace"]);
}

#[cfg(unix)]
#[test]
fn outputs_are_ordinary_files() {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};

    let desk = Desk::with("run.bin", &capture(50));
    desk.run("run.bin").ends(0);
    let mode = |name| fs::metadata(desk.path(name)).unwrap().mode() & 0o7777;
    // The input was made by this process in the ordinary way.
    assert_eq!(mode("run.perfetto-trace"), mode("run.bin"));

    // An existing file keeps its permissions, and a link stays a link.
    fs::set_permissions(desk.path("run.perfetto-trace"), fs::Permissions::from_mode(0o640)).unwrap();
    std::os::unix::fs::symlink("run.perfetto-trace", desk.path("link")).unwrap();
    fs::write(desk.path("run.perfetto-trace"), "old").unwrap();
    desk.run("run.bin -o link").ends(0);
    assert!(fs::symlink_metadata(desk.path("link")).unwrap().is_symlink());
    assert_eq!(mode("run.perfetto-trace"), 0o640);
    assert!(desk.get("run.perfetto-trace").starts_with(&[0x0a]));
    assert_eq!(desk.names(), ["link", "run.bin", "run.perfetto-trace"]);
}

#[cfg(target_os = "linux")]
#[test]
fn devices_are_written_not_replaced() {
    use std::os::unix::fs::FileTypeExt;

    let desk = Desk::with("run.bin", &capture(50));
    desk.run("run.bin -o /dev/null").ends(0);
    assert!(fs::metadata("/dev/null").unwrap().file_type().is_char_device());
    desk.run("run.bin -o /dev/full").ends(1).says(&["cannot write /dev/full", "No space left on device"]);
    desk.run("dump run.bin -o /dev/full").ends(1).says(&["cannot write", "No space left on device"]);
}

#[test]
fn a_failed_conversion_leaves_the_old_trace() {
    let desk = Desk::with("run.bin", b"no recording");
    desk.put("run.perfetto-trace", b"the old one");
    desk.run("run.bin").ends(1);
    desk.run("run.bin --format tonbandgeraet")
        .ends(1)
        .says(&["run.bin gives no event: its 12 bytes have no valid Tonbandgerät frame; bad frames: 1; first at byte 0: "]);
    assert_eq!(desk.get("run.perfetto-trace"), b"the old one");
    assert_eq!(desk.names(), ["run.bin", "run.perfetto-trace"]);
    // Ticks of the kernel have times, and mean nothing else.
    desk.put("ticks.bin", &(0..20).flat_map(|tick| [0xFD, 0xFE, 0xFF, tick, 44, 0, tick, 0, 5]).collect::<Vec<u8>>());
    desk.run("ticks.bin")
        .ends(1)
        .says(&["ticks.bin gives no event: its 180 bytes have 20 valid TraceSniffer TSP frames, but none that is an event"]);
}

#[test]
fn a_wrong_format_is_answered_with_the_right_one() {
    let desk = Desk::with("run.bin", &capture(50));
    for command in ["", "stats "] {
        desk.run(&format!("{command}run.bin --format qs"))
            .ends(1)
            .says(&["run.bin gives no event", "Without --format it is read as Tonbandgerät"]);
    }
    // Some bytes fit by chance.
    desk.run("run.bin --format itm").ends(0).says(&[
        "the bytes do not look like ARM ITM/DWT (SWO), which --format names",
        "; without --format it is read as Tonbandgerät",
    ]);
    desk.put("short.bin", b"\x01A\x01B");
    desk.run("short.bin --format itm")
        .ends(0)
        .says(&["that this is ARM ITM/DWT (SWO) is known from --format only: the bytes fit, but others would too"]);
}

#[test]
fn a_command_that_reads_nothing_leaves_the_old_file() {
    let desk = Desk::with("empty.bin", b"");
    desk.put("run.bin", &capture(50));
    desk.put("budget.toml", b"rules = [\"losses == 0\"]");
    desk.put("kept", b"the old one");
    let check = "check --budget budget.toml";
    for command in ["stats", "stats --json", "stats --csv", "stats --folded", "info", "info --json", check] {
        for input in ["empty.bin", "gone.bin"] {
            desk.run(&format!("{command} {input} -o kept")).ends(1).says(&[&format!("error: {input} ")]);
            assert_eq!(desk.get("kept"), b"the old one", "{command} {input}");
            desk.run(&format!("{command} {input} -o new")).ends(1);
        }
    }
    // Every record of another format is invalid.
    desk.run("dump --format qs run.bin -o kept").ends(1).says(&["run.bin has no valid QP/Spy (QS) record"]);
    assert_eq!(desk.get("kept"), b"the old one");
    assert_eq!(desk.names(), ["budget.toml", "empty.bin", "kept", "run.bin"]);
    // For CI, that a recording cannot be read is a result. So are the others of several.
    desk.run(&format!("{check} empty.bin -o kept --junit junit.xml")).ends(1);
    assert!(desk.text("junit.xml").contains("errors=\"1\""));
    assert!(desk.text("junit.xml").contains("classname=\"traceconv.empty.bin\""));
    desk.run(&format!("{check} -r . -o kept --junit junit.xml")).ends(1);
    assert!(desk.text("junit.xml").contains("<testsuite name=\"./empty.bin\""));
    assert!(desk.text("junit.xml").contains("classname=\"traceconv.empty.bin\""));
    desk.run("stats --csv empty.bin run.bin -o kept").ends(1);
    assert!(desk.text("kept").contains("run.bin,"));
}

#[test]
fn every_dress_of_a_capture_gives_the_same_trace() {
    let bytes = capture(500);
    let desk = Desk::with("run.bin", &bytes);
    desk.run("run.bin -o expected").ends(0);
    let expected = desk.get("expected");
    let base64 = data_encoding::BASE64.encode(&bytes);
    let wrapped: Vec<&[u8]> = base64.as_bytes().chunks(76).collect();
    for (content, name) in [
        (gzip(&bytes), "gzip"),
        (zstd::encode_all(&bytes[..], 3).unwrap(), "zstd"),
        (hex(&bytes).into_bytes(), "hex text"),
        (wrapped.join(&b'\n'), "base64 text"),
        (data_encoding::BASE64.encode(&gzip(&bytes)).into_bytes(), "base64 text around gzip"),
    ] {
        desk.put("dressed", &content);
        desk.run("dressed -o trace --name run --report report").ends(0).says(&[&format!("Tonbandgerät in {name}, because")]);
        assert!(desk.get("trace") == expected, "{name}");
        let input = &desk.json("report")["inputs"][0];
        assert_eq!(
            (input["input_bytes"].as_u64(), input["file_bytes"].as_u64()),
            (Some(bytes.len() as u64), Some(content.len() as u64))
        );
        assert_eq!(desk.run("dump dressed").ends(0).lines(), desk.run("dump run.bin").ends(0).lines());
    }
}

#[test]
fn threads_and_mappings_have_no_influence() {
    let desk = Desk::with("run.bin", &capture(30_000));
    desk.run("run.bin -o expected --threads 1").ends(0);
    for options in ["--threads 2", "--threads 3", "--no-mmap", ""] {
        desk.run(&format!("run.bin -o trace {options}")).ends(0);
        assert!(desk.get("trace") == desk.get("expected"), "{options}");
    }
}

#[test]
fn the_report_accounts_for_everything() {
    let bytes = damaged_capture();
    let desk = Desk::with("run.bin", &bytes);
    desk.run("run.bin --report report.json").ends(0);
    let report = desk.json("report.json");
    assert_eq!((&report["schema_version"], &report["tool_version"]), (&1.into(), &env!("CARGO_PKG_VERSION").into()));
    assert_eq!(report["output_bytes"].as_u64(), Some(desk.get("run.perfetto-trace").len() as u64));
    assert!(report["wall_seconds"].as_f64().unwrap() > 0.0);
    let trace = &report["traces"][0];
    assert_eq!((&trace["inputs"], &trace["output"]), (&Value::from(vec![0]), &"run.perfetto-trace".into()));
    assert_eq!(trace["output_bytes"], report["output_bytes"]);
    let alone: Value = serde_json::from_slice(&desk.run("stats run.bin -q --json").ends(0).stdout).unwrap();
    assert_eq!(trace["statistics"], alone["recordings"][0]["statistics"]);
    assert!(trace["statistics"]["tasks"].as_array().unwrap().len() > 1);
    let input = &report["inputs"][0];
    for (field, expected) in [
        ("path", Value::from("run.bin")),
        ("format", "tonbandgeraet".into()),
        ("input_bytes", bytes.len().into()),
        ("decoded_bytes", (bytes.len() - 3).into()),
        ("skipped_bytes", 3.into()),
        ("frames_ok", 43.into()),
        ("frames_bad", 1.into()),
        ("first_ns", 1000.into()),
        ("last_ns", 40_000.into()),
        ("cores", 1.into()),
        ("output", "run.perfetto-trace".into()),
        ("error", Value::Null),
    ] {
        assert_eq!(input[field], expected, "{field}");
    }
    assert!(input["detected_because"].as_str().unwrap().contains("frames"));
    assert!(input["events"].as_u64().unwrap() >= 40);
    let losses = input["losses"].as_array().unwrap();
    assert_eq!((losses.len(), &losses[0]["count"]), (1, &1.into()));
    assert_eq!(losses[0]["first_offset"], capture(20).len());
    assert!(losses[0]["kind"].is_string() && losses[0]["at_least_lost"].is_u64());

    let ran = desk.run("run.bin -q --report -").ends(0);
    let printed: Value = serde_json::from_slice(&ran.stdout).unwrap();
    assert_eq!(printed["inputs"], report["inputs"]);
    desk.run("run.bin --report run.bin/report.json").ends(1).says(&["error: cannot write run.bin/report.json"]);
}

#[test]
fn a_batch_goes_on_after_a_failure() {
    let desk = Desk::with("a.bin", &capture(50));
    desk.put("b.bin", b"");
    desk.put("c.bin", &damaged_capture());
    let ran = desk.run("a.bin b.bin c.bin gone.bin --report report --strict").ends(1);
    ran.says(&[
        "error: b.bin is empty (0 bytes)",
        "error: gone.bin cannot be opened",
        "error: c.bin was converted, but with losses",
    ]);
    assert_eq!(desk.names(), ["a.bin", "a.perfetto-trace", "b.bin", "c.bin", "c.perfetto-trace", "report"]);
    let report = desk.json("report");
    let inputs = report["inputs"].as_array().unwrap();
    let paths: Vec<_> = inputs.iter().map(|input| input["path"].as_str().unwrap()).collect();
    assert_eq!(paths, ["a.bin", "b.bin", "c.bin", "gone.bin"]);
    assert!(inputs[0]["error"].is_null() && inputs[1]["error"].as_str().unwrap().starts_with("b.bin is empty"));
    for input in inputs {
        let bytes = |field: &str| input[field].as_u64().unwrap();
        assert_eq!(bytes("input_bytes"), bytes("decoded_bytes") + bytes("skipped_bytes"));
    }
}

#[test]
fn loss_limits_give_status_3_and_a_trace() {
    let desk = Desk::with("run.bin", &damaged_capture());
    desk.put("good.bin", &capture(50));
    desk.run("run.bin").ends(0);
    desk.run("run.bin -q --strict").ends(3).says(&["beyond the limit set by --strict"]);
    desk.run("run.bin --max-lost 0").ends(3).says(&["beyond the limit set by --max-lost"]);
    desk.run("run.bin --max-lost 0.1%").ends(3);
    desk.run("run.bin --max-lost 1").ends(0);
    desk.run("run.bin --max-lost 5%").ends(0);
    desk.run("good.bin --strict --max-lost 0").ends(0);
    desk.run("good.bin run.bin --strict").ends(3);
    assert!(desk.get("run.perfetto-trace").starts_with(&[0x0a]));
}

#[test]
fn what_is_no_recording_is_told_in_a_sentence() {
    let desk = Desk::with("empty", b"");
    desk.put("text", b"Dear reader, this is no recording.\n");
    desk.put("photo", b"\xff\xd8\xff\xe0\x00\x10JFIF\x00\x01\x01\x00\x00H\x00H\x00\x00");
    desk.put("program", b"\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x03\x00");
    desk.put("erased", &[0xff; 5000]);
    desk.put("noise", &[0x81, 0xfe, 0x93, 0xa7, 0xc5, 0xe1, 0x99, 0x8d, 0xbb]);
    desk.put("broken.gz", b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\xff\xff\xff");
    desk.put("photo.gz", &gzip(b"\xff\xd8\xff\xe0\x00\x10JFIF\x00\x01\x01\x00\x00H\x00H\x00\x00"));
    fs::create_dir(desk.path("folder")).unwrap();
    desk.put("run.bin", &capture(50));
    desk.run("run.bin -o trace").ends(0);
    let before = desk.names();
    for (name, part) in [
        ("empty", "empty is empty (0 bytes); check that"),
        ("folder", "folder is a directory, not a recording"),
        ("gone", "gone cannot be opened: "),
        ("text", "text is a text file (it starts with \"Dear reader, this is no recording.\"), not a recording"),
        ("photo", "photo is a JPEG picture, not a recording"),
        ("photo.gz", "photo.gz is a JPEG picture (once decoded from gzip), not a recording"),
        ("program", "program is an ELF program, not a recording"),
        ("erased", "erased is 0xFF in every byte, as erased or never written memory has it"),
        ("trace", "trace is a Perfetto trace already, not a recording"),
        ("noise", "noise is in no format known here: its first bytes are 81 fe 93 a7 c5 e1 99 8d bb."),
        ("broken.gz", "broken.gz starts like gzip data, but nothing can be decoded from it"),
    ] {
        desk.run(name).ends(1).says(&[&format!("error: {part}")]);
        desk.run(&format!("dump {name}")).ends(1).says(&[&format!("error: {part}")]);
    }
    desk.run("noise").says(&["--format NAME (tonbandgeraet"]);
    desk.run("text").says(&["or a log with bytes in hex or lines `SYS-T RAW DATA: …`"]);
    let photo = desk.run("photo");
    assert!(photo.stderr.ends_with("name its format with --format\n"), "{}", photo.stderr);
    assert_eq!(desk.names(), before);
}

#[test]
fn a_named_format_is_not_questioned() {
    let desk = Desk::with("odd", &[b"\x7fELF\x00".to_vec(), capture(3)].concat());
    desk.run("odd").ends(1).says(&["is an ELF program"]);
    desk.run("odd --format tonbandgeraet").ends(0).says(&["because given by --format"]);
}

#[test]
fn a_cut_gzip_file_gives_what_is_in_it_and_counts_as_a_loss() {
    let packed = gzip(&capture(20_000));
    let desk = Desk::with("run.bin.gz", &packed[..packed.len() / 2]);
    desk.run("run.bin.gz --report report").ends(0).says(&["the compressed stream is damaged", "[compressed_stream_damaged]"]);
    let input = &desk.json("report")["inputs"][0];
    assert!(input["events"].as_u64().unwrap() > 1000);
    let losses = input["losses"].as_array().unwrap();
    let loss = losses.iter().find(|loss| loss["kind"] == "compressed_stream_damaged").unwrap();
    assert_eq!((&loss["count"], &loss["first_offset"]), (&1.into(), &input["input_bytes"]));
    desk.run("run.bin.gz --strict").ends(3);
    desk.run("dump run.bin.gz").ends(0).says(&["warning: run.bin.gz: the gzip stream breaks off at byte"]);
}

#[test]
fn split_recordings_become_one_trace() {
    let desk = Desk::with("left.bin", &capture(50));
    desk.put("right.bin", &capture(70));
    desk.put("odd@1", &capture(9));
    desk.run("left.bin@0 right.bin@1 --report report").ends(0);
    assert!(
        desk.names().contains(&"left.perfetto-trace".to_string()) && !desk.names().contains(&"right.perfetto-trace".to_string())
    );
    let report = desk.json("report");
    let cores: Vec<_> = report["inputs"].as_array().unwrap().iter().map(|input| input["core"].as_u64()).collect();
    assert_eq!(cores, [Some(0), Some(1)]);
    assert_eq!(report["traces"][0]["inputs"], Value::from(vec![0, 1]));

    // A file that has the whole name wins.
    desk.run("odd@1 --report report").ends(0);
    assert_eq!(
        (&desk.json("report")["inputs"][0]["core"], desk.names().contains(&"odd@1.perfetto-trace".into())),
        (&Value::Null, true)
    );
    desk.run("odd@1@1 -o trace --report report").ends(0);
    assert_eq!(desk.json("report")["inputs"][0]["core"], 1);
    assert!(desk.run("dump odd@1@1").ends(0).lines().iter().any(|line| line["core"] == 1));

    desk.run("left.bin@0 gone.bin@1 -o other --report report")
        .ends(1)
        .says(&["error: gone.bin cannot be opened", "error: left.bin is one recording with an input that cannot be used"]);
    assert!(!desk.names().contains(&"other".to_string()));
}

/// What is wrong with one of them first, and once.
#[test]
fn a_recording_that_cannot_be_read_is_one_message() {
    let desk = Desk::new();
    desk.put("left.bin", &capture(9));
    desk.put("right.bin", &capture(9));
    desk.put("other.txt", &fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/demo/console.txt")).unwrap());
    desk.put("b.toml", b"rules = ['losses >= 0']");
    for command in ["", "stats", "info", "check -b b.toml"] {
        let said = desk.run(&format!("{command} -q left.bin@0 right.bin@1 gone.bin@2")).ends(1).stderr;
        let [first, second] = said.lines().collect::<Vec<_>>()[..] else { panic!("{command}: {said}") };
        assert!(first.starts_with("error: gone.bin cannot be opened"), "{command}: {said}");
        assert_eq!(second, "error: left.bin, right.bin are one recording with an input that cannot be used", "{command}");
        let said = desk.run(&format!("{command} -q left.bin@0 other.txt@1")).ends(1).stderr;
        assert!(said.starts_with("error: left.bin, other.txt ") && said.lines().count() == 1, "{command}: {said}");
    }
}

#[test]
fn the_clock_can_be_named() {
    let desk = Desk::with("run.bin", &capture(42));
    let last_ns = |options: &str| {
        desk.run(&format!("run.bin --report report {options}")).ends(0);
        desk.json("report")["inputs"][0]["last_ns"].as_u64().unwrap()
    };
    assert_eq!(last_ns(""), 42_000);
    assert_eq!(last_ns("--clock-hz 168M"), 250_000);
    assert_eq!(last_ns("--clock-hz 32768"), 1_281_738_281);
    assert_eq!(last_ns("--clock-hz 1/3"), 126_000_000_000_000);
    let clock = &desk.json("report")["inputs"][0]["clock"];
    assert_eq!((&clock["ns_numerator"], &clock["ns_denominator"]), (&3_000_000_000u64.into(), &1.into()));
}

/// All times depend on which of them is right.
#[test]
fn an_option_that_contradicts_the_capture_is_named() {
    let demo = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/demo");
    let desk = Desk::with("demo.bin", &fs::read(demo.join("demo.bin")).unwrap());
    for name in ["controller.SVDat", "stm.stp", "console.txt", "dpp.bin"] {
        desk.put(name, &fs::read(demo.join(name)).unwrap());
    }
    for (line, recorded) in [
        ("demo.bin --clock-hz 80M", "40 MHz; the 80 MHz that an option gives"),
        ("controller.SVDat --clock-hz 1M", "MHz; the 1 MHz that an option gives"),
        ("stm.stp --stp-freq 7M", "MHz; the 7 MHz that an option gives"),
        ("console.txt --syst-clock-hz 7M", "1 MHz; the 7 MHz that an option gives"),
    ] {
        desk.run(&format!("{line} -o t")).ends(0).says(&["hint: The capture records a clock of ", recorded]);
    }
    for line in ["demo.bin --clock-hz 40M", "demo.bin --clock-hz 39M", "console.txt --syst-clock-hz 1M"] {
        // 39 MHz are 25.6 ns, and the capture has 25 in whole nanoseconds.
        assert!(!desk.run(&format!("{line} -o t")).ends(0).stderr.contains("that an option gives"), "{line}");
    }
    desk.run("dpp.bin -o t --qs-version 6.9.4 --qs-sizes T2Q1").ends(0).says(&[
        "--qs-version 6.9.4 was not used: the capture records 8.1.2.",
        "--qs-sizes T2 was not used: the capture records T4.",
    ]);
    assert!(!desk.run("dpp.bin -o t --qs-version 8.1.2 --qs-sizes T4").ends(0).stderr.contains("was not used"));
    desk.run("dpp.bin -o t --qs-tick-hz 1k").ends(0);
}

#[test]
fn a_time_range_that_misses_the_capture_is_told() {
    let desk = Desk::with("run.bin", &capture(1000));
    let warned = |options: &str, quiet: &str| {
        let ran = desk.run(&format!("run.bin -o trace --report report {options} {quiet}")).ends(0);
        let in_report = desk.json("report")["inputs"][0]["warnings"].as_array().unwrap().len();
        let is_said = ran.stderr.contains("warning: nothing is in the time range");
        assert_eq!(is_said, in_report == 1 && quiet.is_empty(), "{options}: {}", ran.stderr);
        assert!(quiet.is_empty() || ran.stderr.is_empty(), "{}", ran.stderr);
        in_report == 1
    };
    for quiet in ["", "-q"] {
        assert!(warned("--from 2s", quiet));
        assert!(warned("--from +2s --to +3s", quiet));
        assert!(!warned("--from 900us", quiet));
        assert!(!warned("--from +1000us", quiet) || warned("--from +1001us", quiet));
        assert!(!warned("--to 2s", quiet));
        assert!(!warned("", quiet));
    }
    desk.run("run.bin -o trace --from 2s").ends(0).says(&["--from is 2.000000000 s, after the last event (events are from "]);
}

#[test]
fn options_reach_the_trace() {
    let desk = Desk::with("run.bin", &capture(1000));
    let trace = |options: &str| {
        desk.run(&format!("run.bin -o trace {options}")).ends(0);
        desk.get("trace")
    };
    let whole = trace("");
    assert!(trace("--from +100us --to +200us").len() < whole.len() / 2);
    assert!(trace("--from 900us").len() < whole.len() / 2);
    assert!(trace("--to 100us").len() < whole.len() / 2);
    assert_ne!(trace("--detail all"), whole);
    let named = trace("--name pump-controller");
    assert!(named.windows(15).any(|window| window == b"pump-controller"));
    assert!(!whole.windows(15).any(|window| window == b"pump-controller"));
    trace("--cores 2");
}

#[test]
fn dump_lists_every_record_in_file_order() {
    let bytes = damaged_capture();
    let desk = Desk::with("run.bin", &bytes);
    let ran = desk.run("dump run.bin").ends(0);
    assert_eq!(ran.stderr, "");
    let lines = ran.lines();
    assert_eq!(lines.len(), 44);
    let first = std::str::from_utf8(&ran.stdout).unwrap().lines().next().unwrap();
    assert!(first.starts_with("{\"offset\":0,\"record\":\"ts_resolution_ns\""), "{first}");
    assert!(lines[1]["ts"].is_null() && lines[1]["ns"].is_null() && lines[1]["name"] == "blink");
    let third = &lines[3];
    assert_eq!(
        (&third["record"], &third["ts"], &third["ns"], &third["task_id"]),
        (&"task_switched_in".into(), &1000.into(), &1000.into(), &2.into())
    );
    let invalid: Vec<_> = lines.iter().filter(|line| line["record"] == "invalid").collect();
    assert_eq!(invalid.len(), 1);
    assert_eq!(invalid[0]["offset"], capture(20).len());
    assert!(invalid[0]["bytes"].as_str().unwrap().starts_with("0954") && invalid[0]["reason"].is_string());
    let offsets: Vec<_> = lines.iter().map(|line| line["offset"].as_u64().unwrap()).collect();
    assert!(offsets.is_sorted());

    desk.run("dump run.bin -o list").ends(0);
    assert_eq!(desk.get("list"), ran.stdout);
    assert_eq!(desk.run_with_stdin("dump -", &bytes).ends(0).stdout, ran.stdout);
    let text = desk.run("dump --text run.bin").ends(0).stdout;
    let text = String::from_utf8(text).unwrap();
    assert_eq!(text.lines().count(), 44);
    assert!(text.lines().any(|line| line.ends_with("task_switched_in  task_id=2")), "{text}");
    let slower = desk.run("dump --clock-hz 1M run.bin").ends(0).lines();
    assert_eq!(slower[3]["ns"], 1_000_000);
}

#[test]
fn a_reader_that_has_enough_ends_a_dump_quietly() {
    let desk = Desk::with("run.bin", &capture(100_000));
    let mut child = desk.command("dump run.bin").stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let ran = Ran::from(child.wait_with_output().unwrap()).ends(0);
    assert_eq!(ran.stderr, "");
}

#[test]
fn a_reader_that_has_enough_of_a_report_is_no_failure() {
    let desk = Desk::with("run.bin", &capture(100));
    for line in
        ["run.bin -q --report -", "run.bin -q --report-md -", "run.bin -q --junit -", "stats -q run.bin", "info -q run.bin"]
    {
        let mut command = desk.command(line);
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let ran = Ran::from(command.stdout(writer).output().unwrap()).ends(0);
        assert_eq!(ran.stderr, "", "{line}");
    }
}

#[test]
fn a_place_that_cannot_be_written_is_named_as_it_was_typed() {
    let desk = Desk::with("run.bin", &capture(9));
    let ran = desk.run("run.bin -o none/a.perfetto-trace").ends(1);
    ran.says(&["cannot write none/a.perfetto-trace", "there is no directory none; make it"]);
    for line in ["stats run.bin -o none/s", "dump run.bin -o none/d"] {
        let ran = desk.run(line).ends(1).says(&["there is no directory none"]);
        assert!(!ran.stderr.contains(".tmp") && !ran.stderr.contains(desk.dir.path().to_str().unwrap()), "{}", ran.stderr);
    }
    if cfg!(target_os = "linux") {
        // The directory of a report is created: to make it is no advice where that cannot be done.
        std::fs::write(desk.path("budget.toml"), "rules = ['events > 0']").unwrap();
        for line in
            ["run.bin -q --report", "run.bin -q --report-md", "run.bin -q --junit", "check -b budget.toml run.bin -q --junit"]
        {
            let said = desk.run(&format!("{line} /proc/none/r")).ends(1).stderr;
            assert!(said.contains("cannot make the directory /proc/none: ") && !said.contains("make it"), "{line}: {said}");
        }
        let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
        let ran = Ran::from(desk.command("run.bin -q --report -").stdout(full).output().unwrap()).ends(1);
        ran.says(&["cannot write the report to standard output: No space left on device"]);
    }
}

#[test]
fn a_reader_of_a_trace_that_goes_away_is_told() {
    let desk = Desk::with("run.bin", &capture(100_000));
    let mut child = desk.command("run.bin -o -").stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    Ran::from(child.wait_with_output().unwrap()).ends(1).says(&["cannot write the trace to standard output"]);
}

#[cfg(unix)]
fn send(signal: &str, child: &std::process::Child) {
    // It may be over already.
    Command::new("kill").args([signal, &child.id().to_string()]).stderr(Stdio::null()).status().unwrap();
}

#[cfg(unix)]
#[test]
fn a_signal_ends_the_wait_for_input() {
    for signal in ["-INT", "-TERM"] {
        let desk = Desk::new();
        let mut child = desk.command("- -o trace").stdin(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        // More than any pipe holds: when this is done, the program is reading.
        stdin.write_all(&vec![1; 4 << 20]).unwrap();
        send(signal, &child);
        Ran::from(child.wait_with_output().unwrap()).ends(130);
        drop(stdin);
        assert_eq!(desk.names(), [""; 0]);
    }
}

#[cfg(unix)]
#[test]
fn a_signal_leaves_no_half_file() {
    let desk = Desk::with("run.bin", &capture(2_000_000));
    let has_temporary = |desk: &Desk| desk.names().iter().any(|name| name.starts_with(".traceconv-"));
    let mut child = desk.command("-q run.bin -o trace").spawn().unwrap();
    while !has_temporary(&desk) && child.try_wait().unwrap().is_none() {
        std::thread::yield_now();
    }
    send("-TERM", &child);
    // On a fast machine it may be done before the signal comes; then the trace is whole.
    let expected: &[&str] = match child.wait().unwrap().code() {
        Some(130) => &["run.bin"],
        Some(0) => &["run.bin", "trace"],
        other => panic!("{other:?}"),
    };
    assert_eq!(desk.names(), expected);
}

#[test]
fn a_file_called_like_a_command_is_given_with_its_directory() {
    let desk = Desk::with("dump", &capture(50));
    desk.run("./dump").ends(0);
    assert!(Path::new(&desk.path("dump.perfetto-trace")).exists());
}

/// A few bytes must not fill a disk.
#[test]
fn what_decompresses_to_too_much_is_refused() {
    let desk = Desk::with("bomb.gz", &gzip(&gzip(&vec![0; 50_000_000])));
    desk.run("bomb.gz -o t --max-decompressed 1M")
        .ends(1)
        .says(&["decompresses to more than 1000000 bytes", "--max-decompressed"]);
    assert_eq!(desk.names(), ["bomb.gz"]);
    desk.put("run.bin.gz", &gzip(&capture(50)));
    desk.run("run.bin.gz -o t --max-decompressed 1M").ends(0);
    desk.run("run.bin.gz -o t --max-decompressed much").ends(2).says(&["is not a number of bytes"]);
}

#[test]
fn slips_of_the_finger_are_explained() {
    let desk = Desk::with("a.bin", &capture(50));
    desk.run("a.bin --threads -1").ends(2).says(&["a number from 0 to 1024 is expected"]);
    desk.run("a.bin --from -5ms").ends(2).says(&["times are not negative"]);
    desk.run("a.bin").ends(0);
    desk.run("a.perfetto-trace").ends(2).says(&["If it is a Perfetto trace, it needs no conversion"]);
    desk.run("a.perfetto-trace -o b").ends(1).says(&["a Perfetto trace already"]);
    // A list that an editor on Windows wrote.
    desk.put("list", b"\xef\xbb\xbfa.bin\r\n");
    desk.run("--files-from list -o out/").ends(0);
    desk.run("info a.bin -o contents.txt").ends(0);
    assert!(desk.text("contents.txt").contains("events:"));
    let dumped = desk.run("dump a.bin@0 a.bin@1").ends(0).lines();
    assert!(dumped.iter().any(|line| line["core"] == 1) && dumped.iter().any(|line| line["core"] == 0));
    desk.run("dump a.bin a.bin").ends(2).says(&["dump lists one recording"]);
}

#[cfg(unix)]
#[test]
fn a_link_to_nothing_makes_what_it_names() {
    let desk = Desk::with("a.bin", &capture(50));
    std::os::unix::fs::symlink("real.trace", desk.path("link")).unwrap();
    desk.run("a.bin -o link").ends(0);
    assert!(desk.path("link").is_symlink() && desk.path("real.trace").is_file());
}

#[test]
fn dumps_in_hex_are_read() {
    let desk = Desk::new();
    let bytes = capture(50);
    let lines = bytes.chunks(16).enumerate().map(|(line, bytes)| {
        let pairs: Vec<String> = bytes.chunks(2).map(|two| two.iter().map(|byte| format!("{byte:02x}")).collect()).collect();
        format!("{:08x}: {:<39}  ........\n", line * 16, pairs.join(" "))
    });
    desk.put("xxd.txt", lines.collect::<String>().as_bytes());
    desk.put("a.bin", &bytes);
    desk.run("xxd.txt -o x --name a").ends(0).says(&["Tonbandgerät in hex dump"]);
    desk.run("a.bin -o y").ends(0);
    assert!(desk.get("x") == desk.get("y"));
    let od = |offset: &dyn Fn(usize) -> String| {
        let line = |(line, bytes): (usize, &[u8])| {
            let words: Vec<String> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            format!("{} {}\n", offset(line * 16), words.join(" "))
        };
        bytes.chunks(16).enumerate().map(line).collect::<String>() + &offset(bytes.len()) + "\n"
    };
    for dump in [od(&|at| format!("{at:06x}")), od(&|at| format!("{at:07o}")), od(&|at| format!("{at:07}"))] {
        desk.put("od.txt", dump.as_bytes());
        desk.run("od.txt -o x --name a").ends(0).says(&["Tonbandgerät in hex dump"]);
        assert!(desk.get("x") == desk.get("y"));
    }
    let words: String = (0..40).map(|line| format!("{:07o} 000403 001002\n", line * 4)).collect();
    desk.put("words.txt", words.as_bytes());
    desk.run("words.txt").ends(1).says(&["not a recording in a format known here"]);
}

#[test]
fn recordings_that_were_taken_for_text_are_restored_or_named() {
    let mut bytes = Vec::new();
    let format = traceconv::input::detect::by_name("qs").unwrap();
    drop(format.generate(100_000, 1, &mut bytes).unwrap());
    let desk = Desk::with("a.bin", &bytes);
    let as_characters: String = bytes.iter().map(|&byte| char::from(byte)).collect();
    let line_feeds = bytes.iter().filter(|&&byte| byte == b'\n').count();
    let had =
        format!("hint: About the file: a text mode had put a carriage return before each of {line_feeds} line feeds. Record");
    for (content, said) in [
        (as_characters.replace('\n', "\r\n").chars().map(|c| c as u8).collect(), ["in CR LF text mode, because", &had]),
        (
            as_characters.clone().into_bytes(),
            ["in UTF-8 text, because", "bytes had been written in UTF-8, as characters. Record"],
        ),
    ] {
        desk.put("b.bin", &content);
        desk.run("b.bin --strict --report report").ends(0).says(&said).says(&["nothing lost"]);
        assert_eq!(desk.run("dump b.bin").ends(0).lines(), desk.run("dump a.bin").ends(0).lines());
        assert_eq!(desk.json("report")["inputs"][0]["repairs"][0]["kind"], "text_mode");
    }
    let cooked: Vec<u8> =
        bytes.iter().filter(|byte| !matches!(byte, 0x11 | 0x13)).map(|&byte| if byte == b'\r' { b'\n' } else { byte }).collect();
    desk.put("c.bin", &cooked);
    let said = format!("hint: The input is data in which none of {} bytes is 0D or 11 or 13,", cooked.len());
    desk.run("c.bin").ends(0).says(&[&said, "`stty raw`"]);
    desk.put("d.bin", String::from_utf8_lossy(&bytes).as_bytes());
    desk.run("d.bin").ends(1).says(&["d.bin is binary data that a program has read as UTF-8:", "record again, as binary data"]);
    desk.put("e.bin", &bytes.iter().map(|byte| byte & 0x7f).collect::<Vec<u8>>());
    desk.run("e.bin").ends(1).says(&["e.bin is binary data without bit 7 (none of"]);
}

/// A name that is misspelled has no effect, and that is said, with the names that there are.
#[test]
fn options_that_match_nothing_are_told() {
    let desk = Desk::new();
    for name in ["dpp.bin", "pump.bin", "pump.elf", "console.txt", "app.xml", "blinky.swo", "sniffer.bin", "gateway.trx"] {
        desk.put(name, &fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/demo").join(name)).unwrap());
    }
    desk.put("empty", b"# nothing\n");
    desk.put("other.trxc", b"Start\n60000, Other, OT, (0,0,0), (0,0,0), value\nEnd\n");
    for (line, said) in [
        ("dpp.bin --qs-counter PHILO:0", "no application record has the name PHILO. There are: LOAD, PHILO_STAT."),
        ("dpp.bin --qs-counter LOAD:9", "no record LOAD in the capture has a number as element 9"),
        ("gateway.trx --tracex-events other.trxc", "--tracex-events other.trxc: none of the 1 user events that it names is"),
        ("pump.bin --function nope --elf pump.elf", "leave out all calls. `traceconv stats` lists"),
        ("pump.bin --min-duration 1s", "leave out all calls; without --elf"),
        ("blinky.swo --itm-port 9=text", "--itm-port 9: nothing was written to this port. Ports with writes: 0, 1."),
        ("blinky.swo --itm-sample-period 9", "--itm-sample-period was not used"),
        ("sniffer.bin --cores 2", "--cores does not apply to TraceSniffer TSP, so it was not used"),
        ("sniffer.bin --tsp-len 100=3", "--tsp-len 100=3: the capture has no packet of this id"),
        (
            "console.txt --collateral app.xml --syst-short-guid 11111111-1111-1111-1111-111111111111",
            "no client of the collateral has this GUID: radio, boot.",
        ),
    ] {
        desk.run(&format!("{line} -o out")).ends(0).says(&["  hint: ", said]);
    }
    for (line, said) in [
        ("dpp.bin --qs-dict empty", "--qs-dict: empty: it holds no name, size or version"),
        ("blinky.swo --tpiu-source 5", "no packets of this source, but of: 1, 2"),
    ] {
        desk.run(&format!("{line} -o none")).ends(1).says(&[said]);
    }
    // No recording of these formats says how long a tick is: once, and not as a warning for each file of a batch.
    for line in ["blinky.swo", "gateway.trx", "dpp.bin"] {
        let ran = desk.run(&format!("{line} -o out")).ends(0).says(&["(assumed, ", " is assumed. Give --clock-hz"]);
        assert!(!ran.stderr.contains("warning:"), "{}", ran.stderr);
    }
    // Options that the recording contradicts make its times doubtful.
    for (option, said) in [
        ("--timer-max 5", "--timer-max is 5, but the timer's values go up to 992"),
        ("--tick-mod 4", "--tick-mod is 4, but the tick count has larger values, at least 76 times"),
        ("--timer-dir down", "only 16 of 997 neighbours of the same tick agree with --timer-dir"),
        ("--timer-hz 5k", "--timer-hz gives 5.0 counts to a tick"),
    ] {
        desk.run(&format!("sniffer.bin {option} -o out")).ends(0).says(&["  warning: ", said]);
        desk.run(&format!("sniffer.bin {option} -o out --strict")).ends(3);
    }
    let fitting = desk.run("sniffer.bin --timer-max 999 --tick-mod 65536 --timer-dir up --timer-hz 1M -o out").ends(0);
    assert!(!fitting.stderr.contains("warning") && !fitting.stderr.contains("hint"), "{}", fitting.stderr);
}

/// Rings of two cores have lengths and clocks of their own.
#[test]
fn each_input_of_a_recording_has_its_facts() {
    let desk = Desk::new();
    for name in ["components.trx", "services.trx"] {
        desk.put(name, &fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/tracex").join(name)).unwrap());
    }
    desk.run("components.trx@0 services.trx@1 -o out --report report").ends(0);
    let report = desk.json("report");
    let rings: Vec<&str> = (0..2).filter_map(|input| report["inputs"][input]["details"][0]["value"].as_str()).collect();
    assert_eq!(rings, ["19 entries with 19 events, all of them used", "62 entries with 62 events, all of them used"]);
}
