//! Budgets and differences of real recordings, by the built program: who got slower is named.
#![cfg(unix)]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use traceconv::format::{miniprofiler, tonbandgeraet};
use traceconv::metrics::list;

fn demo() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/demo")
}

/// Runs the program in a folder: its exit status, standard output and standard error.
fn run_in(folder: &Path, arguments: &[&str]) -> (i32, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_traceconv"));
    let output = command.args(arguments).current_dir(folder).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

fn run(line: &str) -> (i32, String, String) {
    run_in(&demo(), &line.split_whitespace().collect::<Vec<_>>())
}

/// The records of comma-separated values, as RFC 4180 has them.
fn csv(text: &str) -> Vec<Vec<String>> {
    let (mut records, mut record, mut field) = (Vec::new(), Vec::new(), String::new());
    let (mut letters, mut is_quoted) = (text.chars().peekable(), false);
    while let Some(letter) = letters.next() {
        match letter {
            '"' if is_quoted && letters.next_if_eq(&'"').is_some() => field.push('"'),
            '"' => is_quoted = !is_quoted,
            ',' if !is_quoted => record.push(std::mem::take(&mut field)),
            '\n' if !is_quoted => {
                record.push(std::mem::take(&mut field));
                records.push(std::mem::take(&mut record));
            }
            letter => field.push(letter),
        }
    }
    assert!(!is_quoted && field.is_empty() && record.is_empty(), "it ends with a line");
    records
}

#[test]
fn each_metric_is_told_of_some_recording() {
    let mut seen: BTreeSet<(String, String)> = BTreeSet::new();
    for folder in ["demo", "tonbandgeraet", "qs", "tsp", "miniprofiler"] {
        let folder = demo().parent().unwrap().join(folder);
        let entries = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path());
        let is_capture = |path: &PathBuf| {
            let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
            let name = path.to_string_lossy();
            ["bin", "stp", "sniff"].contains(&extension) || name.ends_with("console.txt")
        };
        let mut captures: Vec<String> =
            entries.filter(is_capture).map(|path| path.file_name().unwrap().to_str().unwrap().to_owned()).collect();
        captures.sort();
        let arguments: Vec<&str> = ["stats", "--csv", "-q"].into_iter().chain(captures.iter().map(String::as_str)).collect();
        let (_, table, _) = run_in(&folder, &arguments);
        let records = csv(&table);
        assert_eq!(records[0].join(","), "recording,section,name,metric,value,unit");
        for record in &records[1..] {
            let [_, section, _, metric, value, _] = &record[..] else { panic!("{record:?}") };
            assert!(value.parse::<f64>().is_ok(), "{record:?}");
            seen.insert((section.clone(), metric.clone()));
        }
    }
    for (section, _) in list::SECTIONS {
        for metric in list::of_section(section) {
            let printed = seen.remove(&(section.to_owned(), metric.full_name()));
            assert!(printed, "no recording has {section} {}", metric.full_name());
        }
    }
    assert!(seen.is_empty(), "these are not in the list: {seen:?}");
}

