//! Packets → resolved events and tables: all that depends on the order of the packets.

use std::collections::BTreeMap;

use perfetto_protos::clock_snapshot::ClockSnapshot;
use perfetto_protos::debug_annotation::{DebugAnnotation, debug_annotation};
use perfetto_protos::ftrace_event_bundle::FtraceEventBundle;
use perfetto_protos::interned_data::InternedData;
use perfetto_protos::trace_packet::TracePacket;
use perfetto_protos::trace_packet::trace_packet::{Data, Optional_trusted_packet_sequence_id};
use perfetto_protos::track_descriptor::TrackDescriptor;
use perfetto_protos::track_descriptor::track_descriptor::{ChildTracksOrdering, Static_or_dynamic_name};
use perfetto_protos::track_event::{TrackEvent, track_event};
use protobuf::{EnumOrUnknown, Message, UnknownFields, UnknownValueRef};

use super::slices::{self, Event, EventKind, Value};
use super::wire::{self, Field};
use super::{Arg, Attribute, LogRow, Sample, Switch, Trace, TrackInfo, TrackKind, Waking};

const REALTIME: u32 = 1;
const BOOTTIME: u32 = 6;
const STATE_CLEARED: u32 = 1;
const NEEDS_STATE: u32 = 2;
const HARD_IRQ: u32 = 0x08;
/// The viewer ignores more of one event.
const MAX_EXTRA_COUNTERS: usize = 8;

/// The state of a packet sequence.
#[derive(Default)]
struct Sequence {
    is_valid: bool,
    categories: BTreeMap<u64, String>,
    event_names: BTreeMap<u64, String>,
    arg_names: BTreeMap<u64, String>,
    arg_values: BTreeMap<u64, String>,
    log_bodies: BTreeMap<u64, String>,
    sources: BTreeMap<u64, String>,
    functions: BTreeMap<u64, String>,
    mappings: BTreeMap<u64, String>,
    /// The function and the address of each frame.
    frames: BTreeMap<u64, (u64, u64)>,
    callstacks: BTreeMap<u64, Vec<u64>>,
    default_track: Option<u64>,
    default_clock: Option<u32>,
    /// The present values of the sequence's incremental clocks.
    clocks: BTreeMap<u32, u64>,
}

#[derive(Default)]
struct Replay {
    trace: Trace,
    sequences: BTreeMap<u32, Sequence>,
    events: Vec<Event>,
    /// The last snapshot of each clock; those of sequences by sequence.
    snapshots: BTreeMap<(u32, u32), u64>,
}

pub(super) fn replay(mut bytes: &[u8]) -> Result<Trace, String> {
    let mut replay = Replay::default();
    while !bytes.is_empty() {
        let number = replay.trace.packets;
        replay.packet(&mut bytes).map_err(|error| format!("packet {number}: {error}"))?;
        replay.trace.packets += 1;
    }
    let Replay { mut trace, events, .. } = replay;
    check_tracks(&trace, &events)?;
    for sample in &trace.samples {
        let is_it = |info: &TrackInfo| match info.kind {
            TrackKind::Thread { pid, tid } => pid == sample.pid as i32 && tid == i64::from(sample.tid),
            _ => false,
        };
        ensure(trace.tracks.values().any(is_it), || format!("a sample of thread {}, which is not described", sample.tid))?;
    }
    trace.states.values_mut().for_each(|states| states.sort_unstable());
    slices::build(events, &mut trace)?;
    Ok(trace)
}

