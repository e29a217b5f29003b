//! The records of a capture → the expected content of its trace. One state machine, as simple as the format's description.
//!
//! For whole captures: nothing lost, no reset, no time stamp out of order.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use traceconv::format::tonbandgeraet::record::{QueueKind, Record};
use traceconv::model::TextRef;

use super::{IDLE, Picture, Place, Switch, Waking};
use crate::run;

/// Names and kinds, from anywhere in the capture; the first one is used.
#[derive(Default)]
struct Names {
    ns_per_ts: Option<u64>,
    cores: BTreeSet<u32>,
    tasks: BTreeMap<u32, String>,
    idle: BTreeSet<u32>,
    queues: BTreeMap<u32, String>,
    kinds: BTreeMap<u32, QueueKind>,
    mailboxes: BTreeSet<u32>,
    isrs: BTreeMap<(u32, u32), String>,
    /// By whether they are values.
    markers: BTreeMap<(bool, u32), String>,
    task_markers: BTreeMap<(bool, u32, u32), String>,
}

impl Names {
    fn task(&self, task: u32) -> String {
        self.tasks.get(&task).cloned().unwrap_or(format!("task #{task}"))
    }

    fn kind(&self, queue: u32) -> QueueKind {
        self.kinds.get(&queue).copied().unwrap_or(QueueKind::Queue)
    }

    fn is_mutex(&self, queue: u32) -> bool {
        matches!(self.kind(queue), QueueKind::Mutex | QueueKind::RecursiveMutex)
    }

    fn is_taken(&self, queue: u32) -> bool {
        self.is_mutex(queue) || matches!(self.kind(queue), QueueKind::BinarySemaphore | QueueKind::CountingSemaphore)
    }

    fn queue(&self, queue: u32) -> String {
        let kind = self.kind(queue).name().replace('_', " ");
        self.queues.get(&queue).cloned().unwrap_or(format!("{kind} #{queue}"))
    }

    fn isr(&self, core: u32, isr: u32) -> String {
        let name = self.isrs.get(&(core, isr)).or(self.isrs.get(&(0, isr)));
        name.cloned().unwrap_or(format!("ISR #{isr}"))
    }

    /// The track of an interrupt: where there are several cores, it names the core.
    fn isr_place(&self, core: u32, isr: u32) -> Place {
        self.on_core(&self.isr(core, isr), core)
    }

    fn on_core(&self, name: &str, core: u32) -> Place {
        Place::Interrupt(if self.cores.len() > 1 { format!("{name} (core {core})") } else { name.to_owned() })
    }

    fn marker(&self, is_value: bool, marker: u32) -> String {
        let name = self.markers.get(&(is_value, marker)).cloned();
        name.unwrap_or(format!("{} #{marker}", if is_value { "value" } else { "marker" }))
    }

    fn task_marker(&self, is_value: bool, task: u32, marker: u32) -> String {
        let name = self.task_markers.get(&(is_value, task, marker)).or(self.task_markers.get(&(is_value, 0, marker)));
        name.cloned().unwrap_or(format!("{} #{marker}", if is_value { "value" } else { "marker" }))
    }
}

/// Why a task is about to leave its core.
#[derive(Clone, Debug)]
enum Leaving {
    Wait { name: String, queue: Option<u32> },
    Suspended,
    Deleted,
}

#[derive(Clone, Debug, Default)]
struct Task {
    running: bool,
    ready: bool,
    leaving: Option<Leaving>,
    /// Since when, the name of the slice, and the queue.
    waits: Option<(u64, String, Option<u32>)>,
    /// It left without a reason: when, and which switch of which core waits to know why.
    undecided: Option<(u64, u32, usize)>,
    last_core: Option<u32>,
    priority: Option<u32>,
    /// Marker, begin, name.
    spans: Vec<(u32, u64, String)>,
}

#[derive(Default)]
struct Core {
    current: Option<u32>,
    isrs: Vec<(u32, u64)>,
    /// The last operation on a queue was one from an interrupt, but none is traced.
    untraced_isr: bool,
}

