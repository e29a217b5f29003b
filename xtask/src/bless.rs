//! `cargo xtask bless`: writes the captures under `testdata/` and the views that are compared with them.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, ensure};

/// Runs the golden tests of all formats as those that write. The changes are then reviewed as a diff.
pub fn run() -> anyhow::Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let status = Command::new(env!("CARGO"))
        .current_dir(root)
        .args(["test", "--no-fail-fast", "--tests", "golden::captures_give_their_views"])
        .env("TRACECONV_BLESS", "1")
        .status()
        .context("cannot run cargo")?;
    ensure!(status.success(), "the golden test failed");
    println!("Blessed. `git diff testdata` shows the changes.");
    Ok(())
}
