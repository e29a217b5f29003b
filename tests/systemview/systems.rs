//! What the hooks of operating systems other than FreeRTOS record.

use traceconv::format::OptionValue;
use traceconv::format::systemview::encode::{numbers, numbers_and_text};
use traceconv::format::systemview::record::{extended, id};
use traceconv::model::{ArgValue, Entities, EventKind, RecordedWaits, Task, TaskId, TaskKind, losses};

use crate::captures::{Stream, small};
use crate::meaning::{called, lost};
use crate::run::{Cut, convert, subject};

/// The scheduling events and interrupts after the first switch, with the names of the tasks.
pub fn scheduled(stream: &Stream) -> Vec<String> {
    let mut all = Vec::new();
    subject().resolve(&stream.bytes, 1 << 20, |batch, entities: &Entities| {
        let name = |task: TaskId| entities.tasks[task.index()].name.as_deref().unwrap_or("").to_owned();
        all.extend(batch.events.iter().filter_map(|event| match event.kind {
            EventKind::SwitchedIn(task) => Some(format!("run {}", name(task))),
            EventKind::Ready { task, .. } => Some(format!("ready {}", name(task))),
            EventKind::Suspended(task) => Some(format!("suspend {}", name(task))),
            EventKind::TaskDeleted(task) => Some(format!("delete {}", name(task))),
            EventKind::TaskReported { task, state } => Some(format!("{state:?} {}", name(task))),
            EventKind::Waiting(wait) => Some(format!("wait {:?}", wait.reason)),
            EventKind::IsrEnter(_) => Some("isr".to_owned()),
            EventKind::IsrExit(_) => Some("end".to_owned()),
            _ => None,
        }));
    });
    all.split_off(1)
}

fn sessions(stream: &Stream) -> u32 {
    convert(&stream.bytes, Cut::WHOLE).summary.facts.sessions
}

/// NuttX records before each interrupt that the task stops, and after it which one goes on. No packet says which tasks are ready.
#[test]
fn an_interrupt_of_nuttx_is_no_idle_time() {
    let mut stream = small("N=x,D=y,O=NuttX");
    stream.n(id::TASK_STOP_EXEC, &[]).n(id::ISR_ENTER, &[15]).n(id::ISR_EXIT, &[]).n(id::TASK_START_EXEC, &[1]);
    stream.n(id::TASK_STOP_EXEC, &[]).n(id::ISR_ENTER, &[11]).n(id::ISR_EXIT, &[]).n(id::IDLE, &[]);
    assert_eq!(scheduled(&stream), ["isr", "end", "run main", "isr", "end", "run IDLE"]);
    let details = |stream: &Stream| convert(&stream.bytes, Cut::WHOLE).summary.facts.details;
    let is_unknown = |stream: &Stream| details(stream).iter().any(|detail| detail.name == "states of tasks");
    assert!(is_unknown(&stream));
    assert!(!is_unknown(stream.n(id::TASK_START_READY, &[1])));
    assert!(!is_unknown(&small("N=x,O=FreeRTOS")));
}

/// NuttX lists its idle task with the others, and says of the core that it idles. A board without a host name has no device.
#[test]
fn the_idle_task_of_nuttx_is_the_idle_core() {
    let with_idle = |description: &str, name: &str| {
        let mut stream = small(description);
        stream.task(0, 0, name).n(id::TASK_STOP_EXEC, &[]).n(id::IDLE, &[]);
        stream
    };
    let names = |stream: &Stream| {
        let mut names = Vec::new();
        subject().resolve(&stream.bytes, 1 << 20, |_, entities: &Entities| {
            names = entities.tasks.iter().map(|task| task.name.as_deref().unwrap_or("").to_owned()).collect();
        });
        names.retain(|name| name.to_ascii_lowercase().contains("idle_task"));
        names.len()
    };
    let stream = with_idle("N=x,D=,O=NuttX", "Idle_Task");
    assert_eq!(names(&stream), 0);
    assert_eq!(scheduled(&stream), ["run IDLE"]);
    assert_eq!(names(&with_idle("N=x,O=ThreadX", "Idle_Task")), 1, "another kernel's task of this name");
    let mut runs = with_idle("N=x,O=NuttX", "Idle_Task");
    assert_eq!(names(runs.n(id::TASK_START_EXEC, &[0])), 1, "it runs, so it is another task");
    let details = |stream: &Stream| convert(&stream.bytes, Cut::WHOLE).summary.facts.details;
    let has_device = |stream: &Stream| details(stream).iter().any(|detail| detail.name == "device");
    assert!(!has_device(&stream));
    assert!(has_device(&with_idle("N=x,D=y,O=NuttX", "Idle_Task")));
}

