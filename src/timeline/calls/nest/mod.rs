//! A forest of completed calls that grows into strictly nested slices of one track. See [`super`].
//!
//! The waiting trees are stored one after the other in `calls`, each in post-order (a call after its callees), which is the order
//! in which calls end. `roots` holds their roots. A **row** is a run of roots of one depth, which may share a caller. The depths
//! of rows never decrease: a call takes as children all deeper trees that lie within it. A deeper tree that lies before it has
//! lost its caller. From then on it counts as a tree of the call's own depth.
//!
//! Calls come in order of their ends, with one exception: if the exit of a call was interrupted, the interrupting calls are
//! recorded first ([`Nest::add_late`]). Such a call is inserted at its place unless its callees, or the calls that interrupted
//! it, are written already. A call of the least depth is written at once.

mod late;

use super::{EndedCall, HELD_CALLS, Ink};
use crate::model::FunctionId;
use crate::track::TrackId;

/// The viewer drops slices nested deeper than 512.
const NESTING_LIMIT: u16 = 500;

/// Limit of held operations with the time stamp of a row's begin.
const HELD_OPS: usize = 256;

/// A completed call.
#[derive(Clone, Copy, Debug)]
pub struct Call {
    pub(super) begin_ns: u64,
    pub(super) end_ns: u64,
    pub(super) function: FunctionId,
    /// Number of calls in its tree, itself included.
    pub(super) size: u16,
    /// For a call without callees: the distance forward to the outermost call whose tree starts with this one; 0 for itself. For
    /// other calls: the distance back to the next call whose tree starts with the same call. So all calls that begin with a
    /// tree's first call are found in the order of their begins.
    link: u16,
    pub(super) depth: i16,
    /// Depth of its tree, itself included.
    height: u16,
    is_hidden: bool,
    /// Its caller's record was lost.
    is_orphan: bool,
    /// It is not drawn, or on a track of its own.
    is_special: bool,
}

impl Call {
    pub fn new(call: &EndedCall, has_track: bool) -> Call {
        let EndedCall { function, depth, is_hidden, begin_ns, end_ns } = *call;
        let is_special = is_hidden | has_track;
        Call { begin_ns, end_ns, function, size: 1, link: 0, depth, height: 1, is_hidden, is_orphan: false, is_special }
    }
}

/// Sizes and links must fit into 32 bits.
const _: () = assert!(HELD_CALLS < u16::MAX as usize && std::mem::size_of::<Call>() == 32);

/// Roots that may share a caller.
#[derive(Clone, Copy)]
struct Row {
    /// The begin of its first root.
    begin_ns: u64,
    /// The end of its last root.
    end_ns: u64,
    /// Its first waiting root, in `roots`.
    first_root: u32,
    depth: i16,
    /// The depth of its deepest tree.
    height: u16,
    /// All its roots are marked as orphans.
    is_marked: bool,
}

impl Row {
    fn of(call: &Call, height: u16, first_root: usize) -> Row {
        let Call { begin_ns, end_ns, depth, .. } = *call;
        Row { begin_ns, end_ns, first_root: first_root as u32, depth, height, is_marked: false }
    }

    /// Adds a root.
    #[inline]
    fn extend(&mut self, end_ns: u64, height: u16) {
        self.end_ns = end_ns;
        self.height = self.height.max(height);
    }
}

/// The written part of a row.
struct Written {
    end_ns: u64,
    height: u16,
    /// Operations with the time stamp of the row's begin, in order, not written yet.
    held: Vec<Edge>,
    /// Nothing more is held: no caller can begin at the row's begin any more.
    is_sealed: bool,
}

/// A begin or end of a slice.
#[derive(Clone, Copy)]
struct Edge {
    time_ns: u64,
    track: TrackId,
    function: FunctionId,
    kind: EdgeKind,
}

#[derive(Clone, Copy)]
enum EdgeKind {
    Begin { depth: Option<i16>, is_orphan: bool },
    End,
}

/// The place where a call is inserted.
struct Place {
    /// The rows before this one remain.
    rows: usize,
    /// The roots from this one on become its children.
    roots: usize,
}

