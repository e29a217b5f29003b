//! Holds a capture of the test application against the application's own log.
//!
//! The application numbers the lines of its log with a value marker. At each of these, the state by the events so far must be
//! that of the line: who runs, the level of a queue, the holder of a mutex, the fill of a stream, bits, a priority. What a task says
//! it is going to wait for must be its next wait, if it waits before it says that it runs on.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;

use anyhow::{Context, bail, ensure};
use traceconv::format::{FORMATS, FormatOptions, OptionValue, Part, Resolved};
use traceconv::model::{
    Entities, Event, EventBatch, EventKind, LaneKind, LaneOwner, Ledger, LogSeverity, ObjectId, ObjectKind, ObjectOp, TaskId,
    Wait, WaitReason,
};

/// The value marker that numbers the lines.
pub const NOTE_MARKER: u32 = 99;

/// The result.
#[derive(Default)]
pub struct Comparison {
    /// How many lines agree with the events.
    pub agreed: u64,
    /// How many of them are waits.
    pub waits: u64,
    /// The first words of lines that were compared.
    pub kinds: BTreeSet<String>,
}

/// The state by the events so far.
#[derive(Default)]
struct State {
    current: Option<TaskId>,
    priorities: HashMap<TaskId, i32>,
    /// Levels of queues, fills of streams, bits.
    levels: HashMap<ObjectId, u32>,
    /// Of mutexes.
    holders: HashMap<ObjectId, Option<TaskId>>,
    /// The waits that tasks have announced, and the line.
    announced: HashMap<TaskId, (String, String)>,
}

/// `may_repair` are codes of the ledger that are no fault of the capture.
///
/// # Errors
/// Names the first line that the events contradict, or the losses in the ledger.
pub fn check(capture: &[u8], log: &str, may_repair: &[&str]) -> anyhow::Result<Comparison> {
    let (batch, entities, ledger) = events("tonbandgeraet", capture)?;
    let is_sound = ledger.entries().iter().all(|entry| may_repair.contains(&entry.kind.code));
    ensure!(is_sound, "the ledger is not empty: {:?}", ledger.entries());
    let lines: Vec<&str> = log.lines().collect();
    let mut state = State::default();
    let mut found = Comparison::default();
    for event in &batch.events {
        if let EventKind::Value { lane, value } = event.kind {
            let lane = &entities.lanes[lane.index()];
            if (lane.number, lane.kind) == (NOTE_MARKER, LaneKind::Values) {
                let number = usize::try_from(value.get())?;
                let line = lines.get(number).with_context(|| format!("the log has no line {number}"))?;
                if state.agrees(line, &entities)? {
                    found.agreed += 1;
                    found.kinds.extend(line.split(' ').next().map(str::to_owned));
                }
            }
        }
        found.waits += u64::from(state.waits(event, &entities)?);
        state.apply(event, &entities);
    }
    Ok(found)
}

/// The names of the tasks in a capture.
///
/// # Errors
/// The capture cannot be read, or its ledger is not empty.
pub fn tasks(path: &Path) -> anyhow::Result<BTreeSet<String>> {
    let (batch, entities, ledger) = events("tonbandgeraet", &std::fs::read(path)?)?;
    ensure!(ledger.entries().is_empty(), "the ledger is not empty: {:?}", ledger.entries());
    ensure!(!batch.events.is_empty(), "there are no events");
    Ok(entities.tasks.iter().filter_map(|task| task.name.as_deref().map(str::to_owned)).collect())
}

/// How many calls of functions there are in a capture of MiniProfiler.
///
/// # Errors
/// The capture cannot be read, or its ledger is not empty.
pub fn calls(path: &Path) -> anyhow::Result<usize> {
    let (batch, _, ledger) = events("miniprofiler", &std::fs::read(path)?)?;
    ensure!(ledger.entries().is_empty(), "the ledger is not empty: {:?}", ledger.entries());
    Ok(batch.events.iter().filter(|event| matches!(event.kind, EventKind::Call { .. })).count())
}

/// The names of the functions in a recording of the program, and how often each begins.
///
/// # Errors
/// The capture cannot be read, or its ledger is not empty.
pub fn functions(trace: &Path, program: &Path) -> anyhow::Result<BTreeMap<String, usize>> {
    let (batch, _, ledger) = events_of_program(trace, program)?;
    ensure!(ledger.entries().is_empty(), "the ledger is not empty: {:?}", ledger.entries());
    let mut names = BTreeMap::new();
    for event in &batch.events {
        if let EventKind::SpanBegin { label, .. } = event.kind {
            let text = label.as_text().map_or("", |text| batch.texts.get(text));
            *names.entry(text.to_owned()).or_default() += 1;
        }
    }
    Ok(names)
}

