//! Which tracks there are, how they are grouped, named and ordered.
//!
//! Every task is a process of its own with one thread, because the viewer's CPU tracks take colour and label from the process.
//! The firmware is one more process, first in order, that holds the shared groups.

use rustc_hash::FxHashSet;

use super::tasks::Drawn;
use super::{Timeline, Track, TrackId, TrackKind, Unit};
use crate::model::{Entities, Lane, LaneKind, Object, Task, TaskId, TaskKind};

/// The shared groups, in their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Group {
    Interrupts,
    Objects,
    Markers,
    Values,
    Events,
}

impl Group {
    const ALL: [(Group, &'static str); 5] = [
        (Group::Interrupts, "Interrupts"),
        (Group::Objects, "Objects"),
        (Group::Markers, "Markers"),
        (Group::Values, "Values"),
        (Group::Events, "Events"),
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

    fn tid(&mut self, task: &Task) -> i32 {
        let own = i32::try_from(task.number).ok().filter(|&number| number > 0 && number < UNKNOWN_TID);
        let own = own.filter(|_| task.session == 0).filter(|number| self.used_tids.insert(*number));
        own.unwrap_or_else(|| {
            self.spare_tids += 1;
            SPARE_TID + self.spare_tids
        })
    }
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
        (_, LaneKind::Events) => format!("marker #{}", lane.number),
        (_, LaneKind::Values) => format!("value #{}", lane.number),
    }
}

impl Timeline {
    /// The firmware's process.
    fn firmware(&mut self) -> TrackId {
        if let Some(track) = self.layout.firmware {
            return track;
        }
        let session = self.layout.session;
        let name = match session {
            0 => self.settings.firmware_name.clone(),
            session => format!("{} (session {})", self.settings.firmware_name, session + 1),
        };
        let pid = FIRMWARE_PID.saturating_add(i32::try_from(session).unwrap_or(i32::MAX));
        let track = self.writer.track(None, TrackKind::Process { pid }, name.into(), None, session);
        self.layout.firmware = Some(track);
        track
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
