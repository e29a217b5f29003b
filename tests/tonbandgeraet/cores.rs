//! Which core the events of a recording belong to.

use std::collections::HashMap;

use traceconv::format::tonbandgeraet::encode::{Sequence, encode};
use traceconv::format::tonbandgeraet::generate::Damage;
use traceconv::format::tonbandgeraet::record::Record;
use traceconv::format::{CORES_SEPARATE, FORMATS, FormatOptions, OptionValue, Part, Resolved};
use traceconv::model::{Entities, Event, EventBatch, EventKind, Ledger, Level, losses};
use traceconv::pipeline::{self, Source};

use crate::reader::{Attribute, Trace};
use crate::run::{self, Cut, options, subject};

/// What is made of inputs, each with its core.
fn resolved(inputs: &[(&[u8], u16)], is_separate: bool) -> (Entities, EventBatch, Vec<Ledger>) {
    let format = FORMATS.iter().find(|format| format.name() == "tonbandgeraet").expect("it is registered");
    let own = if is_separate { vec![(CORES_SEPARATE, OptionValue::Flag)] } else { Vec::new() };
    let alone = inputs.len() == 1;
    let options_of =
        |core: u16| FormatOptions { core: Some(core).filter(|_| !alone), own: own.clone(), ..FormatOptions::default() };
    let options: Vec<FormatOptions> = inputs.iter().map(|input| options_of(input.1)).collect();
    let scan = format.open(&options).expect("the options are right");
    let parts: Vec<Part<'_>> = inputs.iter().map(|(bytes, _)| Part::new(bytes, 0..bytes.len())).collect();
    let facts =
        parts.iter().enumerate().map(|(input, &part)| Some(scan.join(part.input, None, scan.scan(input, part)))).collect();
    let mut ledgers = vec![Ledger::default(); inputs.len()];
    let mut stages = scan.finish(facts, &mut ledgers);
    let (mut entities, mut batch) = (Entities::default(), EventBatch::default());
    for (input, &part) in parts.iter().enumerate() {
        let mut out = Resolved { entities: &mut entities, batch: &mut batch, ledger: &mut ledgers[input] };
        drop(stages.resolve.resolve(input, part.input, stages.decode.decode(input, part, None), &mut out));
        stages.resolve.finish(input, part.input, &mut out);
    }
    (entities, batch, ledgers)
}

/// How many events each core has at each time.
fn places(batch: &EventBatch) -> HashMap<(u16, u64), usize> {
    let mut places = HashMap::new();
    for event in &batch.events {
        *places.entry((event.core.0, event.time.0)).or_default() += 1;
    }
    places
}

#[test]
fn a_lost_change_of_the_core_is_known_from_the_times() {
    let capture = run::generated(60_000, 3, 2, Damage::None);
    let whole = places(&resolved(&[(&capture, 0)], false).1);
    let changes = run::records(&capture).frames;
    let changes = changes.iter().filter(|stored| matches!(stored.record, Record::CoreId { ts: 1.., .. }));
    let changes: Vec<usize> = changes.map(|stored| stored.offset as usize).collect();
    assert!(changes.len() > 60, "{}", changes.len());
    let (mut inferred, mut restored) = (0, 0);
    // Not the last ones: nothing follows that would contradict.
    for &offset in changes[4..changes.len() - 4].iter().step_by(9) {
        let mut damaged = capture.clone();
        damaged.remove(offset + 2);
        let (_, batch, ledgers) = resolved(&[(&damaged, 0)], false);
        let made = places(&batch);
        let missing: usize =
            whole.iter().map(|(place, &count)| count.saturating_sub(made.get(place).copied().unwrap_or(0))).sum();
        restored += usize::from(missing <= 8);
        inferred += ledgers[0].entries().iter().filter(|entry| entry.kind == losses::CORE_INFERRED).count();
    }
    // Where the times fit both cores, the events stay with the core before.
    assert!(inferred >= 8 && restored >= 8, "{inferred} changes inferred, {restored} of 20 restored");
}

