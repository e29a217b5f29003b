//! State machines and active objects: the step for each event, the states, the queue, and the flow of each event from its sender
//! to the step that handles it.
//!
//! Each has a group of its own: a track with its steps, which never overlap, one with its states, and a counter of its queue.
//! Events wait in order; an urgent one goes to the front. An event that is taken out is searched from the front, by its signal;
//! the records of the events before it were lost.

use std::collections::VecDeque;

use super::writer::{Name, Note, NoteValue, SliceName};
use super::{At, Timeline};
use crate::model::{Entities, EventKind, Level, MachineId, MaybeName, NameId, Origin, OriginKind, StepResult};
use crate::track::{Flow, Track, TrackId, TrackKind, Unit};

/// Limit of events of one queue that are followed. In longer queues only the newest have a flow.
const FOLLOWED_EVENTS: usize = 1024;

/// A machine, as drawn.
#[derive(Default)]
pub struct MachineState {
    drawn: Option<Drawn>,
    /// Whether a step is open, whether another machine runs meanwhile, and whether this one is publishing.
    in_step: bool,
    is_preempted: bool,
    is_publishing: bool,
    /// The state in which the step began.
    begun_in: Option<NameId>,
    /// The state of the open slice.
    state: Option<NameId>,
    fill: Option<u32>,
    /// The events in the queue, oldest first.
    waiting: VecDeque<Waiting>,
    /// The event that was taken out and has no step yet.
    taken: Option<Waiting>,
    priority: Option<u32>,
    touched: bool,
}

#[derive(Clone, Copy)]
struct Drawn {
    group: TrackId,
    steps: TrackId,
    states: Option<TrackId>,
    queue: Option<TrackId>,
}

/// An event in a queue.
#[derive(Clone, Copy)]
struct Waiting {
    signal: NameId,
    /// 0: no flow.
    flow: u64,
    since_ns: u64,
    by: Origin,
}

/// State that all machines share.
pub struct MachineWords {
    state: Name,
    result: Name,
    target: Name,
    source: Name,
    sender: Name,
    queued_ns: Name,
    to: Name,
    preempted: Name,
    results: [Name; 3],
    /// By name of the signal: `post …` and `publish …`.
    verbs: Vec<[Option<Name>; 2]>,
    unknown_sender: Option<TrackId>,
    group: Option<TrackId>,
}

const POST: usize = 0;
const PUBLISH: usize = 1;

impl MachineWords {
    pub fn new(writer: &mut super::writer::Writer) -> MachineWords {
        MachineWords {
            state: writer.name("state"),
            result: writer.name("result"),
            target: writer.name("target"),
            source: writer.name("source"),
            sender: writer.name("sender"),
            queued_ns: writer.name("queued_ns"),
            to: writer.name("to"),
            preempted: writer.name("preempted"),
            results: ["transition", "internal", "ignored"].map(|word| writer.name(word)),
            verbs: Vec::new(),
            unknown_sender: None,
            group: None,
        }
    }

    /// Another session has tracks of its own.
    pub fn forget_tracks(&mut self) {
        (self.unknown_sender, self.group) = (None, None);
    }
}

impl Timeline {
    /// Draws an event of a machine. Others are ignored.
    #[inline]
    pub(super) fn machine_event(&mut self, kind: EventKind, at: &At<'_>) {
        match kind {
            EventKind::Posted { to, by, signal, fill, urgent } => {
                self.posted((to, by), signal, urgent, at);
                self.set_fill(to, fill, at);
            }
            EventKind::Taken { machine, signal, fill } => {
                self.touch_machine(machine);
                let state = &mut self.machines[machine.index()];
                state.taken = state.dequeue(signal);
                self.set_fill(machine, fill, at);
            }
            EventKind::StepBegin { machine, signal, state } => self.step_begin(machine, signal, state, at),
            EventKind::StepEnd { machine, result, from, to } => self.step_end(machine, result, (from, to), at),
            EventKind::InState { machine, state } => self.enter_state(machine, state, at),
            EventKind::MachineNote { machine, label } => {
                let track = self.machine(machine).steps;
                let label = self.name_of(label, at);
                self.writer.instant(track, at.time_ns, SliceName::Name(label), &[], None);
            }
            EventKind::Publish { by, signal } => self.publish(by, signal, at),
            EventKind::PublishEnd { by } => {
                if let OriginKind::Machine(machine) = by.kind() {
                    self.publish_end(machine, at.time_ns);
                }
            }
            EventKind::Preempted { machine } => {
                let state = &mut self.machines[machine.index()];
                if state.in_step && !std::mem::replace(&mut state.is_preempted, true) {
                    let track = self.machine(machine).steps;
                    self.writer.begin(track, at.time_ns, SliceName::Name(self.machine_words.preempted), &[], None);
                }
            }
            EventKind::Unpreempted { machine } => self.unpreempt(machine, at.time_ns),
            EventKind::MachinePriority { machine, priority } => {
                self.machines[machine.index()].priority = Some(priority);
            }
            _ => {}
        }
    }

