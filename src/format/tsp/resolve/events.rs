//! What each packet means to the model.

use super::super::record::{Packet, id, type_name};
use super::ids::{KERNEL_LANE, LOW_POWER_LANE, ObjectState};
use super::losses;
use super::{Hint, Input};
use crate::format::Resolved;
use crate::model::{
    Arg, ArgValue, Args, Event, EventKind, HeapOp, Label, LaneId, Level, Nanos, ObjectOp, Packed, PriorityChange, TaskId,
    UNKNOWN_ADDRESS, Wait, WaitReason,
};

/// What a packet is about.
#[derive(Clone, Copy)]
pub(super) struct Told<'a> {
    pub packet: &'a Packet,
    pub time: Nanos,
    pub hint: Hint,
    pub offset: u64,
}

impl Input {
    /// The event of a packet.
    #[inline]
    pub(super) fn event(&mut self, told: Told<'_>, out: &mut Resolved<'_>) {
        let packet = told.packet;
        let [first, second, ..] = packet.data;
        let kind = match packet.id {
            id::TASK_SWITCHED_IN => {
                let Some(task) = self.task(first, told, out) else { return };
                self.running = Some(task);
                EventKind::SwitchedIn(task)
            }
            // The switch is where the next task is switched in; why this one leaves was told before. Tick and list are the kernel's own.
            id::TASK_SWITCHED_OUT | id::TASK_INCREMENT_TICK | id::POST_MOVED_TASK_TO_READY_STATE => return,
            id::MOVED_TASK_TO_READY_STATE => {
                let Some(task) = self.task(first, told, out) else { return };
                match told.hint {
                    Hint::Relisted => EventKind::Relisted(task),
                    _ => EventKind::Ready { task, from_isr: false },
                }
            }
            id::QUEUE_SEND | id::QUEUE_SEND_FROM_ISR => {
                return self.operation(told, ObjectOp::Send, packet.id == id::QUEUE_SEND_FROM_ISR, out);
            }
            id::QUEUE_RECEIVE | id::QUEUE_RECEIVE_FROM_ISR => {
                return self.operation(told, ObjectOp::Receive, packet.id == id::QUEUE_RECEIVE_FROM_ISR, out);
            }
            id::BLOCKING_ON_QUEUE_RECEIVE | id::BLOCKING_ON_QUEUE_SEND => {
                let is_receive = packet.id == id::BLOCKING_ON_QUEUE_RECEIVE;
                let Some(state) = self.object(first, second, told, out) else { return };
                let object = state.id;
                // Who waits to receive has found nothing.
                let is_news = is_receive && matches!(first, 0 | 2 | 3) && state.level.replace(0).is_none();
                let reason = if is_receive { WaitReason::Receive } else { WaitReason::Send };
                if is_news {
                    self.push(told.time, EventKind::ObjectLevel { object, level: 0 }, out);
                }
                EventKind::Waiting(Wait { reason, object: Some(object), kernel_ticks: u32::MAX })
            }
            id::TASK_DELAY | id::TASK_DELAY_UNTIL => {
                let task = self.task(first, told, out);
                if task.is_none() || task != self.running {
                    out.ledger.enter(losses::OTHER_TASK, told.offset, 0);
                    return;
                }
                let reason = if packet.id == id::TASK_DELAY { WaitReason::Delay } else { WaitReason::Period };
                EventKind::Waiting(Wait { reason, object: None, kernel_ticks: u32::from(packet.u16_at(1)) })
            }
            id::MALLOC | id::FREE => {
                let op = if packet.id == id::MALLOC { HeapOp::Allocate } else { HeapOp::Free };
                EventKind::Heap { op, address: Packed(UNKNOWN_ADDRESS), bytes: u32::from(packet.u16_at(0)) }
            }
            id::CUSTOM_MARKER_1..=id::CUSTOM_MARKER_5 => return self.marker(told, out),
            _ => return self.rare_event(told, out),
        };
        self.push(told.time, kind, out);
    }

