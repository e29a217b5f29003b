//! The tracks of a trace: their groups, names and order.
//!
//! Every task is a process of its own with one thread, because the viewer takes colour and label of its CPU tracks from the
//! process. The firmware is one more process, first in order, with the shared groups.

use std::collections::BTreeMap;

use super::numbers::{Numbers, UNKNOWN_TID};
use super::tasks::Drawn;
use super::{At, Timeline};
use crate::model::{CoreId, Entities, GroupId, Lane, LaneKind, LaneOwner, Object, Session, Task, TaskId, TaskKind, numbered};
use crate::track::{Track, TrackId, TrackKind, Unit};

/// The shared groups, in their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Group {
    Interrupts,
    Objects,
    Markers,
    Values,
    Events,
    States,
}

impl Group {
    const ALL: [(Group, &'static str); 6] = [
        (Group::Interrupts, "Interrupts"),
        (Group::Objects, "Objects"),
        (Group::Markers, "Markers"),
        (Group::Values, "Values"),
        (Group::Events, "Events"),
        (Group::States, "States"),
    ];
}

/// The tracks of a session.
#[derive(Default)]
pub struct Layout {
    session: u32,
    firmware: Option<TrackId>,
    groups: [Option<TrackId>; Group::ALL.len()],
    pub(super) losses: Option<TrackId>,
    pub(super) numbers: Numbers,
    /// The threads that represent unknown tasks, by core: a thread does not run on two at once.
    unknown_tids: BTreeMap<CoreId, i32>,
}

impl Layout {
    pub fn new(numbers: Numbers) -> Layout {
        Layout { numbers, ..Layout::default() }
    }

    /// The layout of a later session: new groups, and thread ids that no session used before.
    pub fn of_session(session: u32, before: &mut Layout) -> Layout {
        Layout {
            session,
            losses: before.losses,
            numbers: std::mem::take(&mut before.numbers),
            unknown_tids: std::mem::take(&mut before.unknown_tids),
            ..Layout::default()
        }
    }

    pub fn unknown_tid(&mut self, core: CoreId) -> i32 {
        let (numbers, is_first) = (&mut self.numbers, self.unknown_tids.is_empty());
        *self.unknown_tids.entry(core).or_insert_with(|| numbers.unknown_tid(is_first))
    }

    fn tid(&mut self, task: &Task) -> i32 {
        let own = self.numbers.tid(task.number).filter(|&tid| tid > 0 && tid < UNKNOWN_TID);
        let own = own.filter(|_| task.session == 0).filter(|number| self.numbers.used_tids.insert(*number));
        own.unwrap_or_else(|| self.numbers.spare_tid())
    }
}

fn description_of(session: &Session) -> Option<String> {
    let lines: Vec<_> = session.details.iter().map(|(name, value)| format!("{name}: {value}")).collect();
    (!lines.is_empty()).then(|| lines.join("\n"))
}

/// The name of a task, for people.
pub fn task_name(task: &Task) -> String {
    let name = match &task.name {
        Some(name) if !name.is_empty() => name.to_string(),
        _ => numbered("task", task.number),
    };
    match task.session {
        0 => name,
        session => format!("{name} (session {})", session + 1),
    }
}

/// The name of an object, for people.
pub fn object_name(object: &Object) -> String {
    match &object.name {
        Some(name) if !name.is_empty() => name.to_string(),
        _ => numbered(object.kind.noun(), object.number),
    }
}

/// The name of a lane, for people.
pub fn lane_name(lane: &Lane) -> String {
    match (&lane.name, lane.kind) {
        (Some(name), _) if !name.is_empty() => name.to_string(),
        (_, LaneKind::Events | LaneKind::Log) => numbered("marker", lane.number),
        (_, LaneKind::Values) => numbered("value", lane.number),
        (_, LaneKind::States) => numbered("state", lane.number),
    }
}

impl Timeline {
    /// The firmware's process.
    pub(super) fn firmware(&mut self) -> TrackId {
        if let Some(track) = self.layout.firmware {
            return track;
        }
        let session = self.layout.session;
        let facts = self.sessions.get(session as usize).cloned().unwrap_or_default();
        let mut name = self.settings.firmware_name.clone();
        if let Some(system) = &facts.name {
            name += &format!(": {system}");
        }
        if session > 0 {
            name += &format!(" (session {})", session + 1);
        }
        let kind = TrackKind::Process { pid: self.firmware_pid() };
        let description = self.with_cpus(description_of(&facts));
        let rank = self.layout.numbers.rank(session);
        let track = self.writer.track(None, kind, name.into(), description.as_deref(), rank);
        self.layout.firmware = Some(track);
        track
    }

