//! The files that are mapped at the moment, and the handling of one that is cut short meanwhile.
//!
//! Reading a mapping beyond the new end of its file raises a signal (SIGBUS), which by default kills the process. A program may have
//! a handler that calls [`replace`]: it puts zeros in the place of missing pages, so that reading goes on, and remembers it; whoever
//! reads the file then finds out ([`Mapping::was_hit`]) and says so. The library itself installs no handler.
//!
//! The handler may run on any thread at any time, so everything here is a fixed table of atomic numbers.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// How many mappings can be known at the same time. Those beyond are read as ever, but not protected.
const MAPPINGS: usize = 4096;

struct Slot {
    /// The address of the first byte; 0: free; 1: about to be filled.
    start: AtomicUsize,
    /// The address after the last one.
    end: AtomicUsize,
    was_hit: AtomicBool,
}

static SLOTS: [Slot; MAPPINGS] =
    [const { Slot { start: AtomicUsize::new(0), end: AtomicUsize::new(0), was_hit: AtomicBool::new(false) } }; MAPPINGS];

const RESERVED: usize = 1;

/// A mapping in the table, for as long as this lives.
#[derive(Debug)]
pub(super) struct Mapping {
    slot: Option<usize>,
}

impl Mapping {
    /// Enters a mapping, which has to stay where it is for as long as the result lives.
    pub(super) fn enter(bytes: &[u8]) -> Mapping {
        let start = bytes.as_ptr() as usize;
        let slot =
            SLOTS.iter().position(|slot| slot.start.compare_exchange(0, RESERVED, Ordering::AcqRel, Ordering::Relaxed).is_ok());
        if let Some(slot) = slot.and_then(|slot| SLOTS.get(slot)) {
            slot.was_hit.store(false, Ordering::Release);
            slot.end.store(start.saturating_add(bytes.len()), Ordering::Release);
            slot.start.store(start, Ordering::Release);
        }
        Mapping { slot }
    }

    /// Whether bytes of it were gone when they were read.
    pub(super) fn was_hit(&self) -> bool {
        self.slot.and_then(|slot| SLOTS.get(slot)).is_some_and(|slot| slot.was_hit.load(Ordering::Acquire))
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        if let Some(slot) = self.slot.and_then(|slot| SLOTS.get(slot)) {
            slot.end.store(0, Ordering::Release);
            slot.start.store(0, Ordering::Release);
        }
    }
}

/// Puts zeros in the place of a mapped file from the page of `address` on. For a handler of SIGBUS: safe to be called there. False if
/// no mapped file is there, or it cannot be done; then the signal has another cause, and the process has to end.
#[must_use]
pub fn replace(address: usize) -> bool {
    let found = SLOTS.iter().find(|slot| {
        let start = slot.start.load(Ordering::Acquire);
        start > RESERVED && (start..slot.end.load(Ordering::Acquire)).contains(&address)
    });
    let Some(slot) = found else { return false };
    // The flag first: a thread that reads the zeros must not miss it.
    slot.was_hit.store(true, Ordering::Release);
    map_zeros(address, slot.end.load(Ordering::Acquire))
}

#[cfg(unix)]
fn map_zeros(address: usize, end: usize) -> bool {
    // SAFETY: sysconf has no preconditions, and is among the functions that a signal handler may call.
    let page_bytes = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    let Ok(page_bytes) = usize::try_from(page_bytes) else { return false };
    if !page_bytes.is_power_of_two() || address >= end {
        return false;
    }
    let first = address & !(page_bytes - 1);
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED;
    // SAFETY: The pages from `first` to `end` belong to one mapping of this process that is in the table, hence alive: it is taken
    // out before it is unmapped, and the thread that raised the signal reads it right now. A mapping covers whole pages, so nothing
    // else lies in them. They are read-only before and after; that their content changes is what every reader of a mapped file has
    // to expect (see `Bytes::map`). `mmap` is a plain system call and touches no state of this process's libraries.
    let zeros = unsafe { libc::mmap(first as *mut libc::c_void, end - first, libc::PROT_READ, flags, -1, 0) };
    zeros != libc::MAP_FAILED
}

#[cfg(not(unix))]
fn map_zeros(_address: usize, _end: usize) -> bool {
    false
}

#[cfg(all(test, unix))]
mod tests {
    use std::io::Write;

    use super::*;
    use crate::input::Bytes;

    #[test]
    fn zeros_come_in_the_place_of_what_is_gone() {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&vec![7; 1 << 20]).unwrap();
        let (one, other) = (Bytes::map(&file).unwrap(), Bytes::map(&file).unwrap());
        let at = one.as_ptr() as usize + 300_000;
        assert!(!one.was_cut_short() && !replace(8) && !one.was_cut_short());
        // As the handler does, but before anything is gone, so that no signal is needed.
        assert!(replace(at));
        assert!(one.was_cut_short() && !other.was_cut_short());
        let page = 300_000 / 65_536 * 65_536;
        assert!(one[..page].iter().all(|&byte| byte == 7) && one[300_000..].iter().all(|&byte| byte == 0));
        assert!(other.iter().all(|&byte| byte == 7));
        let range = at..at + 1;
        drop(one);
        assert!(!replace(range.start) || other.was_cut_short(), "an unmapped file is not in the table");
    }

    #[test]
    fn a_file_that_became_shorter_is_known_without_a_signal() {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&[7; 5000]).unwrap();
        let bytes = Bytes::map(&file).unwrap();
        file.write_all(&[7; 5000]).unwrap();
        assert!(!bytes.was_cut_short(), "it has grown");
        file.set_len(4999).unwrap();
        assert!(bytes.was_cut_short());
    }
}