/// Compares the messages in a recording with their severities and texts, in any order. Returns how many there are.
///
/// # Errors
/// The capture cannot be read, its ledger is not empty, or a message is another.
pub fn said(trace: &Path, program: &Path, said: &Path) -> anyhow::Result<usize> {
    let (batch, _, ledger) = events_of_program(trace, program)?;
    ensure!(ledger.entries().is_empty(), "the ledger is not empty: {:?}", ledger.entries());
    let said = std::fs::read_to_string(said)?;
    let mut found: Vec<String> =
        batch.logs.iter().map(|log| format!("{} {}", level(log.severity), batch.texts.get(log.body))).collect();
    let mut said: Vec<&str> = said.lines().collect();
    // A task may be interrupted between a message and its note, so the order of two tasks can differ.
    found.sort_unstable();
    said.sort_unstable();
    for (found, said) in found.iter().zip(&said) {
        ensure!(found == said, "the message `{said}` is converted to `{found}`");
    }
    ensure!(found.len() == said.len(), "{} messages instead of {}", found.len(), said.len());
    ensure!(batch.logs.iter().all(|log| log.source.is_some()), "a message has no place in the source");
    Ok(found.len())
}

/// The tracer's number of a level.
fn level(severity: LogSeverity) -> u8 {
    match severity {
        LogSeverity::Unspecified | LogSeverity::User => 0,
        LogSeverity::Verbose => 1,
        LogSeverity::Debug => 2,
        LogSeverity::Info => 3,
        LogSeverity::Warning => 4,
        LogSeverity::Error => 5,
        LogSeverity::Fatal => 6,
    }
}

/// Compares which task called which function with lines of both, in order. Returns how many there are.
///
/// # Errors
/// The capture cannot be read, or a call is another.
pub fn called(trace: &Path, program: &Path, called: &Path) -> anyhow::Result<usize> {
    let (batch, entities, _) = events_of_program(trace, program)?;
    let mut found = Vec::new();
    for event in &batch.events {
        if let EventKind::SpanBegin { lane, label, .. } = event.kind {
            let owner = entities.lanes.get(lane.index()).map(|lane| lane.owner);
            let task = match owner {
                Some(LaneOwner::Task(task)) => entities.tasks.get(task.index()).and_then(|task| task.name.clone()),
                _ => None,
            };
            let function = label.as_text().map_or("", |text| batch.texts.get(text));
            found.push(format!("{} {function}", task.as_deref().unwrap_or("?")));
        }
    }
    let called = std::fs::read_to_string(called)?;
    ensure!(found.iter().eq(called.lines()), "the calls {called:?} are converted to {found:?}");
    Ok(found.len())
}

/// The events of a capture, with the program that ran.
fn events_of_program(trace: &Path, program: &Path) -> anyhow::Result<(EventBatch, Entities, Ledger)> {
    let file = OptionValue::File { path: program.display().to_string(), bytes: std::fs::read(program)?.into() };
    let options = FormatOptions { own: vec![("elf", file)], ..FormatOptions::default() };
    events_with("tonbandgeraet", &std::fs::read(trace)?, options)
}

/// The events of a capture.
pub fn events(format: &str, capture: &[u8]) -> anyhow::Result<(EventBatch, Entities, Ledger)> {
    events_with(format, capture, FormatOptions::default())
}

fn events_with(format: &str, capture: &[u8], options: FormatOptions) -> anyhow::Result<(EventBatch, Entities, Ledger)> {
    let format = FORMATS.iter().find(|known| known.name() == format).context("the format is missing")?;
    let scan = format.open(&[options])?;
    let part = Part::new(capture, 0..capture.len());
    let facts = Some(scan.join(capture, None, scan.scan(0, part)));
    let mut ledgers = vec![Ledger::default()];
    let mut stages = scan.finish(vec![facts], &mut ledgers);
    let (mut entities, mut batch) = (Entities::default(), EventBatch::default());
    let mut ledger = ledgers.pop().unwrap_or_default();
    let mut out = Resolved { entities: &mut entities, batch: &mut batch, ledger: &mut ledger };
    let records = stages.decode.decode(0, part, None);
    stages.resolve.resolve(0, capture, records, &mut out);
    stages.resolve.finish(0, capture, &mut out);
    Ok((batch, entities, ledger))
}

