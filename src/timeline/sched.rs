//! The scheduling rows of one core: context switches and wakings, in order of time.
//!
//! A switch row records the state in which the previous task left. For a task that gave no reason, the state is known only later:
//! if the task is made ready before it runs again, it waited; if it runs again without that, it was pre-empted. Rows queue up
//! after the first undecided one, up to [`PENDING_ROWS`].
//!
//! The viewer reads each CPU as a stream of its own and does not keep the order of rows of the same time in two streams. A task that leaves
//! one core and enters another one, or is made ready by another one, within a tick of a coarse clock would enter or wake first. So a row
//! has the time before which it must not be drawn: a nanosecond after the row of another core by which its task left.

use super::writer::{Name, Writer};
use crate::model::Nanos;
use crate::track::{PrevState, SchedRows, SwitchRow, WakingRow};

/// Limit of rows that wait for a decision. Beyond it, the oldest row is decided from the available evidence.
pub const PENDING_ROWS: usize = 1 << 14;

/// In how many rows after a waking its task is looked for, of those of the same time.
const LOOKED_AT: usize = 64;

/// A context switch that is not in a block yet.
#[derive(Clone, Copy, Debug)]
pub struct Switch {
    pub time_ns: u64,
    /// It is drawn at this time if that is later.
    pub not_before_ns: u64,
    /// `None`: undecided.
    pub prev_state: Option<PrevState>,
    pub next_tid: i32,
    pub next_prio: i32,
    pub next_comm: Name,
}

impl Switch {
    #[inline]
    fn drawn_ns(&self) -> u64 {
        self.time_ns.max(self.not_before_ns)
    }
}

/// A waking that is not in a block yet.
#[derive(Clone, Copy, Debug)]
pub struct Waking {
    pub time_ns: u64,
    /// It is drawn at this time if that is later.
    pub not_before_ns: u64,
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

impl Row {
    #[inline]
    fn time_ns(&self) -> u64 {
        let (Row::Switch(Switch { time_ns, .. }) | Row::Waking(Waking { time_ns, .. })) = self;
        *time_ns
    }
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
    /// Whether any switch was written.
    has_written: bool,
    /// Where the last switch is drawn that was added, and that was written.
    reached_ns: u64,
    written_ns: u64,
    /// The times of the last switch and of the last waking that were separated.
    last_switch_ns: Option<u64>,
    last_waking_ns: u64,
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

    /// Adds a switch and gives its number, and the time at which it is drawn.
    pub fn switch(&mut self, mut switch: Switch) -> (RowNumber, u64) {
        self.started = true;
        switch.not_before_ns = switch.not_before_ns.max(self.reached_ns);
        self.reached_ns = switch.drawn_ns();
        self.rows.push(Row::Switch(switch));
        (self.first + self.rows.len() as u64 - 1, self.reached_ns)
    }

    /// Adds a waking, and gives the latest time at which it is drawn.
    pub fn wake(&mut self, waking: Waking) -> u64 {
        self.rows.push(Row::Waking(waking));
        let after_switch_ns = if self.reached_ns >= waking.time_ns { self.reached_ns.saturating_add(1) } else { 0 };
        waking.time_ns.max(waking.not_before_ns).max(after_switch_ns)
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
        self.separate(&mut rows, decided);
        let mut open = writer.empty_rows(core.saturating_add(first_cpu));
        match writer.clip().map(|clip| (clip.start_ns(), clip.end_ns())) {
            None => self.add(&rows[..decided], first_cpu, &mut open, writer),
            Some(range_ns) => {
                let clipped = self.clipped(&rows[..decided], range_ns, writer);
                self.add(&clipped, first_cpu, &mut open, writer);
            }
        }
        rows.drain(..decided);
        self.rows = rows;
        self.first += decided as u64;
        if !open.switches.is_empty() || !open.wakings.is_empty() {
            writer.sched(open);
        }
    }