    fn rare_event(&mut self, told: Told<'_>, out: &mut Resolved<'_>) {
        let packet = told.packet;
        let [first, second, ..] = packet.data;
        let kind = match packet.id {
            id::TASK_PRIORITY_INHERIT | id::TASK_PRIORITY_DISINHERIT | id::TASK_PRIORITY_SET => {
                let Some(task) = self.task(first, told, out) else { return };
                let change = match packet.id {
                    id::TASK_PRIORITY_INHERIT => PriorityChange::Inherit,
                    id::TASK_PRIORITY_DISINHERIT => PriorityChange::Disinherit,
                    _ => PriorityChange::Set,
                };
                EventKind::Priority { task, priority: u32::from(second), change }
            }
            id::TASK_CREATE => match self.task(first, told, out) {
                Some(task) => EventKind::TaskCreated(task),
                None => return,
            },
            id::TASK_DELETE => match self.task(first, told, out) {
                Some(task) => EventKind::TaskDeleted(task),
                None => return,
            },
            id::TASK_SUSPEND => match self.task(first, told, out) {
                Some(task) => EventKind::Suspended(task),
                None => return,
            },
            id::TASK_RESUME | id::TASK_RESUME_FROM_ISR => match self.task(first, told, out) {
                Some(task) => EventKind::Resumed { task, from_isr: packet.id == id::TASK_RESUME_FROM_ISR },
                None => return,
            },
            id::QUEUE_PEEK | id::QUEUE_PEEK_FROM_ISR => {
                return self.attempt(told, ObjectOp::Peek, packet.id == id::QUEUE_PEEK_FROM_ISR, out);
            }
            id::QUEUE_SEND_FAILED | id::QUEUE_SEND_FROM_ISR_FAILED | id::GIVE_MUTEX_RECURSIVE_FAILED => {
                return self.attempt(told, ObjectOp::SendFailed, packet.id == id::QUEUE_SEND_FROM_ISR_FAILED, out);
            }
            id::QUEUE_RECEIVE_FAILED | id::QUEUE_RECEIVE_FROM_ISR_FAILED | id::TAKE_MUTEX_RECURSIVE_FAILED => {
                return self.attempt(told, ObjectOp::ReceiveFailed, packet.id == id::QUEUE_RECEIVE_FROM_ISR_FAILED, out);
            }
            id::QUEUE_PEEK_FROM_ISR_FAILED => return self.attempt(told, ObjectOp::PeekFailed, true, out),
            id::GIVE_MUTEX_RECURSIVE | id::TAKE_MUTEX_RECURSIVE => return self.nest(told, out),
            id::QUEUE_CREATE => return self.created(told, out),
            // The object was created right before, by the packet of the queue that it is.
            id::CREATE_MUTEX | id::CREATE_COUNTING_SEMAPHORE => return,
            id::LOW_POWER_IDLE_BEGIN | id::LOW_POWER_IDLE_END | id::INCREASE_TICK_COUNT => return self.low_power(told, out),
            id::QUEUE_CREATE_FAILED => {
                let name = self.words.type_number;
                let value = out.entities.add_name(type_name(first)).map(ArgValue::Name);
                let arg = name.zip(value).map(|(name, value)| Arg::new(name, value));
                return self.kernel(told, "queue create failed", arg.as_slice(), out);
            }
            id::CREATE_MUTEX_FAILED => return self.kernel(told, "create mutex failed", &[], out),
            id::CREATE_COUNTING_SEMAPHORE_FAILED => return self.kernel(told, "create counting semaphore failed", &[], out),
            id::TASK_CREATE_FAILED => return self.kernel(told, "task create failed", &[], out),
            id::QUEUE_DELETE => return self.kernel(told, "queue delete", &[], out),
            id::ERROR_RECEIVE_FIFO_FULL => return self.kernel(told, "receive FIFO full", &[], out),
            _ => return self.marker(told, out),
        };
        self.push(told.time, kind, out);
    }

    #[inline]
    pub(super) fn push(&self, time: Nanos, kind: EventKind, out: &mut Resolved<'_>) {
        out.batch.events.push(Event { time, core: self.core, kind });
    }

    #[inline]
    fn task(&mut self, number: u8, told: Told<'_>, out: &mut Resolved<'_>) -> Option<TaskId> {
        let task = self.ids.task(number, &self.names, out.entities);
        if task.is_none() {
            out.ledger.enter(losses::ENTITY_LIMIT, told.offset, 1);
        }
        task
    }

    #[inline]
    fn object(&mut self, type_number: u8, number: u8, told: Told<'_>, out: &mut Resolved<'_>) -> Option<&mut ObjectState> {
        let state = self.ids.object(type_number, number, &self.names, out.entities);
        if state.is_none() {
            out.ledger.enter(losses::ENTITY_LIMIT, told.offset, 1);
        }
        state
    }

    /// Something is put into an object, or taken out.
    #[inline]
    fn operation(&mut self, told: Told<'_>, op: ObjectOp, from_isr: bool, out: &mut Resolved<'_>) {
        let [type_number, number, ..] = told.packet.data;
        let running = self.running;
        let Some(state) = self.object(type_number, number, told, out) else { return };
        let level = match op {
            ObjectOp::Send => state.level.map(|level| level.saturating_add(1)),
            // More taken out than was inside: what was put in is not known.
            _ => state.level.and_then(|level| level.checked_sub(1)),
        };
        // A mutex is there or not.
        let level = if matches!(type_number, 1 | 4) { Some(u32::from(op == ObjectOp::Send)) } else { level };
        (state.level, state.held) = (level, (op == ObjectOp::Receive).then_some((running, 1)));
        let level = level.map_or(Level::UNKNOWN, Level::known);
        let kind = EventKind::Object { object: state.id, op, from_isr, level };
        self.push(told.time, kind, out);
    }

