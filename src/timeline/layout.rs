//! Which tracks there are, how they are grouped, named and ordered.
//!
//! Every task is a process of its own with one thread, because the viewer's CPU tracks take colour and label from the process.
//! The firmware is one more process, first in order, that holds the shared groups.

use rustc_hash::FxHashSet;

use super::tasks::Drawn;
use super::{Timeline, Track, TrackId, TrackKind, Unit};
use crate::model::{Entities, GroupId, Lane, LaneKind, LaneOwner, Object, Session, Task, TaskId, TaskKind};

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

/// Process ids of the firmware begin here: above any task number that a person would want to read.
const FIRMWARE_PID: i32 = 100_000;
/// The thread that stands for "nobody knows" on a CPU track after a loss.
const UNKNOWN_TID: i32 = 99_999;
/// Thread ids of tasks whose own number is taken, or too large, begin here.
const SPARE_TID: i32 = 1_000_000;

/// The tracks of a session.
#[derive(Default)]
pub struct Layout {
    session: u32,
    firmware: Option<TrackId>,
    groups: [Option<TrackId>; Group::ALL.len()],
    pub(super) losses: Option<TrackId>,
    used_tids: FxHashSet<i32>,
    spare_tids: i32,
    unknown_used: bool,
}

impl Layout {
    /// The layout of a later session: groups of its own, but no thread id twice.
    pub fn of_session(session: u32, before: &mut Layout) -> Layout {
        Layout {
            session,
            losses: before.losses,
            used_tids: std::mem::take(&mut before.used_tids),
            spare_tids: before.spare_tids,
            unknown_used: before.unknown_used,
            ..Layout::default()
        }
    }

    pub fn unknown_tid(&mut self) -> i32 {
        self.unknown_used = true;
        UNKNOWN_TID
    }

    /// A thread or process id that no task has.
    fn spare_tid(&mut self) -> i32 {
        self.spare_tids += 1;
        SPARE_TID + self.spare_tids
    }

    fn tid(&mut self, task: &Task) -> i32 {
        let own = i32::try_from(task.number).ok().filter(|&number| number > 0 && number < UNKNOWN_TID);
        let own = own.filter(|_| task.session == 0).filter(|number| self.used_tids.insert(*number));
        own.unwrap_or_else(|| self.spare_tid())
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
        _ => format!("task #{}", task.number),
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
        _ => format!("{} #{}", object.kind.noun(), object.number),
    }
}

/// The name of a lane, for people.
pub fn lane_name(lane: &Lane) -> String {
    match (&lane.name, lane.kind) {
        (Some(name), _) if !name.is_empty() => name.to_string(),
        (_, LaneKind::Events | LaneKind::Log) => format!("marker #{}", lane.number),
        (_, LaneKind::Values) => format!("value #{}", lane.number),
        (_, LaneKind::States) => format!("state #{}", lane.number),
    }
}

impl Timeline {
    /// The firmware's process.
    pub(super) fn firmware(&mut self) -> TrackId {
        if let Some(track) = self.layout.firmware {
            return track;
        }
        let session = self.layout.session;
        let told = self.sessions.get(session as usize).cloned().unwrap_or_default();
        let mut name = self.settings.firmware_name.clone();
        if let Some(system) = &told.name {
            name += &format!(": {system}");
        }
        if session > 0 {
            name += &format!(" (session {})", session + 1);
        }
        let kind = TrackKind::Process { pid: self.firmware_pid() };
        let track = self.writer.track(None, kind, name.into(), description_of(&told).as_deref(), session);
        self.layout.firmware = Some(track);
        track
    }

    pub(super) fn firmware_pid(&self) -> i32 {
        FIRMWARE_PID.saturating_add(i32::try_from(self.layout.session).unwrap_or(i32::MAX))
    }

