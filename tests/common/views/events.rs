//! Model events as text, one a line: time in nanoseconds, core, kind, entity.

use traceconv::model::{
    Arg, ArgValue, Args, Entities, Event, EventBatch, EventKind, IsrId, Label, LaneId, LaneOwner, Level, MachineId, MaybeName,
    NameId, ObjectId, Origin, OriginKind, TaskId, TaskKind, UNKNOWN_ADDRESS, Wait,
};

use crate::common::run::Subject;

/// The events of a capture, as they come from the resolver, and the entities they are about.
pub fn events(subject: &Subject, capture: &[u8], window_bytes: usize) -> String {
    let mut lines = Vec::new();
    let mut all = String::new();
    subject.resolve(capture, window_bytes, |batch, entities| {
        lines.extend(batch.events.iter().map(|event| line(event, batch, entities)));
        all = entity_list(entities);
    });
    format!("{all}{}\n", lines.join("\n"))
}

fn line(event: &Event, batch: &EventBatch, entities: &Entities) -> String {
    let task = |task: TaskId| format!("{} (task {})", name_of(&entities.tasks[task.index()].name), task.0);
    let isr = |isr: IsrId| format!("{} (isr {})", name_of(&entities.isrs[isr.index()].name), isr.0);
    let object = |object: ObjectId| format!("{} (object {})", name_of(&entities.objects[object.index()].name), object.0);
    let lane = |lane: LaneId| format!("{} (lane {})", name_of(&entities.lanes[lane.index()].name), lane.0);
    let named = |name: NameId| entities.names[name.index()].to_string();
    let maybe = |name: MaybeName| name.get().map_or("an unknown state".to_owned(), named);
    let machine = |id: MachineId| format!("{:?} (machine {})", entities.machines[id.index()].name, id.0);
    let origin = |by: Origin| match by.kind() {
        OriginKind::Unknown => "nobody known".to_owned(),
        OriginKind::Machine(id) => machine(id),
        OriginKind::Lane(id) => lane(id),
    };
    let isr_mark = |from_isr| if from_isr { ", from an ISR" } else { "" };
    let value = |value: ArgValue| match value {
        ArgValue::Uint(value) => value.to_string(),
        ArgValue::Int(value) => format!("{value:+}"),
        ArgValue::Hex(value) => format!("{value:#x}"),
        ArgValue::Float(value) => format!("{value:?}"),
        ArgValue::Bool(value) => value.to_string(),
        ArgValue::Name(name) => entities.names[name.index()].to_string(),
        ArgValue::Text(text) => format!("{:?}", batch.texts.get(text)),
        ArgValue::FlowOut(number) => format!("out {number}"),
        ArgValue::FlowIn(number) => format!("in {number}"),
        ArgValue::Category(name) => entities.names[name.index()].to_string(),
    };
    let shown = |arg: &Arg| match arg.value() {
        ArgValue::Category(name) => format!(" [{}]", entities.names[name.index()]),
        other => format!(" {}={}", entities.names[arg.name.index()], value(other)),
    };
    let arg_list = |args: Args| batch.args_of(args).iter().map(shown).collect::<String>();
    let title = |label: Label| match (label.as_name(), label.as_text()) {
        (Some(name), _) => entities.names[name.index()].to_string(),
        (None, text) => format!("{:?}", batch.texts.get(text.unwrap_or_default())),
    };
    let what = |label: Label, args: Args| title(label) + &arg_list(args);
    let level_text = |level: Level| level.get().map_or("unknown".to_owned(), |level| level.to_string());
    let what = match event.kind {
        EventKind::SessionStart(number) => format!("session {number} starts"),
        EventKind::Call { function, depth, is_hidden, begin, ended_before_ns } => {
            let name = &entities.functions[function.index()].name;
            let hidden = if is_hidden { ", hidden" } else { "" };
            let early = if ended_before_ns > 0 { format!(", ended {ended_before_ns} ns before") } else { String::new() };
            format!("call {name} depth {depth} since {}{early}{hidden}", begin.get())
        }
        EventKind::CoreEnd => "the recording of this core ends".to_owned(),
        EventKind::Loss(index) => {
            let note = &batch.losses[index as usize];
            format!(
                "loss {} at offset {}, {} bytes, at least {} events",
                note.kind.code, note.offset, note.bytes, note.at_least_lost
            )
        }
        EventKind::TaskCreated(id) => format!("created {}", task(id)),
        EventKind::TaskDeleted(id) => format!("deleted {}", task(id)),
        EventKind::SwitchedIn(id) => format!("switched in {}", task(id)),
        EventKind::Relisted(id) => format!("relisted {}", task(id)),
        EventKind::Ready { task: id, from_isr } => format!("ready {}{}", task(id), isr_mark(from_isr)),
        EventKind::Waiting(Wait { reason, object: on, kernel_ticks }) => {
            let on = on.map_or(String::new(), |on| format!(" on {}", object(on)));
            format!("waiting for {reason:?}{on}, {kernel_ticks} kernel ticks")
        }
        EventKind::Suspended(id) => format!("suspended {}", task(id)),
        EventKind::Resumed { task: id, from_isr } => format!("resumed {}{}", task(id), isr_mark(from_isr)),
        EventKind::Priority { task: id, priority, change } => format!("priority {change:?} {} to {priority}", task(id)),
        EventKind::IsrEnter(id) => format!("enter {}", isr(id)),
        EventKind::IsrExit(id) => format!("exit {}", isr(id)),
        EventKind::Object { object: id, op, from_isr, level } => {
            format!("{op:?} {}{}, level {}", object(id), isr_mark(from_isr), level_text(level))
        }
        EventKind::ObjectLevel { object: id, level } => format!("level of {} is {level}", object(id)),
        EventKind::LateObjectLevel { object: id, level, since } => {
            format!("level of {} was {level} since {}", object(id), since.get())
        }
        EventKind::WaitingForBits { object: id, bits, kernel_ticks } => {
            format!("waiting for bits {bits:#x} of {}, {kernel_ticks} kernel ticks", object(id))
        }
        EventKind::WaitingForNotification { index, kernel_ticks } => {
            format!("waiting for notification [{index}], {kernel_ticks} kernel ticks")
        }
        EventKind::TaskReported { task: id, state } => format!("{state:?} reported {}", task(id)),
        EventKind::StackFree { task: id, bytes } => format!("least free stack of {} is {bytes}", task(id)),
        EventKind::Notify { task: id, index, value, from_isr } => {
            format!("notify {} [{index}] to {value}{}", task(id), isr_mark(from_isr))
        }
        EventKind::Notified { index, value } => format!("notified [{index}], value {value}"),
        EventKind::Capacity { object: id, items, item_bytes } => {
            format!("capacity of {} is {items} items of {item_bytes} bytes", object(id))
        }
        EventKind::Holder { object: id, task: by } => {
            format!("holder of {} is {}", object(id), by.map_or("nobody".to_owned(), task))
        }
        EventKind::Depth { object: id, depth } => format!("depth of {} is {depth}", object(id)),
        EventKind::Stream { object: id, op, from_isr, bytes, level } => {
            format!("{op:?} {bytes} bytes {}{}, level {level}", object(id), isr_mark(from_isr))
        }
        EventKind::Bits { object: id, op, bits, after } => format!("{op:?} bits {bits:#x} of {}, then {after:#x}", object(id)),
        EventKind::Timer { object: id, op, kernel_ticks } => format!("{op:?} {}, {kernel_ticks} kernel ticks", object(id)),
        EventKind::Heap { op, address, bytes } if address.get() == UNKNOWN_ADDRESS => format!("{op:?} {bytes} bytes"),
        EventKind::Heap { op, address, bytes } => format!("{op:?} {bytes} bytes at {:#x}", address.get()),
        EventKind::Posted { to, by, signal, fill, urgent } => {
            let urgent = if urgent { " urgently" } else { "" };
            format!("posted {} to {} by {}{urgent}, fill {}", named(signal), machine(to), origin(by), level_text(fill))
        }
        EventKind::NotPosted { to, by, signal } => format!("not posted {} to {} by {}", named(signal), machine(to), origin(by)),
        EventKind::Publish { by, signal } => format!("publish {} by {}", named(signal), origin(by)),
        EventKind::PublishEnd { by } => format!("published by {}", origin(by)),
        EventKind::Taken { machine: id, signal, fill } => {
            format!("taken {} by {}, fill {}", named(signal), machine(id), level_text(fill))
        }
        EventKind::StepBegin { machine: id, signal, state } => {
            format!("step of {} for {} in {}", machine(id), named(signal), maybe(state))
        }
        EventKind::StepEnd { machine: id, result, from, to } => {
            format!("step of {} ends: {result:?} from {} to {}", machine(id), maybe(from), maybe(to))
        }
        EventKind::InState { machine: id, state } => format!("{} is in {}", machine(id), named(state)),
        EventKind::MachineNote { machine: id, label } => format!("{}: {}", machine(id), named(label)),
        EventKind::Preempted { machine: id } => format!("preempted {}", machine(id)),
        EventKind::Unpreempted { machine: id } => format!("goes on {}", machine(id)),
        EventKind::MachinePriority { machine: id, priority } => format!("priority of {} is {priority}", machine(id)),
        EventKind::SpanBegin { lane: id, label, args } => format!("begin {} {}", lane(id), what(label, args)),
        EventKind::SpanEnd { lane: id, args } => format!("end {}{}", lane(id), arg_list(args)),
        EventKind::Instant { lane: id, label, args } => format!("instant {} {}", lane(id), what(label, args)),
        EventKind::State { lane: id, label, args } => format!("state {} {}", lane(id), what(label, args)),
        EventKind::Float { lane: id, value } => format!("value {} {}", lane(id), value.get()),
        EventKind::Log(index) => {
            let note = batch.logs[index as usize];
            let source = note.source.map_or(String::new(), |id| {
                let source = &entities.sources[id.index()];
                format!(" from {}:{}", source.file, source.line)
            });
            let body = batch.texts.get(note.body);
            let grade =
                note.grade.map_or(String::new(), |grade| entities.grades[grade.index()].args().iter().map(shown).collect());
            let (name, args) = (title(note.name), arg_list(note.args));
            format!("log {} {:?} {name}{grade}{args} {body:?}{source}", lane(note.lane), note.severity)
        }
        EventKind::Value { lane: id, value } => format!("value {} {}", lane(id), value.get()),
        EventKind::Sample(code) => {
            let code = &entities.codes[code.index()];
            let stack: Vec<&str> = code.stack.iter().map(|function| &*entities.functions[function.index()].name).collect();
            format!("sample {:#x} {}", code.address, stack.join(";"))
        }
        kind => format!("{kind:?}"),
    };
    format!("{:>12} core {} {what}", event.time.0, event.core.0)
}