/// The calls of one track.
pub struct Nest {
    track: TrackId,
    /// Whether interrupt handlers are drawn on tracks of their own.
    moves_handlers: bool,
    calls: Vec<Call>,
    roots: Vec<u32>,
    rows: Vec<Row>,
    /// The written parts of the first rows. The oldest roots are written first, so no unwritten row precedes a written one.
    written: Vec<Written>,
    /// The end of the last call.
    end_ns: u64,
    /// The least depth of all calls so far, at most 0.
    floor: i16,
    /// Each waiting call is exactly one deeper than its caller, and drawn on the track.
    is_plain: bool,
    /// The row with held operations that begins last, and its begin; `u64::MAX` without such a row.
    held_row: usize,
    held_ns: u64,
    /// Scratch memory: the calls around a position among the written calls.
    around: Vec<Around>,
}

/// The start of a root's tree.
#[inline]
fn tree_start(calls: &[Call], root: usize) -> usize {
    (root + 1).saturating_sub(usize::from(calls[root].size))
}

/// A call being written: its index, and the depth of its callees.
#[derive(Clone, Copy)]
struct Around {
    track: TrackId,
    /// The depth that a slice within it seems to have.
    inner_depth: i32,
    is_hidden: bool,
}

impl Nest {
    pub fn new(track: TrackId, moves_handlers: bool) -> Nest {
        Nest {
            track,
            moves_handlers,
            calls: Vec::new(),
            roots: Vec::new(),
            rows: Vec::new(),
            written: Vec::new(),
            end_ns: 0,
            floor: 0,
            is_plain: true,
            held_row: 0,
            held_ns: u64::MAX,
            around: Vec::new(),
        }
    }

    /// Adds a call if it is as most are: it has no callees, or takes the whole last row. False: nothing has changed.
    #[inline(always)]
    pub fn add_usual(&mut self, call: &Call) -> bool {
        let (own, rows) = (self.calls.len(), self.rows.len());
        let Some((row, before)) = self.rows.split_last_mut().filter(|_| call.end_ns >= self.end_ns) else { return false };
        if row.depth <= call.depth {
            if row.end_ns > call.begin_ns {
                return false;
            }
            self.calls.push(*call);
            if row.depth == call.depth && !row.is_marked {
                row.extend(call.end_ns, call.height);
            } else {
                self.rows.push(Row::of(call, call.height, self.roots.len()));
            }
        } else {
            let Some(before) = before.last_mut() else { return false };
            let fits = before.depth <= call.depth && before.end_ns <= call.begin_ns;
            let takes_all = i32::from(row.depth) == i32::from(call.depth) + 1 && row.begin_ns >= call.begin_ns && !row.is_marked;
            let height = row.height + 1;
            if !fits || !takes_all || height > NESTING_LIMIT || self.written.len() >= rows {
                return false;
            }
            let first_root = row.first_root as usize;
            let start = self.roots.get(first_root).map_or(own, |&root| tree_start(&self.calls, root as usize));
            let call = Call { size: (own - start + 1) as u16, height, ..*call };
            self.calls.push(call);
            self.roots.truncate(first_root);
            if before.depth == call.depth && !before.is_marked {
                before.extend(call.end_ns, height);
                self.rows.pop();
            } else {
                *row = Row::of(&call, height, first_root);
            }
        }
        self.roots.push(own as u32);
        self.end_ns = call.end_ns;
        self.is_plain &= !call.is_special;
        true
    }

    /// Whether waiting calls are to be written, because no caller of the last one is expected, or because there are too many.
    #[inline]
    pub fn is_due(&self, last_depth: i16) -> bool {
        last_depth <= self.floor || self.calls.len() >= HELD_CALLS
    }

    /// Writes waiting calls, if [`Nest::is_due`].
    pub fn write_due(&mut self, last_depth: i16, ink: &mut Ink<'_>) {
        if last_depth <= self.floor {
            // It would have a smaller depth than any call before.
            self.floor = last_depth;
            if !self.write_plain(ink) {
                self.write_oldest(0, ink);
            }
        } else if self.calls.len() >= HELD_CALLS {
            self.write_oldest(HELD_CALLS / 2, ink);
        }
    }

