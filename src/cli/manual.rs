//! `traceconv completions SHELL` and `traceconv man [DIR]`: what shells and `man` want to know, made of the definition of the arguments.

use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::{Args as ClapArgs, Command};
use clap_complete::Shell;

use super::{Status, print, say};

#[derive(Debug, ClapArgs)]
pub(super) struct CompletionsArgs {
    /// The shell that the script is for
    #[arg(value_name = "SHELL")]
    shell: Shell,
}

#[derive(Debug, ClapArgs)]
pub(super) struct ManArgs {
    /// A directory that exists, for traceconv.1 and a page of each command [default: the first page goes to standard output]
    #[arg(value_name = "DIR")]
    dir: Option<PathBuf>,
}

/// Prints the script for a shell.
pub(super) fn completions(args: &CompletionsArgs) -> Status {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut super::help::command(), "traceconv", &mut script);
    print(&String::from_utf8_lossy(&script))
}

/// Prints or writes manual pages.
pub(super) fn man(args: &ManArgs) -> Status {
    let result = pages().and_then(|pages| match &args.dir {
        None => Ok(pages.first().map_or(Status::Done, |(_, page)| print(page))),
        Some(dir) => write(dir, &pages).map(|()| Status::Done),
    });
    result.unwrap_or_else(|error| {
        say(&format!("error: {error:#}\n"));
        Status::Failed
    })
}

/// All pages with their names, that of the program first.
fn pages() -> anyhow::Result<Vec<(String, String)>> {
    // Building fills in what commands inherit, and `help`, which needs no page.
    let mut program = super::help::command();
    program.build();
    let commands: Vec<Command> = program.get_subcommands().filter(|command| command.get_name() != "help").cloned().collect();
    let mut pages = vec![page(program)?];
    for command in commands {
        pages.push(page(command)?);
    }
    Ok(pages)
}

fn page(command: Command) -> anyhow::Result<(String, String)> {
    let name = command.get_display_name().unwrap_or_else(|| command.get_name()).replace(' ', "-");
    let command = command.version(crate::report::TOOL_VERSION);
    let mut page = Vec::new();
    clap_mangen::Man::new(command).manual("traceconv manual").render(&mut page).context("cannot make the manual page")?;
    Ok((format!("{name}.1"), ascii(&String::from_utf8(page).context("a manual page is no text")?)))
}

/// Characters beyond ASCII as roff's escapes: what reads pages does not agree on what else they are encoded in.
fn ascii(page: &str) -> String {
    let mut text = String::with_capacity(page.len());
    for character in page.chars() {
        if character.is_ascii() {
            text.push(character);
        } else {
            text += &format!("\\[u{:04X}]", u32::from(character));
        }
    }
    text
}

fn write(dir: &Path, pages: &[(String, String)]) -> anyhow::Result<()> {
    for (name, page) in pages {
        let path = dir.join(name);
        std::fs::write(&path, page).with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(())
}
