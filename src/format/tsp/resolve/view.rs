//! Packets as `dump` lists them: in file order, as recorded, without corrections.

use super::super::decode::{Bad, Records, list_entries};
use super::super::record::{Packet, id, name_of, type_name};
use super::InputResolver;
use crate::format::{FieldValue, RecordView};
use crate::model::Ledger;

impl InputResolver {
    pub(super) fn dump_part(&self, records: &Records, ledger: &mut Ledger, out: &mut dyn FnMut(&RecordView<'_>) -> bool) {
        ledger.decoded_bytes += records.ok_bytes;
        ledger.frames_ok += records.packets().len() as u64;
        let mut bad = records.bad.as_slice();
        for (number, packet) in records.packets().iter().enumerate() {
            if !dump_bad(records, &mut bad, number, ledger, out) || !self.dump_packet(records, packet, out) {
                return;
            }
        }
        dump_bad(records, &mut bad, usize::MAX, ledger, out);
    }

    fn dump_packet(&self, records: &Records, packet: &Packet, out: &mut dyn FnMut(&RecordView<'_>) -> bool) -> bool {
        let unnamed;
        let record = match name_of(packet.id) {
            Some(name) => name,
            None => {
                unnamed = format!("ID_{}", packet.id);
                &unnamed
            }
        };
        let mut fields = vec![("packet_id", FieldValue::Uint(u64::from(packet.packet_id)))];
        let entries = if packet.id == id::OBJECT_LIST { list_text(records, packet) } else { String::new() };
        if packet.id == id::OBJECT_LIST {
            fields.push(("type", FieldValue::Text(type_name(packet.data[0]))));
            fields.push(("count", FieldValue::Uint(u64::from(packet.data[1]))));
            fields.push(("objects", FieldValue::Text(&entries)));
        } else {
            fields.push(("tick", FieldValue::Uint(u64::from(packet.tick))));
            fields.push(("timer", FieldValue::Uint(u64::from(packet.timer))));
            data_fields(packet, &mut fields);
        }
        let offset = records.base.wrapping_add_signed(i64::from(packet.offset.cast_signed()));
        out(&RecordView { offset, record, core: Some(self.core.0), ticks: None, nanos: None, fields: &fields })
    }
}

fn dump_bad(
    records: &Records,
    bad: &mut &[Bad],
    before: usize,
    ledger: &mut Ledger,
    out: &mut dyn FnMut(&RecordView<'_>) -> bool,
) -> bool {
    while let Some((first, rest)) = bad.split_first().filter(|(first, _)| first.index as usize <= before) {
        *bad = rest;
        let (kind, offset) = (first.reason.loss_kind(), records.base + u64::from(first.offset));
        ledger.bad_frames(kind, offset, u64::from(first.len), 1, first.reason.at_least_lost());
        let fields = [("bytes", FieldValue::Bytes(records.bytes(first.raw))), ("reason", FieldValue::Text(kind.text))];
        if !out(&RecordView { offset, record: "invalid", core: None, ticks: None, nanos: None, fields: &fields }) {
            return false;
        }
    }
    true
}

/// The entries of an object list, as `number name, …`.
fn list_text(records: &Records, packet: &Packet) -> String {
    let entries = list_entries(records, packet).map(|entry| format!("{} {}", entry.number, String::from_utf8_lossy(entry.name)));
    entries.collect::<Vec<_>>().join(", ")
}

/// The data of a packet, by the meaning for its id.
fn data_fields<'a>(packet: &'a Packet, fields: &mut Vec<(&'static str, FieldValue<'a>)>) {
    let byte = |index: usize| FieldValue::Uint(u64::from(packet.data[index]));
    match (packet.id, packet.data_len) {
        (_, 0) => {}
        (2 | 6 | 11 | 12 | 35 | 37 | 41..=43, 1) => fields.push(("task", byte(0))),
        (3, 1) => fields.push(("ticks", byte(0))),
        (13 | 15, 1) => fields.push(("number", byte(0))),
        (14, 1) => fields.push(("type", FieldValue::Text(type_name(packet.data[0])))),
        (7 | 8 | 40, 2) => fields.extend([("task", byte(0)), ("priority", byte(1))]),
        (9 | 10 | 17..=20 | 23..=33, 2) => {
            fields.extend([("type", FieldValue::Text(type_name(packet.data[0]))), ("number", byte(1))]);
        }
        (38 | 39, 3) => fields.extend([("task", byte(0)), ("ticks", FieldValue::Uint(u64::from(packet.u16_at(1))))]),
        (50 | 51, 2) => fields.push(("bytes", FieldValue::Uint(u64::from(packet.u16_at(0))))),
        _ => fields.push(("data", FieldValue::Bytes(packet.bytes()))),
    }
}
