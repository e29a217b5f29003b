//! The workflows in docs/ci.md do what it says: their `run:` steps are run, as far as that can be done without the
//! service that they are for.

use std::fs;
use std::path::Path;
use std::process::Command;

use yaml_rust2::{Yaml, YamlLoader};

use super::Desk;
use super::captures::{damaged, small};

/// The YAML blocks of docs/ci.md.
fn workflows() -> Vec<Yaml> {
    let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/ci.md")).unwrap();
    let blocks = text.split("```yaml\n").skip(1).map(|rest| rest.split("```").next().unwrap());
    blocks.flat_map(|block| YamlLoader::load_from_str(block).unwrap_or_else(|error| panic!("{error}:\n{block}"))).collect()
}

/// A directory with captures, the program on the path, and a `cargo` that installs nothing.
fn ci_desk() -> (Desk, std::ffi::OsString) {
    use std::os::unix::fs::PermissionsExt;
    let desk = Desk::new();
    desk.put("captures/boot/a.bin", &small(1));
    desk.put("captures/idle/a.bin", &small(2));
    desk.put("captures/notes.txt", b"not a capture\n");
    desk.put("bin/cargo", b"#!/bin/sh\necho \"$@\" >> cargo-calls\n");
    fs::set_permissions(desk.path("bin/cargo"), fs::Permissions::from_mode(0o755)).unwrap();
    let program = Path::new(env!("CARGO_BIN_EXE_traceconv")).parent().unwrap().to_owned();
    let path = std::env::var_os("PATH").unwrap();
    let path = std::env::join_paths([desk.path("bin"), program].into_iter().chain(std::env::split_paths(&path))).unwrap();
    (desk, path)
}

/// Runs a script as GitHub does; gives its exit status.
fn run(desk: &Desk, path: &std::ffi::OsStr, script: &str) -> i32 {
    let mut shell = Command::new("bash");
    shell.args(["--noprofile", "--norc", "-eo", "pipefail", "-c", script]).current_dir(desk.path("")).env("PATH", path);
    let output = shell.env("GITHUB_STEP_SUMMARY", desk.path("summary.md")).output().unwrap();
    output.status.code().unwrap()
}

#[test]
fn the_github_workflow_converts_and_judges() {
    let all = workflows();
    let steps_of = |workflow: &Yaml| workflow["jobs"]["traces"]["steps"].as_vec().cloned();
    let steps = all.iter().find_map(steps_of).expect("docs/ci.md has a workflow with a job `traces`");
    let has_upload =
        steps.iter().any(|step| step["uses"].as_str().is_some_and(|uses| uses.starts_with("actions/upload-artifact")));
    assert!(has_upload, "{steps:?}");
    let scripts: Vec<&str> = steps.iter().filter_map(|step| step["run"].as_str()).collect();
    assert!(scripts.len() >= 2, "{steps:?}");

    let run_all = |desk: &Desk, path: &std::ffi::OsStr| scripts.iter().map(|script| run(desk, path, script)).collect::<Vec<_>>();
    let (desk, path) = ci_desk();
    let statuses = run_all(&desk, &path);
    assert!(statuses.iter().all(|status| *status == 0), "{statuses:?}");
    assert!(desk.text("cargo-calls").starts_with("install "));
    assert_eq!(desk.files("traces").iter().filter(|name| name.ends_with(".perfetto-trace")).count(), 2);
    assert_eq!(super::reports::check_markdown(&desk.text("summary.md"), 2)[1][5], "converted");

    // Once more, as with a cache: nothing is made again. Then with a loss: the job fails, and its summary says why.
    run_all(&desk, &path);
    assert!(desk.text("summary.md").contains("2 inputs: 2 unchanged"), "{}", desk.text("summary.md"));
    desk.put("captures/idle/a.bin", &damaged(2));
    fs::remove_file(desk.path("summary.md")).unwrap();
    let statuses = run_all(&desk, &path);
    assert!(statuses.contains(&3), "{statuses:?}");
    assert_eq!(super::reports::check_markdown(&desk.text("summary.md"), 2)[2][5], "too much lost");
}

#[test]
fn the_gitlab_job_leaves_a_test_report() {
    let all = workflows();
    let job = all.iter().map(|workflow| &workflow["traces"]).find(|job| job["script"].as_vec().is_some());
    let job = job.expect("docs/ci.md has a GitLab job `traces`");
    let script: Vec<&str> = job["script"].as_vec().unwrap().iter().map(|line| line.as_str().unwrap()).collect();
    let junit = job["artifacts"]["reports"]["junit"].as_str().expect("the job has a JUnit report");
    assert_eq!(job["artifacts"]["when"].as_str(), Some("always"));
    let (desk, path) = ci_desk();
    assert_eq!(run(&desk, &path, &script.join("\n")), 0);
    super::reports::check_junit(&desk.text(junit), 2, 0, 0);
    desk.put("captures/boot/b.bin", b"");
    assert_eq!(run(&desk, &path, &script.join("\n")), 1);
    super::reports::check_junit(&desk.text(junit), 3, 0, 1);
}

