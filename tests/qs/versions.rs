//! Records whose meaning differs between versions of QP, compared with what was encoded.

use traceconv::format::qs::encode::{Encoder, Value};
use traceconv::format::qs::layout::{Config, Sizes};
use traceconv::format::qs::record::Kind;

use crate::captures::encoder;
use crate::common::run::{Conversion, Cut, Subject};
use crate::reader::Trace;

const OBJECT: u64 = 0x2000_0100;
const OTHER: u64 = 0x2000_0200;
const STATE: u64 = 0x0800_0200;

/// A target of one version, and its recording.
struct Target {
    version: u16,
    encoder: Encoder,
    bytes: Vec<u8>,
}

impl Target {
    fn new(version: u16) -> Target {
        Target { version, encoder: encoder(Config::new(Sizes::default(), version)), bytes: Vec::new() }
    }

    fn send(&mut self, kind: Kind, numbers: &[u64]) {
        self.encoder.numbers(kind, numbers, &mut self.bytes);
    }

    fn convert(&self) -> Conversion {
        let subject = Subject::new("qs").with_text("qs-sizes", &Sizes::default().to_string());
        let conversion = subject.with_text("qs-version", &self.version.to_string()).convert(&self.bytes, Cut::WHOLE);
        assert!(!conversion.summary.ledger.has_losses(), "{:?}", conversion.summary.ledger);
        conversion
    }
}

/// Names, begins and ends, in microseconds, of the slices on the tracks whose path ends so.
fn slices(trace: &Trace, end: &str) -> Vec<(String, u64, Option<u64>)> {
    let first = trace.slices.iter().map(|slice| slice.ts).min().unwrap_or(0);
    let of_track = trace.slices.iter().filter(|slice| trace.path(slice.track).ends_with(end));
    let micros = |ts: u64| (ts - first) / 1000;
    of_track.map(|slice| (slice.name.clone(), micros(slice.ts), slice.end().map(micros))).collect()
}

/// The levels of the only queue.
fn levels_of(trace: &Trace) -> Vec<i64> {
    let (_, counter) = trace.counters.iter().find(|(track, _)| trace.path(**track).ends_with("queue")).expect("it is drawn");
    counter.iter().map(|value| value.1).collect()
}

/// The places that a target records as free: `before` and `after` are the events in the queue before and after the record, which has 4 places
/// and that at its front.
fn recorded_free(version: u16, is_post: bool, before: u64, after: u64) -> u64 {
    let free = |events: u64| if version < 511 { 4 - events.saturating_sub(1) } else { 5 - events };
    free(if is_post && version < 636 { before } else { after })
}

#[test]
fn queues_have_their_level_in_every_version() {
    for version in [450, 510, 511, 530, 604, 635, 636, 740, 815] {
        let mut target = Target::new(version);
        let (mut events, mut levels) = (0u64, Vec::new());
        for (number, step) in [1i64, -1, 1, 1, 1, -1, 1, -1, -1, -1, 1, 1, 1, 1, 1, -1].into_iter().enumerate() {
            let time = 100 + number as u64 * 10;
            let after = events.checked_add_signed(step).expect("it is not negative");
            let free = recorded_free(version, step > 0, events, after);
            match (step > 0, after) {
                (true, _) => target.send(Kind::Post, &[time, 0, 5, OBJECT, 0, 0, free, 0]),
                (false, 0) => target.send(Kind::GetLast, &[time, 5, OBJECT, 0, 0]),
                (false, _) => target.send(Kind::Get, &[time, 5, OBJECT, 0, 0, free]),
            }
            events = after;
            levels.push(after as i64);
        }
        // The recording does not say that the queue is empty at first.
        assert_eq!(levels_of(&target.convert().read()), levels[1..], "version {version}");
    }
}

