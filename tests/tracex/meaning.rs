//! Times, order, waits and names.

use traceconv::format::tracex::encode::Buffer;
use traceconv::format::tracex::generate::{GenerateOptions, generate_with_truth};
use traceconv::format::tracex::layout::{ENTRY_BYTES, Layout};
use traceconv::format::tracex::names::id;
use traceconv::format::{FormatOptions, OptionValue};
use traceconv::model::{
    ArgValue, Certainty, EventKind, Matter, ObjectOp, PriorityChange, Rate, RecordedWaits, WaitReason, losses,
};

use crate::captures::{self, Events};
use crate::common::run::Subject;
use crate::run::{Cut, convert, generated_with, subject};

/// The ring is unrolled, and a clock of any length is unwrapped: every event has the time that the generator knows.
#[test]
fn times_are_those_of_the_target() {
    let targets = [[false, false], [true, false], [false, true], [true, true]];
    for (seed, ([is_big, is_wide], time_bits)) in (0..).zip(targets.into_iter().zip([32, 16, 24, 32])) {
        let options = GenerateOptions { bytes: 200_000, seed, is_big, is_wide, time_bits, ..GenerateOptions::default() };
        let (capture, truth) = generate_with_truth(&options);
        for cut in [Cut::WHOLE, Cut::SMALL] {
            let mut times = Vec::new();
            subject().each_record(&capture, cut, |record| times.push(record.nanos.expect("every event has a time") / 1000));
            assert_eq!(times.len(), truth.len());
            let (start, first) = (truth[0], times[0]);
            for (index, (time, truth)) in times.iter().zip(&truth).enumerate() {
                assert_eq!(time - first, truth - start, "event {index} with a clock of {time_bits} bits");
            }
        }
        let ledger = convert(&capture, Cut::WHOLE).summary.ledger;
        // The oldest entries may begin within an interrupt.
        let is_cut = |kind| kind == losses::ISR_EXIT_WITHOUT_ENTER;
        assert!(ledger.entries().iter().all(|entry| is_cut(entry.kind)), "{:?}", ledger.entries());
    }
}

#[test]
fn the_rate_is_an_option_and_otherwise_assumed() {
    let capture = generated_with(&GenerateOptions { bytes: 5_000, ..GenerateOptions::default() });
    let times = |subject: &Subject| {
        let mut times = Vec::new();
        subject.each_record(&capture, Cut::WHOLE, |record| times.push(record.nanos.expect("every event has a time")));
        times
    };
    let assumed = times(&subject());
    let options = FormatOptions { clock: Rate::from_hz(10_000_000, 1), ..FormatOptions::default() };
    let given = times(&Subject { options, ..subject() });
    assert!(assumed.iter().zip(&given).all(|(assumed, given)| *assumed == 10 * given));
    let facts = convert(&capture, Cut::WHOLE).summary.facts;
    let clock = facts.findings.iter().find(|finding| finding.of == Matter::Clock).unwrap();
    assert_eq!((clock.certainty, clock.warning()), (Certainty::Assumed, None));
    assert!(facts.hints.iter().any(|hint| hint.contains("--clock-hz")));
}

fn kinds(events: &Events) -> Vec<EventKind> {
    let mut kinds = Vec::new();
    subject().resolve(&events.buffer().bytes(), 1 << 20, |batch, _| kinds.extend(batch.events.iter().map(|event| event.kind)));
    kinds
}

/// A thread that records nothing is known to run from the scheduler's choice.
#[test]
fn switches_follow_from_the_choice_of_the_scheduler() {
    let mut events = Events::default();
    events.by(captures::MAIN, 112, [1, 0, 0, 0]).suspend(captures::MAIN, captures::SLEEP, captures::WORKER);
    events.isr(captures::WORKER, 3, [0, 15, 1, 0]).isr(captures::WORKER, 1, [captures::MAIN, captures::SLEEP, 0, captures::MAIN]);
    events.isr(captures::WORKER, 4, [0, 15, 1, 0]).by(captures::MAIN, 120, [0; 4]);
    let mut switches = Vec::new();
    subject().resolve(&events.buffer().bytes(), 1 << 20, |batch, entities| {
        for event in &batch.events {
            if let EventKind::SwitchedIn(task) = event.kind {
                let name = entities.tasks[task.index()].name.clone();
                switches.push((event.time.0 / 1000, name.as_deref().map(str::to_owned).expect("it has a name")));
            }
        }
    });
    // At the first entry, where main waits, and where the interrupt ends.
    assert_eq!(switches, [(100, "main".into()), (200, "worker".into()), (500, "main".into())]);
}

