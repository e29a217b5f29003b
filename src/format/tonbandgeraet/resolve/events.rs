//! The events of each record. Long, because it is a table: a case for each record.

use crate::format::Resolved;
use crate::model::{
    Args, BitsOp, CoreId, Entities, Event, EventKind, HeapOp, LaneKind, Level, LogNote, LogSeverity, LossNote, Nanos, ObjectId,
    ObjectKind, ObjectOp, Packed, PriorityChange, ReportedState, StreamOp, TaskId, TextRef, TimerCommand, TimerOp, Wait,
    WaitReason,
};

use super::super::decode::Records;
use super::super::record::{Record, StreamKind, SyncFields, TaskState};
use super::functions::Functions;
use super::ids::NameScope;
use super::mailbox::LevelReport;
use super::messages::{Message, MessageOddity, Messages};
use super::restore::Mark;
use super::{CoreState, DROP_COUNTER_EVERY, RecordPlace, Resolver, Session, Touched, drop_counter_in, losses, records_after};

/// What the events of one core use, as long as nothing else comes between them.
pub(super) struct Scene<'a> {
    scope: NameScope<'a>,
    core: CoreId,
    /// The number of cores of the input.
    cores: usize,
    /// Levels are as reported: mailboxes are told apart, or the operations on a queue do not come in their order.
    takes_levels: bool,
    session: &'a mut Session,
    pub(super) state: &'a mut CoreState,
    functions: &'a mut Functions,
    messages: &'a mut Messages,
    unformatted: &'a mut u64,
}

impl Resolver {
    pub(super) fn scene(&mut self, index: usize) -> Scene<'_> {
        let Resolver { names, inputs, starts, sessions, functions, messages, unformatted, .. } = self;
        let is_alone = inputs.len() == 1;
        let input = &mut inputs[index];
        let is_superset = input.restorer.is_some();
        Scene {
            scope: NameScope { names, input: index, starts, session: input.session },
            core: input.core,
            cores: input.cores.len(),
            takes_levels: is_superset || !(is_alone || input.programs > 1),
            session: &mut sessions[input.slot()],
            state: input.state(),
            functions,
            messages,
            unformatted,
        }
    }

    /// Appends the loss of the bad frames before an event, if there are any.
    #[inline]
    fn emit_gap(&mut self, index: usize, time: Nanos, out: &mut Resolved<'_>) {
        let input = &mut self.inputs[index];
        if let Some(gap) = input.gap.take() {
            out.batch.add_loss(time, input.core, gap);
            input.states.iter_mut().for_each(|state| state.running = None);
            let session = &mut self.sessions[input.slot()];
            session.gaps += 1;
            session.ids.forget_functions();
        }
    }

    /// Appends the events of any timed record.
    pub(super) fn event(&mut self, at: RecordPlace<'_>, record: &Record<TextRef>, time: Nanos, out: &mut Resolved<'_>) {
        self.emit_gap(at.index, time, out);
        let input = &mut self.inputs[at.index];
        // In the superset the syncs have it: there it is a damaged frame.
        if let Record::DroppedEvtCnt { cnt, .. } = *record
            && input.restorer.is_none()
        {
            input.note_timed(0);
            return self.drop_counter(at, cnt, time, out);
        }
        input.note_timed(1);
        self.scene(at.index).event(at, record, time, out);
    }
}

