//! Kernel objects: the level of queues and semaphores, the holder of mutexes, and the flow of each item from its sender to its
//! receiver.

use std::collections::VecDeque;

use super::layout::{Group, object_name};
use super::writer::{Name, Note, NoteValue, SliceName};
use super::{At, Timeline};
use crate::model::{Level, ObjectId, ObjectKind, ObjectOp, TaskId, WaitReason, counted, numbered};
use crate::track::{Flow, TrackId, TrackKind, Unit};

/// Limit of items of one object that are followed. In longer queues only the newest have a flow.
const FOLLOWED_ITEMS: usize = 256;

/// An object, as drawn.
#[derive(Default)]
pub struct ObjectState {
    level: Option<u32>,
    pub(super) track: Option<TrackId>,
    /// Capacity in items, and the size of an item in bytes.
    pub(super) capacity: Option<(u32, u32)>,
    pub(super) stream: super::streams::StreamState,
    pub(super) bits: super::bits::BitsState,
    pub(super) timer: super::timers::TimerState,
    verbs: Option<Verbs>,
    /// Items that were put in before the capture began, or that exceed the limit. They come out first.
    unknown_items: u32,
    /// The flows of the items inside, oldest first.
    flows: VecDeque<u64>,
    pub(super) held: Option<Held>,
    /// Given back while a task waited: the flow to the next holder.
    handed_over: Option<(u64, Option<TaskId>)>,
    /// Names of the slices of tasks that wait for it, by reason.
    pub(super) wait_names: [Option<Name>; WaitReason::COUNT],
    /// Number of tasks that wait for it.
    pub(super) waiters: u32,
    touched: bool,
}

/// A mutex being held.
#[derive(Clone, Copy, Debug)]
pub(super) struct Held {
    pub(super) by: Option<TaskId>,
}

/// Names of its operations.
#[derive(Clone, Copy, Debug)]
pub(super) struct Verbs {
    pub(super) create: Name,
    pub(super) send: Name,
    pub(super) receive: Name,
    reset: Name,
    delete: Name,
}

impl Timeline {
    #[allow(clippy::too_many_arguments)]
    pub(super) fn object_op(&mut self, object: ObjectId, op: ObjectOp, level: Level, from_isr: bool, at: &At<'_>) {
        let state = &mut self.cores[at.core.index()];
        state.untraced_isr = from_isr && state.isr_stack.is_empty();
        if self.attempt(object, op, from_isr, at) {
            return;
        }
        self.touch_object(object);
        if at.entities.objects[object.index()].kind.is_mutex() {
            return self.mutex_op(object, op, level, at);
        }
        let verbs = self.verbs(object, at);
        let track = if self.settings.operations { self.context(from_isr, at) } else { None };
        let (verb, flow) = match op {
            ObjectOp::Create => (verbs.create, None),
            ObjectOp::Send | ObjectOp::Overwrite => {
                // An item from an unknown sender is followed without a flow.
                let flow = track.map(|_| self.writer.flow());
                self.objects[object.index()].push_item(flow.unwrap_or(0), op, level);
                (verbs.send, flow.map(|flow| (flow, Flow::Out)))
            }
            ObjectOp::Receive => {
                let flow = self.objects[object.index()].pop_item(level);
                (verbs.receive, flow.filter(|&flow| flow != 0).map(|flow| (flow, Flow::In)))
            }
            ObjectOp::Reset => {
                self.objects[object.index()].forget_items(0);
                (verbs.reset, None)
            }
            ObjectOp::Peek | ObjectOp::SendFailed | ObjectOp::ReceiveFailed | ObjectOp::PeekFailed => return,
            ObjectOp::Delete => {
                let state = &mut self.objects[object.index()];
                state.forget_items(0);
                state.level = None;
                (verbs.delete, None)
            }
        };
        if let Some(track) = track {
            self.writer.instant(track, at.time_ns, SliceName::Name(verb), &[], flow);
        }
        if let Some(level) = level.get() {
            self.set_level(object, level, at);
        }
    }

