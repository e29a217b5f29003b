//! Packets as `dump` lists them: as they are, in file order, without judging or repairing anything.

use crate::format::{FieldValue, RecordView};
use crate::model::{Ledger, Ticks};

use super::super::decode::{Content, Item, Packets};
use super::super::record::{PACKET_HEAD, PROFILE_HEAD, ProfileRecord, RECORD_BYTES};
use super::between::{Between, Damage};
use super::input::Input;
use super::losses;

type Out<'a> = dyn FnMut(&RecordView<'_>) -> bool + 'a;

pub fn dump_part(input: &mut Input, packets: &Packets, ledger: &mut Ledger, out: &mut Out<'_>) {
    let (mut records, _) = packets.records.as_chunks::<RECORD_BYTES>();
    let mut between = packets.between.as_slice();
    for item in &packets.items {
        let offset = packets.base + u64::from(item.offset);
        let goes_on = if item.content == Content::Between {
            let (here, rest) = between.split_at_checked(item.len as usize).unwrap_or((between, &[]));
            between = rest;
            dump_between(input, offset, here, out)
        } else {
            let count = match item.content {
                Content::Profile { records, .. } => usize::from(records),
                _ => 0,
            };
            let (here, rest) = records.split_at_checked(count).unwrap_or((records, &[]));
            records = rest;
            let goes_on = end_between(input, ledger, false, out);
            input.account(item, offset, ledger);
            if let Content::OtherVersion { told, .. } = item.content {
                ledger.bad_frame(losses::UNKNOWN_VERSION, offset, u64::from(item.len), u64::from(told).max(1));
            }
            goes_on && dump_item(input, item, offset, here, out)
        };
        if !goes_on {
            return;
        }
    }
    if packets.ends_input {
        end_between(input, ledger, true, out);
    }
}

fn dump_item(input: &Input, item: &Item, offset: u64, records: &[[u8; RECORD_BYTES]], out: &mut Out<'_>) -> bool {
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
        Content::Profile { told, .. } => {
            let head = [("version", number(1)), ("record_count", number(u32::from(told)))];
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
                    nanos: input.rate().to_nanos(Ticks(ticks)).map(|time| time.0),
                    fields: &fields,
                };
                if !out(&view) {
                    return false;
                }
            }
            true
        }
        Content::OtherVersion { version, told } => {
            show("PROFILE_DATA", &[("version", number(u32::from(version))), ("record_count", number(u32::from(told)))], out)
        }
        Content::OddLength { kind } | Content::UnknownType { kind } => {
            show("packet", &[("type", number(u32::from(kind))), ("bytes", number(item.len))], out)
        }
        Content::Command(command) => show(command.name(), &[], out),
        Content::Between => true,
    }
}

fn dump_between(input: &mut Input, offset: u64, bytes: &[u8], out: &mut Out<'_>) -> bool {
    let mut goes_on = true;
    input.between.take(offset, bytes, &mut |offset, line| goes_on = goes_on && show_text(offset, line, out));
    goes_on
}

fn end_between(input: &mut Input, ledger: &mut Ledger, at_end: bool, out: &mut Out<'_>) -> bool {
    if input.between.is_empty() {
        return true;
    }
    let reading = input.reading();
    let mut goes_on = true;
    let (text_bytes, damage): (u64, Damage) =
        Between::end(&mut input.between, &mut |offset, line| goes_on = goes_on && show_text(offset, line, out));
    ledger.decoded_bytes += text_bytes;
    if damage.bytes > 0 {
        let kind = damage.kind(reading, at_end);
        ledger.bad_frame(kind, damage.offset, damage.bytes, u64::from(kind != losses::GARBAGE));
        let fields = [("bytes", FieldValue::Bytes(&damage.head)), ("reason", FieldValue::Text(kind.text))];
        let offset = damage.offset;
        goes_on =
            goes_on && out(&RecordView { offset, record: "invalid", core: None, ticks: None, nanos: None, fields: &fields });
    }
    goes_on
}

fn show_text(offset: u64, line: &str, out: &mut Out<'_>) -> bool {
    let fields = [("line", FieldValue::Text(line))];
    out(&RecordView { offset, record: "text", core: None, ticks: None, nanos: None, fields: &fields })
}
