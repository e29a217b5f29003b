//! Memory: the heap in use, and the peak depth of stacks.

use super::layout::Group;
use super::writer::{Note, NoteValue, SliceName};
use super::{At, Timeline};
use crate::model::{HeapBlocks, HeapOp, TaskId, UNKNOWN_ADDRESS};
use crate::track::{TrackId, TrackKind, Unit};

/// The heap, since the session began.
#[derive(Default)]
pub struct HeapState {
    /// Bytes taken minus bytes given back. Below 0 if memory is given back that was taken before the capture.
    in_use: i64,
    /// Bytes taken.
    taken: i64,
    blocks: HeapBlocks,
    tracks: Option<(TrackId, TrackId)>,
}

impl Timeline {
    pub(super) fn heap_op(&mut self, op: HeapOp, address: u64, bytes: u32, at: &At<'_>) {
        let has_failed = op == HeapOp::Allocate && address == 0;
        let bytes = self.heap.blocks.size(op, address, bytes);
        if self.settings.operations
            && let Some(track) = self.context(false, at)
        {
            let name = match op {
                HeapOp::Allocate if has_failed => self.words.malloc_failed,
                HeapOp::Allocate => self.words.malloc,
                HeapOp::Free => self.words.free,
            };
            let notes = [
                Note { name: self.words.bytes, value: NoteValue::Uint(bytes.into()) },
                Note { name: self.words.address, value: NoteValue::Hex(address) },
            ];
            let notes = if has_failed || address == UNKNOWN_ADDRESS { &notes[..1] } else { &notes[..] };
            self.writer.instant(track, at.time_ns, SliceName::Name(name), notes, None);
        }
        if has_failed {
            return;
        }
        let (in_use, taken) = self.heap_tracks();
        let bytes = i64::from(bytes);
        match op {
            HeapOp::Allocate => {
                self.heap.in_use = self.heap.in_use.saturating_add(bytes);
                self.heap.taken = self.heap.taken.saturating_add(bytes);
                self.writer.counter(taken, at.time_ns, self.heap.taken);
            }
            HeapOp::Free => self.heap.in_use = self.heap.in_use.saturating_sub(bytes),
        }
        self.writer.counter(in_use, at.time_ns, self.heap.in_use);
    }

    fn heap_tracks(&mut self) -> (TrackId, TrackId) {
        if let Some(tracks) = self.heap.tracks {
            return tracks;
        }
        let group = self.group(Group::Objects);
        let kind = TrackKind::Counter { unit: Unit::Bytes };
        // After all objects.
        let rank = 4 << 24;
        let text = "Bytes allocated minus bytes freed since the capture began; below 0 when earlier memory was freed.";
        let in_use = self.writer.track(Some(group), kind, "heap in use".into(), Some(text), rank);
        let text = "Bytes allocated since the capture began.";
        let taken = self.writer.track(Some(group), kind, "heap allocated in total".into(), Some(text), rank + 1);
        self.heap.tracks = Some((in_use, taken));
        (in_use, taken)
    }

    /// The least free stack that a task has had.
    pub(super) fn stack_free(&mut self, task: TaskId, bytes: u32, at: &At<'_>) {
        let drawn = self.drawn(task, at);
        if drawn.idle {
            return;
        }
        let track = match self.tasks[task.index()].stack_track {
            Some(track) => track,
            None => {
                let kind = TrackKind::Counter { unit: Unit::Bytes };
                let text = "The least free stack that the task has ever had.";
                let track = self.writer.track(Some(drawn.process), kind, "least free stack".into(), Some(text), 0);
                self.tasks[task.index()].stack_track = Some(track);
                track
            }
        };
        self.writer.counter(track, at.time_ns, i64::from(bytes));
    }
}
