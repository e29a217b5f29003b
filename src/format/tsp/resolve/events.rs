//! The events of each packet.

use super::super::record::{Packet, id, object_type, type_name};
use super::ids::{KERNEL_LANE, LOW_POWER_LANE, ObjectState};
use super::losses;
use super::{Hint, InputResolver};
use crate::format::Resolved;
use crate::model::{
    Arg, ArgValue, Args, Event, EventKind, HeapOp, Label, LaneId, Level, Nanos, ObjectOp, Packed, PriorityChange, TaskId,
    UNKNOWN_ADDRESS, Wait, WaitReason,
};

/// A packet with its time, and what is known from its neighbours.
#[derive(Clone, Copy)]
pub(super) struct TimedPacket<'a> {
    pub packet: &'a Packet,
    pub time: Nanos,
    pub hint: Hint,
    pub offset: u64,
}

/// Whether packets of an id have no events: the switch is where the next task is switched in; why this one leaves is known from packets
/// before. Tick and list operations are internal to the kernel.
pub(super) fn is_internal(id: u8) -> bool {
    matches!(id, id::TASK_SWITCHED_OUT | id::TASK_INCREMENT_TICK | id::POST_MOVED_TASK_TO_READY_STATE)
}

impl InputResolver {
    /// Appends the events of a packet.
    #[inline(always)]
    pub(super) fn event(&mut self, timed: TimedPacket<'_>, out: &mut Resolved<'_>) {
        let packet = timed.packet;
        let [first, second, ..] = packet.data;
        let kind = match packet.id {
            id::TASK_SWITCHED_IN => {
                let Some(task) = self.task(first, timed, out) else { return };
                self.running = Some(task);
                EventKind::SwitchedIn(task)
            }
            internal if is_internal(internal) => return,
            id::MOVED_TASK_TO_READY_STATE => {
                let Some(task) = self.task(first, timed, out) else { return };
                match timed.hint {
                    Hint::Relisted => EventKind::Relisted(task),
                    _ => EventKind::Ready { task, from_isr: false },
                }
            }
            id::QUEUE_SEND | id::QUEUE_SEND_FROM_ISR | id::QUEUE_RECEIVE | id::QUEUE_RECEIVE_FROM_ISR => {
                return self.operation(timed, out);
            }
            id::BLOCKING_ON_QUEUE_RECEIVE | id::BLOCKING_ON_QUEUE_SEND => {
                let is_receive = packet.id == id::BLOCKING_ON_QUEUE_RECEIVE;
                let Some(state) = self.object(first, second, timed, out) else { return };
                let object = state.id;
                // A task waits to receive only if the object is empty.
                let is_news = is_receive
                    && matches!(first, object_type::QUEUE | object_type::COUNTING_SEMAPHORE | object_type::BINARY_SEMAPHORE)
                    && state.level.replace(0).is_none();
                let reason = if is_receive { WaitReason::Receive } else { WaitReason::Send };
                if is_news {
                    self.push(timed.time, EventKind::ObjectLevel { object, level: 0 }, out);
                }
                EventKind::Waiting(Wait { reason, object: Some(object), kernel_ticks: u32::MAX })
            }
            id::TASK_DELAY | id::TASK_DELAY_UNTIL => {
                let task = self.task(first, timed, out);
                if let Some(task) = task.filter(|_| self.running.is_none() || self.filtered.switches) {
                    // It names the task, which runs while it says so.
                    self.running = Some(task);
                    self.push(timed.time, EventKind::SwitchedIn(task), out);
                }
                if task.is_none() || task != self.running {
                    out.ledger.enter(losses::NO_CURRENT_TASK, timed.offset, 0);
                    return;
                }
                let reason = if packet.id == id::TASK_DELAY { WaitReason::Delay } else { WaitReason::Period };
                let wait = Wait { reason, object: None, kernel_ticks: u32::from(packet.u16_at(1)) };
                self.push(timed.time, EventKind::Waiting(wait), out);
                if self.filtered.switches {
                    // It is unknown who runs next.
                    self.running = None;
                    self.push(timed.time, EventKind::CoreEnd, out);
                    out.batch.added += 1;
                }
                return;
            }
            id::MALLOC | id::FREE => {
                let op = if packet.id == id::MALLOC { HeapOp::Allocate } else { HeapOp::Free };
                EventKind::Heap { op, address: Packed(UNKNOWN_ADDRESS), bytes: u32::from(packet.u16_at(0)) }
            }
            id::CUSTOM_MARKER_1..=id::CUSTOM_MARKER_5 => return self.marker(timed, out),
            _ => return self.rare_event(timed, out),
        };
        self.push(timed.time, kind, out);
    }

