//! Holds a capture of `target/tests/kernel/random` against the kernel's own log of all tasks and objects.
//!
//! The application numbers the lines of its log with a value marker. At each of these the states of tasks, by the rules of timeline and
//! statistics, and the priorities, levels, holders, bits and timers by the events so far must be those of the line.

use std::collections::{BTreeMap, HashMap};

use anyhow::{Context, bail, ensure};
use traceconv::model::{
    BitsOp, Entities, EventKind, LaneKind, ObjectId, ObjectOp, PriorityChange, TaskId, TaskStatus, TimerCommand, TimerOp,
};

use super::kernel_log::{NOTE_MARKER, events};
use crate::truth::states::TaskStates;

/// How many statements of each kind were compared, and how many of them the events contradict.
pub type Compared = BTreeMap<&'static str, (u64, u64)>;

#[derive(Default)]
struct State {
    tasks: TaskStates,
    current: HashMap<u16, TaskId>,
    priorities: HashMap<TaskId, i32>,
    /// Levels of queues, fills of streams, bits.
    levels: HashMap<ObjectId, u32>,
    /// Of mutexes that are held.
    holders: HashMap<ObjectId, TaskId>,
    /// The last value of each value marker.
    values: HashMap<u32, i64>,
    /// Timers: whether they start again when they expire, and whether they are armed.
    timers: HashMap<ObjectId, (bool, bool)>,
}

/// Prints the first contradictions of each kind. A state that is not known is not compared.
///
/// # Errors
/// There are losses in the ledger, or the log is not the application's.
pub fn check(capture: &[u8], log: &str) -> anyhow::Result<Compared> {
    let (batch, entities, ledger) = events("tonbandgeraet", capture)?;
    ensure!(ledger.entries().is_empty(), "the ledger is not empty: {:?}", ledger.entries());
    let lines: Vec<&str> = log.lines().collect();
    let mut state = State::default();
    let mut compared = Compared::default();
    // Statements of the log about tasks that left their core without a reason: their next event decides.
    let mut undecided: HashMap<TaskId, Vec<(usize, &str)>> = HashMap::new();
    let mut compare = |kind: &'static str, has: &str, says: &str, line: usize, time: u64| {
        let (count, wrong) = compared.entry(kind).or_default();
        *count += 1;
        if has != says {
            *wrong += 1;
            if *wrong <= 3 {
                println!("line {line} says `{says}` of {kind}, the events `{has}`, at {time} ns");
            }
        }
    };
    for event in &batch.events {
        let time = event.time.0;
        if let EventKind::Value { lane, value } = event.kind {
            let lane = &entities.lanes[lane.index()];
            state.values.insert(lane.number, value.get());
            if (lane.number, lane.kind) == (NOTE_MARKER, LaneKind::Values) {
                let number = usize::try_from(value.get())?;
                let line = lines.get(number).with_context(|| format!("the log has no line {number}"))?;
                for said in line.split(';') {
                    let found = state.find(said, &entities)?;
                    if let Some((task, says)) = found.task {
                        match state.status(task) {
                            Some(has) => compare("states", has, says, number, time),
                            None => undecided.entry(task).or_default().push((number, says)),
                        }
                    }
                    compare(found.kind, &found.has, found.says, number, time);
                }
            }
        }
        // Unprivileged tasks say who they are.
        if let EventKind::Instant { lane, label, .. } = event.kind
            && entities.lanes[lane.index()].kind == LaneKind::Events
        {
            let has = label.as_text().map_or("", |text| batch.texts.get(text));
            let running = state.current.get(&event.core.0).and_then(|task| entities.tasks[task.index()].name.as_deref());
            compare("markers", has, running.unwrap_or(""), 0, time);
        }
        let decided = match event.kind {
            EventKind::Ready { task, .. } | EventKind::Resumed { task, .. } => Some((task, "B")),
            EventKind::SwitchedIn(task) => Some((task, "r")),
            EventKind::Suspended(task) | EventKind::TaskDeleted(task) => {
                undecided.remove(&task);
                None
            }
            _ => None,
        };
        if let Some((task, has)) = decided {
            for (line, says) in undecided.remove(&task).into_iter().flatten() {
                compare("states", has, says, line, time);
            }
        }
        state.tasks.event(event, &entities);
        state.apply(event.core.0, event.kind, &entities);
    }
    Ok(compared)
}

