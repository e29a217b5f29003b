//! What Zephyr's hooks record, and what they leave out.

use traceconv::format::systemview::record::id;
use traceconv::model::{EventKind, PriorityChange, losses};

use crate::captures::{Stream, small};
use crate::meaning::{called, lost};
use crate::run::{Cut, convert, subject};
use crate::systems::scheduled;

const SLEEP: u16 = 95;
const PRIORITY_SET: u16 = 98;
const WAKEUP: u16 = 99;
const ABORT: u16 = 100;
const SUSPEND: u16 = 102;
const RESUME: u16 = 103;
const YIELD: u16 = 105;
const MAIN: u32 = 0x2000_0004;
const WORKER: u32 = 0x2000_0008;

fn zephyr() -> Stream {
    small("N=x,D=board soc arm,O=Zephyr")
}

/// Since version 4, a thread that sleeps is recorded only by its call. One that sleeps for no time yields.
#[test]
fn a_thread_that_sleeps_waits() {
    let mut stream = zephyr();
    stream.n(SLEEP, &[5]).n(id::TASK_STOP_EXEC, &[]).n(id::ISR_ENTER, &[22]).n(id::ISR_EXIT, &[]).n(id::IDLE, &[]);
    stream.n(id::TASK_START_READY, &[1]).n(id::TASK_STOP_EXEC, &[]).n(id::TASK_START_EXEC, &[1]);
    stream.n(id::END_CALL, &[SLEEP.into(), 0]).n(id::TASK_STOP_EXEC, &[]).n(id::TASK_START_EXEC, &[1]);
    stream.n(SLEEP, &[0]).n(YIELD, &[]).n(id::TASK_STOP_EXEC, &[]).n(id::TASK_START_EXEC, &[2]);
    // Up to version 3.
    stream.n(SLEEP, &[5]).n(id::TASK_STOP_READY, &[2, 24]).n(id::TASK_STOP_EXEC, &[]).n(id::IDLE, &[]);
    let version_4 = ["wait Delay", "isr", "end", "run IDLE", "ready main", "run main", "run main", "run worker"];
    // There, a thread may be kept from running before it sleeps.
    stream.n(id::TASK_START_EXEC, &[1]).n(SLEEP, &[5]).n(id::TASK_STOP_EXEC, &[]).n(id::TASK_START_EXEC, &[2]);
    let version_3 = ["wait Delay", "run IDLE", "run main", "run worker"];
    assert_eq!(scheduled(&stream), [&version_4[..], &version_3].concat());
}

/// Another thread that is suspended or aborted is recorded only by the call, and an abort once more where it takes place.
#[test]
fn threads_are_suspended_and_aborted_by_calls() {
    let mut stream = zephyr();
    stream.n(SUSPEND, &[WORKER]).n(id::END_CALL, &[SUSPEND.into()]);
    stream.n(SUSPEND, &[MAIN]).n(id::TASK_STOP_READY, &[1, 24]).n(id::TASK_STOP_EXEC, &[]).n(id::TASK_START_EXEC, &[2]);
    stream.n(ABORT, &[MAIN]).n(ABORT, &[MAIN]).n(id::END_CALL, &[ABORT.into()]);
    stream.n(ABORT, &[WORKER]).n(ABORT, &[WORKER]).n(id::TASK_STOP_EXEC, &[]).n(id::IDLE, &[]);
    // Up to version 3.5, one that is suspended stops being ready some time after the call.
    stream.n(id::TASK_START_EXEC, &[1]).n(id::TASK_STOP_READY, &[2, 24]).n(SUSPEND, &[WORKER]).n(id::ISR_ENTER, &[16]);
    stream.n(id::ISR_EXIT, &[]).n(id::TASK_STOP_READY, &[2, 24]).n(id::END_CALL, &[SUSPEND.into()]);
    let suspended = ["suspend worker", "suspend main", "run worker"];
    let late = ["run main", "suspend worker", "isr", "end", "suspend worker"];
    assert_eq!(scheduled(&stream), [&suspended[..], &["delete main", "delete worker", "run IDLE"], &late].concat());
    let calls = ["begin k_thread_suspend", "end", "begin k_thread_suspend", "begin k_thread_abort", "end", "k_thread_abort"];
    assert_eq!(called(&stream), [&calls[..], &["begin k_thread_suspend", "end"]].concat());
}

