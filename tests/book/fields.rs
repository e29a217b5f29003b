//! `docs/reference/json.md` names every field of every JSON file, and no other.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde_json::Value;

use super::read;
use super::session::Session;

/// The fields of objects, by the objects' paths.
type Fields = BTreeMap<String, BTreeSet<String>>;

/// The files: the name of each on the page, and a command that prints it.
const FILES: [(&str, &str); 11] = [
    ("report", "traceconv -q --report - demo.bin damaged.bin dpp.bin stm.stp pump.bin sniffer.bin firmware.bin -o out/"),
    ("report", "(head -c 999 /dev/zero; cat ring.ram) > dump.ram; traceconv -q --report - dump.ram"),
    ("report", "traceconv -q --merge before.bin after.bin --sync-marker SysTick --report - -o merged.perfetto-trace"),
    ("stats", "traceconv stats -q --json demo.bin damaged.bin dpp.bin stm.stp pump.bin sniffer.bin firmware.bin"),
    ("check", "traceconv check -q --budget budget.toml --json before.bin"),
    ("check", "traceconv check -q --budget budget.toml --json after.bin 2>/dev/null"),
    ("diff", "traceconv diff -q --json before.bin after.bin"),
    ("diff", "traceconv diff -q --json dual-0.bin firmware.bin"),
    ("baseline", "traceconv baseline -q before.bin after.bin"),
    ("info", "traceconv info -q --json demo.bin damaged.bin dpp.bin stm.stp pump.bin firmware.bin"),
    ("formats", "traceconv formats --json"),
];

#[test]
fn the_page_of_json_has_every_field() {
    let mut real = Fields::new();
    for (file, command) in FILES {
        let text = Session::new().run(command);
        let json: Value = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{command}: {error}\n{text}"));
        collect(&json, file, &mut real);
    }
    let described = described(&read(Path::new("docs/reference/json.md")));
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