impl Scene<'_> {
    /// Appends the events of a timed record that is no drop counter. It becomes part of the loop over records: a call for each would
    /// cost a fifth more.
    #[inline(always)]
    pub(super) fn event(&mut self, at: RecordPlace<'_>, record: &Record<TextRef>, time: Nanos, out: &mut Resolved<'_>) {
        let chunk = at.chunk.records;
        let &mut Scene { core, cores, takes_levels, .. } = self;
        let Scene { scope, session, state: on_core, functions, messages, unformatted, .. } = self;
        let ids = &mut session.ids;
        let running = on_core.running;
        let entities = &mut *out.entities;
        macro_rules! entity {
            ($lookup:ident($($of:expr),*)) => {
                match ids.$lookup($($of,)* scope, entities) {
                    Some(handle) => handle,
                    None => return out.ledger.enter(losses::ENTITY_LIMIT, at.offset(), 1),
                }
            };
        }
        macro_rules! text {
            ($bytes:expr) => {{
                let (text, lossy) = out.batch.texts.add_lossy(chunk.bytes($bytes));
                if lossy {
                    out.ledger.enter(losses::NOT_UTF8, at.offset(), 0);
                }
                text
            }};
        }
        // Each case stores its event itself: one that is put together first is written in small pieces and read back in large ones, for
        // which the processor has to wait.
        macro_rules! event {
            ($kind:expr) => {{
                let kind = $kind;
                out.batch.events.push(Event { time, core, kind })
            }};
        }
        macro_rules! waits {
            ($kind:expr) => {{
                let kind = $kind;
                note_running(running, at.offset(), out.ledger);
                event!(kind)
            }};
        }
        macro_rules! wait {
            ($reason:expr, $object:expr, $kernel_ticks:expr) => {
                waits!(EventKind::Waiting(Wait { reason: $reason, object: $object, kernel_ticks: $kernel_ticks }))
            };
        }
        // What a send or a receive reports, with the corrections of earlier reports that follow from it.
        macro_rules! level_report {
            ($object:ident, $len_after:ident, $operation:ident) => {{
                let report = if takes_levels || entities.objects[$object.index()].kind.is_taken() {
                    LevelReport { level: Some($len_after), ..LevelReport::default() }
                } else {
                    session.level($object).$operation($len_after, time)
                };
                push_late(report.two_since, $object, time, core, out);
                for _ in 0..report.repaired {
                    out.ledger.enter(losses::MAILBOX_OVERWRITTEN, at.offset(), 0);
                }
                report
            }};
        }
        let touched = std::mem::take(&mut on_core.touched);
        match *record {
            Record::IsrEnter { isr_id, .. } => event!(EventKind::IsrEnter(entity!(isr(isr_id, core)))),
            Record::IsrExit { isr_id, .. } => event!(EventKind::IsrExit(entity!(isr(isr_id, core)))),
            Record::Evtmarker { evtmarker_id, msg, .. } => {
                let lane = entity!(marker(LaneKind::Events, evtmarker_id));
                event!(EventKind::Instant { lane, label: text!(msg).into(), args: Args::NONE })
            }
            Record::EvtmarkerBegin { evtmarker_id, msg, .. } => {
                let lane = entity!(marker(LaneKind::Events, evtmarker_id));
                event!(EventKind::SpanBegin { lane, label: text!(msg).into(), args: Args::NONE })
            }
            Record::EvtmarkerEnd { evtmarker_id, .. } => {
                event!(EventKind::SpanEnd { lane: entity!(marker(LaneKind::Events, evtmarker_id)), args: Args::NONE })
            }
            Record::Valmarker { valmarker_id, val, .. } => {
                let lane = entity!(marker(LaneKind::Values, valmarker_id));
                event!(EventKind::Value { lane, value: Packed(val) })
            }
            Record::FunctionEnter { delta, .. } => {
                let on = entity!(functions(running, core));
                on.open += 1;
                let name = functions.name(scope.address_base().wrapping_add_signed(delta));
                let (label, _) = out.batch.texts.add_lossy(name.as_bytes());
                event!(EventKind::SpanBegin { lane: on.lane, label: label.into(), args: Args::NONE })
            }
            Record::FunctionExit { .. } => {
                let on = entity!(functions(running, core));
                if on.open == 0 {
                    return;
                }
                on.open -= 1;
                event!(EventKind::SpanEnd { lane: on.lane, args: Args::NONE })
            }
            Record::Log { format, arguments, .. } => {
                let lane = entity!(log(running, core));
                let message = messages.message(format, chunk.bytes(arguments), entities);
                if message.name.is_none() {
                    return out.ledger.enter(losses::ENTITY_LIMIT, at.offset(), 1);
                }
                match message.oddity {
                    Some(MessageOddity::OtherArguments) => out.ledger.enter(losses::OTHER_ARGUMENTS, at.offset(), 0),
                    Some(MessageOddity::UnknownFormat) => out.ledger.enter(losses::UNKNOWN_FORMAT, at.offset(), 0),
                    None => {}
                }
                **unformatted += u64::from(message.severity == LogSeverity::Unspecified);
                let Message { severity, name, source, .. } = message;
                let body = out.batch.texts.add(&message.text);
                let note = LogNote { lane, severity, name, body, source, grade: None, args: Args::NONE };
                out.batch.add_log(time, core, note);
            }
            Record::TaskEvtmarker { evtmarker_id, msg, .. } => {
                note_running(running, at.offset(), out.ledger);
                let lane = entity!(task_marker(LaneKind::Events, running, evtmarker_id));
                event!(EventKind::Instant { lane, label: text!(msg).into(), args: Args::NONE })
            }
            Record::TaskEvtmarkerBegin { evtmarker_id, msg, .. } => {
                note_running(running, at.offset(), out.ledger);
                let lane = entity!(task_marker(LaneKind::Events, running, evtmarker_id));
                event!(EventKind::SpanBegin { lane, label: text!(msg).into(), args: Args::NONE })
            }
            Record::TaskEvtmarkerEnd { evtmarker_id, .. } => {
                note_running(running, at.offset(), out.ledger);
                let lane = entity!(task_marker(LaneKind::Events, running, evtmarker_id));
                event!(EventKind::SpanEnd { lane, args: Args::NONE })
            }
            Record::TaskValmarker { valmarker_id, val, .. } => {
                note_running(running, at.offset(), out.ledger);
                let lane = entity!(task_marker(LaneKind::Values, running, valmarker_id));
                event!(EventKind::Value { lane, value: Packed(val) })
            }
            Record::TaskSwitchedIn { task_id, .. } => {
                let task = entity!(task(task_id));
                on_core.running = Some(task);
                event!(EventKind::SwitchedIn(task))
            }
            Record::TaskToRdyState { task_id, .. } => {
                if touched == Touched::Prioritised(task_id) || is_inherited_next(at, task_id, core, cores > 1) {
                    event!(EventKind::Relisted(entity!(task(task_id))))
                } else {
                    event!(EventKind::Ready { task: entity!(task(task_id)), from_isr: false })
                }
            }
            Record::TaskResumed { task_id, .. } => {
                event!(EventKind::Resumed { task: entity!(task(task_id)), from_isr: false })
            }
            Record::TaskResumedFromIsr { task_id, .. } => {
                event!(EventKind::Resumed { task: entity!(task(task_id)), from_isr: true })
            }
            Record::TaskSuspended { task_id, .. } => event!(EventKind::Suspended(entity!(task(task_id)))),
            Record::TaskPrioritySet { task_id, priority, .. } => {
                // A new task gets its priority before it becomes ready for the first time.
                if touched != Touched::Created(task_id) {
                    on_core.touched = Touched::Prioritised(task_id);
                }
                let task = entity!(task(task_id));
                event!(EventKind::Priority { task, priority: priority.cast_signed(), change: PriorityChange::Set })
            }
            Record::TaskPriorityInherit { task_id, priority, .. } => {
                let task = entity!(task(task_id));
                event!(EventKind::Priority { task, priority: priority.cast_signed(), change: PriorityChange::Inherit })
            }
            Record::TaskPriorityDisinherit { task_id, priority, .. } => {
                on_core.touched = Touched::Prioritised(task_id);
                let task = entity!(task(task_id));
                event!(EventKind::Priority { task, priority: priority.cast_signed(), change: PriorityChange::Disinherit })
            }
            Record::TaskCreated { task_id, .. } => {
                on_core.touched = Touched::Created(task_id);
                // An id that is used again after a deletion is another task.
                let again = session.deleted.get(&task_id).is_some_and(|&deleted| deleted <= time) && ids.has_task(task_id);
                if again {
                    session.deleted.remove(&task_id);
                    session.reused.insert(task_id);
                }
                event!(EventKind::TaskCreated(if again {
                    entity!(new_task(task_id, Some(at.offset())))
                } else {
                    entity!(task(task_id))
                }))
            }
            Record::TaskDeleted { task_id, .. } => {
                let task = entity!(task(task_id));
                session.deleted.insert(task_id, time);
                event!(EventKind::TaskDeleted(task))
            }
            Record::CurtaskDelay { ticks, .. } => wait!(WaitReason::Delay, None, ticks),
            Record::CurtaskDelayUntil { time_to_wake, .. } => wait!(WaitReason::DelayUntil, None, time_to_wake),
            Record::CurtaskBlockOnQueuePeek { queue_id, ticks_to_wait, .. } => {
                wait!(WaitReason::Peek, Some(entity!(queue(queue_id))), ticks_to_wait)
            }
            Record::CurtaskBlockOnQueueSend { queue_id, ticks_to_wait, .. } => {
                wait!(WaitReason::Send, Some(entity!(queue(queue_id))), ticks_to_wait)
            }
            Record::CurtaskBlockOnQueueReceive { queue_id, ticks_to_wait, .. } => {
                wait!(WaitReason::Receive, Some(entity!(queue(queue_id))), ticks_to_wait)
            }
            Record::QueueCreated { queue_id, .. } => {
                let object = entity!(queue(queue_id));
                event!(EventKind::Object { object, op: ObjectOp::Create, from_isr: false, level: Level::UNKNOWN })
            }
            Record::QueueCurLength { queue_id, length, .. } => {
                let object = entity!(queue(queue_id));
                let since = session.level(object).known(length);
                push_late(since, object, time, core, out);
                event!(EventKind::ObjectLevel { object, level: length })
            }
            Record::QueueReset { queue_id, .. } => {
                let object = entity!(queue(queue_id));
                let since = session.level(object).known(0);
                push_late(since, object, time, core, out);
                event!(EventKind::Object { object, op: ObjectOp::Reset, from_isr: false, level: Level::known(0) })
            }
            Record::QueueSend { queue_id, len_after, .. } | Record::QueueSendFromIsr { queue_id, len_after, .. } => {
                let from_isr = matches!(record, Record::QueueSendFromIsr { .. });
                let object = entity!(queue(queue_id));
                let report = level_report!(object, len_after, sent);
                let op = if report.is_overwrite { ObjectOp::Overwrite } else { ObjectOp::Send };
                event!(EventKind::Object { object, op, from_isr, level: report.level.map_or(Level::UNKNOWN, Level::known) })
            }
            Record::QueueOverwrite { queue_id, len_after, .. } | Record::QueueOverwriteFromIsr { queue_id, len_after, .. } => {
                let from_isr = matches!(record, Record::QueueOverwriteFromIsr { .. });
                let object = entity!(queue(queue_id));
                // A mailbox has at most one item, regardless of the level that the hook computed.
                if len_after > 1 {
                    out.ledger.enter(losses::MAILBOX_OVERWRITTEN, at.offset(), 0);
                }
                let level = len_after.min(1);
                let since = session.level(object).known(level);
                push_late(since, object, time, core, out);
                event!(EventKind::Object { object, op: ObjectOp::Overwrite, from_isr, level: Level::known(level) })
            }
            Record::QueueReceive { queue_id, len_after, .. } | Record::QueueReceiveFromIsr { queue_id, len_after, .. } => {
                let from_isr = matches!(record, Record::QueueReceiveFromIsr { .. });
                let object = entity!(queue(queue_id));
                let report = level_report!(object, len_after, received);
                event!(EventKind::Object {
                    object,
                    op: ObjectOp::Receive,
                    from_isr,
                    level: report.level.map_or(Level::UNKNOWN, Level::known),
                })
            }
            // The total since boot, and names are not events.
            Record::MetadataDropped { .. } => out.ledger.enter(losses::METADATA_DROPPED, at.offset(), 0),
            Record::StateEnd { missing, .. } => {
                if missing > 0 {
                    out.ledger.enter(losses::STATE_INCOMPLETE, at.offset(), 0);
                }
            }
            Record::TaskRunning { task_id, .. } => {
                let task = entity!(task(task_id));
                if running == Some(task) {
                    return;
                }
                on_core.running = Some(task);
                event!(EventKind::SwitchedIn(task))
            }
            Record::TaskState { task_id, state, priority, .. } => {
                let task = entity!(task(task_id));
                event!(EventKind::Priority { task, priority: priority.cast_signed(), change: PriorityChange::Reported });
                let state = match state {
                    TaskState::Running if running == Some(task) || cores > 1 => return,
                    TaskState::Running => {
                        on_core.running = Some(task);
                        return event!(EventKind::SwitchedIn(task));
                    }
                    TaskState::Ready => ReportedState::Ready,
                    TaskState::Blocked => ReportedState::Waiting,
                    TaskState::Suspended => ReportedState::Suspended,
                    TaskState::Deleted => ReportedState::Deleted,
                };
                event!(EventKind::TaskReported { task, state })
            }
            Record::TaskBasePriority { task_id, priority, .. } => {
                // The kernel puts it on the ready list of its priority again, though that is the same.
                on_core.touched = Touched::Prioritised(task_id);
                let task = entity!(task(task_id));
                event!(EventKind::Priority { task, priority: priority.cast_signed(), change: PriorityChange::Base })
            }
            Record::TaskStack { task_id, free_bytes, .. } => {
                event!(EventKind::StackFree { task: entity!(task(task_id)), bytes: free_bytes })
            }
            Record::MutexHolder { queue_id, task_id, .. } => {
                let object = entity!(queue(queue_id));
                let task = match task_id {
                    0 => None,
                    _ => Some(entity!(task(task_id))),
                };
                event!(EventKind::Holder { object, task })
            }
            Record::MutexDepth { queue_id, depth, .. } => {
                event!(EventKind::Depth { object: entity!(queue(queue_id)), depth })
            }
            Record::QueueCapacity { queue_id, length, item_bytes, .. } => {
                event!(EventKind::Capacity { object: entity!(queue(queue_id)), items: length, item_bytes })
            }
            Record::QueueDeleted { queue_id, .. } => event!(deleted(entity!(queue(queue_id)))),
            Record::StreamCreated { stream_id, kind, size_bytes, .. } => {
                let object = entity!(stream(stream_id, stream_kind(kind)));
                event!(EventKind::Capacity { object, items: size_bytes, item_bytes: 1 });
                event!(EventKind::Object { object, op: ObjectOp::Create, from_isr: false, level: Level::known(0) })
            }
            Record::StreamState { stream_id, kind, size_bytes, .. } => {
                let object = entity!(stream(stream_id, stream_kind(kind)));
                event!(EventKind::Capacity { object, items: size_bytes, item_bytes: 1 })
            }
            Record::StreamSend { stream_id, bytes, bytes_after, .. }
            | Record::StreamSendFromIsr { stream_id, bytes, bytes_after, .. } => {
                let from_isr = matches!(record, Record::StreamSendFromIsr { .. });
                let object = entity!(stream(stream_id, ObjectKind::Stream));
                event!(EventKind::Stream { object, op: StreamOp::Send, from_isr, bytes, level: bytes_after })
            }
            Record::StreamReceive { stream_id, bytes, bytes_after, .. }
            | Record::StreamReceiveFromIsr { stream_id, bytes, bytes_after, .. } => {
                let from_isr = matches!(record, Record::StreamReceiveFromIsr { .. });
                let object = entity!(stream(stream_id, ObjectKind::Stream));
                event!(EventKind::Stream { object, op: StreamOp::Receive, from_isr, bytes, level: bytes_after })
            }
            Record::StreamReset { stream_id, .. } => {
                let object = entity!(stream(stream_id, ObjectKind::Stream));
                event!(EventKind::Object { object, op: ObjectOp::Reset, from_isr: false, level: Level::known(0) })
            }
            Record::StreamDeleted { stream_id, .. } => {
                event!(deleted(entity!(stream(stream_id, ObjectKind::Stream))))
            }
            Record::StreamLevel { stream_id, bytes, .. } => {
                let object = entity!(stream(stream_id, ObjectKind::Stream));
                event!(EventKind::ObjectLevel { object, level: bytes })
            }
            Record::CurtaskBlockOnStreamSend { stream_id, ticks_to_wait, .. } => {
                let object = entity!(stream(stream_id, ObjectKind::Stream));
                wait!(WaitReason::Send, Some(object), ticks_to_wait)
            }
            Record::CurtaskBlockOnStreamReceive { stream_id, ticks_to_wait, .. } => {
                let object = entity!(stream(stream_id, ObjectKind::Stream));
                wait!(WaitReason::Receive, Some(object), ticks_to_wait)
            }
            Record::TaskNotify { task_id, index, value, .. } | Record::TaskNotifyFromIsr { task_id, index, value, .. } => {
                let from_isr = matches!(record, Record::TaskNotifyFromIsr { .. });
                event!(EventKind::Notify { task: entity!(task(task_id)), index, value, from_isr })
            }
            Record::CurtaskBlockOnNotify { index, ticks_to_wait: kernel_ticks, .. } => {
                waits!(EventKind::WaitingForNotification { index, kernel_ticks })
            }
            Record::CurtaskNotifyReceived { index, value, .. } => event!(EventKind::Notified { index, value }),
            Record::EventGroupCreated { event_group_id, .. } => {
                let object = entity!(event_group(event_group_id));
                event!(EventKind::Object { object, op: ObjectOp::Create, from_isr: false, level: Level::known(0) })
            }
            Record::EventGroupSet { event_group_id, bits, bits_after: after, .. } => {
                event!(EventKind::Bits { object: entity!(event_group(event_group_id)), op: BitsOp::Set, bits, after })
            }
            Record::EventGroupClear { event_group_id, bits, bits_after: after, .. } => {
                event!(EventKind::Bits { object: entity!(event_group(event_group_id)), op: BitsOp::Clear, bits, after })
            }
            Record::EventGroupSetFromIsr { event_group_id, bits, .. } => {
                let object = entity!(event_group(event_group_id));
                event!(EventKind::Bits { object, op: BitsOp::RequestSet, bits, after: 0 })
            }
            Record::EventGroupClearFromIsr { event_group_id, bits, .. } => {
                let object = entity!(event_group(event_group_id));
                event!(EventKind::Bits { object, op: BitsOp::RequestClear, bits, after: 0 })
            }
            Record::EventGroupBits { event_group_id, bits, .. } => {
                let object = entity!(event_group(event_group_id));
                event!(EventKind::Bits { object, op: BitsOp::Reported, bits: 0, after: bits })
            }
            Record::EventGroupWaitEnd { event_group_id, bits_after: after, timed_out, .. } => {
                let object = entity!(event_group(event_group_id));
                let op = if timed_out == 0 { BitsOp::WaitEnded } else { BitsOp::WaitTimedOut };
                event!(EventKind::Bits { object, op, bits: 0, after })
            }
            Record::EventGroupDeleted { event_group_id, .. } => {
                event!(deleted(entity!(event_group(event_group_id))))
            }
            Record::CurtaskBlockOnEventGroup { event_group_id, bits, ticks_to_wait: kernel_ticks, .. } => {
                let object = entity!(event_group(event_group_id));
                waits!(EventKind::WaitingForBits { object, bits, kernel_ticks })
            }
            Record::TimerCreated { timer_id, period_ticks: kernel_ticks, auto_reload, .. } => {
                let object = entity!(timer(timer_id));
                event!(EventKind::Timer { object, op: TimerOp::Create { auto_reload: auto_reload != 0 }, kernel_ticks })
            }
            Record::TimerCommand { timer_id, command, value: kernel_ticks, .. } => {
                let object = entity!(timer(timer_id));
                let (command, from_isr) = timer_command(command);
                event!(EventKind::Timer { object, op: TimerOp::Queued(command, from_isr), kernel_ticks })
            }
            Record::TimerCommandFailed { timer_id, command, value: kernel_ticks, .. } => {
                let object = entity!(timer(timer_id));
                let (command, from_isr) = timer_command(command);
                event!(EventKind::Timer { object, op: TimerOp::NotQueued(command, from_isr), kernel_ticks })
            }
            Record::TimerCommandReceived { timer_id, command, value: kernel_ticks, .. } => {
                let object = entity!(timer(timer_id));
                event!(EventKind::Timer { object, op: TimerOp::Done(timer_command(command).0), kernel_ticks })
            }
            Record::TimerState { timer_id, period_ticks: kernel_ticks, flags, .. } => {
                let object = entity!(timer(timer_id));
                let op = TimerOp::Reported { auto_reload: flags & 1 != 0, is_armed: flags & 2 != 0 };
                event!(EventKind::Timer { object, op, kernel_ticks })
            }
            Record::TimerExpired { timer_id, .. } => {
                event!(EventKind::Timer { object: entity!(timer(timer_id)), op: TimerOp::Expired, kernel_ticks: 0 })
            }
            Record::HeapAlloc { address, bytes, .. } => {
                event!(EventKind::Heap { op: HeapOp::Allocate, address: Packed(address), bytes })
            }
            Record::HeapFree { address, bytes, .. } => {
                event!(EventKind::Heap { op: HeapOp::Free, address: Packed(address), bytes })
            }
            // Not timed, or not an event: see `Resolver::untimed` and `Resolver::drop_counter`.
            Record::DroppedEvtCnt { .. }
            | Record::CoreId { .. }
            | Record::Sync { .. }
            | Record::CoreIsrName { .. }
            | Record::StreamName { .. }
            | Record::EventGroupName { .. }
            | Record::TimerName { .. }
            | Record::TsResolutionNs { .. }
            | Record::AddressBase { .. }
            | Record::IsrName { .. }
            | Record::EvtmarkerName { .. }
            | Record::ValmarkerName { .. }
            | Record::TaskName { .. }
            | Record::TaskIsIdleTask { .. }
            | Record::TaskIsTimerTask { .. }
            | Record::QueueName { .. }
            | Record::QueueKind { .. }
            | Record::TaskEvtmarkerName { .. }
            | Record::TaskValmarkerName { .. } => {}
        }
    }
}

