//! Gathers operations into [`Block`]s: interns names, numbers tracks, and seals a block when it is full.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::clip::{Clip, Decision};
use super::numbers::Numbers;
use crate::model::{CodeId, Function, SampledCode, Source, SourceId, TextArena, TextRef};
use crate::track::{
    Annotation, AnnotationValue, Block, Flow, Grade, NameRef, Op, OpKind, SampleRow, SampledStack, SchedRows, StateRow, Track,
    TrackId, TrackKind,
};

/// A block is sealed once it has this number of operations. It is part of the output's definition: another number gives other
/// bytes. Blocks are written and read by one stage after the other, so a few of them must fit into a processor's cache. The
/// smaller they are, the more often their names are repeated.
pub const BLOCK_OPS: usize = 1 << 14;

/// The last event before the seal may add a few more.
const BLOCK_ROOM: usize = BLOCK_OPS + BLOCK_OPS / 64;

/// Limit of the bytes of its texts.
const BLOCK_TEXT_BYTES: usize = 1 << 20;

/// A name known for the whole conversion.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Name(u32);

struct NameEntry {
    /// In [`Writer::name_texts`].
    text: TextRef,
    /// The number of the block that used it last, plus one.
    block: u64,
    /// Its index there.
    local: u32,
}

/// The name of a slice: a name known before, or a text of the capture.
#[derive(Clone, Copy, Debug)]
pub enum SliceName<'a> {
    /// A name.
    Name(Name),
    /// A name of the present block, by its index.
    Local(u32),
    /// A text.
    Text(&'a str),
}

/// An annotation, before it is added to a block.
#[derive(Clone, Copy, Debug)]
pub struct Note {
    pub name: Name,
    pub value: NoteValue,
}

/// The value of an annotation.
#[derive(Clone, Copy, Debug)]
pub enum NoteValue {
    Uint(u64),
    Int(i64),
    /// An address.
    Hex(u64),
    Float(f64),
    Name(Name),
    /// A text put into the present block with [`Writer::add_text`].
    Text(u32),
}

/// Builds blocks. Operations come in order of time, except those that are known late.
pub struct Writer {
    block: Block,
    sealed: Vec<Block>,
    spare: Vec<Block>,
    spare_rows: Vec<SchedRows>,
    /// The block is to be sealed once it has this number of operations; 0: now, because of its texts, annotations or samples.
    limit: usize,
    /// The number of log messages in the block with a grade. Each has two annotations more.
    graded_logs: usize,
    names: Vec<NameEntry>,
    /// The texts of names, side by side: most blocks use most of them, so they should fit into the processor's caches.
    name_texts: TextArena,
    by_text: FxHashMap<Arc<str>, Name>,
    next_track: u32,
    next_flow: u64,
    clip: Option<Clip>,
    /// By source: the number of the block that used it last, plus one, and its index there.
    sources: Vec<(u64, u32)>,
    /// The same of sampled code.
    codes: Vec<(u64, u32)>,
}

impl Writer {
    pub fn new(clip: Option<Clip>) -> Writer {
        Writer {
            block: Block { ops: Vec::with_capacity(BLOCK_ROOM), ..Block::default() },
            sealed: Vec::new(),
            spare: Vec::new(),
            spare_rows: Vec::new(),
            limit: BLOCK_OPS,
            graded_logs: 0,
            names: Vec::new(),
            name_texts: TextArena::default(),
            by_text: FxHashMap::default(),
            next_track: 1,
            next_flow: 1,
            clip,
            sources: Vec::new(),
            codes: Vec::new(),
        }
    }

    /// Begins with the numbers that are free. To be called before anything is written.
    pub fn go_on_from(&mut self, numbers: &Numbers) {
        (self.next_track, self.next_flow) = (numbers.next_track, numbers.next_flow);
        self.block.number = numbers.next_block;
    }

    /// Returns the numbers that are free. To be called after everything is sealed.
    pub fn leave_to(&self, numbers: &mut Numbers) {
        (numbers.next_track, numbers.next_flow) = (self.next_track, self.next_flow);
        numbers.next_block = self.block.number;
    }

    /// Interns a name. Names are those of entities and phrases made of them: their number does not grow with the input.
    pub fn name(&mut self, text: &str) -> Name {
        if let Some(&name) = self.by_text.get(text) {
            return name;
        }
        let name = Name(u32::try_from(self.names.len()).unwrap_or(u32::MAX));
        self.names.push(NameEntry { text: self.name_texts.add(text), block: 0, local: 0 });
        self.by_text.insert(text.into(), name);
        name
    }

