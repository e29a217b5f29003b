//! Tasks of the tracer library in `target/`: its tests, with its captures compared with the log of the application, and its cost.

mod kernel_log;
mod kernel_states;

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, bail, ensure};

use crate::codegen::root;

#[derive(clap::Args)]
pub struct TestArguments {
    /// Also run the kernel on an emulated Cortex-M4 and RISC-V. Needs their compilers, qemu-system-arm and qemu-system-riscv32
    #[arg(long)]
    qemu: bool,
    /// Only hold random applications on emulated processors against the kernel
    #[arg(long)]
    random: bool,
}

/// Builds the application on the real kernel, records it with every backend, and converts the captures.
pub fn test(arguments: &TestArguments) -> anyhow::Result<()> {
    let root = root()?;
    let build = root.join("build/target-tests");
    if arguments.random {
        script("target/tests/run.sh", "random")?;
        script("target/tests/run.sh", "random-two-cores")?;
        return random_applications(&build.join("random"));
    }
    let mut parts = vec![("kernel", "posix")];
    if arguments.qemu {
        parts.push(("qemu", "qemu"));
        parts.push(("riscv", "riscv"));
    }
    for (part, platform) in parts {
        script("target/tests/run.sh", part)?;
        // One folder for each backend, each of the formats, and each time at which a recording starts.
        let mut folders: Vec<PathBuf> = Vec::new();
        for entry in std::fs::read_dir(&build)? {
            let path = entry?.path();
            let is_of_platform = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(&format!("{platform}-")));
            folders.extend(is_of_platform.then_some(path));
        }
        ensure!(folders.len() >= 14, "only {} captures in {}", folders.len(), build.display());
        folders.sort();
        for folder in folders {
            check_capture(&folder).with_context(|| folder.display().to_string())?;
        }
    }
    if arguments.qemu {
        script("target/tests/run.sh", "kernels")?;
        let mut kernels = 0;
        for kernel in std::fs::read_dir(build.join("kernels"))? {
            let app = kernel?.path().join("app");
            if app.join("capture.bin").exists() {
                check_capture(&app).with_context(|| app.display().to_string())?;
                kernels += 1;
            }
        }
        ensure!(kernels > 0, "no kernel ran");
        script("target/tests/run.sh", "random")?;
        random_applications(&build.join("random"))?;
        script("target/tests/run.sh", "smp")?;
        let tasks = kernel_log::tasks(&build.join("smp/capture.bin"))?;
        ensure!(tasks.len() >= 9, "only these tasks: {tasks:?}");
        println!("two cores: {} tasks, without a ledger entry", tasks.len());
        script("target/tests/run.sh", "ten-minutes")?;
        let tasks = kernel_log::tasks(&build.join("ten-minutes/trace.bin"))?;
        ensure!(
            ["IDLE", "consumer", "helper", "producer"].iter().all(|name| tasks.contains(*name)),
            "only these tasks: {tasks:?}"
        );
        println!("ten minutes: {} tasks", tasks.len());
    }
    script("target/tests/run.sh", "miniprofiler")?;
    let calls = kernel_log::calls(&build.join("miniprofiler/capture.bin"))?;
    ensure!(calls == 433, "the MiniProfiler target recorded 433 calls, and traceconv finds {calls}");
    script("target/tests/run.sh", "functions")?;
    let functions = kernel_log::functions(&build.join("functions/trace.bin"), &build.join("functions/program"))?;
    ensure!(functions.keys().eq(["inner", "middle", "outer"]), "other functions than those of the program: {functions:?}");
    println!("functions: {functions:?}");
    script("target/tests/run.sh", "logging")?;
    let logging = build.join("logging");
    let mut said = 0;
    for folder in [logging.clone(), logging.join("cxx")] {
        said += kernel_log::said(&folder.join("trace.bin"), &folder.join("program"), &folder.join("said.txt"))?;
    }
    if arguments.qemu {
        let tasks = logging.join("tasks");
        said += kernel_log::said(&tasks.join("capture.bin"), &tasks.join("app"), &tasks.join("said.txt"))?;
        let called = kernel_log::called(&tasks.join("capture.bin"), &tasks.join("app"), &tasks.join("called.txt"))?;
        ensure!(called > 50, "only {called} calls of functions");
        println!("functions of two tasks: {called} calls");
    }
    ensure!(said > 500, "only {said} messages");
    println!("logging: {said} messages have the text that printf makes of them");
    script("target/tests/run.sh", "firmware")?;
    for name in ["simulated_target", "posix_freertos"] {
        let trace = build.join("firmware").join(name).join("trace.bin");
        if trace.exists() {
            let tasks = kernel_log::tasks(&trace).with_context(|| name.to_owned())?;
            println!("{name}: converted without a ledger entry, {} tasks", tasks.len());
        }
    }
    Ok(())
}

