//! `cargo xtask web`: the page in build/web: the converter as WebAssembly, the page's files, and examples. `cargo xtask web-test`: its tests.
//!
//! Building needs the target wasm32-unknown-unknown (rustup) and clang (for zstd); testing needs Chromium, and npm for the tools that
//! `web/package-lock.json` names.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, bail, ensure};
use serde::{Deserialize, Serialize};

/// The module may be this large when a server compresses it, in bytes.
const GZIPPED_MAX_BYTES: usize = 1_500_000;

/// The list of the page's files as Rust code, which the feature `web-page` includes; its name is in the error if it is missing.
const EMBEDDED: &str = "made-by-cargo-xtask-web.rs";

/// The entries of `web/examples.json`.
#[derive(Serialize, Deserialize)]
struct Example {
    title: String,
    /// Paths in the repository; in the page: names.
    files: Vec<String>,
    /// The core of each file, if they are cores of one recording.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    cores: Vec<u16>,
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Where the page is made.
fn page() -> PathBuf {
    root().join("build/web")
}

/// Builds the page.
pub fn build() -> anyhow::Result<()> {
    let (root, page) = (root(), page());
    let module = root.join("build/wasm32-unknown-unknown/release/traceconv_web.wasm");
    run(Command::new(env!("CARGO")).current_dir(&root).args([
        "build",
        "--release",
        "--locked",
        "--target=wasm32-unknown-unknown",
        "--target-dir=build",
        "--manifest-path=web/wasm/Cargo.toml",
        // Only small functions are inlined: 6 % smaller when compressed, and 4 % slower.
        "--config=target.wasm32-unknown-unknown.rustflags=['-Cllvm-args=-inline-threshold=60']",
    ]))
    .context("the converter was not built; `rustup target add wasm32-unknown-unknown` adds the target, and zstd needs clang")?;
    if page.exists() {
        fs::remove_dir_all(&page)?;
    }
    fs::create_dir_all(page.join("examples"))?;
    // As the compiler makes it: a run of wasm-opt (-O3) after that saves 0.2 % of the compressed size and no time, and takes minutes.
    fs::copy(&module, page.join("traceconv.wasm")).context("cannot copy the converter")?;
    for entry in fs::read_dir(root.join("web/page"))? {
        let path = entry?.path();
        let name = path.file_name().context("a file has a name")?.to_owned();
        if !path.to_string_lossy().ends_with(".d.ts") {
            fs::copy(&path, page.join(name))?;
        }
    }
    add_examples(&root, &page)?;
    let files = files(&page)?;
    add_service_worker(&page, &files)?;
    add_embedded(&page, &files)?;

    let module = fs::read(page.join("traceconv.wasm"))?;
    let gzipped = gzipped_bytes(&page.join("traceconv.wasm"))?;
    println!("build/web: {} files; traceconv.wasm {} bytes, {gzipped} with gzip", files.len(), module.len());
    ensure!(gzipped <= GZIPPED_MAX_BYTES, "traceconv.wasm has more than {GZIPPED_MAX_BYTES} bytes with gzip");
    Ok(())
}

/// Runs the page's tests, with a page that `build` made, and the native program to compare with.
pub fn test() -> anyhow::Result<()> {
    ensure!(page().join("traceconv.wasm").is_file(), "there is no page; build it with `cargo xtask web`");
    install_tools()?;
    run(tool("tsc").arg("--noEmit").current_dir(root().join("web")))?;
    // The program to compare with.
    crate::converter()?;
    // The one that has the page in it, beside a test that runs it: of the whole workspace and quickly built, from what `cargo test` built.
    run(Command::new(env!("CARGO")).current_dir(root()).args([
        "test",
        "--quiet",
        "--workspace",
        "--test=usage",
        "--features=traceconv/web-page",
        "--config=profile.dev.opt-level=0",
    ]))?;
    // One after the other: the page's tests measure how fast it is.
    for tests in ["tests/converter.test.mjs", "tests/page.test.mjs"] {
        run(Command::new("node").current_dir(root().join("web")).args(["--test", "--test-reporter=spec", tests]))
            .with_context(|| format!("web/{tests} did not pass; the tests need Node 18 or newer and Chromium"))?;
    }
    Ok(())
}

fn run(command: &mut Command) -> anyhow::Result<()> {
    let status = command.status().with_context(|| format!("cannot run {:?}", command.get_program()))?;
    ensure!(status.success(), "{:?} failed", command.get_program());
    Ok(())
}

/// A tool that `npm ci` installed.
fn tool(name: &str) -> Command {
    Command::new(root().join("web/node_modules/.bin").join(name))
}

/// Installs exactly the versions of the lockfile, if that has not been done since it changed.
fn install_tools() -> anyhow::Result<()> {
    let web = root().join("web");
    let changed = |path: &str| fs::metadata(web.join(path)).and_then(|metadata| metadata.modified()).ok();
    if changed("node_modules/.package-lock.json") < changed("package-lock.json") {
        run(Command::new("npm").current_dir(&web).args(["ci", "--no-audit", "--no-fund", "--ignore-scripts"]))
            .context("the page's tools were not installed; they need npm and Node 18 or newer")?;
    }
    Ok(())
}

fn add_examples(root: &Path, page: &Path) -> anyhow::Result<()> {
    let mut examples: Vec<Example> = serde_json::from_str(&fs::read_to_string(root.join("web/examples.json"))?)?;
    for example in &mut examples {
        for file in &mut example.files {
            let path = root.join(&*file);
            let name = example_name(file)?;
            fs::copy(&path, page.join("examples").join(&name)).with_context(|| format!("cannot copy {file}"))?;
            *file = name;
        }
    }
    fs::write(page.join("examples/examples.json"), serde_json::to_string_pretty(&examples)?)?;
    Ok(())
}

/// The name of an example in the page: captures of tests have their format in front, as many formats have one of the same name.
fn example_name(file: &str) -> anyhow::Result<String> {
    let words: Vec<&str> = file.split('/').collect();
    match words.as_slice() {
        ["testdata", "demo", name] => Ok((*name).to_owned()),
        ["testdata", format, .., name] => Ok(format!("{format}-{name}")),
        _ => bail!("the example {file} is not in testdata"),
    }
}

/// All files of the page, by their names in it, with `/`.
fn files(page: &Path) -> anyhow::Result<BTreeMap<String, Vec<u8>>> {
    let mut files = BTreeMap::new();
    let mut folders = vec![page.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let name = path.strip_prefix(page)?.to_string_lossy().replace('\\', "/");
                files.insert(name, fs::read(&path)?);
            }
        }
    }
    Ok(files)
}