impl Resolver {
    /// Handles the target's count of dropped events.
    fn drop_counter(&mut self, at: RecordPlace<'_>, count: u32, time: Nanos, out: &mut Resolved<'_>) {
        let input = &mut self.inputs[at.index];
        let since = std::mem::take(&mut input.since_drop_counter);
        let before = input.dropped.unwrap_or(0);
        input.unconfirmed_drops = None;
        if count == before {
            if input.dropped.is_some() && since < DROP_COUNTER_EVERY {
                out.ledger.enter(losses::DROP_COUNTER_REPEATED, at.offset(), 0);
            }
            input.dropped = Some(count);
            input.drop_counter_ns = time;
            return;
        }
        let next = drop_counter_in(records_after(at));
        let lost = u64::from(count.saturating_sub(before));
        // One flipped bit: the next counter is lower again. If none follows, the loss is limited by the time since the last one.
        let is_contradicted = match next {
            Some(next) => next < count,
            None => lost > input.events_at_most(time),
        };
        if lost == 0 || is_contradicted {
            out.ledger.enter(losses::DROP_COUNTER_OUTLIER, at.offset(), 0);
            if lost == 0 && next == Some(count) && !input.copies.is_within(at.chunk.bytes, at.offset()) {
                input.dropped = Some(count);
            }
            return;
        }
        input.dropped = Some(count);
        input.drop_counter_ns = time;
        // Nothing follows that would show a flipped bit.
        let is_one_bit = (count ^ before).is_power_of_two() && next.is_none();
        input.unconfirmed_drops = Some(lost).filter(|_| is_one_bit);
        let lost = if input.counts_dropped { lost } else { 0 };
        let kind = losses::DROPPED_BY_TARGET;
        out.ledger.enter(kind, at.offset(), lost);
        let note = LossNote { kind, offset: at.offset(), bytes: 0, at_least_lost: lost };
        out.batch.add_loss(time, input.core, note);
        input.states.iter_mut().for_each(|state| state.running = None);
        self.sessions[input.slot()].gaps += 1;
    }

