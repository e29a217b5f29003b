//! Scheduling rows → `FtraceEventBundle.compact_sched`: columns, packed, one bundle per core.
//!
//! The viewer draws its CPU tracks and thread states, and finds wakers, from these. The rows need no order relative to the
//! events, and the packet needs no timestamp. A waking changes only the state of a thread that is not ready, so the end of readiness
//! without a switch is a `GenericKernelTaskStateEvent`: the viewer takes those that are not running for the thread's state alone.
//! Of equal times, it takes them before the rows.

use prost::encoding::encoded_len_varint;

use super::TRACE_PACKET;
use super::wire::{Column, bytes_field_len, put_bytes, put_length, put_varint};
use crate::track::{Block, PrevState, SchedRows};

/// `TracePacket.ftrace_events`.
const FTRACE_EVENTS: u32 = 1;
/// `FtraceEventBundle.cpu`.
const CPU: u32 = 1;
/// `FtraceEventBundle.compact_sched`.
const COMPACT_SCHED: u32 = 4;
/// `CompactSched.intern_table`: the thread names, referred to by index.
const INTERN_TABLE: u32 = 5;

/// `TracePacket.timestamp`.
const TIMESTAMP: u32 = 8;
/// `TracePacket.generic_kernel_task_state_event`.
const TASK_STATE: u32 = 117;
/// `GenericKernelTaskStateEvent.tid`.
const TID: u32 = 3;
/// `GenericKernelTaskStateEvent.state`.
const STATE: u32 = 4;

/// The columns of context switches.
mod switch {
    pub(super) const TIMESTAMP: u32 = 1;
    pub(super) const PREV_STATE: u32 = 2;
    pub(super) const NEXT_PID: u32 = 3;
    pub(super) const NEXT_PRIO: u32 = 4;
    pub(super) const NEXT_COMM_INDEX: u32 = 6;
}

/// The columns of wakings.
mod waking {
    pub(super) const TIMESTAMP: u32 = 7;
    pub(super) const PID: u32 = 8;
    pub(super) const TARGET_CPU: u32 = 9;
    pub(super) const PRIO: u32 = 10;
    pub(super) const COMM_INDEX: u32 = 11;
    pub(super) const COMMON_FLAGS: u32 = 12;
}

/// Ftrace's flag for "in a hardware interrupt".
const IN_HARD_IRQ: u64 = 0x08;

/// Reusable memory for one bundle.
#[derive(Default)]
pub(super) struct SchedEncoder {
    column: Column,
    columns: Vec<u8>,
    names: BundleNames,
    bundle: Vec<u8>,
}

/// The index of each thread name in the bundle's table.
#[derive(Default)]
struct BundleNames {
    /// For each of [`Block::names`], its place + 1, or 0.
    place: Vec<u32>,
    /// The table.
    table: Vec<u32>,
}

impl SchedEncoder {
    /// Appends the packets with the rows of one core, if there are any.
    pub(super) fn append(&mut self, block: &Block, rows: &SchedRows, out: &mut Vec<u8>) {
        for row in &rows.states {
            let state = &mut self.columns;
            state.clear();
            put_varint(state, CPU, u64::from(rows.core));
            put_varint(state, TID, sign_extended(row.tid));
            put_varint(state, STATE, task_state_number(row.state));
            put_length(out, TRACE_PACKET, 1 + encoded_len_varint(row.time_ns) + bytes_field_len(TASK_STATE, state.len()));
            put_varint(out, TIMESTAMP, row.time_ns);
            put_bytes(out, TASK_STATE, state);
        }
        if rows.switches.is_empty() && rows.wakings.is_empty() {
            return;
        }
        self.fill_columns(block.names.len(), rows);
        self.bundle.clear();
        for &name in &self.names.table {
            let name = block.names.get(name as usize).unwrap_or("");
            put_bytes(&mut self.bundle, INTERN_TABLE, name.as_bytes());
        }
        self.bundle.extend_from_slice(&self.columns);
        let core = u64::from(rows.core);
        let events_len = 1 + encoded_len_varint(core) + bytes_field_len(COMPACT_SCHED, self.bundle.len());
        put_length(out, TRACE_PACKET, bytes_field_len(FTRACE_EVENTS, events_len));
        put_length(out, FTRACE_EVENTS, events_len);
        put_varint(out, CPU, core);
        put_bytes(out, COMPACT_SCHED, &self.bundle);
    }

