//! The things a firmware consists of: tasks, interrupts, objects and lanes, each with a small handle.
//!
//! Handles are dense indexes, so every later stage keeps its state in plain vectors. Resolvers map the ids of their wire format
//! to handles.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::{Arg, ArgValue};

/// What a thing without a name is called. Where things have addresses instead of numbers, arguments show them in hex, too.
#[must_use]
pub fn numbered(noun: &str, number: u32) -> String {
    if number < 1 << 16 { format!("{noun} #{number}") } else { format!("{noun} {number:#x}") }
}

macro_rules! handle {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub u32);

        impl $name {
            /// The handle as a vector index.
            #[inline]
            #[must_use]
            pub fn index(self) -> usize {
                self.0 as usize
            }
        }
    };
}

handle!(
    /// One life of a task: a task id used again after a deletion, or after a reset, is another `TaskId`.
    TaskId
);
handle!(
    /// An interrupt on one core.
    IsrId
);
handle!(
    /// A kernel object: queue, semaphore, mutex, …
    ObjectId
);
handle!(
    /// A place for spans, instants or values of one kind: an event marker, a value marker.
    LaneId
);

handle!(
    /// A state machine or active object.
    MachineId
);
handle!(
    /// A name known for the whole conversion: of a signal, a function, an argument, or a format string.
    NameId
);
handle!(
    /// A group of lanes.
    GroupId
);
handle!(
    /// A place in the firmware's source code.
    SourceId
);
handle!(
    /// The common properties of log messages.
    GradeId
);

/// A processor core of the target, counted from 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CoreId(pub u16);

impl CoreId {
    /// The core number as a vector index.
    #[inline]
    #[must_use]
    pub fn index(self) -> usize {
        usize::from(self.0)
    }
}

/// The scheduler's role of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TaskKind {
    /// An application task.
    Normal,
    /// The idle task of a core: drawn as "nothing runs".
    Idle,
    /// The kernel's timer service task.
    TimerService,
}

/// One life of a task.
#[derive(Clone, Debug)]
pub struct Task {
    /// The id the target uses.
    pub number: u32,
    /// Its name, if recorded.
    pub name: Option<Arc<str>>,
    /// Its role.
    pub kind: TaskKind,
    /// The target session (counted from 0) it lived in.
    pub session: u32,
    /// Which of its waits are recorded.
    pub waits: RecordedWaits,
}

/// Which waits of a task are recorded. This decides on its state when it leaves its core without a reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RecordedWaits {
    /// Their ends, when tasks become ready: the task waited if it is made ready before it runs again.
    #[default]
    Ends,
    /// Each of them: the task is ready.
    All,
    /// Nothing: the task may be ready or may wait.
    Nothing,
}

/// An interrupt on one core.
#[derive(Clone, Debug)]
pub struct Isr {
    /// The id the target uses (often the exception number).
    pub number: u32,
    /// Its name, if recorded.
    pub name: Option<Arc<str>>,
    /// The core it runs on.
    pub core: CoreId,
    /// The target session it belongs to.
    pub session: u32,
}

/// The kind of a kernel object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ObjectKind {
    /// Not recorded; drawn as a queue.
    Unknown,
    /// A message queue (also a mailbox).
    Queue,
    /// A semaphore that counts.
    CountingSemaphore,
    /// A semaphore that is free or taken.
    BinarySemaphore,
    /// A mutex.
    Mutex,
    /// A mutex that its holder may take again.
    RecursiveMutex,
    /// A set of queues and semaphores.
    QueueSet,
    /// A stream or message buffer; the capture does not say which.
    Stream,
    /// A buffer of bytes without boundaries.
    StreamBuffer,
    /// A buffer of messages of any length.
    MessageBuffer,
    /// A stream buffer whose reader waits for a whole batch.
    BatchingBuffer,
    /// A set of bits that tasks wait for.
    EventGroup,
    /// A software timer.
    Timer,
    /// Memory in blocks, or of which blocks of any size are taken.
    MemoryPool,
}

impl ObjectKind {
    /// Whether a task *holds* this object between take and give.
    #[must_use]
    pub fn is_mutex(self) -> bool {
        matches!(self, ObjectKind::Mutex | ObjectKind::RecursiveMutex)
    }

