//! The words of a command line before they are parsed: options in front of a command, and commands that are misspelled.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::metrics::nearest::nearest;

/// Options without a value that every command has.
const FLAGS: [&str; 4] = ["-q", "--quiet", "-v", "--verbose"];
/// Options with a value that every command has.
const VALUED: [&str; 3] = ["--color", "--threads", "--progress"];

/// Moves a command before the options that every command has: `traceconv -q stats` means `traceconv stats -q`. For the parser,
/// words after an option of a conversion are inputs.
pub(super) fn command_first(words: impl IntoIterator<Item = OsString>) -> Vec<OsString> {
    let mut words: Vec<OsString> = words.into_iter().collect();
    let mut at = 1;
    while let Some(word) = words.get(at).and_then(|word| word.to_str()) {
        if FLAGS.contains(&word)
            || VALUED.iter().any(|option| word.strip_prefix(option).is_some_and(|rest| rest.starts_with('=')))
        {
            at += 1;
        } else if VALUED.contains(&word) {
            at += 2;
        } else {
            break;
        }
    }
    if at > 1
        && words.get(at).and_then(|word| word.to_str()).is_some_and(is_command)
        && let Some(range) = words.get_mut(1..=at)
    {
        range.rotate_right(1);
    }
    words
}

/// Words that are taken for commands, and how it is said instead.
const NO_COMMANDS: [(&str, &str); 6] = [
    ("batch", "traceconv --recursive DIR -o DIR/"),
    ("compare", "traceconv diff BASE NEW"),
    ("convert", "traceconv FILE"),
    ("merge", "traceconv --merge FILE FILE"),
    ("open", "traceconv --open FILE"),
    ("split", "traceconv --split-size BYTES FILE"),
];

/// Commands that not every build has, with the feature that each needs.
const OPTIONAL: [(&str, &str); 4] = [("export", "export"), ("record", "record"), ("serve", "serve"), ("web", "web-page")];

/// A message if this build lacks the command: its options are unknown then, too.
pub(super) fn left_out(words: &[OsString]) -> Option<String> {
    let first = words.get(1)?;
    let is_asked_for = first == "help";
    let word = if is_asked_for { words.get(2)? } else { first };
    let (name, feature) = OPTIONAL.into_iter().find(|(name, _)| word == name && !is_command(name))?;
    let is_input = !is_asked_for && Path::new(word).is_file();
    (!is_input).then(|| {
        format!(
            "this program was built without the command `{name}`; build it with the feature {feature}, in a checkout with \
             `cargo install --path . --features {feature}`"
        )
    })
}

/// A message if a command was probably meant: by the first input, if it is nearly one, or by another one that is one.
pub(super) fn mistyped_command(inputs: &[PathBuf]) -> Option<String> {
    let word = |path: &Path| path.to_str().filter(|word| !word.contains(['/', '\\', '.', '@'])).map(str::to_owned);
    let is_missing = |path: &Path| std::fs::symlink_metadata(path).is_err();
    let (first, others) = inputs.split_first()?;
    if let Some(word) = word(first).filter(|_| is_missing(first)) {
        if let Some((_, instead)) = NO_COMMANDS.into_iter().find(|&(name, _)| name == word) {
            return Some(format!("`{word}` is neither a file nor a command; the command line is: {instead}"));
        }
        let names: Vec<String> = commands().collect();
        if let Some(name) = nearest(&word, names.iter().map(String::as_str)) {
            return Some(format!("`{word}` is neither a file nor a command; did you mean `{name}`?"));
        }
    }
    let name = others.iter().filter(|path| is_missing(path)).find_map(|path| word(path).filter(|word| is_command(word)))?;
    Some(format!("`{name}` is not a file but a command, which comes first: traceconv {name} ..."))
}

fn commands() -> impl Iterator<Item = String> {
    let names: Vec<String> = super::help::command().get_subcommands().map(|command| command.get_name().to_owned()).collect();
    names.into_iter().chain(["help".to_owned()])
}

fn is_command(word: &str) -> bool {
    commands().any(|name| name == word)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moved(line: &str) -> String {
        let words = command_first(line.split(' ').map(OsString::from));
        words.iter().map(|word| word.to_str().unwrap()).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn a_command_comes_before_common_options() {
        assert_eq!(moved("traceconv -q stats a.bin"), "traceconv stats -q a.bin");
        assert_eq!(moved("traceconv --threads 2 --color=never -v dump a"), "traceconv dump --threads 2 --color=never -v a");
        for same in [
            "traceconv",
            "traceconv -q",
            "traceconv --threads",
            "traceconv -q a.bin stats",
            "traceconv --strict stats",
            "traceconv stats -q a",
        ] {
            assert_eq!(moved(same), same);
        }
    }

    #[test]
    fn a_command_that_this_build_lacks_is_named_with_its_feature() {
        let message = |line: &str| left_out(&line.split(' ').map(OsString::from).collect::<Vec<_>>());
        for (name, feature) in OPTIONAL {
            let said = message(&format!("traceconv {name} --option x"));
            assert_eq!(said.is_some(), !is_command(name), "{said:?}");
            assert!(said.as_ref().is_none_or(|said| said.contains(&format!("--features {feature}`"))));
            assert_eq!(message(&format!("traceconv help {name}")), said);
        }
        assert_eq!((message("traceconv"), message("traceconv stats"), message("traceconv exports")), (None, None, None));
        assert_eq!((message("traceconv help"), message("traceconv help stats")), (None, None));
    }

    #[test]
    fn words_near_a_command_are_not_inputs() {
        let message = |words: &[&str]| mistyped_command(&words.iter().map(PathBuf::from).collect::<Vec<_>>());
        assert!(message(&["stat", "a.bin"]).unwrap().contains("did you mean `stats`?"));
        assert!(message(&["Cargo.toml", "stats"]).unwrap().contains("comes first"));
        assert!(message(&["merge", "a.bin", "b.bin"]).unwrap().ends_with(": traceconv --merge FILE FILE"));
        assert!(message(&["compare", "a.bin", "b.bin"]).unwrap().ends_with(": traceconv diff BASE NEW"));
        assert_eq!(message(&["stat.bin", "dir/dump", "x", "recording"]), None);
        assert_eq!(message(&[]), None);
    }
}