    fn posted(&mut self, (to, by): (MachineId, Origin), signal: NameId, urgent: bool, at: &At<'_>) {
        self.touch_machine(to);
        let mut flow = 0;
        if self.settings.operations {
            let track = self.origin_track(by, at);
            flow = self.writer.flow();
            let name = self.verb(POST, signal, at);
            let target = self.machine_name(to, at);
            let note = Note { name: self.machine_words.to, value: NoteValue::Name(target) };
            self.writer.instant(track, at.time_ns, SliceName::Name(name), &[note], Some((flow, Flow::Out)));
        }
        let item = Waiting { signal, flow, since_ns: at.time_ns, by };
        let waiting = &mut self.machines[to.index()].waiting;
        if waiting.len() >= FOLLOWED_EVENTS {
            waiting.pop_front();
        }
        if urgent { waiting.push_front(item) } else { waiting.push_back(item) }
    }

    fn step_begin(&mut self, machine: MachineId, signal: NameId, state: MaybeName, at: &At<'_>) {
        self.touch_machine(machine);
        if self.machines[machine.index()].in_step {
            self.close_step(machine, at.time_ns, self.words.loss);
        }
        let drawn = self.machine(machine);
        let own = &mut self.machines[machine.index()];
        own.in_step = true;
        own.begun_in = state.get();
        let item = own.taken.take().filter(|item| item.signal == signal);
        let is_known = own.state.is_some();
        let words = &self.machine_words;
        let mut notes = [Note { name: words.state, value: NoteValue::Uint(0) }; 3];
        let mut count = 0;
        let mut flow = None;
        let (queued_ns, sender, in_state) = (words.queued_ns, words.sender, words.state);
        if let Some(item) = item {
            notes[count] = Note { name: queued_ns, value: NoteValue::Uint(at.time_ns.saturating_sub(item.since_ns)) };
            count += 1;
            flow = Some(item.flow).filter(|&flow| flow != 0);
            if let OriginKind::Machine(by) = item.by.kind() {
                notes[count] = Note { name: sender, value: NoteValue::Name(self.machine_name(by, at)) };
                count += 1;
            }
        }
        if let Some(state) = state.get() {
            notes[count] = Note { name: in_state, value: NoteValue::Name(self.name_of(state, at)) };
            count += 1;
            if !is_known {
                self.enter_state(machine, state, at);
            }
        }
        let label = self.name_of(signal, at);
        self.writer.begin(drawn.steps, at.time_ns, SliceName::Name(label), &notes[..count], flow);
    }

    fn step_end(&mut self, machine: MachineId, result: StepResult, (from, to): (MaybeName, MaybeName), at: &At<'_>) {
        self.touch_machine(machine);
        self.publish_end(machine, at.time_ns);
        self.unpreempt(machine, at.time_ns);
        let drawn = self.machine(machine);
        // Without a begin it began before a gap: only its end is known.
        if std::mem::take(&mut self.machines[machine.index()].in_step) {
            let words = &self.machine_words;
            let (result_name, source, target) = (words.result, words.source, words.target);
            let mut notes = [Note { name: result_name, value: NoteValue::Name(words.results[result as usize]) }; 3];
            let mut count = 1;
            // Mostly it is the state in which the step began; otherwise a state around it.
            let begun_in = self.machines[machine.index()].begun_in;
            if let Some(from) = from.get().filter(|&from| Some(from) != begun_in) {
                notes[count] = Note { name: source, value: NoteValue::Name(self.name_of(from, at)) };
                count += 1;
            }
            if let Some(to) = to.get() {
                notes[count] = Note { name: target, value: NoteValue::Name(self.name_of(to, at)) };
                count += 1;
            }
            self.writer.end_with(drawn.steps, at.time_ns, &notes[..count], None);
        }
        if let Some(to) = to.get() {
            self.enter_state(machine, to, at);
        }
    }