    /// Handles a record without a time of its own.
    pub(super) fn untimed(
        &mut self,
        index: usize,
        offset: u64,
        chunk: &Records,
        record: &Record<TextRef>,
        out: &mut Resolved<'_>,
    ) {
        let input = &mut self.inputs[index];
        let mark = input.restorer.as_mut().and_then(|restorer| restorer.mark_at(offset));
        let sign = match record {
            Record::CoreId { ts, core_id } => {
                let core = input.core_of(*core_id);
                input.is_core_in_doubt |= core.is_none_or(|core| core == input.core);
                input.core_id_at = core.map(|_| offset);
                match core {
                    Some(core) => {
                        input.core = core;
                        input.is_behind = input.domain.modulus.is_some();
                    }
                    None => out.ledger.enter(losses::IMPLAUSIBLE_CORE, offset, 0),
                }
                if *ts == 0 && input.timed_before {
                    input.late_start.get_or_insert(offset);
                    out.ledger.enter(losses::CORE_ID_AT_ZERO, offset, 0);
                }
                *ts == 0
            }
            Record::TaskEvtmarkerName { task_id: 0, evtmarker_id: id, name } => {
                self.name_of_running(index, offset, LaneKind::Events, *id, chunk.bytes(*name), out);
                true
            }
            Record::TaskValmarkerName { task_id: 0, valmarker_id: id, name } => {
                self.name_of_running(index, offset, LaneKind::Values, *id, chunk.bytes(*name), out);
                true
            }
            Record::Sync { .. } if mark == Some(Mark::Begun) => true,
            Record::Sync { fields } => match SyncFields::read(chunk.bytes(*fields)) {
                Ok(sync) if sync.starts() => {
                    // In a snapshot, the buffer of another core may begin.
                    input.recording_start = Some(offset).filter(|_| input.timed_before && !sync.is_snapshot());
                    true
                }
                _ => false,
            },
            // In the superset, metadata may occur anywhere.
            _ if input.restorer.is_some() => false,
            // A single one may be made of a damaged change of the core. A start sends several.
            _ => {
                input.is_core_in_doubt = true;
                let is_another = input.first_metadata.is_some();
                input.first_metadata.get_or_insert(offset);
                is_another
            }
        };
        let input = &mut self.inputs[index];
        if sign && input.timed_before {
            input.restart_sign.get_or_insert(input.first_metadata.unwrap_or(offset));
        }
        if input.restorer.is_none() && input.first_metadata.is_some() {
            input.recording_start = input.recording_start.or(input.late_start);
        }
        if let Some(Mark::Stop(ticks)) = mark
            && let Some(time) = input.stop_time(ticks)
        {
            // What was lost before it lies before the end, not after it.
            let reached = self.inputs[index].state().converted.1;
            self.emit_gap(index, time.max(reached), out);
            self.inputs[index].stop(time, out.batch);
        }
    }

