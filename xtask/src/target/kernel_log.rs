//! Holds a capture of the test application against the application's own log.
//!
//! The application numbers the lines of its log with a value marker. At each of these, what the events have said so far must be
//! what the line says: who runs, the level of a queue, the holder of a mutex, the fill of a stream, bits, a priority.

use std::collections::HashMap;

use anyhow::{Context, bail, ensure};
use traceconv::format::{FORMATS, FormatOptions, Part, Resolved};
use traceconv::model::{Entities, Event, EventBatch, EventKind, LaneKind, Ledger, ObjectId, ObjectOp, TaskId};

/// The value marker that numbers the lines.
const NOTE_MARKER: u32 = 99;

/// What came out.
pub struct Found {
    /// How many lines agree with the events.
    pub agreed: u64,
}

/// What the events have said so far.
#[derive(Default)]
struct State {
    current: Option<TaskId>,
    priorities: HashMap<TaskId, u32>,
    /// Levels of queues, fills of streams, bits.
    levels: HashMap<ObjectId, u32>,
    /// Of mutexes.
    holders: HashMap<ObjectId, Option<TaskId>>,
}

/// # Errors
/// Names the first line that the events contradict, or what the ledger holds.
pub fn check(capture: &[u8], log: &str) -> anyhow::Result<Found> {
    let (batch, entities, ledger) = events(capture)?;
    ensure!(ledger.entries().is_empty(), "the ledger is not empty: {:?}", ledger.entries());
    let lines: Vec<&str> = log.lines().collect();
    let mut state = State::default();
    let mut found = Found { agreed: 0 };
    for event in &batch.events {
        if let EventKind::Value { lane, value } = event.kind {
            let lane = &entities.lanes[lane.index()];
            if (lane.number, lane.kind) == (NOTE_MARKER, LaneKind::Values) {
                let number = usize::try_from(value.get())?;
                let line = lines.get(number).with_context(|| format!("the log has no line {number}"))?;
                found.agreed += u64::from(state.agrees(line, &entities)?);
            }
        }
        state.apply(event, &entities);
    }
    Ok(found)
}

/// The events of a capture.
fn events(capture: &[u8]) -> anyhow::Result<(EventBatch, Entities, Ledger)> {
    let format = FORMATS.iter().find(|format| format.name() == "tonbandgeraet").context("the format is missing")?;
    let scan = format.open(&[FormatOptions::default()])?;
    let part = Part::new(capture, 0..capture.len());
    let facts = Some(scan.add(None, scan.scan(0, part)));
    let mut ledgers = vec![Ledger::default()];
    let mut stages = scan.finish(vec![facts], &mut ledgers);
    let (mut entities, mut batch) = (Entities::default(), EventBatch::default());
    let mut ledger = ledgers.pop().unwrap_or_default();
    let mut out = Resolved { entities: &mut entities, batch: &mut batch, ledger: &mut ledger };
    let records = stages.decode.decode(0, part, None);
    stages.resolve.resolve(0, records, &mut out);
    stages.resolve.finish(0, &mut out);
    Ok((batch, entities, ledger))
}

impl State {
    fn apply(&mut self, event: &Event, entities: &Entities) {
        match event.kind {
            EventKind::SwitchedIn(task) => self.current = Some(task),
            EventKind::Priority { task, priority, change } if change != traceconv::model::PriorityChange::Base => {
                self.priorities.insert(task, priority);
            }
            EventKind::Object { object, op, level, .. } => {
                if let Some(level) = level.get() {
                    self.levels.insert(object, level);
                }
                if entities.objects[object.index()].kind.is_mutex() {
                    let holder = if op == ObjectOp::Receive { self.current } else { None };
                    self.holders.insert(object, holder);
                }
            }
            EventKind::ObjectLevel { object, level } => {
                self.levels.insert(object, level);
                if level == 1 {
                    self.holders.insert(object, None);
                }
            }
            EventKind::Holder { object, task } => _ = self.holders.insert(object, task),
            EventKind::Stream { object, level, .. } => _ = self.levels.insert(object, level),
            EventKind::Bits { object, op, after, .. } => {
                use traceconv::model::BitsOp::{RequestClear, RequestSet};
                if !matches!(op, RequestSet | RequestClear) {
                    self.levels.insert(object, after);
                }
            }
            _ => {}
        }
    }

    /// Whether a line could be compared. Waits are drawn, not kept here.
    fn agrees(&self, line: &str, entities: &Entities) -> anyhow::Result<bool> {
        let mut words = line.split_whitespace();
        let (what, name, detail) = (words.next().unwrap_or(""), words.next().unwrap_or(""), words.next().unwrap_or(""));
        let object = || {
            let named = |object: &&(usize, &traceconv::model::Object)| object.1.name.as_deref() == Some(name);
            let objects: Vec<_> = entities.objects.iter().enumerate().collect();
            objects.iter().find(named).map(|&(index, _)| ObjectId(index as u32))
        };
        let task_name = |task: TaskId| entities.tasks[task.index()].name.as_deref().unwrap_or("").to_owned();
        let has = match what {
            "run" => self.current.map(|task| (task_name(task), name)),
            "level" | "stream" | "bits" => {
                object().and_then(|object| self.levels.get(&object)).map(|level| (level.to_string(), detail))
            }
            "hold" => {
                let holder = object().and_then(|object| self.holders.get(&object));
                holder.map(|holder| (holder.map_or("-".to_owned(), task_name), detail))
            }
            "priority" => {
                let task = self.priorities.iter().find(|(task, _)| task_name(**task) == name);
                task.map(|(_, priority)| (priority.to_string(), detail))
            }
            "wait" => None,
            other => bail!("the log has a line of unknown kind: {other}"),
        };
        let Some((has, says)) = has else { return Ok(false) };
        ensure!(has == says, "the log says `{line}`, the events `{has}`");
        Ok(true)
    }
}