fn name_of(name: &Option<std::sync::Arc<str>>) -> String {
    name.as_ref().map_or("unnamed".to_owned(), |name| format!("{name:?}"))
}

fn entity_list(entities: &Entities) -> String {
    let mut text = String::new();
    for (index, task) in entities.tasks.iter().enumerate() {
        let kind = match task.kind {
            TaskKind::Normal => "",
            TaskKind::Idle => ", idle",
            TaskKind::TimerService => ", timer service",
        };
        text += &format!("task {index}: number {}, {}, session {}{kind}\n", task.number, name_of(&task.name), task.session);
    }
    for (index, isr) in entities.isrs.iter().enumerate() {
        let (number, core, session) = (isr.number, isr.core.0, isr.session);
        text += &format!("isr {index}: number {number}, {}, core {core}, session {session}\n", name_of(&isr.name));
    }
    for (index, object) in entities.objects.iter().enumerate() {
        let (number, kind, session) = (object.number, object.kind.noun(), object.session);
        text += &format!("object {index}: number {number}, {}, {kind}, session {session}\n", name_of(&object.name));
    }
    for (index, group) in entities.groups.iter().enumerate() {
        let parent = group.parent.map_or(String::new(), |parent| format!(" in group {}", parent.0));
        let kind = if group.is_process { ", a process" } else { "" };
        text += &format!("group {index}: {:?}{parent}{kind}, session {}\n", group.name, group.session);
    }
    for (index, machine) in entities.machines.iter().enumerate() {
        text += &format!("machine {index}: {:?}, session {}\n", machine.name, machine.session);
    }
    for (index, session) in entities.sessions.iter().enumerate() {
        text += &format!("session {index}: {} {:?}\n", name_of(&session.name), session.details);
    }
    for (index, lane) in entities.lanes.iter().enumerate() {
        let owner = match lane.owner {
            LaneOwner::Firmware => "the firmware".to_owned(),
            LaneOwner::Task(task) => format!("task {}", task.0),
            LaneOwner::Group(group) => format!("group {}", group.0),
        };
        let (number, kind, session) = (lane.number, lane.kind, lane.session);
        text += &format!("lane {index}: number {number}, {}, {kind:?} of {owner}, session {session}\n", name_of(&lane.name));
    }
    text
}