#[test]
fn waits_have_their_reason_object_and_limit() {
    let events = captures::all().into_iter().find(|capture| capture.name == "services").expect("it is there");
    let mut waits = Vec::new();
    subject().resolve(&events.bytes, 1 << 20, |batch, entities| {
        for event in &batch.events {
            if let EventKind::Waiting(wait) = event.kind {
                let name = wait.object.and_then(|object| entities.objects[object.index()].name.clone());
                waits.push((wait.reason, name.map(|name| name.to_string()), wait.kernel_ticks));
            }
        }
    });
    let object = |name: &str| Some(name.to_owned());
    assert_eq!(
        waits,
        [
            (WaitReason::Receive, object("messages"), u32::MAX),
            (WaitReason::Send, object("messages"), 20),
            (WaitReason::Receive, object("packets"), 7),
            (WaitReason::Delay, None, 3),
            (WaitReason::Receive, object("bus"), 50),
            (WaitReason::Delay, None, 1),
        ]
    );
}

/// Priorities that change without a call are inherited.
#[test]
fn inherited_priorities_and_inversions_are_marked() {
    let capture = captures::all().into_iter().find(|capture| capture.name == "services").expect("it is there");
    let mut changes = Vec::new();
    subject().resolve(&capture.bytes, 1 << 20, |batch, _| {
        changes.extend(batch.events.iter().filter_map(|event| match event.kind {
            EventKind::Priority { priority, change, .. } if change != PriorityChange::Reported => Some((priority, change)),
            _ => None,
        }));
    });
    assert!(changes.contains(&(4, PriorityChange::Inherit)) && changes.contains(&(8, PriorityChange::Disinherit)), "{changes:?}");
    let trace = convert(&capture.bytes, Cut::WHOLE).read();
    for (name, count) in [("priority inversion", 1), ("unbounded priority inversion", 1)] {
        assert_eq!(trace.instants.iter().filter(|instant| instant.name == name).count(), count, "{name}");
    }
}

#[test]
fn user_events_are_named_by_a_file() {
    let file = b"Start\n4097, Sample, SA, (0,0,0), (255,0,0), channel, value\nEnd\n";
    let own = vec![("tracex-events", OptionValue::File { path: "x.trxc".into(), bytes: (*file).into() })];
    let subject = Subject { options: FormatOptions { own, ..FormatOptions::default() }, ..subject() };
    let mut events = Events::default();
    events.by(captures::MAIN, 4097, [1, 2, 3, 0]);
    let mut found = Vec::new();
    subject.each_record(&events.buffer().bytes(), Cut::WHOLE, |record| {
        found.push((record.record.to_owned(), record.fields.iter().map(|(name, _)| (*name).to_owned()).collect::<Vec<_>>()));
    });
    assert_eq!(found.len(), 1);
    assert_eq!((found[0].0.as_str(), &found[0].1[3..]), ("Sample", &["channel".to_owned(), "value".into(), "info_3".into()][..]));
    let own = vec![("tracex-events", OptionValue::File { path: "x.trxc".into(), bytes: (*b"nothing").into() })];
    let error =
        subject.format.open(&[FormatOptions { own, ..FormatOptions::default() }]).map(|_| ()).expect_err("it has no event");
    assert!(error.to_string().starts_with("--tracex-events: `x.trxc` names no user event"), "{error}");
}

