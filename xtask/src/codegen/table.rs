//! The table of events, as read and checked.

use std::collections::BTreeMap;

use anyhow::{bail, ensure};
use serde::Deserialize;

/// `events.toml`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Table {
    /// Kinds of enumerations: names to numbers.
    #[serde(default)]
    pub enums: BTreeMap<String, BTreeMap<String, u8>>,
    /// The events, in the order of their ids.
    pub event: Vec<Event>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Event {
    pub id: u8,
    pub name: String,
    pub format: Format,
    pub scope: Scope,
    /// Whether a time stamp follows the id.
    pub time: bool,
    pub fields: Vec<Field>,
    pub doc: String,
}

#[derive(Deserialize, Clone, Copy, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum Format {
    Plain,
    Superset,
}

#[derive(Deserialize, Clone, Copy, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum Scope {
    Base,
    Freertos,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Field {
    pub name: String,
    /// `u8`, `u32`, `u64`, `s64`, `str`, `args`, or one of [`Table::enums`].
    #[serde(rename = "type")]
    pub kind: String,
}

const TYPES: [&str; 6] = ["u8", "u32", "u64", "s64", "str", "args"];

/// Whether a type takes the rest of the frame.
pub fn is_rest(kind: &str) -> bool {
    kind == "str" || kind == "args"
}

impl Table {
    /// Reads the table and checks the rules that the generated files rely on.
    pub fn parse(text: &str) -> anyhow::Result<Table> {
        let table: Table = toml::from_str(text)?;
        for pair in table.event.windows(2) {
            let [before, event] = pair else { continue };
            ensure!(before.id != event.id, "the id {:#04x} occurs twice", event.id);
            ensure!(before.id < event.id, "{} is not in the order of the ids", event.name);
        }
        for event in &table.event {
            ensure!(event.id < 0x80, "the id of {} must be below 0x80: the highest bit marks delta time stamps", event.name);
            for (index, field) in event.fields.iter().enumerate() {
                if !TYPES.contains(&field.kind.as_str()) && !table.enums.contains_key(&field.kind) {
                    bail!("{}: no such type: {}", event.name, field.kind);
                }
                let is_last = index + 1 == event.fields.len();
                ensure!(
                    !is_rest(&field.kind) || is_last,
                    "{}: a field that takes the rest of the frame must be the last one",
                    event.name
                );
            }
        }
        Ok(table)
    }

    /// The names and numbers of an enumeration, in the order of the numbers.
    pub fn values(&self, name: &str) -> Vec<(&str, u8)> {
        let values = self.enums.get(name).into_iter().flatten();
        let mut values: Vec<(&str, u8)> = values.map(|(name, &number)| (name.as_str(), number)).collect();
        values.sort_by_key(|value| value.1);
        values
    }
}

/// `queue_kind` → `QueueKind`.
pub fn camel_case(name: &str) -> String {
    let words = name.split('_').map(|word| {
        let (first, rest) = word.split_at(word.len().min(1));
        first.to_uppercase() + rest
    });
    words.collect()
}