#[test]
fn the_table_and_json_tell_the_same() {
    let (status, table, _) = run("stats -q --csv demo.bin damaged.bin");
    assert_eq!(status, 0);
    let records = csv(&table);
    let value = |recording: &str, path: [&str; 3]| {
        let wanted = [recording, path[0], path[1], path[2]];
        let found: Vec<_> = records.iter().filter(|record| record[..4] == wanted).collect();
        assert_eq!(found.len(), 1, "{wanted:?}");
        (found[0][4].parse::<f64>().unwrap(), found[0][5].clone())
    };
    let (_, json, _) = run("stats -q --json demo.bin damaged.bin");
    let file: Value = serde_json::from_str(&json).unwrap();
    for (index, recording) in ["demo.bin", "damaged.bin"].into_iter().enumerate() {
        let printed = &file["recordings"][index];
        let statistics = &printed["statistics"];
        let by_name = |list: &str, name: &str| {
            let all = statistics[list].as_array().unwrap();
            all.iter().find(|thing| thing["name"] == name).unwrap_or_else(|| panic!("{list} {name}")).clone()
        };
        let same = |path: [&str; 3], unit: &str, printed: &Value| {
            let (value, told_unit) = value(recording, path);
            assert!((value - printed.as_f64().unwrap()).abs() < 0.0051, "{path:?}: {value} {printed}");
            assert_eq!(told_unit, unit);
        };
        same(["", "", "losses"], "count", &printed["losses"]["cases"]);
        same(["", "", "lost_events"], "count", &printed["losses"]["at_least_lost"]);
        same(["", "", "gaps"], "count", &statistics["gaps"]);
        same(["core", "0", "load_percent"], "%", &statistics["cores"][0]["load_percent"]);
        for task in ["sensor", "Tmr Svc"] {
            let printed = by_name("tasks", task);
            same(["task", task, "run_ns"], "ns", &printed["run_ns"]);
            same(["task", task, "cpu_percent"], "%", &printed["cpu_percent"]);
            same(["latency", task, "p99_ns"], "ns", &printed["latency"]["p99_ns"]);
        }
        same(["isr", "SysTick", "max_ns"], "ns", &by_name("interrupts", "SysTick")["durations"]["max_ns"]);
        same(["object", "samples", "high_water"], "count", &by_name("objects", "samples")["high_water"]);
        same(["mutex", "spi_bus", "longest_wait_ns"], "ns", &by_name("objects", "spi_bus")["waits"]["max_ns"]);
    }
    assert_eq!(run("stats --csv --json demo.bin").0, 2);
    assert!(run("stats -q damaged.bin").1.ends_with("\nLosses: 1 case, at least 1 event (1 x malformed_cobs)\n"));
}

#[test]
fn a_task_that_got_slower_breaks_the_budget_and_is_named() {
    let (status, verdicts, error) = run("check --budget budget.toml -q before.bin");
    assert_eq!((status, error.as_str()), (0, ""), "{verdicts}");
    assert!(verdicts.starts_with("before.bin: 9 rules: 8 kept, 0 broken, 1 skipped\n"), "{verdicts}");
    let (status, verdicts, error) = run("check --budget budget.toml -q before.bin after.bin");
    assert_eq!(status, 3);
    assert!(verdicts.contains("\nafter.bin: 9 rules: 7 kept, 1 broken, 1 skipped\n"), "{verdicts}");
    assert!(error.starts_with("error: after.bin: task.filter.cpu_percent is 5."), "{error}");
    assert!(verdicts.contains("reason: filter (task.filter.cpu_percent < 4): was measured on the slowest board\n"), "{verdicts}");
    // Of several recordings, those that keep the budget have a line.
    assert!(verdicts.starts_with("before.bin: 9 rules: 8 kept, 0 broken, 1 skipped\n\nafter.bin: "), "{verdicts}");
    assert!(verdicts.ends_with("\n\n2 recordings: 1 within the budget, 1 not\n"), "{verdicts}");
    assert_eq!(run("check --budget budget.toml -v before.bin after.bin").1.matches("\nVERDICT ").count(), 2);
    let (_, markdown, _) = run("check --budget budget.toml -q --md before.bin after.bin demo.bin");
    assert!(markdown.starts_with("- before.bin: 9 rules: 8 kept, 0 broken, 1 skipped\n\n### after.bin: "), "{markdown}");
    let end = "- demo.bin: 9 rules: 8 kept, 0 broken, 1 skipped\n\n3 recordings: 2 within the budget, 1 not\n";
    assert!(markdown.ends_with(end), "{markdown}");

    let (status, json, _) = run("check --budget budget.toml -q --json before.bin after.bin missing.bin");
    assert_eq!(status, 1, "an unreadable recording counts more than a broken rule");
    let file: Value = serde_json::from_str(&json).unwrap();
    assert_eq!((&file["schema_version"], &file["broken"]), (&Value::from(1), &Value::from(1)));
    assert!(file["recordings"][2]["verdicts"].is_null() && file["recordings"][2]["inputs"][0]["error"].is_string());
    let verdicts = file["recordings"][1]["verdicts"].as_array().unwrap();
    let broken: Vec<&Value> = verdicts.iter().filter(|verdict| verdict["outcome"] == "broken").collect();
    assert_eq!((broken.len(), &broken[0]["values"][0]["name"], &broken[0]["line"]), (1, &"filter".into(), &8.into()));
    assert!(broken[0]["values"][0]["margin"].as_f64().unwrap() < -1.0);

    // The same from statistics that were saved.
    let folder = tempfile::tempdir().unwrap();
    let saved = folder.path().join("after.json");
    assert_eq!(run(&format!("stats -q --json after.bin -o {}", saved.display())).0, 0);
    let (status, _, error) = run(&format!("check --budget budget.toml -q {}", saved.display()));
    assert_eq!(status, 3);
    assert!(error.contains("after.json: task.filter.cpu_percent is 5."), "{error}");
    // In a part of the recording.
    let (status, verdicts, _) = run("check --budget budget.toml -q --from +1ms --to +2ms after.bin");
    assert!(status == 3 && verdicts.contains("MISSING"), "{verdicts}");
}