fn check_capture(folder: &Path) -> anyhow::Result<()> {
    let capture = std::fs::read(folder.join("capture.bin"))?;
    let log = std::fs::read_to_string(folder.join("log.txt"))?;
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    // The plain format has no record of who runs when the oldest frames are missing, or a recording starts in mid-run.
    let may_repair: &[&str] = if name.ends_with("-1") { &["no_current_task"] } else { &[] };
    let found = kernel_log::check(&capture, &log, may_repair)?;
    println!("{name}: {} notes of the application agree with the events, and {} waits", found.agreed, found.waits);
    ensure!(found.agreed > 100, "only {} notes could be compared", found.agreed);
    Ok(())
}

/// Holds the recordings of random applications against the log of the kernel.
fn random_applications(folder: &Path) -> anyhow::Result<()> {
    let mut folders: Vec<PathBuf> =
        std::fs::read_dir(folder)?.map(|entry| entry.map(|entry| entry.path())).collect::<Result<_, _>>()?;
    folders.sort();
    for folder in folders {
        let name = folder.file_name().unwrap_or_default().to_string_lossy();
        let capture = std::fs::read(folder.join("capture.bin"))?;
        let log = std::fs::read_to_string(folder.join("log.txt"))?;
        if folder.join("said.txt").exists() {
            let said = kernel_log::said(&folder.join("capture.bin"), &folder.join("app"), &folder.join("said.txt"))?;
            println!("{name}: {said} messages of an unprivileged task");
        }
        let compared = kernel_states::check(&capture, &log).with_context(|| name.to_string())?;
        println!(
            "{name}: {}",
            compared.iter().map(|(kind, (count, wrong))| format!("{count} {kind}, {wrong} wrong")).collect::<Vec<_>>().join(", ")
        );
        let (mut all, mut states) = (0, 0);
        for (kind, &(count, wrong)) in &compared {
            let most = match *kind {
                // The hooks of old kernels do not say that an interrupt makes a task ready while the scheduler is suspended, and V10.2
                // denies it itself.
                "states" if name.starts_with("V10") => count / 200,
                // Another core may create a task while this one looks.
                "priorities" if name.starts_with("two-cores") => count / 2000,
                // The kernel acts before or after the hook: something may come in between, and then stays wrong for some looks.
                "states" | "fills" | "timers" | "bits" => count / 500,
                _ => 0,
            };
            ensure!(wrong <= most, "{name}: of {count} {kind} {wrong} are wrong, more than {most}");
            all += count;
            states += if *kind == "states" { count } else { 0 };
        }
        let least = if name.starts_with("mpu") { 50_000 } else { 80_000 };
        ensure!(all > least && states > 15_000, "{name}: only {all} statements, {states} states");
    }
    Ok(())
}

/// Prints the sizes of the library next to their budgets; fails beyond them.
pub fn size() -> anyhow::Result<()> {
    script("target/tests/cost.sh", "size")
}

/// Prints the instructions per event next to their budgets; fails beyond them.
pub fn cycles() -> anyhow::Result<()> {
    script("target/tests/cost.sh", "cycles")
}

fn script(path: &str, part: &str) -> anyhow::Result<()> {
    let root = root()?;
    let status = Command::new("sh").arg(root.join(path)).arg(part).env("BUILD", root.join("build/target-tests")).status();
    if !status.with_context(|| format!("cannot run {path}"))?.success() {
        bail!("`{path} {part}` failed");
    }
    Ok(())
}