    /// Adds the name of a task-local marker that names no task: it belongs to the running task.
    fn name_of_running(&mut self, index: usize, offset: u64, kind: LaneKind, id: u32, name: &[u8], out: &mut Resolved<'_>) {
        out.ledger.enter(losses::TASK_MARKER_WITHOUT_TASK, offset, 0);
        let input = &mut self.inputs[index];
        if let Some(task) = input.state().running {
            let name = String::from_utf8_lossy(name).as_ref().into();
            let names = &mut self.sessions[input.slot()].ids.running_names;
            // There cannot be more markers than entities.
            if names.len() < Entities::LIMIT_PER_KIND {
                names.entry((task, kind, id)).or_insert(name);
            }
        }
    }

    /// Emits the levels that were withheld and not decided, as reported.
    pub(super) fn forget_levels(&mut self, index: usize, out: &mut Resolved<'_>) {
        let Some(input) = self.inputs.get(index) else { return };
        let (time, core) = (input.last_ns, input.core);
        let session = &mut self.sessions[input.slot()];
        for (object, level) in (0..).zip(&mut session.levels) {
            push_late(level.forget(), ObjectId(object), time, core, out);
        }
    }
}

/// Whether the next event of the core is a priority inheritance of this task.
fn is_inherited_next(at: RecordPlace<'_>, task: u32, core: CoreId, has_several_cores: bool) -> bool {
    match at.chunk.pending.get(at.pending() + 1) {
        Some(Record::TaskPriorityInherit { task_id, .. }) if !has_several_cores => *task_id == task,
        Some(Record::DroppedEvtCnt { .. } | Record::Sync { .. }) => is_inherited_soon(at, task, core),
        _ if has_several_cores => is_inherited_soon(at, task, core),
        _ => false,
    }
}