impl Replay {
    fn packet(&mut self, bytes: &mut &[u8]) -> Result<(), String> {
        let key = wire::varint(bytes)?;
        ensure(key == 0x0a, || format!("key {key} instead of a packet"))?;
        let len = usize::try_from(wire::varint(bytes)?).map_err(|_| "an impossible length")?;
        let (raw, rest) = bytes.split_at_checked(len).ok_or("cut off")?;
        *bytes = rest;
        let packet = TracePacket::parse_from_bytes(raw).map_err(|error| error.to_string())?;
        check_flows(raw)?;

        let id = match packet.optional_trusted_packet_sequence_id {
            Some(Optional_trusted_packet_sequence_id::TrustedPacketSequenceId(id)) => Some(id),
            _ => None,
        };
        ensure(id != Some(0), || "sequence id 0".into())?;
        if packet.first_packet_on_sequence == Some(true) {
            let is_first = id.is_some_and(|id| !self.sequences.contains_key(&id));
            ensure(is_first, || "not the first packet of its sequence".into())?;
        }
        if let Some(id) = id {
            self.sequence_state(id, &packet)?;
        } else {
            let has_state =
                packet.interned_data.is_some() || packet.trace_packet_defaults.is_some() || packet.sequence_flags.is_some();
            ensure(!has_state, || "state without a sequence id".into())?;
        }
        match &packet.data {
            Some(Data::ClockSnapshot(snapshot)) => self.clock_snapshot(id, snapshot)?,
            Some(Data::TrackEvent(event)) => self.track_event(id.ok_or("an event without sequence id")?, &packet, event)?,
            Some(Data::TrackDescriptor(descriptor)) => self.track_descriptor(descriptor)?,
            Some(Data::PerfSample(sample)) => {
                let sequence = self.sequences.get(&id.ok_or("a sample without sequence id")?).ok_or("a sample without state")?;
                ensure(packet.sequence_flags() & NEEDS_STATE != 0, || "does not say that it needs state".into())?;
                ensure(packet.timestamp_clock_id == Some(BOOTTIME), || "a sample in another clock".into())?;
                let ts = packet.timestamp.ok_or("a sample without timestamp")?;
                let frames = sequence.callstacks.get(&sample.callstack_iid()).ok_or("an unknown call stack")?;
                let mut stack = Vec::new();
                let mut address = 0;
                for frame in frames {
                    let (function, rel_pc) = sequence.frames.get(frame).ok_or("an unknown frame")?;
                    stack.push(look_up(&sequence.functions, *function)?);
                    address = *rel_pc;
                }
                let thread = (sample.pid(), sample.tid());
                self.trace.samples.push(Sample { ts, cpu: sample.cpu(), pid: thread.0, tid: thread.1, stack, address });
            }
            Some(Data::FtraceEvents(bundle)) => self.sched(bundle)?,
            Some(Data::GenericKernelTaskStateEvent(event)) => {
                ensure(no_unknown(event), || "unknown fields in a task's state".into())?;
                let ts = packet.timestamp.ok_or("a task's state without timestamp")?;
                let tid = i32::try_from(event.tid()).map_err(|_| "an impossible thread")?;
                self.trace.states.entry(tid).or_default().push((ts, event.state.map_or(0, |state| state.value())));
            }
            Some(Data::TraceUuid(uuid)) => {
                ensure(self.trace.uuid.is_none(), || "a second trace uuid".into())?;
                self.trace.uuid = Some((uuid.msb().cast_unsigned(), uuid.lsb().cast_unsigned()));
            }
            Some(_) => return Err("a packet of a kind that this reader does not know".into()),
            None => {}
        }
        for (field, value) in packet.special_fields.unknown_fields().iter() {
            match (field, value) {
                (126, UnknownValueRef::LengthDelimited(attributes)) => self.attributes(attributes)?,
                _ => return Err(format!("unknown field {field}")),
            }
        }
        Ok(())
    }

    /// Flags, defaults and interned data count before the packet's own content.
    fn sequence_state(&mut self, id: u32, packet: &TracePacket) -> Result<(), String> {
        let sequence = self.sequences.entry(id).or_default();
        let flags = packet.sequence_flags();
        if flags & STATE_CLEARED != 0 {
            *sequence = Sequence { is_valid: true, ..Sequence::default() };
        }
        ensure(sequence.is_valid || flags & NEEDS_STATE == 0, || "needs state that was never set".into())?;
        if let Some(defaults) = packet.trace_packet_defaults.as_ref() {
            sequence.default_clock = defaults.timestamp_clock_id;
            sequence.default_track = defaults.track_event_defaults.as_ref().and_then(|defaults| defaults.track_uuid);
        }
        match packet.interned_data.as_ref() {
            Some(data) => sequence.intern(data),
            None => Ok(()),
        }
    }

