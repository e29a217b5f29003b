//! Records as `dump` lists them.

use super::Resolver;
use crate::format::syst::collateral::Sender;
use crate::format::syst::decode::{Key, Records, Stored, Told, What};
use crate::format::syst::record::{Marks, SEVERITIES};
use crate::format::syst::resolve::losses;
use crate::format::syst::shown;
use crate::format::{FieldValue, RecordView};
use crate::model::Tag;

impl Resolver {
    pub(super) fn show(
        &mut self,
        index: usize,
        records: &Records,
        stored: &Stored,
        out: &mut dyn FnMut(&RecordView<'_>) -> bool,
    ) -> bool {
        let Some(input) = self.inputs.get_mut(index) else { return false };
        let nanos = input.clock.plain_nanos(stored);
        input.clock.note(stored, crate::model::Nanos(nanos.unwrap_or(0)));
        let mut owner = String::new();
        let mut fields: Vec<(&str, FieldValue<'_>)> = Vec::with_capacity(12);
        let sender = records.senders.get(stored.sender as usize).map(|sender| sender.key);
        if let Some(key) = sender {
            match key.sender {
                Sender::Guid(guid) => {
                    shown::push_guid(&guid, &mut owner);
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
        }
        let is_message = !matches!(stored.what, What::Console | What::Malformed(_) | What::Notice(_));
        if is_message && !matches!(stored.what, What::Short { .. }) {
            fields.push(("severity", FieldValue::Text(SEVERITIES[usize::from(stored.severity & 7)])));
        }
        if let Some(timestamp) = stored.timestamp {
            fields.push(("timestamp", FieldValue::Uint(timestamp)));
        }
        match stored.what {
            What::Build => fields.push(("build", FieldValue::Uint(stored.value))),
            What::Short { .. } => fields.push(("value", FieldValue::Uint(stored.value))),
            What::Clock => fields.extend([("clock", FieldValue::Uint(stored.value)), ("hz", FieldValue::Uint(stored.extra))]),
            What::Catalog => fields.push(("id", FieldValue::Uint(stored.value))),
            What::Raw => fields.push(("protocol", FieldValue::Uint(stored.value))),
            What::Notice(_) => fields.push(("value", FieldValue::Uint(stored.value))),
            _ => {}
        }
        let body = records.text(stored.body);
        if !body.is_empty() {
            fields.push((if is_message || stored.what == What::Console { "text" } else { "bytes" }, FieldValue::Text(body)));
        }
        let args = records.args_of(stored);
        let float = |arg: &Told| if arg.tag() == Tag::Float { f64::from_bits(arg.bits()).to_string() } else { String::new() };
        let floats: Vec<String> = args.iter().map(float).collect();
        for (arg, float) in args.iter().zip(&floats) {
            let value = match (arg.tag(), arg.text()) {
                (_, Some(text)) => FieldValue::Text(records.text(text)),
                (Tag::Int, _) => FieldValue::Int(arg.bits().cast_signed()),
                (Tag::Float, _) => FieldValue::Text(float),
                _ => FieldValue::Uint(arg.bits()),
            };
            fields.push((if arg.name == Key::TEXT { "text" } else { arg.name.name().unwrap_or("arg") }, value));
        }
        let marks: Vec<&str> = MARKS.iter().filter(|(mark, _)| stored.marks.has(*mark)).map(|(_, name)| *name).collect();
        let marks = marks.join(" ");
        if !marks.is_empty() {
            fields.push(("marks", FieldValue::Text(&marks)));
        }
        let record = match stored.what {
            What::Malformed(reason) => {
                fields.push(("reason", FieldValue::Text(losses::of_malformed(reason).text)));
                "invalid"
            }
            What::Notice(notice) => notice.name(),
            what => record_name(what),
        };
        out(&RecordView {
            offset: records.base + u64::from(stored.offset),
            record,
            core: None,
            ticks: stored.transport.filter(|_| is_message || matches!(stored.what, What::Notice(_))),
            nanos,
            fields: &fields,
        })
    }
}

fn record_name(what: What) -> &'static str {
    match what {
        What::Build => "BUILD",
        What::Short { wide: false } => "SHORT32",
        What::Short { wide: true } => "SHORT64",
        What::Text => "STRING:GENERIC",
        What::Enter => "STRING:ENTER",
        What::Exit => "STRING:EXIT",
        What::InvalidParam => "STRING:INVPARAM",
        What::Assert => "STRING:ASSERT",
        What::Printf => "STRING:PRINTF",
        What::Catalog => "CATALOG",
        What::Raw => "RAW",
        What::Sbd => "SBD",
        What::Clock => "CLOCK:SYNC",
        What::Console => "console",
        What::Malformed(_) | What::Notice(_) => "invalid",
    }
}

/// What is odd about messages, by name.
pub(super) const MARKS: [(Marks, &str); 9] = [
    (Marks::CRC_BAD, "crc_bad"),
    (Marks::TRUNCATED, "truncated"),
    (Marks::SURPLUS, "surplus"),
    (Marks::MISSING_ARGUMENTS, "missing_arguments"),
    (Marks::BAD_FORMAT, "bad_format"),
    (Marks::NOT_UTF8, "not_utf8"),
    (Marks::SLOTS, "slots"),
    (Marks::CLAMPED, "clamped"),
    (Marks::OTHER_BUILD, "other_build"),
];