#[derive(Default)]
struct Queue {
    level: Option<u32>,
    /// The items: when each was sent, `None` if that is unknown. Oldest first.
    items: VecDeque<Option<u64>>,
    /// Of a mutex: since when it is held, and by whom.
    held: Option<(u64, Option<u32>)>,
    /// Given while another task waited for it: when, and by whom.
    handed_over: Option<(u64, Option<u32>)>,
}

struct Machine {
    names: Names,
    picture: Picture,
    core: u32,
    cores: BTreeMap<u32, Core>,
    tasks: BTreeMap<u32, Task>,
    queues: BTreeMap<u32, Queue>,
    spans: BTreeMap<u32, Vec<(u64, String)>>,
    end: u64,
}

pub fn picture(capture: &[u8]) -> Picture {
    let records = run::records(capture);
    let text = |text: TextRef| String::from_utf8_lossy(records.bytes(text)).into_owned();
    let list: Vec<Record<TextRef>> = records.frames.iter().map(|stored| stored.record).collect();
    let mut machine = Machine {
        names: names(&list, text),
        picture: Picture::default(),
        core: 0,
        cores: BTreeMap::new(),
        tasks: BTreeMap::new(),
        queues: BTreeMap::new(),
        spans: BTreeMap::new(),
        end: 0,
    };
    for (core, number) in in_order_of_time(&list) {
        machine.core = core;
        let record = &list[number];
        match *record {
            Record::TaskToRdyState { task_id, .. } if is_requeued(&list, number, task_id) => machine.touch_end(record.ts()),
            // Names of task-local markers without a task are those of the running one.
            Record::TaskEvtmarkerName { task_id: 0, evtmarker_id: id, name } => machine.name_of_running(false, id, text(name)),
            Record::TaskValmarkerName { task_id: 0, valmarker_id: id, name } => machine.name_of_running(true, id, text(name)),
            _ => {
                machine.touch_end(record.ts());
                if let Some(ts) = record.ts() {
                    let ns = ts * machine.names.ns_per_ts.unwrap_or(1);
                    machine.event(record, ns, text);
                }
            }
        }
    }
    machine.finish()
}

/// The cores and places of all records but `core_id`. Events of several cores at the same time are ordered by core; metadata
/// stays after the event before it.
fn in_order_of_time(list: &[Record<TextRef>]) -> Vec<(u32, usize)> {
    let mut core = 0;
    let mut times: BTreeMap<u32, u64> = BTreeMap::new();
    let mut order: Vec<(u64, u32, usize)> = Vec::new();
    for (number, record) in list.iter().enumerate() {
        if let Record::CoreId { core_id, .. } = record {
            core = *core_id;
            continue;
        }
        let time = times.entry(core).or_default();
        *time = record.ts().unwrap_or(*time);
        order.push((*time, core, number));
    }
    order.sort();
    order.into_iter().map(|(_, core, number)| (core, number)).collect()
}