#[test]
fn a_wrong_budget_is_wrong_usage() {
    let folder = tempfile::tempdir().unwrap();
    fs::copy(demo().join("demo.bin"), folder.path().join("demo.bin")).unwrap();
    let check = |budget: &str| {
        fs::write(folder.path().join("b.toml"), budget).unwrap();
        run_in(folder.path(), &["check", "-q", "-b", "b.toml", "demo.bin"])
    };
    for (budget, part) in [
        (
            "rules = [\n  'task.sensor.cpu_precent < 4',\n]",
            "b.toml: line 2, column 16: there is no metric \"cpu_precent\" of task, perhaps cpu_percent",
        ),
        ("rules = [\n  'losses == 0'", "b.toml: line 2, column 16: "),
        ("", "b.toml: line 1, column 1: there is no rule in it"),
    ] {
        let (status, said, error) = check(budget);
        assert_eq!((status, said.as_str()), (1, ""), "{error}");
        assert!(error.contains(part), "{error}");
    }
    let (status, _, error) = run_in(folder.path(), &["check", "-q", "-b", "none.toml", "demo.bin"]);
    assert_eq!(status, 1);
    assert!(error.contains("the budget none.toml cannot be read"), "{error}");
    assert_eq!(run_in(folder.path(), &["check", "demo.bin"]).0, 2);
    let (status, metrics, _) = run_in(folder.path(), &["check", "--metrics"]);
    assert!(status == 0 && metrics.contains("\n  cpu_percent         the time that it ran itself"), "{metrics}");
    let (status, verdicts, error) = check("rules = ['task.sensr.cpu_percent < 4']");
    assert_eq!(status, 3);
    assert!(
        verdicts.contains("MISSING") && error.contains("no task sensr in the recording, perhaps sensor; there are: "),
        "{error}"
    );
}

