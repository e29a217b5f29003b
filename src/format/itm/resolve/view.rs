//! Packets as `dump` lists them: in file order, as recorded.

use super::super::decode::{Record, Records};
use super::kind_of;
use crate::format::{FieldValue, ListRecord, RecordView};
use crate::frame::swo::Packet;
use crate::model::CoreId;

pub(super) fn dump(core: CoreId, records: &Records, bytes: &[u8], out: &mut ListRecord<'_>) {
    for record in &records.packets {
        if !one(core, record, bytes, out) {
            return;
        }
    }
}

fn one(core: CoreId, record: &Record, bytes: &[u8], out: &mut ListRecord<'_>) -> bool {
    let offset = record.offset;
    let mut view = |name: &str, ticks: Option<u64>, fields: &[(&str, FieldValue<'_>)]| {
        let core = record.packet.is_ok().then_some(core.0);
        out(&RecordView { offset, record: name, core, ticks, nanos: None, fields })
    };
    let number = |value: u32| FieldValue::Uint(u64::from(value));
    let packet = match record.packet {
        Ok(packet) => packet,
        Err(damage) => {
            let start = usize::try_from(offset).unwrap_or(usize::MAX);
            let byte = bytes.get(start..start.saturating_add(1)).unwrap_or(&[]);
            return view(
                "invalid",
                None,
                &[("bytes", FieldValue::Bytes(byte)), ("reason", FieldValue::Text(kind_of(damage).text))],
            );
        }
    };
    match packet {
        Packet::Zero | Packet::Sync => view("sync", None, &[]),
        Packet::Overflow => view("overflow", None, &[]),
        Packet::LocalTime { ticks, delay } => {
            let fields = [("tc", FieldValue::Uint(u64::from(delay.of_stamp) + 2 * u64::from(delay.of_packets)))];
            view("local time", Some(u64::from(ticks)), &fields)
        }
        Packet::GlobalLow { value, bits, has_wrapped, clock_changed } => {
            let fields = [
                ("bits", FieldValue::Uint(u64::from(bits))),
                ("wrap", FieldValue::Uint(u64::from(has_wrapped))),
                ("clock_change", FieldValue::Uint(u64::from(clock_changed))),
            ];
            view("global time, low", Some(u64::from(value)), &fields)
        }
        Packet::GlobalHigh { value } => view("global time, high", Some(value), &[]),
        Packet::Page { page } => view("port page", None, &[("page", FieldValue::Uint(u64::from(page)))]),
        Packet::Port { port, bytes, value } => {
            let fields = [
                ("port", FieldValue::Uint(u64::from(port))),
                ("size", FieldValue::Uint(u64::from(bytes))),
                ("value", number(value)),
            ];
            view("port write", None, &fields)
        }
        Packet::Hardware { id, bytes, value } => {
            let comparator = ("comparator", FieldValue::Uint(u64::from(id >> 1 & 3)));
            let size = ("size", FieldValue::Uint(u64::from(bytes)));
            match id {
                0 => view("event counters", None, &[("bits", number(value))]),
                1 => {
                    let what = ["reserved", "entered", "exited", "returned to"][(value >> 12 & 3) as usize];
                    view("exception", None, &[("number", number(value & 0x1FF)), ("action", FieldValue::Text(what))])
                }
                2 if bytes == 4 => view("pc sample", None, &[("pc", number(value))]),
                2 => view("pc sample", None, &[("state", FieldValue::Text(if value == 0 { "asleep" } else { "prohibited" }))]),
                3 => view("performance counters", None, &[("bits", number(value))]),
                8..=15 if id & 1 == 1 => view("data address", None, &[comparator, ("address_low", number(value))]),
                8..=15 if bytes == 4 => view("data pc", None, &[comparator, ("pc", number(value))]),
                8..=15 => view("data match", None, &[comparator]),
                _ => {
                    let access = FieldValue::Text(if id & 1 == 1 { "write" } else { "read" });
                    view("data value", None, &[comparator, ("access", access), size, ("value", number(value))])
                }
            }
        }
    }
}