/// NuttX records system calls as markers: those of two tasks overlap.
#[test]
fn system_calls_of_nuttx_are_those_of_their_task() {
    let mut stream = small("N=x,D=y,O=NuttX");
    stream.put(id::EX, &numbers_and_text(&[extended::NAME_MARKER, 7], "read"));
    stream.n(id::MARK_START, &[7]).n(id::TASK_STOP_EXEC, &[]).n(id::TASK_START_EXEC, &[2]).n(id::MARK_START, &[7]);
    stream.n(id::TASK_STOP_EXEC, &[]).n(id::TASK_START_EXEC, &[1]).n(id::MARK_STOP, &[7]).n(id::MARK_STOP, &[8]);
    assert_eq!(called(&stream), ["begin read", "begin read", "end"]);
    let mut lanes = Vec::new();
    subject().resolve(&stream.bytes, 1 << 20, |batch, _| {
        lanes.extend(batch.events.iter().filter_map(|event| match event.kind {
            EventKind::SpanBegin { lane, .. } | EventKind::SpanEnd { lane, .. } => Some(lane),
            _ => None,
        }));
    });
    assert!(lanes[0] != lanes[1] && lanes[0] == lanes[2], "{lanes:?}");
}

/// The cause of ThreadX is the state of the thread: 0 if it is ready, which is recorded too.
#[test]
fn a_thread_of_threadx_that_stays_ready_does_not_wait() {
    let mut stream = small("N=x,O=ThreadX,D=y");
    stream.n(id::TASK_STOP_READY, &[1, 0]).n(id::TASK_START_EXEC, &[2]);
    for cause in [4, 13, 7, 5, 3, 2] {
        stream.n(id::TASK_STOP_READY, &[2, cause]).n(id::TASK_START_EXEC, &[2]);
    }
    let waits = ["wait Delay", "wait Receive", "wait Bits", "wait NotRecorded", "suspend worker", "delete worker"];
    let mut all = scheduled(&stream);
    all.retain(|event| event != "run worker");
    assert_eq!(all, waits);
}

/// SEGGER's hooks for ThreadX record the state of each thread that leaves its core. One that was ready is not drawn as waiting where it is made ready once
/// more, as if its priority has changed. Other hooks do not record the state, some not even who becomes ready.
#[test]
fn a_thread_of_threadx_has_the_recorded_state() {
    let recorded = |stream: &Stream| {
        let mut waits = None;
        subject().resolve(&stream.bytes, 1 << 20, |_, entities: &Entities| {
            let is_main = |task: &&Task| task.name.as_deref() == Some("main");
            waits = entities.tasks.iter().find(is_main).map(|task| task.waits);
        });
        let details = convert(&stream.bytes, Cut::WHOLE).summary.facts.details;
        (waits, details.iter().any(|detail| detail.name == "states of tasks"))
    };
    let switch = |cause: u32| {
        let mut stream = small("N=x,O=ThreadX,D=y");
        stream.n(id::TASK_STOP_READY, &[1, cause]).n(id::TASK_START_EXEC, &[2]);
        stream
    };
    assert_eq!(recorded(&switch(4)), (Some(RecordedWaits::All), false));
    assert_eq!(recorded(&switch(0)), (Some(RecordedWaits::Nothing), true));
    assert_eq!(recorded(switch(0).n(id::TASK_START_READY, &[1])), (Some(RecordedWaits::Ends), false));
}

