//! Numbers that are unique in a trace, whatever is drawn into it: tracks, flows, blocks, processes, threads, CPUs.
//!
//! Several recordings go into one trace one after the other. Each has a timeline of its own, which starts with the numbers where
//! the timeline before it ended. So no track, flow, process, thread or CPU is shared by two recordings. The cores of a recording
//! are the CPUs after those of the recordings before it.

use rustc_hash::FxHashSet;

/// Process ranks reserved for one recording: more than its sessions, groups and tasks together. The ranks of all recordings fit
/// into an `i32`.
const RANKS_PER_RECORDING: u32 = 1 << 20;

/// Tasks of a recording whose thread id shows their number.
const TIDS_PER_RECORDING: u32 = 1000;

/// First thread id for tasks whose own number is taken or too large.
const SPARE_TID: i32 = 1_000_000;
/// First process id of firmwares: above any task number that a person wants to read.
const FIRMWARE_PID: i32 = 100_000;
/// First of the threads that calls are drawn on.
const CALLS_TID: i32 = 200_000;
/// The thread that represents an unknown task on the first CPU track on which there is one after a loss.
pub(super) const UNKNOWN_TID: i32 = 99_999;

/// The numbers in use.
#[derive(Debug)]
pub struct Numbers {
    pub(super) next_track: u32,
    pub(super) next_flow: u64,
    pub(super) next_block: u64,
    pub(super) used_tids: FxHashSet<i32>,
    pub(super) spare_tids: i32,
    pub(super) firmware_pids: i32,
    pub(super) call_tracks: i32,
    /// The CPU number of core 0.
    pub(super) first_cpu: u16,
    /// Recordings drawn before this one.
    pub(super) recordings: u32,
    /// Whether the trace has other recordings. Names must then say which one is meant.
    pub(super) has_others: bool,
}

impl Default for Numbers {
    /// For a trace with one recording.
    fn default() -> Numbers {
        Numbers {
            next_track: 1,
            next_flow: 1,
            next_block: 0,
            used_tids: FxHashSet::default(),
            spare_tids: 0,
            firmware_pids: 0,
            call_tracks: 0,
            first_cpu: 0,
            recordings: 0,
            has_others: false,
        }
    }
}

impl Numbers {
    /// For the first of several recordings.
    #[must_use]
    pub fn of_several() -> Numbers {
        Numbers { has_others: true, ..Numbers::default() }
    }

    /// The CPU number of core 0 of the next recording.
    #[must_use]
    pub fn first_cpu(&self) -> u16 {
        self.first_cpu
    }

    /// Ends a recording with this number of cores and sessions.
    pub fn end_recording(&mut self, cores: u16, sessions: u32) {
        self.firmware_pids = self.firmware_pids.saturating_add(i32::try_from(sessions).unwrap_or(i32::MAX));
        self.first_cpu = self.first_cpu.saturating_add(cores);
        self.recordings = self.recordings.saturating_add(1);
    }

    /// The rank in the trace of a process, from its rank within the recording.
    pub(super) fn rank(&self, within: u32) -> u32 {
        if !self.has_others {
            return within.min(i32::MAX.unsigned_abs());
        }
        self.recordings.saturating_mul(RANKS_PER_RECORDING).saturating_add(within.min(RANKS_PER_RECORDING - 1))
    }

    /// The thread id of a task, if it can have one that people recognise: its own number, plus 1000 for each recording before.
    pub(super) fn tid(&self, number: u32) -> Option<i32> {
        if self.recordings > 0 && !(1..TIDS_PER_RECORDING).contains(&number) {
            return None;
        }
        i32::try_from(self.recordings.checked_mul(TIDS_PER_RECORDING)?.checked_add(number)?).ok()
    }

    /// A thread or process id that no task uses.
    pub(super) fn spare_tid(&mut self) -> i32 {
        self.spare_tids = self.spare_tids.saturating_add(1);
        SPARE_TID.saturating_add(self.spare_tids)
    }

    /// The id of the next thread of a process: that of the process itself for its first one, so that the viewer has no main thread
    /// without a name; then `other`.
    pub(super) fn thread_of(&mut self, pid: i32, other: impl FnOnce(&mut Numbers) -> i32) -> i32 {
        if self.used_tids.insert(pid) { pid } else { other(self) }
    }

    /// The process of the firmware in a session.
    pub(super) fn firmware_pid(&self, session: u32) -> i32 {
        FIRMWARE_PID.saturating_add(self.firmware_pids).saturating_add(i32::try_from(session).unwrap_or(i32::MAX))
    }

    /// A thread that represents an unknown task, the first one of its recording or another.
    pub(super) fn unknown_tid(&mut self, is_first: bool) -> i32 {
        if self.recordings == 0 && is_first { UNKNOWN_TID } else { self.spare_tid() }
    }

    /// The thread of a track of calls.
    pub(super) fn calls_tid(&mut self) -> i32 {
        self.call_tracks = self.call_tracks.saturating_add(1);
        CALLS_TID.saturating_add(self.call_tracks)
    }
}