    pub fn text_of(&self, name: Name) -> Arc<str> {
        self.name_texts.get(self.names[name.0 as usize].text).into()
    }

    /// The index of a name in the present block.
    #[inline]
    pub fn local(&mut self, name: Name) -> u32 {
        let entry = &self.names[name.0 as usize];
        if entry.block == self.block.number + 1 { entry.local } else { self.add_local(name) }
    }

    /// A separate function, so that [`Writer::local`] is small.
    #[inline(never)]
    fn add_local(&mut self, name: Name) -> u32 {
        let entry = &mut self.names[name.0 as usize];
        entry.block = self.block.number + 1;
        entry.local = self.block.names.add(self.name_texts.get(entry.text));
        entry.local
    }

    /// A number for a track that will be described at the end.
    pub fn reserve_track(&mut self) -> TrackId {
        let id = TrackId(self.next_track);
        self.next_track += 1;
        id
    }

    /// Describes a new track, before its first use.
    pub fn track(
        &mut self,
        parent: Option<TrackId>,
        kind: TrackKind,
        name: Arc<str>,
        description: Option<&str>,
        rank: u32,
    ) -> TrackId {
        let id = self.reserve_track();
        self.describe(Track {
            id,
            parent,
            kind,
            name,
            description: description.map(Arc::from),
            rank: i32::try_from(rank).unwrap_or(i32::MAX),
        });
        id
    }

    fn describe(&mut self, track: Track) {
        let value = self.block.tracks.len() as i64;
        let id = track.id;
        self.block.tracks.push(track);
        let time_ns = self.block.ops.last().map_or(0, |op| op.time_ns);
        self.block.ops.push(Op {
            time_ns,
            value,
            track: id,
            name: NameRef::NONE,
            args_start: 0,
            args_len: 0,
            kind: OpKind::Describe,
            flow: Flow::None,
        });
    }

    /// A number for a new flow.
    pub fn flow(&mut self) -> u64 {
        let flow = self.next_flow;
        self.next_flow += 1;
        flow
    }

    /// Adds an operation. It is passed in pieces and built in place. An operation that is built elsewhere with small stores and
    /// then copied with large loads stalls the processor.
    #[inline(always)]
    fn push(&mut self, op: Op) {
        let Op { time_ns, value, track, name, args_start, args_len, kind, flow } = op;
        if self.clip.is_some() {
            return self.push_clipped(time_ns, value, track, name, args_start, (args_len, kind, flow));
        }
        self.block.ops.push(Op { time_ns, value, track, name, args_start, args_len, kind, flow });
    }

    /// A separate function, so that [`Writer::push`] is small enough to be inlined.
    #[cold]
    #[inline(never)]
    fn push_clipped(
        &mut self,
        time_ns: u64,
        value: i64,
        track: TrackId,
        name: NameRef,
        args_start: u32,
        (args_len, kind, flow): (u8, OpKind, Flow),
    ) {
        let mut op = Op { time_ns, value, track, name, args_start, args_len, kind, flow };
        let Some(clip) = &mut self.clip else { return };
        match clip.judge(&mut op, &self.block) {
            Decision::Write => self.block.ops.push(op),
            Decision::Drop => {}
            Decision::Enter => {
                self.enter_clip();
                self.push(op);
            }
        }
    }

    /// The time range begins here: open slices continue from there.
    fn enter_clip(&mut self) {
        let Some(mut clip) = self.clip.take() else { return };
        let from_ns = clip.start_ns();
        for (track, text) in clip.enter() {
            let name = self.label(SliceName::Text(&text));
            self.block.ops.push(plain(OpKind::Begin, track, from_ns, name, 0));
        }
        for (track, (kind, value)) in clip.take_counters() {
            self.block.ops.push(plain(kind, track, from_ns, NameRef::NONE, value));
        }
        self.clip = Some(clip);
    }

    #[inline(always)]
    fn label(&mut self, label: SliceName<'_>) -> NameRef {
        match label {
            SliceName::Name(name) => NameRef::interned(self.local(name)),
            SliceName::Local(local) => NameRef::interned(local),
            SliceName::Text(text) => NameRef::text(self.add_text(text)),
        }
    }