/// That a thread of ThreadX suspends or terminates another one is recorded only as a call, with its address or its id. What the arguments are, the
/// sources do not say: a value that is no thread means nothing. A thread that has ended, maybe before the recording, can't be suspended.
#[test]
fn threads_of_threadx_are_suspended_and_terminated_by_calls() {
    const SUSPEND: u16 = 101;
    const TERMINATE: u16 = 102;
    let (main, worker) = (0x2000_0004, 0x2000_0008);
    let mut stream = small("N=x,O=ThreadX,D=y");
    stream.n(SUSPEND, &[worker]).n(id::TASK_START_READY, &[2]).n(SUSPEND, &[worker]).n(id::TASK_START_READY, &[2]);
    stream.n(SUSPEND, &[2]).n(SUSPEND, &[main]).n(TERMINATE, &[1]).n(SUSPEND, &[0]).n(TERMINATE, &[]).n(SUSPEND, &[0x2000_4000]);
    stream.n(TERMINATE, &[worker]).n(SUSPEND, &[worker]).n(id::TASK_STOP_READY, &[1, 0]).n(id::TASK_START_EXEC, &[3]);
    stream.n(SUSPEND, &[main]).n(id::TASK_STOP_READY, &[3, 2]).n(id::TASK_START_EXEC, &[1]).n(SUSPEND, &[3]);
    let worker = ["ready worker", "suspend worker", "ready worker", "suspend worker", "delete worker"];
    assert_eq!(scheduled(&stream), [&worker[..], &["run IDLE", "suspend main", "delete IDLE", "run main"]].concat());
}

/// A thread of ThreadX that is terminated within a call does not return from it. If it starts again, its calls are not within that one.
#[test]
fn calls_of_threadx_end_with_their_thread() {
    const SLEEP: u16 = 99;
    const TERMINATE: u16 = 102;
    let mut stream = small("N=x,O=ThreadX,D=y");
    stream.n(id::TASK_STOP_READY, &[1, 0]).n(id::TASK_START_EXEC, &[2]).n(SLEEP, &[5]).n(id::TASK_STOP_READY, &[2, 4]);
    stream.n(id::TASK_START_EXEC, &[1]).n(TERMINATE, &[0x2000_0008]).n(id::END_CALL, &[TERMINATE.into(), 0]);
    stream.n(id::TASK_START_READY, &[2]).n(id::TASK_STOP_READY, &[1, 0]).n(id::TASK_START_EXEC, &[2]);
    // None of its own is open.
    let ends = |stream: &Stream| lost(&convert(&stream.bytes, Cut::WHOLE), losses::SPAN_END_WITHOUT_BEGIN).0;
    assert_eq!(ends(stream.n(id::END_CALL, &[SLEEP.into(), 0])), 1);
    // It terminates itself.
    stream.n(TERMINATE, &[2]).n(id::TASK_STOP_READY, &[2, 2]).n(id::TASK_START_EXEC, &[2]);
    assert_eq!(ends(stream.n(id::END_CALL, &[TERMINATE.into(), 0])), 2);
}

/// Zephyr and others record each switch with two packets. Nothing idles between them.
#[test]
fn a_switch_is_no_idle_time() {
    let mut stream = small("N=x,O=Zephyr");
    stream.n(id::TASK_STOP_EXEC, &[]).n(id::TASK_START_EXEC, &[2]).n(id::TASK_STOP_EXEC, &[]).n(id::IDLE, &[]);
    stream.n(id::TASK_START_EXEC, &[1]).n(id::TASK_STOP_EXEC, &[]).n(id::ISR_ENTER, &[15]).n(id::ISR_EXIT, &[]);
    assert_eq!(scheduled(&stream), ["run worker", "run IDLE", "run main", "isr", "end"]);
    let mut ended = small("N=x,O=embOS");
    ended.n(id::TASK_STOP_EXEC, &[]).n(id::TASK_START_EXEC, &[2]);
    assert_eq!(scheduled(&ended), ["delete main", "run worker"]);
}

/// Zephyr records most objects and threads by their addresses, and one thread by its id.
#[test]
fn addresses_of_zephyr_are_not_shortened() {
    let mut stream = small("N=x,O=Zephyr");
    stream.n(42, &[0x2000_0040, 5]).n(101, &[0x2000_0008]).n(98, &[2, 7]);
    let mut values = Vec::new();
    subject().resolve(&stream.bytes, 1 << 20, |batch, entities| {
        values.extend(batch.args.iter().map(|arg| match arg.value() {
            ArgValue::Name(name) => entities.names[name.index()].to_string(),
            ArgValue::Hex(value) => format!("{value:#x}"),
            ArgValue::Uint(value) => value.to_string(),
            ArgValue::Int(value) => value.to_string(),
            _ => String::new(),
        }));
    });
    assert_eq!(values, ["0x20000040", "5", "worker", "worker", "7"]);
}

