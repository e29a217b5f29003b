//! Packets as `dump` lists them: in file order, as recorded.

use std::sync::Arc;

use super::super::decode::{Bad, Records};
use super::super::packet::number;
use super::super::record::{Fields, extended_record, id, system_record};
use super::handles::Shared;
use super::{InputResolver, loss_of};
use crate::format::{FieldValue, ListRecord, RecordView};
use crate::model::lossy;

/// How many bytes of a damaged piece are listed.
const LISTED_BYTES: usize = 64;

pub(super) fn dump_part(input: &InputResolver, shared: &Shared, records: &Records, bytes: &[u8], out: &mut ListRecord<'_>) {
    let mut bad = records.bad.iter().peekable();
    for (index, record) in records.packets.iter().enumerate() {
        while let Some(bad) = bad.next_if(|bad| bad.index <= index) {
            if !dump_bad(bad, !input.has_start, bytes, out) {
                return;
            }
        }
        let packet = &record.packet;
        let offset = records.base + u64::from(record.offset);
        let payload = packet.fields(bytes, usize::try_from(offset).unwrap_or(usize::MAX)).0;
        let has_time = packet.has_time();
        let core = input.cores.get(usize::from(packet.core)).filter(|_| has_time).map(|core| core.core.0);
        let ticks = has_time.then_some(packet.delta);
        let (record, fields) = fields(packet.id, payload, shared);
        let texts: Vec<String> = fields.iter().map(|(_, value)| value.text()).collect();
        let fields: Vec<(&str, FieldValue<'_>)> =
            fields.iter().zip(&texts).map(|((name, value), text)| (&**name, value.view(text))).collect();
        if !out(&RecordView { offset, record: &record, core, ticks, nanos: None, fields: &fields }) {
            return;
        }
    }
    for bad in bad {
        if !dump_bad(bad, !input.has_start, bytes, out) {
            return;
        }
    }
}

fn dump_bad(bad: &Bad, begins_midway: bool, bytes: &[u8], out: &mut ListRecord<'_>) -> bool {
    let (start, end) = (bad.range.0, bad.range.1.min(bad.range.0 + LISTED_BYTES));
    let fields = [
        ("bytes", FieldValue::Bytes(bytes.get(start..end).unwrap_or(&[]))),
        ("length", FieldValue::Uint((bad.range.1 - bad.range.0) as u64)),
        ("reason", FieldValue::Text(loss_of(bad, begins_midway).text)),
    ];
    out(&RecordView { offset: start as u64, record: "invalid", core: None, ticks: None, nanos: None, fields: &fields })
}

/// The value of a field.
enum Value<'a> {
    Number(u64),
    Text(&'a [u8]),
    Bytes(&'a [u8]),
}

impl<'a> Value<'a> {
    fn text(&self) -> String {
        match self {
            Value::Text(text) => lossy(text),
            _ => String::new(),
        }
    }

    fn view(&self, text: &'a str) -> FieldValue<'a> {
        match *self {
            Value::Number(value) => FieldValue::Uint(value),
            Value::Text(_) => FieldValue::Text(text),
            Value::Bytes(bytes) => FieldValue::Bytes(bytes),
        }
    }
}

type Field<'a> = (Arc<str>, Value<'a>);

/// The name and the fields of a packet.
fn fields<'a>(packet: u16, payload: &'a [u8], shared: &Shared) -> (String, Vec<Field<'a>>) {
    let mut rest = Fields(payload);
    let mut fields: Vec<Field<'a>> = Vec::new();
    if let Some((record, names)) = system_record(packet) {
        let is_text = |name: &str| matches!(name, "name" | "description" | "text");
        for name in names.iter().filter(|_| !payload.is_empty()) {
            fields.push(match is_text(name) {
                true => ((*name).into(), Value::Text(rest.text())),
                false => match rest.next_long() {
                    Some(value) => ((*name).into(), Value::Number(value)),
                    None => break,
                },
            });
        }
        let name = match (packet, fields.first()) {
            (id::EX, Some((_, Value::Number(number)))) => u32::try_from(*number).ok().and_then(extended_record).unwrap_or(record),
            _ => record,
        };
        others(rest.0, &mut fields);
        return (name.to_owned(), fields);
    }
    let Some(event) = shared.descriptions.get(packet) else {
        others(payload, &mut fields);
        return (shared.unknown_name(packet), fields);
    };
    for parameter in &event.parameters {
        let value = match parameter.kind {
            super::super::descriptions::Kind::Text => Value::Text(rest.text()),
            _ => match rest.next_long() {
                Some(value) => Value::Number(value),
                None => break,
            },
        };
        fields.push((parameter.name.clone(), value));
    }
    others(rest.0, &mut fields);
    (event.name.to_string(), fields)
}

/// The rest of a payload: numbers if it consists of these, or else bytes.
fn others<'a>(payload: &'a [u8], fields: &mut Vec<Field<'a>>) {
    let (mut at, start) = (0, fields.len());
    while let Some(rest) = payload.get(at..).filter(|rest| !rest.is_empty()) {
        let Some((value, len)) = number(rest) else {
            fields.truncate(start);
            fields.push(("data".into(), Value::Bytes(payload)));
            return;
        };
        fields.push((format!("argument_{}", fields.len() - start).into(), Value::Number(value)));
        at += len;
    }
}