    #[cold]
    fn rare_event(&mut self, timed: TimedPacket<'_>, out: &mut Resolved<'_>) {
        let packet = timed.packet;
        let [first, second, ..] = packet.data;
        let kind = match packet.id {
            id::TASK_PRIORITY_INHERIT
            | id::TASK_PRIORITY_DISINHERIT
            | id::TASK_PRIORITY_SET
            | id::TASK_CREATE
            | id::TASK_DELETE
            | id::TASK_SUSPEND
            | id::TASK_RESUME
            | id::TASK_RESUME_FROM_ISR => {
                let Some(task) = self.task(first, timed, out) else { return };
                let priority = |change| EventKind::Priority { task, priority: i32::from(second), change };
                match packet.id {
                    id::TASK_PRIORITY_INHERIT => priority(PriorityChange::Inherit),
                    id::TASK_PRIORITY_DISINHERIT => priority(PriorityChange::Disinherit),
                    id::TASK_PRIORITY_SET => priority(PriorityChange::Set),
                    id::TASK_CREATE => EventKind::TaskCreated(task),
                    id::TASK_DELETE => EventKind::TaskDeleted(task),
                    id::TASK_SUSPEND => EventKind::Suspended(task),
                    resumed => EventKind::Resumed { task, from_isr: resumed == id::TASK_RESUME_FROM_ISR },
                }
            }
            id::QUEUE_PEEK | id::QUEUE_PEEK_FROM_ISR => {
                return self.attempt(timed, ObjectOp::Peek, packet.id == id::QUEUE_PEEK_FROM_ISR, out);
            }
            id::QUEUE_SEND_FAILED | id::QUEUE_SEND_FROM_ISR_FAILED | id::GIVE_MUTEX_RECURSIVE_FAILED => {
                return self.attempt(timed, ObjectOp::SendFailed, packet.id == id::QUEUE_SEND_FROM_ISR_FAILED, out);
            }
            id::QUEUE_RECEIVE_FAILED | id::QUEUE_RECEIVE_FROM_ISR_FAILED | id::TAKE_MUTEX_RECURSIVE_FAILED => {
                return self.attempt(timed, ObjectOp::ReceiveFailed, packet.id == id::QUEUE_RECEIVE_FROM_ISR_FAILED, out);
            }
            id::QUEUE_PEEK_FROM_ISR_FAILED => return self.attempt(timed, ObjectOp::PeekFailed, true, out),
            id::GIVE_MUTEX_RECURSIVE | id::TAKE_MUTEX_RECURSIVE => return self.nest(timed, out),
            id::QUEUE_CREATE => return self.created(timed, out),
            // The packet before created the object, as a queue.
            id::CREATE_MUTEX | id::CREATE_COUNTING_SEMAPHORE => return,
            id::LOW_POWER_IDLE_BEGIN | id::LOW_POWER_IDLE_END | id::INCREASE_TICK_COUNT => return self.low_power(timed, out),
            id::QUEUE_CREATE_FAILED => {
                let value = out.entities.add_name(type_name(first)).map(ArgValue::Name);
                let arg = self.common_names.type_number.zip(value).map(|(name, value)| Arg::new(name, value));
                return self.kernel(timed, "queue create failed", arg.as_slice(), out);
            }
            id::CREATE_MUTEX_FAILED => return self.kernel(timed, "create mutex failed", &[], out),
            id::CREATE_COUNTING_SEMAPHORE_FAILED => return self.kernel(timed, "create counting semaphore failed", &[], out),
            id::TASK_CREATE_FAILED => return self.kernel(timed, "task create failed", &[], out),
            id::QUEUE_DELETE => return self.kernel(timed, "queue delete", &[], out),
            id::ERROR_RECEIVE_FIFO_FULL => return self.kernel(timed, "receive FIFO full", &[], out),
            _ => return self.marker(timed, out),
        };
        self.push(timed.time, kind, out);
    }