/// RT-Thread's scheduler records of each thread that it switches from that it stops being ready, and in an interrupt the interrupt once more.
#[test]
fn a_switch_of_rt_thread_is_no_wait() {
    let mut stream = small("N=x,O=RTThread,D=y");
    stream.n(id::TASK_STOP_READY, &[1, 0]).n(id::TASK_START_EXEC, &[2]);
    stream.n(id::TASK_STOP_READY, &[2, 0]).n(id::TASK_STOP_READY, &[2, 0]).n(id::IDLE, &[]);
    stream.n(id::ISR_ENTER, &[15]).n(id::TASK_START_READY, &[2]);
    stream.n(id::TASK_STOP_READY, &[3, 0]).n(id::TASK_START_READY, &[2]).n(id::ISR_ENTER, &[15]);
    stream.n(id::ISR_TO_SCHEDULER, &[]).n(id::TASK_START_EXEC, &[2]);
    // Version 4 has the same packets in the interrupt, but none of the switch after it.
    stream.n(id::ISR_ENTER, &[15]).n(id::ISR_ENTER, &[16]);
    stream.n(id::TASK_STOP_READY, &[2, 0]).n(id::TASK_START_READY, &[1]).n(id::ISR_ENTER, &[16]);
    stream.n(id::ISR_EXIT, &[]).n(id::ISR_EXIT, &[]);
    stream.n(id::ISR_ENTER, &[15]).n(id::TASK_STOP_READY, &[1, 0]).n(id::IDLE, &[]).n(id::ISR_EXIT, &[]);
    let after = ["isr", "ready worker", "ready worker", "end", "run worker", "run worker"];
    let version_4 = ["isr", "isr", "ready main", "end", "end", "run main", "isr", "end", "run IDLE"];
    assert_eq!(scheduled(&stream), [&["run worker", "wait NotRecorded", "run IDLE"], &after[..], &version_4].concat());
}

/// Since version 5, `rt_thread_resume` lets the resumed thread run before it records that this one is ready.
#[test]
fn a_thread_of_rt_thread_is_resumed_before_it_is_recorded() {
    let mut stream = small("N=x,O=RTThread,D=y");
    // The resumed thread waits again until its caller goes on. The next resume is another one.
    stream.n(id::TASK_STOP_READY, &[1, 0]).n(id::TASK_START_EXEC, &[2]).n(id::TASK_STOP_READY, &[2, 0]);
    stream
        .n(id::TASK_STOP_READY, &[2, 0])
        .n(id::TASK_START_EXEC, &[1])
        .n(id::TASK_START_READY, &[2])
        .n(id::TASK_START_READY, &[2]);
    let late = ["run worker", "wait NotRecorded", "run main", "ready worker"];
    // The caller had waited, or goes on for longer.
    stream.n(id::TASK_STOP_READY, &[1, 0]).n(id::TASK_STOP_READY, &[1, 0]).n(id::TASK_START_EXEC, &[2]);
    stream.n(id::TASK_STOP_READY, &[2, 0]).n(id::TASK_START_EXEC, &[1]).n(id::TASK_START_READY, &[2]);
    stream.n(id::TASK_STOP_READY, &[1, 0]).n(id::TASK_START_EXEC, &[2]).n(id::TASK_STOP_READY, &[2, 0]);
    stream.n(id::TASK_START_EXEC, &[1]).after(1_000, id::TASK_START_READY, &numbers(&[2]));
    let waited = ["wait NotRecorded", "run worker", "run main", "ready worker"];
    assert_eq!(scheduled(&stream), [&late[..], &waited, &["run worker", "run main", "ready worker"]].concat());
}

/// RT-Thread records the end of a delay as that of the thread's timer, which is part of the thread.
#[test]
fn a_timer_of_rt_thread_ends_the_wait_of_its_thread() {
    let mut stream = Stream::default();
    stream.start(5_000, "N=x,O=RTThread,D=y").n(id::SYSTIME_CYCLES, &[5_300]).task(100, 3, "main").task(200, 2, "worker");
    // Which one runs first is not recorded.
    stream.n(id::TASK_STOP_READY, &[100, 0]).n(id::TASK_STOP_READY, &[100, 0]).n(id::TASK_START_EXEC, &[200]);
    for timer in [119, 219, 230] {
        stream.n(id::ISR_ENTER, &[15]).n(id::TIMER_ENTER, &[timer]).n(id::TIMER_EXIT, &[]).n(id::ISR_EXIT, &[]);
    }
    let waits = ["wait NotRecorded", "run worker"];
    let timers = ["isr", "ready main", "end", "isr", "ready worker", "end", "isr", "end"];
    assert_eq!(scheduled(&stream), [&waits[..], &timers].concat());
    let details = convert(&stream.bytes, Cut::WHOLE).summary.facts.details;
    assert!(details.iter().any(|detail| detail.value == "those of 2 threads"), "{details:?}");
}

