//! Events → track operations. All state machines are here, once, shared by every format.
//!
//! - [`tasks`]: running, ready and waiting tasks, and their wakers;
//! - [`isrs`]: interrupts, nested and re-entered;
//! - [`objects`]: levels, holders, and the flows from send to receive;
//! - [`streams`], [`bits`], [`timers`]: stream buffers, event groups and software timers;
//! - [`machines`]: state machines and active objects: steps, states, queues, flows of events;
//! - [`notify`]: notifications from task to task;
//! - [`memory`]: heap and stacks;
//! - [`initial`]: states that began before the capture did;
//! - [`lanes`]: spans, instants, states, values and log messages of lanes; [`annotations`]: their labels and args;
//! - [`calls`]: completed calls of functions, nested;
//! - [`samples`]: samples of the code that runs;
//! - [`gaps`]: losses, resets and the end, where everything open is closed and marked;
//! - [`raw_events`]: every event as an instant;
//! - [`layout`]: the tracks and their groups; [`numbers`]: numbers that are unique in a trace.
//!
//! Unknown states are not drawn: before the first event, and after a gap, a task has no state until an event reports one.

mod annotations;
mod bits;
mod calls;
mod clip;
mod gaps;
mod initial;
mod isrs;
mod lanes;
mod layout;
mod machines;
mod memory;
mod notify;
mod numbers;
mod objects;
mod raw_events;
mod samples;
mod sched;
mod streams;
mod tasks;
mod timers;
mod writer;

#[cfg(test)]
mod tests;

pub use numbers::Numbers;

use rustc_hash::FxHashMap;

use crate::model::{
    Args, CoreId, Entities, EventBatch, EventKind, Label, MachineId, Nanos, ObjectId, ObjectKind, Session, TaskId, WaitReason,
};
use crate::track::{Block, Track, TrackId};
use annotations::Annotations;
use calls::{CallWords, CoreCalls, DrawnFunction, EndedCall};
use clip::Clip;
use isrs::IsrState;
use lanes::LaneState;
use layout::Layout;
use machines::{MachineState, MachineWords};
use memory::HeapState;
use notify::Notification;
use objects::ObjectState;
use sched::CoreRows;
use streams::Moved;
use tasks::TaskState;
use writer::{Name, Writer};

/// The time and core of an event, and the entities that it refers to.
#[derive(Clone, Copy)]
struct At<'a> {
    time_ns: u64,
    core: CoreId,
    entities: &'a Entities,
}

impl At<'_> {
    /// The same core and entities at another time.
    fn at_time(self, time_ns: u64) -> Self {
        At { time_ns, ..self }
    }
}

/// Settings of the drawing.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The name of the firmware's group.
    pub firmware_name: String,
    /// Number of cores. With one core, tracks need not name it.
    pub cores: u16,
    /// Whether operations on objects are drawn as instants, with their flows.
    pub operations: bool,
    /// Whether every event is also drawn as an instant on a track of its core.
    pub raw_events: bool,
    /// Whether the capture may begin within spans and interrupts. The first end of each then needs no begin.
    pub begins_midway: bool,
    /// The time range to write (both ends belong to it), in nanoseconds.
    pub range_ns: Option<(u64, u64)>,
}

/// Turns events into blocks of track operations.
pub struct Timeline {
    settings: Settings,
    writer: Writer,
    words: Words,
    layout: Layout,
    /// The time of the last event.
    now_ns: u64,
    /// The end of the last loss.
    gap_end_ns: u64,
    /// Since when records of one recording are missing.
    missing_since_ns: Option<u64>,
    session: u32,
    cores: Vec<CoreState>,
    tasks: Vec<TaskState>,
    isrs: Vec<IsrState>,
    objects: Vec<ObjectState>,
    /// The kind that the name of a track of objects stands for.
    object_names: FxHashMap<(TrackId, String), ObjectKind>,
    lanes: Vec<LaneState>,
    /// Tracks of groups, with the process id of those that are processes.
    groups: Vec<Option<(TrackId, Option<i32>)>>,
    /// The names of the model that were used.
    names: Vec<annotations::KnownName>,
    grades: Vec<annotations::KnownGrade>,
    machines: Vec<MachineState>,
    machine_names: Vec<Option<Name>>,
    /// The machines that were drawn, and their parent track.
    machine_parents: Vec<(MachineId, TrackId)>,
    machine_words: MachineWords,
    sessions: Vec<Session>,
    /// Scratch memory for the annotations of one event. By function, once used.
    functions: Vec<Option<DrawnFunction>>,
    call_words: CallWords,
    heap: HeapState,
    /// Entities with open slices: visited, and emptied, at a gap.
    touched: Touched,
    /// Names of the slices of tasks that wait for no object, by reason.
    wait_names: [Option<Name>; WaitReason::COUNT],
    /// Tasks off their core without a stated reason.
    undecided: Vec<TaskId>,
    counts: Counts,
}