    fn enter_state(&mut self, machine: MachineId, to: NameId, at: &At<'_>) {
        self.touch_machine(machine);
        let before = self.machines[machine.index()].state.replace(to);
        let track = self.states_track(machine);
        if before.is_some() {
            self.writer.end(track, at.time_ns);
        }
        let label = self.name_of(to, at);
        self.writer.begin(track, at.time_ns, SliceName::Name(label), &[], None);
    }

    fn publish(&mut self, by: Origin, signal: NameId, at: &At<'_>) {
        if !self.settings.operations {
            return;
        }
        let name = self.verb(PUBLISH, signal, at);
        let track = self.origin_track(by, at);
        match by.kind() {
            OriginKind::Machine(machine) if self.machines[machine.index()].in_step => {
                self.publish_end(machine, at.time_ns);
                self.machines[machine.index()].is_publishing = true;
                self.writer.begin(track, at.time_ns, SliceName::Name(name), &[], None);
            }
            _ => self.writer.instant(track, at.time_ns, SliceName::Name(name), &[], None),
        }
    }

    fn publish_end(&mut self, machine: MachineId, time_ns: u64) {
        let state = &mut self.machines[machine.index()];
        if std::mem::take(&mut state.is_publishing)
            && let Some(drawn) = state.drawn
        {
            // Begun by the machine itself, and so not above a slice of another machine that runs meanwhile.
            self.unpreempt(machine, time_ns);
            self.writer.end(drawn.steps, time_ns);
        }
    }

    fn unpreempt(&mut self, machine: MachineId, time_ns: u64) {
        let state = &mut self.machines[machine.index()];
        if std::mem::take(&mut state.is_preempted)
            && let Some(drawn) = state.drawn
        {
            self.writer.end(drawn.steps, time_ns);
        }
    }

    #[inline]
    fn set_fill(&mut self, machine: MachineId, fill: Level, at: &At<'_>) {
        let Some(fill) = fill.get() else { return };
        if self.machines[machine.index()].fill.replace(fill) != Some(fill) {
            let track = self.queue_track(machine);
            self.writer.counter(track, at.time_ns, i64::from(fill));
        }
    }

    fn close_step(&mut self, machine: MachineId, time_ns: u64, why: Name) {
        self.publish_end(machine, time_ns);
        self.unpreempt(machine, time_ns);
        let state = &mut self.machines[machine.index()];
        if std::mem::take(&mut state.in_step)
            && let Some(drawn) = state.drawn
        {
            let note = Note { name: self.words.closed, value: NoteValue::Name(why) };
            self.writer.end_with(drawn.steps, time_ns, &[note], None);
        }
    }

    /// Discards a machine's state: open slices end here, marked with `why`.
    pub(super) fn forget_machine(&mut self, machine: MachineId, time_ns: u64, why: Name) {
        self.close_step(machine, time_ns, why);
        let state = &mut self.machines[machine.index()];
        state.touched = false;
        state.waiting.clear();
        (state.taken, state.fill) = (None, None);
        if state.state.take().is_some()
            && let Some(track) = state.drawn.and_then(|drawn| drawn.states)
        {
            let note = Note { name: self.words.closed, value: NoteValue::Name(why) };
            self.writer.end_with(track, time_ns, &[note], None);
        }
    }

    #[inline]
    fn touch_machine(&mut self, machine: MachineId) {
        let state = &mut self.machines[machine.index()];
        if !state.touched {
            state.touched = true;
            self.touched.machines.push(machine);
        }
    }

    fn machine_name(&mut self, machine: MachineId, at: &At<'_>) -> Name {
        match self.machine_names.get(machine.index()) {
            Some(Some(name)) => *name,
            _ => {
                let name = self.writer.name(&at.entities.machines[machine.index()].name);
                self.machine_names.resize(self.machine_names.len().max(machine.index() + 1), None);
                self.machine_names[machine.index()] = Some(name);
                name
            }
        }
    }

    fn verb(&mut self, verb: usize, signal: NameId, at: &At<'_>) -> Name {
        if let Some(Some(name)) = self.machine_words.verbs.get(signal.index()).map(|verbs| verbs[verb]) {
            return name;
        }
        let word = ["post", "publish"][verb];
        let text = at.entities.names.get(signal.index()).map_or("", |text| text);
        let name = self.writer.name(&format!("{word} {text}"));
        let verbs = &mut self.machine_words.verbs;
        verbs.resize(verbs.len().max(signal.index() + 1), [None; 2]);
        verbs[signal.index()][verb] = Some(name);
        name
    }