/// A target counts its losses on all cores together. The file of one core goes on longer than that of the other one, or begins earlier,
/// before a reset.
#[test]
fn losses_that_the_files_of_all_cores_report_count_once() {
    type Sessions<'a> = &'a [&'a [u32]];
    let plain = |sessions: Sessions<'_>| {
        let mut frames = Vec::new();
        for counts in sessions {
            encode(&Record::CoreId { ts: 0, core_id: 0 }, &mut frames);
            for (ts, &cnt) in (1..).map(|turn| turn * 1000).zip(*counts) {
                encode(&Record::DroppedEvtCnt { ts, cnt }, &mut frames);
                (0..50).for_each(|n| encode(&Record::IsrEnter { ts: ts + n, isr_id: 3 }, &mut frames));
            }
        }
        frames
    };
    let superset = |sessions: Sessions<'_>| {
        let mut frames = Vec::new();
        for counts in sessions {
            let (mut sequence, mut dropped) = (Sequence::new(2, (1, 1), 0, 10), 0);
            for (ts, &count) in (1..).map(|turn| turn * 1000).zip(*counts) {
                (dropped..count).for_each(|_| sequence.lose(ts));
                dropped = count;
                (0..50).for_each(|n| sequence.event(0, ts + n, &Record::IsrEnter { ts: 0, isr_id: 3 }, &mut frames));
            }
        }
        frames
    };
    let cases: [([Sessions<'_>; 2], u64, u64); 2] =
        [([&[&[0, 0, 4]], &[&[0, 0, 4, 4, 7, 7]]], 7, 4 + 7), ([&[&[0, 0, 0]], &[&[0, 0, 7, 7], &[0, 0, 0]]], 7, 7)];
    for ([one, other], lost, lost_separately) in cases {
        for [one, other] in [[plain(one), plain(other)], [superset(one), superset(other)]] {
            for inputs in [[(&one[..], 0), (&other[..], 1)], [(&other[..], 0), (&one[..], 1)]] {
                let sum = |is_separate| -> u64 { resolved(&inputs, is_separate).2.iter().map(Ledger::at_least_lost).sum() };
                assert_eq!((sum(false), sum(true)), (lost, lost_separately));
            }
        }
    }
}

#[test]
fn a_piece_that_is_there_twice_changes_no_core() {
    // A level may be known at once where it was known late.
    let is_counted = |event: &&Event| !matches!(event.kind, EventKind::LateObjectLevel { .. });
    let events = |batch: &EventBatch| batch.events.iter().filter(is_counted).map(|event| event.core.0).collect::<Vec<_>>();
    let of_cores = |batch: &EventBatch| [0, 1].map(|core| events(batch).iter().filter(|&&other| other == core).count());
    for seed in 1..=2 {
        let capture = run::generated(40_000, seed, 2, Damage::None);
        let whole = of_cores(&resolved(&[(&capture, 0)], false).1);
        for number in 0..24 {
            let (at, len) = (4_000 + 1_381 * number, 300 + 29 * number);
            let mut twice = capture.clone();
            twice.splice(at + len..at + len, capture[at..at + len].iter().copied());
            let (_, batch, ledgers) = resolved(&[(&twice, 0)], false);
            let context = format!("{len} bytes at {at} of seed {seed}");
            assert!(ledgers[0].entries().iter().all(|entry| entry.kind != losses::CORE_INFERRED), "{context}");
            let made = of_cores(&batch);
            assert!(made[0] >= whole[0] && made[1] >= whole[1], "{context}: {made:?}, not {whole:?}");
        }
    }
}

/// The frames of records.
fn frames(records: &[Record<&[u8]>]) -> Vec<u8> {
    let mut bytes = Vec::new();
    records.iter().for_each(|record| encode(record, &mut bytes));
    bytes
}

#[test]
fn a_task_created_by_one_core_and_deleted_by_another_is_one_task() {
    let created = frames(&[
        Record::CoreId { ts: 0, core_id: 0 },
        Record::TaskCreated { ts: 100, task_id: 5 },
        Record::TaskToRdyState { ts: 110, task_id: 5 },
    ]);
    let deleted = frames(&[
        Record::CoreId { ts: 0, core_id: 1 },
        Record::TaskSwitchedIn { ts: 120, task_id: 5 },
        Record::TaskDeleted { ts: 130, task_id: 5 },
    ]);
    for inputs in [[(deleted.as_slice(), 1), (created.as_slice(), 0)], [(created.as_slice(), 0), (deleted.as_slice(), 1)]] {
        assert_eq!(resolved(&inputs, false).0.tasks.len(), 1);
    }
    // Created again after that, it is another one.
    let again = frames(&[Record::CoreId { ts: 0, core_id: 0 }, Record::TaskCreated { ts: 200, task_id: 5 }]);
    assert_eq!(resolved(&[(deleted.as_slice(), 1), (again.as_slice(), 0)], false).0.tasks.len(), 2);
}

#[test]
fn a_queue_that_two_cores_use_is_no_mailbox_because_of_the_order_of_their_files() {
    // Sent twice by one core; received by the other, and by the first.
    let sends = frames(&[
        Record::CoreId { ts: 0, core_id: 0 },
        Record::QueueSend { ts: 100, queue_id: 1, len_after: 1 },
        Record::QueueSend { ts: 110, queue_id: 1, len_after: 2 },
        Record::QueueReceive { ts: 130, queue_id: 1, len_after: 0 },
    ]);
    let receives = frames(&[Record::CoreId { ts: 0, core_id: 1 }, Record::QueueReceive { ts: 120, queue_id: 1, len_after: 1 }]);
    let (_, batch, ledgers) = resolved(&[(&sends, 0), (&receives, 1)], false);
    assert!(ledgers.iter().flat_map(Ledger::entries).all(|entry| entry.kind != losses::MAILBOX_OVERWRITTEN));
    let levels = batch.events.iter().filter_map(|event| match event.kind {
        EventKind::Object { level, .. } => Some(level),
        _ => None,
    });
    assert_eq!(levels.collect::<Vec<_>>(), [1, 2, 0, 1].map(Level::known));
}

#[test]
fn kernels_of_their_own_have_tasks_of_their_own() {
    let [one, other] = [1, 2].map(|seed| run::generated(20_000, seed, 1, Damage::None));
    let alone = resolved(&[(&one, 0)], false).0;
    let inputs = [(one.as_slice(), 0), (other.as_slice(), 1)];
    // The same names, as of one kernel: only the option says that there are two.
    let together = resolved(&inputs, false).0;
    let separate = resolved(&inputs, true).0;
    assert!(together.tasks.len() < 2 * alone.tasks.len(), "{} of {}", together.tasks.len(), alone.tasks.len());
    let other_alone = resolved(&[(&other, 0)], false).0;
    assert_eq!(separate.tasks.len(), alone.tasks.len() + other_alone.tasks.len());
    assert_eq!(separate.objects.len(), alone.objects.len() + other_alone.objects.len());
    for task in alone.tasks.iter() {
        let same = separate.tasks.iter().filter(|other| (other.number, &other.name) == (task.number, &task.name)).count();
        assert!(same >= 1, "{task:?}");
    }
}

/// The viewer has one value for a key.
#[test]
fn a_kind_of_loss_in_two_inputs_is_one_attribute() {
    let capture = run::generated(2_000, 3, 1, Damage::None);
    let cut = &capture[..capture.len() - 1];
    let source = |core| {
        let options = FormatOptions { core: Some(core), ..FormatOptions::default() };
        Source::new(cut, subject().format).options(options)
    };
    let mut trace = Vec::new();
    pipeline::convert(&[source(0), source(1)], &options(Cut::WHOLE), &mut trace, &mut |_| true).expect("damage is no error");
    let trace = Trace::parse(&trace).expect("the reader accepts it");
    assert_eq!(trace.attributes["ledger.truncated_frame"], Attribute::Int(2));
}