#[test]
fn a_task_that_got_slower_is_the_worst_difference() {
    let (status, printed, error) = run("diff -q before.bin after.bin");
    assert_eq!((status, error.as_str()), (0, ""));
    let worst = printed.lines().nth(1).unwrap();
    assert!(worst.starts_with("worst: task filter: CPU 2.") && worst.contains(" → 5."), "{printed}");
    let (status, printed, error) = run("diff -q --fail-over 50% --rows 1 before.bin after.bin");
    assert_eq!(status, 3);
    assert!(error.starts_with("error: worse than --fail-over 50% allows: task filter: CPU 2."), "{error}");
    assert!(printed.contains("\nWORSE  task.filter.cpu_percent  ") && printed.contains(" more (--json has all)"), "{printed}");
    // The other way round it got faster.
    let (status, _, error) = run("diff -q --fail-over 50% --min-points 0.1 --only task.*.cpu_percent after.bin before.bin");
    assert_eq!((status, error.as_str()), (0, ""));
    let (status, printed, _) = run("diff -q --fail-over 0 before.bin before.bin");
    assert_eq!(status, 0);
    assert!(printed.ends_with("metrics compared: 0 worse, 0 better, 0 different otherwise\n"), "{printed}");

    let (_, json, _) = run("diff -q --json --fail-over 50% before.bin after.bin");
    let file: Value = serde_json::from_str(&json).unwrap();
    let change = &file["changes"][0];
    assert_eq!((&change["metric"], &change["direction"]), (&"task.filter.cpu_percent".into(), &"worse".into()));
    assert_eq!((&change["is_too_much"], &file["is_too_much"]), (&true.into(), &true.into()));
    let (base, new) = (change["base"].as_f64().unwrap(), change["new"].as_f64().unwrap());
    assert!((change["change_percent"].as_f64().unwrap() - 100.0 * (new / base - 1.0)).abs() < 0.01);
    let (_, markdown, _) = run("diff -q --md before.bin after.bin");
    assert!(markdown.starts_with("### before.bin → after.bin\n\n"), "{markdown}");
    assert!(markdown.contains("| worse | task.filter.cpu\\_percent | 2."), "{markdown}");

    // Saved statistics are as good as the recording.
    let folder = tempfile::tempdir().unwrap();
    let saved = folder.path().join("base.json");
    assert_eq!(run(&format!("stats -q --json before.bin -o {}", saved.display())).0, 0);
    let (_, of_saved, _) = run(&format!("diff -q --json --fail-over 50% {} after.bin", saved.display()));
    let of_saved: Value = serde_json::from_str(&of_saved).unwrap();
    assert_eq!((&of_saved["changes"], &of_saved["compared"]), (&file["changes"], &file["compared"]));
}