#[test]
fn a_queue_has_its_level_after_each_message() {
    use captures::{MAIN, QUEUE};
    let mut events = Events::default();
    events.by(MAIN, 69, [QUEUE, 0, 0, 0]).by(MAIN, 69, [QUEUE, 0, 0, 1]).by(MAIN, 68, [QUEUE, 0, 0, 2]);
    events.suspend(MAIN, captures::SLEEP, 0);
    let levels: Vec<_> = kinds(&events)
        .into_iter()
        .filter_map(|kind| match kind {
            EventKind::Object { level, .. } => level.get(),
            _ => None,
        })
        .collect();
    assert_eq!(levels, [1, 2, 1]);
}

/// Old kernels record neither the interrupted thread nor the next one where a thread is resumed: 0 does not mean that none runs.
#[test]
fn interrupts_of_old_kernels_do_not_make_them_idle() {
    use captures::{MAIN, SLEEP, WORKER};
    let mut events = Events::default();
    events.put(MAIN, 4, 120, [0; 4]).isr(0, 3, [0, 15, 1, 0]).isr(0, 1, [WORKER, SLEEP, 0, 0]).isr(0, 4, [0, 15, 1, 0]);
    events.put(MAIN, 4, 120, [0; 4]);
    let switches = kinds(&events).into_iter().filter(|kind| matches!(kind, EventKind::SwitchedIn(_))).count();
    assert_eq!(switches, 1);
}

/// The entries that a cut dump of a ring lacks are older than those at its begin: the loss is between these and those at its end.
#[test]
fn a_cut_ring_lacks_entries_in_its_middle() {
    let mut events = Events::default();
    for number in 0..30 {
        events.by(captures::MAIN, 4096, [number, 0, 0, 0]);
    }
    let capture = traceconv::format::tracex::encode::Buffer { slots: 20, ..events.buffer() }.bytes();
    // The ring's places have the events 20 to 29, then 10 to 19. Those of 15 to 19 are missing, and some bytes of 14 if it is not whole.
    for (missing, expected) in [(5 * 32, 10..15), (4 * 32 + 7, 10..15), (32, 10..19)] {
        let cut = &capture[..capture.len() - missing];
        for window_bytes in [1 << 20, 100] {
            let mut kinds = Vec::new();
            subject().resolve(cut, window_bytes, |batch, _| kinds.extend(batch.events.iter().map(|event| event.kind)));
            let is_call = |kind: &&EventKind| matches!(kind, EventKind::Instant { .. });
            let at = kinds.iter().position(|kind| matches!(kind, EventKind::Loss(_))).expect("a loss is drawn");
            let calls = |kinds: &[EventKind]| kinds.iter().filter(is_call).count();
            assert_eq!((calls(&kinds[..at]), calls(&kinds[at..])), (expected.len(), 10), "{missing} bytes are missing");
        }
        let ledger = convert(cut, Cut::WHOLE).summary.ledger;
        assert_eq!(ledger.decoded_bytes + ledger.skipped_bytes, cut.len() as u64);
        assert_eq!(ledger.skipped_bytes, (32 - missing as u64 % 32) % 32);
    }
}

/// In the order of recording, which goes on at the start of the ring.
#[test]
fn a_piece_that_is_there_twice_adds_no_time() {
    // As long as the clock takes to wrap, nearly.
    for (time_bits, bytes, len) in [(16, 30_000, 60), (20, 60_000, 600)] {
        let capture = generated_with(&GenerateOptions { bytes, time_bits, ..GenerateOptions::default() });
        let layout = Layout::read(&capture).expect("it has a header");
        let place = |number: usize| layout.ring + (layout.oldest + number) % layout.entries * ENTRY_BYTES;
        let ends = |capture: &[u8]| {
            let summary = convert(capture, Cut::WHOLE).summary;
            (summary.first, summary.last)
        };
        assert!(layout.oldest > 100, "the oldest entry is in the middle");
        let expected = ends(&capture);
        for at in (2..layout.entries - 2 * len).step_by(layout.entries / 20) {
            let mut twice = capture.clone();
            for number in at..at + len {
                let original = place(number);
                twice.copy_within(original..original + ENTRY_BYTES, place(number + len));
            }
            assert_eq!(ends(&twice), expected, "{len} entries from number {at} on");
        }
    }
}