    /// Draws an operation that changes nothing (a peek, or a failed operation) as an instant. False for any other.
    pub(super) fn attempt(&mut self, object: ObjectId, op: ObjectOp, from_isr: bool, at: &At<'_>) -> bool {
        let (verb, taken_verb, result) = match op {
            ObjectOp::Peek => ("peek", "peek", ""),
            ObjectOp::PeekFailed => ("peek", "peek", " failed"),
            ObjectOp::SendFailed => ("send", "give", " failed"),
            ObjectOp::ReceiveFailed => ("receive", "take", " failed"),
            _ => return false,
        };
        let track = if self.settings.operations { self.context(from_isr, at) } else { None };
        if let Some(track) = track {
            let entity = &at.entities.objects[object.index()];
            let verb = if entity.kind.is_taken() { taken_verb } else { verb };
            let name = self.writer.name(&format!("{verb} {}{result}", object_name(entity)));
            self.writer.instant(track, at.time_ns, SliceName::Name(name), &[], None);
        }
        true
    }

    fn mutex_op(&mut self, object: ObjectId, op: ObjectOp, level: Level, at: &At<'_>) {
        match op {
            ObjectOp::Receive if !at.entities.objects[object.index()].giving_is_unrecorded => self.mutex_taken(object, at),
            ObjectOp::Receive => {}
            ObjectOp::Send | ObjectOp::Overwrite => self.mutex_given(object, at.time_ns),
            ObjectOp::Reset => self.close_held(object, at.time_ns, self.words.loss),
            ObjectOp::Peek | ObjectOp::SendFailed | ObjectOp::ReceiveFailed | ObjectOp::PeekFailed => return,
            ObjectOp::Create | ObjectOp::Delete => {
                self.close_held(object, at.time_ns, self.words.deleted);
                let verbs = self.verbs(object, at);
                let verb = if op == ObjectOp::Create { verbs.create } else { verbs.delete };
                if self.settings.operations
                    && let Some(track) = self.context(false, at)
                {
                    self.writer.instant(track, at.time_ns, SliceName::Name(verb), &[], None);
                }
            }
        }
        self.objects[object.index()].level = level.get();
    }

    fn mutex_taken(&mut self, object: ObjectId, at: &At<'_>) {
        // It still has a holder, so the record of that task's give is missing.
        self.close_held(object, at.time_ns, self.words.loss);
        let track = self.object_track(object, at);
        let by = self.cores[at.core.index()].current;
        let label = self.held_by(by);
        let mut notes: Vec<Note> = Vec::new();
        let mut flow = None;
        if let Some((id, from)) = self.objects[object.index()].handed_over.take()
            && from != by
        {
            flow = Some(id);
            if let Some(from) = from.and_then(|from| self.tasks[from.index()].drawn) {
                notes.push(Note { name: self.words.from, value: NoteValue::Name(from.comm) });
            }
        }
        let waited = by.and_then(|by| self.tasks[by.index()].last_wait.take());
        if let Some((waited_for, since_ns)) = waited
            && waited_for == object
        {
            notes.push(Note { name: self.words.wait_ns, value: NoteValue::Uint(at.time_ns.saturating_sub(since_ns)) });
        }
        self.writer.begin(track, at.time_ns, SliceName::Name(label), &notes, flow);
        self.objects[object.index()].held = Some(Held { by });
    }

    /// The name of a mutex's slice while `task` holds it.
    pub(super) fn held_by(&mut self, task: Option<TaskId>) -> Name {
        let state = task.map(|task| &mut self.tasks[task.index()]);
        let Some((state, drawn)) = state.and_then(|state| state.drawn.map(|drawn| (state, drawn))) else {
            return self.words.held;
        };
        let writer = &mut self.writer;
        *state.held_by.get_or_insert_with(|| {
            let phrase = format!("held by {}", writer.text_of(drawn.comm));
            writer.name(&phrase)
        })
    }

    fn mutex_given(&mut self, object: ObjectId, time_ns: u64) {
        let state = &mut self.objects[object.index()];
        let (Some(held), Some(track)) = (state.held.take(), state.track) else { return };
        if state.waiters == 0 {
            state.handed_over = None;
            return self.writer.end(track, time_ns);
        }
        let flow = self.writer.flow();
        self.objects[object.index()].handed_over = Some((flow, held.by));
        self.writer.end_with(track, time_ns, &[], Some(flow));
    }

