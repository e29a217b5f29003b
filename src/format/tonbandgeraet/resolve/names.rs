//! Metadata by subject: names, kinds and the tick rate, from anywhere in the capture.
//!
//! Metadata is valid for its whole session, also for events before it. After a reset another firmware may run, with other names for the
//! same ids: a session uses the first fact after its start, else the last one before it.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::model::{Ledger, ObjectKind, Rate, TaskKind, TextRef};

use super::super::record::{QueueKind, Record, SyncFields};
pub use super::super::scan::Subject;
use super::super::scan::{ScanFacts, Unrecorded};
use super::sync_check::SyncCheck;
use super::{CORES_LIMIT, losses};

/// The fact in a metadata record.
#[derive(Clone, Debug, PartialEq)]
pub enum Fact {
    Name(Arc<str>),
    Rate(Rate),
    Address(u64),
    Kind(ObjectKind),
    Task(u32),
}

impl Fact {
    fn is_same_rate(&self, other: &Fact) -> bool {
        matches!((self, other), (Fact::Rate(one), Fact::Rate(two)) if one == two)
    }
}

/// A fact and its place.
#[derive(Debug)]
struct Known {
    /// Where it was recorded first.
    offset: u64,
    /// Where it, or one before it, was recorded last.
    last_offset: u64,
    fact: Fact,
}

/// Another name or kind of a subject than before.
#[derive(Debug)]
struct Conflict {
    subject: Subject,
    /// Where the one before was recorded last.
    before: u64,
    offset: u64,
}

/// All metadata of a recording.
#[derive(Debug, Default)]
pub struct Names {
    /// By input and subject: the facts in file order.
    inputs: Vec<FxHashMap<Subject, Vec<Known>>>,
    /// By input: in file order.
    conflicts: Vec<Vec<Conflict>>,
    are_separate: bool,
    /// The cores whose idle task or timer service is recorded.
    cores: BTreeSet<u32>,
    /// The events that are not recorded.
    pub unrecorded: Unrecorded,
}

impl Names {
    /// Without metadata. `are_separate`: the inputs were recorded by different programs, whose ids are not related.
    pub fn new(are_separate: bool, unrecorded: Unrecorded) -> Names {
        Names { are_separate, unrecorded, ..Names::default() }
    }

    /// Adds the metadata of the next input. `checks` are those of its syncs, `core` is the core of everything before the first `core_id`.
    pub fn add_input(&mut self, facts: &ScanFacts, checks: &[SyncCheck], core: u32, ledger: &mut Ledger) {
        let mut known: FxHashMap<Subject, Vec<Known>> = FxHashMap::default();
        let mut conflicts = Vec::new();
        let has_odd_clock = |offset| {
            let check = checks.binary_search_by_key(&offset, |check| check.offset).ok().and_then(|found| checks.get(found));
            check.is_some_and(|check| check.odd_clock)
        };
        for entry in &facts.metadata {
            // A clock that the syncs around it contradict would scale all times.
            if matches!(entry.record, Record::Sync { .. }) && has_odd_clock(entry.offset) {
                ledger.enter(losses::CONFLICTING_RESOLUTION, entry.offset, 0);
                continue;
            }
            let mut name = |text| {
                let name = String::from_utf8_lossy(facts.bytes(text));
                if let Cow::Owned(_) = name {
                    ledger.enter(losses::NOT_UTF8, entry.offset, 0);
                }
                Fact::Name(Arc::from(&*name))
            };
            let Some(subject) = Subject::of(&entry.record, entry.core.unwrap_or(core)) else { continue };
            let fact = match entry.record {
                Record::TsResolutionNs { .. } | Record::Sync { .. } => match recorded_rate(facts, &entry.record) {
                    Some(rate) => Fact::Rate(rate),
                    None => {
                        ledger.enter(losses::ZERO_RESOLUTION, entry.offset, 0);
                        continue;
                    }
                },
                Record::AddressBase { address } => Fact::Address(address),
                Record::TaskIsIdleTask { task_id, .. } | Record::TaskIsTimerTask { task_id } => Fact::Task(task_id),
                Record::QueueKind { kind, .. } => Fact::Kind(kind_of(kind)),
                record => match record.text() {
                    Some(text) => name(text),
                    None => continue,
                },
            };
            if let Subject::IdleTask(core) | Subject::TimerTask(core) = subject
                && core < CORES_LIMIT
            {
                self.cores.insert(core);
            }
            let facts = known.entry(subject).or_default();
            if let Some(last) = facts.last().filter(|last| subject.is_named_once() && last.fact != fact) {
                conflicts.push(Conflict { subject, before: last.last_offset, offset: entry.offset });
            }
            let last_offset = facts.last().map_or(0, |last| last.last_offset).max(entry.last_offset);
            facts.push(Known { offset: entry.offset, last_offset, fact });
        }
        let resolutions = known.get(&Subject::Resolution).map_or(&[][..], Vec::as_slice);
        // Each core records it: only a different value is a contradiction.
        if let Some([_, other]) = resolutions.windows(2).find(|pair| !pair[0].fact.is_same_rate(&pair[1].fact)) {
            ledger.enter(losses::CONFLICTING_RESOLUTION, other.offset, 0);
        }
        self.inputs.push(known);
        self.conflicts.push(conflicts);
    }