    /// Whether operations on it are called take and give, not receive and send.
    #[must_use]
    pub fn is_taken(self) -> bool {
        use ObjectKind::{BinarySemaphore, CountingSemaphore, MemoryPool};
        self.is_mutex() || matches!(self, CountingSemaphore | BinarySemaphore | MemoryPool)
    }

    /// Whether it has a level of items, bytes or permits. A mutex has a holder, an event group has bits.
    #[must_use]
    pub fn has_level(self) -> bool {
        !self.is_mutex() && !matches!(self, ObjectKind::EventGroup | ObjectKind::Timer)
    }

    /// Whether it holds bytes, not items.
    #[must_use]
    pub fn is_stream(self) -> bool {
        use ObjectKind::{BatchingBuffer, MessageBuffer, Stream, StreamBuffer};
        matches!(self, Stream | StreamBuffer | MessageBuffer | BatchingBuffer)
    }

    /// The field's word for it, in lower case.
    #[must_use]
    pub fn noun(self) -> &'static str {
        match self {
            ObjectKind::Unknown | ObjectKind::Queue => "queue",
            ObjectKind::CountingSemaphore => "counting semaphore",
            ObjectKind::BinarySemaphore => "binary semaphore",
            ObjectKind::Mutex => "mutex",
            ObjectKind::RecursiveMutex => "recursive mutex",
            ObjectKind::QueueSet => "queue set",
            ObjectKind::Stream => "stream or message buffer",
            ObjectKind::StreamBuffer => "stream buffer",
            ObjectKind::MessageBuffer => "message buffer",
            ObjectKind::BatchingBuffer => "batching buffer",
            ObjectKind::EventGroup => "event group",
            ObjectKind::Timer => "timer",
            ObjectKind::MemoryPool => "memory pool",
        }
    }
}

/// A kernel object.
#[derive(Clone, Debug)]
pub struct Object {
    /// The id the target uses.
    pub number: u32,
    /// Its name, if recorded.
    pub name: Option<Arc<str>>,
    /// Its kind.
    pub kind: ObjectKind,
    /// The target session it belongs to.
    pub session: u32,
    /// Whether the recording never reports that something is given to an object: then it is unknown how long a mutex is held.
    pub giving_is_unrecorded: bool,
}

/// The owner of a lane. It decides where the lane is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LaneOwner {
    /// The firmware as a whole.
    Firmware,
    /// One task: its spans nest on the task's own track.
    Task(TaskId),
    /// A group that the format made.
    Group(GroupId),
}

/// A group of lanes, for things that are neither a task nor the firmware as a whole: a logging client, an active object.
#[derive(Clone, Debug)]
pub struct Group {
    /// Its name.
    pub name: Arc<str>,
    /// The group it is in; `None`: the firmware.
    pub parent: Option<GroupId>,
    /// Its description, for the viewer's help.
    pub description: Option<Arc<str>>,
    /// Its place among its siblings, lowest first.
    pub rank: u32,
    /// Whether it is drawn as a process of its own, beside the firmware. Then it has no parent.
    pub is_process: bool,
    /// The target session (counted from 0) it belongs to.
    pub session: u32,
}

/// A place in the firmware's source code.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Source {
    /// The file's name, as recorded by the build.
    pub file: Arc<str>,
    /// The function's name, if known.
    pub function: Option<Arc<str>>,
    /// The line, counted from 1; 0: not known.
    pub line: u32,
}

/// Facts about a target session as a whole.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Session {
    /// The operating system or framework, shown beside the firmware's name: `QP/C 8.1.2`.
    pub name: Option<Arc<str>>,
    /// Facts about it, by name: version, clock, build.
    pub details: Vec<(Arc<str>, Arc<str>)>,
    /// The order of its tasks' priorities.
    pub priorities: PriorityOrder,
}

/// Which numbers are high priorities. It depends on the operating system.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PriorityOrder {
    /// Large ones: FreeRTOS, embOS.
    #[default]
    Ascending,
    /// Small ones, perhaps negative: ThreadX, Zephyr.
    Descending,
    /// It is not known. Tasks are listed as if it were ascending.
    Unknown,
}