fn names(list: &[Record<TextRef>], text: impl Fn(TextRef) -> String) -> Names {
    let mut names = Names::default();
    let mut core = 0;
    let mut reported: BTreeMap<u32, u32> = BTreeMap::new();
    for record in list {
        match *record {
            Record::CoreId { core_id, .. } => core = core_id,
            Record::TsResolutionNs { ns_per_ts } => _ = names.ns_per_ts.get_or_insert(ns_per_ts),
            Record::IsrName { isr_id, name } => _ = names.isrs.entry((core, isr_id)).or_insert_with(|| text(name)),
            Record::EvtmarkerName { evtmarker_id, name } => {
                names.markers.entry((false, evtmarker_id)).or_insert_with(|| text(name));
            }
            Record::ValmarkerName { valmarker_id, name } => {
                names.markers.entry((true, valmarker_id)).or_insert_with(|| text(name));
            }
            Record::TaskEvtmarkerName { evtmarker_id, task_id, name } => {
                names.task_markers.entry((false, task_id, evtmarker_id)).or_insert_with(|| text(name));
            }
            Record::TaskValmarkerName { valmarker_id, task_id, name } => {
                names.task_markers.entry((true, task_id, valmarker_id)).or_insert_with(|| text(name));
            }
            Record::TaskName { task_id, name } => _ = names.tasks.entry(task_id).or_insert_with(|| text(name)),
            Record::TaskIsIdleTask { task_id, .. } => _ = names.idle.insert(task_id),
            Record::QueueName { queue_id, name } => _ = names.queues.entry(queue_id).or_insert_with(|| text(name)),
            Record::QueueKind { queue_id, kind } => _ = names.kinds.entry(queue_id).or_insert(kind),
            // A queue that "holds two" and then none, or again two, holds one item that was overwritten.
            Record::QueueSend { queue_id, len_after, .. } | Record::QueueSendFromIsr { queue_id, len_after, .. } => {
                let before = reported.insert(queue_id, len_after);
                names.mailboxes.extend((before == Some(2) && len_after == 2).then_some(queue_id));
            }
            Record::QueueReceive { queue_id, len_after, .. } | Record::QueueReceiveFromIsr { queue_id, len_after, .. } => {
                let before = reported.insert(queue_id, len_after);
                names.mailboxes.extend((before == Some(2) && len_after == 0).then_some(queue_id));
            }
            _ => {}
        }
        if record.ts().is_some() {
            names.cores.insert(core);
        }
    }
    names
}

/// A task that is ready already, or runs, is moved to the list of its new priority: reported as "ready" after the change of its own
/// priority, or before the inheritance.
fn is_requeued(list: &[Record<TextRef>], number: usize, task: u32) -> bool {
    let timed = |record: &&Record<TextRef>| record.ts().is_some() && !matches!(record, Record::DroppedEvtCnt { .. });
    let mut before = list[..number].iter().rev().filter(timed);
    match before.next() {
        Some(Record::TaskPrioritySet { task_id, .. }) if *task_id == task => {
            !matches!(before.next(), Some(Record::TaskCreated { task_id, .. }) if *task_id == task)
        }
        Some(Record::TaskPriorityDisinherit { task_id, .. }) => *task_id == task,
        _ => {
            let mut after = list[number + 1..].iter().filter(timed);
            matches!(after.next(), Some(Record::TaskPriorityInherit { task_id, .. }) if *task_id == task)
        }
    }
}

impl Machine {
    fn touch_end(&mut self, ts: Option<u64>) {
        self.end = self.end.max(ts.unwrap_or(0) * self.names.ns_per_ts.unwrap_or(1));
    }

    fn core(&mut self) -> &mut Core {
        self.cores.entry(self.core).or_default()
    }

    fn current(&mut self) -> Option<u32> {
        self.core().current
    }

    fn task(&mut self, task: u32) -> &mut Task {
        self.tasks.entry(task).or_default()
    }

    fn is_idle(&self, task: u32) -> bool {
        self.names.idle.contains(&task)
    }

    /// The number under which a task is shown.
    fn shown(&self, task: u32) -> u32 {
        if self.is_idle(task) { IDLE } else { task }
    }

    fn slice(&mut self, place: Place, begin: u64, end: u64, name: String) {
        self.picture.slices.entry(place).or_default().push((begin, end, name));
    }

    fn instant(&mut self, place: Place, ns: u64, name: String) {
        self.picture.instants.entry(place).or_default().push((ns, name));
    }

    fn value(&mut self, place: Place, ns: u64, value: i64) {
        self.picture.counters.entry(place).or_default().push((ns, value));
    }

    fn name_of_running(&mut self, is_value: bool, marker: u32, name: String) {
        if let Some(task) = self.current() {
            self.names.task_markers.entry((is_value, task, marker)).or_insert(name);
        }
    }

