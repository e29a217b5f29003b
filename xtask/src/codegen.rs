//! `cargo xtask codegen`: the files generated from the one table of events, `target/events.toml`.
//!
//! From it come the records of the decoder, the ids and field counts of the C encoder, the table of the C tests' own decoder,
//! and the index in FORMAT.md. With `--check` nothing is written; differences are listed, and the task fails.

mod c;
mod format_md;
mod rust;
mod table;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};

use table::Table;

/// The table, from the repository's root.
const TABLE: &str = "target/events.toml";

#[derive(clap::Args)]
pub struct Arguments {
    /// Write nothing; fail if a file differs from the table
    #[arg(long)]
    check: bool,
}

/// A generated file: its place and its content.
struct Generated {
    path: &'static str,
    text: String,
}

pub fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let root = root()?;
    let mut stale = Vec::new();
    for file in generate(&root)? {
        let path = root.join(file.path);
        if fs::read_to_string(&path).unwrap_or_default() == file.text {
            continue;
        }
        if arguments.check {
            stale.push(file.path);
        } else {
            fs::write(&path, &file.text).with_context(|| format!("cannot write {}", path.display()))?;
        }
    }
    if !stale.is_empty() {
        bail!("different from {TABLE}: {}. Run `cargo xtask codegen` and commit the result.", stale.join(", "));
    }
    Ok(())
}

/// The repository's root: xtask is a folder of it.
pub fn root() -> anyhow::Result<PathBuf> {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    Ok(own.parent().context("xtask lies in no repository")?.to_owned())
}

fn generate(root: &Path) -> anyhow::Result<Vec<Generated>> {
    let read = |path: &str| fs::read_to_string(root.join(path)).with_context(|| format!("cannot read {path}"));
    let table = Table::parse(&read(TABLE)?).with_context(|| TABLE)?;
    let mut files = vec![
        Generated { path: "src/format/tonbandgeraet/event_table.rs", text: rust::events(&table) },
        Generated { path: "target/include/tband_events.h", text: c::header(&table) },
        Generated { path: "target/tests/event_table.h", text: c::decoder_table(&table) },
    ];
    let format_md = "target/FORMAT.md";
    if root.join(format_md).exists() {
        files.push(Generated { path: format_md, text: format_md::with_index(&read(format_md)?, &table)? });
    }
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn generated_files_are_what_the_table_says() {
        run(&Arguments { check: true }).unwrap();
    }

    #[test]
    fn a_table_that_breaks_the_rules_is_refused() {
        let event = |id: &str, fields: &str| {
            format!(
                "[[event]]\nid = {id}\nname = \"a\"\nformat = \"plain\"\nscope = \"base\"\ntime = true\nfields = {fields}\ndoc = \"d\"\n"
            )
        };
        let complaint = |text: &str| format!("{:#}", Table::parse(text).err().map_or(anyhow::anyhow!("none"), |error| error));
        assert_eq!(complaint(&event("0x7f", "[]")), "none");
        assert!(complaint(&event("0x80", "[]")).contains("below 0x80"));
        assert!(complaint(&(event("2", "[]") + &event("2", "[]"))).contains("twice"));
        let text_first = r#"[{ name = "t", type = "str" }, { name = "n", type = "u32" }]"#;
        assert!(complaint(&event("2", text_first)).contains("last"));
        assert!(complaint(&event("2", r#"[{ name = "t", type = "Colour" }]"#)).contains("Colour"));
    }
}