#[test]
fn what_cannot_be_compared_says_why() {
    let folder = tempfile::tempdir().unwrap();
    let several = folder.path().join("several.json");
    assert_eq!(run(&format!("stats -q --json before.bin after.bin -o {}", several.display())).0, 0);
    let report = folder.path().join("report.json");
    fs::write(&report, "{\"schema_version\": 1, \"inputs\": []}").unwrap();
    let later = folder.path().join("later.json");
    fs::write(&later, "{\"schema_version\": 2, \"recordings\": []}").unwrap();
    for (base, part) in [
        (several.to_str().unwrap(), "holds 2 recordings; save the statistics of one"),
        (report.to_str().unwrap(), "is JSON, but holds no statistics of `traceconv stats --json`"),
        (later.to_str().unwrap(), "is of shape 2, which is newer"),
        ("missing.bin", "missing.bin "),
    ] {
        let (status, printed, error) = run(&format!("diff {base} after.bin"));
        assert_eq!((status, printed.as_str()), (1, ""), "{error}");
        assert!(error.contains(part), "{error}");
    }
    // A limit of nothing would never fail.
    let (status, _, error) = run("diff --only task.filtr.cpu_percent before.bin after.bin");
    assert_eq!(status, 0);
    assert!(error.ends_with("warning: nothing was compared: no metric that --only names is in both\n"), "{error}");
    assert_eq!(run("diff -q --only task.filtr.cpu_percent before.bin after.bin").2, "");
    let (status, _, error) = run("diff -q --fail-over 5% --only task.filtr.cpu_percent before.bin after.bin");
    assert_eq!((status, error.as_str()), (3, "error: nothing was compared: no metric that --only names is in both\n"));
    // A change that is too small to be listed can be too much all the same.
    let narrow = "diff -q --only task.writer.cpu_percent after.bin before.bin";
    let (status, printed, _) = run(&format!("{narrow} --min-change 50%"));
    assert!(status == 0 && printed.contains(" 0 worse, "), "{printed}");
    let (status, printed, error) = run(&format!("{narrow} --min-change 50% --fail-over 1%"));
    assert!(status == 3 && printed.contains("\nWORSE "), "{printed}{error}");
    assert_eq!(run("diff - -").0, 2);
    assert_eq!(run("diff before.bin after.bin --fail-over much").0, 2);
    let (status, printed, error) = run("diff -q dpp.bin after.bin");
    assert_eq!(status, 0, "{error}");
    assert!(
        printed.contains("only in the base: machine Philo_inst[0], ")
            && printed.contains("only in the new one: core 0, isr SysTick, "),
        "{printed}"
    );
    // Losses and gaps are in every recording: two that have nothing else in common do not pass.
    let nothing = "nothing was compared: no metric is in both, except losses and gaps\n";
    assert_eq!(error, "");
    let (status, printed, error) = run("diff -q demo.bin dpp.bin --fail-over 5%");
    assert_eq!((status, error), (3, format!("error: {nothing}")));
    assert!(printed.contains(": 0 metrics compared: "), "{printed}");
    let (status, _, error) = run("diff -q demo.bin before.bin --from +200s --fail-over 5%");
    assert!(status == 3 && error.ends_with(&format!("error: {nothing}")), "{error}");
    assert!(error.contains("warning: demo.bin: ") && error.contains("warning: before.bin: "), "{error}");
    let (status, printed, error) = run("diff -q demo.bin dpp.bin --fail-over 5% --only losses --only gaps");
    assert_eq!((status, error.as_str()), (0, ""));
    assert!(printed.contains(": 2 metrics compared: "), "{printed}");
}

/// Function profiles: a function that got slower by itself is named, not those that call it.
#[test]
fn a_function_that_got_slower_is_named() {
    use miniprofiler::generate::{GenerateOptions, SlowFunction, generate};
    let folder = tempfile::tempdir().unwrap();
    for address in [0x0800_01ED, 0x0800_0325, 0x0800_01B5] {
        for (name, percent) in [("base.bin", 100), ("new.bin", 250)] {
            let options = GenerateOptions {
                bytes: 60_000,
                seed: 3,
                slow_function: Some(SlowFunction { address, percent }),
                ..GenerateOptions::default()
            };
            let mut capture = Vec::new();
            generate(&options, &mut capture, &mut |_| {}).unwrap();
            fs::write(folder.path().join(name), capture).unwrap();
        }
        // Without the lowest bit, which says that it is Thumb code.
        let name = format!("0x{:08X}", address & !1);
        let (status, printed, error) = run_in(folder.path(), &["diff", "-q", "--fail-over", "60%", "base.bin", "new.bin"]);
        assert_eq!(status, 3, "{printed}");
        assert!(printed.contains(&format!("worst: function {name}: self ")), "{printed}");
        assert!(error.contains(&format!("function {name}: self ")), "{error}");
        // A limit halfway between both times.
        let (_, json, _) = run_in(folder.path(), &["stats", "-q", "--json", "base.bin"]);
        let file: Value = serde_json::from_str(&json).unwrap();
        let functions = file["recordings"][0]["statistics"]["functions"].as_array().unwrap();
        let function = functions.iter().find(|function| function["name"] == *name).unwrap();
        let mean_ns = function["self_ns"].as_f64().unwrap() / function["calls"]["count"].as_f64().unwrap();
        let budget = format!("[function.{name}]\nself_mean_us = \"< {}\"\n", 1.5 * mean_ns / 1000.0);
        fs::write(folder.path().join("b.toml"), budget).unwrap();
        let check = |input| run_in(folder.path(), &["check", "-q", "-b", "b.toml", input]);
        assert_eq!(check("base.bin").0, 0);
        let (status, _, error) = check("new.bin");
        assert_eq!(status, 3);
        assert!(error.contains(&format!("error: new.bin: function.{name}.self_mean_us is ")), "{error}");
    }
}