    /// The track of a group that a format made, and those of the groups around it.
    pub(super) fn lane_group(&mut self, group: GroupId, entities: &Entities) -> TrackId {
        if let Some(Some((track, _))) = self.groups.get(group.index()) {
            return *track;
        }
        // A group comes after the one it is in, so this ends. What is nested deeper than anybody draws hangs under the firmware.
        let mut chain = Vec::new();
        let mut next = Some(group);
        let mut parent = None;
        while let Some(id) = next {
            if let Some(Some((track, _))) = self.groups.get(id.index()) {
                parent = Some(*track);
                break;
            }
            let Some(entity) = entities.groups.get(id.index()) else { break };
            chain.push(id);
            next = entity.parent.filter(|parent| *parent < id && !entity.is_process);
        }
        let mut track = parent;
        for id in chain.into_iter().rev() {
            let entity = &entities.groups[id.index()];
            let description = entity.description.as_deref();
            let (made, pid) = if entity.is_process {
                let pid = self.layout.spare_tid();
                let kind = TrackKind::Process { pid };
                (self.writer.track(None, kind, entity.name.clone(), description, entity.rank.saturating_add(1)), Some(pid))
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

    /// What the track of a lane with log messages is: a thread of the process that it hangs under.
    pub(super) fn log_thread(&mut self, owner: LaneOwner, entities: &Entities) -> TrackKind {
        let tid = self.layout.spare_tid();
        let pid = match owner {
            LaneOwner::Task(task) => Some(self.drawn(task, entities).pid),
            LaneOwner::Group(mut group) => loop {
                self.lane_group(group, entities);
                if let Some(Some((_, Some(pid)))) = self.groups.get(group.index()) {
                    break Some(*pid);
                }
                match entities.groups.get(group.index()).and_then(|entity| entity.parent).filter(|parent| *parent < group) {
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

    /// A task's place in the trace.
    #[inline]
    pub(super) fn drawn(&mut self, task: TaskId, entities: &Entities) -> Drawn {
        match self.tasks[task.index()].drawn {
            Some(drawn) => drawn,
            None => self.draw(task, entities),
        }
    }

    #[cold]
    fn draw(&mut self, task: TaskId, entities: &Entities) -> Drawn {
        let entity = &entities.tasks[task.index()];
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
            (entity.session, std::cmp::Reverse(self.tasks[task].top_priority), entity.number, task)
        });
        let first_rank = self.session.saturating_add(1);
        let mut tracks = Vec::with_capacity(order.len() * 2 + 2);
        for (rank, &task) in (first_rank..).zip(&order) {
            let Some(drawn) = self.tasks[task].drawn else { continue };
            let rank = i32::try_from(rank).unwrap_or(i32::MAX);
            let entity = &entities.tasks[task];
            let description = match entity.kind {
                TaskKind::TimerService => format!("task #{}, the timer service", entity.number),
                _ => format!("task #{}", entity.number),
            };
            push_task(&mut tracks, drawn, self.writer.text_of(drawn.comm), &description, rank);
        }
        if self.layout.unknown_used {
            let comm = self.words.unknown;
            let drawn = Drawn {
                pid: UNKNOWN_TID,
                tid: UNKNOWN_TID,
                comm,
                process: self.writer.reserve_track(),
                thread: self.writer.reserve_track(),
                idle: false,
            };
            let text = "Stands on the CPU tracks where nobody knows which task ran, after a loss.";
            push_task(&mut tracks, drawn, self.writer.text_of(comm), text, i32::MAX);
        }
        tracks
    }
}

fn push_task(tracks: &mut Vec<Track>, drawn: Drawn, name: std::sync::Arc<str>, description: &str, rank: i32) {
    let process = TrackKind::Process { pid: drawn.pid };
    let thread = TrackKind::Thread { pid: drawn.pid, tid: drawn.tid };
    let description = Some(description.into());
    tracks.push(Track {
        id: drawn.process,
        parent: None,
        kind: process,
        name: name.clone(),
        description: description.clone(),
        rank,
    });
    tracks.push(Track { id: drawn.thread, parent: None, kind: thread, name, description, rank });
}
