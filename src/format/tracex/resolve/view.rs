//! Entries as `dump` lists them: in the order of recording, as recorded.

use super::super::decode::{IN_INITIALIZATION, IN_INTERRUPT, Record, Records};
use super::super::layout::Layout;
use super::super::names::Names;
use super::events::{Kernel, PRIORITY_MASK};
use crate::format::{FieldValue, ListRecord, RecordView};

pub(super) fn dump_part(
    kernel: &Kernel,
    layout: &Layout,
    names: &Names,
    bytes: &[u8],
    records: &Records,
    out: &mut ListRecord<'_>,
) {
    for record in &records.records {
        let goes_on = match record {
            Record::Bad(bad) => out(&RecordView {
                offset: bad.offset,
                record: "invalid",
                core: None,
                ticks: None,
                nanos: None,
                fields: &[("length", FieldValue::Uint(bad.bytes)), ("reason", FieldValue::Text(bad.kind.text))],
            }),
            Record::Event(entry) => {
                let [caller, priority, _, _, info @ ..] = layout.numbers(bytes, entry.offset as usize);
                let mut fields = match entry.thread {
                    IN_INTERRUPT => vec![("interrupted", FieldValue::Uint(priority))],
                    IN_INITIALIZATION => vec![("initialization", FieldValue::Uint(priority))],
                    _ => {
                        let own = FieldValue::Uint(priority & u64::from(PRIORITY_MASK));
                        let mut fields = vec![("caller", FieldValue::Uint(caller)), ("caller_priority", own)];
                        // Old kernels do not record the threshold.
                        if priority >> 31 != 0 {
                            fields.push(("caller_threshold", FieldValue::Uint(priority >> 16 & u64::from(PRIORITY_MASK))));
                        }
                        fields
                    }
                };
                let known = names.get(entry.id).map_or(&[][..], |event| &event.fields);
                for (index, (&value, default)) in info.iter().zip(["info_1", "info_2", "info_3", "info_4"]).enumerate() {
                    match known.get(index).map(String::as_str).filter(|name| !name.is_empty()) {
                        Some(name) => fields.push((name, FieldValue::Uint(value))),
                        None if value != 0 => fields.push((default, FieldValue::Uint(value))),
                        None => {}
                    }
                }
                let (name, core) = (names.name(entry.id), Some(kernel.core_of(entry).0));
                let ticks = Some(entry.time);
                out(&RecordView { offset: entry.offset, record: &name, core, ticks, nanos: None, fields: &fields })
            }
        };
        if !goes_on {
            return;
        }
    }
}