/// The scheduler of QK says which priority it starts; to which it returns, only from 5.5 on.
#[test]
fn what_was_preempted_goes_on_when_the_step_ends() {
    let of = |version: u16| {
        let mut target = Target::new(version);
        let records_returns = version >= 550;
        target.send(Kind::SchedNext, &[100, 1, 0]);
        target.send(Kind::GetLast, &[101, 5, OBJECT, 0, 0]);
        target.send(Kind::Dispatch, &[102, 5, OBJECT, STATE]);
        target.send(Kind::SchedNext, &[110, 4, 1]);
        target.send(Kind::GetLast, &[111, 6, OTHER, 0, 0]);
        target.send(Kind::Dispatch, &[112, 6, OTHER, STATE]);
        target.send(Kind::InternTran, &[120, 6, OTHER, STATE]);
        if records_returns {
            target.send(Kind::SchedResume, &[120, 1, 4]);
        }
        target.send(Kind::InternTran, &[150, 5, OBJECT, STATE]);
        if records_returns {
            target.send(Kind::SchedIdle, &[150, 1]);
        }
        target.send(Kind::TimeDisarmAttempt, &[200, 0x300, OBJECT, 0]);
        let trace = target.convert().read();
        let mut of_object = slices(&trace, "/steps");
        of_object.retain(|(name, ..)| name == "preempted");
        (slices(&trace, "/running"), of_object)
    };
    let (running, preempted) = of(530);
    let names: Vec<(&str, u64)> = running.iter().map(|(name, start, _)| (name.as_str(), *start)).collect();
    let [first, second] = ["0x20000100", "0x20000200"];
    assert_eq!(names, [(first, 0), (second, 10), (first, 20), ("idle", 50)]);
    assert_eq!(preempted, [("preempted".to_owned(), 10, Some(20))]);
    assert_eq!(of(550), (running, preempted));
}

#[test]
fn a_thread_that_runs_waits_no_longer() {
    let mut target = Target::new(740);
    target.send(Kind::SchedNext, &[100, 4, 0]);
    target.send(Kind::SemBlock, &[110, 0x300, 4, 0]);
    target.send(Kind::SchedNext, &[111, 1, 4]);
    // Its timeout: no record of the semaphore.
    target.send(Kind::SchedNext, &[160, 4, 1]);
    target.send(Kind::SemTake, &[190, 0x300, 4, 0]);
    let trace = target.convert().read();
    assert_eq!(slices(&trace, "thread of priority 4"), [("blocked".to_owned(), 10, Some(60))]);
}

/// The name and the begin of what runs.
fn running(target: &Target) -> Vec<(String, u64)> {
    slices(&target.convert().read(), "/running").into_iter().map(|(name, start, _)| (name, start)).collect()
}

/// A mutex raises the thread that holds it to its ceiling, where another thread runs at other times.
#[test]
fn a_thread_keeps_its_name_at_the_ceiling_of_a_mutex() {
    let mut target = Target::new(740);
    for (priority, object, time) in [(2, OBJECT, 100), (4, OTHER, 110)] {
        target.send(Kind::SchedNext, &[time, priority, 0]);
        target.send(Kind::GetLast, &[time + 1, 5, object, 0, 0]);
        target.send(Kind::MutexLock, &[time + 2, 0x300, priority, 1]);
        target.send(Kind::SchedIdle, &[time + 3, 6]);
        target.send(Kind::SchedNext, &[time + 5, 6, 0]);
        target.send(Kind::MutexUnlock, &[time + 6, 0x300, priority, 0]);
        target.send(Kind::GetLast, &[time + 7, 5, object, 0, 0]);
        target.send(Kind::SchedIdle, &[time + 8, priority]);
    }
    let [first, second, idle] = ["0x20000100", "0x20000200", "idle"];
    let expected = [(first, 0), (idle, 3), (first, 5), (idle, 8), (second, 10), (idle, 13), (second, 15), (idle, 18)];
    assert_eq!(running(&target), expected.map(|(name, start)| (name.to_owned(), start)));
}

/// QXK calls it an attempt when a nested lock is given back.
#[test]
fn a_mutex_is_held_from_its_outer_lock_to_its_outer_unlock() {
    let mut target = Target::new(740);
    target.send(Kind::MutexLock, &[100, 0x300, 4, 1]);
    target.send(Kind::MutexLock, &[110, 0x300, 4, 2]);
    target.send(Kind::MutexUnlockAttempt, &[120, 0x300, 4, 1]);
    target.send(Kind::MutexUnlock, &[130, 0x300, 4, 0]);
    assert_eq!(slices(&target.convert().read(), ""), [("held by priority 4".to_owned(), 0, Some(30))]);
}

