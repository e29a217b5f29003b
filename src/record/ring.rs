//! The ring between the thread that reads a port and the one that writes the file.
//!
//! It holds a limited number of bytes. When it is full, a sender that waits by itself is made to wait; of one that does not, bytes are
//! dropped and counted. Errors and commands stay between the bytes that came before and after them.

use std::collections::VecDeque;
use std::io;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::model::{LossKind, losses};

/// An item that passes through.
#[derive(Debug)]
pub enum Passing {
    /// Bytes of the recording.
    Bytes(Vec<u8>),
    /// Something was lost here: the kind, the number of cases, and of bytes if known.
    Loss(LossKind, u64, u64),
    /// These bytes were sent to the target here.
    Sent(Vec<u8>),
    /// The port is open (again), under this name.
    Opened(String),
    /// A sentence for the user.
    Said(String),
    /// Nothing more comes: the source ended, or failed.
    Ended(io::Result<()>),
}

/// The ring.
#[derive(Debug)]
pub struct Ring {
    state: Mutex<State>,
    changed: Condvar,
    limit_bytes: usize,
}

#[derive(Debug, Default)]
struct State {
    waiting: VecDeque<(Instant, Passing)>,
    bytes: usize,
    dropped_bytes: u64,
    is_closed: bool,
}

impl Ring {
    /// A ring for this number of bytes.
    #[must_use]
    pub fn new(limit_bytes: usize) -> Ring {
        Ring { state: Mutex::default(), changed: Condvar::new(), limit_bytes: limit_bytes.max(1) }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds bytes. If they do not fit, waits if `waits`, and else drops them. False: nobody takes them any more.
    pub fn push_bytes(&self, bytes: &[u8], waits: bool) -> bool {
        let mut state = self.lock();
        while waits && !state.is_closed && state.bytes > 0 && state.bytes + bytes.len() > self.limit_bytes {
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        if state.is_closed {
            return false;
        }
        if state.bytes > 0 && state.bytes + bytes.len() > self.limit_bytes {
            state.dropped_bytes += bytes.len() as u64;
            return true;
        }
        state.note_dropped();
        state.bytes += bytes.len();
        state.waiting.push_back((Instant::now(), Passing::Bytes(bytes.to_vec())));
        drop(state);
        self.changed.notify_all();
        true
    }

    /// Adds something else.
    pub fn push(&self, passing: Passing) {
        let mut state = self.lock();
        state.note_dropped();
        state.waiting.push_back((Instant::now(), passing));
        drop(state);
        self.changed.notify_all();
    }

    /// Takes all that is there; waits for something for at most `patience`. Each with the time at which it came.
    pub fn take(&self, patience: Duration) -> VecDeque<(Instant, Passing)> {
        let state = self.lock();
        let is_idle = |state: &mut State| state.waiting.is_empty();
        let (mut state, _) = self.changed.wait_timeout_while(state, patience, is_idle).unwrap_or_else(PoisonError::into_inner);
        state.bytes = 0;
        let taken = std::mem::take(&mut state.waiting);
        drop(state);
        self.changed.notify_all();
        taken
    }

    /// How full it is, in per cent.
    #[must_use]
    pub fn fill_percent(&self) -> u64 {
        (self.lock().bytes as u64).saturating_mul(100) / self.limit_bytes as u64
    }

    /// Nothing more will be taken.
    pub fn close(&self) {
        self.lock().is_closed = true;
        self.changed.notify_all();
    }
}

impl State {
    fn note_dropped(&mut self) {
        let bytes = std::mem::take(&mut self.dropped_bytes);
        if bytes > 0 {
            self.waiting.push_back((Instant::now(), Passing::Loss(losses::RECORDER_OVERRUN, 1, bytes)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(ring: &Ring) -> Vec<String> {
        let text = |(_, passing): (Instant, Passing)| match passing {
            Passing::Bytes(bytes) => String::from_utf8(bytes).unwrap(),
            Passing::Loss(kind, count, bytes) => format!("{} {count} {bytes}", kind.code),
            other => format!("{other:?}"),
        };
        ring.take(Duration::ZERO).into_iter().map(text).collect()
    }

    #[test]
    fn what_does_not_fit_is_dropped_and_counted() {
        let ring = Ring::new(4);
        assert!(["abc", "de", "f", "gh"].iter().all(|text| ring.push_bytes(text.as_bytes(), false)));
        assert_eq!(ring.fill_percent(), 100);
        ring.push(Passing::Sent(vec![1]));
        assert_eq!(taken(&ring), ["abc", "recorder_overrun 1 2", "f", "recorder_overrun 1 2", "Sent([1])"]);
        // One that is larger than the ring is taken when it is empty.
        assert!(ring.push_bytes(b"larger", false));
        assert_eq!(taken(&ring), ["larger"]);
    }

    #[test]
    fn a_sender_that_waits_loses_nothing() {
        let ring = Ring::new(3);
        let mut all = Vec::new();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                (0..1000u16).for_each(|number| assert!(ring.push_bytes(&number.to_le_bytes(), true)));
                ring.push(Passing::Ended(Ok(())));
            });
            loop {
                for (_, passing) in ring.take(Duration::from_secs(1)) {
                    match passing {
                        Passing::Bytes(bytes) => all.extend(bytes),
                        Passing::Ended(_) => return,
                        other => panic!("{other:?}"),
                    }
                }
            }
        });
        assert_eq!(all, (0..1000u16).flat_map(u16::to_le_bytes).collect::<Vec<_>>());
    }

    #[test]
    fn a_closed_ring_takes_nothing() {
        let ring = Ring::new(1);
        assert!(ring.push_bytes(b"a", true));
        ring.close();
        assert!(!ring.push_bytes(b"b", true));
    }
}