    fn clock_snapshot(&mut self, id: Option<u32>, snapshot: &ClockSnapshot) -> Result<(), String> {
        let base = snapshot.clocks.iter().find(|clock| clock.clock_id() == BOOTTIME).ok_or("no link to BOOTTIME")?;
        let is_first = self.trace.first_snapshot.is_none();
        let first = self.trace.first_snapshot.get_or_insert_with(BTreeMap::new);
        for (index, clock) in snapshot.clocks.iter().enumerate() {
            let (clock_id, time) = (clock.clock_id(), clock.timestamp());
            let is_private = (64..128).contains(&clock_id);
            ensure([REALTIME, BOOTTIME].contains(&clock_id) || is_private, || format!("clock {clock_id} is not known here"))?;
            ensure(is_private || !clock.is_incremental(), || format!("clock {clock_id} must not be incremental"))?;
            ensure(i64::try_from(time).is_ok(), || format!("clock {clock_id} reads {time}, negative for the viewer"))?;
            let is_twice = snapshot.clocks.iter().take(index).any(|before| before.clock_id() == clock_id);
            ensure(!is_twice, || format!("clock {clock_id} twice in a snapshot"))?;
            let owner = if is_private { id.ok_or("a private clock without sequence id")? } else { 0 };
            let last = self.snapshots.insert((owner, clock_id), time).unwrap_or(0);
            // The viewer refuses the trace's clock if it goes back, and no longer converts from another one that does.
            let may_go_back = clock_id != BOOTTIME && !clock.is_incremental();
            ensure(may_go_back || last <= time, || format!("clock {clock_id} goes back from {last} to {time}"))?;
            if clock.is_incremental() {
                ensure(base.timestamp() == time, || "the private clock has an offset".into())?;
                self.sequences.entry(owner).or_default().clocks.insert(clock_id, time);
            } else if clock_id != BOOTTIME {
                self.trace.clock_readings.push((base.timestamp(), clock_id, time));
            }
            if is_first {
                first.insert(clock_id, time);
            }
        }
        Ok(())
    }