/// Whichever task of the simulated firmware gets slower: it has the worst difference.
#[test]
fn whichever_task_got_slower_is_named() {
    use tonbandgeraet::generate::{GenerateOptions, SlowTask, generate};
    let folder = tempfile::tempdir().unwrap();
    for task in ["sensor", "filter", "reader", "worker", "supervisor", "comm", "logger"] {
        for (name, percent) in [("base.bin", 100), ("new.bin", 300)] {
            let slow_task = SlowTask::named(task, percent);
            assert!(slow_task.is_some());
            let mut capture = Vec::new();
            generate(&GenerateOptions { bytes: 150_000, slow_task, ..GenerateOptions::default() }, &mut capture).unwrap();
            fs::write(folder.path().join(name), capture).unwrap();
        }
        let (_, printed, _) = run_in(folder.path(), &["diff", "-q", "base.bin", "new.bin"]);
        assert!(printed.contains(&format!("\nworst: task {task}: CPU ")), "{task}:\n{printed}");
    }
    assert_eq!(SlowTask::named("nobody", 100), None);
}

#[test]
fn names_are_told_without_control_characters() {
    use std::os::unix::ffi::OsStrExt;

    let folder = tempfile::tempdir().unwrap();
    let odd = std::ffi::OsStr::from_bytes(b"a\xff\n.bin");
    fs::copy(demo().join("before.bin"), folder.path().join(odd)).unwrap();
    fs::copy(demo().join("after.bin"), folder.path().join("b.bin")).unwrap();
    let run = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_traceconv"));
        let output = command.args(arguments).arg(odd).arg("b.bin").current_dir(folder.path()).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    let table = run(&["diff", "-q", "--rows", "0"]);
    assert!(table.starts_with("a\\xff\\n.bin -> b.bin: "), "{table}");
    let json: Value = serde_json::from_str(&run(&["diff", "-q", "--json"])).unwrap();
    assert_eq!(json["base"], "a\\xff\n.bin");
}

/// A value that is rounded for people is judged as it is.
#[test]
fn exact_values_are_judged() {
    let (_, json, _) = run("stats --json -q demo.bin");
    let core = &serde_json::from_str::<Value>(&json).unwrap()["recordings"][0]["statistics"]["cores"][0];
    let ns = |field: &str| core[field].as_u64().unwrap();
    let busy = ns("busy_ns") + ns("interrupts_ns");
    let exact = 100.0 * busy as f64 / (busy + ns("idle_ns")) as f64;
    let rounded = core["load_percent"].as_f64().unwrap();
    assert!((exact - rounded).abs() > 1e-6, "the demo's load is a round number by chance");
    let dir = tempfile::tempdir().unwrap();
    let budget = dir.path().join("b.toml");
    // Between the exact value and the rounded one.
    let middle = f64::midpoint(exact, rounded);
    for (operator, status) in if exact < rounded { [("<", 0), (">", 3)] } else { [("<", 3), (">", 0)] } {
        fs::write(&budget, format!("rules = ['core.0.load_percent {operator} {middle}']")).unwrap();
        let (ended, _, said) = run(&format!("check -q demo.bin -b {}", budget.display()));
        assert_eq!(ended, status, "{operator} {middle}: {said}");
    }
}