/// A full queue refuses a message, or its sender waits, whatever the next entry is.
#[test]
fn a_message_to_a_full_queue_is_not_sent() {
    let sends = |events: &mut Events| {
        events.by(captures::MAIN, id::QUEUE_SEND, [captures::QUEUE, 0, 0, 0]);
        events.isr(captures::MAIN, id::QUEUE_SEND, [captures::QUEUE, 0, 0, 1]);
        events.by(captures::MAIN, id::QUEUE_SEND, [captures::QUEUE, 0, captures::FOREVER, 1]);
        events.isr(captures::MAIN, id::ISR_ENTER, [0, 15, 1, 0]).isr(captures::MAIN, id::ISR_EXIT, [0, 15, 1, 0]);
        events.suspend(captures::MAIN, captures::IN_QUEUE, captures::WORKER);
    };
    let mut created = Events::default();
    created.by(captures::MAIN, id::QUEUE_CREATE, [captures::QUEUE, 4, 0x2000_3000, 16]);
    sends(&mut created);
    // Or it was created before the trace was enabled, or its creation was overwritten.
    let registered = [[4, 0], [16, 4]].map(|parameters| {
        let mut events = Events::default();
        sends(&mut events);
        let mut buffer = events.buffer();
        let queue = buffer.objects.iter_mut().find(|object| object.pointer == captures::QUEUE).expect("it is there");
        queue.parameters = parameters;
        buffer
    });
    // A message of four words, and memory for one, which is twice as large with wide words.
    let mut wide = Events::default();
    wide.by(captures::MAIN, id::QUEUE_CREATE, [captures::QUEUE, 4, 0x2000_3000, 32]);
    sends(&mut wide);
    let wide = Buffer { is_wide: true, ..wide.buffer() };
    for buffer in [created.buffer(), wide].into_iter().chain(registered) {
        let mut ops = Vec::new();
        subject().resolve(&buffer.bytes(), 1 << 20, |batch, _| {
            ops.extend(batch.events.iter().filter_map(|event| match event.kind {
                EventKind::Object { op, level, .. } if op != ObjectOp::Create => Some((op, level.get())),
                _ => None,
            }));
        });
        assert_eq!(ops, [(ObjectOp::Send, Some(1)), (ObjectOp::SendFailed, None)]);
    }
}

/// Fields of 64 bits are whole, and addresses above 4 GiB are those of the objects.
#[test]
fn wide_words_are_read_whole() {
    for is_big in [false, true] {
        let mut events = Events::default();
        events.by(captures::MAIN, id::SEMAPHORE_PUT, [captures::SEMAPHORE, 3, 0, 0]);
        events.by(captures::MAIN, 4096, [7, 0, captures::FOREVER, captures::QUEUE]);
        let mut bytes = Buffer { is_big, is_wide: true, ..events.buffer() }.bytes();
        let layout = Layout::read(&bytes).expect("it has a header");
        let upper = usize::from(!is_big) * 4;
        for (entry, word) in [(0, 4), (1, 4), (1, 5), (1, 6)] {
            let at = layout.ring + entry * layout.entry_bytes() + word * layout.word_bytes + upper;
            bytes[at..at + 4].copy_from_slice(&if is_big { 0x10u32.to_be_bytes() } else { 0x10u32.to_le_bytes() });
        }
        let mut fields = Vec::new();
        subject().resolve(&bytes, 1 << 20, |batch, _| {
            let args = batch.events.iter().filter_map(|event| match event.kind {
                EventKind::Instant { args, .. } => Some(batch.args_of(args)),
                _ => None,
            });
            fields.extend(args.map(|args| args.iter().map(|arg| arg.value()).collect::<Vec<_>>()));
        });
        let [put, user] = &fields[..] else { panic!("{fields:?}") };
        assert!(matches!(put[..3], [ArgValue::Name(_), ArgValue::Uint(3), ArgValue::Uint(0)]), "{put:?}");
        let wide = [ArgValue::Hex(0x10_0000_0007), ArgValue::Hex(0x10_0000_0000), ArgValue::Hex(0x10_FFFF_FFFF)];
        assert_eq!(user[..3], wide);
        assert!(matches!(user[3], ArgValue::Name(_)), "{user:?}");
    }
}

