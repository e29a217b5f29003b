//! Track operations → rows of events, slices, states and values: what a trace with `--detail all` holds.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use rustc_hash::FxHashMap;
use serde_json::{Map, Value};

use super::table::Cell;
use crate::model::TextRef;
use crate::track::{
    Annotation, AnnotationValue, Block, Flow, NameKind, NameRef, Op, OpKind, PrevState, SchedRows, SourcePlace, StateRow, Track,
    TrackId, TrackKind, Unit,
};

/// The group whose tracks have every event as an instant: one track for each core.
const EVENTS_GROUP: &str = "Events";

/// Limit of groups in groups.
const GROUPS_MAX: usize = 32;

/// Limit of begins and ends of slices that are not paired yet. Not all are written in order of time, and readers of a trace sort them; how late
/// one is written is limited, but not by a time.
const HELD_EDGES: usize = 1 << 18;

/// Limit of scheduling rows that wait for the rows of other cores.
const HELD_ROWS: usize = 1 << 18;

/// Receives rows, without the column `recording`.
pub trait Receive {
    /// An event.
    fn event(&mut self, row: &[Cell<'_>]);
    /// A slice or instant.
    fn slice(&mut self, row: &[Cell<'_>]);
    /// A state of a task.
    fn state(&mut self, row: &[Cell<'_>]);
    /// A value.
    fn value(&mut self, row: &[Cell<'_>]);
}

/// The tracks and open slices of one recording.
#[derive(Default)]
pub struct Drawn {
    tracks: FxHashMap<TrackId, Known>,
    /// The processes by their numbers.
    processes: FxHashMap<i32, TrackId>,
    /// How many begins and ends wait on all tracks.
    edges: usize,
    sched: Scheduling,
}

/// A track.
#[derive(Default)]
struct Known {
    name: Arc<str>,
    parent: Option<TrackId>,
    /// The number of its process, if it is a thread.
    process: Option<i32>,
    /// The names of the groups that it is in, and its own, with `/` between them.
    path: String,
    /// The core, if it has every event of one.
    core: Option<i64>,
    unit: &'static str,
    open: Vec<Open>,
    /// Begins and ends that are not paired yet.
    edges: Vec<Edge>,
}

/// The begin of a slice, or an end.
struct Edge {
    ts_ns: u64,
    /// Of a begin.
    name: Option<String>,
    args: Map<String, Value>,
}

/// A slice that has not ended.
struct Open {
    ts_ns: u64,
    name: String,
    args: Map<String, Value>,
}

impl Drawn {
    /// Consumes a block. `late` are the tracks that are in no block.
    pub fn consume(&mut self, late: &[Track], block: &Block, to: &mut dyn Receive) {
        self.describe(late.iter().chain(&block.tracks));
        for op in &block.ops {
            self.operation(op, block, to);
            if self.edges > HELD_EDGES {
                self.pair(2, to);
            }
        }
        for rows in &block.sched {
            self.sched.add(rows, block);
        }
        self.sched.release(HELD_ROWS, to);
    }

    fn describe<'t>(&mut self, tracks: impl Iterator<Item = &'t Track> + Clone) {
        for track in tracks.clone() {
            let known = self.tracks.entry(track.id).or_default();
            known.name = track.name.clone();
            match track.kind {
                TrackKind::Process { pid } => {
                    self.processes.insert(pid, track.id);
                }
                TrackKind::Thread { pid, tid } => {
                    known.process = Some(pid);
                    self.sched.names.insert(tid, track.name.clone());
                }
                _ => {}
            }
            known.parent = track.parent;
            known.unit = match track.kind {
                TrackKind::Counter { unit: Unit::Count } => "count",
                TrackKind::Counter { unit: Unit::Bytes } => "bytes",
                TrackKind::Counter { unit: Unit::Nanoseconds } => "ns",
                TrackKind::Counter { unit: Unit::Named(name) } => name,
                _ => "",
            };
        }
        // A track may be described before the groups that it is in.
        for track in tracks {
            let (path, core) = (self.path(track.id), self.core(track));
            if let Some(known) = self.tracks.get_mut(&track.id) {
                (known.path, known.core) = (path, core);
            }
        }
    }

    fn path(&self, id: TrackId) -> String {
        // A task is a thread, and a process of the same name.
        let process =
            |known: &Known| self.tracks.get(self.processes.get(&known.process?)?).filter(|process| process.name != known.name);
        let above = |known: &&Known| known.parent.and_then(|parent| self.tracks.get(&parent)).or_else(|| process(*known));
        let groups = std::iter::successors(self.tracks.get(&id), above);
        let names: Vec<&str> = groups.take(GROUPS_MAX).map(|known| &*known.name).collect();
        names.into_iter().rev().collect::<Vec<_>>().join("/")
    }

    /// The core whose events are on a track.
    fn core(&self, track: &Track) -> Option<i64> {
        let group = self.tracks.get(&track.parent?)?;
        if &*group.name == EVENTS_GROUP { track.name.strip_prefix("core ")?.parse().ok() } else { None }
    }

    fn operation(&mut self, op: &Op, block: &Block, to: &mut dyn Receive) {
        let known = self.tracks.entry(op.track).or_default();
        let ts = Cell::from(op.time_ns);
        match op.kind {
            OpKind::Begin | OpKind::End => {
                let name = (op.kind == OpKind::Begin).then(|| name(op.name, block).to_owned());
                known.edges.push(Edge { ts_ns: op.time_ns, name, args: arguments(op, block) });
                self.edges += 1;
            }
            OpKind::Instant => {
                let (name, mut args) = (name(op.name, block), arguments(op, block));
                if let Some(core) = known.core {
                    // The subject comes first, see the timeline's raw events.
                    let first = block.args.get(op.args_start as usize).filter(|_| op.args_len > 0);
                    let kind = first.and_then(|first| block.names.get(first.name as usize)).filter(|kind| is_subject(kind));
                    let subject = kind.and_then(|kind| args.remove(kind));
                    let subject = subject.as_ref().and_then(Value::as_str);
                    to.event(&[ts, Cell::Whole(core), name.into(), kind.into(), subject.into(), json(&args).as_deref().into()]);
                } else {
                    let args = json(&args);
                    to.slice(&[ts, Cell::Whole(0), known.path.as_str().into(), name.into(), args.as_deref().into()]);
                }
            }
            OpKind::Counter => {
                to.value(&[ts, known.path.as_str().into(), Cell::Real(op.value as f64), known.unit.into()]);
            }
            OpKind::FloatCounter => {
                let value = f64::from_bits(op.value.cast_unsigned());
                to.value(&[ts, known.path.as_str().into(), Cell::Real(value), known.unit.into()]);
            }
            OpKind::Describe => {}
        }
    }

    /// Pairs the earlier begins and ends of each track: one of this number of pieces.
    fn pair(&mut self, pieces: usize, to: &mut dyn Receive) {
        let mut ids: Vec<TrackId> = self.tracks.iter().filter(|(_, known)| !known.edges.is_empty()).map(|(id, _)| *id).collect();
        ids.sort_unstable();
        for id in ids {
            let Some(known) = self.tracks.get_mut(&id) else { continue };
            let mut edges = std::mem::take(&mut known.edges);
            edges.sort_by_key(|edge| edge.ts_ns);
            known.edges = edges.split_off(edges.len().div_ceil(pieces));
            self.edges -= edges.len();
            for Edge { ts_ns, name, args } in edges {
                match name {
                    Some(name) => known.open.push(Open { ts_ns, name, args }),
                    None => {
                        let Some(mut open) = known.open.pop() else { continue };
                        open.args.extend(args);
                        known.slice(&open, Some(ts_ns), to);
                    }
                }
            }
        }
    }

    /// The recording has ended: whatever is open has no known end.
    pub fn finish(&mut self, to: &mut dyn Receive) {
        self.pair(1, to);
        let Drawn { mut tracks, processes: _, edges: _, mut sched } = std::mem::take(self);
        let mut open: Vec<TrackId> = tracks.iter().filter(|(_, known)| !known.open.is_empty()).map(|(id, _)| *id).collect();
        open.sort_unstable();
        for known in open.iter().filter_map(|id| tracks.remove(id)) {
            let mut known = known;
            while let Some(open) = known.open.pop() {
                known.slice(&open, None, to);
            }
        }
        sched.release(0, to);
        sched.finish(to);
    }
}

impl Known {
    /// A slice that is no longer open.
    fn slice(&self, open: &Open, end_ns: Option<u64>, to: &mut dyn Receive) {
        let dur = Cell::from(end_ns.map(|end_ns| end_ns.saturating_sub(open.ts_ns)));
        let args = json(&open.args);
        to.slice(&[open.ts_ns.into(), dur, self.path.as_str().into(), open.name.as_str().into(), args.as_deref().into()]);
    }
}

/// Whether an argument is the subject of an event.
fn is_subject(name: &str) -> bool {
    ["task", "object", "isr", "marker", "machine", "to", "function"].contains(&name)
}

fn name(name: NameRef, block: &Block) -> &str {
    match name.kind() {
        NameKind::None => "",
        NameKind::Interned(index) => block.names.get(index as usize).unwrap_or(""),
        NameKind::Text(index) => text(index, block),
    }
}

fn text(index: u32, block: &Block) -> &str {
    block.texts.get(block.text_refs.get(index as usize).copied().unwrap_or(TextRef::NONE))
}

/// The annotations of an operation. Numbers that are shown in hex are texts; a number that JSON cannot have is null.
fn arguments(op: &Op, block: &Block) -> Map<String, Value> {
    let start = op.args_start as usize;
    let all = block.args.get(start..start + usize::from(op.args_len)).unwrap_or(&[]);
    let name = |index: u32| block.names.get(index as usize).unwrap_or("");
    let pair = |arg: &Annotation| {
        let (key, value) = match arg.value() {
            AnnotationValue::Uint(value) => (name(arg.name), value.into()),
            AnnotationValue::Int(value) => (name(arg.name), value.into()),
            AnnotationValue::Hex(value) => (name(arg.name), format!("{value:#x}").into()),
            AnnotationValue::Float(value) => (name(arg.name), value.into()),
            AnnotationValue::Bool(value) => (name(arg.name), value.into()),
            AnnotationValue::Name(value) => (name(arg.name), name(value).into()),
            AnnotationValue::Text(value) => (name(arg.name), text(value, block).into()),
            AnnotationValue::Category(value) => ("category", name(value).into()),
            AnnotationValue::Log { body, .. } => ("message", text(body, block).into()),
        };
        (key.to_owned(), value)
    };
    let log = all.iter().find_map(|arg| match arg.value() {
        AnnotationValue::Log { source, grade, .. } => Some((i64::from(source), usize::from(grade))),
        _ => None,
    });
    let grade = log.and_then(|(_, number)| block.grades.get(number.checked_sub(1)?)).map(|grade| grade.annotations());
    let source_number = log.map(|(number, _)| number).or((op.flow == Flow::Source).then_some(op.value));
    let place = source_number.and_then(|number| source(number, block));
    grade.iter().flatten().chain(all).map(pair).chain(place.map(|place| ("source_location".to_owned(), place.into()))).collect()
}

/// A place in the source code, by one more than its index.
fn source(number: i64, block: &Block) -> Option<String> {
    let SourcePlace { file, function, line } = block.sources.iter().nth(usize::try_from(number.checked_sub(1)?).ok()?)?;
    Some(format!("{file}:{line}{}{}", if function.is_some() { " " } else { "" }, function.unwrap_or_default()))
}

/// As an object of JSON; `None` without arguments.
fn json(args: &Map<String, Value>) -> Option<String> {
    (!args.is_empty()).then(|| serde_json::to_string(args).unwrap_or_default())
}

/// The context switches and wakings of all cores, in one order of time, as states of tasks.
#[derive(Default)]
struct Scheduling {
    /// By core.
    waiting: BTreeMap<u16, VecDeque<Row>>,
    held: usize,
    /// By core: the thread that runs.
    running: BTreeMap<u16, i32>,
    threads: BTreeMap<i32, State>,
    /// The names of threads that have a track.
    names: BTreeMap<i32, Arc<str>>,
    /// The states that are neither of a switch nor of a waking, by thread: they come before the thread's next row.
    changes: BTreeMap<i32, VecDeque<StateRow>>,
}

struct Row {
    time_ns: u64,
    tid: i32,
    task: String,
    /// In which state the thread before left, if it is a context switch.
    left: Option<PrevState>,
}

struct State {
    task: String,
    since_ns: u64,
    name: &'static str,
    core: Option<u16>,
}

impl Scheduling {
    /// Adds the rows of a core. Of equal times switches come before wakings, as readers of a trace order them.
    fn add(&mut self, rows: &SchedRows, block: &Block) {
        let task = |index: u32| block.names.get(index as usize).unwrap_or("").to_owned();
        let switches = rows.switches.iter().map(|row| Row {
            time_ns: row.time_ns,
            tid: row.next_tid,
            task: task(row.next_comm),
            left: Some(row.prev_state),
        });
        let wakings = rows.wakings.iter().map(|row| Row { time_ns: row.time_ns, tid: row.tid, task: task(row.comm), left: None });
        let mut all: Vec<Row> = switches.chain(wakings).collect();
        all.sort_by_key(|row| row.time_ns);
        for row in &rows.states {
            self.changes.entry(row.tid).or_default().push_back(*row);
        }
        if all.is_empty() {
            return;
        }
        self.held += all.len();
        self.waiting.entry(rows.core).or_default().extend(all);
    }

    /// Passes rows on in order of time: as long as every core has one, or more are held than this.
    fn release(&mut self, limit: usize, to: &mut dyn Receive) {
        while self.held > 0 && (self.held > limit || self.waiting.values().all(|rows| !rows.is_empty())) {
            let first = self.waiting.iter().filter_map(|(core, rows)| Some((rows.front()?.time_ns, *core))).min();
            let Some((_, core)) = first else { return };
            let Some(row) = self.waiting.get_mut(&core).and_then(VecDeque::pop_front) else { return };
            self.held -= 1;
            self.row(core, row, to);
        }
    }

    fn row(&mut self, core: u16, row: Row, to: &mut dyn Receive) {
        let Row { time_ns, tid, task, left } = row;
        let Some(left) = left else {
            let is_running = self.threads.get(&tid).is_some_and(|state| state.core.is_some());
            if !is_running {
                self.enter(tid, State { task, since_ns: time_ns, name: "ready", core: None }, to);
            }
            return;
        };
        let Some(before) = self.running.insert(core, tid) else {
            // Nothing ran before that.
            return self.enter(tid, State { task, since_ns: time_ns, name: "running", core: Some(core) }, to);
        };
        if before == tid {
            return;
        }
        if let Some(task) = self.threads.get(&before).filter(|state| state.core == Some(core)).map(|state| state.task.clone()) {
            self.stop(before, task, left, time_ns, to);
        }
        self.enter(tid, State { task, since_ns: time_ns, name: "running", core: Some(core) }, to);
    }

    /// A thread enters a state. Idle tasks, which share a number, have none, nor has the thread that stands for an unknown task: it has no track.
    fn enter(&mut self, tid: i32, state: State, to: &mut dyn Receive) {
        if tid == 0 || !self.names.contains_key(&tid) {
            return;
        }
        let end_ns = state.since_ns;
        self.change(tid, &state.task, end_ns, to);
        if let Some(before) = self.threads.insert(tid, state) {
            before.pass_on(tid, Some(end_ns), to);
        }
    }

    /// A thread enters a state in which it does not run.
    fn stop(&mut self, tid: i32, task: String, left: PrevState, since_ns: u64, to: &mut dyn Receive) {
        if tid == 0 {
            return;
        }
        if let Some(before) = self.threads.remove(&tid) {
            before.pass_on(tid, Some(since_ns), to);
        }
        let name = match left {
            PrevState::Ready => "ready",
            PrevState::Waiting => "waiting",
            PrevState::Suspended => "suspended",
            PrevState::Deleted => "deleted",
            PrevState::Unknown => return,
        };
        self.threads.insert(tid, State { task, since_ns, name, core: None });
    }

    /// Passes on the changes of a thread's state up to a time: readers of a trace take them before other rows of that time. Its first state may be one of
    /// them.
    fn change(&mut self, tid: i32, task: &str, until_ns: u64, to: &mut dyn Receive) {
        while let Some(row) = self.changes.get_mut(&tid).and_then(|rows| rows.pop_front_if(|row| row.time_ns <= until_ns)) {
            self.stop(tid, task.to_owned(), row.state, row.time_ns, to);
        }
    }

    fn finish(mut self, to: &mut dyn Receive) {
        for tid in self.changes.keys().copied().collect::<Vec<i32>>() {
            let task = self.names.get(&tid).cloned().unwrap_or_default();
            self.change(tid, &task, u64::MAX, to);
        }
        self.threads.iter().for_each(|(tid, state)| state.pass_on(*tid, None, to));
    }
}

impl State {
    fn pass_on(&self, tid: i32, end_ns: Option<u64>, to: &mut dyn Receive) {
        let dur = Cell::from(end_ns.map(|end_ns| end_ns.saturating_sub(self.since_ns)));
        let core = self.core.map_or(Cell::Null, |core| Cell::Whole(core.into()));
        to.state(&[self.since_ns.into(), dur, self.task.as_str().into(), Cell::Whole(tid.into()), core, self.name.into()]);
    }
}