    fn track_event(&mut self, id: u32, packet: &TracePacket, event: &TrackEvent) -> Result<(), String> {
        let sequence = self.sequences.entry(id).or_default();
        ensure(packet.sequence_flags() & NEEDS_STATE != 0, || "does not say that it needs state".into())?;
        ensure(no_unknown(event), || "unknown fields in the event".into())?;
        let time = packet.timestamp.ok_or("an event without timestamp")?;
        let ts = match packet.timestamp_clock_id.or(sequence.default_clock).unwrap_or(BOOTTIME) {
            BOOTTIME => time,
            clock => {
                let now = sequence.clocks.get_mut(&clock).ok_or_else(|| format!("clock {clock} is unknown"))?;
                *now = now.checked_add(time).ok_or("the clock overflows")?;
                *now
            }
        };
        ensure(i64::try_from(ts).is_ok(), || format!("time {ts} is negative for the viewer"))?;
        let track = event.track_uuid.or(sequence.default_track).ok_or("an event without track")?;
        let name = match &event.name_field {
            Some(track_event::Name_field::NameIid(iid)) => Some(look_up(&sequence.event_names, *iid)?),
            Some(track_event::Name_field::Name(name)) => Some(name.clone()),
            _ => None,
        };
        let kind = match event.type_() {
            track_event::Type::TYPE_SLICE_BEGIN => EventKind::Begin,
            track_event::Type::TYPE_SLICE_END => EventKind::End,
            track_event::Type::TYPE_INSTANT => EventKind::Instant,
            track_event::Type::TYPE_COUNTER => {
                ensure_counter(&self.trace, track)?;
                EventKind::Counter(match event.counter_value_field {
                    Some(track_event::Counter_value_field::CounterValue(value)) => Value::Whole(value),
                    Some(track_event::Counter_value_field::DoubleCounterValue(value)) => Value::Fraction(value),
                    _ => return Err("a counter event without a value".into()),
                })
            }
            other => return Err(format!("an event of type {other:?}")),
        };
        let mut args = BTreeMap::new();
        for annotation in &event.debug_annotations {
            let (name, value) = sequence.annotation(annotation)?;
            ensure(args.insert(name.clone(), value).is_none(), || format!("annotation {name} twice"))?;
        }
        let source = match event.source_location_field {
            Some(track_event::Source_location_field::SourceLocationIid(iid)) => Some(look_up(&sequence.sources, iid)?),
            Some(_) => return Err("a source location that is not interned".into()),
            None => None,
        };
        let categories: Vec<String> =
            event.category_iids.iter().map(|iid| look_up(&sequence.categories, *iid)).collect::<Result<_, _>>()?;
        if !categories.is_empty() {
            args.insert("category".into(), Arg::Text(categories.join(",")));
        }
        if let Some(source) = source {
            args.insert("source_location".into(), Arg::Text(source));
        }
        if let Some(log) = event.log_message.as_ref() {
            let source = match log.source_location_iid {
                Some(iid) => Some(look_up(&sequence.sources, iid)?),
                None => None,
            };
            let body = look_up(&sequence.log_bodies, log.body_iid.ok_or("a log message without body")?)?;
            let is_thread = matches!(self.trace.tracks.get(&track), Some(TrackInfo { kind: TrackKind::Thread { .. }, .. }));
            ensure(is_thread, || format!("a log message, but track {track} was not described as a thread yet"))?;
            let prio = log.prio.map_or(0, |prio| prio.value());
            self.trace.logs.push(LogRow { track, ts, body, prio, source });
        }
        let (flows_out, flows_in) = (event.flow_ids.clone(), event.terminating_flow_ids.clone());
        self.events.push(Event { ts, track, kind, name, args, flows_out, flows_in });
        let (tracks, values) = (&event.extra_counter_track_uuids, &event.extra_counter_values);
        ensure(tracks.len() == values.len(), || format!("{} tracks for {} more counters", tracks.len(), values.len()))?;
        ensure(values.len() <= MAX_EXTRA_COUNTERS, || format!("{} more counters: the viewer ignores some", values.len()))?;
        for (&track, &value) in tracks.iter().zip(values) {
            ensure_counter(&self.trace, track)?;
            let kind = EventKind::Counter(Value::Whole(value));
            let (args, flows_out, flows_in) = Default::default();
            self.events.push(Event { ts, track, kind, name: None, args, flows_out, flows_in });
        }
        Ok(())
    }

