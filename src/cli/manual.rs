//! `traceconv completions SHELL` and `traceconv man [DIR]`, made of the definition of the arguments.

use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::{Args as ClapArgs, Command};
use clap_complete::Shell;

use super::output::create_dir;
use super::plan::shown;
use super::{Status, fail, print};

#[derive(Debug, ClapArgs)]
pub(super) struct CompletionsArgs {
    /// The shell that the script is for
    #[arg(value_name = "SHELL")]
    shell: Shell,
}

#[derive(Debug, ClapArgs)]
pub(super) struct ManArgs {
    /// A directory for traceconv.1 and a page of each command [default: the first page goes to standard output]
    #[arg(value_name = "DIR")]
    dir: Option<PathBuf>,
}

/// Prints the script for a shell.
pub(super) fn completions(args: &CompletionsArgs) -> Status {
    let mut script = Vec::new();
    let mut command = super::help::command();
    clap_complete::generate(args.shell, &mut command, "traceconv", &mut script);
    command.build();
    let names: Vec<&str> = command.get_subcommands().map(Command::get_name).collect();
    let script = String::from_utf8_lossy(&script);
    print(&match args.shell {
        Shell::Bash => bash_with_inputs(&script, &names.join(" ")),
        Shell::Fish => fish_with_inputs(&script, &names.join(" ")),
        _ => script.into_owned(),
    })
}

/// The generated script for bash, with inputs: it knows no files beside commands, and offers commands after inputs.
fn bash_with_inputs(script: &str, commands: &str) -> String {
    let script = script.replace("complete -F _traceconv -o", "complete -F _traceconv_words -o");
    let wrapper = BASH_WRAPPER.replace("COMMANDS", commands);
    match script.rfind("\nif [[ \"${BASH_VERSINFO") {
        Some(end) => {
            let (functions, registration) = script.split_at(end);
            format!("{functions}\n{wrapper}{registration}")
        }
        None => format!("{script}\n{wrapper}complete -F _traceconv_words -o bashdefault -o default traceconv\n"),
    }
}

const BASH_WRAPPER: &str = r#"# Completes like _traceconv, but offers commands as the first word only, and files beside them. Options are offered after a dash.
_traceconv_words() {
    _traceconv "$@"
    local cur="${COMP_WORDS[COMP_CWORD]}" commands=" COMMANDS " first="" is_value="" has_command="" word
    local words=()
    [[ $cur == -* ]] && return
    for word in "${COMPREPLY[@]}"; do
        [[ $word == -* ]] && continue
        words+=("$word")
        [[ $commands == *" $word "* ]] && has_command=yes
    done
    for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
        if [[ -n $is_value ]]; then
            is_value=""
            continue
        fi
        case "$word" in
            --color | --threads | --progress) is_value=yes ;;
            -*) ;;
            *) first="$word"; break ;;
        esac
    done
    if [[ -z $has_command || -n $first && $commands == *" $first "* ]]; then
        COMPREPLY=("${words[@]}")
    elif [[ -n $first ]]; then
        COMPREPLY=()
    else
        while IFS= read -r word; do
            words+=("$word")
        done < <(compgen -f -- "$cur")
        COMPREPLY=("${words[@]}")
        compopt -o filenames 2>/dev/null
    fi
}
"#;

/// The generated script for fish, with inputs: it offers options of a conversion only before the first input.
fn fish_with_inputs(script: &str, commands: &str) -> String {
    const CONDITION: &str = "complete -c traceconv -n \"__fish_traceconv_needs_command\" ";
    let mut text = String::new();
    let mut is_defined = false;
    for line in script.split_inclusive('\n') {
        match line.strip_prefix(CONDITION) {
            Some(rest) if !rest.starts_with("-a ") && !rest.starts_with("-f -a ") => {
                if !is_defined {
                    text += &format!(
                        "# Whether no command is named, so that options are those of a conversion, also after inputs.\n\
                         function __fish_traceconv_converts\n    \
                             set -l first (__fish_traceconv_needs_command)\n    \
                             not contains -- \"$first[1]\" {commands}\n\
                         end\n\n"
                    );
                    is_defined = true;
                }
                text += &format!("complete -c traceconv -n __fish_traceconv_converts {rest}");
            }
            _ => text += line,
        }
    }
    text
}

/// Prints or writes manual pages.
pub(super) fn man(args: &ManArgs) -> Status {
    let result = pages().and_then(|pages| match &args.dir {
        None => Ok(pages.first().map_or(Status::Done, |(_, page)| print(page))),
        Some(dir) => write(dir, &pages).map(|()| Status::Done),
    });
    result.unwrap_or_else(fail)
}

/// All pages with their names, that of the program first.
fn pages() -> anyhow::Result<Vec<(String, String)>> {
    // Building adds the options that commands inherit, and `help`, which needs no page.
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

/// Characters beyond ASCII as roff's escapes: readers of pages do not agree on another encoding.
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
    create_dir(dir)?;
    for (name, page) in pages {
        let path = dir.join(name);
        std::fs::write(&path, page).with_context(|| format!("cannot write {}", shown(&path)))?;
    }
    Ok(())
}