#[test]
fn a_target_that_is_idle_at_first_is_seen_to_be() {
    let mut events = Events::default();
    events.isr(0, id::ISR_ENTER, [0, 15, 1, 0]).isr(0, id::ISR_EXIT, [0, 15, 1, 0]);
    events.isr(0, id::ISR_ENTER, [0, 15, 1, 0]).isr(0, id::THREAD_RESUME, [captures::MAIN, captures::SLEEP, 0, captures::MAIN]);
    events.isr(0, id::ISR_EXIT, [0, 15, 1, 0]).by(captures::MAIN, 120, [0; 4]);
    let is_switch = |kind: &EventKind| matches!(kind, EventKind::SwitchedIn(_));
    let mut times = Vec::new();
    subject().resolve(&events.buffer().bytes(), 1 << 20, |batch, _| {
        times.extend(batch.events.iter().filter(|event| is_switch(&event.kind)).map(|event| event.time.0 / 1000));
    });
    assert_eq!(times, [100, 500]);
}

#[test]
fn levels_are_known_after_blocks_and_places_were_given() {
    use captures::{BLOCKS, IN_QUEUE, MAIN, QUEUE, WORKER};
    let levels = |events: &Events| -> Vec<u32> {
        let level = |kind| match kind {
            EventKind::Object { level, .. } => level.get(),
            EventKind::LateObjectLevel { level, .. } => Some(level),
            _ => None,
        };
        kinds(events).into_iter().filter_map(level).collect()
    };
    // The second block that is given back goes to a thread that waits.
    let mut events = Events::default();
    events.by(MAIN, id::BLOCK_RELEASE, [BLOCKS, 0, 0, 0]).by(MAIN, id::BLOCK_ALLOCATE, [BLOCKS, 1, 0, 2]);
    events.by(MAIN, id::BLOCK_RELEASE, [BLOCKS, 1, 1, 0]).by(MAIN, id::BLOCK_RELEASE, [BLOCKS, 1, 0, 0]);
    assert_eq!(levels(&events), [1, 1, 2]);
    // The place of the message goes to a sender that waits.
    let mut events = Events::default();
    events.by(WORKER, id::QUEUE_SEND, [QUEUE, 0, captures::FOREVER, 3]).suspend(WORKER, IN_QUEUE, MAIN);
    events.by(MAIN, id::QUEUE_RECEIVE, [QUEUE, 0, 0, 3]).resume(MAIN, WORKER, IN_QUEUE, MAIN);
    assert_eq!(levels(&events), [2, 3]);
}

/// The timer thread resumes threads whose time is over after calls of timers about the same object.
#[test]
fn only_what_is_given_ends_a_wait_with_success() {
    use captures::{FOREVER, IN_QUEUE, IN_SEMAPHORE, MAIN, QUEUE, SEMAPHORE, SUSPENDED, THIRD, WORKER};
    let outcomes = |events: &Events| -> Vec<(ObjectOp, Option<u32>)> {
        let outcome = |kind| match kind {
            EventKind::Object { op, level, .. } => Some((op, level.get())),
            _ => None,
        };
        kinds(events).into_iter().filter_map(outcome).collect()
    };
    // Two threads wait; one of them gets it, the time of the other one is over.
    let mut events = Events::default();
    events.by(MAIN, id::SEMAPHORE_GET, [SEMAPHORE, 9, 0, 0]).suspend(MAIN, IN_SEMAPHORE, WORKER);
    events.by(WORKER, id::SEMAPHORE_GET, [SEMAPHORE, 9, 0, 0]).suspend(WORKER, IN_SEMAPHORE, THIRD);
    events.by(THIRD, id::SEMAPHORE_PUT, [SEMAPHORE, 0, 2, 0]).resume(THIRD, MAIN, IN_SEMAPHORE, THIRD);
    events.resume(THIRD, WORKER, IN_SEMAPHORE, THIRD).suspend(THIRD, SUSPENDED, MAIN);
    events.by(MAIN, 120, [0; 4]).by(WORKER, 120, [0; 4]);
    let (send, taken, failed) = ((ObjectOp::Send, Some(0)), (ObjectOp::Receive, None), (ObjectOp::ReceiveFailed, None));
    assert_eq!(outcomes(&events), [send, taken, failed]);
    // The call before the last wait of the caller gives nothing.
    let mut events = Events::default();
    events.by(MAIN, id::SEMAPHORE_PUT, [SEMAPHORE, 0, 0, 0]).suspend(MAIN, SUSPENDED, WORKER);
    events.by(WORKER, id::SEMAPHORE_GET, [SEMAPHORE, 9, 0, 0]).suspend(WORKER, IN_SEMAPHORE, MAIN);
    events.resume(MAIN, WORKER, IN_SEMAPHORE, MAIN).suspend(MAIN, SUSPENDED, WORKER).by(WORKER, 120, [0; 4]);
    assert_eq!(outcomes(&events), [(ObjectOp::Send, Some(1)), failed]);
    // The thread that is resumed after a message was sent waits for another queue.
    let mut events = Events::default();
    events.by(WORKER, id::QUEUE_RECEIVE, [QUEUE + 0x20, 0, FOREVER, 0]).suspend(WORKER, IN_QUEUE, MAIN);
    events.by(MAIN, id::QUEUE_SEND, [QUEUE, 0, 0, 0]).resume(MAIN, WORKER, IN_QUEUE, WORKER).by(WORKER, 120, [0; 4]);
    assert_eq!(outcomes(&events), [(ObjectOp::Send, Some(1)), failed]);
}

