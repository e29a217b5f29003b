//! Holds a capture of `target/tests/kernel/random` against what the kernel itself said of all tasks and objects.
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

/// How many statements agree, by kind.
pub type Agreed = BTreeMap<&'static str, u64>;

#[derive(Default)]
struct State {
    tasks: TaskStates,
    current: HashMap<u16, TaskId>,
    priorities: HashMap<TaskId, u32>,
    /// Levels of queues, fills of streams, bits.
    levels: HashMap<ObjectId, u32>,
    /// Of mutexes that are held.
    holders: HashMap<ObjectId, TaskId>,
    /// Timers: whether they start again when they expire, and whether they are armed.
    timers: HashMap<ObjectId, (bool, bool)>,
}

/// `is_exempt` are statements that the kernel's hooks do not allow to be recorded in time.
///
/// # Errors
/// Names the first statement that the events contradict, or the losses in the ledger.
pub fn check(capture: &[u8], log: &str, is_exempt: impl Fn(&str) -> bool) -> anyhow::Result<Agreed> {
    let (batch, entities, ledger) = events("tonbandgeraet", capture)?;
    ensure!(ledger.entries().is_empty(), "the ledger is not empty: {:?}", ledger.entries());
    let lines: Vec<&str> = log.lines().collect();
    let mut state = State::default();
    let mut agreed = Agreed::default();
    for event in &batch.events {
        if let EventKind::Value { lane, value } = event.kind {
            let lane = &entities.lanes[lane.index()];
            if (lane.number, lane.kind) == (NOTE_MARKER, LaneKind::Values) {
                let number = usize::try_from(value.get())?;
                let line = lines.get(number).with_context(|| format!("the log has no line {number}"))?;
                for said in line.split(';').filter(|said| !is_exempt(said)) {
                    let (kind, has, says) = state.find(said, &entities)?;
                    ensure!(has == says, "line {number} says `{said}`, the events `{has}`, at {} ns", event.time.0);
                    *agreed.entry(kind).or_default() += 1;
                }
            }
        }
        state.tasks.event(event, &entities);
        state.apply(event.core.0, event.kind, &entities);
    }
    Ok(agreed)
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

    /// The kind of a statement, what the events say, and what the statement does.
    fn find<'a>(&self, said: &'a str, entities: &Entities) -> anyhow::Result<(&'static str, String, &'a str)> {
        let mut words = said.splitn(3, ' ');
        let (what, name, says) = (words.next().unwrap_or(""), words.next().unwrap_or(""), words.next().unwrap_or(""));
        let object = || {
            let position = entities.objects.iter().position(|object| object.name.as_deref() == Some(name));
            position.map(|index| ObjectId(index as u32)).with_context(|| format!("there is no object {name}"))
        };
        let task_name = |task: TaskId| entities.tasks[task.index()].name.as_deref().unwrap_or("").to_owned();
        let known = |value: Option<String>| value.unwrap_or_else(|| "unknown".to_owned());
        let level = |object| known(self.levels.get(&object).map(u32::to_string));
        Ok(match what {
            "T" => {
                let position = entities.tasks.iter().position(|task| task.name.as_deref() == Some(name));
                let task = TaskId(position.with_context(|| format!("there is no task {name}"))? as u32);
                let state = match self.tasks.status(task) {
                    Some(TaskStatus::Running(_)) => "R",
                    Some(TaskStatus::Ready) => "r",
                    Some(TaskStatus::Waiting) => "B",
                    Some(TaskStatus::Suspended) => "S",
                    Some(TaskStatus::Deleted) => "D",
                    _ => "unknown",
                };
                ("states and priorities", format!("{state} {}", known(self.priorities.get(&task).map(u32::to_string))), says)
            }
            "Q" => ("levels", level(object()?), says),
            "S" => ("fills", level(object()?), says),
            "E" => ("bits", level(object()?), says),
            "M" => ("holders", self.holders.get(&object()?).map_or("-".to_owned(), |&task| task_name(task)), says),
            "I" => {
                let is_armed = self.timers.get(&object()?).is_some_and(|timer| timer.1);
                ("timers", u32::from(is_armed).to_string(), says)
            }
            other => bail!("the log says something of unknown kind: {other}"),
        })
    }
}