impl PriorityOrder {
    /// A number that is the larger the higher the priority is.
    #[must_use]
    pub fn urgency(self, priority: i32) -> i64 {
        let number = i64::from(priority);
        if self == PriorityOrder::Descending { -number } else { number }
    }

    /// Whether one priority is known to be lower than another.
    #[must_use]
    pub fn is_lower(self, one: Option<i32>, other: Option<i32>) -> bool {
        self != PriorityOrder::Unknown && one.zip(other).is_some_and(|(one, other)| self.urgency(one) < self.urgency(other))
    }
}

/// The content of a lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LaneKind {
    /// Spans and instants.
    Events,
    /// Spans, instants and log messages. A lane kind of its own because the viewer's log knows threads only: it is drawn as a
    /// thread.
    Log,
    /// Values over time.
    Values,
    /// States, one at a time.
    States,
}

/// A place for spans and instants, or for the values of one quantity.
#[derive(Clone, Debug)]
pub struct Lane {
    /// The id the target uses.
    pub number: u32,
    /// Its name, if recorded.
    pub name: Option<Arc<str>>,
    /// Its owner.
    pub owner: LaneOwner,
    /// Its content.
    pub kind: LaneKind,
    /// The target session it belongs to.
    pub session: u32,
}

/// Properties that many log messages share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogGrade {
    /// The name of the severity.
    pub name: NameId,
    /// The severity in the terms of the format.
    pub severity: NameId,
    /// The category.
    pub category: NameId,
}

impl LogGrade {
    /// The same as args, in their order.
    #[must_use]
    pub fn args(self) -> [Arg; 2] {
        let severity = Arg::new(self.name, ArgValue::Name(self.severity));
        [severity, Arg::new(self.category, ArgValue::Category(self.category))]
    }
}

/// Every entity found so far. Grows with the firmware, not with the length of the capture.
#[derive(Debug, Default)]
pub struct Entities {
    /// By [`TaskId`].
    pub tasks: Vec<Task>,
    /// By [`IsrId`].
    pub isrs: Vec<Isr>,
    /// By [`ObjectId`].
    pub objects: Vec<Object>,
    /// By [`LaneId`].
    pub lanes: Vec<Lane>,
    /// By [`GroupId`]. A group comes after the one that it is in.
    pub groups: Vec<Group>,
    /// By [`MachineId`].
    pub machines: Vec<super::Machine>,
    /// By [`SourceId`].
    pub sources: Vec<Source>,
    /// By [`NameId`]. All different.
    pub names: Vec<Arc<str>>,
    /// By [`GradeId`].
    pub grades: Vec<LogGrade>,
    /// By session number. A missing one has no known facts.
    pub sessions: Vec<Session>,
    /// The index of each name in `names`.
    name_ids: FxHashMap<Arc<str>, NameId>,
    /// The index of each place in `sources`.
    source_ids: FxHashMap<Source, SourceId>,
    /// By [`FunctionId`](super::FunctionId).
    pub functions: Vec<super::Function>,
    /// By [`CodeId`](super::CodeId).
    pub codes: Vec<super::SampledCode>,
}

impl Entities {
    /// The order of priorities in a task's session.
    #[inline]
    #[must_use]
    pub fn priority_order(&self, task: TaskId) -> PriorityOrder {
        let session = self.tasks.get(task.index()).and_then(|task| self.sessions.get(task.session as usize));
        session.map_or(PriorityOrder::default(), |session| session.priorities)
    }

    /// Describes a session. Those before it that are not described yet have no known facts.
    pub fn describe_session(&mut self, number: u32, session: Session) {
        let index = number as usize;
        if self.sessions.len() <= index {
            self.sessions.resize(index + 1, Session::default());
        }
        self.sessions[index] = session;
    }

    /// Limit of entities of one kind in a capture. A healthy firmware has hundreds. A damaged or hostile capture can name a new
    /// one in every frame, and must not exhaust the memory.
    pub const LIMIT_PER_KIND: usize = 1 << 16;

    /// Adds a task; `None` at the limit.
    pub fn add_task(&mut self, task: Task) -> Option<TaskId> {
        add(&mut self.tasks, task).map(TaskId)
    }