/// Threads that wait may clear flags when they get them; setting flags to those in common resumes no thread.
#[test]
fn flags_are_known_after_threads_got_them() {
    use captures::{FLAGS, IN_FLAGS, MAIN, WORKER};
    let mut events = Events::default();
    events.by(MAIN, id::EVENT_FLAGS_CREATE, [FLAGS, 0, 0, 0]);
    // Any of 3, and cleared.
    events.by(WORKER, id::EVENT_FLAGS_GET, [FLAGS, 3, 0, 1]).suspend(WORKER, IN_FLAGS, MAIN);
    events.by(MAIN, id::EVENT_FLAGS_SET, [FLAGS, 4, 0, 1]).by(MAIN, id::EVENT_FLAGS_SET, [FLAGS, !8, 2, 1]);
    // Its time is over, which the same caller finds.
    events.resume(MAIN, WORKER, IN_FLAGS, MAIN);
    events.by(WORKER, id::EVENT_FLAGS_GET, [FLAGS, 3, 4, 1]).suspend(WORKER, IN_FLAGS, MAIN);
    events.by(MAIN, id::EVENT_FLAGS_SET, [FLAGS, 2, 0, 1]).resume(MAIN, WORKER, IN_FLAGS, MAIN);
    let after = |kind| match kind {
        EventKind::Bits { after, .. } => Some(after),
        _ => None,
    };
    let flags: Vec<u32> = kinds(&events).into_iter().filter_map(after).collect();
    assert_eq!(flags, [0, 0, 4, 4, 4, 6, 4]);
}