/// Writes the list of files into the service worker. Another version of any of them is another version of the page.
fn add_service_worker(page: &Path, files: &BTreeMap<String, Vec<u8>>) -> anyhow::Result<()> {
    let mut hasher = DefaultHasher::new();
    files.hash(&mut hasher);
    let kept: Vec<&str> = std::iter::once("./").chain(files.keys().map(String::as_str).filter(|name| *name != "sw.js")).collect();
    let path = page.join("sw.js");
    let worker = fs::read_to_string(&path)?
        .replace("{{version}}", &format!("{:016x}", hasher.finish()))
        .replace("{{files}}", &serde_json::to_string(&kept)?);
    fs::write(path, worker)?;
    Ok(())
}

/// The list of all files for the program: path, media type, content.
fn add_embedded(page: &Path, files: &BTreeMap<String, Vec<u8>>) -> anyhow::Result<()> {
    let mut code = String::from("&[\n");
    for name in files.keys() {
        writeln!(code, "    ({:?}, {:?}, include_bytes!({name:?})),", format!("/{name}"), media_type(name)?)?;
    }
    code += "]\n";
    fs::write(page.join(EMBEDDED), code)?;
    Ok(())
}

fn media_type(name: &str) -> anyhow::Result<&'static str> {
    Ok(match name.rsplit_once('.').map(|(_, extension)| extension) {
        _ if name.starts_with("examples/") && !name.ends_with(".json") => "application/octet-stream",
        Some("html") => "text/html; charset=utf-8",
        Some("js") => "text/javascript; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("json") => "application/json",
        Some("webmanifest") => "application/manifest+json",
        Some("svg") => "image/svg+xml",
        Some("wasm") => "application/wasm",
        _ => bail!("{name} has no media type"),
    })
}

/// The length of a file compressed with gzip.
fn gzipped_bytes(path: &Path) -> anyhow::Result<usize> {
    let output = Command::new("gzip").arg("-9c").arg(path).output().context("cannot run gzip")?;
    ensure!(output.status.success(), "gzip failed");
    Ok(output.stdout.len())
}
