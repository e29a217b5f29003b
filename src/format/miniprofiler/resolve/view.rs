//! Packets as `dump` lists them: in file order, as recorded, without corrections.

use crate::format::{FieldValue, RecordView};
use crate::model::Ledger;

use super::super::decode::{Content, Item, Packets};
use super::super::record::{PACKET_HEAD, PROFILE_HEAD, ProfileRecord, RECORD_BYTES};
use super::input_state::InputState;
use super::losses;
use super::stray::{Damage, StrayBytes};

type Out<'a> = dyn FnMut(&RecordView<'_>) -> bool + 'a;

pub fn dump_part(input: &mut InputState, packets: &Packets, bytes: &[u8], ledger: &mut Ledger, out: &mut Out<'_>) {
    let (mut records, _) = packets.records.as_chunks::<RECORD_BYTES>();
    let mut stray = packets.stray.as_slice();
    for item in &packets.items {
        let offset = packets.base + u64::from(item.offset);
        let continues = if item.content == Content::Stray {
            let (here, rest) = stray.split_at_checked(item.len as usize).unwrap_or((stray, &[]));
            stray = rest;
            dump_stray(input, offset, here, out)
        } else {
            let count = match item.content {
                Content::Profile { records, .. } => usize::from(records),
                _ => 0,
            };
            let (here, rest) = records.split_at_checked(count).unwrap_or((records, &[]));
            records = rest;
            let continues = end_stray(input, ledger, Some(offset), bytes, out);
            input.account(item, offset, ledger);
            if let Content::OtherVersion { count, .. } = item.content {
                ledger.bad_frame(losses::UNKNOWN_VERSION, offset, u64::from(item.len), u64::from(count).max(1));
            }
            continues && dump_item(input, item, offset, here, out)
        };
        if !continues {
            return;
        }
    }
    if packets.ends_input {
        end_stray(input, ledger, None, bytes, out);
    }
}

fn dump_item(input: &InputState, item: &Item, offset: u64, records: &[[u8; RECORD_BYTES]], out: &mut Out<'_>) -> bool {
    let number = |value: u32| FieldValue::Uint(u64::from(value));
    let show = |name: &str, fields: &[(&str, FieldValue<'_>)], out: &mut Out<'_>| {
        out(&RecordView { offset, record: name, core: None, ticks: None, nanos: None, fields })
    };
    match item.content {
        Content::Ack => show("ACK", &[], out),
        Content::Nack => show("NACK", &[], out),
        Content::Metadata(metadata) => {
            let version = metadata.version();
            let fields = [
                ("mcu_clock_hz", number(metadata.mcu_clock_hz)),
                ("timer_freq", number(metadata.timer_hz)),
                ("elf_build_id", number(metadata.build_id)),
                ("fw_version", FieldValue::Text(&version)),
            ];
            show("METADATA", &fields, out)
        }
        Content::Status(status) => {
            let fields = [
                ("is_profiling", number(u32::from(status.is_profiling))),
                ("buffer_overflows", number(status.buffer_overflows)),
                ("records_captured", number(status.records_captured)),
                ("buffer_usage_percent", number(u32::from(status.usage_percent))),
            ];
            show("STATUS", &fields, out)
        }
        Content::Profile { count, .. } => {
            let head = [("version", number(1)), ("record_count", number(u32::from(count)))];
            if !show("PROFILE_DATA", &head, out) {
                return false;
            }
            for (at, record) in (0..).zip(records) {
                let record = ProfileRecord::read(record);
                let fields = [
                    ("func_addr", number(record.func_addr)),
                    ("duration_us", number(record.duration_us)),
                    ("depth", number(u32::from(record.depth))),
                ];
                let ticks = u64::from(record.entry_us);
                let view = RecordView {
                    offset: offset + (PACKET_HEAD + PROFILE_HEAD + at * RECORD_BYTES) as u64,
                    record: "ProfileRecord",
                    core: Some(input.core.0),
                    ticks: Some(ticks),
                    nanos: None,
                    fields: &fields,
                };
                if !out(&view) {
                    return false;
                }
            }
            true
        }
        Content::OtherVersion { version, count } => {
            show("PROFILE_DATA", &[("version", number(u32::from(version))), ("record_count", number(u32::from(count)))], out)
        }
        Content::OddLength { kind } | Content::UnknownType { kind } => {
            show("packet", &[("type", number(u32::from(kind))), ("bytes", number(item.len))], out)
        }
        Content::Command(command) => show(command.name(), &[], out),
        Content::Stray => true,
    }
}

fn dump_stray(input: &mut InputState, offset: u64, bytes: &[u8], out: &mut Out<'_>) -> bool {
    let mut continues = true;
    input.stray.add(offset, bytes, &mut |offset, line| continues = continues && show_text(offset, line, out));
    continues
}

fn end_stray(input: &mut InputState, ledger: &mut Ledger, next: Option<u64>, bytes: &[u8], out: &mut Out<'_>) -> bool {
    if input.stray.is_empty() {
        return true;
    }
    let reading = input.reading();
    let mut continues = true;
    let (text_bytes, damage): (u64, Damage) =
        StrayBytes::end(&mut input.stray, &mut |offset, line| continues = continues && show_text(offset, line, out));
    ledger.decoded_bytes += text_bytes;
    if damage.bytes > 0 {
        let kind = damage.kind(reading, next.is_none());
        ledger.bad_frame(kind, damage.offset, damage.bytes, input.at_least_lost(kind, &damage, next, bytes));
        let fields = [("bytes", FieldValue::Bytes(&damage.head)), ("reason", FieldValue::Text(kind.text))];
        let offset = damage.offset;
        continues =
            continues && out(&RecordView { offset, record: "invalid", core: None, ticks: None, nanos: None, fields: &fields });
    }
    continues
}

fn show_text(offset: u64, line: &str, out: &mut Out<'_>) -> bool {
    let fields = [("line", FieldValue::Text(line))];
    out(&RecordView { offset, record: "text", core: None, ticks: None, nanos: None, fields: &fields })
}