/// The same, where drop counters, syncs or events of other cores may come between.
fn is_inherited_soon(at: RecordPlace<'_>, task: u32, core: CoreId) -> bool {
    let mut is_other = false;
    for (_, stored) in at.after() {
        match &stored.record {
            Record::CoreId { core_id, .. } => is_other = *core_id != u32::from(core.0),
            Record::DroppedEvtCnt { .. } | Record::Sync { .. } => {}
            _ if is_other || stored.core != at.stored.core => {}
            Record::TaskPriorityInherit { task_id, .. } => return *task_id == task,
            record if record.ts().is_some() => return false,
            _ => {}
        }
    }
    false
}

fn stream_kind(kind: StreamKind) -> ObjectKind {
    match kind {
        StreamKind::StreamBuffer => ObjectKind::StreamBuffer,
        StreamKind::MessageBuffer => ObjectKind::MessageBuffer,
        StreamKind::BatchingBuffer => ObjectKind::BatchingBuffer,
    }
}

fn deleted(object: ObjectId) -> EventKind {
    EventKind::Object { object, op: ObjectOp::Delete, from_isr: false, level: Level::UNKNOWN }
}

/// A command by the kernel's number, and whether it was sent from an interrupt.
fn timer_command(number: u32) -> (TimerCommand, bool) {
    let command = match number {
        1 | 6 => TimerCommand::Start,
        2 | 7 => TimerCommand::Reset,
        3 | 8 => TimerCommand::Stop,
        4 | 9 => TimerCommand::ChangePeriod,
        5 => TimerCommand::Delete,
        _ => TimerCommand::Other,
    };
    (command, (6..=9).contains(&number))
}

#[inline]
fn note_running(running: Option<TaskId>, offset: u64, ledger: &mut crate::model::Ledger) {
    if running.is_none() {
        ledger.enter(losses::NO_CURRENT_TASK, offset, 0);
    }
}

/// Emits a withheld level of two that was right.
fn push_late(since: Option<Nanos>, object: ObjectId, time: Nanos, core: CoreId, out: &mut Resolved<'_>) {
    if let Some(since) = since {
        let kind = EventKind::LateObjectLevel { object, level: 2, since: Packed(since.0) };
        out.batch.added += 1;
        out.batch.events.push(Event { time, core, kind });
    }
}