    fn track_descriptor(&mut self, descriptor: &TrackDescriptor) -> Result<(), String> {
        let uuid = descriptor.uuid.ok_or("a track without uuid")?;
        // Newer than the schema: description, merging, and the order of processes and threads.
        let newer = newer_fields(descriptor.special_fields.unknown_fields(), &[14, 15, 19, 20])?;
        let number =
            |field| newer.get(&field).and_then(|value| if let Newer::Number(number) = value { Some(*number) } else { None });
        if uuid == 0 {
            self.trace.processes_by_rank = number(19) == Some(1);
            self.trace.threads_by_rank = number(20) == Some(1);
            return Ok(());
        }
        ensure(number(19).is_none() && number(20).is_none(), || format!("track {uuid} orders processes or threads"))?;
        let own_name = match &descriptor.static_or_dynamic_name {
            Some(Static_or_dynamic_name::Name(name) | Static_or_dynamic_name::StaticName(name)) => Some(name.clone()),
            _ => None,
        };
        let (kind, name) = if let Some(process) = descriptor.process.as_ref() {
            (TrackKind::Process { pid: process.pid.ok_or("a process without pid")? }, process.process_name.clone())
        } else if let Some(thread) = descriptor.thread.as_ref() {
            let pid = thread.pid.ok_or("a thread without pid")?;
            (TrackKind::Thread { pid, tid: i64::from(thread.tid.ok_or("a thread without tid")?) }, thread.thread_name.clone())
        } else if let Some(counter) = descriptor.counter.as_ref() {
            let unit = counter.unit.map_or(0, |unit| unit.value());
            (TrackKind::Counter { unit, unit_name: counter.unit_name.clone() }, own_name)
        } else {
            (TrackKind::Plain, own_name)
        };
        let explicit = EnumOrUnknown::new(ChildTracksOrdering::EXPLICIT);
        let info = TrackInfo {
            name: name.ok_or_else(|| format!("track {uuid} has no name"))?,
            parent: descriptor.parent_uuid,
            kind,
            description: newer.get(&14).and_then(|value| if let Newer::Text(text) = value { Some(text.clone()) } else { None }),
            rank: descriptor.sibling_order_rank,
            children_by_rank: descriptor.child_ordering == Some(explicit),
            never_merged: number(15) == Some(2),
        };
        match self.trace.tracks.insert(uuid, info.clone()) {
            Some(before) if before != info => Err(format!("track {uuid} was {before:?} and now is {info:?}")),
            _ => Ok(()),
        }
    }

    fn sched(&mut self, bundle: &FtraceEventBundle) -> Result<(), String> {
        let cpu = bundle.cpu.ok_or("a bundle without core")?;
        let sched = bundle.compact_sched.as_ref().ok_or("a bundle without scheduling rows")?;
        ensure(bundle.event.is_empty(), || "single ftrace events".into())?;
        let comm = |index: u32| sched.intern_table.get(index as usize).cloned().ok_or_else(|| format!("no thread name {index}"));

        let rows = sched.switch_timestamp.len();
        let lens = [
            sched.switch_prev_state.len(),
            sched.switch_next_pid.len(),
            sched.switch_next_prio.len(),
            sched.switch_next_comm_index.len(),
        ];
        ensure(lens == [rows; 4], || format!("columns of {rows} and {lens:?} switches"))?;
        let mut ts = 0u64;
        for row in 0..rows {
            let switches = self.trace.sched.entry(cpu).or_default();
            ts = ts.checked_add(sched.switch_timestamp[row]).ok_or("time overflows, or runs backwards")?;
            check_order(switches.last().map(|last| last.ts), ts)?;
            switches.push(Switch {
                ts,
                prev_state: sched.switch_prev_state[row],
                next_tid: sched.switch_next_pid[row],
                next_prio: sched.switch_next_prio[row],
                next_comm: comm(sched.switch_next_comm_index[row])?,
            });
        }

        let rows = sched.waking_timestamp.len();
        let lens = [
            sched.waking_pid.len(),
            sched.waking_target_cpu.len(),
            sched.waking_prio.len(),
            sched.waking_comm_index.len(),
            sched.waking_common_flags.len(),
        ];
        ensure(lens == [rows; 5], || format!("columns of {rows} and {lens:?} wakings"))?;
        let mut ts = 0u64;
        for row in 0..rows {
            let wakings = self.trace.wakings.entry(cpu).or_default();
            ts = ts.checked_add(sched.waking_timestamp[row]).ok_or("time overflows, or runs backwards")?;
            check_order(wakings.last().map(|last| last.ts), ts)?;
            let flags = sched.waking_common_flags[row];
            ensure(flags & !HARD_IRQ == 0, || format!("waking flags {flags:#x}"))?;
            wakings.push(Waking {
                ts,
                tid: sched.waking_pid[row],
                prio: sched.waking_prio[row],
                comm: comm(sched.waking_comm_index[row])?,
                target_cpu: sched.waking_target_cpu[row],
                in_irq: flags & HARD_IRQ != 0,
            });
        }
        Ok(())
    }

