//! The C side: the constants of the encoder, and the table of the tests' decoder.

use super::table::{Event, Table, is_rest};

/// `tband_events.h`.
pub fn header(table: &Table) -> String {
    let mut text = String::from(
        "/* Generated from events.toml: do not edit.\n *\n * One constant per event: bits 0-7 the id on the wire, bits 8-11 the \
         number of integer fields, bit 12 set for metadata\n * (no timestamp). */\n#ifndef TBAND_EVENTS_H_\n#define TBAND_EVENTS_H_\n\n",
    );
    let width = table.event.iter().map(|event| event.name.len()).max().unwrap_or(0);
    for event in &table.event {
        let integers = event.fields.iter().filter(|field| !is_rest(&field.kind)).count();
        // The encoder writes more than three by itself.
        let integers = if integers > 3 { 0 } else { integers };
        let value = if event.time { 0 } else { 0x1000 } | integers << 8 | usize::from(event.id);
        text += &format!("#define TBAND_EVT_{:width$} 0x{value:04x}u\n", event.name.to_uppercase());
    }
    text + "\n#endif\n"
}

/// `event_table.h` of the tests.
pub fn decoder_table(table: &Table) -> String {
    let mut text = String::from(
        "/* Generated from events.toml: do not edit.\n *\n * One line per event: id, name, time-stamped or not, field types \
         (B u8 or enum, U u32, Q u64, S s64, T text, A arguments). */\n",
    );
    for event in &table.event {
        let (id, name, time) = (event.id, &event.name, u8::from(event.time));
        text += &format!("EVENT(0x{id:02x}, {name}, {time}, \"{}\")\n", letters(event));
    }
    text
}

fn letters(event: &Event) -> String {
    let letter = |kind: &str| match kind {
        "u32" => 'U',
        "u64" => 'Q',
        "s64" => 'S',
        "str" => 'T',
        "args" => 'A',
        _ => 'B',
    };
    event.fields.iter().map(|field| letter(&field.kind)).collect()
}