    pub(super) fn close_held(&mut self, object: ObjectId, time_ns: u64, why: Name) {
        let state = &mut self.objects[object.index()];
        if let (Some(_), Some(track)) = (state.held.take(), state.track) {
            let note = Note { name: self.words.closed, value: NoteValue::Name(why) };
            self.writer.end_with(track, time_ns, &[note], None);
        }
    }

    /// The track of the code that runs on a core: an interrupt, or a task.
    #[inline]
    pub(super) fn context(&mut self, from_isr: bool, at: &At<'_>) -> Option<TrackId> {
        if let Some(&isr) = self.cores[at.core.index()].isr_stack.last() {
            return Some(self.isr_track(isr, at).0);
        }
        if from_isr {
            return Some(self.cores[at.core.index()].untraced_isr_track.unwrap_or_else(|| self.new_untraced_track(at)));
        }
        let task = self.cores[at.core.index()].current?;
        self.tasks[task.index()].drawn.filter(|drawn| !drawn.idle).map(|drawn| drawn.thread)
    }

    #[cold]
    fn new_untraced_track(&mut self, at: &At<'_>) -> TrackId {
        let group = self.group(Group::Interrupts);
        let name = if self.settings.cores > 1 { format!("untraced (core {})", at.core.0) } else { "untraced".to_owned() };
        let text = "Operations from interrupts that are not traced themselves.";
        let rank = u32::from(at.core.0) * 4096 + 4095;
        let track = self.writer.track(Some(group), TrackKind::Slices, name.into(), Some(text), rank);
        self.core(at.core).untraced_isr_track = Some(track);
        track
    }

    /// A level reported without an operation.
    pub(super) fn object_level(&mut self, object: ObjectId, level: u32, at: &At<'_>) {
        self.touch_object(object);
        if at.entities.objects[object.index()].kind.is_mutex() {
            self.objects[object.index()].level = Some(level);
            return;
        }
        self.objects[object.index()].forget_items(level);
        self.objects[object.index()].stream.holds_unknown(level);
        self.set_level(object, level, at);
    }

    /// A level that an object had since an earlier time.
    pub(super) fn late_object_level(&mut self, object: ObjectId, level: u32, since_ns: u64, at: &At<'_>) {
        self.touch_object(object);
        self.set_level(object, level, &at.at_time(since_ns));
    }

    #[inline]
    pub(super) fn set_level(&mut self, object: ObjectId, level: u32, at: &At<'_>) {
        let state = &mut self.objects[object.index()];
        if state.level.replace(level) == Some(level) {
            return;
        }
        let track = state.track.unwrap_or_else(|| self.new_object_track(object, at));
        self.writer.counter(track, at.time_ns, i64::from(level));
    }

    pub(super) fn touch_object(&mut self, object: ObjectId) {
        let state = &mut self.objects[object.index()];
        if !state.touched {
            state.touched = true;
            self.touched.objects.push(object);
        }
    }

    /// Discards an object's state: open slices end here, marked with `why`.
    pub(super) fn forget_object(&mut self, object: ObjectId, time_ns: u64, why: Name) {
        self.close_held(object, time_ns, why);
        self.close_timer(object, time_ns, why);
        let state = &mut self.objects[object.index()];
        state.forget_items(0);
        state.bits.forget();
        state.level = None;
        state.handed_over = None;
        state.waiters = 0;
        state.touched = false;
    }

    #[inline]
    pub(super) fn object_track(&mut self, object: ObjectId, at: &At<'_>) -> TrackId {
        self.objects[object.index()].track.unwrap_or_else(|| self.new_object_track(object, at))
    }