/// Between the call and what it does, an interrupt may let another thread run. One that sleeps, or suspends itself, does so when it runs again.
#[test]
fn interrupts_come_before_a_call_has_done_its_work() {
    let interrupted = |stream: &mut Stream| {
        stream.n(id::ISR_ENTER, &[16]).n(id::TASK_START_READY, &[2]).n(id::ISR_EXIT, &[]).n(id::TASK_STOP_EXEC, &[]);
        stream.n(id::TASK_START_EXEC, &[2]).n(id::TASK_STOP_EXEC, &[]).n(id::TASK_START_EXEC, &[1]);
    };
    let mut stream = zephyr();
    interrupted(stream.n(SLEEP, &[5]));
    let sleeps = ["isr", "ready worker", "end", "run worker", "run main"];
    assert_eq!(scheduled(&stream), sleeps);
    let mut stream = zephyr();
    interrupted(stream.n(SUSPEND, &[MAIN]));
    stream.n(id::TASK_STOP_READY, &[1, 24]).n(id::TASK_STOP_EXEC, &[]).n(id::IDLE, &[]).n(id::TASK_START_READY, &[1]);
    stream.n(id::TASK_START_EXEC, &[1]).n(id::TASK_STOP_READY, &[1, 24]);
    let again = ["suspend main", "run IDLE", "ready main", "run main", "wait NotRecorded"];
    assert_eq!(scheduled(&stream), [&["suspend main"], &sleeps[..], &again].concat());
}

/// A thread that was suspended while it waited waits on when it is resumed.
#[test]
fn a_resumed_thread_may_still_wait() {
    let mut stream = zephyr();
    stream.n(SUSPEND, &[WORKER]).n(id::END_CALL, &[SUSPEND.into()]).n(RESUME, &[WORKER]).n(id::END_CALL, &[RESUME.into()]);
    stream.n(SUSPEND, &[WORKER]).n(id::END_CALL, &[SUSPEND.into()]).n(RESUME, &[WORKER]).n(id::TASK_START_READY, &[2]);
    stream.n(id::END_CALL, &[RESUME.into()]);
    assert_eq!(scheduled(&stream), ["suspend worker", "Waiting worker", "suspend worker", "ready worker"]);
}

/// Mutexes change priorities as the program does.
#[test]
fn mutexes_lend_priorities() {
    const LOCK: u16 = 39;
    const UNLOCK: u16 = 38;
    let (ended, below_0) = ([id::TASK_STOP_EXEC, id::TASK_START_EXEC], u32::MAX - 1);
    let mut stream = zephyr();
    stream.n(PRIORITY_SET, &[2, 7]).n(LOCK, &[WORKER + 64, 9]).n(PRIORITY_SET, &[2, below_0]).n(id::TASK_STOP_READY, &[1, 24]);
    stream.n(ended[0], &[]).n(ended[1], &[1]).n(PRIORITY_SET, &[2, 7]).n(id::END_CALL, &[LOCK.into(), 0]);
    stream.n(UNLOCK, &[WORKER + 64]).n(PRIORITY_SET, &[1, 3]).n(id::TASK_START_READY, &[1]).n(id::END_CALL, &[UNLOCK.into(), 0]);
    let mut changes = Vec::new();
    subject().resolve(&stream.bytes, 1 << 20, |batch, _| {
        changes.extend(batch.events.iter().filter_map(|event| match event.kind {
            EventKind::Priority { priority, change, .. } if change != PriorityChange::Reported => Some((priority, change)),
            _ => None,
        }));
    });
    use PriorityChange::{Disinherit, Inherit, Set};
    assert_eq!(changes, [(7, Set), (-2, Inherit), (7, Disinherit), (3, Disinherit)]);
}

/// A call that has nothing to do has no end, nor has one that began before the first switch; and the end of one has the id of another.
#[test]
fn ends_of_calls_are_missing() {
    let mut stream = zephyr();
    stream.n(RESUME, &[WORKER]).n(id::END_CALL, &[RESUME.into()]).n(RESUME, &[WORKER]).n(SLEEP, &[0]).n(YIELD, &[]);
    stream.n(id::END_CALL, &[SLEEP.into(), 0]).n(85, &[64, 0]).n(id::END_CALL, &[85, 0]).n(86, &[64]).n(id::END_CALL, &[85]);
    let resumes = ["begin k_thread_resume", "end", "begin k_thread_resume", "end"];
    let others = ["begin k_sleep", "k_thread_yield", "end", "begin k_mem_slab_alloc", "end", "k_mem_slab_free"];
    assert_eq!(called(&stream), [&resumes[..], &others].concat());
    let conversion = convert(&stream.bytes, Cut::WHOLE);
    assert_eq!((lost(&conversion, losses::EXIT_MISSING).0, lost(&conversion, losses::SPAN_END_WITHOUT_BEGIN).0), (1, 0));

    // If the timer's interrupt is recorded, each call is one of the thread.
    let mut stream = zephyr();
    stream.n(id::ISR_ENTER, &[15]).n(id::ISR_EXIT, &[]).n(RESUME, &[WORKER]).n(id::END_CALL, &[RESUME.into()]);
    stream.n(RESUME, &[WORKER]).n(86, &[64]);
    assert_eq!(called(&stream), [&resumes[..], &["k_mem_slab_free"]].concat());

    let mut early = Stream::default();
    early.start(5_000, "N=x,D=y,O=Zephyr").task(1, 3, "main").n(126, &[MAIN]).n(id::TASK_STOP_EXEC, &[]);
    early.n(id::TASK_START_EXEC, &[1]).n(id::END_CALL, &[126]).n(id::IDLE, &[]);
    assert_eq!(called(&early), ["begin k_work_queue_start", "end"]);
    let conversion = convert(&early.bytes, Cut::WHOLE);
    assert_eq!((lost(&conversion, losses::EXIT_MISSING).0, lost(&conversion, losses::SPAN_END_WITHOUT_BEGIN).0), (1, 1));
}

