//! Completed calls of functions → strictly nested slices.
//!
//! A call is recorded at its exit, so a caller comes after all calls that it made. [`Nest`] puts them together. Calls that have
//! ended wait as a forest. The next call takes those trees as children that lie within it and are deeper. Complete trees (a call
//! of depth 0 has no caller) are written in order of time.
//!
//! A caller may end much later than its callees, or never. Then trees are written before their caller is known, the oldest first,
//! so that at most [`HELD_CALLS`] calls wait. If the caller comes later, it is written late, with its own time, and the viewer
//! sorts. But the viewer keeps the written order of operations with equal time stamps. So in a row of trees that may share an
//! unknown caller, operations with the time stamp of the row's begin are **held** until the caller is known, because it may begin
//! at the same time.
//!
//! Calls that overlap without nesting (tasks that overlap each other) go to a second nest with a track of its own, and so on. No
//! call is moved, cut, or given a caller that it did not have.

use super::numbers::Numbers;
use super::writer::{Name, Note, NoteValue, Writer, call_begin};
use super::{At, Timeline};
use crate::model::{CoreId, FunctionId, Source, SourceId};
use crate::track::{NameRef, TrackId, TrackKind};

mod nest;

use nest::{Call, Nest};

/// Limit of calls of a nest that wait for their callers.
pub(super) const HELD_CALLS: usize = 512;

/// Limit of nests of a core.
const NESTS: usize = 8;

/// A function, as drawn.
#[derive(Clone)]
pub struct DrawnFunction {
    /// The block that used it last, plus one, and its name and source there.
    block: u64,
    local: (NameRef, u32),
    /// Of an interrupt handler: the track of its calls.
    isr_track: Option<TrackId>,
    /// Fields that each block needs once. They are separate so that the remaining fields of many functions fit into the
    /// processor's first cache.
    told: Box<(Name, Option<(SourceId, Source)>)>,
}

impl DrawnFunction {
    /// Finds its name and source in the present block.
    #[cold]
    fn enter_block(&mut self, writer: &mut Writer) {
        let (name, source) = &*self.told;
        let source = source.as_ref().map_or(0, |(id, source)| writer.add_source(*id, source).saturating_add(1));
        self.block = writer.block_number() + 1;
        self.local = (NameRef::interned(writer.local(*name)), source);
    }
}

/// The calls of one core.
#[derive(Default)]
pub struct CoreCalls {
    nests: Vec<Nest>,
}

/// Fixed names for calls.
pub struct CallWords {
    depth: Name,
    orphan: Name,
}

impl CallWords {
    pub fn new(writer: &mut Writer) -> CallWords {
        CallWords { depth: writer.name("depth"), orphan: writer.name("caller_lost") }
    }
}

/// The context that a nest needs to write.
struct Ink<'a> {
    writer: &'a mut Writer,
    functions: &'a mut [Option<DrawnFunction>],
    words: &'a CallWords,
}

impl Ink<'_> {
    /// The name and source of a function in the present block, and its track if it handles interrupts. Functions of calls are
    /// always known here: they are prepared before.
    #[inline(always)]
    fn drawn(&mut self, function: FunctionId) -> ((NameRef, u32), Option<TrackId>) {
        let Some(Some(drawn)) = self.functions.get_mut(function.index()) else { return ((NameRef::NONE, 0), None) };
        if drawn.block != self.writer.block_number() + 1 {
            drawn.enter_block(self.writer);
        }
        (drawn.local, drawn.isr_track)
    }

    #[inline(always)]
    fn begin(&mut self, track: TrackId, time_ns: u64, local: (NameRef, u32), depth: Option<i16>, is_orphan: bool) {
        if depth.is_none() && !is_orphan {
            return self.writer.begin_call(track, time_ns, local, &[]);
        }
        self.begin_with_notes(track, time_ns, local, depth, is_orphan);
    }

    #[inline(never)]
    fn begin_with_notes(&mut self, track: TrackId, time_ns: u64, local: (NameRef, u32), depth: Option<i16>, is_orphan: bool) {
        let depth = depth.map(|depth| Note { name: self.words.depth, value: NoteValue::Int(i64::from(depth)) });
        let orphan = is_orphan.then_some(Note { name: self.words.orphan, value: NoteValue::Uint(1) });
        match (depth, orphan) {
            (Some(depth), Some(orphan)) => self.writer.begin_call(track, time_ns, local, &[depth, orphan]),
            (Some(note), None) | (None, Some(note)) => self.writer.begin_call(track, time_ns, local, &[note]),
            (None, None) => self.writer.begin_call(track, time_ns, local, &[]),
        }
    }

    /// Writes a whole tree whose root has depth 0, and where each other call is one deeper than its caller. Before the end of a
    /// call come the begins and ends of all calls that ended before it, its own begin and those of its callers: so the place of
    /// each operation is known. False if a function is new in the present block: names are added in the order of begins.
    #[inline]
    fn tree(&mut self, track: TrackId, calls: &[Call]) -> bool {
        let block = self.writer.block_number() + 1;
        let ops = self.writer.call_ends(track, 2 * calls.len());
        for (index, call) in calls.iter().enumerate() {
            let drawn = match self.functions.get(call.function.index()) {
                Some(Some(drawn)) if drawn.block == block => drawn,
                _ => {
                    self.writer.take_back(2 * calls.len());
                    return false;
                }
            };
            let callers = usize::from(call.depth.cast_unsigned());
            if let Some(end) = ops.get_mut(2 * index + 1 + callers) {
                end.time_ns = call.end_ns;
            }
            if let Some(begin) = ops.get_mut(2 * (index + 1 - usize::from(call.size)) + callers) {
                *begin = call_begin(track, call.begin_ns, drawn.local);
            }
        }
        true
    }

    #[inline(always)]
    fn end(&mut self, track: TrackId, time_ns: u64) {
        self.writer.end_call(track, time_ns);
    }
}

