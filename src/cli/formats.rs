//! `traceconv formats`: the formats, how each is recognised, and its options.

use std::fmt::Write;

use clap::Args as ClapArgs;
use serde::Serialize;

use super::{Status, fail, print};
use crate::format::{FORMATS, Format, OptionKind, OptionSpec};
use crate::report::indented_json;

#[derive(Debug, ClapArgs)]
pub(super) struct FormatsArgs {
    /// For scripts
    #[arg(long)]
    json: bool,
}

/// The version of the JSON's shape. A field that is added does not change it.
const SCHEMA_VERSION: u32 = 1;

#[derive(Serialize)]
struct FormatsFile {
    schema_version: u32,
    tool_version: &'static str,
    formats: Vec<FormatInfo>,
}

#[derive(Serialize)]
struct FormatInfo {
    /// For `--format`.
    name: &'static str,
    title: &'static str,
    recorded_by: &'static str,
    recognised_by: &'static str,
    /// Which of its recordings are found in images of a target's memory.
    in_memory: Vec<&'static str>,
    options: Vec<OptionInfo>,
}

#[derive(Serialize)]
struct OptionInfo {
    /// Without the hyphens before it.
    name: &'static str,
    /// `flag`, `text` or `file`.
    takes: &'static str,
    /// The name of its value.
    value: Option<&'static str>,
    repeatable: bool,
    help: &'static str,
}

/// Prints the list.
pub(super) fn run(args: &FormatsArgs) -> Status {
    let formats: Vec<FormatInfo> = FORMATS.iter().map(|format| FormatInfo::of(*format)).collect();
    if !args.json {
        return print(&text(&formats));
    }
    let file = FormatsFile { schema_version: SCHEMA_VERSION, tool_version: crate::report::TOOL_VERSION, formats };
    indented_json(&file).map_or_else(fail, |json| print(&json))
}

impl FormatInfo {
    fn of(format: &dyn Format) -> FormatInfo {
        let mut in_memory: Vec<_> = format.memory_marks().iter().map(|mark| mark.what).collect();
        in_memory.dedup();
        FormatInfo {
            name: format.name(),
            title: format.title(),
            recorded_by: format.recorded_by(),
            recognised_by: format.recognised_by(),
            in_memory,
            options: format.options().iter().map(OptionInfo::of).collect(),
        }
    }
}

impl OptionInfo {
    fn of(spec: &OptionSpec) -> OptionInfo {
        let (takes, value) = match spec.kind {
            OptionKind::Flag => ("flag", None),
            OptionKind::Text(value) => ("text", Some(value)),
            OptionKind::File(value) => ("file", Some(value)),
        };
        OptionInfo { name: spec.name, takes, value, repeatable: spec.repeatable, help: spec.help }
    }

    /// As it is typed.
    fn typed(&self) -> String {
        let value = self.value.map_or_else(String::new, |value| format!(" {value}"));
        format!("--{}{value}{}", self.name, if self.repeatable { " ..." } else { "" })
    }
}

fn text(formats: &[FormatInfo]) -> String {
    let mut text = String::new();
    for format in formats {
        // Writing to a string cannot fail.
        let _ = write_format(&mut text, format);
    }
    text
}

fn write_format(text: &mut String, format: &FormatInfo) -> std::fmt::Result {
    if !text.is_empty() {
        text.push('\n');
    }
    writeln!(text, "{}: {}", format.name, format.title)?;
    writeln!(text, "  recorded by {}", format.recorded_by)?;
    writeln!(text, "  recognised by {}", format.recognised_by)?;
    for kind in &format.in_memory {
        writeln!(text, "  also found in images of a target's memory: {kind}")?;
    }
    let typed: Vec<String> = format.options.iter().map(OptionInfo::typed).collect();
    let width = typed.iter().map(|option| option.chars().count()).max().unwrap_or(0);
    for (option, typed) in format.options.iter().zip(&typed) {
        writeln!(text, "  {typed:width$}  {}", option.help)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_listed_as_typed() {
        let option = |name, value, repeatable| OptionInfo { name, takes: "text", value, repeatable, help: "Its effect" };
        let format = |name, options| FormatInfo {
            name,
            title: "A format",
            recorded_by: "somebody",
            recognised_by: "something",
            in_memory: vec!["a ring"],
            options,
        };
        let listed = text(&[
            format("one", vec![option("short", None, false), option("longer", Some("ID=N"), true)]),
            format("two", vec![]),
        ]);
        let expected = "\
one: A format
  recorded by somebody
  recognised by something
  also found in images of a target's memory: a ring
  --short            Its effect
  --longer ID=N ...  Its effect

two: A format
  recorded by somebody
  recognised by something
  also found in images of a target's memory: a ring
";
        assert_eq!(listed, expected);
    }
}