    /// Adds a text of the capture to the present block.
    #[inline(never)]
    pub fn add_text(&mut self, text: &str) -> u32 {
        let text: TextRef = self.block.texts.add(text);
        self.block.text_refs.push(text);
        if self.block.text_refs.len() >= BLOCK_OPS || self.block.texts.len_bytes() >= BLOCK_TEXT_BYTES {
            self.limit = 0;
        }
        (self.block.text_refs.len() - 1) as u32
    }

    /// The index of a place in the source code in the present block.
    #[inline]
    pub fn add_source(&mut self, id: SourceId, source: &Source) -> u32 {
        match self.sources.get(id.index()) {
            Some(&(block, local)) if block == self.block.number + 1 => local,
            _ => self.add_new_source(id, source),
        }
    }

    /// A separate function, so that [`Writer::add_source`] is small.
    #[inline(never)]
    fn add_new_source(&mut self, id: SourceId, source: &Source) -> u32 {
        if id.index() >= self.sources.len() {
            self.sources.resize(id.index() + 1, (0, 0));
        }
        let local = self.block.sources.add(source);
        self.sources[id.index()] = (self.block.number + 1, local);
        local
    }

    fn notes(&mut self, notes: &[Note]) -> (u32, u8) {
        let start = self.notes_start();
        notes.iter().for_each(|&note| self.note(note));
        self.notes_since(start)
    }

    /// The index of the next event's first annotation. Annotations can be added one by one.
    #[inline]
    pub fn notes_start(&self) -> u32 {
        self.block.args.len() as u32
    }

    /// Adds an annotation of the next event.
    #[inline]
    pub fn note(&mut self, note: Note) {
        let name = self.local(note.name);
        let value = match note.value {
            NoteValue::Uint(value) => AnnotationValue::Uint(value),
            NoteValue::Int(value) => AnnotationValue::Int(value),
            NoteValue::Hex(value) => AnnotationValue::Hex(value),
            NoteValue::Float(value) => AnnotationValue::Float(value),
            NoteValue::Text(index) => AnnotationValue::Text(index),
            NoteValue::Name(value) => AnnotationValue::Name(self.local(value)),
        };
        self.block.args.push(Annotation::new(name, value));
    }

    /// The number of a grade in the present block, one more than its index; 0 if there are too many.
    pub fn grade(&mut self, grade: Grade) -> u8 {
        let grades = &mut self.block.grades;
        let index = grades.iter().position(|known| *known == grade).unwrap_or_else(|| {
            if grades.len() < usize::from(u8::MAX) {
                grades.push(grade);
            }
            grades.len() - 1
        });
        if grades[index] == grade { index as u8 + 1 } else { 0 }
    }

    /// Makes a log message of the next event: to be called before its annotations are added.
    #[inline]
    pub fn log(&mut self, body: u32, source: u32, priority: u8, grade: u8) {
        self.graded_logs += usize::from(grade > 0);
        self.block.args.push(Annotation::log(body, source, priority, grade));
    }

    /// Adds an annotation of the next event, with names and texts of the present block.
    #[inline]
    pub fn arg(&mut self, arg: Annotation) {
        self.block.args.push(arg);
    }

    /// The annotations added since `start`; those beyond the limit of an event are left out.
    fn notes_since(&mut self, start: u32) -> (u32, u8) {
        self.block.args.truncate(start as usize + usize::from(u8::MAX));
        if self.block.args.len() + 2 * self.graded_logs >= 6 * BLOCK_OPS {
            self.limit = 0;
        }
        (start, (self.block.args.len() as u32 - start) as u8)
    }

    /// A slice begins or ends, or an instant, with the annotations added since `start`. Ends have no label.
    #[inline(always)]
    pub fn event_since(
        &mut self,
        start: u32,
        kind: OpKind,
        track: TrackId,
        time_ns: u64,
        label: Option<SliceName<'_>>,
        flow: Option<(u64, Flow)>,
    ) {
        let name = label.map_or(NameRef::NONE, |label| self.label(label));
        self.named_event_since(start, kind, track, time_ns, name, flow);
    }

    /// The same with a name that is in the block already.
    #[inline(always)]
    pub fn named_event_since(
        &mut self,
        start: u32,
        kind: OpKind,
        track: TrackId,
        time_ns: u64,
        name: NameRef,
        flow: Option<(u64, Flow)>,
    ) {
        let (args_start, args_len) = self.notes_since(start);
        let (value, flow) = flow.unwrap_or((0, Flow::None));
        let value = value.cast_signed();
        self.push(Op { time_ns, value, track, name, args_start, args_len, kind, flow });
    }

