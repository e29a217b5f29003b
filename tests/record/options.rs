//! `docs/reference/record-options.md`: the options of `traceconv record`, from the definition of the command line.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use traceconv::cli;

#[test]
fn the_page_of_options_is_fresh() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/reference/record-options.md");
    let page = page();
    if std::env::var_os("TRACECONV_BLESS").is_some() {
        fs::write(&path, &page).unwrap();
    }
    assert_eq!(fs::read_to_string(&path).unwrap_or_default(), page, "TRACECONV_BLESS=1 writes it again");
}

fn page() -> String {
    let mut definition = cli::definition();
    definition.build();
    let record = definition.find_subcommand("record").expect("the feature `record` is on");
    let mut page = String::from(
        "# Options of `record`\n\n\
         <!-- Generated from src/cli/record.rs: TRACECONV_BLESS=1 cargo test --test record -->\n\n\
         `traceconv record SOURCE -o FILE`. [Getting a recording off the board](../recording.md#record) has examples.\n\n\
         | Option | Meaning |\n|---|---|\n",
    );
    for arg in record.get_arguments().filter(|arg| !arg.is_global_set() && arg.get_id() != "help") {
        let values: Vec<&str> = arg.get_value_names().into_iter().flatten().map(clap::builder::Str::as_str).collect();
        let value = if arg.get_action().takes_values() { values.join(" ") } else { String::new() };
        let name = match (arg.get_long(), arg.get_short()) {
            (Some(long), Some(short)) => format!("`-{short}`, `--{long} {value}").trim_end().to_owned() + "`",
            (Some(long), None) => format!("`--{long} {value}").trim_end().to_owned() + "`",
            _ => format!("`{value}`"),
        };
        let help = arg.get_long_help().or(arg.get_help()).map(ToString::to_string).unwrap_or_default();
        let help = help.replace("\n\n", ". ");
        let help = help.split_whitespace().collect::<Vec<_>>().join(" ").replace('|', "\\|");
        let defaults: Vec<_> = arg.get_default_values().iter().map(|value| value.to_string_lossy()).collect();
        let default = if defaults.is_empty() || !arg.get_action().takes_values() {
            String::new()
        } else {
            format!(" Default: `{}`.", defaults.join(" "))
        };
        let stop = if help.ends_with(['.', ')', ']']) || default.is_empty() { "" } else { "." };
        writeln!(page, "| {} | {help}{stop}{default} |", name.replace('|', "\\|")).unwrap();
    }
    page
}