    pub(super) fn firmware_pid(&self) -> i32 {
        self.layout.numbers.firmware_pid(self.layout.session)
    }

    /// With other recordings in the trace, the description of a firmware also says which CPUs of the viewer are its cores.
    fn with_cpus(&self, description: Option<String>) -> Option<String> {
        let numbers = &self.layout.numbers;
        if !numbers.has_others {
            return description;
        }
        let first = numbers.first_cpu;
        let cpus = match self.settings.cores {
            0 | 1 => format!("CPU {first} of the trace"),
            cores => format!("cores 0 to {}: CPU {first} to {} of the trace", cores - 1, first.saturating_add(cores - 1)),
        };
        Some(description.map_or_else(|| cpus.clone(), |description| format!("{description}\n{cpus}")))
    }

    /// The name of a process. With other recordings in the trace it includes the recording's name.
    fn process_name(&self, name: std::sync::Arc<str>) -> std::sync::Arc<str> {
        if self.layout.numbers.has_others { format!("{}: {name}", self.settings.firmware_name).into() } else { name }
    }

    /// The track of a group that a format made, and those of its parent groups.
    pub(super) fn lane_group(&mut self, group: GroupId, at: &At<'_>) -> TrackId {
        if let Some(Some((track, _))) = self.groups.get(group.index()) {
            return *track;
        }
        // A group comes after its parent, so this ends. Groups nested deeper than the limit are children of the firmware.
        let mut chain = Vec::new();
        let mut next = Some(group);
        let mut parent = None;
        while let Some(id) = next {
            if let Some(Some((track, _))) = self.groups.get(id.index()) {
                parent = Some(*track);
                break;
            }
            let Some(entity) = at.entities.groups.get(id.index()) else { break };
            chain.push(id);
            next = entity.parent.filter(|parent| *parent < id && !entity.is_process);
        }
        let mut track = parent;
        for id in chain.into_iter().rev() {
            let entity = &at.entities.groups[id.index()];
            let description = entity.description.as_deref();
            let (made, pid) = if entity.is_process {
                let pid = self.layout.numbers.spare_tid();
                let kind = TrackKind::Process { pid };
                let name = self.process_name(entity.name.clone());
                let rank = self.layout.numbers.rank(entity.rank.saturating_add(1));
                (self.writer.track(None, kind, name, description, rank), Some(pid))
            } else {
                let parent = track.unwrap_or_else(|| self.firmware());
                (self.writer.track(Some(parent), TrackKind::Group, entity.name.clone(), description, entity.rank), None)
            };
            if id.index() >= self.groups.len() {
                self.groups.resize(id.index() + 1, None);
            }
            self.groups[id.index()] = Some((made, pid));
            track = Some(made);
        }
        track.unwrap_or_else(|| self.firmware())
    }

    /// The kind of track for a lane with log messages: a thread of the process that it belongs to.
    pub(super) fn log_thread(&mut self, owner: LaneOwner, at: &At<'_>) -> TrackKind {
        let pid = match owner {
            LaneOwner::Task(task) => Some(self.drawn(task, at).pid),
            LaneOwner::Group(mut group) => loop {
                self.lane_group(group, at);
                if let Some(Some((_, Some(pid)))) = self.groups.get(group.index()) {
                    break Some(*pid);
                }
                match at.entities.groups.get(group.index()).and_then(|entity| entity.parent).filter(|parent| *parent < group) {
                    Some(parent) => group = parent,
                    None => break None,
                }
            },
            LaneOwner::Firmware => None,
        };
        let pid = pid.unwrap_or_else(|| {
            self.firmware();
            self.firmware_pid()
        });
        let tid = self.layout.numbers.thread_of(pid, Numbers::spare_tid);
        TrackKind::Thread { pid, tid }
    }

