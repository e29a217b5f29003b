//! The index of events in FORMAT.md, between two markers.

use anyhow::Context;

use super::table::{Event, Format, Scope, Table};

const BEGIN: &str = "<!-- index: begin -->\n";
const END: &str = "<!-- index: end -->";

/// The page with a new index.
pub fn with_index(page: &str, table: &Table) -> anyhow::Result<String> {
    let (before, rest) = page.split_once(BEGIN).with_context(|| format!("FORMAT.md has no `{}`", BEGIN.trim()))?;
    let (_, after) = rest.split_once(END).with_context(|| format!("FORMAT.md has no `{END}`"))?;
    let mut index = String::from("| id | name | format | scope | | fields | meaning |\n|---|---|---|---|---|---|---|\n");
    table.event.iter().for_each(|event| index += &line(event));
    Ok(format!("{before}{BEGIN}{index}{END}{after}"))
}

/// Quotes as in the rest of the page; apostrophes stay.
fn double_quoted(doc: &str) -> String {
    match doc.split_once(" '").and_then(|(before, rest)| Some((before, rest.rsplit_once('\'')?))) {
        Some((before, (quoted, after))) => format!("{before} \"{quoted}\"{after}"),
        None => doc.to_owned(),
    }
}

fn line(event: &Event) -> String {
    let format = if event.format == Format::Plain { "P" } else { "S" };
    let scope = if event.scope == Scope::Base { "b" } else { "f" };
    let metadata = if event.time { "" } else { "M" };
    let fields: Vec<String> = event.fields.iter().map(|field| format!("{} {}", field.name, field.kind)).collect();
    let doc = double_quoted(&event.doc);
    format!("| 0x{:02X} | {} | {format} | {scope} | {metadata} | {} | {doc} |\n", event.id, event.name, fields.join(", "))
}