    fn event(&mut self, record: &Record<TextRef>, ns: u64, text: impl Fn(TextRef) -> String) {
        match *record {
            Record::TaskSwitchedIn { task_id, .. } => self.switched_in(task_id, ns),
            Record::TaskToRdyState { task_id, .. } | Record::TaskResumed { task_id, .. } => self.ready(task_id, false, ns),
            Record::TaskResumedFromIsr { task_id, .. } => self.ready(task_id, true, ns),
            Record::TaskSuspended { task_id, .. } => self.suspended(task_id, ns),
            Record::CurtaskDelay { .. } => self.about_to_wait("delay".into(), None),
            Record::CurtaskDelayUntil { .. } => self.about_to_wait("delay until".into(), None),
            Record::CurtaskBlockOnQueuePeek { queue_id, .. } => {
                self.about_to_wait(format!("peek {}", self.names.queue(queue_id)), Some(queue_id));
            }
            Record::CurtaskBlockOnQueueSend { queue_id, .. } => {
                let verb = if self.names.is_taken(queue_id) { "give" } else { "send" };
                self.about_to_wait(format!("{verb} {}", self.names.queue(queue_id)), Some(queue_id));
            }
            Record::CurtaskBlockOnQueueReceive { queue_id, .. } => {
                let verb = if self.names.is_taken(queue_id) { "take" } else { "receive" };
                self.about_to_wait(format!("{verb} {}", self.names.queue(queue_id)), Some(queue_id));
            }
            Record::TaskPrioritySet { task_id, priority, .. } => self.priority(task_id, priority, None, ns),
            Record::TaskPriorityInherit { task_id, priority, .. } => {
                self.priority(task_id, priority, Some("inherits priority"), ns);
            }
            Record::TaskPriorityDisinherit { task_id, priority, .. } => {
                self.priority(task_id, priority, Some("priority restored"), ns);
            }
            Record::TaskCreated { task_id, .. } => self.instant_of_task(task_id, ns, "created"),
            Record::TaskDeleted { task_id, .. } => self.deleted(task_id, ns),
            Record::IsrEnter { isr_id, .. } => self.core().isrs.push((isr_id, ns)),
            Record::IsrExit { isr_id, .. } => self.isr_exit(isr_id, ns),
            Record::QueueCreated { queue_id, .. } => _ = self.operation(queue_id, "create", false, ns),
            Record::QueueSend { queue_id, len_after, .. } => self.sent(queue_id, len_after, false, ns),
            Record::QueueSendFromIsr { queue_id, len_after, .. } => self.sent(queue_id, len_after, true, ns),
            Record::QueueReceive { queue_id, len_after, .. } => self.received(queue_id, len_after, false, ns),
            Record::QueueReceiveFromIsr { queue_id, len_after, .. } => self.received(queue_id, len_after, true, ns),
            Record::QueueReset { queue_id, .. } => {
                self.operation(queue_id, "reset", false, ns);
                self.queues.entry(queue_id).or_default().items.clear();
                self.level(queue_id, 0, ns);
            }
            Record::QueueCurLength { queue_id, length, .. } => {
                let items = &mut self.queues.entry(queue_id).or_default().items;
                items.clear();
                items.resize(length as usize, None);
                self.level(queue_id, length, ns);
            }
            Record::Evtmarker { evtmarker_id, msg, .. } => {
                let name = self.names.marker(false, evtmarker_id);
                self.instant(Place::Marker(name.clone()), ns, or(text(msg), name));
            }
            Record::EvtmarkerBegin { evtmarker_id, msg, .. } => {
                let name = or(text(msg), self.names.marker(false, evtmarker_id));
                self.spans.entry(evtmarker_id).or_default().push((ns, name));
            }
            Record::EvtmarkerEnd { evtmarker_id, .. } => {
                if let Some((begin, name)) = self.spans.entry(evtmarker_id).or_default().pop() {
                    self.slice(Place::Marker(self.names.marker(false, evtmarker_id)), begin, ns, name);
                }
            }
            Record::Valmarker { valmarker_id, val, .. } => {
                self.value(Place::Value(self.names.marker(true, valmarker_id)), ns, val);
            }
            Record::TaskEvtmarker { evtmarker_id, msg, .. } => {
                if let Some(task) = self.current() {
                    let name = or(text(msg), self.names.task_marker(false, task, evtmarker_id));
                    self.instant(Place::Thread(task), ns, name);
                }
            }
            Record::TaskEvtmarkerBegin { evtmarker_id, msg, .. } => {
                if let Some(task) = self.current() {
                    let name = or(text(msg), self.names.task_marker(false, task, evtmarker_id));
                    self.task(task).spans.push((evtmarker_id, ns, name));
                }
            }
            Record::TaskEvtmarkerEnd { evtmarker_id, .. } => {
                if let Some(task) = self.current()
                    && let Some((marker, begin, name)) = self.task(task).spans.pop()
                {
                    assert_eq!(marker, evtmarker_id, "spans of task {task} overlap at {ns}");
                    self.slice(Place::Thread(task), begin, ns, name);
                }
            }
            Record::TaskValmarker { valmarker_id, val, .. } => {
                if let Some(task) = self.current() {
                    let name = self.names.task_marker(true, task, valmarker_id);
                    self.value(Place::ValueOfTask(task, name), ns, val);
                }
            }
            Record::DroppedEvtCnt { cnt, .. } => assert_eq!(cnt, 0, "the capture is not whole"),
            _ => panic!("{record:?} is not expected here"),
        }
    }