    fn attributes(&mut self, bytes: &[u8]) -> Result<(), String> {
        for (field, attribute) in wire::fields(bytes)? {
            let (1, Field::Bytes(attribute)) = (field, attribute) else { return Err(format!("attributes have a field {field}")) };
            let (mut key, mut value) = (None, None);
            for field in wire::fields(attribute)? {
                match field {
                    (1, Field::Bytes(bytes)) => key = Some(text(bytes)?),
                    (2, Field::Varint(number)) => value = Some(Attribute::Int(number.cast_signed())),
                    (3, Field::Bytes(bytes)) => value = Some(Attribute::Text(text(bytes)?)),
                    other => return Err(format!("an attribute has {other:?}")),
                }
            }
            let (key, value) = key.zip(value).ok_or("an attribute without key or value")?;
            ensure(self.trace.attributes.insert(key.clone(), value).is_none(), || format!("attribute {key} twice"))?;
        }
        Ok(())
    }
}

impl Sequence {
    fn intern(&mut self, data: &InternedData) -> Result<(), String> {
        ensure(no_unknown(data), || "interned data of an unknown kind".into())?;
        for entry in &data.event_names {
            define(&mut self.event_names, entry.iid(), entry.name().to_owned())?;
        }
        for entry in &data.event_categories {
            define(&mut self.categories, entry.iid(), entry.name().to_owned())?;
        }
        for entry in &data.debug_annotation_names {
            define(&mut self.arg_names, entry.iid(), entry.name().to_owned())?;
        }
        for entry in &data.debug_annotation_string_values {
            define(&mut self.arg_values, entry.iid(), text(entry.str())?)?;
        }
        for entry in &data.log_message_body {
            define(&mut self.log_bodies, entry.iid(), entry.body().to_owned())?;
        }
        for entry in &data.source_locations {
            let function = entry.function_name.as_ref().map_or(String::new(), |function| format!(" {function}"));
            define(&mut self.sources, entry.iid(), format!("{}:{}{function}", entry.file_name(), entry.line_number()))?;
        }
        for entry in &data.function_names {
            define(&mut self.functions, entry.iid(), text(entry.str())?)?;
        }
        for entry in &data.mappings {
            define(&mut self.mappings, entry.iid(), String::new())?;
        }
        for entry in &data.frames {
            look_up(&self.functions, entry.function_name_id())?;
            look_up(&self.mappings, entry.mapping_id())?;
            let frame = (entry.function_name_id(), entry.rel_pc());
            ensure(self.frames.insert(entry.iid(), frame).is_none_or(|before| before == frame), || {
                "a frame is redefined".into()
            })?;
        }
        for entry in &data.callstacks {
            ensure(!entry.frame_ids.is_empty(), || "a call stack without frames".into())?;
            let again = self.callstacks.insert(entry.iid(), entry.frame_ids.clone());
            ensure(again.is_none_or(|before| before == entry.frame_ids), || "a call stack is redefined".into())?;
        }
        Ok(())
    }

    fn annotation(&self, annotation: &DebugAnnotation) -> Result<(String, Arg), String> {
        let name = match &annotation.name_field {
            Some(debug_annotation::Name_field::NameIid(iid)) => look_up(&self.arg_names, *iid)?,
            Some(debug_annotation::Name_field::Name(name)) => name.clone(),
            _ => return Err("an annotation without name".into()),
        };
        let value = match &annotation.value {
            Some(debug_annotation::Value::BoolValue(value)) => Arg::Bool(*value),
            Some(debug_annotation::Value::UintValue(value)) => Arg::Uint(*value),
            Some(debug_annotation::Value::IntValue(value)) => Arg::Int(*value),
            Some(debug_annotation::Value::DoubleValue(value)) => Arg::Double(*value),
            Some(debug_annotation::Value::PointerValue(value)) => Arg::Pointer(*value),
            Some(debug_annotation::Value::StringValue(value)) => Arg::Text(value.clone()),
            Some(debug_annotation::Value::StringValueIid(iid)) => Arg::Text(look_up(&self.arg_values, *iid)?),
            _ => return Err(format!("annotation {name} has no value that this reader knows")),
        };
        Ok((name, value))
    }
}

