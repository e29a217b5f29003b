//! Records as `dump` lists them: in file order, as recorded, without corrections.

use crate::format::{FieldValue, RecordView};
use crate::model::{Ledger, TextRef};

use super::super::arguments;
use super::super::decode::{Bad, BadFrame, Records, Stamp, Stored};
use super::super::record::{Record, SyncFields};
use super::Resolver;

impl Resolver {
    pub(super) fn dump_part(
        &mut self,
        index: usize,
        input: &[u8],
        records: &mut Records,
        ledger: &mut Ledger,
        out: &mut dyn FnMut(&RecordView<'_>) -> bool,
    ) {
        let Some(state) = self.inputs.get_mut(index) else { return };
        if let Some(restorer) = &mut state.restorer {
            restorer.restore(records, ledger);
            // A listing asks for none of them.
            restorer.mark_at(u64::MAX);
        }
        let input = state.searched(input);
        let records = &*records;
        ledger.decoded_bytes += records.ok_bytes;
        ledger.frames_ok += records.frames.len() as u64;
        if let Some(frame) = state.joiner.join(records) {
            ledger.bad_frame(BadFrame::Oversize.loss_kind(), frame.offset, frame.len, 1);
            if !show_invalid(frame.offset, &frame.raw, BadFrame::Oversize, out) {
                return;
            }
        }
        let mut bad = records.bad.as_slice();
        for (number, stored) in records.frames.iter().enumerate() {
            let before = bad.iter().take_while(|bad| bad.index as usize <= number).count();
            let (now, later) = bad.split_at(before);
            bad = later;
            if !self.dump_bad(index, input, records, now, ledger, out) || !self.dump_record(index, records, stored, out) {
                return;
            }
        }
        self.dump_bad(index, input, records, bad, ledger, out);
    }

    fn dump_bad(
        &mut self,
        index: usize,
        input: &[u8],
        records: &Records,
        all: &[Bad],
        ledger: &mut Ledger,
        out: &mut dyn FnMut(&RecordView<'_>) -> bool,
    ) -> bool {
        for bad in all {
            let offset = records.base + u64::from(bad.offset);
            let kind = bad.reason.loss_kind();
            let joiner = self.inputs.get_mut(index).map(|input| &mut input.joiner);
            let lost = joiner.map_or(0, |joiner| joiner.at_least_lost(records.base, bad, input));
            ledger.bad_frames(kind, offset, u64::from(bad.len), u64::from(bad.frames), lost);
            // Each frame of a run of empty frames is listed.
            for frame in 0..u64::from(bad.frames) {
                let at = if bad.frames > 1 { offset + frame } else { offset };
                let raw = if bad.frames > 1 { &[0][..] } else { records.bytes(bad.raw) };
                if !show_invalid(at, raw, bad.reason, out) {
                    return false;
                }
            }
        }
        true
    }

    fn dump_record(
        &mut self,
        index: usize,
        records: &Records,
        stored: &Stored,
        out: &mut dyn FnMut(&RecordView<'_>) -> bool,
    ) -> bool {
        let input = &mut self.inputs[index];
        let record: Record<TextRef> = stored.record;
        if let Record::CoreId { core_id, .. } = record {
            input.core = input.core_of(core_id).unwrap_or(input.core);
        }
        let text = record.text().map(|text| match record {
            Record::Log { .. } => arguments::list(records.bytes(text)).into(),
            _ => String::from_utf8_lossy(records.bytes(text)),
        });
        let mut fields: Vec<(&str, FieldValue<'_>)> = Vec::with_capacity(4);
        let sync = match record {
            Record::Sync { fields } => SyncFields::read(records.bytes(fields)).ok(),
            _ => None,
        };
        match sync {
            Some(sync) => {
                sync.list_fields(&mut fields);
                // It is the record's time stamp.
                fields.retain(|field| field.0 != "ts");
            }
            None => record.list_fields(text.as_deref().unwrap_or(""), &mut fields),
        }
        if input.restorer.is_some() {
            input.core = input.core_of_stored(stored.core);
        }
        let ticks = record.ts().filter(|_| stored.stamp == Stamp::Absolute);
        let of_a_core = ticks.is_some() || matches!(record, Record::IsrName { .. });
        out(&RecordView {
            offset: records.base + u64::from(stored.offset),
            record: record.name(),
            core: of_a_core.then_some(input.core.0),
            ticks: sync.map(|sync| sync.ts).or(ticks),
            nanos: None,
            fields: &fields,
        })
    }
}

fn show_invalid(offset: u64, raw: &[u8], reason: BadFrame, out: &mut dyn FnMut(&RecordView<'_>) -> bool) -> bool {
    let fields = [("bytes", FieldValue::Bytes(raw)), ("reason", FieldValue::Text(reason.loss_kind().text))];
    out(&RecordView { offset, record: "invalid", core: None, ticks: None, nanos: None, fields: &fields })
}