/// QXK before 7.1 records that the activation of an object ends after it has recorded the thread to which the object makes way.
#[test]
fn a_thread_that_was_scheduled_runs_although_an_activation_ends() {
    let mut target = Target::new(693);
    target.send(Kind::SchedNext, &[100, 3, 0]);
    target.send(Kind::SchedNext, &[110, 2, 3]);
    target.send(Kind::SchedIdle, &[111, 3]);
    target.send(Kind::SchedNext, &[150, 0, 2]);
    let expected = [("priority 3", 0), ("priority 2", 10), ("idle", 50)];
    assert_eq!(running(&target), expected.map(|(name, start)| (name.to_owned(), start)));
}

/// Without a version, the places that posts and gets record tell whether it is an old one.
#[test]
fn the_records_tell_which_free_places_are_meant() {
    for version in [604, 740] {
        let mut target = Target::new(version);
        target.send(Kind::GetLast, &[90, 5, OBJECT, 0, 0]);
        for (number, (before, after)) in [(0, 1), (1, 2), (2, 3), (3, 2), (2, 1)].into_iter().enumerate() {
            let (time, free) = (100 + number as u64 * 10, recorded_free(version, after > before, before, after));
            match after > before {
                true => target.send(Kind::Post, &[time, 0, 5, OBJECT, 0, 0, free, 0]),
                false => target.send(Kind::Get, &[time, 5, OBJECT, 0, 0, free]),
            }
        }
        let trace = Subject::new("qs").convert(&target.bytes, Cut::WHOLE).read();
        assert_eq!(levels_of(&trace), [0, 1, 2, 3, 2, 1], "version {version}");
    }
}

/// The first records of QP 5.0 to 5.4 have the ids of others in later versions, and no number of the second is that of an EMPTY.
#[test]
fn the_start_of_an_old_target_begins_a_session() {
    let mut capture = Vec::new();
    for start in [1_000u64, 500] {
        let mut target = Target::new(530);
        target.send(Kind::OldEmpty, &[]);
        target.send(Kind::Empty, &[]);
        target.encoder.record(Kind::ObjDict, &[Value::Uint(OBJECT), Value::Bytes(b"&w[0]")], &mut target.bytes);
        for number in 0..20 {
            target.send(Kind::Dispatch, &[start + number * 20, 5, OBJECT, STATE]);
            target.send(Kind::InternTran, &[start + number * 20 + 5, 5, OBJECT, STATE]);
        }
        capture.extend(target.bytes);
    }
    let conversion = Target { bytes: capture, ..Target::new(530) }.convert();
    assert_eq!(conversion.summary.facts.sessions, 2);
    let trace = conversion.read();
    assert_eq!(trace.tracks.keys().filter(|&&track| trace.path(track).ends_with("/w[0]/steps")).count(), 2);
}

/// Before 6.9.0, only a target that was built for QUTest tells more of queues, pools and time events than which one was asked for.
#[test]
fn an_answer_to_a_query_may_be_an_address_only() {
    let mut target = Target::new(638);
    for (time, query) in [(100, 1u8), (110, 2), (120, 3), (130, 4), (140, 5)] {
        let address = (OBJECT as u32).to_le_bytes();
        target.encoder.record(
            Kind::QueryData,
            &[Value::Uint(time), Value::Uint(query.into()), Value::Bytes(&address)],
            &mut target.bytes,
        );
    }
    target.send(Kind::TimeDisarmAttempt, &[200, 0x300, OBJECT, 0]);
    let trace = target.convert().read();
    assert_eq!(trace.instants.iter().filter(|instant| instant.name == "query data").count(), 5);
}

