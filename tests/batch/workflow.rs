//! The scripts of all workflows are run, with substitutes for programs that install, build or publish: those of docs/ci.md, of
//! `.github/workflows` and of `action.yml`.

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
    let desk = Desk::new();
    desk.put("captures/boot/a.bin", &small(1));
    desk.put("captures/idle/a.bin", &small(2));
    desk.put("captures/notes.txt", b"not a capture\n");
    desk.put("bin/cargo", b"#!/bin/sh\necho \"$@\" >> cargo-calls\n");
    make_executable(&desk, "bin/cargo");
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
    assert_eq!(super::reports::check_markdown(&desk.text("summary.md"), 2)[1][6], "converted");

    // Once more, as with a cache: nothing is made again. Then with a loss: the job fails, and its summary says why.
    run_all(&desk, &path);
    assert!(desk.text("summary.md").contains("2 inputs: 2 unchanged"), "{}", desk.text("summary.md"));
    desk.put("captures/idle/a.bin", &damaged(2));
    fs::remove_file(desk.path("summary.md")).unwrap();
    let statuses = run_all(&desk, &path);
    assert!(statuses.contains(&3), "{statuses:?}");
    assert_eq!(super::reports::check_markdown(&desk.text("summary.md"), 2)[2][6], "too much lost");
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

/// A step with a script: its name, its condition and the script.
struct Step {
    name: String,
    condition: String,
    script: String,
}

/// The steps with scripts of all jobs of a workflow, or of an action.
fn steps(file: &str) -> Vec<Step> {
    let text = fs::read_to_string(root().join(file)).unwrap();
    let yaml = YamlLoader::load_from_str(&text).unwrap_or_else(|error| panic!("{file}: {error}")).remove(0);
    let jobs: Vec<Yaml> = yaml["jobs"].as_hash().into_iter().flatten().map(|(_, job)| job["steps"].clone()).collect();
    let lists = jobs.into_iter().chain([yaml["runs"]["steps"].clone()]);
    let steps: Vec<Yaml> = lists.filter_map(|list| list.as_vec().cloned()).flatten().collect();
    let field = |step: &Yaml, name: &str| step[name].as_str().unwrap_or_default().to_owned();
    let all: Vec<Step> = steps
        .iter()
        .map(|step| Step { name: field(step, "name"), condition: field(step, "if"), script: field(step, "run") })
        .filter(|step| !step.script.is_empty())
        .collect();
    let mut texts_of_run = Vec::new();
    texts(&yaml, "run", &mut texts_of_run);
    assert_eq!(all.len(), texts_of_run.len(), "{file} has scripts in other places");
    // GitHub would put values of others into the text of a script: they come as variables.
    all.iter().for_each(|step| assert!(!step.script.contains("${{"), "{file}: {}", step.script));
    all
}

/// The files that a package for Debian is made of, as cargo-deb finds them for this target.
fn debian_assets(target: &str) -> Vec<String> {
    let manifest = fs::read_to_string(root().join("Cargo.toml")).unwrap();
    let metadata = manifest.split("[package.metadata.deb]").nth(1).unwrap().split("\n[").next().unwrap();
    for field in ["maintainer", "copyright", "license-file", "extended-description"] {
        assert!(metadata.contains(&format!("\n{field} = ")), "cargo-deb asks for {field}");
    }
    let assets = metadata.lines().filter_map(|line| line.trim().strip_prefix("[\"")?.split('"').next());
    assets.map(|asset| asset.replace("target/release/", &format!("build/{target}/dist/"))).collect()
}

/// Every script of the workflow is run, with substitutes for programs that install, build and publish.
#[test]
fn the_release_workflow_runs() {
    const FILE: &str = ".github/workflows/release.yml";
    let mut files: Vec<_> =
        fs::read_dir(root().join(".github/workflows")).unwrap().map(|file| file.unwrap().file_name()).collect();
    files.sort();
    assert_eq!(files, ["pages.yml", "release.yml"], "a workflow has no test");
    let text = fs::read_to_string(root().join(FILE)).unwrap();
    let matrix: Vec<&str> = text.lines().filter_map(|line| line.split("target: ").nth(1)?.split(',').next()).collect();
    assert!(matrix.len() >= 7, "{matrix:?}");
    let (desk, path) = ci_desk();
    for file in ["Cargo.toml", "README.md", "CHANGELOG.md", "LICENSE-MIT", "LICENSE-APACHE", ".ci/dist", ".ci/pgo"] {
        let content = fs::read(root().join(file)).unwrap();
        desk.put(format!("checkout/{file}"), &content);
    }
    make_executable(&desk, "checkout/.ci/dist");
    make_executable(&desk, "checkout/.ci/pgo");
    let built = r#"case "$1" in
build) dir=build; case $* in *--target-dir\ build/pgo*) dir=build/pgo ;; esac
    mkdir -p "$dir/$TARGET/dist"; case $TARGET in *windows*) name=traceconv.exe ;; *) name=traceconv ;; esac
    cp "$PROGRAM" "$dir/$TARGET/dist/$name" ;;