impl Timeline {
    #[inline]
    pub(super) fn call(&mut self, mut call: EndedCall, at: &At<'_>) {
        if let Some(clip) = self.writer.clip() {
            if call.end_ns < clip.start_ns() || call.begin_ns > clip.end_ns() {
                return;
            }
            call.begin_ns = call.begin_ns.max(clip.start_ns());
            call.end_ns = call.end_ns.min(clip.end_ns());
        }
        let known = self.functions.get(call.function.index()).and_then(Option::as_ref);
        let Some(has_track) = known.map(|known| known.isr_track.is_some()).or_else(|| self.meet_function(call.function, at))
        else {
            return;
        };
        // Made twice, so that nothing needs the address of the usual one: it is built where it waits.
        if let Some(nest) = self.cores[at.core.index()].calls.nests.first_mut()
            && nest.add_usual(&Call::new(&call, has_track))
        {
            if nest.is_due(call.depth) {
                let (writer, functions, words) = (&mut self.writer, &mut self.functions, &self.call_words);
                nest.write_due(call.depth, &mut Ink { writer, functions, words });
            }
            return;
        }
        self.add_call(&Call::new(&call, has_track), at);
    }

    /// Adds a call to the first nest that it fits in.
    #[inline(never)]
    fn add_call(&mut self, call: &Call, at: &At<'_>) {
        for number in 0..NESTS {
            if number == self.cores[at.core.index()].calls.nests.len() {
                let track = self.nest_track(at.core, number);
                self.cores[at.core.index()].calls.nests.push(Nest::new(track, number == 0));
            }
            let (writer, functions, words) = (&mut self.writer, &mut self.functions, &self.call_words);
            let mut ink = Ink { writer, functions, words };
            let added = self.cores[at.core.index()].calls.nests[number].add(call, &mut ink);
            if let Some(orphans) = added {
                self.counts.orphan_calls = self.counts.orphan_calls.saturating_add_signed(orphans);
                self.counts.overlapping_calls += u64::from(number > 0);
                return;
            }
        }
        self.counts.undrawn_calls += 1;
    }

    /// Calls of another session follow, or none: waiting calls are written.
    pub(super) fn finish_calls(&mut self) {
        for core in &mut self.cores {
            for mut nest in std::mem::take(&mut core.calls.nests) {
                let (writer, functions, words) = (&mut self.writer, &mut self.functions, &self.call_words);
                nest.finish(&mut Ink { writer, functions, words });
            }
        }
    }

    /// Draws a function from here on. Returns whether its calls have a track of their own; `None` if it is not known.
    #[cold]
    fn meet_function(&mut self, function: FunctionId, at: &At<'_>) -> Option<bool> {
        let entity = at.entities.functions.get(function.index())?;
        let isr_track = entity.isr.map(|isr| self.isr_track(isr, at).0);
        let name = self.writer.name(&entity.name);
        let source = entity.source.and_then(|id| Some((id, at.entities.sources.get(id.index())?.clone())));
        let drawn = DrawnFunction { block: 0, local: (NameRef::NONE, 0), isr_track, told: Box::new((name, source)) };
        if self.functions.len() <= function.index() {
            self.functions.resize(function.index() + 1, None);
        }
        self.functions[function.index()] = Some(drawn);
        Some(isr_track.is_some())
    }

    /// The track of a nest: a thread of the firmware.
    fn nest_track(&mut self, core: CoreId, number: usize) -> TrackId {
        let process = self.firmware();
        let cpu = if self.settings.cores > 1 { format!("CPU {}", core.0) } else { "CPU".to_owned() };
        let (name, text) = match number {
            0 => (cpu, "Work of this processor: completed calls of functions, each within its caller."),
            _ => (
                format!("{cpu}, overlapping {number}"),
                "Calls that overlap others without lying within them, as those of several tasks do.",
            ),
        };
        let pid = self.firmware_pid();
        let kind = TrackKind::Thread { pid, tid: self.layout.numbers.thread_of(pid, Numbers::calls_tid) };
        let rank = u32::from(core.0) * NESTS as u32 + number as u32;
        self.writer.track(Some(process), kind, name.into(), Some(text), rank)
    }
}

/// A call that has ended.
#[derive(Clone, Copy, Debug)]
pub struct EndedCall {
    pub function: FunctionId,
    pub depth: i16,
    pub is_hidden: bool,
    pub begin_ns: u64,
    pub end_ns: u64,
}
