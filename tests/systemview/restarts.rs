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
