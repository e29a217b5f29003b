//! Samples of the code that runs: on the task's thread if it is known which one runs, else on a thread of the core.

use super::{At, Timeline};
use crate::model::CodeId;
use crate::track::{SampleRow, TrackKind};

impl Timeline {
    pub(super) fn sample(&mut self, code: CodeId, at: &At<'_>) {
        let Some(entity) = at.entities.codes.get(code.index()) else { return };
        let (pid, tid) = match self.core(at.core).current {
            Some(task) => {
                let drawn = self.drawn(task, at);
                (drawn.pid, drawn.tid)
            }
            None => self.sampled_thread(at),
        };
        let cpu = self.layout.numbers.first_cpu().saturating_add(at.core.0);
        let row = SampleRow { time_ns: at.time_ns, cpu, pid, tid, stack: 0 };
        self.writer.sample(row, code, entity, &at.entities.functions);
    }

    /// The thread for samples of a core without tasks.
    fn sampled_thread(&mut self, at: &At<'_>) -> (i32, i32) {
        let session = self.session;
        if let Some((_, pid, tid)) = self.core(at.core).sampled.filter(|(made, ..)| *made == session) {
            return (pid, tid);
        }
        self.firmware();
        let pid = self.firmware_pid();
        let tid = self.layout.numbers.spare_tid();
        let name = if self.settings.cores > 1 { format!("samples (core {})", at.core.0) } else { "samples".to_owned() };
        let text = "Where the processor was found when it was sampled.";
        self.writer.track(None, TrackKind::Thread { pid, tid }, name.into(), Some(text), u32::from(at.core.0));
        self.core(at.core).sampled = Some((session, pid, tid));
        (pid, tid)
    }
}
