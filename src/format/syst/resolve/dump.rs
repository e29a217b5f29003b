//! Records as `dump` lists them.

use super::losses;
use crate::format::syst::collateral::{Collateral, Sender};
use crate::format::syst::decode::{PartSender, Records};
use crate::format::syst::decoded::{Key, NameRef, RecordKind, SourceRef, Stored};
use crate::format::syst::record::{Marks, SEVERITIES};
use crate::format::{FieldValue, ListRecord, RecordView};
use crate::model::Tag;
use crate::printf::escape;

/// Lists a record. False if no more are wanted.
pub fn list(records: &Records, stored: &Stored, collateral: &Collateral, out: &mut ListRecord<'_>) -> bool {
    let mut owner = String::new();
    let mut fields: Vec<(&str, FieldValue<'_>)> = Vec::with_capacity(12);
    if let Some(PartSender { key, found }) = records.senders.get(stored.sender as usize) {
        match key.sender {
            Sender::Guid(guid) => {
                escape::push_guid(&guid, &mut owner);
                fields.push(("guid", FieldValue::Text(&owner)));
            }
            Sender::Module(module) => fields.push(("module", FieldValue::Uint(module.into()))),
            Sender::Unknown => {}
        }
        if key.sender != Sender::Unknown {
            fields.push(("unit", FieldValue::Uint(key.unit.into())));
        }
        if let Some((master, channel)) = key.place {
            fields.push(("master", FieldValue::Uint(master.into())));
            fields.push(("channel", FieldValue::Uint(channel.into())));
        }
        if let Some(client) = found.and_then(|found| collateral.get(found.client)) {
            fields.push(("client", FieldValue::Text(&client.name)));
        }
    }
    let is_message = !matches!(stored.kind, RecordKind::Console | RecordKind::Malformed(_) | RecordKind::Notice(_));
    if is_message && !matches!(stored.kind, RecordKind::Short { .. }) {
        fields.push(("severity", FieldValue::Text(SEVERITIES[usize::from(stored.severity & 7)])));
    }
    // Without a time of the transport it is the record's time stamp.
    if let Some(timestamp) = stored.timestamp.filter(|_| stored.transport.is_some()) {
        fields.push(("timestamp", FieldValue::Uint(timestamp)));
    }
    match stored.kind {
        RecordKind::Build => fields.push(("build", FieldValue::Uint(stored.value))),
        RecordKind::Short { .. } => fields.push(("value", FieldValue::Uint(stored.value))),
        RecordKind::Clock => fields.extend([("clock", FieldValue::Uint(stored.value)), ("hz", FieldValue::Uint(stored.extra))]),
        RecordKind::Catalog => fields.push(("id", FieldValue::Uint(stored.value))),
        RecordKind::Raw => {
            fields.push(("protocol", FieldValue::Uint(stored.value)));
            if let NameRef::Local(name) = stored.name
                && let Some(name) = records.names.get(name as usize)
            {
                fields.push(("protocol_name", FieldValue::Text(name)));
            }
        }
        RecordKind::Notice(_) => fields.push(("value", FieldValue::Uint(stored.value))),
        _ => {}
    }
    let place = match stored.source {
        SourceRef::Entry(entry) => {
            let source = collateral.entry(entry).and_then(|entry| entry.details.source.as_ref());
            source.map(|(file, line)| (file.as_ref(), *line))
        }
        SourceRef::Local(local) => records.sources.get(local as usize).and_then(|source| {
            let (file, line) = source.location.file_line()?;
            Some((collateral.get(source.client?)?.file(file)?, line))
        }),
        SourceRef::None => None,
    };
    if let Some((file, line)) = place {
        fields.extend([("file", FieldValue::Text(file)), ("line", FieldValue::Uint(line.into()))]);
    }
    fields.push(("length", FieldValue::Uint(stored.len.into())));
    let body = records.text(stored.body);
    if !body.is_empty() {
        fields.push((if is_message || stored.kind == RecordKind::Console { "text" } else { "bytes" }, FieldValue::Text(body)));
    }
    let args = records.args_of(stored);
    let mut values: Vec<FieldValue<'_>> = Vec::with_capacity(args.len());
    for arg in args {
        let value = match (arg.tag(), arg.text()) {
            (_, Some(text)) => FieldValue::Text(records.text(text)),
            (Tag::Int, _) => FieldValue::Int(arg.bits().cast_signed()),
            (Tag::Float, _) => FieldValue::Float(f64::from_bits(arg.bits())),
            _ => FieldValue::Uint(arg.bits()),
        };
        let name = if arg.name == Key::TEXT { Some("text") } else { arg.name.name().ok() };
        match name.filter(|name| fields.iter().all(|(other, _)| other != name)) {
            Some(name) => fields.push((name, value)),
            None => values.push(value),
        }
    }
    if !values.is_empty() {
        fields.push(("args", FieldValue::List(&values)));
    }
    let marks: Vec<&str> = Marks::NAMES.iter().filter(|(mark, _)| stored.marks.has(*mark)).map(|(_, name)| *name).collect();
    let marks = marks.join(" ");
    if !marks.is_empty() {
        fields.push(("marks", FieldValue::Text(&marks)));
    }
    let record = match stored.kind {
        RecordKind::Malformed(reason) => {
            fields.push(("reason", FieldValue::Text(losses::of_malformed(reason).text)));
            "invalid"
        }
        RecordKind::Notice(notice) => notice.name(),
        kind => record_name(kind),
    };
    out(&RecordView {
        offset: records.base + u64::from(stored.offset),
        record,
        core: None,
        ticks: stored.transport.filter(|_| is_message || matches!(stored.kind, RecordKind::Notice(_))).or(stored.timestamp),
        nanos: None,
        fields: &fields,
    })
}

fn record_name(kind: RecordKind) -> &'static str {
    match kind {
        RecordKind::Build => "BUILD",
        RecordKind::Short { wide: false } => "SHORT32",
        RecordKind::Short { wide: true } => "SHORT64",
        RecordKind::Text => "STRING:GENERIC",
        RecordKind::Enter => "STRING:ENTER",
        RecordKind::Exit => "STRING:EXIT",
        RecordKind::InvalidParam => "STRING:INVPARAM",
        RecordKind::Assert => "STRING:ASSERT",
        RecordKind::Printf => "STRING:PRINTF",
        RecordKind::Catalog => "CATALOG",
        RecordKind::Raw => "RAW",
        RecordKind::Sbd => "SBD",
        RecordKind::Clock => "CLOCK:SYNC",
        RecordKind::Console => "console",
        RecordKind::Malformed(_) | RecordKind::Notice(_) => "invalid",
    }
}