/// Counts of records that could not be matched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Interrupt exits without an enter.
    pub unmatched_isr_exits: u64,
    /// Interrupts whose exit is missing, known from the exit of a handler below.
    pub missing_isr_exits: u64,
    /// Ends of spans that never began.
    pub unmatched_span_ends: u64,
    /// Spans nested deeper than the viewer shows; they are not drawn.
    pub too_deep_spans: u64,
    /// Calls whose callers are missing.
    pub orphan_calls: u64,
    /// Calls that overlap others without lying within them.
    pub overlapping_calls: u64,
    /// Calls that were not drawn.
    pub undrawn_calls: u64,
}

/// Entities with open slices.
#[derive(Default)]
struct Touched {
    tasks: Vec<TaskId>,
    objects: Vec<ObjectId>,
    lanes: Vec<crate::model::LaneId>,
    machines: Vec<MachineId>,
}

/// One core.
#[derive(Default)]
struct CoreState {
    current: Option<TaskId>,
    isr_stack: Vec<crate::model::IsrId>,
    rows: CoreRows,
    calls: CoreCalls,
    /// The last event was an operation from an interrupt that is not traced itself.
    untraced_isr: bool,
    untraced_isr_track: Option<TrackId>,
    raw_track: Option<TrackId>,
    raw_last: raw_events::RawLast,
    /// The thread of samples without a task: session, process, thread.
    sampled: Option<(u32, i32, i32)>,
}

/// Names that the timeline uses again and again: a field for each, with its text.
macro_rules! words {
    ($($field:ident: $text:literal,)*) => {
        struct Words {
            $($field: Name,)*
        }

        impl Words {
            fn new(writer: &mut Writer) -> Words {
                Words { $($field: writer.name($text),)* }
            }
        }
    };
}

words! {
    closed: "closed_by",
    end_of_trace: "end of trace",
    loss: "loss",
    reset: "target reset",
    continued: "continued",
    offset: "offset",
    bytes: "bytes",
    at_least_lost: "at_least_lost",
    ticks: "ticks",
    until_tick: "until_tick",
    timeout_ticks: "timeout_ticks",
    priority: "priority",
    marker: "marker",
    from: "from",
    wait_ns: "wait_ns",
    by: "by",
    wait: "wait",
    held: "held",
    suspended: "suspended",
    created: "created",
    deleted: "deleted",
    inherits_priority: "inherits priority",
    priority_restored: "priority restored",
    exit_without_enter: "exit without enter",
    idle: "idle",
    unknown: "unknown",
    bits: "bits",
    value: "value",
    index: "index",
    notified: "notified",
    address: "address",
    depth: "depth",
    malloc: "malloc",
    malloc_failed: "malloc failed",
    free: "free",
    armed: "armed",
    restarted: "restarted",
    expired: "expired",
    period_ticks: "period_ticks",
}

impl Timeline {
    /// An empty timeline.
    #[must_use]
    pub fn new(settings: Settings) -> Timeline {
        Timeline::continuing(settings, Numbers::default())
    }

    /// An empty timeline for a trace into which other recordings were drawn before.
    #[must_use]
    pub fn continuing(settings: Settings, numbers: Numbers) -> Timeline {
        let mut writer = Writer::new(settings.range_ns.map(|(from_ns, to_ns)| Clip::new(from_ns, to_ns)));
        writer.go_on_from(&numbers);
        let words = Words::new(&mut writer);
        let machine_words = MachineWords::new(&mut writer);
        let call_words = CallWords::new(&mut writer);
        Timeline {
            settings,
            writer,
            words,
            layout: Layout::new(numbers),
            now_ns: 0,
            gap_end_ns: 0,
            missing_since_ns: None,
            session: 0,
            cores: Vec::new(),
            tasks: Vec::new(),
            isrs: Vec::new(),
            objects: Vec::new(),
            object_names: FxHashMap::default(),
            lanes: Vec::new(),
            groups: Vec::new(),
            names: Vec::new(),
            grades: Vec::new(),
            sessions: Vec::new(),
            machines: Vec::new(),
            machine_names: Vec::new(),
            machine_parents: Vec::new(),
            machine_words,
            functions: Vec::new(),
            call_words,
            heap: HeapState::default(),
            touched: Touched::default(),
            wait_names: [None; WaitReason::COUNT],
            undecided: Vec::new(),
            counts: Counts::default(),
        }
    }