    fn switched_in(&mut self, task: u32, ns: u64) {
        let core = self.core;
        let before = self.core().current.replace(task);
        self.core().untraced_isr = false;
        if before == Some(task) {
            self.task(task).leaving = None;
            return;
        }
        let next = self.shown(task);
        let left = before.map_or(Some(0), |before| self.left(before, ns));
        let switches = self.picture.switches.entry(core).or_default();
        if switches.is_empty() {
            // The viewer swallows the first switch, so one to no task comes before.
            switches.push(Switch { ns, left: Some(0), next: IDLE });
        }
        switches.push(Switch { ns, left, next });
        self.stop_waiting(task, ns);
        if let Some((_, row_core, row)) = self.task(task).undecided.take() {
            self.picture.switches.entry(row_core).or_default()[row].left = Some(0);
        }
        let task = self.task(task);
        task.running = true;
        task.ready = false;
        task.leaving = None;
        task.last_core = Some(core);
    }

    /// A task leaves the core: in which state, if that can be said yet.
    fn left(&mut self, task: u32, ns: u64) -> Option<i64> {
        let core = self.core;
        let row = self.picture.switches.get(&core).map_or(0, Vec::len);
        let is_idle = self.is_idle(task);
        let state = self.task(task);
        state.running = false;
        match state.leaving.take() {
            Some(Leaving::Wait { name, queue }) => {
                state.waits = Some((ns, name, queue));
                Some(1)
            }
            Some(Leaving::Suspended) => {
                state.waits = Some((ns, "suspended".into(), None));
                Some(4)
            }
            Some(Leaving::Deleted) => {
                self.close_spans(task, ns);
                Some(16)
            }
            None if is_idle => {
                state.ready = true;
                Some(0)
            }
            None => {
                state.undecided = Some((ns, core, row));
                None
            }
        }
    }

    fn about_to_wait(&mut self, name: String, queue: Option<u32>) {
        if let Some(task) = self.current() {
            self.task(task).leaving = Some(Leaving::Wait { name, queue });
        }
    }

    fn stop_waiting(&mut self, task: u32, ns: u64) {
        if let Some((begin, name, _)) = self.task(task).waits.take()
            && !self.is_idle(task)
        {
            self.slice(Place::Thread(task), begin, ns, name);
        }
    }

    fn ready(&mut self, task: u32, is_from_isr: bool, ns: u64) {
        let core = self.core;
        if self.task(task).running {
            if !matches!(self.task(task).leaving, Some(Leaving::Deleted)) {
                self.task(task).leaving = None;
            }
            return;
        }
        if std::mem::replace(&mut self.task(task).ready, true) {
            return;
        }
        if let Some((left, row_core, row)) = self.task(task).undecided.take() {
            self.picture.switches.entry(row_core).or_default()[row].left = Some(1);
            self.slice(Place::Thread(task), left, ns, "wait".into());
        }
        self.stop_waiting(task, ns);
        let in_irq = is_from_isr || !self.core().isrs.is_empty() || self.core().untraced_isr;
        let target_core = self.task(task).last_core.unwrap_or(core);
        if self.picture.switches.contains_key(&core) && !self.is_idle(task) {
            self.picture.wakings.entry(core).or_default().push(Waking { ns, task, in_irq, target_core });
        }
    }