/// µC/OS takes a task out of the list of ready tasks and adds it again where its priority changes.
#[test]
fn another_priority_in_ucos_is_no_wait() {
    let mut stream = small("N=x,D=y,O=uCOS-III");
    stream.n(id::TASK_START_EXEC, &[2]).n(45, &[1, 2]).n(id::TASK_STOP_READY, &[1, 4]).n(id::TASK_START_READY, &[1]);
    stream.n(id::TASK_STOP_READY, &[1, 4]).after(1_000, id::TASK_START_READY, &numbers(&[1]));
    // µC/OS-III records the new priority instead, also of the running task in an interrupt.
    stream.n(id::TASK_STOP_READY, &[1, 4]).n(45, &[1, 2]).n(id::ISR_ENTER, &[15]);
    stream.n(id::TASK_STOP_READY, &[2, 4]).n(46, &[2, 9]).n(id::ISR_EXIT, &[]);
    stream.n(id::TASK_STOP_READY, &[2, 4]).n(id::IDLE, &[]);
    let moved = ["run worker", "suspend main", "ready main", "isr", "end", "wait NotRecorded", "run IDLE"];
    assert_eq!(scheduled(&stream), moved);
}

/// µC/OS-II says right before it creates a task that it is ready, µC/OS-III does not say it. What the application has not named is called `?`.
#[test]
fn a_task_of_ucos_is_ready_where_it_is_created() {
    let created = |os: &str, before: &[u16]| {
        let mut stream = small(&format!("N=x,D=y,O={os}"));
        for &packet in before {
            stream.n(packet, &[9]);
        }
        scheduled(stream.n(id::TASK_CREATE, &[9]).task(9, 5, "?").task(9, 5, "late").n(id::TASK_START_EXEC, &[9]))
    };
    assert_eq!(created("uCOS-II", &[id::TASK_START_READY]), ["ready late", "run late"]);
    assert_eq!(created("uCOS-III", &[]), ["ready late", "run late"]);
}

/// Mynewt records that a task is created, not that it is ready then. Where another task is removed, it records that one stops, without its id: the
/// running one goes on. It records no switch to a task that becomes ready before it has left its core. It records each wait: a task that is pre-empted
/// is ready, whatever comes next.
#[test]
fn a_task_of_mynewt_goes_on_where_it_removes_another() {
    let mut stream = small("N=x,O=Apache Mynewt,D=y,C=cortex_m4");
    stream.n(id::TASK_CREATE, &[2]).n(id::TASK_STOP_EXEC, &[]).n(id::ISR_ENTER, &[15]).n(id::ISR_EXIT, &[]);
    stream.n(id::TASK_STOP_EXEC, &[]).n(id::TASK_START_EXEC, &[2]);
    stream.n(id::TASK_STOP_READY, &[2, 2]).n(id::ISR_ENTER, &[15]).n(id::TASK_START_READY, &[2]).n(id::ISR_EXIT, &[]);
    stream.n(id::TASK_STOP_READY, &[2, 2]).n(id::TASK_START_EXEC, &[1]);
    let after = ["run worker", "wait NotRecorded", "isr", "ready worker", "end", "wait NotRecorded", "run main"];
    assert_eq!(scheduled(&stream), [&["ready worker", "isr", "end"], &after[..]].concat());
    assert_eq!(lost(&convert(&stream.bytes, Cut::WHOLE), losses::UNNAMED_REMOVAL), (2, 0));
    subject().resolve(&stream.bytes, 1 << 20, |_, entities: &Entities| {
        let tasks = entities.tasks.iter().filter(|task| task.kind != TaskKind::Idle);
        assert!(tasks.map(|task| task.waits).all(|waits| waits == RecordedWaits::All));
    });
}

