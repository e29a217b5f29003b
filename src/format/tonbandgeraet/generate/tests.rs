//! Generated captures obey the rules that readers of real ones rely on.

use super::super::decode::{Decoder, Records};
use super::super::record::{QueueKind, Record};
use super::*;
use crate::model::TextRef;
use rustc_hash::FxHashMap;

fn capture(options: GenerateOptions) -> Vec<u8> {
    let mut bytes = Vec::new();
    generate(&options, &mut bytes).unwrap();
    bytes
}

fn decoded(bytes: &[u8]) -> Records {
    Decoder::plain().records(bytes, 0..bytes.len())
}

#[test]
fn the_same_options_give_the_same_bytes() {
    let options = GenerateOptions { bytes: 100_000, seed: 7, ..GenerateOptions::default() };
    let bytes = capture(options);
    assert_eq!(bytes, capture(options));
    assert_ne!(bytes, capture(GenerateOptions { seed: 8, ..options }));
    assert!((100_000..100_040).contains(&bytes.len()), "{}", bytes.len());
    let records = decoded(&bytes);
    assert!(records.bad.is_empty());
    let longer = capture(GenerateOptions { bytes: 200_000, ..options });
    assert!(longer.starts_with(&bytes[..99_000]), "a longer capture continues a shorter one");
}

#[test]
fn the_mix_is_that_of_a_busy_firmware() {
    let bytes = capture(GenerateOptions { bytes: 2_000_000, ..GenerateOptions::default() });
    let records = decoded(&bytes);
    let mut counts: FxHashMap<&str, u64> = FxHashMap::default();
    for stored in &records.frames {
        *counts.entry(stored.record.name()).or_default() += 1;
    }
    let total = records.frames.len() as f64;
    let share = |name: &str| counts.get(name).map_or(0.0, |&count| count as f64 / total);
    let mean_bytes = bytes.len() as f64 / total;
    assert!((8.5..9.5).contains(&mean_bytes), "{mean_bytes}");
    // Shares as recorded from a real kernel, within a factor of two; rare ones only have to occur.
    for (name, recorded) in [
        ("task_switched_in", 0.172),
        ("task_to_rdy_state", 0.144),
        ("queue_receive", 0.120),
        ("queue_send", 0.117),
        ("valmarker", 0.097),
        ("curtask_delay", 0.064),
        ("curtask_block_on_queue_receive", 0.041),
        ("evtmarker_begin", 0.036),
        ("isr_enter", 0.035),
        ("dropped_evt_cnt", 0.0192),
        ("queue_send_from_isr", 0.0162),
        ("curtask_delay_until", 0.0153),
        ("task_evtmarker_begin", 0.0139),
        ("task_valmarker", 0.0139),
    ] {
        let share = share(name);
        assert!((recorded / 2.0..recorded * 2.0).contains(&share), "{name}: {share:.4}, recorded {recorded}");
    }
    let rare = [
        "queue_receive_from_isr",
        "evtmarker",
        "task_evtmarker",
        "task_priority_set",
        "task_priority_inherit",
        "task_priority_disinherit",
        "task_suspended",
        "task_resumed",
        "task_resumed_from_isr",
        "task_created",
        "task_deleted",
    ];
    for name in rare {
        assert!(share(name) > 0.0, "{name}");
    }
}

/// Checks the events of one core against the rules of the kernel, independently of the generator.
#[derive(Default)]
struct Rules {
    last_ts: u64,
    running: Option<u32>,
    priority: FxHashMap<u32, u32>,
    ready: FxHashMap<u32, bool>,
    level: FxHashMap<u32, u32>,
    holder: FxHashMap<u32, u32>,
    isrs: Vec<u32>,
    spans: FxHashMap<u32, i64>,
}

