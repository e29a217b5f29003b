//! `traceconv info` says the same as a conversion, as statistics, and as itself with another number of threads.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// The captures for the README, which are of several formats.
fn demo(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/demo").join(name)
}

fn run(arguments: &[&str], inputs: &[PathBuf]) -> (i32, String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_traceconv")).args(arguments).args(inputs).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

fn json(arguments: &[&str], inputs: &[PathBuf]) -> Value {
    let (status, stdout, stderr) = run(arguments, inputs);
    assert_eq!(status, 0, "{stderr}");
    serde_json::from_str(&stdout).unwrap()
}

fn sum(list: &Value, field: &str) -> u64 {
    list.as_array().unwrap().iter().map(|item| item[field].as_u64().unwrap()).sum()
}

#[test]
fn it_says_what_a_conversion_says() {
    let dir = tempfile::tempdir().unwrap();
    for name in ["demo.bin", "damaged.bin", "firmware.bin", "dpp.bin", "console.txt", "stm.stp"] {
        let input = [demo(name)];
        let info = json(&["info", "-q", "--json"], &input);
        let recording = &info["recordings"][0];
        let out = dir.path().join("trace");
        let mut report = json(&["-q", "--report", "-", "-o", out.to_str().unwrap()], &input);
        let converted = report["inputs"][0].as_object_mut().unwrap();
        for (field, value) in recording["inputs"][0].as_object().unwrap() {
            match field.as_str() {
                "output" | "status" => assert!(value.is_null()),
                "wall_seconds" => assert_eq!(value, 0.0),
                // Losses that only drawing notices have no place in the file: they are not reported here.
                "repairs" => {
                    let (reported, all) = (value.as_array().unwrap(), converted[field].as_array().unwrap());
                    assert!(reported.iter().all(|case| all.contains(case)), "{name}: {reported:?} {all:?}");
                    assert!(
                        all.iter().all(|case| reported.contains(case) || case["first_offset"].is_null()),
                        "{name}: {reported:?} {all:?}"
                    );
                }
                _ => assert_eq!(value, &converted[field], "{name}: {field}"),
            }
        }
        let events = converted["events"].as_u64().unwrap();
        let contents = &recording["contents"];
        for (list, field) in [("events", "count"), ("sessions", "events"), ("cores", "events")] {
            assert_eq!(sum(&contents[list], field), events, "{name}: {list}");
        }
        let duration_ns = converted["last_ns"].as_u64().unwrap() - converted["first_ns"].as_u64().unwrap();
        assert_eq!(recording["duration_ns"].as_u64(), Some(duration_ns));
        let rate = recording["events_per_second"].as_f64().unwrap();
        assert!((rate - events as f64 * 1e9 / duration_ns as f64).abs() < 0.01, "{name}: {rate}");
        for arguments in [["info", "-q", "--json", "--threads", "1"], ["info", "-q", "--json", "--threads", "3"]] {
            assert_eq!(json(&arguments, &input), info, "{name}: {arguments:?}");
        }
    }
}

#[test]
fn it_names_what_statistics_name() {
    let input = [demo("demo.bin")];
    let contents = json(&["info", "-q", "--json"], &input)["recordings"][0]["contents"].clone();
    let statistics = json(&["stats", "-q", "--json"], &input)["recordings"][0]["statistics"].clone();
    for list in ["tasks", "interrupts", "objects", "lanes"] {
        let keys = |of: &Value| -> Vec<(String, String)> {
            let items = of[list].as_array().unwrap().iter();
            let mut keys: Vec<_> = items.map(|item| (item["name"].to_string(), item["number"].to_string())).collect();
            keys.sort();
            keys
        };
        let (named, used) = (keys(&contents), keys(&statistics));
        assert!(!used.is_empty() && used.iter().all(|key| named.contains(key)), "{list}: {named:?} {used:?}");
    }
    let roles: Vec<_> = contents["tasks"].as_array().unwrap().iter().map(|task| task["role"].as_str().unwrap()).collect();
    assert_eq!((roles.iter().filter(|role| **role == "idle").count(), roles.len()), (1, 12));
}

#[test]
fn cores_sessions_functions_and_failures() {
    let cores = json(&["info", "-q", "--json"], &[demo("dual-0.bin@0"), demo("dual-1.bin@1")]);
    let recordings = cores["recordings"].as_array().unwrap();
    assert_eq!((recordings.len(), recordings[0]["inputs"].as_array().unwrap().len()), (1, 2));
    assert_eq!(sum(&recordings[0]["contents"]["cores"], "events"), sum(&recordings[0]["inputs"], "events"));

    let testdata = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata");
    let reset = json(&["info", "-q", "--json"], &[testdata.join("tonbandgeraet/restart.bin")]);
    let sessions = &reset["recordings"][0]["contents"]["sessions"];
    assert_eq!(reset["recordings"][0]["inputs"][0]["sessions"].as_u64(), Some(sessions.as_array().unwrap().len() as u64));
    assert!(sessions[1]["first_ns"].as_u64() >= sessions[0]["last_ns"].as_u64(), "{sessions}");
    // Metadata alone, and a restart: things of the second session are in the second one.
    let empty = json(&["info", "-q", "--json"], &[testdata.join("tonbandgeraet/every_event.bin")]);
    let sessions = empty["recordings"][0]["contents"]["sessions"].as_array().unwrap();
    let of = |field: &str| sessions.iter().map(|session| session[field].as_u64()).collect::<Vec<_>>();
    assert_eq!((of("number"), of("events")), (vec![Some(1), Some(2), Some(3)], vec![Some(0), Some(8), Some(39)]));
    assert!(sessions[0]["first_ns"].is_null() && sessions[1]["first_ns"].is_u64(), "{sessions:?}");

    let input = [demo("demo.bin"), demo("README.md"), demo("gone.bin")];
    let (status, stdout, stderr) = run(&["info", "-q"], &input);
    assert_eq!(status, 1);
    assert!(stdout.contains("  12 tasks: IDLE") && !stdout.contains("README"), "{stdout}");
    assert!(stderr.contains("gone.bin cannot be opened") && stderr.contains("README.md"), "{stderr}");
    let (status, stdout, _) = run(&["info", "-q", "--json"], &input);
    let info: Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!((status, info["recordings"][1]["contents"].is_null()), (1, true));
    assert!(info["recordings"][2]["inputs"][0]["error"].as_str().unwrap().contains("gone.bin"));
}
