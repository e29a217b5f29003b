//! The Rust side: the table of which `record.rs` makes the type of records, its reader and its writer.

use super::table::{Event, Format, Scope, Table, camel_case};

/// A record's fields beside its time must fit into this, so that records stay small. Those of a wider event are kept as raw
/// bytes, with a type of their own that reads them.
const MAX_FIELD_BYTES: usize = 16;

const HEAD: &str = "\
//! Generated from target/events.toml by `cargo xtask codegen`: do not edit.
//!
//! The table of events, for the macros of `record.rs`. A line is: the id, the format that has the event and who sends it, its
//! name on the wire and here, its time stamp if it has one, and its fields in the order of the wire. `T` is text, or bytes with a check.

/// Calls a macro with all events.
macro_rules! event_table {
    ($records:ident) => {
        $records! {
";

/// `event_table.rs`, the table of the decoder.
pub fn events(table: &Table) -> String {
    let mut text = String::from(HEAD);
    for event in &table.event {
        text += &format!("            {}\n", line(event));
    }
    text += "        }\n    };\n}\n\n/// Calls a macro with all enumerations: names here and on the wire, and numbers.\n";
    text += "macro_rules! enum_table {\n    ($enums:ident) => {\n        $enums! {\n";
    for (name, doc) in table.enums.keys().map(|name| (name, doc_of(name))) {
        text += &format!("            #[doc = \"{doc}\"]\n            {name} {{\n");
        for (value, number) in table.values(name) {
            text += &format!("                {} {value} = {number}\n", camel_case(value));
        }
        text += "            }\n";
    }
    text += "        }\n    };\n}\n\n/// Calls a macro with the fields of events that are too wide for a record.\n";
    text += "macro_rules! wide_table {\n    ($wide:ident) => {\n        $wide! {\n";
    for event in table.event.iter().filter(|event| is_wide(event)) {
        text += &format!("            {}Fields {{ {} }}\n", camel_case(&event.name), field_list(event));
    }
    text + "        }\n    };\n}\n\npub(super) use {enum_table, event_table, wide_table};\n"
}

fn doc_of(name: &str) -> &'static str {
    match name {
        "QueueKind" => "The kind of a queue. Semaphores and mutexes are queues in FreeRTOS.",
        "StreamKind" => "The kind of a stream buffer.",
        "TaskState" => "The state of a task when a recording starts.",
        _ => "An enumeration of the wire.",
    }
}

fn line(event: &Event) -> String {
    let (id, name, variant) = (event.id, &event.name, camel_case(&event.name));
    let format = if event.format == Format::Plain { "plain" } else { "superset" };
    let scope = if event.scope == Scope::Base { "base" } else { "freertos" };
    let time = if event.time { "ts: u64" } else { "" };
    let fields = if is_wide(event) { "fields: T".to_owned() } else { field_list(event) };
    format!("0x{id:02X} {format} {scope} {name} {variant} [{time}] {{ {fields} }}")
}

fn field_list(event: &Event) -> String {
    let fields: Vec<String> = event.fields.iter().map(|field| format!("{}: {}", field.name, rust_type(&field.kind))).collect();
    fields.join(", ")
}

fn rust_type(kind: &str) -> &str {
    match kind {
        "s64" => "i64",
        "str" | "args" => "T",
        other => other,
    }
}

fn is_wide(event: &Event) -> bool {
    let bytes = |kind: &str| match kind {
        "u32" => 4,
        "u64" | "s64" | "str" | "args" => 8,
        _ => 1,
    };
    event.fields.iter().map(|field| bytes(&field.kind)).sum::<usize>() > MAX_FIELD_BYTES
}