fn is_stream(wait: Wait, entities: &Entities) -> bool {
    let kind = wait.object.map(|object| entities.objects[object.index()].kind);
    use ObjectKind::{BatchingBuffer, MessageBuffer, Stream, StreamBuffer};
    matches!(kind, Some(Stream | StreamBuffer | MessageBuffer | BatchingBuffer))
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

    /// Compares the beginning of a wait with the announcement of its task. Whether there was something to compare.
    fn waits(&mut self, event: &Event, entities: &Entities) -> anyhow::Result<bool> {
        let Some(task) = self.current else { return Ok(false) };
        let has = match event.kind {
            EventKind::Waiting(wait) => match wait.reason {
                WaitReason::Delay => "curtask_delay",
                WaitReason::DelayUntil => "curtask_delay_until",
                WaitReason::Receive if is_stream(wait, entities) => "curtask_block_on_stream_receive",
                WaitReason::Send if is_stream(wait, entities) => "curtask_block_on_stream_send",
                WaitReason::Receive => "curtask_block_on_queue_receive",
                WaitReason::Send => "curtask_block_on_queue_send",
                WaitReason::Peek => "curtask_block_on_queue_peek",
                WaitReason::Notification => "curtask_block_on_notify",
                WaitReason::Bits => "curtask_block_on_event_group",
                // Of other recordings.
                WaitReason::Period | WaitReason::NotRecorded => return Ok(false),
            },
            EventKind::WaitingForBits { .. } => "curtask_block_on_event_group",
            _ => return Ok(false),
        };
        let Some((says, line)) = self.announced.remove(&task) else { return Ok(false) };
        ensure!(has == says, "the log says `{line}`, the events `{has}`");
        Ok(true)
    }

    /// Whether a line could be compared.
    fn agrees(&mut self, line: &str, entities: &Entities) -> anyhow::Result<bool> {
        let mut words = line.split_whitespace();
        let (what, name, detail) = (words.next().unwrap_or(""), words.next().unwrap_or(""), words.next().unwrap_or(""));
        let object = || {
            let named = |object: &&(usize, &traceconv::model::Object)| object.1.name.as_deref() == Some(name);
            let objects: Vec<_> = entities.objects.iter().enumerate().collect();
            objects.iter().find(named).map(|&(index, _)| ObjectId(index as u32))
        };
        let task_name = |task: TaskId| entities.tasks[task.index()].name.as_deref().unwrap_or("").to_owned();
        let has = match what {
            "run" => self.current.map(|task| {
                self.announced.remove(&task);
                (task_name(task), name)
            }),
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
            "wait" => self.current.map(|task| {
                self.announced.insert(task, (detail.to_owned(), line.to_owned()));
                (task_name(task), name)
            }),
            other => bail!("the log has a line of unknown kind: {other}"),
        };
        let Some((has, says)) = has else { return Ok(false) };
        ensure!(has == says, "the log says `{line}`, the events `{has}`");
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The shipped recordings of a kernel, compared with the logs of their applications.
    #[test]
    fn shipped_captures_agree_with_their_logs() {
        let folder = crate::codegen::root().unwrap().join("testdata/tonbandgeraet");
        let mut compared = Comparison::default();
        let mut captures = 0;
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let Some(stem) = path.to_str().and_then(|path| path.strip_suffix(".log.txt")) else { continue };
            let capture = std::fs::read(format!("{stem}.bin")).unwrap();
            let log = std::fs::read_to_string(&path).unwrap();
            let found = check(&capture, &log, &[]).unwrap_or_else(|error| panic!("{stem}: {error:#}"));
            assert!(found.agreed > 100 && found.waits > 20, "{stem}: {} lines, {} waits", found.agreed, found.waits);
            captures += 1;
            compared.kinds.extend(found.kinds);
        }
        assert!(captures >= 10, "{captures} captures");
        assert!(compared.kinds.iter().eq(["bits", "hold", "level", "priority", "run", "stream", "wait"]), "{:?}", compared.kinds);
    }

    #[test]
    fn a_log_that_says_something_else_is_noticed() {
        let stem = crate::codegen::root().unwrap().join("testdata/tonbandgeraet/cortex_m4_streaming");
        let capture = std::fs::read(stem.with_extension("bin")).unwrap();
        let log = std::fs::read_to_string(stem.with_extension("log.txt")).unwrap();
        check(&capture, &log, &[]).unwrap();
        for (says, instead) in [
            ("run worker", "run holder"),
            ("level mailbox 1", "level mailbox 2"),
            ("hold lock -", "hold lock holder"),
            ("wait sleeper curtask_block_on_queue_peek", "wait sleeper curtask_delay"),
        ] {
            assert!(log.contains(says), "{says}");
            assert!(check(&capture, &log.replace(says, instead), &[]).is_err(), "{instead}");
        }
    }
}