    /// Adds any call. Returns the number of other calls newly found to have lost their callers. `None`: the call does not nest, and
    /// nothing has changed.
    pub fn add(&mut self, call: &Call, ink: &mut Ink<'_>) -> Option<i64> {
        if call.end_ns < self.end_ns {
            return self.add_late(*call, ink);
        }
        let mut place = self.place(call)?;
        let (height, takes_orphans) = self.look_at_children(call, &place);
        if height > NESTING_LIMIT {
            return None;
        }
        self.end_ns = call.end_ns;
        self.is_plain = false;
        let mut orphans = if takes_orphans { self.mark_children(call, &place) } else { 0 };
        if self.rows[..place.rows].last().is_some_and(|row| row.depth > call.depth) {
            orphans += self.lower_rows(call.depth, &mut place, ink);
        }
        if self.written.len() > place.rows {
            self.add_around_written(*call, height, &place, ink);
        } else {
            self.add_waiting(*call, height, &place);
        }
        self.write_due(call.depth, ink);
        Some(orphans)
    }

    /// Writes everything.
    pub fn finish(&mut self, ink: &mut Ink<'_>) {
        for row in (0..self.written.len()).rev() {
            self.release(row, ink);
        }
        self.write_roots(self.roots.len(), ink);
        self.rows.clear();
        self.written.clear();
        self.find_held();
    }

    /// The place where a call nests, if it does.
    #[inline]
    fn place(&self, call: &Call) -> Option<Place> {
        let mut rows = self.rows.len();
        let mut roots = self.roots.len();
        while let Some(row) = rows.checked_sub(1).and_then(|last| self.rows.get(last)) {
            if row.depth <= call.depth {
                // A call that is not deeper ends before it.
                return (row.end_ns <= call.begin_ns).then_some(Place { rows, roots });
            }
            if row.begin_ns < call.begin_ns {
                let first = self.first_within(row, roots, call.begin_ns);
                return (self.row_end(rows - 1, first) <= call.begin_ns).then_some(Place { rows, roots: first });
            }
            if row.begin_ns == call.begin_ns && self.written.get(rows - 1).is_some_and(|written| written.is_sealed) {
                return None;
            }
            roots = row.first_root as usize;
            rows -= 1;
        }
        Some(Place { rows, roots })
    }

    /// The first root of a row that begins at or after a time; its roots end before `end`.
    fn first_within(&self, row: &Row, end: usize, begin_ns: u64) -> usize {
        let first = row.first_root as usize;
        let roots = self.roots.get(first..end).unwrap_or(&[]);
        first + roots.partition_point(|&root| self.calls[root as usize].begin_ns < begin_ns)
    }

    /// The end of the last of a row's roots that end before `end`.
    #[inline]
    fn row_end(&self, row: usize, end: usize) -> u64 {
        match end.checked_sub(1).filter(|&last| last >= self.rows[row].first_root as usize) {
            Some(last) => self.calls[self.roots[last] as usize].end_ns,
            None => self.written.get(row).map_or(0, |written| written.end_ns),
        }
    }

    /// The depth of a call's tree, and whether one of the calls that it takes has lost its caller.
    #[inline]
    fn look_at_children(&self, call: &Call, place: &Place) -> (u16, bool) {
        let (mut height, mut takes_orphans) = (0, false);
        let depth = i32::from(call.depth) + 1;
        let whole_rows = self.rows.get(place.rows..).unwrap_or(&[]);
        for row in whole_rows {
            height = height.max(row.height);
            takes_orphans |= i32::from(row.depth) > depth;
        }
        // Of the row before these it may take the last roots.
        let end = whole_rows.first().map_or(self.roots.len(), |row| row.first_root as usize);
        for &root in self.roots.get(place.roots..end).unwrap_or(&[]) {
            let child = &self.calls[root as usize];
            height = height.max(child.height);
            takes_orphans |= i32::from(child.depth) > depth;
        }
        for written in self.written.get(place.rows..).unwrap_or(&[]) {
            height = height.max(written.height);
        }
        (height.saturating_add(1), takes_orphans)
    }