#[test]
fn the_pages_workflow_runs_what_the_checks_run() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let text = fs::read_to_string(root.join(".github/workflows/pages.yml")).unwrap();
    let workflow = YamlLoader::load_from_str(&text).unwrap().remove(0);
    let steps = workflow["jobs"]["build"]["steps"].as_vec().unwrap();
    let scripts: Vec<&str> = steps.iter().filter_map(|step| step["run"].as_str()).collect();
    assert_eq!(scripts.len(), 3);
    let checks = fs::read_to_string(root.join(".ci/run")).unwrap();
    for script in scripts {
        assert!(checks.contains(script), ".ci/run does not run {script:?}");
    }
    assert_eq!(workflow["jobs"]["deploy"]["needs"].as_str(), Some("build"));
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// All texts under `key`, wherever they are.
fn texts(yaml: &Yaml, key: &str, found: &mut Vec<String>) {
    match yaml {
        Yaml::Hash(map) => {
            for (name, value) in map {
                match (name.as_str(), value.as_str()) {
                    (Some(name), Some(text)) if name == key => found.push(text.to_owned()),
                    _ => texts(value, key, found),
                }
            }
        }
        Yaml::Array(all) => all.iter().for_each(|one| texts(one, key, found)),
        _ => {}
    }
}

#[test]
fn release_and_action_are_sound_scripts() {
    for file in [".github/workflows/release.yml", "action.yml"] {
        let text = fs::read_to_string(root().join(file)).unwrap();
        let yaml = YamlLoader::load_from_str(&text).unwrap_or_else(|error| panic!("{file}: {error}"));
        let mut scripts = Vec::new();
        texts(&yaml[0], "run", &mut scripts);
        assert!(scripts.len() >= 2, "{file}");
        for script in scripts {
            // What GitHub puts in before the shell sees it.
            let script = script.replace("${{", "$(: '").replace("}}", "')");
            let output = Command::new("bash").args(["-n", "-c", &script]).output().unwrap();
            assert!(output.status.success(), "{file}: {script}: {}", String::from_utf8_lossy(&output.stderr));
        }
        // Whatever of this repository a workflow names is there.
        for path in [".ci/dist", ".ci/action"].iter().filter(|path| text.contains(*path)) {
            assert!(root().join(path).is_file(), "{file}: {path}");
        }
    }
}

#[test]
fn a_release_archive_holds_all_of_it() {
    let desk = Desk::new();
    for (target, archive, list) in
        [("x86_64-unknown-linux-gnu", "tar.gz", "tar -tzf"), ("x86_64-pc-windows-msvc", "zip", "unzip -Z1")]
    {
        let mut dist = Command::new(root().join(".ci/dist"));
        let output = dist.args([env!("CARGO_BIN_EXE_traceconv"), target]).arg(desk.path("dist")).output().unwrap();
        if archive == "zip" && !output.status.success() {
            println!("There is no zip here: {}", String::from_utf8_lossy(&output.stderr));
            continue;
        }
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let name = format!("traceconv-{}-{target}", env!("CARGO_PKG_VERSION"));
        let check =
            Command::new("sha256sum").args(["-c", &format!("{name}.{archive}.sha256")]).current_dir(desk.path("dist")).output();
        assert!(check.unwrap().status.success());
        let mut words = list.split(' ');
        let Ok(listed) =
            Command::new(words.next().unwrap()).args(words).arg(desk.path(format!("dist/{name}.{archive}"))).output()
        else {
            continue;
        };
        let listed = String::from_utf8(listed.stdout).unwrap();
        for file in
            ["traceconv", "man/traceconv.1", "man/traceconv-stats.1", "completions/traceconv.zsh", "LICENSE-MIT", "README.md"]
        {
            assert!(listed.contains(&format!("{name}/{file}\n")), "{file} is not in\n{listed}");
        }
    }
}

#[test]
fn the_action_converts_checks_and_sums_up() {
    let (desk, path) = ci_desk();
    desk.put("budget.toml", b"rules = ['losses == 0']");
    let act = |budget: &str| {
        let mut action = Command::new(root().join(".ci/action"));
        action.current_dir(desk.path("")).env("PATH", &path).env("GITHUB_STEP_SUMMARY", desk.path("summary.md"));
        action.envs([
            ("INPUTS", "captures"),
            ("OUTPUT", "out"),
            ("GLOB", "*"),
            ("MAX_LOST", "50%"),
            ("BUDGET", budget),
            ("OPTIONS", ""),
        ]);
        let output = action.output().unwrap();
        (output.status.code().unwrap(), String::from_utf8(output.stderr).unwrap())
    };
    let (status, said) = act("budget.toml");
    assert_eq!(status, 0, "{said}");
    assert!(desk.text("summary.md").contains("2 converted, 1 skipped"), "{}", desk.text("summary.md"));
    assert!(desk.text("out/conversion.xml").contains("<skipped") && desk.text("out/budget.xml").contains("losses == 0"));
    desk.put("captures/idle/a.bin", &damaged(2));
    let (status, said) = act("budget.toml");
    assert_eq!(status, 3, "{said}");
    assert_eq!(act("").0, 0);
}
