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
        let (from_ns, to_ns) = writer.clip().map_or((0, u64::MAX), |clip| (clip.start_ns(), clip.end_ns()));
        let is_undecided = |row: &Row| matches!(row, Row::Switch(Switch { prev_state: None, .. }));
        if self.rows.first().is_none_or(is_undecided) {
            return;
        }
        let mut rows = std::mem::take(&mut self.rows);
        let mut bundles = Bundles { open: writer.empty_rows(core.saturating_add(first_cpu)) };
        let in_range = |time_ns: u64| from_ns <= time_ns && time_ns <= to_ns;
        let mut decided = 0;
        for &row in &rows {
            match row {
                _ if is_undecided(&row) => break,
                Row::Switch(switch) if in_range(switch.time_ns) => {
                    self.enter_range(from_ns, &mut bundles, writer);
                    bundles.switch(switch, writer);
                }
                Row::Waking(waking) if in_range(waking.time_ns) => {
                    self.enter_range(from_ns, &mut bundles, writer);
                    bundles.wake(waking, first_cpu, writer);
                }
                Row::Switch(switch) if switch.time_ns < from_ns => self.before_range = Some(switch),
                Row::Switch(_) => self.end_range(to_ns, &mut bundles, writer),
                Row::Waking(_) => {}
            }
            decided += 1;
        }
        rows.drain(..decided);
        self.rows = rows;
        self.first += decided as u64;
        bundles.finish(writer);
    }

    fn enter_range(&mut self, from_ns: u64, bundles: &mut Bundles, writer: &mut Writer) {
        if let Some(switch) = self.before_range.take() {
            let switch = Switch { time_ns: from_ns, ..switch };
            bundles.switch(swallowed(switch), writer);
            bundles.switch(switch, writer);
        }
    }

    fn end_range(&mut self, to_ns: u64, bundles: &mut Bundles, writer: &mut Writer) {
        self.enter_range(writer.clip().map_or(0, super::clip::Clip::start_ns), bundles, writer);
        if !self.ended {
            self.ended = true;
            let next_comm = writer.name("idle");
            let state = Some(PrevState::Ready);
            bundles.switch(Switch { time_ns: to_ns, prev_state: state, next_tid: 0, next_prio: 0, next_comm }, writer);
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
    fn switch(&mut self, switch: Switch, writer: &mut Writer) {
        if self.open.wakings.last().is_some_and(|waking| waking.time_ns == switch.time_ns) {
            let next = writer.empty_rows(self.open.core);
            writer.sched(std::mem::replace(&mut self.open, next));
        }
        self.open.switches.push(SwitchRow {
            time_ns: switch.time_ns,
            prev_state: switch.prev_state.unwrap_or(PrevState::Ready),
            next_tid: switch.next_tid,
            next_prio: switch.next_prio,
            next_comm: writer.local(switch.next_comm),
        });
    }

    fn wake(&mut self, waking: Waking, first_cpu: u16, writer: &mut Writer) {
        self.open.wakings.push(WakingRow {
            time_ns: waking.time_ns,
            tid: waking.tid,
            prio: waking.prio,
            target_core: waking.target_core.saturating_add(first_cpu),
            from_isr: waking.from_isr,
            comm: writer.local(waking.comm),
        });
    }

    fn finish(self, writer: &mut Writer) {
        if !self.open.switches.is_empty() || !self.open.wakings.is_empty() {
            writer.sched(self.open);
        }
    }
}