    /// The subjects that have another name or kind than before in a session, and where. `range`: its bytes.
    pub fn conflicts(&self, input: usize, range: Range<u64>) -> impl Iterator<Item = (Subject, u64)> + '_ {
        let conflicts = self.conflicts.get(input).map_or(&[][..], Vec::as_slice);
        let within = conflicts.iter().skip(conflicts.partition_point(|conflict| conflict.offset < range.start));
        let within = within.take_while(move |conflict| conflict.offset < range.end);
        within.filter(move |conflict| conflict.before >= range.start).map(|conflict| (conflict.subject, conflict.offset))
    }

    /// The fact of `subject` in the session that starts at `starts[i]` in input `i`. Input `own` is searched first.
    pub fn fact(&self, subject: Subject, own: usize, starts: &[u64]) -> Option<&Fact> {
        let others =
            (0..self.inputs.len()).filter(|&input| input != own && (!self.are_separate || subject == Subject::Resolution));
        std::iter::once(own).chain(others).find_map(|input| {
            let facts: &[Known] = self.inputs.get(input)?.get(&subject)?;
            let start = starts.get(input).copied().unwrap_or(0);
            // In file order: the first fact after the start, else the last one before it.
            let first = facts.partition_point(|known| known.last_offset < start);
            facts.get(first).or(facts.last()).map(|known| &known.fact)
        })
    }

    /// What kind of task an id is of.
    pub fn task_kind(&self, id: u32, own: usize, starts: &[u64]) -> TaskKind {
        let is = |subject| matches!(self.fact(subject, own, starts), Some(Fact::Task(task)) if *task == id);
        match () {
            () if self.cores.iter().any(|&core| is(Subject::IdleTask(core))) => TaskKind::Idle,
            () if self.cores.iter().any(|&core| is(Subject::TimerTask(core))) => TaskKind::TimerService,
            () => TaskKind::Normal,
        }
    }

    /// The name of `subject`.
    pub fn name(&self, subject: Subject, own: usize, starts: &[u64]) -> Option<Arc<str>> {
        match self.fact(subject, own, starts)? {
            Fact::Name(name) => Some(name.clone()),
            _ => None,
        }
    }
}

/// The length of a tick in a record, if it is valid.
fn recorded_rate(facts: &ScanFacts, record: &Record<TextRef>) -> Option<Rate> {
    match record {
        Record::TsResolutionNs { ns_per_ts } => Rate::from_ns_per_tick(*ns_per_ts),
        Record::Sync { fields } => SyncFields::read(facts.bytes(*fields)).ok()?.rate(),
        _ => None,
    }
}

fn kind_of(kind: QueueKind) -> ObjectKind {
    match kind {
        QueueKind::Queue => ObjectKind::Queue,
        QueueKind::CountingSemaphore => ObjectKind::CountingSemaphore,
        QueueKind::BinarySemaphore => ObjectKind::BinarySemaphore,
        QueueKind::Mutex => ObjectKind::Mutex,
        QueueKind::RecursiveMutex => ObjectKind::RecursiveMutex,
        QueueKind::QueueSet => ObjectKind::QueueSet,
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::encode::encode;
    use super::*;

    #[test]
    fn a_repeated_fact_is_valid_in_the_sessions_that_repeat_it() {
        let mut input = Vec::new();
        let mut starts = Vec::new();
        for name in [&b"pump"[..], b"pump", b"valve"] {
            starts.push(input.len() as u64);
            encode(&Record::TaskName { task_id: 1, name }, &mut input);
        }
        starts.push(input.len() as u64);
        for &cut in &starts {
            let parts = [0..cut as usize, cut as usize..input.len()].map(|part| ScanFacts::scan(&input, part));
            let mut names = Names::new(false, Unrecorded::default());
            names.add_input(&ScanFacts::merge(parts), &[], 0, &mut Ledger::default());
            let named: Vec<_> = starts.iter().filter_map(|&start| names.name(Subject::Task(1), 0, &[start])).collect();
            assert_eq!(named, ["pump", "pump", "valve", "valve"].map(Arc::from), "cut at {cut}");
        }
    }

    #[test]
    fn an_idle_task_is_that_of_its_session() {
        let mut input = Vec::new();
        let mut starts = Vec::new();
        for task_id in [6, 7, 6] {
            starts.push(input.len() as u64);
            encode(&Record::TaskIsIdleTask::<&[u8]> { task_id, core_id: 0 }, &mut input);
            encode(&Record::TaskIsTimerTask::<&[u8]> { task_id: task_id + 2 }, &mut input);
        }
        let mut names = Names::new(false, Unrecorded::default());
        names.add_input(&ScanFacts::scan(&input, 0..input.len()), &[], 0, &mut Ledger::default());
        let kinds = |id| -> Vec<TaskKind> { starts.iter().map(|&start| names.task_kind(id, 0, &[start])).collect() };
        assert_eq!(kinds(6), [TaskKind::Idle, TaskKind::Normal, TaskKind::Idle]);
        assert_eq!(kinds(7), [TaskKind::Normal, TaskKind::Idle, TaskKind::Normal]);
        assert_eq!(kinds(9), [TaskKind::Normal, TaskKind::TimerService, TaskKind::Normal]);
    }
}