/// The ticks of rate 1 have another length, which is not measured.
#[test]
fn lateness_is_said_only_of_the_measured_tick() {
    let mut target = Target::new(740);
    let events = [(0u64, 0x300u64, 100u64), (1, 0x400, 1_000)];
    for (rate, event, _) in events {
        target.send(Kind::TimeArm, &[1_000, event, OBJECT, 3, 3, rate]);
    }
    for now in (1_001..40_000u64).step_by(50).filter(|now| now % 100 == 1) {
        for (rate, event, tick) in events {
            if (now - 1_001) % (3 * tick) == 0 && now > 1_001 {
                target.send(Kind::TimePost, &[now, event, 5, OBJECT, rate]);
            }
        }
    }
    let conversion = target.convert();
    let details = &conversion.summary.facts.details;
    assert!(details.iter().any(|detail| detail.name == "clock units per tick" && detail.value == "100"), "{details:?}");
    let trace = conversion.read();
    let armed: Vec<_> = trace.slices.iter().filter(|slice| slice.name == "armed").collect();
    assert!(armed.len() > 100);
    assert!(armed.iter().all(|slice| !slice.end_args.contains_key("late_ticks")));
}

/// In QUTest a time stamp is the number of stamps since the test was set up.
#[test]
fn time_goes_on_when_a_test_begins() {
    const TEST_SETUP: u64 = 7;
    let mut target = Target::new(740);
    for (test, steps) in [40u64, 10, 60, 5].into_iter().enumerate() {
        if test > 0 {
            target.send(Kind::RxStatus, &[0, TEST_SETUP]);
        }
        target.send(Kind::TargetDone, &[1, TEST_SETUP]);
        for step in 0..steps {
            let now = 2 + step * 3;
            target.send(Kind::Tick, &[step, 0]);
            target.send(Kind::GetLast, &[now, 5, OBJECT, 0, 0]);
            target.send(Kind::Dispatch, &[now + 1, 5, OBJECT, STATE]);
            target.send(Kind::InternTran, &[now + 2, 5, OBJECT, STATE]);
        }
    }
    let conversion = target.convert();
    let ledger = &conversion.summary.ledger;
    assert!(ledger.entries().is_empty(), "{ledger:?}");
    let facts = &conversion.summary.facts;
    assert!(facts.sessions <= 1 && facts.hints.iter().any(|hint| hint.contains("QUTest")), "{:?}", facts.hints);
    assert!(facts.details.iter().all(|detail| detail.name != "clock units per tick"), "{:?}", facts.details);
    let steps = slices(&conversion.read(), "/steps");
    assert_eq!(steps.len(), 115);
    assert!(steps.iter().all(|(_, start, end)| *end == Some(start + 1)), "{steps:?}");
    assert!(steps.windows(2).all(|pair| pair[0].2 <= Some(pair[1].1)));
}

/// The host may have taken an object out of the recording.
#[test]
fn no_state_is_drawn_after_the_host_set_a_filter() {
    const OTHER_STATE: u64 = 0x0800_0300;
    for command in [10, 11, 12] {
        let mut target = Target::new(740);
        target.send(Kind::InitTran, &[100, OBJECT, STATE]);
        target.send(Kind::Dispatch, &[180, 5, OBJECT, STATE]);
        target.send(Kind::InternTran, &[190, 5, OBJECT, STATE]);
        target.send(Kind::RxStatus, &[0, command]);
        target.send(Kind::TimeDisarmAttempt, &[200, 0x300, OBJECT, 0]);
        target.send(Kind::Dispatch, &[300, 5, OBJECT, OTHER_STATE]);
        target.send(Kind::InternTran, &[310, 5, OBJECT, OTHER_STATE]);
        let conversion = target.convert();
        let codes: Vec<_> = conversion.summary.ledger.entries().iter().map(|entry| entry.kind.code).collect();
        assert_eq!(codes, ["filter_changed"]);
        let states: Vec<_> = slices(&conversion.read(), "/state").into_iter().map(|state| (state.1, state.2)).collect();
        assert_eq!(states, [(0, Some(90)), (200, Some(210))], "command {command}");
    }
}

#[test]
fn errors_of_commands_are_said_in_words() {
    let mut target = Target::new(740);
    target.send(Kind::TimeDisarmAttempt, &[200, 0x300, OBJECT, 0]);
    for error in [0x04, 0x43, 0x60] {
        target.send(Kind::RxStatus, &[0, 0x80 | error]);
    }
    let names: Vec<String> = target.convert().read().instants.into_iter().map(|instant| instant.name).collect();
    let errors: Vec<&str> = names.iter().map(String::as_str).filter(|name| name.starts_with("error")).collect();
    assert_eq!(errors, ["error QS_RX_PEEK", "error 0x43 (unknown command)", "error 0x60"]);
}