/// A maximum in order says nothing about what was lost, nor a time about its unit: whoever reads only the verdicts is told.
#[test]
fn what_verdicts_do_not_cover_is_noted() {
    let dir = tempfile::tempdir().unwrap();
    let [budget, junit, saved] = ["b.toml", "j.xml", "s.json"].map(|name| dir.path().join(name).display().to_string());
    fs::write(&budget, "rules = ['events > 0']").unwrap();
    let note = |input: &str, form: &str| {
        let (ended, text, said) = run(&format!("check -q {input} -b {budget} --junit {junit} {form}"));
        assert_eq!((ended, said.as_str()), (0, ""), "{text}");
        let line = text.lines().find_map(|line| line.strip_prefix("note: ")).map(str::to_owned);
        let xml = fs::read_to_string(&junit).unwrap();
        let output = xml.split_once("<system-out>").map(|(_, rest)| rest.split_once('<').unwrap().0.to_owned());
        assert_eq!(line.as_deref().map(|line| line.replace('\\', "")), output);
        line
    };
    assert_eq!(note("demo.bin", ""), None);
    let lossy = "losses: 1, at least 1 event: nothing is measured across them";
    assert_eq!([note("damaged.bin", ""), note("damaged.bin", "--md")], [Some(lossy.into()), Some(lossy.into())]);
    assert_eq!(note("dpp.bin", "").unwrap(), "nothing lost; time unit assumed");
    let (_, json, _) = run("stats -q --json dpp.bin");
    fs::write(&saved, json).unwrap();
    assert_eq!(note(&saved, "").unwrap(), "nothing lost; time unit assumed", "what is saved is as sure");
    let (_, text, _) = run("stats -q dpp.bin");
    assert!(text.ends_with("\nLosses: none; time unit assumed\n"), "{text}");
}

/// A change may come from an assumed time unit: who compares with a recording that has one is told.
#[test]
fn a_difference_names_the_assumptions_of_both() {
    let dir = tempfile::tempdir().unwrap();
    let [saved, base] = ["s.json", "b.json"].map(|name| dir.path().join(name).display().to_string());
    assert_eq!(run(&format!("stats -q --json dpp.bin -o {saved}")).0, 0);
    assert_eq!(run(&format!("baseline -q dpp.bin {saved} -o {base}")).0, 0);
    let note = |inputs: &str, form: &str| {
        let (_, text, _) = run(&format!("diff -q {form} {inputs}"));
        let line = text.lines().find_map(|line| line.strip_prefix("note: ")).map(str::to_owned);
        line.unwrap_or_default()
    };
    assert_eq!(note("before.bin after.bin", ""), "");
    let one = "dpp.bin: time unit assumed, unlike the other: their times may not be comparable";
    assert_eq!([note("demo.bin dpp.bin", ""), note("demo.bin dpp.bin", "--md"), note("dpp.bin demo.bin", "")], [one; 3]);
    assert_eq!(note("--clock-hz 1M dpp.bin dpp.bin", ""), "");
    for other in ["dpp.bin", &saved, &base] {
        assert_eq!(note(&format!("{other} dpp.bin"), ""), "both: time unit assumed", "{other}");
    }
    let (_, json, _) = run("diff -q --json dpp.bin demo.bin");
    assert_eq!(serde_json::from_str::<Value>(&json).unwrap()["notes"], serde_json::json!([one]));
}

/// What gives nothing is said: stacks of a recording without tasks and functions, a baseline of different firmwares.
#[test]
fn empty_results_are_noted() {
    let (status, text, said) = run("stats --folded dpp.bin");
    assert_eq!((status, text.as_str()), (0, ""));
    assert!(said.ends_with("warning: dpp.bin: there is nothing to fold: it records neither tasks nor functions\n"), "{said}");
    let (status, _, said) = run("baseline demo.bin dpp.bin");
    assert!(status == 0 && said.contains("warning: no task, interrupt or other thing is in all runs"), "{said}");
    assert!(!run("baseline before.bin after.bin").2.contains("warning"));
}