    /// A slice begins.
    #[inline]
    pub fn begin(&mut self, track: TrackId, time_ns: u64, label: SliceName<'_>, notes: &[Note], flow_in: Option<u64>) {
        let name = self.label(label);
        self.annotated(OpKind::Begin, track, time_ns, name, notes, flow_in, Flow::In);
    }

    /// The innermost slice of a track ends.
    #[inline]
    pub fn end(&mut self, track: TrackId, time_ns: u64) {
        self.push(plain(OpKind::End, track, time_ns, NameRef::NONE, 0));
    }

    /// The innermost slice of a track ends, with annotations.
    pub fn end_with(&mut self, track: TrackId, time_ns: u64, notes: &[Note], flow_out: Option<u64>) {
        self.annotated(OpKind::End, track, time_ns, NameRef::NONE, notes, flow_out, Flow::Out);
    }

    /// The number of the present block: names and places have other indexes in another one.
    #[inline]
    pub fn block_number(&self) -> u64 {
        self.block.number
    }

    /// A slice of a call begins. The caller has already applied the time range. For `local`, see [`call_begin`].
    #[inline]
    pub fn begin_call(&mut self, track: TrackId, time_ns: u64, local: (NameRef, u32), notes: &[Note]) {
        let (args_start, args_len) = if notes.is_empty() { (0, 0) } else { self.notes(notes) };
        self.block.ops.push(Op { args_start, args_len, ..call_begin(track, time_ns, local) });
    }

    /// Adds ends of calls, without times, and gives them for their times, and for the begins among them.
    #[inline]
    pub fn call_ends(&mut self, track: TrackId, count: usize) -> &mut [Op] {
        let start = self.block.ops.len();
        self.block.ops.resize(start + count, plain(OpKind::End, track, 0, NameRef::NONE, 0));
        self.block.ops.get_mut(start..).unwrap_or_default()
    }

    /// Removes the last operations.
    pub fn take_back(&mut self, count: usize) {
        self.block.ops.truncate(self.block.ops.len() - count);
    }

    /// The innermost slice of a call on a track ends.
    #[inline]
    pub fn end_call(&mut self, track: TrackId, time_ns: u64) {
        self.block.ops.push(plain(OpKind::End, track, time_ns, NameRef::NONE, 0));
    }

    /// An instant.
    #[inline]
    pub fn instant(&mut self, track: TrackId, time_ns: u64, label: SliceName<'_>, notes: &[Note], flow: Option<(u64, Flow)>) {
        let name = self.label(label);
        let (id, direction) = flow.unwrap_or((0, Flow::None));
        self.annotated(OpKind::Instant, track, time_ns, name, notes, Some(id), direction);
    }

    /// A counter takes a value.
    #[inline]
    pub fn counter(&mut self, track: TrackId, time_ns: u64, value: i64) {
        self.push(plain(OpKind::Counter, track, time_ns, NameRef::NONE, value));
    }

    /// A counter takes a value with a fraction.
    pub fn float_counter(&mut self, track: TrackId, time_ns: u64, value: f64) {
        self.push(plain(OpKind::FloatCounter, track, time_ns, NameRef::NONE, value.to_bits().cast_signed()));
    }

    #[allow(clippy::too_many_arguments)]
    #[inline]
    fn annotated(
        &mut self,
        kind: OpKind,
        track: TrackId,
        time_ns: u64,
        name: NameRef,
        notes: &[Note],
        flow_id: Option<u64>,
        flow: Flow,
    ) {
        let (args_start, args_len) = if notes.is_empty() { (0, 0) } else { self.notes(notes) };
        let (value, flow) = match flow_id {
            Some(id) if flow != Flow::None => (id.cast_signed(), flow),
            _ => (0, Flow::None),
        };
        self.push(Op { time_ns, value, track, name, args_start, args_len, kind, flow });
    }

    /// Empty scheduling rows of a core, with memory of earlier ones.
    pub fn empty_rows(&mut self, core: u16) -> SchedRows {
        let SchedRows { mut switches, mut wakings, mut states, .. } = self.spare_rows.pop().unwrap_or_default();
        switches.clear();
        wakings.clear();
        states.clear();
        SchedRows { core, switches, wakings, states }
    }

    /// Adds scheduling rows to the present block. Their names are indexes into it.
    pub fn sched(&mut self, rows: SchedRows) {
        self.block.sched.push(rows);
    }