    /// Moves wakings that have the time of a switch. The viewer reads the switches of a CPU and its wakings as two streams, and does not keep the
    /// order of rows of the same time in different streams: a task that was made ready and then ran would be made ready while it runs. A
    /// waking is drawn a nanosecond before the switches of its time if none of them precedes it, or if one after it is to its task; else
    /// a nanosecond after them. Switches stay, so that running times are exact, except for those that another core delays.
    fn separate(&mut self, rows: &mut [Row], decided: usize) {
        let mut begin = 0;
        while begin < decided {
            let time_ns = rows[begin].time_ns();
            let is_alone = rows.get(begin + 1).is_none_or(|next| next.time_ns() != time_ns)
                && self.last_switch_ns.is_none_or(|last_ns| last_ns < time_ns)
                && self.last_waking_ns <= time_ns;
            if is_alone {
                match &mut rows[begin] {
                    Row::Switch(switch) => self.last_switch_ns = Some(switch.drawn_ns()),
                    Row::Waking(waking) => {
                        waking.time_ns = time_ns.max(waking.not_before_ns);
                        self.last_waking_ns = waking.time_ns;
                    }
                }
                begin += 1;
                continue;
            }
            let count = rows[begin..].iter().take_while(|row| row.time_ns() == time_ns).count();
            let same = &mut rows[begin..begin + count];
            let last_switch = same.iter().rposition(|row| matches!(row, Row::Switch(_)));
            for number in 0..count.min(decided - begin) {
                let (here, later) = same.split_at_mut(number + 1);
                match &mut here[number] {
                    Row::Switch(switch) => self.last_switch_ns = Some(switch.drawn_ns()),
                    Row::Waking(waking) => {
                        let is_before = last_switch.is_some_and(|last| number < last);
                        let last_ns = self.last_switch_ns.filter(|&last_ns| last_ns >= time_ns);
                        let is_to_it = |row: &Row| matches!(row, Row::Switch(switch) if switch.next_tid == waking.tid);
                        let runs = || later.iter().take(LOOKED_AT).any(is_to_it);
                        waking.time_ns = match (is_before, last_ns) {
                            (true, last_ns) if (last_ns.is_some() || waking.not_before_ns > time_ns) && runs() => {
                                time_ns.saturating_sub(1)
                            }
                            (true, None) => time_ns.saturating_sub(1).max(waking.not_before_ns),
                            (_, Some(last_ns)) => last_ns.saturating_add(1).min(Nanos::MAX.0).max(waking.not_before_ns),
                            (false, None) => time_ns.max(waking.not_before_ns),
                        };
                    }
                }
            }
            let moved = &mut same[..count.min(decided - begin)];
            moved.sort_by_key(Row::time_ns);
            for row in moved {
                if let Row::Waking(waking) = row {
                    waking.time_ns = waking.time_ns.max(self.last_waking_ns);
                    self.last_waking_ns = waking.time_ns;
                }
            }
            begin += count;
        }
    }

    /// The rows within the time range, with the switches at its begin and end.
    #[cold]
    fn clipped(&mut self, rows: &[Row], (from_ns, to_ns): (u64, u64), writer: &mut Writer) -> Vec<Row> {
        let mut clipped = Vec::new();
        for &row in rows {
            let time_ns = row.time_ns();
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
                        let row = Switch { time_ns: to_ns, not_before_ns: 0, prev_state, next_tid: 0, next_prio: 0, next_comm };
                        clipped.push(Row::Switch(row));
                    }
                }
                Row::Waking(_) => {}
            }
        }
        clipped
    }

    fn enter_range(&mut self, from_ns: u64, clipped: &mut Vec<Row>) {
        if let Some(switch) = self.before_range.take() {
            clipped.push(Row::Switch(Switch { time_ns: from_ns, ..switch }));
        }
    }

    /// Adds rows to a block. The viewer drops the first switch of each CPU and only takes the running thread from it, so a switch to no task
    /// comes before the first one. Were it to the first one's task, the viewer would believe that this task left the CPU: its readiness since
    /// a waking by another CPU would never end.
    fn add(&mut self, rows: &[Row], first_cpu: u16, open: &mut SchedRows, writer: &mut Writer) {
        for row in rows {
            match *row {
                Row::Switch(switch) => {
                    let Switch { prev_state, next_tid, next_prio, next_comm, .. } = switch;
                    let time_ns = switch.drawn_ns().max(self.written_ns);
                    self.written_ns = time_ns;
                    let (mut prev_state, next_comm) = (prev_state.unwrap_or(PrevState::Ready), writer.local(next_comm));
                    if !std::mem::replace(&mut self.has_written, true) {
                        // No task leaves with the first one.
                        prev_state = PrevState::Ready;
                        let name = writer.name("idle");
                        let next_comm = writer.local(name);
                        open.switches.push(SwitchRow {
                            time_ns,
                            prev_state: PrevState::Ready,
                            next_tid: 0,
                            next_prio: 0,
                            next_comm,
                        });
                    }
                    open.switches.push(SwitchRow { time_ns, prev_state, next_tid, next_prio, next_comm });
                }
                Row::Waking(Waking { time_ns, tid, prio, target_core, from_isr, comm, .. }) => {
                    let (target_core, comm) = (target_core.saturating_add(first_cpu), writer.local(comm));
                    open.wakings.push(WakingRow { time_ns, tid, prio, target_core, from_isr, comm });
                }
            }
        }
    }
}