    /// Draws a batch. Its events come after those of the batches before.
    pub fn consume(&mut self, batch: &EventBatch, entities: &Entities) {
        self.tasks.resize_with(entities.tasks.len(), TaskState::default);
        self.isrs.resize_with(entities.isrs.len(), IsrState::default);
        self.objects.resize_with(entities.objects.len(), ObjectState::default);
        self.lanes.resize_with(entities.lanes.len(), LaneState::default);
        self.machines.resize_with(entities.machines.len(), MachineState::default);
        self.sessions.extend_from_slice(entities.sessions.get(self.sessions.len()..).unwrap_or(&[]));
        let annotations = |label: Label, args: Args| Annotations { label, args, batch };
        for event in &batch.events {
            let (time_ns, core) = (event.time.0, event.core);
            let at = &At { time_ns, core, entities };
            if core.index() >= self.cores.len() {
                self.cores.resize_with(core.index() + 1, CoreState::default);
            }
            if self.settings.raw_events {
                self.raw_event(event, batch, at);
            }
            match event.kind {
                EventKind::SwitchedIn(task) => self.switched_in(task, at),
                EventKind::Ready { task, from_isr } => self.ready(task, from_isr, at),
                EventKind::Relisted(task) => self.relisted(task, at),
                EventKind::Object { object, op, from_isr, level } => {
                    self.object_op(object, op, level, from_isr, at);
                }
                EventKind::Waiting(wait) => self.waiting(wait, core, time_ns),
                EventKind::IsrEnter(isr) => self.isr_enter(isr, at),
                EventKind::IsrExit(isr) => self.isr_exit(isr, at),
                EventKind::SpanBegin { lane, label, args } => self.span_begin(lane, annotations(label, args), at),
                EventKind::SpanEnd { lane, args } => self.span_end(lane, annotations(Label::NONE, args), at),
                EventKind::Instant { lane, label, args } => self.lane_instant(lane, annotations(label, args), at),
                EventKind::State { lane, label, args } => self.lane_state(lane, annotations(label, args), at),
                EventKind::Float { lane, value } => self.lane_float(lane, value.get(), at),
                EventKind::Log(index) => {
                    if let Some(note) = batch.logs.get(index as usize) {
                        self.log(note, batch, at);
                    }
                }
                EventKind::Value { lane, value } => self.lane_value(lane, value.get(), at),
                EventKind::Priority { task, priority, change } => self.priority(task, priority, change, at),
                EventKind::Suspended(task) => self.suspended(task, at),
                EventKind::Resumed { task, from_isr } => self.ready(task, from_isr, at),
                EventKind::TaskCreated(task) => self.task_created(task, at),
                EventKind::TaskDeleted(task) => self.task_deleted(task, at),
                EventKind::ObjectLevel { object, level } => self.object_level(object, level, at),
                EventKind::LateObjectLevel { object, level, since } => {
                    self.late_object_level(object, level, since.get(), at);
                }
                EventKind::Stream { object, op, from_isr, bytes, level } => {
                    let moved = Moved { object, op, bytes, level };
                    self.stream_op(moved, from_isr, at);
                }
                EventKind::Notify { task, index, value, from_isr } => {
                    self.notify(Notification { task, index, value }, from_isr, at);
                }
                EventKind::Notified { index, value } => self.notified(index, value, core, time_ns),
                EventKind::WaitingForNotification { index, kernel_ticks } => {
                    self.waiting_for_notification(index, kernel_ticks, core, time_ns)
                }
                EventKind::WaitingForBits { object, bits, kernel_ticks } => {
                    self.waiting_for_bits(object, bits, kernel_ticks, core, time_ns)
                }
                EventKind::Bits { object, op, bits, after } => self.bits_op(object, op, bits, after, at),
                EventKind::Timer { object, op, kernel_ticks } => self.timer_op(object, op, kernel_ticks, at),
                EventKind::Heap { op, address, bytes } => self.heap_op(op, address.get(), bytes, at),
                EventKind::StackFree { task, bytes } => self.stack_free(task, bytes, at),
                EventKind::TaskReported { task, state } => self.task_reported(task, state, at),
                // An object that is no mutex (or whose kind is unknown) has no holder to draw.
                EventKind::Holder { object, .. } | EventKind::Depth { object, .. }
                    if !entities.objects[object.index()].kind.is_mutex() => {}
                EventKind::Holder { object, task } => self.holder_reported(object, task, at),
                EventKind::Depth { object, depth } => self.mutex_depth(object, depth, at),
                EventKind::Capacity { object, items, item_bytes } => self.capacity_reported(object, items, item_bytes),
                // The format shows the failure on a lane of its own.
                EventKind::NotPosted { .. } => {}
                kind @ (EventKind::Posted { .. }
                | EventKind::Taken { .. }
                | EventKind::StepBegin { .. }
                | EventKind::StepEnd { .. }
                | EventKind::InState { .. }
                | EventKind::MachineNote { .. }
                | EventKind::Publish { .. }
                | EventKind::PublishEnd { .. }
                | EventKind::Preempted { .. }
                | EventKind::Unpreempted { .. }
                | EventKind::MachinePriority { .. }) => self.machine_event(kind, at),
                EventKind::Call { function, depth, is_hidden, begin, ended_before_ns } => {
                    let end_ns = time_ns.saturating_sub(u64::from(ended_before_ns));
                    let begin_ns = begin.get().min(end_ns);
                    self.call(EndedCall { function, depth, is_hidden, begin_ns, end_ns }, at);
                }
                EventKind::Sample(code) => self.sample(code, at),
                EventKind::CoreEnd => self.core_end(core, at),
                EventKind::Missing => self.missing(time_ns),
                EventKind::SessionStart(session) => self.session_start(session, time_ns),
                EventKind::Loss(index) => {
                    if let Some(note) = batch.losses.get(index as usize) {
                        self.gap(note, time_ns);
                    }
                }
                EventKind::RecorderNote(index) => {
                    if let Some(note) = batch.losses.get(index as usize) {
                        self.recorder_note(note, time_ns);
                    }
                }
            }
            self.now_ns = self.now_ns.max(time_ns);
            if self.writer.is_full() {
                self.seal();
            }
        }
    }