/// The clocks of some systems are no microseconds: ThreadX has whole seconds, RT-Thread milliseconds, Zephyr the counter of the time stamps. µC/OS
/// begins again after 32 bits.
#[test]
fn each_system_has_its_clock() {
    // A recorder that was connected again, or a target that restarted, after a time in ticks of 10 MHz.
    let starts = |os: &str, first: u32, passed: u32, stamp: u32, second: u32| {
        let mut stream = Stream::default();
        let description = format!("N=x,D=y,O={os}");
        stream.start(5_000, &description).n(id::SYSTIME_US, &[first, 0]).task(1, 3, "main").n(id::NUMMODULES, &[0]);
        for _ in 0..200 {
            stream.after(passed / 400, id::TASK_START_EXEC, &numbers(&[1])).after(passed / 400, id::IDLE, &[]);
        }
        stream.start(stamp, &description).n(id::SYSTIME_US, &[second, 0]).task(1, 3, "main").n(id::NUMMODULES, &[0]);
        sessions(&stream)
    };
    // Half a second, and 200 seconds: a task list shows that the target goes on.
    assert_eq!(starts("ThreadX", 0, 5_000_000, 1_000, 0), 1);
    assert_eq!(starts("ThreadX", 0, 2_000_000_000, 5_000, 0), 2);
    assert_eq!(starts("RTThread", 1, 5_000_000, 1_000, 501), 1);
    assert_eq!(starts("RTThread", 1, 2_000_000_000, 5_000, 1), 2);
    assert_eq!(starts("Zephyr", 4_294_000_000, 5_000_000, 1_000, 4_033_000), 1);
    assert_eq!(starts("Zephyr", 5_000, 5_000_000, 6_000, 6_300), 2);
    assert_eq!(starts("uCOS-III", 4_294_000_000, 20_000_000, 1_000, 1_032_000), 1);
    assert_eq!(starts("uCOS-III", 400_000_000, 20_000_000, 1_000, 1_032_000), 2);
}

/// The used part of a stack is what was in memory there, if it is not filled in.
#[test]
fn the_used_part_of_a_stack_is_believed_if_it_is_recorded() {
    let free = |os: &str, used: u32| {
        let mut stream = small(&format!("N=x,D=y,O={os}"));
        stream.n(id::STACK_INFO, &[1, 0, 512, used]);
        let mut free = Vec::new();
        subject().resolve(&stream.bytes, 1 << 20, |batch, _| {
            free.extend(batch.events.iter().filter_map(|event| match event.kind {
                EventKind::StackFree { bytes, .. } => Some(bytes),
                _ => None,
            }));
        });
        free
    };
    assert_eq!(free("FreeRTOS", 500), [12]);
    assert!(["FreeRTOS", "NuttX", "Zephyr"].iter().zip([513, 500, 500]).all(|(os, used)| free(os, used).is_empty()));
}

/// A unit, a factor and an offset of sampled values are part of their name.
#[test]
fn sampled_values_have_their_unit() {
    let name = |fields: &[u32], unit: Option<&str>| {
        let mut stream = small("N=x,O=FreeRTOS");
        let mut register = numbers_and_text(&[extended::REGISTER_DATA, 2], "speed");
        register.extend(numbers(fields));
        register.extend(unit.map(|unit| numbers_and_text(&[], unit)).unwrap_or_default());
        stream.put(id::EX, &register).n(id::DATA_SAMPLE, &[2, 5]);
        let mut name = None;
        subject().resolve(&stream.bytes, 1 << 20, |_, entities| {
            name = entities
                .lanes
                .iter()
                .find_map(|lane| lane.name.as_deref().filter(|name| name.starts_with("speed")).map(str::to_owned));
        });
        name.unwrap_or_default()
    };
    let factor = |factor: f32| factor.to_bits();
    assert_eq!(name(&[], None), "speed");
    assert_eq!(name(&[1, 0, 0, 100], None), "speed");
    assert_eq!(name(&[1, 0, 0, 0, factor(1.0)], Some("B")), "speed (B)");
    assert_eq!(name(&[1, 20, 0, 0, factor(0.1)], Some("mV")), "speed (0.1 mV, offset 20)");
    assert_eq!(name(&[1, 0, 0, 0, factor(0.5)], None), "speed (0.5)");
}