    #[inline]
    pub(super) fn push(&self, time: Nanos, kind: EventKind, out: &mut Resolved<'_>) {
        out.batch.events.push(Event { time, core: self.core, kind });
    }

    #[inline]
    fn task(&mut self, number: u8, timed: TimedPacket<'_>, out: &mut Resolved<'_>) -> Option<TaskId> {
        let task = self.ids.task(number, &self.names, out.entities);
        if task.is_none() {
            out.ledger.enter(losses::ENTITY_LIMIT, timed.offset, 1);
        }
        task
    }

    #[inline]
    fn object(
        &mut self,
        type_number: u8,
        number: u8,
        timed: TimedPacket<'_>,
        out: &mut Resolved<'_>,
    ) -> Option<&mut ObjectState> {
        let state = self.ids.object(type_number, number, &self.names, out.entities);
        if state.is_none() {
            let kind = if type_number < object_type::TASK { losses::ENTITY_LIMIT } else { losses::UNKNOWN_ENUM };
            out.ledger.enter(kind, timed.offset, 1);
        }
        state
    }

    /// An item is sent to an object or received from it.
    #[inline(always)]
    fn operation(&mut self, timed: TimedPacket<'_>, out: &mut Resolved<'_>) {
        let (id, [type_number, number, ..]) = (timed.packet.id, timed.packet.data);
        let op = if matches!(id, id::QUEUE_SEND | id::QUEUE_SEND_FROM_ISR) { ObjectOp::Send } else { ObjectOp::Receive };
        let from_isr = matches!(id, id::QUEUE_SEND_FROM_ISR | id::QUEUE_RECEIVE_FROM_ISR);
        let (running, is_unknown) = (self.running, self.filtered.receives);
        let Some(state) = self.object(type_number, number, timed, out) else { return };
        let level = match op {
            ObjectOp::Send => state.level.map(|level| level.saturating_add(1)),
            // More received than the known level: the level is unknown.
            _ => state.level.and_then(|level| level.checked_sub(1)),
        };
        let level = level.filter(|_| !is_unknown);
        // The level of a mutex is 0 or 1.
        let level = if matches!(type_number, object_type::MUTEX | object_type::RECURSIVE_MUTEX) {
            Some(u32::from(op == ObjectOp::Send))
        } else {
            level
        };
        (state.level, state.held) = (level, (op == ObjectOp::Receive).then_some((running, 1)));
        let level = level.map_or(Level::UNKNOWN, Level::known);
        let kind = EventKind::Object { object: state.id, op, from_isr, level };
        self.push(timed.time, kind, out);
    }

    /// An operation that does not change the object.
    fn attempt(&mut self, timed: TimedPacket<'_>, op: ObjectOp, from_isr: bool, out: &mut Resolved<'_>) {
        let [type_number, number, ..] = timed.packet.data;
        let Some(state) = self.object(type_number, number, timed, out) else { return };
        let kind = EventKind::Object { object: state.id, op, from_isr, level: Level::UNKNOWN };
        self.push(timed.time, kind, out);
    }

    /// A nested take or give of a recursive mutex by its holder. The first take and the last give have packets of their own.
    fn nest(&mut self, timed: TimedPacket<'_>, out: &mut Resolved<'_>) {
        let [type_number, number, ..] = timed.packet.data;
        let running = self.running;
        let is_taken = timed.packet.id == id::TAKE_MUTEX_RECURSIVE;
        let Some(state) = self.object(type_number, number, timed, out) else { return };
        let Some((holder, depth)) = state.held.filter(|held| held.0 == running && running.is_some()) else { return };
        let depth = if is_taken { depth.saturating_add(1) } else { depth.saturating_sub(1) };
        if depth == 0 {
            return;
        }
        state.held = Some((holder, depth));
        let kind = EventKind::Depth { object: state.id, depth };
        self.push(timed.time, kind, out);
    }

