//! `traceconv dump` writes lines of strict JSON that keep to `docs/reference/dump.schema.json`, for every capture of every format.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, Visitor};
use serde_json::Value;
use traceconv::format::FORMATS;

/// An object in which each key occurs once.
struct Strict(BTreeMap<String, Value>);

impl<'de> Deserialize<'de> for Strict {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Strict, D::Error> {
        struct Fields;
        impl<'de> Visitor<'de> for Fields {
            type Value = Strict;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Strict, A::Error> {
                let mut fields = BTreeMap::new();
                while let Some((name, value)) = map.next_entry::<String, Value>()? {
                    if fields.contains_key(&name) {
                        return Err(A::Error::custom(format!("{name} occurs twice")));
                    }
                    fields.insert(name, value);
                }
                Ok(Strict(fields))
            }
        }
        deserializer.deserialize_map(Fields)
    }
}

fn is_of_type(value: &Value, kind: &str) -> bool {
    match kind {
        "integer" => value.is_u64() || value.is_i64(),
        "number" => value.is_number(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "null" => value.is_null(),
        other => panic!("the schema has the type {other}"),
    }
}

/// The types that a part of the schema allows.
fn types(part: &Value) -> Vec<String> {
    match &part["type"] {
        Value::String(kind) => vec![kind.clone()],
        Value::Array(kinds) => kinds.iter().filter_map(|kind| kind.as_str().map(str::to_owned)).collect(),
        other => panic!("{other} is no type"),
    }
}

/// The captures of a folder and those below it: files with a list of their records beside them.
fn captures(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            captures(&path, found);
        } else if !path.to_string_lossy().ends_with(".records.jsonl") && path.with_extension("records.jsonl").exists() {
            found.push(path);
        }
    }
}

#[test]
fn every_line_keeps_to_the_schema() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let schema: Value = serde_json::from_str(&fs::read_to_string(root.join("docs/reference/dump.schema.json")).unwrap()).unwrap();
    let required: Vec<&str> = schema["required"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    let (properties, others) = (schema["properties"].as_object().unwrap(), types(&schema["additionalProperties"]));
    let mut with_times = BTreeSet::new();
    for format in FORMATS {
        let mut files = Vec::new();
        captures(&root.join("testdata").join(format.name().replace('-', "/")), &mut files);
        assert!(!files.is_empty(), "there is no capture of {}", format.name());
        for file in files {
            let mut command = Command::new(env!("CARGO_BIN_EXE_traceconv"));
            let ran = command.args(["dump", "-q", "--format", format.name()]).arg(&file).output().unwrap();
            for line in String::from_utf8(ran.stdout).unwrap().lines() {
                let context = || format!("{}: {line}", file.display());
                let Strict(fields) = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {}", context()));
                for name in &required {
                    assert!(fields.contains_key(*name), "no {name}: {}", context());
                }
                for (name, value) in &fields {
                    let allowed = properties.get(name).map_or_else(|| others.clone(), types);
                    assert!(allowed.iter().any(|kind| is_of_type(value, kind)), "{name}: {}", context());
                }
                if fields["ns"].is_u64() {
                    with_times.insert(format.name());
                }
            }
        }
    }
    assert_eq!(with_times.len(), FORMATS.len(), "only {with_times:?} have times");
}