/// A thread that waits is terminated, and suspended, without an entry of the scheduler.
#[test]
fn threads_that_wait_are_terminated_and_suspended() {
    use captures::{IN_MUTEX, MAIN, MUTEX, SLEEP, SUSPENDED, THIRD, WORKER};
    let mut events = Events::default();
    // The worker sleeps with a mutex; the kernel gives it back. Others cannot.
    events.by(WORKER, id::MUTEX_GET, [MUTEX, 0, 0, 0]).by(WORKER, id::THREAD_SLEEP, [9, 0, 0, 0]).suspend(WORKER, SLEEP, THIRD);
    events.by(THIRD, id::MUTEX_GET, [MUTEX, 9, WORKER, 1]).suspend(THIRD, IN_MUTEX, MAIN);
    events.by(MAIN, id::MUTEX_PUT, [MUTEX, WORKER, 1, 0]).by(MAIN, id::THREAD_TERMINATE, [WORKER, SLEEP, 0, 0]);
    events.by(MAIN, id::MUTEX_PUT, [MUTEX, WORKER, 1, 0]).by(MAIN, 56, [MUTEX, 1, 0, 0]);
    // The third one has been suspended while it waited.
    let at = events.words.len() - 2;
    events.words.insert(at, events.words[at]);
    events.words[at][2] = id::THREAD_SUSPEND_API;
    events.words[at][4..].copy_from_slice(&[THIRD, IN_MUTEX, 0, 0]);
    events.resume(MAIN, THIRD, IN_MUTEX, MAIN).by(MAIN, id::THREAD_RESUME_API, [THIRD, SUSPENDED, 0, 0]);
    events.resume(MAIN, THIRD, SUSPENDED, MAIN).suspend(MAIN, SUSPENDED, THIRD).by(THIRD, 120, [0; 4]);
    let mut found = Vec::new();
    subject().resolve(&events.buffer().bytes(), 1 << 20, |batch, entities| {
        let name = |task: traceconv::model::TaskId| entities.tasks[task.index()].name.as_deref().unwrap_or("").to_owned();
        found.extend(batch.events.iter().filter_map(|event| match event.kind {
            EventKind::Object { op, .. } => Some(format!("{op:?}")),
            EventKind::Suspended(task) => Some(format!("suspended {}", name(task))),
            EventKind::Ready { task, .. } | EventKind::Resumed { task, .. } => Some(format!("ready {}", name(task))),
            _ => None,
        }));
    });
    let expected = ["Receive", "suspended worker", "Send", "suspended third", "ready third", "suspended main", "Receive"];
    assert_eq!(found, expected);
}

/// Without a reason to wait a thread is ready, if the scheduler's events are recorded; a thread of lower priority may run by a threshold.
#[test]
fn a_thread_that_leaves_without_a_reason_is_ready() {
    use captures::{MAIN, SLEEP, SUSPENDED, THIRD, WORKER};
    let mut events = Events::default();
    events.by(WORKER, 120, [0; 4]).by(THIRD, 120, [0; 4]).by(THIRD, id::THREAD_SUSPEND_API, [WORKER, 0, 0, 0]);
    let recorded = |events: &Events| {
        let mut recorded = Vec::new();
        subject().resolve(&events.buffer().bytes(), 1 << 20, |_, entities| {
            recorded = entities.tasks.iter().map(|task| task.waits).collect();
        });
        recorded
    };
    assert_eq!(recorded(&events)[0], RecordedWaits::Nothing);
    events.by(THIRD, id::THREAD_SUSPEND, [WORKER, SUSPENDED, 0, THIRD]).suspend(THIRD, SLEEP, MAIN);
    assert_eq!(recorded(&events)[0], RecordedWaits::All);
}

/// The recorded free bytes of a byte pool are those before a block is given back.
#[test]
fn free_bytes_are_those_since_the_change_before() {
    use captures::{MAIN, POOL};
    let mut events = Events::default();
    events.by(MAIN, id::BYTE_ALLOCATE, [POOL, 0x2004_0000, 100, 0]).by(MAIN, 120, [0; 4]);
    events.by(MAIN, id::BYTE_RELEASE, [POOL, 0x2004_0000, 0, 900]);
    let found = kinds(&events).into_iter().find_map(|kind| match kind {
        EventKind::LateObjectLevel { level, since, .. } => Some((level, since.get())),
        _ => None,
    });
    assert_eq!(found, Some((900, 100_000)));
}

/// The registry has one name for each address.
#[test]
fn names_of_earlier_objects_are_said_to_be_lost() {
    use captures::{MAIN, QUEUE};
    let mut events = Events::default();
    let hints = |events: &Events| convert(&events.buffer().bytes(), Cut::WHOLE).summary.facts.hints;
    events.by(MAIN, id::QUEUE_CREATE, [QUEUE, 4, 0, 64]).by(MAIN, id::QUEUE_DELETE, [QUEUE, 0, 0, 0]);
    assert!(!hints(&events).iter().any(|hint| hint.contains("the name of the last one")));
    events.by(MAIN, id::QUEUE_CREATE, [QUEUE, 4, 0, 64]);
    assert!(hints(&events).iter().any(|hint| hint.contains("(1 of them)") && hint.contains("the name of the last one")));
}