    /// One column after the other: each loop is short, and its state stays in registers.
    fn fill_columns(&mut self, names: usize, rows: &SchedRows) {
        let SchedEncoder { column, columns, names: bundle_names, .. } = self;
        bundle_names.reset(names);
        columns.clear();
        if !rows.switches.is_empty() {
            let rows = rows.switches.iter();
            let mut last_ns = 0;
            let times = rows.clone().map(|row| difference(&mut last_ns, row.time_ns));
            put_bytes(columns, switch::TIMESTAMP, column.pack(times));
            put_bytes(columns, switch::PREV_STATE, column.pack(rows.clone().map(|row| prev_state_number(row.prev_state))));
            put_bytes(columns, switch::NEXT_PID, column.pack(rows.clone().map(|row| sign_extended(row.next_tid))));
            put_bytes(columns, switch::NEXT_PRIO, column.pack(rows.clone().map(|row| sign_extended(row.next_prio))));
            let comms = rows.map(|row| bundle_names.place_of(row.next_comm));
            put_bytes(columns, switch::NEXT_COMM_INDEX, column.pack(comms));
        }
        if !rows.wakings.is_empty() {
            let rows = rows.wakings.iter();
            let mut last_ns = 0;
            let times = rows.clone().map(|row| difference(&mut last_ns, row.time_ns));
            put_bytes(columns, waking::TIMESTAMP, column.pack(times));
            put_bytes(columns, waking::PID, column.pack(rows.clone().map(|row| sign_extended(row.tid))));
            put_bytes(columns, waking::TARGET_CPU, column.pack(rows.clone().map(|row| u64::from(row.target_core))));
            put_bytes(columns, waking::PRIO, column.pack(rows.clone().map(|row| sign_extended(row.prio))));
            put_bytes(columns, waking::COMM_INDEX, column.pack(rows.clone().map(|row| bundle_names.place_of(row.comm))));
            let flags = rows.map(|row| if row.from_isr { IN_HARD_IRQ } else { 0 });
            put_bytes(columns, waking::COMMON_FLAGS, column.pack(flags));
        }
    }
}

/// The distance of a time to the preceding one. Afterwards the time is the preceding one.
fn difference(last_ns: &mut u64, time_ns: u64) -> u64 {
    time_ns.wrapping_sub(std::mem::replace(last_ns, time_ns))
}

impl BundleNames {
    fn reset(&mut self, names: usize) {
        self.table.clear();
        self.place.clear();
        // One more for all invalid references.
        self.place.resize(names + 1, 0);
    }

    fn place_of(&mut self, name: u32) -> u64 {
        let last = self.place.len() - 1;
        let place = &mut self.place[last.min(name as usize)];
        if *place == 0 {
            self.table.push(name);
            *place = u32::try_from(self.table.len()).unwrap_or(u32::MAX);
        }
        u64::from(*place - 1)
    }
}

/// The kernel's numbers (of 4.4, which the viewer assumes).
fn prev_state_number(state: PrevState) -> u64 {
    match state {
        PrevState::Ready => 0,
        PrevState::Waiting | PrevState::Unknown => 1,
        PrevState::Suspended => 4,
        PrevState::Deleted => 16,
    }
}

/// `GenericKernelTaskStateEvent.TaskStateEnum`.
fn task_state_number(state: PrevState) -> u64 {
    match state {
        PrevState::Ready => 2,
        // Deleted as well: its own number ends the viewer's thread, and some kernels start a deleted task again.
        PrevState::Waiting | PrevState::Unknown | PrevState::Deleted => 4,
        PrevState::Suspended => 6,
    }
}

/// As protobuf writes an `int32`.
fn sign_extended(value: i32) -> u64 {
    i64::from(value).cast_unsigned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::track::{StateRow, SwitchRow, WakingRow};

    fn block() -> Block {
        Block { names: ["unused", "A", "IDLE"].into_iter().collect(), ..Block::default() }
    }

    fn switch(time_ns: u64, prev_state: PrevState, next_tid: i32, next_comm: u32) -> SwitchRow {
        SwitchRow { time_ns, prev_state, next_tid, next_prio: 101, next_comm }
    }

    #[test]
    fn columns_are_packed_and_times_are_differences() {
        let rows = SchedRows {
            core: 1,
            switches: vec![
                switch(300, PrevState::Ready, 0, 2),
                switch(301, PrevState::Deleted, 7, 1),
                switch(301, PrevState::Waiting, 0, 2),
                switch(305, PrevState::Suspended, 7, 1),
            ],
            wakings: vec![WakingRow { time_ns: 300, tid: 7, prio: 101, target_core: 1, from_isr: true, comm: 1 }],
            states: Vec::new(),
        };
        let mut encoder = SchedEncoder::default();
        let mut out = Vec::new();
        // Twice: the second bundle must not see the first one's names.
        for _ in 0..2 {
            out.clear();
            encoder.append(&block(), &rows, &mut out);
            let table = b"\x2a\x04IDLE\x2a\x01A";
            let switches = b"\x0a\x05\xac\x02\x01\x00\x04\x12\x04\x00\x10\x01\x04\x1a\x04\x00\x07\x00\x07\x22\x04eeee\x32\x04\x00\x01\x00\x01";
            let wakings = b"\x3a\x02\xac\x02\x42\x01\x07\x4a\x01\x01\x52\x01e\x5a\x01\x01\x62\x01\x08";
            let columns = [&table[..], switches, wakings].concat();
            let len = u8::try_from(columns.len()).unwrap();
            let expected = [&[0x0a, len + 6, 0x0a, len + 4, 0x08, 0x01, 0x22, len][..], &columns].concat();
            assert_eq!(out, expected);
        }
    }

    #[test]
    fn a_state_is_a_packet() {
        let states = vec![StateRow { time_ns: 300, tid: 7, state: PrevState::Suspended }];
        let mut out = Vec::new();
        SchedEncoder::default().append(&block(), &SchedRows { core: 1, states, ..SchedRows::default() }, &mut out);
        assert_eq!(out, b"\x0a\x0c\x40\xac\x02\xaa\x07\x06\x08\x01\x18\x07\x20\x06");
    }

    #[test]
    fn no_rows_give_no_packet() {
        let mut out = Vec::new();
        SchedEncoder::default().append(&block(), &SchedRows::default(), &mut out);
        assert_eq!(out, b"");
    }
}