/// A statement of the log: its kind, and the values by the events and by the log.
struct Found<'a> {
    kind: &'static str,
    has: String,
    says: &'a str,
    /// The task that it is about, and the task's state.
    task: Option<(TaskId, &'a str)>,
}

impl State {
    fn apply(&mut self, core: u16, kind: EventKind, entities: &Entities) {
        match kind {
            EventKind::SwitchedIn(task) => _ = self.current.insert(core, task),
            EventKind::Priority { task, priority, change } if change != PriorityChange::Base => {
                self.priorities.insert(task, priority);
            }
            EventKind::Object { object, op, level, .. } => {
                if let Some(level) = level.get() {
                    self.levels.insert(object, level);
                }
                if entities.objects[object.index()].kind.is_mutex() {
                    match self.current.get(&core).filter(|_| op == ObjectOp::Receive) {
                        Some(&task) => self.holders.insert(object, task),
                        None => self.holders.remove(&object),
                    };
                }
            }
            EventKind::ObjectLevel { object, level } | EventKind::Stream { object, level, .. } => {
                self.levels.insert(object, level);
            }
            EventKind::Bits { object, op, after, .. } if !matches!(op, BitsOp::RequestSet | BitsOp::RequestClear) => {
                self.levels.insert(object, after);
            }
            EventKind::Timer { object, op, .. } => {
                let (is_repeated, is_armed) = self.timers.entry(object).or_default();
                match op {
                    TimerOp::Create { auto_reload } => *is_repeated = auto_reload,
                    TimerOp::Done(TimerCommand::Start | TimerCommand::Reset | TimerCommand::ChangePeriod) => *is_armed = true,
                    TimerOp::Done(TimerCommand::Stop | TimerCommand::Delete) => *is_armed = false,
                    TimerOp::Expired => *is_armed &= *is_repeated,
                    _ => {}
                }
            }
            _ => {}
        }
    }

    /// The state of a task as the log writes it, if it is known.
    fn status(&self, task: TaskId) -> Option<&'static str> {
        match self.tasks.status(task)? {
            TaskStatus::Running(_) => Some("R"),
            TaskStatus::Ready => Some("r"),
            TaskStatus::Waiting => Some("B"),
            TaskStatus::Suspended => Some("S"),
            TaskStatus::Deleted => Some("D"),
            TaskStatus::Unknown | TaskStatus::Undecided => None,
        }
    }

    fn find<'a>(&self, said: &'a str, entities: &Entities) -> anyhow::Result<Found<'a>> {
        let mut words = said.split(' ');
        let (kind, name, says) = (words.next().unwrap_or(""), words.next().unwrap_or(""), words.next().unwrap_or(""));
        let object = || {
            let position = entities.objects.iter().position(|object| object.name.as_deref() == Some(name));
            position.map(|index| ObjectId(index as u32)).with_context(|| format!("there is no object {name}"))
        };
        let known = |value: Option<String>| value.unwrap_or_else(|| "unknown".to_owned());
        let of_object = |kind, has| Found { kind, has, says, task: None };
        let level = |object| known(self.levels.get(&object).map(u32::to_string));
        Ok(match kind {
            "T" => {
                let position = entities.tasks.iter().position(|task| task.name.as_deref() == Some(name));
                let task = TaskId(position.with_context(|| format!("there is no task {name}"))? as u32);
                let has = known(self.priorities.get(&task).map(i32::to_string));
                Found { kind: "priorities", has, says: words.next().unwrap_or(""), task: Some((task, says)) }
            }
            "Q" => of_object("levels", level(object()?)),
            "S" => of_object("fills", level(object()?)),
            "E" => of_object("bits", level(object()?)),
            "M" => {
                let holder = self.holders.get(&object()?).map(|holder| &entities.tasks[holder.index()]);
                of_object("holders", holder.map_or("-", |task| task.name.as_deref().unwrap_or("")).to_owned())
            }
            // A number is recorded before it is noted.
            "N" => {
                let marker = 90 + name[1..].parse::<u32>()?;
                let has = self.values.get(&marker).copied().unwrap_or_default();
                let says_number: i64 = says.parse()?;
                let has = if has == says_number + 1 { says_number } else { has };
                of_object("numbers", has.to_string())
            }
            "I" => {
                let is_armed = self.timers.get(&object()?).is_some_and(|timer| timer.1);
                of_object("timers", u32::from(is_armed).to_string())
            }
            other => bail!("the log says something of unknown kind: {other}"),
        })
    }
}