    /// Marks children that are more than one level deeper than the call: the record of their own caller was lost.
    #[cold]
    fn mark_children(&mut self, call: &Call, place: &Place) -> i64 {
        let mut orphans = 0;
        for &root in &self.roots[place.roots..] {
            let child = &mut self.calls[root as usize];
            let is_lost = !child.is_orphan && i32::from(child.depth) > i32::from(call.depth) + 1;
            child.is_orphan |= is_lost;
            orphans += i64::from(is_lost);
        }
        orphans
    }

    /// Remaining roots that are deeper than a call after them are orphans. From now on they are a row of its depth.
    #[cold]
    fn lower_rows(&mut self, depth: i16, place: &mut Place, ink: &mut Ink<'_>) -> i64 {
        let mut orphans = 0;
        let mut end = place.roots;
        let mut first = place.rows;
        while let Some(row) = first.checked_sub(1).and_then(|last| self.rows.get(last)) {
            if row.depth <= depth {
                break;
            }
            if !row.is_marked {
                for &root in &self.roots[row.first_root as usize..end] {
                    orphans += i64::from(!std::mem::replace(&mut self.calls[root as usize].is_orphan, true));
                }
            }
            end = row.first_root as usize;
            first -= 1;
        }
        let end_ns = self.row_end(place.rows - 1, place.roots);
        let roots = self.roots.get(end..place.roots).unwrap_or(&[]);
        let height = roots.iter().map(|&root| self.calls[root as usize].height).max().unwrap_or(0);
        // Merges rows into one. Only the first of them may have a caller that begins with it.
        let written_end = place.rows.min(self.written.len());
        for row in (first + 1..written_end).rev() {
            self.release(row, ink);
        }
        if first < written_end {
            let later = self.written.drain(first + 1..written_end).map(|part| (part.end_ns, part.height));
            let later = later.reduce(|one, other| (other.0, one.1.max(other.1)));
            if let (Some((end_ns, height)), Some(part)) = (later, self.written.get_mut(first)) {
                part.end_ns = end_ns;
                part.height = part.height.max(height);
            }
        }
        self.rows[first] = Row { end_ns, depth, height, is_marked: true, ..self.rows[first] };
        self.rows.drain(first + 1..place.rows);
        place.rows = first + 1;
        self.find_held();
        orphans
    }

    /// Lets a call wait for its caller, with the trees that it takes.
    #[inline]
    fn add_waiting(&mut self, call: Call, height: u16, place: &Place) {
        let own = self.calls.len();
        let start = self.roots.get(place.roots).map_or(own, |&root| tree_start(&self.calls, root as usize));
        self.roots.truncate(place.roots);
        self.rows.truncate(place.rows);
        self.calls.push(Call { size: (own - start + 1) as u16, height, ..call });
        match self.rows.last_mut() {
            Some(row) if row.depth == call.depth && !row.is_marked => row.extend(call.end_ns, height),
            _ => self.rows.push(Row::of(&call, height, place.roots)),
        }
        self.roots.push(own as u32);
    }

