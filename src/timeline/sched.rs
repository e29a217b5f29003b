//! The scheduling rows of one core: context switches and wakings, in order of time.
//!
//! A switch row records the state in which the previous task left. For a task that gave no reason, the state is known only later:
//! if the task is made ready before it runs again, it waited; if it runs again without that, it was pre-empted. Rows queue up
//! after the first undecided one, up to [`PENDING_ROWS`].

use super::writer::{Name, Writer};
use crate::track::{PrevState, SchedRows, SwitchRow, WakingRow};

/// Limit of rows that wait for a decision. Beyond it, the oldest row is decided from the available evidence.
pub const PENDING_ROWS: usize = 1 << 14;

/// A context switch that is not in a block yet.
#[derive(Clone, Copy, Debug)]
pub struct Switch {
    pub time_ns: u64,
    /// `None`: undecided.
    pub prev_state: Option<PrevState>,
    pub next_tid: i32,
    pub next_prio: i32,
    pub next_comm: Name,
}

/// A waking that is not in a block yet.
#[derive(Clone, Copy, Debug)]
pub struct Waking {
    pub time_ns: u64,
    pub tid: i32,
    pub prio: i32,
    pub target_core: u16,
    pub from_isr: bool,
    pub comm: Name,
}

#[derive(Clone, Copy, Debug)]
enum Row {
    Switch(Switch),
    Waking(Waking),
}

/// Identifies an undecided row.
pub type RowNumber = u64;

/// The rows of one core.
#[derive(Default)]
pub struct CoreRows {
    rows: Vec<Row>,
    /// The number of the first row in `rows`.
    first: RowNumber,
    started: bool,
    /// With a time range: the last switch before it, which is still in effect when the range begins.
    before_range: Option<Switch>,
    /// With a time range: its end has been written.
    ended: bool,
}

impl CoreRows {
    /// Whether any switch was recorded. The viewer drops a waking before the first switch, because it has no waker.
    pub fn started(&self) -> bool {
        self.started
    }

    /// Adds a switch and gives its number.
    pub fn switch(&mut self, switch: Switch) -> RowNumber {
        if !self.started {
            self.started = true;
            self.rows.push(Row::Switch(swallowed(switch)));
        }
        self.rows.push(Row::Switch(switch));
        self.first + self.rows.len() as u64 - 1
    }

    /// Adds a waking.
    pub fn wake(&mut self, waking: Waking) {
        self.rows.push(Row::Waking(waking));
    }

    /// Decides an undecided row.
    pub fn decide(&mut self, row: RowNumber, state: PrevState) {
        let index = row.checked_sub(self.first).and_then(|index| usize::try_from(index).ok());
        if let Some(Row::Switch(switch)) = index.and_then(|index| self.rows.get_mut(index)) {
            switch.prev_state = Some(state);
        }
    }

    /// Whether more than [`PENDING_ROWS`] rows wait for a decision.
    #[inline]
    pub fn is_overdue(&self) -> bool {
        self.rows.len() >= PENDING_ROWS
    }

    /// The number of rows.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Moves all rows before the first undecided one into the present block. `core` is the core's number, `first_cpu` the CPU
    /// number of core 0.
    pub fn flush(&mut self, core: u16, first_cpu: u16, writer: &mut Writer) {
        let is_undecided = |row: &Row| matches!(row, Row::Switch(Switch { prev_state: None, .. }));
        let decided = self.rows.iter().position(is_undecided).unwrap_or(self.rows.len());
        if decided == 0 {
            return;
        }
        let mut rows = std::mem::take(&mut self.rows);
        let mut bundles = Bundles { open: writer.empty_rows(core.saturating_add(first_cpu)) };
        match writer.clip().map(|clip| (clip.start_ns(), clip.end_ns())) {
            None => bundles.add(&rows[..decided], first_cpu, writer),
            Some(range_ns) => bundles.add(&self.clipped(&rows[..decided], range_ns, writer), first_cpu, writer),
        }
        rows.drain(..decided);
        self.rows = rows;
        self.first += decided as u64;
        bundles.finish(writer);
    }

    /// The rows within the time range, with the switches at its begin and end.
    #[cold]
    fn clipped(&mut self, rows: &[Row], (from_ns, to_ns): (u64, u64), writer: &mut Writer) -> Vec<Row> {
        let mut clipped = Vec::new();
        for &row in rows {
            let (Row::Switch(Switch { time_ns, .. }) | Row::Waking(Waking { time_ns, .. })) = row;
            match row {
                _ if (from_ns..=to_ns).contains(&time_ns) => {
                    self.enter_range(from_ns, &mut clipped);
                    clipped.push(row);
                }
                Row::Switch(switch) if time_ns < from_ns => self.before_range = Some(switch),
                Row::Switch(_) => {
                    self.enter_range(from_ns, &mut clipped);
                    if !std::mem::replace(&mut self.ended, true) {
                        let next_comm = writer.name("idle");
                        let prev_state = Some(PrevState::Ready);
                        clipped.push(Row::Switch(Switch { time_ns: to_ns, prev_state, next_tid: 0, next_prio: 0, next_comm }));
                    }
                }
                Row::Waking(_) => {}
            }
        }
        clipped
    }

    fn enter_range(&mut self, from_ns: u64, clipped: &mut Vec<Row>) {
        if let Some(switch) = self.before_range.take() {
            let switch = Switch { time_ns: from_ns, ..switch };
            clipped.extend([swallowed(switch), switch].map(Row::Switch));
        }
    }
}

/// The viewer drops the first switch of each CPU and only takes the running thread from it. So the first switch is written twice.
fn swallowed(switch: Switch) -> Switch {
    Switch { prev_state: Some(PrevState::Ready), ..switch }
}

/// Rows on their way into a block. A reader takes the switches of a bundle first, then its wakings, and sorts stably by time. So
/// a new bundle begins wherever a switch follows a waking with the same time.
struct Bundles {
    open: SchedRows,
}

impl Bundles {
    fn add(&mut self, rows: &[Row], first_cpu: u16, writer: &mut Writer) {
        for row in rows {
            match *row {
                Row::Switch(Switch { time_ns, prev_state, next_tid, next_prio, next_comm }) => {
                    if self.open.wakings.last().is_some_and(|waking| waking.time_ns == time_ns) {
                        let next = writer.empty_rows(self.open.core);
                        writer.sched(std::mem::replace(&mut self.open, next));
                    }
                    let (prev_state, next_comm) = (prev_state.unwrap_or(PrevState::Ready), writer.local(next_comm));
                    self.open.switches.push(SwitchRow { time_ns, prev_state, next_tid, next_prio, next_comm });
                }
                Row::Waking(Waking { time_ns, tid, prio, target_core, from_isr, comm }) => {
                    let (target_core, comm) = (target_core.saturating_add(first_cpu), writer.local(comm));
                    self.open.wakings.push(WakingRow { time_ns, tid, prio, target_core, from_isr, comm });
                }
            }
        }
    }

    fn finish(self, writer: &mut Writer) {
        if !self.open.switches.is_empty() || !self.open.wakings.is_empty() {
            writer.sched(self.open);
        }
    }
}