run) for file; do case $before in --collateral) echo "<Collateral/>" >"$file" ;; esac; before=$file; done; cp "$CAPTURE" "$file" ;;
cyclonedx) echo '{}' >traceconv.cdx.json ;;
esac"#;
    let wheel = r#"for last; do :; done; mkdir -p "$last"; : >"$last/traceconv-$TARGET.whl""#;
    for (name, action) in [("cargo", built), ("rustup", ""), ("sudo", ""), ("gh", ""), ("pip", ""), ("maturin", wheel)] {
        desk.put(format!("bin/{name}"), format!("#!/bin/sh\necho \"{name} $*\" >>\"$CALLS\"\n{action}\n").as_bytes());
        make_executable(&desk, &format!("bin/{name}"));
    }
    for (name, action) in [("bin/rustc", "echo \"$TOOLCHAIN/lib\""), ("toolchain/bin/llvm-profdata", "")] {
        desk.put(name, format!("#!/bin/sh\n{action}\n").as_bytes());
        make_executable(&desk, name);
    }
    fs::create_dir(desk.path("toolchain/lib")).unwrap();
    let version = env!("CARGO_PKG_VERSION");
    let run = |script: &str, target: &str| {
        let mut shell = Command::new("bash");
        shell.args(["--noprofile", "--norc", "-eo", "pipefail", "-c", script]).current_dir(desk.path("checkout"));
        shell.env("PATH", &path).env("CALLS", desk.path("calls")).env("PROGRAM", env!("CARGO_BIN_EXE_traceconv"));
        shell.env("TOOLCHAIN", desk.path("toolchain")).env("CAPTURE", root().join("testdata/demo/demo.bin"));
        shell.env("TARGET", target).env("GITHUB_REF_NAME", format!("v{version}")).env("CARGO_REGISTRY_TOKEN", "secret");
        shell.env("GITHUB_SERVER_URL", "https://example.org").env("GITHUB_REPOSITORY", "some/where");
        let output = shell.output().unwrap();
        assert!(output.status.success(), "{target}: {script}\n{}", String::from_utf8_lossy(&output.stderr));
    };
    let mut steps_left: Vec<String> = steps(FILE).into_iter().map(|step| step.script).collect();
    for step in steps(FILE) {
        let targets: Vec<&str> = match (step.name.as_str(), step.condition.as_str()) {
            ("Tools" | "Tests" | "Build" | "Pack", "") => matrix.clone(),
            ("Wheel", "!endsWith(matrix.target, '-musl')") => {
                matrix.iter().copied().filter(|target| !target.ends_with("-musl")).collect()
            }
            ("Debian package", "endsWith(matrix.target, '-linux-gnu')") => {
                matrix.iter().copied().filter(|target| target.ends_with("-linux-gnu")).collect()
            }
            ("List of dependencies" | "Release" | "Crate", "") => vec![""],
            other => panic!("the step {other:?} is not known here"),
        };
        for target in targets {
            run(&step.script, target);
            if step.name == "Debian package" {
                for asset in debian_assets(target) {
                    let (dir, name) = asset.rsplit_once('/').unwrap_or(("", &asset));
                    let is_there = desk.files(&format!("checkout/{dir}")).iter().any(|file| match name.split_once('*') {
                        Some((start, end)) => file.starts_with(start) && file.ends_with(end),
                        None => file == name,
                    });
                    assert!(is_there, "{asset} is not there for {target}");
                }
            }
        }
        steps_left.retain(|script| *script != step.script);
    }
    assert!(steps_left.is_empty());
    // An archive with its checksum for each target, and the list of dependencies, are published.
    let calls = desk.text("calls");
    let release = calls.lines().find(|line| line.starts_with("gh release create ")).unwrap();
    for target in &matrix {
        let extension = if target.contains("windows") { "zip" } else { "tar.gz" };
        let archive = format!("dist/traceconv-{version}-{target}.{extension}");
        assert!(release.contains(&format!(" {archive} ")) && release.contains(&format!(" {archive}.sha256")), "{release}");
        assert!(calls.contains(&format!("rustup target add {target}\n")), "{calls}");
        assert_eq!(release.contains(&format!(" dist/traceconv-{target}.whl")), !target.ends_with("-musl"), "{release}");
    }
    assert!(release.contains(" dist/traceconv.cdx.json"), "{release}");
    assert!(calls.contains("cargo deb --no-build --profile dist --target aarch64-unknown-linux-gnu "), "{calls}");
    assert!(calls.contains("cargo publish "), "{calls}");
    assert!(
        desk.text("checkout/Cargo.toml").contains("\nname = \"traceconv\"\nrepository = \"https://example.org/some/where\"\n")
    );
    // `cargo binstall` looks for the archives under these names.
    let manifest = desk.text("checkout/Cargo.toml");
    assert!(manifest.contains("/traceconv-{ version }-{ target }{ archive-suffix }\""), "{manifest}");
}