enum Newer {
    Number(u64),
    Text(String),
}

/// The unknown fields, all of which must be among the expected ones.
fn newer_fields(unknown: &UnknownFields, expected: &[u32]) -> Result<BTreeMap<u32, Newer>, String> {
    let mut fields = BTreeMap::new();
    for (field, value) in unknown.iter() {
        ensure(expected.contains(&field), || format!("unknown field {field}"))?;
        fields.insert(
            field,
            match value {
                UnknownValueRef::Varint(number) => Newer::Number(number),
                UnknownValueRef::LengthDelimited(bytes) => Newer::Text(text(bytes)?),
                _ => return Err(format!("field {field} has an unexpected type")),
            },
        );
    }
    Ok(fields)
}

fn ensure_counter(trace: &Trace, track: u64) -> Result<(), String> {
    let is_counter = matches!(trace.tracks.get(&track), Some(TrackInfo { kind: TrackKind::Counter { .. }, .. }));
    ensure(is_counter, || format!("a counter event, but track {track} was not described as a counter yet"))
}

/// Packed flow ids are lost by the viewer without a word; generated code accepts them.
fn check_flows(packet: &[u8]) -> Result<(), String> {
    for (field, event) in wire::fields(packet)? {
        if let (11, Field::Bytes(event)) = (field, event) {
            for (field, value) in wire::fields(event)? {
                let is_flow = field == 47 || field == 48;
                ensure(!is_flow || matches!(value, Field::Fixed64(_)), || format!("flow field {field} is {value:?}"))?;
            }
        }
    }
    Ok(())
}

fn check_tracks(trace: &Trace, events: &[Event]) -> Result<(), String> {
    for &uuid in trace.tracks.keys() {
        let mut ancestor = Some(uuid);
        for _ in 0..100 {
            let Some(track) = ancestor else { break };
            let info = trace.tracks.get(&track).ok_or_else(|| format!("track {uuid} has an unknown ancestor {track}"))?;
            ancestor = info.parent;
        }
        ensure(ancestor.is_none(), || format!("track {uuid} is in a loop, or too deep"))?;
    }
    for event in events {
        let info = trace.tracks.get(&event.track).ok_or_else(|| format!("an event on undescribed track {}", event.track))?;
        let is_value = matches!(event.kind, EventKind::Counter(_));
        let is_counter = matches!(info.kind, TrackKind::Counter { .. });
        ensure(is_value == is_counter, || format!("{event:?} on {info:?}"))?;
    }
    Ok(())
}

fn check_order(last: Option<u64>, ts: u64) -> Result<(), String> {
    ensure(i64::try_from(ts).is_ok(), || format!("time {ts} is negative for the viewer"))?;
    ensure(last.is_none_or(|last| last <= ts), || format!("scheduling goes back from {last:?} to {ts}"))
}

fn define(table: &mut BTreeMap<u64, String>, iid: u64, text: String) -> Result<(), String> {
    ensure(iid != 0, || "interned id 0".into())?;
    match table.insert(iid, text) {
        Some(before) => Err(format!("interned id {iid} defined twice, first as {before:?}")),
        None => Ok(()),
    }
}

fn look_up(table: &BTreeMap<u64, String>, iid: u64) -> Result<String, String> {
    table.get(&iid).cloned().ok_or_else(|| format!("interned id {iid} is unknown"))
}

fn text(bytes: &[u8]) -> Result<String, String> {
    String::from_utf8(bytes.to_vec()).map_err(|_| format!("{bytes:?} is not UTF-8"))
}

fn no_unknown(message: &impl Message) -> bool {
    message.special_fields().unknown_fields().iter().next().is_none()
}

fn ensure(holds: bool, error: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(error()) }
}