    /// Writes a call late: some of its children are written already, and the others are written now.
    #[cold]
    fn add_around_written(&mut self, call: Call, height: u16, place: &Place, ink: &mut Ink<'_>) {
        for row in (place.rows + 1..self.written.len()).rev() {
            self.release(row, ink);
        }
        let mut held = Vec::new();
        if self.rows[place.rows].begin_ns == call.begin_ns {
            held = self.take_held(place.rows);
        } else {
            self.release(place.rows, ink);
        }
        self.rows.truncate(place.rows);
        self.written.truncate(place.rows);
        self.find_held();
        let isr_track = ink.drawn(call.function).1;
        let track = isr_track.filter(|_| self.moves_handlers).unwrap_or(self.track);
        let edge = |time_ns, kind| Edge { time_ns, track, function: call.function, kind };
        let depth = (call.depth != 0).then_some(call.depth);
        if !call.is_hidden {
            held.insert(0, edge(call.begin_ns, EdgeKind::Begin { depth, is_orphan: false }));
        }
        if self.rows.last().is_some_and(|row| row.depth == call.depth) {
            // Not the first of its row: no unknown call begins with it.
            if let Some(row) = self.rows.last_mut() {
                row.extend(call.end_ns, height);
            }
            if let Some(part) = self.written.last_mut() {
                part.end_ns = call.end_ns;
                part.height = part.height.max(height);
            }
            for edge in held {
                self.emit(edge, ink);
            }
        } else {
            let is_full = held.len() > HELD_OPS;
            self.rows.push(Row::of(&call, height, 0));
            self.written.push(Written { end_ns: call.end_ns, height, held, is_sealed: false });
            self.find_held();
            if is_full {
                self.release(self.written.len() - 1, ink);
            }
        }
        self.write_roots(self.roots.len(), ink);
        if !call.is_hidden {
            self.emit(edge(call.end_ns, EdgeKind::End), ink);
        }
    }

    /// Writes the oldest rows until at most `keep` calls wait.
    fn write_oldest(&mut self, keep: usize, ink: &mut Ink<'_>) {
        while self.calls.len() > keep {
            let end_of = |row: usize| self.rows.get(row + 1).map_or(self.roots.len(), |next| next.first_root as usize);
            // The last written row may have more roots now.
            let last_written = self.written.len().checked_sub(1).filter(|&row| end_of(row) > 0);
            let oldest = last_written.unwrap_or(self.written.len());
            let end = end_of(oldest);
            let Some(&last) = end.checked_sub(1).and_then(|last| self.roots.get(last)) else { return };
            let end_ns = self.calls[last as usize].end_ns;
            let height = self.roots[..end].iter().map(|&root| self.calls[root as usize].height).max().unwrap_or(0);
            match self.written.get_mut(oldest) {
                Some(part) => (part.end_ns, part.height) = (end_ns, part.height.max(height)),
                None => {
                    self.written.push(Written { end_ns, height, held: Vec::new(), is_sealed: false });
                    self.find_held();
                }
            }
            self.write_roots(end, ink);
        }
    }

    /// Writes the waiting calls, if they are one tree without anything special. False: nothing has been written.
    #[inline]
    fn write_plain(&mut self, ink: &mut Ink<'_>) -> bool {
        let (Some(root), [_], [part]) = (self.calls.last(), &*self.rows, &mut *self.written) else { return false };
        let is_one = usize::from(root.size) == self.calls.len();
        // Held operations come before all others with their time.
        let is_after_held = self.held_ns == u64::MAX || root.begin_ns > self.held_ns;
        if !(self.is_plain && is_one && root.depth == 0 && is_after_held && ink.tree(self.track, &self.calls)) {
            return false;
        }
        (part.end_ns, part.height) = (root.end_ns, part.height.max(root.height));
        self.calls.clear();
        self.roots.clear();
        true
    }

    /// Writes the first `count` roots with their trees, and removes them.
    fn write_roots(&mut self, count: usize, ink: &mut Ink<'_>) {
        let Some(calls) = count.checked_sub(1).and_then(|last| self.roots.get(last)).map(|&root| root as usize + 1) else {
            return;
        };
        let mut forest = std::mem::take(&mut self.calls);
        for index in 0..calls {
            let start = index + 1 - usize::from(forest[index].size);
            let distance = (index - start) as u16;
            forest[index].link = distance - std::mem::replace(&mut forest[start].link, distance);
        }
        self.around.clear();
        let mut outer = Around { track: self.track, inner_depth: 0, is_hidden: false };
        for (index, call) in forest[..calls].iter().enumerate() {
            if call.size == 1 {
                // All calls whose trees start with it begin here too, the outermost first.
                let mut at = index + usize::from(call.link);
                while let Some(around) = forest.get(at).filter(|_| at != index) {
                    outer = self.begin(around, outer, ink);
                    at -= usize::from(around.link);
                }
                outer = self.begin(call, outer, ink);
            }
            let Around { track, is_hidden, .. } = outer;
            outer = self.around.pop().unwrap_or(outer);
            if !is_hidden {
                self.end(call, track, ink);
            }
        }
        self.calls = forest;
        self.forget(count, calls);
    }