impl Rules {
    fn check(&mut self, record: &Record<TextRef>, kinds: &FxHashMap<u32, QueueKind>) {
        if let Some(ts) = record.ts() {
            assert!(ts >= self.last_ts, "time never decreases: {record:?}");
            self.last_ts = ts;
        }
        match *record {
            Record::TaskSwitchedIn { task_id, .. } => {
                assert!(self.isrs.is_empty(), "no switch within an interrupt");
                assert_eq!(self.ready.get(&task_id), Some(&true), "{record:?}");
                let highest = self.ready.iter().filter(|&(_, &ready)| ready).map(|(id, _)| self.priority[id]).max();
                assert_eq!(Some(self.priority[&task_id]), highest, "the most important task runs: {record:?}");
                assert_ne!(self.running.replace(task_id), Some(task_id));
            }
            Record::TaskToRdyState { task_id, .. } => {
                self.ready.insert(task_id, true);
            }
            Record::TaskSuspended { task_id, .. } | Record::TaskDeleted { task_id, .. } => {
                self.ready.insert(task_id, false);
            }
            Record::CurtaskDelay { .. }
            | Record::CurtaskDelayUntil { .. }
            | Record::CurtaskBlockOnQueueReceive { .. }
            | Record::CurtaskBlockOnQueueSend { .. } => {
                assert!(self.isrs.is_empty());
                self.ready.insert(self.running.unwrap(), false);
            }
            Record::TaskPrioritySet { task_id, priority, .. }
            | Record::TaskPriorityInherit { task_id, priority, .. }
            | Record::TaskPriorityDisinherit { task_id, priority, .. } => {
                self.priority.insert(task_id, priority);
            }
            Record::QueueCurLength { queue_id, length, .. } => {
                self.level.insert(queue_id, length);
            }
            Record::QueueSend { queue_id, len_after, .. } | Record::QueueSendFromIsr { queue_id, len_after, .. } => {
                assert_eq!(self.level.insert(queue_id, len_after), Some(len_after - 1));
                if matches!(kinds[&queue_id], QueueKind::Mutex | QueueKind::RecursiveMutex) {
                    assert_eq!(self.holder.remove(&queue_id), self.running, "who gives a mutex holds it");
                }
            }
            Record::QueueReceive { queue_id, len_after, .. } | Record::QueueReceiveFromIsr { queue_id, len_after, .. } => {
                assert_eq!(self.level.insert(queue_id, len_after), Some(len_after + 1));
                if matches!(kinds[&queue_id], QueueKind::Mutex | QueueKind::RecursiveMutex) {
                    assert_eq!(self.holder.insert(queue_id, self.running.unwrap()), None);
                }
            }
            Record::IsrEnter { isr_id, .. } => self.isrs.push(isr_id),
            Record::IsrExit { isr_id, .. } => assert_eq!(self.isrs.pop(), Some(isr_id)),
            Record::EvtmarkerBegin { evtmarker_id, .. } => *self.spans.entry(evtmarker_id).or_default() += 1,
            Record::EvtmarkerEnd { evtmarker_id, .. } => {
                let open = self.spans.entry(evtmarker_id).or_default();
                *open -= 1;
                assert!(*open >= 0);
            }
            _ => {}
        }
    }
}

#[test]
fn events_obey_the_kernel() {
    for (seed, cores) in [(1, 1), (2, 1), (3, 3)] {
        let bytes = capture(GenerateOptions { bytes: 400_000, seed, cores, ..GenerateOptions::default() });
        let records = decoded(&bytes);
        let mut kinds = FxHashMap::default();
        let mut rules: Vec<Rules> = (0..cores).map(|_| Rules::default()).collect();
        let mut core = 0;
        let mut inherited = 0;
        for stored in &records.frames {
            match stored.record {
                Record::CoreId { core_id, .. } => core = core_id as usize,
                Record::QueueKind { queue_id, kind } => {
                    kinds.insert(queue_id, kind);
                }
                Record::TaskPriorityInherit { .. } => inherited += 1,
                _ => {}
            }
            rules[core].check(&stored.record, &kinds);
        }
        assert!(inherited > 0);
        assert!(rules.iter().all(|rules| rules.last_ts > 10 * 40_000));
    }
}

#[test]
fn damage_is_as_given() {
    let options = GenerateOptions { bytes: 500_000, ..GenerateOptions::default() };
    let good = decoded(&capture(options)).frames.len();
    for damage in [Damage::Flips, Damage::Cuts] {
        let records = decoded(&capture(GenerateOptions { damage, ..options }));
        assert!((5..200).contains(&records.bad.len()), "{damage:?} {}", records.bad.len());
        assert!(records.frames.len() > good * 9 / 10);
    }
    let records = decoded(&capture(GenerateOptions { damage: Damage::Drops, ..options }));
    assert!(records.bad.is_empty());
    let counters = records.frames.iter().filter_map(|stored| match stored.record {
        Record::DroppedEvtCnt { cnt, .. } => Some(cnt),
        _ => None,
    });
    assert!(counters.clone().is_sorted());
    assert!(counters.max().is_some_and(|total| total > 50));
}