    fn suspended(&mut self, task: u32, ns: u64) {
        if self.task(task).running {
            self.task(task).leaving = Some(Leaving::Suspended);
            return;
        }
        if self.task(task).waits.as_ref().is_some_and(|(_, name, _)| name == "suspended") {
            return;
        }
        if let Some((_, row_core, row)) = self.task(task).undecided.take() {
            self.picture.switches.entry(row_core).or_default()[row].left = Some(0);
        }
        self.stop_waiting(task, ns);
        self.task(task).ready = false;
        self.task(task).waits = Some((ns, "suspended".into(), None));
    }

    fn deleted(&mut self, task: u32, ns: u64) {
        self.instant_of_task(task, ns, "deleted");
        if self.task(task).running {
            self.task(task).leaving = Some(Leaving::Deleted);
            return;
        }
        if let Some((_, row_core, row)) = self.task(task).undecided.take() {
            self.picture.switches.entry(row_core).or_default()[row].left = Some(0);
        }
        self.stop_waiting(task, ns);
        self.close_spans(task, ns);
        self.task(task).ready = false;
    }

    fn close_spans(&mut self, task: u32, ns: u64) {
        for (_, begin, name) in std::mem::take(&mut self.task(task).spans) {
            self.slice(Place::Thread(task), begin, ns, name);
        }
    }

    fn instant_of_task(&mut self, task: u32, ns: u64, name: &str) {
        if !self.is_idle(task) {
            self.instant(Place::Thread(task), ns, name.into());
        }
    }

    fn priority(&mut self, task: u32, priority: u32, name: Option<&str>, ns: u64) {
        let before = self.task(task).priority.replace(priority);
        if before != Some(priority) && !self.is_idle(task) {
            self.value(Place::Priority(task), ns, i64::from(priority));
        }
        if let Some(name) = name {
            self.instant_of_task(task, ns, name);
        }
    }

    fn isr_exit(&mut self, isr: u32, ns: u64) {
        let place = self.names.isr_place(self.core, isr);
        match self.core().isrs.pop() {
            Some((entered, begin)) => {
                assert_eq!(entered, isr, "interrupts that do not nest at {ns}");
                let name = self.names.isr(self.core, isr);
                self.slice(place, begin, ns, name);
            }
            None => self.instant(place, ns, "exit without enter".into()),
        }
    }

    /// An operation on a queue, as an instant on its task or interrupt. Returns whether that is known.
    fn operation(&mut self, queue: u32, verb: &str, is_from_isr: bool, ns: u64) -> bool {
        let core = self.core;
        let isr = self.core().isrs.last().map(|&(isr, _)| isr);
        self.core().untraced_isr = is_from_isr && isr.is_none();
        let current = self.current();
        let place = match (isr, current) {
            (Some(isr), _) => self.names.isr_place(core, isr),
            (None, _) if is_from_isr => self.names.on_core("untraced", core),
            (None, Some(task)) if !self.is_idle(task) => Place::Thread(task),
            _ => return false,
        };
        self.instant(place, ns, format!("{verb} {}", self.names.queue(queue)));
        true
    }

    fn sent(&mut self, queue: u32, len_after: u32, is_from_isr: bool, ns: u64) {
        if self.names.is_mutex(queue) {
            return self.mutex_given(queue, is_from_isr, ns);
        }
        let verb = if self.names.is_taken(queue) { "give" } else { "send" };
        let is_seen = self.operation(queue, verb, is_from_isr, ns);
        let is_mailbox = self.names.mailboxes.contains(&queue) && !self.names.is_taken(queue);
        let level = if is_mailbox { len_after.min(1) } else { len_after };
        let items = &mut self.queues.entry(queue).or_default().items;
        set_count(items, level.saturating_sub(1));
        items.push_back(is_seen.then_some(ns));
        self.level(queue, level, ns);
    }