/// The container is built with a profile that exists, and takes the program from where cargo puts it.
#[test]
fn the_container_takes_what_is_built() {
    let read = |file: &str| fs::read_to_string(root().join(file)).unwrap();
    let container = read("Containerfile");
    assert!(container.contains("cargo build --locked --profile dist") && read("Cargo.toml").contains("[profile.dist]"));
    assert!(container.contains("build/dist/traceconv") && read(".cargo/config.toml").contains("target-dir = \"build\""));
    assert!(container.lines().any(|line| line.starts_with("ENTRYPOINT")));
}

fn make_executable(desk: &Desk, name: &str) {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(desk.path(name), fs::Permissions::from_mode(0o755)).unwrap();
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
    let [install, convert] = <[Step; 2]>::try_from(steps("action.yml")).unwrap_or_else(|_| panic!("two scripts"));
    // Without a built program for this machine, it is built.
    desk.put("bin/cargo", b"#!/bin/sh\necho \"$@\" >>cargo-calls\n[ \"$1\" != binstall ]\n");
    make_executable(&desk, "bin/cargo");
    let mut shell = Command::new("bash");
    shell.args(["--noprofile", "--norc", "-eo", "pipefail", "-c", &install.script]).env("VERSION", "0.1.0");
    assert!(shell.current_dir(desk.path("")).env("PATH", &path).status().unwrap().success());
    let calls = desk.text("cargo-calls");
    assert_eq!(calls, "binstall --no-confirm traceconv@0.1.0\ninstall --locked traceconv@0.1.0\n");

    desk.put("budget.toml", b"rules = ['losses == 0']");
    let act_on = |inputs: &str, budget: &str, reading: &str| {
        let mut action = Command::new("bash");
        action.args(["--noprofile", "--norc", "-eo", "pipefail", "-c", &convert.script]).env("ACTION", root());
        action.current_dir(desk.path("")).env("PATH", &path).env("GITHUB_STEP_SUMMARY", desk.path("summary.md"));
        action.envs([
            ("INPUTS", inputs),
            ("OUTPUT", "out"),
            ("GLOB", "*"),
            ("MAX_LOST", "50%"),
            ("BUDGET", budget),
            ("READING", reading),
            ("OPTIONS", ""),
        ]);
        let output = action.output().unwrap();
        (output.status.code().unwrap(), String::from_utf8(output.stderr).unwrap())
    };
    let act = |budget: &str| act_on("captures", budget, "");
    let (status, said) = act("budget.toml");
    assert_eq!(status, 0, "{said}");
    assert!(desk.text("summary.md").contains("2 converted, 1 skipped"), "{}", desk.text("summary.md"));
    assert!(desk.text("out/conversion.xml").contains("<skipped") && desk.text("out/budget.xml").contains("losses == 0"));
    desk.put("captures/idle/a.bin", &damaged(2));
    let (status, said) = act("budget.toml");
    assert_eq!(status, 3, "{said}");
    assert_eq!(act("").0, 0);
    // Options for reading are for the budget, too.
    desk.put("all.toml", b"rules = ['losses >= 0']");
    let (status, said) = act_on("captures", "all.toml", "-v --clock-hz 1M");
    let converted = desk.text("out/conversion.xml").matches("<testcase").count() - 1;
    assert_eq!((status, said.matches("clock 1 MHz (given by an option)").count()), (0, 2 * converted), "{said}");
    // The report of the conversion is no recording, also if it is among the inputs.
    let (status, said) = act_on(".", "all.toml", "");
    assert_eq!(status, 0, "{said}");
}