    fn origin_track(&mut self, by: Origin, at: &At<'_>) -> TrackId {
        match by.kind() {
            OriginKind::Machine(machine) => self.machine(machine).steps,
            OriginKind::Lane(lane) => self.lane_track(lane, at),
            OriginKind::Unknown => {
                if let Some(track) = self.machine_words.unknown_sender {
                    return track;
                }
                let group = self.machines_group();
                let text = "Events whose sender isn't known.";
                let track = self.writer.track(Some(group), TrackKind::Slices, "unknown sender".into(), Some(text), u32::MAX);
                self.machine_words.unknown_sender = Some(track);
                track
            }
        }
    }

    fn machines_group(&mut self) -> TrackId {
        if let Some(track) = self.machine_words.group {
            return track;
        }
        let firmware = self.firmware();
        let track = self.writer.track(Some(firmware), TrackKind::Group, "Active objects".into(), None, 0);
        self.machine_words.group = Some(track);
        track
    }

    #[inline]
    fn machine(&mut self, machine: MachineId) -> Drawn {
        match self.machines[machine.index()].drawn {
            Some(drawn) => drawn,
            None => self.draw_machine(machine),
        }
    }

    #[cold]
    fn draw_machine(&mut self, machine: MachineId) -> Drawn {
        let group = self.writer.reserve_track();
        // All are described under the groups of the session in which they are used first.
        let parent = self.machines_group();
        let steps = self.writer.track(Some(group), TrackKind::Slices, "steps".into(), Some("Run-to-completion steps."), 0);
        let drawn = Drawn { group, steps, states: None, queue: None };
        self.machines[machine.index()].drawn = Some(drawn);
        self.machine_parents.push((machine, parent));
        drawn
    }

    fn states_track(&mut self, machine: MachineId) -> TrackId {
        let drawn = self.machine(machine);
        if let Some(track) = drawn.states {
            return track;
        }
        let track = self.writer.track(Some(drawn.group), TrackKind::Slices, "state".into(), None, 1);
        self.machines[machine.index()].drawn = Some(Drawn { states: Some(track), ..drawn });
        track
    }

    fn queue_track(&mut self, machine: MachineId) -> TrackId {
        let drawn = self.machine(machine);
        if let Some(track) = drawn.queue {
            return track;
        }
        let kind = TrackKind::Counter { unit: Unit::Named("events") };
        let track = self.writer.track(Some(drawn.group), kind, "queue".into(), Some("Events waiting in the queue."), 2);
        self.machines[machine.index()].drawn = Some(Drawn { queue: Some(track), ..drawn });
        track
    }

    /// The groups of all machines that were drawn, those of high priority first.
    pub(super) fn describe_machines(&mut self, entities: &Entities, tracks: &mut Vec<Track>) {
        for &(machine, parent) in &self.machine_parents {
            let (entity, state) = (&entities.machines[machine.index()], &self.machines[machine.index()]);
            let Some(drawn) = state.drawn else { continue };
            // Machines with a known priority come first.
            let rank = match state.priority {
                Some(priority) => (1 << 16) - i32::try_from(priority.min(1 << 15)).unwrap_or(0),
                None => (1 << 20) + i32::try_from(machine.0).unwrap_or(0),
            };
            let mut description = entity.description.as_deref().unwrap_or("").to_owned();
            if let Some(priority) = state.priority {
                description += &format!("{}priority {priority}", if description.is_empty() { "" } else { ", " });
            }
            tracks.push(Track {
                id: drawn.group,
                parent: Some(parent),
                kind: TrackKind::Group,
                name: entity.name.clone(),
                description: (!description.is_empty()).then(|| description.into()),
                rank,
            });
        }
    }
}

impl MachineState {
    /// The oldest event with this signal. The records of the events before it were lost.
    #[inline]
    fn dequeue(&mut self, signal: NameId) -> Option<Waiting> {
        if self.waiting.front().is_some_and(|item| item.signal == signal) {
            return self.waiting.pop_front();
        }
        let position = self.waiting.iter().position(|item| item.signal == signal)?;
        self.waiting.drain(..=position).next_back()
    }
}
