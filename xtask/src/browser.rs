//! `cargo xtask browser-test`: `--open`, `serve` and the page in a real browser. Without one it fails.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, ensure};

/// The names under which Chromium is installed.
const NAMES: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];

/// Runs the tests that `cargo test` leaves out because they need Chromium.
pub fn test() -> anyhow::Result<()> {
    let browser = std::env::var_os("CHROMIUM").map(PathBuf::from).or_else(find).with_context(|| {
        format!("there is no browser: install Chromium (apt-get install chromium), or name one in CHROMIUM; looked for {NAMES:?}")
    })?;
    println!("The browser is {}.", browser.display());
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let status = Command::new(env!("CARGO"))
        .current_dir(root)
        // Of the whole workspace, so that it is the build of `cargo test --workspace`.
        .args(["test", "--workspace", "--test", "viewer", "browser::", "--", "--ignored", "--test-threads", "1", "--nocapture"])
        .env("CHROMIUM", browser)
        .status()
        .context("cannot run cargo")?;
    ensure!(status.success(), "a browser test failed");
    Ok(())
}

fn find() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).flat_map(|folder| NAMES.map(|name| folder.join(name))).find(|file| file.is_file())
}