    /// Adds the state of a thread to the present block, unless the time range drops it.
    #[cold]
    pub fn state(&mut self, cpu: u16, row: StateRow) {
        if self.clip.as_ref().is_some_and(|clip| row.time_ns < clip.start_ns() || row.time_ns > clip.end_ns()) {
            return;
        }
        let mut rows = self.empty_rows(cpu);
        rows.states.push(row);
        self.sched(rows);
    }

    /// Adds a sample of code to the present block, unless the time range drops it.
    #[inline]
    pub fn sample(&mut self, row: SampleRow, id: CodeId, code: &SampledCode, functions: &[Function]) {
        if self.clip.as_ref().is_some_and(|clip| row.time_ns < clip.start_ns() || row.time_ns > clip.end_ns()) {
            return;
        }
        let stack = match self.codes.get(id.index()) {
            Some(&(block, stack)) if block == self.block.number + 1 => stack,
            _ => self.add_stack(id, code, functions),
        };
        self.block.samples.push(SampleRow { stack, ..row });
        if self.block.samples.len() >= BLOCK_OPS {
            self.limit = 0;
        }
    }

    /// A separate function, so that [`Writer::sample`] is small.
    #[inline(never)]
    fn add_stack(&mut self, id: CodeId, code: &SampledCode, functions: &[Function]) -> u32 {
        if id.index() >= self.codes.len() {
            self.codes.resize(id.index() + 1, (0, 0));
        }
        let functions = code.stack.iter().filter_map(|function| functions.get(function.index()));
        let names: Vec<Name> = functions.map(|function| self.name(&function.name)).collect();
        let names = names.into_iter().map(|name| self.local(name)).collect();
        let stack = self.block.stacks.len() as u32;
        self.codes[id.index()] = (self.block.number + 1, stack);
        self.block.stacks.push(SampledStack { address: code.address, names });
        stack
    }

    /// The time range to write, if not all.
    pub fn clip(&self) -> Option<&Clip> {
        self.clip.as_ref()
    }

    /// Whether the block should be sealed now.
    #[inline]
    pub fn is_full(&self) -> bool {
        // Texts and annotations can pile up without operations while a time range drops them, and texts can be long.
        self.block.ops.len() >= self.limit
    }

    /// Seals the present block, full or not.
    pub fn seal(&mut self) {
        let mut next = self.spare.pop().unwrap_or_default();
        self.spare_rows.append(&mut next.sched);
        next.reset(self.block.number + 1);
        self.limit = BLOCK_OPS;
        self.graded_logs = 0;
        // What is not limited varies a little from block to block.
        next.ops.reserve(BLOCK_ROOM);
        let usual = |len: usize| len + len / 16;
        next.args.reserve(usual(self.block.args.len()));
        next.text_refs.reserve(usual(self.block.text_refs.len()));
        next.texts.reserve(usual(self.block.texts.len_bytes()));
        self.sealed.push(std::mem::replace(&mut self.block, next));
    }

    /// The blocks sealed since the last call.
    pub fn take_sealed(&mut self) -> Vec<Block> {
        std::mem::take(&mut self.sealed)
    }

    /// Gives back a block for its memory.
    pub fn recycle(&mut self, block: Block) {
        if self.spare.len() < 8 {
            self.spare.push(block);
        }
    }

    /// Ends the clip: slices that are still open at the end of the time range are closed there.
    pub fn finish_clip(&mut self) {
        if self.clip.as_ref().is_some_and(Clip::is_before) {
            // The range begins after the last operation: show at least the state there.
            self.enter_clip();
        }
        let Some(mut clip) = self.clip.take() else { return };
        let to_ns = clip.end_ns();
        for track in clip.leave() {
            self.block.ops.push(plain(OpKind::End, track, to_ns, NameRef::NONE, 0));
        }
    }
}

#[inline]
fn plain(kind: OpKind, track: TrackId, time_ns: u64, name: NameRef, value: i64) -> Op {
    Op { time_ns, value, track, name, args_start: 0, args_len: 0, kind, flow: Flow::None }
}

/// The begin of a call's slice. `name` and `source` (one more than the index, 0 without a source) are of the present block.
#[inline]
pub fn call_begin(track: TrackId, time_ns: u64, (name, source): (NameRef, u32)) -> Op {
    let flow = if source == 0 { Flow::None } else { Flow::Source };
    Op { flow, ..plain(OpKind::Begin, track, time_ns, name, i64::from(source)) }
}
