//! The content of a recording: its sessions, tasks, interrupts, objects and lanes, and the number of events of each kind.

use serde::Serialize;

use super::flow::read;
use super::{ConvertError, InputSummary, Options, Progress, Source};
use crate::model::{Entities, EventBatch, EventKind, LaneKind, LaneOwner, Nanos, TaskKind, numbered};

/// The result of [`survey`].
#[derive(Clone, Debug)]
pub struct Surveyed {
    /// One per source, in their order.
    pub inputs: Vec<InputSummary>,
    /// The content of the recording.
    pub contents: Contents,
}

/// The content of a recording. Names are those in the capture; an item without a name is called by its kind and number.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Contents {
    /// The number of events of each kind that occurs, in a fixed order of kinds.
    pub events: Vec<KindCount>,
    /// From one start of the target to the next.
    pub sessions: Vec<SessionContents>,
    /// The cores that have events.
    pub cores: Vec<CoreContents>,
    /// Each life of a task.
    pub tasks: Vec<TaskContents>,
    /// Each interrupt on a core.
    pub interrupts: Vec<InterruptContents>,
    /// Kernel objects.
    pub objects: Vec<ObjectContents>,
    /// State machines and active objects.
    pub machines: Vec<MachineContents>,
    /// Groups of lanes, e.g. the clients of a log.
    pub groups: Vec<GroupContents>,
    /// Lanes: markers, values, states, logs.
    pub lanes: Vec<LaneContents>,
    /// The number of functions with calls or samples.
    pub functions: u64,
    /// The number of these with a known place in the source code.
    pub functions_with_source: u64,
}

/// The number of events of a kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct KindCount {
    /// The kind, in the plural: `interrupts`.
    pub kind: &'static str,
    /// The number of events.
    pub count: u64,
}

/// A session of the target.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct SessionContents {
    /// From 1.
    pub number: u32,
    /// The operating system or framework, if recorded: `QP/C 8.1.2`.
    pub name: Option<String>,
    /// Recorded facts about it: name and value.
    pub details: Vec<(String, String)>,
    /// The time of its first event, in nanoseconds.
    pub first_ns: Option<u64>,
    /// The time of its last event, in nanoseconds.
    pub last_ns: Option<u64>,
    /// Its events.
    pub events: u64,
}

/// A core.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct CoreContents {
    /// Its number, from 0.
    pub core: u16,
    /// Its events.
    pub events: u64,
}

/// A life of a task.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TaskContents {
    /// Its name.
    pub name: String,
    /// The target's number of it.
    pub number: u32,
    /// `task`, `idle` or `timer service`.
    pub role: &'static str,
    /// In which session of the target, from 1.
    pub session: u32,
}

/// An interrupt on a core.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct InterruptContents {
    /// Its name.
    pub name: String,
    /// The target's number of it.
    pub number: u32,
    /// Its core.
    pub core: u16,
    /// In which session of the target, from 1.
    pub session: u32,
}

/// A kernel object.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ObjectContents {
    /// Its name.
    pub name: String,
    /// Its kind: `mutex`.
    pub kind: &'static str,
    /// The target's number of it.
    pub number: u32,
    /// In which session of the target, from 1.
    pub session: u32,
}

/// A state machine.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MachineContents {
    /// Its name.
    pub name: String,
    /// In which session of the target, from 1.
    pub session: u32,
}

/// A group of lanes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct GroupContents {
    /// Its name.
    pub name: String,
    /// The group that it is in.
    pub parent: Option<String>,
    /// In which session of the target, from 1.
    pub session: u32,
}

/// A lane.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LaneContents {
    /// Its name.
    pub name: String,
    /// `marker`, `log`, `value` or `state`.
    pub kind: &'static str,
    /// The task or group that it belongs to.
    pub owner: Option<String>,
    /// In which session of the target, from 1.
    pub session: u32,
}

