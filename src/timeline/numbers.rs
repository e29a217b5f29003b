//! What a trace numbers once, whatever is drawn into it: tracks, flows, blocks, processes and threads, CPUs.
//!
//! Several recordings go into one trace one after the other, each drawn by a timeline of its own that begins with the numbers where
//! the one before ended. So nothing of two recordings can be taken for one thing: no track, no flow, no process, no thread, and no
//! CPU, because the cores of a recording are the CPUs behind those of the recordings before it.

use rustc_hash::FxHashSet;

/// How many ranks the processes of a recording may have. More than it can have sessions, groups and tasks; and those of all recordings
/// fit into a number.
const RANKS_PER_RECORDING: u32 = 1 << 20;

/// How many tasks of a recording have a thread id that tells their number.
const TIDS_PER_RECORDING: u32 = 1000;

/// Thread ids of tasks whose own number is taken, or too large, begin here.
const SPARE_TID: i32 = 1_000_000;
/// Process ids of the firmware begin here: above any task number that a person would want to read.
const FIRMWARE_PID: i32 = 100_000;
/// The threads that calls are drawn on.
const CALLS_TID: i32 = 200_000;
/// The thread that stands for "nobody knows" on a CPU track after a loss.
pub(super) const UNKNOWN_TID: i32 = 99_999;

/// The numbers that are taken.
#[derive(Debug)]
pub struct Numbers {
    pub(super) next_track: u32,
    pub(super) next_flow: u64,
    pub(super) next_block: u64,
    pub(super) used_tids: FxHashSet<i32>,
    pub(super) spare_tids: i32,
    pub(super) firmware_pids: i32,
    pub(super) call_tracks: i32,
    /// The CPU that core 0 is.
    pub(super) first_cpu: u16,
    /// How many recordings were drawn before.
    pub(super) recordings: u32,
    /// Whether there are other recordings, so that names must say which one is meant.
    pub(super) has_others: bool,
}

impl Default for Numbers {
    /// Those of a trace with one recording.
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
    /// Those of the first of several recordings.
    #[must_use]
    pub fn of_several() -> Numbers {
        Numbers { has_others: true, ..Numbers::default() }
    }

    /// The CPU that core 0 of the next recording will be.
    #[must_use]
    pub fn first_cpu(&self) -> u16 {
        self.first_cpu
    }

    /// Ends a recording that has so many cores and sessions.
    pub fn end_recording(&mut self, cores: u16, sessions: u32) {
        self.firmware_pids = self.firmware_pids.saturating_add(i32::try_from(sessions).unwrap_or(i32::MAX));
        self.first_cpu = self.first_cpu.saturating_add(cores);
        self.recordings = self.recordings.saturating_add(1);
    }

    /// The rank of a process that has this one within its recording.
    pub(super) fn rank(&self, within: u32) -> u32 {
        if !self.has_others {
            return within.min(i32::MAX.unsigned_abs());
        }
        self.recordings.saturating_mul(RANKS_PER_RECORDING).saturating_add(within.min(RANKS_PER_RECORDING - 1))
    }

    /// The thread of a task, if it can have one that people recognise: its own number, and 1000 more for each recording before.
    pub(super) fn tid(&self, number: u32) -> Option<i32> {
        if self.recordings > 0 && !(1..TIDS_PER_RECORDING).contains(&number) {
            return None;
        }
        i32::try_from(self.recordings.checked_mul(TIDS_PER_RECORDING)?.checked_add(number)?).ok()
    }

    /// A thread or process id that no task has.
    pub(super) fn spare_tid(&mut self) -> i32 {
        self.spare_tids = self.spare_tids.saturating_add(1);
        SPARE_TID.saturating_add(self.spare_tids)
    }

    /// The process of the firmware in a session.
    pub(super) fn firmware_pid(&self, session: u32) -> i32 {
        FIRMWARE_PID.saturating_add(self.firmware_pids).saturating_add(i32::try_from(session).unwrap_or(i32::MAX))
    }

    /// The thread that stands for "nobody knows".
    pub(super) fn unknown_tid(&mut self) -> i32 {
        if self.recordings == 0 { UNKNOWN_TID } else { self.spare_tid() }
    }

    /// The thread of a track of calls.
    pub(super) fn calls_tid(&mut self) -> i32 {
        self.call_tracks = self.call_tracks.saturating_add(1);
        CALLS_TID.saturating_add(self.call_tracks)
    }
}
