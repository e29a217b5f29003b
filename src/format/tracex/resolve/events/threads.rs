//! What is known of each thread.

use rustc_hash::FxHashMap;

use crate::format::tracex::names::id;
use crate::model::{LaneId, TaskId};

/// The options of event flags: all of the flags (else any of them), and clear them.
pub(super) const ALL: u32 = 2;
pub(super) const CLEAR: u32 = 1;

/// The call of a service.
#[derive(Clone, Copy, Default)]
pub(super) struct Call {
    pub(super) id: u32,
    pub(super) info: [u32; 4],
}

impl Call {
    /// Whether this call ends a wait with success. Its caller may also resume threads whose time is over, as the timer thread does.
    pub(super) fn gives(self, wait: Call) -> bool {
        let [object, _, option, _] = self.info;
        object == wait.info[0]
            && match (self.id, wait.id) {
                (id::QUEUE_SEND | id::QUEUE_FRONT_SEND, id::QUEUE_RECEIVE)
                | (id::QUEUE_RECEIVE | id::QUEUE_FLUSH, id::QUEUE_SEND | id::QUEUE_FRONT_SEND)
                | (id::SEMAPHORE_PUT | id::SEMAPHORE_CEILING_PUT, id::SEMAPHORE_GET)
                | (id::MUTEX_PUT, id::MUTEX_GET)
                | (id::BLOCK_RELEASE, id::BLOCK_ALLOCATE)
                | (id::BYTE_RELEASE, id::BYTE_ALLOCATE) => true,
                (id::EVENT_FLAGS_SET, id::EVENT_FLAGS_GET) => option & ALL == 0 && are_there(self.info[1], wait),
                _ => false,
            }
    }

    /// Whether it resumes at most one thread.
    pub(super) fn gives_once(self) -> bool {
        !matches!(self.id, id::QUEUE_FLUSH | id::BYTE_RELEASE | id::EVENT_FLAGS_SET)
    }
}

/// Whether flags fulfil a request.
pub(super) fn are_there(flags: u32, get: Call) -> bool {
    let [_, requested, _, option] = get.info;
    if option & ALL != 0 { flags & requested == requested } else { flags & requested != 0 }
}

/// A thread.
pub(super) struct Thread {
    pub(super) task: TaskId,
    pub(super) lane: Option<LaneId>,
    pub(super) priority: Option<u32>,
    /// Whether an entry has recorded it, and whether the program has just set it.
    pub(super) has_priority: bool,
    pub(super) is_set: bool,
    /// Whether it was suspended and not resumed since.
    pub(super) is_waiting: bool,
    /// Whether it will be suspended when its wait ends, and whether it was terminated.
    pub(super) is_delayed: bool,
    pub(super) is_terminated: bool,
    /// Its last call.
    pub(super) call: Call,
    /// The call that it waits in, and whether it was given what it waits for.
    pub(super) pending: Option<(Call, bool)>,
    /// Where its stack begins and its size, if registered.
    pub(super) stack: Option<[u32; 2]>,
    /// The least free stack so far, in bytes.
    pub(super) free_stack: u32,
}

/// Threads by address.
pub(super) struct Threads {
    pub(super) all: Vec<Thread>,
    by_pointer: FxHashMap<u32, usize>,
    /// Addresses looked up lately, and their threads' places.
    recent: [(u32, usize); RECENT],
}

/// How many threads are found without hashing, at most.
const RECENT: usize = 32;

impl Threads {
    pub(super) fn new() -> Threads {
        Threads { all: Vec::new(), by_pointer: FxHashMap::default(), recent: [(0, usize::MAX); RECENT] }
    }

    #[inline]
    fn recent_of(pointer: u32) -> usize {
        (pointer >> 3 ^ pointer >> 8) as usize % RECENT
    }

    #[inline]
    pub(super) fn place(&self, pointer: u32) -> Option<usize> {
        let (recent, place) = self.recent[Self::recent_of(pointer)];
        if recent == pointer && place < self.all.len() { Some(place) } else { self.by_pointer.get(&pointer).copied() }
    }

    #[inline]
    pub(super) fn get(&self, pointer: u32) -> Option<&Thread> {
        self.all.get(self.place(pointer)?)
    }

    #[inline]
    pub(super) fn get_mut(&mut self, pointer: u32) -> Option<&mut Thread> {
        let place = self.place(pointer)?;
        self.recent[Self::recent_of(pointer)] = (pointer, place);
        self.all.get_mut(place)
    }

    pub(super) fn insert(&mut self, pointer: u32, thread: Thread) {
        self.recent[Self::recent_of(pointer)] = (pointer, self.all.len());
        self.by_pointer.insert(pointer, self.all.len());
        self.all.push(thread);
    }

    /// The thread's life ends.
    pub(super) fn remove(&mut self, pointer: u32) {
        self.by_pointer.remove(&pointer);
        self.recent[Self::recent_of(pointer)] = (0, usize::MAX);
    }
}