    #[cold]
    fn new_object_track(&mut self, object: ObjectId, at: &At<'_>) -> TrackId {
        let entity = &at.entities.objects[object.index()];
        let kind = match entity.kind {
            kind if kind.is_mutex() || kind == ObjectKind::Timer => TrackKind::Slices,
            kind if kind.is_stream() => TrackKind::Counter { unit: Unit::Bytes },
            ObjectKind::EventGroup | ObjectKind::MemoryPool => TrackKind::Counter { unit: Unit::None },
            ObjectKind::CountingSemaphore | ObjectKind::BinarySemaphore => TrackKind::Counter { unit: Unit::Count },
            _ => TrackKind::Counter { unit: Unit::Named("items") },
        };
        let mut description = numbered(entity.kind.noun(), entity.number);
        match self.objects[object.index()].capacity {
            Some((bytes, _)) if entity.kind.is_stream() => description += &format!(" of {}", counted(bytes, "byte")),
            Some((items, item_bytes)) if item_bytes > 0 => {
                description += &format!(" of {} of {}", counted(items, "item"), counted(item_bytes, "byte"));
            }
            Some((items, _)) if items > 1 => description += &format!(" of at most {items}"),
            _ => {}
        }
        let group = self.group(Group::Objects);
        let mut name = object_name(entity);
        // A mutex and an event group of the same name, as those of NetX, are two tracks.
        if *self.object_names.entry((group, name.clone())).or_insert(entity.kind) != entity.kind {
            name += &format!(" ({})", entity.kind.noun());
        }
        // Kinds that are numbered separately are adjacent.
        let first = match entity.kind {
            kind if kind.is_stream() => 1 << 24,
            ObjectKind::EventGroup => 2 << 24,
            ObjectKind::Timer => 3 << 24,
            _ => 0,
        };
        let track = self.writer.track(Some(group), kind, name.into(), Some(&description), entity.number.saturating_add(first));
        self.objects[object.index()].track = Some(track);
        track
    }

    #[inline]
    pub(super) fn verbs(&mut self, object: ObjectId, at: &At<'_>) -> Verbs {
        self.objects[object.index()].verbs.unwrap_or_else(|| self.new_verbs(object, at))
    }

    #[cold]
    fn new_verbs(&mut self, object: ObjectId, at: &At<'_>) -> Verbs {
        let entity = &at.entities.objects[object.index()];
        let name = object_name(entity);
        let (send, receive) = if entity.kind.is_taken() { ("give", "take") } else { ("send", "receive") };
        let mut phrase = |verb: &str| self.writer.name(&format!("{verb} {name}"));
        let verbs = Verbs {
            create: phrase("create"),
            send: phrase(send),
            receive: phrase(receive),
            reset: phrase("reset"),
            delete: phrase("delete"),
        };
        self.objects[object.index()].verbs = Some(verbs);
        verbs
    }
}

impl ObjectState {
    /// Whether something happened to it since the last loss.
    pub(super) fn is_touched(&self) -> bool {
        self.touched
    }

    /// An item goes in. `level` is the level after that.
    fn push_item(&mut self, flow: u64, op: ObjectOp, level: Level) {
        if op == ObjectOp::Overwrite {
            self.forget_items(0);
        } else if let Some(after) = level.get() {
            self.expect_items(after.saturating_sub(1));
        }
        if self.flows.len() >= FOLLOWED_ITEMS {
            self.flows.pop_front();
            self.unknown_items = self.unknown_items.saturating_add(1);
        }
        self.flows.push_back(flow);
    }

    /// The oldest item comes out: its flow, if known. `level` is the level after that.
    fn pop_item(&mut self, level: Level) -> Option<u64> {
        if let Some(after) = level.get() {
            self.expect_items(after.saturating_add(1));
        }
        if self.unknown_items > 0 {
            self.unknown_items -= 1;
            return None;
        }
        self.flows.pop_front()
    }

    /// The capture reports the number of items inside. Items not seen going in are older; items not seen coming out are gone.
    fn expect_items(&mut self, items: u32) {
        let followed = u32::try_from(self.flows.len()).unwrap_or(u32::MAX);
        if items >= followed {
            self.unknown_items = items - followed;
        } else {
            self.unknown_items = 0;
            self.flows.drain(..(followed - items) as usize);
        }
    }

    /// Drops the items inside.
    fn forget_items(&mut self, level: u32) {
        self.flows.clear();
        self.stream.forget();
        self.unknown_items = level;
    }
}
