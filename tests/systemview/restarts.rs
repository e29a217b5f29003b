//! Boards that are reset again and again.

use traceconv::format::systemview::record::id;
use traceconv::model::losses;

use crate::captures::Stream;
use crate::run::{Cut, convert};

/// Where no clock shows it, the kernel does: at a restart the list of tasks is empty, and a task that there was before is created.
#[test]
fn a_kernel_without_tasks_has_restarted() {
    let restarts = |lists: &[bool]| {
        let mut stream = Stream::default();
        for &list in lists {
            stream.start(2_000, "N=x,O=FreeRTOS").n(id::SYSTIME_US, &[0, 0]);
            if list {
                stream.task(7, 3, "main");
            }
            stream
                .n(id::NUMMODULES, &[0])
                .n(id::TASK_CREATE, &[9])
                .task(9, 3, "pump")
                .n(id::TASK_START_EXEC, &[9])
                .n(id::IDLE, &[]);
        }
        let conversion = convert(&stream.bytes, Cut::WHOLE);
        assert_eq!(conversion.summary.ledger.frames_bad, 0);
        conversion
            .summary
            .ledger
            .entries()
            .iter()
            .filter(|entry| entry.kind == losses::SESSION_RESTART)
            .map(|entry| entry.count)
            .sum::<u64>()
    };
    assert_eq!(restarts(&[false, false, false]), 2);
    // Tasks come and go while the recorder starts again.
    assert_eq!(restarts(&[false, true, true]), 0);
}

/// A start whose first packets were lost is known by its time: the clock goes back, or the list of tasks is empty.
#[test]
fn a_start_without_its_first_packets_is_known_by_its_time() {
    let sessions = |time: u32, list: bool| {
        let mut stream = Stream::default();
        stream.start(2_000, "N=x,O=FreeRTOS").n(id::SYSTIME_CYCLES, &[2_300]).task(1, 3, "main").n(id::NUMMODULES, &[0]);
        for _ in 0..200 {
            stream.n(id::TASK_START_EXEC, &[1]).n(id::IDLE, &[]);
        }
        stream.n(id::SYSTIME_CYCLES, &[time]);
        if list {
            stream.task(1, 3, "main");
        }
        stream.n(id::NUMMODULES, &[0]).n(id::TASK_CREATE, &[1]).task(1, 3, "main").n(id::TASK_START_EXEC, &[1]);
        convert(&stream.bytes, Cut::WHOLE).summary.facts.sessions
    };
    assert_eq!(sessions(2_300, true), 2);
    // Packets are missing, and the clock goes on.
    assert_eq!(sessions(900_000, true), 1);
    assert_eq!(sessions(900_000, false), 2);
}

/// The clocks at a start may fit a restart as well as a recorder that starts again: that is reported.
#[test]
fn a_start_that_no_clock_decides_is_reported() {
    let said = |us: u32| {
        let mut stream = Stream::default();
        for _ in 0..2 {
            stream.start(2_000, "N=x,O=FreeRTOS").n(id::SYSTIME_US, &[us, 0]).task(1, 3, "main").n(id::TASK_START_EXEC, &[1]);
        }
        let facts = convert(&stream.bytes, Cut::WHOLE).summary.facts;
        assert_eq!(facts.sessions, 1);
        facts.details.iter().any(|detail| detail.name == "starts of the recorder")
    };
    assert!(said(0) && !said(5_000_000));
}
