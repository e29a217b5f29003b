//! `docs/reference/json.md` names every field of the files for scripts, and no other.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use serde_json::Value;

/// The fields of objects, by the objects' paths.
type Fields = BTreeMap<String, BTreeSet<String>>;

/// Holds these files against the page, of which only the paths are looked at that `is_looked_at` says.
pub fn hold_page_of_json(files: &[(&str, Value)], is_looked_at: impl Fn(&str) -> bool) {
    let page = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/reference/json.md")).unwrap();
    let (mut real, mut described) = (Fields::new(), described(&page));
    files.iter().for_each(|(file, json)| collect(json, file, &mut real));
    described.retain(|path, _| is_looked_at(path));
    let mut complaints = Vec::new();
    for path in real.keys().chain(described.keys()).collect::<BTreeSet<_>>() {
        let none = BTreeSet::new();
        let (is, said) = (real.get(path).unwrap_or(&none), described.get(path).unwrap_or(&none));
        complaints.extend(is.difference(said).map(|field| format!("{path} has {field}, which the page does not name")));
        complaints.extend(said.difference(is).map(|field| format!("{path} has no {field}, which the page names")));
    }
    assert!(complaints.is_empty(), "docs/reference/json.md:\n{}", complaints.join("\n"));
}

/// All fields of a value and of its members.
fn collect(value: &Value, path: &str, fields: &mut Fields) {
    match value {
        Value::Object(object) => {
            // Fields of several files are described once.
            let path = match path {
                "traces[].statistics" | "stats.recordings[].statistics" => "statistics",
                "stats.recordings[].inputs[]"
                | "check.recordings[].inputs[]"
                | "info.recordings[].inputs[]"
                | "report.inputs[]" => "inputs[]",
                _ => path.strip_prefix("report.").unwrap_or(path),
            };
            let is_durations = object.contains_key("p99_ns") && !object.contains_key("name");
            let path = if is_durations { "durations" } else { path };
            fields.entry(path.to_owned()).or_default().extend(object.keys().cloned());
            for (name, value) in object {
                collect(value, &format!("{path}.{name}"), fields);
            }
        }
        Value::Array(values) => values.iter().for_each(|value| collect(value, &format!("{path}[]"), fields)),
        _ => {}
    }
}

/// The fields that the page names: below a heading with paths, the first column of the table.
fn described(page: &str) -> Fields {
    let mut fields = Fields::new();
    let mut paths: Vec<String> = Vec::new();
    for line in page.lines() {
        if let Some(heading) = line.strip_prefix("### ") {
            let spans = || heading.split('`').skip(1).step_by(2).map(str::to_owned);
            paths = if heading.starts_with("Durations") { vec!["durations".into()] } else { spans().collect() };
            assert!(!paths.is_empty(), "{line}");
        } else if let Some(cell) = line.strip_prefix("| `").and_then(|row| row.split('|').next()) {
            let names: Vec<&str> = cell.split('`').step_by(2).collect();
            for path in &paths {
                fields
                    .entry(path.clone())
                    .or_default()
                    .extend(names.iter().filter(|name| !name.trim().is_empty()).map(|name| (*name).to_owned()));
            }
        }
    }
    fields
}