    /// An operation that changes nothing.
    fn attempt(&mut self, told: Told<'_>, op: ObjectOp, from_isr: bool, out: &mut Resolved<'_>) {
        let [type_number, number, ..] = told.packet.data;
        let Some(state) = self.object(type_number, number, told, out) else { return };
        let kind = EventKind::Object { object: state.id, op, from_isr, level: Level::UNKNOWN };
        self.push(told.time, kind, out);
    }

    /// A recursive mutex is taken or given: its holder takes it once more, or gives it back but not for the last time. The first
    /// taking and the last giving have packets of their own.
    fn nest(&mut self, told: Told<'_>, out: &mut Resolved<'_>) {
        let [type_number, number, ..] = told.packet.data;
        let running = self.running;
        let is_taken = told.packet.id == id::TAKE_MUTEX_RECURSIVE;
        let Some(state) = self.object(type_number, number, told, out) else { return };
        let Some((holder, depth)) = state.held.filter(|held| held.0 == running && running.is_some()) else { return };
        let depth = if is_taken { depth.saturating_add(1) } else { depth.saturating_sub(1) };
        if depth == 0 {
            return;
        }
        state.held = Some((holder, depth));
        let kind = EventKind::Depth { object: state.id, depth };
        self.push(told.time, kind, out);
    }

    /// A queue-like object was created. Its type is not told, but what follows may tell it.
    fn created(&mut self, told: Told<'_>, out: &mut Resolved<'_>) {
        let number = told.packet.data[0];
        let types: &[u8] = match told.hint {
            Hint::Mutex(type_number) => &[type_number],
            Hint::CountingSemaphore => &[2],
            _ => &[0, 3],
        };
        // Of those that can be, the first that the capture uses and that has not been created yet.
        let is_new = |&&type_number: &&u8| !self.ids.has_object(type_number, number);
        let used = types.iter().filter(is_new).find(|&&type_number| self.used.is_used(type_number, number));
        let Some(&type_number) = used.or_else(|| types.iter().find(is_new)) else { return };
        let Some(state) = self.object(type_number, number, told, out) else { return };
        state.level = (type_number != 2).then_some(0);
        let level = state.level.map_or(Level::UNKNOWN, Level::known);
        let kind = EventKind::Object { object: state.id, op: ObjectOp::Create, from_isr: false, level };
        self.push(told.time, kind, out);
    }

    /// A user's marker, or an id that the protocol has no meaning for: an instant with its data.
    fn marker(&mut self, told: Told<'_>, out: &mut Resolved<'_>) {
        let packet = told.packet;
        let Some(lane) = self.lane(usize::from(packet.id), told, out) else { return };
        let data = packet.bytes().iter().fold(0u64, |value, &byte| value << 8 | u64::from(byte));
        let arg = self.words.data.filter(|_| packet.data_len > 0).map(|name| Arg::new(name, ArgValue::Uint(data)));
        let args = out.batch.add_args(arg.as_slice());
        self.push(told.time, EventKind::Instant { lane, label: Label::NONE, args }, out);
    }

    fn lane(&mut self, number: usize, told: Told<'_>, out: &mut Resolved<'_>) -> Option<LaneId> {
        let lane = self.ids.lane(number, out.entities);
        if lane.is_none() {
            out.ledger.enter(losses::ENTITY_LIMIT, told.offset, 1);
        }
        lane
    }

    /// The target sleeps without ticks.
    fn low_power(&mut self, told: Told<'_>, out: &mut Resolved<'_>) {
        let Some(lane) = self.lane(LOW_POWER_LANE, told, out) else { return };
        let kind = match told.packet.id {
            id::LOW_POWER_IDLE_BEGIN if !self.sleeps => {
                self.sleeps = true;
                EventKind::SpanBegin { lane, label: Label::NONE, args: Args::NONE }
            }
            id::LOW_POWER_IDLE_END if self.sleeps => {
                self.sleeps = false;
                EventKind::SpanEnd { lane, args: Args::NONE }
            }
            id::INCREASE_TICK_COUNT => {
                let value = ArgValue::Uint(u64::from(told.packet.data[0]));
                let arg = self.words.ticks.map(|name| Arg::new(name, value));
                let args = out.batch.add_args(arg.as_slice());
                EventKind::Instant { lane, label: self.words.ticks_skipped.map_or(Label::NONE, Label::name), args }
            }
            // Its other end is missing.
            _ => return,
        };
        self.push(told.time, kind, out);
    }

    /// Something that belongs to no object.
    fn kernel(&mut self, told: Told<'_>, what: &str, args: &[Arg], out: &mut Resolved<'_>) {
        let Some(lane) = self.lane(KERNEL_LANE, told, out) else { return };
        let label = out.entities.add_name(what).map_or(Label::NONE, Label::name);
        let args = out.batch.add_args(args);
        self.push(told.time, EventKind::Instant { lane, label, args }, out);
    }
}