/// A baseline of several runs; and the other forms of a base: a report, compressed, standard input.
#[test]
fn whatever_was_saved_can_be_the_base() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let copies = ["1.bin", "2.bin", "3.bin"].map(path);
    for copy in &copies {
        fs::copy(demo().join("before.bin"), copy).unwrap();
    }
    assert_eq!(run(&format!("baseline -q {} -o {}", copies.join(" "), path("base.json"))).0, 0);
    let file: Value = serde_json::from_str(&fs::read_to_string(path("base.json")).unwrap()).unwrap();
    assert_eq!((&file["runs"], &file["inputs"][2]), (&3.into(), &copies[2].as_str().into()));
    for report in ["report.json", "report.ndjson"] {
        assert_eq!(run(&format!("before.bin -q -o {} --report {}", path("t"), path(report))).0, 0);
    }
    let lines = fs::read_to_string(path("report.ndjson")).unwrap();
    fs::write(path("cut.ndjson"), lines.split_inclusive('\n').next().unwrap()).unwrap();
    let (status, _, error) = run(&format!("diff {} after.bin", path("cut.ndjson")));
    assert!(status == 1 && error.contains("its last line is missing"), "{error}");
    let mut gzip = flate2::write::GzEncoder::new(fs::File::create(path("base.json.gz")).unwrap(), flate2::Compression::fast());
    std::io::copy(&mut fs::File::open(path("base.json")).unwrap(), &mut gzip).unwrap();
    gzip.finish().unwrap();
    let report = fs::read(path("report.json")).unwrap();
    fs::write(path("report.json.zst"), zstd::encode_all(&*report, 1).unwrap()).unwrap();
    let (_, _, said) = run(&format!("diff {} after.bin", path("base.json")));
    assert!(said.contains("base.json: a baseline of 3 runs\n"), "{said}");
    let (status, _, error) = run(&format!("baseline after.bin {}", path("base.json")));
    assert!(status == 1 && error.contains("base.json is a baseline of several runs"), "{error}");
    // As editors, PowerShell's `>` and `jq -S` leave it.
    let text = fs::read_to_string(path("base.json")).unwrap();
    fs::write(path("bom.json"), format!("\u{feff}{text}")).unwrap();
    let units = std::iter::once(0xfeff).chain(text.encode_utf16());
    fs::write(path("utf16.json"), units.flat_map(u16::to_le_bytes).collect::<Vec<u8>>()).unwrap();
    let sorted: BTreeMap<String, Value> = serde_json::from_str(&text).unwrap();
    fs::write(path("sorted.json"), serde_json::to_string(&sorted).unwrap()).unwrap();
    for base in
        ["base.json", "report.json", "report.ndjson", "base.json.gz", "report.json.zst", "bom.json", "utf16.json", "sorted.json"]
    {
        let (status, said, error) = run(&format!("diff -q --fail-over 50% {} after.bin", path(base)));
        assert_eq!(status, 3, "{base}: {said}{error}");
        assert!(error.contains("task filter: CPU 2."), "{base}: {error}");
    }
    for (name, base) in [("base.json.gz", "-"), ("../before.bin", "-")] {
        let file = if name.starts_with("..") { demo().join("before.bin") } else { PathBuf::from(path(name)) };
        let mut command = Command::new(env!("CARGO_BIN_EXE_traceconv"));
        command.args(["diff", "-q", "--fail-over", "50%", base, "after.bin"]).current_dir(demo());
        let output = command.stdin(fs::File::open(file).unwrap()).output().unwrap();
        assert_eq!(output.status.code(), Some(3), "{name}: {}", String::from_utf8_lossy(&output.stderr));
    }
    // One of several that is mistyped is not ignored.
    let (status, _, error) =
        run("diff -q --fail-over 500% --only task.*.cpu_percent --only task.*.cpu_precent before.bin after.bin");
    assert_eq!(status, 3);
    assert!(
        error.contains("--only task.*.cpu_precent names nothing that is in both") && error.contains("perhaps cpu_percent"),
        "{error}"
    );
    // A time in any unit, as in rules.
    assert_eq!(run("diff -q --only isr.*.max_us before.bin after.bin").2, "");
}