/// embassy's executors in interrupts run tasks while another one runs, and say "idle" at their end.
#[test]
fn an_executor_in_an_interrupt_lets_the_task_go_on() {
    let mut stream = small("N=x,O=embassy");
    stream.n(id::TASK_START_READY, &[2]).n(id::ISR_ENTER, &[36]).n(id::TASK_START_EXEC, &[2]).n(id::TASK_STOP_EXEC, &[]);
    stream.n(id::TASK_START_EXEC, &[3]).n(id::TASK_STOP_EXEC, &[]).n(id::IDLE, &[]).n(id::ISR_EXIT, &[]);
    stream.n(id::TASK_STOP_EXEC, &[]).n(id::IDLE, &[]);
    let nested = ["ready worker", "isr", "run worker", "run IDLE", "run main", "end", "run IDLE"];
    assert_eq!(scheduled(&stream), nested);
    // Of a system without a name, too. There an interrupt ends with a switch.
    let mut stream = small("N=x");
    stream.n(id::TASK_START_EXEC, &[2]).n(id::TASK_STOP_EXEC, &[]).n(id::IDLE, &[]).n(id::TASK_STOP_EXEC, &[]).n(id::IDLE, &[]);
    assert_eq!(scheduled(&stream), ["run worker", "run main", "run IDLE"]);
    // A task that waits, or that starts again itself, was not kept from running.
    let mut stream = small("N=x");
    stream.n(id::TASK_STOP_READY, &[1, 0]).n(id::TASK_START_EXEC, &[2]).n(id::TASK_STOP_EXEC, &[]).n(id::IDLE, &[]);
    stream.n(id::TASK_START_EXEC, &[1]).n(id::TASK_START_EXEC, &[2]).n(id::TASK_STOP_EXEC, &[]).n(id::TASK_START_EXEC, &[1]);
    stream.n(id::TASK_STOP_EXEC, &[]).n(id::IDLE, &[]);
    let waits = ["wait NotRecorded", "run worker", "run IDLE", "run main", "run worker", "run main", "run IDLE"];
    assert_eq!(scheduled(&stream), waits);
}

/// embassy gives the properties of the address 0 instead of those of a task without a name.
#[test]
fn a_task_without_a_name_is_no_task_of_the_address_zero() {
    let mut stream = Stream::default();
    stream.start(5_000, "N=x").n(id::TASK_CREATE, &[5]).task(0x3800_0000, 0, "unnamed task");
    stream.n(id::STACK_INFO, &[0x3800_0000, 0, 0, 0]).n(id::TASK_START_EXEC, &[5]).n(id::ISR_ENTER, &[36]);
    stream.n(id::TASK_START_EXEC, &[6]).n(id::TASK_STOP_EXEC, &[]).n(id::IDLE, &[]).n(id::ISR_EXIT, &[]);
    let mut tasks = Vec::new();
    subject().resolve(&stream.bytes, 1 << 20, |_, entities| {
        tasks = entities.tasks.iter().map(|task| (task.number, task.name.as_deref().unwrap_or("-").to_owned())).collect();
    });
    let expected = [(0x2000_0014, "-"), (0x2000_0018, "-"), (0, "IDLE")];
    assert_eq!(tasks, expected.map(|(number, name)| (number, name.to_owned())));
    assert_eq!(scheduled(&stream), ["isr", "run ", "run ", "end"], "it is recognised as embassy");
}

#[test]
fn tasks_without_a_name_are_variables_of_the_program() {
    let path = format!("{}/testdata/symbols/pump.elf", env!("CARGO_MANIFEST_DIR"));
    let bytes = std::fs::read(path).expect("the program is there").into();
    let mut subject = subject();
    subject.options.own.push(("elf", OptionValue::File { path: "pump.elf".into(), bytes }));
    let mut stream = Stream::default();
    // `pump_ticks` has four bytes at the base of the ids.
    stream.start(5_000, "N=x,O=FreeRTOS").task(2, 1, "worker");
    stream.n(id::TASK_START_EXEC, &[0]).n(id::TASK_START_EXEC, &[1]).n(id::TASK_START_EXEC, &[2]);
    let mut names = Vec::new();
    subject.resolve(&stream.bytes, 1 << 20, |_, entities| {
        names = entities.tasks.iter().map(|task| task.name.as_deref().unwrap_or("-").to_owned()).collect();
    });
    assert_eq!(names[..3], ["pump_ticks", "-", "worker"]);
    let details = subject.convert(&stream.bytes, Cut::WHOLE).summary.facts.details;
    let named = details.iter().find(|detail| detail.name == "names from the program").expect("it is said");
    assert_eq!(named.value, "1 task");
}