/// Versions before 4 do not record the interrupt of a Cortex-M's system timer: what it does looks like that of the running thread.
#[test]
fn the_end_of_a_sleep_is_that_of_the_timer() {
    let sleep = |stream: &mut Stream| {
        stream.n(id::TASK_START_EXEC, &[2]).n(SLEEP, &[5]).n(id::TASK_STOP_EXEC, &[]).n(id::TASK_START_EXEC, &[1]);
    };
    let from_isr = |stream: &Stream| {
        let mut from_isr = Vec::new();
        subject().resolve(&stream.bytes, 1 << 20, |batch, _| {
            from_isr.extend(batch.events.iter().filter_map(|event| match event.kind {
                EventKind::Ready { from_isr, .. } => Some(from_isr),
                _ => None,
            }));
        });
        from_isr
    };
    let mut stream = zephyr();
    sleep(&mut stream);
    stream.n(id::TASK_START_READY, &[2]);
    sleep(&mut stream);
    stream.n(WAKEUP, &[WORKER]).n(id::TASK_START_READY, &[2]).n(id::TASK_START_READY, &[2]);
    stream.n(id::TASK_STOP_EXEC, &[]).n(id::IDLE, &[]).n(id::TASK_START_READY, &[2]);
    assert_eq!(from_isr(&stream), [true, false, false, true]);
    // A recorded interrupt ends the sleep. If it is that of the timer, all of its interrupts are recorded.
    for (interrupt, later) in [(22, true), (15, false)] {
        let mut stream = zephyr();
        sleep(&mut stream);
        stream.n(id::ISR_ENTER, &[interrupt]).n(id::TASK_START_READY, &[2]).n(id::ISR_EXIT, &[]).n(id::TASK_START_READY, &[2]);
        sleep(&mut stream);
        assert_eq!(from_isr(stream.n(id::TASK_START_READY, &[2])), [true, false, later]);
    }
}

/// The ids of some functions are others in older versions, which the recorded ends show.
#[test]
fn ids_of_older_versions_are_known_by_their_ends() {
    let mut older = zephyr();
    older.n(79, &[64, 0]).n(id::END_CALL, &[79, 0]).n(78, &[64]).n(155, &[9]).n(id::END_CALL, &[155]);
    assert_eq!(called(&older), ["begin k_heap_aligned_alloc", "end", "k_heap_free", "begin pm_system_suspend", "end"]);
    let mut newer = zephyr();
    newer.n(78, &[64, 0]).n(id::END_CALL, &[78, 0]).n(79, &[64]).n(155, &[WORKER]);
    assert_eq!(called(&newer), ["begin k_heap_calloc", "end", "k_heap_free", "k_thread_name_set"]);
}

/// A thread without a name is recorded with its address, and that of the field with its entry, as its name.
#[test]
fn addresses_are_no_names() {
    let mut stream = zephyr();
    stream.task(4, 2, "T0x20000010E0x20000084").task(5, 2, "T0x20000010E0x20000084").n(id::TASK_START_EXEC, &[4]);
    stream.n(id::ISR_ENTER, &[15]).n(id::ISR_EXIT, &[]);
    let (mut names, mut interrupts) = (Vec::new(), Vec::new());
    subject().resolve(&stream.bytes, 1 << 20, |_, entities| {
        names = entities.tasks.iter().filter(|task| task.number >= 0x2000_0010).map(|task| task.name.clone()).collect();
        interrupts = entities.isrs.iter().map(|isr| isr.name.clone()).collect();
    });
    assert_eq!(names, [None, Some("T0x20000010E0x20000084".into())]);
    assert_eq!(interrupts, [Some("SysTick".into())]);
}