    /// The end of the capture: closes and marks everything that is open. Nothing may be consumed after it.
    pub fn finish(&mut self) {
        self.end();
        // While the time range is still in effect: rows that come after it must not be written.
        self.flush_rows();
        self.writer.finish_clip();
        self.writer.seal();
    }

    fn seal(&mut self) {
        self.flush_rows();
        self.writer.seal();
    }

    fn flush_rows(&mut self) {
        let first_cpu = self.layout.numbers.first_cpu();
        for (core, state) in self.cores.iter_mut().enumerate() {
            state.rows.flush(core as u16, first_cpu, &mut self.writer);
        }
    }

    /// The blocks finished since the last call, in order.
    pub fn take_blocks(&mut self) -> Vec<Block> {
        self.writer.take_sealed()
    }

    /// Gives back a block, for its memory.
    pub fn recycle(&mut self, block: Block) {
        self.writer.recycle(block);
    }

    /// The tracks that can be described only at the end: processes and threads, ranked by priority.
    #[must_use]
    pub fn late_tracks(&mut self, entities: &Entities) -> Vec<Track> {
        let mut tracks = self.describe_tasks(entities);
        self.describe_machines(entities, &mut tracks);
        tracks
    }

    /// The numbers in use, for the timeline of the next recording. Nothing may be drawn after it.
    #[must_use]
    pub fn into_numbers(mut self) -> Numbers {
        let mut numbers = std::mem::take(&mut self.layout.numbers);
        self.writer.leave_to(&mut numbers);
        let met = u16::try_from(self.cores.len()).unwrap_or(u16::MAX);
        numbers.end_recording(self.settings.cores.max(met), self.session.saturating_add(1));
        numbers
    }

    /// Counts of records that could not be matched so far.
    #[must_use]
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// The time of the last event.
    #[must_use]
    pub fn now(&self) -> Nanos {
        Nanos(self.now_ns)
    }

    #[inline]
    fn core(&mut self, core: CoreId) -> &mut CoreState {
        &mut self.cores[core.index()]
    }
}