/// Surveys the sources, as one recording. Nothing is drawn; of the options only those for the work itself have an effect.
///
/// `progress` is called now and then and stops the work by returning false.
///
/// # Errors
/// When the work is stopped, an option has a value that cannot be used, or the sources cannot be one recording.
pub fn survey(
    sources: &[Source<'_>],
    options: &Options,
    progress: &mut dyn FnMut(Progress) -> bool,
) -> Result<Surveyed, ConvertError> {
    let mut counts = Counts::default();
    let (inputs, entities) = read(sources, options, progress, |batch, _| counts.consume(batch))?;
    Ok(Surveyed { inputs, contents: counts.contents(&entities) })
}

/// The names of the kinds of events.
const KINDS: [&str; 13] = [
    "scheduling",
    "interrupts",
    "kernel objects",
    "notifications",
    "timers",
    "heap",
    "function calls",
    "state machines",
    "markers",
    "values and states",
    "log messages",
    "resets",
    "samples",
];

/// The place of an event's kind in [`KINDS`]; `None` if it does not count as an event.
fn kind_of(kind: &EventKind) -> Option<usize> {
    use EventKind as K;
    Some(match kind {
        K::TaskCreated(_)
        | K::TaskDeleted(_)
        | K::SwitchedIn(_)
        | K::Ready { .. }
        | K::Relisted(_)
        | K::Waiting(_)
        | K::Suspended(_)
        | K::Resumed { .. }
        | K::WaitingForBits { .. }
        | K::WaitingForNotification { .. }
        | K::Priority { .. }
        | K::TaskReported { .. }
        | K::StackFree { .. } => 0,
        K::IsrEnter(_) | K::IsrExit(_) => 1,
        K::Object { .. }
        | K::ObjectLevel { .. }
        | K::Capacity { .. }
        | K::Holder { .. }
        | K::Depth { .. }
        | K::Stream { .. }
        | K::Bits { .. } => 2,
        K::Notify { .. } | K::Notified { .. } => 3,
        K::Timer { .. } => 4,
        K::Heap { .. } => 5,
        K::Call { .. } => 6,
        K::Posted { .. }
        | K::NotPosted { .. }
        | K::Publish { .. }
        | K::PublishEnd { .. }
        | K::Taken { .. }
        | K::StepBegin { .. }
        | K::StepEnd { .. }
        | K::InState { .. }
        | K::MachineNote { .. }
        | K::Preempted { .. }
        | K::Unpreempted { .. }
        | K::MachinePriority { .. } => 7,
        K::SpanBegin { .. } | K::SpanEnd { .. } | K::Instant { .. } => 8,
        K::State { .. } | K::Value { .. } | K::Float { .. } => 9,
        K::Log(_) => 10,
        K::SessionStart(_) => 11,
        K::Sample(_) => 12,
        // Not events of the firmware. Losses are in the ledger.
        K::Loss(_) | K::RecorderNote(_) | K::CoreEnd | K::Missing | K::LateObjectLevel { .. } => return None,
    })
}

/// Counters while events pass by.
#[derive(Default)]
struct Counts {
    kinds: [u64; KINDS.len()],
    /// By number.
    sessions: Vec<SessionCount>,
    session: usize,
    /// By number.
    cores: Vec<u64>,
}

#[derive(Clone, Copy, Default)]
struct SessionCount {
    first: Option<Nanos>,
    last: Option<Nanos>,
    events: u64,
}

impl Counts {
    fn consume(&mut self, batch: &EventBatch) {
        for event in &batch.events {
            if let EventKind::SessionStart(number) = event.kind {
                // The sessions before it may have no events.
                self.session = (number as usize).min(Entities::LIMIT_PER_KIND - 1);
            }
            let Some(kind) = kind_of(&event.kind) else { continue };
            if let Some(count) = self.kinds.get_mut(kind) {
                *count += 1;
            }
            if self.session >= self.sessions.len() {
                self.sessions.resize(self.session + 1, SessionCount::default());
            }
            if let Some(session) = self.sessions.get_mut(self.session) {
                session.first.get_or_insert(event.time);
                session.last = Some(event.time);
                session.events += 1;
            }
            let core = event.core.index();
            if core >= self.cores.len() {
                self.cores.resize(core + 1, 0);
            }
            if let Some(events) = self.cores.get_mut(core) {
                *events += 1;
            }
        }
    }

    fn contents(&self, entities: &Entities) -> Contents {
        let sessions = (0u32..).zip(&self.sessions).map(|(number, counted)| {
            let facts = entities.sessions.get(number as usize).cloned().unwrap_or_default();
            SessionContents {
                number: number.saturating_add(1),
                name: facts.name.as_deref().map(str::to_owned),
                details: facts.details.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect(),
                first_ns: counted.first.map(|time| time.0),
                last_ns: counted.last.map(|time| time.0),
                events: counted.events,
            }
        });
        let cores = (0u16..).zip(&self.cores).filter(|(_, events)| **events > 0);
        Contents {
            events: KINDS
                .iter()
                .zip(self.kinds)
                .filter(|(_, count)| *count > 0)
                .map(|(kind, count)| KindCount { kind, count })
                .collect(),
            sessions: sessions.collect(),
            cores: cores.map(|(core, &events)| CoreContents { core, events }).collect(),
            functions: entities.functions.len() as u64,
            functions_with_source: entities.functions.iter().filter(|function| function.source.is_some()).count() as u64,
            ..named(entities)
        }
    }
}

/// The items that have names.
fn named(entities: &Entities) -> Contents {
    let group = |index: usize| entities.groups.get(index).map(|group| group.name.to_string());
    let task = |index: usize| entities.tasks.get(index).map(|task| called(task.name.as_deref(), "task", task.number));
    let tasks = entities.tasks.iter().map(|task| TaskContents {
        name: called(task.name.as_deref(), "task", task.number),
        number: task.number,
        role: match task.kind {
            TaskKind::Normal => "task",
            TaskKind::Idle => "idle",
            TaskKind::TimerService => "timer service",
        },
        session: task.session.saturating_add(1),
    });
    let interrupts = entities.isrs.iter().map(|isr| InterruptContents {
        name: called(isr.name.as_deref(), "ISR", isr.number),
        number: isr.number,
        core: isr.core.0,
        session: isr.session.saturating_add(1),
    });
    let objects = entities.objects.iter().map(|object| ObjectContents {
        name: called(object.name.as_deref(), object.kind.noun(), object.number),
        kind: object.kind.noun(),
        number: object.number,
        session: object.session.saturating_add(1),
    });
    let machines = entities
        .machines
        .iter()
        .map(|machine| MachineContents { name: machine.name.to_string(), session: machine.session.saturating_add(1) });
    let groups = entities.groups.iter().map(|of| GroupContents {
        name: of.name.to_string(),
        parent: of.parent.and_then(|parent| group(parent.index())),
        session: of.session.saturating_add(1),
    });
    let lanes = entities.lanes.iter().map(|lane| {
        let kind = match lane.kind {
            LaneKind::Events => "marker",
            LaneKind::Log => "log",
            LaneKind::Values => "value",
            LaneKind::States => "state",
        };
        LaneContents {
            name: called(lane.name.as_deref(), kind, lane.number),
            kind,
            owner: match lane.owner {
                LaneOwner::Firmware => None,
                LaneOwner::Task(owner) => task(owner.index()),
                LaneOwner::Group(owner) => group(owner.index()),
            },
            session: lane.session.saturating_add(1),
        }
    });
    Contents {
        tasks: tasks.collect(),
        interrupts: interrupts.collect(),
        objects: objects.collect(),
        machines: machines.collect(),
        groups: groups.collect(),
        lanes: lanes.collect(),
        ..Contents::default()
    }
}

fn called(name: Option<&str>, kind: &str, number: u32) -> String {
    name.filter(|name| !name.is_empty()).map_or_else(|| numbered(kind, number), str::to_owned)
}