    /// A shared group of the present session.
    pub(super) fn group(&mut self, group: Group) -> TrackId {
        if let Some(track) = self.layout.groups[group as usize] {
            return track;
        }
        let firmware = self.firmware();
        let name = Group::ALL[group as usize].1;
        let track = self.writer.track(Some(firmware), TrackKind::Group, name.into(), None, group as u32);
        self.layout.groups[group as usize] = Some(track);
        track
    }

    /// A task's tracks and ids in the trace.
    #[inline]
    pub(super) fn drawn(&mut self, task: TaskId, at: &At<'_>) -> Drawn {
        match self.tasks[task.index()].drawn {
            Some(drawn) => drawn,
            None => self.draw(task, at),
        }
    }

    #[cold]
    fn draw(&mut self, task: TaskId, at: &At<'_>) -> Drawn {
        let entity = &at.entities.tasks[task.index()];
        let idle = entity.kind == TaskKind::Idle;
        let tid = if idle { 0 } else { self.layout.tid(entity) };
        let drawn = Drawn {
            pid: tid,
            tid,
            comm: self.writer.name(&task_name(entity)),
            process: self.writer.reserve_track(),
            thread: self.writer.reserve_track(),
            idle,
        };
        self.tasks[task.index()].drawn = Some(drawn);
        drawn
    }

    /// The counter of a task's priority.
    pub(super) fn priority_track(&mut self, task: TaskId, drawn: Drawn) -> TrackId {
        if let Some(track) = self.tasks[task.index()].priority_track {
            return track;
        }
        let kind = TrackKind::Counter { unit: Unit::None };
        let text = "The task's priority in the RTOS's own terms; the CPU tracks show 100 more.";
        let track = self.writer.track(Some(drawn.process), kind, "priority".into(), Some(text), 0);
        self.tasks[task.index()].priority_track = Some(track);
        track
    }

    /// The processes and threads of all tasks that were drawn, by session and priority.
    pub(super) fn describe_tasks(&mut self, entities: &Entities) -> Vec<Track> {
        let mut order: Vec<usize> =
            (0..self.tasks.len()).filter(|&task| self.tasks[task].drawn.is_some_and(|drawn| !drawn.idle)).collect();
        order.sort_by_key(|&task| {
            let entity = &entities.tasks[task];
            let order = entities.priority_order(TaskId(task as u32));
            let urgency = self.tasks[task].top_priority.map(|priority| order.urgency(priority));
            (entity.session, std::cmp::Reverse(urgency), entity.number, task)
        });
        let first_rank = self.session.saturating_add(1);
        let mut tracks = Vec::with_capacity(order.len() * 2 + 2);
        for (rank, &task) in (first_rank..).zip(&order) {
            let Some(drawn) = self.tasks[task].drawn else { continue };
            let rank = i32::try_from(self.layout.numbers.rank(rank)).unwrap_or(i32::MAX);
            let entity = &entities.tasks[task];
            let description = match entity.kind {
                TaskKind::TimerService => numbered("task", entity.number) + ", the timer service",
                _ => numbered("task", entity.number),
            };
            let name = self.writer.text_of(drawn.comm);
            push_task(&mut tracks, drawn, self.process_name(name.clone()), name, &description, rank);
        }
        for &tid in self.layout.unknown_tids.values() {
            let comm = self.words.unknown;
            let drawn = Drawn {
                pid: tid,
                tid,
                comm,
                process: self.writer.reserve_track(),
                thread: self.writer.reserve_track(),
                idle: false,
            };
            let text = "Shown on the CPU tracks where it is unknown which task ran, after a loss.";
            let name = self.writer.text_of(comm);
            let rank = i32::try_from(self.layout.numbers.rank(u32::MAX)).unwrap_or(i32::MAX);
            push_task(&mut tracks, drawn, self.process_name(name.clone()), name, text, rank);
        }
        tracks
    }
}

fn push_task(
    tracks: &mut Vec<Track>,
    drawn: Drawn,
    process_name: std::sync::Arc<str>,
    name: std::sync::Arc<str>,
    description: &str,
    rank: i32,
) {
    let process = TrackKind::Process { pid: drawn.pid };
    let thread = TrackKind::Thread { pid: drawn.pid, tid: drawn.tid };
    let description = Some(description.into());
    tracks.push(Track {
        id: drawn.process,
        parent: None,
        kind: process,
        name: process_name,
        description: description.clone(),
        rank,
    });
    tracks.push(Track { id: drawn.thread, parent: None, kind: thread, name, description, rank });
}