    /// A queue-like object was created. Its type is not in this packet, but may be known from those after it.
    fn created(&mut self, timed: TimedPacket<'_>, out: &mut Resolved<'_>) {
        let number = timed.packet.data[0];
        let types: &[u8] = match timed.hint {
            Hint::Mutex(type_number) => &[type_number],
            Hint::CountingSemaphore => &[object_type::COUNTING_SEMAPHORE],
            _ => &[object_type::QUEUE, object_type::BINARY_SEMAPHORE],
        };
        // Of the possible types, the first that the capture uses and that has not been created yet.
        let is_new = |&&type_number: &&u8| !self.ids.has_object(type_number, number);
        let used = types.iter().filter(is_new).find(|&&type_number| self.used.is_used(type_number, number));
        let Some(&type_number) = used.or_else(|| types.iter().find(is_new)) else { return };
        let Some(state) = self.object(type_number, number, timed, out) else { return };
        state.level = (type_number != object_type::COUNTING_SEMAPHORE).then_some(0);
        let level = state.level.map_or(Level::UNKNOWN, Level::known);
        let kind = EventKind::Object { object: state.id, op: ObjectOp::Create, from_isr: false, level };
        self.push(timed.time, kind, out);
    }

    /// A user's marker, or an id without a meaning in the protocol: an instant with its data.
    fn marker(&mut self, timed: TimedPacket<'_>, out: &mut Resolved<'_>) {
        let packet = timed.packet;
        let Some(lane) = self.lane(usize::from(packet.id), timed, out) else { return };
        let data = packet.bytes().iter().fold(0u64, |value, &byte| value << 8 | u64::from(byte));
        let arg = self.common_names.data.filter(|_| packet.data_len > 0).map(|name| Arg::new(name, ArgValue::Uint(data)));
        let args = out.batch.add_args(arg.as_slice());
        self.push(timed.time, EventKind::Instant { lane, label: Label::NONE, args }, out);
    }

    fn lane(&mut self, number: usize, timed: TimedPacket<'_>, out: &mut Resolved<'_>) -> Option<LaneId> {
        let lane = self.ids.lane(number, out.entities);
        if lane.is_none() {
            out.ledger.enter(losses::ENTITY_LIMIT, timed.offset, 1);
        }
        lane
    }

    /// The target sleeps without ticks.
    fn low_power(&mut self, timed: TimedPacket<'_>, out: &mut Resolved<'_>) {
        let Some(lane) = self.lane(LOW_POWER_LANE, timed, out) else { return };
        let kind = match timed.packet.id {
            id::LOW_POWER_IDLE_BEGIN if !self.sleeps => {
                self.sleeps = true;
                EventKind::SpanBegin { lane, label: Label::NONE, args: Args::NONE }
            }
            id::LOW_POWER_IDLE_END if self.sleeps => {
                self.sleeps = false;
                EventKind::SpanEnd { lane, args: Args::NONE }
            }
            id::INCREASE_TICK_COUNT => {
                let value = ArgValue::Uint(u64::from(timed.packet.data[0]));
                let arg = self.common_names.ticks.map(|name| Arg::new(name, value));
                let args = out.batch.add_args(arg.as_slice());
                EventKind::Instant { lane, label: self.common_names.ticks_skipped.map_or(Label::NONE, Label::name), args }
            }
            // The begin or end that belongs to it is missing.
            _ => return,
        };
        self.push(timed.time, kind, out);
    }

    /// An event of the kernel that belongs to no object.
    fn kernel(&mut self, timed: TimedPacket<'_>, name: &str, args: &[Arg], out: &mut Resolved<'_>) {
        let Some(lane) = self.lane(KERNEL_LANE, timed, out) else { return };
        let label = out.entities.add_name(name).map_or(Label::NONE, Label::name);
        let args = out.batch.add_args(args);
        self.push(timed.time, EventKind::Instant { lane, label, args }, out);
    }
}