    /// Writes the begin of a call, and enters it.
    #[inline(always)]
    fn begin(&mut self, call: &Call, outer: Around, ink: &mut Ink<'_>) -> Around {
        let (local, isr_track) = ink.drawn(call.function);
        let track = isr_track.filter(|_| self.moves_handlers).unwrap_or(outer.track);
        let shown_depth = if track == outer.track { outer.inner_depth } else { 0 };
        self.around.push(outer);
        if call.is_hidden {
            return Around { track, inner_depth: shown_depth, is_hidden: true };
        }
        let depth = i32::from(call.depth);
        let told_depth = (depth != shown_depth).then_some(call.depth);
        if call.begin_ns == self.held_ns {
            let kind = EdgeKind::Begin { depth: told_depth, is_orphan: call.is_orphan };
            self.hold(Edge { time_ns: call.begin_ns, track, function: call.function, kind }, ink);
        } else {
            ink.begin(track, call.begin_ns, local, told_depth, call.is_orphan);
        }
        Around { track, inner_depth: depth + 1, is_hidden: false }
    }

    #[inline(always)]
    fn end(&mut self, call: &Call, track: TrackId, ink: &mut Ink<'_>) {
        if call.end_ns == self.held_ns {
            return self.hold(Edge { time_ns: call.end_ns, track, function: call.function, kind: EdgeKind::End }, ink);
        }
        ink.end(track, call.end_ns);
    }

    /// Removes the first `roots` roots, which have `calls` calls.
    fn forget(&mut self, count: usize, calls: usize) {
        if calls == self.calls.len() {
            self.calls.clear();
            self.roots.clear();
            self.is_plain = true;
        } else {
            self.calls.drain(..calls);
            self.roots.drain(..count);
            self.roots.iter_mut().for_each(|root| *root -= calls as u32);
        }
        self.rows.iter_mut().for_each(|row| row.first_root = row.first_root.saturating_sub(count as u32));
    }

    /// Writes an edge, or holds it after the other operations with the same time.
    fn emit(&mut self, edge: Edge, ink: &mut Ink<'_>) {
        if edge.time_ns == self.held_ns {
            return self.hold(edge, ink);
        }
        match edge.kind {
            EdgeKind::Begin { depth, is_orphan } => {
                let (local, _) = ink.drawn(edge.function);
                ink.begin(edge.track, edge.time_ns, local, depth, is_orphan);
            }
            EdgeKind::End => ink.end(edge.track, edge.time_ns),
        }
    }

    #[cold]
    fn hold(&mut self, edge: Edge, ink: &mut Ink<'_>) {
        let row = self.held_row;
        let Some(part) = self.written.get_mut(row) else { return };
        part.held.push(edge);
        if part.held.len() > HELD_OPS {
            self.release(row, ink);
        }
    }

    /// Writes the held operations of a row, or gives them to the preceding row that holds operations of the same time. Nothing
    /// may begin with the row any more.
    fn release(&mut self, row: usize, ink: &mut Ink<'_>) {
        let held = self.take_held(row);
        if let Some(part) = self.written.get_mut(row) {
            part.is_sealed = true;
        }
        self.find_held();
        for edge in held {
            self.emit(edge, ink);
        }
    }

    fn take_held(&mut self, row: usize) -> Vec<Edge> {
        self.written.get_mut(row).map(|part| std::mem::take(&mut part.held)).unwrap_or_default()
    }

    /// Finds the last row with held operations.
    fn find_held(&mut self) {
        let found = self.written.iter().rposition(|part| !part.is_sealed);
        self.held_row = found.unwrap_or(0);
        self.held_ns = found.and_then(|row| self.rows.get(row)).map_or(u64::MAX, |row| row.begin_ns);
    }
}