    fn received(&mut self, queue: u32, len_after: u32, is_from_isr: bool, ns: u64) {
        if self.names.is_mutex(queue) {
            return self.mutex_taken(queue, is_from_isr, ns);
        }
        let verb = if self.names.is_taken(queue) { "take" } else { "receive" };
        let is_seen = self.operation(queue, verb, is_from_isr, ns);
        let items = &mut self.queues.entry(queue).or_default().items;
        set_count(items, len_after + 1);
        if let Some(Some(sent)) = items.pop_front()
            && is_seen
        {
            self.picture.flows.push((sent, ns, self.names.queue(queue)));
        }
        self.level(queue, len_after, ns);
    }

    /// A level is shown where it changes.
    fn level(&mut self, queue: u32, level: u32, ns: u64) {
        let before = self.queues.entry(queue).or_default().level.replace(level);
        if before != Some(level) && !self.names.is_mutex(queue) {
            self.value(Place::Object(queue, self.names.queue(queue)), ns, i64::from(level));
        }
    }

    fn mutex_taken(&mut self, queue: u32, is_from_isr: bool, ns: u64) {
        let isr = self.core().isrs.is_empty();
        self.core().untraced_isr = is_from_isr && isr;
        self.close_held(queue, ns);
        let by = self.current();
        let state = self.queues.entry(queue).or_default();
        state.held = Some((ns, by));
        if let Some((given, from)) = state.handed_over.take()
            && from != by
        {
            self.picture.flows.push((given, ns, self.names.queue(queue)));
        }
    }

    fn mutex_given(&mut self, queue: u32, is_from_isr: bool, ns: u64) {
        let isr = self.core().isrs.is_empty();
        self.core().untraced_isr = is_from_isr && isr;
        let is_wanted = self.tasks.values().any(|task| matches!(task.waits, Some((_, _, Some(waits_for))) if waits_for == queue));
        let held = self.queues.entry(queue).or_default().held;
        self.close_held(queue, ns);
        if let Some((_, by)) = held {
            self.queues.entry(queue).or_default().handed_over = is_wanted.then_some((ns, by));
        }
    }

    fn close_held(&mut self, queue: u32, ns: u64) {
        if let Some((begin, by)) = self.queues.entry(queue).or_default().held.take() {
            let name = by.map_or("held".to_owned(), |by| format!("held by {}", self.names.task(by)));
            self.slice(Place::Object(queue, self.names.queue(queue)), begin, ns, name);
        }
    }

    /// Everything open ends with the capture.
    fn finish(mut self) -> Picture {
        let end = self.end;
        for task in self.tasks.keys().copied().collect::<Vec<u32>>() {
            self.stop_waiting(task, end);
            self.close_spans(task, end);
            if let Some((left, ..)) = self.task(task).undecided {
                self.picture.open_questions.push((Place::Thread(task), left));
            }
        }
        for queue in self.queues.keys().copied().collect::<Vec<u32>>() {
            self.close_held(queue, end);
        }
        for (marker, spans) in std::mem::take(&mut self.spans) {
            for (begin, name) in spans {
                self.slice(Place::Marker(self.names.marker(false, marker)), begin, end, name);
            }
        }
        for (number, core) in std::mem::take(&mut self.cores) {
            for (isr, begin) in core.isrs {
                self.slice(self.names.isr_place(number, isr), begin, end, self.names.isr(number, isr));
            }
            if core.current.is_some() {
                let switches = self.picture.switches.entry(number).or_default();
                switches.push(Switch { ns: end, left: Some(0), next: IDLE });
            }
        }
        self.picture
    }
}

fn or(text: String, name: String) -> String {
    if text.is_empty() { name } else { text }
}

/// The capture records the number of items: items without a known send are older, missing ones were received.
fn set_count(items: &mut VecDeque<Option<u64>>, count: u32) {
    while items.len() > count as usize {
        items.pop_front();
    }
    while items.len() < count as usize {
        items.push_front(None);
    }
}