    /// Adds an interrupt; `None` at the limit.
    pub fn add_isr(&mut self, isr: Isr) -> Option<IsrId> {
        add(&mut self.isrs, isr).map(IsrId)
    }

    /// Adds an object; `None` at the limit.
    pub fn add_object(&mut self, object: Object) -> Option<ObjectId> {
        add(&mut self.objects, object).map(ObjectId)
    }

    /// Adds a lane; `None` at the limit.
    pub fn add_lane(&mut self, lane: Lane) -> Option<LaneId> {
        add(&mut self.lanes, lane).map(LaneId)
    }

    /// Adds a state machine; `None` at the limit.
    pub fn add_machine(&mut self, machine: super::Machine) -> Option<MachineId> {
        add(&mut self.machines, machine).map(MachineId)
    }

    /// Adds a group; `None` at the limit.
    pub fn add_group(&mut self, group: Group) -> Option<GroupId> {
        add(&mut self.groups, group).map(GroupId)
    }

    /// Adds common properties of log messages; `None` at the limit.
    pub fn add_grade(&mut self, grade: LogGrade) -> Option<GradeId> {
        add(&mut self.grades, grade).map(GradeId)
    }

    /// The handle of a name, which is added if it is new; `None` at the limit. For names whose number does not grow with the
    /// length of a healthy capture; resolvers keep the handles, as this is a look-up by text.
    pub fn add_name(&mut self, name: &str) -> Option<NameId> {
        if let Some(&id) = self.name_ids.get(name) {
            return Some(id);
        }
        let name: Arc<str> = name.into();
        let id = add(&mut self.names, name.clone()).map(NameId)?;
        self.name_ids.insert(name, id);
        Some(id)
    }

    /// The handle of a place in the source code, which is added if it is new; `None` at the limit.
    pub fn add_source(&mut self, source: Source) -> Option<SourceId> {
        if let Some(&id) = self.source_ids.get(&source) {
            return Some(id);
        }
        let id = add(&mut self.sources, source.clone()).map(SourceId)?;
        self.source_ids.insert(source, id);
        Some(id)
    }
}

impl Entities {
    /// The number of entities of each kind.
    pub fn counts(&self) -> EntityCounts {
        [
            self.tasks.len(),
            self.isrs.len(),
            self.objects.len(),
            self.lanes.len(),
            self.groups.len(),
            self.machines.len(),
            self.sources.len(),
            self.names.len(),
            self.grades.len(),
            self.sessions.len(),
            self.functions.len(),
            self.codes.len(),
        ]
    }

    /// Adds the first entities of `newer`, up to `counts`, as far as they are not here yet. Entities never change once added, so afterwards
    /// both have the same. Only names and places cannot be looked up here.
    pub fn extend_from(&mut self, newer: &Entities, counts: &EntityCounts) {
        let [tasks, isrs, objects, lanes, groups, machines, sources, names, grades, sessions, functions, codes] = *counts;
        extend(&mut self.tasks, &newer.tasks, tasks);
        extend(&mut self.isrs, &newer.isrs, isrs);
        extend(&mut self.objects, &newer.objects, objects);
        extend(&mut self.lanes, &newer.lanes, lanes);
        extend(&mut self.groups, &newer.groups, groups);
        extend(&mut self.machines, &newer.machines, machines);
        extend(&mut self.sources, &newer.sources, sources);
        extend(&mut self.names, &newer.names, names);
        extend(&mut self.grades, &newer.grades, grades);
        extend(&mut self.sessions, &newer.sessions, sessions);
        extend(&mut self.functions, &newer.functions, functions);
        extend(&mut self.codes, &newer.codes, codes);
    }
}

/// The number of entities of each kind, see [`Entities::counts`].
pub type EntityCounts = [usize; 12];

fn extend<T: Clone>(list: &mut Vec<T>, newer: &[T], count: usize) {
    list.extend_from_slice(newer.get(list.len()..count).unwrap_or(&[]));
}

fn add<T>(list: &mut Vec<T>, item: T) -> Option<u32> {
    if list.len() >= Entities::LIMIT_PER_KIND {
        return None;
    }
    list.push(item);
    u32::try_from(list.len() - 1).ok()
}
